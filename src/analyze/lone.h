/* Kernels whose work is not known, judged by their names and by what runs before and after them on
 * their stream. */
#ifndef ASSAY_ANALYZE_LONE_H
#define ASSAY_ANALYZE_LONE_H

#include "analyze/compute.h"

/* lone_kernel, and ASSAY_OP_SCORES of the products around an attention in pieces. Needs
 * op_shape.bound_ns; before assay_useful(). */
void assay_lone_kernels(assay_run *run, const assay_order *order, const assay_rates *rates,
			const assay_window *w);

#endif
