/* Rows of their own that recorders write of records and waits: CUPTI's, Kineto's. */
#include "base/json.h"
#include "names/syncs.h"
#include "resolve/waits_places.h"
#include "resolve/waits_rec.h"

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

/* Without join ids: calls with handles say it all; where there are none, the recorder's numbers of
 * events are the handles. */
static bool leaves_out(const waits *w, uint32_t source)
{
	return w->handles_only && source < w->sources && w->has_calls[source];
}

void waits_add_event_records(waits *w)
{
	const assay_event_record_table *e = &w->t->event_record;
	for (uint32_t i = 0; i < e->n; i++) {
		uint32_t source = assay_track_group(w->t, e->track[i]);
		if (leaves_out(w, source))
			continue;
		uint32_t h = assay_index_find(&w->calls, assay_corr_key(source, e->corr[i]));
		assay_sweep_rec *r =
			waits_rec_add(w, ASSAY_OP_RECORD, source, e->corr[i], e->ts[i]);
		waits_rec_attach(w, r, h);
		waits_rec_doubt_inside(w, r);
		waits_rec_in(w, r, e->track[i]);
		number_event(r, e->event[i]);
		r->arg = w->handles_only ? 0 : e->sync_id[i];
		*assay_map_at(&w->told, assay_corr_key(source, e->corr[i])) = WAITS_TOLD_BY_NUMBER;
		if (source < w->sources)
			w->has_records[source] = true;
	}
}

/* Ids made from correlation ids are marked, so that they never meet a vendor's. */
static const uint64_t made_id = 1ull << 63;

/* Kineto's "cudaEvent" rows: the event's number, stream and record call are arguments. */
void waits_add_event_rows(waits *w)
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
			waits_rec_add(w, ASSAY_OP_RECORD, source, (uint64_t)a.corr, t->host.ts[i]);
		waits_rec_attach(w, r, h);
		waits_rec_doubt_inside(w, r);
		number_event(r, (uint64_t)a.event);
		if (a.stream >= 0)
			waits_rec_in(w, r, stream_beside(w, t->host.track[i], a.device, a.stream));
		r->arg = w->handles_only ? 0 : (uint64_t)a.corr | made_id;
		*assay_map_at(&w->recorded, assay_corr_key(source, (uint64_t)a.corr)) = r->track;
		waits_tell(w, source, (uint64_t)a.corr);
	}
}

static assay_sweep_op sync_op(assay_str name)
{
	static const uint8_t op[ASSAY_SYNC_COUNT] = {
		[ASSAY_SYNC_UNKNOWN] = ASSAY_OP_UNKNOWN_SYNC,
		[ASSAY_SYNC_EVENT] = ASSAY_OP_EVENT_SYNC,
		[ASSAY_SYNC_STREAM_WAIT] = ASSAY_OP_WAIT,
		[ASSAY_SYNC_STREAM] = ASSAY_OP_STREAM_SYNC,
		[ASSAY_SYNC_CONTEXT] = ASSAY_OP_DEVICE_SYNC,
	};
	return (assay_sweep_op)op[assay_sync_of(name)];
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
	waits_rec_in(w, r, track);
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
	waits_tell(w, source, corr);
	uint32_t h = assay_index_find(&w->calls, assay_corr_key(source, corr));
	assay_sweep_rec *r = waits_rec_add(w, ASSAY_OP_RECORD, source, corr, s->ts[i]);
	waits_rec_attach(w, r, h);
	waits_rec_doubt_inside(w, r);
	r->flags |= h == ASSAY_NO_ROW ? ASSAY_REC_OUTSIDE : 0;
	number_event(r, (uint64_t)s->event[i]);
	r->arg = w->handles_only ? 0 : corr | made_id;
	if (s->wait_stream[i] >= 0)
		set_awaited(w, r, i, wait_key);
}

void waits_add_syncs(waits *w)
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
		assay_sweep_rec *r = waits_rec_add(w, op, source, s->corr[i], s->ts[i]);
		r->exit = r->enter + (s->dur[i] > 0 ? s->dur[i] : 0);
		waits_rec_attach(w, r, h);
		waits_rec_in(w, r, s->track[i]);
		if (s->event[i] >= 0)
			number_event(r, (uint64_t)s->event[i]);
		r->arg = w->handles_only ? 0
			 : named         ? (uint64_t)s->record_corr[i] | made_id
					 : s->sync_id[i];
		if (!named && !w->handles_only && !s->sync_id[i] && s->wait_stream[i] >= 0)
			r->hint = stream_beside(w, s->track[i], w->t->track.pid[s->track[i]],
						s->wait_stream[i]);
		waits_rec_fail(r, s->status[i]);
		if (!w->handles_only && s->class[i] < ASSAY_WAIT_CLASS_COUNT)
			r->said = s->class[i] + 1;
		waits_args a =
			waits_args_of(&w->args, w->run, h == ASSAY_NO_ROW ? 0 : w->t->host.args[h]);
		waits_rec_hear(w, r, &a);
		if (s->event[i] < 0 && !r->arg &&
		    (op == ASSAY_OP_WAIT || op == ASSAY_OP_EVENT_SYNC))
			waits_rec_blind(r);
		waits_tell(w, source, s->corr[i]);
	}
}
