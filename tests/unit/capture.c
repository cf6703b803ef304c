/* Captures written by hand, read back. */
#include "capture_maker.h"

static void put_mark(builder *b, int64_t time, const char *text)
{
	assay_wire_range g = {
		.time = time, .op = ASSAY_WIRE_RANGE_MARK, .length = (uint16_t)strlen(text)};
	put(b, ASSAY_WIRE_RANGE, &g, sizeof g, text);
}

TEST(waits_join_their_record_by_sync_id_in_any_order)
{
	builder b = {0};
	put_start(&b);
	assay_wire_sync s = {.start = 10,
			     .end = 20,
			     .corr = 9,
			     .event = 4,
			     .sync_id = 88,
			     .kind = ASSAY_WIRE_SYNC_STREAM_WAIT,
			     .context = 1,
			     .stream = 13};
	put(&b, ASSAY_WIRE_SYNC, &s, sizeof s, NULL);
	assay_wire_event e = {
		.corr = 6, .event = 4, .sync_id = 88, .device = 3, .context = 1, .stream = 21};
	put(&b, ASSAY_WIRE_EVENT, &e, sizeof e, NULL);
	put_chunk(&b, 0, 0);
	assay_run *run = read_bytes(b.bytes, b.n);
	const assay_tables *t = &run->part.t;
	CHECK_EQ(t->sync.n, 1);
	CHECK_EQ(t->sync.wait_stream[0], 21);
	CHECK_EQ(t->sync.record_corr[0], 6);
	CHECK_EQ(t->track.pid[t->sync.track[0]], 3);
	CHECK_EQ(t->track.tid[t->sync.track[0]], 13);
	CHECK_EQ(t->source.base[0], 4000);
	assay_run_free(run);
	return 0;
}

TEST(a_product_is_an_operator_with_the_arguments_of_a_framework)
{
	builder b = {0};
	put_start(&b);
	put_string(&b, 2, "cublasSgemm_v2");
	assay_wire_api_name name = {.function = 3, .domain = ASSAY_WIRE_BLAS, .name = 2};
	put(&b, ASSAY_WIRE_API_NAME, &name, sizeof name, NULL);
	assay_wire_product p = {.start = 10,
				.end = 20,
				.m = 4,
				.n = 5,
				.k = 6,
				.batch = 1,
				.function = 3,
				.type_b = 999,
				.library = ASSAY_WIRE_CUBLAS,
				.compute = 77,
				.trans_b = 1};
	put(&b, ASSAY_WIRE_PRODUCT, &p, sizeof p, NULL);
	p.m = 0; /* the library did not say */
	p.function = 4;
	put(&b, ASSAY_WIRE_PRODUCT, &p, sizeof p, NULL);
	p.m = UINT64_MAX;
	put(&b, ASSAY_WIRE_PRODUCT, &p, sizeof p, NULL);
	put_chunk(&b, 1, 0);
	assay_run *run = read_bytes(b.bytes, b.n);
	const assay_host_table *h = &run->part.t.host;
	CHECK_EQ(h->n, 3);
	CHECK(h->kind[0] == ASSAY_HOST_OP && h->dur[0] == 10);
	CHECK(!strcmp(assay_z(run, h->name[0]), "cublasSgemm_v2"));
	CHECK(!strcmp(assay_z(run, h->name[1]), "blas call 4"));
	const char *args = assay_z(run, h->args[0]);
	CHECK(strstr(args, "\"Input Dims\": [[4, 6], [6, 5], [4, 5]]"));
	CHECK(strstr(args, "\"Input type\": [\"float\", \"\", \"float\"]"));
	CHECK(strstr(args, "\"transposes\": \"NT\"") && strstr(args, "tf32"));
	CHECK(!h->args[1] && !h->args[2]);
	assay_run_free(run);
	return 0;
}

TEST(nested_ranges_pair_within_thread_and_domain)
{
	builder b = {0};
	put_start(&b);
	assay_wire_range g = {.time = 1, .op = ASSAY_WIRE_RANGE_PUSH, .length = 5};
	put(&b, ASSAY_WIRE_RANGE, &g, sizeof g, "outer");
	g.time = 2;
	put(&b, ASSAY_WIRE_RANGE, &g, sizeof g, "inner");
	assay_wire_range p = {.time = 3, .op = ASSAY_WIRE_RANGE_POP};
	put(&b, ASSAY_WIRE_RANGE, &p, sizeof p, NULL);
	p.time = 9;
	put(&b, ASSAY_WIRE_RANGE, &p, sizeof p, NULL);
	put(&b, ASSAY_WIRE_RANGE, &p, sizeof p, NULL);
	put_chunk(&b, 1, 0);
	assay_run *run = read_bytes(b.bytes, b.n);
	const assay_host_table *h = &run->part.t.host;
	CHECK_EQ(h->n, 2);
	CHECK(!strcmp(assay_z(run, h->name[0]), "inner") && h->ts[0] == 2 && h->dur[0] == 1);
	CHECK(!strcmp(assay_z(run, h->name[1]), "outer") && h->ts[1] == 1 && h->dur[1] == 8);
	CHECK_EQ(run->part.t.track.tid[h->track[0]], 77);
	CHECK_EQ(run->part.issues[ASSAY_ISSUE_unmatched_end], 1);
	assay_run_free(run);
	return 0;
}

static void put_range(builder *b, uint16_t op, int64_t time, uint64_t id, uint32_t domain,
		      const char *text)
{
	assay_wire_range g = {.time = time,
			      .id = id,
			      .op = op,
			      .domain = domain,
			      .length = (uint16_t)(text ? strlen(text) : 0)};
	put(b, ASSAY_WIRE_RANGE, &g, sizeof g, text);
}

static uint32_t host_named(const assay_run *run, const char *name)
{
	const assay_host_table *h = &run->part.t.host;
	for (uint32_t i = 0; i < h->n; i++)
		if (!strcmp(assay_z(run, h->name[i]), name))
			return i;
	return ASSAY_NO_ROW;
}

TEST(a_pop_of_one_domain_leaves_the_others_open)
{
	builder b = {0};
	put_start(&b);
	put_string(&b, 2, "one");
	put_string(&b, 3, "two");
	put_chunk(&b, 0, 0);
	put_range(&b, ASSAY_WIRE_RANGE_PUSH, 1, 0, 2, "a");
	put_range(&b, ASSAY_WIRE_RANGE_PUSH, 2, 0, 3, "b");
	put_range(&b, ASSAY_WIRE_RANGE_POP, 5, 0, 2, NULL);
	put_range(&b, ASSAY_WIRE_RANGE_POP, 6, 0, 2, NULL); /* nothing of this domain is open */
	put_range(&b, ASSAY_WIRE_RANGE_POP, 9, 0, 3, NULL);
	put_chunk(&b, 1, 0);
	assay_run *run = read_bytes(b.bytes, b.n);
	const assay_host_table *h = &run->part.t.host;
	uint32_t one = host_named(run, "a"), two = host_named(run, "b");
	CHECK(h->n == 2 && h->dur[one] == 4 && h->dur[two] == 7);
	CHECK(strstr(assay_z(run, h->args[two]), "\"domain\": \"two\""));
	CHECK_EQ(run->part.issues[ASSAY_ISSUE_unmatched_end], 1);
	assay_run_free(run);
	return 0;
}

TEST(started_ranges_cross_threads_and_leave_the_stack_alone)
{
	builder b = {0};
	put_start(&b);
	put_range(&b, ASSAY_WIRE_RANGE_PUSH, 1, 0, 0, "push");
	put_range(&b, ASSAY_WIRE_RANGE_START, 2, 8, 0, "start");
	put_range(&b, ASSAY_WIRE_RANGE_POP, 3, 0, 0, NULL);
	put_range(&b, ASSAY_WIRE_RANGE_END, 4, 99, 0, NULL); /* never started */
	put_chunk(&b, 1, 0);
	assay_wire_range end = {.time = 7, .op = ASSAY_WIRE_RANGE_END, .id = 8};
	end.rec.thread = 78;
	put(&b, ASSAY_WIRE_RANGE, &end, sizeof end, NULL);
	put_chunk(&b, 2, 0);
	assay_run *run = read_bytes(b.bytes, b.n);
	const assay_host_table *h = &run->part.t.host;
	uint32_t push = host_named(run, "push"), start = host_named(run, "start");
	CHECK(h->n == 2 && h->kind[push] == ASSAY_HOST_MARKER && h->dur[push] == 2);
	CHECK(h->kind[start] == ASSAY_HOST_PROCESS_RANGE && h->dur[start] == 5);
	CHECK_EQ(run->part.t.track.tid[h->track[start]], 77);
	CHECK(strstr(assay_z(run, h->args[start]), "\"end_thread\": 78"));
	CHECK_EQ(run->part.issues[ASSAY_ISSUE_unmatched_end], 1);
	assay_run_free(run);
	return 0;
}

TEST(a_range_left_open_ends_with_the_recording)
{
	builder b = {0};
	put_start(&b);
	put_range(&b, ASSAY_WIRE_RANGE_PUSH, 10, 0, 0, "pushed");
	put_range(&b, ASSAY_WIRE_RANGE_START, 20, 5, 0, "started");
	put_mark(&b, 90, "last");
	put_chunk(&b, 1, 0);
	assay_run *run = read_bytes(b.bytes, b.n);
	const assay_host_table *h = &run->part.t.host;
	uint32_t pushed = host_named(run, "pushed"), started = host_named(run, "started");
	CHECK(h->dur[pushed] == 80 && h->dur[started] == 70);
	CHECK(strstr(assay_z(run, h->args[pushed]), "\"open_end\": true"));
	CHECK_EQ(run->part.issues[ASSAY_ISSUE_unmatched_begin], 2);
	assay_run_free(run);
	return 0;
}

TEST(a_thread_number_used_again_pops_nothing_of_the_thread_before)
{
	builder b = {0};
	put_start(&b);
	put_range(&b, ASSAY_WIRE_RANGE_PUSH, 10, 0, 0, "old");
	put_mark(&b, 30, "last of old");
	put_chunk(&b, 1, 0);
	put_range(&b, ASSAY_WIRE_RANGE_PUSH, 50, 0, 0, "new");
	put_range(&b, ASSAY_WIRE_RANGE_POP, 60, 0, 0, NULL);
	put_range(&b, ASSAY_WIRE_RANGE_POP, 70, 0, 0, NULL);
	put_chunk(&b, 2, 0); /* another ring with the same thread number */
	assay_run *run = read_bytes(b.bytes, b.n);
	const assay_host_table *h = &run->part.t.host;
	uint32_t old = host_named(run, "old"), new = host_named(run, "new");
	CHECK(h->dur[old] == 20 && h->dur[new] == 10); /* it ended with its thread */
	CHECK_EQ(run->part.issues[ASSAY_ISSUE_unmatched_begin], 1);
	CHECK_EQ(run->part.issues[ASSAY_ISSUE_unmatched_end], 1);
	assay_run_free(run);
	return 0;
}

TEST(chunks_around_a_damaged_one_are_kept)
{
	builder b = {0};
	put_start(&b);
	size_t at[3];
	for (int i = 0; i < 3; i++) {
		put_mark(&b, i, "mark");
		at[i] = put_chunk(&b, 1, (uint64_t)i);
	}
	b.bytes[at[1] + 70] ^= 1;
	assay_run *run = read_bytes(b.bytes, b.n);
	CHECK_EQ(run->part.t.host.n, 2);
	CHECK_EQ(run->part.issues[ASSAY_ISSUE_damaged_chunk], 2); /* found broken, and missing */
	assay_run_free(run);
	return 0;
}

TEST(a_capture_cut_anywhere_keeps_whole_chunks)
{
	builder b = {0};
	put_start(&b);
	size_t first = b.n;
	put_mark(&b, 1, "one");
	put_chunk(&b, 1, 0);
	size_t second = b.n;
	put_mark(&b, 2, "two");
	put_chunk(&b, 1, 64);
	for (size_t n = first; n < b.n; n++) {
		assay_run *run = read_bytes(b.bytes, n);
		CHECK_EQ(run->part.t.host.n, n >= second ? 1 : 0);
		assay_run_free(run);
	}
	return 0;
}

TEST(a_chunk_written_twice_counts_once)
{
	builder b = {0};
	put_start(&b);
	for (int i = 0; i < 2; i++) {
		put_mark(&b, 1, "same");
		put_chunk(&b, 4, 128);
	}
	assay_run *run = read_bytes(b.bytes, b.n);
	CHECK_EQ(run->part.t.host.n, 1);
	assay_run_free(run);
	return 0;
}

TEST(records_of_a_newer_version_are_stepped_over)
{
	builder b = {0};
	put_start(&b);
	struct {
		assay_wire_end end;
		uint64_t more[4];
	} longer = {{.time = 5}, {1, 2, 3, 4}};
	put(&b, (assay_wire_type)999, &longer, sizeof longer, NULL);
	put(&b, ASSAY_WIRE_END, &longer, sizeof longer, NULL);
	put_chunk(&b, 0, 0);
	assay_run *run = read_bytes(b.bytes, b.n);
	CHECK_EQ(run->part.issues[ASSAY_ISSUE_unknown_record], 1);
	CHECK_EQ(run->part.issues[ASSAY_ISSUE_no_end], 0);
	CHECK_EQ(run->part.issues[ASSAY_ISSUE_bad_record], 0);
	assay_run_free(run);
	return 0;
}

TEST(short_records_are_counted_not_believed)
{
	builder b = {0};
	put_start(&b);
	assay_wire_rec r = {0};
	put(&b, ASSAY_WIRE_KERNEL, &r, sizeof r, NULL);
	put_mark(&b, 1, "after");
	put_chunk(&b, 0, 0);
	assay_run *run = read_bytes(b.bytes, b.n);
	CHECK_EQ(run->part.issues[ASSAY_ISSUE_bad_record], 1);
	CHECK_EQ(run->part.t.host.n, 1);
	CHECK_EQ(run->part.t.gpu.n, 0);
	assay_run_free(run);
	return 0;
}

TEST(the_default_stream_is_a_handle_and_work_is_no_event_call)
{
	builder b = {0};
	put_start(&b);
	assay_wire_api a = {.start = 1,
			    .end = 2,
			    .corr = 3,
			    .domain = ASSAY_WIRE_RUNTIME,
			    .given =
				    ASSAY_WIRE_GIVEN | ASSAY_WIRE_GIVES_STREAM | ASSAY_WIRE_ORDERS};
	put(&b, ASSAY_WIRE_API, &a, sizeof a, NULL);
	a.given = ASSAY_WIRE_GIVEN | ASSAY_WIRE_GIVES_STREAM;
	a.stream = 0x1000;
	put(&b, ASSAY_WIRE_API, &a, sizeof a, NULL);
	put_chunk(&b, 1, 0);
	assay_run *run = read_bytes(b.bytes, b.n);
	CHECK_EQ(run->part.t.host.n, 2);
	CHECK_EQ(run->part.t.event_call.n, 1);
	CHECK_EQ(run->part.t.event_call.stream[0], 0);
	assay_run_free(run);
	return 0;
}

TEST(barriers_are_marks_and_scratch_is_overhead)
{
	builder b = {0};
	put_start(&b);
	assay_wire_barrier w = {
		.work = {.start = 10, .end = 30, .corr = 5, .device = 1, .stream = 2},
		.event = 0xabc,
		.queue = 7,
		.source_queue = 8,
		.op = ASSAY_WIRE_BARRIER_WAIT};
	put(&b, ASSAY_WIRE_BARRIER, &w, sizeof w, NULL);
	assay_wire_scratch s = {.start = 40, .end = 90, .size = 64, .op = ASSAY_WIRE_SCRATCH_FREE};
	put(&b, ASSAY_WIRE_SCRATCH, &s, sizeof s, NULL);
	put_chunk(&b, 0, 0);
	assay_run *run = read_bytes(b.bytes, b.n);
	const assay_tables *t = &run->part.t;
	CHECK_EQ(t->mark.n, 1);
	CHECK(!strcmp(assay_z(run, t->mark.name[0]), "event wait") && t->mark.dur[0] == 20);
	CHECK(strstr(assay_z(run, t->mark.args[0]), "\"source_queue\": 8"));
	CHECK_EQ(t->track.tid[t->mark.track[0]], 2);
	CHECK_EQ(t->host.n, 1);
	CHECK(!strcmp(assay_z(run, t->host.name[0]), "scratch free") && t->host.dur[0] == 50);
	assay_run_free(run);
	return 0;
}

static void put_code(builder *b, uint32_t id, const char *file, const char *name)
{
	char text[64];
	assay_wire_code w = {.id = id,
			     .line = 3,
			     .kind = ASSAY_WIRE_CODE_PYTHON,
			     .file_length = (uint16_t)strlen(file),
			     .name_length = (uint16_t)strlen(name)};
	snprintf(text, sizeof text, "%s%s", file, name);
	put(b, ASSAY_WIRE_CODE, &w, sizeof w, text);
}

static void put_stack(builder *b, uint32_t id, uint32_t caller, uint32_t code, int32_t line)
{
	assay_wire_stack w = {.id = id, .caller = caller, .code = code, .line = line};
	put(b, ASSAY_WIRE_STACK, &w, sizeof w, NULL);
}

static void put_call_from(builder *b, uint32_t stack)
{
	assay_wire_api a = {.start = 10, .end = 20, .corr = 9, .domain = 2, .stack = stack};
	put(b, ASSAY_WIRE_API, &a, ASSAY_WIRE_API_SHORT, NULL);
}

TEST(equal_stacks_of_two_rings_are_one_row)
{
	builder b = {0};
	put_start(&b);
	put_code(&b, 1, "train.py", "main");
	put_code(&b, 2, "model.py", "Net.forward");
	put_stack(&b, 1, 0, 1, 7);
	put_stack(&b, 2, 1, 2, 41);
	put_call_from(&b, 2);
	put_chunk(&b, 1, 0);
	put_code(&b, 1, "model.py", "Net.forward");
	put_code(&b, 2, "train.py", "main");
	put_stack(&b, 1, 0, 2, 7);
	put_stack(&b, 2, 1, 1, 41);
	put_call_from(&b, 2);
	put_chunk(&b, 2, 0);
	assay_run *run = read_bytes(b.bytes, b.n);
	const assay_tables *t = &run->part.t;
	CHECK(t->code.n == 2 && t->stack.n == 2 && t->api.n == 2);
	CHECK(t->api.stack[0] == t->api.stack[1] && t->api.stack[0] == 1);
	CHECK(t->stack.caller[1] == 0 && t->stack.line[1] == 41 && t->stack.depth[1] == 2);
	CHECK(t->stack.caller[0] == ASSAY_NO_ROW && t->stack.line[0] == 7);
	CHECK(!strcmp(assay_z(run, t->code.function[t->stack.code[1]]), "Net.forward"));
	CHECK(!strcmp(assay_z(run, t->code.file[t->stack.code[0]]), "train.py"));
	assay_run_free(run);
	return 0;
}

TEST(a_stack_without_its_caller_is_counted_and_belongs_to_no_call)
{
	builder b = {0};
	put_start(&b);
	put_code(&b, 1, "train.py", "main");
	put_stack(&b, 5, 4, 1, 7); /* 4 was lost */
	put_stack(&b, 6, 6, 1, 7); /* its own caller */
	put_stack(&b, 7, 0, 9, 7); /* no such function */
	put_call_from(&b, 5);
	put_call_from(&b, 0);
	put_chunk(&b, 1, 0);
	assay_run *run = read_bytes(b.bytes, b.n);
	CHECK_EQ(run->part.issues[ASSAY_ISSUE_bad_record], 3);
	CHECK(run->part.t.stack.n == 0 && run->part.t.api.stack[0] == ASSAY_NO_ROW);
	assay_run_free(run);
	return 0;
}

/* Warnings of a recording whose wall clock was set by that much in an hour without records. */
static size_t warnings_when_set_by(int64_t ns)
{
	const int64_t hour = 3600000000000;
	builder b = {0};
	put_start(&b);
	assay_wire_clock c[] = {{.boot = 1000, .real = hour},
				{.boot = 1000 + hour, .real = 2 * hour + ns}};
	put(&b, ASSAY_WIRE_CLOCK, &c[0], sizeof c[0], NULL);
	put(&b, ASSAY_WIRE_CLOCK, &c[1], sizeof c[1], NULL);
	put_chunk(&b, 1, 0);
	assay_run *run = read_bytes(b.bytes, b.n);
	size_t n = run->part.t.warning.n;
	assay_run_free(run);
	return n;
}

TEST(a_step_of_the_wall_clock_is_told_however_long_ago_the_last_look_was)
{
	CHECK_EQ(warnings_when_set_by(100000), warnings_when_set_by(0));
	CHECK_EQ(warnings_when_set_by(1000000000), warnings_when_set_by(0) + 1);
	CHECK_EQ(warnings_when_set_by(-20000000), warnings_when_set_by(0) + 1);
	return 0;
}

TEST(samples_keep_thread_file_and_holder)
{
	builder b = {0};
	put_start(&b);
	put_code(&b, 1, "train.py", "main");
	put_code(&b, 2, "/data/x.bin", "");
	put_stack(&b, 1, 0, 1, 7);
	assay_wire_sample s = {.rec.thread = 8,
			       .start = 100,
			       .end = 105,
			       .cpu = -1,
			       .delay = 3,
			       .count = 6,
			       .stack = 1,
			       .file = 2,
			       .holder = 9,
			       .call = 0,
			       .state = ASSAY_WIRE_THREAD_BLOCKED,
			       .gil = ASSAY_WIRE_GIL_WAITS};
	put(&b, ASSAY_WIRE_SAMPLE, &s, sizeof s, NULL);
	s.pid = s.rec.thread = 44;
	s.state = 200;
	put(&b, ASSAY_WIRE_SAMPLE, &s, sizeof s, NULL);
	put_chunk(&b, 3, 0);
	assay_run *run = read_bytes(b.bytes, b.n);
	const assay_tables *t = &run->part.t;
	CHECK(t->sample.n == 2 && t->sample.ts[0] == 100 && t->sample.dur[0] == 5);
	CHECK(t->track.tid[t->sample.track[0]] == 8 && t->track.pid[t->sample.track[0]] == 5);
	CHECK(t->track.tid[t->sample.holder[0]] == 9 && t->sample.stack[0] == 0);
	CHECK(!strcmp(assay_z(run, t->sample.file[0]), "/data/x.bin") && t->sample.call[0] == 0);
	CHECK(t->sample.cpu[0] == -1 && t->sample.delay[0] == 3 && t->sample.count[0] == 6);
	CHECK(t->track.pid[t->sample.track[1]] == 44 && t->sample.state[1] == ASSAY_THREAD_UNKNOWN);
	assay_run_free(run);
	return 0;
}
