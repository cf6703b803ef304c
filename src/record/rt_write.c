/* The thread that owns the recorder's files: makes rings, and writes what is in them. Its table of
 * descriptors is its own; where the system does not allow that, every descriptor is proved to be
 * ours before it is used, and found again by its path when it is not. */
#define _GNU_SOURCE /* syscall, unshare, O_NOFOLLOW */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "record/conf.h"
#include "record/proc.h"
#include "record/py.h"
#include "record/rt_state.h"
#include "wire/clock.h"
#include "wire/secret.h"

enum {
	SPARE_RINGS = 4, /* ready for threads to come */
	CLOCK_EVERY_NS = 1000000000,
	STILL_NS = 1000000000,
	LOCK_WAIT_NS = 1000000,
	NAMES_MAX = 1000, /* captures of one process number */
	SYMBOL_PROBES = 16,
};
#ifndef SYS_close_range
enum { SYS_close_range = 436 };
#endif

static __thread bool is_writer;

bool assay_rt_is_writer(void)
{
	return is_writer;
}

void assay_rt_wake_writer(void)
{
	atomic_store(&rt.wake, 1);
	assay_rt_wake(&rt.wake);
}

/* ---- descriptors ---- */

/* Nothing is closed in the program: these are this thread's copies. */
static void close_copies(void)
{
	DIR *d = opendir("/proc/thread-self/fd");
	for (struct dirent *e; d && (e = readdir(d));)
		if (e->d_name[0] != '.' && atoi(e->d_name) != dirfd(d))
			close(atoi(e->d_name));
	if (d)
		closedir(d);
}

bool assay_rt_own_table(void)
{
	enum { UNSHARE = 2 }; /* CLOSE_RANGE_UNSHARE, Linux 5.9 */
	if (assay_proc_is_filtered(assay_rt_tid()))
		return false;
	if (syscall(SYS_close_range, 0u, ~0u, UNSHARE) < 0) {
		if (unshare(CLONE_FILES) < 0)
			return false;
		close_copies();
	}
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	while (fd >= 0 && fd < 2)
		fd = dup(fd);
	assay_py_keep_pipe();
	return true;
}

static bool is_ours(const rt_file *f)
{
	struct stat st;
	return f->fd >= 0 && fstat(f->fd, &st) == 0 && st.st_dev == f->device &&
	       st.st_ino == f->inode;
}

static int open_again(rt_file *f)
{
	f->fd = open(f->path, f->flags | O_NOFOLLOW | O_CLOEXEC);
	if (f->fd < 0 || is_ours(f))
		return f->fd;
	close(f->fd); /* opened just now: another file has the name */
	return f->fd = -1;
}

/* A descriptor that is ours; -1: there is none. */
static int proven(rt_file *f)
{
	return rt.own_table || is_ours(f) ? f->fd : open_again(f);
}

static void close_ours(rt_file *f)
{
	if (rt.own_table ? f->fd >= 0 : is_ours(f))
		close(f->fd);
	f->fd = -1;
}

/* What goes into a file that was removed is lost without a word. */
static bool has_name(int fd)
{
	struct stat st;
	return fstat(fd, &st) == 0 && st.st_nlink > 0;
}

/* Its path is set. A file that is mapped keeps its number, so that no other file can have it. */
static bool create(rt_file *f, int flags, mode_t mode)
{
	struct stat st;
	f->flags = flags;
	f->fd = open(f->path, flags | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
	if (f->fd < 0 || fstat(f->fd, &st) < 0)
		return false;
	f->device = st.st_dev;
	f->inode = st.st_ino;
	return true;
}

static void take_away(rt_file *f)
{
	close_ours(f);
	unlink(f->path);
}

/* ---- making files ---- */

/* Letters, digits, dots and hyphens: salvage takes no other name. */
static void plain_host(char *to, size_t size)
{
	gethostname(to, size - 1);
	to[size - 1] = 0;
	for (char *p = to; *p; p++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-", *p))
			*p = '_';
}

/* trace-HOST-PID.asy, or trace-HOST-PID.2.asy after an exec, a fork of the same number, ... */
static bool make_named(char *stem, size_t size, bool (*make)(const char *path))
{
	char host[64] = "host", path[sizeof rt.capture.path];
	plain_host(host, sizeof host);
	for (unsigned n = 1; n < NAMES_MAX; n++) {
		char more[16] = "";
		if (n > 1)
			snprintf(more, sizeof more, ".%u", n);
		snprintf(stem, size, "trace-%s-%d%s", host, (int)getpid(), more);
		snprintf(path, sizeof path, "%s/%s.asy", rt.conf.dir, stem);
		if (make(path))
			return true;
		if (errno != EEXIST)
			return false;
	}
	return false;
}

static bool make_capture(const char *path)
{
	snprintf(rt.capture.path, sizeof rt.capture.path, "%s", path);
	return create(&rt.capture, O_RDWR | O_APPEND, 0644);
}

/* Not to be written by anybody: one that may be is that of a start which was cut short. */
static bool make_empty(const char *path)
{
	return mknod(path, S_IFREG | 0444, 0) == 0;
}

/* Without a descriptor: this is a thread of the program. */
void assay_rt_leave_empty_capture(void)
{
	char stem[160];
	make_named(stem, sizeof stem, make_empty);
}

/* Pages that are really there, so that a full disk cannot kill the program. */
static void *map_pages(uint64_t at, size_t n)
{
	int fd = proven(&rt.ring);
	if (fd < 0 || posix_fallocate(fd, (off_t)at, (off_t)n))
		return NULL;
	void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, (off_t)at);
	return p == MAP_FAILED ? NULL : p;
}

static bool make_ring_in(const char *dir, const char *stem)
{
	snprintf(rt.ring.path, sizeof rt.ring.path, "%s/%s.ring", dir, stem);
	if (!create(&rt.ring, O_RDWR, 0600))
		return false;
	/* locked and named: nobody has taken it for one that a dead process left */
	bool ours = assay_ring_own(rt.ring.fd) && has_name(rt.ring.fd);
	char *p = ours ? map_pages(0, ASSAY_RING_DATA + ASSAY_RING_BULK) : NULL;
	if (!p) {
		take_away(&rt.ring);
		return false;
	}
	rt.bulk = p + ASSAY_RING_DATA;
	rt.file = (assay_ring_file *)(void *)p;
	return true;
}

static bool make_ring_file(const char *stem)
{
	if (!(rt.conf.rings[0] && make_ring_in(rt.conf.rings, stem)) &&
	    !make_ring_in(rt.conf.dir, stem))
		return false;
	assay_ring_file *f = rt.file;
	f->pid = (uint32_t)getpid();
	f->ring_bytes = rt.conf.ring_bytes;
	f->bulk.id = atomic_fetch_add(&rt.next_ring, 1) + 1;
	atomic_store(&f->bulk.state, ASSAY_RING_LIVE);
	f->magic = ASSAY_RING_MAGIC; /* last: before it nothing is in them */
	return true;
}

static bool make_files(void)
{
	char stem[160];
	if (!make_named(stem, sizeof stem, make_capture))
		return false;
	if (!rt.own_table) /* keeps its number */
		mmap(NULL, 4096, PROT_READ, MAP_SHARED, rt.capture.fd, 0);
	rt.capture_bytes = 0;
	if (make_ring_file(stem))
		return true;
	take_away(&rt.capture);
	return false;
}

void assay_rt_drop_files(void)
{
	if (!rt.own_table) {
		close_ours(&rt.capture);
		close_ours(&rt.ring);
	}
	if (rt.file)
		munmap(rt.file, ASSAY_RING_DATA + ASSAY_RING_BULK);
	for (uint32_t i = 0; i < ASSAY_RING_MAX; i++) {
		char *data = atomic_exchange(&rt.data[i], NULL);
		if (data)
			munmap(data, rt.conf.ring_bytes);
	}
	rt.file = NULL;
	rt.capture.fd = rt.ring.fd = -1;
	atomic_store(&rt.writing, RT_WRITER_NONE);
}

/* ---- rings ---- */

static void make_ready(assay_ring *r)
{
	r->tid = r->id = 0;
	atomic_store(&r->head, 0);
	atomic_store(&r->tail, 0);
	atomic_store(&r->writing, 0);
	atomic_store(&r->lost, 0);
	atomic_store(&r->call.start, 0);
	atomic_store_explicit(&r->state, ASSAY_RING_READY, memory_order_release);
	atomic_fetch_add(&rt.spare, 1);
	atomic_store(&rt.no_more_rings, 0);
	atomic_fetch_add(&rt.made, 1);
	assay_rt_wake_one(&rt.made); /* of a thousand that wait for one each */
}

static bool make_ring(void)
{
	uint32_t i = atomic_load(&rt.file->used);
	char *data = i < ASSAY_RING_MAX
			     ? map_pages(assay_ring_at(i, rt.conf.ring_bytes), rt.conf.ring_bytes)
			     : NULL;
	if (!data)
		return false;
	atomic_store(&rt.data[i], data);
	atomic_store_explicit(&rt.file->used, i + 1, memory_order_release);
	make_ready(&rt.file->ring[i]); /* wakes who looks for it among those that are used */
	return true;
}

/* Rings of threads that ended are used again once they are drained, which comes first. */
static bool any_to_come(void)
{
	uint32_t used = atomic_load(&rt.file->used);
	for (uint32_t i = 0; i < used && !atomic_load(&rt.file->failed); i++)
		if (atomic_load(&rt.file->ring[i].state) == ASSAY_RING_CLOSED)
			return true;
	return false;
}

static void make_spare_rings(void)
{
	bool ok = true;
	if (atomic_load(&rt.spare) >= SPARE_RINGS || any_to_come())
		return;
	while (ok && atomic_load(&rt.spare) < SPARE_RINGS)
		ok = make_ring();
	if (!ok && !atomic_load(&rt.spare)) { /* waiting is no use */
		atomic_store(&rt.no_more_rings, 1);
		atomic_fetch_add(&rt.made, 1);
		assay_rt_wake(&rt.made);
	}
}

/* ---- writing ---- */

static bool write_all(int fd, struct iovec *v, int n)
{
	while (n) {
		ssize_t w = writev(fd, v, n);
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

int assay_rt_ring_fd(void)
{
	return proven(&rt.ring);
}

bool assay_rt_append(assay_wire_chunk *c, const void *payload, size_t n)
{
	c->seq = atomic_load(&rt.file->seq);
	assay_wire_seal(c, payload, n);
	struct iovec v[2] = {{c, sizeof *c}, {(void *)(uintptr_t)payload, n}};
	int fd = proven(&rt.capture);
	if (fd >= 0 && has_name(fd) && write_all(fd, v, 2)) {
		rt.capture_bytes += sizeof *c + n;
		atomic_fetch_add(&rt.file->seq, 1);
		return true;
	}
	struct stat st;
	if (fd >= 0 && ftruncate(fd, (off_t)rt.capture_bytes) < 0 && fstat(fd, &st) == 0)
		rt.capture_bytes =
			(uint64_t)st.st_size; /* what is torn stays, whole ones behind it */
	atomic_fetch_add(&rt.file->failed, 1);
	return false;
}

/* What is not written stays in its ring and is tried again. */
static bool write_chunk(const assay_ring *r, void *payload, size_t n)
{
	assay_wire_chunk c = {.ring = r->id,
			      .tid = r->tid,
			      .pos = atomic_load(&r->tail),
			      .time = assay_rt_now(),
			      .pid = rt.file->pid};
	return assay_keep_on() ? assay_keep_put(&c, payload, n) : assay_rt_append(&c, payload, n);
}

/* What was taken from a ring, which made sense up to `next`, goes into the file; what a stray write
 * of the program made senseless is passed over. False: it could not be written. */
static bool write_taken(assay_ring *r, void *records, size_t n, uint64_t next, uint64_t head)
{
	atomic_store(&r->writing, head);
	if (n && !write_chunk(r, records, n))
		return false;
	atomic_store_explicit(&r->tail, head, memory_order_release);
	assay_ring_count(rt.file, records, n);
	rt.damaged += next != head;
	return true;
}

/* The recorder's ring up to a position. */
static bool drain_bulk_until(uint64_t head)
{
	uint64_t next;
	size_t n = assay_ring_take(&rt.file->bulk, rt.bulk, ASSAY_RING_BULK, head, rt.take, &next);
	return write_taken(&rt.file->bulk, rt.take, n, next, head);
}

static bool drain_bulk(void)
{
	return drain_bulk_until(atomic_load_explicit(&rt.file->bulk.head, memory_order_acquire));
}

void assay_rt_drain_bulk(void)
{
	drain_bulk();
}

/* Whoever has the lock may wait for room in the recorder's ring, and a new thread for a ring. */
static void lock_while_writing(void)
{
	for (;;) {
		struct timespec t =
			assay_timespec_of(assay_rt_clock(CLOCK_REALTIME) + LOCK_WAIT_NS);
		if (pthread_mutex_timedlock(&rt.lock, &t) == 0)
			return;
		drain_bulk();
		make_spare_rings();
	}
}

/* The text at an address of the program that may not be there any more; cut at the size of `to`. */
static size_t text_at(uintptr_t at, char *to, size_t size)
{
	size_t page = 4096, n = 0;
	while (n < size) {
		size_t piece = page - (at + n) % page;
		piece = piece < size - n ? piece : size - n;
		if (!assay_py_safely(0, at + n, to + n, piece))
			break;
		const char *end = memchr(to + n, 0, piece);
		if (end)
			return (size_t)(end - to);
		n += piece;
	}
	return n;
}

/* The kernel that a launch names by the address of its name, told once. Under the lock. */
static void put_symbol(uint64_t address)
{
	char name[1024];
	uint32_t i = (uint32_t)((address * 0x9e3779b97f4a7c15u) >> 52) % RT_SYMBOLS;
	for (int probes = 0; probes < SYMBOL_PROBES && rt.symbols[i]; probes++) {
		if (rt.symbols[i] == address)
			return;
		i = (i + 1) % RT_SYMBOLS;
	}
	if (!address)
		return;
	rt.symbols[i] = address; /* where all are taken, each is told again when it is met */
	size_t n = text_at((uintptr_t)address, name, sizeof name);
	uint32_t sid = assay_rt_string_of(name, n);
	if (!sid)
		return;
	assay_wire_symbol *s = assay_rt_bulk(ASSAY_WIRE_SYMBOL, sizeof *s);
	s->number = address;
	s->name = sid;
}

/* Ranges carry their text through the ring; in the file each text stands once (a flight recorder
 * leaves them as they are: texts would outlive their ranges). Shortens the records in place and
 * returns the new size. Under the lock. */
static size_t intern_texts(char *p, size_t n)
{
	size_t out = 0;
	for (size_t at = 0; at < n;) {
		assay_wire_rec *rec = (assay_wire_rec *)(void *)(p + at);
		size_t bytes = rec->bytes, keep = bytes;
		assay_wire_range *g = (assay_wire_range *)(void *)rec;
		if (rec->type == ASSAY_WIRE_RANGE && bytes > sizeof *g && !g->name &&
		    !assay_keep_on()) {
			size_t most = bytes - sizeof *g;
			g->name = assay_rt_string_of((char *)(g + 1),
						     g->length < most ? g->length : most);
			g->length = 0;
			rec->bytes = (uint16_t)(keep = sizeof *g);
		}
		const assay_wire_api *a = (const void *)rec;
		if (rec->type == ASSAY_WIRE_API && bytes >= ASSAY_WIRE_API_LAUNCH &&
		    a->given & ASSAY_WIRE_LAUNCHES)
			put_symbol(a->event);
		memmove(p + out, p + at, keep);
		out += keep;
		at += bytes;
	}
	return out;
}

/* Under the lock. */
static void put_name(uint32_t tid)
{
	char path[64], name[32] = "";
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

static void put_names(void)
{
	for (uint32_t i = 0; i < rt.unnamed_n; i++)
		put_name(rt.unnamed[i]);
	rt.unnamed_n = 0;
}

static void put_gap(assay_ring *r)
{
	uint64_t lost = atomic_exchange(&r->lost, 0);
	if (lost)
		assay_rt_put_lost(ASSAY_WIRE_LOST_RING, lost, atomic_load(&r->lost_first),
				  atomic_load(&r->lost_last), NULL);
}

/* Names go into the recorder's ring first, and that into the file; then the records that use
 * them. */
static bool drain_records(assay_ring *r, const char *data, uint64_t head)
{
	uint64_t next;
	lock_while_writing();
	assay_rt_name_thread(r->tid);
	put_names();
	size_t n = assay_ring_take(r, data, rt.conf.ring_bytes, head, rt.take2, &next);
	n = intern_texts(rt.take2, n);
	assay_rt_publish();
	uint64_t named = rt.bulk_head;
	pthread_mutex_unlock(&rt.lock);
	return drain_bulk_until(named) && write_taken(r, rt.take2, n, next, head);
}

static bool drain_ring(assay_ring *r, const char *data)
{
	if (!atomic_load(&rt.spare))
		make_spare_rings();
	uint32_t state = atomic_load_explicit(&r->state, memory_order_acquire);
	if (state != ASSAY_RING_LIVE && state != ASSAY_RING_CLOSED)
		return true;
	uint64_t head = atomic_load_explicit(&r->head, memory_order_acquire);
	if (head != atomic_load(&r->tail) && !drain_records(r, data, head))
		return false;
	if (state != ASSAY_RING_CLOSED)
		return true;
	lock_while_writing();
	put_gap(r);
	assay_rt_publish();
	pthread_mutex_unlock(&rt.lock);
	assay_keep_ring_ended(r->id);
	make_ready(r);
	return true;
}

static void put_clock(int64_t now)
{
	lock_while_writing();
	assay_wire_clock *c = assay_rt_bulk(ASSAY_WIRE_CLOCK, sizeof *c);
	assay_rt_pair(NULL, &c->boot, &c->real);
	assay_rt_publish();
	pthread_mutex_unlock(&rt.lock);
	rt.last_clock = now;
}

static void put_mark(const char *text)
{
	lock_while_writing();
	assay_rt_put_mark(text, assay_rt_now());
	assay_rt_publish();
	pthread_mutex_unlock(&rt.lock);
}

/* Names may have been there: they are told again when they are used. */
static void put_damage(void)
{
	lock_while_writing();
	assay_strings_forget(&rt.strings);
	memset(rt.threads, 0, sizeof rt.threads);
	rt.unnamed_n = 0;
	memset(rt.symbols, 0, sizeof rt.symbols);
	assay_rt_tell_calls();
	assay_rt_put_lost(ASSAY_WIRE_LOST_DAMAGED, rt.damaged, 0, 0, NULL);
	rt.damaged = 0;
	assay_rt_publish();
	pthread_mutex_unlock(&rt.lock);
}

void assay_rt_tell_fact(const char *key, const char *value)
{
	lock_while_writing();
	assay_rt_meta(key, value);
	assay_rt_publish();
	pthread_mutex_unlock(&rt.lock);
}

static bool drain_all(void)
{
	int64_t now = assay_rt_now();
	if (now - rt.last_clock >= CLOCK_EVERY_NS)
		put_clock(now);
	bool ok = true;
	uint32_t used = atomic_load(&rt.file->used);
	for (uint32_t i = 0; ok && i < used; i++)
		ok = drain_ring(&rt.file->ring[i], atomic_load(&rt.data[i]));
	ok = drain_bulk() && ok;
	if (rt.damaged)
		put_damage();
	return ok;
}

/* ---- the thread ---- */

/* The command line in one text, secrets left out. */
static void read_command(char *out, size_t cap)
{
	int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	ssize_t got = fd >= 0 ? read(fd, out, cap - 1) : 0;
	if (fd >= 0)
		close(fd);
	size_t n = assay_hide_secrets(out, got > 0 ? (size_t)got : 0);
	for (size_t i = 0; i + 1 < n; i++)
		if (!out[i])
			out[i] = ' ';
	out[n] = 0;
}

static void put_process(void)
{
	char host[64] = "", command[4096] = "";
	gethostname(host, sizeof host - 1);
	read_command(command, sizeof command);
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

/* Everything else is in the file. */
static void put_tally(void)
{
	assay_wire_tally tally[ASSAY_RING_TALLIES];
	size_t n = assay_ring_tally(rt.file, tally);
	for (size_t i = 0; i < n; i++) {
		assay_wire_tally *t = assay_rt_bulk(ASSAY_WIRE_TALLY, sizeof *t);
		t->kind = tally[i].kind;
		t->cause = tally[i].cause;
		t->count = tally[i].count;
	}
}

static void put_end(void)
{
	lock_while_writing();
	uint64_t orphans = assay_ring_dropped(rt.file, ASSAY_WIRE_LOST_THREAD);
	if (orphans)
		assay_rt_put_lost(ASSAY_WIRE_LOST_THREAD, orphans, 0, 0, NULL);
	uint32_t used = atomic_load(&rt.file->used);
	for (uint32_t i = 0; i < used; i++)
		if (atomic_load(&rt.file->ring[i].state) == ASSAY_RING_LIVE)
			put_gap(&rt.file->ring[i]);
	assay_rt_tell_cost();
	assay_rt_publish();
	drain_bulk();
	put_tally();
	assay_wire_end *e = assay_rt_bulk(ASSAY_WIRE_END, sizeof *e);
	assay_rt_pair(NULL, &e->time, &e->real);
	assay_rt_publish();
	pthread_mutex_unlock(&rt.lock);
}

/* Whoever was adding records when recording ended has added the last. */
static void wait_for_the_last(void)
{
	lock_while_writing();
	pthread_mutex_unlock(&rt.lock);
}

/* Threads beside the one that ends the process: they may go on for a while. */
static bool others_go_on(void)
{
	uint32_t used = atomic_load(&rt.file->used);
	for (uint32_t i = 0; i < used; i++)
		if (atomic_load(&rt.file->ring[i].state) == ASSAY_RING_LIVE &&
		    rt.file->ring[i].tid != atomic_load(&rt.ender))
			return true;
	return false;
}

void assay_rt_remove_rings(void)
{
	if (rt.file && atomic_load(&rt.file->left) == ASSAY_WIRE_LEFT_ENDED && !others_go_on() &&
	    !assay_ring_dropped(rt.file, ASSAY_WIRE_LOST_ENDED))
		unlink(rt.ring.path);
}

static void close_files(void)
{
	close_ours(&rt.capture);
	close_ours(&rt.ring);
}

/* The rings stay for `assay record` when something is still in them, or may yet be counted: also by
 * what the program registered for its exit before us, so at_unload removes them then. */
static void finish(void)
{
	drain_all();
	atomic_store(&rt.on, 0);
	wait_for_the_last();
	if (drain_all() && assay_keep_write_out()) { /* the counts are of what is in the file */
		put_end();
		if (drain_bulk() && assay_keep_write_out()) {
			atomic_store(&rt.file->left, ASSAY_WIRE_LEFT_ENDED);
			if (atomic_load(&rt.leaving))
				assay_rt_remove_rings();
		}
	}
	close_files();
}

static void put_stillness(int64_t from, int64_t to)
{
	lock_while_writing();
	assay_control_stood_still(from, to);
	assay_rt_publish();
	pthread_mutex_unlock(&rt.lock);
}

/* Who wakes that late, in a process that hardly used a processor meanwhile, was stopped by a
 * signal, in a container that was frozen, or on a machine that slept or was paused. */
static void nap(int64_t length)
{
	int64_t used = assay_rt_clock(CLOCK_PROCESS_CPUTIME_ID), due = assay_rt_now() + length;
	assay_rt_wait(&rt.wake, 0, length);
	int64_t now = assay_rt_now(), late = now - due;
	if (late > STILL_NS && assay_rt_clock(CLOCK_PROCESS_CPUTIME_ID) - used < late)
		put_stillness(due, now);
}

static void sleep_until_due(void)
{
	if (!atomic_exchange(&rt.wake, 0))
		nap((int64_t)rt.conf.flush_ms * 1000000);
	if (!atomic_exchange(&rt.wake, 0) && assay_threads_look())
		assay_control_disturb();
}

static void take_files_away(void)
{
	take_away(&rt.capture);
	take_away(&rt.ring);
}

/* Before the starting thread goes on; it holds the lock for us. What process it is stands in the
 * capture at once, and nothing else can yet: what a flight recorder does not keep begins here. */
static bool begin(void)
{
	assay_control_open();
	if (!make_files())
		return false;
	put_process();
	assay_rt_publish();
	drain_bulk();
	if (!assay_keep_begin()) {
		take_files_away();
		return false;
	}
	make_spare_rings();
	return true;
}

static bool go_on(void)
{
	bool ok = open_again(&rt.capture) >= 0 && open_again(&rt.ring) >= 0 &&
		  assay_ring_own(rt.ring.fd);
	if (!ok)
		close_files();
	return ok;
}

static void rest(void)
{
	drain_all();
	assay_rt_keep_cost();
	close_files();
}

void *assay_rt_writer(void *unused)
{
	(void)unused;
	prctl(PR_SET_NAME, "assay");
	uint32_t starts = RT_WRITER_STARTS;
	bool again = atomic_load(&rt.resting);
	is_writer = true;
	rt.own_table = assay_rt_own_table();
	bool ok = again ? go_on() : begin();
	if (!atomic_compare_exchange_strong(&rt.writing, &starts,
					    ok ? RT_WRITER_RUNS : RT_WRITER_FAILED)) {
		if (ok && !again)
			take_files_away();
		ok = false;
	}
	assay_rt_wake(&rt.writing);
	while (ok && atomic_load(&rt.stopping) < 2) {
		uint32_t asked = atomic_load(&rt.flush_asked);
		const char *why = assay_keep_look();
		if (why)
			put_mark(why);
		drain_all();
		make_spare_rings();
		if (why || asked != atomic_load(&rt.flush_done))
			assay_keep_write_out();
		atomic_store(&rt.flush_done, asked);
		assay_rt_wake(&rt.flush_done);
		if (asked == atomic_load(&rt.flush_asked) && atomic_load(&rt.stopping) < 2)
			sleep_until_due();
	}
	bool rests = atomic_load(&rt.resting);
	if (ok) {
		rests ? rest() : finish();
		atomic_store(&rt.writing, rests ? RT_WRITER_RESTS : RT_WRITER_ENDED);
		assay_rt_wake(&rt.writing);
	}
	return NULL;
}
