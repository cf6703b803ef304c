/* Processes that the command started and the recorder cannot follow: their environment was cleaned,
 * they run with other rights, in another root, are linked statically or made for another machine;
 * and those that use a GPU without the recorder in them, for whatever reason. Looked for beside the
 * command, in /proc; what came and went between two looks is not seen. */
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/map.h"
#include "base/owner.h"
#include "base/test.h"
#include "cmd/record.h"
#include "cmd/say.h"
#include "wire/clock.h"

enum {
	LOOK_NS = 20000000,
	GPU_LOOK_MAX_NS = 320000000, /* between two looks for a GPU */
	SHARE = 50 /* of the time, one part is ours */,
	TEXT_MAX = 1 << 20,
	DEPTH_MAX = 64,  /* of processes and their children */
	SEEN_MANY = 1024 /* those that ended are forgotten when there are more */
};

/* A process as it was looked at last: exec makes another one of it. */
typedef struct process {
	pid_t pid, parent; /* 0: nobody's child that we know */
	uint64_t started;  /* in ticks since boot: numbers are used again */
	dev_t device;
	ino_t program;
	bool settled;      /* nothing about it will change before the next exec */
	bool bare;         /* its environment was empty at the last look */
	bool gpu;          /* it has one, and that is told */
	uint32_t row;      /* in found, ASSAY_NO_ROW none */
	uint64_t turn;     /* of the last look at it */
	int64_t due, wait; /* when to look for a GPU again, and how long after that */
} process;

struct record_children {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t stop;
	_Atomic int stopping;
	pid_t command;
	uint64_t turn;
	struct stat own;  /* program of assay itself: the command before its exec */
	struct stat root; /* directory */
	assay_vec(process) seen;
	assay_map by_pid; /* pid -> row of seen */
	assay_vec(char) text;
	assay_vec(assay_unrecorded) found;
	assay_err err; /* why it ended before it was stopped, if it did */
};

/* ---- /proc ---- */

static bool read_text(record_children *c, pid_t pid, const char *file)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, file);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	c->text.n = 0;
	if (fd < 0)
		return false;
	for (ssize_t n = 1; n > 0 && c->text.n < TEXT_MAX;) {
		char piece[4096];
		n = read(fd, piece, sizeof piece);
		for (ssize_t i = 0; i < n; i++)
			*assay_push(&c->text) = piece[i];
	}
	close(fd);
	*assay_push(&c->text) = 0;
	c->text.n--;
	return true;
}

static bool stat_of(pid_t pid, const char *file, struct stat *st)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, file);
	return stat(path, st) == 0;
}

/* Fields 22 and 23 of stat, behind the name, which may hold anything. One that has ended and waits
 * for its parent has no memory, and its files are root's. */
static uint64_t start_of(record_children *c, pid_t pid, uint64_t *memory)
{
	char *p = read_text(c, pid, "stat") ? strrchr(c->text.p, ')') : NULL;
	for (int field = 2; p && field < 22; field++)
		p = strchr(p + 1, ' ');
	uint64_t start = p ? strtoull(p, &p, 10) : 0;
	*memory = p ? strtoull(p, NULL, 10) : 0;
	return start;
}

static bool names_us(record_children *c)
{
	for (size_t at = 0; at < c->text.n; at += strlen(c->text.p + at) + 1)
		if (!strncmp(c->text.p + at, "ASSAY_RECORD=", 13))
			return true;
	return false;
}

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* ---- why it cannot be recorded ---- */

/* Is the program made for this machine, and with a loader that finds libraries? What is no ELF file
 * is none of our business. */
static assay_unrecorded_why why_of_elf(int fd)
{
#if defined(__aarch64__)
	enum { MACHINE = EM_AARCH64 };
#else
	enum { MACHINE = EM_X86_64 };
#endif
	Elf64_Ehdr h = {0};
	if (pread(fd, &h, sizeof h, 0) != (ssize_t)sizeof h || memcmp(h.e_ident, ELFMAG, SELFMAG))
		return ASSAY_UNRECORDED_OK;
	if (h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_machine != MACHINE)
		return ASSAY_UNRECORDED_MACHINE;
	for (int i = 0; i < h.e_phnum; i++) {
		Elf64_Phdr p;
		off_t at = (off_t)(h.e_phoff + (uint64_t)i * h.e_phentsize);
		if (pread(fd, &p, sizeof p, at) == (ssize_t)sizeof p && p.p_type == PT_INTERP)
			return ASSAY_UNRECORDED_OK;
	}
	return ASSAY_UNRECORDED_STATIC;
}

static assay_unrecorded_why why_of_program(pid_t pid)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	assay_unrecorded_why why = fd >= 0 ? why_of_elf(fd) : ASSAY_UNRECORDED_OK;
	if (fd >= 0)
		close(fd);
	return why;
}

/* False: it is on its way into another program, look again. */
static bool why_of(record_children *c, process *p, assay_unrecorded_why *why)
{
	struct stat root;
	*why = ASSAY_UNRECORDED_OK;
	if (!read_text(c, p->pid, "environ")) {
		*why = errno == EACCES || errno == EPERM ? ASSAY_UNRECORDED_RIGHTS
							 : ASSAY_UNRECORDED_OK;
		return true;
	}
	bool bare = !c->text.n && !p->bare;
	p->bare = !c->text.n;
	if (bare) /* being filled, or really empty: the next look tells */
		return false;
	if (!names_us(c))
		*why = ASSAY_UNRECORDED_ENVIRONMENT;
	else if (stat_of(p->pid, "root", &root) && !same_file(&root, &c->root))
		*why = ASSAY_UNRECORDED_ROOT;
	else
		*why = why_of_program(p->pid);
	return true;
}

/* ---- what it does ---- */

static bool maps_any(const record_children *c, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strstr(c->text.p, names[i]))
			return true;
	return false;
}

/* A vendor's library in its memory. */
static bool has_library(record_children *c, pid_t pid)
{
	static const char *const libraries[] = {"/libcuda.so", "/libamdhip64.so",
						"/libhsa-runtime64.so"};
	return read_text(c, pid, "maps") && maps_any(c, libraries, ASSAY_COUNT_OF(libraries));
}

/* A device of those that only a program opens that computes, wherever its root is: monitors have
 * others. */
static bool has_device(pid_t pid)
{
	static const char *const devices[] = {"/dev/nvidia-uvm", "/dev/kfd", "/dev/dxg"};
	char path[64], to[PATH_MAX];
	snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
	DIR *d = opendir(path);
	bool found = false;
	for (struct dirent *e; d && !found && (e = readdir(d));) {
		ssize_t n = readlinkat(dirfd(d), e->d_name, to, sizeof to);
		for (size_t i = 0; n > 0 && i < ASSAY_COUNT_OF(devices); i++)
			found = found || assay_str_ends((assay_str){to, (size_t)n}, devices[i]);
	}
	if (d)
		closedir(d);
	return found;
}

/* It may be another user, who cannot write into the run. */
static bool is_anothers(pid_t pid)
{
	struct stat st;
	return stat_of(pid, "", &st) && st.st_uid != geteuid();
}

/* It computes on a GPU, and there is no recorder in it: its environment was changed inside it, or
 * another tool's library is in our place; or there is one without a ring. */
static assay_unrecorded_why why_unseen(record_children *c, pid_t pid)
{
	static const char *const runtimes[] = {"/libcuda.so", "/libamdhip64.so"},
				 *const ours[] = {"/libassay_"}, *const rings[] = {".ring"};
	if (!has_device(pid) || !read_text(c, pid, "maps") ||
	    !maps_any(c, runtimes, ASSAY_COUNT_OF(runtimes)))
		return ASSAY_UNRECORDED_OK;
	if (!maps_any(c, ours, 1))
		return ASSAY_UNRECORDED_ABSENT;
	return !maps_any(c, rings, 1) && is_anothers(pid) ? ASSAY_UNRECORDED_RIGHTS
							  : ASSAY_UNRECORDED_OK;
}

/* The process that it forked from, when both run the same program; NULL none. */
static process *origin_of(record_children *c, const process *p)
{
	uint32_t at = assay_map_get(&c->by_pid, (uint64_t)p->parent);
	process *from = at == ASSAY_MAP_ABSENT ? NULL : &c->seen.p[at];
	return from && from->device == p->device && from->program == p->program ? from : NULL;
}

/* What forked from a process that was found is told with it. */
static void add_found(record_children *c, process *p, assay_unrecorded_why why)
{
	const process *from = origin_of(c, p);
	p->row = from ? from->row : ASSAY_NO_ROW;
	if (p->row != ASSAY_NO_ROW) {
		c->found.p[p->row].forked++;
		return;
	}
	assay_unrecorded found = {
		.pid = p->pid,
		.why = why,
		.found = assay_clock(CLOCK_REALTIME),
		.gpu = why == ASSAY_UNRECORDED_RIGHTS ? ASSAY_GPU_UNKNOWN : ASSAY_GPU_NONE,
	};
	if (read_text(c, p->pid, "comm"))
		snprintf(found.name, sizeof found.name, "%.*s", (int)strcspn(c->text.p, "\n"),
			 c->text.p);
	p->row = (uint32_t)c->found.n;
	*assay_push(&c->found) = found;
}

static void settle(record_children *c, process *p)
{
	assay_unrecorded_why why;
	if (p->settled || !why_of(c, p, &why))
		return;
	p->settled = true;
	if (why != ASSAY_UNRECORDED_OK)
		add_found(c, p, why);
}

/* Its origins first, though it may be due before them. */
static void find_unseen(record_children *c, process *p, int depth)
{
	assay_unrecorded_why why =
		p->settled && p->row == ASSAY_NO_ROW ? why_unseen(c, p->pid) : ASSAY_UNRECORDED_OK;
	if (why == ASSAY_UNRECORDED_OK)
		return;
	process *from = depth ? origin_of(c, p) : NULL;
	if (from)
		find_unseen(c, from, depth - 1);
	add_found(c, p, why);
}

/* Less and less often, as long as it has none. */
static void look_for_gpu(record_children *c, process *p)
{
	int64_t now = assay_clock(CLOCK_BOOTTIME);
	if (!p->settled || p->gpu || now < p->due)
		return;
	p->wait = p->wait ? p->wait * 2 : LOOK_NS;
	p->wait = p->wait < GPU_LOOK_MAX_NS ? p->wait : GPU_LOOK_MAX_NS;
	p->due = now + p->wait;
	find_unseen(c, p, DEPTH_MAX);
	if (p->row == ASSAY_NO_ROW)
		return;
	p->gpu = has_library(c, p->pid) || has_device(p->pid);
	if (p->gpu)
		c->found.p[p->row].gpu = ASSAY_GPU_USED;
}

static process *seen_as(record_children *c, pid_t pid)
{
	uint32_t *slot = assay_map_at(&c->by_pid, (uint64_t)pid);
	if (*slot == ASSAY_MAP_ABSENT) {
		*slot = (uint32_t)c->seen.n;
		*assay_push(&c->seen) = (process){.pid = pid, .row = ASSAY_NO_ROW};
	}
	return &c->seen.p[*slot];
}

static void look_at(record_children *c, pid_t pid, pid_t parent)
{
	struct stat program = {0};
	bool known = stat_of(pid, "exe", &program);
	if (known && same_file(&program, &c->own))
		return;
	uint64_t memory, started = start_of(c, pid, &memory);
	process *p = seen_as(c, pid);
	p->turn = c->turn;
	if (!memory)
		return;
	if (p->started != started || p->device != program.st_dev || p->program != program.st_ino)
		*p = (process){.pid = pid,
			       .started = started,
			       .device = program.st_dev,
			       .program = program.st_ino,
			       .turn = c->turn,
			       .row = ASSAY_NO_ROW};
	p->parent = parent ? parent : p->parent;
	settle(c, p);
	look_for_gpu(c, p);
}

/* ---- all of them ---- */

static void look_below(record_children *c, pid_t pid, pid_t parent, int depth)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
	DIR *d = depth < DEPTH_MAX ? opendir(path) : NULL;
	assay_vec(pid_t) children = {0};
	assay_undo undo = {0};
	if (d)
		assay_undo_dir(&undo, d);
	for (struct dirent *e; d && (e = readdir(d));) {
		snprintf(path, sizeof path, "task/%.20s/children", e->d_name);
		if (e->d_name[0] == '.' || !read_text(c, pid, path))
			continue;
		char *end;
		for (long child = strtol(c->text.p, &end, 10); child > 0;
		     child = strtol(end, &end, 10))
			*assay_push(&children) = (pid_t)child;
	}
	assay_undo_drop(&undo);
	if (d)
		closedir(d);
	look_at(c, pid, parent);
	for (size_t i = 0; i < children.n; i++)
		look_below(c, children.p[i], pid, depth + 1);
	assay_vec_free(&children);
}

static void forget_the_ended(record_children *c)
{
	size_t kept = 0;
	assay_map_free(&c->by_pid);
	for (size_t i = 0; i < c->seen.n; i++)
		if (c->seen.p[i].turn == c->turn) {
			*assay_map_at(&c->by_pid, (uint64_t)c->seen.p[i].pid) = (uint32_t)kept;
			c->seen.p[kept++] = c->seen.p[i];
		}
	c->seen.n = kept;
}

/* Who was met before is still looked at when its parent has ended and it is nobody's child that we
 * know. */
static void look_at_all(void *arg)
{
	record_children *c = arg;
	c->turn++;
	look_below(c, c->command, 0, 0);
	for (size_t i = 0; i < c->seen.n; i++) {
		const process *p = &c->seen.p[i];
		uint64_t memory;
		if (p->turn + 1 == c->turn && p->started &&
		    start_of(c, p->pid, &memory) == p->started)
			look_below(c, p->pid, 0, 0);
	}
	if (c->seen.n > SEEN_MANY)
		forget_the_ended(c);
}

static void *watch(void *arg)
{
	record_children *c = arg;
	prctl(PR_SET_NAME, "assay-children");
	while (!atomic_load(&c->stopping)) {
		int64_t before = assay_clock(CLOCK_MONOTONIC);
		if (!assay_try(look_at_all, c, &c->err))
			break;
		int64_t ns = (assay_clock(CLOCK_MONOTONIC) - before) * SHARE;
		ns = ns > LOOK_NS ? ns : LOOK_NS;
		pthread_mutex_lock(&c->lock);
		struct timespec until = assay_timespec_of(before + ns);
		while (!c->stopping && pthread_cond_timedwait(&c->stop, &c->lock, &until) == 0)
			;
		pthread_mutex_unlock(&c->lock);
	}
	return NULL;
}

record_children *assay_children_start(assay_arena *a, pid_t command)
{
	record_children *c = assay_alloc(a, sizeof *c);
	*c = (record_children){.command = command, .lock = PTHREAD_MUTEX_INITIALIZER};
	assay_cond_init(&c->stop);
	if (stat("/proc/self/exe", &c->own) < 0 || stat("/proc/self/root", &c->root) < 0 ||
	    pthread_create(&c->thread, NULL, watch, c))
		return NULL;
	return c;
}

/* Is there a trace of it that was written since it was found? A title that a process gives itself
 * overwrites its environment, a change of root or rights may come after its recording began. A
 * trace of what it was before an exec is not written any more. */
static bool is_recorded(const char *dir, const assay_unrecorded *child)
{
	DIR *d = opendir(dir);
	char number[16];
	bool found = false;
	snprintf(number, sizeof number, "-%d.", (int)child->pid);
	for (struct dirent *e; d && !found && (e = readdir(d));) {
		struct stat st;
		const char *at = strrchr(e->d_name, '-');
		found = at && !strncmp(at, number, strlen(number)) &&
			assay_str_ends(assay_str_of(e->d_name), ".asy") &&
			fstatat(dirfd(d), e->d_name, &st, 0) == 0 &&
			assay_timespec_ns(st.st_mtim) >= child->found;
	}
	if (d)
		closedir(d);
	return found;
}

size_t assay_children_stop(record_children *c, const char *dir, const assay_unrecorded **out)
{
	pthread_mutex_lock(&c->lock);
	atomic_store(&c->stopping, 1);
	pthread_cond_signal(&c->stop);
	pthread_mutex_unlock(&c->lock);
	pthread_join(c->thread, NULL);
	if (c->err.code != ASSAY_OK)
		assay_say(
			"assay: child processes were not watched to the end, so that some may be neither recorded nor named: %s",
			c->err.text);
	assay_vec_free(&c->seen);
	assay_vec_free(&c->text);
	assay_map_free(&c->by_pid);
	size_t kept = 0;
	for (size_t i = 0; i < c->found.n; i++)
		if (!is_recorded(dir, &c->found.p[i]))
			c->found.p[kept++] = c->found.p[i];
	*out = c->found.p;
	return kept;
}

/* The process whose capture that would be, if it is empty, and why it is; 0: none. */
static pid_t empty_capture(int dir, const char *name, assay_unrecorded_why *why)
{
	struct stat st;
	const char *at = strrchr(name, '-');
	bool ours = at && !strncmp(name, "trace-", 6) && assay_str_ends(assay_str_of(name), ".asy");
	if (!ours || fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode) ||
	    st.st_size)
		return 0;
	*why = st.st_mode & S_IWUSR ? ASSAY_UNRECORDED_START : ASSAY_UNRECORDED_ROOM;
	return (pid_t)strtol(at + 1, NULL, 10);
}

/* It may have tried more than once. */
static void add_not_begun(recording *r, pid_t pid, assay_unrecorded_why why)
{
	size_t n = r->end.unrecorded_n;
	for (size_t i = 0; i < n; i++)
		if (r->end.unrecorded[i].pid == pid)
			return;
	assay_unrecorded *all = assay_alloc(&r->arena, (n + 1) * sizeof *all);
	if (n)
		memcpy(all, r->end.unrecorded, n * sizeof *all);
	all[n] = (assay_unrecorded){.pid = pid,
				    .why = why,
				    .found = assay_clock(CLOCK_REALTIME),
				    .gpu = ASSAY_GPU_USED,
				    .name = "unknown"};
	r->end.unrecorded = all;
	r->end.unrecorded_n = n + 1;
}

/* Who has a ring goes on recording, or what it holds can still be recovered into the capture. */
static bool has_ring(const recording *r, const char *capture)
{
	const char *const places[] = {r->rings, r->dir};
	int stem = (int)(strlen(capture) - strlen(".asy"));
	struct stat st;
	bool found = false;
	for (size_t i = 0; i < ASSAY_COUNT_OF(places); i++) {
		char path[PATH_MAX];
		int n = snprintf(path, sizeof path, "%s/%.*s.ring", places[i] ? places[i] : "",
				 stem, capture);
		found = found || (n < (int)sizeof path && lstat(path, &st) == 0);
	}
	return found;
}

void assay_children_not_begun(recording *r)
{
	assay_unrecorded_why why;
	DIR *d = opendir(r->dir);
	for (struct dirent *e; d && (e = readdir(d));) {
		pid_t pid = empty_capture(dirfd(d), e->d_name, &why);
		if (pid > 0 && !has_ring(r, e->d_name) && unlinkat(dirfd(d), e->d_name, 0) == 0)
			add_not_begun(r, pid, why);
	}
	if (d)
		closedir(d);
}

TEST(programs_for_another_machine_or_without_a_loader_are_told)
{
	Elf64_Ehdr h = {.e_machine = EM_386};
	int own = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	FILE *f = tmpfile();
	CHECK(own >= 0 && f);
	CHECK_EQ(why_of_elf(own), ASSAY_UNRECORDED_OK);
	CHECK_EQ(why_of_elf(fileno(f)), ASSAY_UNRECORDED_OK);
	CHECK(pread(own, &h, sizeof h, 0) == (ssize_t)sizeof h);
	h.e_phnum = 0;
	CHECK(pwrite(fileno(f), &h, sizeof h, 0) == (ssize_t)sizeof h);
	CHECK_EQ(why_of_elf(fileno(f)), ASSAY_UNRECORDED_STATIC);
	h.e_machine = EM_386;
	CHECK(pwrite(fileno(f), &h, sizeof h, 0) == (ssize_t)sizeof h);
	CHECK_EQ(why_of_elf(fileno(f)), ASSAY_UNRECORDED_MACHINE);
	fclose(f);
	close(own);
	return 0;
}
