/* The processes of a recording that goes on. */
#include "render/recent.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/compare.h"
#include "base/fmt.h"
#include "base/test.h"

#define STALE_NS 3000000000ll

/* As much of a line as there are columns. */
static void put_line(FILE *out, const char *line, size_t columns)
{
	fprintf(out, "%.*s\n", (int)columns, line);
}

/* How long nothing was seen of it; 0: not for long, or it is not known. */
static int64_t quiet_for(const assay_run *run, const assay_recent_rank *r, int64_t now)
{
	const assay_source_table *s = &run->part.t.source;
	int64_t old = r->latest == INT64_MIN || !s->epoch[r->group]
			      ? 0
			      : now - (r->latest + s->base[r->group]);
	return old > STALE_NS ? old : 0;
}

static void print_rank(FILE *out, const assay_run *run, const assay_recent_rank *r, int64_t now,
		       size_t columns)
{
	const assay_source_table *s = &run->part.t.source;
	char line[256], step[ASSAY_FMT] = "-", age[ASSAY_FMT], who[32] = "-";
	double ns = (double)r->span;
	int64_t quiet = quiet_for(run, r, now);
	if (s->rank[r->group] >= 0)
		snprintf(who, sizeof who, "%d", s->rank[r->group]);
	if (r->steps)
		assay_fmt_time(step, r->step_ns / (int64_t)r->steps);
	int n = snprintf(line, sizeof line, "  %6s %10.2f %10s %12.0f %7.1f%%", who,
			 (double)r->steps * 1e9 / ns, step, (double)r->kernels * 1e9 / ns,
			 100 * (double)r->busy / ns);
	if (r->latest == INT64_MIN)
		snprintf(line + n, sizeof line - (size_t)n, "   nothing yet");
	else if (quiet)
		snprintf(line + n, sizeof line - (size_t)n, "   nothing for %s",
			 assay_fmt_time(age, quiet));
	put_line(out, line, columns);
}

/* What decides which processes are shown, and in what order. */
typedef struct row {
	const assay_recent_rank *of;
	int64_t quiet;
	double steps, kernels; /* a second */
	int64_t rank;
} row;

static row row_of(const assay_run *run, const assay_recent_rank *r, int64_t now)
{
	double span = (double)(r->span ? r->span : 1);
	return (row){r, quiet_for(run, r, now), (double)r->steps / span, (double)r->kernels / span,
		     run->part.t.source.rank[r->group]};
}

static int by_rank(const void *a, const void *b)
{
	const row *x = a, *y = b;
	return x->rank != y->rank ? ASSAY_CMP(x->rank, y->rank) : ASSAY_CMP(x->of, y->of);
}

/* Who is silent for the longest time stands first, then who is slowest. */
static int by_trouble(const void *a, const void *b)
{
	const row *x = a, *y = b;
	int order = ASSAY_CMP(y->quiet, x->quiet);
	order = order ? order : ASSAY_CMP(x->steps, y->steps);
	order = order ? order : ASSAY_CMP(x->kernels, y->kernels);
	return order ? order : by_rank(a, b);
}

void assay_recent_head(FILE *out, const char *run, bool more, size_t alive, int64_t now,
		       size_t columns)
{
	char clock[32], line[8192];
	time_t seconds = (time_t)(now / 1000000000);
	struct tm tm;
	strftime(clock, sizeof clock, "%H:%M:%S", localtime_r(&seconds, &tm));
	int n = snprintf(line, sizeof line, "  %s, %zu process%s", clock, alive,
			 alive == 1 ? " records" : "es record");
	const char *others = more ? " ..." : "";
	int room = (int)columns - n - (int)strlen(others);
	fprintf(out, "%.*s%s%s\n", room > 0 ? room : 0, run, others, line);
}

void assay_recent_text(FILE *out, const assay_run *run, const assay_recent *all, int64_t now,
		       size_t columns)
{
	char line[256], span[ASSAY_FMT];
	snprintf(line, sizeof line, "  %6s %10s %10s %12s %8s   in the last %s", "rank", "steps/s",
		 "step", "kernels/s", "busy", assay_fmt_time(span, all->last));
	put_line(out, line, columns);
	assay_arena scratch = {0};
	size_t n = all->rank.n, shown = n < ASSAY_RECENT_SHOWN ? n : ASSAY_RECENT_SHOWN;
	row *rows = assay_alloc(&scratch, (n + 1) * sizeof *rows);
	for (size_t i = 0; i < n; i++)
		rows[i] = row_of(run, &all->rank.p[i], now);
	if (shown < n)
		qsort(rows, n, sizeof *rows, by_trouble);
	qsort(rows, shown, sizeof *rows, by_rank);
	for (size_t i = 0; i < shown; i++)
		print_rank(out, run, rows[i].of, now, columns);
	if (shown < n)
		fprintf(out, "  %zu more processes, none quieter or slower\n", n - shown);
	assay_arena_free(&scratch);
}

TEST(of_many_processes_those_in_trouble_are_shown)
{
	enum { N = 64 };
	assay_run *run = assay_run_new();
	assay_recent all = {.last = 1000};
	for (uint32_t i = 0; i < N; i++) {
		uint32_t s = assay_add(&run->part.t, ASSAY_T_source);
		run->part.t.source.rank[s] = (int32_t)(N - 1 - i);
		run->part.t.source.epoch[s] = 1;
		run->part.t.source.base[s] = 0;
		*assay_push(&all.rank) = (assay_recent_rank){.group = s,
							     .latest = i == 20   ? 1000000000
								       : i == 40 ? 2000000000
										 : 9000000000,
							     .span = 1000,
							     .steps = i == 30 ? 1 : 5};
	}
	char *text = NULL;
	size_t n = 0;
	FILE *out = open_memstream(&text, &n);
	assay_recent_text(out, run, &all, 10000000000, 100);
	fclose(out);
	const char *slow = strstr(text, "\n      33 "), *silent = strstr(text, "\n      43 "),
		   *less = strstr(text, "\n      23 ");
	CHECK(less && slow && silent && less < slow && slow < silent);
	CHECK(strstr(silent, "nothing for 9.00 s") && strstr(text, "56 more processes"));
	free(text);
	assay_vec_free(&all.rank);
	assay_run_free(run);
	return 0;
}
