/* Operators in the report. */
#ifndef ASSAY_RENDER_OPS_H
#define ASSAY_RENDER_OPS_H

#include "render/printout.h"

/* ops, ops_by_shape and compute. */
void assay_ops_json(assay_jsonw *w, const assay_run *run);
void assay_ops_text(assay_printout *p, uint32_t top);

#endif
