/* What tables and indexes of an SQLite file share: records, pages and their numbers. */
#ifndef ASSAY_WRITE_BTREE_INSIDE_H
#define ASSAY_WRITE_BTREE_INSIDE_H

#include "base/assert.h"
#include "write/btree.h"

enum {
	BTREE_LEAF_HEADER = 8,
	BTREE_INTERIOR_HEADER = 12, /* the last child behind what leaves have */
	BTREE_VARINT_MAX = 9,
	BTREE_LINK = 4, /* bytes of a page's number */
};

static inline void btree_put_big(uint8_t *to, uint64_t v, unsigned bytes)
{
	ASSAY_ASSERT_CHECKED(bytes <= sizeof v && (bytes == sizeof v || !(v >> 8 * bytes)));
	for (unsigned i = 0; i < bytes; i++)
		to[i] = (uint8_t)(v >> 8 * (bytes - 1 - i));
}

uint8_t *btree_put_varint(uint8_t *to, uint64_t v);
/* Fills f->record; returns its bytes. */
size_t btree_make_record(btree_file *f, const btree_value *value, size_t n);
/* Of a record of n bytes, what stands in its page, where at most `most` may. */
size_t btree_local_size(size_t n, size_t most);
/* Pages for the record from there on. Returns the first, counted from 0. */
uint32_t btree_put_overflow(btree_file *f, size_t from, size_t n);
uint32_t btree_add_page(btree_file *f);
void btree_put_header(uint8_t *page, uint8_t kind, uint32_t cells, uint32_t start);
/* Number in the file of a page counted from 0; and in the place where the latter stands. */
uint32_t btree_number_of(uint32_t page, uint32_t first);
void btree_place(uint8_t *link, uint32_t first);

#endif
