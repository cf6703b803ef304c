/* Barriers in the queues of AMD's GPUs as witnesses: what the hardware was told of a call. */
#ifndef ASSAY_RESOLVE_WAITS_BARRIERS_H
#define ASSAY_RESOLVE_WAITS_BARRIERS_H

#include "resolve/waits.h"

/* Needs the indices of calls. */
void waits_find_barriers(waits *w);

/* The barrier of the call with this key, a row of barrier; ASSAY_NO_ROW. */
uint32_t waits_barrier_of(const waits *w, uint32_t source, uint64_t key);
uint32_t waits_barrier_stream(const waits *w, uint32_t barrier);

/* When the barrier of the call with this key was over; INT64_MAX when it has none. */
int64_t waits_barrier_over(const waits *w, uint32_t source, uint64_t key);
/* How long after `end` the barrier of the call with this key was over; 0 when it has none. */
int64_t waits_barrier_after(const waits *w, uint32_t source, uint64_t key, int64_t end);

/* A call of which the barrier says more than its arguments, or that was not recorded. */
void waits_add_barrier(waits *w, uint32_t barrier, uint32_t h);
void waits_add_lone_barriers(waits *w);
/* What barriers say of the calls: the stream they really went to, and which record a wait met. */
void waits_hear_barriers(waits *w);

#endif
