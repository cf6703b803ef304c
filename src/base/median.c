#include "base/median.h"

#include <stdlib.h>

#include "base/sort.h"
#include "base/test.h"

int64_t assay_median_lower(int64_t *v, size_t n)
{
	assay_sort_i64(v, n);
	return v[assay_lower_middle(n)];
}

int64_t assay_median_upper(int64_t *v, size_t n)
{
	assay_sort_i64(v, n);
	return v[n / 2];
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
	return x < y ? -1 : x > y;
}

double assay_median_lower_f64(double *v, size_t n)
{
	qsort(v, n, sizeof *v, by_size);
	return v[assay_lower_middle(n)];
}

double assay_median_mean(double *v, size_t n)
{
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
