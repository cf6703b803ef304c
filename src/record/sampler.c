/* A thread of ours that looks at the program's threads while they do something no call of the
 * vendor's API tells: in which system call, where in Python, with or without the GIL. A thread that
 * made a call just now needs no look, and one that has not run since the last look is doing the
 * same: that costs one reading of a clock. */
#include <pthread.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "record/host.h"
#include "record/proc.h"
#include "record/stacks.h"

enum {
	SEEN = 256,        /* threads looked at, of this process and of children */
	STATES = 128,      /* thread states of the interpreter */
	CHILDREN = 64,     /* processes */
	QUIET_NS = 200000, /* after a call */
	STUCK_NS = 1000000000,
	TOLD_NS = 200000000,
	CHILD_NS = 10000000,
	LIST_NS = 100000000,  /* children are listed this often */
	SHARE = 20,           /* of the time, at most one part is ours */
	ASLEEP_NS = 50000000, /* while every thread is in a call that takes long */
	STILL = 32,           /* looks in a row that saw nothing new: it looks less often */
	STILL_TIMES = 4,
	JOIN_NS = 400000000,
	SLACK_NS = 100000, /* of its own clock: it may wake with others */
	TS_BYTES = 256,
	MUCH = 65536,         /* bytes read or written between two looks */
	UNREADABLE_MAX = 100, /* tries at a child that is another program, LIST_NS apart */
	/* looks at a running thread of which one asks what it runs outside Python, and the same
	 * at a stack of which it is not known: asking interrupts the thread */
	ASK_KNOWN = 8,
	ASK_NEW = 2,
};

/* A thread state of the interpreter, copied. */
typedef struct py_thread {
	uintptr_t ts;
	uint32_t tid; /* 0 unknown */
} py_thread;

/* A thread that is looked at. */
typedef struct seen {
	uint32_t tid;
	int pid;            /* 0: ours */
	int64_t ran;        /* processor time at the last look */
	int64_t cpu, delay; /* when the sample that is not written yet began */
	int64_t bytes;      /* read and written at the last look; -1 unknown */
	int64_t last_call;  /* end of its last call then */
	int64_t looked;
	/* of a child: its interpreter, when to look for it again, how often in vain */
	assay_py py;
	int64_t ask_again;
	uint32_t unreadable;
	assay_native_watch watch;
	uint32_t unasked;      /* looks since it was asked for */
	uint32_t lists;        /* of loaded objects, that there had been at the last look */
	bool unplaced;         /* what it was in then is in none of them */
	int64_t due;           /* when the call it is in ends by itself; 0: it does not */
	assay_wire_sample now; /* not written yet; count 0: none */
} seen;

/* The GIL at this tick. */
typedef struct gil {
	uintptr_t at; /* 0 unknown */
	uintptr_t holder;
	uint32_t tid; /* of the holder */
	bool collecting;
} gil;

static struct {
	_Atomic int running;
	_Atomic uint32_t begun, stopping, stopped, asleep; /* futexes */
	/* the rest belongs to the sampler's thread */
	assay_stacks *stacks;
	seen seen[SEEN];
	uint32_t seen_n;
	py_thread py[STATES];
	uint32_t py_n;
	gil gil;
	int child[CHILDREN];
	size_t child_n;
	int64_t listed, child_looked;
	bool known;           /* py and gil are of this tick */
	uint32_t still;       /* looks in a row that saw nothing new */
	int64_t every, began; /* began: our own processor time then */
	uint32_t tid_at;      /* in the C library's record of a thread, its number; 0 unknown */
	uint64_t dropped;
	bool own_table; /* descriptors of ours are none of the program's */
	bool blind;     /* memory of other processes cannot be read */
	bool no_proc;   /* /proc is hidden: threads are there and it has nothing of them */
} sm;

/* ---- writing ---- */

static void write_sample(seen *t)
{
	int64_t cpu = -1, delay = -1;
	if (!t->now.count)
		return;
	if (t->due && t->now.end >= t->due) /* nothing came but the time */
		t->now.kind = ASSAY_WIRE_CALL_SLEEP;
	bool known = assay_proc_times(t->pid, t->tid, &cpu, &delay);
	t->now.cpu = known && t->cpu >= 0 ? cpu - t->cpu : -1;
	t->now.delay = known && t->delay >= 0 ? delay - t->delay : -1;
	assay_wire_sample *w = assay_rt_begin(ASSAY_WIRE_SAMPLE, sizeof *w);
	if (w) {
		uint32_t tid = t->now.rec.thread;
		t->now.rec = w->rec;
		t->now.rec.thread = tid;
		*w = t->now;
		assay_rt_commit();
	}
	t->now.count = 0;
}

static bool wants_native(void)
{
	return !assay_rt_conf()->no_native && !assay_rt_conf()->no_stacks;
}

static seen *seen_of(int pid, uint32_t tid)
{
	for (uint32_t i = 0; i < sm.seen_n; i++)
		if (sm.seen[i].tid == tid && sm.seen[i].pid == pid)
			return &sm.seen[i];
	if (sm.seen_n == SEEN) {
		sm.dropped++;
		return NULL;
	}
	seen *t = &sm.seen[sm.seen_n++];
	*t = (seen){.tid = tid, .pid = pid, .ran = -1, .bytes = -1};
	if (!pid && assay_rt_bulk_open()) {
		assay_rt_name_thread(tid);
		assay_rt_bulk_close();
	}
	if (!pid && sm.own_table && wants_native())
		assay_native_watch_begin(&t->watch, tid,
					 (int64_t)assay_rt_conf()->sample_us * 1000);
	return t;
}

static void forget(seen *t)
{
	write_sample(t);
	assay_native_watch_end(&t->watch);
	*t = sm.seen[--sm.seen_n];
}

static bool same(const assay_wire_sample *x, const assay_wire_sample *y)
{
	return x->stack == y->stack && x->file == y->file && x->native == y->native &&
	       x->holder == y->holder && x->call == y->call && x->state == y->state &&
	       x->gil == y->gil && x->flags == y->flags;
}

static void add(seen *t, const assay_wire_sample *s)
{
	if (t->now.count && t->unplaced && !t->now.native)
		t->now.native = s->native; /* it was loaded a moment ago */
	if (t->now.count && same(&t->now, s) && s->end - t->now.start < TOLD_NS) {
		t->now.end = s->end;
		t->now.count++;
		return;
	}
	write_sample(t);
	t->now = *s;
	if (!assay_proc_times(t->pid, t->tid, &t->cpu, &t->delay))
		t->cpu = t->delay = -1;
}

/* ---- Python ---- */

static uintptr_t word_at(const char *copy, uint16_t at)
{
	uintptr_t v = 0;
	if (at != ASSAY_PY_NONE && at + sizeof v <= TS_BYTES)
		memcpy(&v, copy + at, sizeof v);
	return v;
}

/* Up to 3.10 a thread state has no number of the system, only the C library's handle. What the
 * library keeps behind it holds the number: where, our own thread shows. */
static void find_tid_place(void)
{
	enum { WORDS = 256 };
	uint32_t word[WORDS], own = assay_rt_tid(), met = 0;
	if (!assay_py_safely(0, (uintptr_t)pthread_self(), word, sizeof word))
		return;
	for (uint32_t i = 0; i < WORDS; i++)
		if (word[i] == own) {
			sm.tid_at = i * (uint32_t)sizeof *word;
			met++;
		}
	if (met != 1)
		sm.tid_at = 0;
}

/* Where it cannot be told, threads that called us have told theirs. */
static uint32_t tid_of(int pid, uintptr_t handle)
{
	enum { TID_MAX = 1 << 22 };
	const assay_host_thread *all;
	uint32_t tid = 0, n = pid || sm.tid_at ? 0 : assay_host_threads(&all);
	for (uint32_t i = 0; i < n; i++)
		if (all[i].handle == handle)
			return atomic_load(&all[i].tid);
	if (!sm.tid_at || !assay_py_safely(pid, handle + sm.tid_at, &tid, sizeof tid))
		return 0;
	return tid <= TID_MAX ? tid : 0;
}

static uint32_t list_states(const assay_py *py, int pid, py_thread *out)
{
	uintptr_t ts = 0, interp = assay_py_main(py, pid);
	uint32_t n = 0;
	if (!interp || !assay_py_safely(pid, interp + py->at.interp_threads, &ts, sizeof ts))
		return 0;
	while (ts && n < STATES) {
		char copy[TS_BYTES];
		if (!assay_py_safely(pid, ts, copy, sizeof copy) ||
		    word_at(copy, py->at.ts_interp) != interp)
			break;
		out[n].ts = ts;
		out[n++].tid = py->at.ts_tid == ASSAY_PY_NONE
				       ? tid_of(pid, word_at(copy, py->at.ts_thread))
				       : (uint32_t)word_at(copy, py->at.ts_tid);
		ts = word_at(copy, py->at.ts_next);
	}
	return n;
}

static uintptr_t state_of(uint32_t tid)
{
	for (uint32_t i = 0; i < sm.py_n; i++)
		if (sm.py[i].tid == tid)
			return sm.py[i].ts;
	return 0;
}

/* 3.9 to 3.15: holder at 8, locked at 16, condition and mutexes from 32 to 208. In free-threaded
 * builds "enabled" stands before them. */
enum { GIL_HOLDER = 8, GIL_LOCKED = 16, GIL_CONDITION = 32, GIL_END = 208 };

static bool has_gil(const assay_py *py, int pid, uintptr_t at)
{
	int enabled = 0;
	return !py->at.gil_moved || (assay_py_safely(pid, at, &enabled, sizeof enabled) && enabled);
}

static gil read_gil(const assay_py *py, int pid)
{
	gil g = {.at = py->runtime + py->at.gil};
	uintptr_t interp = assay_py_main(py, pid);
	int locked = 0, collecting = 0;
	if (py->minor >= 12 && !assay_py_safely(pid, interp + py->at.gil, &g.at, sizeof g.at))
		return (gil){0};
	if (!has_gil(py, pid, g.at))
		return (gil){0};
	g.at += py->at.gil_moved;
	if (!assay_py_safely(pid, g.at + GIL_LOCKED, &locked, sizeof locked) ||
	    !assay_py_safely(pid, g.at + GIL_HOLDER, &g.holder, sizeof g.holder))
		return (gil){0};
	if (locked != 1)
		g.holder = 0;
	assay_py_safely(pid, interp + py->at.interp_collecting, &collecting, sizeof collecting);
	g.collecting = collecting == 1;
	return g;
}

static void see_gil(const gil *g, uintptr_t ts, const assay_proc_thread *p, assay_wire_sample *s)
{
	bool futex = p->kind == ASSAY_WIRE_CALL_LOCK && p->arg[0] >= g->at + GIL_CONDITION &&
		     p->arg[0] < g->at + GIL_END;
	if (!g->at)
		return;
	s->gil = futex             ? ASSAY_WIRE_GIL_WAITS
		 : g->holder == ts ? ASSAY_WIRE_GIL_HOLDS
				   : ASSAY_WIRE_GIL_FREE;
	if (futex && g->tid)
		s->holder = g->tid;
	if (s->gil == ASSAY_WIRE_GIL_HOLDS && g->collecting)
		s->flags |= ASSAY_WIRE_SAMPLE_GC;
}

/* A generator that stops while its thread's stack is read has no caller any more: what was read is
 * the end of a stack. */
static int walk_whole(const assay_py *py, int pid, uintptr_t ts, bool *cut)
{
	enum { TRIES = 4 };
	const assay_py_frame *room = assay_stacks_room(sm.stacks);
	for (int i = 0; i < TRIES; i++) {
		int n = assay_py_walk_of(py, pid, ts, assay_stacks_room(sm.stacks), cut);
		if (n == 0 || (n > 0 && (*cut || !assay_py_is_called(py, assay_py_safely, pid,
								     &room[n - 1]))))
			return n;
	}
	return -1;
}

static void see_stack(const assay_py *py, int pid, uintptr_t ts, assay_wire_sample *s)
{
	uintptr_t frame, at, frame_after, at_after;
	bool cut;
	if (!assay_py_top(py, pid, ts, &frame, &at)) {
		s->flags |= ASSAY_WIRE_SAMPLE_NO_STACK;
		return;
	}
	int n = walk_whole(py, pid, ts, &cut);
	if (n > 0) {
		uint32_t kept = cut ? 0 : assay_stacks_shared(sm.stacks, (uint32_t)n);
		s->stack = assay_stacks_id(sm.stacks, py, assay_py_safely, pid, kept,
					   (uint32_t)n - kept, cut);
	}
	if (n < 0 || (n > 0 && !s->stack))
		s->flags |= ASSAY_WIRE_SAMPLE_NO_STACK;
	if (!assay_py_top(py, pid, ts, &frame_after, &at_after) || frame != frame_after ||
	    at != at_after)
		s->flags |= ASSAY_WIRE_SAMPLE_MOVING;
}

/* ---- a look ---- */

/* When the call that the thread is in ends by itself: it was not in it before its last call ended,
 * nor at the look before. */
static void see_timeout(seen *t, const assay_proc_thread *p, bool stayed, int64_t before)
{
	int64_t timeout = p->kind == ASSAY_WIRE_CALL_POLL ? assay_proc_timeout(t->pid, p) : -1;
	int64_t since = before > t->last_call ? before : t->last_call;
	if (timeout < 0)
		t->due = 0;
	else if (!stayed || !t->due)
		t->due = since + timeout - timeout / 8 - 2 * sm.every;
}

static uint32_t file_of(int pid, const assay_proc_thread *p)
{
	char path[512];
	int fd = assay_proc_descriptor(pid, p);
	return fd >= 0 && assay_proc_file(pid, fd, path, sizeof path)
		       ? assay_stacks_place(sm.stacks, ASSAY_WIRE_CODE_FILE, path, "")
		       : 0;
}

/* The thread did not run since: what was seen still holds. */
static bool unchanged(seen *t, int64_t now)
{
	int64_t ran = assay_proc_cpu(t->pid, t->tid);
	bool still = ran >= 0 && ran == t->ran && t->now.count &&
		     t->now.state != ASSAY_WIRE_THREAD_RUNNING && now - t->now.start < TOLD_NS;
	t->ran = ran;
	still &= t->lists == assay_native_changes();
	if (still) { /* as many looks as there would have been, had we not looked less often */
		int64_t looks = (now - t->now.end + sm.every / 2) / sm.every;
		t->now.end = now;
		t->now.count += looks > 1 ? (uint32_t)looks : 1;
	}
	return still;
}

/* Of a thread that wants to run: did it, since the look before? The instant itself says nothing,
 * for we may be on its processor. And is it in the kernel for its files' sake? */
static void see_running(seen *t, int64_t ran, int64_t wall, assay_wire_sample *s)
{
	int64_t bytes = t->bytes;
	bool ready = t->now.count && t->now.state != ASSAY_WIRE_THREAD_BLOCKED &&
		     t->now.state != ASSAY_WIRE_THREAD_FAULT;
	if (ready && ran >= 0 && wall > 0 && ran * 3 < wall)
		s->state = ASSAY_WIRE_THREAD_READY;
	if (s->state == ASSAY_WIRE_THREAD_READY && t->now.count == 1 && t->now.stack == s->stack)
		t->now.state = s->state; /* it stood there already at the look before */
	t->bytes = s->gil == ASSAY_WIRE_GIL_HOLDS ? -1 : assay_proc_bytes(t->pid, t->tid);
	if (bytes >= 0 && t->bytes - bytes >= MUCH)
		s->flags |= ASSAY_WIRE_SAMPLE_IO;
}

/* ---- outside Python ---- */

/* Of a thread that runs, by what the kernel took down since the look before, if it was asked to,
 * and by what it did the last time at the same stack otherwise. */
static void see_what_runs(seen *t, int64_t since, uintptr_t interpreter, assay_wire_sample *s)
{
	assay_native_call call[ASSAY_NATIVE_DEPTH];
	uint32_t n = assay_native_watch_calls(&t->watch, since, interpreter, call);
	bool python =
		n == 1 && interpreter && call[0].object == assay_native_object_at(interpreter);
	if (n) {
		s->native = python ? 0 : assay_stacks_native(sm.stacks, call, n);
		assay_stacks_runs(sm.stacks, s->stack, t->tid, s->native);
	}
	bool known = n || assay_stacks_ran(sm.stacks, s->stack, t->tid, &s->native);
	if (++t->unasked < (known ? ASK_KNOWN : ASK_NEW))
		return;
	assay_native_watch_ask(&t->watch);
	t->unasked = 0;
}

/* Where in which library; of a thread that is blocked by its registers in /proc. Up to the
 * interpreter, whose frames tell the rest. */
static void see_native(seen *t, const assay_proc_thread *p, int64_t since, assay_wire_sample *s)
{
	assay_native_call call[ASSAY_NATIVE_DEPTH];
	const assay_py *py = assay_host_python();
	uintptr_t interpreter = py && s->stack ? (uintptr_t)py->this_thread : 0;
	if (t->pid || !wants_native())
		return;
	if (!p->pc) {
		see_what_runs(t, since, interpreter, s);
		return;
	}
	uint32_t n = assay_native_walk_blocked(p->pc, p->sp, interpreter, call);
	s->native = n ? assay_stacks_native(sm.stacks, call, n) : 0;
	if (!n)
		assay_native_ask();
}

/* Of a thread that /proc has nothing of: gone, or does its clock still tell? */
static bool look_by_clock(const seen *t, int64_t ran, int64_t wall, assay_proc_thread *p)
{
	bool ours = !t->pid && t->ran >= 0;
	*p = (assay_proc_thread){.call = -1, .state = ASSAY_WIRE_THREAD_RUNNING};
	if (ours && ran * 3 < wall)
		p->state = ASSAY_WIRE_THREAD_BLOCKED;
	sm.no_proc |= ours;
	return ours;
}

/* An interpreter, and the state that a thread has in it. */
typedef struct python {
	const assay_py *py;
	uintptr_t ts; /* 0 none */
	gil gil;
} python;

/* Of our process: states and the GIL are read when the first look of a tick needs them. */
static python own_python(uint32_t tid)
{
	const assay_py *py = assay_host_python();
	if (py && !sm.known) {
		sm.known = true;
		sm.py_n = list_states(py, 0, sm.py);
		sm.gil = read_gil(py, 0);
		for (uint32_t i = 0; i < sm.py_n && sm.gil.holder; i++)
			if (sm.py[i].ts == sm.gil.holder)
				sm.gil.tid = sm.py[i].tid;
	}
	return (python){py, state_of(tid), sm.gil};
}

/* What the system and the interpreter tell, at one moment: where we were kept from a processor in
 * between, it is asked for again. False: the thread is gone. */
static bool see(const seen *t, const python *child, int64_t ran, int64_t wall, assay_proc_thread *p,
		assay_wire_sample *s)
{
	enum { LOOKS_MAX = 4, LONG_NS = 500000 };
	const uint8_t flags = s->flags;
	for (int i = 0; i < LOOKS_MAX; i++) {
		int64_t now = assay_rt_now();
		*s = (assay_wire_sample){.start = now, .end = now, .count = 1, .flags = flags};
		if (!assay_proc_look(t->pid, t->tid, p) && !look_by_clock(t, ran, wall, p))
			return false;
		s->state = p->state;
		s->call = p->call;
		s->kind = p->kind;
		s->file = file_of(t->pid, p);
		python in = child ? *child : own_python(t->tid);
		if (in.py && in.ts) {
			see_gil(&in.gil, in.ts, p, s);
			see_stack(in.py, t->pid, in.ts, s);
		}
		if (assay_rt_now() - now < LONG_NS)
			break;
		sm.known = false;
	}
	return true;
}

/* Is it blocked, so that others may be the reason? child: NULL of our process. */
static bool look(seen *t, const python *child, uint8_t flags)
{
	int64_t now = assay_rt_now();
	assay_proc_thread p;
	int64_t ran = t->ran, before = t->looked, wall = now - before;
	t->looked = now;
	if (!unchanged(t, now)) {
		assay_wire_sample s = {.flags = flags};
		if (!see(t, child, ran < 0 ? wall : t->ran - ran, wall, &p, &s)) {
			forget(t);
			return false;
		}
		s.rec.thread = t->tid;
		s.pid = (uint32_t)t->pid;
		sm.still = 0;
		see_native(t, &p, before, &s);
		if (s.state == ASSAY_WIRE_THREAD_RUNNING)
			see_running(t, t->ran - ran, wall, &s);
		add(t, &s);
		t->lists = assay_native_changes();
		t->unplaced = p.pc && !s.native;
		see_timeout(t, &p, ran >= 0 && t->ran == ran, before);
	}
	return t->now.state == ASSAY_WIRE_THREAD_BLOCKED && t->now.stack;
}

/* Is the thread in a call that takes so long that it may never end? */
static bool is_stuck(const assay_host_thread *h, int64_t now)
{
	int64_t in = atomic_load_explicit(&h->in, memory_order_relaxed);
	return in && now - in > STUCK_NS;
}

/* Does the thread do something that its calls do not tell, or stay in one? */
static bool matters(const assay_host_thread *h, int64_t now)
{
	if (!atomic_load_explicit(&h->tid, memory_order_acquire))
		return false;
	return atomic_load_explicit(&h->in, memory_order_relaxed)
		       ? is_stuck(h, now)
		       : now - atomic_load_explicit(&h->last, memory_order_relaxed) > QUIET_NS;
}

static bool look_at_callers(int64_t now)
{
	const assay_host_thread *all;
	uint32_t n = assay_host_threads(&all);
	bool blocked = false;
	for (uint32_t i = 0; i < n; i++) {
		seen *t = matters(&all[i], now) ? seen_of(0, atomic_load(&all[i].tid)) : NULL;
		int64_t last = atomic_load_explicit(&all[i].last, memory_order_relaxed);
		if (t && t->last_call != last) { /* no sample reaches over a call */
			write_sample(t);
			t->last_call = last;
		}
		if (t && look(t, NULL, is_stuck(&all[i], now) ? ASSAY_WIRE_SAMPLE_CALL : 0))
			blocked = true;
	}
	return blocked;
}

static bool calls_itself(uint32_t tid)
{
	const assay_host_thread *all;
	uint32_t n = assay_host_threads(&all);
	for (uint32_t i = 0; i < n; i++)
		if (atomic_load(&all[i].tid) == tid)
			return true;
	return false;
}

/* Python threads that a blocked one may wait for. */
static void look_beside(void)
{
	own_python(0);
	for (uint32_t i = 0; i < sm.py_n; i++) {
		uint32_t tid = sm.py[i].tid;
		seen *t = tid && !calls_itself(tid) ? seen_of(0, tid) : NULL;
		if (t)
			look(t, NULL, ASSAY_WIRE_SAMPLE_BESIDE);
	}
}

/* ---- children ---- */

static void add_children(int pid, uint32_t tid)
{
	sm.child_n += assay_proc_children(pid, tid, sm.child + sm.child_n, CHILDREN - sm.child_n);
}

/* And theirs, of their first thread: a server forks for others. */
static void list_children(int64_t now)
{
	const assay_host_thread *all;
	uint32_t n = assay_host_threads(&all);
	if (now - sm.listed < LIST_NS)
		return;
	sm.listed = now;
	sm.child_n = 0;
	add_children(0, (uint32_t)getpid());
	for (uint32_t i = 0; i < n; i++) {
		uint32_t tid = atomic_load(&all[i].tid);
		if (tid && tid != (uint32_t)getpid())
			add_children(0, tid);
	}
	for (size_t i = 0; i < sm.child_n; i++)
		add_children(sm.child[i], (uint32_t)sm.child[i]);
}

/* Of its first thread, which made its state first: the last of the list. */
static uintptr_t first_state(const assay_py *py, int pid)
{
	static py_thread states[STATES];
	uint32_t n = list_states(py, pid, states);
	uintptr_t ts = n ? states[n - 1].ts : 0;
	for (uint32_t i = 0; i < n; i++)
		if (states[i].tid == (uint32_t)pid)
			ts = states[i].ts;
	return ts;
}

/* The state of a child's first thread, 0 none. Its interpreter is looked for again now and then
 * while there is none: it may become another program, or begin to run Python. */
static uintptr_t find_state(seen *t, int64_t now)
{
	const assay_py *own = assay_host_python();
	uintptr_t ts = t->py.runtime ? first_state(&t->py, t->pid) : 0;
	if (ts || !own || now < t->ask_again || t->unreadable == UNREADABLE_MAX)
		return ts;
	t->py.runtime = 0;
	t->ask_again = now + LIST_NS;
	ts = assay_py_of_child(own, t->pid, &t->py) ? first_state(&t->py, t->pid) : 0;
	t->unreadable = ts ? 0 : t->unreadable + 1;
	return ts;
}

static void look_at_child(int pid, int64_t now)
{
	seen *t = seen_of(pid, (uint32_t)pid);
	if (!t)
		return;
	python child = {.py = &t->py, .ts = sm.blind ? 0 : find_state(t, now)};
	if (child.ts) {
		child.gil = read_gil(&t->py, pid);
		child.gil.tid = child.gil.holder == child.ts ? (uint32_t)pid : 0;
	}
	look(t, &child, ASSAY_WIRE_SAMPLE_BESIDE);
}

static void look_at_children(int64_t now)
{
	if (now - sm.child_looked < CHILD_NS)
		return;
	sm.child_looked = now;
	list_children(now);
	if (sm.child_n)
		sm.blind = !assay_py_can_read_others();
	for (size_t i = 0; i < sm.child_n; i++)
		look_at_child(sm.child[i], now);
}

/* ---- the thread ---- */

static void forget_stale(int64_t now)
{
	for (uint32_t i = sm.seen_n; i-- > 0;)
		if (now - sm.seen[i].looked > TOLD_NS)
			forget(&sm.seen[i]);
}

static bool anything_matters(int64_t now)
{
	const assay_host_thread *all;
	uint32_t n = assay_host_threads(&all);
	for (uint32_t i = 0; i < n; i++)
		if (matters(&all[i], now))
			return true;
	return false;
}

static int64_t own_time(void)
{
	return assay_proc_cpu(0, assay_rt_tid());
}

/* Was there anything to look at? */
static bool tick(void)
{
	int64_t now = assay_rt_now();
	forget_stale(now);
	if (!assay_rt_wanted(now) || !anything_matters(now))
		return false;
	sm.began = own_time();
	sm.known = false;
	if (wants_native())
		assay_native_refresh();
	sm.still++;
	if (look_at_callers(now)) {
		look_beside();
		if (!assay_rt_conf()->no_children)
			look_at_children(now);
	}
	return true;
}

/* Is every thread that calls in a call that takes long? Each wakes us when it comes back. */
static bool all_are_away(void)
{
	const assay_host_thread *all;
	uint32_t n = assay_host_threads(&all);
	int64_t now = assay_rt_now();
	for (uint32_t i = 0; i < n; i++) {
		int64_t in = atomic_load(&all[i].in);
		if (atomic_load(&all[i].tid) && (!in || now - in < ASSAY_HOST_LONG_NS))
			return false;
	}
	return true;
}

static void sleep_till_someone_is_back(void)
{
	atomic_store(&sm.asleep, 1);
	if (all_are_away() && !atomic_load(&sm.stopping)) /* again: now they know */
		assay_rt_wait(&sm.asleep, 1, ASLEEP_NS);
	atomic_store(&sm.asleep, 0);
}

void assay_samples_wake(void)
{
	atomic_thread_fence(memory_order_seq_cst); /* what the sampler will see is stored */
	if (atomic_load(&sm.asleep) && atomic_exchange(&sm.asleep, 0))
		assay_rt_wake(&sm.asleep);
}

static void *sampler_thread(void *arg)
{
	(void)arg;
	prctl(PR_SET_NAME, "assay-sampler");
	find_tid_place();
	sm.own_table =
		assay_rt_own_table(); /* else /proc is read in the program's, for microseconds */
	atomic_store(&sm.begun, 1);
	assay_rt_wake(&sm.begun);
	prctl(PR_SET_TIMERSLACK, SLACK_NS);
	sm.every = (int64_t)assay_rt_conf()->sample_us * 1000;
	if (wants_native())
		assay_native_refresh(); /* so that the first look finds a list */
	while (!atomic_load(&sm.stopping)) {
		if (!assay_rt_recording()) {
			while (sm.seen_n)
				forget(&sm.seen[0]);
			assay_rt_idle(LIST_NS);
			continue;
		}
		bool looked = tick();
		if (!looked && all_are_away()) {
			sleep_till_someone_is_back();
			continue;
		}
		int64_t pause = sm.still < STILL ? sm.every : sm.every * STILL_TIMES;
		int64_t share = looked ? (own_time() - sm.began) * SHARE : 0;
		pause = share > pause ? share : pause;
		assay_rt_wait(&sm.stopping, 0, pause);
	}
	while (sm.seen_n)
		forget(&sm.seen[0]);
	assay_rt_done(); /* a ring in use would be kept for who records on when the process ends */
	atomic_store(&sm.stopped, 1);
	assay_rt_wake(&sm.stopped);
	return NULL;
}

/* Waits until the thread has its table: the program may forbid the calls that make one next, as a
 * sandbox does once the driver is there. */
void assay_samples_start(void)
{
	if (atomic_exchange(&sm.running, 1))
		return;
	sm.stacks = assay_stacks_new();
	atomic_store(&sm.begun, 0);
	atomic_store(&sm.stopping, 0);
	atomic_store(&sm.stopped, 0);
	if (sm.stacks && assay_rt_thread(sampler_thread))
		assay_rt_wait_while(&sm.begun, 0, JOIN_NS);
	else
		atomic_store(&sm.running, 0);
}

void assay_samples_forked(void)
{
	atomic_store(&sm.running, 0);
	sm.seen_n = 0;
	sm.stacks = NULL; /* the parent's */
}

/* Waits a while: the thread may be in a read of a child's memory. */
bool assay_samples_rest(void)
{
	if (!atomic_exchange(&sm.running, 0))
		return false;
	atomic_store(&sm.stopping, 1);
	assay_rt_wake(&sm.stopping);
	assay_samples_wake();
	if (!assay_rt_wait_while(&sm.stopped, 0, JOIN_NS))
		return false;
	assay_stacks_free(sm.stacks);
	sm.stacks = NULL;
	return true;
}

void assay_samples_stop(void)
{
	if (!assay_samples_rest())
		return;
	const char *without = sm.no_proc ? "system calls and files: /proc is hidden"
			      : sm.blind ? "stacks of child processes: process_vm_readv is refused"
					 : NULL;
	if (without && assay_rt_bulk_open()) {
		assay_rt_meta("samples.without", without);
		assay_rt_bulk_close();
	}
	if (sm.dropped)
		assay_rt_lost(ASSAY_WIRE_LOST_SAMPLES, sm.dropped, NULL);
}
