/* assay top: one screen of a job that is being recorded, again and again. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "api/job.h"
#include "cmd/captures.h"
#include "cmd/cmd.h"
#include "cmd/say.h"
#include "cmd/tail.h"
#include "read/reader.h"
#include "read/rings.h"
#include "render/recent.h"
#include "render/report.h"
#include "wire/clock.h"

enum { ROWS = 24, SHARE = 4, SHOWN_BYTES = 64 << 20 };
#define EVERY_NS 2000000000ll
#define SHOWN_NS 30000000000ll /* what is looked at of a job that goes on, at least */
#define LAST_NS  10000000000ll

struct top_args {
	int64_t every, last;
	bool once;
};

/* ---- reading ---- */

/* A job: its captures by name, each with what is kept of it between two looks. */
typedef struct job_seen {
	assay_arena arena; /* paths */
	assay_capture_list paths;
	assay_vec(assay_tail) tails; /* one a path */
} job_seen;

/* Both lists are by name, and no capture goes away. */
static void find_captures(job_seen *job, char **runs, int n)
{
	assay_capture_list now = {0};
	for (int i = 0; i < n; i++)
		assay_captures_find(&job->arena, runs[i], 1, &now);
	for (size_t i = 0; i < now.n; i++) {
		if (i < job->paths.n && !strcmp(job->paths.p[i], now.p[i]))
			continue;
		*assay_push(&job->paths) = NULL;
		*assay_push(&job->tails) = (assay_tail){0};
		size_t behind = job->paths.n - 1 - i;
		memmove(&job->paths.p[i + 1], &job->paths.p[i], behind * sizeof *job->paths.p);
		memmove(&job->tails.p[i + 1], &job->tails.p[i], behind * sizeof *job->tails.p);
		job->paths.p[i] = now.p[i];
		job->tails.p[i] = (assay_tail){.path = now.p[i]};
	}
	assay_vec_free(&now);
}

static void free_job(job_seen *job)
{
	for (size_t i = 0; i < job->tails.n; i++)
		assay_tail_free(&job->tails.p[i]);
	assay_vec_free(&job->tails);
	assay_vec_free(&job->paths);
	assay_arena_free(&job->arena);
}

static void read_path(assay_run *run, const char *path)
{
	assay_err err = {0};
	if (!assay_read_path(run, path, &err)) /* just made, or just gone */
		assay_warn(run, "broken_file", "%s", err.text);
}

/* The rings are looked at first: what they give to the file meanwhile is there twice and read
 * once. */
static void read_tail(assay_run *run, assay_tail *t, int64_t last, size_t bytes)
{
	char path[64];
	int rings = assay_capture_peek(t->path);
	assay_tail_read(t, last, last > SHOWN_NS ? last : SHOWN_NS, bytes);
	int fd = t->damaged ? -1 : assay_tail_capture(t, rings);
	size_t before = run->part.t.source.n;
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	read_path(run, fd >= 0 ? path : t->path);
	for (size_t i = before; i < run->part.t.source.n; i++)
		run->part.t.source.path[i] = assay_intern_z(&run->part.strings, t->path);
	if (fd >= 0)
		close(fd);
	if (rings >= 0)
		close(rings);
}

/* All of it when nothing will follow, else its last stretch. */
static assay_run *read_now(job_seen *job, const struct top_args *a, size_t *alive)
{
	assay_run *run = assay_run_new();
	int64_t last = a->last ? a->last : LAST_NS;
	run->open_ends = true; /* with what is still in memory */
	*alive = 0;
	for (size_t i = 0; i < job->paths.n; i++)
		*alive += assay_capture_alive(job->paths.p[i]);
	for (size_t i = 0; i < job->paths.n; i++)
		if (a->once || !*alive)
			read_path(run, job->paths.p[i]);
		else
			read_tail(run, &job->tails.p[i], last, SHOWN_BYTES / job->paths.n);
	return run;
}

/* ---- showing ---- */

static size_t screen_rows(void)
{
	struct winsize w = {0};
	return isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_row > 4
		       ? w.ws_row
		       : ROWS + ASSAY_RECENT_SHOWN + 4;
}

/* As many lines as the screen has. */
static void put_screen(const char *text, bool clear)
{
	size_t left = screen_rows() - 1;
	if (clear)
		fputs("\033[H\033[2J", stdout);
	for (; left && *text; left--) {
		size_t n = strcspn(text, "\n");
		printf("%.*s\n", (int)n, text);
		text += n + (text[n] == '\n');
	}
	fflush(stdout);
}

static bool show(assay_run *run, const struct top_args *a, char **runs, size_t alive)
{
	char *text = NULL;
	size_t n = 0;
	assay_err err = {0};
	assay_terminal terminal = assay_cmd_terminal();
	int64_t now = assay_clock(CLOCK_REALTIME);
	FILE *out = open_memstream(&text, &n);
	if (!out)
		return false;
	assay_recent_head(out, runs[0], runs[1], alive, now, assay_cmd_text_width());
	bool ok = assay_run_analyze(run, NULL, &err);
	if (ok) {
		assay_recent recent = assay_recent_of(&run->part.t, a->last ? a->last : LAST_NS);
		assay_recent_text(out, run, &recent, now, assay_cmd_text_width());
		assay_recent_free(&recent);
		fputc('\n', out);
		assay_report_text(
			out, run,
			&(assay_text_opts){.width = terminal.width, .colour = terminal.colour});
	}
	fclose(out);
	put_screen(text, !a->once && isatty(STDOUT_FILENO));
	free(text);
	if (!ok)
		assay_cmd_error(&err);
	return ok;
}

/* One look; *alive: how many processes recorded. False after a message. */
static bool look(job_seen *job, const struct top_args *a, char **runs, int n, size_t *alive)
{
	find_captures(job, runs, n);
	*alive = 0;
	if (!job->paths.n) {
		assay_say("assay: %s holds no recording of a process yet", runs[0]);
		return false;
	}
	assay_run *run = read_now(job, a, alive);
	bool ok = show(run, a, runs, *alive);
	assay_run_free(run);
	return ok;
}

/* Looking takes at most a quarter of a core, however much is recorded. */
static int top_run(const void *args, char **runs, int n)
{
	const struct top_args *a = args;
	job_seen job = {0};
	size_t alive = 1;
	bool ok = true;
	while (ok && alive) {
		int64_t began = assay_clock(CLOCK_MONOTONIC),
			every = a->every ? a->every : EVERY_NS;
		ok = look(&job, a, runs, n, &alive);
		if (a->once)
			break;
		int64_t took = assay_clock(CLOCK_MONOTONIC) - began;
		int64_t rest =
			every - took > took * (SHARE - 1) ? every - took : took * (SHARE - 1);
		if (ok && alive)
			nanosleep(&(struct timespec){rest / 1000000000, rest % 1000000000}, NULL);
	}
	free_job(&job);
	return ok ? ASSAY_EXIT_OK : ASSAY_EXIT_FAIL;
}

static const assay_opt top_opts[] = {
	{"once", 0, ASSAY_OPT_FLAG, NULL, "Print one screen and end.",
	 offsetof(struct top_args, once)},
	{"every", 0, ASSAY_OPT_SPAN, "TIME", "Time between two screens. Default: 2s.",
	 offsetof(struct top_args, every)},
	{"last", 0, ASSAY_OPT_SPAN, "TIME", "Time that rates are averaged over. Default: 10s.",
	 offsetof(struct top_args, last)},
};

static const assay_example top_examples[] = {
	{"assay top tests/cases/report/capture --once", "one screen, for a script"},
};

const assay_cmd assay_cmd_top = {
	.name = "top",
	.args = "RUN...",
	.about = "Watch a job while it is recorded",
	.details =
		"Prints one screen, again and again until the job ends. For each rank: steps and kernels a\n"
		"second, the time of a step, and the share of time that devices were busy; of more than eight,\n"
		"those that are silent or slow. Below, the first screen of the report of the last 30 seconds\n"
		"(--last when that is more), including what is still in memory. With --once, or when the job has\n"
		"ended, it is the report of all that was recorded. RUN is a run directory, or a folder of them. A\n"
		"rank that has been quiet for a while says for how long; `assay hang` says where it stands.",
	ASSAY_OPTS(top_opts),
	ASSAY_EXAMPLES(top_examples),
	.args_size = sizeof(struct top_args),
	.min_operands = 1,
	.max_operands = -1,
	.run = top_run,
};
