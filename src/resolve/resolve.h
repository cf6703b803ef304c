/* From rows as read to rows that know each other. Called in this order by assay_run_analyze(). */
#ifndef ASSAY_RESOLVE_RESOLVE_H
#define ASSAY_RESOLVE_RESOLVE_H

#include "model/run.h"

/* Fills the launch table: which call caused each GPU row. Counts unlinked ones. */
void assay_link(assay_run *run);

/* Fills the step table from ProfilerStep markers on the host. */
void assay_find_steps(assay_run *run);

/* What a GPU row's name says. Rows of kind MEMCPY are copies whatever their name. */
assay_class assay_class_of_name(assay_str name);
assay_family assay_family_of_name(assay_str name);
/* What the operator around a launch says about its kernels. */
assay_family assay_family_of_op(assay_str op);

#endif
