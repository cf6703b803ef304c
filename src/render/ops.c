/* Operators: what they took, and how far that is from what the device can. */
#include "render/ops.h"

#include <math.h>

#include "base/fmt.h"
#include "base/sort.h"
#include "render/report.h"

enum { TOP = 20 };

/* Rows most time first. */
static const uint32_t *by_time(assay_arena *a, const int64_t *busy, size_t n)
{
	uint32_t *rows = assay_alloc(a, (n + 1) * sizeof *rows);
	for (uint32_t i = 0; i < n; i++)
		rows[i] = i;
	assay_sort_rows_falling(rows, n, busy);
	return rows;
}

const uint32_t *assay_ops_by_time(const assay_run *run, assay_arena *a)
{
	return by_time(a, run->part.t.operator.busy, run->part.t.operator.n);
}

int64_t assay_ops_time(const assay_run *run)
{
	const assay_gpu_table *g = &run->part.t.gpu;
	int64_t total = 0;
	for (size_t i = 0; i < g->n; i++)
		total += g->dur[i] > 0 ? g->dur[i] : 0;
	return total;
}

/* Counts are whole numbers: written without a fraction, null when not known. */
static void put_count(assay_jsonw *w, const char *key, double v)
{
	bool fits = !isnan(v) && v >= 0 && v < 9e18;
	assay_jsonw_i64_if(w, key, fits, fits ? (int64_t)(v + 0.5) : 0);
}

/* Arguments as they were recorded, which is JSON; anything else as text. */
static void put_recorded(assay_jsonw *w, const char *key, assay_str json, assay_arena *scratch)
{
	if (!json.n) {
		assay_jsonw_null(w, key);
		return;
	}
	assay_jsonw copy = {.compact = true};
	if (assay_jsonw_copy(&copy, json, scratch))
		assay_jsonw_raw(w, key, assay_jsonw_text(&copy));
	else
		assay_jsonw_str(w, key, json);
	assay_jsonw_free(&copy);
	assay_arena_reset(scratch);
}

static void put_bound(assay_jsonw *w, uint8_t bound)
{
	assay_jsonw_z(w, "bound", bound ? assay_bound_name[bound] : NULL);
}

static void put_ops(assay_jsonw *w, const assay_run *run, assay_arena *scratch)
{
	const assay_operator_table *o = &run->part.t.operator;
	const uint32_t *rows = assay_ops_by_time(run, scratch);
	double total = (double)assay_ops_time(run);
	assay_jsonw_open(w, "ops", '[');
	for (size_t i = 0; i < o->n; i++) {
		uint32_t r = rows[i];
		assay_jsonw_open_flat(w, NULL, '{');
		assay_jsonw_str(w, "name", assay_text(run, o->name[r]));
		assay_jsonw_u64(w, "calls", o->calls[r]);
		assay_jsonw_i64(w, "kernel_ns", o->busy[r]);
		assay_jsonw_f64(w, "share", total > 0 ? (double)o->busy[r] / total : NAN);
		put_count(w, "flops", o->flops[r]);
		put_count(w, "bytes", o->bytes[r]);
		put_count(w, "bound_ns", o->bound_ns[r]);
		put_bound(w, o->bound[r]);
		assay_jsonw_f64(w, "achieved",
				o->modelled[r] > 0 ? o->bound_ns[r] / (double)o->modelled[r] : NAN);
		assay_jsonw_i64(w, "modelled_ns", o->modelled[r]);
		assay_jsonw_z(w, "class", o->class[r] ? assay_work_class_name[o->class[r]] : NULL);
		assay_jsonw_z(w, "where", assay_z_if(run, o->where[r]));
		assay_jsonw_close(w, '}');
	}
	assay_jsonw_close(w, ']');
}

static void put_shape(assay_jsonw *w, const assay_run *run, uint32_t r, assay_arena *scratch)
{
	const assay_op_shape_table *s = &run->part.t.op_shape;
	bool wrong = s->flags[r] & ASSAY_OP_OVER_PEAK;
	double mean = (double)s->busy[r] / (double)s->calls[r];
	assay_jsonw_open_flat(w, NULL, '{');
	assay_jsonw_str(w, "name", assay_text(run, s->name[r]));
	put_recorded(w, "shapes", assay_text(run, s->dims[r]), scratch);
	put_recorded(w, "types", assay_text(run, s->types[r]), scratch);
	assay_jsonw_u64(w, "calls", s->calls[r]);
	assay_jsonw_i64(w, "kernel_ns", s->busy[r]);
	put_count(w, "flops", wrong ? NAN : s->flops[r]);
	put_count(w, "bytes", wrong ? NAN : s->bytes[r]);
	put_count(w, "bound_ns", wrong ? NAN : s->bound_ns[r]);
	put_bound(w, wrong ? ASSAY_BOUND_NONE : s->bound[r]);
	assay_jsonw_f64(w, "achieved", wrong || mean <= 0 ? NAN : s->bound_ns[r] / mean);
	assay_jsonw_z(w, "math", s->math[r] ? assay_math_name[s->math[r]] : NULL);
	put_recorded(w, "strides", assay_text(run, s->strides[r]), scratch);
	put_recorded(w, "values", assay_text(run, s->values[r]), scratch);
	assay_jsonw_bool(w, "estimated", s->flags[r] & ASSAY_OP_ESTIMATED);
	assay_jsonw_close(w, '}');
}

static void put_phases(assay_jsonw *w, const assay_run *run)
{
	const assay_phase_table *p = &run->part.t.phase;
	assay_jsonw_open(w, "phases", '[');
	for (uint32_t i = 0; i < p->n; i++) {
		double seconds = (double)p->span[i] * 1e-9;
		assay_jsonw_open_flat(w, NULL, '{');
		assay_jsonw_str(w, "phase", assay_text(run, p->name[i]));
		assay_jsonw_u64(w, "steps", p->steps[i]);
		put_count(w, "requests", p->requests[i]);
		put_count(w, "tokens", p->tokens[i]);
		assay_jsonw_i64(w, "kernel_ns", p->busy[i]);
		assay_jsonw_i64(w, "span_ns", p->span[i]);
		put_count(w, "flops", p->flops[i]);
		put_count(w, "bytes", p->bytes[i]);
		assay_jsonw_f64(w, "tokens_per_sec", seconds > 0 ? p->tokens[i] / seconds : NAN);
		assay_jsonw_f64(w, "coverage",
				p->busy[i] > 0 ? (double)p->modelled[i] / (double)p->busy[i] : NAN);
		assay_jsonw_close(w, '}');
	}
	assay_jsonw_close(w, ']');
}

static void put_steps(assay_jsonw *w, const assay_run *run)
{
	const assay_step_compute_table *s = &run->part.t.step_compute;
	const assay_tables *t = &run->part.t;
	assay_jsonw_open(w, "steps", '[');
	for (uint32_t i = 0; i < s->n; i++) {
		uint32_t step = t->step_time.step[s->step[i]];
		int64_t span = t->step_time.span[s->step[i]];
		assay_jsonw_open_flat(w, NULL, '{');
		assay_jsonw_i64_if(w, "step", t->step.number[step] >= 0, t->step.number[step]);
		put_count(w, "flops", s->flops[i]);
		put_count(w, "bytes", s->bytes[i]);
		assay_jsonw_f64(w, "flops_per_sec",
				span > 0 ? s->flops[i] / (double)span * 1e9 : NAN);
		assay_jsonw_f64(w, "mfu", s->mfu[i]);
		assay_jsonw_f64(w, "hfu", s->hfu[i]);
		assay_jsonw_close(w, '}');
	}
	assay_jsonw_close(w, ']');
}

static void put_compute(assay_jsonw *w, const assay_run *run)
{
	const assay_roof_table *r = &run->part.t.roof;
	if (!r->n) {
		assay_jsonw_null(w, "compute");
		return;
	}
	assay_jsonw_open(w, "compute", '{');
	put_count(w, "flops", r->flops[0]);
	put_count(w, "bytes", r->bytes[0]);
	assay_jsonw_f64(w, "mfu", r->mfu[0]);
	assay_jsonw_f64(w, "hfu", r->hfu[0]);
	assay_jsonw_f64(w, "coverage", r->coverage[0]);
	assay_jsonw_f64(w, "matrix_coverage", r->matrix_coverage[0]);
	assay_jsonw_f64(w, "mfu_coverage", r->mfu_coverage[0]);
	assay_jsonw_f64(w, "mfu_least", r->mfu_least[0]);
	assay_jsonw_f64(w, "mfu_most", r->mfu_most[0]);
	assay_jsonw_z(w, "main_type", r->main_type[0] ? assay_math_name[r->main_type[0]] : NULL);
	assay_jsonw_f64(w, "mfu_of_main_type", r->mfu_of_main_type[0]);
	assay_jsonw_f64(w, "flops_per_sec", r->flops_per_second[0]);
	assay_jsonw_f64(w, "bytes_per_sec", r->bytes_per_second[0]);
	assay_jsonw_z(w, "device", assay_z_if(run, r->name[0]));
	assay_jsonw_str(w, "rates", assay_text(run, r->how[0]));
	const double *const peaks[] = {r->fp64, r->fp32, r->tf32, r->bf16,
				       r->fp16, r->fp8,  r->int8, r->fp4};
	assay_jsonw_open_flat(w, "peak", '{');
	for (int m = 1; m < ASSAY_MATH_COUNT; m++)
		assay_jsonw_f64(w, assay_math_name[m], peaks[m - 1][0] > 0 ? peaks[m - 1][0] : NAN);
	assay_jsonw_f64(w, "bandwidth", r->bandwidth[0] > 0 ? r->bandwidth[0] : NAN);
	assay_jsonw_close(w, '}');
	put_steps(w, run);
	put_phases(w, run);
	assay_jsonw_close(w, '}');
}

void assay_ops_json(assay_jsonw *w, const assay_run *run)
{
	const assay_op_shape_table *s = &run->part.t.op_shape;
	assay_arena rows_of = {0}, scratch = {0};
	put_ops(w, run, &rows_of);
	const uint32_t *rows = by_time(&rows_of, s->busy, s->n);
	assay_jsonw_open(w, "ops_by_shape", '[');
	for (size_t i = 0; i < s->n; i++)
		put_shape(w, run, rows[i], &scratch);
	assay_jsonw_close(w, ']');
	put_compute(w, run);
	assay_arena_free(&rows_of);
	assay_arena_free(&scratch);
}

/* ------------------------------------------------------------------ text */

static const char *rate(assay_arena *a, double amount, double ns, double unit)
{
	return isnan(amount) || ns <= 0 ? "" : assay_printf(a, "%.1f", amount / ns * 1e9 / unit);
}

/* "61%c": of the bound, compute or memory. */
static const char *achieved(assay_arena *a, double bound_ns, double ns, uint8_t bound)
{
	if (isnan(bound_ns) || ns <= 0 || !bound)
		return "";
	return assay_printf(a, "%.0f%% %s", 100 * bound_ns / ns, assay_bound_name[bound]);
}

/* Where operations of other types change the share that others count: all by one peak. */
static const char *of_main_type(const assay_roof_table *r, assay_arena *a)
{
	const double worth_saying = 0.02;
	double one = r->mfu_of_main_type[0];
	return isnan(one) || fabs(one / r->mfu[0] - 1) < worth_saying
		       ? ""
		       : assay_printf(a, " (%.1f%% if all counts by the peak of %s)", 100 * one,
				      assay_math_name[r->main_type[0]]);
}

const char *assay_ops_rates(const assay_run *run, assay_arena *a)
{
	const assay_roof_table *r = &run->part.t.roof;
	if (!r->n || isnan(r->flops_per_second[0]))
		return NULL;
	const char *partly = assay_roof_is_partial(r) ? "at least " : "", *mfu = "";
	if (!isnan(r->mfu[0]))
		mfu = assay_printf(a, "MFU %s%.1f%%%s, HFU %.1f%%, ", partly, 100 * r->mfu[0],
				   of_main_type(r, a), 100 * r->hfu[0]);
	else if (!isnan(r->mfu_least[0]))
		mfu = assay_printf(a, "MFU between %.1f%% and %.1f%%, ", 100 * r->mfu_least[0],
				   100 * r->mfu_most[0]);
	return assay_printf(a, "%s%s%.1f TFLOP/s, %.2f TB/s", mfu, partly,
			    r->flops_per_second[0] * 1e-12, r->bytes_per_second[0] * 1e-12);
}

/* Work that stands in no row of the table. */
static void print_outside(assay_printout *p)
{
	const assay_tables *t = &p->run->part.t;
	char b[ASSAY_FMT];
	int64_t all = 0, outside = 0;
	for (size_t i = 0; i < t->gpu_op.n; i++) {
		all += t->gpu.dur[i];
		outside += t->gpu_op.call[i] == ASSAY_NO_ROW ? t->gpu.dur[i] : 0;
	}
	if (outside > 0)
		assay_print_sentence(
			p, assay_printf(&p->scratch,
					"%s of GPU time (%.1f%%) is of no recorded operator",
					assay_fmt_time(b, outside), assay_percent(outside, all)));
}

static void print_roof(assay_printout *p)
{
	const assay_roof_table *r = &p->run->part.t.roof;
	const char *text = assay_printf(&p->scratch, "%.1f%% of compute time has known work",
					100 * r->coverage[0]);
	if (!isnan(r->matrix_coverage[0]))
		text = assay_printf(&p->scratch, "%s (%.1f%% of matrix kernels)", text,
				    100 * r->matrix_coverage[0]);
	text = assay_printf(&p->scratch, "%s; rates: %s", text, assay_z(p->run, r->how[0]));
	assay_print_sentence(p, text);
	text = assay_ops_rates(p->run, &p->scratch);
	if (text)
		assay_print_sentence(p, assay_printf(&p->scratch, "%s over the window", text));
	print_outside(p);
}

static void print_phases(assay_printout *p)
{
	const assay_phase_table *h = &p->run->part.t.phase;
	char t[ASSAY_FMT];
	for (uint32_t i = 0; i < h->n; i++)
		assay_print_sentence(
			p,
			assay_printf(
				&p->scratch,
				"%s: %.0f step%s, %.0f requests, %.0f tokens in %s, %.0f tokens/s",
				assay_z(p->run, h->name[i]), (double)h->steps[i],
				h->steps[i] == 1 ? "" : "s", h->requests[i], h->tokens[i],
				assay_fmt_time(t, h->span[i]),
				h->span[i] > 0 ? h->tokens[i] / (double)h->span[i] * 1e9 : 0));
}

const char *assay_ops_unknown(const assay_run *run)
{
	const assay_tables *t = &run->part.t;
	if (!t->roof.n || t->roof.coverage[0] > 0 || !t->kernel.n)
		return NULL;
	for (size_t i = 0; i < t->op_shape.n; i++)
		if (strpbrk(assay_z(run, t->op_shape.dims[i]), "123456789"))
			return "no operator here has a model of its work";
	return t->operator.n ? "operators were recorded without shapes (record_shapes=True)"
			     : "no operators were recorded, and kernels do not tell sizes";
}

/* Behind the shapes, for calls of the same shapes differ in them. */
static const char *short_types(const assay_run *run, uint32_t shape, assay_arena *a)
{
	static const char *const no_type[] = {"", "Scalar", "ScalarList", "TensorList"};
	assay_str rest = assay_text(run, run->part.t.op_shape.types[shape]);
	const char *out = "";
	for (bool inside = false; rest.n; inside = !inside) {
		assay_str word = assay_str_cut(&rest, '"');
		if (assay_str_starts(word, "c10::"))
			word = (assay_str){word.p + 5, word.n - 5};
		if (inside && !assay_str_is_any(word, no_type, ASSAY_COUNT_OF(no_type)))
			out = assay_printf(a, "%s %s", out, assay_fmt_safe(a, word));
	}
	return out;
}

const char *assay_shape_label(const assay_run *run, uint32_t shape, assay_arena *a)
{
	const assay_op_shape_table *s = &run->part.t.op_shape;
	assay_str dims = assay_text(run, s->dims[shape]);
	return assay_printf(a, "%s%s%s%s%s", assay_fmt_safe(a, assay_text(run, s->name[shape])),
			    dims.n ? " " : "", dims.n ? assay_fmt_safe(a, dims) : "",
			    short_types(run, shape, a),
			    s->flags[shape] & ASSAY_OP_GRAPH ? " (graph)" : "");
}

/* Columns before the name. */
enum { OP_NAME = 54 };

static void print_operator(assay_printout *p, uint32_t r, int64_t total)
{
	const assay_operator_table *o = &p->run->part.t.operator;
	char t[ASSAY_FMT], n[ASSAY_FMT];
	double ns = (double)o->modelled[r];
	fprintf(p->out, "  %8s %5.1f%% %7s %7s %5s %11s  %s\n", assay_fmt_time(t, o->busy[r]),
		assay_percent(o->busy[r], total), assay_fmt_count(n, o->calls[r]),
		rate(&p->scratch, o->flops[r], ns, 1e12), rate(&p->scratch, o->bytes[r], ns, 1e12),
		achieved(&p->scratch, o->bound_ns[r], ns, o->bound[r]),
		assay_cut(&p->scratch, assay_fmt_safe(&p->scratch, assay_text(p->run, o->name[r])),
			  assay_room(p, OP_NAME)));
}

static void print_shape(assay_printout *p, uint32_t r)
{
	const assay_op_shape_table *s = &p->run->part.t.op_shape;
	char t[ASSAY_FMT], n[ASSAY_FMT];
	bool wrong = s->flags[r] & ASSAY_OP_OVER_PEAK;
	double ns = (double)s->busy[r] / (double)s->calls[r];
	const char *name = assay_shape_label(p->run, r, &p->scratch);
	fprintf(p->out, "  %8s %6s %7s %7s %5s %11s  %s\n", assay_fmt_time(t, s->busy[r]), "",
		assay_fmt_count(n, s->calls[r]),
		rate(&p->scratch, wrong ? NAN : s->flops[r], ns, 1e12),
		rate(&p->scratch, wrong ? NAN : s->bytes[r], ns, 1e12),
		achieved(&p->scratch, wrong ? NAN : s->bound_ns[r], ns, s->bound[r]),
		assay_cut(&p->scratch, name, assay_room(p, OP_NAME)));
}

void assay_ops_text(assay_printout *p)
{
	const assay_tables *t = &p->run->part.t;
	size_t top = p->top ? p->top : TOP;
	if (!t->operator.n)
		return;
	const uint32_t *ops = assay_ops_by_time(p->run, &p->scratch),
		       *shapes = by_time(&p->scratch, t->op_shape.busy, t->op_shape.n);
	int64_t total = assay_ops_time(p->run);
	assay_print_heading(p,
			    p->run->in_full ? "Operators, of the ranks with events" : "Operators");
	print_roof(p);
	print_phases(p);
	fprintf(p->out, "  %8s %6s %7s %7s %5s %11s  %s\n", "GPU time", "share", "calls", "TFLOP/s",
		"TB/s", "of bound", "operator");
	for (size_t i = 0; i < t->operator.n && i<top; i++)
		print_operator(p, ops[i], total);
	if (t->operator.n> top)
		fprintf(p->out, "  ... %zu more operators (--top N shows them)\n",
			t->operator.n - top);
	fprintf(p->out, "\n  %8s %6s %7s %7s %5s %11s  %s\n", "GPU time", "", "calls", "TFLOP/s",
		"TB/s", "of bound", "operator with shapes");
	for (size_t i = 0; i < t->op_shape.n && i < top; i++)
		print_shape(p, shapes[i]);
	if (t->op_shape.n > top)
		fprintf(p->out, "  ... %zu more (--top N shows them)\n", t->op_shape.n - top);
}
