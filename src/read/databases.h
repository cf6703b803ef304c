/* SQLite databases are told apart by their tables. The first bytes do not always name these, so
 * whichever reader was chosen, all of them are tried. */
#ifndef ASSAY_READ_DATABASES_H
#define ASSAY_READ_DATABASES_H

#include "read/db.h"
#include "read/reader.h"

typedef struct assay_database {
	const assay_reader *reader; /* whose source it is */
	bool (*is)(const assay_db *db);
	bool (*read)(assay_db *db); /* false: its tables cannot be read */
} assay_database;
extern const assay_database assay_database_rocpd, assay_database_rpd, assay_database_nsys,
	assay_database_first;

/* The read() of all of them. */
bool assay_database_read(assay_run *run, assay_input *in, assay_err *err);
/* Whether the text begins as a SQLite database does. */
bool assay_is_sqlite(assay_str head);

#endif
