#include "analyze/useful_parts.h"

#include <assert.h>
#include <string.h>

const char *const assay_useful_name[] = {
#define X(id, name, text) name,
	ASSAY_USEFUL_PARTS(X)
#undef X
};
const char *const assay_useful_text[] = {
#define X(id, name, text) text,
	ASSAY_USEFUL_PARTS(X)
#undef X
};

static bool is_of_fusion(uint8_t advice)
{
	return advice == ASSAY_ADVICE_EAGER || advice == ASSAY_ADVICE_MASK ||
	       advice == ASSAY_ADVICE_CHAIN || advice == ASSAY_ADVICE_CASTS ||
	       advice == ASSAY_ADVICE_LAYOUT;
}

/* Kernels whose work is not known but that need not be there at all. */
static int64_t needless_alone(const assay_run *run)
{
	const assay_lone_kernel_table *l = &run->part.t.lone_kernel;
	int64_t sum = 0;
	for (uint32_t i = 0; i < l->n; i++)
		if (is_of_fusion(l->advice[i]) &&
		    run->part.t.gpu.kind[l->gpu[i]] == ASSAY_GPU_KERNEL)
			sum += l->needless[i];
	return sum;
}

bool assay_useful_sums(const assay_run *run, const assay_window *w,
		       int64_t part[ASSAY_USEFUL_PARTS_COUNT])
{
	const assay_call_part_table *p = &run->part.t.call_part;
	int64_t sum = 0;
	memset(part, 0, ASSAY_USEFUL_PARTS_COUNT * sizeof *part);
	for (uint32_t i = 0; i < p->n; i++) {
		part[ASSAY_USEFUL_AT_BOUND] += p->at_bound[i];
		part[ASSAY_USEFUL_PRECISION] += p->precision[i];
		part[ASSAY_USEFUL_SHAPE] += p->shape[i];
		part[ASSAY_USEFUL_UNFUSED] += p->unfused[i];
		part[ASSAY_USEFUL_REST] += p->rest[i];
		part[ASSAY_USEFUL_UNMODELLED] += p->unmodelled[i];
	}
	for (int i = 0; i < ASSAY_USEFUL_PARTS_COUNT; i++)
		sum += part[i];
	assert(sum <= w->compute);
	part[ASSAY_USEFUL_UNMODELLED] += w->compute - sum; /* work without an operator */
	if (!p->n || part[ASSAY_USEFUL_UNMODELLED] >= w->compute)
		return false;
	int64_t needless = needless_alone(run);
	part[ASSAY_USEFUL_UNMODELLED] -= needless;
	part[ASSAY_USEFUL_UNFUSED] += needless;
	return true;
}
