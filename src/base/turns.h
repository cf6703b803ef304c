/* Tasks that are done at the same time and handed over in order: parsing parts of a text, writing
 * blocks of a file. Any number of threads gives what one gives. A thread takes the next task when
 * its last one is handed over, so no more tasks are held than there are threads. */
#ifndef ASSAY_BASE_TURNS_H
#define ASSAY_BASE_TURNS_H

#include <stdbool.h>
#include <stdint.h>

enum { ASSAY_THREADS_MAX = 64 };

typedef struct assay_turns {
	uint64_t tasks;   /* UINT64_MAX: until begin or hand_over say that it is over */
	unsigned threads; /* 0 or 1: the calling thread alone */
	void *ctx;
	/* In the order of tasks, one at a time, before the work. False: there is no such task, and
	 * it is over. Or NULL. */
	bool (*begin)(void *ctx, unsigned worker, uint64_t task);
	/* At the same time as others; worker is below threads. */
	void (*work)(void *ctx, unsigned worker, uint64_t task);
	/* In the order of tasks, one at a time. False: it is over, and no task is begun any more;
	 * those that were still come here. Or NULL: nobody waits for another's turn. */
	bool (*hand_over)(void *ctx, unsigned worker, uint64_t task);
	/* After that, at the same time as others; or NULL. */
	void (*after)(void *ctx, unsigned worker, uint64_t task);
	struct turns *now; /* while it runs */
} assay_turns;

void assay_turns_run(assay_turns *turns);
/* For work that is not all its own: waits until all tasks before were handed over. */
void assay_turns_await(const assay_turns *turns, uint64_t task);

/* Threads worth using here: ASSAY_THREADS, else the processors this process may run on. */
unsigned assay_threads(void);

#endif
