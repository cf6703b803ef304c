/* What TraceLens counts for an operator where that is not what we count: every element of every
 * argument whatever its strides, one result of a reduction whatever its dimensions, weights and
 * statistics by channel of a norm, both gradients of a convolution, copies between host and device
 * as traffic of the device's memory. */
#include "like/like.h"

#include <math.h>

#include "base/test.h"

typedef struct row row;
typedef bool count_fn(const row *r, const assay_op_args *args, assay_work *w);

struct row {
	const char *name;
	count_fn *count;
	int8_t x, shape, mask; /* where they stand; shape: -1: the channels are its second dim */
};

/* NAN where its table has no such type. */
static double width_of(const assay_op_args *args, int i)
{
	static const assay_dtype unknown[] = {ASSAY_DTYPE_NONE,      ASSAY_DTYPE_BOOL,
					      ASSAY_DTYPE_INT16,     ASSAY_DTYPE_E5M2FNUZ,
					      ASSAY_DTYPE_UINT16,    ASSAY_DTYPE_UINT32,
					      ASSAY_DTYPE_UINT64,    ASSAY_DTYPE_COMPLEX32,
					      ASSAY_DTYPE_COMPLEX64, ASSAY_DTYPE_COMPLEX128};
	const assay_tensor *t = assay_arg_tensor(args, i);
	if (!t)
		return (size_t)i < args->n && args->arg[i].kind == ASSAY_ARG_VALUE ? 4 : NAN;
	for (size_t k = 0; k < ASSAY_COUNT_OF(unknown); k++)
		if (t->type == unknown[k])
			return NAN;
	return assay_dtype_bytes(t->type);
}

/* Numbers are tensors of one element to it. */
static double elements_of(const assay_op_args *args, int i)
{
	const assay_tensor *t = assay_arg_tensor(args, i);
	return t ? assay_tensor_elements(t) : 1;
}

static bool has_dims(const assay_op_args *args, int i)
{
	const assay_tensor *t = assay_arg_tensor(args, i);
	return t && t->rank;
}

static bool unary(const row *r, const assay_op_args *args, assay_work *w)
{
	(void)r;
	double in = width_of(args, 0);
	w->flops = elements_of(args, 0);
	w->bytes = w->flops * (in + (has_dims(args, 1) ? width_of(args, 1) : in));
	return true;
}

static double broadcast_elements(const assay_tensor *a, const assay_tensor *b)
{
	double n = 1;
	for (uint32_t i = 0; i < (a->rank > b->rank ? a->rank : b->rank); i++) {
		int64_t of_a = i < a->rank ? a->dim[a->rank - 1 - i] : 1,
			of_b = i < b->rank ? b->dim[b->rank - 1 - i] : 1;
		n *= (double)(of_a > of_b ? of_a : of_b);
	}
	return n;
}

static bool binary(const row *r, const assay_op_args *args, assay_work *w)
{
	(void)r;
	static const assay_tensor number = {0};
	const assay_tensor *a = assay_arg_tensor(args, 0), *b = assay_arg_tensor(args, 1);
	double of_a = width_of(args, 0), of_b = width_of(args, 1), made = of_a;
	if (has_dims(args, 2))
		made = width_of(args, 2);
	else if (has_dims(args, 0) && has_dims(args, 1) && of_b > of_a)
		made = of_b;
	w->flops = broadcast_elements(a ? a : &number, b ? b : &number);
	w->bytes = elements_of(args, 0) * of_a + elements_of(args, 1) * of_b + w->flops * made;
	return true;
}

static bool reduction(const row *r, const assay_op_args *args, assay_work *w)
{
	w->flops = elements_of(args, r->x);
	w->bytes = (w->flops + 1) * width_of(args, r->x);
	return true;
}

static bool running(const row *r, const assay_op_args *args, assay_work *w)
{
	w->flops = elements_of(args, r->x);
	w->bytes = 2 * w->flops * width_of(args, r->x);
	return true;
}

/* Elements that share weights and statistics' places: the product of the normalised shape, or the
 * second dimension. */
static double channels_of(const row *r, const assay_op_args *args)
{
	int64_t shape[16];
	double n = 1;
	const assay_tensor *x = assay_arg_tensor(args, r->x);
	if (r->shape < 0)
		return x && x->rank > 1 ? (double)x->dim[1] : 0;
	size_t dims = assay_arg_numbers(args, r->shape, shape, ASSAY_COUNT_OF(shape));
	for (size_t i = 0; i < dims; i++)
		n *= (double)shape[i];
	return dims ? n : 0;
}

static bool norm(const row *r, const assay_op_args *args, assay_work *w)
{
	double n = elements_of(args, r->x), c = channels_of(r, args), width = width_of(args, r->x);
	w->flops = 5 * n + 6 * c;
	w->bytes = (2 * n + 6 * c) * width;
	return c > 0;
}

static bool rms_norm(const row *r, const assay_op_args *args, assay_work *w)
{
	double n = elements_of(args, r->x), c = channels_of(r, args), width = width_of(args, r->x);
	w->flops = n / c * (2 * c + 2) + 2 * n;
	w->bytes = (2 * n + c) * width;
	return c > 0;
}

/* weights: gradients of weight and bias are written as well. */
static bool norm_gradient(double n, double c, double width, bool for_x, int weights, assay_work *w)
{
	w->flops = n * (4 + (for_x ? 5 : 2));
	w->bytes = (n * (for_x ? 3 : 2) + c * (1 + (weights ? 1 + weights : 0))) * width;
	return c > 0;
}

static bool layer_norm_backward(const row *r, const assay_op_args *args, assay_work *w)
{
	bool for_w = assay_arg_flag_of(args, r->mask, 1, true),
	     for_b = assay_arg_flag_of(args, r->mask, 2, true);
	return norm_gradient(elements_of(args, r->x), channels_of(r, args), width_of(args, r->x),
			     assay_arg_flag_of(args, r->mask, 0, true), for_w ? 1 + for_b : 0, w);
}

static bool batch_norm_backward(const row *r, const assay_op_args *args, assay_work *w)
{
	return norm_gradient(elements_of(args, r->x), channels_of(r, args), width_of(args, r->x),
			     true, 2, w);
}

static bool group_norm_backward(const row *r, const assay_op_args *args, assay_work *w)
{
	double groups;
	return assay_arg_number(args, 8, &groups) && groups > 0 &&
	       norm_gradient(elements_of(args, r->x), channels_of(r, args) / groups,
			     width_of(args, r->x), assay_arg_flag_of(args, r->mask, 0, true), 2, w);
}

/* As if in evaluation. */
static bool library_norm_backward(const row *r, const assay_op_args *args, assay_work *w)
{
	double n = elements_of(args, r->x), c = channels_of(r, args), width = width_of(args, r->x);
	w->flops = 4 * n + 3 * c;
	w->bytes = (2 * n + c) * width;
	return c > 0;
}

static bool rms_norm_backward(const row *r, const assay_op_args *args, assay_work *w)
{
	double n = elements_of(args, r->x), c = channels_of(r, args), width = width_of(args, r->x);
	w->flops = n * (2 + (assay_arg_flag_of(args, r->mask, 0, true) ? 6 : 0) +
			(assay_arg_flag_of(args, r->mask, 1, true) ? 1 + (n > c) : 0));
	w->bytes = (3 * n + 2 * c) * width;
	return c > 0;
}

static bool convolution(const row *r, const assay_op_args *args, assay_work *w)
{
	(void)r;
	const assay_tensor *bias = assay_arg_tensor(args, 2);
	w->bytes -= bias ? assay_tensor_bytes(bias) : 0;
	return true;
}

static bool convolution_backward(const row *r, const assay_op_args *args, assay_work *w)
{
	int asked = assay_arg_flag_of(args, r->mask, 0, true) +
		    assay_arg_flag_of(args, r->mask, 1, true);
	double sums = assay_arg_flag_of(args, r->mask, 2, false) ? elements_of(args, 0) : 0;
	w->flops = 2 * (w->flops - sums) / asked;
	w->bytes = 2 * (elements_of(args, 0) + elements_of(args, 1) + elements_of(args, 2)) *
		   width_of(args, 1);
	return asked > 0;
}

/* aiter's, with a sum in front where mask says so. */
static bool row_norm(const row *r, const assay_op_args *args, assay_work *w)
{
	const assay_tensor *x = assay_arg_tensor(args, r->x);
	double n = elements_of(args, r->x), c = x && x->rank ? (double)x->dim[x->rank - 1] : 0;
	w->flops = (4 + r->mask) * n + 2 * n / c;
	return c > 0;
}

static bool gated(const row *r, const assay_op_args *args, assay_work *w)
{
	w->flops = 5 * elements_of(args, r->x);
	return true;
}

/* Without the positions. */
static bool rotary(const row *r, const assay_op_args *args, assay_work *w)
{
	double n = elements_of(args, r->x) + elements_of(args, r->x + 1);
	w->flops = 3 * n;
	w->bytes = 2 * n * width_of(args, r->x);
	return true;
}

/* Without the places. */
static bool stored(const row *r, const assay_op_args *args, assay_work *w)
{
	w->flops = 0;
	w->bytes =
		2 * (elements_of(args, r->x) + elements_of(args, r->x + 1)) * width_of(args, r->x);
	return true;
}

/* Half of a causal square. at: x: the longest sequence, mask: causal or not. */
static bool half_square(const row *r, const assay_op_args *args, assay_work *w)
{
	double longest;
	if (assay_arg_number(args, r->x, &longest) && assay_arg_flag(args, r->mask, false))
		w->flops *= longest / (longest + 1);
	return true;
}

/* The first pointer of an element-wise kernel is written once more; elements of fp32 and of
 * integers are none in its table of types. */
static bool triton(const row *r, const assay_op_args *args, assay_work *w)
{
	static const struct {
		assay_dtype type;
		double bytes;
	} sizes[] = {{ASSAY_DTYPE_HALF, 2}, {ASSAY_DTYPE_BFLOAT16, 2}};
	double results = 0, first = -1, each;
	w->bytes = 0;
	for (size_t i = 0; i < args->n; i++) {
		const assay_tensor *t = assay_arg_tensor(args, (int)i);
		double width = 0;
		if (!t && assay_arg_number(args, (int)i, &each))
			results = each;
		if (!t || !t->rank)
			continue;
		for (size_t k = 0; k < ASSAY_COUNT_OF(sizes); k++)
			width = t->type == sizes[k].type ? sizes[k].bytes : width;
		w->bytes += assay_tensor_elements(t) * width;
		first = first < 0 ? width : first;
	}
	if (first > 0 && r->x) /* element by element */
		w->bytes += first * results;
	return true;
}

/* A star at the end stands for any rest. */
static const row rows[] = {
	{.name = "aten::copy_", .count = unary},
	{.name = "aten::clamp_min", .count = unary},
	{.name = "aten::clamp_min_", .count = unary},
	{.name = "aten::clamp_max", .count = unary},
	{.name = "aten::clamp_max_", .count = unary},
	{.name = "aten::sigmoid", .count = unary},
	{.name = "aten::rsqrt", .count = unary},
	{.name = "aten::silu", .count = unary},
	{.name = "aten::neg", .count = unary},
	{.name = "aten::pow", .count = unary},
	{.name = "aten::div", .count = binary},
	{.name = "aten::div_", .count = binary},
	{.name = "aten::mul", .count = binary},
	{.name = "aten::mul_", .count = binary},
	{.name = "aten::add", .count = binary},
	{.name = "aten::add_", .count = binary},
	{.name = "aten::sigmoid_backward", .count = binary},
	{.name = "aten::threshold_backward", .count = binary},
	{.name = "aten::sum", .count = reduction},
	{.name = "aten::mean", .count = reduction},
	{.name = "aten::max", .count = reduction},
	{.name = "aten::min", .count = reduction},
	{.name = "aten::norm", .count = reduction},
	{.name = "aten::linalg_norm", .count = reduction},
	{.name = "aten::std", .count = reduction},
	{.name = "aten::var", .count = reduction},
	{.name = "aten::logsumexp", .count = reduction},
	{.name = "aten::amin", .count = reduction},
	{.name = "aten::amax", .count = reduction},
	{.name = "aten::cumsum", .count = running},
	{.name = "aten::cumprod", .count = running},
	{.name = "aten::layer_norm", .count = norm, .shape = 1},
	{.name = "aten::native_layer_norm", .count = norm, .shape = 1},
	{.name = "aten::batch_norm", .count = norm, .shape = -1},
	{.name = "aten::native_batch_norm", .count = norm, .shape = -1},
	{.name = "aten::miopen_batch_norm", .count = norm, .shape = -1},
	{.name = "aten::cudnn_batch_norm", .count = norm, .shape = -1},
	{.name = "aten::group_norm", .count = norm, .shape = -1},
	{.name = "aten::native_group_norm", .count = norm, .shape = -1},
	{.name = "aten::_fused_rms_norm", .count = rms_norm, .shape = 1},
	{.name = "aten::native_layer_norm_backward",
	 .count = layer_norm_backward,
	 .x = 1,
	 .shape = 2,
	 .mask = 7},
	{.name = "aten::native_batch_norm_backward",
	 .count = batch_norm_backward,
	 .x = 1,
	 .shape = -1},
	{.name = "aten::native_group_norm_backward",
	 .count = group_norm_backward,
	 .x = 1,
	 .shape = -1,
	 .mask = 9},
	{.name = "aten::miopen_batch_norm_backward", .count = library_norm_backward, .shape = -1},
	{.name = "aten::cudnn_batch_norm_backward", .count = library_norm_backward, .shape = -1},
	{.name = "aten::_fused_rms_norm_backward",
	 .count = rms_norm_backward,
	 .x = 1,
	 .shape = 2,
	 .mask = 5},
	{.name = "aten::convolution", .count = convolution},
	{.name = "aten::convolution_backward", .count = convolution_backward, .mask = 10},
	{.name = "aiter::_groupnorm_run", .count = norm, .shape = -1},
	{.name = "aiter::rmsnorm", .count = row_norm, .x = 1},
	{.name = "aiter::add_rmsnorm", .count = row_norm, .x = 1, .mask = 1},
	{.name = "sgl_kernel::silu_and_mul", .count = gated},
	{.name = "sgl_kernel::rotary_embedding", .count = rotary, .x = 1},
	{.name = "sglang::store_cache", .count = stored},
	{.name = "aiter::mha_batch_prefill", .count = half_square, .x = 6, .mask = 12},
	{.name = "triton_poi_*", .count = triton, .x = 1},
	{.name = "triton_red_*", .count = triton},
	{.name = "triton_per_*", .count = triton},
};

void assay_tracelens_work(assay_str name, const assay_op_args *args, assay_work *w)
{
	for (size_t i = 0; i < ASSAY_COUNT_OF(rows); i++) {
		assay_work theirs = *w;
		size_t n = strlen(rows[i].name);
		bool open = rows[i].name[n - 1] == '*',
		     named = open ? name.n >= n && !memcmp(name.p, rows[i].name, n - 1)
				  : assay_str_is(name, rows[i].name);
		if (named && rows[i].count(&rows[i], args, &theirs))
			*w = theirs;
	}
}

/* From its stored tables; ours is what we count, where its count starts from that. */
TEST(tracelens_counts_norms_reductions_and_copies_its_own_way)
{
	static const struct {
		const char *name, *dims, *types, *values;
		double ours, flops, bytes;
	} cases[] = {
		{"aten::layer_norm", "[[16, 512, 1024], [], [1024], [1024], [], []]",
		 "[\"float\", \"ScalarList\", \"float\", \"float\", \"Scalar\", \"Scalar\"]",
		 "[\"\", \"[1024]\", \"\", \"\", \"1e-05\", \"True\"]", 0, 41949184, 67133440},
		{"aten::batch_norm", "[[10, 64, 56, 56], [64], [64], [64], [64]]",
		 "[\"float\", \"float\", \"float\", \"float\", \"float\"]", "[]", 0, 10035584,
		 16057856},
		{"aten::native_batch_norm_backward",
		 "[[10, 64, 112, 112], [10, 64, 112, 112], [64], [64], [64], [64], [64]]",
		 "[\"c10::Half\", \"c10::Half\", \"float\", \"float\", \"float\", \"float\", \"float\"]",
		 "[]", 0, 72253440, 48169472},
		{"aten::sum", "[[8192, 1024], [], [], []]",
		 "[\"c10::BFloat16\", \"ScalarList\", \"Scalar\", \"\"]",
		 "[\"\", \"[0]\", \"True\", \"\"]", 0, 8388608, 16777218},
		{"aten::copy_", "[[16, 559, 1024], [16, 559, 1024], []]",
		 "[\"float\", \"c10::BFloat16\", \"Scalar\"]", "[]", 0, 9158656, 54951936},
		{"aten::mul", "[[16, 559, 1024], [16, 559, 1]]", "[\"float\", \"float\"]", "[]", 0,
		 9158656, 73305024},
		{"triton_poi_fused__unsafe_view_mul_silu_2", "[[8, 4096, 8192], [32768, 8192], []]",
		 "[\"c10::BFloat16\", \"c10::BFloat16\", \"Scalar\"]",
		 "[\"\", \"\", \"268435456\"]", 7, 7, 1610612736},
		{"aten::convolution_backward",
		 "[[10, 64, 112, 112], [10, 3, 224, 224], [64, 3, 7, 7], [], [], [], [], [], [], [], []]",
		 "[\"c10::Half\", \"c10::Half\", \"c10::Half\", \"\", \"\", \"\", \"\", \"\", \"\", \"\", \"\"]",
		 "[\"\", \"\", \"\", \"\", \"[2, 2]\", \"[3, 3]\", \"[1, 1]\", \"False\", \"[0, 0]\", \"1\", \"[False, True, False]\"]",
		 2360279040, 4720558080, 38171392},
	};
	for (size_t i = 0; i < ASSAY_COUNT_OF(cases); i++) {
		assay_arena a = {0};
		assay_op_args args;
		assay_work w = {.flops = cases[i].ours, .bytes = NAN};
		const char *members = assay_printf(
			&a, "\"Input Dims\": %s, \"Input type\": %s, \"Concrete Inputs\": %s",
			cases[i].dims, cases[i].types, cases[i].values);
		CHECK(assay_op_args_parse(&args, &a, assay_str_of(members)));
		assay_tracelens_work(assay_str_of(cases[i].name), &args, &w);
		if (w.flops != cases[i].flops || w.bytes != cases[i].bytes)
			fprintf(stderr, "%s: %.0f operations, %.0f bytes\n", cases[i].name, w.flops,
				w.bytes);
		CHECK(w.flops == cases[i].flops && w.bytes == cases[i].bytes);
		assay_arena_free(&a);
	}
	return 0;
}
