/* What the Chrome reader makes of texts: of Kineto and others, cut, broken, in any layout. */
#include <stdlib.h>

#include "base/test.h"
#include "read/chrome.h"
#include "read/reader.h"

#define READ(text)            assay_read_bytes(&assay_reader_chrome, (text), strlen(text))
#define NAME(run, table, row) assay_z((run), (run)->part.t.table.name[row])

static const char two_events[] =
	"{\"schemaVersion\": 1, \"distributedInfo\": {\"rank\": 3, \"world_size\": 8},\n"
	" \"deviceProperties\": [{\"id\": 0, \"name\": \"NVIDIA H200\", \"totalGlobalMem\": 150109880320,\n"
	"   \"warpSize\": 32, \"numSms\": 132, \"computeMajor\": 9, \"computeMinor\": 0}],\n"
	" \"baseTimeNanoseconds\": 1790857026000000000,\n"
	" \"traceEvents\": [\n"
	"  {\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", \"pid\": 7, \"tid\": 8,\n"
	"   \"ts\": 3852190011231.377, \"dur\": 4.5,\n"
	"   \"args\": {\"External id\": 5, \"cbid\": 211, \"correlation\": 77}},\n"
	"  {\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"gemm \\\"x\\\"\", \"pid\": 0, \"tid\": 7,\n"
	"   \"ts\": 3852190011240.001, \"dur\": 12,\n"
	"   \"args\": {\"queued\": 0, \"device\": 0, \"context\": 1, \"stream\": 7, \"correlation\": 77,\n"
	"     \"registers per thread\": 32, \"shared memory\": 1024, \"warps per SM\": 1.5,\n"
	"     \"grid\": [1, 2, 3], \"block\": [256, 1, 1], \"what\": \"new\"}}\n"
	" ], \"traceName\": \"x\"}";

TEST(kineto_events_reach_their_tables_exactly)
{
	assay_run *run = READ(two_events);
	const assay_tables *t = &run->part.t;
	CHECK(t->host.n == 1 && t->gpu.n == 1 && t->api.n == 1);
	CHECK_EQ(t->host.ts[0], 3852190011231377);
	CHECK_EQ(t->host.dur[0], 4500);
	CHECK(t->api.corr[t->host.detail[0]] == 77 && t->api.cbid[0] == 211 &&
	      t->api.external[0] == 5);
	CHECK(t->track.pid[t->host.track[0]] == 7 && t->track.tid[t->host.track[0]] == 8);
	CHECK(!strcmp(NAME(run, gpu, 0), "gemm \"x\""));
	CHECK_EQ(t->gpu.ts[0], 3852190011240001);
	CHECK(t->gpu.dur[0] == 12000 && t->gpu.corr[0] == 77 && t->gpu.regs[0] == 32);
	CHECK(t->gpu.grid_x[0] == 1 && t->gpu.grid_z[0] == 3 && t->gpu.block_x[0] == 256);
	CHECK(t->gpu.shared[0] == 1024 && t->gpu.context[0] == 1 && t->gpu.bytes[0] == -1);
	CHECK(!strcmp(assay_z(run, t->gpu.args[0]), "\"warps per SM\": 1.5, \"what\": \"new\""));
	CHECK(t->source.rank[0] == 3 && t->source.world[0] == 8 && t->source.records[0] == 2);
	CHECK(t->source.base[0] == 1790857026000000000 && t->source.epoch[0] == 1);
	CHECK(t->device.n == 1 && t->device.units[0] == 132 && t->device.memory[0] == 150109880320);
	CHECK(!strcmp(assay_z(run, t->device.arch[0]), "sm_90"));
	CHECK(assay_str_is(assay_meta_get(run, "traceName"), "\"x\""));
	assay_run_free(run);
	return 0;
}

/* Two traces that were written into one file: processes of the second are raised. */
static const char two_inputs[] =
	"{\"baseTimeNanoseconds\": 1790857026000000000, \"distributedInfo\": {\"rank\": 0},\n"
	" \"inputs\": [{\"path\": \"b.json\", \"first_pid\": 100000000, \"baseTimeNanoseconds\": 7,\n"
	"   \"deviceProperties\": [{\"id\": 0, \"name\": \"NVIDIA H200\"}],\n"
	"   \"distributedInfo\": {\"rank\": 1, \"world_size\": 2}}],\n"
	" \"traceEvents\": [\n"
	"  {\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"pid\": 0, \"tid\": 7, \"ts\": 1, \"dur\": 2,\n"
	"   \"args\": {\"device\": 0, \"stream\": 7}},\n"
	"  {\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"pid\": 100000000, \"tid\": 7, \"ts\": 1, \"dur\": 2,\n"
	"   \"args\": {\"device\": 0, \"stream\": 7}},\n"
	"  {\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"op\", \"pid\": 100000562, \"tid\": 5, \"ts\": 1, \"dur\": 2}]}";

TEST(traces_that_were_written_into_one_file_are_read_as_what_they_were)
{
	assay_run *run = READ(two_inputs);
	const assay_tables *t = &run->part.t;
	CHECK(t->source.n == 2 && t->source.rank[0] == 0 && t->source.rank[1] == 1);
	CHECK(t->source.world[1] == 2 && t->source.base[1] == t->source.base[0]);
	uint32_t other = t->gpu.track[1], thread = t->host.track[0];
	CHECK(t->track.source[t->gpu.track[0]] == 0 && t->track.source[other] == 1);
	CHECK(t->track.pid[other] == 0 && t->track.tid[other] == 7);
	CHECK(t->track.source[thread] == 1 && t->track.pid[thread] == 562);
	CHECK(t->device.n == 1 && t->device.source[0] == 1);
	CHECK(!assay_meta_get(run, "inputs").n && run->part.source == 0);
	assay_run_free(run);
	return 0;
}

TEST(every_truncation_keeps_whole_events)
{
	size_t n = sizeof two_events - 1;
	size_t first = (size_t)(strstr(two_events, "}},") - two_events) + 2;
	for (size_t cut = 0; cut <= n; cut++) {
		assay_run *run = assay_read_bytes(&assay_reader_chrome, two_events, cut);
		if (!run)
			continue; /* not even an object: an error, not a crash */
		CHECK(run->part.t.host.n == (cut >= first));
		CHECK(run->part.t.source.records[0] <= 2);
		if (cut < n - 1 && cut > first)
			CHECK_EQ(run->part.issues[ASSAY_ISSUE_truncated], 1);
		assay_run_free(run);
	}
	return 0;
}

TEST(bare_arrays_with_and_without_their_end_are_read)
{
	static const char *const texts[] = {
		"[{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":2,\"pid\":1,\"tid\":1}]",
		"[{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":2,\"pid\":1,\"tid\":1},\n",
		"[\n{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":2,\"pid\":1,\"tid\":1},]",
	};
	for (size_t i = 0; i < ASSAY_COUNT_OF(texts); i++) {
		assay_run *run = READ(texts[i]);
		CHECK(run && run->part.t.host.n == 1 && run->part.t.host.dur[0] == 2000);
		CHECK(run->part.issues[ASSAY_ISSUE_truncated] == 0);
		assay_run_free(run);
	}
	return 0;
}

TEST(begin_and_end_events_nest_by_thread)
{
	assay_run *run = READ("[{\"ph\":\"B\",\"name\":\"outer\",\"cat\":\"cpu_op\",\"ts\":1,"
			      "\"pid\":1,\"tid\":1},"
			      "{\"ph\":\"B\",\"name\":\"other\",\"ts\":2,\"pid\":1,\"tid\":2},"
			      "{\"ph\":\"B\",\"name\":\"inner\",\"ts\":3,\"pid\":1,\"tid\":1,"
			      "\"args\":{\"External id\": 9}},"
			      "{\"ph\":\"E\",\"ts\":5,\"pid\":1,\"tid\":1},"
			      "{\"ph\":\"E\",\"ts\":9,\"pid\":1,\"tid\":1},"
			      "{\"ph\":\"E\",\"ts\":9,\"pid\":1,\"tid\":3}]");
	const assay_host_table *h = &run->part.t.host;
	CHECK(h->n == 3);
	for (uint32_t i = 0; i < h->n; i++) {
		if (!strcmp(NAME(run, host, i), "outer"))
			CHECK(h->dur[i] == 8000 && h->kind[i] == ASSAY_HOST_OP);
		if (!strcmp(NAME(run, host, i), "inner"))
			CHECK(h->dur[i] == 2000 && h->ts[i] == 3000);
		if (!strcmp(NAME(run, host, i), "other"))
			CHECK(h->dur[i] == 7000 &&
			      strstr(assay_z(run, h->args[i]), "\"open_end\""));
	}
	CHECK_EQ(run->part.issues[ASSAY_ISSUE_unmatched_end], 1);
	CHECK_EQ(run->part.issues[ASSAY_ISSUE_unmatched_begin], 1);
	assay_run_free(run);
	return 0;
}

/* As a profiler leaves them that paused between a begin and its end. */
TEST(an_end_closes_the_begin_it_names)
{
	assay_run *run = READ("[{\"ph\":\"B\",\"name\":\"a\",\"ts\":1,\"pid\":1,\"tid\":1},"
			      "{\"ph\":\"B\",\"name\":\"b\",\"ts\":2,\"pid\":1,\"tid\":1},"
			      "{\"ph\":\"E\",\"name\":\"x\",\"ts\":4,\"pid\":1,\"tid\":1},"
			      "{\"ph\":\"E\",\"name\":\"a\",\"ts\":9,\"pid\":1,\"tid\":1}]");
	const assay_host_table *h = &run->part.t.host;
	CHECK(h->n == 2);
	for (uint32_t i = 0; i < h->n; i++)
		CHECK(h->dur[i] == (strcmp(NAME(run, host, i), "a") ? 7000 : 8000));
	CHECK_EQ(run->part.issues[ASSAY_ISSUE_unmatched_end], 1);   /* x: began before */
	CHECK_EQ(run->part.issues[ASSAY_ISSUE_unmatched_begin], 1); /* b: its end is lost */
	assay_run_free(run);
	return 0;
}

TEST(ranges_by_id_stay_apart_from_those_that_nest)
{
	assay_run *run = READ("[{\"ph\":\"b\",\"cat\":\"process_range\",\"id\":3,\"name\":\"a\","
			      "\"ts\":1,\"pid\":1,\"tid\":1,\"args\":{\"domain\":\"d\"}},"
			      "{\"ph\":\"e\",\"cat\":\"process_range\",\"id\":3,\"name\":\"a\","
			      "\"ts\":9,\"pid\":1,\"tid\":2}]");
	const assay_host_table *h = &run->part.t.host;
	CHECK(h->n == 1 && h->kind[0] == ASSAY_HOST_PROCESS_RANGE && h->dur[0] == 8000);
	assay_run_free(run);
	return 0;
}

TEST(async_events_pair_by_category_and_id)
{
	assay_run *run = READ(
		"[{\"ph\":\"b\",\"cat\":\"c\",\"id\":\"0x1\",\"name\":\"a\",\"ts\":1,\"pid\":1,"
		"\"tid\":1},"
		"{\"ph\":\"b\",\"cat\":\"c\",\"id\":2,\"name\":\"b\",\"ts\":2,\"pid\":1,\"tid\":1},"
		"{\"ph\":\"n\",\"cat\":\"c\",\"id\":2,\"name\":\"i\",\"ts\":3,\"pid\":1,\"tid\":1},"
		"{\"ph\":\"e\",\"cat\":\"c\",\"id\":\"0x1\",\"name\":\"a\",\"ts\":4,\"pid\":1,"
		"\"tid\":2},"
		"{\"ph\":\"e\",\"cat\":\"c\",\"id\":2,\"name\":\"b\",\"ts\":6,\"pid\":1,\"tid\":1}"
		"]");
	const assay_host_table *h = &run->part.t.host;
	int64_t sum = 0;
	for (uint32_t i = 0; i < h->n; i++)
		sum += h->dur[i];
	CHECK(h->n == 3 && sum == 7000);
	assay_run_free(run);
	return 0;
}

TEST(counters_flows_instants_and_names_are_kept)
{
	assay_run *run =
		READ("[{\"ph\":\"C\",\"name\":\"mem\",\"ts\":1,\"pid\":1,\"tid\":1,\"args\":{"
		     "\"used\": 5.5, \"free\": 2}},"
		     "{\"ph\":\"s\",\"id\":9,\"cat\":\"ac2g\",\"name\":\"ac2g\",\"ts\":1,\"pid\":1,"
		     "\"tid\":1},"
		     "{\"ph\":\"f\",\"bp\":\"e\",\"id\":9,\"cat\":\"ac2g\",\"ts\":2,\"pid\":0,"
		     "\"tid\":7},"
		     "{\"ph\":\"i\",\"name\":\"now\",\"ts\":3,\"pid\":1,\"tid\":1,\"s\":\"g\"},"
		     "{\"ph\":\"i\",\"name\":\"[memory]\",\"cat\":\"cpu_instant_event\",\"ts\":4,"
		     "\"pid\":1,\"tid\":1,"
		     "\"args\":{\"Addr\": 140000000000, \"Bytes\": -512, \"Device Id\": 0, \"Total "
		     "Allocated\": 99}},"
		     "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1,\"tid\":1,\"args\":{"
		     "\"name\":\"main\\n\"}},"
		     "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"tid\":0,\"args\":{"
		     "\"name\":\"python\"}},"
		     "{\"ph\":\"?\",\"name\":\"what\"}]");
	const assay_tables *t = &run->part.t;
	CHECK(t->counter.n == 2 && t->counter.value[0] == 5.5 &&
	      !strcmp(NAME(run, counter, 0), "mem.used"));
	CHECK(t->flow.n == 2 && t->flow.id[0] == 9 && t->flow.phase[1] == 'f' && t->flow.bind[1]);
	CHECK(t->host.n == 1 && t->host.kind[0] == ASSAY_HOST_INSTANT && t->host.dur[0] == 0);
	CHECK(t->alloc.n == 1 && t->alloc.bytes[0] == -512 && t->alloc.total[0] == 99);
	uint32_t track = t->host.track[0];
	CHECK(!strcmp(NAME(run, track, track), "main\n"));
	CHECK(!strcmp(assay_z(run, t->track.process[track]), "python"));
	CHECK_EQ(run->part.issues[ASSAY_ISSUE_unknown_phase], 1);
	CHECK_EQ(t->source.records[0], 8);
	assay_run_free(run);
	return 0;
}

TEST(arrows_from_calls_to_their_work_are_for_writers)
{
	static const char text[] =
		"[{\"ph\":\"s\",\"id\":9,\"cat\":\"ac2g\",\"ts\":1,\"pid\":1,\"tid\":1},"
		"{\"ph\":\"s\",\"id\":4,\"cat\":\"fwdbwd\",\"ts\":2,\"pid\":1,\"tid\":1}]";
	for (int lean = 0; lean < 2; lean++) {
		assay_run *run = assay_run_new();
		assay_input *in = assay_input_memory(text, sizeof text - 1);
		run->lean = lean;
		run->part.source = assay_add_source(run, in, &assay_reader_chrome);
		CHECK(assay_reader_chrome.read(run, in, NULL));
		const assay_flow_table *f = &run->part.t.flow;
		CHECK(f->n == (lean ? 1 : 2) && f->id[f->n - 1] == 4);
		assay_input_close(in);
		assay_run_free(run);
	}
	return 0;
}

TEST(what_real_files_get_wrong_is_survived_and_counted)
{
	static const char text[] =
		"{\"traceEvents\": [\n"
		"{\"ph\":\"X\",\"name\":\"raw\ncontrol\x01\xff\",\"ts\":1,\"dur\":1,\"pid\":1,"
		"\"tid\":1},\n"
		"{\"ph\":\"X\",\"name\":\"big\",\"ts\":2,\"dur\":1,\"pid\":1,\"tid\":1,"
		"\"args\":{\"correlation\":99999999999999999999999,\"x\":NaN,\"y\":-Infinity}},\n"
		"{\"ph\":\"X\",\"name\":\"dup\",\"name\":\"twice\",\"ts\":3,\"dur\":1,\"pid\":1,"
		"\"tid\":1},\n"
		"null, 17, \"text\", [1,2],\n"
		"{\"ph\":\"X\",\"name\":\"quote\"d\",\"ts\":4,\"dur\":1,\"pid\":1,\"tid\":1},\n"
		"{\"ph\":\"X\",\"name\":\"neg\",\"ts\":5,\"dur\":-4,\"pid\":1,\"tid\":1},\n"
		"{\"ph\":\"X\",\"name\":\"nodur\",\"ts\":6,\"pid\":1,\"tid\":1},\n"
		"{\"ph\":\"X\",\"name\":\"deep\",\"ts\":7,\"dur\":1,\"pid\":\"P\",\"tid\":\"T\","
		"\"args\":{\"a\":[[[[{\"b\":[{}]}]]]]}},,\n"
		"]}";
	assay_run *run = assay_read_bytes(&assay_reader_chrome, text, sizeof text - 1);
	const assay_tables *t = &run->part.t;
	CHECK_EQ(t->host.n, 6);
	CHECK(!strcmp(NAME(run, host, 2), "twice"));
	CHECK(!strcmp(assay_z(run, t->host.args[1]),
		      "\"correlation\":99999999999999999999999,\"x\":NaN,\"y\":-Infinity"));
	CHECK_EQ(run->part.issues[ASSAY_ISSUE_bad_record], 5);
	CHECK_EQ(run->part.issues[ASSAY_ISSUE_negative_duration], 1);
	CHECK_EQ(run->part.issues[ASSAY_ISSUE_no_duration], 1);
	CHECK(t->track.pid[t->host.track[5]] == -1 &&
	      !strcmp(NAME(run, track, t->host.track[5]), "T"));
	assay_run_free(run);
	return 0;
}

TEST(a_record_that_never_ends_does_not_hide_the_rest)
{
	assay_run *run =
		READ("{\"traceEvents\": [\n"
		     "  {\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":1,\"pid\":1,\"tid\":1},\n"
		     "  {\"ph\":\"X\",\"name\":\"open\",\"args\":{\"x\":[1,2},\n"
		     "  {\"ph\":\"X\",\"name\":\"b\",\"ts\":2,\"dur\":1,\"pid\":1,\"tid\":1},\n"
		     "  {\"ph\":\"X\",\"name\":\"c\",\"ts\":3,\"dur\":1,\"pid\":1,\"tid\":1}\n"
		     "]}");
	CHECK_EQ(run->part.t.host.n, 3);
	CHECK_EQ(run->part.issues[ASSAY_ISSUE_bad_record], 1);
	assay_run_free(run);
	return 0;
}

/* A few thousand events of several kinds and layouts, some malformed. */
static size_t make_trace(char *out, size_t room, int layout)
{
	static const char *const fmt[] = {
		"  {\n"
		"    \"ph\": \"X\", \"cat\": \"%s\", \"name\": \"n%d\", \"pid\": %d, \"tid\": %d,\n"
		"    \"ts\": %d.%03d, \"dur\": %d.5,\n"
		"    \"args\": {\n"
		"      \"correlation\": %d, \"k\": [\"}, {\", %d]\n"
		"    }\n"
		"  }",
		"{\"name\": \"n%2$d\", \"cat\": \"%1$s\", \"ph\": \"X\", \"pid\": %3$d, \"tid\": "
		"%4$d, \"ts\": %5$d.%6$03d, "
		"\"dur\": %7$d.5, \"args\": {\"correlation\": %8$d, \"k\": [\"}, {\", %9$d]}}"};
	static const char *const cats[] = {"cpu_op", "kernel", "cuda_runtime", "python_function",
					   "odd\\u0041"};
	size_t n = (size_t)snprintf(out, room, "{\"traceEvents\": [\n");
	for (int i = 0; i < 3000; i++) {
		if (i)
			n += (size_t)snprintf(out + n, room - n, layout ? ", " : ",\n");
		n += (size_t)snprintf(out + n, room - n, fmt[layout], cats[i % 5], i % 37, i % 3,
				      i % 7, 1000 + i * (i % 11), i % 1000, i % 13, i, i % 4);
		if (i % 500 == 250)
			n += (size_t)snprintf(out + n, room - n, ", {\"ph\": \"X\", broken}");
	}
	return n + (size_t)snprintf(out + n, room - n, "\n], \"end\": 1}");
}

/* Equal runs print equal sums: durations, names as text, tracks, correlation ids, args. */
static uint64_t digest(const assay_run *run)
{
	const assay_tables *t = &run->part.t;
	uint64_t h = t->host.n * 31 + t->gpu.n + run->part.issues[ASSAY_ISSUE_bad_record] * 7;
	for (uint32_t i = 0; i < t->host.n; i++) {
		assay_str name = assay_text(run, t->host.name[i]),
			  args = assay_text(run, t->host.args[i]);
		h = assay_hash(name.p, name.n,
			       h + (uint64_t)t->host.ts[i] + (uint64_t)t->host.dur[i]);
		h = assay_hash(args.p, args.n, h + (uint64_t)t->track.tid[t->host.track[i]]);
	}
	for (uint32_t i = 0; i < t->gpu.n; i++)
		h = h * 31 + t->gpu.corr[i] + (uint64_t)t->gpu.ts[i];
	return h;
}

TEST(threads_and_instruction_sets_read_the_same)
{
	enum { ROOM = 2 << 20 };
	static char text[ROOM];
	static const char *const threads[] = {"1", "2", "3", "7"};
	for (int layout = 0; layout < 2; layout++) {
		size_t n = make_trace(text, ROOM, layout);
		uint64_t want = 0;
		for (int isa = 0; isa < ASSAY_ISA_COUNT; isa++) {
			setenv("ASSAY_ISA", assay_isa_name((assay_isa)isa), 1);
			for (size_t i = 0; i < ASSAY_COUNT_OF(threads); i++) {
				setenv("ASSAY_THREADS", threads[i], 1);
				assay_run *run = assay_read_bytes(&assay_reader_chrome, text, n);
				CHECK(run->part.t.host.n == 2400 && run->part.t.gpu.n == 600);
				CHECK_EQ(run->part.issues[ASSAY_ISSUE_bad_record], 6);
				uint64_t got = digest(run);
				want = want ? want : got;
				CHECK(got == want);
				assay_run_free(run);
			}
		}
	}
	return 0;
}

/* A list inside an event that looks like events, longer than several windows. */
TEST(what_looks_like_events_inside_one_leaves_no_track)
{
	enum { ROOM = 8 << 20, FALSE_ONES = 30000, AFTER = 30000 };
	static const char *const threads[] = {"1", "2", "3", "7"};
	static char text[ROOM];
	size_t n = (size_t)snprintf(
		text, ROOM,
		"[{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":2},{\"ph\":\"X\",\"name\":\"b\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":2,\"args\":{\"list\":[{\"ph\":\"X\"}");
	for (int i = 0; i < FALSE_ONES; i++)
		n += (size_t)snprintf(
			text + n, ROOM - n,
			",{\"ph\":\"X\",\"name\":\"false\",\"pid\":999,\"tid\":%d,\"ts\":1.000,\"dur\":2.000,\"cat\":\"cpu_op\"}",
			i % 50);
	n += (size_t)snprintf(text + n, ROOM - n, "]}}");
	for (int i = 0; i < AFTER; i++)
		n += (size_t)snprintf(
			text + n, ROOM - n,
			",{\"ph\":\"X\",\"name\":\"after\",\"pid\":1,\"tid\":1,\"ts\":%d,\"dur\":2,\"cat\":\"cpu_op\"}",
			i);
	n += (size_t)snprintf(text + n, ROOM - n, "]");
	for (size_t i = 0; i < ASSAY_COUNT_OF(threads); i++) {
		setenv("ASSAY_THREADS", threads[i], 1);
		assay_run *run = assay_read_bytes(&assay_reader_chrome, text, n);
		CHECK_EQ(run->part.t.host.n, AFTER + 2);
		CHECK_EQ(run->part.t.track.n, 1);
		assay_run_free(run);
	}
	unsetenv("ASSAY_THREADS");
	return 0;
}

/* The list in the second event never ends, so that what follows is a second stretch of text. */
TEST(bad_syntax_is_no_less_bad_behind_worse)
{
	static const char text[] =
		"[{\"ph\":\"X\",\"name\":\"a\",,\"ts\":1,,\"dur\":2,\"pid\":1,\"tid\":1}"
		",{\"list\":[{}"
		",{\"ph\":\"X\",\"name\":\"c\",\"ts\":1,,\"dur\":2,\"pid\":1,\"tid\":1}]";
	setenv("ASSAY_THREADS", "1", 1); /* the second stretch is read by who read the first */
	assay_run *run = assay_read_bytes(&assay_reader_chrome, text, sizeof text - 1);
	CHECK_EQ(run->part.t.host.n, 2);
	CHECK_EQ(run->part.issues[ASSAY_ISSUE_bad_record], 1);
	CHECK_EQ(run->part.issues[ASSAY_ISSUE_bad_syntax], 2);
	assay_run_free(run);
	unsetenv("ASSAY_THREADS");
	return 0;
}

/* Members in two orders, and between them what JSON allows and what lenient readers take. */
static size_t put_event(char *out, size_t room, unsigned i, unsigned seed)
{
	static const char *const comma[] = {",", ", ", ",\n    ", " ,\t", ",\n          ", ", ,"};
	static const char *const colon[] = {":", ": ", ":  ", " : ", ": \n"};
	const char *c[8], *k = colon[seed >> 8 & 1 ? seed >> 9 & 3 : 1];
	for (int m = 0; m < 8; m++) {
		seed = seed * 1664525 + 1013904223;
		c[m] = comma[seed >> 28 < 12 ? i / 50 % 3 : (seed >> 20) % 6];
	}
	static const char *const fmt[] = {
		"{\"ts\"%1$s%10$u.5%2$s\"ph\"%1$s\"X\"%3$s\"dur\"%1$s%11$u%4$s\"cat\"%1$s\"cpu_op\"%5$s\"name\"%1$s\"n\""
		"%6$s\"args\"%1$s{\n\"External id\"%1$s%10$u%7$s\"x\": 1}%8$s\"pid\"%1$s1%9$s\"tid\"%1$s2}",
		"{\"ph\"%1$s\"X\"%2$s\"cat\"%1$s\"cpu_op\"%3$s\"name\"%1$s\"n\"%4$s\"ts\"%1$s%10$u.5%5$s\"dur\"%1$s%11$u"
		"%6$s\"pid\"%1$s1%7$s\"tid\"%1$s2%8$s\"args\"%1$s{\"External id\"%1$s%10$u%9$s\"x\": 1 }\n}"};
	return (size_t)snprintf(out, room, fmt[seed >> 31], k, c[0], c[1], c[2], c[3], c[4], c[5],
				c[6], c[7], i, i % 9);
}

TEST(the_layout_of_an_event_decides_nothing_about_the_next)
{
	enum { ROOM = 1 << 20, EVENTS = 2000, CUTS = 250 };
	static char text[ROOM];
	size_t n = (size_t)snprintf(text, ROOM, "{\"traceEvents\": ["), last = 0;
	for (unsigned i = 0; i < EVENTS; i++) {
		n += (size_t)snprintf(text + n, ROOM - n, i ? ",\n" : "");
		last = n;
		n += put_event(text + n, ROOM - n, i, i * 2654435761u);
	}
	CHECK(n + CUTS < ROOM && n - last > 80);
	for (size_t cut = 0; cut < CUTS; cut += cut < n - last ? 1 : 50) {
		assay_run *run = assay_read_bytes(&assay_reader_chrome, text, n - cut);
		const assay_tables *t = &run->part.t;
		CHECK(cut > n - last || t->host.n == EVENTS - (cut > 0));
		for (uint32_t i = 0; i < t->host.n; i++)
			CHECK(t->host.ts[i] == i * 1000 + 500 && t->host.dur[i] == i % 9 * 1000 &&
			      t->op.external[t->host.detail[i]] == i);
		assay_run_free(run);
	}
	return 0;
}

/* An operator with up to six members from a few, none of them with a place but the first; kept gets
 * what the row keeps of them. */
static size_t put_members(char *out, size_t room, unsigned seed, char kept[static 512])
{
	static const char *const member[] = {
		"\"External id\": 7",
		"\"Input Dims\": [[1, 2]]",
		"\"Input Dims\": [[1, 2], 3]",
		"\"Concrete Inputs\": [\"a]\", \"}\"]",
		"\"kind\": 1",
		"\"kind\": 12",
		"\"mine\": {\"x\": \"\\\"]\"}",
		"\"mine\": true",
	};
	size_t n = (size_t)snprintf(out, room,
				    "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"n%u\", "
				    "\"pid\": 1, \"tid\": 2, \"ts\": 1, \"dur\": 1, \"args\": {",
				    seed >> 8 & 1),
	       k = 0;
	kept[0] = 0;
	for (unsigned i = 0, count = seed >> 16 & 7; i < count; i++) {
		unsigned m = (seed = seed * 1664525 + 1013904223) >> 27 & 7;
		n += (size_t)snprintf(out + n, room - n, "%s%s", i ? ", " : "", member[m]);
		if (m)
			k += (size_t)snprintf(kept + k, 512 - k, "%s%s", k ? ", " : "", member[m]);
	}
	return n + (size_t)snprintf(out + n, room - n, "}}");
}

TEST(arguments_met_before_are_kept_as_they_stand)
{
	enum { ROOM = 1 << 20, EVENTS = 3000 };
	static char text[ROOM], kept[EVENTS][512];
	size_t n = (size_t)snprintf(text, ROOM, "[");
	for (unsigned i = 0; i < EVENTS; i++) {
		n += (size_t)snprintf(text + n, ROOM - n, i ? ",\n" : "");
		n += put_members(text + n, ROOM - n, i * 2654435761u, kept[i]);
	}
	n += (size_t)snprintf(text + n, ROOM - n, "]");
	assay_run *run = assay_read_bytes(&assay_reader_chrome, text, n);
	CHECK_EQ(run->part.t.host.n, EVENTS);
	for (uint32_t i = 0; i < EVENTS; i++)
		CHECK(!strcmp(assay_z(run, run->part.t.host.args[i]), kept[i]));
	assay_run_free(run);
	return 0;
}

TEST(only_traces_are_claimed)
{
	CHECK(assay_reader_chrome.sniff(ASSAY_S("  {\"traceEvents\": [")) > 90);
	CHECK(assay_reader_chrome.sniff(ASSAY_S("[{\"ph\": \"X\"}]")) > 80);
	CHECK(assay_reader_chrome.sniff(ASSAY_S("{\"metadata\": {\"tokens_per_sec\": 1}}")) > 0);
	CHECK(assay_reader_chrome.sniff(ASSAY_S("{\"rocprofiler-sdk-tool\": [{\"metadata\": {")) ==
	      0);
	CHECK(assay_reader_chrome.sniff(ASSAY_S("{}")) == 0 &&
	      assay_reader_chrome.sniff(ASSAY_S("x")) == 0);
	return 0;
}

TEST(a_look_at_a_thread_without_arguments_is_a_look)
{
	assay_run *run =
		READ("{\"traceEvents\": [{\"ph\": \"P\", \"cat\": \"thread_look\", \"ts\": 3}]}");
	CHECK(run);
	CHECK_EQ(run->part.t.sample.n, 1);
	CHECK_EQ(run->part.t.sample.ts[0], 3000);
	assay_run_free(run);
	return 0;
}

#define EVENT(ts)                                                                                  \
	"{\"ph\": \"X\", \"name\": \"a\", \"pid\": 1, \"tid\": 2, \"ts\": " #ts ", \"dur\": 1}"

TEST(documents_in_a_row_and_events_by_line_are_one_trace)
{
	static const struct {
		const char *text;
		size_t events, bad;
	} files[] = {
		{"{\"traceEvents\": [" EVENT(1) "]}\n{\"traceEvents\": [" EVENT(2) "]}", 2, 0},
		{"[" EVENT(1) "]\n[" EVENT(2) "," EVENT(3) "]\n", 3, 0},
		{EVENT(1) "\n" EVENT(2) "\n" EVENT(3) "\n", 3, 0},
		{"{\"schemaVersion\": 1}\n" EVENT(1) "\n" EVENT(2), 2, 0},
		{"\x1e" EVENT(1) "\n\x1e" EVENT(2) "\n", 2, 1},
		{"{\"traceEvents\": [" EVENT(1) "]} and more", 1, 1},
		{"{\"traceEvents\": [" EVENT(1) "], \"x\": 1}\n\n", 1, 0},
		{"{\"traceEvents\": {\"0\": " EVENT(1) "}}", 0, 1},
	};
	for (size_t i = 0; i < ASSAY_COUNT_OF(files); i++) {
		assay_run *run = READ(files[i].text);
		CHECK(run);
		CHECK_EQ(run->part.t.host.n, files[i].events);
		CHECK_EQ(run->part.issues[ASSAY_ISSUE_bad_record] > 0, files[i].bad);
		assay_run_free(run);
	}
	return 0;
}

TEST(what_holds_a_list_of_events_is_no_event_itself)
{
	assay_run *run = READ(
		"{\"ph\": \"X\", \"name\": \"launch\", \"ts\": 10.000, \"dur\": 5,\n"
		" \"traceEvents\": [{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"ts\": 1, \"dur\": 2}]}");
	CHECK(run->part.t.host.n == 0 && run->part.t.gpu.n == 1);
	CHECK(assay_str_is(assay_meta_get(run, "ph"), "\"X\""));
	assay_run_free(run);
	return 0;
}

TEST(json_that_is_no_trace_is_refused)
{
	CHECK(!READ("{\"metadata\": {\"kernelspec\": {}}, \"nbformat\": 4}"));
	CHECK(!READ("{\"schemaVersion\": 2, \"packages\": [1, 2]}"));
	CHECK(!READ("{\"ph\": 7.2, \"soil\": \"clay\"}"));
	assay_run *run = READ("{\"metadata\": {\"tokens_per_sec\": 1}}");
	CHECK(run);
	assay_run_free(run);
	return 0;
}

TEST(numbers_of_threads_may_be_text)
{
	assay_run *run = READ(
		"[{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":2,\"pid\":7,\"tid\":\"25738\"},"
		"{\"ph\":\"X\",\"name\":\"b\",\"ts\":5,\"dur\":2,\"pid\":\"7\",\"tid\":25738},"
		"{\"ph\":\"X\",\"name\":\"c\",\"ts\":5,\"dur\":2,\"pid\":7,\"tid\":\"7 x\"},"
		"{\"ph\":\"X\",\"name\":\"d\",\"ts\":5,\"dur\":2,\"pid\":7,\"tid\":\"\"}]");
	const assay_tables *t = &run->part.t;
	CHECK(t->host.n == 4 && t->host.track[0] == t->host.track[1]);
	CHECK_EQ(t->track.tid[t->host.track[0]], 25738);
	CHECK(t->track.tid[t->host.track[2]] == -1 && t->track.tid[t->host.track[3]] == -1);
	CHECK(!strcmp(assay_z(run, t->track.name[t->host.track[2]]), "7 x"));
	assay_run_free(run);
	return 0;
}

TEST(ranges_of_the_profiler_are_ranges_where_they_were_written_as_operators)
{
	assay_run *run = READ(
		"[{\"ph\":\"X\",\"cat\":\"Operator\",\"name\":\"ProfilerStep#5\",\"ts\":1,\"dur\":9,\"pid\":7,\"tid\":1},"
		"{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"Optimizer.step#SGD.step\",\"ts\":2,\"dur\":2,\"pid\":7,\"tid\":1},"
		"{\"ph\":\"X\",\"cat\":\"Operator\",\"name\":\"aten::mm\",\"ts\":5,\"dur\":2,\"pid\":7,\"tid\":1}]");
	const assay_host_table *h = &run->part.t.host;
	CHECK(h->n == 3 && h->kind[0] == ASSAY_HOST_ANNOTATION);
	CHECK(h->kind[1] == ASSAY_HOST_ANNOTATION && h->kind[2] == ASSAY_HOST_OP);
	assay_run_free(run);
	return 0;
}
