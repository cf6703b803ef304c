#include "base/median.h"

#include <assert.h>
#include <stdlib.h>

#include "base/compare.h"
#include "base/sort.h"
#include "base/test.h"

static int64_t middle_of(int64_t a, int64_t b, int64_t c)
{
	int64_t low = a < b ? a : b, high = a < b ? b : a;
	return c < low ? low : c > high ? high : c;
}

/* What is below the pivot to the front, what is above it to the back: [*from, *to) are equal. */
static void part_by(int64_t *v, size_t n, int64_t pivot, size_t *from, size_t *to)
{
	size_t low = 0, at = 0, high = n;
	while (at < high) {
		int64_t x = v[at];
		if (x < pivot) {
			v[at++] = v[low];
			v[low++] = x;
		} else if (x > pivot) {
			v[at] = v[--high];
			v[high] = x;
		} else {
			at++;
		}
	}
	*from = low;
	*to = high;
}

/* The value that would stand at k if v were sorted. Pivots that keep being bad are given up. */
static int64_t value_at(int64_t *v, size_t n, size_t k)
{
	enum { FEW = 24, PATIENCE = 64 };
	size_t from, to;
	assert(k < n);
	for (int i = 0; n > FEW && i < PATIENCE; i++) {
		part_by(v, n, middle_of(v[0], v[n / 2], v[n - 1]), &from, &to);
		if (k >= from && k < to)
			return v[k];
		if (k < from) {
			n = from;
			continue;
		}
		v += to;
		n -= to;
		k -= to;
	}
	assay_sort_i64(v, n);
	return v[k];
}

int64_t assay_median_lower(int64_t *v, size_t n)
{
	return value_at(v, n, assay_lower_middle(n));
}

int64_t assay_median_upper(int64_t *v, size_t n)
{
	return value_at(v, n, n / 2);
}

bool assay_mostly_even(int64_t *v, size_t n, int quarters, int64_t *usual)
{
	size_t near = 0;
	*usual = assay_median_upper(v, n);
	for (size_t i = 0; i < n; i++)
		near += v[i] * 4 >= *usual * (4 - quarters) && v[i] * 4 <= *usual * (4 + quarters);
	return near * 10 >= n * 9;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return ASSAY_CMP(x, y);
}

double assay_median_lower_f64(double *v, size_t n)
{
	assert(n);
	qsort(v, n, sizeof *v, by_size);
	return v[assay_lower_middle(n)];
}

double assay_median_mean(double *v, size_t n)
{
	assert(n);
	qsort(v, n, sizeof *v, by_size);
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

TEST(medians_differ_only_when_the_count_is_even)
{
	int64_t odd[] = {9, -1, 4}, even[] = {9, -1, 4, 6};
	double odd_f[] = {9, -1, 4}, even_f[] = {9, -1, 4, 7};
	CHECK(assay_median_lower(odd, 3) == 4 && assay_median_upper(odd, 3) == 4);
	CHECK(assay_median_mean(odd_f, 3) == 4);
	CHECK_EQ(assay_median_lower(even, 4), 4);
	CHECK_EQ(assay_median_upper(even, 4), 6);
	CHECK(assay_median_mean(even_f, 4) == 5.5);
	CHECK(assay_median_lower_f64(odd_f, 3) == 4 && assay_median_lower_f64(even_f, 4) == 4);
	return 0;
}

TEST(medians_of_many_values_are_those_of_the_sorted_ones)
{
	enum { N = 3000 };
	static int64_t v[N], sorted[N];
	uint64_t x = 88172645463325252u;
	for (size_t n = 1; n < N; n = n < 60 ? n + 1 : n * 2) {
		for (int shape = 0; shape < 4; shape++) { /* random, few values, rising, equal */
			for (size_t i = 0; i < n; i++) {
				x ^= x << 13, x ^= x >> 7, x ^= x << 17;
				v[i] = shape == 0   ? (int64_t)x
				       : shape == 1 ? (int64_t)(x % 5)
				       : shape == 2 ? (int64_t)i
						    : 7;
				sorted[i] = v[i];
			}
			assay_sort_i64(sorted, n);
			CHECK_EQ(assay_median_upper(v, n), sorted[n / 2]);
			CHECK_EQ(assay_median_lower(v, n), sorted[assay_lower_middle(n)]);
		}
	}
	return 0;
}
