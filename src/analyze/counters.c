/* What hardware counters measured wins over what shapes imply: by kernel, and by operator where its
 * kernels were counted. */
#include "analyze/analyze.h"

#include <math.h>

#include "base/test.h"
#include "model/by_hand.h"

enum { FLOPS, BYTES, KINDS };

static const struct {
	const char *name;
	int what;
	double factor;
} counters[] = {
#define COUNTER(name, what, factor) {name, what, factor},
#include "analyze/counters.def"
#undef COUNTER
};

static int counter_of(assay_str name)
{
	for (size_t i = 0; i < ASSAY_COUNT_OF(counters); i++)
		if (assay_str_is(name, counters[i].name))
			return (int)i;
	return -1;
}

static void add(double *sum, double value)
{
	*sum = (isnan(*sum) ? 0 : *sum) + value;
}

/* Rows of gpu by correlation id. Ids are a process's own: those that two processes have are left
 * out, for a counter does not say whose it is. */
static void index_work(const assay_gpu_table *g, assay_map *work)
{
	for (uint32_t i = 0; i < g->n; i++) {
		if (!g->corr[i] || g->kind[i] != ASSAY_GPU_KERNEL)
			continue;
		uint32_t *slot = assay_map_at(work, g->corr[i]);
		*slot = *slot == ASSAY_MAP_ABSENT ? i : (uint32_t)g->n;
	}
}

/* Operators whose every call so far was counted; sums over calls. */
struct counted {
	double sum[KINDS];
	uint64_t calls;
	uint32_t last; /* call counted last: counters of one come together */
};

static void set_shapes(assay_tables *t, const struct counted *of)
{
	for (uint32_t i = 0; i < t->op_shape.n; i++) {
		double calls = (double)of[i].calls;
		if (calls > 0 && of[i].sum[FLOPS] > 0)
			t->op_shape.flops[i] = of[i].sum[FLOPS] / calls;
		if (calls > 0 && of[i].sum[BYTES] > 0)
			t->op_shape.bytes[i] = of[i].sum[BYTES] / calls;
	}
}

void assay_counters(assay_run *run)
{
	assay_tables *t = &run->part.t;
	const assay_pmc_table *p = &t->pmc;
	assay_map kernels = {0}, work = {0};
	assay_arena scratch = {0};
	if (!p->n)
		return;
	struct counted *of = assay_alloc(&scratch, (t->op_shape.n + 1) * sizeof *of);
	for (uint32_t i = 0; i < t->op_shape.n; i++)
		of[i].last = ASSAY_NO_ROW;
	for (uint32_t k = 0; k < t->kernel.n; k++)
		*assay_map_at(&kernels, t->kernel.name[k]) = k;
	index_work(&t->gpu, &work);
	for (uint32_t i = 0; i < p->n; i++) {
		int c = counter_of(assay_text(run, p->name[i]));
		if (c < 0)
			continue;
		double value = p->value[i] * counters[c].factor;
		uint32_t k = assay_map_get(&kernels, p->kernel[i]),
			 g = p->corr[i] ? assay_map_get(&work, p->corr[i]) : ASSAY_MAP_ABSENT;
		if (k != ASSAY_MAP_ABSENT)
			add(counters[c].what == FLOPS ? &t->kernel.flops[k] : &t->kernel.bytes[k],
			    value);
		uint32_t call = g < t->gpu_op.n ? t->gpu_op.call[g] : ASSAY_NO_ROW;
		if (call == ASSAY_NO_ROW)
			continue;
		struct counted *s = &of[t->op_call.shape[call]];
		s->sum[counters[c].what] += value;
		s->calls += s->last != call;
		s->last = call;
	}
	set_shapes(t, of);
	assay_map_free(&kernels);
	assay_map_free(&work);
	assay_arena_free(&scratch);
}

TEST(counters_win_over_what_shapes_imply)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	uint32_t s = assay_add(t, ASSAY_T_op_shape), k = assay_add(t, ASSAY_T_kernel);
	t->op_shape.flops[s] = 1;
	t->op_shape.bytes[s] = 1;
	t->kernel.name[k] = assay_sid_of(run, "k");
	for (uint32_t i = 0; i < 2; i++) {
		uint32_t g = assay_hand_gpu(run, "k", i * 10, 5, ASSAY_NO_ROW),
			 c = assay_add(t, ASSAY_T_op_call), o = assay_add(t, ASSAY_T_gpu_op);
		t->gpu.corr[g] = i + 1;
		t->op_call.shape[c] = s;
		t->gpu_op.call[o] = c;
		static const char *const names[] = {"FETCH_SIZE", "WRITE_SIZE", "SQ_WAVES"};
		for (int n = 0; n < 3; n++) {
			uint32_t p = assay_add(t, ASSAY_T_pmc);
			t->pmc.corr[p] = i + 1;
			t->pmc.kernel[p] = t->kernel.name[k];
			t->pmc.name[p] = assay_sid_of(run, names[n]);
			t->pmc.value[p] = 2;
		}
	}
	assay_counters(run);
	CHECK(t->kernel.bytes[k] == 4 * 2 * 1024 && isnan(t->kernel.flops[k]));
	CHECK(t->op_shape.bytes[s] == 4096 && t->op_shape.flops[s] == 1);
	assay_run_free(run);
	return 0;
}
