#include "analyze/stretch.h"

#include "analyze/analyze.h"
#include "base/sort.h"
#include "base/test.h"
#include "model/by_hand.h"

/* A step on the device. */
struct step {
	int64_t from, to;
	const uint32_t *row; /* of gpu: what begins in it, whoever launched it */
	size_t rows, kernels;
	bool apart;
};

/* Copies do not count: a checkpoint or a larger batch belongs to the step that makes it. */
static void count_kernels(const assay_run *run, const assay_order *order, uint32_t device,
			  struct step *step, size_t n)
{
	const assay_order_device *d = &order->device.p[device];
	const uint32_t *row = order->row + d->first;
	const assay_gpu_table *gpu = &run->part.t.gpu;
	for (size_t i = 0; i < n; i++) {
		size_t first = assay_rows_until(row, d->n, gpu->ts, step[i].from - 1);
		step[i].row = row + first;
		step[i].rows = assay_rows_until(row, d->n, gpu->ts, step[i].to - 1) - first;
		for (size_t k = 0; k < step[i].rows; k++)
			step[i].kernels += gpu->kind[step[i].row[k]] == ASSAY_GPU_KERNEL;
	}
}

/* Half as long again as usual, and a quarter more kernels: a step that only waits longer is a
 * step. */
static bool has_other_work(const struct step *s, int64_t span, int64_t kernels)
{
	return (s->to - s->from) * 2 > span * 3 && (int64_t)s->kernels * 4 > kernels * 5;
}

/* Is what steps set apart have more of, work that the others have too? An evaluation does once more
 * what a step does; an update after some batches does something else. */
static bool repeats_itself(const assay_run *run, const struct step *step, size_t n, int64_t kernels)
{
	assay_arena a = {0};
	bool *usual = assay_alloc(&a, run->part.strings.str.n + 1);
	const assay_gpu_table *gpu = &run->part.t.gpu;
	size_t apart = 0, repeat = 0;
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; !step[i].apart && k < step[i].rows; k++)
			usual[gpu->name[step[i].row[k]]] = true;
	for (size_t i = 0; i < n; i++) {
		int64_t known = 0;
		for (size_t k = 0; step[i].apart && k < step[i].rows; k++)
			known += gpu->kind[step[i].row[k]] == ASSAY_GPU_KERNEL &&
				 usual[gpu->name[step[i].row[k]]];
		apart += step[i].apart;
		repeat += step[i].apart && known * 4 > kernels * 5;
	}
	assay_arena_free(&a);
	return repeat * 2 > apart;
}

/* Every so many steps, and not far apart: gradients gathered over some batches, updated with the
 * last. That is how the program goes on, not something else that it does. One in five may be
 * missed. 0: there is no such distance. */
static size_t cycle_of(const struct step *step, size_t n)
{
	enum { FAR = 32 };
	assay_arena a = {0};
	int64_t *distance = assay_alloc(&a, (n + 1) * sizeof *distance), usual = 0;
	size_t first = n, last = n, distances = 0, same = 0;
	for (size_t i = 0; i < n; i++) {
		if (!step[i].apart)
			continue;
		if (last < n)
			distance[distances++] = (int64_t)(i - last);
		first = first < n ? first : i;
		last = i;
	}
	assay_sort_i64(distance, distances);
	usual = distances ? distance[distances / 2] : 0;
	for (size_t i = 0; i < distances; i++)
		same += distance[i] == usual;
	assay_arena_free(&a);
	bool even = same * 5 >= distances * 4 && usual <= FAR;
	return even && (int64_t)first < usual && (int64_t)(n - last) <= usual ? (size_t)usual : 0;
}

static bool is_cycle(const assay_run *run, const struct step *step, size_t n, int64_t kernels)
{
	enum { NEAR = 8 }; /* steps; such a program takes turns, whatever it does in them */
	size_t distance = cycle_of(step, n);
	return distance && (distance < NEAR || !repeats_itself(run, step, n, kernels));
}

/* A serving engine's steps differ: prompts are read in some, words written in others. */
static bool may_differ(const assay_run *run)
{
	const assay_step_table *s = &run->part.t.step;
	return s->n && s->origin[0] == ASSAY_STEP_SERVING;
}

/* Steps with an evaluation in them are few; first steps have their own reasons. */
static size_t set_apart(const assay_run *run, struct step *step, size_t n)
{
	assay_arena a = {0};
	int64_t *span = assay_alloc(&a, (n + 1) * sizeof *span),
		*kernels = assay_alloc(&a, (n + 1) * sizeof *kernels);
	size_t apart = 0, first = 0;
	for (size_t i = 0; i < n; i++) {
		span[i] = step[i].to - step[i].from;
		kernels[i] = (int64_t)step[i].kernels;
	}
	assay_sort_i64(span, n);
	assay_sort_i64(kernels, n);
	while (first < n && has_other_work(&step[first], span[n / 2], kernels[n / 2]))
		first++;
	for (size_t i = first; i < n; i++) {
		step[i].apart = has_other_work(&step[i], span[n / 2], kernels[n / 2]);
		apart += step[i].apart;
	}
	int64_t usual = n ? kernels[n / 2] : 0;
	assay_arena_free(&a);
	if (apart * 4 <= n && !is_cycle(run, step, n, usual))
		return apart;
	for (size_t i = 0; i < n; i++)
		step[i].apart = false;
	return 0;
}

/* The longest row of steps that neither other work nor a recording switched off interrupts. */
assay_stretch assay_stretch_find(const assay_run *run, const assay_order *order, uint32_t device,
				 const uint32_t *rows, size_t n)
{
	const assay_step_time_table *t = &run->part.t.step_time;
	uint32_t group = assay_order_group(&order->device.p[device]);
	assay_arena a = {0};
	struct step *step = assay_alloc(&a, (n + 1) * sizeof *step);
	assay_stretch best = {.n = 0};
	size_t first = 0;
	for (size_t i = 0; i < n; i++)
		step[i] = (struct step){.from = t->start[rows[i]],
					.to = t->start[rows[i]] + t->span[rows[i]]};
	count_kernels(run, order, device, step, n);
	best.apart = may_differ(run) ? 0 : set_apart(run, step, n);
	for (size_t i = 0; i < n; i++)
		best.apart_time += step[i].apart ? (double)(step[i].to - step[i].from) : 0;
	for (size_t i = 1; i <= n; i++) {
		if (i < n && !step[i].apart && !step[i - 1].apart &&
		    !assay_offs_touch(&order->offs, group, step[i - 1].to, step[i].from))
			continue;
		if (i - first > best.n) {
			best.n = i - first;
			best.first = first;
		}
		first = i;
	}
	assay_arena_free(&a);
	return best;
}

/* Steps of two kernels and 100 ns; some have an evaluation of six more in front, some an update of
 * as many others, some only wait. */
static assay_stretch stretch_of(const char *steps)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	assay_add(t, ASSAY_T_source);
	uint32_t rows[32], n = 0;
	int64_t now = 0;
	for (; steps[n]; n++) {
		uint32_t r = rows[n] = assay_add(t, ASSAY_T_step_time);
		int kernels = steps[n] == 'e' || steps[n] == 'u' ? 8 : 2;
		t->step_time.start[r] = now;
		for (int k = 0; k < kernels; k++, now += 50)
			assay_hand_gpu(run, steps[n] == 'u' && k > 1 ? "update" : "k", now, 40,
				       ASSAY_NO_ROW);
		now += steps[n] == 'w' ? 300 : 0;
		t->step_time.span[r] = now - t->step_time.start[r];
	}
	assay_order order;
	assay_kernels(run);
	assay_order_build(&order, run);
	assay_stretch s = assay_stretch_find(run, &order, 0, rows, n);
	assay_order_free(&order);
	assay_run_free(run);
	return s;
}

TEST(steps_between_two_evaluations_stand_for_the_run)
{
	assay_stretch s = stretch_of("sesssssessse");
	CHECK(s.first == 2 && s.n == 5 && s.apart == 3);
	s = stretch_of("sswsssws"); /* waits belong to steps */
	CHECK(s.first == 0 && s.n == 8 && s.apart == 0);
	s = stretch_of("eessssss"); /* the first ones may be warming up */
	CHECK(s.first == 0 && s.n == 8 && s.apart == 0);
	s = stretch_of("sesesese"); /* two kinds of steps */
	CHECK(s.n == 8 && s.apart == 0);
	s = stretch_of("ssssessssessssess"); /* every fifth updates */
	CHECK(s.n == 17 && s.apart == 0);
	s = stretch_of("sssssssssusssssssssus"); /* and every tenth */
	CHECK(s.n == 21 && s.apart == 0);
	s = stretch_of("sssesssesssesssssssesssesssessse"); /* every fourth, one is missing */
	CHECK(s.apart == 0);
	s = stretch_of("ssssssssessssssssess"); /* equal epochs */
	CHECK(s.n == 8 && s.apart == 2);
	return 0;
}
