#include "read/rocpd_db.h"

#include <sqlite3.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/test.h"

enum {
	IMAGE_STEP = 4 << 20,
	CELL_MAX = 64 << 20,
	TICK_OPS = 1000,
	TICKS_MIN = 100000, /* 10^8 steps of SQLite's machine: some seconds */
	TICK_BYTES = 250,   /* of file that pay for another tick */
	ROW_BYTES_MIN = 4,  /* a row on a page: cell pointer, length, id */
	TEXT_PER_BYTE = 8,  /* cells are read more than once, but not often */
	TEXT_MIN = 64 << 20,
	NAMES_MAX = 1 << 16,
};
static const uint64_t image_max = 8ull << 30;

/* ---- opening ---- */

static bool fail_sql(assay_rocpd_db *db, assay_err *err, int rc)
{
	const char *why = db->sql ? sqlite3_errmsg(db->sql) : sqlite3_errstr(rc);
	return assay_fail(err, rc == SQLITE_CANTOPEN ? ASSAY_IO : ASSAY_FORMAT, 0,
			  "cannot read %s as a database: %s", db->path, why);
}

static int64_t file_size(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && S_ISREG(st.st_mode) ? (int64_t)st.st_size : -1;
}

/* file: URI of a path, with the characters escaped that mean something in one. */
static const char *uri_of(assay_arena *a, const char *path, const char *options)
{
	size_t n = strlen(path), at = 0;
	char *out = assay_alloc(a, 3 * n + strlen(options) + 16);
	at += (size_t)sprintf(out, "file:%s", path[0] == '/' ? "//" : "");
	for (size_t i = 0; i < n; i++) {
		if (strchr("?#%", path[i]))
			at += (size_t)sprintf(out + at, "%%%02x", (unsigned char)path[i]);
		else
			out[at++] = path[i];
	}
	sprintf(out + at, "?%s", options);
	return out;
}

/* Without a log beside it the file is taken as it is (immutable: no locks, no files made). With
 * one, locks are left out and the index of the log stays in memory, so nothing is made either; the
 * log is not folded in when the database is closed. */
static bool open_file(assay_rocpd_db *db, assay_err *err)
{
	bool wal = file_size(assay_printf(&db->scratch, "%s-wal", db->path)) > 0;
	if (file_size(assay_printf(&db->scratch, "%s-journal", db->path)) > 0)
		assay_warn(db->run, "hot_journal",
			   "%s has a journal beside it: its last change may be half written",
			   db->path);
	const char *uri = uri_of(&db->scratch, db->path,
				 wal ? "mode=ro&vfs=unix-none" : "mode=ro&immutable=1");
	int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX;
	int rc = sqlite3_open_v2(uri, &db->sql, flags, NULL);
	if (rc == SQLITE_OK && wal)
		rc = sqlite3_exec(db->sql, "PRAGMA locking_mode=EXCLUSIVE", NULL, NULL, NULL);
	return rc == SQLITE_OK || fail_sql(db, err, rc);
}

/* Fields of the header that matter here, https://sqlite.org/fileformat2.html#the_database_header */
enum {
	PAGE_SIZE = 16, /* u16, 1 means 65536 */
	WRITE_VERSION = 18,
	READ_VERSION = 19,
	CHANGES = 24, /* u32, as the two below */
	PAGES = 28,
	PAGES_VALID = 92, /* PAGES holds when this equals CHANGES */
	HEADER = 100,
};

static uint32_t big_endian(const char *p, int bytes)
{
	uint32_t v = 0;
	for (int i = 0; i < bytes; i++)
		v = v << 8 | (unsigned char)p[i];
	return v;
}

static uint32_t page_size(const char *header)
{
	uint32_t size = big_endian(header + PAGE_SIZE, 2);
	return size == 1 ? 65536 : size;
}

/* How long the header says the file is; 0 when it does not say. */
static uint64_t bytes_told(const char *header)
{
	bool valid = big_endian(header + CHANGES, 4) == big_endian(header + PAGES_VALID, 4);
	return valid ? (uint64_t)big_endian(header + PAGES, 4) * page_size(header) : 0;
}

/* SQLite refuses a file that is shorter than its header says, but only stumbles over empty pages:
 * whole pages that are there can still be read when empty ones stand for the rest. */
static void pad_image(assay_rocpd_db *db)
{
	enum {
		LOST_MAX = 16
	}; /* a header that promises more than so many times the file is not meant */
	uint64_t told = bytes_told(db->image.p), size = page_size(db->image.p);
	db->cut = told > db->image.n;
	if (!db->cut || size < 512 || told / LOST_MAX > db->image.n || told > image_max)
		return;
	size_t whole = (size_t)(db->image.n / size * size);
	assay_vec_reserve(&db->image, (size_t)told);
	memset(db->image.p + whole, 0, (size_t)told - whole);
	db->image.n = (size_t)told;
}

static bool open_image(assay_rocpd_db *db, assay_input *in, assay_err *err)
{
	for (uint64_t pos = 0;;) {
		assay_view v = assay_input_view(in, pos, IMAGE_STEP);
		size_t n = v.n < IMAGE_STEP ? v.n : IMAGE_STEP;
		if (pos + n > image_max)
			return assay_fail(err, ASSAY_LIMIT, pos, "%s unpacks to more than %llu GiB",
					  db->path, (unsigned long long)(image_max >> 30));
		assay_vec_reserve(&db->image, db->image.n + n);
		if (n)
			memcpy(db->image.p + db->image.n, v.p, n);
		db->image.n += n;
		pos += n;
		assay_input_drop(in, pos);
		if (v.end && n == v.n)
			break;
	}
	if (db->image.n < HEADER)
		return assay_fail(err, ASSAY_FORMAT, 0, "%s is too short for a database", db->path);
	/* 2 asks for a log, which an image cannot have; what was folded in is all there is */
	db->image.p[WRITE_VERSION] = db->image.p[READ_VERSION] = 1;
	pad_image(db);
	int rc = sqlite3_open_v2(":memory:", &db->sql, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX,
				 NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_deserialize(db->sql, "main", (unsigned char *)db->image.p,
					 (sqlite3_int64)db->image.n, (sqlite3_int64)db->image.n,
					 SQLITE_DESERIALIZE_READONLY);
	return rc == SQLITE_OK || fail_sql(db, err, rc);
}

/* Reading is all that may happen: no functions, no recursion, no writing, whatever a view says. */
static int authorize(void *ctx, int action, const char *a, const char *b, const char *c,
		     const char *d)
{
	(void)ctx, (void)a, (void)b, (void)c, (void)d;
	return action == SQLITE_SELECT || action == SQLITE_READ ? SQLITE_OK : SQLITE_DENY;
}

static int tick(void *ctx)
{
	assay_rocpd_db *db = ctx;
	return !db->ticks_left || !--db->ticks_left;
}

static void lock_down(assay_rocpd_db *db)
{
	static const struct {
		int id, value;
	} limits[] =
		{
			{SQLITE_LIMIT_LENGTH, CELL_MAX},     {SQLITE_LIMIT_SQL_LENGTH, 1 << 20},
			{SQLITE_LIMIT_EXPR_DEPTH, 50},       {SQLITE_LIMIT_VDBE_OP, 1 << 20},
			{SQLITE_LIMIT_COMPOUND_SELECT, 500}, {SQLITE_LIMIT_ATTACHED, 0},
			{SQLITE_LIMIT_TRIGGER_DEPTH, 1},     {SQLITE_LIMIT_WORKER_THREADS, 0},
		},
	  switches[] = {
		  {SQLITE_DBCONFIG_DEFENSIVE, 1},        {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
		  {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},   {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0},
		  {SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1},
	  };
	for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
		sqlite3_limit(db->sql, limits[i].id, limits[i].value);
	for (size_t i = 0; i < sizeof switches / sizeof *switches; i++)
		sqlite3_db_config(db->sql, switches[i].id, switches[i].value, NULL);
	sqlite3_exec(db->sql, "PRAGMA temp_store=MEMORY", NULL, NULL, NULL);
	sqlite3_exec(db->sql, "PRAGMA cell_size_check=ON", NULL, NULL, NULL);
	sqlite3_set_authorizer(db->sql, authorize, NULL);
	sqlite3_progress_handler(db->sql, TICK_OPS, tick, db);
}

static uint32_t *name_slot(assay_rocpd_db *db, assay_str name)
{
	uint64_t key = assay_hash(name.p, name.n, 0);
	uint32_t *slot;
	while (*(slot = assay_map_at(&db->name_at, key)) != ASSAY_MAP_ABSENT &&
	       !assay_str_eq(db->names.p[*slot], name))
		key++;
	return slot;
}

static void add_name(assay_rocpd_db *db, const char *name)
{
	assay_str s = assay_str_of(name ? name : "");
	uint32_t *slot = name_slot(db, s);
	if (*slot != ASSAY_MAP_ABSENT)
		return;
	*slot = (uint32_t)db->names.n;
	*assay_push(&db->names) = (assay_str){assay_dup(&db->scratch, s), s.n};
}

static bool list_names(assay_rocpd_db *db, assay_err *err)
{
	static const char text[] = "SELECT name FROM sqlite_master WHERE name >= 'rocpd_' AND "
				   "name < 'rocpd`' AND type = 'table' AND rootpage > 0";
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(db->sql, text, -1, &stmt, NULL);
	if (rc == SQLITE_OK)
		while ((rc = sqlite3_step(stmt)) == SQLITE_ROW && db->names.n < NAMES_MAX)
			add_name(db, (const char *)sqlite3_column_text(stmt, 0));
	bool ok = rc == SQLITE_DONE || rc == SQLITE_ROW || fail_sql(db, err, rc);
	sqlite3_finalize(stmt);
	return ok;
}

static void set_budget(assay_rocpd_db *db, uint64_t bytes)
{
	db->rows_left = bytes / ROW_BYTES_MIN;
	db->text_left = TEXT_MIN + TEXT_PER_BYTE * bytes;
	db->ticks_left = TICKS_MIN + bytes / TICK_BYTES;
}

bool assay_rocpd_open(assay_rocpd_db *db, assay_run *run, assay_input *in, assay_err *err)
{
	*db = (assay_rocpd_db){.run = run, .part = &run->part, .path = assay_input_path(in)};
	assay_view head = assay_input_view(in, 0, HEADER);
	bool plain = !strcmp(assay_input_packing(in), "plain");
	bool file = plain && file_size(db->path) == (int64_t)assay_input_text_bytes(in);
	if (file && head.n >= HEADER && bytes_told(head.p) > assay_input_text_bytes(in))
		file = file_size(assay_printf(&db->scratch, "%s-wal", db->path)) > 0;
	if (!(file ? open_file(db, err) : open_image(db, in, err)))
		goto fail;
	if (db->cut) {
		assay_count(db->part, ASSAY_ISSUE_truncated, 1);
		assay_warn(run, "cut_database", "%s is shorter than its header says", db->path);
	}
	lock_down(db);
	int64_t log = file ? file_size(assay_printf(&db->scratch, "%s-wal", db->path)) : 0;
	set_budget(db, assay_input_text_bytes(in) + (log > 0 ? (uint64_t)log : 0));
	if (list_names(db, err))
		return true;
fail:
	assay_rocpd_close(db);
	return false;
}

void assay_rocpd_close(assay_rocpd_db *db)
{
	sqlite3_finalize(db->rows);
	sqlite3_close(db->sql);
	assay_vec_free(&db->image);
	assay_vec_free(&db->names);
	assay_map_free(&db->name_at);
	assay_arena_free(&db->scratch);
	db->rows = NULL;
	db->sql = NULL;
}

/* ---- rows ---- */

bool assay_rocpd_exists(const assay_rocpd_db *db, const char *table)
{
	assay_str name = assay_str_of(table);
	uint64_t key = assay_hash(name.p, name.n, 0);
	for (uint32_t i; (i = assay_map_get(&db->name_at, key)) != ASSAY_MAP_ABSENT; key++)
		if (assay_str_eq(db->names.p[i], name))
			return true;
	return false;
}

static void broken_table(assay_rocpd_db *db, const char *why)
{
	assay_count(db->part, ASSAY_ISSUE_bad_record, 1);
	if (!db->warned)
		assay_warn(db->run, "broken_table", "%s: table %s is not read to its end: %s",
			   db->path, db->table, why);
	db->warned = true;
}

static sqlite3_stmt *prepare(assay_rocpd_db *db, char *text)
{
	sqlite3_stmt *stmt = NULL;
	if (!text || sqlite3_prepare_v2(db->sql, text, -1, &stmt, NULL) != SQLITE_OK) {
		broken_table(db, sqlite3_errmsg(db->sql));
		sqlite3_finalize(stmt);
		stmt = NULL;
	}
	sqlite3_free(text);
	return stmt;
}

static bool in_columns(sqlite3_stmt *all, const char *column)
{
	for (int i = 0; i < sqlite3_column_count(all); i++)
		if (!sqlite3_stricmp(sqlite3_column_name(all, i), column))
			return true;
	return false;
}

bool assay_rocpd_has_column(assay_rocpd_db *db, const char *table, const char *column)
{
	db->table = table;
	if (!assay_rocpd_exists(db, table))
		return false;
	sqlite3_stmt *all = prepare(db, sqlite3_mprintf("SELECT * FROM \"%w\"", table));
	bool has = all && in_columns(all, column);
	sqlite3_finalize(all);
	return has;
}

bool assay_rocpd_select(assay_rocpd_db *db, const char *table, const char *const columns[], int n)
{
	sqlite3_finalize(db->rows);
	db->rows = NULL;
	db->table = table;
	if (!assay_rocpd_exists(db, table))
		return false;
	sqlite3_stmt *all = prepare(db, sqlite3_mprintf("SELECT * FROM \"%w\"", table));
	if (!all)
		return false;
	sqlite3_str *text = sqlite3_str_new(db->sql);
	sqlite3_str_appendall(text, "SELECT ");
	for (int i = 0; i < n; i++)
		sqlite3_str_appendf(text, in_columns(all, columns[i]) ? "%s\"%w\"" : "%sNULL",
				    i ? ", " : "", columns[i]);
	sqlite3_str_appendf(text, " FROM \"%w\"", table);
	sqlite3_finalize(all);
	db->rows = prepare(db, sqlite3_str_finish(text));
	return db->rows != NULL;
}

bool assay_rocpd_next(assay_rocpd_db *db)
{
	if (!db->rows)
		return false;
	int rc = sqlite3_step(db->rows);
	bool room = db->rows_left && db->text_left;
	if (rc == SQLITE_ROW && room) {
		db->rows_left--;
		return true;
	}
	if (rc == SQLITE_ROW)
		broken_table(db, "more rows or text than a file of its size has room for");
	else if (rc != SQLITE_DONE)
		broken_table(db, sqlite3_errmsg(db->sql));
	sqlite3_finalize(db->rows);
	db->rows = NULL;
	return false;
}

bool assay_rocpd_i64(assay_rocpd_db *db, int column, int64_t *out)
{
	int type = sqlite3_column_type(db->rows, column);
	if (type == SQLITE_INTEGER) {
		*out = sqlite3_column_int64(db->rows, column);
		return true;
	}
	if (type != SQLITE_NULL)
		assay_count(db->part, ASSAY_ISSUE_bad_number, 1);
	return false;
}

int64_t assay_rocpd_int(assay_rocpd_db *db, int column, int64_t absent)
{
	int64_t v;
	return assay_rocpd_i64(db, column, &v) ? v : absent;
}

bool assay_rocpd_f64(assay_rocpd_db *db, int column, double *out)
{
	int type = sqlite3_column_type(db->rows, column);
	if (type == SQLITE_INTEGER || type == SQLITE_FLOAT) {
		*out = sqlite3_column_double(db->rows, column);
		return true;
	}
	if (type != SQLITE_NULL)
		assay_count(db->part, ASSAY_ISSUE_bad_number, 1);
	return false;
}

assay_str assay_rocpd_text(assay_rocpd_db *db, int column)
{
	const char *p = (const char *)sqlite3_column_text(db->rows, column);
	if (!p)
		return (assay_str){"", 0};
	size_t n = (size_t)sqlite3_column_bytes(db->rows, column);
	db->text_left -= n < db->text_left ? n : db->text_left;
	return (assay_str){p, n};
}

/* ---- ids ---- */

void assay_rocpd_ids_set(assay_rocpd_ids *ids, int64_t id, uint32_t value)
{
	enum { HOLE = 64 };
	if (id < 0 || (uint64_t)id > ids->dense.n + HOLE) {
		*assay_map_at(&ids->sparse, (uint64_t)id) = value;
		return;
	}
	while (ids->dense.n <= (uint64_t)id)
		*assay_push(&ids->dense) = ASSAY_MAP_ABSENT;
	ids->dense.p[id] = value;
}

uint32_t assay_rocpd_ids_get(const assay_rocpd_ids *ids, int64_t id)
{
	bool dense = id >= 0 && (uint64_t)id < ids->dense.n;
	uint32_t v = dense ? ids->dense.p[id] : ASSAY_MAP_ABSENT;
	return v != ASSAY_MAP_ABSENT ? v : assay_map_get(&ids->sparse, (uint64_t)id);
}

void assay_rocpd_ids_free(assay_rocpd_ids *ids)
{
	assay_vec_free(&ids->dense);
	assay_map_free(&ids->sparse);
}

TEST(ids_are_found_dense_or_not)
{
	assay_rocpd_ids ids = {0};
	int64_t id[] = {1, 2, 3, 1000000, 4, -7, 70};
	for (uint32_t i = 0; i < sizeof id / sizeof *id; i++)
		assay_rocpd_ids_set(&ids, id[i], i);
	for (uint32_t i = 0; i < sizeof id / sizeof *id; i++)
		CHECK_EQ(assay_rocpd_ids_get(&ids, id[i]), i);
	CHECK(assay_rocpd_ids_get(&ids, 5) == ASSAY_MAP_ABSENT);
	CHECK(assay_rocpd_ids_get(&ids, 0) == ASSAY_MAP_ABSENT);
	assay_rocpd_ids_free(&ids);
	return 0;
}

TEST(paths_are_escaped_in_a_uri)
{
	assay_arena a = {0};
	CHECK(!strcmp(uri_of(&a, "/t/a b?c#d%.db", "mode=ro"),
		      "file:///t/a b%3fc%23d%25.db?mode=ro"));
	CHECK(!strcmp(uri_of(&a, "x/y.db", "mode=ro"), "file:x/y.db?mode=ro"));
	assay_arena_free(&a);
	return 0;
}
