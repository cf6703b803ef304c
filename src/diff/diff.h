/* Two analyzed runs compared. */
#ifndef ASSAY_DIFF_DIFF_H
#define ASSAY_DIFF_DIFF_H

#include "model/diff.h"
#include "model/run.h"

/* Two analyzed runs: what differs beyond noise. env: their environment snapshots, each NULL for
 * the one that was read with the run. Free d after use. */
void assay_diff_runs(assay_diff *d, const assay_run *a, const assay_run *b,
		     const char *const env[2]);
void assay_diff_free(assay_diff *d);
/* Adds a limit such as "step>+3%" to d->gates; false: it is none, or there is no such figure. rule
 * must outlive d. */
bool assay_diff_gate(assay_diff *d, const char *rule, assay_err *err);

#endif
