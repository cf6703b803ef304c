/* Table b-trees of SQLite's file format (https://www.sqlite.org/fileformat2.html, sections 1.6 and
 * 2.1): leaves are filled from the first row to the last, the pages above are made at the end. */
#include "write/btree.h"

#include <assert.h>
#include <string.h>

#include "base/num.h"
#include "base/test.h"
#include "write/btree_inside.h"

enum {
	LEAF = 13,
	INTERIOR = 5,
	CHILDREN = 256, /* of an interior page: each takes at most 15 bytes of it */
	LOCKED = (1 << 30) / BTREE_PAGE + 1,
	/* in the file's header, section 1.3 */
	VERSION_AT = 24,
	COUNT_AT = 28,
	COUNT_OF_VERSION_AT = 92,
	LOCAL_MAX = BTREE_PAGE - 35,
	LOCAL_MIN = (BTREE_PAGE - 12) * 32 / 255 - 23,
};

/* The one at 1 GiB is never used: SQLite locks it. */
uint32_t btree_number_of(uint32_t page, uint32_t first)
{
	uint32_t number = first + page;
	return number + (first <= LOCKED && number >= LOCKED);
}

void btree_place(uint8_t *link, uint32_t first)
{
	btree_put_big(link, btree_number_of(assay_big_endian(link, BTREE_LINK), first), BTREE_LINK);
}

/* Seven bits a byte, the highest first; the ninth byte has eight. */
uint8_t *btree_put_varint(uint8_t *to, uint64_t v)
{
	if (v < 0x80) {
		*to = (uint8_t)v;
		return to + 1;
	}
	unsigned n = 2;
	while (n < BTREE_VARINT_MAX && v >> 7 * n)
		n++;
	uint64_t rest = v;
	if (n == BTREE_VARINT_MAX) {
		to[8] = (uint8_t)rest;
		rest >>= 8;
	} else {
		to[n - 1] = rest & 0x7f;
		rest >>= 7;
	}
	for (unsigned i = n - 1; i-- > 0; rest >>= 7)
		to[i] = (uint8_t)(0x80 | (rest & 0x7f));
	return to + n;
}

/* ------------------------------------------------------------------ a row */

/* Bytes of an integer: 0, 1, 2, 3, 4, 6 or 8. 0 and 1 are types and have none. */
static inline unsigned width_of_int(int64_t v)
{
	static const uint8_t of_bits[] = {1, 2, 3, 4, 6, 6, 8, 8}; /* by bits / 8 */
	if (v == 0 || v == 1)
		return 0;
	uint64_t u = v < 0 ? ~(uint64_t)v : (uint64_t)v;
	return of_bits[(64 - (unsigned)__builtin_clzll(u | 1)) / 8];
}

static inline uint8_t *put_type(uint8_t *to, const btree_value *v)
{
	static const uint8_t of_width[] = {8, 1, 2, 3, 4, 0, 5, 0, 6};
	if (v->kind == BTREE_TEXT)
		return btree_put_varint(to, 13 + 2 * (uint64_t)v->s.n);
	unsigned width = v->kind == BTREE_INT ? width_of_int(v->i) : 0;
	*to = (uint8_t)(v->kind == BTREE_NULL   ? 0
			: v->kind == BTREE_REAL ? 7
						: of_width[width] + (!width && v->i));
	return to + 1;
}

/* Eight bytes are written, whatever the width. */
static inline uint8_t *put_bits(uint8_t *to, uint64_t v, unsigned width)
{
	v = width ? v << (64 - 8 * width) : 0;
	const uint8_t big[] = {(uint8_t)(v >> 56), (uint8_t)(v >> 48), (uint8_t)(v >> 40),
			       (uint8_t)(v >> 32), (uint8_t)(v >> 24), (uint8_t)(v >> 16),
			       (uint8_t)(v >> 8),  (uint8_t)v}; /* one instruction */
	memcpy(to, big, sizeof big);
	return to + width;
}

static inline uint8_t *put_value(uint8_t *to, const btree_value *v)
{
	uint64_t bits;
	if (v->kind == BTREE_NULL)
		return to;
	if (v->kind == BTREE_INT)
		return put_bits(to, (uint64_t)v->i, width_of_int(v->i));
	if (v->kind == BTREE_REAL) {
		memcpy(&bits, &v->f, sizeof bits);
		return put_bits(to, bits, 8);
	}
	if (v->s.n)
		memcpy(to, v->s.p, v->s.n);
	return to + v->s.n;
}

/* The header (its own size, then a type for each value) and the values. */
size_t btree_make_record(btree_file *f, const btree_value *value, size_t n)
{
	size_t most = (n + 1) * BTREE_VARINT_MAX;
	for (size_t i = 0; i < n; i++)
		most += value[i].kind == BTREE_TEXT ? value[i].s.n : 8;
	assay_vec_reserve(&f->record, most + BTREE_VARINT_MAX);
	uint8_t *types = f->record.p + 1, *to = types; /* a header of fewer than 128 bytes */
	for (size_t i = 0; i < n; i++)
		to = put_type(to, &value[i]);
	size_t header = (size_t)(to - f->record.p);
	if (header > 0x7f) {
		memmove(types + 1, types, header - 1);
		to++;
		header++;
	}
	btree_put_varint(f->record.p, header);
	for (size_t i = 0; i < n; i++)
		to = put_value(to, &value[i]);
	return (size_t)(to - f->record.p);
}

/* ------------------------------------------------------------------ pages */

uint32_t btree_add_page(btree_file *f)
{
	uint32_t number = (uint32_t)(f->pages.n / BTREE_PAGE);
	assay_vec_reserve(&f->pages, f->pages.n + BTREE_PAGE);
	memset(f->pages.p + f->pages.n, 0, BTREE_PAGE);
	f->pages.n += BTREE_PAGE;
	return number;
}

size_t btree_local_size(size_t n, size_t most)
{
	if (n <= most)
		return n;
	size_t k = LOCAL_MIN + (n - LOCAL_MIN) % (BTREE_PAGE - BTREE_LINK);
	return k <= most ? k : LOCAL_MIN;
}

/* Pages one after the other, each with the number of the next. */
uint32_t btree_put_overflow(btree_file *f, size_t from, size_t n)
{
	uint32_t first = (uint32_t)(f->pages.n / BTREE_PAGE);
	while (from < n) {
		btree_add_page(f);
		uint8_t *page = f->pages.p + f->pages.n - BTREE_PAGE;
		size_t part =
			n - from < BTREE_PAGE - BTREE_LINK ? n - from : BTREE_PAGE - BTREE_LINK;
		memcpy(page + BTREE_LINK, f->record.p + from, part);
		from += part;
		if (from < n) {
			btree_put_big(page, f->pages.n / BTREE_PAGE, BTREE_LINK);
			*assay_push(&f->links) = f->pages.n - BTREE_PAGE;
		}
	}
	return first;
}

void btree_put_header(uint8_t *page, uint8_t kind, uint32_t cells, uint32_t start)
{
	page[0] = kind;
	btree_put_big(page + 1, 0, 2); /* no free block */
	btree_put_big(page + 3, cells, 2);
	btree_put_big(page + 5, start, 2);
	page[7] = 0;
}

static void end_leaf(btree *t)
{
	assert(!t->rows || t->start >= BTREE_LEAF_HEADER + 2 * t->rows);
	btree_put_header(t->leaf, LEAF, t->rows, t->start ? t->start : BTREE_PAGE);
}

static void add_leaf(btree *t)
{
	btree_file *f = t->file;
	end_leaf(t);
	uint32_t number = btree_add_page(f);
	size_t at = (size_t)number * BTREE_PAGE;
	memcpy(f->pages.p + at, t->leaf, BTREE_PAGE);
	for (size_t i = 0; i < t->leaf_links.n; i++)
		*assay_push(&f->links) = at + t->leaf_links.p[i];
	*assay_push(&t->leaves) = (btree_child){number, t->last};
	memset(t->leaf, 0, sizeof t->leaf);
	t->leaf_links.n = 0;
	t->rows = t->start = 0;
}

void btree_add(btree *t, int64_t id, const btree_value *value, size_t n)
{
	btree_file *f = t->file;
	uint8_t head[2 * BTREE_VARINT_MAX];
	assert(id > t->last);
	size_t all = btree_make_record(f, value, n), local = btree_local_size(all, LOCAL_MAX);
	size_t front = (size_t)(btree_put_varint(btree_put_varint(head, all), (uint64_t)id) - head);
	size_t cell = front + local + (local < all ? BTREE_LINK : 0);
	uint32_t start = t->start ? t->start : BTREE_PAGE;
	if (BTREE_LEAF_HEADER + 2 * (t->rows + 1) + cell > start) {
		add_leaf(t);
		start = BTREE_PAGE;
	}
	t->start = start - (uint32_t)cell;
	memcpy(t->leaf + t->start, head, front);
	memcpy(t->leaf + t->start + front, f->record.p, local);
	if (local < all) {
		*assay_push(&t->leaf_links) = start - BTREE_LINK;
		btree_put_big(t->leaf + start - BTREE_LINK, btree_put_overflow(f, local, all),
			      BTREE_LINK);
	}
	btree_put_big(t->leaf + BTREE_LEAF_HEADER + 2 * t->rows++, t->start, 2);
	t->last = id;
}

/* Pages above n children: each but the last has its last id, too. Numbers are those in the file. */
static void put_interior(uint8_t *page, const btree_child *child, size_t n, uint32_t first)
{
	uint32_t start = BTREE_PAGE;
	for (size_t i = 0; i + 1 < n; i++) {
		uint8_t cell[BTREE_LINK + BTREE_VARINT_MAX];
		btree_put_big(cell, btree_number_of(child[i].page, first), BTREE_LINK);
		size_t bytes =
			(size_t)(btree_put_varint(cell + BTREE_LINK, (uint64_t)child[i].last) -
				 cell);
		start -= (uint32_t)bytes;
		memcpy(page + start, cell, bytes);
		btree_put_big(page + BTREE_INTERIOR_HEADER + 2 * i, start, 2);
	}
	btree_put_header(page, INTERIOR, (uint32_t)n - 1, start);
	btree_put_big(page + BTREE_LEAF_HEADER, btree_number_of(child[n - 1].page, first),
		      BTREE_LINK);
}

/* One level less: as many pages as are needed, with about as many children each. */
static void raise(btree *t, uint32_t first)
{
	size_t n = t->leaves.n, pages = (n + CHILDREN - 1) / CHILDREN, made = 0;
	for (size_t from = 0; made < pages; made++) {
		size_t to = n * (made + 1) / pages;
		uint32_t number = btree_add_page(t->file);
		put_interior(t->file->pages.p + (size_t)number * BTREE_PAGE, t->leaves.p + from,
			     to - from, first);
		t->leaves.p[made] = (btree_child){number, t->leaves.p[to - 1].last};
		from = to;
	}
	t->leaves.n = made;
}

void btree_finish(btree *t, uint8_t root[BTREE_PAGE], uint32_t first)
{
	if (!t->leaves.n) { /* the root is the only leaf */
		end_leaf(t);
		memcpy(root, t->leaf, BTREE_PAGE);
		for (size_t i = 0; i < t->leaf_links.n; i++)
			btree_place(root + t->leaf_links.p[i], first);
		return;
	}
	add_leaf(t);
	while (t->leaves.n > CHILDREN)
		raise(t, first);
	memset(root, 0, BTREE_PAGE);
	put_interior(root, t->leaves.p, t->leaves.n, first);
}

void btree_free(btree *t)
{
	assay_vec_free(&t->leaf_links);
	assay_vec_free(&t->leaves);
}

void btree_file_write(btree_file *f, uint8_t *image, uint32_t pages, FILE *out)
{
	static const uint8_t empty[BTREE_PAGE];
	uint32_t first = pages + 1;
	size_t n = f->pages.n / BTREE_PAGE, before = first <= LOCKED ? LOCKED - first : n;
	before = before < n ? before : n;
	for (size_t i = 0; i < f->links.n; i++)
		btree_place(f->pages.p + f->links.p[i], first);
	btree_put_big(image + COUNT_AT, n ? btree_number_of((uint32_t)n - 1, first) : pages, 4);
	memcpy(image + COUNT_OF_VERSION_AT, image + VERSION_AT, 4); /* the count is of this one */
	fwrite(image, BTREE_PAGE, pages, out);
	if (before)
		fwrite(f->pages.p, BTREE_PAGE, before, out);
	if (before < n) {
		fwrite(empty, BTREE_PAGE, 1, out);
		fwrite(f->pages.p + before * BTREE_PAGE, BTREE_PAGE, n - before, out);
	}
}

void btree_file_free(btree_file *f)
{
	assay_vec_free(&f->pages);
	assay_vec_free(&f->links);
	assay_vec_free(&f->record);
}

TEST(varints_are_those_of_sqlite)
{
	static const struct {
		uint64_t v;
		uint8_t n, bytes[9];
	} c[] = {{0, 1, {0}},
		 {0x7f, 1, {0x7f}},
		 {0x80, 2, {0x81, 0}},
		 {16383, 2, {0xff, 0x7f}},
		 {16384, 3, {0x81, 0x80, 0}},
		 {0xffffffffffffff, 8, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}},
		 {0x100000000000000, 9, {0x80, 0xc0, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0}},
		 {UINT64_MAX, 9, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}}};
	uint8_t got[BTREE_VARINT_MAX];
	for (size_t i = 0; i < ASSAY_COUNT_OF(c); i++) {
		CHECK_EQ(btree_put_varint(got, c[i].v) - got, c[i].n);
		CHECK(!memcmp(got, c[i].bytes, c[i].n));
	}
	return 0;
}

TEST(the_page_that_sqlite_locks_is_left_out)
{
	CHECK_EQ(btree_number_of(0, 3), 3);
	CHECK_EQ(btree_number_of(LOCKED - 4, 3), LOCKED - 1);
	CHECK_EQ(btree_number_of(LOCKED - 3, 3), LOCKED + 1);
	CHECK_EQ(btree_number_of(0, LOCKED), LOCKED + 1);
	CHECK_EQ(btree_number_of(5, LOCKED + 1), LOCKED + 6);
	return 0;
}

TEST(a_file_of_trees_of_one_page_is_its_image)
{
	btree_file f = {0};
	uint8_t image[BTREE_PAGE] = {0}, got[BTREE_PAGE + 1];
	FILE *out = tmpfile();
	CHECK(out);
	btree_file_write(&f, image, 1, out);
	rewind(out);
	CHECK_EQ(fread(got, 1, sizeof got, out), BTREE_PAGE);
	CHECK_EQ(got[COUNT_AT + 3], 1);
	fclose(out);
	return 0;
}
