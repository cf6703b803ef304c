/* Start, fork, and every way a process can end. */
#define _GNU_SOURCE /* syscall, MADV_WIPEONFORK */
#include "record/rt.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "record/conf.h"
#include "record/loader.h"
#include "record/rt_state.h"
#include "wire/clock.h"

enum {
	PAIR_TRIES = 8,
	PAIR_GOOD_NS = 500,
	START_NS = 2000000000, /* the longest that a start or an end may take the program */
	LEAVE_NS = 1000000000, /* and an _exit, twice */
};
#define LONG_NS 10000000000

static _Atomic uint32_t first_life;
rt_state rt = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.life = &first_life,
	.capture.fd = -1,
	.ring.fd = -1,
};

/* Sticks: which threads may read the processor's clock is not worth knowing. */
static _Atomic int without_clock;

void assay_rt_without_clock(void)
{
	atomic_store(&without_clock, 1);
}

static __attribute__((noinline)) int64_t ask_for_clock(clockid_t id)
{
	struct timespec t;
	return syscall(SYS_clock_gettime, id, &t) ? -1 : assay_timespec_ns(t);
}

int64_t assay_rt_clock(clockid_t id)
{
	return atomic_load_explicit(&without_clock, memory_order_relaxed) ? ask_for_clock(id)
									  : assay_clock(id);
}

int64_t assay_rt_now(void)
{
	return assay_rt_clock(CLOCK_BOOTTIME);
}

/* The best of several readings: one that was interrupted would put a whole chunk out of place. */
void assay_rt_pair(uint64_t (*other)(void), int64_t *boot, int64_t *theirs)
{
	int64_t best = INT64_MAX;
	for (int i = 0; i < PAIR_TRIES && best > PAIR_GOOD_NS; i++) {
		int64_t before = assay_rt_now();
		int64_t t = other ? (int64_t)other() : assay_rt_clock(CLOCK_REALTIME);
		int64_t after = assay_rt_now();
		if (after - before < best) {
			best = after - before;
			*boot = before + best / 2;
			*theirs = t;
		}
	}
}

uint32_t assay_rt_life(void)
{
	return rt_life();
}

const assay_rt_config *assay_rt_conf(void)
{
	return &rt.conf;
}

void assay_rt_wait(_Atomic uint32_t *at, uint32_t while_it_is, int64_t ns)
{
	struct timespec t = assay_timespec_of(ns);
	int saved = errno;
	syscall(SYS_futex, at, FUTEX_WAIT_PRIVATE, while_it_is, &t, NULL, 0);
	errno = saved;
}

static void wake(_Atomic uint32_t *at, int how_many)
{
	int saved = errno;
	syscall(SYS_futex, at, FUTEX_WAKE_PRIVATE, how_many, NULL, NULL, 0);
	errno = saved;
}

void assay_rt_wake(_Atomic uint32_t *at)
{
	wake(at, INT32_MAX);
}

void assay_rt_wake_one(_Atomic uint32_t *at)
{
	wake(at, 1);
}

/* In slices: of a time in which the whole process was stopped, only one counts. */
bool assay_rt_wait_while(_Atomic uint32_t *at, uint32_t it_is, int64_t ns)
{
	const int64_t slice = ns / 16 + 1;
	for (int64_t left = ns; atomic_load(at) == it_is && left > 0;) {
		int64_t before = assay_rt_now();
		assay_rt_wait(at, it_is, left < slice ? left : slice);
		int64_t took = assay_rt_now() - before;
		left -= took < slice ? took : slice;
	}
	return atomic_load(at) != it_is;
}

/* ---- what is wanted ---- */

void assay_windows_open(rt_windows *w, int64_t time)
{
	uint32_t i = atomic_load(&w->n) % RT_WINDOWS;
	atomic_store(&w->end[i], 0);
	atomic_store(&w->start[i], time);
	atomic_fetch_add(&w->n, 1);
}

void assay_windows_close(rt_windows *w, int64_t time)
{
	uint32_t n = atomic_load(&w->n);
	if (n)
		atomic_store(&w->end[(n - 1) % RT_WINDOWS], time);
}

static bool in_a_window(const rt_windows *w, int64_t time)
{
	uint32_t n = atomic_load(&w->n), oldest = n > RT_WINDOWS ? n - RT_WINDOWS : 0;
	for (uint32_t i = n; i-- > oldest;) {
		int64_t end = atomic_load(&w->end[i % RT_WINDOWS]);
		if (time >= atomic_load(&w->start[i % RT_WINDOWS]))
			return !end || time < end;
	}
	return false;
}

void assay_rt_range(int step)
{
	int before = atomic_fetch_add(&rt.open_ranges, step);
	if (before == 0 && step > 0)
		assay_windows_open(&rt.ranges, assay_rt_now());
	else if (before == 1 && step < 0)
		assay_windows_close(&rt.ranges, assay_rt_now());
}

bool assay_rt_wanted(int64_t time)
{
	if (in_a_window(&rt.pauses, time))
		return false;
	return !rt.conf.range[0] || in_a_window(&rt.ranges, time);
}

bool assay_rt_limited(void)
{
	return rt.conf.range[0] || atomic_load_explicit(&rt.pauses.n, memory_order_relaxed);
}

/* ---- start ---- */

/* The ticker does it, which has the program's descriptors: exit handlers write its files. */
static void end_process(void)
{
	atomic_store(&rt.ticker_ended, 1); /* who stops recording at exit need not wait for us */
	assay_threads_end_process();
}

static void *tick_on(void *unused)
{
	enum { OFF_PERIODS = 4 };
	(void)unused;
	prctl(PR_SET_NAME, "assay-tick");
	int64_t period = (int64_t)rt.conf.tick_ms * 1000000;
	while (!atomic_load(&rt.stopping)) {
		assay_control_rest(assay_rt_recording() ? period : OFF_PERIODS * period);
		if (atomic_load(&rt.stopping))
			break;
		if (assay_threads_alone())
			end_process();
		assay_rt_stand_in();
		assay_control_obey();
		rt.hooks->tick();
	}
	if (atomic_load(&rt.leaving) && rt.hooks->finish)
		rt.hooks->finish();
	atomic_store(&rt.ticker_ended, 1);
	assay_rt_wake(&rt.ticker_ended);
	return NULL;
}

static bool make_buffers(void)
{
	rt.take = rt.take ? rt.take : malloc(ASSAY_RING_BULK);
	rt.take2 = rt.take2 ? rt.take2 : malloc(rt.conf.ring_bytes);
	return rt.take && rt.take2;
}

/* A writer that comes too late finds that nobody waits and takes its files back. */
static bool start_writer(void)
{
	atomic_store(&rt.writing, RT_WRITER_STARTS);
	if (!assay_rt_thread(assay_rt_writer)) {
		atomic_store(&rt.writing, RT_WRITER_FAILED);
		return false;
	}
	assay_rt_wait_while(&rt.writing, RT_WRITER_STARTS, START_NS);
	uint32_t starts = RT_WRITER_STARTS;
	atomic_compare_exchange_strong(&rt.writing, &starts, RT_WRITER_FAILED);
	return atomic_load(&rt.writing) == RT_WRITER_RUNS;
}

static void start_ticker(void)
{
	atomic_store(&rt.ticker_ended, 0);
	rt.ticker_made = rt.hooks->tick && assay_rt_thread(tick_on);
}

static void put_clocks(void)
{
	assay_wire_clock *c = assay_rt_bulk(ASSAY_WIRE_CLOCK, sizeof *c);
	assay_rt_pair(NULL, &c->boot, &c->real);
}

static void new_life(void)
{
	atomic_store(rt.life, ++rt.lives);
}

static bool start_locked(void)
{
	atomic_store(&rt.wake, 0);
	atomic_store(&rt.stopping, 0);
	atomic_store(&rt.leaving, 0);
	atomic_store(&rt.resting, 0);
	atomic_store(&rt.next_ring, 0);
	atomic_store(&rt.spare, 0);
	atomic_store(&rt.no_more_rings, 0);
	rt.bulk_head = rt.bulk_lost = rt.damaged = rt.unnamed_n = 0;
	rt.bulk_stuck = false;
	assay_rt_forget_cost();
	assay_steps_forget();
	memset(rt.threads, 0, sizeof rt.threads);
	memset(rt.symbols, 0, sizeof rt.symbols);
	if (!make_buffers() || !start_writer()) {
		atomic_store(&rt.on, 0);
		assay_rt_leave_empty_capture(); /* who looks after the command sees why */
		return false;
	}
	new_life();
	atomic_store(&rt.on, 1);
	assay_control_begin();
	if (rt.conf.steps[0])
		assay_rt_meta("steps_from", rt.conf.steps);
	put_clocks();
	assay_rt_tell_calls();
	assay_rt_publish();
	assay_rt_stand_in();
	start_ticker();
	return true;
}

bool assay_rt_begin_locked(void)
{
	return atomic_load(&rt.on) && (rt.file || start_locked());
}

/* ---- fork ---- */

/* The child has the parent's rings in its memory and none of its threads. No lock is taken around
 * fork, because a vendor's thread may hold it while it waits for a lock that the vendor takes
 * around fork; so whatever the lock guards is dropped unseen here. */
static void in_child(void)
{
	assay_loader_in_child();
	assay_rt_forget_self();
	assay_threads_forked();
	pthread_setspecific(rt.at_thread_end, NULL);
	assay_rt_drop_files();
	new_life();
	rt.left_behind = rt.strings; /* not freed: it may be half changed */
	rt.strings = (assay_strings){0};
	pthread_mutex_init(&rt.lock, NULL);
	if (rt.hooks && rt.hooks->forked && atomic_load(&rt.on))
		rt.hooks->forked();
}

void assay_rt_after_fork(void)
{
	if (rt.lives && rt_life() == 0)
		in_child();
}

/* ---- end ---- */

/* The ticker may hang in a vendor's library. */
static bool stop_ticker(int64_t ns)
{
	atomic_store(&rt.stopping, 1);
	assay_control_disturb();
	return !rt.ticker_made || assay_rt_wait_while(&rt.ticker_ended, 0, ns);
}

/* What cannot be written in time is left for `assay record`. */
static bool stop_writer(int64_t ns)
{
	atomic_store(&rt.stopping, 2);
	assay_rt_wake_writer();
	return assay_rt_wait_while(&rt.writing, RT_WRITER_RUNS, ns);
}

bool assay_rt_rest(void)
{
	if (assay_threads_of_others())
		return false;
	atomic_store(&rt.resting, 1);
	if (!stop_ticker(START_NS))
		return false;
	if (rt.hooks->rest)
		rt.hooks->rest(true);
	return stop_writer(START_NS) && assay_threads_none(LEAVE_NS);
}

/* Where no thread can be started any more (its process numbers are those of another world now),
 * what is recorded stays in the rings, for `assay record`. */
void assay_rt_rouse(void)
{
	if (!atomic_load(&rt.resting))
		return;
	atomic_store(&rt.stopping, 0);
	if (atomic_load(&rt.writing) == RT_WRITER_RESTS && !start_writer()) {
		atomic_store(&rt.no_more_rings, 1);
		rt.bulk_stuck = true;
	}
	if (rt.hooks->rest)
		rt.hooks->rest(false);
	if (atomic_load(&rt.ticker_ended))
		start_ticker();
	atomic_store(&rt.resting, 0);
}

/* Threads of the program may still run: rings stay mapped. */
static void stop(void)
{
	assay_rt_after_fork();
	if (!atomic_load(&rt.on) || !rt.file)
		return;
	int saved = errno;
	atomic_store(&rt.ender, assay_rt_tid());
	stop_ticker(START_NS);
	if (rt.hooks->finish && !atomic_load(&rt.leaving))
		rt.hooks->finish();
	stop_writer(LONG_NS);
	errno = saved;
}

void assay_rt_leave(void)
{
	atomic_store(&rt.leaving, 1);
	atomic_store(&rt.ender, assay_rt_tid());
	if (stop_ticker(LEAVE_NS))
		stop_writer(LEAVE_NS);
}

__attribute__((destructor)) static void at_unload(void)
{
	stop();
	assay_rt_remove_rings();
}

void assay_rt_flush(void)
{
	if (!atomic_load(&rt.on) || !rt.file)
		return;
	uint32_t mine = atomic_fetch_add(&rt.flush_asked, 1) + 1;
	assay_rt_wake_writer();
	for (uint32_t done = atomic_load(&rt.flush_done); (int32_t)(done - mine) < 0;
	     done = atomic_load(&rt.flush_done))
		if (!assay_rt_wait_while(&rt.flush_done, done, START_NS))
			return;
}

static void make_life(void)
{
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED || rt.life != &first_life)
		return;
	if (madvise(p, 4096, MADV_WIPEONFORK) == 0) /* not before Linux 4.14 */
		rt.life = p;
	else
		munmap(p, 4096);
}

static bool register_once(void)
{
	int reads = 0;
	if (prctl(PR_GET_TSC, &reads) == 0 && reads == PR_TSC_SIGSEGV)
		assay_rt_without_clock();
	make_life();
	if (!rt.key_made && pthread_key_create(&rt.at_thread_end, assay_rt_end_of_thread))
		return false;
	rt.key_made = true;
	if (!rt.atfork_made &&
	    pthread_atfork(assay_loader_before_fork, assay_loader_in_parent, in_child))
		return false;
	rt.atfork_made = true;
	/* atexit besides the destructor: it runs before the vendor's own, registered earlier; those
	 * are left out by a quick exit, which must not wait for work that never ends either */
	if (!rt.atexit_made) {
		atexit(stop);
		at_quick_exit(assay_rt_leave_at_once);
	}
	rt.atexit_made = true;
	return true;
}

bool assay_rt_start(const assay_rt_hooks *hooks)
{
	int saved = errno;
	assay_rt_after_fork();
	pthread_mutex_lock(&rt.lock);
	bool ok = atomic_load(&rt.on) && rt.file;
	if (!ok && assay_conf_parse(getenv("ASSAY_RECORD"), &rt.conf)) {
		rt.hooks = hooks;
		if (!rt.conf.tick_ms)
			rt.conf.tick_ms = hooks->tick_ms < rt.conf.flush_ms ? hooks->tick_ms
									    : rt.conf.flush_ms;
		ok = register_once() && start_locked();
	}
	pthread_mutex_unlock(&rt.lock);
	errno = saved;
	return ok;
}
