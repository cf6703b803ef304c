/* Steps of a recording that marks none: the sequence of kernel names repeats itself once a step.
 * Kernels that are rare run once a step and common ones once a layer, so the smallest count that
 * all other counts are multiples of is the number of steps, and a kernel that has it marks them.
 * Where counts tell nothing, the period is a distance at which names agree, and a step begins where
 * the device waited most. */
#include "analyze/analyze.h"

#include <stdlib.h>

#include "analyze/repeat_doubt.h"
#include "base/compare.h"
#include "base/median.h"
#include "base/sort.h"
#include "base/test.h"
#include "model/by_hand.h"
#include "model/steps.h"

/* MARKED_AT_LEAST: counts smaller than this agree by chance */
enum { CANDIDATES = 32, FEWEST_STEPS = 3, MARKED_AT_LEAST = 5, SHORTEST = 2, FEW_KERNELS = 16 };
static const double shares_lost[] = {0.005, 0.02}; /* of all work, that recorders may drop */
static const double agree = 0.75; /* share of names that must be the same a period later */

typedef assay_places rows;

struct count {
	uint32_t n, first, last;
	bool uneven; /* known not to come as evenly as steps do */
};

static int by_count(const void *a, const void *b)
{
	const struct count *x = a, *y = b;
	return assay_then(ASSAY_CMP(x->n, y->n), ASSAY_CMP(x->first, y->first));
}

/* Places of one name. */
static void places_of(const assay_sid *name, size_t n, assay_sid which, rows *out)
{
	out->n = 0;
	for (uint32_t i = 0; i < n; i++)
		if (name[i] == which)
			*assay_push(out) = i;
}

/* Between two places and more, in the mean. */
static size_t distance(const rows *at)
{
	return (at->p[at->n - 1] - at->p[0]) / (at->n - 1);
}

static void swap(rows *a, rows *b)
{
	rows old = *a;
	*a = *b;
	*b = old;
}

/* Names of the work, place by place. */
static const assay_sid *names_of(const assay_gpu_table *gpu, const rows *work, assay_arena *a)
{
	assay_sid *name = assay_alloc(a, (work->n + 1) * sizeof *name);
	for (size_t i = 0; i < work->n; i++)
		name[i] = gpu->name[work->p[i]];
	return name;
}

/* The same with one name for all products: libraries choose another kernel for another shape. */
static const assay_sid *names_of_kinds(const assay_tables *t, const rows *work, assay_arena *a)
{
	assay_map product = {0}; /* name -> that of its family */
	assay_sid of[ASSAY_FAMILY_COUNT] = {0};
	assay_sid *name = assay_alloc(a, (work->n + 1) * sizeof *name);
	for (size_t k = 0; k < t->kernel.n; k++) {
		uint8_t family = t->kernel.family[k];
		if (family != ASSAY_FAMILY_GEMM && family != ASSAY_FAMILY_CONV)
			continue;
		of[family] = of[family] ? of[family] : t->kernel.name[k];
		*assay_map_at(&product, t->kernel.name[k]) = of[family];
	}
	for (size_t i = 0; i < work->n; i++) {
		uint32_t one = assay_map_get(&product, t->gpu.name[work->p[i]]);
		name[i] = one == ASSAY_MAP_ABSENT ? t->gpu.name[work->p[i]] : one;
	}
	assay_map_free(&product);
	return name;
}

/* Of equal names in a row the first is kept: an optimizer launches one kernel several times. */
static const assay_sid *first_of_runs(const assay_sid *name, size_t n, assay_arena *a)
{
	assay_sid *out = assay_alloc(a, (n + 1) * sizeof *out);
	for (size_t i = 0; i < n; i++)
		out[i] = i && name[i] == name[i - 1] ? 0 : name[i];
	return out;
}

/* How often each name comes, the rarest first: a kernel that runs once a step tells its length. */
static size_t count_names(const assay_sid *name, const rows *work, assay_arena *a,
			  struct count **out)
{
	assay_map known = {0};
	struct count *c = assay_alloc(a, work->n * sizeof *c);
	size_t n = 0;
	for (uint32_t i = 0; i < work->n; i++) {
		if (!name[i])
			continue;
		uint32_t *slot = assay_map_at(&known, name[i]);
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

/* Some kernels are lost, and some run before the first step: counts are off by a little, and where
 * a share of all is lost by the more the larger they are. */
static uint32_t tolerance(uint32_t steps, uint32_t n, double lost)
{
	return (steps < 10 ? 0 : 1 + steps / 50) + (uint32_t)(n * lost);
}

static bool is_multiple(uint32_t n, uint32_t of, uint32_t tolerated)
{
	uint32_t rest = n % of, off = rest < of - rest ? rest : of - rest;
	return n + tolerated >= of && off <= tolerated;
}

/* Most names, and most of what runs, come so often or a multiple of that: three of them just so
 * often, or every one of three and more a multiple. Counts that may be off by so much that any
 * would do say nothing; then there must be several that do. */
static bool explains(const struct count *c, size_t names, uint32_t steps, double lost)
{
	enum { SEVERAL = 8 };
	size_t like = 0, multiples = 0, counted = 0, work = 0, all = 0;
	for (size_t i = 0; i < names; i++) {
		uint32_t tolerated = tolerance(steps, c[i].n, lost);
		if (c[i].n < FEWEST_STEPS || (lost > 0 && tolerated * 8 > steps))
			continue;
		bool multiple = is_multiple(c[i].n, steps, tolerated);
		counted++;
		all += c[i].n;
		like += multiple && c[i].n <= steps + tolerated;
		multiples += multiple;
		work += multiple ? c[i].n : 0;
	}
	bool every = like && counted >= 3 && multiples == counted;
	return (like >= 3 || every) && multiples * 10 >= counted * 8 && work * 10 >= all * 7 &&
	       (!(lost > 0) || counted >= SEVERAL);
}

/* Places of a name, when they are as far apart as steps are: most distances near the median. */
static bool marks_evenly(const assay_sid *name, const rows *work, assay_sid mark, rows *out)
{
	assay_vec(int64_t) apart = {0};
	int64_t usual;
	places_of(name, work->n, mark, out);
	for (size_t i = 1; i < out->n; i++)
		*assay_push(&apart) = out->p[i] - out->p[i - 1];
	bool even = apart.n && assay_mostly_even(apart.p, apart.n, 2, &usual) &&
		    usual >= SHORTEST && (out->p[out->n - 1] - out->p[0]) * 2 >= work->n;
	assay_vec_free(&apart);
	return even;
}

/* Work under the names it is compared by. */
struct named {
	const rows *work;
	const assay_sid *name;
	struct count *count; /* by name, the rarest first */
	size_t names;
};

static struct named named(const rows *work, const assay_sid *name, assay_arena *a)
{
	struct named n = {.work = work, .name = name};
	n.names = count_names(name, work, a, &n.count);
	return n;
}

/* Where steps begin, by the kernels whose count is their number; false when counts do not tell. */
static bool find_marks(const struct named *n, double lost, rows *marks)
{
	struct count *c = n->count;
	size_t tried = 0;
	uint32_t last = 0; /* the count that was tried, and whether it explains the others */
	bool found = false, told = false;
	for (size_t i = 0; i < n->names && !found && tried < CANDIDATES; i++) {
		if (c[i].n < MARKED_AT_LEAST || (size_t)c[i].n * SHORTEST > n->work->n)
			continue;
		if (c[i].n != last)
			told = explains(c, n->names, c[i].n, lost);
		tried += told || c[i].n != last;
		last = c[i].n;
		found = told && !c[i].uneven &&
			marks_evenly(n->name, n->work, n->name[c[i].first], marks);
		c[i].uneven |= told && !found;
	}
	marks->n = found ? marks->n : 0;
	return found;
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

static size_t find_period(const assay_gpu_table *gpu, const struct named *by)
{
	const rows *work = by->work;
	const struct count *c = by->count;
	size_t best = 0, tried = 0;
	double best_share = agree;
	for (size_t i = 0; i < by->names && tried < CANDIDATES; i++) {
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

static void add_step(assay_run *run, uint32_t source, int64_t ts, int64_t end, int64_t number)
{
	assay_step_add(run, source, ts, end, number, assay_sid_of(run, "repetition"),
		       ASSAY_STEP_REPEATED);
}

/* The last one is as long as most are, in kernels; where a quarter of it and more is missing, the
 * recording ended in it. */
static void add_marked(assay_run *run, uint32_t source, const rows *work, const rows *marks)
{
	const assay_gpu_table *gpu = &run->part.t.gpu;
	size_t usual = distance(marks);
	bool cut = (work->n - marks->p[marks->n - 1]) * 4 < usual * 3;
	for (size_t i = 0; i < marks->n - cut; i++) {
		size_t next = i + 1 < marks->n ? marks->p[i + 1] : marks->p[i] + usual;
		int64_t end = next < work->n ? gpu->ts[work->p[next]]
					     : assay_gpu_end(gpu, work->p[work->n - 1]);
		add_step(run, source, gpu->ts[work->p[marks->p[i]]], end, (int64_t)i);
	}
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
		add_step(run, source, ts, end, number++);
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
		if (!assay_is_thread_range(kind) || t->host.dur[h] <= 0)
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

/* Places among the kernels, as places among all work of the device, and back: the first kernel from
 * there on. Both rise. */
static void to_all(const assay_order *order, const assay_order_device *dev, const rows *work,
		   rows *at)
{
	for (size_t i = 0, k = 0; i < at->n; i++) {
		while (order->row[dev->first + k] != work->p[at->p[i]])
			k++;
		at->p[i] = (uint32_t)k;
	}
}

static void to_kernels(const assay_gpu_table *gpu, const rows *all, rows *at)
{
	size_t n = 0;
	uint32_t kernels = 0;
	for (uint32_t k = 0; k < all->n && n < at->n; k++) {
		bool kernel = gpu->kind[all->p[k]] == ASSAY_GPU_KERNEL;
		while (kernel && n < at->n && at->p[n] <= k)
			at->p[n++] = kernels;
		kernels += kernel;
	}
	at->n = n;
}

/* What repeats: where marks are, else every period; names that are all one may be of one kernel. */
static void find_units(const assay_gpu_table *gpu, const rows *work, size_t period,
		       const rows *marks, rows *units)
{
	size_t apart = period ? period : agreement(gpu, work, 0, work->n - 1, 1) >= agree ? 1 : 0;
	for (size_t i = 0; i < marks->n; i++)
		*assay_push(units) = marks->p[i];
	for (size_t i = period ? find_phase(gpu, work, period) : 0;
	     !marks->n && apart && i < work->n; i += apart)
		*assay_push(units) = (uint32_t)i;
}

/* What repeats may be a layer: marks become those of the steps that have several. */
static bool find_layers(const assay_run *run, const assay_order *order,
			const assay_order_device *dev, const rows *work, size_t period, rows *marks)
{
	const assay_gpu_table *gpu = &run->part.t.gpu;
	rows units = {0}, steps = {0}, all = {0};
	for (size_t i = dev->first; i < dev->first + dev->n; i++)
		*assay_push(&all) = order->row[i];
	find_units(gpu, work, period, marks, &units);
	to_all(order, dev, work, &units);
	bool found = assay_pauses_find(run, &all, &units, &steps);
	to_kernels(gpu, &all, &steps);
	if (found)
		swap(marks, &steps);
	assay_vec_free(&steps);
	assay_vec_free(&units);
	assay_vec_free(&all);
	return found;
}

enum { WAYS = 4 }; /* to name work, see name_work() */

/* All work of the device, and of it the kernels. */
struct device_work {
	rows all, kernels;
	struct named by[WAYS]; /* those that were asked for */
	assay_arena names;
};

static void forget_names(struct device_work *w)
{
	memset(w->by, 0, sizeof w->by);
	assay_arena_free(&w->names);
}

/* By names of kernels, with one name for all products, by what comes in a row, and with copies:
 * what is read back once a step marks it, too. */
static const struct named *name_work(const assay_tables *t, struct device_work *w, int way)
{
	assay_arena *a = &w->names;
	const rows *work = way < 3 ? &w->kernels : &w->all;
	if (w->by[way].work)
		return &w->by[way];
	const assay_sid *name = way > 1 && work == w->by[way - 1].work ? w->by[way - 1].name
				: way                                  ? names_of_kinds(t, work, a)
								       : names_of(&t->gpu, work, a);
	w->by[way] = named(work, way < 2 ? name : first_of_runs(name, work->n, a), a);
	return &w->by[way];
}

static bool find_any_marks(const assay_tables *t, struct device_work *w, double lost, rows *marks)
{
	bool found = false;
	for (int way = 0; way < WAYS && !found; way++) {
		const struct named *by = name_work(t, w, way);
		found = find_marks(by, lost, marks);
		if (found && by->work == &w->all)
			to_kernels(&t->gpu, &w->all, marks);
	}
	return found;
}

/* Marks at so short a distance, or none. */
static bool may_be_layers(const rows *marks)
{
	return marks->n < 2 || distance(marks) < FEW_KERNELS;
}

/* From which length on waits are long: where lengths in falling order drop most, and to less than a
 * third. INT64_MAX when they do not. */
static int64_t long_from(const int64_t *wait, size_t n, assay_arena *scratch)
{
	int64_t *by_length = assay_alloc(scratch, (n + 1) * sizeof *by_length), from = INT64_MAX;
	double most = 3;
	memcpy(by_length, wait, n * sizeof *wait);
	assay_sort_i64(by_length, n); /* rising */
	for (size_t i = FEWEST_STEPS; i < n / SHORTEST; i++) {
		double drop = (double)by_length[n - 1 - i] / (double)(by_length[n - 2 - i] + 1);
		if (drop > most) {
			most = drop;
			from = by_length[n - 1 - i];
		}
	}
	return from;
}

/* Waits of the device before each kernel; their sum. */
static int64_t waits_before(const assay_gpu_table *gpu, const rows *work, int64_t *wait)
{
	int64_t end = gpu->ts[work->p[0]], all = 0;
	for (size_t i = 0; i < work->n; i++) {
		int64_t stop = assay_gpu_end(gpu, work->p[i]);
		wait[i] = gpu->ts[work->p[i]] > end ? gpu->ts[work->p[i]] - end : 0;
		all += wait[i];
		end = stop > end ? stop : end;
	}
	return all;
}

/* Are places at one distance, longer than what is known to repeat, with the same names? */
static bool repeats_at(const assay_gpu_table *gpu, const rows *work, const rows *at, size_t period)
{
	size_t even = 0;
	if (at->n <= FEWEST_STEPS)
		return false;
	size_t last = at->p[at->n - 1], apart = distance(at);
	for (size_t i = 1; i < at->n; i++)
		even += at->p[i] - at->p[i - 1] == apart;
	return apart > period && apart >= SHORTEST && even * 10 >= (at->n - 1) * 9 &&
	       agreement(gpu, work, at->p[0], last - apart, apart) >= agree;
}

/* Where the device waits long again and again, at one distance and before the same kernels. What
 * repeats in a shorter period is a layer then. Marks stay as they are where it does not. */
static bool find_waits(const assay_gpu_table *gpu, const rows *work, size_t period, rows *marks)
{
	assay_arena scratch = {0};
	rows at = {0};
	int64_t *wait = assay_alloc(&scratch, (work->n + 1) * sizeof *wait), of_marks = 0;
	int64_t all = waits_before(gpu, work, wait), from = long_from(wait, work->n, &scratch);
	for (uint32_t i = 0; i < work->n; i++)
		if (wait[i] >= from) {
			*assay_push(&at) = i;
			of_marks += wait[i];
		}
	if (marks->n > 1)
		period = distance(marks);
	bool found = of_marks * 2 > all && repeats_at(gpu, work, &at, period);
	if (found)
		swap(marks, &at);
	assay_vec_free(&at);
	assay_arena_free(&scratch);
	return found;
}

/* Places of a name of products, runs of it once, when it comes as evenly in time as steps do. */
static bool comes_evenly(const assay_gpu_table *gpu, const assay_sid *name, const rows *work,
			 assay_sid product, rows *out)
{
	assay_vec(int64_t) apart = {0};
	int64_t usual;
	places_of(name, work->n, product, out);
	for (size_t i = 1; i < out->n; i++)
		*assay_push(&apart) = gpu->ts[work->p[out->p[i]]] - gpu->ts[work->p[out->p[i - 1]]];
	bool even = out->n >= MARKED_AT_LEAST && assay_mostly_even(apart.p, apart.n, 1, &usual) &&
		    (out->p[out->n - 1] - out->p[0]) * 2 >= work->n;
	assay_vec_free(&apart);
	return even;
}

/* Kernels that a compiler tries again and again are no steps where the products of the program come
 * rarely between them: the outer repetition is the step. Marks become those. */
static bool find_products(const assay_tables *t, const rows *work, size_t period, rows *marks)
{
	enum { MANY = 20 }; /* times what repeats inside */
	assay_arena scratch = {0};
	rows at = {0};
	bool found = false;
	size_t inner = marks->n > 1 ? distance(marks) : period;
	const assay_sid *name = first_of_runs(names_of_kinds(t, work, &scratch), work->n, &scratch);
	for (size_t k = 0; inner && k < t->kernel.n && !found; k++) {
		bool product = t->kernel.family[k] == ASSAY_FAMILY_GEMM ||
			       t->kernel.family[k] == ASSAY_FAMILY_CONV;
		found = product && comes_evenly(&t->gpu, name, work, t->kernel.name[k], &at) &&
			distance(&at) >= MANY * inner;
	}
	if (found)
		swap(marks, &at);
	assay_vec_free(&at);
	assay_arena_free(&scratch);
	return found;
}

static bool find_steps(assay_run *run, const assay_order *order, const assay_order_device *dev,
		       struct device_work *w)
{
	const assay_tables *t = &run->part.t;
	const rows *kernels = &w->kernels;
	if (kernels->n < SHORTEST * FEWEST_STEPS || inside_one_range(run, kernels))
		return false;
	size_t before = t->step.n;
	rows marks = {0};
	bool marked = find_any_marks(t, w, 0, &marks);
	for (size_t i = 0; i < ASSAY_COUNT_OF(shares_lost) && !marked; i++)
		marked = find_any_marks(t, w, shares_lost[i], &marks);
	size_t period = marked ? 0 : find_period(&t->gpu, name_work(t, w, 0));
	forget_names(w);
	if (may_be_layers(&marks) && find_products(t, kernels, period, &marks))
		marked = true;
	else if (find_layers(run, order, dev, kernels, period, &marks))
		marked = true;
	else if (may_be_layers(&marks))
		marked |= find_waits(&t->gpu, kernels, period, &marks);
	uint32_t source = assay_track_group(t, t->gpu.track[kernels->p[0]]);
	if (marked)
		add_marked(run, source, kernels, &marks);
	else if (period)
		add_steps(run, source, kernels, period);
	assay_vec_free(&marks);
	return t->step.n > before;
}

/* What comes before the loop (compilers that try kernels) runs some that the loop does not: only
 * what is behind the last of these stays. Is that less than all? */
static bool drop_start(const assay_gpu_table *gpu, struct device_work *w)
{
	assay_map looped = {0}; /* names in the last half */
	rows *k = &w->kernels;
	size_t start = k->n / 2, from;
	for (size_t i = start; i < k->n; i++)
		*assay_map_at(&looped, gpu->name[k->p[i]]) = 1;
	while (start && assay_map_get(&looped, gpu->name[k->p[start - 1]]) != ASSAY_MAP_ABSENT)
		start--;
	assay_map_free(&looped);
	if (!start)
		return false;
	for (from = 0; w->all.p[from] != k->p[start];)
		from++;
	memmove(k->p, k->p + start, (k->n -= start) * sizeof *k->p);
	memmove(w->all.p, w->all.p + from, (w->all.n -= from) * sizeof *w->all.p);
	return true;
}

/* Says what speaks against steps that were found, if anything does. */
static void doubt_steps(assay_run *run, uint32_t device, const rows *work, size_t steps)
{
	if (assay_may_be_layers(run, work, steps))
		assay_warn(
			run, "layers",
			"%s: what repeats %zu times may be a layer and not a step: nothing in it is done once a step (an update, a loss, a look-up, a value read back)",
			assay_device_words(run, device), steps);
}

static void source_steps(assay_run *run, const assay_order *order, uint32_t device)
{
	const assay_order_device *dev = &order->device.p[device];
	const assay_gpu_table *gpu = &run->part.t.gpu;
	struct device_work w = {.all = {0}};
	for (size_t i = dev->first; i < dev->first + dev->n; i++) {
		*assay_push(&w.all) = order->row[i];
		if (gpu->kind[order->row[i]] == ASSAY_GPU_KERNEL)
			*assay_push(&w.kernels) = order->row[i];
	}
	size_t before = run->part.t.step.n;
	if (!find_steps(run, order, dev, &w) && drop_start(gpu, &w))
		find_steps(run, order, dev, &w);
	if (run->part.t.step.n > before)
		doubt_steps(run, device, &w.all, run->part.t.step.n - before);
	assay_vec_free(&w.kernels);
	assay_vec_free(&w.all);
}

/* Ranks of a job do the same: what marks steps of one would mark those of all. Other processes
 * beside each other each have their own, or none. */
static bool has_none(const assay_run *run, uint32_t source)
{
	const assay_step_table *s = &run->part.t.step;
	for (size_t i = 0; i < s->n; i++)
		if (s->source[i] == source)
			return false;
	return !s->n || (source < run->part.t.source.n && run->part.t.source.rank[source] < 0);
}

void assay_repeated_steps(assay_run *run, const assay_order *order)
{
	const assay_device_time_table *d = &run->part.t.device_time;
	bool any = run->part.t.step.n > 0;
	for (size_t i = 0;
	     i < d->n;) { /* the busiest device of each source; sources are in order */
		size_t best = i, next = i;
		for (; next < d->n && d->source[next] == d->source[i]; next++)
			best = d->events[next] > d->events[best] ? next : best;
		if (!any || has_none(run, d->source[i]))
			source_steps(run, order, (uint32_t)best);
		i = next;
	}
}

/* One letter a kernel, 10 ns each, a product where it is a capital; a space is a wait of 50 ns. */
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
		t->kernel.family[k] = *c < 'a' ? ASSAY_FAMILY_GEMM : ASSAY_FAMILY_OTHER;
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

/* A compiler tries the kernels of the loop, and others, before it. */
TEST(steps_are_found_behind_what_comes_once)
{
	assay_run *run = run_of("abababcababbdbabbaceb  babb babb babb babb babb babb");
	const assay_step_table *s = &run->part.t.step;
	CHECK_EQ(s->n, 6);
	CHECK(s->ts[0] == 310 && s->dur[0] == 90);
	assay_run_free(run);
	return 0;
}

/* The library takes another product for another shape; steps are told by what they begin with. */
TEST(steps_are_found_where_products_change_their_names)
{
	assay_run *run = run_of("rAgAgAg rAgAgAg rAgBgAg rBgBgBg rBgBgBg rCgBgBg rCgCgCg");
	const assay_step_table *s = &run->part.t.step;
	CHECK_EQ(s->n, 7);
	CHECK(s->ts[0] == 0 && s->ts[1] == 120 && s->dur[1] == 120);
	assay_run_free(run);
	return 0;
}

/* A tuner tries a kernel, not equally often, before the products of each step. */
TEST(what_is_tried_before_each_step_is_no_step)
{
	char letters[4096];
	static const int tries[] = {60, 66, 63, 70, 58, 64, 67};
	size_t n = 0;
	for (size_t i = 0; i < ASSAY_COUNT_OF(tries); i++) {
		for (int k = 0; k < tries[i]; k++, n += 2)
			memcpy(letters + n, "fs", 2);
		memcpy(letters + n, " AAAA ", 6);
		n += 6;
	}
	letters[n] = 0;
	assay_run *run = run_of(letters);
	CHECK_EQ(run->part.t.step.n, 6); /* what the last one tries for is not there */
	CHECK_EQ(run->part.t.step.dur[0], 66 * 20 + 40 + 100);
	assay_run_free(run);
	return 0;
}

/* No name is of steps alone, and layers do not fill a step; the waits tell. */
TEST(long_waits_at_one_distance_are_between_steps)
{
	assay_run *run = run_of("abcabcab   abcabcab   abcabcab   abcabcab   abcabcab   abcabcab");
	CHECK_EQ(run->part.t.step.n, 5); /* before the first nothing was waited for */
	CHECK_EQ(run->part.t.step.dur[1], 230);
	assay_run_free(run);
	run = run_of("abcabc abcabc    abcabc abcabc abcabcabc abc abcabc abc abcabc");
	CHECK(run->part.t.step.n > 12); /* waits as they come */
	assay_run_free(run);
	return 0;
}

/* One kernel several times in a row, once a step, after four equal batches of layers. */
TEST(kernels_in_a_row_are_one_mark)
{
	char letters[1024] = "";
	for (int step = 0; step < 6; step++) {
		for (int layer = 0; layer < 20; layer++)
			strcat(letters, "abc");
		strcat(letters, "ooo");
	}
	assay_run *run = run_of(letters);
	CHECK_EQ(run->part.t.step.n, 5); /* the last mark ends the recording */
	CHECK_EQ(run->part.t.step.dur[0], 630);
	assay_run_free(run);
	return 0;
}

/* One of fifty kernels is lost, wherever it is. */
TEST(a_share_of_all_that_is_lost_changes_nothing)
{
	static const char once[] = "efghijklmnopqrstuv";
	char letters[20000];
	size_t n = 0;
	uint64_t dice = 7;
	for (int step = 0; step < 40; step++)
		for (int k = 0; k < 300 + (int)sizeof once - 1; k++) {
			dice = dice * 6364136223846793005 + 1442695040888963407;
			if ((dice >> 33) % 50)
				letters[n++] = k < 300 ? "abcabd"[k % 6] : once[k - 300];
		}
	letters[n] = 0;
	assay_run *run = run_of(letters);
	CHECK(run->part.t.step.n >= 36 && run->part.t.step.n <= 40);
	assay_run_free(run);
	return 0;
}

/* Layers of four kernels, six a step; what a step does once marks it, also when a kernel is
 * lost. */
TEST(layers_are_no_steps_and_a_lost_kernel_changes_nothing)
{
	char letters[512] = "w";
	for (int step = 0; step < 5; step++) {
		strcat(letters, " ehl");
		for (int layer = 0; layer < 6; layer++)
			strcat(letters, step == 2 && layer == 3 ? "abd" : "abcd");
		strcat(letters, "so");
	}
	assay_run *run = run_of(letters);
	const assay_step_table *s = &run->part.t.step;
	CHECK_EQ(s->n, 5);
	CHECK(s->ts[0] == 60 && s->dur[0] == 29 * 10 + 50 && s->dur[2] == 28 * 10 + 50);
	assay_run_free(run);
	return 0;
}

TEST(a_process_without_marked_steps_beside_one_with_them_has_its_own)
{
	for (int32_t rank = -1; rank < 1; rank++) {
		assay_run *run = run_of("xAbcd Abcd Abcd Abcd Abcd Abcd");
		assay_tables *t = &run->part.t;
		size_t own = t->step.n;
		assay_add(t, ASSAY_T_source);
		assay_add(t, ASSAY_T_source);
		t->device_time.source[0] = 0;
		t->source.rank[0] = rank;
		for (size_t i = 0; i < own; i++)
			t->step.source[i] = 1;
		assay_order order;
		assay_order_build(&order, run);
		assay_repeated_steps(run, &order);
		assay_order_free(&order);
		CHECK(own >= 3);
		CHECK_EQ(t->step.n, rank < 0 ? 2 * own : own);
		assay_run_free(run);
	}
	return 0;
}
