/* A connection that reaches the run and memory of its own, no file. */
#include "query/sql.h"

#include <ctype.h>

#include "base/sqlite.h"
#include "base/suggest.h"
#include "base/test.h"
#include "query/vtab.h"

const assay_sql_view assay_sql_views[] = {
	{"top_kernels",
	 "SELECT name, count AS total_calls, total AS total_duration, 1.0 * total / count AS average, 100.0 * total / (SELECT sum(total) FROM kernel WHERE kind = 'kernel') AS percentage, class, family FROM kernel WHERE kind = 'kernel' ORDER BY total DESC",
	 "kernels by name, those that take most first"},
	{"ranks",
	 "SELECT rank.rank AS rank, host, matched, last AS came_last, waited, caused, transfer, why FROM rank ORDER BY caused DESC",
	 "ranks of a job, those that others wait for first"},
	{"process",
	 "SELECT pid AS upid, pid, max(process) AS name, count(*) AS threads FROM thread GROUP BY pid",
	 "a process, as Perfetto names it"},
	{"cuda_gpu_kern_sum",
	 "SELECT 100.0 * total / (SELECT sum(total) FROM kernel WHERE kind = 'kernel') AS \"Time (%)\", total AS \"Total Time (ns)\", count AS Instances, 1.0 * total / count AS \"Avg (ns)\", median AS \"Med (ns)\", min AS \"Min (ns)\", max AS \"Max (ns)\", name AS Name FROM kernel WHERE kind = 'kernel' ORDER BY total DESC",
	 "kernels by name, as `nsys stats` reports them; AMD's too"},
	{"cuda_gpu_mem_time_sum",
	 "SELECT 100.0 * total / (SELECT sum(total) FROM kernel WHERE kind <> 'kernel') AS \"Time (%)\", total AS \"Total Time (ns)\", count AS Count, 1.0 * total / count AS \"Avg (ns)\", median AS \"Med (ns)\", min AS \"Min (ns)\", max AS \"Max (ns)\", name AS Operation FROM kernel WHERE kind <> 'kernel' ORDER BY total DESC",
	 "copies and memsets by name, as `nsys stats` reports them"},
	{"cuda_api_sum",
	 "SELECT 100.0 * sum(dur) / (SELECT sum(dur) FROM regions WHERE category IN ('runtime', 'driver')) AS \"Time (%)\", sum(dur) AS \"Total Time (ns)\", count(*) AS \"Num Calls\", avg(dur) AS \"Avg (ns)\", min(dur) AS \"Min (ns)\", max(dur) AS \"Max (ns)\", name AS Name FROM regions WHERE category IN ('runtime', 'driver') GROUP BY name ORDER BY sum(dur) DESC",
	 "runtime and driver calls by name, as `nsys stats` reports them"},
	{"nvtx_sum",
	 "SELECT 100.0 * sum(dur) / (SELECT sum(dur) FROM scopes) AS \"Time (%)\", sum(dur) AS \"Total Time (ns)\", count(*) AS Instances, avg(dur) AS \"Avg (ns)\", min(dur) AS \"Min (ns)\", max(dur) AS \"Max (ns)\", name AS Range FROM scopes GROUP BY name ORDER BY sum(dur) DESC",
	 "ranges by name, as `nsys stats` reports them"},
	{NULL, NULL, NULL},
};

const assay_sql_view *assay_sql_view_find(const char *name)
{
	for (const assay_sql_view *v = assay_sql_views; v->name; v++)
		if (!strcmp(v->name, name))
			return v;
	return NULL;
}

/* Tables of one's own in memory are fine; files are not. VACUUM INTO attaches, too. */
static int authorize(void *ctx, int action, const char *a, const char *b, const char *c,
		     const char *d)
{
	(void)ctx, (void)b, (void)c, (void)d;
	bool about_columns = action == SQLITE_PRAGMA && a && !sqlite3_strnicmp(a, "table_", 6);
	bool denied = action == SQLITE_ATTACH || action == SQLITE_DETACH || action == SQLITE_PRAGMA;
	return denied && !about_columns ? SQLITE_DENY : SQLITE_OK;
}

/* The name behind a prefix of SQLite's message; of x.y that is y. NULL: another message. */
static const char *named(const char *why, const char *prefix)
{
	const char *dot = strrchr(why, '.');
	size_t n = strlen(prefix);
	return strncmp(why, prefix, n) ? NULL : dot ? dot + 1 : why + n;
}

/* Tables of nsys exports, rocpd and Perfetto, and where their rows are here. */
static const char *known_elsewhere(const char *table)
{
	static const char *const words[][2] = {{"CUPTI_ACTIVITY_KIND_%KERNEL", "kernels"},
					       {"CUPTI_ACTIVITY_KIND_MEMCPY%", "memory_copies"},
					       {"CUPTI_ACTIVITY_KIND_MEMSET", "memsets"},
					       {"CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "waits"},
					       {"CUPTI_ACTIVITY_KIND_%", "regions"},
					       {"CUDA_GPU_MEMORY_USAGE_EVENTS", "memory"},
					       {"NVTX_EVENTS", "scopes"},
					       {"OSRT_API", "regions"},
					       {"GPU_METRICS", "counters"},
					       {"TARGET_INFO_GPU", "devices"},
					       {"rocpd_kernel_dispatch%", "kernels"},
					       {"rocpd_memory_copy%", "memory_copies"},
					       {"rocpd_memory_allocate%", "memory"},
					       {"rocpd_region%", "regions"},
					       {"rocpd_sample%", "counters"},
					       {"rocpd_pmc_event%", "pmc"},
					       {"slices", "slice"},
					       {"thread_slice", "slice"}};
	for (size_t i = 0; i < ASSAY_COUNT_OF(words); i++)
		if (!sqlite3_strlike(words[i][0], table, 0))
			return words[i][1];
	return NULL;
}

static bool in_name(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* As a word: "samples" does not name "sample". */
static bool names_table(const char *text, const char *table)
{
	size_t n = strlen(table);
	for (const char *p = text; (p = strstr(p, table)); p++)
		if ((p == text || !in_name(p[-1])) && !in_name(p[n]))
			return true;
	return false;
}

/* Tables, or columns of the tables that the statement names. */
static const char *nearest(const assay_sql *sql, const char *why, const char *text)
{
	const char *table = named(why, "no such table: "), *col = named(why, "no such column: ");
	assay_suggestion s = {.meant = table ? table : col};
	for (size_t i = 0; s.meant && i < sql->views.view.n; i++) {
		const assay_relation *rel = &sql->views.view.p[i];
		if (table)
			assay_suggest(&s, rel->name);
		for (size_t k = 0; col && names_table(text, rel->name) && k < rel->cols; k++)
			assay_suggest(&s, rel->col[k].name);
	}
	for (const assay_sql_view *v = assay_sql_views; table && v->name; v++)
		assay_suggest(&s, v->name);
	const char *here = table ? known_elsewhere(table) : NULL;
	return here ? here : s.best;
}

static bool fail(assay_sql *sql, assay_err *err, int rc, const char *text)
{
	if (rc == SQLITE_NOMEM) /* a callback may have left its memory to the run, which goes */
		assay_oom(0);
	const char *why = sql->db ? sqlite3_errmsg(sql->db) : sqlite3_errstr(rc);
	int at = sql->db ? sqlite3_error_offset(sql->db) : -1;
	if (rc == SQLITE_AUTH)
		why = "other files and settings are out of reach here";
	const char *meant = nearest(sql, why, text);
	return assay_fail(err, ASSAY_USAGE, at > 0 ? (uint64_t)at : 0,
			  meant ? "%s; did you mean '%s'?" : "%s", why, meant);
}

static int add_sql_views(sqlite3 *db)
{
	int rc = SQLITE_OK;
	for (const assay_sql_view *v = assay_sql_views; v->name && rc == SQLITE_OK; v++) {
		char *text = sqlite3_mprintf("CREATE TEMP VIEW \"%w\" AS %s", v->name, v->text);
		rc = text ? sqlite3_exec(db, text, NULL, NULL, NULL) : SQLITE_NOMEM;
		sqlite3_free(text);
	}
	return rc;
}

bool assay_sql_open(assay_sql *sql, const assay_run *run, assay_err *err)
{
	*sql = (assay_sql){0};
	assay_relations_of(&sql->views, run);
	int rc = sqlite3_open_v2(":memory:", &sql->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX,
				 NULL);
	assay_sqlite_guard(&sql->undo, sql->db);
	if (rc == SQLITE_OK)
		rc = assay_vtabs_add(sql->db, &sql->views);
	if (rc == SQLITE_OK)
		rc = add_sql_views(sql->db);
	if (rc != SQLITE_OK)
		return fail(sql, err, rc, "");
	sqlite3_db_config(sql->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_set_authorizer(sql->db, authorize, NULL);
	return true;
}

void assay_sql_interrupt(const assay_sql *sql)
{
	sqlite3_interrupt(sql->db);
}

void assay_sql_close(assay_sql *sql)
{
	assay_undo_drop(&sql->undo);
	sqlite3_close(sql->db);
	assay_relations_free(&sql->views);
}

bool assay_sql_start(assay_sql *sql, const char **text, assay_result *r, assay_err *err)
{
	*r = (assay_result){.sql = sql};
	const char *start = *text;
	int rc = sqlite3_prepare_v2(sql->db, start, -1, &r->stmt, text);
	if (rc != SQLITE_OK)
		return fail(sql, err, rc, start);
	r->cols = sqlite3_column_count(r->stmt);
	return true;
}

int assay_result_next(assay_result *r, assay_err *err)
{
	int rc = sqlite3_step(r->stmt);
	if (rc == SQLITE_ROW)
		return 1;
	if (rc == SQLITE_DONE)
		return 0;
	fail(r->sql, err, rc, "");
	return -1;
}

const char *assay_result_name(const assay_result *r, int col)
{
	return sqlite3_column_name(r->stmt, col);
}

assay_cell assay_result_cell(const assay_result *r, int col)
{
	switch (sqlite3_column_type(r->stmt, col)) {
	case SQLITE_INTEGER:
		return (assay_cell){.type = ASSAY_CELL_INT,
				    .i = sqlite3_column_int64(r->stmt, col)};
	case SQLITE_FLOAT:
		return (assay_cell){.type = ASSAY_CELL_REAL,
				    .f = sqlite3_column_double(r->stmt, col)};
	case SQLITE_NULL:
		return (assay_cell){.type = ASSAY_CELL_NULL};
	default: /* as a blob: SQLite would copy a text to end it with NUL */
		return (assay_cell){.type = ASSAY_CELL_TEXT,
				    .text = {sqlite3_column_blob(r->stmt, col),
					     (size_t)sqlite3_column_bytes(r->stmt, col)}};
	}
}

void assay_result_free(assay_result *r)
{
	sqlite3_finalize(r->stmt);
	r->stmt = NULL;
}

/* ---- tests */

/* The first cell of the first row as text; NULL: no row or an error. */
static const char *ask(assay_run *run, const char *text, assay_err *err)
{
	assay_sql sql;
	assay_result r = {0};
	const char *answer = NULL;
	if (assay_sql_open(&sql, run, err) && assay_sql_start(&sql, &text, &r, err) &&
	    assay_result_next(&r, err) == 1 && sqlite3_column_text(r.stmt, 0))
		answer = assay_printf(&run->arena, "%s",
				      (const char *)sqlite3_column_text(r.stmt, 0));
	assay_result_free(&r);
	assay_sql_close(&sql);
	return answer;
}

static assay_run *many_kernels(void)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	assay_add(t, ASSAY_T_source);
	for (uint32_t i = 0; i < 1000; i++) {
		uint32_t g = assay_add(t, ASSAY_T_gpu);
		t->gpu.ts[g] = (int64_t)(i * 7919 % 1000); /* each moment once, in no order */
		t->gpu.dur[g] = 1;
		t->gpu.track[g] = assay_stream_track(&run->part, 0, i % 4);
		t->gpu.name[g] = assay_sid_of(run, i % 3 ? "gemm" : "it's");
		assay_add(t, ASSAY_T_launch);
	}
	return run;
}

TEST(ranges_joins_and_texts_give_what_a_scan_would)
{
	assay_run *run = many_kernels();
	assay_err err = {0};
	static const struct {
		const char *text, *want;
	} q[] = {
		{"select count(*) from kernels", "1000"},
		{"select count(*) from kernels where ts >= 100 and ts < 200", "100"},
		{"select count(*) from kernels where ts >= 99.5 and ts < 199.5", "100"},
		{"select count(*) from kernels where ts > 100 and ts <= 200", "100"},
		{"select group_concat(ts) from (select ts from kernels where ts < 5 order by ts)",
		 "0,1,2,3,4"},
		{"select count(*) from kernels where name = 'it''s'", "334"},
		{"select count(*) from kernels where name = 'nothing'", ""},
		{"select count(*) from kernels where name_id = (select name_id from kernels limit 1)",
		 "334"},
		{"select count(*) from gpu join track on track.id = gpu.track where track.tid = 2",
		 "250"},
		{"select count(*) from gpu where id = 17", "1"},
		{"select count(*) from gpu where rowid = 17.5", ""},
		{"select count(*) from gpu where ts = null", ""},
		{"select count(*) from kernels where launch_ts is null", "1000"},
	};
	for (size_t i = 0; i < ASSAY_COUNT_OF(q); i++) {
		const char *got = ask(run, q[i].text, &err);
		CHECK(got && !strcmp(got, q[i].want[0] ? q[i].want : "0"));
	}
	assay_run_free(run);
	return 0;
}

/* The first column of all rows, of a plan the sentences, joined by commas. */
static const char *ask_all(assay_run *run, const char *text)
{
	assay_sql sql;
	assay_result r = {0};
	assay_err err = {0};
	const char *all = "";
	bool plan = !strncmp(text, "explain", 7);
	bool ok = assay_sql_open(&sql, run, &err) && assay_sql_start(&sql, &text, &r, &err);
	while (ok && assay_result_next(&r, &err) == 1) {
		const unsigned char *cell = sqlite3_column_text(r.stmt, plan ? 3 : 0);
		all = assay_printf(&run->arena, "%s%s%s", all, *all ? "," : "",
				   cell ? (const char *)cell : "none");
	}
	assay_result_free(&r);
	assay_sql_close(&sql);
	return err.text[0] ? assay_printf(&run->arena, "%s", err.text) : all;
}

TEST(rows_are_grouped_and_ordered_as_sqlite_would_with_absent_values_and_reals)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	static const double value[] = {1.5, -0.0, -2.5, 0.0, 1.5, -2.5};
	assay_add(t, ASSAY_T_source);
	for (uint32_t i = 0; i < 6; i++) {
		uint32_t c = assay_add(t, ASSAY_T_counter);
		t->counter.ts[c] = i < 4 ? 5 : INT64_MIN;
		t->counter.value[c] = value[i];
		t->counter.name[c] = i % 3 ? assay_sid_of(run, i % 3 == 1 ? "b" : "a") : 0;
	}
	static const struct {
		const char *text, *want;
	} q[] = {
		{"select count(*) from counter group by value order by value", "2,2,2"},
		{"select count(*) from counter group by name order by name", "2,2,2"},
		{"select coalesce(name, 'none') || count(*) from counter group by name order by name desc",
		 "b2,a2,none2"},
		{"select id from counter order by value, id desc", "5,2,3,1,4,0"},
		{"select id from counter order by value desc, name, id", "0,4,3,1,2,5"},
		{"select id from counter order by name, id", "0,3,2,5,1,4"},
		{"select id from counter order by ts desc, id desc limit 3", "3,2,1"},
		{"select count(*) from counter where ts = 5 group by name order by 1", "1,1,2"},
		{"select count(distinct name) from counter", "2"},
		{"select count(*) from (select distinct name, value from counter)", "5"},
		{"select distinct name from counter order by name", "none,a,b"},
		{"select count(*) from (select distinct value from counter order by value desc)",
		 "3"},
		{"select distinct name from counter where id > 3 order by name desc", "b,a"},
		{"select distinct ts from counter where value < 1 and ts > 0", "5"},
	};
	for (size_t i = 0; i < ASSAY_COUNT_OF(q); i++)
		CHECK(!strcmp(ask_all(run, q[i].text), q[i].want));
	assay_run_free(run);
	return 0;
}

/* A kernel that DISTINCT could leave out because another has the same value may be the only one
 * that a condition lets through. */
TEST(distinct_values_are_those_of_the_rows_that_conditions_leave)
{
	assay_run *run = many_kernels();
	static const struct {
		const char *text, *want;
	} q[] = {
		{"select distinct stream from kernels order by stream", "0,1,2,3"},
		{"select distinct stream from kernels order by stream desc limit 2", "3,2"},
		{"select distinct name from kernels order by name", "gemm,it's"},
		{"select distinct stream from kernels where rowid % 1000 = 998", "2"},
		{"select distinct stream from kernels where id = 998", "2"},
		{"select distinct stream from kernels where oid % 1000 = 998",
		 "no such column: oid; did you mean 'id'?"},
		{"select distinct stream from kernels where ts + dur > 998 order by 1", "1,2"},
		{"select distinct k.name from kernels k join track t on t.id = k.id order by 1",
		 "gemm,it's"},
		{"select distinct a.stream from kernels a, kernels b where b.id = a.id + 998",
		 "0,1"},
		{"select count(*) from (select distinct stream, name from kernels)", "8"},
	};
	for (size_t i = 0; i < ASSAY_COUNT_OF(q); i++)
		CHECK(!strcmp(ask_all(run, q[i].text), q[i].want));
	CHECK(strstr(ask_all(run, "explain query plan select distinct name from kernels"), "!"));
	assay_run_free(run);
	return 0;
}

TEST(groups_and_orders_of_columns_need_no_tree_of_sqlite_s)
{
	assay_run *run = many_kernels();
	static const char *const q[] = {
		"explain query plan select name, sum(dur) from kernels group by name",
		"explain query plan select sum(dur) from kernels where ts > 7 group by stream, name_id",
		"explain query plan select count(*) from kernels group by class",
		"explain query plan select name from kernels order by dur desc, ts limit 5",
		"explain query plan select name, count(*) from kernels group by name order by name desc",
	};
	for (size_t i = 0; i < ASSAY_COUNT_OF(q); i++)
		CHECK(strstr(ask_all(run, q[i]), "SCAN kernels") &&
		      !strstr(ask_all(run, q[i]), "TEMP B-TREE"));
	assay_run_free(run);
	return 0;
}

TEST(a_slip_in_a_name_is_answered_with_the_name_that_was_meant)
{
	assay_run *run = many_kernels();
	static const struct {
		const char *text, *want;
	} q[] = {
		{"select nme from kernels", "no such column: nme; did you mean 'name'?"},
		{"select kind from samples", "no such column: kind"},
		{"select k.strem from kernels k",
		 "no such column: k.strem; did you mean 'stream'?"},
		{"select 1 from CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL",
		 "no such table: CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL; did you mean 'kernels'?"},
		{"select 1 from rocpd_region_1234",
		 "no such table: rocpd_region_1234; did you mean 'regions'?"},
		{"select 1 from kernls", "no such table: kernls; did you mean 'kernels'?"},
		{"select 1 from top_kernel",
		 "no such table: top_kernel; did you mean 'top_kernels'?"},
		{"select no_such_thing_at_all from kernels",
		 "no such column: no_such_thing_at_all"},
	};
	for (size_t i = 0; i < ASSAY_COUNT_OF(q); i++)
		CHECK(!strcmp(ask_all(run, q[i].text), q[i].want));
	assay_run_free(run);
	return 0;
}

TEST(no_file_and_no_table_of_the_run_can_be_written)
{
	assay_run *run = many_kernels();
	static const char *const bad[] = {"delete from gpu", "attach '/tmp/x' as y",
					  "pragma journal_mode", "select load_extension('x')",
					  "selct 1"};
	for (size_t i = 0; i < ASSAY_COUNT_OF(bad); i++) {
		assay_err err = {0};
		CHECK(!ask(run, bad[i], &err) && err.text[0]);
	}
	assay_run_free(run);
	return 0;
}
