/* The innermost loop that stacks show may go over equal layers, since a loop of one line around
 * a call shows in no line: then the host pauses before every Nth of its rounds, and that is the
 * step. */
#include "analyze/analyze.h"
#include "analyze/repeat_pauses.h"
#include "base/test.h"
#include "model/by_hand.h"

/* Rows of step of one source that come from a loop. */
static void find_rounds(const assay_step_table *s, uint32_t source, assay_places *out)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (s->source[i] == source && s->origin[i] == ASSAY_STEP_LOOP)
			*assay_push(out) = i;
}

/* Where in the work of a device each round begins: with the first that was launched in it. False
 * when one has none. */
static bool find_places(const assay_tables *t, const assay_places *work, const assay_places *rounds,
			assay_places *out)
{
	size_t k = 0;
	for (size_t i = 0; i < rounds->n; i++) {
		int64_t from = t->step.ts[rounds->p[i]];
		for (; k < work->n; k++) {
			uint32_t launch = t->launch.host[work->p[k]];
			if (launch != ASSAY_NO_ROW && t->host.ts[launch] >= from)
				break;
		}
		if (k == work->n || (out->n && out->p[out->n - 1] == k))
			return false;
		*assay_push(out) = (uint32_t)k;
	}
	return rounds->n > 0;
}

static size_t index_of(const assay_places *p, uint32_t place)
{
	size_t i = 0;
	while (i < p->n && p->p[i] != place)
		i++;
	return i;
}

/* Rounds become steps of so many, from the first that begins one; others are no steps. */
static void join_rounds(assay_run *run, const assay_places *rounds, size_t first, size_t layers)
{
	assay_tables *t = &run->part.t;
	assay_arena scratch = {0};
	bool *gone = assay_alloc(&scratch, t->step.n);
	size_t kept = 0;
	int64_t number = 0;
	for (size_t i = 0; i < rounds->n; i++)
		gone[rounds->p[i]] = true;
	for (size_t i = first; i + layers <= rounds->n; i += layers) {
		uint32_t from = rounds->p[i], last = rounds->p[i + layers - 1];
		t->step.dur[from] = t->step.ts[last] + t->step.dur[last] - t->step.ts[from];
		t->step.number[from] = number++;
		gone[from] = false;
	}
	for (size_t i = 0; i < t->step.n; i++)
		if (!gone[i])
			assay_row_copy(t, ASSAY_T_step, kept++, i);
	t->step.n = kept;
	assay_arena_free(&scratch);
}

static void join_layers(assay_run *run, const assay_order *order, const assay_order_device *dev,
			uint32_t source)
{
	assay_places work = {0}, rounds = {0}, units = {0}, steps = {0};
	find_rounds(&run->part.t.step, source, &rounds);
	for (size_t i = dev->first; rounds.n && i < dev->first + dev->n; i++)
		*assay_push(&work) = order->row[i];
	if (find_places(&run->part.t, &work, &rounds, &units) &&
	    assay_pauses_find(run, &work, &units, &steps)) {
		size_t first = index_of(&units, steps.p[0]), next = index_of(&units, steps.p[1]);
		if (next < units.n) /* pauses lie between rounds */
			join_rounds(run, &rounds, first, next - first);
	}
	assay_vec_free(&work);
	assay_vec_free(&rounds);
	assay_vec_free(&units);
	assay_vec_free(&steps);
}

void assay_loop_layers(assay_run *run, const assay_order *order)
{
	const assay_device_time_table *d = &run->part.t.device_time;
	for (size_t i = 0, next; i < d->n; i = next) { /* the busiest device of each source */
		size_t best = i;
		for (next = i; next < d->n && d->source[next] == d->source[i]; next++)
			best = d->events[next] > d->events[best] ? next : best;
		join_layers(run, order, &order->device.p[best], d->source[i]);
	}
}

/* 40 steps of 4 rounds, each with one kernel; the host takes longer before each step. */
TEST(rounds_of_a_loop_over_layers_are_joined_to_steps)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	uint32_t seed = 3;
	int64_t at = 0;
	run->part.source = assay_add(t, ASSAY_T_source);
	for (int i = 0; i < 160; i++) {
		seed = seed * 1664525 + 1013904223;
		at += 5000 + (int64_t)(seed >> 16) % 1000 + (i % 4 == 2 ? 1500 : 0);
		uint32_t s = assay_add(t, ASSAY_T_step);
		t->step.source[s] = 0;
		t->step.ts[s] = at;
		t->step.dur[s] = 8000;
		t->step.origin[s] = ASSAY_STEP_LOOP;
		uint32_t h = assay_hand_host(run, ASSAY_HOST_RUNTIME, "cudaLaunchKernel", at, 3000);
		assay_hand_gpu(run, "k", at + 4000, 900, h);
		at += 3000;
	}
	assay_order order;
	assay_kernels(run);
	assay_order_build(&order, run);
	assay_partition(run, &order);
	assay_loop_layers(run, &order);
	CHECK_EQ(t->step.n, 39); /* half a step at both ends */
	CHECK(t->step.number[38] == 38 && t->step.ts[1] >= t->step.ts[0] + t->step.dur[0] - 8000);
	CHECK(t->step.dur[5] > 4 * 8000 && t->step.dur[5] < 4 * 10000);
	assay_order_free(&order);
	assay_run_free(run);
	return 0;
}
