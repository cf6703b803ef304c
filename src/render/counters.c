/* Hardware counters, by kernel and counter. */
#include <stdlib.h>

#include "base/fmt.h"
#include "render/printout.h"
#include "render/report.h"

enum { TOP = 20 };

typedef struct counter_sum {
	assay_sid kernel, name;
	uint64_t count;
	double sum;
} counter_sum;
typedef assay_vec(counter_sum) counter_sums;

/* Kernels in the order in which they were met, so that their counters stand together. */
static counter_sums sum_counters(const assay_run *run)
{
	const assay_pmc_table *c = &run->part.t.pmc;
	counter_sums out = {0};
	assay_map at = {0};
	for (size_t i = 0; i < c->n; i++) {
		uint32_t *slot = assay_map_at(&at, (uint64_t)c->kernel[i] << 32 | c->name[i]);
		if (*slot == ASSAY_MAP_ABSENT) {
			*slot = (uint32_t)out.n;
			*assay_push(&out) =
				(counter_sum){.kernel = c->kernel[i], .name = c->name[i]};
		}
		out.p[*slot].count++;
		out.p[*slot].sum += c->value[i];
	}
	assay_map_free(&at);
	return out;
}

void assay_counters_text(assay_printout *p)
{
	counter_sums s = sum_counters(p->run);
	size_t top = p->top ? p->top : TOP;
	char n[ASSAY_FMT];
	if (s.n) {
		assay_print_heading(p, "Hardware counters");
		fprintf(p->out, "  %14s %8s  %-30s  %s\n", "mean", "launches", "counter", "kernel");
	}
	for (size_t i = 0; i < s.n && i < top; i++)
		fprintf(p->out, "  %14.6g %8s  %-30s  %s\n", s.p[i].sum / (double)s.p[i].count,
			assay_fmt_count(n, s.p[i].count),
			assay_cut(&p->scratch,
				  assay_fmt_safe(&p->scratch, assay_text(p->run, s.p[i].name)), 30),
			assay_kernel_label(&p->scratch, assay_text(p->run, s.p[i].kernel),
					   assay_room(p, 59)));
	if (s.n > top)
		fprintf(p->out, "  ... %zu more (--top N shows them)\n", s.n - top);
	assay_vec_free(&s);
}

void assay_counters_json(assay_jsonw *w, const assay_run *run)
{
	counter_sums s = sum_counters(run);
	assay_jsonw_open(w, "hardware_counters", '[');
	for (size_t i = 0; i < s.n; i++) {
		assay_jsonw_open_flat(w, NULL, '{');
		assay_jsonw_str(w, "kernel", assay_text(run, s.p[i].kernel));
		assay_jsonw_str(w, "name", assay_text(run, s.p[i].name));
		assay_jsonw_u64(w, "count", s.p[i].count);
		assay_jsonw_f64(w, "mean", s.p[i].sum / (double)s.p[i].count);
		assay_jsonw_close(w, '}');
	}
	assay_jsonw_close(w, ']');
	assay_vec_free(&s);
}
