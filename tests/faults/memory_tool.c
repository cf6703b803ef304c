/* A program that uses the library while allocations fail: the N-th of a scenario, for every N, once
 * alone and once with all that follow. Whatever fails must come back as an error with a sentence;
 * nothing stays allocated or open, and files are old or new.
 *
 * usage: memory_tool SCENARIO EVERY FOLDER INPUT...
 *   EVERY: 1 for all allocations, 7 for each seventh; FOLDER: for what is written
 *
 * The program's own malloc() stands before that of the C library for everything that is linked;
 * under a sanitizer, whose it must be, only our own objects call it (--wrap). */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <assay/assay.h>

#include "query/arrow.h"

/* ------------------------------------------------------------------ allocations that fail */

static atomic_long asked, live;
static long fails_at; /* 0: none */
static bool and_after;

static bool fails(void)
{
	if (!fails_at)
		return false;
	long n = atomic_fetch_add(&asked, 1) + 1;
	return and_after ? n >= fails_at : n == fails_at;
}

static void *counted(void *p)
{
	atomic_fetch_add(&live, p != NULL);
	return p;
}

#ifdef __SANITIZE_ADDRESS__
#define MINE(name) __wrap_##name
#define LIBC(name) __real_##name
#else
#pragma GCC visibility push(default) /* libraries are to find them */
#define MINE(name) name
#define LIBC(name) __libc_##name
#endif

void *LIBC(malloc)(size_t n);
void *LIBC(calloc)(size_t n, size_t each);
void *LIBC(realloc)(void *p, size_t n);
void *MINE(malloc)(size_t n);
void *MINE(calloc)(size_t n, size_t each);
void *MINE(realloc)(void *p, size_t n);

void *MINE(malloc)(size_t n)
{
	if (fails())
		return errno = ENOMEM, NULL;
	return counted(LIBC(malloc)(n));
}

void *MINE(calloc)(size_t n, size_t each)
{
	if (fails())
		return errno = ENOMEM, NULL;
	return counted(LIBC(calloc)(n, each));
}

void *MINE(realloc)(void *p, size_t n)
{
	if (fails())
		return errno = ENOMEM, NULL;
	return p ? LIBC(realloc)(p, n) : counted(LIBC(malloc)(n));
}

#ifndef __SANITIZE_ADDRESS__
void __libc_free(void *p);
void *__libc_memalign(size_t to, size_t n);
int posix_memalign(void **p, size_t to, size_t n);
void *memalign(size_t to, size_t n);
void *aligned_alloc(size_t to, size_t n);

void free(void *p)
{
	atomic_fetch_sub(&live, p != NULL);
	__libc_free(p);
}

void *memalign(size_t to, size_t n)
{
	return fails() ? NULL : counted(__libc_memalign(to, n));
}

void *aligned_alloc(size_t to, size_t n)
{
	return memalign(to, n);
}

int posix_memalign(void **p, size_t to, size_t n)
{
	*p = memalign(to, n);
	return *p ? 0 : ENOMEM;
}
#pragma GCC visibility pop
#endif

/* Mappings are counted by their pages: of one a part may go, or all of it move onto another. */
static long pages(size_t n)
{
	return (long)((n + 4095) / 4096);
}

void *__real_mmap(void *at, size_t n, int prot, int flags, int fd, off_t from);
int __real_munmap(void *at, size_t n);
void *__real_mremap(void *at, size_t n, size_t more, int flags);
long __real_syscall(long number, long a, long b, long c, long d, long e);
void *__wrap_mmap(void *at, size_t n, int prot, int flags, int fd, off_t from);
int __wrap_munmap(void *at, size_t n);
void *__wrap_mremap(void *at, size_t n, size_t more, int flags);
long __wrap_syscall(long number, long a, long b, long c, long d, long e);

void *__wrap_mmap(void *at, size_t n, int prot, int flags, int fd, off_t from)
{
	if (fails())
		return errno = ENOMEM, MAP_FAILED;
	void *p = __real_mmap(at, n, prot, flags, fd, from);
	if (p != MAP_FAILED && !(flags & MAP_FIXED))
		atomic_fetch_add(&live, pages(n));
	return p;
}

int __wrap_munmap(void *at, size_t n)
{
	atomic_fetch_sub(&live, pages(n));
	return __real_munmap(at, n);
}

void *__wrap_mremap(void *at, size_t n, size_t more, int flags)
{
	if (fails())
		return errno = ENOMEM, MAP_FAILED;
	void *p = __real_mremap(at, n, more, flags);
	if (p != MAP_FAILED)
		atomic_fetch_add(&live, pages(more) - pages(n));
	return p;
}

/* mremap() onto another mapping; numbers of a call are five words at most here. */
long __wrap_syscall(long number, long a, long b, long c, long d, long e)
{
	if (number == SYS_mremap && fails())
		return errno = ENOMEM, -1;
	long p = __real_syscall(number, a, b, c, d, e);
	if (number == SYS_mremap && p != -1)
		atomic_fetch_sub(&live, pages((size_t)b));
	return p;
}

/* ------------------------------------------------------------------ scenarios */

struct job {
	const char *folder;
	char **input;
	int inputs;
	assay_err err;
	bool good;      /* it came to its end */
	size_t answer;  /* something of the result, to compare */
	assay_run *run; /* analyzed, when it could be */
};

static void take(struct job *j, const char *text, size_t n)
{
	j->good = j->good && text;
	for (size_t i = 0; text && i < n; i++)
		j->answer = j->answer * 31 + (unsigned char)text[i];
}

static bool analyzed(struct job *j)
{
	j->run = assay_run_new();
	bool ok = j->run;
	if (!ok)
		snprintf(j->err.text, sizeof j->err.text, "no run");
	for (int i = 0; ok && i < j->inputs; i++)
		ok = assay_run_read(j->run, j->input[i], &j->err);
	return ok && assay_run_analyze(j->run, NULL, &j->err);
}

static void take_report(struct job *j)
{
	size_t n = 0;
	if (!j->good)
		return;
	const char *text = assay_run_report_json(j->run, &n);
	if (!text)
		snprintf(j->err.text, sizeof j->err.text, "no report");
	take(j, text, n);
}

static void do_report(struct job *j)
{
	j->good = analyzed(j);
	take_report(j);
}

static void do_queries(struct job *j)
{
	size_t n = 0;
	j->good = analyzed(j);
	if (j->good)
		take(j,
		     assay_run_waits_json(j->run, &(assay_waits_query){.chains = true}, &n,
					  &j->err),
		     n);
	if (j->good)
		take(j, assay_run_scopes_json(j->run, NULL, &n, &j->err), n);
	if (j->good)
		take(j, assay_run_path_json(j->run, &(assay_path_query){.all = true}, &n, &j->err),
		     n);
}

static void do_job(struct job *j)
{
	j->run = assay_run_new();
	j->good = j->run && assay_run_read_job(j->run, (const char *const *)j->input,
					       (size_t)j->inputs, NULL, &j->err);
	if (!j->run)
		snprintf(j->err.text, sizeof j->err.text, "no run");
	take_report(j);
}

static void do_diff(struct job *j)
{
	size_t n = 0;
	bool same;
	j->good = analyzed(j);
	if (!j->good)
		return;
	struct job other = {.input = j->input, .inputs = j->inputs};
	j->good = analyzed(&other);
	if (!j->good)
		j->err = other.err;
	else
		take(j, assay_run_diff_json(other.run, j->run, NULL, &same, &n, &j->err), n);
	assay_run_free(other.run);
}

static void do_env(struct job *j)
{
	size_t n = 0;
	assay_env_query q = {.root = j->input[0], .no_cache = true};
	j->run = assay_run_new();
	j->good = j->run;
	if (!j->good)
		snprintf(j->err.text, sizeof j->err.text, "no run");
	else if (!assay_env_json(j->run, &q, &n, &j->err))
		j->good = false; /* its text has the time in it */
}

/* A stream read to its end by someone who knows only Arrow's rules. */
static void drain(struct job *j, struct ArrowArrayStream *s)
{
	struct ArrowSchema schema = {0};
	struct ArrowArray a = {0};
	j->good = !s->get_schema(s, &schema) && !s->get_next(s, &a);
	j->answer = j->answer * 31 + (size_t)a.length;
	if (!j->good)
		snprintf(j->err.text, sizeof j->err.text, "%s", s->get_last_error(s));
	if (schema.release)
		schema.release(&schema);
	if (a.release)
		a.release(&a);
}

static void do_stream(struct job *j, const char *table, const char *statement)
{
	j->good = analyzed(j);
	struct ArrowArrayStream *s = j->good ? assay_stream_new() : NULL;
	if (j->good && !s) {
		snprintf(j->err.text, sizeof j->err.text, "no stream");
		j->good = false;
	}
	if (!s)
		return;
	j->good = table ? assay_run_arrow(j->run, table, s, &j->err)
			: assay_run_sql(j->run, statement, s, &j->err);
	if (j->good)
		drain(j, s);
	assay_stream_free(s);
}

static void do_arrow(struct job *j)
{
	do_stream(j, "kernels", NULL);
}

static void do_sql(struct job *j)
{
	do_stream(
		j, NULL,
		"select * from (select k.name, count(*), sum(k.dur) from kernels k join gpu g on g.id = k.id "
		"where g.ts > 0 and k.name > 'a' group by k.name order by 3 desc) "
		"union all select * from (select name, ts, dur from kernels order by dur desc, ts limit 5) "
		"union all select * from (select distinct name, stream, 0 from kernels)");
}

/* Names of outputs end as the scenario does; without an ending it is a folder of tables. */
static const char *ending;

static void put_old(const char *path)
{
	FILE *f = *ending ? fopen(path, "w") : NULL;
	if (f) {
		fputs("before", f);
		fclose(f);
	}
}

static bool is_old(const char *path)
{
	char text[16] = "";
	FILE *f = *ending ? fopen(path, "r") : NULL;
	if (!f)
		return !*ending && access(path, F_OK);
	size_t n = fread(text, 1, sizeof text - 1, f);
	fclose(f);
	return n == 6 && !strcmp(text, "before");
}

static int entries(const char *folder)
{
	int n = 0;
	DIR *d = opendir(folder);
	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n - 2;
}

static void do_convert(struct job *j)
{
	char path[512], remove[600];
	const char *left = NULL;
	long at = fails_at;
	snprintf(path, sizeof path, "%s/out%s", j->folder, ending);
	fails_at = 0;
	put_old(path);
	fails_at = at;
	j->good = analyzed(j) &&
		  assay_run_convert(j->run, path,
				    &(assay_convert_query){.format = *ending ? NULL : "csv"}, &left,
				    &j->err);
	fails_at = 0;
	if (!j->good && (!is_old(path) || entries(j->folder) != (*ending ? 1 : 0)))
		snprintf(j->err.text, sizeof j->err.text, "%s", "");
	snprintf(remove, sizeof remove, "rm -rf '%s'", path);
	if (!*ending && j->good && system(remove))
		j->good = false;
}

static const struct {
	const char *name;
	void (*run)(struct job *j);
} scenarios[] = {
	{"report", do_report}, {"queries", do_queries}, {"job", do_job}, {"diff", do_diff},
	{"env", do_env},       {"arrow", do_arrow},     {"sql", do_sql}, {"convert", do_convert},
};

/* ------------------------------------------------------------------ the loop */

static int descriptors(void)
{
	int n = 0;
	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static int wrong;

static void complain(const char *fmt, ...)
{
	va_list ap;
	fails_at = 0;
	wrong++;
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	fflush(stdout);
}

/* A run that is lost says so; one that is not is whole. */
static void ask_again(struct job *j)
{
	assay_err err = {0};
	if (j->run && !assay_run_analyze(j->run, NULL, &err) && !err.text[0])
		complain("a run that failed says nothing");
}

static struct job once(void (*run)(struct job *), struct job j, long at)
{
	fails_at = at;
	asked = 0;
	run(&j);
	fails_at = 0;
	if (!j.good && at)
		ask_again(&j);
	assay_run_free(j.run);
	j.run = NULL;
	return j;
}

static void try_all(const char *name, void (*run)(struct job *), struct job job, long every)
{
	struct job base = once(run, job, 0); /* and what libraries keep from their first use on */
	once(run, job, 1000000000);
	long points = asked, told = 0, others = 0;
	if (!base.good)
		complain("%s does not work at all: %s", name, base.err.text);
	for (int rest = 0; rest < 2; rest++) {
		and_after = rest;
		for (long at = 1; at <= points && wrong < 20; at += every) {
			long before = live;
			int open = descriptors();
			struct job j = once(run, job, at);
			told += !j.good;
			others += j.good && j.answer != base.answer;
			if (!j.good && !j.err.text[0])
				complain("%s %ld%s: no sentence, or a half output", name, at,
					 rest ? "-" : "");
#ifndef __SANITIZE_ADDRESS__
			if (live != before)
				complain("%s %ld%s: %ld left: %s", name, at, rest ? "-" : "",
					 live - before, j.err.text);
#else
			(void)before;
#endif
			if (descriptors() != open)
				complain("%s %ld%s: %d descriptors left: %s", name, at,
					 rest ? "-" : "", descriptors() - open, j.err.text);
		}
	}
	printf("%s: %ld allocations, %ld failures told, %ld answers without what failed\n", name,
	       points, told, others);
}

int main(int argc, char **argv)
{
	static char buffer[1 << 16];
	if (argc < 5)
		return 2;
	setvbuf(stdout, buffer, _IOLBF, sizeof buffer);
	const char *dot = strchr(argv[1], '.');
	size_t n = dot ? (size_t)(dot - argv[1]) : strlen(argv[1]);
	ending = dot ? dot : "";
	for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++)
		if (strlen(scenarios[i].name) == n && !strncmp(argv[1], scenarios[i].name, n)) {
			try_all(argv[1], scenarios[i].run,
				(struct job){
					.folder = argv[3], .input = argv + 4, .inputs = argc - 4},
				atol(argv[2]));
			return wrong ? 1 : 0;
		}
	return 2;
}
