/* A comparison for a pull request: Markdown with what changed, and whether limits hold. */
#include <math.h>

#include "base/fmt.h"
#include "render/printout.h"
#include "render/report.h"

const char *assay_markdown(assay_arena *a, const char *text)
{
	size_t n = strlen(text), at = 0;
	char *out = assay_alloc(a, 2 * n + 1);
	for (; *text; text++) {
		if (strchr("|\\`*_<>[]", *text))
			out[at++] = '\\';
		out[at++] = *text;
	}
	return out;
}

static void put_row(FILE *out, assay_arena *a, const assay_delta *d, const char *name)
{
	char before[ASSAY_FMT], after[ASSAY_FMT], change[ASSAY_FMT], noise[ASSAY_FMT];
	double grew = assay_delta_change(d);
	fprintf(out, "| %s | %s | %s | ", assay_markdown(a, name), assay_fmt_ns(before, d->a),
		assay_fmt_ns(after, d->b));
	if (isnan(grew))
		fprintf(out, "| | |\n");
	else
		fprintf(out, "%s%s%s | %s | %s |\n", grew < 0 ? "" : "+",
			assay_fmt_ns(change, grew),
			d->a > 0 ? assay_printf(a, " (%+.1f%%)", 100 * grew / d->a) : "",
			d->noise < 0 ? "unknown" : assay_fmt_ns(noise, d->noise),
			d->real ? "**real**" : "");
}

static void put_head(FILE *out, const char *what)
{
	fprintf(out,
		"\n| %s | before | after | change | noise | |\n|---|---:|---:|---:|---:|---|\n",
		what);
}

static void put_changed(FILE *out, assay_arena *a, const char *what, const assay_deltas *rows,
			size_t top)
{
	enum { ROOM = 80 };
	size_t n = 0;
	const assay_delta **row = assay_alloc(a, (rows->n + 1) * sizeof *row);
	assay_str *name = assay_alloc(a, (rows->n + 1) * sizeof *name);
	for (size_t i = 0; i < rows->n && n < top; i++) {
		if (!rows->p[i].real)
			continue;
		name[n] = assay_str_of(rows->p[i].name);
		row[n++] = &rows->p[i];
	}
	const char **label = assay_labels_apart(a, name, n, ROOM);
	if (n)
		put_head(out, what);
	for (size_t i = 0; i < n; i++)
		put_row(out, a, row[i], label[i]);
}

static void put_gates(FILE *out, assay_arena *a, const assay_diff *d)
{
	for (size_t i = 0; i < d->gates.n; i++) {
		const assay_gate *g = &d->gates.p[i];
		if (!i)
			fprintf(out, "\n| limit | |\n|---|---|\n");
		fprintf(out, "| %s | %s |\n", assay_markdown(a, g->rule),
			g->failed ? "**failed**"
			: g->over ? "over, but within noise"
				  : "kept");
	}
}

void assay_diff_markdown(FILE *out, const assay_diff *d, size_t top)
{
	enum { TOP = 10 };
	assay_arena a = {0};
	top = top ? top : TOP;
	fprintf(out, "### %s\n", assay_markdown(&a, d->sentence));
	if (d->unrelated)
		fprintf(out,
			"\n"
			"> **Different programs?** %s\n",
			d->unrelated_by);
	put_gates(out, &a, d);
	put_head(out, "per step");
	put_row(out, &a, &d->step, "step");
	for (size_t i = 0; i < d->parts.n; i++)
		put_row(out, &a, &d->parts.p[i], d->parts.p[i].name);
	put_changed(out, &a, "idle by cause", &d->causes, top);
	put_changed(out, &a, "operator", &d->ops, top);
	put_changed(out, &a, "line that launches work", &d->lines, top);
	put_changed(out, &a, "line that the device waits at", &d->waited, top);
	put_changed(out, &a, "kernel", &d->kernels, top);
	for (size_t i = 0; i < d->env.n && i < top; i++)
		fprintf(out, "%s- %s: %s -> %s\n", i ? "" : "\nEnvironment:\n\n",
			assay_markdown(&a, d->env.p[i].path), assay_markdown(&a, d->env.p[i].a),
			assay_markdown(&a, d->env.p[i].b));
	fprintf(out, "\nReal: beyond noise and 0.2 %% of the step.\n");
	assay_arena_free(&a);
}
