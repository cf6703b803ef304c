/* Operators with the GPU work they caused: one row a call, one a set of arguments, one a name. */
#include "analyze/analyze.h"

#include <assert.h>
#include <math.h>

#include "analyze/compute.h"
#include "analyze/counters.h"
#include "analyze/kernel_call.h"
#include "analyze/op_forward.h"
#include "analyze/kernel_math.h"
#include "analyze/op_walk.h"
#include "base/fmt.h"
#include "base/json.h"
#include "model/grid.h"
#include "names/copies.h"
#include "names/serving.h"
#include "base/test.h"
#include "model/by_hand.h"

/* The call that an instruction's work is being added to. */
struct run_of_work {
	uint32_t captured, call, device;
	assay_sid first; /* name of its first kernel: where it comes again, the next call begins */
};

struct ops {
	assay_run *run;
	assay_tables *t;
	assay_rule_names rules;
	const assay_op_places *places;
	assay_arena scratch;
	/* by place, of operators by their first one: 0 none, else 1 + row of op_call */
	uint32_t *call_of_op, *call_of_graph;
	assay_sid call_name; /* of the launch looked at last */
	bool call_is_graph;
	assay_map call_of_captured; /* launch and row of captured -> row of op_call */
	assay_map
		seen; /* name, arguments as written and what the work hangs on -> row of op_shape */
	assay_map shapes;        /* the same with the arguments taken apart */
	assay_map instruction;   /* program and name -> row of captured */
	assay_map of_args;       /* arguments of work -> row of captured */
	assay_map telling;       /* names of kernels that tell of their call */
	assay_map alone;         /* such a name with a grid -> 1 + row of captured, 0 none */
	struct run_of_work last; /* of an instruction, on the device looked at */
	assay_forwards forward;
	assay_vec(int64_t) end;     /* by row of op_call: where its union ends */
	assay_vec(uint32_t) blocks; /* by row of op_call: of its kernels */
	assay_vec(int64_t) bus;     /* by row of op_call: copies between host and device */
	assay_grids grids;
	assay_arena kept;
};

static uint32_t launch_of(const struct ops *o, uint32_t gpu)
{
	return gpu < o->t->launch.n ? o->t->launch.host[gpu] : ASSAY_NO_ROW;
}

static bool launches_graph(struct ops *o, uint32_t gpu, uint32_t call)
{
	assay_sid name = o->t->host.name[call];
	if (name != o->call_name) {
		o->call_name = name;
		o->call_is_graph = assay_str_find(assay_text(o->run, name), "GraphLaunch") >= 0;
	}
	return o->call_is_graph || o->t->gpu.graph_node[gpu];
}

/* Copies over the bus do not use the device's memory as its own work does. */
static bool crosses_bus(const struct ops *o, uint32_t gpu)
{
	if (o->t->gpu.kind[gpu] != ASSAY_GPU_MEMCPY)
		return false;
	assay_copy_way way = assay_copy_way_of(assay_text(o->run, o->t->gpu.name[gpu]));
	return way != ASSAY_COPY_ON_DEVICE && way != ASSAY_COPY_ELSEWHERE;
}

/* All columns are set here: there is a row for almost every kernel. */
static uint32_t new_call(struct ops *o, uint32_t host, uint32_t gpu, uint32_t device,
			 const assay_op_place *place, bool graph)
{
	assay_op_call_table *c = &o->t->op_call;
	if (c->n == c->cap)
		assay_reserve(o->t, ASSAY_T_op_call, 1);
	uint32_t r = (uint32_t)c->n++;
	c->host[r] = host;
	c->captured[r] = ASSAY_NO_ROW;
	c->shape[r] = c->gpu[r] = ASSAY_NO_ROW;
	c->device[r] = device;
	c->events[r] = 0;
	c->start[r] = o->t->gpu.ts[gpu];
	c->busy[r] = c->owned[r] = 0;
	c->mark[r] = place->steps;
	c->range[r] = place->mark;
	c->flags[r] = (uint8_t)((graph ? ASSAY_OP_GRAPH : 0) |
				(place->recomputed ? ASSAY_OP_RECOMPUTED : 0) |
				(place->backward ? ASSAY_OP_BACKWARD : 0));
	*assay_push(&o->end) = INT64_MIN;
	*assay_push(&o->blocks) = 0;
	*assay_push(&o->bus) = 0;
	return r;
}

/* Each replay of a graph calls the operators that were captured. */
static uint32_t captured_call(struct ops *o, uint32_t gpu, uint32_t device, uint32_t captured,
			      const assay_op_place *place)
{
	uint32_t launch = launch_of(o, gpu);
	uint32_t *slot = assay_map_at(&o->call_of_captured, (uint64_t)launch << 32 | captured);
	if (*slot == ASSAY_MAP_ABSENT) {
		*slot = new_call(o, launch, gpu, device, place, false);
		o->t->op_call.captured[*slot] = captured;
		o->t->op_call.flags[*slot] |= o->t->captured.flags[captured];
	}
	return *slot;
}

static uint32_t captured_of(const struct ops *o, uint32_t gpu)
{
	return gpu < o->t->gpu_captured.n ? o->t->gpu_captured.op[gpu] : ASSAY_NO_ROW;
}

static uint64_t instruction_key(uint64_t module, assay_str name)
{
	return assay_hash(name.p, name.n, module);
}

static void index_instructions(struct ops *o)
{
	const assay_captured_table *c = &o->t->captured;
	for (uint32_t i = 0; i < c->n; i++)
		if (c->program[i])
			*assay_map_at(&o->instruction,
				      instruction_key(c->module[i],
						      assay_text(o->run, c->instruction[i]))) = i;
}

/* XLA names the program and the instruction of the work that runs outside of graphs. */
static uint32_t find_instruction(struct ops *o, assay_sid args)
{
	assay_str op = {0};
	int64_t program = -1;
	assay_arena_reset(&o->scratch);
	assay_json j = assay_json_members(&o->scratch, assay_text(o->run, args));
	for (assay_str key, value; assay_json_member(&j, &key) && assay_json_skip(&j, &value);) {
		if (assay_str_is(key, "hlo_op") && value.n > 2)
			op = assay_json_unescape(&o->scratch,
						 (assay_str){value.p + 1, value.n - 2});
		else if (assay_str_is(key, "program_id"))
			assay_str_i64(value, &program);
	}
	return op.n && program >= 0
		       ? assay_map_get(&o->instruction, instruction_key((uint64_t)program, op))
		       : ASSAY_NO_ROW;
}

static uint32_t instruction_of(struct ops *o, uint32_t gpu)
{
	assay_sid args = o->t->gpu.args[gpu];
	if (!o->instruction.n || !args)
		return ASSAY_NO_ROW;
	uint32_t *known = assay_map_at(&o->of_args, args);
	if (*known == ASSAY_MAP_ABSENT)
		*known = 1 + find_instruction(o, args);
	return *known - 1;
}

/* Kernels of one instruction follow each other. */
static uint32_t instruction_call(struct ops *o, uint32_t gpu, uint32_t device, uint32_t captured,
				 const assay_op_place *place)
{
	struct run_of_work *l = &o->last;
	assay_sid name = o->t->gpu.name[gpu];
	bool same = l->first && l->captured == captured && l->device == device && l->first != name;
	if (!same) {
		uint32_t call = new_call(o, launch_of(o, gpu), gpu, device, place, false);
		o->t->op_call.captured[call] = captured;
		*l = (struct run_of_work){captured, call, device, name};
	}
	return l->call;
}

static assay_sid name_of(const struct ops *o, uint32_t call)
{
	uint32_t captured = o->t->op_call.captured[call];
	return captured == ASSAY_NO_ROW ? o->t->host.name[o->t->op_call.host[call]]
					: o->t->captured.name[captured];
}

static assay_sid args_of(struct ops *o, uint32_t call, const assay_work_rule *rule)
{
	uint32_t captured = o->t->op_call.captured[call], host = o->t->op_call.host[call];
	if (captured != ASSAY_NO_ROW)
		return o->t->captured.args[captured];
	if (rule && rule->flags & WORK_OF_FORWARD)
		host = assay_forward_of(&o->forward, o->run, host);
	return host == ASSAY_NO_ROW ? 0 : o->t->host.args[host];
}

enum { KERNEL_NAME = 120 };
enum { BY_GRID = 1, COUNTED }; /* and from there on a row of captured */

static uint8_t class_of_family(uint8_t family)
{
	static const uint8_t class[ASSAY_FAMILY_COUNT] = {
		[ASSAY_FAMILY_GEMM] = ASSAY_WORK_GEMM,
		[ASSAY_FAMILY_ATTENTION] = ASSAY_WORK_ATTENTION,
		[ASSAY_FAMILY_CONV] = ASSAY_WORK_CONV,
		[ASSAY_FAMILY_NORM] = ASSAY_WORK_NORM,
		[ASSAY_FAMILY_REDUCTION] = ASSAY_WORK_REDUCTION,
		[ASSAY_FAMILY_EMBEDDING] = ASSAY_WORK_EMBEDDING,
		[ASSAY_FAMILY_OPTIMIZER] = ASSAY_WORK_OPTIMIZER,
	};
	return class[family] ? class[family] : ASSAY_WORK_ELEMENTWISE;
}

/* A kernel that was measured by hardware counters; 0 when they do not say how much it did. */
static uint32_t add_counted(struct ops *o, uint32_t kernel, const assay_counted *c)
{
	uint8_t class = class_of_family(o->t->kernel.family[kernel]);
	bool silent = isnan(c->flops) && assay_is_matrix(class);
	if (isnan(c->bytes) || silent)
		return 0;
	uint32_t r = assay_add(o->t, ASSAY_T_captured);
	assay_str name = assay_text(o->run, o->t->kernel.name[kernel]);
	o->t->captured.name[r] =
		assay_sid_of(o->run, assay_fmt_kernel(&o->scratch, name, KERNEL_NAME));
	o->t->captured.instruction[r] = o->t->kernel.name[kernel];
	o->t->captured.inferred[r] = 1;
	o->t->captured.flops[r] = isnan(c->flops) ? 0 : c->flops;
	o->t->captured.bytes[r] = c->bytes;
	o->t->captured.class[r] = class;
	o->t->captured.math[r] = (uint8_t)c->math;
	return COUNTED + r;
}

/* Before rules are looked up by the numbers of strings: this adds some. */
static void index_telling_kernels(struct ops *o)
{
	const assay_kernel_table *k = &o->t->kernel;
	const assay_counted *counted = assay_counted_kernels(o->run, &o->scratch);
	for (uint32_t i = 0; i < k->n; i++) {
		const char *op = k->family[i] == ASSAY_FAMILY_ATTENTION
					 ? assay_kernel_tells(assay_text(o->run, k->name[i]))
					 : NULL;
		uint32_t how = counted ? add_counted(o, i, &counted[i]) : 0;
		if (k->kind[i] != ASSAY_GPU_KERNEL || (!how && !op))
			continue;
		if (op)
			assay_sid_of(o->run, op);
		*assay_map_at(&o->telling, k->name[i]) = how ? how : BY_GRID;
	}
}

static uint32_t add_told(struct ops *o, uint32_t gpu, const uint32_t grid[3])
{
	assay_kernel_call call;
	assay_arena_reset(&o->scratch);
	if (!assay_kernel_call_of(assay_text(o->run, o->t->gpu.name[gpu]), grid, &o->scratch,
				  &call))
		return ASSAY_NO_ROW;
	uint32_t r = assay_add(o->t, ASSAY_T_captured);
	o->t->captured.name[r] = assay_sid_of(o->run, call.op);
	o->t->captured.args[r] = assay_sid_of(o->run, call.args);
	o->t->captured.flags[r] = ASSAY_OP_ESTIMATED;
	o->t->captured.inferred[r] = 1;
	return r;
}

/* A kernel without an operator may tell what it does itself. */
static uint32_t alone_call(struct ops *o, uint32_t gpu, uint32_t device,
			   const assay_op_place *place)
{
	static const assay_op_place nowhere = {
		.op = ASSAY_NO_ROW, .mark = ASSAY_NO_ROW, .steps = ASSAY_NO_ROW};
	const assay_gpu_table *g = &o->t->gpu;
	uint32_t key[4] = {g->name[gpu]}; /* and its grid */
	uint32_t how = o->telling.n ? assay_map_get(&o->telling, key[0]) : ASSAY_MAP_ABSENT;
	if (how == ASSAY_MAP_ABSENT || g->kind[gpu] != ASSAY_GPU_KERNEL)
		return ASSAY_NO_ROW;
	uint32_t captured = how - COUNTED;
	if (how == BY_GRID) {
		assay_grid_blocks(&o->grids, gpu, key + 1);
		uint32_t *known = assay_map_at(&o->alone, assay_hash(key, sizeof key, 0));
		if (*known == ASSAY_MAP_ABSENT)
			*known = 1 + add_told(o, gpu, key + 1);
		if (!*known)
			return ASSAY_NO_ROW;
		captured = *known - 1;
	}
	uint32_t call =
		new_call(o, launch_of(o, gpu), gpu, device, place ? place : &nowhere, false);
	o->t->op_call.captured[call] = captured;
	o->t->op_call.flags[call] |= o->t->captured.flags[captured];
	return call;
}

/* The row of op_call for a piece of work; ASSAY_NO_ROW when no operator is known. */
static uint32_t call_of(struct ops *o, uint32_t gpu, uint32_t device)
{
	uint32_t launch = launch_of(o, gpu);
	const assay_op_place *place =
		launch == ASSAY_NO_ROW ? NULL : assay_op_place_of(o->places, o->t, launch);
	if (!place)
		return alone_call(o, gpu, device, NULL);
	if (captured_of(o, gpu) != ASSAY_NO_ROW)
		return captured_call(o, gpu, device, captured_of(o, gpu), place);
	uint32_t instruction = instruction_of(o, gpu);
	if (instruction != ASSAY_NO_ROW)
		return instruction_call(o, gpu, device, instruction, place);
	bool graph = launches_graph(o, gpu, launch);
	uint32_t host = graph ? launch : place->op;
	if (host == ASSAY_NO_ROW)
		return alone_call(o, gpu, device, place);
	uint32_t *call = graph ? &o->call_of_graph[place - o->places->place.p]
			       : &o->call_of_op[place->first];
	if (!*call)
		*call = 1 + new_call(o, host, gpu, device, place, graph);
	return *call - 1;
}

static void add_work(struct ops *o, uint32_t gpu, uint32_t call)
{
	const assay_gpu_table *g = &o->t->gpu;
	assay_op_call_table *c = &o->t->op_call;
	int64_t from = g->ts[gpu], to = assay_gpu_end(g, gpu);
	uint32_t longest = c->gpu[call], grid[3];
	c->events[call]++;
	assay_grid_blocks(&o->grids, gpu, grid);
	o->blocks.p[call] += grid[0];
	if (to > o->end.p[call]) {
		c->busy[call] += to - (from > o->end.p[call] ? from : o->end.p[call]);
		o->end.p[call] = to;
	}
	if (g->kind[gpu] == ASSAY_GPU_KERNEL &&
	    (longest == ASSAY_NO_ROW || g->dur[gpu] > g->dur[longest]))
		c->gpu[call] = gpu;
	if (crosses_bus(o, gpu))
		o->bus.p[call] += g->dur[gpu];
}

/* A value that is read back on the way (how many indices there are) makes no copy of a call. */
static void mark_copies(struct ops *o)
{
	assay_op_call_table *c = &o->t->op_call;
	for (uint32_t call = 0; call < c->n; call++)
		if (o->bus.p[call] * 2 > c->busy[call])
			c->flags[call] |= ASSAY_OP_ACROSS_BUS;
}

/* gpu_op and op_call. Work comes device after device in time order, so unions grow at their end. */
static void give_work(struct ops *o, const assay_order *order)
{
	assay_reserve(o->t, ASSAY_T_gpu_op, o->t->gpu.n);
	o->t->gpu_op.n = o->t->gpu.n;
	for (uint32_t d = 0; d < order->device.n; d++)
		for (size_t i = 0; i < order->device.p[d].n; i++) {
			uint32_t gpu = order->row[order->device.p[d].first + i];
			uint32_t call = call_of(o, gpu, d);
			o->t->gpu_op.call[gpu] = call;
			if (call != ASSAY_NO_ROW)
				add_work(o, gpu, call);
		}
}

/* What the work of a call hangs on beside its arguments. */
struct key {
	assay_sid name, kernel, dims, types, strides, values, mark;
	uint32_t flags, element, blocks;
};

static assay_str kernel_name(const struct ops *o, uint32_t call)
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
 * kernels.
 */
static uint32_t list_blocks(const struct ops *o, uint32_t call)
{
	return assay_str_find(kernel_name(o, call), "multi_tensor_apply_kernel") >= 0
		       ? o->blocks.p[call]
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
static uint32_t telling_blocks(const struct ops *o, uint32_t call, const assay_work_rule *rule)
{
	uint32_t grid[3], gpu = o->t->op_call.gpu[call];
	if (!rule || (rule->formula != assay_work_lists && rule->formula != assay_work_indexed) ||
	    gpu == ASSAY_NO_ROW)
		return 0;
	if (rule->formula == assay_work_lists)
		return o->blocks.p[call];
	assay_grid_blocks(&o->grids, gpu, grid);
	return grid[0];
}

/* Lists without shapes have 31 tensors at least, whose last chunks are half full in the mean. */
static double list_elements(uint32_t blocks)
{
	const double chunk = 65536, half_full = 31 / 2.0;
	return blocks > half_full ? (blocks - half_full) * chunk : 0;
}

static assay_sid keep(struct ops *o, assay_str s)
{
	return assay_intern(&o->run->part.strings, s);
}

/* The library's own word for fp32 data multiplied in tf32, where calls of it were recorded; else
 * the kernel's name. The word holds for a handle: data of other types goes through it as well. */
static assay_math math_of(struct ops *o, uint32_t call, const assay_work_rule *rule,
			  assay_math data)
{
	assay_str args = assay_text(o->run, args_of(o, call, rule));
	if (data == ASSAY_MATH_FP32 && assay_str_find(args, "\"compute\": \"tf32\"") >= 0)
		return ASSAY_MATH_TF32;
	return assay_kernel_math(kernel_name(o, call));
}

static void take_work(struct ops *o, uint32_t shape, uint32_t call, const assay_work_rule *rule,
		      const assay_work *work)
{
	assay_op_shape_table *s = &o->t->op_shape;
	assay_math ran = math_of(o, call, rule, work->math);
	uint8_t class = s->class[shape];
	bool matrix = class == ASSAY_WORK_GEMM || class == ASSAY_WORK_CONV ||
		      class == ASSAY_WORK_ATTENTION || class == ASSAY_WORK_MOE;
	s->flops[shape] = work->flops;
	s->bytes[shape] = work->bytes;
	s->written[shape] = work->written;
	s->math[shape] = (uint8_t)(!matrix ? ASSAY_MATH_FP32 : ran ? ran : work->math);
	if (work->estimated)
		s->flags[shape] |= ASSAY_OP_ESTIMATED;
}

static void set_work(struct ops *o, uint32_t shape, uint32_t call, const assay_work_rule *rule,
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
static void set_program_work(struct ops *o, uint32_t shape, uint32_t call)
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

static uint32_t add_shape(struct ops *o, uint32_t call, const struct key *k)
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
static bool tells_work(const struct ops *o, uint32_t call)
{
	uint32_t captured = o->t->op_call.captured[call];
	return captured != ASSAY_NO_ROW && !isnan(o->t->captured.flops[captured]);
}

/* Kernels that were counted may share their short name. */
static assay_sid counted_kernel(const struct ops *o, uint32_t call)
{
	uint32_t captured = o->t->op_call.captured[call];
	return tells_work(o, call) && !o->t->captured.program[captured]
		       ? o->t->captured.instruction[captured]
		       : 0;
}

/* The row of op_shape for a call whose arguments as written are new. */
static uint32_t shape_of(struct ops *o, uint32_t call, const assay_work_rule *rule)
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

static void give_shapes(struct ops *o)
{
	assay_op_call_table *c = &o->t->op_call;
	for (uint32_t call = 0; call < c->n; call++) {
		uint32_t mark = c->mark[call], gpu = c->gpu[call];
		assay_sid name = name_of(o, call);
		bool graph = c->flags[call] & ASSAY_OP_GRAPH;
		const assay_work_rule *rule =
			graph || tells_work(o, call) ? NULL : assay_rule_of_sid(&o->rules, name);
		uint32_t blocks = telling_blocks(o, call, rule);
		/* only what the work may hang on: every difference costs one reading of the text */
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

static bool has_operators(const assay_host_table *host)
{
	return host->n && memchr(host->kind, ASSAY_HOST_OP, host->n);
}

/* Rules are numbered by strings known when they were looked up; names of operators all are. */
void assay_ops(assay_run *run, const assay_order *order, const assay_op_places *places)
{
	struct ops o = {.run = run, .t = &run->part.t, .places = places};
	index_telling_kernels(&o);
	bool linked = o.t->launch.n && (has_operators(&o.t->host) || o.t->captured.n);
	if (!linked && !o.telling.n) {
		assay_arena_free(&o.scratch);
		return;
	}
	o.grids = assay_grids_of(run, &o.kept);
	o.call_of_op = assay_alloc(&o.kept, (places->place.n + 1) * sizeof *o.call_of_op);
	o.call_of_graph = assay_alloc(&o.kept, (places->place.n + 1) * sizeof *o.call_of_graph);
	assay_rule_names_init(&o.rules, run);
	index_instructions(&o);
	give_work(&o, order);
	mark_copies(&o);
	give_shapes(&o);
	assay_rule_names_free(&o.rules);
	assay_map_free(&o.seen);
	assay_map_free(&o.call_of_captured);
	assay_map_free(&o.shapes);
	assay_forwards_free(&o.forward);
	assay_map_free(&o.instruction);
	assay_map_free(&o.of_args);
	assay_map_free(&o.telling);
	assay_map_free(&o.alone);
	assay_vec_free(&o.end);
	assay_vec_free(&o.blocks);
	assay_vec_free(&o.bus);
	assay_arena_free(&o.kept);
	assay_arena_free(&o.scratch);
}

/* A number that is not known adds nothing, but does not hide those that are. */
static void add_known(double *sum, double each, uint64_t times)
{
	if (!isnan(each))
		*sum = (isnan(*sum) ? 0 : *sum) + each * (double)times;
}

static uint32_t operator_of(assay_tables *t, assay_map *names, uint32_t shape)
{
	uint32_t *slot = assay_map_at(names, t->op_shape.name[shape]);
	if (*slot == ASSAY_MAP_ABSENT) {
		*slot = assay_add(t, ASSAY_T_operator);
		t->operator.name[*slot] = t->op_shape.name[shape];
		t->operator.class[*slot] = t->op_shape.class[shape];
	}
	return *slot;
}

/* The annotation in which an operator spends most of its time. */
static void find_places(assay_tables *t, const assay_map *names)
{
	assay_map sums = {0};
	assay_vec(int64_t) time = {0};
	assay_arena scratch = {0};
	int64_t *most = assay_alloc(&scratch, (t->operator.n + 1) * sizeof *most);
	for (uint32_t i = 0; i < t->op_call.n; i++) {
		uint32_t range = t->op_call.range[i];
		if (range == ASSAY_NO_ROW)
			continue;
		uint32_t op = assay_map_get(names, t->op_shape.name[t->op_call.shape[i]]);
		assay_sid name = t->host.name[range];
		uint32_t *slot = assay_map_at(&sums, (uint64_t)op << 32 | name);
		if (*slot == ASSAY_MAP_ABSENT) {
			*slot = (uint32_t)time.n;
			*assay_push(&time) = 0;
		}
		int64_t sum = time.p[*slot] += t->op_call.busy[i];
		if (sum > most[op]) {
			most[op] = sum;
			t->operator.where[op] = name;
		}
	}
	assay_map_free(&sums);
	assay_vec_free(&time);
	assay_arena_free(&scratch);
}

void assay_operators(assay_run *run)
{
	assay_tables *t = &run->part.t;
	assay_map names = {0};
	assay_vec(double) by_compute = {0};
	for (uint32_t i = 0; i < t->op_shape.n; i++) {
		const assay_op_shape_table *s = &t->op_shape;
		assay_operator_table *o = &t->operator;
		uint32_t r = operator_of(t, &names, i);
		if (r == by_compute.n)
			*assay_push(&by_compute) = 0;
		o->calls[r] += s->calls[i];
		o->busy[r] += s->busy[i];
		if (s->flags[i] & ASSAY_OP_OVER_PEAK || isnan(s->flops[i]))
			continue;
		o->modelled[r] += s->busy[i];
		add_known(&o->flops[r], s->flops[i], s->calls[i]);
		add_known(&o->bytes[r], s->bytes[i], s->calls[i]);
		add_known(&o->bound_ns[r], s->bound_ns[i], s->calls[i]);
		if (s->bound[i] == ASSAY_BOUND_COMPUTE)
			by_compute.p[r] += s->bound_ns[i] * (double)s->calls[i];
	}
	for (uint32_t r = 0; r < t->operator.n; r++)
		if (!isnan(t->operator.bound_ns[r]))
			t->operator.bound[r] = by_compute.p[r] * 2 >= t->operator.bound_ns[r]
				? ASSAY_BOUND_COMPUTE
				: ASSAY_BOUND_MEMORY;
	find_places(t, &names);
	assay_map_free(&names);
	assay_vec_free(&by_compute);
}

static void add_mm(assay_run *run, const char *name, const char *args, int64_t ts)
{
	uint32_t h = assay_hand_host(run, ASSAY_HOST_OP, name, ts, 100);
	run->part.t.host.detail[h] = assay_add(&run->part.t, ASSAY_T_op);
	run->part.t.host.args[h] = assay_sid_of(run, args);
	for (int i = 0; i < 2; i++) { /* two kernels that overlap by half */
		uint32_t call = assay_hand_host(run, ASSAY_HOST_RUNTIME, "cudaLaunchKernel",
						ts + 10 + i, 1);
		assay_hand_gpu(run, "k", ts + 1000 + i * 50, 100, call);
	}
}

static void find_ops(assay_run *run, const assay_order *order)
{
	assay_rule_names rules;
	assay_op_places places;
	assay_rule_names_init(&rules, run);
	assay_op_places_find(&places, run, &rules);
	assay_ops(run, order, &places);
	assay_op_places_free(&places);
	assay_rule_names_free(&rules);
}

/* Of a function's gradient only the incoming one is recorded; the forward call has the shapes. */
TEST(gradients_have_the_shapes_of_their_forward_call)
{
	assay_run *run = assay_run_new();
	const assay_tables *t = &run->part.t;
	assay_order order;
	add_mm(run, "_Linear",
	       "\"Input type\": [\"c10::BFloat16\", \"c10::BFloat16\"], \"Input Dims\": [[8, 16], [4, 16]]",
	       0);
	add_mm(run, "_LinearBackward",
	       "\"Input type\": [\"c10::BFloat16\"], \"Input Dims\": [[4, 8]]", 10000);
	add_mm(run, "_LinearBackward",
	       "\"Input type\": [\"c10::BFloat16\"], \"Input Dims\": [[4, 8]]", 20000);
	run->part.t.op.seq[0] = run->part.t.op.seq[1] = 7;
	run->part.t.op.seq[2] = 8; /* its forward call was before the recording */
	assay_kernels(run);
	assay_order_build(&order, run);
	find_ops(run, &order);
	CHECK(t->op_shape.n == 3 && t->op_shape.flops[0] == 1024 && t->op_shape.flops[1] == 2048);
	CHECK(t->op_shape.bytes[1] == 2 * (256 + 128 + 64) && isnan(t->op_shape.flops[2]));
	CHECK(t->op_shape.flags[1] & ASSAY_OP_ESTIMATED);
	assay_order_free(&order);
	assay_run_free(run);
	return 0;
}

/* The lookup lies between operators that say 7 and 9; the gradient has 7. */
TEST(gradients_of_table_lookups_find_a_forward_call_without_a_number)
{
	static const char tables[] =
		"\"Input type\": [\"c10::Half\", \"long\", \"long\", \"float\"], \"Input Dims\": [[160], [30], [5], [10]]";
	static const struct {
		const char *name, *args;
		int64_t seq;
	} calls[] = {
		{"aten::sum", "", 7},
		{"fbgemm::split_embedding_codegen_lookup_adagrad_function", tables, -1},
		{"aten::sum", "", 9},
		{"torch::autograd::CppNode<SplitLookupFunction_adagrad_Op>",
		 "\"Input type\": [\"float\"], \"Input Dims\": [[4, 16]]", 7},
		{"torch::autograd::CppNode<SplitLookupFunction_adagrad_Op>",
		 "\"Input type\": [\"float\"], \"Input Dims\": [[4, 16]]", 9},
	};
	assay_run *run = assay_run_new();
	const assay_tables *t = &run->part.t;
	assay_order order;
	for (uint32_t i = 0; i < ASSAY_COUNT_OF(calls); i++) {
		add_mm(run, calls[i].name, calls[i].args, i * 10000);
		run->part.t.op.seq[i] = calls[i].seq;
	}
	assay_kernels(run);
	assay_order_build(&order, run);
	find_ops(run, &order);
	uint32_t lookup_shape = t->op_call.shape[1], back = t->op_call.shape[3],
		 lost = t->op_call.shape[4];
	/* ten rows of 16 halves at most, four bags of floats */
	CHECK(t->op_shape.bytes[lookup_shape] == 30 * 8 + 5 * 8 + 10 * 16 * 2 + 4 * 16 * 4);
	CHECK(t->op_shape.bytes[back] == 30 * 8 + 5 * 8 + 2 * 10 * (16 * 2 + 4) + 4 * 16 * 4);
	CHECK(isnan(t->op_shape.bytes[lost]));
	assay_order_free(&order);
	assay_run_free(run);
	return 0;
}

/* Adam with 48 parameters of 50,384,896 elements on an H200: 800 chunks in three kernels. Formats
 * that only AMD has count work-items. */
static double bytes_of_long_lists(bool in_items)
{
	static const char lists[] =
		"\"Input type\": [\"TensorList\", \"TensorList\", \"TensorList\", \"TensorList\"], \"Input Dims\": [[], [], [], []]";
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	assay_order order;
	run->part.source = assay_add(t, ASSAY_T_source);
	t->source.traits[run->part.source] = in_items ? ASSAY_TRAIT_ROCTX : 0;
	for (int i = 0; i < 3; i++) /* 800 blocks, as many again, a few */
		add_mm(run, "aten::_fused_adamw_", lists, i * 10000);
	for (uint32_t i = 0; i < t->gpu.n; i++) {
		t->gpu.name[i] = assay_sid_of(
			run,
			"multi_tensor_apply_kernel<FusedOptimizerTensorListMetadata<4>, FusedAdamMathFunctor<float, 4>>");
		t->gpu.block_x[i] = 512;
		t->gpu.grid_x[i] = (i < 4 ? 400 : 7) * (in_items ? 512 : 1);
	}
	assay_kernels(run);
	assay_order_build(&order, run);
	find_ops(run, &order);
	bool right = t->op_shape.n == 2 && t->op_shape.calls[0] == 2 &&
		     isnan(t->op_shape.bytes[1]) && t->op_shape.flags[0] & ASSAY_OP_ESTIMATED;
	double bytes = right ? t->op_shape.bytes[0] : 0;
	assay_order_free(&order);
	assay_run_free(run);
	return bytes;
}

TEST(long_lists_have_the_sizes_of_their_kernels_grids)
{
	/* parameters, gradients and two moments are read, all but the gradients written */
	const double bytes = 28.0 * 50384896;
	CHECK(fabs(bytes_of_long_lists(false) / bytes - 1) < 0.03);
	CHECK(fabs(bytes_of_long_lists(true) / bytes - 1) < 0.03);
	return 0;
}

/* Recordings without operators: two calls of one shape, one of them without its launch, and kernels
 * that tell nothing. */
TEST(kernels_without_an_operator_tell_their_work_where_they_can)
{
	static const char flash[] =
		"void flash::flash_fwd_kernel<flash::Flash_fwd_kernel_traits<64, 128, 128, 4, false, false, cutlass::bfloat16_t>, false, true, false, false, true, true, false, false>(flash::Flash_fwd_params)";
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	assay_order order;
	for (uint32_t i = 0; i < 4; i++) {
		uint32_t call =
			assay_hand_host(run, ASSAY_HOST_RUNTIME, "cudaLaunchKernel", i * 1000, 1);
		uint32_t g = assay_hand_gpu(run, i < 3 ? flash : "k", i * 1000 + 10, 500,
					    i == 1 ? ASSAY_NO_ROW : call);
		t->gpu.grid_x[g] = i < 2 ? 4 : 0;
		t->gpu.grid_y[g] = 16;
		t->gpu.grid_z[g] = 12;
	}
	assay_kernels(run);
	assay_order_build(&order, run);
	find_ops(run, &order);
	CHECK(t->op_call.n == 2 && t->op_shape.n == 1 && t->op_shape.calls[0] == 2);
	CHECK(t->op_shape.flops[0] == 2.0 * 16 * 12 * (512 * 513 / 2) * 128);
	CHECK(t->op_shape.flags[0] & ASSAY_OP_ESTIMATED);
	CHECK(t->gpu_op.call[2] == ASSAY_NO_ROW && t->gpu_op.call[3] == ASSAY_NO_ROW);
	assay_order_free(&order);
	assay_run_free(run);
	return 0;
}

TEST(what_is_taken_by_index_is_told_by_the_kernel)
{
	static const struct {
		const char *kernel;
		double bytes; /* of 1000 rows of 512 bf16, of which 7 blocks take some */
	} cases[] = {
		{"void at::native::vectorized_gather_kernel<16, long>(char*)", 7 * (2 * 1024 + 8)},
		{"void at::native::index_elementwise_kernel<128, 4, X>(long)", 2 * 7 * 512 * 2},
		{"void at::native::index_elementwise_kernel<a, 4, X>(long)", NAN},
		{"void something_else(long)", NAN},
	};
	for (size_t i = 0; i < ASSAY_COUNT_OF(cases); i++) {
		assay_run *run = assay_run_new();
		assay_tables *t = &run->part.t;
		assay_order order;
		add_mm(run, "aten::index",
		       "\"Input type\": [\"c10::BFloat16\", \"\"], \"Input Dims\": [[1000, 512], []]",
		       0);
		t->gpu.dur[1] = 10;
		for (uint32_t g = 0; g < t->gpu.n; g++) {
			t->gpu.name[g] = assay_sid_of(run, cases[i].kernel);
			t->gpu.grid_x[g] = g ? 4 : 7;
		}
		assay_kernels(run);
		assay_order_build(&order, run);
		find_ops(run, &order);
		double bytes = t->op_shape.bytes[0];
		CHECK(bytes == cases[i].bytes || (isnan(bytes) && isnan(cases[i].bytes)));
		assay_order_free(&order);
		assay_run_free(run);
	}
	return 0;
}

/* A count that is read back makes no copy of a call; a tensor that is does. */
TEST(a_call_is_a_copy_over_the_bus_when_most_of_it_is)
{
	for (int i = 0; i < 2; i++) {
		assay_run *run = assay_run_new();
		assay_tables *t = &run->part.t;
		assay_order order;
		add_mm(run, "aten::copy_",
		       "\"Input type\": [\"float\", \"float\"], \"Input Dims\": [[8], [8]]", 0);
		t->gpu.kind[1] = ASSAY_GPU_MEMCPY;
		t->gpu.name[1] = assay_sid_of(run, "Memcpy DtoH (Device -> Pinned)");
		t->gpu.dur[i ? 0 : 1] = 20;
		assay_kernels(run);
		assay_order_build(&order, run);
		find_ops(run, &order);
		CHECK_EQ(isnan(t->op_shape.bytes[0]), i);
		assay_order_free(&order);
		assay_run_free(run);
	}
	return 0;
}

TEST(calls_with_equal_arguments_are_one_shape)
{
	static const char args[] =
		"\"Record function id\": %d, \"Input type\": [\"float\", \"float\"], \"Input Dims\": [[2, 3], [3, 4]]";
	assay_run *run = assay_run_new();
	const assay_tables *t = &run->part.t;
	assay_order order;
	char text[256];
	for (int i = 0; i < 3; i++) {
		snprintf(text, sizeof text, args, i); /* texts differ, arguments do not */
		add_mm(run, i < 2 ? "aten::mm" : "aten::mystery", text, i * 10000);
	}
	assay_kernels(run);
	assay_order_build(&order, run);
	find_ops(run, &order);
	assay_operators(run);
	CHECK(t->op_call.n == 3 && t->op_call.busy[0] == 150 && t->op_call.events[0] == 2);
	CHECK(t->op_shape.n == 2 && t->op_shape.calls[0] == 2 && t->op_shape.busy[0] == 300);
	CHECK(t->op_shape.flops[0] == 48 && isnan(t->op_shape.flops[1]));
	CHECK(t->operator.n == 2 && t->operator.flops[0] == 96 && t->operator.bytes[0] == 2 * 104);
	CHECK(isnan(t->operator.flops[1]) && t->operator.busy[1] == 150);
	CHECK(t->gpu_op.n == 6 && t->gpu_op.call[5] == 2);
	assay_order_free(&order);
	assay_run_free(run);
	return 0;
}
