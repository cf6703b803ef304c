/* assay scopes: time by annotation scope. */
#include <stdlib.h>
#include <string.h>

#include "api/query.h"
#include "cmd/cmd.h"
#include "cmd/say.h"
#include "render/places.h"

struct scopes_args {
	int64_t depth, top;
	const char *by, *step, *ranks;
	bool ops, python, exact, folded, json, timeline;
};

static void show(assay_run *run, const struct scopes_args *a, const assay_scopes_query *query)
{
	assay_scopes_made made;
	assay_cmd_text text;
	bool tree = !a->timeline && !assay_is_place(a->by);
	if (tree)
		assay_scopes_make(run, query, &made);
	if (tree && a->folded) {
		assay_scopes_folded(stdout, run, &made.view);
	} else {
		FILE *out = assay_cmd_text_open(&text);
		if (tree)
			assay_scopes_text(out, run, &made.view, assay_cmd_text_width());
		else if (a->timeline)
			assay_timeline_text(out, run, query->top);
		else
			assay_places_text(out, run, a->by, query->top);
		assay_cmd_text_close(&text);
	}
	if (tree)
		assay_scopes_made_free(&made);
}

/* One output at a time, and only options that it uses. */
static bool options_fit(const struct scopes_args *a)
{
	const char *wrong = a->folded && a->json       ? "--folded and --json"
			    : a->timeline && a->folded ? "--timeline and --folded"
			    : a->timeline && a->by     ? "--timeline and --by"
			    : a->timeline && a->step   ? "--timeline and --step"
			    : a->timeline && a->depth  ? "--timeline and --depth"
						       : NULL;
	if (wrong)
		assay_say("assay scopes: %s do not go together", wrong);
	return !wrong;
}

static int scopes_run(const void *args, char **operands, int n)
{
	const struct scopes_args *a = args;
	int64_t step = -1;
	if (a->step && (!assay_str_i64(assay_str_of(a->step), &step) || step < 0)) {
		assay_say("assay scopes: '%s' is not a step number", a->step);
		return ASSAY_EXIT_USAGE;
	}
	if (!options_fit(a))
		return ASSAY_EXIT_USAGE;
	int status;
	assay_run *run = assay_cmd_read_ranks(operands, n, a->ranks, &status);
	if (!run)
		return status;
	const assay_scopes_query query = {.by = a->by,
					  .step = a->step ? &step : NULL,
					  .depth = (uint32_t)a->depth,
					  .top = (uint32_t)(a->top || a->json ? a->top : 20),
					  .ops = a->ops,
					  .python = a->python,
					  .exact = a->exact,
					  .timeline = a->timeline};
	assay_err err = {0};
	const char *text = a->json ? assay_run_scopes_json(run, &query, NULL, &err) : NULL;
	bool ok = a->json ? text != NULL : assay_scopes_find(run, &query, &err);
	if (!ok)
		assay_cmd_error(&err);
	else if (text)
		puts(text);
	else
		show(run, a, &query);
	assay_run_free(run);
	return ok ? ASSAY_EXIT_OK : ASSAY_EXIT_FAIL;
}

static const assay_opt scopes_opts[] = {
	{"by", 0, ASSAY_OPT_TEXT, "path|name|instance|forward|line|function|module|file|library",
	 "Join invocations by path (default), by name alone, not at all (instance), or by path with gradients in the scope of their forward operator (forward); or show GPU work by the line, function, folder (module) or file that launched it, or samples by the library that threads were in.",
	 offsetof(struct scopes_args, by)},
	{"depth", 'd', ASSAY_OPT_COUNT, "N", "Levels to show (default all).",
	 offsetof(struct scopes_args, depth)},
	{"top", 'n', ASSAY_OPT_TOP, "N", "Children to show of each scope (default 20; 0: all).",
	 offsetof(struct scopes_args, top)},
	{"step", 0, ASSAY_OPT_TEXT, "N", "Only what was launched in step N.",
	 offsetof(struct scopes_args, step)},
	{"ops", 0, ASSAY_OPT_FLAG, NULL, "Show framework operators as scopes, too.",
	 offsetof(struct scopes_args, ops)},
	{"python", 0, ASSAY_OPT_FLAG, NULL, "Show Python functions as scopes, too.",
	 offsetof(struct scopes_args, python)},
	{"exact", 0, ASSAY_OPT_FLAG, NULL,
	 "Infer nothing: work launched by one thread is never in a range of another that waits for it.",
	 offsetof(struct scopes_args, exact)},
	{"timeline", 0, ASSAY_OPT_FLAG, NULL,
	 "Show the rows that xprof derives from the work: steps, modules, operators.",
	 offsetof(struct scopes_args, timeline)},
	{"folded", 0, ASSAY_OPT_FLAG, NULL,
	 "Write folded stacks for flame graphs, with the GPU nanoseconds of each scope itself.",
	 offsetof(struct scopes_args, folded)},
	{"json", 'j', ASSAY_OPT_FLAG, NULL, "Write JSON for programs.",
	 offsetof(struct scopes_args, json)},
	ASSAY_OPT_RANKS(offsetof(struct scopes_args, ranks)),
};

static const assay_example scopes_examples[] = {
	{"assay scopes demo/train.json.gz", "the ranges of the bundled run"},
	{"assay scopes --step 3 --by name demo/train.json.gz", "one step, by name"},
	{"assay scopes --ops --depth 3 --top 5 demo/train.json.gz", "with framework operators"},
	{"assay scopes --timeline --top 5 demo/train.json.gz", "one event for each invocation"},
	{"assay scopes --exact demo/run", "only what the recording itself says"},
	{"assay scopes --ops --folded demo/train.json.gz", "input for a flame graph"},
};

static const assay_term scopes_columns[] = {
	{"host", "Time the ranges were open."},
	{"GPU busy",
	 "Union of the work inside, each device on its own; the percentage is of the steps' time."},
	{"GPU sum", "Sum of the durations of the work inside."},
	{"self", "GPU busy of the part that is in no child."},
	{"waits", "Time in calls that wait for the device."},
	{"idle", "Time a device did nothing between the first and last work of an invocation."},
};

const assay_cmd assay_cmd_scopes = {
	.name = "scopes",
	.args = "INPUT...",
	.about = "Show time by annotation scope",
	.details =
		"A scope is one invocation of a range: record_function, NVTX, ROCTX, a JAX step or XLA module.\n"
		"GPU work belongs to the scope its launch call was made in, whatever the kind of work, including\n"
		"graph launches and their nodes; scope ids that the input carries are used as they are. With --by\n"
		"forward a gradient is in the scope of its forward operator instead. Work that another thread\n"
		"launched while this one waited in a range (autograd's, for example) is inferred to be in that\n"
		"range where nothing contradicts it; inferred work is counted below the table, with both threads.",
	ASSAY_TERMS("columns", scopes_columns),
	ASSAY_OPTS(scopes_opts),
	ASSAY_EXAMPLES(scopes_examples),
	.args_size = sizeof(struct scopes_args),
	.min_operands = 1,
	.max_operands = -1,
	.run = scopes_run,
};
