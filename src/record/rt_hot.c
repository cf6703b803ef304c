/* Records on the program's own threads: into the thread's ring, without a lock, an allocation or a
 * system call. */
#define _GNU_SOURCE /* syscall */
#include <sys/syscall.h>
#include <unistd.h>

#include "record/rt_state.h"

enum {
	RING_WAITS = 100, /* in vain, for a thread's first ring, each so long */
	RING_WAIT_NS = 10000000,
	ASK_AGAIN_NS = 100000000,
};

/* A thread's own state. */
static __thread struct {
	assay_ring *ring;
	char *data;
	uint64_t head; /* where the record being written ends */
	uint64_t easy; /* a record that ends here or before fits in one piece, with nothing to tell
			  before it and nobody to wake; 0: none does */
	uint64_t
		limit; /* tail as last seen + ring_bytes: no read of the consumer's line below it */
	int64_t ask_again; /* when there was no ring */
	uint32_t life;
	uint32_t tid;
	bool waited;   /* for a ring: not again */
	uint32_t busy; /* between begin and commit: a signal handler that records is dropped */
} self;

uint32_t assay_rt_tid(void)
{
	if (!self.tid)
		self.tid = (uint32_t)syscall(SYS_gettid);
	return self.tid;
}

void assay_rt_forget_self(void)
{
	self.tid = 0;
	self.ring = NULL;
	self.easy = 0;
	self.busy = 0;
	self.life = 0;
	self.waited = false;
}

void assay_rt_done(void)
{
	if (self.ring && self.life == rt_life()) {
		atomic_store_explicit(&self.ring->state, ASSAY_RING_CLOSED, memory_order_release);
		if (!atomic_load(&rt.spare))
			assay_rt_wake_writer();
	}
	self.ring = NULL;
	self.easy = 0;
	self.life = 0;
}

void assay_rt_end_of_thread(void *ring)
{
	if (ring == self.ring)
		assay_rt_done();
}

static assay_ring *claim_ready(void)
{
	uint32_t used = atomic_load_explicit(&rt.file->used, memory_order_acquire);
	for (uint32_t i = 0; i < used; i++) {
		assay_ring *r = &rt.file->ring[i];
		uint32_t ready = ASSAY_RING_READY;
		if (atomic_load_explicit(&r->state, memory_order_relaxed) != ready ||
		    !atomic_compare_exchange_strong(&r->state, &ready, ASSAY_RING_LIVE))
			continue;
		r->tid = assay_rt_tid();
		r->id = atomic_fetch_add(&rt.next_ring, 1) + 1;
		self.data = atomic_load(&rt.data[i]);
		if (atomic_fetch_sub(&rt.spare, 1) <= 1)
			assay_rt_wake_writer();
		return r;
	}
	return NULL;
}

/* The writer makes rings ahead of their threads; many threads at once may have to wait for it. */
static assay_ring *claim_ring(void)
{
	for (int i = self.waited ? RING_WAITS : 0;;) {
		uint32_t made = atomic_load(&rt.made);
		assay_ring *r = claim_ready();
		self.waited = true;
		if (r || i == RING_WAITS || atomic_load(&rt.no_more_rings))
			return r;
		assay_rt_wake_writer();
		assay_rt_wait(&rt.made, made, RING_WAIT_NS);
		i += atomic_load(&rt.made) == made; /* else one was made, which others may take */
	}
}

static bool started(void)
{
	assay_rt_after_fork();
	if (atomic_load(&rt.writing) == RT_WRITER_RUNS)
		return true;
	pthread_mutex_lock(&rt.lock); /* a child of fork */
	bool ok = assay_rt_begin_locked();
	pthread_mutex_unlock(&rt.lock);
	return ok;
}

/* First record of a thread, or of a forked child; or one of a thread for which there was no
 * ring. */
static bool join_recording(void)
{
	self.ring = NULL;
	self.easy = 0;
	if (!started())
		return false;
	self.life = rt_life();
	self.ring = claim_ring();
	self.head = 0;
	self.limit = rt.file->ring_bytes;
	self.ask_again = assay_rt_now() + ASK_AGAIN_NS;
	if (self.ring)
		pthread_setspecific(rt.at_thread_end, self.ring);
	return self.ring != NULL;
}

static bool has_ring(void)
{
	if (self.life == rt_life() && (self.ring || assay_rt_now() < self.ask_again))
		return self.ring != NULL;
	return join_recording();
}

static void count_drop(uint32_t cause, assay_wire_type type)
{
	ASSAY_ASSERT_CHECKED(cause < ASSAY_RING_CAUSES && type < ASSAY_WIRE_TYPE_COUNT);
	atomic_fetch_add_explicit(&rt.file->dropped[cause][type], 1, memory_order_relaxed);
}

static void drop_record(assay_ring *r, assay_wire_type type)
{
	int64_t now = assay_rt_now();
	self.easy = 0; /* the gap is told before the next record */
	count_drop(ASSAY_WIRE_LOST_RING, type);
	if (atomic_fetch_add_explicit(&r->lost, 1, memory_order_relaxed) == 0)
		atomic_store_explicit(&r->lost_first, now, memory_order_relaxed);
	atomic_store_explicit(&r->lost_last, now, memory_order_relaxed);
}

/* Is there room up to `end`? Wakes the writer when the ring passes its half. */
static bool room_until(assay_ring *r, uint64_t start, uint64_t end, uint32_t ring_bytes)
{
	uint64_t half = ring_bytes / 2;
	if (end > self.limit - half) {
		self.limit = atomic_load_explicit(&r->tail, memory_order_acquire) + ring_bytes;
		if (end > self.limit - half && start <= self.limit - half)
			assay_rt_wake_writer();
	}
	return end <= self.limit;
}

static void *reserve(assay_ring *r, size_t n, uint16_t type)
{
	uint32_t ring_bytes = rt.conf.ring_bytes;
	uint64_t start = self.head;
	if (!room_until(r, start, start + assay_ring_need(ring_bytes, start, n), ring_bytes))
		return NULL;
	void *rec = assay_ring_place(self.data, ring_bytes, &self.head, type, n);
	uint64_t lap = (self.head | (ring_bytes - 1)) + 1, half = self.limit - ring_bytes / 2;
	self.easy = lap < half ? lap : half;
	return rec;
}

/* The gap that is open, told before the record that ends it. */
static bool mark_gap(assay_ring *r)
{
	assay_wire_lost *l = reserve(r, sizeof *l, ASSAY_WIRE_LOST);
	if (!l)
		return false;
	l->count = atomic_load_explicit(&r->lost, memory_order_relaxed);
	l->first = atomic_load_explicit(&r->lost_first, memory_order_relaxed);
	l->last = atomic_load_explicit(&r->lost_last, memory_order_relaxed);
	l->why = ASSAY_WIRE_LOST_RING;
	l->text = 0;
	atomic_store_explicit(&r->lost, 0, memory_order_relaxed);
	atomic_store_explicit(&r->head, self.head, memory_order_release);
	return true;
}

/* The thread's ring is there, and nobody writes into it right now. */
static inline bool at_ease(void)
{
	return self.life == rt_life() && self.ring && !self.busy &&
	       atomic_load_explicit(&rt.on, memory_order_relaxed);
}

static bool find_ring(void)
{
	if (!atomic_load_explicit(&rt.on, memory_order_relaxed) || self.busy)
		return false;
	self.busy = 1;
	bool ok = has_ring();
	self.busy = 0;
	return ok;
}

assay_ring_call *assay_rt_call(void)
{
	return at_ease() || find_ring() ? &self.ring->call : NULL;
}

void assay_rt_left(void)
{
	if (self.ring && self.life == rt_life())
		atomic_store_explicit(&self.ring->call.start, 0, memory_order_release);
}

uint64_t assay_rt_place(void)
{
	return at_ease() || find_ring() ? (uint64_t)self.life << 32 | self.ring->id : 0;
}

/* What is rarely so: the first record, a full ring, a gap to tell, a new lap. Busy is set. */
static __attribute__((noinline)) void *begin_slowly(assay_wire_type type, size_t n)
{
	if (!has_ring()) {
		if (rt.file)
			count_drop(ASSAY_WIRE_LOST_THREAD, type);
		goto drop;
	}
	assay_ring *r = self.ring;
	if (atomic_load_explicit(&r->lost, memory_order_relaxed) && !mark_gap(r)) {
		drop_record(r, type);
		goto drop;
	}
	void *rec = reserve(r, n, (uint16_t)type);
	if (rec)
		return rec;
	drop_record(r, type);
drop:
	self.busy = 0;
	return NULL;
}

/* The recording has ended and this thread goes on, or a signal handler came in the middle of a
 * record of its thread's. */
static __attribute__((noinline)) void *refuse(assay_wire_type type)
{
	if (rt.file && rt_life()) /* none in a child of fork: the file is its parent's */
		count_drop(atomic_load(&rt.on) ? ASSAY_WIRE_LOST_THREAD : ASSAY_WIRE_LOST_ENDED,
			   type);
	return NULL;
}

void *assay_rt_begin(assay_wire_type type, size_t bytes)
{
	size_t n = assay_wire_round(bytes);
	ASSAY_ASSERT_CHECKED(bytes >= sizeof(assay_wire_rec) && n <= ASSAY_WIRE_RECORD_MAX);
	if (!atomic_load_explicit(&rt.on, memory_order_relaxed) || self.busy)
		return refuse(type);
	self.busy = 1;
	atomic_signal_fence(memory_order_seq_cst);
	uint64_t start = self.head, end = start + n;
	if (end > self.easy || self.life != rt_life())
		return begin_slowly(type, n);
	assay_wire_rec *rec =
		(assay_wire_rec *)(void *)(self.data + (start & (rt.conf.ring_bytes - 1)));
	*rec = (assay_wire_rec){(uint16_t)type, (uint16_t)n, 0};
	self.head = end;
	return rec;
}

void assay_rt_commit(void)
{
	ASSAY_ASSERT_CHECKED(self.busy && self.head <= self.limit);
	atomic_store_explicit(&self.ring->head, self.head, memory_order_release);
	atomic_signal_fence(memory_order_seq_cst);
	self.busy = 0;
}
