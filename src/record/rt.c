/* Rings, the thread that drains them, and every way a process can end. */
#define _GNU_SOURCE /* syscall, pthread_setname_np */
#include "record/rt.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "record/conf.h"
#include "record/strings.h"
#include "wire/ring.h"

enum {
	STAGE = 256 << 10, /* bulk records gathered before they are written */
	WINDOWS = 1024,
	THREADS = 4096, /* remembered as named */
	PAIR_TRIES = 8,
	PAIR_GOOD_NS = 500,
	CLOCK_EVERY_NS = 1000000000,
	JOIN_TRIES = 200, /* x 10 ms, for a recorder thread that hangs in a vendor's library */
};

/* The one struct of this library that changes. */
static struct {
	assay_rt_config conf;
	const assay_rt_hooks *hooks;
	_Atomic int on; /* 1 between start and stop */
	_Atomic uint32_t
		life; /* counts forks and starts: a thread's ring of another life is not its own */
	_Atomic int open_ranges;                                    /* --only-range */
	_Atomic uint32_t windows;                                   /* such ranges so far */
	_Atomic int64_t window_start[WINDOWS], window_end[WINDOWS]; /* the last ones; end 0: open */
	pthread_mutex_t lock; /* start, stop, ring slots, the file, strings, stage */
	int fd;               /* the capture, O_APPEND */
	dev_t device;         /* and inode: of the capture */
	ino_t inode;
	int ring_fd;
	assay_ring_file *file;      /* mapped, shared */
	char *data[ASSAY_RING_MAX]; /* each ring's bytes, mapped when first used */
	uint32_t next_ring;         /* id of the next ring */
	pthread_key_t at_thread_end;
	bool key_made, atfork_made, atexit_made;
	_Atomic uint32_t wake; /* futex: a ring is half full, or stop */
	pthread_t thread;
	_Atomic int stopping, stopped;
	char *take;  /* ring_bytes + a LOST record: one ring's records on their way out */
	char *stage; /* STAGE bytes of bulk records */
	size_t staged;
	uint32_t threads[THREADS];          /* threads already named, open addressing */
	assay_strings strings, left_behind; /* left_behind: the parent's, in a forked child */
	int64_t last_clock;
	char ring_path[sizeof((assay_ring_file *)0)->capture];
} rt = {.lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1, .ring_fd = -1};

/* A thread's own state. */
static __thread struct {
	assay_ring *ring;
	char *data;
	uint64_t head; /* where the record being written ends */
	uint64_t
		limit; /* tail as last seen + ring_bytes: no read of the consumer's line below it */
	uint32_t life;
	uint32_t tid;
	uint32_t busy; /* between begin and commit: a signal handler that records is dropped */
} self;

static int64_t clock_ns(clockid_t id)
{
	struct timespec t;
	clock_gettime(id, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t assay_rt_now(void)
{
	return clock_ns(CLOCK_BOOTTIME);
}

/* The best of several readings: one that was interrupted would put a whole chunk out of place. */
void assay_rt_pair(uint64_t (*other)(void), int64_t *boot, int64_t *theirs)
{
	int64_t best = INT64_MAX;
	for (int i = 0; i < PAIR_TRIES && best > PAIR_GOOD_NS; i++) {
		int64_t before = assay_rt_now();
		int64_t t = other ? (int64_t)other() : clock_ns(CLOCK_REALTIME);
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
	return atomic_load_explicit(&rt.life, memory_order_relaxed);
}

uint32_t assay_rt_tid(void)
{
	if (!self.tid)
		self.tid = (uint32_t)syscall(SYS_gettid);
	return self.tid;
}

const assay_rt_config *assay_rt_conf(void)
{
	return &rt.conf;
}

/* ---- the file ---- */

static bool write_all(struct iovec *v, int n)
{
	while (n) {
		ssize_t w = writev(rt.fd, v, n);
		if (w < 0 && errno == EINTR)
			continue;
		if (w <= 0)
			return false;
		for (; n && (size_t)w >= v->iov_len; v++, n--)
			w -= (ssize_t)v->iov_len;
		if (n) {
			v->iov_base = (char *)v->iov_base + w;
			v->iov_len -= (size_t)w;
		}
	}
	return true;
}

/* A program that closes every descriptor may have given our number to a file of its own. */
static bool still_ours(void)
{
	struct stat st;
	return fstat(rt.fd, &st) == 0 && st.st_dev == rt.device && st.st_ino == rt.inode;
}

/* One chunk, with one system call unless the disk is full. */
static void write_chunk(uint32_t ring, uint32_t tid, uint64_t pos, void *payload, size_t n)
{
	assay_wire_chunk c = {.ring = ring,
			      .tid = tid,
			      .pos = pos,
			      .time = assay_rt_now(),
			      .pid = rt.file->pid,
			      .seq = atomic_fetch_add(&rt.file->seq, 1)};
	assay_wire_seal(&c, payload, n);
	struct iovec v[2] = {{&c, sizeof c}, {payload, n}};
	if (!still_ours() || !write_all(v, 2))
		atomic_fetch_add(&rt.file->failed, 1);
}

static void write_stage(void)
{
	if (rt.staged)
		write_chunk(0, 0, 0, rt.stage, rt.staged);
	rt.staged = 0;
}

void *assay_rt_bulk(assay_wire_type type, size_t bytes)
{
	bytes = assay_wire_round(bytes);
	if (rt.staged + bytes > STAGE)
		write_stage();
	assay_wire_rec *rec = (assay_wire_rec *)(void *)(rt.stage + rt.staged);
	memset(rec, 0, bytes);
	rec->type = (uint16_t)type;
	rec->bytes = (uint16_t)bytes;
	rt.staged += bytes;
	return rec;
}

static uint32_t string_of(const char *p, size_t n)
{
	enum { LONGEST = ASSAY_WIRE_RECORD_MAX - sizeof(assay_wire_string) };
	if (n > LONGEST)
		n = LONGEST;
	bool fresh = false;
	uint32_t id = n ? assay_strings_id(&rt.strings, p, n, &fresh) : 0;
	if (fresh) {
		assay_wire_string *s = assay_rt_bulk(ASSAY_WIRE_STRING, sizeof *s + n);
		s->id = id;
		s->length = (uint32_t)n;
		memcpy(s + 1, p, n);
	}
	return id;
}

uint32_t assay_rt_string(const char *z)
{
	return z ? string_of(z, strlen(z)) : 0;
}

void assay_rt_meta(const char *key, const char *value)
{
	uint32_t k = assay_rt_string(key), v = assay_rt_string(value);
	assay_wire_meta *m = assay_rt_bulk(ASSAY_WIRE_META, sizeof *m);
	m->key = k;
	m->value = v;
}

/* False when the thread was met before, or too many were to be sure. */
static bool first_met(uint32_t tid)
{
	uint32_t i = tid * 2654435761u % THREADS;
	for (int probes = 0; probes < 64; probes++, i = (i + 1) % THREADS) {
		if (rt.threads[i] == tid)
			return false;
		if (!rt.threads[i]) {
			rt.threads[i] = tid;
			return true;
		}
	}
	return false;
}

void assay_rt_name_thread(uint32_t tid)
{
	char path[64], name[32] = "";
	if (!tid || !first_met(tid))
		return;
	snprintf(path, sizeof path, "/proc/self/task/%u/comm", tid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, name, sizeof name - 1) : 0;
	if (fd >= 0)
		close(fd);
	if (n <= 1)
		return;
	name[n - 1] = 0; /* a newline ends it */
	uint32_t sid = assay_rt_string(name);
	assay_wire_thread *t = assay_rt_bulk(ASSAY_WIRE_THREAD, sizeof *t);
	t->rec.thread = tid;
	t->name = sid;
}

static bool start_locked(void);

bool assay_rt_bulk_open(void)
{
	if (!atomic_load(&rt.on))
		return false;
	pthread_mutex_lock(&rt.lock);
	if (atomic_load(&rt.on) && (rt.fd >= 0 || start_locked()))
		return true;
	pthread_mutex_unlock(&rt.lock);
	return false;
}

void assay_rt_bulk_close(void)
{
	int saved = errno;
	write_stage();
	pthread_mutex_unlock(&rt.lock);
	errno = saved;
}

static void put_lost(uint32_t why, uint64_t count, int64_t first, int64_t last, const char *text)
{
	uint32_t sid = assay_rt_string(text);
	assay_wire_lost *l = assay_rt_bulk(ASSAY_WIRE_LOST, sizeof *l);
	l->why = why;
	l->count = count;
	l->first = first;
	l->last = last;
	l->text = sid;
}

void assay_rt_lost(uint32_t why, uint64_t count, const char *text)
{
	if (!assay_rt_bulk_open())
		return;
	int64_t now = assay_rt_now();
	put_lost(why, count, now, now, text);
	assay_rt_bulk_close();
}

/* ---- draining ---- */

/* Ranges carry their text through the ring; in the file each text stands once. Shortens the records
 * in place and returns the new size. */
static size_t intern_ranges(char *p, size_t n)
{
	size_t out = 0;
	for (size_t at = 0; at < n;) {
		assay_wire_rec *rec = (assay_wire_rec *)(void *)(p + at);
		size_t bytes = rec->bytes, keep = bytes;
		assay_wire_range *g = (assay_wire_range *)(void *)rec;
		if (rec->type == ASSAY_WIRE_RANGE && bytes > sizeof *g && !g->name) {
			g->name = string_of((char *)(g + 1), g->length);
			g->length = 0;
			rec->bytes = (uint16_t)(keep = sizeof *g);
		}
		memmove(p + out, p + at, keep);
		out += keep;
		at += bytes;
	}
	return out;
}

static void drain_ring(uint32_t i)
{
	assay_ring *r = &rt.file->ring[i];
	uint32_t state = atomic_load_explicit(&r->state, memory_order_acquire);
	if (state == ASSAY_RING_FREE)
		return;
	uint64_t head = atomic_load_explicit(&r->head, memory_order_acquire), next;
	size_t n = assay_ring_take(r, rt.data[i], rt.file->ring_bytes, head, rt.take, &next);
	n = intern_ranges(rt.take, n);
	if (n) {
		assay_rt_name_thread(r->tid);
		write_stage(); /* strings first */
		atomic_store(&r->writing, next);
		write_chunk(r->id, r->tid, atomic_load(&r->tail), rt.take, n);
	}
	atomic_store_explicit(&r->tail, next, memory_order_release);
	if (state != ASSAY_RING_CLOSED)
		return;
	uint64_t lost = atomic_load(&r->lost);
	if (lost)
		put_lost(ASSAY_WIRE_LOST_RING, lost, atomic_load(&r->lost_first),
			 atomic_load(&r->lost_last), NULL);
	atomic_store_explicit(&r->state, ASSAY_RING_FREE, memory_order_release);
}

static void put_clock(int64_t now)
{
	assay_wire_clock *c = assay_rt_bulk(ASSAY_WIRE_CLOCK, sizeof *c);
	assay_rt_pair(NULL, &c->boot, &c->real);
	rt.last_clock = now;
}

static void drain_all(void)
{
	if (!assay_rt_bulk_open())
		return;
	int64_t now = assay_rt_now();
	if (now - rt.last_clock >= CLOCK_EVERY_NS)
		put_clock(now);
	uint32_t used = atomic_load_explicit(&rt.file->used, memory_order_acquire);
	for (uint32_t i = 0; i < used; i++)
		drain_ring(i);
	assay_rt_bulk_close();
}

void assay_rt_flush(void)
{
	drain_all();
}

static void sleep_until_due(void)
{
	struct timespec t = {rt.conf.flush_ms / 1000, (long)(rt.conf.flush_ms % 1000) * 1000000};
	if (!atomic_exchange(&rt.wake, 0))
		syscall(SYS_futex, &rt.wake, FUTEX_WAIT_PRIVATE, 0, &t, NULL, 0);
	atomic_store(&rt.wake, 0);
}

static void wake_recorder(void)
{
	int saved = errno;
	atomic_store(&rt.wake, 1);
	syscall(SYS_futex, &rt.wake, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	errno = saved;
}

static void *recorder_thread(void *arg)
{
	(void)arg;
	int64_t ticked = 0;
	while (!atomic_load(&rt.stopping)) {
		sleep_until_due();
		int64_t now = assay_rt_now();
		bool due = now - ticked >= (int64_t)rt.conf.flush_ms * 900000;
		if (due && rt.hooks->tick && !atomic_load(&rt.stopping)) {
			ticked = now;
			rt.hooks->tick();
		}
		drain_all();
	}
	atomic_store(&rt.stopped, 1);
	return NULL;
}

/* ---- the hot path ---- */

static void thread_ends(void *ring)
{
	if (ring == self.ring && self.life == atomic_load(&rt.life))
		atomic_store_explicit(&self.ring->state, ASSAY_RING_CLOSED, memory_order_release);
	self.ring = NULL;
	self.life = 0;
}

/* A slot for this thread; its pages are really there, so that a full disk cannot kill the program.
 */
static bool claim_slot(uint32_t i)
{
	off_t at = ASSAY_RING_DATA + (off_t)i * rt.file->ring_bytes;
	if (rt.data[i])
		return true;
	if (posix_fallocate(rt.ring_fd, at, rt.file->ring_bytes))
		return false;
	void *p =
		mmap(NULL, rt.file->ring_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, rt.ring_fd, at);
	if (p == MAP_FAILED)
		return false;
	rt.data[i] = p;
	return true;
}

static assay_ring *new_ring(char **data)
{
	uint32_t used = atomic_load(&rt.file->used), i = 0;
	while (i < used && atomic_load(&rt.file->ring[i].state) != ASSAY_RING_FREE)
		i++;
	if (i == ASSAY_RING_MAX || !claim_slot(i))
		return NULL;
	assay_ring *r = &rt.file->ring[i];
	r->tid = assay_rt_tid();
	r->id = ++rt.next_ring;
	atomic_store(&r->head, 0);
	atomic_store(&r->tail, 0);
	atomic_store(&r->writing, 0);
	atomic_store(&r->lost, 0);
	*data = rt.data[i];
	atomic_store_explicit(&r->state, ASSAY_RING_LIVE, memory_order_release);
	if (i == used)
		atomic_store_explicit(&rt.file->used, used + 1, memory_order_release);
	return r;
}

/* First record of a thread, or of a forked child. */
static bool join_recording(void)
{
	int saved = errno;
	self.ring = NULL;
	pthread_mutex_lock(&rt.lock);
	bool ok = atomic_load(&rt.on) && (rt.fd >= 0 || start_locked());
	if (ok) {
		self.life = atomic_load(&rt.life);
		self.ring = new_ring(&self.data);
		self.head = 0;
		self.limit = rt.file->ring_bytes;
		if (self.ring)
			pthread_setspecific(rt.at_thread_end, self.ring);
		else
			atomic_fetch_add(&rt.file->orphans, 1);
	}
	pthread_mutex_unlock(&rt.lock);
	errno = saved;
	return self.ring != NULL;
}

static void drop_record(assay_ring *r)
{
	int64_t now = assay_rt_now();
	if (atomic_fetch_add_explicit(&r->lost, 1, memory_order_relaxed) == 0)
		atomic_store_explicit(&r->lost_first, now, memory_order_relaxed);
	atomic_store_explicit(&r->lost_last, now, memory_order_relaxed);
}

/* Is there room up to `end`? Wakes the recorder's thread when the ring passes its half. */
static bool room_until(assay_ring *r, uint64_t start, uint64_t end)
{
	uint32_t ring_bytes = rt.file->ring_bytes;
	if (end > self.limit - ring_bytes / 2) {
		uint64_t half = ring_bytes / 2;
		self.limit = atomic_load_explicit(&r->tail, memory_order_acquire) + ring_bytes;
		if (end > self.limit - half && start <= self.limit - half)
			wake_recorder();
	}
	return end <= self.limit;
}

/* Reserve n bytes in one piece; padding in front of it when the ring's end is too near. */
static void *reserve(assay_ring *r, size_t n, uint16_t type)
{
	uint32_t ring_bytes = rt.file->ring_bytes;
	uint64_t start = self.head;
	size_t at = start & (ring_bytes - 1), pad = at + n > ring_bytes ? ring_bytes - at : 0;
	if (!room_until(r, start, start + pad + n))
		return NULL;
	while (pad) { /* at most two: a record's size has 16 bits */
		size_t piece = pad > ASSAY_WIRE_RECORD_MAX ? ASSAY_WIRE_RECORD_MAX : pad;
		assay_wire_rec fill = {ASSAY_WIRE_PAD, (uint16_t)piece, 0};
		memcpy(self.data + (self.head & (ring_bytes - 1)), &fill, sizeof fill);
		self.head += piece;
		pad -= piece;
	}
	assay_wire_rec *rec =
		(assay_wire_rec *)(void *)(self.data + (self.head & (ring_bytes - 1)));
	*rec = (assay_wire_rec){type, (uint16_t)n, 0};
	self.head += n;
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

void *assay_rt_begin(assay_wire_type type, size_t bytes)
{
	if (!atomic_load_explicit(&rt.on, memory_order_relaxed) || self.busy)
		return NULL;
	self.busy = 1;
	if (self.life != atomic_load_explicit(&rt.life, memory_order_relaxed) && !join_recording())
		goto drop;
	assay_ring *r = self.ring;
	if (!r) {
		atomic_fetch_add_explicit(&rt.file->orphans, 1, memory_order_relaxed);
		goto drop;
	}
	if (atomic_load_explicit(&r->lost, memory_order_relaxed) && !mark_gap(r)) {
		drop_record(r);
		goto drop;
	}
	void *rec = reserve(r, assay_wire_round(bytes), (uint16_t)type);
	if (rec)
		return rec;
	drop_record(r);
drop:
	self.busy = 0;
	return NULL;
}

void assay_rt_commit(void)
{
	atomic_store_explicit(&self.ring->head, self.head, memory_order_release);
	self.busy = 0;
}

/* ---- what is wanted ---- */

void assay_rt_range(int step)
{
	int before = atomic_fetch_add(&rt.open_ranges, step);
	if (before == 0 && step > 0) {
		uint32_t i = atomic_load(&rt.windows) % WINDOWS;
		atomic_store(&rt.window_end[i], 0);
		atomic_store(&rt.window_start[i], assay_rt_now());
		atomic_fetch_add(&rt.windows, 1);
	} else if (before == 1 && step < 0) {
		uint32_t last = atomic_load(&rt.windows) - 1;
		atomic_store(&rt.window_end[last % WINDOWS], assay_rt_now());
	}
}

static bool in_a_window(int64_t time)
{
	uint32_t n = atomic_load(&rt.windows), oldest = n > WINDOWS ? n - WINDOWS : 0;
	for (uint32_t i = n; i-- > oldest;) {
		int64_t end = atomic_load(&rt.window_end[i % WINDOWS]);
		if (time >= atomic_load(&rt.window_start[i % WINDOWS]))
			return !end || time < end;
	}
	return false;
}

bool assay_rt_wanted(int64_t time)
{
	const assay_rt_config *c = &rt.conf;
	if ((c->from && time < c->from) || (c->until && time >= c->until))
		return false;
	return !c->range[0] || in_a_window(time);
}

/* ---- start, fork, stop ---- */

static bool open_ring_file(const char *dir, uint32_t n)
{
	snprintf(rt.ring_path, sizeof rt.ring_path, "%s/%d.%u.ring", dir, (int)getpid(), n);
	rt.ring_fd = open(rt.ring_path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (rt.ring_fd < 0)
		return false;
	if (!posix_fallocate(rt.ring_fd, 0, ASSAY_RING_DATA)) /* each ring adds its own pages */
		return true;
	close(rt.ring_fd);
	unlink(rt.ring_path);
	rt.ring_fd = -1;
	return false;
}

static bool make_ring_file(const char *capture, uint32_t n)
{
	if (!(rt.conf.rings[0] && open_ring_file(rt.conf.rings, n)) &&
	    !open_ring_file(rt.conf.dir, n))
		return false;
	void *p = mmap(NULL, ASSAY_RING_DATA, PROT_READ | PROT_WRITE, MAP_SHARED, rt.ring_fd, 0);
	if (p == MAP_FAILED)
		return false;
	rt.file = p;
	rt.file->pid = (uint32_t)getpid();
	rt.file->ring_bytes = rt.conf.ring_bytes;
	memcpy(rt.file->capture, capture, strlen(capture) + 1);
	rt.file->magic = ASSAY_RING_MAGIC;
	return assay_ring_own(rt.ring_fd);
}

/* trace-HOST-PID.asy, or trace-HOST-PID.2.asy after an exec, a fork of the same number, ... */
static bool make_files(void)
{
	char host[64] = "host", path[sizeof((assay_ring_file *)0)->capture];
	gethostname(host, sizeof host - 1);
	for (unsigned n = 1; n < 1000; n++) {
		char more[16] = "";
		if (n > 1)
			snprintf(more, sizeof more, ".%u", n);
		int len = snprintf(path, sizeof path, "%s/trace-%s-%d%s.asy", rt.conf.dir, host,
				   (int)getpid(), more);
		if (len >= (int)sizeof path)
			return false;
		rt.fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0644);
		struct stat st;
		if (rt.fd >= 0 && fstat(rt.fd, &st) == 0) {
			rt.device = st.st_dev;
			rt.inode = st.st_ino;
			return make_ring_file(path, n);
		}
		if (errno != EEXIST)
			return false;
	}
	return false;
}

static bool make_buffers(void)
{
	rt.take = rt.take ? rt.take : malloc(rt.conf.ring_bytes);
	rt.stage = rt.stage ? rt.stage : malloc(STAGE);
	return rt.take && rt.stage;
}

static void put_process(void)
{
	char host[64] = "", command[4096] = "";
	gethostname(host, sizeof host - 1);
	int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, command, sizeof command - 1) : 0;
	if (fd >= 0)
		close(fd);
	for (ssize_t i = 0; i + 1 < n; i++)
		if (!command[i])
			command[i] = ' ';
	uint32_t s[] = {assay_rt_string(rt.hooks->name), assay_rt_string(ASSAY_RECORD_VERSION),
			assay_rt_string(host), assay_rt_string(command)};
	assay_wire_process *p = assay_rt_bulk(ASSAY_WIRE_PROCESS, sizeof *p);
	p->pid = (uint32_t)getpid();
	p->ppid = (uint32_t)getppid();
	assay_rt_pair(NULL, &p->start, &p->real);
	p->recorder = s[0];
	p->version = s[1];
	p->host = s[2];
	p->command = s[3];
}

static bool start_thread(void)
{
	sigset_t all, old;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all,
			&old); /* the program's signals are none of our thread's */
	int rc = pthread_create(&rt.thread, NULL, recorder_thread, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (rc == 0)
		pthread_setname_np(rt.thread, "assay");
	return rc == 0;
}

static bool start_locked(void)
{
	atomic_store(&rt.wake, 0);
	atomic_store(&rt.stopping, 0);
	atomic_store(&rt.stopped, 0);
	rt.staged = 0;
	rt.next_ring = 0;
	memset(rt.threads, 0, sizeof rt.threads);
	rt.last_clock = 0;
	if (!make_files() || !make_buffers()) {
		atomic_store(&rt.on, 0);
		return false;
	}
	atomic_fetch_add(&rt.life, 1);
	atomic_store(&rt.on, 1);
	put_process();
	if (rt.conf.steps[0])
		assay_rt_meta("steps_from", rt.conf.steps);
	put_clock(assay_rt_now());
	write_stage();
	if (!start_thread())
		atomic_store(&rt.on, 0);
	return atomic_load(&rt.on);
}

/* The child of a fork has the parent's rings in its memory and none of its threads. No lock is
 * taken around fork, because a vendor's thread may hold it while it waits for a lock that the
 * vendor takes around fork; so whatever the lock guards is dropped unseen here. */
static void in_child(void)
{
	self.tid = 0;
	self.ring = NULL;
	self.busy = 0;
	pthread_setspecific(rt.at_thread_end, NULL);
	atomic_fetch_add(&rt.life, 1);
	if (rt.fd >= 0)
		close(rt.fd);
	if (rt.ring_fd >= 0)
		close(rt.ring_fd);
	if (rt.file)
		munmap(rt.file, ASSAY_RING_DATA);
	for (uint32_t i = 0; i < ASSAY_RING_MAX; i++)
		if (rt.data[i])
			munmap(rt.data[i], rt.conf.ring_bytes);
	memset(rt.data, 0, sizeof rt.data);
	rt.file = NULL;
	rt.fd = rt.ring_fd = -1;
	rt.left_behind = rt.strings; /* not freed: it may be half changed */
	rt.strings = (assay_strings){0};
	pthread_mutex_init(&rt.lock, NULL);
	if (rt.hooks && rt.hooks->forked && atomic_load(&rt.on))
		rt.hooks->forked();
}

static void put_end(void)
{
	uint64_t orphans = atomic_load(&rt.file->orphans);
	if (orphans)
		put_lost(ASSAY_WIRE_LOST_THREAD, orphans, 0, 0, NULL);
	uint32_t used = atomic_load(&rt.file->used);
	for (uint32_t i = 0; i < used; i++) {
		assay_ring *r = &rt.file->ring[i];
		uint64_t lost = atomic_exchange(&r->lost, 0);
		if (lost && atomic_load(&r->state) != ASSAY_RING_FREE)
			put_lost(ASSAY_WIRE_LOST_RING, lost, atomic_load(&r->lost_first),
				 atomic_load(&r->lost_last), NULL);
	}
	assay_wire_end *e = assay_rt_bulk(ASSAY_WIRE_END, sizeof *e);
	assay_rt_pair(NULL, &e->time, &e->real);
}

/* Threads of the program may still run: rings stay mapped, only the file is closed. */
static void stop(void)
{
	if (!atomic_load(&rt.on) || rt.fd < 0)
		return;
	int saved = errno;
	atomic_store(&rt.stopping, 1);
	wake_recorder();
	struct timespec pause = {0, 10000000};
	for (int i = 0; i < JOIN_TRIES && !atomic_load(&rt.stopped); i++)
		nanosleep(&pause, NULL);
	if (atomic_load(&rt.stopped))
		pthread_join(rt.thread, NULL);
	if (rt.hooks->finish)
		rt.hooks->finish();
	drain_all();
	if (assay_rt_bulk_open()) {
		put_end();
		write_stage();
		atomic_store(&rt.on, 0);
		if (still_ours())
			close(rt.fd);
		rt.fd = -1;
		if (!atomic_load(&rt.file->failed)) /* else `assay record` finds it and tells */
			unlink(rt.ring_path);
		pthread_mutex_unlock(&rt.lock);
	}
	errno = saved;
}

__attribute__((destructor)) static void at_unload(void)
{
	stop();
}

static bool register_once(void)
{
	if (!rt.key_made && pthread_key_create(&rt.at_thread_end, thread_ends))
		return false;
	rt.key_made = true;
	if (!rt.atfork_made && pthread_atfork(NULL, NULL, in_child))
		return false;
	rt.atfork_made = true;
	/* atexit besides the destructor: it runs before the vendor's own, registered earlier */
	if (!rt.atexit_made)
		atexit(stop);
	rt.atexit_made = true;
	return true;
}

bool assay_rt_start(const assay_rt_hooks *hooks)
{
	int saved = errno;
	pthread_mutex_lock(&rt.lock);
	bool ok = atomic_load(&rt.on) && rt.fd >= 0;
	if (!ok && assay_conf_parse(getenv("ASSAY_RECORD"), &rt.conf)) {
		rt.hooks = hooks;
		ok = register_once() && start_locked();
	}
	pthread_mutex_unlock(&rt.lock);
	errno = saved;
	return ok;
}
