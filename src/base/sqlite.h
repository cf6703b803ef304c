/* Connections to SQLite that a failure may find open. */
#ifndef ASSAY_BASE_SQLITE_H
#define ASSAY_BASE_SQLITE_H

#include <sqlite3.h>

#include "base/owner.h"

/* Closes it when memory runs out, whatever statements are open. NULL is fine. */
void assay_sqlite_guard(assay_undo *u, sqlite3 *db);

/* Page where a table or an index begins, counted from 1; 0: it cannot be asked. */
uint32_t assay_sqlite_root(sqlite3 *db, const char *schema, const char *name);

/* For tests: a database in this file, as the statements make or change it; false: they failed. */
static inline bool assay_sqlite_by_hand(const char *path, const char *statements)
{
	sqlite3 *db = NULL;
	bool ok = sqlite3_open(path, &db) == SQLITE_OK &&
		  sqlite3_exec(db, statements, NULL, NULL, NULL) == SQLITE_OK;
	sqlite3_close(db);
	return ok;
}

#endif
