/* Kernels of so many and so small blocks that starting them is what takes the time: how long a
 * block takes is then the same for all of them, whatever they compute. */
#include "analyze/analyze.h"
#include "base/fmt.h"
#include "base/test.h"
#include "find/finding.h"
#include "model/by_hand.h"
#include "model/grid.h"

static const char id[] = "tiny_blocks";
static const double least = 0.05; /* of the time, to speak of it */
static const double near = 0.9;   /* of the limit */
static const double goes = 0.5;   /* how much data a block moves is not recorded */
enum { LEAST_BLOCKS = 1 << 17 };  /* the first and the last ones take longer than the usual */

/* Blocks a nanosecond that a device starts. On an H200 kernels of 32 to 128 threads a block and
 * more than 130,000 blocks, of Triton, CuPy and PyTorch, come as near as 1.61 to 1.664, and none of
 * 26 programs comes nearer (2026-11-19). An H100 of as many units is made of the same chip; other
 * devices were not measured. */
static const struct {
	const char *arch;
	int32_t units;
	double starts;
} limits[] = {{"sm_90", 132, 1.664}};

struct search {
	const assay_run *run;
	const assay_gpu_table *g;
	const assay_window *w;
	assay_grids grids;
	double limit;
	int64_t *dur; /* by row of gpu: as a replay takes it; -1: as it was */
	int64_t time;
	uint64_t count;
	uint32_t longest; /* row of gpu */
};

static double limit_of(const assay_run *run, int32_t device)
{
	const assay_device_table *d = &run->part.t.device;
	for (size_t i = 0; i < d->n; i++)
		for (size_t k = 0; k < ASSAY_COUNT_OF(limits); k++)
			if (d->id[i] == device && d->units[i] == limits[k].units &&
			    assay_str_is(assay_text(run, d->arch[i]), limits[k].arch))
				return limits[k].starts;
	return 0;
}

static double blocks_of(const struct search *s, uint32_t gpu)
{
	uint32_t grid[3];
	double blocks = 1;
	assay_grid_blocks(&s->grids, gpu, grid);
	for (int i = 0; i < 3; i++)
		blocks *= i && !grid[i] ? 1 : grid[i];
	return blocks;
}

/* Of templates in a namespace, and of CuPy's own operations, the library chooses the blocks. */
static bool is_of_library(assay_str name)
{
	return assay_str_find(name, "::") >= 0 || assay_str_starts(name, "cupy_");
}

static bool is_limited(const struct search *s, uint32_t gpu)
{
	double blocks = s->g->kind[gpu] == ASSAY_GPU_KERNEL ? blocks_of(s, gpu) : 0;
	return s->g->ts[gpu] >= s->w->from && s->g->ts[gpu] < s->w->to && s->g->dur[gpu] > 0 &&
	       blocks >= LEAST_BLOCKS && blocks >= near * s->limit * (double)s->g->dur[gpu] &&
	       !is_of_library(assay_text(s->run, s->g->name[gpu]));
}

static void look(struct search *s, const assay_order *order)
{
	const assay_order_device *d = &order->device.p[s->w->device];
	for (size_t i = d->first; i < d->first + d->n; i++) {
		uint32_t r = order->row[i];
		if (!is_limited(s, r))
			continue;
		s->dur[r] = (int64_t)((1 - goes) * (double)s->g->dur[r]);
		s->time += s->g->dur[r];
		s->count++;
		s->longest = s->longest == ASSAY_NO_ROW || s->g->dur[r] > s->g->dur[s->longest]
				     ? r
				     : s->longest;
	}
}

static void tell(const struct search *s, const assay_find_ctx *c)
{
	char blocks[ASSAY_FMT], count[ASSAY_FMT];
	double ns = (double)s->g->dur[s->longest];
	assay_per_step per = assay_per_step_of(c, false);
	assay_found f = {
		.id = id,
		.total = s->time,
		.most = s->time,
		.least = ASSAY_WORTH_UNKNOWN,
		.confidence = 0.7,
		.fix = "more elements for each block (Triton: BLOCK of 1024 and more, or num_warps=1 where it stays small), or a grid of a few blocks a unit whose threads go through the data in a loop"};
	double saved =
		assay_find_shorter(c, s->dur, INT64_MAX, goes * (double)s->time, &f.replayed);
	f.saved = saved > 1 ? (int64_t)saved : 1;
	f.text = assay_printf(
		c->scratch, "kernels of so many small blocks that starting them takes the time: %s",
		assay_share_words(c, f.total));
	assay_where_of_work(s->run, c, s->longest, &f.where);
	f.fact[0] = assay_printf(
		c->scratch,
		"%s kernel%s%s, the longest of %s blocks, %.2f a ns; the device starts %.2f a ns at most, whatever they do",
		assay_fmt_count(count, s->count / (uint64_t)per.steps),
		s->count == (uint64_t)per.steps ? "" : "s", per.words,
		assay_fmt_count(blocks, (uint64_t)blocks_of(s, s->longest)),
		blocks_of(s, s->longest) / ns, s->limit);
	assay_found_take(c, &f, "slow_kernels");
	assay_finding_add(c, &f);
}

static void find_blocks(const assay_run *run, const assay_find_ctx *c)
{
	if (c->w->device == ASSAY_NO_ROW || c->whole <= 0 || !c->order)
		return;
	const assay_tables *t = &run->part.t;
	double limit = limit_of(run, t->device_time.device[c->w->device]);
	if (limit <= 0)
		return;
	assay_arena room = {0};
	struct search s = {.run = run,
			   .g = &t->gpu,
			   .w = c->w,
			   .grids = assay_grids_of(run, &room),
			   .limit = limit,
			   .dur = assay_alloc(&room, (t->gpu.n + 1) * sizeof *s.dur),
			   .longest = ASSAY_NO_ROW};
	memset(s.dur, 0xff, t->gpu.n * sizeof *s.dur);
	look(&s, c->order);
	if (s.count && (double)s.time >= least * (double)c->whole)
		tell(&s, c);
	assay_arena_free(&room);
}

const assay_finder assay_find_blocks = {.id = id, .find = find_blocks};

/* Cost of one kernel of so many blocks in a millisecond, where little else is done. */
static int64_t cost_of(const char *name, uint32_t blocks, const char *arch)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	assay_arena scratch = {0};
	assay_order order;
	struct assay_found_list list = {.found = {0}};
	assay_window w = {.device = 0, .to = 2000000};
	assay_find_ctx c = {.w = &w,
			    .order = &order,
			    .scratch = &scratch,
			    .list = &list,
			    .whole = 2000000,
			    .now = 2000000};
	run->part.source = assay_add(t, ASSAY_T_source);
	uint32_t g = assay_hand_gpu(run, name, 0, 1000000, ASSAY_NO_ROW);
	t->gpu.grid_x[g] = blocks / 2;
	t->gpu.grid_y[g] = 2;
	t->gpu.block_x[g] = 128;
	uint32_t d = assay_add(t, ASSAY_T_device), time = assay_add(t, ASSAY_T_device_time);
	t->device.id[d] = t->device_time.device[time] = 0;
	t->device.source[d] = run->part.source;
	t->device.vendor[d] = assay_sid_of(run, "nvidia");
	t->device.arch[d] = assay_sid_of(run, arch);
	t->device.units[d] = 132;
	assay_kernels(run);
	assay_order_build(&order, run);
	find_blocks(run, &c);
	int64_t cost = list.found.n ? list.found.p[0].total : 0;
	if (list.found.n && list.found.p[0].saved * 2 != cost)
		cost = -1;
	assay_order_free(&order);
	assay_vec_free(&list.found);
	assay_arena_free(&scratch);
	assay_run_free(run);
	return cost;
}

TEST(blocks_that_start_as_fast_as_any_are_too_small)
{
	CHECK_EQ(cost_of("bias_silu_kernel", 1650000, "sm_90"), 1000000);
	CHECK_EQ(cost_of("bias_silu_kernel", 1200000, "sm_90"), 0); /* they compute */
	CHECK_EQ(cost_of("bias_silu_kernel", 1650000, "sm_80"), 0); /* not known */
	CHECK_EQ(cost_of("void at::native::elementwise_kernel<128, 2>", 1650000, "sm_90"), 0);
	return 0;
}
