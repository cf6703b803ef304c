/* Steps and what devices did in them. */
#include "base/fmt.h"
#include "names/serving.h"
#include "render/printout.h"

enum { STRIP_STEPS = 12, SERVING_COLUMNS = 79, MANY_STEPS = 16 << 10 };

static bool is_serving(const assay_run *run, size_t step, assay_serving *out)
{
	const assay_step_table *s = &run->part.t.step;
	return s->origin[step] == ASSAY_STEP_SERVING &&
	       assay_serving_parse(assay_text(run, s->name[step]), out) && out->phase;
}

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
		if (i % MANY_STEPS == 0)
			assay_tables_rest(&run->part.t);
		assay_jsonw_open_flat(w, NULL, '{');
		assay_jsonw_str(w, "name", assay_text(run, s->name[i]));
		assay_jsonw_i64(w, "number", s->number[i]);
		assay_jsonw_u64(w, "source", s->source[i]);
		assay_jsonw_i64(w, "start_ns", s->ts[i]);
		assay_jsonw_i64(w, "dur_ns", s->dur[i]);
		int64_t until_next = period(s, i);
		assay_jsonw_i64_if(w, "period_ns", until_next >= 0, until_next);
		assay_jsonw_z(w, "origin", assay_step_origin_name[s->origin[i]]);
		assay_serving serving;
		if (is_serving(run, i, &serving)) {
			assay_jsonw_z(w, "phase", assay_phase_name[serving.phase]);
			assay_jsonw_i64(w, "requests", (int64_t)serving.requests);
			assay_jsonw_i64(w, "tokens", (int64_t)serving.tokens);
		}
		assay_jsonw_open_flat(w, "devices", '[');
		for (uint32_t k = l.first[i]; k != ASSAY_NO_ROW; k = l.next[k])
			put_device(w, run, k);
		assay_jsonw_close(w, ']');
		assay_jsonw_close(w, '}');
	}
	assay_jsonw_close(w, ']');
	assay_arena_free(&scratch);
}

static int64_t shown_number(const assay_step_table *s, uint32_t step)
{
	return s->number[step] >= 0 ? s->number[step] : (int64_t)step;
}

static void print_step(assay_printout *p, size_t row)
{
	const assay_step_table *s = &p->run->part.t.step;
	const assay_step_time_table *t = &p->run->part.t.step_time;
	const int64_t part[4] = {t->compute[row], t->exposed_comm[row], t->exposed_copy[row],
				 t->idle[row]};
	char host[ASSAY_FMT], span[ASSAY_FMT];
	uint32_t step = t->step[row];
	fprintf(p->out, "  %8lld  %-12s %10s %10s  %5.1f%%  ", (long long)shown_number(s, step),
		assay_device_label(p, t->device[row]), assay_fmt_time(host, s->dur[step]),
		assay_fmt_time(span, t->span[row]), assay_percent(t->idle[row], t->span[row]));
	assay_print_bar(p, part, t->span[row], (int)p->width - 58);
}

/* What an engine worked on instead of a bar; narrow terminals have no device and idle time. */
static void print_serving(assay_printout *p, size_t row)
{
	const assay_tables *t = &p->run->part.t;
	uint32_t step = t->step_time.step[row];
	int64_t span = t->step_time.span[row];
	char time[ASSAY_FMT], each[ASSAY_FMT], tokens[ASSAY_FMT];
	assay_serving serving = {0};
	bool known = is_serving(p->run, step, &serving);
	bool wide = p->width >= SERVING_COLUMNS;
	fprintf(p->out, "  %8lld  ", (long long)shown_number(&t->step, step));
	if (wide)
		fprintf(p->out, "%-12s ", assay_device_label(p, t->step_time.device[row]));
	fprintf(p->out, "%10s  ", assay_fmt_time(time, span));
	if (wide)
		fprintf(p->out, "%5.1f%%  ", assay_percent(t->step_time.idle[row], span));
	fprintf(p->out, "%-7s %6.0f %8s %10s\n", known ? assay_phase_name[serving.phase] : "-",
		serving.requests, assay_fmt_count(tokens, (uint64_t)serving.tokens),
		serving.tokens > 0 ? assay_fmt_time(each, (int64_t)((double)span / serving.tokens))
				   : "-");
}

const char *assay_phases_text(assay_printout *p)
{
	const assay_steady_table *steady = &p->run->part.t.steady;
	const assay_step_time_table *t = &p->run->part.t.step_time;
	struct {
		uint64_t steps;
		double tokens, ns;
	} of[ASSAY_PHASE_COUNT] = {0};
	assay_serving s;
	for (size_t i = 0; i < t->n; i++) {
		assay_rest_behind(&p->run->part.t, ASSAY_T_step_time, i);
		if (t->device[i] != steady->device[0] ||
		    t->start[i] + t->span[i] <= steady->start[0] ||
		    !is_serving(p->run, t->step[i], &s))
			continue;
		of[s.phase].steps++;
		of[s.phase].tokens += s.tokens;
		of[s.phase].ns += (double)t->span[i];
	}
	const char *text = "";
	char each[ASSAY_FMT];
	for (int i = 0; i < ASSAY_PHASE_COUNT; i++)
		if (of[i].tokens > 0)
			text = assay_printf(
				&p->scratch, "%s%s %llu %s, %s a token", text, *text ? ";" : ":",
				(unsigned long long)of[i].steps, assay_phase_name[i],
				assay_fmt_time(each, (int64_t)(of[i].ns / of[i].tokens)));
	return text;
}

void assay_steps_text(assay_printout *p)
{
	const assay_step_table *s = &p->run->part.t.step;
	const assay_step_time_table *t = &p->run->part.t.step_time;
	if (!t->n)
		return;
	bool serving = s->origin[0] == ASSAY_STEP_SERVING;
	assay_print_heading(p, "Steps");
	fprintf(p->out, "  (%s)\n", assay_step_origin_name[s->origin[0]]);
	if (serving && p->width >= SERVING_COLUMNS)
		fprintf(p->out, "  %8s  %-12s %10s  %6s  %-7s %6s %8s %10s\n", "step", "device",
			"on device", "idle", "phase", "batch", "tokens", "per token");
	else if (serving)
		fprintf(p->out, "  %8s  %10s  %-7s %6s %8s %10s\n", "step", "on device", "phase",
			"batch", "tokens", "per token");
	else
		fprintf(p->out, "  %8s  %-12s %10s %10s  %6s\n", "step", "device", "host",
			"on device", "idle");
	for (size_t i = 0; i < t->n && i < STRIP_STEPS; i++)
		serving ? print_serving(p, i) : print_step(p, i);
	if (t->n > STRIP_STEPS)
		fprintf(p->out, "  ... %zu more (--json has them)\n", t->n - STRIP_STEPS);
}
