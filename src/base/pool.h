/* Interned strings: equal text has equal id, so names compare as integers. Id 0 is "no string". */
#ifndef ASSAY_BASE_POOL_H
#define ASSAY_BASE_POOL_H

#include "base/arena.h"
#include "base/str.h"

typedef uint32_t assay_sid;

typedef struct assay_pool {
	assay_arena text;
	assay_vec(assay_str) str; /* by id */
	assay_vec(uint32_t) hash; /* by id: high half of the 64-bit hash */
	uint32_t *slot;           /* open addressing, holds ids, 0 = free */
	size_t slots;             /* power of two */
	uint64_t seed;
} assay_pool;

assay_sid assay_intern(assay_pool *pool, assay_str s); /* copies the text; "" is id 0 */
assay_sid assay_intern_z(assay_pool *pool, const char *z);
assay_sid assay_pool_find(const assay_pool *pool, assay_str s); /* 0 when absent */
/* NUL-terminated text of an id; ids the pool never gave read as "". */
assay_str assay_pool_get(const assay_pool *pool, assay_sid id);
void assay_pool_free(assay_pool *pool);

#endif
