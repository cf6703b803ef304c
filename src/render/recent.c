/* The processes of a recording that goes on. */
#include "render/recent.h"

#include <time.h>

#include "base/fmt.h"

#define STALE_NS 3000000000ll

static void print_rank(FILE *out, const assay_run *run, const assay_recent_rank *r, int64_t last,
		       int64_t now)
{
	const assay_source_table *s = &run->part.t.source;
	char step[ASSAY_FMT] = "-", age[ASSAY_FMT], who[32] = "-";
	double seconds = (double)last / 1e9;
	int64_t old = r->latest == INT64_MIN ? 0 : now - (r->latest + s->base[r->group]);
	if (s->rank[r->group] >= 0)
		snprintf(who, sizeof who, "%d", s->rank[r->group]);
	if (r->steps)
		assay_fmt_time(step, r->step_ns / (int64_t)r->steps);
	fprintf(out, "  %6s %10.2f %10s %12.0f %7.1f%%", who, (double)r->steps / seconds, step,
		(double)r->kernels / seconds, 100 * (double)r->busy / (double)last);
	if (r->latest == INT64_MIN)
		fprintf(out, "   nothing yet");
	else if (s->epoch[r->group] && old > STALE_NS)
		fprintf(out, "   nothing for %s", assay_fmt_time(age, old));
	fprintf(out, "\n");
}

void assay_recent_head(FILE *out, const char *run, bool more, size_t alive, int64_t now)
{
	char clock[32];
	time_t seconds = (time_t)(now / 1000000000);
	struct tm tm;
	strftime(clock, sizeof clock, "%H:%M:%S", localtime_r(&seconds, &tm));
	fprintf(out, "%s%s  %s, %zu process%s record\n", run, more ? " ..." : "", clock, alive,
		alive == 1 ? "" : "es");
}

void assay_recent_text(FILE *out, const assay_run *run, const assay_recent *all, int64_t now)
{
	char span[ASSAY_FMT];
	fprintf(out, "  %6s %10s %10s %12s %8s   in the last %s\n", "rank", "steps/s", "step",
		"kernels/s", "busy", assay_fmt_time(span, all->last));
	for (size_t i = 0; i < all->rank.n && i < ASSAY_RECENT_SHOWN; i++)
		print_rank(out, run, &all->rank.p[i], all->last, now);
	if (all->rank.n > ASSAY_RECENT_SHOWN)
		fprintf(out, "  %zu more processes\n", all->rank.n - ASSAY_RECENT_SHOWN);
}
