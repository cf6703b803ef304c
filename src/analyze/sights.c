#include "analyze/sights.h"

#include <stdlib.h>

#include "base/compare.h"
#include "base/sort.h"
#include "base/test.h"
#include "model/by_hand.h"
#include "names/words.h"

/* A stretch this long would have been looked at in most of its occurrences. */
#define SEEN_OFTEN 250000

static const uint8_t why_of[ASSAY_DOING_COUNT] = {
	[ASSAY_DOING_UNKNOWN] = ASSAY_WHY_HOST_UNTRACED,
	[ASSAY_DOING_GIL] = ASSAY_WHY_HOST_GIL,
	[ASSAY_DOING_CPU_WAIT] = ASSAY_WHY_HOST_CPU_WAIT,
	[ASSAY_DOING_GC] = ASSAY_WHY_HOST_GC,
	[ASSAY_DOING_COMPILE] = ASSAY_WHY_HOST_COMPILE,
	[ASSAY_DOING_IMPORT] = ASSAY_WHY_HOST_IMPORT,
	[ASSAY_DOING_DATA] = ASSAY_WHY_HOST_DATA,
	[ASSAY_DOING_IO] = ASSAY_WHY_HOST_IO,
	[ASSAY_DOING_SLEEP] = ASSAY_WHY_HOST_SLEEP,
	[ASSAY_DOING_LOCK] = ASSAY_WHY_HOST_LOCK,
	[ASSAY_DOING_CHILD] = ASSAY_WHY_HOST_CHILD,
	[ASSAY_DOING_COMM] = ASSAY_WHY_HOST_COMM,
	[ASSAY_DOING_SYNC] = ASSAY_WHY_HOST_SYNC,
	[ASSAY_DOING_DRIVER] = ASSAY_WHY_HOST_RUNTIME,
	[ASSAY_DOING_PYTHON] = ASSAY_WHY_HOST_PYTHON,
	[ASSAY_DOING_NATIVE] = ASSAY_WHY_HOST_NATIVE,
};

/* Rows of one thread, by time. */
typedef struct rows {
	uint32_t *row;
	size_t n;
} rows;

/* Between two calls from the same two places: what was seen there most. */
typedef struct site {
	uint64_t looks[ASSAY_DOING_COUNT];
	uint32_t sample[ASSAY_DOING_COUNT]; /* the longest of each */
} site;

/* Time of a thread in one call, or between two. */
struct piece {
	int64_t from, to;
	uint32_t call; /* ASSAY_NO_ROW: between calls */
};

typedef assay_vec(struct piece) pieces;

struct assay_sights {
	const assay_run *run;
	assay_arena scratch;
	rows *calls, *samples; /* by track */
	rows *turns;           /* by track: samples that the scheduler told */
	int64_t *robbed;       /* by row of host: of a call, time without a processor */
	pieces *between;       /* by track: such time between calls */
	assay_map by_site;     /* stacks of two calls -> row of site */
	assay_vec(site) site;
	assay_map helper;    /* stack of who waits in backward() -> the thread that works for it */
	uint32_t *works_for; /* by track: that other thread; ASSAY_NO_ROW */
	bool *in_python;     /* by track: frames of its own were seen */
	bool *in_loop;       /* by row of stack: an event loop, and nothing of the program in it */
};

/* ---- rows by thread ---- */

static bool is_call(const assay_tables *t, uint32_t h)
{
	return assay_is_call(t->host.kind[h]);
}

/* What a thread does inside a call is the call's to tell. */
static bool between_calls(const assay_tables *t, uint32_t i)
{
	return !(t->sample.flags[i] & (ASSAY_SAMPLE_CALL | ASSAY_SAMPLE_TURN));
}

static bool is_turn(const assay_tables *t, uint32_t i)
{
	return t->sample.flags[i] & ASSAY_SAMPLE_TURN;
}

static rows *by_track(assay_sights *s, size_t n, const uint32_t *track, const int64_t *ts,
		      bool (*wanted)(const assay_tables *, uint32_t))
{
	const assay_tables *t = &s->run->part.t;
	rows *out = assay_alloc(&s->scratch, (t->track.n + 1) * sizeof *out);
	for (uint32_t i = 0; i < n; i++)
		out[track[i]].n += wanted(t, i);
	for (size_t k = 0; k < t->track.n; k++) {
		out[k].row = assay_alloc(&s->scratch, (out[k].n + 1) * sizeof *out[k].row);
		out[k].n = 0;
	}
	for (uint32_t i = 0; i < n; i++)
		if (wanted(t, i))
			out[track[i]].row[out[track[i]].n++] = i;
	for (size_t k = 0; k < t->track.n; k++)
		assay_sort_rows(out[k].row, out[k].n, ts);
	return out;
}

/* How many of the rows begin at or before `now`. */
static size_t begun(const rows *r, const int64_t *ts, int64_t now)
{
	return assay_rows_until(r->row, r->n, ts, now);
}

/* ---- sites ---- */

static uint32_t stack_of(const assay_tables *t, const rows *calls, size_t i)
{
	return i < calls->n ? assay_call_stack(t, calls->row[i]) : ASSAY_NO_ROW;
}

/* Of the stretch before call i. */
static uint64_t site_key(const assay_tables *t, const rows *calls, size_t i)
{
	return (uint64_t)(i ? stack_of(t, calls, i - 1) : ASSAY_NO_ROW) << 32 |
	       stack_of(t, calls, i);
}

static void count_site(assay_sights *s, uint32_t sample)
{
	const assay_tables *t = &s->run->part.t;
	const rows *calls = &s->calls[t->sample.track[sample]];
	size_t next = begun(calls, t->host.ts, t->sample.ts[sample]);
	if (!calls->n)
		return;
	uint32_t *slot = assay_map_at(&s->by_site, site_key(t, calls, next));
	if (*slot == ASSAY_MAP_ABSENT) {
		*slot = (uint32_t)s->site.n;
		*assay_push(&s->site) = (site){.looks = {0}};
	}
	site *at = &s->site.p[*slot];
	uint8_t doing = t->seen.doing[sample];
	uint32_t best = at->sample[doing];
	if (!at->looks[doing] || t->sample.dur[sample] > t->sample.dur[best])
		at->sample[doing] = sample;
	at->looks[doing] += t->sample.count[sample];
}

static uint32_t usual_sample(const assay_sights *s, uint64_t key)
{
	uint32_t row = assay_map_get(&s->by_site, key), most = 0;
	if (row == ASSAY_MAP_ABSENT)
		return ASSAY_NO_ROW;
	const site *at = &s->site.p[row];
	for (uint32_t d = 1; d < ASSAY_DOING_COUNT; d++)
		most = at->looks[d] > at->looks[most] ? d : most;
	return at->sample[most];
}

/* ---- without a processor ---- */

/* A sample has how long its thread was ready to run and did not until the next one. Where in
 * between is not known: the longest calls and stretches between them had most of it, for shorter
 * ones are as long as they are. */
#define LONG_CALL 100000 /* ns */

static void add_piece(pieces *out, int64_t from, int64_t to, uint32_t call)
{
	if (to - from >= LONG_CALL)
		*assay_push(out) = (struct piece){from, to, call};
}

/* Outermost calls that begin in [from, to), and what lies between them. */
static void cut_pieces(const assay_sights *s, const rows *calls, int64_t from, int64_t to,
		       pieces *out)
{
	const assay_host_table *h = &s->run->part.t.host;
	size_t i = begun(calls, h->ts, from - 1);
	int64_t end = from;
	out->n = 0;
	for (; i < calls->n && h->ts[calls->row[i]] < to; i++) {
		uint32_t row = calls->row[i];
		int64_t back = assay_host_end(h, row);
		if (h->ts[row] >= end) {
			add_piece(out, end, h->ts[row], ASSAY_NO_ROW);
			add_piece(out, h->ts[row], back, row);
		}
		end = back > end ? back : end;
	}
	if (i < calls->n || to < INT64_MAX)
		add_piece(out, end, to, ASSAY_NO_ROW);
}

static int longest_first(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;
	return assay_then(ASSAY_CMP(y->to - y->from, x->to - x->from), ASSAY_CMP(x->from, y->from));
}

/* The last part of a piece goes. */
static void rob_pieces(assay_sights *s, pieces *of, int64_t rest, pieces *between)
{
	if (of->n)
		qsort(of->p, of->n, sizeof *of->p, longest_first);
	for (size_t i = 0; i < of->n && rest >= LONG_CALL; i++) {
		const struct piece *p = &of->p[i];
		int64_t part = p->to - p->from < rest ? p->to - p->from : rest;
		if (p->call != ASSAY_NO_ROW)
			s->robbed[p->call] = part;
		else
			*assay_push(between) = (struct piece){p->to - part, p->to, ASSAY_NO_ROW};
		rest -= part;
	}
}

/* Calls inside a robbed one have its last part. */
static void rob_nested(assay_sights *s, const rows *calls)
{
	const assay_host_table *h = &s->run->part.t.host;
	uint32_t outer = ASSAY_NO_ROW;
	for (size_t i = 0; i < calls->n; i++) {
		uint32_t row = calls->row[i];
		if (outer == ASSAY_NO_ROW || h->ts[row] >= assay_host_end(h, outer)) {
			outer = s->robbed[row] ? row : ASSAY_NO_ROW;
			continue;
		}
		int64_t from = assay_host_end(h, outer) - s->robbed[outer];
		int64_t part = assay_host_end(h, row) - (h->ts[row] > from ? h->ts[row] : from);
		s->robbed[row] = part > 0 ? part : 0;
	}
}

static int by_start(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;
	return ASSAY_CMP(x->from, y->from);
}

static void rob_thread(assay_sights *s, const rows *samples, const rows *calls, pieces *between)
{
	const assay_tables *t = &s->run->part.t;
	pieces of = {0};
	for (size_t i = 0; i < samples->n; i++) {
		uint32_t at = samples->row[i];
		int64_t from = t->sample.ts[at] + t->sample.dur[at];
		int64_t to = i + 1 < samples->n ? t->sample.ts[samples->row[i + 1]] : INT64_MAX;
		bool ready = t->seen.doing[at] == ASSAY_DOING_CPU_WAIT;
		int64_t rest = t->sample.delay[at] - (ready ? t->sample.dur[at] : 0);
		if (rest < LONG_CALL)
			continue;
		cut_pieces(s, calls, from, to, &of);
		rob_pieces(s, &of, rest, between);
	}
	if (between->n)
		qsort(between->p, between->n, sizeof *between->p, by_start);
	assay_vec_free(&of);
}

static void find_robbed(assay_sights *s)
{
	const assay_tables *t = &s->run->part.t;
	s->robbed = assay_alloc(&s->scratch, (t->host.n + 1) * sizeof *s->robbed);
	s->between = assay_alloc(&s->scratch, (t->track.n + 1) * sizeof *s->between);
	for (size_t k = 0; k < t->track.n; k++)
		if (s->samples[k].n) {
			rob_thread(s, &s->samples[k], &s->calls[k], &s->between[k]);
			rob_nested(s, &s->calls[k]);
		}
}

/* ---- threads that work for another one ---- */

/* Calls with a lent stack are of helpers; samples know whose stack it is. */
static void find_helpers(assay_sights *s)
{
	const assay_tables *t = &s->run->part.t;
	s->works_for = assay_alloc(&s->scratch, (t->track.n + 1) * sizeof *s->works_for);
	memset(s->works_for, 0xff, t->track.n * sizeof *s->works_for);
	s->in_python = assay_alloc(&s->scratch, t->track.n + 1);
	for (uint32_t h = 0; h < t->host.n; h++) {
		uint32_t stack = assay_call_stack(t, h);
		if (stack == ASSAY_NO_ROW)
			continue;
		if (t->api.lent[t->host.detail[h]])
			*assay_map_at(&s->helper, stack) = t->host.track[h];
		else
			s->in_python[t->host.track[h]] = true;
	}
	for (uint32_t i = 0; i < t->sample.n; i++) {
		s->in_python[t->sample.track[i]] |= t->sample.stack[i] != ASSAY_NO_ROW;
		uint32_t helper = assay_map_get(&s->helper, t->sample.stack[i]);
		if (helper != ASSAY_MAP_ABSENT && helper != t->sample.track[i])
			s->works_for[helper] = t->sample.track[i];
	}
}

/* When the last call that a helper begins before an instant ends; INT64_MIN when there is none. */
static int64_t busy_until(const assay_sights *s, uint32_t helper, int64_t before)
{
	const assay_host_table *h = &s->run->part.t.host;
	const rows *calls = &s->calls[helper];
	size_t n = begun(calls, h->ts, before - 1);
	return n ? assay_host_end(h, calls->row[n - 1]) : INT64_MIN;
}

uint32_t assay_sights_awaited(const assay_sights *s, uint32_t track, int64_t now, assay_sight *seen)
{
	const assay_tables *t = &s->run->part.t;
	uint32_t helper;
	if (seen->cause != ASSAY_WHY_HOST_LOCK || seen->sample == ASSAY_NO_ROW)
		return ASSAY_NO_ROW;
	if (s->works_for[track] != ASSAY_NO_ROW)
		return s->works_for[track];
	uint32_t culprit = t->seen.culprit[seen->sample];
	if (!s->in_python[track] && culprit != ASSAY_NO_ROW) /* as a runtime's pool does */
		return t->sample.track[culprit];
	helper = assay_map_get(&s->helper, t->sample.stack[seen->sample]);
	if (helper == ASSAY_MAP_ABSENT)
		return ASSAY_NO_ROW;
	const rows *calls = &s->calls[track];
	size_t next = begun(calls, t->host.ts, now);
	int64_t to = next < calls->n ? t->host.ts[calls->row[next]] : INT64_MAX;
	int64_t busy = busy_until(s, helper, to);
	if (busy > now) {
		seen->until = busy < seen->until ? busy : seen->until;
		return helper;
	}
	/* its helper is done: the thread goes on, whatever it was last seen at */
	uint32_t stack = stack_of(t, calls, next);
	if (stack != ASSAY_NO_ROW)
		*seen = (assay_sight){seen->until, stack, ASSAY_NO_ROW, ASSAY_WHY_HOST_PYTHON};
	return ASSAY_NO_ROW;
}

/* ---- answers ---- */

static assay_sight from_sample(const assay_sights *s, uint32_t sample, int64_t until)
{
	const assay_tables *t = &s->run->part.t;
	return (assay_sight){until, t->sample.stack[sample], sample,
			     (assay_why)why_of[t->seen.doing[sample]]};
}

/* Nothing was seen between the calls: they say at least whether the thread was in Python. */
static assay_sight from_calls(const assay_sights *s, const rows *calls, size_t next, int64_t now,
			      int64_t to)
{
	const assay_tables *t = &s->run->part.t;
	uint32_t usual =
		to - now >= SEEN_OFTEN ? usual_sample(s, site_key(t, calls, next)) : ASSAY_NO_ROW;
	uint32_t stack = stack_of(t, calls, next);
	if (usual != ASSAY_NO_ROW)
		return from_sample(s, usual, to);
	if (stack == ASSAY_NO_ROW)
		return (assay_sight){to, stack, ASSAY_NO_ROW,
				     t->stack.n && next < calls->n ? ASSAY_WHY_HOST_NATIVE
								   : ASSAY_WHY_HOST_UNTRACED};
	bool lent = t->api.lent[t->host.detail[calls->row[next]]];
	return (assay_sight){to, stack, ASSAY_NO_ROW,
			     lent ? ASSAY_WHY_HOST_NATIVE : ASSAY_WHY_HOST_PYTHON};
}

/* What the samples in [begin, end) say of an instant there, up to `to`; sample is none without any.
 * The first look speaks for what was before it too. */
static assay_sight from_looks(const assay_sights *s, const rows *samples, int64_t begin,
			      int64_t end, int64_t now, int64_t to)
{
	const assay_tables *t = &s->run->part.t;
	size_t k = begun(samples, t->sample.ts, now);
	bool after = k < samples->n && t->sample.ts[samples->row[k]] < end;
	bool before = k && t->sample.ts[samples->row[k - 1]] >= begin;
	size_t at = before ? k - 1 : k, next = at + 1;
	if (!before && !after)
		return (assay_sight){to, ASSAY_NO_ROW, ASSAY_NO_ROW, ASSAY_WHY_HOST_UNTRACED};
	bool changes = next < samples->n && t->sample.ts[samples->row[next]] < to;
	return from_sample(s, samples->row[at], changes ? t->sample.ts[samples->row[next]] : to);
}

/* Whatever a thread was seen at, it does nothing while it waits for a processor. */
static assay_sight without_processor(const pieces *robbed, int64_t now, assay_sight seen)
{
	const struct piece *p = robbed->p;
	size_t k = robbed->n ? assay_count_until(&p->from, sizeof *p, robbed->n, now) : 0;
	if (k && now < p[k - 1].to)
		return (assay_sight){p[k - 1].to < seen.until ? p[k - 1].to : seen.until,
				     seen.stack, ASSAY_NO_ROW, ASSAY_WHY_HOST_CPU_WAIT};
	if (k < robbed->n && p[k].from < seen.until)
		seen.until = p[k].from;
	return seen;
}

/* What the scheduler told of an instant; ASSAY_NO_ROW: nothing. *until is no later than the next
 * change. */
static uint32_t turn_at(const assay_sights *s, uint32_t track, int64_t now, int64_t *until)
{
	const assay_sample_table *x = &s->run->part.t.sample;
	const rows *turns = &s->turns[track];
	size_t k = begun(turns, x->ts, now);
	if (k < turns->n && x->ts[turns->row[k]] < *until)
		*until = x->ts[turns->row[k]];
	uint32_t at = k ? turns->row[k - 1] : ASSAY_NO_ROW;
	int64_t end;
	if (!k)
		return ASSAY_NO_ROW;
	if (__builtin_add_overflow(x->ts[at], x->dur[at], &end))
		end = INT64_MAX;
	if (now >= end)
		return ASSAY_NO_ROW;
	*until = end < *until ? end : *until;
	return at;
}

/* A thread that has a processor does something; one that has none, nothing of what it was seen at
 * with one. */
static assay_sight by_scheduler(const assay_sights *s, uint32_t track, int64_t now,
				assay_sight seen)
{
	const assay_tables *t = &s->run->part.t;
	uint32_t turn = turn_at(s, track, now, &seen.until);
	if (turn == ASSAY_NO_ROW)
		return seen;
	bool runs = t->sample.state[turn] == ASSAY_THREAD_RUNNING;
	bool ran =
		seen.sample == ASSAY_NO_ROW || t->sample.state[seen.sample] == ASSAY_THREAD_RUNNING;
	if (runs ? seen.cause != ASSAY_WHY_HOST_UNTRACED : !ran)
		return seen;
	seen.sample = turn;
	seen.cause = (assay_why)why_of[t->seen.doing[turn]];
	return seen;
}

assay_sight assay_sights_at(const assay_sights *s, uint32_t track, int64_t now, int64_t to)
{
	const assay_tables *t = &s->run->part.t;
	const rows *calls = &s->calls[track];
	size_t next = begun(calls, t->host.ts, now);
	int64_t begin = next ? assay_host_end(&t->host, calls->row[next - 1]) : INT64_MIN;
	int64_t end = next < calls->n ? t->host.ts[calls->row[next]] : INT64_MAX;
	assay_sight seen = from_looks(s, &s->samples[track], begin, end, now, to);
	if (seen.sample == ASSAY_NO_ROW)
		seen = from_calls(s, calls, next, now, to);
	return by_scheduler(s, track, now, without_processor(&s->between[track], now, seen));
}

bool assay_sights_robbed(const assay_sights *s, uint32_t host, int64_t now, int64_t to,
			 assay_sight *out)
{
	const assay_host_table *h = &s->run->part.t.host;
	int64_t end = assay_host_end(h, host), from = end - s->robbed[host];
	uint32_t turn = turn_at(s, h->track[host], now, &to);
	if (turn != ASSAY_NO_ROW) {
		*out = (assay_sight){to, ASSAY_NO_ROW, turn, ASSAY_WHY_HOST_CPU_WAIT};
		return s->run->part.t.sample.state[turn] == ASSAY_THREAD_READY;
	}
	*out = from_looks(s, &s->samples[h->track[host]], h->ts[host], end, now, to);
	if (out->sample != ASSAY_NO_ROW || !s->robbed[host])
		return out->cause == ASSAY_WHY_HOST_CPU_WAIT;
	out->until = now < from && from < to ? from : to;
	return now >= from;
}

static void find_loops(assay_sights *s)
{
	const assay_tables *t = &s->run->part.t;
	bool *loop = assay_alloc(&s->scratch, t->code.n + 1);
	s->in_loop = assay_alloc(&s->scratch, t->stack.n + 1);
	for (uint32_t i = 0; i < t->code.n; i++)
		loop[i] = assay_word_of_frame(assay_text(s->run, t->code.file[i])) ==
			  ASSAY_WORD_EVENT_LOOP;
	for (uint32_t i = 0; i < t->stack.n; i++) {
		uint32_t up = t->stack.caller[i], code = t->stack.code[i];
		s->in_loop[i] = loop[code] || (!t->code.own[code] && up < i && s->in_loop[up]);
	}
}

bool assay_sights_in_loop(const assay_sights *s, uint32_t stack)
{
	return stack != ASSAY_NO_ROW && s->in_loop[stack];
}

uint32_t assay_sights_task(const assay_sights *s, uint32_t stack)
{
	const uint32_t *caller = s->run->part.t.stack.caller;
	for (uint32_t at = stack; at != ASSAY_NO_ROW; at = caller[at])
		if (assay_sights_in_loop(s, caller[at]))
			return at;
	return stack;
}

assay_sights *assay_sights_new(const assay_run *run)
{
	const assay_tables *t = &run->part.t;
	if (!t->stack.n && !t->sample.n)
		return NULL;
	assay_arena scratch = {0};
	assay_sights *s = assay_alloc(&scratch, sizeof *s);
	*s = (assay_sights){.run = run, .scratch = scratch};
	s->calls = by_track(s, t->host.n, t->host.track, t->host.ts, is_call);
	s->samples = by_track(s, t->sample.n, t->sample.track, t->sample.ts, between_calls);
	s->turns = by_track(s, t->sample.n, t->sample.track, t->sample.ts, is_turn);
	for (uint32_t i = 0; i < t->sample.n; i++)
		if (between_calls(t, i))
			count_site(s, i);
	find_robbed(s);
	find_helpers(s);
	find_loops(s);
	return s;
}

void assay_sights_free(assay_sights *s)
{
	if (!s)
		return;
	for (size_t k = 0; k < s->run->part.t.track.n; k++)
		assay_vec_free(&s->between[k]);
	assay_map_free(&s->by_site);
	assay_map_free(&s->helper);
	assay_vec_free(&s->site);
	assay_arena scratch = s->scratch; /* which s itself lies in */
	assay_arena_free(&scratch);
}

/* ---- tests ---- */

static uint32_t hand_call(assay_run *run, int64_t ts, uint32_t stack)
{
	uint32_t h = assay_hand_host(run, ASSAY_HOST_RUNTIME, "cudaLaunchKernel", ts, 10);
	uint32_t detail = assay_add(&run->part.t, ASSAY_T_api);
	run->part.t.host.detail[h] = detail;
	run->part.t.api.stack[detail] = stack;
	return h;
}

static void hand_sample(assay_run *run, int64_t ts, int64_t dur, assay_doing doing)
{
	assay_tables *t = &run->part.t;
	uint32_t i = assay_add(t, ASSAY_T_sample), k = assay_add(t, ASSAY_T_seen);
	t->sample.ts[i] = ts;
	t->sample.dur[i] = dur;
	t->sample.track[i] = t->host.track[0];
	t->sample.count[i] = doing == ASSAY_DOING_SLEEP ? 2 : 1;
	t->seen.doing[k] = (uint8_t)doing;
}

TEST(samples_between_two_calls_speak_for_the_stretch)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	uint32_t stack = assay_hand_stack(run, ASSAY_NO_ROW, "train.py", "main");
	hand_call(run, 0, stack);
	hand_call(run, 1000000, stack);
	hand_call(run, 2000000, stack);
	hand_call(run, 2000050, stack);
	hand_sample(run, 300000, 100000, ASSAY_DOING_SLEEP);
	hand_sample(run, 600000, 100000, ASSAY_DOING_IO);
	assay_sights *s = assay_sights_new(run);
	uint32_t track = t->host.track[0];
	assay_sight a = assay_sights_at(s, track, 100, 1000000);
	CHECK(a.cause == ASSAY_WHY_HOST_SLEEP && a.until == 600000 && a.sample == 0);
	a = assay_sights_at(s, track, 700000, 1000000);
	CHECK(a.cause == ASSAY_WHY_HOST_IO && a.until == 1000000);
	/* not looked at: what is usual from the same two places; too short to tell: Python */
	a = assay_sights_at(s, track, 1000100, 2000000);
	CHECK(a.cause == ASSAY_WHY_HOST_SLEEP && a.until == 2000000);
	a = assay_sights_at(s, track, 2000010, 2000050);
	CHECK(a.cause == ASSAY_WHY_HOST_PYTHON && a.stack == stack && a.sample == ASSAY_NO_ROW);
	/* after the last call nothing says more */
	a = assay_sights_at(s, track, 2000100, 2000200);
	CHECK(a.cause == ASSAY_WHY_HOST_UNTRACED);
	assay_sights_free(s);
	assay_run_free(run);
	return 0;
}

/* backward() of thread 0, gradients of thread 1, then thread 0 again. */
TEST(who_waits_in_backward_waits_for_the_thread_that_launches_for_it)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	uint32_t own = assay_hand_stack(run, ASSAY_NO_ROW, "train.py", "main"),
		 waits = assay_hand_stack(run, ASSAY_NO_ROW, "train.py", "backward");
	hand_call(run, 0, own);
	hand_call(run, 900, own);
	uint32_t other = assay_add(t, ASSAY_T_track), track = t->host.track[0];
	t->track.kind[other] = ASSAY_TRACK_THREAD;
	uint32_t call = hand_call(run, 400, waits);
	t->host.track[call] = other;
	t->api.lent[t->host.detail[call]] = 1;
	hand_sample(run, 100, 500, ASSAY_DOING_LOCK);
	t->sample.stack[0] = waits;
	assay_sights *s = assay_sights_new(run);
	assay_sight a = assay_sights_at(s, track, 200, 900);
	CHECK(a.cause == ASSAY_WHY_HOST_LOCK && assay_sights_awaited(s, track, 200, &a) == other);
	CHECK_EQ(a.until, 410);
	a = assay_sights_at(s, track, 410, 900);
	CHECK(assay_sights_awaited(s, track, 410, &a) == ASSAY_NO_ROW);
	CHECK(a.cause == ASSAY_WHY_HOST_PYTHON && a.stack == own && a.until == 900);
	/* and the helper, before there is work for it */
	a = (assay_sight){300, ASSAY_NO_ROW, 0, ASSAY_WHY_HOST_LOCK};
	CHECK(assay_sights_awaited(s, other, 100, &a) == track);
	/* a lock that nobody launches under is a lock */
	t->sample.stack[0] = own;
	a = (assay_sight){300, own, 0, ASSAY_WHY_HOST_LOCK};
	CHECK(assay_sights_awaited(s, track, 100, &a) == ASSAY_NO_ROW);
	CHECK_EQ(a.cause, ASSAY_WHY_HOST_LOCK);
	assay_sights_free(s);
	assay_run_free(run);
	return 0;
}

/* The thread was looked at before the second call, and its sample says that it had no processor for
 * 900 us until the next: the long call is what it waited in. */
TEST(long_calls_and_stretches_are_without_a_processor_where_the_sample_before_them_says_so)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	uint32_t stack = assay_hand_stack(run, ASSAY_NO_ROW, "train.py", "main");
	hand_call(run, 0, stack);
	uint32_t call = hand_call(run, 1000000, stack);
	t->host.dur[call] = 950000;
	hand_sample(run, 500000, 0, ASSAY_DOING_PYTHON);
	hand_sample(run, 2200000, 0, ASSAY_DOING_PYTHON);
	t->sample.delay[0] = 900000;
	assay_sights *s = assay_sights_new(run);
	assay_sight a;
	CHECK(!assay_sights_robbed(s, call, 1000000, 1950000, &a) && a.until == 1050000);
	CHECK(assay_sights_robbed(s, call, 1050000, 1950000, &a) && a.until == 1950000);
	CHECK(!assay_sights_robbed(s, 0, 2, 8, &a) && a.until == 8);
	assay_sights_free(s);
	/* what the call does not explain is of the longest stretch between calls */
	t->sample.delay[0] = 1200000;
	s = assay_sights_new(run);
	CHECK(assay_sights_robbed(s, call, 1000000, 1950000, &a) && a.until == 1950000);
	a = assay_sights_at(s, t->host.track[0], 600000, 1000000);
	CHECK(a.cause == ASSAY_WHY_HOST_PYTHON && a.until == 750000);
	a = assay_sights_at(s, t->host.track[0], 750000, 1000000);
	CHECK(a.cause == ASSAY_WHY_HOST_CPU_WAIT && a.until == 1000000);
	assay_sights_free(s);
	assay_run_free(run);
	return 0;
}

/* A pool's thread launches what thread 0 gives it; thread 0 runs Python meanwhile. */
TEST(a_thread_without_frames_that_waits_waits_for_the_one_that_works)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	uint32_t own = assay_hand_stack(run, ASSAY_NO_ROW, "train.py", "main");
	hand_call(run, 0, own);
	uint32_t pool = assay_add(t, ASSAY_T_track), track = t->host.track[0];
	t->track.kind[pool] = ASSAY_TRACK_THREAD;
	t->host.track[hand_call(run, 900000, ASSAY_NO_ROW)] = pool;
	hand_sample(run, 100000, 500000, ASSAY_DOING_PYTHON);
	hand_sample(run, 100000, 500000, ASSAY_DOING_LOCK);
	t->sample.stack[0] = own;
	t->sample.track[1] = pool;
	t->seen.culprit[1] = 0;
	assay_sights *s = assay_sights_new(run);
	assay_sight a = assay_sights_at(s, pool, 200000, 900000);
	CHECK(a.cause == ASSAY_WHY_HOST_LOCK);
	CHECK_EQ(assay_sights_awaited(s, pool, 200000, &a), track);
	assay_sights_free(s);
	t->sample.stack[1] = own; /* a lock of the program's own */
	s = assay_sights_new(run);
	a = assay_sights_at(s, pool, 200000, 900000);
	CHECK_EQ(assay_sights_awaited(s, pool, 200000, &a), ASSAY_NO_ROW);
	assay_sights_free(s);
	assay_run_free(run);
	return 0;
}

static void hand_turn(assay_run *run, int64_t ts, int64_t dur, assay_thread_state state)
{
	static const uint8_t doing[ASSAY_THREAD_STATE_COUNT] = {
		[ASSAY_THREAD_RUNNING] = ASSAY_DOING_NATIVE,
		[ASSAY_THREAD_READY] = ASSAY_DOING_CPU_WAIT};
	hand_sample(run, ts, dur, (assay_doing)doing[state]);
	uint32_t i = (uint32_t)run->part.t.sample.n - 1;
	run->part.t.sample.state[i] = (uint8_t)state;
	run->part.t.sample.flags[i] = ASSAY_SAMPLE_TURN;
}

/* The turn that is on when a call ends goes on after it; a look speaks while it lasts. */
TEST(what_the_scheduler_tells_lasts_as_long_as_it_says)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	uint32_t stack = assay_hand_stack(run, ASSAY_NO_ROW, "train.py", "main");
	hand_call(run, 100, ASSAY_NO_ROW);
	uint32_t last = hand_call(run, 900, ASSAY_NO_ROW);
	t->host.dur[last] = 100;
	hand_turn(run, 0, 300, ASSAY_THREAD_RUNNING);
	hand_turn(run, 300, 100, ASSAY_THREAD_OFF);
	hand_turn(run, 400, 520, ASSAY_THREAD_RUNNING);
	hand_turn(run, 920, 30, ASSAY_THREAD_READY);
	hand_sample(run, 500, 0, ASSAY_DOING_PYTHON);
	t->sample.state[4] = ASSAY_THREAD_RUNNING;
	t->sample.stack[4] = stack;
	assay_sights *s = assay_sights_new(run);
	uint32_t track = t->host.track[0];
	assay_sight a = assay_sights_at(s, track, 320, 900);
	CHECK(a.cause == ASSAY_WHY_HOST_UNTRACED && a.sample == 1 && a.until == 400);
	a = assay_sights_at(s, track, 450, 900);
	CHECK(a.cause == ASSAY_WHY_HOST_PYTHON && a.stack == stack && a.sample == 4);
	CHECK(!assay_sights_robbed(s, last, 900, 1000, &a) && a.until == 920);
	CHECK(assay_sights_robbed(s, last, 920, 1000, &a) && a.until == 950);
	CHECK(!assay_sights_robbed(s, last, 950, 1000, &a) && a.until == 1000);
	assay_sights_free(s);
	t->sample.n = t->seen.n = 4; /* no look: a thread that runs does something */
	s = assay_sights_new(run);
	a = assay_sights_at(s, track, 120, 900);
	CHECK(a.cause == ASSAY_WHY_HOST_NATIVE && a.until == 300);
	assay_sights_free(s);
	assay_run_free(run);
	return 0;
}

TEST(an_event_loop_says_nothing_until_it_runs_the_program)
{
	assay_run *run = assay_run_new();
	uint32_t main = assay_hand_stack(run, ASSAY_NO_ROW, "serve.py", "<module>"),
		 loop = assay_hand_stack(run, main, "/usr/lib/python3.12/asyncio/base_events.py",
					 "BaseEventLoop._run_once"),
		 waits = assay_hand_stack(run, loop, "/usr/lib/python3.12/selectors.py", "select"),
		 runs = assay_hand_stack(run, loop, "serve.py", "handle"),
		 inner = assay_hand_stack(run, runs, "/usr/lib/python3.12/json/decoder.py",
					  "decode");
	const uint32_t own[] = {main, runs};
	for (size_t i = 0; i < ASSAY_COUNT_OF(own); i++)
		run->part.t.code.own[run->part.t.stack.code[own[i]]] = 1;
	assay_sights *s = assay_sights_new(run);
	CHECK(assay_sights_in_loop(s, loop) && assay_sights_in_loop(s, waits));
	CHECK(!assay_sights_in_loop(s, main) && !assay_sights_in_loop(s, runs));
	CHECK(!assay_sights_in_loop(s, inner) && !assay_sights_in_loop(s, ASSAY_NO_ROW));
	CHECK_EQ(assay_sights_task(s, inner), runs);
	CHECK_EQ(assay_sights_task(s, runs), runs);
	CHECK_EQ(assay_sights_task(s, main), main);
	CHECK_EQ(assay_sights_task(s, ASSAY_NO_ROW), ASSAY_NO_ROW);
	assay_sights_free(s);
	assay_run_free(run);
	return 0;
}
