/* What makes a rank late: what its device does longer than that of the median rank. In a job
 * whose ranks run in step a late rank waits less and works, or is kept waiting by its own host,
 * longer. */
#include <stdlib.h>
#include <string.h>

#include "analyze/analyze.h"
#include "base/median.h"
#include "base/test.h"
#include "model/machine.h"

/* ns for each collective the rank takes part in, so that a recording that was cut compares. */
struct effort {
	double of[ASSAY_LATE_COUNT];
};

static void sum_efforts(const assay_tables *t, const assay_map *rank_of, struct effort *e)
{
	const assay_device_time_table *d = &t->device_time;
	for (size_t i = 0; i < d->n; i++) {
		uint32_t r = assay_map_get(rank_of, assay_group_of(t, d->source[i]));
		if (r == ASSAY_MAP_ABSENT)
			continue;
		e[r].of[ASSAY_LATE_COMPUTE] += (double)d->compute[i];
		e[r].of[ASSAY_LATE_COPY] += (double)d->exposed_copy[i];
	}
	for (size_t i = 0; i < t->idle_cause.n; i++) {
		assay_rest_behind(t, ASSAY_T_idle_cause, i);
		uint32_t source = assay_group_of(t, d->source[t->idle_cause.device[i]]);
		uint32_t r = assay_map_get(rank_of, source);
		if (r != ASSAY_MAP_ABSENT)
			e[r].of[assay_why_rows[t->idle_cause.cause[i]].late] +=
				(double)t->idle_cause.dur[i];
	}
	for (size_t r = 0; r < t->rank.n; r++)
		for (int k = 0; k < ASSAY_LATE_COUNT; k++)
			e[r].of[k] /= (double)(t->rank.matched[r] ? t->rank.matched[r] : 1);
}

/* Of two the smaller one, so that the late one of a pair stands out. */
static struct effort median_effort(const struct effort *e, const assay_rank_table *r,
				   assay_arena *a)
{
	struct effort m = {0};
	double *of = assay_alloc(a, (r->n + 1) * sizeof *of);
	for (int k = 0; k < ASSAY_LATE_COUNT; k++) {
		size_t n = 0;
		for (size_t i = 0; i < r->n; i++)
			if (r->matched[i])
				of[n++] = e[i].of[k];
		m.of[k] = n ? assay_median_lower_f64(of, n) : 0;
	}
	return m;
}

/* Waiting inside a collective is lost only where nothing hides the collective, and the same delay
 * may be waited for in several collectives that wait for each other. A collective on the host hides
 * nothing. */
static void find_lost(assay_run *run, bool on_host, assay_arena *a)
{
	assay_tables *t = &run->part.t;
	const assay_device_time_table *d = &t->device_time;
	int64_t *v = assay_alloc(a, (d->n + 1) * sizeof *v), most = INT64_MAX;
	if (d->n && !on_host) {
		memcpy(v, d->exposed_comm, d->n * sizeof *v);
		most = assay_median_upper(v, d->n);
	}
	for (size_t i = 0; i < t->rank.n; i++) {
		int64_t each = t->rank.caused[i] / (int64_t)(t->rank.n - 1);
		t->rank.lost[i] = each < most ? each : most;
	}
}

/* What explains less than a quarter of what the others lose does not explain it. */
static void say_why(assay_rank_table *r, size_t i, const struct effort *own,
		    const struct effort *median)
{
	double most = 0, late = (double)r->lost[i];
	if (r->caused[i] <= 0)
		return;
	r->why[i] = ASSAY_LATE_ELSEWHERE;
	for (int k = ASSAY_LATE_COMPUTE; k <= ASSAY_LATE_COPY; k++) {
		double excess = (own->of[k] - median->of[k]) * (double)r->matched[i];
		if (excess <= most || excess < late / 4)
			continue;
		most = excess;
		r->why[i] = (uint8_t)k;
		r->excess[i] = (int64_t)excess;
	}
}

static void name_hosts(assay_run *run, const assay_map *rank_of)
{
	assay_tables *t = &run->part.t;
	bool told = true;
	for (size_t i = 0; i < t->rank.n; i++)
		told &= assay_machine_is_told_by_path(run, t->rank.source[i]);
	for (size_t i = 0; i < t->rank.n; i++) {
		assay_str host =
			assay_machine_in_path(assay_text(run, t->source.path[t->rank.source[i]]));
		t->rank.host[i] = told && host.n ? assay_intern(&run->part.strings, host) : 0;
	}
	for (size_t i = 0; i < t->meta.n; i++) {
		assay_str host = assay_machine_in_fact(run, i);
		if (!host.n)
			continue;
		uint32_t r = assay_map_get(rank_of, assay_group_of(t, t->meta.source[i]));
		if (r != ASSAY_MAP_ABSENT)
			t->rank.host[r] = assay_intern(&run->part.strings, host);
	}
}

void assay_late_causes(assay_run *run, bool on_host)
{
	assay_rank_table *r = &run->part.t.rank;
	assay_arena scratch = {0};
	assay_map rank_of = {0};
	if (r->n < 2)
		return;
	for (uint32_t i = 0; i < r->n; i++)
		*assay_map_at(&rank_of, r->source[i]) = i;
	struct effort *own = assay_alloc(&scratch, r->n * sizeof *own);
	sum_efforts(&run->part.t, &rank_of, own);
	struct effort median = median_effort(own, r, &scratch);
	find_lost(run, on_host, &scratch);
	for (size_t i = 0; i < r->n; i++)
		say_why(r, i, &own[i], &median);
	name_hosts(run, &rank_of);
	assay_map_free(&rank_of);
	assay_arena_free(&scratch);
}

/* Three ranks that compute 100 each, but for the last one, whose host waits for data or whose
 * device computes longer. */
static int check_cause(int64_t compute, int64_t data, assay_late want, int64_t excess)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	for (uint32_t i = 0; i < 3; i++) {
		uint32_t s = assay_add(t, ASSAY_T_source), r = assay_add(t, ASSAY_T_rank);
		uint32_t d = assay_add(t, ASSAY_T_device_time);
		uint32_t c = assay_add(t, ASSAY_T_idle_cause);
		t->rank.source[r] = t->device_time.source[d] = s;
		t->rank.matched[r] = 10;
		t->device_time.compute[d] = i == 2 ? 100 + compute : 100;
		t->idle_cause.device[c] = d;
		t->idle_cause.cause[c] = ASSAY_WHY_HOST_DATA;
		t->idle_cause.dur[c] = i == 2 ? 10 + data : 10;
	}
	t->rank.caused[2] = 100; /* each of two others waits 50 */
	assay_late_causes(run, true);
	CHECK_EQ(t->rank.why[2], want);
	CHECK_EQ(t->rank.excess[2], excess);
	CHECK_EQ(t->rank.why[0], ASSAY_LATE_NOT);
	assay_run_free(run);
	return 0;
}

TEST(a_late_rank_is_explained_by_what_it_does_longer)
{
	CHECK_EQ(check_cause(50, 0, ASSAY_LATE_COMPUTE, 50), 0);
	CHECK_EQ(check_cause(0, 50, ASSAY_LATE_DATA, 50), 0);
	CHECK_EQ(check_cause(30, 40, ASSAY_LATE_DATA, 40), 0);
	CHECK_EQ(check_cause(10, 5, ASSAY_LATE_ELSEWHERE, 0), 0);
	return 0;
}
