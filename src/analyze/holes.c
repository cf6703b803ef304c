#include "analyze/holes.h"

#include "analyze/idle_where.h"
#include "base/sort.h"
#include "base/test.h"
#include "model/by_hand.h"

enum { LEAST = 200 * 1000 }; /* ns */

/* Work of a thread, or a point where a range begins or ends: ranges are a name for time, not work,
 * but they begin and end at places of the program. */
struct edge {
	int64_t to;
	uint32_t row, track;
};

/* A thread on the way. */
struct lane {
	int64_t busy_until;
	uint32_t last;
	assay_holes holes;
};

struct search {
	const assay_run *run;
	const assay_window *w;
	struct lane *lane; /* by track */
	bool *wanted;      /* by track: launches work that ends such a gap */
	assay_vec(int64_t) from;
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

static void want_tracks(struct search *s)
{
	const assay_tables *t = &s->run->part.t;
	for (size_t i = 0; i < t->gap_part.n; i++) {
		uint32_t gap = gap_of_part(s, i);
		if (gap != ASSAY_NO_ROW)
			s->wanted[t->host.track[t->gap.launch[gap]]] = true;
	}
}

static void add_edge(struct search *s, uint32_t row, int64_t from, int64_t to)
{
	*assay_push(&s->from) = from;
	*assay_push(&s->edge) = (struct edge){to, row, s->run->part.t.host.track[row]};
}

static void find_edges(struct search *s)
{
	const assay_host_table *h = &s->run->part.t.host;
	for (uint32_t i = 0; i < h->n; i++) {
		int64_t from = h->ts[i], to = assay_host_end(h, i);
		if (!s->wanted[h->track[i]] || from > s->w->to || to < s->w->from)
			continue;
		if (h->kind[i] == ASSAY_HOST_ANNOTATION || h->kind[i] == ASSAY_HOST_MARKER) {
			add_edge(s, i, from, from);
			add_edge(s, i, to, to);
		} else if (h->kind[i] == ASSAY_HOST_OP || h->kind[i] == ASSAY_HOST_PYTHON ||
			   assay_is_call(h->kind[i])) {
			add_edge(s, i, from, to);
		}
	}
}

static void walk_edges(struct search *s)
{
	uint32_t *order = assay_alloc(&s->arena, (s->edge.n + 1) * sizeof *order);
	for (uint32_t i = 0; i < s->edge.n; i++)
		order[i] = i;
	assay_sort_rows(order, s->edge.n, s->from.p);
	for (size_t i = 0; i < s->edge.n; i++) {
		const struct edge *e = &s->edge.p[order[i]];
		int64_t from = s->from.p[order[i]];
		struct lane *l = &s->lane[e->track];
		if (l->last != ASSAY_NO_ROW && from - l->busy_until >= LEAST)
			*assay_push(&l->holes) = (assay_hole){.from = l->busy_until,
							      .to = from,
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
	if (!holes->n)
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
	}
}

void assay_holes_find(const assay_run *run, const assay_window *w, assay_holes *out)
{
	const assay_tables *t = &run->part.t;
	struct search s = {.run = run, .w = w};
	s.lane = assay_alloc(&s.arena, (t->track.n + 1) * sizeof *s.lane);
	s.wanted = assay_alloc(&s.arena, t->track.n + 1);
	for (size_t i = 0; i < t->track.n; i++)
		s.lane[i].last = ASSAY_NO_ROW;
	want_tracks(&s);
	find_edges(&s);
	walk_edges(&s);
	for (size_t i = 0; i < t->gap_part.n; i++) {
		uint32_t gap = gap_of_part(&s, i);
		if (gap != ASSAY_NO_ROW)
			spread_gap(&s, gap);
	}
	keep_holes(&s, out);
	assay_vec_free(&s.from);
	assay_vec_free(&s.edge);
	assay_arena_free(&s.arena);
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
	uint32_t gap = assay_add(t, ASSAY_T_gap), part = assay_add(t, ASSAY_T_gap_part);
	t->gap.device[gap] = 0;
	t->gap.ts[gap] = 2000 * US;
	t->gap.dur[gap] = 3110 * US;
	t->gap_part.gap[part] = gap;
	t->gap_part.cause[part] = ASSAY_WHY_HOST_UNTRACED;
	t->gap_part.dur[part] = 3000 * US;
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
