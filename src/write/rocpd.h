/* Private to the rocpd writer: the tables of one process in a database. */
#ifndef ASSAY_WRITE_ROCPD_H
#define ASSAY_WRITE_ROCPD_H

#include <sqlite3.h>

#include "model/run.h"

typedef enum rocpd_table {
#define TABLE(t) ROCPD_T_##t,
#define COL(t, c, type, of)
#define END(t)
#include "write/rocpd.def"
	ROCPD_TABLE_COUNT
} rocpd_table;

/* Places of a table's columns in its statement. 1 is the id, 2 the guid. */
#define TABLE(t)            enum { ROCPD_##t##_guid = 2,
#define COL(t, c, type, of) ROCPD_##t##_##c,
#define END(t)                                                                                     \
	}                                                                                          \
	;
#include "write/rocpd.def"

typedef struct rocpd_tables {
	sqlite3 *db;
	const char *guid;
	const char *suffix; /* of the tables' names */
	sqlite3_stmt *insert[ROCPD_TABLE_COUNT];
	bool failed;
} rocpd_tables;

bool rocpd_tables_open(rocpd_tables *t, sqlite3 *db, const char *guid, assay_arena *arena);
void rocpd_tables_close(rocpd_tables *t);
/* The views, over the processes whose suffixes are listed. */
bool rocpd_views_make(sqlite3 *db, const char *const *suffix, size_t n, assay_arena *arena);

/* Values of the next row of a table, then the row; what is not set is NULL, JSON {}. */
void rocpd_set_i64(rocpd_tables *t, rocpd_table table, int column, int64_t v);
void rocpd_set_f64(rocpd_tables *t, rocpd_table table, int column, double v);
void rocpd_set_text(rocpd_tables *t, rocpd_table table, int column, assay_str s); /* NULL if "" */
void rocpd_put(rocpd_tables *t, rocpd_table table, int64_t id);

#endif
