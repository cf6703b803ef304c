/* From the parts of useful_gpu to remedies. Time is counted once: that above the best calls
 * and between operators by those two, what remains of a needless operator by its own row. */
#include "find/advice.h"

#include <math.h>

#include "analyze/idle_lines.h"
#include "analyze/idle_where.h"
#include "analyze/op_args.h"
#include "base/compare.h"
#include "base/test.h"
#include "model/by_hand.h"
#include "work/compute.h"
#include "work/lone.h"

/* X(id, what takes the time, remedy, confidence) */
#define TEXTS(X)                                                                                                 \
	X(FP32, "matrix products in a costlier type than need be take",                                          \
	  "torch.set_float32_matmul_precision(\"high\") for tf32, or autocast(bfloat16)", 0.85)                  \
	X(FP64, "double precision, which most matrix products do not use, takes",                                \
	  "keep float64 out of the step: a NumPy scalar or array makes all that touches it double",              \
	  0.85)                                                                                                  \
	X(EAGER, "attention in pieces (products, softmax, mask) takes",                                          \
	  "F.scaled_dot_product_attention; attn_implementation=\"sdpa\" or \"flash_attention_2\"",               \
	  0.9)                                                                                                   \
	X(MASK, "masks of attention, made anew for each layer, take",                                            \
	  "one mask for all layers; is_causal=True instead of a tensor, which leaves half of the pairs",         \
	  0.8)                                                                                                   \
	X(CHAIN, "memory traffic between operators that could be one takes",                                     \
	  "torch.compile; fused norms, rotary embeddings and activations", 0.7)                                  \
	X(SHAPE, "matrix work below what the best calls of its size reach takes",                                \
	  "pad dimensions to multiples of 64 (vocabulary, heads, batch); larger or fuller tiles",                \
	  0.6)                                                                                                   \
	X(TAIL, "a last wave of tiles that does not fill the device takes",                                      \
	  "sizes whose tiles are a multiple of the device's units, a larger batch, split-K or stream-K kernels", \
	  0.6)                                                                                                   \
	X(SLOW, "memory-bound operators below what the best of their size reach take",                           \
	  "contiguous layouts; fused or compiled versions of the operators named", 0.5)                          \
	X(CASTS, "copies from one type to another take",                                                         \
	  "keep weights in the type they are used in; autocast's cache; fused optimizer", 0.7)                   \
	X(LAYOUT, "copies from one layout to another take",                                                      \
	  "avoid permute with contiguous(); memory_format=channels_last for convolutions", 0.7)                  \
	X(BUCKETS, "copies between gradients and communication buckets take",                                    \
	  "DistributedDataParallel(..., gradient_as_bucket_view=True)", 0.8)                                     \
	X(OPTIMIZER, "an optimizer of many passes over its parameters takes",                                    \
	  "fused=True for the optimizer: one pass instead of eight or nine", 0.6)

static const assay_advice texts[ASSAY_ADVICE_COUNT] = {
#define X(of, says, try, sure)                                                                     \
	[ASSAY_ADVICE_##of] = {.what = says,                                                       \
			       .fix = try,                                                         \
			       .shape = ASSAY_NO_ROW,                                              \
			       .gpu = ASSAY_NO_ROW,                                                \
			       .stack = ASSAY_NO_ROW,                                              \
			       .confidence = sure},
	TEXTS(X)
#undef X
};

/* Sums by a key; the row that came with the largest. */
struct tally {
	assay_map rows;
	assay_vec(int64_t) ns;
	int64_t most;
};

static void count(struct tally *t, uint64_t key, int64_t ns, uint32_t row, uint32_t *largest)
{
	uint32_t *slot = assay_map_at(&t->rows, key);
	if (*slot == ASSAY_MAP_ABSENT) {
		*slot = (uint32_t)t->ns.n;
		*assay_push(&t->ns) = 0;
	}
	int64_t sum = t->ns.p[*slot] += ns;
	if (sum > t->most) {
		t->most = sum;
		*largest = row;
	}
}

static void free_tally(struct tally *t)
{
	assay_map_free(&t->rows);
	assay_vec_free(&t->ns);
}

struct finder {
	const assay_run *run;
	const assay_tables *t;
	double passes_saved; /* of operators over lists of tensors */
	int8_t *of_shape;    /* what a call is needless for, by its shape; -1: nothing */
	/* by row of op_call: row of host that copies a gradient out of its bucket, 0 or 1 + row */
	const uint32_t *bucket;
	assay_advice found[ASSAY_ADVICE_COUNT];
	struct tally shape[ASSAY_ADVICE_COUNT], kernel[ASSAY_ADVICE_COUNT],
		line[ASSAY_ADVICE_COUNT];
};

/* The line that calls backward() is the same for all gradients: one that calls the operator itself
 * says more, when it has an eighth of the time. */
static int64_t telling(const assay_tables *t, uint32_t call, int64_t ns)
{
	enum { LESS = 8 };
	return t->api.lent[t->host.detail[call]] ? ns / LESS : ns;
}

/* gpu: the kernel, or none. */
static void add_kernel(struct finder *f, int kind, uint32_t gpu, int64_t ns)
{
	assay_advice *v = &f->found[kind];
	if (gpu == ASSAY_NO_ROW)
		return;
	uint32_t call = f->t->launch.host[gpu];
	uint32_t stack = assay_own_call(f->t, assay_call_stack(f->t, call));
	count(&f->kernel[kind], f->t->gpu.name[gpu], ns, gpu, &v->gpu);
	if (stack != ASSAY_NO_ROW)
		count(&f->line[kind], assay_line_key(f->t, stack), telling(f->t, call, ns), stack,
		      &v->stack);
}

/* goes: and the whole call is launched no more. */
static void add_call(struct finder *f, int kind, uint32_t call, int64_t ns, bool goes)
{
	uint32_t shape = f->t->op_call.shape[call];
	f->found[kind].gone += goes;
	if (ns > 0 || goes)
		*assay_push(&f->found[kind].less) =
			(assay_less){.call = call, .ns = ns, .goes = goes};
	if (ns <= 0)
		return;
	add_kernel(f, kind, f->t->op_call.gpu[call], ns);
	f->found[kind].compute += ns;
	f->found[kind].least += ns;
	f->found[kind].most += ns;
	f->found[kind].calls++;
	count(&f->shape[kind], shape, ns, shape, &f->found[kind].shape);
}

static bool is_list_operator(const struct finder *f, uint32_t shape)
{
	return assay_str_starts(assay_text(f->run, f->t->op_shape.name[shape]), "aten::_foreach_");
}

/* What a whole call is needless for, by its shape; -1: nothing. Asked once a shape. */
static int8_t needless_shape(const struct finder *f, uint32_t shape)
{
	if (is_list_operator(f, shape))
		return ASSAY_ADVICE_OPTIMIZER;
	static const int8_t of_copy[] = {[ASSAY_COPY_CHANGES_NOTHING] = -1,
					 [ASSAY_COPY_CHANGES_TYPE] = ASSAY_ADVICE_CASTS,
					 [ASSAY_COPY_CHANGES_LAYOUT] = ASSAY_ADVICE_LAYOUT};
	return of_copy[assay_shape_copy(f->run, shape)];
}

/* One of DDP's operators that copy a gradient out of its bucket. The other way (reducer::mul_out) a
 * division stays, which the mean needs. */
struct bucket_op {
	uint32_t track, host;
	int64_t from, to;
};

static int by_place(const void *a, const void *b)
{
	const struct bucket_op *x = a, *y = b;
	return assay_then(ASSAY_CMP(x->track, y->track), ASSAY_CMP(x->from, y->from));
}

static uint32_t bucket_op_around(const struct bucket_op *ops, size_t n, struct bucket_op call)
{
	size_t low = 0;
	for (size_t high = n; low < high;) { /* first that stands behind the call's begin */
		size_t mid = low + (high - low) / 2;
		if (by_place(&ops[mid], &call) <= 0)
			low = mid + 1;
		else
			high = mid;
	}
	const struct bucket_op *last = low ? &ops[low - 1] : NULL;
	return last && last->track == call.track && call.from < last->to ? 1 + last->host : 0;
}

static const uint32_t *find_bucket_copies(const struct finder *f, assay_arena *scratch)
{
	const assay_host_table *h = &f->t->host;
	const assay_op_call_table *c = &f->t->op_call;
	uint32_t *found = assay_alloc(scratch, (c->n + 1) * sizeof *found);
	assay_vec(struct bucket_op) ops = {0};
	assay_sid name =
		assay_pool_find(&f->run->part.strings,
				ASSAY_S("torch.distributed.ddp.reducer::copy_bucket_to_grad"));
	for (uint32_t i = 0; name && c->n && i < h->n; i++)
		if (h->name[i] == name)
			*assay_push(&ops) =
				(struct bucket_op){h->track[i], i, h->ts[i], assay_host_end(h, i)};
	if (ops.n)
		qsort(ops.p, ops.n, sizeof *ops.p, by_place);
	for (uint32_t i = 0; ops.n && i < c->n; i++)
		if (c->host[i] != ASSAY_NO_ROW)
			found[i] =
				bucket_op_around(ops.p, ops.n,
						 (struct bucket_op){.track = h->track[c->host[i]],
								    .from = h->ts[c->host[i]]});
	assay_vec_free(&ops);
	return found;
}

static int needless(const struct finder *f, uint32_t call)
{
	return f->bucket[call] ? (int)ASSAY_ADVICE_BUCKETS : f->of_shape[f->t->op_call.shape[call]];
}

/* Copies that serve nothing are launched no more; what else is needless is part of other work. */
static bool is_launch_of_its_own(int advice)
{
	return advice == ASSAY_ADVICE_CASTS || advice == ASSAY_ADVICE_LAYOUT ||
	       advice == ASSAY_ADVICE_BUCKETS;
}

/* What is left of a call's part to be needless as a whole. */
static int64_t whole_of(const assay_call_part_table *p, uint32_t part)
{
	return p->at_bound[part] + p->rest[part] + p->unmodelled[part] + p->shape[part];
}

/* Needs of_shape. */
static double list_passes_saved(const struct finder *f)
{
	const assay_call_part_table *p = &f->t->call_part;
	struct tally passes = {.most = 0}; /* by name of the operator */
	int64_t all = 0;
	for (uint32_t i = 0, row; i < p->n; i++) {
		uint32_t shape = f->t->op_call.shape[p->call[i]];
		if (f->of_shape[shape] != ASSAY_ADVICE_OPTIMIZER)
			continue;
		count(&passes, f->t->op_shape.name[shape], whole_of(p, i), i, &row);
		all += whole_of(p, i);
	}
	free_tally(&passes);
	return assay_list_passes_saved(all, passes.most);
}

static void look_at(struct finder *f, uint32_t part)
{
	const assay_call_part_table *p = &f->t->call_part;
	uint32_t call = p->call[part], shape = f->t->op_call.shape[call];
	int whole = needless(f, call);
	bool eager = f->t->op_call.flags[call] & (ASSAY_OP_EAGER | ASSAY_OP_SCORES),
	     matrix = assay_is_matrix(f->t->op_shape.class[shape]);
	bool wide = !matrix || f->t->op_shape.math[shape] == ASSAY_MATH_FP64;
	/* a fused kernel has no products whose type could be another */
	add_call(f,
		 wide    ? ASSAY_ADVICE_FP64
		 : eager ? ASSAY_ADVICE_EAGER
			 : ASSAY_ADVICE_FP32,
		 call, p->precision[part], false);
	add_call(f, eager ? ASSAY_ADVICE_EAGER : ASSAY_ADVICE_CHAIN, call, p->unfused[part],
		 p->goes[part]);
	if (whole == ASSAY_ADVICE_OPTIMIZER)
		add_call(f, whole, call, (int64_t)((double)whole_of(p, part) * f->passes_saved),
			 false);
	else if (whole >= 0)
		add_call(f, whole, call, whole_of(p, part), is_launch_of_its_own(whole));
	else
		add_call(f, matrix ? ASSAY_ADVICE_SHAPE : ASSAY_ADVICE_SLOW, call,
			 p->shape[part] - p->tail[part], false);
	if (whole < 0)
		add_call(f, ASSAY_ADVICE_TAIL, call, p->tail[part], false);
}

static const char layout_with_norms[] =
	"copies from one layout to another, and norms that the layout slows down, take";

/* Unless its operator is counted as a whole. */
static void look_at_lone(struct finder *f, uint32_t row)
{
	const assay_lone_kernel_table *l = &f->t->lone_kernel;
	uint32_t call = f->t->gpu_op.n ? f->t->gpu_op.call[l->gpu[row]] : ASSAY_NO_ROW;
	if (call != ASSAY_NO_ROW && needless(f, call) >= 0)
		return;
	assay_advice *v = &f->found[l->advice[row]];
	bool copy = f->t->gpu.kind[l->gpu[row]] == ASSAY_GPU_MEMCPY;
	add_kernel(f, l->advice[row], l->gpu[row], l->needless[row]);
	*(copy ? &v->copies : &v->compute) += l->needless[row];
	if (l->advice[row] == ASSAY_ADVICE_LAYOUT && l->least[row] < l->needless[row])
		v->what = layout_with_norms;
	bool goes = l->advice[row] == ASSAY_ADVICE_CHAIN || l->advice[row] == ASSAY_ADVICE_EAGER ||
		    l->advice[row] == ASSAY_ADVICE_MASK ||
		    (is_launch_of_its_own(l->advice[row]) && l->least[row] >= l->needless[row]);
	v->gone += goes;
	*assay_push(&v->less) = (assay_less){
		.gpu = l->gpu[row], .call = ASSAY_NO_ROW, .ns = l->needless[row], .goes = goes};
	v->gaps += l->gap[row];
	v->least += l->least[row];
	v->most += l->most[row];
	v->by_name += l->needless[row];
	v->lone++;
}

/* Operator and kernel that stand for it belong together. */
static void choose_place(const struct finder *f, assay_advice *v)
{
	if (v->by_name > v->compute + v->copies - v->by_name)
		v->shape = ASSAY_NO_ROW;
	uint32_t call = v->shape == ASSAY_NO_ROW ? ASSAY_NO_ROW : f->t->op_shape.call[v->shape];
	if (call != ASSAY_NO_ROW && f->t->op_call.gpu[call] != ASSAY_NO_ROW)
		v->gpu = f->t->op_call.gpu[call];
}

static void count_bucket_copies(struct finder *f, const assay_window *w)
{
	const assay_op_call_table *c = &f->t->op_call;
	assay_advice *v = &f->found[ASSAY_ADVICE_BUCKETS];
	for (uint32_t i = 0; i < c->n; i++) {
		int64_t copies = c->busy[i] - c->owned[i];
		if (!f->bucket[i] || c->device[i] != w->device || copies <= 0 ||
		    c->start[i] < w->from || c->start[i] >= w->to)
			continue;
		v->copies += copies;
		v->least += copies;
		v->most += copies;
		v->calls += c->owned[i] == 0;
		*assay_push(&v->less) = (assay_less){.call = i, .ns = copies, .goes = true};
		count(&f->shape[ASSAY_ADVICE_BUCKETS], c->shape[i], copies, c->shape[i], &v->shape);
	}
}

/* How much of a gap the host spends inside an operator. */
static int64_t inside(const assay_tables *t, uint32_t gap, uint32_t op)
{
	int64_t from = t->gap.ts[gap], to = from + t->gap.dur[gap];
	from = t->host.ts[op] > from ? t->host.ts[op] : from;
	to = assay_host_end(&t->host, op) < to ? assay_host_end(&t->host, op) : to;
	return to > from ? to - from : 0;
}

/* What the device waits for the host to launch copies, one operator after the other. */
static void count_waits_for_bucket_copies(struct finder *f, const assay_window *w)
{
	const assay_gap_table *g = &f->t->gap;
	int64_t *gaps = &f->found[ASSAY_ADVICE_BUCKETS].gaps;
	for (uint32_t i = 0; f->t->gpu_op.n && i < g->n; i++) {
		uint32_t call = f->t->gpu_op.call[g->gpu[i]];
		if (call == ASSAY_NO_ROW || !f->bucket[call] || !assay_gap_in_window(g, w, i) ||
		    assay_why_rows[g->cause[i]].bucket != ASSAY_BUCKET_HOST_GAP)
			continue;
		*gaps += inside(f->t, i, f->bucket[call] - 1);
		if (call && f->bucket[call - 1])
			*gaps += inside(f->t, i, f->bucket[call - 1] - 1);
	}
}

void assay_advices_find(assay_advices *out, const assay_run *run, const assay_window *w)
{
	const double worth_saying = 0.01;
	assay_arena scratch = {0};
	struct finder *f = assay_alloc(&scratch, sizeof *f);
	f->run = run, f->t = &run->part.t;
	size_t shapes = f->t->op_shape.n;
	f->of_shape = assay_alloc(&scratch, shapes + 1);
	f->bucket = find_bucket_copies(f, &scratch);
	memcpy(f->found, texts, sizeof f->found);
	for (uint32_t i = 0; i < shapes; i++)
		f->of_shape[i] = needless_shape(f, i);
	f->passes_saved = list_passes_saved(f);
	for (uint32_t i = 0; i < f->t->call_part.n; i++)
		look_at(f, i);
	for (uint32_t i = 0; i < f->t->lone_kernel.n; i++)
		look_at_lone(f, i);
	count_bucket_copies(f, w);
	count_waits_for_bucket_copies(f, w);
	for (int i = 0; i < ASSAY_ADVICE_COUNT; i++) {
		f->found[i].id = assay_advice_name[i];
		choose_place(f, &f->found[i]);
		if ((double)assay_advice_total(&f->found[i]) >
		    worth_saying * (double)assay_window_length(w))
			*assay_push(out) = f->found[i];
		else
			assay_vec_free(&f->found[i].less);
		free_tally(&f->shape[i]);
		free_tally(&f->kernel[i]);
		free_tally(&f->line[i]);
	}
	assay_arena_free(&scratch);
}

void assay_advices_free(assay_advices *found)
{
	for (size_t i = 0; i < found->n; i++)
		assay_vec_free(&found->p[i].less);
	assay_vec_free(found);
}

TEST(no_time_is_reported_twice)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	const struct {
		const char *name, *dims, *types;
		uint8_t class, flags;
		int64_t at_bound, precision, shape, unfused;
	} calls[] = {
		{"aten::mm", "[[2, 2], [2, 2]]", "[\"float\", \"float\"]", ASSAY_WORK_GEMM, 0, 10,
		 500, 40, 0},
		{"aten::_softmax", "[[2, 2]]", "[\"float\"]", ASSAY_WORK_SOFTMAX, ASSAY_OP_EAGER, 0,
		 0, 0, 90},
		{"aten::bmm", "[[1, 2, 2], [1, 2, 2]]", "[\"float\", \"float\"]", ASSAY_WORK_GEMM,
		 ASSAY_OP_SCORES, 3, 70, 0, 80},
		{"aten::copy_", "[[2, 2], [2, 2]]", "[\"float\", \"c10::Half\"]", ASSAY_WORK_MOVE,
		 0, 60, 0, 5, 7},
		{"aten::_foreach_mul_", "[[]]", "[\"TensorList\"]", ASSAY_WORK_OPTIMIZER, 0, 30, 0,
		 0, 0},
		{"aten::_foreach_lerp_", "[[]]", "[\"TensorList\"]", ASSAY_WORK_OPTIMIZER, 0, 20, 0,
		 0, 0},
	};
	int64_t all = 0, counted = 0;
	for (uint32_t i = 0; i < ASSAY_COUNT_OF(calls); i++) {
		uint32_t s = assay_add(t, ASSAY_T_op_shape), c = assay_add(t, ASSAY_T_op_call),
			 p = assay_add(t, ASSAY_T_call_part);
		t->op_shape.name[s] = assay_sid_of(run, calls[i].name);
		t->op_shape.dims[s] = assay_sid_of(run, calls[i].dims);
		t->op_shape.types[s] = assay_sid_of(run, calls[i].types);
		t->op_shape.class[s] = calls[i].class;
		t->op_call.shape[c] = s;
		t->op_call.flags[c] = calls[i].flags;
		t->call_part.call[p] = c;
		t->call_part.at_bound[p] = calls[i].at_bound;
		t->call_part.precision[p] = calls[i].precision;
		t->call_part.shape[p] = calls[i].shape;
		t->call_part.unfused[p] = calls[i].unfused;
		all += calls[i].at_bound + calls[i].precision + calls[i].shape + calls[i].unfused;
	}
	assay_advices found = {0};
	assay_advices_find(&found, run, &(assay_window){.to = 100});
	CHECK_EQ(found.n, 6);
	for (size_t i = 0; i < found.n; i++) {
		counted += assay_advice_total(&found.p[i]);
		if (!strcmp(found.p[i].id, "cast_storm"))
			CHECK_EQ(found.p[i].compute, 65);
		if (!strcmp(found.p[i].id, "eager_attention"))
			CHECK_EQ(found.p[i].compute, 90 + 70 + 80);
		if (!strcmp(found.p[i].id, "fp32_matmul"))
			CHECK_EQ(found.p[i].compute, 500);
	}
	CHECK_EQ(counted,
		 500 + 40 + 90 + 70 + 80 + 65 + 7 + 20); /* of two passes the longer remains */
	CHECK(counted <= all);
	assay_advices_free(&found);
	assay_run_free(run);
	return 0;
}

/* One shape takes 50 ns, two others of another operator 40 each with the same kernel. */
TEST(the_operator_that_is_named_has_the_kernel_that_is_named)
{
	static const char *const kernel[] = {"one", "other", "other"};
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	for (uint32_t i = 0; i < ASSAY_COUNT_OF(kernel); i++) {
		uint32_t s = assay_add(t, ASSAY_T_op_shape), c = assay_add(t, ASSAY_T_op_call),
			 p = assay_add(t, ASSAY_T_call_part);
		t->op_shape.name[s] = assay_sid_of(run, kernel[i]);
		t->op_shape.call[s] = c;
		t->op_call.shape[c] = s;
		t->op_call.gpu[c] = assay_hand_gpu(run, kernel[i], i, 1, ASSAY_NO_ROW);
		t->call_part.call[p] = c;
		t->call_part.shape[p] = i ? 40 : 50;
	}
	for (int by_name = 0; by_name < 2; by_name++) {
		assay_advices found = {0};
		assay_advices_find(&found, run, &(assay_window){.to = 100});
		CHECK_EQ(found.n, 1);
		CHECK_EQ(found.p[0].shape, by_name ? ASSAY_NO_ROW : 0);
		CHECK_EQ(found.p[0].gpu, by_name ? 3 : 0);
		assay_advices_free(&found);
		uint32_t l = assay_add(t, ASSAY_T_lone_kernel); /* costs more than all calls */
		t->lone_kernel.gpu[l] = assay_hand_gpu(run, "lone", 9, 1, ASSAY_NO_ROW);
		t->lone_kernel.advice[l] = ASSAY_ADVICE_SLOW;
		t->lone_kernel.needless[l] = 150;
	}
	assay_run_free(run);
	return 0;
}

/* Two copies, 40 ns each, of which the host launches one every 100 ns: the device waits for the
 * host inside both operators, and once before them. */
TEST(copies_of_buckets_go_with_the_waits_for_their_launches)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	assay_window w = {.to = 1000};
	uint32_t s = assay_add(t, ASSAY_T_op_shape);
	t->op_shape.name[s] = assay_sid_of(run, "aten::copy_");
	for (uint32_t i = 0; i < 2; i++) {
		int64_t at = 200 + 100 * i;
		assay_hand_host(run, ASSAY_HOST_OP,
				"torch.distributed.ddp.reducer::copy_bucket_to_grad", at, 100);
		uint32_t op = assay_hand_host(run, ASSAY_HOST_OP, "aten::copy_", at + 50, 30);
		uint32_t gpu = assay_hand_gpu(run, "Memcpy DtoD (Device -> Device)", at + 70, 40,
					      ASSAY_NO_ROW);
		uint32_t call = assay_add(t, ASSAY_T_op_call), gap = assay_add(t, ASSAY_T_gap);
		t->op_call.host[call] = op;
		t->op_call.shape[call] = s;
		t->op_call.device[call] = 0;
		t->op_call.start[call] = at + 70;
		t->op_call.busy[call] = 40;
		assay_add(t, ASSAY_T_gpu_op);
		t->gpu_op.call[gpu] = call;
		t->gap.device[gap] = 0;
		t->gap.gpu[gap] = gpu;
		t->gap.ts[gap] = i ? 310 : 150;
		t->gap.dur[gap] = i ? 60 : 120;
		t->gap.cause[gap] = ASSAY_WHY_HOST_OP;
	}
	for (int queued = 0; queued < 2; queued++) {
		assay_advices found = {0};
		t->gap.cause[1] = queued ? ASSAY_WHY_QUEUED : ASSAY_WHY_HOST_OP;
		assay_advices_find(&found, run, &w);
		CHECK_EQ(found.n, 1);
		CHECK(!strcmp(found.p[0].id, "bucket_copies") && found.p[0].calls == 2);
		CHECK_EQ(found.p[0].copies, 80);
		CHECK_EQ(found.p[0].gaps, queued ? 70 : 70 + 60);
		assay_advices_free(&found);
	}
	assay_run_free(run);
	return 0;
}
