/* What the parts of the compute analysis share. */
#ifndef ASSAY_WORK_COMPUTE_H
#define ASSAY_WORK_COMPUTE_H

#include "analyze/op_args.h"
#include "analyze/window.h"
#include "work/rates.h"

/* Classes whose work is operations of matrix units. */
static inline bool assay_is_matrix(uint8_t class)
{
	return class == ASSAY_WORK_GEMM || class == ASSAY_WORK_CONV ||
	       class == ASSAY_WORK_ATTENTION || class == ASSAY_WORK_MOE;
}

/* Least time in ns of that work, and what bounds it; NaN when the rates are not known. */
double assay_bound_of(const assay_rates *r, double flops, double bytes, uint8_t math,
		      uint8_t *bound);

/* A kernel takes about this long, ns, however little it computes. */
enum { ASSAY_LEAST_KERNEL = 4000 };

/* Arguments of a row of op_shape, in a; false when they were not recorded. */
bool assay_shape_args(const assay_run *run, uint32_t shape, assay_arena *a, assay_op_args *out);
/* What a copy changes, of the first that it does. */
typedef enum assay_copy_changes {
	ASSAY_COPY_CHANGES_NOTHING,
	ASSAY_COPY_CHANGES_TYPE,
	ASSAY_COPY_CHANGES_LAYOUT,
} assay_copy_changes;
/* Nothing, where it is no copy. */
assay_copy_changes assay_shape_copy(const assay_run *run, uint32_t shape);

/* A matrix product by its arguments; k 0: they do not tell. */
typedef struct assay_product {
	double batch, m, n, k;
} assay_product;

assay_product assay_shape_product(const assay_run *run, uint32_t shape, assay_arena *a);

/* roof, op_shape.bound_ns, op_call.owned, operator, step_compute, phase. Needs op_call. rates: a
 * file, or NULL; false when it cannot be read. */
bool assay_compute(assay_run *run, const assay_order *order, const assay_window *w,
		   const char *rates, assay_err *err);

/* roof alone. */
bool assay_roof(assay_run *run, const assay_window *w, const char *rates, assay_err *err);

/* By row of stack: launched by an optimizer. Of the arena. */
bool *assay_optimizer_stacks(const assay_run *run, assay_arena *a);
/* Does a row of gpu update parameters, by the stack of its launch, or by the range around it? */
bool assay_is_update(const assay_run *run, const bool *in_stack, uint32_t gpu);

#endif
