/* Orders to the processes that are recorded: `assay ctl` asks through a socket in the run
 * directory, a thread here writes the order into the page that all processes share (wire/control.h)
 * and waits until each has said in its ring file that it obeyed. A request is one line of words,
 * the answer one line of JSON; docs/record.md has both. */
#define _GNU_SOURCE /* struct ucred */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/input.h"
#include "base/json.h"
#include "base/jsonw.h"
#include "base/owner.h"
#include "base/test.h"
#include "cmd/record.h"
#include "wire/clock.h"
#include "wire/control.h"
#include "wire/ring.h"

enum {
	OBEY_MS = 5000,
	TALK_MS = 10000, /* for a whole line */
	SEND_MS = 1000,
	LINE = 1024,
	CLIENTS = 16, /* at once; others wait */
};

/* Somebody who asks. */
typedef struct client {
	int fd;
	int64_t until; /* ms; then the next line is there */
	size_t n;
	char line[LINE]; /* n bytes, perhaps of several requests */
} client;

struct record_control {
	const recording *r;
	assay_arena arena;
	assay_control *page;
	const char *page_path, *socket_path;
	const char *link; /* to the socket, from the run directory; NULL: it is there itself */
	int listener;
	int bell[2]; /* a byte: write out what is kept; closed to end the thread */
	pthread_t thread;
	bool started;
	assay_ring_file *head; /* of one ring file after the other, without its rings */
	client client[CLIENTS];
	size_t clients;
};

/* ---- the processes ---- */

/* What stands before the rings in a ring file, as its process left it at this moment. */
typedef struct process {
	uint32_t pid, obeyed;
	bool records;
	int64_t step; /* the last that began, -1 unknown */
	uint64_t written, dropped, not_kept;
} process;
typedef assay_vec(process) processes;

/* Nothing is believed but numbers. */
static bool read_process(assay_ring_file *f, int dir, const char *name, process *p)
{
	enum { HEAD = offsetof(assay_ring_file, bulk) };
	int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	bool ok = fd >= 0 && assay_ring_alive(fd) && pread(fd, f, HEAD, 0) == (ssize_t)HEAD;
	if (fd >= 0)
		close(fd);
	if (!ok || f->magic != ASSAY_RING_MAGIC)
		return false;
	*p = (process){.pid = f->pid,
		       .obeyed = atomic_load(&f->obeyed),
		       .records = atomic_load(&f->records) == 1,
		       .step = atomic_load(&f->step) - 1};
	for (int kind = 0; kind < ASSAY_RING_KINDS; kind++) {
		p->written += atomic_load(&f->written[kind]);
		p->not_kept += atomic_load(&f->dropped[ASSAY_WIRE_NOT_KEPT][kind]);
		for (int cause = 0; cause < ASSAY_WIRE_NOT_KEPT; cause++)
			p->dropped += atomic_load(&f->dropped[cause][kind]);
	}
	return true;
}

static void list_in(const record_control *c, const char *dir, processes *out)
{
	DIR *d = opendir(dir);
	assay_undo undo = {0};
	if (d)
		assay_undo_dir(&undo, d);
	for (struct dirent *e; d && (e = readdir(d));) {
		const char *dot = strrchr(e->d_name, '.');
		process p;
		if (dot && !strcmp(dot, ".ring") && read_process(c->head, dirfd(d), e->d_name, &p))
			*assay_push(out) = p;
	}
	assay_undo_drop(&undo);
	if (d)
		closedir(d);
}

static void list_processes(const record_control *c, processes *out)
{
	out->n = 0;
	list_in(c, c->r->rings, out);
	if (strcmp(c->r->rings, c->r->dir))
		list_in(c, c->r->dir, out);
}

static bool obeyed(const process *p, uint32_t order)
{
	return (int32_t)(p->obeyed - order) >= 0;
}

static bool all_obeyed(const processes *all, uint32_t order)
{
	for (size_t i = 0; i < all->n; i++)
		if (!obeyed(&all->p[i], order))
			return false;
	return true;
}

static void give_order(record_control *c, processes *all)
{
	const struct timespec pause = {0, 500000};
	uint32_t order = atomic_fetch_add(&c->page->order, 1) + 1;
	int64_t end = assay_clock(CLOCK_BOOTTIME) + OBEY_MS * 1000000ll;
	assay_control_wake(c->page);
	for (list_processes(c, all); !all_obeyed(all, order) && assay_clock(CLOCK_BOOTTIME) < end;
	     list_processes(c, all))
		nanosleep(&pause, NULL);
}

/* ---- requests ---- */

static bool any_records(const processes *all)
{
	for (size_t i = 0; i < all->n; i++)
		if (all->p[i].records)
			return true;
	return false;
}

static void put_answer(assay_jsonw *w, const record_control *c, const processes *all)
{
	uint32_t order = atomic_load(&c->page->order);
	int64_t next, at = assay_clock(CLOCK_BOOTTIME), until = atomic_load(&c->page->until);
	assay_jsonw_bool(w, "ok", true);
	assay_jsonw_z(w, "run", c->r->dir);
	int64_t last = atomic_load(&c->page->steps_last);
	bool on = last ? any_records(all) : assay_control_wants(c->page, at, &next);
	assay_jsonw_bool(w, "recording", on);
	if (last) {
		assay_jsonw_i64(w, "first_step", atomic_load(&c->page->steps_first));
		assay_jsonw_i64(w, "last_step", last);
	}
	if (until > at && !last)
		assay_jsonw_i64(w, "left_ns", until - at);
	assay_jsonw_open(w, "processes", '[');
	for (size_t i = 0; i < all->n; i++) {
		const process *p = &all->p[i];
		assay_jsonw_open(w, NULL, '{');
		assay_jsonw_u64(w, "pid", p->pid);
		assay_jsonw_bool(w, "recording", p->records);
		assay_jsonw_bool(w, "obeyed", obeyed(p, order));
		if (p->step >= 0)
			assay_jsonw_i64(w, "step", p->step);
		assay_jsonw_u64(w, "records", p->written);
		assay_jsonw_u64(w, "lost", p->dropped);
		if (c->r->keep.bytes)
			assay_jsonw_u64(w, "not_kept", p->not_kept);
		assay_jsonw_close(w, '}');
	}
	assay_jsonw_close(w, ']');
}

bool assay_step_span(const char *text, int64_t *first, int64_t *last)
{
	assay_str rest = assay_str_of(text);
	if (!assay_str_starts(rest, "steps "))
		return false;
	rest = (assay_str){rest.p + 6, rest.n - 6};
	assay_str from = assay_str_cut(&rest, '-');
	return assay_str_i64(from, first) && assay_str_i64(rest, last) && *first >= 0 &&
	       *last > 0 && *first <= *last;
}

static void order_steps(record_control *c, int64_t first, int64_t last)
{
	atomic_store(&c->page->steps_first, first);
	atomic_store(&c->page->steps_last, last);
	atomic_fetch_add(&c->page->steps_orders, 1);
}

/* Nothing, a time in ns, or "steps N-M". */
static bool do_start(record_control *c, const char *rest)
{
	int64_t ns = 0, first, last;
	if (assay_step_span(rest, &first, &last)) {
		order_steps(c, first, last);
		return true;
	}
	if (*rest && (!assay_str_i64(assay_str_of(rest), &ns) || ns <= 0))
		return false;
	int64_t now = assay_clock(CLOCK_BOOTTIME);
	order_steps(c, 0, 0);
	atomic_store(&c->page->from, 0);
	atomic_store(&c->page->until, !ns ? 0 : ns < INT64_MAX - now ? now + ns : INT64_MAX);
	atomic_store(&c->page->on, 1);
	return true;
}

static bool do_stop(record_control *c, const char *rest)
{
	if (*rest)
		return false;
	order_steps(c, 0, 0);
	atomic_store(&c->page->on, 0);
	return true;
}

static bool do_mark(record_control *c, const char *rest)
{
	size_t n = strlen(rest);
	if (!n || n >= sizeof c->page->mark_name)
		return false;
	atomic_store(&c->page->mark_time, assay_clock(CLOCK_BOOTTIME));
	memcpy(c->page->mark_name, rest, n + 1);
	atomic_fetch_add(&c->page->marks, 1);
	return true;
}

static bool do_flush(record_control *c, const char *rest)
{
	if (*rest)
		return false;
	atomic_fetch_add(&c->page->flushes, 1);
	return true;
}

static const struct {
	const char *word;
	/* false: it makes no sense, and nothing was changed; NULL: only look */
	bool (*order)(record_control *c, const char *rest);
} requests[] = {
	{"start", do_start}, {"stop", do_stop}, {"mark", do_mark},
	{"flush", do_flush}, {"status", NULL},
};

/* The line is changed. */
static void answer(record_control *c, char *line, assay_jsonw *w)
{
	processes all = {0};
	char *rest = line + strcspn(line, " ");
	rest += *rest ? (*rest = 0, 1) : 0;
	size_t i = 0;
	while (i < ASSAY_COUNT_OF(requests) && strcmp(line, requests[i].word) != 0)
		i++;
	assay_jsonw_open(w, NULL, '{');
	if (i == ASSAY_COUNT_OF(requests) || (requests[i].order && !requests[i].order(c, rest))) {
		assay_jsonw_bool(w, "ok", false);
		assay_jsonw_z(
			w, "error",
			"no such order: start [NS|steps N-M], stop, mark NAME, flush, status");
	} else {
		if (requests[i].order)
			give_order(c, &all);
		else
			list_processes(c, &all);
		put_answer(w, c, &all);
	}
	assay_jsonw_close(w, '}');
	assay_vec_free(&all);
}

/* The user, or root. */
static bool may_ask(int fd)
{
	struct ucred peer;
	socklen_t n = sizeof peer;
	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) == 0 &&
	       (peer.uid == geteuid() || peer.uid == 0);
}

static int64_t now_ms(void)
{
	return assay_clock(CLOCK_BOOTTIME) / 1000000;
}

static int ms_until(int64_t end)
{
	int64_t left = end - now_ms();
	return left > 0 ? (int)left : 0;
}

/* Who does not read what was asked for holds up the others for so long, once. */
static bool send_all(int fd, assay_str text)
{
	int64_t end = now_ms() + SEND_MS;
	while (text.n) {
		struct pollfd room = {fd, POLLOUT, 0};
		ssize_t sent = send(fd, text.p, text.n, MSG_NOSIGNAL);
		if (sent > 0)
			text = (assay_str){text.p + sent, text.n - (size_t)sent};
		else if (errno != EAGAIN || poll(&room, 1, ms_until(end)) <= 0)
			return false;
	}
	return true;
}

typedef struct talk {
	record_control *c;
	client *who;
	bool heard; /* and answered */
} talk;

static void answer_one(void *arg)
{
	talk *t = arg;
	assay_jsonw w = {.compact = true};
	answer(t->c, t->who->line, &w);
	t->heard = send_all(t->who->fd, assay_jsonw_text(&w)) &&
		   send_all(t->who->fd, assay_str_of("\n"));
	assay_jsonw_free(&w);
}

static char *line_end(client *who)
{
	return memchr(who->line, '\n', who->n);
}

/* One request at a time, so that nobody who asks much keeps others from asking. False: the client
 * has gone, talks nonsense, or there is no memory for its answer. */
static bool serve(record_control *c, client *who)
{
	if (!line_end(who)) {
		ssize_t got = recv(who->fd, who->line + who->n, LINE - who->n, 0);
		if (got <= 0)
			return got < 0 && errno == EAGAIN;
		who->n += (size_t)got;
	}
	char *end = line_end(who);
	if (!end)
		return who->n < LINE;
	talk t = {c, who, false};
	*end = 0;
	assay_try(answer_one, &t, NULL);
	who->n -= (size_t)(end + 1 - who->line);
	memmove(who->line, end + 1, who->n);
	who->until = now_ms() + TALK_MS;
	return t.heard;
}

static void greet(record_control *c)
{
	const struct timespec pause = {0, 10000000}; /* no descriptor is left: not at once again */
	int fd = accept4(c->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0)
		nanosleep(&pause, NULL);
	else if (may_ask(fd))
		c->client[c->clients++] = (client){.fd = fd, .until = now_ms() + TALK_MS};
	else
		close(fd);
}

static void part_from(record_control *c, size_t i)
{
	close(c->client[i].fd);
	c->client[i] = c->client[--c->clients];
}

static void tell_all(void *arg)
{
	processes all = {0};
	give_order(arg, &all);
	assay_vec_free(&all);
}

/* A byte for each signal; false: the bell is closed. */
static bool flush_for_signal(record_control *c)
{
	char signals[64];
	if (read(c->bell[0], signals, sizeof signals) <= 0)
		return false;
	atomic_fetch_add(&c->page->flushes, 1);
	assay_try(tell_all, c, NULL);
	return true;
}

/* Until a signal, a client or somebody's time is there; of all clients, `wait` says which. */
static bool wait_for_any(record_control *c, struct pollfd wait[2 + CLIENTS])
{
	int ms = -1;
	wait[0] = (struct pollfd){c->bell[0], POLLIN, 0};
	wait[1] = (struct pollfd){c->clients < CLIENTS ? c->listener : -1, POLLIN, 0};
	for (size_t i = 0; i < c->clients; i++) {
		client *who = &c->client[i];
		int left = line_end(who) ? 0 : ms_until(who->until);
		wait[2 + i] = (struct pollfd){who->fd, POLLIN, 0};
		ms = ms < 0 || left < ms ? left : ms;
	}
	while (poll(wait, 2 + c->clients, ms) < 0)
		if (errno != EINTR)
			return false;
	return true;
}

static void *serve_all(void *arg)
{
	record_control *c = arg;
	struct pollfd wait[2 + CLIENTS];
	prctl(PR_SET_NAME, "assay-control");
	while (wait_for_any(c, wait)) {
		if (wait[0].revents && !flush_for_signal(c))
			break;
		for (size_t i = c->clients; i-- > 0;) {
			client *who = &c->client[i];
			if (wait[2 + i].revents || line_end(who) ? !serve(c, who)
								 : !ms_until(who->until))
				part_from(c, i);
		}
		if (wait[1].revents)
			greet(c);
	}
	while (c->clients)
		part_from(c, c->clients - 1);
	return NULL;
}

/* ---- life ---- */

static bool make_page(record_control *c, const record_args *a, assay_err *err)
{
	c->page_path = assay_printf(&c->arena, "%s/" ASSAY_CONTROL_PAGE, c->r->rings);
	int fd = open(c->page_path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	void *p =
		fd >= 0 && posix_fallocate(fd, 0, ASSAY_CONTROL_BYTES) == 0
			? mmap(NULL, ASSAY_CONTROL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
			: MAP_FAILED;
	if (fd >= 0)
		close(fd);
	if (p == MAP_FAILED)
		return assay_fail(err, ASSAY_IO, 0, "cannot make %s: %s", c->page_path,
				  strerror(errno));
	c->page = p;
	atomic_store(&c->page->on, !a->paused);
	atomic_store(&c->page->from, a->delay ? assay_clock(CLOCK_BOOTTIME) + a->delay : 0);
	atomic_store(&c->page->until,
		     a->duration ? assay_clock(CLOCK_BOOTTIME) + a->delay + a->duration : 0);
	c->page->magic = ASSAY_CONTROL_MAGIC;
	return true;
}

/* A name in a folder, however long its path: the address of a socket holds 107 bytes. */
static bool bind_in(record_control *c, const char *path)
{
	char folder[PATH_MAX], name[PATH_MAX];
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	snprintf(folder, sizeof folder, "%s", path);
	snprintf(name, sizeof name, "%s", path);
	int dir = open(dirname(folder), O_PATH | O_DIRECTORY | O_CLOEXEC);
	c->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int n = snprintf(at.sun_path, sizeof at.sun_path, "/proc/self/fd/%d/%s", dir,
			 basename(name));
	bool ok = dir >= 0 && c->listener >= 0 && n < (int)sizeof at.sun_path &&
		  fchmod(c->listener, 0600) == 0 &&
		  bind(c->listener, (struct sockaddr *)&at, sizeof at) == 0;
	ok = ok && listen(c->listener, CLIENTS) == 0;
	int why = errno;
	if (dir >= 0)
		close(dir);
	if (!ok && c->listener >= 0)
		close(c->listener);
	c->listener = ok ? c->listener : -1;
	c->socket_path = ok ? path : NULL;
	errno = why;
	return ok;
}

/* In the run directory, or where that cannot hold one or FILE says so: then a link leads there. */
static bool make_socket(record_control *c, const char *file, assay_err *err)
{
	char folder[PATH_MAX], whole[PATH_MAX];
	const char *here = assay_printf(&c->arena, "%s/" ASSAY_RECORD_CONTROL, c->r->dir);
	if (!file && bind_in(c, here))
		return true;
	const char *there = file;
	if (!file)
		there = assay_printf(&c->arena, "%s/" ASSAY_RECORD_CONTROL, c->r->rings);
	if (!bind_in(c, there))
		return assay_fail(err, ASSAY_IO, 0, "cannot make the socket %s: %s", there,
				  strerror(errno));
	snprintf(folder, sizeof folder, "%s", there);
	if (realpath(dirname(folder), whole) &&
	    symlink(assay_printf(&c->arena, "%s/%s", whole, assay_file_name(there)), here) == 0)
		c->link = here;
	return true;
}

static bool start_serving(record_control *c)
{
	sigset_t all, old;
	if (pipe2(c->bell, O_CLOEXEC | O_NONBLOCK) < 0)
		return false;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	c->started = pthread_create(&c->thread, NULL, serve_all, c) == 0;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return c->started;
}

record_control *assay_record_control(recording *r, const record_args *a, assay_err *err)
{
	record_control *c = assay_alloc(&r->arena, sizeof *c);
	*c = (record_control){.r = r, .listener = -1, .bell = {-1, -1}};
	c->head = assay_alloc(&c->arena, sizeof *c->head);
	if (make_page(c, a, err) && make_socket(c, a->control, err)) {
		if (start_serving(c))
			return c;
		assay_fail(err, ASSAY_IO, 0, "cannot start a thread: %s", strerror(errno));
	}
	assay_record_control_end(c);
	return NULL;
}

int assay_record_control_bell(const record_control *c)
{
	return c ? c->bell[1] : -1;
}

void assay_record_control_end(record_control *c)
{
	if (!c)
		return;
	if (c->bell[1] >= 0)
		close(c->bell[1]);
	if (c->started)
		pthread_join(c->thread, NULL);
	if (c->bell[0] >= 0)
		close(c->bell[0]);
	if (c->listener >= 0)
		close(c->listener);
	if (c->socket_path)
		unlink(c->socket_path);
	if (c->link)
		unlink(c->link);
	if (c->page) {
		munmap(c->page, ASSAY_CONTROL_BYTES);
		unlink(c->page_path);
	}
	assay_arena_free(&c->arena);
}

/* Words of requests and pieces of none, in any order. */
static void make_line(uint64_t *seed, char *line, size_t size)
{
	static const char *const parts[] = {
		"start",  "stop", "mark",  "flush", "status",
		"steps ", " ",    "-",     "0",     "1",
		"5-6",    "x",    "\"",    "\\",    "9223372036854775807",
		"\t",     "\xff", "\x1b[m"};
	size_t n = 0;
	line[0] = 0;
	*seed += 1;
	for (int i = 0; i == 0 || (i < 12 && *seed >> 61); i++) {
		*seed = *seed * 6364136223846793005u + 1442695040888963407u;
		const char *part = parts[(*seed >> 33) % ASSAY_COUNT_OF(parts)];
		n += (size_t)snprintf(line + n, size - n, "%s", part);
	}
}

TEST(any_line_is_answered_by_one_object_and_an_order_that_makes_no_sense_changes_nothing)
{
	static assay_control page;
	recording r = {.dir = "/nonexistent", .rings = "/nonexistent"};
	record_control c = {.r = &r, .page = &page};
	char line[LINE], padded[4096 + ASSAY_PAD];
	uint64_t seed = 1, obeyed_n = 0;
	for (int i = 0; i < 20000; i++) {
		assay_control before = page;
		assay_jsonw w = {.compact = true};
		make_line(&seed, line, sizeof line);
		answer(&c, line, &w);
		assay_str text = assay_jsonw_text(&w);
		CHECK(text.n < 4096);
		memcpy(padded, text.p, text.n);
		padded[text.n] = 0;
		uint32_t odd = 0;
		size_t bad;
		CHECK(assay_json_check(padded, text.n, &odd, &bad) && !odd);
		if (strstr(padded, "\"ok\":false"))
			CHECK(!memcmp(&before, &page, sizeof page));
		else
			obeyed_n++;
		int64_t first = page.steps_first, last = page.steps_last;
		CHECK(first >= 0 && first <= last && page.until >= 0);
		assay_jsonw_free(&w);
	}
	CHECK(obeyed_n > 100);
	return 0;
}

TEST(a_time_beyond_all_clocks_is_for_ever)
{
	static assay_control page;
	recording r = {.dir = "/nonexistent", .rings = "/nonexistent"};
	record_control c = {.r = &r, .page = &page};
	assay_jsonw w = {.compact = true};
	char line[] = "start 9223372036854775807";
	int64_t next;
	answer(&c, line, &w);
	CHECK(assay_control_wants(&page, assay_clock(CLOCK_BOOTTIME), &next));
	assay_jsonw_free(&w);
	return 0;
}
