/* The schema of rocpd: tables of a process, and the views over all of them. */
#include "write/rocpd.h"

#include <assert.h>

#include "base/sqlite.h"
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

/* Columns of a table with id and guid, where it has one. */
static size_t width(size_t table)
{
	return 1 + has_guid(table) + tables[table].cols;
}

static void take_defaults(rocpd_tables *t, size_t table)
{
	btree_value *nothing = t->nothing[table - ROCPD_FIRST_OWN];
	assert(width(table) <= ROCPD_COLUMNS_MAX);
	nothing[1] = (btree_value){.kind = BTREE_TEXT, .s = assay_str_of(t->guid)};
	for (size_t c = 0; c < tables[table].cols; c++) {
		const char *type = tables[table].col[c].type;
		if (!strncmp(type, "JSONB", 5))
			nothing[2 + c] = (btree_value){.kind = BTREE_TEXT, .s = ASSAY_S("{}")};
		else if (!strcmp(type, "TEXT NOT NULL"))
			nothing[2 + c] = (btree_value){.kind = BTREE_TEXT};
	}
	memcpy(t->next[table - ROCPD_FIRST_OWN], nothing, sizeof t->nothing[0]);
}

bool rocpd_tables_open(rocpd_tables *t, rocpd_file *file, const char *guid, assay_arena *arena)
{
	char *suffix = assay_printf(arena, "_%s", guid);
	for (char *p = suffix; *p; p++)
		*p = *p == '-' ? '_' : *p;
	memset(t, 0, sizeof *t);
	t->file = file;
	t->guid = guid;
	t->suffix = suffix;
	t->own = assay_alloc(arena, sizeof *t->own);
	t->own->suffix = suffix;
	t->own->next = file->own;
	file->own = t->own;
	for (size_t i = 0; i < ROCPD_TABLE_COUNT && !t->failed; i++) {
		t->failed = sqlite3_exec(file->db, create_text(arena, t, i), NULL, NULL, NULL);
		if (i < ROCPD_FIRST_OWN) {
			t->failed |= sqlite3_prepare_v2(file->db, insert_text(arena, t, i), -1,
							&t->insert[i], NULL) != SQLITE_OK;
			continue;
		}
		t->own->tree[i - ROCPD_FIRST_OWN].file = &file->rows;
		take_defaults(t, i);
	}
	return !t->failed;
}

void rocpd_tables_close(rocpd_tables *t)
{
	for (size_t i = 0; i < ROCPD_FIRST_OWN; i++)
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

static btree_value *next_value(rocpd_tables *t, rocpd_table table, int column)
{
	return &t->next[table - ROCPD_FIRST_OWN][column - 1];
}

void rocpd_set_i64(rocpd_tables *t, rocpd_table table, int column, int64_t v)
{
	if (table >= ROCPD_FIRST_OWN)
		*next_value(t, table, column) = (btree_value){.kind = BTREE_INT, .i = v};
	else
		t->failed |= sqlite3_bind_int64(t->insert[table], column, v) != SQLITE_OK;
}

void rocpd_set_f64(rocpd_tables *t, rocpd_table table, int column, double v)
{
	assert(table >= ROCPD_FIRST_OWN);
	/* SQLite has no NaN: it stores NULL for it */
	*next_value(t, table, column) =
		v != v ? (btree_value){0} : (btree_value){.kind = BTREE_REAL, .f = v};
}

void rocpd_set_text(rocpd_tables *t, rocpd_table table, int column, assay_str s)
{
	if (!s.n)
		return;
	if (table >= ROCPD_FIRST_OWN)
		*next_value(t, table, column) = (btree_value){.kind = BTREE_TEXT, .s = s};
	else
		t->failed |= sqlite3_bind_text64(t->insert[table], column, s.p, s.n,
						 SQLITE_TRANSIENT, SQLITE_UTF8) != SQLITE_OK;
}

void rocpd_put(rocpd_tables *t, rocpd_table table, int64_t id)
{
	if (table >= ROCPD_FIRST_OWN) {
		size_t i = table - ROCPD_FIRST_OWN, n = width(table);
		btree_add(&t->own->tree[i], id, t->next[i], n);
		memcpy(t->next[i], t->nothing[i], n * sizeof t->next[i][0]);
		return;
	}
	sqlite3_stmt *s = t->insert[table];
	sqlite3_bind_int64(s, 1, id);
	t->failed |= sqlite3_step(s) != SQLITE_DONE;
	sqlite3_reset(s);
	sqlite3_clear_bindings(s);
}

/* ------------------------------------------------------------------ the whole file */

static char *own_name(assay_arena *a, const rocpd_own *own, size_t i)
{
	return assay_printf(a, "rocpd_%s%s", tables[ROCPD_FIRST_OWN + i].name, own->suffix);
}

/* AUTOINCREMENT: the last id is remembered in a table of its own. */
static bool remember_ids(rocpd_file *f, assay_arena *a)
{
	sqlite3_stmt *s = NULL;
	bool ok = !sqlite3_prepare_v2(f->db, "INSERT INTO sqlite_sequence VALUES(?1, ?2)", -1, &s,
				      NULL);
	for (const rocpd_own *own = f->own; own && ok; own = own->next)
		for (size_t i = 0; i < ROCPD_OWN && ok; i++) {
			if (!own->tree[i].last)
				continue;
			ok = !sqlite3_bind_text(s, 1, own_name(a, own, i), -1, SQLITE_STATIC) &&
			     !sqlite3_bind_int64(s, 2, own->tree[i].last) &&
			     sqlite3_step(s) == SQLITE_DONE && !sqlite3_reset(s);
		}
	sqlite3_finalize(s);
	return ok;
}

static bool finish_trees(rocpd_file *f, uint8_t *image, uint32_t pages, assay_arena *a)
{
	for (rocpd_own *own = f->own; own; own = own->next)
		for (size_t i = 0; i < ROCPD_OWN; i++) {
			uint32_t root = assay_sqlite_root(f->db, "main", own_name(a, own, i));
			if (!root || root > pages)
				return false;
			btree_finish(&own->tree[i], image + (size_t)(root - 1) * BTREE_PAGE,
				     pages + 1);
		}
	return true;
}

bool rocpd_file_write(rocpd_file *f, FILE *out, assay_arena *arena)
{
	sqlite3_int64 n = 0;
	bool ok = remember_ids(f, arena) && !sqlite3_exec(f->db, "COMMIT", NULL, NULL, NULL);
	uint8_t *image = ok ? sqlite3_serialize(f->db, "main", &n, 0) : NULL;
	uint32_t pages = (uint32_t)(n / BTREE_PAGE);
	ok = image && finish_trees(f, image, pages, arena);
	if (ok)
		btree_file_write(&f->rows, image, pages, out);
	sqlite3_free(image);
	return ok;
}

void rocpd_file_free(rocpd_file *f)
{
	for (rocpd_own *own = f->own; own; own = own->next)
		for (size_t i = 0; i < ROCPD_OWN; i++)
			btree_free(&own->tree[i]);
	btree_file_free(&f->rows);
}

TEST(every_view_of_a_rocpd_database_can_be_asked)
{
	assay_arena a = {0};
	rocpd_tables t;
	rocpd_file f = {0};
	CHECK(sqlite3_open(":memory:", &f.db) == SQLITE_OK);
	CHECK(rocpd_tables_open(&t, &f, "00003fdc-92cb-72cb-9169-c7e541b1fcdf", &a));
	CHECK(rocpd_views_make(f.db, &t.suffix, 1, &a));
	for (size_t i = 0; i < ASSAY_COUNT_OF(views); i++)
		CHECK(!sqlite3_exec(f.db, assay_printf(&a, "SELECT * FROM %s", views[i].name), NULL,
				    NULL, NULL));
	rocpd_tables_close(&t);
	sqlite3_close(f.db);
	rocpd_file_free(&f);
	assay_arena_free(&a);
	return 0;
}
