#include "read/db_pages.h"
#include "base/num.h"

#include <string.h>

enum {
	HEADER = 100,
	LEAF = 0x0d,
	INTERIOR = 0x05,
	RECORD_MAX = 64 << 20,
	VARINT_MAX = 9,
};

bool assay_db_pages_open(assay_db_pages *f, const char *header, uint64_t bytes)
{
	enum { PAGE_SIZE = 16, RESERVED = 20, ENCODING = 56, UTF8 = 1, USABLE_MIN = 480 };
	*f = (assay_db_pages){0};
	if (bytes < HEADER || assay_big_endian(header + ENCODING, 4) != UTF8)
		return false;
	uint32_t size = assay_big_endian(header + PAGE_SIZE, 2),
		 reserved = assay_big_endian(header + RESERVED, 1);
	if (size == 1)
		size = 65536;
	if (size < 512 || (size & (size - 1)) || size - reserved < USABLE_MIN)
		return false;
	uint64_t count = bytes / size;
	*f = (assay_db_pages){.bytes = bytes,
			      .size = size,
			      .usable = size - reserved,
			      .count = count < UINT32_MAX ? (uint32_t)count : UINT32_MAX};
	return count > 0;
}

/* Pages of a file, from number n on: many when the walk goes forward, one when it jumps. */
static bool __attribute__((noinline))
load(struct assay_db_block *b, const assay_db_pages *f, uint32_t n)
{
	enum { AHEAD = 64 << 10 };
	uint32_t many = AHEAD / f->size ? AHEAD / f->size : 1;
	bool forward = n > b->first && n - b->first <= 2 * many;
	b->first = n;
	b->count = !forward ? 1 : many < f->count - n + 1 ? many : f->count - n + 1;
	assay_vec_reserve(&b->text, AHEAD + ASSAY_PAD);
	size_t bytes = (size_t)b->count * f->size;
	if (assay_input_read_at(f->in, (uint64_t)(n - 1) * f->size, b->text.p, bytes) == bytes)
		return true;
	b->count = 0;
	return false;
}

/* Text of page number n, counted from 1, until the next one at this level of the walk; NULL when
 * there is none. */
static inline const char *page_at(assay_db_walk *w, int level, uint32_t n)
{
	const assay_db_pages *f = w->file;
	struct assay_db_block *b = &w->block[level];
	if (n < 1 || n > f->count)
		return NULL;
	if (f->image)
		return f->image + (uint64_t)(n - 1) * f->size;
	if (n - b->first >= b->count && !load(b, f, n))
		return NULL;
	return b->text.p + (size_t)(n - b->first) * f->size;
}

static const char *varint_slow(const char *p, const char *end, uint64_t *v)
{
	uint64_t r = 0;
	for (int i = 0; i < VARINT_MAX && p < end; i++) {
		unsigned char c = (unsigned char)*p++;
		if (i == VARINT_MAX - 1) {
			*v = r << 8 | c;
			return p;
		}
		r = r << 7 | (c & 0x7f);
		if (c < 0x80) {
			*v = r;
			return p;
		}
	}
	return NULL;
}

/* Behind the number, or NULL. Lengths and ids of rows have two or three bytes. */
static inline const char *varint(const char *p, const char *end, uint64_t *v)
{
	const uint8_t *u = (const uint8_t *)p;
	if (p < end && u[0] < 0x80) {
		*v = u[0];
		return p + 1;
	}
	if (end - p > 2 && u[1] < 0x80) {
		*v = (uint64_t)(u[0] & 0x7f) << 7 | u[1];
		return p + 2;
	}
	if (end - p > 2 && u[2] < 0x80) {
		*v = (uint64_t)(u[0] & 0x7f) << 14 | (uint64_t)(u[1] & 0x7f) << 7 | u[2];
		return p + 3;
	}
	return varint_slow(p, end, v);
}

static bool enter(assay_db_walk *w, uint32_t n)
{
	if (w->depth == ASSAY_DB_DEPTH || !w->pages_left)
		return false;
	const char *page = page_at(w, w->depth, n);
	if (!page)
		return false;
	const char *head = page + (n == 1 ? HEADER : 0);
	if (head[0] != LEAF && head[0] != INTERIOR)
		return false;
	w->pages_left--;
	w->at[w->depth].page = n;
	w->at[w->depth].next = 0;
	w->at[w->depth].cells = assay_big_endian(head + 3, 2);
	w->depth++;
	return true;
}

bool assay_db_walk_start(assay_db_walk *w, const assay_db_pages *f, uint32_t root)
{
	w->file = f;
	w->depth = 0;
	w->broken = false;
	w->pages_left = f->count;
	return (f->image || f->in) && enter(w, root);
}

/* The whole record that starts at p with `local` bytes on its page: the rest is on a chain of
 * pages. */
static const char *gather(assay_db_walk *w, const char *p, uint64_t size, uint32_t local)
{
	const assay_db_pages *f = w->file;
	if (size > RECORD_MAX || size > f->bytes || size > w->spill_left)
		return NULL;
	w->spill_left -= size;
	assay_vec_reserve(&w->spilled, (size_t)size + ASSAY_PAD);
	memcpy(w->spilled.p, p, local);
	uint32_t next = assay_big_endian(p + local, 4);
	for (uint64_t have = local; have < size;) {
		const char *page = page_at(w, ASSAY_DB_DEPTH, next);
		if (!page)
			return NULL;
		uint64_t n = size - have < f->usable - 4 ? size - have : f->usable - 4;
		memcpy(w->spilled.p + have, page + 4, (size_t)n);
		have += n;
		next = assay_big_endian(page, 4);
	}
	return w->spilled.p;
}

static uint32_t local_bytes(const assay_db_pages *f, uint64_t size)
{
	uint32_t most = f->usable - 35;
	if (size <= most)
		return (uint32_t)size;
	uint32_t least = (f->usable - 12) * 32 / 255 - 23;
	uint32_t fit = least + (uint32_t)((size - least) % (f->usable - 4));
	return fit <= most ? fit : least;
}

/* Serial types of the format below those of texts and blobs: bytes in the record, what they are. */
enum { TYPE_ONE = 9, TYPE_TEXT = 12 };
static const struct {
	uint8_t bytes, is;
} types[TYPE_TEXT] = {
	[1] = {1, ASSAY_DB_INT},   [2] = {2, ASSAY_DB_INT}, [3] = {3, ASSAY_DB_INT},
	[4] = {4, ASSAY_DB_INT},   [5] = {6, ASSAY_DB_INT}, [6] = {8, ASSAY_DB_INT},
	[7] = {8, ASSAY_DB_FLOAT}, [8] = {0, ASSAY_DB_INT}, [TYPE_ONE] = {0, ASSAY_DB_INT},
};

static inline uint64_t type_bytes(uint64_t type)
{
	return type < TYPE_TEXT ? types[type].bytes : (type - TYPE_TEXT) / 2;
}

/* Numbers are big-endian with a sign, and floats the bits of one. Eight bytes at p are readable,
 * whose ever they are. */
static inline void set_value(assay_db_value *v, uint64_t type, const char *p)
{
	if (type >= TYPE_TEXT) {
		v->type = type & 1 ? ASSAY_DB_TEXT : ASSAY_DB_BLOB;
		v->u.text = (assay_str){p, (size_t)((type - TYPE_TEXT) / 2)};
		return;
	}
	uint64_t bits;
	unsigned n = types[type].bytes;
	memcpy(&bits, p, sizeof bits);
	v->type = types[type].is;
	v->u.i = n ? (int64_t)__builtin_bswap64(bits) >> (64 - 8 * n) : type == TYPE_ONE;
}

/* Short records lack their last fields: those are NULL. */
static bool decode(assay_db_walk *w, const char *p, uint64_t size)
{
	const char *end = p + size;
	uint64_t head;
	const char *type_at = varint(p, end, &head);
	if (!type_at || head > size)
		return false;
	const char *types_end = p + head, *at = types_end;
	int i = 0, fields = w->fields;
	for (; i < fields && type_at < types_end; i++) {
		uint64_t type = (uint8_t)*type_at;
		type_at = type < 0x80 ? type_at + 1 : varint(type_at, types_end, &type);
		if (!type_at)
			return false;
		uint64_t n = type_bytes(type);
		if (n > (uint64_t)(end - at))
			return false;
		int column = w->column_of[i];
		if (column >= 0)
			set_value(&w->value[column], type, at);
		at += n;
	}
	for (; i < fields; i++)
		if (w->column_of[i] >= 0)
			w->value[w->column_of[i]].type = ASSAY_DB_NULL;
	return true;
}

static bool read_row(assay_db_walk *w, const char *p, const char *end)
{
	uint64_t size, rowid;
	if (!(p = varint(p, end, &size)) || !(p = varint(p, end, &rowid)))
		return false;
	uint32_t local = local_bytes(w->file, size);
	uint64_t need = local == size ? local : (uint64_t)local + 4;
	if (need > (uint64_t)(end - p))
		return false;
	if (local < size && !(p = gather(w, p, size, local)))
		return false;
	if (!decode(w, p, size))
		return false;
	if (w->rowid_column >= 0 && w->value[w->rowid_column].type == ASSAY_DB_NULL) {
		w->value[w->rowid_column].type = ASSAY_DB_INT;
		w->value[w->rowid_column].u.i = (int64_t)rowid;
	}
	return true;
}

/* Text of a cell of the page on top, or NULL. */
static inline const char *cell_at(const assay_db_walk *w, const char *page, uint32_t n,
				  uint32_t header)
{
	uint32_t first = (w->at[w->depth - 1].page == 1 ? HEADER : 0) + header;
	uint64_t slot = first + 2ull * n;
	if (slot + 2 > w->file->usable)
		return NULL;
	uint32_t at = assay_big_endian(page + slot, 2);
	return at >= first && at < w->file->usable ? page + at : NULL;
}

static bool stop(assay_db_walk *w)
{
	w->broken = true;
	w->depth = 0;
	return false;
}

/* Down into the next child of the interior page on top; up when there is none left. */
static bool descend(assay_db_walk *w, const char *page, const char *head)
{
	uint32_t n = w->at[w->depth - 1].next++, cells = w->at[w->depth - 1].cells;
	if (n > cells) {
		w->depth--;
		return true;
	}
	const char *cell = n == cells ? head + 8 : cell_at(w, page, n, 12);
	if (!cell || cell + 4 > page + w->file->usable)
		return false;
	return enter(w, assay_big_endian(cell, 4));
}

bool assay_db_walk_next(assay_db_walk *w)
{
	while (w->depth) {
		uint32_t number = w->at[w->depth - 1].page, n = w->at[w->depth - 1].next;
		const char *page = page_at(w, w->depth - 1, number);
		if (!page)
			return stop(w);
		const char *head = page + (number == 1 ? HEADER : 0);
		if (head[0] == INTERIOR) {
			if (!descend(w, page, head))
				return stop(w);
			continue;
		}
		if (n == w->at[w->depth - 1].cells) {
			w->depth--;
			continue;
		}
		w->at[w->depth - 1].next++;
		const char *cell = cell_at(w, page, n, 8);
		if (!cell || !read_row(w, cell, page + w->file->usable))
			return stop(w);
		return true;
	}
	return false;
}

/* Down from the page on top to the first or last leaf below it; NULL when there is none. */
static const char *leaf_below(assay_db_walk *w, bool last)
{
	while (w->depth) {
		uint32_t number = w->at[w->depth - 1].page;
		const char *page = page_at(w, w->depth - 1, number);
		const char *head = page ? page + (number == 1 ? HEADER : 0) : NULL;
		if (!head || head[0] == LEAF)
			return page;
		if (last)
			w->at[w->depth - 1].next = w->at[w->depth - 1].cells;
		if (!descend(w, page, head))
			break;
	}
	return NULL;
}

/* The id of row n of the leaf on top. */
static bool rowid_at(const assay_db_walk *w, const char *page, uint32_t n, uint64_t *rowid)
{
	const char *cell = cell_at(w, page, n, 8), *end = page + w->file->usable;
	uint64_t size;
	return cell && (cell = varint(cell, end, &size)) && varint(cell, end, rowid);
}

typedef struct leaf_ids {
	uint64_t first, last;
	bool dense; /* no id between them is missing */
} leaf_ids;

static bool leaf_ids_at(assay_db_walk *w, const assay_db_pages *f, uint32_t root, bool last,
			leaf_ids *ids)
{
	const char *page = assay_db_walk_start(w, f, root) ? leaf_below(w, last) : NULL;
	uint32_t cells = page ? w->at[w->depth - 1].cells : 0;
	if (!cells || !rowid_at(w, page, 0, &ids->first) ||
	    !rowid_at(w, page, cells - 1, &ids->last))
		return false;
	ids->dense = ids->last - ids->first == cells - 1;
	return true;
}

static bool count_leaves(assay_db_walk *w, const assay_db_pages *f, uint32_t root, uint64_t *rows)
{
	*rows = 0;
	if (!assay_db_walk_start(w, f, root))
		return false;
	while (w->depth) {
		uint32_t number = w->at[w->depth - 1].page, cells = w->at[w->depth - 1].cells;
		const char *page = page_at(w, w->depth - 1, number);
		const char *head = page ? page + (number == 1 ? HEADER : 0) : NULL;
		if (!head || (cells && head[0] == LEAF && !cell_at(w, page, cells - 1, 8)))
			return false;
		if (head[0] == LEAF) {
			*rows += cells;
			w->depth--;
		} else if (!descend(w, page, head)) {
			return false;
		}
	}
	return true;
}

bool assay_db_walk_count(assay_db_walk *w, const assay_db_pages *f, uint32_t root, uint64_t *rows)
{
	enum { ROW_MIN = 4 }; /* bytes: where it is, how long, its id */
	leaf_ids first, last;
	if (leaf_ids_at(w, f, root, false, &first) && leaf_ids_at(w, f, root, true, &last) &&
	    first.dense && last.dense) {
		*rows = last.last - first.first + 1;
		if (*rows <= f->bytes / ROW_MIN)
			return true;
	}
	return count_leaves(w, f, root, rows);
}

void assay_db_walk_free(assay_db_walk *w)
{
	for (size_t i = 0; i < ASSAY_COUNT_OF(w->block); i++)
		assay_vec_free(&w->block[i].text);
	assay_vec_free(&w->spilled);
}
