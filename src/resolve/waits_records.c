/* From a run's tables to the sweep's records. One small adapter per source of knowledge: GPU rows,
 * recorded streams, the recorder's own event and sync rows, calls with handles, and calls of which
 * only the name is known. */
#include "base/json.h"
#include "resolve/waits.h"

static const uint32_t no_track = ASSAY_NO_ROW - 1; /* a handle seen with two streams */

static uint64_t handle_key(uint32_t source, uint64_t handle)
{
	return handle * 0x9E3779B97F4A7C15u + source;
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
		if (assay_group_of(w->t, s->source[i]) == source && s->handle[i] == handle &&
		    s->created[i] <= ts && (!s->destroyed[i] || ts <= s->destroyed[i]))
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
	r->scope = waits_scope_of_thread(w, r->thread);
	r->key = key_at(w, waits_host_source(w, h), r->enter, t->api.corr[t->host.detail[h]]);
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
		uint32_t source = assay_track_group(t, t->gpu.track[g]);
		uint32_t h = assay_map_get(&w->calls, assay_corr_key(source, t->gpu.corr[g]));
		assay_sweep_rec *r = add_rec(w, ASSAY_OP_LAUNCH, source, t->gpu.corr[g],
					     h == ASSAY_NO_ROW ? t->gpu.ts[g] : t->host.ts[h]);
		if (h != ASSAY_NO_ROW) {
			r->scope = waits_scope_of_thread(w, t->host.track[h]);
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
		uint32_t group = assay_group_of(w->t, s->source[i]);
		w->run->part.source = s->source[i];
		uint32_t track = assay_stream_track(&w->run->part, s->device[i], s->id[i]);
		w->stream_track[i] = track;
		assay_sweep_rec *r = add_rec(w, ASSAY_OP_STREAM_CREATE, group, 0, 0);
		set_stream(w, r, track);
		r->stream = s->handle[i];
		r->flags = (uint16_t)((s->flags[i] & 1 ? ASSAY_REC_LEGACY : 0) |
				      (s->flags[i] & 2 ? ASSAY_REC_NONBLOCKING : 0));
		if (s->flags[i] & 1) {
			learn_handle(w, group, 0, track);
			learn_handle(w, group, 1, track);
		} else if (s->handle[i] > 2) {
			learn_handle(w, group, s->handle[i], track);
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
		uint32_t source = assay_track_group(w->t, e->track[i]);
		if (leaves_out(w, source))
			continue;
		uint32_t h = assay_map_get(&w->calls, assay_corr_key(source, e->corr[i]));
		assay_sweep_rec *r = add_rec(w, ASSAY_OP_RECORD, source, e->corr[i], e->ts[i]);
		attach_call(w, r, h);
		set_stream(w, r, e->track[i]);
		number_event(r, e->event[i]);
		r->arg = w->handles_only ? 0 : e->sync_id[i];
		tell(w, source, e->corr[i]);
		if (source < w->sources)
			w->has_records[source] = true;
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
		uint32_t source = waits_host_source(w, i);
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
	uint32_t source = assay_track_group(w->t, s->track[i]);
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
		uint32_t source = assay_track_group(w->t, s->track[i]);
		if (leaves_out(w, source))
			continue;
		uint32_t h = s->corr[i]
				     ? assay_map_get(&w->calls, assay_corr_key(source, s->corr[i]))
				     : ASSAY_NO_ROW;
		assay_sweep_op op = sync_op(assay_text(w->run, s->name[i]));
		bool joins = s->sync_id[i] && source < w->sources && w->has_records[source];
		bool named = !joins && s->record_corr[i] > 0;
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
		if (!w->handles_only && s->class[i] < ASSAY_WAIT_CLASS_COUNT)
			r->said = s->class[i] + 1;
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
	uint32_t source = waits_host_source(w, h);
	uint32_t g =
		assay_map_get(&w->gpus, assay_corr_key(source, t->api.corr[t->host.detail[h]]));
	if (g == ASSAY_NO_ROW)
		return;
	assay_str name = assay_text(w->run, t->gpu.name[g]);
	if (call.takes & ASSAY_CALL_ASYNC_COPY && !assay_copy_may_block(name))
		return; /* may well have ended within the call */
	assay_sweep_rec *r = add_rec(w, ASSAY_OP_COPY, source, 0, 0);
	attach_call(w, r, h);
	r->flags |= call.flags;
	set_stream(w, r, t->gpu.track[g]);
	if (call.takes & ASSAY_CALL_SYNC_COPY && assay_str_find(name, "DtoH") >= 0)
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
		uint32_t source = assay_track_group(w->t, e->track[i]);
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
			r->scope = waits_scope_of_thread(w, e->track[i]);
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
		if (!assay_is_call(t->host.kind[h]) || !t->host.args[h] ||
		    assay_str_find(assay_text(w->run, t->host.args[h]), "tream") < 0)
			continue;
		uint64_t key =
			assay_corr_key(waits_host_source(w, h), t->api.corr[t->host.detail[h]]);
		uint32_t g = assay_map_get(&w->gpus, key);
		if (g == ASSAY_NO_ROW)
			continue;
		struct handles a = handles_in(w, assay_text(w->run, t->host.args[h]));
		bool own = is_own(a.stream, assay_text(w->run, t->host.name[h]));
		if (a.has_stream)
			learn_handle(w, waits_host_source(w, h),
				     own ? own_handle(t->host.track[h]) : a.stream,
				     t->gpu.track[g]);
	}
	const assay_event_call_table *e = &t->event_call;
	for (uint32_t i = 0; i < e->n; i++) {
		uint32_t source = assay_track_group(t, e->track[i]);
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
	assay_sweep_rec *r = add_rec(w, ASSAY_OP_GAP, waits_host_source(w, h), 0, 0);
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
		bool driver = t->host.kind[h] == ASSAY_HOST_DRIVER;
		if (!assay_is_call(t->host.kind[h]) || call.op == ASSAY_OP_COUNT)
			continue;
		uint32_t source = waits_host_source(w, h);
		uint64_t corr = t->api.corr[t->host.detail[h]];
		if (!corr ||
		    assay_map_get(&w->told, assay_corr_key(source, corr)) != ASSAY_MAP_ABSENT)
			continue;
		if (call.op == ASSAY_OP_COPY) {
			if (!driver)
				add_copy(w, call, h);
			continue;
		}
		struct handles a = handles_in(w, assay_text(w->run, t->host.args[h]));
		/* most are made by a runtime call that tells the same */
		if (driver && !a.has_stream && !a.has_event)
			continue;
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

void waits_add_records(waits *w)
{
	add_streams(w);
	learn_from_launches(w);
	add_launches(w);
	add_event_records(w);
	add_event_rows(w);
	add_syncs(w);
	add_event_calls(w);
	add_host_calls(w);
}
