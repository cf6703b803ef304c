/* Two runs side by side. */
#include <math.h>

#include "base/fmt.h"
#include "render/report.h"

enum { TOP = 20, NAME_WIDTH = 58 };

static void put_delta(assay_jsonw *w, const char *key, const assay_delta *d, bool kernel)
{
	assay_jsonw_open_flat(w, key, '{');
	if (!key)
		assay_jsonw_z(w, "name", d->name);
	if (kernel)
		assay_jsonw_z(w, "change",
			      !d->counts[0]   ? "added"
			      : !d->counts[1] ? "removed"
					      : "changed");
	assay_jsonw_f64(w, "a_ns", d->a);
	assay_jsonw_f64(w, "b_ns", d->b);
	assay_jsonw_f64(w, "change_ns", assay_delta_change(d));
	if (d->noise < 0)
		assay_jsonw_null(w, "noise_ns");
	else
		assay_jsonw_f64(w, "noise_ns", d->noise);
	if (kernel) {
		assay_jsonw_f64(w, "a_count", d->counts[0]);
		assay_jsonw_f64(w, "b_count", d->counts[1]);
	}
	assay_jsonw_bool(w, "real", d->real);
	assay_jsonw_close(w, '}');
}

static void put_deltas(assay_jsonw *w, const char *key, const assay_delta *d, size_t n, bool kernel)
{
	assay_jsonw_open(w, key, '[');
	for (size_t i = 0; i < n; i++)
		put_delta(w, NULL, &d[i], kernel);
	assay_jsonw_close(w, ']');
}

void assay_diff_json(assay_jsonw *w, const assay_diff *d)
{
	assay_jsonw_open(w, NULL, '{');
	assay_jsonw_z(w, "assay", ASSAY_VERSION);
	assay_jsonw_z(w, "sentence", d->sentence);
	assay_jsonw_bool(w, "same", d->same);
	assay_jsonw_open_flat(w, "steps", '[');
	assay_jsonw_u64(w, NULL, d->steps[0]);
	assay_jsonw_u64(w, NULL, d->steps[1]);
	assay_jsonw_close(w, ']');
	put_delta(w, "step", &d->step, false);
	put_deltas(w, "parts", d->parts.p, d->parts.n, false);
	put_deltas(w, "idle_causes", d->causes.p, d->causes.n, false);
	put_deltas(w, "families", d->families.p, d->families.n, true);
	put_deltas(w, "kernels", d->kernels.p, d->kernels.n, true);
	assay_jsonw_open(w, "facts", '[');
	for (size_t i = 0; i < d->facts.n; i++) {
		assay_jsonw_open_flat(w, NULL, '{');
		assay_jsonw_z(w, "name", d->facts.p[i].name);
		assay_jsonw_z(w, "a", d->facts.p[i].a);
		assay_jsonw_z(w, "b", d->facts.p[i].b);
		assay_jsonw_close(w, '}');
	}
	assay_jsonw_close(w, ']');
	assay_jsonw_close(w, '}');
}

static void print_delta(FILE *out, const assay_delta *d, const char *name)
{
	char a[ASSAY_FMT], b[ASSAY_FMT], c[ASSAY_FMT];
	double change = assay_delta_change(d);
	fprintf(out, "  %10s %10s %c%10s  %-6s  %s\n", assay_fmt_time(a, (int64_t)d->a),
		assay_fmt_time(b, (int64_t)d->b), change < 0 ? '-' : '+',
		assay_fmt_time(c, (int64_t)fabs(change)),
		d->real        ? "real"
		: d->noise < 0 ? "small"
		: change == 0  ? "same"
			       : "noise",
		name);
}

static void print_kernels(FILE *out, const assay_diff *d, size_t top)
{
	assay_arena scratch = {0};
	size_t shown = 0;
	for (size_t i = 0; i < d->kernels.n && shown < top; i++) {
		const assay_delta *k = &d->kernels.p[i];
		if (!assay_delta_change(k))
			break;
		const char *name = assay_fmt_kernel(&scratch, assay_str_of(k->name), NAME_WIDTH);
		print_delta(out, k,
			    assay_printf(&scratch, "%s%s (%.4g -> %.4g per step)",
					 !k->counts[0]   ? "added: "
					 : !k->counts[1] ? "removed: "
							 : "",
					 name, k->counts[0], k->counts[1]));
		shown++;
	}
	if (!shown)
		fprintf(out, "  no kernel changed\n");
	assay_arena_free(&scratch);
}

void assay_diff_text(FILE *out, const assay_diff *d, size_t top)
{
	fprintf(out, "%s\n\n  %10s %10s %11s\n", d->sentence, "before", "after", "change");
	print_delta(out, &d->step, "step");
	for (size_t i = 0; i < d->parts.n; i++)
		print_delta(out, &d->parts.p[i], d->parts.p[i].name);
	fprintf(out, "\nWhy the device was idle, per step\n");
	for (size_t i = 0; i < d->causes.n; i++)
		if (d->causes.p[i].a > 0 || d->causes.p[i].b > 0)
			print_delta(out, &d->causes.p[i], d->causes.p[i].name);
	fprintf(out, "\nFamilies of kernels, per step\n");
	for (size_t i = 0; i < d->families.n; i++)
		print_delta(out, &d->families.p[i], d->families.p[i].name);
	fprintf(out, "\nKernels, per step\n");
	print_kernels(out, d, top ? top : TOP);
	for (size_t i = 0; i < d->facts.n; i++)
		fprintf(out, "%s  %s: %s -> %s\n", i ? "" : "\nFacts that differ\n",
			d->facts.p[i].name, d->facts.p[i].a, d->facts.p[i].b);
	if (d->step.noise < 0)
		fprintf(out,
			"\nA run with one step tells no noise: only changes over 1%% of the step "
			"count.\n");
}
