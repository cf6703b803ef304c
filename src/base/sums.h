/* Lengths put together by a key: how many, how long in all, at most and in the middle. */
#ifndef ASSAY_BASE_SUMS_H
#define ASSAY_BASE_SUMS_H

#include "base/arena.h"
#include "base/map.h"

typedef struct assay_sum {
	uint64_t key;
	uint64_t count;
	int64_t total, most;
	int64_t median; /* the upper one */
} assay_sum;

typedef struct assay_sums {
	assay_vec(assay_sum) row;
	assay_map at; /* of a key */
	assay_vec(int64_t) length;
	assay_vec(uint32_t) of; /* row of each length */
} assay_sums;

void assay_sums_add(assay_sums *s, uint64_t key, int64_t length);
/* When all are added: medians, and rows by the upper half of their keys, then most in all first,
 * then by key. */
void assay_sums_finish(assay_sums *s);
void assay_sums_free(assay_sums *s);

#endif
