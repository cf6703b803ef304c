/* Clocks and timespecs in nanoseconds. */
#ifndef ASSAY_WIRE_CLOCK_H
#define ASSAY_WIRE_CLOCK_H

#include <pthread.h>
#include <stdint.h>
#include <time.h>

static inline int64_t assay_timespec_ns(struct timespec t)
{
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static inline struct timespec assay_timespec_of(int64_t ns)
{
	return (struct timespec){.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
}

/* -1: there is no such clock. */
static inline int64_t assay_clock(clockid_t id)
{
	struct timespec t;
	return clock_gettime(id, &t) ? -1 : assay_timespec_ns(t);
}

/* Whose timed waits are by CLOCK_MONOTONIC: the wall clock may be set meanwhile. */
static inline void assay_cond_init(pthread_cond_t *c)
{
	pthread_condattr_t a;
	pthread_condattr_init(&a);
	pthread_condattr_setclock(&a, CLOCK_MONOTONIC);
	pthread_cond_init(c, &a);
	pthread_condattr_destroy(&a);
}

#endif
