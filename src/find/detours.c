/* Ways through libraries whose work on the device is of no use to the program: kernels that are
 * tried, tensors that are made into text. */
#include "analyze/idle_where.h"
#include "base/fmt.h"
#include "base/test.h"
#include "find/detour.h"
#include "find/finding.h"
#include "model/by_hand.h"

static const double least = 0.05; /* of the time, on the device */

struct ways {
	const assay_run *run;
	const assay_find_ctx *c;
	const uint8_t *of;   /* by row of stack */
	const bool *forward; /* by row of op_shape: the forward pass calls it */
	uint8_t again;       /* the way of what is computed again */
	int64_t *work, (*idle)[ASSAY_WHY_COUNT];
	uint64_t *count;
	uint32_t *longest; /* row of gpu */
};

static bool goes(const struct ways *w, uint32_t stack, uint8_t *way)
{
	*way = stack == ASSAY_NO_ROW ? assay_detours : w->of[stack];
	return *way < assay_detours && assay_detour_goes(*way);
}

static const bool *forward_shapes(const assay_tables *t, assay_arena *a)
{
	const assay_op_call_table *c = &t->op_call;
	bool *is = assay_alloc(a, t->op_shape.n + 1);
	for (size_t i = 0; i < c->n; i++)
		if (c->shape[i] != ASSAY_NO_ROW &&
		    !(c->flags[i] & (ASSAY_OP_RECOMPUTED | ASSAY_OP_BACKWARD)))
			is[c->shape[i]] = true;
	return is;
}

/* Operators tell it where stacks do not: what the forward pass called, with gradients recorded
 * inside the backward pass. Gradients of gradients have other shapes or names. */
static bool computes_again(const struct ways *w, uint32_t g, uint8_t *way)
{
	const assay_tables *t = &w->run->part.t;
	uint32_t call = g < t->gpu_op.n ? t->gpu_op.call[g] : ASSAY_NO_ROW;
	*way = w->again;
	return call != ASSAY_NO_ROW && t->op_call.flags[call] & ASSAY_OP_RECOMPUTED &&
	       t->op_call.shape[call] != ASSAY_NO_ROW && w->forward[t->op_call.shape[call]];
}

static void sum_work(struct ways *w)
{
	const assay_tables *t = &w->run->part.t;
	uint8_t way;
	for (uint32_t g = 0; g < t->launch.n; g++) {
		uint32_t stack = assay_call_stack(t, t->launch.host[g]);
		if (t->gpu.ts[g] < w->c->w->from || t->gpu.ts[g] >= w->c->w->to ||
		    t->gpu.dur[g] <= 0 || !(goes(w, stack, &way) || computes_again(w, g, &way)))
			continue;
		if (!w->count[way]++ || t->gpu.dur[g] > t->gpu.dur[w->longest[way]])
			w->longest[way] = g;
		w->work[way] += t->gpu.dur[g];
	}
}

static void sum_idle(struct ways *w)
{
	const assay_gap_part_table *p = &w->run->part.t.gap_part;
	uint8_t way;
	for (size_t i = 0; i < p->n; i++)
		if (assay_gap_in_window(&w->run->part.t.gap, w->c->w, p->gap[i]) &&
		    goes(w, p->stack[i], &way))
			w->idle[way][p->cause[i]] += p->dur[i];
}

static int64_t all_idle(const struct ways *w, uint8_t way)
{
	int64_t sum = 0;
	for (int k = 0; k < ASSAY_WHY_COUNT; k++)
		sum += w->idle[way][k];
	return sum;
}

/* Waits that are mostly of the way, and launching where all waits are. */
static void put_under(const struct ways *w, uint8_t way, const char *id)
{
	for (assay_found *f = NULL; (f = assay_found_next(w->c, f));) {
		bool mine = !strcmp(f->id, "launch_bound") && all_idle(w, way) * 2 > f->total;
		for (int k = 0; k < ASSAY_WHY_COUNT; k++)
			mine |= !strcmp(f->id, assay_why_name[k]) &&
				w->idle[way][k] * 2 > w->c->w->cause[k];
		if (mine && !f->follows)
			f->follows = id;
	}
}

static const char *op_of(const assay_run *run, uint32_t g)
{
	const assay_tables *t = &run->part.t;
	uint32_t call = g < t->gpu_op.n ? t->gpu_op.call[g] : ASSAY_NO_ROW;
	return call == ASSAY_NO_ROW || t->op_call.shape[call] == ASSAY_NO_ROW
		       ? NULL
		       : assay_z(run, t->op_shape.name[t->op_call.shape[call]]);
}

static void tell(const struct ways *w, uint8_t way)
{
	const assay_tables *t = &w->run->part.t;
	const assay_find_ctx *c = w->c;
	char count[ASSAY_FMT], time[ASSAY_FMT];
	assay_per_step each = assay_per_step_of(c, false);
	int64_t total = w->work[way] + all_idle(w, way);
	assay_found f = {.id = "detour", .confidence = 0.9};
	uint32_t own = assay_own_call(t, assay_call_stack(t, t->launch.host[w->longest[way]]));
	f.total = total < c->whole ? total : c->whole;
	f.saved = f.total;
	f.fix = assay_detour_number(way).fix;
	f.text = assay_printf(c->scratch, "%s: that takes %s", assay_detour_number(way).says,
			      assay_share_words(c, f.total));
	f.where.kernel =
		assay_fmt_kernel(c->scratch, assay_text(w->run, t->gpu.name[w->longest[way]]), 120);
	if (own != ASSAY_NO_ROW)
		assay_where_in_stack(w->run, own, &f.where);
	else
		f.where.op = op_of(w->run, w->longest[way]);
	f.fact[0] = assay_printf(c->scratch, "%s kernels and copies%s from there take %s",
				 assay_fmt_count(count, w->count[way] / (uint64_t)each.steps),
				 each.words, assay_fmt_time(time, w->work[way] / each.steps));
	put_under(w, way, f.id);
	assay_finding_add(c, &f);
}

static struct ways ways_of(const assay_run *run, const assay_find_ctx *c)
{
	size_t n = assay_detours;
	struct ways w = {.run = run,
			 .c = c,
			 .of = assay_detours_of_stacks(run, ASSAY_WHY_COUNT, c->scratch),
			 .forward = forward_shapes(&run->part.t, c->scratch),
			 .again = assay_detour_by_checkpoints(),
			 .work = assay_alloc(c->scratch, n * sizeof *w.work),
			 .idle = assay_alloc(c->scratch, n * sizeof *w.idle),
			 .count = assay_alloc(c->scratch, n * sizeof *w.count),
			 .longest = assay_alloc(c->scratch, n * sizeof *w.longest)};
	sum_work(&w);
	sum_idle(&w);
	return w;
}

static void find_detours(const assay_run *run, const assay_find_ctx *c)
{
	if (c->w->device == ASSAY_NO_ROW || c->whole <= 0 ||
	    !(run->part.t.stack.n || run->part.t.op_call.n))
		return;
	struct ways w = ways_of(run, c);
	for (uint8_t way = 0; way < assay_detours; way++)
		if ((double)w.work[way] >= least * (double)c->whole)
			tell(&w, way);
}

const assay_finder assay_find_detours = {.id = "detours", .find = find_detours};

TEST(kernels_that_are_tried_go_with_the_waiting_for_them)
{
	assay_arena scratch = {0};
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	assay_window w = {.to = 1000};
	assay_find_ctx c = {.w = &w, .whole = 1000, .scratch = &scratch};
	uint32_t stack =
		assay_hand_stack(run, ASSAY_NO_ROW, "/v/triton/runtime/autotuner.py", NULL);
	uint32_t call = assay_hand_call(run, stack, "cuLaunchKernelEx", 0, 10);
	assay_hand_gpu(run, "tried", 20, 300, call);
	assay_hand_gpu(run, "needed", 400, 100, ASSAY_NO_ROW);
	uint32_t gap = assay_hand_gap(run, ASSAY_WHY_HOST_PYTHON, 0, 20);
	t->gap_part.stack[gap] = stack;
	struct ways x = ways_of(run, &c);
	uint8_t way = x.of[stack];
	CHECK(way < assay_detours && assay_detour_goes(way));
	CHECK(x.work[way] == 300 && x.count[way] == 1 && all_idle(&x, way) == 20);
	assay_arena_free(&scratch);
	assay_run_free(run);
	return 0;
}

/* A gradient of a gradient is recorded inside the backward pass too, but nothing before it had its
 * shape. */
TEST(operators_of_the_forward_pass_inside_the_backward_one_are_computed_again)
{
	assay_arena scratch = {0};
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	assay_window w = {.to = 1000};
	assay_find_ctx c = {.w = &w, .whole = 1000, .scratch = &scratch};
	static const struct {
		uint32_t shape;
		uint8_t flags;
	} calls[] = {{0, 0},
		     {0, ASSAY_OP_RECOMPUTED | ASSAY_OP_BACKWARD},
		     {1, ASSAY_OP_RECOMPUTED | ASSAY_OP_BACKWARD},
		     {1, ASSAY_OP_BACKWARD}};
	assay_add(t, ASSAY_T_op_shape);
	assay_add(t, ASSAY_T_op_shape);
	for (uint32_t i = 0; i < ASSAY_COUNT_OF(calls); i++) {
		uint32_t call = assay_add(t, ASSAY_T_op_call);
		t->op_call.shape[call] = calls[i].shape;
		t->op_call.flags[call] = calls[i].flags;
		uint32_t g = assay_hand_gpu(run, "product", 100 * i, 50 + i, ASSAY_NO_ROW);
		assay_add(t, ASSAY_T_gpu_op);
		t->gpu_op.call[g] = call;
	}
	struct ways x = ways_of(run, &c);
	uint8_t way = assay_detour_by_checkpoints();
	CHECK(way < assay_detours && x.work[way] == 51 && x.count[way] == 1);
	assay_arena_free(&scratch);
	assay_run_free(run);
	return 0;
}
