/* Rows of an SQLite file written page by page: a table whose ids rise costs a twentieth of what
 * inserting its rows costs. SQLite itself makes the tables, empty, and is given the pages behind
 * its own. */
#ifndef ASSAY_WRITE_BTREE_H
#define ASSAY_WRITE_BTREE_H

#include <stdbool.h>
#include <stdio.h>

#include "base/arena.h"

enum { BTREE_PAGE = 4096 };

typedef struct btree_value {
	enum { BTREE_NULL, BTREE_INT, BTREE_REAL, BTREE_TEXT } kind;
	union {
		int64_t i;
		double f;
		assay_str s; /* not copied before the row is added */
	};
} btree_value;

/* Pages of all tables, to stand in a file behind others. */
typedef struct btree_file {
	assay_vec(uint8_t) pages;
	assay_vec(uint64_t) links; /* where in pages a number of a page stands, counted from 0 */
	assay_vec(uint8_t) record; /* the row that is being added */
} btree_file;

typedef struct btree_child {
	uint32_t page;
	int64_t last; /* id of its last row */
} btree_child;

/* One table, being filled. Starts as zeros but for the file. */
typedef struct btree {
	btree_file *file;
	uint8_t leaf[BTREE_PAGE];
	uint32_t rows;                  /* of the leaf */
	uint32_t start;                 /* of its cells, which grow from the end; 0: none yet */
	assay_vec(uint32_t) leaf_links; /* places in the leaf */
	assay_vec(btree_child) leaves;
	int64_t last;
} btree;

/* Ids rise. An id that is a column of its own is NULL among the values. */
void btree_add(btree *t, int64_t id, const btree_value *value, size_t n);
/* The last pages, and the root: the page that SQLite made for the table. The first page of the file
 * will be number `first`, counted from 1. */
void btree_finish(btree *t, uint8_t root[BTREE_PAGE], uint32_t first);
void btree_free(btree *t);
/* A record of an index that stands in no page yet. */
typedef struct btree_cell {
	size_t at;
	uint32_t n, left; /* left: the page below, of those that stand above leaves */
	bool link;        /* ends with the number of a page */
} btree_cell;

/* One index, being filled. Starts as zeros but for the file. */
typedef struct btree_index {
	btree_file *file;
	assay_vec(btree_cell) leaf;
	assay_vec(uint8_t) bytes;    /* of these */
	assay_vec(btree_cell) above; /* those between leaves */
	assay_vec(uint8_t) above_bytes;
	uint32_t right; /* page behind the last of above */
	bool full;      /* the leaf has one cell more than a page can hold */
} btree_index;

/* Keys rise as SQLite compares them, NULL first; of equal ones ids do. */
void btree_index_add(btree_index *t, const btree_value *key, int64_t id);
void btree_index_finish(btree_index *t, uint8_t root[BTREE_PAGE], uint32_t first);
void btree_index_free(btree_index *t);

/* After all tables and indexes: the pages that SQLite made, whose roots are done, and ours behind
 * them. */
void btree_file_write(btree_file *f, uint8_t *image, uint32_t pages, FILE *out);
void btree_file_free(btree_file *f);

#endif
