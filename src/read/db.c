#include "read/db.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fmt.h"
#include "base/num.h"
#include "base/sqlite.h"
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

static bool fail_sql(assay_db *db, assay_err *err, int rc)
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
static bool open_file(assay_db *db, assay_err *err)
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

static uint32_t page_size(const char *header)
{
	uint32_t size = assay_big_endian(header + PAGE_SIZE, 2);
	return size == 1 ? 65536 : size;
}

/* How long the header says the file is; 0 when it does not say. */
static uint64_t bytes_told(const char *header)
{
	bool valid =
		assay_big_endian(header + CHANGES, 4) == assay_big_endian(header + PAGES_VALID, 4);
	return valid ? (uint64_t)assay_big_endian(header + PAGES, 4) * page_size(header) : 0;
}

/* SQLite refuses a file that is shorter than its header says, but only stumbles over empty pages:
 * whole pages that are there can still be read when empty ones stand for the rest. */
static void pad_image(assay_db *db)
{
	enum {
		LOST_MAX = 16
	}; /* a header that promises more than so many times the file is not meant */
	uint64_t told = bytes_told(db->image.p), size = page_size(db->image.p);
	db->cut = told > db->image.n;
	if (!db->cut || size < 512 || told / LOST_MAX > db->image.n || told > image_max)
		return;
	size_t whole = (size_t)(db->image.n / size * size);
	assay_vec_reserve(&db->image, (size_t)told + ASSAY_PAD);
	memset(db->image.p + whole, 0, (size_t)told - whole);
	db->image.n = (size_t)told;
}

static bool open_image(assay_db *db, assay_input *in, assay_err *err)
{
	for (uint64_t pos = 0;;) {
		assay_view v = assay_input_view(in, pos, IMAGE_STEP);
		size_t n = v.n < IMAGE_STEP ? v.n : IMAGE_STEP;
		if (pos + n > image_max)
			return assay_fail(err, ASSAY_LIMIT, pos, "%s unpacks to more than %llu GiB",
					  db->path, (unsigned long long)(image_max >> 30));
		assay_vec_reserve(&db->image, db->image.n + n + ASSAY_PAD);
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
	(void)ctx, (void)b, (void)c, (void)d;
	bool columns = action == SQLITE_PRAGMA && a && !strcmp(a, "table_xinfo");
	bool reads = action == SQLITE_SELECT || action == SQLITE_READ || columns;
	return reads ? SQLITE_OK : SQLITE_DENY;
}

static int tick(void *ctx)
{
	assay_db *db = ctx;
	return !db->ticks_left || !--db->ticks_left;
}

static void lock_down(assay_db *db)
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
	for (size_t i = 0; i < ASSAY_COUNT_OF(limits); i++)
		sqlite3_limit(db->sql, limits[i].id, limits[i].value);
	for (size_t i = 0; i < ASSAY_COUNT_OF(switches); i++)
		sqlite3_db_config(db->sql, switches[i].id, switches[i].value, NULL);
	sqlite3_exec(db->sql, "PRAGMA temp_store=MEMORY", NULL, NULL, NULL);
	sqlite3_exec(db->sql, "PRAGMA cell_size_check=ON", NULL, NULL, NULL);
	sqlite3_set_authorizer(db->sql, authorize, NULL);
	sqlite3_progress_handler(db->sql, TICK_OPS, tick, db);
}

static uint32_t *name_slot(assay_db *db, assay_str name)
{
	uint64_t key = assay_hash(name.p, name.n, 0);
	uint32_t *slot;
	while (*(slot = assay_map_at(&db->name_at, key)) != ASSAY_MAP_ABSENT &&
	       !assay_str_eq(db->names.p[*slot], name))
		key++;
	return slot;
}

static void add_name(assay_db *db, const char *name, int64_t root)
{
	assay_str s = assay_str_of(name ? name : "");
	uint32_t *slot = name_slot(db, s);
	if (*slot != ASSAY_MAP_ABSENT)
		return;
	*slot = (uint32_t)db->names.n;
	*assay_push(&db->names) = (assay_str){assay_dup(&db->scratch, s), s.n};
	*assay_push(&db->roots) = root <= UINT32_MAX ? (uint32_t)root : 0;
	*assay_push(&db->asked) = false;
}

static bool list_names(assay_db *db, assay_err *err)
{
	static const char text[] =
		"SELECT name, rootpage FROM sqlite_master WHERE type = 'view' OR (type = 'table' AND rootpage > 0)";
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(db->sql, text, -1, &stmt, NULL);
	if (rc == SQLITE_OK)
		while ((rc = sqlite3_step(stmt)) == SQLITE_ROW && db->names.n < NAMES_MAX)
			add_name(db, (const char *)sqlite3_column_text(stmt, 0),
				 sqlite3_column_int64(stmt, 1));
	bool ok = rc == SQLITE_DONE || rc == SQLITE_ROW || fail_sql(db, err, rc);
	sqlite3_finalize(stmt);
	return ok;
}

static void set_budget(assay_db *db, uint64_t bytes)
{
	db->rows_left = bytes / ROW_BYTES_MIN;
	db->text_left = db->walk.spill_left = TEXT_MIN + TEXT_PER_BYTE * bytes;
	db->ticks_left = TICKS_MIN + bytes / TICK_BYTES;
}

bool assay_db_open(assay_db *db, assay_run *run, assay_input *in, assay_err *err)
{
	*db = (assay_db){.run = run, .part = &run->part, .path = assay_input_path(in)};
	assay_view head = assay_input_view(in, 0, HEADER);
	bool plain = !strcmp(assay_input_packing(in), "plain");
	uint64_t bytes = assay_input_file_bytes(in);
	bool file = plain && file_size(db->path) == (int64_t)bytes;
	if (file && head.n >= HEADER && bytes_told(head.p) > bytes)
		file = file_size(assay_printf(&db->scratch, "%s-wal", db->path)) > 0;
	bool opened = file ? open_file(db, err) : open_image(db, in, err);
	assay_sqlite_guard(&db->undo, db->sql);
	if (!opened)
		goto fail;
	if (db->cut) {
		assay_count(db->part, ASSAY_ISSUE_truncated, 1);
		assay_warn(run, "cut_database", "%s is shorter than its header says", db->path);
	}
	lock_down(db);
	int64_t log = file ? file_size(assay_printf(&db->scratch, "%s-wal", db->path)) : 0;
	set_budget(db, file ? bytes + (log > 0 ? (uint64_t)log : 0) : assay_input_text_bytes(in));
	if (!file && assay_db_pages_open(&db->pages, db->image.p, db->image.n))
		db->pages.image = db->image.p;
	else if (file && log <= 0 &&
		 assay_db_pages_open(&db->pages, head.p, head.n < HEADER ? 0 : bytes))
		db->pages.in = in;
	if (list_names(db, err))
		return true;
fail:
	assay_db_close(db);
	return false;
}

void assay_db_close(assay_db *db)
{
	assay_undo_drop(&db->undo);
	sqlite3_finalize(db->rows);
	sqlite3_close(db->sql);
	assay_vec_free(&db->image);
	assay_vec_free(&db->names);
	assay_vec_free(&db->asked);
	assay_vec_free(&db->roots);
	assay_db_walk_free(&db->walk);
	assay_map_free(&db->name_at);
	assay_arena_free(&db->scratch);
	db->rows = NULL;
	db->sql = NULL;
}

/* ---- rows ---- */

static uint32_t find_table(const assay_db *db, const char *table)
{
	assay_str name = assay_str_of(table);
	uint64_t key = assay_hash(name.p, name.n, 0);
	uint32_t i;
	while ((i = assay_map_get(&db->name_at, key)) != ASSAY_MAP_ABSENT &&
	       !assay_str_eq(db->names.p[i], name))
		key++;
	return i;
}

bool assay_db_exists(const assay_db *db, const char *table)
{
	return find_table(db, table) != ASSAY_MAP_ABSENT;
}

static void broken_table(assay_db *db, const char *why)
{
	assay_count(db->part, ASSAY_ISSUE_bad_record, 1);
	if (!db->warned)
		assay_warn(db->run, "broken_table", "%s: table %s is not read to its end: %s",
			   db->path, db->table, why);
	db->warned = db->broken = true;
}

/* SQLite goes on without what it had no memory for; we do not. */
static void need_memory(const assay_db *db, bool enough)
{
	if (!enough || sqlite3_errcode(db->sql) == SQLITE_NOMEM)
		assay_oom(0);
}

static sqlite3_stmt *prepare(assay_db *db, char *text)
{
	sqlite3_stmt *stmt = NULL;
	bool made = text;
	int rc = made ? sqlite3_prepare_v2(db->sql, text, -1, &stmt, NULL) : SQLITE_NOMEM;
	sqlite3_free(text);
	need_memory(db, made);
	if (rc == SQLITE_OK)
		return stmt;
	broken_table(db, sqlite3_errmsg(db->sql));
	return NULL;
}

typedef struct layout {
	int fields[ASSAY_DB_FIELDS]; /* place in the table of each asked column, -1 when absent
				      */
	int rowid;                   /* asked column that is the rowid, -1 for none */
	bool plain;                  /* fields are the places in the record, too */
} layout;

/* An INTEGER PRIMARY KEY is the rowid, and not in the record. */
static bool is_rowid(sqlite3_stmt *info)
{
	const char *type = (const char *)sqlite3_column_text(info, 2);
	return sqlite3_column_int(info, 5) == 1 && type && !sqlite3_stricmp(type, "INTEGER");
}

static bool find_layout(assay_db *db, const char *const columns[], int n, layout *l)
{
	sqlite3_stmt *info = prepare(db, sqlite3_mprintf("PRAGMA table_xinfo(\"%w\")", db->table));
	int field = 0;
	*l = (layout){.rowid = -1, .plain = true};
	for (int i = 0; i < n; i++)
		l->fields[i] = -1;
	for (; info && sqlite3_step(info) == SQLITE_ROW; field++) {
		const char *name = (const char *)sqlite3_column_text(info, 1);
		l->plain &= sqlite3_column_int(info, 6) == 0 && field < ASSAY_DB_FIELDS;
		for (int i = 0; i < n; i++) {
			if (!name || sqlite3_stricmp(name, columns[i]))
				continue;
			l->fields[i] = field;
			l->rowid = is_rowid(info) ? i : l->rowid;
		}
	}
	need_memory(db, true);
	sqlite3_finalize(info);
	return field > 0;
}

static bool has_column(assay_db *db, const char *table, const char *column)
{
	layout l;
	db->table = table;
	return assay_db_exists(db, table) && find_layout(db, &column, 1, &l) && l.fields[0] >= 0;
}

static bool start_walk(assay_db *db, const layout *l, int n)
{
	assay_db_walk *w = &db->walk;
	uint32_t root = db->roots.p[find_table(db, db->table)];
	if (!l->plain || !(db->pages.image || db->pages.in) || !root || db->guid)
		return false;
	memset(w->column_of, -1, sizeof w->column_of);
	memset(w->value, 0, sizeof w->value);
	w->fields = 0;
	w->rowid_column = l->rowid;
	for (int i = 0; i < n; i++) {
		if (l->fields[i] < 0)
			continue;
		w->column_of[l->fields[i]] = (int8_t)i;
		w->fields = l->fields[i] + 1 > w->fields ? l->fields[i] + 1 : w->fields;
	}
	return assay_db_walk_start(w, &db->pages, root);
}

static bool start_statement(assay_db *db, const layout *l, const char *const columns[], int n)
{
	bool some = db->guid && has_column(db, db->table, "guid");
	sqlite3_str *text = sqlite3_str_new(db->sql);
	sqlite3_str_appendall(text, "SELECT ");
	for (int i = 0; i < n; i++)
		sqlite3_str_appendf(text, l->fields[i] >= 0 ? "%s\"%w\"" : "%sNULL", i ? ", " : "",
				    columns[i]);
	sqlite3_str_appendf(text, " FROM \"%w\"", db->table);
	if (some)
		sqlite3_str_appendf(text, " WHERE guid = %Q", db->guid);
	db->rows = prepare(db, sqlite3_str_finish(text));
	return db->rows != NULL;
}

bool assay_db_select(assay_db *db, const char *table, const char *const columns[], int n)
{
	layout l;
	assert(n <= ASSAY_DB_FIELDS);
	sqlite3_finalize(db->rows);
	db->rows = NULL;
	db->table = table;
	db->walking = false;
	uint32_t at = find_table(db, table);
	if (at == ASSAY_MAP_ABSENT || !find_layout(db, columns, n, &l))
		return false;
	db->asked.p[at] = true;
	db->walking = start_walk(db, &l, n);
	return db->walking || start_statement(db, &l, columns, n);
}

bool assay_db_split(assay_db *db, assay_db *out, assay_part *part)
{
	if (!db->walking)
		return false;
	*out = (assay_db){.run = db->run,
			  .part = part,
			  .path = db->path,
			  .pages = db->pages,
			  .walk = db->walk,
			  .walking = true,
			  .table = db->table,
			  .rows_left = db->rows_left,
			  .rows_given = db->rows_left,
			  .text_left = db->text_left,
			  .spill_given = db->walk.spill_left,
			  .warned = true};
	db->walk = (assay_db_walk){.spill_left = db->walk.spill_left};
	db->walking = false;
	return true;
}

bool assay_db_pay(assay_db *db, const assay_db *split, uint64_t text)
{
	uint64_t rows = split->rows_given - split->rows_left,
		 spill = split->spill_given - split->walk.spill_left;
	/* with nothing left the next row would have been refused */
	if (split->broken || rows >= db->rows_left || text >= db->text_left ||
	    spill > db->walk.spill_left)
		return false;
	db->rows_left -= rows;
	db->text_left -= text;
	db->walk.spill_left -= spill;
	return true;
}

static void list_rows(assay_db *db, const char **list, uint64_t rows, const char *of)
{
	char count[ASSAY_FMT];
	if (rows)
		*list = assay_printf(&db->scratch, "%s%s%s (%s rows)", *list, **list ? ", " : "",
				     of, assay_fmt_count(count, rows));
}

static uint64_t count_rows(assay_db *db, const char *table)
{
	uint64_t rows = 0;
	if (!assay_db_select(db, table, ASSAY_DB_COLUMNS("")))
		return 0;
	uint32_t root = db->roots.p[find_table(db, table)];
	if (db->walking && assay_db_walk_count(&db->walk, &db->pages, root, &rows)) {
		db->walking = false;
		return rows;
	}
	for (assay_db_select(db, table, ASSAY_DB_COLUMNS("")), rows = 0; assay_db_next(db);)
		rows++;
	return rows;
}

void assay_db_tell_unread(assay_db *db, bool (*dull)(assay_str table),
			  const assay_db_passed *passed, size_t n)
{
	const char *list = "";
	for (size_t i = 0; i < db->names.n; i++) {
		assay_str name = db->names.p[i];
		if (db->asked.p[i] || !db->roots.p[i] || dull(name) ||
		    assay_str_starts(name, "sqlite_"))
			continue;
		list_rows(db, &list, count_rows(db, name.p), name.p);
	}
	for (size_t i = 0; i < n; i++)
		list_rows(db, &list, passed[i].rows, passed[i].of);
	if (*list)
		assay_meta_add(db->part, "unread", assay_str_of(list));
}

/* A row beyond what the file can hold ends the table. */
static bool take_row(assay_db *db)
{
	if (db->rows_left && db->text_left) {
		db->rows_left--;
		return true;
	}
	broken_table(db, "more rows or text than a file of its size has room for");
	return false;
}

static bool next_walked(assay_db *db)
{
	if (assay_db_walk_next(&db->walk) && take_row(db))
		return true;
	if (db->walk.broken)
		broken_table(db, "database disk image is malformed");
	db->walking = false;
	return false;
}

bool assay_db_next(assay_db *db)
{
	if (db->walking)
		return next_walked(db);
	if (!db->rows)
		return false;
	int rc = sqlite3_step(db->rows);
	if (rc == SQLITE_ROW && take_row(db))
		return true;
	need_memory(db, true);
	if (rc != SQLITE_DONE && rc != SQLITE_ROW)
		broken_table(db, sqlite3_errmsg(db->sql));
	sqlite3_finalize(db->rows);
	db->rows = NULL;
	return false;
}

/* The value of a column, from wherever the row comes. */
static assay_db_value value_at(assay_db *db, int column)
{
	if (db->walking)
		return db->walk.value[column];
	static const assay_db_type types[] = {[SQLITE_INTEGER] = ASSAY_DB_INT,
					      [SQLITE_FLOAT] = ASSAY_DB_FLOAT,
					      [SQLITE_TEXT] = ASSAY_DB_TEXT,
					      [SQLITE_BLOB] = ASSAY_DB_BLOB,
					      [SQLITE_NULL] = ASSAY_DB_NULL};
	assay_db_value v = {.type = types[sqlite3_column_type(db->rows, column)]};
	if (v.type == ASSAY_DB_INT)
		v.u.i = sqlite3_column_int64(db->rows, column);
	else if (v.type == ASSAY_DB_FLOAT)
		v.u.f = sqlite3_column_double(db->rows, column);
	else if (v.type != ASSAY_DB_NULL)
		v.u.text.p = sqlite3_column_blob(db->rows, column);
	if (v.type >= ASSAY_DB_TEXT)
		v.u.text.n = (size_t)sqlite3_column_bytes(db->rows, column);
	need_memory(db, v.type < ASSAY_DB_TEXT || v.u.text.p || !v.u.text.n);
	return v;
}

bool assay_db_i64(assay_db *db, int column, int64_t *out)
{
	assay_db_value v = value_at(db, column);
	if (v.type == ASSAY_DB_INT) {
		*out = v.u.i;
		return true;
	}
	if (v.type != ASSAY_DB_NULL)
		assay_count(db->part, ASSAY_ISSUE_bad_number, 1);
	return false;
}

int64_t assay_db_int(assay_db *db, int column, int64_t absent)
{
	int64_t v;
	return assay_db_i64(db, column, &v) ? v : absent;
}

bool assay_db_f64(assay_db *db, int column, double *out)
{
	assay_db_value v = value_at(db, column);
	*out = v.type == ASSAY_DB_FLOAT ? v.u.f : v.type == ASSAY_DB_INT ? (double)v.u.i : 0;
	if (v.type > ASSAY_DB_FLOAT)
		assay_count(db->part, ASSAY_ISSUE_bad_number, 1);
	return v.type == ASSAY_DB_FLOAT || v.type == ASSAY_DB_INT;
}

assay_str assay_db_text(assay_db *db, int column)
{
	assay_db_value v = value_at(db, column);
	assay_str s = {"", 0};
	if (v.type == ASSAY_DB_INT)
		s = (assay_str){db->number, (size_t)snprintf(db->number, sizeof db->number, "%lld",
							     (long long)v.u.i)};
	else if (v.type == ASSAY_DB_FLOAT)
		s = (assay_str){db->number,
				(size_t)snprintf(db->number, sizeof db->number, "%.17g", v.u.f)};
	else if (v.type != ASSAY_DB_NULL && v.u.text.p)
		s = v.u.text;
	db->text_left -= s.n < db->text_left ? s.n : db->text_left;
	return s;
}

/* ---- ids ---- */

void assay_db_ids_set(assay_db_ids *ids, int64_t id, uint32_t value)
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

uint32_t assay_db_ids_get(const assay_db_ids *ids, int64_t id)
{
	bool dense = id >= 0 && (uint64_t)id < ids->dense.n;
	uint32_t v = dense ? ids->dense.p[id] : ASSAY_MAP_ABSENT;
	return v != ASSAY_MAP_ABSENT ? v : assay_map_get(&ids->sparse, (uint64_t)id);
}

void assay_db_ids_free(assay_db_ids *ids)
{
	assay_vec_free(&ids->dense);
	assay_map_free(&ids->sparse);
}

TEST(ids_are_found_dense_or_not)
{
	assay_db_ids ids = {0};
	int64_t id[] = {1, 2, 3, 1000000, 4, -7, 70};
	for (uint32_t i = 0; i < ASSAY_COUNT_OF(id); i++)
		assay_db_ids_set(&ids, id[i], i);
	for (uint32_t i = 0; i < ASSAY_COUNT_OF(id); i++)
		CHECK_EQ(assay_db_ids_get(&ids, id[i]), i);
	CHECK(assay_db_ids_get(&ids, 5) == ASSAY_MAP_ABSENT);
	CHECK(assay_db_ids_get(&ids, 0) == ASSAY_MAP_ABSENT);
	assay_db_ids_free(&ids);
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

/* Everything a table can hold: every width of integer, long text, missing fields, many pages. */
static const char odd_table[] =
	"CREATE TABLE rocpd_odd(id INTEGER PRIMARY KEY, a, b REAL, c TEXT, d);"
	"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)"
	" INSERT INTO rocpd_odd SELECT i * 3, CASE i % 5 WHEN 0 THEN NULL WHEN 1 THEN"
	" (i << (i % 63)) * (1 - i % 2 * 2) WHEN 2 THEN i % 2 WHEN 3 THEN 'x' || i ELSE i / 7.0 "
	"END,"
	" i % 9, substr(hex(zeroblob(i * 3)), 1, CASE WHEN i % 50 THEN i % 40 ELSE i * 6 END),"
	" x'00ff' FROM n;"
	"ALTER TABLE rocpd_odd ADD COLUMN e; INSERT INTO rocpd_odd VALUES(-9, 1, 2, '3', 4, 5)";

static uint64_t digest(assay_db *db, uint64_t *rows)
{
	uint64_t hash = 0;
	*rows = 0;
	assay_db_select(db, "rocpd_odd", ASSAY_DB_COLUMNS("e", "c", "id", "none", "a", "b"));
	for (; assay_db_next(db); ++*rows) {
		for (int i = 0; i < 6; i++) {
			double f = 0;
			/* whole numbers of a REAL column are integers on the page */
			int64_t n = i == 5 ? 0 : assay_db_int(db, i, -1);
			assay_db_f64(db, i, &f);
			assay_str s = assay_db_text(db, i);
			hash = assay_hash(&n, sizeof n, hash) ^ assay_hash(&f, sizeof f, hash + 1);
			hash = assay_hash(s.p, s.n, hash);
		}
	}
	return hash;
}

TEST(pages_read_the_same_as_statements)
{
	const char *path = assay_test_path("pages.db");
	CHECK(assay_sqlite_by_hand(path, odd_table));
	assay_run *run = assay_run_new();
	assay_input *in = assay_input_open(path, NULL);
	assay_db db;
	uint64_t walked = 0, stepped = 0;
	CHECK(in && assay_db_open(&db, run, in, NULL) && db.pages.in);
	uint64_t a = digest(&db, &walked);
	db.pages.in = NULL;
	uint64_t b = digest(&db, &stepped);
	CHECK_EQ(walked, 3001);
	CHECK_EQ(stepped, 3001);
	CHECK(a == b && !run->part.issues[ASSAY_ISSUE_bad_record]);
	assay_db_close(&db);
	assay_input_close(in);
	assay_run_free(run);
	return 0;
}

static bool nothing_is_dull(assay_str table)
{
	(void)table;
	return false;
}

TEST(rows_that_are_not_read_are_counted_without_their_records)
{
	static const char made[] =
		"PRAGMA page_size = 512; CREATE TABLE dense(a); CREATE TABLE sparse(a);"
		"CREATE TABLE none(a); CREATE TABLE keyed(a PRIMARY KEY) WITHOUT ROWID;"
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)"
		" INSERT INTO dense SELECT i FROM n; INSERT INTO sparse SELECT a FROM dense;"
		"INSERT INTO keyed SELECT a FROM dense WHERE a < 8;"
		"DELETE FROM sparse WHERE a % 7 = 1; INSERT INTO dense VALUES(zeroblob(70000))";
	const char *path = assay_test_path("unread.db");
	CHECK(assay_sqlite_by_hand(path, made));
	assay_run *run = assay_run_new();
	assay_input *in = assay_input_open(path, NULL);
	assay_db db;
	CHECK(in && assay_db_open(&db, run, in, NULL) && db.pages.in);
	uint64_t rows = db.rows_left, spill = db.walk.spill_left;
	assay_db_tell_unread(&db, nothing_is_dull, NULL, 0);
	assay_str unread = assay_meta_get(run, "unread");
	CHECK(assay_str_eq(unread,
			   ASSAY_S("dense (5,001 rows), sparse (4,285 rows), keyed (7 rows)")));
	CHECK(db.rows_left == rows - 7 && db.walk.spill_left == spill);
	assay_db_close(&db);
	assay_input_close(in);
	assay_run_free(run);
	return 0;
}

TEST(a_database_that_shrinks_while_it_is_read_is_said_to)
{
	const char *path = assay_test_path("shrinks.db");
	CHECK(assay_sqlite_by_hand(path, odd_table));
	for (int walks = 0; walks < 2; walks++) {
		assay_run *run = assay_run_new();
		assay_input *in = assay_input_open(path, NULL);
		assay_db db;
		uint64_t rows = 0;
		CHECK(in && assay_db_open(&db, run, in, NULL) && db.pages.in);
		if (!walks)
			db.pages.in = NULL;
		CHECK(truncate(path, file_size(path) / 2) == 0);
		digest(&db, &rows);
		CHECK(rows < 3001 && run->part.issues[ASSAY_ISSUE_bad_record] == 1);
		CHECK(assay_input_change(in));
		assay_db_close(&db);
		assay_input_close(in);
		assay_run_free(run);
		CHECK(truncate(path, 0) == 0 && assay_sqlite_by_hand(path, odd_table));
	}
	return 0;
}
