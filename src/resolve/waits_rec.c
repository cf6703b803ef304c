#include "resolve/waits_rec.h"

assay_sweep_rec *waits_rec_add(waits *w, assay_sweep_op op, uint32_t source, uint64_t corr,
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

void waits_rec_fail(assay_sweep_rec *r, int32_t status)
{
	if (assay_has_failed(status))
		r->flags |= ASSAY_REC_FAILED;
}

void waits_rec_attach(waits *w, assay_sweep_rec *r, uint32_t h)
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
	waits_rec_fail(r, t->api.status[t->host.detail[h]]);
}

void waits_rec_doubt_inside(const waits *w, assay_sweep_rec *r)
{
	if (r->row != ASSAY_NO_ROW && w->call[w->t->host.name[r->row]].flags & ASSAY_REC_MAY_RECORD)
		r->flags |= ASSAY_REC_GUESSED | ASSAY_REC_INSIDE;
}

void waits_rec_in(waits *w, assay_sweep_rec *r, uint32_t track)
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

void waits_tell(waits *w, uint32_t source, uint64_t corr)
{
	*assay_map_at(&w->told, assay_corr_key(source, corr)) = WAITS_TOLD;
}

void waits_rec_blind(assay_sweep_rec *r)
{
	r->arg = r->op;
	r->op = ASSAY_OP_UNKNOWN_SYNC;
}

void waits_rec_hear(waits *w, assay_sweep_rec *r, const waits_args *a)
{
	bool asks = r->op == ASSAY_OP_WAIT || r->op == ASSAY_OP_EVENT_SYNC;
	bool nothing =
		a->said > ASSAY_WAIT_IS_AMBIGUOUS + 1 && a->said != ASSAY_WAIT_IS_UNEXPLAINED + 1;
	bool several = r->op == ASSAY_OP_STREAM_SYNC && a->said == ASSAY_WAIT_IS_AMBIGUOUS + 1;
	if (((asks && nothing) || several) && !w->handles_only)
		r->said = a->said;
	w->given |= a->said;
}

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

void waits_rec_place_on(waits *w, assay_sweep_rec *r, uint32_t source, assay_call call,
			const waits_args *a, waits_device d)
{
	bool null = a->has_stream && a->stream <= 1;
	bool own = assay_call_means_own(call, a->stream);
	r->device = d.device;
	if (!(call.takes & ASSAY_CALL_STREAM)) {
		r->flags |= d.guessed ? ASSAY_REC_GUESSED : 0;
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
		waits_rec_in(w, r, track);
	else if (!null && !own && !is_made_here(w, source, call, d))
		r->device = -1; /* nothing was launched into it */
}

void waits_rec_place(waits *w, assay_sweep_rec *r, uint32_t source, assay_call call,
		     const waits_args *a)
{
	waits_rec_place_on(w, r, source, call, a, device_of_call(w, r, source));
}

assay_call waits_part_of(assay_call whole, assay_sweep_op op)
{
	return (assay_call){op, ASSAY_CALL_EVENT | ASSAY_CALL_STREAM,
			    whole.flags & ASSAY_REC_PER_THREAD};
}

assay_sweep_rec *waits_rec_call(waits *w, uint32_t source, assay_call call, uint32_t h,
				const waits_args *a)
{
	bool launch_without_event = call.op == ASSAY_OP_RECORD && !a->event;
	if (launch_without_event && h != ASSAY_NO_ROW && call.takes & ASSAY_CALL_LAUNCHES)
		return NULL;
	assay_sweep_rec *r = waits_rec_add(w, call.op, source, 0, 0);
	waits_rec_attach(w, r, h);
	r->flags |= call.flags;
	r->arg = call.op == ASSAY_OP_WAIT_VALUE || call.op == ASSAY_OP_WRITE_VALUE ||
				 call.op == ASSAY_OP_IPC_OPEN || call.op == ASSAY_OP_IPC_EXPORT
			 ? a->value
			 : 0;
	if (call.takes & ASSAY_CALL_EVENT)
		r->event = a->event;
	waits_rec_fail(r, a->status);
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
	waits_rec_hear(w, r, a);
	return r;
}

assay_sweep_rec *waits_rec_start(waits *w, uint32_t source, assay_call starts, uint32_t h,
				 const waits_args *a)
{
	waits_args start = *a;
	start.event = a->start_event;
	start.flags = 0;
	assay_sweep_rec *r = waits_rec_call(w, source, starts, h, &start);
	r->flags |= ASSAY_REC_AT_START;
	waits_rec_doubt_inside(w, r);
	return r;
}
