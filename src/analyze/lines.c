/* GPU work by the line of the program that launched it. */
#include "analyze/analyze.h"

#include "base/sort.h"
#include "base/test.h"
#include "model/by_hand.h"

static uint64_t line_of(const assay_tables *t, uint32_t stack)
{
	return (uint64_t)t->stack.code[stack] << 32 | (uint32_t)t->stack.line[stack];
}

/* The row of kernel and line, made when it is not there. */
static uint32_t line_row(assay_tables *t, assay_map *rows, uint32_t kernel, uint32_t stack)
{
	uint64_t key[2] = {kernel, line_of(t, stack)};
	uint32_t *slot = assay_map_at(rows, assay_hash(key, sizeof key, 0)), row = *slot;
	if (row == ASSAY_MAP_ABSENT) {
		row = *slot = assay_add(t, ASSAY_T_kernel_line);
		t->kernel_line.kernel[row] = kernel;
		t->kernel_line.stack[row] = stack;
	}
	return row;
}

void assay_kernel_lines(assay_run *run)
{
	assay_tables *t = &run->part.t;
	assay_map rows = {0}, kernels = {0};
	if (!t->stack.n || t->kernel_line.n)
		return;
	for (uint32_t k = 0; k < t->kernel.n; k++)
		*assay_map_at(&kernels, (uint64_t)t->kernel.kind[k] << 32 | t->kernel.name[k]) = k;
	for (size_t g = 0; g < t->gpu.n; g++) {
		uint32_t stack = assay_call_stack(t, t->launch.host[g]);
		uint32_t kernel =
			assay_map_get(&kernels, (uint64_t)t->gpu.kind[g] << 32 | t->gpu.name[g]);
		if (stack == ASSAY_NO_ROW || kernel == ASSAY_MAP_ABSENT)
			continue;
		uint32_t row = line_row(t, &rows, kernel, assay_own_call(t, stack));
		t->kernel_line.count[row]++;
		t->kernel_line.total[row] += t->gpu.dur[g] > 0 ? t->gpu.dur[g] : 0;
	}
	for (uint32_t i = 0; i < t->kernel_line.n; i++) {
		uint32_t *best = &t->kernel.line[t->kernel_line.kernel[i]];
		if (*best == ASSAY_NO_ROW || t->kernel_line.total[i] > t->kernel_line.total[*best])
			*best = i;
	}
	assay_map_free(&rows);
	assay_map_free(&kernels);
}

TEST(a_kernel_has_the_line_that_launched_most_of_its_time)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	for (int i = 0; i < 2; i++) { /* two lines of one function */
		uint32_t code = i ? 0 : assay_add(t, ASSAY_T_code);
		uint32_t stack = assay_add(t, ASSAY_T_stack);
		t->stack.code[stack] = code;
		t->stack.line[stack] = 10 + i;
		uint32_t h = assay_hand_call(run, stack, "cudaLaunchKernel", i, 1);
		assay_hand_gpu(run, "k", 100 * (i + 1), i ? 50 : 20, h);
		assay_hand_gpu(run, "k", 100 * (i + 1) + 60, 1, h);
	}
	assay_hand_gpu(run, "other", 500, 9, ASSAY_NO_ROW);
	assay_kernels(run);
	assay_kernel_lines(run);
	CHECK_EQ(t->kernel_line.n, 2);
	CHECK_EQ(t->kernel_line.total[t->kernel.line[0]], 51);
	CHECK_EQ(t->stack.line[t->kernel_line.stack[t->kernel.line[0]]], 11);
	CHECK_EQ(t->kernel.line[1], ASSAY_NO_ROW);
	assay_run_free(run);
	return 0;
}
