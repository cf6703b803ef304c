/* What is read of XSpace messages: planes made by hand, cut, hostile, and of JAX. */
#include "base/limits.h"
#include "base/test.h"
#include "read/reader.h"
#include "read/xplane.h"

/* A plane being built: metadata ids are given out in order of first use. */
typedef struct plane_maker {
	assay_protow plane, line, event, stat;
	uint64_t metas;
} plane_maker;

static uint64_t make_meta(plane_maker *m, uint32_t field, const char *name)
{
	assay_protow entry = {0}, value = {0};
	assay_protow_varint(&value, XMETA_ID, ++m->metas);
	assay_protow_text(&value, XMETA_NAME, assay_str_of(name));
	assay_protow_varint(&entry, XENTRY_KEY, m->metas);
	assay_protow_message(&entry, XENTRY_VALUE, &value);
	assay_protow_message(&m->plane, field, &entry);
	assay_protow_free(&entry);
	assay_protow_free(&value);
	return m->metas;
}

static void make_stat(plane_maker *m, const char *name, uint32_t field, uint64_t num,
		      const char *text)
{
	assay_protow_varint(&m->stat, XSTAT_META, make_meta(m, XPLANE_STAT_META, name));
	if (text)
		assay_protow_bytes(&m->stat, field, assay_str_of(text));
	else
		assay_protow_varint(&m->stat, field, num);
	assay_protow_message(&m->event, XEVENT_STATS, &m->stat);
}

static void make_event(plane_maker *m, const char *name, int64_t at_ps, int64_t dur_ps)
{
	assay_protow_varint(&m->event, XEVENT_META, make_meta(m, XPLANE_EVENT_META, name));
	assay_protow_varint(&m->event, XEVENT_OFFSET_PS, (uint64_t)at_ps);
	assay_protow_varint(&m->event, XEVENT_DURATION_PS, (uint64_t)dur_ps);
	assay_protow_message(&m->line, XLINE_EVENTS, &m->event);
}

static void make_line(plane_maker *m, int64_t id, const char *name, int64_t ts)
{
	assay_protow_varint(&m->line, XLINE_ID, (uint64_t)id);
	assay_protow_text(&m->line, XLINE_NAME, assay_str_of(name));
	assay_protow_varint(&m->line, XLINE_TIMESTAMP_NS, (uint64_t)ts);
	assay_protow_message(&m->plane, XPLANE_LINES, &m->line);
}

static void make_plane(plane_maker *m, assay_protow *space, const char *name)
{
	assay_protow_text(&m->plane, XPLANE_NAME, assay_str_of(name));
	assay_protow_message(space, XSPACE_PLANES, &m->plane);
	assay_protow_free(&m->plane);
	assay_protow_free(&m->line);
	assay_protow_free(&m->event);
	assay_protow_free(&m->stat);
	*m = (plane_maker){0};
}

static assay_run *read_bytes(assay_str bytes)
{
	assay_run *run = assay_run_new();
	assay_input *in = assay_input_memory(bytes.p, bytes.n);
	run->part.source = assay_add(&run->part.t, ASSAY_T_source);
	assay_reader_xplane.read(run, in, NULL);
	assay_input_close(in);
	return run;
}

/* One kernel, one copy, an allocation, a launch, a step, a range, and rows xprof derives. */
static void make_sample(assay_protow *space)
{
	plane_maker m = {0};
	make_stat(&m, "correlation_id", XSTAT_UINT64, 1ull << 40, NULL);
	make_stat(&m, "scope_range_id", XSTAT_INT64, (uint64_t)-5, NULL);
	make_stat(
		&m, "kernel_details", XSTAT_STR, 0,
		"regs:32 static_shared:16 dynamic_shared:1024 grid:8,2,1 block:128,1,1 occ_pct:50");
	make_event(&m, "gemm", 1000500, 2000000);
	make_stat(&m, "correlation_id", XSTAT_UINT64, 9, NULL);
	make_stat(&m, "memcpy_details", XSTAT_STR, 0, "kind_src:pinned kind_dst:device size:4096");
	make_event(&m, "MemcpyH2D", 4000000, 1000000);
	make_stat(&m, "memalloc_details", XSTAT_STR, 0, "kind:device num_bytes:64");
	make_event(&m, "MemoryAlloc", 4000000, 0);
	make_line(&m, 7, "Stream #7(Compute,MemcpyH2D)", 100);
	make_event(&m, "jit_step", 0, 9000000);
	make_line(&m, 1, "XLA Modules - from #7", 100);
	make_event(&m, "3", 0, 9000000);
	make_line(&m, -559038737, "Steps", 100);
	make_plane(&m, space, "/device:GPU:3");
	make_stat(&m, "correlation_id", XSTAT_UINT64, 1ull << 40, NULL);
	make_stat(&m, "scope_range_id", XSTAT_INT64, (uint64_t)-5, NULL);
	make_event(&m, "hipLaunchKernel", 0, 500000);
	make_stat(&m, "_r", XSTAT_INT64, 1, NULL);
	make_stat(&m, "step_num", XSTAT_INT64, 17, NULL);
	make_event(&m, "train", 0, 8000000);
	make_event(&m, "$file.py:1 f", 0, 8000000);
	make_event(&m, "Foo::Bar", 0, 8000000);
	make_line(&m, 42, "Host Threads/42", 100);
	make_event(&m, "my range", 0, 8000000);
	make_line(&m, 1ll << 32, "Host Threads/42/NVTX", 100);
	make_plane(&m, space, "/host:CPU");
	assay_protow tree = {0};
	assay_protow_varint(&m.stat, XSTAT_META, (uint64_t)-5);
	assay_protow_varint(&m.stat, XSTAT_INT64, 77);
	assay_protow_message(&tree, XPLANE_STATS, &m.stat);
	assay_protow_text(&tree, XPLANE_NAME, ASSAY_S(XPLANE_SCOPE_TREE));
	assay_protow_message(space, XSPACE_PLANES, &tree);
	assay_protow_free(&m.stat);
	assay_protow_free(&tree);
	make_plane(&m, space, "/host:something new");
	assay_protow_text(space, XSPACE_HOSTNAMES, ASSAY_S("node1"));
}

TEST(rows_come_from_planes)
{
	assay_protow space = {0};
	make_sample(&space);
	CHECK(assay_reader_xplane.sniff(assay_protow_data(&space)) > 90);
	assay_run *run = read_bytes(assay_protow_data(&space));
	const assay_tables *t = &run->part.t;
	CHECK(t->gpu.n == 2 && t->host.n == 5);
	CHECK(t->gpu.ts[0] == 1100 && t->gpu.dur[0] == 2000); /* 1000.5 and 3000.5 ns, both cut */
	CHECK(t->gpu.corr[0] == 1ull << 40 && t->gpu.regs[0] == 32 && t->gpu.shared[0] == 1040);
	CHECK(t->gpu.grid_x[0] == 8 && t->gpu.grid_y[0] == 2 && t->gpu.block_x[0] == 128);
	CHECK(t->gpu.kind[1] == ASSAY_GPU_MEMCPY && t->gpu.bytes[1] == 4096);
	static const assay_host_kind kinds[] = {ASSAY_HOST_RUNTIME, ASSAY_HOST_ANNOTATION,
						ASSAY_HOST_PYTHON, ASSAY_HOST_OP,
						ASSAY_HOST_MARKER};
	for (int i = 0; i < 5; i++)
		CHECK_EQ(t->host.kind[i], kinds[i]);
	CHECK(t->host.track[4] == t->host.track[0]); /* a band belongs to its thread */
	CHECK(t->step.n == 1 && t->step.number[0] == 17);
	CHECK(t->given_scope.n == 2 && t->given_scope.id[0] == -5 && t->given_scope.host[1] == 1);
	CHECK(t->given_link.n == 1 && t->given_link.child[0] == -5 &&
	      t->given_link.parent[0] == 77);
	CHECK(t->kept.n == 5); /* the plane, the band, the host's name, what lines count from */
	CHECK(assay_str_is(assay_meta_get(run, "hostname"), "node1"));
	assay_run_free(run);
	assay_protow_free(&space);
	return 0;
}

TEST(derived_rows_are_marks_and_no_work)
{
	assay_protow space = {0};
	make_sample(&space);
	assay_run *run = read_bytes(assay_protow_data(&space));
	const assay_tables *t = &run->part.t;
	CHECK(t->mark.n == 3 && t->gpu.n == 2); /* the allocation, the module, the step */
	CHECK(t->track.tid[t->mark.track[2]] == -559038737);
	assay_run_free(run);
	assay_protow_free(&space);
	return 0;
}

TEST(steps_come_from_the_first_device_when_no_thread_marked_them)
{
	assay_protow space = {0};
	plane_maker m = {0};
	for (int device = 1; device < 3; device++) {
		make_event(&m, "4", 0, 9000000);
		make_event(&m, "5", 9000000, 9000000);
		make_line(&m, -559038737, "Steps", 0);
		make_plane(&m, &space, device == 1 ? "/device:GPU:6" : "/device:GPU:2");
	}
	assay_run *run = read_bytes(assay_protow_data(&space));
	const assay_step_table *s = &run->part.t.step;
	CHECK(s->n == 2 && s->number[0] == 4 && s->number[1] == 5 && s->ts[1] == 9000);
	assay_run_free(run);
	assay_protow_free(&space);
	return 0;
}

/* Numbers of devices come from names and are never made dense. */
TEST(an_idle_device_0_does_not_renumber_the_others)
{
	assay_protow space = {0};
	make_sample(&space);
	assay_run *run = read_bytes(assay_protow_data(&space));
	CHECK(run->part.t.device.n == 1 && run->part.t.device.id[0] == 3);
	CHECK(run->part.t.track.pid[run->part.t.gpu.track[0]] == 3);
	assay_run_free(run);
	assay_protow_free(&space);
	return 0;
}

TEST(amd_grids_in_blocks_become_work_items)
{
	for (int blocks = 0; blocks < 2; blocks++) {
		assay_protow space = {0};
		plane_maker m = {0};
		make_stat(&m, "kernel_details", XSTAT_STR, 0,
			  blocks ? " grid:16,1,1 block:512,1,1 private_mem:0 group_mem:64"
				 : " grid:8192,1,1 block:512,1,1 private_mem:0 group_mem:64");
		make_event(&m, "k", 0, 5);
		make_line(&m, 1, "Stream #1", 0);
		assay_protow_varint(&m.stat, XSTAT_META,
				    make_meta(&m, XPLANE_STAT_META, "device_vendor"));
		assay_protow_text(&m.stat, XSTAT_STR, ASSAY_S("AMD"));
		assay_protow_message(&m.plane, XPLANE_STATS, &m.stat);
		make_plane(&m, &space, "/device:GPU:0");
		assay_run *run = read_bytes(assay_protow_data(&space));
		const assay_gpu_table *g = &run->part.t.gpu;
		CHECK(g->n == 1 && g->grid_x[0] == 8192 && g->shared[0] == 64 &&
		      g->scratch[0] == 0);
		CHECK(assay_str_is(assay_text(run, run->part.t.device.vendor[0]), "amd"));
		assay_run_free(run);
		assay_protow_free(&space);
	}
	return 0;
}

TEST(a_file_cut_anywhere_keeps_whole_events)
{
	assay_protow space = {0};
	make_sample(&space);
	assay_str all = assay_protow_data(&space);
	size_t most = 0;
	for (size_t n = 0; n < all.n; n++) {
		assay_run *run = read_bytes((assay_str){all.p, n});
		const assay_tables *t = &run->part.t;
		size_t rows = t->gpu.n + t->mark.n + t->host.n;
		CHECK(rows >= most); /* more bytes, never fewer rows */
		CHECK(rows <= 10);
		most = rows;
		assay_run_free(run);
	}
	CHECK_EQ(most, 10);
	assay_protow_free(&space);
	return 0;
}

TEST(hostile_bytes_are_counted_and_survived)
{
	static const assay_str cases[] = {
		{"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7f/", 11},
		{"\x0a\x04\x12\xff\xff\xff", 6},
		{"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 11},
		{"\x0b", 1},
	};
	for (size_t i = 0; i < ASSAY_COUNT_OF(cases); i++) {
		assay_run *run = read_bytes(cases[i]);
		CHECK(run->part.issues[ASSAY_ISSUE_truncated] +
		      run->part.issues[ASSAY_ISSUE_bad_record]);
		CHECK(run->part.t.gpu.n == 0);
		assay_run_free(run);
	}
	/* every single byte of a good file, flipped */
	assay_protow space = {0};
	make_sample(&space);
	for (size_t i = 0; i < space.out.n; i++) {
		space.out.p[i] ^= (char)0xff;
		assay_run_free(read_bytes(assay_protow_data(&space)));
		space.out.p[i] ^= (char)0xff;
	}
	assay_protow_free(&space);
	return 0;
}

/* A few bytes of an event can ask for any number of long names: in many events, or in one. */
TEST(long_names_are_written_while_the_file_may_ask_for_them)
{
	enum { NAME = 100000, STATS = 5000 };
	static char name[NAME + 1];
	memset(name, 'n', NAME);
	for (int in_one = 0; in_one < 2; in_one++) {
		assay_protow space = {0};
		plane_maker m = {0};
		uint64_t meta = make_meta(&m, XPLANE_STAT_META, name);
		for (int i = 0; i < STATS; i++) {
			assay_protow_varint(&m.stat, XSTAT_META, meta);
			assay_protow_varint(&m.stat, XSTAT_INT64, (uint64_t)i);
			assay_protow_message(&m.event, XEVENT_STATS, &m.stat);
			if (!in_one || i == STATS - 1)
				make_event(&m, "e", i, 1);
		}
		make_line(&m, 1, "thread", 0);
		make_plane(&m, &space, "/host:CPU");
		assay_run *run = read_bytes(assay_protow_data(&space));
		const assay_host_table *h = &run->part.t.host;
		size_t written = 0;
		for (size_t i = 0; i < h->n; i++)
			written += assay_text(run, h->args[i]).n;
		CHECK_EQ(h->n, in_one ? 1 : STATS);
		CHECK(written > ASSAY_LIMIT_ARGS / 2);
		CHECK(written <= ASSAY_LIMIT_ARGS + ASSAY_LIMIT_ARGS_RATIO * space.out.n);
		CHECK_EQ(run->part.issues[ASSAY_ISSUE_wide_value], STATS - written / NAME);
		assay_run_free(run);
		assay_protow_free(&space);
	}
	return 0;
}

TEST(other_text_is_not_xplane)
{
	CHECK(!assay_reader_xplane.sniff(ASSAY_S("\n{\"traceEvents\": []}")));
	CHECK(!assay_reader_xplane.sniff(ASSAY_S("{\"a\": 1}")));
	CHECK(!assay_reader_xplane.sniff((assay_str){"", 0}));
	return 0;
}

TEST(the_bundled_jax_profile_reads_in_full)
{
	assay_run *run = assay_run_new();
	if (!assay_read_path(run, "tests/xplane/jax.xplane.pb.gz", NULL)) {
		assay_run_free(run);
		return 77;
	}
	const assay_tables *t = &run->part.t;
	CHECK(t->gpu.n == 240 && t->host.n == 458 && t->step.n == 5);
	int64_t sum = 0;
	for (size_t i = 0; i < t->gpu.n; i++)
		sum += t->gpu.dur[i];
	CHECK_EQ(sum, 3252681); /* ns, added up from the file by other means */
	CHECK(t->given_scope.n == 240 + 97 && t->device.units[0] == 132);
	CHECK(t->source.base[0] == 1794709255007941979 && t->source.epoch[0] == 1);
	for (int i = 0; i < ASSAY_ISSUE_COUNT; i++)
		CHECK_EQ(run->part.issues[i], 0);
	assay_run_free(run);
	return 0;
}
