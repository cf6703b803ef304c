/* Tables of a SQLite file read straight from its pages, in the order of their rows.
 *
 * Stepping rows through SQL costs ten times what the pages cost. The format is public and frozen
 * (https://sqlite.org/fileformat2.html); whatever is not the plain case (text that is not UTF-8,
 * tables without rowid, a log beside the file) is left to SQLite itself. Nothing on a page is
 * trusted. */
#ifndef ASSAY_READ_DB_PAGES_H
#define ASSAY_READ_DB_PAGES_H

#include "base/arena.h"
#include "base/input.h"

enum { ASSAY_DB_DEPTH = 20, ASSAY_DB_FIELDS = 64 };

/* In memory with ASSAY_PAD readable bytes behind, or read from a file as they are needed; neither:
 * left to SQLite. */
typedef struct assay_db_pages {
	const char *image;
	assay_input *in;
	uint64_t bytes;
	uint32_t size, usable, count;
} assay_db_pages;

typedef enum assay_db_type {
	ASSAY_DB_NULL,
	ASSAY_DB_INT,
	ASSAY_DB_FLOAT,
	ASSAY_DB_TEXT,
	ASSAY_DB_BLOB,
} assay_db_type;

typedef struct assay_db_value {
	assay_db_type type;
	union {
		int64_t i;
		double f;
		assay_str text; /* valid until the next row */
	} u;
} assay_db_value;

/* Pages in a row that were read from a file. */
struct assay_db_block {
	assay_vec(char) text;
	uint32_t first, count;
};

typedef struct assay_db_walk {
	const assay_db_pages *file;
	struct {
		uint32_t page, next, cells;
	} at[ASSAY_DB_DEPTH]; /* from the root down */
	int depth;
	uint32_t pages_left;
	uint64_t spill_left; /* bytes of spilled records still worth copying, for all tables */
	bool broken;         /* the walk ended before the table did */
	int fields;          /* of a record that are looked at */
	int8_t column_of[ASSAY_DB_FIELDS]; /* asked column by field of the record, -1 for none */
	int rowid_column;                  /* asked column that is the rowid, or -1 */
	assay_db_value value[ASSAY_DB_FIELDS]; /* by asked column */
	assay_vec(char) spilled;               /* a record that goes on on other pages */
	struct assay_db_block
		block[ASSAY_DB_DEPTH + 1]; /* by level; the last: of spilled records */
} assay_db_walk;

/* By the first 100 bytes of the file; false when it must be left to SQLite. The caller says
 * where the pages are. */
bool assay_db_pages_open(assay_db_pages *f, const char *header, uint64_t bytes);

/* Start on the table whose first page is root; column_of and the like are set already. False when
 * it is no plain table. Keeps spilled's memory. */
bool assay_db_walk_start(assay_db_walk *w, const assay_db_pages *f, uint32_t root);
bool assay_db_walk_next(assay_db_walk *w);
/* Rows of that table. Its ends are all that is looked at where ids count on without gaps there, its
 * pages otherwise, its records never. False: the pages make no sense. */
bool assay_db_walk_count(assay_db_walk *w, const assay_db_pages *f, uint32_t root, uint64_t *rows);
void assay_db_walk_free(assay_db_walk *w);

#endif
