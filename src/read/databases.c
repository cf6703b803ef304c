#include "read/databases.h"

#include <string.h>

#include "base/test.h"

static const assay_database *const databases[] = {&assay_database_rpd, &assay_database_rocpd,
						  &assay_database_nsys, &assay_database_first};

bool assay_is_sqlite(assay_str head)
{
	static const char magic[16] = "SQLite format 3";
	return head.n >= sizeof magic && !memcmp(head.p, magic, sizeof magic);
}

static const assay_database *database_of(const assay_db *db)
{
	for (size_t i = 0; i < ASSAY_COUNT_OF(databases); i++)
		if (databases[i]->is(db))
			return databases[i];
	return NULL;
}

static bool fail_unknown(const assay_db *db, assay_err *err)
{
	if (assay_db_exists(db, "StringTable") &&
	    assay_db_exists(db, "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL"))
		return assay_fail(
			err, ASSAY_UNKNOWN, 0,
			"%s is a database of nvprof: `nvprof -i FILE --print-gpu-trace --print-api-trace --csv --log-file OUT.csv` makes a table of it that is read",
			db->path);
	return assay_fail(err, ASSAY_UNKNOWN, 0,
			  "%s is a SQLite database without rocpd tables or tables of nsys",
			  db->path);
}

bool assay_database_read(assay_run *run, assay_input *in, assay_err *err)
{
	assay_db db;
	assay_source_table *s = &run->part.t.source;
	uint32_t source = run->part.source;
	if (!assay_db_open(&db, run, in, err))
		return false;
	const assay_database *d = database_of(&db);
	if (d && source != ASSAY_NO_ROW) {
		s->format[source] = assay_intern_z(&run->part.strings, d->reader->name);
		s->traits[source] = d->reader->traits;
	}
	bool ok = (d && d->read(&db)) || fail_unknown(&db, err);
	assay_db_close(&db);
	return ok;
}
