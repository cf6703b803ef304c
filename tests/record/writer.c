/* The recorder's writer, made to meet what is rare: the C library's functions that it calls stand
 * here and fail, stop or do half when a case asks for it. Every case waits for what it needs, none
 * for a time. usage: ASSAY_RECORD=... writer CASE; prints what the test looks at. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record/host.h"
#include "record/rt_state.h"

/* ---- the functions that fail ---- */

enum { WRITE_ALL, WRITE_PIECES, WRITE_FULL, WRITE_NAMES_ONLY, WRITE_NO_END };
static _Atomic int how_to_write, gate, at_gate, lock_gate, no_room, wait_for_word, waits, rests,
	refuse_tables, refuse_cut, sampled, ends, lingers;
static _Atomic long wakes, unseen, slept;

static void wait_until(_Atomic int *flag, int value)
{
	while (atomic_load(flag) != value)
		usleep(100);
}

/* Some bytes of the first piece that has any. */
static ssize_t write_some(int fd, const struct iovec *v, int n, size_t most)
{
	for (; n && !v->iov_len; n--)
		v++;
	return n ? write(fd, v->iov_base, v->iov_len < most ? v->iov_len : most) : 0;
}

static bool has_end(const struct iovec *v)
{
	for (size_t at = 0; at < v->iov_len;) {
		const assay_wire_rec *r =
			(const assay_wire_rec *)(const void *)((const char *)v->iov_base + at);
		if (r->type == ASSAY_WIRE_END)
			return true;
		at += r->bytes;
	}
	return false;
}

ssize_t writev(int fd, const struct iovec *v, int n)
{
	if (gate) {
		at_gate = 1;
		wait_until(&gate, 0);
		at_gate = 0;
	}
	static long calls;
	int how = how_to_write;
	const assay_wire_chunk *c = v->iov_base;
	bool begins = n == 2 && v->iov_len == sizeof *c;
	bool names = how == WRITE_NAMES_ONLY && begins && c->ring == rt.file->bulk.id;
	if (how == WRITE_ALL || names || (how == WRITE_NO_END && !has_end(v + 1)))
		return syscall(SYS_writev, fd, v, n);
	if (how == WRITE_PIECES && ++calls % 3)
		return write_some(fd, v, n, 40); /* also the end of a piece exactly */
	if (how == WRITE_FULL && begins)
		return write_some(fd, v, n, 40);
	errno = how == WRITE_PIECES ? EINTR : ENOSPC;
	return -1;
}

int pthread_mutex_timedlock(pthread_mutex_t *m, const struct timespec *t)
{
	if (assay_rt_is_writer())
		wait_until(&lock_gate, 0);
	static int (*real)(pthread_mutex_t *, const struct timespec *);
	void *p = real ? NULL : dlsym(RTLD_NEXT, "pthread_mutex_timedlock");
	if (p)
		memcpy(&real, &p, sizeof real);
	return real(m, t);
}

int ftruncate(int fd, off_t n)
{
	errno = EPERM;
	return refuse_cut ? -1 : (int)syscall(SYS_ftruncate, fd, n);
}

/* Less than 0: no room so often. */
int posix_fallocate(int fd, off_t at, off_t n)
{
	if (no_room < 0) {
		no_room++;
		return ENOSPC;
	}
	return no_room ? ENOSPC : syscall(SYS_fallocate, fd, 0, at, n) ? errno : 0;
}

int unshare(int flags)
{
	errno = EPERM;
	return refuse_tables > 1 ? -1 : (int)syscall(SYS_unshare, flags);
}

static void look_at_rings(void)
{
	uint32_t ready = 0, used = atomic_load(&rt.file->used);
	for (uint32_t i = 0; i < ASSAY_RING_MAX; i++)
		ready += atomic_load(&rt.file->ring[i].state) == ASSAY_RING_READY && i >= used;
	unseen += ready; /* who is woken now does not find them */
}

/* Who waits for a ring comes to the kernel when the writer has said how that ended. */
static long wait_for_ring(long (*real)(long, ...), long *a)
{
	long before = wakes;
	waits = 1;
	while (wakes == before && wait_for_word)
		usleep(100);
	long rc = real(SYS_futex, a[0], a[1], a[2], a[3], a[4], a[5]);
	slept += wait_for_word && (rc == 0 || errno != EAGAIN); /* though it was said */
	return rc;
}

/* The recorder's sampler has said that it is done, and is slow to go. */
static void linger(void)
{
	char name[16] = "";
	prctl(PR_GET_NAME, name);
	lingers |= !strcmp(name, "assay-sampler");
	while (!strcmp(name, "assay-sampler"))
		pause();
}

long syscall(long number, ...)
{
	long a[6];
	va_list more;
	va_start(more, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(more, long);
	va_end(more);
	static long (*real)(long, ...);
	void *p = real ? NULL : dlsym(RTLD_NEXT, "syscall");
	if (p)
		memcpy(&real, &p, sizeof real);
	bool rings = number == SYS_futex && a[0] == (long)(uintptr_t)&rt.made;
	if (rings && a[1] == FUTEX_WAKE_PRIVATE && rt.file)
		look_at_rings();
	rests |= number == SYS_futex && a[0] == (long)(uintptr_t)&rt.wake &&
		 a[1] == FUTEX_WAIT_PRIVATE && a[2] == 0;
	if (rings && a[1] == FUTEX_WAIT_PRIVATE)
		return wait_for_ring(real, a);
	if (number == 436 && refuse_tables) { /* close_range */
		errno = ENOSYS;
		return -1;
	}
	long rc = real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
	wakes += rings && a[1] == FUTEX_WAKE_PRIVATE;
	bool writers = rings || a[0] == (long)(uintptr_t)&rt.wake;
	if (number == SYS_futex && a[1] == FUTEX_WAKE_PRIVATE && !writers && ends)
		linger();
	return rc;
}

/* ---- what records ---- */

static _Atomic long done, refused;

static void record(long n)
{
	for (long i = 0; i < n; i++) {
		assay_wire_range *g = assay_rt_begin(ASSAY_WIRE_RANGE, sizeof *g + 7);
		if (!g) {
			refused++;
			continue;
		}
		assay_wire_rec head = g->rec;
		memset(g, 0, sizeof *g);
		g->rec = head;
		g->id = (uint64_t)++done;
		g->op = ASSAY_WIRE_RANGE_MARK;
		g->length = 7;
		memcpy(g + 1, "a range", 7);
		assay_rt_commit();
	}
}

static void *record_ten(void *unused)
{
	(void)unused;
	record(10);
	return NULL;
}

static _Atomic int held, let_go;

static void *record_and_stay(void *unused)
{
	(void)unused;
	record(10);
	held++;
	wait_until(&let_go, 1);
	return NULL;
}

static pthread_t start(void *(*run)(void *))
{
	pthread_t t;
	if (pthread_create(&t, NULL, run, NULL))
		abort();
	return t;
}

static void one_thread(void)
{
	pthread_join(start(record_ten), NULL);
}

/* The writer has gone round once, all of it, since this was called. */
static void settle(void)
{
	uint32_t mine = atomic_fetch_add(&rt.flush_asked, 1) + 1;
	assay_rt_wake_writer();
	while ((int32_t)(atomic_load(&rt.flush_done) - mine) < 0)
		usleep(100);
}

/* The writer stands in the write of a record of this thread's. */
static void hold_writer(void)
{
	gate = 1;
	record(1);
	assay_rt_wake_writer();
	wait_until(&at_gate, 1);
}

static void let_writer_go(void)
{
	gate = 0;
	settle();
}

/* ---- cases ---- */

static void with_a_rest(void)
{
	settle();
	rests = 0;
	settle();
	wait_until(&rests, 1);
}

static void with_pieces(void)
{
	how_to_write = WRITE_PIECES;
	for (int i = 0; i < 5; i++) {
		record(10);
		one_thread();
		settle();
	}
}

/* The same, and nothing that is kept was asked for. A rest may have begun before it was woken. */
static void go_round(void)
{
	for (int i = 0; i < 2; i++) {
		rests = 0;
		assay_rt_wake_writer();
		wait_until(&rests, 1);
	}
}

/* Before the writer has gone round once, the GPU has worked; all of it is too old soon. */
static void with_work_at_once(void)
{
	if (!assay_rt_bulk_open())
		abort();
	for (int i = 0; i < 3; i++) {
		assay_wire_kernel *k = assay_rt_bulk(ASSAY_WIRE_KERNEL, sizeof *k);
		k->work.start = assay_rt_now();
		k->work.end = k->work.start + 1;
	}
	assay_rt_bulk_close();
	lock_gate = 0;
	for (int i = 0; i < 3; i++) {
		record(1);
		go_round();
	}
}

static void with_a_full_disk(void)
{
	settle();
	how_to_write = WRITE_FULL;
	record(1);
	for (int i = 0; i < 12; i++) { /* none of their rings can be emptied */
		settle();
		one_thread();
	}
	settle();
	printf("failed %d ", atomic_load(&rt.file->failed) > 0);
	how_to_write = WRITE_ALL;
}

static void with_a_full_disk_at_the_end(void)
{
	with_a_full_disk();
	how_to_write = WRITE_FULL;
	record(10);
}

/* Half a chunk stays in the file, and later ones are whole. */
static void with_a_chunk_that_cannot_be_cut_off(void)
{
	settle();
	for (refuse_cut = 1;; refuse_cut = 0) {
		how_to_write = WRITE_FULL;
		record(10);
		settle();
		how_to_write = WRITE_ALL;
		settle();
		if (!refuse_cut)
			break;
	}
}

static void with_room_for_names_only(void)
{
	how_to_write = WRITE_NAMES_ONLY;
	record(10);
}

static void with_threads_that_end_together(void)
{
	record(1);
	settle();
	hold_writer();
	for (int i = 0; i < 4; i++)
		one_thread(); /* all that are ready */
	let_writer_go();
	printf("rings %u ready %u ", atomic_load(&rt.file->used), atomic_load(&rt.spare));
}

static void with_room_for_all_but_the_end(void)
{
	how_to_write = WRITE_NO_END;
}

/* All rings that are ready are taken, and a thread waits for the next while the writer is busy. */
static void take_all_rings(pthread_t *t, bool room)
{
	record(1);
	settle();
	hold_writer();
	no_room = !room;
	for (int i = 0; i < 4; i++)
		t[i] = start(record_and_stay);
	wait_until(&held, 4);
	wait_for_word = 1;
	pthread_t first = start(record_ten);
	wait_until(&waits, 1);
	gate = 0;
	pthread_join(first, NULL);
	wait_for_word = 0;
}

static void let_all_go(pthread_t *t)
{
	let_go = 1;
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
}

static void with_a_thread_that_waits(void)
{
	pthread_t t[4];
	take_all_rings(t, true);
	let_all_go(t);
}

/* It is woken by every ring that others take before it. */
static void with_a_thread_that_comes_last(void)
{
	pthread_t t[4];
	enum { OTHERS = 300 };
	record(1);
	settle();
	hold_writer();
	for (int i = 0; i < 4; i++)
		t[i] = start(record_and_stay);
	wait_until(&held, 4);
	pthread_t last = start(record_ten);
	for (int i = 0; i < OTHERS && !refused; i++) {
		wait_until(&waits, 1);
		waits = 0;
		atomic_fetch_add(&rt.made, 1);
		assay_rt_wake(&rt.made);
		while (!waits && !refused)
			usleep(100);
	}
	gate = 0;
	pthread_join(last, NULL);
	let_all_go(t);
}

static void without_room_for_rings(void)
{
	pthread_t t[4];
	take_all_rings(t, false);
	printf("known %d ", atomic_load(&rt.no_more_rings));
	no_room = 0;
	settle();
	one_thread();
	printf("then %d ", atomic_load(&rt.no_more_rings));
	let_all_go(t);
}

static void with_a_thread_that_stays(void)
{
	start(record_and_stay);
	wait_until(&held, 1);
}

/* Until it has a ring. */
static void with_samples(void)
{
	assay_host_start();
	sampled = 1;
	for (bool seen = false; !seen;) {
		assay_host_enter(assay_rt_now());
		assay_host_leave(assay_rt_now(), false);
		usleep(1000);
		for (uint32_t i = 0; i < atomic_load(&rt.file->used); i++)
			seen |= atomic_load(&rt.file->ring[i].state) == ASSAY_RING_LIVE &&
				rt.file->ring[i].tid != assay_rt_tid();
	}
}

static void with_a_child_that_records_nothing(void)
{
	int status;
	record(1);
	pid_t child = fork();
	if (child == 0)
		exit(0);
	waitpid(child, &status, 0);
	printf("child %d ", status);
}

static void *pause_for_ever(void *unused)
{
	(void)unused;
	prctl(PR_SET_NAME, "sleeper");
	held++;
	for (;;)
		pause();
	return NULL;
}

static uint32_t all_threads(uint32_t *tid, uint32_t most)
{
	uint32_t n = 0;
	DIR *d = opendir("/proc/self/task");
	for (struct dirent *e; d && (e = readdir(d)) && n < most;)
		if (e->d_name[0] != '.')
			tid[n++] = (uint32_t)atoi(e->d_name);
	closedir(d);
	return n;
}

static void with_many_names_at_once(void)
{
	enum { SLEEPERS = 300 };
	uint32_t tid[SLEEPERS + 10], n;
	pthread_attr_t small;
	pthread_t t;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 65536);
	for (int i = 0; i < SLEEPERS; i++)
		if (pthread_create(&t, &small, pause_for_ever, NULL))
			abort();
	wait_until(&held, SLEEPERS);
	n = all_threads(tid, SLEEPERS + 10);
	assay_rt_bulk_open();
	for (uint32_t i = 0; i < n; i++)
		assay_rt_name_thread(tid[i]);
	assay_rt_bulk_close();
	record(1);
}

static void spoil(char *data, uint32_t ring_bytes, uint64_t at)
{
	((assay_wire_rec *)(void *)(data + (at & (ring_bytes - 1))))->bytes = 3;
}

static void with_a_stray_write(void)
{
	record(1); /* ring 0 is this thread's */
	settle();
	hold_writer();
	uint64_t at = atomic_load(&rt.file->ring[0].head);
	record(10);
	spoil(atomic_load(&rt.data[0]), rt.conf.ring_bytes, at);
	let_writer_go();
	record(10);
}

static void meta(const char *key)
{
	if (!assay_rt_bulk_open())
		abort();
	assay_rt_meta(key, "there");
	assay_rt_bulk_close();
}

static void with_a_stray_write_into_the_recorders_ring(void)
{
	record(1);
	settle();
	hold_writer();
	uint64_t at = atomic_load(&rt.file->bulk.head);
	meta("spoilt");
	spoil(rt.bulk, ASSAY_RING_BULK, at);
	let_writer_go();
	meta("after");
}

static void launch(const char *name)
{
	assay_wire_api *a = assay_rt_begin(ASSAY_WIRE_API, ASSAY_WIRE_API_LAUNCH);
	if (!a)
		abort();
	assay_wire_rec head = a->rec;
	memset(a, 0, ASSAY_WIRE_API_LAUNCH);
	a->rec = head;
	a->given = ASSAY_WIRE_GIVEN | ASSAY_WIRE_LAUNCHES;
	a->event = (uintptr_t)name;
	assay_rt_commit();
}

/* Pages of names: short ones, one over the end of a page, one too long, one that the end of the
 * memory cuts, none at all; each launched twice. */
static void with_symbols(void)
{
	enum { PAGE = 4096, PAGES = 40, SHORT = 32 };
	char *p = mmap(NULL, (PAGES + 1) * PAGE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	munmap(p + PAGES * PAGE, PAGE);
	for (int i = 0; i < 36 * PAGE / SHORT; i++) /* more than are remembered */
		snprintf(p + i * SHORT, SHORT, "kernel %d", i);
	char *over = p + 37 * PAGE - 3, *endless = p + 37 * PAGE + 100, *cut = p + PAGES * PAGE - 3;
	strcpy(over, "over the end");
	memset(endless, 'x', 2 * PAGE);
	memcpy(cut, "cut", 3);
	const char *odd[] = {over, endless, cut, p + PAGES * PAGE + 10, NULL, p};
	for (int turn = 0; turn < 2; turn++)
		for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
			launch(odd[i]);
	settle();
	for (int i = 0; i < 36 * PAGE / SHORT; i++)
		launch(p + i * SHORT);
	printf("symbols %d ", 36 * PAGE / SHORT);
}

/* Memory that is there and that is not, through a pipe that stays open: each read that failed
 * leaves room for the next. */
static void with_reads(void)
{
	enum { PAGE = 4096, TIMES = 200 };
	static char got[3 * PAGE];
	char *p = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int wrong = 0;
	munmap(p + 2 * PAGE, PAGE);
	assay_py_keep_pipe();
	for (int i = 0; i < TIMES; i++) {
		struct iovec there[] = {{p, 100}, {p + PAGE, PAGE}},
			     here[] = {{got, 100}, {got + 100, PAGE}};
		memset(p, i, 2 * PAGE);
		wrong += assay_py_safely(0, (uintptr_t)p + 2 * PAGE, got, PAGE);
		wrong += assay_py_safely(0, (uintptr_t)p + PAGE, got, 2 * PAGE);
		wrong += assay_py_safely(0, (uintptr_t)p + 2 * PAGE - 8, got, 16);
		wrong += !assay_py_safely(0, (uintptr_t)p, got, 2 * PAGE) ||
			 memcmp(got, p, 2 * PAGE) != 0;
		wrong += !assay_py_gather(0, there, here, 2) || memcmp(got, p, 100 + PAGE) != 0;
		there[1].iov_base = p + 2 * PAGE;
		wrong += assay_py_gather(0, there, here, 2);
		there[0].iov_base = p + 2 * PAGE;
		wrong += assay_py_gather(0, there, here, 2);
	}
	printf("wrong %d ", wrong);
}

/* Files of the program stay its own, and the writer has none of them. */
static void with_its_own_table(void)
{
	char path[64], to[64];
	uint32_t tid[64], n = all_threads(tid, 64);
	int open_here = 0, open_there = 0, null = 0;
	record(1);
	settle();
	for (int fd = 0; fd < 64; fd++)
		open_here += fcntl(fd, F_GETFD) >= 0;
	for (uint32_t i = 0; i < n; i++) {
		char comm[32] = "";
		snprintf(path, sizeof path, "/proc/self/task/%u/comm", tid[i]);
		FILE *f = fopen(path, "r");
		bool writer = f && fgets(comm, sizeof comm, f) && !strcmp(comm, "assay\n");
		if (f)
			fclose(f);
		for (int fd = 0; writer && fd < 256; fd++) {
			snprintf(path, sizeof path, "/proc/self/task/%u/fd/%d", tid[i], fd);
			ssize_t len = readlink(path, to, sizeof to - 1);
			open_there += len >= 0;
			null += fd < 3 && len == 9 && !memcmp(to, "/dev/null", 9);
		}
	}
	printf("here %d there %d null %d ", open_here, open_there, null);
}

static void without_its_own_table(void)
{
	record(10);
	settle();
	for (int fd = 3; fd < 256; fd++)
		close(fd);
	for (int i = 0; i < 20; i++) /* with the numbers that ours had */
		open("/dev/zero", O_RDWR);
	record(10);
	one_thread();
	settle();
}

static void at_exit(void)
{
	record(10); /* refused: the recording has ended */
}

/* However long the sampler takes: it has said so before the recording ends. */
static void finish(void)
{
	ends = 1;
	assay_host_stop();
	wait_until(&lingers, sampled);
}

static const assay_rt_hooks hooks = {.name = "writer", .finish = finish};
static const struct {
	const char *name;
	void (*run)(void);
	int refuse_tables, no_room;
} cases[] = {
	{"nothing", with_a_rest, 0, 0},
	{"pieces", with_pieces, 0, 0},
	{"work at once", with_work_at_once, 0, 0},
	{"full", with_a_full_disk, 0, 0},
	{"full end", with_a_full_disk_at_the_end, 0, 0},
	{"torn", with_a_chunk_that_cannot_be_cut_off, 0, 0},
	{"names only", with_room_for_names_only, 0, 0},
	{"together", with_threads_that_end_together, 0, 0},
	{"no end", with_room_for_all_but_the_end, 0, 0},
	{"comes last", with_a_thread_that_comes_last, 0, 0},
	{"waits", with_a_thread_that_waits, 0, 0},
	{"no room", without_room_for_rings, 0, 0},
	{"stays", with_a_thread_that_stays, 0, 0},
	{"late", NULL, 0, 0},
	{"samples", with_samples, 0, 0},
	{"leaves", NULL, 0, 0},
	{"child", with_a_child_that_records_nothing, 0, 0},
	{"names", with_many_names_at_once, 0, 0},
	{"stray", with_a_stray_write, 0, 0},
	{"stray bulk", with_a_stray_write_into_the_recorders_ring, 0, 0},
	{"symbols", with_symbols, 0, 0},
	{"no room at first", NULL, 0, -1},
	{"no room at all", NULL, 0, -2},
	{"reads", with_reads, 0, 0},
	{"table", with_its_own_table, 0, 0},
	{"table unshared", with_its_own_table, 1, 0},
	{"table shared", without_its_own_table, 2, 0},
};

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "late"))
		atexit(at_exit); /* before the recorder's, so after it */
	for (size_t i = 0; argc > 1 && i < sizeof cases / sizeof *cases; i++) {
		if (strcmp(cases[i].name, argv[1]))
			continue;
		refuse_tables = cases[i].refuse_tables;
		no_room = cases[i].no_room;
		lock_gate = cases[i].run == with_work_at_once;
		for (int fd = 0; fd < 20; fd++)
			open("/dev/null", O_RDONLY);
		if (!assay_rt_start(&hooks))
			return 3;
		record(10);
		if (cases[i].run)
			cases[i].run();
		printf("recorded %ld refused %ld unseen %ld slept %ld\n", done, refused, unseen,
		       slept);
		fflush(stdout);
		if (!strcmp(argv[1], "leaves"))
			assay_rt_leave(), _exit(0);
		return 0;
	}
	return 2;
}
