/* What the device's compute time was spent for: at the bound, and above it for what reason. */
#ifndef ASSAY_WORK_USEFUL_H
#define ASSAY_WORK_USEFUL_H

#include "analyze/useful_parts.h"
#include "work/compute.h"

/* call_part: for each row of op_call, how its own time splits. Needs assay_compute(). */
void assay_useful(assay_run *run, const assay_rates *rates, const assay_window *w);

#endif
