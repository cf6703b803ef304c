#include "analyze/rank_calls.h"

#include <stdlib.h>

#include "base/compare.h"
#include "base/test.h"

static uint32_t rank_row(assay_matching *m, uint32_t source)
{
	assay_tables *t = &m->run->part.t;
	uint32_t *slot = assay_map_at(&m->rank_of, source);
	if (*slot == ASSAY_MAP_ABSENT) {
		*slot = assay_add(t, ASSAY_T_rank);
		t->rank.source[*slot] = source;
		t->rank.rank[*slot] = t->source.rank[source];
	}
	return *slot;
}

static void take_call(assay_matching *m, assay_spill *by_id, const assay_kept_call *c,
		      uint32_t kind, uint32_t row)
{
	assay_spill_push(by_id, &(assay_rank_call){.match = c->id,
						   .rank = rank_row(m, c->source),
						   .row = row,
						   .kind = kind,
						   .ts = c->ts,
						   .end = c->end,
						   .step = c->step});
}

static void take_rows(assay_matching *m, assay_spill *by_id)
{
	for (uint32_t i = 0; i < m->run->part.t.call.n; i++) {
		uint32_t kind = assay_comm_kind_of(&m->kinds, m->run, i);
		assay_kept_call one = assay_kept_call_of(&m->kinds.kind.p[kind], m->run, i);
		take_call(m, by_id, &one, kind, i);
	}
}

/* Those of ranks without events. */
static void take_kept(assay_matching *m, assay_spill *by_id)
{
	assay_kept_calls *k = m->run->kept_calls;
	uint32_t kinds = (uint32_t)m->kinds.kind.n;
	assay_spill_reader r;
	if (!k)
		return;
	for (size_t i = 0; i < k->kinds.kind.n; i++)
		*assay_push(&m->kinds.kind) = k->kinds.kind.p[i];
	assay_spill_end(&k->call);
	assay_spill_read(&r, &k->call);
	for (const assay_kept_call *c; (c = assay_spill_next(&r));) {
		assay_kept_call one = *c;
		one.source = k->source.n ? k->source.p[c->source] : c->source;
		if (one.source != ASSAY_NO_ROW)
			take_call(m, by_id, &one, kinds + c->kind, ASSAY_NO_ROW);
	}
	assay_spill_leave(&r);
}

static int by_rank(const assay_rank_call *x, const assay_rank_call *y)
{
	int rank = assay_then(ASSAY_CMP(x->rank, y->rank), ASSAY_CMP(x->row, y->row));
	return assay_then(assay_then(rank, ASSAY_CMP(x->ts, y->ts)), ASSAY_CMP(x->end, y->end));
}

static int by_id(const void *a, const void *b)
{
	const assay_rank_call *x = a, *y = b;
	return assay_then(ASSAY_CMP(x->match, y->match), by_rank(x, y));
}

/* In order of time, so that rows do not depend on the numbers strings got. */
static int by_place(const void *a, const void *b)
{
	const assay_rank_call *x = a, *y = b;
	int place = assay_then(ASSAY_CMP(x->at, y->at), ASSAY_CMP(x->first, y->first));
	return assay_then(place, by_id(a, b));
}

/* Calls with one id are one collective, unless there are more of them than ranks in the group. */
static void match_calls(assay_matching *m, const assay_spill *with_id)
{
	assay_match it = {.of = m};
	uint64_t matches = 0;
	assay_spill_read(&it.reader, with_id);
	it.next = assay_spill_next(&it.reader);
	while (assay_matches_next(&it)) {
		int32_t size = assay_call_comm(m, it.call.p)->size;
		bool crowded = size > 0 && it.call.n > (size_t)size;
		m->crowded += crowded ? it.call.n : 0;
		for (size_t i = 0; i < it.call.n; i++) {
			assay_rank_call *c = &it.call.p[i], *first = crowded ? c : &it.call.p[0];
			c->match = crowded || !i ? matches++ : matches - 1;
			c->at = first->ts;
			c->first = first->rank;
			assay_spill_push(&m->call, c);
		}
	}
	assay_matches_leave(&it);
	assay_spill_end(&m->call);
}

void assay_matching_make(assay_matching *m, assay_run *run)
{
	assay_spill with_id = {.width = sizeof(assay_rank_call), .compare = by_id};
	*m = (assay_matching){
		.run = run,
		.call = {.width = sizeof(assay_rank_call), .compare = by_place},
	};
	take_rows(m, &with_id);
	take_kept(m, &with_id);
	assay_spill_end(&with_id);
	match_calls(m, &with_id);
	assay_spill_free(&with_id);
}

void assay_matching_free(assay_matching *m)
{
	assay_map_free(&m->rank_of);
	assay_comm_kinds_free(&m->kinds);
	assay_spill_free(&m->call);
	assay_arena_free(&m->arena);
}

/* ------------------------------------------------------------------ one after the other */

void assay_matches_read(assay_match *it, const assay_matching *m, bool shifted)
{
	*it = (assay_match){.of = m, .shifted = shifted};
	assay_spill_read(&it->reader, &m->call);
	it->next = assay_spill_next(&it->reader);
}

void assay_matches_leave(assay_match *it)
{
	assay_spill_leave(&it->reader);
	assay_vec_free(&it->call);
}

static void shift(assay_match *it, const int64_t *offset, int64_t sign)
{
	for (size_t i = 0; i < it->call.n; i++) {
		it->call.p[i].ts += sign * offset[it->call.p[i].rank];
		it->call.p[i].end += sign * offset[it->call.p[i].rank];
	}
}

static int by_end(const void *a, const void *b)
{
	const assay_rank_call *x = a, *y = b;
	return assay_then(ASSAY_CMP(x->end, y->end), ASSAY_CMP(x->rank, y->rank));
}

static assay_rank_call median_by_end(const assay_rank_call *c, size_t n, assay_arena *a)
{
	assay_rank_call *sorted = assay_alloc(a, n * sizeof *sorted);
	memcpy(sorted, c, n * sizeof *sorted);
	qsort(sorted, n, sizeof *sorted, by_end);
	return sorted[n / 2];
}

/* Nobody leaves a collective long before or after the others. */
static bool end_together(const assay_rank_call *a, const assay_rank_call *b)
{
	enum { AT_LEAST = 50000 };
	int64_t x = (a->end - a->ts) / 2, y = (b->end - b->ts) / 2;
	int64_t apart = x < y ? x : y;
	return llabs(a->end - b->end) <= (apart > AT_LEAST ? apart : AT_LEAST);
}

/* Calls matched by place only, of recordings that leave calls out, may not belong together: those
 * that do not end with the others come last and stand alone. */
static void part_mismatched(assay_match *it)
{
	assay_rank_call *c = it->call.p;
	size_t kept = 0;
	if (it->call.n < 2 || assay_call_comm(it->of, c)->numbered)
		return;
	assay_arena scratch = {0};
	assay_rank_call *apart = assay_alloc(&scratch, it->call.n * sizeof *apart);
	assay_rank_call median = median_by_end(c, it->call.n, &scratch);
	for (size_t k = 0; k < it->call.n; k++)
		if (end_together(&c[k], &median))
			c[kept++] = c[k];
		else
			apart[k - kept] = c[k];
	memcpy(c + kept, apart, (it->call.n - kept) * sizeof *c);
	it->n = kept;
	assay_arena_free(&scratch);
}

bool assay_matches_next(assay_match *it)
{
	it->call.n = 0;
	if (!it->next)
		return false;
	uint64_t match = it->next->match;
	for (; it->next && it->next->match == match; it->next = assay_spill_next(&it->reader))
		*assay_push(&it->call) = *it->next;
	it->n = it->call.n;
	if (it->of->parted_by) {
		shift(it, it->of->parted_by, -1);
		part_mismatched(it);
		shift(it, it->of->parted_by, 1);
	}
	if (it->shifted)
		shift(it, it->of->run->part.t.rank.offset, -1);
	return true;
}

void assay_matching_part(assay_matching *m)
{
	const assay_rank_table *r = &m->run->part.t.rank;
	assay_match it;
	m->parted_by = assay_alloc(&m->arena, (r->n + 1) * sizeof *m->parted_by);
	if (r->n)
		memcpy(m->parted_by, r->offset, r->n * sizeof *r->offset);
	assay_matches_read(&it, m, false);
	while (assay_matches_next(&it))
		m->mismatched += it.call.n - it.n;
	assay_matches_leave(&it);
}

/* How many of these calls belong together, when they are matched by place. */
static size_t together(bool numbered, int64_t length, const int64_t *ends, size_t n,
		       int64_t *last_end)
{
	assay_comm_kind kind = {.numbered = numbered};
	assay_matching m = {.kinds.kind = {.p = &kind, .n = 1}};
	assay_match it = {.of = &m};
	for (size_t i = 0; i < n; i++)
		*assay_push(&it.call) = (assay_rank_call){
			.rank = (uint32_t)i, .ts = ends[i] - length, .end = ends[i]};
	it.n = n;
	part_mismatched(&it);
	*last_end = it.call.p[n - 1].end;
	size_t kept = it.n;
	assay_vec_free(&it.call);
	return kept;
}

TEST(calls_belong_together_that_end_with_the_one_in_the_middle)
{
	static const int64_t ends[] = {900000, 0, 50000, 1};
	int64_t last;
	CHECK(together(false, 10, ends, 4, &last) == 3 && last == 900000);
	CHECK(together(true, 10, ends, 4, &last) == 4 && last == 1); /* by their numbers */
	CHECK(together(false, 10, (const int64_t[]){0, 50001, 0}, 3, &last) == 2 && last == 50001);
	CHECK(together(false, 10, (const int64_t[]){0, 50001}, 2, &last) == 1 && last == 0);
	CHECK(together(false, 200000, (const int64_t[]){0, 100000, 0}, 3, &last) == 3);
	CHECK(together(false, 200000, (const int64_t[]){0, 100001, 0}, 3, &last) == 2);
	CHECK(together(false, 10, ends, 1, &last) == 1);
	return 0;
}
