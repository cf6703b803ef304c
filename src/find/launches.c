/* A host that is never ahead: the device ends one short kernel before the next is launched. What of
 * that time lies in the calls that launch, in operators, Python and libraries between them is one
 * trouble with one cure: fewer launches, or cheaper ones. */
#include "analyze/idle_where.h"
#include "base/fmt.h"
#include "base/median.h"
#include "base/test.h"
#include "find/finding.h"
#include "model/by_hand.h"
#include "work/compute.h"

enum {
	OFTEN = 4,   /* one piece of work in so many has a gap before it */
	NODE = 1000, /* ns between two nodes of a graph */
	LEAST = 10,  /* percent of the time */
	ROUNDS = 32, /* launches of one kernel by a function that goes through tensors */
};

static const char id[] = "launch_bound";

/* Launches of the window from one place, or for one purpose. */
struct batch {
	int64_t idle, work; /* ns of waiting for them; of kernels that are over at once */
	uint64_t launches;
};

/* A function of the program that launches the same few kernels for one tensor after the other. */
struct loop {
	uint32_t code; /* ASSAY_NO_ROW: there is none */
	int32_t line;  /* that is waited for most */
	struct batch own;
	uint64_t names; /* of kernels */
};

struct launches {
	int64_t part[ASSAY_WHY_COUNT]; /* ns from one launch to the next */
	uint64_t gaps;
	struct loop loop;
	struct batch forward,
		gradients; /* gradients: on a thread that lends the line of backward() */
};

static bool is_of_launching(int cause)
{
	return cause == ASSAY_WHY_LAUNCH_CALL || cause == ASSAY_WHY_LAUNCH_LATENCY ||
	       cause == ASSAY_WHY_HOST_RUNTIME || cause == ASSAY_WHY_HOST_OP ||
	       cause == ASSAY_WHY_HOST_PYTHON || cause == ASSAY_WHY_HOST_NATIVE ||
	       cause == ASSAY_WHY_HOST_UNTRACED;
}

/* By row of code: Python of the packages that launch. */
static const bool *launching_code(const assay_run *run, assay_arena *scratch)
{
	static const char *const packages[] = {"-packages/torch/", "-packages/jax/",
					       "-packages/cupy/"};
	const assay_code_table *c = &run->part.t.code;
	bool *is = assay_alloc(scratch, c->n + 1);
	for (size_t i = 0; i < c->n; i++)
		for (size_t k = 0; k < ASSAY_COUNT_OF(packages); k++)
			is[i] |= assay_str_find(assay_text(run, c->file[i]), packages[k]) >= 0;
	return is;
}

/* By row of code: functions of the program that launch. */
static const bool *own_launching_code(const assay_tables *t, assay_arena *scratch)
{
	bool *is = assay_alloc(scratch, t->code.n + 1);
	for (size_t g = 0; g < t->launch.n; g++) {
		uint32_t own = assay_own_call(t, assay_call_stack(t, t->launch.host[g]));
		if (own != ASSAY_NO_ROW)
			is[t->stack.code[own]] = true;
	}
	return is;
}

/* The host is on the way from one launch to the next: the gap is short, or it runs Python of the
 * framework for a function that launches, as optimizers do before they launch. */
static bool on_the_way(const assay_tables *t, const bool *launching, const bool *own, size_t part,
		       int64_t is_short)
{
	uint32_t stack = t->gap_part.stack[part];
	return t->gap.dur[t->gap_part.gap[part]] < is_short ||
	       (t->gap_part.cause[part] == ASSAY_WHY_HOST_PYTHON && stack != ASSAY_NO_ROW &&
		launching[t->stack.code[stack]] && own[t->stack.code[assay_own_call(t, stack)]]);
}

/* The program's own function that is the innermost of a stack; ASSAY_NO_ROW: a library's is. */
static uint32_t own_code(const assay_tables *t, uint32_t stack)
{
	bool own = stack != ASSAY_NO_ROW && t->stack.own[stack] == stack;
	return own ? t->stack.code[stack] : ASSAY_NO_ROW;
}

/* By row of code, what its own launches are waited for; the largest. */
static struct loop busiest(const assay_tables *t, const int64_t *idle)
{
	struct loop best = {.code = ASSAY_NO_ROW};
	for (uint32_t i = 0; i < t->code.n; i++)
		if (idle[i] > best.own.idle)
			best = (struct loop){.code = i, .own.idle = idle[i]};
	return best;
}

/* Is work launched for who waits in backward()? Its stack is lent. */
static bool is_gradient(const assay_tables *t, uint32_t gpu)
{
	uint32_t call = gpu < t->launch.n ? t->launch.host[gpu] : ASSAY_NO_ROW;
	return assay_call_stack(t, call) != ASSAY_NO_ROW && t->api.lent[t->host.detail[call]];
}

static void count_launch(struct batch *of, int64_t dur)
{
	of->launches++;
	of->work += dur <= ASSAY_LEAST_KERNEL ? dur : 0;
}

static void look_at_work(const assay_tables *t, const assay_window *w, struct launches *l)
{
	struct loop *loop = &l->loop;
	assay_map names = {0};
	for (uint32_t g = 0; loop->code != ASSAY_NO_ROW && g < t->gpu.n; g++) {
		uint32_t stack = assay_call_stack(t, t->launch.host[g]);
		if (t->gpu.ts[g] < w->from || t->gpu.ts[g] >= w->to || stack == ASSAY_NO_ROW)
			continue;
		count_launch(is_gradient(t, g) ? &l->gradients : &l->forward, t->gpu.dur[g]);
		if (own_code(t, stack) != loop->code)
			continue;
		count_launch(&loop->own, t->gpu.dur[g]);
		*assay_map_at(&names, t->gpu.name[g]) = 0;
	}
	loop->names = names.n;
	assay_map_free(&names);
	uint64_t steps = w->steps ? w->steps : 1;
	if (loop->own.launches < ROUNDS * steps * loop->names)
		loop->code = ASSAY_NO_ROW;
}

/* Gaps that a blocking call opened are that call's. */
static bool is_launching_part(const assay_tables *t, const assay_window *w, size_t part)
{
	uint32_t gap = t->gap_part.gap[part];
	return assay_gap_in_window(&t->gap, w, gap) && t->gap.opened[gap] == ASSAY_NO_ROW &&
	       is_of_launching(t->gap_part.cause[part]);
}

/* Gaps of launching are shorter. A host that is slow with every launch, under a profiler that
 * records much for example, has longer ones: they are short beside the usual one. */
static int64_t short_gap(const assay_tables *t, const assay_window *w)
{
	enum { LONGEST = 300 * 1000 };
	assay_vec(int64_t) dur = {0};
	for (size_t i = 0; i < t->gap_part.n; i++) {
		uint32_t gap = t->gap_part.gap[i];
		if (is_launching_part(t, w, i) && (!i || t->gap_part.gap[i - 1] != gap))
			*assay_push(&dur) = t->gap.dur[gap];
	}
	int64_t limit = dur.n ? assay_median_upper(dur.p, dur.n) / 2 * 5 : 0;
	assay_vec_free(&dur);
	limit = limit < LONGEST ? limit : LONGEST;
	return limit > ASSAY_SHORT_GAP ? limit : ASSAY_SHORT_GAP;
}

/* The line of the loop's function that most of its waiting is at. */
static int32_t busiest_line(const assay_tables *t, const assay_window *w, uint32_t code)
{
	assay_map of_line = {0};
	assay_vec(int64_t) sum = {0};
	int64_t most = 0;
	int32_t best = 0;
	for (size_t i = 0; code != ASSAY_NO_ROW && i < t->gap_part.n; i++) {
		uint32_t stack = t->gap_part.stack[i];
		if (!is_launching_part(t, w, i) || own_code(t, stack) != code)
			continue;
		uint32_t *slot = assay_map_at(&of_line, (uint64_t)t->stack.line[stack]);
		if (*slot == ASSAY_MAP_ABSENT) {
			*slot = (uint32_t)sum.n;
			*assay_push(&sum) = 0;
		}
		sum.p[*slot] += t->gap_part.dur[i];
		if (sum.p[*slot] > most) {
			most = sum.p[*slot];
			best = t->stack.line[stack];
		}
	}
	assay_map_free(&of_line);
	assay_vec_free(&sum);
	return best;
}

static struct launches measure(const assay_run *run, const assay_window *w)
{
	const assay_tables *t = &run->part.t;
	assay_arena scratch = {0};
	const bool *launching = launching_code(run, &scratch);
	const bool *own = own_launching_code(t, &scratch);
	int64_t *of_code = assay_alloc(&scratch, (t->code.n + 1) * sizeof *of_code);
	struct launches l = {.gaps = 0};
	uint32_t last = ASSAY_NO_ROW;
	int64_t is_short = short_gap(t, w);
	for (size_t i = 0; i < t->gap_part.n; i++) {
		uint32_t gap = t->gap_part.gap[i];
		int cause = t->gap_part.cause[i];
		if (!is_launching_part(t, w, i) || !on_the_way(t, launching, own, i, is_short))
			continue;
		l.part[cause] += t->gap_part.dur[i];
		l.gaps += gap != last;
		last = gap;
		uint32_t code = own_code(t, t->gap_part.stack[i]);
		if (code != ASSAY_NO_ROW)
			of_code[code] += t->gap_part.dur[i];
		if (is_gradient(t, t->gap.gpu[gap]))
			l.gradients.idle += t->gap_part.dur[i];
	}
	l.loop = busiest(t, of_code);
	look_at_work(t, w, &l);
	l.loop.line = busiest_line(t, w, l.loop.code);
	assay_arena_free(&scratch);
	return l;
}

/* The cause that a finding is of, when most of it is launching; ASSAY_WHY_COUNT otherwise. */
static int cause_of(const assay_find_ctx *c, const struct launches *l, const assay_found *f)
{
	for (int k = 0; k < ASSAY_WHY_COUNT; k++)
		if (is_of_launching(k) && !f->follows && !strcmp(f->id, assay_why_name[k]))
			return l->part[k] * 2 > c->w->cause[k] ? k : ASSAY_WHY_COUNT;
	return ASSAY_WHY_COUNT;
}

static void add_facts(const assay_find_ctx *c, const struct launches *l, assay_found *f)
{
	assay_per_step each = assay_per_step_of(c, false);
	uint64_t kernels = c->w->events[ASSAY_CLASS_COMPUTE], steps = (uint64_t)each.steps;
	char count[ASSAY_FMT], mean[ASSAY_FMT], wait[ASSAY_FMT];
	f->fact[0] =
		assay_printf(c->scratch, "%s kernels%s of %s in the mean",
			     assay_fmt_count(count, kernels / steps), each.words,
			     assay_fmt_time(mean, kernels ? c->w->compute / (int64_t)kernels : 0));
	f->fact[1] = assay_printf(c->scratch, "before %s of them the GPU waits, %s in the mean",
				  assay_fmt_count(count, l->gaps / steps),
				  assay_fmt_time(wait, f->total / (int64_t)l->gaps));
}

static const char loop_fix[] =
	"one call for all tensors of the loop (torch._foreach_*, a fused or compiled update); graphs or torch.compile for the rest of the step";

/* Gradients of what a loop computes are launched one by one as well, as often as the loop launches
 * at least. Whose they are is not recorded: the loop has as much of them as of the other launches.
 */
static int64_t gradients_of_loop(const struct launches *l)
{
	if (l->gradients.launches < l->loop.own.launches || !l->forward.launches)
		return 0;
	return (int64_t)((double)(l->gradients.idle + l->gradients.work) *
			 (double)l->loop.own.launches / (double)l->forward.launches);
}

/* A loop over tensors has a cure of its own, which is less than that for all launches. */
static void tell_loop(const assay_run *run, const assay_find_ctx *c, const struct launches *l,
		      assay_found *f)
{
	const assay_tables *t = &run->part.t;
	const struct loop *loop = &l->loop;
	char time[ASSAY_FMT], count[ASSAY_FMT], behind[ASSAY_FMT];
	assay_per_step each = assay_per_step_of(c, false);
	int64_t gradients = gradients_of_loop(l),
		saved = loop->own.idle + loop->own.work + gradients;
	if (loop->code == ASSAY_NO_ROW || saved * 10 < f->saved)
		return;
	f->least = 0;
	f->most = f->saved > saved ? f->saved : saved;
	f->saved = saved;
	f->fix = loop_fix;
	f->where.file = assay_z(run, t->code.file[loop->code]);
	f->where.function = assay_z(run, t->code.function[loop->code]);
	f->where.line = loop->line;
	f->fact[2] = assay_printf(
		c->scratch, "%s of it in the loop of %s: %s launches%s of %llu kernels",
		assay_fmt_time(time, loop->own.idle / each.steps), f->where.function,
		assay_fmt_count(count, loop->own.launches / (uint64_t)each.steps), each.words,
		(unsigned long long)loop->names);
	if (gradients)
		f->fact[3] = assay_printf(c->scratch, "and %s in the launches of its gradients",
					  assay_fmt_time(behind, gradients / each.steps));
}

/* Without stacks a loop is where the same few operators come again and again. */
static void tell_rounds(const assay_run *run, const assay_find_ctx *c, assay_found *f)
{
	assay_gone_operators told;
	double share;
	char count[ASSAY_FMT], time[ASSAY_FMT];
	assay_per_step each = assay_per_step_of(c, false);
	uint64_t steps = (uint64_t)each.steps;
	if (run->part.t.stack.n || !c->steps || !c->worth ||
	    !assay_worth_without_operators(c->worth, ASSAY_OPERATORS_ROUNDS, &told, &share))
		return;
	int64_t saved = (int64_t)(share * (double)c->whole);
	if (saved * 10 < f->saved)
		return;
	f->least = 0;
	f->most = f->saved > saved ? f->saved : saved;
	f->saved = saved;
	f->replayed = true;
	f->fix = loop_fix;
	f->where = (assay_where){.op = assay_dup(c->scratch, assay_text(run, told.name))};
	f->fact[2] = assay_printf(
		c->scratch,
		"%s operators%s in rounds of the same few, mostly %s: one call for all saves %s%s",
		assay_fmt_count(count, (told.times + steps / 2) / steps), each.words, f->where.op,
		assay_fmt_time(time, saved / each.steps), each.words);
}

/* A blocking call in the loop is the smaller part of it where launching costs twice as much. */
static void take_sync_of_loop(const assay_find_ctx *c, assay_found *f)
{
	const char *sync = assay_why_name[ASSAY_WHY_HOST_SYNC];
	if (f->fix != loop_fix)
		return;
	for (assay_found *o = NULL; (o = assay_found_next(c, o));) {
		int64_t saved = o->saved > o->total ? o->saved : o->total;
		if (strcmp(o->id, sync) || o->follows || saved * 2 > f->saved || !o->where.file ||
		    !o->where.function || strcmp(o->where.file, f->where.file) ||
		    strcmp(o->where.function, f->where.function))
			continue;
		o->follows = id;
		f->order_by = f->saved;
	}
}

/* A host that waits for its device after every few launches cannot get ahead of it: such calls,
 * where they are worth much, are to be mended before all launches are. */
static void stand_behind_sync(const assay_find_ctx *c, assay_found *f)
{
	for (assay_found *o = NULL; (o = assay_found_next(c, o));) {
		int64_t saved = o->saved > o->total ? o->saved : o->total;
		if (o->dense && !o->follows &&
		    (double)saved >= assay_sync_holds_back * (double)c->whole &&
		    saved <= f->order_by)
			f->order_by = saved - 1;
	}
}

/* Where TorchDynamo leaves compiled code it goes on in a function of this name, at that line. */
static const char resume[] = "torch_dynamo_resume_in_";

/* By row of stack: the innermost break it comes behind, a row of code; NULL: there is none. */
static const uint32_t *breaks_of_stacks(const assay_run *run, assay_arena *scratch)
{
	const assay_tables *t = &run->part.t;
	bool *is = assay_alloc(scratch, t->code.n + 1), any = false;
	for (uint32_t i = 0; i < t->code.n; i++) {
		is[i] = assay_str_find(assay_text(run, t->code.function[i]), resume) >= 0;
		any |= is[i];
	}
	if (!any)
		return NULL;
	uint32_t *of = assay_alloc(scratch, (t->stack.n + 1) * sizeof *of);
	for (uint32_t s = 0; s < t->stack.n; s++) { /* callers come before */
		uint32_t caller = t->stack.caller[s];
		of[s] = is[t->stack.code[s]] ? t->stack.code[s]
			: caller < s         ? of[caller]
					     : ASSAY_NO_ROW;
	}
	return of;
}

/* The break that most launches of the window come behind, and how many do. */
static uint32_t busiest_break(const assay_run *run, const assay_window *w, uint64_t *launches)
{
	const assay_tables *t = &run->part.t;
	assay_arena scratch = {0};
	const uint32_t *of_stack = breaks_of_stacks(run, &scratch);
	uint64_t *n = assay_alloc(&scratch, (t->code.n + 1) * sizeof *n);
	uint32_t best = ASSAY_NO_ROW;
	for (uint32_t g = 0; of_stack && g < t->launch.n; g++) {
		uint32_t s = assay_call_stack(t, t->launch.host[g]);
		uint32_t code = s == ASSAY_NO_ROW ? ASSAY_NO_ROW : of_stack[s];
		if (code == ASSAY_NO_ROW || t->gpu.ts[g] < w->from || t->gpu.ts[g] >= w->to)
			continue;
		n[code]++;
		best = best == ASSAY_NO_ROW || n[code] > n[best] ? code : best;
	}
	*launches = best == ASSAY_NO_ROW ? 0 : n[best];
	assay_arena_free(&scratch);
	return best;
}

/* Compiled code that is left again and again launches in small pieces. */
static void tell_break(const assay_run *run, const assay_find_ctx *c, assay_found *f)
{
	enum { PART = 10 }; /* of the launches */
	const assay_code_table *t = &run->part.t.code;
	assay_per_step each = assay_per_step_of(c, false);
	uint64_t launches, steps = (uint64_t)each.steps;
	uint32_t code = busiest_break(run, c->w, &launches);
	char count[ASSAY_FMT];
	if (launches * PART < c->w->events[ASSAY_CLASS_COMPUTE] || launches < steps)
		return;
	f->where.file = assay_z(run, t->file[code]);
	f->where.function = assay_z(run, t->function[code]);
	f->where.line = t->line[code];
	f->fix =
		"no graph break there: keep values on the device (torch.where instead of if and .item()), TORCH_LOGS=graph_breaks names the reason";
	f->fact[2] = assay_printf(
		c->scratch,
		"compiled code is left at that line (graph break): %s launches%s come behind it",
		assay_fmt_count(count, launches / steps), each.words);
}

static void tell(const assay_run *run, const assay_find_ctx *c, const struct launches *l,
		 const assay_found *largest, int64_t total)
{
	int64_t saved = total - (int64_t)l->gaps * NODE;
	assay_found f = {.id = id,
			 .cause = largest->cause,
			 .where = largest->where,
			 .fix = assay_why_advice(ASSAY_WHY_HOST_OP, c->framework, c->vendor),
			 .total = total,
			 .saved = saved > 1 ? saved : 1,
			 .least = ASSAY_WORTH_UNKNOWN,   /* all of it as one graph, or less */
			 .order_by = largest->total / 2, /* its cure changes the whole program */
			 .confidence = largest->confidence};
	f.text = assay_printf(
		c->scratch, "the GPU waits %s for a host that launches one short kernel at a time",
		assay_share_words(c, total));
	add_facts(c, l, &f);
	tell_loop(run, c, l, &f);
	tell_rounds(run, c, &f);
	take_sync_of_loop(c, &f);
	tell_break(run, c, &f);
	stand_behind_sync(c, &f);
	assay_finding_add(c, &f);
}

/* A device that is busy all the time pays for short kernels, too: each takes a microsecond or more,
 * and one more to the next, where one call for all tensors would need next to nothing. */
static void find_short_rounds(const assay_run *run, const assay_find_ctx *c)
{
	const double much = 0.05;
	assay_gone_operators told;
	assay_per_step each = assay_per_step_of(c, false);
	char count[ASSAY_FMT];
	double share;
	if (run->part.t.stack.n || !c->steps || !c->worth ||
	    assay_found_with_id(c, "optimizer_unfused") ||
	    !assay_worth_without_operators(c->worth, ASSAY_OPERATORS_ROUNDS, &told, &share) ||
	    share < much || assay_str_find(assay_text(run, told.name), "reducer::") >= 0)
		return; /* DDP's copies out of its buckets are bucket_copies */
	assay_found f = {.id = id,
			 .fix = loop_fix,
			 .total = (int64_t)(share * (double)c->whole),
			 .replayed = true,
			 .confidence = 0.7};
	f.saved = f.total;
	f.where.op = assay_dup(c->scratch, assay_text(run, told.name));
	f.text = assay_printf(c->scratch, "a loop of short kernels, one after the other, takes %s",
			      assay_share_words(c, f.total));
	f.fact[0] = assay_printf(c->scratch, "%s operators%s in rounds of the same few, mostly %s",
				 assay_fmt_count(count, told.times / (uint64_t)each.steps),
				 each.words, f.where.op);
	assay_finding_add(c, &f);
}

static void find_launches(const assay_run *run, const assay_find_ctx *c)
{
	if (c->w->device == ASSAY_NO_ROW || c->whole <= 0)
		return;
	struct launches l = measure(run, c->w);
	assay_found largest = {.total = 0};
	int64_t total = 0;
	size_t n = 0;
	for (assay_found *f = NULL; (f = assay_found_next(c, f));) {
		int cause = cause_of(c, &l, f);
		if (cause == ASSAY_WHY_COUNT)
			continue;
		total += f->total;
		largest = f->total > largest.total ? *f : largest;
		n++;
	}
	if (n < 2 || l.gaps * OFTEN < c->w->events[ASSAY_CLASS_COMPUTE] ||
	    total < c->whole / 100 * LEAST) {
		find_short_rounds(run, c);
		return;
	}
	for (assay_found *f = NULL; (f = assay_found_next(c, f));)
		if (cause_of(c, &l, f) != ASSAY_WHY_COUNT)
			f->follows = id;
	tell(run, c, &l, &largest, total);
}

const assay_finder assay_find_launches = {.id = "launches", .find = find_launches};

TEST(short_gaps_that_no_blocking_call_opened_are_of_launching)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	assay_window w = {.device = 0, .from = 0, .to = 10 * ASSAY_SHORT_GAP};
	assay_hand_gap(run, ASSAY_WHY_HOST_PYTHON, 1000, 20000);
	/* the host did something else */
	assay_hand_gap(run, ASSAY_WHY_HOST_PYTHON, 2 * ASSAY_SHORT_GAP, ASSAY_SHORT_GAP);
	uint32_t blocked = assay_hand_gap(run, ASSAY_WHY_HOST_PYTHON, 4 * ASSAY_SHORT_GAP, 30000);
	t->gap.opened[blocked] = 7;
	assay_hand_gap(run, ASSAY_WHY_HOST_PYTHON, 5 * ASSAY_SHORT_GAP, 40000);
	struct launches l = measure(run, &w);
	CHECK_EQ(l.gaps, 2);
	CHECK_EQ(l.part[ASSAY_WHY_HOST_PYTHON], 60000);
	/* an optimizer that gets ready is on its way to a launch, however long that takes */
	uint32_t stack =
		assay_hand_stack(run, ASSAY_NO_ROW, "/v/site-packages/torch/optim/adam.py", NULL);
	t->gap_part.stack[1] = stack;
	CHECK_EQ(measure(run, &w).part[ASSAY_WHY_HOST_PYTHON], 60000); /* nothing is launched */
	uint32_t call = assay_hand_call(run, stack, "cudaLaunchKernel", 0, 1000);
	assay_hand_gpu(run, "adam", 1000, 1000, call);
	CHECK_EQ(measure(run, &w).part[ASSAY_WHY_HOST_PYTHON], 60000 + ASSAY_SHORT_GAP);
	assay_find_ctx c = {.w = &w};
	assay_found python = {.id = "host_python"}, data = {.id = "host_data"};
	w.cause[ASSAY_WHY_HOST_PYTHON] = 110000;
	CHECK_EQ(cause_of(&c, &l, &python), ASSAY_WHY_HOST_PYTHON);
	CHECK_EQ(cause_of(&c, &l, &data), ASSAY_WHY_COUNT);
	w.cause[ASSAY_WHY_HOST_PYTHON] = 130000; /* most of it in long gaps */
	CHECK_EQ(cause_of(&c, &l, &python), ASSAY_WHY_COUNT);
	assay_run_free(run);
	return 0;
}

/* A stack whose innermost function is the program's own, or a library's. */
static uint32_t hand_stack(assay_run *run, const char *function, bool own)
{
	uint32_t stack =
		assay_hand_stack(run, ASSAY_NO_ROW, own ? "train.py" : "/v/lib.py", function);
	run->part.t.stack.own[stack] = own ? stack : ASSAY_NO_ROW;
	return stack;
}

/* The device waits 9 us, then runs a kernel of 1 us that was launched from there. */
static void hand_launch(assay_run *run, int64_t ts, const char *kernel, uint32_t stack)
{
	assay_tables *t = &run->part.t;
	uint32_t call = assay_hand_call(run, stack, "cudaLaunchKernel", ts, 5000);
	uint32_t gap = assay_hand_gap(run, ASSAY_WHY_HOST_PYTHON, ts, 9000);
	t->gap.gpu[gap] = assay_hand_gpu(run, kernel, ts + 9000, 1000, call);
	t->gap_part.stack[gap] = stack;
}

TEST(gaps_of_a_host_that_is_slow_with_every_launch_are_short_beside_the_usual_one)
{
	assay_run *run = assay_run_new();
	assay_window w = {.device = 0, .to = INT64_MAX};
	for (int i = 0; i < 9; i++)
		assay_hand_gap(run, ASSAY_WHY_HOST_OP, 1000000 * i, i < 5 ? 30000 : 180000);
	CHECK_EQ(measure(run, &w).gaps, 5);
	for (int i = 0; i < 9; i++)
		assay_hand_gap(run, ASSAY_WHY_HOST_OP, 10000000 + 1000000 * i, 90000);
	CHECK_EQ(measure(run, &w).gaps, 18);
	assay_run_free(run);
	return 0;
}

TEST(a_loop_over_tensors_is_worth_its_waits_and_short_kernels)
{
	enum { TENSORS = 40, OTHERS = 10 };
	assay_arena scratch = {0};
	assay_run *run = assay_run_new();
	uint32_t loop = hand_stack(run, "average", true), other = hand_stack(run, "linear", false);
	assay_window w = {.device = 0, .to = 10000 * (TENSORS + OTHERS), .steps = 1};
	assay_find_ctx c = {.w = &w, .scratch = &scratch};
	for (int i = 0; i < TENSORS + OTHERS; i++)
		hand_launch(run, 10000 * i, i < TENSORS ? "lerp" : "gemm",
			    i < TENSORS ? loop : other);
	struct launches l = measure(run, &w);
	CHECK_EQ(l.gaps, TENSORS + OTHERS);
	CHECK(l.loop.own.launches == TENSORS && l.loop.names == 1);
	assay_found f = {.saved = 9000 * (TENSORS + OTHERS)};
	tell_loop(run, &c, &l, &f);
	CHECK_EQ(f.saved, 10000 * TENSORS); /* one call for all of them has none of it */
	CHECK_EQ(f.most, 9000 * (TENSORS + OTHERS));
	CHECK(!strcmp(f.where.function, "average") && f.fix == loop_fix);
	f = (assay_found){.saved = 9000 * 20 *
				   (TENSORS + OTHERS)}; /* a small part of all launches */
	tell_loop(run, &c, &l, &f);
	CHECK(!f.where.function && f.saved == 9000 * 20 * (TENSORS + OTHERS));
	assay_arena_free(&scratch);
	assay_run_free(run);
	return 0;
}

TEST(gradients_of_a_loop_go_with_it_by_its_part_of_the_launches)
{
	enum { TENSORS = 40, GRADIENTS = 90 };
	assay_arena scratch = {0};
	assay_run *run = assay_run_new();
	uint32_t loop = hand_stack(run, "experts", true), other = hand_stack(run, "linear", false),
		 backward = hand_stack(run, "_engine_run_backward", false);
	assay_window w = {.device = 0, .to = 10000 * 200, .steps = 1};
	assay_find_ctx c = {.w = &w, .scratch = &scratch};
	for (int i = 0; i < 2 * TENSORS; i++)
		hand_launch(run, 10000 * i, i % 2 ? "gemm" : "index", i % 2 ? other : loop);
	struct launches l = measure(run, &w);
	CHECK_EQ(gradients_of_loop(&l), 0);
	for (int i = 0; i < GRADIENTS; i++) {
		hand_launch(run, 10000 * (2 * TENSORS + i), "add", backward);
		run->part.t.api.lent[run->part.t.api.n - 1] = 1;
		if (i + 1 == TENSORS - 1) { /* too few to be of the loop */
			l = measure(run, &w);
			CHECK_EQ(gradients_of_loop(&l), 0);
		}
	}
	l = measure(run, &w);
	CHECK_EQ(gradients_of_loop(&l), 10000 * GRADIENTS / 2);
	assay_found f = {.saved = 9000 * 2 * TENSORS};
	tell_loop(run, &c, &l, &f);
	CHECK_EQ(f.saved, 10000 * TENSORS + 10000 * GRADIENTS / 2);
	CHECK(f.most == f.saved && f.fact[3]);
	assay_arena_free(&scratch);
	assay_run_free(run);
	return 0;
}

TEST(a_graph_break_is_where_most_launches_come_behind)
{
	assay_arena scratch = {0};
	assay_run *run = assay_run_new();
	uint32_t whole = hand_stack(run, "forward", true);
	uint32_t resumed = hand_stack(run, "Block.torch_dynamo_resume_in_forward_at_8", true);
	run->part.t.code.line[run->part.t.stack.code[resumed]] = 8;
	assay_window w = {.device = 0, .to = 10000 * 20, .steps = 1};
	w.events[ASSAY_CLASS_COMPUTE] = 20;
	assay_find_ctx c = {.w = &w, .scratch = &scratch};
	assay_found f = {.fix = ""};
	for (int i = 0; i < 19; i++)
		hand_launch(run, 10000 * i, "triton", whole);
	hand_launch(run, 10000 * 19, "triton", resumed);
	tell_break(run, &c, &f);
	CHECK(!f.where.file); /* one of twenty */
	for (int i = 0; i < 5; i++)
		hand_launch(run, 10000 * i, "triton", resumed);
	tell_break(run, &c, &f);
	CHECK(f.where.file && f.where.line == 8 && !strcmp(f.where.file, "train.py"));
	assay_arena_free(&scratch);
	assay_run_free(run);
	return 0;
}

TEST(a_blocking_call_in_a_loop_stands_below_launching_that_costs_twice_as_much)
{
	static const struct {
		const char *function;
		int64_t saved;
		bool below;
	} cases[] = {{"experts", 40, true}, {"experts", 60, false}, {"log", 40, false}};
	for (size_t i = 0; i < ASSAY_COUNT_OF(cases); i++) {
		struct assay_found_list list = {.found = {0}};
		assay_find_ctx c = {.list = &list};
		assay_found f = {.saved = 100,
				 .fix = loop_fix,
				 .where = {.file = "train.py", .function = "experts"}};
		assay_found sync = {.id = "host_sync", .saved = cases[i].saved, .where = f.where};
		sync.where.function = cases[i].function;
		assay_finding_add(&c, &sync);
		take_sync_of_loop(&c, &f);
		CHECK((list.found.p[0].follows != NULL) == cases[i].below);
		CHECK_EQ(f.order_by, cases[i].below ? 100 : 0);
		assay_vec_free(&list.found);
	}
	return 0;
}
