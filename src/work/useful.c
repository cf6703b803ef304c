/* Each call's own time splits in an order that keeps the parts disjoint: what a cheaper type would
 * save; of the rest what fusing would; of the rest what is above the best calls of its kind; the
 * bound; what remains. */
#include "work/useful.h"

#include <assert.h>
#include <math.h>

#include "base/test.h"
#include "model/by_hand.h"
#include "work/kernel_math.h"
#include "work/work.h"

enum { BINS = 128, NEAR = 2, CALLS_ENOUGH = 3, CHAIN_LEAST = 3, BETWEEN_MOST = 12 };

struct useful {
	assay_run *run;
	assay_tables *t;
	const assay_rates *rates;
	const assay_window *w;
	double by_math[ASSAY_MATH_COUNT]; /* own time of matrix work */
	/* by class, forward or backward: gradients of one kernel reach less than the kernel
	 * itself */
	double best[2 * ASSAY_WORK_CLASS_COUNT][ASSAY_MATH_COUNT][ASSAY_BOUND_COUNT][BINS];
	float *tail;     /* by row of op_shape: share of its time in a last wave that is not full */
	bool *crooked;   /* by row of op_shape: a product whose rows do not start aligned */
	float *kept;     /* by row of op_call: share of its time that fusing leaves; 1 all */
	uint8_t *copies; /* by row of op_shape: what a copy changes */
	bool *doubles; /* by row of op_shape: no matrix work, and most of what it moves is double */
	bool double_in_use; /* something computes in double: more than casts there and back */
	bool *back;         /* by row of op_shape: computes gradients */
	bool *goes;         /* by row of op_call: its kernels become part of another's */
};

static bool is_known(const struct useful *u, uint32_t shape)
{
	const assay_op_shape_table *s = &u->t->op_shape;
	return shape != ASSAY_NO_ROW && !isnan(s->bound_ns[shape]) &&
	       !(s->flags[shape] & ASSAY_OP_OVER_PEAK);
}

/* Share of the bound that a shape reaches, on the mean of its calls, beyond the time that any
 * kernel takes. */
static double reached(const assay_op_shape_table *s, uint32_t shape)
{
	double mean = (double)s->busy[shape] / (double)s->calls[shape] - ASSAY_LEAST_KERNEL;
	return mean > s->bound_ns[shape] ? s->bound_ns[shape] / mean : 1;
}

/* What a call takes that reaches that share. */
static double time_at(double bound, double share)
{
	return ASSAY_LEAST_KERNEL + bound / share;
}

/* Sizes within a factor of 4 are alike: neighbours of a bin of powers of two. */
static int bin_of(const assay_op_shape_table *s, uint32_t shape)
{
	double size = s->bound[shape] == ASSAY_BOUND_COMPUTE ? s->flops[shape] : s->bytes[shape];
	int bin = size > 1 ? (int)log2(size) : 0;
	return bin < BINS ? bin : BINS - 1;
}

static double *bests_of(struct useful *u, uint32_t shape, uint8_t math)
{
	const assay_op_shape_table *s = &u->t->op_shape;
	return u->best[2 * s->class[shape] + u->back[shape]][math][s->bound[shape]];
}

static double best_near(struct useful *u, uint32_t shape, uint8_t math)
{
	const assay_op_shape_table *s = &u->t->op_shape;
	const double *best = bests_of(u, shape, math);
	int bin = bin_of(s, shape);
	double found = 0;
	for (int b = bin - NEAR < 0 ? 0 : bin - NEAR; b <= bin + NEAR && b < BINS; b++)
		found = best[b] > found ? best[b] : found;
	return found;
}

static void learn(struct useful *u)
{
	const assay_op_shape_table *s = &u->t->op_shape;
	const assay_op_call_table *c = &u->t->op_call;
	for (uint32_t i = 0; i < s->n; i++) {
		bool enough =
			s->calls[i] >= CALLS_ENOUGH || s->busy[i] >= (u->w->to - u->w->from) / 100;
		if (!is_known(u, i) || !enough || u->crooked[i])
			continue;
		double *best = &bests_of(u, i, s->math[i])[bin_of(s, i)], share = reached(s, i);
		*best = share > *best ? share : *best;
	}
	for (uint32_t i = 0; i < c->n; i++)
		if (is_known(u, c->shape[i]) && assay_is_matrix(s->class[c->shape[i]]))
			u->by_math[s->math[c->shape[i]]] += (double)c->owned[i];
}

/* ------------------------------------------------------------------ precision */

/* Libraries leave wide loads, and cuBLAS its tensor cores, out when rows of a matrix do not start
 * at multiples of 16 bytes: then the shape is at fault, not the type. */
static bool starts_aligned(const assay_tensor *t)
{
	double bytes = assay_dtype_bytes(t->type);
	if (t->rank < 2 || t->dim[t->rank - 1] <= 1 || t->dim[t->rank - 2] <= 1 || bytes <= 0)
		return true;
	int64_t step = t->dim[t->rank - 1];
	if (t->stride) {
		int64_t a = t->stride[t->rank - 1], b = t->stride[t->rank - 2];
		step = a > b ? a : b;
	}
	return fmod((double)step * bytes, 16) == 0;
}

static bool has_narrow_kernel(const struct useful *u, uint32_t shape)
{
	uint32_t gpu = u->t->op_call.gpu[u->t->op_shape.call[shape]];
	return gpu != ASSAY_NO_ROW &&
	       assay_kernel_is_narrow(assay_text(u->run, u->t->gpu.name[gpu]));
}

static bool is_aligned(const struct useful *u, uint32_t shape)
{
	assay_arena a = {0};
	assay_op_args args;
	bool aligned = assay_shape_args(u->run, shape, &a, &args) && !has_narrow_kernel(u, shape);
	for (size_t i = 0; aligned && i < args.n; i++) {
		const assay_tensor *t = assay_arg_tensor(&args, (int)i);
		aligned = !t || starts_aligned(t);
	}
	assay_arena_free(&a);
	return aligned;
}

/* ------------------------------------------------------------------ waves */

enum { LARGE_TILE = 128 * 128 }; /* smaller ones may share a unit */

static double unused_share(double rows, double columns, const assay_product *p, double units)
{
	double waves = ceil(p->m / rows) * ceil(p->n / columns) * p->batch / units;
	return waves > 1 ? 1 - waves / ceil(waves) : 0;
}

/* Tiles are given to the units in waves; the last one takes as long as the others however few they
 * are. Kernels that split K, or share the last tiles (stream-K), have no such wave. */
static double tail_of(const struct useful *u, uint32_t shape)
{
	static const char *const split[] = {"splitk", "split_k", "streamk", "stream_k", "_SK3_"};
	uint32_t gpu = u->t->op_call.gpu[u->t->op_shape.call[shape]];
	int64_t a, b;
	if (gpu == ASSAY_NO_ROW || u->rates->units <= 0 ||
	    u->t->op_shape.bound[shape] != ASSAY_BOUND_COMPUTE)
		return 0;
	assay_str name = assay_text(u->run, u->t->gpu.name[gpu]);
	for (size_t i = 0; i < ASSAY_COUNT_OF(split); i++)
		if (assay_str_find_nocase(name, split[i]) >= 0)
			return 0;
	if (!assay_kernel_tile(name, &a, &b) || a * b < LARGE_TILE)
		return 0;
	assay_arena scratch = {0};
	assay_product p = assay_shape_product(u->run, shape, &scratch);
	assay_arena_free(&scratch);
	/* which way round tiles lie is not always known: the kinder way */
	const double least = 0.05; /* of many waves: tiles do not take so equally long */
	double share = fmin(unused_share((double)a, (double)b, &p, u->rates->units),
			    unused_share((double)b, (double)a, &p, u->rates->units));
	return p.k <= 0 || share < least ? 0 : share;
}

/* What most matrix work that is not in double precision uses; none: there is no other. */
static uint8_t usual_but_double(const struct useful *u)
{
	uint8_t best = ASSAY_MATH_NONE;
	for (uint8_t m = 0; m < ASSAY_MATH_COUNT; m++)
		if (m != ASSAY_MATH_FP64 && u->by_math[m] > u->by_math[best])
			best = m;
	return best;
}

/* The cheaper type that a call could have used: the half type that most matrix work of the run
 * uses, or tf32 where the device has it, else what half type it has; of double precision what the
 * others use. Never further than that. No fused attention has a switch for tf32. */
static uint8_t cheaper(const struct useful *u, uint32_t shape)
{
	const assay_op_shape_table *s = &u->t->op_shape;
	const double *time = u->by_math;
	double half = time[ASSAY_MATH_BF16] + time[ASSAY_MATH_FP16];
	uint8_t half_type =
		time[ASSAY_MATH_BF16] >= time[ASSAY_MATH_FP16] ? ASSAY_MATH_BF16 : ASSAY_MATH_FP16;
	bool mostly_half = half > time[ASSAY_MATH_FP32] + time[ASSAY_MATH_TF32];
	uint8_t math = s->math[shape];
	if (!assay_is_matrix(s->class[shape]) || u->crooked[shape] ||
	    (math != ASSAY_MATH_FP32 && math != ASSAY_MATH_TF32 && math != ASSAY_MATH_FP64))
		return math;
	uint8_t other = math == ASSAY_MATH_FP64 ? usual_but_double(u)
			: mostly_half           ? half_type
						: assay_rates_beside_fp32(u->rates->peak);
	if (s->class[shape] == ASSAY_WORK_ATTENTION && other == ASSAY_MATH_TF32)
		return math;
	return u->rates->peak[other] > u->rates->peak[math] ? other : math;
}

/* Time of a call in another type, at the efficiency that type reaches here, else its own. */
static double time_in(struct useful *u, uint32_t shape, uint8_t math, double *bound)
{
	const assay_op_shape_table *s = &u->t->op_shape;
	uint8_t by;
	double bytes = s->bytes[shape] / (s->math[shape] == ASSAY_MATH_FP64 ? 2 : 1);
	*bound = assay_bound_of(u->rates, s->flops[shape], bytes, math, &by);
	double share = best_near(u, shape, math);
	if (share <= 0)
		share = reached(s, shape);
	if (u->rates->best > 0 && share > u->rates->best)
		share = u->rates->best;
	double compute = 1e9 * s->flops[shape] / u->rates->peak[math];
	return fmax(time_at(compute, share), time_at(*bound, 1));
}

static bool moves_doubles(const struct useful *u, uint32_t shape)
{
	assay_arena a = {0};
	assay_op_args args;
	double all = 0, doubles = 0;
	if (!assay_is_matrix(u->t->op_shape.class[shape]) &&
	    assay_shape_args(u->run, shape, &a, &args))
		for (size_t i = 0; i < args.n; i++)
			for (size_t k = 0; k < args.arg[i].n; k++) {
				const assay_tensor *t = &args.arg[i].tensor[k];
				double bytes = assay_tensor_bytes(t);
				all += bytes;
				doubles += t->type == ASSAY_DTYPE_DOUBLE ? bytes : 0;
			}
	assay_arena_free(&a);
	return doubles * 2 > all;
}

/* Of memory traffic in double half would do, and, where something computes in it, no cast to or
 * from it would be there, where products are in other types. */
static double double_saved(const struct useful *u, uint32_t call)
{
	uint32_t shape = u->t->op_call.shape[call];
	double ns = (double)u->t->op_call.owned[call];
	if (!u->doubles[shape] || !u->double_in_use || usual_but_double(u) == ASSAY_MATH_NONE)
		return 0;
	return u->copies[shape] == ASSAY_COPY_CHANGES_TYPE ? ns : (ns - ASSAY_LEAST_KERNEL) / 2;
}

/* ------------------------------------------------------------------ fusion */

static bool is_chained(uint8_t class)
{
	return class == ASSAY_WORK_ELEMENTWISE || class == ASSAY_WORK_NORM ||
	       class == ASSAY_WORK_SOFTMAX || class == ASSAY_WORK_REDUCTION ||
	       class == ASSAY_WORK_MOVE;
}

/* Calls of the window on the main device, in the order of their work. */
typedef assay_vec(uint32_t) rows;

static uint32_t track_of(const struct useful *u, uint32_t call)
{
	uint32_t host = u->t->op_call.host[call];
	return host == ASSAY_NO_ROW ? ASSAY_NO_ROW : u->t->host.track[host];
}

/* Is its time that of the memory it moves? A scan over rows is not: one kernel for a chain would be
 * as slow. */
static bool moves_memory(const struct useful *u, uint32_t call)
{
	enum {
		SLOWEST = 6
	}; /* times what the memory needs: reductions of eager operators reach 4 */
	uint32_t shape = u->t->op_call.shape[call];
	const assay_op_shape_table *s = &u->t->op_shape;
	uint8_t by;
	double bound = assay_bound_of(u->rates, 0, s->bytes[shape], s->math[shape], &by);
	return (double)u->t->op_call.owned[call] <= SLOWEST * (bound + ASSAY_LEAST_KERNEL);
}

/* Does the second read what the first wrote? As much as it wrote, at least. */
static bool is_link(const struct useful *u, uint32_t a, uint32_t b)
{
	const assay_op_shape_table *s = &u->t->op_shape;
	uint32_t x = u->t->op_call.shape[a], y = u->t->op_call.shape[b];
	if (!is_known(u, x) || !is_known(u, y) || !is_chained(s->class[x]) ||
	    !is_chained(s->class[y]) || track_of(u, a) != track_of(u, b) || !moves_memory(u, a) ||
	    !moves_memory(u, b))
		return false;
	return s->written[x] > 0 && s->bytes[y] - s->written[y] >= s->written[x];
}

/* Where most of a chain is casts, or all of it copies, these are the trouble: one kernel for a
 * chain of copies still copies. */
static bool is_of_copies(const struct useful *u, const uint32_t *call, size_t n)
{
	const assay_op_call_table *c = &u->t->op_call;
	int64_t casts = 0, turns = 0, all = 0;
	for (size_t i = 0; i < n; i++) {
		uint8_t changes = u->copies[c->shape[call[i]]];
		int64_t ns = c->owned[call[i]];
		all += ns;
		casts += changes == ASSAY_COPY_CHANGES_TYPE ? ns : 0;
		turns += changes == ASSAY_COPY_CHANGES_LAYOUT ? ns : 0;
	}
	return casts * 2 > all || casts + turns == all;
}

/* A chain of n calls: all but the traffic between them stays. */
static void fuse_chain(struct useful *u, const uint32_t *call, size_t n)
{
	const assay_op_shape_table *s = &u->t->op_shape;
	double all = 0, between = 0;
	if (n < CHAIN_LEAST || is_of_copies(u, call, n))
		return;
	for (size_t i = 0; i < n; i++) {
		uint32_t shape = u->t->op_call.shape[call[i]];
		all += s->bytes[shape];
		between += i + 1 < n ? 2 * s->written[shape] : 0;
	}
	double kept = all > 0 && between < all ? (all - between) / all : 1;
	for (size_t i = 0; i < n; i++) {
		u->kept[call[i]] = (float)kept;
		u->goes[call[i]] = i > 0 && kept < 1;
	}
}

static bool is_product(const struct useful *u, uint32_t call)
{
	uint32_t shape = u->t->op_call.shape[call];
	return is_known(u, shape) && u->t->op_shape.class[shape] == ASSAY_WORK_GEMM;
}

/* Of the peak. Flash kernels: 0.22 to 0.5 of dense peaks on H100, H200 and MI300X, by head size. */
static const double fused_attention_reaches = 0.4;

/* Products around it make logits and take their gradients. */
static bool is_loss(const struct useful *u, uint32_t shape)
{
	return assay_str_find(assay_text(u->run, u->t->op_shape.name[shape]), "log_softmax") >= 0;
}

/* Sizes say whether the second product takes what the softmax makes of the first one's result;
 * where one of them is not known, they do. */
static bool passes_on(const struct useful *u, uint32_t first, uint32_t softmax, uint32_t second)
{
	const uint32_t *shape = u->t->op_call.shape;
	assay_arena a = {0};
	assay_op_args args;
	assay_product x = assay_shape_product(u->run, shape[first], &a),
		      y = assay_shape_product(u->run, shape[second], &a);
	const assay_tensor *scores = assay_shape_args(u->run, shape[softmax], &a, &args)
					     ? assay_arg_tensor(&args, 0)
					     : NULL;
	double n = scores ? assay_tensor_elements(scores) : 0;
	bool made = x.k <= 0 || x.batch * x.m * x.n == n,
	     taken = y.k <= 0 || y.batch * y.m * y.k == n || y.batch * y.k * y.n == n;
	assay_arena_free(&a);
	return !scores || (made && taken);
}

static void part_of_attention(struct useful *u, uint32_t call)
{
	u->kept[call] = 0;
	u->goes[call] = true;
	u->t->op_call.flags[call] |= ASSAY_OP_EAGER;
}

/* Does that copy hand a product its operand, or take its result, in a layout or a wider type that
 * no fused kernel asks for? */
static bool serves_product(const struct useful *u, uint32_t copy, uint32_t product, bool before)
{
	const assay_op_shape_table *s = &u->t->op_shape;
	uint32_t shape = u->t->op_call.shape[copy];
	double read = s->bytes[shape] - s->written[shape];
	bool widens = before ? s->written[shape] > read : s->written[shape] < read;
	if (track_of(u, copy) != track_of(u, product) || !is_known(u, shape) ||
	    !(u->copies[shape] == ASSAY_COPY_CHANGES_TYPE
		      ? widens
		      : before && u->copies[shape] == ASSAY_COPY_CHANGES_LAYOUT))
		return false;
	assay_arena a = {0};
	assay_op_args args;
	assay_product p = assay_shape_product(u->run, u->t->op_call.shape[product], &a);
	const assay_tensor *to =
		assay_shape_args(u->run, shape, &a, &args) ? assay_arg_tensor(&args, 0) : NULL;
	double n = to ? assay_tensor_elements(to) : 0;
	assay_arena_free(&a);
	return before ? n == p.batch * p.m * p.k || n == p.batch * p.k * p.n
		      : n == p.batch * p.m * p.n;
}

/* Attention in pieces: a product, a softmax with what stands around it, a product, with copies for
 * the first one and of the last one's result. The fused kernel has none of what is between. */
static size_t fuse_attention(struct useful *u, const rows *r, size_t first)
{
	const assay_op_shape_table *s = &u->t->op_shape;
	size_t softmax = 0; /* behind the first product, so never 0 */
	size_t i = first + 1;
	for (; i < r->n && i - first <= BETWEEN_MOST; i++) {
		uint32_t shape = u->t->op_call.shape[r->p[i]];
		if (track_of(u, r->p[i]) != track_of(u, r->p[first]) || !is_known(u, shape) ||
		    !is_chained(s->class[shape]) || is_loss(u, shape))
			break;
		softmax = s->class[shape] == ASSAY_WORK_SOFTMAX ? i : softmax;
	}
	if (!softmax || i >= r->n || !is_product(u, r->p[i]) ||
	    !passes_on(u, r->p[first], r->p[softmax], r->p[i]))
		return first;
	for (size_t k = first + 1; k < i; k++)
		part_of_attention(u, r->p[k]);
	for (size_t k = first; k-- > 0 && serves_product(u, r->p[k], r->p[first], true);)
		part_of_attention(u, r->p[k]);
	if (i + 1 < r->n && serves_product(u, r->p[i + 1], r->p[i], false))
		part_of_attention(u, r->p[i + 1]);
	u->t->op_call.flags[r->p[first]] |= ASSAY_OP_SCORES;
	u->t->op_call.flags[r->p[i]] |= ASSAY_OP_SCORES;
	return i;
}

/* Of the products around it, what a fused kernel takes for the same operations. */
static void fuse_scores(struct useful *u, uint32_t call)
{
	uint32_t shape = u->t->op_call.shape[call];
	double peak = is_known(u, shape) ? u->rates->peak[u->t->op_shape.math[shape]] : 0;
	if (peak <= 0)
		return;
	double fused = 1e9 * u->t->op_shape.flops[shape] / (fused_attention_reaches * peak),
	       share = fused / (double)u->t->op_call.owned[call];
	u->kept[call] = share < 1 ? (float)share : 1;
}

static void find_fusions(struct useful *u)
{
	const assay_op_call_table *c = &u->t->op_call;
	rows r = {0};
	for (uint32_t i = 0; i < c->n; i++)
		if (c->device[i] == u->w->device && c->owned[i] > 0)
			*assay_push(&r) = i;
	for (size_t i = 0; i < r.n; i++)
		if (is_product(u, r.p[i]))
			fuse_attention(u, &r, i);
	for (size_t i = 0; i < r.n; i++)
		if (c->flags[r.p[i]] & ASSAY_OP_SCORES)
			fuse_scores(u, r.p[i]);
	for (size_t i = 0, n; i < r.n; i += n) {
		for (n = 1; i + n < r.n && u->kept[r.p[i]] > 0 && u->kept[r.p[i + n]] > 0 &&
			    is_link(u, r.p[i + n - 1], r.p[i + n]);)
			n++;
		fuse_chain(u, r.p + i, n);
	}
	assay_vec_free(&r);
}

/* ------------------------------------------------------------------ the split */

static int64_t take(int64_t *left, double ns)
{
	int64_t part = ns > 0 ? ns < (double)*left ? (int64_t)ns : *left : 0;
	*left -= part;
	return part;
}

static void split_call(struct useful *u, uint32_t call)
{
	assay_tables *t = u->t;
	uint32_t shape = t->op_call.shape[call], r = assay_add(t, ASSAY_T_call_part);
	assay_call_part_table *p = &t->call_part;
	int64_t left = t->op_call.owned[call];
	p->call[r] = call;
	p->goes[r] = u->goes[call];
	p->unmodelled[r] = take(&left, (double)t->op_call.aside[call]);
	if (!is_known(u, shape)) {
		p->unmodelled[r] += left;
		return;
	}
	uint8_t math = cheaper(u, shape);
	double bound = t->op_shape.bound_ns[shape];
	if (math != t->op_shape.math[shape])
		p->precision[r] = take(&left, (double)left - time_in(u, shape, math, &bound));
	double saved = double_saved(u, call), all = (double)left;
	p->precision[r] += take(&left, saved);
	bound *= saved > 0 ? (double)left / all : 1;
	double kept = u->kept[call], share = best_near(u, shape, math);
	p->unfused[r] = take(&left, (double)left * (1 - kept));
	bound *= kept;
	share = share > 0 ? share : u->rates->best > 0 ? u->rates->best : 1;
	double best = u->rates->best > 0 ? u->rates->best : 1,
	       tail = fmin((double)left * u->tail[shape], (double)left - bound / best);
	p->shape[r] = take(&left, fmax((double)left - time_at(bound, share), tail));
	p->tail[r] = tail > 0 ? (int64_t)tail : 0;
	p->at_bound[r] = take(&left, bound);
	p->rest[r] = left;
}

void assay_useful(assay_run *run, const assay_rates *rates, const assay_window *w)
{
	assay_tables *t = &run->part.t;
	assay_arena scratch = {0};
	if (!rates->name || !t->op_call.n)
		return;
	struct useful *u = assay_alloc(&scratch, sizeof *u);
	u->run = run, u->t = t, u->rates = rates, u->w = w;
	u->kept = assay_alloc(&scratch, t->op_call.n * sizeof *u->kept);
	u->goes = assay_alloc(&scratch, t->op_call.n);
	for (uint32_t i = 0; i < t->op_call.n; i++)
		u->kept[i] = 1;
	u->crooked = assay_alloc(&scratch, t->op_shape.n + 1);
	u->tail = assay_alloc(&scratch, (t->op_shape.n + 1) * sizeof *u->tail);
	u->copies = assay_alloc(&scratch, t->op_shape.n + 1);
	u->doubles = assay_alloc(&scratch, t->op_shape.n + 1);
	u->back = assay_alloc(&scratch, t->op_shape.n + 1);
	for (uint32_t i = 0; i < t->op_shape.n; i++) {
		bool product = t->op_shape.class[i] == ASSAY_WORK_GEMM && is_known(u, i);
		u->crooked[i] = product && !is_aligned(u, i);
		u->tail[i] = product ? (float)tail_of(u, i) : 0;
		u->copies[i] = (uint8_t)assay_shape_copy(run, i);
		u->doubles[i] = moves_doubles(u, i);
		u->double_in_use |= t->op_shape.math[i] == ASSAY_MATH_FP64 ||
				    (u->doubles[i] && u->copies[i] != ASSAY_COPY_CHANGES_TYPE);
		const assay_work_rule *rule =
			assay_work_rule_of(assay_text(run, t->op_shape.name[i]));
		u->back[i] = rule && rule->flags & WORK_BACKWARD;
	}
	learn(u);
	find_fusions(u);
	for (uint32_t i = 0; i < t->op_call.n; i++)
		if (t->op_call.owned[i] > 0)
			split_call(u, i);
	assay_arena_free(&scratch);
}

/* A call of that class, its own time, and the shape of one call. */
static uint32_t add_hand_call(assay_run *run, uint8_t class, uint8_t math, double flops,
			      double bytes, int64_t ns)
{
	assay_tables *t = &run->part.t;
	uint32_t s = assay_add(t, ASSAY_T_op_shape), c = assay_add(t, ASSAY_T_op_call);
	t->op_shape.class[s] = class;
	t->op_shape.math[s] = math;
	t->op_shape.flops[s] = flops;
	t->op_shape.bytes[s] = bytes;
	t->op_shape.written[s] = bytes / 2;
	t->op_shape.calls[s] = 3;
	t->op_shape.busy[s] = 3 * ns;
	t->op_shape.dims[s] = assay_sid_of(run, "[[64, 64], [64, 64]]");
	t->op_shape.types[s] = assay_sid_of(run, "[\"float\", \"float\"]");
	t->op_shape.call[s] = c;
	t->op_call.shape[c] = s;
	t->op_call.host[c] = 0;
	t->op_call.device[c] = 0;
	t->op_call.owned[c] = ns;
	return s;
}

TEST(parts_sum_to_the_time_and_take_the_cheaper_type_first)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	assay_rates r = {.name = "x", .bandwidth = 1e12};
	int64_t part[ASSAY_USEFUL_PARTS_COUNT], sum = 0;
	r.peak[ASSAY_MATH_FP32] = 10e12;
	r.peak[ASSAY_MATH_TF32] = 100e12;
	assay_hand_host(run, ASSAY_HOST_OP, "op", 0, 1);
	/* fp32 at 10 of 16 us beyond what every kernel takes; tf32 as good would take 1600
	 * beyond it */
	add_hand_call(run, ASSAY_WORK_GEMM, ASSAY_MATH_FP32, 1e8, 1, 20000);
	/* three elementwise calls in a chain, each 1000 bytes at the bound of 1 ns a 1000 bytes */
	for (int i = 0; i < 3; i++)
		add_hand_call(run, ASSAY_WORK_ELEMENTWISE, ASSAY_MATH_FP32, 1, 1e6, 1000);
	for (uint32_t i = 0; i < t->op_shape.n; i++)
		t->op_shape.bound_ns[i] =
			assay_bound_of(&r, t->op_shape.flops[i], t->op_shape.bytes[i],
				       t->op_shape.math[i], &t->op_shape.bound[i]);
	const assay_window w = {.device = 0, .to = 24000, .compute = 24000};
	assay_useful(run, &r, &w);
	CHECK(assay_useful_sums(run, &w, part));
	for (int i = 0; i < ASSAY_USEFUL_PARTS_COUNT; i++)
		sum += part[i];
	CHECK_EQ(sum, 24000);
	CHECK_EQ(part[ASSAY_USEFUL_PRECISION], 20000 - ASSAY_LEAST_KERNEL - 1600);
	CHECK_EQ(part[ASSAY_USEFUL_UNFUSED], 3 * 666); /* two of three tensors between them go */
	CHECK_EQ(part[ASSAY_USEFUL_UNMODELLED], 1000); /* work without an operator */
	assay_run_free(run);
	return 0;
}

/* Unfused time of three calls in a chain, of which some are copies into another type or layout. */
static int64_t unfused_of(int64_t ns, int casts, int turns)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	assay_rates r = {.name = "x", .bandwidth = 1e12};
	int64_t part[ASSAY_USEFUL_PARTS_COUNT];
	assay_hand_host(run, ASSAY_HOST_OP, "op", 0, 1);
	for (int i = 0; i < 3; i++) {
		uint32_t s = add_hand_call(run, ASSAY_WORK_MOVE, ASSAY_MATH_FP32, 0, 1e6, ns);
		t->op_shape.name[s] = assay_sid_of(run, "aten::copy_");
		t->op_shape.bound_ns[s] = 1000;
		t->op_shape.bound[s] = ASSAY_BOUND_MEMORY;
		if (i < casts)
			t->op_shape.types[s] = assay_sid_of(run, "[\"float\", \"c10::Half\"]");
		if (i < turns) {
			t->op_shape.dims[s] = assay_sid_of(run, "[[2, 3], [2, 3]]");
			t->op_shape.strides[s] = assay_sid_of(run, "[[3, 1], [1, 2]]");
		}
	}
	const assay_window w = {.device = 0, .to = 3 * ns, .compute = 3 * ns};
	assay_useful(run, &r, &w);
	assay_useful_sums(run, &w, part);
	assay_run_free(run);
	return part[ASSAY_USEFUL_UNFUSED];
}

/* A softmax between products of 64 x 64: of their scores, or of something larger. */
TEST(a_softmax_of_something_else_between_products_is_no_attention)
{
	static const struct {
		const char *name, *dims;
		bool attention;
	} cases[] = {{"aten::_softmax", "[[64, 64], [], []]", true},
		     {"aten::_softmax", "[[1, 1, 64, 64], [], []]", true},
		     {"aten::_softmax", "[[6, 4194304], [], []]", false},
		     {"aten::_log_softmax", "[[64, 64], [], []]", false}}; /* a loss */
	for (size_t i = 0; i < ASSAY_COUNT_OF(cases); i++) {
		assay_run *run = assay_run_new();
		assay_tables *t = &run->part.t;
		assay_rates r = {.name = "x", .bandwidth = 1e12};
		r.peak[ASSAY_MATH_FP32] = 1e13;
		assay_hand_host(run, ASSAY_HOST_OP, "model", 0, 1);
		add_hand_call(run, ASSAY_WORK_GEMM, ASSAY_MATH_FP32, 1e8, 1, 20000);
		uint32_t s = add_hand_call(run, ASSAY_WORK_SOFTMAX, ASSAY_MATH_FP32, 1, 1e6, 9000);
		t->op_shape.name[s] = assay_sid_of(run, cases[i].name);
		t->op_shape.dims[s] = assay_sid_of(run, cases[i].dims);
		t->op_shape.types[s] = assay_sid_of(run, "[\"float\", \"Scalar\", \"Scalar\"]");
		add_hand_call(run, ASSAY_WORK_GEMM, ASSAY_MATH_FP32, 1e8, 1, 20000);
		for (uint32_t k = 0; k < t->op_shape.n; k++)
			t->op_shape.bound_ns[k] =
				assay_bound_of(&r, t->op_shape.flops[k], t->op_shape.bytes[k],
					       t->op_shape.math[k], &t->op_shape.bound[k]);
		const assay_window w = {.device = 0, .to = 49000, .compute = 49000};
		assay_useful(run, &r, &w);
		CHECK_EQ(!!(t->op_call.flags[1] & ASSAY_OP_EAGER), cases[i].attention);
		assay_run_free(run);
	}
	return 0;
}

/* A copy before two products around a softmax, of as much as the first one reads. */
static bool copy_is_of_attention(const char *dims, const char *strides, const char *types,
				 double read, double written)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	assay_rates r = {.name = "x", .bandwidth = 1e12};
	int64_t part[ASSAY_USEFUL_PARTS_COUNT];
	r.peak[ASSAY_MATH_FP32] = 1e13;
	assay_hand_host(run, ASSAY_HOST_OP, "model", 0, 1);
	uint32_t s = add_hand_call(run, ASSAY_WORK_MOVE, ASSAY_MATH_FP32, 0, read + written, 5000);
	t->op_shape.name[s] = assay_sid_of(run, "aten::copy_");
	t->op_shape.dims[s] = assay_sid_of(run, dims);
	t->op_shape.strides[s] = assay_sid_of(run, strides);
	t->op_shape.types[s] = assay_sid_of(run, types);
	t->op_shape.written[s] = written;
	add_hand_call(run, ASSAY_WORK_GEMM, ASSAY_MATH_FP32, 1e8, 1, 20000);
	s = add_hand_call(run, ASSAY_WORK_SOFTMAX, ASSAY_MATH_FP32, 1, 1e6, 9000);
	t->op_shape.dims[s] = assay_sid_of(run, "[[64, 64], [], []]");
	t->op_shape.types[s] = assay_sid_of(run, "[\"float\", \"Scalar\", \"Scalar\"]");
	add_hand_call(run, ASSAY_WORK_GEMM, ASSAY_MATH_FP32, 1e8, 1, 20000);
	for (uint32_t k = 0; k < t->op_shape.n; k++)
		t->op_shape.bound_ns[k] =
			assay_bound_of(&r, t->op_shape.flops[k], t->op_shape.bytes[k],
				       t->op_shape.math[k], &t->op_shape.bound[k]);
	const assay_window w = {.device = 0, .to = 54000, .compute = 54000};
	assay_useful(run, &r, &w);
	assay_useful_sums(run, &w, part);
	bool of_it = t->op_call.flags[0] & ASSAY_OP_EAGER;
	of_it = of_it && t->call_part.unfused[0] == 5000;
	assay_run_free(run);
	return of_it;
}

TEST(copies_for_the_products_of_an_attention_in_pieces_go_with_it)
{
	static const char *const same = "[[64, 64], [64, 64]]",
				 *const floats = "[\"float\", \"float\"]",
				 *const turned = "[[64, 1], [1, 64]]",
				 *const straight = "[[64, 1], [64, 1]]";
	CHECK(copy_is_of_attention(same, turned, floats, 16384, 16384));
	CHECK(!copy_is_of_attention(same, straight, floats, 16384, 16384));
	CHECK(!copy_is_of_attention("[[64, 32], [64, 32]]", turned, floats, 8192, 8192));
	CHECK(copy_is_of_attention(same, straight, "[\"float\", \"c10::Half\"]", 8192, 16384));
	/* autocast's casts to the narrow type stay */
	CHECK(!copy_is_of_attention(same, straight, "[\"c10::Half\", \"float\"]", 16384, 8192));
	return 0;
}

TEST(copies_and_kernels_that_memory_does_not_hold_up_are_no_chain)
{
	CHECK(unfused_of(1000, 0, 0) > 0);
	CHECK(unfused_of(1000, 1, 0) > 0);
	CHECK_EQ(unfused_of(1000, 2, 0), 0);
	CHECK_EQ(unfused_of(1000, 1, 3), 0);
	CHECK(unfused_of(1000, 0, 1) > 0);
	CHECK(unfused_of(1000, 0, 2) > 0);
	CHECK_EQ(unfused_of(1000, 0, 3), 0);
	CHECK(unfused_of(30000, 0, 0) > 0); /* six times what a call and its bytes take */
	CHECK_EQ(unfused_of(30001, 0, 0), 0);
	return 0;
}

/* What a cheaper type saves of a call of 104 us on tensors of these types, beside a product and a
 * short call on tensors of that type. */
static int64_t saved_of_types(const char *name, const char *types, uint8_t product,
			      const char *beside)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	assay_rates r = {.name = "x", .bandwidth = 1e12};
	const assay_window w = {.device = 0, .to = 204000, .compute = 204000};
	r.peak[ASSAY_MATH_FP64] = 1e12;
	r.peak[ASSAY_MATH_BF16] = 1e12;
	assay_hand_host(run, ASSAY_HOST_OP, "op", 0, 1);
	uint32_t s = add_hand_call(run, ASSAY_WORK_ELEMENTWISE, ASSAY_MATH_FP32, 1, 1e8, 104000);
	t->op_shape.name[s] = assay_sid_of(run, name);
	t->op_shape.types[s] = assay_sid_of(run, types);
	add_hand_call(run, ASSAY_WORK_GEMM, product, 1e8, 1, 100000);
	for (uint32_t i = 0; i < 2; i++)
		t->op_shape.bound_ns[i] = 100000;
	s = add_hand_call(run, ASSAY_WORK_ELEMENTWISE, ASSAY_MATH_FP32, 1, 1, 1);
	t->op_shape.name[s] = assay_sid_of(run, "aten::sin");
	t->op_shape.types[s] = assay_sid_of(run, beside);
	assay_useful(run, &r, &w);
	int64_t saved = t->call_part.precision[0];
	assay_run_free(run);
	return saved;
}

TEST(traffic_in_double_is_dear_beside_products_in_other_types)
{
	static const struct {
		const char *name, *types;
		uint8_t product;
		const char *beside;
		int64_t saved;
	} cases[] = {
		{"aten::add", "[\"double\", \"double\"]", ASSAY_MATH_BF16, "[\"float\"]", 50000},
		{"aten::add", "[\"double\", \"double\"]", ASSAY_MATH_FP64, "[\"float\"]", 0},
		{"aten::add", "[\"float\", \"float\"]", ASSAY_MATH_BF16, "[\"float\"]", 0},
		/* no cast from double or to it would be there */
		{"aten::copy_", "[\"float\", \"double\"]", ASSAY_MATH_BF16, "[\"double\"]", 104000},
		/* a cast like others, where nothing computes in double */
		{"aten::copy_", "[\"float\", \"double\"]", ASSAY_MATH_BF16, "[\"float\"]", 0},
		{"aten::copy_", "[\"float\", \"c10::BFloat16\"]", ASSAY_MATH_BF16, "[\"double\"]",
		 0},
	};
	for (size_t i = 0; i < ASSAY_COUNT_OF(cases); i++)
		CHECK_EQ(saved_of_types(cases[i].name, cases[i].types, cases[i].product,
					cases[i].beside),
			 cases[i].saved);
	return 0;
}

TEST(fused_attention_has_no_switch_for_tf32)
{
	for (int i = 0; i < 2; i++) {
		assay_run *run = assay_run_new();
		assay_tables *t = &run->part.t;
		assay_rates r = {.name = "x", .bandwidth = 1e12};
		const assay_window w = {.device = 0, .to = 104000, .compute = 104000};
		r.peak[ASSAY_MATH_FP32] = 1e13;
		r.peak[ASSAY_MATH_TF32] = 1e14;
		assay_hand_host(run, ASSAY_HOST_OP, "op", 0, 1);
		add_hand_call(run, i ? ASSAY_WORK_ATTENTION : ASSAY_WORK_GEMM, ASSAY_MATH_FP32, 1e9,
			      1, 104000);
		t->op_shape.bound_ns[0] = 100000;
		assay_useful(run, &r, &w);
		CHECK_EQ(t->call_part.precision[0], i ? 0 : 90000);
		assay_run_free(run);
	}
	return 0;
}

TEST(a_product_with_rows_off_the_grid_is_measured_by_others)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	assay_rates r = {.name = "x", .bandwidth = 1e15, .best = 0.8};
	int64_t part[ASSAY_USEFUL_PARTS_COUNT];
	r.peak[ASSAY_MATH_BF16] = 100e12;
	assay_hand_host(run, ASSAY_HOST_OP, "op", 0, 1);
	/* 10 us at peak, 12.5 at best, 100 in fact; the second one the same, but aligned */
	for (int i = 0; i < 2; i++) {
		uint32_t s = add_hand_call(run, ASSAY_WORK_GEMM, ASSAY_MATH_BF16, 1e9, 1, 100000);
		t->op_shape.types[s] = assay_sid_of(run, "[\"c10::BFloat16\", \"c10::BFloat16\"]");
		t->op_shape.dims[s] =
			assay_sid_of(run, i ? "[[64, 64], [64, 64]]" : "[[64, 65], [65, 64]]");
		t->op_shape.bound_ns[s] = 10000;
		t->op_shape.bound[s] = ASSAY_BOUND_COMPUTE;
		const assay_window w = {.device = 0, .to = 200000, .compute = 100000 * (i + 1)};
		t->call_part.n = 0;
		assay_useful(run, &r, &w);
		CHECK(assay_useful_sums(run, &w, part));
		/* alone: by the device's best; then by the call beside it, which takes as long */
		CHECK_EQ(part[ASSAY_USEFUL_SHAPE], i ? 0 : 100000 - 12500 - ASSAY_LEAST_KERNEL);
	}
	assay_run_free(run);
	return 0;
}

/* What of a call of that operator is kernel_shape beside one of another, whose bound is the
 * same. */
static int64_t shape_beside(const char *best, int64_t best_ns, const char *name, int64_t ns)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	assay_rates r = {.name = "x", .bandwidth = 1e12};
	int64_t part[ASSAY_USEFUL_PARTS_COUNT];
	r.peak[ASSAY_MATH_BF16] = 100e12;
	assay_hand_host(run, ASSAY_HOST_OP, "op", 0, 1);
	for (int i = 0; i < 2; i++) {
		uint32_t s = add_hand_call(run, ASSAY_WORK_ATTENTION, ASSAY_MATH_BF16, 1e8, 1,
					   i ? ns : best_ns);
		t->op_shape.name[s] = assay_sid_of(run, i ? name : best);
		t->op_shape.bound_ns[s] = 1000;
		t->op_shape.bound[s] = ASSAY_BOUND_COMPUTE;
	}
	const assay_window w = {.device = 0, .to = ns + best_ns, .compute = ns + best_ns};
	assay_useful(run, &r, &w);
	assay_useful_sums(run, &w, part);
	assay_run_free(run);
	return part[ASSAY_USEFUL_SHAPE];
}

TEST(calls_are_measured_by_their_like_beyond_what_any_kernel_takes)
{
	static const char forward[] = "aten::_flash_attention_forward",
			  backward[] = "aten::_flash_attention_backward";
	CHECK_EQ(shape_beside(forward, 6000, forward, 10000), 4000);
	CHECK_EQ(shape_beside(forward, 6000, backward, 10000), 0);
	CHECK_EQ(shape_beside(forward, 1500, forward, 4500), 0);
	return 0;
}

TEST(a_last_wave_that_is_not_full_is_told_from_other_losses)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	assay_rates r = {.name = "x", .bandwidth = 1e15, .best = 0.8, .units = 100};
	r.peak[ASSAY_MATH_BF16] = 100e12;
	assay_hand_host(run, ASSAY_HOST_OP, "op", 0, 1);
	uint32_t s = add_hand_call(run, ASSAY_WORK_GEMM, ASSAY_MATH_BF16, 1e10, 1, 250000);
	assay_hand_gpu(run, "nvjet_sm90_tst_128x128_64x5_2x1_v_bz_TNT", 0, 250000, ASSAY_NO_ROW);
	t->op_call.gpu[0] = 0;
	t->op_shape.types[s] = assay_sid_of(run, "[\"c10::BFloat16\", \"c10::BFloat16\"]");
	/* 11 x 10 tiles on 100 units: two waves, of the second a tenth */
	t->op_shape.dims[s] = assay_sid_of(run, "[[1408, 64], [64, 1280]]");
	t->op_shape.bound_ns[s] = 100000;
	t->op_shape.bound[s] = ASSAY_BOUND_COMPUTE;
	const assay_window w = {.device = 0, .to = 250000, .compute = 250000};
	assay_useful(run, &r, &w);
	CHECK(t->call_part.tail[0] >= 112499 && t->call_part.tail[0] <= 112500);
	CHECK_EQ(t->call_part.shape[0], t->call_part.tail[0]);
	t->call_part.n = 0;
	/* one wave; 31 and three tiles */
	static const char *const full[] = {"[[1280, 64], [64, 1280]]", "[[13696, 64], [64, 3712]]"};
	for (int i = 0; i < 2; i++) {
		t->call_part.n = 0;
		t->op_shape.dims[s] = assay_sid_of(run, full[i]);
		assay_useful(run, &r, &w);
		CHECK_EQ(t->call_part.tail[0], 0);
	}
	assay_run_free(run);
	return 0;
}
