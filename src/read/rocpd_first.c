/* results.db of the first rocprof (ROCm up to 6): a table of calls for each interface, OPS and COPY
 * for the device. Index joins a call with its work (ROCm/rocprofiler, bin/tblextr.py). */
#include <stdlib.h>
#include <unistd.h>

#include "base/jsonw.h"
#include "base/sqlite.h"
#include "base/test.h"
#include "read/db.h"
#include "read/reader.h"
#include "read/rocprof.h"

static const char *const call_tables[] = {"HIP", "HSA", "KFD", "rocTX"};
static const char *const work_tables[] = {"OPS", "COPY"};

bool assay_rocpd_is_first(const assay_db *db)
{
	bool calls = false;
	for (size_t i = 0; i < ASSAY_COUNT_OF(call_tables); i++)
		calls |= assay_db_exists(db, call_tables[i]);
	return calls && (assay_db_exists(db, "KERN") || assay_db_exists(db, "OPS"));
}

/* The first five columns of both: BeginNs, EndNs, Index, pid or device, tid or stream. */
static bool read_span(assay_db *db, int64_t *ts, int64_t *dur)
{
	*ts = assay_db_int(db, 0, 0);
	return assay_rocprof_length(db->part, *ts, assay_db_int(db, 1, 0), dur);
}

static uint64_t index_of(assay_db *db)
{
	int64_t index = assay_db_int(db, 2, 0);
	return index > 0 ? (uint64_t)index : 0;
}

static assay_sid args_of(assay_db *db, assay_jsonw *w, int column)
{
	assay_str text = assay_db_text(db, column);
	if (!text.n)
		return 0;
	w->out.n = 0;
	w->comma = false;
	w->compact = true;
	assay_jsonw_str(w, "args", text);
	return assay_intern(&db->part->strings, (assay_str){w->out.p, w->out.n});
}

static void read_calls(assay_db *db, const char *table)
{
	assay_jsonw w = {0};
	assay_db_select(
		db, table,
		ASSAY_DB_COLUMNS("BeginNs", "EndNs", "Index", "pid", "tid", "Name", "args"));
	while (assay_db_next(db)) {
		int64_t ts, dur;
		if (!read_span(db, &ts, &dur))
			continue;
		assay_sid name = assay_intern(&db->part->strings, assay_db_text(db, 5));
		assay_host_kind kind =
			assay_rocprof_first_call(assay_pool_get(&db->part->strings, name));
		uint32_t r =
			assay_rocprof_host(db->part, kind, index_of(db), 0, assay_str_of(table));
		assay_host_table *t = &db->part->t.host;
		t->ts[r] = ts;
		t->dur[r] = dur;
		t->name[r] = name;
		t->track[r] = assay_thread_track(db->part, assay_db_int(db, 3, -1),
						 assay_db_int(db, 4, -1));
		t->args[r] = args_of(db, &w, 6);
	}
	assay_jsonw_free(&w);
}

static void read_work(assay_db *db, const char *table)
{
	assay_db_select(db, table,
			ASSAY_DB_COLUMNS("BeginNs", "EndNs", "Index", "dev-id", "stream-id", "Name",
					 "queue-id"));
	while (assay_db_next(db)) {
		int64_t ts, dur, queue = assay_db_int(db, 6, -1);
		if (!read_span(db, &ts, &dur))
			continue;
		uint32_t r = assay_add(&db->part->t, ASSAY_T_gpu);
		assay_gpu_table *t = &db->part->t.gpu;
		t->ts[r] = ts;
		t->dur[r] = dur;
		t->corr[r] = index_of(db);
		t->name[r] = assay_intern(&db->part->strings, assay_db_text(db, 5));
		t->kind[r] = (uint8_t)assay_rocprof_first_work(
			assay_pool_get(&db->part->strings, t->name[r]));
		t->track[r] = assay_stream_track(db->part, assay_db_int(db, 3, -1),
						 assay_db_int(db, 4, queue));
		if (queue >= 0)
			t->queue[r] = assay_rocprof_u32(db->part, (uint64_t)queue, UINT32_MAX);
		assay_count(db->part, ASSAY_ISSUE_no_name, !t->name[r]);
	}
}

bool assay_rocpd_read_first(assay_db *db)
{
	for (size_t i = 0; i < ASSAY_COUNT_OF(call_tables); i++)
		if (assay_db_exists(db, call_tables[i]))
			read_calls(db, call_tables[i]);
	for (size_t i = 0; i < ASSAY_COUNT_OF(work_tables); i++)
		if (assay_db_exists(db, work_tables[i]))
			read_work(db, work_tables[i]);
	return true;
}

TEST(the_database_of_the_first_rocprof_joins_calls_and_work_by_index)
{
	static const char sql[] =
		"CREATE TABLE HIP(BeginNs, EndNs, pid, tid, Name, args, \"Index\", Data);"
		"CREATE TABLE OPS(BeginNs, EndNs, \"dev-id\", \"queue-id\", Name, pid, tid, \"stream-id\", \"Index\");"
		"CREATE TABLE COPY(BeginNs, EndNs, \"dev-id\", \"queue-id\", Name, pid, tid, \"stream-id\", \"Index\");"
		"CREATE TABLE KERN(\"Index\" INTEGER, KernelName TEXT);"
		"INSERT INTO HIP VALUES(100, 150, 7, 8, 'hipMemcpy', '( size(4))', 4, '');"
		"INSERT INTO HIP VALUES(200, 210, 7, 8, 'hipLaunchKernel', '', 8, '');"
		"INSERT INTO OPS VALUES(300, 450, 4, 0, 'k(int)', 7, 8, 1, 8);"
		"INSERT INTO COPY VALUES(120, 140, 4, 0, 'CopyHostToDevice', 7, 8, 0, 4);";
	const char *path = assay_test_path("first.db");
	CHECK(assay_sqlite_by_hand(path, sql));
	assay_run *run = assay_run_new();
	CHECK(assay_read_path(run, path, NULL));
	const assay_tables *t = &run->part.t;
	CHECK(t->host.n == 2 && t->gpu.n == 2 && t->gpu.corr[0] == 8 && t->api.corr[1] == 8);
	CHECK(t->gpu.kind[0] == ASSAY_GPU_KERNEL && t->gpu.kind[1] == ASSAY_GPU_MEMCPY);
	CHECK(t->gpu.dur[0] == 150 && t->host.kind[0] == ASSAY_HOST_RUNTIME);
	CHECK(t->track.pid[t->gpu.track[0]] == 4 && t->track.tid[t->gpu.track[0]] == 1);
	CHECK(assay_str_is(assay_text(run, t->host.args[0]), "\"args\": \"( size(4))\""));
	assay_run_free(run);
	return 0;
}
