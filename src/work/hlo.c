#include "work/hlo.h"

#include <math.h>

#include "base/chars.h"
#include "base/proto.h"
#include "base/test.h"

enum { MODULE_COMPUTATION = 3, MODULE_ID = 5, MODULE_ENTRY = 6 };
enum { COMPUTATION_INSTRUCTION = 2, COMPUTATION_ID = 5, COMPUTATION_ROOT = 6 };
enum {
	NAME = 1,
	OPCODE = 2,
	SHAPE = 3,
	METADATA = 7,
	CONVOLUTION = 16,
	TARGET = 28,
	DOT = 30,
	ID = 35,
	OPERANDS = 36,
	CALLED = 38,
	CONFIG = 43
};
enum { METADATA_OP_NAME = 2 };
enum { ELEMENT_TYPE = 2, DIMENSIONS = 3, TUPLE_SHAPES = 4 };
enum { LHS_CONTRACTING = 1 };
enum { KERNEL_OUTPUT_FEATURE = 4 };
enum { MAX_DIMS = 16, MAX_FIELDS = 64, BITCASTS = 8 };
/* An instruction takes a hundred bytes and more, and few have more than two operands. A file that
 * has more of them than this holds names of operands and no program. */
enum { OPERAND_BYTES = 8 };

/* By number of xla::PrimitiveType; others (tuples, tokens) have no size. */
static const struct {
	const char *name;
	double bytes;
	assay_math math;
} types[] = {
	[1] = {"pred", 1, ASSAY_MATH_NONE},       [2] = {"s8", 1, ASSAY_MATH_INT8},
	[3] = {"s16", 2, ASSAY_MATH_NONE},        [4] = {"s32", 4, ASSAY_MATH_NONE},
	[5] = {"s64", 8, ASSAY_MATH_NONE},        [6] = {"u8", 1, ASSAY_MATH_INT8},
	[7] = {"u16", 2, ASSAY_MATH_NONE},        [8] = {"u32", 4, ASSAY_MATH_NONE},
	[9] = {"u64", 8, ASSAY_MATH_NONE},        [10] = {"f16", 2, ASSAY_MATH_FP16},
	[11] = {"f32", 4, ASSAY_MATH_FP32},       [12] = {"f64", 8, ASSAY_MATH_FP64},
	[15] = {"c64", 8, ASSAY_MATH_NONE},       [16] = {"bf16", 2, ASSAY_MATH_BF16},
	[18] = {"c128", 16, ASSAY_MATH_NONE},     [19] = {"f8e5m2", 1, ASSAY_MATH_FP8},
	[20] = {"f8e4m3fn", 1, ASSAY_MATH_FP8},   [21] = {"s4", 0.5, ASSAY_MATH_NONE},
	[22] = {"u4", 0.5, ASSAY_MATH_NONE},      [23] = {"f8e4m3b11fnuz", 1, ASSAY_MATH_FP8},
	[24] = {"f8e5m2fnuz", 1, ASSAY_MATH_FP8}, [25] = {"f8e4m3fnuz", 1, ASSAY_MATH_FP8},
	[28] = {"f8e4m3", 1, ASSAY_MATH_FP8},     [29] = {"f8e3m4", 1, ASSAY_MATH_FP8},
	[32] = {"f4e2m1fn", 0.5, ASSAY_MATH_FP4}, [33] = {"f8e8m0fnu", 1, ASSAY_MATH_NONE},
};
enum { TUPLE = 13 };

typedef struct array {
	uint64_t type;
	uint32_t rank;
	double dim[MAX_DIMS];
	double elements, bytes;
} array;

/* Numbers of a repeated field: packed, or one at a time. */
static size_t take_numbers(const assay_field *f, uint64_t *out, size_t n, size_t max)
{
	assay_str rest = f->bytes;
	uint64_t v;
	if (f->wire == ASSAY_WIRE_VARINT && n < max)
		out[n++] = f->value;
	while (f->wire == ASSAY_WIRE_BYTES && n < max && rest.n && assay_proto_varint(&rest, &v))
		out[n++] = v;
	return n;
}

/* A shape has few fields, whatever a file says. */
static array array_of(assay_str shape)
{
	array a = {.elements = 1};
	uint64_t dims[MAX_DIMS];
	size_t n = 0;
	assay_proto c = assay_proto_on(shape);
	assay_field f;
	for (int k = 0; k < MAX_FIELDS && assay_proto_next(&c, &f); k++) {
		if (f.number == ELEMENT_TYPE)
			a.type = f.value;
		else if (f.number == DIMENSIONS)
			n = take_numbers(&f, dims, n, MAX_DIMS);
	}
	a.rank = (uint32_t)n;
	for (size_t i = 0; i < n; i++)
		a.elements *= a.dim[i] = (double)dims[i];
	a.bytes = a.type < ASSAY_COUNT_OF(types) ? a.elements * types[a.type].bytes : 0;
	return a;
}

/* Of custom calls the last result may be room to work in: 8-bit numbers in a row. */
static bool is_room(const array *a)
{
	return a->rank == 1 && (a->type == 2 || a->type == 6);
}

/* All results of an instruction: their bytes, and the first of them. */
static void sum_results(assay_hlo_instruction *i, assay_str shape)
{
	array a = array_of(shape), last = {0};
	i->shape = shape;
	i->bytes = a.bytes;
	assay_proto c = assay_proto_on(shape);
	uint32_t n = 0;
	for (assay_field f; a.type == TUPLE && assay_proto_next(&c, &f);) {
		if (f.number != TUPLE_SHAPES || f.wire != ASSAY_WIRE_BYTES)
			continue;
		if (!n++)
			i->shape = f.bytes;
		last = array_of(f.bytes);
		i->bytes += last.bytes;
	}
	i->room = n > 1 && is_room(&last) ? last.bytes : 0;
}

static assay_math math_of(const array *a)
{
	return a->type < ASSAY_COUNT_OF(types) ? types[a->type].math : ASSAY_MATH_NONE;
}

/* Where texts and messages go that are looked at later, if at all; by number of field. */
static const size_t text_at[] = {
	[NAME] = offsetof(assay_hlo_instruction, name),
	[OPCODE] = offsetof(assay_hlo_instruction, opcode),
	[SHAPE] = offsetof(assay_hlo_instruction, shape),
	[METADATA] = offsetof(assay_hlo_instruction, metadata),
	[CONVOLUTION] = offsetof(assay_hlo_instruction, convolution),
	[TARGET] = offsetof(assay_hlo_instruction, target),
	[DOT] = offsetof(assay_hlo_instruction, dot),
	[CONFIG] = offsetof(assay_hlo_instruction, config),
};

static void take_operands(assay_hlo *h, const assay_field *f)
{
	uint64_t v;
	assay_str rest = f->bytes;
	if (f->wire == ASSAY_WIRE_VARINT)
		*assay_push(&h->operand) = f->value;
	while (rest.n && assay_proto_varint(&rest, &v))
		*assay_push(&h->operand) = v;
}

static void take_field(assay_hlo *h, assay_hlo_instruction *i, const assay_field *f)
{
	size_t at = f->number < ASSAY_COUNT_OF(text_at) ? text_at[f->number] : 0;
	if (f->wire == ASSAY_WIRE_BYTES && (at || f->number == NAME))
		*(assay_str *)((char *)i + at) = f->bytes;
	else if (f->number == ID)
		i->id = f->value;
	else if (f->number == CALLED && !i->called)
		take_numbers(f, &i->called, 0, 1);
	else if (f->number == OPERANDS)
		take_operands(h, f);
}

static void read_instruction(assay_hlo *h, assay_str text)
{
	assay_hlo_instruction i = {.operand = (uint32_t)h->operand.n};
	assay_proto c = assay_proto_on(text);
	for (assay_field f; assay_proto_next(&c, &f);)
		take_field(h, &i, &f);
	i.operands = (uint32_t)h->operand.n - i.operand;
	sum_results(&i, i.shape);
	*assay_map_at(&h->by_id, i.id) = (uint32_t)h->instruction.n;
	*assay_push(&h->instruction) = i;
}

static void read_computation(assay_hlo *h, assay_str text)
{
	assay_hlo_computation *now = assay_push(&h->computation);
	*now = (assay_hlo_computation){.first = (uint32_t)h->instruction.n};
	assay_proto c = assay_proto_on(text);
	for (assay_field f; assay_proto_next(&c, &f);) {
		if (f.number == COMPUTATION_INSTRUCTION && f.wire == ASSAY_WIRE_BYTES)
			read_instruction(h, f.bytes);
		else if (f.number == COMPUTATION_ID)
			now->id = f.value;
		else if (f.number == COMPUTATION_ROOT)
			now->root = f.value;
	}
	now->end = (uint32_t)h->instruction.n;
	*assay_map_at(&h->computation_by_id, now->id) = (uint32_t)h->computation.n - 1;
}

void assay_hlo_read(assay_hlo *h, assay_str module)
{
	*h = (assay_hlo){.described = module.n / OPERAND_BYTES};
	assay_proto c = assay_proto_on(module);
	for (assay_field f; assay_proto_next(&c, &f);) {
		if (f.number == MODULE_COMPUTATION && f.wire == ASSAY_WIRE_BYTES)
			read_computation(h, f.bytes);
		else if (f.number == MODULE_ID)
			h->id = f.value;
		else if (f.number == MODULE_ENTRY)
			h->entry = f.value;
	}
}

void assay_hlo_free(assay_hlo *h)
{
	assay_vec_free(&h->instruction);
	assay_vec_free(&h->computation);
	assay_vec_free(&h->operand);
	assay_map_free(&h->by_id);
	assay_map_free(&h->computation_by_id);
	assay_arena_free(&h->scratch);
}

static const assay_hlo_instruction *operand_of(const assay_hlo *h, const assay_hlo_instruction *i,
					       uint32_t n)
{
	uint32_t at = n < i->operands ? assay_map_get(&h->by_id, h->operand.p[i->operand + n])
				      : ASSAY_MAP_ABSENT;
	return at == ASSAY_MAP_ABSENT ? NULL : &h->instruction.p[at];
}

assay_str assay_hlo_op_name(const assay_hlo_instruction *i)
{
	assay_proto c = assay_proto_on(i->metadata);
	for (assay_field f; assay_proto_next(&c, &f);)
		if (f.number == METADATA_OP_NAME && f.bytes.n)
			return f.bytes;
	return i->name;
}

static bool is(const assay_hlo_instruction *i, const char *opcode)
{
	return assay_str_is(i->opcode, opcode);
}

static bool is_one_of(const assay_hlo_instruction *i, const char *const *opcodes)
{
	for (; *opcodes; opcodes++)
		if (is(i, *opcodes))
			return true;
	return false;
}

/* The size of operand n, an array. */
static bool operand_array(const assay_hlo *h, const assay_hlo_instruction *i, uint32_t n,
			  array *out)
{
	const assay_hlo_instruction *o = operand_of(h, i, n);
	*out = o ? array_of(o->shape) : (array){0};
	return o && out->type && out->type != TUPLE;
}

/* Numbers of a list of texts or numbers in a custom call's configuration: "key":["1","2"]. */
static size_t config_numbers(assay_str config, const char *key, uint64_t *out, size_t max)
{
	ptrdiff_t at = assay_str_find(config, key);
	size_t n = 0, i = at < 0 ? config.n : (size_t)at + strlen(key);
	for (; i < config.n && config.p[i] != ']' && n < max; i++) {
		if (!assay_is_digit(config.p[i]))
			continue;
		uint64_t v = 0;
		for (; i < config.n && assay_is_digit(config.p[i]); i++)
			v = v < UINT32_MAX ? v * 10 + (uint64_t)(config.p[i] - '0') : v;
		out[n++] = v;
		i--;
	}
	return n;
}

/* Each element of the result is a sum over the contracted dimensions of the first operand. */
static bool product(const assay_hlo *h, const assay_hlo_instruction *i, assay_work *out)
{
	uint64_t contracted[MAX_DIMS];
	size_t n = 0;
	array a, result = array_of(i->shape);
	if (!operand_array(h, i, 0, &a))
		return false;
	assay_proto c = assay_proto_on(i->dot);
	for (assay_field f; assay_proto_next(&c, &f);)
		if (f.number == LHS_CONTRACTING)
			n = take_numbers(&f, contracted, n, MAX_DIMS);
	if (!i->dot.n)
		n = config_numbers(i->config, "\"lhs_contracting_dimensions\":", contracted,
				   MAX_DIMS);
	double flops = 2 * result.elements;
	for (size_t k = 0; k < n; k++)
		flops *= contracted[k] < a.rank ? a.dim[contracted[k]] : 1;
	out->flops += flops;
	out->math = math_of(&a);
	return n > 0;
}

/* Forward: every result takes a filter's worth of products, for one feature. Gradients take as
 * many; which of their arrays is the forward pass's result, the call says. */
static bool convolution(const assay_hlo *h, const assay_hlo_instruction *i, assay_work *out)
{
	uint64_t feature = 0;
	array x, y, result = array_of(i->shape), *filter = &y, *made = &result;
	if (!operand_array(h, i, 0, &x) || !operand_array(h, i, 1, &y))
		return false;
	assay_proto c = assay_proto_on(i->convolution);
	for (assay_field f; assay_proto_next(&c, &f);)
		if (f.number == KERNEL_OUTPUT_FEATURE)
			feature = f.value;
	if (assay_str_find(i->target, "BackwardInput") >= 0) {
		made = &x;
	} else if (assay_str_find(i->target, "BackwardFilter") >= 0) {
		filter = &result;
		made = &y;
	}
	if (feature >= filter->rank || filter->dim[feature] <= 0)
		return false;
	out->flops += 2 * made->elements * filter->elements / filter->dim[feature];
	out->math = math_of(&x);
	return true;
}

/* cuDNN's fused attention: the configuration has the size of the scores, [batch, heads, queries,
 * keys], and the mask. With padding it does not say how long the sequences are. */
static bool attention(const assay_hlo *h, const assay_hlo_instruction *i, assay_work *out)
{
	uint64_t scores[4], window = 0;
	array q, v;
	ptrdiff_t at = assay_str_find(i->config, "\"intermediate_tensor_shape\"");
	if (at < 0 || assay_str_find(i->config, "PADDING") >= 0 || !operand_array(h, i, 0, &q) ||
	    !operand_array(h, i, 2, &v) || !q.rank || !v.rank)
		return false;
	assay_str rest = {i->config.p + at, i->config.n - (size_t)at};
	if (config_numbers(rest, "\"dimensions\":", scores, 4) != 4)
		return false;
	config_numbers(i->config, "\"sliding_window_length\":", &window, 1);
	double queries = (double)scores[2], keys = (double)scores[3], pairs = queries * keys;
	if (assay_str_find(i->config, "CAUSAL") >= 0)
		pairs = assay_causal_pairs(queries, keys, false, (double)window - 1);
	double q_size = q.dim[q.rank - 1], v_size = v.dim[v.rank - 1];
	bool backward = assay_str_find(i->target, "Backward") >= 0;
	out->flops = 2 * (double)scores[0] * (double)scores[1] * pairs *
		     (backward ? 3 * q_size + 2 * v_size : q_size + v_size);
	out->math = math_of(&q);
	return true;
}

/* "key = 16 : i64" of a call's attributes; NaN when it is not there. */
static double attribute(assay_str config, const char *key)
{
	ptrdiff_t at = assay_str_find(config, key);
	assay_str rest = {0};
	double v;
	if (at >= 0)
		rest = (assay_str){config.p + at + strlen(key),
				   config.n - (size_t)at - strlen(key)};
	size_t n = rest.n && rest.p[0] == '-';
	while (n < rest.n && assay_is_digit(rest.p[n]))
		n++;
	return n && assay_str_f64((assay_str){rest.p, n}, &v) ? v : NAN;
}

/* Transformer Engine's attention: its attributes say sizes and mask. With padding they do not say
 * how long the sequences are. */
static bool te_attention(const assay_hlo *h, const assay_hlo_instruction *i, assay_work *out)
{
	enum { FULL = 0, CAUSAL = 2, CAUSAL_END = 4 };
	array q;
	double mask = attribute(i->config, "mask_type = "),
	       queries = attribute(i->config, "q_max_seqlen = "),
	       keys = attribute(i->config, "kv_max_seqlen = "),
	       left = attribute(i->config, "window_size_left = "),
	       right = attribute(i->config, "window_size_right = "),
	       heads = attribute(i->config, "attn_heads = ") *
		       attribute(i->config, "input_batch = "),
	       size = attribute(i->config, "qk_head_dim = "),
	       v_size = attribute(i->config, "v_head_dim = ");
	bool causal = mask == CAUSAL || mask == CAUSAL_END, end = mask == CAUSAL_END,
	     backward = assay_str_find(i->target, "backward") >= 0;
	if (!operand_array(h, i, 0, &q) || isnan(queries + keys + heads + size + v_size) ||
	    !(causal || mask == FULL) || (!causal && (left >= 0 || right >= 0)))
		return false;
	double pairs = causal ? assay_causal_pairs(queries, keys, end, left >= 0 ? left : -1)
			      : queries * keys;
	out->flops = 2 * heads * pairs * (backward ? 3 * size + 2 * v_size : size + v_size);
	out->math = math_of(&q);
	return true;
}

static double all_bytes(const assay_hlo *h, const assay_hlo_instruction *i)
{
	double sum = i->bytes - (is(i, "custom-call") ? i->room : 0);
	for (uint32_t n = 0; n < i->operands; n++) {
		const assay_hlo_instruction *o = operand_of(h, i, n);
		sum += o ? o->bytes : 0;
	}
	return sum;
}

static const assay_hlo_instruction *through_bitcasts(const assay_hlo *h,
						     const assay_hlo_instruction *i)
{
	for (int n = 0; i && n < BITCASTS && is(i, "bitcast"); n++)
		i = operand_of(h, i, 0);
	return i;
}

/* What of its parameters the insides of a fusion read: all, or only slices. */
static double read_inside(assay_hlo *h, const assay_hlo_computation *c)
{
	static const char *const slices[] = {"slice", "dynamic-slice", "gather", NULL};
	assay_arena_reset(&h->scratch);
	double *sliced = assay_alloc(&h->scratch, (c->end - c->first + 1) * sizeof *sliced),
	       sum = 0;
	for (uint32_t k = c->first; k < c->end; k++) {
		const assay_hlo_instruction *i = &h->instruction.p[k];
		for (uint32_t n = 0; n < i->operands && !is(i, "bitcast"); n++) {
			const assay_hlo_instruction *o = through_bitcasts(h, operand_of(h, i, n));
			if (!o || !is(o, "parameter") || o < &h->instruction.p[c->first] ||
			    o >= &h->instruction.p[c->end])
				continue;
			double *of = &sliced[o - &h->instruction.p[c->first]];
			if (n == 0 && is(i, "dynamic-update-slice"))
				continue; /* written in place */
			*of += n == 0 && is_one_of(i, slices) ? i->bytes : 1e300;
		}
	}
	for (uint32_t k = c->first; k < c->end; k++) {
		double whole = h->instruction.p[k].bytes;
		sum += sliced[k - c->first] < whole ? sliced[k - c->first] : whole;
	}
	return sum;
}

static double written_of(const assay_hlo *h, const assay_hlo_instruction *i)
{
	array part;
	i = through_bitcasts(h, i);
	if (!i)
		return 0;
	if (is(i, "dynamic-update-slice") && operand_array(h, i, 1, &part))
		return part.bytes;
	return i->bytes;
}

static double written_inside(const assay_hlo *h, const assay_hlo_computation *c)
{
	uint32_t at = assay_map_get(&h->by_id, c->root);
	if (at < c->first || at >= c->end)
		return 0;
	const assay_hlo_instruction *root = &h->instruction.p[at];
	if (!is(root, "tuple"))
		return written_of(h, root);
	double sum = 0;
	for (uint32_t n = 0; n < root->operands; n++)
		sum += written_of(h, operand_of(h, root, n));
	return sum;
}

static void sum_insides(assay_hlo *h, assay_hlo_computation *c)
{
	assay_work *w = &c->inside;
	c->summed = true;
	c->class = ASSAY_WORK_ELEMENTWISE;
	for (uint32_t k = c->first; k < c->end; k++) {
		const assay_hlo_instruction *i = &h->instruction.p[k];
		if (is(i, "dot") && product(h, i, w))
			c->class = ASSAY_WORK_GEMM;
		else if (is(i, "convolution") && convolution(h, i, w))
			c->class = ASSAY_WORK_CONV;
		else if (is(i, "reduce") && c->class == ASSAY_WORK_ELEMENTWISE)
			c->class = ASSAY_WORK_REDUCTION;
	}
	w->written = written_inside(h, c);
	w->bytes = read_inside(h, c) + w->written;
}

static bool custom_call(const assay_hlo *h, const assay_hlo_instruction *i, assay_work *out,
			uint8_t *class)
{
	bool known = false;
	if (assay_str_starts(i->target, "__cublas$")) {
		*class = ASSAY_WORK_GEMM;
		known = product(h, i, out);
	} else if (assay_str_starts(i->target, "__cudnn$conv")) {
		*class = ASSAY_WORK_CONV;
		known = convolution(h, i, out);
	} else if (assay_str_starts(i->target, "__cudnn$fmha")) {
		*class = ASSAY_WORK_ATTENTION;
		known = attention(h, i, out);
	} else if (assay_str_starts(i->target, "te_fused_attn_")) {
		*class = ASSAY_WORK_ATTENTION;
		known = te_attention(h, i, out);
	}
	out->bytes = all_bytes(h, i);
	return known;
}

bool assay_hlo_work(assay_hlo *h, uint32_t instruction, assay_work *out, uint8_t *class)
{
	static const char *const moves[] = {"copy",    "transpose", "convert", "concatenate",
					    "slice",   "broadcast", "iota",    "pad",
					    "reverse", "select",    "sort",    NULL};
	const assay_hlo_instruction *i = &h->instruction.p[instruction];
	*out = (assay_work){0};
	if (is(i, "custom-call"))
		return custom_call(h, i, out, class);
	if (is(i, "fusion")) {
		uint32_t at = assay_map_get(&h->computation_by_id, i->called);
		if (at == ASSAY_MAP_ABSENT)
			return false;
		if (!h->computation.p[at].summed)
			sum_insides(h, &h->computation.p[at]);
		*out = h->computation.p[at].inside;
		*class = h->computation.p[at].class;
		if (out->flops == 0)
			out->flops = array_of(i->shape).elements;
		return true;
	}
	*class = is(i, "dot")           ? ASSAY_WORK_GEMM
		 : is(i, "convolution") ? ASSAY_WORK_CONV
		 : is(i, "reduce")      ? ASSAY_WORK_REDUCTION
					: ASSAY_WORK_MOVE;
	out->bytes = all_bytes(h, i);
	if (is(i, "dot"))
		return product(h, i, out);
	if (is(i, "convolution"))
		return convolution(h, i, out);
	return is(i, "reduce") || is_one_of(i, moves);
}

void assay_hlo_write_args(assay_hlo *h, uint32_t instruction, assay_jsonw *w)
{
	const assay_hlo_instruction *i = &h->instruction.p[instruction];
	array a;
	if (i->operands > h->described)
		return;
	h->described -= i->operands;
	assay_jsonw_open_flat(w, "Input Dims", '[');
	for (uint32_t n = 0; n < i->operands; n++) {
		if (!operand_array(h, i, n, &a))
			a.rank = 0;
		assay_jsonw_open_flat(w, NULL, '[');
		for (uint32_t d = 0; d < a.rank; d++)
			assay_jsonw_i64(w, NULL, a.dim[d] < 9e18 ? (int64_t)a.dim[d] : INT64_MAX);
		assay_jsonw_close(w, ']');
	}
	assay_jsonw_close(w, ']');
	assay_jsonw_open_flat(w, "Input type", '[');
	for (uint32_t n = 0; n < i->operands; n++) {
		bool known = operand_array(h, i, n, &a) && a.type < ASSAY_COUNT_OF(types) &&
			     types[a.type].name;
		assay_jsonw_str(w, NULL, known ? assay_str_of(types[a.type].name) : ASSAY_S(""));
	}
	assay_jsonw_close(w, ']');
}

/* A program by hand: instructions as texts of fields, shapes of f32. */
static void put_shape(assay_protow *to, uint32_t field, uint64_t type, const char *dims, size_t n)
{
	assay_protow shape = {0};
	assay_protow_varint(&shape, ELEMENT_TYPE, type);
	assay_protow_bytes(&shape, DIMENSIONS, (assay_str){dims, n});
	assay_protow_message(to, field, &shape);
	assay_protow_free(&shape);
}

struct hand {
	assay_protow computation, module;
	const char *target; /* of custom calls; NULL: of cuBLAS */
};

/* Operands are ids of a byte each. */
static void put_instruction(struct hand *m, uint64_t id, const char *opcode, uint64_t type,
			    const char *dims, const char *operands, uint32_t field,
			    const char *extra)
{
	assay_protow i = {0};
	assay_protow_string(&i, NAME, assay_str_of(opcode));
	assay_protow_string(&i, OPCODE, assay_str_of(opcode));
	put_shape(&i, SHAPE, type, dims, strlen(dims));
	assay_protow_varint(&i, ID, id);
	assay_protow_bytes(&i, OPERANDS, assay_str_of(operands));
	if (field == CALLED)
		assay_protow_varint(&i, CALLED, (uint64_t)*extra);
	else if (field)
		assay_protow_bytes(&i, field, assay_str_of(extra));
	if (field == CONFIG)
		assay_protow_string(&i, TARGET,
				    assay_str_of(m->target ? m->target : "__cublas$lt$matmul"));
	assay_protow_message(&m->computation, COMPUTATION_INSTRUCTION, &i);
	assay_protow_free(&i);
}

static void put_computation(struct hand *m, uint64_t id, uint64_t root)
{
	assay_protow_varint(&m->computation, COMPUTATION_ID, id);
	assay_protow_varint(&m->computation, COMPUTATION_ROOT, root);
	assay_protow_message(&m->module, MODULE_COMPUTATION, &m->computation);
	assay_protow_free(&m->computation);
	m->computation = (assay_protow){0};
}

TEST(instructions_of_programs_have_their_work)
{
	struct hand m = {0};
	assay_hlo h;
	assay_work w;
	uint8_t class;
	/* inside a fusion: a slice [1,8] of [4,8], a product with [8,16], put into [4,16] */
	put_instruction(&m, 1, "parameter", 11, "\4\10", "", 0, NULL);
	put_instruction(&m, 2, "parameter", 11, "\10\20", "", 0, NULL);
	put_instruction(&m, 3, "parameter", 11, "\4\20", "", 0, NULL);
	put_instruction(&m, 4, "dynamic-slice", 11, "\1\10", "\1", 0, NULL);
	put_instruction(&m, 5, "dot", 11, "\1\20", "\4\2", DOT, "\12\1\1"); /* contracts 1 */
	put_instruction(&m, 6, "dynamic-update-slice", 11, "\4\20", "\3\5", 0, NULL);
	put_computation(&m, 7, 6);
	put_instruction(&m, 11, "parameter", 16, "\4\10", "", 0, NULL);
	put_instruction(&m, 12, "parameter", 16, "\20\10", "", 0, NULL);
	put_instruction(&m, 13, "fusion", 11, "\4\20", "\13\14\13", CALLED, "\7");
	put_instruction(&m, 14, "custom-call", 16, "\4\20", "\13\14", CONFIG,
			"{\"lhs_contracting_dimensions\":[\"1\"],\"rhs\":[\"1\"]}");
	put_instruction(&m, 15, "all-reduce", 11, "\4\20", "\15", 0, NULL);
	put_instruction(&m, 16, "copy", 11, "\4\20", "\15", 0, NULL);
	put_computation(&m, 8, 16);
	assay_protow_varint(&m.module, MODULE_ID, 99);
	assay_hlo_read(&h, assay_protow_data(&m.module));
	CHECK(h.id == 99 && h.instruction.n == 12 && h.computation.n == 2);
	CHECK(assay_hlo_work(&h, 8, &w, &class) && class == ASSAY_WORK_GEMM && w.flops == 256);
	CHECK(w.bytes == 32 + 512 + 64 && w.math == ASSAY_MATH_FP32);
	CHECK(assay_hlo_work(&h, 9, &w, &class) && w.flops == 1024 && w.math == ASSAY_MATH_BF16);
	CHECK(w.bytes == 2 * (32 + 128 + 64));
	CHECK(!assay_hlo_work(&h, 10, &w, &class));
	CHECK(assay_hlo_work(&h, 11, &w, &class) && class == ASSAY_WORK_MOVE && w.bytes == 512);
	assay_hlo_free(&h);
	assay_protow_free(&m.module);
	return 0;
}

/* Two sequences of 4 with 3 heads of 16. */
TEST(attention_of_cudnn_is_known_by_its_scores_and_mask)
{
	static const char *const config =
		"{\"cudnn_fmha_backend_config\":{\"intermediate_tensor_shape\":{\"dimensions\":[\"2\",\"3\",\"4\",\"%d\"]},\"mask_type\":\"%s\",\"sliding_window_length\":%d}}";
	static const struct {
		const char *target, *mask;
		int keys, window;
		double pairs, products;
	} cases[] = {{"__cudnn$fmhaSoftmax", "NO_MASK", 4, 0, 16, 2},
		     {"__cudnn$fmhaSoftmax", "CAUSAL", 4, 0, 10, 2},
		     {"__cudnn$fmhaSoftmaxBackward", "CAUSAL", 4, 0, 10, 5},
		     {"__cudnn$fmhaSoftmax", "CAUSAL", 6, 0, 10, 2},
		     {"__cudnn$fmhaSoftmax", "CAUSAL", 4, 2, 7, 2},
		     {"__cudnn$fmhaSoftmax", "PADDING_CAUSAL", 4, 0, 0, 0}};
	for (size_t k = 0; k < ASSAY_COUNT_OF(cases); k++) {
		char text[300];
		struct hand m = {.target = cases[k].target};
		assay_hlo h;
		assay_work w;
		uint8_t class = ASSAY_WORK_NONE;
		snprintf(text, sizeof text, config, cases[k].keys, cases[k].mask, cases[k].window);
		put_instruction(&m, 1, "parameter", 16, "\2\4\3\20", "", 0, NULL);
		put_instruction(&m, 2, "custom-call", 16, "\2\4\3\20", "\1\1\1", CONFIG, text);
		put_computation(&m, 8, 2);
		assay_hlo_read(&h, assay_protow_data(&m.module));
		bool known = assay_hlo_work(&h, 1, &w, &class);
		CHECK(known == (cases[k].pairs > 0));
		CHECK(w.flops == 2 * 2 * 3 * cases[k].pairs * 16 * cases[k].products);
		assay_hlo_free(&h);
		assay_protow_free(&m.module);
	}
	return 0;
}

/* Two sequences of 4 with 3 heads of 16, causal: 10 of 16 pairs. */
TEST(attention_of_transformer_engine_is_known_by_its_attributes)
{
	static const char *const config =
		"{attn_heads = 3 : i64, input_batch = 2 : i64, kv_max_seqlen = 4 : i64, mask_type = %d : i64, q_max_seqlen = 4 : i64, qk_head_dim = 16 : i64, v_head_dim = 16 : i64, window_size_left = %d : i64, window_size_right = -1 : i64}";
	static const struct {
		const char *target;
		int mask, left;
		double pairs, products;
	} cases[] = {{"te_fused_attn_forward_ffi", 2, -1, 10, 2},
		     {"te_fused_attn_backward_ffi", 2, -1, 10, 5},
		     {"te_fused_attn_forward_ffi", 2, 1, 7, 2},
		     {"te_fused_attn_forward_ffi", 4, -1, 10, 2},
		     {"te_fused_attn_forward_ffi", 0, -1, 16, 2},
		     {"te_fused_attn_forward_ffi", 0, 1, 0, 0},
		     {"te_fused_attn_forward_ffi", 1, -1, 0, 0},
		     {"te_fused_attn_forward_ffi", 3, -1, 0, 0},
		     {"te_something_else", 2, -1, 0, 0}};
	for (size_t k = 0; k < ASSAY_COUNT_OF(cases); k++) {
		char text[400];
		struct hand m = {.target = cases[k].target};
		assay_hlo h;
		assay_work w;
		uint8_t class = ASSAY_WORK_NONE;
		snprintf(text, sizeof text, config, cases[k].mask, cases[k].left);
		put_instruction(&m, 1, "parameter", 16, "\2\4\3\3\20", "", 0, NULL);
		put_instruction(&m, 2, "custom-call", 16, "\2\4\3\20", "\1", CONFIG, text);
		put_computation(&m, 8, 2);
		assay_hlo_read(&h, assay_protow_data(&m.module));
		bool known = assay_hlo_work(&h, 1, &w, &class);
		CHECK(known == (cases[k].pairs > 0));
		CHECK(!known || (class == ASSAY_WORK_ATTENTION && w.math == ASSAY_MATH_BF16));
		CHECK(w.flops == 2 * 2 * 3 * cases[k].pairs * 16 * cases[k].products);
		CHECK(w.bytes == 2 * (2 * 4 * 3 * 3 * 16 + 2 * 4 * 3 * 16));
		assay_hlo_free(&h);
		assay_protow_free(&m.module);
	}
	return 0;
}

TEST(a_root_outside_its_computation_writes_nothing)
{
	struct hand m = {0};
	assay_hlo h;
	assay_work w;
	uint8_t class;
	put_instruction(&m, 1, "parameter", 11, "\4\10", "", 0, NULL);
	put_computation(&m, 7, 2);
	put_instruction(&m, 2, "fusion", 11, "\4\20", "", CALLED, "\7");
	put_computation(&m, 8, 2);
	assay_hlo_read(&h, assay_protow_data(&m.module));
	CHECK(assay_hlo_work(&h, 1, &w, &class) && w.written == 0);
	assay_hlo_free(&h);
	assay_protow_free(&m.module);
	return 0;
}

TEST(operands_are_described_as_long_as_a_file_is_large_enough_for_them)
{
	struct hand m = {0};
	assay_hlo h;
	char many[500];
	memset(many, 1, sizeof many - 1);
	many[sizeof many - 1] = 0;
	put_instruction(&m, 1, "copy", 11, "\4\10", "\1", 0, NULL);
	put_instruction(&m, 2, "add", 11, "\4\10", many, 0, NULL);
	put_computation(&m, 7, 2);
	assay_hlo_read(&h, assay_protow_data(&m.module));
	for (uint32_t i = 0; i < 2; i++) {
		assay_jsonw w = {.compact = true};
		assay_hlo_write_args(&h, i, &w);
		CHECK((w.out.n == 0) == i);
		assay_jsonw_free(&w);
	}
	assay_hlo_free(&h);
	assay_protow_free(&m.module);
	return 0;
}
