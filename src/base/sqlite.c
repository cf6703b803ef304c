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

uint32_t assay_sqlite_root(sqlite3 *db, const char *schema, const char *name)
{
	sqlite3_stmt *s = NULL;
	uint32_t root = 0;
	char *text = sqlite3_mprintf("SELECT rootpage FROM \"%w\".sqlite_schema WHERE name = %Q",
				     schema, name);
	if (text && !sqlite3_prepare_v2(db, text, -1, &s, NULL) && sqlite3_step(s) == SQLITE_ROW)
		root = (uint32_t)sqlite3_column_int64(s, 0);
	sqlite3_finalize(s);
	sqlite3_free(text);
	return root;
}
