/* One walk over the GPU work of each device in time order; every event adds to all scopes around
 * it, so unions come out of running ends as in partition.c. */
#include "analyze/scopes.h"

#include <stdlib.h>

#include "base/compare.h"
#include "base/sort.h"
#include "base/test.h"
#include "model/by_name.h"
#include "model/scope_tree.h"
#include "names/calls.h"

/* Deeper scopes count as their ancestor at this depth: time stays linear in the input. */
enum { DEPTH_MAX = 256 };

/* Busy time of a device as intervals that do not touch. */
struct busy {
	int64_t start, end, before; /* before: busy time in front of it */
};

typedef struct tally {
	const assay_run *run;
	const assay_tables *t;
	assay_scopes_by by;
	int64_t step;
	assay_scope_times *out;
	assay_vec(uint32_t) order; /* rows of scope, parents first */
	assay_vec(uint32_t) depth;
	assay_vec(uint32_t) shown; /* by row of scope: itself, or the ancestor it counts as */
	assay_vec(uint32_t) node;  /* by row of scope */
	assay_vec(uint8_t) counted;
	/* by node, for the device at hand */
	assay_vec(int64_t) end;
	assay_vec(uint64_t) stamp; /* last GPU event that was added */
	/* by row of scope, for the device at hand */
	assay_vec(int64_t) first;
	assay_vec(int64_t) last;
	assay_vec(uint32_t) touched; /* rows of scope with work on the device at hand */
	assay_vec(struct busy) busy;
	assay_map none_by; /* thread -> its launches that are in no scope */
	assay_map handed;  /* worker and waiter -> row of out->inferred */
	uint64_t tick;
} tally;

/* ------------------------------------------------------------------ steps */

/* Does a span of a source belong to the step asked for; clips it to the step. */
static bool in_step(const tally *x, uint32_t source, int64_t *ts, int64_t *dur)
{
	const assay_step_table *s = &x->t->step;
	if (x->step == ASSAY_SCOPES_ALL_STEPS)
		return true;
	for (size_t i = 0; i < s->n; i++) {
		int64_t end = s->ts[i] + s->dur[i];
		if (s->number[i] != x->step || s->source[i] != source || *ts >= end ||
		    *ts + *dur < s->ts[i] || (*dur > 0 && *ts + *dur == s->ts[i]))
			continue;
		int64_t to = *ts + *dur < end ? *ts + *dur : end;
		*ts = *ts > s->ts[i] ? *ts : s->ts[i];
		*dur = to - *ts;
		return true;
	}
	return false;
}

static uint32_t source_of(const tally *x, uint32_t track)
{
	return track == ASSAY_NO_ROW ? ASSAY_NO_ROW : x->t->track.source[track];
}

/* Work belongs to the step it was launched in. */
static bool work_in_step(const tally *x, uint32_t g)
{
	uint32_t call = g < x->t->launch.n ? x->t->launch.host[g] : ASSAY_NO_ROW;
	int64_t ts = call == ASSAY_NO_ROW ? x->t->gpu.ts[g] : x->t->host.ts[call], dur = 0;
	return in_step(x, source_of(x, x->t->gpu.track[g]), &ts, &dur);
}

static void measure_whole(tally *x)
{
	const assay_step_table *s = &x->t->step;
	for (size_t i = 0; i < s->n; i++) {
		if (s->dur[i] < 0 || (x->step != ASSAY_SCOPES_ALL_STEPS && s->number[i] != x->step))
			continue;
		x->out->steps++;
		x->out->whole += s->dur[i];
	}
	if (x->out->steps)
		return;
	int64_t first = INT64_MAX, last = INT64_MIN;
	const assay_gpu_table *g = &x->t->gpu;
	const assay_scope_table *c = &x->t->scope;
	for (size_t i = 0; i < g->n; i++) {
		first = g->ts[i] < first ? g->ts[i] : first;
		last = g->ts[i] + g->dur[i] > last ? g->ts[i] + g->dur[i] : last;
	}
	for (size_t i = 0; i < c->n; i++) {
		if (c->dur[i] < 0)
			continue;
		first = c->ts[i] < first ? c->ts[i] : first;
		last = c->ts[i] + c->dur[i] > last ? c->ts[i] + c->dur[i] : last;
	}
	x->out->whole = last > first ? last - first : 0;
}

/* ------------------------------------------------------------------ nodes */

/* Parents first; given trees may name children before them. */
static void order_scopes(tally *x)
{
	const assay_scope_table *s = &x->t->scope;
	assay_vec(uint32_t) chain = {0};
	for (size_t i = 0; i < s->n; i++) {
		*assay_push(&x->depth) = UINT32_MAX;
		*assay_push(&x->shown) = (uint32_t)i;
	}
	for (uint32_t i = 0; i < s->n; i++) {
		for (uint32_t r = i; r != ASSAY_NO_ROW && x->depth.p[r] == UINT32_MAX; r = s->up[r])
			*assay_push(&chain) = r;
		while (chain.n) {
			uint32_t r = chain.p[--chain.n], up = s->up[r];
			x->depth.p[r] = up == ASSAY_NO_ROW ? 0 : x->depth.p[up] + 1;
			if (x->depth.p[r] >= DEPTH_MAX)
				x->shown.p[r] = x->shown.p[up];
			*assay_push(&x->order) = r;
		}
	}
	assay_vec_free(&chain);
}

/* "ProfilerStep#7" without its number: steps join. */
static uint32_t stem_of(const tally *x, assay_sid name)
{
	assay_str s = assay_text(x->run, name);
	size_t n = assay_scope_stem(s);
	if (n == s.n)
		return name;
	return (uint32_t)assay_hash(s.p, n, 0) | 1u << 31; /* ids of strings stay below */
}

static uint64_t node_key(const tally *x, uint32_t r, uint32_t parent)
{
	const assay_scope_table *s = &x->t->scope;
	if (x->by == ASSAY_SCOPES_BY_INSTANCE)
		return r;
	if (x->by == ASSAY_SCOPES_BY_NAME)
		return stem_of(x, s->name[r]);
	return (uint64_t)parent << 32 | stem_of(x, s->name[r]);
}

static void make_nodes(tally *x)
{
	const assay_scope_table *s = &x->t->scope;
	assay_map known = {0};
	for (size_t i = 0; i < s->n; i++) {
		*assay_push(&x->node) = ASSAY_NO_ROW;
		*assay_push(&x->counted) = 0;
		*assay_push(&x->first) = INT64_MAX;
		*assay_push(&x->last) = INT64_MIN;
	}
	for (size_t i = 0; i < x->order.n; i++) {
		uint32_t r = x->order.p[i], up = s->up[r];
		if (x->shown.p[r] != r) {
			x->node.p[r] = x->node.p[x->shown.p[r]];
			continue;
		}
		bool flat = x->by == ASSAY_SCOPES_BY_NAME || up == ASSAY_NO_ROW;
		uint32_t parent = flat ? ASSAY_NO_ROW : x->node.p[up];
		uint32_t *slot = assay_map_at(&known, node_key(x, r, parent));
		if (*slot == ASSAY_MAP_ABSENT) {
			*slot = (uint32_t)x->out->node.n;
			*assay_push(&x->out->node) = (assay_scope_node){
				.parent = parent,
				.depth = flat ? 0 : x->out->node.p[parent].depth + 1,
				.scope = r,
				.name = s->name[r]};
			*assay_push(&x->end) = INT64_MIN;
			*assay_push(&x->stamp) = 0;
		}
		x->node.p[r] = *slot;
	}
	assay_map_free(&known);
}

/* ------------------------------------------------------------------ host time */

static void count_instance(tally *x, uint32_t r)
{
	x->out->node.p[x->node.p[r]].count += !x->counted.p[r];
	x->counted.p[r] = 1;
}

static bool inside_itself(const tally *x, uint32_t r)
{
	const assay_scope_table *s = &x->t->scope;
	for (uint32_t up = s->up[r]; x->by == ASSAY_SCOPES_BY_NAME && up != ASSAY_NO_ROW;
	     up = s->up[up])
		if (s->name[up] == s->name[r])
			return true;
	return false;
}

static void add_host_time(tally *x)
{
	const assay_scope_table *s = &x->t->scope;
	for (uint32_t r = 0; r < s->n; r++) {
		int64_t ts = s->ts[r], dur = s->dur[r];
		if (dur < 0 || x->shown.p[r] != r ||
		    !in_step(x, source_of(x, s->track[r]), &ts, &dur))
			continue;
		assay_scope_node *n = &x->out->node.p[x->node.p[r]];
		count_instance(x, r);
		n->host_self += dur;
		n->host += inside_itself(x, r) ? 0 : dur;
		n->timed++;
		uint32_t up = s->up[r];
		if (up != ASSAY_NO_ROW && s->track[up] == s->track[r])
			x->out->node.p[x->node.p[up]].host_self -= dur;
	}
}

static unsigned is_wait(assay_str call)
{
	return assay_call_is_wait(assay_call_meaning_of(call.p, call.n));
}

/* Time in calls that wait, in all scopes around them. */
static void add_waits(tally *x)
{
	const assay_tables *t = x->t;
	assay_arena scratch = {0};
	assay_by_name waits = assay_by_name_open(x->run, &scratch, is_wait);
	for (uint32_t h = 0; h < t->host_scope.n; h++) {
		int64_t ts = t->host.ts[h], dur = t->host.dur[h];
		uint32_t r = t->host_scope.scope[h];
		if (!assay_is_call(t->host.kind[h]) || r == ASSAY_NO_ROW || dur <= 0 ||
		    !assay_by_name_ask(&waits, t->host.name[h]) ||
		    !in_step(x, source_of(x, t->host.track[h]), &ts, &dur))
			continue;
		x->tick++;
		for (r = x->shown.p[r]; r != ASSAY_NO_ROW; r = t->scope.up[r]) {
			uint32_t n = x->node.p[r];
			if (x->stamp.p[n] != x->tick)
				x->out->node.p[n].waits += dur;
			x->stamp.p[n] = x->tick;
		}
	}
	assay_arena_free(&scratch);
}

/* ------------------------------------------------------------------ GPU time */

static void add_busy(tally *x, int64_t start, int64_t end)
{
	struct busy *b = x->busy.n ? &x->busy.p[x->busy.n - 1] : NULL;
	if (b && start <= b->end) {
		b->end = end > b->end ? end : b->end;
		return;
	}
	int64_t before = b ? b->before + (b->end - b->start) : 0;
	*assay_push(&x->busy) = (struct busy){start, end, before};
}

/* Busy time of the device before t. */
static int64_t busy_until(const tally *x, int64_t t)
{
	size_t low = 0, high = x->busy.n;
	while (low < high) {
		size_t mid = (low + high) / 2;
		if (x->busy.p[mid].start < t)
			low = mid + 1;
		else
			high = mid;
	}
	if (!low)
		return 0;
	const struct busy *b = &x->busy.p[low - 1];
	return b->before + (t < b->end ? t : b->end) - b->start;
}

/* The window of an instance's own work; gradients come much later and would stretch it. */
static void touch(tally *x, uint32_t r, int64_t start, int64_t end, bool gradient)
{
	if (x->last.p[r] == INT64_MIN) {
		*assay_push(&x->touched) = r;
		x->first.p[r] = x->last.p[r] = start;
	}
	x->first.p[r] = start < x->first.p[r] ? start : x->first.p[r];
	if (!gradient && end > x->last.p[r])
		x->last.p[r] = end;
}

static void add_work_to(tally *x, uint32_t r, int64_t start, int64_t dur, uint32_t how)
{
	bool gradient = how == ASSAY_SCOPE_HOW_FORWARD;
	const assay_scope_table *s = &x->t->scope;
	int64_t end = start + dur;
	r = x->shown.p[r];
	x->out->node.p[x->node.p[r]].gpu_self += dur;
	x->tick++;
	for (; r != ASSAY_NO_ROW; r = s->up[r]) {
		uint32_t i = x->node.p[r];
		assay_scope_node *n = &x->out->node.p[i];
		count_instance(x, r);
		touch(x, r, start, end, gradient);
		if (x->stamp.p[i] == x->tick)
			continue;
		x->stamp.p[i] = x->tick;
		n->work++;
		n->gpu_sum += dur;
		n->gpu_grad += gradient ? dur : 0;
		n->gpu_inferred += how == ASSAY_SCOPE_HOW_INFERRED ? dur : 0;
		if (end > x->end.p[i]) {
			n->gpu_busy += end - (start > x->end.p[i] ? start : x->end.p[i]);
			x->end.p[i] = end;
		}
	}
}

static void add_inferred(tally *x, uint32_t g, uint32_t scope, int64_t dur)
{
	uint32_t call = x->t->launch.host[g];
	uint32_t worker = call == ASSAY_NO_ROW ? ASSAY_NO_ROW : x->t->host.track[call];
	uint32_t waiter = x->t->scope.track[scope];
	uint32_t *slot = assay_map_at(&x->handed, (uint64_t)worker << 32 | waiter);
	if (*slot == ASSAY_MAP_ABSENT) {
		*slot = (uint32_t)x->out->inferred.n;
		*assay_push(&x->out->inferred) = (assay_handed){.worker = worker, .waiter = waiter};
	}
	x->out->inferred.p[*slot].work++;
	x->out->inferred.p[*slot].sum += dur;
}

static void add_event(tally *x, uint32_t g)
{
	const assay_tables *t = x->t;
	int64_t dur = t->gpu.dur[g] > 0 ? t->gpu.dur[g] : 0;
	add_busy(x, t->gpu.ts[g], t->gpu.ts[g] + dur);
	if (!work_in_step(x, g))
		return;
	uint32_t how = t->gpu_scope.how[g], r = t->gpu_scope.scope[g];
	bool gradient = t->gpu_scope.forward[g] != ASSAY_NO_ROW;
	if (gradient && x->by == ASSAY_SCOPES_BY_FORWARD) {
		how = ASSAY_SCOPE_HOW_FORWARD;
		r = t->gpu_scope.forward[g];
	}
	x->out->work++;
	x->out->sum += dur;
	x->out->sum_grad += gradient ? dur : 0;
	if (r != ASSAY_NO_ROW) {
		if (how == ASSAY_SCOPE_HOW_INFERRED)
			add_inferred(x, g, r, dur);
		add_work_to(x, r, t->gpu.ts[g], dur, how);
		return;
	}
	x->out->work_none++;
	x->out->sum_none += dur;
	uint32_t call = t->launch.host[g];
	if (call == ASSAY_NO_ROW)
		return;
	uint32_t *count = assay_map_at(&x->none_by, t->host.track[call]);
	*count = *count == ASSAY_MAP_ABSENT ? 1 : *count + 1;
	if (*count > x->out->none_launched) {
		x->out->none_launched = *count;
		x->out->none_thread = t->host.track[call];
	}
}

static void end_device(tally *x)
{
	for (size_t i = 0; i < x->touched.n; i++) {
		uint32_t r = x->touched.p[i], n = x->node.p[r];
		int64_t first = x->first.p[r], last = x->last.p[r];
		x->out->node.p[n].idle +=
			last - first - (busy_until(x, last) - busy_until(x, first));
		x->first.p[r] = INT64_MAX;
		x->last.p[r] = INT64_MIN;
		x->end.p[n] = INT64_MIN;
	}
	x->touched.n = 0;
	x->busy.n = 0;
}

/* Work of one device after the other, each in order of start. */
static void add_gpu_time(tally *x)
{
	const assay_tables *t = x->t;
	size_t n = t->gpu.n;
	assay_map index = {0};
	assay_vec(uint32_t) rows = {0};
	assay_vec(int64_t) device = {0};
	for (uint32_t g = 0; g < n; g++) {
		uint32_t *slot = assay_map_at(&index, assay_gpu_place(t, g));
		if (*slot == ASSAY_MAP_ABSENT)
			*slot = (uint32_t)index.n;
		*assay_push(&device) = *slot;
		*assay_push(&rows) = g;
	}
	if (n) {
		assay_sort_rows(rows.p, n, t->gpu.ts);
		assay_sort_rows(rows.p, n, device.p);
	}
	for (size_t i = 0; i < n; i++) {
		add_event(x, rows.p[i]);
		if (i + 1 == n || device.p[rows.p[i]] != device.p[rows.p[i + 1]])
			end_device(x);
	}
	assay_vec_free(&device);
	assay_vec_free(&rows);
	assay_map_free(&index);
}

static int most_first(const void *a, const void *b)
{
	const assay_handed *x = a, *y = b;
	return assay_then(ASSAY_CMP(y->work, x->work), ASSAY_CMP(x->worker, y->worker));
}

void assay_scope_times_of(const assay_run *run, assay_scopes_by by, int64_t step,
			  assay_scope_times *out)
{
	tally x = {.run = run, .t = &run->part.t, .by = by, .step = step, .out = out};
	*out = (assay_scope_times){.none_thread = ASSAY_NO_ROW};
	order_scopes(&x);
	make_nodes(&x);
	measure_whole(&x);
	add_host_time(&x);
	add_waits(&x);
	add_gpu_time(&x);
	if (out->inferred.n)
		qsort(out->inferred.p, out->inferred.n, sizeof *out->inferred.p, most_first);
	assay_vec_free(&x.order);
	assay_vec_free(&x.depth);
	assay_vec_free(&x.shown);
	assay_vec_free(&x.node);
	assay_vec_free(&x.counted);
	assay_vec_free(&x.end);
	assay_vec_free(&x.stamp);
	assay_vec_free(&x.first);
	assay_vec_free(&x.last);
	assay_vec_free(&x.touched);
	assay_vec_free(&x.busy);
	assay_map_free(&x.none_by);
	assay_map_free(&x.handed);
}

void assay_scope_times_free(assay_scope_times *times)
{
	assay_vec_free(&times->node);
	assay_vec_free(&times->inferred);
}

/* ------------------------------------------------------------------ tests */

/* The tables as assay_scopes() leaves them, by hand. */
static uint32_t add_scope(assay_run *run, const char *name, uint32_t up, int64_t ts, int64_t dur)
{
	assay_scope_table *s = &run->part.t.scope;
	uint32_t r = assay_add(&run->part.t, ASSAY_T_scope);
	s->id[r] = r + 1;
	s->up[r] = up;
	s->name[r] = assay_sid_of(run, name);
	s->track[r] = assay_thread_track(&run->part, 1, 1);
	s->ts[r] = ts;
	s->dur[r] = dur;
	return r;
}

static void add_gpu(assay_run *run, int device, int64_t ts, int64_t dur, uint32_t scope, int how)
{
	assay_tables *t = &run->part.t;
	uint32_t g = assay_add(t, ASSAY_T_gpu), s = assay_add(t, ASSAY_T_gpu_scope);
	assay_add(t, ASSAY_T_launch);
	t->gpu.ts[g] = ts;
	t->gpu.dur[g] = dur;
	t->gpu.track[g] = assay_stream_track(&run->part, device, 0);
	*(how == ASSAY_SCOPE_HOW_FORWARD ? &t->gpu_scope.forward[s] : &t->gpu_scope.scope[s]) =
		scope;
	t->gpu_scope.how[s] = (uint8_t)how;
}

static assay_run *sample_run(void)
{
	assay_run *run = assay_run_new();
	uint32_t a = add_scope(run, "step", ASSAY_NO_ROW, 0, 100);
	uint32_t b = add_scope(run, "fwd", a, 10, 30), c = add_scope(run, "fwd", a, 50, 30);
	add_gpu(run, 0, 20, 10, b, ASSAY_SCOPE_HOW_LAUNCH);
	add_gpu(run, 0, 25, 10, b, ASSAY_SCOPE_HOW_LAUNCH); /* overlaps: 20-35 busy */
	add_gpu(run, 0, 60, 10, c, ASSAY_SCOPE_HOW_LAUNCH);
	add_gpu(run, 1, 60, 10, a, ASSAY_SCOPE_HOW_LAUNCH);
	add_gpu(run, 0, 90, 10, b, ASSAY_SCOPE_HOW_FORWARD);
	add_gpu(run, 0, 200, 7, ASSAY_NO_ROW, ASSAY_SCOPE_HOW_NONE);
	return run;
}

TEST(paths_add_up_what_their_instances_did)
{
	assay_run *run = sample_run();
	assay_scope_times times;
	assay_scope_times_of(run, ASSAY_SCOPES_BY_FORWARD, ASSAY_SCOPES_ALL_STEPS, &times);
	CHECK(times.node.n == 2 && times.work == 6 && times.work_none == 1 && times.sum_none == 7);
	const assay_scope_node *a = &times.node.p[0], *f = &times.node.p[1];
	CHECK(a->count == 1 && f->count == 2 && f->parent == 0);
	CHECK(a->host == 100 && a->host_self == 40 && f->host == 60);
	CHECK(a->gpu_sum == 50 && a->gpu_self == 10 && f->gpu_sum == 40 && f->gpu_grad == 10);
	CHECK(a->gpu_busy == 45 && f->gpu_busy == 35); /* 15 + 10 + 10, and 10 on device 1 */
	CHECK(a->work == 5 && f->work == 4);
	/* step: 20-70 on device 0 less 25 busy; fwd: 20-35 and 60-70, always busy */
	CHECK(a->idle == 25 && f->idle == 0);
	assay_scope_times_free(&times);
	/* the gradient was launched in no range */
	assay_scope_times_of(run, ASSAY_SCOPES_BY_PATH, ASSAY_SCOPES_ALL_STEPS, &times);
	CHECK(times.node.p[1].gpu_sum == 30 && times.node.p[1].gpu_grad == 0);
	CHECK(times.work_none == 2 && times.sum_none == 17 && times.sum_grad == 10);
	assay_scope_times_free(&times);
	assay_run_free(run);
	return 0;
}

TEST(instances_stay_apart_and_names_join)
{
	assay_run *run = sample_run();
	assay_scope_times times;
	assay_scope_times_of(run, ASSAY_SCOPES_BY_INSTANCE, ASSAY_SCOPES_ALL_STEPS, &times);
	CHECK(times.node.n == 3 && times.node.p[1].count == 1 && times.node.p[2].gpu_sum == 10);
	assay_scope_times_free(&times);
	/* a name inside itself counts once */
	add_scope(run, "step", 1, 12, 5);
	add_gpu(run, 0, 300, 4, 3, ASSAY_SCOPE_HOW_LAUNCH);
	assay_scope_times_of(run, ASSAY_SCOPES_BY_NAME, ASSAY_SCOPES_ALL_STEPS, &times);
	CHECK(times.node.n == 2 && times.node.p[0].count == 2 && times.node.p[0].host == 100);
	CHECK(times.node.p[0].gpu_sum == 44 && times.node.p[0].parent == ASSAY_NO_ROW);
	assay_scope_times_free(&times);
	assay_run_free(run);
	return 0;
}

TEST(numbered_steps_join)
{
	assay_run *run = assay_run_new();
	add_scope(run, "ProfilerStep#1", ASSAY_NO_ROW, 0, 10);
	add_scope(run, "ProfilerStep#22", ASSAY_NO_ROW, 10, 10);
	add_scope(run, "#5", ASSAY_NO_ROW, 20, 10);
	assay_scope_times times;
	assay_scope_times_of(run, ASSAY_SCOPES_BY_PATH, ASSAY_SCOPES_ALL_STEPS, &times);
	CHECK(times.node.n == 2 && times.node.p[0].count == 2 && times.node.p[0].host == 20);
	assay_scope_times_free(&times);
	assay_run_free(run);
	return 0;
}

TEST(a_step_takes_what_was_launched_in_it)
{
	assay_run *run = sample_run();
	uint32_t s = assay_add(&run->part.t, ASSAY_T_step);
	run->part.t.step.ts[s] = 50;
	run->part.t.step.dur[s] = 50;
	run->part.t.step.number[s] = 3;
	assay_scope_times times;
	assay_scope_times_of(run, ASSAY_SCOPES_BY_FORWARD, 3, &times);
	CHECK(times.steps == 1 && times.whole == 50 && times.work == 3);
	CHECK(times.node.p[0].host == 50 && times.node.p[1].host == 30);
	CHECK(times.node.p[1].gpu_sum == 20 && times.node.p[0].gpu_sum == 30);
	assay_scope_times_free(&times);
	assay_run_free(run);
	return 0;
}

TEST(very_deep_trees_stay_linear)
{
	enum { DEEP = 20000 };
	assay_run *run = assay_run_new();
	for (uint32_t i = 0; i < DEEP; i++)
		add_scope(run, "x", i ? i - 1 : ASSAY_NO_ROW, i, 2 * DEEP - 2 * i);
	for (uint32_t i = 0; i < DEEP; i++)
		add_gpu(run, 0, i, 1, DEEP - 1, ASSAY_SCOPE_HOW_LAUNCH);
	assay_scope_times times;
	assay_scope_times_of(run, ASSAY_SCOPES_BY_PATH, ASSAY_SCOPES_ALL_STEPS, &times);
	CHECK(times.node.n == DEPTH_MAX && times.node.p[0].gpu_sum == DEEP);
	assay_scope_times_free(&times);
	assay_run_free(run);
	return 0;
}
