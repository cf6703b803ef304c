#include "resolve/waits_barriers.h"

#include "resolve/waits_ends.h"
#include "resolve/waits_rec.h"

enum { ANY_QUEUE = -1 };

static uint64_t place_of(uint32_t source, uint64_t event, int64_t queue)
{
	uint64_t h = event * 0xD6E8FEB86659FD93u + source;
	return (h ^ h >> 32) * 0x9E3779B97F4A7C15u + (uint64_t)queue;
}

static int64_t end_of(const waits *w, uint32_t barrier)
{
	const assay_mark_table *m = &w->t->mark;
	uint32_t i = w->t->barrier.mark[barrier];
	return m->ts[i] + (m->dur[i] > 0 ? m->dur[i] : 0);
}

uint32_t waits_barrier_stream(const waits *w, uint32_t barrier)
{
	return w->t->mark.track[w->t->barrier.mark[barrier]];
}

void waits_find_barriers(waits *w)
{
	const assay_barrier_table *b = &w->t->barrier;
	for (uint32_t i = 0; i < b->n; i++) {
		uint32_t source = assay_track_group(w->t, waits_barrier_stream(w, i));
		if (!b->corr[i])
			continue;
		uint32_t h = assay_index_find(&w->calls, assay_corr_key(source, b->corr[i]));
		uint64_t key =
			h == ASSAY_NO_ROW
				? waits_key_at(w, source, w->t->mark.ts[b->mark[i]], b->corr[i])
				: waits_host_key(w, h);
		*assay_map_at(&w->barriers, assay_corr_key(source, key)) = i;
		if (b->waits[i])
			continue;
		*assay_push(&w->barred.v) =
			(assay_mark){place_of(source, b->event[i], ANY_QUEUE), key, i, 0};
		*assay_push(&w->barred.v) =
			(assay_mark){place_of(source, b->event[i], b->queue[i]), key, i, 0};
	}
	assay_marks_sort(&w->barred);
}

uint32_t waits_barrier_of(const waits *w, uint32_t source, uint64_t key)
{
	return assay_map_get(&w->barriers, assay_corr_key(source, key));
}

int64_t waits_barrier_over(const waits *w, uint32_t source, uint64_t key)
{
	uint32_t b = waits_barrier_of(w, source, key);
	return b == ASSAY_NO_ROW ? INT64_MAX : end_of(w, b);
}

int64_t waits_barrier_after(const waits *w, uint32_t source, uint64_t key, int64_t end)
{
	uint32_t b = waits_barrier_of(w, source, key);
	if (b == ASSAY_NO_ROW)
		return 0;
	int64_t start = w->t->mark.ts[w->t->barrier.mark[b]];
	return end_of(w, b) - (end > start ? end : start);
}

/* A thread that was held up by the event went on when its barrier was over. */
static bool held_up(const waits *w, uint32_t barrier, const assay_sweep_rec *r)
{
	int64_t end = end_of(w, barrier);
	uint32_t track = waits_barrier_stream(w, barrier);
	int64_t ahead = waits_ahead(w, track, r->exit), behind = waits_behind(w, track, r->exit);
	return r->op == ASSAY_OP_EVENT_SYNC &&
	       end - ahead + WAITS_CLOCKS > r->enter + ASSAY_SWEEP_BARE &&
	       end + behind <= r->exit + WAITS_CLOCKS;
}

/* HIP puts no barrier for an event that is over: a wait that has one met a later record. */
static bool was_over(const waits *w, uint32_t barrier, const assay_sweep_rec *r)
{
	return end_of(w, barrier) < r->enter - WAITS_CLOCKS;
}

/* Queues are numbered by device in some files: does the record before lie in another stream under
 * the same number? */
static bool is_shared(const waits *w, uint64_t place, const assay_mark *m)
{
	const assay_mark *before = assay_mark_before(&w->barred, place, m->key);
	return before && w->t->barrier.event[before->value] == w->t->barrier.event[m->value] &&
	       waits_barrier_stream(w, (uint32_t)before->value) !=
		       waits_barrier_stream(w, (uint32_t)m->value);
}

/* The barrier of the wait itself, if it names the event. */
static uint32_t own_barrier(const waits *w, uint32_t source, const assay_sweep_rec *r)
{
	const assay_barrier_table *b = &w->t->barrier;
	uint32_t own =
		r->op == ASSAY_OP_EVENT_SYNC ? ASSAY_NO_ROW : waits_barrier_of(w, source, r->key);
	bool told = own != ASSAY_NO_ROW && b->waits[own] && b->event[own] == r->event;
	return told ? own : ASSAY_NO_ROW;
}

static const assay_mark *record_before(const waits *w, uint64_t place, const assay_sweep_rec *r)
{
	const assay_mark *m = assay_mark_before(&w->barred, place, r->key);
	return m && w->t->barrier.event[m->value] == r->event ? m : NULL;
}

/* The stream in which barriers say the event was recorded that this wait for an event met, a row of
 * track; ASSAY_NO_ROW when they do not say. */
static uint32_t witness_of(const waits *w, uint32_t source, const assay_sweep_rec *r)
{
	uint32_t own = own_barrier(w, source, r);
	bool told = own != ASSAY_NO_ROW;
	int64_t queue = told ? w->t->barrier.source_queue[own] : ANY_QUEUE;
	uint64_t place = place_of(source, r->event, queue);
	const assay_mark *m = record_before(w, place, r);
	if (!m || (told && is_shared(w, place, m)))
		return ASSAY_NO_ROW;
	uint32_t record = (uint32_t)m->value;
	bool met = told ? !was_over(w, record, r) : held_up(w, record, r);
	return met ? waits_barrier_stream(w, record) : ASSAY_NO_ROW;
}

/* Does the wait's barrier name a record that is not known? */
static bool tells_of_another(const waits *w, uint32_t source, const assay_sweep_rec *r)
{
	uint32_t own = own_barrier(w, source, r);
	if (own == ASSAY_NO_ROW)
		return false;
	uint64_t place = place_of(source, r->event, w->t->barrier.source_queue[own]);
	const assay_mark *m = record_before(w, place, r);
	return !m || (!is_shared(w, place, m) && was_over(w, (uint32_t)m->value, r));
}

void waits_add_barrier(waits *w, uint32_t i, uint32_t h)
{
	const assay_barrier_table *b = &w->t->barrier;
	uint32_t track = waits_barrier_stream(w, i);
	assay_sweep_rec *r = waits_rec_add(w, b->waits[i] ? ASSAY_OP_WAIT : ASSAY_OP_RECORD,
					   assay_track_group(w->t, track), b->corr[i],
					   w->t->mark.ts[b->mark[i]]);
	waits_rec_attach(w, r, h);
	waits_rec_in(w, r, track);
	r->event = b->event[i];
	r->flags |= h == ASSAY_NO_ROW && !b->waits[i] ? ASSAY_REC_OUTSIDE : 0;
}

void waits_add_lone_barriers(waits *w)
{
	const assay_barrier_table *b = &w->t->barrier;
	for (uint32_t i = 0; i < b->n; i++) {
		uint64_t call = assay_corr_key(assay_track_group(w->t, waits_barrier_stream(w, i)),
					       b->corr[i]);
		if (b->corr[i] && assay_index_find(&w->calls, call) == ASSAY_MAP_ABSENT &&
		    assay_map_get(&w->told, call) == ASSAY_MAP_ABSENT)
			waits_add_barrier(w, i, ASSAY_NO_ROW);
	}
}

void waits_hear_barriers(waits *w)
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
			waits_rec_in(w, r, waits_barrier_stream(w, b));
			r->flags &= ~(uint32_t)ASSAY_REC_GUESSED;
			r->flags |= asks ? 0 : ASSAY_REC_BARRIER;
		}
		if (asks && r->hint == ASSAY_NO_ROW) {
			r->hint = witness_of(w, source, r);
			bool heard = r->hint != ASSAY_NO_ROW || tells_of_another(w, source, r);
			r->flags |= heard ? ASSAY_REC_BARRIER : 0;
		}
	}
}
