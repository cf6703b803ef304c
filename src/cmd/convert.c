/* assay convert: from any format we read to any format we write. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/convert_each.h"
#include "base/fmt.h"
#include "cmd/cmd.h"
#include "cmd/say.h"
#include "read/reader.h"
#include "resolve/resolve.h"
#include "write/writer.h"

struct convert_args {
	const char *to, *ranks;
	bool hta, exact, each;
};

/* ------------------------------------------------------------------ choosing a writer */

static void list_writers(void)
{
	for (size_t i = 0; i < assay_writer_count; i++) {
		const assay_writer *w = assay_writers[i];
		assay_say("  --to %-15s %-20s %s", w->name,
			  strcmp(w->exts[0], "/") ? w->exts[0] : "folder/", w->about);
	}
	assay_say("%s", assay_formats_of_python);
}

static const assay_writer *choose_writer(const struct convert_args *a, const char *path)
{
	const assay_writer *w = a->to ? assay_writer_named(a->to) : assay_writer_for(path);
	if (w)
		return w;
	if (a->to)
		assay_say("assay convert: there is no format '%s'; the formats are:", a->to);
	else
		assay_say(
			"assay convert: the name %s does not say which format to write; use --to, or one of these ends (.gz and .zst compress):",
			path);
	list_writers();
	return NULL;
}

/* ------------------------------------------------------------------ command */

/* Ranks keep rows of their own in viewers, but to other tools a file has one rank, and its steps
 * are all of one. */
static void say_joined(const assay_run *run)
{
	const assay_tables *t = &run->part.t;
	assay_map seen = {0};
	for (size_t i = 0; i < t->gpu.n; i++)
		*assay_map_at(&seen, assay_group_of(t, t->track.source[t->gpu.track[i]])) = 1;
	if (seen.n > 1)
		assay_say(
			"assay: %zu traces go into one file; tools that take a file for a rank take them for one",
			(size_t)seen.n);
	assay_map_free(&seen);
}

static void tell_lacks(const assay_writer *w, const char *text)
{
	if (text)
		assay_say("assay: not written, for %s has no place for it: %s", w->name, text);
}

static bool write_and_tell(assay_run *run, const assay_writer *w, const char *out,
			   const assay_convert_query *query, assay_err *err)
{
	assay_left_out left = {0};
	bool ok = assay_convert(run, w, out, query, &left, err);
	if (ok)
		tell_lacks(w, left.text);
	if (ok && !assay_writes_folder(w, out))
		say_joined(run);
	assay_arena_free(&left.arena);
	return ok;
}

static int end_each(const assay_convert_each *c)
{
	char x[ASSAY_FMT];
	tell_lacks(c->writer, c->lacks.text);
	if (c->left)
		assay_say("assay: %s files of no single process (telemetry, facts) are not written",
			  assay_fmt_count(x, c->left));
	if (c->failed) {
		assay_cmd_error(&c->err);
		assay_say("assay: %s of the processes could not be written",
			  assay_fmt_count(x, c->failed));
	}
	return c->failed ? ASSAY_EXIT_FAIL : ASSAY_EXIT_OK;
}

/* One file a process, and only as many in memory as there are workers. *run: the job is so small
 * that it was read as a whole instead. */
static int convert_each(const struct convert_args *a, const assay_writer *w, char **operands, int n,
			assay_run **run)
{
	const assay_convert_query query = {.hta = a->hta, .exact = a->exact};
	enum { FEW = 16 };
	bool always = a->each || !w->write_folder;
	assay_convert_each c = {.writer = w,
				.folder = operands[n - 1],
				.query = &query,
				.operands = operands,
				.operand_n = (size_t)n - 1};
	assay_each each = assay_convert_each_of(&c, always ? 0 : FEW);
	*run = assay_cmd_read_each(operands, n - 1, &each);
	assay_convert_each_end(&c);
	int status = *run ? end_each(&c) : ASSAY_EXIT_FAIL;
	if (*run && (c.written || c.failed)) {
		assay_run_free(*run);
		*run = NULL;
	}
	assay_convert_each_free(&c);
	return status;
}

static bool goes_into_folder(const struct convert_args *a, const assay_writer *w, const char *out)
{
	size_t n = strlen(out);
	return w->write && (a->each || assay_writes_folder(w, out) || (n && out[n - 1] == '/'));
}

static int convert_run(const void *args, char **operands, int n)
{
	const struct convert_args *a = args;
	const char *out = operands[n - 1];
	const assay_writer *w = choose_writer(a, out);
	if (!w)
		return ASSAY_EXIT_USAGE;
	if (a->each && (!w->write || a->ranks)) {
		assay_say(!w->write ? "assay convert: %s is a folder already; --each writes files"
				    : "assay convert: %s with --each writes all ranks",
			  w->name);
		return ASSAY_EXIT_USAGE;
	}
	if (!w->write && !strcmp(out, "-")) {
		assay_say("assay convert: tables go into a folder, not to standard output");
		return ASSAY_EXIT_USAGE;
	}
	int status = ASSAY_EXIT_OK;
	assay_err err = {0};
	assay_run *run = NULL;
	if (goes_into_folder(a, w, out) && !a->ranks)
		status = convert_each(a, w, operands, n, &run);
	else
		run = assay_cmd_read_ranks(operands, n - 1, a->ranks ? a->ranks : "all", &status);
	if (!run)
		return status;
	assay_cmd_losses(run);
	if (assay_cmd_is_input(run, "convert", out)) {
		assay_run_free(run);
		return ASSAY_EXIT_USAGE;
	}
	const assay_convert_query query = {.hta = a->hta, .exact = a->exact};
	bool ok = assay_run_prepare(run, w, &err) && write_and_tell(run, w, out, &query, &err);
	if (!ok)
		assay_cmd_error(&err);
	assay_run_free(run);
	return ok ? ASSAY_EXIT_OK : assay_cmd_status(&err);
}

static const assay_opt convert_opts[] = {
	{"to", 0, ASSAY_OPT_TEXT, "FORMAT",
	 "Format to write, when OUT's name does not say: chrome, perfetto, xplane, xplane-grouped, rocpd, rocprof-csv, csv or sqlite.",
	 offsetof(struct convert_args, to)},
	{"hta", 0, ASSAY_OPT_FLAG, NULL, "Give HIP calls the CUDA names that HTA looks for.",
	 offsetof(struct convert_args, hta)},
	{"exact", 0, ASSAY_OPT_FLAG, NULL, "Write no inferred scopes (see scopes --exact).",
	 offsetof(struct convert_args, exact)},
	{"each", 0, ASSAY_OPT_FLAG, NULL,
	 "Write one file for each process into the folder OUT; memory then holds a few processes, not the whole job.",
	 offsetof(struct convert_args, each)},
	{"ranks", 0, ASSAY_OPT_TEXT, "LIST", "Ranks to write, such as 3,8-15 (default all).",
	 offsetof(struct convert_args, ranks)},
};

static const assay_example convert_examples[] = {
	{"assay convert demo/train.json.gz /tmp/assay-example.json.gz",
	 "the same trace with waits resolved, arrows and rows of their own"},
	{"assay convert demo/train.json.gz /tmp/assay-example.pftrace", "for ui.perfetto.dev"},
	{"assay convert --to xplane demo/ddp /tmp/assay-example.log/",
	 "for xprof --logdir /tmp/assay-example.log"},
	{"assay convert --to csv demo/train.json.gz /tmp/assay-example", "for a spreadsheet"},
	{"assay convert --to chrome demo/train.json.gz -", "to standard output"},
	{"assay convert --each --to perfetto demo/ddp /tmp/assay-example.each",
	 "a file for each rank"},
};

const assay_cmd assay_cmd_convert = {
	.name = "convert",
	.args = "INPUT... OUT",
	.about = "Write a run in another format",
	.details =
		"Reads INPUTs in any format assay knows and writes them as OUT: Chrome/Kineto JSON (.json) for\n"
		"Perfetto, HTA and TraceLens, Perfetto's own format (.pftrace), XPlane (.xplane.pb) for xprof and\n"
		"TensorBoard, AMD's rocpd database (.rocpd.db), rocprofv3's CSV (a folder .rocprof/), or every\n"
		"table as SQLite (.db) or as CSV, one file each, in the folder OUT (a name that ends in /, or\n"
		"--to csv). A name that ends in .gz or .zst is compressed; - is standard output and needs --to.\n\n"
		"XPlane comes in two modes: --to xplane leaves steps, arrows and derived rows to xprof; --to\n"
		"xplane-grouped (.grouped.xplane.pb) writes them, and xprof shows them as they are.\n\n"
		"With --to xplane or xplane-grouped, a folder as OUT (a name that ends in /) is laid out as xprof\n"
		"opens it: OUT/plugins/profile/RUN/HOST.xplane.pb, one file a rank. With other formats it gets\n"
		"one file for each process, named after its input (--each asks for that where OUT has no slash).\n"
		"Jobs of any size can be written this way: each process is read, written and forgotten.\n\n"
		"Everything that was read is written, with times exact to the nanosecond; what the format has no\n"
		"place for is named on standard error. Waits are added as assay resolves them: cuda_sync events\n"
		"on rows of their own, arrows from the work waited for (category stream_dep), and the fields of\n"
		"HIP waits.\n\n"
		"OUT appears complete or not at all: it gets its name once everything is written.",
	ASSAY_OPTS(convert_opts),
	ASSAY_EXAMPLES(convert_examples),
	.args_size = sizeof(struct convert_args),
	.min_operands = 2,
	.max_operands = -1,
	.run = convert_run,
};
