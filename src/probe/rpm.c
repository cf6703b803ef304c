/* RPM's SQLite database (Fedora, RHEL 9 and later): a table of headers, and one table an index.
 *
 * A header is two big-endian counts (entries, bytes of data), 16 bytes an entry (tag, type, offset,
 * count), then the data. Names of files are split: BASENAMES[i] lies in DIRNAMES[DIRINDEXES[i]]. */
#include <stdio.h>
#include <unistd.h>

#include "base/num.h"
#include "base/sqlite.h"
#include "base/test.h"
#include "probe/packages.h"

enum { NAME = 1000, VERSION = 1001, RELEASE = 1002, DIRINDEXES = 1116, BASENAMES = 1117 };
enum { DIRNAMES = 1118 };
enum { INT32 = 4, STRING = 6, STRING_ARRAY = 8, ENTRY = 16 };

static const char *const places[] = {"/var/lib/rpm/rpmdb.sqlite",
				     "/usr/lib/sysimage/rpm/rpmdb.sqlite"};

typedef struct header {
	const unsigned char *p;
	size_t n;
} header;

typedef struct field {
	const unsigned char *p, *end;
	uint32_t count;
} field;

static uint32_t number_at(const void *p)
{
	return assay_big_endian(p, 4);
}

/* The data of a tag, count 0 when it is not there in that type. */
static field find(header h, uint32_t tag, uint32_t type)
{
	size_t entries = h.n >= 8 ? number_at(h.p) : 0;
	size_t data = 8 + entries * ENTRY;
	for (size_t i = 0; data <= h.n && i < entries; i++) {
		const unsigned char *e = h.p + 8 + i * ENTRY;
		size_t at = data + number_at(e + 8);
		if (number_at(e) == tag && number_at(e + 4) == type && at < h.n)
			return (field){h.p + at, h.p + h.n, number_at(e + 12)};
	}
	return (field){0};
}

/* The next text of an array, or the only one; empty at the end. */
static assay_str next_text(field *f)
{
	if (!f->count || f->p >= f->end)
		return (assay_str){"", 0};
	size_t n = strnlen((const char *)f->p, (size_t)(f->end - f->p));
	assay_str s = {(const char *)f->p, n};
	f->p += n + 1;
	f->count--;
	return s;
}

static assay_str text_of(header h, uint32_t tag)
{
	field f = find(h, tag, STRING);
	f.count = f.p ? 1 : 0;
	return next_text(&f);
}

static bool identity(assay_ctx *c, header h, assay_installed *out)
{
	assay_str name = text_of(h, NAME), version = text_of(h, VERSION),
		  release = text_of(h, RELEASE);
	*out = (assay_installed){"rpm", assay_dup(c->a, name),
				 assay_printf(c->a, "%.*s-%.*s", (int)version.n, version.p,
					      (int)release.n, release.p)};
	return name.n && version.n;
}

/* Opened through its descriptor, so that a root's links lead nowhere else, and as immutable:
 * nothing is written beside it. */
typedef struct database {
	int fd;
	sqlite3 *db;
	assay_undo of_fd, of_db;
} database;

static bool open_database(assay_ctx *c, const char *path, database *d)
{
	struct stat st;
	assay_cause cause;
	*d = (database){.fd = assay_root_fd(&c->root, path, &st, &cause)};
	if (d->fd < 0)
		return false;
	assay_undo_fd(&d->of_fd, d->fd);
	const char *uri = assay_printf(c->a, "file:/proc/self/fd/%d?immutable=1", d->fd);
	sqlite3_open_v2(uri, &d->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL);
	assay_sqlite_guard(&d->of_db, d->db);
	return true;
}

static void close_database(database *d)
{
	assay_undo_drop(&d->of_db);
	assay_undo_drop(&d->of_fd);
	sqlite3_close(d->db);
	close(d->fd);
}

static header row_header(sqlite3_stmt *row)
{
	const unsigned char *blob = sqlite3_column_blob(row, 0);
	return (header){blob, blob ? (size_t)sqlite3_column_bytes(row, 0) : 0};
}

/* Headers are large, and most packages are not of GPUs: those are passed over by their name. */
static bool list_packages(assay_ctx *c, sqlite3 *db)
{
	sqlite3_stmt *names = NULL, *one = NULL;
	bool ok = sqlite3_prepare_v2(db, "SELECT key, hnum FROM Name", -1, &names, NULL) ==
			  SQLITE_OK &&
		  sqlite3_prepare_v2(db, "SELECT blob FROM Packages WHERE hnum = ?", -1, &one,
				     NULL) == SQLITE_OK;
	int step = SQLITE_DONE;
	while (ok && (step = sqlite3_step(names)) == SQLITE_ROW) {
		assay_installed p;
		const char *name = (const char *)sqlite3_column_text(names, 0);
		if (!name || !assay_is_gpu_package(assay_str_of(name)))
			continue;
		sqlite3_reset(one);
		sqlite3_bind_int64(one, 1, sqlite3_column_int64(names, 1));
		if (sqlite3_step(one) == SQLITE_ROW && identity(c, row_header(one), &p))
			*assay_push(&c->installed) = p;
	}
	sqlite3_finalize(names);
	sqlite3_finalize(one);
	return ok && step == SQLITE_DONE;
}

bool assay_rpm_is_read(assay_ctx *c)
{
	for (size_t i = 0; i < ASSAY_COUNT_OF(places); i++)
		if (assay_root_is_file(&c->root, places[i]))
			return true;
	return false;
}

static void tell_unread(assay_ctx *c)
{
	static const char *const other[] = {"/var/lib/rpm/Packages", "/var/lib/rpm/Packages.db",
					    "/usr/lib/sysimage/rpm/Packages.db"};
	for (size_t i = 0; i < ASSAY_COUNT_OF(other); i++)
		if (!assay_rpm_is_read(c) && assay_root_is_file(&c->root, other[i]))
			assay_ctx_reason(
				c, ASSAY_LEVEL_EXPECTED,
				"assay.system_packages: %s is of an RPM without SQLite and was not read",
				other[i]);
}

void assay_rpm_list(assay_ctx *c)
{
	database d;
	struct stat st;
	for (size_t i = 0; i < ASSAY_COUNT_OF(places); i++) {
		if (!open_database(c, places[i], &d))
			continue;
		if (!list_packages(c, d.db))
			assay_ctx_reason(c, ASSAY_LEVEL_ERROR, "assay.system_packages: %s: %s",
					 places[i], sqlite3_errmsg(d.db));
		if (assay_root_stat(&c->root, assay_printf(c->a, "%s-wal", places[i]), &st) &&
		    st.st_size)
			assay_ctx_reason(
				c, ASSAY_LEVEL_EXPECTED,
				"assay.system_packages: the newest changes of %s are in its -wal, which was not read",
				places[i]);
		close_database(&d);
	}
	tell_unread(c);
}

/* Every file of the package with that base name. */
static void offer_files(assay_owners *o, header h, const char *base, const assay_installed *p)
{
	field names = find(h, BASENAMES, STRING_ARRAY), folders = find(h, DIRNAMES, STRING_ARRAY),
	      index = find(h, DIRINDEXES, INT32);
	assay_vec(assay_str) folder = {0};
	for (assay_str s; (s = next_text(&folders)).n;)
		*assay_push(&folder) = s;
	for (uint32_t i = 0; i < index.count && (size_t)(index.end - index.p) / 4 > i; i++) {
		assay_str name = next_text(&names);
		uint32_t k = number_at(index.p + 4 * (size_t)i);
		if (k >= folder.n || !assay_str_is(name, base))
			continue;
		const char *path =
			assay_printf(o->c->a, "%.*s%s", (int)folder.p[k].n, folder.p[k].p, base);
		assay_owners_offer(o, assay_str_of(path), p);
	}
	assay_vec_free(&folder);
}

static void owners_in(assay_owners *o, sqlite3 *db)
{
	static const char query[] =
		"SELECT blob FROM Packages WHERE hnum IN (SELECT hnum FROM Basenames WHERE key = ?)";
	sqlite3_stmt *rows = NULL;
	bool ok = sqlite3_prepare_v2(db, query, -1, &rows, NULL) == SQLITE_OK;
	for (size_t i = 0; ok && i < o->asked.n; i++) {
		const char *slash = strrchr(o->asked.p[i].path, '/');
		if (o->asked.p[i].owner->name || !slash)
			continue;
		sqlite3_reset(rows);
		sqlite3_bind_text(rows, 1, slash + 1, -1, SQLITE_STATIC);
		while (sqlite3_step(rows) == SQLITE_ROW) {
			assay_installed p;
			header h = row_header(rows);
			if (identity(o->c, h, &p))
				offer_files(o, h, slash + 1, &p);
		}
	}
	sqlite3_finalize(rows);
}

void assay_rpm_owners(assay_owners *o)
{
	database d;
	for (size_t i = 0; i < ASSAY_COUNT_OF(places); i++)
		if (open_database(o->c, places[i], &d)) {
			owners_in(o, d.db);
			close_database(&d);
		}
}

TEST(headers_of_rpm_are_read_within_their_bounds)
{
	static const unsigned char blob[] = "\0\0\0\1\0\0\0\5"
					    "\0\0\3\xe8\0\0\0\6\0\0\0\0\0\0\0\1"
					    "rccl";
	CHECK(assay_str_is(text_of((header){blob, sizeof blob}, NAME), "rccl"));
	CHECK(!text_of((header){blob, sizeof blob}, VERSION).n);
	for (size_t n = 0; n < sizeof blob; n++)
		CHECK(text_of((header){blob, n}, NAME).n <= n);
	return 0;
}
