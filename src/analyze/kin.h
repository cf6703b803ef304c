/* Which inputs belong together. */
#ifndef ASSAY_ANALYZE_KIN_H
#define ASSAY_ANALYZE_KIN_H

#include "model/run.h"

/* False when the inputs are of more than one job: figures of them together would be of none. Before
 * the analysis, or of a run that has device_time alone; part: times are those of a part of the run
 * and say nothing. */
bool assay_kin_check(const assay_run *run, bool part, assay_err *err);

#endif
