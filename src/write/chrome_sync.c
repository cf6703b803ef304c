/* What the waits add to a Chrome trace: cuda_sync rows, the HIP fields of calls, and arrows. */
#include "base/compare.h"
#include "base/num.h"
#include "write/chrome.h"

#include <inttypes.h>
#include <stdlib.h>

#include "write/wait_rows.h"

/* ------------------------------------------------------------------ rows */

/* Rows on which waits are drawn: waits of one stream may overlap (two threads wait for it), and
 * viewers drop what overlaps, so each overlap goes one lane further down. */
enum { LANES = 8 };
typedef struct lanes {
	int64_t end[LANES];
	unsigned used;
} lanes;

typedef struct sync_row {
	int64_t ts, end;
	uint32_t source, row; /* row of sync, or of wait when made */
	int64_t device, stream;
	int64_t tid;
	bool made;
} sync_row;

typedef assay_vec(sync_row) sync_rows;

static int by_time(const void *a, const void *b)
{
	const sync_row *x = a, *y = b;
	return assay_then(ASSAY_CMP(x->ts, y->ts), ASSAY_CMP(x->row, y->row));
}

static int by_row(const void *a, const void *b)
{
	const sync_row *x = a, *y = b;
	return assay_then(ASSAY_CMP(x->made, y->made), ASSAY_CMP(x->row, y->row));
}

static uint64_t line_key(const sync_row *r)
{
	return (uint64_t)r->source << 56 ^ (uint64_t)r->device << 40 ^ (uint64_t)r->stream;
}

static void assign_lanes(sync_rows *rows)
{
	assay_map lines = {0};
	assay_vec(lanes) all = {0};
	if (rows->n)
		qsort(rows->p, rows->n, sizeof *rows->p, by_time);
	for (size_t i = 0; i < rows->n; i++) {
		sync_row *r = &rows->p[i];
		uint32_t *slot = assay_map_at(&lines, line_key(r));
		if (*slot == ASSAY_MAP_ABSENT) {
			*slot = (uint32_t)all.n;
			*assay_push(&all) = (lanes){0};
		}
		lanes *l = &all.p[*slot];
		unsigned k = 0;
		while (k < l->used && k < LANES - 1 && l->end[k] > r->ts)
			k++;
		if (k == l->used)
			l->used++;
		l->end[k] = r->end;
		int64_t stream = r->stream < 0 ? 0 : r->stream;
		r->tid = assay_wrap_add(stream, (int64_t)CHROME_SYNC_ROW * (1 + k)) -
			 (r->stream < 0);
	}
	if (rows->n)
		qsort(rows->p, rows->n, sizeof *rows->p, by_row);
	assay_vec_free(&all);
	assay_map_free(&lines);
}

static void gather_syncs(const chrome_out *c, sync_rows *rows)
{
	const assay_sync_table *s = &c->t->sync;
	for (uint32_t i = 0; i < s->n; i++) {
		const assay_track_table *t = &c->t->track;
		uint32_t track = s->track[i], source = t->source[track];
		int64_t dur = s->dur[i] > 0 ? s->dur[i] : 0;
		*assay_push(rows) =
			(sync_row){s->ts[i], s->ts[i] + dur, source,
				   i,        t->pid[track],  assay_wait_stream(c->t, track),
				   0,        false};
	}
}

static void gather_waits(const chrome_out *c, sync_rows *rows)
{
	const assay_wait_table *w = &c->t->wait;
	assay_wait_rows found = {0};
	assay_wait_rows_find(c->run, &found);
	for (size_t k = 0; k < found.n; k++) {
		const assay_wait_row *r = &found.p[k];
		uint32_t i = r->wait;
		*assay_push(rows) = (sync_row){w->ts[i],
					       w->ts[i] + w->dur[i],
					       c->t->track.source[w->thread[i]],
					       i,
					       r->device,
					       r->stream,
					       0,
					       true};
	}
	assay_vec_free(&found);
}

static void put_producer(chrome_out *c, uint32_t w)
{
	const assay_wait_table *t = &c->t->wait;
	if (w == ASSAY_NO_ROW)
		return;
	uint32_t gpu = t->producer_gpu[w];
	assay_jsonw_z(&c->w, "resolve_class", assay_wait_class_name[t->class[w]]);
	if (t->producer_device[w] >= 0)
		assay_jsonw_i64(&c->w, "producer_device", t->producer_device[w]);
	if (gpu != ASSAY_NO_ROW && c->t->gpu.corr[gpu])
		chrome_id(c, "producer_correlation",
			  chrome_corr(c, c->t->track.source[c->t->gpu.track[gpu]],
				      c->t->gpu.corr[gpu]));
}

/* Unresolved is -1, as CUPTI's rows have it. */
static void put_record_id(chrome_out *c, uint64_t id)
{
	static const char key[] = "wait_on_cuda_event_record_corr_id";
	if (id)
		chrome_id(c, key, id);
	else
		assay_jsonw_i64(&c->w, key, -1);
}

/* HTA takes what has a stream for work. */
static void put_found_stream(chrome_out *c, int64_t stream)
{
	assay_jsonw_i64(&c->w, c->run->for_hta ? "stream" : "on_stream", stream);
}

static void put_recorded(chrome_out *c, const sync_row *r)
{
	const assay_sync_table *s = &c->t->sync;
	uint32_t i = r->row, w = chrome_wait_of(c, r->source, s->corr[i]);
	int64_t stream = s->wait_stream[i], record = s->record_corr[i];
	if (assay_str_find(assay_text(c->run, s->args[i]), "\"cuda_sync_kind\"") < 0)
		assay_jsonw_str(&c->w, "cuda_sync_kind", assay_text(c->run, s->name[i]));
	bool known = w != ASSAY_NO_ROW && c->t->wait.class[w] <= ASSAY_WAIT_IS_AMBIGUOUS &&
		     s->event[i] >= 0;
	if (known && stream < 0)
		stream = assay_wait_stream(c->t, c->t->wait.producer[w]);
	if (known && record < 0 && c->t->wait.record_corr[w])
		record = (int64_t)c->t->wait.record_corr[w];
	if (s->event[i] >= 0 || stream >= 0 || record >= 0) {
		assay_jsonw_i64(&c->w, "wait_on_stream", stream);
		put_record_id(c, record < 0 ? 0 : chrome_corr(c, r->source, (uint64_t)record));
		assay_jsonw_i64(&c->w, "wait_on_cuda_event_id", s->event[i]);
	}
	if (s->found[i]) {
		assay_jsonw_i64(&c->w, "assay_found", 1);
		put_found_stream(c, c->t->track.tid[s->track[i]]);
	} else {
		assay_jsonw_i64(&c->w, "stream", c->t->track.tid[s->track[i]]);
	}
	if (s->corr[i])
		chrome_id(c, "correlation", chrome_corr(c, r->source, s->corr[i]));
	assay_jsonw_i64(&c->w, "device", r->device);
	if (s->context[i] != UINT32_MAX)
		assay_jsonw_u64(&c->w, "context", s->context[i]);
	if (s->sync_id[i])
		chrome_id(c, "sync_id", s->sync_id[i]);
	put_producer(c, w);
	chrome_members(c, s->args[i]);
}

static void put_handle(chrome_out *c, const char *key, uint64_t handle)
{
	if (handle != ASSAY_NO_HANDLE)
		assay_jsonw_hex(&c->w, key, handle);
}

static void put_made(chrome_out *c, const sync_row *r)
{
	const assay_wait_table *w = &c->t->wait;
	uint32_t i = r->row;
	assay_jsonw_z(&c->w, "cuda_sync_kind", assay_wait_row_name(w->kind[i]));
	if (w->kind[i] == ASSAY_WAIT_STREAM_WAIT || w->kind[i] == ASSAY_WAIT_EVENT_SYNC) {
		assay_jsonw_i64(&c->w, "wait_on_stream", assay_wait_stream(c->t, w->producer[i]));
		put_record_id(c, chrome_corr(c, r->source, w->record_corr[i]));
		chrome_id(c, "wait_on_cuda_event_id", w->event[i]);
		put_handle(c, "wait_on_stream_handle", w->producer_handle[i]);
	}
	put_found_stream(c, r->stream);
	put_handle(c, "stream_handle", w->consumer_handle[i]);
	chrome_id(c, "correlation", chrome_corr(c, r->source, w->corr[i]));
	assay_jsonw_i64(&c->w, "device", r->device);
	put_producer(c, i);
	assay_jsonw_i64(&c->w, "assay_derived", 1);
}

static void name_line(chrome_out *c, const sync_row *r, assay_map *named)
{
	uint32_t *slot = assay_map_at(named, line_key(r) * 31 + (uint64_t)r->tid);
	if (*slot != ASSAY_MAP_ABSENT)
		return;
	*slot = 1;
	char name[64];
	if (r->stream >= 0)
		snprintf(name, sizeof name, "stream %" PRId64 " (sync)", r->stream);
	else
		snprintf(name, sizeof name, "device %" PRId64 " (sync)", r->device);
	for (int i = 0; i < 2; i++) {
		chrome_begin(c, 'M', (assay_str){0},
			     i ? ASSAY_S("thread_sort_index") : ASSAY_S("thread_name"));
		chrome_place(c, r->source, r->device, r->tid);
		assay_jsonw_open(&c->w, "args", '{');
		if (i)
			assay_jsonw_i64(&c->w, "sort_index", r->stream);
		else
			assay_jsonw_z(&c->w, "name", name);
		assay_jsonw_close(&c->w, '}');
		chrome_end(c);
	}
}

void chrome_put_syncs(chrome_out *c)
{
	sync_rows rows = {0};
	assay_map named = {0};
	gather_syncs(c, &rows);
	gather_waits(c, &rows);
	assign_lanes(&rows);
	for (size_t i = 0; i < rows.n; i++) {
		const sync_row *r = &rows.p[i];
		name_line(c, r, &named);
		assay_str name =
			r->made ? assay_str_of(assay_wait_row_name(c->t->wait.kind[r->row]))
				: assay_text(c->run, c->t->sync.name[r->row]);
		chrome_begin(c, 'X', ASSAY_S("cuda_sync"), name);
		chrome_place(c, r->source, r->device, r->tid);
		chrome_time(c, "ts", chrome_shifted(c, r->source, r->ts));
		chrome_time(c, "dur", r->end - r->ts);
		assay_jsonw_open(&c->w, "args", '{');
		(r->made ? put_made : put_recorded)(c, r);
		assay_jsonw_close(&c->w, '}');
		chrome_end(c);
	}
	assay_map_free(&named);
	assay_vec_free(&rows);
}

/* ------------------------------------------------------------------ HIP fields */

static bool has_key(const chrome_out *c, uint32_t host, const char *quoted)
{
	return assay_str_find(assay_text(c->run, c->t->host.args[host]), quoted) >= 0;
}

static void put_hip_handles(chrome_out *c, uint32_t host, uint64_t stream, uint64_t event)
{
	if (!has_key(c, host, "\"hip_event\""))
		put_handle(c, "hip_event", event ? event : ASSAY_NO_HANDLE);
	if (!has_key(c, host, "\"hip_stream\""))
		put_handle(c, "hip_stream", stream);
}

static bool has_verdict(const chrome_out *c, uint32_t host, uint32_t source)
{
	bool kept = assay_str_is(assay_text(c->run, c->t->source.format[source]), "chrome");
	return kept || has_key(c, host, "\"wait_class\"");
}

/* How sure a wait is, and of which work: other formats say more of it than is written, and it is
 * not to be better known when it is read. */
void chrome_put_verdict(chrome_out *c, uint32_t host)
{
	const assay_wait_table *t = &c->t->wait;
	uint32_t source = c->t->track.source[c->t->host.track[host]];
	uint32_t w = chrome_wait_of(c, source, c->t->api.corr[c->t->host.detail[host]]);
	if (w == ASSAY_NO_ROW || !assay_wait_row_name(t->kind[w]) || source >= c->t->source.n ||
	    has_verdict(c, host, source))
		return;
	uint32_t gpu = t->producer_gpu[w];
	assay_jsonw_z(&c->w, "wait_class", assay_wait_class_name[t->class[w]]);
	if (t->doubt[w])
		assay_jsonw_z(&c->w, "wait_doubt", assay_wait_doubt_name[t->doubt[w]]);
	if (gpu != ASSAY_NO_ROW && c->t->gpu.corr[gpu])
		chrome_id(c, "wait_for",
			  chrome_corr(c, c->t->track.source[c->t->gpu.track[gpu]],
				      c->t->gpu.corr[gpu]));
}

/* Of a call that is no wait of CUPTI's kinds, from the table of calls with handles. */
void chrome_put_call_fields(chrome_out *c, uint32_t host)
{
	uint32_t source = c->t->track.source[c->t->host.track[host]];
	uint32_t i = chrome_event_call_of(c, source, c->t->api.corr[c->t->host.detail[host]]);
	assay_call_arg args[ASSAY_CALL_ARGS];
	size_t n = i == ASSAY_NO_ROW ? 0 : assay_call_args(c->run, host, i, args);
	for (size_t k = 0; k < n; k++) {
		if (args[k].handle)
			assay_jsonw_hex(&c->w, args[k].key, args[k].value);
		else
			chrome_id(c, args[k].key, args[k].value);
	}
}

void chrome_put_hip_fields(chrome_out *c, uint32_t host)
{
	const assay_wait_table *t = &c->t->wait;
	uint32_t detail = c->t->host.detail[host];
	uint32_t source = c->t->track.source[c->t->host.track[host]];
	uint32_t w = chrome_wait_of(c, source, c->t->api.corr[detail]);
	if (w == ASSAY_NO_ROW || !assay_wait_row_name(t->kind[w])) {
		chrome_put_call_fields(c, host);
		return;
	}
	bool by_event = t->event[w] != ASSAY_NO_HANDLE;
	put_hip_handles(c, host,
			t->kind[w] == ASSAY_WAIT_STREAM_SYNC ? t->producer_handle[w]
							     : t->consumer_handle[w],
			by_event ? t->event[w] : 0);
	if (!has_key(c, host, "\"sync_type\""))
		assay_jsonw_z(&c->w, "sync_type", assay_wait_kind_name[t->kind[w]]);
	if (!has_key(c, host, "\"hip_sync_kind\""))
		assay_jsonw_z(&c->w, "hip_sync_kind", assay_wait_kind_name[t->kind[w]]);
	if (!by_event)
		return;
	if (!has_key(c, host, "\"wait_on_hip_event_id\""))
		put_handle(c, "wait_on_hip_event_id", t->event[w]);
	if (!t->record_corr[w])
		return;
	if (!has_key(c, host, "\"wait_on_stream\""))
		assay_jsonw_i64(&c->w, "wait_on_stream", assay_wait_stream(c->t, t->producer[w]));
	if (!has_key(c, host, "\"wait_on_hip_event_record_corr_id\""))
		chrome_id(c, "wait_on_hip_event_record_corr_id",
			  chrome_corr(c, source, t->record_corr[w]));
}

/* ------------------------------------------------------------------ arrows */

/* On a stream, `lane` says on which of its rows. */
static void put_flow(chrome_out *c, char phase, assay_str cat, assay_str name, uint64_t id,
		     uint32_t track, unsigned lane, int64_t ts, bool binds)
{
	const assay_track_table *k = &c->t->track;
	char text[2] = {phase, 0};
	assay_jsonw_open_flat(&c->w, NULL, '{');
	assay_jsonw_z(&c->w, "ph", text);
	chrome_id(c, "id", id);
	if (lane) {
		chrome_place(c, k->source[track], k->pid[track],
			     chrome_stream_row(k->tid[track], lane));
		chrome_time(c, "ts", chrome_shifted(c, k->source[track], ts));
	} else {
		chrome_at(c, track, ts);
	}
	assay_jsonw_str(&c->w, "cat", cat);
	assay_jsonw_str(&c->w, "name", name);
	if (binds)
		assay_jsonw_z(&c->w, "bp", "e");
	chrome_end(c);
}

/* Arrows from launch to work, where the input had none. One start a call, however many ends. */
static void put_launch_flows(chrome_out *c, const bool *had)
{
	const assay_tables *t = c->t;
	assay_map started = {0};
	for (uint32_t g = 0; g < t->gpu.n && t->launch.n == t->gpu.n; g++) {
		uint32_t h = t->launch.host[g], source = t->track.source[t->gpu.track[g]];
		if (h == ASSAY_NO_ROW || (source < t->source.n && had[source]))
			continue;
		uint64_t id = chrome_corr(c, source, t->gpu.corr[g]);
		uint32_t *slot = assay_map_at(&started, h);
		if (*slot == ASSAY_MAP_ABSENT)
			put_flow(c, 's', ASSAY_S("ac2g"), ASSAY_S("ac2g"), id, t->host.track[h], 0,
				 t->host.ts[h], false);
		*slot = 1;
		put_flow(c, 'f', ASSAY_S("ac2g"), ASSAY_S("ac2g"), id, t->gpu.track[g], c->lane[g],
			 t->gpu.ts[g], true);
	}
	assay_map_free(&started);
}

/* An arrow of ours starts inside the producer and ends inside the consumer, never before it
 * started; when clocks contradict that, there is no arrow. */
static void put_edge_flows(chrome_out *c)
{
	const assay_tables *t = c->t;
	uint64_t id = 0;
	for (uint32_t i = 0; i < t->edge.n; i++) {
		uint32_t from = t->edge.from_gpu[i], to = t->edge.to_gpu[i];
		uint32_t host = t->edge.to_host[i];
		if (from == ASSAY_NO_ROW || (to == ASSAY_NO_ROW && host == ASSAY_NO_ROW))
			continue;
		int64_t start = t->gpu.ts[from] + (t->gpu.dur[from] > 0 ? t->gpu.dur[from] - 1 : 0);
		uint32_t track = to != ASSAY_NO_ROW ? t->gpu.track[to] : t->host.track[host];
		int64_t end = to != ASSAY_NO_ROW ? t->gpu.ts[to] : t->host.ts[host];
		if (to == ASSAY_NO_ROW && start > end) {
			int64_t last = end + (t->host.dur[host] > 0 ? t->host.dur[host] - 1 : 0);
			end = start < last ? start : last;
		}
		if (end < start)
			continue;
		assay_str name = assay_str_of(assay_edge_kind_name[t->edge.kind[i]]);
		put_flow(c, 's', ASSAY_S("stream_dep"), name, ++id, t->gpu.track[from],
			 c->lane[from], start, false);
		put_flow(c, 'f', ASSAY_S("stream_dep"), name, id, track,
			 to != ASSAY_NO_ROW ? c->lane[to] : 0, end, true);
	}
}

void chrome_put_flow(chrome_out *c, uint32_t row)
{
	const assay_flow_table *f = &c->t->flow;
	assay_str cat = assay_text(c->run, f->cat[row]);
	uint64_t id = chrome_corr(c, c->t->track.source[f->track[row]], f->id[row]);
	put_flow(c, (char)f->phase[row], cat, cat, id, f->track[row],
		 chrome_moved(c, f->track[row], f->ts[row]), f->ts[row], f->bind[row]);
}

void chrome_put_made_flows(chrome_out *c)
{
	const assay_flow_table *f = &c->t->flow;
	assay_arena scratch = {0};
	bool *had = assay_alloc(&scratch, c->t->source.n + 1);
	assay_sid launch = assay_pool_find(&c->run->part.strings, ASSAY_S("ac2g"));
	for (uint32_t i = 0; i < f->n; i++) {
		uint32_t source = c->t->track.source[f->track[i]];
		if (source < c->t->source.n && launch && f->cat[i] == launch)
			had[source] = true;
	}
	put_launch_flows(c, had);
	put_edge_flows(c);
	assay_arena_free(&scratch);
}
