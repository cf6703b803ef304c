/* What every command that reads inputs does first. */
#include <inttypes.h>
#include <time.h>
#include <unistd.h>

#include "api/job.h"
#include "base/fmt.h"
#include "cmd/cmd.h"
#include "read/reader.h"

void assay_cmd_error(const assay_err *err)
{
	if (err->pos)
		fprintf(stderr, "assay: %s (at byte %" PRIu64 ")\n", err->text, err->pos);
	else
		fprintf(stderr, "assay: %s\n", err->text);
}

/* A line on a terminal for anything over a second; nothing elsewhere. */
struct progress {
	int64_t started_ms, shown_ms;
};

static int64_t now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void show_progress(void *ctx, const char *path, uint64_t done, uint64_t total)
{
	struct progress *p = ctx;
	int64_t now = now_ms();
	if (now - p->started_ms < 1000 || now - p->shown_ms < 100)
		return;
	p->shown_ms = now;
	fprintf(stderr, "\r\033[Kreading %s: %" PRIu64 " MB", path, done / 1000000);
	if (total)
		fprintf(stderr, " of %" PRIu64 " (%d%%)", total / 1000000,
			(int)(100 * done / total));
}

/* Files that could not be read beside others that could: said at once, whatever the command prints.
 */
static void name_broken(const assay_run *run)
{
	enum { NAMED = 8 };
	const assay_warning_table *w = &run->part.t.warning;
	assay_arena scratch = {0};
	size_t broken = 0;
	for (size_t i = 0; i < w->n; i++)
		if (assay_str_is(assay_text(run, w->id[i]), "broken_file") && broken++ < NAMED)
			fprintf(stderr, "assay: %s; going on without it\n",
				assay_fmt_safe(&scratch, assay_text(run, w->text[i])));
	if (broken > NAMED)
		fprintf(stderr, "assay: %zu more files cannot be read; going on without them\n",
			broken - NAMED);
	assay_arena_free(&scratch);
}

/* How to read: one of them, or neither for all rows of all inputs. */
struct how {
	const assay_report_opts *opts; /* an analysed job of any number of ranks */
	const assay_each *each;
};

static bool read_as(struct how how, assay_run *run, char **operands, size_t n, assay_err *err)
{
	if (how.opts)
		return assay_job_read(run, operands, n, how.opts, err);
	return how.each ? assay_read_each(run, operands, n, how.each, err)
			: assay_read_paths(run, operands, n, err);
}

static assay_run *read_run(char **operands, int n, struct how how, assay_err *err)
{
	struct progress p = {now_ms(), 0};
	assay_run *run = assay_run_new();
	if (isatty(STDERR_FILENO)) {
		run->progress = show_progress;
		run->progress_ctx = &p;
	}
	bool ok = read_as(how, run, operands, (size_t)n, err);
	if (p.shown_ms)
		fprintf(stderr, "\r\033[K");
	if (ok)
		name_broken(run);
	else
		assay_cmd_error(err);
	run->progress = NULL;
	if (ok)
		return run;
	assay_run_free(run);
	return NULL;
}

assay_run *assay_cmd_read(char **operands, int n)
{
	assay_err err = {0};
	return read_run(operands, n, (struct how){0}, &err);
}

assay_run *assay_cmd_read_each(char **operands, int n, const assay_each *each)
{
	assay_err err = {0};
	return read_run(operands, n, (struct how){.each = each}, &err);
}

assay_run *assay_cmd_analyze(char **operands, int n, const assay_report_opts *opts, int *status)
{
	assay_err err = {0};
	assay_run *run = read_run(operands, n, (struct how){.opts = opts}, &err);
	*status = run                       ? ASSAY_EXIT_OK
		  : err.code == ASSAY_USAGE ? ASSAY_EXIT_USAGE
					    : ASSAY_EXIT_FAIL;
	return run;
}
