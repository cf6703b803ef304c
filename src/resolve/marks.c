#include "resolve/marks.h"

#include <stdlib.h>

#include "base/compare.h"
#include "base/test.h"

static int by_place_and_key(const void *a, const void *b)
{
	const assay_mark *x = a, *y = b;
	return assay_then(ASSAY_CMP(x->place, y->place), ASSAY_CMP(x->key, y->key));
}

void assay_marks_sort(assay_marks *m)
{
	if (m->v.n)
		qsort(m->v.p, m->v.n, sizeof *m->v.p, by_place_and_key);
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
