/* The one host plane: threads, API calls, ranges. */
#include "write/wait_rows.h"
#include "write/xplane.h"

#include <inttypes.h>

#include "base/group.h"
#include "base/sort.h"

enum { OVERLAP_LINES = 16 };

typedef assay_vec(uint32_t) row_list;

typedef struct host {
	xplane_writer *w;
	xplane_out *out;
	assay_map lines; /* low halves of line ids: the viewer's row numbers */
	uint32_t next;   /* candidates for lines that need a number of ours */
	uint32_t *names; /* by string of the run: number as the name of events; 0: not asked for */
	bool amd;
} host;

static uint64_t low_half(int64_t id)
{
	return (uint32_t)(uint64_t)id;
}

static bool is_free(const host *h, int64_t id)
{
	return !xplane_line_is_derived(id, ASSAY_S("")) &&
	       assay_map_get(&h->lines, low_half(id)) == ASSAY_MAP_ABSENT;
}

/* Bands beside a thread count from 2^32, where no thread number is. */
static int64_t band_id(void *host_)
{
	host *h = host_;
	int64_t id;
	do
		id = (1ll << 32) + h->next++;
	while (!is_free(h, id));
	*assay_map_at(&h->lines, low_half(id)) = 1;
	return id;
}

static void put_category(const xplane_writer *w, xplane_out *p, uint32_t row)
{
	const assay_host_table *t = &w->t->host;
	assay_sid own = t->kind[row] == ASSAY_HOST_OTHER && t->detail[row] != ASSAY_NO_ROW
				? w->t->other.cat[t->detail[row]]
				: 0;
	if (own)
		xplane_put_ref(p, "cat", assay_text(w->run, own));
	else
		xplane_put_word(p, "cat", assay_host_kind_name[t->kind[row]]);
}

static uint64_t event_name(host *h, assay_sid sid)
{
	assay_str name = assay_text(h->w->run, sid);
	if (!h->names[sid])
		h->names[sid] =
			(uint32_t)xplane_event_id(h->out, name.n ? name : ASSAY_S("(no name)"));
	return h->names[sid];
}

static void put_op(xplane_writer *w, xplane_out *p, uint32_t d)
{
	const assay_op_table *t = &w->t->op;
	if (t->external[d])
		xplane_put_i64(p, "External id", t->external[d]);
	if (t->seq[d] >= 0)
		xplane_put_i64(p, "Sequence number", t->seq[d]);
	if (t->fwd_thread[d] >= 0)
		xplane_put_i64(p, "Fwd thread id", t->fwd_thread[d]);
	if (t->ev_idx[d] != UINT32_MAX)
		xplane_put_i64(p, "Ev Idx", t->ev_idx[d]);
}

static void put_api(xplane_writer *w, xplane_out *p, uint32_t row, uint32_t d)
{
	const assay_api_table *t = &w->t->api;
	uint64_t corr = xplane_corr(w, w->t->host.track[row], t->corr[d]);
	if (t->corr[d])
		xplane_put_u64(p, "correlation_id", corr);
	if (t->corr[d] && w->device_of.p[row] != ASSAY_NO_ROW)
		xplane_put_flow(w, p, corr, XPLANE_FLOW_OUT);
	if (t->external[d])
		xplane_put_i64(p, "External id", t->external[d]);
	if (t->cbid[d] != UINT32_MAX)
		xplane_put_i64(p, "cbid", t->cbid[d]);
	if (t->stack[d] != ASSAY_NO_ROW && !t->lent[d])
		xplane_put_i64(p, xplane_stat_name[XPLANE_STACK], (int64_t)t->stack[d] + 1);
}

static void put_handle(xplane_out *p, const char *key, uint64_t handle)
{
	char text[24];
	int n = snprintf(text, sizeof text, "0x%" PRIx64, handle);
	xplane_put_ref(p, key, (assay_str){text, (size_t)n});
}

/* How sure a wait is, and of which work: an XPlane file holds all that it says of it, other inputs
 * say more, and what they tell must not be better known when it is read. */
static void put_verdict(xplane_writer *w, xplane_out *p, uint32_t track, uint32_t wait)
{
	const assay_wait_table *t = &w->t->wait;
	if (w->is_xplane.p[xplane_source(w, track)])
		return;
	uint32_t gpu = t->producer_gpu[wait];
	xplane_put_word(p, "wait_class", assay_wait_class_name[t->class[wait]]);
	if (t->doubt[wait])
		xplane_put_word(p, "wait_doubt", assay_wait_doubt_name[t->doubt[wait]]);
	if (gpu != ASSAY_NO_ROW && w->t->gpu.corr[gpu])
		xplane_put_i64(p, "wait_for",
			       (int64_t)xplane_corr(w, w->t->gpu.track[gpu], w->t->gpu.corr[gpu]));
}

/* What waits are told from: what the call returned and was given, and what was found. */
static void put_call(xplane_writer *w, xplane_out *p, uint32_t row)
{
	uint32_t d = w->t->host.detail[row], track = w->t->host.track[row];
	if (!assay_is_call(w->t->host.kind[row]) || d == ASSAY_NO_ROW)
		return;
	if (assay_has_failed(w->t->api.status[d]))
		xplane_put_i64(p, "status", w->t->api.status[d]);
	if (!w->t->api.corr[d])
		return;
	uint64_t key = assay_corr_key(w->t->track.source[track], w->t->api.corr[d]);
	uint32_t call = assay_map_get(&w->event_calls, key), wait = assay_map_get(&w->wait_at, key);
	assay_call_arg args[ASSAY_CALL_ARGS];
	size_t n = call == ASSAY_MAP_ABSENT ? 0 : assay_call_args(w->run, row, call, args);
	for (size_t i = 0; i < n; i++) {
		if (args[i].handle)
			put_handle(p, args[i].key, args[i].value);
		else if (args[i].value <= INT64_MAX) /* as it is written when it is an argument */
			xplane_put_i64(p, args[i].key, (int64_t)args[i].value);
		else
			xplane_put_u64(p, args[i].key, args[i].value);
	}
	if (wait != ASSAY_MAP_ABSENT && assay_wait_row_name(w->t->wait.kind[wait]))
		put_verdict(w, p, track, wait);
}

static void put_frame(xplane_writer *w, xplane_out *p, uint32_t d)
{
	const assay_frame_table *t = &w->t->frame;
	if (t->id[d] != UINT32_MAX)
		xplane_put_i64(p, "Python id", t->id[d]);
	if (t->parent[d] != UINT32_MAX)
		xplane_put_i64(p, "Python parent id", t->parent[d]);
	if (t->ev_idx[d] != UINT32_MAX)
		xplane_put_i64(p, "Ev Idx", t->ev_idx[d]);
}

static void put_detail(xplane_writer *w, xplane_out *p, uint32_t row)
{
	uint32_t d = w->t->host.detail[row];
	assay_table_id table = assay_host_detail[w->t->host.kind[row]];
	if (d == ASSAY_NO_ROW)
		return;
	if (table == ASSAY_T_op)
		put_op(w, p, d);
	else if (table == ASSAY_T_api)
		put_api(w, p, row, d);
	else if (table == ASSAY_T_frame)
		put_frame(w, p, d);
}

/* Root of a group: what xprof makes its steps of. args: of the row; those that were steps in the
 * input say so themselves. */
static void put_step(xplane_writer *w, xplane_out *p, uint32_t step, assay_sid args)
{
	int64_t number = w->t->step.number[step];
	if (!xplane_has_arg(w, args, "_r"))
		xplane_put_ref(p, "step_origin",
			       assay_str_of(assay_step_origin_name[w->t->step.origin[step]]));
	xplane_put_i64(p, "_r", 1);
	xplane_put_i64(p, "step_num", number >= 0 ? number : (int64_t)step);
	w->step_done.p[step] = true;
}

/* The step a row marks, or ASSAY_MAP_ABSENT. */
static uint32_t step_of(const xplane_writer *w, uint32_t row)
{
	const assay_host_table *t = &w->t->host;
	if (!(w->step_names & xplane_step_bit(t->name[row])) || t->kind[row] == ASSAY_HOST_INSTANT)
		return ASSAY_MAP_ABSENT;
	return assay_map_get(&w->steps, xplane_step_key(xplane_source(w, t->track[row]), t->ts[row],
							t->name[row]));
}

static int64_t length_of(const xplane_writer *w, uint32_t row)
{
	const assay_tables *t = w->t;
	if (t->host.dur[row] >= 0)
		return t->host.dur[row];
	uint32_t s = row < t->host_scope.n ? t->host_scope.scope[row] : ASSAY_NO_ROW;
	bool own = s != ASSAY_NO_ROW && t->scope.host[s] == row && t->scope.dur[s] >= 0;
	return own ? t->scope.dur[s] : 0; /* a range never closed lasts to the end */
}

static void put_row(host *h, uint32_t row, int64_t line_ts)
{
	xplane_writer *w = h->w;
	const assay_host_table *t = &w->t->host;
	uint32_t track = t->track[row];
	put_detail(w, h->out, row);
	if (row < w->t->host_scope.n)
		xplane_put_scope(w, h->out, w->t->host_scope.scope[row], w->t->host_scope.how[row]);
	uint32_t step = step_of(w, row);
	if (step != ASSAY_MAP_ABSENT)
		put_step(w, h->out, step, t->args[row]);
	xplane_put_group(w, h->out, xplane_host_step(w, row));
	put_category(w, h->out, row);
	put_call(w, h->out, row);
	xplane_put_args(h->out, w->run, t->args[row]);
	xplane_make_stats(h->out);
	if (assay_host_detail[t->kind[row]] == ASSAY_T_api && w->device_of.p[row] != ASSAY_NO_ROW)
		xplane_put_u64(h->out, "device_id", w->device_of.p[row]);
	h->out->event_rest = xplane_rest(w, ASSAY_KEPT_HOST, row);
	xplane_end_event_as(h->out, event_name(h, t->name[row]),
			    xplane_time(w, track, t->ts[row]) - line_ts, length_of(w, row));
}

static int64_t end_of(const host *h, uint32_t row)
{
	return h->w->t->host.ts[row] + length_of(h->w, row);
}

static void find_steps(const host *h, const row_list *in, row_list *steps)
{
	for (size_t i = 0; h->w->step_names && i < in->n; i++)
		if (step_of(h->w, in->p[i]) != ASSAY_MAP_ABSENT)
			*assay_push(steps) = in->p[i];
}

/* Whether a row ends inside a step that begins after it. steps: in order of start. */
static bool cuts_step(const host *h, const row_list *steps, uint32_t row)
{
	const int64_t *ts = h->w->t->host.ts;
	int64_t end = end_of(h, row);
	size_t low = 0, high = steps->n; /* the last step that begins before the row's end */
	while (low < high) {
		size_t mid = low + (high - low) / 2;
		if (ts[steps->p[mid]] < end)
			low = mid + 1;
		else
			high = mid;
	}
	return low && ts[steps->p[low - 1]] > ts[row] && end_of(h, steps->p[low - 1]) > end;
}

/* Events of a line may nest but must not overlap otherwise: those that do are left for another. A
 * step stays, for xprof gives it what lies below it on its line. */
static void split_overlaps(const host *h, const row_list *in, row_list *fit, row_list *rest)
{
	const assay_host_table *t = &h->w->t->host;
	assay_vec(int64_t) open = {0};
	row_list steps = {0};
	fit->n = rest->n = 0;
	find_steps(h, in, &steps);
	for (size_t i = 0; i < in->n; i++) {
		uint32_t row = in->p[i];
		int64_t end = end_of(h, row);
		while (open.n && open.p[open.n - 1] <= t->ts[row])
			open.n--;
		bool fits = (!open.n || end <= open.p[open.n - 1]) && !cuts_step(h, &steps, row);
		*assay_push(fits ? fit : rest) = row;
		if (fits)
			*assay_push(&open) = end;
	}
	assay_vec_free(&steps);
	assay_vec_free(&open);
}

/* Key of what an input had in a line beside the thread's own. */
static uint64_t band_key(const host *h, const char *name, uint32_t track)
{
	return xplane_kept_key(assay_pool_find(&h->w->run->part.strings, assay_str_of(name)),
			       track);
}

/* own: the thread's own line. */
static void put_line(host *h, const row_list *rows, int64_t id, const char *name, bool own)
{
	const assay_host_table *t = &h->w->t->host;
	if (!rows->n)
		return;
	uint32_t track = t->track[rows->p[0]];
	assay_str rest = own ? xplane_rest(h->w, ASSAY_KEPT_TRACK, track)
			     : xplane_rest(h->w, ASSAY_KEPT_BAND, band_key(h, name, track));
	int64_t ts = xplane_line_base(h->w, track, rest);
	for (size_t i = 0; i < rows->n; i++)
		put_row(h, rows->p[i], ts);
	h->out->line_rest = rest;
	xplane_end_line(h->out, id, ts, assay_str_of(name));
}

static const char *band_name(host *h, int64_t thread, const char *band, int i)
{
	return assay_printf(&h->w->scratch, "Host Threads/%" PRId64 "/%s%d", thread, band, i);
}

/* A line that was one in an XPlane file stays one: a step moved off its thread has no work. Files
 * where we took lines apart have them apart. */
static bool is_one_line(host *h, const row_list *rows, int64_t thread, const char *band)
{
	if (!rows->n)
		return true;
	uint32_t track = h->w->t->host.track[rows->p[0]];
	uint64_t key = band_key(h, band_name(h, thread, band, 1), track);
	return h->w->is_xplane.p[xplane_source(h->w, track)] &&
	       assay_map_get(&h->w->kept[ASSAY_KEPT_BAND], key) == ASSAY_MAP_ABSENT;
}

/* The line itself, then one more for what overlaps, and so on. */
static void put_lines(host *h, row_list *rows, int64_t id, int64_t thread, const char *name,
		      const char *band)
{
	row_list fit = {0}, rest = {0};
	int last = is_one_line(h, rows, thread, band) ? 0 : OVERLAP_LINES;
	for (int i = 0; rows->n; i++) {
		if (i < last)
			split_overlaps(h, rows, &fit, &rest);
		else
			rest.n = 0;
		const char *label = i ? band_name(h, thread, band, i) : name;
		put_line(h, i < last ? &fit : rows, i ? band_id(h) : id, label, !i && id == thread);
		row_list swap = *rows;
		*rows = rest;
		rest = swap;
	}
	assay_vec_free(&fit);
	assay_vec_free(&rest);
}

/* Whose ranges a thread has: the input's format says so, or a line that it had, or the devices. */
static bool is_roctx(const host *h, uint32_t track, int64_t line)
{
	const xplane_writer *w = h->w;
	const char *name = assay_printf(&h->w->scratch, "Host Threads/%" PRId64 "/ROCTX", line);
	return h->amd || assay_has_trait(w->run, w->t->track.source[track], ASSAY_TRAIT_ROCTX) ||
	       assay_map_get(&w->kept[ASSAY_KEPT_BAND], band_key(h, name, track)) !=
		       ASSAY_MAP_ABSENT;
}

static void put_thread(host *h, uint32_t track, const uint32_t *row, size_t n)
{
	xplane_writer *w = h->w;
	row_list plain = {0}, markers = {0}, started = {0};
	for (size_t i = 0; i < n; i++) {
		uint8_t kind = w->t->host.kind[row[i]];
		/* xprof gives a step the calls below it on its own line */
		bool marker = kind == ASSAY_HOST_MARKER && step_of(w, row[i]) == ASSAY_MAP_ABSENT;
		*assay_push(marker                             ? &markers
			    : kind == ASSAY_HOST_PROCESS_RANGE ? &started
							       : &plain) = row[i];
	}
	int64_t id = w->thread.p[track];
	assay_str own = assay_text(w->run, w->t->track.name[track]);
	const char *name = own.n ? own.p : assay_printf(&w->scratch, "Host Threads/%" PRId64, id);
	const char *band = is_roctx(h, track, id) ? "ROCTX" : "NVTX";
	put_lines(h, &plain, id, id, name, "overlap");
	put_lines(h, &markers, band_id(h), id,
		  assay_printf(&w->scratch, "Host Threads/%" PRId64 "/%s", id, band), band);
	put_lines(h, &started, started.n ? band_id(h) : 0, id,
		  assay_printf(&w->scratch, "Host Threads/%" PRId64 "/started", id), "started");
	assay_vec_free(&plain);
	assay_vec_free(&markers);
	assay_vec_free(&started);
}

/* Steps of an input that no host event marks: a line of their own. The last of a name and start
 * stands for all of them: they are done before it only if an event marks them. */
static void put_loose_steps(host *h, uint32_t input)
{
	xplane_writer *w = h->w;
	const assay_step_table *s = &w->t->step;
	size_t any = 0;
	for (uint32_t i = 0; i < s->n; i++) {
		uint32_t source = s->source[i] < w->t->source.n ? assay_group_of(w->t, s->source[i])
								: (uint32_t)w->t->source.n;
		int64_t at = s->ts[i] + w->shift.p[source];
		if (xplane_input_of(w, source) != input ||
		    w->step_done.p[xplane_step_named(w, i)] || at < 0)
			continue;
		put_step(w, h->out, i, 0);
		xplane_put_ref(h->out, "cat", ASSAY_S(XPLANE_CAT_STEP));
		assay_str name = assay_text(w->run, s->name[i]);
		xplane_end_event(h->out, name.n ? name : ASSAY_S("step"), at,
				 s->dur[i] > 0 ? s->dur[i] : 0);
		any++;
	}
	if (!any)
		return;
	int64_t line = band_id(h);
	if (input)
		*assay_push(&w->told) = (xplane_told_thread){line, input, -1, -1};
	xplane_end_line(h->out, line, 0, ASSAY_S("step markers"));
}

/* Stats the plane had in the first input, each once; false when it had none. */
static bool put_given_stats(host *h)
{
	const assay_meta_table *m = &h->w->t->meta;
	static const char prefix[] = XPLANE_HOST ".";
	assay_map seen = {0};
	for (size_t i = 0; i < m->n; i++) {
		assay_str key = assay_text(h->w->run, m->key[i]);
		if (!assay_str_starts(key, prefix) || xplane_input_of(h->w, m->source[i]))
			continue;
		key = (assay_str){key.p + sizeof prefix - 1, key.n - (sizeof prefix - 1)};
		uint32_t *slot = assay_map_at(&seen, m->key[i]);
		if (*slot == ASSAY_MAP_ABSENT)
			xplane_plane_stat(h->out, key, assay_text(h->w->run, m->value[i]));
		*slot = 1;
	}
	bool any = seen.n;
	assay_map_free(&seen);
	return any;
}

/* Else the process; a plane has one. */
static void put_process(host *h)
{
	if (!put_given_stats(h) && h->w->process >= 0)
		xplane_plane_stat(
			h->out, ASSAY_S("process_id"),
			assay_str_of(assay_printf(&h->w->scratch, "%" PRId64, h->w->process)));
}

void xplane_make_host(xplane_writer *w, xplane_out *out)
{
	const assay_tables *t = w->t;
	size_t n = t->host.n, bytes = n * sizeof(uint32_t) + 1;
	uint32_t *rows = assay_pages_grow(NULL, bytes);
	int64_t *length = assay_pages_grow(NULL, n * sizeof *length + 1);
	size_t *first = assay_alloc(&w->scratch, (t->track.n + 1) * sizeof *first);
	host h = {.w = w, .out = out};
	h.names = assay_pages_grow(NULL, (w->run->part.strings.str.n + 1) * sizeof *h.names);
	out->w = w;
	out->place = assay_pool_find(&w->run->part.strings, ASSAY_S(XPLANE_HOST));
	xplane_expect(out, n);
	for (size_t i = 0; i < t->device.n; i++)
		h.amd |= assay_device_vendor(w->run, i) == ASSAY_VENDOR_AMD;
	for (uint32_t i = 0; i < n; i++)
		length[i] = length_of(w, i);
	assay_group_rows(rows, first, NULL, n, t->host.track, t->track.n);
	for (size_t i = 0; i < t->track.n; i++)
		if (w->thread.p[i] != XPLANE_NO_THREAD)
			*assay_map_at(&h.lines, low_half(w->thread.p[i])) = 1;
	for (uint32_t i = 0; i < t->track.n; i++) {
		size_t many = first[i + 1] - first[i];
		assay_sort_spans(rows + first[i], many, t->host.ts, length);
		if (many)
			put_thread(&h, i, rows + first[i], many);
	}
	for (uint32_t i = 0; i <= w->inputs; i++)
		put_loose_steps(&h, i);
	xplane_put_memory(w, out, band_id, &h);
	xplane_put_lanes(w, out, band_id, &h);
	put_process(&h);
	xplane_put_threads(w, out);
	xplane_name_group(w, out);
	assay_map_free(&h.lines);
	assay_pages_free(h.names);
	assay_pages_free(length);
	assay_pages_free(rows);
}
