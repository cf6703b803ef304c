/* Work that memory bounds: what is read and written, each byte once. Operations are one a result;
 * they decide nothing. */
#include "work/work.h"

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

static double list_elements(const assay_op_args *args, int i)
{
	double n = 0;
	for (size_t k = 0; i >= 0 && (size_t)i < args->n && k < args->arg[i].n; k++)
		n += assay_tensor_elements(&args->arg[i].tensor[k]);
	return n;
}

static bool is_off(const assay_op_args *args, int i)
{
	double v;
	return assay_arg_number(args, i, &v) ? v == 0 : !assay_arg_flag(args, i, true);
}

/* _foreach_ and fused optimizers. at: lists and what happens to them; behind -1, what switches the
 * last one off. Lists of more than 30 tensors come without shapes: then their kernels' grids say
 * how many elements there may be in each. */
bool assay_work_lists(const assay_work_rule *rule, const assay_op_args *args,
		      const assay_work_hint *hint, assay_work *out)
{
	double n = args->n ? list_elements(args, 0) : 0, touched = 0;
	out->estimated = n <= 0;
	if (out->estimated && args->n && args->arg[0].kind == ASSAY_ARG_TENSORS)
		n = hint->list_elements;
	if (n <= 0 || hint->list_bytes <= 0)
		return false;
	for (int i = 0; i < rule->n && rule->at[i] >= 0; i++) {
		size_t list = rule->at[i] & ARG_MASK;
		bool optional = i + 2 < rule->n && rule->at[i + 1] < 0,
		     there = list < args->n && args->arg[list].kind == ASSAY_ARG_TENSORS &&
			     !(optional && is_off(args, rule->at[i + 2]));
		if (there)
			touched += (out->estimated ? n : list_elements(args, (int)list)) *
				   ((rule->at[i] & ~ARG_MASK) == UPDATE ? 2 : 1);
	}
	out->flops = n;
	out->bytes = touched * hint->list_bytes;
	return true;
}

bool assay_work_concat(const assay_work_rule *rule, const assay_op_args *args,
		       const assay_work_hint *hint, assay_work *out)
{
	size_t list = (size_t)rule->at[0];
	/* a result that stands first has the size it had before */
	if (list >= args->n || args->arg[list].kind != ASSAY_ARG_TENSORS)
		return false;
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
	double all = assay_tensor_elements(x), distinct = taken < all ? taken : all;
	bool given = assay_work_at(rule, 3) >= 0; /* else as many are read or written elsewhere */
	double touched = rule->flags & WORK_COPIES ? 2 * all
			 : given                   ? 2 * distinct
						   : distinct + taken;
	out->bytes = assay_tensor_bytes(index) + touched * assay_dtype_bytes(x->type) +
		     assay_work_bytes(args, assay_work_at(rule, 3));
	return true;
}

/* Values and their places, of all or of k a row. at: x, k, dimension. */
bool assay_work_sorted(const assay_work_rule *rule, const assay_op_args *args,
		       const assay_work_hint *hint, assay_work *out)
{
	(void)hint;
	const assay_tensor *x = assay_arg_tensor(args, assay_work_at(rule, 0));
	double k, dim = -1;
	if (!x)
		return false;
	double n = assay_tensor_elements(x), kept = n;
	bool some = assay_work_at(rule, 1) >= 0;
	if (some && !assay_arg_number(args, assay_work_at(rule, 1), &k))
		return false;
	if (some && x->rank) {
		assay_arg_number(args, assay_work_at(rule, 2), &dim);
		double d = dim < 0 ? dim + x->rank : dim;
		if (d < 0 || d >= x->rank || !x->dim[(uint32_t)d])
			return false;
		kept *= k / (double)x->dim[(uint32_t)d];
	}
	out->flops = n;
	out->written = kept * (assay_dtype_bytes(x->type) + 8);
	out->bytes = assay_tensor_bytes(x) + out->written;
	return kept >= 0;
}

/* at: x, weight, bias, gradient, normalised shape, which gradients are asked for. Rows are what the
 * normalised shape leaves; channels stand second. */
bool assay_work_norm(const assay_work_rule *rule, const assay_op_args *args,
		     const assay_work_hint *hint, assay_work *out)
{
	(void)hint;
	enum { X, WEIGHT, BIAS, GRAD, SHAPE, MASK };
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
	out->bytes = assay_tensor_bytes(x) + stats;
	if (!grad) {
		out->bytes += out->written + w + b;
		return true;
	}
	int mask = assay_work_at(rule, MASK);
	bool for_x = assay_arg_flag_of(args, mask, 0, true),
	     for_w = assay_arg_flag_of(args, mask, 1, true),
	     for_b = assay_arg_flag_of(args, mask, 2, true);
	out->written *= for_x;
	out->bytes += assay_tensor_bytes(grad) + out->written + w + for_w * w + for_b * (b ? b : w);
	return true;
}

/* Elements that an element-wise kernel of Inductor works on: the numbers behind its pointers. */
static double triton_elements(const assay_op_args *args)
{
	double n = 1, each;
	bool any = false;
	for (size_t i = args->n; i-- && !assay_arg_tensor(args, (int)i);)
		if (assay_arg_number(args, (int)i, &each)) {
			n *= each;
			any = true;
		}
	return any ? n : 0;
}

/* Inductor's fused kernels list every pointer: in and out, in, out. Each counts once, but a first
 * one that must be the result, because no other is large enough, is read and written. */
bool assay_work_triton(const assay_work_rule *rule, const assay_op_args *args,
		       const assay_work_hint *hint, assay_work *out)
{
	(void)hint;
	const assay_tensor *first = NULL;
	double results = rule->class == ASSAY_WORK_ELEMENTWISE ? triton_elements(args) : 0;
	bool other = false;
	for (size_t i = 0; i < args->n; i++) {
		const assay_tensor *t = assay_arg_tensor(args, (int)i);
		if (!t)
			continue;
		double n = assay_tensor_elements(t);
		out->flops = n > out->flops ? n : out->flops;
		out->bytes += assay_tensor_bytes(t);
		other |= first && n >= results;
		first = first ? first : t;
	}
	if (first && !other && results > 0 && assay_tensor_elements(first) == results)
		out->bytes += assay_tensor_bytes(first);
	return out->bytes > 0;
}
