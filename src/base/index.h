/* Rows by number, made once and then asked: 64-bit key -> row. Calls and the work they launch are
 * numbered as they come, so that the next key is mostly near the last one: keys lie in order and a
 * search begins where the last one ended, where a hash map would wait for memory each time. */
#ifndef ASSAY_BASE_INDEX_H
#define ASSAY_BASE_INDEX_H

#include "base/arena.h"

#define ASSAY_INDEX_ABSENT UINT32_MAX

typedef struct assay_index {
	assay_vec(int64_t) key; /* rising, once it is closed */
	assay_vec(uint32_t) row;
	assay_vec(size_t) near; /* one: the last answer, where the next search begins */
	bool mixed;             /* keys did not come in order */
} assay_index;

void assay_index_add(assay_index *x, uint64_t key, uint32_t row);
/* After the last of them. One row of each key stays: the first, or, in turn, one that wins over
 * what was there before it. */
void assay_index_close(assay_index *x, bool (*wins)(const void *ctx, uint32_t row, uint32_t over),
		       const void *ctx);
/* The row, or ASSAY_INDEX_ABSENT. One thread at a time may ask. */
uint32_t assay_index_find(const assay_index *x, uint64_t key);
void assay_index_free(assay_index *x);

#endif
