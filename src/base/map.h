/* One hash map: 64-bit key -> 32-bit value. Richer keys are hashed to one first (assay_hash()). */
#ifndef ASSAY_BASE_MAP_H
#define ASSAY_BASE_MAP_H

#include <stddef.h>
#include <stdint.h>

#define ASSAY_MAP_ABSENT UINT32_MAX

typedef struct assay_map {
	uint64_t *key;
	uint32_t *val; /* ASSAY_MAP_ABSENT marks a free slot */
	size_t slots, n;
} assay_map;

/* The value, or ASSAY_MAP_ABSENT. */
uint32_t assay_map_get(const assay_map *m, uint64_t key);
/* Slot of the key's value, made with ASSAY_MAP_ABSENT when new: the caller must then set it.
 * Valid until the next call that may add. */
uint32_t *assay_map_at(assay_map *m, uint64_t key);
void assay_map_free(assay_map *m);

#endif
