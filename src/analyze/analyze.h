/* Analyses: each reads tables and appends rows to tables of findings. */
#ifndef ASSAY_ANALYZE_ANALYZE_H
#define ASSAY_ANALYZE_ANALYZE_H

#include "model/run.h"

/* device_time: per source and device, the exact split of the span. Needs launch and kernel. */
void assay_partition(assay_run *run);

/* kernel: one row a name, in order of first appearance. family_of and class_of say what a name is.
 */
typedef assay_family assay_family_fn(assay_str name);
typedef assay_class assay_class_fn(assay_str name);
void assay_kernels(assay_run *run, assay_family_fn *family_of, assay_class_fn *class_of);

/* metric: the figures of the run, each measured, estimated or unknown. Needs all of the above. */
void assay_metrics(assay_run *run, const assay_report_opts *opts);

#endif
