/* Lengths put together by a key. */
#include "base/sums.h"

#include <assert.h>
#include <stdlib.h>

#include "base/compare.h"
#include "base/median.h"
#include "base/test.h"

void assay_sums_add(assay_sums *s, uint64_t key, int64_t length)
{
	uint32_t *slot = assay_map_at(&s->at, key);
	if (*slot == ASSAY_MAP_ABSENT) {
		*slot = (uint32_t)s->row.n;
		*assay_push(&s->row) = (assay_sum){.key = key, .most = length};
	}
	assay_sum *sum = &s->row.p[*slot];
	sum->count++;
	sum->total += length;
	sum->most = length > sum->most ? length : sum->most;
	*assay_push(&s->length) = length;
	*assay_push(&s->of) = *slot;
}

static int by_total(const void *a, const void *b)
{
	const assay_sum *x = a, *y = b;
	return assay_then(ASSAY_CMP(x->key >> 32, y->key >> 32),
			  assay_then(ASSAY_CMP(y->total, x->total), ASSAY_CMP(x->key, y->key)));
}

/* Lengths of a row stand together when they are sorted by it. */
static void find_medians(assay_sums *s)
{
	assay_vec(int64_t) sorted = {0};
	assay_vec(size_t) end = {0};
	assay_vec_reserve(&sorted, s->length.n + 1);
	for (size_t i = 0, all = 0; i < s->row.n; all += s->row.p[i++].count)
		*assay_push(&end) = all;
	assert(s->of.n == s->length.n);
	for (size_t i = 0; i < s->length.n; i++)
		sorted.p[end.p[s->of.p[i]]++] = s->length.p[i];
	for (size_t i = 0; i < s->row.n; i++) {
		size_t n = s->row.p[i].count;
		s->row.p[i].median = assay_median_upper(sorted.p + end.p[i] - n, n);
	}
	assay_vec_free(&sorted);
	assay_vec_free(&end);
}

void assay_sums_finish(assay_sums *s)
{
	find_medians(s);
	if (s->row.n)
		qsort(s->row.p, s->row.n, sizeof *s->row.p, by_total);
}

void assay_sums_free(assay_sums *s)
{
	assay_vec_free(&s->row);
	assay_map_free(&s->at);
	assay_vec_free(&s->length);
	assay_vec_free(&s->of);
}

TEST(lengths_are_summed_by_key_and_the_longest_comes_first)
{
	static const struct {
		uint64_t key;
		int64_t length;
	} in[] = {{7, 5}, {3, 1}, {7, 1}, {1ull << 32, 99}, {7, 3}, {3, 2}, {2, 9}};
	assay_sums s = {0};
	for (size_t i = 0; i < ASSAY_COUNT_OF(in); i++)
		assay_sums_add(&s, in[i].key, in[i].length);
	assay_sums_finish(&s);
	CHECK_EQ(s.row.n, 4);
	CHECK(s.row.p[0].key == 2 && s.row.p[1].key == 7 && s.row.p[2].key == 3);
	CHECK(s.row.p[1].count == 3 && s.row.p[1].total == 9 && s.row.p[1].most == 5);
	CHECK(s.row.p[1].median == 3 && s.row.p[2].median == 2);
	CHECK(s.row.p[3].key == 1ull << 32 && s.row.p[3].median == 99);
	assay_sums_free(&s);
	return 0;
}
