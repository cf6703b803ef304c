/* Waits of the sweep: which record each one meets, and what a thread or stream waited for. */
#include "base/num.h"
#include "resolve/sweep_state.h"

static uint64_t gap_of(const assay_sweep *s, uint32_t scope)
{
	uint32_t i = s->gap.n ? sweep_find(&s->gaps, scope, 0, 0) : ASSAY_NO_ROW;
	return i == ASSAY_NO_ROW ? 0 : s->gap.p[i];
}

/* May a launch have recorded the event after this record did? It may have begun first, and taken
 * effect later. */
static bool may_be_newer(const assay_sweep *s, const sweep_record *rec, uint32_t scope)
{
	uint32_t i = s->graph.n ? sweep_find(&s->graphs, scope, 0, 0) : ASSAY_NO_ROW;
	return i != ASSAY_NO_ROW &&
	       (s->graph.p[i].key > rec->key || s->graph.p[i].until > rec->enter);
}

/* Another process may record it, too. */
static bool is_shared(const sweep_event *e)
{
	return e->opened || e->exported;
}

/* Or it may be one of those of which no call says that they are shared. */
static bool may_be_shared(const assay_sweep *s, const sweep_event *e, uint32_t scope)
{
	return is_shared(e) ||
	       (s->sharers.n && sweep_find(&s->sharers, scope, 0, 0) == SWEEP_SHARES_SOME);
}

/* It may be shared since calls that were not recorded. */
static bool is_old(const assay_sweep *s, const sweep_event *e, uint32_t scope)
{
	return e->old ||
	       (!e->created && s->dark.n && sweep_find(&s->dark, scope, 0, 0) != ASSAY_NO_ROW);
}

/* Is the last record in the order of calls the one that the wait met? The interfaces say so, as
 * long as every call was seen and no other process and no launch could record the event unseen. */
static bool is_certain(const assay_sweep *s, const sweep_event *e, const assay_sweep_wait *w)
{
	bool another = w->rec.flags & ASSAY_REC_BARRIER && w->rec.hint == ASSAY_NO_ROW;
	return w->rec.flags & ASSAY_REC_WHOLE && !another && !e->last.raced &&
	       !may_be_shared(s, e, w->rec.scope) && !(w->rec.flags & ASSAY_REC_BESIDE_GRAPH) &&
	       !may_be_newer(s, &e->last, w->rec.scope);
}

/* The wait is likely at best. */
static void doubt(assay_sweep_wait *w, assay_wait_doubt why)
{
	if (w->class > ASSAY_WAIT_IS_LIKELY)
		return;
	w->class = ASSAY_WAIT_IS_LIKELY;
	if (!w->why || w->why == ASSAY_WAIT_BY_ORDER)
		w->why = (uint8_t)why;
}

static void take_work(assay_sweep_wait *w, sweep_work work)
{
	w->producer_row = work.row;
	w->producer_end = work.end;
	if (work.doubt & w->doubts)
		doubt(w, work.why);
}

static void take_record(assay_sweep_wait *w, const sweep_record *rec, assay_wait_class class)
{
	w->class = (uint8_t) class;
	w->why = class == ASSAY_WAIT_IS_EXACT    ? ASSAY_WAIT_BY_NONE
		 : class == ASSAY_WAIT_IS_LIKELY ? ASSAY_WAIT_BY_ORDER
						 : ASSAY_WAIT_BY_SEVERAL;
	take_work(w, rec->work);
	w->producer = rec->stream;
	w->record_key = rec->key;
	w->record_row = rec->row;
	w->flags |= rec->flags & ASSAY_REC_OUTSIDE ? ASSAY_WAIT_OUTSIDE : 0;
}

/* The vendor's own number of the recording: exact, whatever the handle says. */
static void join_sync_id(assay_sweep *s, const sweep_event *e, assay_sweep_wait *w)
{
	uint64_t id = w->rec.arg;
	const sweep_record *hit = NULL;
	if (e && e->records && e->last.arg == id)
		hit = &e->last;
	else if (e && e->records > 1 && e->prev.arg == id)
		hit = &e->prev;
	else if (s->by_sync && s->by_sync[id % SWEEP_SYNC_IDS].arg == id &&
		 s->by_sync[id % SWEEP_SYNC_IDS].scope == w->rec.scope)
		hit = &s->by_sync[id % SWEEP_SYNC_IDS];
	if (hit && hit->key < w->rec.key)
		take_record(w, hit, ASSAY_WAIT_IS_EXACT);
	else
		w->class =
			gap_of(s, w->rec.scope) ? ASSAY_WAIT_IS_LOST : ASSAY_WAIT_IS_BEFORE_TRACE;
}

/* No record of the event was seen, nor need there have been one. */
static assay_wait_class class_unrecorded(const assay_sweep *s, const sweep_event *e,
					 const assay_sweep_rec *wait)
{
	uint32_t scope = wait->scope;
	uint64_t born = e ? e->born : 0;
	uint32_t i = s->graph.n ? sweep_find(&s->graphs, scope, 0, 0) : ASSAY_NO_ROW;
	if (gap_of(s, scope) > born)
		return ASSAY_WAIT_IS_LOST;
	if (!e || !e->created)
		return ASSAY_WAIT_IS_BEFORE_TRACE;
	bool launched = i != ASSAY_NO_ROW && s->graph.p[i].key > born; /* perhaps by a launch */
	bool met = wait->flags & (ASSAY_REC_BESIDE_RECORD | ASSAY_REC_BESIDE_GRAPH);
	bool changed =
		wait->op == ASSAY_OP_WAIT_INSIDE; /* the graph may have other events by now */
	bool unheard = wait->exit >= e->complete ||
		       may_be_shared(s, e, scope); /* by a lost call, another process */
	return launched || met || unheard || changed ? ASSAY_WAIT_IS_LOST
						     : ASSAY_WAIT_IS_NEVER_RECORDED;
}

/* The last record of this incarnation of the handle. */
static void join_handle(assay_sweep *s, sweep_event *e, assay_sweep_wait *w)
{
	uint64_t gap = gap_of(s, w->rec.scope);
	if (!e || !e->records) {
		w->class = (uint8_t)class_unrecorded(s, e, &w->rec);
		return;
	}
	if (gap > e->last.key) {
		w->class = ASSAY_WAIT_IS_LOST;
		return;
	}
	if (e->in_graph && may_be_newer(s, &e->last, w->rec.scope))
		sweep_doubt(&e->last.work, SWEEP_DOUBT_LINK, ASSAY_WAIT_BY_GRAPH);
	bool sure = e->last.thread == w->rec.thread || e->last.exit <= w->rec.enter;
	take_record(w, &e->last,
		    !sure                 ? ASSAY_WAIT_IS_AMBIGUOUS
		    : is_certain(s, e, w) ? ASSAY_WAIT_IS_EXACT
					  : ASSAY_WAIT_IS_LIKELY);
	if (may_be_shared(s, e, w->rec.scope))
		doubt(w, ASSAY_WAIT_BY_PROCESS);
	else if (is_old(s, e, w->rec.scope))
		doubt(w, ASSAY_WAIT_BY_OFF);
	if (!sure && e->records > 1)
		w->other_key = e->prev.key;
}

/* A barrier names a queue. The record that left none may be in that one too: queues are numbered by
 * device, and streams share them. */
static bool may_be_unheard(const assay_sweep_wait *w, const sweep_record *rec)
{
	return w->rec.flags & ASSAY_REC_BARRIER && !(rec->flags & ASSAY_REC_BARRIER);
}

/* Of two records that may have been met, both by calls at the same time, the named stream's; when
 * both are in it, or one may be unheard, neither is certain, nor is one when a graph may have
 * recorded since, or when two threads recorded at once. */
static void agree(const assay_sweep *s, const sweep_event *e, assay_sweep_wait *w)
{
	bool unsure = w->class == ASSAY_WAIT_IS_AMBIGUOUS && e && e->records > 1;
	bool graph = e && e->records &&
		     (w->rec.flags & ASSAY_REC_BESIDE_GRAPH ||
		      may_be_newer(s, unsure ? &e->prev : &e->last, w->rec.scope));
	bool last = w->producer.track == w->rec.hint;
	bool prev = unsure && e->prev.stream.track == w->rec.hint;
	bool unheard = unsure && (may_be_unheard(w, &e->prev) || may_be_unheard(w, &e->last));
	if (unheard || (last && prev))
		return;
	if (last || prev) {
		w->other_key = 0;
		if (!e || !e->records || w->rec.arg)
			return;
		take_record(w, prev ? &e->prev : &e->last, ASSAY_WAIT_IS_EXACT);
		if (graph || e->last.raced)
			doubt(w, graph ? ASSAY_WAIT_BY_GRAPH : ASSAY_WAIT_BY_RACE);
		else if (may_be_shared(s, e, w->rec.scope))
			doubt(w, ASSAY_WAIT_BY_PROCESS);
	} else if (w->producer.track != ASSAY_NO_ROW) {
		w->class = ASSAY_WAIT_IS_AMBIGUOUS;
		w->why = ASSAY_WAIT_BY_SEVERAL;
		w->flags |= ASSAY_WAIT_CONFLICT;
	}
}

/* Another source names the producer's stream: it must agree, and it is all there is when the record
 * call itself is not known. */
static void weigh_hint(assay_sweep *s, const sweep_event *e, assay_sweep_wait *w)
{
	if (w->rec.hint == ASSAY_NO_ROW)
		return;
	if (w->record_key) {
		agree(s, e, w);
		return;
	}
	uint32_t st = sweep_find(&s->by_stream, w->rec.hint, w->rec.scope, 1);
	w->class = ASSAY_WAIT_IS_AMBIGUOUS;
	w->why = ASSAY_WAIT_BY_SEVERAL;
	w->producer = (assay_sweep_stream){ASSAY_NO_HANDLE, w->rec.hint, 0, -1};
	if (st == ASSAY_NO_ROW)
		return;
	take_work(w, sweep_tail(s, st));
	w->producer = s->stream.p[st].id;
}

/* The record that the wait is said to have met, if it is one of the event's last two. */
static const sweep_record *record_met(const sweep_event *e, const assay_sweep_wait *w)
{
	if (!e || !e->records || !w->record_key)
		return NULL;
	return e->last.key == w->record_key                     ? &e->last
	       : e->records > 1 && e->prev.key == w->record_key ? &e->prev
								: NULL;
}

static assay_sweep_wait new_wait(const assay_sweep_rec *r, assay_wait_kind kind)
{
	return (assay_sweep_wait){.rec = *r,
				  .consumer = sweep_no_stream,
				  .producer = sweep_no_stream,
				  .record_row = ASSAY_NO_ROW,
				  .producer_row = ASSAY_NO_ROW,
				  .delayed = -1,
				  .slack = -INT64_MAX,
				  .kind = (uint8_t)kind,
				  .satisfied = 255,
				  .doubts = SWEEP_DOUBT_ANY};
}

static bool is_resolved(const assay_sweep_wait *w)
{
	return w->class <= ASSAY_WAIT_IS_AMBIGUOUS;
}

/* e may be NULL; st is the stream that waits, or none. A class that the file gives stands: whoever
 * gave it saw more calls and handles than the file holds. */
static void resolve(assay_sweep *s, sweep_event *e, uint32_t st, assay_sweep_wait *w)
{
	bool failed = w->rec.flags & ASSAY_REC_FAILED || !w->rec.event;
	if (w->rec.said > ASSAY_WAIT_IS_AMBIGUOUS + 1) {
		w->class = w->rec.said - 1;
		return;
	}
	if (failed) {
		w->class = ASSAY_WAIT_IS_FAILED_CALL;
		return;
	}
	if (e && e->captured && gap_of(s, w->rec.scope) < e->captured_at) {
		const sweep_stream *origin = &s->stream.p[e->capture_of];
		w->class = ASSAY_WAIT_IS_CAPTURED;
		if (st != ASSAY_NO_ROW && origin->capture == e->capture) {
			s->stream.p[st].capture = e->capture;
			s->stream.p[st].capture_of = e->capture_of;
		}
		return;
	}
	if (sweep_capturing(s, st)) {
		w->class = ASSAY_WAIT_IS_CAPTURED;
		return;
	}
	if (w->rec.arg)
		join_sync_id(s, e, w);
	else if (st != ASSAY_NO_ROW && s->stream.p[st].may_capture)
		w->class = ASSAY_WAIT_IS_LOST;
	else
		join_handle(s, e, w);
	weigh_hint(s, e, w);
	if (w->rec.said && is_resolved(w)) {
		w->class = w->rec.said - 1;
		w->why = w->class == ASSAY_WAIT_IS_EXACT ? ASSAY_WAIT_BY_NONE : ASSAY_WAIT_BY_FILE;
	}
	if (e && is_shared(e))
		w->flags |= ASSAY_WAIT_IPC;
}

/* A record still to come in key order may overlap this wait in time. */
static void remember(sweep_event *e, const assay_sweep_rec *r, uint32_t wait)
{
	uint32_t at = e->n_recent < SWEEP_RECENT ? e->n_recent++ : 0;
	for (uint32_t i = 0; at == 0 && e->n_recent == SWEEP_RECENT && i < SWEEP_RECENT; i++)
		if (e->recent[i].exit < e->recent[at].exit)
			at = i;
	e->recent[at].exit = r->exit;
	e->recent[at].wait = wait;
	e->recent[at].thread = r->thread;
}

static uint32_t put_wait(assay_sweep *s, sweep_event *e, assay_sweep_wait *w)
{
	if (w->producer_row != ASSAY_NO_ROW)
		w->satisfied = w->producer_end <= w->rec.enter;
	if (sweep_has_unseen(s, w->rec.scope, w->rec.enter))
		w->flags |= ASSAY_WAIT_UNSEEN;
	if (sweep_has_early(s, &w->rec))
		w->flags |= ASSAY_WAIT_EARLY;
	if (w->rec.flags & ASSAY_REC_RACED)
		w->flags |= ASSAY_WAIT_RACED;
	uint32_t n = s->sink.wait(s->sink.ctx, w);
	if (e && !w->rec.arg && !w->rec.said && is_resolved(w))
		remember(e, &w->rec, n);
	if (e && e->opened && !w->record_key)
		*assay_push(&s->foreign) = (sweep_foreign){e->ipc, w->rec.enter, n, w->rec.scope};
	return n;
}

/* When it ends is not known, so nothing that waits for the stream is certain before its next work.
 */
static void enter_unseen(assay_sweep *s, uint32_t st, const assay_sweep_rec *r,
			 assay_wait_doubt why)
{
	sweep_work unknown = sweep_no_work;
	sweep_doubt(&unknown, SWEEP_DOUBT_LINK, why);
	sweep_set(&s->unseen, r->scope, 0, 0, 1);
	s->device.p[s->stream.p[st].device].unseen = INT64_MAX;
	sweep_stand_behind(s, st, unknown, r->key);
}

static bool is_in(const sweep_table *scopes, uint32_t scope)
{
	return scopes->n && sweep_find(scopes, scope, 0, 0) != ASSAY_NO_ROW;
}

/* May it be for what another process does, or anything else that can write a word of memory? No
 * time here tells of that. */
static assay_wait_doubt waits_outside(const assay_sweep *s, const assay_sweep_wait *w)
{
	if (w->kind == ASSAY_WAIT_VALUE)
		return ASSAY_WAIT_BY_WORD;
	bool unknown = w->class == ASSAY_WAIT_IS_LOST || w->class == ASSAY_WAIT_IS_BEFORE_TRACE;
	return w->flags & ASSAY_WAIT_IPC || (unknown && is_in(&s->sharers, w->rec.scope))
		       ? ASSAY_WAIT_BY_PROCESS
		       : ASSAY_WAIT_BY_NONE;
}

/* All that enters the stream later stands behind what the wait waits for. When that is not known,
 * nothing it is said to wait for is certain until its next work. */
static void enter_waiting(assay_sweep *s, uint32_t st, const assay_sweep_wait *w)
{
	if (w->class == ASSAY_WAIT_IS_CAPTURED || w->class == ASSAY_WAIT_IS_FAILED_CALL ||
	    w->class == ASSAY_WAIT_IS_NEVER_RECORDED) /* such a call does nothing */
		return;
	bool certain = w->class == ASSAY_WAIT_IS_EXACT;
	if (st == ASSAY_NO_ROW || w->rec.flags & ASSAY_REC_GUESSED) /* it may be in another */
		sweep_doubt_all(s, w->rec.scope, ASSAY_WAIT_BY_PLACE);
	assay_wait_doubt outside = waits_outside(s, w);
	if (st == ASSAY_NO_ROW) {
		sweep_enter_some(s, &w->rec);
		if (outside)
			sweep_all_unseen(s, w->rec.scope, outside);
		return;
	}
	sweep_work work = {w->rec.key, 0, w->producer_end, w->producer_row, 0, 0};
	if (!certain)
		sweep_doubt(&work, SWEEP_DOUBT_LINK, w->why ? w->why : ASSAY_WAIT_BY_BEHIND);
	sweep_enter(s, st, &w->rec);
	sweep_stand_behind(s, st, work, w->rec.key);
	if (outside)
		enter_unseen(s, st, &w->rec, outside);
}

/* A record with no work before it in its stream can stand behind the default stream at most, unless
 * it waits unseen; for that stream itself a wait for it is a wait for nothing. */
static bool owes_nothing_else(const assay_sweep *s, uint32_t st, const sweep_record *rec)
{
	return st != ASSAY_NO_ROW && s->stream.p[st].legacy && rec->work.row == ASSAY_NO_ROW &&
	       rec->stream.uid != s->stream.p[st].id.uid &&
	       rec->stream.device == s->stream.p[st].id.device && !is_in(&s->blind, rec->scope);
}

/* The default stream waited for a record in another stream of its device. */
static void put_in_front(assay_sweep *s, uint32_t st, const assay_sweep_wait *w)
{
	uint32_t from = sweep_find(&s->by_stream, w->producer.track, w->rec.scope, 1);
	if (s->stream.p[st].legacy && from != ASSAY_NO_ROW && w->class == ASSAY_WAIT_IS_EXACT &&
	    s->stream.p[from].device == s->stream.p[st].device)
		s->stream.p[from].in_front = w->record_key;
}

/* May a stream that waits unseen wait for what this one stands behind, though its default stream
 * does not? By a record behind its work, or, while that runs, by one that is in nobody knows which.
 */
static bool may_be_met(const assay_sweep *s, const sweep_stream *p, const assay_sweep_rec *r)
{
	bool runs = p->tail.row != ASSAY_NO_ROW && p->tail.end > r->enter - s->behind;
	return !p->legacy && (p->recorded > p->in_front || (runs && gap_of(s, r->scope)));
}

/* Does a default stream wait anyway for all that another stream may wait for unseen? */
static bool all_in_front(const assay_sweep *s, const assay_sweep_rec *r)
{
	uint32_t only = ASSAY_NO_ROW;
	for (uint32_t d = 0; d < s->device.n; d++)
		for (uint32_t i = s->device.p[d].scope == r->scope ? s->device.p[d].first
								   : ASSAY_NO_ROW;
		     i != ASSAY_NO_ROW; i = s->stream.p[i].next) {
			const sweep_stream *p = &s->stream.p[i];
			bool other = only != ASSAY_NO_ROW && only != d;
			if (may_be_met(s, p, r) || (p->recorded && other))
				return false;
			only = p->recorded ? d : only;
		}
	return true;
}

/* Returns the wait's number for news. */
static uint32_t wait_for_event(assay_sweep *s, const assay_sweep_rec *r, uint32_t space)
{
	uint32_t st = sweep_stream_of(s, r), row = sweep_event_find(s, r, space);
	sweep_event *e = row == ASSAY_NO_ROW ? NULL : &s->event.p[row];
	assay_sweep_wait w = new_wait(r, space ? ASSAY_WAIT_VALUE : ASSAY_WAIT_STREAM_WAIT);
	if (st != ASSAY_NO_ROW)
		w.consumer = s->stream.p[st].id;
	if (r->arg && !space && e && owes_nothing_else(s, st, &e->last))
		w.doubts = SWEEP_DOUBT_LINK | SWEEP_DOUBT_OVER;
	if (space) { /* anybody may write a word */
		w.rec.arg = 0;
		w.rec.hint = ASSAY_NO_ROW;
		w.rec.flags &= ~(uint32_t)ASSAY_REC_WHOLE;
	}
	resolve(s, e, st, &w);
	if (space && w.why == ASSAY_WAIT_BY_ORDER)
		w.why = ASSAY_WAIT_BY_WORD;
	w.rec.arg = r->arg;
	bool same = w.producer.uid && w.producer.uid == w.consumer.uid;
	w.flags |= same ? ASSAY_WAIT_SAME_STREAM : 0;
	uint32_t n = put_wait(s, e, &w);
	enter_waiting(s, st, &w);
	if (st != ASSAY_NO_ROW)
		put_in_front(s, st, &w);
	if (st == ASSAY_NO_ROW || same || !is_resolved(&w))
		return n;
	sweep_pending pending = {.wait = n,
				 .edge = space ? ASSAY_EDGE_VALUE : ASSAY_EDGE_STREAM_WAIT,
				 .from_row = w.producer_row,
				 .host_row = r->row,
				 .from_end = w.producer_end,
				 .issued = r->exit};
	sweep_pending_add(s, st, &pending);
	const sweep_record *rec = record_met(e, &w);
	pending.also = true;
	for (uint32_t i = 0; rec && i < rec->n_also; i++) {
		pending.from_row = rec->also[i];
		sweep_pending_add(s, st, &pending);
	}
	return n;
}

void sweep_wait(assay_sweep *s, const assay_sweep_rec *r)
{
	wait_for_event(s, r, 0);
}

/* HIP's masks: of what the documents say of "nor" only this depends on the word. */
bool sweep_value_fits(uint64_t value, uint64_t wanted, uint64_t mask, uint32_t flags)
{
	bool half = flags & ASSAY_REC_HALF;
	uint64_t neither = ~(value | wanted) & mask;
	value &= mask;
	uint64_t left = value - wanted;
	switch ((assay_value_when)(flags / ASSAY_REC_WHEN & 3)) {
	case ASSAY_VALUE_EQUAL:
		return half ? (uint32_t)value == (uint32_t)wanted : value == wanted;
	case ASSAY_VALUE_AND:
		return (half ? (uint32_t)(value & wanted) : value & wanted) != 0;
	case ASSAY_VALUE_NOR:
		return (half ? (uint32_t)neither : neither) != 0;
	case ASSAY_VALUE_AT_LEAST:
	default:
		return half ? (int32_t)(uint32_t)left >= 0 : (int64_t)left >= 0;
	}
}

/* A value that was not written yet: a later call may write it. */
static void wait_for_later(assay_sweep *s, const assay_sweep_rec *r)
{
	uint32_t row = sweep_event_make(s, r, 1); /* may move them all */
	sweep_event *e = &s->event.p[row];
	uint32_t kept = e->records;
	e->records = 0;
	uint32_t n = wait_for_event(s, r, 1);
	e = &s->event.p[sweep_event_find(s, r, 1)];
	e->records = kept;
	if (e->n_open < SWEEP_RECENT && n != ASSAY_NO_ROW) {
		e->open[e->n_open].arg = r->arg;
		e->open[e->n_open].wait = n;
		e->open[e->n_open].mask = sweep_mask(s, r->hint);
		e->open[e->n_open++].flags = r->flags;
	}
}

/* The first write that satisfies the condition, of the two that are remembered; none: it comes
 * later, or something outside writes the word. */
void sweep_wait_value(assay_sweep *s, const assay_sweep_rec *r)
{
	uint32_t row = sweep_event_find(s, r, 1);
	sweep_event kept = {0};
	if (row != ASSAY_NO_ROW)
		kept = s->event.p[row];
	uint64_t mask = sweep_mask(s, r->hint);
	bool last = kept.records && sweep_value_fits(kept.last.arg, r->arg, mask, r->flags);
	bool prev = kept.records > 1 && sweep_value_fits(kept.prev.arg, r->arg, mask, r->flags);
	if (r->flags & ASSAY_REC_FAILED || !r->event || (!last && !prev)) {
		wait_for_later(s, r);
		return;
	}
	if (prev)
		s->event.p[row].last = kept.prev;
	wait_for_event(s, r, 1);
	s->event.p[row].last = kept.last;
}

/* ------------------------------------------------------------------ threads that wait */

static void finish_host(const assay_sweep *s, assay_sweep_wait *w)
{
	if (w->producer_row == ASSAY_NO_ROW)
		return;
	w->delayed = sweep_max(0, sweep_min(w->producer_end, w->rec.exit) - w->rec.enter);
	w->slack = w->rec.exit - w->producer_end;
	if (w->slack < -s->tolerance)
		w->flags |= ASSAY_WAIT_TIMES;
}

void sweep_event_sync(assay_sweep *s, const assay_sweep_rec *r)
{
	uint32_t row = sweep_event_find(s, r, 0);
	sweep_event *e = row == ASSAY_NO_ROW ? NULL : &s->event.p[row];
	assay_sweep_wait w = new_wait(r, ASSAY_WAIT_EVENT_SYNC);
	resolve(s, e, ASSAY_NO_ROW, &w);
	finish_host(s, &w);
	uint32_t n = put_wait(s, e, &w);
	if (w.producer_row != ASSAY_NO_ROW)
		sweep_put_edge(s, ASSAY_EDGE_EVENT_SYNC, w.producer_row, ASSAY_NO_ROW, r->row, n);
	const sweep_record *rec = record_met(e, &w);
	for (uint32_t i = 0; rec && i < rec->n_also; i++)
		sweep_put_edge(s, ASSAY_EDGE_EVENT_SYNC, rec->also[i], ASSAY_NO_ROW, r->row, n);
}

/* Streams whose device is not known may be of this one. */
static bool unplaced_may_end_later(const assay_sweep *s, const assay_sweep_rec *r, sweep_fan which,
				   const sweep_work *work)
{
	uint32_t d = sweep_find(&s->by_device, (uint64_t)(uint32_t)-1, r->scope, 0);
	if (d == ASSAY_NO_ROW || r->device < 0)
		return false;
	assay_sweep_stream of;
	sweep_work other = sweep_fan_work(
		s, d, which == SWEEP_ALL_STREAMS ? SWEEP_ALL_STREAMS : SWEEP_UNSURE_STREAMS, &of);
	return other.doubt & (SWEEP_DOUBT_LINK | SWEEP_DOUBT_OVER) || sweep_later(other, *work);
}

static void fan_in(assay_sweep *s, const assay_sweep_rec *r, assay_sweep_wait *w, uint32_t d,
		   sweep_fan which, uint32_t edge)
{
	sweep_work work = sweep_fan_work(s, d, which, &w->producer);
	bool newer = work.row != ASSAY_NO_ROW &&
		     work.end > assay_wrap_add(s->device.p[d].drained, (int64_t)r->arg) &&
		     r->enter >= s->device.p[d].drained;
	if (which ==
	    SWEEP_ALL_STREAMS) /* work after the last wait for all ended later than all before */
		w->doubts = SWEEP_DOUBT_LINK | (newer ? 0 : SWEEP_DOUBT_OVER);
	int64_t end = work.row == ASSAY_NO_ROW ? INT64_MIN : work.end;
	if (unplaced_may_end_later(s, r, which, &work))
		sweep_doubt(&work, SWEEP_DOUBT_LINK, ASSAY_WAIT_BY_PLACE);
	if (end < s->device.p[d].unseen)
		sweep_doubt(&work, SWEEP_DOUBT_LINK, ASSAY_WAIT_BY_UNSEEN);
	if (which == SWEEP_ALL_STREAMS && sweep_is_early(&s->device.p[d], r))
		sweep_doubt(&work, SWEEP_DOUBT_LINK, ASSAY_WAIT_BY_EARLY);
	if (which != SWEEP_ALL_STREAMS)
		sweep_doubt_end(s, r, &s->stream.p[s->device.p[d].legacy].tail, &work);
	take_work(w, work);
	finish_host(s, w);
	sweep_fan_edges(s, d, which, edge, r, put_wait(s, NULL, w), &work);
	/* not if it may be of another device, or if something entered this one at the same time */
	if (which == SWEEP_ALL_STREAMS && !(r->flags & (ASSAY_REC_GUESSED | ASSAY_REC_RACED)))
		sweep_fan_drain(s, d, r, newer);
}

/* Which stream was waited for is not recorded: the one whose work ended last in the call, when the
 * call returned soon after. Of several that ended together nobody can say which. */
static void wait_by_time(const assay_sweep *s, const assay_sweep_rec *r, assay_sweep_wait *w)
{
	enum { SOON = 100000 };
	sweep_work best = sweep_no_work;
	uint32_t together = 0;
	for (size_t d = 0; d < s->device.n; d++)
		for (uint32_t i = s->device.p[d].scope == r->scope ? s->device.p[d].first
								   : ASSAY_NO_ROW;
		     i != ASSAY_NO_ROW; i = s->stream.p[i].next) {
			const sweep_work *t = &s->stream.p[i].tail;
			if (s->stream.p[i].settled && r->enter >= s->device.p[d].drained)
				break; /* so are all that follow: over before */
			if (t->row == ASSAY_NO_ROW || t->end <= r->enter ||
			    t->end > r->exit + s->tolerance || t->end < r->exit - SOON)
				continue;
			together++;
			if (sweep_later(*t, best)) {
				best = *t;
				w->producer = s->stream.p[i].id;
			}
		}
	w->class = !together       ? ASSAY_WAIT_IS_LOST
		   : together == 1 ? ASSAY_WAIT_IS_LIKELY
				   : ASSAY_WAIT_IS_AMBIGUOUS;
	w->why = !together       ? ASSAY_WAIT_BY_NONE
		 : together == 1 ? ASSAY_WAIT_BY_TIME
				 : ASSAY_WAIT_BY_SEVERAL;
	take_work(w, best);
	finish_host(s, w);
}

/* The one stream that fits holds the call up, too. */
static void put_by_time(assay_sweep *s, const assay_sweep_rec *r, uint32_t edge,
			assay_sweep_wait *w)
{
	uint32_t wait = put_wait(s, NULL, w);
	if (w->class == ASSAY_WAIT_IS_LIKELY)
		sweep_put_edge(s, edge, w->producer_row, ASSAY_NO_ROW, r->row, wait);
}

/* Streams that may or may not be blocking: they are when the call then ended with their work. */
static sweep_fan weigh_unsure(const assay_sweep *s, const assay_sweep_rec *r, assay_sweep_wait *w,
			      uint32_t d)
{
	assay_sweep_stream of;
	sweep_work sure = sweep_fan_work(s, d, SWEEP_BLOCKING_STREAMS, &of);
	sweep_work all = sweep_fan_work(s, d, SWEEP_UNSURE_STREAMS, &of);
	if (all.row == sure.row &&
	    !((all.doubt ^ sure.doubt) & (SWEEP_DOUBT_LINK | SWEEP_DOUBT_OVER)))
		return SWEEP_BLOCKING_STREAMS;
	doubt(w, ASSAY_WAIT_BY_DEFAULT);
	bool fits = all.end > r->enter && all.end <= r->exit + s->tolerance;
	int64_t since = sure.row == ASSAY_NO_ROW ? r->enter : sweep_max(sure.end, r->enter);
	bool without = since <= r->exit && r->exit - since <= ASSAY_SWEEP_BARE;
	/* where only clocks that disagree let them fit, not if it can be told without them */
	return fits && !(without && all.end > r->exit) ? SWEEP_UNSURE_STREAMS
						       : SWEEP_BLOCKING_STREAMS;
}

/* The stream's own last work, and what it waits for since then. */
static void stream_edges(assay_sweep *s, sweep_stream *p, const assay_sweep_rec *r, uint32_t wait)
{
	uint32_t latest = p->tail.row;
	if (latest == ASSAY_NO_ROW || p->changed <= p->synced)
		return;
	sweep_put_edge(s, ASSAY_EDGE_STREAM_SYNC, latest, ASSAY_NO_ROW, r->row, wait);
	if (p->last.row != ASSAY_NO_ROW && p->last.row != latest && p->last.key > p->synced)
		sweep_put_edge(s, ASSAY_EDGE_STREAM_SYNC, p->last.row, ASSAY_NO_ROW, r->row, wait);
	for (uint32_t n = p->pending; n != ASSAY_NO_ROW; n = s->pending.p[n].next) {
		uint32_t from = s->pending.p[n].from_row;
		if (from != ASSAY_NO_ROW && from != latest && from != p->last.row)
			sweep_put_edge(s, ASSAY_EDGE_STREAM_SYNC, from, ASSAY_NO_ROW, r->row, wait);
	}
	p->synced = r->key;
}

void sweep_stream_sync(assay_sweep *s, const assay_sweep_rec *r)
{
	uint32_t st = sweep_stream_of(s, r);
	assay_sweep_wait w = new_wait(r, ASSAY_WAIT_STREAM_SYNC);
	if (r->flags & ASSAY_REC_FAILED || st == ASSAY_NO_ROW) {
		w.class = ASSAY_WAIT_IS_FAILED_CALL;
		if (!(r->flags & ASSAY_REC_FAILED))
			wait_by_time(s, r, &w);
		put_by_time(s, r, ASSAY_EDGE_STREAM_SYNC, &w);
		return;
	}
	sweep_stream *p = &s->stream.p[st];
	w.class = ASSAY_WAIT_IS_EXACT;
	w.producer = p->id;
	if (r->flags & ASSAY_REC_GUESSED)
		doubt(&w, ASSAY_WAIT_BY_PLACE);
	if (r->flags & ASSAY_REC_RACED)
		doubt(&w, ASSAY_WAIT_BY_RACE);
	if (p->legacy) {
		sweep_fan which = weigh_unsure(s, r, &w, p->device);
		uint32_t device = p->device;
		fan_in(s, r, &w, device, which, ASSAY_EDGE_STREAM_SYNC);
		sweep_fan_keep(s, device, r->key);
		return;
	}
	take_work(&w, p->tail);
	/* without work of its own it may be of another device, and behind a default stream */
	if (p->tail.row == ASSAY_NO_ROW && (p->unsure || (p->blocking && p->id.device < 0)) &&
	    w.class == ASSAY_WAIT_IS_EXACT)
		doubt(&w, ASSAY_WAIT_BY_EMPTY);
	finish_host(s, &w);
	uint32_t wait = put_wait(s, NULL, &w);
	if (r->said != ASSAY_WAIT_IS_AMBIGUOUS + 1) /* the stream is one of several that fit */
		stream_edges(s, p, r, wait);
}

void sweep_device_sync(assay_sweep *s, const assay_sweep_rec *r)
{
	assay_sweep_wait w = new_wait(r, ASSAY_WAIT_DEVICE_SYNC);
	if (r->flags & ASSAY_REC_FAILED || r->device < 0) {
		w.class = r->device < 0 ? ASSAY_WAIT_IS_LOST : ASSAY_WAIT_IS_FAILED_CALL;
		put_wait(s, NULL, &w);
		return;
	}
	uint32_t d = sweep_device_of(s, r);
	w.class = ASSAY_WAIT_IS_EXACT;
	if (r->flags & ASSAY_REC_GUESSED)
		doubt(&w, ASSAY_WAIT_BY_PLACE);
	if (r->flags & ASSAY_REC_RACED)
		doubt(&w, ASSAY_WAIT_BY_RACE);
	fan_in(s, r, &w, d, SWEEP_ALL_STREAMS, ASSAY_EDGE_DEVICE_SYNC);
}

void sweep_unknown_sync(assay_sweep *s, const assay_sweep_rec *r)
{
	assay_sweep_wait w = new_wait(r, ASSAY_WAIT_UNKNOWN);
	w.class = ASSAY_WAIT_IS_LOST;
	if (r->arg == ASSAY_OP_EVENT_SYNC && !is_in(&s->sharers, r->scope))
		wait_by_time(s, r, &w);
	put_by_time(s, r, ASSAY_EDGE_EVENT_SYNC, &w);
	if (r->arg != ASSAY_OP_WAIT)
		return;
	sweep_enter_some(s, r);
	if (is_in(&s->sharers, r->scope))
		sweep_all_unseen(s, r->scope, ASSAY_WAIT_BY_PROCESS);
	if (!is_in(&s->blind, r->scope) && !all_in_front(s, r))
		sweep_set(&s->blind, r->scope, 0, 0, 1);
}

/* A query that returned before the work ended said no, whether or not its answer was recorded. */
void sweep_event_query(assay_sweep *s, const assay_sweep_rec *r)
{
	uint32_t row = sweep_event_find(s, r, 0);
	assay_sweep_wait w = new_wait(r, ASSAY_WAIT_EVENT_SYNC);
	resolve(s, row == ASSAY_NO_ROW ? NULL : &s->event.p[row], ASSAY_NO_ROW, &w);
	if (is_resolved(&w) && w.producer_row != ASSAY_NO_ROW && w.producer_end <= r->exit)
		sweep_put_edge(s, ASSAY_EDGE_QUERY, w.producer_row, ASSAY_NO_ROW, r->row,
			       ASSAY_NO_ROW);
}

void sweep_stream_query(assay_sweep *s, const assay_sweep_rec *r)
{
	uint32_t st = sweep_stream_of(s, r);
	if (r->flags & ASSAY_REC_FAILED || st == ASSAY_NO_ROW)
		return;
	sweep_stream *p = &s->stream.p[st];
	sweep_work work = sweep_tail(s, st);
	if (work.row == ASSAY_NO_ROW || p->changed <= p->synced || work.end > r->exit)
		return;
	sweep_put_edge(s, ASSAY_EDGE_QUERY, work.row, ASSAY_NO_ROW, r->row, ASSAY_NO_ROW);
	p->synced = r->key;
}

/* A copy call waited for its copy when it returned after the copy's end. */
void sweep_copy(assay_sweep *s, const assay_sweep_rec *r)
{
	uint32_t st = sweep_stream_of(s, r);
	if (st == ASSAY_NO_ROW || r->flags & ASSAY_REC_FAILED)
		return;
	sweep_stream *p = &s->stream.p[st];
	bool must = r->flags & ASSAY_REC_MUST_BLOCK;
	if (p->last.row == ASSAY_NO_ROW || p->last.key != r->key ||
	    (!must && r->exit < p->last.end))
		return;
	assay_sweep_wait w = new_wait(r, ASSAY_WAIT_COPY);
	w.class = ASSAY_WAIT_IS_EXACT;
	w.producer = p->id;
	take_work(&w, p->last);
	if (!must && r->exit < p->last.end + (int64_t)r->arg)
		doubt(&w, ASSAY_WAIT_BY_CLOCKS);
	if (r->flags & ASSAY_REC_FILL && r->exit - r->enter <= ASSAY_SWEEP_BARE)
		doubt(&w, ASSAY_WAIT_BY_TIME); /* fills seldom wait: it may just have been over */
	finish_host(s, &w);
	sweep_put_edge(s, ASSAY_EDGE_COPY, p->last.row, ASSAY_NO_ROW, r->row,
		       put_wait(s, NULL, &w));
	p->synced = r->key;
}

/* Freeing memory and the like: a wait only if running work ended inside the call. */
void sweep_drain(assay_sweep *s, const assay_sweep_rec *r)
{
	if (r->device < 0 || r->flags & ASSAY_REC_FAILED)
		return;
	uint32_t d = sweep_device_of(s, r);
	assay_sweep_wait w = new_wait(r, ASSAY_WAIT_DRAIN);
	sweep_work work = sweep_fan_work(s, d, SWEEP_ALL_STREAMS, &w.producer);
	if (work.row == ASSAY_NO_ROW || work.end <= r->enter || work.end > r->exit)
		return;
	w.class = ASSAY_WAIT_IS_LIKELY;
	w.why = ASSAY_WAIT_BY_TIME;
	take_work(&w, work);
	finish_host(s, &w);
	sweep_put_edge(s, ASSAY_EDGE_DRAIN, work.row, ASSAY_NO_ROW, r->row, put_wait(s, NULL, &w));
}

void sweep_unseen(assay_sweep *s, const assay_sweep_rec *r)
{
	uint32_t st = sweep_stream_of(s, r);
	if (r->flags & ASSAY_REC_FAILED || sweep_capturing(s, st))
		return;
	if (r->flags & ASSAY_REC_MAY_RECORD)
		sweep_may_record(s, r);
	if (st == ASSAY_NO_ROW) {
		sweep_all_unseen(s, r->scope, ASSAY_WAIT_BY_UNSEEN);
		return;
	}
	sweep_enter(s, st, r);
	enter_unseen(s, st, r, ASSAY_WAIT_BY_UNSEEN);
}

void sweep_host_func(assay_sweep *s, const assay_sweep_rec *r)
{
	uint32_t st = sweep_stream_of(s, r);
	if (st == ASSAY_NO_ROW || r->flags & ASSAY_REC_FAILED || sweep_capturing(s, st))
		return;
	sweep_enter(s, st, r);
	sweep_pending_add(s, st,
			  &(sweep_pending){.wait = ASSAY_NO_ROW,
					   .edge = ASSAY_EDGE_HOST_FUNC,
					   .from_row = s->stream.p[st].tail.row,
					   .host_row = r->row});
	enter_unseen(s, st, r, ASSAY_WAIT_BY_HOST_FUNC);
}

/* ------------------------------------------------------------------ pools of memory */

static sweep_work *freed_of(assay_sweep *s, uint32_t scope)
{
	uint32_t i = sweep_find(&s->pools, scope, 0, 0);
	if (i == ASSAY_NO_ROW) {
		i = (uint32_t)s->freed.n;
		sweep_set(&s->pools, scope, 0, 0, i);
		*assay_push(&s->freed) = sweep_no_work;
	}
	return &s->freed.p[i];
}

void sweep_pool_free(assay_sweep *s, const assay_sweep_rec *r)
{
	uint32_t st = sweep_stream_of(s, r);
	if (r->flags & ASSAY_REC_FAILED || sweep_capturing(s, st))
		return;
	sweep_work work = sweep_no_work;
	sweep_doubt(&work, SWEEP_DOUBT_LINK, ASSAY_WAIT_BY_POOL);
	sweep_enter(s, st, r);
	if (st != ASSAY_NO_ROW)
		work = sweep_tail(s, st);
	sweep_work *freed = freed_of(s, r->scope);
	*freed = sweep_latest(*freed, work);
}

/* A pool may hand out what another stream gives back, and make this one wait for it. */
void sweep_pool_alloc(assay_sweep *s, const assay_sweep_rec *r)
{
	uint32_t st = sweep_stream_of(s, r);
	if (r->flags & ASSAY_REC_FAILED || sweep_capturing(s, st))
		return;
	sweep_enter(s, st, r);
	const sweep_work *freed = freed_of(s, r->scope);
	bool meanwhile = r->flags & ASSAY_REC_BESIDE_FREE;
	bool running = meanwhile || freed->doubt ||
		       (freed->row != ASSAY_NO_ROW && freed->end > r->enter - s->behind);
	if (!running)
		return;
	if (st == ASSAY_NO_ROW)
		sweep_doubt_all(s, r->scope, ASSAY_WAIT_BY_POOL);
	else if (meanwhile || sweep_may_end_later(freed, &s->stream.p[st].tail))
		sweep_doubt(&s->stream.p[st].tail, SWEEP_DOUBT_LINK, ASSAY_WAIT_BY_POOL);
}
