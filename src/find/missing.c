/* What a better recording would tell. */
#include "analyze/idle_where.h"
#include "find/finding.h"
#include "names/words.h"

static void miss_gpu(const assay_run *run, const assay_find_ctx *c)
{
	bool sums = run->part.t.stat.n || run->part.t.pmc.n;
	assay_found f = {
		.id = "record_gpu",
		.text = sums ? "the input does not say when the GPU worked, so nothing can be said of waits"
			     : "the input holds no GPU work, so nothing can be said",
		.fix = "record GPU activity (activities CUDA; rocprofv3 --kernel-trace; assay record)",
		.total = -1,
		.fact = {sums ? "sums or counters, but no work with times"
			      : "no kernels, copies or memsets"}};
	assay_finding_add(c, &f);
}

static void miss_launches(const assay_find_ctx *c)
{
	const assay_window *w = c->w;
	int64_t dark = w->cause[ASSAY_WHY_UNLINKED];
	bool all_dark = dark * 2 > w->idle && (double)w->idle > 0.1 * (double)c->whole;
	if ((double)dark <= 0.05 * (double)c->whole && !all_dark)
		return;
	assay_found f = {
		.id = "record_launches",
		.cause = assay_why_name[ASSAY_WHY_UNLINKED],
		.text = assay_printf(c->scratch,
				     "%s the GPU is idle for a reason that was not recorded",
				     assay_share_words(c, dark)),
		.fix = assay_why_advice(ASSAY_WHY_UNLINKED, c->framework, c->vendor),
		.total = dark,
		.order_by = dark / 4 + 1,
		.confidence = assay_why_rows[ASSAY_WHY_UNLINKED].certainty,
		.has_gap = w->longest[ASSAY_WHY_UNLINKED] != ASSAY_NO_ROW,
		.gap = w->longest[ASSAY_WHY_UNLINKED],
		.fact = {"gaps that end with work whose launch is not in the recording"}};
	assay_finding_add(c, &f);
}

static void miss_stacks(const assay_run *run, const assay_find_ctx *c)
{
	assay_idle_name in = assay_idle_name_of(run, c->w, ASSAY_WHY_HOST_UNTRACED);
	bool comm = in.name && assay_word_of(assay_text(run, in.name)) == ASSAY_WORD_HOST_COMM;
	if ((double)c->w->cause[ASSAY_WHY_HOST_UNTRACED] <= 0.05 * (double)c->whole || comm)
		return;
	assay_found f = {
		.id = "record_stacks",
		.text = "part of the host's time has no name in this recording",
		.fix = c->framework == ASSAY_FRAMEWORK_JAX
			       ? "record with stacks (assay record; jax.profiler with python_tracer_level=1) or ranges (jax.profiler.TraceAnnotation)"
			       : "record with stacks (assay record; with_stack=True) or ranges (NVTX, roctx)",
		.total = -1,
		.fact = {"gaps in which the launching thread shows nothing"}};
	assay_finding_add(c, &f);
}

static void miss_steps(const assay_find_ctx *c)
{
	assay_found f = {
		.id = "record_steps",
		.text = "the recording marks no steps",
		.fix = "call profiler.step(), put a range around each step, or give --steps N",
		.total = -1,
		.fact = {"no step markers, and kernels do not repeat"}};
	if (!c->w->steps)
		assay_finding_add(c, &f);
}

static void find_missing(const assay_run *run, const assay_find_ctx *c)
{
	if (c->w->device == ASSAY_NO_ROW) {
		miss_gpu(run, c);
		return;
	}
	miss_launches(c);
	miss_stacks(run, c);
	miss_steps(c);
}

const assay_finder assay_find_missing = {.id = "missing", .find = find_missing};
