/* Troubles of compute, from the parts of useful_gpu. */
#include "analyze/analyze.h"
#include "base/fmt.h"
#include "base/test.h"
#include "find/advice.h"
#include "find/finding.h"
#include "find/own_frames.h"
#include "model/by_hand.h"

/* What most of it is: an operator with its shapes, or a kernel. */
static void add_facts(const assay_run *run, const assay_find_ctx *c, const assay_advice *v,
		      assay_found *f)
{
	const assay_op_shape_table *s = &run->part.t.op_shape;
	char count[ASSAY_FMT];
	int n = 0;
	if (v->calls && v->shape != ASSAY_NO_ROW) {
		f->where.op = assay_dup(c->scratch, assay_text(run, s->name[v->shape]));
		f->fact[n++] = assay_printf(
			c->scratch, "%s call%s, most of it in %s %s",
			assay_fmt_count(count, v->calls), v->calls == 1 ? "" : "s",
			assay_fmt_safe(c->scratch, assay_text(run, s->name[v->shape])),
			assay_fmt_safe(c->scratch, assay_text(run, s->dims[v->shape])));
	}
	if (v->lone)
		f->fact[n++] =
			assay_printf(c->scratch, "%s kernels and copies judged by their names",
				     assay_fmt_count(count, v->lone));
	if (v->gpu == ASSAY_NO_ROW)
		return;
	f->where.kernel =
		assay_fmt_kernel(c->scratch, assay_text(run, run->part.t.gpu.name[v->gpu]), 120);
	if (v->stack != ASSAY_NO_ROW)
		assay_where_in_stack(run, v->stack, &f->where);
	else
		assay_own_line_of_work(run, c, v->gpu, &f->where);
}

/* What takes less, by row of gpu and by call of an operator. */
struct less {
	int64_t *ns, *of_call, *call_all; /* call_all: ns of the call's work */
	bool *goes, *call_goes;
};

static struct less gather_less(const assay_tables *t, const assay_advice *v, assay_arena *scratch)
{
	size_t calls = t->op_call.n + 1, works = t->gpu.n + 1;
	struct less l = {.ns = assay_alloc(scratch, works * sizeof *l.ns),
			 .of_call = assay_alloc(scratch, calls * sizeof *l.of_call),
			 .call_all = assay_alloc(scratch, calls * sizeof *l.call_all),
			 .goes = assay_alloc(scratch, works),
			 .call_goes = assay_alloc(scratch, calls)};
	for (size_t i = 0; i < v->less.n; i++) {
		const assay_less *one = &v->less.p[i];
		bool call = one->call != ASSAY_NO_ROW;
		*(call ? &l.of_call[one->call] : &l.ns[one->gpu]) += one->ns;
		*(call ? &l.call_goes[one->call] : &l.goes[one->gpu]) |= one->goes;
	}
	for (uint32_t i = 0; i < t->gpu_op.n; i++)
		if (t->gpu_op.call[i] != ASSAY_NO_ROW)
			l.call_all[t->gpu_op.call[i]] += t->gpu.dur[i];
	return l;
}

/* What of it goes, 0 to 1 and more, launch by launch: a device that waits for its host gains little
 * from shorter kernels, unless the host need not launch them. -1: it cannot be replayed. */
static double replayed_share(const assay_run *run, const assay_find_ctx *c, const assay_advice *v)
{
	const assay_tables *t = &run->part.t;
	assay_arena scratch = {0};
	struct less l = gather_less(t, v, &scratch);
	int64_t *dur = assay_alloc(&scratch, (t->gpu.n + 1) * sizeof *dur);
	double share = -1;
	for (uint32_t i = 0; i < t->gpu.n; i++) {
		uint32_t call = i < t->gpu_op.n ? t->gpu_op.call[i] : ASSAY_NO_ROW;
		bool of_call = call != ASSAY_NO_ROW && l.call_all[call];
		double part = of_call ? (double)t->gpu.dur[i] / (double)l.call_all[call] : 0;
		int64_t ns = l.ns[i] + (of_call ? (int64_t)(part * (double)l.of_call[call]) : 0);
		l.goes[i] |= call != ASSAY_NO_ROW && l.call_goes[call];
		dur[i] = !ns && !l.goes[i] ? -1 : t->gpu.dur[i] > ns ? t->gpu.dur[i] - ns : 0;
	}
	if (c->worth && assay_worth_without_launches(c->worth, l.goes, dur, &share))
		share *= (double)c->whole / (double)assay_advice_total(v);
	else
		share = -1;
	assay_arena_free(&scratch);
	return share > 1 && !c->steps ? 1 : share;
}

/* "copies take" -> "copies, and launching them, take": it is more than the kernels need. */
static void tell_launching(const assay_find_ctx *c, const assay_advice *v, assay_found *f)
{
	char time[ASSAY_FMT], count[ASSAY_FMT];
	assay_per_step each = assay_per_step_of(c, false);
	const char *verb = strrchr(v->what, ' ');
	assay_found_add_fact(f,
			     assay_printf(c->scratch, "%s%s on the device, and %s launches%s",
					  assay_fmt_time(time, f->total / each.steps), each.words,
					  assay_fmt_count(count, v->gone / (uint64_t)each.steps),
					  each.words));
	f->order_by = (f->total + f->saved) / 2; /* as that of launch_bound */
	f->total = f->saved;
	f->text =
		assay_printf(c->scratch, "%.*s, and launching it all, %s %s", (int)(verb - v->what),
			     v->what, verb + 1, assay_share_words(c, f->total));
}

/* The device is busy now, and in the replay the host keeps it from being done sooner. Recording
 * slows hosts, by how much nobody knows: without it the host may keep up. */
static bool is_held_by_host(const assay_find_ctx *c, double share)
{
	const double most_idle = 0.1, kept_up = 0.8;
	return share < kept_up && (double)c->w->idle < most_idle * (double)c->whole;
}

static void bound(const assay_find_ctx *c, const assay_advice *v, double share, assay_found *f)
{
	bool held = is_held_by_host(c, share);
	if (v->least == v->most && !held)
		return;
	f->least = (int64_t)(share * (double)(v->least + v->gaps));
	f->most = (int64_t)((held ? 1 : share) * (double)(v->most + v->gaps));
	if (held)
		assay_found_add_fact(f, "at best where the host keeps up, which recording slows");
}

static void weigh(const assay_run *run, const assay_find_ctx *c, const assay_advice *v,
		  assay_found *f)
{
	double share = replayed_share(run, c, v);
	f->replayed = share >= 0;
	share = f->replayed ? share : 1;
	f->saved = (int64_t)(share * (double)f->total);
	if (share > 1.05)
		tell_launching(c, v, f);
	f->saved = f->saved > 0 ? f->saved : 1;
	bound(c, v, share, f);
}

static void add_advice(const assay_run *run, const assay_find_ctx *c, const assay_advice *v)
{
	const double by_name_only = 0.8;
	assay_found f = {.id = v->id,
			 .fix = assay_remedy_for(run, c, v),
			 .total = assay_advice_total(v),
			 .confidence =
				 v->confidence * (v->shape != ASSAY_NO_ROW ? 1 : by_name_only)};
	f.text = assay_printf(c->scratch, "%s %s", v->what, assay_share_words(c, f.total));
	add_facts(run, c, v, &f);
	weigh(run, c, v, &f);
	assay_finding_add(c, &f);
}

static void find_compute(const assay_run *run, const assay_find_ctx *c)
{
	assay_advices advice = {0};
	if (c->w->device == ASSAY_NO_ROW || c->whole <= 0)
		return;
	assay_advices_find(&advice, run, c->w);
	for (size_t i = 0; i < advice.n; i++)
		if ((double)assay_advice_total(&advice.p[i]) >=
		    assay_worth_saying * (double)c->whole)
			add_advice(run, c, &advice.p[i]);
	assay_advices_free(&advice);
}

const assay_finder assay_find_compute = {.id = "compute", .find = find_compute};
