/* Radix sort of row numbers, 11 bits a pass, skipping passes in which all keys agree. */
#include "base/sort.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/test.h"

enum { BITS = 11, BUCKETS = 1 << BITS, SMALL = 64 };

static bool is_sorted(const uint32_t *row, size_t n, const int64_t *key)
{
	for (size_t i = 1; i < n; i++)
		if (key[row[i - 1]] > key[row[i]])
			return false;
	return true;
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

struct item {
	uint64_t key; /* distance from the smallest key */
	uint32_t row;
};

/* One stable pass by the bits at shift; false when every item has the same bits there. */
static bool radix_pass(const struct item *from, struct item *to, size_t n, int shift)
{
	size_t start[BUCKETS] = {0};
	for (size_t i = 0; i < n; i++)
		start[from[i].key >> shift & (BUCKETS - 1)]++;
	if (start[from[0].key >> shift & (BUCKETS - 1)] == n)
		return false;
	for (size_t b = 0, sum = 0; b < BUCKETS; b++) {
		size_t count = start[b];
		start[b] = sum;
		sum += count;
	}
	for (size_t i = 0; i < n; i++)
		to[start[from[i].key >> shift & (BUCKETS - 1)]++] = from[i];
	return true;
}

void assay_sort_rows(uint32_t *row, size_t n, const int64_t *key)
{
	if (is_sorted(row, n, key))
		return;
	if (n <= SMALL) {
		insertion_sort(row, n, key);
		return;
	}
	size_t bytes = n * sizeof(struct item);
	struct item *a = assay_pages_grow(NULL, 0, bytes), *b = assay_pages_grow(NULL, 0, bytes);
	int64_t min = key[row[0]], max = min;
	for (size_t i = 1; i < n; i++) {
		min = key[row[i]] < min ? key[row[i]] : min;
		max = key[row[i]] > max ? key[row[i]] : max;
	}
	for (size_t i = 0; i < n; i++)
		a[i] = (struct item){(uint64_t)key[row[i]] - (uint64_t)min, row[i]};
	uint64_t range = (uint64_t)max - (uint64_t)min;
	for (int shift = 0; shift < 64 && range >> shift; shift += BITS)
		if (radix_pass(a, b, n, shift)) {
			struct item *swap = a;
			a = b;
			b = swap;
		}
	for (size_t i = 0; i < n; i++)
		row[i] = a[i].row;
	assay_pages_free(a, bytes);
	assay_pages_free(b, bytes);
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

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return x < y ? -1 : x > y;
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
	if (n) /* v may be NULL */
		qsort(v, n, sizeof *v, by_value);
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
