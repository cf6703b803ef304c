/* assay report: where the time went. */
#include <stdlib.h>
#include <string.h>

#include "base/input.h"
#include "base/json.h"
#include "cmd/cmd.h"
#include "cmd/report_show.h"
#include "cmd/say.h"
#include "cmd/shard.h"
#include "like/goblin.h"
#include "like/like.h"
#include "read/goblin.h"
#include "render/goblin.h"
#include "render/report.h"

enum { CONFIG_MAX = 1 << 20 };

struct report_args {
	report_show show;
	int64_t steps;
	const char *steps_from, *precision, *config, *like, *rates, *captures, *shard, *out;
	const char *step, *stream, *device, *rank;
};

#define PRECISIONS "fp32|fp16|bf16|fp8"

static bool is_precision(const char *word)
{
	assay_str left = ASSAY_S(PRECISIONS);
	while (left.n)
		if (assay_str_is(assay_str_cut(&left, '|'), word))
			return true;
	return false;
}

/* The precision a workload description names, fp16 where it names none; NULL (with a message) when
 * it cannot be read or names another. */
static const char *config_precision(const char *path, assay_arena *arena)
{
	assay_err err = {0};
	assay_input *in = assay_input_open(path, &err);
	if (!in) {
		assay_cmd_error(&err);
		return NULL;
	}
	const char *found = "fp16";
	assay_view v = assay_input_view(in, 0, CONFIG_MAX);
	assay_json j = assay_json_on(v.p, v.n);
	bool object = assay_json_enter(&j, '{');
	for (assay_str key, value; assay_json_member(&j, &key);) {
		bool named = assay_str_is(key, "precision");
		if (named && assay_json_peek(&j) == '"' && assay_json_text(&j, &value)) {
			found = assay_dup(arena, assay_json_unescape(arena, value));
			continue;
		}
		found = named ? "" : found;
		assay_json_skip(&j, NULL);
	}
	if (!object || !assay_json_ok(&j)) {
		assay_say("assay: %s is not a workload description (at byte %zu)", path,
			  (size_t)(j.p - j.base));
		found = NULL;
	} else if (!is_precision(found)) {
		assay_say("assay: the precision in %s is none of " PRECISIONS, path);
		found = NULL;
	}
	assay_input_close(in);
	return found;
}

static int like_goblin(const struct report_args *a, char **operands, int n)
{
	if (n != 1) {
		assay_say("assay report: --like goblin takes one directory or file");
		return ASSAY_EXIT_USAGE;
	}
	assay_arena arena = {0};
	const char *precision = a->precision;
	if (!precision && a->config && !(precision = config_precision(a->config, &arena))) {
		assay_arena_free(&arena);
		return ASSAY_EXIT_FAIL;
	}
	assay_goblin_input in;
	assay_err err = {0};
	bool ok = assay_goblin_read(operands[0], precision, (int)a->steps, &in, &err);
	if (ok) {
		assay_goblin g = assay_goblin_compute(&in);
		assay_jsonw w = {0};
		assay_goblin_json(&w, &g);
		assay_cmd_put_json(&w);
	} else {
		assay_cmd_error(&err);
	}
	assay_goblin_input_free(&in);
	assay_arena_free(&arena);
	return ok ? ASSAY_EXIT_OK : ASSAY_EXIT_FAIL;
}

/* Options for what is printed belong to the one who prints. */
static bool fits_shard(const struct report_args *a)
{
	bool shown = a->show.top || a->show.verbose || a->show.section.n || a->show.full_names ||
		     a->show.html || a->show.json || a->show.markdown;
	bool part = a->step || a->stream || a->device || a->rank;
	if (!shown && !part && !a->steps && !a->rates && a->out)
		return true;
	fputs(a->out ? "assay report: a shard is not shown: give --steps, --rates and what is to be printed to assay merge\n"
		     : "assay report: --shard needs -o DIR\n",
	      stderr);
	return false;
}

static int write_shard(const struct report_args *a, const assay_report_opts *opts, char **operands,
		       int n)
{
	assay_shard shard;
	return fits_shard(a) && assay_cmd_shard_of(a->shard, &shard)
		       ? assay_cmd_write_shard(operands, n, opts, shard, a->out, false)
		       : ASSAY_EXIT_USAGE;
}

static int report_native(const struct report_args *a, char **operands, int n)
{
	if (a->precision || a->config)
		assay_say("assay report: only --like goblin uses a precision");
	assay_report_opts opts = {.size = sizeof opts,
				  .steps = (int32_t)a->steps,
				  .top = (uint32_t)a->show.top,
				  .steps_from = a->steps_from,
				  .rates = a->rates,
				  .captures = a->captures,
				  .only_step = a->step,
				  .only_stream = a->stream,
				  .only_device = a->device,
				  .only_rank = a->rank};
	int status;
	if (a->shard)
		return write_shard(a, &opts, operands, n);
	assay_run *run = assay_cmd_job(operands, n, &opts, !a->show.html, &status);
	return run ? report_show_run(&a->show, run, operands) : status;
}

/* Figures of another tool that are computed from an analyzed run. */
static int print_like(const struct report_args *a, char **operands, int n, assay_like_fn *fill)
{
	assay_run *run = assay_cmd_analyze(operands, n);
	if (!run)
		return ASSAY_EXIT_FAIL;
	fill(run);
	assay_cmd_show_like(run, a->like, a->show.json);
	assay_run_free(run);
	return ASSAY_EXIT_OK;
}

static int like_hta(const struct report_args *a, char **operands, int n)
{
	return print_like(a, operands, n, assay_like_hta);
}

static int like_tracelens(const struct report_args *a, char **operands, int n)
{
	return print_like(a, operands, n, assay_like_tracelens);
}

enum {
	STEPS = 1,
	STEPS_FROM = 2,
	TOP = 4,
	HTML = 8,
	PRECISION = 16,
	CONFIG = 32,
	RATES = 64,
	SECTION = 128,
	VERBOSE = 256,
	FULL_NAMES = 512,
	MARKDOWN = 1024,
	SHARD = 2048,
	ONLY = 4096,
	CAPTURES = 8192,
};

/* Other tools' definitions, by the value of --like; the first is ours. */
static const struct like {
	const char *name;
	int (*run)(const struct report_args *a, char **operands, int n);
	unsigned takes; /* options that mean something to it */
} likes[] = {
	{"native", report_native,
	 STEPS | STEPS_FROM | TOP | HTML | PRECISION | CONFIG | RATES | SECTION | VERBOSE |
		 FULL_NAMES | MARKDOWN | SHARD | ONLY | CAPTURES},
	{"goblin", like_goblin, STEPS | PRECISION | CONFIG},
	{"hta", like_hta, 0},
	{"tracelens", like_tracelens, 0},
};

/* An option that would change nothing is refused: silence would say that it was obeyed. */
static bool options_fit(const struct report_args *a, const struct like *like)
{
	const struct {
		const char *name;
		bool given;
		unsigned bit;
	} options[] = {
		{"steps", a->steps, STEPS},
		{"steps-from", a->steps_from, STEPS_FROM},
		{"top", a->show.top, TOP},
		{"html", a->show.html, HTML},
		{"precision", a->precision, PRECISION},
		{"config", a->config, CONFIG},
		{"rates", a->rates, RATES},
		{"captures", a->captures, CAPTURES},
		{"section", a->show.section.n, SECTION},
		{"verbose", a->show.verbose, VERBOSE},
		{"full-names", a->show.full_names, FULL_NAMES},
		{"markdown", a->show.markdown, MARKDOWN},
		{"shard", a->shard, SHARD},
		{"out", a->out, SHARD},
		{"step", a->step, ONLY},
		{"stream", a->stream, ONLY},
		{"device", a->device, ONLY},
		{"rank", a->rank, ONLY},
	};
	for (size_t i = 0; i < ASSAY_COUNT_OF(options); i++)
		if (options[i].given && !(like->takes & options[i].bit)) {
			assay_say("assay report: --%s means nothing to --like %s", options[i].name,
				  like->name);
			return false;
		}
	return report_show_fits("report", &a->show);
}

static int report_run(const void *args, char **operands, int n)
{
	const struct report_args *a = args;
	const struct like *like = likes;
	while (a->like && strcmp(like->name, a->like))
		like++;
	if (!options_fit(a, like))
		return ASSAY_EXIT_USAGE;
	return like->run(a, operands, n);
}

static const assay_opt report_opts[] = {
	{"steps", 0, ASSAY_OPT_COUNT, "N", "Number of steps, when the input has no step markers.",
	 offsetof(struct report_args, steps)},
	{"steps-from", 0, ASSAY_OPT_TEXT, "RANGES",
	 "Which ranges are steps: auto, NVTX or roctx, followed by :NAME for ranges of one name, or NAME alone; * and ? are wildcards. Default: what the recording was told, else auto.",
	 offsetof(struct report_args, steps_from)},
	{"step", 0, ASSAY_OPT_TEXT, "N[-M]", "Only step N, or steps N to M.",
	 offsetof(struct report_args, step)},
	{"stream", 0, ASSAY_OPT_TEXT, "N", "Only work of this stream.",
	 offsetof(struct report_args, stream)},
	{"device", 0, ASSAY_OPT_TEXT, "N", "Only work of this device.",
	 offsetof(struct report_args, device)},
	{"rank", 0, ASSAY_OPT_TEXT, "N", "Only this rank of a job.",
	 offsetof(struct report_args, rank)},
	{"precision", 0, ASSAY_OPT_TEXT, PRECISIONS,
	 "With --like goblin: the precision the run was meant to use.",
	 offsetof(struct report_args, precision)},
	{"config", 0, ASSAY_OPT_TEXT, "FILE",
	 "With --like goblin: a workload description (JSON) to take the precision from.",
	 offsetof(struct report_args, config)},
	{"like", 0, ASSAY_OPT_TEXT, "native|goblin|hta|tracelens",
	 "Compute the figures of another tool exactly, under its names (default native).",
	 offsetof(struct report_args, like)},
	{"rates", 0, ASSAY_OPT_TEXT, "FILE",
	 "Peak rates of the device (JSON); they override the built-in table.",
	 offsetof(struct report_args, rates)},
	{"captures", 0, ASSAY_OPT_TEXT, "PATH",
	 "Recording made while graphs were captured, or a folder of them: it tells which operators the work of graphs belongs to (default: folders called capture_traces among the inputs and beside them).",
	 offsetof(struct report_args, captures)},
#define AT(field) offsetof(struct report_args, show.field)
#include "cmd/report_show.def"
#undef AT
	{"shard", 0, ASSAY_OPT_TEXT, "I/N",
	 "Read shard I of N of the job (I from 0) and write its findings for assay merge; auto takes I and N from the launcher, auto/N only I.",
	 offsetof(struct report_args, shard)},
	{"out", 'o', ASSAY_OPT_TEXT, "DIR", "With --shard: folder to write the shard's file into.",
	 offsetof(struct report_args, out)},
};

static const assay_example report_examples[] = {
	{"assay report demo/train.json.gz", "the bundled training run"},
	{"assay report demo/train.json.gz demo/nvidia_smi.csv", "with telemetry beside it"},
	{"assay report --like hta demo/train.json.gz", "as Holistic Trace Analysis counts"},
	{"assay report -v demo/train.json.gz", "everything"},
	{"assay report --section ops,kernels demo/train.json.gz",
	 "operators with their shapes and bounds, and kernels"},
	{"assay report --step 5 --stream 7 demo/train.json.gz", "one step, one stream"},
	{"assay report --json --top 5 demo/train.json.gz", "the same for a program"},
	{"assay report demo/train.json.gz --html report.html", "one page to open in a browser"},
	{"assay report demo/ddp --shard 0/2 -o parts", "the first half of a job, for assay merge"},
};

const assay_cmd assay_cmd_report = {
	.name = "report",
	.args = "INPUT...",
	.about = "Show where the time of a run went",
	.details =
		"Reads traces and telemetry in any format assay knows (by content, not by name; plain, gzip or\n"
		"zstd), links GPU work to the calls that launched it, and splits each device's time exactly into\n"
		"compute, exposed communication, exposed copies and idle.\n\n"
		"An INPUT is a file or a directory: a rocprofv3 output folder, a folder with one trace per rank,\n"
		"or trace.csv + torch_profile.json + amd_smi.csv. Several INPUTs are ranks or processes of one\n"
		"job, read at the same time; one that cannot be read is named, and the others are reported.\n"
		"Recordings with nothing in common (no shared job, run directory or time) count as several runs\n"
		"and are refused. Telemetry belongs to the run it is given with. Of more than 16 files, findings\n"
		"are kept of all, and events (gaps, timelines) of the first one, the one with most work, the one\n"
		"that others waited for most and the one that waited most.\n\n"
		"The first screen shows the run, where a step's time goes, why, up to three findings, what takes\n"
		"most time and how far to trust it, in 24 lines; -v and --section print the rest. Lines are as\n"
		"wide as the terminal (COLUMNS overrides it; 80 without a terminal) and go through a pager when\n"
		"there is one.\n\n"
		"A job of thousands of ranks can be read by many machines at once: each reads a shard with\n"
		"--shard, and assay merge prints what one machine would have printed. A shard whose file is\n"
		"complete and whose inputs did not change is not read again.\n\n"
		"A figure that was not measured is marked unknown or estimated, with the reason beside it. The\n"
		"report ends with what was read, what was lost and what could not be linked.\n\n"
		"Exit status: 0 for a report; 1 when an input cannot be read, has neither GPU work nor telemetry,\n"
		"or the inputs are several runs; 2 for wrong usage.",
	ASSAY_OPTS(report_opts),
	ASSAY_EXAMPLES(report_examples),
	.args_size = sizeof(struct report_args),
	.min_operands = 1,
	.max_operands = -1,
	.run = report_run,
};
