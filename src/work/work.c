/* The rules by name, and every one of them tested. */
#include "work/work.h"

#include <math.h>

#include "base/test.h"

#define _              -1
#define WRITES(i)      ((i) + 32)
#define UPDATES(i)     ((i) + 64)
#define MAKES(i)       ((i) + 96)
#define POSITIONS(...) ((const int8_t[]){__VA_ARGS__})
static const assay_work_rule rules[] = {
#define WORK(name, class, formula, flags, ...)                                                     \
	{name,                                                                                     \
	 ASSAY_WORK_##class,                                                                       \
	 assay_work_##formula,                                                                     \
	 flags,                                                                                    \
	 sizeof POSITIONS(__VA_ARGS__),                                                            \
	 {__VA_ARGS__}},
#include "work/work.def"
#undef WORK
};

static bool names(const char *pattern, assay_str op)
{
	size_t n = strlen(pattern);
	if (pattern[n - 1] != '*')
		return assay_str_is(op, pattern);
	return op.n >= n - 1 && !memcmp(op.p, pattern, n - 1);
}

static const assay_work_rule *find_rule(assay_str name)
{
	for (size_t i = 0; i < ASSAY_COUNT_OF(rules); i++)
		if (names(rules[i].name, name))
			return &rules[i];
	return NULL;
}

const assay_work_rule *assay_work_rule_of(assay_str name)
{
	const assay_work_rule *rule = find_rule(name);
	if (!rule && name.n > 1 && name.p[name.n - 1] == '_') /* in place: the same work */
		rule = find_rule((assay_str){name.p, name.n - 1});
	return rule;
}

bool assay_work_of(const assay_work_rule *rule, const assay_op_args *args,
		   const assay_work_hint *hint, assay_work *out)
{
	*out = (assay_work){0};
	return rule->formula(rule, args, hint, out) && isfinite(out->flops) &&
	       isfinite(out->bytes) && out->flops >= 0 && out->bytes >= 0;
}

/* Calls whose work is known, by hand or from PyTorch. */
static const struct work_case {
	const char *name, *dims, *types, *strides, *values;
	double flops, bytes;
} cases[] = {
#define CASE(name, dims, types, strides, values, flops, bytes)                                     \
	{name, dims, types, strides, values, flops, bytes},
#include "work/cases.def"
#include "work/cases_torch.def"
#include "work/cases_libraries.def"
#undef CASE
};

static bool work_of_case(const struct work_case *c, assay_work *out)
{
	assay_arena a = {0};
	assay_op_args args;
	const assay_work_hint hint = {.list_bytes = 4,
				      .rows_taken = 10,
				      .serving = true,
				      .decode = true,
				      .queries_by_keys = 1000,
				      .keys = 100};
	const char *members = assay_printf(
		&a,
		"\"Input Dims\": %s, \"Input type\": %s, \"Input Strides\": %s, \"Concrete Inputs\": %s",
		c->dims, c->types, *c->strides ? c->strides : "[]", *c->values ? c->values : "[]");
	const assay_work_rule *rule = assay_work_rule_of(assay_str_of(c->name));
	bool ok = rule && assay_op_args_parse(&args, &a, assay_str_of(members)) &&
		  assay_work_of(rule, &args, &hint, out);
	assay_arena_free(&a);
	return ok;
}

TEST(work_is_as_counted_by_hand)
{
	int wrong = 0;
	for (size_t i = 0; i < ASSAY_COUNT_OF(cases); i++) {
		const struct work_case *c = &cases[i];
		assay_work w = {0};
		bool ok = work_of_case(c, &w);
		if (ok && w.flops == c->flops && w.bytes == c->bytes)
			continue;
		fprintf(stderr, "%s %s: %.0f operations, %.0f bytes; not %.0f, %.0f\n", c->name,
			c->dims, w.flops, w.bytes, c->flops, c->bytes);
		wrong++;
	}
	CHECK(!wrong);
	return 0;
}

/* Sizes that no device has must neither hang nor overflow. */
TEST(enormous_sizes_are_harmless)
{
	static const char huge[] = "9000000000000000000";
	assay_arena a = {0};
	for (size_t r = 0; r < ASSAY_COUNT_OF(rules); r++) {
		assay_op_args args;
		assay_work w;
		const assay_work_hint hint = {.list_bytes = 4};
		for (int rank = 1; rank <= 5; rank++) {
			const char *dim = huge;
			for (int i = 1; i < rank; i++)
				dim = assay_printf(&a, "%s, %s", dim, huge);
			const char *one = assay_printf(&a, "[%s]", dim), *all = one,
				   *type = "\"float\"", *value = assay_printf(&a, "\"[%s]\"", dim),
				   *values = value;
			for (int i = 1; i < 12; i++) {
				all = assay_printf(&a, "%s, %s", all, one);
				type = assay_printf(&a, "%s, \"float\"", type);
				values = assay_printf(&a, "%s, %s", values, value);
			}
			const char *members = assay_printf(
				&a,
				"\"Input Dims\": [%s], \"Input type\": [%s], \"Concrete Inputs\": [%s]",
				all, type, values);
			CHECK(assay_op_args_parse(&args, &a, assay_str_of(members)));
			if (assay_work_of(&rules[r], &args, &hint, &w))
				CHECK(isfinite(w.flops) && isfinite(w.bytes));
		}
	}
	assay_arena_free(&a);
	return 0;
}

TEST(arguments_that_do_not_tell_give_no_work)
{
	static const struct work_case silent[] = {
		/* a result that was not yet as large as it became; a list too long to be written */
		{.name = "aten::cat",
		 .dims = "[[2048, 160, 606], [], []]",
		 .types = "[\"float\", \"TensorList\", \"Scalar\"]"},
		/* one value put into places that nothing says */
		{.name = "aten::index_put_",
		 .dims = "[[6, 2048], [], [], []]",
		 .types = "[\"float\", \"\", \"float\", \"Scalar\"]"},
		/* nothing says by how much they step */
		{.name = "aten::convolution",
		 .dims = "[[32, 3, 224, 224], [64, 3, 7, 7], [], [], [], [], [], [], []]",
		 .types =
			 "[\"float\", \"float\", \"\", \"GenericList\", \"GenericList\", \"GenericList\", \"Bool\", \"GenericList\", \"Int\"]"},
		{.name = "aten::max_pool2d_with_indices",
		 .dims = "[[32, 64, 112, 112], [], [], [], [], []]",
		 .types =
			 "[\"float\", \"GenericList\", \"GenericList\", \"GenericList\", \"GenericList\", \"Bool\"]"},
		/* no product: q and k of as many positions as a head has values */
		{.name = "triton_tem_fused_flex_attention_0",
		 .dims = "[[2, 4, 64, 64], [2, 4, 64, 64], [2, 4, 64, 64], [2, 4, 64], [2, 4, 64, 64]]",
		 .types = "[\"float\", \"float\", \"float\", \"float\", \"float\"]"},
		/* half of the pairs may be masked; nothing says how many are kept */
		{.name = "aten::_scaled_dot_product_flash_attention",
		 .dims = "[[2, 4, 256, 64], [2, 4, 256, 64], [2, 4, 256, 64], [], [], [], []]",
		 .types =
			 "[\"float\", \"float\", \"float\", \"Scalar\", \"Scalar\", \"Scalar\", \"Scalar\"]"},
		{.name = "aten::topk",
		 .dims = "[[8, 64], [], [], [], []]",
		 .types = "[\"float\", \"Scalar\", \"Scalar\", \"Scalar\", \"Scalar\"]"},
		/* columns of packed weights are those of their scales */
		{.name = "_C::awq_gemm",
		 .dims = "[[64, 4096], [4096, 128], [32, 128]]",
		 .types = "[\"c10::Half\", \"int\", \"int\"]"},
	};
	for (size_t i = 0; i < ASSAY_COUNT_OF(silent); i++) {
		struct work_case c = silent[i];
		assay_work w;
		c.strides = c.values = "";
		CHECK(!work_of_case(&c, &w));
	}
	return 0;
}

TEST(every_rule_has_a_case)
{
	for (size_t r = 0; r < ASSAY_COUNT_OF(rules); r++) {
		bool found = false;
		for (size_t i = 0; i < ASSAY_COUNT_OF(cases) && !found; i++)
			found = assay_work_rule_of(assay_str_of(cases[i].name)) == &rules[r];
		if (!found)
			fprintf(stderr, "no case for %s\n", rules[r].name);
		CHECK(found);
	}
	return 0;
}

TEST(composite_operators_are_never_counted)
{
	static const char *const composite[] = {"aten::linear",
						"aten::matmul",
						"aten::einsum",
						"aten::conv2d",
						"aten::to",
						"aten::clone",
						"aten::scaled_dot_product_attention",
						"aten::_scaled_dot_product_attention_math",
						"AddmmBackward0",
						"aten::contiguous"};
	for (size_t i = 0; i < ASSAY_COUNT_OF(composite); i++)
		CHECK(!assay_work_rule_of(assay_str_of(composite[i])));
	CHECK(assay_work_rule_of(ASSAY_S("aten::relu_")) ==
	      assay_work_rule_of(ASSAY_S("aten::relu")));
	return 0;
}
