/* Perfetto traces as other writers make them, packet by packet; and our own, read back. */
#include <stdlib.h>

#include "base/pack.h"
#include "resolve/resolve.h"
#include "perfetto_maker.h"
#include "write/writer.h"

/* A call and its kernel, as rocprofv3 writes them. */
static void make_rocprof(maker *m)
{
	frame(m, 1, PF_STATE_CLEARED, 0);
	thread(m, 10, 77, 78, "main");
	frame(m, 1, PF_STATE_NEEDED, 0);
	track(m, 20, "COMPUTE Agent [2] QUEUE [1] GPU");
	frame(m, 1, PF_STATE_NEEDED, 1000);
	note_int(m, "corr_id", 5);
	note_int(m, "begin_ns", 1000);
	note_int(m, "ancestor_id", 9);
	event(m, 10, PF_SLICE_BEGIN, "hip_api", "hipLaunchKernel");
	frame(m, 1, PF_STATE_NEEDED, 1100);
	event(m, 10, PF_SLICE_END, NULL, NULL);
	frame(m, 1, PF_STATE_NEEDED, 1200);
	note_int(m, "corr_id", 5);
	note_int(m, "end_ns", 1500);
	note_int(m, "stream_ID", 3);
	note_text(m, "agent", "Agent-2");
	note_int(m, "VGPR_Count", 32);
	note_int(m, "grid_size", 4096);
	note_text(m, "workgroup_size", "64 (x=32, y=2, z=1)");
	event(m, 20, PF_SLICE_BEGIN, "kernel_dispatch", "gemm");
	frame(m, 1, PF_STATE_NEEDED, 1500);
	event(m, 20, PF_SLICE_END, NULL, NULL);
}

TEST(a_kernel_of_rocprofv3_has_its_call_stream_and_sizes)
{
	maker m = {0};
	make_rocprof(&m);
	assay_run *run = read_back(&m);
	CHECK(run != NULL);
	const assay_tables *t = &run->part.t;
	CHECK(t->gpu.n == 1 && t->host.n == 1);
	CHECK(t->gpu.ts[0] == 1200 && t->gpu.dur[0] == 300 && is(run, t->gpu.name[0], "gemm"));
	CHECK(t->track.pid[t->gpu.track[0]] == 2 && t->track.tid[t->gpu.track[0]] == 3);
	CHECK(t->gpu.regs[0] == 32 && t->gpu.block_x[0] == 32 && t->gpu.block_y[0] == 2);
	/* a product is no shape: it stays text */
	CHECK(t->gpu.grid_x[0] == 0 && is(run, t->gpu.args[0], "\"grid_size\": 4096"));
	CHECK(t->host.kind[0] == ASSAY_HOST_RUNTIME && t->host.dur[0] == 100);
	CHECK(is(run, t->host.args[0], "\"ancestor_id\": 9"));
	CHECK(t->track.pid[t->host.track[0]] == 77 && t->track.tid[t->host.track[0]] == 78);
	assay_link(run);
	CHECK_EQ(run->part.t.launch.host[0], 0);
	assay_run_free(run);
	return 0;
}

TEST(packets_inside_a_packed_one_are_read)
{
	maker m = {0}, packed = {0};
	assay_blob deflated = {0};
	make_rocprof(&m);
	/* a zlib stream is a head, raw deflate and a checksum */
	assay_str s = assay_protow_data(&m.trace);
	uint32_t a = 1, b = 0;
	for (size_t i = 0; i < s.n; i++) {
		a = (a + (uint8_t)s.p[i]) % 65521;
		b = (b + a) % 65521;
	}
	*assay_push(&deflated) = 0x78;
	*assay_push(&deflated) = 0x9c;
	assay_deflate(&deflated, (const uint8_t *)s.p, s.n);
	uint32_t sum = b << 16 | a;
	for (int shift = 24; shift >= 0; shift -= 8)
		*assay_push(&deflated) = (uint8_t)(sum >> shift);
	assay_protow_bytes(&packed.packet, PF_PACKET_ZLIB,
			   (assay_str){(const char *)deflated.p, deflated.n});
	end_packet(&packed);
	assay_run *plain = read_back(&m), *run = read_back(&packed);
	CHECK(plain && run);
	CHECK(run->part.t.gpu.n == 1 && run->part.t.gpu.dur[0] == plain->part.t.gpu.dur[0]);
	CHECK_EQ(run->part.t.host.n, plain->part.t.host.n);
	CHECK_EQ(run->part.issues[ASSAY_ISSUE_bad_record], 0);
	assay_vec_free(&deflated);
	assay_run_free(plain);
	assay_run_free(run);
	return 0;
}

static void clock_reading(maker *m, uint64_t id, uint64_t time, bool incremental)
{
	assay_protow_varint(&m->inner, PF_CLOCK_ID, id);
	assay_protow_varint(&m->inner, PF_CLOCK_TIME, time);
	assay_protow_nonzero(&m->inner, PF_CLOCK_INCREMENTAL, incremental);
	assay_protow_message(&m->message, PF_CLOCKS_CLOCK, &m->inner);
}

/* As Perfetto's SDK writes: names interned, a clock that counts on from packet to packet. */
TEST(a_sequence_counts_its_own_clock_and_names)
{
	maker m = {0};
	clock_reading(&m, PF_BOOTTIME, 1000000, false);
	clock_reading(&m, 64, 0, true);
	clock_reading(&m, PF_REALTIME, 1700000000000000000, false);
	assay_protow_message(&m.packet, PF_PACKET_CLOCKS, &m.message);
	assay_protow_varint(&m.message, PF_DEFAULT_CLOCK, 64);
	assay_protow_varint(&m.inner, PF_EVENT_TRACK, 10);
	assay_protow_message(&m.message, PF_DEFAULT_EVENT, &m.inner);
	assay_protow_message(&m.packet, PF_PACKET_DEFAULTS, &m.message);
	assay_protow_varint(&m.packet, PF_PACKET_SEQUENCE, 4);
	assay_protow_varint(&m.packet, PF_PACKET_FLAGS, PF_STATE_CLEARED);
	end_packet(&m);
	frame(&m, 4, PF_STATE_NEEDED, 500);
	assay_protow_varint(&m.inner, PF_NAMED_IID, 7);
	assay_protow_string(&m.inner, PF_NAMED_TEXT, ASSAY_S("step"));
	assay_protow_message(&m.message, PF_INTERNED_NAME, &m.inner);
	assay_protow_message(&m.packet, PF_PACKET_INTERNED, &m.message);
	assay_protow_varint(&m.message, PF_EVENT_TYPE, PF_SLICE_BEGIN);
	assay_protow_varint(&m.message, PF_EVENT_NAME_IID, 7);
	assay_protow_message(&m.packet, PF_PACKET_EVENT, &m.message);
	end_packet(&m);
	frame(&m, 4, PF_STATE_NEEDED, 250);
	assay_protow_varint(&m.message, PF_EVENT_TYPE, PF_SLICE_END);
	assay_protow_message(&m.packet, PF_PACKET_EVENT, &m.message);
	end_packet(&m);
	assay_run *run = read_back(&m);
	CHECK(run != NULL);
	const assay_tables *t = &run->part.t;
	CHECK(t->host.n == 1 && is(run, t->host.name[0], "step"));
	CHECK(t->host.ts[0] == 1000500 && t->host.dur[0] == 250);
	CHECK(t->source.epoch[0] == 1 && t->source.base[0] == 1700000000000000000 - 1000000);
	assay_run_free(run);
	return 0;
}

TEST(packets_that_need_a_lost_state_are_counted_and_left_out)
{
	maker m = {0};
	frame(&m, 1, PF_STATE_CLEARED, 0);
	thread(&m, 10, 1, 1, "t");
	frame(&m, 1, PF_STATE_NEEDED, 10);
	assay_protow_varint(&m.packet, PF_PACKET_DROPPED, 1);
	event(&m, 10, PF_INSTANT, "c", "lost");
	frame(&m, 1, PF_STATE_CLEARED, 20);
	event(&m, 10, PF_INSTANT, "c", "kept");
	assay_run *run = read_back(&m);
	CHECK(run && run->part.t.host.n == 1 && is(run, run->part.t.host.name[0], "kept"));
	CHECK_EQ(run->part.issues[ASSAY_ISSUE_lost_records], 1);
	assay_run_free(run);
	return 0;
}

TEST(slices_pair_by_time_on_their_track_whatever_the_order_of_packets)
{
	maker m = {0};
	frame(&m, 1, 0, 30);
	event(&m, 10, PF_SLICE_END, NULL, NULL);
	frame(&m, 1, 0, 20);
	event(&m, 10, PF_SLICE_END, NULL, NULL);
	frame(&m, 1, 0, 10);
	event(&m, 10, PF_SLICE_BEGIN, "c", "inner");
	frame(&m, 1, 0, 5);
	event(&m, 10, PF_SLICE_BEGIN, "c", "outer");
	frame(&m, 1, 0, 40);
	event(&m, 10, PF_SLICE_BEGIN, "c", "open");
	frame(&m, 1, 0, 50);
	event(&m, 11, PF_SLICE_END, NULL, NULL);
	assay_run *run = read_back(&m);
	CHECK(run && run->part.t.host.n == 3);
	const assay_host_table *h = &run->part.t.host;
	CHECK(h->dur[0] == 10 && h->dur[1] == 25 && h->dur[2] == 10);
	CHECK(is(run, h->args[2], "\"open_end\": true"));
	CHECK_EQ(run->part.issues[ASSAY_ISSUE_unmatched_begin], 1);
	CHECK_EQ(run->part.issues[ASSAY_ISSUE_unmatched_end], 1);
	assay_run_free(run);
	return 0;
}

TEST(a_counter_that_tells_differences_is_summed_in_its_unit)
{
	maker m = {0};
	frame(&m, 1, 0, 0);
	assay_protow_varint(&m.message, PF_TRACK_UUID, 30);
	assay_protow_string(&m.message, PF_TRACK_NAME, ASSAY_S("SCRATCH MEMORY on Agent [1]"));
	assay_protow_varint(&m.inner, PF_COUNTER_MULTIPLIER, 1024);
	assay_protow_varint(&m.inner, PF_COUNTER_INCREMENTAL, 1);
	assay_protow_message(&m.message, PF_TRACK_COUNTER, &m.inner);
	assay_protow_message(&m.packet, PF_PACKET_TRACK, &m.message);
	end_packet(&m);
	for (uint64_t i = 1; i <= 2; i++) {
		frame(&m, 1, 0, i);
		assay_protow_varint(&m.message, PF_EVENT_INT_VALUE, i);
		event(&m, 30, PF_COUNTER, NULL, NULL);
	}
	assay_run *run = read_back(&m);
	CHECK(run && run->part.t.counter.n == 2);
	const assay_counter_table *c = &run->part.t.counter;
	CHECK(c->value[0] == 1024 && c->value[1] == 3072);
	CHECK(run->part.t.track.pid[c->track[1]] == 1);
	CHECK(is(run, c->name[1], "SCRATCH MEMORY on Agent [1]"));
	assay_run_free(run);
	return 0;
}

/* What CUDA and HIP producers of Perfetto write: stages with a kernel and a launch. */
TEST(a_render_stage_is_a_kernel_with_its_grid)
{
	maker m = {0};
	frame(&m, 1, PF_STATE_CLEARED, 0);
	assay_protow_varint(&m.inner, PF_NAMED_IID, 9);
	assay_protow_string(&m.inner, PF_NAMED_TEXT, ASSAY_S("_Z4gemmi"));
	assay_protow_string(&m.inner, PF_KERNEL_DEMANGLED, ASSAY_S("gemm(int)"));
	assay_protow_message(&m.message, PF_INTERNED_KERNEL, &m.inner);
	assay_protow_message(&m.packet, PF_PACKET_INTERNED, &m.message);
	end_packet(&m);
	frame(&m, 1, PF_STATE_NEEDED, 100);
	assay_protow grid = {0};
	assay_protow_varint(&grid, 1, 256);
	assay_protow_message(&m.inner, PF_LAUNCH_GRID, &grid);
	assay_protow_varint(&m.message, PF_STAGE_ID, 0);
	assay_protow_varint(&m.message, PF_STAGE_DURATION, 50);
	assay_protow_varint(&m.message, PF_STAGE_QUEUE, 4);
	assay_protow_varint(&m.message, PF_STAGE_GPU, 1);
	assay_protow_varint(&m.message, PF_STAGE_KERNEL, 9);
	assay_protow_message(&m.message, PF_STAGE_LAUNCH, &m.inner);
	assay_protow_message(&m.packet, PF_PACKET_GPU_STAGE, &m.message);
	end_packet(&m);
	frame(&m, 1, PF_STATE_NEEDED, 10);
	assay_protow_varint(&m.inner, 1, 0);
	assay_protow_message(&m.message, PF_EVENT_GPU, &m.inner);
	event(&m, 10, PF_SLICE_BEGIN, "cuda_runtime", "cudaLaunchKernel");
	assay_run *run = read_back(&m);
	CHECK(run && run->part.t.gpu.n == 1);
	const assay_gpu_table *g = &run->part.t.gpu;
	CHECK(g->ts[0] == 100 && g->dur[0] == 50 && is(run, g->name[0], "gemm(int)"));
	CHECK(g->grid_x[0] == 256 && g->grid_y[0] == 1 && run->part.t.track.pid[g->track[0]] == 1);
	assay_link(run);
	CHECK_EQ(run->part.t.launch.host[0], 0);
	assay_protow_free(&grid);
	assay_run_free(run);
	return 0;
}

TEST(a_cut_trace_keeps_what_is_whole_and_other_protobuf_is_not_taken)
{
	maker m = {0};
	make_rocprof(&m);
	assay_str s = assay_protow_data(&m.trace);
	assay_run *run = assay_read_bytes(&assay_reader_perfetto, s.p, s.n - 3);
	CHECK(run && run->part.t.gpu.n == 1);
	CHECK_EQ(run->part.issues[ASSAY_ISSUE_truncated], 1);
	CHECK_EQ(run->part.issues[ASSAY_ISSUE_unmatched_begin], 1);
	assay_run_free(run);
	assay_run_free(read_back(&m));
	CHECK_EQ(assay_reader_perfetto.sniff((assay_str){"", 0}), 0);
	CHECK_EQ(assay_reader_perfetto.sniff(ASSAY_S("\x0a\x06\x12\x04/hos")), 0);
	CHECK_EQ(assay_reader_perfetto.sniff(ASSAY_S("\nhello")), 0);
	return 0;
}

/* Two processes with the same ids, written into one file: they stay two. */
TEST(processes_of_one_file_of_ours_keep_their_calls_apart)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	for (int rank = 0; rank < 2; rank++) {
		uint32_t source = run->part.source = assay_add(t, ASSAY_T_source);
		t->source.group[source] = source;
		t->source.rank[source] = rank;
		uint32_t h = assay_add(t, ASSAY_T_host), a = assay_add(t, ASSAY_T_api);
		uint32_t g = assay_add(t, ASSAY_T_gpu), d = assay_add(t, ASSAY_T_device);
		t->host.kind[h] = ASSAY_HOST_RUNTIME;
		t->host.detail[h] = a;
		t->host.name[h] = assay_sid_of(run, rank ? "call of 1" : "call of 0");
		t->host.track[h] = assay_thread_track(&run->part, 100, 100);
		t->host.ts[h] = 10;
		t->host.dur[h] = 5;
		t->api.corr[a] = t->gpu.corr[g] = 7;
		t->gpu.track[g] = assay_stream_track(&run->part, 0, 7);
		t->gpu.name[g] = assay_sid_of(run, "k");
		t->gpu.ts[g] = 20;
		t->gpu.dur[g] = 5;
		t->device.source[d] = source;
		t->device.id[d] = 0;
		t->device.name[d] = assay_sid_of(run, rank ? "B" : "A");
	}
	char *text;
	size_t n;
	FILE *out = open_memstream(&text, &n);
	CHECK(assay_write_run(&assay_writer_perfetto, run, out, NULL, NULL));
	fclose(out);
	assay_run *back = assay_read_bytes(&assay_reader_perfetto, text, n);
	CHECK(back && back->part.t.source.n == 2 && back->part.t.gpu.n == 2);
	assay_link(back);
	t = &back->part.t;
	for (uint32_t g = 0; g < 2; g++) {
		uint32_t source = t->track.source[t->gpu.track[g]], h = t->launch.host[g];
		int rank = t->source.rank[source];
		CHECK(rank == 0 || rank == 1);
		CHECK(is(back, t->host.name[h], rank ? "call of 1" : "call of 0"));
		for (size_t d = 0; d < t->device.n; d++)
			if (t->device.source[d] == source)
				CHECK(is(back, t->device.name[d], rank ? "B" : "A"));
	}
	free(text);
	assay_run_free(back);
	assay_run_free(run);
	return 0;
}

/* Processes that nobody numbered, and the number 0, which Perfetto keeps for the idle process. */
TEST(work_of_ours_finds_its_call_whatever_number_its_process_has)
{
	static const int64_t numbers[] = {0, -1, 100};
	for (size_t i = 0; i < ASSAY_COUNT_OF(numbers); i++) {
		assay_run *run = assay_run_new();
		assay_tables *t = &run->part.t;
		uint32_t h = assay_add(t, ASSAY_T_host), a = assay_add(t, ASSAY_T_api);
		uint32_t g = assay_add(t, ASSAY_T_gpu);
		t->host.kind[h] = ASSAY_HOST_RUNTIME;
		t->host.detail[h] = a;
		t->host.name[h] = assay_sid_of(run, "cudaLaunchKernel");
		t->host.track[h] = assay_thread_track(&run->part, numbers[i], 1);
		t->host.dur[h] = 5;
		t->api.corr[a] = t->gpu.corr[g] = 7;
		t->gpu.track[g] = assay_stream_track(&run->part, 0, 7);
		t->gpu.name[g] = assay_sid_of(run, "k");
		t->gpu.ts[g] = 20;
		t->gpu.dur[g] = 5;
		char *text;
		size_t n;
		FILE *out = open_memstream(&text, &n);
		CHECK(assay_write_run(&assay_writer_perfetto, run, out, NULL, NULL));
		fclose(out);
		assay_run *back = assay_read_bytes(&assay_reader_perfetto, text, n);
		CHECK(back && back->part.t.source.n == 1 && back->part.t.gpu.n == 1);
		assay_link(back);
		CHECK_EQ(back->part.t.launch.host[0], 0);
		free(text);
		assay_run_free(back);
		assay_run_free(run);
	}
	return 0;
}
