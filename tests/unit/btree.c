/* Pages of tables and indexes that SQLite has not written, given to SQLite. */
#include <sqlite3.h>
#include <stdlib.h>

#include "base/test.h"
#include "write/btree.h"

/* What SQLite makes of the schema, as bytes. */
static uint8_t *empty_file(const char *schema)
{
	sqlite3 *db = NULL;
	sqlite3_int64 size = 0;
	sqlite3_open(":memory:", &db);
	sqlite3_exec(db, schema, NULL, NULL, NULL);
	uint8_t *image = sqlite3_serialize(db, "main", &size, 0);
	sqlite3_close(db);
	return image;
}

/* The image and the pages behind it; both are freed. */
static sqlite3 *opened(btree_file *f, uint8_t *image, uint32_t pages)
{
	sqlite3 *db = NULL;
	char *bytes = NULL;
	size_t all = 0;
	FILE *out = open_memstream(&bytes, &all);
	btree_file_write(f, image, pages, out);
	fclose(out);
	uint8_t *copy = sqlite3_malloc64(all);
	memcpy(copy, bytes, all);
	sqlite3_open(":memory:", &db);
	sqlite3_deserialize(db, "main", copy, (sqlite3_int64)all, (sqlite3_int64)all,
			    SQLITE_DESERIALIZE_FREEONCLOSE);
	btree_file_free(f);
	sqlite3_free(image);
	free(bytes);
	return db;
}

/* A table of n rows. */
static sqlite3 *filled(int64_t n, size_t longest)
{
	btree_file f = {0};
	btree t = {.file = &f};
	assay_arena a = {0};
	char *text = assay_alloc(&a, longest + 1);
	memset(text, 'x', longest);
	for (int64_t i = 1; i <= n; i++) {
		const btree_value row[] = {
			{0},
			{.kind = BTREE_INT, .i = (i % 2 ? 1 : -1) * (INT64_MAX >> i % 64)},
			{.kind = BTREE_REAL, .f = (double)i / 8},
			{.kind = BTREE_TEXT, .s = {text, (size_t)i * 37 % (longest + 1)}}};
		btree_add(&t, 3 * i, row, ASSAY_COUNT_OF(row));
	}
	uint8_t *image =
		empty_file("CREATE TABLE t(id INTEGER PRIMARY KEY, i INT, r REAL, s TEXT)");
	btree_finish(&t, image + BTREE_PAGE, 3);
	btree_free(&t);
	assay_arena_free(&a);
	return opened(&f, image, 2);
}

static bool says(sqlite3 *db, const char *question, const char *want)
{
	sqlite3_stmt *s = NULL;
	bool same = sqlite3_prepare_v2(db, question, -1, &s, NULL) == SQLITE_OK &&
		    sqlite3_step(s) == SQLITE_ROW &&
		    !strcmp((const char *)sqlite3_column_text(s, 0), want);
	sqlite3_finalize(s);
	return same;
}

/* A root alone, with and without rows beyond a page; one level above leaves; two; texts of
 * pages. */
TEST(sqlite_finds_every_row_of_pages_it_has_not_written)
{
	static const struct {
		int64_t n;
		size_t longest;
	} c[] = {{0, 0}, {1, 0}, {1, 99999}, {40, 5}, {257, 4061}, {700, 20000}, {9000, 1000}};
	for (size_t i = 0; i < ASSAY_COUNT_OF(c); i++) {
		char count[32];
		snprintf(count, sizeof count, "%lld", (long long)c[i].n);
		sqlite3 *db = filled(c[i].n, c[i].longest);
		CHECK(says(db, "PRAGMA integrity_check", "ok"));
		CHECK(says(db, "SELECT count(*) FROM t", count));
		char same[256];
		snprintf(
			same, sizeof same,
			"SELECT count(*) FROM t WHERE r = id / 24.0 AND s = replace(hex(zeroblob(id / 3 * 37 %% %zu)), '00', 'x')",
			c[i].longest + 1);
		CHECK(says(db, same, count));
		CHECK(says(
			db,
			"SELECT count(*) FROM t WHERE i = (CASE WHEN id / 3 % 2 THEN 1 ELSE -1 END) * (9223372036854775807 >> (id / 3 % 64))",
			count));
		sqlite3_close(db);
	}
	return 0;
}

/* A table of n rows with an index on texts of up to `longest` bytes, two rows of each and a few
 * without. */
static sqlite3 *indexed(int64_t n, size_t longest)
{
	btree_file f = {0};
	btree t = {.file = &f, .last = -1};
	btree_index x = {.file = &f};
	assay_arena a = {0};
	char *text = assay_alloc(&a, longest + 32);
	memset(text, 'x', longest + 32);
	for (int64_t i = 0; i < n; i++) {
		char digits[16];
		snprintf(digits, sizeof digits, "%08d", (int)(i / 2));
		memcpy(text, digits, 8);
		btree_value row[] = {{0},
				     {.kind = BTREE_TEXT,
				      .s = {text, 8 + (size_t)(i / 2) * 37 % (longest + 1)}}};
		if (i < 3)
			row[1] = (btree_value){0};
		btree_add(&t, i, row, ASSAY_COUNT_OF(row));
		btree_index_add(&x, &row[1], i);
	}
	uint8_t *image = empty_file(
		"CREATE TABLE t(id INTEGER PRIMARY KEY, s TEXT); CREATE INDEX x ON t(s)");
	btree_finish(&t, image + BTREE_PAGE, 4);
	btree_index_finish(&x, image + 2 * BTREE_PAGE, 4);
	btree_free(&t);
	btree_index_free(&x);
	assay_arena_free(&a);
	return opened(&f, image, 3);
}

/* Every number of records around the ends of pages; one, two and three levels; records beyond their
 * page. integrity_check holds each row of the table against the index. */
TEST(sqlite_finds_every_row_in_an_index_it_has_not_written)
{
	static const struct {
		int64_t from, to, step;
		size_t longest;
	} c[] = {{150, 450, 1, 5},         {0, 60, 1, 2000},       {12, 13, 1, 99999},
		 {40000, 90000, 49999, 9}, {300, 3000, 270, 1500}, {7000, 7400, 13, 990}};
	for (size_t i = 0; i < ASSAY_COUNT_OF(c); i++)
		for (int64_t n = c[i].from; n < c[i].to; n += c[i].step) {
			char count[32];
			snprintf(count, sizeof count, "%lld", (long long)(n < 3 ? 0 : n - 3));
			sqlite3 *db = indexed(n, c[i].longest);
			CHECK(says(db, "PRAGMA integrity_check", "ok"));
			CHECK(says(db, "SELECT count(*) FROM t INDEXED BY x WHERE s > ''", count));
			sqlite3_close(db);
		}
	return 0;
}
