/* Waits, for people and for programs. */
#ifndef ASSAY_RENDER_WAITS_H
#define ASSAY_RENDER_WAITS_H

#include <stdio.h>

#include "base/jsonw.h"
#include "model/run.h"

/* Of an analyzed run. query->top 0: 20 as text, all as JSON. */
void assay_waits_text(FILE *out, assay_run *run, const assay_waits_query *query);
void assay_waits_json(assay_jsonw *w, assay_run *run, const assay_waits_query *query);

#endif
