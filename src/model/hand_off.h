/* Hand-offs between threads, from what a recording shows of them: one thread is silent while
 * another one works. The critical path and the scopes both rest on this. */
#ifndef ASSAY_MODEL_HAND_OFF_H
#define ASSAY_MODEL_HAND_OFF_H

#include "model/run.h"

/* A stretch in which a thread is seen to work. */
typedef struct assay_burst {
	int64_t from, to;
} assay_burst;

typedef assay_vec(int64_t) assay_instants;

typedef struct assay_seen {
	assay_vec(assay_burst) burst; /* rising, never touching */
	int64_t active;               /* their sum */
	const int64_t *sign; /* when the thread shows: starts and ends of its spans, rising */
	size_t signs;
} assay_seen;

#define ASSAY_NO_SIGN SIZE_MAX

/* GPU work that one thread launched in the range of another: tracks, events, sum of durations. */
typedef struct assay_handed {
	uint32_t worker, waiter;
	uint64_t work;
	int64_t sum;
} assay_handed;

/* Bursts [low, high) of the worker, `from` to `to`, in a silence of the waiter. */
typedef struct assay_hand_off {
	size_t low, high;
	int64_t from, to;
	size_t leave,
		back; /* signs of the waiter: the last before, the first after; ASSAY_NO_SIGN */
} assay_hand_off;

typedef assay_vec(assay_hand_off) assay_hand_offs;

/* Adds a stretch that begins no earlier than those before it. */
void assay_seen_work(assay_seen *t, int64_t from, int64_t to);
/* Starts, and ends up to `until`, of rows of host given by start: rising, each once. */
void assay_seen_signs(const assay_host_table *host, const uint32_t *row, size_t n, int64_t until,
		      assay_instants *out);
/* Threads that take turns hand work to each other; threads that run side by side do not. */
bool assay_take_turns(const assay_seen *a, const assay_seen *b);
/* What the worker does in silences of the waiter, in order of time. Bursts stand together unless
 * the waiter shows between them; what takes less than 20 us is no hand-off but chance. */
void assay_hand_offs_find(const assay_seen *waiter, const assay_seen *worker, assay_hand_offs *out);

#endif
