/* Stretches in which a thread that launches shows nothing while a device waits for it. */
#ifndef ASSAY_FIND_HOLES_H
#define ASSAY_FIND_HOLES_H

#include "analyze/window.h"
#include "base/beside.h"

typedef struct assay_hole {
	int64_t from, to;       /* of the thread */
	uint32_t before, after; /* rows of host that end and begin there */
	int64_t idle;           /* ns of it in which the device waits, for want of anything known */
	uint32_t gap;           /* with most of them */
	int64_t most;           /* ns in that gap */
} assay_hole;

typedef assay_vec(assay_hole) assay_holes;

/* Of the window, in order of time thread by thread; short ones are left out. The caller frees. */
void assay_holes_find(const assay_run *run, const assay_window *w, assay_holes *out);

/* The same, beside what the caller does meanwhile, where the window has enough of such time that
 * somebody may ask. No rows of host, gap or gap_part may come until it is over. */
typedef struct assay_hole_search {
	const assay_run *run;
	const assay_window *w;
	assay_holes found;
	assay_beside beside;
} assay_hole_search;

void assay_hole_search_start(assay_hole_search *s, const assay_run *run, const assay_window *w);
const assay_holes *assay_hole_search_found(assay_hole_search *s);
void assay_hole_search_end(assay_hole_search *s);

#endif
