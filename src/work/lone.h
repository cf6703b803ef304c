/* Kernels whose work is not known, judged by their names and by what runs before and after them on
 * their stream. */
#ifndef ASSAY_WORK_LONE_H
#define ASSAY_WORK_LONE_H

#include "work/compute.h"

/* Share of the time of passes over lists of tensors that goes when one pass makes them all: what
 * remains is at least the longest, and of Adam's 84 bytes a parameter 28. */
static inline double assay_list_passes_saved(int64_t all, int64_t longest)
{
	double saved = all > 0 ? 1 - (double)longest / (double)all : 0;
	return saved < 2.0 / 3 ? saved : 2.0 / 3;
}

/* lone_kernel, and ASSAY_OP_SCORES of the products around an attention in pieces. Needs
 * op_shape.bound_ns; before assay_useful(). */
void assay_lone_kernels(assay_run *run, const assay_order *order, const assay_rates *rates,
			const assay_window *w);

#endif
