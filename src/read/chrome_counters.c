/* Kineto's ranges of CUPTI's profiler: spans named like a kernel whose arguments are hardware
 * counters. Their times are shares of the profiled stretch, so they stay host spans and are no work
 * of the device. */
#include "base/json.h"
#include "base/test.h"
#include "read/chrome.h"
#include "read/reader.h"

static void take_args(assay_run *run, uint32_t host, assay_arena *scratch)
{
	assay_pmc_table *t = &run->part.t.pmc;
	const char *object =
		assay_printf(scratch, "{%s}", assay_z(run, run->part.t.host.args[host]));
	assay_json j = assay_json_on(object, strlen(object));
	double number;
	assay_json_enter(&j, '{');
	for (assay_str key, value; assay_json_member(&j, &key) && assay_json_skip(&j, &value);) {
		if (!value.n || *value.p == '"' || !assay_str_f64(value, &number))
			continue;
		uint32_t r = assay_add(&run->part.t, ASSAY_T_pmc);
		t->kernel[r] = run->part.t.host.name[host];
		t->name[r] = assay_intern(&run->part.strings, assay_json_unescape(scratch, key));
		t->value[r] = number;
		t->source[r] = run->part.source;
	}
}

void chrome_take_counters(assay_run *run, size_t first)
{
	const assay_tables *t = &run->part.t;
	assay_sid ranges = assay_pool_find(&run->part.strings, ASSAY_S("cuda_profiler_range"));
	assay_arena scratch = {0};
	for (size_t i = first; ranges && i < t->host.n; i++) {
		uint32_t detail = t->host.detail[i];
		if (t->host.kind[i] == ASSAY_HOST_OTHER && detail != ASSAY_NO_ROW &&
		    t->other.cat[detail] == ranges)
			take_args(run, (uint32_t)i, &scratch);
	}
	assay_arena_free(&scratch);
}

TEST(ranges_of_the_profiler_are_counters_of_kernels)
{
	static const char text[] =
		"{\"schemaVersion\": 1, \"traceEvents\": [\n"
		"{\"ph\": \"X\", \"cat\": \"cuda_profiler_range\", \"name\": \"gemm\", \"pid\": 0, \"tid\": 0,\n"
		" \"ts\": 100, \"dur\": 10, \"args\": {\"dram__bytes.sum\": 4096, \"note\": \"7\", \"x\": 1.5}},\n"
		"{\"ph\": \"X\", \"cat\": \"other\", \"name\": \"no\", \"pid\": 0, \"tid\": 0, \"ts\": 110, \"dur\": 1,\n"
		" \"args\": {\"dram__bytes.sum\": 1}}]}";
	assay_run *run = assay_read_bytes(&assay_reader_chrome, text, strlen(text));
	const assay_pmc_table *c = &run->part.t.pmc;
	CHECK(c->n == 2 && c->value[0] == 4096 && c->value[1] == 1.5);
	CHECK(assay_str_is(assay_text(run, c->kernel[0]), "gemm") &&
	      assay_str_is(assay_text(run, c->name[0]), "dram__bytes.sum"));
	CHECK(run->part.t.host.n == 2 && !run->part.t.gpu.n);
	assay_run_free(run);
	return 0;
}
