/* What a recorder tells of the host: the Python stack of each call, and samples of threads that
 * launch GPU work. Like rt.h: never prints, never exits, leaves errno. */
#ifndef ASSAY_RECORD_HOST_H
#define ASSAY_RECORD_HOST_H

#include <stdatomic.h>

#include "record/py.h"
#include "record/rt.h"

/* After assay_rt_start(), at its end (from hooks.finish), and in a forked child. */
void assay_host_start(void);
void assay_host_stop(void);
void assay_host_rest(bool on); /* as hooks.rest */
/* Calls are not seen, and so no stacks, for this reason. */
void assay_host_unseen(const char *why);
void assay_host_forked(void);
/* Now and then, on a thread of the recorder's. */
void assay_host_tick(void);

/* The calling thread enters a call that is recorded. */
void assay_host_enter(int64_t now);
/* It is at the call's end: the id of its stack, to be written into a record of its ring; 0 none, or
 * it is not wanted. */
uint32_t assay_host_leave(int64_t now, bool wanted);

/* A thread that made calls; a line of the cache for each, which it writes with every call. */
typedef struct assay_host_thread {
	_Alignas(64) _Atomic uint32_t tid; /* 0: the place is free */
	uintptr_t handle;                  /* pthread_self */
	_Atomic int64_t last;              /* end of its last call */
	_Atomic int64_t in;                /* start of the call it is in; 0 none */
	_Atomic int walks;                 /* it reads its stack */
} assay_host_thread;
enum { ASSAY_HOST_THREADS = 512 };
/* How many places have ever been used. */
uint32_t assay_host_threads(const assay_host_thread **all);
/* The interpreter once it is proved, else NULL. */
const assay_py *assay_host_python(void);

/* sampler.c */
/* A call that lasted longer than this has ended, or a thread made its first: the sampler may have
 * gone to sleep meanwhile. */
enum { ASSAY_HOST_LONG_NS = 1000000 };
void assay_samples_wake(void);
void assay_samples_start(void);
void assay_samples_stop(void);
bool assay_samples_rest(void); /* until the next start; false: it did not run, or is late */
void assay_samples_forked(void);

#endif
