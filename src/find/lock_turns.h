/* A thread that wants Python's lock asks for it after 5 ms and has it soon after; with several that
 * want it, after some such turns. Where stretches without any mark last that long, at many places,
 * inside operators and between them, threads wait for the lock. */
#ifndef ASSAY_FIND_LOCK_TURNS_H
#define ASSAY_FIND_LOCK_TURNS_H

#include "find/finding.h"

typedef struct assay_lock_look {
	bool looked;
	const char *because;
} assay_lock_look;

/* What tells it, in the scratch arena; NULL: nothing does. Several findings ask, and it is looked
 * for once. */
const char *assay_lock_turns(const assay_run *run, const assay_find_ctx *c);

#endif
