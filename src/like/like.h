/* What the imitations of other tools share: figures, and the work of one rank in time order. */
#ifndef ASSAY_LIKE_LIKE_H
#define ASSAY_LIKE_LIKE_H

#include "model/run.h"
#include "work/work.h"

/* Fills the like table. Needs launch, kernel and step. */
typedef void assay_like_fn(assay_run *run);
void assay_like_hta(assay_run *run);
void assay_like_tracelens(assay_run *run);
/* Its perf table of operators, for one source. Needs op_call. */
void assay_like_tracelens_ops(assay_run *run, uint32_t source);
/* Its counts in the place of ours, where they are others. */
void assay_tracelens_work(assay_str name, const assay_op_args *args, assay_work *w);

void assay_like_add(assay_run *run, uint32_t source, const char *variant, const char *group,
		    const char *name, double value);

#endif
