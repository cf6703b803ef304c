/* What each process of a recording did in its last stretch. */
#ifndef ASSAY_MODEL_RECENT_H
#define ASSAY_MODEL_RECENT_H

#include "model/run.h"

typedef struct assay_recent_rank {
	uint32_t group;
	int64_t first,
		latest; /* begin of the first thing seen, end of the last; INT64_MIN nothing */
	int64_t span;   /* ns that the rest is counted in */
	uint64_t kernels, steps;
	int64_t step_ns; /* of the steps, summed */
	int64_t busy;    /* union of work on its devices */
} assay_recent_rank;

typedef struct assay_recent {
	int64_t last; /* ns that are counted, up to the latest thing of each, as far as there are */
	assay_vec(assay_recent_rank) rank;
	assay_vec(uint32_t) of_group; /* one more than its place, 0 none */
} assay_recent;

assay_recent assay_recent_of(const assay_tables *t, int64_t last);
void assay_recent_free(assay_recent *r);

#endif
