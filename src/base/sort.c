/* Sorting row numbers. Traces come as a few rising runs one behind the other (a category, a thread,
 * a window of the file): those are merged where they are. What has many runs is sorted by radix, 11
 * bits a pass, skipping passes in which all keys agree. */
#include "base/sort.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/compare.h"
#include "base/test.h"

enum { BITS = 11, BUCKETS = 1 << BITS, SMALL = 64, RUNS = 1024, RUN_MEAN = 256 };

static bool rises(const uint32_t *row, size_t n, const int64_t *key)
{
	for (size_t i = 1; i < n; i++)
		if (key[row[i - 1]] > key[row[i]])
			return false;
	return true;
}

/* Where rising runs begin, n behind the last; 0 when there are more than can be merged cheaply. */
static size_t find_runs(const uint32_t *row, size_t n, const int64_t *key, size_t start[RUNS + 1])
{
	size_t runs = 1, most = n / RUN_MEAN < RUNS ? n / RUN_MEAN + 1 : RUNS;
	start[0] = 0;
	for (size_t i = 1; i < n; i++) {
		if (key[row[i - 1]] <= key[row[i]])
			continue;
		if (runs >= most)
			return 0;
		start[runs++] = i;
	}
	start[runs] = n;
	return runs;
}

size_t assay_rows_until(const uint32_t *row, size_t n, const int64_t *key, int64_t value)
{
	size_t low = 0, high = n;
	while (low < high) {
		size_t mid = (low + high) / 2;
		if (key[row[mid]] <= value)
			low = mid + 1;
		else
			high = mid;
	}
	ASSAY_ASSERT_CHECKED(!low || key[row[0]] <= value);
	ASSAY_ASSERT_CHECKED(low == n || key[row[n - 1]] > value);
	return low;
}

/* Two neighbouring runs into one; spare has room for the part of the first that moves. */
static void merge(uint32_t *row, size_t first, size_t n, const int64_t *key, uint32_t *spare)
{
	size_t stays = assay_rows_until(row, first, key, key[row[first]]);
	size_t left = first - stays;
	if (!left)
		return;
	memcpy(spare, row + stays, left * sizeof *row);
	uint32_t *to = row + stays, *b = row + first, *end = row + n;
	const uint32_t *a = spare, *a_end = spare + left;
	while (a < a_end && b < end)
		*to++ = key[*a] <= key[*b] ? *a++ : *b++;
	memcpy(to, a, (size_t)(a_end - a) * sizeof *row);
}

static void merge_runs(uint32_t *row, size_t *start, size_t runs, const int64_t *key)
{
	size_t cap = 0;
	uint32_t *spare = assay_vec_grow(NULL, &cap, start[runs], sizeof *row);
	while (runs > 1) {
		size_t kept = 0, n = start[runs];
		for (size_t i = 0; i < runs; i += 2) {
			size_t from = start[i], end = i + 2 <= runs ? start[i + 2] : n;
			if (i + 1 < runs)
				merge(row + from, start[i + 1] - from, end - from, key, spare);
			start[kept++] = from;
		}
		start[runs = kept] = n;
	}
	assay_vec_release(spare);
}

static void insertion_sort(uint32_t *row, size_t n, const int64_t *key)
{
	for (size_t i = 1; i < n; i++) {
		uint32_t r = row[i];
		size_t k = i;
		for (; k && key[row[k - 1]] > key[r]; k--)
			row[k] = row[k - 1];
		row[k] = r;
	}
}

/* One stable pass by the bits at shift; false when every item has the same bits there. */
static bool radix_pass(const uint64_t *from, uint64_t *to, size_t n, int shift)
{
	size_t start[BUCKETS] = {0};
	for (size_t i = 0; i < n; i++)
		start[from[i] >> shift & (BUCKETS - 1)]++;
	if (start[from[0] >> shift & (BUCKETS - 1)] == n)
		return false;
	for (size_t b = 0, sum = 0; b < BUCKETS; b++) {
		size_t count = start[b];
		start[b] = sum;
		sum += count;
	}
	for (size_t i = 0; i < n; i++)
		to[start[from[i] >> shift & (BUCKETS - 1)]++] = from[i];
	assert(start[BUCKETS - 1] == n);
	return true;
}

/* Items are 32 bits of a key, as distance from the smallest, above their row: wider ranges take a
 * second round. */
static void radix_sort(uint32_t *row, size_t n, const int64_t *key)
{
	size_t cap = 0;
	uint64_t *a = assay_vec_grow(NULL, &cap, 2 * n, sizeof *a), *b = a + n, *both = a;
	int64_t min = key[row[0]], max = min;
	for (size_t i = 1; i < n; i++) {
		min = key[row[i]] < min ? key[row[i]] : min;
		max = key[row[i]] > max ? key[row[i]] : max;
	}
	uint64_t range = (uint64_t)max - (uint64_t)min;
	for (int half = 0; half < 64 && range >> half; half += 32) {
		for (size_t i = 0; i < n; i++)
			a[i] = ((uint64_t)key[row[i]] - (uint64_t)min) >> half << 32 | row[i];
		for (int shift = 32; shift < 64; shift += BITS)
			if (radix_pass(a, b, n, shift)) {
				uint64_t *swap = a;
				a = b;
				b = swap;
			}
		for (size_t i = 0; i < n; i++)
			row[i] = (uint32_t)a[i];
	}
	assay_vec_release(both);
}

void assay_sort_rows(uint32_t *row, size_t n, const int64_t *key)
{
	size_t start[RUNS + 1];
	if (n <= SMALL) {
		insertion_sort(row, n, key);
		return;
	}
	size_t runs = find_runs(row, n, key, start);
	if (runs > 1)
		merge_runs(row, start, runs, key);
	else if (!runs)
		radix_sort(row, n, key);
	ASSAY_ASSERT_CHECKED(rises(row, n, key));
}

static void reverse(uint32_t *row, size_t n)
{
	for (size_t i = 0; i < n / 2; i++) {
		uint32_t swap = row[i];
		row[i] = row[n - 1 - i];
		row[n - 1 - i] = swap;
	}
}

void assay_sort_rows_falling(uint32_t *row, size_t n, const int64_t *key)
{
	reverse(row, n);
	assay_sort_rows(row, n, key);
	reverse(row, n);
}

void assay_sort_spans(uint32_t *row, size_t n, const int64_t *ts, const int64_t *end)
{
	assay_sort_rows(row, n, ts);
	for (size_t i = 0, many; i < n; i += many) {
		bool falls = true;
		for (many = 1; i + many < n && ts[row[i + many]] == ts[row[i]]; many++)
			falls &= end[row[i + many]] <= end[row[i + many - 1]];
		if (!falls)
			assay_sort_rows_falling(row + i, many, end);
	}
	ASSAY_ASSERT_CHECKED(rises(row, n, ts));
}

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return ASSAY_CMP(x, y);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void assay_sort_texts(const char **v, size_t n)
{
	if (n)
		qsort(v, n, sizeof *v, by_text);
}

void assay_sort_i64(int64_t *v, size_t n)
{
	size_t cap = 0, at = 1;
	int64_t min = n ? v[0] : 0, max = min;
	while (at < n && v[at - 1] <= v[at])
		at++;
	if (at >= n)
		return;
	if (n <= BUCKETS) {
		qsort(v, n, sizeof *v, by_value);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		min = v[i] < min ? v[i] : min;
		max = v[i] > max ? v[i] : max;
	}
	uint64_t range = (uint64_t)max - (uint64_t)min, *a = (uint64_t *)v;
	uint64_t *spare = assay_vec_grow(NULL, &cap, n, sizeof *spare), *b = spare;
	for (size_t i = 0; i < n; i++)
		a[i] -= (uint64_t)min;
	for (int shift = 0; shift < 64 && range >> shift; shift += BITS)
		if (radix_pass(a, b, n, shift)) {
			uint64_t *swap = a;
			a = b;
			b = swap;
		}
	for (size_t i = 0; i < n; i++)
		v[i] = (int64_t)(a[i] + (uint64_t)min);
	assay_vec_release(spare);
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return ASSAY_CMP(x, y);
}

void assay_sort_u32(uint32_t *v, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (v[i - 1] > v[i]) {
			qsort(v, n, sizeof *v, by_number);
			return;
		}
}

TEST(spans_come_by_start_and_the_longest_first)
{
	enum { N = 3000 };
	static int64_t ts[N], end[N];
	static uint32_t row[N], twice[N];
	uint64_t x = 88172645463325252u;
	for (uint32_t i = 0; i < N; i++) {
		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		ts[i] = (int64_t)(x % 40); /* some that start together are many */
		end[i] = ts[i] + (int64_t)(x >> 32) % 9;
		row[i] = twice[i] = i;
	}
	assay_sort_spans(row, N, ts, end);
	assay_sort_rows_falling(twice, N, end);
	assay_sort_rows(twice, N, ts);
	CHECK(!memcmp(row, twice, sizeof row));
	return 0;
}

TEST(rows_come_out_in_order_and_stable)
{
	enum { N = 5000 };
	static int64_t key[N];
	static uint32_t row[N];
	uint64_t x = 88172645463325252u;
	for (size_t n = 0; n < N; n = n < 70 ? n + 1 : n * 3) {
		for (uint32_t i = 0; i < n; i++) {
			x ^= x << 13, x ^= x >> 7, x ^= x << 17;
			key[i] = (int64_t)(x % (n % 2 ? 50 : UINT64_MAX));
			row[i] = i;
		}
		assay_sort_rows(row, n, key);
		for (size_t i = 1; i < n; i++) {
			CHECK(key[row[i - 1]] <= key[row[i]]);
			CHECK(key[row[i - 1]] != key[row[i]] || row[i - 1] < row[i]);
		}
		for (uint32_t i = 0; i < n; i++)
			row[i] = i;
		assay_sort_rows_falling(row, n, key);
		for (size_t i = 1; i < n; i++) {
			CHECK(key[row[i - 1]] >= key[row[i]]);
			CHECK(key[row[i - 1]] != key[row[i]] || row[i - 1] < row[i]);
		}
	}
	return 0;
}

TEST(runs_are_merged_in_place_and_stable)
{
	enum { N = 40000 };
	static int64_t key[N];
	static uint32_t row[N];
	for (size_t runs = 1; runs < 160; runs += 13) {
		size_t each = N / runs;
		for (uint32_t i = 0; i < N; i++) {
			key[i] = (int64_t)(i % each / 3 * (runs % 2 ? 7 : 1) + i / each % 5);
			row[i] = i;
		}
		assay_sort_rows(row, N, key);
		for (size_t i = 1; i < N; i++) {
			CHECK(key[row[i - 1]] <= key[row[i]]);
			CHECK(key[row[i - 1]] != key[row[i]] || row[i - 1] < row[i]);
		}
	}
	return 0;
}

TEST(many_numbers_rise)
{
	enum { N = 5000 };
	static int64_t v[N], want[N];
	uint64_t x = 88172645463325252u;
	for (int shape = 0; shape < 3; shape++) {
		for (size_t i = 0; i < N; i++) {
			x ^= x << 13, x ^= x >> 7, x ^= x << 17;
			v[i] = want[i] = shape == 0   ? (int64_t)x
					 : shape == 1 ? (int64_t)(x % 3000) - 1500
						      : INT64_MAX - (int64_t)i;
		}
		assay_sort_i64(v, N);
		qsort(want, N, sizeof *want, by_value);
		CHECK(!memcmp(v, want, sizeof v));
	}
	return 0;
}

TEST(plain_numbers_rise)
{
	uint32_t v[] = {7, UINT32_MAX, 0, 7, 1u << 31}, want[] = {0, 7, 7, 1u << 31, UINT32_MAX};
	assay_sort_u32(v, ASSAY_COUNT_OF(v));
	CHECK(!memcmp(v, want, sizeof v));
	assay_sort_u32(NULL, 0);
	return 0;
}
