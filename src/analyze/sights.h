/* What a thread did while no row of its own tells: from the samples between two of its calls, and
 * from the Python stacks of the calls themselves. */
#ifndef ASSAY_ANALYZE_SIGHTS_H
#define ASSAY_ANALYZE_SIGHTS_H

#include "model/run.h"

typedef struct assay_sight {
	int64_t until;
	uint32_t stack;  /* where the thread was; none when nothing says */
	uint32_t sample; /* that shows it; none */
	assay_why cause; /* HOST_UNTRACED: nothing was seen */
} assay_sight;

typedef struct assay_sights assay_sights;

/* NULL when the run has neither samples nor stacks. */
assay_sights *assay_sights_new(const assay_run *run);
void assay_sights_free(assay_sights *s);
/* At an instant of a thread, looked for in [now, to) only. */
assay_sight assay_sights_at(const assay_sights *s, uint32_t track, int64_t now, int64_t to);

/* Of a thread that was seen to wait (HOST_LOCK): the one that computes gradients for it, or that it
 * does so for; ASSAY_NO_ROW for any other wait. *seen then ends where that may change, and is no
 * wait any more where the other thread is done. */
uint32_t assay_sights_awaited(const assay_sights *s, uint32_t track, int64_t now,
			      assay_sight *seen);

/* Is a stack of an event loop that runs nothing of the program? What started the loop says nothing
 * of what it waits for. */
bool assay_sights_in_loop(const assay_sights *s, uint32_t stack);
/* What an event loop calls on the way to a stack: the task or callback that it went on with, which
 * is what waited. The stack itself where no loop is. */
uint32_t assay_sights_task(const assay_sights *s, uint32_t stack);

/* Was the thread without a processor at an instant inside a row of host? Either way out->until is
 * when that may change. */
bool assay_sights_robbed(const assay_sights *s, uint32_t host, int64_t now, int64_t to,
			 assay_sight *out);

#endif
