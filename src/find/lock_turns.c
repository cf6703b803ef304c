#include "find/lock_turns.h"

#include "analyze/idle_where.h"
#include "base/fmt.h"
#include "base/sort.h"
#include "base/test.h"
#include "model/by_hand.h"

enum {
	TURN = 5 * 1000 * 1000, /* ns */
	TURNS = 6,
	LATE = TURN / 14, /* ns, each */
	STRETCHES = 10,
	PLACES = 3,
	BUCKET = TURN / 2,
	BUCKETS = 1 << 20, /* 43 minutes; those of a longer window are wider */
	CELL = BUCKET / 2,
};

/* Where a row of host begins or ends. */
struct point {
	int64_t at;
	uint32_t row;
	bool ends;
};

/* Of the points of a thread in a CELL those that may lie beside a stretch of a BUCKET and more. */
struct cell {
	struct point first, last;
};

/* The cell of a thread that came last. */
struct near {
	uint64_t number;
	uint32_t cell; /* 1 + its index; 0: none came */
};

struct stalls {
	const assay_run *run;
	const assay_find_ctx *c;
	const bool *launches; /* by track */
	struct near *near;    /* by track */
	assay_map number;     /* track and number of a cell -> cell */
	assay_vec(struct cell) cell;
	assay_map place;
	uint64_t long_ones, turns, places;
	int64_t time; /* ns in turns */
	/* of each bucket of the window: those before it that stretches of a turn may be in */
	uint32_t *open, buckets;
	int64_t width; /* ns, of a bucket */
	int64_t asked; /* where the one begins that was asked for last, and is that open */
	bool is_open;
};

static bool is_of_host(const assay_gap_part_table *p, size_t part)
{
	return p->cause[part] == ASSAY_WHY_HOST_UNTRACED || p->cause[part] == ASSAY_WHY_HOST_OP;
}

static uint32_t bucket_of(const struct stalls *s, int64_t at)
{
	int64_t i = (at - s->c->w->from) / s->width;
	return i < 0 ? 0 : i >= s->buckets ? s->buckets - 1 : (uint32_t)i;
}

/* Rows that follow each other mostly lie in one. */
static inline bool is_open_at(struct stalls *s, int64_t at)
{
	if ((uint64_t)at - (uint64_t)s->asked >= (uint64_t)s->width) {
		uint32_t i = bucket_of(s, at);
		s->asked = s->c->w->from + i * s->width;
		s->is_open = s->open[i + 1] != s->open[i];
	}
	return s->is_open;
}

static bool is_open(const struct stalls *s, int64_t from, int64_t to)
{
	uint32_t a = bucket_of(s, from), b = bucket_of(s, to);
	return s->open[b + 1] - s->open[a] == b + 1 - a;
}

/* Time that stretches of a turn may be in: gaps of the device with a long part of the host, and a
 * little before them, when it still worked. Rows elsewhere, most of them, are not looked at. */
static bool find_time(struct stalls *s)
{
	const assay_gap_part_table *p = &s->run->part.t.gap_part;
	const assay_gap_table *g = &s->run->part.t.gap;
	int64_t sum = 0, span = s->c->w->to - s->c->w->from;
	s->width = span / BUCKETS > BUCKET ? span / BUCKETS : BUCKET;
	s->buckets = (uint32_t)(span / s->width) + 1;
	s->open = assay_pages_grow(NULL, (s->buckets + 1ull) * sizeof *s->open);
	s->asked = INT64_MAX;
	for (size_t i = 0; i < p->n; i++) {
		uint32_t gap = p->gap[i];
		if (!is_of_host(p, i) || p->dur[i] < BUCKET ||
		    !assay_gap_in_window(g, s->c->w, gap))
			continue;
		uint32_t last = bucket_of(s, g->ts[gap] + g->dur[gap] + BUCKET);
		for (uint32_t k = bucket_of(s, g->ts[gap] - BUCKET); k <= last; k++)
			s->open[k + 1] = 1;
		sum += p->dur[i] >= TURN ? p->dur[i] : 0;
	}
	for (uint32_t k = 0; k < s->buckets; k++)
		s->open[k + 1] += s->open[k];
	return sum >= STRETCHES * (int64_t)TURN;
}

static const bool *threads_that_launch(const assay_run *run, const assay_find_ctx *c)
{
	const assay_tables *t = &run->part.t;
	bool *is = assay_alloc(c->scratch, t->track.n + 1);
	for (size_t i = 0; i < t->gap.n; i++)
		if (t->gap.launch[i] != ASSAY_NO_ROW && assay_gap_in_window(&t->gap, c->w, i))
			is[t->host.track[t->gap.launch[i]]] = true;
	return is;
}

static void add_point(struct stalls *s, int64_t at, uint32_t row, bool ends)
{
	uint32_t track = s->run->part.t.host.track[row];
	struct near *near = &s->near[track];
	struct point p = {at, row, ends};
	uint64_t number = ((uint64_t)at + (1ull << 63)) / CELL;
	if (!near->cell || near->number != number) {
		uint64_t key[2] = {track, number};
		uint32_t *slot = assay_map_at(&s->number, assay_hash(key, sizeof key, 0));
		if (*slot == ASSAY_MAP_ABSENT) {
			*slot = (uint32_t)s->cell.n;
			*assay_push(&s->cell) = (struct cell){p, p};
		}
		*near = (struct near){number, 1 + *slot};
	}
	struct cell *c = &s->cell.p[near->cell - 1];
	if (at < c->first.at)
		c->first = p;
	if (at >= c->last.at)
		c->last = p;
}

static void find_points(struct stalls *s)
{
	const assay_host_table *h = &s->run->part.t.host;
	s->near = assay_alloc(s->c->scratch, (s->run->part.t.track.n + 1) * sizeof *s->near);
	for (uint32_t i = 0; i < h->n; i++) {
		int64_t end = assay_host_end(h, i);
		if (!s->launches[h->track[i]] || end < s->c->w->from || h->ts[i] > s->c->w->to)
			continue;
		if (is_open_at(s, h->ts[i]))
			add_point(s, h->ts[i], i, false);
		if (is_open_at(s, end))
			add_point(s, end, i, true);
	}
}

static bool is_turns(int64_t length)
{
	int64_t turns = length / TURN;
	return turns >= 1 && turns <= TURNS && length - turns * TURN <= turns * LATE;
}

/* Between two points of a thread, one behind the other. In a call the thread waits for the
 * device. */
static void look_between(struct stalls *s, const struct point *a, const struct point *b)
{
	const assay_host_table *h = &s->run->part.t.host;
	int64_t length = b->at - a->at;
	if (length < BUCKET || length > TURN * (2 * TURNS + 1) / 2 || !is_open(s, a->at, b->at) ||
	    (a->row == b->row && !a->ends && assay_is_call(h->kind[a->row])))
		return;
	s->long_ones++;
	if (!is_turns(length))
		return;
	uint64_t key[2] = {h->name[a->row] * 2ull + a->ends, h->name[b->row] * 2ull + b->ends};
	uint32_t *slot = assay_map_at(&s->place, assay_hash(key, sizeof key, 0));
	s->places += *slot == ASSAY_MAP_ABSENT;
	*slot = 1;
	s->turns++;
	s->time += length;
}

static void look(struct stalls *s)
{
	const assay_host_table *h = &s->run->part.t.host;
	assay_arena a = {0};
	uint32_t *order = assay_alloc(&a, (s->cell.n + 1) * sizeof *order);
	int64_t *at = assay_alloc(&a, (s->cell.n + 1) * sizeof *at);
	const struct point **last = assay_alloc(&a, (s->run->part.t.track.n + 1) * sizeof *last);
	for (uint32_t i = 0; i < s->cell.n; i++) {
		order[i] = i;
		at[i] = s->cell.p[i].first.at;
	}
	assay_sort_rows(order, s->cell.n, at);
	for (size_t i = 0; i < s->cell.n; i++) {
		const struct cell *c = &s->cell.p[order[i]];
		const struct point **before = &last[h->track[c->first.row]];
		if (*before)
			look_between(s, *before, &c->first);
		*before = &c->last;
	}
	assay_arena_free(&a);
}

static const char *tell_turns(const assay_run *run, const assay_find_ctx *c)
{
	struct stalls s = {.run = run, .c = c};
	char count[ASSAY_FMT];
	if (find_time(&s)) {
		s.launches = threads_that_launch(run, c);
		find_points(&s);
		look(&s);
	}
	assay_pages_free(s.open);
	assay_vec_free(&s.cell);
	assay_map_free(&s.number);
	assay_map_free(&s.place);
	int64_t waits = c->w->cause[ASSAY_WHY_HOST_UNTRACED] + c->w->cause[ASSAY_WHY_HOST_OP];
	if (s.turns < STRETCHES || s.places < PLACES || s.turns * 10 < s.long_ones * 9 ||
	    s.time * 4 < waits)
		return NULL;
	return assay_printf(
		c->scratch,
		"nothing is recorded there, but %s stretches at %llu places last 5 ms or a multiple: after that time Python makes a thread let its lock go",
		assay_fmt_count(count, s.turns), (unsigned long long)s.places);
}

const char *assay_lock_turns(const assay_run *run, const assay_find_ctx *c)
{
	if (!c->lock)
		return tell_turns(run, c);
	if (!c->lock->looked)
		*c->lock = (assay_lock_look){true, tell_turns(run, c)};
	return c->lock->because;
}

/* ------------------------------------------------------------------ tests */

/* One operator after the other, each with a stretch inside it and one behind it. */
static bool tells(const int64_t *length, size_t n, assay_host_kind kind)
{
	static const char *const names[] = {"mul", "add", "view"};
	assay_arena scratch = {0};
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	assay_window w = {.to = 0};
	assay_lock_look lock = {0};
	assay_find_ctx c = {.w = &w, .lock = &lock, .scratch = &scratch};
	int64_t now = 0;
	for (size_t i = 0; i < n; i++) {
		uint32_t row = assay_hand_host(run, kind, names[i % 3], now, length[i]);
		uint32_t gap = assay_hand_gap(run, ASSAY_WHY_HOST_OP, now, length[i]);
		t->gap.launch[gap] = row;
		w.cause[ASSAY_WHY_HOST_OP] += length[i];
		now += length[i] + 1000;
	}
	w.to = now;
	bool told = assay_lock_turns(run, &c) != NULL;
	t->gap.n = 0; /* who asks again hears the same */
	told = told && assay_lock_turns(run, &c) != NULL;
	assay_arena_free(&scratch);
	assay_run_free(run);
	return told;
}

TEST(stalls_of_turns_inside_operators_are_pythons_lock)
{
	int64_t length[12];
	for (int i = 0; i < 12; i++)
		length[i] = (1 + i % 3) * 5100000;
	CHECK(tells(length, 12, ASSAY_HOST_OP));
	CHECK(!tells(length, 12, ASSAY_HOST_RUNTIME)); /* waits for the device */
	CHECK(!tells(length, 9, ASSAY_HOST_OP));
	length[3] += TURNS * 10 * TURN; /* a stretch of many turns speaks neither for nor against */
	length[4] = 3000;
	CHECK(tells(length, 12, ASSAY_HOST_OP));
	length[5] = length[6] = 7500000; /* what the code takes */
	CHECK(!tells(length, 12, ASSAY_HOST_OP));
	return 0;
}
