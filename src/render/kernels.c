/* Kernels in the report: families, and a table in which no two have the same name. */
#include <stdlib.h>

#include "base/demangle.h"
#include "base/fmt.h"
#include "base/test.h"
#include "render/printout.h"
#include "render/report.h"

enum { TOP = 20, TOP_OF_MANY = 8, EXCERPT = 24, WIDE = 100 };

static void print_families(assay_printout *p, const uint32_t *rows, size_t n, int64_t total)
{
	const assay_kernel_table *k = &p->run->part.t.kernel;
	int64_t time[ASSAY_FAMILY_COUNT] = {0};
	bool shown[ASSAY_FAMILY_COUNT] = {false};
	const char *text = "by family:";
	for (size_t i = 0; i < n; i++)
		time[k->family[rows[i]]] += k->total[rows[i]];
	for (int round = 0; round < ASSAY_FAMILY_COUNT; round++) {
		int best = -1;
		for (int f = 0; f < ASSAY_FAMILY_COUNT; f++)
			if (!shown[f] && time[f] && (best < 0 || time[f] > time[best]))
				best = f;
		if (best < 0)
			break;
		shown[best] = true;
		text = assay_printf(&p->scratch, "%s %s %.1f%%", text, assay_family_name[best],
				    assay_percent(time[best], total));
	}
	fputs("  ", p->out);
	assay_print_flow(p, 2, text);
}

static const char *full_name(assay_printout *p, uint32_t row)
{
	assay_str name = assay_text(p->run, p->run->part.t.kernel.name[row]);
	return assay_fmt_safe(&p->scratch, assay_demangle(&p->scratch, name));
}

/* Where two names begin to differ, at the start of that word or a few letters before. */
static size_t parting(const char *a, const char *b)
{
	size_t differ = 0;
	while (a[differ] && a[differ] == b[differ])
		differ++;
	size_t at = differ;
	while (at && !strchr("<(, :", a[at - 1]))
		at--;
	return differ - at > EXCERPT / 2 ? differ - 4 : at;
}

/* "[4, float]": what stands in this name where it parts from another of the same label. */
static const char *apart(assay_printout *p, const char *label, const char *name, size_t at,
			 size_t room)
{
	const char *what = assay_cut(&p->scratch, name + at, EXCERPT);
	size_t used = strlen(what) + 3;
	return assay_printf(&p->scratch, "%s [%s]",
			    assay_cut(&p->scratch, label, room > used + 8 ? room - used : 8), what);
}

/* Labels of rows, no two alike: where they are, they end with what tells them apart, or a number.
 */
const char **assay_kernel_labels(assay_printout *p, const uint32_t *rows, size_t n, size_t room)
{
	const assay_kernel_table *k = &p->run->part.t.kernel;
	const char **plain = assay_alloc(&p->scratch, (n + 1) * sizeof *plain);
	const char **label = assay_alloc(&p->scratch, (n + 1) * sizeof *label);
	for (size_t i = 0; i < n; i++) {
		assay_str name = assay_text(p->run, k->name[rows[i]]);
		plain[i] = p->full_names ? full_name(p, rows[i])
					 : assay_kernel_label(&p->scratch, name, room);
		label[i] = plain[i];
	}
	for (size_t i = 0; i < n && !p->full_names; i++) {
		size_t at = 0;
		for (size_t o = 0; o < n; o++)
			if (o != i && !strcmp(plain[o], plain[i])) {
				size_t here = parting(full_name(p, rows[i]), full_name(p, rows[o]));
				at = here > at ? here : at;
			}
		if (at)
			label[i] = apart(p, plain[i], full_name(p, rows[i]), at, room);
		for (size_t o = 0, same = 1; o < i; o++)
			if (!strcmp(label[o], label[i])) {
				label[i] = assay_printf(&p->scratch, "%s #%zu",
							assay_cut(&p->scratch, plain[i], room - 4),
							++same);
				o = 0;
			}
	}
	return label;
}

void assay_kernels_text(assay_printout *p)
{
	const assay_kernel_table *k = &p->run->part.t.kernel;
	size_t n;
	const uint32_t *rows = assay_kernels_by_time(p->run, &p->scratch, &n);
	int64_t total = assay_kernel_total(p->run);
	bool many = p->run->part.t.rank.n > ASSAY_PRINT_FEW;
	size_t top = p->top ? p->top : many ? TOP_OF_MANY : TOP;
	char t[4][ASSAY_FMT], c[ASSAY_FMT];
	if (!n)
		return;
	assay_print_heading(p, "Kernels");
	print_families(p, rows, n, total);
	bool wide = p->width >= WIDE || p->full_names;
	fprintf(p->out, "  %8s %6s %7s %8s %8s%s  %s\n", "total", "share", "count", "median",
		wide ? "least" : "most", wide ? "     most" : "", "name");
	top = top < n ? top : n;
	const char **label = assay_kernel_labels(p, rows, top, assay_room(p, wide ? 54 : 45));
	for (size_t i = 0; i < top; i++) {
		uint32_t r = rows[i];
		fprintf(p->out, "  %8s %5.1f%% %7s %8s ", assay_fmt_time(t[0], k->total[r]),
			assay_percent(k->total[r], total), assay_fmt_count(c, k->count[r]),
			assay_fmt_time(t[1], k->median[r]));
		if (wide)
			fprintf(p->out, "%8s ", assay_fmt_time(t[2], k->min[r]));
		fprintf(p->out, "%8s  %s\n", assay_fmt_time(t[3], k->max[r]), label[i]);
	}
	if (n > top)
		fprintf(p->out, "  ... %zu more kernels (--top N shows them)\n", n - top);
}
