#include "write/lanes.h"

#include <assert.h>
#include <stdlib.h>

#include "base/compare.h"
#include "base/test.h"
#include "model/stacks.h"

/* A thread was in this stack, in these functions of libraries, or in a look's system call. */
typedef struct sight {
	int64_t ts, end;
	uint32_t track, stack, calls, sample;
} sight;
typedef assay_vec(sight) sights;

/* A span that may go on. What is called from another line of its caller is another call. */
typedef struct level {
	uint32_t caller, code; /* rows of stack and code; of a system call the look's word */
	uint32_t span;
	int64_t end;
} level;

typedef struct lanes {
	const assay_run *run;
	const assay_tables *t;
	assay_lanes *out;
	assay_vec(level) open;
	assay_vec(uint32_t) chain; /* rows of stack, outermost first */
} lanes;

static int64_t end_of(int64_t ts, int64_t dur)
{
	int64_t end;
	return dur <= 0 || __builtin_add_overflow(ts, dur, &end) ? ts : end;
}

static int by_track_and_time(const void *a, const void *b)
{
	const sight *x = a, *y = b;
	return assay_then(ASSAY_CMP(x->track, y->track),
			  assay_then(ASSAY_CMP(x->ts, y->ts), ASSAY_CMP(y->end, x->end)));
}

/* A lent stack is another thread's. */
static void find_sights(const assay_tables *t, sights *all)
{
	const assay_sample_table *s = &t->sample;
	for (uint32_t h = 0; h < t->host.n; h++) {
		uint32_t d = t->host.detail[h];
		if (!assay_is_call(t->host.kind[h]) || d == ASSAY_NO_ROW || t->api.lent[d] ||
		    t->api.stack[d] == ASSAY_NO_ROW)
			continue;
		*assay_push(all) = (sight){t->host.ts[h],    end_of(t->host.ts[h], t->host.dur[h]),
					   t->host.track[h], t->api.stack[d],
					   ASSAY_NO_ROW,     ASSAY_NO_ROW};
	}
	for (uint32_t i = 0; i < s->n; i++)
		*assay_push(all) = (sight){s->ts[i],    end_of(s->ts[i], s->dur[i]),
					   s->track[i], s->stack[i],
					   s->calls[i], i};
	if (all->n)
		qsort(all->p, all->n, sizeof *all->p, by_track_and_time);
}

/* Ends what is open from a depth on, no later than the next sight. */
static void close_from(lanes *l, size_t depth, int64_t next)
{
	for (; l->open.n > depth; l->open.n--) {
		const level *v = &l->open.p[l->open.n - 1];
		assert(v->span < l->out->n);
		assay_lane_span *s = &l->out->p[v->span];
		int64_t end = v->end < next ? v->end : next;
		s->dur = end > s->ts ? end - s->ts : 0;
	}
}

static bool is_level(const level *v, uint32_t caller, uint32_t code)
{
	return v->caller == caller && v->code == code;
}

/* The level at this depth is seen until then: the one that is open, or a new one. */
static void see_level(lanes *l, size_t depth, uint32_t caller, uint32_t code, uint32_t stack,
		      const sight *at)
{
	assert(depth <= l->open.n);
	if (depth >= l->open.n || !is_level(&l->open.p[depth], caller, code)) {
		close_from(l, depth, at->ts);
		uint32_t parent = depth ? l->open.p[depth - 1].span : ASSAY_NO_ROW;
		*assay_push(&l->open) = (level){caller, code, (uint32_t)l->out->n, at->end};
		*assay_push(l->out) =
			(assay_lane_span){at->ts, 0, at->track, stack, at->sample, parent};
	} else if (l->open.p[depth].end < at->end) {
		l->open.p[depth].end = at->end;
	}
}

static size_t see_chain(lanes *l, uint32_t stack, size_t depth, const sight *at)
{
	l->chain.n = 0;
	for (uint32_t s = stack; s != ASSAY_NO_ROW; s = l->t->stack.caller[s])
		*assay_push(&l->chain) = s;
	for (; l->chain.n; l->chain.n--, depth++) {
		uint32_t s = l->chain.p[l->chain.n - 1];
		see_level(l, depth, l->t->stack.caller[s], l->t->stack.code[s], s, at);
	}
	return depth;
}

/* What a look says of the system: equal words and files are the same. Never a row of stack. */
static uint32_t system_word(const lanes *l, uint32_t sample)
{
	const assay_sample_table *s = &l->t->sample;
	uint32_t key[4] = {s->state[sample], s->kind[sample], s->gil[sample] == ASSAY_GIL_WAITS,
			   s->file[sample]};
	return (uint32_t)assay_hash(key, sizeof key, 0);
}

static void see(lanes *l, const sight *at)
{
	size_t depth = see_chain(l, at->calls, see_chain(l, at->stack, 0, at), at);
	if (at->sample != ASSAY_NO_ROW)
		see_level(l, depth++, ASSAY_NO_ROW - 1, system_word(l, at->sample), ASSAY_NO_ROW,
			  at);
	close_from(l, depth, at->ts);
}

void assay_lanes_make(const assay_run *run, assay_lanes *out)
{
	lanes l = {.run = run, .t = &run->part.t, .out = out};
	sights all = {0};
	find_sights(l.t, &all);
	for (size_t i = 0; i < all.n; i++) {
		if (i && all.p[i].track != all.p[i - 1].track)
			close_from(&l, 0, INT64_MAX);
		see(&l, &all.p[i]);
	}
	close_from(&l, 0, INT64_MAX);
	assay_vec_free(&all);
	assay_vec_free(&l.open);
	assay_vec_free(&l.chain);
}

const char *assay_lane_name(assay_arena *a, const assay_run *run, const assay_lane_span *s)
{
	const assay_tables *t = &run->part.t;
	if (s->stack == ASSAY_NO_ROW)
		return assay_look_name(a, run, s->sample);
	uint32_t code = t->stack.code[s->stack];
	assay_str file = assay_text(run, t->code.file[code]);
	assay_str function = assay_text(run, t->code.function[code]);
	if (t->code.line[code] <= 0)
		return assay_printf(a, "%.*s: %.*s", (int)file.n, file.p, (int)function.n,
				    function.p);
	return assay_printf(a, "%.*s(%d): %.*s", (int)file.n, file.p, t->code.line[code],
			    (int)function.n, function.p);
}

/* ------------------------------------------------------------------ tests */

static uint32_t call(assay_stacks *s, assay_run *run, uint32_t caller, const char *function,
		     int32_t line)
{
	uint32_t code = assay_stacks_code(s, ASSAY_CODE_PYTHON, assay_sid_of(run, "a.py"),
					  assay_sid_of(run, function), 1, -1);
	return assay_stacks_call(s, caller, code, line);
}

static void look(assay_run *run, uint32_t stack, int64_t ts, int64_t dur, assay_call_kind kind)
{
	assay_sample_table *s = &run->part.t.sample;
	uint32_t row = assay_add(&run->part.t, ASSAY_T_sample);
	s->ts[row] = ts;
	s->dur[row] = dur;
	s->track[row] = assay_thread_track(&run->part, 3, 4);
	s->stack[row] = stack;
	s->state[row] = ASSAY_THREAD_BLOCKED;
	s->kind[row] = (uint8_t)kind;
}

TEST(functions_last_from_their_first_to_their_last_sight)
{
	assay_run *run = assay_run_new();
	assay_stacks s = {.part = &run->part};
	assay_arena a = {0};
	assay_lanes l = {0};
	uint32_t main9 = call(&s, run, ASSAY_NO_ROW, "main", 9);
	uint32_t main10 = call(&s, run, ASSAY_NO_ROW, "main", 10);
	look(run, call(&s, run, main9, "f", 3), 100, 50, ASSAY_CALL_READ);
	look(run, call(&s, run, main9, "f", 4), 200, 0, ASSAY_CALL_READ);
	look(run, call(&s, run, main10, "f", 4), 300, 10, ASSAY_CALL_SLEEP);
	assay_lanes_make(run, &l);
	static const struct {
		const char *name;
		int64_t ts, dur;
		uint32_t parent;
	} want[] = {
		{"a.py(1): main", 100, 210, ASSAY_NO_ROW},
		{"a.py(1): f", 100, 100, 0},
		{"blocked: read", 100, 100, 1},
		{"a.py(1): f", 300, 10, 0},
		{"blocked: sleep", 300, 10, 3},
	};
	CHECK_EQ(l.n, ASSAY_COUNT_OF(want));
	for (size_t i = 0; i < l.n; i++) {
		CHECK(!strcmp(assay_lane_name(&a, run, &l.p[i]), want[i].name));
		CHECK_EQ(l.p[i].ts, want[i].ts);
		CHECK_EQ(l.p[i].dur, want[i].dur);
		CHECK_EQ(l.p[i].parent, want[i].parent);
	}
	assay_vec_free(&l);
	assay_arena_free(&a);
	assay_stacks_free(&s);
	assay_run_free(run);
	return 0;
}

/* Whatever is seen in whatever order, spans lie inside their parents and in order. */
TEST(spans_of_a_lane_nest)
{
	assay_run *run = assay_run_new();
	assay_stacks s = {.part = &run->part};
	assay_lanes l = {0};
	uint32_t stack[32] = {ASSAY_NO_ROW}, seed = 7;
	static const char *const names[] = {"a", "b", "c"};
	for (uint32_t i = 1; i < ASSAY_COUNT_OF(stack); i++)
		stack[i] = call(&s, run, stack[i / 2 % i], names[i % 3], (int32_t)(i % 5 + 1));
	for (int i = 0; i < 500; i++) {
		seed = seed * 1664525 + 1013904223;
		look(run, stack[seed >> 27], (seed >> 8) % 5000, (seed >> 16) % 90,
		     (assay_call_kind)(seed >> 12 & 3));
	}
	assay_lanes_make(run, &l);
	CHECK(l.n > 500);
	for (size_t i = 0; i < l.n; i++) {
		CHECK(l.p[i].dur >= 0 && (!i || l.p[i].ts >= l.p[i - 1].ts));
		uint32_t up = l.p[i].parent;
		if (up != ASSAY_NO_ROW)
			CHECK(up < i && l.p[up].ts <= l.p[i].ts &&
			      l.p[up].ts + l.p[up].dur >= l.p[i].ts + l.p[i].dur);
	}
	assay_vec_free(&l);
	assay_stacks_free(&s);
	assay_run_free(run);
	return 0;
}
