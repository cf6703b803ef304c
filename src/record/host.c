/* Threads that call the vendor's API, and their Python stacks. */
#define _GNU_SOURCE
#include "record/host.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "record/native.h"
#include "record/stacks.h"

enum { TRIES = 64, UNTRIED = 0, TRYING, FOUND, NEVER };

static struct {
	_Atomic int state; /* UNTRIED ... NEVER */
	_Atomic uint32_t calls, tries;
	const assay_py *_Atomic py;
	const char *_Atomic why; /* no stacks */
	assay_host_thread thread[ASSAY_HOST_THREADS];
	_Atomic uint32_t used;
	pthread_mutex_t lock; /* places of threads */
	pthread_key_t at_end;
	_Atomic int key_made;
	_Atomic uint64_t cut; /* stacks deeper than we keep */
} host = {.lock = PTHREAD_MUTEX_INITIALIZER, .why = "no call was made"};

static __thread struct {
	assay_host_thread *place;
	assay_stacks *stacks;
	uint32_t life; /* of the recording that place and stacks belong to */
	bool inside;   /* a signal handler that calls the API while we are at it gets no stack */
	bool gone;     /* the thread is ending */
} self;

uint32_t assay_host_threads(const assay_host_thread **all)
{
	*all = host.thread;
	return atomic_load_explicit(&host.used, memory_order_acquire);
}

const assay_py *assay_host_python(void)
{
	return atomic_load_explicit(&host.py, memory_order_acquire);
}

/* ---- threads ---- */

static void thread_ends(void *p)
{
	assay_host_thread *place = p;
	self.gone = true;
	if (self.life == assay_rt_life())
		atomic_store_explicit(&place->tid, 0, memory_order_release);
	assay_stacks_free(self.stacks);
	self.stacks = NULL;
	self.place = NULL;
}

static void join(void)
{
	assay_rt_after_fork();
	self.life = assay_rt_life();
	self.place = NULL;
	if (self.gone || !atomic_load(&host.key_made))
		return;
	pthread_mutex_lock(&host.lock);
	uint32_t used = atomic_load(&host.used), i = 0;
	while (i < used && atomic_load(&host.thread[i].tid))
		i++;
	if (i < ASSAY_HOST_THREADS) {
		assay_host_thread *t = &host.thread[i];
		t->handle = (uintptr_t)pthread_self();
		atomic_store(&t->in, 0);
		atomic_store(&t->walks, 0);
		atomic_store(&t->last, assay_rt_now());
		atomic_store_explicit(&t->tid, assay_rt_tid(), memory_order_release);
		if (i == used)
			atomic_store_explicit(&host.used, used + 1, memory_order_release);
		self.place = t;
		pthread_setspecific(host.at_end, t);
	}
	pthread_mutex_unlock(&host.lock);
	assay_samples_wake();
}

void assay_host_enter(int64_t now)
{
	if (self.life != assay_rt_life())
		join();
	if (self.place)
		atomic_store_explicit(&self.place->in, now, memory_order_relaxed);
}

/* ---- Python ---- */

static bool anybody_walks(void)
{
	uint32_t n = atomic_load(&host.used);
	for (uint32_t i = 0; i < n; i++)
		if (atomic_load(&host.thread[i].walks))
			return true;
	return false;
}

/* Calls 1, 2, 4, 8, ... look, for an interpreter may be loaded later, and a thread without frames
 * proves nothing. */
static void look_for_python(void)
{
	uint32_t call = atomic_fetch_add(&host.calls, 1) + 1;
	int untried = UNTRIED;
	if (call & (call - 1) || !atomic_compare_exchange_strong(&host.state, &untried, TRYING))
		return;
	const char *why = NULL;
	bool later = false;
	const assay_py *py = assay_py_find(&why, &later);
	dlerror(); /* of symbols that are not there: none of the program's business */
	atomic_store(&host.why, why ? why : "layout-check");
	if (py) /* before anybody walks: the program may end before the first tick */
		assay_py_guard(py, anybody_walks);
	atomic_store(&host.py, py);
	bool again = !py && later && atomic_fetch_add(&host.tries, 1) < TRIES;
	atomic_store(&host.state, py ? FOUND : again ? UNTRIED : NEVER);
}

/* Another thread looks right now: its answer, which takes less than a millisecond, is worth the
 * stack of this thread's first call. It holds no lock that this thread could have. */
static int wait_for_answer(void)
{
	enum { YIELDS_MAX = 2000 };
	int state = TRYING;
	for (int i = 0; state == TRYING && i < YIELDS_MAX; i++) {
		sched_yield();
		state = atomic_load_explicit(&host.state, memory_order_acquire);
	}
	return state;
}

static uint32_t own_stack(const assay_py *py)
{
	bool cut;
	assay_stacks *s = self.stacks;
	if (!s && !(self.stacks = s = assay_stacks_new()))
		return 0;
	atomic_store(&self.place->walks, 1);
	uint32_t kept;
	const assay_py_frame *known = assay_stacks_last(s, &kept);
	uint32_t n = assay_py_walk(py, known, &kept, assay_stacks_room(s), &cut);
	uint32_t id = n + kept ? assay_stacks_id(s, py, assay_py_plain, 0, kept, n, cut) : 0;
	atomic_store_explicit(&self.place->walks, 0, memory_order_release);
	if (cut)
		atomic_fetch_add_explicit(&host.cut, 1, memory_order_relaxed);
	return id;
}

/* The stack of a call, once there is an interpreter whose frames can be read. */
static __attribute__((noinline)) uint32_t stack_of_call(void)
{
	int state = atomic_load_explicit(&host.state, memory_order_relaxed);
	uint32_t id = 0;
	if (self.inside)
		return 0;
	self.inside = true;
	if (state == UNTRIED) {
		int saved = errno;
		look_for_python();
		errno = saved;
		state = atomic_load_explicit(&host.state, memory_order_relaxed);
	}
	if (state == TRYING)
		state = wait_for_answer();
	if (state == FOUND)
		id = own_stack(atomic_load_explicit(&host.py, memory_order_relaxed));
	self.inside = false;
	return id;
}

uint32_t assay_host_leave(int64_t now, bool wanted)
{
	assay_host_thread *place = self.place;
	if (!place)
		return 0;
	bool stacks = wanted && atomic_load_explicit(&host.state, memory_order_relaxed) != NEVER;
	uint32_t id = stacks ? stack_of_call() : 0;
	bool longed =
		now - atomic_load_explicit(&place->in, memory_order_relaxed) > ASSAY_HOST_LONG_NS;
	atomic_store_explicit(&place->last, now, memory_order_relaxed);
	atomic_store_explicit(&place->in, 0, memory_order_relaxed);
	if (longed)
		assay_samples_wake();
	return id;
}

/* ---- life ---- */

void assay_host_start(void)
{
	if (!atomic_load(&host.key_made) && pthread_key_create(&host.at_end, thread_ends) == 0)
		atomic_store(&host.key_made, 1);
	if (assay_rt_conf()->no_stacks)
		atomic_store(&host.state, NEVER);
	if (assay_rt_conf()->sample_us)
		assay_samples_start();
}

void assay_host_tick(void)
{
	const assay_py *py = assay_host_python();
	if (py)
		assay_py_guard(py, anybody_walks);
	assay_native_gather();
}

/* Stacks, or why there are none. */
static void tell(void)
{
	const assay_py *py = assay_host_python();
	char text[64] = "3.";
	if (!assay_rt_bulk_open())
		return;
	if (py) {
		text[2] = (char)(py->minor >= 10 ? '1' : '9');
		text[3] = (char)(py->minor >= 10 ? '0' + py->minor % 10 : 0);
		assay_rt_meta("stacks.python", text);
	} else {
		const char *why =
			assay_rt_conf()->no_stacks ? "switched off" : atomic_load(&host.why);
		assay_rt_meta("stacks.none", why);
	}
	if (atomic_load(&host.cut))
		assay_rt_meta(
			"stacks.cut",
			"some stacks were deeper than 1024 calls: their innermost 1024 are kept");
	assay_rt_bulk_close();
}

void assay_host_unseen(const char *why)
{
	if (atomic_load(&host.state) == UNTRIED)
		atomic_store(&host.why, why);
}

void assay_host_rest(bool on)
{
	static bool sampled;
	if (on)
		sampled = assay_samples_rest();
	else if (sampled)
		assay_samples_start();
}

void assay_host_stop(void)
{
	assay_samples_stop();
	tell();
}

/* The parent's thread state and samplers are not ours; its stacks' ids neither. */
void assay_host_forked(void)
{
	pthread_mutex_init(&host.lock, NULL);
	for (uint32_t i = 0; i < ASSAY_HOST_THREADS; i++)
		atomic_store(&host.thread[i].tid, 0);
	atomic_store(&host.used, 0);
	atomic_store(&host.py, NULL);
	atomic_store(&host.state, NEVER);
	atomic_store(&host.why, "forked child");
	self.place = NULL;
	self.life = 0;
	assay_samples_forked();
}
