/* Rows derived from device work, put together by name: how often a module or operator was invoked
 * and how long its invocations took. Every event of them: assay scopes --timeline. */
#include "base/fmt.h"
#include "base/sums.h"
#include "render/printout.h"

enum { NAMES_SHOWN = 5 };

/* Steps are one line, whatever their numbers. */
static assay_sid name_of(const assay_tables *t, size_t i)
{
	const assay_derived_table *d = &t->derived;
	bool step = d->row[i] == ASSAY_DERIVED_STEPS && d->group[i] < t->step.n;
	return step ? t->step.name[d->group[i]] : d->name[i];
}

/* By row and name; most time of a row first. */
static assay_sums put_together(const assay_run *run)
{
	const assay_tables *t = &run->part.t;
	assay_sums s = {0};
	for (size_t i = 0; i < t->derived.n; i++)
		assay_sums_add(&s, (uint64_t)t->derived.row[i] << 32 | name_of(t, i),
			       t->derived.dur[i]);
	assay_sums_finish(&s);
	return s;
}

void assay_derived_text(assay_printout *p)
{
	char f[3][ASSAY_FMT], count[ASSAY_FMT];
	if (!p->run->part.t.derived.n)
		return;
	assay_sums s = put_together(p->run);
	assay_print_heading(p, p->run->in_full ? "Invocations, of the ranks with events"
					       : "Invocations");
	fprintf(p->out, "  %-20s %7s %10s %10s %10s  %s\n", "row", "count", "total", "median",
		"longest", "name");
	for (size_t i = 0, shown = 0; i < s.row.n; i++) {
		const assay_sum *line = &s.row.p[i];
		shown = i && line[-1].key >> 32 == line->key >> 32 ? shown + 1 : 1;
		if (shown > NAMES_SHOWN)
			continue;
		fprintf(p->out, "  %-20s %7s %10s %10s %10s  %s\n",
			shown == 1 ? assay_derived_row_name[line->key >> 32] : "",
			assay_fmt_count(count, line->count), assay_fmt_time(f[0], line->total),
			assay_fmt_time(f[1], line->median), assay_fmt_time(f[2], line->most),
			assay_cut(&p->scratch,
				  assay_fmt_safe(&p->scratch,
						 assay_text(p->run, (assay_sid)line->key)),
				  assay_room(p, 65)));
	}
	assay_sums_free(&s);
}

void assay_derived_json(assay_jsonw *w, const assay_run *run)
{
	if (!run->part.t.derived.n)
		return;
	assay_sums s = put_together(run);
	assay_jsonw_open(w, "invocations", '[');
	for (size_t i = 0; i < s.row.n; i++) {
		const assay_sum *line = &s.row.p[i];
		assay_jsonw_open_flat(w, NULL, '{');
		assay_jsonw_z(w, "row", assay_derived_row_name[line->key >> 32]);
		assay_jsonw_str(w, "name", assay_text(run, (assay_sid)line->key));
		assay_jsonw_u64(w, "count", line->count);
		assay_jsonw_i64(w, "total_ns", line->total);
		assay_jsonw_i64(w, "median_ns", line->median);
		assay_jsonw_i64(w, "longest_ns", line->most);
		assay_jsonw_close(w, '}');
	}
	assay_jsonw_close(w, ']');
	assay_sums_free(&s);
}
