/* From time by scope, as it is analyzed, to what is shown of it. */
#include <string.h>

#include "api/captures.h"
#include "analyze/analyze.h"
#include "analyze/derived.h"
#include "api/query.h"
#include "render/places.h"
#include "resolve/resolve.h"

static const char *const by_words[] = {"path", "name", "instance", "forward"};

static bool by_of(const char *word, assay_scopes_by *by)
{
	*by = ASSAY_SCOPES_BY_PATH;
	for (size_t i = 0; word && i < ASSAY_COUNT_OF(by_words); i++)
		if (!strcmp(word, by_words[i])) {
			*by = (assay_scopes_by)i;
			return true;
		}
	return !word;
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
			.inferred = assay_scope_is_of_program(&run->part.t.scope, n->scope),
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
		/* they were made last */
		.by_schedule = assay_scope_is_of_program(&run->part.t.scope,
							 (uint32_t)run->part.t.scope.n - 1),
	};
}

static void find_places(assay_run *run)
{
	if (!run->analyzed)
		assay_link(run);
	run->analyzed = true;
	if (!run->part.t.kernel.n)
		assay_kernels(run);
	assay_kernel_lines(run);
}

bool assay_scopes_find(assay_run *run, const assay_scopes_query *q, assay_err *err)
{
	assay_scopes_by by;
	if (assay_is_place(q->by)) {
		find_places(run);
		return true;
	}
	if (!by_of(q->by, &by))
		return assay_fail(
			err, ASSAY_USAGE, 0,
			"scopes are joined by path, name, instance, forward, line, function, module, file or library, not by '%s'",
			q->by);
	if (!run->analyzed) {
		assay_bound_times(run);
		assay_link(run);
		assay_find_steps(run, NULL);
		run->analyzed = true;
	}
	assay_scopes(run,
		     &(assay_scope_opts){.ops = q->ops, .python = q->python, .exact = q->exact});
	if (!q->exact)
		assay_explain_programs(run);
	if (!q->exact && !q->timeline)
		assay_scopes_of_programs(run);
	if (q->step && !step_exists(run, *q->step))
		return assay_fail(err, ASSAY_USAGE, 0, "the input has no step %lld",
				  (long long)*q->step);
	if (q->timeline)
		assay_derive(run);
	return true;
}

void assay_scopes_make(const assay_run *run, const assay_scopes_query *q, assay_scopes_made *made)
{
	assay_scopes_by by;
	int64_t step = q->step ? *q->step : ASSAY_SCOPES_ALL_STEPS;
	by_of(q->by, &by);
	*made = (assay_scopes_made){0};
	assay_scope_times_of(run, by, step, &made->times);
	made->view = make_view(run, &made->times, by, step, &made->arena);
	made->view.depth = q->depth;
	made->view.top = q->top;
}

void assay_scopes_made_free(assay_scopes_made *made)
{
	assay_scope_times_free(&made->times);
	assay_arena_free(&made->arena);
}

void assay_scopes_by_path_json(assay_jsonw *w, const assay_run *run)
{
	assay_scopes_made made;
	assay_scopes_make(run, &(assay_scopes_query){0}, &made);
	assay_scopes_json(w, run, &made.view);
	assay_scopes_made_free(&made);
}
