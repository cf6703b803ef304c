/* assay info: what is in an input, what was lost, and the schema of our tables. */
#include <string.h>

#include "base/jsonw.h"
#include "cmd/cmd.h"
#include "cmd/say.h"
#include "model/findings.h"
#include "read/reader.h"
#include "render/info.h"

struct info_args {
	bool json, schema;
};

struct tally {
	assay_contents of;
	assay_vec(char *) left; /* files that are read together */
	assay_arena arena;
};

static void extend(assay_time_range *r, int64_t from, int64_t dur)
{
	int64_t to = from + (dur > 0 ? dur : 0);
	r->first = from < r->first ? from : r->first;
	r->last = to > r->last ? to : r->last;
}

/* Events and summed time of each track that GPU rows use. */
static void tally_streams(assay_contents *y, const assay_tables *t)
{
	assay_arena scratch = {0};
	assay_stream_use *use = assay_alloc(&scratch, (t->track.n + 1) * sizeof *use);
	for (size_t i = 0; i < t->gpu.n; i++) {
		use[t->gpu.track[i]].events++;
		use[t->gpu.track[i]].busy += t->gpu.dur[i] > 0 ? t->gpu.dur[i] : 0;
	}
	for (size_t i = 0; i < t->track.n; i++) {
		use[i].source = (y->many ? (uint32_t)y->run->part.t.source.n : 0) +
				assay_track_group(t, (uint32_t)i);
		use[i].device = t->track.pid[i];
		use[i].stream = t->track.tid[i];
		if (use[i].events)
			*assay_push(&y->stream) = use[i];
	}
	assay_arena_free(&scratch);
}

static void tally_rows(assay_contents *y, const assay_tables *t)
{
	for (size_t i = 0; i < ASSAY_T_COUNT; i++)
		y->rows[i] += assay_rows(t, &assay_table_infos[i]);
	for (size_t i = 0; i < t->host.n; i++)
		extend(&y->work, t->host.ts[i], t->host.dur[i]);
	for (size_t i = 0; i < t->gpu.n; i++)
		extend(&y->work, t->gpu.ts[i], t->gpu.dur[i]);
	for (size_t i = 0; i < t->counter.n; i++)
		extend(&y->counters, t->counter.ts[i], 0);
	tally_streams(y, t);
}

static void take_file(void *ctx, const assay_run *file)
{
	assay_contents *y = &((struct tally *)ctx)->of;
	y->many = true;
	tally_rows(y, &file->part.t);
	assay_findings_append(&y->run->part, &file->part, NULL);
}

static void leave_file(void *ctx, const char *path)
{
	struct tally *y = ctx;
	y->of.many = true;
	*assay_push(&y->left) = assay_dup(&y->arena, assay_str_of(path));
}

static bool read_left(struct tally *y)
{
	assay_run *rest = y->left.n ? assay_cmd_read(y->left.p, (int)y->left.n) : NULL;
	if (!rest)
		return !y->left.n;
	take_file(y, rest);
	assay_run_free(rest);
	return true;
}

static bool tally_inputs(struct tally *y, char **operands, int n)
{
	enum { FEW = 16 };
	const assay_each each = {
		.ctx = y, .more_than = FEW, .take = take_file, .leave = leave_file};
	assay_contents *of = &y->of;
	of->work = of->counters = (assay_time_range){INT64_MAX, INT64_MIN};
	of->run = assay_run_new();
	assay_run *read = assay_cmd_read_each(operands, n, &each);
	if (!read)
		return false;
	if (of->many) { /* all it has are files that cannot be read */
		assay_findings_append(&of->run->part, &read->part, NULL);
		assay_run_free(read);
		return read_left(y);
	}
	assay_run_free(of->run);
	of->run = read;
	tally_rows(of, &read->part.t);
	return true;
}

static void print_contents(const assay_contents *c, bool json)
{
	assay_jsonw w = {0};
	if (!json) {
		assay_cmd_text text;
		assay_contents_text(assay_cmd_text_open(&text), c);
		assay_cmd_text_close(&text);
		return;
	}
	assay_contents_json(&w, c);
	assay_cmd_put_json(&w);
}

static void print_schema(bool json)
{
	assay_jsonw w = {0};
	if (!json) {
		assay_cmd_text text;
		assay_schema_text(assay_cmd_text_open(&text));
		assay_cmd_text_close(&text);
		return;
	}
	assay_schema_json(&w);
	assay_cmd_put_json(&w);
}

static int info_run(const void *args, char **operands, int n)
{
	const struct info_args *a = args;
	if (a->schema && n) {
		assay_say(
			"assay info: --schema takes no input; leave it out to see what is in one");
		return ASSAY_EXIT_USAGE;
	}
	if (a->schema) {
		print_schema(a->json);
		return ASSAY_EXIT_OK;
	}
	if (!n) {
		assay_say("assay info: expected INPUT... or --schema");
		return ASSAY_EXIT_USAGE;
	}
	struct tally t = {0};
	bool ok = tally_inputs(&t, operands, n);
	if (ok)
		print_contents(&t.of, a->json);
	assay_run_free(t.of.run);
	assay_vec_free(&t.of.stream);
	assay_vec_free(&t.left);
	assay_arena_free(&t.arena);
	return ok ? ASSAY_EXIT_OK : ASSAY_EXIT_FAIL;
}

static const assay_opt info_opts[] = {
	{"json", 'j', ASSAY_OPT_FLAG, NULL, "Write JSON for programs.",
	 offsetof(struct info_args, json)},
	{"schema", 0, ASSAY_OPT_FLAG, NULL, "Print every table and column of the model.",
	 offsetof(struct info_args, schema)},
};

static const assay_example info_examples[] = {
	{"assay info demo/train.json.gz", "formats, counts, time range, devices, streams, losses"},
	{"assay info --schema", "the tables that every input is read into"},
};

const assay_cmd assay_cmd_info = {
	.name = "info",
	.args = "[INPUT...]",
	.about = "Show what is in an input and what was lost",
	.details =
		"Shows which reader took each file, how many records it has, the time range, devices, streams,\n"
		"the number of rows of every table, and every data problem met while reading.",
	ASSAY_OPTS(info_opts),
	ASSAY_EXAMPLES(info_examples),
	.args_size = sizeof(struct info_args),
	.max_operands = -1,
	.run = info_run,
};
