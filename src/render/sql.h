/* Results of SQL for people and programs. */
#ifndef ASSAY_RENDER_SQL_H
#define ASSAY_RENDER_SQL_H

#include <stdio.h>

#include "query/sql.h"

typedef enum assay_sql_form { ASSAY_SQL_TABLE, ASSAY_SQL_CSV, ASSAY_SQL_JSON } assay_sql_form;

/* Every row of a started statement; tables are made to fit room characters, 0: not on a terminal.
 * False: err says why the rest is missing. */
bool assay_sql_print(FILE *out, assay_result *r, assay_sql_form form, int room, assay_err *err);
/* The tables and views, or the columns of one of them; false when there is none of that name. */
bool assay_sql_schema(FILE *out, const assay_relations *views, const char *name);

#endif
