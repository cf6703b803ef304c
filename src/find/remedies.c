/* What to do about an advice, as it fits the program: its framework, its vendor, what it
 * computes. */
#include "base/test.h"
#include "find/advice.h"
#include "model/by_hand.h"
#include "work/compute.h"
#include "work/rates.h"

/* PyTorch's scaled_dot_product_attention in pieces: since 2.5 its softmax looks for rows without
 * anything to attend to, which nothing else does. */
static bool has_math_attention(const assay_run *run)
{
	const assay_kernel_table *k = &run->part.t.kernel;
	for (size_t i = 0; i < k->n; i++)
		if (assay_str_find(assay_text(run, k->name[i]), "isneginf_kernel") >= 0)
			return true;
	return false;
}

static bool has_family(const assay_run *run, assay_family family)
{
	const assay_kernel_table *k = &run->part.t.kernel;
	for (size_t i = 0; i < k->n; i++)
		if (k->family[i] == family)
			return true;
	return false;
}

static bool has_whole_tiles(const assay_tensor *t)
{
	enum { TILE = 64 };
	return (t->rank < 1 || t->dim[t->rank - 1] % TILE == 0) &&
	       (t->rank < 2 || t->dim[t->rank - 2] % TILE == 0);
}

/* A product of matrices whose sides all are multiples of a tile's. */
static bool fills_tiles(const assay_run *run, uint32_t shape)
{
	assay_arena a = {0};
	assay_op_args args;
	bool known = shape != ASSAY_NO_ROW &&
		     run->part.t.op_shape.class[shape] == ASSAY_WORK_GEMM &&
		     assay_shape_args(run, shape, &a, &args);
	bool sides = false, fills = true;
	for (size_t i = 0; known && i < args.n; i++)
		for (size_t k = 0; k < args.arg[i].n; k++) {
			sides |= args.arg[i].tensor[k].rank > 0;
			fills &= has_whole_tiles(&args.arg[i].tensor[k]);
		}
	assay_arena_free(&a);
	return sides && fills;
}

static const char *for_slow_products(const assay_run *run, const assay_find_ctx *c,
				     const assay_advice *v)
{
	if (!fills_tiles(run, v->shape))
		return v->fix;
	return c->framework == ASSAY_FRAMEWORK_JAX
		       ? "their sizes fill tiles already: other kernels for them (--xla_gpu_exhaustive_tiling_search=true), or several products of one kind as one larger product"
	       : c->vendor == ASSAY_VENDOR_AMD
		       ? "their sizes fill tiles already: other kernels for them (PYTORCH_TUNABLEOP_ENABLED=1, tuned tables of hipBLASLt or aiter)"
		       : "their sizes fill tiles already: other kernels for them (torch.compile with mode=\"max-autotune\", a newer cuBLAS), or several products of one kind as one larger product";
}

/* Compilers fuse what they see. */
static const char *for_chains(const assay_run *run, const assay_find_ctx *c, const assay_advice *v)
{
	(void)run;
	return c->framework == ASSAY_FRAMEWORK_COMPILED
		       ? "bring it into the compiled part: graph breaks (torch._dynamo.explain), custom operators; else fused kernels for it"
	       : c->framework == ASSAY_FRAMEWORK_JAX ? "jit the whole step, so that XLA sees it"
	       : c->framework == ASSAY_FRAMEWORK_ANY
		       ? "one kernel that reads and writes once (cupy.fuse, an ElementwiseKernel, Triton, Numba)"
		       : v->fix;
}

static const char *for_attention(const assay_run *run, const assay_find_ctx *c,
				 const assay_advice *v)
{
	(void)c;
	return has_math_attention(run)
		       ? "scaled_dot_product_attention runs its math backend: no sdpa_kernel(SDPBackend.MATH) or enable_flash_sdp(False), inputs in bfloat16 or float16, a mask that fused kernels take"
		       : v->fix;
}

/* The type that the device has beside fp32, as far as its rates are known. */
static assay_math beside_fp32(const assay_run *run)
{
	const assay_roof_table *r = &run->part.t.roof;
	double peak[ASSAY_MATH_COUNT] = {0};
	if (!r->n)
		return ASSAY_MATH_FP32;
	peak[ASSAY_MATH_FP32] = r->fp32[0];
	peak[ASSAY_MATH_TF32] = r->tf32[0];
	peak[ASSAY_MATH_BF16] = r->bf16[0];
	peak[ASSAY_MATH_FP16] = r->fp16[0];
	return assay_rates_beside_fp32(peak);
}

/* By the type that the device has, and who asks for the products. */
static const char *const cheaper_type[][3] = {
	[ASSAY_MATH_TF32] =
		{"no precision=\"highest\"; jax.default_matmul_precision(\"tensorfloat32\"), or bfloat16 arrays",
		 NULL,
		 "tf32 as the math mode of the library (cublasSetMathMode; in PyTorch torch.set_float32_matmul_precision(\"high\")), or half types"},
	[ASSAY_MATH_BF16] =
		{"bfloat16 arrays: the device has no tf32 that is faster than fp32",
		 "autocast(bfloat16): the device has no tf32 that is faster than fp32",
		 "matrices in bfloat16, sums in fp32 (GemmEx; in PyTorch autocast(bfloat16)): the device has no tf32 that is faster than fp32"},
	[ASSAY_MATH_FP16] =
		{"float16 arrays with loss scaling: the device has neither tf32 nor bfloat16",
		 "autocast(float16) with a GradScaler: the device has neither tf32 nor bfloat16",
		 "matrices in float16, sums in fp32 (GemmEx; in PyTorch autocast(float16)): the device has neither tf32 nor bfloat16"},
};

static const char *for_fp32(const assay_run *run, const assay_find_ctx *c, const assay_advice *v)
{
	int asks = c->framework == ASSAY_FRAMEWORK_JAX   ? 0
		   : c->framework == ASSAY_FRAMEWORK_ANY ? 2
							 : 1;
	assay_math other = beside_fp32(run);
	const char *fix = cheaper_type[other == ASSAY_MATH_FP32 ? ASSAY_MATH_TF32 : other][asks];
	return fix ? fix : v->fix;
}

static const char *for_layouts(const assay_run *run, const assay_find_ctx *c, const assay_advice *v)
{
	(void)c;
	return has_family(run, ASSAY_FAMILY_CONV)
		       ? v->fix
		       : "leave out contiguous() behind permute and transpose where the next operator takes strides; write results in the layout they are read in";
}

static const char *for_casts(const assay_run *run, const assay_find_ctx *c, const assay_advice *v)
{
	(void)run;
	return c->framework == ASSAY_FRAMEWORK_SERVING
		       ? "keep weights and what lies between layers in the type they are used in"
		       : v->fix;
}

static const struct {
	assay_advice_kind advice;
	const char *(*choose)(const assay_run *run, const assay_find_ctx *c, const assay_advice *v);
} remedies[] = {
	{ASSAY_ADVICE_EAGER, for_attention}, {ASSAY_ADVICE_FP32, for_fp32},
	{ASSAY_ADVICE_CHAIN, for_chains},    {ASSAY_ADVICE_SHAPE, for_slow_products},
	{ASSAY_ADVICE_LAYOUT, for_layouts},  {ASSAY_ADVICE_CASTS, for_casts},
};

const char *assay_remedy_for(const assay_run *run, const assay_find_ctx *c, const assay_advice *v)
{
	for (size_t i = 0; i < ASSAY_COUNT_OF(remedies); i++)
		if (!strcmp(v->id, assay_advice_name[remedies[i].advice]))
			return remedies[i].choose(run, c, v);
	return v->fix;
}

static const char *remedy(const assay_run *run, int advice, uint32_t shape)
{
	assay_find_ctx c = {.framework = ASSAY_FRAMEWORK_SERVING};
	assay_advice v = {.id = assay_advice_name[advice], .fix = "usual", .shape = shape};
	return assay_remedy_for(run, &c, &v);
}

TEST(nobody_is_told_to_pad_what_fills_its_tiles)
{
	static const struct {
		const char *dims;
		uint8_t class;
		bool fills;
	} cases[] = {
		{"[[15360, 4096], [24576, 4096], [], []]", ASSAY_WORK_GEMM, true},
		{"[[7, 512, 64], [7, 64, 512]]", ASSAY_WORK_GEMM, true},
		{"[[50257, 768], [768, 1024]]", ASSAY_WORK_GEMM, false},
		{"[[8, 64, 64, 64], [64, 64, 3, 3]]", ASSAY_WORK_CONV, false},
		{"", ASSAY_WORK_GEMM, false},
	};
	assay_run *run = assay_run_new();
	assay_op_shape_table *o = &run->part.t.op_shape;
	for (size_t i = 0; i < ASSAY_COUNT_OF(cases); i++) {
		uint32_t row = assay_add(&run->part.t, ASSAY_T_op_shape);
		o->dims[row] = assay_sid_of(run, cases[i].dims);
		o->types[row] = assay_sid_of(run, "[\"float\", \"float\", \"\", \"\"]");
		o->class[row] = cases[i].class;
		CHECK_EQ(strcmp(remedy(run, ASSAY_ADVICE_SHAPE, row), "usual") != 0,
			 cases[i].fills);
	}
	CHECK(!strcmp(remedy(run, ASSAY_ADVICE_SHAPE, ASSAY_NO_ROW), "usual"));
	assay_run_free(run);
	return 0;
}

TEST(remedies_are_for_work_that_the_program_has)
{
	assay_run *run = assay_run_new();
	CHECK(strcmp(remedy(run, ASSAY_ADVICE_LAYOUT, ASSAY_NO_ROW), "usual") != 0);
	CHECK(strcmp(remedy(run, ASSAY_ADVICE_CASTS, ASSAY_NO_ROW), "usual") != 0);
	uint32_t k = assay_add(&run->part.t, ASSAY_T_kernel);
	run->part.t.kernel.family[k] = ASSAY_FAMILY_CONV;
	CHECK(!strcmp(remedy(run, ASSAY_ADVICE_LAYOUT, ASSAY_NO_ROW), "usual"));
	assay_run_free(run);
	return 0;
}

TEST(a_cheaper_type_is_one_that_the_device_has)
{
	assay_run *run = assay_run_new();
	uint32_t r = assay_add(&run->part.t, ASSAY_T_roof);
	run->part.t.roof.fp32[r] = 15.7e12;
	run->part.t.roof.fp16[r] = 125e12;
	CHECK(strstr(remedy(run, ASSAY_ADVICE_FP32, ASSAY_NO_ROW), "autocast(float16)"));
	run->part.t.roof.bf16[r] = 125e12;
	CHECK(strstr(remedy(run, ASSAY_ADVICE_FP32, ASSAY_NO_ROW), "autocast(bfloat16)"));
	run->part.t.roof.tf32[r] = 60e12;
	CHECK(!strcmp(remedy(run, ASSAY_ADVICE_FP32, ASSAY_NO_ROW), "usual"));
	assay_run_free(run);
	return 0;
}
