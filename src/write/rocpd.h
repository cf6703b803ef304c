/* Private to the rocpd writer: the tables of one process in a database. */
#ifndef ASSAY_WRITE_ROCPD_H
#define ASSAY_WRITE_ROCPD_H

#include <sqlite3.h>
#include <stdio.h>

#include "model/run.h"
#include "write/btree.h"

typedef enum rocpd_table {
#define TABLE(t) ROCPD_T_##t,
#define COL(t, c, type, of)
#define END(t)
#include "write/rocpd.def"
	ROCPD_TABLE_COUNT,
	/* From here on rows have numbers of our own, which rise, and there are as many as events:
	 * their pages are written without SQLite. */
	ROCPD_FIRST_OWN = ROCPD_T_track,
} rocpd_table;

/* Places of a table's columns in its statement. 1 is the id, 2 the guid. */
#define TABLE(t)            enum { ROCPD_##t##_guid = 2,
#define COL(t, c, type, of) ROCPD_##t##_##c,
#define END(t)                                                                                     \
	}                                                                                          \
	;
#include "write/rocpd.def"

enum { ROCPD_OWN = ROCPD_TABLE_COUNT - ROCPD_FIRST_OWN, ROCPD_COLUMNS_MAX = 24 };

typedef struct rocpd_own {
	btree tree[ROCPD_OWN];
	const char *suffix;
	struct rocpd_own *next; /* of the process before */
} rocpd_own;

/* A database being made: tables by SQLite, most rows beside. */
typedef struct rocpd_file {
	sqlite3 *db;
	btree_file rows;
	rocpd_own *own;
} rocpd_file;

/* Those of one process. */
typedef struct rocpd_tables {
	rocpd_file *file;
	const char *guid;
	const char *suffix; /* of the tables' names */
	sqlite3_stmt *insert[ROCPD_FIRST_OWN];
	rocpd_own *own;
	btree_value next[ROCPD_OWN][ROCPD_COLUMNS_MAX];    /* the row that is about to be put */
	btree_value nothing[ROCPD_OWN][ROCPD_COLUMNS_MAX]; /* a row of which nothing is set */
	bool failed;
} rocpd_tables;

bool rocpd_tables_open(rocpd_tables *t, rocpd_file *file, const char *guid, assay_arena *arena);
void rocpd_tables_close(rocpd_tables *t);
/* The views, over the processes whose suffixes are listed. */
bool rocpd_views_make(sqlite3 *db, const char *const *suffix, size_t n, assay_arena *arena);
/* All that was put, as a file; false when it cannot be made. */
bool rocpd_file_write(rocpd_file *f, FILE *out, assay_arena *arena);
void rocpd_file_free(rocpd_file *f);

/* Values of the next row of a table, then the row; what is not set is NULL, JSON {}, or empty where
 * NULL is not allowed. Text lasts until then. */
void rocpd_set_i64(rocpd_tables *t, rocpd_table table, int column, int64_t v);
void rocpd_set_f64(rocpd_tables *t, rocpd_table table, int column, double v);
void rocpd_set_text(rocpd_tables *t, rocpd_table table, int column, assay_str s); /* NULL if "" */
void rocpd_put(rocpd_tables *t, rocpd_table table, int64_t id);

/* The fact of the process's headers, and how many of the run's have no place in a database. */
assay_str rocpd_fact(const assay_run *run, uint32_t group, const char *key);
uint64_t rocpd_facts_without_place(const assay_run *run);
assay_str rocpd_environment(const assay_run *run, uint32_t group, assay_arena *arena);
const char *rocpd_guid(const assay_run *run, uint32_t group, int64_t start, assay_arena *arena);

#endif
