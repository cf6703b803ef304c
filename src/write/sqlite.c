/* All tables of a run in one SQLite file, with indexes and the views of `assay sql`: what other
 * tools and other days can ask without assay. */
#include "base/sqlite.h"
#include "base/test.h"
#include "query/schema.h"
#include "query/sql.h"
#include "query/vtab.h"
#include "write/writer.h"

static bool fail(sqlite3 *db, assay_err *err)
{
	return assay_fail(err, ASSAY_LIMIT, 0, "the database cannot be made: %s",
			  sqlite3_errmsg(db));
}

static bool run_sql(sqlite3 *db, const char *text, assay_err *err)
{
	return sqlite3_exec(db, text, NULL, NULL, NULL) == SQLITE_OK || fail(db, err);
}

/* Rows go in first: an index that grows with them costs several times one that is made at the end.
 */
static bool fill(sqlite3 *db, const assay_relations *rels, assay_arena *a, assay_err *err)
{
	bool ok = true;
	for (size_t i = 0; i < rels->view.n && ok; i++) {
		const assay_relation *rel = &rels->view.p[i];
		ok = run_sql(db, assay_relation_create(a, rels, rel), err);
		if (ok && !rel->filter)
			ok = run_sql(
				db,
				assay_printf(a, "INSERT INTO file.\"%s\" SELECT * FROM main.\"%s\"",
					     rel->name, rel->name),
				err);
		for (size_t c = 0; c < rel->cols && ok && rel->n; c++) {
			const char *index = assay_relation_index(a, rel, &rel->col[c]);
			ok = !index || run_sql(db, index, err);
		}
	}
	for (const assay_sql_view *v = assay_sql_views; v->name && ok; v++)
		ok = run_sql(db, assay_printf(a, "CREATE VIEW file.\"%s\" AS %s", v->name, v->text),
			     err);
	return ok;
}

static bool sqlite_write(const assay_run *run, FILE *out, assay_left_out *left, assay_err *err)
{
	assay_relations rels;
	assay_arena scratch = {0};
	sqlite3 *db = NULL;
	sqlite3_int64 n = 0;
	assay_undo undo;
	(void)left; /* nothing is: it has every table */
	assay_relations_of(&rels, run);
	bool ok = sqlite3_open(":memory:", &db) == SQLITE_OK;
	assay_sqlite_guard(&undo, db);
	ok = ok && assay_vtabs_add(db, &rels) == SQLITE_OK;
	ok = ok ? run_sql(db, "ATTACH ':memory:' AS file; PRAGMA file.journal_mode = OFF; BEGIN",
			  err)
		: fail(db, err);
	ok = ok && fill(db, &rels, &scratch, err) && run_sql(db, "COMMIT", err);
	unsigned char *image = ok ? sqlite3_serialize(db, "file", &n, 0) : NULL;
	if (ok && !image)
		ok = fail(db, err);
	if (image)
		fwrite(image, 1, (size_t)n, out);
	sqlite3_free(image);
	assay_undo_drop(&undo);
	sqlite3_close(db);
	assay_relations_free(&rels);
	assay_arena_free(&scratch);
	return ok;
}

const assay_writer assay_writer_sqlite = {
	.name = "sqlite",
	.exts = {".db", ".sqlite"},
	.about = "every table and view as one SQLite database",
	.back = "no: for SQL",
	.page = "sqlite-out",
	.write = sqlite_write,
	.needs = ASSAY_NEEDS_FINDINGS,
};
