/* Choosing the step, and finding it again in a replay. */
#include "path/window.h"

#include <stdlib.h>

#include "analyze/order.h"
#include "base/compare.h"
#include "base/median.h"
#include "base/sort.h"
#include "base/test.h"
#include "model/by_hand.h"
#include "model/steps.h"

struct span {
	uint32_t step;
	int64_t from, to;    /* as the window is */
	int64_t first, last; /* of its work */
	int64_t done;        /* end of marker and work */
	int64_t begun;       /* of the marker or the work, whichever is first */
	uint64_t works;
};

typedef assay_vec(struct span) spans;

static int by_start(const void *a, const void *b)
{
	const struct span *x = a, *y = b;
	return assay_then(ASSAY_CMP(x->from, y->from), ASSAY_CMP(x->step, y->step));
}

static int by_length(const void *a, const void *b)
{
	const struct span *x = a, *y = b;
	int64_t p = x->to - x->from, q = y->to - y->from;
	return assay_then(ASSAY_CMP(p, q), ASSAY_CMP(x->step, y->step));
}

static void find_steps(const assay_run *run, uint32_t group, spans *out)
{
	const assay_tables *t = &run->part.t;
	for (uint32_t i = 0; i < t->step.n; i++) {
		assay_rest_behind(t, ASSAY_T_step, i);
		if (assay_group_of(t, t->step.source[i]) == group && t->step.dur[i] > 0)
			*assay_push(out) = (struct span){.step = i,
							 .from = t->step.ts[i],
							 .to = t->step.ts[i] + t->step.dur[i],
							 .first = INT64_MAX,
							 .last = INT64_MIN};
	}
	if (out->n)
		qsort(out->p, out->n, sizeof *out->p, by_start);
}

static bool is_device_step(const assay_run *run, uint32_t step)
{
	uint8_t origin = run->part.t.step.origin[step];
	return origin == ASSAY_STEP_DEVICE || origin == ASSAY_STEP_REPEATED;
}

/* When work belongs to a step: its launch, or its start where steps are of the device. */
static int64_t work_time(const assay_run *run, uint32_t gpu, bool on_device)
{
	const assay_tables *t = &run->part.t;
	if (on_device)
		return t->gpu.ts[gpu];
	return t->launch.host[gpu] == ASSAY_NO_ROW ? INT64_MIN : t->host.ts[t->launch.host[gpu]];
}

static void add_work(const assay_run *run, uint32_t group, bool on_device, spans *s)
{
	const assay_tables *t = &run->part.t;
	for (uint32_t g = 0; g < t->gpu.n; g++) {
		int64_t at = work_time(run, g, on_device);
		if (at == INT64_MIN || assay_track_group(t, t->gpu.track[g]) != group)
			continue;
		size_t begun = s->n ? assay_count_until(&s->p->from, sizeof *s->p, s->n, at) : 0;
		if (!begun || at >= s->p[begun - 1].to)
			continue;
		struct span *x = &s->p[begun - 1];
		int64_t end = assay_gpu_end(&t->gpu, g);
		x->first = t->gpu.ts[g] < x->first ? t->gpu.ts[g] : x->first;
		x->last = end > x->last ? end : x->last;
		x->works++;
	}
}

/* A step that begins at `marker_from` when the one before is over at `done`. While a device catches
 * up with its host, ends lie closer than markers are long; that does not last. */
static int64_t begin_of(int64_t marker_from, int64_t marker, int64_t done, int64_t to)
{
	int64_t from = done > marker_from && done < to ? done : marker_from;
	return from < to - marker ? from : to - marker;
}

/* From markers to windows; spans are in order of time. */
static void set_windows(spans *s, bool on_device)
{
	int64_t done = INT64_MIN;
	for (size_t i = 0; i < s->n; i++) {
		struct span *x = &s->p[i];
		bool follows = i + 1 < s->n && s->p[i + 1].from == x->to;
		x->begun = x->first < x->from ? x->first : x->from;
		if (on_device) {
			x->from = x->first < x->last ? x->first : x->from;
			x->to = x->last > x->from ? x->last : x->to;
			if (follows && s->p[i + 1].first > x->to && s->p[i + 1].first < INT64_MAX)
				x->to = s->p[i + 1].first;
			continue;
		}
		int64_t marker = x->to - x->from;
		x->done = x->to = x->last > x->to ? x->last : x->to;
		x->from = begin_of(x->from, marker, done, x->to);
		done = x->done;
	}
}

/* A host is ahead of its device by a queue of 1,024 launches at most: what came some queues earlier
 * changes a replayed step no more, however long the recording is. */
enum { STEPS_BEFORE = 4, WORKS_BEFORE = 4096 };

static int64_t since_before(const spans *s, size_t i)
{
	uint64_t works = 0;
	size_t k = i;
	while (k && (i - k < STEPS_BEFORE || works < WORKS_BEFORE))
		works += s->p[--k].works;
	return k ? s->p[k].begun : INT64_MIN;
}

static void take(assay_path_window *w, const spans *s, size_t i)
{
	w->since = since_before(s, i);
	w->step = s->p[i].step;
	w->from = s->p[i].from;
	w->to = s->p[i].to;
	w->before = i ? s->p[i - 1].step : ASSAY_NO_ROW;
	w->until = i && s->p[i - 1].done > w->to ? s->p[i - 1].done : w->to;
	w->after = i + 1 < s->n ? s->p[i + 1].step : ASSAY_NO_ROW;
}

/* The first one warms up and is left aside when there are others; so are steps without work, such
 * as the rest behind the last one, when there are others with work. */
static void take_median(assay_path_window *w, const spans *s)
{
	spans sorted = {0};
	for (int pass = 0; !sorted.n && pass < 3; pass++)
		for (size_t i = pass == 1 ? 0 : s->n > 1; i < s->n; i++)
			if (pass == 2 || s->p[i].last != INT64_MIN)
				*assay_push(&sorted) = s->p[i];
	qsort(sorted.p, sorted.n, sizeof *sorted.p, by_length);
	uint32_t step = sorted.p[assay_lower_middle(sorted.n)].step;
	for (size_t i = 0; i < s->n; i++)
		if (s->p[i].step == step)
			take(w, s, i);
	w->chosen = sorted.n;
	assay_vec_free(&sorted);
}

static void take_all(const assay_run *run, uint32_t group, assay_path_window *w)
{
	const assay_tables *t = &run->part.t;
	w->from = INT64_MAX;
	w->to = INT64_MIN;
	for (uint32_t i = 0; i < t->gpu.n; i++) {
		if (assay_track_group(t, t->gpu.track[i]) != group)
			continue;
		int64_t end = assay_gpu_end(&t->gpu, i);
		w->from = t->gpu.ts[i] < w->from ? t->gpu.ts[i] : w->from;
		w->to = end > w->to ? end : w->to;
	}
	for (uint32_t i = 0; i < t->host.n; i++) {
		uint8_t kind = t->host.kind[i];
		if (assay_track_group(t, t->host.track[i]) != group ||
		    kind == ASSAY_HOST_OVERHEAD || kind == ASSAY_HOST_INSTANT ||
		    kind == ASSAY_HOST_OTHER || kind == ASSAY_HOST_PROCESS_RANGE)
			continue;
		int64_t end = assay_host_end(&t->host, i);
		w->from = t->host.ts[i] < w->from ? t->host.ts[i] : w->from;
		w->to = end > w->to ? end : w->to;
	}
	w->until = w->to;
}

static bool take_number(const assay_run *run, assay_path_window *w, const spans *s, int64_t number)
{
	for (size_t i = 0; i < s->n; i++)
		if (run->part.t.step.number[s->p[i].step] == number) {
			take(w, s, i);
			return true;
		}
	return false;
}

bool assay_path_nothing(assay_err *err)
{
	return assay_fail(err, ASSAY_FORMAT, 0,
			  "nothing to follow: the input has neither GPU work nor host events");
}

bool assay_path_window_find(const assay_run *run, uint32_t group, int64_t step,
			    assay_path_window *w, assay_err *err)
{
	spans s = {0};
	*w = (assay_path_window){.step = ASSAY_NO_ROW,
				 .before = ASSAY_NO_ROW,
				 .after = ASSAY_NO_ROW,
				 .since = INT64_MIN};
	find_steps(run, group, &s);
	w->steps = s.n;
	w->on_device = s.n && is_device_step(run, s.p[0].step);
	add_work(run, group, w->on_device, &s);
	set_windows(&s, w->on_device);
	bool ok = true;
	if (step >= 0)
		ok = take_number(run, w, &s, step);
	else if (step == -1 && s.n)
		take_median(w, &s);
	else
		take_all(run, group, w);
	assay_vec_free(&s);
	if (!ok)
		return assay_fail(err, ASSAY_USAGE, 0, "the input has no step %lld",
				  (long long)step);
	return w->from < w->to || assay_path_nothing(err);
}

/* ------------------------------------------------------------------ in the graph */

/* Whether a row is what says where a step begins: its marker, of a loop the call at its head, else
 * the update that ends the step before or the batch that begins it. */
static bool begins_step(const assay_tables *t, uint32_t step, uint32_t host)
{
	int64_t at = t->step.ts[step];
	bool range = t->host.kind[host] == ASSAY_HOST_ANNOTATION;
	switch (t->step.origin[step]) {
	case ASSAY_STEP_LOOP:
		return t->host.ts[host] == at && assay_is_call(t->host.kind[host]);
	case ASSAY_STEP_OPTIMIZER:
		return range && assay_host_end(&t->host, host) == at;
	case ASSAY_STEP_BATCH:
		return range && t->host.ts[host] == at;
	case ASSAY_STEP_PROGRAM:
		return t->host.ts[host] == at && t->host.name[host] == t->step.name[step];
	default:
		return t->host.ts[host] == at && t->host.dur[host] == t->step.dur[step] &&
		       t->host.name[host] == t->step.name[step];
	}
}

/* The thread that a step's marker or loop is on. */
static uint32_t marker_track(const assay_path_graph *g, uint32_t step)
{
	const assay_tables *t = &g->run->part.t;
	for (uint32_t i = 0; step != ASSAY_NO_ROW && i < t->host.n; i++)
		if (begins_step(t, step, i) && g->thread_of[t->host.track[i]])
			return t->host.track[i];
	return ASSAY_NO_ROW;
}

static uint32_t exact_point(const assay_path_graph *g, uint32_t track, int64_t ts)
{
	uint32_t p = track == ASSAY_NO_ROW ? ASSAY_DEP_NONE : assay_path_point_at(g, track, ts);
	return p != ASSAY_DEP_NONE && g->measured.at[p] == ts ? p : ASSAY_DEP_NONE;
}

static bool in_step(const assay_path_graph *g, uint32_t step, int64_t at)
{
	const assay_step_table *s = &g->run->part.t.step;
	return step != ASSAY_NO_ROW && at >= s->ts[step] && at < s->ts[step] + s->dur[step];
}

static void mark_work(assay_path_graph *g, const assay_path_window *w, assay_path_marks *m)
{
	uint8_t first = ASSAY_PATH_FIRST_OF_STEP, after = ASSAY_PATH_FIRST_AFTER;
	m->member = assay_alloc(&g->arena, g->work + 1);
	for (uint32_t i = 0; i < g->work; i++) {
		int64_t at = work_time(g->run, g->gpu[i], w->on_device);
		if (at == INT64_MIN)
			continue;
		if (in_step(g, w->step, at)) {
			m->member[i] = ASSAY_PATH_OF_STEP | first;
			first = 0;
		} else if (in_step(g, w->before, at)) {
			m->member[i] = ASSAY_PATH_OF_BEFORE;
		} else if (in_step(g, w->after, at)) {
			m->member[i] = after;
			after = 0;
		}
	}
}

void assay_path_window_mark(assay_path_graph *g, const assay_path_window *w, assay_path_marks *m)
{
	const assay_step_table *s = &g->run->part.t.step;
	*m = (assay_path_marks){ASSAY_DEP_NONE, ASSAY_DEP_NONE, ASSAY_DEP_NONE, NULL};
	mark_work(g, w, m);
	if (w->step == ASSAY_NO_ROW || w->on_device)
		return;
	uint32_t track = marker_track(g, w->step), before = marker_track(g, w->before);
	m->start = exact_point(g, track, s->ts[w->step]);
	m->end = exact_point(g, track, s->ts[w->step] + s->dur[w->step]);
	if (w->before != ASSAY_NO_ROW)
		m->before_end = exact_point(g, before, s->ts[w->before] + s->dur[w->before]);
}

static void reach(assay_path_bounds *b, int64_t at, uint32_t node, bool end)
{
	if (b->last != ASSAY_DEP_NONE && at <= b->to)
		return;
	b->to = at;
	b->last = node;
	b->last_end = end;
}

static assay_path_bounds whole(const assay_path_graph *g, const assay_path_times *t,
			       const int64_t *dur)
{
	assay_path_bounds b = {INT64_MAX, INT64_MIN, ASSAY_DEP_NONE, false};
	for (uint32_t n = 0; n < g->nodes; n++) {
		bool work = assay_path_is_work(g, n);
		b.from = t->at[n] < b.from ? t->at[n] : b.from;
		reach(&b, t->at[n] + (work ? dur[n - g->points] : 0), n, work);
	}
	return b;
}

static int64_t marker_begin(const assay_path_graph *g, const assay_path_window *w,
			    const assay_path_marks *m, const assay_path_times *t, int64_t before,
			    int64_t to)
{
	if (m->start == ASSAY_DEP_NONE)
		return begin_of(g->run->part.t.step.ts[w->step], 0, before, to);
	int64_t start = t->at[m->start];
	int64_t marker = m->end == ASSAY_DEP_NONE ? 0 : t->at[m->end] - start;
	return begin_of(start, marker, before, to);
}

assay_path_bounds assay_path_window_in(const assay_path_graph *g, const assay_path_window *w,
				       const assay_path_marks *m, const assay_path_times *t,
				       const int64_t *dur)
{
	if (w->step == ASSAY_NO_ROW)
		return whole(g, t, dur);
	assay_path_bounds b = {INT64_MIN, INT64_MIN, ASSAY_DEP_NONE, false};
	int64_t before = m->before_end == ASSAY_DEP_NONE ? INT64_MIN : t->at[m->before_end];
	if (m->end != ASSAY_DEP_NONE)
		reach(&b, t->at[m->end], m->end, false);
	for (uint32_t i = 0; i < g->work; i++) {
		int64_t start = t->at[g->points + i], end = start + dur[i];
		if (m->member[i] & ASSAY_PATH_OF_STEP)
			reach(&b, end, g->points + i, true);
		if (m->member[i] & ASSAY_PATH_OF_BEFORE && end > before)
			before = end;
		if (w->on_device && m->member[i] & ASSAY_PATH_FIRST_OF_STEP)
			b.from = start;
		if (w->on_device && m->member[i] & ASSAY_PATH_FIRST_AFTER && start <= g->until)
			reach(&b, start, g->points + i, false);
	}
	if (!w->on_device)
		b.from = marker_begin(g, w, m, t, before, b.to);
	if (b.last == ASSAY_DEP_NONE || b.from == INT64_MIN) {
		b = whole(g, t, dur);
		b.from = w->from;
	}
	b.from = b.from < b.to ? b.from : b.to; /* clocks that contradict the markers */
	return b;
}

TEST(steps_before_the_window_reach_back_a_few_queues_of_work)
{
	spans s = {0};
	for (int i = 0; i < 40; i++)
		*assay_push(&s) = (struct span){.begun = i * 100, .works = i < 20 ? 500 : 5000};
	CHECK_EQ(since_before(&s, 39), 3500);     /* four steps are enough work */
	CHECK_EQ(since_before(&s, 19), 1000);     /* nine of 500 */
	CHECK_EQ(since_before(&s, 8), INT64_MIN); /* all there are */
	CHECK_EQ(since_before(&s, 0), INT64_MIN);
	assay_vec_free(&s);
	return 0;
}

TEST(a_step_begins_with_its_marker_its_batch_or_behind_an_update)
{
	static const struct {
		assay_step_origin origin;
		assay_host_kind kind;
		int64_t ts, dur;
		bool begins;
	} cases[] = {
		{ASSAY_STEP_OPTIMIZER, ASSAY_HOST_ANNOTATION, 80, 20, true},
		{ASSAY_STEP_OPTIMIZER, ASSAY_HOST_ANNOTATION, 100, 20, false},
		{ASSAY_STEP_OPTIMIZER, ASSAY_HOST_OP, 80, 20, false},
		{ASSAY_STEP_BATCH, ASSAY_HOST_ANNOTATION, 100, 20, true},
		{ASSAY_STEP_PROGRAM, ASSAY_HOST_MARKER, 100, 20, true},
		{ASSAY_STEP_PROGRAM, ASSAY_HOST_MARKER, 80, 20, false},
		{ASSAY_STEP_LOOP, ASSAY_HOST_RUNTIME, 100, 5, true},
		{ASSAY_STEP_LOOP, ASSAY_HOST_ANNOTATION, 100, 5, false},
		{ASSAY_STEP_MARKER, ASSAY_HOST_ANNOTATION, 100, 50, true},
		{ASSAY_STEP_MARKER, ASSAY_HOST_ANNOTATION, 100, 20, false},
	};
	for (size_t i = 0; i < ASSAY_COUNT_OF(cases); i++) {
		assay_run *run = assay_run_new();
		uint32_t row =
			assay_hand_host(run, cases[i].kind, "step", cases[i].ts, cases[i].dur);
		assay_step_add(run, 0, 100, 150, 0, assay_sid_of(run, "step"), cases[i].origin);
		CHECK_EQ(begins_step(&run->part.t, 0, row), cases[i].begins);
		assay_run_free(run);
	}
	return 0;
}
