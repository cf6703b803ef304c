/* Rows of one run behind those of another. */
#ifndef ASSAY_MODEL_APPEND_H
#define ASSAY_MODEL_APPEND_H

#include "model/run.h"

/* Rows of one table. */
typedef struct assay_split_rows {
	uint32_t *row;             /* by home: the source without which they stay away */
	size_t *first;             /* by source, then for rows of none, and the end: index in row */
	uint32_t *to;              /* where rows went, ASSAY_NO_ROW: left out; NULL: not moved */
	assay_vec(uint32_t) going; /* rising */
} assay_split_rows;

/* A run whose sources go to different runs: whose its rows are is found once, and an append takes
 * the time of what it appends. */
typedef struct assay_split {
	const assay_part *from;
	assay_table_id table[ASSAY_T_COUNT];
	size_t n;
	assay_split_rows of[ASSAY_T_COUNT];
	assay_vec(size_t) homes;   /* that go */
	assay_sid *sid;            /* 0: not needed yet */
	assay_vec(assay_sid) used; /* those that are not 0 */
	assay_arena arena;
} assay_split;

/* tables: in an order in which rows come after those they refer to; NULL for all. from stays as it
 * is until the split is freed. */
void assay_split_make(assay_split *s, const assay_part *from, const assay_table_id *tables,
		      size_t n);
/* skip: by row of source, those left out, with the rows that refer to them; NULL for none. A row
 * comes along with those in front of it that refer to it, and rows of no source do, but for details
 * of spans that are left out. References to what does not come along become absent. Only strings
 * that are used come along. */
void assay_split_append(assay_split *s, assay_part *to, const bool *skip);
void assay_split_free(assay_split *s);
/* All of it for one append. */
void assay_rows_append(assay_part *to, const assay_part *from, const assay_table_id *tables,
		       size_t n, const bool *skip);
/* The same of most sources (skip is not NULL), neighbours together; the tables of `from`, no tracks
 * among them, are gone: each as soon as it is copied, so that large ones are not held twice, and
 * large columns are on disk. */
void assay_rows_move(assay_part *to, assay_part *from, const assay_table_id *tables, size_t n,
		     const bool *skip);

#endif
