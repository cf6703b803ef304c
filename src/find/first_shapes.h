/* Operators that take long because they meet a shape for the first time: libraries choose, load or
 * make kernels for it. */
#ifndef ASSAY_FIND_FIRST_SHAPES_H
#define ASSAY_FIND_FIRST_SHAPES_H

#include "find/finding.h"

/* Where most of a finding about time inside operators is such, it says so. */
void assay_first_shapes_tell(const assay_run *run, const assay_find_ctx *c, assay_found *f);

#endif
