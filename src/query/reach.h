/* Reading the reaches of views.def, where the grammar stands: terms with signs, each of words. */
#ifndef ASSAY_QUERY_REACH_H
#define ASSAY_QUERY_REACH_H

#include "model/run.h"

/* The next of the terms that are added or subtracted; false: there is none. */
bool assay_reach_term(assay_str *rest, assay_str *term, bool *minus);

typedef enum assay_reach_way {
	ASSAY_REACH_COLUMN, /* by the row a column holds */
	ASSAY_REACH_BESIDE, /* to the row of the same number */
	ASSAY_REACH_KERNEL  /* to the row of kernel with the same name and kind */
} assay_reach_way;

typedef struct assay_reach_word {
	assay_reach_way way;
	const assay_col_info *col;  /* of ASSAY_REACH_COLUMN */
	const assay_table_info *to; /* NULL: the column holds values, not rows */
} assay_reach_word;

/* The next word of a term, from a row of table. False when tables.def does not have what it names,
 * or it leads to no row and words follow. */
bool assay_reach_next(assay_str *term, const assay_table_info *table, assay_reach_word *word);

const assay_col_info *assay_table_column_named(const assay_table_info *table, assay_str name);

#endif
