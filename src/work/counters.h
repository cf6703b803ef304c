/* What hardware counters measured of kernels. */
#ifndef ASSAY_WORK_COUNTERS_H
#define ASSAY_WORK_COUNTERS_H

#include "base/arena.h"
#include "model/run.h"

typedef struct assay_counted {
	double flops, bytes; /* of one launch in the mean; NaN: not counted */
	assay_math math;     /* of most operations */
} assay_counted;

/* By row of kernel; NULL when there are no counters. Of the arena. */
assay_counted *assay_counted_kernels(const assay_run *run, assay_arena *a);

/* kernel.flops and bytes; op_shape.flops and bytes of operators whose kernels were counted. */
void assay_counters(assay_run *run);

#endif
