#include "analyze/lone.h"

#include <math.h>

#include "analyze/advice.h"
#include "analyze/analyze.h"
#include "analyze/kernel_math.h"
#include "base/test.h"
#include "model/by_hand.h"
#include "names/roles.h"

enum { PIECES_MOST = 12, CHAIN_LEAST = 3, CHAIN_MOST = 32 };

/* What the name of a kernel says. */
struct named {
	uint8_t family, role, math;
	bool narrow, tail; /* tail: of the product before it */
};

/* On one stream: a product, and what came after it. */
struct pieces {
	uint32_t product; /* row of gpu; ASSAY_NO_ROW none */
	uint32_t at[PIECES_MOST];
	size_t n;
	bool softmax, exp;
};

/* On one stream: memory-bound kernels that follow each other, no two names in a row twice. */
struct chain {
	uint32_t at[CHAIN_MOST]; /* places in the order of the device */
	assay_sid name[CHAIN_MOST];
	size_t n, names;
	int64_t all, longest, casts; /* ns */
};

struct lone {
	assay_run *run;
	assay_tables *t;
	const assay_order *order;
	const assay_order_device *device;
	const assay_rates *rates;
	const assay_window *w;
	assay_arena scratch, args;
	assay_map rows;      /* name of a kernel -> row of kernel */
	struct named *named; /* by row of kernel */
	bool *eager;         /* by place in the order of the device */
	float *kept; /* by place: share that fusing with its neighbours leaves; 0: no chain */
	bool *in_optimizer;  /* by row of stack */
	bool cheaper_in_use; /* most matrix time by names is not fp32 */
	bool single_in_use;  /* some is not fp64 */
	assay_map streams;   /* track -> row of pieces and chain */
	assay_vec(struct pieces) pieces;
	assay_vec(struct chain) chain;
};

/* ------------------------------------------------------------------ names */

static struct named read_name(const assay_run *run, uint32_t kernel)
{
	const assay_kernel_table *k = &run->part.t.kernel;
	assay_str name = assay_text(run, k->name[kernel]);
	struct named n = {.family = k->family[kernel], .role = assay_role_of_kernel(name)};
	if (n.family != ASSAY_FAMILY_GEMM && n.family != ASSAY_FAMILY_CONV)
		return n;
	n.role = ASSAY_ROLE_NONE;
	n.math = assay_kernel_math(name);
	n.narrow = assay_kernel_is_narrow(name);
	n.tail = assay_str_find_nocase(name, "splitk") >= 0 &&
		 assay_str_find_nocase(name, "reduce") >= 0;
	return n;
}

static void read_names(struct lone *l)
{
	const assay_kernel_table *k = &l->t->kernel;
	double cheap = 0, full = 0;
	l->named = assay_alloc(&l->scratch, (k->n + 1) * sizeof *l->named);
	for (uint32_t i = 0; i < k->n; i++) {
		if (k->kind[i] != ASSAY_GPU_KERNEL)
			continue;
		*assay_map_at(&l->rows, k->name[i]) = i;
		l->named[i] = read_name(l->run, i);
		bool matrix = l->named[i].math && l->named[i].math != ASSAY_MATH_FP64;
		full += l->named[i].math == ASSAY_MATH_FP32 ? (double)k->total[i] : 0;
		cheap += matrix && l->named[i].math != ASSAY_MATH_FP32 ? (double)k->total[i] : 0;
	}
	l->cheaper_in_use = cheap > full;
	l->single_in_use = cheap + full > 0;
}

static const struct named *name_of(const struct lone *l, uint32_t gpu)
{
	uint32_t k = l->t->gpu.kind[gpu] == ASSAY_GPU_KERNEL
			     ? assay_map_get(&l->rows, l->t->gpu.name[gpu])
			     : ASSAY_MAP_ABSENT;
	return k == ASSAY_MAP_ABSENT ? NULL : &l->named[k];
}

/* ------------------------------------------------------------------ attention in pieces */

static uint32_t call_of(const struct lone *l, uint32_t gpu)
{
	return l->t->gpu_op.n ? l->t->gpu_op.call[gpu] : ASSAY_NO_ROW;
}

static assay_product product_of(struct lone *l, uint32_t gpu)
{
	uint32_t call = call_of(l, gpu);
	return call == ASSAY_NO_ROW
		       ? (assay_product){.k = 0}
		       : assay_shape_product(l->run, l->t->op_call.shape[call], &l->args);
}

/* The second product multiplies what the first one made: the scores. Without sizes a softmax by
 * name has to do. */
static bool is_attention(struct lone *l, const struct pieces *p, uint32_t second)
{
	if (p->product == ASSAY_NO_ROW || (!p->softmax && !p->exp))
		return false;
	assay_product a = product_of(l, p->product), b = product_of(l, second);
	if (a.k > 0 && b.k > 0)
		return a.batch == b.batch && (b.k == a.m || b.k == a.n);
	return p->softmax;
}

static void flag_product(struct lone *l, uint32_t gpu)
{
	uint32_t call = call_of(l, gpu);
	if (call != ASSAY_NO_ROW)
		l->t->op_call.flags[call] |= ASSAY_OP_SCORES;
}

static uint32_t stream_of(struct lone *l, uint32_t gpu)
{
	uint32_t *slot = assay_map_at(&l->streams, l->t->gpu.track[gpu]);
	if (*slot == ASSAY_MAP_ABSENT) {
		*slot = (uint32_t)l->pieces.n;
		*assay_push(&l->pieces) = (struct pieces){.product = ASSAY_NO_ROW};
		*assay_push(&l->chain) = (struct chain){.n = 0};
	}
	return *slot;
}

static void see_product(struct lone *l, struct pieces *p, uint32_t gpu)
{
	if (is_attention(l, p, gpu)) {
		for (size_t i = 0; i < p->n; i++)
			l->eager[p->at[i]] = true;
		flag_product(l, p->product);
		flag_product(l, gpu);
	}
	assay_arena_reset(&l->args);
	*p = (struct pieces){.product = gpu};
}

static bool is_piece(const struct named *n)
{
	return n->family == ASSAY_FAMILY_ELEMENTWISE || n->family == ASSAY_FAMILY_REDUCTION ||
	       n->role == ASSAY_ROLE_SOFTMAX || n->role == ASSAY_ROLE_EXP ||
	       n->role == ASSAY_ROLE_MASK || n->role == ASSAY_ROLE_CAST ||
	       n->role == ASSAY_ROLE_LAYOUT;
}

static void see_piece(struct lone *l, struct pieces *p, const struct named *n, uint32_t gpu,
		      size_t at)
{
	if (n->family == ASSAY_FAMILY_GEMM) {
		see_product(l, p, gpu);
	} else if (is_piece(n) && p->n < PIECES_MOST) {
		p->at[p->n++] = (uint32_t)at;
		p->softmax |= n->role == ASSAY_ROLE_SOFTMAX;
		p->exp |= n->role == ASSAY_ROLE_EXP;
	} else {
		*p = (struct pieces){.product = ASSAY_NO_ROW};
	}
}

/* ------------------------------------------------------------------ chains */

/* One kernel for all would read and write once, about what the longest of them does. Where most of
 * it is casts, these are the trouble. */
static void end_chain(struct lone *l, struct chain *c)
{
	if (!c->n)
		return;
	bool fusible = c->names >= CHAIN_LEAST && c->casts * 2 <= c->all;
	for (size_t i = 0; fusible && i < c->n; i++)
		l->kept[c->at[i]] = (float)((double)c->longest / (double)c->all);
	*c = (struct chain){.n = 0};
}

static bool has_name(const struct chain *c, assay_sid name)
{
	for (size_t i = 0; i < c->n; i++)
		if (c->name[i] == name)
			return true;
	return false;
}

/* Two names in a row that were in a row before are of the next tensor of a loop. */
static bool comes_round(const struct chain *c, assay_sid name)
{
	for (size_t i = 1; i < c->n; i++)
		if (c->name[i] == name && c->name[i - 1] == c->name[c->n - 1])
			return true;
	return false;
}

static bool is_link(const struct lone *l, const struct named *n, uint32_t gpu)
{
	uint32_t stack = assay_call_stack(l->t, l->t->launch.host[gpu]);
	bool memory_bound = n->family == ASSAY_FAMILY_ELEMENTWISE ||
			    n->family == ASSAY_FAMILY_REDUCTION || n->role == ASSAY_ROLE_CAST;
	return memory_bound && n->role != ASSAY_ROLE_LIST_UPDATE && n->role != ASSAY_ROLE_LAYOUT &&
	       (stack == ASSAY_NO_ROW || !l->in_optimizer[stack]);
}

/* Kernels that are hardly longer than nothing move nothing. */
static void see_link(struct lone *l, struct chain *c, const struct named *n, uint32_t gpu,
		     size_t at)
{
	assay_sid name = l->t->gpu.name[gpu];
	int64_t ns = l->t->gpu.dur[gpu];
	bool link = n && is_link(l, n, gpu);
	bool counts = link && ns > ASSAY_LEAST_KERNEL;
	if (!link || c->n == CHAIN_MOST || (counts && comes_round(c, name)))
		end_chain(l, c);
	if (!counts)
		return;
	c->names += !has_name(c, name);
	c->at[c->n] = (uint32_t)at;
	c->name[c->n++] = name;
	c->all += ns;
	c->longest = ns > c->longest ? ns : c->longest;
	c->casts += n->role == ASSAY_ROLE_CAST ? ns : 0;
}

static void see_work(struct lone *l, size_t at)
{
	uint32_t gpu = l->order->row[l->device->first + at], stream = stream_of(l, gpu);
	const struct named *n = name_of(l, gpu);
	see_link(l, &l->chain.p[stream], n, gpu, at);
	if (n && !n->tail)
		see_piece(l, &l->pieces.p[stream], n, gpu, at);
}

/* ------------------------------------------------------------------ what each could do without */

static bool is_known(const struct lone *l, uint32_t gpu)
{
	const assay_op_shape_table *s = &l->t->op_shape;
	uint32_t call = call_of(l, gpu);
	uint32_t shape = call == ASSAY_NO_ROW ? ASSAY_NO_ROW : l->t->op_call.shape[call];
	return shape != ASSAY_NO_ROW && !isnan(s->bound_ns[shape]) &&
	       !(s->flags[shape] & ASSAY_OP_OVER_PEAK);
}

/* Full fp32, or fp64, where the device has a cheaper type. What the product moves is not known: a
 * quarter of the time is taken to stay. Where the run uses the cheaper type otherwise, the library
 * refused it for the shape. */
static int64_t type_saved(const struct lone *l, assay_math math, int64_t ns)
{
	double full = l->rates->peak[math], cheap = l->rates->peak[ASSAY_MATH_TF32];
	double stays = full > 0 && cheap > 0 ? full / cheap : 1;
	stays = stays < 0.25 ? 0.25 : stays;
	int64_t saved = (int64_t)((double)(ns - ASSAY_LEAST_KERNEL) * (1 - stays));
	return saved > 0 ? saved : 0;
}

/* Loads of single elements go with instructions of half the rate or less. */
static const double narrow_saved = 0.5;

static assay_advice_kind dear_type(const struct lone *l, assay_math math)
{
	return math == ASSAY_MATH_FP32 && !l->cheaper_in_use ? ASSAY_ADVICE_FP32
	       : math == ASSAY_MATH_FP64 && l->single_in_use ? ASSAY_ADVICE_FP64
							     : ASSAY_ADVICE_SHAPE;
}

static int64_t needless(const struct lone *l, const struct named *n, size_t at, int64_t ns,
			assay_advice_kind *kind)
{
	static const struct {
		uint8_t role;
		assay_advice_kind kind;
		double share;
	} of_role[] = {
		{ASSAY_ROLE_CAST, ASSAY_ADVICE_CASTS, 1},
		{ASSAY_ROLE_LAYOUT, ASSAY_ADVICE_LAYOUT, 1},
		{ASSAY_ROLE_LIST_UPDATE, ASSAY_ADVICE_OPTIMIZER, ASSAY_LIST_PASSES_SAVED},
	};
	*kind = ASSAY_ADVICE_EAGER;
	if (l->eager[at])
		return ns;
	*kind = ASSAY_ADVICE_CHAIN;
	if (l->kept[at] > 0)
		return (int64_t)((double)ns * (1 - (double)l->kept[at]));
	for (size_t i = 0; i < ASSAY_COUNT_OF(of_role); i++)
		if (n->role == of_role[i].role) {
			*kind = of_role[i].kind;
			return (int64_t)((double)ns * of_role[i].share);
		}
	*kind = dear_type(l, n->math);
	if (*kind != ASSAY_ADVICE_SHAPE)
		return type_saved(l, n->math, ns);
	return n->narrow && ns > ASSAY_LEAST_KERNEL ? (int64_t)((double)ns * narrow_saved) : 0;
}

static void judge_kernel(struct lone *l, size_t at, int64_t owned)
{
	uint32_t gpu = l->order->row[l->device->first + at];
	const struct named *n = name_of(l, gpu);
	assay_advice_kind kind;
	if (!n || is_known(l, gpu))
		return;
	int64_t ns = needless(l, n, at, owned, &kind);
	if (ns <= 0)
		return;
	uint32_t r = assay_add(l->t, ASSAY_T_lone_kernel);
	l->t->lone_kernel.gpu[r] = gpu;
	l->t->lone_kernel.advice[r] = (uint8_t)kind;
	l->t->lone_kernel.needless[r] = ns;
}

/* As operators get their own time: every instant of compute belongs to the work that began first.
 */
static void judge_kernels(struct lone *l)
{
	const assay_gpu_table *g = &l->t->gpu;
	int64_t end = l->w->from;
	for (size_t i = 0; i < l->device->n; i++) {
		uint32_t gpu = l->order->row[l->device->first + i];
		int64_t from = g->ts[gpu] > end ? g->ts[gpu] : end, to = assay_gpu_end(g, gpu);
		to = to < l->w->to ? to : l->w->to;
		if (l->order->classes[l->device->first + i] != ASSAY_CLASS_COMPUTE || to <= from)
			continue;
		judge_kernel(l, i, to - from);
		end = to;
	}
}

void assay_lone_kernels(assay_run *run, const assay_order *order, const assay_rates *rates,
			const assay_window *w)
{
	struct lone l = {.run = run,
			 .t = &run->part.t,
			 .order = order,
			 .device = &order->device.p[w->device],
			 .rates = rates,
			 .w = w};
	read_names(&l);
	l.eager = assay_alloc(&l.scratch, l.device->n + 1);
	l.kept = assay_alloc(&l.scratch, (l.device->n + 1) * sizeof *l.kept);
	l.in_optimizer = assay_optimizer_stacks(run, &l.scratch);
	for (size_t i = 0; i < l.device->n; i++)
		see_work(&l, i);
	for (size_t i = 0; i < l.chain.n; i++)
		end_chain(&l, &l.chain.p[i]);
	judge_kernels(&l);
	assay_vec_free(&l.chain);
	assay_vec_free(&l.pieces);
	assay_map_free(&l.streams);
	assay_map_free(&l.rows);
	assay_arena_free(&l.args);
	assay_arena_free(&l.scratch);
}

struct hand_kernel {
	const char *name;
	int64_t dur;
};

static void add_kernels(assay_run *run, const struct hand_kernel *k, size_t n)
{
	int64_t now = 0;
	for (size_t i = 0; i < n; i++, now += k[i - 1].dur)
		assay_hand_gpu(run, k[i].name, now, k[i].dur, ASSAY_NO_ROW);
}

/* ns sold for a kind. */
static int64_t sold(const struct hand_kernel *k, size_t n, assay_advice_kind kind)
{
	assay_run *run = assay_run_new();
	const assay_tables *t = &run->part.t;
	assay_order order;
	assay_rates rates = {.name = "x"};
	int64_t sum = 0;
	rates.peak[ASSAY_MATH_FP64] = 5e12;
	rates.peak[ASSAY_MATH_FP32] = 10e12;
	rates.peak[ASSAY_MATH_TF32] = 20e12;
	add_kernels(run, k, n);
	assay_kernels(run);
	assay_order_build(&order, run);
	assay_lone_kernels(run, &order, &rates, &(assay_window){.to = INT64_MAX});
	for (uint32_t i = 0; i < t->lone_kernel.n; i++)
		sum += t->lone_kernel.advice[i] == kind ? t->lone_kernel.needless[i] : 0;
	assay_order_free(&order);
	assay_run_free(run);
	return sum;
}

static const char bmm
	[] = "nvjet_sm90_tst_64x512_64x2_1x2_h_bz_coopB_NNT",
     tensile[] = "Cijk_Ailk_Bljk_HHS_BH_MT64x64x32",
     softmax[] =
	     "void (anonymous namespace)::softmax_warp_forward<float, float, float, 9, false, false>(float*)",
     log_softmax[] =
	     "void (anonymous namespace)::softmax_warp_forward<float, float, float, 9, true, false>(float*)",
     mask[] = "void at::native::triu_tril_kernel<bool, int, false, 8, false>",
     scale[] = "void at::native::vectorized_elementwise_kernel<8, MulFunctor>",
     cast[] =
	     "void at::native::vectorized_elementwise_kernel<8, at::native::bfloat16_copy_kernel_cuda>";

TEST(what_lies_between_the_products_of_an_attention_is_needless)
{
	const struct hand_kernel eager[] = {
		{bmm, 50}, {scale, 10}, {softmax, 20}, {cast, 5}, {bmm, 50}};
	const struct hand_kernel masked[] = {
		{bmm, 50}, {scale, 10}, {mask, 4}, {softmax, 20}, {bmm, 50}};
	const struct hand_kernel rocm[] = {{tensile, 50}, {"softmax_forward", 20}, {tensile, 50}};
	CHECK_EQ(sold(eager, 5, ASSAY_ADVICE_EAGER), 35);
	CHECK_EQ(sold(eager, 5, ASSAY_ADVICE_CASTS), 0); /* once is enough */
	CHECK_EQ(sold(masked, 5, ASSAY_ADVICE_EAGER), 34);
	CHECK_EQ(sold(rocm, 3, ASSAY_ADVICE_EAGER), 20);
	/* a loss, routing that sorts between, a classifier at the end */
	const struct hand_kernel loss[] = {{bmm, 50}, {log_softmax, 20}, {scale, 10}, {bmm, 50}};
	const struct hand_kernel routed[] = {
		{bmm, 50}, {softmax, 20}, {"radixSortKVInPlace", 9}, {bmm, 50}};
	CHECK_EQ(sold(loss, 4, ASSAY_ADVICE_EAGER), 0);
	CHECK_EQ(sold(routed, 4, ASSAY_ADVICE_EAGER), 0);
	CHECK_EQ(sold(eager, 4, ASSAY_ADVICE_EAGER), 0);
	CHECK_EQ(sold(eager, 4, ASSAY_ADVICE_CASTS), 5);
	return 0;
}

TEST(products_in_fp32_are_dear_unless_the_run_uses_cheaper_types)
{
	const struct hand_kernel full[] = {{"ampere_sgemm_128x64_nn", 104000}, {scale, 9}};
	const struct hand_kernel mixed[] = {{"ampere_sgemm_128x64_nn", 104000}, {bmm, 900000}};
	const struct hand_kernel narrow[] = {
		{"cutlass_75_tensorop_bf16_s1688gemm_bf16_256x128_nn_align1", 100000}};
	CHECK_EQ(sold(full, 2, ASSAY_ADVICE_FP32), 50000);
	CHECK_EQ(sold(mixed, 2, ASSAY_ADVICE_FP32), 0);
	/* convolutions by Fourier transforms, which nobody does with matrix units */
	const struct hand_kernel fourier[] = {
		{"void fft2d_r2c_32x32<float, false, 0u, false>(float2*, float const*)", 24000},
		{"sm80_xmma_gemm_cf32cf32_f32f32_cf32_nt_n_tilesize64x64x8", 44000},
		{"void cudnn::winograd_nonfused::winogradWgradData4x4<float, float>(cudnn::winograd_nonfused::WinogradDataParams<float, float>)",
		 14000}};
	CHECK_EQ(sold(fourier, 3, ASSAY_ADVICE_FP32), 10000 + 20000 + 5000);
	CHECK_EQ(sold(narrow, 1, ASSAY_ADVICE_SHAPE), 50000);
	return 0;
}

TEST(products_in_fp64_are_dear_where_others_are_not)
{
	const char *dgemm = "sm90_xmma_gemm_f64f64_f64f64_f64_nn_n_tilesize128x64x16";
	const struct hand_kernel stray[] = {{dgemm, 104000}, {bmm, 9000}},
				 all[] = {{dgemm, 104000}};
	CHECK_EQ(sold(stray, 2, ASSAY_ADVICE_FP64), 75000); /* a quarter stays */
	CHECK_EQ(sold(all, 1, ASSAY_ADVICE_FP64), 0);
	return 0;
}

/* A norm by hand, and a loop that updates one tensor after the other. */
TEST(memory_bound_kernels_in_a_row_could_be_one)
{
	const char *
		mul = "void at::native::vectorized_elementwise_kernel<4, BinaryFunctor<MulFunctor<float>>>",
	       *pow = "void at::native::vectorized_elementwise_kernel<4, pow_tensor_scalar>",
	       *add = "void at::native::vectorized_elementwise_kernel<4, CUDAFunctor_add<float>>",
	       *mean = "void at::native::reduce_kernel<512, 1, MeanOps<float>>";
	const struct hand_kernel norm[] = {{bmm, 50000}, {pow, 10000}, {mean, 5000}, {add, 1000},
					   {mul, 20000}, {mul, 15000}, {bmm, 50000}};
	const struct hand_kernel loop[] = {{mul, 10000}, {add, 10000}, {mul, 10000},
					   {add, 10000}, {mul, 10000}, {add, 10000}};
	const struct hand_kernel apart[] = {
		{pow, 10000}, {bmm, 50000}, {mean, 10000}, {mul, 10000}};
	int64_t saved = sold(norm, ASSAY_COUNT_OF(norm), ASSAY_ADVICE_CHAIN);
	CHECK(saved >= 29990 && saved <= 30000); /* all but the longest; shares are floats */
	CHECK_EQ(sold(loop, ASSAY_COUNT_OF(loop), ASSAY_ADVICE_CHAIN), 0);
	CHECK_EQ(sold(apart, ASSAY_COUNT_OF(apart), ASSAY_ADVICE_CHAIN), 0);
	return 0;
}
