/* SQL over the tables and views of a run: nothing is copied in, no file can be written. */
#ifndef ASSAY_QUERY_SQL_H
#define ASSAY_QUERY_SQL_H

#include "query/relation.h"

typedef struct assay_sql {
	assay_relations views;
	struct sqlite3 *db;
	assay_undo undo;
} assay_sql;

/* Of an analyzed run whose tables do not grow while it is open. Close it in either case. */
bool assay_sql_open(assay_sql *sql, const assay_run *run, assay_err *err);
void assay_sql_close(assay_sql *sql);
/* The statement that runs ends with an error; for handlers of signals. */
void assay_sql_interrupt(const assay_sql *sql);

typedef struct assay_result {
	assay_sql *sql;
	struct sqlite3_stmt *stmt; /* NULL: the text held no statement */
	int cols;
} assay_result;

/* The first statement of the text, which moves behind it. Free r in either case. */
bool assay_sql_start(assay_sql *sql, const char **text, assay_result *r, assay_err *err);
/* 1: a row is there, 0: no more, -1: err says why. */
int assay_result_next(assay_result *r, assay_err *err);
const char *assay_result_name(const assay_result *r, int col);
/* Texts live until the next row. */
assay_cell assay_result_cell(const assay_result *r, int col);
void assay_result_free(assay_result *r);

/* Views that are made of SQL, not of reaches: name, text, doc. Ends with NULL names. */
typedef struct assay_sql_view {
	const char *name, *text, *doc;
} assay_sql_view;
extern const assay_sql_view assay_sql_views[];
const assay_sql_view *assay_sql_view_find(const char *name);

#endif
