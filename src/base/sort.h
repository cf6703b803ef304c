/* Order rows by a column without moving them. */
#ifndef ASSAY_BASE_SORT_H
#define ASSAY_BASE_SORT_H

#include <stddef.h>
#include <stdint.h>

/* Sort row numbers by key[row], rising; equal keys keep their order. Linear time. */
void assay_sort_rows(uint32_t *row, size_t n, const int64_t *key);

#endif
