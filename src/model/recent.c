/* What each process of a recording did in its last stretch. */
#include "model/recent.h"

#include "base/sort.h"
#include "base/test.h"

#define LEAST_NS 1000000000ll /* rates of less say nothing */

static assay_recent_rank *rank_of(assay_recent *all, uint32_t group)
{
	while (all->of_group.n <= group)
		*assay_push(&all->of_group) = 0;
	uint32_t *place = &all->of_group.p[group];
	if (!*place) {
		*assay_push(&all->rank) = (assay_recent_rank){
			.group = group, .first = INT64_MIN, .latest = INT64_MIN};
		*place = (uint32_t)all->rank.n;
	}
	return &all->rank.p[*place - 1];
}

static void see(assay_recent *all, uint32_t group, int64_t start, int64_t ns)
{
	assay_recent_rank *r = rank_of(all, group);
	r->first = r->first == INT64_MIN || start < r->first ? start : r->first;
	r->latest = start + ns > r->latest ? start + ns : r->latest;
}

static void find_latest(const assay_tables *t, assay_recent *all)
{
	for (uint32_t i = 0; i < t->source.n; i++)
		rank_of(all, assay_group_of(t, i));
	for (size_t i = 0; i < t->gpu.n; i++)
		see(all, assay_track_group(t, t->gpu.track[i]), t->gpu.ts[i], t->gpu.dur[i]);
	for (size_t i = 0; i < t->host.n; i++)
		see(all, assay_track_group(t, t->host.track[i]), t->host.ts[i], t->host.dur[i]);
	for (size_t i = 0; i < all->rank.n; i++) {
		assay_recent_rank *r = &all->rank.p[i];
		int64_t seen = r->latest - r->first;
		r->span = seen > LEAST_NS ? seen : LEAST_NS;
		r->span = r->span < all->last ? r->span : all->last;
	}
}

/* Of a rank that was never seen the stretch has no begin. */
static int64_t begin_of(const assay_recent *all, const assay_recent_rank *r)
{
	return r->latest < INT64_MIN + all->last ? INT64_MIN : r->latest - all->last;
}

static void add_steps(const assay_tables *t, assay_recent *all)
{
	for (size_t i = 0; i < t->step.n; i++) {
		assay_recent_rank *r = rank_of(all, assay_group_of(t, t->step.source[i]));
		int64_t end = t->step.ts[i] + t->step.dur[i];
		if (end <= begin_of(all, r))
			continue;
		r->steps++;
		r->step_ns += t->step.dur[i];
	}
}

/* Work in the order of its start: what reaches beyond all before it is busy. */
static void add_work(const assay_tables *t, assay_recent *all)
{
	assay_vec(uint32_t) rows = {0};
	assay_vec(int64_t) until = {0};
	for (uint32_t i = 0; i < t->gpu.n; i++)
		*assay_push(&rows) = i;
	for (size_t i = 0; i < all->rank.n; i++)
		*assay_push(&until) = begin_of(all, &all->rank.p[i]);
	if (rows.n)
		assay_sort_rows(rows.p, rows.n, t->gpu.ts);
	for (size_t i = 0; i < rows.n; i++) {
		uint32_t g = rows.p[i];
		assay_recent_rank *r = rank_of(all, assay_track_group(t, t->gpu.track[g]));
		int64_t *reached = &until.p[r - all->rank.p], from = t->gpu.ts[g];
		int64_t end = from + t->gpu.dur[g];
		if (end <= *reached)
			continue;
		r->kernels += t->gpu.kind[g] == ASSAY_GPU_KERNEL;
		r->busy += end - (from > *reached ? from : *reached);
		*reached = end;
	}
	assay_vec_free(&rows);
	assay_vec_free(&until);
}

assay_recent assay_recent_of(const assay_tables *t, int64_t last)
{
	assay_recent all = {.last = last};
	find_latest(t, &all);
	add_steps(t, &all);
	add_work(t, &all);
	return all;
}

void assay_recent_free(assay_recent *r)
{
	assay_vec_free(&r->rank);
	assay_vec_free(&r->of_group);
}

TEST(a_rank_of_which_nothing_was_seen_has_its_steps)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	uint32_t source = assay_add(t, ASSAY_T_source), row = assay_add(t, ASSAY_T_step);
	t->step.source[row] = source;
	t->step.ts[row] = -5;
	t->step.dur[row] = 3;
	assay_recent all = assay_recent_of(t, 10);
	CHECK_EQ(all.rank.n, 1);
	CHECK_EQ(all.rank.p[0].steps, 1);
	CHECK_EQ(all.rank.p[0].step_ns, 3);
	assay_recent_free(&all);
	assay_run_free(run);
	return 0;
}

TEST(rates_of_a_young_rank_are_over_what_there_is_of_it)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	assay_add(t, ASSAY_T_source);
	uint32_t track = assay_add(t, ASSAY_T_track);
	t->track.source[track] = 0;
	for (int i = 0; i < 2; i++) {
		uint32_t row = assay_add(t, ASSAY_T_host);
		t->host.track[row] = track;
		t->host.ts[row] = 100 + 3 * i * LEAST_NS;
		t->host.dur[row] = LEAST_NS;
	}
	assay_recent young = assay_recent_of(t, 10 * LEAST_NS), old = assay_recent_of(t, LEAST_NS);
	CHECK_EQ(young.rank.p[0].span, 4 * LEAST_NS);
	CHECK_EQ(old.rank.p[0].span, LEAST_NS);
	assay_recent_free(&young);
	assay_recent_free(&old);
	assay_run_free(run);
	return 0;
}
