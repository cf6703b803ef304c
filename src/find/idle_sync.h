/* Idle time of blocking calls. They cost more than what of gaps lies in them: behind a call the
 * device waits until the host has launched again, and without the call it would have done so
 * before. How much of that is the call's fault a replay tells. */
#ifndef ASSAY_FIND_IDLE_SYNC_H
#define ASSAY_FIND_IDLE_SYNC_H

#include "find/idle_cost.h"
#include "find/idle_named.h"

/* Takes the replay's cost for that of blocking calls; false: what was measured is as much. */
bool assay_idle_weigh_drained(const assay_find_ctx *c, assay_idle_cost *cost);
/* The blocking call that most time of gaps began in: puts its line into the finding and gives its
 * own call; ASSAY_NO_ROW. */
uint32_t assay_idle_drained_where(const assay_run *run, const assay_find_ctx *c,
				  const assay_idle_cost *cost, assay_found *f);

/* Where the device runs out of work behind a blocking call again and again, the host is never ahead
 * of it, and every short stretch between two launches shows: the calls are to blame. */
bool assay_idle_is_short_of_launches(const assay_find_ctx *c, const assay_idle_cost *cost,
				     int cause);
/* A host that is late anyway hides what blocking calls cost: without them it would not be. */
bool assay_idle_reads_back_much(const assay_run *run, const assay_find_ctx *c,
				const assay_idle_cost *cost);

/* Where no stack says which line waits, operators are the places: without those that read values
 * back, what makes the values goes, too, and the host runs ahead. */
void assay_idle_weigh_read_backs(const assay_run *run, const assay_find_ctx *c, assay_found *f);

/* What is done at the place of a finding about blocking calls. */
void assay_idle_sync_tell(const assay_run *run, const assay_find_ctx *c, bool drained,
			  assay_idle_named *n);

#endif
