/* Rows taken out of a table, and what refers to them put right. */
#ifndef ASSAY_MODEL_ONLY_H
#define ASSAY_MODEL_ONLY_H

#include "model/run.h"

/* Keeps the rows that are marked, in order, with the rows of tables that have one for each of them.
 * References to the others become absent. */
void assay_keep_rows(assay_tables *t, assay_table_id table, const bool *keep);

#endif
