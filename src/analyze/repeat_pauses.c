/* A step of equal layers has no kernel of its own: its names repeat once a layer. But the host does
 * something between two steps that it does not do between two layers: it leaves one loop and goes
 * round another one. The time between launches is then a little longer before every Nth layer,
 * which shows in the order of these times where it drowns in their sum. */
#include "analyze/repeat_pauses.h"

#include <math.h>
#include <string.h>

#include "base/median.h"
#include "base/sort.h"
#include "base/test.h"
#include "model/by_hand.h"

/* KERNELS_MAX: of a layer; CYCLES: fewer steps are no rhythm. */
enum { KERNELS_MAX = 64, LAYERS_MAX = 512, UNITS_MAX = 8192, CYCLES = 5, UNITS_MIN = 16 };
static const double work_max = 64e6;    /* additions */
static const double high_enough = 0.75; /* mean place of a pause among all, 0 to 1 */
static const double chance = 1e-3;      /* that any of all that is tried looks so by accident */

struct rhythm {
	size_t layers; /* in a step; 0 none */
	size_t phase;  /* first unit that begins one */
	size_t at;     /* place in the unit */
	double score;  /* standard deviations above chance */
};

/* A step of training has an optimizer, and is no layer. */
static bool has_optimizer(const assay_run *run, const assay_places *work, size_t from, size_t to)
{
	const assay_tables *t = &run->part.t;
	assay_map family = {0};
	bool found = false;
	for (size_t i = 0; i < t->kernel.n; i++)
		*assay_map_at(&family, t->kernel.name[i]) = t->kernel.family[i];
	for (size_t i = from; i < to && i < work->n && !found; i++)
		found = assay_map_get(&family, t->gpu.name[work->p[i]]) == ASSAY_FAMILY_OPTIMIZER;
	assay_map_free(&family);
	return found;
}

/* Time from the end of the launch before to this one, on one thread; -1 when it is not known. */
static int64_t pause_before(const assay_tables *t, const assay_places *work, size_t i)
{
	uint32_t now = i < work->n ? t->launch.host[work->p[i]] : ASSAY_NO_ROW;
	uint32_t before = i && i <= work->n ? t->launch.host[work->p[i - 1]] : ASSAY_NO_ROW;
	if (now == ASSAY_NO_ROW || before == ASSAY_NO_ROW ||
	    t->host.track[now] != t->host.track[before])
		return -1;
	int64_t pause = t->host.ts[now] - assay_host_end(&t->host, before);
	return pause > 0 ? pause : 0;
}

/* Place of each pause among all of them, 0 to 1; false when too many are not known. */
static bool rank_pauses(const assay_run *run, const assay_places *work, const assay_places *units,
			size_t at, size_t n, double *rank, assay_arena *scratch)
{
	int64_t *pause = assay_alloc(scratch, n * sizeof *pause);
	uint32_t *order = assay_alloc(scratch, n * sizeof *order);
	size_t unknown = 0;
	for (uint32_t i = 0; i < n; i++) {
		pause[i] = pause_before(&run->part.t, work, units->p[i] + at);
		unknown += pause[i] < 0;
		order[i] = i;
	}
	assay_sort_rows(order, n, pause);
	for (size_t i = 0; i < n; i++)
		rank[order[i]] = ((double)i + 0.5) / (double)n;
	return unknown * 10 <= n;
}

/* Means of n places that come by chance have this spread around a half. */
static double score_of(double sum, size_t n)
{
	return (sum / (double)n - 0.5) * sqrt(12.0 * (double)n);
}

static void try_rhythms(struct rhythm *best, const double *rank, size_t n, size_t at, double *sum)
{
	size_t most = n / CYCLES < LAYERS_MAX ? n / CYCLES : LAYERS_MAX;
	for (size_t layers = 2; layers <= most; layers++) {
		size_t cycles = n / layers;
		memset(sum, 0, layers * sizeof *sum);
		for (size_t c = 0; c < cycles; c++)
			for (size_t i = 0; i < layers; i++)
				sum[i] += rank[c * layers + i];
		for (size_t i = 0; i < layers; i++) {
			double score = score_of(sum[i], cycles);
			if (score > best->score && sum[i] >= high_enough * (double)cycles)
				*best = (struct rhythm){layers, i, at, score};
		}
	}
}

/* How far above chance the best of so many trials may be by accident. */
static double accident(size_t size, size_t n)
{
	double most = n / CYCLES < LAYERS_MAX ? (double)(n / CYCLES) : LAYERS_MAX;
	return sqrt(2 * log((double)size * most * most / 2 / chance));
}

static struct rhythm find_rhythm(const assay_run *run, const assay_places *work,
				 const assay_places *units, size_t size)
{
	assay_arena scratch = {0};
	struct rhythm best = {0};
	double room = work_max / LAYERS_MAX / (double)size;
	size_t n = units->n < UNITS_MAX ? units->n : UNITS_MAX;
	n = (double)n < room ? n : (size_t)room;
	double *rank = assay_alloc(&scratch, n * sizeof *rank);
	double sum[LAYERS_MAX];
	for (size_t at = 0; at < size; at++)
		if (rank_pauses(run, work, units, at, n, rank, &scratch))
			try_rhythms(&best, rank, n, at, sum);
	assay_arena_free(&scratch);
	return best.score > accident(size, n) ? best : (struct rhythm){0};
}

static size_t usual_size(const assay_places *units)
{
	assay_vec(int64_t) apart = {0};
	for (size_t i = 1; i < units->n; i++)
		*assay_push(&apart) = units->p[i] - units->p[i - 1];
	int64_t usual = assay_median_upper(apart.p, apart.n);
	assay_vec_free(&apart);
	return usual > 0 ? (size_t)usual : 0;
}

bool assay_pauses_find(const assay_run *run, const assay_places *work, const assay_places *units,
		       assay_places *out)
{
	out->n = 0;
	if (units->n < UNITS_MIN)
		return false;
	size_t size = usual_size(units), first = units->p[units->n / 2];
	if (!size || size > KERNELS_MAX || has_optimizer(run, work, first, first + size))
		return false;
	struct rhythm r = find_rhythm(run, work, units, size);
	for (size_t i = r.phase; r.layers && i < units->n; i += r.layers)
		if (units->p[i] + r.at < work->n)
			*assay_push(out) = (uint32_t)(units->p[i] + r.at);
	return out->n > 1;
}

/* 40 steps of 12 layers of 2 kernels; pauses vary by a microsecond, and one step in a while waits
 * long; before each step the host takes `more` ns longer. */
static void add_layers(assay_run *run, int64_t more, assay_places *work, assay_places *units)
{
	uint32_t seed = 7;
	int64_t at = 0;
	for (int i = 0; i < 40 * 12 * 2; i++) {
		seed = seed * 1664525 + 1013904223;
		at += 5000 + (int64_t)(seed >> 16) % 1000 + (i % 24 == 0 ? more : 0) +
		      (seed % 97 == 0 ? 50000 : 0);
		uint32_t h = assay_hand_host(run, ASSAY_HOST_RUNTIME, "cudaLaunchKernel", at, 3000);
		if (i % 2 == 0)
			*assay_push(units) = (uint32_t)work->n;
		*assay_push(work) =
			assay_hand_gpu(run, i % 2 ? "clamp" : "gemm", at + 4000, 900, h);
		at += 3000;
	}
}

static size_t count_test_steps(int64_t more, uint32_t *first)
{
	assay_run *run = assay_run_new();
	assay_places work = {0}, units = {0}, out = {0};
	add_layers(run, more, &work, &units);
	bool found = assay_pauses_find(run, &work, &units, &out);
	size_t n = found ? out.n : 0;
	*first = n ? out.p[0] : 0;
	assay_vec_free(&work);
	assay_vec_free(&units);
	assay_vec_free(&out);
	assay_run_free(run);
	return n;
}

TEST(equal_layers_are_steps_where_the_host_pauses)
{
	uint32_t first;
	CHECK_EQ(count_test_steps(600, &first), 40);
	CHECK_EQ(first, 0);
	CHECK_EQ(count_test_steps(2000, &first), 40);
	return 0;
}

TEST(without_pauses_layers_are_no_steps)
{
	uint32_t first;
	CHECK_EQ(count_test_steps(0, &first), 0);
	CHECK_EQ(count_test_steps(20, &first), 0);
	return 0;
}
