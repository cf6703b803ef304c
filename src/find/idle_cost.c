#include "find/idle_cost.h"

#include "analyze/idle_where.h"
#include "base/fmt.h"
#include "base/sort.h"
#include "base/test.h"

/* Ends of the steady steps on the device: a step reaches from the end of the one before it. */
static size_t step_ends(const assay_run *run, const assay_find_ctx *c, int64_t **out)
{
	const assay_step_time_table *t = &run->part.t.step_time;
	int64_t *end = assay_alloc(c->scratch, (t->n + 1) * sizeof *end);
	size_t n = 0;
	for (size_t i = 0; i < t->n; i++) {
		assay_rest_behind(&run->part.t, ASSAY_T_step_time, i);
		int64_t to = t->start[i] + t->span[i];
		if (t->device[i] == c->w->device && to > c->w->from && to <= c->w->to)
			end[n++] = to;
	}
	assay_sort_i64(end, n);
	*out = end;
	return n;
}

/* At least a fifth of what a step has on average. */
static bool is_share(int64_t ns, int64_t total, size_t n)
{
	return ns > total / (5 * (int64_t)n);
}

/* A loader with several workers is waited for once in so many steps, again and again. */
static bool comes_back(size_t n, int64_t (*sum)[ASSAY_IDLE_KINDS], int k, int64_t total)
{
	enum { TIMES = 3 };
	size_t without = 0, longest = 0, times = 0;
	for (size_t i = 0; i < n; i++) {
		bool here = is_share(sum[i][k], total, n);
		times += here;
		without = here ? 0 : without + 1;
		longest = without > longest ? without : longest;
	}
	return k == ASSAY_WHY_HOST_DATA && times >= TIMES && longest * TIMES <= n;
}

static void count_steps(const assay_find_ctx *c, size_t n, int64_t (*sum)[ASSAY_IDLE_KINDS],
			assay_idle_cost *cost)
{
	for (int k = 0; k < ASSAY_IDLE_KINDS; k++) {
		for (size_t i = 0; i < n; i++)
			cost->steps[k] += is_share(sum[i][k], cost->total[k], n);
		cost->steady[k] = c->steps && (cost->steps[k] * 2 >= n ||
					       comes_back(n, sum, k, cost->total[k]));
	}
}

void assay_idle_measure(const assay_run *run, const assay_find_ctx *c, assay_idle_cost *cost)
{
	const assay_tables *t = &run->part.t;
	int64_t *end;
	size_t n = step_ends(run, c, &end), step = 0;
	int64_t(*sum)[ASSAY_IDLE_KINDS] = assay_alloc(c->scratch, (n + 1) * sizeof *sum);
	uint32_t last = ASSAY_NO_ROW;
	*cost = (assay_idle_cost){.total = {0}};
	memcpy(cost->total, c->w->cause, sizeof c->w->cause);
	memcpy(cost->gaps, c->w->gaps, sizeof c->w->gaps);
	for (size_t i = 0; i < t->gap_part.n; i++) {
		uint32_t gap = t->gap_part.gap[i];
		if (!assay_gap_in_window(&t->gap, c->w, gap))
			continue;
		while (step < n && t->gap.ts[gap] >= end[step])
			step++;
		sum[step][t->gap_part.cause[i]] += t->gap_part.dur[i];
		if (t->gap.opened[gap] == ASSAY_NO_ROW)
			continue;
		sum[step][ASSAY_IDLE_DRAINED] += t->gap_part.dur[i];
		cost->total[ASSAY_IDLE_DRAINED] += t->gap_part.dur[i];
		cost->gaps[ASSAY_IDLE_DRAINED] += gap != last;
		last = gap;
	}
	count_steps(c, n, sum, cost);
}

bool assay_idle_is_short(const assay_idle_cost *cost, int cause)
{
	return cost->total[cause] < (int64_t)cost->gaps[cause] * ASSAY_SHORT_GAP;
}

bool assay_idle_is_usual(const assay_find_ctx *c, const assay_idle_cost *cost, int cause)
{
	enum {
		USUAL = 2500,
		WITHOUT_LONG = 4000,
		LONG = 20000
	}; /* ns: in the mean, and one of them */
	int64_t gaps = (int64_t)cost->gaps[cause];
	bool even = c->w->longest_part[cause] < LONG;
	return cause == ASSAY_WHY_QUEUED &&
	       cost->total[cause] < gaps * (even ? WITHOUT_LONG : USUAL);
}

double assay_idle_least(const assay_find_ctx *c)
{
	double least = assay_worth_saying * (double)c->whole;
	double shared = (double)c->w->idle / ASSAY_WHY_COUNT;
	return (double)c->w->idle > 0.1 * (double)c->whole && shared < least ? shared : least;
}

bool assay_idle_is_worth_saying(const assay_find_ctx *c, const assay_idle_cost *cost, int cause)
{
	bool much = c->w->idle > c->whole / 10 && cost->total[cause] > c->w->idle / 4;
	return cause != ASSAY_WHY_UNLINKED && (double)cost->total[cause] >= assay_idle_least(c) &&
	       (much || !assay_idle_is_usual(c, cost, cause));
}

const char *assay_idle_cost_words(const assay_find_ctx *c, const assay_idle_cost *cost, int cause)
{
	char part[ASSAY_FMT];
	if (!c->steps || cost->steady[cause])
		return assay_share_words(c, cost->total[cause]);
	return assay_printf(c->scratch, "%s in %zu of %llu steps",
			    assay_fmt_time(part, cost->total[cause]), cost->steps[cause],
			    (unsigned long long)c->steps);
}

TEST(a_fifth_of_the_mean_counts_also_of_years)
{
	CHECK(!is_share(4, 100, 5) && is_share(5, 100, 5) && !is_share(0, 0, 1));
	CHECK(is_share(INT64_MAX / 2, INT64_MAX, 23));
	return 0;
}

TEST(a_loader_that_is_waited_for_again_and_again_is_steady)
{
	enum { STEPS = 12 };
	static const struct {
		uint16_t at; /* a bit for each step with a wait */
		bool steady;
	} cases[] = {{1 << 0 | 1 << 4 | 1 << 8, true},   {1 << 4 | 1 << 8 | 1 << 11, true},
		     {1 << 3 | 1 << 8, false},          /* twice is not again and again */
		     {1 << 0 | 1 << 1 | 1 << 2, false}, /* and then never more */
		     {1 << 0 | 1 << 6 | 1 << 11, false}, {0, false}};
	for (size_t i = 0; i < ASSAY_COUNT_OF(cases); i++) {
		int64_t sum[STEPS][ASSAY_IDLE_KINDS] = {{0}}, total = 0;
		for (int k = 0; k < STEPS; k++) {
			int64_t ns = cases[i].at >> k & 1 ? 100 : 0;
			total += sum[k][ASSAY_WHY_HOST_DATA] = sum[k][ASSAY_WHY_HOST_OP] = ns;
		}
		CHECK(comes_back(STEPS, sum, ASSAY_WHY_HOST_DATA, total) == cases[i].steady);
		CHECK(!comes_back(STEPS, sum, ASSAY_WHY_HOST_OP, total));
	}
	return 0;
}

TEST(idle_time_belongs_to_the_steps_of_its_device_in_the_window)
{
	static const struct {
		uint32_t device;
		int64_t start, span;
	} steps[] = {{0, 150, 50}, {0, 100, 50}, {1, 100, 80},
		     {0, 40, 60},  {0, 200, 1},  {0, 180, 19}};
	assay_run *run = assay_run_new();
	assay_arena scratch = {0};
	assay_window w = {.device = 0, .from = 100, .to = 200};
	assay_find_ctx c = {.w = &w, .scratch = &scratch};
	int64_t *end;
	for (size_t i = 0; i < ASSAY_COUNT_OF(steps); i++) {
		uint32_t r = assay_add(&run->part.t, ASSAY_T_step_time);
		run->part.t.step_time.device[r] = steps[i].device;
		run->part.t.step_time.start[r] = steps[i].start;
		run->part.t.step_time.span[r] = steps[i].span;
	}
	CHECK(step_ends(run, &c, &end) == 3 && end[0] == 150 && end[1] == 199 && end[2] == 200);
	assay_arena_free(&scratch);
	assay_run_free(run);
	return 0;
}

TEST(the_usual_distance_between_kernels_is_nothing_to_change)
{
	assay_window w = {.device = 0, .to = 1000000, .idle = 60000};
	assay_find_ctx c = {.w = &w, .whole = 1000000};
	assay_idle_cost cost = {.total = {[ASSAY_WHY_QUEUED] = 50000}};
	cost.gaps[ASSAY_WHY_QUEUED] = 25;
	w.longest_part[ASSAY_WHY_QUEUED] = 30000;
	CHECK(!assay_idle_is_worth_saying(&c, &cost, ASSAY_WHY_QUEUED));
	w.idle = 110000; /* short kernels, and much of the time goes between them */
	CHECK(assay_idle_is_worth_saying(&c, &cost, ASSAY_WHY_QUEUED));
	w.idle = 60000;
	cost.gaps[ASSAY_WHY_QUEUED] = 15; /* one of them is long */
	CHECK(assay_idle_is_worth_saying(&c, &cost, ASSAY_WHY_QUEUED));
	w.longest_part[ASSAY_WHY_QUEUED] = 8000;
	CHECK(!assay_idle_is_worth_saying(&c, &cost, ASSAY_WHY_QUEUED));
	cost.gaps[ASSAY_WHY_QUEUED] = 5;
	CHECK(assay_idle_is_worth_saying(&c, &cost, ASSAY_WHY_QUEUED));
	return 0;
}
