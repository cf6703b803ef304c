/* The recorder runtime: what every recorder library stands on. C library only; it never prints,
 * never exits (but where its own threads alone keep a process that would have ended: rt_threads.c),
 * never blocks the program and leaves errno as it was.
 *
 * Two ways to write a record:
 *   hot   on the program's own threads: assay_rt_begin(), fill in, assay_rt_commit(). No lock, no
 *         allocation, no system call (but for the first record of a thread). A full ring drops the
 *         record, counts it and marks the gap.
 *   bulk  on the recorder's own threads (vendor buffer callbacks, tick, finish):
 * assay_rt_bulk_open(), any number of assay_rt_bulk() and assay_rt_string(), assay_rt_bulk_close().
 * Takes a lock and writes into a ring of the recorder's; whatever was closed survives kill -9.
 *
 * No file is touched on a thread of the program or of the vendor: the runtime owns a thread that
 * empties the rings into the file, with a table of descriptors of its own.
 *
 * Life: assay_rt_start() from the vendor's entry point; the runtime then owns a second thread that
 * calls hooks.tick every tick_ms, and at exit calls hooks.finish, drains, and writes the
 * end. fork: the child starts afresh, with files of its own, at its first record (after
 * hooks.forked). exec and _exit: `assay record` takes what the rings still hold. The library must
 * be linked with -z nodelete, so that dlclose cannot remove code that threads and vendors still
 * call. */
#ifndef ASSAY_RECORD_RT_H
#define ASSAY_RECORD_RT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "wire/wire.h"

/* From the variable ASSAY_RECORD that `assay record` sets: "1;key=value;..." with % escapes. An
 * unknown key is ignored; another version switches recording off. */
typedef struct assay_rt_config {
	char dir[768];       /* run directory */
	char rings[768];     /* directory of the ring files; the run directory when empty */
	char range[128];     /* record only inside ranges of this name; empty: always */
	char steps[128];     /* --steps-from, told to the reader */
	char skip[64];       /* vendor record kinds to leave out, "36.38" */
	bool paused;         /* start switched off; these three unless there is a control page */
	int64_t from, until; /* record only in this span of CLOCK_BOOTTIME; 0: open */
	uint32_t flush_ms;   /* between writes to the file, default 100 */
	uint32_t tick_ms; /* between calls of hooks.tick, default hooks.tick_ms, at most flush_ms */
	uint32_t ring_bytes;   /* of each thread, default 1 MiB */
	uint32_t buffer_bytes; /* of each vendor buffer, default 256 KiB */
	bool all_api;   /* record calls that neither launch, copy, allocate, order nor wait too */
	bool no_driver; /* leave out the driver's calls */
	bool driver_launches; /* see launches where the runtime calls the driver, not twice */
	bool no_api;          /* leave out all calls: GPU work loses its launch */
	bool exact_waits;     /* record the vendor's own numbers of events and waits, too */
	bool no_nodes;        /* graph launches as a whole instead of their nodes */
	bool sample_nodes, auto_nodes; /* the same, but for the nodes of some */
	bool no_stacks;                /* calls without their Python stacks */
	bool no_native;                /* samples without stacks outside Python */
	bool no_children;              /* no samples of child processes */
	uint32_t sample_us;            /* between looks at threads, default 1000; 0: none */
	bool no_blas;                  /* leave out matrix products */
	uint32_t filters; /* of system calls, that `assay record` found harmless; 0: not tried */
	uint32_t hang_ms; /* a call, or a step, that takes so long hangs; default 10 s */
	int64_t keep_ns, keep_bytes; /* a flight recorder keeps so much; bytes 0: it is none, ns 0:
					any time */
} assay_rt_config;

typedef struct assay_rt_hooks {
	const char *name;     /* "cuda", "rocm" */
	uint32_t tick_ms;     /* when the configuration has none; four times that while off */
	void (*tick)(void);   /* every tick_ms, on a thread of the recorder's; may be NULL */
	void (*finish)(void); /* once, at exit, before the last drain; may be NULL */
	void (*forked)(void); /* in a forked child, before anything else; may be NULL */
	/* before exec, on the program's thread: have everything handed over; false when work still
	 * runs. Recording goes on when the exec fails. May be NULL */
	bool (*leave)(void);
	/* switched on or off, on the thread that calls tick; may be NULL */
	void (*record)(bool on);
	void (*loaded)(void); /* a library was loaded, on the program's thread; may be NULL */
	/* on the program's thread: threads of our own, beside the one that calls tick, end, or
	 * start again; may be NULL */
	void (*rest)(bool on);
} assay_rt_hooks;

/* Read the configuration, make the files, start the thread. False: recording is off (not asked
 * for, or impossible), every other call then does nothing. May be called again; hooks must stay
 * valid. */
bool assay_rt_start(const assay_rt_hooks *hooks);
const assay_rt_config *assay_rt_conf(void);

/* CLOCK_BOOTTIME; and any clock, also of a thread that may not read the processor's. */
int64_t assay_rt_now(void);
int64_t assay_rt_clock(clockid_t id);
/* Our clock and another at one moment, to the time a reading takes; other NULL: CLOCK_REALTIME. */
void assay_rt_pair(uint64_t (*other)(void), int64_t *boot, int64_t *theirs);

/* Before a lock is taken on a thread of the program: a child whose fork called no handler, as the
 * bare system call does, is put in order; else nothing. */
void assay_rt_after_fork(void);

/* Number of this process's recording, 1 or more; another in a forked child, whose capture has
 * string ids of its own. */
uint32_t assay_rt_life(void);
/* Names the ring that the caller's next record goes to, so that what was told in another one is
 * told again; 0: it has none. */
uint64_t assay_rt_place(void);
/* Give the calling thread, which is the recorder's, a table of descriptors of its own: nothing of
 * the program's is in it, and the program never meets one of ours. False: the system refuses. 0 to
 * 2 are taken, so that no message of a library ends in a file of ours. */
bool assay_rt_own_table(void);
/* Start a thread of the recorder's, detached, with all signals blocked. */
bool assay_rt_thread(void *(*run)(void *));
/* Futexes of ours; errno is kept. */
void assay_rt_wait(_Atomic uint32_t *at, uint32_t while_it_is, int64_t ns);
void assay_rt_wake(_Atomic uint32_t *at);
void assay_rt_wake_one(_Atomic uint32_t *at);
/* False when the time is over and it is still so. */
bool assay_rt_wait_while(_Atomic uint32_t *at, uint32_t it_is, int64_t ns);
/* OS thread id of the caller, cached. */
uint32_t assay_rt_tid(void);

/* Room for a record in the caller's ring, its head filled in, the rest undefined; NULL: dropped.
 * bytes is rounded up to 8. Nothing may be called between begin and commit. */
void *assay_rt_begin(assay_wire_type type, size_t bytes);
void assay_rt_commit(void);

/* The calling thread, which is the recorder's, will record nothing more. */
void assay_rt_done(void);

/* Where the call that the thread is in is told, so that it is known of one that never returns;
 * NULL: nowhere. Filled in, start last, when a call begins; assay_rt_left() when it ended. */
struct assay_ring_call *assay_rt_call(void);
void assay_rt_left(void);

/* Is it switched on? */
bool assay_rt_recording(void);
/* How often it was switched off. */
uint32_t assay_rt_switches(void);
/* Sleep while it is not, at most ns. */
void assay_rt_idle(int64_t ns);
/* Of one call in so many, the ns its callbacks took. */
enum { ASSAY_COST_EVERY = 16 };
void assay_rt_cost(int64_t ns);
/* Does a record of this time belong to the recording (switched on, --only-range)? */
bool assay_rt_wanted(int64_t time);
/* Can the answer be no? */
bool assay_rt_limited(void);
/* Tell that a range opened (+1) or closed (-1) whose text is that of --only-range. */
void assay_rt_range(int step);
static inline bool assay_rt_ranged(void)
{
	return assay_rt_conf()->range[0] != 0;
}

/* False when recording is off; then do not close. */
bool assay_rt_bulk_open(void);
/* Room for a record, head filled in, the rest zero; valid until the next call. Never NULL. */
void *assay_rt_bulk(assay_wire_type type, size_t bytes);
/* Id of a text, written the first time; 0 for NULL and "". Between open and close only. */
uint32_t assay_rt_string(const char *z);
void assay_rt_meta(const char *key, const char *value); /* between open and close only */
/* Name of a function, by domain and number: told in this capture and in those of forked children.
 * Between open and close only. */
void assay_rt_name_call(uint16_t domain, uint32_t function, const char *name);
/* As meta, of those variables that are set: a launcher's, and the vendor's. NULL at the end. */
void assay_rt_tell_variables(const char *const *of_vendor);
/* Write a thread's name, the first time; threads with a ring have theirs written when it is
 * drained. Between open and close only. */
void assay_rt_name_thread(uint32_t tid);
/* Write it out. */
void assay_rt_bulk_close(void);

/* Records the vendor dropped, a takeover, ...: counted in the capture (opens and closes by
 * itself). */
void assay_rt_lost(uint32_t why, uint64_t count, const char *text);

/* Everything recorded so far is in the file when this returns (used before exec-like moments,
 * tests). */
void assay_rt_flush(void);

#endif
