/* From a run's tables to the sweep's records, and from its output to the wait and edge tables. One
 * small adapter per source of knowledge: GPU rows, recorded streams, the recorder's own event and
 * sync rows, calls with handles, and calls of which only the name is known. */
#include "resolve/waits_calls.h"

#include "base/json.h"
#include "base/sort.h"
#include "resolve/keys.h"
#include "resolve/resolve.h"

/* Clocks of host and device agree to about a microsecond; traces in whole microseconds less. */
enum { TOLERANCE = 10000 };

typedef struct waits {
	assay_run *run;
	assay_tables *t;
	bool handles_only;
	bool *has_calls; /* by source: calls with handles were recorded */
	assay_vec(assay_sweep_rec) recs;
	assay_keys *keys;       /* by source */
	uint32_t *source_scope; /* by source: scope of work whose call is not known */
	int32_t *only_device;   /* by source: its one device, or -1 */
	size_t sources;
	assay_map scopes;       /* source and process -> scope */
	assay_map calls;        /* source and correlation id -> row of host */
	assay_map gpus;         /* the same -> row of gpu */
	assay_map told;         /* the same -> 1: a sync or record row says more than the call */
	assay_map handles;      /* source and stream handle -> row of track, or NO_TRACK */
	uint32_t *stream_track; /* by row of stream */
	assay_call *call;       /* by string id */
	assay_arena scratch;
} waits;

static const uint32_t no_track = ASSAY_NO_ROW - 1; /* a handle seen with two streams */

static uint64_t handle_key(uint32_t source, uint64_t handle)
{
	return handle * 0x9E3779B97F4A7C15u + source;
}

static bool is_call(const assay_tables *t, uint32_t h)
{
	return t->host.kind[h] == ASSAY_HOST_RUNTIME || t->host.kind[h] == ASSAY_HOST_DRIVER;
}

static uint32_t host_source(const waits *w, uint32_t h)
{
	return w->t->track.source[w->t->host.track[h]];
}

static uint32_t scope_of_thread(waits *w, uint32_t track)
{
	uint32_t source = w->t->track.source[track];
	uint64_t pid = (uint64_t)w->t->track.pid[track];
	uint32_t *slot = assay_map_at(&w->scopes, pid << 24 ^ source);
	if (*slot == ASSAY_MAP_ABSENT)
		*slot = (uint32_t)w->scopes.n;
	return *slot;
}

/* ------------------------------------------------------------------ what is known of the run */

static void index_names(waits *w)
{
	size_t n = w->run->part.strings.str.n;
	w->call = assay_alloc(&w->scratch, (n + 1) * sizeof *w->call);
	for (uint32_t i = 0; i <= n; i++)
		w->call[i] = assay_call_of(i < n ? assay_text(w->run, i) : (assay_str){"", 0});
}

/* A runtime call wins over the driver call it made. */
static void index_calls(waits *w)
{
	const assay_tables *t = w->t;
	for (uint32_t h = 0; h < t->host.n; h++) {
		uint64_t corr = is_call(t, h) ? t->api.corr[t->host.detail[h]] : 0;
		if (!corr)
			continue;
		uint32_t source = host_source(w, h);
		uint32_t *slot = assay_map_at(&w->calls, assay_corr_key(source, corr));
		if (*slot == ASSAY_MAP_ABSENT || (t->host.kind[h] == ASSAY_HOST_RUNTIME &&
						  t->host.kind[*slot] == ASSAY_HOST_DRIVER))
			*slot = h;
		if (source < w->sources && w->source_scope[source] == ASSAY_NO_ROW)
			w->source_scope[source] = scope_of_thread(w, t->host.track[h]);
	}
}

static void index_gpus(waits *w)
{
	const assay_tables *t = w->t;
	for (uint32_t g = 0; g < t->gpu.n; g++) {
		uint32_t track = t->gpu.track[g], source = t->track.source[track];
		if (t->gpu.corr[g]) {
			uint32_t *slot =
				assay_map_at(&w->gpus, assay_corr_key(source, t->gpu.corr[g]));
			if (*slot == ASSAY_MAP_ABSENT)
				*slot = g;
		}
		if (source >= w->sources)
			continue;
		int32_t device = (int32_t)t->track.pid[track];
		int32_t *only = &w->only_device[source];
		*only = *only == -2 || *only == device ? device : -1;
	}
	for (size_t i = 0; i < w->sources; i++)
		if (w->only_device[i] == -2)
			w->only_device[i] = -1;
}

/* Ids of 32 bits may have run over: only then are calls looked at in the order of time. */
static void index_keys(waits *w)
{
	const assay_tables *t = w->t;
	assay_vec(uint32_t) rows = {0};
	uint64_t *high = assay_alloc(&w->scratch, (w->sources + 1) * sizeof *high);
	for (uint32_t h = 0; h < t->host.n; h++) {
		uint64_t corr = is_call(t, h) ? t->api.corr[t->host.detail[h]] : 0;
		uint32_t source = host_source(w, h);
		if (corr && source < w->sources && corr > high[source])
			high[source] = corr;
	}
	for (uint32_t h = 0; h < t->host.n; h++) {
		uint32_t source = host_source(w, h);
		if (is_call(t, h) && source < w->sources && high[source] >> 31 == 1)
			*assay_push(&rows) = h;
	}
	if (rows.n)
		assay_sort_rows(rows.p, rows.n, t->host.ts);
	for (size_t i = 0; i < rows.n; i++) {
		uint32_t h = rows.p[i];
		if (t->api.corr[t->host.detail[h]])
			assay_keys_add(&w->keys[host_source(w, h)], t->host.ts[h],
				       t->api.corr[t->host.detail[h]]);
	}
	assay_vec_free(&rows);
}

static uint64_t key_at(const waits *w, uint32_t source, int64_t ts, uint64_t corr)
{
	return source < w->sources ? assay_keys_at(&w->keys[source], ts, corr) : corr;
}

static void learn_handle(waits *w, uint32_t source, uint64_t handle, uint32_t track)
{
	uint32_t *slot = assay_map_at(&w->handles, handle_key(source, handle));
	*slot = *slot == ASSAY_MAP_ABSENT || *slot == track ? track : no_track;
}

/* A thread's own default stream has the handle 2, or null in calls built for it. */
static bool is_own(uint64_t handle, assay_str name)
{
	return handle == 2 || (handle == 0 && assay_str_ends(name, "_spt"));
}

static uint64_t own_handle(uint32_t thread)
{
	return 2 | ((uint64_t)thread + 1) << 32;
}

/* An address that was several streams' in turn: the one alive at that time. */
static uint32_t track_by_time(const waits *w, uint32_t source, uint64_t handle, int64_t ts)
{
	const assay_stream_table *s = &w->t->stream;
	for (uint32_t i = 0; i < s->n; i++)
		if (s->source[i] == source && s->handle[i] == handle && s->created[i] <= ts &&
		    (!s->destroyed[i] || ts <= s->destroyed[i]))
			return w->stream_track[i];
	return ASSAY_NO_ROW;
}

static uint32_t track_of_handle(const waits *w, uint32_t source, uint64_t handle, int64_t ts)
{
	if (handle == ASSAY_NO_HANDLE)
		return ASSAY_NO_ROW;
	uint32_t track = assay_map_get(&w->handles, handle_key(source, handle));
	if (track != no_track)
		return track;
	/* which device's default stream null means is not known when there are several */
	return handle <= 1 ? ASSAY_NO_ROW : track_by_time(w, source, handle, ts);
}

/* ------------------------------------------------------------------ records */

static assay_sweep_rec *add_rec(waits *w, assay_sweep_op op, uint32_t source, uint64_t corr,
				int64_t ts)
{
	assay_sweep_rec *r = assay_push(&w->recs);
	uint32_t scope = source < w->sources ? w->source_scope[source] : ASSAY_NO_ROW;
	*r = (assay_sweep_rec){.key = key_at(w, source, ts, corr),
			       .enter = ts,
			       .exit = ts,
			       .stream = ASSAY_NO_HANDLE,
			       .scope = scope == ASSAY_NO_ROW ? 1u << 31 | source : scope,
			       .thread = ASSAY_NO_ROW,
			       .track = ASSAY_NO_ROW,
			       .hint = ASSAY_NO_ROW,
			       .row = ASSAY_NO_ROW,
			       .device = -1,
			       .op = (uint8_t)op};
	return r;
}

/* The host call behind a record, when it was recorded: its times, thread and process. */
static void attach_call(waits *w, assay_sweep_rec *r, uint32_t h)
{
	const assay_tables *t = w->t;
	if (h == ASSAY_NO_ROW)
		return;
	r->row = h;
	r->enter = t->host.ts[h];
	r->exit = assay_host_end(&t->host, h);
	r->thread = t->host.track[h];
	r->scope = scope_of_thread(w, r->thread);
	r->key = key_at(w, host_source(w, h), r->enter, t->api.corr[t->host.detail[h]]);
	int32_t status = t->api.status[t->host.detail[h]];
	if (status != 0 && status != ASSAY_NO_STATUS)
		r->flags |= ASSAY_REC_FAILED;
}

static void set_stream(waits *w, assay_sweep_rec *r, uint32_t track)
{
	int64_t id = w->t->track.tid[track];
	r->device = (int32_t)w->t->track.pid[track];
	if (id >= 0 && id != UINT32_MAX) /* how "no stream" is written */
		r->track = track;
}

static void add_launches(waits *w)
{
	const assay_tables *t = w->t;
	assay_vec_reserve(&w->recs, w->recs.n + t->gpu.n);
	for (uint32_t g = 0; g < t->gpu.n; g++) {
		if (!t->gpu.corr[g])
			continue;
		uint32_t source = t->track.source[t->gpu.track[g]];
		uint32_t h = assay_map_get(&w->calls, assay_corr_key(source, t->gpu.corr[g]));
		assay_sweep_rec *r = add_rec(w, ASSAY_OP_LAUNCH, source, t->gpu.corr[g],
					     h == ASSAY_NO_ROW ? t->gpu.ts[g] : t->host.ts[h]);
		if (h != ASSAY_NO_ROW) {
			r->scope = scope_of_thread(w, t->host.track[h]);
			r->arg = (uint64_t)t->host.ts[h];
		}
		r->enter = t->gpu.ts[g];
		r->exit = assay_gpu_end(&t->gpu, g);
		r->row = g;
		set_stream(w, r, t->gpu.track[g]);
	}
}

static void add_streams(waits *w)
{
	const assay_stream_table *s = &w->t->stream;
	uint32_t was = w->run->part.source;
	w->stream_track = assay_alloc(&w->scratch, (s->n + 1) * sizeof *w->stream_track);
	for (uint32_t i = 0; i < s->n; i++) {
		w->run->part.source = s->source[i];
		uint32_t track = assay_stream_track(&w->run->part, s->device[i], s->id[i]);
		w->stream_track[i] = track;
		assay_sweep_rec *r = add_rec(w, ASSAY_OP_STREAM_CREATE, s->source[i], 0, 0);
		set_stream(w, r, track);
		r->stream = s->handle[i];
		r->flags = (uint16_t)((s->flags[i] & 1 ? ASSAY_REC_LEGACY : 0) |
				      (s->flags[i] & 2 ? ASSAY_REC_NONBLOCKING : 0));
		if (s->flags[i] & 1) {
			learn_handle(w, s->source[i], 0, track);
			learn_handle(w, s->source[i], 1, track);
		} else if (s->handle[i] > 2) {
			learn_handle(w, s->source[i], s->handle[i], track);
		}
	}
	w->run->part.source = was;
}

/* Numbers start at 0, and 0 is the null handle. */
static void number_event(assay_sweep_rec *r, uint64_t event)
{
	r->event = event + 1;
	r->flags |= ASSAY_REC_NUMBERED;
}

struct event_args {
	int64_t event, corr, stream, device;
};

static struct event_args event_args_in(waits *w, assay_str args)
{
	struct event_args a = {-1, -1, -1, -1};
	assay_json j = assay_json_members(&w->scratch, args);
	for (assay_str key, raw; assay_json_member(&j, &key) && assay_json_skip(&j, &raw);) {
		int64_t *to = assay_str_is(key, "event_id")      ? &a.event
			      : assay_str_is(key, "correlation") ? &a.corr
			      : assay_str_is(key, "stream")      ? &a.stream
			      : assay_str_is(key, "device")      ? &a.device
								 : NULL;
		if (to)
			assay_str_i64(raw, to);
	}
	return a;
}

static uint32_t stream_beside(waits *w, uint32_t track, int64_t device, int64_t stream)
{
	uint32_t was = w->run->part.source;
	w->run->part.source = w->t->track.source[track];
	uint32_t beside = assay_stream_track(&w->run->part, device, stream);
	w->run->part.source = was;
	return beside;
}

static void tell(waits *w, uint32_t source, uint64_t corr)
{
	*assay_map_at(&w->told, assay_corr_key(source, corr)) = 1;
}

/* Without join ids: calls with handles say it all; where there are none, the recorder's numbers of
 * events are the handles. */
static bool leaves_out(const waits *w, uint32_t source)
{
	return w->handles_only && source < w->sources && w->has_calls[source];
}

static void add_event_records(waits *w)
{
	const assay_event_record_table *e = &w->t->event_record;
	for (uint32_t i = 0; i < e->n; i++) {
		uint32_t source = w->t->track.source[e->track[i]];
		if (leaves_out(w, source))
			continue;
		uint32_t h = assay_map_get(&w->calls, assay_corr_key(source, e->corr[i]));
		assay_sweep_rec *r = add_rec(w, ASSAY_OP_RECORD, source, e->corr[i], e->ts[i]);
		attach_call(w, r, h);
		set_stream(w, r, e->track[i]);
		number_event(r, e->event[i]);
		r->arg = w->handles_only ? 0 : e->sync_id[i];
		tell(w, source, e->corr[i]);
	}
}

/* Kineto's "cudaEvent" rows: the event's number, stream and record call are arguments. */
static void add_event_rows(waits *w)
{
	const assay_tables *t = w->t;
	assay_sid cat = assay_pool_find(&w->run->part.strings, ASSAY_S("cuda_event"));
	for (uint32_t i = 0; cat && i < t->host.n; i++) {
		if (t->host.kind[i] != ASSAY_HOST_OTHER || t->other.cat[t->host.detail[i]] != cat)
			continue;
		struct event_args a = event_args_in(w, assay_text(w->run, t->host.args[i]));
		uint32_t source = host_source(w, i);
		if (a.corr <= 0 || a.event < 0)
			continue;
		uint32_t h = assay_map_get(&w->calls, assay_corr_key(source, (uint64_t)a.corr));
		assay_sweep_rec *r =
			add_rec(w, ASSAY_OP_RECORD, source, (uint64_t)a.corr, t->host.ts[i]);
		attach_call(w, r, h);
		number_event(r, (uint64_t)a.event);
		if (a.stream >= 0)
			set_stream(w, r, stream_beside(w, t->host.track[i], a.device, a.stream));
		tell(w, source, (uint64_t)a.corr);
	}
}

static assay_sweep_op sync_op(assay_str name)
{
	static const struct {
		const char *name;
		assay_sweep_op op;
	} ops[] = {
		{"Stream Wait Event", ASSAY_OP_WAIT},
		{"Event Sync", ASSAY_OP_EVENT_SYNC},
		{"Stream Sync", ASSAY_OP_STREAM_SYNC},
		{"Context Sync", ASSAY_OP_DEVICE_SYNC},
	};
	for (size_t i = 0; i < ASSAY_COUNT_OF(ops); i++)
		if (assay_str_is(name, ops[i].name))
			return ops[i].op;
	return ASSAY_OP_UNKNOWN_SYNC;
}

/* A sync row that names its record call stands for that record too. Ids made from correlation ids
 * are marked, so that they never meet a vendor's. */
static const uint64_t made_id = 1ull << 63;

static void add_named_record(waits *w, uint32_t i, assay_map *made)
{
	const assay_sync_table *s = &w->t->sync;
	uint32_t source = w->t->track.source[s->track[i]];
	uint64_t corr = (uint64_t)s->record_corr[i];
	uint32_t *slot = assay_map_at(made, assay_corr_key(source, corr));
	if (*slot != ASSAY_MAP_ABSENT)
		return;
	*slot = i;
	tell(w, source, corr);
	uint32_t h = assay_map_get(&w->calls, assay_corr_key(source, corr));
	assay_sweep_rec *r = add_rec(w, ASSAY_OP_RECORD, source, corr, s->ts[i]);
	attach_call(w, r, h);
	r->flags |= h == ASSAY_NO_ROW ? ASSAY_REC_OUTSIDE : 0;
	number_event(r, (uint64_t)s->event[i]);
	r->arg = w->handles_only ? 0 : corr | made_id;
	if (s->wait_stream[i] >= 0)
		set_stream(w, r,
			   stream_beside(w, s->track[i], w->t->track.pid[s->track[i]],
					 s->wait_stream[i]));
}

/* A wait of which nothing but its kind and length is known. */
static void make_blind(assay_sweep_rec *r)
{
	r->arg = r->op;
	r->op = ASSAY_OP_UNKNOWN_SYNC;
}

static void add_syncs(waits *w)
{
	assay_sync_table *s = &w->t->sync;
	assay_map made = {0};
	for (uint32_t i = 0; i < s->n; i++) {
		uint32_t source = w->t->track.source[s->track[i]];
		if (leaves_out(w, source))
			continue;
		uint32_t h = s->corr[i]
				     ? assay_map_get(&w->calls, assay_corr_key(source, s->corr[i]))
				     : ASSAY_NO_ROW;
		assay_sweep_op op = sync_op(assay_text(w->run, s->name[i]));
		bool named = !s->sync_id[i] && s->record_corr[i] > 0;
		if (named)
			add_named_record(w, i, &made);
		assay_sweep_rec *r = add_rec(w, op, source, s->corr[i], s->ts[i]);
		r->exit = r->enter + (s->dur[i] > 0 ? s->dur[i] : 0);
		attach_call(w, r, h);
		set_stream(w, r, s->track[i]);
		if (s->event[i] >= 0)
			number_event(r, (uint64_t)s->event[i]);
		r->arg = w->handles_only ? 0
			 : named         ? (uint64_t)s->record_corr[i] | made_id
					 : s->sync_id[i];
		if (!named && !w->handles_only && !s->sync_id[i] && s->wait_stream[i] >= 0)
			r->hint = stream_beside(w, s->track[i], w->t->track.pid[s->track[i]],
						s->wait_stream[i]);
		if (s->status[i] != 0 && s->status[i] != ASSAY_NO_STATUS)
			r->flags |= ASSAY_REC_FAILED;
		if (s->event[i] < 0 && !r->arg &&
		    (op == ASSAY_OP_WAIT || op == ASSAY_OP_EVENT_SYNC))
			make_blind(r);
		tell(w, source, s->corr[i]);
	}
	assay_map_free(&made);
}

/* ------------------------------------------------------------------ calls with handles */

struct handles {
	uint64_t stream, event, arg;
	bool has_stream, has_event;
};

/* NULL: the call orders nothing after all. */
static assay_sweep_rec *add_call(waits *w, uint32_t source, assay_call call, uint32_t h,
				 struct handles a)
{
	bool launch_without_event = call.op == ASSAY_OP_RECORD && !a.event;
	if (launch_without_event && h != ASSAY_NO_ROW &&
	    assay_str_find(assay_text(w->run, w->t->host.name[h]), "Launch") >= 0)
		return NULL;
	assay_sweep_rec *r = add_rec(w, call.op, source, 0, 0);
	attach_call(w, r, h);
	r->flags |= call.flags;
	r->arg = call.op == ASSAY_OP_WAIT_VALUE || call.op == ASSAY_OP_WRITE_VALUE ||
				 call.op == ASSAY_OP_IPC_OPEN || call.op == ASSAY_OP_IPC_EXPORT
			 ? a.arg
			 : 0;
	if (call.takes & ASSAY_CALL_EVENT)
		r->event = a.event;
	r->device = source < w->sources ? w->only_device[source] : -1;
	if (!(call.takes & ASSAY_CALL_STREAM))
		return r;
	r->stream = a.has_stream ? a.stream : ASSAY_NO_HANDLE;
	bool own = r->stream == 2 || (r->stream == 0 && call.flags & ASSAY_REC_PER_THREAD);
	uint32_t track =
		track_of_handle(w, source, own ? own_handle(r->thread) : r->stream, r->enter);
	if (track != ASSAY_NO_ROW)
		set_stream(w, r, track);
	if (call.takes & ASSAY_CALL_FLAGS && a.arg & 1) /* cudaStreamNonBlocking */
		r->flags |= ASSAY_REC_NONBLOCKING;
	return r;
}

static void add_copy(waits *w, assay_call call, uint32_t h)
{
	const assay_tables *t = w->t;
	uint32_t source = host_source(w, h);
	uint32_t g =
		assay_map_get(&w->gpus, assay_corr_key(source, t->api.corr[t->host.detail[h]]));
	if (g == ASSAY_NO_ROW)
		return;
	assay_sweep_rec *r = add_rec(w, ASSAY_OP_COPY, source, 0, 0);
	attach_call(w, r, h);
	r->flags |= call.flags;
	set_stream(w, r, t->gpu.track[g]);
	if (call.takes & ASSAY_CALL_SYNC_COPY &&
	    assay_str_find(assay_text(w->run, t->gpu.name[g]), "DtoH") >= 0)
		r->flags |= ASSAY_REC_MUST_BLOCK;
}

/* Does a row of another kind say more about this call? Creation and the like are only told here. */
static bool is_told(const waits *w, uint32_t source, uint64_t corr, assay_sweep_op op)
{
	return op >= ASSAY_OP_RECORD && op <= ASSAY_OP_STREAM_QUERY &&
	       assay_map_get(&w->told, assay_corr_key(source, corr)) != ASSAY_MAP_ABSENT;
}

static void add_event_calls(waits *w)
{
	const assay_event_call_table *e = &w->t->event_call;
	for (uint32_t i = 0; i < e->n; i++) {
		uint32_t source = w->t->track.source[e->track[i]];
		assay_call call = w->call[e->name[i]];
		if (call.op == ASSAY_OP_COUNT || is_told(w, source, e->corr[i], call.op))
			continue;
		uint32_t h = assay_map_get(&w->calls, assay_corr_key(source, e->corr[i]));
		if (call.op == ASSAY_OP_COPY)
			continue; /* add_host_calls() has more to tell */
		assay_sweep_rec *r = add_call(
			w, source, call, h,
			(struct handles){e->stream[i], e->event[i], e->arg[i], true, true});
		if (!r)
			continue;
		if (h == ASSAY_NO_ROW) {
			r->key = key_at(w, source, e->ts[i], e->corr[i]);
			r->enter = e->ts[i];
			r->exit = r->enter + (e->dur[i] > 0 ? e->dur[i] : 0);
			r->thread = e->track[i];
			r->scope = scope_of_thread(w, e->track[i]);
		}
		if (e->status[i])
			r->flags |= ASSAY_REC_FAILED;
		if (e->place[i] != ASSAY_NO_ROW &&
		    (call.takes & ASSAY_CALL_STREAM || call.op == ASSAY_OP_DEVICE_SYNC))
			set_stream(w, r, e->place[i]);
		tell(w, source, e->corr[i]);
	}
}

/* Handles in the argument text: the ROCm design's names, and those of rocprofv3's API arguments. */
static struct handles handles_in(waits *w, assay_str args)
{
	static const char *const stream_keys[] = {"hip_stream", "stream", "hStream", "cuda_stream"};
	static const char *const event_keys[] = {"hip_event", "event", "hEvent", "cuda_event",
						 "stopEvent"};
	struct handles a = {0};
	if (!args.n || (assay_str_find(args, "tream") < 0 && assay_str_find(args, "vent") < 0))
		return a;
	assay_json j = assay_json_members(&w->scratch, args);
	for (assay_str key, raw; assay_json_member(&j, &key) && assay_json_skip(&j, &raw);) {
		uint64_t v;
		if (raw.n >= 2 && raw.p[0] == '"')
			raw = (assay_str){raw.p + 1, raw.n - 2};
		if (!assay_str_u64(raw, &v))
			continue;
		for (size_t i = 0; i < ASSAY_COUNT_OF(stream_keys); i++)
			if (assay_str_is(key, stream_keys[i]))
				a.stream = v, a.has_stream = true;
		for (size_t i = 0; i < ASSAY_COUNT_OF(event_keys); i++)
			if (assay_str_is(key, event_keys[i]))
				a.event = v, a.has_event = true;
		if (assay_str_is(key, "flags"))
			a.arg = v;
	}
	return a;
}

/* Launches whose arguments name a stream handle tell which stream of GPU rows that is. */
static void learn_from_launches(waits *w)
{
	const assay_tables *t = w->t;
	for (uint32_t h = 0; h < t->host.n; h++) {
		if (!is_call(t, h) || !t->host.args[h] ||
		    assay_str_find(assay_text(w->run, t->host.args[h]), "tream") < 0)
			continue;
		uint64_t key = assay_corr_key(host_source(w, h), t->api.corr[t->host.detail[h]]);
		uint32_t g = assay_map_get(&w->gpus, key);
		if (g == ASSAY_NO_ROW)
			continue;
		struct handles a = handles_in(w, assay_text(w->run, t->host.args[h]));
		bool own = is_own(a.stream, assay_text(w->run, t->host.name[h]));
		if (a.has_stream)
			learn_handle(w, host_source(w, h),
				     own ? own_handle(t->host.track[h]) : a.stream,
				     t->gpu.track[g]);
	}
	const assay_event_call_table *e = &t->event_call;
	for (uint32_t i = 0; i < e->n; i++) {
		uint32_t source = t->track.source[e->track[i]];
		uint32_t g = assay_map_get(&w->gpus, assay_corr_key(source, e->corr[i]));
		bool own = is_own(e->stream[i], assay_text(w->run, e->name[i]));
		if (g != ASSAY_NO_ROW)
			learn_handle(w, source, own ? own_handle(e->track[i]) : e->stream[i],
				     t->gpu.track[g]);
	}
}

/* ------------------------------------------------------------------ calls known by name only */

/* A record of nobody knows which event: no event's last record is certain from here on. */
static void add_blind_record(waits *w, uint32_t h)
{
	if (w->handles_only ||
	    assay_str_find(assay_text(w->run, w->t->host.name[h]), "Launch") >= 0)
		return;
	assay_sweep_rec *r = add_rec(w, ASSAY_OP_GAP, host_source(w, h), 0, 0);
	attach_call(w, r, h);
}

/* Calls that say nothing of what they wait for still say how long. */
static bool waits_blindly(assay_sweep_op op)
{
	return op == ASSAY_OP_WAIT || op == ASSAY_OP_EVENT_SYNC || op == ASSAY_OP_STREAM_SYNC ||
	       op == ASSAY_OP_DEVICE_SYNC;
}

static void add_host_calls(waits *w)
{
	const assay_tables *t = w->t;
	for (uint32_t h = 0; h < t->host.n; h++) {
		assay_call call = w->call[t->host.name[h]];
		if (t->host.kind[h] != ASSAY_HOST_RUNTIME || call.op == ASSAY_OP_COUNT)
			continue;
		uint32_t source = host_source(w, h);
		uint64_t corr = t->api.corr[t->host.detail[h]];
		if (!corr ||
		    assay_map_get(&w->told, assay_corr_key(source, corr)) != ASSAY_MAP_ABSENT)
			continue;
		if (call.op == ASSAY_OP_COPY) {
			add_copy(w, call, h);
			continue;
		}
		struct handles a = handles_in(w, assay_text(w->run, t->host.args[h]));
		bool enough = call.op == ASSAY_OP_DEVICE_SYNC || call.op == ASSAY_OP_DRAIN ||
			      (call.takes & ASSAY_CALL_EVENT ? a.has_event : a.has_stream);
		if (enough)
			add_call(w, source, call, h, a);
		else if (call.op == ASSAY_OP_RECORD)
			add_blind_record(w, h);
		else if (waits_blindly(call.op)) {
			assay_sweep_rec *r = add_rec(w, call.op, source, 0, 0);
			attach_call(w, r, h);
			if (call.op == ASSAY_OP_WAIT || call.op == ASSAY_OP_EVENT_SYNC)
				make_blind(r);
		}
	}
}

/* ------------------------------------------------------------------ output */

static uint64_t corr_of(const waits *w, uint32_t host, uint32_t source, uint64_t key)
{
	if (host != ASSAY_NO_ROW)
		return w->t->api.corr[w->t->host.detail[host]];
	return source < w->sources ? assay_keys_id(&w->keys[source], key) : key;
}

static uint32_t source_of_wait(const waits *w, const assay_sweep_rec *r)
{
	uint32_t track = r->thread != ASSAY_NO_ROW ? r->thread : r->track;
	return track != ASSAY_NO_ROW ? w->t->track.source[track] : ASSAY_NO_ROW;
}

static uint8_t kind_of_blind(const assay_sweep_wait *v)
{
	return v->rec.arg == ASSAY_OP_WAIT         ? ASSAY_WAIT_STREAM_WAIT
	       : v->rec.arg == ASSAY_OP_EVENT_SYNC ? ASSAY_WAIT_EVENT_SYNC
						   : ASSAY_WAIT_UNKNOWN;
}

static uint32_t take_wait(void *ctx, const assay_sweep_wait *v)
{
	waits *w = ctx;
	uint32_t i = assay_add(&w->run->part.t, ASSAY_T_wait);
	assay_wait_table *t = &w->t->wait;
	uint32_t source = source_of_wait(w, &v->rec);
	bool blind = v->rec.op == ASSAY_OP_UNKNOWN_SYNC;
	t->ts[i] = v->rec.enter;
	t->dur[i] = v->rec.exit - v->rec.enter;
	t->thread[i] = v->rec.thread;
	t->consumer[i] = v->consumer.track;
	t->producer[i] = v->producer.track;
	t->consumer_handle[i] = v->consumer.handle;
	t->producer_handle[i] = v->producer.handle;
	if (v->kind == ASSAY_WAIT_STREAM_WAIT || v->kind == ASSAY_WAIT_EVENT_SYNC ||
	    v->kind == ASSAY_WAIT_VALUE)
		t->event[i] = v->rec.event - (v->rec.flags & ASSAY_REC_NUMBERED ? 1 : 0);
	t->corr[i] = corr_of(w, v->rec.row, source, v->rec.key);
	if (v->record_key)
		t->record_corr[i] = corr_of(w, v->record_row, source, v->record_key);
	if (v->other_key)
		t->other_corr[i] = corr_of(w, ASSAY_NO_ROW, source, v->other_key);
	t->host[i] = v->rec.row;
	t->record_host[i] = v->record_row;
	t->producer_gpu[i] = v->producer_row;
	t->kind[i] = blind ? kind_of_blind(v) : v->kind;
	if (t->kind[i] != ASSAY_WAIT_STREAM_WAIT && t->kind[i] != ASSAY_WAIT_VALUE)
		t->blocked[i] = t->dur[i];
	if (v->kind == ASSAY_WAIT_DRAIN) /* the rest of the call was its own work */
		t->blocked[i] = v->delayed;
	t->delayed[i] = v->delayed;
	t->slack[i] = v->slack;
	t->producer_device[i] = v->producer.device;
	t->class[i] = v->class;
	t->satisfied[i] = v->satisfied;
	t->flags[i] = v->flags;
	return i;
}

static void take_news(void *ctx, uint32_t i, const assay_sweep_news *n)
{
	waits *w = ctx;
	assay_wait_table *t = &w->t->wait;
	switch (n->what) {
	case ASSAY_NEWS_LANDED:
		t->consumer_gpu[i] = n->consumer_row;
		if (n->delayed >= 0) {
			t->delayed[i] = n->delayed;
			t->slack[i] = n->slack;
		}
		t->flags[i] |= n->times ? ASSAY_WAIT_TIMES : 0;
		break;
	case ASSAY_NEWS_AMBIGUOUS:
		t->class[i] = ASSAY_WAIT_IS_AMBIGUOUS;
		t->other_corr[i] = n->record_key;
		break;
	case ASSAY_NEWS_IPC:
		t->class[i] = ASSAY_WAIT_IS_LIKELY;
		t->record_host[i] = n->record_row;
		t->record_corr[i] = corr_of(w, n->record_row, ASSAY_NO_ROW, n->record_key);
		t->producer_gpu[i] = n->producer_row;
		t->producer[i] = n->producer.track;
		t->producer_handle[i] = n->producer.handle;
		t->producer_device[i] = n->producer.device;
		break;
	}
}

static void take_edge(void *ctx, const assay_sweep_edge *e)
{
	waits *w = ctx;
	uint32_t i = assay_add(&w->run->part.t, ASSAY_T_edge);
	w->t->edge.kind[i] = (uint8_t)e->kind;
	w->t->edge.from_gpu[i] = e->from_row;
	w->t->edge.to_gpu[i] = e->to_row;
	w->t->edge.to_host[i] = e->host_row;
	w->t->edge.wait[i] = e->wait;
}

static void sweep_all(waits *w)
{
	size_t n = w->recs.n;
	assay_vec(uint32_t) rows = {0};
	assay_vec_reserve(&rows, n);
	for (uint32_t i = 0; i < n; i++)
		rows.p[i] = i;
	if (n)
		assay_sweep_sort(w->recs.p, rows.p, n);
	assay_sweep *s =
		assay_sweep_new(&(assay_sweep_sink){w, take_wait, take_news, take_edge}, TOLERANCE);
	for (size_t i = 0; i < n; i++)
		assay_sweep_push(s, &w->recs.p[rows.p[i]]);
	assay_sweep_end(s);
	assay_count(&w->run->part, ASSAY_ISSUE_event_rerecord, assay_sweep_rerecords(s));
	assay_sweep_free(s);
	assay_vec_free(&rows);
	const assay_wait_table *t = &w->t->wait;
	for (size_t i = 0; i < t->n; i++) {
		assay_count(&w->run->part, ASSAY_ISSUE_wait_times,
			    !!(t->flags[i] & ASSAY_WAIT_TIMES));
		assay_count(&w->run->part, ASSAY_ISSUE_wait_conflict,
			    !!(t->flags[i] & ASSAY_WAIT_CONFLICT));
	}
}

void assay_waits_with(assay_run *run, const assay_waits_opts *opts)
{
	waits w = {.run = run,
		   .t = &run->part.t,
		   .handles_only = opts->handles_only,
		   .sources = run->part.t.source.n};
	size_t n = w.sources + 1;
	w.keys = assay_alloc(&w.scratch, n * sizeof *w.keys);
	w.source_scope = assay_alloc(&w.scratch, n * sizeof *w.source_scope);
	w.only_device = assay_alloc(&w.scratch, n * sizeof *w.only_device);
	for (size_t i = 0; i < n; i++) {
		w.source_scope[i] = ASSAY_NO_ROW;
		w.only_device[i] = -2;
	}
	w.has_calls = assay_alloc(&w.scratch, n);
	for (uint32_t i = 0; i < w.t->event_call.n; i++) {
		uint32_t source = w.t->track.source[w.t->event_call.track[i]];
		if (source < w.sources)
			w.has_calls[source] = true;
	}
	index_names(&w);
	index_calls(&w);
	index_gpus(&w);
	index_keys(&w);
	add_streams(&w);
	learn_from_launches(&w);
	add_launches(&w);
	add_event_records(&w);
	add_event_rows(&w);
	add_syncs(&w);
	add_event_calls(&w);
	add_host_calls(&w);
	sweep_all(&w);
	for (size_t i = 0; i < w.sources; i++)
		assay_keys_free(&w.keys[i]);
	assay_map *maps[] = {&w.scopes, &w.calls, &w.gpus, &w.told, &w.handles};
	for (size_t i = 0; i < ASSAY_COUNT_OF(maps); i++)
		assay_map_free(maps[i]);
	assay_vec_free(&w.recs);
	assay_arena_free(&w.scratch);
}

void assay_waits(assay_run *run)
{
	assay_waits_with(run, &(assay_waits_opts){0});
}
