/* assay diff: two runs side by side. */
#include <string.h>

#include "analyze/analyze.h"
#include "cmd/cmd.h"
#include "cmd/say.h"
#include "diff/diff.h"
#include "render/report.h"

enum { SAME = 0, DIFFERENT = 1, TROUBLE = 2 };

struct diff_args {
	int64_t top;
	const char *html;
	assay_opt_list fail_if;
	bool json, markdown, no_pager;
};

static assay_run *read_run(char *path)
{
	char *operands[] = {path, NULL};
	int status; /* trouble is trouble */
	assay_run *run = assay_cmd_job(operands, 1, &(assay_report_opts){0}, false, &status);
	if (run)
		assay_cmd_losses(run);
	return run;
}

static void print_diff(const assay_diff *d, const struct diff_args *args)
{
	assay_jsonw w = {0};
	if (args->markdown) {
		assay_diff_markdown(stdout, d, (size_t)args->top);
		return;
	}
	if (!args->json) {
		assay_cmd_text text;
		assay_diff_text(assay_cmd_text_open(&text), d, (size_t)args->top);
		text.paged = !args->no_pager;
		assay_cmd_text_close(&text);
		return;
	}
	assay_diff_json(&w, d, args->top ? (size_t)args->top : SIZE_MAX);
	assay_cmd_put_json(&w);
}

static bool has_anything(const assay_run *run)
{
	return run->part.t.device_time.n || run->part.t.step.n;
}

/* With limits only they decide: an improvement is no failure. */
static int judge(assay_diff *d, const assay_opt_list *limits)
{
	assay_err err = {0};
	int status = limits->n || d->same ? SAME : DIFFERENT;
	for (size_t i = 0; i < limits->n; i++) {
		if (!assay_diff_gate(d, limits->item[i], &err)) {
			assay_say("assay diff: --fail-if: %s", err.text);
			return TROUBLE;
		}
		if (d->gates.p[i].failed)
			status = DIFFERENT;
	}
	return status;
}

static int diff_run(const void *args, char **operands, int n)
{
	(void)n;
	const struct diff_args *opts = args;
	if (opts->json && opts->markdown) {
		assay_say("assay diff: --json and --markdown both want standard output");
		return TROUBLE;
	}
	if (opts->json && opts->html && !strcmp(opts->html, "-")) {
		assay_say("assay diff: --html - and --json both want standard output");
		return TROUBLE;
	}
	int status = TROUBLE;
	assay_run *a = read_run(operands[0]), *b = a ? read_run(operands[1]) : NULL;
	if (b && !has_anything(a) && !has_anything(b))
		assay_say(
			"assay diff: neither has GPU work or steps, so there is nothing to compare; `assay env diff` compares environments");
	else if (b) {
		assay_diff d;
		assay_diff_runs(&d, a, b, NULL);
		status = judge(&d, &opts->fail_if);
		if (status == TROUBLE)
			; /* said */
		else if (opts->html && !assay_cmd_diff_page(&d, a, b, operands, opts->html))
			status = TROUBLE;
		else if (opts->json || opts->markdown || !opts->html)
			print_diff(&d, opts);
		assay_diff_free(&d);
	}
	assay_run_free(a);
	assay_run_free(b);
	return status;
}

static const assay_opt diff_opts[] = {
	{"top", 'n', ASSAY_OPT_TOP, "N", "Kernels to list (default 20, with --json all; 0: all).",
	 offsetof(struct diff_args, top)},
	{"html", 0, ASSAY_OPT_TEXT, "FILE",
	 "Write one self-contained page with both timelines instead of text; - is standard output.",
	 offsetof(struct diff_args, html)},
	{"fail-if", 0, ASSAY_OPT_LIST, "LIMIT",
	 "Exit with 1 only when a figure grew by more than a limit and its noise: step>+3%, comm>+1ms; may be repeated.",
	 offsetof(struct diff_args, fail_if)},
	{"markdown", 0, ASSAY_OPT_FLAG, NULL, "Write Markdown for a pull request.",
	 offsetof(struct diff_args, markdown)},
	{"json", 'j', ASSAY_OPT_FLAG, NULL, "Write JSON for programs.",
	 offsetof(struct diff_args, json)},
	{"no-pager", 0, ASSAY_OPT_FLAG, NULL,
	 "Use no pager on a terminal (ASSAY_PAGER, PAGER, less).",
	 offsetof(struct diff_args, no_pager)},
};

static const assay_example diff_examples[] = {
	{"assay diff demo/train.json.gz demo/train.json.gz", "a run and itself: nothing differs"},
	{"assay diff --json demo/run demo/run", "two run directories, for a program"},
	{"assay diff --fail-if 'step>+3%' --fail-if 'comm>+1ms' --markdown demo/run demo/run",
	 "a gate for continuous integration, with text for the pull request"},
};

const assay_cmd assay_cmd_diff = {
	.name = "diff",
	.args = "BEFORE AFTER",
	.about = "Show what changed between two runs",
	.details =
		"Compares two runs per step of their main devices: step time, the split of device time, the waste\n"
		"budget, the causes of idle time, waits by kind (how often, how long, how many with a known\n"
		"producer), and every kernel. Where both are run directories with an env.json, their environments\n"
		"are compared as `assay env diff` does it.\n\n"
		"The sentence on top says what explains most of the change: code that took the place of other\n"
		"code (attention that fell back from flash to math), the figure that moved most, and the\n"
		"environment difference known to affect it.\n\n"
		"A change is called real when it is larger than chance would make it, judged by how much each\n"
		"figure varies from step to step. With five steps or more, step time is their median. A\n"
		"difference of the environment alone does not count as a difference of the runs.\n\n"
		"--fail-if is for gates in CI: 'step>+3%', 'comm>+1ms', 'idle>+500us'. A figure is the step, a\n"
		"part (compute, comm, copy, idle), a bucket of the budget (host, data, ...), a cause of idle\n"
		"time, a kind of wait, a family, an operator or a kernel by its name.\n\n"
		"Exit status: 0 when nothing differs beyond noise, 1 when something does, 2 for trouble. With\n"
		"--fail-if: 1 when a limit was passed, else 0.",
	ASSAY_OPTS(diff_opts),
	ASSAY_EXAMPLES(diff_examples),
	.args_size = sizeof(struct diff_args),
	.min_operands = 2,
	.max_operands = 2,
	.trouble = TROUBLE,
	.run = diff_run,
};
