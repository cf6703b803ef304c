/* Places in a program: file, line and function, and whole stacks. */
#ifndef ASSAY_RENDER_PLACE_H
#define ASSAY_RENDER_PLACE_H

#include "base/jsonw.h"
#include "model/run.h"

/* {"file", "line", "function"} of a row of stack; null when there is none. */
void assay_place_json(assay_jsonw *w, const char *key, const assay_run *run, uint32_t stack);
/* The same of all calls, innermost first; null when there is none. */
void assay_stack_json(assay_jsonw *w, const char *key, const assay_run *run, uint32_t stack);
/* "train.py:12 step", the file without its folders; "" when there is none. */
const char *assay_place_text(assay_arena *a, const assay_run *run, uint32_t stack);

#endif
