/* The path: from what ended last back to what it hung on, again and again, until the start of the
 * step. Every nanosecond of the step is in exactly one stretch. */
#include "path/path.h"

#include <assert.h>
#include <stdlib.h>

#include "analyze/order.h"
#include "analyze/window.h"
#include "base/compare.h"
#include "base/fmt.h"
#include "base/test.h"
#include "model/by_hand.h"
#include "path/window.h"

/* Deeper ranges count as their ancestor at this depth. */
enum { SCOPE_DEPTH = 64 };

struct walk {
	const assay_path_graph *g;
	const assay_path_times *t;
	const int64_t *dur;
	int64_t from, now; /* the path is known from now to its end */
	assay_path_replay *sum;
	assay_path *out; /* NULL: sums only */
};

/* The path is `seg` from `at` to where it is known. */
static void step_back(struct walk *w, int64_t at, assay_path_seg seg)
{
	at = at < w->from ? w->from : at;
	if (at >= w->now)
		return;
	seg.ts = at;
	seg.dur = w->now - at;
	w->sum->class[seg.class] += seg.dur;
	w->now = at;
	if (w->out)
		*assay_push(&w->out->seg) = seg;
}

static assay_path_seg work_seg(const assay_path_graph *g, uint32_t node, uint8_t class)
{
	uint32_t gpu = g->gpu[node - g->points];
	return (assay_path_seg){.gpu = gpu,
				.host = ASSAY_NO_ROW,
				.track = g->run->part.t.gpu.track[gpu],
				.class = class};
}

static uint32_t thread_at(const assay_path_graph *g, uint32_t point)
{
	size_t low = 0, high = g->thread.n;
	while (low + 1 < high) {
		size_t mid = (low + high) / 2;
		if (g->thread.p[mid].first <= point)
			low = mid;
		else
			high = mid;
	}
	return g->thread.p[low].track;
}

static assay_path_seg host_seg(const assay_path_graph *g, uint32_t point, uint32_t row,
			       uint8_t class)
{
	return (assay_path_seg){
		.gpu = ASSAY_NO_ROW, .host = row, .track = thread_at(g, point), .class = class};
}

/* What passed between a dependency's source and the node. */
static assay_path_seg delay_seg(const assay_path_graph *g, uint32_t node, const assay_path_dep *d)
{
	if (assay_path_is_work(g, node)) {
		assay_path_seg s = work_seg(g, node, d->class);
		s.host = d->kind == ASSAY_DEP_LAUNCH ? d->row : ASSAY_NO_ROW;
		s.inferred = d->kind == ASSAY_DEP_GRAPH || d->kind == ASSAY_DEP_GUESS;
		return s;
	}
	/* a hand-off is named after the range that the thread left open while it waited */
	uint32_t row = d->kind == ASSAY_DEP_HAND ? g->row[d->from] : d->row;
	assay_path_seg s = host_seg(g, node, row, d->class);
	s.inferred = d->kind == ASSAY_DEP_HAND;
	if (assay_path_is_work(g, d->from))
		s.gpu = g->gpu[d->from - g->points];
	return s;
}

/* From the start of a node to the node it hung on, at its end or its start; ASSAY_DEP_NONE where
 * nothing more is known. */
static uint32_t follow(struct walk *w, uint32_t node, bool *at_end)
{
	const assay_path_graph *g = w->g;
	uint32_t knot = g->place[node], d = knot == ASSAY_DEP_NONE ? knot : w->t->why[knot];
	*at_end = false;
	if (d != ASSAY_DEP_NONE) {
		const assay_path_dep *dep = &g->dep[d];
		step_back(w, assay_path_ready(g, w->t, w->dur, dep), delay_seg(g, node, dep));
		*at_end = assay_path_is_work(g, dep->from) && dep->kind != ASSAY_DEP_BESIDE;
		return dep->from;
	}
	if (assay_path_is_work(g, node) || !node || g->cause[node - 1] == ASSAY_WHY_COUNT)
		return ASSAY_DEP_NONE;
	step_back(w, w->t->at[node - 1],
		  host_seg(g, node, g->row[node - 1],
			   (uint8_t)(ASSAY_PATH_WHY + g->cause[node - 1])));
	return node - 1;
}

/* Before the first thing that is known on a thread or stream. */
static assay_path_seg nothing_seg(const assay_path_graph *g, uint32_t node)
{
	return assay_path_is_work(g, node)
		       ? work_seg(g, node, assay_path_unlaunched(g, node))
		       : host_seg(g, node, ASSAY_NO_ROW, ASSAY_PATH_WHY + ASSAY_WHY_HOST_UNTRACED);
}

/* Each node comes earlier in the graph's order than the one before: the walk ends. */
static void walk_back(struct walk *w, const assay_path_bounds *b)
{
	uint32_t node = b->last;
	bool at_end = b->last_end;
	while (w->now > w->from) {
		if (at_end)
			step_back(w, w->t->at[node],
				  work_seg(w->g, node, w->g->class[node - w->g->points]));
		uint32_t next = w->now > w->from ? follow(w, node, &at_end) : node;
		if (next == ASSAY_DEP_NONE)
			step_back(w, w->from, nothing_seg(w->g, node));
		node = next;
	}
}

static assay_path_replay path_of(const assay_path_graph *g, const assay_path_window *w,
				 const assay_path_marks *marks, const assay_path_times *t,
				 const int64_t *dur, assay_path *out)
{
	assay_path_bounds b = assay_path_window_in(g, w, marks, t, dur);
	assay_path_replay r = {.step = b.to - b.from};
	struct walk walk = {
		.g = g, .t = t, .dur = dur, .from = b.from, .now = b.to, .sum = &r, .out = out};
	walk_back(&walk, &b);
	int64_t sum = 0;
	for (int c = 0; c < ASSAY_PATH_CLASSES; c++)
		sum += r.class[c];
	assert(sum == r.step);
	(void)sum;
	if (out) {
		out->from = b.from;
		out->to = b.to;
	}
	return r;
}

/* ------------------------------------------------------------------ sums */

static bool continues(const assay_path_seg *a, const assay_path_seg *b)
{
	return a->class == b->class && a->host == b->host && a->gpu == b->gpu &&
	       a->track == b->track;
}

/* In order of time, neighbours of the same kind joined. */
static void order_segs(assay_path *p)
{
	size_t n = 0;
	for (size_t i = 0; i < p->seg.n / 2; i++) {
		assay_path_seg s = p->seg.p[i];
		p->seg.p[i] = p->seg.p[p->seg.n - 1 - i];
		p->seg.p[p->seg.n - 1 - i] = s;
	}
	int64_t at = p->from;
	for (size_t i = 0; i < p->seg.n; i++) {
		assert(p->seg.p[i].ts == at);
		at += p->seg.p[i].dur;
		if (n && continues(&p->seg.p[n - 1], &p->seg.p[i]))
			p->seg.p[n - 1].dur += p->seg.p[i].dur;
		else
			p->seg.p[n++] = p->seg.p[i];
	}
	assert(at == p->to);
	p->seg.n = n;
}

static int by_time(const void *a, const void *b)
{
	const assay_path_sum *x = a, *y = b;
	return assay_then(ASSAY_CMP(y->time, x->time), ASSAY_CMP(x->name, y->name));
}

static void sort_sums(assay_path_sums *s)
{
	if (s->n)
		qsort(s->p, s->n, sizeof *s->p, by_time);
}

static assay_path_sum *sum_at(assay_map *at, assay_path_sums *s, assay_sid name)
{
	uint32_t *slot = assay_map_at(at, name);
	if (*slot == ASSAY_MAP_ABSENT) {
		*slot = (uint32_t)s->n;
		*assay_push(s) = (assay_path_sum){.name = name};
	}
	return &s->p[*slot];
}

static void sum_kernels(const assay_path_graph *g, assay_path *p)
{
	const assay_tables *t = &g->run->part.t;
	assay_map at = {0};
	for (size_t i = 0; i < p->seg.n; i++) {
		const assay_path_seg *s = &p->seg.p[i];
		if (s->class >= ASSAY_PATH_WHY)
			continue;
		uint32_t k = g->kernel[g->node_of_gpu[s->gpu] - g->points];
		assay_path_sum *sum = sum_at(&at, &p->kernels, t->kernel.name[k]);
		sum->count++;
		sum->time += s->dur;
		p->family[t->kernel.family[k]] += s->dur;
	}
	sort_sums(&p->kernels);
	assay_map_free(&at);
}

static uint32_t scope_of(const assay_tables *t, const assay_path_seg *s)
{
	if (s->class != ASSAY_PATH_WHY + ASSAY_WHY_HOST_SYNC && s->gpu < t->gpu_scope.n)
		return assay_path_work_scope(t, s->gpu);
	return s->host != ASSAY_NO_ROW && s->host < t->host_scope.n ? t->host_scope.scope[s->host]
								    : ASSAY_NO_ROW;
}

/* The end of a path that is longer than anybody reads, from the start of a name. */
static const char *end_of_path(const char *path)
{
	enum { BYTES = 4096 };
	size_t n = strlen(path);
	const char *slash = n > BYTES ? strchr(path + n - BYTES, '/') : NULL;
	return slash ? slash + 1 : path;
}

/* Names from the outermost range to this one; of ranges deeper than any program's, the last
 * ones. */
static assay_sid scope_path(assay_run *run, assay_map *known, uint32_t scope, int depth)
{
	const assay_scope_table *t = &run->part.t.scope;
	assay_arena scratch = {0};
	uint32_t seen = assay_map_get(known, scope);
	if (seen != ASSAY_MAP_ABSENT)
		return seen;
	uint32_t up = depth < SCOPE_DEPTH ? t->up[scope] : ASSAY_NO_ROW;
	assay_sid above = up == ASSAY_NO_ROW ? 0 : scope_path(run, known, up, depth + 1);
	assay_sid path =
		assay_sid_of(run, assay_printf(&scratch, "%s%s%s", end_of_path(assay_z(run, above)),
					       above ? "/" : "", assay_z(run, t->name[scope])));
	*assay_map_at(known, scope) = path;
	assay_arena_free(&scratch);
	return path;
}

static void sum_scopes(assay_run *run, assay_path *p)
{
	const assay_tables *t = &run->part.t;
	assay_map at = {0}, known = {0};
	uint32_t lent = ASSAY_NO_ROW; /* the range in which another thread waits for this one */
	for (size_t i = 0; i < p->seg.n; i++) {
		uint32_t scope = scope_of(t, &p->seg.p[i]);
		if (p->seg.p[i].class == ASSAY_PATH_HAND_OFF)
			lent = scope;
		scope = scope == ASSAY_NO_ROW ? lent : scope;
		for (int k = 0; scope != ASSAY_NO_ROW && k < SCOPE_DEPTH; k++) {
			assay_path_sum *s =
				sum_at(&at, &p->scopes, scope_path(run, &known, scope, 0));
			s->count++;
			s->time += p->seg.p[i].dur;
			scope = t->scope.up[scope];
		}
	}
	sort_sums(&p->scopes);
	assay_map_free(&at);
	assay_map_free(&known);
}

/* ------------------------------------------------------------------ the sentence */

static const char *class_words(int class)
{
	static const char *const work[] = {
		[ASSAY_CLASS_COMPUTE] = "compute",
		[ASSAY_CLASS_COMM] = "communication",
		[ASSAY_CLASS_COPY] = "copies",
	};
	return class < ASSAY_PATH_WHY        ? work[class]
	       : class < ASSAY_PATH_HAND_OFF ? assay_why_rows[class - ASSAY_PATH_WHY].path
					     : "hand-offs between threads";
}

static void order_classes(const assay_path *p, int by_size[ASSAY_PATH_CLASSES])
{
	for (int c = 0; c < ASSAY_PATH_CLASSES; c++) {
		int at = c;
		int64_t size = p->class[c];
		for (; at > 0 && p->class[by_size[at - 1]] < size; at--)
			by_size[at] = by_size[at - 1];
		by_size[at] = c;
	}
}

static const char *pace_words(const assay_path *p)
{
	int64_t device = 0, whole = p->to - p->from;
	for (int c = 0; c < ASSAY_PATH_WHY; c++)
		device += p->class[c];
	for (int c = 0; c < ASSAY_WHY_COUNT; c++)
		if (assay_why_rows[c].bucket == ASSAY_BUCKET_DEVICE_WAIT)
			device += p->class[ASSAY_PATH_WHY + c];
	int64_t unknown = p->class[ASSAY_PATH_WHY + ASSAY_WHY_UNLINKED];
	return unknown * 2 > whole            ? "its launches were not recorded"
	       : device * 2 > whole - unknown ? "the device sets the pace"
					      : "the host sets the pace";
}

/* Unrecorded host time mostly inside one range is that range's. */
static const char *class_text(const assay_run *run, assay_path *p, int class)
{
	assay_map at = {0};
	assay_path_sums in = {0};
	size_t most = 0;
	const char *text = class_words(class);
	for (size_t i = 0; class == ASSAY_PATH_WHY + ASSAY_WHY_HOST_UNTRACED && i < p->seg.n; i++) {
		const assay_path_seg *s = &p->seg.p[i];
		if (s->class == class && s->host != ASSAY_NO_ROW)
			sum_at(&at, &in, run->part.t.host.name[s->host])->time += s->dur;
	}
	for (size_t i = 1; i < in.n; i++)
		most = in.p[i].time > in.p[most].time ? i : most;
	/* the step's own marker says no more than that it is the step */
	assay_sid marker = p->step == ASSAY_NO_ROW ? 0 : run->part.t.step.name[p->step];
	if (in.n && in.p[most].name != marker && 2 * in.p[most].time > p->class[class])
		text = assay_printf(&p->arena, "unrecorded host time in %s",
				    assay_fmt_safe(&p->arena, assay_text(run, in.p[most].name)));
	assay_vec_free(&in);
	assay_map_free(&at);
	return text;
}

static void set_sentence(const assay_run *run, assay_path *p)
{
	int by_size[ASSAY_PATH_CLASSES];
	char took[ASSAY_FMT];
	int64_t whole = p->to - p->from;
	order_classes(p, by_size);
	const char *what = "the recording";
	if (p->step != ASSAY_NO_ROW && run->part.t.step.number[p->step] >= 0)
		what = assay_printf(&p->arena, "step %lld",
				    (long long)run->part.t.step.number[p->step]);
	else if (p->step != ASSAY_NO_ROW)
		what = "a step";
	const char *text = assay_printf(&p->arena, "%s takes %s: %s", what,
					assay_fmt_time(took, whole), pace_words(p));
	for (int i = 0; i < 3 && assay_percent(p->class[by_size[i]], whole) >= 1; i++)
		text = assay_printf(&p->arena, "%s%s%.0f %%%s is %s", text, i ? ", " : "; ",
				    assay_percent(p->class[by_size[i]], whole),
				    i ? "" : " of its path", class_text(run, p, by_size[i]));
	p->sentence = text;
}

/* ------------------------------------------------------------------ put together */

/* The process of the device that did most, or of the first host event. */
static uint32_t main_group(const assay_run *run)
{
	const assay_tables *t = &run->part.t;
	uint32_t device = assay_main_device(run);
	if (device != ASSAY_NO_ROW)
		return assay_group_of(t, t->device_time.source[device]);
	return t->host.n ? assay_track_group(t, t->host.track[0]) : 0;
}

static uint32_t count_groups(const assay_tables *t)
{
	uint32_t n = 0;
	assay_map seen = {0};
	for (uint32_t i = 0; i < t->track.n; i++) {
		uint32_t *slot = assay_map_at(&seen, assay_track_group(t, i));
		n += *slot == ASSAY_MAP_ABSENT && t->track.kind[i] == ASSAY_TRACK_STREAM;
		if (t->track.kind[i] == ASSAY_TRACK_STREAM || *slot == ASSAY_MAP_ABSENT)
			*slot = t->track.kind[i] == ASSAY_TRACK_STREAM;
	}
	assay_map_free(&seen);
	return n;
}

static void describe_graph(const assay_path_graph *g, const assay_path_window *w, assay_path *out)
{
	out->step = w->step;
	out->steps = w->steps;
	out->chosen = w->chosen;
	out->source = g->group;
	out->sources = count_groups(&g->run->part.t);
	out->points = g->points;
	out->work = g->work;
	out->deps = g->deps;
	out->violated = g->violated;
	out->broken = g->broken;
	out->inferred = g->inferred;
	out->guessed = g->guessed;
	out->overlaps = g->overlaps;
	out->full = g->full;
	out->launch_latency = g->typical[ASSAY_DEP_LAUNCH][ASSAY_GPU_KERNEL];
	out->stream_gap = g->typical[ASSAY_DEP_STREAM][ASSAY_GPU_KERNEL];
	out->sync_return = g->typical[ASSAY_DEP_SYNC][ASSAY_GPU_KERNEL];
	out->sync_call = g->sync_call;
}

static bool replay_changed(assay_path_graph *g, const assay_path_window *w,
			   const assay_path_marks *marks, const assay_path_what_ifs *rules,
			   assay_path_times *times, assay_path *out, assay_err *err)
{
	assay_path_changes changes = {.len = {0}};
	bool ok = assay_path_what_ifs_apply(g, rules, &changes, out, err);
	if (ok) {
		assay_path_lengths lengths = assay_path_lengths_with(g, &changes);
		assay_path_replay_with(g, &lengths, times);
		out->changed = path_of(g, w, marks, times, lengths.dur, NULL);
	}
	assay_path_changes_free(&changes);
	return ok;
}

static bool follow_graph(assay_run *run, assay_path_graph *g, const assay_path_window *w,
			 const assay_path_what_ifs *rules, assay_path *out, assay_err *err)
{
	assay_path_marks marks;
	assay_path_window_mark(g, w, &marks);
	describe_graph(g, w, out);
	assay_path_replay measured = path_of(g, w, &marks, &g->measured, g->base.dur, out);
	memcpy(out->class, measured.class, sizeof out->class);
	order_segs(out);
	sum_kernels(g, out);
	sum_scopes(run, out);
	set_sentence(run, out);
	assay_path_times times = assay_path_times_new(g);
	assay_path_replay_with(g, &g->base, &times);
	out->same = path_of(g, w, &marks, &times, g->base.dur, NULL);
	return !rules->n || replay_changed(g, w, &marks, rules, &times, out, err);
}

bool assay_path_find(assay_run *run, const assay_path_opts *opts, assay_path *out, assay_err *err)
{
	assay_path_what_ifs rules = {0};
	assay_path_window window;
	assay_path_graph g;
	uint32_t group = main_group(run);
	*out = (assay_path){.step = ASSAY_NO_ROW};
	bool ok = assay_path_what_ifs_parse(&rules, opts->what_if, opts->what_ifs, err) &&
		  assay_path_window_find(run, group, opts->step, &window, err);
	if (ok) {
		assay_path_graph_build(&g, run, group, window.since, window.until);
		ok = g.nodes ? follow_graph(run, &g, &window, &rules, out, err)
			     : assay_path_nothing(err);
		assay_path_graph_free(&g);
	}
	assay_vec_free(&rules);
	return ok;
}

void assay_path_free(assay_path *p)
{
	assay_vec_free(&p->seg);
	assay_vec_free(&p->kernels);
	assay_vec_free(&p->scopes);
	assay_vec_free(&p->rules);
	assay_arena_free(&p->arena);
}

/* A step of one thread that loads, launches on a stream and waits. */
static assay_run *small_step(void)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	assay_add(t, ASSAY_T_source);
	uint32_t k = assay_add(t, ASSAY_T_kernel);
	t->kernel.name[k] = assay_sid_of(run, "kernel");
	assay_hand_host(run, ASSAY_HOST_OP, "enumerate(DataLoader)", 0, 100);
	uint32_t one = assay_hand_host(run, ASSAY_HOST_RUNTIME, "cudaLaunchKernel", 100, 10);
	uint32_t two = assay_hand_host(run, ASSAY_HOST_RUNTIME, "cudaLaunchKernel", 110, 10);
	uint32_t wait = assay_hand_host(run, ASSAY_HOST_RUNTIME, "cudaDeviceSynchronize", 120, 280);
	assay_hand_host(run, ASSAY_HOST_DRIVER, "cuCtxSynchronize", 125, 265);
	assay_hand_host(run, ASSAY_HOST_OP, "aten::item", 400, 100);
	assay_hand_gpu(run, "kernel", 120, 100, one);
	uint32_t e = assay_add(t, ASSAY_T_edge);
	t->edge.from_gpu[e] = assay_hand_gpu(run, "kernel", 221, 150, two);
	t->edge.to_host[e] = wait;
	t->edge.kind[e] = ASSAY_EDGE_DEVICE_SYNC;
	return run;
}

static bool find_path(assay_run *run, const char *what_if, assay_path *out)
{
	assay_err err = {0};
	return assay_path_find(run,
			       &(assay_path_opts){.step = ASSAY_PATH_ALL,
						  .what_if = &what_if,
						  .what_ifs = what_if != NULL},
			       out, &err);
}

TEST(the_path_goes_through_what_was_waited_for)
{
	assay_run *run = small_step();
	assay_path p;
	CHECK(find_path(run, NULL, &p));
	CHECK_EQ(p.to - p.from, 500);
	CHECK_EQ(p.class[ASSAY_PATH_WHY + ASSAY_WHY_HOST_DATA], 100);
	CHECK_EQ(p.class[ASSAY_PATH_WHY + ASSAY_WHY_LAUNCH_LATENCY], 20);
	CHECK_EQ(p.class[ASSAY_CLASS_COMPUTE], 250);
	CHECK_EQ(p.class[ASSAY_PATH_WHY + ASSAY_WHY_QUEUED], 1);
	CHECK_EQ(p.class[ASSAY_PATH_WHY + ASSAY_WHY_HOST_SYNC], 29);
	CHECK_EQ(p.class[ASSAY_PATH_WHY + ASSAY_WHY_HOST_OP], 100);
	CHECK_EQ(p.same.step, 500);
	assay_path_free(&p);
	assay_run_free(run);
	return 0;
}

TEST(what_ifs_change_what_they_name_and_what_hangs_on_it)
{
	static const struct {
		const char *rule;
		int64_t step;
	} cases[] = {
		{"data=0", 400},           {"kernel=0.5x", 375},   {"compute=2x", 750},
		{"kernel=10ns", 270},      {"kernel=0", 259},      {"aten::*=3x", 700},
		{"launch_latency=0", 480}, {"cudaDevice*=0", 371}, /* the work still runs to 371,
								      the operator to 220 */
		{"queued=0", 499},
	};
	for (size_t i = 0; i < ASSAY_COUNT_OF(cases); i++) {
		assay_run *run = small_step();
		assay_path p;
		CHECK(find_path(run, cases[i].rule, &p));
		CHECK_EQ(p.changed.step, cases[i].step);
		assay_path_free(&p);
		assay_run_free(run);
	}
	return 0;
}

TEST(a_what_if_that_matches_nothing_is_refused)
{
	assay_run *run = small_step();
	assay_path p;
	CHECK(!find_path(run, "gemm=0", &p));
	assay_path_free(&p);
	assay_run_free(run);
	return 0;
}

TEST(who_sets_the_pace_is_told_by_halves)
{
	static const struct {
		int64_t compute, queued, unlinked;
		const char *words;
	} cases[] = {
		{51, 0, 0, "the device sets the pace"},
		{50, 0, 0, "the host sets the pace"},
		{40, 11, 0, "the device sets the pace"},
		{0, 0, 51, "its launches were not recorded"},
		{26, 0, 50, "the device sets the pace"},
		{25, 0, 50, "the host sets the pace"},
	};
	for (size_t i = 0; i < ASSAY_COUNT_OF(cases); i++) {
		assay_path p = {.from = 900, .to = 1000};
		p.class[ASSAY_CLASS_COMPUTE] = cases[i].compute;
		p.class[ASSAY_PATH_WHY + ASSAY_WHY_QUEUED] = cases[i].queued;
		p.class[ASSAY_PATH_WHY + ASSAY_WHY_UNLINKED] = cases[i].unlinked;
		CHECK(!strcmp(pace_words(&p), cases[i].words));
	}
	return 0;
}

TEST(the_sentence_names_the_three_largest_parts_from_one_percent_on)
{
	assay_run *run = assay_run_new();
	assay_path p = {.to = 1000, .step = ASSAY_NO_ROW};
	p.class[ASSAY_CLASS_COMPUTE] = 300;
	p.class[ASSAY_PATH_WHY + ASSAY_WHY_HOST_DATA] = 600;
	p.class[ASSAY_PATH_WHY + ASSAY_WHY_QUEUED] = 10;
	p.class[ASSAY_PATH_WHY + ASSAY_WHY_HOST_SYNC] = 9;
	set_sentence(run, &p);
	CHECK(strstr(p.sentence, "; 60 % of its path is "));
	CHECK(strstr(p.sentence, ", 30 % is ") && strstr(p.sentence, ", 1 % is "));
	p.class[ASSAY_PATH_WHY + ASSAY_WHY_QUEUED] = 9;
	set_sentence(run, &p);
	CHECK(strstr(p.sentence, ", 30 % is ") && !strstr(p.sentence, ", 1 % is "));
	assay_path_free(&p);
	assay_run_free(run);
	return 0;
}

TEST(unrecorded_time_is_that_of_the_range_with_more_than_half_of_it)
{
	assay_run *run = assay_run_new();
	assay_add(&run->part.t, ASSAY_T_source);
	uint32_t little = assay_hand_host(run, ASSAY_HOST_OP, "little", 0, 100);
	uint32_t much = assay_hand_host(run, ASSAY_HOST_OP, "much", 100, 100);
	const int class = ASSAY_PATH_WHY + ASSAY_WHY_HOST_UNTRACED;
	assay_path p = {.step = ASSAY_NO_ROW};
	p.class[class] = 100;
	for (int i = 0; i < 3; i++)
		*assay_push(&p.seg) = (assay_path_seg){.gpu = ASSAY_NO_ROW,
						       .class = (uint8_t) class,
						       .host = i ? much : little,
						       .dur = 25};
	CHECK(!strcmp(class_text(run, &p, class), class_words(class)));
	p.seg.p[2].dur++;
	CHECK(!strcmp(class_text(run, &p, class), "unrecorded host time in much"));
	assay_path_free(&p);
	assay_run_free(run);
	return 0;
}
