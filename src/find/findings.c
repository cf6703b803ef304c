/* All finders in turn, then order: what is worth most first, consequences below their cause. */
#include <stdlib.h>

#include "analyze/analyze.h"
#include "base/beside.h"
#include "base/compare.h"
#include "base/fmt.h"
#include "base/sort.h"
#include "base/turns.h"
#include "base/test.h"
#include "find/finding.h"
#include "find/lock_turns.h"
#include "find/own_frames.h"
#include "names/serving.h"
#include "path/worth.h"

/* The first ones need nothing of what compute.h tells, and add no strings. */
static const assay_finder *const first_finders[] = {&assay_find_idle, &assay_find_alloc};

static const assay_finder *const finders[] = {
	&assay_find_busy,     &assay_find_streams, &assay_find_compute,    &assay_find_optimizer,
	&assay_find_late,     &assay_find_ranks,   &assay_find_slow_links, &assay_find_shared,
	&assay_find_launches, &assay_find_modes,   &assay_find_turns,      &assay_find_heavy,
	&assay_find_grids,    &assay_find_blocks,  &assay_find_one_hot,    &assay_find_tables,
	&assay_find_detours,  &assay_find_trials,  &assay_find_graphs,     &assay_find_sends,
	&assay_find_missing,
};

enum { STEADY_STEPS = 3 }; /* fewer say nothing of every step */

assay_per_step assay_per_step_of(const assay_find_ctx *c, bool once)
{
	return c->steps && !once ? (assay_per_step){(int64_t)c->steps, " a step"}
				 : (assay_per_step){1, ""};
}

const char *assay_share_words(const assay_find_ctx *c, int64_t total)
{
	char part[ASSAY_FMT], whole[ASSAY_FMT];
	assay_fmt_time(whole, c->now);
	return assay_printf(c->scratch, c->steps ? "%s of every %s step" : "%s of the %s recording",
			    assay_fmt_time(part, total / assay_per_step_of(c, false).steps), whole);
}

/* ------------------------------------------------------------------ collecting */

bool assay_find_without(const assay_find_ctx *c, const char *what_if, double *share)
{
	return c->worth && assay_worth_without(c->worth, what_if, share);
}

double assay_find_shorter(const assay_find_ctx *c, const int64_t *dur, int64_t stall,
			  double otherwise, bool *replayed)
{
	double share;
	*replayed = c->worth && assay_worth_shorter(c->worth, dur, stall, &share);
	return *replayed ? share * (double)c->whole : otherwise;
}

void assay_where_of_work(const assay_run *run, const assay_find_ctx *c, uint32_t gpu,
			 assay_where *where)
{
	const assay_tables *t = &run->part.t;
	uint32_t own = assay_own_call(t, assay_call_stack(t, t->launch.host[gpu]));
	uint32_t call = gpu < t->gpu_op.n ? t->gpu_op.call[gpu] : ASSAY_NO_ROW;
	where->kernel = assay_fmt_kernel(c->scratch, assay_text(run, t->gpu.name[gpu]), 120);
	if (call != ASSAY_NO_ROW && t->op_call.shape[call] != ASSAY_NO_ROW)
		where->op = assay_z(run, t->op_shape.name[t->op_call.shape[call]]);
	if (own != ASSAY_NO_ROW)
		assay_where_in_stack(run, own, where);
	else
		assay_own_line_of_work(run, c, gpu, where);
}

const int64_t *assay_reported_of_work(const assay_run *run, assay_arena *a)
{
	const assay_tables *t = &run->part.t;
	int64_t *reported = assay_alloc(a, (t->gpu.n + 1) * sizeof *reported);
	for (uint32_t i = 0; i < t->lone_kernel.n; i++)
		reported[t->lone_kernel.gpu[i]] += t->lone_kernel.needless[i];
	for (uint32_t i = 0; i < t->call_part.n; i++) {
		uint32_t gpu = t->op_call.gpu[t->call_part.call[i]];
		if (gpu != ASSAY_NO_ROW)
			reported[gpu] += t->call_part.unfused[i] + t->call_part.precision[i];
	}
	return reported;
}

static struct assay_found_list *found_so_far(const assay_find_ctx *c)
{
	if (c->turns)
		assay_turns_await(c->turns, c->turn);
	return c->list;
}

void assay_finding_add(const assay_find_ctx *c, const assay_found *f)
{
	*assay_push(&found_so_far(c)->found) = *f;
}

void assay_find_warn(const assay_find_ctx *c, const char *id, const char *text)
{
	*assay_push(&found_so_far(c)->warnings) = (struct assay_find_warning){id, text};
}

void assay_found_add_fact(assay_found *f, const char *text)
{
	for (int i = 0; text && i < ASSAY_FACTS_MAX; i++)
		if (!f->fact[i]) {
			f->fact[i] = text;
			return;
		}
}

assay_found *assay_found_next(const assay_find_ctx *c, assay_found *f)
{
	const struct assay_found_list *l = found_so_far(c);
	size_t next = f ? (size_t)(f - l->found.p) + 1 : 0;
	return next < l->found.n ? &l->found.p[next] : NULL;
}

assay_found *assay_found_with_id(const assay_find_ctx *c, const char *id)
{
	assay_found *f = NULL;
	while ((f = assay_found_next(c, f)) && strcmp(f->id, id))
		;
	return f;
}

void assay_found_take(const assay_find_ctx *c, assay_found *f, const char *id)
{
	for (assay_found *o = NULL; f->where.op && (o = assay_found_next(c, o));) {
		if (strcmp(o->id, id) || o->follows || !o->where.op ||
		    strcmp(o->where.op, f->where.op))
			continue;
		o->follows = f->id;
		f->saved = o->saved > f->saved ? o->saved : f->saved;
		f->most = f->saved > f->most ? f->saved : f->most;
	}
}

/* Compiled PyTorch code shows as Inductor's kernels or operators of its graphs. */
static assay_framework framework_of_text(assay_str s)
{
	static const struct {
		const char *start;
		assay_framework framework;
	} words[] = {
		{"triton_poi_fused", ASSAY_FRAMEWORK_COMPILED},
		{"triton_red_fused", ASSAY_FRAMEWORK_COMPILED},
		{"triton_per_fused", ASSAY_FRAMEWORK_COMPILED},
		{"CompiledFunction", ASSAY_FRAMEWORK_COMPILED},
		{"Torch-Compiled Region", ASSAY_FRAMEWORK_COMPILED},
		{"vllm", ASSAY_FRAMEWORK_SERVING},
		{"sglang", ASSAY_FRAMEWORK_SERVING},
		{"tensorrt_llm", ASSAY_FRAMEWORK_SERVING},
		{"aten::", ASSAY_FRAMEWORK_TORCH},
		{"jit_", ASSAY_FRAMEWORK_JAX},
		{"PjitFunction", ASSAY_FRAMEWORK_JAX},
		{"XlaModule", ASSAY_FRAMEWORK_JAX},
	};
	for (size_t i = 0; i < ASSAY_COUNT_OF(words); i++)
		if (assay_str_starts(s, words[i].start))
			return words[i].framework;
	/* recordings without operators: kernels, and files of stacks */
	return assay_str_find(s, "at::native::") >= 0 || assay_str_find(s, "-packages/torch/") >= 0
		       ? ASSAY_FRAMEWORK_TORCH
		       : ASSAY_FRAMEWORK_ANY;
}

/* What the run is written with. */
static assay_framework framework_of(const assay_run *run)
{
	bool seen[ASSAY_FRAMEWORK_COUNT] = {0};
	const assay_step_table *steps = &run->part.t.step;
	assay_serving mark;
	seen[ASSAY_FRAMEWORK_JAX] = assay_any_has_trait(run, ASSAY_TRAIT_PLANES);
	seen[ASSAY_FRAMEWORK_SERVING] =
		steps->n && assay_serving_parse(assay_text(run, steps->name[0]), &mark);
	for (uint32_t i = 1; i < run->part.strings.str.n; i++)
		seen[framework_of_text(assay_text(run, i))] = true;
	return seen[ASSAY_FRAMEWORK_SERVING]    ? ASSAY_FRAMEWORK_SERVING
	       : seen[ASSAY_FRAMEWORK_COMPILED] ? ASSAY_FRAMEWORK_COMPILED
	       : seen[ASSAY_FRAMEWORK_TORCH]    ? ASSAY_FRAMEWORK_TORCH
	       : seen[ASSAY_FRAMEWORK_JAX]      ? ASSAY_FRAMEWORK_JAX
						: ASSAY_FRAMEWORK_ANY;
}

static assay_vendor vendor_of(const assay_run *run)
{
	for (size_t i = 0; i < run->part.t.device.n; i++)
		if (assay_device_vendor(run, i))
			return assay_device_vendor(run, i);
	return ASSAY_VENDOR_UNKNOWN;
}

/* ------------------------------------------------------------------ worth and order */

struct weighed {
	const assay_found *f;
	int64_t saved; /* of the window */
	int64_t order_by;
	bool replayed, top;
	size_t at; /* among those found: ties keep their order */
	const struct weighed *under;
};

/* What of the window goes when the cause does: by replay, as the finder says, or all. */
static void weigh(const assay_find_ctx *c, struct weighed *w)
{
	const assay_found *f = w->f;
	double share = 0;
	w->saved = f->saved > 0 ? f->saved : f->total > 0 ? f->total : 0;
	w->replayed = f->replayed;
	if (!f->what_if || f->once || f->saved > 0 || !assay_find_without(c, f->what_if, &share))
		return;
	int64_t saved = (int64_t)(share * (double)c->whole);
	w->replayed = true;
	w->saved = saved < w->saved || (c->steps && !f->capped) ? saved : w->saved;
}

/* Findings that hardly hold stand where what is likely of them would; beside a late rank, which is
 * known and which a whole job waits for, all that are rather not so than so do. */
static int64_t likely(const struct weighed *w, bool late)
{
	double sure = w->f->confidence, enough = late ? 0.5 : 0.25;
	return sure < enough ? (int64_t)((double)w->saved * sure) : w->saved;
}

static bool has_late_rank(const assay_find_ctx *c)
{
	for (size_t i = 0; i < c->list->found.n; i++)
		if (c->list->found.p[i].where.has_rank && c->list->found.p[i].confidence >= 0.5)
			return true;
	return false;
}

static int by_worth(const void *a, const void *b)
{
	const struct weighed *x = a, *y = b;
	bool told_x = x->f->total >= 0, told_y = y->f->total >= 0;
	/* what is no time comes last */
	return assay_then(ASSAY_CMP(told_y, told_x),
			  assay_then(ASSAY_CMP(y->order_by, x->order_by), ASSAY_CMP(x->at, y->at)));
}

static const struct weighed *weighed_with_id(const struct weighed *w, size_t n, const char *id)
{
	for (size_t i = 0; id && i < n; i++)
		if (!strcmp(w[i].f->id, id))
			return &w[i];
	return NULL;
}

/* Idle time of each cause that lies within the spans. */
static void waits_during(const assay_run *run, const assay_find_ctx *c, const assay_found *f,
			 int64_t part[ASSAY_WHY_COUNT])
{
	const assay_tables *t = &run->part.t;
	memset(part, 0, ASSAY_WHY_COUNT * sizeof *part);
	for (size_t i = 0; i < t->gap_part.n; i++) {
		uint32_t gap = t->gap_part.gap[i];
		size_t k = assay_count_until(&f->during->from, sizeof *f->during, f->spans,
					     t->gap.ts[gap]);
		if (t->gap.device[gap] == c->w->device && k && t->gap.ts[gap] < f->during[k - 1].to)
			part[t->gap_part.cause[i]] += t->gap_part.dur[i];
	}
}

static void fold_waits(const assay_run *run, const assay_find_ctx *c, struct weighed *w, size_t n)
{
	int64_t part[ASSAY_WHY_COUNT];
	for (size_t i = 0; i < n; i++) {
		if (!w[i].f->spans)
			continue;
		waits_during(run, c, w[i].f, part);
		for (int k = 0; k < ASSAY_WHY_COUNT; k++)
			for (size_t j = 0; j < n; j++)
				if (!strcmp(w[j].f->id, assay_why_name[k]) &&
				    part[k] * 2 > c->w->cause[k] && w[i].saved >= w[j].saved)
					w[j].under = &w[i];
	}
}

/* Consequences of consequences stand below the first cause; causes that follow from each other
 * stand alone. */
static void find_tops(struct weighed *w, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct weighed *top = w[i].under;
		for (size_t k = 0; top && top->under && k < n; k++)
			top = top->under;
		w[i].under = top && !top->under ? top : NULL;
	}
}

/* ------------------------------------------------------------------ rows */

static void set_where(assay_run *run, uint32_t r, const assay_where *where)
{
	assay_finding_table *t = &run->part.t.finding;
	const struct {
		assay_sid *to;
		const char *text;
	} texts[] = {
		{&t->file[r], where->file},     {&t->function[r], where->function},
		{&t->range[r], where->range},   {&t->op[r], where->op},
		{&t->kernel[r], where->kernel}, {&t->host[r], where->host},
	};
	for (size_t i = 0; i < ASSAY_COUNT_OF(texts); i++)
		*texts[i].to = texts[i].text ? assay_sid_of(run, texts[i].text) : 0;
	t->line[r] = where->line ? where->line : -1;
	t->rank[r] = where->has_rank ? where->rank : -1;
}

static void set_bounds(const assay_find_ctx *c, const struct weighed *w, int64_t steps, uint32_t r,
		       assay_finding_table *t)
{
	const assay_found *f = w->f;
	int64_t most = f->most > w->saved ? f->most : w->saved,
		least = f->least && f->least < w->saved ? f->least : w->saved;
	if (!f->most && !f->least)
		return;
	t->after_least[r] = (c->whole - most) / steps;
	if (f->least != ASSAY_WORTH_UNKNOWN)
		t->after_most[r] = (c->whole - least) / steps;
}

static uint32_t add_row(assay_run *run, const assay_find_ctx *c, const struct weighed *w,
			uint32_t under)
{
	const assay_found *f = w->f;
	assay_finding_table *t = &run->part.t.finding;
	uint32_t r = assay_add(&run->part.t, ASSAY_T_finding);
	bool steady = c->steps && !f->once;
	int64_t steps = steady ? (int64_t)c->steps : 1;
	t->id[r] = assay_sid_of(run, f->id);
	t->cause[r] = assay_sid_of(run, f->cause ? f->cause : f->id);
	t->text[r] = assay_sid_of(run, f->text);
	t->fix[r] = assay_sid_of(run, f->fix);
	set_where(run, r, &f->where);
	t->steady[r] = steady;
	t->under[r] = under;
	t->gap[r] = f->has_gap ? f->gap : ASSAY_NO_ROW;
	for (int i = 0; i < ASSAY_FACTS_MAX && f->fact[i]; i++) {
		uint32_t e = assay_add(&run->part.t, ASSAY_T_evidence);
		run->part.t.evidence.finding[e] = r;
		run->part.t.evidence.text[e] = assay_sid_of(run, f->fact[i]);
	}
	t->confidence[r] = f->confidence;
	if (f->total < 0)
		return r;
	t->cost[r] = f->total / steps;
	t->now[r] = c->whole / steps;
	t->after[r] = (c->whole - w->saved) / steps;
	set_bounds(c, w, steps, r, t);
	t->replayed[r] = w->replayed;
	return r;
}

static void add_rows(assay_run *run, const assay_find_ctx *c, const struct weighed *w, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (w[i].under)
			continue;
		uint32_t r = add_row(run, c, &w[i], ASSAY_NO_ROW);
		for (size_t k = 0; k < n; k++)
			if (w[k].under == &w[i])
				add_row(run, c, &w[k], r);
	}
}

/* Facts of a finding in one line. */
static const char *joined_facts(const assay_run *run, uint32_t finding, assay_arena *a)
{
	const assay_evidence_table *e = &run->part.t.evidence;
	const char *text = "";
	for (size_t i = 0; i < e->n; i++)
		if (e->finding[i] == finding)
			text = assay_printf(a, "%s%s%s", text, *text ? "; " : "",
					    assay_z(run, e->text[i]));
	return text;
}

static void fill_verdicts(assay_run *run, const assay_find_ctx *c)
{
	const assay_finding_table *f = &run->part.t.finding;
	assay_verdict_table *v = &run->part.t.verdict;
	for (uint32_t i = 0; i < f->n; i++) {
		uint32_t r = assay_add(&run->part.t, ASSAY_T_verdict);
		int64_t of = f->steady[i] ? c->now : c->whole;
		v->id[r] = f->id[i];
		v->text[r] = f->text[i];
		v->advice[r] = f->fix[i];
		v->evidence[r] = assay_sid_of(run, joined_facts(run, i, c->scratch));
		v->seconds[r] = f->cost[i] < 0 ? -1 : (double)f->cost[i] * 1e-9;
		v->share[r] = f->cost[i] < 0 || !of ? 0 : (double)f->cost[i] / (double)of;
		v->confidence[r] = f->confidence[i];
		v->gap[r] = f->gap[i];
	}
}

static void order_found(assay_run *run, const assay_find_ctx *c)
{
	size_t n = c->list->found.n;
	struct weighed *w = assay_alloc(c->scratch, (n + 1) * sizeof *w);
	bool late = has_late_rank(c);
	for (size_t i = 0; i < n; i++) {
		w[i] = (struct weighed){.f = &c->list->found.p[i], .at = i};
		weigh(c, &w[i]);
		w[i].order_by = w[i].f->order_by ? w[i].f->order_by : likely(&w[i], late);
	}
	qsort(w, n, sizeof *w, by_worth);
	for (size_t i = 0; i < n; i++)
		w[i].under = weighed_with_id(w, n, w[i].f->follows);
	fold_waits(run, c, w, n);
	find_tops(w, n);
	add_rows(run, c, w, n);
}

static void add_nothing_large(const assay_find_ctx *c)
{
	assay_finding_add(
		c,
		&(assay_found){
			.id = "nothing_large",
			.text = "no wait that can be avoided, exposed communication or copy takes 1% of the time",
			.fix = "look at the kernels themselves",
			.total = -1,
			.confidence = (double)(c->whole - c->w->idle) / (double)c->whole,
			.fact = {"the split of the main device's time"}});
}

struct assay_finding_search {
	assay_arena scratch;
	unsigned threads;
	assay_run view;
	const assay_run *run; /* when the rest is found */
	struct assay_found_list list;
	assay_lock_look lock;
	assay_find_ctx c;
	void *seen[ASSAY_COUNT_OF(finders)];
	assay_arena own[ASSAY_COUNT_OF(finders)]; /* scratch of each */
};

assay_finding_search *assay_findings_start(const assay_run *run, const assay_window *w,
					   const assay_order *order, assay_worth *worth,
					   struct assay_hole_search *holes)
{
	assay_arena scratch = {0};
	assay_finding_search *s = assay_alloc(&scratch, sizeof *s);
	s->scratch = scratch;
	s->threads = assay_run_threads_for(run, run->part.t.gpu.n);
	s->view = assay_run_view(run, &s->scratch);
	s->c = (assay_find_ctx){.w = w,
				.order = order,
				.worth = worth,
				.holes = holes,
				.lock = &s->lock,
				.steps = w->steps >= STEADY_STEPS ? w->steps : 0,
				.whole = assay_window_length(w),
				.framework = framework_of(run),
				.vendor = vendor_of(run),
				.list = &s->list,
				.scratch = &s->scratch};
	s->c.now = s->c.steps ? s->c.whole / (int64_t)s->c.steps : s->c.whole;
	return s;
}

static void look(void *search)
{
	assay_finding_search *s = search;
	assay_find_ctx c = s->c;
	for (size_t i = 0; i < ASSAY_COUNT_OF(finders); i++) {
		c.scratch = &s->own[i];
		if (finders[i]->look)
			s->seen[i] = finders[i]->look(&s->view, &c);
	}
}

void assay_findings_first(assay_finding_search *s)
{
	assay_beside looks;
	s->c.frames = assay_own_frames_find(&s->view, &s->scratch);
	assay_beside_start(&looks, s->threads, look, s);
	for (size_t i = 0; i < ASSAY_COUNT_OF(first_finders); i++)
		first_finders[i]->find(&s->view, &s->c);
	assay_beside_join(&looks);
}

static void run_finder(void *search, unsigned worker, uint64_t i)
{
	assay_finding_search *s = search;
	assay_find_ctx c = s->c;
	(void)worker;
	c.turn = i;
	c.seen = s->seen[i];
	c.scratch = &s->own[i];
	finders[i]->find(s->run, &c);
}

static bool finder_is_done(void *search, unsigned worker, uint64_t i)
{
	(void)search, (void)worker, (void)i;
	return true;
}

static void find_rest(assay_finding_search *s, assay_run *run)
{
	assay_turns turns = {.tasks = ASSAY_COUNT_OF(finders),
			     .threads = s->threads,
			     .ctx = s,
			     .work = run_finder,
			     .hand_over = finder_is_done};
	if (s->c.worth && turns.threads > 1)
		assay_worth_share(s->c.worth);
	s->run = run;
	s->c.turns = &turns;
	assay_turns_run(&turns);
	s->c.turns = NULL;
	for (size_t i = 0; i < s->list.warnings.n; i++)
		assay_warn(run, s->list.warnings.p[i].id, "%s", s->list.warnings.p[i].text);
	if (!s->list.found.n && s->c.whole > 0)
		add_nothing_large(&s->c);
	order_found(run, &s->c);
	fill_verdicts(run, &s->c);
}

void assay_findings_end(assay_finding_search *s, assay_run *run)
{
	if (run)
		find_rest(s, run);
	assay_vec_free(&s->list.found);
	assay_vec_free(&s->list.warnings);
	for (size_t i = 0; i < ASSAY_COUNT_OF(finders); i++)
		assay_arena_free(&s->own[i]);
	assay_arena scratch = s->scratch;
	assay_arena_free(&scratch);
}

void assay_findings(assay_run *run, const assay_window *w, const assay_order *order,
		    assay_worth *worth, struct assay_hole_search *holes)
{
	assay_finding_search *s = assay_findings_start(run, w, order, worth, holes);
	assay_findings_first(s);
	assay_findings_end(s, run);
}

static assay_window test_window(assay_run *run)
{
	assay_tables *t = &run->part.t;
	uint32_t gpu = assay_add(t, ASSAY_T_gpu), gap = assay_add(t, ASSAY_T_gap);
	t->gpu.name[gpu] = assay_sid_of(run, "gemm");
	t->gap.gpu[gap] = gpu;
	t->gap.dur[gap] = 2000000;
	assay_window w = {.to = 10000000, .compute = 6000000, .idle = 4000000};
	for (int c = 0; c < ASSAY_WHY_COUNT; c++)
		w.longest[c] = gap;
	return w;
}

static bool is_id(const assay_run *run, uint32_t row, const char *id)
{
	return !strcmp(assay_z(run, run->part.t.finding.id[row]), id);
}

TEST(the_largest_wait_comes_first_with_its_size_and_advice)
{
	assay_run *run = assay_run_new();
	assay_window w = test_window(run);
	w.cause[ASSAY_WHY_HOST_OP] = 1000000, w.gaps[ASSAY_WHY_HOST_OP] = 9;
	w.cause[ASSAY_WHY_HOST_DATA] = 2950000, w.gaps[ASSAY_WHY_HOST_DATA] = 2;
	w.cause[ASSAY_WHY_QUEUED] = 50000, w.gaps[ASSAY_WHY_QUEUED] = 50; /* below 1% */
	w.steps = 2; /* too few to speak of every step */
	assay_findings(run, &w, NULL, NULL, NULL);
	const assay_finding_table *f = &run->part.t.finding;
	CHECK_EQ(f->n, 2);
	CHECK(is_id(run, 0, "host_data") && is_id(run, 1, "host_op"));
	CHECK(!strcmp(assay_z(run, f->text[0]),
		      "the GPU waits 2.95 ms of the 10.0 ms recording for the data loader"));
	CHECK(f->cost[0] == 2950000 && f->now[0] == 10000000 && f->after[0] == 7050000);
	CHECK(!f->steady[0] && !f->replayed[0] && f->confidence[0] == 0.9);
	const assay_verdict_table *v = &run->part.t.verdict;
	CHECK(v->n == 2 && v->share[0] == 0.295 && v->id[0] == f->id[0]);
	assay_run_free(run);
	return 0;
}

TEST(what_cannot_be_explained_asks_for_a_better_recording)
{
	assay_run *run = assay_run_new();
	assay_window w = test_window(run);
	w.cause[ASSAY_WHY_UNLINKED] = 4000000, w.gaps[ASSAY_WHY_UNLINKED] = 2;
	assay_findings(run, &w, NULL, NULL, NULL);
	CHECK_EQ(run->part.t.finding.n, 2);
	CHECK(is_id(run, 0, "record_launches") && run->part.t.finding.cost[0] == 4000000);
	CHECK(is_id(run, 1, "record_steps") && run->part.t.finding.cost[1] == -1);
	assay_run_free(run);
	run = assay_run_new();
	assay_findings(run, &(assay_window){.device = ASSAY_NO_ROW}, NULL, NULL, NULL);
	CHECK(run->part.t.finding.n == 1 && is_id(run, 0, "record_gpu"));
	assay_run_free(run);
	return 0;
}

/* Idle time in slivers below a hundredth each is spoken of all the same. */
TEST(a_device_idle_for_a_tenth_always_has_a_finding_about_it)
{
	assay_run *run = assay_run_new();
	assay_window w = test_window(run);
	w.steps = 5;
	w.idle = 0;
	for (int c = 0; c < ASSAY_WHY_COUNT; c++) {
		w.cause[c] = 90000, w.gaps[c] = 3; /* 0.9 % */
		w.idle += w.cause[c];
	}
	assay_findings(run, &w, NULL, NULL, NULL);
	CHECK(run->part.t.finding.n >= 1 && !is_id(run, 0, "nothing_large"));
	CHECK(run->part.t.finding.cost[0] > 0);
	assay_run_free(run);
	return 0;
}

static void check_order(const assay_found *found, size_t n, const char *const *ids, bool *same)
{
	assay_arena scratch = {0};
	assay_run *run = assay_run_new();
	struct assay_found_list list = {.found = {0}};
	assay_window w = {.to = 100};
	assay_find_ctx c = {.w = &w, .whole = 100, .now = 100, .list = &list, .scratch = &scratch};
	for (size_t i = 0; i < n; i++)
		assay_finding_add(&c, &found[i]);
	order_found(run, &c);
	*same = run->part.t.finding.n == n;
	for (uint32_t i = 0; *same && i < n; i++)
		*same = is_id(run, i, ids[i]);
	assay_vec_free(&list.found);
	assay_arena_free(&scratch);
	assay_run_free(run);
}

TEST(what_hardly_holds_counts_as_much_as_it_is_sure)
{
	assay_found found[] = {
		{.id = "dark", .text = "", .fix = "", .total = 50, .confidence = 0.4},
		{.id = "late", .text = "", .fix = "", .total = 22, .confidence = 0.8},
		{.id = "less", .text = "", .fix = "", .total = 21, .confidence = 0.5},
		{.id = "dim", .text = "", .fix = "", .total = 60, .confidence = 0.1}};
	static const char *const alone[] = {"dark", "late", "less", "dim"}, *const beside[] = {
										    "late", "less",
										    "dark", "dim"};
	bool same;
	check_order(found, ASSAY_COUNT_OF(found), alone, &same);
	CHECK(same);
	found[1].where.has_rank = true; /* 20 of 50 against 22 */
	check_order(found, ASSAY_COUNT_OF(found), beside, &same);
	CHECK(same);
	return 0;
}

TEST(consequences_stand_below_their_cause)
{
	assay_arena scratch = {0};
	assay_run *run = assay_run_new();
	struct assay_found_list list = {.found = {0}};
	assay_window w = {.to = 100};
	assay_find_ctx c = {.w = &w, .whole = 100, .now = 100, .list = &list, .scratch = &scratch};
	assay_finding_add(&c, &(assay_found){.id = "exposed_comm",
					     .text = "",
					     .fix = "",
					     .total = 50,
					     .confidence = 0.9,
					     .follows = "straggler"});
	assay_finding_add(
		&c,
		&(assay_found){
			.id = "host_op", .text = "", .fix = "", .total = 40, .confidence = 0.9});
	assay_finding_add(
		&c,
		&(assay_found){
			.id = "straggler", .text = "", .fix = "", .total = 45, .confidence = 0.9});
	order_found(run, &c);
	CHECK(is_id(run, 0, "straggler") && is_id(run, 1, "exposed_comm"));
	CHECK(run->part.t.finding.under[1] == 0 && is_id(run, 2, "host_op"));
	assay_vec_free(&list.found);
	assay_arena_free(&scratch);
	assay_run_free(run);
	return 0;
}

TEST(places_are_the_same_line_where_both_have_one)
{
	assay_where at = {.file = "serve.py", .line = 44}, other = {.file = "serve.py", .line = 26},
		    elsewhere = {.file = "model.py", .line = 44}, none = {.op = "cudaFree"};
	CHECK(assay_where_is_line(&at, &at) && !assay_where_is_line(&at, &other));
	CHECK(!assay_where_is_line(&at, &elsewhere));
	CHECK(!assay_where_is_line(&at, &none) && !assay_where_is_line(&none, &none));
	return 0;
}

TEST(steps_that_an_engine_marks_are_of_one)
{
	assay_run *run = assay_run_new();
	assay_sid_of(run, "aten::add");
	CHECK_EQ(framework_of(run), ASSAY_FRAMEWORK_TORCH);
	uint32_t step = assay_add(&run->part.t, ASSAY_T_step);
	run->part.t.step.name[step] = assay_sid_of(run, "execute_context_0(0)_generation_16(16)");
	CHECK_EQ(framework_of(run), ASSAY_FRAMEWORK_SERVING);
	assay_run_free(run);
	return 0;
}
