/* run.json of a run directory: what `assay record` wrote down about the recording. Its members
 * go to the meta table as run.<member>; a directory with nothing else is a run that never used a
 * GPU. */
#include <inttypes.h>
#include <string.h>

#include "base/folders.h"
#include "base/json.h"
#include "base/test.h"
#include "read/reader.h"
#include "read/rings.h"

enum { WHOLE = 1 << 20 };

static int run_sniff(assay_str head)
{
	bool ours = assay_str_starts(assay_str_trim(head), "{") &&
		    assay_str_find(head, "\"assay\":") >= 0 &&
		    assay_str_find(head, "\"recorders\":") >= 0;
	return ours ? 85 : 0;
}

/* A value as people write it: a text without its quotes. */
static const char *plain(assay_arena *scratch, assay_str value)
{
	bool text = value.n >= 2 && value.p[0] == '"';
	return assay_dup(scratch,
			 text ? assay_json_unescape(scratch, (assay_str){value.p + 1, value.n - 2})
			      : value);
}

static const char *sentence_of(const char *why)
{
	static const char *const whys[][2] = {
#define UNRECORDED(id, name, text) {name, text},
#include "model/unrecorded.def"
#undef UNRECORDED
	};
	for (size_t i = 0; i < ASSAY_COUNT_OF(whys); i++)
		if (!strcmp(why, whys[i][0]))
			return whys[i][1];
	return why;
}

/* Of one object of `unrecorded`: its name, why, and whether it had a GPU. */
static void read_unrecorded(assay_run *run, assay_json *j, assay_arena *scratch)
{
	assay_str pid = {0}, name = {0}, why = {0}, gpu = {0}, value;
	assay_json_enter(j, '{');
	for (assay_str key; assay_json_member(j, &key) && assay_json_skip(j, &value);) {
		pid = assay_str_is(key, "pid") ? value : pid;
		name = assay_str_is(key, "name") ? value : name;
		why = assay_str_is(key, "why") ? value : why;
		gpu = assay_str_is(key, "gpu") ? value : gpu;
	}
	if (!assay_json_ok(j))
		return;
	bool has_gpu = assay_str_is(gpu, "true"), unknown = assay_str_is(gpu, "null");
	assay_count(&run->part, has_gpu ? ASSAY_ISSUE_unrecorded_gpu : ASSAY_ISSUE_unrecorded_child,
		    1);
	if (has_gpu || unknown)
		assay_warn(run, "unrecorded_gpu",
			   "process %s (%s) %s a GPU and was not recorded: %s", plain(scratch, pid),
			   plain(scratch, name), has_gpu ? "uses" : "may use",
			   sentence_of(plain(scratch, why)));
}

static void count_unrecorded(assay_run *run, assay_str list)
{
	assay_arena scratch = {0};
	assay_json j = assay_json_on(list.p, list.n);
	if (assay_json_enter(&j, '['))
		while (assay_json_element(&j))
			read_unrecorded(run, &j, &scratch);
	assay_arena_free(&scratch);
}

/* Rings of processes that are gone, where the recorder put them. */
static void count_left(assay_run *run, const char *path)
{
	assay_arena scratch = {0};
	const char *dir = strchr(path, '/') ? assay_folder_of(&scratch, path) : ".";
	uint64_t n = !strcmp(assay_file_name(path), "run.json") ? assay_run_left(dir) : 0;
	if (n) {
		assay_count(&run->part, ASSAY_ISSUE_left_rings, n);
		assay_warn(
			run, "left_rings",
			"%" PRIu64
			" %s left records in memory that are not read: assay record --recover %s takes them into the run",
			n, n == 1 ? "process that is gone" : "processes that are gone", dir);
	}
	assay_arena_free(&scratch);
}

static bool run_read(assay_run *run, assay_input *in, assay_err *err)
{
	assay_view v = assay_input_view(in, 0, WHOLE);
	assay_json j = assay_json_on(v.p, v.n);
	assay_arena scratch = {0};
	assay_json_enter(&j, '{');
	for (assay_str key, value; assay_json_member(&j, &key) && assay_json_skip(&j, &value);) {
		if (assay_str_is(key, "unrecorded"))
			count_unrecorded(run, value);
		assay_meta_add(&run->part, assay_printf(&scratch, "run.%.*s", (int)key.n, key.p),
			       value);
	}
	assay_arena_free(&scratch);
	count_left(run, assay_input_path(in));
	if (assay_json_ok(&j))
		return true;
	assay_count(&run->part, ASSAY_ISSUE_truncated, 1);
	return run->part.t.meta.n ||
	       assay_fail(err, ASSAY_FORMAT, (uint64_t)(j.p - j.base),
			  "%s is not a description of a run", assay_input_path(in));
}

const assay_reader assay_reader_run_json = {
	.name = "run",
	.ends = {".json"},
	.about = "run.json of a run directory",
	.note = "facts",
	.page = "env",
	.sniff = run_sniff,
	.read = run_read,
	.traits = ASSAY_TRAIT_NOTE,
};

TEST(processes_that_were_not_recorded_are_counted)
{
	static const char text[] =
		"{\"assay\": \"1\", \"recorders\": {}, \"unrecorded\": [{\"pid\": 7, \"name\": \"a\", \"why\": \"environment\", \"gpu\": true}, {\"name\": \"b\", \"gpu\": false}, {\"pid\": 8, \"name\": \"c\", \"why\": \"other\", \"gpu\": null}, 5, {]}";
	assay_run *run = assay_read_bytes(&assay_reader_run_json, text, sizeof text - 1);
	CHECK_EQ(run->part.issues[ASSAY_ISSUE_unrecorded_gpu], 1);
	CHECK_EQ(run->part.issues[ASSAY_ISSUE_unrecorded_child], 2);
	const assay_warning_table *w = &run->part.t.warning;
	CHECK_EQ(w->n, 2);
	CHECK(!strcmp(
		assay_z(run, w->text[0]),
		"process 7 (a) uses a GPU and was not recorded: its environment was cleaned"));
	CHECK(!strcmp(assay_z(run, w->text[1]),
		      "process 8 (c) may use a GPU and was not recorded: other"));
	assay_run_free(run);
	return 0;
}

TEST(a_run_description_becomes_facts)
{
	static const char text[] =
		"{\"assay\": \"0.1.0\", \"command\": [\"a\"], \"recorders\": {}}";
	CHECK(run_sniff((assay_str){text, sizeof text - 1}) > 0 &&
	      !run_sniff(ASSAY_S("{\"assay\": 1}")));
	for (size_t cut = 0; cut < sizeof text; cut++) {
		assay_run *run = assay_read_bytes(&assay_reader_run_json, text, cut);
		if (cut == sizeof text - 1)
			CHECK(assay_str_is(assay_meta_get(run, "run.command"), "[\"a\"]"));
		assay_run_free(run);
	}
	return 0;
}
