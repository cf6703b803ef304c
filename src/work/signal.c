/* Images and signals: resized, padded, sampled at places, transformed. */
#include "work/work.h"

#include <math.h>

/* Everything of x is read, each result written once. */
static bool read_and_written(const assay_tensor *x, double results, double width, assay_work *out)
{
	out->flops = results;
	out->written = results * width;
	out->bytes = assay_tensor_bytes(x) + out->written;
	return results >= 0;
}

/* at: x, the size of its last dimensions afterwards. */
bool assay_work_resize(const assay_work_rule *rule, const assay_op_args *args,
		       const assay_work_hint *hint, assay_work *out)
{
	(void)hint;
	int64_t size[8];
	const assay_tensor *x = assay_arg_tensor(args, assay_work_at(rule, 0));
	size_t n = assay_arg_numbers(args, assay_work_at(rule, 1), size, ASSAY_COUNT_OF(size));
	if (!x || !n || n > x->rank)
		return false;
	double results = 1;
	for (uint32_t i = 0; i < x->rank; i++)
		results *= (double)(i + n < x->rank ? x->dim[i] : size[i + n - x->rank]);
	double place = rule->flags & WORK_KEEPS_STATS ? 8 : 0;
	return read_and_written(x, results, assay_dtype_bytes(x->type) + place, out);
}

/* at: x, what is added before and behind each dimension, the last one first. */
bool assay_work_padded(const assay_work_rule *rule, const assay_op_args *args,
		       const assay_work_hint *hint, assay_work *out)
{
	(void)hint;
	int64_t pad[8];
	const assay_tensor *x = assay_arg_tensor(args, rule->at[0]);
	size_t n = assay_arg_numbers(args, rule->at[1], pad, ASSAY_COUNT_OF(pad)) / 2;
	if (!x || !n || n > x->rank)
		return false;
	double results = 1;
	for (uint32_t i = 0; i < x->rank; i++) {
		uint32_t from_end = x->rank - 1 - i;
		results *= (double)x->dim[i];
		if (from_end < n && x->dim[i] > 0)
			results *= 1 + ((double)pad[2 * from_end] + (double)pad[2 * from_end + 1]) /
					       (double)x->dim[i];
	}
	return read_and_written(x, round(results), assay_dtype_bytes(x->type), out);
}

/* at: x [N, C, ..], places, numbers of results a place. */
bool assay_work_sampled(const assay_work_rule *rule, const assay_op_args *args,
			const assay_work_hint *hint, assay_work *out)
{
	(void)hint;
	double each;
	const assay_tensor *x = assay_arg_tensor(args, rule->at[0]),
			   *places = assay_arg_tensor(args, rule->at[1]);
	if (!x || x->rank < 3 || !places || !places->rank || !places->dim[places->rank - 1])
		return false;
	double results = assay_tensor_elements(places) / (double)places->dim[places->rank - 1] *
			 (double)x->dim[1],
	       width = assay_dtype_bytes(x->type);
	for (int i = 2; i < rule->n; i++) {
		if (!assay_arg_number(args, rule->at[i], &each))
			return false;
		results *= each;
	}
	/* a few places need not touch all of a large x */
	out->flops = results;
	out->written = results * width;
	out->bytes = fmin(assay_tensor_bytes(x), out->written) + assay_tensor_bytes(places) +
		     out->written;
	return results >= 0;
}

/* at: columns [.., channels x window, places], size of the images, window. What windows overlap in
 * is added up. */
bool assay_work_folded(const assay_work_rule *rule, const assay_op_args *args,
		       const assay_work_hint *hint, assay_work *out)
{
	(void)hint;
	int64_t size[2], window[2];
	const assay_tensor *x = assay_arg_tensor(args, rule->at[0]);
	if (!x || x->rank < 2 || assay_arg_numbers(args, rule->at[1], size, 2) != 2 ||
	    assay_arg_numbers(args, rule->at[2], window, 2) != 2 || window[0] < 1 || window[1] < 1)
		return false;
	double results = (double)size[0] * (double)size[1] / (double)window[0] / (double)window[1];
	for (uint32_t i = 0; i + 1 < x->rank; i++)
		results *= (double)x->dim[i];
	bool ok = read_and_written(x, results, assay_dtype_bytes(x->type), out);
	out->flops = assay_tensor_elements(x);
	return ok;
}

/* at: four numbers that are the size of the result, what is read: first what is spread over it. */
bool assay_work_sized(const assay_work_rule *rule, const assay_op_args *args,
		      const assay_work_hint *hint, assay_work *out)
{
	enum { SIZES = 4 };
	(void)hint;
	double results = 1, side;
	const assay_tensor *x = assay_arg_tensor(args, rule->at[SIZES]);
	for (int i = 0; i < SIZES; i++) {
		if (!assay_arg_number(args, rule->at[i], &side))
			return false;
		results *= side;
	}
	if (!x || !read_and_written(x, results, assay_dtype_bytes(x->type), out))
		return false;
	out->flops = assay_tensor_elements(x);
	for (int i = SIZES + 1; i < rule->n; i++)
		out->bytes += assay_work_bytes(args, rule->at[i]);
	return true;
}

/* at: x, dimension. One half of it times a function of the other. */
bool assay_work_halves(const assay_work_rule *rule, const assay_op_args *args,
		       const assay_work_hint *hint, assay_work *out)
{
	(void)hint;
	const assay_tensor *x = assay_arg_tensor(args, rule->at[0]);
	return x &&
	       read_and_written(x, assay_tensor_elements(x) / 2, assay_dtype_bytes(x->type), out);
}

/* Discrete Fourier transforms, 5 N log2 N operations of complex numbers and half of them of real
 * ones. at: x, dimensions, size of the last one afterwards (of complex numbers to real ones), 1:
 * only the half that the other one follows from (of real numbers to complex ones). */
bool assay_work_fourier(const assay_work_rule *rule, const assay_op_args *args,
			const assay_work_hint *hint, assay_work *out)
{
	(void)hint;
	enum { X, DIMS, REAL_SIZE, HALF };
	int64_t dims[8];
	double real_size = 0, points = 1;
	const assay_tensor *x = assay_arg_tensor(args, assay_work_at(rule, X));
	size_t n = assay_arg_numbers(args, assay_work_at(rule, DIMS), dims, ASSAY_COUNT_OF(dims));
	if (!x || !n)
		return false;
	bool to_real = assay_arg_number(args, assay_work_at(rule, REAL_SIZE), &real_size),
	     of_real = assay_dtype_kind_of(x->type) != ASSAY_DTYPE_IS_COMPLEX;
	double side = 0, width = assay_dtype_bytes(x->type), results = assay_tensor_elements(x);
	for (size_t i = 0; i < n; i++) {
		int64_t d = dims[i] < 0 ? dims[i] + x->rank : dims[i];
		if (d < 0 || d >= x->rank || x->dim[d] <= 0)
			return false;
		side = (double)x->dim[d];
		points *= side;
	}
	double most = results; /* of what goes in and what comes out */
	if (to_real) {
		results = most = results / side * real_size;
		points = points / side * real_size;
	} else if (of_real && assay_arg_flag(args, assay_work_at(rule, HALF), false)) {
		results = results / side * (floor(side / 2) + 1);
	}
	if (points < 1 || most < 0)
		return false;
	out->flops = (of_real || to_real ? 2.5 : 5) * most * log2(points);
	out->written = results * (of_real ? 2 * width : to_real ? width / 2 : width);
	out->bytes = assay_tensor_bytes(x) + out->written;
	return true;
}
