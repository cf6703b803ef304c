/* Operators in the report. */
#ifndef ASSAY_RENDER_OPS_H
#define ASSAY_RENDER_OPS_H

#include "render/printout.h"

/* ops, ops_by_shape and compute. */
void assay_ops_json(assay_jsonw *w, const assay_run *run);
void assay_ops_text(assay_printout *p);
/* Rows of operator, most GPU time first; the array lives in a. */
const uint32_t *assay_ops_by_time(const assay_run *run, assay_arena *a);
/* Time of all GPU work that the run holds, of the ranks with events: what shares of operators are
 * of. */
int64_t assay_ops_time(const assay_run *run);
/* "MFU 14.5%, HFU 14.5%, 143.0 TFLOP/s, 0.89 TB/s" of the window; NULL when nothing is known. */
const char *assay_ops_rates(const assay_run *run, assay_arena *a);
/* Why nothing is known of what operators do; NULL when something is, or nothing was done. */
const char *assay_ops_unknown(const assay_run *run);
/* "aten::copy_ [[8, 4], [8, 4], []] float BFloat16": an operator with its shapes and types. */
const char *assay_shape_label(const assay_run *run, uint32_t shape, assay_arena *a);

#endif
