/* What the rocpd writer makes, read back by our reader and asked through the file's own views. */
#include <sqlite3.h>
#include <stdlib.h>

#include "base/test.h"
#include "read/reader.h"
#include "resolve/resolve.h"
#include "write/writer.h"

static uint32_t add_call(assay_run *run, const char *name, uint64_t corr, int64_t ts)
{
	assay_tables *t = &run->part.t;
	uint32_t h = assay_add(t, ASSAY_T_host), a = assay_add(t, ASSAY_T_api);
	t->host.kind[h] = ASSAY_HOST_RUNTIME;
	t->host.detail[h] = a;
	t->host.name[h] = assay_sid_of(run, name);
	t->host.track[h] = assay_thread_track(&run->part, 100, 101);
	t->host.ts[h] = ts;
	t->host.dur[h] = 5;
	t->api.corr[a] = corr;
	return h;
}

static uint32_t add_work(assay_run *run, assay_gpu_kind kind, const char *name, uint64_t corr,
			 int64_t ts)
{
	assay_tables *t = &run->part.t;
	uint32_t g = assay_add(t, ASSAY_T_gpu);
	t->gpu.kind[g] = (uint8_t)kind;
	t->gpu.name[g] = assay_sid_of(run, name);
	t->gpu.track[g] = assay_stream_track(&run->part, 0, 7);
	t->gpu.corr[g] = corr;
	t->gpu.ts[g] = ts;
	t->gpu.dur[g] = 10;
	t->gpu.bytes[g] = kind == ASSAY_GPU_KERNEL ? -1 : 4096;
	return g;
}

/* One process on a device of this maker, with times that begin before 0. */
static assay_run *make_run(const char *vendor)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	run->part.source = assay_add(t, ASSAY_T_source);
	t->source.group[0] = 0;
	t->source.path[0] = assay_sid_of(run, "a.json");
	uint32_t d = assay_add(t, ASSAY_T_device);
	t->device.source[d] = 0;
	t->device.id[d] = 0;
	t->device.name[d] = assay_sid_of(run, "some GPU");
	t->device.vendor[d] = assay_sid_of(run, vendor);
	t->device.units[d] = 132;
	uint32_t h = add_call(run, "cudaLaunchKernel", 5, -20);
	t->host.args[h] = assay_sid_of(run, "\"n\": 3,\"text\": \"a \\\"b\\\"\",\"\": 1");
	add_call(run, "cudaMemcpyAsync", 6, 0);
	uint32_t g = add_work(run, ASSAY_GPU_KERNEL, "gemm", 5, 10);
	t->gpu.grid_x[g] = 12;
	t->gpu.block_x[g] = 4;
	t->gpu.regs[g] = 32;
	t->gpu.graph[g] = 3;
	t->gpu.graph_node[g] = 9;
	t->gpu.args[g] = assay_sid_of(run, "\"occ\": 0.5");
	add_work(run, ASSAY_GPU_MEMCPY, "Memcpy HtoD (Pinned -> Device)", 6, 30);
	add_work(run, ASSAY_GPU_MEMSET, "Memset (Device)", 6, 50);
	uint32_t m = assay_add(t, ASSAY_T_host), a = assay_add(t, ASSAY_T_api);
	t->host.kind[m] = ASSAY_HOST_PROCESS_RANGE;
	t->host.detail[m] = a;
	t->host.name[m] = assay_sid_of(run, "step 1");
	t->host.track[m] = t->host.track[h];
	t->host.dur[m] = 100;
	return run;
}

static assay_str written(const assay_run *run, char **text)
{
	size_t n = 0;
	FILE *out = open_memstream(text, &n);
	bool ok = assay_write_run(&assay_writer_rocpd, run, out, NULL, NULL);
	fclose(out);
	return (assay_str){*text, ok ? n : 0};
}

static bool is(const assay_run *run, assay_sid sid, const char *want)
{
	return assay_str_is(assay_text(run, sid), want);
}

static int check_back(const char *vendor)
{
	assay_run *run = make_run(vendor);
	char *text;
	assay_link(run);
	assay_str file = written(run, &text);
	assay_run *back = assay_read_bytes(&assay_reader_rocpd, file.p, file.n);
	CHECK(back && back->part.t.gpu.n == 3 && back->part.t.host.n == 3);
	const assay_tables *t = &back->part.t;
	CHECK(t->gpu.grid_x[0] == 12 && t->gpu.block_x[0] == 4 && t->gpu.regs[0] == 32);
	CHECK(t->gpu.graph[0] == 3 && t->gpu.graph_node[0] == 9 && t->gpu.corr[0] == 5);
	CHECK(is(back, t->gpu.args[0], "\"occ\": 0.5") && t->gpu.dispatch[0] == UINT32_MAX);
	CHECK(t->gpu.ts[1] - t->gpu.ts[0] == 20 && t->gpu.dur[1] == 10 && t->gpu.ts[0] > 0);
	CHECK(t->gpu.kind[1] == ASSAY_GPU_MEMCPY && t->gpu.kind[2] == ASSAY_GPU_MEMSET);
	CHECK(t->gpu.bytes[1] == 4096 && t->gpu.queue[0] == UINT32_MAX);
	CHECK(t->track.pid[t->gpu.track[0]] == 0 && t->track.tid[t->gpu.track[0]] == 7);
	CHECK(t->host.kind[0] == ASSAY_HOST_RUNTIME && t->api.corr[t->host.detail[0]] == 5);
	CHECK(is(back, t->host.args[0], "\"n\": 3,\"text\": \"a \\\"b\\\"\",\"\": 1"));
	CHECK(t->host.kind[2] == ASSAY_HOST_PROCESS_RANGE && is(back, t->host.name[2], "step 1"));
	CHECK(t->device.n == 1 && is(back, t->device.vendor[0], vendor) &&
	      t->device.units[0] == 132);
	assay_link(back);
	CHECK_EQ(back->part.t.launch.host[0], 0);
	free(text);
	assay_run_free(back);
	assay_run_free(run);
	return 0;
}

TEST(a_rocpd_database_of_ours_is_read_back_as_it_was)
{
	CHECK(!check_back("nvidia"));
	CHECK(!check_back("amd"));
	return 0;
}

static int64_t ask(sqlite3 *db, const char *query)
{
	sqlite3_stmt *s = NULL;
	int64_t v = -1;
	if (sqlite3_prepare_v2(db, query, -1, &s, NULL) == SQLITE_OK &&
	    sqlite3_step(s) == SQLITE_ROW)
		v = sqlite3_column_int64(s, 0);
	sqlite3_finalize(s);
	return v;
}

TEST(views_of_a_rocpd_database_show_every_row)
{
	assay_run *run = make_run("nvidia");
	char *text;
	sqlite3 *db = NULL;
	assay_link(run);
	assay_str file = written(run, &text);
	CHECK(sqlite3_open(":memory:", &db) == SQLITE_OK);
	CHECK(!sqlite3_deserialize(db, "main", (unsigned char *)text, (sqlite3_int64)file.n,
				   (sqlite3_int64)file.n, SQLITE_DESERIALIZE_READONLY));
	CHECK_EQ(ask(db, "SELECT count(*) FROM kernels WHERE duration = 10 AND grid_x = 48"), 1);
	CHECK_EQ(ask(db, "SELECT count(*) FROM memory_copies WHERE size = 4096"), 2);
	CHECK_EQ(ask(db, "SELECT count(*) FROM memory_copies WHERE src_agent_type = 'CPU'"), 1);
	CHECK_EQ(ask(db, "SELECT count(*) FROM regions WHERE category LIKE 'CUDA%'"), 2);
	CHECK_EQ(ask(db, "SELECT count(*) FROM regions WHERE extdata ->> '$.message' = 'step 1'"),
		 1);
	CHECK_EQ(ask(db, "SELECT total_calls FROM top_kernels"), 1);
	CHECK_EQ(ask(db, "SELECT count(*) FROM pragma_foreign_key_check"), 0);
	CHECK_EQ(ask(db, "SELECT id FROM rocpd_string WHERE string = ''"), 1);
	sqlite3_close(db);
	free(text);
	assay_run_free(run);
	return 0;
}

/* Whether it is refused, with these words. */
static bool refused(const assay_run *run, const char *words)
{
	assay_err err = {0};
	char *text;
	size_t n;
	FILE *out = open_memstream(&text, &n);
	bool written = assay_write_run(&assay_writer_rocpd, run, out, NULL, &err);
	fclose(out);
	free(text);
	return !written && strstr(err.text, words);
}

TEST(counters_stay_with_their_process_where_both_count_kernels_alike)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	for (uint32_t i = 0; i < 2; i++) {
		run->part.source = assay_add(t, ASSAY_T_source);
		t->source.group[i] = i;
		uint32_t g = add_work(run, ASSAY_GPU_KERNEL, "gemm", 5, 10);
		t->gpu.dispatch[g] = 1;
		uint32_t r = assay_add(t, ASSAY_T_pmc);
		t->pmc.source[r] = i;
		t->pmc.corr[r] = 5;
		t->pmc.dispatch[r] = 1;
		t->pmc.name[r] = assay_sid_of(run, "SQ_WAVES");
		t->pmc.value[r] = 1 + i;
	}
	char *text;
	assay_link(run);
	assay_str file = written(run, &text);
	assay_run *back = assay_read_bytes(&assay_reader_rocpd, file.p, file.n);
	CHECK(back && back->part.t.pmc.n == 2);
	for (uint32_t i = 0; i < 2; i++)
		CHECK(back->part.t.pmc.value[i] == 1 + back->part.t.pmc.source[i]);
	CHECK(back->part.t.pmc.source[0] != back->part.t.pmc.source[1]);
	free(text);
	assay_run_free(back);
	assay_run_free(run);
	return 0;
}

TEST(a_run_without_rows_is_no_rocpd_database)
{
	assay_run *run = assay_run_new();
	CHECK(refused(run, "nothing to write"));
	assay_run_free(run);
	return 0;
}

TEST(a_small_input_of_many_processes_is_no_rocpd_database)
{
	enum { MANY = 98 };
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	for (uint32_t i = 0; i < MANY; i++) {
		run->part.source = assay_add(t, ASSAY_T_source);
		t->source.group[i] = i;
		add_call(run, "hipMalloc", i, i);
	}
	t->source.text_bytes[0] = 64 << 10;
	CHECK(refused(run, "at most 97 of an input of this size: there are 98"));
	assay_run_free(run);
	return 0;
}
