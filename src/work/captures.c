/* A replayed graph is a list of kernels in the order of time; a captured one a list of calls in the
 * order of the program. Streams may change the order, not how often a kernel is in it: the second
 * "gemm" of the replay is the second "gemm" of the capture. AMD's runtime and torch say which
 * kernel a call launches; where nobody does, calls and work of one stream are counted off, if there
 * are as many. Of captures that fit equally (layers of one model, sizes of a batch) the one with
 * the same grids is taken, then the next in turn. */
#include "work/captures.h"

#include <stdio.h>

#include "base/group.h"
#include "base/json.h"
#include "base/sort.h"
#include "base/test.h"
#include "model/by_hand.h"
#include "model/by_name.h"
#include "names/calls.h"
#include "work/op_walk.h"

enum { WHAT_COPY = 1, WHAT_SET = 2 };

/* ---- what was captured ---- */

/* Some calls launch and record an event at once; XLA's profiler writes the graph behind the call's
 * name: "cuGraphLaunch (CudaGraph:48)". */
static unsigned does_mostly(assay_str call)
{
	assay_call_meaning m = assay_call_meaning_of(call.p, call.n);
	if (assay_str_find(call, "GraphLaunch (CudaGraph") >= 0)
		return ASSAY_DOES_GRAPH;
	bool launch = m.takes & ASSAY_TAKES_LAUNCHES && m.does != ASSAY_DOES_GRAPH &&
		      m.does != ASSAY_DOES_COPY && m.does != ASSAY_DOES_MEMSET;
	return launch ? ASSAY_DOES_LAUNCH : m.does;
}

static assay_call_does does_of(const assay_by_name *does, uint32_t host)
{
	return (assay_call_does)assay_by_name_ask(does, does->run->part.t.host.name[host]);
}

static uint64_t what_of_name(assay_str name)
{
	if (assay_str_find(name, "fillBuffer") >= 0) /* what HIP sets memory with */
		return WHAT_SET;
	if (assay_str_find(name, "rocclr_copyBuffer") >= 0)
		return WHAT_COPY;
	return assay_hash(name.p, name.n, 7) | 8;
}

static uint64_t shape_of(const uint32_t grid[3], const uint32_t block[3])
{
	uint32_t all[6] = {grid[0], grid[1], grid[2], block[0], block[1], block[2]};
	return grid[0] ? assay_hash(all, sizeof all, 3) : 0;
}

static void read_three(assay_json *j, uint32_t out[3])
{
	int64_t v;
	size_t n = 0;
	if (assay_json_peek(j) != '[') {
		assay_json_skip(j, NULL);
		return;
	}
	for (assay_json_enter(j, '['); assay_json_element(j);) {
		if (!assay_json_i64(j, &v))
			assay_json_skip(j, NULL);
		else if (n < 3 && v > 0 && v <= UINT32_MAX)
			out[n++] = (uint32_t)v;
	}
}

/* torch writes the kernel and its shape beside launches of HIP. */
static void read_call_args(assay_captured_call *call, assay_str args, assay_arena *scratch)
{
	uint32_t grid[3] = {0}, block[3] = {0};
	assay_str key, text;
	assay_arena_reset(scratch);
	assay_json j = assay_json_members(scratch, args);
	while (assay_json_member(&j, &key)) {
		if (assay_str_is(key, "kernel") && assay_json_peek(&j) == '"') {
			if (assay_json_text(&j, &text))
				call->what = what_of_name(assay_json_unescape(scratch, text));
		} else if (assay_str_is(key, "grid")) {
			read_three(&j, grid);
		} else if (assay_str_is(key, "block")) {
			read_three(&j, block);
		} else {
			assay_json_skip(&j, NULL);
		}
	}
	call->shape = shape_of(grid, block);
}

struct taking {
	assay_captures *c;
	assay_run *run;
	const assay_run *from;
	assay_op_places places;
	assay_map row_of; /* operator of the recording -> row of captured */
	assay_arena scratch;
};

static uint32_t captured_row(struct taking *k, const assay_op_place *p)
{
	const assay_host_table *host = &k->from->part.t.host;
	if (p->op == ASSAY_NO_ROW)
		return ASSAY_NO_ROW;
	uint32_t *slot = assay_map_at(&k->row_of, p->op);
	if (*slot != ASSAY_MAP_ABSENT)
		return *slot;
	assay_captured_table *t = &k->run->part.t.captured;
	assay_pool *strings = &k->run->part.strings;
	*slot = assay_add(&k->run->part.t, ASSAY_T_captured);
	t->name[*slot] = assay_intern(strings, assay_text(k->from, host->name[p->op]));
	t->args[*slot] = assay_intern(strings, assay_text(k->from, host->args[p->op]));
	t->flags[*slot] = (uint8_t)((p->recomputed ? ASSAY_OP_RECOMPUTED : 0) |
				    (p->backward ? ASSAY_OP_BACKWARD : 0));
	return *slot;
}

static void take_call(struct taking *k, uint32_t host, assay_call_does does)
{
	const assay_op_place *at = assay_op_place_of(&k->places, &k->from->part.t, host);
	assay_captured_call call = {.op = ASSAY_NO_ROW};
	if (does == ASSAY_DOES_LAUNCH)
		read_call_args(&call, assay_text(k->from, k->from->part.t.host.args[host]),
			       &k->scratch);
	else
		call.what = does == ASSAY_DOES_COPY ? WHAT_COPY : WHAT_SET;
	if (at)
		call.op = captured_row(k, at);
	if (call.op != ASSAY_NO_ROW && !call.what)
		k->run->part.t.captured.inferred[call.op] = 1;
	*assay_push(&k->c->call) = call;
}

static void end_graph(assay_captures *c)
{
	if (c->call.n <= c->first.p[c->first.n - 1])
		return;
	*assay_push(&c->first) = c->call.n;
	*assay_push(&c->program) = false;
}

typedef assay_vec(uint32_t) row_list;

/* Calls of threads that capture, thread after thread in the order of time. */
static void list_calls(const assay_by_name *m, row_list *out, assay_arena *scratch)
{
	const assay_tables *t = &m->run->part.t;
	bool *captures = assay_alloc(scratch, t->track.n + 1);
	for (uint32_t h = 0; h < t->host.n; h++)
		if (assay_is_call(t->host.kind[h]) && t->host.track[h] < t->track.n &&
		    !captures[t->host.track[h]])
			captures[t->host.track[h]] = does_of(m, h) == ASSAY_DOES_CAPTURE_BEGIN;
	for (uint32_t h = 0; h < t->host.n; h++)
		if (assay_is_call(t->host.kind[h]) && t->host.track[h] < t->track.n &&
		    captures[t->host.track[h]])
			*assay_push(out) = h;
	if (!out->n)
		return;
	assay_sort_rows(out->p, out->n, t->host.ts);
	uint32_t *by_thread = assay_alloc(scratch, out->n * sizeof *by_thread);
	size_t *first = assay_alloc(scratch, (t->track.n + 1) * sizeof *first);
	assay_group_rows(by_thread, first, out->p, out->n, t->host.track, t->track.n);
	memcpy(out->p, by_thread, out->n * sizeof *by_thread);
}

/* A call inside another one is the same launch told of twice. */
static void walk_calls(struct taking *k, const assay_by_name *m, const row_list *calls)
{
	const assay_host_table *host = &k->from->part.t.host;
	uint32_t track = ASSAY_NO_ROW;
	int64_t inside = INT64_MIN;
	bool capturing = false;
	for (size_t i = 0; i < calls->n; i++) {
		uint32_t h = calls->p[i];
		assay_call_does does = does_of(m, h);
		if (host->track[h] != track || does == ASSAY_DOES_CAPTURE_END ||
		    does == ASSAY_DOES_CAPTURE_BEGIN) {
			end_graph(k->c);
			capturing = does == ASSAY_DOES_CAPTURE_BEGIN;
			track = host->track[h];
			inside = INT64_MIN;
			continue;
		}
		bool work = does == ASSAY_DOES_LAUNCH || does == ASSAY_DOES_COPY ||
			    does == ASSAY_DOES_MEMSET;
		if (!capturing || !work || host->ts[h] < inside)
			continue;
		inside = assay_host_end(host, h);
		take_call(k, h, does);
	}
	end_graph(k->c);
}

void assay_captures_take(assay_captures *c, assay_run *run, const assay_run *recording)
{
	struct taking k = {.c = c, .run = run, .from = recording};
	row_list calls = {0};
	assay_rule_names rules;
	if (!c->first.n)
		*assay_push(&c->first) = 0;
	assay_arena names = {0};
	assay_by_name m = assay_by_name_open(recording, &names, does_mostly);
	list_calls(&m, &calls, &k.scratch);
	if (calls.n) {
		c->apart |= recording != run;
		assay_arena_reset(&k.scratch);
		assay_rule_names_init(&rules, recording);
		assay_op_places_of(&k.places, recording, &rules, calls.p, calls.n);
		walk_calls(&k, &m, &calls);
		assay_op_places_free(&k.places);
		assay_rule_names_free(&rules);
	}
	assay_arena_free(&names);
	assay_map_free(&k.row_of);
	assay_arena_free(&k.scratch);
	assay_vec_free(&calls);
}

/* ---- what was replayed ---- */

struct giving {
	const assay_captures *c;
	assay_run *run;
	assay_tables *t;
	uint64_t *what, *shape; /* of the work of one launch, and how often it was before */
	uint32_t *nth;
	size_t room;
	assay_map seen;           /* hash of a launch's work -> place in fits */
	assay_vec(row_list) fits; /* captures that fit it best */
	assay_map used;           /* place in fits -> capture that was taken last */
	uint64_t budget;          /* pieces that may still be compared: files may lie */
	size_t unfit;             /* pieces of work */
};

static uint64_t place_key(size_t graph, uint64_t what, uint32_t nth)
{
	uint64_t key[] = {graph, what, nth};
	return assay_hash(key, sizeof key, 1);
}

static uint32_t nth_of(assay_map *counts, uint64_t what)
{
	uint32_t *n = assay_map_at(counts, what);
	return *n == ASSAY_MAP_ABSENT ? (*n = 0) : ++*n;
}

static void index_captures(assay_captures *c)
{
	for (size_t g = 0; g + 1 < c->first.n; g++) {
		assay_map counts = {0};
		for (size_t i = c->first.p[g]; i < c->first.p[g + 1]; i++) {
			uint64_t what = c->call.p[i].what;
			*assay_map_at(&c->place, place_key(g, what, nth_of(&counts, what))) =
				(uint32_t)i;
		}
		assay_map_free(&counts);
	}
}

static uint64_t gpu_what(const struct giving *v, uint32_t gpu)
{
	switch (v->t->gpu.kind[gpu]) {
	case ASSAY_GPU_MEMCPY:
		return WHAT_COPY;
	case ASSAY_GPU_MEMSET:
		return WHAT_SET;
	default:
		return what_of_name(assay_text(v->run, v->t->gpu.name[gpu]));
	}
}

/* What a launch ran; the same for each launch of the same graph. */
static uint64_t describe(struct giving *v, const uint32_t *gpu, size_t n)
{
	const assay_gpu_table *g = &v->t->gpu;
	assay_map counts = {0};
	uint64_t hash = n;
	for (size_t i = 0; i < n; i++) {
		uint32_t r = gpu[i];
		uint32_t grid[] = {g->grid_x[r], g->grid_y[r], g->grid_z[r]};
		uint32_t block[] = {g->block_x[r], g->block_y[r], g->block_z[r]};
		v->what[i] = gpu_what(v, r);
		v->nth[i] = nth_of(&counts, v->what[i]);
		v->shape[i] = shape_of(grid, block);
		uint64_t all[] = {hash, v->what[i], v->shape[i]};
		hash = assay_hash(all, sizeof all, 2);
	}
	assay_map_free(&counts);
	return hash;
}

static bool one_stream(const struct giving *v, const uint32_t *gpu, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (v->t->gpu.track[gpu[i]] != v->t->gpu.track[gpu[0]])
			return false;
	return true;
}

static const assay_captured_call *call_for(const struct giving *v, size_t graph, size_t i)
{
	const assay_captures *c = v->c;
	uint32_t at = assay_map_get(&c->place, place_key(graph, v->what[i], v->nth[i]));
	return at == ASSAY_MAP_ABSENT ? NULL : &c->call.p[at];
}

/* Nobody said which kernels are captured: as many calls as work on one stream are the same ones. */
static bool counts_off(const struct giving *v, size_t graph, const uint32_t *gpu, size_t n)
{
	const assay_captures *c = v->c;
	size_t first = c->first.p[graph], end = c->first.p[graph + 1];
	if (end - first != n || !one_stream(v, gpu, n))
		return false;
	for (size_t i = first; i < end; i++)
		if (c->call.p[i].what > WHAT_SET ||
		    (c->call.p[i].what && c->call.p[i].what != v->what[i - first]))
			return false;
	return true;
}

/* Work of a program, in its order: fusions have its names, calls of libraries any. */
static bool runs_program(const struct giving *v, size_t graph, const uint32_t *gpu, size_t n)
{
	const assay_captured_call *call = &v->c->call.p[v->c->first.p[graph]];
	if (v->c->first.p[graph + 1] - v->c->first.p[graph] != n || !one_stream(v, gpu, n))
		return false;
	size_t named = 0;
	for (size_t i = 0; i < n; i++) {
		assay_str name = assay_text(v->run, v->t->gpu.name[gpu[i]]);
		if (call[i].what && call[i].what != assay_capture_stem(name))
			return false;
		named += call[i].what != 0;
	}
	return named > 0;
}

/* How well the work fits: pieces found, then those of the same shape; 0: not at all. Nine of ten
 * must be found, for a profiler may lose some. */
static uint64_t fit(struct giving *v, size_t graph, const uint32_t *gpu, size_t n)
{
	size_t found = 0, same = 0;
	size_t calls = v->c->first.p[graph + 1] - v->c->first.p[graph];
	bool alike = calls * 10 >= n * 9 && n * 10 >= calls * 9;
	uint64_t cost = 1 + (alike ? n : 0);
	v->budget -= cost < v->budget ? cost : v->budget;
	if (!alike || !v->budget)
		return 0;
	if (v->c->program.p[graph])
		return runs_program(v, graph, gpu, n) ? 1 : 0;
	for (size_t i = 0; i < n; i++) {
		const assay_captured_call *call = call_for(v, graph, i);
		found += call != NULL;
		same += call && call->shape && call->shape == v->shape[i];
	}
	if (found * 10 < n * 9 || found * 10 < calls * 9)
		return counts_off(v, graph, gpu, n) ? 1 : 0;
	return (uint64_t)found << 32 | same << 1;
}

static void find_fits(struct giving *v, const uint32_t *gpu, size_t n, row_list *out)
{
	uint64_t best = 1;
	for (size_t g = 0; v->budget && g + 1 < v->c->first.n; g++) {
		uint64_t score = fit(v, g, gpu, n);
		if (score > best)
			out->n = 0;
		if (score >= best)
			*assay_push(out) = (uint32_t)g;
		best = score > best ? score : best;
	}
}

/* The next of those that fit equally: graphs of layers are replayed in the order of their
 * capture. */
static uint32_t take_turn(const row_list *fits, uint32_t *used)
{
	if (*used == ASSAY_MAP_ABSENT || ++*used >= fits->n)
		*used = 0;
	return fits->p[*used];
}

static void give_graph(struct giving *v, size_t graph, const uint32_t *gpu, size_t n)
{
	bool counted = v->c->program.p[graph] || counts_off(v, graph, gpu, n);
	for (size_t i = 0; i < n; i++) {
		const assay_captured_call *call =
			counted ? &v->c->call.p[v->c->first.p[graph] + i] : call_for(v, graph, i);
		if (call)
			v->t->gpu_captured.op[gpu[i]] = call->op;
		else
			v->unfit++;
	}
}

static void give_launch(struct giving *v, const uint32_t *gpu, size_t n)
{
	if (n > v->room) {
		v->room = n * 2;
		v->what = assay_pages_grow(v->what, v->room * sizeof *v->what);
		v->shape = assay_pages_grow(v->shape, v->room * sizeof *v->shape);
		v->nth = assay_pages_grow(v->nth, v->room * sizeof *v->nth);
	}
	uint32_t *slot = assay_map_at(&v->seen, describe(v, gpu, n));
	if (*slot == ASSAY_MAP_ABSENT) {
		*slot = (uint32_t)v->fits.n;
		row_list found = {0};
		find_fits(v, gpu, n, &found);
		*assay_push(&v->fits) = found;
	}
	const row_list *fits = &v->fits.p[*slot];
	if (fits->n)
		give_graph(v, take_turn(fits, assay_map_at(&v->used, *slot)), gpu, n);
	else
		v->unfit += n;
}

/* Work of graph launches: launches in the order of the program, work of each in that of time. */
static void list_work(struct giving *v, row_list *out)
{
	const assay_launch_table *l = &v->t->launch;
	assay_arena names = {0};
	assay_by_name m = assay_by_name_open(v->run, &names, does_mostly);
	for (uint32_t g = 0; g < l->n; g++)
		if (l->host[g] != ASSAY_NO_ROW && does_of(&m, l->host[g]) == ASSAY_DOES_GRAPH)
			*assay_push(out) = g;
	assay_arena_free(&names);
	if (out->n)
		assay_sort_rows(out->p, out->n, v->t->gpu.ts);
}

static void give_all(struct giving *v, const row_list *work)
{
	const assay_launch_table *l = &v->t->launch;
	assay_map at = {0}; /* launch -> place in lists */
	assay_vec(row_list) lists = {0};
	row_list calls = {0};
	for (size_t i = 0; i < work->n; i++) {
		uint32_t *slot = assay_map_at(&at, l->host[work->p[i]]);
		if (*slot == ASSAY_MAP_ABSENT) {
			*slot = (uint32_t)lists.n;
			*assay_push(&lists) = (row_list){0};
			*assay_push(&calls) = l->host[work->p[i]];
		}
		*assay_push(&lists.p[*slot]) = work->p[i];
	}
	if (calls.n)
		assay_sort_rows(calls.p, calls.n, v->t->host.ts);
	for (size_t i = 0; i < calls.n; i++) {
		const row_list *of = &lists.p[assay_map_get(&at, calls.p[i])];
		give_launch(v, of->p, of->n);
	}
	for (size_t i = 0; i < lists.n; i++)
		assay_vec_free(&lists.p[i]);
	assay_vec_free(&lists);
	assay_vec_free(&calls);
	assay_map_free(&at);
}

void assay_captures_give(assay_captures *c, assay_run *run)
{
	struct giving v = {.c = c, .run = run, .t = &run->part.t, .budget = (uint64_t)500 << 20};
	row_list work = {0};
	if (c->first.n < 2)
		return;
	index_captures(c);
	list_work(&v, &work);
	if (work.n) {
		assay_reserve(v.t, ASSAY_T_gpu_captured, v.t->gpu.n);
		v.t->gpu_captured.n = v.t->gpu.n;
		for (size_t g = 0; g < v.t->gpu.n; g++)
			v.t->gpu_captured.op[g] = ASSAY_NO_ROW;
		give_all(&v, &work);
	}
	if (v.unfit && c->apart)
		assay_warn(run, "captures",
			   "%zu of %zu pieces of work in graphs fit no graph that was captured",
			   v.unfit, work.n);
	for (size_t i = 0; i < v.fits.n; i++)
		assay_vec_free(&v.fits.p[i]);
	assay_vec_free(&v.fits);
	assay_map_free(&v.seen);
	assay_map_free(&v.used);
	assay_pages_free(v.what);
	assay_pages_free(v.shape);
	assay_pages_free(v.nth);
	assay_vec_free(&work);
}

void assay_captures_free(assay_captures *c)
{
	assay_vec_free(&c->call);
	assay_vec_free(&c->first);
	assay_vec_free(&c->program);
	assay_map_free(&c->place);
}

/* A capture of these kernels, each launched by an operator of its own; NULL: nobody names them. */
static void hand_capture(assay_run *run, const char *prefix, const char *const *kernels, size_t n,
			 int64_t ts)
{
	char text[128];
	assay_hand_host(run, ASSAY_HOST_RUNTIME, "hipStreamBeginCapture", ts, 1);
	for (size_t i = 0; i < n; i++) {
		int64_t at = ts + 100 * (int64_t)(i + 1);
		snprintf(text, sizeof text, "%s%zu", prefix, i);
		assay_hand_host(run, ASSAY_HOST_OP, text, at, 90);
		uint32_t h = assay_hand_host(run, ASSAY_HOST_RUNTIME, "hipExtModuleLaunchKernel",
					     at + 1, 5);
		assay_hand_host(run, ASSAY_HOST_DRIVER, "hipModuleLaunchKernel", at + 2, 2);
		snprintf(text, sizeof text, "\"kernel\": \"%s\"", kernels[i] ? kernels[i] : "");
		if (kernels[i])
			run->part.t.host.args[h] = assay_sid_of(run, text);
	}
	assay_hand_host(run, ASSAY_HOST_RUNTIME, "hipStreamEndCapture", ts + 90000, 1);
}

static uint32_t hand_replay(assay_run *run, const char *const *kernels, size_t n, int64_t ts)
{
	uint32_t h = assay_hand_host(run, ASSAY_HOST_RUNTIME, "hipGraphLaunch", ts, 1);
	for (size_t i = 0; i < n; i++)
		assay_hand_gpu(run, kernels[i], ts + 10 * (int64_t)(i + 1), 5, h);
	return h;
}

static const char *operator_of(const assay_run *run, uint32_t gpu)
{
	uint32_t op = run->part.t.gpu_captured.n ? run->part.t.gpu_captured.op[gpu] : ASSAY_NO_ROW;
	return op == ASSAY_NO_ROW ? "" : assay_z(run, run->part.t.captured.name[op]);
}

/* The operators of two replays of `replayed` as one text, after a capture of `captured`. */
static const char *explained(assay_run *run, const char *const *captured, size_t n,
			     const char *const *replayed, size_t m)
{
	assay_captures c = {0};
	const char *all = "";
	hand_capture(run, "a", captured, n, 1000);
	hand_replay(run, replayed, m, 1000000);
	hand_replay(run, replayed, m, 2000000);
	assay_captures_take(&c, run, run);
	c.apart = true; /* as if of another recording */
	assay_captures_give(&c, run);
	for (uint32_t g = 0; g < run->part.t.gpu.n; g++)
		all = assay_printf(&run->arena, "%s%s%s", all, g ? " " : "", operator_of(run, g));
	assay_captures_free(&c);
	return all;
}

TEST(work_of_a_graph_has_the_operators_it_was_captured_from)
{
	static const char *const kernels[] = {"gemm", "relu", "gemm"};
	static const char *const other_order[] = {"gemm", "gemm", "relu"};
	static const char *const unnamed[] = {NULL, NULL, NULL};
	assay_run *run = assay_run_new();
	CHECK(!strcmp(explained(run, kernels, 3, kernels, 3), "a0 a1 a2 a0 a1 a2"));
	assay_run_free(run);
	run = assay_run_new();
	CHECK(!strcmp(explained(run, kernels, 3, other_order, 3), "a0 a2 a1 a0 a2 a1"));
	assay_run_free(run);
	run = assay_run_new(); /* CUDA's launches do not say what they launch */
	CHECK(!strcmp(explained(run, unnamed, 3, kernels, 3), "a0 a1 a2 a0 a1 a2"));
	assay_run_free(run);
	return 0;
}

TEST(work_that_fits_no_capture_keeps_its_launch_and_is_counted)
{
	static const char *const kernels[] = {"gemm", "relu", "gemm"};
	static const char *const others[] = {"conv", "relu", "gemm"};
	static const char *const unnamed[] = {NULL, NULL};
	assay_run *run = assay_run_new();
	CHECK(!strcmp(explained(run, kernels, 3, others, 3), "     "));
	CHECK(run->part.t.warning.n == 1);
	assay_run_free(run);
	run = assay_run_new();
	CHECK(!strcmp(explained(run, unnamed, 2, kernels, 3), "     "));
	assay_run_free(run);
	return 0;
}

TEST(captures_that_fit_equally_are_taken_in_turn)
{
	static const char *const layer[] = {"gemm", "relu"};
	assay_run *run = assay_run_new();
	assay_captures c = {0};
	hand_capture(run, "a", layer, 2, 1000);
	hand_capture(run, "b", layer, 2, 200000);
	for (int i = 0; i < 4; i++)
		hand_replay(run, layer, 2, 1000000 * (i + 1));
	assay_captures_take(&c, run, run);
	assay_captures_give(&c, run);
	CHECK(!strcmp(operator_of(run, 0), "a0") && !strcmp(operator_of(run, 3), "b1"));
	CHECK(!strcmp(operator_of(run, 4), "a0") && !strcmp(operator_of(run, 7), "b1"));
	assay_captures_free(&c);
	assay_run_free(run);
	return 0;
}
