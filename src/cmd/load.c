/* What every command that reads inputs does first. */
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "api/job.h"
#include "base/fmt.h"
#include "cmd/cmd.h"
#include "cmd/say.h"
#include "read/reader.h"
#include "render/report.h"
#include "wire/clock.h"
#include "write/folder.h"

void assay_cmd_error(const assay_err *err)
{
	if (err->pos)
		assay_say("assay: %s (at byte %" PRIu64 ")", err->text, err->pos);
	else
		assay_say("assay: %s", err->text);
}

int assay_cmd_status(const assay_err *err)
{
	return err->code == ASSAY_USAGE ? ASSAY_EXIT_USAGE : ASSAY_EXIT_FAIL;
}

assay_cmd_progress assay_cmd_progress_now(void)
{
	return (assay_cmd_progress){assay_clock(CLOCK_MONOTONIC) / 1000000, 0};
}

static const char CLEAR_LINE[] = "\r\033[K";

void assay_cmd_show_progress(void *ctx, const char *path, uint64_t done, uint64_t total)
{
	assay_cmd_progress *p = ctx;
	int64_t now = assay_clock(CLOCK_MONOTONIC) / 1000000;
	if (now - p->started_ms < 1000 || now - p->shown_ms < 100)
		return;
	p->shown_ms = now;
	fputs(CLEAR_LINE, stderr);
	assay_say_on("reading %s: %" PRIu64 " MB", path, done / 1000000);
	if (total)
		assay_say_on(" of %" PRIu64 " (%d%%)", total / 1000000, (int)(100 * done / total));
}

void assay_cmd_end_progress(const assay_cmd_progress *p)
{
	if (p->shown_ms)
		fputs(CLEAR_LINE, stderr);
}

/* Files that could not be read beside others that could: said at once, whatever the command
 * prints. */
static void name_broken(const assay_run *run)
{
	enum { NAMED = 8 };
	const assay_warning_table *w = &run->part.t.warning;
	size_t broken = 0;
	for (size_t i = 0; i < w->n; i++)
		if (assay_str_is(assay_text(run, w->id[i]), "broken_file") && broken++ < NAMED)
			assay_say("assay: %s; going on without it", assay_z(run, w->text[i]));
	if (broken > NAMED)
		assay_say("assay: %zu more files cannot be read; going on without them",
			  broken - NAMED);
}

void assay_cmd_losses(const assay_run *run)
{
	char n[ASSAY_FMT];
	for (int i = 0; i < ASSAY_ISSUE_COUNT; i++)
		if (run->part.issues[i] && strcmp(assay_issue_infos[i].severity, "info") &&
		    i != ASSAY_ISSUE_broken_file) /* named when it was met */
			assay_say("assay: found in the input: %s %s",
				  assay_fmt_count(n, run->part.issues[i]),
				  assay_issue_infos[i].text);
}

bool assay_cmd_is_input(const assay_run *run, const char *cmd, const char *out)
{
	struct stat st;
	bool file = stat(out, &st) == 0 && S_ISREG(st.st_mode); /* a terminal may well be both */
	if (!file || !assay_is_input(run, out))
		return false;
	assay_say("assay %s: %s is an input; the output needs another name", cmd, out);
	return true;
}

static void name_twins(const assay_run *run)
{
	uint64_t n = run->part.issues[ASSAY_ISSUE_same_file];
	char count[ASSAY_FMT];
	if (n)
		assay_say(
			"assay: %s of the files are given twice, or links to others; each is read once",
			assay_fmt_count(count, n));
}

static bool read_rows(void *ctx, assay_run *run, char **operands, size_t n, assay_err *err)
{
	return ctx ? assay_read_each(run, operands, n, ctx, err)
		   : assay_read_paths(run, operands, n, err);
}

struct wanted {
	const assay_report_opts *opts;
	assay_needs needs;
	bool lean;        /* spare columns are not */
	bool calls_apart; /* collectives one by one are not */
};

static bool read_job(void *ctx, assay_run *run, char **operands, size_t n, assay_err *err)
{
	const struct wanted *w = ctx;
	run->lean = w->lean;
	run->calls_apart = w->calls_apart;
	return assay_job_read(run, operands, n, w->opts, w->needs, err);
}

assay_run *assay_cmd_read_by(assay_cmd_reader *read, void *ctx, char **operands, int n,
			     assay_err *err)
{
	assay_cmd_progress p = assay_cmd_progress_now();
	assay_run *run = assay_run_new();
	if (isatty(STDERR_FILENO)) {
		run->progress = assay_cmd_show_progress;
		run->progress_ctx = &p;
	}
	bool ok = read(ctx, run, operands, (size_t)n, err);
	assay_cmd_end_progress(&p);
	if (ok) {
		name_broken(run);
		name_twins(run);
	} else
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
	return assay_cmd_read_by(read_rows, NULL, operands, n, &err);
}

assay_run *assay_cmd_read_each(char **operands, int n, const assay_each *each)
{
	assay_err err = {0};
	return assay_cmd_read_by(read_rows, (void *)(uintptr_t)each, operands, n, &err);
}

assay_run *assay_cmd_job(char **operands, int n, const assay_report_opts *opts, bool printed,
			 int *status)
{
	assay_err err = {0};
	struct wanted w = {opts, ASSAY_NEEDS_FINDINGS, printed, true};
	assay_run *run = assay_cmd_read_by(read_job, &w, operands, n, &err);
	*status = run ? ASSAY_EXIT_OK : assay_cmd_status(&err);
	return run;
}

assay_run *assay_cmd_analyze(char **operands, int n)
{
	assay_run *run = assay_cmd_read(operands, n);
	assay_err err = {0};
	if (run)
		assay_cmd_losses(run);
	if (!run || assay_run_analyze(run, NULL, &err))
		return run;
	assay_cmd_error(&err);
	assay_run_free(run);
	return NULL;
}

/* sources: those with events, the first ones. */
static void say_ranks_shown(const assay_run *run, size_t sources, size_t all)
{
	enum { NAMED = 8 };
	const assay_tables *t = &run->part.t;
	size_t shown = assay_ranks_of(run, sources);
	if (shown == all)
		return;
	assay_say_on("assay: shown are %zu of %zu ranks (", shown, all);
	for (uint32_t i = 0, named = 0; i < sources && named < NAMED; i++)
		if (assay_group_of(t, i) == i && t->source.rank[i] >= 0)
			assay_say_on("%s%d", named++ ? ", " : "", t->source.rank[i]);
	assay_say("%s); --ranks LIST chooses others, --ranks all reads every one",
		  shown > NAMED ? ", ..." : "");
}

assay_run *assay_cmd_events(char **operands, int n, const char *ranks, assay_needs needs,
			    bool printed, int *status)
{
	const assay_report_opts opts = {.size = sizeof opts, .ranks = ranks};
	struct wanted w = {&opts, needs, printed, false};
	assay_err err = {0};
	assay_run *run = assay_cmd_read_by(read_job, &w, operands, n, &err);
	*status = run ? ASSAY_EXIT_OK : assay_cmd_status(&err);
	if (!run)
		return NULL;
	assay_cmd_losses(run);
	if (run->in_full)
		say_ranks_shown(run, run->in_full, assay_ranks_of(run, SIZE_MAX));
	return run;
}

struct some {
	assay_report_opts opts;
	size_t ranks;
};

static bool read_some(void *ctx, assay_run *run, char **operands, size_t n, assay_err *err)
{
	struct some *s = ctx;
	return assay_job_read_events(run, operands, n, &s->opts, &s->ranks, err);
}

assay_run *assay_cmd_read_ranks(char **operands, int n, const char *ranks, int *status)
{
	struct some s = {.opts = {.size = sizeof s.opts, .ranks = ranks}};
	assay_err err = {0};
	assay_run *run = assay_cmd_read_by(read_some, &s, operands, n, &err);
	*status = run ? ASSAY_EXIT_OK : assay_cmd_status(&err);
	if (run)
		say_ranks_shown(run, run->part.t.source.n, s.ranks);
	return run;
}

void assay_cmd_show_like(const assay_run *run, const char *tool, bool json)
{
	if (!json) {
		assay_cmd_text text;
		assay_like_text(assay_cmd_text_open(&text), run, tool);
		assay_cmd_text_close(&text);
		return;
	}
	assay_jsonw w = {0};
	assay_like_json(&w, run, tool);
	assay_cmd_put_json(&w);
}

void assay_cmd_put_json(assay_jsonw *w)
{
	puts(assay_jsonw_text(w).p);
	assay_jsonw_free(w);
}
