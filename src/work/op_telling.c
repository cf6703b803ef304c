/* Work whose kernels tell what they do, by their counters or by their name and grid, where no
 * operator was recorded. */
#include "work/op_telling.h"

#include <math.h>

#include "base/fmt.h"
#include "work/compute.h"
#include "work/counters.h"
#include "work/kernel_call.h"

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
static uint32_t add_counted(assay_telling *x, uint32_t kernel, const assay_counted *c)
{
	uint8_t class = class_of_family(x->t->kernel.family[kernel]);
	bool silent = isnan(c->flops) && assay_is_matrix(class);
	if (isnan(c->bytes) || silent)
		return 0;
	uint32_t r = assay_add(x->t, ASSAY_T_captured);
	assay_str name = assay_text(x->run, x->t->kernel.name[kernel]);
	x->t->captured.name[r] =
		assay_sid_of(x->run, assay_fmt_kernel(&x->scratch, name, KERNEL_NAME));
	x->t->captured.instruction[r] = x->t->kernel.name[kernel];
	x->t->captured.inferred[r] = 1;
	x->t->captured.flops[r] = isnan(c->flops) ? 0 : c->flops;
	x->t->captured.bytes[r] = c->bytes;
	x->t->captured.class[r] = class;
	x->t->captured.math[r] = (uint8_t)c->math;
	return COUNTED + r;
}

bool assay_telling_index(assay_telling *x, assay_run *run)
{
	*x = (assay_telling){.run = run, .t = &run->part.t};
	const assay_kernel_table *k = &x->t->kernel;
	const assay_counted *counted = assay_counted_kernels(x->run, &x->scratch);
	for (uint32_t i = 0; i < k->n; i++) {
		const char *op = k->family[i] == ASSAY_FAMILY_ATTENTION
					 ? assay_kernel_tells(assay_text(x->run, k->name[i]))
					 : NULL;
		uint32_t how = counted ? add_counted(x, i, &counted[i]) : 0;
		if (k->kind[i] != ASSAY_GPU_KERNEL || (!how && !op))
			continue;
		*assay_map_at(&x->how, k->name[i]) = how ? how : BY_GRID;
	}
	return x->how.n;
}

static uint32_t add_told(assay_telling *x, uint32_t gpu, const uint32_t grid[3])
{
	assay_kernel_call call;
	assay_arena_reset(&x->scratch);
	if (!assay_kernel_call_of(assay_text(x->run, x->t->gpu.name[gpu]), grid, &x->scratch,
				  &call))
		return ASSAY_NO_ROW;
	uint32_t r = assay_add(x->t, ASSAY_T_captured);
	x->t->captured.name[r] = assay_sid_of(x->run, call.op);
	x->t->captured.args[r] = assay_sid_of(x->run, call.args);
	x->t->captured.flags[r] = ASSAY_OP_ESTIMATED;
	x->t->captured.inferred[r] = 1;
	return r;
}

uint32_t assay_telling_of(assay_telling *x, const assay_grids *grids, uint32_t gpu)
{
	const assay_gpu_table *g = &x->t->gpu;
	uint32_t key[4] = {g->name[gpu]}; /* and its grid */
	uint32_t how = x->how.n ? assay_map_get(&x->how, key[0]) : ASSAY_MAP_ABSENT;
	if (how == ASSAY_MAP_ABSENT || g->kind[gpu] != ASSAY_GPU_KERNEL)
		return ASSAY_NO_ROW;
	if (how != BY_GRID)
		return how - COUNTED;
	assay_grid_blocks(grids, gpu, key + 1);
	uint32_t *known = assay_map_at(&x->by_grid, assay_hash(key, sizeof key, 0));
	if (*known == ASSAY_MAP_ABSENT)
		*known = 1 + add_told(x, gpu, key + 1);
	return *known - 1;
}

void assay_telling_free(assay_telling *x)
{
	assay_map_free(&x->how);
	assay_map_free(&x->by_grid);
	assay_arena_free(&x->scratch);
}
