/* How far the clocks of ranks are apart: all ranks leave a collective at about the same time. */
#include <assert.h>
#include <stdlib.h>

#include "analyze/rank_calls.h"
#include "base/compare.h"
#include "base/median.h"

/* How far the end of a call is from the end of the same collective on a rank whose clock is set. */
struct distance {
	uint32_t rank;
	int64_t ns;
	int64_t doubt; /* spread of the other rank */
};

static int by_rank_and_ns(const void *a, const void *b)
{
	const struct distance *x = a, *y = b;
	return assay_then(assay_then(ASSAY_CMP(x->rank, y->rank), ASSAY_CMP(x->ns, y->ns)),
			  ASSAY_CMP(x->doubt, y->doubt));
}

static void find_distances(const assay_matching *m, const bool *set, assay_spill *out)
{
	const assay_rank_table *r = &m->run->part.t.rank;
	assay_match it;
	assay_matches_read(&it, m, false);
	while (assay_matches_next(&it)) {
		const assay_rank_call *c = it.call.p;
		size_t known = 0;
		while (known < it.n && !set[c[known].rank])
			known++;
		for (size_t k = 0; known < it.n && k < it.n; k++)
			if (!set[c[k].rank])
				assay_spill_push(
					out, &(struct distance){.rank = c[k].rank,
								.ns = c[k].end - c[known].end +
								      r->offset[c[known].rank],
								.doubt = r->spread[c[known].rank]});
	}
	assay_matches_leave(&it);
	assay_spill_end(out);
}

typedef assay_vec(int64_t) lengths;

/* ns: of one rank, rising. An offset smaller than three times its own spread is no offset. */
static void set_clock(assay_rank_table *r, uint32_t rank, lengths *ns, int64_t doubt)
{
	assert(ns->n && ns->p[0] <= ns->p[ns->n - 1]);
	int64_t middle = ns->p[ns->n / 2];
	for (size_t i = 0; i < ns->n; i++)
		ns->p[i] = llabs(ns->p[i] - middle);
	r->spread[rank] = assay_median_upper(ns->p, ns->n) + doubt;
	r->offset[rank] = llabs(middle) > 3 * r->spread[rank] ? middle : 0;
}

/* Clocks of ranks that share a collective with one whose clock is set; how many they are. */
static size_t set_next_clocks(const assay_matching *m, bool *set)
{
	assay_spill d = {.width = sizeof(struct distance), .compare = by_rank_and_ns};
	assay_spill_reader reader;
	lengths ns = {0};
	size_t ranks = 0;
	find_distances(m, set, &d);
	assay_spill_read(&reader, &d);
	for (const struct distance *one = assay_spill_next(&reader); one; ranks++) {
		uint32_t rank = one->rank;
		int64_t doubt = 0;
		for (ns.n = 0; one && one->rank == rank; one = assay_spill_next(&reader)) {
			*assay_push(&ns) = one->ns;
			doubt = one->doubt > doubt ? one->doubt : doubt;
		}
		set[rank] = true;
		set_clock(&m->run->part.t.rank, rank, &ns, doubt);
	}
	assay_spill_leave(&reader);
	assay_spill_free(&d);
	assay_vec_free(&ns);
	return ranks;
}

/* The lowest rank, in whatever order ranks were read. */
static uint32_t first_rank(const assay_rank_table *r)
{
	uint32_t first = 0;
	for (uint32_t i = 1; i < r->n; i++)
		first = r->rank[i] < r->rank[first] ? i : first;
	return first;
}

static uint32_t joined_to(uint32_t *join, uint32_t rank)
{
	while (join[rank] != rank)
		rank = join[rank] = join[join[rank]];
	return rank;
}

/* Ranks that a chain of collectives joins; first[] of their name: whom their first collective has
 * first. */
static void join_ranks(const assay_matching *m, uint32_t *join, uint32_t *first)
{
	assay_match it;
	uint32_t n = (uint32_t)m->run->part.t.rank.n;
	for (uint32_t i = 0; i < n; i++) {
		join[i] = i;
		first[i] = ASSAY_NO_ROW;
	}
	assay_matches_read(&it, m, false);
	while (assay_matches_next(&it))
		for (size_t k = 1; k < it.n; k++)
			join[joined_to(join, it.call.p[k].rank)] =
				joined_to(join, it.call.p[0].rank);
	assay_matches_leave(&it);
	assay_matches_read(&it, m, false);
	while (assay_matches_next(&it)) {
		uint32_t *one = &first[joined_to(join, it.call.p[0].rank)];
		if (it.n > 1 && *one == ASSAY_NO_ROW)
			*one = it.call.p[0].rank;
	}
	assay_matches_leave(&it);
}

/* Against the first rank's clock, directly or by way of other ranks: not every group has the first
 * rank. Ranks that no chain of groups joins have clocks of their own, and share no collective. */
void assay_rank_clocks(const assay_matching *m)
{
	assay_rank_table *r = &m->run->part.t.rank;
	assay_arena scratch = {0};
	bool *set = assay_alloc(&scratch, r->n + 1);
	uint32_t *join = assay_alloc(&scratch, (r->n + 1) * sizeof *join);
	uint32_t *first = assay_alloc(&scratch, (r->n + 1) * sizeof *first);
	size_t left = 0;
	join_ranks(m, join, first);
	if (r->n)
		first[joined_to(join, first_rank(r))] = first_rank(r);
	for (uint32_t i = 0; i < r->n; i++) {
		r->offset[i] = 0;
		r->spread[i] = -1;
		if (first[i] != ASSAY_NO_ROW)
			set[first[i]] = true;
	}
	for (uint32_t i = 0; i < r->n; i++)
		left += !set[i] && first[joined_to(join, i)] != ASSAY_NO_ROW;
	for (size_t n; left && (n = set_next_clocks(m, set));)
		left -= n;
	assay_arena_free(&scratch);
}
