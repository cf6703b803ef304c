#include "resolve/marks.h"

#include <assert.h>

#include "base/sort.h"
#include "base/test.h"

static bool in_order(const assay_mark *a, const assay_mark *b)
{
	return a->place != b->place ? a->place < b->place : a->key <= b->key;
}

static bool are_in_order(const assay_marks *m)
{
	for (size_t i = 1; i < m->v.n; i++)
		if (!in_order(&m->v.p[i - 1], &m->v.p[i]))
			return false;
	return true;
}

/* As signed numbers in the same order. */
static int64_t rank(uint64_t value)
{
	return (int64_t)(value ^ 1ull << 63);
}

/* Stable, the less important value first. */
void assay_marks_sort(assay_marks *m)
{
	size_t n = m->v.n;
	if (are_in_order(m))
		return;
	assay_arena scratch = {0};
	uint32_t *row = assay_alloc(&scratch, n * sizeof *row);
	int64_t *value = assay_alloc(&scratch, n * sizeof *value);
	assay_marks sorted = {0};
	for (size_t i = 0; i < n; i++) {
		row[i] = (uint32_t)i;
		value[i] = rank(m->v.p[i].key);
	}
	assay_sort_rows(row, n, value);
	for (size_t i = 0; i < n; i++)
		value[i] = rank(m->v.p[i].place);
	assay_sort_rows(row, n, value);
	assay_vec_reserve(&sorted.v, n);
	for (size_t i = 0; i < n; i++)
		sorted.v.p[i] = m->v.p[row[i]];
	sorted.v.n = n;
	assay_arena_free(&scratch);
	assay_vec_free(&m->v);
	*m = sorted;
}

/* How many marks come before (place, key), or before and at it. */
static size_t count_before(const assay_marks *m, uint64_t place, uint64_t key, bool with)
{
	size_t low = 0, high = m->v.n;
	while (low < high) {
		size_t mid = (low + high) / 2;
		const assay_mark *x = &m->v.p[mid];
		bool before = x->place != place ? x->place < place
			      : with            ? x->key <= key
						: x->key < key;
		if (before)
			low = mid + 1;
		else
			high = mid;
	}
	assert(!low || m->v.p[low - 1].place <= place); /* they are sorted */
	assert(low == m->v.n || m->v.p[low].place >= place);
	return low;
}

const assay_mark *assay_mark_before(const assay_marks *m, uint64_t place, uint64_t key)
{
	size_t n = count_before(m, place, key, false);
	return n && m->v.p[n - 1].place == place ? &m->v.p[n - 1] : NULL;
}

const assay_mark *assay_mark_after(const assay_marks *m, uint64_t place, uint64_t key)
{
	size_t n = count_before(m, place, key, true);
	return n < m->v.n && m->v.p[n].place == place ? &m->v.p[n] : NULL;
}

TEST(marks_are_found_before_and_after_a_key_of_their_place)
{
	assay_marks m = {0};
	*assay_push(&m.v) = (assay_mark){2, 50, 3, 0};
	*assay_push(&m.v) = (assay_mark){1, 20, 2, 0};
	*assay_push(&m.v) = (assay_mark){1, 10, 1, 0};
	CHECK(!assay_mark_before(&(assay_marks){0}, 1, 1));
	assay_marks_sort(&m);
	CHECK_EQ(assay_mark_before(&m, 1, 20)->value, 1);
	CHECK_EQ(assay_mark_before(&m, 1, 90)->value, 2);
	CHECK_EQ(assay_mark_after(&m, 1, 10)->value, 2);
	CHECK(!assay_mark_before(&m, 1, 10) && !assay_mark_after(&m, 1, 20));
	CHECK(!assay_mark_before(&m, 3, 90) && !assay_mark_after(&m, 2, 50));
	assay_vec_free(&m.v);
	return 0;
}
