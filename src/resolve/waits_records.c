/* From a run's tables to the sweep's records. One small adapter per source of knowledge: GPU rows,
 * recorded streams, the recorder's own event and sync rows, calls with handles, and calls of which
 * only the name is known. */
#include "base/json.h"
#include "resolve/waits_args.h"
#include "resolve/waits_barriers.h"
#include "resolve/waits_ends.h"
#include "resolve/waits_graphs.h"
#include "resolve/waits_places.h"
#include "resolve/waits_races.h"

/* ------------------------------------------------------------------ records */

static assay_sweep_rec *add_rec(waits *w, assay_sweep_op op, uint32_t source, uint64_t corr,
				int64_t ts)
{
	assay_sweep_rec *r = assay_push(&w->recs);
	uint32_t scope = source < w->sources ? w->source_scope[source] : ASSAY_NO_ROW;
	*r = (assay_sweep_rec){
		.key = waits_key_at(w, source, ts, corr),
		.enter = ts,
		.exit = ts,
		.stream = ASSAY_NO_HANDLE,
		.scope = scope == ASSAY_NO_ROW ? 1u << 31 | source : scope,
		.thread = ASSAY_NO_ROW,
		.track = ASSAY_NO_ROW,
		.hint = ASSAY_NO_ROW,
		.row = ASSAY_NO_ROW,
		.device = -1,
		.flags = source < w->sources && !w->from_start[source] ? ASSAY_REC_WINDOW : 0,
		.op = (uint8_t)op};
	return r;
}

static void fail_by(assay_sweep_rec *r, int32_t status)
{
	if (assay_has_failed(status))
		r->flags |= ASSAY_REC_FAILED;
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
	r->key = waits_key_at(w, waits_host_source(w, h), r->enter, t->api.corr[t->host.detail[h]]);
	fail_by(r, t->api.status[t->host.detail[h]]);
}

/* An event that a graph records: when in the graph is not known, at its end most likely. */
static void doubt_in_graph(const waits *w, assay_sweep_rec *r)
{
	if (r->row != ASSAY_NO_ROW && w->call[w->t->host.name[r->row]].op == ASSAY_OP_LAUNCH_GRAPH)
		r->flags |= ASSAY_REC_GUESSED | ASSAY_REC_INSIDE;
}

static void set_stream(waits *w, assay_sweep_rec *r, uint32_t track)
{
	int64_t id = w->t->track.tid[track];
	r->device = (int32_t)w->t->track.pid[track];
	if (!waits_has_number(w, track))
		return;
	r->track = track;
	uint32_t source = assay_track_group(w->t, track);
	if (waits_legacy_track(w, source, r->device) == ASSAY_NO_ROW &&
	    waits_is_default_number(w, source, id))
		waits_learn_legacy(w, source, track); /* nothing ran in it */
	if (waits_legacy_track(w, source, r->device) == track)
		r->flags |= ASSAY_REC_LEGACY;
}

/* A launch on several devices may be told not to synchronize them before (1) or after (2). */
static bool waits_for_all(waits *w, uint32_t h)
{
	waits_args a = waits_args_of(&w->args, w->run, w->t->host.args[h]);
	return !(a.flags & 3);
}

static void add_launches(waits *w)
{
	const assay_tables *t = w->t;
	assay_vec_reserve(&w->recs, w->recs.n + t->gpu.n);
	for (uint32_t g = 0; g < t->gpu.n; g++) {
		if (!t->gpu.corr[g])
			continue;
		uint32_t source = assay_track_group(t, t->gpu.track[g]);
		uint32_t h = assay_index_find(&w->calls, assay_corr_key(source, t->gpu.corr[g]));
		assay_sweep_rec *r = add_rec(w, ASSAY_OP_LAUNCH, source, t->gpu.corr[g],
					     h == ASSAY_NO_ROW ? t->gpu.ts[g] : t->host.ts[h]);
		if (h != ASSAY_NO_ROW) {
			r->scope = waits_scope_of_thread(w, t->host.track[h]);
			r->thread = t->host.track[h];
			r->arg = (uint64_t)t->host.ts[h];
			r->event = (uint64_t)assay_host_end(&t->host, h);
			uint32_t how = w->call[t->host.name[h]].flags;
			r->flags |= how & ASSAY_REC_MAY_RECORD;
			if (how & ASSAY_REC_TOGETHER && waits_for_all(w, h))
				r->flags |= ASSAY_REC_TOGETHER;
		}
		r->enter = t->gpu.ts[g];
		r->exit = assay_gpu_end(&t->gpu, g);
		r->row = g;
		set_stream(w, r, t->gpu.track[g]);
	}
}

/* The call that gave it back may not have been recorded. */
static void add_end_of_stream(waits *w, uint32_t track, int64_t ts)
{
	uint32_t source = assay_track_group(w->t, track);
	uint64_t key = ts ? waits_key_by(w, source, ts) : UINT64_MAX;
	if (key == UINT64_MAX || !waits_has_number(w, track))
		return;
	assay_sweep_rec *r = add_rec(w, ASSAY_OP_STREAM_DESTROY, source, 0, ts);
	r->key = key;
	set_stream(w, r, track);
}

static void add_streams(waits *w)
{
	const assay_stream_table *s = &w->t->stream;
	uint32_t was = w->run->part.source;
	for (uint32_t i = 0; i < s->n; i++) {
		uint32_t group = assay_group_of(w->t, s->source[i]);
		w->run->part.source = s->source[i];
		uint32_t track = assay_stream_track(&w->run->part, s->device[i], s->id[i]);
		assay_sweep_rec *r = add_rec(w, ASSAY_OP_STREAM_CREATE, group, 0, 0);
		set_stream(w, r, track);
		r->stream = s->handle[i];
		r->flags = (r->flags & ASSAY_REC_WINDOW) |
			   (s->flags[i] & ASSAY_STREAM_DEFAULT ? ASSAY_REC_LEGACY : 0u) |
			   (s->flags[i] & ASSAY_STREAM_NONBLOCKING ? ASSAY_REC_NONBLOCKING : 0u);
		if (s->flags[i] & ASSAY_STREAM_DEFAULT)
			waits_learn_legacy(w, group, track);
		else if (s->handle[i] > 2)
			waits_learn_handle(w, group, i, track);
		if (s->handle[i] <= 2)
			add_end_of_stream(w, track, s->destroyed[i]);
	}
	w->run->part.source = was;
	assay_marks_sort(&w->made);
	waits_end_at_address(w);
	for (size_t i = 0; i < w->made.v.n; i++)
		add_end_of_stream(w, (uint32_t)w->made.v.p[i].value, w->made.v.p[i].other);
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
	assay_arena_reset(&w->parsed);
	assay_json j = assay_json_members(&w->parsed, args);
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

enum { TOLD = 1, TOLD_BY_NUMBER };

static void tell(waits *w, uint32_t source, uint64_t corr)
{
	*assay_map_at(&w->told, assay_corr_key(source, corr)) = TOLD;
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
		uint32_t h = assay_index_find(&w->calls, assay_corr_key(source, e->corr[i]));
		assay_sweep_rec *r = add_rec(w, ASSAY_OP_RECORD, source, e->corr[i], e->ts[i]);
		attach_call(w, r, h);
		doubt_in_graph(w, r);
		set_stream(w, r, e->track[i]);
		number_event(r, e->event[i]);
		r->arg = w->handles_only ? 0 : e->sync_id[i];
		*assay_map_at(&w->told, assay_corr_key(source, e->corr[i])) = TOLD_BY_NUMBER;
		if (source < w->sources)
			w->has_records[source] = true;
	}
}

/* Ids made from correlation ids are marked, so that they never meet a vendor's. */
static const uint64_t made_id = 1ull << 63;

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
		uint32_t h = assay_index_find(&w->calls, assay_corr_key(source, (uint64_t)a.corr));
		assay_sweep_rec *r =
			add_rec(w, ASSAY_OP_RECORD, source, (uint64_t)a.corr, t->host.ts[i]);
		attach_call(w, r, h);
		doubt_in_graph(w, r);
		number_event(r, (uint64_t)a.event);
		if (a.stream >= 0)
			set_stream(w, r, stream_beside(w, t->host.track[i], a.device, a.stream));
		r->arg = w->handles_only ? 0 : (uint64_t)a.corr | made_id;
		*assay_map_at(&w->recorded, assay_corr_key(source, (uint64_t)a.corr)) = r->track;
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

/* The stream that a sync row waits for. Its number is given, its device is not. */
static void set_awaited(waits *w, assay_sweep_rec *r, uint32_t i, uint64_t wait_key)
{
	const assay_sync_table *s = &w->t->sync;
	uint32_t source = assay_track_group(w->t, s->track[i]), track = ASSAY_NO_ROW;
	int64_t device = w->t->track.pid[s->track[i]];
	int32_t only = source < w->sources ? w->only_device[source] : (int32_t)device;
	bool guessed = only != device;
	if (only < 0)
		track = waits_track_awaited(w, i, r->key, wait_key);
	uint32_t known = (uint32_t)w->t->track.n;
	if (track == ASSAY_NO_ROW)
		track = stream_beside(w, s->track[i], only < 0 ? device : only, s->wait_stream[i]);
	if (guessed && track >= known) /* it may not be there */
		*assay_map_at(&w->invented, track) = 1;
	set_stream(w, r, track);
	r->flags |= guessed ? ASSAY_REC_GUESSED : 0;
}

/* A sync row that names its record call stands for that record too. */
static void add_named_record(waits *w, uint32_t i, uint64_t wait_key)
{
	const assay_sync_table *s = &w->t->sync;
	uint32_t source = assay_track_group(w->t, s->track[i]);
	uint64_t corr = (uint64_t)s->record_corr[i];
	uint32_t *slot = assay_map_at(&w->recorded, assay_corr_key(source, corr));
	if (*slot != ASSAY_MAP_ABSENT)
		return;
	*slot = s->track[i];
	tell(w, source, corr);
	uint32_t h = assay_index_find(&w->calls, assay_corr_key(source, corr));
	assay_sweep_rec *r = add_rec(w, ASSAY_OP_RECORD, source, corr, s->ts[i]);
	attach_call(w, r, h);
	doubt_in_graph(w, r);
	r->flags |= h == ASSAY_NO_ROW ? ASSAY_REC_OUTSIDE : 0;
	number_event(r, (uint64_t)s->event[i]);
	r->arg = w->handles_only ? 0 : corr | made_id;
	if (s->wait_stream[i] >= 0)
		set_awaited(w, r, i, wait_key);
}

/* A wait of which nothing but its kind and length is known. */
static void make_blind(assay_sweep_rec *r)
{
	r->arg = r->op;
	r->op = ASSAY_OP_UNKNOWN_SYNC;
}

/* What our writer knew of a wait. Of one for nothing that is known there is no more to find; others
 * are held against it when they have been resolved. */
static void hear_verdict(waits *w, assay_sweep_rec *r, const waits_args *a)
{
	bool asks = r->op == ASSAY_OP_WAIT || r->op == ASSAY_OP_EVENT_SYNC;
	bool nothing =
		a->said > ASSAY_WAIT_IS_AMBIGUOUS + 1 && a->said != ASSAY_WAIT_IS_UNEXPLAINED + 1;
	if (asks && nothing && !w->handles_only)
		r->said = a->said;
	w->given |= a->said;
}

static void add_syncs(waits *w)
{
	assay_sync_table *s = &w->t->sync;
	for (uint32_t i = 0; i < s->n; i++) {
		uint32_t source = assay_track_group(w->t, s->track[i]);
		if (leaves_out(w, source))
			continue;
		uint32_t h =
			s->corr[i] ? assay_index_find(&w->calls, assay_corr_key(source, s->corr[i]))
				   : ASSAY_NO_ROW;
		assay_sweep_op op = sync_op(assay_text(w->run, s->name[i]));
		bool joins = s->sync_id[i] && source < w->sources && w->has_records[source];
		bool named = !joins && s->record_corr[i] > 0;
		if (named)
			add_named_record(w, i,
					 h == ASSAY_NO_ROW
						 ? waits_key_at(w, source, s->ts[i], s->corr[i])
						 : waits_host_key(w, h));
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
		fail_by(r, s->status[i]);
		if (!w->handles_only && s->class[i] < ASSAY_WAIT_CLASS_COUNT)
			r->said = s->class[i] + 1;
		waits_args a =
			waits_args_of(&w->args, w->run, h == ASSAY_NO_ROW ? 0 : w->t->host.args[h]);
		hear_verdict(w, r, &a);
		if (s->event[i] < 0 && !r->arg &&
		    (op == ASSAY_OP_WAIT || op == ASSAY_OP_EVENT_SYNC))
			make_blind(r);
		tell(w, source, s->corr[i]);
	}
}

/* ------------------------------------------------------------------ calls with handles */

/* A stream is made on the device that the thread has chosen; it is used from any. */
static bool is_made_here(const waits *w, uint32_t source, assay_call call, waits_device d)
{
	bool one = source < w->sources && w->listed[source] == 1;
	return one || (call.op == ASSAY_OP_STREAM_CREATE && !d.guessed);
}

static waits_device device_of_call(const waits *w, const assay_sweep_rec *r, uint32_t source)
{
	return r->op == ASSAY_OP_DEVICE_SYNC ? waits_device_awaited(w, source, r)
					     : waits_device_of(w, source, r->thread, r->key);
}

/* d: where the thread works. */
static void place_on(waits *w, assay_sweep_rec *r, uint32_t source, assay_call call,
		     const waits_args *a, waits_device d)
{
	bool null = a->has_stream && a->stream <= 1;
	bool own = assay_call_means_own(call, a->stream);
	r->device = d.device;
	if (!(call.takes & ASSAY_CALL_STREAM)) {
		bool lone = source < w->sources && w->only_device[source] >= 0;
		r->flags |= !d.guessed ? 0 : ASSAY_REC_GUESSED | (lone ? ASSAY_REC_LONE : 0);
		return;
	}
	r->stream = a->has_stream ? a->stream : ASSAY_NO_HANDLE;
	if (!a->has_stream)
		return;
	/* until the call that makes it returns the address may be another's */
	int64_t ts = call.op == ASSAY_OP_STREAM_CREATE ? r->exit : r->enter;
	uint32_t track =
		own ? waits_track_of(w, source, waits_own_handle(r->thread, d.device), r->key, ts)
		: null ? waits_legacy_track(w, source, d.device)
		       : waits_track_of(w, source, a->stream, r->key, ts);
	r->flags |= d.guessed && (null || own) ? ASSAY_REC_GUESSED : 0;
	if (track != ASSAY_NO_ROW)
		set_stream(w, r, track);
	else if (!null && !own && !is_made_here(w, source, call, d))
		r->device = -1; /* nothing was launched into it */
}

/* Streams, devices and what the thread works on. */
static void place_call(waits *w, assay_sweep_rec *r, uint32_t source, assay_call call,
		       const waits_args *a)
{
	place_on(w, r, source, call, a, device_of_call(w, r, source));
}

/* Something else that a call does in its stream: null means the same stream for both. */
static assay_call part_of(assay_call whole, assay_sweep_op op)
{
	return (assay_call){op, ASSAY_CALL_EVENT | ASSAY_CALL_STREAM,
			    whole.flags & ASSAY_REC_PER_THREAD};
}

/* NULL: the call orders nothing after all. */
static assay_sweep_rec *add_call(waits *w, uint32_t source, assay_call call, uint32_t h,
				 const waits_args *a)
{
	bool launch_without_event = call.op == ASSAY_OP_RECORD && !a->event;
	if (launch_without_event && h != ASSAY_NO_ROW && call.takes & ASSAY_CALL_LAUNCHES)
		return NULL;
	assay_sweep_rec *r = add_rec(w, call.op, source, 0, 0);
	attach_call(w, r, h);
	r->flags |= call.flags;
	r->arg = call.op == ASSAY_OP_WAIT_VALUE || call.op == ASSAY_OP_WRITE_VALUE ||
				 call.op == ASSAY_OP_IPC_OPEN || call.op == ASSAY_OP_IPC_EXPORT
			 ? a->value
			 : 0;
	if (call.takes & ASSAY_CALL_EVENT)
		r->event = a->event;
	fail_by(r, a->status);
	if (call.takes & ASSAY_CALL_FLAGS && a->flags & 1) /* cudaStreamNonBlocking */
		r->flags |= ASSAY_REC_NONBLOCKING;
	if (call.op == ASSAY_OP_WAIT_VALUE)
		r->flags |= (uint32_t)(a->flags & 3) * ASSAY_REC_WHEN;
	if (call.op == ASSAY_OP_WAIT_VALUE && a->masked) {
		r->hint = (uint32_t)w->masks.n;
		*assay_push(&w->masks) = ~a->masked;
	}
	if (call.takes & ASSAY_CALL_HALF)
		r->flags |= ASSAY_REC_HALF;
	if (call.op == ASSAY_OP_RECORD && a->flags & 1) /* cudaEventRecordExternal */
		r->flags |= ASSAY_REC_EXTERNAL;
	hear_verdict(w, r, a);
	return r;
}

/* An event that is done when the work of this call starts. */
static assay_sweep_rec *add_start(waits *w, uint32_t source, assay_call starts, uint32_t h,
				  const waits_args *a)
{
	waits_args start = *a;
	start.event = a->start_event;
	start.flags = 0;
	assay_sweep_rec *r = add_call(w, source, starts, h, &start);
	r->flags |= ASSAY_REC_AT_START;
	return r;
}

static void add_copy(waits *w, assay_call call, uint32_t h)
{
	const assay_tables *t = w->t;
	uint32_t source = waits_host_source(w, h);
	uint32_t g =
		assay_index_find(&w->gpus, assay_corr_key(source, t->api.corr[t->host.detail[h]]));
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

static bool orders(assay_call call)
{
	return call.op < ASSAY_OP_CHOOSE_DEVICE;
}

/* Does a row of another kind say more about this call? Creation and the like are only told here. */
static bool is_told(const waits *w, uint32_t source, uint64_t corr, assay_sweep_op op)
{
	return op >= ASSAY_OP_RECORD && op <= ASSAY_OP_STREAM_QUERY &&
	       assay_map_get(&w->told, assay_corr_key(source, corr)) != ASSAY_MAP_ABSENT;
}

/* hip: two bits say what is compared, the others which bits of the word are not. */
static waits_args args_of_row(const assay_event_call_table *e, uint32_t i, assay_call call,
			      bool hip)
{
	bool launches = call.takes & ASSAY_CALL_LAUNCHES && call.op != ASSAY_OP_LAUNCH_GRAPH;
	bool word = call.op == ASSAY_OP_WAIT_VALUE;
	return (waits_args){.stream = e->stream[i],
			    .event = e->event[i],
			    .start_event = launches ? e->arg[i] : 0,
			    .value = e->arg[i],
			    .flags = word ? e->more[i] : e->arg[i],
			    .masked = word && hip ? e->more[i] >> 2 : 0,
			    .status = e->status[i],
			    .has_stream = true,
			    .has_event = true};
}

/* Where and when, as the row says. */
static void place_row(waits *w, assay_sweep_rec *r, uint32_t i, assay_call call,
		      const waits_args *a)
{
	const assay_event_call_table *e = &w->t->event_call;
	uint32_t source = assay_track_group(w->t, e->track[i]);
	if (r->row == ASSAY_NO_ROW) {
		r->key = waits_key_at(w, source, e->ts[i], e->corr[i]);
		r->enter = e->ts[i];
		r->exit = r->enter + (e->dur[i] > 0 ? e->dur[i] : 0);
		r->thread = e->track[i];
		r->scope = waits_scope_of_thread(w, e->track[i]);
	}
	bool streams = call.takes & ASSAY_CALL_STREAM;
	/* the context is the call's, which works on streams of others too */
	bool elsewhere = streams && call.op != ASSAY_OP_STREAM_CREATE && a->stream > 2 &&
			 !waits_has_number(w, e->place[i]);
	bool told = e->place[i] != ASSAY_NO_ROW && !elsewhere &&
		    (streams || call.op == ASSAY_OP_DEVICE_SYNC);
	if (!told) {
		place_call(w, r, source, call, a);
	} else {
		int32_t device = (int32_t)w->t->track.pid[e->place[i]];
		place_on(w, r, source, call, a, (waits_device){device, false});
		set_stream(w, r, e->place[i]);
	}
	tell(w, source, e->corr[i]);
}

static void add_event_call(waits *w, uint32_t i)
{
	const assay_event_call_table *e = &w->t->event_call;
	uint32_t source = assay_track_group(w->t, e->track[i]);
	uint32_t h = assay_index_find(&w->calls, assay_corr_key(source, e->corr[i]));
	assay_call call = w->call[e->name[i]];
	waits_args a = args_of_row(e, i, call, source < w->sources && w->is_hip[source]);
	uint32_t by = assay_map_get(&w->told, assay_corr_key(source, e->corr[i]));
	bool again = call.op == ASSAY_OP_RECORD && by == TOLD_BY_NUMBER;
	bool told = !again && is_told(w, source, e->corr[i], call.op);
	assay_call starts = part_of(call, ASSAY_OP_RECORD);
	if (a.start_event)
		place_row(w, add_start(w, source, starts, h, &a), i, starts, &a);
	if (!orders(call) || told || call.op == ASSAY_OP_COPY)
		return; /* of copies add_host_calls() has more to tell */
	assay_sweep_rec *r = add_call(w, source, call, h, &a);
	if (!r)
		return;
	r->flags |= again ? ASSAY_REC_AGAIN : 0;
	place_row(w, r, i, call, &a);
}

static void add_event_calls(waits *w)
{
	for (uint32_t i = 0; i < w->t->event_call.n; i++)
		add_event_call(w, i);
}

static void add_graph_events(waits *w)
{
	waits_nodes nodes = waits_graph_events(w);
	for (size_t k = 0; k < nodes.v.n; k++) {
		const waits_node *n = &nodes.v.p[k];
		uint32_t i = n->launch;
		assay_call call = part_of(w->call[w->t->event_call.name[i]],
					  n->waits ? ASSAY_OP_WAIT_INSIDE : ASSAY_OP_RECORD);
		waits_args a = args_of_row(&w->t->event_call, i, call, false);
		a.event = n->event;
		a.flags = 0;
		uint32_t h = assay_index_find(&w->calls,
					      assay_corr_key(n->source, w->t->event_call.corr[i]));
		assay_sweep_rec *r = add_call(w, n->source, call, h, &a);
		place_row(w, r, i, call, &a);
		if (!n->waits)
			doubt_in_graph(w, r);
	}
	assay_vec_free(&nodes.v);
}

/* ------------------------------------------------------------------ barriers */

/* A call of which the barrier says more than its arguments, or that was not recorded. */
static void add_barrier(waits *w, uint32_t i, uint32_t h)
{
	const assay_barrier_table *b = &w->t->barrier;
	uint32_t track = waits_barrier_stream(w, i);
	assay_sweep_rec *r =
		add_rec(w, b->waits[i] ? ASSAY_OP_WAIT : ASSAY_OP_RECORD,
			assay_track_group(w->t, track), b->corr[i], w->t->mark.ts[b->mark[i]]);
	attach_call(w, r, h);
	set_stream(w, r, track);
	r->event = b->event[i];
	r->flags |= h == ASSAY_NO_ROW && !b->waits[i] ? ASSAY_REC_OUTSIDE : 0;
}

static void add_lone_barriers(waits *w)
{
	const assay_barrier_table *b = &w->t->barrier;
	for (uint32_t i = 0; i < b->n; i++) {
		uint64_t call = assay_corr_key(assay_track_group(w->t, waits_barrier_stream(w, i)),
					       b->corr[i]);
		if (b->corr[i] && assay_index_find(&w->calls, call) == ASSAY_MAP_ABSENT &&
		    assay_map_get(&w->told, call) == ASSAY_MAP_ABSENT)
			add_barrier(w, i, ASSAY_NO_ROW);
	}
}

/* What barriers say of the calls: the stream they really went to, and which record a wait met. */
static void hear_barriers(waits *w)
{
	for (size_t i = 0; w->t->barrier.n && !w->handles_only && i < w->recs.n; i++) {
		assay_sweep_rec *r = &w->recs.p[i];
		bool asks = r->op == ASSAY_OP_WAIT || r->op == ASSAY_OP_EVENT_SYNC;
		uint32_t track = r->thread != ASSAY_NO_ROW ? r->thread : r->track;
		if ((!asks && r->op != ASSAY_OP_RECORD) || track == ASSAY_NO_ROW ||
		    r->flags & ASSAY_REC_NUMBERED)
			continue;
		uint32_t source = assay_track_group(w->t, track);
		uint32_t b = waits_barrier_of(w, source, r->key);
		if (b != ASSAY_NO_ROW && w->t->barrier.event[b] == r->event) {
			set_stream(w, r, waits_barrier_stream(w, b));
			r->flags &= ~(uint32_t)ASSAY_REC_GUESSED;
			r->flags |= asks ? 0 : ASSAY_REC_BARRIER;
		}
		if (asks && r->hint == ASSAY_NO_ROW) {
			r->hint = waits_witness(w, source, r);
			bool heard =
				r->hint != ASSAY_NO_ROW || waits_tells_of_another(w, source, r);
			r->flags |= heard ? ASSAY_REC_BARRIER : 0;
		}
	}
}

/* ------------------------------------------------------------------ calls known by name only */

/* A record of nobody knows which event: no event's last record is certain from here on. */
static void add_blind_record(waits *w, uint32_t h)
{
	if (w->handles_only || w->call[w->t->host.name[h]].takes & ASSAY_CALL_LAUNCHES)
		return;
	assay_sweep_rec *r = add_rec(w, ASSAY_OP_GAP, waits_host_source(w, h), 0, 0);
	attach_call(w, r, h);
}

/* A call that puts something into its stream of which no more is known, such as a launch whose work
 * was not recorded (UNSEEN). */
static void add_in_stream(waits *w, assay_sweep_op op, uint32_t h, const waits_args *a)
{
	uint32_t source = waits_host_source(w, h);
	assay_sweep_rec *r = add_rec(w, op, source, 0, 0);
	assay_call call = part_of(w->call[w->t->host.name[h]], op);
	attach_call(w, r, h);
	r->flags |= call.flags | (w->call[w->t->host.name[h]].flags & ASSAY_REC_MAY_RECORD);
	fail_by(r, a->status);
	place_call(w, r, source, call, a);
	if (r->flags & ASSAY_REC_GUESSED) { /* it may be in any */
		r->stream = ASSAY_NO_HANDLE;
		r->track = ASSAY_NO_ROW;
	}
}

/* Which threads were capturing when: what they launched then ran later, in a graph. */
static assay_marks find_captures(const waits *w)
{
	const assay_tables *t = w->t;
	assay_marks m = {0};
	for (size_t k = 0; k < w->call_rows.n; k++) {
		uint32_t h = w->call_rows.p[k];
		assay_sweep_op op = w->call[t->host.name[h]].op;
		if (op == ASSAY_OP_CAPTURE_BEGIN || op == ASSAY_OP_CAPTURE_END)
			*assay_push(&m.v) = (assay_mark){t->host.track[h], waits_host_key(w, h),
							 op == ASSAY_OP_CAPTURE_BEGIN, 0};
	}
	assay_marks_sort(&m);
	return m;
}

/* One that ends first has begun before the recording. */
static bool was_capturing(const assay_marks *captures, uint32_t thread, uint64_t key)
{
	const assay_mark *before = assay_mark_before(captures, thread, key);
	const assay_mark *after = before ? NULL : assay_mark_after(captures, thread, key);
	return before ? before->value : after && !after->value;
}

/* Calls of a capture from before the recording are taken for what they are not. */
static void distrust_captures(waits *w, const assay_marks *captures)
{
	for (size_t i = 0; i < captures->v.n; i++) {
		const assay_mark *m = &captures->v.p[i];
		uint32_t source = assay_track_group(w->t, (uint32_t)m->place);
		if (!m->value && !assay_mark_before(captures, m->place, m->key))
			waits_whole_until(w, source, INT64_MIN);
	}
}

/* Does something enter a stream with this call that should be among the work? */
static bool is_unseen(const waits *w, uint32_t h)
{
	assay_call call = w->call[w->t->host.name[h]];
	uint64_t corr = assay_call_corr(w->t, h);
	uint64_t place = assay_corr_key(waits_host_source(w, h), corr);
	if (!corr)
		return false;
	if (call.op == ASSAY_OP_UNSEEN)
		return assay_map_get(&w->told, place) == ASSAY_MAP_ABSENT;
	return call.takes & (ASSAY_CALL_LAUNCHES | ASSAY_CALL_QUEUES) &&
	       assay_index_find(&w->gpus, place) == ASSAY_NO_ROW;
}

static void add_unseen_work(waits *w)
{
	const assay_tables *t = w->t;
	assay_marks captures = find_captures(w);
	distrust_captures(w, &captures);
	for (size_t k = 0; k < w->call_rows.n; k++) {
		uint32_t h = w->call_rows.p[k];
		if (!is_unseen(w, h))
			continue;
		waits_args a = waits_args_of(&w->args, w->run, t->host.args[h]);
		/* of a stream that is named the sweep knows whether it captures: others run */
		if (a.has_stream ||
		    !was_capturing(&captures, t->host.track[h], waits_host_key(w, h)))
			add_in_stream(w, ASSAY_OP_UNSEEN, h, &a);
	}
	assay_vec_free(&captures.v);
}

/* Where graphs are not followed (waits_graphs.c does it for captures), an event in one may be
 * recorded by any launch. */
static void add_graph_doubts(waits *w)
{
	const assay_tables *t = w->t;
	for (size_t k = 0; k < w->call_rows.n; k++) {
		uint32_t h = w->call_rows.p[k];
		assay_call call = w->call[t->host.name[h]];
		uint32_t source = waits_host_source(w, h);
		if ((call.op != ASSAY_OP_GRAPH_RECORD && call.op != ASSAY_OP_GRAPH_SET_RECORD &&
		     call.op != ASSAY_OP_RECORD) ||
		    source >= w->sources || w->has_calls[source] || !t->host.args[h])
			continue;
		waits_args a = waits_args_of(&w->args, w->run, t->host.args[h]);
		bool external = call.op == ASSAY_OP_RECORD && a.flags & 1;
		if (!a.has_event || (call.op == ASSAY_OP_RECORD && !external))
			continue;
		assay_sweep_rec *r = add_rec(w, ASSAY_OP_IN_GRAPH, source, 0, 0);
		attach_call(w, r, h);
		r->event = a.event;
	}
}

/* Something enters a stream, and the call does not say which. */
static void add_unplaced(waits *w, assay_sweep_op op, uint32_t h)
{
	attach_call(w, add_rec(w, op, waits_host_source(w, h), 0, 0), h);
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
	for (size_t k = 0; k < w->call_rows.n; k++) {
		uint32_t h = w->call_rows.p[k];
		assay_call call = w->call[t->host.name[h]];
		bool driver = t->host.kind[h] == ASSAY_HOST_DRIVER;
		if (!orders(call) || call.op == ASSAY_OP_UNSEEN)
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
		waits_args a = waits_args_of(&w->args, w->run, t->host.args[h]);
		/* most are made by a runtime call that tells the same */
		if (driver && !a.has_stream && !a.has_event)
			continue;
		bool enough = call.op == ASSAY_OP_DEVICE_SYNC || call.op == ASSAY_OP_DRAIN ||
			      (call.takes & ASSAY_CALL_EVENT ? a.has_event : a.has_stream);
		if (enough) {
			assay_sweep_rec *r = add_call(w, source, call, h, &a);
			if (r)
				place_call(w, r, source, call, &a);
			assay_call starts = part_of(call, ASSAY_OP_RECORD);
			if (a.start_event)
				place_call(w, add_start(w, source, starts, h, &a), source, starts,
					   &a);
		} else if (waits_barrier_of(w, source, waits_host_key(w, h)) != ASSAY_NO_ROW)
			add_barrier(w, waits_barrier_of(w, source, waits_host_key(w, h)), h);
		else if (call.op == ASSAY_OP_RECORD)
			add_blind_record(w, h);
		else if (call.op == ASSAY_OP_WRITE_VALUE) /* nobody knows what */
			add_in_stream(w, ASSAY_OP_COMMAND, h, &a);
		else if (call.op == ASSAY_OP_HOST_FUNC || call.op == ASSAY_OP_WAIT_VALUE)
			add_unplaced(w, ASSAY_OP_UNSEEN, h);
		else if (call.op == ASSAY_OP_POOL_FREE || call.op == ASSAY_OP_POOL_ALLOC ||
			 call.op == ASSAY_OP_IPC_OPEN || call.op == ASSAY_OP_IPC_EXPORT ||
			 call.op == ASSAY_OP_STREAM_DESTROY)
			add_unplaced(w, call.op, h);
		else if (waits_blindly(call.op)) {
			assay_sweep_rec *r = add_rec(w, call.op, source, 0, 0);
			attach_call(w, r, h);
			if (call.op == ASSAY_OP_WAIT)
				waits_whole_until(w, source, r->enter);
			if (call.op == ASSAY_OP_WAIT || call.op == ASSAY_OP_EVENT_SYNC)
				make_blind(r);
		}
	}
}

/* Calls that no lost call can have changed. Not waits inside of graphs: what is in one may have
 * been changed in more ways than are followed. And events of which no record can be lost. */
static void trust_whole(waits *w)
{
	for (size_t i = 0; i < w->recs.n; i++) {
		assay_sweep_rec *r = &w->recs.p[i];
		if (r->op == ASSAY_OP_LAUNCH || r->op == ASSAY_OP_WAIT_INSIDE ||
		    r->thread == ASSAY_NO_ROW)
			continue;
		uint32_t source = assay_track_group(w->t, r->thread);
		if (r->op == ASSAY_OP_CREATE)
			r->arg = (uint64_t)waits_whole_after(w, source, r->key);
		else if (waits_is_whole(w, source, r->exit))
			r->flags |= ASSAY_REC_WHOLE;
	}
}

/* Stretches in which recording was off. */
static void add_dark(waits *w)
{
	for (size_t i = 0; i < w->dark.v.n; i++) {
		const assay_mark *m = &w->dark.v.p[i];
		assay_sweep_rec *r = add_rec(w, ASSAY_OP_DARK, (uint32_t)m->place, 0, m->value);
		r->key = m->key;
	}
}

static void guess_legacy(waits *w)
{
	waits_guess_legacy(w);
	for (size_t i = 0; w->perhaps.n && i < w->recs.n; i++) {
		assay_sweep_rec *r = &w->recs.p[i];
		if (r->track != ASSAY_NO_ROW && waits_may_be_legacy(w, r->track))
			r->flags |= ASSAY_REC_LEGACY | ASSAY_REC_PERHAPS;
	}
}

void waits_add_records(waits *w)
{
	waits_find_barriers(w);
	waits_find_places(w);
	add_streams(w);
	add_launches(w);
	add_dark(w);
	add_event_records(w);
	add_event_rows(w);
	add_syncs(w);
	add_event_calls(w);
	add_graph_events(w);
	add_host_calls(w);
	add_lone_barriers(w);
	hear_barriers(w);
	add_unseen_work(w);
	add_graph_doubts(w);
	trust_whole(w);
	guess_legacy(w);
	waits_find_races(w);
}
