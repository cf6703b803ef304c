/* Ranges of a capture: pushes and pops by thread and domain, starts and ends by id. */
#include "read/capture.h"

#include "base/jsonw.h"

enum { RANGES_MAX = 1 << 20 };

/* How a range ended: OPEN when the recording, or its thread, ended first. */
typedef struct range_end {
	int64_t time;
	uint32_t track; /* that ended it */
	bool open;
} range_end;

static assay_sid range_args(capture *c, const open_range *o, const range_end *e)
{
	bool elsewhere = e->track != o->track;
	if (!o->domain && !elsewhere && !e->open)
		return 0;
	assay_jsonw w = {.compact = true};
	assay_jsonw_open(&w, NULL, '{');
	if (o->domain)
		assay_jsonw_str(&w, "domain", assay_pool_get(&c->part->strings, o->domain));
	if (elsewhere)
		assay_jsonw_i64(&w, "end_thread", c->part->t.track.tid[e->track]);
	if (e->open)
		assay_jsonw_bool(&w, ASSAY_OPEN_END, true);
	assay_jsonw_close(&w, '}');
	assay_str s = assay_str_trim(assay_jsonw_text(&w)); /* members only: without the braces */
	assay_sid args = assay_intern(&c->part->strings, (assay_str){s.p + 1, s.n - 2});
	assay_jsonw_free(&w);
	return args;
}

static void close_range(capture *c, const open_range *o, range_end e)
{
	uint32_t row = assay_capture_host(c, o->kind, o->ts, e.time, o->name, o->track);
	c->part->t.host.args[row] = range_args(c, o, &e);
}

static uint32_t open_new(capture *c, const open_range *o)
{
	if (c->open.n >= RANGES_MAX) {
		assay_count(c->part, ASSAY_ISSUE_wide_value, 1);
		return ASSAY_MAP_ABSENT;
	}
	*assay_push(&c->open) = *o;
	return (uint32_t)c->open.n - 1;
}

static void pop_from(capture *c, assay_map *map, uint64_t key, range_end e)
{
	uint32_t top = assay_map_get(map, key);
	if (top == ASSAY_MAP_ABSENT || top >= c->open.n) {
		if (!c->cut)
			assay_count(c->part, ASSAY_ISSUE_unmatched_end, 1);
		return;
	}
	open_range *o = &c->open.p[top];
	close_range(c, o, e);
	*assay_map_at(map, key) = o->below == ASSAY_MAP_ABSENT ? RANGES_MAX : o->below;
	o->track = ASSAY_NO_ROW; /* done */
	while (c->open.n && c->open.p[c->open.n - 1].track == ASSAY_NO_ROW)
		c->open.n--;
}

static void push_to(capture *c, assay_map *map, uint64_t key, open_range *o)
{
	uint32_t below = assay_map_get(map, key);
	o->below = below == ASSAY_MAP_ABSENT || below >= c->open.n ? (uint32_t)RANGES_MAX : below;
	uint32_t row = open_new(c, o);
	if (row != ASSAY_MAP_ABSENT)
		*assay_map_at(map, key) = row;
}

/* Pushes and pops pair within one thread and domain. The ring is the thread: its OS number may be
 * used again, and a pop of the new thread must not close what the old one left open. */
static uint64_t stack_key(const capture *c, const assay_wire_range *g)
{
	uint64_t thread = c->ring && !g->rec.thread ? 1ull << 31 | c->ring
			  : g->rec.thread           ? g->rec.thread
						    : c->tid;
	return thread << 32 | g->domain;
}

void assay_capture_range(capture *c, const any_record *r)
{
	const assay_wire_range *g = &r->range;
	size_t room = c->record.n - sizeof *g;
	assay_str text = {c->record.p + sizeof *g, g->length < room ? g->length : room};
	assay_sid name =
		g->name ? assay_capture_text(c, g->name) : assay_intern(&c->part->strings, text);
	bool by_id = g->op == ASSAY_WIRE_RANGE_START || g->op == ASSAY_WIRE_RANGE_END;
	open_range o = {.ts = g->time,
			.name = name,
			.domain = assay_capture_text(c, g->domain),
			.track = assay_capture_thread(c, &g->rec),
			.ring = g->rec.thread ? 0 : c->ring,
			.kind = by_id ? ASSAY_HOST_PROCESS_RANGE : ASSAY_HOST_MARKER};
	range_end end = {g->time, o.track, false};
	uint64_t stack = stack_key(c, g);
	assay_capture_seen(c, g->time);
	if (g->op == ASSAY_WIRE_RANGE_PUSH)
		push_to(c, &c->stacks, stack, &o);
	else if (g->op == ASSAY_WIRE_RANGE_POP)
		pop_from(c, &c->stacks, stack, end);
	else if (g->op == ASSAY_WIRE_RANGE_START)
		push_to(c, &c->spans, g->id, &o);
	else if (g->op == ASSAY_WIRE_RANGE_END)
		pop_from(c, &c->spans, g->id, end);
	else
		close_range(c, &o, end);
}

void assay_capture_ring(capture *c)
{
	if (!c->ring)
		return;
	uint32_t *slot = assay_map_at(&c->rings, c->ring);
	if (*slot != ASSAY_MAP_ABSENT)
		return;
	*slot = (uint32_t)c->ring_of.n;
	*assay_push(&c->ring_of) = (ring_seen){c->tid, INT64_MIN};
	uint32_t *last = assay_map_at(&c->last_ring, c->tid);
	if (*last == ASSAY_MAP_ABSENT || *last < c->ring)
		*last = c->ring;
}

/* A range nobody closed ends with its thread, when that was gone before the recording ended: its
 * number was given to another. Else it ends with the recording. */
static int64_t end_of_open(const capture *c, const open_range *o)
{
	uint32_t i = o->ring ? assay_map_get(&c->rings, o->ring) : ASSAY_MAP_ABSENT;
	int64_t end = c->last_time;
	if (i != ASSAY_MAP_ABSENT && o->kind == ASSAY_HOST_MARKER &&
	    assay_map_get(&c->last_ring, c->ring_of.p[i].tid) != o->ring)
		end = c->ring_of.p[i].last;
	return end > o->ts ? end : o->ts;
}

void assay_capture_end_ranges(capture *c)
{
	for (size_t i = 0; i < c->open.n; i++) {
		open_range *o = &c->open.p[i];
		if (o->track == ASSAY_NO_ROW)
			continue;
		assay_count(c->part, ASSAY_ISSUE_unmatched_begin, 1);
		close_range(c, o, (range_end){end_of_open(c, o), o->track, true});
	}
}

/* Nobody knows which of them ended in the stretch that was not kept. */
void assay_capture_cut_ranges(capture *c, int64_t time)
{
	for (size_t i = 0; i < c->open.n; i++) {
		open_range *o = &c->open.p[i];
		if (o->track != ASSAY_NO_ROW)
			close_range(c, o, (range_end){time > o->ts ? time : o->ts, o->track, true});
	}
	c->open.n = 0;
	assay_map_free(&c->stacks);
	assay_map_free(&c->spans);
	c->cut = true;
}
