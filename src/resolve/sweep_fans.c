/* All streams of a device, for calls that wait for them together. A device may have had many
 * streams of which few do anything between two such calls: those that were waited for and had
 * nothing since are settled, stand behind the others in the device's list, and are known by the
 * latest of their works alone. */
#include "resolve/sweep_state.h"

static bool in_fan(const sweep_stream *p, sweep_fan which)
{
	return p->blocking || p->legacy || (which == SWEEP_UNSURE_STREAMS && p->unsure);
}

/* Is that the stream to name? Its own work rather than that of another, for which it waits. */
static bool is_named(const sweep_stream *p, const sweep_work *latest)
{
	return sweep_later(p->tail, *latest) ||
	       (p->last.row == latest->row && p->last.row != ASSAY_NO_ROW);
}

static sweep_work work_of_all(const assay_sweep *s, const sweep_device *d, assay_sweep_stream *of)
{
	sweep_work w = d->orphan;
	if (w.row != ASSAY_NO_ROW)
		*of = d->orphan_in;
	for (uint32_t i = d->first; i != ASSAY_NO_ROW; i = s->stream.p[i].next) {
		const sweep_stream *p = &s->stream.p[i];
		if (p->settled) {
			if (sweep_later(d->settled, w))
				*of = d->settled_in;
			return sweep_latest(w, d->settled);
		}
		if (is_named(p, &w))
			*of = p->id;
		w = sweep_latest(w, p->tail);
	}
	return w;
}

/* Does the work run in a stream that was destroyed meanwhile? The first that went after its launch
 * did so while it had the most to do. */
static bool may_be_gone(const assay_sweep *s, uint32_t scope, const sweep_work *w)
{
	size_t from = 0, to = s->gone_scope == scope ? s->gone.n : 0;
	while (from < to) {
		size_t half = from + (to - from) / 2;
		if (s->gone.p[half].key > w->key)
			to = half;
		else
			from = half + 1;
	}
	return w->row != ASSAY_NO_ROW && s->gone_scope == scope && from < s->gone.n &&
	       w->end > s->gone.p[from].at - s->behind;
}

sweep_work sweep_fan_work(const assay_sweep *s, uint32_t device, sweep_fan which,
			  assay_sweep_stream *of)
{
	const sweep_device *d = &s->device.p[device];
	if (which == SWEEP_ALL_STREAMS)
		return work_of_all(s, d, of);
	sweep_work w = sweep_no_work;
	if (d->legacy != ASSAY_NO_ROW)
		w = s->stream.p[d->legacy].tail;
	if (w.row != ASSAY_NO_ROW)
		*of = w.row == d->joined_row ? d->joined_in : s->stream.p[d->legacy].id;
	uint64_t mark = which == SWEEP_BLOCKING_STREAMS ? d->joined : d->launched;
	if (d->kept[which].mark > mark) {
		mark = d->kept[which].mark;
		if (sweep_later(d->kept[which].work, w))
			*of = d->kept[which].in;
		w = sweep_latest(w, d->kept[which].work);
	}
	for (uint32_t i = d->newest; sweep_moved(s, i, mark); i = s->stream.p[i].older) {
		const sweep_stream *p = &s->stream.p[i];
		if (!in_fan(p, which))
			continue;
		if (is_named(p, &w))
			*of = p->id;
		w = sweep_latest(w, p->tail);
	}
	bool other = d->legacy == ASSAY_NO_ROW || w.row != s->stream.p[d->legacy].tail.row;
	bool perhaps = d->legacy != ASSAY_NO_ROW && s->stream.p[d->legacy].perhaps;
	sweep_work orphan = sweep_orphan(s, d);
	bool gone = sweep_may_end_later(&orphan, &w);
	if ((other && (perhaps || may_be_gone(s, d->scope, &w))) || gone)
		sweep_doubt(&w, SWEEP_DOUBT_DEFAULT, ASSAY_WAIT_BY_DEFAULT);
	if (which != SWEEP_UNSURE_STREAMS || !gone)
		return w;
	if (sweep_later(orphan, w))
		*of = d->orphan_blocking_in;
	return sweep_latest(w, orphan);
}

void sweep_fan_keep(assay_sweep *s, uint32_t device, uint64_t key)
{
	sweep_device *d = &s->device.p[device];
	for (sweep_fan which = SWEEP_BLOCKING_STREAMS; which <= SWEEP_UNSURE_STREAMS; which++) {
		assay_sweep_stream of = sweep_no_stream;
		sweep_work w = sweep_fan_work(s, device, which, &of);
		if (!w.doubt) {
			d->kept[which].work = w;
			d->kept[which].in = of;
			d->kept[which].mark = sweep_mark(d, key);
		}
	}
}

/* What edges a wait has from a stream that changed since it was waited for. */
struct edges {
	uint32_t kind, wait;
	const sweep_work *work;
	bool named, fresh;
};

static void put_edges(assay_sweep *s, sweep_stream *p, const assay_sweep_rec *r, struct edges *e)
{
	if (p->changed <= p->synced)
		return;
	e->fresh |= p->tail.row == e->work->row;
	if (p->last.key > p->synced) {
		sweep_put_edge(s, e->kind, p->last.row, ASSAY_NO_ROW, r->row, e->wait);
		e->named |= p->last.row == e->work->row;
	}
	p->synced = r->key;
}

static void put_edges_of_all(assay_sweep *s, sweep_device *d, const assay_sweep_rec *r,
			     struct edges *e)
{
	if (d->fresh_orphan) {
		sweep_put_edge(s, e->kind, d->orphan.row, ASSAY_NO_ROW, r->row, e->wait);
		e->named = d->orphan.row == e->work->row;
		d->fresh_orphan = false;
	}
	for (uint32_t i = d->first; i != ASSAY_NO_ROW && !s->stream.p[i].settled;
	     i = s->stream.p[i].next)
		put_edges(s, &s->stream.p[i], r, e);
}

static void put_edges_of_default(assay_sweep *s, sweep_device *d, sweep_fan which,
				 const assay_sweep_rec *r, struct edges *e)
{
	uint64_t mark = which == SWEEP_BLOCKING_STREAMS ? d->waited : d->waited_all;
	for (uint32_t i = d->newest; sweep_moved(s, i, mark); i = s->stream.p[i].older)
		if (in_fan(&s->stream.p[i], which))
			put_edges(s, &s->stream.p[i], r, e);
	bool gone = which == SWEEP_UNSURE_STREAMS && e->work->row == sweep_orphan(s, d).row;
	e->fresh |= gone && e->work->end > r->enter;
	d->waited = sweep_mark(d, r->key);
	if (which == SWEEP_UNSURE_STREAMS)
		d->waited_all = d->waited;
}

/* Edges from streams that did work since the last wait for them, and from the last work of all
 * when it is none of theirs. */
void sweep_fan_edges(assay_sweep *s, uint32_t d, sweep_fan which, uint32_t kind,
		     const assay_sweep_rec *r, uint32_t wait, const sweep_work *work)
{
	struct edges e = {kind, wait, work, false, false};
	if (which == SWEEP_ALL_STREAMS)
		put_edges_of_all(s, &s->device.p[d], r, &e);
	else
		put_edges_of_default(s, &s->device.p[d], which, r, &e);
	if (e.fresh && !e.named && work->row != ASSAY_NO_ROW)
		sweep_put_edge(s, kind, work->row, ASSAY_NO_ROW, r->row, wait);
}

static void settle(sweep_device *d, sweep_stream *p)
{
	if (is_named(p, &d->settled))
		d->settled_in = p->id;
	d->settled = sweep_latest(d->settled, p->tail);
	p->settled = true;
}

/* Is it over by then? Doubts whether it is the latest stay. */
static bool drain_work(sweep_work *w, int64_t by)
{
	bool over = w->row == ASSAY_NO_ROW || w->end <= by;
	if (w->doubt & SWEEP_DOUBT_LINK && over)
		w->doubt = (w->doubt & (uint8_t)~SWEEP_DOUBT_LINK) | SWEEP_DOUBT_OVER;
	return over;
}

static void drain_orphans(sweep_device *d, const assay_sweep_rec *r, bool newer)
{
	if (newer && d->orphan.end <= d->drained)
		d->orphan = sweep_no_work;
	drain_work(&d->orphan, r->exit);
	if (drain_work(&d->orphan_blocking, r->exit))
		d->orphan_over = sweep_min(d->orphan_over, r->exit);
}

/* Nothing that was put on the device before runs any more. What is said to end later shows that a
 * link to it is wrong, and stays in doubt. */
void sweep_fan_drain(assay_sweep *s, uint32_t device, const assay_sweep_rec *r, bool newer)
{
	sweep_device *d = &s->device.p[device];
	if (newer)
		d->settled = sweep_no_work;
	drain_orphans(d, r, newer);
	drain_work(&d->doubted, r->exit);
	d->unseen = sweep_min(d->unseen, r->exit);
	d->early = false;
	d->drained = sweep_max(d->drained, r->exit);
	for (uint32_t i = d->first, next; i != ASSAY_NO_ROW && !s->stream.p[i].settled; i = next) {
		next = s->stream.p[i].next;
		if (drain_work(&s->stream.p[i].tail, r->exit))
			settle(d, &s->stream.p[i]);
		else
			sweep_stream_first(s, i);
	}
}
