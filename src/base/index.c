/* See index.h. */
#include "base/index.h"

#include <assert.h>

#include "base/sort.h"
#include "base/test.h"

/* Any order will do that is the same everywhere. */
static int64_t placed(uint64_t key)
{
	return (int64_t)key;
}

void assay_index_add(assay_index *x, uint64_t key, uint32_t row)
{
	assert(!x->near.n); /* it is not closed */
	x->mixed = x->mixed || (x->key.n && x->key.p[x->key.n - 1] > placed(key));
	*assay_push(&x->key) = placed(key);
	*assay_push(&x->row) = row;
}

static void put_in_order(assay_index *x)
{
	assay_index by_key = {.mixed = false};
	size_t n = x->key.n;
	assay_vec(uint32_t) order = {0};
	assay_vec_reserve(&order, n);
	assay_vec_reserve(&by_key.key, n);
	assay_vec_reserve(&by_key.row, n);
	for (uint32_t i = 0; i < n; i++)
		order.p[i] = i;
	assay_sort_rows(order.p, n, x->key.p);
	for (size_t i = 0; i < n; i++) {
		by_key.key.p[i] = x->key.p[order.p[i]];
		by_key.row.p[i] = x->row.p[order.p[i]];
	}
	by_key.key.n = by_key.row.n = n;
	assay_vec_free(&order);
	assay_index_free(x);
	*x = by_key;
}

void assay_index_close(assay_index *x, bool (*wins)(const void *ctx, uint32_t row, uint32_t over),
		       const void *ctx)
{
	size_t n = 0;
	assert(!x->near.n);
	if (x->mixed)
		put_in_order(x);
	for (size_t i = 0; i < x->key.n; i++) {
		if (n && x->key.p[n - 1] == x->key.p[i]) {
			if (wins && wins(ctx, x->row.p[i], x->row.p[n - 1]))
				x->row.p[n - 1] = x->row.p[i];
			continue;
		}
		x->key.p[n] = x->key.p[i];
		x->row.p[n++] = x->row.p[i];
	}
	x->key.n = x->row.n = n;
	*assay_push(&x->near) = 0;
}

/* The first of the keys that is not below one, looked for at growing distances from a place. */
static size_t first_from(const int64_t *key, size_t n, size_t at, int64_t want)
{
	size_t low = at, high = at, step = 1; /* below low all are below, from high on none is */
	while (low && key[low - 1] >= want) {
		high = low - 1;
		low = low > step ? low - step : 0;
		step *= 2;
	}
	for (step = 1; high < n && key[high] < want; step *= 2) {
		low = high + 1;
		high = n - high > step ? high + step : n;
	}
	while (low < high) {
		size_t mid = low + (high - low) / 2;
		if (key[mid] < want)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

uint32_t assay_index_find(const assay_index *x, uint64_t key)
{
	size_t n = x->key.n;
	if (!n)
		return ASSAY_INDEX_ABSENT;
	assert(x->near.n); /* it is closed */
	size_t at = x->near.p[0] = first_from(x->key.p, n, x->near.p[0], placed(key));
	return at < n && x->key.p[at] == placed(key) ? x->row.p[at] : ASSAY_INDEX_ABSENT;
}

void assay_index_free(assay_index *x)
{
	assay_vec_free(&x->key);
	assay_vec_free(&x->row);
	assay_vec_free(&x->near);
	*x = (assay_index){.mixed = false};
}

static bool even_wins(const void *ctx, uint32_t row, uint32_t over)
{
	(void)ctx;
	return row % 2 == 0 && over % 2;
}

/* Keys of every kind of neighbourhood, asked from every place. */
TEST(an_index_finds_what_it_was_given_from_anywhere)
{
	static const uint64_t keys[] = {7, 3, 3, UINT64_MAX, 0, 1u << 30, 8, 9, 10, 1ull << 41};
	enum { N = ASSAY_COUNT_OF(keys) };
	assay_index x = {.mixed = false};
	CHECK_EQ(assay_index_find(&x, 7), ASSAY_INDEX_ABSENT);
	for (uint32_t i = 0; i < N; i++)
		assay_index_add(&x, keys[i], i);
	assay_index_close(&x, NULL, NULL);
	CHECK_EQ(x.key.n, N - 1);
	for (uint32_t i = 0; i < N; i++)
		for (uint32_t k = 0; k < N; k++) {
			assay_index_find(&x, keys[i] + 5);
			CHECK_EQ(assay_index_find(&x, keys[k]), k == 2 ? 1 : k);
		}
	CHECK_EQ(assay_index_find(&x, 4), ASSAY_INDEX_ABSENT);
	assay_index_free(&x);
	return 0;
}

TEST(of_equal_keys_the_first_stays_unless_another_wins)
{
	for (uint64_t before = 0; before < 2; before++) { /* in order, and not */
		assay_index x = {.mixed = false};
		assay_index_add(&x, 6 * before, 100);
		for (uint32_t row = 1; row < 5; row++)
			assay_index_add(&x, 5, row);
		assay_index_close(&x, even_wins, NULL);
		CHECK_EQ(assay_index_find(&x, 5), 2);
		CHECK_EQ(assay_index_find(&x, 6 * before), 100);
		assay_index_free(&x);
	}
	return 0;
}
