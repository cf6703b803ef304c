/* Random programs against a resolver that remembers everything and searches it all. */
#include <stdlib.h>

#include "base/test.h"
#include "resolve/sweep.h"

enum { CALLS = 120, SEEDS = 6000, THREADS = 4, EVENTS = 5, STREAMS = 5, DEV = 0 };

/* Default stream, the thread's own, and created ones. */
static const uint64_t handles[STREAMS] = {0, 2, 0x1000, 0x2000, 0x3000};

typedef struct answer {
	int class;
	uint64_t record, other;
	uint32_t work;     /* row of the work behind the record */
	uint32_t consumer; /* row of the work behind the wait */
	int64_t delayed;
	bool same;
} answer;

typedef struct world {
	assay_sweep_rec call[CALLS];
	uint32_t n;
	bool in_capture[CALLS]; /* the stream was capturing */
	bool of_capture[CALLS]; /* waits: the event was recorded in a capture */
	answer got[CALLS];      /* by row of the call */
	uint32_t row_of[CALLS]; /* wait number -> row */
	uint32_t waits;
	uint64_t random;
} world;

static uint32_t pick(world *w, uint32_t n)
{
	w->random ^= w->random << 13;
	w->random ^= w->random >> 7;
	w->random ^= w->random << 17;
	return (uint32_t)(w->random >> 20) % n;
}

static bool same_stream(const assay_sweep_rec *a, const assay_sweep_rec *b)
{
	return a->stream == b->stream && (a->stream != 2 || a->thread == b->thread);
}

/* ------------------------------------------------------------------ programs */

static const uint8_t menu[] = {
	ASSAY_OP_RECORD,     ASSAY_OP_RECORD,        ASSAY_OP_RECORD, ASSAY_OP_WAIT,
	ASSAY_OP_WAIT,       ASSAY_OP_WAIT,          ASSAY_OP_LAUNCH, ASSAY_OP_LAUNCH,
	ASSAY_OP_LAUNCH,     ASSAY_OP_EVENT_SYNC,    ASSAY_OP_CREATE, ASSAY_OP_DESTROY,
	ASSAY_OP_EVENT_SYNC, ASSAY_OP_CAPTURE_BEGIN,
};

static void make_program(world *w)
{
	int64_t now = 0, free_at[THREADS] = {0}, device_free = 0;
	uint32_t threads = 1 + pick(w, THREADS), events = 1 + pick(w, EVENTS);
	uint32_t capture_left = 0;
	uint64_t capture_stream = 0;
	uint32_t capture_thread = 0;
	w->n = 20 + pick(w, CALLS - 20);
	for (uint32_t i = 0; i < w->n; i++) {
		uint32_t thread = pick(w, threads);
		now = (now > free_at[thread] ? now : free_at[thread]) + 1 + pick(w, 20);
		int64_t exit = now + pick(w, 60);
		uint8_t op = menu[pick(w, sizeof menu)];
		uint64_t stream = handles[pick(w, STREAMS)];
		if (op == ASSAY_OP_CAPTURE_BEGIN && (capture_left || stream < 3))
			op = ASSAY_OP_RECORD;
		if (capture_left && --capture_left == 0) {
			op = ASSAY_OP_CAPTURE_END;
			stream = capture_stream;
			thread = capture_thread;
			now = now > free_at[thread] ? now : free_at[thread] + 1;
			exit = now + 1;
		}
		if (op == ASSAY_OP_CAPTURE_BEGIN) {
			capture_left = 3 + pick(w, 10);
			capture_stream = stream;
			capture_thread = thread;
		}
		free_at[thread] = exit;
		w->call[i] = (assay_sweep_rec){.key = 100 + i * 3,
					       .enter = now,
					       .exit = exit,
					       .event = 0xe0 + pick(w, events),
					       .stream = stream,
					       .scope = 1,
					       .thread = thread,
					       .track = ASSAY_NO_ROW,
					       .hint = ASSAY_NO_ROW,
					       .row = i,
					       .device = DEV,
					       .op = op,
					       .flags = pick(w, 10) ? 0 : ASSAY_REC_FAILED};
		if (op == ASSAY_OP_CREATE)
			w->call[i].arg = INT64_MAX; /* nothing was lost */
		if (op == ASSAY_OP_LAUNCH) {
			w->call[i].arg = (uint64_t)now;
			w->call[i].enter = (now > device_free ? now : device_free) + pick(w, 30);
			w->call[i].exit = device_free = w->call[i].enter + 1 + pick(w, 50);
		}
		if (op == ASSAY_OP_CAPTURE_BEGIN || op == ASSAY_OP_CAPTURE_END ||
		    op == ASSAY_OP_LAUNCH)
			w->call[i].flags = 0;
	}
}

/* ------------------------------------------------------------------ oracle */

/* Which calls fall into a capture, found by playing the program with plain sets. */
static void play_captures(world *w)
{
	bool capturing[STREAMS][THREADS] = {{0}}, event_captured[EVENTS] = {0};
	uint64_t event_of[EVENTS] = {0}, capture = 0;
	bool alive = false;
	for (uint32_t i = 0; i < w->n; i++) {
		const assay_sweep_rec *r = &w->call[i];
		uint32_t s = 0, e = (uint32_t)(r->event - 0xe0), t = r->stream == 2 ? r->thread : 0;
		while (handles[s] != r->stream)
			s++;
		bool ok = !(r->flags & ASSAY_REC_FAILED);
		alive &= r->op != ASSAY_OP_LAUNCH ||
			 !capturing[s][t]; /* what is captured does not run */
		w->in_capture[i] = alive && capturing[s][t];
		w->of_capture[i] = event_captured[e];
		if (r->op == ASSAY_OP_CAPTURE_BEGIN) {
			memset(capturing, 0, sizeof capturing);
			capturing[s][t] = alive = true;
			capture++;
		} else if (r->op == ASSAY_OP_CAPTURE_END) {
			alive = false;
		} else if (!ok) {
			continue;
		} else if (r->op == ASSAY_OP_CREATE || r->op == ASSAY_OP_DESTROY) {
			event_captured[e] = false;
		} else if (r->op == ASSAY_OP_RECORD) {
			event_captured[e] = w->in_capture[i];
			event_of[e] = capture;
		} else if (r->op == ASSAY_OP_WAIT && event_captured[e] && alive &&
			   event_of[e] == capture) {
			capturing[s][t] = true;
		}
	}
}

static bool is_record(const world *w, uint32_t i, uint64_t event)
{
	const assay_sweep_rec *r = &w->call[i];
	return r->op == ASSAY_OP_RECORD && r->event == event && !r->flags && !w->in_capture[i];
}

static bool is_lifetime(const world *w, uint32_t i, uint64_t event)
{
	const assay_sweep_rec *r = &w->call[i];
	return (r->op == ASSAY_OP_CREATE || r->op == ASSAY_OP_DESTROY) && r->event == event &&
	       !r->flags;
}

/* ------------------------------------------------------------------ what a command stands behind
 */

static uint32_t record_of(const world *w, uint32_t i)
{
	for (uint32_t k = i; k-- > 0 && !is_lifetime(w, k, w->call[i].event);)
		if (is_record(w, k, w->call[i].event))
			return k;
	return ASSAY_NO_ROW;
}

/* Such a wait does nothing. */
static bool is_for_unrecorded(const world *w, uint32_t i)
{
	for (uint32_t k = i; k-- > 0;) {
		if (is_record(w, k, w->call[i].event))
			return false;
		if (is_lifetime(w, k, w->call[i].event))
			return w->call[k].op == ASSAY_OP_CREATE;
	}
	return false;
}

static bool is_command(const world *w, uint32_t i)
{
	const assay_sweep_rec *r = &w->call[i];
	if (r->op == ASSAY_OP_LAUNCH)
		return true;
	if (r->op == ASSAY_OP_WAIT && is_for_unrecorded(w, i))
		return false;
	return (r->op == ASSAY_OP_RECORD || r->op == ASSAY_OP_WAIT) && !r->flags &&
	       !w->in_capture[i] && !(r->op == ASSAY_OP_WAIT && w->of_capture[i]);
}

static uint32_t last_command(const world *w, uint32_t before, const assay_sweep_rec *on)
{
	for (uint32_t i = before; i-- > 0;)
		if (is_command(w, i) && same_stream(&w->call[i], on))
			return i;
	return ASSAY_NO_ROW;
}

static uint32_t later(const world *w, uint32_t a, uint32_t b)
{
	if (a == ASSAY_NO_ROW || b == ASSAY_NO_ROW)
		return a == ASSAY_NO_ROW ? b : a;
	return w->call[b].exit > w->call[a].exit ? b : a;
}

/* The last work to end of all that must end before this command does. The default stream and the
 * threads' own wait for each other, the created ones for nobody. */
static uint32_t work_behind(const world *w, uint32_t i)
{
	const assay_sweep_rec *r = i == ASSAY_NO_ROW ? NULL : &w->call[i];
	if (!r || r->op == ASSAY_OP_LAUNCH)
		return i;
	uint32_t best = work_behind(w, last_command(w, i, r));
	if (r->op == ASSAY_OP_WAIT)
		best = later(w, best, work_behind(w, record_of(w, i)));
	if (r->stream == 2) {
		assay_sweep_rec legacy = {.stream = 0};
		best = later(w, best, work_behind(w, last_command(w, i, &legacy)));
	}
	for (uint32_t t = 0; r->stream == 0 && t < THREADS; t++) {
		assay_sweep_rec own = {.stream = 2, .thread = t};
		best = later(w, best, work_behind(w, last_command(w, i, &own)));
	}
	return best;
}

static void find_landing(const world *w, uint32_t i, answer *a)
{
	const assay_sweep_rec *r = &w->call[i];
	for (uint32_t k = i + 1; k < w->n; k++) {
		const assay_sweep_rec *to = &w->call[k];
		if (to->op != ASSAY_OP_LAUNCH || !same_stream(to, r))
			continue;
		a->consumer = k;
		if (a->work == ASSAY_NO_ROW)
			return;
		int64_t ready = (int64_t)to->arg;
		for (uint32_t b = 0; b < k; b++)
			if (w->call[b].op == ASSAY_OP_LAUNCH && same_stream(&w->call[b], to) &&
			    w->call[b].exit > ready)
				ready = w->call[b].exit;
		int64_t end = w->call[a->work].exit;
		end = end < to->enter ? end : to->enter;
		a->delayed = end > ready ? end - ready : 0;
		return;
	}
}

static void judge_time(const world *w, uint32_t i, uint32_t record, answer *a)
{
	const assay_sweep_rec *r = &w->call[i], *by = &w->call[record];
	a->class = ASSAY_WAIT_IS_LIKELY;
	if (by->thread != r->thread && by->exit > r->enter) {
		a->class = ASSAY_WAIT_IS_AMBIGUOUS;
		for (uint32_t k = record; k-- > 0 && !is_lifetime(w, k, r->event);)
			if (is_record(w, k, r->event)) {
				a->other = w->call[k].key;
				break;
			}
	}
	for (uint32_t k = i + 1; k < w->n && !is_lifetime(w, k, r->event); k++)
		if (is_record(w, k, r->event) && w->call[k].thread != r->thread &&
		    w->call[k].enter < r->exit) {
			a->class = ASSAY_WAIT_IS_AMBIGUOUS;
			a->other = w->call[k].key;
		}
}

static answer search(const world *w, uint32_t i)
{
	const assay_sweep_rec *r = &w->call[i];
	answer a = {.work = ASSAY_NO_ROW, .consumer = ASSAY_NO_ROW, .delayed = -1};
	a.class = ASSAY_WAIT_IS_BEFORE_TRACE;
	if (r->flags) {
		a.class = ASSAY_WAIT_IS_FAILED_CALL;
		return a;
	}
	if (w->of_capture[i] || (r->op == ASSAY_OP_WAIT && w->in_capture[i])) {
		a.class = ASSAY_WAIT_IS_CAPTURED;
		return a;
	}
	for (uint32_t k = i; k-- > 0;) {
		if (is_lifetime(w, k, r->event)) {
			if (w->call[k].op == ASSAY_OP_CREATE)
				a.class = ASSAY_WAIT_IS_NEVER_RECORDED;
			return a;
		}
		if (!is_record(w, k, r->event))
			continue;
		a.record = w->call[k].key;
		a.work = work_behind(w, k);
		a.same = r->op == ASSAY_OP_WAIT && same_stream(&w->call[k], r);
		judge_time(w, i, k, &a);
		if (r->op == ASSAY_OP_WAIT && !a.same)
			find_landing(w, i, &a);
		return a;
	}
	return a;
}

/* ------------------------------------------------------------------ comparison */

static uint32_t take_wait(void *ctx, const assay_sweep_wait *v)
{
	world *w = ctx;
	answer *a = &w->got[v->rec.row];
	*a = (answer){v->class,
		      v->record_key,
		      v->other_key,
		      v->producer_row,
		      ASSAY_NO_ROW,
		      -1,
		      v->flags & ASSAY_WAIT_SAME_STREAM};
	w->row_of[w->waits] = v->rec.row;
	return w->waits++;
}

static void take_news(void *ctx, uint32_t i, const assay_sweep_news *n)
{
	world *w = ctx;
	answer *a = &w->got[w->row_of[i]];
	if (n->what == ASSAY_NEWS_AMBIGUOUS) {
		a->class = ASSAY_WAIT_IS_AMBIGUOUS;
		a->other = n->record_key;
	} else {
		a->consumer = n->consumer_row;
		a->delayed = n->delayed;
	}
}

static void take_edge(void *ctx, const assay_sweep_edge *e)
{
	(void)ctx;
	(void)e;
}

static void sweep_shuffled(world *w)
{
	static assay_sweep_rec shuffled[CALLS];
	uint32_t rows[CALLS];
	memcpy(shuffled, w->call, sizeof shuffled);
	for (uint32_t i = w->n; i > 1; i--) {
		uint32_t k = pick(w, i);
		assay_sweep_rec r = shuffled[k];
		shuffled[k] = shuffled[i - 1];
		shuffled[i - 1] = r;
	}
	for (uint32_t i = 0; i < w->n; i++)
		rows[i] = i;
	assay_sweep_sort(shuffled, rows, w->n);
	assay_sweep *s =
		assay_sweep_new(&(assay_sweep_sink){w, take_wait, take_news, take_edge, NULL},
				(assay_sweep_clocks){0});
	for (uint32_t i = 0; i < w->n; i++)
		assay_sweep_push(s, &shuffled[rows[i]]);
	assay_sweep_end(s);
	assay_sweep_free(s);
}

static bool agree(const answer *a, const answer *b)
{
	return a->class == b->class && a->record == b->record && a->other == b->other &&
	       a->work == b->work && a->consumer == b->consumer && a->delayed == b->delayed &&
	       a->same == b->same;
}

TEST(random_programs_resolve_as_an_exhaustive_search_says)
{
	static world w;
	uint64_t seen[ASSAY_WAIT_CLASS_COUNT] = {0};
	for (uint32_t seed = 1; seed <= SEEDS; seed++) {
		w.waits = 0;
		w.random = seed * 0x9E3779B97F4A7C15u;
		make_program(&w);
		play_captures(&w);
		sweep_shuffled(&w);
		for (uint32_t i = 0; i < w.waits; i++) {
			uint32_t row = w.row_of[i];
			answer want = search(&w, row);
			seen[want.class]++;
			if (!agree(&w.got[row], &want)) {
				fprintf(stderr, "seed %u, call %u: class %d record %d other %d\n",
					seed, row, w.got[row].class, (int)w.got[row].record,
					(int)w.got[row].other);
				fprintf(stderr, "  want class %d record %d other %d\n", want.class,
					(int)want.record, (int)want.other);
			}
			CHECK(agree(&w.got[row], &want));
		}
	}
	CHECK(seen[ASSAY_WAIT_IS_LIKELY] > 1000 && seen[ASSAY_WAIT_IS_AMBIGUOUS] > 1000);
	CHECK(seen[ASSAY_WAIT_IS_NEVER_RECORDED] > 1000 && seen[ASSAY_WAIT_IS_CAPTURED] > 1000);
	return 0;
}
