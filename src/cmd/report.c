/* assay report: where the time went. */
#include <stdlib.h>
#include <string.h>

#include "analyze/goblin.h"
#include "analyze/like.h"
#include "base/input.h"
#include "base/json.h"
#include "cmd/cmd.h"
#include "read/goblin.h"
#include "render/goblin.h"
#include "render/report.h"

enum { CONFIG_MAX = 1 << 20 };

struct report_args {
	int64_t steps, top;
	const char *steps_from, *precision, *config, *like, *html, *rates;
	assay_opt_list section;
	bool json, markdown, no_pager, verbose, full_names;
};

/* The precision a workload description names; NULL (with a message) when it cannot be read. */
static const char *config_precision(const char *path, assay_arena *arena)
{
	assay_err err = {0};
	assay_input *in = assay_input_open(path, &err);
	if (!in) {
		assay_cmd_error(&err);
		return NULL;
	}
	const char *found = NULL;
	assay_view v = assay_input_view(in, 0, CONFIG_MAX);
	assay_json j = assay_json_on(v.p, v.n);
	assay_json_enter(&j, '{');
	for (assay_str key, value; assay_json_member(&j, &key);) {
		if (!assay_str_is(key, "precision") || assay_json_peek(&j) != '"')
			assay_json_skip(&j, NULL);
		else if (assay_json_text(&j, &value))
			found = assay_dup(arena, assay_json_unescape(arena, value));
	}
	if (!found)
		fprintf(stderr, "assay: %s names no \"precision\" (at byte %zu)\n", path,
			(size_t)(j.p - j.base));
	assay_input_close(in);
	return found;
}

static int like_goblin(const struct report_args *a, const char *precision, char **operands, int n)
{
	if (n != 1) {
		fprintf(stderr, "assay report: --like goblin takes one directory or file\n");
		return ASSAY_EXIT_USAGE;
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
	return ok ? ASSAY_EXIT_OK : ASSAY_EXIT_FAIL;
}

/* Names split by commas; NULL where one is none of them, with a message. */
static bool sections_known(const struct report_args *a)
{
	for (size_t i = 0; i < a->section.n; i++) {
		assay_str rest = assay_str_of(a->section.item[i]);
		while (rest.n) {
			assay_str name = assay_str_cut(&rest, ',');
			if (assay_section_find(name))
				continue;
			fprintf(stderr, "assay report: no section is called '%.*s'; there are",
				(int)name.n, name.p);
			for (size_t k = 0; k < assay_section_count; k++)
				fprintf(stderr, "%s %s", k ? "," : "", assay_sections[k].name);
			fprintf(stderr, "\n");
			return false;
		}
	}
	return true;
}

static void print_text(const struct report_args *a, const assay_run *run)
{
	const assay_terminal terminal = assay_cmd_terminal();
	const assay_text_opts text = {.top = (uint32_t)a->top,
				      .width = terminal.width,
				      .colour = terminal.colour,
				      .full_names = a->full_names,
				      .verbose = a->verbose};
	if (a->markdown) {
		assay_report_markdown(stdout, run, &text);
		return;
	}
	assay_cmd_page_output(!a->no_pager);
	if (!a->section.n)
		assay_report_text(stdout, run, &text);
	for (size_t i = 0; i < a->section.n; i++) {
		assay_str rest = assay_str_of(a->section.item[i]);
		while (rest.n)
			assay_report_section(stdout, run,
					     assay_section_find(assay_str_cut(&rest, ',')), &text);
	}
}

static int report_native(const struct report_args *a, const char *precision, char **operands, int n)
{
	if (precision)
		fprintf(stderr, "assay report: only --like goblin uses a precision so far\n");
	assay_report_opts opts = {.size = sizeof opts,
				  .steps = (int32_t)a->steps,
				  .top = (uint32_t)a->top,
				  .steps_from = a->steps_from,
				  .rates = a->rates};
	int status;
	if (!sections_known(a))
		return ASSAY_EXIT_USAGE;
	assay_run *run = assay_cmd_job(operands, n, &opts, &status);
	if (!run)
		return status;
	if (!run->part.t.device_time.n && !run->part.t.counter.n) {
		fprintf(stderr, "assay report: there is no GPU work in the input\n");
		status = ASSAY_EXIT_FAIL;
	}
	/* before the page, which derives more rows: both say the same, together or alone */
	const char *json = a->json ? assay_run_report_json(run, NULL) : NULL;
	if (a->html && !assay_cmd_page(run, operands, a->html)) {
		status = ASSAY_EXIT_FAIL;
	} else if (a->json) {
		puts(json);
	} else if (!a->html) {
		print_text(a, run);
	}
	assay_run_free(run);
	return status;
}

/* Figures of another tool that are computed from an analysed run. */
static int print_like(const struct report_args *a, char **operands, int n, assay_like_fn *fill)
{
	assay_run *run = assay_cmd_analyse(operands, n);
	if (!run)
		return ASSAY_EXIT_FAIL;
	fill(run);
	assay_cmd_show_like(run, a->like, a->json);
	assay_run_free(run);
	return ASSAY_EXIT_OK;
}

static int like_hta(const struct report_args *a, const char *precision, char **operands, int n)
{
	(void)precision;
	return print_like(a, operands, n, assay_like_hta);
}

static int like_tracelens(const struct report_args *a, const char *precision, char **operands,
			  int n)
{
	(void)precision;
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
};

/* Other tools' definitions, by the value of --like; the first is ours. */
static const struct like {
	const char *name;
	int (*run)(const struct report_args *a, const char *precision, char **operands, int n);
	unsigned takes; /* options that mean something to it */
} likes[] = {
	{"native", report_native,
	 STEPS | STEPS_FROM | TOP | HTML | PRECISION | CONFIG | RATES | SECTION | VERBOSE |
		 FULL_NAMES | MARKDOWN},
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
		{"top", a->top, TOP},
		{"html", a->html, HTML},
		{"precision", a->precision, PRECISION},
		{"config", a->config, CONFIG},
		{"rates", a->rates, RATES},
		{"section", a->section.n, SECTION},
		{"verbose", a->verbose, VERBOSE},
		{"full-names", a->full_names, FULL_NAMES},
		{"markdown", a->markdown, MARKDOWN},
	};
	for (size_t i = 0; i < ASSAY_COUNT_OF(options); i++)
		if (options[i].given && !(like->takes & options[i].bit)) {
			fprintf(stderr, "assay report: --%s means nothing to --like %s\n",
				options[i].name, like->name);
			return false;
		}
	if (a->json && a->markdown) {
		fprintf(stderr, "assay report: --json and --markdown both want standard output\n");
		return false;
	}
	if (a->json && a->html && !strcmp(a->html, "-")) {
		fprintf(stderr, "assay report: --html - and --json both want standard output\n");
		return false;
	}
	return true;
}

static int report_run(const void *args, char **operands, int n)
{
	const struct report_args *a = args;
	const struct like *like = likes;
	while (a->like && strcmp(like->name, a->like))
		like++;
	if (!options_fit(a, like))
		return ASSAY_EXIT_USAGE;
	assay_arena arena = {0};
	const char *precision = a->precision;
	int status = ASSAY_EXIT_FAIL;
	if (precision || !a->config || (precision = config_precision(a->config, &arena)))
		status = like->run(a, precision, operands, n);
	assay_arena_free(&arena);
	return status;
}

static const assay_opt report_opts[] = {
	{"steps", 0, ASSAY_OPT_COUNT, "N", "Number of steps when the input has no step markers.",
	 offsetof(struct report_args, steps)},
	{"steps-from", 0, ASSAY_OPT_TEXT, "RANGES",
	 "Which ranges are steps: auto, NVTX or roctx, and :NAME for those of one name; as the "
	 "recording was told, else auto.",
	 offsetof(struct report_args, steps_from)},
	{"precision", 0, ASSAY_OPT_TEXT, "fp32|fp16|bf16|fp8",
	 "With --like goblin: precision the run was meant to use.",
	 offsetof(struct report_args, precision)},
	{"config", 0, ASSAY_OPT_TEXT, "FILE",
	 "With --like goblin: workload description (JSON) to take the precision from.",
	 offsetof(struct report_args, config)},
	{"like", 0, ASSAY_OPT_TEXT, "native|goblin|hta|tracelens",
	 "Compute another tool's definitions exactly, with its names (default native).",
	 offsetof(struct report_args, like)},
	{"top", 'n', ASSAY_OPT_TOP, "N", "Rows of each table (default 20; 0: all).",
	 offsetof(struct report_args, top)},
	{"verbose", 'v', ASSAY_OPT_FLAG, NULL, "Print every section behind the first screen.",
	 offsetof(struct report_args, verbose)},
	{"section", 0, ASSAY_OPT_LIST, "NAME,...",
	 "Print these sections only: inputs, devices, findings, steps, ranks, invocations, "
	 "figures, "
	 "budget, idle, ops, kernels, copies, calls, counters, overhead, trust.",
	 offsetof(struct report_args, section)},
	{"full-names", 0, ASSAY_OPT_FLAG, NULL, "Print names whole, however wide lines become.",
	 offsetof(struct report_args, full_names)},
	{"rates", 0, ASSAY_OPT_TEXT, "FILE",
	 "Peak rates of the device (JSON) that win over the built-in table.",
	 offsetof(struct report_args, rates)},
	{"html", 0, ASSAY_OPT_TEXT, "FILE",
	 "Write one self-contained page with a timeline instead of text; - is standard output.",
	 offsetof(struct report_args, html)},
	{"json", 'j', ASSAY_OPT_FLAG, NULL, "Write JSON for programs.",
	 offsetof(struct report_args, json)},
	{"markdown", 0, ASSAY_OPT_FLAG, NULL, "Write Markdown for an issue or pull request.",
	 offsetof(struct report_args, markdown)},
	{"no-pager", 0, ASSAY_OPT_FLAG, NULL,
	 "Do not page what is written to a terminal (ASSAY_PAGER, PAGER, less).",
	 offsetof(struct report_args, no_pager)},
};

static const assay_example report_examples[] = {
	{"assay report demo/train.json.gz", "the bundled training run"},
	{"assay report demo/train.json.gz demo/nvidia_smi.csv", "with telemetry beside it"},
	{"assay report --like hta demo/train.json.gz", "as Holistic Trace Analysis counts"},
	{"assay report -v demo/train.json.gz", "everything"},
	{"assay report --section ops,kernels demo/train.json.gz",
	 "operators with their shapes and bounds, and kernels"},
	{"assay report --json --top 5 demo/train.json.gz", "the same for a program"},
	{"assay report demo/train.json.gz --html report.html", "one page to open in a browser"},
};

const assay_cmd assay_cmd_report = {
	.name = "report",
	.args = "INPUT...",
	.about = "Show where the time of a run went",
	.details =
		"Reads traces and telemetry in any format assay knows (by content, not by name; "
		"plain, gzip or\n"
		"zstd), links GPU work to the calls that caused it, and splits each device's "
		"time exactly into\n"
		"compute, exposed communication, exposed copies and idle.\n"
		"\n"
		"An INPUT is a file, or a directory: a rocprofv3 output folder, a folder with "
		"one trace per rank,\n"
		"or trace.csv + torch_profile.json + amd_smi.csv. Several INPUTs are ranks of "
		"one job, read at\n"
		"the same time; one that cannot be read is named, and the others are reported. "
		"Of more than 16\n"
		"files findings are kept of all, and events (gaps, timelines) of the first one, "
		"the one with most\n"
		"work, the one that others waited for most and the one that waited most.\n"
		"\n"
		"The first screen has the run, where a step's time goes, why, up to three "
		"findings, what takes most\n"
		"time and how far to trust it, in 24 lines; -v and --section print the rest. Lines "
		"are as wide as the\n"
		"terminal (COLUMNS wins; 80 where there is none) and go through a pager when there "
		"is one.\n"
		"\n"
		"Exit status: 0 for a report, 1 when an input cannot be read or has neither GPU "
		"work nor telemetry,\n"
		"2 for wrong usage.\n"
		"\n"
		"A figure that was not measured is called unknown or an estimate, with the "
		"reason beside it. The\n"
		"report ends with what was read, what was lost and what could not be linked.",
	ASSAY_OPTS(report_opts),
	ASSAY_EXAMPLES(report_examples),
	.args_size = sizeof(struct report_args),
	.min_operands = 1,
	.max_operands = -1,
	.run = report_run,
};
