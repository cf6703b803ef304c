#include "resolve/waits_races.h"

#include "base/sort.h"
#include "base/test.h"

/* ns within which a call that waits has looked what for; it returns much later. */
enum { LOOKS = 20000 };

/* They put something into a stream, or look what is in it, or what an event stands behind. */
static const bool takes[ASSAY_OP_COUNT] = {
	[ASSAY_OP_LAUNCH] = true,      [ASSAY_OP_WAIT_INSIDE] = true, [ASSAY_OP_UNSEEN] = true,
	[ASSAY_OP_RECORD] = true,      [ASSAY_OP_WAIT] = true,        [ASSAY_OP_STREAM_SYNC] = true,
	[ASSAY_OP_DEVICE_SYNC] = true, [ASSAY_OP_HOST_FUNC] = true,   [ASSAY_OP_WRITE_VALUE] = true,
	[ASSAY_OP_WAIT_VALUE] = true,  [ASSAY_OP_POOL_FREE] = true,   [ASSAY_OP_POOL_ALLOC] = true,
	[ASSAY_OP_EVENT_SYNC] = true,  [ASSAY_OP_GAP] = true,         [ASSAY_OP_COMMAND] = true,
};

static bool takes_part(const assay_sweep_rec *r)
{
	return takes[r->op] && (r->op != ASSAY_OP_LAUNCH || r->arg); /* its call is known */
}

static int64_t began(const assay_sweep_rec *r)
{
	return r->op == ASSAY_OP_LAUNCH ? (int64_t)r->arg : r->enter;
}

static int64_t took_effect(const assay_sweep_rec *r)
{
	if (r->op == ASSAY_OP_LAUNCH)
		return (int64_t)r->event;
	bool looks = r->op == ASSAY_OP_STREAM_SYNC || r->op == ASSAY_OP_DEVICE_SYNC ||
		     r->op == ASSAY_OP_EVENT_SYNC;
	return looks && r->exit > r->enter + LOOKS ? r->enter + LOOKS : r->exit;
}

/* Does it concern every stream of its device? */
static bool is_for_all(const assay_sweep_rec *r)
{
	return r->op == ASSAY_OP_DEVICE_SYNC || r->flags & ASSAY_REC_LEGACY ||
	       (r->track == ASSAY_NO_ROW && (r->stream <= 1 || r->stream == ASSAY_NO_HANDLE));
}

static bool asks(const assay_sweep_rec *r)
{
	return r->op == ASSAY_OP_WAIT || r->op == ASSAY_OP_WAIT_INSIDE ||
	       r->op == ASSAY_OP_EVENT_SYNC;
}

/* A wait for an event, and a record of it that it may have met. */
static bool share_event(const assay_sweep_rec *a, const assay_sweep_rec *b)
{
	return asks(a) && b->op == ASSAY_OP_RECORD && a->event && a->event == b->event &&
	       a->scope == b->scope && a->thread != b->thread;
}

/* A wait for an event, and a launch that may record it. */
static bool may_share_event(const assay_sweep_rec *a, const assay_sweep_rec *b)
{
	bool launches = b->op == ASSAY_OP_LAUNCH || b->op == ASSAY_OP_UNSEEN;
	return asks(a) && launches && b->flags & ASSAY_REC_MAY_RECORD && a->scope == b->scope &&
	       a->thread != b->thread;
}

/* Does their order make a difference to what streams stand behind? */
static bool meet(const assay_sweep_rec *a, const assay_sweep_rec *b)
{
	if (a->op == ASSAY_OP_EVENT_SYNC || b->op == ASSAY_OP_EVENT_SYNC)
		return false;
	bool works = a->op == ASSAY_OP_LAUNCH && b->op == ASSAY_OP_LAUNCH;
	if (a->scope != b->scope || a->thread == b->thread ||
	    (works && is_for_all(a) == is_for_all(b)) || /* their times tell */
	    (a->device >= 0 && b->device >= 0 && a->device != b->device))
		return false;
	if (is_for_all(a) || is_for_all(b))
		return true;
	if (a->track != ASSAY_NO_ROW && b->track != ASSAY_NO_ROW)
		return a->track == b->track;
	return a->stream == ASSAY_NO_HANDLE || b->stream == ASSAY_NO_HANDLE ||
	       a->stream == b->stream;
}

/* Records of processes in which more than one thread takes part. */
typedef struct contest {
	assay_vec(uint32_t) row;
	int64_t *began;           /* by row of recs */
	assay_map one;            /* process -> its one thread, or WAITS_SEVERAL */
	assay_map met;            /* calls that raced -> flags of theirs */
	assay_vec(uint32_t) open; /* rows of recs that began, and may not have taken effect */
} contest;

static void find_threads(contest *c, const waits *w)
{
	for (size_t i = 0; i < w->recs.n; i++) {
		const assay_sweep_rec *r = &w->recs.p[i];
		if (!takes_part(r) || r->thread == ASSAY_NO_ROW)
			continue;
		uint32_t *one = assay_map_at(&c->one, r->scope);
		*one = *one == ASSAY_MAP_ABSENT || *one == r->thread ? r->thread : WAITS_SEVERAL;
	}
}

static void find_parts(contest *c, const waits *w)
{
	c->began = assay_pages_grow(NULL, (w->recs.n + 1) * sizeof *c->began);
	for (uint32_t i = 0; i < w->recs.n; i++) {
		const assay_sweep_rec *r = &w->recs.p[i];
		if (!takes_part(r) || assay_map_get(&c->one, r->scope) != WAITS_SEVERAL)
			continue;
		c->began[i] = began(r);
		*assay_push(&c->row) = i;
	}
	if (c->row.n)
		assay_sort_rows(c->row.p, c->row.n, c->began);
}

static uint64_t call_of(const assay_sweep_rec *r)
{
	return assay_corr_key(r->scope, r->key);
}

static void mark(contest *c, const assay_sweep_rec *r, uint32_t flags)
{
	if (!flags)
		return;
	uint32_t *met = assay_map_at(&c->met, call_of(r));
	*met = (*met == ASSAY_MAP_ABSENT ? 0 : *met) | flags;
}

/* A thread that waits puts nothing into a stream that the record could overtake. */
static uint32_t beside_record(const assay_sweep_rec *wait)
{
	return ASSAY_REC_BESIDE_RECORD | (wait->op == ASSAY_OP_EVENT_SYNC ? 0 : ASSAY_REC_RACED);
}

/* An allocation, and memory given back meanwhile that it may get. */
static bool may_share_memory(const assay_sweep_rec *a, const assay_sweep_rec *b)
{
	return a->op == ASSAY_OP_POOL_ALLOC && b->op == ASSAY_OP_POOL_FREE &&
	       a->scope == b->scope && a->thread != b->thread;
}

/* What the call met in the other one. */
static uint32_t met_by(const assay_sweep_rec *r, const assay_sweep_rec *other)
{
	return (meet(r, other) ? ASSAY_REC_RACED : 0u) |
	       (share_event(r, other) ? beside_record(r) : 0u) |
	       (may_share_event(r, other) ? ASSAY_REC_BESIDE_GRAPH : 0u) |
	       (may_share_memory(r, other) ? ASSAY_REC_BESIDE_FREE : 0u);
}

/* Looks at all calls that are open when r begins, and forgets those that have taken effect. */
static void meet_open(contest *c, const waits *w, const assay_sweep_rec *r)
{
	size_t kept = 0;
	for (size_t i = 0; i < c->open.n; i++) {
		const assay_sweep_rec *o = &w->recs.p[c->open.p[i]];
		if (took_effect(o) <= began(r))
			continue;
		c->open.p[kept++] = c->open.p[i];
		mark(c, o, met_by(o, r));
		mark(c, r, met_by(r, o));
	}
	c->open.n = kept;
}

/* The work of one launch is one call for this. */
static bool is_next_piece(const contest *c, const waits *w, const assay_sweep_rec *r)
{
	const assay_sweep_rec *o = c->open.n ? &w->recs.p[c->open.p[c->open.n - 1]] : NULL;
	return o && o->op == ASSAY_OP_LAUNCH && r->op == ASSAY_OP_LAUNCH && o->key == r->key &&
	       o->scope == r->scope && o->track == r->track;
}

enum {
	CROWDED = ASSAY_REC_RACED | ASSAY_REC_BESIDE_GRAPH | ASSAY_REC_BESIDE_RECORD |
		  ASSAY_REC_BESIDE_FREE
};

/* All that is open raced, with whatever begins before the last of it has taken effect. */
static int64_t end_of_crowd(contest *c, const waits *w)
{
	int64_t end = INT64_MIN;
	for (size_t i = 0; i < c->open.n; i++) {
		const assay_sweep_rec *o = &w->recs.p[c->open.p[i]];
		mark(c, o, CROWDED);
		end = took_effect(o) > end ? took_effect(o) : end;
	}
	return end;
}

static void find_meetings(contest *c, const waits *w)
{
	enum { MANY = 1024 }; /* calls at once: more are not told apart */
	int64_t crowded = INT64_MIN;
	for (size_t k = 0; k < c->row.n; k++) {
		const assay_sweep_rec *r = &w->recs.p[c->row.p[k]];
		if (is_next_piece(c, w, r))
			continue;
		if (began(r) >= crowded) {
			meet_open(c, w, r);
			if (c->open.n < MANY) {
				*assay_push(&c->open) = c->row.p[k];
				continue;
			}
			crowded = end_of_crowd(c, w);
		}
		mark(c, r, CROWDED);
		crowded = took_effect(r) > crowded ? took_effect(r) : crowded;
	}
}

/* Of a call that was not recorded only its place in the order is known. */
static bool is_timeless(const contest *c, const assay_sweep_rec *r)
{
	return (r->op == ASSAY_OP_RECORD || r->op == ASSAY_OP_LAUNCH) &&
	       r->thread == ASSAY_NO_ROW && assay_map_get(&c->one, r->scope) == WAITS_SEVERAL;
}

void waits_find_races(waits *w)
{
	contest c = {0};
	find_threads(&c, w);
	find_parts(&c, w);
	find_meetings(&c, w);
	for (size_t i = 0; c.row.n && i < w->recs.n; i++) {
		assay_sweep_rec *r = &w->recs.p[i];
		uint32_t met = assay_map_get(&c.met, call_of(r));
		r->flags |= met == ASSAY_MAP_ABSENT ? 0 : met;
		if (is_timeless(&c, r))
			r->flags |= ASSAY_REC_RACED;
	}
	assay_vec_free(&c.row);
	assay_vec_free(&c.open);
	assay_pages_free(c.began);
	assay_map_free(&c.one);
	assay_map_free(&c.met);
}

TEST(calls_at_the_same_time_race_for_a_stream_they_share)
{
	static const assay_sweep_rec of[] = {
		{.op = ASSAY_OP_RECORD, .key = 1, .enter = 100, .exit = 200, .track = 4},
		{.op = ASSAY_OP_WAIT, .key = 2, .enter = 150, .exit = 160, .thread = 1, .track = 4},
		{.op = ASSAY_OP_WAIT, .key = 3, .enter = 170, .exit = 180, .thread = 1, .track = 5},
		{.op = ASSAY_OP_LAUNCH, .key = 4, .arg = 300, .event = 310, .track = 4},
		{.op = ASSAY_OP_STREAM_SYNC,
		 .key = 5,
		 .enter = 310,
		 .exit = 900000,
		 .track = 4,
		 .thread = 1},
		{.op = ASSAY_OP_LAUNCH, .key = 6, .arg = 500000, .event = 510000, .track = 4},
		{.op = ASSAY_OP_DEVICE_SYNC,
		 .key = 7,
		 .enter = 500500,
		 .exit = 900000,
		 .track = ASSAY_NO_ROW,
		 .thread = 2},
		{.op = ASSAY_OP_WAIT,
		 .key = 8,
		 .enter = 600000,
		 .exit = 601000,
		 .track = 6,
		 .device = 1,
		 .event = 9},
		{.op = ASSAY_OP_RECORD,
		 .key = 9,
		 .enter = 600500,
		 .exit = 601500,
		 .track = 7,
		 .thread = 1,
		 .event = 9},
	};
	static const bool raced[] = {true, true, false, false, false, true, true, true, false};
	waits w = {0};
	for (size_t i = 0; i < ASSAY_COUNT_OF(of); i++)
		*assay_push(&w.recs) = of[i];
	waits_find_races(&w);
	for (size_t i = 0; i < ASSAY_COUNT_OF(of); i++)
		CHECK_EQ(!!(w.recs.p[i].flags & ASSAY_REC_RACED), raced[i]);
	CHECK(w.recs.p[7].flags & ASSAY_REC_BESIDE_RECORD); /* of its event */
	CHECK(!(w.recs.p[1].flags & ASSAY_REC_BESIDE_RECORD));
	assay_vec_free(&w.recs);
	return 0;
}

TEST(of_more_calls_at_once_than_are_told_apart_all_raced)
{
	enum { CALLS = 1500 };
	waits w = {0};
	for (uint32_t i = 0; i < CALLS; i++)
		*assay_push(&w.recs) = (assay_sweep_rec){.op = ASSAY_OP_RECORD,
							 .key = i + 1,
							 .enter = i,
							 .exit = 10000,
							 .track = i,
							 .thread = i};
	*assay_push(&w.recs) = (assay_sweep_rec){
		.op = ASSAY_OP_RECORD, .key = CALLS + 1, .enter = 10000, .exit = 10001};
	waits_find_races(&w);
	for (uint32_t i = 0; i <= CALLS; i++)
		CHECK_EQ(!!(w.recs.p[i].flags & ASSAY_REC_RACED), i < CALLS);
	assay_vec_free(&w.recs);
	return 0;
}

TEST(a_wait_beside_a_launch_that_may_record_events_may_have_met_that)
{
	static const assay_sweep_rec of[] = {
		{.op = ASSAY_OP_WAIT, .key = 1, .enter = 100, .exit = 200, .track = 4, .event = 9},
		{.op = ASSAY_OP_LAUNCH,
		 .key = 2,
		 .arg = 150,
		 .event = 300,
		 .track = 5,
		 .thread = 1,
		 .flags = ASSAY_REC_MAY_RECORD},
		{.op = ASSAY_OP_EVENT_SYNC, .key = 3, .enter = 250, .exit = 260, .event = 9},
		{.op = ASSAY_OP_EVENT_SYNC, .key = 4, .enter = 300, .exit = 400, .event = 9},
		{.op = ASSAY_OP_LAUNCH,
		 .key = 5,
		 .arg = 350,
		 .event = 360,
		 .track = 5,
		 .thread = 1},
		{.op = ASSAY_OP_WAIT_INSIDE,
		 .key = 6,
		 .enter = 270,
		 .exit = 290,
		 .event = 9,
		 .device = 1},
	};
	static const bool beside[] = {true, false, true, false, false, true};
	waits w = {0};
	for (size_t i = 0; i < ASSAY_COUNT_OF(of); i++)
		*assay_push(&w.recs) = of[i];
	waits_find_races(&w);
	for (size_t i = 0; i < ASSAY_COUNT_OF(of); i++) {
		CHECK_EQ(!!(w.recs.p[i].flags & ASSAY_REC_BESIDE_GRAPH), beside[i]);
		CHECK(!(w.recs.p[i].flags & ASSAY_REC_RACED));
	}
	assay_vec_free(&w.recs);
	return 0;
}

TEST(a_thread_that_waits_for_an_event_may_meet_another_threads_record_of_it)
{
	static const assay_sweep_rec of[] = {
		{.op = ASSAY_OP_EVENT_SYNC, .key = 1, .enter = 100, .exit = 200, .event = 9},
		{.op = ASSAY_OP_RECORD,
		 .key = 2,
		 .enter = 150,
		 .exit = 250,
		 .track = 4,
		 .thread = 1,
		 .event = 9},
		{.op = ASSAY_OP_EVENT_SYNC, .key = 3, .enter = 210, .exit = 220, .event = 8},
		{.op = ASSAY_OP_EVENT_SYNC, .key = 4, .enter = 230, .exit = 300, .event = 9},
		{.op = ASSAY_OP_EVENT_SYNC, .key = 5, .enter = 310, .exit = 400, .event = 9},
	};
	static const bool beside[] = {true, false, false, true, false};
	waits w = {0};
	for (size_t i = 0; i < ASSAY_COUNT_OF(of); i++)
		*assay_push(&w.recs) = of[i];
	waits_find_races(&w);
	for (size_t i = 0; i < ASSAY_COUNT_OF(of); i++) {
		CHECK_EQ(!!(w.recs.p[i].flags & ASSAY_REC_BESIDE_RECORD), beside[i]);
		CHECK(!(w.recs.p[i].flags & ASSAY_REC_RACED));
	}
	assay_vec_free(&w.recs);
	return 0;
}

TEST(an_allocation_may_get_what_another_thread_gives_back_meanwhile)
{
	static const assay_sweep_rec of[] = {
		{.op = ASSAY_OP_POOL_ALLOC, .key = 1, .enter = 100, .exit = 200, .track = 4},
		{.op = ASSAY_OP_POOL_FREE,
		 .key = 2,
		 .enter = 150,
		 .exit = 250,
		 .track = 5,
		 .thread = 1},
		{.op = ASSAY_OP_POOL_ALLOC, .key = 3, .enter = 240, .exit = 245, .track = 4},
		{.op = ASSAY_OP_POOL_ALLOC, .key = 4, .enter = 250, .exit = 300, .track = 4},
		{.op = ASSAY_OP_POOL_ALLOC,
		 .key = 5,
		 .enter = 260,
		 .exit = 300,
		 .track = 5,
		 .thread = 1},
	};
	static const bool beside[] = {true, false, true, false, false};
	waits w = {0};
	for (size_t i = 0; i < ASSAY_COUNT_OF(of); i++)
		*assay_push(&w.recs) = of[i];
	waits_find_races(&w);
	for (size_t i = 0; i < ASSAY_COUNT_OF(of); i++) {
		CHECK_EQ(!!(w.recs.p[i].flags & ASSAY_REC_BESIDE_FREE), beside[i]);
		CHECK(!(w.recs.p[i].flags & ASSAY_REC_RACED));
	}
	assay_vec_free(&w.recs);
	return 0;
}

TEST(a_record_that_does_not_say_its_stream_races_with_all)
{
	static const assay_sweep_rec of[] = {
		{.op = ASSAY_OP_RECORD, .key = 1, .enter = 100, .exit = 200, .track = 4},
		{.op = ASSAY_OP_GAP,
		 .key = 2,
		 .enter = 150,
		 .exit = 250,
		 .stream = ASSAY_NO_HANDLE,
		 .track = ASSAY_NO_ROW,
		 .thread = 1},
	};
	waits w = {0};
	*assay_push(&w.recs) = of[0];
	*assay_push(&w.recs) = of[1];
	waits_find_races(&w);
	CHECK(w.recs.p[0].flags & ASSAY_REC_RACED);
	assay_vec_free(&w.recs);
	return 0;
}

TEST(everything_that_enters_a_stream_races_with_a_record_there)
{
	static const assay_sweep_op enters[] = {
		ASSAY_OP_LAUNCH,    ASSAY_OP_WAIT_INSIDE, ASSAY_OP_UNSEEN,
		ASSAY_OP_RECORD,    ASSAY_OP_WAIT,        ASSAY_OP_STREAM_SYNC,
		ASSAY_OP_HOST_FUNC, ASSAY_OP_WRITE_VALUE, ASSAY_OP_WAIT_VALUE,
		ASSAY_OP_POOL_FREE, ASSAY_OP_POOL_ALLOC,  ASSAY_OP_COMMAND,
	};
	for (size_t i = 0; i < 2 * ASSAY_COUNT_OF(enters); i++) {
		bool same = i % 2; /* stream */
		waits w = {0};
		*assay_push(&w.recs) = (assay_sweep_rec){.op = ASSAY_OP_RECORD,
							 .key = 1,
							 .enter = 100,
							 .exit = 200,
							 .event = 8,
							 .track = 4};
		*assay_push(&w.recs) = (assay_sweep_rec){.op = (uint8_t)enters[i / 2],
							 .key = 2,
							 .enter = 150,
							 .exit = 160,
							 .arg = 150,
							 .event = 160,
							 .thread = 1,
							 .track = same ? 4 : 5};
		waits_find_races(&w);
		CHECK_EQ(!!(w.recs.p[0].flags & ASSAY_REC_RACED), same);
		assay_vec_free(&w.recs);
	}
	return 0;
}
