/* Rows of one run behind those of another. */
#ifndef ASSAY_MODEL_APPEND_H
#define ASSAY_MODEL_APPEND_H

#include "model/run.h"

/* tables: in an order in which rows come after those they refer to; NULL for all. skip: by row of
 * source, those left out, with the rows that refer to them; NULL for none. A row comes along with
 * those in front of it that refer to it, and rows of no source do, but for details of spans that
 * are left out. References to what does not come along become absent. Only strings that are used
 * come along. */
void assay_rows_append(assay_part *to, const assay_part *from, const assay_table_id *tables,
		       size_t n, const bool *skip);

#endif
