/* Times that no clock shows, brought into a range in which the analyses cannot overflow. What is
 * changed is counted; real recordings never are. */
#include "analyze/analyze.h"

#include "base/test.h"
#include "model/by_hand.h"

/* 73 years to both sides of the clock's zero, which may be 1970. */
static const int64_t furthest = (int64_t)1 << 61;

static bool is_bounded(const int64_t *v, size_t n, int64_t least, int64_t most)
{
	bool beyond = false;
	for (size_t i = 0; i < n; i++)
		beyond |= (uint64_t)v[i] - (uint64_t)least > (uint64_t)most - (uint64_t)least;
	return !beyond;
}

static uint64_t bound_column(int64_t *v, size_t n, int64_t least, int64_t most)
{
	uint64_t changed = 0;
	if (is_bounded(v, n, least, most))
		return 0;
	for (size_t i = 0; i < n; i++) {
		int64_t kept = v[i] < least ? least : v[i] > most ? most : v[i];
		changed += kept != v[i];
		v[i] = kept;
	}
	return changed;
}

/* Lengths are summed, so all of a table together must fit. */
static uint64_t bound_spans(int64_t *ts, int64_t *dur, size_t n)
{
	return bound_column(ts, n, -furthest, furthest) +
	       bound_column(dur, n, -1, furthest / (int64_t)(n + 1));
}

/* So are sizes of memory. */
static uint64_t bound_memory(assay_alloc_table *a)
{
	int64_t most = furthest / (int64_t)(a->n + 1);
	return bound_column(a->ts, a->n, -furthest, furthest) +
	       bound_column(a->bytes, a->n, -most, most) +
	       bound_column(a->total, a->n, -1, furthest);
}

void assay_bound_times(assay_run *run)
{
	assay_tables *t = &run->part.t;
	uint64_t changed = bound_spans(t->host.ts, t->host.dur, t->host.n) +
			   bound_spans(t->gpu.ts, t->gpu.dur, t->gpu.n) +
			   bound_spans(t->sync.ts, t->sync.dur, t->sync.n) +
			   bound_spans(t->mark.ts, t->mark.dur, t->mark.n) +
			   bound_memory(&t->alloc) +
			   bound_column(t->counter.ts, t->counter.n, -furthest, furthest) +
			   bound_column(t->source.base, t->source.n, -furthest, furthest);
	assay_count(&run->part, ASSAY_ISSUE_wide_value, changed);
}

TEST(times_beyond_any_clock_are_bounded_and_counted)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	const int64_t ts[] = {INT64_MIN, 1790857026000000000, 5},
		      dur[] = {INT64_MAX, 3600000000000, -7};
	for (int i = 0; i < 3; i++)
		assay_hand_gpu(run, "", ts[i], dur[i], ASSAY_NO_ROW);
	assay_bound_times(run);
	CHECK(t->gpu.ts[0] == -furthest && t->gpu.dur[0] == furthest / 4);
	CHECK(t->gpu.ts[1] == ts[1] && t->gpu.dur[1] == dur[1] && t->gpu.dur[2] == -1);
	CHECK_EQ(run->part.issues[ASSAY_ISSUE_wide_value], 3);
	assay_run_free(run);
	return 0;
}
