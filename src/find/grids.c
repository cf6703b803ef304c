/* Kernels whose grids leave most of the device without work, and that have it to themselves. */
#include "analyze/analyze.h"
#include "base/fmt.h"
#include "base/test.h"
#include "find/finding.h"
#include "model/by_hand.h"
#include "model/grid.h"
#include "work/compute.h"

static const double worth_a_look = 0.05; /* of the window */
static const double half = 0.5;          /* of the units; persistent kernels leave a few out */

struct name_time {
	int64_t sum;
	uint32_t longest; /* row of gpu */
};

struct search {
	const assay_run *run;
	const assay_gpu_table *g;
	const assay_window *w;
	assay_grids grids;
	int32_t units;
	const int64_t *reported; /* by row of gpu: ns that other findings report */
	int64_t *dur;            /* by row of gpu: on all units; -1: as it was */
	int64_t time;            /* ns of the window in such kernels */
	int64_t idle;            /* of this, what units without work could take over */
	uint64_t count;
	assay_map names; /* to `times` */
	assay_vec(struct name_time) times;
};

/* torch.cuda._sleep() passes time on purpose. */
static bool passes_time(assay_str name)
{
	return assay_str_find(name, "spin_kernel") >= 0;
}

static bool is_small(const struct search *s, uint32_t gpu)
{
	return s->g->kind[gpu] == ASSAY_GPU_KERNEL && s->g->ts[gpu] >= s->w->from &&
	       s->g->ts[gpu] < s->w->to && s->g->dur[gpu] >= 2 * ASSAY_LEAST_KERNEL &&
	       assay_grid_fill(&s->grids, gpu, s->units) <= half &&
	       !passes_time(assay_text(s->run, s->g->name[gpu]));
}

static void take(struct search *s, uint32_t gpu)
{
	int64_t dur = s->g->dur[gpu],
		idle = (int64_t)((double)dur * (1 - assay_grid_fill(&s->grids, gpu, s->units)));
	idle = idle < dur - s->reported[gpu] ? idle : dur - s->reported[gpu];
	if (idle <= 0)
		return;
	uint32_t *slot = assay_map_at(&s->names, s->g->name[gpu]);
	if (*slot == ASSAY_MAP_ABSENT) {
		*slot = (uint32_t)s->times.n;
		*assay_push(&s->times) = (struct name_time){.longest = gpu};
	}
	struct name_time *n = &s->times.p[*slot];
	n->sum += dur;
	n->longest = dur > s->g->dur[n->longest] ? gpu : n->longest;
	s->dur[gpu] = dur - idle;
	s->time += dur;
	s->idle += idle;
	s->count++;
}

/* Those that no other compute runs beside. */
static void look(struct search *s, const assay_order *order)
{
	const assay_order_device *d = &order->device.p[s->w->device];
	uint32_t alone = ASSAY_NO_ROW; /* as far as those before it go */
	int64_t end = INT64_MIN;
	for (size_t i = d->first; i < d->first + d->n; i++) {
		uint32_t r = order->row[i];
		if (order->classes[i] != ASSAY_CLASS_COMPUTE)
			continue;
		bool free = s->g->ts[r] >= end;
		if (free && alone != ASSAY_NO_ROW)
			take(s, alone);
		alone = free && is_small(s, r) ? r : ASSAY_NO_ROW;
		end = assay_gpu_end(s->g, r) > end ? assay_gpu_end(s->g, r) : end;
	}
	if (alone != ASSAY_NO_ROW)
		take(s, alone);
}

/* A kernel of the name that takes most. */
static uint32_t main_kernel(const struct search *s)
{
	size_t most = 0;
	for (size_t i = 1; i < s->times.n; i++)
		most = s->times.p[i].sum > s->times.p[most].sum ? i : most;
	return s->times.p[most].longest;
}

static void add_finding(const struct search *s, const assay_find_ctx *c)
{
	char count[ASSAY_FMT];
	/* without that the units have work beside it */
	const assay_found *streams = assay_found_with_id(c, "serial_streams");
	uint32_t gpu = main_kernel(s);
	assay_per_step per = assay_per_step_of(c, false);
	uint64_t kernels = s->count / (uint64_t)per.steps;
	assay_found f = {
		.id = "small_grids",
		.total = s->time,
		.most = s->idle,
		.least = ASSAY_WORTH_UNKNOWN, /* work may not be divisible */
		.confidence = 0.6,
		.follows = streams ? streams->id : NULL,
		.fix = "more blocks: a larger batch, the long dimension divided among several of them (split-K, a reduction in two passes), or other work beside it on a stream of its own"};
	double saved = assay_find_shorter(c, s->dur, INT64_MAX, (double)s->idle, &f.replayed);
	f.saved = saved > 1 ? (int64_t)saved : 1;
	f.text = assay_printf(
		c->scratch,
		"kernels of a few blocks, which leave most of the device without work, take %s",
		assay_share_words(c, f.total));
	assay_where_of_work(s->run, c, gpu, &f.where);
	f.fact[0] = assay_printf(
		c->scratch, "%s kernel%s%s, most of it in one of %.0f blocks on %d units",
		assay_fmt_count(count, kernels), kernels == 1 ? "" : "s", per.words,
		assay_grid_fill(&s->grids, gpu, s->units) * s->units, s->units);
	assay_found_take(c, &f, "slow_kernels");
	assay_found_take(c, &f, "gemm_shape");
	assay_finding_add(c, &f);
}

static void find_grids(const assay_run *run, const assay_find_ctx *c)
{
	if (c->w->device == ASSAY_NO_ROW || c->whole <= 0 || !c->order)
		return;
	const assay_tables *t = &run->part.t;
	assay_arena room = {0};
	struct search s = {.run = run,
			   .g = &t->gpu,
			   .w = c->w,
			   .grids = assay_grids_of(run, &room),
			   .units = assay_device_units(run, t->device_time.device[c->w->device]),
			   .reported = assay_reported_of_work(run, &room),
			   .dur = assay_alloc(&room, (t->gpu.n + 1) * sizeof *s.dur)};
	if (s.units) {
		memset(s.dur, 0xff, t->gpu.n * sizeof *s.dur);
		look(&s, c->order);
	}
	if ((double)s.idle >= worth_a_look * (double)c->whole)
		add_finding(&s, c);
	assay_map_free(&s.names);
	assay_vec_free(&s.times);
	assay_arena_free(&room);
}

const assay_finder assay_find_grids = {.id = "small_grids", .find = find_grids};

/* A device of 100 units: a kernel of 10 blocks alone, one beside another, one of 60 blocks, one
 * that is short, one that passes time. */
TEST(kernels_of_a_few_blocks_cost_what_the_other_units_could_do)
{
	static const struct {
		const char *name;
		int64_t ts, dur;
		uint32_t blocks;
	} kernels[] = {{"few", 0, 100000, 10},      {"few", 200000, 50000, 10},
		       {"many", 220000, 10000, 60}, {"many", 300000, 100000, 60},
		       {"few", 500000, 5000, 10},   {"spin_kernel", 600000, 90000, 1},
		       {"few", 700000, 20000, 10}};
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	assay_arena scratch = {0};
	assay_order order;
	struct assay_found_list list = {.found = {0}};
	assay_window w = {.device = 0, .to = 1000000};
	assay_find_ctx c = {.w = &w,
			    .order = &order,
			    .scratch = &scratch,
			    .list = &list,
			    .whole = 1000000,
			    .now = 1000000};
	run->part.source = assay_add(t, ASSAY_T_source);
	for (size_t i = 0; i < ASSAY_COUNT_OF(kernels); i++) {
		uint32_t g = assay_hand_gpu(run, kernels[i].name, kernels[i].ts, kernels[i].dur,
					    ASSAY_NO_ROW);
		t->gpu.grid_x[g] = kernels[i].blocks;
		t->gpu.block_x[g] = 128;
	}
	uint32_t d = assay_add(t, ASSAY_T_device), time = assay_add(t, ASSAY_T_device_time);
	t->device.id[d] = t->device_time.device[time] = 0;
	t->device.source[d] = run->part.source;
	t->device.vendor[d] = assay_sid_of(run, "nvidia");
	assay_kernels(run);
	assay_order_build(&order, run);
	find_grids(run, &c);
	CHECK_EQ(list.found.n, 0); /* nothing says how many units there are */
	t->device.units[d] = 100;
	find_grids(run, &c);
	CHECK_EQ(list.found.n, 1);
	CHECK_EQ(list.found.p[0].total, 120000);
	CHECK_EQ(list.found.p[0].most, 108000);
	CHECK_EQ(list.found.p[0].saved, 108000);
	assay_order_free(&order);
	assay_vec_free(&list.found);
	assay_arena_free(&scratch);
	assay_run_free(run);
	return 0;
}
