/* Analysis in two halves, and jobs of more ranks than memory has room for. */
#ifndef ASSAY_API_JOB_H
#define ASSAY_API_JOB_H

#include "analyze/order.h"
#include "model/run.h"

/* Options as callers gave them, checked. */
bool assay_opts_take(assay_report_opts *opts, const assay_report_opts *given, assay_err *err);

/* What can be said of each source on its own. Free order after use. */
void assay_analyze_sources(assay_run *run, const assay_report_opts *opts, assay_order *order);
/* What is said of all of them together. Needs the first half. */
bool assay_analyze_job(assay_run *run, const assay_report_opts *opts, const assay_order *order,
		       assay_err *err);

enum { ASSAY_RANKS_IN_FULL = 16 };
/* Read and analyse into a new run. Of more than ASSAY_RANKS_IN_FULL files, findings are kept of all
 * (model/findings.h) and events only of those that the report shows: the first one, the one with
 * most work, the one that others waited for most and the one that waited most. run->in_full says
 * how many; their sources come first. */
bool assay_job_read(assay_run *run, char *const *paths, size_t n, const assay_report_opts *opts,
		    assay_err *err);

#endif
