/* A SQLite database that may be damaged or hostile: opened without touching the disk beside it,
 * with every liberty of its schema taken away, and read table by table with the columns it happens
 * to have. */
#ifndef ASSAY_READ_DB_H
#define ASSAY_READ_DB_H

#include "base/input.h"
#include "model/run.h"
#include "read/db_pages.h"

typedef struct sqlite3 sqlite3;
typedef struct sqlite3_stmt sqlite3_stmt;

typedef struct assay_db {
	assay_run *run;
	assay_part *part;
	const char *path;
	sqlite3 *sql;
	assay_db_pages pages; /* of the file, when they may be read without SQLite */
	assay_db_walk walk;
	bool walking;       /* the select in progress is a walk, not a statement */
	sqlite3_stmt *rows; /* the one select in progress */
	const char *table;  /* it reads */
	const char *guid;   /* only rows of this process, where several share tables; NULL: all */
	/* What a file of this size can honestly hold or cost; a hostile one claims more. */
	uint64_t rows_left, text_left, ticks_left;
	uint64_t rows_given, spill_given; /* of a split one: what it began with */
	bool warned, cut;
	bool broken;                /* a table was not read to its end */
	char number[40];            /* text of a cell that is a number */
	assay_vec(char) image;      /* the database when it came packed or through a pipe */
	assay_vec(assay_str) names; /* of tables and views */
	assay_vec(uint32_t) roots;  /* their first pages, 0 for views */
	assay_vec(bool) asked;      /* whether somebody selected from them */
	assay_map name_at;
	assay_arena scratch;
	assay_undo undo;
} assay_db;

bool assay_db_open(assay_db *db, assay_run *run, assay_input *in, assay_err *err);
void assay_db_close(assay_db *db);

/* Whether there is a table or view of this name. Virtual tables do not count. */
bool assay_db_exists(const assay_db *db, const char *table);

/* A list of column names and its length, as assay_db_select() takes them. */
#define ASSAY_DB_COLUMNS(...)                                                                      \
	(const char *const[]){__VA_ARGS__},                                                        \
		(int)(sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *))

/* Start reading a table: columns it lacks read as absent. False when there is no such table. One
 * table at a time. Failures on the way are counted, warned of once, and end the rows. */
bool assay_db_select(assay_db *db, const char *table, const char *const columns[], int n);
bool assay_db_next(assay_db *db);

/* The select in progress goes on at `out`, which another thread may have: it counts into a part of
 * its own, warns of nothing, and is closed as any other. False: it is not one that can, and stays
 * here. */
bool assay_db_split(assay_db *db, assay_db *out, assay_part *part);
/* When it is over: takes from db what it has cost, of text so much. False, and nothing is taken,
 * when db has less, or when the rows did not come to their end: db would have complained. */
bool assay_db_pay(assay_db *db, const assay_db *split, uint64_t text);

/* Rows that were read and not taken. */
typedef struct assay_db_passed {
	uint64_t rows;
	const char *of;
} assay_db_passed;

/* Tables with rows that nobody selected from are named and counted in the fact `unread`, but for
 * those that are dull: they explain others; and rows that were passed over. Call it last. */
void assay_db_tell_unread(assay_db *db, bool (*dull)(assay_str table),
			  const assay_db_passed *passed, size_t n);

/* The value of a column of the current row; false when it is absent or of another type. */
bool assay_db_i64(assay_db *db, int column, int64_t *out);
int64_t assay_db_int(assay_db *db, int column, int64_t absent);
bool assay_db_f64(assay_db *db, int column, double *out);
assay_str assay_db_text(assay_db *db,
			int column); /* not NUL-terminated; valid until the next call */

/* Numbers by id. Ids are nearly always 1, 2, 3...: these live in an array, others in a map. */
typedef struct assay_db_ids {
	assay_vec(uint32_t) dense;
	assay_map sparse;
} assay_db_ids;

void assay_db_ids_set(assay_db_ids *ids, int64_t id, uint32_t value);
uint32_t assay_db_ids_get(const assay_db_ids *ids, int64_t id); /* or ASSAY_MAP_ABSENT */
void assay_db_ids_free(assay_db_ids *ids);

/* The older rocmProfileData schema (.rpd). */
bool assay_rocpd_is_rpd(const assay_db *db);
bool assay_rocpd_read_rpd(assay_db *db);

/* results.db of the first rocprof. */
bool assay_rocpd_is_first(const assay_db *db);
bool assay_rocpd_read_first(assay_db *db);

#endif
