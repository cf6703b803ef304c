/* Calls of a place that block: what they wait for, by what stands around them. */
#ifndef ASSAY_FIND_BLOCKING_H
#define ASSAY_FIND_BLOCKING_H

#include "find/finding.h"

typedef struct assay_blocking {
	uint64_t all;         /* of the window, at any place */
	uint64_t calls, bare; /* at the place; of these, that wait without a copy before them */
	uint32_t first;       /* one of the place, a row of host; ASSAY_NO_ROW */
	size_t waiter;        /* row of assay_waiters that most of them lie in; its count: none */
} assay_blocking;

/* What to do about calls that wait and copy nothing. */
extern const char assay_timer_fix[];

/* Says in a finding about blocking calls of that place what they wait for; true: what is done there
 * is needed, and only the waiting can go. */
bool assay_blocking_tell(const assay_run *run, const assay_find_ctx *c, uint32_t own,
			 assay_found *f);

/* Blocking calls that come so close that a host cannot get ahead of its device. */
bool assay_blocking_is_dense(const assay_blocking *b, const assay_window *w);

#endif
