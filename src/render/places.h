/* GPU work by the place in the program that launched it, and looks of the sampler by the library
 * that threads were in, those that ran before those that waited. */
#ifndef ASSAY_RENDER_PLACES_H
#define ASSAY_RENDER_PLACES_H

#include <stdio.h>

#include "base/jsonw.h"
#include "model/run.h"

/* Are places meant: line, function, module, file or library? */
bool assay_is_place(const char *by);
/* Of a run that has kernel and kernel_line. top 0: all. */
void assay_places_text(FILE *out, const assay_run *run, const char *by, size_t top);
void assay_places_json(assay_jsonw *w, const assay_run *run, const char *by);

#endif
