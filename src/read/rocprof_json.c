/* rocprofv3 results.json: {"rocprofiler-sdk-tool": [one object a process]}. */
#include "base/compare.h"
#include "read/reader.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/test.h"
#include "read/frees.h"
#include "read/rocprof.h"
#include "read/rocprof_process.h"

static const char tool_key[] = "rocprofiler-sdk-tool";

static const struct {
	const char *key;
	char bracket;
	void (*read)(assay_rocprof_process *p);
} sections[] = {
	{"metadata", '{', assay_rocprof_read_metadata},
	{"agents", '[', assay_rocprof_read_agents},
	{"counters", '[', assay_rocprof_read_counters},
	{"strings", '{', assay_rocprof_read_strings},
	{"code_objects", '[', assay_rocprof_read_code_objects},
	{"kernel_symbols", '[', assay_rocprof_read_symbols},
	{"callback_records", '{', assay_rocprof_read_buffers},
	{"buffer_records", '{', assay_rocprof_read_buffers},
};

static void process_free(assay_rocprof_process *p)
{
	assay_map *maps[] = {&p->pending_at, &p->agent_at, &p->symbol_at, &p->counter_names,
			     &p->marker_texts};
	for (size_t i = 0; i < ASSAY_COUNT_OF(maps); i++)
		assay_map_free(maps[i]);
	assay_vec_free(&p->pendings);
	assay_vec_free(&p->agents);
	assay_vec_free(&p->symbols);
	assay_vec_free(&p->kinds);
	assay_vec_free(&p->op_names);
	assay_vec_free(&p->barriers);
	assay_jsonw_free(&p->args);
	assay_arena_free(&p->scratch);
}

static void read_process(assay_run *run, assay_json_stream *s)
{
	const assay_tables *t = &run->part.t;
	assay_rocprof_process p = {.run = run,
				   .part = &run->part,
				   .s = s,
				   .host = t->host.n,
				   .gpu = t->gpu.n,
				   .alloc = t->alloc.n,
				   .pmc = t->pmc.n};
	assay_str key;
	for (assay_json_stream_enter(s, '{'); assay_json_stream_member(s, &key);) {
		size_t i = 0, n = ASSAY_COUNT_OF(sections);
		while (i < n && !assay_str_is(key, sections[i].key))
			i++;
		if (i < n && assay_json_stream_peek(s) == sections[i].bracket)
			sections[i].read(&p);
		else
			assay_json_stream_skip(s);
	}
	assay_rocprof_explain(&p);
	assay_pair_frees(&run->part.t.alloc, p.alloc);
	process_free(&p);
}

static void read_processes(assay_run *run, assay_json_stream *s, uint32_t *n)
{
	uint32_t first = run->part.source;
	bool listed = assay_json_stream_peek(s) != '{';
	if (listed)
		assay_json_stream_enter(s, '[');
	while (!listed || assay_json_stream_element(s)) {
		if (assay_json_stream_peek(s) != '{') {
			assay_count(&run->part, ASSAY_ISSUE_bad_record, 1);
			assay_json_stream_skip(s);
			continue;
		}
		if ((*n)++)
			assay_rocprof_next_source(&run->part, first);
		read_process(run, s);
		if (!listed)
			break;
	}
	run->part.source = first;
}

static void count_text_issues(assay_run *run, const assay_json_stream *s)
{
	if (s->j.cut)
		assay_count(&run->part, ASSAY_ISSUE_truncated, 1);
	if (s->j.bad) {
		assay_count(&run->part, ASSAY_ISSUE_bad_record, 1);
		assay_warn(run, "broken_text",
			   "%s: not JSON from byte %llu on; the rest was not read",
			   assay_input_path(s->in), (unsigned long long)assay_json_stream_pos(s));
	}
	if (s->j.odd & ~(uint32_t)ASSAY_JSON_NUMBER)
		assay_count(&run->part, ASSAY_ISSUE_bad_syntax, 1);
}

static bool rocprof_json_read(assay_run *run, assay_input *in, assay_err *err)
{
	assay_json_stream s;
	assay_str key;
	uint32_t processes = 0;
	assay_json_stream_open(&s, run, in);
	do { /* files that were joined are documents in a row */
		for (assay_json_stream_enter(&s, '{'); assay_json_stream_member(&s, &key);) {
			if (assay_str_is(key, tool_key))
				read_processes(run, &s, &processes);
			else
				assay_json_stream_skip(&s);
		}
	} while (assay_json_stream_again(&s));
	if (!processes)
		return assay_fail(err, ASSAY_FORMAT, assay_json_stream_pos(&s),
				  "%s: no process under \"%s\"", assay_input_path(in), tool_key);
	count_text_issues(run, &s);
	return true;
}

static int rocprof_json_sniff(assay_str head)
{
	enum { NEAR = 256 };
	assay_str start = {head.p, head.n < NEAR ? head.n : NEAR};
	assay_str text = assay_str_trim(start);
	if (!text.n || text.p[0] != '{')
		return 0;
	return assay_str_find(text, "\"rocprofiler-sdk-tool\"") >= 0 ? 98 : 0;
}

const assay_reader assay_reader_rocprof_json = {
	.name = "rocprof_json",
	.ends = {".json"},
	.about = "rocprofv3 results.json",
	.waits = "yes",
	.scopes = "ranges",
	.page = "rocprof_json",
	.sniff = rocprof_json_sniff,
	.read = rocprof_json_read,
	.alone = true,
	.traits = ASSAY_TRAIT_ROCTX | ASSAY_TRAIT_FROM_START,
};

/* ---- tests ---- */

#define SAMPLE_TABLES                                                                              \
	"\"metadata\":{\"node\":{\"hostname\":\"h1\"},\"pid\":77,\"command\":[\"a\",\"b\"]},"      \
	"\"agents\":[{\"id\":{\"handle\":100},\"type\":1,\"node_id\":0,\"name\":\"EPYC\"},"        \
	"{\"id\":{\"handle\":102},\"type\":2,\"node_id\":2,\"name\":\"gfx942\",\"cu_count\":304,"  \
	"\"wave_front_size\":64,\"product_name\":\"AMD Instinct MI300X\","                         \
	"\"mem_banks\":[{\"size_in_bytes\":1000}]}],"                                              \
	"\"counters\":[{\"id\":{\"handle\":9},\"name\":\"SQ_WAVES\"}],"                            \
	"\"strings\":{\"callback_records\":[],\"buffer_records\":[{\"kind\":\"NONE\","             \
	"\"operations\":[]},"                                                                      \
	"{\"kind\":\"HIP_RUNTIME_API\",\"operations\":[\"hipInit\",\"hipLaunchKernel\"]},"         \
	"{\"kind\":\"MEMORY_COPY\",\"operations\":[\"N\",\"MEMORY_COPY_DEVICE_TO_HOST\"]},"        \
	"{\"kind\":\"MARKER_CORE_API\",\"operations\":[\"roctxMarkA\"]},"                          \
	"{\"kind\":\"MEMORY_ALLOCATION\",\"operations\":[\"N\",\"ALLOCATE\",\"V\",\"FREE\"]},"     \
	"{\"kind\":\"HIP_EVENT\",\"operations\":[\"HIP_EVENT_RECORD\",\"HIP_EVENT_WAIT\"]}],"      \
	"\"marker_api\":[{\"key\":5,\"value\":\"step \\\"1\\\"\"}]},"                              \
	"\"code_objects\":[{},{}],"                                                                \
	"\"kernel_symbols\":[{\"kernel_id\":0,\"formatted_kernel_name\":\"0\"},"                   \
	"{\"kernel_id\":7,\"kernel_name\":\"_Z3addv.kd\",\"arch_vgpr_count\":8,\"sgpr_count\":32," \
	"\"accum_vgpr_count\":4,\"formatted_kernel_name\":\"add()\"}]"

#define SAMPLE_RECORDS                                                                             \
	"\"callback_records\":{\"counter_collection\":[{\"thread_id\":3,\"dispatch_data\":{"       \
	"\"correlation_id\":{\"internal\":4},\"dispatch_info\":{\"kernel_id\":7,\"dispatch_id\":"  \
	"1}},"                                                                                     \
	"\"records\":[{\"counter_id\":{\"handle\":9},\"value\":12.5},{\"counter_id\":{}}]}]},"     \
	"\"buffer_records\":{\"kernel_dispatch\":[{\"kind\":11,\"thread_id\":3,\"correlation_"     \
	"id\":"                                                                                    \
	"{\"internal\":4,\"external\":6},\"start_timestamp\":1000,\"end_timestamp\":1500,"         \
	"\"dispatch_info\":{\"agent_id\":{\"handle\":102},\"queue_id\":{\"handle\":1},\"kernel_"   \
	"id\":7,"                                                                                  \
	"\"dispatch_id\":1,\"private_segment_size\":16,\"group_segment_size\":32,"                 \
	"\"workgroup_size\":{\"x\":64,\"y\":1,\"z\":1},\"grid_size\":{\"x\":640,\"y\":1,\"z\":1}}" \
	","                                                                                        \
	"\"stream_id\":{\"handle\":3},\"graph_exec_id\":8,\"graph_node_id\":2},17,"                \
	"{\"start_timestamp\":0,\"end_timestamp\":9}],"                                            \
	"\"hip_api\":[{\"kind\":1,\"operation\":1,\"correlation_id\":{\"internal\":4},"            \
	"\"start_timestamp\":900,\"end_timestamp\":950,\"thread_id\":3,\"args\":["                 \
	"{\"type\":\"hipStream_t\",\"name\":\"stream\",\"value\":\"0x0\"}],\"retval\":0}],"        \
	"\"marker_api\":[{\"kind\":3,\"operation\":0,\"correlation_id\":{\"internal\":5},"         \
	"\"start_timestamp\":880,\"end_timestamp\":880,\"thread_id\":3}],"                         \
	"\"memory_copy\":[{\"kind\":2,\"operation\":1,\"correlation_id\":{\"internal\":6},"        \
	"\"start_timestamp\":1600,\"end_timestamp\":1700,\"dst_agent_id\":{\"handle\":100},"       \
	"\"src_agent_id\":{\"handle\":102},\"bytes\":4096,\"stream_id\":{\"handle\":3}}],"         \
	"\"memory_allocation\":[{\"kind\":4,\"operation\":1,\"correlation_id\":{\"internal\":2},"  \
	"\"start_timestamp\":10,\"end_timestamp\":11,\"agent_id\":{\"handle\":102},"               \
	"\"address\":{\"handle\":4660},\"allocation_size\":256,\"thread_id\":3},"                  \
	"{\"kind\":4,\"operation\":3,\"start_timestamp\":20,\"end_timestamp\":21,"                 \
	"\"address\":\"0x1234\",\"allocation_size\":0,\"thread_id\":3}],"                          \
	"\"hip_event\":[{\"kind\":5,\"operation\":1,\"correlation_id\":{\"internal\":8},"          \
	"\"start_timestamp\":30,\"end_timestamp\":35,\"agent_id\":{\"handle\":102},"               \
	"\"queue_id\":{\"handle\":1},\"hip_event_handle\":{\"handle\":55},\"source_queue_id\":2}]" \
	","                                                                                        \
	"\"pc_sample_host_trap\":[{},{}]}"

#define SAMPLE(a, b) "{\"rocprofiler-sdk-tool\":[{" a "," b "}]}"

static assay_run *read_text(const char *text, size_t n, bool *ok)
{
	assay_run *run = assay_run_new();
	assay_input *in = assay_input_memory(text, n);
	run->part.source = assay_add(&run->part.t, ASSAY_T_source);
	*ok = rocprof_json_read(run, in, NULL);
	assay_input_close(in);
	return run;
}

static int check_sample(const char *text)
{
	bool ok;
	assay_run *run = read_text(text, strlen(text), &ok);
	const assay_tables *t = &run->part.t;
	CHECK(ok);
	CHECK(t->gpu.n == 2 && t->host.n == 2 && t->alloc.n == 2 && t->pmc.n == 1 &&
	      t->barrier.n == 1);
	CHECK(!strcmp(assay_z(run, t->gpu.name[0]), "add()"));
	CHECK(t->gpu.ts[0] == 1000 && t->gpu.dur[0] == 500 && t->gpu.corr[0] == 4);
	CHECK(t->gpu.regs[0] == 8 && t->gpu.acc_regs[0] == 4 && t->gpu.scalar_regs[0] == 32);
	CHECK(t->gpu.grid_x[0] == 640 && t->gpu.block_x[0] == 64 && t->gpu.external[0] == 6);
	CHECK(t->gpu.shared[0] == 32 && t->gpu.scratch[0] == 16 && t->gpu.queue[0] == 1);
	CHECK(t->gpu.graph[0] == 8 && t->gpu.graph_node[0] == 2);
	CHECK_EQ(t->track.pid[t->gpu.track[0]], 2);
	CHECK_EQ(t->track.tid[t->gpu.track[0]], 3);
	CHECK(t->gpu.kind[1] == ASSAY_GPU_MEMCPY && t->gpu.bytes[1] == 4096);
	CHECK(t->gpu.track[1] == t->gpu.track[0]);
	CHECK(!strcmp(assay_z(run, t->gpu.name[1]), "MEMORY_COPY_DEVICE_TO_HOST"));
	CHECK(!strcmp(assay_z(run, t->host.name[0]), "hipLaunchKernel"));
	CHECK(!strcmp(assay_z(run, t->host.args[0]), "\"stream\": \"0x0\",\"retval\": 0"));
	CHECK(t->host.kind[0] == ASSAY_HOST_RUNTIME && t->api.corr[t->host.detail[0]] == 4);
	CHECK_EQ(t->track.pid[t->host.track[0]], 77);
	CHECK(t->host.kind[1] == ASSAY_HOST_MARKER);
	CHECK(!strcmp(assay_z(run, t->host.name[1]), "step \"1\""));
	CHECK(t->alloc.bytes[0] == 256 && t->alloc.bytes[1] == -256 && t->alloc.device[1] == 2);
	CHECK(!strcmp(assay_z(run, t->pmc.name[0]), "SQ_WAVES") && t->pmc.value[0] == 12.5);
	CHECK(!strcmp(assay_z(run, t->pmc.kernel[0]), "add()"));
	CHECK(t->barrier.event[0] == 55 && t->barrier.corr[0] == 8 && t->barrier.waits[0] == 1);
	CHECK(t->barrier.queue[0] == 1 && t->barrier.source_queue[0] == 2);
	CHECK(t->device.n == 1 && t->device.id[0] == 2 && t->device.memory[0] == 1000);
	CHECK(assay_str_is(assay_meta_get(run, "node.hostname"), "\"h1\""));
	CHECK(assay_str_is(assay_meta_get(run, "skipped.pc_sample_host_trap"), "2"));
	CHECK_EQ(run->part.issues[ASSAY_ISSUE_bad_record], 2);
	CHECK_EQ(run->part.issues[ASSAY_ISSUE_no_duration], 1);
	assay_run_free(run);
	return 0;
}

TEST(every_buffer_of_results_json_is_read)
{
	return check_sample(SAMPLE(SAMPLE_TABLES, SAMPLE_RECORDS));
}

TEST(tables_may_stand_behind_the_records_they_explain)
{
	return check_sample(SAMPLE(SAMPLE_RECORDS, SAMPLE_TABLES));
}

TEST(processes_of_one_file_are_sources_of_their_own)
{
	static const char one[] = "{" SAMPLE_TABLES "," SAMPLE_RECORDS "}";
	char text[3 * sizeof one];
	int n = snprintf(text, sizeof text, "{\"rocprofiler-sdk-tool\":[%s,%s,3]}", one, one);
	bool ok;
	assay_run *run = read_text(text, (size_t)n, &ok);
	const assay_tables *t = &run->part.t;
	CHECK(ok && t->gpu.n == 4 && t->source.n == 2 && t->device.n == 2);
	CHECK(t->track.source[t->gpu.track[0]] == 0 && t->track.source[t->gpu.track[2]] == 1);
	CHECK_EQ(run->part.source, 0);
	assay_run_free(run);
	return 0;
}

TEST(results_that_were_joined_are_all_read_and_other_text_behind_them_is_told)
{
	static const char one[] =
		"{\"rocprofiler-sdk-tool\":[{" SAMPLE_TABLES "," SAMPLE_RECORDS "}]}";
	char text[2 * sizeof one + 40];
	static const char *const tails[] = {"", ",\n", "\nSegmentation fault"};
	for (size_t i = 0; i < ASSAY_COUNT_OF(tails); i++) {
		int n = snprintf(text, sizeof text, "%s\n%s%s", one, one, tails[i]);
		bool ok;
		assay_run *run = read_text(text, (size_t)n, &ok), *alone;
		CHECK(ok && run->part.t.gpu.n == 4 && run->part.t.source.n == 2);
		CHECK_EQ(run->part.issues[ASSAY_ISSUE_truncated], 0);
		alone = read_text(one, sizeof one - 1, &ok);
		CHECK_EQ(run->part.issues[ASSAY_ISSUE_bad_record],
			 2 * alone->part.issues[ASSAY_ISSUE_bad_record] + (i == 2));
		assay_run_free(alone);
		assay_run_free(run);
	}
	return 0;
}

TEST(results_json_cut_anywhere_keeps_whole_records)
{
	static const char text[] = SAMPLE(SAMPLE_TABLES, SAMPLE_RECORDS);
	for (size_t n = 0; n < sizeof text - 1; n++) {
		bool ok;
		assay_run *run = read_text(text, n, &ok);
		CHECK(ok == (n > strlen("{\"rocprofiler-sdk-tool\":[")));
		CHECK(!ok || run->part.issues[ASSAY_ISSUE_truncated] == 1);
		CHECK(run->part.t.gpu.n <= 2);
		assay_run_free(run);
	}
	return 0;
}

TEST(hostile_results_json_is_counted_not_trusted)
{
	static const char *const text[] = {
		"{\"rocprofiler-sdk-tool\":[{\"buffer_records\":{\"hip_api\":[{\"start_timestamp\":1,\"end_timestamp\":18446744073709551615,\"kind\":99999999999,\"operation\":-4}]}}]}",
		"{\"rocprofiler-sdk-tool\":{\"agents\":[{\"id\":[]}],\"buffer_records\":{\"x\":{},\"memory_copy\":[[],{\"start_timestamp\":2,\"end_timestamp\":1,\"bytes\":1e99}]}}}",
		"{\"rocprofiler-sdk-tool\":[{\"metadata\":[],\"strings\":7,\"kernel_symbols\":[1,{}"
		"],"
		"\"buffer_records\":{\"kernel_dispatch\":[{\"start_timestamp\":5,\"end_timestamp\":"
		"6,"
		"\"dispatch_info\":{\"kernel_id\":{}}} ]}}] junk",
	};
	for (size_t i = 0; i < ASSAY_COUNT_OF(text); i++) {
		bool ok;
		assay_run *run = read_text(text[i], strlen(text[i]), &ok);
		uint64_t sum = 0;
		for (int k = 0; k < ASSAY_ISSUE_COUNT; k++)
			sum += run->part.issues[k];
		CHECK(ok && sum >= 2);
		assay_run_free(run);
	}
	return 0;
}

TEST(results_json_is_known_by_its_first_key)
{
	CHECK(rocprof_json_sniff(ASSAY_S(" {\"rocprofiler-sdk-tool\": [")) > 90);
	CHECK(rocprof_json_sniff(ASSAY_S("{\"traceEvents\": [")) == 0);
	CHECK(rocprof_json_sniff((assay_str){"", 0}) == 0);
	return 0;
}

static const char *short_name(const char *name, char *out, size_t size)
{
	static const char *const wanted[] = {
		"ncclDevKernel_Generic_1", "vectorized_elementwise_kernel",
		"elementwise_kernel_manual_unroll", "multi_tensor_apply_kernel", "reduce_kernel"};
	for (size_t i = 0; i < ASSAY_COUNT_OF(wanted); i++) {
		const char *at = strstr(name, wanted[i]);
		size_t n = strlen(wanted[i]);
		bool starts = at && (at == name || !strchr("_abcdefghijklmnopqrstuvwxyz", at[-1]));
		if (starts && (!at[n] || strchr("<(", at[n]))) {
			snprintf(out, size, "%s", wanted[i]);
			return out;
		}
	}
	return NULL;
}

typedef struct interval {
	int64_t from, to;
} interval;

static int by_start(const void *a, const void *b)
{
	int64_t x = ((const interval *)a)->from, y = ((const interval *)b)->from;
	return ASSAY_CMP(x, y);
}

static int64_t busy_union(const assay_gpu_table *t, int64_t *span)
{
	assay_vec(interval) v = {0};
	for (size_t i = 0; i < t->n; i++)
		*assay_push(&v) = (interval){t->ts[i], t->ts[i] + t->dur[i]};
	qsort(v.p, v.n, sizeof *v.p, by_start);
	int64_t busy = 0, end = v.p[0].from;
	for (size_t i = 0; i < v.n; i++) {
		int64_t from = v.p[i].from > end ? v.p[i].from : end;
		busy += v.p[i].to > from ? v.p[i].to - from : 0;
		end = v.p[i].to > end ? v.p[i].to : end;
	}
	*span = end - v.p[0].from;
	assay_vec_free(&v);
	return busy;
}

TEST(a_real_results_json_gives_the_reference_numbers)
{
	const char *corpus = getenv("ASSAY_CORPUS");
	char path[512], name[64];
	snprintf(path, sizeof path, "%s/tracelens/rocprofv3_908_results.json.gz",
		 corpus ? corpus : "../shared/data");
	assay_input *in = assay_input_open(path, NULL);
	if (!in)
		return 77;
	assay_run *run = assay_run_new();
	run->part.source = assay_add(&run->part.t, ASSAY_T_source);
	CHECK(rocprof_json_read(run, in, NULL));
	const assay_gpu_table *t = &run->part.t.gpu;
	int64_t sum = 0, nccl = 0, nccl_calls = 0, vector = 0, reduce = 0, reduce_calls = 0, span;
	for (size_t i = 0; i < t->n; i++) {
		sum += t->dur[i];
		if (!short_name(assay_z(run, t->name[i]), name, sizeof name))
			continue;
		bool is_nccl = !strcmp(name, "ncclDevKernel_Generic_1");
		bool is_reduce = !strcmp(name, "reduce_kernel");
		nccl += is_nccl ? t->dur[i] : 0;
		nccl_calls += is_nccl;
		reduce += is_reduce ? t->dur[i] : 0;
		reduce_calls += is_reduce;
		vector += !strcmp(name, "vectorized_elementwise_kernel") ? t->dur[i] : 0;
	}
	CHECK_EQ(t->n, 43915);
	CHECK_EQ(sum, 4441741378);
	CHECK_EQ(busy_union(t, &span), 4233112334);
	CHECK_EQ(span, 15122023494);
	CHECK_EQ(nccl, 4158756678);
	CHECK_EQ(nccl_calls, 1310);
	CHECK_EQ(vector, 74340648);
	CHECK_EQ(reduce, 18182782);
	CHECK_EQ(reduce_calls, 2000);
	CHECK_EQ(run->part.t.device.n, 8);
	CHECK_EQ(run->part.t.track.pid[t->track[0]], 0);
	for (int k = 0; k < ASSAY_ISSUE_COUNT; k++)
		CHECK_EQ(run->part.issues[k], 0);
	assay_input_close(in);
	assay_run_free(run);
	return 0;
}
