/* The rows of roles.def, in order, and what words cannot say. */
#include "names/roles.h"

#include "base/test.h"

static const struct {
	const char *word, *and;
	uint8_t role;
} roles[] = {
#define ROLE(role, word, and) {word, and, ASSAY_ROLE_##role},
#include "names/roles.def"
#undef ROLE
};

/* softmax_warp_forward<input, output, accumulator, log2 of the row, is it the logarithm, masked> */
static bool is_log_softmax(assay_str name)
{
	static const char start[] = "softmax_warp_";
	ptrdiff_t at = assay_str_find(name, start);
	assay_str rest = at < 0 ? (assay_str){0} : (assay_str){name.p + at, name.n - (size_t)at};
	for (int i = 0; i < 4; i++)
		assay_str_cut(&rest, ',');
	return assay_str_is(assay_str_trim(assay_str_cut(&rest, ',')), "true");
}

/* Inductor names a kernel after the operators in it, then a number: nothing but this one. */
static assay_role role_of_compiled(assay_str name)
{
	static const struct {
		const char *start;
		assay_role role;
	} alone[] = {
		{"triton_poi_fused__to_copy_", ASSAY_ROLE_CAST},
		{"triton_poi_fused_cat_", ASSAY_ROLE_JOIN},
		{"triton_poi_fused_stack_", ASSAY_ROLE_JOIN},
		{"triton_poi_fused_constant_pad_nd_", ASSAY_ROLE_JOIN},
		{"triton_poi_fused_clone_", ASSAY_ROLE_COPY},
		{"triton_poi_fused_copy_", ASSAY_ROLE_COPY},
		{"triton_poi_fused_index_", ASSAY_ROLE_GATHER},
		{"triton_poi_fused_embedding_", ASSAY_ROLE_LOOK_UP},
	};
	for (size_t i = 0; i < ASSAY_COUNT_OF(alone); i++)
		if (assay_str_starts(name, alone[i].start) &&
		    strlen(alone[i].start) + assay_digits_last(name) == name.n)
			return alone[i].role;
	return ASSAY_ROLE_NONE;
}

assay_role assay_role_of_kernel(assay_str name)
{
	assay_role compiled = role_of_compiled(name);
	if (compiled)
		return compiled;
	for (size_t i = 0; i < ASSAY_COUNT_OF(roles); i++)
		if (assay_str_find_nocase(name, roles[i].word) >= 0 &&
		    (!roles[i].and || assay_str_find_nocase(name, roles[i].and) >= 0))
			return is_log_softmax(name) ? ASSAY_ROLE_NONE : (assay_role)roles[i].role;
	return ASSAY_ROLE_NONE;
}

TEST(kernel_names_tell_softmax_casts_and_updates)
{
	static const struct {
		const char *name;
		assay_role role;
	} cases[] = {
		{"void (anonymous namespace)::softmax_warp_forward<c10::BFloat16, c10::BFloat16, float, 11, false, false>(c10::BFloat16*, int)",
		 ASSAY_ROLE_SOFTMAX},
		{"void (anonymous namespace)::softmax_warp_backward<float, float, float, 10, true, false>(float*, float const*)",
		 ASSAY_ROLE_NONE},
		{"void at::native::(anonymous namespace)::cunn_SoftMaxForwardReg<c10::BFloat16, float, c10::BFloat16, at::native::(anonymous namespace)::SoftMaxForwardEpilogue>",
		 ASSAY_ROLE_SOFTMAX},
		{"void at::native::(anonymous namespace)::cunn_SoftMaxForward<4, float, float, float, at::native::(anonymous namespace)::LogSoftMaxForwardEpilogue>",
		 ASSAY_ROLE_NONE},
		{"scaled_upper_triang_masked_softmax_warp_forward<__half, __half, float, 10>",
		 ASSAY_ROLE_SOFTMAX},
		{"triton_per_fused__softmax_add_div_4", ASSAY_ROLE_SOFTMAX},
		{"void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<int>>",
		 ASSAY_ROLE_FILL},
		{"__amd_rocclr_fillBufferAligned", ASSAY_ROLE_FILL},
		{"BatchPrefillWithPagedKVCacheKernel", ASSAY_ROLE_NONE},
		{"void vllm::moe::topkGatingSoftmax<4, 32, 4, 16>", ASSAY_ROLE_NONE},
		{"triton_softmax_7", ASSAY_ROLE_NONE},
		{"void at::native::vectorized_elementwise_kernel<8, at::native::bfloat16_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda(float)#1}>",
		 ASSAY_ROLE_CAST},
		{"void at::native::vectorized_elementwise_kernel<8, at::native::bfloat16tofloat32_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda(float)#1}>",
		 ASSAY_ROLE_CAST},
		{"void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&), at::native::memory::LoadWithCast<1> >",
		 ASSAY_ROLE_CAST},
		{"void at::native::vectorized_elementwise_kernel<4, at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)>",
		 ASSAY_ROLE_COPY},
		{"void at::native::(anonymous namespace)::CatArrayBatchedCopy<at::native::(anonymous namespace)::OpaqueType<2u>, unsigned int, 4, 64, 64>",
		 ASSAY_ROLE_JOIN},
		{"void at::native::index_elementwise_kernel<128, 4, at::native::gpu_index_kernel<at::native::index_kernel_impl<at::native::OpaqueType<2>>>>",
		 ASSAY_ROLE_GATHER},
		{"void at::native::index_elementwise_kernel<128, 4, at::native::gpu_index_kernel<at::native::index_put_kernel_impl<at::native::OpaqueType<2>>>>",
		 ASSAY_ROLE_NONE},
		{"triton_poi_fused_cat_3", ASSAY_ROLE_JOIN},
		{"triton_poi_fused_cat_mul_3", ASSAY_ROLE_NONE},
		{"loop_concatenate_fusion_2", ASSAY_ROLE_NONE},
		{"void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)>",
		 ASSAY_ROLE_LAYOUT},
		{"triton_poi_fused__to_copy_12", ASSAY_ROLE_CAST},
		{"triton_poi_fused__to_copy_add_12", ASSAY_ROLE_NONE},
		{"void vllm::dynamic_scaled_fp8_quant_kernel<c10::BFloat16>", ASSAY_ROLE_NONE},
		{"void multi_tensor_apply_kernel<TensorListMetadata<4>, AdamFunctor<float, float>>",
		 ASSAY_ROLE_FUSED_UPDATE},
		{"void at::native::multi_tensor_apply_kernel<FusedOptimizerTensorListMetadata<4>, FusedAdamMathFunctor<float, 4>>",
		 ASSAY_ROLE_FUSED_UPDATE},
		{"void at::native::multi_tensor_apply_kernel<TensorListMetadata<2>, TernaryOpScalarFunctor<float, 2, 2, 0>, LerpFunctor<float>>",
		 ASSAY_ROLE_LIST_UPDATE},
		{"nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TNT", ASSAY_ROLE_NONE},
	};
	for (size_t i = 0; i < ASSAY_COUNT_OF(cases); i++)
		if (assay_role_of_kernel(assay_str_of(cases[i].name)) != cases[i].role) {
			fprintf(stderr, "%s\n", cases[i].name);
			return 1;
		}
	return 0;
}
