/* See path/knots.h. */
#include "path/knots.h"

#include "base/test.h"
#include "model/by_hand.h"
#include "path/path.h"

static bool is_dropped(const assay_path_graph *g, uint32_t dep)
{
	return g->base.lag[dep] == ASSAY_DEP_DROPPED;
}

static void tie_threads(assay_path_knots *k)
{
	const assay_path_graph *g = k->g;
	for (size_t i = 0; i < g->thread.n; i++) {
		uint32_t first = g->thread.p[i].first, before = ASSAY_DEP_NONE, begin = first;
		for (uint32_t p = first; p < first + g->thread.p[i].n; p++) {
			uint32_t knot = g->place[p];
			if (knot == ASSAY_DEP_NONE)
				continue;
			k->knot[knot].before = before;
			for (uint32_t s = begin; s < p; s++) {
				k->of_segment[s] = knot;
				k->len[knot] += g->base.len[s];
			}
			before = knot;
			begin = p;
		}
	}
}

static void tie_deps(assay_path_knots *k)
{
	const assay_path_graph *g = k->g;
	for (uint32_t i = 0; i < k->n; i++) {
		uint32_t node = g->order[i];
		k->knot[i].first = k->deps;
		k->knot[i].measured = g->measured.at[node];
		for (uint32_t d = g->first[i]; d < g->first[i + 1]; d++) {
			if (is_dropped(g, d))
				continue;
			uint32_t from = g->dep[d].from;
			bool end =
				assay_path_is_work(g, from) && g->dep[d].kind != ASSAY_DEP_BESIDE;
			k->of_dep[d] = k->deps;
			k->lag[k->deps] = g->base.lag[d];
			k->dep[k->deps++] = (assay_knot_dep){g->place[from], end ? from - g->points
										 : ASSAY_DEP_NONE};
		}
	}
	k->knot[k->n].first = k->deps;
}

static uint32_t *none(assay_arena *a, uint32_t n)
{
	return memset(assay_alloc(a, (n + 1) * sizeof(uint32_t)), 0xff, n * sizeof(uint32_t));
}

static int64_t *lengths(assay_arena *a, uint32_t n)
{
	return assay_alloc(a, (n + 1) * sizeof(int64_t));
}

void assay_path_knots_tie(assay_path_knots *k, const assay_path_graph *g)
{
	*k = (assay_path_knots){.g = g, .n = g->knots};
	k->knot = assay_alloc(&k->arena, (k->n + 1) * sizeof *k->knot);
	k->dep = assay_alloc(&k->arena, (g->deps + 1) * sizeof *k->dep);
	k->of_segment = none(&k->arena, g->points);
	k->of_dep = none(&k->arena, g->deps);
	k->len = lengths(&k->arena, k->n);
	k->lag = lengths(&k->arena, g->deps);
	for (uint32_t i = 0; i < k->n; i++)
		k->knot[i].before = ASSAY_DEP_NONE;
	tie_threads(k);
	tie_deps(k);
}

void assay_path_knots_free(assay_path_knots *k)
{
	assay_arena_free(&k->arena);
}

void assay_knots_replay_init(assay_knots_replay *r, const assay_path_knots *k)
{
	*r = (assay_knots_replay){.knots = k};
	r->len = lengths(&r->arena, k->n);
	r->lag = lengths(&r->arena, k->deps);
	r->at = lengths(&r->arena, k->n);
	r->dur = lengths(&r->arena, k->g->work);
}

void assay_knots_replay_free(assay_knots_replay *r)
{
	assay_path_changes_free(&r->changes);
	assay_arena_free(&r->arena);
}

void assay_knots_unchanged(assay_knots_replay *r)
{
	assay_path_changes *c = &r->changes;
	memcpy(r->len, r->knots->len, r->knots->n * sizeof *r->len);
	c->len.n = c->dur.n = c->lag.n = 0;
	c->sum = r->len;
	c->sum_of = r->knots->of_segment;
	c->any = false;
}

static void take_changes(assay_knots_replay *r)
{
	const assay_path_knots *k = r->knots;
	const assay_path_changes *c = &r->changes;
	memcpy(r->lag, k->lag, k->deps * sizeof *k->lag);
	memcpy(r->dur, k->g->base.dur, k->g->work * sizeof *r->dur);
	for (size_t i = 0; i < c->dur.n; i++)
		r->dur[c->dur.p[i].at] = c->dur.p[i].value;
	for (size_t i = 0; i < c->lag.n; i++)
		if (k->of_dep[c->lag.p[i].at] != ASSAY_DEP_NONE)
			r->lag[k->of_dep[c->lag.p[i].at]] = c->lag.p[i].value;
}

void assay_knots_go(assay_knots_replay *r)
{
	const assay_path_knots *k = r->knots;
	take_changes(r);
	for (uint32_t i = 0; i < k->n; i++) {
		const assay_knot *knot = &k->knot[i];
		int64_t at = knot->before == ASSAY_DEP_NONE ? INT64_MIN
							    : r->at[knot->before] + r->len[i];
		for (uint32_t d = knot->first; d < knot[1].first; d++) {
			if (r->lag[d] == ASSAY_DEP_DROPPED)
				continue;
			int64_t ready = r->at[k->dep[d].from] + r->lag[d];
			if (k->dep[d].work != ASSAY_DEP_NONE)
				ready += r->dur[k->dep[d].work];
			at = ready > at ? ready : at;
		}
		/* nothing says when it begins: it begins when it did */
		r->at[i] = at == INT64_MIN ? knot->measured : at;
	}
}

/* A thread that computes, launches and waits, for random times. */
static assay_run *random_run(uint32_t seed)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	int64_t now = 0, done = 0;
	assay_add(t, ASSAY_T_source);
	uint32_t k = assay_add(t, ASSAY_T_kernel);
	t->kernel.name[k] = assay_sid_of(run, "kernel");
	for (int i = 0; i < 60; i++) {
		seed = seed * 1664525 + 1013904223;
		int64_t length = seed >> 22, call = now + length;
		assay_hand_host(run, seed >> 30 ? ASSAY_HOST_PYTHON : ASSAY_HOST_OP, "f", now,
				length);
		assay_hand_host(run, ASSAY_HOST_OP, "aten::add", now + length / 3, length / 3);
		uint32_t launch =
			assay_hand_host(run, ASSAY_HOST_RUNTIME, "cudaLaunchKernel", call, 5);
		done = done > call + 9 ? done : call + 9;
		uint32_t gpu = assay_hand_gpu(run, "kernel", done + 1, seed >> 24 & 511, launch);
		done += 1 + (seed >> 24 & 511);
		now = call + 6;
		if (seed >> 20 & 3)
			continue;
		uint32_t e = assay_add(t, ASSAY_T_edge);
		t->edge.from_gpu[e] = gpu;
		t->edge.to_host[e] = assay_hand_host(run, ASSAY_HOST_RUNTIME,
						     "cudaDeviceSynchronize", now, done + 3 - now);
		t->edge.kind[e] = ASSAY_EDGE_DEVICE_SYNC;
		now = done + 4;
	}
	return run;
}

static bool same_times(const char *what_if, uint32_t seed)
{
	assay_run *run = random_run(seed);
	assay_path_graph g;
	assay_path_knots k;
	assay_knots_replay r;
	assay_path_what_ifs rules = {0};
	assay_path path = {.from = 0, .to = INT64_MAX};
	assay_path_changes changes = {.len = {0}};
	assay_path_graph_build(&g, run, assay_track_group(&run->part.t, 0), INT64_MIN, INT64_MAX);
	assay_path_knots_tie(&k, &g);
	bool same = !what_if || (assay_path_what_ifs_parse(&rules, &what_if, 1, NULL) &&
				 assay_path_what_ifs_apply(&g, &rules, &changes, &path, NULL));
	assay_path_times times = assay_path_times_new(&g);
	assay_path_lengths l = assay_path_lengths_with(&g, &changes);
	assay_path_replay_with(&g, &l, &times);
	assay_knots_replay_init(&r, &k);
	assay_knots_unchanged(&r);
	same = same && (!what_if || assay_path_what_ifs_apply(&g, &rules, &r.changes, &path, NULL));
	assay_knots_go(&r);
	for (uint32_t i = 0; i < g.work; i++)
		same = same && assay_knots_start(&r, i) == times.at[g.points + i] &&
		       r.dur[i] == l.dur[i];
	same = same && g.work == 60 && k.n < g.nodes;
	assay_path_changes_free(&changes);
	assay_knots_replay_free(&r);
	assay_vec_free(&rules);
	assay_path_free(&path);
	assay_path_knots_free(&k);
	assay_path_graph_free(&g);
	assay_run_free(run);
	return same;
}

TEST(knots_replay_to_the_times_of_the_whole_graph)
{
	static const char *const what_if[] = {NULL,          "python=0",    "aten::add=0",
					      "kernel=0.5x", "host_sync=0", "launch_latency=0",
					      "queued=3x",   "*Synch*=0",   "f=10ns"};
	for (size_t i = 0; i < ASSAY_COUNT_OF(what_if); i++)
		for (uint32_t seed = 1; seed < 20; seed++)
			CHECK(same_times(what_if[i], seed));
	return 0;
}
