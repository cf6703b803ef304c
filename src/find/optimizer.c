/* An optimizer that updates its parameters one by one: hundreds of short kernels where a few
 * would do. Known by the Python stacks of the launches, or by the range that PyTorch puts around
 * a step. */
#include "analyze/analyze.h"
#include "analyze/idle_lines.h"
#include "base/fmt.h"
#include "base/test.h"
#include "find/finding.h"
#include "model/by_hand.h"
#include "names/roles.h"
#include "names/words.h"
#include "work/compute.h"

enum {
	MANY_KERNELS = 40, /* in one step of the optimizer */
	HOST_EACH = 200,   /* ns of a fused step on the host, for each kernel that goes */
};

struct search {
	const assay_run *run;
	const assay_tables *t;
	const assay_find_ctx *c;
	bool *in_stack;  /* by row of stack: innermost of what matters is an optimizer */
	assay_map roles; /* name of a kernel -> assay_role */
	assay_map lines; /* line -> index of places */
	assay_vec(struct place) places;
	assay_vec(assay_span) phases;
	assay_sid range; /* that says so; none */
	int64_t kept;
	uint64_t kernels;
};

struct place {
	uint32_t stack, inner; /* own line, and the line below it that launched first */
	uint64_t kernels;
};

/* Kernels of the optimizer that follow each other on the device. */
struct phase {
	int64_t from, to;
	int64_t work; /* ns beyond what every kernel takes */
	uint64_t kernels, lists, fused;
};

/* ------------------------------------------------------------------ whose kernels */

/* A closure runs the model from inside the optimizer: what is nearer to the launch decides. */
bool *assay_optimizer_stacks(const assay_run *run, assay_arena *a)
{
	const assay_tables *t = &run->part.t;
	enum { PASS, NO, YES };
	uint8_t *of_code = assay_alloc(a, t->code.n + 1);
	bool *in = assay_alloc(a, t->stack.n + 1);
	for (size_t i = 0; i < t->code.n; i++) {
		assay_word word = assay_word_of_frame(assay_text(run, t->code.file[i]));
		bool method = assay_word_of_function(assay_text(run, t->code.function[i]));
		of_code[i] = method || word == ASSAY_WORD_OPTIMIZER       ? YES
			     : t->code.own[i] || word == ASSAY_WORD_MODEL ? NO
									  : PASS;
	}
	for (size_t i = 0; i < t->stack.n; i++) {
		uint32_t caller = t->stack.caller[i];
		uint8_t own = of_code[t->stack.code[i]];
		in[i] = own != PASS ? own == YES : caller < i && in[caller];
	}
	return in;
}

static uint32_t range_of(const assay_tables *t, uint32_t gpu)
{
	uint32_t call = t->gpu_op.n ? t->gpu_op.call[gpu] : ASSAY_NO_ROW;
	return call == ASSAY_NO_ROW ? ASSAY_NO_ROW : t->op_call.range[call];
}

bool assay_is_update(const assay_run *run, const bool *in_stack, uint32_t gpu)
{
	const assay_tables *t = &run->part.t;
	uint32_t stack = assay_call_stack(t, t->launch.host[gpu]);
	if (stack != ASSAY_NO_ROW)
		return in_stack[stack];
	uint32_t range = range_of(t, gpu);
	return range != ASSAY_NO_ROW &&
	       assay_str_starts(assay_text(run, t->host.name[range]), "Optimizer.step#");
}

static bool is_optimizer(struct search *s, uint32_t gpu)
{
	if (!assay_is_update(s->run, s->in_stack, gpu))
		return false;
	if (assay_call_stack(s->t, s->t->launch.host[gpu]) == ASSAY_NO_ROW)
		s->range = s->t->host.name[range_of(s->t, gpu)];
	return true;
}

static assay_role role_of(struct search *s, uint32_t gpu)
{
	uint32_t *known = assay_map_at(&s->roles, s->t->gpu.name[gpu]);
	if (*known == ASSAY_MAP_ABSENT)
		*known = assay_role_of_kernel(assay_text(s->run, s->t->gpu.name[gpu]));
	return (assay_role)*known;
}

/* ------------------------------------------------------------------ phases */

static void count_place(struct search *s, uint32_t gpu)
{
	uint32_t stack = assay_call_stack(s->t, s->t->launch.host[gpu]);
	uint32_t own = assay_own_call(s->t, stack);
	if (own == ASSAY_NO_ROW)
		return;
	uint32_t *slot = assay_map_at(&s->lines, assay_line_key(s->t, own));
	if (*slot == ASSAY_MAP_ABSENT) {
		*slot = (uint32_t)s->places.n;
		*assay_push(&s->places) = (struct place){own, stack, 0};
	}
	s->places.p[*slot].kernels++;
}

static void add_kernel(struct search *s, struct phase *p, uint32_t gpu, int64_t before)
{
	assay_role role = role_of(s, gpu);
	int64_t dur = s->t->gpu.dur[gpu], end = assay_gpu_end(&s->t->gpu, gpu);
	if (!p->kernels)
		*p = (struct phase){.from = before};
	p->kernels++;
	p->lists += role == ASSAY_ROLE_LIST_UPDATE;
	p->fused += role == ASSAY_ROLE_FUSED_UPDATE;
	p->work += dur > ASSAY_LEAST_KERNEL ? dur - ASSAY_LEAST_KERNEL : 0;
	p->to = end > p->to ? end : p->to;
	count_place(s, gpu);
}

/* Long kernels move memory, of which a third remains when all passes are one. */
static void end_phase(struct search *s, struct phase *p)
{
	bool single = p->kernels >= MANY_KERNELS && !p->fused && p->lists * 4 < p->kernels;
	if (single) {
		*assay_push(&s->phases) = (assay_span){p->from, p->to};
		s->kept += p->work / 3 + (int64_t)p->kernels * HOST_EACH;
		s->kernels += p->kernels;
	}
	p->kernels = 0;
}

static void find_phases(struct search *s)
{
	const assay_find_ctx *c = s->c;
	const assay_gpu_table *g = &s->t->gpu;
	const assay_order_device *d = &c->order->device.p[c->w->device];
	struct phase p = {.kernels = 0};
	int64_t end = c->w->from;
	for (size_t i = d->first; i < d->first + d->n; i++) {
		uint32_t gpu = c->order->row[i];
		if (g->ts[gpu] < c->w->from || g->ts[gpu] >= c->w->to)
			continue;
		if (g->kind[gpu] == ASSAY_GPU_KERNEL && is_optimizer(s, gpu))
			add_kernel(s, &p, gpu, end);
		else if (g->kind[gpu] == ASSAY_GPU_KERNEL)
			end_phase(s, &p);
		end = assay_gpu_end(g, gpu) > end ? assay_gpu_end(g, gpu) : end;
	}
	end_phase(s, &p);
}

/* ------------------------------------------------------------------ the finding */

static void set_place(const struct search *s, assay_found *f)
{
	const struct place *most = NULL;
	if (s->range)
		f->where.range = assay_z(s->run, s->range);
	for (size_t i = 0; i < s->places.n; i++)
		if (!most || s->places.p[i].kernels > most->kernels)
			most = &s->places.p[i];
	if (!most)
		return;
	assay_where inner = {0};
	assay_where_in_stack(s->run, most->stack, &f->where);
	assay_where_in_stack(s->run, most->inner, &inner);
	f->fact[1] = assay_printf(s->c->scratch, "launched from %s in %s",
				  assay_fmt_safe(s->c->scratch, assay_str_of(inner.function)),
				  assay_fmt_safe(s->c->scratch, assay_str_of(inner.file)));
}

static void add_finding(const struct search *s)
{
	const assay_find_ctx *c = s->c;
	assay_span *during = assay_alloc(c->scratch, s->phases.n * sizeof *during);
	memcpy(during, s->phases.p, s->phases.n * sizeof *during);
	char count[ASSAY_FMT], steps[ASSAY_FMT];
	int64_t total = 0;
	for (size_t i = 0; i < s->phases.n; i++)
		total += s->phases.p[i].to - s->phases.p[i].from;
	if ((double)(total - s->kept) < assay_worth_saying * (double)c->whole)
		return;
	assay_found f = {
		.id = "optimizer_unfused",
		.total = total,
		.saved = total - s->kept,
		.confidence = 0.85,
		.fix = "fused=True for the optimizer, or foreach=True: some kernels for all parameters instead of some for each",
		.during = during,
		.spans = s->phases.n};
	f.text = assay_printf(c->scratch,
			      "an optimizer that updates its parameters one by one takes %s",
			      assay_share_words(c, total));
	f.fact[0] = assay_printf(c->scratch, "%s kernels in %s updates",
				 assay_fmt_count(count, s->kernels),
				 assay_fmt_count(steps, s->phases.n));
	set_place(s, &f);
	assay_finding_add(c, &f);
}

static void find_optimizer(const assay_run *run, const assay_find_ctx *c)
{
	if (c->w->device == ASSAY_NO_ROW || c->whole <= 0 || !c->order)
		return;
	struct search s = {.run = run, .t = &run->part.t, .c = c};
	s.in_stack = assay_optimizer_stacks(run, c->scratch);
	find_phases(&s);
	if (s.phases.n)
		add_finding(&s);
	assay_map_free(&s.roles);
	assay_map_free(&s.lines);
	assay_vec_free(&s.places);
	assay_vec_free(&s.phases);
}

const assay_finder assay_find_optimizer = {.id = "optimizer", .find = find_optimizer};

/* A launch from a line of a file, ns after the one before. */
static void add_launch(assay_run *run, const char *file, const char *kernel, int64_t ts)
{
	uint32_t stack = assay_hand_stack(run, ASSAY_NO_ROW, file, "f");
	uint32_t call = assay_hand_call(run, stack, "cudaLaunchKernel", ts, 1);
	assay_hand_gpu(run, kernel, ts + 10, 1000, call);
}

/* Findings of a step of 60 launches from an optimizer, 10 us apart, behind one of the model. */
static size_t findings_of(const char *file, const char *kernel, int64_t *saved)
{
	assay_run *run = assay_run_new();
	assay_order order;
	add_launch(run, "train.py", "gemm", 0);
	for (int i = 1; i <= 60; i++)
		add_launch(run, file, kernel, i * 10000);
	assay_kernels(run);
	assay_order_build(&order, run);
	assay_partition(run, &order);
	const assay_window w = {.to = 611010, .compute = 61000};
	assay_findings(run, &w, &order, NULL, NULL);
	const assay_finding_table *f = &run->part.t.finding;
	size_t found = 0;
	for (uint32_t i = 0; i < f->n; i++)
		if (!strcmp(assay_z(run, f->id[i]), "optimizer_unfused")) {
			*saved = f->now[i] - f->after[i];
			found++;
		}
	assay_order_free(&order);
	assay_run_free(run);
	return found;
}

TEST(an_optimizer_of_one_tensor_at_a_time_costs_its_whole_stretch)
{
	static const char one[] = "at::native::vectorized_elementwise_kernel<4, addcdiv>",
			  all[] = "multi_tensor_apply_kernel<M<4>, FusedAdamMathFunctor<float, 4>>";
	int64_t saved = 0;
	CHECK_EQ(findings_of("/x/torch/optim/adam.py", one, &saved), 1);
	CHECK_EQ(saved, 601010 - 1010 - 60 * HOST_EACH); /* from the end of the product */
	CHECK_EQ(findings_of("/x/torch/optim/adam.py", all, &saved), 0);
	CHECK_EQ(findings_of("/x/torch/nn/modules/linear.py", one, &saved), 0);
	return 0;
}
