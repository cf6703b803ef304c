/* Calls of operators with the GPU work they caused: op_call, and gpu_op from the work to its
 * call. */
#include "work/op_calls.h"

#include "model/columns.h"
#include "names/copies.h"
#include "names/roles.h"
#include "work/op_instructions.h"
#include "work/op_telling.h"

/* The call that an instruction's work is being added to. */
struct run_of_work {
	uint32_t captured, call, device;
	assay_sid first;  /* name of its first kernel: where it comes again, the next call begins */
	bool any, filled; /* there is one; it began with a fill, of which there may be several */
};

struct calls {
	assay_run *run;
	assay_tables *t;
	const assay_op_places *places;
	assay_arena kept;
	/* by place, of operators by their first one: 0 none, else 1 + row of op_call */
	uint32_t *call_of_op, *call_of_graph;
	assay_sid call_name; /* of the launch looked at last */
	bool call_is_graph;
	assay_map call_of_captured; /* launch and row of captured -> row of op_call */
	assay_map fills;            /* name of a kernel -> 1: it puts one value everywhere */
	assay_instructions instructions;
	assay_telling telling;
	struct run_of_work last; /* of an instruction, on the device looked at */
	assay_vec(int64_t) end;  /* by row of op_call: where its union ends */
	assay_vec(int64_t) bus;  /* by row of op_call: copies between host and device */
	assay_op_blocks *blocks;
};

static uint32_t launch_of(const struct calls *o, uint32_t gpu)
{
	return gpu < o->t->launch.n ? o->t->launch.host[gpu] : ASSAY_NO_ROW;
}

static bool launches_graph(struct calls *o, uint32_t gpu, uint32_t call)
{
	assay_sid name = o->t->host.name[call];
	if (name != o->call_name) {
		o->call_name = name;
		o->call_is_graph = assay_str_find(assay_text(o->run, name), "GraphLaunch") >= 0;
	}
	return o->call_is_graph || o->t->gpu.graph_node[gpu];
}

/* Copies over the bus do not use the device's memory as its own work does. */
static bool crosses_bus(const struct calls *o, uint32_t gpu)
{
	if (o->t->gpu.kind[gpu] != ASSAY_GPU_MEMCPY)
		return false;
	assay_copy_way way = assay_copy_way_of(assay_text(o->run, o->t->gpu.name[gpu]));
	return way != ASSAY_COPY_ON_DEVICE && way != ASSAY_COPY_ELSEWHERE;
}

/* There is a row for almost every kernel: what is absent by 0 stays as it is in new pages. */
static uint32_t new_call(struct calls *o, uint32_t host, uint32_t gpu, uint32_t device,
			 const assay_op_place *place, bool graph)
{
	assay_op_call_table *c = &o->t->op_call;
	if (c->n == c->cap)
		assay_reserve(o->t, ASSAY_T_op_call, 1);
	uint32_t r = (uint32_t)c->n++;
	static_assert(ASSAY_NOT_ZERO_op_call == 7, "these are set here");
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
	*assay_push(&o->blocks->of_call) = 0;
	*assay_push(&o->bus) = 0;
	return r;
}

/* Each replay of a graph calls the operators that were captured. */
static uint32_t captured_call(struct calls *o, uint32_t gpu, uint32_t device, uint32_t captured,
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

static uint32_t captured_of(const struct calls *o, uint32_t gpu)
{
	return gpu < o->t->gpu_captured.n ? o->t->gpu_captured.op[gpu] : ASSAY_NO_ROW;
}

static bool is_fill(struct calls *o, uint32_t gpu)
{
	assay_sid name = o->t->gpu.name[gpu];
	uint32_t *known = assay_map_at(&o->fills, name);
	if (*known == ASSAY_MAP_ABSENT)
		*known = assay_role_of_kernel(assay_text(o->run, name)) == ASSAY_ROLE_FILL;
	return *known || o->t->gpu.kind[gpu] == ASSAY_GPU_MEMSET;
}

/* Kernels of one instruction follow each other. */
static uint32_t instruction_call(struct calls *o, uint32_t gpu, uint32_t device, uint32_t captured,
				 const assay_op_place *place)
{
	struct run_of_work *l = &o->last;
	assay_sid name = o->t->gpu.name[gpu];
	bool fill = is_fill(o, gpu),
	     same = l->any && l->captured == captured && l->device == device;
	if (!same || (fill ? l->filled && l->first : l->first == name)) {
		uint32_t call = new_call(o, launch_of(o, gpu), gpu, device, place, false);
		o->t->op_call.captured[call] = captured;
		*l = (struct run_of_work){captured, call, device, 0, true, fill};
	}
	l->first = l->first || fill ? l->first : name;
	return l->call;
}

/* A kernel without an operator may tell what it does itself. */
static uint32_t alone_call(struct calls *o, uint32_t gpu, uint32_t device,
			   const assay_op_place *place)
{
	static const assay_op_place nowhere = {
		.op = ASSAY_NO_ROW, .mark = ASSAY_NO_ROW, .steps = ASSAY_NO_ROW};
	uint32_t captured = assay_telling_of(&o->telling, &o->blocks->grids, gpu);
	if (captured == ASSAY_NO_ROW)
		return ASSAY_NO_ROW;
	uint32_t call =
		new_call(o, launch_of(o, gpu), gpu, device, place ? place : &nowhere, false);
	o->t->op_call.captured[call] = captured;
	o->t->op_call.flags[call] |= o->t->captured.flags[captured];
	return call;
}

/* The row of op_call for a piece of work; ASSAY_NO_ROW when no operator is known. */
static uint32_t call_of(struct calls *o, uint32_t gpu, uint32_t device)
{
	uint32_t launch = launch_of(o, gpu);
	const assay_op_place *place =
		launch == ASSAY_NO_ROW ? NULL : assay_op_place_of(o->places, o->t, launch);
	if (!place)
		return alone_call(o, gpu, device, NULL);
	if (captured_of(o, gpu) != ASSAY_NO_ROW)
		return captured_call(o, gpu, device, captured_of(o, gpu), place);
	uint32_t instruction = assay_instruction_of(&o->instructions, gpu);
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

static void add_work(struct calls *o, uint32_t gpu, uint32_t call)
{
	const assay_gpu_table *g = &o->t->gpu;
	assay_op_call_table *c = &o->t->op_call;
	int64_t from = g->ts[gpu], to = assay_gpu_end(g, gpu);
	uint32_t longest = c->gpu[call], grid[3];
	c->events[call]++;
	assay_grid_blocks(&o->blocks->grids, gpu, grid);
	o->blocks->of_call.p[call] += grid[0];
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
static void mark_copies(struct calls *o)
{
	assay_op_call_table *c = &o->t->op_call;
	for (uint32_t call = 0; call < c->n; call++)
		if (o->bus.p[call] * 2 > c->busy[call])
			c->flags[call] |= ASSAY_OP_ACROSS_BUS;
}

/* gpu_op and op_call. Work comes device after device in time order, so unions grow at their end. */
static void give_work(struct calls *o, const assay_order *order)
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

static bool has_operators(const assay_host_table *host)
{
	return host->n && memchr(host->kind, ASSAY_HOST_OP, host->n);
}

bool assay_op_calls(assay_run *run, const assay_order *order, const assay_op_places *places,
		    assay_op_blocks *blocks)
{
	struct calls o = {.run = run, .t = &run->part.t, .places = places, .blocks = blocks};
	bool tells = assay_telling_index(&o.telling, run);
	bool linked = o.t->launch.n && (has_operators(&o.t->host) || o.t->captured.n);
	if (linked || tells) {
		size_t n = places->place.n + 1;
		blocks->grids = assay_grids_of(run, &blocks->arena);
		o.call_of_op = assay_alloc(&o.kept, n * sizeof *o.call_of_op);
		o.call_of_graph = assay_alloc(&o.kept, n * sizeof *o.call_of_graph);
		assay_instructions_index(&o.instructions, run);
		give_work(&o, order);
		mark_copies(&o);
	}
	assay_telling_free(&o.telling);
	assay_instructions_free(&o.instructions);
	assay_map_free(&o.call_of_captured);
	assay_map_free(&o.fills);
	assay_vec_free(&o.end);
	assay_vec_free(&o.bus);
	assay_arena_free(&o.kept);
	return linked || tells;
}

void assay_op_blocks_free(assay_op_blocks *b)
{
	assay_vec_free(&b->of_call);
	assay_arena_free(&b->arena);
}
