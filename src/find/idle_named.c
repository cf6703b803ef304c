#include "find/idle_named.h"

#include "analyze/idle_where.h"
#include "base/fmt.h"
#include "base/test.h"
#include "model/by_hand.h"

/* What a place can do without: waiting, not the program's own launches and operators. */
static bool is_avoidable(int cause)
{
	return cause == ASSAY_WHY_HOST_SYNC || cause == ASSAY_WHY_HOST_DATA ||
	       cause == ASSAY_WHY_HOST_IO || cause == ASSAY_WHY_HOST_LOCK ||
	       cause == ASSAY_WHY_HOST_CHILD || cause == ASSAY_WHY_HOST_SLEEP ||
	       cause == ASSAY_WHY_HOST_PYTHON || cause == ASSAY_WHY_HOST_NATIVE;
}

/* A place that waits for other ranks, longer than for the cause, is about them; one that waits for
 * who has no processor is not at fault. */
void assay_idle_named_look(const assay_run *run, const assay_find_ctx *c, assay_idle_named *n)
{
	bool starved =
		n->found.cause && !strcmp(n->found.cause, assay_why_name[ASSAY_WHY_HOST_CPU_WAIT]);
	n->leads = !starved && n->at != ASSAY_NO_ROW && !n->found.follows &&
		   is_avoidable(n->cause) && assay_place_time_of(run, c->w, n->at, &n->there) &&
		   n->there.comm <= n->found.total;
}

static bool same_place(const assay_tables *t, const assay_idle_named *a, const assay_idle_named *b)
{
	return t->stack.code[a->at] == t->stack.code[b->at] &&
	       (a->there.function || t->stack.line[a->at] == t->stack.line[b->at]);
}

/* What goes with a place: all of its waiting and work, or more by replay. Where it sends data to
 * the device for longer than it waits, that is what it is about, and another finding. */
static int64_t without_place(const assay_run *run, const assay_find_ctx *c, assay_idle_named *n)
{
	double share;
	int64_t whole = n->there.idle + n->there.work;
	if (n->there.sent > n->found.total)
		return 0;
	assay_arena scratch = {0};
	bool *is = assay_alloc(&scratch, run->part.t.stack.n + 1);
	assay_place_stacks(&run->part.t, n->at, &n->there, is);
	bool known = c->worth && assay_worth_without_place(c->worth, is, &share);
	assay_arena_free(&scratch);
	int64_t replayed = known ? (int64_t)(share * (double)c->whole) : 0;
	int64_t most = c->w->idle + n->there.work; /* kernels need not fit beside each other */
	replayed = replayed < most ? replayed : most;
	n->found.replayed |= replayed >= whole;
	return replayed > whole ? replayed : whole;
}

/* Blocking calls of a library's own thread have no line; what the program does there says more. */
static void prefer_places(const assay_run *run, const assay_find_ctx *c, assay_idle_named *all,
			  size_t n)
{
	const char *sync = assay_why_name[ASSAY_WHY_HOST_SYNC];
	for (size_t i = 0; i < n; i++)
		if (all[i].cause == ASSAY_WHY_HOST_SYNC && all[i].found.where.file)
			return;
	for (size_t i = 0; i < n; i++)
		if (all[i].at != ASSAY_NO_ROW && all[i].found.follows &&
		    !strcmp(all[i].found.follows, sync) && is_avoidable(all[i].cause)) {
			all[i].found.follows = NULL;
			assay_idle_named_look(run, c, &all[i]);
		}
}

/* Compiling, collecting garbage and importing are what a place waits for, not what it is there for:
 * they speak for it where they take longer, and are weighed by themselves. */
static bool is_imposed(int cause)
{
	return cause == ASSAY_WHY_HOST_COMPILE || cause == ASSAY_WHY_HOST_GC ||
	       cause == ASSAY_WHY_HOST_IMPORT;
}

/* Collections come with the objects that are made: where a place that makes them works at least
 * half as long as they take, they are its own, and go with it. */
static bool is_garbage_of(const assay_run *run, const assay_idle_named *gc,
			  const assay_idle_named *place)
{
	return gc->cause == ASSAY_WHY_HOST_GC && gc->at != ASSAY_NO_ROW && place->leads &&
	       place->cause == ASSAY_WHY_HOST_PYTHON && same_place(&run->part.t, place, gc) &&
	       place->found.total * 2 >= gc->found.total;
}

static bool speaks_for(const assay_run *run, const assay_idle_named *k, const assay_idle_named *i)
{
	const assay_tables *t = &run->part.t;
	bool same = k->leads ? same_place(t, k, i)
			     : k->at != ASSAY_NO_ROW && is_imposed(k->cause) &&
				       same_place(t, i, k) && !is_garbage_of(run, k, i);
	return i != k && same && i->found.total < k->found.total;
}

/* Waiting of one kind is rarely all that a place of the program does: who writes a file also copies
 * what it writes. The largest kind speaks for the place, and without the place all of it goes. */
static void gather_places(const assay_run *run, const assay_find_ctx *c, assay_idle_named *all,
			  size_t n)
{
	char time[ASSAY_FMT];
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < n; k++) {
			if (all[i].leads && speaks_for(run, &all[k], &all[i]))
				all[i].found.follows = all[k].found.id;
			if (is_garbage_of(run, &all[k], &all[i]))
				all[k].found.follows = all[i].found.id;
		}
	for (size_t i = 0; i < n; i++) {
		assay_found *f = &all[i].found;
		int64_t whole = all[i].leads && !f->follows ? without_place(run, c, &all[i]) : 0;
		assay_per_step each = assay_per_step_of(c, f->once);
		if (whole <= f->total || whole <= f->saved)
			continue;
		f->least = f->most = 0;
		f->saved = whole;
		assay_found_add_fact(
			f, assay_printf(c->scratch, "all that is done in that %s takes %s%s",
					all[i].there.function ? "function" : "line",
					assay_fmt_time(time, whole / each.steps), each.words));
	}
}

/* Both are parts of one gap, which is all there is of them. */
static bool share_gap(const assay_find_ctx *c, const assay_idle_named *a, const assay_idle_named *b)
{
	return a->found.once && b->found.once && a->found.has_gap && b->found.has_gap &&
	       a->found.gap == b->found.gap && c->w->gaps[a->cause] == 1 &&
	       c->w->gaps[b->cause] == 1;
}

/* The largest cause of such a gap speaks for it. */
static void gather_gap(const assay_run *run, const assay_find_ctx *c, assay_idle_named *all,
		       size_t n)
{
	char time[ASSAY_FMT];
	for (size_t i = 0; i < n; i++) {
		size_t larger = 0, smaller = 0;
		assay_found *f = &all[i].found;
		for (size_t k = 0; k < n; k++)
			if (k != i && share_gap(c, &all[i], &all[k]))
				*(all[k].found.total > f->total ? &larger : &smaller) += 1;
		if (larger || !smaller || f->follows)
			continue;
		for (size_t k = 0; k < n; k++)
			if (k != i && share_gap(c, &all[i], &all[k]))
				all[k].found.follows = f->id;
		f->saved = f->total = run->part.t.gap.dur[f->gap];
		f->text = assay_printf(c->scratch, "the GPU waits once, for %s, most of it %s",
				       assay_fmt_time(time, f->total),
				       assay_why_rows[all[i].cause].phrase);
		f->fix =
			"not every step pays it: set-up (code, graphs, command buffers), or what is different in that step";
	}
}

static bool is_found(const assay_idle_named *n, const char *cause)
{
	return !n->found.follows && !strcmp(n->found.cause, cause);
}

static int64_t worth_of(const assay_found *f)
{
	return f->saved ? f->saved : f->total;
}

/* The consequence's worth is that of the cause, too. */
static void take_worth(assay_found *f, const assay_found *of)
{
	int64_t most = f->most > 0 ? f->most : worth_of(f),
		least = f->least > 0 ? f->least : worth_of(f);
	most += of->most > 0 ? of->most : worth_of(of);
	least += of->least > 0 ? of->least : worth_of(of);
	f->saved = worth_of(f) + worth_of(of);
	f->most = most > f->saved ? most : 0;
	f->least = least < f->saved ? least : 0;
}

/* Waits that turned out to be one, whatever the host did meanwhile, go with the largest. */
static void gather_alike(const assay_find_ctx *c, assay_why cause, assay_idle_named *all, size_t n)
{
	const char *name = assay_why_name[cause];
	char time[ASSAY_FMT];
	assay_found *first = NULL;
	for (size_t i = 0; i < n; i++)
		if (is_found(&all[i], name) && (!first || all[i].found.total > first->total))
			first = &all[i].found;
	for (size_t i = 0; first && i < n; i++) {
		assay_found *f = &all[i].found;
		if (f == first || !is_found(&all[i], name))
			continue;
		assay_per_step each = assay_per_step_of(c, f->once);
		f->follows = first->id;
		take_worth(first, f);
		assay_found_add_fact(first,
				     assay_printf(c->scratch, "and %s%s %s",
						  assay_fmt_time(time, f->total / each.steps),
						  each.words, assay_why_rows[all[i].cause].phrase));
	}
	if (first && first->saved > c->w->idle)
		first->saved = c->w->idle;
}

/* What else the host does in gaps that are mostly compiling (collecting garbage, loading what was
 * made) goes with it. By cause, ns of such gaps. */
static void sum_compiling(const assay_run *run, const assay_window *w,
			  int64_t part[ASSAY_WHY_COUNT])
{
	const assay_tables *t = &run->part.t;
	memset(part, 0, ASSAY_WHY_COUNT * sizeof *part);
	for (size_t i = 0, end; i < t->gap_part.n; i = end) {
		uint32_t gap = t->gap_part.gap[i];
		int64_t compiling = 0;
		for (end = i; end < t->gap_part.n && t->gap_part.gap[end] == gap; end++)
			if (t->gap_part.cause[end] == ASSAY_WHY_HOST_COMPILE)
				compiling += t->gap_part.dur[end];
		if (compiling * 2 < t->gap.dur[gap] || !assay_gap_in_window(&t->gap, w, gap))
			continue;
		for (size_t k = i; k < end; k++)
			part[t->gap_part.cause[k]] += t->gap_part.dur[k];
	}
}

static void gather_compiling(const assay_run *run, const assay_find_ctx *c, assay_idle_named *all,
			     size_t n)
{
	int64_t part[ASSAY_WHY_COUNT], whole = 0;
	assay_idle_named *compile = NULL;
	for (size_t i = 0; i < n; i++)
		compile = all[i].cause == ASSAY_WHY_HOST_COMPILE ? &all[i] : compile;
	if (!compile || compile->found.follows)
		return;
	sum_compiling(run, c->w, part);
	for (int k = ASSAY_WHY_HOST_SYNC; k < ASSAY_WHY_COUNT; k++)
		whole += part[k];
	for (size_t i = 0; i < n; i++)
		if (&all[i] != compile && part[all[i].cause] * 2 > all[i].found.total)
			all[i].found.follows = compile->found.id;
	if (whole > compile->found.total && whole > compile->found.saved)
		compile->found.saved = whole;
}

/* Who computes on the host has to have read its input: where most of what lies behind blocking
 * calls is that work, they are a part of it. */
static void gather_computing(assay_idle_named *all, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < n; k++)
			if (all[i].drained && all[k].computes && !all[i].found.follows &&
			    !all[k].found.follows && all[k].found.total * 2 > all[i].found.total)
				all[i].found.follows = all[k].found.id;
}

void assay_idle_gather(const assay_run *run, const assay_find_ctx *c, assay_idle_named *all,
		       size_t n)
{
	prefer_places(run, c, all, n);
	gather_places(run, c, all, n);
	gather_gap(run, c, all, n);
	gather_computing(all, n);
	gather_compiling(run, c, all, n);
	gather_alike(c, ASSAY_WHY_HOST_CPU_WAIT, all, n);
	gather_alike(c, ASSAY_WHY_HOST_GIL, all, n);
}

TEST(what_is_done_in_gaps_of_compiling_goes_with_it)
{
	static const struct {
		int64_t ts;
		assay_why cause;
		int64_t dur;
	} of[] = {
		{0, ASSAY_WHY_HOST_COMPILE, 60},    {0, ASSAY_WHY_HOST_GC, 40},
		{200, ASSAY_WHY_HOST_COMPILE, 10},  {200, ASSAY_WHY_HOST_PYTHON, 90},
		{1000, ASSAY_WHY_HOST_COMPILE, 90}, {1000, ASSAY_WHY_HOST_GC, 10}, /* outside */
	};
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	for (size_t i = 0; i < ASSAY_COUNT_OF(of); i++) {
		uint32_t gap = i % 2 ? (uint32_t)i / 2 : assay_add(t, ASSAY_T_gap);
		uint32_t part = assay_add(t, ASSAY_T_gap_part);
		t->gap.device[gap] = 0;
		t->gap.ts[gap] = of[i].ts;
		t->gap.dur[gap] = 100;
		t->gap_part.gap[part] = gap;
		t->gap_part.cause[part] = (uint8_t)of[i].cause;
		t->gap_part.dur[part] = of[i].dur;
	}
	int64_t part[ASSAY_WHY_COUNT];
	sum_compiling(run, &(assay_window){.device = 0, .to = 500}, part);
	CHECK(part[ASSAY_WHY_HOST_COMPILE] == 60 && part[ASSAY_WHY_HOST_GC] == 40);
	CHECK_EQ(part[ASSAY_WHY_HOST_PYTHON], 0);
	assay_run_free(run);
	return 0;
}

TEST(compiling_speaks_for_the_line_that_waits_for_it_longest)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	assay_window w = {.to = 1000};
	assay_find_ctx c = {.w = &w, .whole = 1000};
	uint32_t here = assay_add(t, ASSAY_T_stack), there = assay_add(t, ASSAY_T_stack);
	assay_add(t, ASSAY_T_code);
	t->stack.code[here] = t->stack.code[there] = 0;
	t->stack.line[here] = 60;
	t->stack.line[there] = 70;
	for (int k = 0; k < 3; k++) {
		assay_idle_named all[] = {
			{.cause = ASSAY_WHY_HOST_PYTHON,
			 .found = {.id = "host_python", .total = 16},
			 .at = here,
			 .leads = true},
			{.cause = ASSAY_WHY_HOST_COMPILE,
			 .found = {.id = "host_compile", .total = k == 1 ? 9 : 540},
			 .at = k == 2 ? there : here}};
		gather_places(run, &c, all, 2);
		CHECK_EQ(all[0].found.follows != NULL, k == 0);
	}
	assay_run_free(run);
	return 0;
}

TEST(garbage_goes_with_the_place_that_makes_it)
{
	assay_run *run = assay_run_new();
	assay_window w = {.to = 1000};
	assay_find_ctx c = {.w = &w, .whole = 1000};
	uint32_t here = assay_hand_stack(run, ASSAY_NO_ROW, NULL, NULL);
	for (int own = 0; own < 2; own++) {
		assay_idle_named all[] = {{.cause = ASSAY_WHY_HOST_PYTHON,
					   .found = {.id = "host_python", .total = own ? 48 : 20},
					   .at = here,
					   .leads = true},
					  {.cause = ASSAY_WHY_HOST_GC,
					   .found = {.id = "host_gc", .total = 60},
					   .at = here}};
		gather_places(run, &c, all, 2);
		CHECK_EQ(all[0].found.follows != NULL, !own);
		CHECK_EQ(all[1].found.follows != NULL, own);
	}
	assay_run_free(run);
	return 0;
}

TEST(a_blocking_call_without_a_line_leads_none_that_has_one)
{
	assay_run *run = assay_run_new();
	assay_window w = {.to = 1000};
	assay_find_ctx c = {.w = &w, .whole = 1000};
	uint32_t stack = assay_hand_stack(run, ASSAY_NO_ROW, NULL, NULL);
	assay_idle_named all[] = {
		{.cause = ASSAY_WHY_HOST_SYNC, .found = {.id = "host_sync"}, .at = ASSAY_NO_ROW},
		{.cause = ASSAY_WHY_HOST_PYTHON, .found = {.follows = "host_sync"}, .at = stack},
		{.cause = ASSAY_WHY_LAUNCH_CALL, .found = {.follows = "host_sync"}, .at = stack}};
	all[0].found.where.file = "train.py";
	prefer_places(run, &c, all, 3);
	CHECK(all[1].found.follows);
	all[0].found.where.file = NULL;
	prefer_places(run, &c, all, 3);
	CHECK(!all[1].found.follows && all[1].leads && all[2].found.follows);
	assay_run_free(run);
	return 0;
}

/* A read-back of 40 in a function that then waits for another rank. */
static bool leads_beside(int64_t comm)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	assay_window w = {.device = 0, .to = 1000};
	assay_find_ctx c = {.w = &w, .whole = 1000};
	uint32_t stack = assay_add(t, ASSAY_T_stack), gap = assay_add(t, ASSAY_T_gap);
	assay_add(t, ASSAY_T_code);
	t->stack.code[stack] = 0;
	t->gap.device[gap] = 0;
	t->gap.dur[gap] = 40 + comm;
	for (int i = 0; i < 2; i++) {
		uint32_t part = assay_add(t, ASSAY_T_gap_part);
		t->gap_part.gap[part] = gap;
		t->gap_part.stack[part] = stack;
		t->gap_part.cause[part] = i ? ASSAY_WHY_HOST_COMM : ASSAY_WHY_HOST_SYNC;
		t->gap_part.dur[part] = i ? comm : 40;
	}
	assay_idle_named n = {.cause = ASSAY_WHY_HOST_SYNC, .found = {.total = 40}, .at = stack};
	assay_idle_named_look(run, &c, &n);
	assay_run_free(run);
	return n.leads;
}

TEST(no_blocking_call_speaks_for_a_place_that_waits_for_other_ranks)
{
	CHECK(leads_beside(40));
	CHECK(!leads_beside(41));
	return 0;
}

TEST(waits_for_a_processor_go_with_the_largest_of_them)
{
	assay_arena scratch = {0};
	assay_window w = {.to = 1000, .idle = 900};
	assay_find_ctx c = {.w = &w, .whole = 1000, .scratch = &scratch};
	assay_found data = {.id = "host_data", .cause = "host_cpu_wait", .total = 600},
		    mine = {.id = "host_cpu_wait", .cause = "host_cpu_wait", .total = 200};
	assay_idle_named all[] = {{.cause = ASSAY_WHY_HOST_DATA, .found = data},
				  {.cause = ASSAY_WHY_HOST_CPU_WAIT, .found = mine}};
	gather_alike(&c, ASSAY_WHY_HOST_CPU_WAIT, all, 2);
	CHECK(!all[0].found.follows && all[1].found.follows);
	CHECK_EQ(all[0].found.saved, 800);
	assay_arena_free(&scratch);
	return 0;
}

TEST(waits_that_seem_to_be_for_the_lock_stand_below_the_largest_of_them)
{
	assay_arena scratch = {0};
	assay_window w = {.to = 1000, .idle = 900};
	assay_find_ctx c = {.w = &w, .whole = 1000, .scratch = &scratch};
	assay_found op = {.id = "host_op", .cause = "host_gil", .total = 200},
		    dark = {.id = "host_untraced", .cause = "host_gil", .total = 600},
		    sync = {.id = "host_sync", .cause = "host_sync", .total = 50};
	assay_idle_named all[] = {{.cause = ASSAY_WHY_HOST_OP, .found = op},
				  {.cause = ASSAY_WHY_HOST_UNTRACED, .found = dark},
				  {.cause = ASSAY_WHY_HOST_SYNC, .found = sync}};
	gather_alike(&c, ASSAY_WHY_HOST_GIL, all, 3);
	CHECK(all[0].found.follows && !all[1].found.follows && !all[2].found.follows);
	CHECK_EQ(all[1].found.saved, 800);
	assay_arena_free(&scratch);
	return 0;
}

TEST(blocking_calls_stand_below_what_computes_on_the_host_behind_them)
{
	for (int64_t op = 50; op <= 51; op++) {
		assay_idle_named all[] = {
			{.found = {.id = "host_sync", .total = 100}, .drained = true},
			{.found = {.id = "host_op", .total = op}, .computes = true}};
		gather_computing(all, 2);
		CHECK_EQ(all[0].found.follows != NULL, op == 51);
		CHECK(!all[1].found.follows);
	}
	return 0;
}
