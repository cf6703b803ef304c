/* env.json of a run directory: which versions the program would meet. Only what the report names
 * goes to the meta table; `assay env diff` reads the whole. */
#include "base/json.h"
#include "base/test.h"
#include "names/modes.h"
#include "read/reader.h"

enum { WHOLE = 1 << 22 };

/* Only schema_version has to be there; what else a snapshot of any maker may begin with. */
static int env_sniff(assay_str head)
{
	static const char *const begins[] = {"\"captured_at\":", "\"rocm\":", "\"host\":",
					     "\"env_vars\":", "\"pytorch_version\":"};
	if (!assay_str_starts(assay_str_trim(head), "{") ||
	    assay_str_find(head, "\"schema_version\":") < 0)
		return 0;
	for (size_t i = 0; i < ASSAY_COUNT_OF(begins); i++)
		if (assay_str_find(head, begins[i]) >= 0)
			return 85;
	return 0;
}

static void add_fact(assay_run *run, const char *name, assay_str value)
{
	if (!assay_str_is(value, "null"))
		assay_meta_add(&run->part, name, value);
}

static void read_build(assay_run *run, assay_json *j)
{
	assay_json_enter(j, '{');
	for (assay_str key, value; assay_json_member(j, &key) && assay_json_skip(j, &value);) {
		if (assay_str_is(key, "cuda_version"))
			add_fact(run, "env.cuda_version", value);
		else if (assay_str_is(key, "hip_version"))
			add_fact(run, "env.hip_version", value);
	}
}

/* Of all variables, those that slow a program down. */
static void read_variables(assay_run *run, assay_json *j)
{
	assay_arena scratch = {0};
	assay_json_enter(j, '{');
	for (assay_str name, value; assay_json_member(j, &name) && assay_json_skip(j, &value);) {
		if (value.n < 2 || *value.p != '"')
			continue;
		value = (assay_str){value.p + 1, value.n - 2};
		if (assay_mode_is_on(name, value))
			assay_meta_add(&run->part,
				       assay_printf(&scratch, "env.%.*s", (int)name.n, name.p),
				       value);
	}
	assay_arena_free(&scratch);
}

/* The probe of a recording is not always waited for. */
static void read_left(assay_run *run, assay_str files)
{
	uint64_t n;
	if (assay_str_u64(files, &n) && n)
		assay_warn(
			run, "environment",
			"the environment snapshot is incomplete: %llu library files have no digest, their probe was not waited for (assay env takes a whole one)",
			(unsigned long long)n);
}

static void read_ours(assay_run *run, assay_json *j)
{
	assay_json_enter(j, '{');
	for (assay_str key, value; assay_json_member(j, &key);) {
		if (assay_str_is(key, "env_vars") && assay_json_peek(j) == '{') {
			read_variables(run, j);
			continue;
		}
		if (!assay_json_skip(j, &value))
			return;
		if (assay_str_is(key, "files_left"))
			read_left(run, value);
	}
}

/* Objects of a snapshot that are looked into. */
static const struct {
	const char *key;
	void (*read)(assay_run *run, assay_json *j);
} objects[] = {
	{"pytorch_build", read_build},
	{"env_vars", read_variables},
	{"assay", read_ours},
};

static bool read_object(assay_run *run, assay_json *j, assay_str key)
{
	for (size_t i = 0; assay_json_peek(j) == '{' && i < ASSAY_COUNT_OF(objects); i++)
		if (assay_str_is(key, objects[i].key)) {
			objects[i].read(run, j);
			return true;
		}
	return false;
}

static bool env_read(assay_run *run, assay_input *in, assay_err *err)
{
	assay_view v = assay_input_view(in, 0, WHOLE);
	assay_json j = assay_json_on(v.p, v.n);
	size_t before = run->part.t.meta.n;
	assay_json_enter(&j, '{');
	for (assay_str key, value; assay_json_member(&j, &key);) {
		if (read_object(run, &j, key))
			continue;
		if (!assay_json_skip(&j, &value))
			break;
		if (assay_str_is(key, "pytorch_version"))
			add_fact(run, "env.pytorch_version", value);
	}
	if (assay_json_ok(&j))
		return true;
	assay_count(&run->part, ASSAY_ISSUE_truncated, 1);
	return run->part.t.meta.n > before ||
	       assay_fail(err, ASSAY_FORMAT, (uint64_t)(j.p - j.base),
			  "%s is not an environment snapshot", assay_input_path(in));
}

const assay_reader assay_reader_env_json = {
	.name = "env",
	.ends = {".json"},
	.about = "env.json of a run directory",
	.note = "facts",
	.page = "env",
	.sniff = env_sniff,
	.read = env_read,
	.traits = ASSAY_TRAIT_NOTE | ASSAY_TRAIT_SNAPSHOT,
};

TEST(an_env_snapshot_tells_versions_and_debug_modes)
{
	static const char text[] =
		"{\"schema_version\": \"1.1\", \"captured_at\": \"\", \"pytorch_version\": \"2.1\", \"pytorch_build\": {\"hip_version\": null, \"cuda_version\": \"13.0\"}, \"env_vars\": {\"HIP_LAUNCH_BLOCKING\": null, \"NCCL_DEBUG\": \"TRACE\"}, \"assay\": {\"version\": \"0\", \"files_left\": 3, \"env_vars\": {\"CUDA_LAUNCH_BLOCKING\": \"1\", \"AMD_LOG_LEVEL\": \"0\", \"PATH\": \"/\"}}}";
	CHECK(env_sniff((assay_str){text, sizeof text - 1}) > 0);
	CHECK(env_sniff(ASSAY_S("{\"schema_version\": \"1.0\", \"rocm\": {}}")) > 0);
	CHECK_EQ(env_sniff(ASSAY_S("{\"schema_version\": 1, \"traceEvents\": []}")), 0);
	for (size_t cut = 0; cut < sizeof text; cut++) {
		assay_run *run = assay_read_bytes(&assay_reader_env_json, text, cut);
		if (cut == sizeof text - 1) {
			CHECK(assay_str_is(assay_meta_get(run, "env.cuda_version"), "\"13.0\""));
			CHECK(assay_str_is(assay_meta_get(run, "env.pytorch_version"), "\"2.1\""));
			CHECK(!assay_meta_get(run, "env.hip_version").n);
			CHECK(assay_str_is(assay_meta_get(run, "env.CUDA_LAUNCH_BLOCKING"), "1"));
			CHECK(assay_str_is(assay_meta_get(run, "env.NCCL_DEBUG"), "TRACE"));
			CHECK(!assay_meta_get(run, "env.AMD_LOG_LEVEL").n);
			CHECK(!assay_meta_get(run, "env.PATH").n);
			CHECK_EQ(run->part.t.warning.n, 1);
		}
		assay_run_free(run);
	}
	return 0;
}
