/* Tests of the XPlane writer, on runs made by hand; no code of its own. */
#include <stdlib.h>
#include <string.h>

#include "base/test.h"
#include "write/xplane.h"

#ifdef ASSAY_TEST

/* ------------------------------------------------------------------ a run by hand */

static assay_run *new_run(void)
{
	assay_run *run = assay_run_new();
	run->part.source = assay_add(&run->part.t, ASSAY_T_source);
	return run;
}

static uint32_t add_host(assay_run *run, assay_host_kind kind, const char *name, int64_t ts,
			 int64_t dur, uint64_t corr)
{
	assay_tables *t = &run->part.t;
	uint32_t h = assay_add(t, ASSAY_T_host), s = assay_add(t, ASSAY_T_host_scope);
	t->host_scope.scope[s] = ASSAY_NO_ROW;
	t->host.ts[h] = ts;
	t->host.dur[h] = dur;
	t->host.name[h] = assay_sid_of(run, name);
	t->host.kind[h] = (uint8_t)kind;
	t->host.track[h] = assay_thread_track(&run->part, 9, 42);
	t->host.detail[h] = assay_add(t, assay_host_detail[kind]);
	if (assay_host_detail[kind] == ASSAY_T_api)
		t->api.corr[t->host.detail[h]] = corr;
	return h;
}

static uint32_t add_work(assay_run *run, assay_gpu_kind kind, const char *name, int64_t stream,
			 int64_t ts, uint64_t corr)
{
	assay_tables *t = &run->part.t;
	uint32_t g = assay_add(t, ASSAY_T_gpu);
	assay_add(t, ASSAY_T_gpu_scope);
	assay_add(t, ASSAY_T_launch);
	t->gpu.ts[g] = ts;
	t->gpu.dur[g] = 10;
	t->gpu.name[g] = assay_sid_of(run, name);
	t->gpu.kind[g] = (uint8_t)kind;
	t->gpu.track[g] = assay_stream_track(&run->part, 0, stream);
	t->gpu.corr[g] = corr;
	return g;
}

static uint32_t add_scope(assay_run *run, const char *name, int64_t id, uint32_t up)
{
	assay_scope_table *s = &run->part.t.scope;
	uint32_t r = assay_add(&run->part.t, ASSAY_T_scope);
	s->id[r] = id;
	s->up[r] = up;
	s->parent[r] = up == ASSAY_NO_ROW ? 0 : s->id[up];
	s->name[r] = assay_sid_of(run, name);
	s->source[r] = run->part.source;
	return r;
}

static void put_in(assay_run *run, uint32_t g, uint32_t scope)
{
	run->part.t.gpu_scope.scope[g] = scope;
	run->part.t.gpu_scope.how[g] = ASSAY_SCOPE_HOW_LAUNCH;
}

/* ------------------------------------------------------------------ a file taken apart */

typedef struct file {
	char *bytes;
	size_t n;
} file;

static file write_run(assay_run *run)
{
	file f = {0};
	assay_err err = {0};
	FILE *out = open_memstream(&f.bytes, &f.n);
	if (!assay_write_run(&assay_writer_xplane, run, out, NULL, &err))
		fprintf(stderr, "%s\n", err.text);
	fclose(out);
	assay_run_free(run);
	return f;
}

/* The n-th field of that number in a message; empty when there is none. */
static bool field_at(assay_str message, uint32_t number, size_t n, assay_field *f)
{
	assay_proto c = assay_proto_on(message);
	while (assay_proto_next(&c, f))
		if (f->number == number && !n--)
			return true;
	*f = (assay_field){.bytes = {"", 0}};
	return false;
}

static assay_str plane(const file *f, const char *name)
{
	assay_field p, n;
	for (size_t i = 0; field_at((assay_str){f->bytes, f->n}, XSPACE_PLANES, i, &p); i++)
		if (field_at(p.bytes, XPLANE_NAME, 0, &n) && assay_str_is(n.bytes, name))
			return p.bytes;
	return (assay_str){"", 0};
}

static assay_str gpu_plane(const file *f)
{
	return plane(f, "/device:GPU:0");
}

static size_t count_fields(assay_str message, uint32_t number)
{
	assay_field f;
	size_t n = 0;
	while (field_at(message, number, n, &f))
		n++;
	return n;
}

/* Name in one of a plane's maps. */
static assay_str meta_name(assay_str message, uint32_t map, uint64_t id)
{
	assay_field e, key, value, name;
	for (size_t i = 0; field_at(message, map, i, &e); i++)
		if (field_at(e.bytes, XENTRY_KEY, 0, &key) && key.value == id &&
		    field_at(e.bytes, XENTRY_VALUE, 0, &value) &&
		    field_at(value.bytes, XMETA_NAME, 0, &name))
			return name.bytes;
	return (assay_str){"", 0};
}

static assay_str line_at(assay_str message, size_t i)
{
	assay_field f;
	field_at(message, XPLANE_LINES, i, &f);
	return f.bytes;
}

static assay_str event_at(assay_str message, size_t line, size_t i)
{
	assay_field f;
	field_at(line_at(message, line), XLINE_EVENTS, i, &f);
	return f.bytes;
}

static assay_str event_name(assay_str message, assay_str event)
{
	assay_field f;
	field_at(event, XEVENT_META, 0, &f);
	return meta_name(message, XPLANE_EVENT_META, f.value);
}

/* Start in ns since the session began. */
static int64_t event_start(assay_str message, size_t line, size_t i)
{
	assay_field ts, at;
	field_at(line_at(message, line), XLINE_TIMESTAMP_NS, 0, &ts);
	field_at(event_at(message, line, i), XEVENT_OFFSET_PS, 0, &at);
	return assay_field_i64(&ts) + assay_field_i64(&at) / 1000;
}

/* The value field of an event's stat, refs resolved to their text; number 0 when it has none. */
static assay_field event_stat(assay_str message, assay_str event, const char *name)
{
	assay_field s, id, v;
	for (size_t i = 0; field_at(event, XEVENT_STATS, i, &s); i++) {
		field_at(s.bytes, XSTAT_META, 0, &id);
		if (!assay_str_is(meta_name(message, XPLANE_STAT_META, id.value), name))
			continue;
		for (uint32_t k = XSTAT_DOUBLE; k <= XSTAT_REF; k++)
			if (field_at(s.bytes, k, 0, &v)) {
				if (k == XSTAT_REF)
					v.bytes = meta_name(message, XPLANE_STAT_META, v.value);
				return v;
			}
	}
	return (assay_field){.bytes = {"", 0}};
}

/* ------------------------------------------------------------------ the tests */

TEST(a_launch_in_nested_ranges_gives_depth_minus_one_links)
{
	assay_run *run = new_run();
	uint32_t a = add_scope(run, "a", 100, ASSAY_NO_ROW), b = add_scope(run, "b", 200, a),
		 c = add_scope(run, "c", -300, b);
	put_in(run, add_work(run, ASSAY_GPU_KERNEL, "k", 7, 0, 1), c);
	file f = write_run(run);
	assay_str tree = plane(&f, XPLANE_SCOPE_TREE);
	CHECK_EQ(count_fields(tree, XPLANE_STATS), 2);
	assay_field s, child, parent;
	field_at(tree, XPLANE_STATS, 0, &s);
	field_at(s.bytes, XSTAT_META, 0, &child);
	CHECK(field_at(s.bytes, XSTAT_INT64, 0, &parent));
	CHECK(assay_field_i64(&child) == -300 && assay_field_i64(&parent) == 200);
	CHECK(count_fields(tree, XPLANE_LINES) == 0);
	free(f.bytes);
	return 0;
}

TEST(every_kind_of_event_has_its_scope_in_the_signed_slot)
{
	assay_run *run = new_run();
	uint32_t s = add_scope(run, "s", 77, ASSAY_NO_ROW);
	put_in(run, add_work(run, ASSAY_GPU_KERNEL, "k", 7, 0, 1ull << 40), s);
	put_in(run, add_work(run, ASSAY_GPU_MEMCPY, "Memcpy HtoD", 7, 20, 1ull << 40), s);
	put_in(run, add_work(run, ASSAY_GPU_MEMSET, "Memset", 7, 40, 1ull << 40), s);
	uint32_t call = add_host(run, ASSAY_HOST_RUNTIME, "cudaLaunchKernel", 0, 5, 1ull << 40);
	run->part.t.host_scope.scope[call] = s;
	file f = write_run(run);
	for (size_t i = 0; i < 4; i++) {
		assay_str p = i < 3 ? gpu_plane(&f) : plane(&f, XPLANE_HOST);
		assay_str e = event_at(p, 0, i < 3 ? i : 0);
		assay_field scope = event_stat(p, e, "scope_range_id"),
			    corr = event_stat(p, e, "correlation_id");
		CHECK(scope.number == XSTAT_INT64 && scope.value == 77);
		CHECK(corr.number == XSTAT_UINT64 && corr.value == 1ull << 40);
	}
	free(f.bytes);
	return 0;
}

TEST(a_scope_that_is_inferred_says_so)
{
	assay_run *run = new_run();
	uint32_t s = add_scope(run, "s", 77, ASSAY_NO_ROW);
	for (int i = 0; i < 2; i++)
		put_in(run, add_work(run, ASSAY_GPU_KERNEL, "k", 7, 20 * i, 1), s);
	run->part.t.gpu_scope.how[1] = ASSAY_SCOPE_HOW_INFERRED;
	uint32_t call = add_host(run, ASSAY_HOST_RUNTIME, "cudaLaunchKernel", 0, 5, 1);
	run->part.t.host_scope.scope[call] = s;
	run->part.t.host_scope.how[call] = ASSAY_SCOPE_HOW_INFERRED;
	file f = write_run(run);
	assay_str p = gpu_plane(&f), h = plane(&f, XPLANE_HOST);
	CHECK(event_stat(p, event_at(p, 0, 0), "scope_inferred").number == 0);
	assay_field work = event_stat(p, event_at(p, 0, 1), "scope_inferred"),
		    host = event_stat(h, event_at(h, 0, 0), "scope_inferred");
	CHECK(work.number == XSTAT_INT64 && work.value == 1);
	CHECK(host.number == XSTAT_INT64 && host.value == 1);
	free(f.bytes);
	return 0;
}

TEST(waits_beside_the_device_and_memory_on_the_host_have_their_scope)
{
	assay_run *run = new_run();
	assay_tables *t = &run->part.t;
	uint32_t s = add_scope(run, "s", -77, ASSAY_NO_ROW);
	add_work(run, ASSAY_GPU_KERNEL, "k", 7, 0, 1);
	uint32_t w = assay_add(t, ASSAY_T_sync), a = assay_add(t, ASSAY_T_alloc);
	t->sync.track[w] = assay_stream_track(&run->part, 0, 7);
	t->sync.dur[w] = 5;
	t->alloc.track[a] = assay_thread_track(&run->part, 9, 42);
	t->alloc.device[a] = 0;
	t->alloc.bytes[a] = -64;
	assay_add(t, ASSAY_T_sync_scope);
	assay_add(t, ASSAY_T_alloc_scope);
	t->sync_scope.scope[w] = t->alloc_scope.scope[a] = s;
	file f = write_run(run);
	assay_str p = plane(&f, XPLANE_BESIDE "0");
	CHECK(count_fields(gpu_plane(&f), XPLANE_LINES) == 1 && count_fields(p, XPLANE_LINES) == 1);
	assay_field scope = event_stat(p, event_at(p, 0, 0), "scope_range_id");
	CHECK(scope.number == XSTAT_INT64 && assay_field_i64(&scope) == -77);
	p = plane(&f, XPLANE_HOST);
	assay_str freed = event_at(p, 0, 0);
	scope = event_stat(p, freed, "scope_range_id");
	CHECK(scope.number == XSTAT_INT64 && assay_field_i64(&scope) == -77);
	CHECK(assay_str_is(meta_name(p, XPLANE_EVENT_META, 1), "MemoryDeallocation"));
	CHECK(event_stat(p, freed, "allocation_bytes").value == 64);
	/* what was given back had been held */
	CHECK(event_stat(p, freed, "bytes_allocated").value == 0);
	free(f.bytes);
	return 0;
}

TEST(a_wait_known_from_its_call_has_the_scope_of_the_call)
{
	assay_run *run = new_run();
	assay_tables *t = &run->part.t;
	uint32_t s = add_scope(run, "s", -77, ASSAY_NO_ROW);
	uint32_t call = add_host(run, ASSAY_HOST_RUNTIME, "cudaStreamWaitEvent", 0, 5, 2);
	add_work(run, ASSAY_GPU_KERNEL, "k", 7, 0, 1);
	t->host_scope.scope[call] = s;
	for (int told = 0; told < 2; told++) { /* a sync row of the same call says it already */
		uint32_t w = assay_add(t, ASSAY_T_wait);
		t->wait.kind[w] = ASSAY_WAIT_STREAM_WAIT;
		t->wait.corr[w] = told ? 9 : 2;
		t->wait.host[w] = call;
		t->wait.thread[w] = t->host.track[call];
		t->wait.dur[w] = 5;
		t->wait.consumer[w] = assay_stream_track(&run->part, 0, 7);
		t->wait.producer[w] = assay_stream_track(&run->part, 0, 13);
		t->wait.record_corr[w] = 1;
	}
	uint32_t row = assay_add(t, ASSAY_T_sync);
	t->sync.track[row] = assay_stream_track(&run->part, 0, 8);
	t->sync.corr[row] = 9;
	file f = write_run(run);
	assay_str p = plane(&f, XPLANE_BESIDE "0"), event = event_at(p, 0, 0);
	CHECK_EQ(count_fields(p, XPLANE_LINES), 2);
	assay_field scope = event_stat(p, event, "scope_range_id");
	assay_field from = event_stat(p, event, "wait_stream");
	CHECK(assay_field_i64(&scope) == -77 && assay_field_i64(&from) == 13);
	free(f.bytes);
	return 0;
}

TEST(work_without_scope_has_no_scope_stat)
{
	assay_run *run = new_run();
	add_work(run, ASSAY_GPU_KERNEL, "k", 7, 0, 1);
	file f = write_run(run);
	assay_str p = gpu_plane(&f), e = event_at(p, 0, 0);
	CHECK(!event_stat(p, e, "scope_range_id").number && !event_stat(p, e, "hlo_op").number);
	free(f.bytes);
	return 0;
}

/* R5: no call but write; R8: the tree comes through the tables like everything else. */
TEST(the_tree_is_written_by_write_alone_from_the_tables)
{
	assay_run *run = new_run();
	uint32_t a = add_scope(run, "a", 1, ASSAY_NO_ROW), b = add_scope(run, "b", 2, a);
	put_in(run, add_work(run, ASSAY_GPU_KERNEL, "k", 7, 0, 1), b);
	file f = write_run(run);
	CHECK_EQ(count_fields(plane(&f, XPLANE_SCOPE_TREE), XPLANE_STATS), 1);
	free(f.bytes);
	return 0;
}

TEST(one_tree_serves_devices_of_both_vendors)
{
	static const char *const vendors[] = {"nvidia", "amd"};
	assay_run *run = new_run();
	for (int i = 0; i < 2; i++) {
		uint32_t d = assay_add(&run->part.t, ASSAY_T_device);
		run->part.t.device.source[d] = run->part.source;
		run->part.t.device.id[d] = i;
		run->part.t.device.vendor[d] = assay_sid_of(run, vendors[i]);
		uint32_t g = add_work(run, ASSAY_GPU_KERNEL, "k", 7, 0, 1);
		run->part.t.gpu.track[g] = assay_stream_track(&run->part, i, 7);
		uint32_t a = add_scope(run, "a", 10 + i, ASSAY_NO_ROW);
		put_in(run, g, add_scope(run, "b", 20 + i, a));
	}
	file f = write_run(run);
	CHECK_EQ(count_fields(plane(&f, XPLANE_SCOPE_TREE), XPLANE_STATS), 2);
	for (int i = 0; i < 2; i++) {
		assay_str p = plane(&f, i ? "/device:GPU:1" : "/device:GPU:0");
		CHECK_EQ(event_stat(p, event_at(p, 0, 0), "scope_range_id").value, 20 + i);
	}
	free(f.bytes);
	return 0;
}

TEST(the_tree_has_one_nameless_entry_with_the_largest_id)
{
	assay_run *run = new_run();
	uint32_t a = add_scope(run, "a", 10, ASSAY_NO_ROW);
	put_in(run, add_work(run, ASSAY_GPU_KERNEL, "k", 7, 0, 1), add_scope(run, "b", 3, a));
	file f = write_run(run);
	assay_str tree = plane(&f, XPLANE_SCOPE_TREE);
	assay_field e, key, value, name;
	CHECK(count_fields(tree, XPLANE_STAT_META) == 1);
	field_at(tree, XPLANE_STAT_META, 0, &e);
	field_at(e.bytes, XENTRY_KEY, 0, &key);
	field_at(e.bytes, XENTRY_VALUE, 0, &value);
	CHECK(key.value == 10 && !field_at(value.bytes, XMETA_NAME, 0, &name));
	free(f.bytes);
	return 0;
}

TEST(two_invocations_back_to_back_have_two_root_ids)
{
	assay_run *run = new_run();
	uint32_t a = add_scope(run, "module", 10, ASSAY_NO_ROW),
		 b = add_scope(run, "module", 20, ASSAY_NO_ROW);
	put_in(run, add_work(run, ASSAY_GPU_KERNEL, "k", 7, 0, 1), a);
	put_in(run, add_work(run, ASSAY_GPU_KERNEL, "k", 7, 10, 2), b);
	file f = write_run(run);
	assay_str p = gpu_plane(&f);
	for (size_t i = 0; i < 2; i++) {
		assay_str e = event_at(p, 0, i);
		CHECK(event_stat(p, e, "scope_range_id").value == (i + 1) * 10);
		CHECK(assay_str_is(event_stat(p, e, "hlo_module").bytes, "module"));
	}
	free(f.bytes);
	return 0;
}

TEST(every_kernel_of_a_graph_keeps_its_own_shape)
{
	assay_run *run = new_run();
	for (int i = 1; i <= 2; i++) {
		uint32_t g = add_work(run, ASSAY_GPU_KERNEL, "k", 7, i * 20, 5);
		run->part.t.gpu.grid_x[g] = (uint32_t)(i * 100);
		run->part.t.gpu.block_x[g] = 64;
		run->part.t.gpu.shared[g] = (uint32_t)(i * 8);
		run->part.t.gpu.regs[g] = (uint16_t)(i * 16);
	}
	file f = write_run(run);
	assay_str p = gpu_plane(&f);
	CHECK(assay_str_is(event_stat(p, event_at(p, 0, 0), "kernel_details").bytes,
			   "regs:16 static_shared:8 dynamic_shared:0 grid:100,0,0 block:64,0,0"));
	CHECK(assay_str_is(event_stat(p, event_at(p, 0, 1), "kernel_details").bytes,
			   "regs:32 static_shared:16 dynamic_shared:0 grid:200,0,0 block:64,0,0"));
	free(f.bytes);
	return 0;
}

TEST(calls_without_work_stay)
{
	assay_run *run = new_run();
	add_host(run, ASSAY_HOST_RUNTIME, "hipDeviceSynchronize", 0, 5, 0);
	add_host(run, ASSAY_HOST_RUNTIME, "hipMalloc", 10, 5, 3);
	file f = write_run(run);
	CHECK_EQ(count_fields(line_at(plane(&f, XPLANE_HOST), 0), XLINE_EVENTS), 2);
	free(f.bytes);
	return 0;
}

TEST(no_tree_no_plane)
{
	assay_run *run = new_run();
	put_in(run, add_work(run, ASSAY_GPU_KERNEL, "k", 7, 0, 1),
	       add_scope(run, "only a root", 5, ASSAY_NO_ROW));
	file f = write_run(run);
	CHECK(!plane(&f, XPLANE_SCOPE_TREE).n && gpu_plane(&f).n);
	free(f.bytes);
	return 0;
}

TEST(trees_of_two_inputs_are_written_as_one)
{
	assay_run *run = new_run();
	for (int i = 0; i < 2; i++) {
		if (i)
			run->part.source = assay_add(&run->part.t, ASSAY_T_source);
		uint32_t a = add_scope(run, "a", 10 + i, ASSAY_NO_ROW);
		put_in(run, add_work(run, ASSAY_GPU_KERNEL, "k", 7, 0, 1),
		       add_scope(run, "b", 20 + i, a));
	}
	file f = write_run(run);
	CHECK_EQ(count_fields(plane(&f, XPLANE_SCOPE_TREE), XPLANE_STATS), 2);
	/* the second input's device 0 has a plane, and correlation ids, of its own */
	assay_str p = plane(&f, "/device:GPU:1");
	CHECK(p.n && event_stat(p, event_at(p, 0, 0), "correlation_id").value != 1);
	free(f.bytes);
	return 0;
}

TEST(names_and_ids_of_a_path_are_equally_many)
{
	assay_run *run = new_run();
	uint32_t a = add_scope(run, "aten::mm", 1, ASSAY_NO_ROW), b = add_scope(run, "", 2, a),
		 c = add_scope(run, "x#y,z=1#", 3, b);
	put_in(run, add_work(run, ASSAY_GPU_KERNEL, "k", 7, 0, 1), c);
	file f = write_run(run);
	assay_str p = gpu_plane(&f), e = event_at(p, 0, 0);
	CHECK(assay_str_is(event_stat(p, e, "hlo_op").bytes, "aten.mm::_no_name_::x_y_z_1_"));
	CHECK(assay_str_is(event_stat(p, e, "hlo_module").bytes, "aten.mm"));
	free(f.bytes);
	return 0;
}

TEST(all_planes_share_one_clock_and_early_events_stay)
{
	static const int64_t start = 1700000000000000000;
	assay_run *run = new_run();
	add_host(run, ASSAY_HOST_RUNTIME, "cudaLaunchKernel", start + 50, 5, 1);
	add_host(run, ASSAY_HOST_MARKER, "range", start, 500, 0);
	add_work(run, ASSAY_GPU_KERNEL, "early", 7, start - 30, 0);
	add_work(run, ASSAY_GPU_KERNEL, "k", 7, start + 70, 1);
	file f = write_run(run);
	assay_str h = plane(&f, XPLANE_HOST), g = gpu_plane(&f);
	CHECK_EQ(event_start(g, 0, 0), 0);
	CHECK_EQ(event_start(g, 0, 1), 100);
	CHECK_EQ(event_start(h, 0, 0), 80);
	CHECK_EQ(event_start(h, 1, 0), 30);
	assay_field name;
	CHECK(field_at(line_at(h, 1), XLINE_NAME, 0, &name));
	CHECK(assay_str_is(name.bytes, "Host Threads/42/NVTX"));
	free(f.bytes);
	return 0;
}

TEST(no_display_ids_are_written)
{
	assay_run *run = new_run();
	add_work(run, ASSAY_GPU_KERNEL, "k", 7, 0, 1);
	file f = write_run(run);
	assay_field d;
	CHECK(!field_at(line_at(gpu_plane(&f), 0), XLINE_DISPLAY_ID, 0, &d));
	free(f.bytes);
	return 0;
}

TEST(work_without_a_name_is_called_what_it_is)
{
	assay_run *run = new_run();
	add_work(run, ASSAY_GPU_MEMCPY, "", 7, 0, 1);
	add_work(run, ASSAY_GPU_MEMCPY, "Memcpy PtoP", 7, 20, 1);
	add_work(run, ASSAY_GPU_KERNEL, "", 7, 40, 1);
	file f = write_run(run);
	assay_str p = gpu_plane(&f);
	CHECK(assay_str_is(event_name(p, event_at(p, 0, 0)), "MemcpyOther"));
	CHECK(assay_str_is(event_name(p, event_at(p, 0, 1)), "Memcpy PtoP"));
	CHECK(assay_str_is(event_name(p, event_at(p, 0, 2)), "Compute"));
	assay_field name;
	field_at(line_at(p, 0), XLINE_NAME, 0, &name);
	CHECK(assay_str_is(name.bytes, "Stream #7(MemcpyOther,MemcpyP2P,Compute)"));
	free(f.bytes);
	return 0;
}

TEST(amd_grids_are_divided_by_the_block)
{
	assay_run *run = new_run();
	uint32_t d = assay_add(&run->part.t, ASSAY_T_device);
	run->part.t.device.source[d] = run->part.source;
	run->part.t.device.id[d] = 0;
	run->part.t.device.vendor[d] = assay_sid_of(run, "amd");
	run->part.t.device.arch[d] = assay_sid_of(run, "gfx942");
	uint32_t g = add_work(run, ASSAY_GPU_KERNEL, "k", 7, 0, 1);
	run->part.t.gpu.grid_x[g] = 1024;
	run->part.t.gpu.block_x[g] = 256;
	file f = write_run(run);
	assay_str p = gpu_plane(&f);
	assay_str details = event_stat(p, event_at(p, 0, 0), "kernel_details").bytes;
	CHECK(assay_str_find(details, "grid:4,") >= 0);
	CHECK(assay_str_find(details, "work_items:1024,") >= 0);
	assay_field s, v;
	field_at(p, XPLANE_STATS, 0, &s);
	field_at(s.bytes, XSTAT_STR, 0, &v);
	CHECK(assay_str_is(v.bytes, "AMD"));
	free(f.bytes);
	return 0;
}

TEST(ranges_that_overlap_get_a_line_beside_their_thread)
{
	assay_run *run = new_run();
	add_host(run, ASSAY_HOST_ANNOTATION, "b", 50, 100, 0);
	add_host(run, ASSAY_HOST_ANNOTATION, "a", 0, 100, 0);
	add_host(run, ASSAY_HOST_ANNOTATION, "a1", 0, 20, 0);
	file f = write_run(run);
	assay_str h = plane(&f, XPLANE_HOST);
	CHECK(count_fields(h, XPLANE_LINES) == 2 && count_fields(line_at(h, 0), XLINE_EVENTS) == 2);
	CHECK(assay_str_is(event_name(h, event_at(h, 0, 0)), "a")); /* the longer one first */
	CHECK(assay_str_is(event_name(h, event_at(h, 1, 0)), "b"));
	assay_field name;
	field_at(line_at(h, 1), XLINE_NAME, 0, &name);
	CHECK(assay_str_is(name.bytes, "Host Threads/42/overlap1"));
	free(f.bytes);
	return 0;
}

TEST(stream_handles_become_small_numbers_outside_the_reserved_ones)
{
	static const int64_t streams[] = {0x7f00deadbeef, -559038737, 3, 0};
	assay_run *run = new_run();
	for (int i = 0; i < 4; i++)
		add_work(run, ASSAY_GPU_KERNEL, "k", streams[i], i * 100, 1);
	file f = write_run(run);
	bool seen[8] = {0};
	for (size_t i = 0; i < 4; i++) {
		assay_field id;
		field_at(line_at(gpu_plane(&f), i), XLINE_ID, 0, &id);
		CHECK(id.value < 8 && !seen[id.value]);
		seen[id.value] = true;
	}
	CHECK(seen[3] && seen[0]);
	free(f.bytes);
	return 0;
}

TEST(waits_name_streams_by_their_lines)
{
	static const int64_t handle = 0x7f00deadb000;
	assay_run *run = new_run();
	assay_tables *t = &run->part.t;
	add_work(run, ASSAY_GPU_KERNEL, "k", 7, 0, 1);
	add_work(run, ASSAY_GPU_KERNEL, "k", handle, 0, 2);
	uint32_t w = assay_add(t, ASSAY_T_sync);
	t->sync.track[w] = assay_stream_track(&run->part, 0, handle);
	t->sync.wait_stream[w] = handle;
	file f = write_run(run);
	assay_field line, stream, from;
	field_at(line_at(gpu_plane(&f), 0), XLINE_ID, 0, &line); /* lines are in order of numbers */
	assay_str p = plane(&f, XPLANE_BESIDE "0");
	stream = event_stat(p, event_at(p, 0, 0), "stream");
	from = event_stat(p, event_at(p, 0, 0), "wait_stream");
	CHECK(line.value == 0 && stream.number && stream.value == 0 && from.value == 0);
	free(f.bytes);
	return 0;
}

TEST(more_than_16_streams_are_all_there)
{
	assay_run *run = new_run();
	for (int i = 0; i < 40; i++)
		add_work(run, ASSAY_GPU_KERNEL, "k", i, 0, 1);
	file f = write_run(run);
	CHECK_EQ(count_fields(gpu_plane(&f), XPLANE_LINES), 40);
	free(f.bytes);
	return 0;
}

/* xprof takes 100 line ids for such rows, and derives them for 16 streams itself. */
TEST(derived_rows_without_an_id_left_are_told)
{
	assay_run *run = new_run();
	assay_derived_table *t = &run->part.t.derived;
	for (int i = 0; i < 2 * 60; i++) {
		uint32_t r = assay_add(&run->part.t, ASSAY_T_derived);
		add_work(run, ASSAY_GPU_KERNEL, "k", i / 2, i % 2 * 10, 1);
		t->track[r] = assay_stream_track(&run->part, 0, i / 2);
		t->row[r] = i % 2 ? ASSAY_DERIVED_OPS : ASSAY_DERIVED_MODULES;
		t->dur[r] = 20;
		t->name[r] = assay_sid_of(run, "m");
	}
	file f = {0};
	assay_left_out left = {0};
	FILE *out = open_memstream(&f.bytes, &f.n);
	CHECK(assay_write_run(&assay_writer_xplane_grouped, run, out, &left, NULL));
	fclose(out);
	CHECK(assay_str_starts(assay_str_of(left.text), "10 streams "));
	assay_arena_free(&left.arena);
	CHECK_EQ(count_fields(gpu_plane(&f), XPLANE_LINES), 60 + 100);
	assay_field warning;
	CHECK(field_at((assay_str){f.bytes, f.n}, XSPACE_WARNINGS, 0, &warning));
	CHECK(assay_str_starts(warning.bytes, XPLANE_OUR_WARNING "10 streams "));
	free(f.bytes);
	assay_run_free(run);
	return 0;
}

TEST(steps_are_roots_with_a_number)
{
	assay_run *run = new_run();
	uint32_t h = add_host(run, ASSAY_HOST_ANNOTATION, "ProfilerStep#4", 10, 50, 0);
	for (int i = 0; i < 2; i++) { /* one has a host event, the other none */
		uint32_t s = assay_add(&run->part.t, ASSAY_T_step);
		run->part.t.step.source[s] = run->part.source;
		run->part.t.step.ts[s] = i ? 70 : 10;
		run->part.t.step.dur[s] = 50;
		run->part.t.step.number[s] = 4 + i;
		run->part.t.step.name[s] = run->part.t.host.name[h];
	}
	file f = write_run(run);
	assay_str p = plane(&f, XPLANE_HOST);
	for (size_t i = 0; i < 2; i++) {
		assay_str e = event_at(p, i, 0);
		CHECK(event_stat(p, e, "_r").number == XSTAT_INT64 && event_stat(p, e, "_r").value);
		CHECK(event_stat(p, e, "step_num").value == 4 + i);
	}
	/* raw mode: xprof groups by itself, for no plane speaks of groups */
	for (size_t i = 1; i < 64; i++)
		CHECK(!assay_str_is(meta_name(p, XPLANE_STAT_META, i), "group_id"));
	free(f.bytes);
	return 0;
}

/* The step that a host row marks. */
static void add_step_of(assay_run *run, uint32_t h)
{
	assay_tables *t = &run->part.t;
	uint32_t s = assay_add(t, ASSAY_T_step);
	t->step.source[s] = run->part.source;
	t->step.ts[s] = t->host.ts[h];
	t->step.dur[s] = t->host.dur[h];
	t->step.name[s] = t->host.name[h];
}

TEST(a_step_stays_on_its_thread_when_a_function_ends_inside_it)
{
	assay_run *run = new_run();
	uint32_t h = add_host(run, ASSAY_HOST_ANNOTATION, "ProfilerStep#4", 10, 50, 0);
	add_host(run, ASSAY_HOST_PYTHON, "main", 0, 55, 0);
	add_host(run, ASSAY_HOST_RUNTIME, "cudaLaunchKernel", 20, 5, 7);
	add_step_of(run, h);
	file f = write_run(run);
	assay_str p = plane(&f, XPLANE_HOST);
	CHECK(assay_str_is(event_name(p, event_at(p, 0, 0)), "ProfilerStep#4"));
	CHECK(assay_str_is(event_name(p, event_at(p, 0, 1)), "cudaLaunchKernel"));
	CHECK(assay_str_is(event_name(p, event_at(p, 1, 0)), "main"));
	free(f.bytes);
	return 0;
}

TEST(steps_of_one_name_and_start_are_all_marked_by_their_events)
{
	assay_run *run = new_run();
	for (int i = 0; i < 3; i++) {
		uint32_t h = add_host(run, ASSAY_HOST_ANNOTATION, "train", 10, 50, 0);
		add_step_of(run, h);
	}
	file f = write_run(run);
	assay_str p = plane(&f, XPLANE_HOST);
	CHECK(count_fields(p, XPLANE_LINES) == 1); /* none for steps without an event */
	CHECK(count_fields(line_at(p, 0), XLINE_EVENTS) == 3);
	free(f.bytes);
	return 0;
}

TEST(memory_without_a_thread_is_written)
{
	const assay_writer *const writers[] = {&assay_writer_xplane, &assay_writer_chrome};
	for (int i = 0; i < 2; i++) {
		assay_run *run = new_run();
		assay_tables *t = &run->part.t;
		uint32_t a = assay_add(t, ASSAY_T_alloc);
		t->alloc.bytes[a] = 64;
		file f = {0};
		FILE *out = open_memstream(&f.bytes, &f.n);
		CHECK(t->alloc.track[a] == ASSAY_NO_ROW &&
		      assay_write_run(writers[i], run, out, NULL, NULL));
		fclose(out);
		assay_str p = plane(&f, XPLANE_HOST);
		CHECK(i || count_fields(line_at(p, 0), XLINE_EVENTS) == 1);
		CHECK(i || !event_stat(p, event_at(p, 0, 0), "thread").number);
		free(f.bytes);
		assay_run_free(run);
	}
	return 0;
}

/* Of the host; of a device's allocator, which says it; of calls that take the device's own. */
TEST(memory_says_what_is_held_after_it)
{
	enum { HOST, TOLD, CALLS, KINDS };
	static const int64_t bytes[] = {-10, 40, -30}, want[] = {0, 40, 10};
	for (int kind = 0; kind < KINDS; kind++) {
		assay_run *run = new_run();
		assay_tables *t = &run->part.t;
		uint32_t d = assay_add(t, ASSAY_T_device);
		t->device.source[d] = run->part.source;
		t->device.id[d] = 3;
		t->device.memory[d] = 1000;
		for (int i = 0; i < 3; i++) {
			uint32_t a = assay_add(t, ASSAY_T_alloc);
			t->alloc.ts[a] = i;
			t->alloc.track[a] = assay_thread_track(&run->part, 1, 1);
			t->alloc.device[a] = kind == HOST ? -1 : 3;
			t->alloc.bytes[a] = bytes[i];
			t->alloc.total[a] = kind == TOLD ? 100 + i : -1;
			t->alloc.reserved[a] = kind == TOLD ? 500 : -1;
		}
		file f = write_run(run);
		assay_str p = plane(&f, XPLANE_HOST);
		for (int i = 0; i < 3; i++) {
			assay_str e = event_at(p, 0, (size_t)i);
			int64_t held = kind == TOLD ? 100 + i : want[i];
			static const int64_t capacity[] = {[TOLD] = 500, [CALLS] = 1000};
			uint64_t left = kind == HOST ? 0 : (uint64_t)(capacity[kind] - held);
			CHECK(event_stat(p, e, "bytes_allocated").value == (uint64_t)held);
			CHECK((event_stat(p, e, "bytes_computed").number == 0) == (kind == TOLD));
			CHECK(event_stat(p, e, "bytes_available").value == left);
		}
		free(f.bytes);
	}
	return 0;
}

TEST(a_trace_longer_than_106_days_is_refused)
{
	assay_run *run = new_run();
	add_work(run, ASSAY_GPU_KERNEL, "a", 7, INT64_MIN / 2, 1);
	add_work(run, ASSAY_GPU_KERNEL, "b", 7, INT64_MAX / 2, 1);
	FILE *out = fopen("/dev/null", "wb");
	assay_err err = {0};
	CHECK(!assay_write_run(&assay_writer_xplane, run, out, NULL, &err) &&
	      err.code == ASSAY_LIMIT);
	fclose(out);
	assay_run_free(run);
	return 0;
}

#endif
