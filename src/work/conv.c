/* Convolutions: every weight once for every result (transposed: for every input), times two. */
#include "work/work.h"

#include <math.h>
#include <string.h>

enum { INPUT, WEIGHT, BIAS, STRIDE, PADDING, DILATION, TRANSPOSED, OUTPUT_PADDING, GROUPS };
enum { GRAD = 9, MASK };
enum { SPATIAL = 8 };

/* A list of one number stands for all dimensions. */
static void spread(const assay_op_args *args, int at, uint32_t n, int64_t otherwise, int64_t *out)
{
	size_t got = assay_arg_numbers(args, at, out, SPATIAL);
	for (uint32_t i = 0; i < n; i++)
		out[i] = got == 0 ? otherwise : got == 1 ? out[0] : i < got ? out[i] : otherwise;
}

typedef struct conv {
	const assay_tensor *x, *w;
	bool transposed;
	double results; /* elements of the output */
	double flops;   /* of the forward pass */
} conv;

static double side(int64_t in, int64_t stride, int64_t padding, int64_t dilation, int64_t kernel,
		   int64_t extra, bool transposed)
{
	double i = (double)in, s = (double)stride, p = (double)padding,
	       reach = (double)dilation * ((double)kernel - 1);
	if (transposed)
		return (i - 1) * s - 2 * p + reach + (double)extra + 1;
	double n = (i + 2 * p - reach - 1) / s;
	return n < 0 ? 0 : floor(n) + 1;
}

/* Up to PyTorch 2.0 traces have no values of arguments, and so neither stride nor padding: what
 * comes out is known only where its gradient is there. */
static bool has_values(const assay_op_args *args)
{
	return args->values.n > strlen("[]");
}

static bool has_sides(const assay_op_args *args, const assay_tensor *result, uint32_t rank)
{
	return has_values(args) || (result && result->rank == rank);
}

static bool conv_of(conv *c, const assay_work_rule *rule, const assay_op_args *args,
		    const assay_tensor *result)
{
	int64_t stride[SPATIAL], padding[SPATIAL], dilation[SPATIAL], extra[SPATIAL];
	c->x = assay_arg_tensor(args, assay_work_at(rule, INPUT));
	c->w = assay_arg_tensor(args, assay_work_at(rule, WEIGHT));
	if (!c->x || !c->w || c->x->rank < 3 || c->x->rank != c->w->rank ||
	    c->x->rank - 2 > SPATIAL || !has_sides(args, result, c->x->rank))
		return false;
	uint32_t n = c->x->rank - 2;
	double groups = 1, inside = 1, outside = 1;
	spread(args, assay_work_at(rule, STRIDE), n, 1, stride);
	spread(args, assay_work_at(rule, PADDING), n, 0, padding);
	spread(args, assay_work_at(rule, DILATION), n, 1, dilation);
	spread(args, assay_work_at(rule, OUTPUT_PADDING), n, 0, extra);
	assay_arg_number(args, assay_work_at(rule, GROUPS), &groups);
	c->transposed = rule->flags & WORK_TRANSPOSED ||
			assay_arg_flag(args, assay_work_at(rule, TRANSPOSED), false);
	for (uint32_t i = 0; i < n; i++) {
		if (stride[i] < 1)
			return false;
		inside *= (double)c->x->dim[i + 2];
		outside *= has_values(args)
				   ? side(c->x->dim[i + 2], stride[i], padding[i], dilation[i],
					  c->w->dim[i + 2], extra[i], c->transposed)
				   : (double)result->dim[i + 2];
	}
	double batch = (double)c->x->dim[0], weights = assay_tensor_elements(c->w);
	double channels = c->transposed ? (double)c->w->dim[1] * groups : (double)c->w->dim[0];
	c->results = batch * channels * outside;
	c->flops = 2 * batch * (c->transposed ? inside : outside) * weights;
	return outside >= 0;
}

bool assay_work_convolution(const assay_work_rule *rule, const assay_op_args *args,
			    const assay_work_hint *hint, assay_work *out)
{
	(void)hint;
	conv c;
	if (!conv_of(&c, rule, args, NULL))
		return false;
	out->flops = c.flops;
	out->bytes = assay_tensor_bytes(c.x) + assay_tensor_bytes(c.w) +
		     assay_work_bytes(args, assay_work_at(rule, BIAS)) +
		     c.results * assay_dtype_bytes(c.x->type);
	out->math = assay_dtype_math(c.x->type);
	return true;
}

bool assay_work_convolution_backward(const assay_work_rule *rule, const assay_op_args *args,
				     const assay_work_hint *hint, assay_work *out)
{
	(void)hint;
	conv c;
	const assay_tensor *grad = assay_arg_tensor(args, assay_work_at(rule, GRAD));
	int mask = assay_work_at(rule, MASK);
	if (!grad || grad->rank < 2 || !conv_of(&c, rule, args, grad))
		return false;
	double g = assay_tensor_bytes(grad), x = assay_tensor_bytes(c.x),
	       w = assay_tensor_bytes(c.w);
	bool for_x = assay_arg_flag_of(args, mask, 0, true),
	     for_w = assay_arg_flag_of(args, mask, 1, true),
	     for_b = assay_arg_flag_of(args, mask, 2, false);
	out->estimated = !assay_arg_has_value(args, mask);
	/* each gradient: two operands read, one written */
	out->flops = c.flops * (for_x + for_w) + (for_b ? assay_tensor_elements(grad) : 0);
	out->bytes = (g + w + x) * (for_x + for_w);
	if (for_b)
		out->bytes += (double)grad->dim[1] * assay_dtype_bytes(c.w->type) +
			      (for_x || for_w ? 0 : g);
	out->math = assay_dtype_math(c.x->type);
	return true;
}

/* Rounded up on demand, but no window begins behind the padding. */
static double pooled_side(int64_t in, int64_t stride, int64_t padding, int64_t dilation,
			  int64_t kernel, bool up)
{
	double n = side(in + (up ? stride - 1 : 0), stride, padding, dilation, kernel, 0, false);
	double last = (n - 1) * (double)stride;
	return up && n > 1 && last >= (double)in + (double)padding ? n - 1 : n;
}

/* Pooling over the last `DIMS` dimensions; a stride that is not given is the kernel's size. Windows
 * may be copied as they are. */
bool assay_work_pool(const assay_work_rule *rule, const assay_op_args *args,
		     const assay_work_hint *hint, assay_work *out)
{
	(void)hint;
	enum { DIMS, X, KERNEL, STEP, PAD, DILATE, UP };
	int64_t kernel[SPATIAL], stride[SPATIAL], padding[SPATIAL], dilation[SPATIAL];
	const assay_tensor *x = assay_arg_tensor(args, assay_work_at(rule, X));
	uint32_t n = (uint32_t)rule->at[DIMS];
	if (!x || x->rank < n + 1 || !has_values(args))
		return false;
	spread(args, assay_work_at(rule, KERNEL), n, 1, kernel);
	spread(args, assay_work_at(rule, PAD), n, 0, padding);
	spread(args, assay_work_at(rule, DILATE), n, 1, dilation);
	spread(args, assay_work_at(rule, STEP), n, 0, stride);
	double results = 1;
	bool up = assay_arg_flag(args, assay_work_at(rule, UP), false);
	for (uint32_t i = 0; i < x->rank; i++) {
		uint32_t k = i - (x->rank - n); /* of the last n */
		int64_t step = i < x->rank - n ? 1 : stride[k] ? stride[k] : kernel[k];
		if (step < 1)
			return false;
		results *= i < x->rank - n ? (double)x->dim[i]
					   : pooled_side(x->dim[i], step, padding[k], dilation[k],
							 kernel[k], up);
		if (rule->flags & WORK_COPIES && i >= x->rank - n)
			results *= (double)kernel[k];
	}
	out->flops = assay_tensor_elements(x);
	out->bytes = assay_tensor_bytes(x) + results * assay_dtype_bytes(x->type) +
		     (rule->flags & WORK_KEEPS_STATS ? 8 * results : 0);
	return true;
}
