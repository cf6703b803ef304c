/* Rows derived from device work, put together by name: how often a module or operator was invoked
 * and how long its invocations took. Every event of them: assay scopes --timeline. */
#include <stdlib.h>

#include "base/compare.h"
#include "base/fmt.h"
#include "base/median.h"
#include "render/printout.h"

enum { NAMES_SHOWN = 5 };

struct line {
	assay_sid name;
	uint8_t row;
	uint32_t count;
	int64_t total, longest, median;
	size_t first; /* in durations */
};

typedef struct lines {
	assay_vec(struct line) line;
	assay_vec(int64_t) dur;
} lines;

static int by_row_and_time(const void *a, const void *b)
{
	const struct line *x = a, *y = b;
	return assay_then(ASSAY_CMP(x->row, y->row),
			  assay_then(ASSAY_CMP(y->total, x->total), ASSAY_CMP(x->name, y->name)));
}

/* Steps are one line, whatever their numbers. */
static assay_sid name_of(const assay_tables *t, size_t i)
{
	const assay_derived_table *d = &t->derived;
	bool step = d->row[i] == ASSAY_DERIVED_STEPS && d->group[i] < t->step.n;
	return step ? t->step.name[d->group[i]] : d->name[i];
}

static lines put_together(const assay_run *run)
{
	const assay_tables *t = &run->part.t;
	lines l = {0};
	assay_map at = {0};
	for (size_t i = 0; i < t->derived.n; i++) {
		assay_sid name = name_of(t, i);
		uint32_t *slot = assay_map_at(&at, (uint64_t)t->derived.row[i] << 32 | name);
		if (*slot == ASSAY_MAP_ABSENT) {
			*slot = (uint32_t)l.line.n;
			*assay_push(&l.line) =
				(struct line){.name = name, .row = t->derived.row[i]};
		}
		struct line *line = &l.line.p[*slot];
		line->count++;
		line->total += t->derived.dur[i];
		if (t->derived.dur[i] > line->longest)
			line->longest = t->derived.dur[i];
	}
	size_t first = 0;
	for (size_t i = 0; i < l.line.n; first += l.line.p[i++].count)
		l.line.p[i].first = first;
	assay_vec_reserve(&l.dur, first + 1);
	l.dur.n = first;
	for (size_t i = t->derived.n; i-- > 0;) {
		uint64_t key = (uint64_t)t->derived.row[i] << 32 | name_of(t, i);
		struct line *line = &l.line.p[assay_map_get(&at, key)];
		l.dur.p[line->first++] = t->derived.dur[i];
	}
	for (size_t i = 0; i < l.line.n; i++) {
		struct line *line = &l.line.p[i];
		int64_t *dur = l.dur.p + line->first - line->count;
		line->median = assay_median_upper(dur, line->count);
	}
	if (l.line.n)
		qsort(l.line.p, l.line.n, sizeof *l.line.p, by_row_and_time);
	assay_map_free(&at);
	return l;
}

static void lines_free(lines *l)
{
	assay_vec_free(&l->line);
	assay_vec_free(&l->dur);
}

void assay_derived_text(assay_printout *p)
{
	char f[3][ASSAY_FMT], count[ASSAY_FMT];
	if (!p->run->part.t.derived.n)
		return;
	lines l = put_together(p->run);
	assay_print_heading(p, p->run->in_full ? "Invocations, of the ranks with events"
					       : "Invocations");
	fprintf(p->out, "  %-20s %7s %10s %10s %10s  %s\n", "row", "count", "total", "median",
		"longest", "name");
	for (size_t i = 0, shown = 0; i < l.line.n; i++) {
		const struct line *line = &l.line.p[i];
		shown = i && line[-1].row == line->row ? shown + 1 : 1;
		if (shown > NAMES_SHOWN)
			continue;
		fprintf(p->out, "  %-20s %7s %10s %10s %10s  %s\n",
			shown == 1 ? assay_derived_row_name[line->row] : "",
			assay_fmt_count(count, line->count), assay_fmt_time(f[0], line->total),
			assay_fmt_time(f[1], line->median), assay_fmt_time(f[2], line->longest),
			assay_cut(&p->scratch,
				  assay_fmt_safe(&p->scratch, assay_text(p->run, line->name)),
				  assay_room(p, 65)));
	}
	lines_free(&l);
}

void assay_derived_json(assay_jsonw *w, const assay_run *run)
{
	if (!run->part.t.derived.n)
		return;
	lines l = put_together(run);
	assay_jsonw_open(w, "invocations", '[');
	for (size_t i = 0; i < l.line.n; i++) {
		const struct line *line = &l.line.p[i];
		assay_jsonw_open_flat(w, NULL, '{');
		assay_jsonw_z(w, "row", assay_derived_row_name[line->row]);
		assay_jsonw_str(w, "name", assay_text(run, line->name));
		assay_jsonw_u64(w, "count", line->count);
		assay_jsonw_i64(w, "total_ns", line->total);
		assay_jsonw_i64(w, "median_ns", line->median);
		assay_jsonw_i64(w, "longest_ns", line->longest);
		assay_jsonw_close(w, '}');
	}
	assay_jsonw_close(w, ']');
	lines_free(&l);
}
