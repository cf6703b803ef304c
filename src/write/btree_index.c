/* Index b-trees of SQLite's file format (https://www.sqlite.org/fileformat2.html, section 1.6): a
 * record is a key and the id of its row. Other than in tables, those between two pages stand in the
 * page above and nowhere else; and no page but a root may be empty. */
#include <assert.h>
#include <string.h>

#include "write/btree_inside.h"

enum {
	LEAF = 10,
	INTERIOR = 2,
	LOCAL_MAX = (BTREE_PAGE - 12) * 64 / 255 - 23, /* four of them fit a page */
};

/* The record as a cell of the leaf. */
static btree_cell make_cell(btree_index *t, const btree_value *key, int64_t id)
{
	const btree_value value[] = {*key, {.kind = BTREE_INT, .i = id}};
	size_t all = btree_make_record(t->file, value, ASSAY_COUNT_OF(value));
	size_t local = btree_local_size(all, LOCAL_MAX);
	btree_cell c = {.at = t->bytes.n, .link = local < all};
	assay_vec_reserve(&t->bytes, c.at + BTREE_VARINT_MAX + local + BTREE_LINK);
	uint8_t *to = btree_put_varint(t->bytes.p + c.at, all);
	memcpy(to, t->file->record.p, local);
	to += local;
	if (c.link) {
		btree_put_big(to, btree_put_overflow(t->file, local, all), BTREE_LINK);
		to += BTREE_LINK;
	}
	c.n = (uint32_t)((size_t)(to - t->bytes.p) - c.at);
	t->bytes.n = c.at + c.n;
	return c;
}

/* The leaf's first n cells as a page. first is 0 while it is not known: links are left to the
 * file. */
static void put_leaf(btree_index *t, uint8_t *page, size_t n, uint32_t first)
{
	uint32_t start = BTREE_PAGE;
	for (size_t i = 0; i < n; i++) {
		const btree_cell *c = &t->leaf.p[i];
		uint8_t *link = page + start - BTREE_LINK;
		start -= c->n;
		memcpy(page + start, t->bytes.p + c->at, c->n);
		if (c->link && first)
			btree_place(link, first);
		else if (c->link)
			*assay_push(&t->file->links) = (uint64_t)(link - t->file->pages.p);
		btree_put_big(page + BTREE_LEAF_HEADER + 2 * i, start, 2);
	}
	assert(start >= BTREE_LEAF_HEADER + 2 * n && start <= BTREE_PAGE);
	btree_put_header(page, LEAF, (uint32_t)n, start);
}

static uint8_t *page_of(btree_index *t, uint32_t number)
{
	return t->file->pages.p + (size_t)number * BTREE_PAGE;
}

static void copy_bytes(btree_index *t, btree_cell *c)
{
	assay_vec_reserve(&t->above_bytes, t->above_bytes.n + c->n);
	memcpy(t->above_bytes.p + t->above_bytes.n, t->bytes.p + c->at, c->n);
	c->at = t->above_bytes.n;
	t->above_bytes.n += c->n;
}

/* The first n cells of the leaf are a page, the one behind them stands above it, the rest is the
 * next leaf. */
static void end_leaf(btree_index *t, size_t n)
{
	uint32_t number = btree_add_page(t->file);
	put_leaf(t, page_of(t, number), n, 0);
	assert(n < t->leaf.n);
	btree_cell above = t->leaf.p[n];
	above.left = number;
	copy_bytes(t, &above);
	*assay_push(&t->above) = above;
	size_t rest = t->leaf.n - n - 1, from = rest ? t->leaf.p[n + 1].at : t->bytes.n;
	for (size_t i = 0; i < rest; i++) {
		t->leaf.p[i] = t->leaf.p[n + 1 + i];
		t->leaf.p[i].at -= from;
	}
	memmove(t->bytes.p, t->bytes.p + from, t->bytes.n - from);
	t->bytes.n -= from;
	t->leaf.n = rest;
	t->full = false;
}

void btree_index_add(btree_index *t, const btree_value *key, int64_t id)
{
	if (t->full) /* the last one is not the last of all, so it may stand above */
		end_leaf(t, t->leaf.n - 1);
	btree_cell c = make_cell(t, key, id);
	*assay_push(&t->leaf) = c;
	t->full = BTREE_LEAF_HEADER + t->bytes.n + 2 * t->leaf.n > BTREE_PAGE;
}

/* How many of the cells fit an interior page. */
static size_t fitting(const btree_cell *cell, size_t n)
{
	size_t used = BTREE_INTERIOR_HEADER, i = 0;
	while (i < n && used + cell[i].n + BTREE_LINK + 2 <= BTREE_PAGE)
		used += cell[i++].n + BTREE_LINK + 2;
	return i;
}

/* last: the page behind these cells. */
static void put_interior(btree_index *t, uint8_t *page, const btree_cell *cell, size_t n,
			 uint32_t last, uint32_t first)
{
	uint32_t start = BTREE_PAGE;
	for (size_t i = 0; i < n; i++) {
		start -= cell[i].n;
		memcpy(page + start, t->above_bytes.p + cell[i].at, cell[i].n);
		if (cell[i].link)
			btree_place(page + start + cell[i].n - BTREE_LINK, first);
		start -= BTREE_LINK;
		btree_put_big(page + start, btree_number_of(cell[i].left, first), BTREE_LINK);
		btree_put_big(page + BTREE_INTERIOR_HEADER + 2 * i, start, 2);
	}
	assert(start >= BTREE_INTERIOR_HEADER + 2 * n && start <= BTREE_PAGE);
	btree_put_header(page, INTERIOR, (uint32_t)n, start);
	btree_put_big(page + BTREE_LEAF_HEADER, btree_number_of(last, first), BTREE_LINK);
}

/* One level more: of the cells above the pages below, those that stand above these in turn stay. */
static void raise(btree_index *t, uint32_t first)
{
	size_t n = t->above.n, kept = 0;
	for (size_t from = 0; from <= n;) {
		size_t m = fitting(t->above.p + from, n - from);
		m -= from + m + 1 == n; /* else the next page would have a child and no cell */
		uint32_t right = from + m < n ? t->above.p[from + m].left : t->right;
		uint32_t number = btree_add_page(t->file);
		put_interior(t, page_of(t, number), t->above.p + from, m, right, first);
		from += m + 1;
		if (from > n) {
			t->right = number;
			break;
		}
		btree_cell up = t->above.p[from - 1];
		up.left = number;
		t->above.p[kept++] = up;
	}
	t->above.n = kept;
}

void btree_index_finish(btree_index *t, uint8_t root[BTREE_PAGE], uint32_t first)
{
	memset(root, 0, BTREE_PAGE);
	if (t->full) /* the last one needs a page below it on either side */
		end_leaf(t, t->leaf.n - 2);
	if (!t->above.n) {
		put_leaf(t, root, t->leaf.n, first);
		return;
	}
	assert(t->leaf.n);
	t->right = btree_add_page(t->file);
	put_leaf(t, page_of(t, t->right), t->leaf.n, 0);
	while (fitting(t->above.p, t->above.n) < t->above.n)
		raise(t, first);
	put_interior(t, root, t->above.p, t->above.n, t->right, first);
}

void btree_index_free(btree_index *t)
{
	assay_vec_free(&t->bytes);
	assay_vec_free(&t->above_bytes);
	assay_vec_free(&t->leaf);
	assay_vec_free(&t->above);
}
