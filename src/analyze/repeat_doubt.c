/* Kernels repeat once a step or once a layer, and a recording of a second may hold the layers of
 * one forward pass alone. A step does something that a layer does not: it updates parameters,
 * computes a loss, looks tokens up, chooses the next, or the host reads or waits for what came
 * out. */
#include "analyze/repeat_doubt.h"

#include "analyze/analyze.h"
#include "base/test.h"
#include "model/by_hand.h"
#include "names/copies.h"

enum { LAYER = 1, PRODUCT = 2, STEP = 4 }; /* what a name is part of */

static uint8_t part_of_name(assay_str name, uint8_t family)
{
	static const char *const of_steps[] = {"embedding", "nll_loss", "cross_entropy",
					       "argmax",    "topk",     "sampl",
					       "sort",      "backward"};
	if (family == ASSAY_FAMILY_OPTIMIZER)
		return STEP;
	for (size_t i = 0; i < ASSAY_COUNT_OF(of_steps); i++)
		if (assay_str_find_nocase(name, of_steps[i]) >= 0)
			return STEP;
	if (family == ASSAY_FAMILY_GEMM || family == ASSAY_FAMILY_CONV)
		return PRODUCT;
	bool layer = family == ASSAY_FAMILY_ATTENTION || family == ASSAY_FAMILY_NORM ||
		     assay_str_find_nocase(name, "softmax") >= 0;
	return layer ? LAYER : 0;
}

/* Waits for all that a device does; those for a stream come with copies to it, too. */
static size_t waits_for_devices(const assay_run *run)
{
	const assay_tables *t = &run->part.t;
	size_t n = 0;
	for (size_t i = 0; i < t->wait.n; i++)
		n += t->wait.kind[i] == ASSAY_WAIT_DEVICE_SYNC && t->wait.host[i] != ASSAY_NO_ROW;
	return n;
}

bool assay_may_be_layers(const assay_run *run, const assay_places *work, size_t steps)
{
	const assay_tables *t = &run->part.t;
	assay_map part = {0}; /* by name */
	size_t of_steps = waits_for_devices(run);
	unsigned seen = 0;
	for (size_t i = 0; i < t->kernel.n; i++)
		*assay_map_at(&part, t->kernel.name[i]) =
			part_of_name(assay_text(run, t->kernel.name[i]), t->kernel.family[i]);
	for (size_t i = 0; i < work->n; i++) {
		uint32_t row = work->p[i], of = assay_map_get(&part, t->gpu.name[row]);
		bool back =
			t->gpu.kind[row] == ASSAY_GPU_MEMCPY &&
			assay_copy_to_host(assay_copy_way_of(assay_text(run, t->gpu.name[row])));
		of = of == ASSAY_MAP_ABSENT ? 0 : of;
		seen |= of;
		of_steps += back || of == STEP;
	}
	assay_map_free(&part);
	return (seen & LAYER) && (seen & PRODUCT) && of_steps * 2 < steps;
}

/* Five times the kernels named, and what else once each time. */
static bool doubted(const char *last)
{
	static const char *const layer[] = {"gemm", "softmax_warp_forward", "gemm"};
	assay_run *run = assay_run_new();
	assay_places work = {0};
	for (int step = 0; step < 5; step++)
		for (size_t i = 0; i <= ASSAY_COUNT_OF(layer); i++) {
			const char *name = i < ASSAY_COUNT_OF(layer) ? layer[i] : last;
			uint32_t row = assay_hand_gpu(run, name, 40 * step + 10 * (int64_t)i, 9,
						      ASSAY_NO_ROW);
			if (assay_str_starts(assay_str_of(name), "Memcpy"))
				run->part.t.gpu.kind[row] = ASSAY_GPU_MEMCPY;
			*assay_push(&work) = row;
		}
	assay_kernels(run);
	bool doubt = assay_may_be_layers(run, &work, 5);
	assay_vec_free(&work);
	assay_run_free(run);
	return doubt;
}

TEST(what_a_step_does_once_tells_it_from_a_layer)
{
	CHECK(doubted("gelu"));
	CHECK(doubted("Memcpy HtoD (Pinned -> Device)")); /* weights that lie on the host */
	CHECK(!doubted("multi_tensor_apply_kernel"));
	CHECK(!doubted("indexSelect_embedding"));
	CHECK(!doubted("Memcpy DtoH (Device -> Pinned)"));
	return 0;
}
