/* What a GPU event is, by its name: class (compute, communication, copy) for the split of time, and
 * family for the kernel table. Where a name says nothing, the operator that launched it may. */
#include "resolve/resolve.h"

#include "base/test.h"

/* Copy kernels that older ROCm runtimes launch instead of using a copy engine. */
static const char *const rocm_copies[] = {
	"MEMORY_COPY_HOST_TO_DEVICE",   "MEMORY_COPY_DEVICE_TO_HOST",
	"MEMORY_COPY_DEVICE_TO_DEVICE", "MEMORY_COPY_HOST_TO_HOST",
	"__amd_rocclr_copyBuffer",      "__amd_rocclr_copyBufferAligned",
	"__amd_rocclr_copyBufferRect",  "__amd_rocclr_copyBufferRectAligned",
};

static const char *const comm_words[] = {
	"nccl",
	"rccl",
	"cross_device_reduce",
	"multimem_all_reduce",
	"all_reduce",
	"allreduce",
	"msccl",
	"nvshmem",
	"rocshmem",
	"deep_ep",
};

assay_class assay_class_of_name(assay_str name)
{
	for (size_t i = 0; i < ASSAY_COUNT_OF(comm_words); i++)
		if (assay_str_find_nocase(name, comm_words[i]) >= 0)
			return ASSAY_CLASS_COMM;
	if (assay_str_ends(name, ".kd"))
		name.n -= 3;
	for (size_t i = 0; i < ASSAY_COUNT_OF(rocm_copies); i++)
		if (assay_str_is(name, rocm_copies[i]))
			return ASSAY_CLASS_COPY;
	return ASSAY_CLASS_COMPUTE;
}

/* First row whose word is in the name (any case) wins, so the specific ones come first. */
static const struct {
	const char *word;
	assay_family family;
} families[] = {
	{"nccl", ASSAY_FAMILY_COLLECTIVE},
	{"rccl", ASSAY_FAMILY_COLLECTIVE},
	{"cross_device_reduce", ASSAY_FAMILY_COLLECTIVE},
	{"multimem_all_reduce", ASSAY_FAMILY_COLLECTIVE},
	{"all_reduce", ASSAY_FAMILY_COLLECTIVE},
	{"allreduce", ASSAY_FAMILY_COLLECTIVE},
	{"reduce_scatter", ASSAY_FAMILY_COLLECTIVE},
	{"reducescatter", ASSAY_FAMILY_COLLECTIVE},
	{"all_gather", ASSAY_FAMILY_COLLECTIVE},
	{"allgather", ASSAY_FAMILY_COLLECTIVE},
	{"msccl", ASSAY_FAMILY_COLLECTIVE},
	{"nvshmem", ASSAY_FAMILY_COLLECTIVE},
	{"rocshmem", ASSAY_FAMILY_COLLECTIVE},
	{"deep_ep", ASSAY_FAMILY_COLLECTIVE},
	{"amd_rocclr_copy", ASSAY_FAMILY_COPY},
	{"memory_copy_", ASSAY_FAMILY_COPY},
	{"flash_fwd", ASSAY_FAMILY_ATTENTION},
	{"flash_bwd", ASSAY_FAMILY_ATTENTION},
	{"flash_attn", ASSAY_FAMILY_ATTENTION},
	{"fmha", ASSAY_FAMILY_ATTENTION},
	{"attn_fwd", ASSAY_FAMILY_ATTENTION},
	{"attn_bwd", ASSAY_FAMILY_ATTENTION},
	{"bwd_kernel_dk_dv", ASSAY_FAMILY_ATTENTION},
	{"bwd_kernel_dq", ASSAY_FAMILY_ATTENTION},
	{"paged_attention", ASSAY_FAMILY_ATTENTION},
	{"attention", ASSAY_FAMILY_ATTENTION},
	{"sdpa", ASSAY_FAMILY_ATTENTION},
	{"sage_fwd", ASSAY_FAMILY_ATTENTION},
	{"sage_attn", ASSAY_FAMILY_ATTENTION},
	{"mla_decode", ASSAY_FAMILY_ATTENTION},
	{"aiter::mla", ASSAY_FAMILY_ATTENTION},
	{"batch_norm", ASSAY_FAMILY_NORM},
	{"batchnorm", ASSAY_FAMILY_NORM},
	{"layer_norm", ASSAY_FAMILY_NORM},
	{"layernorm", ASSAY_FAMILY_NORM},
	{"group_norm", ASSAY_FAMILY_NORM},
	{"groupnorm", ASSAY_FAMILY_NORM},
	{"rms_norm", ASSAY_FAMILY_NORM},
	{"rmsnorm", ASSAY_FAMILY_NORM},
	{"bn_fw", ASSAY_FAMILY_NORM},
	{"bn_bw", ASSAY_FAMILY_NORM},
	{"gammabeta", ASSAY_FAMILY_NORM},
	{"rowwisemoments", ASSAY_FAMILY_NORM},
	{"miopenbatchnorm", ASSAY_FAMILY_NORM},
	{"l2norm", ASSAY_FAMILY_NORM},
	{"conv2d", ASSAY_FAMILY_CONV},
	{"convolve", ASSAY_FAMILY_CONV},
	{"convolution", ASSAY_FAMILY_CONV},
	{"implicit_gemm", ASSAY_FAMILY_CONV},
	{"wgrad", ASSAY_FAMILY_CONV},
	{"dgrad", ASSAY_FAMILY_CONV},
	{"fprop", ASSAY_FAMILY_CONV},
	{"winograd", ASSAY_FAMILY_CONV},
	{"igemm_", ASSAY_FAMILY_CONV},
	{"asmconv", ASSAY_FAMILY_CONV},
	{"miopenconv", ASSAY_FAMILY_CONV},
	{"naive_conv", ASSAY_FAMILY_CONV},
	{"grouped_conv", ASSAY_FAMILY_CONV},
	{"depthwise", ASSAY_FAMILY_CONV},
	{"im2col", ASSAY_FAMILY_CONV},
	{"im2d2col", ASSAY_FAMILY_CONV},
	{"col2im", ASSAY_FAMILY_CONV},
	{"cijk_", ASSAY_FAMILY_GEMM},
	{"gemm", ASSAY_FAMILY_GEMM},
	{"gemv", ASSAY_FAMILY_GEMM},
	{"matmul", ASSAY_FAMILY_GEMM},
	{"nvjet", ASSAY_FAMILY_GEMM},
	{"cutlass", ASSAY_FAMILY_GEMM},
	{"xmma", ASSAY_FAMILY_GEMM},
	{"splitkreduce", ASSAY_FAMILY_GEMM},
	{"hipblaslt", ASSAY_FAMILY_GEMM},
	{"dot_kernel", ASSAY_FAMILY_GEMM},
	{"bmm_", ASSAY_FAMILY_GEMM},
	{"triton_mm", ASSAY_FAMILY_GEMM},
	{"triton_tem_", ASSAY_FAMILY_GEMM},
	{"wmma", ASSAY_FAMILY_GEMM},
	{"fused_moe_kernel", ASSAY_FAMILY_GEMM},
	{"_mm_kernel", ASSAY_FAMILY_GEMM},
	{"multi_tensor_apply", ASSAY_FAMILY_OPTIMIZER},
	{"multitensorapply", ASSAY_FAMILY_OPTIMIZER},
	{"fusedadam", ASSAY_FAMILY_OPTIMIZER},
	{"adam", ASSAY_FAMILY_OPTIMIZER},
	{"embedding", ASSAY_FAMILY_EMBEDDING},
	{"indexselect", ASSAY_FAMILY_EMBEDDING},
	{"index_put", ASSAY_FAMILY_EMBEDDING},
	{"indexing_backward", ASSAY_FAMILY_EMBEDDING},
	{"gather_kernel", ASSAY_FAMILY_EMBEDDING},
	{"scatter_gather", ASSAY_FAMILY_EMBEDDING},
	{"softmax", ASSAY_FAMILY_REDUCTION},
	{"reduce_kernel", ASSAY_FAMILY_REDUCTION},
	{"reduction", ASSAY_FAMILY_REDUCTION},
	{"triton_red_", ASSAY_FAMILY_REDUCTION},
	{"triton_per_", ASSAY_FAMILY_REDUCTION},
	{"nll_loss", ASSAY_FAMILY_REDUCTION},
	{"cross_entropy", ASSAY_FAMILY_REDUCTION},
	{"pool_forward", ASSAY_FAMILY_REDUCTION},
	{"pool_backward", ASSAY_FAMILY_REDUCTION},
	{"avg_pool", ASSAY_FAMILY_REDUCTION},
	{"max_pool", ASSAY_FAMILY_REDUCTION},
	{"scan_", ASSAY_FAMILY_REDUCTION},
	{"topk", ASSAY_FAMILY_REDUCTION},
	{"argmax", ASSAY_FAMILY_REDUCTION},
	{"reduce", ASSAY_FAMILY_REDUCTION},
	{"elementwise", ASSAY_FAMILY_ELEMENTWISE},
	{"triton_poi_", ASSAY_FAMILY_ELEMENTWISE},
	{"fillfunctor", ASSAY_FAMILY_ELEMENTWISE},
	{"catarraybatchedcopy", ASSAY_FAMILY_ELEMENTWISE},
	{"transpose", ASSAY_FAMILY_ELEMENTWISE},
	{"tensorop", ASSAY_FAMILY_ELEMENTWISE},
	{"dropout", ASSAY_FAMILY_ELEMENTWISE},
	{"act_and_mul", ASSAY_FAMILY_ELEMENTWISE},
	{"upsample", ASSAY_FAMILY_ELEMENTWISE},
	{"rotary", ASSAY_FAMILY_ELEMENTWISE},
	{"kvcache", ASSAY_FAMILY_ELEMENTWISE},
	{"reshape_and_cache", ASSAY_FAMILY_ELEMENTWISE},
	{"copy_kernel", ASSAY_FAMILY_ELEMENTWISE},
	{"quant", ASSAY_FAMILY_ELEMENTWISE},
};

assay_family assay_family_of_name(assay_str name)
{
	for (size_t i = 0; i < ASSAY_COUNT_OF(families); i++)
		if (assay_str_find_nocase(name, families[i].word) >= 0)
			return families[i].family;
	return ASSAY_FAMILY_OTHER;
}

/* Operators whose kernels often have names of their own. */
static const struct {
	const char *op;
	assay_family family;
} op_families[] = {
	{"aten::mm", ASSAY_FAMILY_GEMM},
	{"aten::addmm", ASSAY_FAMILY_GEMM},
	{"aten::bmm", ASSAY_FAMILY_GEMM},
	{"aten::baddbmm", ASSAY_FAMILY_GEMM},
	{"aten::linear", ASSAY_FAMILY_GEMM},
	{"aten::matmul", ASSAY_FAMILY_GEMM},
	{"aten::_scaled_mm", ASSAY_FAMILY_GEMM},
	{"aten::_grouped_mm", ASSAY_FAMILY_GEMM},
	{"aten::_scaled_dot_product", ASSAY_FAMILY_ATTENTION},
	{"aten::scaled_dot_product", ASSAY_FAMILY_ATTENTION},
	{"aten::_flash_attention", ASSAY_FAMILY_ATTENTION},
	{"aten::_efficient_attention", ASSAY_FAMILY_ATTENTION},
	{"flash_attn::", ASSAY_FAMILY_ATTENTION},
	{"aten::convolution", ASSAY_FAMILY_CONV},
	{"aten::cudnn_convolution", ASSAY_FAMILY_CONV},
	{"aten::miopen_convolution", ASSAY_FAMILY_CONV},
	{"aten::native_layer_norm", ASSAY_FAMILY_NORM},
	{"aten::native_batch_norm", ASSAY_FAMILY_NORM},
	{"aten::native_group_norm", ASSAY_FAMILY_NORM},
	{"aten::cudnn_batch_norm", ASSAY_FAMILY_NORM},
	{"aten::miopen_batch_norm", ASSAY_FAMILY_NORM},
	{"aten::embedding", ASSAY_FAMILY_EMBEDDING},
	{"aten::_foreach", ASSAY_FAMILY_OPTIMIZER},
	{"aten::_fused_adam", ASSAY_FAMILY_OPTIMIZER},
	{"aten::sum", ASSAY_FAMILY_REDUCTION},
	{"aten::mean", ASSAY_FAMILY_REDUCTION},
	{"aten::cumsum", ASSAY_FAMILY_REDUCTION},
	{"aten::copy_", ASSAY_FAMILY_ELEMENTWISE},
	{"c10d::", ASSAY_FAMILY_COLLECTIVE},
	{"nccl:", ASSAY_FAMILY_COLLECTIVE},
};

assay_family assay_family_of_op(assay_str op)
{
	for (size_t i = 0; i < ASSAY_COUNT_OF(op_families); i++)
		if (assay_str_starts(op, op_families[i].op))
			return op_families[i].family;
	return ASSAY_FAMILY_OTHER;
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
	};
	for (size_t i = 0; i < ASSAY_COUNT_OF(cases); i++) {
		CHECK_EQ(assay_class_of_name(assay_str_of(cases[i].name)), cases[i].class);
		CHECK_EQ(assay_family_of_name(assay_str_of(cases[i].name)), cases[i].family);
	}
	CHECK_EQ(assay_family_of_op(ASSAY_S("aten::addmm")), ASSAY_FAMILY_GEMM);
	CHECK_EQ(assay_family_of_op(ASSAY_S("aten::relu")), ASSAY_FAMILY_OTHER);
	return 0;
}

TEST(classes_follow_the_names_people_compare_by)
{
	CHECK(assay_class_of_name(ASSAY_S("ncclDevKernel_Generic(ncclDevKernelArgs)")) ==
	      ASSAY_CLASS_COMM);
	CHECK(assay_class_of_name(ASSAY_S("void vllm::cross_device_reduce_1stage<...>")) ==
	      ASSAY_CLASS_COMM);
	CHECK(assay_class_of_name(ASSAY_S("__amd_rocclr_copyBuffer.kd")) == ASSAY_CLASS_COPY);
	CHECK(assay_class_of_name(ASSAY_S("__amd_rocclr_fillBufferAligned")) ==
	      ASSAY_CLASS_COMPUTE);
	CHECK(assay_class_of_name(ASSAY_S("ampere_sgemm_128x64")) == ASSAY_CLASS_COMPUTE);
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
		{"mystery", ASSAY_FAMILY_OTHER},
	};
	for (size_t i = 0; i < ASSAY_COUNT_OF(cases); i++)
		CHECK_EQ(assay_family_of_name(assay_str_of(cases[i].name)), cases[i].family);
	return 0;
}
