/* Work on each element, and what reduces elements to fewer. Operations are one an element; they
 * decide nothing. */
#include "work/work.h"

#include <math.h>

typedef struct broadcast {
	double elements;
	uint32_t rank;
	assay_dtype type;
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

static assay_dtype with(assay_dtype type, assay_dtype other)
{
	return type ? assay_dtype_promote(type, other) : other;
}

/* Tensors without dimensions (numbers, as a rule) decide the type only where they are of a higher
 * kind; a number of Python's is a double then, and makes fp32. */
static assay_dtype common_type(assay_dtype of_tensors, assay_dtype of_numbers)
{
	if (!of_tensors)
		return of_numbers;
	if (!of_numbers || assay_dtype_kind_of(of_numbers) <= assay_dtype_kind_of(of_tensors))
		return of_tensors;
	return of_numbers == ASSAY_DTYPE_DOUBLE ? ASSAY_DTYPE_FLOAT : of_numbers;
}

/* typed: the first input whose type counts. */
static bool broadcast_of(broadcast *b, const assay_op_args *args, int inputs, int typed)
{
	*b = (broadcast){.elements = 1};
	bool any = false;
	assay_dtype of_tensors = ASSAY_DTYPE_NONE, of_numbers = ASSAY_DTYPE_NONE;
	for (int i = 0; i < inputs; i++) {
		const assay_tensor *t = assay_arg_tensor(args, i);
		if (!t)
			continue;
		any = true;
		b->rank = t->rank > b->rank ? t->rank : b->rank;
		if (i >= typed && t->rank)
			of_tensors = with(of_tensors, t->type);
		else if (i >= typed)
			of_numbers = with(of_numbers, t->type);
	}
	b->type = common_type(of_tensors, of_numbers);
	for (uint32_t d = 0; d < b->rank; d++)
		b->elements *= common_dim(args, inputs, d);
	return any;
}

/* Size of a result's element, where the operator says what it makes of its operands' type. */
static double made_width(unsigned flags, assay_dtype of_operands)
{
	bool exact = assay_dtype_kind_of(of_operands) < ASSAY_DTYPE_IS_REAL;
	if (flags & WORK_MAKES_BOOL)
		return 1;
	if (flags & WORK_MAKES_INDEX || (flags & WORK_WIDENS && exact))
		return 8;
	if (flags & WORK_MAKES_PARTS && assay_dtype_kind_of(of_operands) == ASSAY_DTYPE_IS_COMPLEX)
		return assay_dtype_bytes(of_operands) / 2;
	return flags & WORK_MAKES_REAL && exact ? 4 : assay_dtype_bytes(of_operands);
}

/* at: number of inputs, which stand first. A tensor behind them is the result. */
bool assay_work_pointwise(const assay_work_rule *rule, const assay_op_args *args,
			  const assay_work_hint *hint, assay_work *out)
{
	(void)hint;
	broadcast b;
	int inputs = rule->at[0];
	if (!broadcast_of(&b, args, inputs, rule->flags & WORK_MASK_FIRST ? 1 : 0))
		return false;
	for (int i = 0; i < inputs; i++)
		out->bytes += assay_work_bytes(args, i);
	const assay_tensor *result = NULL;
	for (size_t i = (size_t)inputs; i < args->n; i++)
		if (assay_arg_tensor(args, (int)i) && args->arg[i].tensor->rank == b.rank)
			result = args->arg[i].tensor;
	double width = result ? assay_dtype_bytes(result->type) : made_width(rule->flags, b.type);
	out->written = b.elements * width;
	if (rule->flags & WORK_KEEPS_STATS)
		out->written += b.elements; /* a mask of bytes */
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

/* The dimensions that go: a list, or a single number (which alone is a type). */
static size_t gone_dims(const assay_op_args *args, int at, int64_t *dims, size_t max)
{
	double one;
	size_t given = assay_arg_numbers(args, at, dims, max);
	if (given || !assay_arg_number(args, at, &one) || args->n <= (size_t)at + 1 ||
	    fabs(one) >= 16)
		return given;
	dims[0] = (int64_t)one;
	return 1;
}

/* at: x, dims, dtype, 1: indices come with each value of a dimension. */
bool assay_work_reduce(const assay_work_rule *rule, const assay_op_args *args,
		       const assay_work_hint *hint, assay_work *out)
{
	enum { X, DIMS, DTYPE, INDICES };
	int64_t dims[16];
	int at = assay_work_at(rule, DIMS);
	const assay_tensor *x = assay_arg_tensor(args, assay_work_at(rule, X));
	if (!x)
		return false;
	if (assay_work_at(rule, INDICES) > 0 && assay_arg_tensor(args, at)) /* the larger of two */
		return assay_work_pointwise(&(assay_work_rule){.n = 1, .at = {2}}, args, hint, out);
	double n = assay_tensor_elements(x), left = n;
	size_t given = gone_dims(args, at, dims, ASSAY_COUNT_OF(dims));
	for (size_t i = 0; i < given; i++) {
		int64_t d = dims[i] < 0 ? dims[i] + x->rank : dims[i];
		if (d >= 0 && d < x->rank && x->dim[d] > 0)
			left /= (double)x->dim[d];
	}
	double width = asked_width(args, given ? assay_work_at(rule, DTYPE) : at,
				   made_width(rule->flags, x->type));
	out->flops = n;
	out->written = (given ? left : 1) * width;
	if (rule->flags & WORK_KEEPS_STATS) /* a second number beside each */
		out->written *= 2;
	out->bytes = assay_tensor_bytes(x) + out->written;
	if (given && assay_work_at(rule, INDICES) > 0)
		out->bytes += 8 * left;
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
