/* Steps and what devices did in them. */
#include "base/fmt.h"
#include "render/printout.h"

enum { STRIP_STEPS = 12 };

/* Start to start with the next step of the source; -1 for the last one. */
static int64_t period(const assay_step_table *s, size_t i)
{
	int64_t next = INT64_MAX;
	for (size_t k = i + 1; k < s->n && k < i + 64; k++)
		if (s->source[k] == s->source[i] && s->ts[k] > s->ts[i] && s->ts[k] < next)
			next = s->ts[k];
	return next == INT64_MAX ? -1 : next - s->ts[i];
}

static void put_device(assay_jsonw *w, const assay_run *run, size_t row)
{
	const assay_step_time_table *t = &run->part.t.step_time;
	assay_jsonw_open_flat(w, NULL, '{');
	assay_jsonw_i64(w, "device", run->part.t.device_time.device[t->device[row]]);
	assay_jsonw_u64(w, "events", t->events[row]);
	assay_jsonw_i64(w, "start_ns", t->start[row]);
	assay_jsonw_i64(w, "span_ns", t->span[row]);
	assay_jsonw_i64(w, "compute_ns", t->compute[row]);
	assay_jsonw_i64(w, "exposed_comm_ns", t->exposed_comm[row]);
	assay_jsonw_i64(w, "exposed_copy_ns", t->exposed_copy[row]);
	assay_jsonw_i64(w, "idle_ns", t->idle[row]);
	assay_jsonw_close(w, '}');
}

/* Rows of step_time by step, as lists: first[step], then next[row]. */
struct lists {
	uint32_t *first, *next;
};

static struct lists list_by_step(const assay_run *run, assay_arena *a)
{
	const assay_step_time_table *t = &run->part.t.step_time;
	size_t steps = run->part.t.step.n;
	struct lists l = {assay_alloc(a, (steps + 1) * sizeof *l.first),
			  assay_alloc(a, (t->n + 1) * sizeof *l.next)};
	memset(l.first, 0xff, steps * sizeof *l.first);
	for (size_t i = t->n; i-- > 0;) {
		l.next[i] = l.first[t->step[i]];
		l.first[t->step[i]] = (uint32_t)i;
	}
	return l;
}

void assay_steps_json(assay_jsonw *w, const assay_run *run)
{
	const assay_step_table *s = &run->part.t.step;
	assay_arena scratch = {0};
	struct lists l = list_by_step(run, &scratch);
	assay_jsonw_open(w, "steps", '[');
	for (size_t i = 0; i < s->n; i++) {
		assay_jsonw_open_flat(w, NULL, '{');
		assay_jsonw_str(w, "name", assay_text(run, s->name[i]));
		assay_jsonw_i64(w, "number", s->number[i]);
		assay_jsonw_u64(w, "source", s->source[i]);
		assay_jsonw_i64(w, "start_ns", s->ts[i]);
		assay_jsonw_i64(w, "dur_ns", s->dur[i]);
		int64_t until_next = period(s, i);
		assay_jsonw_i64_if(w, "period_ns", until_next >= 0, until_next);
		assay_jsonw_z(w, "origin", assay_step_origin_name[s->origin[i]]);
		assay_jsonw_open_flat(w, "devices", '[');
		for (uint32_t k = l.first[i]; k != ASSAY_NO_ROW; k = l.next[k])
			put_device(w, run, k);
		assay_jsonw_close(w, ']');
		assay_jsonw_close(w, '}');
	}
	assay_jsonw_close(w, ']');
	assay_arena_free(&scratch);
}

static void print_step(assay_printout *p, size_t row)
{
	const assay_step_table *s = &p->run->part.t.step;
	const assay_step_time_table *t = &p->run->part.t.step_time;
	const int64_t part[4] = {t->compute[row], t->exposed_comm[row], t->exposed_copy[row],
				 t->idle[row]};
	char host[ASSAY_FMT], span[ASSAY_FMT];
	uint32_t step = t->step[row];
	fprintf(p->out, "  %8lld  %-12s %10s %10s  %5.1f%%  ",
		(long long)(s->number[step] >= 0 ? s->number[step] : (int64_t)step),
		assay_device_label(p, t->device[row]), assay_fmt_time(host, s->dur[step]),
		assay_fmt_time(span, t->span[row]), assay_percent(t->idle[row], t->span[row]));
	assay_print_bar(p, part, t->span[row], (int)p->width - 58);
}

void assay_steps_text(assay_printout *p)
{
	const assay_step_table *s = &p->run->part.t.step;
	const assay_step_time_table *t = &p->run->part.t.step_time;
	if (!t->n)
		return;
	assay_print_heading(p, "Steps");
	fprintf(p->out, "  (%s)\n  %8s  %-12s %10s %10s  %6s\n",
		assay_step_origin_name[s->origin[0]], "step", "device", "host", "on device",
		"idle");
	for (size_t i = 0; i < t->n && i < STRIP_STEPS; i++)
		print_step(p, i);
	if (t->n > STRIP_STEPS)
		fprintf(p->out, "  ... %zu more (--json has them)\n", t->n - STRIP_STEPS);
}
