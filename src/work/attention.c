/* Attention: products of queries with keys and of weights with values, over the pairs that the mask
 * leaves. Fused backward passes compute the weights again: five products instead of two. */
#include "work/work.h"

enum { Q, K, V, CAUSAL, BIAS, CU_Q, CU_K, MAX_Q, MAX_K, WINDOW };

typedef struct heads {
	double batch, queries, keys, q_heads, k_heads, qk_size, v_size;
} heads;

/* Sum over i in [0, n) of the lesser of c and i + a. */
static double sum_capped(double n, double a, double c)
{
	double rising = c - a < 0 ? 0 : c - a > n ? n : c - a;
	return rising * a + rising * (rising - 1) / 2 + (n - rising) * c;
}

/* Pairs of one head: query i sees keys up to i + shift + right and down to i + shift - left. */
static double pairs_in_band(double queries, double keys, double shift, double left, double right)
{
	double upto = sum_capped(queries, shift + right + 1, keys);
	/* max(0, x) is x less the lesser of 0 and x */
	double below =
		sum_capped(queries, shift - left, 1e300) - sum_capped(queries, shift - left, 0);
	return upto > below ? upto - below : 0;
}

/* Rows that see no key at all (more queries than keys, aligned at the end) have no pairs. */
double assay_causal_pairs(double queries, double keys, bool bottom_right, double left)
{
	double shift = 0;
	if (bottom_right && keys < queries)
		queries = keys;
	else if (bottom_right)
		shift = keys - queries;
	return pairs_in_band(queries, keys, shift, left >= 0 ? left : queries + keys, 0);
}

static double pairs_of(const assay_work_rule *rule, const assay_op_args *args, const heads *h)
{
	double left = -1, right = -1, kind = 0;
	int at = assay_work_at(rule, CAUSAL), window = assay_work_at(rule, WINDOW);
	if (rule->flags & WORK_MAY_DESCALE && assay_arg_tensor(args, 3))
		at += 3;
	bool turned = assay_arg_number(args, at, &kind) && kind == 2, /* as a number: 1 or 2 */
		causal = turned || assay_arg_flag(args, at, false),
	     end = turned || rule->flags & WORK_BOTTOM_RIGHT;
	if (window >= 0) {
		assay_arg_number(args, window, &left);
		assay_arg_number(args, window + 1, &right);
	}
	if (causal)
		return assay_causal_pairs(h->queries, h->keys, end, left);
	if (left < 0 && right < 0)
		return h->queries * h->keys;
	double all = h->queries + h->keys, shift = end ? h->keys - h->queries : 0;
	return pairs_in_band(h->queries, h->keys, shift, left < 0 ? all : left,
			     right < 0 ? all : right);
}

static bool heads_of(heads *h, const assay_tensor *q, const assay_tensor *k, const assay_tensor *v,
		     unsigned flags)
{
	if (q->rank != 4 || k->rank != 4 || v->rank != 4)
		return false;
	int s = flags & WORK_SEQ_FIRST ? 1 : 2, n = 3 - s;
	*h = (heads){(double)q->dim[0], (double)q->dim[s], (double)k->dim[s], (double)q->dim[n],
		     (double)k->dim[n], (double)q->dim[3], (double)v->dim[3]};
	return true;
}

static double products(unsigned flags, const heads *h)
{
	return flags & WORK_BACKWARD ? 3 * h->qk_size + 2 * h->v_size : h->qk_size + h->v_size;
}

/* Lengths of packed sequences are not in the trace. Equal ones are exact; else one is taken to be
 * the longest and the others equal. */
static double packed_pairs(const assay_work_rule *rule, const assay_op_args *args, heads *h,
			   double total_q, double total_k, assay_work *out)
{
	const assay_tensor *cu = assay_arg_tensor(args, assay_work_at(rule, CU_Q));
	double n = cu && cu->rank == 1 && cu->dim[0] > 1 ? (double)cu->dim[0] - 1 : 1;
	double most_q = total_q / n, most_k = total_k / n;
	assay_arg_number(args, assay_work_at(rule, MAX_Q), &most_q);
	assay_arg_number(args, assay_work_at(rule, MAX_K), &most_k);
	h->queries = most_q;
	h->keys = most_k;
	double pairs = pairs_of(rule, args, h);
	if (most_q * n == total_q && most_k * n == total_k)
		return n * pairs;
	out->estimated = true;
	if (n < 2 || most_q > total_q || most_k > total_k)
		return n * pairs;
	h->queries = (total_q - most_q) / (n - 1);
	h->keys = (total_k - most_k) / (n - 1);
	return pairs + (n - 1) * pairs_of(rule, args, h);
}

/* Packed tensors may have a batch of 1 in front. */
static assay_tensor without_batch(const assay_tensor *t)
{
	if (t->rank != 4 || t->dim[0] != 1)
		return *t;
	return (assay_tensor){t->dim + 1, t->stride ? t->stride + 1 : NULL, 3, t->type};
}

static bool packed_attention(const assay_work_rule *rule, const assay_op_args *args,
			     const assay_tensor *q, const assay_tensor *k, const assay_tensor *v,
			     assay_work *out)
{
	if (q->rank != 3 || k->rank < 3 || v->rank < 3)
		return false;
	double tokens = (double)q->dim[0], keys = (double)k->dim[0], most_k;
	const assay_tensor *cu = assay_arg_tensor(args, assay_work_at(rule, CU_Q));
	if (rule->flags & WORK_PAGED || k->rank == 4) {
		if (!cu || cu->rank != 1 || cu->dim[0] < 2 ||
		    !assay_arg_number(args, assay_work_at(rule, MAX_K), &most_k))
			return false;
		keys = most_k * ((double)cu->dim[0] - 1);
		out->estimated = cu->dim[0] > 2; /* all are taken to be as long as the longest */
	}
	heads h = {.q_heads = (double)q->dim[1], .k_heads = (double)k->dim[k->rank - 2]};
	h.qk_size = (double)q->dim[2];
	h.v_size = (double)v->dim[v->rank - 1];
	double pairs = packed_pairs(rule, args, &h, tokens, keys, out);
	double width = assay_dtype_bytes(q->type);
	double q_bytes = tokens * h.q_heads * h.qk_size * width,
	       o_bytes = tokens * h.q_heads * h.v_size * width,
	       kv_bytes = keys * h.k_heads * (h.qk_size + h.v_size) * assay_dtype_bytes(k->type);
	out->flops = 2 * h.q_heads * pairs * products(rule->flags, &h);
	out->bytes = rule->flags & WORK_BACKWARD ? 2 * q_bytes + 2 * o_bytes + 2 * kv_bytes
						 : q_bytes + o_bytes + kv_bytes;
	return true;
}

/* Older recordings have no values of arguments: half of the pairs may be masked. */
static bool says_mask(const assay_work_rule *rule, const assay_op_args *args)
{
	for (int i = 0; i < (int)args->n; i++)
		if (assay_arg_has_value(args, i))
			return true;
	return assay_work_at(rule, CAUSAL) < 0;
}

bool assay_work_attention(const assay_work_rule *rule, const assay_op_args *args,
			  const assay_work_hint *hint, assay_work *out)
{
	(void)hint;
	const assay_tensor *q = assay_arg_tensor(args, assay_work_at(rule, Q)),
			   *k = assay_arg_tensor(args, assay_work_at(rule, K)),
			   *v = assay_arg_tensor(args, assay_work_at(rule, V));
	heads h;
	if (!q || !k || !v || q->rank < 3 || !says_mask(rule, args))
		return false;
	out->math = assay_dtype_math(q->type);
	bool packed =
		rule->flags & WORK_PACKED || assay_arg_tensor(args, assay_work_at(rule, CU_Q));
	if (packed && (q->rank == 3 || q->dim[0] == 1)) {
		const assay_tensor flat[] = {without_batch(q), without_batch(k), without_batch(v)};
		return packed_attention(rule, args, &flat[0], &flat[1], &flat[2], out);
	}
	if (!heads_of(&h, q, k, v, rule->flags))
		return false;
	double result = h.batch * h.q_heads * h.queries * h.v_size * assay_dtype_bytes(q->type),
	       read = assay_tensor_bytes(q) + assay_tensor_bytes(k) + assay_tensor_bytes(v);
	out->flops = 2 * h.batch * h.q_heads * pairs_of(rule, args, &h) * products(rule->flags, &h);
	/* backward: also the result and its gradient are read, three gradients are written */
	out->bytes = (rule->flags & WORK_BACKWARD ? 2 * read + 2 * result : read + result) +
		     assay_work_bytes(args, assay_work_at(rule, BIAS));
	return true;
}

/* Keys and values may be a cache, [slots, page, heads, size]. */
static bool is_paged(const assay_tensor *t)
{
	return t && (t->rank == 3 || t->rank == 4);
}

/* Serving engines batch requests of any length: only their step mark has the lengths. */
bool assay_work_serving(const assay_work_rule *rule, const assay_op_args *args,
			const assay_work_hint *hint, assay_work *out)
{
	const assay_tensor *q = assay_arg_tensor(args, assay_work_at(rule, Q)),
			   *k = assay_arg_tensor(args, assay_work_at(rule, K)),
			   *v = assay_arg_tensor(args, assay_work_at(rule, V));
	if (!hint->serving || !q || q->rank != 3 || !is_paged(k) || !is_paged(v))
		return false;
	double n = (double)q->dim[1], size = (double)(q->dim[2] + v->dim[v->rank - 1]);
	out->flops = 2 * n * size * hint->queries_by_keys;
	out->bytes = 2 * assay_tensor_elements(q) * assay_dtype_bytes(q->type) +
		     hint->keys * (double)k->dim[k->rank - 2] * size * assay_dtype_bytes(k->type);
	out->math = assay_dtype_math(q->type);
	out->estimated = true; /* a sliding window is not in the mark */
	return true;
}

/* Latent attention while generating: all heads share one key of a token, whose first part is its
 * value, too. at: q, keys, what stands apart of them (positions), size of a value (a number, or a
 * tensor that has it last; none: as the keys). */
bool assay_work_latent(const assay_work_rule *rule, const assay_op_args *args,
		       const assay_work_hint *hint, assay_work *out)
{
	enum { QUERY, KEYS, APART, VALUE };
	const assay_tensor *q = assay_arg_tensor(args, assay_work_at(rule, QUERY)),
			   *k = assay_arg_tensor(args, assay_work_at(rule, KEYS)),
			   *apart = assay_arg_tensor(args, assay_work_at(rule, APART)),
			   *value = assay_arg_tensor(args, assay_work_at(rule, VALUE));
	if (!hint->serving || !q || !k || q->rank < 3 || k->rank < 2 ||
	    (rule->flags & WORK_OF_DECODE && !hint->decode))
		return false;
	value = value ? value : k;
	double q_heads = (double)q->dim[q->rank - 2], tokens = 1,
	       size = (double)k->dim[k->rank - 1] +
		      (apart && apart->rank ? (double)apart->dim[apart->rank - 1] : 0),
	       v_size = (double)value->dim[value->rank ? value->rank - 1 : 0];
	assay_arg_number(args, assay_work_at(rule, VALUE), &v_size);
	for (uint32_t i = 0; i + 2 < q->rank; i++)
		tokens *= (double)q->dim[i];
	out->flops = 2 * q_heads * hint->queries_by_keys * (size + v_size);
	out->bytes = tokens * q_heads * (size + v_size) * assay_dtype_bytes(q->type) +
		     hint->keys * size * assay_dtype_bytes(k->type);
	out->math = assay_dtype_math(q->type);
	out->estimated = true;
	return true;
}
