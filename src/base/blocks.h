/* Blocks of memory, for arenas, columns and vectors: few bytes of malloc, more cut from huge pages
 * that all share, many as a mapping. */
#ifndef ASSAY_BASE_BLOCKS_H
#define ASSAY_BASE_BLOCKS_H

#include <stddef.h>
#include <stdint.h>

#include "base/owner.h"

enum { ASSAY_PAGE = 4096, ASSAY_HUGE_PAGE = 2 << 20 };

/* So many bytes, or the next multiple. */
static inline size_t assay_whole(size_t bytes, size_t of)
{
	return (bytes + of - 1) / of * of;
}

/* What stands before memory that arena.c hands out. */
struct assay_owned {
	_Alignas(16) struct assay_owned *before; /* of its owner's */
	struct assay_owned *behind;
	assay_owner *owner;
	size_t bytes; /* with this head */
	enum { ASSAY_OF_MALLOC, ASSAY_OF_CHUNK, ASSAY_OF_SYSTEM, ASSAY_OF_NOBODY } home;
	uint32_t room, room_before; /* in a chunk: units of it and of the block before it */
};

/* A new block, or the old one with so many bytes, it may be somewhere else. Those behind the old
 * ones are zero. NULL: no memory, and the old block is as it was. Owners are not told. */
assay_owned *assay_block_grow(assay_owned *old, size_t bytes);
void assay_block_free(assay_owned *b);

/* mremap() to a place. Not libc's: MPI libraries put one of their own before it (UCX 1.13, of
 * Debian 12), which forgets the place and has pages moved to address 0. */
void *assay_pages_move_to(void *to, void *from, size_t bytes, size_t new_bytes);

#endif
