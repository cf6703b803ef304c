/* Order rows by a column without moving them, and plain numbers and texts. */
#ifndef ASSAY_BASE_SORT_H
#define ASSAY_BASE_SORT_H

#include <stddef.h>
#include <stdint.h>

#include "base/assert.h"

/* Sort row numbers by key[row], rising; equal keys keep their order. Linear time. */
void assay_sort_rows(uint32_t *row, size_t n, const int64_t *key);
/* The same, falling; equal keys keep their order here too. */
void assay_sort_rows_falling(uint32_t *row, size_t n, const int64_t *key);

/* Spans by start, of those that start together the longest first: by ts rising, then by end (or
 * length) falling; equal ones keep their order. */
void assay_sort_spans(uint32_t *row, size_t n, const int64_t *ts, const int64_t *end);

/* How many of n rows, sorted so, have keys up to value. */
size_t assay_rows_until(const uint32_t *row, size_t n, const int64_t *key, int64_t value);

void assay_sort_i64(int64_t *v, size_t n);  /* rising */
void assay_sort_u32(uint32_t *v, size_t n); /* the same; quick when they are so already */
void assay_sort_texts(const char **v, size_t n);

static inline int64_t assay_key_at(const int64_t *key, size_t stride, size_t i)
{
	return *(const int64_t *)(const void *)((const char *)key + i * stride);
}

/* How many of n rising keys, `stride` bytes apart, are at most value. */
static inline size_t assay_count_until(const int64_t *key, size_t stride, size_t n, int64_t value)
{
	size_t low = 0, high = n;
	while (low < high) {
		size_t mid = (low + high) / 2;
		if (assay_key_at(key, stride, mid) <= value)
			low = mid + 1;
		else
			high = mid;
	}
	ASSAY_ASSERT_CHECKED(!low || assay_key_at(key, stride, 0) <= value);
	ASSAY_ASSERT_CHECKED(low == n || assay_key_at(key, stride, n - 1) > value);
	return low;
}

#endif
