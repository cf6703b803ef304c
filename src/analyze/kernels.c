/* Totals by name. Copies and memsets are rows too, so that classes are known for every GPU name. */
#include "analyze/analyze.h"

#include <assert.h>

#include "base/index.h"
#include "base/median.h"
#include "base/test.h"
#include "model/by_hand.h"

/* Recorders that know say that a kernel is a collective, whatever its name. */
static bool is_collective(const assay_run *run, uint32_t gpu)
{
	return assay_str_find(assay_text(run, run->part.t.gpu.args[gpu]), "\"Collective name\"") >=
	       0;
}

static assay_family family_of(const assay_run *run, uint32_t gpu, assay_gpu_kind kind)
{
	if (kind != ASSAY_GPU_KERNEL)
		return kind == ASSAY_GPU_MEMCPY ? ASSAY_FAMILY_COPY : ASSAY_FAMILY_ELEMENTWISE;
	if (is_collective(run, gpu))
		return ASSAY_FAMILY_COLLECTIVE;
	return assay_family_of_name(assay_text(run, run->part.t.gpu.name[gpu]));
}

static uint32_t kernel_row(assay_run *run, uint32_t gpu)
{
	assay_sid name = run->part.t.gpu.name[gpu];
	assay_gpu_kind kind = (assay_gpu_kind)run->part.t.gpu.kind[gpu];
	assay_kernel_table *k = &run->part.t.kernel;
	uint32_t r = assay_add(&run->part.t, ASSAY_T_kernel);
	k->name[r] = name;
	k->kind[r] = (uint8_t)kind;
	k->family[r] = (uint8_t)family_of(run, gpu, kind);
	k->class[r] = assay_family_class[k->family[r]];
	k->min[r] = INT64_MAX;
	return r;
}

/* rows: from kind and name to the row of kernel. */
static void find_medians(assay_run *run, const assay_map *rows)
{
	const assay_gpu_table *g = &run->part.t.gpu;
	assay_kernel_table *k = &run->part.t.kernel;
	assay_vec(size_t) end = {0};
	assay_vec(int64_t) dur = {0};
	size_t all = 0;
	for (size_t i = 0; i < k->n; all += k->count[i++])
		*assay_push(&end) = all;
	assay_vec_reserve(&dur, g->n + 1);
	for (size_t i = 0; i < g->n; i++) {
		uint32_t r = assay_map_get(rows, (uint64_t)g->kind[i] << 32 | g->name[i]);
		dur.p[end.p[r]++] = g->dur[i] > 0 ? g->dur[i] : 0;
	}
	for (size_t i = 0; i < k->n; i++)
		k->median[i] = assay_median_upper(dur.p + end.p[i] - k->count[i], k->count[i]);
	assay_vec_free(&end);
	assay_vec_free(&dur);
}

void assay_kernels(assay_run *run)
{
	const assay_gpu_table *g = &run->part.t.gpu;
	assay_kernel_table *k = &run->part.t.kernel;
	assay_map rows = {0};
	for (size_t i = 0; i < g->n; i++) {
		uint64_t key = (uint64_t)g->kind[i] << 32 | g->name[i];
		uint32_t *slot = assay_map_at(&rows, key);
		if (*slot == ASSAY_MAP_ABSENT)
			*slot = kernel_row(run, (uint32_t)i);
		uint32_t r = *slot;
		int64_t dur = g->dur[i] > 0 ? g->dur[i] : 0;
		k->count[r]++;
		k->total[r] += dur;
		k->min[r] = dur < k->min[r] ? dur : k->min[r];
		k->max[r] = dur > k->max[r] ? dur : k->max[r];
	}
	find_medians(run, &rows);
	assay_map_free(&rows);
}

/* Operators by External id; ids are a source's own. */
static uint64_t op_key(uint32_t source, uint32_t external)
{
	return (uint64_t)source << 32 | external;
}

/* Of kernels without a family, by External id: their first row of gpu. Operators are found for
 * those alone, since there are many more. */
struct asked_ops {
	assay_index work;
	uint32_t *op; /* by that row: the operator's row of host + 1; 0 until it is found */
};

static void ask_for_ops(const assay_tables *t, const assay_map *unknown, assay_index *work)
{
	for (uint32_t g = 0; g < t->gpu.n; g++)
		if (t->gpu.kind[g] == ASSAY_GPU_KERNEL && t->gpu.external[g] &&
		    assay_map_get(unknown, t->gpu.name[g]) != ASSAY_MAP_ABSENT)
			assay_index_add(
				work,
				op_key(assay_track_group(t, t->gpu.track[g]), t->gpu.external[g]),
				g);
	assay_index_close(work, NULL, NULL);
}

static void find_ops(const assay_tables *t, const struct asked_ops *asked)
{
	for (uint32_t h = 0; asked->work.key.n && h < t->host.n; h++) {
		if (t->host.kind[h] != ASSAY_HOST_OP)
			continue;
		uint32_t g = assay_index_find(&asked->work,
					      op_key(assay_track_group(t, t->host.track[h]),
						     t->op.external[t->host.detail[h]]));
		if (g != ASSAY_INDEX_ABSENT)
			asked->op[g] = h + 1;
	}
}

static bool has_unknown(const assay_kernel_table *k)
{
	for (size_t i = 0; i < k->n; i++)
		if (k->family[i] == ASSAY_FAMILY_OTHER)
			return true;
	return false;
}

void assay_kernels_by_op(assay_run *run)
{
	assay_tables *t = &run->part.t;
	assay_arena scratch = {0};
	struct asked_ops ops = {.op = NULL};
	assay_map rows = {0};
	if (!has_unknown(&t->kernel))
		return;
	for (uint32_t k = 0; k < t->kernel.n; k++)
		if (t->kernel.family[k] == ASSAY_FAMILY_OTHER)
			*assay_map_at(&rows, t->kernel.name[k]) = k;
	ask_for_ops(t, &rows, &ops.work);
	ops.op = assay_alloc(&scratch, (t->gpu.n + 1) * sizeof *ops.op);
	find_ops(t, &ops);
	for (uint32_t g = 0; g < t->gpu.n; g++) {
		uint32_t k = t->gpu.kind[g] == ASSAY_GPU_KERNEL && t->gpu.external[g]
				     ? assay_map_get(&rows, t->gpu.name[g])
				     : ASSAY_MAP_ABSENT;
		if (k == ASSAY_MAP_ABSENT || t->kernel.family[k] != ASSAY_FAMILY_OTHER)
			continue;
		uint32_t op = ops.op[assay_index_find(
			&ops.work,
			op_key(assay_track_group(t, t->gpu.track[g]), t->gpu.external[g]))];
		if (op)
			t->kernel.family[k] =
				(uint8_t)assay_family_of_op(assay_text(run, t->host.name[op - 1]));
		assert(t->kernel.class[k] == assay_family_class[t->kernel.family[k]]);
	}
	assay_index_free(&ops.work);
	assay_arena_free(&scratch);
	assay_map_free(&rows);
}

static void add_kernel(assay_kernel_table *k, uint32_t to, size_t from)
{
	k->median[to] = k->count[from] > k->count[to] ? k->median[from] : k->median[to];
	k->count[to] += k->count[from];
	k->total[to] += k->total[from];
	k->min[to] = k->min[from] < k->min[to] ? k->min[from] : k->min[to];
	k->max[to] = k->max[from] > k->max[to] ? k->max[from] : k->max[to];
}

void assay_kernels_fold(assay_run *run, size_t older)
{
	assay_kernel_table *k = &run->part.t.kernel;
	assay_map rows = {0};
	uint32_t n = 0;
	for (size_t i = 0; i < k->n; i++) {
		uint32_t *slot = assay_map_at(&rows, (uint64_t)k->kind[i] << 32 | k->name[i]);
		if (*slot == ASSAY_MAP_ABSENT)
			assay_row_copy(&run->part.t, ASSAY_T_kernel, *slot = n++, i);
		else if (*slot < older && i >= older)
			assay_row_copy(&run->part.t, ASSAY_T_kernel, *slot, i);
		else
			add_kernel(k, *slot, i);
	}
	k->n = n;
	assay_map_free(&rows);
}

TEST(kernels_of_many_ranks_are_folded)
{
	assay_run *run = assay_run_new();
	assay_kernel_table *k = &run->part.t.kernel;
	for (int i = 0; i < 5; i++) {
		uint32_t r = assay_add(&run->part.t, ASSAY_T_kernel);
		k->name[r] = assay_sid_of(run, i == 1 ? "b" : i == 4 ? "c" : "a");
		k->count[r] = 1;
		k->total[r] = k->min[r] = k->max[r] = i + 1;
	}
	assay_kernels_fold(run, 0);
	CHECK(k->n == 3 && k->total[0] == 1 + 3 + 4 && k->count[0] == 3 && k->total[2] == 5);
	CHECK(k->min[0] == 1 && k->max[0] == 4 && k->total[1] == 2);
	uint32_t r = assay_add(&run->part.t, ASSAY_T_kernel);
	k->name[r] = assay_sid_of(run, "b");
	k->total[r] = 50;
	assay_kernels_fold(run, 3);
	CHECK(k->n == 3 && k->total[1] == 50 && k->total[0] == 8);
	assay_run_free(run);
	return 0;
}

TEST(totals_are_kept_by_name_and_kind)
{
	assay_run *run = assay_run_new();
	for (int i = 1; i <= 3; i++) {
		uint32_t g = assay_hand_gpu(run, "gemm", 0, i * 10, ASSAY_NO_ROW);
		run->part.t.gpu.kind[g] = i == 3 ? ASSAY_GPU_MEMCPY : ASSAY_GPU_KERNEL;
	}
	assay_kernels(run);
	const assay_kernel_table *k = &run->part.t.kernel;
	CHECK(k->n == 2 && k->count[0] == 2 && k->total[0] == 30 && k->min[0] == 10 &&
	      k->max[0] == 20 && k->median[0] == 20 && k->median[1] == 30);
	CHECK(k->family[0] == ASSAY_FAMILY_GEMM && k->class[1] == ASSAY_CLASS_COPY &&
	      k->total[1] == 30);
	assay_run_free(run);
	return 0;
}

TEST(operators_and_metadata_say_what_names_do_not)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	uint32_t op = assay_add(t, ASSAY_T_op);
	t->op.external[op] = 77;
	uint32_t h = assay_hand_host(run, ASSAY_HOST_OP, "aten::mm", 0, 0);
	t->host.detail[h] = op;
	assay_hand_gpu(run, "secret", 0, 0, ASSAY_NO_ROW);
	uint32_t known = assay_hand_gpu(run, "mystery", 0, 0, ASSAY_NO_ROW);
	t->gpu.external[known] = 77;
	t->gpu.args[0] = assay_sid_of(run, "\"Collective name\": \"allreduce\"");
	assay_kernels(run);
	assay_kernels_by_op(run);
	CHECK(t->kernel.class[0] == ASSAY_CLASS_COMM &&
	      t->kernel.family[0] == ASSAY_FAMILY_COLLECTIVE);
	CHECK(t->kernel.class[1] == ASSAY_CLASS_COMPUTE &&
	      t->kernel.family[1] == ASSAY_FAMILY_GEMM);
	assay_run_free(run);
	return 0;
}
