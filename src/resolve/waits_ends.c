#include "resolve/waits_ends.h"

#include "base/sort.h"

static uint32_t source_of(const waits *w, uint32_t gpu)
{
	uint32_t source = assay_track_group(w->t, w->t->gpu.track[gpu]);
	return source < w->sources ? source : (uint32_t)w->sources;
}

/* By end, then, keeping that order, by source. */
static void sort_work(waits_ends *e)
{
	const waits *w = e->w;
	int64_t *key = assay_pages_grow(NULL, (e->n + 1) * sizeof *key);
	for (uint32_t g = 0; g < e->n; g++) {
		e->row[g] = g;
		key[g] = assay_gpu_end(&w->t->gpu, g);
	}
	assay_sort_rows(e->row, e->n, key);
	for (size_t i = 0; i < e->n; i++)
		e->end[i] = key[e->row[i]];
	if (w->sources > 1) {
		for (uint32_t g = 0; g < e->n; g++)
			key[g] = source_of(w, g);
		assay_sort_rows(e->row, e->n, key);
		for (size_t i = 0; i < e->n; i++)
			e->end[i] = assay_gpu_end(&w->t->gpu, e->row[i]);
	}
	assay_pages_free(key);
}

static void find_firsts(waits_ends *e)
{
	size_t at = 0;
	for (uint32_t s = 0; s <= e->w->sources; s++) {
		while (at < e->n && source_of(e->w, e->row[at]) < s)
			at++;
		e->first[s] = at;
	}
	e->first[e->w->sources + 1] = e->n;
}

/* ------------------------------------------------------------------ records left over */

enum { BY_THREADS = 1, BY_STREAMS = 2 };

static uint64_t key_of_event(const assay_sweep_rec *r)
{
	return assay_corr_key(r->scope, r->event);
}

/* Who is known to wait for each event. */
static assay_map find_waiters(const waits *w)
{
	assay_map by = {0};
	for (size_t i = 0; i < w->recs.n; i++) {
		const assay_sweep_rec *r = &w->recs.p[i];
		bool streams = r->op == ASSAY_OP_WAIT || r->op == ASSAY_OP_WAIT_INSIDE;
		bool threads = r->op == ASSAY_OP_EVENT_SYNC || r->op == ASSAY_OP_EVENT_QUERY;
		if (!streams && !threads)
			continue;
		uint32_t *who = assay_map_at(&by, key_of_event(r));
		*who = (*who == ASSAY_MAP_ABSENT ? 0 : *who) | (streams ? BY_STREAMS : BY_THREADS);
	}
	return by;
}

/* A record says that somebody wants to wait. Events that threads alone ask for are theirs; of all
 * others a stream may wait, and the call be lost. */
static void find_open_records(waits_ends *e)
{
	const waits *w = e->w;
	assay_map by = find_waiters(w);
	for (size_t i = 0; i < w->recs.n; i++) {
		const assay_sweep_rec *r = &w->recs.p[i];
		uint32_t track = r->thread != ASSAY_NO_ROW ? r->thread : r->track;
		bool known = r->op == ASSAY_OP_RECORD &&
			     assay_map_get(&by, key_of_event(r)) == BY_THREADS;
		if ((r->op == ASSAY_OP_RECORD || r->op == ASSAY_OP_GAP) && !known &&
		    !(r->flags & ASSAY_REC_AGAIN) && track != ASSAY_NO_ROW)
			*assay_push(&e->open.v) =
				(assay_mark){assay_track_group(w->t, track), r->key, r->enter, 0};
	}
	assay_marks_sort(&e->open);
	assay_map_free(&by);
}

const assay_mark *waits_open_record(const waits_ends *e, uint32_t source, uint64_t key)
{
	return assay_mark_before(&e->open, source, key);
}

void waits_ends_make(waits_ends *e, const waits *w)
{
	*e = (waits_ends){.w = w, .n = w->t->gpu.n};
	e->row = assay_pages_grow(NULL, (e->n + 1) * sizeof *e->row);
	e->end = assay_pages_grow(NULL, (e->n + 1) * sizeof *e->end);
	e->first = assay_pages_grow(NULL, (w->sources + 2) * sizeof *e->first);
	sort_work(e);
	find_firsts(e);
	find_open_records(e);
}

void waits_ends_free(waits_ends *e)
{
	assay_pages_free(e->row);
	assay_pages_free(e->end);
	assay_pages_free(e->first);
	assay_vec_free(&e->open.v);
}

static size_t first_after(const waits_ends *e, uint32_t source, int64_t from)
{
	size_t first = e->first[source], n = e->first[source + 1] - first;
	return first + assay_count_until(e->end + first, sizeof *e->end, n, from);
}

/* By the clock of the host alone. */
static bool launched_after(const waits *w, uint32_t gpu, int64_t at)
{
	uint32_t source = assay_track_group(w->t, w->t->gpu.track[gpu]);
	uint32_t h = assay_index_find(&w->calls, assay_corr_key(source, w->t->gpu.corr[gpu]));
	return h != ASSAY_NO_ROW && w->t->host.ts[h] >= at;
}

bool waits_ended(const waits_ends *e, uint32_t source, waits_span s)
{
	const assay_gpu_table *g = &e->w->t->gpu;
	uint64_t own = s.but != ASSAY_NO_ROW ? g->corr[s.but] : 0;
	if (source >= e->w->sources)
		return true;
	for (size_t i = first_after(e, source, s.from);
	     i < e->first[source + 1] && e->end[i] - WAITS_CLOCKS <= s.over; i++) {
		bool same = own && g->corr[e->row[i]] == own;
		if (!same && !launched_after(e->w, e->row[i], s.entered))
			return true;
	}
	return false;
}

bool waits_device_ended(const waits_ends *e, uint32_t gpu, int64_t from, int64_t to)
{
	const assay_tables *t = e->w->t;
	uint32_t source = source_of(e->w, gpu);
	int64_t device = t->track.pid[t->gpu.track[gpu]];
	for (size_t i = first_after(e, source, from - 1);
	     i < e->first[source + 1] && e->end[i] <= to; i++)
		if (t->track.pid[t->gpu.track[e->row[i]]] == device)
			return true;
	return false;
}
