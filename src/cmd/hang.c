/* assay hang: where a job stands still. */
#include "cmd/hang.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "analyze/hang.h"
#include "base/compare.h"
#include "cmd/captures.h"
#include "cmd/cmd.h"
#include "read/rings.h"
#include "resolve/resolve.h"
#include "wire/clock.h"

struct hang_args {
	bool json;
};

typedef struct search {
	assay_arena arena;
	assay_hang_processes found;
} search;

/* ---- threads ---- */

static assay_hang_thread *thread_of(assay_hang_process *p, int64_t tid)
{
	for (size_t i = 0; i < p->thread.n; i++)
		if (p->thread.p[i].tid == tid)
			return &p->thread.p[i];
	*assay_push(&p->thread) = (assay_hang_thread){.tid = tid,
						      .open_call = ASSAY_NO_ROW,
						      .sample = ASSAY_NO_ROW,
						      .stack = ASSAY_NO_ROW,
						      .called = INT64_MIN};
	return &p->thread.p[p->thread.n - 1];
}

/* Ours are the recorder's, and stand still for good reasons. */
static bool is_recorders(const assay_hang_thread *t)
{
	return !strcmp(t->name, "assay") || !strcmp(t->name, "assay-tick") ||
	       !strcmp(t->name, "assay-sampler");
}

static void see_living(assay_hang_process *p)
{
	enum { THREADS_MAX = 4096 };
	static int64_t tids[THREADS_MAX];
	size_t n = assay_hang_list(p->pid, tids, THREADS_MAX), kept = 0;
	for (size_t i = 0; i < n; i++)
		assay_hang_look(p->pid, thread_of(p, tids[i]));
	for (size_t i = 0; i < p->thread.n; i++)
		if (!is_recorders(&p->thread.p[i]))
			p->thread.p[kept++] = p->thread.p[i];
	p->thread.n = kept;
}

static assay_hang_thread *thread_on(assay_hang_process *p, uint32_t track)
{
	const assay_track_table *t = &p->run->part.t.track;
	assay_hang_thread *th = thread_of(p, t->tid[track]);
	snprintf(th->name, sizeof th->name, "%s", assay_z(p->run, t->name[track]));
	return th;
}

/* When each thread's last call ended, and where it was made. */
static void see_calls(assay_hang_process *p)
{
	const assay_tables *t = &p->run->part.t;
	assay_arena scratch = {0};
	uint32_t *last = assay_alloc(&scratch, (t->track.n + 1) * sizeof *last);
	memset(last, 0xff, t->track.n * sizeof *last);
	for (uint32_t i = 0; i < t->host.n; i++) {
		uint32_t *at = &last[t->host.track[i]];
		if (assay_is_call(t->host.kind[i]) &&
		    (*at == ASSAY_NO_ROW || t->host.ts[i] >= t->host.ts[*at]))
			*at = i;
	}
	for (uint32_t i = 0; i < t->track.n; i++) {
		if (last[i] == ASSAY_NO_ROW || t->track.pid[i] != p->pid)
			continue;
		assay_hang_thread *th = thread_on(p, i);
		uint32_t api = t->host.detail[last[i]];
		th->called = t->host.ts[last[i]] + t->host.dur[last[i]];
		th->stack = api == ASSAY_NO_ROW ? ASSAY_NO_ROW : t->api.stack[api];
	}
	assay_arena_free(&scratch);
}

static void see_recorded(assay_hang_process *p)
{
	const assay_tables *t = &p->run->part.t;
	see_calls(p);
	for (uint32_t i = 0; i < t->open_call.n; i++)
		thread_on(p, t->open_call.track[i])->open_call = i;
	for (uint32_t i = 0; i < t->sample.n; i++) {
		uint32_t track = t->sample.track[i];
		if (t->track.pid[track] != p->pid)
			continue;
		assay_hang_thread *th = thread_on(p, track);
		th->sample = i;
		th->stack = t->sample.stack[i];
	}
}

/* ---- processes ---- */

static int64_t last_sign(const assay_run *run)
{
	const assay_tables *t = &run->part.t;
	int64_t last = 0;
	for (size_t i = 0; i < t->host.n; i++)
		last = t->host.ts[i] + t->host.dur[i] > last ? t->host.ts[i] + t->host.dur[i]
							     : last;
	for (size_t i = 0; i < t->open_call.n; i++)
		last = t->open_call.ts[i] > last ? t->open_call.ts[i] : last;
	for (size_t i = 0; i < t->sample.n; i++)
		last = t->sample.ts[i] + t->sample.dur[i] > last
			       ? t->sample.ts[i] + t->sample.dur[i]
			       : last;
	return last;
}

static int64_t pid_in(const char *path)
{
	const char *dash = strrchr(path, '-');
	return dash ? strtoll(dash + 1, NULL, 10) : 0;
}

static bool add_capture(search *s, const char *path, assay_err *err)
{
	assay_run *run = assay_run_new();
	run->open_ends = true;
	if (!assay_read_path(run, path, err)) {
		assay_run_free(run);
		return false;
	}
	assay_hang_process p = {.run = run,
				.path = assay_printf(&s->arena, "%s", path),
				.pid = pid_in(path),
				.rank = run->part.t.source.n ? run->part.t.source.rank[0] : -1,
				.alive = assay_capture_alive(path)};
	p.now = p.alive ? assay_clock(CLOCK_BOOTTIME) : last_sign(run);
	assay_doings(run);
	see_recorded(&p);
	if (p.alive)
		see_living(&p);
	assay_hang_find(run, &p.hang);
	*assay_push(&s->found) = p;
	return true;
}

/* Captures of a run directory, or of a folder of them; of one process when pid is not 0. */
static bool add_run(search *s, const char *dir, int64_t pid, assay_err *err)
{
	assay_capture_list paths = {0};
	size_t good = 0, n = 0;
	assay_captures_find(&s->arena, dir, 1, &paths);
	for (size_t i = 0; i < paths.n; i++) {
		if (pid && pid_in(paths.p[i]) != pid)
			continue;
		good += add_capture(s, paths.p[i], err);
		n++;
	}
	assay_vec_free(&paths);
	if (!n)
		assay_fail(err, ASSAY_UNKNOWN, 0, "%s holds no recording of a process", dir);
	return good > 0;
}

static bool add_pid(search *s, int64_t pid, assay_err *err)
{
	const char *dir = assay_hang_run_of(&s->arena, pid);
	if (dir && add_run(s, dir, pid, err))
		return true;
	assay_hang_process p = {
		.pid = pid, .rank = -1, .alive = true, .now = assay_clock(CLOCK_BOOTTIME)};
	see_living(&p);
	if (!p.thread.n)
		return assay_fail(err, ASSAY_IO, 0, "there is no process %" PRId64, pid);
	*assay_push(&s->found) = p;
	return true;
}

static bool add_operand(search *s, const char *operand, assay_err *err)
{
	struct stat st;
	int64_t pid;
	if (stat(operand, &st) < 0 && assay_str_i64(assay_str_of(operand), &pid) && pid > 0)
		return add_pid(s, pid, err);
	if (stat(operand, &st) == 0 && S_ISDIR(st.st_mode))
		return add_run(s, operand, 0, err);
	return add_capture(s, operand, err);
}

static void free_search(search *s)
{
	for (size_t i = 0; i < s->found.n; i++) {
		assay_hang_free(&s->found.p[i].hang);
		assay_vec_free(&s->found.p[i].thread);
		if (s->found.p[i].run)
			assay_run_free(s->found.p[i].run);
	}
	assay_vec_free(&s->found);
	assay_arena_free(&s->arena);
}

/* By rank, then as they were found. */
static int by_rank(const void *x, const void *y)
{
	const assay_hang_process *a = x, *b = y;
	return a->rank != b->rank ? ASSAY_CMP(a->rank, b->rank)
				  : strcmp(a->path ? a->path : "", b->path ? b->path : "");
}

static int hang_run(const void *args, char **operands, int n)
{
	const struct hang_args *a = args;
	search s = {0};
	int status = ASSAY_EXIT_OK;
	for (int i = 0; i < n; i++) {
		assay_err err = {0};
		if (!add_operand(&s, operands[i], &err)) {
			assay_cmd_error(&err);
			status = ASSAY_EXIT_FAIL;
		}
	}
	if (s.found.n)
		qsort(s.found.p, s.found.n, sizeof *s.found.p, by_rank);
	if (s.found.n && a->json) {
		assay_jsonw w = {0};
		assay_hang_json(&w, &s.found);
		assay_cmd_put_json(&w);
	} else if (s.found.n) {
		assay_cmd_text text;
		assay_hang_text(assay_cmd_text_open(&text), &s.found);
		assay_cmd_text_close(&text);
	}
	free_search(&s);
	return status;
}

static const assay_opt hang_opts[] = {
	{"json", 'j', ASSAY_OPT_FLAG, NULL, "Write JSON for programs.",
	 offsetof(struct hang_args, json)},
};

static const assay_example hang_examples[] = {
	{"assay hang $$", "the threads of a process that is not recorded, here the shell"},
};

const assay_cmd assay_cmd_hang = {
	.name = "hang",
	.args = "RUN|PID...",
	.about = "Show where a job hangs",
	.details =
		"For a job that was started with `assay record` and hangs, or hung until it was killed. Shows the\n"
		"call that each thread is in and since when, its Python stack as last seen, what each stream has\n"
		"in front of it and what that waits for (the event, the stream that records it, the work before\n"
		"it), and which rank has not entered the collective that others are in. Where no call was made for\n"
		"a second, what the threads that made some do instead, and at which line. Give the run directories\n"
		"of all ranks, a folder of them, or the process ids of living processes. Nothing of the job is\n"
		"stopped or changed.\n\n"
		"Work counts as ended when its record arrived, or when a call that waited for it returned.",
	ASSAY_OPTS(hang_opts),
	ASSAY_EXAMPLES(hang_examples),
	.args_size = sizeof(struct hang_args),
	.min_operands = 1,
	.max_operands = -1,
	.run = hang_run,
};
