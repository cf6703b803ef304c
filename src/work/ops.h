/* Operators, and the work they caused. */
#ifndef ASSAY_WORK_OPS_H
#define ASSAY_WORK_OPS_H

#include "analyze/order.h"
#include "work/op_walk.h"

/* op_call, gpu_op, op_shape: operators and the work they caused. Needs launch, and the places of
 * all calls that launched. */
void assay_ops(assay_run *run, const assay_order *order, const assay_op_places *places);
/* operator: op_shape by name. */
void assay_operators(assay_run *run);

#endif
