/* Troubles of compute, from the parts of useful_gpu. */
#include "analyze/advice.h"
#include "analyze/analyze.h"
#include "analyze/finding.h"
#include "analyze/order.h"
#include "analyze/own_frames.h"
#include "base/fmt.h"
#include "base/median.h"
#include "base/test.h"
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

/* From one launch of a kernel to the next of the same thread, as most are; 0: there are none. */
static int64_t usual_pace(const assay_run *run, const assay_find_ctx *c)
{
	const assay_tables *t = &run->part.t;
	const assay_order_device *d = &c->order->device.p[c->w->device];
	assay_vec(int64_t) pace = {0};
	uint32_t before = ASSAY_NO_ROW;
	for (size_t i = d->first; i < d->first + d->n; i++) {
		uint32_t call = t->launch.host[c->order->row[i]];
		if (call != ASSAY_NO_ROW && before != ASSAY_NO_ROW &&
		    t->host.track[call] == t->host.track[before] &&
		    t->host.ts[call] > t->host.ts[before])
			*assay_push(&pace) = t->host.ts[call] - t->host.ts[before];
		before = call;
	}
	int64_t usual = pace.n ? assay_median_upper(pace.p, pace.n) : 0;
	assay_vec_free(&pace);
	return usual;
}

/* What of it goes, 0 to 1 and more: a device that waits for its host gains little from shorter
 * kernels, unless the host need not launch them. */
static double replayed_share(const assay_run *run, const assay_find_ctx *c, const assay_advice *v)
{
	static const assay_why launching[] = {ASSAY_WHY_LAUNCH_CALL,  ASSAY_WHY_HOST_OP,
					      ASSAY_WHY_HOST_RUNTIME, ASSAY_WHY_HOST_PYTHON,
					      ASSAY_WHY_HOST_NATIVE,  ASSAY_WHY_HOST_UNTRACED};
	const char *what_if[1 + ASSAY_COUNT_OF(launching)];
	uint64_t kernels = c->w->events[ASSAY_CLASS_COMPUTE];
	size_t n = 0;
	double share = -1, with_host;
	if (!v->compute || v->compute >= c->w->compute || !c->worth)
		return -1;
	what_if[n++] = assay_printf(c->scratch, "compute=%.6fx",
				    1 - (double)v->compute / (double)c->w->compute);
	if (!assay_worth_without_all(c->worth, what_if, n, &share))
		return -1;
	for (size_t i = 0; v->gone && v->gone < kernels && i < ASSAY_COUNT_OF(launching); i++)
		what_if[n++] = assay_printf(c->scratch, "%s=%.6fx", assay_why_name[launching[i]],
					    1 - (double)v->gone / (double)kernels);
	share *= (double)c->whole / (double)v->compute;
	if (n > 1 && share < 1 && assay_worth_without_all(c->worth, what_if, n, &with_host)) {
		double launches =
			share + (double)v->gone * (double)usual_pace(run, c) / (double)v->compute;
		with_host *= (double)c->whole / (double)v->compute;
		with_host = with_host < launches ? with_host : launches;
		share = with_host > 1 ? 1 : with_host > share ? with_host : share;
	}
	return share > 1 && !c->steps ? 1 : share;
}

static void weigh(const assay_run *run, const assay_find_ctx *c, const assay_advice *v,
		  assay_found *f)
{
	double share = replayed_share(run, c, v);
	f->replayed = share >= 0;
	share = f->replayed ? share : 1;
	f->saved = (int64_t)(share * (double)f->total);
	f->saved = f->saved > 0 ? f->saved : 1;
	if (v->least == v->most)
		return;
	f->least = (int64_t)(share * (double)(v->least + v->gaps));
	f->most = (int64_t)(share * (double)(v->most + v->gaps));
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

static void find_compute(assay_run *run, const assay_find_ctx *c)
{
	assay_advices advice = {0};
	if (c->w->device == ASSAY_NO_ROW || c->whole <= 0)
		return;
	assay_advices_find(&advice, run, c->w);
	for (size_t i = 0; i < advice.n; i++)
		if ((double)assay_advice_total(&advice.p[i]) >=
		    assay_worth_saying * (double)c->whole)
			add_advice(run, c, &advice.p[i]);
	assay_vec_free(&advice);
}

const assay_finder assay_find_compute = {.id = "compute", .find = find_compute};

TEST(the_pace_of_launches_is_without_what_the_program_does_between_them)
{
	static const int64_t launched[] = {0, 10, 20, 1020, 1030, 1040};
	assay_run *run = assay_run_new();
	assay_order order;
	assay_window w = {.device = 0};
	assay_find_ctx c = {.w = &w, .order = &order};
	assay_add(&run->part.t, ASSAY_T_source);
	for (size_t i = 0; i < ASSAY_COUNT_OF(launched); i++) {
		uint32_t call = assay_hand_host(run, ASSAY_HOST_RUNTIME, "cudaLaunchKernel",
						launched[i], 5);
		assay_hand_gpu(run, "c", launched[i] + 6, 2, call);
	}
	assay_kernels(run);
	assay_order_build(&order, run);
	CHECK_EQ(usual_pace(run, &c), 10);
	assay_order_free(&order);
	assay_run_free(run);
	return 0;
}
