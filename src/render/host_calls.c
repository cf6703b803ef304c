/* Host spans by name: calls of the GPU runtime, and what the recorder itself took. */
#include <stdlib.h>

#include "base/compare.h"
#include "base/fmt.h"
#include "base/median.h"
#include "render/printout.h"

enum { TOP = 20 };

typedef struct call_sum {
	assay_sid name;
	uint64_t count;
	int64_t total, median, most;
	size_t first; /* of its lengths */
} call_sum;

typedef struct call_sums {
	assay_vec(call_sum) row;
	assay_vec(int64_t) dur;
} call_sums;

static int by_total(const void *a, const void *b)
{
	const call_sum *x = a, *y = b;
	return assay_then(ASSAY_CMP(y->total, x->total), ASSAY_CMP(x->name, y->name));
}

static bool is_overhead(uint8_t kind)
{
	return kind == ASSAY_HOST_OVERHEAD;
}

static void count_calls(const assay_host_table *h, bool (*is)(uint8_t kind), call_sums *s,
			assay_map *at)
{
	for (size_t i = 0; i < h->n; i++) {
		if (!is(h->kind[i]))
			continue;
		uint32_t *slot = assay_map_at(at, h->name[i]);
		if (*slot == ASSAY_MAP_ABSENT) {
			*slot = (uint32_t)s->row.n;
			*assay_push(&s->row) = (call_sum){.name = h->name[i]};
		}
		call_sum *c = &s->row.p[*slot];
		int64_t dur = h->dur[i] > 0 ? h->dur[i] : 0;
		c->count++;
		c->total += dur;
		c->most = dur > c->most ? dur : c->most;
	}
}

/* Most time first. */
static call_sums sum_calls(const assay_run *run, bool (*is)(uint8_t kind))
{
	const assay_host_table *h = &run->part.t.host;
	call_sums s = {0};
	assay_map at = {0};
	count_calls(h, is, &s, &at);
	size_t all = 0;
	for (size_t i = 0; i < s.row.n; all += s.row.p[i++].count)
		s.row.p[i].first = all;
	assay_vec_reserve(&s.dur, all + 1);
	s.dur.n = all;
	for (size_t i = 0; i < h->n; i++)
		if (is(h->kind[i]))
			s.dur.p[s.row.p[assay_map_get(&at, h->name[i])].first++] =
				h->dur[i] > 0 ? h->dur[i] : 0;
	for (size_t i = 0; i < s.row.n; i++) {
		call_sum *c = &s.row.p[i];
		c->median = assay_median_upper(s.dur.p + c->first - c->count, c->count);
	}
	if (s.row.n)
		qsort(s.row.p, s.row.n, sizeof *s.row.p, by_total);
	assay_map_free(&at);
	return s;
}

static void sums_free(call_sums *s)
{
	assay_vec_free(&s->row);
	assay_vec_free(&s->dur);
}

static void print_calls(assay_printout *p, const char *title, bool (*is)(uint8_t kind))
{
	call_sums s = sum_calls(p->run, is);
	size_t top = p->top ? p->top : TOP;
	char t[3][ASSAY_FMT], n[ASSAY_FMT];
	if (s.row.n) {
		assay_print_heading(p, p->run->in_full
					       ? assay_printf(&p->scratch,
							      "%s, of the ranks with events", title)
					       : title);
		fprintf(p->out, "  %9s %9s %9s %9s  %s\n", "total", "count", "median", "most",
			"function");
	}
	for (size_t i = 0; i < s.row.n && i < top; i++) {
		const call_sum *c = &s.row.p[i];
		fprintf(p->out, "  %9s %9s %9s %9s  %s\n", assay_fmt_time(t[0], c->total),
			assay_fmt_count(n, c->count), assay_fmt_time(t[1], c->median),
			assay_fmt_time(t[2], c->most),
			assay_cut(&p->scratch,
				  assay_fmt_safe(&p->scratch, assay_text(p->run, c->name)),
				  assay_room(p, 43)));
	}
	if (s.row.n > top)
		fprintf(p->out, "  ... %zu more functions (--top N shows them)\n", s.row.n - top);
	sums_free(&s);
}

void assay_host_calls_text(assay_printout *p)
{
	print_calls(p, "Runtime calls", assay_is_call);
}

void assay_overhead_text(assay_printout *p)
{
	print_calls(p, "Overhead of recording", is_overhead);
}

static void put_calls(assay_jsonw *w, const char *key, const assay_run *run,
		      bool (*is)(uint8_t kind))
{
	call_sums s = sum_calls(run, is);
	assay_jsonw_open(w, key, '[');
	for (size_t i = 0; i < s.row.n && i < run->report_top; i++) {
		const call_sum *c = &s.row.p[i];
		assay_jsonw_open_flat(w, NULL, '{');
		assay_jsonw_str(w, "name", assay_text(run, c->name));
		assay_jsonw_u64(w, "count", c->count);
		assay_jsonw_i64(w, "total_ns", c->total);
		assay_jsonw_i64(w, "median_ns", c->median);
		assay_jsonw_i64(w, "max_ns", c->most);
		assay_jsonw_close(w, '}');
	}
	assay_jsonw_close(w, ']');
	sums_free(&s);
}

void assay_host_calls_json(assay_jsonw *w, const assay_run *run)
{
	put_calls(w, "runtime_calls", run, assay_is_call);
	put_calls(w, "recording_overhead", run, is_overhead);
}
