/* Operators with the GPU work they caused: one row a call (op_calls.c), one a set of arguments
 * (op_shapes.c), one a name (here). */
#include "work/ops.h"

#include <math.h>

#include "work/op_calls.h"

void assay_ops(assay_run *run, const assay_order *order, const assay_op_places *places)
{
	assay_op_blocks blocks = {0};
	if (assay_op_calls(run, order, places, &blocks))
		assay_op_shapes(run, &blocks);
	assay_op_blocks_free(&blocks);
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
