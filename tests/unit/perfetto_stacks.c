/* Samples and stacks of other writers of Perfetto's format: perf's, Chrome's, and stacks of
 * events. */
#include "perfetto_maker.h"

static void interned_text(maker *m, unsigned kind, uint64_t iid, const char *text)
{
	assay_protow_varint(&m->inner, PF_NAMED_IID, iid);
	assay_protow_string(&m->inner, PF_NAMED_TEXT, assay_str_of(text));
	assay_protow_message(&m->message, kind, &m->inner);
}

static void interned_frame(maker *m, uint64_t iid, uint64_t function, uint64_t mapping, uint64_t pc)
{
	assay_protow_varint(&m->inner, PF_FRAME_IID, iid);
	assay_protow_varint(&m->inner, PF_FRAME_FUNCTION, function);
	assay_protow_varint(&m->inner, PF_FRAME_MAPPING, mapping);
	assay_protow_varint(&m->inner, PF_FRAME_PC, pc);
	assay_protow_message(&m->message, PF_INTERNED_FRAME, &m->inner);
}

static void interned_mapping(maker *m, uint64_t iid, const uint64_t *path, size_t n)
{
	assay_protow_varint(&m->inner, PF_MAPPING_IID, iid);
	for (size_t i = 0; i < n; i++)
		assay_protow_varint(&m->inner, PF_MAPPING_PATH, path[i]);
	assay_protow_message(&m->message, PF_INTERNED_MAPPING, &m->inner);
}

/* Stack 30: main of train.py, forward of layers.py, then mm of /usr/lib/libx.so. What is referred
 * to stands behind what refers to it. */
static void interned(maker *m)
{
	static const uint64_t x[] = {20, 21, 22}, main_file[] = {23}, layers[] = {24};
	frame(m, 1, PF_STATE_CLEARED, 0);
	assay_protow_varint(&m->inner, PF_STACK_IID, 30);
	assay_protow_bytes(&m->inner, PF_STACK_FRAMES, ASSAY_S("\x01\x02\x03")); /* packed */
	assay_protow_message(&m->message, PF_INTERNED_STACK, &m->inner);
	interned_frame(m, 1, 10, 41, 0);
	interned_frame(m, 2, 11, 42, 0);
	interned_frame(m, 3, 12, 40, 0x1234);
	interned_mapping(m, 40, x, 3);
	interned_mapping(m, 41, main_file, 1);
	interned_mapping(m, 42, layers, 1);
	interned_text(m, PF_INTERNED_FUNCTION, 10, "main");
	interned_text(m, PF_INTERNED_FUNCTION, 11, "forward");
	interned_text(m, PF_INTERNED_FUNCTION, 12, "mm");
	interned_text(m, PF_INTERNED_PATH, 20, "usr");
	interned_text(m, PF_INTERNED_PATH, 21, "lib");
	interned_text(m, PF_INTERNED_PATH, 22, "libx.so");
	interned_text(m, PF_INTERNED_PATH, 23, "/home/me/train.py");
	interned_text(m, PF_INTERNED_PATH, 24, "/home/me/layers.py");
	assay_protow_message(&m->packet, PF_PACKET_INTERNED, &m->message);
	end_packet(m);
}

static void perf_sample(maker *m, uint64_t ts, uint64_t stack, uint64_t mode)
{
	frame(m, 1, PF_STATE_NEEDED, ts);
	assay_protow_varint(&m->message, PF_SAMPLE_PID, 7);
	assay_protow_varint(&m->message, PF_SAMPLE_TID, 8);
	assay_protow_varint(&m->message, PF_SAMPLE_STACK, stack);
	assay_protow_nonzero(&m->message, PF_SAMPLE_MODE, mode);
	assay_protow_message(&m->packet, PF_PACKET_SAMPLE, &m->message);
	end_packet(m);
}

static bool is_call(const assay_run *run, uint32_t stack, const char *function, const char *file)
{
	const assay_tables *t = &run->part.t;
	if (stack == ASSAY_NO_ROW)
		return false;
	uint32_t code = t->stack.code[stack];
	return is(run, t->code.function[code], function) && is(run, t->code.file[code], file);
}

/* The stack of interned(): which rows it became. */
static bool is_whole(const assay_run *run, uint32_t stack)
{
	return is_call(run, stack, "forward", "/home/me/layers.py") &&
	       is_call(run, run->part.t.stack.caller[stack], "main", "/home/me/train.py");
}

TEST(samples_of_perf_have_their_thread_and_both_stacks)
{
	maker m = {0};
	interned(&m);
	frame(&m, 1, 0, 0);
	assay_protow_varint(&m.inner, PF_TREE_TID, 8);
	assay_protow_string(&m.inner, PF_TREE_NAME, ASSAY_S("worker"));
	assay_protow_varint(&m.inner, PF_TREE_TGID, 7);
	assay_protow_message(&m.message, PF_TREE_THREAD, &m.inner);
	assay_protow_message(&m.packet, PF_PACKET_PROCESS_TREE, &m.message);
	end_packet(&m);
	perf_sample(&m, 1000, 30, PF_USER_MODE);
	perf_sample(&m, 2000, 30, 0);
	perf_sample(&m, 3000, 99, 0); /* a stack that was never told */
	assay_run *run = read_back(&m);
	CHECK(run);
	const assay_tables *t = &run->part.t;
	const assay_sample_table *s = &t->sample;
	CHECK_EQ(s->n, 3);
	CHECK(s->ts[0] == 1000 && s->dur[0] == 0 && s->count[0] == 1);
	CHECK_EQ(s->state[0], ASSAY_THREAD_RUNNING);
	CHECK_EQ(s->state[1], ASSAY_THREAD_UNKNOWN); /* who does not say so may have slept */
	CHECK(t->track.pid[s->track[0]] == 7 && t->track.tid[s->track[0]] == 8);
	CHECK(is(run, t->track.name[s->track[0]], "worker"));
	CHECK(is_whole(run, s->stack[0]) && s->stack[1] == s->stack[0]);
	CHECK(is_call(run, s->calls[0], "mm", "/usr/lib/libx.so"));
	CHECK_EQ(s->native[0], t->stack.code[s->calls[0]]);
	CHECK_EQ(t->code.offset[s->native[0]],
		 -1); /* where it was, not where the function begins */
	CHECK_EQ(s->stack[2], ASSAY_NO_ROW);
	CHECK_EQ(run->part.issues[ASSAY_ISSUE_bad_record], 1);
	assay_run_free(run);
	return 0;
}

TEST(samples_that_perf_lost_are_counted)
{
	enum { LOST = 17, SKIPPED = 18 };
	maker m = {0};
	interned(&m);
	perf_sample(&m, 1000, 30, PF_USER_MODE);
	for (unsigned field = LOST; field <= SKIPPED; field++) {
		frame(&m, 1, PF_STATE_NEEDED, 2000);
		assay_protow_varint(&m.message, field, 5);
		assay_protow_message(&m.packet, PF_PACKET_SAMPLE, &m.message);
		end_packet(&m);
	}
	assay_run *run = read_back(&m);
	CHECK(run && run->part.t.sample.n == 1);
	CHECK_EQ(run->part.issues[ASSAY_ISSUE_lost_records], 6);
	assay_run_free(run);
	return 0;
}

TEST(samples_of_chrome_are_of_the_thread_of_their_sequence)
{
	maker m = {0};
	interned(&m);
	frame(&m, 1, 0, 0);
	assay_protow_varint(&m.message, PF_THREAD_PID, 40);
	assay_protow_varint(&m.message, PF_THREAD_TID, 41);
	assay_protow_varint(&m.message, PF_THREAD_REFERENCE_US, 1000);
	assay_protow_message(&m.packet, PF_PACKET_THREAD, &m.message);
	end_packet(&m);
	frame(&m, 1, PF_STATE_NEEDED, 0);
	for (int i = 0; i < 3; i++)
		assay_protow_varint(&m.message, PF_STREAMED_STACK, 30);
	assay_protow_varint(&m.message, PF_STREAMED_DELTA_US, 10);
	assay_protow_varint(&m.message, PF_STREAMED_DELTA_US, 5);
	assay_protow_message(&m.packet, PF_PACKET_STREAMED, &m.message);
	end_packet(&m);
	assay_run *run = read_back(&m);
	CHECK(run);
	const assay_sample_table *s = &run->part.t.sample;
	CHECK_EQ(s->n, 2); /* the third has no time */
	CHECK(s->ts[0] == 1010000 && s->ts[1] == 1015000);
	CHECK_EQ(run->part.t.track.tid[s->track[1]], 41);
	CHECK(is_whole(run, s->stack[1]));
	assay_run_free(run);
	return 0;
}

TEST(calls_have_the_stack_of_their_event_by_number_or_written_out)
{
	maker m = {0};
	interned(&m);
	thread(&m, 5, 7, 8, "main");
	frame(&m, 1, PF_STATE_NEEDED, 100);
	assay_protow_varint(&m.message, PF_EVENT_STACK_IID, 30);
	event(&m, 5, PF_SLICE_BEGIN, "cuda_runtime", "cudaLaunchKernel");
	frame(&m, 1, PF_STATE_NEEDED, 200);
	event(&m, 5, PF_SLICE_END, NULL, NULL);
	frame(&m, 1, PF_STATE_NEEDED, 300);
	assay_protow callstack = {0};
	assay_protow_string(&m.inner, PF_INLINE_FUNCTION, ASSAY_S("loop"));
	assay_protow_string(&m.inner, PF_INLINE_FILE, ASSAY_S("b.py"));
	assay_protow_varint(&m.inner, PF_INLINE_LINE, 12);
	assay_protow_message(&callstack, PF_INLINE_FRAME, &m.inner);
	assay_protow_message(&m.message, PF_EVENT_CALLSTACK, &callstack);
	event(&m, 5, PF_SLICE_BEGIN, "cuda_runtime", "cudaMemcpyAsync");
	frame(&m, 1, PF_STATE_NEEDED, 400);
	event(&m, 5, PF_SLICE_END, NULL, NULL);
	assay_run *run = read_back(&m);
	CHECK(run && run->part.t.api.n == 2);
	const assay_tables *t = &run->part.t;
	CHECK(is_call(run, t->api.stack[0], "mm", "/usr/lib/libx.so"));
	CHECK(is_whole(run, t->stack.caller[t->api.stack[0]]));
	CHECK(is_call(run, t->api.stack[1], "loop", "b.py"));
	CHECK_EQ(t->stack.line[t->api.stack[1]], 12);
	assay_protow_free(&callstack);
	assay_run_free(run);
	return 0;
}
