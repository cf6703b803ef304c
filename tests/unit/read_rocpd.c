/* What is read of databases of rocprofv3 (rocpd), of any version, merged, in memory, and
 * damaged. */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/test.h"
#include "read/databases.h"
#include "read/reader.h"

/* Tables of the published schema; columns that came with 3.0.2 to 3.0.5 are behind %s. */
static const char *const schema[] = {
	"rocpd_metadata%s(id INTEGER PRIMARY KEY, tag TEXT, value TEXT)",
	"rocpd_string%s(id INTEGER PRIMARY KEY, guid TEXT, string TEXT)",
	"rocpd_info_node%s(id INTEGER PRIMARY KEY, guid TEXT, hash, machine_id, hostname TEXT)",
	"rocpd_info_process%s(id INTEGER PRIMARY KEY, guid TEXT, nid, ppid, pid, init, fini, start, \"end\", command, environment, extdata)",
	"rocpd_info_thread%s(id INTEGER PRIMARY KEY, guid TEXT, nid, ppid, pid, tid, name)",
	"rocpd_info_agent%s(id INTEGER PRIMARY KEY, guid TEXT, nid, pid, type, absolute_index, logical_index, name, product_name, extdata)",
	"rocpd_info_stream%s(id INTEGER PRIMARY KEY, guid TEXT, nid, pid, name)",
	"rocpd_info_pmc%s(id INTEGER PRIMARY KEY, guid TEXT, nid, pid, agent_id, name, symbol)",
	"rocpd_info_kernel_symbol%s(id INTEGER PRIMARY KEY, guid TEXT, kernel_name, display_name, sgpr_count, arch_vgpr_count, accum_vgpr_count)",
	"rocpd_track%s(id INTEGER PRIMARY KEY, guid TEXT, nid, pid, tid, name_id)",
	"rocpd_event%s(id INTEGER PRIMARY KEY, guid TEXT, category_id, stack_id, parent_stack_id, correlation_id, call_stack, line_info, extdata)",
	"rocpd_arg%s(id INTEGER PRIMARY KEY, guid TEXT, event_id, position, type, name, value)",
	"rocpd_pmc_event%s(id INTEGER PRIMARY KEY, guid TEXT, event_id, pmc_id, value REAL)",
	"rocpd_region%s(id INTEGER PRIMARY KEY, guid TEXT, nid, pid, tid, start, \"end\", name_id, event_id)",
	"rocpd_sample%s(id INTEGER PRIMARY KEY, guid TEXT, track_id, timestamp, event_id)",
	"rocpd_memory_allocate%s(id INTEGER PRIMARY KEY, guid TEXT, nid, pid, tid, agent_id, type, level, start, \"end\", address, size, event_id)",
	NULL};
static const char *const schema_300[] = {
	"rocpd_kernel_dispatch%s(id INTEGER PRIMARY KEY, guid TEXT, nid, pid, tid, agent_id, "
	"kernel_id, dispatch_id, queue_id, stream_id, start, \"end\", private_segment_size, "
	"group_segment_size, workgroup_size_x, workgroup_size_y, workgroup_size_z, grid_size_x, "
	"grid_size_y, grid_size_z, region_name_id, event_id)",
	"rocpd_memory_copy%s(id INTEGER PRIMARY KEY, guid TEXT, nid, pid, tid, start, \"end\", "
	"name_id, dst_agent_id, dst_address, src_agent_id, src_address, size, queue_id, stream_id, "
	"event_id)",
	NULL};
static const char *const schema_305[] = {
	"rocpd_kernel_dispatch%s(id INTEGER PRIMARY KEY, guid TEXT, nid, pid, tid, agent_id, "
	"kernel_id, dispatch_id, queue_id, stream_id, start, \"end\", private_segment_size, "
	"group_segment_size, workgroup_size_x, workgroup_size_y, workgroup_size_z, grid_size_x, "
	"grid_size_y, grid_size_z, region_name_id, event_id, graph_exec_id, graph_node_id)",
	"rocpd_memory_copy%s(id INTEGER PRIMARY KEY, guid TEXT, nid, pid, tid, start, \"end\", "
	"name_id, dst_agent_id, dst_address, src_agent_id, src_address, size, queue_id, stream_id, "
	"event_id, graph_exec_id, graph_node_id)",
	"rocpd_hip_event%s(id INTEGER PRIMARY KEY, guid TEXT, nid, pid, tid, agent_id, queue_id, start, \"end\", name_id, hip_event_handle, source_queue_id, event_id)",
	"rocpd_graph_launch%s(id INTEGER PRIMARY KEY, guid TEXT, nid, pid, tid, agent_id, queue_id, start, \"end\", graph_exec_id, kernel_dispatch_count, event_id)",
	NULL};

static const char *const rows[] = {
	"rocpd_metadata%s VALUES(1,'schema_version','3.0.x')",
	"rocpd_string%s VALUES(1,'g','HIP_RUNTIME_API_EXT'),(2,'g','hipLaunchKernel'),"
	"(3,'g','KERNEL_DISPATCH'),(4,'g','MARKER_CORE_RANGE_API'),(5,'g','roctxThreadRangeA'),"
	"(6,'g','MEMORY_COPY_HOST_TO_DEVICE'),(7,'g','HIP_EVENT_WAIT')",
	"rocpd_info_node%s VALUES(1,'g',0,'m','host1')",
	"rocpd_info_process%s(id,guid,nid,pid,command) VALUES(77,'g',1,77,'train')",
	"rocpd_info_thread%s VALUES(78,'g',1,1,77,78,'main')",
	"rocpd_info_agent%s VALUES(0,'g',1,77,'CPU',0,0,'EPYC','EPYC','{}'),(2,'g',1,77,'GPU',2,2,'gfx942','AMD Instinct MI300X','{\"cu_count\":304,\"wave_front_size\":64,\"local_mem_size\":0,\"mem_banks\":[{\"heap_type\":1,\"size_in_bytes\":206141652992}]}')",
	"rocpd_info_stream%s VALUES(0,'g',1,77,'default stream'),(3,'g',1,77,'Stream 3')",
	"rocpd_info_pmc%s(id,guid,name) VALUES(1,'g','SQ_WAVES')",
	"rocpd_info_kernel_symbol%s VALUES(7,'g','_Z3addv.kd','add()',32,8,4)",
	"rocpd_track%s VALUES(1,'g',1,77,78,7)",
	"rocpd_event%s(id,guid,category_id,stack_id,parent_stack_id,correlation_id,extdata) VALUES"
	"(1,'g',1,4,4,0,'{}'),(2,'g',3,4,4,9,'{}'),(3,'g',4,5,5,0,'{\"message\":\"step "
	"\\\"1\\\"\"}'),"
	"(4,'g',6,6,6,0,'{}'),(5,'g',4,8,8,0,'{\"message\":\"mark\"}')",
	"rocpd_arg%s VALUES(1,'g',1,0,'hipStream_t','stream','0x0'),(2,'g',1,1,'int','n','5')",
	"rocpd_pmc_event%s(id,guid,event_id,pmc_id,value) VALUES(1,'g',2,1,12.5)",
	"rocpd_region%s VALUES(4,'g',1,77,78,900,950,2,1),(5,'g',1,77,78,880,990,5,3),(6,'g',1,77,78,'x',990,5,3)",
	"rocpd_sample%s VALUES(1,'g',1,1000,5)",
	"rocpd_memory_allocate%s VALUES(1,'g',1,77,78,2,'ALLOC','REAL',10,11,4660,256,NULL),(2,'g',1,77,78,NULL,'FREE','REAL',20,21,4660,0,NULL)",
	"rocpd_kernel_dispatch%s(id,guid,nid,pid,tid,agent_id,kernel_id,dispatch_id,queue_id,"
	"stream_id,start,\"end\",private_segment_size,group_segment_size,workgroup_size_x,"
	"workgroup_size_y,workgroup_size_z,grid_size_x,grid_size_y,grid_size_z,event_id) "
	"VALUES(1,'g',1,77,78,2,7,1,1,3,1000,1500,16,32,64,1,1,640,1,1,2)",
	"rocpd_memory_copy%s(id,guid,nid,pid,tid,start,\"end\",name_id,dst_agent_id,src_agent_id,size,queue_id,stream_id,event_id) VALUES(1,'g',1,77,78,1600,1700,6,2,0,4096,1,3,4)",
	NULL};
static const char *const rows_305[] = {"rocpd_hip_event%s VALUES(1,'g',1,77,78,2,1,30,35,7,55,4,1)",
				       NULL};

static bool run_all(sqlite3 *sql, const char *verb, const char *const list[], const char *suffix)
{
	bool ok = true;
	for (; *list && ok; list++) {
		char *inner = sqlite3_mprintf(*list, suffix);
		char *text = sqlite3_mprintf("%s %s", verb, inner);
		ok = sqlite3_exec(sql, text, NULL, NULL, NULL) == SQLITE_OK;
		sqlite3_free(text);
		sqlite3_free(inner);
	}
	return ok;
}

static bool fill(sqlite3 *sql, const char *suffix, bool newest)
{
	return run_all(sql, "CREATE TABLE", schema, suffix) &&
	       run_all(sql, "CREATE TABLE", newest ? schema_305 : schema_300, suffix) &&
	       run_all(sql, "INSERT INTO", rows, suffix) &&
	       (!newest || run_all(sql, "INSERT INTO", rows_305, suffix));
}

static sqlite3 *open_db(const char *path)
{
	sqlite3 *sql = NULL;
	sqlite3_open(path, &sql);
	return sql;
}

static assay_run *read_db(const char *path, bool *ok, assay_err *err)
{
	assay_run *run = assay_run_new();
	assay_input *in = assay_input_open(path, err);
	run->part.source = assay_add(&run->part.t, ASSAY_T_source);
	*ok = in && assay_database_read(run, in, err);
	assay_input_close(in);
	return run;
}

static int check_rows(assay_run *run)
{
	const assay_tables *t = &run->part.t;
	CHECK(t->gpu.n == 2 && t->host.n == 3 && t->alloc.n == 2 && t->pmc.n == 1);
	CHECK(!strcmp(assay_z(run, t->gpu.name[0]), "add()"));
	CHECK(t->gpu.ts[0] == 1000 && t->gpu.dur[0] == 500 && t->gpu.corr[0] == 4);
	CHECK(t->gpu.external[0] == 9 && t->gpu.regs[0] == 8 && t->gpu.scalar_regs[0] == 32);
	CHECK(t->gpu.grid_x[0] == 640 && t->gpu.block_x[0] == 64 && t->gpu.shared[0] == 32);
	CHECK_EQ(t->track.pid[t->gpu.track[0]], 2);
	CHECK_EQ(t->track.tid[t->gpu.track[0]], 3);
	CHECK(!strcmp(assay_z(run, t->track.name[t->gpu.track[0]]), "Stream 3"));
	CHECK(t->gpu.kind[1] == ASSAY_GPU_MEMCPY && t->gpu.bytes[1] == 4096);
	CHECK(t->gpu.track[1] == t->gpu.track[0]);
	CHECK(t->host.kind[0] == ASSAY_HOST_RUNTIME && t->api.corr[t->host.detail[0]] == 4);
	CHECK(!strcmp(assay_z(run, t->host.args[0]), "\"stream\": \"0x0\",\"n\": \"5\""));
	CHECK(t->host.kind[1] == ASSAY_HOST_MARKER);
	CHECK(!strcmp(assay_z(run, t->host.name[1]), "step \"1\""));
	CHECK(!strcmp(assay_z(run, t->host.name[2]), "mark") && t->host.dur[2] == 0);
	CHECK(t->track.pid[t->host.track[0]] == 77 && t->track.tid[t->host.track[0]] == 78);
	CHECK(t->alloc.bytes[0] == 256 && t->alloc.bytes[1] == -256 && t->alloc.device[1] == 2);
	CHECK(t->pmc.value[0] == 12.5 && t->pmc.dispatch[0] == 1 && t->pmc.corr[0] == 4);
	CHECK(t->device.n == 1 && t->device.id[0] == 2 && t->device.units[0] == 304);
	CHECK_EQ(t->device.memory[0], 206141652992); /* local_mem_size is 0 in real files */
	CHECK(assay_str_is(assay_meta_get(run, "node.hostname"), "host1"));
	CHECK_EQ(run->part.issues[ASSAY_ISSUE_bad_number], 1);
	CHECK_EQ(run->part.issues[ASSAY_ISSUE_no_duration], 1);
	return 0;
}

TEST(rocpd_3_0_0_is_read)
{
	const char *path = assay_test_path("made.db");
	bool ok;
	assay_err err = {0};
	sqlite3 *sql = open_db(path);
	CHECK(fill(sql, "_0199_abc", false));
	sqlite3_close(sql);
	assay_run *run = read_db(path, &ok, &err);
	unlink(path);
	CHECK(ok && !check_rows(run));
	CHECK(run->part.t.gpu.graph[0] == 0 && run->part.t.barrier.n == 0);
	assay_run_free(run);
	return 0;
}

TEST(rocpd_3_0_5_is_read_with_its_new_columns)
{
	const char *path = assay_test_path("made.db");
	bool ok;
	assay_err err = {0};
	sqlite3 *sql = open_db(path);
	CHECK(fill(sql, "_0199_abc", true));
	sqlite3_exec(sql,
		     "UPDATE rocpd_kernel_dispatch_0199_abc SET graph_exec_id=8, graph_node_id=2",
		     NULL, NULL, NULL);
	sqlite3_close(sql);
	assay_run *run = read_db(path, &ok, &err);
	unlink(path);
	const assay_tables *t = &run->part.t;
	CHECK(ok && !check_rows(run));
	CHECK(t->gpu.graph[0] == 8 && t->gpu.graph_node[0] == 2);
	CHECK(t->barrier.n == 1 && t->barrier.event[0] == 55 && t->barrier.waits[0] == 1);
	CHECK(t->barrier.corr[0] == 4 && t->track.tid[t->mark.track[t->barrier.mark[0]]] == 1);
	assay_run_free(run);
	return 0;
}

/* Event 2 is of the call that launched the kernel, event 3 of one that no other work is of. */
TEST(launches_of_graphs_are_work_where_their_kernels_are_not_there)
{
	const char *path = assay_test_path("made.db");
	bool ok;
	assay_err err = {0};
	sqlite3 *sql = open_db(path);
	CHECK(fill(sql, "_a", true));
	sqlite3_exec(
		sql,
		"INSERT INTO rocpd_graph_launch_a VALUES(1,'g',1,77,78,2,1,1000,1500,5,1,2),(2,'g',1,77,78,2,1,1800,1890,6,12,3)",
		NULL, NULL, NULL);
	sqlite3_close(sql);
	assay_run *run = read_db(path, &ok, &err);
	unlink(path);
	const assay_gpu_table *t = &run->part.t.gpu;
	CHECK(ok && t->n == 3 && !strcmp(assay_z(run, t->name[2]), "graph launch"));
	CHECK(t->ts[2] == 1800 && t->dur[2] == 90 && t->corr[2] == 5 && t->graph[2] == 6);
	CHECK_EQ(run->part.t.track.pid[t->track[2]], 2);
	CHECK(!strcmp(assay_z(run, t->args[2]), "\"kernels\": 12"));
	CHECK(assay_meta_get(run, "unread").n == 0);
	assay_run_free(run);
	return 0;
}

TEST(merged_rocpd_databases_keep_their_processes_apart)
{
	const char *path = assay_test_path("made.db");
	bool ok;
	assay_err err = {0};
	sqlite3 *sql = open_db(path);
	CHECK(fill(sql, "_a", false) && fill(sql, "_b", true));
	sqlite3_exec(
		sql,
		"UPDATE rocpd_string_b SET string='other' WHERE id=2;CREATE VIEW rocpd_string AS SELECT * FROM rocpd_string_a UNION ALL SELECT * FROM rocpd_string_b",
		NULL, NULL, NULL);
	sqlite3_close(sql);
	assay_run *run = read_db(path, &ok, &err);
	unlink(path);
	const assay_tables *t = &run->part.t;
	CHECK(ok && t->source.n == 2 && t->gpu.n == 4 && t->host.n == 6);
	CHECK(!strcmp(assay_z(run, t->host.name[0]), "hipLaunchKernel"));
	CHECK(!strcmp(assay_z(run, t->host.name[3]), "other"));
	CHECK(t->track.source[t->gpu.track[2]] == 1 && run->part.source == 0);
	assay_run_free(run);
	return 0;
}

/* Run sql for each table rocpd_NAME_a; @ stands for rocpd_NAME. Returns how many there were. */
static int for_tables(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *list = NULL;
	char *all[64];
	int n = 0;
	sqlite3_prepare_v2(
		db,
		"SELECT replace(?1, '@', substr(name, 1, length(name) - 2)) FROM sqlite_master WHERE type = 'table' AND name GLOB 'rocpd_*_a'",
		-1, &list, NULL);
	sqlite3_bind_text(list, 1, sql, -1, NULL);
	while (n < 64 && sqlite3_step(list) == SQLITE_ROW)
		all[n++] = sqlite3_mprintf("%s", sqlite3_column_text(list, 0));
	sqlite3_finalize(list);
	for (int i = 0; i < n; i++) {
		sqlite3_exec(db, all[i], NULL, NULL, NULL); /* some tables have no guid */
		sqlite3_free(all[i]);
	}
	return n;
}

static assay_run *read_variant(const char *statements, bool *ok)
{
	const char *path = assay_test_path("made.db");
	assay_err err = {0};
	sqlite3 *sql = open_db(path);
	bool made = fill(sql, "_a", false) && fill(sql, "_b", false);
	sqlite3_exec(sql, "UPDATE rocpd_string_b SET string='other' WHERE id=2", NULL, NULL, NULL);
	for_tables(sql, "UPDATE @_b SET guid = 'h'");
	for_tables(sql, statements);
	made &= for_tables(sql, "") == 0;
	sqlite3_close(sql);
	assay_run *run = read_db(path, ok, &err);
	unlink(path);
	*ok &= made;
	return run;
}

static const char views_of_one[] =
	"DROP TABLE @_b; ALTER TABLE @_a RENAME TO \"t-@\";CREATE VIEW @ AS SELECT * FROM \"t-@\"";
static const char views_of_two[] =
	"ALTER TABLE @_a RENAME TO \"t-@\"; ALTER TABLE @_b RENAME TO \"u-@\";CREATE VIEW @ AS SELECT * FROM \"t-@\" UNION ALL SELECT * FROM \"u-@\"";
static const char tables_of_two[] =
	"CREATE TABLE @ AS SELECT * FROM @_a UNION ALL SELECT * FROM @_b;DROP TABLE @_a; DROP TABLE @_b";

TEST(a_database_that_shows_only_views_is_read_through_them)
{
	bool ok;
	assay_run *run = read_variant(views_of_one, &ok);
	CHECK(ok && run->part.t.source.n == 1 && !check_rows(run));
	CHECK_EQ(run->part.t.source.records[0], 8);
	assay_run_free(run);
	return 0;
}

TEST(processes_that_share_tables_are_told_apart_by_guid)
{
	static const char *const variants[] = {views_of_two, tables_of_two};
	for (size_t i = 0; i < ASSAY_COUNT_OF(variants); i++) {
		bool ok;
		assay_run *run = read_variant(variants[i], &ok);
		const assay_tables *t = &run->part.t;
		CHECK(ok && t->source.n == 2 && t->gpu.n == 4 && t->host.n == 6);
		CHECK(!strcmp(assay_z(run, t->host.name[0]), "hipLaunchKernel"));
		CHECK(!strcmp(assay_z(run, t->host.name[3]), "other"));
		CHECK(t->track.source[t->gpu.track[2]] == 1 && run->part.source == 0);
		assay_run_free(run);
	}
	return 0;
}

TEST(a_log_beside_the_database_is_read_and_nothing_is_written)
{
	const char *path = assay_test_path("made.db"), *wal = assay_test_path("made.db-wal");
	const char *shm = assay_test_path("made.db-shm");
	bool ok;
	assay_err err = {0};
	sqlite3 *sql = open_db(path);
	sqlite3_exec(sql, "PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=0", NULL, NULL, NULL);
	sqlite3_db_config(sql, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	CHECK(fill(sql, "_a", false));
	sqlite3_close(sql);
	CHECK(access(wal, F_OK) == 0);
	unlink(shm);
	assay_run *run = read_db(path, &ok, &err);
	CHECK(ok && !check_rows(run));
	CHECK(access(shm, F_OK) != 0 && access(wal, F_OK) == 0);
	assay_run_free(run);
	unlink(path);
	unlink(wal);
	return 0;
}

static size_t slurp(const char *path, char *out, size_t size)
{
	FILE *f = fopen(path, "rb");
	size_t n = f ? fread(out, 1, size, f) : 0;
	if (f)
		fclose(f);
	return n;
}

static assay_run *read_image(const char *image, size_t n, bool *ok)
{
	assay_run *run = assay_run_new();
	assay_input *in = assay_input_memory(image, n);
	run->part.source = assay_add(&run->part.t, ASSAY_T_source);
	*ok = assay_database_read(run, in, NULL);
	assay_input_close(in);
	return run;
}

TEST(databases_in_memory_cut_or_corrupt_never_crash)
{
	enum { SIZE = 1 << 20 };
	static char image[SIZE], broken[SIZE];
	const char *path = assay_test_path("made.db");
	bool ok;
	sqlite3 *sql = open_db(path);
	CHECK(fill(sql, "_a", true));
	sqlite3_close(sql);
	size_t n = slurp(path, image, SIZE);
	unlink(path);
	CHECK(n > 4096 && n < SIZE);
	assay_run *run = read_image(image, n, &ok);
	CHECK(ok && !check_rows(run));
	assay_run_free(run);
	for (size_t cut = 0; cut < n; cut += 1499) {
		run = read_image(image, cut, &ok);
		CHECK(!ok || run->part.issues[ASSAY_ISSUE_truncated] == 1);
		CHECK(cut < n / 5 * 4 + 1499 || (ok && run->part.t.host.n == 3));
		assay_run_free(run);
	}
	for (uint32_t seed = 1; seed < 300; seed++) {
		memcpy(broken, image, n);
		for (uint32_t i = 0, r = seed; i < 1 + seed % 50; i++) {
			r = r * 1664525 + 1013904223;
			broken[100 + (r >> 4) % (n - 100)] = (char)(r >> 24);
		}
		assay_run_free(read_image(broken, n, &ok));
	}
	return 0;
}

/* Calls of which each has two arguments, and rows that no honest file has. */
static const char many_calls[] =
	"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000) INSERT INTO rocpd_event_a(id,guid,category_id,stack_id,extdata) SELECT 100 + i, 'g', 1, i, '{}' FROM n;"
	"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000) INSERT INTO rocpd_region_a SELECT 100 + i,'g',1,77,78,1000 + i,1001 + i,2,100 + i FROM n WHERE i % 7;"
	"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 6000) INSERT INTO rocpd_arg_a SELECT 100 + i,'g',101 + i / 2,i % 2,CASE i % 3 WHEN 0 THEN 'json' ELSE 'int' END,'n' || i % 2,CASE i % 5 WHEN 0 THEN '[1, {]' ELSE i % 90 END FROM n;"
	"INSERT INTO rocpd_arg_a VALUES(9000,'g',120,0,'int','again','1'),(9001,'g',NULL,0,'int','a','1'),(9002,'g','x',0,'int','b','2'),(9003,'g',1e300,0,'int','c','3')";

static uint64_t sum_of_args(const char *image, size_t n, const char *threads)
{
	bool ok;
	setenv("ASSAY_THREADS", threads, 1);
	assay_run *run = read_image(image, n, &ok);
	unsetenv("ASSAY_THREADS");
	uint64_t sum = assay_hash(run->part.issues, sizeof run->part.issues, ok);
	for (size_t i = 0; i < run->part.t.host.n; i++) {
		assay_str args = assay_text(run, run->part.t.host.args[i]);
		sum = assay_hash(args.p, args.n, sum + run->part.t.host.args[i]);
	}
	for (size_t i = 0; i < run->part.t.warning.n; i++)
		sum = sum * 31 + run->part.t.warning.text[i];
	assay_run_free(run);
	return sum;
}

TEST(arguments_of_calls_are_the_same_read_beside_other_tables_and_in_turn)
{
	enum { SIZE = 4 << 20 };
	static char image[SIZE];
	const char *path = assay_test_path("made.db");
	sqlite3 *sql = open_db(path);
	CHECK(fill(sql, "_a", true));
	CHECK(sqlite3_exec(sql, many_calls, NULL, NULL, NULL) == SQLITE_OK);
	sqlite3_close(sql);
	size_t n = slurp(path, image, SIZE);
	unlink(path);
	CHECK(n > 100000 && n < SIZE);
	for (size_t cut = n; cut > n / 3; cut -= n / 9) {
		uint64_t one = sum_of_args(image, cut, "1");
		CHECK_EQ(sum_of_args(image, cut, "2"), one);
		CHECK_EQ(sum_of_args(image, cut, "5"), one);
	}
	return 0;
}

TEST(other_databases_are_refused_in_words)
{
	static const struct {
		const char *sql, *says;
	} cases[] = {
		{"CREATE TABLE x(a)", "without rocpd tables"},
		{"CREATE VIEW rocpd_info_process AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) SELECT i AS id FROM n",
		 "without rocpd tables"},
	};
	for (size_t i = 0; i < ASSAY_COUNT_OF(cases); i++) {
		const char *path = assay_test_path("made.db");
		bool ok;
		assay_err err = {0};
		sqlite3 *sql = open_db(path);
		sqlite3_exec(sql, cases[i].sql, NULL, NULL, NULL);
		sqlite3_close(sql);
		assay_run *run = read_db(path, &ok, &err);
		unlink(path);
		CHECK(!ok && err.code == ASSAY_UNKNOWN && strstr(err.text, cases[i].says));
		assay_run_free(run);
	}
	return 0;
}

TEST(rpd_is_read)
{
	static const char text[] =
		"CREATE TABLE rocpd_metadata(id, tag, value);"
		"CREATE TABLE rocpd_string(id INTEGER PRIMARY KEY, string TEXT);"
		"CREATE TABLE rocpd_api(id INTEGER PRIMARY KEY, pid, tid, start, \"end\", "
		"apiName_id, "
		"args_id);"
		"CREATE TABLE rocpd_op(id INTEGER PRIMARY KEY, gpuId, queueId, sequenceId, "
		"completionSignal, start, \"end\", description_id, opType_id);"
		"CREATE TABLE rocpd_api_ops(id INTEGER PRIMARY KEY, api_id, op_id);"
		"CREATE TABLE rocpd_kernelapi(api_ptr_id INTEGER PRIMARY KEY, stream, gridX, "
		"gridY, gridZ,"
		"workgroupX, workgroupY, workgroupZ, groupSegmentSize, privateSegmentSize, "
		"kernelName_id);"
		"CREATE TABLE rocpd_monitor(id INTEGER PRIMARY KEY, deviceType, deviceId, "
		"monitorType, "
		"start, \"end\", value);"
		"INSERT INTO rocpd_metadata VALUES(1,'schema_version','2');"
		"INSERT INTO rocpd_string "
		"VALUES(1,'hipLaunchKernel'),(2,'KernelExecution'),(3,'mul'),"
		"(4,'UserMarker'),(5,'fwd'),(6,'Barrier'),(7,'');"
		"INSERT INTO rocpd_api VALUES(10,1,2,100,110,1,7),(11,1,2,90,200,4,5);"
		"INSERT INTO rocpd_op VALUES(20,0,1,5,'',120,150,3,2),(21,0,1,6,'',160,161,7,6),"
		"(22,-1,0,NULL,NULL,95,180,5,4);"
		"INSERT INTO rocpd_api_ops VALUES(1,10,20);"
		"INSERT INTO rocpd_kernelapi VALUES(10,'0x5',8,1,1,64,1,1,0,0,3);"
		"INSERT INTO rocpd_monitor VALUES(1,'gpu',0,'sclk',100,110,'1700')";
	const char *path = assay_test_path("made.db");
	bool ok;
	assay_err err = {0};
	sqlite3 *sql = open_db(path);
	CHECK(sqlite3_exec(sql, text, NULL, NULL, NULL) == SQLITE_OK);
	sqlite3_close(sql);
	assay_run *run = read_db(path, &ok, &err);
	unlink(path);
	const assay_tables *t = &run->part.t;
	CHECK(ok && t->gpu.n == 1 && t->host.n == 3 && t->mark.n == 1 && t->counter.n == 1);
	CHECK(!strcmp(assay_z(run, t->gpu.name[0]), "mul") && t->gpu.corr[0] == 10);
	CHECK(t->gpu.grid_x[0] == 8 && t->gpu.block_x[0] == 64 && t->gpu.dispatch[0] == 5);
	CHECK(!strcmp(assay_z(run, t->gpu.args[0]), "\"stream\": \"0x5\""));
	CHECK(t->host.kind[1] == ASSAY_HOST_MARKER &&
	      !strcmp(assay_z(run, t->host.name[1]), "fwd"));
	CHECK(t->host.kind[2] == ASSAY_HOST_MARKER && t->host.name[2] == t->host.name[1] &&
	      t->host.ts[2] == 95 && t->host.dur[2] == 85);
	CHECK(t->api.corr[t->host.detail[0]] == 10 && t->counter.value[0] == 1700);
	assay_run_free(run);
	return 0;
}

TEST(rocpd_is_known_by_magic_and_table_names)
{
	CHECK(assay_reader_rocpd.sniff((assay_str){"SQLite format 3\0....rocpd_string", 32}) > 90);
	CHECK(assay_reader_rocpd.sniff((assay_str){"SQLite format 3\0.....", 20}) > 0);
	CHECK(assay_reader_rocpd.sniff(ASSAY_S("SQLite format 2 rocpd_")) == 0);
	return 0;
}
