/* One piece of work that goes on beside its caller, in a thread of its own where several may be
 * used, and when it is waited for where not. */
#ifndef ASSAY_BASE_BESIDE_H
#define ASSAY_BASE_BESIDE_H

#include "base/owner.h"

typedef struct assay_beside {
	assay_thread thread;
	assay_undo undo; /* while the thread is at it */
	void (*work)(void *arg);
	void *arg;
	bool runs, done;
} assay_beside;

/* The struct stays where it is until it was joined or dropped, as does what arg leads to. */
void assay_beside_start(assay_beside *b, unsigned threads, void (*work)(void *arg), void *arg);
/* The work is done when this returns. Once it was, any thread may call this. */
void assay_beside_join(assay_beside *b);
/* Nobody wants it any more: waits for what has begun, begins nothing. */
void assay_beside_drop(assay_beside *b);

#endif
