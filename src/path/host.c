/* Host threads as chains of segments, and hand-offs between them. */
#include <stdlib.h>

#include "analyze/sights.h"
#include "base/compare.h"
#include "base/sort.h"
#include "model/hand_off.h"
#include "path/graph.h"

/* Of the threads of a process, so many of the busiest are looked at for hand-offs. */
enum { HAND_OFF_THREADS = 16 };

/* Columns that grow together. */
struct points {
	size_t n, cap;
	int64_t *at;
	uint32_t *row, *stack;
	uint8_t *cause;
	bool *sampled;
};

static void *grown(void *column, size_t cap, size_t want, size_t width)
{
	return want > cap ? assay_vec_grow(column, &cap, want, width) : column;
}

static void make_room(struct points *p, size_t want)
{
	p->at = grown(p->at, p->cap, want, sizeof *p->at);
	p->row = grown(p->row, p->cap, want, sizeof *p->row);
	p->stack = grown(p->stack, p->cap, want, sizeof *p->stack);
	p->cause = grown(p->cause, p->cap, want, sizeof *p->cause);
	p->sampled = grown(p->sampled, p->cap, want, sizeof *p->sampled);
	p->cap = want;
}

static inline void add_point(struct points *p, int64_t at, uint32_t row, uint32_t stack,
			     assay_why cause, bool sampled)
{
	size_t i = p->n;
	if (i == p->cap)
		make_room(p, 2 * p->cap);
	p->at[i] = at;
	p->row[i] = row;
	p->stack[i] = stack;
	p->cause[i] = (uint8_t)cause;
	p->sampled[i] = sampled;
	p->n = i + 1;
}

/* What samples saw between two instants; false: there are none. */
static bool add_sampled(const assay_sights *sights, uint32_t track, uint32_t row, int64_t from,
			int64_t to, struct points *p)
{
	if (!sights)
		return false;
	for (int64_t now = from; now < to;) {
		assay_sight seen = assay_sights_at(sights, track, now, to);
		add_point(p, now, row, seen.stack, seen.cause, true);
		now = seen.until;
	}
	return true;
}

static void add_thread(assay_path_graph *g, const assay_sights *sights, uint32_t track,
		       const assay_instants *bounds, struct points *p)
{
	assay_lane *lane = g->causes.of_track[track];
	uint32_t first = (uint32_t)p->n;
	for (size_t i = 0; i + 1 < bounds->n; i++) {
		uint32_t row;
		int64_t now = bounds->p[i], until;
		assay_why cause = assay_lane_at(&g->causes, lane, now, &row, &until);
		if (cause == ASSAY_WHY_HOST_UNTRACED &&
		    add_sampled(sights, track, row, now, bounds->p[i + 1], p))
			continue;
		add_point(p, now, row, assay_call_stack(&g->run->part.t, row), cause, false);
	}
	add_point(p, bounds->p[bounds->n - 1], ASSAY_NO_ROW, ASSAY_NO_ROW, ASSAY_WHY_COUNT, false);
	*assay_push(&g->thread) = (assay_path_thread){track, first, (uint32_t)p->n - first};
	g->thread_of[track] = (uint32_t)g->thread.n;
}

/* The graph has them from here on; measured.at gets room for the work, which is counted already. */
static void keep_points(assay_path_graph *g, struct points *p)
{
	g->points = (uint32_t)p->n;
	g->nodes = g->points + g->work;
	if (g->nodes + 1 > p->cap)
		make_room(p, g->nodes + 1);
	g->measured.at = p->at;
	g->row = p->row;
	g->cause = p->cause;
	g->stack = p->stack;
	g->sampled = p->sampled;
	g->elastic = assay_alloc(&g->arena, g->points + 1);
	g->base.len = assay_alloc(&g->arena, (g->points + 1) * sizeof(int64_t));
	for (uint32_t i = 0; i + 1 < g->points; i++)
		if (g->cause[i] != ASSAY_WHY_COUNT)
			g->base.len[i] = g->measured.at[i + 1] - g->measured.at[i];
}

/* Every row has two ends; only samples make more points. */
static size_t most_points(const assay_path_graph *g)
{
	size_t n = 0;
	for (uint32_t i = 0; i < g->run->part.t.track.n; i++)
		n += g->causes.of_track[i] ? 2 * g->causes.of_track[i]->n : 0;
	return n;
}

void assay_path_add_hosts(assay_path_graph *g)
{
	const assay_tables *t = &g->run->part.t;
	struct points p = {.n = 0};
	assay_instants bounds = {0};
	assay_host_causes_init(&g->causes, g->run);
	g->causes.since = g->since;
	g->causes.until = g->until;
	for (uint32_t i = 0; i < t->track.n; i++)
		if (t->track.kind[i] == ASSAY_TRACK_THREAD && assay_track_group(t, i) == g->group)
			assay_host_causes_want(&g->causes, i);
	assay_host_causes_fill(&g->causes);
	make_room(&p, most_points(g) + g->work + 1);
	assay_sights *sights = assay_sights_new(g->run);
	g->thread_of = assay_alloc(&g->arena, (t->track.n + 1) * sizeof *g->thread_of);
	for (uint32_t i = 0; i < t->track.n; i++) {
		const assay_lane *lane = g->causes.of_track[i];
		if (!lane || !lane->n)
			continue;
		assay_seen_signs(&t->host, lane->row, lane->n, g->until, &bounds);
		if (bounds.n)
			add_thread(g, sights, i, &bounds, &p);
	}
	keep_points(g, &p);
	assay_sights_free(sights);
	assay_vec_free(&bounds);
}

uint32_t assay_path_point_at(const assay_path_graph *g, uint32_t track, int64_t ts)
{
	if (track >= g->run->part.t.track.n || !g->thread_of[track])
		return ASSAY_DEP_NONE;
	const assay_path_thread *t = &g->thread.p[g->thread_of[track] - 1];
	const int64_t *at = g->measured.at + t->first;
	size_t begun = assay_count_until(at, sizeof *at, t->n, ts);
	return begun ? t->first + (uint32_t)begun - 1 : ASSAY_DEP_NONE;
}

void assay_path_make_elastic(assay_path_graph *g, uint32_t from, uint32_t to, int64_t own)
{
	for (uint32_t i = from; i < to; i++) {
		g->base.len[i] = g->base.len[i] < own ? g->base.len[i] : own;
		own = 0;
	}
	g->elastic[to] = true;
}

/* ------------------------------------------------------------------ hand-offs */

struct worker {
	assay_seen seen;
	assay_vec(uint32_t) first; /* by burst: points */
	assay_vec(uint32_t) last;
	uint32_t point; /* first of the thread */
};

static bool is_active(const assay_path_graph *g, uint32_t point)
{
	uint8_t cause = g->cause[point];
	return !g->sampled[point] && cause >= ASSAY_WHY_HOST_SYNC && cause < ASSAY_WHY_HOST_PYTHON;
}

static void find_bursts(const assay_path_graph *g, const assay_path_thread *t, struct worker *w)
{
	const int64_t *at = g->measured.at;
	w->point = t->first;
	w->seen.sign = at + t->first;
	w->seen.signs = t->n;
	for (uint32_t i = t->first; i + 1 < t->first + t->n; i++) {
		if (!is_active(g, i))
			continue;
		assay_seen_work(&w->seen, at[i], at[i + 1]);
		if (w->first.n < w->seen.burst.n) {
			*assay_push(&w->first) = i;
			*assay_push(&w->last) = i;
		}
		w->last.p[w->last.n - 1] = i + 1;
	}
}

static void add_hand(assay_path_graph *g, assay_path_links *links, uint32_t from, uint32_t to,
		     uint32_t quiet_from)
{
	*assay_push(links) = (assay_path_link){
		.from = from, .to = to, .row = ASSAY_NO_ROW, .kind = ASSAY_DEP_HAND};
	assay_path_make_elastic(g, quiet_from, to, 0);
	g->inferred++;
}

static void link_hand_off(assay_path_graph *g, assay_path_links *links, const struct worker *a,
			  const struct worker *b, const assay_hand_off *h)
{
	uint32_t first = b->first.p[h->low], last = b->last.p[h->high - 1];
	uint32_t leave = a->point + (h->leave == ASSAY_NO_SIGN ? 0 : (uint32_t)h->leave);
	if (h->leave != ASSAY_NO_SIGN && !g->elastic[first])
		add_hand(g, links, leave, first, h->low ? b->last.p[h->low - 1] : b->point);
	if (h->back != ASSAY_NO_SIGN && !g->elastic[a->point + h->back])
		add_hand(g, links, last, a->point + (uint32_t)h->back, leave);
}

static void link_pair(assay_path_graph *g, assay_path_links *links, const struct worker *a,
		      const struct worker *b)
{
	assay_hand_offs found = {0};
	assay_hand_offs_find(&a->seen, &b->seen, &found);
	for (size_t i = 0; i < found.n; i++)
		link_hand_off(g, links, a, b, &found.p[i]);
	assay_vec_free(&found);
}

/* The one that is there first calls the other. */
static bool starts_first(const struct worker *a, const struct worker *b)
{
	return a->seen.burst.p[0].from <= b->seen.burst.p[0].from;
}

static int by_activity(const void *x, const void *y)
{
	const struct worker *a = x, *b = y;
	return ASSAY_CMP(b->seen.active, a->seen.active);
}

void assay_path_add_hand_offs(assay_path_graph *g, assay_path_links *links)
{
	assay_vec(struct worker) w = {0};
	for (size_t i = 0; i < g->thread.n; i++) {
		*assay_push(&w) = (struct worker){.point = 0};
		find_bursts(g, &g->thread.p[i], &w.p[i]);
	}
	if (w.n)
		qsort(w.p, w.n, sizeof *w.p, by_activity);
	for (size_t i = 0; i < w.n && i < HAND_OFF_THREADS; i++)
		for (size_t k = i + 1; k < w.n && k < HAND_OFF_THREADS; k++) {
			if (!assay_take_turns(&w.p[i].seen, &w.p[k].seen))
				continue;
			bool first = starts_first(&w.p[i], &w.p[k]);
			link_pair(g, links, &w.p[first ? i : k], &w.p[first ? k : i]);
		}
	for (size_t i = 0; i < w.n; i++) {
		assay_vec_free(&w.p[i].seen.burst);
		assay_vec_free(&w.p[i].first);
		assay_vec_free(&w.p[i].last);
	}
	assay_vec_free(&w);
}
