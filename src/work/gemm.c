/* Matrix products: 2 M N K operations each; A, B, what is added and the result once. */
#include "work/work.h"

#include <math.h>

/* Arguments of the formula, in the order of work.def. */
enum { A, B, C, BETA, OUT, DTYPE, SCALE_A, SCALE_B };

typedef struct product {
	double batch, m, n, k;
} product;

static double last(const assay_tensor *t, uint32_t from_end)
{
	return t->rank >= from_end ? (double)t->dim[t->rank - from_end] : 1;
}

/* Two values of four bits share an element: they count twice as operations and once as bytes. */
static double values_of(const assay_tensor *t, bool packed)
{
	return packed || t->type == ASSAY_DTYPE_FP4X2 ? 2 : 1;
}

static bool product_of(product *p, const assay_tensor *a, const assay_tensor *b, unsigned flags)
{
	bool b_is_nk = flags & WORK_B_IS_NK, both = flags & WORK_BOTH_PACK_2;
	if (!a->rank || !b->rank)
		return false;
	double k_of_b = (b->rank == 1 ? last(b, 1) : last(b, b_is_nk ? 1 : 2)) *
			values_of(b, both || flags & WORK_PACKS_2);
	if (b->rank >= 3 && a->rank != b->rank)
		return false;
	*p = (product){.batch = 1, .m = 1, .k = last(a, 1)};
	p->n = b->rank == 1 ? 1 : last(b, b_is_nk ? 2 : 1);
	for (uint32_t i = 0; i + 2 < b->rank; i++)
		p->batch *= (double)b->dim[i];
	for (uint32_t i = b->rank >= 3 ? b->rank - 2 : 0; i + 1 < a->rank; i++)
		p->m *= (double)a->dim[i];
	p->k *= values_of(a, both);
	return p->k == k_of_b;
}

/* The result's type: written down, asked for by number, or the operands' own. */
static double result_width(const assay_work_rule *rule, const assay_op_args *args,
			   const assay_tensor *out, int dtype, const assay_tensor *a)
{
	double number;
	if (out)
		return assay_dtype_bytes(out->type);
	if (dtype >= 0 && (size_t)dtype < args->n && args->arg[dtype].kind == ASSAY_ARG_VALUE &&
	    assay_arg_number(args, dtype, &number) && number >= 0 && number < 64) {
		double width = assay_dtype_bytes(assay_dtype_numbered((int64_t)number));
		if (width > 0)
			return width;
	}
	double own = assay_dtype_bytes(a->type), least = rule->flags & WORK_MAKES_INT32  ? 4
							 : rule->flags & WORK_MAKES_HALF ? 2
											 : own;
	return own > least ? own : least;
}

/* addmm.dtype(self, mat1, mat2, out_dtype, beta, alpha): a type where beta else stands. */
static bool has_dtype_first(const assay_work_rule *rule, const assay_op_args *args)
{
	int beta = assay_work_at(rule, BETA);
	return beta >= 0 && args->n == (size_t)beta + 3 && !assay_arg_tensor(args, beta + 2);
}

static double added_bytes(const assay_work_rule *rule, const assay_op_args *args)
{
	double beta = 1;
	int at = assay_work_at(rule, BETA);
	assay_arg_number(args, at >= 0 ? at + has_dtype_first(rule, args) : -1, &beta);
	return beta == 0 ? 0 : assay_work_bytes(args, assay_work_at(rule, C));
}

bool assay_work_gemm(const assay_work_rule *rule, const assay_op_args *args,
		     const assay_work_hint *hint, assay_work *out)
{
	(void)hint;
	const assay_tensor *a = assay_arg_tensor(args, assay_work_at(rule, A)),
			   *b = assay_arg_tensor(args, assay_work_at(rule, B)),
			   *d = assay_arg_tensor(args, assay_work_at(rule, OUT));
	product p;
	if (!a || !b || !product_of(&p, a, b, rule->flags))
		return false;
	bool typed = assay_work_at(rule, BETA) < 0 || has_dtype_first(rule, args);
	double width = result_width(rule, args, d, typed ? assay_work_at(rule, DTYPE) : -1, a);
	out->flops = 2 * p.batch * p.m * p.n * p.k;
	out->bytes = assay_tensor_bytes(a) + assay_tensor_bytes(b) + p.batch * p.m * p.n * width +
		     added_bytes(rule, args) +
		     assay_work_bytes(args, assay_work_at(rule, SCALE_A)) +
		     assay_work_bytes(args, assay_work_at(rule, SCALE_B));
	out->math = rule->flags & WORK_BOTH_PACK_2 ? ASSAY_MATH_FP4 : assay_dtype_math(a->type);
	return true;
}

/* A and B with a flag each that says which way round it is (row-major: k stands last in A, first in
 * B). at: A, its flag, B, its flag, result, type of the result, scales. */
bool assay_work_flagged_gemm(const assay_work_rule *rule, const assay_op_args *args,
			     const assay_work_hint *hint, assay_work *out)
{
	enum { X, TURN_X, Y, TURN_Y, RESULT, TYPE, SCALE_X, SCALE_Y };
	(void)hint;
	const assay_tensor *x = assay_arg_tensor(args, assay_work_at(rule, X)),
			   *y = assay_arg_tensor(args, assay_work_at(rule, Y)),
			   *d = assay_arg_tensor(args, assay_work_at(rule, RESULT));
	if (!x || !y || x->rank != 2 || y->rank != 2)
		return false;
	bool column = rule->flags & WORK_COLUMN_MAJOR, both = rule->flags & WORK_BOTH_PACK_2;
	bool turn_x = assay_arg_flag(args, assay_work_at(rule, TURN_X), false) != column,
	     turn_y = assay_arg_flag(args, assay_work_at(rule, TURN_Y), false) != column;
	double k = last(x, turn_x ? 2 : 1), m = last(x, turn_x ? 1 : 2),
	       n = last(y, turn_y ? 2 : 1);
	if (k != last(y, turn_y ? 1 : 2))
		return false;
	out->flops = 2 * m * n * k * values_of(x, both);
	out->bytes = assay_tensor_bytes(x) + assay_tensor_bytes(y) +
		     m * n * result_width(rule, args, d, assay_work_at(rule, TYPE), x) +
		     assay_work_bytes(args, assay_work_at(rule, SCALE_X)) +
		     assay_work_bytes(args, assay_work_at(rule, SCALE_Y));
	out->math = both ? ASSAY_MATH_FP4 : assay_dtype_math(x->type);
	return true;
}

/* Groups share one of the matrices, split by offsets along the dimension that has no group of its
 * own: [M,K] x [G,K,N] (or [G,N,K]), [G,M,K] x [K,N], or [M,K] x [K,N] with one result a group. */
bool assay_work_grouped(const assay_work_rule *rule, const assay_op_args *args,
			const assay_work_hint *hint, assay_work *out)
{
	const assay_tensor *a = assay_arg_tensor(args, assay_work_at(rule, A)),
			   *b = assay_arg_tensor(args, assay_work_at(rule, B)),
			   *offsets = assay_arg_tensor(args, assay_work_at(rule, OUT));
	if (!a || !b || a->rank < 2 || b->rank < 2 || a->rank > 3 || b->rank > 3)
		return false;
	if (a->rank == 3 && b->rank == 3) {
		assay_work_rule each = *rule;
		each.at[OUT] = -1; /* offsets, where others have their result */
		return assay_work_gemm(&each, args, hint, out);
	}
	bool turned = rule->flags & WORK_A_IS_KM;
	double m = last(a, turned ? 1 : 2), k = last(a, turned ? 2 : 1), n = last(b, 1);
	if (k != last(b, 2) && k == n)
		n = last(b, 2);
	else if (k != last(b, 2))
		return false;
	double groups = a->rank == 3 ? (double)a->dim[0] : b->rank == 3 ? (double)b->dim[0] : 1;
	double results = m * n;
	if (a->rank == 2 && b->rank == 2)
		results *= offsets && offsets->rank == 1 ? (double)offsets->dim[0] : 1;
	double weights = assay_tensor_bytes(b);
	if (b->rank == 3 && m < groups) /* no more groups can be hit than there are rows */
		weights *= m / groups;
	out->flops = 2 * m * n * k * values_of(a, rule->flags & WORK_BOTH_PACK_2);
	out->bytes = assay_tensor_bytes(a) + weights + (offsets ? assay_tensor_bytes(offsets) : 0) +
		     assay_work_bytes(args, assay_work_at(rule, SCALE_A)) +
		     assay_work_bytes(args, assay_work_at(rule, SCALE_B)) +
		     results * result_width(rule, args, NULL, assay_work_at(rule, DTYPE), a);
	out->math = rule->flags & WORK_BOTH_PACK_2 ? ASSAY_MATH_FP4 : assay_dtype_math(a->type);
	return true;
}

/* aten::_weight_int4pack_mm: [M,K] by weights of half a byte; their scales say [K/group, N, 2]. */
bool assay_work_packed4(const assay_work_rule *rule, const assay_op_args *args,
			const assay_work_hint *hint, assay_work *out)
{
	(void)hint;
	const assay_tensor *a = assay_arg_tensor(args, assay_work_at(rule, A)),
			   *scales = assay_arg_tensor(args, assay_work_at(rule, SCALE_A));
	if (!a || a->rank != 2 || !scales || scales->rank != 3)
		return false;
	double m = last(a, 2), k = last(a, 1), n = (double)scales->dim[1];
	out->flops = 2 * m * n * k;
	out->bytes = assay_tensor_bytes(a) + 0.5 * k * n + assay_tensor_bytes(scales) +
		     m * n * assay_dtype_bytes(a->type);
	out->math = assay_dtype_math(a->type);
	return true;
}

/* Is there a tensor of the size that the product of a and b has? */
static bool has_result(const assay_op_args *args, size_t behind, const product *p)
{
	for (size_t i = behind; i < args->n; i++) {
		const assay_tensor *t = assay_arg_tensor(args, (int)i);
		if (t && t->rank && assay_tensor_elements(t) == p->batch * p->m * p->n)
			return true;
	}
	return false;
}

/* Inductor's templates: pointers in the order of their signature. A and B stand side by side, what
 * is added before them, the result behind. */
bool assay_work_template(const assay_work_rule *rule, const assay_op_args *args,
			 const assay_work_hint *hint, assay_work *out)
{
	(void)rule;
	(void)hint;
	for (int i = 0; i < 2; i++) {
		const assay_tensor *a = assay_arg_tensor(args, i),
				   *b = assay_arg_tensor(args, i + 1);
		product p;
		if (!a || !b || a->rank < 2 || a->rank > 3 || a->rank != b->rank ||
		    !product_of(&p, a, b, 0) || !has_result(args, (size_t)i + 2, &p))
			continue;
		out->flops = 2 * p.batch * p.m * p.n * p.k;
		for (size_t k = 0; k < args->n; k++)
			out->bytes += assay_work_bytes(args, (int)k);
		out->math = assay_dtype_math(a->type);
		return true;
	}
	return false;
}

static bool is_matrix(const assay_tensor *t)
{
	return t && t->rank >= 2 && last(t, 1) > 0;
}

static bool has_dims_of(const assay_tensor *a, const assay_tensor *b)
{
	return a->rank == b->rank && !memcmp(a->dim, b->dim, a->rank * sizeof *a->dim);
}

static double tensors_like(const assay_op_args *args, const assay_tensor *like)
{
	double n = 0;
	for (size_t i = 0; i < args->n; i++) {
		const assay_tensor *t = assay_arg_tensor(args, (int)i);
		n += t && t->type == like->type && has_dims_of(t, like);
	}
	return n;
}

/* x [.., K] and w [N, K], in any order: the first two with the same K. Weights may be there twice,
 * in two types: two of the same dims only when no others fit. Backward: a product for x and one for
 * w. */
bool assay_work_linear(const assay_work_rule *rule, const assay_op_args *args,
		       const assay_work_hint *hint, assay_work *out)
{
	(void)hint;
	const assay_tensor *a = NULL, *b = NULL;
	for (size_t i = 0; i < args->n; i++) {
		const assay_tensor *x = assay_arg_tensor(args, (int)i);
		for (size_t k = i + 1; is_matrix(x) && k < args->n; k++) {
			const assay_tensor *y = assay_arg_tensor(args, (int)k);
			if (!is_matrix(y) || last(x, 1) != last(y, 1) ||
			    (a && (has_dims_of(x, y) || !has_dims_of(a, b))))
				continue;
			a = x, b = y;
		}
	}
	if (!a)
		return false;
	double k = last(a, 1), m = assay_tensor_elements(a) / k, n = assay_tensor_elements(b) / k;
	double products = rule->flags & WORK_BACKWARD ? 2 : 1;
	out->flops = 2 * m * n * k * products;
	out->written = m * n * assay_dtype_bytes(a->type);
	double groups = rule->flags & WORK_OF_GROUPS ? tensors_like(args, b) : 1;
	out->bytes =
		(assay_tensor_bytes(a) + groups * assay_tensor_bytes(b) + out->written) * products;
	out->math = assay_dtype_math(a->type);
	out->estimated = products > 1; /* x may need no gradient */
	return true;
}

/* Weights packed into integers in one way or another: the scales behind them, one a group and
 * column, say how many columns there are. at: a, weights. */
bool assay_work_quantized(const assay_work_rule *rule, const assay_op_args *args,
			  const assay_work_hint *hint, assay_work *out)
{
	(void)hint;
	const assay_tensor *a = assay_arg_tensor(args, rule->at[A]),
			   *b = assay_arg_tensor(args, rule->at[B]), *scales = NULL;
	for (int i = rule->at[B] + 1; i < (int)args->n && !scales; i++) {
		const assay_tensor *t = assay_arg_tensor(args, i);
		if (t && t->rank == 2 && assay_dtype_kind_of(t->type) == ASSAY_DTYPE_IS_REAL)
			scales = t;
	}
	if (!a || !b || !scales || !a->rank || !last(a, 1))
		return false;
	double k = last(a, 1), m = assay_tensor_elements(a) / k, n = last(scales, 1);
	out->flops = 2 * m * n * k;
	out->written = m * n * assay_dtype_bytes(a->type);
	out->bytes = assay_tensor_bytes(a) + assay_tensor_bytes(b) + assay_tensor_bytes(scales) +
		     out->written;
	out->math = assay_dtype_math(a->type);
	return true;
}

/* Two layers, whose weights are known by their shapes: [f or 2f, k] and [k, f]. */
static bool find_layers(const assay_op_args *args, const assay_tensor **x,
			const assay_tensor **first, const assay_tensor **second)
{
	for (size_t i = 0; i < args->n; i++)
		for (size_t j = i + 1; j < args->n; j++) {
			const assay_tensor *a = assay_arg_tensor(args, (int)i),
					   *b = assay_arg_tensor(args, (int)j);
			if (!is_matrix(a) || !is_matrix(b) || b->rank != 2 ||
			    last(a, 1) != last(b, 1))
				continue;
			for (size_t k = j + 1; k < args->n; k++) {
				const assay_tensor *c = assay_arg_tensor(args, (int)k);
				if (!is_matrix(c) || c->rank != 2 || last(c, 2) != last(a, 1) ||
				    (last(b, 2) != last(c, 1) && last(b, 2) != 2 * last(c, 1)))
					continue;
				*x = a, *first = b, *second = c;
				return true;
			}
		}
	return false;
}

bool assay_work_mlp(const assay_work_rule *rule, const assay_op_args *args,
		    const assay_work_hint *hint, assay_work *out)
{
	(void)hint;
	const assay_tensor *x, *first, *second;
	if (!find_layers(args, &x, &first, &second))
		return false;
	double m = assay_tensor_elements(x) / last(x, 1), width = assay_dtype_bytes(x->type);
	double products = rule->flags & WORK_BACKWARD ? 2 : 1;
	double weights = assay_tensor_elements(first) + assay_tensor_elements(second);
	out->flops = 2 * m * weights * products;
	out->written = assay_tensor_elements(x) * width;
	/* what lies between the layers is written by one and read by the other */
	out->bytes =
		(assay_tensor_bytes(x) + assay_tensor_bytes(first) + assay_tensor_bytes(second) +
		 m * (last(first, 2) + last(second, 1)) * width + out->written) *
		products;
	out->math = assay_dtype_math(x->type);
	out->estimated = products > 1;
	return true;
}

/* Recurrent layers: every weight matrix meets every row of every step. at: x [steps, batch, size],
 * list of weights, size of the hidden state, 1 when there are two directions. */
bool assay_work_rnn(const assay_work_rule *rule, const assay_op_args *args,
		    const assay_work_hint *hint, assay_work *out)
{
	(void)hint;
	const assay_tensor *x = assay_arg_tensor(args, rule->at[0]);
	size_t list = (size_t)rule->at[1];
	double weights = 0, hidden;
	if (!x || x->rank != 3 || list >= args->n || !last(x, 1) ||
	    !assay_arg_number(args, rule->at[2], &hidden))
		return false;
	for (size_t i = 0; i < args->arg[list].n; i++)
		if (args->arg[list].tensor[i].rank == 2)
			weights += assay_tensor_elements(&args->arg[list].tensor[i]);
	if (weights <= 0)
		return false;
	double width = assay_dtype_bytes(x->type), rows = assay_tensor_elements(x) / last(x, 1);
	double products = rule->flags & WORK_BACKWARD ? 2 : 1;
	out->flops = 2 * rows * weights * products;
	out->written = rows * hidden * (1 + assay_arg_flag(args, rule->at[3], false)) * width;
	out->bytes = (assay_tensor_bytes(x) + weights * width + out->written) * products;
	out->math = assay_dtype_math(x->type);
	out->estimated = true; /* what cuDNN keeps between layers is not in its arguments */
	return true;
}

/* Experts of two layers: x [M,K], w1 [E,2N,K] (gated) or [E,N,K], w2 [E,K,N], ids [M,t]. Of the
 * weights only those of experts that a token chose are read: E(1 - (1 - t/E)^M) when all choose
 * alike. Two weights of four bits share an element. */
bool assay_work_moe(const assay_work_rule *rule, const assay_op_args *args,
		    const assay_work_hint *hint, assay_work *out)
{
	(void)hint;
	enum { X, W1, W2, IDS };
	const assay_tensor *x = assay_arg_tensor(args, assay_work_at(rule, X)),
			   *w1 = assay_arg_tensor(args, assay_work_at(rule, W1)),
			   *w2 = assay_arg_tensor(args, assay_work_at(rule, W2)),
			   *ids = assay_arg_tensor(args, assay_work_at(rule, IDS));
	if (!x || !w1 || !w2 || !ids || x->rank != 2 || w1->rank != 3 || w2->rank != 3 ||
	    ids->rank != 2 || !w1->dim[0])
		return false;
	double m = last(x, 2), k = last(x, 1), t = last(ids, 1), experts = (double)w1->dim[0];
	double packed = last(w1, 1) > 0 && k == 2 * last(w1, 1) ? 2 : 1;
	double untouched = t < experts ? pow(1 - t / experts, m) : 0;
	double hit = experts * (1 - untouched);
	out->flops = 2 * m * t * (last(w1, 2) * k + last(w2, 2) * last(w2, 1) * packed);
	out->bytes = 2 * assay_tensor_bytes(x) + assay_tensor_bytes(ids) +
		     (assay_tensor_bytes(w1) + assay_tensor_bytes(w2)) * hit / experts;
	out->math =
		assay_dtype_math(w1->type) ? assay_dtype_math(w1->type) : assay_dtype_math(x->type);
	out->estimated = true;
	return true;
}
