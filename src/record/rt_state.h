/* The runtime's own state, shared between its files only.
 *
 * Threads: any thread of the program writes into its own ring (rt_hot.c); vendor's threads and ours
 * add records under the lock to the recorder's ring (rt_bulk.c); the writer (rt_write.c) alone owns
 * files: it has a table of descriptors of its own, so that it never meets a file of the program and
 * the program never one of ours. The ticker calls the vendor's hooks, which may hang. */
#ifndef ASSAY_RECORD_RT_STATE_H
#define ASSAY_RECORD_RT_STATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "record/rt.h"
#include "record/strings.h"
#include "wire/ring.h"

enum {
	RT_WINDOWS = 1024,
	RT_THREADS = 4096, /* remembered as named */
	RT_SYMBOLS = 4096, /* kernels remembered as named */
};

/* A file of ours: what proves that a descriptor still is, and the way back to it. */
typedef struct rt_file {
	int fd;
	int flags;
	dev_t device;
	ino_t inode;
	char path[1100];
} rt_file;

typedef enum rt_writing {
	RT_WRITER_NONE,
	RT_WRITER_STARTS,
	RT_WRITER_RUNS,
	RT_WRITER_FAILED, /* no files could be made, or it took too long */
	RT_WRITER_RESTS,  /* its files are closed */
	RT_WRITER_ENDED,
} rt_writing;

/* Stretches of time, the last RT_WINDOWS of them. */
typedef struct rt_windows {
	_Atomic uint32_t n;                                 /* so far */
	_Atomic int64_t start[RT_WINDOWS], end[RT_WINDOWS]; /* end 0: open */
} rt_windows;

/* The one struct of this library that changes. */
typedef struct rt_state {
	assay_rt_config conf;
	const assay_rt_hooks *hooks;
	_Atomic int on; /* 1 between start and stop */
	/* counts forks and starts: a thread's ring of another life is not its own; the memory is
	 * wiped by every fork, also by one that calls no handlers, and 0 says so */
	_Atomic uint32_t *life;
	uint32_t lives;                     /* the same, not wiped */
	_Atomic int open_ranges;            /* --only-range */
	rt_windows ranges;                  /* while any was open */
	rt_windows pauses;                  /* while recording was switched off */
	_Atomic uint32_t recording;         /* futex: 0 switched off */
	pthread_mutex_t lock;               /* start, stop, strings, the recorder's ring */
	assay_ring_file *file;              /* mapped, shared */
	char *bulk;                         /* data of the recorder's ring */
	uint64_t bulk_head;                 /* end of its records, published when bulk is closed */
	bool bulk_stuck;                    /* nobody empties it: drop without waiting */
	uint64_t bulk_lost;                 /* records dropped since */
	char *_Atomic data[ASSAY_RING_MAX]; /* each ring's bytes */
	_Atomic uint32_t next_ring;         /* last id of a ring */
	_Atomic uint32_t spare;             /* rings that are ready */
	_Atomic uint32_t ender;             /* thread that ends the process */
	_Atomic uint32_t made;              /* futex: rings became ready */
	_Atomic int no_more_rings;          /* none can be made: waiting is no use */
	pthread_key_t at_thread_end;
	bool key_made, atfork_made, atexit_made;
	_Atomic uint32_t writing;  /* futex: rt_writing */
	_Atomic uint32_t wake;     /* futex: a ring is half full, a ring is wanted, stop */
	_Atomic uint32_t stopping; /* 1: the ticker ends; 2: the writer, too */
	_Atomic uint32_t flush_asked, flush_done; /* counts; done is a futex */
	_Atomic uint32_t ticker_ended;            /* futex */
	_Atomic int leaving;                      /* an _exit: the ticker calls hooks.finish */
	_Atomic int resting;                      /* threads of ours that end start again */
	bool ticker_made;
	bool own_table;         /* the writer's descriptors are its own */
	rt_file capture, ring;  /* the writer's */
	uint64_t capture_bytes; /* written so far */
	char *take, *take2; /* records on their way out, of the recorder's ring and of a thread's */
	uint32_t threads[RT_THREADS]; /* threads already named, open addressing */
	uint64_t symbols[RT_SYMBOLS]; /* addresses of kernels' names already told */
	uint32_t unnamed[RT_THREADS]; /* of them, those whose name is still to be asked for */
	uint32_t unnamed_n;
	assay_strings strings, left_behind; /* left_behind: the parent's, in a forked child */
	int64_t last_clock;
	uint64_t damaged; /* places in rings that made no sense, to be told */
} rt_state;

extern rt_state rt;

/* As assay_rt_life(), without a call. */
static inline uint32_t rt_life(void)
{
	return atomic_load_explicit(rt.life, memory_order_relaxed);
}

/* rt.c */
bool assay_rt_begin_locked(void); /* under the lock: recording is on, started anew in a child */
void assay_rt_leave(void); /* the process ends without exit handlers; safe in a signal handler */
/* On a thread of the program: ours end, so that it is alone; false: there are others, or ours do
 * not end. In either case they start again with rouse. */
bool assay_rt_rest(void);
void assay_rt_rouse(void);
/* No thread may read the processor's clock from now on: the system is asked instead. */
void assay_rt_without_clock(void);

/* rt_threads.c. look: on the writer's thread, is no thread but ours left, of a process whose first
 * one ended? Then alone says so. end_process: as the C library does it with the last thread. */
bool assay_threads_look(void);
bool assay_threads_alone(void);
void assay_threads_end_process(void);
/* Threads of the process besides the caller and ours; -1 unknown. */
int assay_threads_of_others(void);
/* The caller is the only one; waits so long for it. */
bool assay_threads_none(int64_t ns);
void assay_threads_forked(void);

/* leave.c: stand in for exec, _exit and what one thread alone may do in objects loaded since */
void assay_rt_stand_in(void);
void assay_rt_leave_at_once(void); /* assay_rt_leave() of the process that records */

/* rt.c: a stretch begins, ends */
void assay_windows_open(rt_windows *w, int64_t time);
void assay_windows_close(rt_windows *w, int64_t time);

/* rt_control.c. open: on the writer's thread; begin: under the lock, the state a recording starts
 * in; rest: until there is something to obey, at most ns; disturb: end the rest of others. */
void assay_control_open(void);
void assay_control_begin(void);
void assay_control_rest(int64_t ns);
void assay_control_obey(void);
void assay_control_disturb(void);
/* Under the lock: nothing of the process ran in that time, if it was recorded at all. */
void assay_control_stood_still(int64_t from, int64_t to);

/* rt_keep.c: a flight recorder, on the writer's thread. begin: the ring file is made; put: a chunk,
 * to be sealed; write_out: all that is kept goes into the capture. */
bool assay_keep_on(void);
bool assay_keep_begin(void);
bool assay_keep_put(assay_wire_chunk *c, const char *payload, size_t n);
bool assay_keep_write_out(void);
void assay_keep_ring_ended(uint32_t ring);

/* Is it time to write out, for a step or a call that takes too long? Then why, else NULL. */
const char *assay_keep_look(void);

/* rt_steps.c. only: record these steps, last 0 all again; wanted: is the one that goes on among
 * them? slow: ns of a step that took too long, once, else 0; open: when one that takes too long
 * began, else 0. */
void assay_steps_forget(void);
void assay_steps_only(int64_t first, int64_t last);
bool assay_steps_wanted(bool *ordered);
int64_t assay_steps_slow(int64_t *median);
int64_t assay_steps_open(int64_t now);

/* rt_cost.c, on the writer's thread. keep: what it took, before it ends; tell: under the lock */
bool assay_rt_keep_cost(void);
void assay_rt_tell_cost(void);
void assay_rt_forget_cost(void);

/* rt_hot.c */
void assay_rt_forget_self(void); /* in a forked child */
void assay_rt_end_of_thread(void *ring);

/* rt_bulk.c, under the lock */
void assay_rt_publish(void);
void assay_rt_tell_calls(void); /* in a forked child: names that its parent told */
uint32_t assay_rt_string_of(const char *p, size_t n);
void assay_rt_put_mark(const char *name, int64_t time); /* of domain "assay" */
void assay_rt_put_lost(uint32_t why, uint64_t count, int64_t first, int64_t last, const char *text);

/* rt_write.c */
/* Nothing of them is wanted any more: `assay record` need not look. */
void assay_rt_remove_rings(void);
void *assay_rt_writer(void *unused);
void assay_rt_wake_writer(void);
void assay_rt_drain_bulk(void);          /* on the writer's thread */
void assay_rt_drop_files(void);          /* in a forked child: the parent's */
void assay_rt_leave_empty_capture(void); /* of a process that cannot be recorded */
bool assay_rt_is_writer(void);
void assay_rt_tell_fact(const char *key, const char *value); /* on the writer's thread */
int assay_rt_ring_fd(void);
/* A chunk into the capture, whole or not at all; sealed and numbered here. */
bool assay_rt_append(assay_wire_chunk *c, const void *payload, size_t n);

#endif
