/* What each cause of idle time costs, and whether every step pays it. */
#ifndef ASSAY_FIND_IDLE_COST_H
#define ASSAY_FIND_IDLE_COST_H

#include "find/finding.h"

/* The causes, and gaps that began while the host stood in a blocking call: whole, whatever came
 * behind the call. */
enum { ASSAY_IDLE_DRAINED = ASSAY_WHY_COUNT, ASSAY_IDLE_KINDS };

typedef struct assay_idle_cost {
	int64_t total[ASSAY_IDLE_KINDS];
	uint64_t gaps[ASSAY_IDLE_KINDS];
	size_t steps[ASSAY_IDLE_KINDS]; /* that have a fair part of it: a fifth of the mean */
	bool steady[ASSAY_IDLE_KINDS];  /* half of the steps do, or data are waited for evenly */
} assay_idle_cost;

void assay_idle_measure(const assay_run *run, const assay_find_ctx *c, assay_idle_cost *cost);

/* Do its gaps last no longer, in the mean, than a host needs to launch? */
bool assay_idle_is_short(const assay_idle_cost *cost, int cause);
/* A device needs a microsecond or two from one kernel to the next: nothing is wrong there, and it
 * is spoken of where kernels are so short that it becomes much. */
bool assay_idle_is_usual(const assay_find_ctx *c, const assay_idle_cost *cost, int cause);
/* Idle time of a tenth of the whole and more is always spoken of, however many causes share it. */
double assay_idle_least(const assay_find_ctx *c);
bool assay_idle_is_worth_saying(const assay_find_ctx *c, const assay_idle_cost *cost, int cause);

/* "1 ms of every 3 ms step", or "2 ms in 3 of 8 steps"; in the scratch arena. */
const char *assay_idle_cost_words(const assay_find_ctx *c, const assay_idle_cost *cost, int cause);

#endif
