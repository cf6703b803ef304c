/* All streams of a device, for calls that wait for them together. A device may have had many
 * streams of which few do anything between two such calls: those that were waited for and had
 * nothing since are settled, stand behind the others in the device's list, and are known by the
 * latest of their works alone. */
#include "resolve/sweep_state.h"

static bool in_fan(const sweep_stream *p, sweep_fan which)
{
	return which == SWEEP_ALL_STREAMS || p->blocking || p->legacy ||
	       (which == SWEEP_UNSURE_STREAMS && p->unsure);
}

/* Is that the stream to name? Its own work rather than that of another, for which it waits. */
static bool is_named(const sweep_stream *p, const sweep_work *latest)
{
	return sweep_later(p->tail, *latest) ||
	       (p->last.row == latest->row && p->last.row != ASSAY_NO_ROW);
}

sweep_work sweep_fan_work(const assay_sweep *s, uint32_t d, sweep_fan which, assay_sweep_stream *of)
{
	const sweep_device *dev = &s->device.p[d];
	bool all = which == SWEEP_ALL_STREAMS;
	sweep_work w = all ? dev->orphan : sweep_no_work;
	if (all && w.row != ASSAY_NO_ROW)
		*of = dev->orphan_in;
	for (uint32_t i = dev->first; i != ASSAY_NO_ROW; i = s->stream.p[i].next) {
		const sweep_stream *p = &s->stream.p[i];
		if (all && p->settled) {
			if (sweep_later(dev->settled, w))
				*of = dev->settled_in;
			return sweep_latest(w, dev->settled);
		}
		if (!in_fan(p, which))
			continue;
		if (is_named(p, &w))
			*of = p->id;
		w = sweep_latest(w, p->tail);
	}
	if (!all && sweep_may_end_later(&dev->orphan_blocking, &w))
		sweep_doubt(&w, SWEEP_DOUBT_DEFAULT, ASSAY_WAIT_BY_DEFAULT);
	return w;
}

/* Edges from streams that did work since the last wait for them, and from the last work of all
 * when it is none of theirs. */
void sweep_fan_edges(assay_sweep *s, uint32_t d, sweep_fan which, uint32_t kind,
		     const assay_sweep_rec *r, uint32_t wait, const sweep_work *work)
{
	sweep_device *dev = &s->device.p[d];
	bool named = false, fresh = false, all = which == SWEEP_ALL_STREAMS;
	if (all && dev->fresh_orphan) {
		sweep_put_edge(s, kind, dev->orphan.row, ASSAY_NO_ROW, r->row, wait);
		named = dev->orphan.row == work->row;
		dev->fresh_orphan = false;
	}
	for (uint32_t i = dev->first; i != ASSAY_NO_ROW; i = s->stream.p[i].next) {
		sweep_stream *p = &s->stream.p[i];
		if (all && p->settled)
			break;
		if (!in_fan(p, which) || p->changed <= p->synced)
			continue;
		fresh |= p->tail.row == work->row;
		if (p->last.key > p->synced) {
			sweep_put_edge(s, kind, p->last.row, ASSAY_NO_ROW, r->row, wait);
			named |= p->last.row == work->row;
		}
		p->synced = r->key;
	}
	if (fresh && !named && work->row != ASSAY_NO_ROW)
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
		d->orphan_blocking = sweep_no_work;
}

/* Nothing that was put on the device before runs any more. What is said to end later shows that a
 * link to it is wrong, and stays in doubt. */
void sweep_fan_drain(assay_sweep *s, uint32_t device, const assay_sweep_rec *r, bool newer)
{
	sweep_device *d = &s->device.p[device];
	if (newer)
		d->settled = sweep_no_work;
	drain_orphans(d, r, newer);
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
