/* assay report: where the time went. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/like.h"
#include "cmd/cmd.h"
#include "render/report.h"

struct report_args {
	int64_t steps, top;
	const char *precision, *config, *like;
	bool json;
};

/* Other tools' definitions, by the word after --like. */
static const struct like {
	const char *name;
	assay_like_fn *fill;
} likes[] = {
	{"hta", assay_like_hta},
	{"tracelens", assay_like_tracelens},
};

static int print_like(assay_run *run, const char *name, bool json)
{
	for (size_t i = 0; i < ASSAY_COUNT_OF(likes); i++) {
		if (strcmp(likes[i].name, name))
			continue;
		likes[i].fill(run);
		assay_jsonw w = {0};
		if (json) {
			assay_like_json(&w, run, name);
			puts(assay_jsonw_text(&w).p);
		} else {
			assay_like_text(stdout, run, name);
		}
		assay_jsonw_free(&w);
		return ASSAY_EXIT_OK;
	}
	fprintf(stderr, "assay: --like %s is not known\n", name);
	return ASSAY_EXIT_USAGE;
}

static int report_run(const void *args, char **operands, int n)
{
	const struct report_args *a = args;
	assay_run *run = assay_cmd_read(operands, n);
	if (!run)
		return ASSAY_EXIT_FAIL;
	assay_report_opts opts = {.size = sizeof opts,
				  .steps = (int32_t)a->steps,
				  .precision = a->precision,
				  .top = (uint32_t)a->top};
	assay_err err = {0};
	int status = ASSAY_EXIT_OK;
	if (!assay_run_analyze(run, &opts, &err)) {
		assay_cmd_error(&err);
		status = ASSAY_EXIT_FAIL;
	} else if (a->like) {
		status = print_like(run, a->like, a->json);
	} else if (a->json) {
		puts(assay_run_report_json(run, NULL));
	} else {
		bool colour = isatty(STDOUT_FILENO) && !getenv("NO_COLOR");
		assay_report_text(stdout, run,
				  &(assay_text_opts){.top = opts.top, .colour = colour});
	}
	assay_run_free(run);
	return status;
}

static const assay_opt report_opts[] = {
	{"steps", 0, ASSAY_OPT_INT, "N", "Number of steps when the input has no step markers.",
	 offsetof(struct report_args, steps)},
	{"precision", 0, ASSAY_OPT_TEXT, "fp32|fp16|bf16|fp8",
	 "Precision the run was meant to use.", offsetof(struct report_args, precision)},
	{"config", 0, ASSAY_OPT_TEXT, "FILE",
	 "Workload description (JSON) to take the precision from.",
	 offsetof(struct report_args, config)},
	{"like", 0, ASSAY_OPT_TEXT, "goblin|hta|tracelens",
	 "Compute another tool's figures by its own definitions.",
	 offsetof(struct report_args, like)},
	{"top", 'n', ASSAY_OPT_INT, "N", "Kernels to list (default 20).",
	 offsetof(struct report_args, top)},
	{"json", 'j', ASSAY_OPT_FLAG, NULL, "Write JSON for programs.",
	 offsetof(struct report_args, json)},
};

static const assay_example report_examples[] = {
	{"assay report demo/train.json.gz", "the bundled training run"},
	{"assay report demo/train.json.gz demo/nvidia_smi.csv", "with telemetry beside it"},
	{"assay report --like hta demo/train.json.gz", "as Holistic Trace Analysis counts"},
	{"assay report --json --top 5 demo/train.json.gz", "the same for a program"},
};

const assay_cmd assay_cmd_report = {
	.name = "report",
	.args = "INPUT...",
	.about = "Show where the time of a run went",
	.details = "Reads traces and telemetry in any format assay knows (by content, not by name; "
		   "plain, gzip or\n"
		   "zstd), links GPU work to the calls that caused it, and splits each device's "
		   "time exactly into\n"
		   "compute, exposed communication, exposed copies and idle.\n"
		   "\n"
		   "An INPUT is a file, or a directory: a rocprofv3 output folder, a folder with "
		   "one trace per rank,\n"
		   "or trace.csv + torch_profile.json + amd_smi.csv. Several INPUTs are ranks of "
		   "one job.\n"
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
