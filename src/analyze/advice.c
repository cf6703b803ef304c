/* From the parts of useful_gpu to remedies. A call's parts are sold once: time above the best calls
 * and between operators by those two, what remains of a needless operator by its own row. */
#include "analyze/advice.h"

#include <math.h>

#include "analyze/compute.h"
#include "analyze/op_args.h"
#include "base/test.h"
#include "model/by_hand.h"

/* X(id, what takes the time, remedy, confidence) */
#define ADVICES(X)                                                                                 \
	X(FP32, "fp32_matmul", "matrix products in a costlier type than need be take",             \
	  "torch.set_float32_matmul_precision(\"high\") for tf32, or autocast(bfloat16)", 0.85)    \
	X(EAGER, "eager_attention", "attention in pieces (products, softmax, mask) takes",         \
	  "F.scaled_dot_product_attention; attn_implementation=\"sdpa\" or \"flash_attention_2\"", \
	  0.9)                                                                                     \
	X(CHAIN, "unfused_chain", "memory traffic between operators that could be one takes",      \
	  "torch.compile; fused norms, rotary embeddings and activations", 0.7)                    \
	X(SHAPE, "gemm_shape", "matrix work below what the best calls of its size reach takes",    \
	  "pad dimensions to multiples of 64 (vocabulary, heads, batch); larger or fuller tiles",  \
	  0.6)                                                                                     \
	X(SLOW, "slow_kernels",                                                                    \
	  "memory-bound operators below what the best of their size reach take",                   \
	  "contiguous layouts; fused or compiled versions of the operators named", 0.5)            \
	X(CASTS, "cast_storm", "copies from one type to another take",                             \
	  "keep weights in the type they are used in; autocast's cache; fused optimizer", 0.7)     \
	X(LAYOUT, "layout_copies", "copies from one layout to another take",                       \
	  "avoid permute with contiguous(); memory_format=channels_last for convolutions", 0.7)    \
	X(BUCKETS, "bucket_copies", "copies between gradients and communication buckets take",     \
	  "DistributedDataParallel(..., gradient_as_bucket_view=True)", 0.8)                       \
	X(OPTIMIZER, "optimizer_unfused", "an optimizer of many passes over its parameters takes", \
	  "fused=True for the optimizer: one pass instead of eight or nine", 0.6)

enum {
#define X(id, name, what, fix, confidence) OF_##id,
	ADVICES(X)
#undef X
		OF_COUNT
};

static const assay_advice texts[OF_COUNT] = {
#define X(of, called, says, try, sure)                                                             \
	[OF_##of] = {.id = called, .what = says, .fix = try, .confidence = sure},
	ADVICES(X)
#undef X
};

struct finder {
	const assay_run *run;
	const assay_tables *t;
	assay_advice found[OF_COUNT];
	int64_t most[OF_COUNT]; /* of one shape */
	int64_t *of_shape;      /* by kind of advice, then by row of op_shape */
};

static void sell(struct finder *f, int kind, uint32_t shape, int64_t ns)
{
	if (ns <= 0)
		return;
	f->found[kind].total += ns;
	f->found[kind].calls++;
	int64_t *sum = &f->of_shape[(size_t)kind * f->t->op_shape.n + shape];
	*sum += ns;
	if (*sum > f->most[kind]) {
		f->most[kind] = *sum;
		f->found[kind].shape = shape;
	}
}

static bool name_is(const struct finder *f, uint32_t shape, const char *name)
{
	return assay_str_is(assay_text(f->run, f->t->op_shape.name[shape]), name);
}

/* copy_ of a type into another, or between different strides. */
static int kind_of_copy(const struct finder *f, uint32_t shape)
{
	const assay_op_shape_table *s = &f->t->op_shape;
	assay_arena a = {0};
	assay_op_args args;
	const char *members =
		assay_printf(&a, "\"Input Dims\": %s, \"Input type\": %s, \"Input Strides\": %s",
			     assay_z(f->run, s->dims[shape]), assay_z(f->run, s->types[shape]),
			     s->strides[shape] ? assay_z(f->run, s->strides[shape]) : "[]");
	int kind = -1;
	if (assay_op_args_parse(&args, &a, assay_str_of(members))) {
		const assay_tensor *to = assay_arg_tensor(&args, 0),
				   *from = assay_arg_tensor(&args, 1);
		if (to && from && to->type != from->type)
			kind = OF_CASTS;
		else if (to && from && to->stride && from->stride && to->rank == from->rank &&
			 memcmp(to->stride, from->stride, to->rank * sizeof *to->stride))
			kind = OF_LAYOUT;
	}
	assay_arena_free(&a);
	return kind;
}

static bool is_list_operator(const struct finder *f, uint32_t shape)
{
	return assay_str_starts(assay_text(f->run, f->t->op_shape.name[shape]), "aten::_foreach_");
}

static bool is_bucket_copy(const struct finder *f, uint32_t shape)
{
	assay_str name = assay_text(f->run, f->t->op_shape.name[shape]);
	return assay_str_find(name, "copy_bucket_to_grad") >= 0 ||
	       assay_str_is(name, "torch::distributed::reducer::mul_out");
}

/* What a whole call is needless for, by its shape; -1: nothing. Asked once a shape. */
static int8_t needless(const struct finder *f, uint32_t shape)
{
	if (is_bucket_copy(f, shape))
		return OF_BUCKETS;
	if (is_list_operator(f, shape))
		return OF_OPTIMIZER;
	return name_is(f, shape, "aten::copy_") ? (int8_t)kind_of_copy(f, shape) : -1;
}

/* Adam over lists reads and writes 84 bytes a parameter, fused 28: a third remains. */
static const double list_passes_saved = 2.0 / 3;

static void look_at(struct finder *f, uint32_t part, const int8_t *of_shape)
{
	const assay_call_part_table *p = &f->t->call_part;
	uint32_t call = p->call[part], shape = f->t->op_call.shape[call];
	int whole = of_shape[shape];
	bool eager = f->t->op_call.flags[call] & ASSAY_OP_EAGER,
	     matrix = assay_is_matrix(f->t->op_shape.class[shape]);
	int64_t left = p->at_bound[part] + p->rest[part] + p->unmodelled[part];
	sell(f, OF_FP32, shape, p->precision[part]);
	sell(f, eager ? OF_EAGER : OF_CHAIN, shape, p->unfused[part]);
	if (whole == OF_OPTIMIZER)
		sell(f, whole, shape,
		     (int64_t)((double)(left + p->shape[part]) * list_passes_saved));
	else if (whole >= 0)
		sell(f, whole, shape, left + p->shape[part]);
	else
		sell(f, matrix ? OF_SHAPE : OF_SLOW, shape, p->shape[part]);
}

void assay_advices_find(assay_advices *out, const assay_run *run, const assay_window *w)
{
	const double worth_saying = 0.01;
	assay_arena scratch = {0};
	struct finder f = {.run = run, .t = &run->part.t};
	size_t shapes = f.t->op_shape.n;
	f.of_shape = assay_alloc(&scratch, (OF_COUNT * shapes + 1) * sizeof *f.of_shape);
	int8_t *of_shape = assay_alloc(&scratch, shapes + 1);
	memcpy(f.found, texts, sizeof f.found);
	for (uint32_t i = 0; i < shapes; i++)
		of_shape[i] = needless(&f, i);
	for (uint32_t i = 0; i < f.t->call_part.n; i++)
		look_at(&f, i, of_shape);
	for (int i = 0; i < OF_COUNT; i++)
		if ((double)f.found[i].total > worth_saying * (double)(w->to - w->from))
			*assay_push(out) = f.found[i];
	assay_arena_free(&scratch);
}

TEST(no_time_is_sold_twice)
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
		{"aten::copy_", "[[2, 2], [2, 2]]", "[\"float\", \"c10::Half\"]", ASSAY_WORK_MOVE,
		 0, 60, 0, 5, 7},
		{"aten::_foreach_mul_", "[[]]", "[\"TensorList\"]", ASSAY_WORK_OPTIMIZER, 0, 30, 0,
		 0, 0},
	};
	int64_t all = 0, sold = 0;
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
		sold += found.p[i].total;
		if (!strcmp(found.p[i].id, "cast_storm"))
			CHECK_EQ(found.p[i].total, 65);
	}
	CHECK_EQ(sold, 500 + 40 + 90 + 65 + 7 + 20);
	CHECK(sold <= all);
	assay_vec_free(&found);
	assay_run_free(run);
	return 0;
}
