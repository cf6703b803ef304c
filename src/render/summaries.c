/* Sums that the recorder itself made, of inputs that have no times. */
#include "base/fmt.h"
#include "base/sort.h"
#include "render/printout.h"
#include "render/report.h"

enum { TOP = 20 };

static uint32_t *by_total(const assay_run *run, assay_arena *a)
{
	const assay_stat_table *s = &run->part.t.stat;
	uint32_t *row = assay_alloc(a, (s->n + 1) * sizeof *row);
	for (uint32_t i = 0; i < s->n; i++)
		row[i] = i;
	assay_sort_rows_falling(row, s->n, s->total);
	return row;
}

static const char *time_text(assay_printout *p, int64_t ns)
{
	char t[ASSAY_FMT];
	return ns < 0 ? "-" : assay_printf(&p->scratch, "%s", assay_fmt_time(t, ns));
}

/* Kernels have templates and arguments, functions are short. */
static const char *name_text(assay_printout *p, assay_str name)
{
	bool kernel = assay_str_find(name, "<") >= 0 || assay_str_find(name, "(") >= 0;
	return kernel ? assay_kernel_label(&p->scratch, name, assay_room(p, 62))
		      : assay_cut(&p->scratch, assay_fmt_safe(&p->scratch, name),
				  assay_room(p, 62));
}

void assay_summaries_text(assay_printout *p)
{
	const assay_stat_table *s = &p->run->part.t.stat;
	const uint32_t *row = by_total(p->run, &p->scratch);
	size_t top = p->top ? p->top : TOP;
	char n[ASSAY_FMT];
	if (!s->n)
		return;
	assay_print_heading(p, "Sums of the recorder, without times");
	fprintf(p->out, "  %9s %9s %9s %9s  %-18s  %s\n", "total", "count", "least", "most", "of",
		"name");
	for (size_t i = 0; i < s->n && i < top; i++)
		fprintf(p->out, "  %9s %9s %9s %9s  %-18s  %s\n", time_text(p, s->total[row[i]]),
			assay_fmt_count(n, s->calls[row[i]]), time_text(p, s->min[row[i]]),
			time_text(p, s->max[row[i]]),
			assay_cut(
				&p->scratch,
				assay_fmt_safe(&p->scratch, assay_text(p->run, s->domain[row[i]])),
				18),
			name_text(p, assay_text(p->run, s->name[row[i]])));
	if (s->n > top)
		fprintf(p->out, "  ... %zu more (--top N shows them)\n", s->n - top);
}

void assay_summaries_json(assay_jsonw *w, const assay_run *run)
{
	const assay_stat_table *s = &run->part.t.stat;
	assay_arena scratch = {0};
	const uint32_t *row = by_total(run, &scratch);
	assay_jsonw_open(w, "summaries", '[');
	for (size_t i = 0; i < s->n; i++) {
		assay_jsonw_open_flat(w, NULL, '{');
		assay_jsonw_str(w, "of", assay_text(run, s->domain[row[i]]));
		assay_jsonw_str(w, "name", assay_text(run, s->name[row[i]]));
		assay_jsonw_u64(w, "count", s->calls[row[i]]);
		assay_jsonw_i64_if(w, "total_ns", s->total[row[i]] >= 0, s->total[row[i]]);
		assay_jsonw_i64_if(w, "least_ns", s->min[row[i]] >= 0, s->min[row[i]]);
		assay_jsonw_i64_if(w, "most_ns", s->max[row[i]] >= 0, s->max[row[i]]);
		assay_jsonw_close(w, '}');
	}
	assay_jsonw_close(w, ']');
	assay_arena_free(&scratch);
}
