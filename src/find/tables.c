/* Gradients of whole tables of which a step looks up a few rows: all of the table is set to zero,
 * some rows are added up, and the optimizer then goes over all of it. Setting it to zero is one
 * pass over the table, and tells how long the others are. */
#include "analyze/analyze.h"
#include "base/fmt.h"
#include "base/test.h"
#include "find/finding.h"
#include "model/by_hand.h"
#include "model/by_name.h"
#include "names/roles.h"
#include "work/compute.h"

static const char id[] = "dense_gradient";
static const double least = 0.05; /* of the time, to speak of it */

enum { BETWEEN = 32 }; /* kernels from the zeros to the sums: indices are sorted meanwhile */

/* A pass that reads what it writes is slower than one that only writes: on an H200 3.6 of 4.7 TB/s.
 */
static const double reads_too = 4.0 / 3;

/* What was set to zero last on a stream; large tables by several kernels in a row, each as far as
 * 32 bits count. */
struct zeros {
	uint32_t gpu;   /* ASSAY_NO_ROW: nothing */
	unsigned since; /* kernels */
	int64_t dur;    /* of all pieces */
	bool summed;
};

struct search {
	const assay_run *run;
	const assay_tables *t;
	const assay_find_ctx *c;
	const bool *in_stack;
	assay_by_name role;
	assay_map streams; /* track -> zeros */
	assay_vec(struct zeros) zeros;
	assay_map passes_of;    /* name of an update -> the same */
	int64_t filled, summed; /* ns of the tables */
	uint64_t tables, passes;
	int64_t lists, singles; /* ns of updates: of lists; of a tensor, as long as a table's */
	uint32_t most, look_up; /* rows of gpu: the zeros and the look-up that take longest */
};

static unsigned role_of(assay_str name)
{
	return assay_role_of_kernel(name);
}

static struct zeros *zeros_of(struct search *s, uint32_t gpu)
{
	uint32_t *slot = assay_map_at(&s->streams, s->t->gpu.track[gpu]);
	if (*slot == ASSAY_MAP_ABSENT) {
		*slot = (uint32_t)s->zeros.n;
		*assay_push(&s->zeros) = (struct zeros){.gpu = ASSAY_NO_ROW};
	}
	return &s->zeros.p[*slot];
}

static void see_sums(struct search *s, uint32_t gpu)
{
	struct zeros *z = zeros_of(s, gpu);
	if (z->gpu == ASSAY_NO_ROW || z->since > BETWEEN)
		return;
	s->summed += s->t->gpu.dur[gpu];
	if (z->summed)
		return;
	z->summed = true;
	s->tables++;
	s->filled += z->dur;
	if (s->most == ASSAY_NO_ROW || s->t->gpu.dur[z->gpu] > s->t->gpu.dur[s->most])
		s->most = z->gpu;
}

static bool same_grid(const assay_gpu_table *g, uint32_t a, uint32_t b)
{
	return g->grid_x[a] == g->grid_x[b] && g->grid_y[a] == g->grid_y[b] &&
	       g->grid_z[a] == g->grid_z[b];
}

static void see_fill(struct search *s, uint32_t gpu)
{
	const assay_gpu_table *g = &s->t->gpu;
	struct zeros *z = zeros_of(s, gpu);
	bool piece = z->gpu != ASSAY_NO_ROW && z->since == 1 && !z->summed &&
		     g->name[gpu] == g->name[z->gpu] && same_grid(g, gpu, z->gpu);
	z->dur = g->dur[gpu] + (piece ? z->dur : 0);
	z->gpu = gpu;
	z->since = 0;
	z->summed = false;
}

/* Of how many lists: "multi_tensor_apply_kernel<at::native::TensorListMetadata<4>, ...". */
static uint64_t lists_of(assay_str name)
{
	static const char word[] = "Metadata<";
	ptrdiff_t at = assay_str_find(name, word);
	size_t digit = at < 0 ? name.n : (size_t)at + strlen(word);
	return digit < name.n && name.p[digit] >= '1' && name.p[digit] <= '9'
		       ? (uint64_t)(name.p[digit] - '0')
		       : 1;
}

/* A whole update writes all lists but the gradients; one operation one of those that it reads. */
static void see_lists(struct search *s, uint32_t gpu, assay_role role)
{
	uint32_t *known = assay_map_at(&s->passes_of, s->t->gpu.name[gpu]);
	s->lists += s->t->gpu.dur[gpu];
	if (*known != ASSAY_MAP_ABSENT)
		return;
	*known = 1;
	uint64_t lists = lists_of(assay_text(s->run, s->t->gpu.name[gpu]));
	s->passes += role == ASSAY_ROLE_FUSED_UPDATE ? 2 * lists - 1 : lists + 1;
}

static void see_kernel(struct search *s, uint32_t gpu)
{
	const assay_gpu_table *g = &s->t->gpu;
	assay_role role = g->kind[gpu] == ASSAY_GPU_MEMSET
				  ? ASSAY_ROLE_FILL
				  : (assay_role)assay_by_name_ask(&s->role, g->name[gpu]);
	zeros_of(s, gpu)->since++;
	if (role == ASSAY_ROLE_TABLE_SUMS)
		see_sums(s, gpu);
	else if (role == ASSAY_ROLE_FUSED_UPDATE || role == ASSAY_ROLE_LIST_UPDATE)
		see_lists(s, gpu, role);
	else if (role == ASSAY_ROLE_FILL)
		see_fill(s, gpu);
	else if (role == ASSAY_ROLE_LOOK_UP &&
		 (s->look_up == ASSAY_NO_ROW || g->dur[gpu] > g->dur[s->look_up]))
		s->look_up = gpu;
	else if (s->most != ASSAY_NO_ROW && g->dur[gpu] >= g->dur[s->most] &&
		 assay_is_update(s->run, s->in_stack, gpu))
		s->singles += g->dur[gpu];
}

static void walk(struct search *s)
{
	const assay_gpu_table *g = &s->t->gpu;
	const assay_order_device *d = &s->c->order->device.p[s->c->w->device];
	for (size_t i = d->first; i < d->first + d->n; i++) {
		uint32_t gpu = s->c->order->row[i];
		if (g->ts[gpu] >= s->c->w->from && g->ts[gpu] < s->c->w->to && g->dur[gpu] >= 0 &&
		    (g->kind[gpu] == ASSAY_GPU_KERNEL || g->kind[gpu] == ASSAY_GPU_MEMSET))
			see_kernel(s, gpu);
	}
}

/* ns of updates that go over the tables. */
static int64_t updates(const struct search *s)
{
	double over = (double)s->passes * reads_too * (double)s->filled;
	return s->singles + (over < (double)s->lists ? (int64_t)over : s->lists);
}

static void tell(const struct search *s)
{
	const assay_find_ctx *c = s->c;
	assay_per_step each = assay_per_step_of(c, false);
	char zeros[ASSAY_FMT], sums[ASSAY_FMT], passes[ASSAY_FMT];
	int64_t total = s->filled + updates(s);
	assay_found f = {
		.id = id,
		.total = total,
		.saved = total,
		.least = s->filled,
		.most = total,
		.confidence = 0.7,
		.fix = "nn.Embedding(..., sparse=True) with torch.optim.SparseAdam (or SGD) for the table, or an optimizer that is fused with its gradient (FBGEMM, TorchRec): the rows of the batch alone are written"};
	f.text = assay_printf(
		c->scratch,
		"the gradient of a whole table, of which a step looks up few rows, takes %s",
		assay_share_words(c, total));
	assay_where_of_work(s->run, c, s->look_up != ASSAY_NO_ROW ? s->look_up : s->most, &f.where);
	f.fact[0] = assay_printf(
		c->scratch,
		"all of it is set to zero (%s%s), some rows are added up (%s), and the optimizer goes over all of it (%s)",
		assay_fmt_time(zeros, s->filled / each.steps), each.words,
		assay_fmt_time(sums, s->summed / each.steps),
		assay_fmt_time(passes, updates(s) / each.steps));
	assay_finding_add(c, &f);
	assay_found *fills = assay_found_with_id(c, "filled_data");
	if (fills && fills->total < 2 * s->filled)
		fills->follows = id;
}

/* Rows that are added up are read and written: where that takes as long as the zeros, they are no
 * few. Zeros that no update goes over are of something else. */
static bool is_dense(const struct search *s)
{
	return s->tables && s->summed * 2 < s->filled && updates(s) >= 2 * s->filled &&
	       (double)(s->filled + updates(s)) >= least * (double)s->c->whole;
}

static void find_tables(const assay_run *run, const assay_find_ctx *c)
{
	if (c->w->device == ASSAY_NO_ROW || c->whole <= 0 || !c->order)
		return;
	struct search s = {.run = run,
			   .t = &run->part.t,
			   .c = c,
			   .role = assay_by_name_open(run, c->scratch, role_of),
			   .most = ASSAY_NO_ROW,
			   .look_up = ASSAY_NO_ROW};
	s.in_stack = assay_optimizer_stacks(run, c->scratch);
	walk(&s);
	if (is_dense(&s))
		tell(&s);
	assay_map_free(&s.streams);
	assay_map_free(&s.passes_of);
	assay_vec_free(&s.zeros);
}

const assay_finder assay_find_tables = {.id = "tables", .find = find_tables};

/* What a step with these times says to save, ns; 0: nothing. pieces: the table is set to zero by so
 * many kernels of this time. */
static int64_t saved_of_pieces(int pieces, int64_t zeros, int64_t sums, int64_t update,
			       const char *functor)
{
	const struct {
		const char *name;
		int64_t dur;
	} kernels[] = {
		{"at::native::vectorized_gather_kernel<16, long>", 10},
		{"nvjet_tst_64x64", 100},
		{"at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>",
		 zeros},
		{"cub::DeviceRadixSortOnesweepKernel", 5},
		{"at::native::compute_grad_weight<float, float, long>", sums},
		{functor, update},
	};
	assay_run *run = assay_run_new();
	assay_arena scratch = {0};
	assay_order order;
	struct assay_found_list list = {.found = {0}};
	int64_t now = 0;
	for (size_t i = 0; i < ASSAY_COUNT_OF(kernels); i++)
		for (int n = i == 2 ? pieces : 1; n > 0; n--, now += kernels[i].dur)
			assay_hand_gpu(run, kernels[i].name, now, kernels[i].dur, ASSAY_NO_ROW);
	assay_kernels(run);
	assay_order_build(&order, run);
	const assay_window w = {.to = now};
	assay_find_ctx c = {.w = &w,
			    .order = &order,
			    .whole = now,
			    .now = now,
			    .list = &list,
			    .scratch = &scratch};
	find_tables(run, &c);
	int64_t saved = list.found.n ? list.found.p[0].saved : 0;
	if (list.found.n && !strstr(list.found.p[0].where.kernel, "gather"))
		saved = -1;
	assay_vec_free(&list.found);
	assay_order_free(&order);
	assay_arena_free(&scratch);
	assay_run_free(run);
	return saved;
}

static int64_t saved_of(int64_t zeros, int64_t sums, int64_t update, const char *functor)
{
	return saved_of_pieces(1, zeros, sums, update, functor);
}

TEST(a_table_that_is_set_to_zero_and_updated_for_few_rows_is_told)
{
	static const char adam[] =
		"multi_tensor_apply_kernel<FusedOptimizerTensorListMetadata<4>, FusedAdamMathFunctor<float, 4>>";
	static const char add[] =
		"multi_tensor_apply_kernel<TensorListMetadata<2>, BinaryOpListAlphaFunctor<float>>";
	CHECK_EQ(saved_of(1000, 100, 9500, adam), 1000 + 9333); /* seven passes, no more */
	CHECK_EQ(saved_of(1000, 100, 5000, adam), 1000 + 5000);
	CHECK_EQ(saved_of(1000, 100, 5000, add), 1000 + 4000);
	CHECK_EQ(saved_of(1000, 500, 7500, adam), 0); /* many rows */
	CHECK_EQ(saved_of(1000, 100, 1900, adam), 0); /* what is filled is not updated */
	CHECK_EQ(saved_of(2, 0, 14, adam), 16);
	CHECK_EQ(saved_of(1, 0, 4, adam), 0); /* little of the time */
	CHECK_EQ(saved_of(1000, 100, 7500, "nvjet"), 0);
	CHECK_EQ(saved_of_pieces(4, 250, 200, 3900, add), 1000 + 3900);
	return 0;
}
