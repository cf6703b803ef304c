/* The rows of kernels.def, in order. */
#include "names/kernels.h"

#include "base/test.h"

const char *const assay_class_name[ASSAY_CLASS_COUNT] = {
#define X(id, name) name,
	ASSAY_CLASSES(X)
#undef X
};
const char *const assay_family_name[ASSAY_FAMILY_COUNT] = {
#define X(id, name, class) name,
	ASSAY_FAMILIES(X)
#undef X
};
const uint8_t assay_family_class[ASSAY_FAMILY_COUNT] = {
#define X(id, name, class) ASSAY_CLASS_##class,
	ASSAY_FAMILIES(X)
#undef X
};

enum { ANY, START };

static const struct {
	const char *word;
	uint8_t family, where;
} kernels[] = {
#define KERNEL(family, where, word) {word, ASSAY_FAMILY_##family, where},
#define OPERATOR(family, start)
#include "names/kernels.def"
#undef KERNEL
#undef OPERATOR
};

static const struct {
	const char *start;
	uint8_t family;
} operators[] = {
#define KERNEL(family, where, word)
#define OPERATOR(family, start) {start, ASSAY_FAMILY_##family},
#include "names/kernels.def"
#undef KERNEL
#undef OPERATOR
};

#define FAMILY(id) (1u << ASSAY_FAMILY_##id)

/* Families that a name tells nothing of: what Inductor fuses is named after the operators on both
 * sides, and by its start it is pointwise, a reduction, or a template for the heavy ones. */
static uint32_t hidden_families(assay_str name)
{
	if (!assay_str_starts(name, "triton_") || assay_str_find(name, "_fused_") < 0)
		return 0;
	if (assay_str_starts(name, "triton_tem_"))
		return FAMILY(COLLECTIVE);
	uint32_t heavy = FAMILY(COLLECTIVE) | FAMILY(ATTENTION) | FAMILY(CONV) | FAMILY(GEMM);
	return assay_str_starts(name, "triton_poi_") ? heavy | FAMILY(REDUCTION) : heavy;
}

assay_family assay_family_of_name(assay_str name)
{
	uint32_t hidden = hidden_families(name);
	for (size_t i = 0; i < ASSAY_COUNT_OF(kernels); i++) {
		if (hidden >> kernels[i].family & 1)
			continue;
		if (kernels[i].where == START ? assay_str_starts(name, kernels[i].word)
					      : assay_str_find_nocase(name, kernels[i].word) >= 0)
			return (assay_family)kernels[i].family;
	}
	return ASSAY_FAMILY_OTHER;
}

assay_family assay_family_of_op(assay_str op)
{
	for (size_t i = 0; i < ASSAY_COUNT_OF(operators); i++)
		if (assay_str_starts(op, operators[i].start))
			return (assay_family)operators[i].family;
	return ASSAY_FAMILY_OTHER;
}

static assay_class class_of(const char *name)
{
	return (assay_class)assay_family_class[assay_family_of_name(assay_str_of(name))];
}

/* A row whose word has another row's word in it is never reached: it would have another family. */
TEST(every_row_decides_names_that_are_its_word)
{
	for (size_t i = 0; i < ASSAY_COUNT_OF(kernels); i++) {
		CHECK_EQ(assay_family_of_name(assay_str_of(kernels[i].word)), kernels[i].family);
		CHECK_EQ(class_of(kernels[i].word), assay_family_class[kernels[i].family]);
	}
	for (size_t i = 0; i < ASSAY_COUNT_OF(operators); i++)
		CHECK_EQ(assay_family_of_op(assay_str_of(operators[i].start)), operators[i].family);
	return 0;
}

/* A kernel's class is settled before its operator is looked at, as that of a family unknown. */
TEST(operators_tell_families_of_the_class_that_unknown_kernels_have)
{
	for (size_t i = 0; i < ASSAY_COUNT_OF(operators); i++)
		CHECK_EQ(assay_family_class[operators[i].family],
			 assay_family_class[ASSAY_FAMILY_OTHER]);
	return 0;
}

/* Names on which word-boundary patterns fail, each seen in a real trace. */
TEST(names_that_defeat_word_patterns_are_known)
{
	static const struct {
		const char *name;
		assay_class class;
		assay_family family;
	} cases[] = {
		{"ncclDevKernel_Generic(ncclDevKernelArgs)", ASSAY_CLASS_COMM,
		 ASSAY_FAMILY_COLLECTIVE},
		{"ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t", ASSAY_CLASS_COMM,
		 ASSAY_FAMILY_COLLECTIVE},
		{"ncclDevKernel_AllGather_RING_LL", ASSAY_CLASS_COMM, ASSAY_FAMILY_COLLECTIVE},
		{"multimem_all_reduce_kernel<c10::BFloat16>", ASSAY_CLASS_COMM,
		 ASSAY_FAMILY_COLLECTIVE},
		{"mscclKernel_Sum_half", ASSAY_CLASS_COMM, ASSAY_FAMILY_COLLECTIVE},
		{"void deep_ep::internode::dispatch<...>", ASSAY_CLASS_COMM,
		 ASSAY_FAMILY_COLLECTIVE},
		{"void own::ep::intranode::combine<8>", ASSAY_CLASS_COMM, ASSAY_FAMILY_COLLECTIVE},
		{"elementwise_kernel_with_broadcast", ASSAY_CLASS_COMPUTE,
		 ASSAY_FAMILY_ELEMENTWISE},
		{"Cijk_Ailk_Bljk_HHS_BH_MT64x64x32", ASSAY_CLASS_COMPUTE, ASSAY_FAMILY_GEMM},
		{"cutlass_80_tensorop_s1688gemm_128x64_16x6", ASSAY_CLASS_COMPUTE,
		 ASSAY_FAMILY_GEMM},
		{"bmm_Bfloat16_Bfloat16_Bfloat16_Fp32", ASSAY_CLASS_COMPUTE, ASSAY_FAMILY_GEMM},
		{"sm80_xmma_gemm_f32f32", ASSAY_CLASS_COMPUTE, ASSAY_FAMILY_GEMM},
		{"void ck::kernel_gemm_xdl_cshuffle_v3<...>", ASSAY_CLASS_COMPUTE,
		 ASSAY_FAMILY_GEMM},
		{"attn_fwd.kd", ASSAY_CLASS_COMPUTE, ASSAY_FAMILY_ATTENTION},
		{"void ck_tile::kentry<..., FmhaFwdKernel<...>>", ASSAY_CLASS_COMPUTE,
		 ASSAY_FAMILY_ATTENTION},
		{"fmha_v2_flash_attention_bf16_64_128_S_q_k_v_128_causal_sm90_kernel",
		 ASSAY_CLASS_COMPUTE, ASSAY_FAMILY_ATTENTION},
		{"cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma", ASSAY_CLASS_COMPUTE,
		 ASSAY_FAMILY_ATTENTION},
		{"batched_transpose_16x32_half", ASSAY_CLASS_COMPUTE, ASSAY_FAMILY_ELEMENTWISE},
		{"miopenSp3AsmConv_v30_3_1_gfx9", ASSAY_CLASS_COMPUTE, ASSAY_FAMILY_CONV},
		{"MIOpenBatchNormFwdTrainSpatial", ASSAY_CLASS_COMPUTE, ASSAY_FAMILY_NORM},
		{"void at::native::GammaBetaBackwardCUDAKernelTemplate<...>", ASSAY_CLASS_COMPUTE,
		 ASSAY_FAMILY_NORM},
		{"triton_poi_fused_add_0", ASSAY_CLASS_COMPUTE, ASSAY_FAMILY_ELEMENTWISE},
		{"cupy_multiply__float_float32_float32", ASSAY_CLASS_COMPUTE,
		 ASSAY_FAMILY_ELEMENTWISE},
		{"cupy_nanmax__float32_float32", ASSAY_CLASS_COMPUTE, ASSAY_FAMILY_REDUCTION},
	};
	for (size_t i = 0; i < ASSAY_COUNT_OF(cases); i++) {
		CHECK_EQ(class_of(cases[i].name), cases[i].class);
		CHECK_EQ(assay_family_of_name(assay_str_of(cases[i].name)), cases[i].family);
	}
	CHECK_EQ(assay_family_of_op(ASSAY_S("aten::addmm")), ASSAY_FAMILY_GEMM);
	CHECK_EQ(assay_family_of_op(ASSAY_S("aten::relu")), ASSAY_FAMILY_OTHER);
	return 0;
}

TEST(classes_follow_the_names_people_compare_by)
{
	CHECK(class_of("ncclDevKernel_Generic(ncclDevKernelArgs)") == ASSAY_CLASS_COMM);
	CHECK(class_of("void vllm::cross_device_reduce_1stage<...>") == ASSAY_CLASS_COMM);
	CHECK(class_of("__amd_rocclr_copyBuffer.kd") == ASSAY_CLASS_COPY);
	CHECK(class_of("__amd_rocclr_fillBufferAligned") == ASSAY_CLASS_COMPUTE);
	CHECK(class_of("ampere_sgemm_128x64") == ASSAY_CLASS_COMPUTE);
	return 0;
}

TEST(families_know_both_vendors_kernels)
{
	static const struct {
		const char *name;
		assay_family family;
	} cases[] = {
		{"Cijk_Alik_Bljk_BBS_BH_MT128x128x64_MI32x32x8x1", ASSAY_FAMILY_GEMM},
		{"cutlass_80_tensorop_s1688gemm_128x128", ASSAY_FAMILY_GEMM},
		{"nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_NTN", ASSAY_FAMILY_GEMM},
		{"pytorch_flash::flash_fwd_kernel<...>", ASSAY_FAMILY_ATTENTION},
		{"void at::native::batch_norm_backward_kernel<...>", ASSAY_FAMILY_NORM},
		{"void at::native::vectorized_elementwise_kernel<8, ...>",
		 ASSAY_FAMILY_ELEMENTWISE},
		{"void at::native::reduce_kernel<512, 1, ...>", ASSAY_FAMILY_REDUCTION},
		{"ncclDevKernel_AllReduce_Sum_f32_RING_LL", ASSAY_FAMILY_COLLECTIVE},
		{"void at::native::multi_tensor_apply_kernel<...>", ASSAY_FAMILY_OPTIMIZER},
		{"void split_embedding_codegen_forward_unweighted_kernel<c10::Half>(fbgemm_gpu::X)",
		 ASSAY_FAMILY_EMBEDDING},
		{"void fbgemm_gpu::permute_2D_data_kernel<false, int>", ASSAY_FAMILY_OTHER},
		{"void cutlass::device_kernel<fbgemm_gpu::f8f8bf16_rowwise>", ASSAY_FAMILY_GEMM},
		{"mystery", ASSAY_FAMILY_OTHER},
		{"void cutlass::device_kernel<flash::enable_sm90<flash::FlashAttnFwdSm90<...>>>",
		 ASSAY_FAMILY_ATTENTION},
		{"void flashinfer::BatchPrefillWithRaggedKVCacheKernel<...>",
		 ASSAY_FAMILY_ATTENTION},
		{"void flashinfer::BatchDecodeWithPagedKVCacheKernel<...>", ASSAY_FAMILY_ATTENTION},
		{"void flashinfer::SinglePrefillWithKVCacheKernel<...>", ASSAY_FAMILY_ATTENTION},
		{"void flashinfer::AppendPagedKVCacheKernel<...>", ASSAY_FAMILY_ELEMENTWISE},
		{"_fwd_grouped_kernel_stage1", ASSAY_FAMILY_ATTENTION},
		{"_fwd_kernel_ep_scatter_1", ASSAY_FAMILY_OTHER},
		{"_ZN5aiter19mla_a8w8_qh16_qseqlen1_gqaratio16E", ASSAY_FAMILY_ATTENTION},
		{"_ZN5aiter34pa_bf16_pertokenFp8_gqa8_1tg_4wE", ASSAY_FAMILY_ATTENTION},
		{"_ZN5aiter48fmoe_bf16_blockscaleFp8_g1u1_vs_silu_1tg_ps_32x256E",
		 ASSAY_FAMILY_GEMM},
		{"void marlin::Marlin<__half, 256, 4, 16, 4>", ASSAY_FAMILY_GEMM},
		{"void gptq_marlin_repack_kernel<256, 4>", ASSAY_FAMILY_OTHER},
		{"void wvSplitK_hf_sml_<__hip_bfloat16, 64, 4>", ASSAY_FAMILY_GEMM},
		{"void cublasLt::epilogue::impl::globalKernel<8, 32, float>", ASSAY_FAMILY_GEMM},
		{"void causal_conv1d_fwd_kernel<...>", ASSAY_FAMILY_CONV},
		{"void vllm::rotary_embedding_kernel<c10::BFloat16, true>",
		 ASSAY_FAMILY_ELEMENTWISE},
		{"loop_multiply_fusion_2", ASSAY_FAMILY_ELEMENTWISE},
		{"input_reduce_fusion_3", ASSAY_FAMILY_REDUCTION},
	};
	for (size_t i = 0; i < ASSAY_COUNT_OF(cases); i++)
		CHECK_EQ(assay_family_of_name(assay_str_of(cases[i].name)), cases[i].family);
	return 0;
}

TEST(fused_kernels_are_not_the_operators_beside_them)
{
	static const struct {
		const char *name;
		assay_family family;
	} cases[] = {
		{"triton_poi_fused_convolution_relu_3", ASSAY_FAMILY_ELEMENTWISE},
		{"triton_poi_fused__scaled_dot_product_flash_attention_clone_5",
		 ASSAY_FAMILY_ELEMENTWISE},
		{"triton_poi_fused__softmax_backward_data_1", ASSAY_FAMILY_ELEMENTWISE},
		{"triton_red_fused_convolution_native_group_norm_2", ASSAY_FAMILY_NORM},
		{"triton_per_fused_convolution_sum_2", ASSAY_FAMILY_REDUCTION},
		{"triton_tem_fused_flex_attention_0", ASSAY_FAMILY_ATTENTION},
		{"triton_tem_fused_mm_1", ASSAY_FAMILY_GEMM},
	};
	for (size_t i = 0; i < ASSAY_COUNT_OF(cases); i++)
		CHECK_EQ(assay_family_of_name(assay_str_of(cases[i].name)), cases[i].family);
	return 0;
}

/* Collectives of libraries that are not NCCL, and names that only look like one. */
TEST(every_library_s_collectives_communicate_and_fused_kernels_do_not)
{
	static const char *const comm[] = {
		"void mori::moe::EpDispatchIntraNodeKernel<...>",
		"void mori::moe::EpCombineInterNodeKernel<...>",
		"pplx::a2a_dispatch_send_kernel",
		"void tensorrt_llm::kernels::moeAllToAllKernel<...>",
		"userbuffers_fp16_sum_inplace_gpu_rr_rs_ag<8>",
		"all-gather-start.3",
		"reduce-scatter.1",
		"void aiter::reduce_scatter_cross_device_store<...>",
		"void aiter::allgather_naive<...>",
		"uccl::ep::dispatch",
		"iris_all_gather_kernel",
		"one_shot_all_reduce_kernel",
	};
	for (size_t i = 0; i < ASSAY_COUNT_OF(comm); i++)
		CHECK_EQ(class_of(comm[i]), ASSAY_CLASS_COMM);
	CHECK_EQ(class_of("triton_poi_fused_all_reduce_wait_tensor_3"), ASSAY_CLASS_COMPUTE);
	CHECK_EQ(assay_family_of_name(ASSAY_S("triton_red_fused_all_gather_into_tensor_1")),
		 ASSAY_FAMILY_REDUCTION);
	CHECK_EQ(assay_family_of_name(ASSAY_S("triton_poi_fused_all_reduce_wait_tensor_3")),
		 ASSAY_FAMILY_ELEMENTWISE);
	return 0;
}
