/* Two runs side by side. */
#include <math.h>

#include "base/fmt.h"
#include "render/report.h"

enum { TOP = 20, NAME_WIDTH = 58, ENV_TOP = 12 };

enum has { NOTHING = 0, CHANGE = 1, COUNTS = 2, RESOLVED = 4, UNIT = 8 };

/* Unknown sides are null, and then so is the change. */
static void put_values(assay_jsonw *w, const assay_delta *d)
{
	if (d->unit) {
		assay_jsonw_f64(w, "a", d->a);
		assay_jsonw_f64(w, "b", d->b);
		assay_jsonw_f64(w, "change", assay_delta_change(d));
		return;
	}
	assay_jsonw_f64(w, "a_ns", d->a);
	assay_jsonw_f64(w, "b_ns", d->b);
	assay_jsonw_f64(w, "change_ns", assay_delta_change(d));
	assay_jsonw_f64(w, "noise_ns", d->noise < 0 ? NAN : d->noise);
}

/* NULL when a side is not known. One step does not say what changes by chance: then nothing is
 * called real or noise. */
static const char *verdict(const assay_delta *d)
{
	double change = fabs(assay_delta_change(d));
	return d->real             ? (d->noise < 0 ? "large" : "real")
	       : isnan(change)     ? NULL
	       : change == 0       ? "same"
	       : change > d->noise ? "small"
				   : "noise";
}

static void put_delta(assay_jsonw *w, const char *key, const assay_delta *d, int has)
{
	assay_jsonw_open_flat(w, key, '{');
	if (!key)
		assay_jsonw_z(w, "name", d->name);
	if (has & CHANGE)
		assay_jsonw_z(w, "change",
			      !d->counts[0]   ? "added"
			      : !d->counts[1] ? "removed"
					      : "changed");
	if (has & UNIT)
		assay_jsonw_z(w, "unit", d->unit ? d->unit : "ns");
	put_values(w, d);
	if (has & COUNTS) {
		assay_jsonw_f64(w, "a_count", d->counts[0]);
		assay_jsonw_f64(w, "b_count", d->counts[1]);
	}
	if (has & RESOLVED) {
		assay_jsonw_f64(w, "a_resolved", d->resolved[0]);
		assay_jsonw_f64(w, "b_resolved", d->resolved[1]);
		assay_jsonw_f64(w, "count_noise", d->count_noise < 0 ? NAN : d->count_noise);
	}
	assay_jsonw_bool(w, "real", d->real);
	assay_jsonw_z(w, "verdict", verdict(d));
	assay_jsonw_close(w, '}');
}

static void put_deltas(assay_jsonw *w, const char *key, const assay_delta *d, size_t n, int has)
{
	assay_jsonw_open(w, key, '[');
	for (size_t i = 0; i < n; i++)
		put_delta(w, NULL, &d[i], has);
	assay_jsonw_close(w, ']');
}

static void put_pair(assay_jsonw *w, const char *key, const double v[2])
{
	assay_jsonw_open_flat(w, key, '[');
	assay_jsonw_f64(w, NULL, v[0]);
	assay_jsonw_f64(w, NULL, v[1]);
	assay_jsonw_close(w, ']');
}

static void put_switches(assay_jsonw *w, const assay_diff *d)
{
	assay_jsonw_open(w, "switches", '[');
	for (size_t i = 0; i < d->switches.n; i++) {
		const assay_switch *s = &d->switches.p[i];
		assay_jsonw_open_flat(w, NULL, '{');
		assay_jsonw_z(w, "family", assay_family_name[s->family]);
		assay_jsonw_z(w, "a", s->a);
		assay_jsonw_z(w, "b", s->b);
		assay_jsonw_f64(w, "change_ns", s->change);
		assay_jsonw_bool(w, "fallback", s->fallback);
		assay_jsonw_z(w, "environment", s->library);
		assay_jsonw_close(w, '}');
	}
	assay_jsonw_close(w, ']');
}

static void put_facts(assay_jsonw *w, const assay_diff *d)
{
	assay_jsonw_open(w, "facts", '[');
	for (size_t i = 0; i < d->facts.n; i++) {
		assay_jsonw_open_flat(w, NULL, '{');
		assay_jsonw_z(w, "name", d->facts.p[i].name);
		assay_jsonw_z(w, "a", d->facts.p[i].a);
		assay_jsonw_z(w, "b", d->facts.p[i].b);
		assay_jsonw_close(w, '}');
	}
	assay_jsonw_close(w, ']');
}

static void put_env(assay_jsonw *w, const assay_diff *d)
{
	assay_jsonw_open(w, "environment", '{');
	assay_jsonw_z(w, "missing", d->env_missing);
	assay_jsonw_u64(w, "different", d->env.n);
	assay_jsonw_u64(w, "same", d->env_same);
	assay_jsonw_u64(w, "unknown", d->env_unknown);
	assay_jsonw_open(w, "rows", '[');
	for (size_t i = 0; i < d->env.n; i++) {
		const assay_env_change *e = &d->env.p[i];
		assay_jsonw_open_flat(w, NULL, '{');
		assay_jsonw_z(w, "path", e->path);
		assay_jsonw_z(w, "group", e->group);
		assay_jsonw_z(w, "kind", e->kind);
		assay_jsonw_z(w, "a", e->a);
		assay_jsonw_z(w, "b", e->b);
		assay_jsonw_z(w, "why", e->why);
		assay_jsonw_z(w, "follows_from", e->cause);
		assay_jsonw_close(w, '}');
	}
	assay_jsonw_close(w, ']');
	assay_jsonw_close(w, '}');
}

static void put_gates(assay_jsonw *w, const assay_diff *d)
{
	assay_jsonw_open(w, "limits", '[');
	for (size_t i = 0; i < d->gates.n; i++) {
		const assay_gate *g = &d->gates.p[i];
		assay_jsonw_open_flat(w, NULL, '{');
		assay_jsonw_z(w, "rule", g->rule);
		assay_jsonw_z(w, "figure", g->figure->name);
		assay_jsonw_z(w, "unit", g->figure->unit ? g->figure->unit : "ns");
		assay_jsonw_f64(w, "change", assay_delta_change(g->figure));
		assay_jsonw_f64(w, "limit", g->limit);
		assay_jsonw_f64(w, "noise", g->figure->noise < 0 ? NAN : g->figure->noise);
		assay_jsonw_bool(w, "over", g->over);
		assay_jsonw_bool(w, "failed", g->failed);
		assay_jsonw_close(w, '}');
	}
	assay_jsonw_close(w, ']');
}

void assay_diff_json(assay_jsonw *w, const assay_diff *d, size_t top)
{
	assay_jsonw_open(w, NULL, '{');
	assay_jsonw_z(w, "assay", ASSAY_VERSION);
	assay_jsonw_u64(w, "schema", ASSAY_REPORT_SCHEMA);
	assay_jsonw_z(w, "sentence", d->sentence);
	assay_jsonw_bool(w, "same", d->same);
	assay_jsonw_open_flat(w, "steps", '[');
	assay_jsonw_u64(w, NULL, d->steps[0]);
	assay_jsonw_u64(w, NULL, d->steps[1]);
	assay_jsonw_close(w, ']');
	assay_jsonw_z(w, "step_is", d->by_median ? "median" : "mean");
	put_delta(w, "step", &d->step, NOTHING);
	put_pair(w, "step_mean_ns", d->mean);
	put_pair(w, "step_spread_ns", d->spread);
	assay_jsonw_open_flat(w, "aligned", '{');
	assay_jsonw_u64(w, "steps", d->pairs);
	assay_jsonw_f64(w, "correlation", d->correlation);
	assay_jsonw_bool(w, "noise_from_pairs", d->by_pairs);
	assay_jsonw_close(w, '}');
	put_deltas(w, "parts", d->parts.p, d->parts.n, NOTHING);
	put_deltas(w, "budget", d->budget.p, d->budget.n, UNIT);
	put_deltas(w, "idle_causes", d->causes.p, d->causes.n, NOTHING);
	put_deltas(w, "waits", d->waits.p, d->waits.n, COUNTS | RESOLVED);
	put_deltas(w, "families", d->families.p, d->families.n, CHANGE | COUNTS);
	put_deltas(w, "kernels", d->kernels.p, top < d->kernels.n ? top : d->kernels.n,
		   CHANGE | COUNTS);
	put_deltas(w, "ops", d->ops.p, top < d->ops.n ? top : d->ops.n, CHANGE | COUNTS);
	put_deltas(w, "lines", d->lines.p, top < d->lines.n ? top : d->lines.n, CHANGE | COUNTS);
	put_deltas(w, "waiting_lines", d->waited.p, top < d->waited.n ? top : d->waited.n,
		   CHANGE | COUNTS);
	put_gates(w, d);
	put_pair(w, "common_gpu_share", d->common);
	assay_jsonw_bool(w, "different_programs", d->unrelated);
	put_switches(w, d);
	put_facts(w, d);
	put_env(w, d);
	assay_jsonw_close(w, '}');
}

static void print_delta(FILE *out, const assay_delta *d, const char *name)
{
	char a[ASSAY_FMT], b[ASSAY_FMT], c[ASSAY_FMT], n[ASSAY_FMT];
	double change = assay_delta_change(d);
	const char *noise = d->noise < 0 ? "-" : assay_fmt_ns(n, d->noise);
	if (isnan(change))
		fprintf(out, "  %8s %8s %9s %8s %-5s %s\n", assay_fmt_ns(a, d->a),
			assay_fmt_ns(b, d->b), "-", noise, "-", name);
	else
		fprintf(out, "  %8s %8s %c%8s %8s %-5s %s\n", assay_fmt_ns(a, d->a),
			assay_fmt_ns(b, d->b), change < 0 ? '-' : '+',
			assay_fmt_ns(c, fabs(change)), noise, verdict(d), name);
}

static void print_kind_of_step(FILE *out, const assay_diff *d)
{
	char a[ASSAY_FMT], b[ASSAY_FMT], x[ASSAY_FMT], y[ASSAY_FMT];
	if (d->by_median)
		fprintf(out,
			"  step is the median of %llu and %llu; mean, the sum of its parts, %s and %s, spread %s and %s\n",
			(unsigned long long)d->steps[0], (unsigned long long)d->steps[1],
			assay_fmt_ns(a, d->mean[0]), assay_fmt_ns(b, d->mean[1]),
			assay_fmt_ns(x, d->spread[0]), assay_fmt_ns(y, d->spread[1]));
	else if (d->steps[0] && d->steps[1])
		fprintf(out,
			"  step is the mean of %llu and %llu, the sum of its parts; a median takes five\n",
			(unsigned long long)d->steps[0], (unsigned long long)d->steps[1]);
}

static const char *unit_text(char buf[ASSAY_FMT], double v, const char *unit)
{
	if (isnan(v))
		return "unknown";
	snprintf(buf, ASSAY_FMT, "%.1f %s", v, unit);
	return buf;
}

/* Capacity is not time, and never judged. */
static void print_capacity(FILE *out, const assay_delta *d)
{
	char a[ASSAY_FMT], b[ASSAY_FMT], c[ASSAY_FMT];
	double change = assay_delta_change(d);
	bool known = !isnan(change);
	fprintf(out, "  %8s %8s %c%8s %8s %-5s %s\n", unit_text(a, d->a, d->unit),
		unit_text(b, d->b, d->unit),
		!known       ? ' '
		: change < 0 ? '-'
			     : '+',
		known ? unit_text(c, fabs(change), d->unit) : "-", "", known ? "" : "-", d->name);
}

static void print_budget(FILE *out, const assay_diff *d)
{
	if (d->budget.n)
		fprintf(out, "\nWaste budget, per step\n");
	for (size_t i = 0; i < d->budget.n; i++) {
		const assay_delta *x = &d->budget.p[i];
		if (x->unit)
			print_capacity(out, x);
		else
			print_delta(out, x, x->name);
	}
}

static void print_waits(FILE *out, const assay_diff *d)
{
	assay_arena scratch = {0};
	if (d->waits.n)
		fprintf(out, "\nWaits, per step\n");
	for (size_t i = 0; i < d->waits.n; i++) {
		const assay_delta *w = &d->waits.p[i];
		print_delta(out, w,
			    assay_printf(&scratch,
					 "%s (%.4g -> %.4g per step; producer known %.4g -> %.4g)",
					 w->name, w->counts[0], w->counts[1], w->resolved[0],
					 w->resolved[1]));
	}
	assay_arena_free(&scratch);
}

static void print_kernels(FILE *out, const assay_diff *d, size_t top)
{
	assay_arena scratch = {0};
	size_t n = 0;
	assay_str *name = assay_alloc(&scratch, (d->kernels.n + 1) * sizeof *name);
	fprintf(out, "\nKernels, per step\n");
	for (; n < d->kernels.n && n < top && assay_delta_change(&d->kernels.p[n]); n++)
		name[n] = assay_str_of(d->kernels.p[n].name);
	const char **label = assay_labels_apart(&scratch, name, n, NAME_WIDTH);
	for (size_t i = 0; i < n; i++) {
		const assay_delta *k = &d->kernels.p[i];
		print_delta(out, k,
			    assay_printf(&scratch, "%s%s (%.4g -> %.4g per step)",
					 !k->counts[0]   ? "added: "
					 : !k->counts[1] ? "removed: "
							 : "",
					 label[i], k->counts[0], k->counts[1]));
	}
	if (!n)
		fprintf(out, "  no kernel changed\n");
	assay_arena_free(&scratch);
}

static void print_switches(FILE *out, const assay_diff *d)
{
	char t[ASSAY_FMT];
	if (d->switches.n)
		fprintf(out, "\nOther code than before\n");
	for (size_t i = 0; i < d->switches.n; i++) {
		const assay_switch *s = &d->switches.p[i];
		fprintf(out, "  %s %s from %s to %s: %c%s per step%s%s\n",
			assay_family_name[s->family], s->fallback ? "fell back" : "went", s->a,
			s->b, s->change < 0 ? '-' : '+', assay_fmt_ns(t, fabs(s->change)),
			s->library ? "; " : "", s->library ? s->library : "");
	}
}

static void print_env(FILE *out, const assay_diff *d)
{
	fprintf(out, "\nEnvironment\n");
	if (d->env_missing) {
		fprintf(out, "  not compared: %s\n", d->env_missing);
		return;
	}
	assay_arena scratch = {0};
	for (size_t i = 0; i < d->env.n && i < ENV_TOP; i++) {
		const assay_env_change *e = &d->env.p[i];
		fprintf(out, "  %-44s %s -> %s\n      %s%s%s\n",
			assay_fmt_safe(&scratch, assay_str_of(e->path)),
			assay_fmt_safe(&scratch, assay_str_of(e->a)),
			assay_fmt_safe(&scratch, assay_str_of(e->b)), e->why,
			e->cause ? "; follows from " : "", e->cause ? e->cause : "");
	}
	if (d->env.n > ENV_TOP)
		fprintf(out, "  ... %zu more (`assay env diff` lists them)\n", d->env.n - ENV_TOP);
	fprintf(out, "  %zu different, %u same, %u known on one side only\n", d->env.n, d->env_same,
		d->env_unknown);
	assay_arena_free(&scratch);
}

/* Rows that changed, with how often each comes per step. */
static void print_changed(FILE *out, const char *title, const assay_deltas *rows, size_t top)
{
	assay_arena scratch = {0};
	size_t shown = 0;
	for (size_t i = 0; i < rows->n && shown < top && assay_delta_change(&rows->p[i]); i++) {
		const assay_delta *o = &rows->p[i];
		if (!shown++)
			fprintf(out, "\n%s, per step\n", title);
		print_delta(out, o,
			    assay_printf(&scratch, "%s%s (%.4g -> %.4g)",
					 !o->counts[0]   ? "added: "
					 : !o->counts[1] ? "removed: "
							 : "",
					 assay_fmt_safe(&scratch, assay_str_of(o->name)),
					 o->counts[0], o->counts[1]));
	}
	assay_arena_free(&scratch);
}

static void print_gates(FILE *out, const assay_diff *d)
{
	char c[ASSAY_FMT], l[ASSAY_FMT], n[ASSAY_FMT];
	if (d->gates.n)
		fprintf(out, "\nLimits\n");
	for (size_t i = 0; i < d->gates.n; i++) {
		const assay_gate *g = &d->gates.p[i];
		double grew = assay_delta_change(g->figure);
		fprintf(out, "  %-6s %s: %s%s, limit +%s, noise %s\n",
			g->failed ? "failed"
			: g->over ? "noise"
				  : "kept",
			g->rule, grew < 0 ? "" : "+", assay_fmt_ns(c, grew),
			assay_fmt_ns(l, g->limit),
			g->figure->noise < 0 ? "unknown" : assay_fmt_ns(n, g->figure->noise));
	}
}

void assay_diff_text(FILE *out, const assay_diff *d, size_t top)
{
	fprintf(out, "%s\n", d->sentence);
	if (d->unrelated)
		fprintf(out, "Different programs? %s\n", d->unrelated_by);
	print_gates(out, d);
	fprintf(out, "\n  %8s %8s %9s %8s\n", "before", "after", "change", "noise");
	print_delta(out, &d->step, "step");
	for (size_t i = 0; i < d->parts.n; i++)
		print_delta(out, &d->parts.p[i], d->parts.p[i].name);
	print_kind_of_step(out, d);
	if (d->by_pairs)
		fprintf(out,
			"  %zu steps are compared one by one: they vary alike (correlation %.2f), so noise is that of their differences\n",
			d->pairs, d->correlation);
	print_switches(out, d);
	print_budget(out, d);
	fprintf(out, "\nWhy the device was idle, per step\n");
	for (size_t i = 0; i < d->causes.n; i++)
		if (d->causes.p[i].a > 0 || d->causes.p[i].b > 0)
			print_delta(out, &d->causes.p[i], d->causes.p[i].name);
	print_waits(out, d);
	fprintf(out, "\nFamilies of kernels, per step\n");
	for (size_t i = 0; i < d->families.n; i++)
		print_delta(out, &d->families.p[i], d->families.p[i].name);
	print_changed(out, "Operators", &d->ops, top ? top : TOP);
	print_changed(out, "Lines that launch work", &d->lines, top ? top : TOP);
	print_changed(out, "Lines that the device waits at", &d->waited, top ? top : TOP);
	print_kernels(out, d, top ? top : TOP);
	for (size_t i = 0; i < d->facts.n; i++)
		fprintf(out, "%s  %s: %s -> %s\n", i ? "" : "\nFacts that differ\n",
			d->facts.p[i].name, d->facts.p[i].a, d->facts.p[i].b);
	print_env(out, d);
	fprintf(out,
		d->step.noise < 0
			? "\n"
			  "A run with one step shows no noise: only changes over 1%% of the step count.\n"
			: "\n"
			  "Real is a change beyond its noise (twice the standard error over steps) and 0.2%% of the step.\n");
}
