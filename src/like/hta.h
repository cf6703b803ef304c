/* What the imitations of Holistic Trace Analysis share: its loader's rules. */
#ifndef ASSAY_LIKE_HTA_H
#define ASSAY_LIKE_HTA_H

#include "model/run.h"

/* A trace with a fraction of a microsecond anywhere is rounded to microseconds, inwards: starts up,
 * ends down. A unit is then 1000 ns, else 1. */
bool assay_hta_has_fractions(const assay_run *run, uint32_t source);
int64_t assay_hta_round_up(int64_t ns, int64_t unit);
int64_t assay_hta_round_down(int64_t ns, int64_t unit);
/* Start of the last ProfilerStep when there are two or more; INT64_MAX otherwise. */
int64_t assay_hta_last_step(const assay_run *run, uint32_t source, int64_t unit);
/* Calls that put work in a queue; graph launches and hipModuleLaunchKernel are not among them. */
bool assay_hta_queue_call(assay_str name);
bool assay_hta_comm_kernel(assay_str name);

/* The critical path of the n-th row whose name contains the text (all rows when it is empty), in
 * the like table. False when there is no such row. */
bool assay_like_hta_path(assay_run *run, const char *range, int64_t instance, assay_err *err);

#endif
