/* Why the device waits, cause by cause: what each costs, whether every step pays it, and where. */
#include <stdlib.h>

#include "analyze/cause_place.h"
#include "analyze/finding.h"
#include "base/fmt.h"
#include "base/sort.h"
#include "base/test.h"
#include "names/words.h"

/* Unrecorded time under a range that is a collective of a host backend is known after all. */
static const char host_collective_phrase[] = "while a collective runs on the host";
static const char host_collective_advice[] =
	"use the GPU's own backend (nccl, rccl); look for the rank that comes late";

/* ------------------------------------------------------------------ steps */

/* Ends of the steady steps on the device: a step reaches from the end of the one before it. */
static size_t step_ends(const assay_run *run, const assay_find_ctx *c, int64_t **out)
{
	const assay_step_time_table *t = &run->part.t.step_time;
	int64_t *end = assay_alloc(c->scratch, (t->n + 1) * sizeof *end);
	size_t n = 0;
	for (size_t i = 0; i < t->n; i++) {
		int64_t to = t->start[i] + t->span[i];
		if (t->device[i] == c->w->device && to > c->w->from && to <= c->w->to)
			end[n++] = to;
	}
	assay_sort_i64(end, n);
	*out = end;
	return n;
}

static bool in_window(const assay_gap_table *g, const assay_window *w, size_t gap)
{
	return g->device[gap] == w->device && g->ts[gap] >= w->from &&
	       g->ts[gap] + g->dur[gap] <= w->to;
}

/* A cause is steady when half of the steps have a fair part of it: a fifth of the mean. */
static void find_steady(const assay_run *run, const assay_find_ctx *c, bool steady[ASSAY_WHY_COUNT])
{
	const assay_tables *t = &run->part.t;
	int64_t *end;
	size_t n = step_ends(run, c, &end), step = 0;
	int64_t(*sum)[ASSAY_WHY_COUNT] = assay_alloc(c->scratch, (n + 1) * sizeof *sum);
	for (size_t i = 0; i < t->gap_part.n; i++) {
		uint32_t gap = t->gap_part.gap[i];
		if (!in_window(&t->gap, c->w, gap))
			continue;
		while (step < n && t->gap.ts[gap] >= end[step])
			step++;
		sum[step][t->gap_part.cause[i]] += t->gap_part.dur[i];
	}
	for (int k = 0; k < ASSAY_WHY_COUNT; k++) {
		size_t with = 0;
		for (size_t i = 0; i < n; i++)
			with += sum[i][k] * 5 * (int64_t)n > c->w->cause[k];
		steady[k] = c->steps && with * 2 >= n;
	}
}

/* ------------------------------------------------------------------ where */

struct name_time {
	assay_sid name;
	uint32_t row; /* of host */
	int64_t time;
};

/* What stands in most of the cause's time: the longest stretch of each gap, by name. */
static struct name_time main_name(const assay_run *run, const assay_find_ctx *c, int cause)
{
	const assay_tables *t = &run->part.t;
	assay_map known = {0};
	assay_vec(struct name_time) sum = {0};
	struct name_time best = {0};
	for (size_t i = 0; i < t->gap_part.n; i++) {
		uint32_t row = t->gap_part.during[i];
		if (t->gap_part.cause[i] != cause || row == ASSAY_NO_ROW ||
		    !in_window(&t->gap, c->w, t->gap_part.gap[i]))
			continue;
		uint32_t *slot = assay_map_at(&known, t->host.name[row]);
		if (*slot == ASSAY_MAP_ABSENT) {
			*slot = (uint32_t)sum.n;
			*assay_push(&sum) =
				(struct name_time){.name = t->host.name[row], .row = row};
		}
		sum.p[*slot].time += t->gap_part.longest[i];
		if (sum.p[*slot].time > best.time)
			best = sum.p[*slot];
	}
	assay_vec_free(&sum);
	assay_map_free(&known);
	return best;
}

/* "train.py(12): step", as Kineto names frames. */
static void frame_where(assay_arena *a, assay_str name, assay_where *where)
{
	ptrdiff_t open = assay_str_find(name, "("), close = assay_str_find(name, "): ");
	int64_t line;
	if (open <= 0 || close < open ||
	    !assay_str_i64((assay_str){name.p + open + 1, (size_t)(close - open - 1)}, &line))
		return;
	where->file = assay_dup(a, (assay_str){name.p, (size_t)open});
	where->line = (int32_t)line;
	where->function = assay_dup(a, (assay_str){name.p + close + 3, name.n - (size_t)close - 3});
}

/* The line of the program where the launching thread was for most of the cause, or that of the
 * thread it waited for. */
static void stack_where(const assay_run *run, const assay_find_ctx *c, int cause,
			assay_where *where)
{
	const assay_tables *t = &run->part.t;
	for (size_t i = 0; i < t->idle_line.n; i++) { /* longest first */
		uint32_t stack = t->idle_line.culprit[i] != ASSAY_NO_ROW ? t->idle_line.culprit[i]
									 : t->idle_line.stack[i];
		if (t->idle_line.device[i] != c->w->device || t->idle_line.cause[i] != cause ||
		    stack == ASSAY_NO_ROW)
			continue;
		assay_where_in_stack(run, stack, where);
		return;
	}
}

static assay_where where_of(const assay_run *run, const assay_find_ctx *c,
			    const struct name_time *in)
{
	assay_where where = {0};
	if (!in->name)
		return where;
	assay_str name = assay_text(run, in->name);
	uint8_t kind = run->part.t.host.kind[in->row];
	const char *text = assay_dup(c->scratch, name);
	if (kind == ASSAY_HOST_PYTHON)
		frame_where(c->scratch, name, &where);
	else if (kind == ASSAY_HOST_OP || assay_is_call(kind))
		where.op = text;
	else
		where.range = text;
	return where;
}

/* ------------------------------------------------------------------ one cause */

static double explained(const assay_find_ctx *c)
{
	int64_t dark = c->w->cause[ASSAY_WHY_UNLINKED] + c->w->suspicious;
	return c->w->idle ? 1 - (double)dark / (double)c->w->idle : 1;
}

static void add_facts(const assay_run *run, const assay_find_ctx *c, int cause,
		      const struct name_time *in, assay_found *f)
{
	const assay_tables *t = &run->part.t;
	char count[ASSAY_FMT], longest[ASSAY_FMT], time[ASSAY_FMT];
	uint32_t gap = c->w->longest[cause];
	int64_t steps = c->steps && !f->once ? (int64_t)c->steps : 1;
	int n = 0;
	if (gap != ASSAY_NO_ROW)
		f->fact[n++] = assay_printf(
			c->scratch, "%s gap%s, the longest %s before %s",
			assay_fmt_count(count, c->w->gaps[cause]),
			c->w->gaps[cause] == 1 ? "" : "s",
			assay_fmt_time(longest, c->w->longest_part[cause]),
			assay_fmt_kernel(c->scratch, assay_text(run, t->gpu.name[t->gap.gpu[gap]]),
					 60));
	if (in->name)
		f->fact[n++] = assay_printf(c->scratch, "%s in %s (%s%s)",
					    in->time * 2 > f->total ? "mostly" : "longest",
					    assay_fmt_safe(c->scratch, assay_text(run, in->name)),
					    assay_fmt_time(time, in->time / steps),
					    steps > 1 ? " a step" : "");
}

/* The program's own line, where calls have stacks: that of who is waited for, else of the launching
 * thread. */
static void add_place(const assay_run *run, const assay_find_ctx *c, int cause, assay_found *f)
{
	const assay_tables *t = &run->part.t;
	assay_cause_place at =
		assay_cause_place_find(run, c->w->device, c->w->from, c->w->to, (assay_why)cause);
	uint32_t home = assay_cause_place_home(&at);
	int fact = 0;
	if (at.stack == ASSAY_NO_ROW)
		return;
	f->where.file = assay_dup(c->scratch, assay_text(run, t->code.file[t->stack.code[home]]));
	f->where.function =
		assay_dup(c->scratch, assay_text(run, t->code.function[t->stack.code[home]]));
	f->where.line = t->stack.line[home] > 0 ? t->stack.line[home] : 0;
	while (fact < ASSAY_FACTS_MAX && f->fact[fact])
		fact++;
	if (fact < ASSAY_FACTS_MAX)
		f->fact[fact] = assay_cause_place_words(c->scratch, run, &at);
}

static void add_cause(const assay_run *run, const assay_find_ctx *c, int cause, int64_t total,
		      bool steady)
{
	const assay_why_row *row = &assay_why_rows[cause];
	struct name_time in = main_name(run, c, cause);
	assay_found f = {.id = row->name,
			 .cause = row->name,
			 .fix = assay_why_advice((assay_why)cause, c->framework, c->vendor),
			 .where = where_of(run, c, &in),
			 .total = total,
			 .once = c->steps && !steady,
			 .confidence = row->certainty * explained(c)};
	stack_where(run, c, cause, &f.where);
	const char *phrase = row->phrase;
	if (cause == ASSAY_WHY_HOST_UNTRACED && in.name &&
	    assay_word_of(assay_text(run, in.name)) == ASSAY_WORD_HOST_COMM) {
		phrase = host_collective_phrase;
		f.fix = host_collective_advice;
		f.confidence = 0.8 * explained(c);
	}
	f.text = assay_printf(c->scratch, "the GPU waits %s %s", assay_cost_words(c, total, f.once),
			      phrase);
	f.what_if = assay_printf(c->scratch, "%s=0", row->name);
	f.has_gap = c->w->longest[cause] != ASSAY_NO_ROW;
	f.gap = c->w->longest[cause];
	add_facts(run, c, cause, &in, &f);
	add_place(run, c, cause, &f);
	assay_finding_add(c, &f);
}

/* Work whose launch was back for a millisecond and more without beginning. */
static void add_not_started(const assay_run *run, const assay_find_ctx *c)
{
	const assay_tables *t = &run->part.t;
	uint32_t gap = c->w->longest[ASSAY_WHY_LAUNCH_LATENCY];
	char longest[ASSAY_FMT];
	assay_found f = {.id = "not_started",
			 .cause = assay_why_name[ASSAY_WHY_LAUNCH_LATENCY],
			 .total = c->w->suspicious,
			 .confidence = 0.5,
			 .fix = "look for another process on the GPU, for work queued before the "
				"recording began, and for a device that was asleep: record from "
				"the start, with telemetry"};
	f.text = assay_printf(c->scratch,
			      "submitted work does not start for %s although the GPU is idle",
			      assay_share_words(c, f.total));
	f.has_gap = gap != ASSAY_NO_ROW;
	f.gap = gap;
	if (f.has_gap)
		f.fact[0] = assay_printf(
			c->scratch, "the longest lasts %s, before %s",
			assay_fmt_time(longest, c->w->longest_part[ASSAY_WHY_LAUNCH_LATENCY]),
			assay_fmt_kernel(c->scratch, assay_text(run, t->gpu.name[t->gap.gpu[gap]]),
					 60));
	assay_finding_add(c, &f);
}

/* Idle time of a tenth of the whole and more is always spoken of, however many causes share it. */
static double least_idle(const assay_find_ctx *c)
{
	double least = assay_worth_saying * (double)c->whole;
	double shared = (double)c->w->idle / ASSAY_WHY_COUNT;
	return (double)c->w->idle > 0.1 * (double)c->whole && shared < least ? shared : least;
}

static void find_idle(assay_run *run, const assay_find_ctx *c)
{
	bool steady[ASSAY_WHY_COUNT] = {0};
	if (c->w->device == ASSAY_NO_ROW || c->whole <= 0)
		return;
	double least = least_idle(c);
	find_steady(run, c, steady);
	for (int cause = 0; cause < ASSAY_WHY_COUNT; cause++) {
		int64_t total = c->w->cause[cause];
		total -= cause == ASSAY_WHY_LAUNCH_LATENCY ? c->w->suspicious : 0;
		if (cause != ASSAY_WHY_UNLINKED && (double)total >= least)
			add_cause(run, c, cause, total, steady[cause]);
	}
	if ((double)c->w->suspicious >= least)
		add_not_started(run, c);
}

const assay_finder assay_find_idle = {"idle", find_idle};

/* ------------------------------------------------------------------ not recorded */

/* What a better recording would tell. */
static void find_missing(assay_run *run, const assay_find_ctx *c)
{
	const assay_window *w = c->w;
	if (w->device == ASSAY_NO_ROW) {
		assay_finding_add(
			c, &(assay_found){
				   .id = "record_gpu",
				   .text = "the input holds no GPU work, so nothing can be said",
				   .fix = "record GPU activity (activities CUDA; rocprofv3 "
					  "--kernel-trace; assay record)",
				   .total = -1,
				   .fact = {"no kernels, copies or memsets"}});
		return;
	}
	int64_t dark = w->cause[ASSAY_WHY_UNLINKED];
	bool all_dark = dark * 2 > w->idle && (double)w->idle > 0.1 * (double)c->whole;
	if ((double)dark > 0.05 * (double)c->whole || all_dark)
		assay_finding_add(
			c, &(assay_found){
				   .id = "record_launches",
				   .cause = assay_why_name[ASSAY_WHY_UNLINKED],
				   .text = assay_printf(
					   c->scratch,
					   "%s the GPU is idle for a reason that was not recorded",
					   assay_share_words(c, dark)),
				   .fix = assay_why_advice(ASSAY_WHY_UNLINKED, c->framework,
							   c->vendor),
				   .total = dark,
				   .confidence = assay_why_rows[ASSAY_WHY_UNLINKED].certainty,
				   .has_gap = w->longest[ASSAY_WHY_UNLINKED] != ASSAY_NO_ROW,
				   .gap = w->longest[ASSAY_WHY_UNLINKED],
				   .fact = {"gaps that end with work whose launch is not in the "
					    "recording"}});
	struct name_time in = main_name(run, c, ASSAY_WHY_HOST_UNTRACED);
	bool comm = in.name && assay_word_of(assay_text(run, in.name)) == ASSAY_WORD_HOST_COMM;
	if ((double)w->cause[ASSAY_WHY_HOST_UNTRACED] > 0.05 * (double)c->whole && !comm)
		assay_finding_add(
			c, &(assay_found){
				   .id = "record_stacks",
				   .text = "part of the host's time has no name in this recording",
				   .fix = "record with stacks (assay record; with_stack=True) or "
					  "ranges (NVTX, roctx)",
				   .total = -1,
				   .fact = {"gaps in which the launching thread shows nothing"}});
	if (!w->steps)
		assay_finding_add(
			c, &(assay_found){.id = "record_steps",
					  .text = "the recording marks no steps",
					  .fix = "call profiler.step(), put a range around each "
						 "step, or give --steps N",
					  .total = -1,
					  .fact = {"no step markers, and kernels do not repeat"}});
}

const assay_finder assay_find_missing = {"missing", find_missing};
