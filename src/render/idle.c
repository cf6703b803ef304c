/* Why devices were idle, and the longest gaps. */
#include "base/fmt.h"
#include "base/group.h"
#include "render/place.h"
#include "render/printout.h"

enum { TOP_GAPS_TEXT = 10, TOP_GAPS_OF_MANY = 5, TOP_GAPS_JSON = 20 };

assay_idle_index assay_idle_index_of(const assay_run *run, assay_arena *a)
{
	const assay_idle_cause_table *c = &run->part.t.idle_cause;
	const assay_gap_table *g = &run->part.t.gap;
	size_t devices = run->part.t.device_time.n;
	assay_idle_index x = {.row = assay_alloc(a, (c->n + 1) * sizeof *x.row),
			      .first = assay_alloc(a, (devices + 1) * sizeof *x.first),
			      .queued = assay_alloc(a, (devices + 1) * sizeof *x.queued)};
	assay_group_rows(x.row, x.first, NULL, c->n, c->device, devices);
	for (size_t i = 0; i < g->n; i++)
		if (g->cause[i] == ASSAY_WHY_QUEUED && g->device[i] < devices)
			x.queued[g->device[i]][g->queued[i]] += g->dur[i];
	return x;
}

void assay_idle_json(assay_jsonw *w, const assay_run *run, const assay_idle_index *x,
		     uint32_t device)
{
	const assay_idle_cause_table *c = &run->part.t.idle_cause;
	int64_t suspicious = 0;
	assay_jsonw_open_flat(w, "idle_causes_ns", '{');
	for (size_t k = x->first[device]; k < x->first[device + 1]; k++) {
		uint32_t i = x->row[k];
		assay_jsonw_i64(w, assay_why_name[c->cause[i]], c->dur[i]);
		suspicious += c->suspicious[i];
	}
	assay_jsonw_close(w, '}');
	if (run->in_full && run->part.t.device_time.source[device] >= run->in_full) {
		assay_jsonw_null(w, "queued_ns"); /* its gaps are not here */
	} else {
		assay_jsonw_open_flat(w, "queued_ns", '{');
		for (int q = 0; q < ASSAY_QUEUED_COUNT; q++)
			assay_jsonw_i64(w, assay_queued_name[q], x->queued[device][q]);
		assay_jsonw_close(w, '}');
	}
	assay_jsonw_i64(w, "suspicious_ns", suspicious);
}

/* Rows of the longest gaps of all devices, first the longest; how many there are, top at most. */
static size_t longest(const assay_run *run, size_t top, uint32_t *out)
{
	const assay_gap_table *g = &run->part.t.gap;
	size_t n = 0;
	for (uint32_t i = 0; i < g->n; i++) {
		size_t at = n;
		while (at && g->dur[out[at - 1]] < g->dur[i])
			at--;
		if (at == top)
			continue;
		n += n < top;
		memmove(out + at + 1, out + at, (n - 1 - at) * sizeof *out);
		out[at] = i;
	}
	return n;
}

static assay_str host_name(const assay_run *run, uint32_t host)
{
	return host == ASSAY_NO_ROW ? (assay_str){0} : assay_text(run, run->part.t.host.name[host]);
}

static void put_host(assay_jsonw *w, const char *key, const assay_run *run, uint32_t host)
{
	if (host == ASSAY_NO_ROW)
		assay_jsonw_null(w, key);
	else
		assay_jsonw_str(w, key, host_name(run, host));
}

/* Parts stand in order of gaps. */
static size_t first_part(const assay_gap_part_table *p, uint32_t gap)
{
	size_t low = 0, high = p->n;
	while (low < high) {
		size_t mid = (low + high) / 2;
		if (p->gap[mid] < gap)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Where the launching thread was in the cause that took most of the gap, and who it waited for. */
static void put_stack(assay_jsonw *w, const assay_run *run, uint32_t gap)
{
	const assay_tables *t = &run->part.t;
	const assay_gap_part_table *p = &t->gap_part;
	size_t i = first_part(p, gap);
	while (i < p->n && p->gap[i] == gap && p->cause[i] != t->gap.cause[gap])
		i++;
	if (i == p->n || p->gap[i] != gap || p->stack[i] == ASSAY_NO_ROW)
		return;
	assay_place_json(w, "where", run, assay_own_call(t, p->stack[i]));
	assay_stack_json(w, "stack", run, p->stack[i]);
	if (p->sample[i] == ASSAY_NO_ROW)
		return;
	uint32_t who = t->seen.culprit[p->sample[i]];
	if (t->sample.file[p->sample[i]])
		assay_jsonw_str(w, "path", assay_text(run, t->sample.file[p->sample[i]]));
	if (who != ASSAY_NO_ROW)
		assay_stack_json(w, "waits_for", run, t->sample.stack[who]);
}

static void put_gap(assay_jsonw *w, const assay_run *run, uint32_t gap)
{
	const assay_tables *t = &run->part.t;
	const assay_gap_table *g = &t->gap;
	const assay_gap_part_table *p = &t->gap_part;
	assay_jsonw_open_flat(w, NULL, '{');
	assay_jsonw_i64(w, "device", t->device_time.device[g->device[gap]]);
	assay_jsonw_u64(w, "source", t->device_time.source[g->device[gap]]);
	assay_jsonw_i64(w, "start_ns", g->ts[gap]);
	assay_jsonw_i64(w, "dur_ns", g->dur[gap]);
	assay_jsonw_z(w, "cause", assay_why_name[g->cause[gap]]);
	assay_jsonw_open_flat(w, "parts_ns", '{');
	for (size_t i = first_part(p, gap); i < p->n && p->gap[i] == gap; i++)
		assay_jsonw_i64(w, assay_why_name[p->cause[i]], p->dur[i]);
	assay_jsonw_close(w, '}');
	assay_jsonw_str(w, "ended_by", assay_text(run, t->gpu.name[g->gpu[gap]]));
	put_host(w, "launched_by", run, g->launch[gap]);
	put_host(w, "during", run, g->during[gap]);
	if (g->behind[gap] != ASSAY_NO_ROW)
		assay_jsonw_str(w, "behind", assay_text(run, t->gpu.name[g->behind[gap]]));
	if (g->cause[gap] == ASSAY_WHY_QUEUED)
		assay_jsonw_z(w, "queued", assay_queued_name[g->queued[gap]]);
	if (g->late[gap]) {
		assay_jsonw_i64(w, "late_rank", g->late_rank[gap]);
		assay_jsonw_i64(w, "late_ns", g->late[gap]);
	}
	put_stack(w, run, gap);
	assay_jsonw_bool(w, "suspicious", g->suspicious[gap]);
	assay_jsonw_close(w, '}');
}

void assay_gaps_json(assay_jsonw *w, const assay_run *run)
{
	uint32_t gap[TOP_GAPS_JSON];
	size_t n = longest(run, TOP_GAPS_JSON, gap);
	assay_jsonw_open(w, "gaps", '[');
	for (size_t i = 0; i < n; i++)
		put_gap(w, run, gap[i]);
	assay_jsonw_close(w, ']');
}

/* What queued work waited for, as far as wait edges tell. */
static void print_queued(assay_printout *p, const int64_t queued[ASSAY_QUEUED_COUNT])
{
	static const char *const words[ASSAY_QUEUED_COUNT] = {
		[ASSAY_QUEUED_STREAM_WAIT] = "behind work on another stream",
		[ASSAY_QUEUED_COPY] = "behind a copy",
		[ASSAY_QUEUED_OTHER_RANK] = "behind a collective that another rank came late to",
	};
	char time[ASSAY_FMT];
	for (int q = 0; q < ASSAY_QUEUED_COUNT; q++)
		if (words[q] && queued[q])
			fprintf(p->out, "  %10s         of it %s\n",
				assay_fmt_time(time, queued[q]), words[q]);
}

static void print_causes(assay_printout *p, const assay_idle_index *x, uint32_t device)
{
	const assay_tables *t = &p->run->part.t;
	const assay_idle_cause_table *c = &t->idle_cause;
	char time[ASSAY_FMT], count[ASSAY_FMT];
	if (!t->device_time.idle[device])
		return;
	fprintf(p->out, "  device %s: idle %s in %s gaps\n", assay_device_label(p, device),
		assay_fmt_time(time, t->device_time.idle[device]),
		assay_fmt_count(count, t->device_time.gaps[device]));
	for (size_t k = x->first[device]; k < x->first[device + 1]; k++) {
		uint32_t i = x->row[k];
		if (!c->dur[i])
			continue;
		fprintf(p->out, "  %10s %5.1f%%  %-15s ", assay_fmt_time(time, c->dur[i]),
			assay_percent(c->dur[i], t->device_time.idle[device]),
			assay_why_name[c->cause[i]]);
		assay_print_flow(p, 37, assay_why_rows[c->cause[i]].text);
		if (c->cause[i] == ASSAY_WHY_QUEUED)
			print_queued(p, x->queued[device]);
		assay_idle_lines_text(p, device, (assay_why)c->cause[i]);
		if (c->suspicious[i])
			fprintf(p->out, "  %10s         of it suspicious: too long for a launch\n",
				assay_fmt_time(time, c->suspicious[i]));
	}
}

static void print_all_causes(assay_printout *p)
{
	const assay_tables *t = &p->run->part.t;
	int64_t idle = 0, of[ASSAY_WHY_COUNT] = {0};
	char time[ASSAY_FMT], count[ASSAY_FMT];
	for (size_t i = 0; i < t->device_time.n; i++)
		idle += t->device_time.idle[i];
	for (size_t i = 0; i < t->idle_cause.n; i++) {
		assay_rest_behind(t, ASSAY_T_idle_cause, i);
		of[t->idle_cause.cause[i]] += t->idle_cause.dur[i];
	}
	fprintf(p->out, "  all %s devices: idle %s\n", assay_fmt_count(count, t->device_time.n),
		assay_fmt_time(time, idle));
	for (int c = 0; c < ASSAY_WHY_COUNT; c++)
		if (of[c])
			fprintf(p->out, "  %10s %5.1f%%  %-15s %s\n", assay_fmt_time(time, of[c]),
				assay_percent(of[c], idle), assay_why_name[c],
				assay_why_rows[c].text);
}

/* "rank 3 came 700 us late", for gaps that waited for a collective. */
static const char *late_text(assay_printout *p, uint32_t gap)
{
	const assay_gap_table *g = &p->run->part.t.gap;
	char time[ASSAY_FMT];
	return g->late[gap] ? assay_printf(&p->scratch, "  (rank %d came %s late)",
					   g->late_rank[gap], assay_fmt_time(time, g->late[gap]))
			    : "";
}

/* Columns of each of the two names behind a gap. */
static size_t gap_room(const assay_printout *p)
{
	return (assay_room(p, 41) - 2) / 2;
}

/* What the launching thread was in, or the work on another stream that queued work waited for. */
static const char *waited_for(assay_printout *p, uint32_t gap)
{
	const assay_gap_table *g = &p->run->part.t.gap;
	assay_str during = host_name(p->run, g->during[gap]);
	if (g->behind[gap] == ASSAY_NO_ROW)
		return during.n ? assay_fmt_safe(&p->scratch, during) : "-";
	return assay_printf(
		&p->scratch, "behind %s",
		assay_fmt_kernel(&p->scratch,
				 assay_text(p->run, p->run->part.t.gpu.name[g->behind[gap]]),
				 gap_room(p) - 7));
}

static void print_gap(assay_printout *p, uint32_t gap)
{
	const assay_tables *t = &p->run->part.t;
	const assay_gap_table *g = &t->gap;
	char at[ASSAY_FMT], dur[ASSAY_FMT];
	const char *what = assay_cut(&p->scratch, waited_for(p, gap), gap_room(p));
	fprintf(p->out, "  %9s %9s  %-15s %-*s", assay_fmt_time(dur, g->dur[gap]),
		assay_fmt_time(at, g->ts[gap] - t->device_time.start[g->device[gap]]),
		assay_why_name[g->cause[gap]], p->full_names ? 0 : assay_padded(what, gap_room(p)),
		what);
	fprintf(p->out, "  %s%s%s\n",
		assay_fmt_kernel(&p->scratch, assay_text(p->run, t->gpu.name[g->gpu[gap]]),
				 gap_room(p)),
		g->suspicious[gap] ? "  (suspicious)" : "", late_text(p, gap));
}

void assay_idle_text(assay_printout *p)
{
	const assay_tables *t = &p->run->part.t;
	if (!t->gap.n)
		return;
	assay_print_heading(p, "Why the device was idle");
	size_t shown = assay_print_devices(p);
	bool all = shown == t->device_time.n;
	assay_idle_index index = assay_idle_index_of(p->run, &p->scratch);
	for (uint32_t d = 0; all && d < shown; d++)
		print_causes(p, &index, d);
	if (!all)
		print_all_causes(p);
	uint32_t gap[TOP_GAPS_TEXT];
	size_t n = longest(p->run, all ? TOP_GAPS_TEXT : TOP_GAPS_OF_MANY, gap);
	fprintf(p->out, "  longest gaps\n  %9s %9s  %-15s %-*s  %s\n", "length", "at", "cause",
		p->full_names ? 0 : (int)gap_room(p), "thread was in", "ended by");
	for (size_t i = 0; i < n; i++)
		print_gap(p, gap[i]);
}
