/* Private to the wait resolver: what a call of a given name does to order. */
#ifndef ASSAY_RESOLVE_WAITS_CALLS_H
#define ASSAY_RESOLVE_WAITS_CALLS_H

#include "base/str.h"
#include "names/calls.h"
#include "resolve/sweep.h"

enum {
	ASSAY_CALL_EVENT = ASSAY_TAKES_EVENT,
	ASSAY_CALL_STREAM = ASSAY_TAKES_STREAM,
	ASSAY_CALL_FLAGS = ASSAY_TAKES_FLAGS,
	ASSAY_CALL_LAUNCHES = ASSAY_TAKES_LAUNCHES,
	ASSAY_CALL_HALF = ASSAY_TAKES_HALF,
	ASSAY_CALL_SYNC_COPY = 16,  /* waits when the copy goes from device to host */
	ASSAY_CALL_ASYNC_COPY = 32, /* waits only for memory that can be paged out */
	ASSAY_CALL_QUEUES = 128,    /* a copy or fill enters a stream */
};

typedef struct assay_call {
	uint8_t op;     /* assay_sweep_op; ASSAY_OP_COUNT: orders nothing */
	uint8_t takes;  /* ASSAY_CALL_* */
	uint32_t flags; /* ASSAY_REC_* */
} assay_call;

assay_call assay_call_of(assay_str name);
/* Is that the thread's own default stream? It has the handle 2, or null in calls built for it. */
static inline bool assay_call_means_own(assay_call c, uint64_t stream)
{
	return stream == 2 || (stream == 0 && c.flags & ASSAY_REC_PER_THREAD);
}

#endif
