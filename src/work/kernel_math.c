/* cuBLAS, CUTLASS, cuDNN and Tensile put the types of their operands and of the multiplication into
 * their kernels' names. Names as seen in traces and in the libraries' symbols. */
#include "work/kernel_math.h"

#include "base/test.h"

/* The first row whose word is in the name (case matters) decides: the narrow ones come first. */
static const struct {
	const char *word;
	assay_math math;
} words[] = {
	/* cuBLAS and cuDNN: sm80_xmma_gemm_<in>_<math><accumulate>_<out> */
	{"_tf32f32_", ASSAY_MATH_TF32},
	{"_tf32tf32_", ASSAY_MATH_TF32},
	{"_f32f32_f32f32_f32", ASSAY_MATH_FP32},
	{"_f16f16_f32f32_", ASSAY_MATH_FP32}, /* half data, multiplied in fp32 */
	{"_bf16bf16_f32f32_", ASSAY_MATH_FP32},
	{"_e4m3", ASSAY_MATH_FP8},
	{"_e5m2", ASSAY_MATH_FP8},
	{"_bf16f32_", ASSAY_MATH_BF16},
	{"_bf16bf16_", ASSAY_MATH_BF16},
	{"_f16f32_", ASSAY_MATH_FP16},
	{"_f16f16_", ASSAY_MATH_FP16},
	{"_i8i32_", ASSAY_MATH_INT8},
	{"_f64f64_", ASSAY_MATH_FP64},
	/* CUTLASS */
	{"bf16_s16816", ASSAY_MATH_BF16},
	{"fp16_s16816", ASSAY_MATH_FP16},
	{"bf16_s1688", ASSAY_MATH_BF16},
	{"fp16_s1688", ASSAY_MATH_FP16},
	{"f16_s1688gemm", ASSAY_MATH_FP16},
	{"s16816gemm_bf16", ASSAY_MATH_BF16},
	{"s16816gemm_f16", ASSAY_MATH_FP16},
	{"h16816gemm", ASSAY_MATH_FP16},
	{"s1688bf16gemm", ASSAY_MATH_BF16},
	{"s1688f16gemm", ASSAY_MATH_FP16},
	{"s1688gemm", ASSAY_MATH_TF32},
	{"s1688tf32gemm", ASSAY_MATH_TF32},
	{"optimized_tf32", ASSAY_MATH_TF32},
	{"i16832gemm", ASSAY_MATH_INT8},
	{"d884gemm", ASSAY_MATH_FP64},
	{"simt_sgemm", ASSAY_MATH_FP32},
	{"simt_dgemm", ASSAY_MATH_FP64},
	{"_h16816", ASSAY_MATH_FP16},
	{"_h884", ASSAY_MATH_FP16},
	{"_h1688", ASSAY_MATH_FP16},
	{"_s884", ASSAY_MATH_FP16},
	{"_sgemm_", ASSAY_MATH_FP32},
	{"magma_sgemm", ASSAY_MATH_FP32},
	{"gemmSN", ASSAY_MATH_FP32},
	{"gemmk1_kernel<float", ASSAY_MATH_FP32},
	{"_dgemm_", ASSAY_MATH_FP64},
	{"_hgemm_", ASSAY_MATH_FP16},
	/* cuDNN: detours that pay only where products are in full fp32 */
	{"_cf32cf32_f32f32_cf32", ASSAY_MATH_FP32},
	{"fft2d_r2c_", ASSAY_MATH_FP32},
	{"fft2d_c2r_", ASSAY_MATH_FP32},
	{"4x4<float, float>(cudnn::winograd_nonfused", ASSAY_MATH_FP32},
	{"9x9_5x5<float, float>(cudnn::winograd_nonfused", ASSAY_MATH_FP32},
	{"grad_alg0_engine<float", ASSAY_MATH_FP32},
	{"grad_engine<float", ASSAY_MATH_FP32},
	{"convolve_sgemm<float", ASSAY_MATH_FP32},
	{"_scudnn_", ASSAY_MATH_FP32},
	/* MIOpen */
	{"_nhwc_bf16_", ASSAY_MATH_BF16},
	{"_nhwc_fp16_", ASSAY_MATH_FP16},
	{"_nhwc_fp32_", ASSAY_MATH_FP32},
};

/* Tensile: Cijk_Ailk_Bljk_<types>_; the first letters are the type of A. */
static assay_math tensile_math(assay_str name)
{
	ptrdiff_t at = assay_str_find(name, "Cijk_A");
	if (at < 0)
		return ASSAY_MATH_NONE;
	assay_str rest = {name.p + at, name.n - (size_t)at}, types = {0};
	for (int i = 0; i < 4; i++)
		types = assay_str_cut(&rest, '_');
	if (!types.n)
		return ASSAY_MATH_NONE;
	if (assay_str_starts(types, "F8") || assay_str_starts(types, "B8"))
		return ASSAY_MATH_FP8;
	if (assay_str_starts(types, "I8"))
		return ASSAY_MATH_INT8;
	if (assay_str_starts(types, "X") || assay_str_starts(rest, "X"))
		return ASSAY_MATH_TF32;
	static const struct {
		char letter;
		assay_math math;
	} letters[] = {{'S', ASSAY_MATH_FP32},
		       {'D', ASSAY_MATH_FP64},
		       {'H', ASSAY_MATH_FP16},
		       {'B', ASSAY_MATH_BF16}};
	for (size_t i = 0; i < ASSAY_COUNT_OF(letters); i++)
		if (types.p[0] == letters[i].letter)
			return letters[i].math;
	return ASSAY_MATH_NONE;
}

/* nvjet_[smNN_]abc_: types of input, accumulator and result behind the optional architecture; fp32
 * data is multiplied in tf32. */
static assay_math nvjet_math(assay_str name)
{
	static const struct {
		const char *letters;
		assay_math math;
	} types[] = {{"t", ASSAY_MATH_BF16},
		     {"h", ASSAY_MATH_FP16},
		     {"q", ASSAY_MATH_FP8},
		     {"s", ASSAY_MATH_TF32},
		     {"d", ASSAY_MATH_FP64}};
	ptrdiff_t at = assay_str_find(name, "nvjet_");
	if (at < 0)
		return ASSAY_MATH_NONE;
	assay_str rest = {name.p + at + 6, name.n - (size_t)at - 6},
		  part = assay_str_cut(&rest, '_');
	if (assay_str_starts(part, "sm") && part.n > 3)
		part = assay_str_cut(&rest, '_');
	for (size_t i = 0; i < ASSAY_COUNT_OF(types); i++)
		if (assay_str_starts(part, types[i].letters))
			return types[i].math;
	return ASSAY_MATH_NONE;
}

assay_math assay_kernel_math(assay_str name)
{
	assay_math math = nvjet_math(name);
	if (!math)
		math = tensile_math(name);
	for (size_t i = 0; !math && i < ASSAY_COUNT_OF(words); i++)
		if (assay_str_find(name, words[i].word) >= 0)
			math = words[i].math;
	return math;
}

/* The number right behind a word, 0 when there is none. */
static int64_t number_behind(assay_str name, const char *word)
{
	ptrdiff_t at = assay_str_find(name, word);
	int64_t n = 0;
	for (size_t i = at < 0 ? name.n : (size_t)at + strlen(word);
	     i < name.n && n < 1000 && assay_is_digit(name.p[i]); i++)
		n = n * 10 + (name.p[i] - '0');
	return n;
}

bool assay_kernel_is_narrow(assay_str name)
{
	/* elements that a load takes at once; SIMT kernels take one by nature */
	static const char *const loads[] = {"_align", "aligna", "_GRVWA",
					    "_GRVWB", "_GLVWA", "_GLVWB"};
	static const double bytes[ASSAY_MATH_COUNT] = {
		[ASSAY_MATH_TF32] = 4, [ASSAY_MATH_BF16] = 2, [ASSAY_MATH_FP16] = 2,
		[ASSAY_MATH_FP8] = 1,  [ASSAY_MATH_INT8] = 1,
	};
	double each = bytes[assay_kernel_math(name)];
	for (size_t i = 0; each > 0 && i < ASSAY_COUNT_OF(loads); i++) {
		int64_t n = number_behind(name, loads[i]);
		if (n > 0 && (double)n * each < 8)
			return true;
	}
	return false;
}

double assay_kernel_element(assay_str name)
{
	static const struct {
		const char *word;
		double bytes;
	} sizes[] = {{"OpaqueType<1u>", 1}, {"OpaqueType<2u>", 2},   {"OpaqueType<4u>", 4},
		     {"OpaqueType<8u>", 8}, {"OpaqueType<16u>", 16}, {"BFloat16", 2},
		     {"c10::Half", 2},      {"<float", 4},           {", float", 4},
		     {"<double", 8}};
	for (size_t i = 0; i < ASSAY_COUNT_OF(sizes); i++)
		if (assay_str_find(name, sizes[i].word) >= 0)
			return sizes[i].bytes;
	return 0;
}

/* "128x192" at the start of text. */
static bool two_numbers(assay_str text, int64_t *a, int64_t *b)
{
	int64_t v[2] = {0};
	size_t i = 0;
	for (int k = 0; k < 2; k++) {
		size_t from = i;
		while (i < text.n && i - from < 5 && assay_is_digit(text.p[i]))
			v[k] = v[k] * 10 + (text.p[i++] - '0');
		if (i == from || (k == 0 && (i >= text.n || text.p[i++] != 'x')))
			return false;
	}
	*a = v[0];
	*b = v[1];
	return *a > 0 && *b > 0;
}

bool assay_kernel_tile(assay_str name, int64_t *rows, int64_t *columns)
{
	static const char *const before[] = {"_MT", "tilesize", "sgemm_", "hgemm_", "dgemm_"};
	for (size_t i = 0; i < ASSAY_COUNT_OF(before); i++) {
		ptrdiff_t at = assay_str_find(name, before[i]);
		size_t skip = (size_t)(at < 0 ? 0 : at) + strlen(before[i]);
		if (at >= 0 &&
		    two_numbers((assay_str){name.p + skip, name.n - skip}, rows, columns))
			return true;
	}
	ptrdiff_t at = assay_str_find(name, "nvjet_");
	assay_str rest = at < 0 ? (assay_str){0} : (assay_str){name.p + at, name.n - (size_t)at};
	while (rest.n)
		if (two_numbers(assay_str_cut(&rest, '_'), rows, columns))
			return true;
	return false;
}

TEST(kernel_names_tell_what_they_multiply_in)
{
	static const struct {
		const char *name;
		assay_math math;
	} cases[] = {
		{"sm80_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize128x128x32_stage3",
		 ASSAY_MATH_TF32},
		{"sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize128x128x8", ASSAY_MATH_FP32},
		{"sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64", ASSAY_MATH_BF16},
		{"sm80_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize64x64x32", ASSAY_MATH_FP16},
		{"sm90_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc", ASSAY_MATH_BF16},
		{"cutlass_80_tensorop_s1688gemm_128x128_16x5_nn_align4", ASSAY_MATH_TF32},
		{"cutlass_80_tensorop_s16816gemm_f16_256x128", ASSAY_MATH_FP16},
		{"void cutlass::Kernel2<cutlass_80_simt_sgemm_128x32_8x5_nn_align1>",
		 ASSAY_MATH_FP32},
		{"ampere_sgemm_128x64_nn", ASSAY_MATH_FP32},
		{"ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x4_tn", ASSAY_MATH_BF16},
		{"volta_h884gemm_64x128_ldg8_nn", ASSAY_MATH_FP16},
		{"cutlass_75_tensorop_bf16_s1688gemm_bf16_256x128_nn_align1", ASSAY_MATH_BF16},
		{"cutlass_75_tensorop_f16_s1688gemm_f16_128x128_tn_align1", ASSAY_MATH_FP16},
		{"nvjet_tst_128x192_64x5_2x1_v_bz_TNT", ASSAY_MATH_BF16},
		{"nvjet_sm100_hsh_128x256_64x4_1x2_h_bz_NTN", ASSAY_MATH_FP16},
		{"nvjet_qqtst_128x192_128x5", ASSAY_MATH_FP8},
		{"Cijk_Alik_Bljk_BBS_BH_Bias_MT256x256x64", ASSAY_MATH_BF16},
		{"Cijk_Ailk_Bljk_SB_MT128x128x16", ASSAY_MATH_FP32},
		{"Cijk_Alik_Bljk_F8BS_BH_MT64x64x64", ASSAY_MATH_FP8},
		{"igemm_fwd_gtcx3_nhwc_bf16_bx0_ex1", ASSAY_MATH_BF16},
		{"void at::native::vectorized_elementwise_kernel<4, float>", ASSAY_MATH_NONE},
	};
	for (size_t i = 0; i < ASSAY_COUNT_OF(cases); i++)
		if (assay_kernel_math(assay_str_of(cases[i].name)) != cases[i].math) {
			fprintf(stderr, "%s\n", cases[i].name);
			return 1;
		}
	return 0;
}

TEST(kernels_that_load_single_elements_say_so)
{
	static const char *const narrow[] = {
		"cutlass_75_tensorop_bf16_s1688gemm_bf16_256x128_nn_align1",
		"cutlass_80_tensorop_s1688gemm_128x128_16x5_nn_align1",
		"Cijk_Ailk_Bljk_BBS_BH_MT64x64x32_MI16x16x1_GRVWA1_GRVWB1_GSU1",
		"Cijk_Ailk_Bljk_HHS_BH_MT64x64x32_MI16x16x1_GRVWA8_GRVWB2_GSU1",
	};
	static const char *const wide[] = {
		"cutlass_80_tensorop_s16816gemm_bf16_256x128_nn_align8",
		"cutlass_80_simt_sgemm_64x64_8x5_nt_align1", /* all of them do */
		"sm80_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize32x32x8_aligna4_alignc4",
		"nvjet_tst_128x192_64x5_2x1_v_bz_TNT",
		"Cijk_Alik_Bljk_BBS_BH_MT64x96x128_MI16x16x1_GRVWA8_GRVWB8_GSU0",
	};
	for (size_t i = 0; i < ASSAY_COUNT_OF(narrow); i++)
		CHECK(assay_kernel_is_narrow(assay_str_of(narrow[i])));
	for (size_t i = 0; i < ASSAY_COUNT_OF(wide); i++)
		CHECK(!assay_kernel_is_narrow(assay_str_of(wide[i])));
	return 0;
}

TEST(tiles_and_elements_stand_in_kernel_names)
{
	int64_t m, n;
	CHECK(assay_kernel_tile(ASSAY_S("nvjet_sm90_tst_128x192_64x5_2x1"), &m, &n) && m == 128 &&
	      n == 192);
	CHECK(assay_kernel_tile(ASSAY_S("Cijk_Alik_Bljk_BBS_BH_MT256x128x64_x"), &m, &n) &&
	      m == 256 && n == 128);
	CHECK(assay_kernel_tile(ASSAY_S("xmma_gemm_f32f32_nn_n_tilesize32x64x8_s"), &m, &n) &&
	      n == 64);
	CHECK(!assay_kernel_tile(ASSAY_S("attn_fwd"), &m, &n));
	CHECK(assay_kernel_element(ASSAY_S("CatArrayBatchedCopy<OpaqueType<2u>, unsigned>")) == 2);
	CHECK(assay_kernel_element(ASSAY_S(
		      "multi_tensor_apply_kernel<TensorListMetadata<2>, BinaryOpScalarFunctor<float, 2, 1, 1>>")) ==
	      4);
	return 0;
}
