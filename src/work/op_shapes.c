/* Calls of operators by what their work depends on: one row of op_shape for equal arguments, with
 * that work where a rule or the program tells it. */
#include "work/op_calls.h"

#include <math.h>

#include "names/serving.h"
#include "work/compute.h"
#include "work/kernel_math.h"
#include "work/op_forward.h"

struct shapes {
	assay_run *run;
	assay_tables *t;
	const assay_op_blocks *blocks;
	assay_rule_names rules;
	assay_arena scratch;
	assay_map seen;   /* name, arguments as written and what the work depends on -> row of
			     op_shape */
	assay_map shapes; /* the same with the arguments taken apart */
	assay_forwards forward;
};

static assay_sid name_of(const struct shapes *o, uint32_t call)
{
	uint32_t captured = o->t->op_call.captured[call];
	return captured == ASSAY_NO_ROW ? o->t->host.name[o->t->op_call.host[call]]
					: o->t->captured.name[captured];
}

static assay_sid args_of(struct shapes *o, uint32_t call, const assay_work_rule *rule)
{
	uint32_t captured = o->t->op_call.captured[call], host = o->t->op_call.host[call];
	if (captured != ASSAY_NO_ROW)
		return o->t->captured.args[captured];
	if (rule && rule->flags & WORK_OF_FORWARD)
		host = assay_forward_of(&o->forward, o->run, host);
	return host == ASSAY_NO_ROW ? 0 : o->t->host.args[host];
}

/* What the work of a call depends on beside its arguments. */
struct key {
	assay_sid name, kernel, dims, types, strides, values, mark;
	uint32_t flags, element, blocks;
};

static assay_str kernel_name(const struct shapes *o, uint32_t call)
{
	uint32_t gpu = o->t->op_call.gpu[call];
	return gpu == ASSAY_NO_ROW ? (assay_str){0} : assay_text(o->run, o->t->gpu.name[gpu]);
}

static bool has_list(const assay_op_args *args)
{
	for (size_t i = 0; i < args->n; i++)
		if (args->arg[i].kind == ASSAY_ARG_TENSORS)
			return true;
	return false;
}

/* Blocks of PyTorch's kernels for lists, each of which takes a chunk of one tensor; 0: other
 * kernels. */
static uint32_t list_blocks(const struct shapes *o, uint32_t call)
{
	return assay_str_find(kernel_name(o, call), "multi_tensor_apply_kernel") >= 0
		       ? o->blocks->of_call.p[call]
		       : 0;
}

/* What PyTorch's kernels take by index: rows, one a block, or elements, as many a block as the name
 * says; 0 elements: rows. false: another kernel. */
static bool taken_by_block(assay_str kernel, uint32_t *elements)
{
	static const char by_element[] = "index_elementwise_kernel<";
	ptrdiff_t at = assay_str_find(kernel, by_element);
	int64_t threads, each;
	*elements = 0;
	if (at < 0)
		return assay_str_find(kernel, "vectorized_gather_kernel") >= 0;
	assay_str rest = {kernel.p + at + strlen(by_element),
			  kernel.n - (size_t)at - strlen(by_element)};
	if (!assay_str_i64(assay_str_trim(assay_str_cut(&rest, ',')), &threads) ||
	    !assay_str_i64(assay_str_trim(assay_str_cut(&rest, ',')), &each) || threads <= 0 ||
	    each <= 0 || threads > 1024 || each > 1024)
		return false;
	*elements = (uint32_t)(threads * each);
	return true;
}

/* Blocks that say how much a call works on, where its arguments do not: of all its kernels, or of
 * the one that takes what indices name. */
static uint32_t telling_blocks(const struct shapes *o, uint32_t call, const assay_work_rule *rule)
{
	uint32_t grid[3], gpu = o->t->op_call.gpu[call];
	if (!rule || (rule->formula != assay_work_lists && rule->formula != assay_work_indexed) ||
	    gpu == ASSAY_NO_ROW)
		return 0;
	if (rule->formula == assay_work_lists)
		return o->blocks->of_call.p[call];
	assay_grid_blocks(&o->blocks->grids, gpu, grid);
	return grid[0];
}

/* Lists without shapes have 31 tensors at least, whose last chunks are half full in the mean. */
static double list_elements(uint32_t blocks)
{
	const double chunk = 65536, half_full = 31 / 2.0;
	return blocks > half_full ? (blocks - half_full) * chunk : 0;
}

static assay_sid keep(struct shapes *o, assay_str s)
{
	return assay_intern(&o->run->part.strings, s);
}

/* The library's own word for fp32 data multiplied in tf32, where calls of it were recorded; else
 * the kernel's name. The word holds for a handle: data of other types goes through it as well. */
static assay_math math_of(struct shapes *o, uint32_t call, const assay_work_rule *rule,
			  assay_math data)
{
	assay_str args = assay_text(o->run, args_of(o, call, rule));
	if (data == ASSAY_MATH_FP32 && assay_str_find(args, "\"compute\": \"tf32\"") >= 0)
		return ASSAY_MATH_TF32;
	return assay_kernel_math(kernel_name(o, call));
}

static void take_work(struct shapes *o, uint32_t shape, uint32_t call, const assay_work_rule *rule,
		      const assay_work *work)
{
	assay_op_shape_table *s = &o->t->op_shape;
	assay_math ran = math_of(o, call, rule, work->math);
	bool matrix = assay_is_matrix(s->class[shape]);
	s->flops[shape] = work->flops;
	s->bytes[shape] = work->bytes;
	s->written[shape] = work->written;
	s->math[shape] = (uint8_t)(!matrix ? ASSAY_MATH_FP32 : ran ? ran : work->math);
	if (work->estimated)
		s->flags[shape] |= ASSAY_OP_ESTIMATED;
}

static void set_work(struct shapes *o, uint32_t shape, uint32_t call, const assay_work_rule *rule,
		     const assay_op_args *args, const struct key *k)
{
	assay_work_hint hint = {.list_bytes = k->element};
	if (rule->formula == assay_work_lists)
		hint.list_elements = list_elements(k->blocks);
	else if (k->element)
		hint.elements_taken = (double)k->element * k->blocks;
	else
		hint.rows_taken = k->blocks;
	assay_serving serving;
	assay_work work;
	uint32_t mark = o->t->op_call.mark[call];
	if (mark != ASSAY_NO_ROW &&
	    assay_serving_parse(assay_text(o->run, o->t->host.name[mark]), &serving)) {
		hint.serving = serving.sums;
		hint.decode = serving.phase == ASSAY_PHASE_DECODE;
		hint.queries_by_keys = serving.queries_by_keys;
		hint.keys = serving.keys;
	}
	if (assay_work_of(rule, args, &hint, &work))
		take_work(o, shape, call, rule, &work);
}

/* The program itself says how much work an instruction is. */
static void set_program_work(struct shapes *o, uint32_t shape, uint32_t call)
{
	const assay_captured_table *c = &o->t->captured;
	uint32_t of = o->t->op_call.captured[call];
	if (of == ASSAY_NO_ROW || isnan(c->flops[of]))
		return;
	const assay_work work = {
		.flops = c->flops[of], .bytes = c->bytes[of], .math = (assay_math)c->math[of]};
	o->t->op_shape.class[shape] = c->class[of];
	take_work(o, shape, call, NULL, &work);
}

static uint32_t add_shape(struct shapes *o, uint32_t call, const struct key *k)
{
	assay_op_shape_table *s = &o->t->op_shape;
	uint32_t r = assay_add(o->t, ASSAY_T_op_shape);
	s->name[r] = k->name;
	s->dims[r] = k->dims;
	s->types[r] = k->types;
	s->strides[r] = k->strides;
	s->values[r] = k->values;
	s->flags[r] = (uint8_t)k->flags;
	s->call[r] = call;
	return r;
}

enum { OF_SHAPE = ASSAY_OP_ACROSS_BUS | ASSAY_OP_GRAPH | ASSAY_OP_ESTIMATED };

/* Its work is known, whatever its name is. */
static bool tells_work(const struct shapes *o, uint32_t call)
{
	uint32_t captured = o->t->op_call.captured[call];
	return captured != ASSAY_NO_ROW && !isnan(o->t->captured.flops[captured]);
}

/* Kernels that were counted may share their short name. */
static assay_sid counted_kernel(const struct shapes *o, uint32_t call)
{
	uint32_t captured = o->t->op_call.captured[call];
	return tells_work(o, call) && !o->t->captured.program[captured]
		       ? o->t->captured.instruction[captured]
		       : 0;
}

/* The row of op_shape for a call whose arguments as written are new. */
static uint32_t shape_of(struct shapes *o, uint32_t call, const assay_work_rule *rule)
{
	uint32_t mark = o->t->op_call.mark[call];
	assay_op_args args = {0};
	struct key k = {.name = name_of(o, call),
			.kernel = counted_kernel(o, call),
			.flags = o->t->op_call.flags[call] & OF_SHAPE};
	assay_arena_reset(&o->scratch);
	bool shaped =
		!(k.flags & ASSAY_OP_GRAPH) &&
		assay_op_args_parse(&args, &o->scratch, assay_text(o->run, args_of(o, call, rule)));
	double element = shaped && has_list(&args) ? assay_kernel_element(kernel_name(o, call)) : 0;
	if (shaped) {
		k.dims = keep(o, args.dims);
		k.types = keep(o, args.types);
		k.strides = keep(o, args.strides);
		k.values = keep(o, args.values);
		k.element = (uint32_t)element;
	}
	if (rule && rule->formula == assay_work_serving && mark != ASSAY_NO_ROW)
		k.mark = o->t->host.name[mark];
	if (rule && rule->formula == assay_work_lists)
		k.blocks = list_blocks(o, call);
	if (rule && rule->formula == assay_work_indexed &&
	    taken_by_block(kernel_name(o, call), &k.element))
		k.blocks = telling_blocks(o, call, rule);
	if (rule)
		o->t->op_call.flags[call] |= rule->flags & WORK_BACKWARD ? ASSAY_OP_BACKWARD : 0;
	uint32_t *slot = assay_map_at(&o->shapes, assay_hash(&k, sizeof k, 0));
	if (*slot == ASSAY_MAP_ABSENT) {
		*slot = add_shape(o, call, &k);
		o->t->op_shape.class[*slot] = rule ? rule->class : ASSAY_WORK_NONE;
		if (rule && shaped && !(k.flags & ASSAY_OP_ACROSS_BUS))
			set_work(o, *slot, call, rule, &args, &k);
		else if (!rule)
			set_program_work(o, *slot, call);
	}
	return *slot;
}

static void give_shapes(struct shapes *o)
{
	assay_op_call_table *c = &o->t->op_call;
	for (uint32_t call = 0; call < c->n; call++) {
		uint32_t mark = c->mark[call], gpu = c->gpu[call];
		assay_sid name = name_of(o, call);
		bool graph = c->flags[call] & ASSAY_OP_GRAPH;
		const assay_work_rule *rule =
			graph || tells_work(o, call) ? NULL : assay_rule_of_sid(&o->rules, name);
		uint32_t blocks = telling_blocks(o, call, rule);
		/* only what the work may depend on: every difference costs one reading of the
		 * text */
		const uint32_t seen[] = {name,
					 counted_kernel(o, call),
					 graph ? 0 : args_of(o, call, rule),
					 c->flags[call] & OF_SHAPE,
					 mark == ASSAY_NO_ROW ? 0 : o->t->host.name[mark],
					 rule && (rule->class >= ASSAY_WORK_OPTIMIZER || blocks) &&
							 gpu != ASSAY_NO_ROW
						 ? o->t->gpu.name[gpu]
						 : 0,
					 blocks};
		uint32_t *slot = assay_map_at(&o->seen, assay_hash(seen, sizeof seen, 0));
		if (*slot == ASSAY_MAP_ABSENT)
			*slot = shape_of(o, call, rule);
		c->shape[call] = *slot;
		o->t->op_shape.calls[*slot]++;
		o->t->op_shape.busy[*slot] += c->busy[call];
	}
}

/* Rules are kept by the numbers of strings; the names of all operators have theirs by now. */
void assay_op_shapes(assay_run *run, const assay_op_blocks *blocks)
{
	struct shapes o = {.run = run, .t = &run->part.t, .blocks = blocks};
	assay_rule_names_init(&o.rules, run);
	give_shapes(&o);
	assay_rule_names_free(&o.rules);
	assay_map_free(&o.seen);
	assay_map_free(&o.shapes);
	assay_forwards_free(&o.forward);
	assay_arena_free(&o.scratch);
}
