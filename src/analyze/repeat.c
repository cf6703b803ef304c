/* Steps of a recording that marks none: the sequence of kernel names repeats itself once a step.
 * The period is a distance at which names agree; a step begins where the device waited most. */
#include "analyze/analyze.h"

#include <stdlib.h>

#include "base/sort.h"
#include "base/test.h"
#include "model/by_hand.h"

enum { CANDIDATES = 32, FEWEST_STEPS = 3, SHORTEST = 2 };
static const double agree = 0.75; /* share of names that must be the same a period later */

typedef assay_vec(uint32_t) rows;

struct count {
	uint32_t n, first, last;
};

static int by_count(const void *a, const void *b)
{
	const struct count *x = a, *y = b;
	if (x->n != y->n)
		return x->n < y->n ? -1 : 1;
	return x->first < y->first ? -1 : x->first > y->first;
}

/* How often each name comes, the rarest first: a kernel that runs once a step tells its length. */
static size_t count_names(const assay_gpu_table *gpu, const rows *work, assay_arena *a,
			  struct count **out)
{
	assay_map known = {0};
	struct count *c = assay_alloc(a, work->n * sizeof *c);
	size_t n = 0;
	for (uint32_t i = 0; i < work->n; i++) {
		uint32_t *slot = assay_map_at(&known, gpu->name[work->p[i]]);
		if (*slot == ASSAY_MAP_ABSENT) {
			c[n] = (struct count){.first = i};
			*slot = (uint32_t)n++;
		}
		c[*slot].n++;
		c[*slot].last = i;
	}
	qsort(c, n, sizeof *c, by_count);
	assay_map_free(&known);
	*out = c;
	return n;
}

/* Share of the names in [from, to) that come again `period` later. */
static double agreement(const assay_gpu_table *gpu, const rows *work, size_t from, size_t to,
			size_t period)
{
	size_t same = 0;
	for (size_t i = from; i < to; i++)
		same += gpu->name[work->p[i]] == gpu->name[work->p[i + period]];
	return to > from ? (double)same / (double)(to - from) : 0;
}

static size_t find_period(const assay_gpu_table *gpu, const rows *work)
{
	assay_arena scratch = {0};
	struct count *c;
	size_t names = count_names(gpu, work, &scratch, &c), best = 0, tried = 0;
	double best_share = agree;
	for (size_t i = 0; i < names && tried < CANDIDATES; i++) {
		if (c[i].n < FEWEST_STEPS)
			continue;
		size_t period = (c[i].last - c[i].first) / (c[i].n - 1);
		if (period < SHORTEST || period * FEWEST_STEPS > work->n || period == best)
			continue;
		tried++;
		double share = agreement(gpu, work, 0, work->n - period, period);
		if (share > best_share || (share == best_share && period < best)) {
			best_share = share;
			best = period;
		}
	}
	assay_arena_free(&scratch);
	return best;
}

/* The place in the period before which the device waited longest in all. */
static size_t find_phase(const assay_gpu_table *gpu, const rows *work, size_t period)
{
	assay_arena scratch = {0};
	int64_t *wait = assay_alloc(&scratch, period * sizeof *wait);
	int64_t end = gpu->ts[work->p[0]];
	for (size_t i = 0; i < work->n; i++) {
		int64_t start = gpu->ts[work->p[i]], stop = assay_gpu_end(gpu, work->p[i]);
		wait[i % period] += start > end ? start - end : 0;
		end = stop > end ? stop : end;
	}
	size_t best = 0;
	for (size_t i = 1; i < period; i++)
		best = wait[i] > wait[best] ? i : best;
	assay_arena_free(&scratch);
	return best;
}

static bool like_a_neighbour(const assay_gpu_table *gpu, const rows *work, size_t at, size_t period)
{
	return (at + 2 * period <= work->n &&
		agreement(gpu, work, at, at + period, period) >= agree) ||
	       (at >= period && agreement(gpu, work, at - period, at, period) >= agree);
}

/* Layers repeat too, but a step has launches of its own: one graph launch is no series of steps. */
static bool inside_one_launch(const assay_tables *t, const rows *work, size_t at, size_t period)
{
	uint32_t launch = t->launch.host[work->p[at]];
	return launch != ASSAY_NO_ROW && launch == t->launch.host[work->p[at + period - 1]] &&
	       at + period < work->n && launch == t->launch.host[work->p[at + period]];
}

static void add_steps(assay_run *run, uint32_t source, const rows *work, size_t period)
{
	assay_tables *t = &run->part.t;
	size_t before = t->step.n;
	int64_t number = 0;
	for (size_t at = find_phase(&t->gpu, work, period); at + period <= work->n; at += period) {
		if (!like_a_neighbour(&t->gpu, work, at, period) ||
		    inside_one_launch(t, work, at, period))
			continue;
		size_t next = at + period;
		int64_t ts = t->gpu.ts[work->p[at]];
		int64_t end = next < work->n ? t->gpu.ts[work->p[next]]
					     : assay_gpu_end(&t->gpu, work->p[next - 1]);
		uint32_t s = assay_add(t, ASSAY_T_step);
		t->step.source[s] = source;
		t->step.ts[s] = ts;
		t->step.dur[s] = end - ts;
		t->step.number[s] = number++;
		t->step.name[s] = assay_sid_of(run, "repetition");
		t->step.origin[s] = ASSAY_STEP_REPEATED;
	}
	if (number < FEWEST_STEPS)
		t->step.n = before;
}

/* Does one range hold most of the launches? What repeats inside it is no series of steps. */
static bool inside_one_range(const assay_run *run, const rows *work)
{
	const assay_tables *t = &run->part.t;
	assay_vec(int64_t) launch = {0};
	bool inside = false;
	for (size_t i = 0; i < work->n; i++)
		if (t->launch.host[work->p[i]] != ASSAY_NO_ROW)
			*assay_push(&launch) = t->host.ts[t->launch.host[work->p[i]]];
	assay_sort_i64(launch.p, launch.n);
	for (size_t h = 0; launch.n && h < t->host.n && !inside; h++) {
		uint8_t kind = t->host.kind[h];
		if ((kind != ASSAY_HOST_ANNOTATION && kind != ASSAY_HOST_MARKER) ||
		    t->host.dur[h] <= 0)
			continue;
		size_t from =
			assay_count_until(launch.p, sizeof *launch.p, launch.n, t->host.ts[h] - 1);
		size_t to = assay_count_until(launch.p, sizeof *launch.p, launch.n,
					      t->host.ts[h] + t->host.dur[h]);
		inside = (to - from) * 2 > launch.n && (to - from) * 2 > work->n;
	}
	assay_vec_free(&launch);
	return inside;
}

static void source_steps(assay_run *run, const assay_order *order, const assay_order_device *dev)
{
	const assay_tables *t = &run->part.t;
	rows kernels = {0};
	for (size_t i = dev->first; i < dev->first + dev->n; i++)
		if (t->gpu.kind[order->row[i]] == ASSAY_GPU_KERNEL)
			*assay_push(&kernels) = order->row[i];
	bool enough = kernels.n >= SHORTEST * FEWEST_STEPS && !inside_one_range(run, &kernels);
	size_t period = enough ? find_period(&t->gpu, &kernels) : 0;
	if (period)
		add_steps(run, assay_track_group(t, t->gpu.track[kernels.p[0]]), &kernels, period);
	assay_vec_free(&kernels);
}

void assay_repeated_steps(assay_run *run, const assay_order *order)
{
	const assay_device_time_table *d = &run->part.t.device_time;
	if (run->part.t.step.n)
		return;
	for (size_t i = 0;
	     i < d->n;) { /* the busiest device of each source; sources are in order */
		size_t best = i, next = i;
		for (; next < d->n && d->source[next] == d->source[i]; next++)
			best = d->events[next] > d->events[best] ? next : best;
		source_steps(run, order, &order->device.p[best]);
		i = next;
	}
}

/* One letter a kernel, 10 ns each; a space is a wait of 50 ns. */
static assay_run *run_of(const char *letters)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	int64_t now = 0;
	for (const char *c = letters; *c; c++) {
		if (*c == ' ') {
			now += 50;
			continue;
		}
		char name[2] = {*c};
		uint32_t k = assay_add(t, ASSAY_T_kernel);
		t->kernel.name[k] = assay_sid_of(run, name);
		assay_hand_gpu(run, name, now, 10, ASSAY_NO_ROW);
		now += 10;
	}
	assay_order order;
	assay_order_build(&order, run);
	assay_partition(run, &order);
	assay_repeated_steps(run, &order);
	assay_order_free(&order);
	return run;
}

TEST(repetition_gives_steps_that_begin_after_the_wait)
{
	assay_run *run = run_of("xyz abcab abcab abcab abcab q");
	const assay_step_table *s = &run->part.t.step;
	CHECK_EQ(s->n, 4);
	CHECK(s->ts[0] == 80 && s->dur[0] == 100 && s->origin[0] == ASSAY_STEP_REPEATED);
	CHECK(s->ts[3] == 380 && s->number[3] == 3);
	assay_run_free(run);
	run = run_of("abcdefghijklmnopq");
	CHECK_EQ(run->part.t.step.n, 0);
	assay_run_free(run);
	run = run_of("aaaaaaaaaaaa");
	CHECK_EQ(run->part.t.step.n, 0);
	assay_run_free(run);
	return 0;
}
