/* What is kept of a rank when its events are not: small rows that speak for many. */
#ifndef ASSAY_MODEL_FINDINGS_H
#define ASSAY_MODEL_FINDINGS_H

#include "model/run.h"

/* Tables that are kept, those that others refer to first. A reference to any other table is
 * forgotten. */
extern const assay_table_id assay_findings_kept[];
extern const size_t assay_findings_kept_count;

/* Append what was found about each source of an analyzed part to another one: source, meta, device,
 * device_time, idle_cause, step, step_time, kernel, call and warning, and the counts of issues.
 * Only strings that these rows use come along. Sources marked in skip (NULL: none) are left out;
 * kernels, warnings and issues belong to no source and all come. */
void assay_findings_append(assay_part *to, const assay_part *from, const bool *skip);
/* The same, and `from` has them no more: many are not held twice. */
void assay_findings_move(assay_part *to, assay_part *from, const bool *skip);

#endif
