/* All tables of a run in one SQLite file, with indexes and the views of `assay sql`: what other
 * tools and other days can ask without assay. */
#include "base/sqlite.h"

#include <stdlib.h>

#include "base/map.h"
#include "base/sort.h"
#include "query/schema.h"
#include "query/sql.h"
#include "write/btree.h"
#include "write/writer.h"

/* SQLite makes tables, indexes and views, all empty; rows go into pages behind its own. */
typedef struct sqlite_file {
	const assay_run *run;
	sqlite3 *db;
	assay_relations rels;
	uint8_t *image; /* what SQLite made; free_image */
	assay_undo free_image;
	uint32_t image_pages;
	btree_file pages; /* behind it */
	assay_arena arena;
} sqlite_file;

static bool fail(sqlite3 *db, assay_err *err)
{
	return assay_fail(err, ASSAY_LIMIT, 0, "the database cannot be made: %s",
			  sqlite3_errmsg(db));
}

static bool run_sql(sqlite3 *db, const char *text, assay_err *err)
{
	return sqlite3_exec(db, text, NULL, NULL, NULL) == SQLITE_OK || fail(db, err);
}

static bool has_index(sqlite_file *f, const assay_relation *rel, size_t col)
{
	return rel->n && assay_relation_index(&f->arena, rel, &rel->col[col]);
}

static bool make_schema(sqlite_file *f, assay_err *err)
{
	bool ok = true;
	for (size_t i = 0; i < f->rels.view.n && ok; i++) {
		const assay_relation *rel = &f->rels.view.p[i];
		ok = run_sql(f->db, assay_relation_create(&f->arena, &f->rels, rel), err);
		for (size_t c = 0; c < rel->cols && ok; c++)
			if (has_index(f, rel, c))
				ok = run_sql(
					f->db,
					assay_relation_create_index(&f->arena, rel, &rel->col[c]),
					err);
	}
	for (const assay_sql_view *v = assay_sql_views; v->name && ok; v++)
		ok = run_sql(
			f->db,
			assay_printf(&f->arena, "CREATE VIEW file.\"%s\" AS %s", v->name, v->text),
			err);
	return ok;
}

/* ------------------------------------------------------------------ rows */

static btree_value value_of(const sqlite_file *f, const assay_relation_col *col, uint32_t row)
{
	assay_cell c = assay_relation_cell(f->run, col, row);
	if (c.type == ASSAY_CELL_INT)
		return (btree_value){.kind = BTREE_INT, .i = c.i};
	if (c.type == ASSAY_CELL_REAL && c.f == c.f) /* SQLite has no NaN */
		return (btree_value){.kind = BTREE_REAL, .f = c.f};
	if (c.type == ASSAY_CELL_TEXT)
		return (btree_value){.kind = BTREE_TEXT, .s = c.text};
	return (btree_value){.kind = BTREE_NULL};
}

/* The page that SQLite gave a table or an index. */
static uint8_t *root_of(sqlite_file *f, const char *name)
{
	uint32_t root = assay_sqlite_root(f->db, "file", name);
	return root && root <= f->image_pages ? f->image + (size_t)(root - 1) * BTREE_PAGE : NULL;
}

/* Tables have all their rows: the row's number is its id. */
static bool fill_table(sqlite_file *f, const assay_relation *rel)
{
	btree_value *value = assay_alloc(&f->arena, rel->cols * sizeof *value);
	btree tree = {.file = &f->pages, .last = -1};
	uint8_t *root = root_of(f, rel->name);
	for (uint32_t row = 0; root && row < rel->n; row++) {
		size_t n = 1; /* an id that is a column is NULL among the others */
		for (size_t c = 1; c < rel->cols; c++)
			if (!rel->col[c].string_id)
				value[n++] = value_of(f, &rel->col[c], row);
		btree_add(&tree, row, value, n);
	}
	if (root)
		btree_finish(&tree, root, f->image_pages + 1);
	btree_free(&tree);
	return root != NULL;
}

/* ------------------------------------------------------------------ indexes */

typedef struct ranked_text {
	assay_str text;
	uint32_t number;
} ranked_text;

static int by_text(const void *a, const void *b)
{
	const ranked_text *x = a, *y = b;
	int order = memcmp(x->text.p, y->text.p, x->text.n < y->text.n ? x->text.n : y->text.n);
	return order ? order : (x->text.n > y->text.n) - (x->text.n < y->text.n);
}

/* Numbers of texts become their ranks. */
static void rank_texts(ranked_text *text, size_t n, int64_t *key, const uint32_t *row, size_t rows)
{
	int64_t *rank = assay_pages_grow(NULL, n * sizeof *rank + 1);
	qsort(text, n, sizeof *text, by_text);
	for (size_t i = 0; i < n; i++)
		rank[text[i].number] = i && !by_text(&text[i - 1], &text[i])
					       ? rank[text[i - 1].number]
					       : (int64_t)i;
	for (size_t i = 0; i < rows; i++)
		key[row[i]] = rank[key[row[i]]];
	assay_pages_free(rank);
}

/* What SQLite compares, as numbers by row; rows without a value go to the front of row. Returns how
 * many of those there are. */
static size_t make_keys(const sqlite_file *f, const assay_relation *rel,
			const assay_relation_col *col, int64_t *key, uint32_t *row)
{
	assay_map numbers = {0}; /* by where a text lies: those of a run lie in one place */
	assay_vec(ranked_text) texts = {0};
	size_t absent = 0, n = 0;
	for (uint32_t r = 0; r < rel->n; r++)
		absent += assay_relation_cell(f->run, col, r).type == ASSAY_CELL_NULL;
	for (uint32_t r = 0, none = 0; r < rel->n; r++) {
		assay_cell c = assay_relation_cell(f->run, col, r);
		row[c.type == ASSAY_CELL_NULL ? none++ : absent + n++] = r;
		key[r] = c.i;
		if (c.type != ASSAY_CELL_TEXT)
			continue;
		uint32_t *number = assay_map_at(&numbers, (uintptr_t)c.text.p);
		if (*number == ASSAY_MAP_ABSENT) {
			*number = (uint32_t)texts.n;
			*assay_push(&texts) = (ranked_text){c.text, *number};
		}
		key[r] = *number;
	}
	if (texts.n)
		rank_texts(texts.p, texts.n, key, row + absent, n);
	assay_map_free(&numbers);
	assay_vec_free(&texts);
	return absent;
}

static bool fill_index(sqlite_file *f, const assay_relation *rel, const assay_relation_col *col)
{
	uint8_t *root = root_of(f, assay_relation_index(&f->arena, rel, col));
	if (!root)
		return false;
	btree_index index = {.file = &f->pages};
	int64_t *key = assay_pages_grow(NULL, rel->n * sizeof *key + 1);
	uint32_t *row = assay_pages_grow(NULL, rel->n * sizeof *row + 1);
	size_t absent = make_keys(f, rel, col, key, row);
	assay_sort_rows(row + absent, rel->n - absent, key);
	for (size_t i = 0; i < rel->n; i++) {
		btree_value v = value_of(f, col, row[i]);
		btree_index_add(&index, &v, row[i]);
	}
	btree_index_finish(&index, root, f->image_pages + 1);
	btree_index_free(&index);
	assay_pages_free(key);
	assay_pages_free(row);
	return true;
}

static bool fill(sqlite_file *f)
{
	bool ok = true;
	for (size_t i = 0; i < f->rels.view.n && ok; i++) {
		const assay_relation *rel = &f->rels.view.p[i];
		if (rel->filter)
			continue;
		ok = fill_table(f, rel);
		for (size_t c = 0; c < rel->cols && ok; c++)
			if (has_index(f, rel, c))
				ok = fill_index(f, rel, &rel->col[c]);
	}
	return ok;
}

static bool take_image(sqlite_file *f)
{
	sqlite3_int64 n = 0;
	f->image = sqlite3_serialize(f->db, "file", &n, 0);
	f->image_pages = (uint32_t)(n / BTREE_PAGE);
	if (f->image)
		assay_undo_add(&f->free_image, sqlite3_free, f->image);
	return f->image;
}

static bool sqlite_write(const assay_run *run, FILE *out, assay_left_out *left, assay_err *err)
{
	sqlite_file f = {.run = run};
	assay_undo undo;
	(void)left; /* nothing is: it has every table */
	assay_relations_of(&f.rels, run);
	bool ok = sqlite3_open(":memory:", &f.db) == SQLITE_OK;
	assay_sqlite_guard(&undo, f.db);
	ok = ok ? run_sql(f.db, "ATTACH ':memory:' AS file; PRAGMA file.journal_mode = OFF; BEGIN",
			  err)
		: fail(f.db, err);
	ok = ok && make_schema(&f, err) && run_sql(f.db, "COMMIT", err);
	if (ok && !(take_image(&f) && fill(&f)))
		ok = fail(f.db, err);
	if (ok)
		btree_file_write(&f.pages, f.image, f.image_pages, out);
	if (f.image)
		assay_undo_drop(&f.free_image);
	sqlite3_free(f.image);
	assay_undo_drop(&undo);
	sqlite3_close(f.db);
	btree_file_free(&f.pages);
	assay_relations_free(&f.rels);
	assay_arena_free(&f.arena);
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
