/* Work on the device that is heavy by its nature, and often more than is wanted: sorting, many
 * passes over all keys where the largest few or a bucket for each would do; sums at indices, where
 * equal indices wait for each other; kernels that compute nothing and move what stood somewhere
 * already. */
#include "analyze/idle_lines.h"
#include "base/fmt.h"
#include "base/test.h"
#include "find/finding.h"
#include "find/own_frames.h"
#include "model/by_hand.h"
#include "names/roles.h"

enum { NAMES = 10 };

struct family {
	const char *id, *text, *fix;
	const char *name[NAMES]; /* parts of names: CUB, Thrust, rocPRIM, PyTorch, XLA */
	double least;            /* of the time, to speak of it */
	double goes;             /* of it where less is wanted */
	unsigned roles;          /* 1 << assay_role: kernels of these, whatever their names */
};

static const struct family families[] = {
	/* the largest few instead: keys are read about once, not eight times and written as
	 * often */
	{"sorting",
	 "sorting takes",
	 "torch.topk for the largest few, bincount or scatter where only groups matter, shorter rows or smaller key types; embeddings: fewer duplicate indices or sparse gradients",
	 {"RadixSort", "radix_sort", "MergeSort", "merge_sort", "SegmentedSort", "bitonicSort",
	  "block_sort", "fill_reverse_indices"},
	 0.05,
	 0.8,
	 0},
	/* how often indices are equal is not recorded: half, and no claim that it is less */
	{"index_sums",
	 "sums at indices, where equal indices wait for each other, take",
	 "sum what has the same index first (sort and segment_reduce, bincount, a product with a mask), or spread the indices; embeddings: sparse gradients, fewer duplicates",
	 {"indexFuncLargeIndex", "indexFuncSmallIndex", "indexing_backward_kernel",
	  "embedding_backward", "compute_grad_weight", "kernelHistogram", "ReduceAdd",
	  "scatter_add", "ScatterAdd", "scatter_fusion"},
	 0.25,
	 0.5,
	 0},
	{"joined_data",
	 "putting tensors together, or an edge around them, takes",
	 "a buffer that is made once, into which only what is new is written (a cache of fixed length and index_copy_ or a slice, out=); what grows step by step is copied as a whole each time",
	 {NULL},
	 0.1,
	 1,
	 1u << ASSAY_ROLE_JOIN},
	{"filled_data",
	 "setting memory to one value takes",
	 "buffers that are made once; torch.empty where all of it is written anyway; zero_grad(set_to_none=True)",
	 {NULL},
	 0.1,
	 1,
	 1u << ASSAY_ROLE_FILL},
	{"copied_data",
	 "copies of data that stands on the device already take",
	 "views in place of clone(), contiguous(), roll and flip; results written where they are wanted (out=)",
	 {NULL},
	 0.1,
	 1,
	 1u << ASSAY_ROLE_COPY},
	/* which rows are wanted is the program's business: half, as of sums */
	{"gathered_data",
	 "copying rows or elements by their indices takes",
	 "data in the order in which it is read, so that slices do; the gather in one kernel with what uses it (torch.compile, sparse products of PyG or DGL); fewer and narrower rows",
	 {NULL},
	 0.25,
	 0.5,
	 1u << ASSAY_ROLE_GATHER | 1u << ASSAY_ROLE_LOOK_UP},
};

struct heavy {
	int64_t *dur;   /* by row of gpu: 0 where it is of the family, else as it was */
	int64_t time;   /* ns of the window */
	uint64_t count; /* kernels */
	uint32_t most;  /* row of gpu: the longest of the line that takes most */
};

static bool is_of(const struct family *y, assay_str name, assay_role role)
{
	if (y->roles >> role & 1)
		return true;
	for (size_t i = 0; i < NAMES && y->name[i]; i++)
		if (assay_str_find(name, y->name[i]) >= 0)
			return true;
	return false;
}

/* By name: 1 + its family; NULL when the run has no kernel of any. */
static const uint8_t *families_of_names(const assay_run *run, assay_arena *a)
{
	const assay_kernel_table *k = &run->part.t.kernel;
	uint8_t *of = assay_alloc(a, run->part.strings.str.n + 1), any = 0;
	for (size_t i = 0; i < k->n; i++) {
		assay_str name = assay_text(run, k->name[i]);
		assay_role role = assay_role_of_kernel(name);
		for (uint8_t y = 0; y < ASSAY_COUNT_OF(families) && !of[k->name[i]]; y++)
			if (is_of(&families[y], name, role))
				of[k->name[i]] = any = (uint8_t)(y + 1);
	}
	return any ? of : NULL;
}

/* Of one line of the program; of one name where lines are not known. */
struct line {
	int64_t time;
	uint32_t longest; /* row of gpu */
};

struct lines {
	assay_map of; /* key -> line */
	assay_vec(struct line) line;
};

static void add_to_line(struct lines *l, const assay_tables *t, uint32_t gpu)
{
	uint32_t own = assay_own_call(t, assay_call_stack(t, t->launch.host[gpu]));
	uint64_t key =
		own != ASSAY_NO_ROW ? assay_line_key(t, own) : (uint64_t)1 << 63 | t->gpu.name[gpu];
	uint32_t *slot = assay_map_at(&l->of, key);
	if (*slot == ASSAY_MAP_ABSENT) {
		*slot = (uint32_t)l->line.n;
		*assay_push(&l->line) = (struct line){0, gpu};
	}
	struct line *at = &l->line.p[*slot];
	at->time += t->gpu.dur[gpu];
	at->longest = t->gpu.dur[gpu] > t->gpu.dur[at->longest] ? gpu : at->longest;
}

static uint32_t of_main_line(const struct lines *l)
{
	size_t most = 0;
	for (size_t i = 1; i < l->line.n; i++)
		most = l->line.p[i].time > l->line.p[most].time ? i : most;
	return l->line.n ? l->line.p[most].longest : ASSAY_NO_ROW;
}

/* reported: what other findings say of work (assay_reported_of_work). */
static struct heavy measure(const assay_run *run, const assay_find_ctx *c, const uint8_t *of_name,
			    const int64_t *reported, uint8_t family, assay_arena *room)
{
	const assay_gpu_table *g = &run->part.t.gpu;
	const assay_order_device *d = &c->order->device.p[c->w->device];
	struct heavy s = {.dur = assay_alloc(room, (g->n + 1) * sizeof *s.dur)};
	struct lines lines = {.of = {0}};
	memset(s.dur, 0xff, g->n * sizeof *s.dur);
	for (size_t i = d->first; i < d->first + d->n; i++) {
		uint32_t r = c->order->row[i];
		if (of_name[g->name[r]] != family || g->ts[r] < c->w->from ||
		    g->ts[r] >= c->w->to || g->dur[r] <= 0 || reported[r] * 2 > g->dur[r])
			continue;
		s.dur[r] = 0;
		s.time += g->dur[r];
		s.count++;
		add_to_line(&lines, &run->part.t, r);
	}
	s.most = of_main_line(&lines);
	assay_map_free(&lines.of);
	assay_vec_free(&lines.line);
	return s;
}

static void tell(const assay_run *run, const assay_find_ctx *c, const struct family *y,
		 const struct heavy *s)
{
	assay_per_step each = assay_per_step_of(c, false);
	char count[ASSAY_FMT];
	if ((double)s->time < y->least * (double)c->whole)
		return;
	assay_found f = {.id = y->id, .total = s->time, .confidence = 0.6, .most = s->time};
	double saved =
		y->goes * assay_find_shorter(c, s->dur, INT64_MAX, (double)s->time, &f.replayed);
	if (saved < assay_worth_saying * (double)c->whole)
		return;
	f.saved = (int64_t)saved;
	f.least = ASSAY_WORTH_UNKNOWN; /* all of it may be needed */
	f.text = assay_printf(c->scratch, "%s %s", y->text, assay_share_words(c, f.total));
	f.fix = y->fix;
	f.fact[0] =
		assay_printf(c->scratch, "%s kernels%s",
			     assay_fmt_count(count, s->count / (uint64_t)each.steps), each.words);
	assay_where_of_work(run, c, s->most, &f.where);
	assay_found_take(c, &f, "slow_kernels");
	assay_finding_add(c, &f);
}

static void find_heavy(const assay_run *run, const assay_find_ctx *c)
{
	if (c->w->device == ASSAY_NO_ROW || c->whole <= 0 || !c->order)
		return;
	assay_arena names = {0}, room = {0};
	const uint8_t *of_name = families_of_names(run, &names);
	const int64_t *reported = of_name ? assay_reported_of_work(run, &names) : NULL;
	for (uint8_t y = 1; of_name && y <= ASSAY_COUNT_OF(families); y++) {
		struct heavy s = measure(run, c, of_name, reported, y, &room);
		tell(run, c, &families[y - 1], &s);
		assay_arena_reset(&room);
	}
	assay_arena_free(&room);
	assay_arena_free(&names);
}

const assay_finder assay_find_heavy = {.id = "heavy", .find = find_heavy};

TEST(heavy_kernels_are_told_by_their_names)
{
	static const struct {
		const char *id, *name;
	} cases[] = {
		{"sorting",
		 "void at_cuda_detail::cub::detail::radix_sort::DeviceSegmentedRadixSortKernel<x>"},
		{"sorting", "void cub::DeviceRadixSortOnesweepKernel<y>"},
		{"sorting", "void rocprim::detail::radix_sort_block_sort<z>"},
		{"sorting", "at::native::bitonicSortKVInPlace<2, -1, 16>"},
		{"index_sums",
		 "void at::native::indexFuncLargeIndex<float, long, unsigned int, 2, 2, -2, true>"},
		{"index_sums", "void at::native::indexing_backward_kernel<float, 4>"},
		{"index_sums",
		 "void at::native::_scatter_gather_elementwise_kernel<128, 8, at::native::ReduceAdd>"},
		{"index_sums", "input_scatter_fusion_3"},
		{"joined_data",
		 "void at::native::CatArrayBatchedCopy<OpaqueType<2u>, unsigned, 4>"},
		{"filled_data",
		 "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>"},
		{"filled_data", "Memset (Device)"},
		{"copied_data",
		 "void at::native::vectorized_elementwise_kernel<4, direct_copy_kernel_cuda>"},
		{"gathered_data", "void at::native::vectorized_gather_kernel<16, long>"},
		{NULL, "at::native::sbtopk::gatherTopK<float>"},
		{NULL, "nvjet_sm90_tst_256x128_64x4"},
		{NULL, "void at::native::_scatter_gather_elementwise_kernel<128, 8, TensorAssign>"},
	};
	for (size_t i = 0; i < ASSAY_COUNT_OF(cases); i++)
		for (size_t y = 0; y < ASSAY_COUNT_OF(families); y++)
			CHECK_EQ(is_of(&families[y], assay_str_of(cases[i].name),
				       assay_role_of_kernel(assay_str_of(cases[i].name))),
				 cases[i].id && !strcmp(cases[i].id, families[y].id));
	return 0;
}

TEST(the_window_counts_its_sorts)
{
	assay_run *run = assay_run_new();
	assay_arena scratch = {0};
	assay_order order;
	assay_window w = {.device = 0, .from = 100, .to = 400};
	assay_find_ctx c = {.w = &w, .order = &order, .scratch = &scratch, .whole = 300};
	for (int i = 0; i < 5; i++)
		assay_hand_gpu(run, i % 2 ? "DeviceRadixSortKernel" : "gemm", 100 * i, 30 + i,
			       ASSAY_NO_ROW);
	for (int i = 0; i < 2; i++) {
		uint32_t k = assay_add(&run->part.t, ASSAY_T_kernel);
		run->part.t.kernel.name[k] = run->part.t.gpu.name[i];
	}
	assay_order_build(&order, run);
	int64_t reported[5] = {0};
	struct heavy s = measure(run, &c, families_of_names(run, &scratch), reported, 1, &scratch);
	CHECK(s.count == 2 && s.time == 31 + 33 && s.most == 3);
	CHECK(s.dur[1] == 0 && s.dur[2] == -1);
	reported[3] = 33; /* by another finding */
	s = measure(run, &c, families_of_names(run, &scratch), reported, 1, &scratch);
	CHECK(s.count == 1 && s.time == 31 && s.most == 1);
	assay_order_free(&order);
	assay_arena_free(&scratch);
	assay_run_free(run);
	return 0;
}

TEST(a_slow_operator_stands_below_what_it_does_and_tells_how_much_goes)
{
	struct assay_found_list list = {.found = {0}};
	assay_find_ctx c = {.list = &list};
	assay_finding_add(&c,
			  &(assay_found){.id = "slow_kernels", .saved = 70, .where.op = "sort"});
	assay_found f = {.id = "sorting", .saved = 50, .most = 60, .where.op = "topk"};
	assay_found_take(&c, &f, "slow_kernels");
	CHECK(f.saved == 50 && !list.found.p[0].follows);
	f.where.op = "sort";
	assay_found_take(&c, &f, "slow_kernels");
	CHECK(f.saved == 70 && f.most == 70 && list.found.p[0].follows == f.id);
	assay_vec_free(&list.found);
	return 0;
}
