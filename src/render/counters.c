/* Hardware counters, by kernel and counter. */
#include <stdlib.h>

#include "base/fmt.h"
#include "render/printout.h"
#include "render/report.h"

enum { TOP = 20, FIXED = 29 /* columns before and between names */ };

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

/* Labels of the first rows' kernels, or of their counters: by name, of which rows may have one. */
static const char **labels_of(assay_printout *p, const counter_sums *s, size_t n, bool kernels,
			      size_t room)
{
	assay_map known = {0};
	size_t names = 0;
	assay_str *name = assay_alloc(&p->scratch, (n + 1) * sizeof *name);
	uint32_t *of = assay_alloc(&p->scratch, (n + 1) * sizeof *of);
	const char **label = assay_alloc(&p->scratch, (n + 1) * sizeof *label);
	for (size_t i = 0; i < n; i++) {
		assay_sid id = kernels ? s->p[i].kernel : s->p[i].name;
		uint32_t *slot = assay_map_at(&known, id);
		if (*slot == ASSAY_MAP_ABSENT) {
			name[names] = assay_text(p->run, id);
			*slot = (uint32_t)names++;
		}
		of[i] = *slot;
	}
	const char **text =
		assay_labels_apart(&p->scratch, name, names, p->full_names ? ASSAY_ANY_ROOM : room);
	for (size_t i = 0; i < n; i++)
		label[i] = text[of[i]];
	assay_map_free(&known);
	return label;
}

static size_t widest(const char *const *label, size_t n, size_t least)
{
	for (size_t i = 0; i < n; i++)
		least = assay_columns(label[i]) > least ? assay_columns(label[i]) : least;
	return least;
}

void assay_counters_text(assay_printout *p)
{
	counter_sums s = sum_counters(p->run);
	size_t top = p->top ? p->top : TOP;
	char n[ASSAY_FMT];
	size_t shown = s.n < top ? s.n : top, room = assay_room(p, FIXED);
	/* two fifths for kernels, what they leave for counters, and the rest for kernels */
	const char **kernel = labels_of(p, &s, shown, true, room * 2 / 5);
	const char **counter =
		labels_of(p, &s, shown, false, room - widest(kernel, shown, strlen("kernel")));
	size_t width = widest(counter, shown, strlen("counter"));
	kernel = labels_of(p, &s, shown, true, assay_room(p, FIXED + width));
	if (s.n) {
		assay_print_heading(p, "Hardware counters");
		fprintf(p->out, "  %14s %8s  %-*s  %s\n", "mean", "launches", (int)width, "counter",
			"kernel");
	}
	for (size_t i = 0; i < shown; i++)
		fprintf(p->out, "  %14.6g %8s  %-*s  %s\n", s.p[i].sum / (double)s.p[i].count,
			assay_fmt_count(n, s.p[i].count), assay_padded(counter[i], width),
			counter[i], kernel[i]);
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
