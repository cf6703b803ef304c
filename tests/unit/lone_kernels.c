/* What is needless, by the names of kernels and of their neighbours. */
#include "analyze/analyze.h"
#include "base/test.h"
#include "model/by_hand.h"
#include "work/lone.h"

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

/* ns reported as needless for a kind, of so many steps; least and most of it, where asked for. */
static int64_t reported_of(const struct hand_kernel *k, size_t n, uint64_t steps,
			   assay_advice_kind kind, int64_t bounds[2])
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
	assay_lone_kernels(run, &order, &rates,
			   &(assay_window){.to = INT64_MAX, .steps = steps, .copy = INT64_MAX});
	for (uint32_t i = 0; i < t->lone_kernel.n; i++) {
		if (t->lone_kernel.advice[i] != kind)
			continue;
		sum += t->lone_kernel.needless[i];
		bounds[0] += t->lone_kernel.least[i];
		bounds[1] += t->lone_kernel.most[i];
	}
	assay_order_free(&order);
	assay_run_free(run);
	return sum;
}

static int64_t reported(const struct hand_kernel *k, size_t n, assay_advice_kind kind)
{
	return reported_of(k, n, 0, kind, (int64_t[2]){0, 0});
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
	CHECK_EQ(reported(eager, 5, ASSAY_ADVICE_EAGER), 35);
	CHECK_EQ(reported(eager, 5, ASSAY_ADVICE_CASTS), 0); /* once is enough */
	CHECK_EQ(reported(masked, 5, ASSAY_ADVICE_EAGER), 34);
	CHECK_EQ(reported(rocm, 3, ASSAY_ADVICE_EAGER), 20);
	/* a loss, routing that sorts between, a classifier at the end */
	const struct hand_kernel loss[] = {{bmm, 50}, {log_softmax, 20}, {scale, 10}, {bmm, 50}};
	const struct hand_kernel routed[] = {
		{bmm, 50}, {softmax, 20}, {"radixSortKVInPlace", 9}, {bmm, 50}};
	CHECK_EQ(reported(loss, 4, ASSAY_ADVICE_EAGER), 0);
	CHECK_EQ(reported(routed, 4, ASSAY_ADVICE_EAGER), 0);
	CHECK_EQ(reported(eager, 4, ASSAY_ADVICE_EAGER), 0);
	CHECK_EQ(reported(eager, 4, ASSAY_ADVICE_CASTS), 5);
	return 0;
}

TEST(products_in_fp32_are_dear_unless_the_run_uses_cheaper_types)
{
	const struct hand_kernel full[] = {{"ampere_sgemm_128x64_nn", 104000}, {scale, 9}};
	const struct hand_kernel mixed[] = {{"ampere_sgemm_128x64_nn", 104000}, {bmm, 900000}};
	const struct hand_kernel narrow[] = {
		{"cutlass_75_tensorop_bf16_s1688gemm_bf16_256x128_nn_align1", 100000}};
	CHECK_EQ(reported(full, 2, ASSAY_ADVICE_FP32), 50000);
	CHECK_EQ(reported(mixed, 2, ASSAY_ADVICE_FP32), 0);
	/* convolutions by Fourier transforms, which nobody does with matrix units */
	const struct hand_kernel fourier[] = {
		{"void fft2d_r2c_32x32<float, false, 0u, false>(float2*, float const*)", 24000},
		{"sm80_xmma_gemm_cf32cf32_f32f32_cf32_nt_n_tilesize64x64x8", 44000},
		{"void cudnn::winograd_nonfused::winogradWgradData4x4<float, float>(cudnn::winograd_nonfused::WinogradDataParams<float, float>)",
		 14000}};
	CHECK_EQ(reported(fourier, 3, ASSAY_ADVICE_FP32), 10000 + 20000 + 5000);
	CHECK_EQ(reported(narrow, 1, ASSAY_ADVICE_SHAPE), 50000);
	return 0;
}

TEST(products_of_a_compiler_are_in_the_type_of_all_that_it_tried)
{
	const struct hand_kernel tried[] = {{"ampere_sgemm_128x64_nn", 124000},
					    {"gemm_fusion_dot_general_7", 104000}},
				 stray[] = {{"ampere_sgemm_128x64_nn", 4000},
					    {"gemm_fusion_dot_general_7", 104000}},
				 mixed[] = {{"ampere_sgemm_128x64_nn", 4000},
					    {bmm, 4000},
					    {"gemm_fusion_dot_general_7", 104000}},
				 alone[] = {{"gemm_fusion_dot_general_7", 104000}};
	CHECK_EQ(reported(tried, 2, ASSAY_ADVICE_FP32), 60000 + 50000);
	CHECK_EQ(reported(stray, 2, ASSAY_ADVICE_FP32), 0);
	CHECK_EQ(reported(mixed, 3, ASSAY_ADVICE_FP32), 0);
	CHECK_EQ(reported(alone, 1, ASSAY_ADVICE_FP32), 0);
	return 0;
}

TEST(products_in_fp64_are_dear_where_others_are_not)
{
	const char *dgemm = "sm90_xmma_gemm_f64f64_f64f64_f64_nn_n_tilesize128x64x16";
	const struct hand_kernel stray[] = {{dgemm, 104000}, {bmm, 9000}},
				 all[] = {{dgemm, 104000}};
	CHECK_EQ(reported(stray, 2, ASSAY_ADVICE_FP64), 75000); /* a quarter stays */
	CHECK_EQ(reported(all, 1, ASSAY_ADVICE_FP64), 0);
	/* what is done with their result moves twice the bytes, and casts are needless */
	const struct hand_kernel around[] = {
		{dgemm, 104000},
		{bmm, 9000},
		{"void at::native::vectorized_elementwise_kernel<2, BUnaryFunctor<double, double, double, MulFunctor<double>>>",
		 20000},
		{"void at::native::unrolled_elementwise_kernel<direct_copy_kernel_cuda, LoadWithCast<1>, double, float>",
		 7000}};
	CHECK_EQ(reported(around, 4, ASSAY_ADVICE_FP64), 75000 + 10000 + 7000);
	CHECK_EQ(reported(around + 1, 3, ASSAY_ADVICE_FP64), 10000 + 7000); /* no product is */
	CHECK_EQ(reported(around + 2, 2, ASSAY_ADVICE_FP64), 0);  /* nor in another type */
	const struct hand_kernel back[] = {around[1], around[3]}; /* nothing is computed in it */
	CHECK_EQ(reported(back, 2, ASSAY_ADVICE_FP64), 0);
	CHECK_EQ(reported(back, 2, ASSAY_ADVICE_CASTS), 7000);
	return 0;
}

TEST(copies_right_behind_work_in_double_move_doubles)
{
	const char *
		sine = "void at::native::vectorized_elementwise_kernel<2, sin_kernel_cuda::{lambda(double)#1}>",
	       *cat = "void at::native::CatArrayBatchedCopy_vectorized<OpaqueType<8u>, unsigned int, 2>",
	       *to_float =
		       "void at::native::unrolled_elementwise_kernel<direct_copy_kernel_cuda::{lambda(float)#1}, LoadWithCast<1>>",
	       *power = "void at::native::vectorized_elementwise_kernel<4, pow<c10::Half, double>>";
	const struct hand_kernel features[] = {
		{bmm, 90000}, {sine, 20000}, {cat, 40000}, {to_float, 30000}, {to_float, 9000}};
	CHECK_EQ(reported(features, 5, ASSAY_ADVICE_FP64), 10000 + 20000 + 30000);
	/* far longer than what could have made its input; numbers of 8 bytes; a double for half */
	const struct hand_kernel others[] = {{bmm, 90000}, {sine, 8000}, {to_float, 30000},
					     {bmm, 90000}, {cat, 40000}, {to_float, 30000},
					     {bmm, 90000}, {power, 4000}};
	CHECK_EQ(reported(others, 8, ASSAY_ADVICE_FP64), 4000);
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
	int64_t saved = reported(norm, ASSAY_COUNT_OF(norm), ASSAY_ADVICE_CHAIN);
	CHECK_EQ(saved, 31000); /* all but the longest */
	CHECK_EQ(reported(loop, ASSAY_COUNT_OF(loop), ASSAY_ADVICE_CHAIN), 0);
	CHECK_EQ(reported(apart, ASSAY_COUNT_OF(apart), ASSAY_ADVICE_CHAIN), 0);
	return 0;
}

/* Differences of all pairs in two pieces, squared, summed; then rows are looked up. */
TEST(a_product_may_need_what_only_sums_are_left_of)
{
	const char *
		pairs =
		       "void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl_nocast<CUDAFunctor_add<float>>>",
	       *alike = "void at::native::vectorized_elementwise_kernel<4, CUDAFunctor_add<float>>",
	       *pow = "void at::native::vectorized_elementwise_kernel<4, pow_tensor_scalar>",
	       *sum = "void at::native::reduce_kernel<512, 1, sum_functor<float>>",
	       *rows = "void at::native::vectorized_gather_kernel<16, long>";
	struct hand_kernel k[] = {{pairs, 140000}, {pairs, 140000}, {pow, 100000}, {pow, 100000},
				  {sum, 150000},   {sum, 150000},   {rows, 9000}};
	CHECK_EQ(reported(k, ASSAY_COUNT_OF(k), ASSAY_ADVICE_CHAIN), 580000); /* two passes stay */
	k[6].name = bmm;
	CHECK_EQ(reported(k, ASSAY_COUNT_OF(k), ASSAY_ADVICE_CHAIN), 480000);
	k[6].name = rows;
	k[0].name = k[1].name = alike;
	CHECK_EQ(reported(k, ASSAY_COUNT_OF(k), ASSAY_ADVICE_CHAIN), 480000);
	return 0;
}

/* Idle time attributed to a chain whose second kernel waited for that long although it was
 * submitted. */
static int64_t needless_gaps(int64_t waited)
{
	const struct hand_kernel chain[] = {
		{"void at::native::vectorized_elementwise_kernel<4, pow_tensor_scalar>", 10000},
		{"void at::native::reduce_kernel<512, 1, MeanOps<float>>", 5000},
		{"void at::native::vectorized_elementwise_kernel<4, CUDAFunctor_add<float>>", 8000},
		{"void at::native::vectorized_elementwise_kernel<4, MulFunctor>", 20000}};
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	assay_order order;
	int64_t sum = 0;
	add_kernels(run, chain, ASSAY_COUNT_OF(chain));
	uint32_t gap = assay_hand_gap(run, ASSAY_WHY_QUEUED, 0, waited);
	t->gap.gpu[gap] = 1;
	assay_kernels(run);
	assay_order_build(&order, run);
	assay_lone_kernels(run, &order, &(assay_rates){.name = "x"},
			   &(assay_window){.to = INT64_MAX});
	for (uint32_t i = 0; i < t->lone_kernel.n; i++)
		sum += t->lone_kernel.gap[i];
	assay_order_free(&order);
	assay_run_free(run);
	return sum;
}

TEST(no_chain_is_blamed_for_waiting_for_something_else)
{
	CHECK_EQ(needless_gaps(7000), 7000);
	CHECK_EQ(needless_gaps(2958000), 0);
	return 0;
}

/* Planes of 80 us a copy: 40 us a pass, five of them backward. */
TEST(a_norm_over_planes_is_held_against_the_copies_beside_it)
{
	const char
		*to = "void cudnn::engines_precompiled::nchwToNhwcKernel<__half>",
		*norm = "void at::native::batch_norm_backward_kernel<c10::Half, c10::Half, float>",
		*last = "void at::native::batch_norm_backward_elemt_channels_last_kernel<4>";
	const struct hand_kernel planes[] = {{to, 80000}, {to, 5000}, {norm, 450000}},
				 fast[] = {{to, 80000}, {norm, 150000}},
				 channels_last[] = {{to, 80000}, {last, 450000}},
				 alone[] = {{norm, 450000}};
	CHECK_EQ(reported(planes, 3, ASSAY_ADVICE_LAYOUT), 85000 + 250000);
	CHECK_EQ(reported(fast, 2, ASSAY_ADVICE_LAYOUT), 80000);
	CHECK_EQ(reported(channels_last, 2, ASSAY_ADVICE_LAYOUT), 80000);
	CHECK_EQ(reported(alone, 1, ASSAY_ADVICE_LAYOUT), 0);
	return 0;
}

/* In each of two layers, behind a norm of the queries: compared, filled, masked, cast. */
TEST(masks_that_are_made_for_each_attention_could_be_made_once)
{
	const char *
		pow = "void at::native::vectorized_elementwise_kernel<4, pow_tensor_scalar>",
	       *mean = "void at::native::reduce_kernel<512, 1, MeanOps<float>>",
	       *compare =
		       "void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<CompareFunctor<long>>>",
	       *fill = "void at::native::vectorized_elementwise_kernel<4, FillFunctor<float>>",
	       *masked =
		       "void at::native::vectorized_elementwise_kernel<4, masked_fill_kernel<float>>",
	       *sdpa = "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16";
	const struct hand_kernel layers[] = {
		{bmm, 50000},    {pow, 20000},    {mean, 10000},  {scale, 30000},  {compare, 4000},
		{fill, 8000},    {masked, 10000}, {cast, 6000},   {sdpa, 100000},  {bmm, 50000},
		{pow, 20000},    {mean, 10000},   {scale, 30000}, {compare, 4000}, {fill, 8000},
		{masked, 10000}, {cast, 6000},    {sdpa, 100000}};
	int64_t bounds[2] = {0, 0}, of_two[2] = {0, 0};
	/* half of them, and of what one kernel for each saves; at best all, and of the attention */
	CHECK_EQ(reported_of(layers, 18, 1, ASSAY_ADVICE_MASK, bounds), 28000);
	CHECK_EQ(bounds[0], 18000);
	CHECK_EQ(bounds[1], 56000 + 120000);
	CHECK_EQ(reported_of(layers, 18, 1, ASSAY_ADVICE_CHAIN, bounds), 60000);
	/* once a step, and where steps are not known, it is a chain */
	CHECK_EQ(reported_of(layers, 18, 2, ASSAY_ADVICE_MASK, of_two), 0);
	CHECK_EQ(reported(layers, 18, ASSAY_ADVICE_MASK), 0);
	CHECK_EQ(reported(layers, 18, ASSAY_ADVICE_CHAIN), 60000 + 36000);
	/* nothing is masked; queries are; what is masked is no mask but computed */
	const struct hand_kernel zeros[] = {{fill, 8000}, {cast, 6000}, {sdpa, 100000},
					    {fill, 8000}, {cast, 6000}, {sdpa, 100000}},
				 queries[] = {{masked, 8000},
					      {sdpa, 100000},
					      {masked, 8000},
					      {sdpa, 100000}},
				 scaled[] = {{fill, 8000},   {masked, 6000}, {scale, 6000},
					     {sdpa, 100000}, {fill, 8000},   {masked, 6000},
					     {scale, 6000},  {sdpa, 100000}};
	CHECK_EQ(reported_of(zeros, 6, 1, ASSAY_ADVICE_MASK, of_two), 0);
	CHECK_EQ(reported_of(queries, 4, 1, ASSAY_ADVICE_MASK, of_two), 0);
	CHECK_EQ(reported_of(scaled, 8, 1, ASSAY_ADVICE_MASK, of_two), 0);
	return 0;
}
