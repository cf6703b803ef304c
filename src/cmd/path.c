/* assay path: what the length of a step depends on, and what it would be otherwise. */
#include <string.h>

#include "api/query.h"
#include "cmd/cmd.h"
#include "cmd/say.h"
#include "like/hta.h"
#include "path/path.h"
#include "render/path.h"

struct path_args {
	const char *step, *like, *range, *ranks;
	assay_opt_list what_if;
	int64_t top, instance;
	bool json;
};

/* A step's number, or all. */
static bool parse_step(const char *text, int64_t *step, assay_path_query *query)
{
	query->all = text && !strcmp(text, "all");
	query->step = text && !query->all ? step : NULL;
	return !query->step || (assay_str_i64(assay_str_of(text), step) && *step >= 0);
}

static bool path_native(assay_run *run, const struct path_args *a, const assay_path_query *query,
			assay_err *err)
{
	assay_path path;
	if (a->json) {
		const char *text = assay_run_path_json(run, query, NULL, err);
		if (text)
			puts(text);
		return text != NULL;
	}
	bool ok = assay_path_query_find(run, query, &path, err);
	if (ok) {
		assay_cmd_text text;
		assay_path_text(assay_cmd_text_open(&text), run, &path,
				query->top ? query->top : 10);
		assay_cmd_text_close(&text);
	}
	assay_path_free(&path);
	return ok;
}

static bool path_hta(assay_run *run, const struct path_args *a, assay_err *err)
{
	const char *range = a->range ? a->range : "ProfilerStep";
	if (!assay_like_hta_path(run, range, a->instance, err))
		return false;
	assay_cmd_show_like(run, "hta", a->json);
	return true;
}

static int path_run(const void *args, char **operands, int n)
{
	const struct path_args *a = args;
	int64_t step;
	assay_path_query query = {
		.what_if = a->what_if.item, .what_ifs = a->what_if.n, .top = (uint32_t)a->top};
	bool hta = a->like && !strcmp(a->like, "hta");
	if (!parse_step(a->step, &step, &query)) {
		assay_say("assay path: '%s' is not a step number", a->step);
		return ASSAY_EXIT_USAGE;
	}
	if (hta ? a->step || a->what_if.n : a->range || a->instance) {
		assay_say(hta ? "assay path: --step and --what-if are not for --like hta"
			      : "assay path: --range and --instance need --like hta");
		return ASSAY_EXIT_USAGE;
	}
	int status;
	assay_run *run = assay_cmd_events(operands, n, a->ranks, ASSAY_NEEDS_ORDER, true, &status);
	if (!run)
		return status;
	assay_err err = {0};
	bool ok = hta ? path_hta(run, a, &err) : path_native(run, a, &query, &err);
	if (!ok)
		assay_cmd_error(&err);
	assay_run_free(run);
	return ok ? ASSAY_EXIT_OK : ASSAY_EXIT_FAIL;
}

static const assay_opt path_opts[] = {
	{"step", 0, ASSAY_OPT_TEXT, "STEP",
	 "Number of the step, or all for the whole recording (default: the step of median length after the first).",
	 offsetof(struct path_args, step)},
	{"what-if", 'w', ASSAY_OPT_LIST, "PATTERN=VALUE",
	 "Replay the step with other lengths: 0, a factor such as 0.5x, or a time such as 10us; may be repeated, the first that matches counts.",
	 offsetof(struct path_args, what_if)},
	{"top", 'n', ASSAY_OPT_TOP, "N", "Rows of each table (default 10; 0: all).",
	 offsetof(struct path_args, top)},
	{"like", 0, ASSAY_OPT_TEXT, "native|hta",
	 "Compute the critical path by the rules of Holistic Trace Analysis (default native).",
	 offsetof(struct path_args, like)},
	{"range", 0, ASSAY_OPT_TEXT, "TEXT",
	 "With --like hta: part of the name of the range to look at (default ProfilerStep).",
	 offsetof(struct path_args, range)},
	{"instance", 0, ASSAY_OPT_INT, "N",
	 "With --like hta: which range of that name, counted from 0 (default 0).",
	 offsetof(struct path_args, instance)},
	{"json", 'j', ASSAY_OPT_FLAG, NULL,
	 "Write JSON for programs, with every stretch of the path.",
	 offsetof(struct path_args, json)},
	ASSAY_OPT_RANKS(offsetof(struct path_args, ranks)),
};

static const assay_example path_examples[] = {
	{"assay path demo/train.json.gz", "what the median step depends on"},
	{"assay path --step 5 --what-if 'gemm=0.5x' demo/train.json.gz",
	 "step 5 with matrix products twice as fast"},
	{"assay path --what-if 'launch_latency=0' --what-if 'op=0.5x' demo/train.json.gz",
	 "a host that launches faster"},
	{"assay path --like hta demo/train.json.gz", "as Holistic Trace Analysis counts"},
	{"assay path --json --top 5 demo/train.json.gz", "the same for a program"},
};

const assay_cmd assay_cmd_path = {
	.name = "path",
	.args = "INPUT...",
	.about = "Show the critical path of a step, and what-if",
	.details =
		"The critical path leads from the end of the step back to its start, from each event to the one\n"
		"it depended on: host threads in order, launch calls to their work, streams in order, waits and\n"
		"synchronisation to what they waited for, one thread handing over to another. Every nanosecond of\n"
		"the step is in one stretch of it: compute, communication and copies on the device, or a cause of\n"
		"idle time as in assay report.\n\n"
		"--what-if replays the same dependencies with other lengths and prints the step time that\n"
		"results. PATTERN is matched with kernel names (whole, or without templates and arguments),\n"
		"kernel families, the classes compute, communication and copy, names of operators, calls and\n"
		"ranges, paths of ranges (outer/inner), and lines and functions of the program where stacks were\n"
		"recorded (train.py:12, train.py:load); * and ? are wildcards, and case does not matter. The\n"
		"words data, python, op, runtime, sync, untraced, queued, launch_latency, graph_internal and\n"
		"hand_off mean the class of that name. A range takes the host's time inside it and the GPU work\n"
		"launched there; an operator, call or line takes only the host's time. With sync=0, or a waiting\n"
		"call at 0, the host does not wait at all; with cudaStreamWaitEvent=0 the stream does not. Nested\n"
		"spans are scaled once.\n\n"
		"Read the replay error first: it is how far the same replay is off with nothing changed. A step\n"
		"lasts from the end of the step before it until its marker and the work launched in it are over,\n"
		"and is never shorter than its marker.",
	ASSAY_OPTS(path_opts),
	ASSAY_EXAMPLES(path_examples),
	.args_size = sizeof(struct path_args),
	.min_operands = 1,
	.max_operands = -1,
	.run = path_run,
};
