/* Ids of 32 bits as keys that rise. */
#ifndef ASSAY_RESOLVE_KEYS_H
#define ASSAY_RESOLVE_KEYS_H

#include <stdbool.h>

#include "base/arena.h"

/* 32-bit ids that ran over: feed calls in time order, then ask for the key of any (time, id). */
typedef struct assay_keys {
	assay_vec(int64_t) ts;
	assay_vec(uint64_t) near;
	uint64_t last;
	bool wrapped;
} assay_keys;
void assay_keys_add(assay_keys *k, int64_t ts, uint64_t id);
uint64_t assay_keys_at(const assay_keys *k, int64_t ts, uint64_t id);
uint64_t assay_keys_id(const assay_keys *k, uint64_t key); /* as written */
void assay_keys_free(assay_keys *k);

#endif
