/* Tables as people ask for them: every table of a run with its own columns, and views whose columns
 * lie behind references (a kernel's stream, the call that launched it, its operator, its step). One
 * description serves SQL (vtab.c) and Arrow (arrow.c). Nothing is copied: a cell is found by
 * following row numbers. */
#ifndef ASSAY_QUERY_RELATION_H
#define ASSAY_QUERY_RELATION_H

#include "model/run.h"

#include "base/assert.h"
enum { ASSAY_REACH_HOPS = 6, ASSAY_RELATION_TERMS = 3 };

/* From a row to a row of another table. */
typedef struct assay_hop {
	const uint32_t *to; /* by row; NULL: the row of the same number */
	size_t rows;        /* of the table it leads to */
} assay_hop;

/* The way from a row of a view's table to a value. */
typedef struct assay_reach {
	assay_hop hop[ASSAY_REACH_HOPS];
	size_t hops;
	const assay_col_info *col;
	const void *values;
	bool minus; /* subtracted */
} assay_reach;

typedef enum assay_cell_type {
	ASSAY_CELL_NULL,
	ASSAY_CELL_INT,
	ASSAY_CELL_REAL,
	ASSAY_CELL_TEXT
} assay_cell_type;

typedef struct assay_relation_col {
	const char *name, *unit, *doc;
	const char *reach; /* as views.def has it; NULL: a column of the table itself */
	assay_cell_type type;
	assay_reach term[ASSAY_RELATION_TERMS];
	size_t terms;   /* 0: the row's number; several: their sum, absent when one of them is */
	int64_t plus;   /* added to the sum */
	bool string_id; /* the number of a text instead of the text, for quick grouping and joins */
} assay_relation_col;

typedef struct assay_relation {
	const char *name, *doc;
	const char *filter; /* "column=word"; NULL: a table itself */
	const assay_table_info *table;
	const assay_relation_col *col; /* the row's number first */
	size_t cols;
	const uint32_t *row; /* rows of the table it has, rising; NULL: all */
	size_t n;
} assay_relation;

typedef struct assay_relations {
	const assay_run *run;
	assay_arena arena;
	int64_t first; /* the run's first moment, since 1970: what $first stands for */
	assay_vec(assay_relation) view; /* views.def first, then tables.def */
} assay_relations;

typedef struct assay_cell {
	assay_cell_type type;
	int64_t i; /* bits of f when it is real */
	double f;
	assay_str text;
} assay_cell;

/* Of an analyzed run, whose tables must not grow afterwards. */
void assay_relations_of(assay_relations *views, const assay_run *run);
void assay_relations_free(assay_relations *views);
const assay_relation *assay_relation_find(const assay_relations *views, const char *name);

/* A column by its name, NULL: none; and what SQL calls a table's row number: "id", unless it has a
 * column of that name. */
const char *assay_table_key(const assay_table_info *table);

/* Row `at` of the view: row of its table. */
static inline uint32_t assay_relation_row(const assay_relation *v, size_t at)
{
	ASSAY_ASSERT_CHECKED(at < v->n);
	return v->row ? v->row[at] : (uint32_t)at;
}
assay_cell assay_relation_cell(const assay_run *run, const assay_relation_col *col, uint32_t row);

#endif
