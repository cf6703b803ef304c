/* Many cells of one column at once, and rows in the order of columns. */
#ifndef ASSAY_QUERY_COLUMN_H
#define ASSAY_QUERY_COLUMN_H

#include "query/relation.h"

/* What assay_relation_cell() has as i, of n rows of the view's table: of texts their numbers, of
 * reals their bits. How many are absent; their value is 0. */
size_t assay_column_values(const assay_relation_col *col, const uint32_t *row, size_t n,
			   int64_t *value, bool *absent);

typedef struct assay_column_order {
	uint16_t col;
	bool falling;
} assay_column_order;

/* Sorts n rows of the view's table by columns, the first one above all, as SQL does: absent values
 * below all others, texts by their bytes, equal rows as they were. */
void assay_column_sort(const assay_run *run, const assay_relation *view,
		       const assay_column_order *by, size_t columns, uint32_t *row, size_t n);

/* Keeps one of neighbours that are equal in all columns; how many are left. */
size_t assay_column_unique(const assay_relation *view, const assay_column_order *by, size_t columns,
			   uint32_t *row, size_t n);

#endif
