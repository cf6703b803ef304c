/* One ordered sweep over calls: what each wait waited for. docs/waits.md has the rules. */
#include "resolve/sweep.h"

#include <string.h>

#include "base/arena.h"
#include "base/sort.h"
#include "resolve/sweep_state.h"

/* ------------------------------------------------------------------ GPU work */

/* A wait in front of this work took effect: how much later did the work start for it? Without the
 * wait it could have started when the stream was free and the call had been made. */
static void land(assay_sweep *s, const sweep_pending *p, const assay_sweep_rec *r, int64_t before,
		 int64_t held)
{
	if (p->from_row != ASSAY_NO_ROW || p->edge == ASSAY_EDGE_HOST_FUNC)
		sweep_put_edge(s, p->edge, p->from_row, r->row, p->host_row, p->wait);
	if (p->wait == ASSAY_NO_ROW || p->also)
		return;
	assay_sweep_news n = {.what = ASSAY_NEWS_LANDED, .consumer_row = r->row, .delayed = -1};
	if (p->from_row != ASSAY_NO_ROW) {
		int64_t ready = sweep_max(before, r->arg ? (int64_t)r->arg : p->issued);
		n.delayed = sweep_max(0, sweep_min(p->from_end, r->enter) - ready);
		n.slack = r->enter - p->from_end;
		n.late = r->enter - sweep_max(held, ready);
		n.times = n.slack < -s->tolerance;
	}
	s->sink.news(s->sink.ctx, p->wait, &n);
}

static void land_pending(assay_sweep *s, uint32_t st, const assay_sweep_rec *r)
{
	sweep_stream *to = &s->stream.p[st];
	int64_t before =
		sweep_max(to->before, to->last.row == ASSAY_NO_ROW ? INT64_MIN : to->last.end);
	uint32_t legacy = s->device.p[to->device].legacy;
	int64_t held = to->tail.row == ASSAY_NO_ROW ? INT64_MIN : to->tail.end;
	if (to->blocking && legacy != ASSAY_NO_ROW)
		held = sweep_max(held, s->stream.p[legacy].tail.end);
	for (uint32_t n = to->pending, next; n != ASSAY_NO_ROW; n = next) {
		sweep_pending p = s->pending.p[n];
		next = p.next;
		land(s, &p, r, before, held);
		s->pending.p[n].next = s->free_pending;
		s->free_pending = n;
	}
	to->pending = to->pending_last = ASSAY_NO_ROW;
	to->pendings = 0;
}

/* An order that the times contradict did not hold: some call between the two is not known. */
static void legacy_edge(assay_sweep *s, const sweep_work *from, const assay_sweep_rec *r)
{
	if (from->row != ASSAY_NO_ROW && from->end <= r->enter + s->tolerance)
		sweep_put_edge(s, ASSAY_EDGE_LEGACY, from->row, r->row, ASSAY_NO_ROW, ASSAY_NO_ROW);
}

/* Of launches at once, or whose calls are not known, either may be the first: what ran after r then
 * tells nothing. */
static bool runs_beside(const assay_sweep *s, const sweep_work *a, const assay_sweep_rec *r)
{
	bool early = r->flags & ASSAY_REC_WINDOW && !r->arg;
	bool unordered = r->flags & ASSAY_REC_RACED || early || a->doubt;
	bool may_follow = unordered && a->start >= r->exit - s->tolerance;
	return a->row != ASSAY_NO_ROW && a->end > r->enter + s->tolerance && !may_follow;
}

/* Blocking streams wait for the default stream. */
static void follow_default(assay_sweep *s, uint32_t st, const assay_sweep_rec *r)
{
	sweep_stream *to = &s->stream.p[st];
	uint32_t legacy = s->device.p[to->device].legacy;
	if (legacy == ASSAY_NO_ROW || s->stream.p[legacy].perhaps)
		return;
	const sweep_stream *l = &s->stream.p[legacy];
	if (l->changed > to->legacy_seen && l->tail.row != to->last.row)
		legacy_edge(s, &l->tail, r);
	to->legacy_seen = l->changed;
}

/* Was all that the stream may hold the default stream up with over when this work of that began? */
static bool is_over(const assay_sweep *s, const sweep_stream *p, const assay_sweep_rec *r)
{
	int64_t by = sweep_min(r->enter + s->tolerance, r->exit);
	return (!p->blocking && !p->unsure) || p->tail.row == ASSAY_NO_ROW || p->tail.end <= by;
}

/* The default stream waits for every blocking stream. False: what they did before this work is not
 * known to be over. */
static bool legacy_edges(assay_sweep *s, uint32_t st, const assay_sweep_rec *r)
{
	const sweep_stream *to = &s->stream.p[st];
	const sweep_device *d = &s->device.p[to->device];
	uint32_t unplaced = sweep_find(&s->by_device, (uint64_t)(uint32_t)-1, r->scope, 0);
	bool first = to->last.row == ASSAY_NO_ROW, in_turn = first || to->last.start <= r->enter;
	bool over = in_turn && !(r->flags & ASSAY_REC_RACED);
	uint64_t since = first ? 0 : to->last.key, mark = in_turn ? d->launched : 0;
	for (uint32_t i = d->newest; sweep_moved(s, i, mark); i = s->stream.p[i].older) {
		sweep_stream *from = &s->stream.p[i];
		if (from->unsure && !to->perhaps && runs_beside(s, &from->last, r)) {
			from->unsure = false;
			sweep_forget_kept(&s->device.p[to->device]);
		}
		over &= is_over(s, from, r);
		if (!from->blocking || to->perhaps || from->changed <= since)
			continue;
		if (from->last.key > since)
			legacy_edge(s, &from->last, r);
		if (from->tail.row != from->last.row)
			legacy_edge(s, &from->tail, r);
	}
	for (uint32_t i = unplaced == ASSAY_NO_ROW ? unplaced : s->device.p[unplaced].newest;
	     sweep_moved(s, i, mark); i = s->stream.p[i].older)
		over &= is_over(s, &s->stream.p[i], r);
	return over;
}

/* What blocking streams did before is over when this is: only what they do from now on counts. */
static void mark_launch(assay_sweep *s, const sweep_stream *to, const assay_sweep_rec *r, bool over)
{
	sweep_device *d = &s->device.p[to->device];
	if (over)
		d->launched = sweep_mark(d, r->key);
	d->joined = d->launched;
}

/* Work that ran beside work of the default stream before it: the stream is not blocking. */
static void watch_blocking(assay_sweep *s, uint32_t st, const assay_sweep_rec *r)
{
	sweep_stream *to = &s->stream.p[st];
	uint32_t legacy = s->device.p[to->device].legacy;
	if (legacy != ASSAY_NO_ROW && !s->stream.p[legacy].perhaps &&
	    runs_beside(s, &s->stream.p[legacy].last, r)) {
		to->unsure = false;
		sweep_forget_kept(&s->device.p[to->device]);
	}
}

static void order_before(assay_sweep *s, const sweep_work *from, uint32_t to)
{
	if (from->row != ASSAY_NO_ROW)
		sweep_put_edge(s, ASSAY_EDGE_TOGETHER, from->row, to, ASSAY_NO_ROW, ASSAY_NO_ROW);
}

/* Pieces of a graph in several streams: the runtime has its own for branches. The launch is over
 * when all are, in one of them. */
static void join_branch(assay_sweep *s, uint32_t st, const assay_sweep_rec *r)
{
	bool known = false;
	if (s->member_key != r->key || s->member_scope != r->scope)
		s->member.n = 0;
	s->member_key = r->key;
	s->member_scope = r->scope;
	for (size_t i = 0; i < s->member.n; i++)
		known |= s->member.p[i].stream == st;
	if (!known)
		*assay_push(&s->member) = (sweep_member){st, r->row, sweep_no_work};
	if (s->member.n == 1)
		return;
	sweep_work latest = sweep_no_work;
	for (size_t i = 0; i < s->member.n; i++)
		latest = sweep_latest(latest, s->stream.p[s->member.p[i].stream].tail);
	sweep_doubt(&latest, SWEEP_DOUBT_LINK, ASSAY_WAIT_BY_PLACE);
	for (size_t i = 0; i < s->member.n; i++)
		sweep_stand_behind(s, s->member.p[i].stream, latest, r->key);
}

static bool is_member(const assay_sweep *s, uint32_t row)
{
	for (size_t i = 0; i < s->member.n; i++)
		if (s->member.p[i].row == row)
			return true;
	return false;
}

/* One more stream of a launch on several devices. All that was in the streams is over when it
 * begins; what ends later was put there at the same time, and may not stand in front of it. */
static void join_launch(assay_sweep *s, uint32_t st, const assay_sweep_rec *r, sweep_work before)
{
	if (s->member_key != r->key || s->member_scope != r->scope)
		s->member.n = 0;
	s->member_key = r->key;
	s->member_scope = r->scope;
	sweep_work latest = s->stream.p[st].tail;
	for (size_t i = 0; i < s->member.n; i++) {
		const sweep_member *m = &s->member.p[i];
		order_before(s, &m->before, r->row);
		order_before(s, &before, m->row);
		latest = sweep_latest(latest, s->stream.p[m->stream].tail);
	}
	*assay_push(&s->member) = (sweep_member){st, r->row, before};
	if (!is_member(s, latest.row))
		sweep_doubt(&latest, SWEEP_DOUBT_LINK, ASSAY_WAIT_BY_RACE);
	for (size_t i = 0; i < s->member.n; i++)
		sweep_stand_behind(s, s->member.p[i].stream, latest, r->key);
}

static void join_streams(assay_sweep *s, uint32_t st, const assay_sweep_rec *r, sweep_work before)
{
	if (r->flags & ASSAY_REC_TOGETHER)
		join_launch(s, st, r, before);
	else
		join_branch(s, st, r);
}

/* Is the stream's next work all that what follows it stands behind? */
static void doubt_launch(sweep_work *tail, const assay_sweep_rec *r, const sweep_work *before)
{
	bool early = r->flags & ASSAY_REC_WINDOW && !r->arg;
	if (r->flags & ASSAY_REC_ANY_ORDER && before->doubt) /* what nobody knows of may go on */
		sweep_doubt(tail, before->doubt, before->why);
	if (early) /* launched before the recording: more may have followed it then */
		sweep_doubt(tail, SWEEP_DOUBT_LINK, ASSAY_WAIT_BY_EARLY);
	if (r->flags & ASSAY_REC_RACED) /* what else is in front of the next? */
		sweep_doubt(tail, SWEEP_DOUBT_LINK, ASSAY_WAIT_BY_RACE);
}

static void do_launch(assay_sweep *s, const assay_sweep_rec *r)
{
	uint32_t st = sweep_stream_of(s, r);
	if (st == ASSAY_NO_ROW)
		return;
	if (r->flags & ASSAY_REC_MAY_RECORD)
		sweep_may_record(s, r);
	sweep_stream *to = &s->stream.p[st];
	if (to->last.row != ASSAY_NO_ROW && to->launch == r->key) { /* a graph's next piece */
		to->last.start = sweep_min(to->last.start, r->enter);
		if (r->exit > to->last.end) {
			to->last.key = r->key;
			to->last.end = r->exit;
			to->last.row = r->row;
		}
		to->tail = sweep_latest(to->tail, to->last);
		if (r->flags & ASSAY_REC_BRANCH)
			join_branch(s, st, r);
		return;
	}
	to->launch = r->key;
	if (to->capture && sweep_capturing(s, st) &&
	    !(r->flags & (ASSAY_REC_RACED | ASSAY_REC_BRANCH))) /* it has ended unseen */
		s->stream.p[to->capture_of].capture = 0;
	if (to->pending != ASSAY_NO_ROW)
		land_pending(s, st, r);
	bool all_over = to->legacy && legacy_edges(s, st, r);
	if (to->blocking)
		follow_default(s, st, r);
	else if (to->unsure)
		watch_blocking(s, st, r);
	if (to->last.row != ASSAY_NO_ROW)
		to->before = sweep_max(to->before, to->last.end);
	sweep_work before = to->tail;
	to->tail = (sweep_work){r->key, r->enter, r->exit, r->row, 0, ASSAY_WAIT_BY_NONE};
	/* launched at once: it ran before, and the stream stands behind what it stood behind */
	bool before_last = to->last.row != ASSAY_NO_ROW && to->last.start >= r->exit;
	if (before_last)
		to->tail = before;
	else if (to->last.row != ASSAY_NO_ROW && to->last.end > r->exit)
		/* it did not wait for the work before it, which goes on */
		to->tail = sweep_latest(to->last, to->tail);
	if (r->flags & (ASSAY_REC_ANY_ORDER | ASSAY_REC_WINDOW | ASSAY_REC_RACED))
		doubt_launch(&to->tail, r, &before);
	if (!before_last)
		to->last = to->tail;
	to->changed = to->legacy_joined = r->key;
	to->may_capture = false;
	sweep_move(s, st, r->key);
	if (to->legacy)
		mark_launch(s, to, r, all_over && !before_last);
	if (r->flags & (ASSAY_REC_TOGETHER | ASSAY_REC_BRANCH))
		join_streams(s, st, r, before);
}

/* ------------------------------------------------------------------ events */

static sweep_event *event_at(assay_sweep *s, const assay_sweep_rec *r, uint32_t space)
{
	uint32_t row = sweep_event_make(s, r, space); /* may move them all */
	return &s->event.p[row];
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

static void stand_also(sweep_record *rec, uint32_t row)
{
	bool known = row == ASSAY_NO_ROW || row == rec->work.row;
	for (uint32_t i = 0; i < rec->n_also && !known; i++)
		known = rec->also[i] == row;
	if (!known && rec->n_also < SWEEP_ALSO)
		rec->also[rec->n_also++] = row;
}

/* The stream's own last work, and what it waits for since then. */
static void keep_others(const assay_sweep *s, uint32_t st, sweep_record *rec)
{
	if (st == ASSAY_NO_ROW || s->stream.p[st].pending == ASSAY_NO_ROW)
		return;
	stand_also(rec, s->stream.p[st].last.row);
	for (uint32_t n = s->stream.p[st].pending; n != ASSAY_NO_ROW; n = s->pending.p[n].next)
		stand_also(rec, s->pending.p[n].from_row);
}

static void do_record_in(assay_sweep *s, const assay_sweep_rec *r, uint32_t space)
{
	if (r->flags & ASSAY_REC_FAILED || !r->event)
		return;
	uint32_t st = sweep_stream_of(s, r);
	sweep_event *e = event_at(s, r, space);
	if (sweep_capturing(s, st) && r->flags & ASSAY_REC_EXTERNAL)
		return; /* at the launch of the graph */
	if (sweep_capturing(s, st)) {
		e->captured = true;
		e->captured_at = r->key;
		e->capture = s->stream.p[st].capture;
		e->capture_of = s->stream.p[st].capture_of;
		return;
	}
	e->captured = false;
	sweep_enter(s, st, r);
	if (e->records && e->last.exit > r->enter && e->last.thread != r->thread &&
	    !(r->flags & ASSAY_REC_AGAIN))
		s->rerecords++;
	if (e->n_recent)
		doubt_recent(s, e, r);
	bool raced = e->records && e->until > r->enter;
	e->until = e->records ? sweep_max(e->until, r->exit) : r->exit;
	e->prev = e->last;
	e->records += e->records < 2;
	e->last =
		(sweep_record){.key = r->key,
			       .arg = r->arg,
			       .enter = r->enter,
			       .exit = r->exit,
			       .work = sweep_tail(s, st),
			       .stream = st == ASSAY_NO_ROW ? sweep_no_stream : s->stream.p[st].id,
			       .scope = r->scope,
			       .row = r->row,
			       .thread = r->thread,
			       .flags = r->flags,
			       .raced = raced};
	keep_others(s, st, &e->last);
	if (e->last.work.row != ASSAY_NO_ROW)
		s->stream.p[st].recorded = r->key;
	if (r->flags & ASSAY_REC_GUESSED)
		sweep_doubt(&e->last.work, SWEEP_DOUBT_LINK,
			    r->flags & ASSAY_REC_INSIDE ? ASSAY_WAIT_BY_GRAPH
							: ASSAY_WAIT_BY_PLACE);
	if (st == ASSAY_NO_ROW)
		sweep_doubt(&e->last.work, SWEEP_DOUBT_LINK, ASSAY_WAIT_BY_PLACE);
	if (st != ASSAY_NO_ROW && s->stream.p[st].may_capture)
		sweep_doubt(&e->last.work, SWEEP_DOUBT_LINK, ASSAY_WAIT_BY_OFF);
	bool launched = st != ASSAY_NO_ROW && s->stream.p[st].launch == r->key;
	if (launched && e->last.work.key != r->key) /* by work that overtook this */
		sweep_doubt(&e->last.work, SWEEP_DOUBT_LINK, ASSAY_WAIT_BY_TIME);
	if (r->flags & ASSAY_REC_AT_START)
		e->last.work.end = e->last.work.start;
	if (r->arg && !space)
		keep_sync_id(s, &e->last);
	if (e->ipc && !e->opened)
		*assay_push(&s->shared) = (sweep_shared){e->ipc, e->last};
}

/* Waits for a value that this write ends. */
static void end_value_waits(assay_sweep *s, const assay_sweep_rec *r)
{
	uint32_t row = sweep_event_find(s, r, 1);
	sweep_event *e = row == ASSAY_NO_ROW ? NULL : &s->event.p[row];
	uint32_t kept = 0;
	for (uint32_t i = 0; e && e->records && i < e->n_open; i++) {
		if (!sweep_value_fits(r->arg, e->open[i].arg, e->open[i].mask, e->open[i].flags)) {
			e->open[kept++] = e->open[i];
			continue;
		}
		s->sink.news(s->sink.ctx, e->open[i].wait,
			     &(assay_sweep_news){.what = ASSAY_NEWS_FOUND,
						 .record_key = e->last.key,
						 .record_row = e->last.row,
						 .producer_row = e->last.work.row,
						 .producer = e->last.stream});
	}
	if (e && e->records)
		e->n_open = kept;
}

static void do_record(assay_sweep *s, const assay_sweep_rec *r)
{
	do_record_in(s, r, 0);
}

static void do_write_value(assay_sweep *s, const assay_sweep_rec *r)
{
	do_record_in(s, r, 1);
	if (!(r->flags & ASSAY_REC_FAILED) && r->event)
		end_value_waits(s, r);
}

static void do_create(assay_sweep *s, const assay_sweep_rec *r)
{
	if (r->flags & ASSAY_REC_FAILED || !r->event)
		return;
	sweep_event_drop(s, r);
	sweep_event *e = event_at(s, r, 0);
	e->created = true;
	e->born = r->key;
	e->complete = (int64_t)r->arg;
}

static void do_destroy(assay_sweep *s, const assay_sweep_rec *r)
{
	if (!(r->flags & ASSAY_REC_FAILED))
		sweep_event_drop(s, r);
}

static void do_in_graph(assay_sweep *s, const assay_sweep_rec *r)
{
	if (!(r->flags & ASSAY_REC_FAILED) && r->event)
		event_at(s, r, 0)->in_graph = true;
}

static void do_command(assay_sweep *s, const assay_sweep_rec *r)
{
	uint32_t st = sweep_stream_of(s, r);
	if (!(r->flags & ASSAY_REC_FAILED) && !sweep_capturing(s, st))
		sweep_enter(s, st, r);
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
	sweep_enter_some(s, r);
}

/* They may have ended, or go on. A stream has joined one only as long as that is known. */
static void forget_captures(assay_sweep *s, uint32_t scope)
{
	for (size_t d = 0; d < s->device.n; d++)
		for (uint32_t i = s->device.p[d].scope == scope ? s->device.p[d].first
								: ASSAY_NO_ROW;
		     i != ASSAY_NO_ROW; i = s->stream.p[i].next)
			s->stream.p[i].may_capture |= sweep_capturing(s, i);
	for (size_t d = 0; d < s->device.n; d++)
		for (uint32_t i = s->device.p[d].scope == scope ? s->device.p[d].first
								: ASSAY_NO_ROW;
		     i != ASSAY_NO_ROW; i = s->stream.p[i].next)
			s->stream.p[i].capture = 0;
}

static void do_dark(assay_sweep *s, const assay_sweep_rec *r)
{
	sweep_set(&s->dark, r->scope, 0, 0, 1);
	for (size_t i = 0; i < s->by_event.slots; i++) {
		const sweep_slot *slot = &s->by_event.slot[i];
		if (slot->val != ASSAY_NO_ROW && slot->b == r->scope)
			s->event.p[slot->val].old = true;
	}
	do_gap(s, r);
	forget_captures(s, r->scope);
	sweep_all_unseen(s, r->scope, ASSAY_WAIT_BY_OFF);
}

/* ------------------------------------------------------------------ streams, captures, sharing */

static void do_stream_create(assay_sweep *s, const assay_sweep_rec *r)
{
	if (r->flags & ASSAY_REC_FAILED)
		return;
	assay_sweep_rec named = *r;
	named.flags = r->flags & ASSAY_REC_WINDOW;
	uint32_t old = sweep_stream_named(s, r->stream, r->scope);
	bool made = r->track == ASSAY_NO_ROW || r->row != ASSAY_NO_ROW; /* by this call */
	if (old != ASSAY_NO_ROW && made &&
	    (r->track == ASSAY_NO_ROW || s->stream.p[old].id.track != r->track))
		sweep_stream_drop(s, old); /* the address was another's, whose end is not known */
	uint32_t st = sweep_stream_of(s, &named);
	if (st == ASSAY_NO_ROW)
		return;
	sweep_stream *p = &s->stream.p[st];
	p->legacy |= (r->flags & ASSAY_REC_LEGACY) != 0;
	if (r->row != ASSAY_NO_ROW && p->last.row == ASSAY_NO_ROW) /* made by this call */
		p->tail.doubt = 0;
	p->unsure = false;
	sweep_forget_kept(&s->device.p[p->device]);
	p->blocking = !p->legacy && !(r->flags & ASSAY_REC_NONBLOCKING);
	sweep_move(s, st, r->key);
	if (p->legacy) {
		s->device.p[p->device].legacy = st;
		sweep_forget_marks(&s->device.p[p->device]);
	}
}

static void do_stream_destroy(assay_sweep *s, const assay_sweep_rec *r)
{
	bool listed = r->thread == ASSAY_NO_ROW; /* its call may have told it before */
	if (r->flags & ASSAY_REC_FAILED || r->stream <= 2)
		return;
	uint32_t st =
		listed ? sweep_find(&s->by_stream, r->track, r->scope, 1) : sweep_stream_of(s, r);
	if (st != ASSAY_NO_ROW)
		sweep_stream_drop(s, st);
	if (st != ASSAY_NO_ROW || listed)
		return;
	if (s->gone_scope != r->scope)
		s->gone.n = 0;
	s->gone_scope = r->scope;
	*assay_push(&s->gone) = (sweep_gone){r->key, r->enter};
}

static void do_capture_begin(assay_sweep *s, const assay_sweep_rec *r)
{
	uint32_t st = sweep_stream_of(s, r);
	if (st == ASSAY_NO_ROW || r->flags & ASSAY_REC_FAILED)
		return;
	s->stream.p[st].may_capture = r->flags & ASSAY_REC_OUTSIDE;
	s->stream.p[st].capture = r->flags & ASSAY_REC_OUTSIDE ? 0 : ++s->captures;
	s->stream.p[st].capture_of = st;
}

static void do_capture_end(assay_sweep *s, const assay_sweep_rec *r)
{
	uint32_t st = sweep_stream_of(s, r);
	if (st != ASSAY_NO_ROW)
		s->stream.p[st].capture = s->stream.p[st].may_capture = 0;
}

/* False: the call does not say which event. */
static bool note_sharing(assay_sweep *s, const assay_sweep_rec *r)
{
	bool some = sweep_find(&s->sharers, r->scope, 0, 0) == SWEEP_SHARES_SOME;
	sweep_set(&s->sharers, r->scope, 0, 0,
		  some || !r->event ? SWEEP_SHARES_SOME : SWEEP_SHARES_KNOWN);
	return r->event;
}

static void do_ipc_export(assay_sweep *s, const assay_sweep_rec *r)
{
	if (r->flags & ASSAY_REC_FAILED)
		return;
	if (!note_sharing(s, r))
		return;
	sweep_event *e = event_at(s, r, 0);
	e->ipc = r->arg;
	e->exported = true;
	if (e->records)
		*assay_push(&s->shared) = (sweep_shared){e->ipc, e->last};
}

static void do_ipc_open(assay_sweep *s, const assay_sweep_rec *r)
{
	if (r->flags & ASSAY_REC_FAILED)
		return;
	if (!note_sharing(s, r))
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
			if (f->token && s->shared.p[k].token == f->token && rec->exit <= f->enter &&
			    (!best || rec->exit > best->exit))
				best = rec;
		}
		if (best)
			s->sink.news(s->sink.ctx, f->wait,
				     &(assay_sweep_news){.what = ASSAY_NEWS_FOUND,
							 .record_key = best->key,
							 .record_row = best->row,
							 .producer_row = best->work.row,
							 .producer = best->stream});
	}
}

/* ------------------------------------------------------------------ the sweep itself */

void assay_sweep_push(assay_sweep *s, const assay_sweep_rec *r)
{
	static sweep_op *const act[ASSAY_OP_COUNT] = {
		[ASSAY_OP_WAIT_INSIDE] = sweep_wait,
		[ASSAY_OP_LAUNCH] = do_launch,
		[ASSAY_OP_RECORD] = do_record,
		[ASSAY_OP_WAIT] = sweep_wait,
		[ASSAY_OP_EVENT_SYNC] = sweep_event_sync,
		[ASSAY_OP_STREAM_SYNC] = sweep_stream_sync,
		[ASSAY_OP_DEVICE_SYNC] = sweep_device_sync,
		[ASSAY_OP_EVENT_QUERY] = sweep_event_query,
		[ASSAY_OP_STREAM_QUERY] = sweep_stream_query,
		[ASSAY_OP_CREATE] = do_create,
		[ASSAY_OP_DESTROY] = do_destroy,
		[ASSAY_OP_STREAM_CREATE] = do_stream_create,
		[ASSAY_OP_STREAM_DESTROY] = do_stream_destroy,
		[ASSAY_OP_CAPTURE_BEGIN] = do_capture_begin,
		[ASSAY_OP_CAPTURE_END] = do_capture_end,
		[ASSAY_OP_COPY] = sweep_copy,
		[ASSAY_OP_DRAIN] = sweep_drain,
		[ASSAY_OP_HOST_FUNC] = sweep_host_func,
		[ASSAY_OP_UNSEEN] = sweep_unseen,
		[ASSAY_OP_WRITE_VALUE] = do_write_value,
		[ASSAY_OP_WAIT_VALUE] = sweep_wait_value,
		[ASSAY_OP_IPC_EXPORT] = do_ipc_export,
		[ASSAY_OP_IPC_OPEN] = do_ipc_open,
		[ASSAY_OP_UNKNOWN_SYNC] = sweep_unknown_sync,
		[ASSAY_OP_COMMAND] = do_command,
		[ASSAY_OP_IN_GRAPH] = do_in_graph,
		[ASSAY_OP_POOL_FREE] = sweep_pool_free,
		[ASSAY_OP_POOL_ALLOC] = sweep_pool_alloc,
		[ASSAY_OP_GAP] = do_gap,
		[ASSAY_OP_DARK] = do_dark,
	};
	s->at = r->enter;
	act[r->op](s, r);
}

assay_sweep *assay_sweep_new(const assay_sweep_sink *sink, assay_sweep_clocks clocks)
{
	size_t cap = 0;
	assay_sweep *s = assay_vec_grow(NULL, &cap, 1, sizeof *s);
	*s = (assay_sweep){.sink = *sink,
			   .tolerance = clocks.usual,
			   .behind = clocks.usual + clocks.behind,
			   .free_event = ASSAY_NO_ROW,
			   .free_stream = ASSAY_NO_ROW,
			   .free_pending = ASSAY_NO_ROW};
	return s;
}

size_t assay_sweep_bytes(const assay_sweep *s)
{
	size_t n = sizeof *s + s->event.cap * sizeof *s->event.p +
		   s->stream.cap * sizeof *s->stream.p + s->device.cap * sizeof *s->device.p +
		   s->pending.cap * sizeof *s->pending.p + s->shared.cap * sizeof *s->shared.p +
		   s->foreign.cap * sizeof *s->foreign.p +
		   (s->by_sync ? SWEEP_SYNC_IDS * sizeof *s->by_sync : 0);
	for (size_t i = 0; i < SWEEP_TABLES; i++)
		n += s->table[i].slots * sizeof *s->table[i].slot;
	return n;
}

uint64_t assay_sweep_rerecords(const assay_sweep *s)
{
	return s->rerecords;
}

void assay_sweep_free(assay_sweep *s)
{
	for (size_t i = 0; i < SWEEP_TABLES; i++)
		assay_vec_release(s->table[i].slot);
	assay_vec_free(&s->event);
	assay_vec_free(&s->stream);
	assay_vec_free(&s->device);
	assay_vec_free(&s->pending);
	assay_vec_free(&s->gap);
	assay_vec_free(&s->graph);
	assay_vec_free(&s->freed);
	assay_vec_free(&s->gone);
	assay_vec_free(&s->member);
	assay_vec_free(&s->shared);
	assay_vec_free(&s->foreign);
	assay_vec_release(s->by_sync);
	assay_vec_release(s);
}

static bool share_key(const assay_sweep_rec *a, const assay_sweep_rec *b)
{
	return a->key == b->key && a->scope == b->scope;
}

/* A batch of memory operations is done in its order. */
static int64_t rank_of(const assay_sweep_rec *r)
{
	return r->op == ASSAY_OP_WAIT_VALUE ? ASSAY_OP_WRITE_VALUE : r->op;
}

/* Records of one key: by what they are, then by time. */
static void sort_call(const assay_sweep_rec *recs, uint32_t *rows, size_t n, int64_t *value)
{
	for (size_t i = 0; i < n; i++)
		value[rows[i]] = recs[rows[i]].enter;
	assay_sort_rows(rows, n, value);
	for (size_t i = 0; i < n; i++)
		value[rows[i]] = rank_of(&recs[rows[i]]);
	assay_sort_rows(rows, n, value);
}

/* Stable sorts from the less important value to the more important one; few records share a key. */
void assay_sweep_sort(const assay_sweep_rec *recs, uint32_t *rows, size_t n)
{
	int64_t *value = assay_pages_grow(NULL, (n ? n : 1) * sizeof *value);
	for (size_t i = 0; i < n; i++)
		value[i] = (int64_t)recs[i].key;
	assay_sort_rows(rows, n, value);
	for (size_t i = 0; i < n; i++)
		value[i] = recs[i].scope;
	assay_sort_rows(rows, n, value);
	for (size_t i = 0, many; i < n; i += many) {
		many = 1;
		while (i + many < n && share_key(&recs[rows[i]], &recs[rows[i + many]]))
			many++;
		if (many > 1)
			sort_call(recs, rows + i, many, value);
	}
	assay_pages_free(value);
}
