/* Host time without a name: what the thread did before and after it. */
#ifndef ASSAY_ANALYZE_UNNAMED_H
#define ASSAY_ANALYZE_UNNAMED_H

#include "model/run.h"

/* "between cudaDeviceSynchronize and Optimizer.zero_grad#SGD.zero_grad": around the longest stretch
 * of a gap in which its launching thread shows nothing; NULL where it shows nothing before or
 * after it either. */
const char *assay_unnamed_between(assay_arena *a, const assay_run *run, uint32_t gap);

#endif
