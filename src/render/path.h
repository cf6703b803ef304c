/* The critical path for people and for programs. */
#ifndef ASSAY_RENDER_PATH_H
#define ASSAY_RENDER_PATH_H

#include <stdio.h>

#include "base/jsonw.h"
#include "model/path.h"

/* top: rows of each table; 0: all. */
void assay_path_text(FILE *out, const assay_run *run, const assay_path *path, uint32_t top);
void assay_path_json(assay_jsonw *w, const assay_run *run, const assay_path *path, uint32_t top);
/* The same without the stretches. */
void assay_path_figures_json(assay_jsonw *w, const assay_run *run, const assay_path *path);

#endif
