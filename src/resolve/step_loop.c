/* Steps from the loop in the stacks of calls. The launching thread's calls come from ever deeper
 * frames; going down from the outermost one, as long as most calls pass through one function, the
 * first function that visits its lines again and again holds the loop. Of its lines the rare ones
 * mark a step, those of inner loops are visited more often. Where an optimizer is seen at work, a
 * step has one of its runs; a loop that is one line long shows by these alone, else by the
 * functions that the line calls one after the other. Where a loop calls from a single line, looks
 * at the thread in between tell one round from the next. */
#include "resolve/resolve.h"

#include "base/median.h"
#include "base/sort.h"
#include "base/test.h"
#include "model/by_hand.h"
#include "model/steps.h"
#include "names/copies.h"
#include "names/words.h"
#include "resolve/rounds.h"

enum {
	LEAST_STEPS = 3,
	DEEPEST = 64,
	LINES_MAX = 512, /* of one function, with calls */
};
#define LEAST_NS 1000000 /* shorter than this without an optimizer: a layer, not a step */

typedef struct moment {
	int64_t ts;
	uint32_t stack;
	uint32_t work; /* rows of gpu that the call launched, but for copies to the host */
	bool look;     /* the sampler's: it parts visits of lines and begins none */
} moment;

/* Calls of one thread with stacks, and looks at it where they are taken, by time. */
typedef struct calls {
	const assay_run *run;
	assay_arena scratch;
	moment *moment;   /* as the tables have them */
	uint32_t *row;    /* by time: in moment */
	uint64_t *weight; /* by time: calls and work before it; one more than there are */
	size_t n;
	int64_t end;
	uint32_t *above;     /* by row of stack: the call at the depth looked at, or NO_ROW */
	uint32_t *below;     /* the same, one deeper */
	bool *in;            /* by call: passes through the functions followed so far */
	uint32_t *after_run; /* first call behind each run of the optimizer, also where none follows
			      */
	size_t optimizer_runs;
} calls;

/* Visits of one place of a function: a line, or what it calls there. */
typedef struct visits {
	int32_t place;
	uint32_t n, first, last; /* calls that begin the first and the last of them */
	uint64_t work;
} visits;

static const moment *at(const calls *c, size_t i)
{
	return &c->moment[c->row[i]];
}

static uint32_t stack_of(const calls *c, size_t i)
{
	return at(c, i)->stack;
}

/* ---- which thread ---- */

static uint32_t main_track(const assay_run *run, uint32_t source, assay_arena *a)
{
	const assay_tables *t = &run->part.t;
	uint32_t *count = assay_alloc(a, (t->track.n + 1) * sizeof *count), best = ASSAY_NO_ROW;
	for (uint32_t h = 0; h < t->host.n; h++)
		if (assay_call_stack(t, h) != ASSAY_NO_ROW && !t->api.lent[t->host.detail[h]] &&
		    t->track.source[t->host.track[h]] == source)
			count[t->host.track[h]]++;
	for (uint32_t k = 0; k < t->track.n; k++)
		if (count[k] && (best == ASSAY_NO_ROW || count[k] > count[best]))
			best = k;
	return best;
}

static bool is_call_of(const assay_tables *t, uint32_t host, uint32_t track)
{
	return t->host.track[host] == track && assay_call_stack(t, host) != ASSAY_NO_ROW;
}

static bool is_look_at(const assay_tables *t, uint32_t sample, uint32_t track)
{
	return t->sample.track[sample] == track && t->sample.stack[sample] != ASSAY_NO_ROW;
}

static void order(calls *c)
{
	int64_t *ts = assay_alloc(&c->scratch, (c->n + 1) * sizeof *ts);
	c->row = assay_alloc(&c->scratch, (c->n + 1) * sizeof *c->row);
	for (uint32_t i = 0; i < c->n; i++) {
		ts[i] = c->moment[i].ts;
		c->row[i] = i;
	}
	assay_sort_rows(c->row, c->n, ts);
}

static void add_up(calls *c)
{
	c->weight = assay_alloc(&c->scratch, (c->n + 1) * sizeof *c->weight);
	for (size_t i = 0; i < c->n; i++)
		c->weight[i + 1] = c->weight[i] + (at(c, i)->look ? 0 : 1 + at(c, i)->work);
}

/* Copies to the host are what lines have that log now and then. */
static bool is_for_the_host(const assay_run *run, uint32_t gpu)
{
	const assay_gpu_table *g = &run->part.t.gpu;
	return g->kind[gpu] == ASSAY_GPU_MEMCPY &&
	       assay_copy_way_of(assay_text(run, g->name[gpu])) == ASSAY_COPY_TO_HOST;
}

static void weigh(calls *c, const uint32_t *of_host)
{
	const assay_launch_table *l = &c->run->part.t.launch;
	for (uint32_t g = 0; g < l->n; g++)
		if (l->host[g] != ASSAY_NO_ROW && of_host[l->host[g]] &&
		    !is_for_the_host(c->run, g))
			c->moment[of_host[l->host[g]] - 1].work++;
}

static void take_calls(calls *c, uint32_t track, bool looks)
{
	const assay_tables *t = &c->run->part.t;
	uint32_t *of_host = assay_alloc(&c->scratch, (t->host.n + 1) * sizeof *of_host);
	size_t n = 0;
	for (uint32_t h = 0; h < t->host.n; h++)
		of_host[h] = is_call_of(t, h, track) ? (uint32_t)++n : 0;
	for (uint32_t i = 0; looks && i < t->sample.n; i++)
		n += is_look_at(t, i, track);
	c->moment = assay_alloc(&c->scratch, (n + 1) * sizeof *c->moment);
	c->n = 0;
	for (uint32_t h = 0; h < t->host.n; h++) {
		if (!of_host[h])
			continue;
		int64_t end = assay_host_end(&t->host, h);
		c->end = !c->n || end > c->end ? end : c->end;
		c->moment[c->n++] = (moment){t->host.ts[h], assay_call_stack(t, h), 0, false};
	}
	weigh(c, of_host);
	for (uint32_t i = 0; looks && i < t->sample.n; i++)
		if (is_look_at(t, i, track))
			c->moment[c->n++] = (moment){t->sample.ts[i], t->sample.stack[i], 0, true};
	order(c);
	add_up(c);
	c->in = assay_alloc(&c->scratch, c->n + 1);
	c->above = assay_alloc(&c->scratch, (t->stack.n + 1) * sizeof *c->above);
	c->below = assay_alloc(&c->scratch, (t->stack.n + 1) * sizeof *c->below);
	memset(c->in, true, c->n);
}

/* ---- the optimizer ---- */

/* zero_grad() belongs to an optimizer, and is no run of it. */
static bool is_optimizer(const assay_run *run, uint32_t code)
{
	const assay_code_table *c = &run->part.t.code;
	return assay_word_of_frame(assay_text(run, c->file[code])) == ASSAY_WORD_OPTIMIZER &&
	       assay_str_find(assay_text(run, c->function[code]), "zero_grad") < 0;
}

static void count_optimizer(calls *c)
{
	const assay_tables *t = &c->run->part.t;
	bool *at_work = assay_alloc(&c->scratch, t->stack.n + 1), before = false;
	for (size_t s = 0; s < t->stack.n; s++) {
		uint32_t caller = t->stack.caller[s];
		at_work[s] =
			(caller < s && at_work[caller]) || is_optimizer(c->run, t->stack.code[s]);
	}
	c->after_run = assay_alloc(&c->scratch, (c->n + 1) * sizeof *c->after_run);
	for (uint32_t i = 0; i < c->n; i++) {
		bool now = at_work[stack_of(c, i)];
		c->optimizer_runs += now && !before;
		if (now)
			c->after_run[c->optimizer_runs - 1] = i + 1;
		before = now;
	}
}

/* Of several optimizers that take turns, the last ends the step. They are told apart by the work
 * between their runs; what is saved or logged every other step is copied to the host and does not
 * count. */
static void keep_last_of_round(calls *c)
{
	int64_t *apart = assay_alloc(&c->scratch, (c->optimizer_runs + 1) * sizeof *apart);
	size_t n = 0, kept = 0;
	for (size_t i = 1; i < c->optimizer_runs; i++, n++)
		for (size_t k = c->after_run[i - 1]; k < c->after_run[i]; k++)
			apart[n] += at(c, k)->work;
	size_t round = assay_round_length(apart, n);
	for (size_t i = round - 1; i < c->optimizer_runs; i += round)
		c->after_run[kept++] = c->after_run[i];
	c->optimizer_runs = kept;
}

/* From run to run, when most are as many calls apart as the median. */
static size_t starts_by_optimizer(const calls *c, int64_t *starts)
{
	assay_vec(int64_t) apart = {0};
	int64_t usual;
	size_t n = 0;
	for (size_t i = 1; i < c->optimizer_runs; i++)
		*assay_push(&apart) = c->after_run[i] - c->after_run[i - 1];
	bool even = apart.n && assay_mostly_even(apart.p, apart.n, 1, &usual);
	for (size_t i = 0; even && i < c->optimizer_runs; i++)
		if (c->after_run[i] < c->n)
			starts[n++] = at(c, c->after_run[i])->ts;
	assay_vec_free(&apart);
	return n;
}

/* ---- one depth ---- */

/* Of each stack the call at this depth from the outside; callers come before. */
static void calls_at_depth(const assay_stack_table *s, uint16_t depth, uint32_t *out)
{
	for (uint32_t i = 0; i < s->n; i++)
		out[i] = s->depth[i] < depth    ? ASSAY_NO_ROW
			 : s->depth[i] == depth ? i
						: out[s->caller[i]];
}

static void look_at_depth(calls *c, uint16_t depth)
{
	calls_at_depth(&c->run->part.t.stack, depth, c->above);
	calls_at_depth(&c->run->part.t.stack, (uint16_t)(depth + 1), c->below);
}

/* Keep the calls that pass through the function most of them do; false: there is no such. */
static bool follow_main(calls *c)
{
	const assay_tables *t = &c->run->part.t;
	uint32_t *count = assay_alloc(&c->scratch, (t->code.n + 1) * sizeof *count), best = 0;
	for (size_t i = 0; i < c->n; i++) {
		uint32_t call = c->in[i] ? c->above[stack_of(c, i)] : ASSAY_NO_ROW;
		if (call != ASSAY_NO_ROW && ++count[t->stack.code[call]] > count[best])
			best = t->stack.code[call];
	}
	if (!t->code.n || (size_t)count[best] * 2 < c->n)
		return false;
	for (size_t i = 0; i < c->n; i++) {
		uint32_t call = c->in[i] ? c->above[stack_of(c, i)] : ASSAY_NO_ROW;
		c->in[i] = call != ASSAY_NO_ROW && t->stack.code[call] == best;
	}
	return true;
}

/* How places are told apart: by line, or by the function that is called; what a function does
 * itself is -1 then. */
typedef enum places { BY_LINE, BY_CALLEE } places;

static int32_t place_of(const calls *c, size_t i, places by)
{
	const assay_stack_table *s = &c->run->part.t.stack;
	uint32_t below = c->below[stack_of(c, i)];
	if (by == BY_LINE)
		return s->line[c->above[stack_of(c, i)]];
	return below == ASSAY_NO_ROW ? -1 : (int32_t)s->code[below];
}

static visits *visits_of(visits *v, size_t *n, int32_t place, uint32_t call)
{
	for (size_t k = 0; k < *n; k++)
		if (v[k].place == place)
			return &v[k];
	if (*n == LINES_MAX)
		return NULL;
	v[*n] = (visits){.place = place, .first = call};
	return &v[(*n)++];
}

static size_t count_visits(const calls *c, places by, visits *v)
{
	size_t n = 0;
	visits *now = NULL;
	for (uint32_t i = 0; i < c->n; i++) {
		if (!c->in[i])
			continue;
		int32_t place = place_of(c, i, by);
		bool same = now && now->place == place;
		if (at(c, i)->look) {
			now = same ? now : NULL;
			continue;
		}
		if (!same && !(now = visits_of(v, &n, place, i)))
			return 0;
		now->last = same ? now->last : i;
		now->n += !same;
		now->work += at(c, i)->work;
	}
	return n;
}

/* ---- the choice ---- */

/* Starts of the visits of a place. */
static size_t starts_of(const calls *c, places by, int32_t place, int64_t *starts)
{
	size_t n = 0;
	bool there = false;
	for (size_t i = 0; i < c->n; i++) {
		if (!c->in[i])
			continue;
		bool now = place_of(c, i, by) == place;
		if (now && !there && !at(c, i)->look)
			starts[n++] = at(c, i)->ts;
		there = now && (there || !at(c, i)->look);
	}
	return n;
}

static bool fits_optimizer(const calls *c, uint32_t n)
{
	return (uint64_t)n * 5 >= c->optimizer_runs * 4 && (uint64_t)n * 4 <= c->optimizer_runs * 5;
}

/* Do the visits hold most of the calls and of their work, and are they long enough apart? */
static bool holds_most(const calls *c, const visits *v)
{
	uint64_t inside = c->weight[v->last] - c->weight[v->first];
	int64_t lasts = at(c, v->last)->ts - at(c, v->first)->ts;
	return inside * 2 >= c->weight[c->n] &&
	       (c->optimizer_runs >= LEAST_STEPS || lasts >= LEAST_NS * (int64_t)(v->n - 1));
}

static bool can_mark(const calls *c, const visits *v)
{
	return v->n >= LEAST_STEPS &&
	       (c->optimizer_runs < LEAST_STEPS || fits_optimizer(c, v->n)) && holds_most(c, v);
}

/* The line that marks a step: visited least often, and of those the first. Lines that launch no
 * work stand back: they wait, or log, every so many rounds. */
static visits *marker(const calls *c, visits *v, size_t n)
{
	visits *best = NULL;
	for (size_t i = 0; i < n; i++) {
		if (!can_mark(c, &v[i]))
			continue;
		bool works = v[i].work && (!best || !best->work);
		bool rests = !v[i].work && best && best->work;
		if (!best || works ||
		    (!rests &&
		     (v[i].n < best->n || (v[i].n == best->n && v[i].first < best->first))))
			best = &v[i];
	}
	return best;
}

/* Do the steps hold most of the calls and of their work, and last long enough? */
static bool plausible(const calls *c, const int64_t *starts, size_t n)
{
	size_t first = 0, last = 0;
	while (first < c->n && at(c, first)->ts < starts[0])
		first++;
	for (last = first; last < c->n && at(c, last)->ts < starts[n - 1];)
		last++;
	return (c->weight[last] - c->weight[first]) * 2 >= c->weight[c->n] &&
	       (c->optimizer_runs >= LEAST_STEPS ||
		starts[n - 1] - starts[0] >= LEAST_NS * (int64_t)(n - 1));
}

/* Nearly all that is launched in one round, and that is not the first, which may compile: a
 * function that prepares, waits and reports goes through its lines in turn, and its loop is
 * further inside. */
static bool one_round_has_all(const calls *c, const int64_t *starts, size_t n)
{
	uint64_t most = 0, all = 0, now = 0;
	size_t i = 0;
	while (i < c->n && at(c, i)->ts < starts[1])
		i++;
	for (size_t round = 1; round < n; round++, all += now) {
		size_t from = i;
		while (i < c->n && (round + 1 == n || at(c, i)->ts < starts[round + 1]))
			i++;
		now = c->weight[i] - c->weight[from];
		most = now > most ? now : most;
	}
	return most * 4 > all * 3;
}

/* Where looks part the rounds, one may be missed: most have as many calls as the median, or last as
 * long, where a runtime launches by graphs after a while. */
static bool even(const calls *c, const int64_t *starts, size_t n)
{
	assay_vec(int64_t) apart = {0}, lasts = {0};
	int64_t usual, calls_now = 0;
	size_t round = 0;
	for (size_t i = 0; i < c->n; i++) {
		const moment *m = at(c, i);
		if (m->look || m->ts < starts[0])
			continue;
		if (round + 1 < n && m->ts >= starts[round + 1]) {
			*assay_push(&apart) = calls_now;
			calls_now = 0;
			round++;
		}
		calls_now++;
	}
	for (size_t i = 1; i < n; i++)
		*assay_push(&lasts) = starts[i] - starts[i - 1];
	bool yes = apart.n && (assay_mostly_even(apart.p, apart.n, 1, &usual) ||
			       assay_mostly_even(lasts.p, lasts.n, 1, &usual));
	assay_vec_free(&apart);
	assay_vec_free(&lasts);
	return yes;
}

static void add_steps(assay_run *run, uint32_t source, const int64_t *starts, size_t n, int64_t end)
{
	assay_sid name = assay_sid_of(run, "loop");
	for (size_t i = 0; i < n; i++)
		assay_step_add(run, source, starts[i], i + 1 < n ? starts[i + 1] : end, (int64_t)i,
			       name, ASSAY_STEP_LOOP);
}

/* Calls that the function itself makes in each round, not what it calls. */
static void count_own(const calls *c, const int64_t *starts, size_t n, int64_t *own)
{
	size_t round = 0;
	for (size_t i = 0; i < c->n; i++) {
		const moment *m = at(c, i);
		if (!c->in[i] || m->look || m->ts < starts[0])
			continue;
		while (round + 1 < n && m->ts >= starts[round + 1])
			round++;
		own[round] += place_of(c, i, BY_CALLEE) < 0;
	}
}

/* One line may call the same function several times, for each part of a model, and then do
 * something itself, as to read their sum: where every so many rounds the function does more than in
 * most, these end a step. */
static size_t join_parts(calls *c, int64_t *starts, size_t n)
{
	int64_t *own = assay_alloc(&c->scratch, (n + 1) * sizeof *own), usual, each;
	size_t *last = assay_alloc(&c->scratch, (n + 1) * sizeof *last), marks = 0;
	assay_vec(int64_t) apart = {0};
	count_own(c, starts, n, own);
	int64_t *sorted = assay_alloc(&c->scratch, (n + 1) * sizeof *sorted);
	memcpy(sorted, own, n * sizeof *own);
	usual = assay_median_lower(sorted, n);
	for (size_t i = 0; i < n; i++)
		if (own[i] > usual)
			last[marks++] = i;
	for (size_t i = 1; i < marks; i++)
		*assay_push(&apart) = (int64_t)(last[i] - last[i - 1]);
	bool joined =
		marks > LEAST_STEPS && assay_mostly_even(apart.p, apart.n, 1, &each) && each > 1;
	assay_vec_free(&apart);
	if (!joined)
		return n;
	size_t kept = last[0] + 1 >= (size_t)each; /* the first begins where its parts do */
	for (size_t i = 0; i < marks; i++)
		if (last[i] + 1 < n)
			starts[kept++] = starts[last[i] + 1];
	return kept;
}

/* Starts of the rounds of a loop at the depth looked at; 0 when there is none. */
static size_t starts_by(calls *c, places by, int64_t *starts)
{
	visits v[LINES_MAX], *mark;
	size_t seen = count_visits(c, by, v);
	while ((mark = marker(c, v, seen))) {
		size_t n = starts_of(c, by, mark->place, starts);
		if (by == BY_CALLEE)
			n = join_parts(c, starts, n);
		if (n >= LEAST_STEPS && plausible(c, starts, n) && !one_round_has_all(c, starts, n))
			return n;
		mark->n = 0;
	}
	return 0;
}

/* Of the outermost loop that can be steps. What a single line calls says less than an optimizer. */
static size_t starts_by_places(calls *c, int64_t *starts)
{
	for (uint16_t depth = 1; depth <= DEEPEST; depth++) {
		look_at_depth(c, depth);
		if (!follow_main(c))
			break;
		size_t n = starts_by(c, BY_LINE, starts);
		if (!n && c->optimizer_runs < LEAST_STEPS)
			n = starts_by(c, BY_CALLEE, starts);
		if (n)
			return n;
	}
	return 0;
}

static bool found(assay_run *run, uint32_t source, uint32_t track, bool looks)
{
	calls c = {.run = run};
	take_calls(&c, track, looks);
	int64_t *starts = assay_alloc(&c.scratch, (c.n + 1) * sizeof *starts);
	count_optimizer(&c);
	keep_last_of_round(&c);
	size_t n = starts_by_places(&c, starts);
	if (!n)
		n = starts_by_optimizer(&c, starts);
	bool yes = n >= LEAST_STEPS && plausible(&c, starts, n) && (!looks || even(&c, starts, n));
	if (yes)
		add_steps(run, source, starts, n, c.end);
	assay_arena_free(&c.scratch);
	return yes;
}

static void loop_of_source(assay_run *run, uint32_t source)
{
	assay_arena scratch = {0};
	uint32_t track = main_track(run, source, &scratch);
	if (track != ASSAY_NO_ROW && !found(run, source, track, false))
		found(run, source, track, true);
	assay_arena_free(&scratch);
}

void assay_loop_steps(assay_run *run)
{
	const assay_tables *t = &run->part.t;
	for (uint32_t s = 0; t->stack.n && s < t->source.n; s++)
		loop_of_source(run, s);
	if (t->stack.n && !t->source.n) /* made by hand */
		loop_of_source(run, t->track.n ? t->track.source[0] : ASSAY_NO_ROW);
}

/* ---- tests ---- */

/* A call from train.py: the module's line 9 calls main(), which is at `line`; file: of the frame
 * below, NULL: there is none. */
static void hand_call(assay_run *run, int64_t ts, int32_t line, const char *file)
{
	assay_tables *t = &run->part.t;
	uint32_t caller = ASSAY_NO_ROW;
	const struct {
		const char *file;
		int32_t line;
	} frame[] = {{"train.py", 9}, {"main.py", line}, {file, 1}};
	for (uint16_t d = 0; d < (file ? 3 : 2); d++) {
		assay_sid name = assay_sid_of(run, frame[d].file);
		uint32_t code = 0;
		while (code < t->code.n && t->code.file[code] != name)
			code++;
		if (code == t->code.n) {
			assay_add(t, ASSAY_T_code);
			t->code.file[code] = name;
		}
		uint32_t s = assay_add(t, ASSAY_T_stack);
		t->stack.caller[s] = caller;
		t->stack.code[s] = code;
		t->stack.line[s] = frame[d].line;
		t->stack.depth[s] = (uint16_t)(d + 1);
		caller = s;
	}
	uint32_t h = assay_hand_host(run, ASSAY_HOST_RUNTIME, "cudaLaunchKernel", ts, 1000);
	uint32_t api = assay_add(t, ASSAY_T_api);
	t->host.detail[h] = api;
	t->api.stack[api] = caller;
}

TEST(the_outer_loop_marks_steps_and_the_inner_one_does_not)
{
	assay_run *run = assay_run_new();
	int64_t now = 0;
	hand_call(run, now += 1000000, 20, "setup.py");
	for (int step = 0; step < 5; step++) {
		hand_call(run, now += 1000000, 30, "copy.py");
		for (int layer = 0; layer < 4; layer++) {
			hand_call(run, now += 1000000, 33, "layer.py");
			hand_call(run, now += 1000000, 34, "layer.py");
		}
	}
	hand_call(run, now += 1000000, 40, "save.py");
	assay_loop_steps(run);
	const assay_step_table *s = &run->part.t.step;
	CHECK_EQ(s->n, 5);
	CHECK(s->ts[0] == 2000000 && s->dur[0] == 9000000 && s->origin[0] == ASSAY_STEP_LOOP);
	CHECK_EQ(s->ts[4] - s->ts[3], 9000000);
	assay_run_free(run);
	return 0;
}

TEST(epochs_are_no_steps_where_an_optimizer_is_seen)
{
	assay_run *run = assay_run_new();
	int64_t now = 0;
	for (int epoch = 0; epoch < 4; epoch++) {
		for (int step = 0; step < 6; step++) {
			hand_call(run, now += 1000000, 33, "model.py");
			hand_call(run, now += 1000000, 34, "torch/optim/adamw.py");
		}
		hand_call(run, now += 1000000, 36, "evaluate.py");
	}
	assay_loop_steps(run);
	CHECK_EQ(run->part.t.step.n, 24);
	assay_run_free(run);
	return 0;
}

TEST(a_loop_of_microseconds_is_no_step)
{
	assay_run *run = assay_run_new();
	int64_t now = 0;
	for (int layer = 0; layer < 100; layer++) {
		hand_call(run, now += 20000, 33, "layer.py");
		hand_call(run, now += 20000, 34, "layer.py");
	}
	assay_loop_steps(run);
	CHECK_EQ(run->part.t.step.n, 0);
	assay_run_free(run);
	return 0;
}

/* Rounds of a function that prepares, works and reports, one of which has nearly all calls. */
static size_t steps_with_one_of(int inner)
{
	assay_run *run = assay_run_new();
	int64_t now = 0;
	for (int round = 0; round < 4; round++) {
		hand_call(run, now += 1000000, 20, "prepare.py");
		for (int i = 0; i < (round == 2 ? inner : 3); i++)
			hand_call(run, now += 1000000, 30, "step.py");
	}
	assay_loop_steps(run);
	size_t n = run->part.t.step.n;
	assay_run_free(run);
	return n;
}

TEST(rounds_of_which_one_has_all_calls_are_no_steps)
{
	CHECK_EQ(steps_with_one_of(200), 0);
	CHECK_EQ(steps_with_one_of(6), 4);
	return 0;
}

TEST(a_short_loop_before_the_steps_does_not_hide_them)
{
	assay_run *run = assay_run_new();
	int64_t now = 0;
	for (int batch = 0; batch < 4; batch++) {
		hand_call(run, now += 1000000, 10, "random.py");
		hand_call(run, now += 1000000, 11, "random.py");
	}
	for (int step = 0; step < 20; step++) {
		hand_call(run, now += 1000000, 30, "model.py");
		hand_call(run, now += 1000000, 31, "model.py");
	}
	assay_loop_steps(run);
	CHECK_EQ(run->part.t.step.n, 20);
	assay_run_free(run);
	return 0;
}

/* Everything of a step in one line of a function: only the optimizer comes round. */
TEST(a_loop_of_one_line_has_the_steps_of_its_optimizer)
{
	assay_run *run = assay_run_new();
	int64_t now = 0;
	hand_call(run, now += 1000000, 33, "setup.py");
	for (int step = 0; step < 6; step++) {
		hand_call(run, now += 1000000, 33, "torch/optim/optimizer.py");
		if (step == 0)
			run->part.t.code.function[run->part.t.code.n - 1] =
				assay_sid_of(run, "Optimizer.zero_grad");
		hand_call(run, now += 1000000, 33, "model.py");
		hand_call(run, now += 1000000, 33, "torch/optim/adamw.py");
	}
	assay_loop_steps(run);
	CHECK_EQ(run->part.t.step.n, 5); /* what comes before the first run belongs to none */
	CHECK_EQ(run->part.t.step.dur[2], 3000000);
	assay_run_free(run);
	return 0;
}

/* An optimizer that nobody knows loops over parameters: its lines are visited more often than it is
 * called. */
TEST(a_loop_of_one_line_has_the_steps_of_what_it_calls)
{
	assay_run *run = assay_run_new();
	int64_t now = 0;
	for (int step = 0; step < 5; step++) {
		hand_call(run, now += 1000000, 33, "model.py");
		for (int i = 0; i < 6; i++)
			hand_call(run, now += 1000000, 33, "offload.py");
	}
	assay_loop_steps(run);
	CHECK_EQ(run->part.t.step.n, 5);
	CHECK_EQ(run->part.t.step.dur[2], 7000000);
	assay_run_free(run);
	return 0;
}

/* Six rounds of three towers from one line; every so many of them the line reads their sum. */
static size_t steps_of_towers(int every)
{
	assay_run *run = assay_run_new();
	int64_t now = 0;
	for (int tower = 0; tower < 18; tower++) {
		for (int i = 0; i < 4; i++)
			hand_call(run, now += 1000000, 33, "tower.py");
		hand_call(run, now += 1000000, 33, NULL);
		if (tower % every == every - 1)
			hand_call(run, now += 1000000, 33, NULL);
	}
	assay_loop_steps(run);
	size_t n = run->part.t.step.n;
	assay_run_free(run);
	return n;
}

TEST(a_line_that_calls_a_function_for_each_part_is_one_step)
{
	CHECK_EQ(steps_of_towers(3), 6);
	CHECK_EQ(steps_of_towers(1), 18);
	CHECK_EQ(steps_of_towers(12), 18); /* once in a while is no rhythm */
	return 0;
}

/* Compiled code is called from one line; what the host computes in between makes no calls. */
/* By its calls: six rounds of a loop that does something else at another line first, at which the
 * sampler looks. */
static size_t steps_parted_by_looks(const int *launches, int64_t pause, assay_run *run)
{
	assay_tables *t = &run->part.t;
	int64_t now = 0;
	for (int step = 0; step < 6; step++) {
		hand_call(run, now += 1000000, 12, "augment.py");
		uint32_t look = assay_add(t, ASSAY_T_sample), last = (uint32_t)t->host.n - 1;
		t->sample.ts[look] = now;
		t->sample.track[look] = t->host.track[last];
		t->sample.stack[look] = assay_call_stack(t, last);
		t->host.kind[last] = ASSAY_HOST_OTHER;
		now += pause;
		for (int i = 0; i < launches[step]; i++)
			hand_call(run, now += 1000000, 13, "compiled.py");
	}
	assay_loop_steps(run);
	return t->step.n;
}

TEST(looks_in_between_part_the_rounds_of_a_loop_that_calls_from_one_line)
{
	static const int even[] = {3, 3, 3, 3, 3, 3}, fewer[] = {9, 9, 2, 2, 4, 1};
	assay_run *run = assay_run_new();
	CHECK_EQ(steps_parted_by_looks(even, 0, run), 6);
	CHECK_EQ(run->part.t.step.ts[0], 2000000);
	CHECK_EQ(run->part.t.step.dur[2], 4000000);
	assay_run_free(run);
	run = assay_run_new();
	CHECK_EQ(steps_parted_by_looks(fewer, 0, run), 0);
	assay_run_free(run);
	run = assay_run_new(); /* with as few calls, they last as long as the others */
	CHECK_EQ(steps_parted_by_looks(fewer, 50000000, run), 6);
	assay_run_free(run);
	return 0;
}
