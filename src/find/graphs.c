/* Graphs that are made anew in the steps: capturing and instantiating one costs many launches of
 * it, and pays only where it is launched again and again. */
#include <stdlib.h>

#include "analyze/idle_lines.h"
#include "analyze/idle_where.h"
#include "base/compare.h"
#include "base/fmt.h"
#include "base/sort.h"
#include "base/test.h"
#include "find/cause_place.h"
#include "find/finding.h"
#include "model/by_hand.h"
#include "model/by_name.h"
#include "names/calls.h"

/* A call that begins to capture, or that makes a graph of what was captured. */
struct call {
	uint32_t track, host;
	int64_t from, to;
	bool makes;
};

/* One graph: from the begin of its capture until it can be launched. */
struct made {
	int64_t from, to;
	uint32_t host; /* call that began the capture, or that made it */
};

struct graphs {
	const assay_run *run;
	const assay_find_ctx *c;
	assay_vec(struct call) call;
	assay_vec(struct made) made;
	bool *there; /* by row of stack: is it done to make graphs? */
	bool placed; /* there says so */
	int64_t idle_there;
};

/* Begins a capture or makes a graph: one that is updated costs less. */
static unsigned does_of_call(assay_str name)
{
	assay_call_does does = assay_call_meaning_of(name.p, name.n).does;
	bool makes = does == ASSAY_DOES_MAKE_GRAPH && assay_str_find(name, "Instantiate") >= 0;
	return makes || does == ASSAY_DOES_CAPTURE_BEGIN ? does : ASSAY_DOES_OTHER;
}

static void find_calls(struct graphs *x)
{
	const assay_tables *t = &x->run->part.t;
	const assay_window *w = x->c->w;
	uint32_t group = assay_group_of(t, t->device_time.source[w->device]);
	assay_by_name does = assay_by_name_open(x->run, x->c->scratch, does_of_call);
	for (uint32_t h = 0; h < t->host.n; h++) {
		if (!assay_is_call(t->host.kind[h]) || t->host.ts[h] < w->from ||
		    t->host.ts[h] >= w->to || assay_track_group(t, t->host.track[h]) != group)
			continue;
		unsigned what = assay_by_name_ask(&does, t->host.name[h]);
		if (what != ASSAY_DOES_OTHER)
			*assay_push(&x->call) = (struct call){t->host.track[h], h, t->host.ts[h],
							      assay_host_end(&t->host, h),
							      what == ASSAY_DOES_MAKE_GRAPH};
	}
}

static int by_thread(const void *a, const void *b)
{
	const struct call *x = a, *y = b;
	return assay_then(ASSAY_CMP(x->track, y->track), ASSAY_CMP(x->from, y->from));
}

static int by_time(const void *a, const void *b)
{
	return ASSAY_CMP(((const struct made *)a)->from, ((const struct made *)b)->from);
}

/* A thread makes what it captured before. */
static void join_calls(struct graphs *x)
{
	const struct call *began = NULL;
	if (x->call.n)
		qsort(x->call.p, x->call.n, sizeof *x->call.p, by_thread);
	for (size_t i = 0; i < x->call.n; i++) {
		const struct call *c = &x->call.p[i];
		if (c->makes) {
			const struct call *first = began && began->track == c->track ? began : c;
			*assay_push(&x->made) = (struct made){first->from, c->to, first->host};
		}
		began = c->makes ? NULL : c;
	}
	if (x->made.n)
		qsort(x->made.p, x->made.n, sizeof *x->made.p, by_time);
	for (size_t i = 1; i < x->made.n; i++) /* threads may do so at the same time */
		if (x->made.p[i].from < x->made.p[i - 1].to) {
			x->made.p[i].from = x->made.p[i - 1].to;
			x->made.p[i].to = x->made.p[i].to > x->made.p[i].from ? x->made.p[i].to
									      : x->made.p[i].from;
		}
}

/* In half of the steps and more, and not in the first ones alone. */
static bool go_on(const struct graphs *x)
{
	const assay_window *w = x->c->w;
	int64_t middle = w->from + (w->to - w->from) / 2;
	uint64_t late = 0;
	for (size_t i = 0; i < x->made.n; i++)
		late += x->made.p[i].from > middle;
	return x->made.n * 2 >= x->c->steps && late * 4 >= x->c->steps;
}

/* ------------------------------------------------------------------ where */

/* Own call that makes most of them; ASSAY_NO_ROW: no stacks. */
static uint32_t usual_place(const struct graphs *x, const char **op)
{
	const assay_tables *t = &x->run->part.t;
	assay_idle_tally tally = {0};
	for (size_t i = 0; i < x->made.n; i++) {
		uint32_t own = assay_own_call(t, assay_call_stack(t, x->made.p[i].host));
		assay_idle_name one = {t->host.name[x->made.p[i].host], x->made.p[i].host,
				       x->made.p[i].to - x->made.p[i].from};
		assay_idle_tally_add(&tally, assay_line_key(t, own), one);
	}
	assay_idle_name most = assay_idle_tally_end(&tally);
	*op = assay_z(x->run, most.name);
	return assay_own_call(t, assay_call_stack(t, most.row));
}

static int64_t making_time(const struct graphs *x)
{
	int64_t sum = 0;
	for (size_t i = 0; i < x->made.n; i++)
		sum += x->made.p[i].to - x->made.p[i].from;
	return sum;
}

/* The line that calls the function that captures, with all that this calls: the old graph goes
 * there, too. Where much of the work is launched below it, or most of what it waits for is
 * something else, as compiling is, the capture alone. */
static void find_place(struct graphs *x, uint32_t own)
{
	const assay_tables *t = &x->run->part.t;
	assay_place_time place;
	uint32_t up = t->stack.caller[own] == ASSAY_NO_ROW
			      ? ASSAY_NO_ROW
			      : assay_own_call(t, t->stack.caller[own]);
	x->there = assay_alloc(x->c->scratch, t->stack.n + 1);
	x->placed = up != ASSAY_NO_ROW && assay_place_call_time_of(x->run, x->c->w, up, &place) &&
		    making_time(x) * 2 >= place.idle;
	if (!x->placed)
		return;
	assay_place_stacks(t, up, &place, x->there);
	x->idle_there = place.idle;
}

/* ------------------------------------------------------------------ what it costs */

static int64_t within(const struct graphs *x, int64_t from, int64_t to)
{
	int64_t sum = 0;
	size_t before = assay_count_until(&x->made.p->from, sizeof *x->made.p, x->made.n, from);
	for (size_t i = before ? before - 1 : 0; i < x->made.n && x->made.p[i].from < to; i++) {
		int64_t a = x->made.p[i].from > from ? x->made.p[i].from : from;
		int64_t b = x->made.p[i].to < to ? x->made.p[i].to : to;
		sum += b > a ? b - a : 0;
	}
	return sum;
}

/* ns in which the device waits while graphs are made, or for what is done at the place. */
static int64_t idle_time(const struct graphs *x)
{
	const assay_tables *t = &x->run->part.t;
	int64_t making = 0;
	for (uint32_t i = 0; i < t->gap.n; i++)
		if (assay_gap_in_window(&t->gap, x->c->w, i))
			making += within(x, t->gap.ts[i], t->gap.ts[i] + t->gap.dur[i]);
	return x->idle_there > making ? x->idle_there : making;
}

static int64_t saved_without(const struct graphs *x, int64_t idle)
{
	double share;
	if (!x->placed || !x->c->worth || !assay_worth_without_place(x->c->worth, x->there, &share))
		return 0;
	int64_t saved = (int64_t)(share * (double)x->c->whole);
	return saved > idle ? saved : 0;
}

/* Are all calls of a function done to make graphs? */
static bool is_all_there(const struct graphs *x, const assay_where *where)
{
	const assay_tables *t = &x->run->part.t;
	bool any = false;
	for (uint32_t i = 0; x->placed && where->function && where->file && i < t->stack.n; i++) {
		uint32_t code = t->stack.code[i];
		if (strcmp(assay_z(x->run, t->code.function[code]), where->function) ||
		    strcmp(assay_z(x->run, t->code.file[code]), where->file) ||
		    (where->line && t->stack.line[i] != where->line))
			continue;
		if (!x->there[i])
			return false;
		any = true;
	}
	return any;
}

/* What is worth far more there is no consequence: a compiler that makes a graph of its code. */
static void put_under(const struct graphs *x, const assay_found *graphs)
{
	int64_t worth = 2 * (graphs->saved > graphs->total ? graphs->saved : graphs->total);
	for (assay_found *f = NULL; (f = assay_found_next(x->c, f));)
		if ((f->saved > f->total ? f->saved : f->total) <= worth &&
		    (assay_where_is_line(&f->where, &graphs->where) || is_all_there(x, &f->where)))
			f->follows = graphs->id;
}

static void tell(struct graphs *x, int64_t idle, uint32_t own, const char *op)
{
	const assay_find_ctx *c = x->c;
	char time[ASSAY_FMT];
	assay_found f = {
		.id = "graph_capture",
		.total = idle,
		.saved = saved_without(x, idle),
		.confidence = 0.85,
		.where = {.op = op},
		.fix = "capture once for each shape and launch that graph again: keep it with its input tensors, and copy_() the new input into them"};
	f.replayed = f.saved > 0;
	if (own != ASSAY_NO_ROW)
		assay_where_in_stack(x->run, own, &f.where);
	f.text = assay_printf(
		c->scratch,
		"the GPU waits %s while the host captures graphs and makes them ready, again and again",
		assay_share_words(c, idle));
	f.fact[0] = assay_printf(
		c->scratch,
		"%.3g graphs are made a step, each in %s from its first to its last call",
		(double)x->made.n / (double)c->steps,
		assay_fmt_time(time, making_time(x) / (int64_t)x->made.n));
	if (f.saved)
		f.fact[1] = assay_printf(
			c->scratch, "all that is done in the call that makes them takes %s a step",
			assay_fmt_time(time, f.saved / (int64_t)c->steps));
	put_under(x, &f);
	assay_finding_add(c, &f);
}

static void find_graphs(const assay_run *run, const assay_find_ctx *c)
{
	struct graphs x = {.run = run, .c = c};
	const char *op = NULL;
	if (c->w->device >= run->part.t.device_time.n || c->whole <= 0 || !c->steps)
		return;
	find_calls(&x);
	join_calls(&x);
	if (go_on(&x)) {
		uint32_t own = usual_place(&x, &op);
		if (own != ASSAY_NO_ROW)
			find_place(&x, own);
		int64_t idle = idle_time(&x);
		if ((double)idle >= assay_worth_saying * (double)c->whole)
			tell(&x, idle, own, op);
	}
	assay_vec_free(&x.call);
	assay_vec_free(&x.made);
}

const assay_finder assay_find_graphs = {.id = "graphs", .find = find_graphs};

/* Ten steps of 100; in those from `first` until `last` a graph is made while the device waits for
 * 40. ns that are told. */
static int64_t told_of(int first, int last, const char *makes)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	assay_arena scratch = {0};
	struct assay_found_list list = {.found = {0}};
	assay_window w = {.device = 0, .to = 1000, .steps = 10};
	assay_find_ctx c = {.w = &w,
			    .steps = 10,
			    .whole = 1000,
			    .now = 100,
			    .list = &list,
			    .scratch = &scratch};
	assay_hand_gpu(run, "kernel", 0, 1, ASSAY_NO_ROW);
	assay_add(t, ASSAY_T_device_time);
	t->device_time.source[0] = t->track.source[0];
	for (int i = 0; i < 10; i++) {
		uint32_t gap = assay_add(t, ASSAY_T_gap);
		t->gap.device[gap] = 0;
		t->gap.ts[gap] = 100 * i;
		t->gap.dur[gap] = 40;
		if (i < first || i >= last)
			continue;
		assay_hand_host(run, ASSAY_HOST_RUNTIME, "cudaStreamBeginCapture", 100 * i + 5, 1);
		assay_hand_host(run, ASSAY_HOST_RUNTIME, makes, 100 * i + 20, 30);
	}
	find_graphs(run, &c);
	int64_t told = list.found.n ? list.found.p[0].total : 0;
	assay_vec_free(&list.found);
	assay_arena_free(&scratch);
	assay_run_free(run);
	return told;
}

TEST(graphs_are_dear_where_every_step_makes_one)
{
	CHECK_EQ(told_of(0, 10, "cudaGraphInstantiateWithFlags"), 350);
	CHECK_EQ(told_of(4, 10, "hipGraphInstantiate"), 210);
	CHECK_EQ(told_of(0, 5, "cudaGraphInstantiate"), 0); /* all that there are shapes */
	CHECK_EQ(told_of(0, 10, "cudaGraphExecUpdate"), 0);
	CHECK_EQ(told_of(0, 0, "cudaGraphInstantiate"), 0);
	return 0;
}
