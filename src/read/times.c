#include "read/times.h"

#include <string.h>

#include "base/median.h"
#include "base/test.h"

/* Nanoseconds: 18 years of all rows together, for a file of a busy job has hours a thread; and a
 * year from the middle row. */
static const uint64_t SUM_MOST = (uint64_t)1 << 59, APART_MOST = (uint64_t)1 << 55;

static void bound_lengths(assay_part *part, int64_t *dur, size_t n)
{
	uint64_t bits = 0, most = SUM_MOST / n;
	for (size_t i = 0; i < n; i++)
		bits |= (uint64_t)dur[i] + 1; /* -1: unknown */
	if (bits <= most)
		return;
	double sum = 0;
	for (size_t i = 0; i < n; i++)
		sum += dur[i] > 0 ? (double)dur[i] : 0;
	for (size_t i = 0; sum > (double)SUM_MOST && i < n; i++)
		if (dur[i] > 0 && (uint64_t)dur[i] > most) {
			dur[i] = 0;
			assay_count(part, ASSAY_ISSUE_absurd_time, 1);
		}
}

static bool is_near(int64_t t, int64_t middle)
{
	uint64_t apart = (uint64_t)t - (uint64_t)middle;
	return (t < middle ? 0 - apart : apart) <= APART_MOST;
}

static int64_t middle_of(const int64_t *ts, size_t n)
{
	assay_vec(int64_t) v = {0};
	assay_vec_reserve(&v, n);
	memcpy(v.p, ts, n * sizeof *ts);
	int64_t middle = assay_median_lower(v.p, n);
	assay_vec_free(&v);
	return middle;
}

/* Rows far from the others begin where the first of those does. */
static void bound_moments(assay_part *part, int64_t *ts, int64_t *dur, size_t n)
{
	uint64_t any = 0, all = UINT64_MAX;
	for (size_t i = 0; i < n; i++) {
		any |= (uint64_t)ts[i];
		all &= (uint64_t)ts[i];
	}
	if ((any ^ all) < APART_MOST) /* they differ in low bits only */
		return;
	int64_t middle = middle_of(ts, n), first = middle;
	for (size_t i = 0; i < n; i++)
		if (is_near(ts[i], middle) && ts[i] < first)
			first = ts[i];
	for (size_t i = 0; i < n; i++)
		if (!is_near(ts[i], middle)) {
			ts[i] = first;
			dur[i] = 0;
			assay_count(part, ASSAY_ISSUE_absurd_time, 1);
		}
}

static void bound(assay_part *part, int64_t *ts, int64_t *dur, size_t from, size_t n)
{
	if (n == from)
		return;
	bound_moments(part, ts + from, dur + from, n - from);
	bound_lengths(part, dur + from, n - from);
}

assay_times_mark assay_times_now(const assay_tables *t)
{
	return (assay_times_mark){t->host.n, t->gpu.n, t->sync.n, t->sample.n};
}

void assay_times_bound(assay_part *part, const assay_times_mark *from)
{
	assay_tables *t = &part->t;
	bound(part, t->host.ts, t->host.dur, from->host, t->host.n);
	bound(part, t->gpu.ts, t->gpu.dur, from->gpu, t->gpu.n);
	bound(part, t->sync.ts, t->sync.dur, from->sync, t->sync.n);
	bound(part, t->sample.ts, t->sample.dur, from->sample, t->sample.n);
}

TEST(lengths_whose_sum_cannot_be_are_counted_and_left_out)
{
	const int64_t year = 31536000000000000;
	struct {
		int64_t dur[4], want[4];
		uint64_t counted;
	} cases[] = {
		{{3, -1, 0, year}, {3, -1, 0, year}, 0},
		{{year, 17 * year, -1, 5}, {year, 17 * year, -1, 5}, 0},
		{{INT64_MAX, 7, INT64_MAX, year}, {0, 7, 0, year}, 2},
		{{INT64_MAX, INT64_MIN, 9, 0}, {0, INT64_MIN, 9, 0}, 1},
	};
	for (size_t i = 0; i < ASSAY_COUNT_OF(cases); i++) {
		assay_part part = {0};
		bound_lengths(&part, cases[i].dur, 4);
		CHECK(!memcmp(cases[i].dur, cases[i].want, sizeof cases[i].want));
		CHECK_EQ(part.issues[ASSAY_ISSUE_absurd_time], cases[i].counted);
	}
	return 0;
}

TEST(moments_years_from_the_others_are_counted_and_have_no_length)
{
	const int64_t now = 1794039994139246000;
	struct {
		int64_t ts[3], want[3], dur[3];
		uint64_t counted;
	} cases[] = {
		{{now, now + 5, now - 5}, {now, now + 5, now - 5}, {7, 7, 7}, 0},
		{{-5, 5, 0}, {-5, 5, 0}, {7, 7, 7}, 0},
		{{now + 5, 0, now}, {now + 5, now, now}, {7, 0, 7}, 1},
		{{INT64_MIN, INT64_MAX, 3}, {3, 3, 3}, {0, 0, 7}, 2},
		{{INT64_MIN, INT64_MAX, INT64_MAX},
		 {INT64_MAX, INT64_MAX, INT64_MAX},
		 {0, 7, 7},
		 1},
	};
	for (size_t i = 0; i < ASSAY_COUNT_OF(cases); i++) {
		assay_part part = {0};
		int64_t dur[3] = {7, 7, 7};
		bound_moments(&part, cases[i].ts, dur, 3);
		CHECK(!memcmp(cases[i].ts, cases[i].want, sizeof dur));
		CHECK(!memcmp(dur, cases[i].dur, sizeof dur));
		CHECK_EQ(part.issues[ASSAY_ISSUE_absurd_time], cases[i].counted);
	}
	return 0;
}
