/* assay scopes: time by annotation scope. */
#include <stdlib.h>
#include <string.h>

#include "analyze/analyze.h"
#include "analyze/derived.h"
#include "analyze/scopes.h"
#include "cmd/cmd.h"
#include "render/scopes.h"
#include "resolve/resolve.h"

struct scopes_args {
	int64_t depth, top;
	const char *by, *step;
	bool ops, python, exact, folded, json, timeline;
};

static const char *const by_words[] = {"path", "name", "instance"};

static assay_scopes_by by_of(const char *word)
{
	for (size_t i = 0; word && i < ASSAY_COUNT_OF(by_words); i++)
		if (!strcmp(word, by_words[i]))
			return (assay_scopes_by)i;
	return ASSAY_SCOPES_BY_PATH;
}

static bool step_exists(const assay_run *run, int64_t step)
{
	const assay_step_table *s = &run->part.t.step;
	for (size_t i = 0; i < s->n; i++)
		if (s->number[i] == step)
			return true;
	return false;
}

static assay_scope_line *make_lines(const assay_run *run, const assay_scope_times *times,
				    assay_scopes_by by, assay_arena *a)
{
	assay_scope_line *line = assay_alloc(a, times->node.n * sizeof *line + 1);
	int64_t first = INT64_MAX;
	for (size_t i = 0; i < run->part.t.scope.n; i++)
		if (run->part.t.scope.dur[i] >= 0 && run->part.t.scope.ts[i] < first)
			first = run->part.t.scope.ts[i];
	for (size_t i = 0; i < times->node.n; i++) {
		const assay_scope_node *n = &times->node.p[i];
		line[i] = (assay_scope_line){
			.parent = n->parent,
			.depth = n->depth,
			.id = by == ASSAY_SCOPES_BY_INSTANCE ? run->part.t.scope.id[n->scope] : 0,
			.name = n->name,
			.count = n->count,
			.work = n->work,
			.ts = by == ASSAY_SCOPES_BY_INSTANCE && run->part.t.scope.dur[n->scope] >= 0
				      ? run->part.t.scope.ts[n->scope] - first
				      : -1,
			.host = n->timed ? n->host : -1,
			.host_self = n->host_self > 0 ? n->host_self : 0,
			.gpu_busy = n->gpu_busy,
			.gpu_sum = n->gpu_sum,
			.gpu_self = n->gpu_self,
			.gpu_grad = n->gpu_grad,
			.gpu_inferred = n->gpu_inferred,
			.waits = n->waits,
			.idle = n->idle,
		};
	}
	return line;
}

/* The lines live in arena, the rest in times. */
static assay_scope_view make_view(const assay_run *run, const assay_scope_times *times,
				  assay_scopes_by by, int64_t step, assay_arena *arena)
{
	return (assay_scope_view){
		.line = make_lines(run, times, by, arena),
		.n = times->node.n,
		.by = by_words[by],
		.steps = times->steps,
		.step = step,
		.whole = times->whole,
		.work = times->work,
		.work_none = times->work_none,
		.sum = times->sum,
		.sum_none = times->sum_none,
		.none_thread = times->none_thread,
		.none_launched = times->none_launched,
		.sum_grad = times->sum_grad,
		.inferred = times->inferred.p,
		.pairs = times->inferred.n,
	};
}

void assay_cmd_scopes_json(assay_jsonw *w, const assay_run *run)
{
	assay_scope_times times;
	assay_arena scratch = {0};
	assay_scope_times_of(run, ASSAY_SCOPES_BY_PATH, ASSAY_SCOPES_ALL_STEPS, &times);
	assay_scope_view view =
		make_view(run, &times, ASSAY_SCOPES_BY_PATH, ASSAY_SCOPES_ALL_STEPS, &scratch);
	assay_scopes_json(w, run, &view);
	assay_scope_times_free(&times);
	assay_arena_free(&scratch);
}

static void show(const assay_run *run, const struct scopes_args *a, int64_t step)
{
	assay_scope_times times;
	assay_arena scratch = {0};
	assay_scopes_by by = by_of(a->by);
	assay_scope_times_of(run, by, step, &times);
	assay_scope_view view = make_view(run, &times, by, step, &scratch);
	view.depth = (uint32_t)a->depth;
	view.top = (uint32_t)(a->top || a->json ? a->top : 20);
	if (a->folded) {
		assay_scopes_folded(stdout, run, &view);
	} else if (a->json) {
		assay_jsonw w = {0};
		assay_scopes_json(&w, run, &view);
		assay_cmd_put_json(&w);
	} else {
		assay_scopes_text(stdout, run, &view);
	}
	assay_scope_times_free(&times);
	assay_arena_free(&scratch);
}

static void show_timeline(assay_run *run, const struct scopes_args *a)
{
	assay_derive(run);
	if (!a->json) {
		assay_timeline_text(stdout, run, (uint32_t)(a->top ? a->top : 20));
		return;
	}
	assay_jsonw w = {0};
	assay_timeline_json(&w, run);
	assay_cmd_put_json(&w);
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
		fprintf(stderr, "assay scopes: %s do not go together\n", wrong);
	return !wrong;
}

static int scopes_run(const void *args, char **operands, int n)
{
	const struct scopes_args *a = args;
	int64_t step = ASSAY_SCOPES_ALL_STEPS;
	if (a->step && (!assay_str_i64(assay_str_of(a->step), &step) || step < 0)) {
		fprintf(stderr, "assay scopes: '%s' is not a step number\n", a->step);
		return ASSAY_EXIT_USAGE;
	}
	if (!options_fit(a))
		return ASSAY_EXIT_USAGE;
	assay_run *run = assay_cmd_read(operands, n);
	if (!run)
		return ASSAY_EXIT_FAIL;
	assay_bound_times(run);
	assay_link(run);
	assay_find_steps(run, NULL);
	assay_scopes(run,
		     &(assay_scope_opts){.ops = a->ops, .python = a->python, .exact = a->exact});
	int status = ASSAY_EXIT_OK;
	if (step >= 0 && !step_exists(run, step)) {
		fprintf(stderr, "assay: the input has no step %lld\n", (long long)step);
		status = ASSAY_EXIT_FAIL;
	} else if (a->timeline) {
		show_timeline(run, a);
	} else {
		show(run, a, step);
	}
	assay_run_free(run);
	return status;
}

static const assay_opt scopes_opts[] = {
	{"by", 0, ASSAY_OPT_TEXT, "path|name|instance",
	 "Join invocations by their path, by their name alone, or not at all (default path).",
	 offsetof(struct scopes_args, by)},
	{"depth", 'd', ASSAY_OPT_COUNT, "N", "Levels to show (default all).",
	 offsetof(struct scopes_args, depth)},
	{"top", 'n', ASSAY_OPT_COUNT, "N", "Children to show of each scope (default 20).",
	 offsetof(struct scopes_args, top)},
	{"step", 0, ASSAY_OPT_TEXT, "N", "Only what was launched in the step of this number.",
	 offsetof(struct scopes_args, step)},
	{"ops", 0, ASSAY_OPT_FLAG, NULL, "Framework operators are scopes too.",
	 offsetof(struct scopes_args, ops)},
	{"python", 0, ASSAY_OPT_FLAG, NULL, "Python functions are scopes too.",
	 offsetof(struct scopes_args, python)},
	{"exact", 0, ASSAY_OPT_FLAG, NULL,
	 "Infer nothing: work of a thread is in no range of another that waits for it.",
	 offsetof(struct scopes_args, exact)},
	{"timeline", 0, ASSAY_OPT_FLAG, NULL,
	 "Show the rows that xprof derives from the work: steps, modules, operators.",
	 offsetof(struct scopes_args, timeline)},
	{"folded", 0, ASSAY_OPT_FLAG, NULL,
	 "Write folded stacks for flame graphs, GPU nanoseconds of each scope itself.",
	 offsetof(struct scopes_args, folded)},
	{"json", 'j', ASSAY_OPT_FLAG, NULL, "Write JSON for programs.",
	 offsetof(struct scopes_args, json)},
};

static const assay_example scopes_examples[] = {
	{"assay scopes demo/train.json.gz", "the ranges of the bundled run"},
	{"assay scopes --step 3 --by name demo/train.json.gz", "one step, by name"},
	{"assay scopes --ops --depth 3 --top 5 demo/train.json.gz", "with framework operators"},
	{"assay scopes --timeline --top 5 demo/train.json.gz", "one event for each invocation"},
	{"assay scopes --exact demo/run", "only what the recording itself says"},
	{"assay scopes --ops --folded demo/train.json.gz", "input for a flame graph"},
};

const assay_cmd assay_cmd_scopes = {
	.name = "scopes",
	.args = "INPUT...",
	.about = "Show time by annotation scope",
	.details = "A scope is one invocation of a range: record_function, NVTX, ROCTX, a JAX step "
		   "or XLA\n"
		   "module. GPU work belongs to the scope its launch call was made in, whatever "
		   "the kind of\n"
		   "work, graph launches and their nodes included; scope ids that the input "
		   "carries are used\n"
		   "as they are. Gradients that no range encloses are shown in the scope of their "
		   "forward\n"
		   "operator. Work that another thread launched while this one waited in a "
		   "range, autograd's\n"
		   "for one, is inferred to be in it where nothing contradicts; what is inferred "
		   "is counted\n"
		   "below the table, with both threads.\n"
		   "\n"
		   "host is the time the ranges were open; GPU busy the union of the work inside, "
		   "each\n"
		   "device on its own; GPU sum the sum of its durations; self the part in no "
		   "child; waits\n"
		   "the time in calls that wait for the device; idle the time a device did nothing "
		   "between\n"
		   "the first and last work of an invocation. The percentage is GPU busy of the "
		   "steps' time.",
	ASSAY_OPTS(scopes_opts),
	ASSAY_EXAMPLES(scopes_examples),
	.args_size = sizeof(struct scopes_args),
	.min_operands = 1,
	.max_operands = -1,
	.run = scopes_run,
};
