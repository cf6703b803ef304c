/* Troubles of compute, from the parts of useful_gpu. */
#include "analyze/advice.h"
#include "analyze/finding.h"
#include "base/fmt.h"

static void add_advice(const assay_run *run, const assay_find_ctx *c, const assay_advice *v)
{
	const assay_op_shape_table *s = &run->part.t.op_shape;
	char count[ASSAY_FMT];
	assay_found f = {
		.id = v->id, .fix = v->fix, .total = v->total, .confidence = v->confidence};
	f.text = assay_printf(c->scratch, "%s %s", v->what, assay_share_words(c, v->total));
	if (v->shape != ASSAY_NO_ROW) {
		f.where.op = assay_dup(c->scratch, assay_text(run, s->name[v->shape]));
		f.fact[0] = assay_printf(
			c->scratch, "%s calls, most of it in %s %s",
			assay_fmt_count(count, v->calls),
			assay_fmt_safe(c->scratch, assay_text(run, s->name[v->shape])),
			assay_fmt_safe(c->scratch, assay_text(run, s->dims[v->shape])));
	}
	/* a device that waits for its host gains little from shorter kernels */
	if (v->total < c->w->compute)
		f.what_if = assay_printf(c->scratch, "compute=%.6fx",
					 1 - (double)v->total / (double)c->w->compute);
	assay_finding_add(c, &f);
}

static void find_compute(assay_run *run, const assay_find_ctx *c)
{
	assay_advices advice = {0};
	if (c->w->device == ASSAY_NO_ROW || c->whole <= 0)
		return;
	assay_advices_find(&advice, run, c->w);
	for (size_t i = 0; i < advice.n; i++)
		if ((double)advice.p[i].total >= assay_worth_saying * (double)c->whole)
			add_advice(run, c, &advice.p[i]);
	assay_vec_free(&advice);
}

const assay_finder assay_find_compute = {"compute", find_compute};
