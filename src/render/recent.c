/* The processes of a recording that goes on. */
#include "render/recent.h"

#include <string.h>
#include <time.h>

#include "base/fmt.h"

#define STALE_NS 3000000000ll

/* As much of a line as there are columns. */
static void put_line(FILE *out, const char *line, size_t columns)
{
	fprintf(out, "%.*s\n", (int)columns, line);
}

static void print_rank(FILE *out, const assay_run *run, const assay_recent_rank *r, int64_t now,
		       size_t columns)
{
	const assay_source_table *s = &run->part.t.source;
	char line[256], step[ASSAY_FMT] = "-", age[ASSAY_FMT], who[32] = "-";
	double ns = (double)r->span;
	int64_t old = r->latest == INT64_MIN ? 0 : now - (r->latest + s->base[r->group]);
	if (s->rank[r->group] >= 0)
		snprintf(who, sizeof who, "%d", s->rank[r->group]);
	if (r->steps)
		assay_fmt_time(step, r->step_ns / (int64_t)r->steps);
	int n = snprintf(line, sizeof line, "  %6s %10.2f %10s %12.0f %7.1f%%", who,
			 (double)r->steps * 1e9 / ns, step, (double)r->kernels * 1e9 / ns,
			 100 * (double)r->busy / ns);
	if (r->latest == INT64_MIN)
		snprintf(line + n, sizeof line - (size_t)n, "   nothing yet");
	else if (s->epoch[r->group] && old > STALE_NS)
		snprintf(line + n, sizeof line - (size_t)n, "   nothing for %s",
			 assay_fmt_time(age, old));
	put_line(out, line, columns);
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
	for (size_t i = 0; i < all->rank.n && i < ASSAY_RECENT_SHOWN; i++)
		print_rank(out, run, &all->rank.p[i], now, columns);
	if (all->rank.n > ASSAY_RECENT_SHOWN)
		fprintf(out, "  %zu more processes\n", all->rank.n - ASSAY_RECENT_SHOWN);
}
