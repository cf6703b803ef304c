#include "find/holes.h"

#include "analyze/idle_where.h"
#include "base/sort.h"
#include "base/test.h"
#include "find/finding.h"
#include "model/by_hand.h"

enum { LEAST = 200 * 1000 }; /* ns */

/* Work of a thread, or a point where a range begins or ends: ranges are a name for time, not work,
 * but they begin and end at places of the program. */
struct edge {
	int64_t from, to;
	uint32_t row, track;
	bool ahead; /* of a stretch that is looked at: what lies in front of it does not matter */
};

/* Time of a thread that is looked at: from the begin of a gap to the launch that ends it. */
struct stretch {
	int64_t from, to;
	struct edge ahead; /* what ends last of all between the stretch before and this one */
};

/* A thread that launches work which ends such a gap, on the way. */
struct lane {
	assay_vec(struct stretch) stretch; /* in order, apart from each other */
	size_t near;                       /* the one that was found last */
	int64_t busy_until;
	uint32_t last;
	assay_holes holes;
};

struct search {
	const assay_run *run;
	const assay_window *w;
	struct lane *lane; /* by track */
	assay_vec(struct edge) edge;
	assay_arena arena;
};

/* The part of a gap that nothing is known of; ASSAY_NO_ROW: there is none worth a look. */
static uint32_t gap_of_part(const struct search *s, size_t part)
{
	const assay_tables *t = &s->run->part.t;
	uint32_t gap = t->gap_part.gap[part];
	bool is = t->gap_part.cause[part] == ASSAY_WHY_HOST_UNTRACED &&
		  t->gap_part.dur[part] >= LEAST && assay_gap_in_window(&t->gap, s->w, gap) &&
		  t->gap.launch[gap] != ASSAY_NO_ROW;
	return is ? gap : ASSAY_NO_ROW;
}

static void look_at(struct lane *l, int64_t from, int64_t to)
{
	while (l->stretch.n && l->stretch.p[l->stretch.n - 1].to >= from) {
		const struct stretch *before = &l->stretch.p[--l->stretch.n];
		from = before->from < from ? before->from : from;
		to = before->to > to ? before->to : to;
	}
	*assay_push(&l->stretch) =
		(struct stretch){from, to, {.to = INT64_MIN, .row = ASSAY_NO_ROW}};
}

static void find_stretches(struct search *s)
{
	const assay_tables *t = &s->run->part.t;
	for (size_t i = 0; i < t->gap_part.n; i++) {
		uint32_t gap = gap_of_part(s, i);
		uint32_t launch = gap == ASSAY_NO_ROW ? ASSAY_NO_ROW : t->gap.launch[gap];
		if (launch != ASSAY_NO_ROW && t->host.ts[launch] > t->gap.ts[gap])
			look_at(&s->lane[t->host.track[launch]], t->gap.ts[gap],
				t->host.ts[launch]);
	}
}

/* The first stretch that begins at a time or later. Rows of a thread come mostly in order. */
static size_t stretch_from(struct lane *l, int64_t time)
{
	size_t k = l->near, n = l->stretch.n;
	const struct stretch *p = l->stretch.p;
	if ((k && p[k - 1].from >= time) || (k < n && p[k].from < time))
		k = assay_count_until(&p->from, sizeof *p, n, time - 1);
	return l->near = k;
}

/* Of what lies in no stretch only the end counts, and of that the last. */
static void add_edge(struct search *s, uint32_t row, int64_t from, int64_t to)
{
	uint32_t track = s->run->part.t.host.track[row];
	struct lane *l = &s->lane[track];
	size_t k = stretch_from(l, from);
	if (k && from <= l->stretch.p[k - 1].to) {
		*assay_push(&s->edge) = (struct edge){from, to, row, track, false};
		return;
	}
	struct edge *e = k < l->stretch.n ? &l->stretch.p[k].ahead : NULL;
	if (e && (to > e->to || (to == e->to && from >= e->from)))
		*e = (struct edge){from, to, row, track, true};
}

static void find_edges(struct search *s)
{
	const assay_host_table *h = &s->run->part.t.host;
	for (uint32_t i = 0; i < h->n; i++) {
		if (!s->lane[h->track[i]].stretch.n || h->ts[i] > s->w->to)
			continue;
		int64_t from = h->ts[i], to = assay_host_end(h, i);
		if (to < s->w->from)
			continue;
		if (assay_is_thread_range(h->kind[i])) {
			add_edge(s, i, from, from);
			add_edge(s, i, to, to);
		} else if (h->kind[i] == ASSAY_HOST_OP || h->kind[i] == ASSAY_HOST_PYTHON ||
			   assay_is_call(h->kind[i])) {
			add_edge(s, i, from, to);
		}
	}
	for (size_t i = 0; i < s->run->part.t.track.n; i++)
		for (size_t k = 0; k < s->lane[i].stretch.n; k++)
			if (s->lane[i].stretch.p[k].ahead.row != ASSAY_NO_ROW)
				*assay_push(&s->edge) = s->lane[i].stretch.p[k].ahead;
}

static uint32_t *edges_in_order(struct search *s)
{
	uint32_t *order = assay_alloc(&s->arena, (s->edge.n + 1) * sizeof *order);
	int64_t *from = assay_alloc(&s->arena, (s->edge.n + 1) * sizeof *from);
	for (uint32_t i = 0; i < s->edge.n; i++) {
		order[i] = i;
		from[i] = s->edge.p[i].from;
	}
	assay_sort_rows(order, s->edge.n, from);
	return order;
}

static void walk_edges(struct search *s)
{
	const uint32_t *order = edges_in_order(s);
	for (size_t i = 0; i < s->edge.n; i++) {
		const struct edge *e = &s->edge.p[order[i]];
		struct lane *l = &s->lane[e->track];
		if (!e->ahead && l->last != ASSAY_NO_ROW && e->from - l->busy_until >= LEAST)
			*assay_push(&l->holes) = (assay_hole){.from = l->busy_until,
							      .to = e->from,
							      .before = l->last,
							      .after = e->row,
							      .gap = ASSAY_NO_ROW};
		if (l->last == ASSAY_NO_ROW || e->to >= l->busy_until) {
			l->busy_until = e->to;
			l->last = e->row;
		}
	}
}

/* A gap's time up to its launch, hole by hole. */
static void spread_gap(struct search *s, uint32_t gap)
{
	const assay_tables *t = &s->run->part.t;
	uint32_t launch = t->gap.launch[gap];
	assay_holes *holes = &s->lane[t->host.track[launch]].holes;
	int64_t from = t->gap.ts[gap], to = from + t->gap.dur[gap];
	to = t->host.ts[launch] < to ? t->host.ts[launch] : to;
	if (!holes->n || to <= from)
		return;
	size_t i = assay_count_until(&holes->p->to, sizeof *holes->p, holes->n, from);
	for (; i < holes->n && holes->p[i].from < to; i++) {
		assay_hole *h = &holes->p[i];
		int64_t part = (h->to < to ? h->to : to) - (h->from > from ? h->from : from);
		h->idle += part;
		h->gap = part > h->most ? gap : h->gap;
		h->most = part > h->most ? part : h->most;
	}
}

static void keep_holes(struct search *s, assay_holes *out)
{
	for (size_t i = 0; i < s->run->part.t.track.n; i++) {
		assay_holes *holes = &s->lane[i].holes;
		for (size_t k = 0; k < holes->n; k++)
			if (holes->p[k].idle >= LEAST)
				*assay_push(out) = holes->p[k];
		assay_vec_free(holes);
		assay_vec_free(&s->lane[i].stretch);
	}
}

void assay_holes_find(const assay_run *run, const assay_window *w, assay_holes *out)
{
	const assay_tables *t = &run->part.t;
	struct search s = {.run = run, .w = w};
	s.lane = assay_alloc(&s.arena, (t->track.n + 1) * sizeof *s.lane);
	for (size_t i = 0; i < t->track.n; i++)
		s.lane[i].last = ASSAY_NO_ROW;
	find_stretches(&s);
	find_edges(&s);
	walk_edges(&s);
	for (size_t i = 0; i < t->gap_part.n; i++) {
		uint32_t gap = gap_of_part(&s, i);
		if (gap != ASSAY_NO_ROW)
			spread_gap(&s, gap);
	}
	keep_holes(&s, out);
	assay_vec_free(&s.edge);
	assay_arena_free(&s.arena);
}

static void search_holes(void *search)
{
	assay_hole_search *s = search;
	assay_holes_find(s->run, s->w, &s->found);
}

void assay_hole_search_start(assay_hole_search *s, const assay_run *run, const assay_window *w)
{
	bool worth = (double)w->cause[ASSAY_WHY_HOST_UNTRACED] >=
		     assay_worth_saying * (double)assay_window_length(w);
	unsigned threads = worth ? assay_run_threads_for(run, run->part.t.host.n) : 1;
	*s = (assay_hole_search){.run = run, .w = w};
	assay_beside_start(&s->beside, threads, search_holes, s);
}

const assay_holes *assay_hole_search_found(assay_hole_search *s)
{
	assay_beside_join(&s->beside);
	return &s->found;
}

void assay_hole_search_end(assay_hole_search *s)
{
	assay_beside_drop(&s->beside);
	assay_vec_free(&s->found);
}

TEST(a_hole_lies_between_two_rows_and_ranges_around_it_do_not_fill_it)
{
	enum { US = 1000 };
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	assay_window w = {.device = 0, .to = 20000 * US};
	assay_hand_host(run, ASSAY_HOST_ANNOTATION, "step", 0, 10000 * US);
	assay_hand_host(run, ASSAY_HOST_ANNOTATION, "update", 100 * US, 200 * US);
	uint32_t wait = assay_hand_host(run, ASSAY_HOST_RUNTIME, "wait", 310 * US, 20 * US);
	uint32_t launch = assay_hand_host(run, ASSAY_HOST_RUNTIME, "launch", 5100 * US, 10 * US);
	uint32_t clear = assay_hand_host(run, ASSAY_HOST_ANNOTATION, "clear", 5000 * US, 50 * US);
	uint32_t gap = assay_hand_gap(run, ASSAY_WHY_HOST_UNTRACED, 2000 * US, 3110 * US);
	t->gap_part.dur[gap] = 3000 * US;
	assay_holes holes = {0};
	assay_holes_find(run, &w, &holes); /* nobody is known to have launched what ends it */
	CHECK_EQ(holes.n, 0);
	t->gap.launch[gap] = launch;
	assay_holes_find(run, &w, &holes);
	CHECK_EQ(holes.n, 1);
	CHECK(holes.p[0].before == wait && holes.p[0].after == clear && holes.p[0].gap == gap);
	CHECK(holes.p[0].from == 330 * US && holes.p[0].to == 5000 * US);
	CHECK_EQ(holes.p[0].idle, 3000 * US);
	assay_vec_free(&holes);
	assay_run_free(run);
	return 0;
}

static void add_gap(assay_run *run, int64_t from, int64_t to, uint32_t launch)
{
	uint32_t gap = assay_hand_gap(run, ASSAY_WHY_HOST_UNTRACED, from, to - from);
	run->part.t.gap.launch[gap] = launch;
}

/* Rows in no order; what began before one gap ends in the next, or just before it. */
TEST(holes_begin_where_the_last_of_all_rows_before_ends)
{
	enum { US = 1000 };
	assay_run *run = assay_run_new();
	assay_window w = {.device = 0, .to = 20000 * US};
	uint32_t second = assay_hand_host(run, ASSAY_HOST_RUNTIME, "launch", 9000 * US, 10 * US);
	uint32_t third = assay_hand_host(run, ASSAY_HOST_RUNTIME, "launch", 13000 * US, 10 * US);
	uint32_t first = assay_hand_host(run, ASSAY_HOST_RUNTIME, "launch", 3000 * US, 10 * US);
	uint32_t early = assay_hand_host(run, ASSAY_HOST_OP, "early", 500 * US, 400 * US);
	assay_hand_host(run, ASSAY_HOST_OP, "within", 600 * US, 100 * US);
	uint32_t around = assay_hand_host(run, ASSAY_HOST_PYTHON, "around", 4000 * US, 2500 * US);
	assay_hand_host(run, ASSAY_HOST_OP, "short", 4500 * US, 100 * US);
	add_gap(run, 1000 * US, 3100 * US, first);
	add_gap(run, 5000 * US, 9100 * US, second);
	add_gap(run, 10000 * US, 13100 * US, third);
	assay_holes holes = {0};
	assay_holes_find(run, &w, &holes);
	CHECK_EQ(holes.n, 3);
	CHECK(holes.p[0].from == 900 * US && holes.p[0].to == 3000 * US);
	CHECK(holes.p[0].before == early && holes.p[0].after == first);
	CHECK_EQ(holes.p[0].idle, 2000 * US);
	CHECK(holes.p[1].from == 6500 * US && holes.p[1].to == 9000 * US);
	CHECK(holes.p[1].before == around && holes.p[1].after == second);
	CHECK(holes.p[2].from == 9010 * US && holes.p[2].before == second);
	CHECK_EQ(holes.p[2].idle, 3000 * US);
	assay_vec_free(&holes);
	assay_run_free(run);
	return 0;
}

TEST(holes_that_are_looked_for_beside_are_the_same)
{
	enum { ROWS = 20001, EACH = 1000 * 1000 };
	assay_run *run = assay_run_new();
	assay_window w = {.device = 0, .to = (int64_t)ROWS * EACH};
	uint32_t last = ASSAY_NO_ROW;
	for (int64_t i = 0; i < ROWS; i++)
		last = assay_hand_host(run, ASSAY_HOST_RUNTIME, "launch", i * EACH, 10);
	add_gap(run, (int64_t)(ROWS - 2) * EACH, (int64_t)(ROWS - 1) * EACH + 20, last);
	for (unsigned threads = 1; threads < 3; threads++) {
		for (int much = 0; much < 2; much++) {
			assay_hole_search s;
			run->threads = threads;
			w.cause[ASSAY_WHY_HOST_UNTRACED] = much ? w.to / 10 : w.to / 1000;
			assay_hole_search_start(&s, run, &w);
			CHECK_EQ(s.beside.runs, much && threads > 1);
			CHECK(assay_hole_search_found(&s)->n == 1 && s.found.p[0].after == last);
			assay_hole_search_end(&s);
		}
	}
	assay_run_free(run);
	return 0;
}
