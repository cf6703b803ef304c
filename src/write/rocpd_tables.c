/* The schema of rocpd: tables of a process, and the views over all of them. */
#include "write/rocpd.h"

#include "base/test.h"

typedef struct column_info {
	const char *name, *type, *of;
} column_info;

#define TABLE(t)               static const column_info columns_##t[] = {
#define COL(t, name, type, of) {#name, type, #of},
#define END(t)                                                                                     \
	}                                                                                          \
	;
#include "write/rocpd.def"

static const struct {
	const char *name;
	const column_info *col;
	size_t cols;
} tables[] = {
#define TABLE(t) {#t, columns_##t, ASSAY_COUNT_OF(columns_##t)},
#define COL(t, name, type, of)
#define END(t)
#include "write/rocpd.def"
};

static const struct {
	const char *name, *query;
} views[] = {
#define VIEW(name, query) {#name, query},
#include "write/rocpd_views.def"
};

static bool has_guid(size_t table)
{
	return table != ROCPD_T_metadata;
}

static const char *create_text(assay_arena *a, const rocpd_tables *t, size_t i)
{
	const char *text = assay_printf(
		a, "CREATE TABLE \"rocpd_%s%s\" (\"id\" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT",
		tables[i].name, t->suffix);
	if (has_guid(i))
		text = assay_printf(a, "%s, \"guid\" TEXT DEFAULT '%s' NOT NULL", text, t->guid);
	for (size_t c = 0; c < tables[i].cols; c++)
		text = assay_printf(a, "%s, \"%s\" %s", text, tables[i].col[c].name,
				    tables[i].col[c].type);
	for (size_t c = 0; c < tables[i].cols; c++)
		if (strcmp(tables[i].col[c].of, "none"))
			text = assay_printf(
				a,
				"%s, FOREIGN KEY (%s) REFERENCES \"rocpd_%s%s\" (id) ON UPDATE CASCADE",
				text, tables[i].col[c].name, tables[i].col[c].of, t->suffix);
	return assay_printf(a, "%s)", text);
}

static const char *insert_text(assay_arena *a, const rocpd_tables *t, size_t i)
{
	const char *text =
		assay_printf(a, "INSERT INTO \"rocpd_%s%s\" VALUES(?1", tables[i].name, t->suffix);
	if (has_guid(i))
		text = assay_printf(a, "%s, '%s'", text, t->guid);
	for (size_t c = 0; c < tables[i].cols; c++) {
		bool json = !strncmp(tables[i].col[c].type, "JSONB", 5);
		text = assay_printf(a, json ? "%s, coalesce(?%zu, '{}')" : "%s, ?%zu", text, c + 3);
	}
	return assay_printf(a, "%s)", text);
}

bool rocpd_tables_open(rocpd_tables *t, sqlite3 *db, const char *guid, assay_arena *arena)
{
	char *suffix = assay_printf(arena, "_%s", guid);
	for (char *p = suffix; *p; p++)
		*p = *p == '-' ? '_' : *p;
	*t = (rocpd_tables){.db = db, .guid = guid, .suffix = suffix};
	for (size_t i = 0; i < ROCPD_TABLE_COUNT && !t->failed; i++)
		t->failed =
			sqlite3_exec(db, create_text(arena, t, i), NULL, NULL, NULL) ||
			sqlite3_prepare_v2(db, insert_text(arena, t, i), -1, &t->insert[i], NULL);
	return !t->failed;
}

void rocpd_tables_close(rocpd_tables *t)
{
	for (size_t i = 0; i < ROCPD_TABLE_COUNT; i++)
		sqlite3_finalize(t->insert[i]);
}

bool rocpd_views_make(sqlite3 *db, const char *const *suffix, size_t n, assay_arena *arena)
{
	bool ok = true;
	for (size_t i = 0; i < ROCPD_TABLE_COUNT && ok; i++) {
		sqlite3_str *view = sqlite3_str_new(db);
		sqlite3_str_appendf(view, "CREATE VIEW \"rocpd_%s\" AS ", tables[i].name);
		for (size_t k = 0; k < n; k++)
			sqlite3_str_appendf(view, "%sSELECT * FROM \"rocpd_%s%s\"",
					    k ? " UNION ALL " : "", tables[i].name, suffix[k]);
		char *text = sqlite3_str_finish(view);
		ok = text && sqlite3_exec(db, text, NULL, NULL, NULL) == SQLITE_OK;
		sqlite3_free(text);
	}
	for (size_t i = 0; i < ASSAY_COUNT_OF(views) && ok; i++)
		ok = sqlite3_exec(db,
				  assay_printf(arena, "CREATE VIEW \"%s\" AS %s", views[i].name,
					       views[i].query),
				  NULL, NULL, NULL) == SQLITE_OK;
	return ok;
}

void rocpd_set_i64(rocpd_tables *t, rocpd_table table, int column, int64_t v)
{
	t->failed |= sqlite3_bind_int64(t->insert[table], column, v) != SQLITE_OK;
}

void rocpd_set_f64(rocpd_tables *t, rocpd_table table, int column, double v)
{
	t->failed |= sqlite3_bind_double(t->insert[table], column, v) != SQLITE_OK;
}

void rocpd_set_text(rocpd_tables *t, rocpd_table table, int column, assay_str s)
{
	if (s.n)
		t->failed |= sqlite3_bind_text64(t->insert[table], column, s.p, s.n,
						 SQLITE_TRANSIENT, SQLITE_UTF8) != SQLITE_OK;
}

void rocpd_put(rocpd_tables *t, rocpd_table table, int64_t id)
{
	sqlite3_stmt *s = t->insert[table];
	sqlite3_bind_int64(s, 1, id);
	t->failed |= sqlite3_step(s) != SQLITE_DONE;
	sqlite3_reset(s);
	sqlite3_clear_bindings(s);
}

TEST(every_view_of_a_rocpd_database_can_be_asked)
{
	assay_arena a = {0};
	rocpd_tables t;
	sqlite3 *db = NULL;
	CHECK(sqlite3_open(":memory:", &db) == SQLITE_OK);
	CHECK(rocpd_tables_open(&t, db, "00003fdc-92cb-72cb-9169-c7e541b1fcdf", &a));
	CHECK(rocpd_views_make(db, &t.suffix, 1, &a));
	for (size_t i = 0; i < ASSAY_COUNT_OF(views); i++)
		CHECK(!sqlite3_exec(db, assay_printf(&a, "SELECT * FROM %s", views[i].name), NULL,
				    NULL, NULL));
	rocpd_tables_close(&t);
	sqlite3_close(db);
	assay_arena_free(&a);
	return 0;
}
