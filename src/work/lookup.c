/* Rows that indices name, and what is packed by rows: each row once, as if no two were the same. */
#include "work/work.h"

#include <math.h>

/* at: values that are put where indices say. Indices are an optional list, which no trace
 * describes; a single value may be put anywhere. */
bool assay_work_put(const assay_work_rule *rule, const assay_op_args *args,
		    const assay_work_hint *hint, assay_work *out)
{
	(void)hint;
	const assay_tensor *values = assay_arg_tensor(args, rule->at[0]);
	if (!values || !values->rank)
		return false;
	out->flops = assay_tensor_elements(values);
	out->written = out->flops * assay_dtype_bytes(values->type);
	out->bytes = assay_tensor_bytes(values) + out->written;
	return true;
}

/* at: source. Indices are an optional list, which no trace describes; how much they take the
 * kernel's grid tells: rows, or elements up to the last block. */
bool assay_work_indexed(const assay_work_rule *rule, const assay_op_args *args,
			const assay_work_hint *hint, assay_work *out)
{
	const double index_bytes = 8;
	const assay_tensor *x = assay_arg_tensor(args, rule->at[0]);
	if (!x || !x->rank || x->dim[0] <= 0)
		return false;
	double all = assay_tensor_elements(x), row = all / (double)x->dim[0],
	       taken = hint->rows_taken > 0 ? hint->rows_taken * row : hint->elements_taken;
	if (taken <= 0)
		return false;
	out->flops = taken;
	out->written = taken * assay_dtype_bytes(x->type);
	out->bytes = (taken < all ? taken : all) * assay_dtype_bytes(x->type) + out->written +
		     hint->rows_taken * index_bytes;
	out->estimated = true;
	return true;
}

/* at: weight, indices, where bags begin, 1 when the last of these is an end, factors of the
 * rows. */
bool assay_work_bag(const assay_work_rule *rule, const assay_op_args *args,
		    const assay_work_hint *hint, assay_work *out)
{
	(void)hint;
	enum { WEIGHT, INDICES, OFFSETS, WITH_END, FACTORS };
	const assay_tensor *w = assay_arg_tensor(args, rule->at[WEIGHT]),
			   *index = assay_arg_tensor(args, rule->at[INDICES]),
			   *offsets = assay_arg_tensor(args, rule->at[OFFSETS]);
	if (!w || !index || !offsets || w->rank != 2)
		return false;
	double n = assay_tensor_elements(index), rows = (double)w->dim[0],
	       row = (double)w->dim[1] * assay_dtype_bytes(w->type), bags;
	bags = assay_tensor_elements(offsets) -
	       assay_arg_flag(args, assay_work_at(rule, WITH_END), false);
	out->flops = n * (double)w->dim[1];
	out->written = bags * row;
	out->bytes = assay_tensor_bytes(index) + assay_tensor_bytes(offsets) +
		     (n < rows ? n : rows) * row + out->written +
		     assay_work_bytes(args, assay_work_at(rule, FACTORS));
	return bags >= 0;
}

/* at: gradient of the bags, indices, bag of each, number of rows. */
bool assay_work_bag_backward(const assay_work_rule *rule, const assay_op_args *args,
			     const assay_work_hint *hint, assay_work *out)
{
	(void)hint;
	const assay_tensor *grad = assay_arg_tensor(args, rule->at[0]);
	double rows;
	if (!grad || grad->rank != 2 || !assay_arg_number(args, rule->at[3], &rows) || rows < 0)
		return false;
	double row = (double)grad->dim[1] * assay_dtype_bytes(grad->type);
	out->flops = assay_tensor_elements(grad);
	out->written = rows * row;
	out->bytes = assay_tensor_bytes(grad) + assay_work_bytes(args, rule->at[1]) +
		     assay_work_bytes(args, rule->at[2]) + out->written;
	return true;
}

/* skip: a number of elements that is another tensor's, 0 for none. */
static const assay_tensor *largest(const assay_op_args *args, size_t from, bool exact,
				   const assay_tensor *but, double skip, size_t *at)
{
	const assay_tensor *found = NULL;
	for (size_t i = from; i < args->n; i++) {
		const assay_tensor *t = assay_arg_tensor(args, (int)i);
		bool whole = t && assay_dtype_kind_of(t->type) == ASSAY_DTYPE_IS_INTEGER;
		if (!t || t == but || whole != exact || !t->rank ||
		    (skip > 0 && assay_tensor_elements(t) == skip) ||
		    (found && assay_tensor_elements(t) <= assay_tensor_elements(found)))
			continue;
		found = t;
		*at = i;
	}
	return found;
}

/* Of factors in a weighted sum: one an index. */
static double factor_bytes(const assay_op_args *args, size_t from, double n)
{
	for (size_t i = from; i < args->n; i++) {
		const assay_tensor *t = assay_arg_tensor(args, (int)i);
		if (t && assay_dtype_kind_of(t->type) != ASSAY_DTYPE_IS_INTEGER &&
		    assay_tensor_elements(t) == n)
			return assay_tensor_bytes(t);
	}
	return 0;
}

/* FBGEMM's tables in one: where its arguments stand differs from version to version, so they are
 * known by their sizes. All tables together are the largest tensor of numbers, the indices the
 * largest of integers, and the beginnings of bags stand behind them. The optimizer's state has a
 * number a row, which gives the mean length of a row. The backward pass updates the rows at
 * once. */
bool assay_work_tables(const assay_work_rule *rule, const assay_op_args *args,
		       const assay_work_hint *hint, assay_work *out)
{
	(void)hint;
	size_t at, where = 0;
	const assay_tensor *weights = largest(args, 0, false, NULL, 0, &at),
			   *index = largest(args, 0, true, NULL, 0, &where),
			   *offsets = assay_arg_tensor(args, (int)where + 1);
	double n = index ? assay_tensor_elements(index) : 0;
	const assay_tensor *state = largest(args, where + 1, false, weights, n, &at);
	if (!weights || !index || !offsets || !state || index->rank != 1 || offsets->rank != 1)
		return false;
	double rows = assay_tensor_elements(state),
	       size = rows > 0 ? assay_tensor_elements(weights) / rows : 0;
	/* rows are multiples of four long, those of different tables of different length */
	if (size < 4 || fmod(assay_tensor_elements(weights), 4) != 0 ||
	    assay_tensor_elements(offsets) < 1)
		return false;
	const double float_bytes = 4; /* bags are fp32 unless asked for otherwise */
	double bags = (assay_tensor_elements(offsets) - 1) * size * float_bytes,
	       hit = n < rows ? n : rows, row = size * assay_dtype_bytes(weights->type),
	       updated = hit * (row + assay_dtype_bytes(state->type));
	bool backward = rule->flags & WORK_BACKWARD;
	out->flops = n * size;
	out->written = backward ? updated : bags;
	out->bytes = assay_tensor_bytes(index) + assay_tensor_bytes(offsets) + bags +
		     factor_bytes(args, where + 1, n) + (backward ? 2 * updated : hit * row);
	out->estimated = true; /* tables may have rows of different lengths */
	return true;
}

/* Numbers into four bits each, and a scale of a byte for sixteen. Where the result stands, and
 * whether it is an argument at all, differs from version to version: x is the first that has real
 * numbers of two or four bytes. */
bool assay_work_fp4(const assay_work_rule *rule, const assay_op_args *args,
		    const assay_work_hint *hint, assay_work *out)
{
	(void)rule;
	(void)hint;
	const assay_tensor *x = NULL;
	for (size_t i = 0; !x && i < args->n; i++) {
		const assay_tensor *t = assay_arg_tensor(args, (int)i);
		if (t && t->rank > 1 && assay_dtype_kind_of(t->type) == ASSAY_DTYPE_IS_REAL &&
		    assay_dtype_bytes(t->type) >= 2)
			x = t;
	}
	if (!x)
		return false;
	out->flops = assay_tensor_elements(x);
	out->written = out->flops / 2 + out->flops / 16;
	out->bytes = assay_tensor_bytes(x) + out->written;
	return true;
}

/* Rows of bytes with a scale and an offset of fp32 behind each, made of rows of numbers; backward:
 * the other way. at: x. */
bool assay_work_rowwise(const assay_work_rule *rule, const assay_op_args *args,
			const assay_work_hint *hint, assay_work *out)
{
	(void)hint;
	const double scales = 8, float_bytes = 4;
	const assay_tensor *x = assay_arg_tensor(args, rule->at[0]);
	if (!x || !x->rank || !x->dim[x->rank - 1])
		return false;
	double size = (double)x->dim[x->rank - 1], rows = assay_tensor_elements(x) / size;
	bool unpacks = rule->flags & WORK_BACKWARD;
	if (unpacks && size <= scales)
		return false;
	out->flops = rows * (unpacks ? size - scales : size);
	out->written = unpacks ? out->flops * float_bytes : rows * (size + scales);
	out->bytes = assay_tensor_bytes(x) + out->written;
	return true;
}
