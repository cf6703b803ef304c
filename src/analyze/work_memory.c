/* Work that memory bounds: what is read and written, each byte once. Operations are one a result;
 * they decide nothing. */
#include "analyze/work.h"

#include <math.h>

/* What at[] holds for assay_work_touch(): an argument and what happens to it (work.def). */
enum { READ = 0, WRITE = 32, UPDATE = 64, LIKE = 96, ARG_MASK = 31 };

/* Tensors read, written, read and written, or made with the size and type of another. */
bool assay_work_touch(const assay_work_rule *rule, const assay_op_args *args,
		      const assay_work_hint *hint, assay_work *out)
{
	(void)hint;
	for (int i = 0; i < rule->n; i++) {
		const assay_tensor *t = assay_arg_tensor(args, rule->at[i] & ARG_MASK);
		int how = rule->at[i] & ~ARG_MASK;
		if (!t && i == 0)
			return false;
		if (!t)
			continue;
		double n = assay_tensor_elements(t), once = assay_tensor_bytes(t);
		out->bytes += how == READ     ? once
			      : how == UPDATE ? 2 * once
					      : n * assay_dtype_bytes(t->type);
		if (how != READ)
			out->written += n * assay_dtype_bytes(t->type);
		if (how != READ && n > out->flops)
			out->flops = n;
	}
	return true;
}

/* Floating types win over integers, wider ones over narrower; fp16 with bf16 makes fp32. */
static assay_dtype promote(assay_dtype a, assay_dtype b)
{
	bool half = a == ASSAY_DTYPE_HALF || b == ASSAY_DTYPE_HALF,
	     brain = a == ASSAY_DTYPE_BFLOAT16 || b == ASSAY_DTYPE_BFLOAT16;
	if (half && brain)
		return ASSAY_DTYPE_FLOAT;
	bool a_real = assay_dtype_math(a) >= ASSAY_MATH_FP64 &&
		      assay_dtype_math(a) != ASSAY_MATH_INT8,
	     b_real = assay_dtype_math(b) >= ASSAY_MATH_FP64 &&
		      assay_dtype_math(b) != ASSAY_MATH_INT8;
	if (a_real != b_real)
		return a_real ? a : b;
	return assay_dtype_bytes(a) >= assay_dtype_bytes(b) ? a : b;
}

typedef struct broadcast {
	double elements;
	uint32_t rank;
	assay_dtype type, of_scalars;
} broadcast;

/* Dimensions count from the right; one of 1 gives way. */
static double common_dim(const assay_op_args *args, int inputs, uint32_t from_end)
{
	int64_t d = 1;
	for (int i = 0; i < inputs; i++) {
		const assay_tensor *t = assay_arg_tensor(args, i);
		if (t && from_end < t->rank && t->dim[t->rank - 1 - from_end] != 1)
			d = t->dim[t->rank - 1 - from_end];
	}
	return (double)d;
}

static bool broadcast_of(broadcast *b, const assay_op_args *args, int inputs)
{
	*b = (broadcast){.elements = 1};
	bool any = false;
	for (int i = 0; i < inputs; i++) {
		const assay_tensor *t = assay_arg_tensor(args, i);
		if (!t)
			continue;
		any = true;
		b->rank = t->rank > b->rank ? t->rank : b->rank;
		if (t->rank)
			b->type = b->type ? promote(b->type, t->type) : t->type;
		else
			b->of_scalars = t->type;
	}
	b->type = b->type ? b->type : b->of_scalars;
	for (uint32_t d = 0; d < b->rank; d++)
		b->elements *= common_dim(args, inputs, d);
	return any;
}

/* at: number of inputs, which stand first. A tensor behind them is the result. */
bool assay_work_pointwise(const assay_work_rule *rule, const assay_op_args *args,
			  const assay_work_hint *hint, assay_work *out)
{
	(void)hint;
	broadcast b;
	int inputs = rule->at[0];
	if (!broadcast_of(&b, args, inputs))
		return false;
	for (int i = 0; i < inputs; i++)
		out->bytes += assay_work_bytes(args, i);
	const assay_tensor *result = NULL;
	for (size_t i = (size_t)inputs; i < args->n; i++)
		if (assay_arg_tensor(args, (int)i) && args->arg[i].tensor->rank == b.rank)
			result = args->arg[i].tensor;
	double width = rule->flags & WORK_MAKES_BOOL ? 1 : assay_dtype_bytes(b.type);
	out->written = b.elements * (result ? assay_dtype_bytes(result->type) : width);
	out->bytes += out->written;
	out->flops = b.elements;
	return true;
}

static double asked_width(const assay_op_args *args, int dtype, double otherwise)
{
	double number, width;
	if (!assay_arg_number(args, dtype, &number) || number < 0 || number > 63)
		return otherwise;
	width = assay_dtype_bytes(assay_dtype_numbered((int64_t)number));
	return width > 0 ? width : otherwise;
}

/* at: x, dims, dtype, results a group of elements gives (values and indices). */
bool assay_work_reduce(const assay_work_rule *rule, const assay_op_args *args,
		       const assay_work_hint *hint, assay_work *out)
{
	(void)hint;
	enum { X, DIMS, DTYPE, INDICES };
	int64_t dims[16];
	const assay_tensor *x = assay_arg_tensor(args, assay_work_at(rule, X));
	double one, n, left;
	if (!x)
		return false;
	n = left = assay_tensor_elements(x);
	size_t given = assay_arg_numbers(args, assay_work_at(rule, DIMS), dims, 16);
	if (!given && assay_arg_number(args, assay_work_at(rule, DIMS), &one) &&
	    args->n > (size_t)assay_work_at(rule, DIMS) + 1 && fabs(one) < 16) {
		dims[0] = (int64_t)one; /* a single number; alone it is a type */
		given = 1;
	}
	for (size_t i = 0; i < given; i++) {
		int64_t d = dims[i] < 0 ? dims[i] + x->rank : dims[i];
		if (d >= 0 && d < x->rank && x->dim[d] > 0)
			left /= (double)x->dim[d];
	}
	double width =
		asked_width(args, given ? assay_work_at(rule, DTYPE) : assay_work_at(rule, DIMS),
			    assay_dtype_bytes(x->type));
	out->flops = n;
	out->written = (given ? left : 1) * width;
	out->bytes = assay_tensor_bytes(x) + out->written;
	if (assay_work_at(rule, INDICES) > 0)
		out->bytes += 8 * (given ? left : 1);
	return true;
}

/* at: inputs (1 forward, 2 backward), where half_to_float or the input's type stands. */
bool assay_work_softmax(const assay_work_rule *rule, const assay_op_args *args,
			const assay_work_hint *hint, assay_work *out)
{
	(void)hint;
	const assay_tensor *x = assay_arg_tensor(args, 0);
	if (!x)
		return false;
	double n = assay_tensor_elements(x), width = assay_dtype_bytes(x->type);
	for (int i = 0; i < rule->at[0]; i++)
		out->bytes += assay_work_bytes(args, i);
	if (rule->flags & WORK_BACKWARD)
		width = asked_width(args, assay_work_at(rule, 1), width);
	else if (assay_arg_flag(args, assay_work_at(rule, 1), false))
		width = 4;
	out->written = n * width;
	out->bytes += out->written;
	out->flops = 5 * n; /* maximum, difference, exponent, sum, division */
	return true;
}

static double list_elements(const assay_op_args *args, int i)
{
	double n = 0;
	for (size_t k = 0; i >= 0 && (size_t)i < args->n && k < args->arg[i].n; k++)
		n += assay_tensor_elements(&args->arg[i].tensor[k]);
	return n;
}

/* _foreach_ and fused optimizers. at: how often the first list is written, then the lists read.
 * Lists of more than 30 tensors come without shapes. */
bool assay_work_lists(const assay_work_rule *rule, const assay_op_args *args,
		      const assay_work_hint *hint, assay_work *out)
{
	double n = args->n ? list_elements(args, 0) : 0;
	if (n <= 0 || hint->list_bytes <= 0)
		return false;
	double passes = rule->at[0];
	for (int i = 1; i < rule->n; i++)
		passes += (size_t)rule->at[i] < args->n &&
			  args->arg[rule->at[i]].kind == ASSAY_ARG_TENSORS;
	out->flops = n;
	out->bytes = n * passes * hint->list_bytes;
	return true;
}

bool assay_work_concat(const assay_work_rule *rule, const assay_op_args *args,
		       const assay_work_hint *hint, assay_work *out)
{
	double n = list_elements(args, rule->at[0]);
	if (n <= 0 || hint->list_bytes <= 0)
		return false;
	out->bytes = 2 * n * hint->list_bytes;
	return true;
}

/* at: weight, indices; backward: gradient, indices, number of rows. No more rows are read than
 * there are. */
bool assay_work_embedding(const assay_work_rule *rule, const assay_op_args *args,
			  const assay_work_hint *hint, assay_work *out)
{
	(void)hint;
	const assay_tensor *w = assay_arg_tensor(args, rule->at[0]),
			   *index = assay_arg_tensor(args, rule->at[1]);
	if (!w || !index || w->rank < 1 || !w->dim[w->rank - 1])
		return false;
	double n = assay_tensor_elements(index), size = (double)w->dim[w->rank - 1], rows,
	       width = assay_dtype_bytes(w->type);
	out->bytes = assay_tensor_bytes(index);
	if (rule->flags & WORK_BACKWARD) {
		if (!assay_arg_number(args, assay_work_at(rule, 2), &rows))
			return false;
		out->bytes += assay_tensor_bytes(w) + rows * size * width;
	} else {
		rows = assay_tensor_elements(w) / size;
		out->bytes += ((n < rows ? n : rows) + n) * size * width;
	}
	return true;
}

/* at: source, index, dimension (-1: the index has the result's shape), values that are added. */
bool assay_work_gather(const assay_work_rule *rule, const assay_op_args *args,
		       const assay_work_hint *hint, assay_work *out)
{
	(void)hint;
	const assay_tensor *x = assay_arg_tensor(args, rule->at[0]),
			   *index = assay_arg_tensor(args, rule->at[1]);
	double dim, taken;
	if (!x || !index)
		return false;
	taken = assay_tensor_elements(index);
	if (assay_arg_number(args, assay_work_at(rule, 2), &dim) && x->rank) {
		double d = dim < 0 ? dim + x->rank : dim;
		if (d < 0 || d >= x->rank || !x->dim[(uint32_t)d])
			return false;
		taken *= assay_tensor_elements(x) / (double)x->dim[(uint32_t)d];
	}
	out->bytes = assay_tensor_bytes(index) + 2 * taken * assay_dtype_bytes(x->type) +
		     assay_work_bytes(args, assay_work_at(rule, 3));
	return true;
}

/* at: x, weight, bias, gradient (backward), passes over x when it is not one. Rows are what the
 * normalised shape leaves; channels stand second. */
bool assay_work_norm(const assay_work_rule *rule, const assay_op_args *args,
		     const assay_work_hint *hint, assay_work *out)
{
	(void)hint;
	enum { X, WEIGHT, BIAS, GRAD, SHAPE };
	int64_t shape[16];
	const assay_tensor *x = assay_arg_tensor(args, assay_work_at(rule, X)),
			   *grad = assay_arg_tensor(args, assay_work_at(rule, GRAD));
	if (!x || (rule->flags & WORK_BACKWARD && !grad))
		return false;
	double n = assay_tensor_elements(x), row = 1,
	       w = assay_work_bytes(args, assay_work_at(rule, WEIGHT)),
	       b = assay_work_bytes(args, assay_work_at(rule, BIAS));
	size_t dims = assay_arg_numbers(args, assay_work_at(rule, SHAPE), shape, 16);
	for (size_t i = 0; i < dims; i++)
		row *= (double)(shape[i] > 0 ? shape[i] : 1);
	double stats = rule->flags & WORK_KEEPS_STATS && dims ? 8 * n / row : 0;
	out->flops = (rule->flags & WORK_BACKWARD ? 8 : 5) * n;
	out->written = n * assay_dtype_bytes(x->type);
	out->bytes = assay_tensor_bytes(x) + out->written + stats;
	if (grad) /* weight and bias have gradients too */
		out->bytes += assay_tensor_bytes(grad) + 2 * w + (b ? b : w);
	else
		out->bytes += w + b;
	return true;
}

/* Inductor's fused kernels list every pointer: each once. One that is read and written counts once
 * too, for nothing says which it is. */
bool assay_work_triton(const assay_work_rule *rule, const assay_op_args *args,
		       const assay_work_hint *hint, assay_work *out)
{
	(void)rule;
	(void)hint;
	for (size_t i = 0; i < args->n; i++) {
		const assay_tensor *t = assay_arg_tensor(args, (int)i);
		if (!t)
			continue;
		double n = assay_tensor_elements(t);
		out->flops = n > out->flops ? n : out->flops;
		out->bytes += assay_tensor_bytes(t);
	}
	return out->bytes > 0;
}
