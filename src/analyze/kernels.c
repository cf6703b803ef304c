/* Totals by name. Copies and memsets are rows too, so that classes are known for every GPU name. */
#include "analyze/analyze.h"

#include "base/test.h"

static uint32_t kernel_row(assay_run *run, assay_sid name, assay_gpu_kind kind,
			   assay_family_fn *family_of, assay_class_fn *class_of)
{
	assay_kernel_table *k = &run->part.t.kernel;
	uint32_t r = assay_add(&run->part.t, ASSAY_T_kernel);
	assay_str text = assay_text(run, name);
	k->name[r] = name;
	k->kind[r] = (uint8_t)kind;
	k->family[r] = (uint8_t)(kind == ASSAY_GPU_KERNEL ? family_of(text) : ASSAY_FAMILY_COPY);
	k->class[r] = (uint8_t)(kind == ASSAY_GPU_KERNEL   ? class_of(text)
				: kind == ASSAY_GPU_MEMCPY ? ASSAY_CLASS_COPY
							   : ASSAY_CLASS_COMPUTE);
	k->min[r] = INT64_MAX;
	return r;
}

void assay_kernels(assay_run *run, assay_family_fn *family_of, assay_class_fn *class_of)
{
	const assay_gpu_table *g = &run->part.t.gpu;
	assay_kernel_table *k = &run->part.t.kernel;
	assay_map rows = {0};
	for (size_t i = 0; i < g->n; i++) {
		uint64_t key = (uint64_t)g->kind[i] << 32 | g->name[i];
		uint32_t *slot = assay_map_at(&rows, key);
		if (*slot == ASSAY_MAP_ABSENT)
			*slot = kernel_row(run, g->name[i], g->kind[i], family_of, class_of);
		uint32_t r = *slot;
		int64_t dur = g->dur[i] > 0 ? g->dur[i] : 0;
		k->count[r]++;
		k->total[r] += dur;
		k->min[r] = dur < k->min[r] ? dur : k->min[r];
		k->max[r] = dur > k->max[r] ? dur : k->max[r];
	}
	assay_map_free(&rows);
}

static assay_family any_family(assay_str name)
{
	return assay_str_is(name, "gemm") ? ASSAY_FAMILY_GEMM : ASSAY_FAMILY_OTHER;
}

static assay_class any_class(assay_str name)
{
	(void)name;
	return ASSAY_CLASS_COMPUTE;
}

TEST(totals_are_kept_by_name_and_kind)
{
	assay_run *run = assay_run_new();
	for (int i = 1; i <= 3; i++) {
		uint32_t r = assay_add(&run->part.t, ASSAY_T_gpu);
		run->part.t.gpu.name[r] = assay_sid_of(run, "gemm");
		run->part.t.gpu.dur[r] = i * 10;
		run->part.t.gpu.kind[r] = i == 3 ? ASSAY_GPU_MEMCPY : ASSAY_GPU_KERNEL;
	}
	assay_kernels(run, any_family, any_class);
	const assay_kernel_table *k = &run->part.t.kernel;
	CHECK(k->n == 2 && k->count[0] == 2 && k->total[0] == 30 && k->min[0] == 10 &&
	      k->max[0] == 20);
	CHECK(k->family[0] == ASSAY_FAMILY_GEMM && k->class[1] == ASSAY_CLASS_COPY &&
	      k->total[1] == 30);
	assay_run_free(run);
	return 0;
}
