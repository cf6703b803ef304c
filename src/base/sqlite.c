#include "base/sqlite.h"

static void close_all(void *db)
{
	for (sqlite3_stmt *s; (s = sqlite3_next_stmt(db, NULL));)
		sqlite3_finalize(s);
	sqlite3_close(db);
}

void assay_sqlite_guard(assay_undo *u, sqlite3 *db)
{
	if (db)
		assay_undo_add(u, close_all, db);
	else
		*u = (assay_undo){0};
}
