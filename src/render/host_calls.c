/* Host spans by name: calls of the GPU runtime, and what the recorder itself took. */
#include "base/fmt.h"
#include "base/sums.h"
#include "render/printout.h"

enum { TOP = 20 };

static bool is_overhead(uint8_t kind)
{
	return kind == ASSAY_HOST_OVERHEAD;
}

/* Most time first. */
static assay_sums sum_calls(const assay_run *run, bool (*is)(uint8_t kind))
{
	const assay_host_table *h = &run->part.t.host;
	assay_sums s = {0};
	for (size_t i = 0; i < h->n; i++)
		if (is(h->kind[i]))
			assay_sums_add(&s, h->name[i], h->dur[i] > 0 ? h->dur[i] : 0);
	assay_sums_finish(&s);
	return s;
}

static void print_calls(assay_printout *p, const char *title, bool (*is)(uint8_t kind))
{
	assay_sums s = sum_calls(p->run, is);
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
		const assay_sum *c = &s.row.p[i];
		fprintf(p->out, "  %9s %9s %9s %9s  %s\n", assay_fmt_time(t[0], c->total),
			assay_fmt_count(n, c->count), assay_fmt_time(t[1], c->median),
			assay_fmt_time(t[2], c->most),
			assay_cut(
				&p->scratch,
				assay_fmt_safe(&p->scratch, assay_text(p->run, (assay_sid)c->key)),
				assay_room(p, 43)));
	}
	if (s.row.n > top)
		fprintf(p->out, "  ... %zu more functions (--top N shows them)\n", s.row.n - top);
	assay_sums_free(&s);
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
	assay_sums s = sum_calls(run, is);
	assay_jsonw_open(w, key, '[');
	for (size_t i = 0; i < s.row.n && i < run->report_top; i++) {
		const assay_sum *c = &s.row.p[i];
		assay_jsonw_open_flat(w, NULL, '{');
		assay_jsonw_str(w, "name", assay_text(run, (assay_sid)c->key));
		assay_jsonw_u64(w, "count", c->count);
		assay_jsonw_i64(w, "total_ns", c->total);
		assay_jsonw_i64(w, "median_ns", c->median);
		assay_jsonw_i64(w, "max_ns", c->most);
		assay_jsonw_close(w, '}');
	}
	assay_jsonw_close(w, ']');
	assay_sums_free(&s);
}

void assay_host_calls_json(assay_jsonw *w, const assay_run *run)
{
	put_calls(w, "runtime_calls", run, assay_is_call);
	put_calls(w, "recording_overhead", run, is_overhead);
}
