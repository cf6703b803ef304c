/* Rows of a table that are looked up by a product with a matrix of zeros and ones: zeros, ones
 * scattered into them, a cast, the product. The matrix is as wide as the table is long. */
#include "analyze/analyze.h"
#include "analyze/idle_lines.h"
#include "base/fmt.h"
#include "base/test.h"
#include "find/finding.h"
#include "model/by_hand.h"
#include "names/roles.h"
#include "work/compute.h"

static const char id[] = "one_hot";
static const double least = 0.05; /* of the time, on the device */

enum { BETWEEN = 3 }; /* kernels from the ones to the product: casts, reshapes */

/* What came last on a stream. */
struct stream {
	uint32_t fill;               /* row of gpu, with no work behind it; ASSAY_NO_ROW */
	uint32_t piece[2 + BETWEEN]; /* rows of gpu; the first one is the ones' */
	size_t pieces;               /* 0: no ones are on their way */
	int64_t casts;               /* ns of pieces */
};

struct search {
	const assay_run *run;
	const assay_tables *t;
	const assay_find_ctx *c;
	assay_map streams; /* track -> stream */
	assay_vec(struct stream) stream;
	int64_t *dur;               /* by row of gpu, as a replay takes it; -1: as it was */
	assay_map gradients;        /* operations of a product -> how many gradients it may have */
	int64_t total, made, casts; /* ns; of the matrix alone; of that casts */
	uint64_t products;
	uint32_t product, ones; /* rows of gpu: the longest, and its ones */
};

static struct stream *stream_of(struct search *s, uint32_t gpu)
{
	uint32_t *slot = assay_map_at(&s->streams, s->t->gpu.track[gpu]);
	if (*slot == ASSAY_MAP_ABSENT) {
		*slot = (uint32_t)s->stream.n;
		*assay_push(&s->stream) = (struct stream){.fill = ASSAY_NO_ROW};
	}
	return &s->stream.p[*slot];
}

static void take(struct search *s, uint32_t gpu)
{
	s->total += s->t->gpu.dur[gpu];
	s->dur[gpu] = 0;
}

/* Operations of the product that a kernel is of; 0: not known. */
static uint64_t operations(const assay_tables *t, uint32_t gpu)
{
	uint32_t call = gpu < t->gpu_op.n ? t->gpu_op.call[gpu] : ASSAY_NO_ROW;
	uint32_t shape = call == ASSAY_NO_ROW ? ASSAY_NO_ROW : t->op_call.shape[call];
	double flops = shape == ASSAY_NO_ROW ? 0 : t->op_shape.flops[shape];
	return flops > 0 ? (uint64_t)flops : 0;
}

static void see_product(struct search *s, struct stream *st, uint32_t gpu)
{
	uint64_t flops = operations(s->t, gpu);
	uint32_t *left = flops ? assay_map_at(&s->gradients, flops) : NULL;
	if (left && *left == ASSAY_MAP_ABSENT)
		*left = 0;
	if (!st->pieces) { /* the gradient of the table is a product of the same size */
		if (left && *left) {
			--*left;
			take(s, gpu);
		}
		return;
	}
	for (size_t i = 0; i < st->pieces; i++) {
		take(s, st->piece[i]);
		s->made += s->t->gpu.dur[st->piece[i]];
	}
	s->casts += st->casts;
	take(s, gpu);
	if (left)
		++*left;
	if (!s->products++ || s->t->gpu.dur[gpu] > s->t->gpu.dur[s->product]) {
		s->product = gpu;
		s->ones = st->piece[0];
	}
}

static void see_kernel(struct search *s, uint32_t gpu, uint8_t family, assay_role role)
{
	struct stream *st = stream_of(s, gpu);
	if (family == ASSAY_FAMILY_GEMM) {
		see_product(s, st, gpu);
		*st = (struct stream){.fill = ASSAY_NO_ROW};
	} else if (role == ASSAY_ROLE_ONES) {
		st->piece[0] = gpu;
		st->pieces = 1;
		st->casts = 0;
		if (st->fill != ASSAY_NO_ROW)
			st->piece[st->pieces++] = st->fill;
		st->fill = ASSAY_NO_ROW;
	} else if (st->pieces && st->pieces < ASSAY_COUNT_OF(st->piece) &&
		   (role == ASSAY_ROLE_CAST || role == ASSAY_ROLE_LAYOUT)) {
		st->piece[st->pieces++] = gpu;
		st->casts += role == ASSAY_ROLE_CAST ? s->t->gpu.dur[gpu] : 0;
	} else {
		bool fills = role == ASSAY_ROLE_FILL || s->t->gpu.kind[gpu] == ASSAY_GPU_MEMSET;
		*st = (struct stream){.fill = fills ? gpu : ASSAY_NO_ROW};
	}
}

static void walk(struct search *s)
{
	const assay_kernel_table *k = &s->t->kernel;
	const assay_order_device *d = &s->c->order->device.p[s->c->w->device];
	assay_map rows = {0};
	uint8_t *role = assay_alloc(s->c->scratch, k->n + 1); /* of each row of kernel */
	for (uint32_t i = 0; i < k->n; i++) {
		*assay_map_at(&rows, (uint64_t)k->name[i] << 8 | k->kind[i]) = i;
		role[i] = (uint8_t)assay_role_of_kernel(assay_text(s->run, k->name[i]));
	}
	for (size_t i = 0; i < d->n; i++) {
		uint32_t gpu = s->c->order->row[d->first + i];
		if (s->t->gpu.ts[gpu] < s->c->w->from || s->t->gpu.ts[gpu] >= s->c->w->to ||
		    s->t->gpu.dur[gpu] < 0)
			continue;
		uint32_t row = assay_map_get(&rows, (uint64_t)s->t->gpu.name[gpu] << 8 |
							    s->t->gpu.kind[gpu]);
		bool known = row != ASSAY_MAP_ABSENT;
		see_kernel(s, gpu, known ? k->family[row] : 0, known ? role[row] : ASSAY_ROLE_NONE);
	}
	assay_map_free(&rows);
}

/* Making the matrix also shows as casts. */
static void put_under(const struct search *s)
{
	for (assay_found *f = NULL; (f = assay_found_next(s->c, f));)
		if (!strcmp(f->id, "cast_storm") && !f->follows && s->casts * 2 > f->total)
			f->follows = id;
}

static void tell(const struct search *s)
{
	const assay_find_ctx *c = s->c;
	assay_per_step each = assay_per_step_of(c, false);
	char count[ASSAY_FMT], time[ASSAY_FMT];
	uint32_t stack = assay_call_stack(s->t, s->t->launch.host[s->ones]);
	assay_found f = {
		.id = id,
		.total = s->total,
		.confidence = 0.85,
		.fix = "look rows up instead: F.embedding(ids, table) or table[ids]; for routing index_select and index_add_"};
	f.text = assay_printf(c->scratch,
			      "products with a matrix of zeros and ones (one-hot) take %s",
			      assay_share_words(c, f.total));
	f.where.kernel =
		assay_fmt_kernel(c->scratch, assay_text(s->run, s->t->gpu.name[s->product]), 120);
	if (stack != ASSAY_NO_ROW)
		assay_where_in_stack(s->run, assay_own_call(s->t, stack), &f.where);
	f.fact[0] = assay_printf(
		c->scratch,
		"%s of them%s; making the matrices (zeros, ones scattered into them, casts) takes %s",
		assay_fmt_count(count, s->products / (uint64_t)each.steps), each.words,
		assay_fmt_time(time, s->made / each.steps));
	f.saved = (int64_t)assay_find_shorter(c, s->dur, INT64_MAX, (double)f.total, &f.replayed);
	f.saved = f.saved > 0 ? f.saved : 1;
	put_under(s);
	assay_finding_add(c, &f);
}

static struct search search_of(const assay_run *run, const assay_find_ctx *c, assay_arena *a)
{
	struct search s = {.run = run, .t = &run->part.t, .c = c};
	s.dur = assay_alloc(a, (run->part.t.gpu.n + 1) * sizeof *s.dur);
	for (uint32_t i = 0; i < run->part.t.gpu.n; i++)
		s.dur[i] = -1;
	walk(&s);
	assay_map_free(&s.streams);
	assay_map_free(&s.gradients);
	assay_vec_free(&s.stream);
	return s;
}

static bool has_ones(const assay_run *run)
{
	const assay_kernel_table *k = &run->part.t.kernel;
	for (uint32_t i = 0; i < k->n; i++)
		if (assay_role_of_kernel(assay_text(run, k->name[i])) == ASSAY_ROLE_ONES)
			return true;
	return false;
}

static void find_one_hot(const assay_run *run, const assay_find_ctx *c)
{
	if (c->w->device == ASSAY_NO_ROW || c->whole <= 0 || !c->order || !has_ones(run))
		return;
	assay_arena room = {0};
	struct search s = search_of(run, c, &room);
	if (s.products && (double)s.total >= least * (double)c->whole)
		tell(&s);
	assay_arena_free(&room);
}

const assay_finder assay_find_one_hot = {.id = "one_hot", .find = find_one_hot};

struct hand_kernel {
	const char *name;
	int64_t dur;
};

static int64_t taken(const struct hand_kernel *k, size_t n, int64_t *casts)
{
	assay_run *run = assay_run_new();
	assay_arena scratch = {0};
	assay_order order;
	int64_t now = 0;
	for (size_t i = 0; i < n; i++, now += k[i - 1].dur)
		assay_hand_gpu(run, k[i].name, now, k[i].dur, ASSAY_NO_ROW);
	assay_kernels(run);
	assay_order_build(&order, run);
	assay_window w = {.to = INT64_MAX};
	assay_find_ctx c = {.w = &w, .order = &order, .scratch = &scratch};
	struct search s = search_of(run, &c, &scratch);
	*casts = s.casts;
	assay_order_free(&order);
	assay_arena_free(&scratch);
	assay_run_free(run);
	return s.total;
}

TEST(a_product_with_ones_scattered_into_zeros_is_a_look_up)
{
	static const char zeros
		[] = "void at::native::vectorized_elementwise_kernel<2, at::native::FillFunctor<long>>",
	   ones[] =
		   "void at::native::_scatter_gather_elementwise_kernel<128, 8, at::native::_cuda_scatter_fill_internal_kernel<long>>",
	   cast[] =
		   "void at::native::vectorized_elementwise_kernel<8, at::native::bfloat16_copy_kernel_cuda>",
	   add[] = "void at::native::vectorized_elementwise_kernel<8, CUDAFunctor_add>",
	   product[] = "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT";
	const struct hand_kernel looked_up[] = {{product, 50}, {zeros, 40},   {ones, 2},
						{cast, 80},    {product, 60}, {product, 50}};
	const struct hand_kernel of_a_loss[] = {
		{zeros, 40}, {ones, 2}, {cast, 80}, {add, 7}, {product, 60}};
	const struct hand_kernel none[] = {{zeros, 40}, {cast, 80}, {product, 60}};
	int64_t casts;
	CHECK_EQ(taken(looked_up, 6, &casts), 40 + 2 + 80 + 60);
	CHECK_EQ(casts, 80);
	CHECK_EQ(taken(of_a_loss, 5, &casts), 0);
	CHECK_EQ(taken(none, 3, &casts), 0);
	return 0;
}
