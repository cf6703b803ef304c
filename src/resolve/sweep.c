/* One ordered sweep over calls: what each wait waited for. docs/waits.md has the rules. */
#include "resolve/sweep.h"

#include <string.h>

#include "base/arena.h"
#include "base/sort.h"
#include "resolve/sweep_state.h"

static const assay_sweep_stream no_stream = {ASSAY_NO_HANDLE, ASSAY_NO_ROW, 0, -1};

static int64_t max64(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static int64_t min64(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static void put_edge(assay_sweep *s, uint32_t kind, uint32_t from, uint32_t to, uint32_t host,
		     uint32_t wait)
{
	s->sink.edge(s->sink.ctx, &(assay_sweep_edge){kind, from, to, host, wait});
}

static bool later(sweep_work a, sweep_work b)
{
	return a.row != ASSAY_NO_ROW && (b.row == ASSAY_NO_ROW || a.end > b.end);
}

/* ------------------------------------------------------------------ GPU work */

/* A wait in front of this work took effect: how much later did the work start for it? Without the
 * wait it could have started when the stream was free and the call had been made. */
static void land(assay_sweep *s, const sweep_pending *p, const assay_sweep_rec *r, int64_t before)
{
	if (p->from_row != ASSAY_NO_ROW || p->edge == ASSAY_EDGE_HOST_FUNC)
		put_edge(s, p->edge, p->from_row, r->row, p->host_row, p->wait);
	if (p->wait == ASSAY_NO_ROW)
		return;
	assay_sweep_news n = {.what = ASSAY_NEWS_LANDED, .consumer_row = r->row, .delayed = -1};
	if (p->from_row != ASSAY_NO_ROW) {
		int64_t ready = max64(before, r->arg ? (int64_t)r->arg : p->issued);
		n.delayed = max64(0, min64(p->from_end, r->enter) - ready);
		n.slack = r->enter - p->from_end;
		n.times = n.slack < -s->tolerance;
	}
	s->sink.news(s->sink.ctx, p->wait, &n);
}

static void land_pending(assay_sweep *s, uint32_t st, const assay_sweep_rec *r)
{
	sweep_stream *to = &s->stream.p[st];
	int64_t before = max64(to->before, to->last.row == ASSAY_NO_ROW ? INT64_MIN : to->last.end);
	for (uint32_t n = to->pending, next; n != ASSAY_NO_ROW; n = next) {
		sweep_pending p = s->pending.p[n];
		next = p.next;
		land(s, &p, r, before);
		s->pending.p[n].next = s->free_pending;
		s->free_pending = n;
	}
	to->pending = to->pending_last = ASSAY_NO_ROW;
	to->pendings = 0;
}

/* The default stream waits for every blocking stream, and they for it. */
static void legacy_edges(assay_sweep *s, uint32_t st, const assay_sweep_rec *r)
{
	sweep_stream *to = &s->stream.p[st];
	const sweep_device *d = &s->device.p[to->device];
	if (to->blocking && d->legacy != ASSAY_NO_ROW) {
		const sweep_work *l = &s->stream.p[d->legacy].last;
		if (l->row != ASSAY_NO_ROW && l->key > to->legacy_seen) {
			put_edge(s, ASSAY_EDGE_LEGACY, l->row, r->row, ASSAY_NO_ROW, ASSAY_NO_ROW);
			to->legacy_seen = l->key;
		}
	}
	if (!to->legacy)
		return;
	uint64_t since = to->last.row == ASSAY_NO_ROW ? 0 : to->last.key;
	for (uint32_t i = d->first; i != ASSAY_NO_ROW; i = s->stream.p[i].next) {
		const sweep_stream *from = &s->stream.p[i];
		if (from->blocking && from->last.row != ASSAY_NO_ROW && from->last.key > since)
			put_edge(s, ASSAY_EDGE_LEGACY, from->last.row, r->row, ASSAY_NO_ROW,
				 ASSAY_NO_ROW);
	}
}

static void do_launch(assay_sweep *s, const assay_sweep_rec *r)
{
	uint32_t st = sweep_stream_of(s, r);
	if (st == ASSAY_NO_ROW)
		return;
	sweep_stream *to = &s->stream.p[st];
	if (to->last.row != ASSAY_NO_ROW && to->last.key == r->key) { /* a graph's next piece */
		to->last.start = min64(to->last.start, r->enter);
		if (r->exit > to->last.end) {
			to->last.end = r->exit;
			to->last.row = r->row;
		}
		return;
	}
	if (to->pending != ASSAY_NO_ROW)
		land_pending(s, st, r);
	if (to->legacy || to->blocking)
		legacy_edges(s, st, r);
	if (to->last.row != ASSAY_NO_ROW)
		to->before = max64(to->before, to->last.end);
	to->last = (sweep_work){r->key, r->enter, r->exit, r->row};
}

/* ------------------------------------------------------------------ events */

static sweep_event *event_at(assay_sweep *s, const assay_sweep_rec *r, uint32_t space)
{
	uint32_t row = sweep_event_make(s, r, space); /* may move them all */
	return &s->event.p[row];
}

/* What an event recorded now stands behind. On the default stream that is every blocking stream. */
static sweep_work work_before(const assay_sweep *s, uint32_t st)
{
	if (st == ASSAY_NO_ROW)
		return sweep_no_work;
	const sweep_stream *p = &s->stream.p[st];
	sweep_work w = p->last;
	if (!p->legacy)
		return w;
	for (uint32_t i = s->device.p[p->device].first; i != ASSAY_NO_ROW; i = s->stream.p[i].next)
		if (s->stream.p[i].blocking && later(s->stream.p[i].last, w))
			w = s->stream.p[i].last;
	return w;
}

/* Waits already out that this record may have come before after all. */
static void doubt_recent(assay_sweep *s, sweep_event *e, const assay_sweep_rec *r)
{
	for (uint32_t i = 0; i < e->n_recent; i++)
		if (e->recent[i].thread != r->thread && r->enter < e->recent[i].exit)
			s->sink.news(s->sink.ctx, e->recent[i].wait,
				     &(assay_sweep_news){.what = ASSAY_NEWS_AMBIGUOUS,
							 .record_key = r->key});
}

static void keep_sync_id(assay_sweep *s, const sweep_record *rec)
{
	size_t cap = 0;
	if (!s->by_sync) {
		s->by_sync = assay_vec_grow(NULL, &cap, SWEEP_SYNC_IDS, sizeof *s->by_sync);
		memset(s->by_sync, 0, SWEEP_SYNC_IDS * sizeof *s->by_sync);
	}
	s->by_sync[rec->arg % SWEEP_SYNC_IDS] = *rec;
}

static void do_record_in(assay_sweep *s, const assay_sweep_rec *r, uint32_t space)
{
	if (r->flags & ASSAY_REC_FAILED || !r->event)
		return;
	uint32_t st = sweep_stream_of(s, r);
	sweep_event *e = event_at(s, r, space);
	if (sweep_capturing(s, st)) {
		e->captured = true;
		e->capture = s->stream.p[st].capture;
		e->capture_of = s->stream.p[st].capture_of;
		return;
	}
	e->captured = false;
	if (e->records && e->last.exit > r->enter && e->last.thread != r->thread)
		s->rerecords++;
	if (e->n_recent)
		doubt_recent(s, e, r);
	e->prev = e->last;
	e->records += e->records < 2;
	e->last = (sweep_record){.key = r->key,
				 .arg = r->arg,
				 .enter = r->enter,
				 .exit = r->exit,
				 .work = work_before(s, st),
				 .stream = st == ASSAY_NO_ROW ? no_stream : s->stream.p[st].id,
				 .scope = r->scope,
				 .row = r->row,
				 .thread = r->thread,
				 .flags = r->flags};
	if (r->flags & ASSAY_REC_AT_START)
		e->last.work.end = e->last.work.start;
	if (r->arg && !space)
		keep_sync_id(s, &e->last);
	if (e->ipc && !e->opened)
		*assay_push(&s->shared) = (sweep_shared){e->ipc, e->last};
}

static void do_record(assay_sweep *s, const assay_sweep_rec *r)
{
	do_record_in(s, r, 0);
}

static void do_write_value(assay_sweep *s, const assay_sweep_rec *r)
{
	do_record_in(s, r, 1);
}

static void do_create(assay_sweep *s, const assay_sweep_rec *r)
{
	if (r->flags & ASSAY_REC_FAILED || !r->event)
		return;
	sweep_event_drop(s, r);
	sweep_event *e = event_at(s, r, 0);
	e->created = true;
	e->born = r->key;
}

static void do_destroy(assay_sweep *s, const assay_sweep_rec *r)
{
	if (!(r->flags & ASSAY_REC_FAILED))
		sweep_event_drop(s, r);
}

static uint64_t gap_of(const assay_sweep *s, uint32_t scope)
{
	uint32_t i = s->gap.n ? sweep_find(&s->gaps, scope, 0, 0) : ASSAY_NO_ROW;
	return i == ASSAY_NO_ROW ? 0 : s->gap.p[i];
}

static void do_gap(assay_sweep *s, const assay_sweep_rec *r)
{
	uint32_t i = sweep_find(&s->gaps, r->scope, 0, 0);
	if (i == ASSAY_NO_ROW) {
		i = (uint32_t)s->gap.n;
		sweep_set(&s->gaps, r->scope, 0, 0, i);
		(void)assay_push(&s->gap);
	}
	s->gap.p[i] = r->key;
}

/* ------------------------------------------------------------------ resolution */

static void take_record(assay_sweep_wait *w, const sweep_record *rec, assay_wait_class class)
{
	w->class = (uint8_t) class;
	w->producer = rec->stream;
	w->record_key = rec->key;
	w->record_row = rec->row;
	w->producer_row = rec->work.row;
	w->producer_end = rec->work.end;
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

/* The last record of this incarnation of the handle. */
static void join_handle(assay_sweep *s, const sweep_event *e, assay_sweep_wait *w)
{
	uint64_t gap = gap_of(s, w->rec.scope);
	if (!e || !e->records) {
		w->class = gap > (e ? e->born : 0) ? ASSAY_WAIT_IS_LOST
			   : e && e->created       ? ASSAY_WAIT_IS_NEVER_RECORDED
						   : ASSAY_WAIT_IS_BEFORE_TRACE;
		return;
	}
	if (gap > e->last.key) {
		w->class = ASSAY_WAIT_IS_LOST;
		return;
	}
	bool sure = e->last.thread == w->rec.thread || e->last.exit <= w->rec.enter;
	take_record(w, &e->last, sure ? ASSAY_WAIT_IS_LIKELY : ASSAY_WAIT_IS_AMBIGUOUS);
	if (!sure && e->records > 1)
		w->other_key = e->prev.key;
}

/* Another source names the producer's stream: it must agree, and it is all there is when the record
 * call itself is not known. */
static void weigh_hint(assay_sweep *s, assay_sweep_wait *w)
{
	if (w->rec.hint == ASSAY_NO_ROW)
		return;
	if (w->record_key) {
		if (w->producer.track == w->rec.hint) {
			w->class = ASSAY_WAIT_IS_EXACT;
		} else if (w->producer.track != ASSAY_NO_ROW) {
			w->class = ASSAY_WAIT_IS_AMBIGUOUS;
			w->flags |= ASSAY_WAIT_CONFLICT;
		}
		return;
	}
	if (w->class == ASSAY_WAIT_IS_FAILED_CALL || w->class == ASSAY_WAIT_IS_CAPTURED)
		return;
	uint32_t st = sweep_find(&s->by_stream, w->rec.hint, w->rec.scope, 1);
	w->class = ASSAY_WAIT_IS_AMBIGUOUS;
	w->producer = (assay_sweep_stream){ASSAY_NO_HANDLE, w->rec.hint, 0, -1};
	if (st == ASSAY_NO_ROW)
		return;
	sweep_work work = work_before(s, st);
	w->producer = s->stream.p[st].id;
	w->producer_row = work.row;
	w->producer_end = work.end;
}

static assay_sweep_wait new_wait(const assay_sweep_rec *r, assay_wait_kind kind)
{
	return (assay_sweep_wait){.rec = *r,
				  .consumer = no_stream,
				  .producer = no_stream,
				  .record_row = ASSAY_NO_ROW,
				  .producer_row = ASSAY_NO_ROW,
				  .delayed = -1,
				  .slack = -INT64_MAX,
				  .kind = (uint8_t)kind,
				  .satisfied = 255};
}

/* e may be NULL; st is the stream that waits, or none. */
static void resolve(assay_sweep *s, sweep_event *e, uint32_t st, assay_sweep_wait *w)
{
	bool failed = w->rec.flags & ASSAY_REC_FAILED || !w->rec.event;
	if (failed) {
		w->class = ASSAY_WAIT_IS_FAILED_CALL;
		return;
	}
	if (e && e->captured) {
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
	else
		join_handle(s, e, w);
	weigh_hint(s, w);
	if (e && e->opened)
		w->flags |= ASSAY_WAIT_IPC;
}

static bool is_resolved(const assay_sweep_wait *w)
{
	return w->class <= ASSAY_WAIT_IS_AMBIGUOUS;
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
	uint32_t n = s->sink.wait(s->sink.ctx, w);
	if (e && !w->rec.arg && is_resolved(w))
		remember(e, &w->rec, n);
	if (e && e->opened && !w->record_key)
		*assay_push(&s->foreign) = (sweep_foreign){e->ipc, w->rec.enter, n, w->rec.scope};
	return n;
}

static void wait_for_event(assay_sweep *s, const assay_sweep_rec *r, uint32_t space)
{
	uint32_t st = sweep_stream_of(s, r), row = sweep_event_find(s, r, space);
	sweep_event *e = row == ASSAY_NO_ROW ? NULL : &s->event.p[row];
	assay_sweep_wait w = new_wait(r, space ? ASSAY_WAIT_VALUE : ASSAY_WAIT_STREAM_WAIT);
	if (st != ASSAY_NO_ROW)
		w.consumer = s->stream.p[st].id;
	if (space)
		w.rec.arg = 0;
	resolve(s, e, st, &w);
	w.rec.arg = r->arg;
	bool same = w.producer.uid && w.producer.uid == w.consumer.uid;
	w.flags |= same ? ASSAY_WAIT_SAME_STREAM : 0;
	uint32_t n = put_wait(s, e, &w);
	if (st == ASSAY_NO_ROW || same || !is_resolved(&w))
		return;
	uint32_t edge = space ? ASSAY_EDGE_VALUE : ASSAY_EDGE_STREAM_WAIT;
	sweep_pending_add(s, st,
			  &(sweep_pending){.wait = n,
					   .edge = edge,
					   .from_row = w.producer_row,
					   .host_row = r->row,
					   .from_end = w.producer_end,
					   .issued = r->exit});
}

static void do_wait(assay_sweep *s, const assay_sweep_rec *r)
{
	wait_for_event(s, r, 0);
}

static bool value_fits(const sweep_record *rec, const assay_sweep_rec *r)
{
	return r->flags & ASSAY_REC_EQUAL ? rec->arg == r->arg : (int64_t)(rec->arg - r->arg) >= 0;
}

/* The last write that satisfies the condition, of the two that are remembered; none: something
 * outside writes the word. */
static void do_wait_value(assay_sweep *s, const assay_sweep_rec *r)
{
	uint32_t row = sweep_event_find(s, r, 1);
	if (row == ASSAY_NO_ROW || !s->event.p[row].records) {
		wait_for_event(s, r, 1);
		return;
	}
	sweep_event *e = &s->event.p[row], kept = *e;
	if (!value_fits(&e->last, r)) {
		e->last = e->prev;
		e->records--;
		if (e->records && !value_fits(&e->last, r))
			e->records = 0;
	}
	wait_for_event(s, r, 1);
	e = &s->event.p[row];
	e->last = kept.last;
	e->records = kept.records;
}

/* ------------------------------------------------------------------ threads that wait */

static void finish_host(assay_sweep *s, assay_sweep_wait *w)
{
	if (w->producer_row == ASSAY_NO_ROW)
		return;
	w->delayed = max64(0, min64(w->producer_end, w->rec.exit) - w->rec.enter);
	w->slack = w->rec.exit - w->producer_end;
	if (w->slack < -s->tolerance)
		w->flags |= ASSAY_WAIT_TIMES;
}

static void do_event_sync(assay_sweep *s, const assay_sweep_rec *r)
{
	uint32_t row = sweep_event_find(s, r, 0);
	sweep_event *e = row == ASSAY_NO_ROW ? NULL : &s->event.p[row];
	assay_sweep_wait w = new_wait(r, ASSAY_WAIT_EVENT_SYNC);
	resolve(s, e, ASSAY_NO_ROW, &w);
	finish_host(s, &w);
	uint32_t n = put_wait(s, e, &w);
	if (w.producer_row != ASSAY_NO_ROW)
		put_edge(s, ASSAY_EDGE_EVENT_SYNC, w.producer_row, ASSAY_NO_ROW, r->row, n);
}

/* Which streams of a device a call waits for. */
typedef enum { ALL_STREAMS, BLOCKING_STREAMS } fan;

static bool in_fan(const sweep_stream *p, fan which)
{
	return which == ALL_STREAMS || p->blocking || p->legacy;
}

static sweep_work fan_work(const assay_sweep *s, uint32_t d, fan which, assay_sweep_stream *of)
{
	sweep_work w = which == ALL_STREAMS ? s->device.p[d].orphan : sweep_no_work;
	for (uint32_t i = s->device.p[d].first; i != ASSAY_NO_ROW; i = s->stream.p[i].next)
		if (in_fan(&s->stream.p[i], which) && later(s->stream.p[i].last, w)) {
			w = s->stream.p[i].last;
			*of = s->stream.p[i].id;
		}
	return w;
}

/* Edges from streams that did work since the last wait for them. */
static void fan_edges(assay_sweep *s, uint32_t d, fan which, uint32_t kind,
		      const assay_sweep_rec *r, uint32_t wait)
{
	sweep_device *dev = &s->device.p[d];
	if (which == ALL_STREAMS && dev->orphan.row != ASSAY_NO_ROW) {
		put_edge(s, kind, dev->orphan.row, ASSAY_NO_ROW, r->row, wait);
		dev->orphan = sweep_no_work;
	}
	for (uint32_t i = dev->first; i != ASSAY_NO_ROW; i = s->stream.p[i].next) {
		sweep_stream *p = &s->stream.p[i];
		if (!in_fan(p, which) || p->last.row == ASSAY_NO_ROW || p->last.key <= p->synced)
			continue;
		put_edge(s, kind, p->last.row, ASSAY_NO_ROW, r->row, wait);
		p->synced = r->key;
	}
}

static void fan_in(assay_sweep *s, const assay_sweep_rec *r, assay_sweep_wait *w, uint32_t d,
		   fan which, uint32_t edge)
{
	sweep_work work = fan_work(s, d, which, &w->producer);
	w->producer_row = work.row;
	w->producer_end = work.end;
	finish_host(s, w);
	fan_edges(s, d, which, edge, r, put_wait(s, NULL, w));
}

static void do_stream_sync(assay_sweep *s, const assay_sweep_rec *r)
{
	uint32_t st = sweep_stream_of(s, r);
	assay_sweep_wait w = new_wait(r, ASSAY_WAIT_STREAM_SYNC);
	if (r->flags & ASSAY_REC_FAILED || st == ASSAY_NO_ROW) {
		w.class = st == ASSAY_NO_ROW ? ASSAY_WAIT_IS_LOST : ASSAY_WAIT_IS_FAILED_CALL;
		put_wait(s, NULL, &w);
		return;
	}
	sweep_stream *p = &s->stream.p[st];
	w.class = ASSAY_WAIT_IS_EXACT;
	w.producer = p->id;
	if (p->legacy) {
		fan_in(s, r, &w, p->device, BLOCKING_STREAMS, ASSAY_EDGE_STREAM_SYNC);
		return;
	}
	w.producer_row = p->last.row;
	w.producer_end = p->last.end;
	finish_host(s, &w);
	uint32_t n = put_wait(s, NULL, &w);
	if (p->last.row == ASSAY_NO_ROW || p->last.key <= p->synced)
		return;
	put_edge(s, ASSAY_EDGE_STREAM_SYNC, p->last.row, ASSAY_NO_ROW, r->row, n);
	p->synced = r->key;
}

static void do_device_sync(assay_sweep *s, const assay_sweep_rec *r)
{
	assay_sweep_wait w = new_wait(r, ASSAY_WAIT_DEVICE_SYNC);
	if (r->flags & ASSAY_REC_FAILED || r->device < 0) {
		w.class = r->device < 0 ? ASSAY_WAIT_IS_LOST : ASSAY_WAIT_IS_FAILED_CALL;
		put_wait(s, NULL, &w);
		return;
	}
	w.class = ASSAY_WAIT_IS_EXACT;
	fan_in(s, r, &w, sweep_device_of(s, r->scope, r->device), ALL_STREAMS,
	       ASSAY_EDGE_DEVICE_SYNC);
}

static void do_unknown_sync(assay_sweep *s, const assay_sweep_rec *r)
{
	assay_sweep_wait w = new_wait(r, ASSAY_WAIT_UNKNOWN);
	w.class = ASSAY_WAIT_IS_LOST;
	put_wait(s, NULL, &w);
}

static void do_event_query(assay_sweep *s, const assay_sweep_rec *r)
{
	uint32_t row = sweep_event_find(s, r, 0);
	assay_sweep_wait w = new_wait(r, ASSAY_WAIT_EVENT_SYNC);
	resolve(s, row == ASSAY_NO_ROW ? NULL : &s->event.p[row], ASSAY_NO_ROW, &w);
	if (is_resolved(&w) && w.producer_row != ASSAY_NO_ROW)
		put_edge(s, ASSAY_EDGE_QUERY, w.producer_row, ASSAY_NO_ROW, r->row, ASSAY_NO_ROW);
}

static void do_stream_query(assay_sweep *s, const assay_sweep_rec *r)
{
	uint32_t st = sweep_stream_of(s, r);
	if (r->flags & ASSAY_REC_FAILED || st == ASSAY_NO_ROW)
		return;
	sweep_stream *p = &s->stream.p[st];
	if (p->last.row == ASSAY_NO_ROW || p->last.key <= p->synced)
		return;
	put_edge(s, ASSAY_EDGE_QUERY, p->last.row, ASSAY_NO_ROW, r->row, ASSAY_NO_ROW);
	p->synced = r->key;
}

/* A copy call waited for its copy when it returned after the copy's end. */
static void do_copy(assay_sweep *s, const assay_sweep_rec *r)
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
	w.producer_row = p->last.row;
	w.producer_end = p->last.end;
	finish_host(s, &w);
	put_edge(s, ASSAY_EDGE_COPY, p->last.row, ASSAY_NO_ROW, r->row, put_wait(s, NULL, &w));
	p->synced = r->key;
}

/* Freeing memory and the like: a wait only if running work ended inside the call. */
static void do_drain(assay_sweep *s, const assay_sweep_rec *r)
{
	if (r->device < 0 || r->flags & ASSAY_REC_FAILED)
		return;
	uint32_t d = sweep_device_of(s, r->scope, r->device);
	assay_sweep_wait w = new_wait(r, ASSAY_WAIT_DRAIN);
	sweep_work work = fan_work(s, d, ALL_STREAMS, &w.producer);
	if (work.row == ASSAY_NO_ROW || work.end <= r->enter || work.end > r->exit)
		return;
	w.class = ASSAY_WAIT_IS_LIKELY;
	w.producer_row = work.row;
	w.producer_end = work.end;
	finish_host(s, &w);
	put_edge(s, ASSAY_EDGE_DRAIN, work.row, ASSAY_NO_ROW, r->row, put_wait(s, NULL, &w));
}

static void do_host_func(assay_sweep *s, const assay_sweep_rec *r)
{
	uint32_t st = sweep_stream_of(s, r);
	if (st == ASSAY_NO_ROW || r->flags & ASSAY_REC_FAILED || sweep_capturing(s, st))
		return;
	sweep_pending_add(s, st,
			  &(sweep_pending){.wait = ASSAY_NO_ROW,
					   .edge = ASSAY_EDGE_HOST_FUNC,
					   .from_row = s->stream.p[st].last.row,
					   .host_row = r->row});
}

/* ------------------------------------------------------------------ streams, captures, sharing */

static void do_stream_create(assay_sweep *s, const assay_sweep_rec *r)
{
	if (r->flags & ASSAY_REC_FAILED)
		return;
	assay_sweep_rec named = *r;
	named.flags = 0;
	if (r->track == ASSAY_NO_ROW && r->stream > 2) { /* the address may be another's */
		uint32_t old = sweep_find(&s->by_stream, r->stream, r->scope, 0);
		if (old != ASSAY_NO_ROW)
			sweep_stream_drop(s, old);
	}
	uint32_t st = sweep_stream_of(s, &named);
	if (st == ASSAY_NO_ROW)
		return;
	sweep_stream *p = &s->stream.p[st];
	p->legacy |= (r->flags & ASSAY_REC_LEGACY) != 0;
	p->blocking = !p->legacy && !(r->flags & ASSAY_REC_NONBLOCKING);
	if (p->legacy)
		s->device.p[p->device].legacy = st;
}

static void do_stream_destroy(assay_sweep *s, const assay_sweep_rec *r)
{
	if (r->flags & ASSAY_REC_FAILED || r->stream <= 2)
		return;
	uint32_t st = sweep_stream_of(s, r);
	if (st != ASSAY_NO_ROW)
		sweep_stream_drop(s, st);
}

static void do_capture_begin(assay_sweep *s, const assay_sweep_rec *r)
{
	uint32_t st = sweep_stream_of(s, r);
	if (st == ASSAY_NO_ROW || r->flags & ASSAY_REC_FAILED)
		return;
	s->stream.p[st].capture = ++s->captures;
	s->stream.p[st].capture_of = st;
}

static void do_capture_end(assay_sweep *s, const assay_sweep_rec *r)
{
	uint32_t st = sweep_stream_of(s, r);
	if (st != ASSAY_NO_ROW)
		s->stream.p[st].capture = 0;
}

static void do_ipc_export(assay_sweep *s, const assay_sweep_rec *r)
{
	if (r->flags & ASSAY_REC_FAILED || !r->event)
		return;
	sweep_event *e = event_at(s, r, 0);
	e->ipc = r->arg;
	if (e->records)
		*assay_push(&s->shared) = (sweep_shared){e->ipc, e->last};
}

static void do_ipc_open(assay_sweep *s, const assay_sweep_rec *r)
{
	if (r->flags & ASSAY_REC_FAILED || !r->event)
		return;
	sweep_event_drop(s, r);
	sweep_event *e = event_at(s, r, 0);
	e->ipc = r->arg;
	e->opened = true;
}

/* Across processes only time orders calls: the last record that was over when the wait began. */
void assay_sweep_end(assay_sweep *s)
{
	for (size_t i = 0; i < s->foreign.n; i++) {
		const sweep_foreign *f = &s->foreign.p[i];
		const sweep_record *best = NULL;
		for (size_t k = 0; k < s->shared.n; k++) {
			const sweep_record *rec = &s->shared.p[k].rec;
			if (s->shared.p[k].token == f->token && rec->exit <= f->enter &&
			    (!best || rec->exit > best->exit))
				best = rec;
		}
		if (best)
			s->sink.news(s->sink.ctx, f->wait,
				     &(assay_sweep_news){.what = ASSAY_NEWS_IPC,
							 .record_key = best->key,
							 .record_row = best->row,
							 .producer_row = best->work.row,
							 .producer = best->stream});
	}
}

/* ------------------------------------------------------------------ the sweep itself */

void assay_sweep_push(assay_sweep *s, const assay_sweep_rec *r)
{
	static void (*const act[ASSAY_OP_COUNT])(assay_sweep *, const assay_sweep_rec *) = {
		[ASSAY_OP_LAUNCH] = do_launch,
		[ASSAY_OP_RECORD] = do_record,
		[ASSAY_OP_WAIT] = do_wait,
		[ASSAY_OP_EVENT_SYNC] = do_event_sync,
		[ASSAY_OP_STREAM_SYNC] = do_stream_sync,
		[ASSAY_OP_DEVICE_SYNC] = do_device_sync,
		[ASSAY_OP_EVENT_QUERY] = do_event_query,
		[ASSAY_OP_STREAM_QUERY] = do_stream_query,
		[ASSAY_OP_CREATE] = do_create,
		[ASSAY_OP_DESTROY] = do_destroy,
		[ASSAY_OP_STREAM_CREATE] = do_stream_create,
		[ASSAY_OP_STREAM_DESTROY] = do_stream_destroy,
		[ASSAY_OP_CAPTURE_BEGIN] = do_capture_begin,
		[ASSAY_OP_CAPTURE_END] = do_capture_end,
		[ASSAY_OP_COPY] = do_copy,
		[ASSAY_OP_DRAIN] = do_drain,
		[ASSAY_OP_HOST_FUNC] = do_host_func,
		[ASSAY_OP_WRITE_VALUE] = do_write_value,
		[ASSAY_OP_WAIT_VALUE] = do_wait_value,
		[ASSAY_OP_IPC_EXPORT] = do_ipc_export,
		[ASSAY_OP_IPC_OPEN] = do_ipc_open,
		[ASSAY_OP_UNKNOWN_SYNC] = do_unknown_sync,
		[ASSAY_OP_GAP] = do_gap,
	};
	act[r->op](s, r);
}

assay_sweep *assay_sweep_new(const assay_sweep_sink *sink, int64_t tolerance)
{
	size_t cap = 0;
	assay_sweep *s = assay_vec_grow(NULL, &cap, 1, sizeof *s);
	*s = (assay_sweep){.sink = *sink,
			   .tolerance = tolerance,
			   .free_event = ASSAY_NO_ROW,
			   .free_stream = ASSAY_NO_ROW,
			   .free_pending = ASSAY_NO_ROW};
	return s;
}

size_t assay_sweep_bytes(const assay_sweep *s)
{
	const sweep_table *t[] = {&s->by_event, &s->by_stream, &s->by_device, &s->gaps};
	size_t n = sizeof *s + s->event.cap * sizeof *s->event.p +
		   s->stream.cap * sizeof *s->stream.p + s->device.cap * sizeof *s->device.p +
		   s->pending.cap * sizeof *s->pending.p + s->shared.cap * sizeof *s->shared.p +
		   s->foreign.cap * sizeof *s->foreign.p +
		   (s->by_sync ? SWEEP_SYNC_IDS * sizeof *s->by_sync : 0);
	for (size_t i = 0; i < ASSAY_COUNT_OF(t); i++)
		n += t[i]->slots * sizeof *t[i]->slot;
	return n;
}

uint64_t assay_sweep_rerecords(const assay_sweep *s)
{
	return s->rerecords;
}

void assay_sweep_free(assay_sweep *s)
{
	sweep_table *t[] = {&s->by_event, &s->by_stream, &s->by_device, &s->gaps};
	for (size_t i = 0; i < ASSAY_COUNT_OF(t); i++)
		assay_vec_release(t[i]->slot);
	assay_vec_free(&s->event);
	assay_vec_free(&s->stream);
	assay_vec_free(&s->device);
	assay_vec_free(&s->pending);
	assay_vec_free(&s->gap);
	assay_vec_free(&s->shared);
	assay_vec_free(&s->foreign);
	assay_vec_release(s->by_sync);
	assay_vec_release(s);
}

/* Stable radix sorts from the least important key to the most important one. */
void assay_sweep_sort(const assay_sweep_rec *recs, uint32_t *rows, size_t n)
{
	size_t bytes = (n ? n : 1) * sizeof(int64_t);
	int64_t *key = assay_pages_grow(NULL, 0, bytes);
	for (int pass = 0; pass < 4; pass++) {
		for (size_t i = 0; i < n; i++)
			key[i] = pass == 0   ? recs[i].enter
				 : pass == 1 ? recs[i].op
				 : pass == 2 ? (int64_t)recs[i].key
					     : (int64_t)recs[i].scope;
		assay_sort_rows(rows, n, key);
	}
	assay_pages_free(key, bytes);
}

/* ------------------------------------------------------------------ keys */

static bool is_narrow(uint64_t id)
{
	return id <= UINT32_MAX;
}

/* Keys start one range up, so that a late id from before the first call cannot fall below zero. */
static const uint64_t range = 1ull << 32;

/* A step of more than half the range is a step over the end of it. Every 2^29 keys the place is
 * noted, so that any other id can be unwrapped by its time. */
void assay_keys_add(assay_keys *k, int64_t ts, uint64_t id)
{
	if (!is_narrow(id))
		return;
	uint64_t key = id + range;
	if (k->ts.n)
		key = k->last + (uint64_t)(int32_t)((uint32_t)id - (uint32_t)k->last);
	if (!k->ts.n || key - k->near.p[k->near.n - 1] + (1u << 29) > 1u << 30) {
		*assay_push(&k->ts) = ts;
		*assay_push(&k->near) = key;
	}
	k->wrapped |= key / range != 1;
	k->last = key > k->last ? key : k->last;
}

uint64_t assay_keys_at(const assay_keys *k, int64_t ts, uint64_t id)
{
	if (!k->wrapped || !is_narrow(id))
		return id;
	size_t told = assay_count_until(k->ts.p, sizeof *k->ts.p, k->ts.n, ts);
	uint64_t near = k->near.p[told ? told - 1 : 0];
	return near + (uint64_t)(int32_t)((uint32_t)id - (uint32_t)near);
}

uint64_t assay_keys_id(const assay_keys *k, uint64_t key)
{
	return k->wrapped ? (uint32_t)key : key;
}

void assay_keys_free(assay_keys *k)
{
	assay_vec_free(&k->ts);
	assay_vec_free(&k->near);
}
