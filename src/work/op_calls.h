/* Calls of operators, then their shapes: the two halves of assay_ops(). */
#ifndef ASSAY_WORK_OP_CALLS_H
#define ASSAY_WORK_OP_CALLS_H

#include "analyze/order.h"
#include "model/grid.h"
#include "work/op_walk.h"

typedef struct assay_op_blocks {
	assay_vec(uint32_t) of_call; /* by row of op_call: of all its kernels */
	assay_grids grids;
	assay_arena arena;
} assay_op_blocks;

/* op_call but for its shape, and gpu_op. false: no operator is known for any work. */
bool assay_op_calls(assay_run *run, const assay_order *order, const assay_op_places *places,
		    assay_op_blocks *blocks);
void assay_op_blocks_free(assay_op_blocks *b);
/* op_shape, and the shape of each call. */
void assay_op_shapes(assay_run *run, const assay_op_blocks *blocks);

#endif
