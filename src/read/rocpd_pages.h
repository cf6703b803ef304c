/* Tables of a SQLite file read straight from its pages, in the order of their rows.
 *
 * Stepping rows through SQL costs ten times what the pages cost. The format is public and frozen
 * (https://sqlite.org/fileformat2.html); whatever is not the plain case (text that is not UTF-8,
 * tables without rowid, a log beside the file) is left to SQLite itself. Nothing on a page is
 * trusted. */
#ifndef ASSAY_READ_ROCPD_PAGES_H
#define ASSAY_READ_ROCPD_PAGES_H

#include "base/arena.h"

enum { ASSAY_ROCPD_DEPTH = 20, ASSAY_ROCPD_FIELDS = 64 };

typedef struct assay_rocpd_pages {
	const char *p;
	uint64_t bytes;
	uint32_t size, usable, count;
} assay_rocpd_pages;

typedef enum assay_rocpd_type {
	ASSAY_ROCPD_NULL,
	ASSAY_ROCPD_INT,
	ASSAY_ROCPD_FLOAT,
	ASSAY_ROCPD_TEXT,
	ASSAY_ROCPD_BLOB,
} assay_rocpd_type;

typedef struct assay_rocpd_value {
	assay_rocpd_type type;
	union {
		int64_t i;
		double f;
		assay_str text; /* valid until the next row */
	} u;
} assay_rocpd_value;

typedef struct assay_rocpd_walk {
	const assay_rocpd_pages *file;
	struct {
		uint32_t page, next, cells;
	} at[ASSAY_ROCPD_DEPTH]; /* from the root down */
	int depth;
	uint32_t pages_left;
	uint64_t spill_left; /* bytes of spilled records still worth copying, for all tables */
	bool broken;         /* the walk ended before the table did */
	int fields;          /* of a record that are looked at */
	int8_t column_of[ASSAY_ROCPD_FIELDS]; /* asked column by field of the record, -1 for none */
	int rowid_column;                     /* asked column that is the rowid, or -1 */
	assay_rocpd_value value[ASSAY_ROCPD_FIELDS]; /* by asked column */
	assay_vec(char) spilled;                     /* a record that goes on on other pages */
} assay_rocpd_walk;

/* False when the file must be left to SQLite. */
bool assay_rocpd_pages_open(assay_rocpd_pages *f, const char *p, uint64_t bytes);

/* Start on the table whose first page is root; column_of and the like are set already. False when
 * it is no plain table. Keeps spilled's memory. */
bool assay_rocpd_walk_start(assay_rocpd_walk *w, const assay_rocpd_pages *f, uint32_t root);
bool assay_rocpd_walk_next(assay_rocpd_walk *w);

#endif
