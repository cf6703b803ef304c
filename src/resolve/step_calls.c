/* Steps of traces that mark none, by what frameworks do once a step and name themselves: the update
 * of an optimizer ends a step, a batch taken from a loader begins one. */
#include "resolve/resolve.h"

#include "base/sort.h"
#include "base/test.h"
#include "model/by_hand.h"
#include "model/steps.h"
#include "resolve/rounds.h"

enum { FEWEST = 3 };

static const struct {
	const char *start; /* of the range's name, as PyTorch's profiler writes it */
	assay_step_origin origin;
} calls[] = {
	{"Optimizer.step#", ASSAY_STEP_OPTIMIZER},
	{"enumerate(DataLoader)#", ASSAY_STEP_BATCH},
};

typedef assay_vec(uint32_t) call_rows;

/* Ranges of one process that begin so, by time. */
static void find_calls(const assay_run *run, uint32_t group, const char *start, call_rows *out)
{
	const assay_tables *t = &run->part.t;
	out->n = 0;
	for (uint32_t i = 0; i < t->host.n; i++)
		if (t->host.kind[i] == ASSAY_HOST_ANNOTATION && t->host.dur[i] > 0 &&
		    assay_track_group(t, t->host.track[i]) == group &&
		    assay_str_starts(assay_text(run, t->host.name[i]), start))
			*assay_push(out) = i;
	if (out->n)
		assay_sort_rows(out->p, out->n, t->host.ts);
}

/* First and last instant of a process on its threads. */
static void bounds_of(const assay_tables *t, uint32_t group, int64_t *from, int64_t *to)
{
	*from = INT64_MAX;
	*to = INT64_MIN;
	for (size_t i = 0; i < t->host.n; i++) {
		if (assay_track_group(t, t->host.track[i]) != group)
			continue;
		int64_t end = assay_host_end(&t->host, i);
		*from = t->host.ts[i] < *from ? t->host.ts[i] : *from;
		*to = end > *to ? end : *to;
	}
}

static void add_step(assay_run *run, uint32_t group, assay_step_origin origin, int64_t from,
		     int64_t to)
{
	assay_step_add(run, group, from, to, ASSAY_STEP_NEXT, assay_sid_of(run, "step"), origin);
}

/* Of several optimizers that take turns, the last ends the step: they are told apart by the kernels
 * launched between one update and the next, or by all calls where no work is linked. */
static void keep_last_of_round(const assay_tables *t, uint32_t group, int64_t *at, size_t *n)
{
	assay_arena a = {0};
	int64_t *between =
		assay_alloc(&a, (*n + 1) * sizeof *between); /* before each, behind all */
	size_t linked = 0;
	for (size_t i = 0; i < t->launch.n; i++) {
		uint32_t call = t->launch.host[i];
		if (call == ASSAY_NO_ROW || t->gpu.kind[i] != ASSAY_GPU_KERNEL ||
		    assay_track_group(t, t->host.track[call]) != group)
			continue;
		between[assay_count_until(at, sizeof *at, *n, t->host.ts[call])]++;
		linked++;
	}
	for (size_t i = 0; !linked && i < t->host.n; i++)
		if (assay_is_call(t->host.kind[i]) &&
		    assay_track_group(t, t->host.track[i]) == group)
			between[assay_count_until(at, sizeof *at, *n, t->host.ts[i])]++;
	size_t round = assay_round_length(between + 1, *n - 1), kept = 0;
	for (size_t i = round - 1; i < *n; i += round)
		at[kept++] = at[i];
	*n = kept;
	assay_arena_free(&a);
}

/* From the end of an update to the end of the next, from the begin of a batch to that of the next.
 * What lies before the first end and behind the last begin may be part of a step only: it counts
 * when it is about as long as the others. */
static void add_steps(assay_run *run, uint32_t group, assay_step_origin origin,
		      const call_rows *rows)
{
	const assay_host_table *h = &run->part.t.host;
	bool ends = origin == ASSAY_STEP_OPTIMIZER;
	assay_vec(int64_t) at = {0};
	int64_t from, to;
	for (size_t i = 0; i < rows->n; i++)
		*assay_push(&at) = ends ? assay_host_end(h, rows->p[i]) : h->ts[rows->p[i]];
	if (ends)
		keep_last_of_round(&run->part.t, group, at.p, &at.n);
	bounds_of(&run->part.t, group, &from, &to);
	int64_t usual = (at.p[at.n - 1] - at.p[0]) / (int64_t)(at.n - 1);
	int64_t first = at.p[0] - from, last = to - at.p[at.n - 1];
	if (ends && first * 2 >= usual && first <= usual * 2)
		add_step(run, group, origin, from, at.p[0]);
	for (size_t i = 1; i < at.n; i++)
		add_step(run, group, origin, at.p[i - 1], at.p[i]);
	if (!ends && last * 2 >= usual && last <= usual * 2)
		add_step(run, group, origin, at.p[at.n - 1], to);
	assay_vec_free(&at);
}

void assay_call_steps(assay_run *run)
{
	assay_tables *t = &run->part.t;
	call_rows rows = {0};
	for (uint32_t group = 0; group < t->source.n; group++) {
		size_t before = t->step.n;
		for (size_t k = 0; assay_group_of(t, group) == group && t->step.n == before &&
				   k < ASSAY_COUNT_OF(calls);
		     k++) {
			find_calls(run, group, calls[k].start, &rows);
			if (rows.n >= FEWEST)
				add_steps(run, group, calls[k].origin, &rows);
		}
	}
	assay_vec_free(&rows);
}

/* Four batches of two make two updates: the update ends the step. */
TEST(updates_of_an_optimizer_end_steps_and_batches_begin_them)
{
	for (int updates = 0; updates < 2; updates++) {
		assay_run *run = assay_run_new();
		assay_tables *t = &run->part.t;
		run->part.source = assay_add(t, ASSAY_T_source);
		for (int i = 0; i < 8; i++) {
			assay_hand_host(
				run, ASSAY_HOST_ANNOTATION,
				"enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
				100 + i * 100, 20);
			if (updates && i % 2)
				assay_hand_host(run, ASSAY_HOST_ANNOTATION,
						"Optimizer.step#Adam.step", 180 + i * 100, 15);
		}
		assay_hand_host(run, ASSAY_HOST_OP, "aten::mm", 880, 15);
		assay_call_steps(run);
		CHECK_EQ(t->step.n, updates ? 4 : 8);
		CHECK_EQ(t->step.ts[1], updates ? 295 : 200);
		CHECK_EQ(t->step.dur[1], updates ? 200 : 100);
		CHECK_EQ(t->step.origin[0], updates ? ASSAY_STEP_OPTIMIZER : ASSAY_STEP_BATCH);
		assay_run_free(run);
	}
	return 0;
}

/* A state that every other step saves is in its own step. */
TEST(what_is_copied_now_and_then_makes_no_round)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	run->part.source = assay_add(t, ASSAY_T_source);
	for (int i = 0; i < 12; i++) {
		for (int k = 0; k < (i % 2 ? 3 : 7); k++) {
			uint32_t call = assay_hand_host(run, ASSAY_HOST_RUNTIME, "call",
							i * 100 + k * 10, 5);
			uint32_t gpu = assay_hand_gpu(run, "work", i * 100 + k * 10, 5, call);
			t->gpu.kind[gpu] = k < 3 ? ASSAY_GPU_KERNEL : ASSAY_GPU_MEMCPY;
		}
		assay_hand_host(run, ASSAY_HOST_ANNOTATION, "Optimizer.step#Adam.step",
				i * 100 + 80, 15);
	}
	assay_call_steps(run);
	CHECK_EQ(t->step.n, 12);
	assay_run_free(run);
	return 0;
}

/* Two updates a step, the first after more calls: both belong to it. */
TEST(optimizers_that_take_turns_make_one_step)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	run->part.source = assay_add(t, ASSAY_T_source);
	for (int i = 0; i < 12; i++) {
		for (int k = 0; k < (i % 2 ? 3 : 6); k++)
			assay_hand_host(run, ASSAY_HOST_RUNTIME, "cudaLaunchKernel",
					i * 100 + k * 10, 5);
		assay_hand_host(run, ASSAY_HOST_ANNOTATION, "Optimizer.step#Adam.step",
				i * 100 + 80, 15);
	}
	assay_call_steps(run);
	CHECK_EQ(t->step.n, 6);
	CHECK(t->step.ts[1] == 195 && t->step.dur[1] == 200);
	assay_run_free(run);
	return 0;
}
