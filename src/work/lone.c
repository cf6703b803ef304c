#include "work/lone.h"

#include <math.h>

#include "analyze/analyze.h"
#include "analyze/idle_where.h"
#include "names/copies.h"
#include "names/roles.h"
#include "work/fusible.h"
#include "work/kernel_math.h"

enum { PIECES_MOST = 12 };

/* What the name of a kernel says. */
struct named {
	uint8_t family, role, math;
	bool narrow, tail; /* tail: of the product before it */
	bool wide;         /* in double precision */
	bool plain_copy;   /* of elements as long as a double, or of a type that is not told */
	bool compiled;     /* by a compiler that fuses what it can */
	uint8_t reads;     /* assay_reads */
	uint8_t passes;    /* of a batch norm over planes (NCHW): tensors read and written */
};

/* On one stream: a product, and what came after it. */
struct pieces {
	uint32_t product; /* row of gpu; ASSAY_NO_ROW none */
	uint32_t at[PIECES_MOST];
	size_t n;
	bool softmax, exp;
};

/* On one stream: the longest copy between layouts since the last norm, and before that. */
struct layout {
	int64_t now, before;
};

struct lone {
	assay_run *run;
	assay_tables *t;
	const assay_order *order;
	const assay_order_device *device;
	const assay_rates *rates;
	const assay_window *w;
	assay_arena scratch, args;
	assay_map rows;      /* name of a kernel -> row of kernel */
	struct named *named; /* by row of kernel */
	bool *eager;         /* by place in the order of the device */
	bool *mask;          /* by place: makes the mask of an attention */
	int64_t *spared;     /* by place: ns of an attention that may go with the mask made there */
	uint64_t masks;      /* made in the window */
	double made_again;   /* of these, the share behind the first of each step */
	assay_fused *fused;  /* by place */
	int64_t *gap_before; /* by row of gpu: ns of waiting although it was submitted */
	int64_t copies_left; /* ns of copies that nothing hides and that no kernel accounts for yet
			      */
	bool *in_optimizer;  /* by row of stack */
	double passes_saved; /* of operations over lists of tensors */
	bool cheaper_in_use; /* most matrix time by names is not fp32 */
	bool single_in_use;  /* some is not fp64 */
	bool double_in_use;  /* something computes in double: more than casts there and back */
	assay_map streams;   /* track -> row of pieces and chain */
	assay_vec(struct pieces) pieces;
	assay_vec(assay_fusible) chain;
	assay_vec(struct layout) layout;
	assay_vec(int64_t) wide_run; /* longest of the work in double that a stream is at; 0 none */
	bool *wide;                  /* by place: moves doubles */
	int64_t *planar; /* by place: ns that a norm is longer than copies of what it moves */
};

/* ------------------------------------------------------------------ names */

static bool is_memory_bound(const struct named *n)
{
	return n->family == ASSAY_FAMILY_ELEMENTWISE || n->family == ASSAY_FAMILY_REDUCTION ||
	       n->role == ASSAY_ROLE_CAST;
}

/* PyTorch's own kernels for planes, one block a channel; those for channels_last say so. */
static uint8_t planar_passes(assay_str name)
{
	static const struct {
		const char *word;
		uint8_t passes;
	} norms[] = {
		{"batch_norm_collect_statistics_kernel", 1},
		{"batch_norm_transform_input_kernel", 2},
		{"batch_norm_backward_reduce_kernel", 2},
		{"batch_norm_backward_elemt_kernel", 3},
		{"batch_norm_backward_kernel", 5},
	};
	for (size_t i = 0; i < ASSAY_COUNT_OF(norms); i++)
		if (assay_str_find(name, norms[i].word) >= 0)
			return assay_str_find(name, "channels_last") < 0 ? norms[i].passes : 0;
	return 0;
}

/* PyTorch's vectorized kernels take operands that are laid out like their result; others go by
 * strides, which are 0 along what is broadcast. CuPy's do either. */
static assay_reads reads_of(assay_str name, uint8_t role)
{
	static const char *const less[] = {"gpu_kernel_impl", "elementwise_kernel_with_index",
					   "distribution_elementwise"};
	for (size_t i = 0; i < ASSAY_COUNT_OF(less); i++)
		if (assay_str_find(name, less[i]) >= 0)
			return ASSAY_READS_LESS;
	return role == ASSAY_ROLE_FILL           ? ASSAY_READS_LESS
	       : assay_str_starts(name, "cupy_") ? ASSAY_READS_ANY
						 : ASSAY_READS_AS_MUCH;
}

static struct named read_name(const assay_run *run, uint32_t kernel)
{
	const assay_kernel_table *k = &run->part.t.kernel;
	assay_str name = assay_text(run, k->name[kernel]);
	struct named n = {.family = k->family[kernel],
			  .role = assay_role_of_kernel(name),
			  .passes = planar_passes(name)};
	n.reads = (uint8_t)reads_of(name, n.role);
	n.compiled = assay_str_starts(name, "triton_") || assay_str_find(name, "fusion") >= 0;
	bool other = assay_str_find_nocase(name, "float") >= 0 ||
		     assay_str_find_nocase(name, "half") >= 0;
	n.wide = is_memory_bound(&n) && assay_str_find(name, "double") >= 0 &&
		 (n.role == ASSAY_ROLE_CAST || !other);
	n.plain_copy = n.role == ASSAY_ROLE_CAST || assay_kernel_element(name) == sizeof(double);
	/* copies inside a convolution may have their family from its operator */
	if ((n.family != ASSAY_FAMILY_GEMM && n.family != ASSAY_FAMILY_CONV) ||
	    n.role == ASSAY_ROLE_LAYOUT)
		return n;
	n.role = ASSAY_ROLE_NONE;
	n.math = assay_kernel_math(name);
	n.wide = n.math == ASSAY_MATH_FP64;
	n.narrow = assay_kernel_is_narrow(name);
	n.tail = assay_str_find_nocase(name, "splitk") >= 0 &&
		 assay_str_find_nocase(name, "reduce") >= 0;
	return n;
}

/* Was a library's kernel tried for the same product? One in fp32 that takes about as long: where
 * the choice was kept from an earlier run, a small product in fp32 says nothing of the large
 * ones. */
static bool has_rival(const struct lone *l, uint32_t kernel)
{
	enum { ALIKE = 2 };
	const assay_kernel_table *k = &l->t->kernel;
	int64_t own = k->count[kernel] ? k->total[kernel] / (int64_t)k->count[kernel] : 0;
	for (uint32_t i = 0; i < k->n; i++) {
		int64_t each = k->count[i] ? k->total[i] / (int64_t)k->count[i] : 0;
		if (l->named[i].math == ASSAY_MATH_FP32 && !l->named[i].compiled &&
		    each < own * ALIKE && own < each * ALIKE)
			return true;
	}
	return false;
}

/* XLA names the products it compiles by no type, but before it does so it tries the kernels of
 * libraries for them: where all of those are in full fp32, so are its own. */
static void name_like_tried(struct lone *l)
{
	for (uint32_t i = 0; i < l->t->kernel.n; i++)
		if (l->named[i].family == ASSAY_FAMILY_GEMM && l->named[i].compiled &&
		    !l->named[i].math && !l->named[i].role && has_rival(l, i))
			l->named[i].math = ASSAY_MATH_FP32;
}

static void read_names(struct lone *l)
{
	const assay_kernel_table *k = &l->t->kernel;
	double cheap = 0, full = 0;
	bool products = false; /* in double */
	int64_t passes = 0, longest = 0;
	l->named = assay_alloc(&l->scratch, (k->n + 1) * sizeof *l->named);
	for (uint32_t i = 0; i < k->n; i++) {
		if (k->kind[i] != ASSAY_GPU_KERNEL)
			continue;
		*assay_map_at(&l->rows, k->name[i]) = i;
		l->named[i] = read_name(l->run, i);
		bool matrix = l->named[i].math && l->named[i].math != ASSAY_MATH_FP64;
		products |= l->named[i].math == ASSAY_MATH_FP64;
		if (l->named[i].role == ASSAY_ROLE_LIST_UPDATE) {
			passes += k->total[i];
			longest = k->total[i] > longest ? k->total[i] : longest;
		}
		l->double_in_use |= l->named[i].wide && l->named[i].role != ASSAY_ROLE_CAST;
		full += l->named[i].math == ASSAY_MATH_FP32 ? (double)k->total[i] : 0;
		cheap += matrix && l->named[i].math != ASSAY_MATH_FP32 ? (double)k->total[i] : 0;
	}
	l->passes_saved = assay_list_passes_saved(passes, longest);
	l->cheaper_in_use = cheap > full;
	l->single_in_use = cheap + full > 0;
	if (full > 0 && cheap == 0 && !products)
		name_like_tried(l);
}

/* A copy within the device reads and writes as any other pass over a tensor. */
static const struct named device_copy = {.family = ASSAY_FAMILY_ELEMENTWISE,
					 .role = ASSAY_ROLE_COPY};

static bool is_device_copy(const struct lone *l, uint32_t gpu)
{
	return l->t->gpu.kind[gpu] == ASSAY_GPU_MEMCPY &&
	       assay_copy_way_of(assay_text(l->run, l->t->gpu.name[gpu])) == ASSAY_COPY_ON_DEVICE;
}

static const struct named *name_of(const struct lone *l, uint32_t gpu)
{
	if (is_device_copy(l, gpu))
		return &device_copy;
	uint32_t k = l->t->gpu.kind[gpu] == ASSAY_GPU_KERNEL
			     ? assay_map_get(&l->rows, l->t->gpu.name[gpu])
			     : ASSAY_MAP_ABSENT;
	return k == ASSAY_MAP_ABSENT ? NULL : &l->named[k];
}

/* ------------------------------------------------------------------ attention in pieces */

static uint32_t call_of(const struct lone *l, uint32_t gpu)
{
	return l->t->gpu_op.n ? l->t->gpu_op.call[gpu] : ASSAY_NO_ROW;
}

static assay_product product_of(struct lone *l, uint32_t gpu)
{
	uint32_t call = call_of(l, gpu);
	return call == ASSAY_NO_ROW
		       ? (assay_product){.k = 0}
		       : assay_shape_product(l->run, l->t->op_call.shape[call], &l->args);
}

/* The second product multiplies what the first one made: the scores. Without sizes a softmax by
 * name has to do. */
static bool is_attention(struct lone *l, const struct pieces *p, uint32_t second)
{
	if (p->product == ASSAY_NO_ROW || (!p->softmax && !p->exp))
		return false;
	assay_product a = product_of(l, p->product), b = product_of(l, second);
	if (a.k > 0 && b.k > 0)
		return a.batch == b.batch && (b.k == a.m || b.k == a.n);
	return p->softmax;
}

static void flag_product(struct lone *l, uint32_t gpu)
{
	uint32_t call = call_of(l, gpu);
	if (call != ASSAY_NO_ROW)
		l->t->op_call.flags[call] |= ASSAY_OP_SCORES;
}

static uint32_t stream_of(struct lone *l, uint32_t gpu)
{
	uint32_t *slot = assay_map_at(&l->streams, l->t->gpu.track[gpu]);
	if (*slot == ASSAY_MAP_ABSENT) {
		*slot = (uint32_t)l->pieces.n;
		*assay_push(&l->pieces) = (struct pieces){.product = ASSAY_NO_ROW};
		*assay_push(&l->chain) = (assay_fusible){.n = 0};
		*assay_push(&l->layout) = (struct layout){0, 0};
		*assay_push(&l->wide_run) = 0;
	}
	return *slot;
}

static void see_product(struct lone *l, struct pieces *p, uint32_t gpu)
{
	if (is_attention(l, p, gpu)) {
		for (size_t i = 0; i < p->n; i++)
			l->eager[p->at[i]] = true;
		flag_product(l, p->product);
		flag_product(l, gpu);
	}
	assay_arena_reset(&l->args);
	*p = (struct pieces){.product = gpu};
}

static bool is_piece(const struct named *n)
{
	return n->family == ASSAY_FAMILY_ELEMENTWISE || n->family == ASSAY_FAMILY_REDUCTION ||
	       n->role == ASSAY_ROLE_SOFTMAX || n->role == ASSAY_ROLE_EXP ||
	       n->role == ASSAY_ROLE_MASK || n->role == ASSAY_ROLE_CAST ||
	       n->role == ASSAY_ROLE_LAYOUT;
}

static void see_piece(struct lone *l, struct pieces *p, const struct named *n, uint32_t gpu,
		      size_t at)
{
	if (n->family == ASSAY_FAMILY_GEMM) {
		see_product(l, p, gpu);
	} else if (is_piece(n) && p->n < PIECES_MOST) {
		p->at[p->n++] = (uint32_t)at;
		p->softmax |= n->role == ASSAY_ROLE_SOFTMAX;
		p->exp |= n->role == ASSAY_ROLE_EXP;
	} else {
		*p = (struct pieces){.product = ASSAY_NO_ROW};
	}
}

/* ------------------------------------------------------------------ masks of attention */

/* Of an attention whose mask is causal, without one: half of the pairs, and reading the mask. cuDNN
 * on an H200, 2048 tokens: 0.55. */
static const double spared_most = 0.6;

static const struct named *at_place(const struct lone *l, uint32_t place)
{
	return name_of(l, l->order->row[l->device->first + place]);
}

static bool is_source(const struct named *n)
{
	return n->role == ASSAY_ROLE_TRUTH || n->role == ASSAY_ROLE_FILL;
}

/* The link from which on a chain makes a mask, and nothing else; none: all are before it. */
static size_t start_of_mask(const struct lone *l, const assay_fusible *c)
{
	size_t start = c->n;
	bool masks = false;
	for (size_t i = c->n; i-- > 0;) {
		const struct named *n = at_place(l, c->at[i]);
		if (!is_source(n) && n->role != ASSAY_ROLE_MASK && n->role != ASSAY_ROLE_COPY &&
		    n->role != ASSAY_ROLE_CAST)
			break;
		masks |= n->role == ASSAY_ROLE_MASK;
		start = is_source(n) ? i : start;
	}
	return masks ? start : c->n;
}

/* A chain that an attention ends, in which its mask is made: what comes before is a chain of its
 * own. */
static void see_mask(struct lone *l, assay_fusible *c, uint32_t attention)
{
	int64_t ts = l->t->gpu.ts[attention];
	size_t start = start_of_mask(l, c);
	assay_fusible mask = {.n = 0};
	if (start == c->n || ts < l->w->from || ts >= l->w->to)
		return;
	for (size_t i = start; i < c->n; i++) {
		mask.at[mask.n] = c->at[i];
		mask.link[mask.n++] = c->link[i];
		for (uint32_t at = c->at[i] + 1; at; at = l->fused[at - 1].piece)
			l->mask[at - 1] = true;
	}
	l->spared[c->at[c->n - 1]] = (int64_t)(spared_most * (double)l->t->gpu.dur[attention]);
	l->masks++;
	c->n = start;
	assay_fusible_end(c, l->fused, true);
	*c = mask;
}

/* ------------------------------------------------------------------ chains */

static bool is_link(const struct lone *l, const struct named *n, uint32_t gpu)
{
	uint32_t stack = assay_call_stack(l->t, l->t->launch.host[gpu]);
	return is_memory_bound(n) && !n->compiled && n->role != ASSAY_ROLE_LIST_UPDATE &&
	       n->role != ASSAY_ROLE_LAYOUT && (stack == ASSAY_NO_ROW || !l->in_optimizer[stack]);
}

static bool is_matrix_work(const struct named *n)
{
	return n->family == ASSAY_FAMILY_GEMM || n->family == ASSAY_FAMILY_CONV ||
	       n->family == ASSAY_FAMILY_ATTENTION;
}

static void see_link(struct lone *l, assay_fusible *c, const struct named *n, uint32_t gpu,
		     size_t at)
{
	if (!n || !is_link(l, n, gpu)) {
		if (n && n->family == ASSAY_FAMILY_ATTENTION)
			see_mask(l, c, gpu);
		assay_fusible_end(c, l->fused, n && is_matrix_work(n));
		return;
	}
	assay_link link = {.name = l->t->gpu.name[gpu],
			   .ns = l->t->gpu.dur[gpu],
			   .reduces = n->family == ASSAY_FAMILY_REDUCTION,
			   .casts = n->role == ASSAY_ROLE_CAST,
			   .reads = n->reads};
	assay_fusible_add(c, l->fused, (uint32_t)at, link);
}

/* A convolution that wants its channels last is given copies of its planes; the norm beside it
 * reads and writes the planes themselves. A copy is two passes over such a tensor. */
static void see_layout(struct lone *l, struct layout *s, const struct named *n, uint32_t gpu,
		       size_t at)
{
	int64_t ns = l->t->gpu.dur[gpu], copy = s->now > s->before ? s->now : s->before;
	if (n->role == ASSAY_ROLE_LAYOUT && ns > s->now)
		s->now = ns;
	if (!n->passes)
		return;
	if (copy > ASSAY_LEAST_KERNEL && ns > copy * n->passes / 2)
		l->planar[at] = ns - copy * n->passes / 2;
	*s = (struct layout){0, s->now};
}

/* Names of copies do not tell that they read doubles: right behind work in double, and not much
 * longer, they do. A cast is the last that does. */
static void see_width(struct lone *l, int64_t *run, const struct named *n, uint32_t gpu, size_t at)
{
	int64_t ns = l->t->gpu.dur[gpu];
	bool follows = n->plain_copy && is_memory_bound(n) && *run && ns <= 3 * *run;
	bool to_narrow = n->role == ASSAY_ROLE_CAST && !n->wide;
	l->wide[at] = n->wide || follows;
	if (l->wide[at] && !to_narrow)
		*run = ns > *run ? ns : *run;
	else
		*run = 0;
}

/* Reductions and products have counters set to 0 before them. */
static bool is_counter_reset(const struct lone *l, uint32_t gpu)
{
	return l->t->gpu.kind[gpu] == ASSAY_GPU_MEMSET && l->t->gpu.dur[gpu] <= ASSAY_LEAST_KERNEL;
}

static void see_work(struct lone *l, size_t at)
{
	uint32_t gpu = l->order->row[l->device->first + at];
	if (is_counter_reset(l, gpu))
		return;
	uint32_t stream = stream_of(l, gpu);
	const struct named *n = name_of(l, gpu);
	see_link(l, &l->chain.p[stream], n, gpu, at);
	if (n)
		see_layout(l, &l->layout.p[stream], n, gpu, at);
	if (n)
		see_width(l, &l->wide_run.p[stream], n, gpu, at);
	if (n && !n->tail)
		see_piece(l, &l->pieces.p[stream], n, gpu, at);
}

/* ------------------------------------------------------------------ what each could do without */

static bool is_known(const struct lone *l, uint32_t gpu)
{
	const assay_op_shape_table *s = &l->t->op_shape;
	uint32_t call = call_of(l, gpu);
	uint32_t shape = call == ASSAY_NO_ROW ? ASSAY_NO_ROW : l->t->op_call.shape[call];
	return shape != ASSAY_NO_ROW && !isnan(s->bound_ns[shape]) &&
	       !(s->flags[shape] & ASSAY_OP_OVER_PEAK);
}

/* Full fp32, or fp64, where the device has a cheaper type. What the product moves is not known: a
 * quarter of the time is taken to stay. Where the run uses the cheaper type otherwise, the library
 * refused it for the shape. */
static int64_t type_saved(const struct lone *l, assay_math math, int64_t ns)
{
	const double *peak = l->rates->peak;
	double full = peak[math], cheap = peak[assay_rates_beside_fp32(peak)];
	double stays = full > 0 && cheap > 0 ? full / cheap : 1;
	stays = stays < 0.25 ? 0.25 : stays;
	int64_t saved = (int64_t)((double)(ns - ASSAY_LEAST_KERNEL) * (1 - stays));
	return saved > 0 ? saved : 0;
}

/* Loads of single elements go with instructions of half the rate or less. */
static const double narrow_saved = 0.5;

static assay_advice_kind dear_type(const struct lone *l, assay_math math)
{
	return math == ASSAY_MATH_FP32 && !l->cheaper_in_use ? ASSAY_ADVICE_FP32
	       : math == ASSAY_MATH_FP64 && l->single_in_use ? ASSAY_ADVICE_FP64
							     : ASSAY_ADVICE_SHAPE;
}

static int64_t needless(const struct lone *l, const struct named *n, size_t at, int64_t ns,
			assay_advice_kind *kind)
{
	const struct {
		uint8_t role;
		assay_advice_kind kind;
		double share;
	} of_role[] = {
		{ASSAY_ROLE_CAST, ASSAY_ADVICE_CASTS, 1},
		{ASSAY_ROLE_LAYOUT, ASSAY_ADVICE_LAYOUT, 1},
		{ASSAY_ROLE_LIST_UPDATE, ASSAY_ADVICE_OPTIMIZER, l->passes_saved},
	};
	*kind = ASSAY_ADVICE_EAGER;
	if (l->eager[at])
		return ns;
	*kind = ASSAY_ADVICE_MASK;
	if (l->mask[at] && l->made_again > 0)
		return (int64_t)((double)ns * l->made_again);
	*kind = ASSAY_ADVICE_FP64; /* twice the bytes of single precision */
	if (l->wide[at] && is_memory_bound(n) && l->single_in_use && l->double_in_use)
		return n->role == ASSAY_ROLE_CAST ? ns : ns / 2;
	*kind = ASSAY_ADVICE_CHAIN;
	if (l->fused[at].goes)
		return ns;
	for (size_t i = 0; i < ASSAY_COUNT_OF(of_role); i++)
		if (n->role == of_role[i].role) {
			*kind = of_role[i].kind;
			return (int64_t)((double)ns * of_role[i].share);
		}
	*kind = ASSAY_ADVICE_LAYOUT;
	if (l->planar[at])
		return l->planar[at] < ns ? l->planar[at] : ns;
	*kind = dear_type(l, n->math);
	if (*kind != ASSAY_ADVICE_SHAPE)
		return type_saved(l, n->math, ns);
	return n->narrow && ns > ASSAY_LEAST_KERNEL ? (int64_t)((double)ns * narrow_saved) : 0;
}

struct bounds {
	double least, most;
};

/* What goes for sure and at best of a kernel of which ns go. Of a mask for sure what one kernel for
 * it saves; at best a part of its attention besides. */
static struct bounds bounds_of(const struct lone *l, size_t at, assay_advice_kind kind, int64_t ns)
{
	const assay_fused *f = &l->fused[at];
	double all = (double)ns, whole = kind == ASSAY_ADVICE_MASK ? all / l->made_again : all;
	if (kind == ASSAY_ADVICE_MASK)
		return (struct bounds){fmin(all, whole * (double)f->least),
				       whole + (double)l->spared[at]};
	if (kind == ASSAY_ADVICE_CHAIN && f->goes)
		return (struct bounds){all * (double)f->least, all * (double)f->most};
	return (struct bounds){l->planar[at] ? 0 : all, all};
}

static void add_row(struct lone *l, size_t at, assay_advice_kind kind, int64_t ns)
{
	uint32_t r = assay_add(l->t, ASSAY_T_lone_kernel),
		 gpu = l->order->row[l->device->first + at];
	assay_lone_kernel_table *t = &l->t->lone_kernel;
	struct bounds b = bounds_of(l, at, kind, ns);
	t->gpu[r] = gpu;
	t->advice[r] = (uint8_t)kind;
	t->needless[r] = ns;
	t->least[r] = (int64_t)b.least;
	t->most[r] = (int64_t)b.most;
	if (kind == ASSAY_ADVICE_CHAIN || kind == ASSAY_ADVICE_EAGER || kind == ASSAY_ADVICE_MASK)
		t->gap[r] = l->gap_before[gpu];
}

/* A library copies the tensors of a convolution that it wants in another layout, and norms suffer
 * from the one they have: kernels that the work of their operator says nothing of. */
static bool is_aside(const struct lone *l, const struct named *n, uint32_t gpu, size_t at)
{
	uint32_t shape = l->t->op_call.shape[call_of(l, gpu)];
	return l->planar[at] ||
	       (n->role == ASSAY_ROLE_LAYOUT && l->t->op_shape.class[shape] == ASSAY_WORK_CONV);
}

static void judge_kernel(struct lone *l, size_t at, int64_t owned)
{
	uint32_t gpu = l->order->row[l->device->first + at];
	const struct named *n = name_of(l, gpu);
	assay_advice_kind kind;
	bool known = n && is_known(l, gpu), aside = known && is_aside(l, n, gpu, at);
	if (!n || (known && !aside))
		return;
	int64_t ns = needless(l, n, at, owned, &kind);
	if (ns <= 0)
		return;
	if (aside)
		l->t->op_call.aside[call_of(l, gpu)] += ns;
	add_row(l, at, kind, ns);
}

/* Copies between other pieces of a chain or an attention go with them. */
static void judge_copy(struct lone *l, size_t at)
{
	uint32_t gpu = l->order->row[l->device->first + at];
	const assay_gpu_table *g = &l->t->gpu;
	bool inside = g->ts[gpu] >= l->w->from && g->ts[gpu] < l->w->to;
	int64_t ns = g->dur[gpu] < l->copies_left ? g->dur[gpu] : l->copies_left;
	bool mask = !l->eager[at] && l->mask[at] && l->made_again > 0;
	if (!inside || ns <= 0 || !(l->eager[at] || mask || l->fused[at].goes) ||
	    !is_device_copy(l, gpu))
		return;
	add_row(l, at,
		l->eager[at] ? ASSAY_ADVICE_EAGER
		: mask       ? ASSAY_ADVICE_MASK
			     : ASSAY_ADVICE_CHAIN,
		mask ? (int64_t)((double)ns * l->made_again) : ns);
	l->copies_left -= ns;
}

/* As operators get their own time: every instant of compute belongs to the work that began
 * first. */
static void judge_kernels(struct lone *l)
{
	const assay_gpu_table *g = &l->t->gpu;
	int64_t end = l->w->from;
	for (size_t i = 0; i < l->device->n; i++) {
		uint32_t gpu = l->order->row[l->device->first + i];
		int64_t from = g->ts[gpu] > end ? g->ts[gpu] : end, to = assay_gpu_end(g, gpu);
		to = to < l->w->to ? to : l->w->to;
		if (l->order->classes[l->device->first + i] == ASSAY_CLASS_COPY)
			judge_copy(l, i);
		if (l->order->classes[l->device->first + i] != ASSAY_CLASS_COMPUTE || to <= from)
			continue;
		judge_kernel(l, i, to - from);
		end = to;
	}
}

/* What stands between kernels that were submitted one behind the other. Longer waits are for
 * something else, and stay. */
enum { LONGEST_BETWEEN = 5 * ASSAY_LEAST_KERNEL };

static void find_gaps(struct lone *l)
{
	const assay_gap_part_table *p = &l->t->gap_part;
	l->gap_before = assay_alloc(&l->scratch, (l->t->gpu.n + 1) * sizeof *l->gap_before);
	for (size_t i = 0; i < p->n; i++)
		if (p->cause[i] == ASSAY_WHY_QUEUED && p->dur[i] <= LONGEST_BETWEEN &&
		    assay_gap_in_window(&l->t->gap, l->w, p->gap[i]))
			l->gap_before[l->t->gap.gpu[p->gap[i]]] += p->dur[i];
}

void assay_lone_kernels(assay_run *run, const assay_order *order, const assay_rates *rates,
			const assay_window *w)
{
	struct lone l = {.run = run,
			 .t = &run->part.t,
			 .order = order,
			 .device = &order->device.p[w->device],
			 .rates = rates,
			 .w = w,
			 .copies_left = w->copy};
	read_names(&l);
	find_gaps(&l);
	l.eager = assay_alloc(&l.scratch, l.device->n + 1);
	l.fused = assay_alloc(&l.scratch, (l.device->n + 1) * sizeof *l.fused);
	l.mask = assay_alloc(&l.scratch, l.device->n + 1);
	l.spared = assay_alloc(&l.scratch, (l.device->n + 1) * sizeof *l.spared);
	l.planar = assay_alloc(&l.scratch, (l.device->n + 1) * sizeof *l.planar);
	l.wide = assay_alloc(&l.scratch, l.device->n + 1);
	l.in_optimizer = assay_optimizer_stacks(run, &l.scratch);
	for (size_t i = 0; i < l.device->n; i++)
		see_work(&l, i);
	for (size_t i = 0; i < l.chain.n; i++)
		assay_fusible_end(&l.chain.p[i], l.fused, false);
	if (w->steps && l.masks > w->steps)
		l.made_again = 1 - (double)w->steps / (double)l.masks;
	judge_kernels(&l);
	assay_vec_free(&l.chain);
	assay_vec_free(&l.layout);
	assay_vec_free(&l.wide_run);
	assay_vec_free(&l.pieces);
	assay_map_free(&l.streams);
	assay_map_free(&l.rows);
	assay_arena_free(&l.args);
	assay_arena_free(&l.scratch);
}
