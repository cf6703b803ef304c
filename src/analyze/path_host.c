/* Host threads as chains of segments, and hand-offs between them. */
#include <stdlib.h>

#include "analyze/path_graph.h"
#include "base/sort.h"

/* Of the threads of a process, so many of the busiest are looked at for hand-offs. */
enum { HAND_OFF_THREADS = 16 };
/* A burst of another thread shorter than this is no hand-off but chance. */
static const int64_t shortest_burst = 20 * 1000;

typedef assay_vec(int64_t) times;

/* All starts and ends of a thread's rows up to `until`, sorted, each once. */
static void find_bounds(const assay_path_graph *g, const assay_lane *lane, times *out, times *all,
			times *index)
{
	const assay_host_table *h = &g->run->part.t.host;
	all->n = index->n = out->n = 0;
	for (size_t i = 0; i < lane->n; i++) {
		int64_t ts = h->ts[lane->row[i]], end = assay_host_end(h, lane->row[i]);
		if (ts > g->until)
			break;
		*assay_push(all) = ts;
		if (end <= g->until && end > ts)
			*assay_push(all) = end;
	}
	assay_vec_reserve(index, all->n);
	uint32_t *order = (uint32_t *)(void *)index->p;
	for (uint32_t i = 0; i < all->n; i++)
		order[i] = i;
	assay_sort_rows(order, all->n, all->p);
	for (size_t i = 0; i < all->n; i++)
		if (!out->n || out->p[out->n - 1] != all->p[order[i]])
			*assay_push(out) = all->p[order[i]];
}

struct points {
	times at;
	assay_vec(uint32_t) row;
	assay_vec(uint8_t) cause;
};

static void add_thread(assay_path_graph *g, uint32_t track, const times *bounds, struct points *p)
{
	assay_lane *lane = g->causes.of_track[track];
	assay_path_thread *t = assay_push(&g->thread);
	*t = (assay_path_thread){track, (uint32_t)p->at.n, (uint32_t)bounds->n};
	g->thread_of[track] = (uint32_t)g->thread.n;
	for (size_t i = 0; i < bounds->n; i++) {
		uint32_t row = ASSAY_NO_ROW;
		int64_t unused;
		*assay_push(&p->at) = bounds->p[i];
		*assay_push(&p->cause) =
			i + 1 == bounds->n ? ASSAY_WHY_COUNT
					   : (uint8_t)assay_lane_at(&g->causes, lane, bounds->p[i],
								    &row, &unused);
		*assay_push(&p->row) = row;
	}
}

static void *keep(assay_path_graph *g, const void *from, size_t n, size_t width, size_t room)
{
	void *to = assay_alloc(&g->arena, (n + room + 1) * width);
	if (n)
		memcpy(to, from, n * width);
	return to;
}

/* measured.at has room for the work, which is counted already. */
static void keep_points(assay_path_graph *g, struct points *p)
{
	g->points = (uint32_t)p->at.n;
	g->nodes = g->points + g->work;
	g->measured.at = keep(g, p->at.p, p->at.n, sizeof(int64_t), g->work);
	g->row = keep(g, p->row.p, p->row.n, sizeof(uint32_t), 0);
	g->cause = keep(g, p->cause.p, p->cause.n, 1, 0);
	g->elastic = assay_alloc(&g->arena, g->points + 1);
	g->base.len = assay_alloc(&g->arena, (g->points + 1) * sizeof(int64_t));
	for (uint32_t i = 0; i + 1 < g->points; i++)
		if (g->cause[i] != ASSAY_WHY_COUNT)
			g->base.len[i] = g->measured.at[i + 1] - g->measured.at[i];
	assay_vec_free(&p->at);
	assay_vec_free(&p->row);
	assay_vec_free(&p->cause);
}

void assay_path_add_hosts(assay_path_graph *g)
{
	const assay_tables *t = &g->run->part.t;
	struct points p = {.at = {0}};
	times bounds = {0}, all = {0}, index = {0};
	assay_host_causes_init(&g->causes, g->run);
	for (uint32_t i = 0; i < t->track.n; i++)
		if (t->track.kind[i] == ASSAY_TRACK_THREAD && assay_track_group(t, i) == g->group)
			assay_host_causes_want(&g->causes, i);
	assay_host_causes_fill(&g->causes);
	g->thread_of = assay_alloc(&g->arena, (t->track.n + 1) * sizeof *g->thread_of);
	for (uint32_t i = 0; i < t->track.n; i++) {
		if (!g->causes.of_track[i] || !g->causes.of_track[i]->n)
			continue;
		find_bounds(g, g->causes.of_track[i], &bounds, &all, &index);
		if (bounds.n)
			add_thread(g, i, &bounds, &p);
	}
	keep_points(g, &p);
	assay_vec_free(&bounds);
	assay_vec_free(&all);
	assay_vec_free(&index);
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

/* A stretch in which a thread is seen to work: calls, operators, data loading. */
struct burst {
	uint32_t first, last; /* points */
};

struct worker {
	assay_vec(struct burst) burst;
	int64_t active;
	uint32_t first, track;
};

static bool is_active(uint8_t cause)
{
	return cause >= ASSAY_WHY_HOST_SYNC && cause <= ASSAY_WHY_HOST_OP;
}

static void find_bursts(const assay_path_graph *g, const assay_path_thread *t, struct worker *w)
{
	w->first = t->first;
	w->track = t->track;
	for (uint32_t i = t->first; i + 1 < t->first + t->n; i++) {
		if (!is_active(g->cause[i]))
			continue;
		w->active += g->measured.at[i + 1] - g->measured.at[i];
		if (w->burst.n && w->burst.p[w->burst.n - 1].last == i)
			w->burst.p[w->burst.n - 1].last = i + 1;
		else
			*assay_push(&w->burst) = (struct burst){i, i + 1};
	}
}

static int64_t overlap_of(const assay_path_graph *g, const struct worker *a, const struct worker *b)
{
	const int64_t *at = g->measured.at;
	int64_t sum = 0;
	for (size_t i = 0, k = 0; i < a->burst.n && k < b->burst.n;) {
		const struct burst *x = &a->burst.p[i], *y = &b->burst.p[k];
		int64_t from = at[x->first] > at[y->first] ? at[x->first] : at[y->first];
		int64_t to = at[x->last] < at[y->last] ? at[x->last] : at[y->last];
		sum += to > from ? to - from : 0;
		if (at[x->last] < at[y->last])
			i++;
		else
			k++;
	}
	return sum;
}

static void add_hand(assay_path_graph *g, assay_path_links *links, uint32_t from, uint32_t to,
		     uint32_t quiet_from)
{
	*assay_push(links) = (assay_path_link){
		.from = from, .to = to, .row = ASSAY_NO_ROW, .kind = ASSAY_DEP_HAND};
	assay_path_make_elastic(g, quiet_from, to, 0);
	g->inferred++;
}

/* The bursts [low, high) of b lie in the quiet stretch of a. What a shows
 * last before them, and first after them, may be the edge of a range, inside the stretch. */
static void link_bursts(assay_path_graph *g, assay_path_links *links, const struct worker *a,
			const struct worker *b, size_t low, size_t high)
{
	const struct burst *first = &b->burst.p[low], *last = &b->burst.p[high - 1];
	int64_t start = g->measured.at[first->first], end = g->measured.at[last->last];
	uint32_t leave = assay_path_point_at(g, a->track, start),
		 back = assay_path_point_at(g, a->track, end);
	if (end - start < shortest_burst)
		return;
	if (back != ASSAY_DEP_NONE && g->measured.at[back] < end)
		back = g->cause[back] == ASSAY_WHY_COUNT ? ASSAY_DEP_NONE : back + 1;
	if (leave != ASSAY_DEP_NONE && !g->elastic[first->first])
		add_hand(g, links, leave, first->first, low ? b->burst.p[low - 1].last : b->first);
	if (back != ASSAY_DEP_NONE && !g->elastic[back])
		add_hand(g, links, last->last, back, leave == ASSAY_DEP_NONE ? a->first : leave);
}

/* Threads that take turns hand work to each other; threads that run side by side do not. */
static bool take_turns(const assay_path_graph *g, const struct worker *a, const struct worker *b)
{
	int64_t least = a->active < b->active ? a->active : b->active;
	return least && overlap_of(g, a, b) <= least / 50;
}

/* The one that is there first calls the other. */
static bool starts_first(const assay_path_graph *g, const struct worker *a, const struct worker *b)
{
	return g->measured.at[a->burst.p[0].first] <= g->measured.at[b->burst.p[0].first];
}

/* The edge of a range between two bursts: the thread was back for a moment. */
static bool shows_between(const assay_path_graph *g, const struct worker *a,
			  const struct burst *one, const struct burst *two)
{
	uint32_t p = assay_path_point_at(g, a->track, g->measured.at[two->first]);
	return p != ASSAY_DEP_NONE && g->measured.at[p] >= g->measured.at[one->last];
}

/* What b does in the quiet stretches of a. */
static void link_pair(assay_path_graph *g, assay_path_links *links, const struct worker *a,
		      const struct worker *b)
{
	const int64_t *at = g->measured.at;
	for (size_t i = 0, k = 0; i <= a->burst.n && k < b->burst.n; i++) {
		const struct burst *before = i ? &a->burst.p[i - 1] : NULL;
		const struct burst *after = i < a->burst.n ? &a->burst.p[i] : NULL;
		while (k < b->burst.n && before && at[b->burst.p[k].first] < at[before->last])
			k++;
		size_t low = k;
		while (k < b->burst.n && (!after || at[b->burst.p[k].last] <= at[after->first]))
			k++;
		for (size_t n = low + 1; n <= k; n++)
			if (n == k || shows_between(g, a, &b->burst.p[n - 1], &b->burst.p[n])) {
				link_bursts(g, links, a, b, low, n);
				low = n;
			}
	}
}

static int by_activity(const void *x, const void *y)
{
	const struct worker *a = x, *b = y;
	return a->active > b->active ? -1 : a->active < b->active;
}

void assay_path_add_hand_offs(assay_path_graph *g, assay_path_links *links)
{
	assay_vec(struct worker) w = {0};
	for (size_t i = 0; i < g->thread.n; i++) {
		*assay_push(&w) = (struct worker){.active = 0};
		find_bursts(g, &g->thread.p[i], &w.p[i]);
	}
	if (w.n)
		qsort(w.p, w.n, sizeof *w.p, by_activity);
	for (size_t i = 0; i < w.n && i < HAND_OFF_THREADS; i++)
		for (size_t k = i + 1; k < w.n && k < HAND_OFF_THREADS; k++) {
			if (!take_turns(g, &w.p[i], &w.p[k]))
				continue;
			bool first = starts_first(g, &w.p[i], &w.p[k]);
			link_pair(g, links, &w.p[first ? i : k], &w.p[first ? k : i]);
		}
	for (size_t i = 0; i < w.n; i++)
		assay_vec_free(&w.p[i].burst);
	assay_vec_free(&w);
}
