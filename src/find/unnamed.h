/* Host time without a name: where the thread is, and what it seems to do, by how long it takes and
 * by the work around it. */
#ifndef ASSAY_FIND_UNNAMED_H
#define ASSAY_FIND_UNNAMED_H

#include "find/finding.h"

typedef struct assay_unnamed {
	const char *place;   /* "most of it between cudaDeviceSynchronize and Optimizer.zero_grad";
				NULL */
	bool one_place;      /* most of it is there */
	const char *because; /* what tells the cause, or as much of it as can be told; NULL */
	assay_why likely;    /* ASSAY_WHY_HOST_UNTRACED: nothing tells */
	const char *phrase, *fix; /* where they are not those of the cause; NULL */
	/* All of the device's time that goes with it, where that is more than its waiting. */
	const assay_span *span;
	size_t spans;
} assay_unnamed;

/* Of all such time in the window. */
assay_unnamed assay_unnamed_look(const assay_run *run, const assay_find_ctx *c);

#endif
