/* Analyzing gives the same tables with any number of threads; no code of its own. */
#include <stdio.h>

#include "api/job.h"
#include "base/test.h"
#include "model/by_hand.h"
#include "resolve/resolve.h"

#ifdef ASSAY_TEST

enum { LAUNCHES = 24000, STEP = 400 };

static uint32_t add_call(assay_run *run, const char *name, int64_t ts, int64_t dur, uint64_t corr)
{
	assay_tables *t = &run->part.t;
	uint32_t h = assay_hand_host(run, ASSAY_HOST_RUNTIME, name, ts, dur);
	uint32_t api = assay_add(t, ASSAY_T_api);
	t->api.corr[api] = corr;
	t->host.detail[h] = api;
	return h;
}

static uint32_t add_op(assay_run *run, const char *name, int64_t ts, int64_t dur, uint32_t external)
{
	assay_tables *t = &run->part.t;
	uint32_t h = assay_hand_host(run, ASSAY_HOST_OP, name, ts, dur);
	uint32_t op = assay_add(t, ASSAY_T_op);
	t->op.external[op] = external;
	t->host.detail[h] = op;
	return h;
}

/* The second half of each step is gradients of the first one, on a thread of their own. */
static void make_gradient(assay_run *run, uint32_t op, uint32_t call, uint32_t i)
{
	assay_tables *t = &run->part.t;
	bool backward = i % STEP >= STEP / 2;
	t->op.seq[t->host.detail[op]] = i - (backward ? STEP / 2 : 0);
	t->op.fwd_thread[t->host.detail[op]] = backward;
	if (backward)
		t->host.track[op] = t->host.track[call] = assay_thread_track(&run->part, 1, 2);
}

/* Two devices that run dry now and then, names that operators explain, waits of two kinds. */
static assay_run *long_run(void)
{
	static const char *const kernel[] = {"gemm", "mystery", "relu_kernel", "reduce"};
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	char step[32];
	run->part.source = assay_add(t, ASSAY_T_source);
	for (uint32_t i = 0; i < LAUNCHES; i++) {
		int64_t ts = 1000 * (int64_t)i;
		snprintf(step, sizeof step, "ProfilerStep#%u", i / STEP);
		if (i % STEP == 0)
			assay_hand_host(run, ASSAY_HOST_ANNOTATION, step, ts, 1000 * STEP);
		if (i % STEP < STEP / 2)
			assay_hand_host(run, ASSAY_HOST_PYTHON,
					i % 7 ? "train.py(7): f" : "data.py(3): load", ts + 10,
					800);
		make_gradient(run,
			      add_op(run, i % 3 ? "aten::mm" : "aten::relu", ts + 100, 500, i + 1),
			      add_call(run, "cudaLaunchKernel", ts + 200, 100, i + 1), i);
		uint32_t g = assay_hand_gpu(run, kernel[i % 4], ts + 400 + i % 13 * 20, 300 + i % 5,
					    ASSAY_NO_ROW);
		t->launch.n = 0; /* the analysis finds it */
		t->gpu.track[g] = assay_stream_track(&run->part, i % 11 == 0, i % 2);
		t->gpu.corr[g] = t->gpu.external[g] = i + 1;
		t->gpu.grid_x[g] = 1 + i % 4;
		if (i % 50 == 49 && i % STEP < STEP / 2)
			add_call(run, "cudaDeviceSynchronize", ts + 650, 200, LAUNCHES + i);
	}
	return run;
}

static uint64_t digest(const assay_run *run)
{
	uint64_t h = 1;
	for (size_t i = 0; i < ASSAY_T_COUNT; i++) {
		const assay_table_info *info = &assay_table_infos[i];
		size_t n = assay_rows(&run->part.t, info);
		for (size_t c = 0; n && c < info->cols; c++)
			h = assay_hash(assay_values(&run->part.t, info, &info->col[c]),
				       n * info->col[c].width, h);
	}
	return assay_hash(run->part.issues, sizeof run->part.issues, h);
}

static size_t rows_with(const uint8_t *how, size_t n, assay_scope_how wanted)
{
	size_t found = 0;
	for (size_t i = 0; i < n; i++)
		found += how[i] == wanted;
	return found;
}

TEST(any_number_of_threads_finds_the_same)
{
	static const unsigned threads[] = {1, 3, 16};
	uint64_t one = 0;
	for (size_t i = 0; i < ASSAY_COUNT_OF(threads); i++) {
		assay_run *run = long_run();
		assay_err err = {0};
		run->threads = threads[i];
		CHECK(assay_run_analyze(run, NULL, &err));
		CHECK(run->part.t.gap.n > 4096 && run->part.t.device_time.n == 2);
		CHECK(run->part.t.wait.n && run->part.t.finding.n && run->part.t.op_call.n);
		assay_scopes(run, NULL);
		CHECK(rows_with(run->part.t.gpu_scope.how, LAUNCHES, ASSAY_SCOPE_HOW_INFERRED));
		CHECK(run->part.t.gpu_scope.forward[STEP - 1] != ASSAY_NO_ROW);
		one = i ? one : digest(run);
		CHECK_EQ(digest(run), one);
		assay_run_free(run);
	}
	return 0;
}

TEST(scopes_that_are_found_beside_waits_are_those_found_behind_them)
{
	for (unsigned threads = 1; threads < 4; threads += 2) {
		assay_run *run = long_run();
		assay_err err = {0};
		run->threads = threads;
		CHECK(assay_run_analyze_for(run, NULL, ASSAY_NEEDS_ORDER, &err));
		CHECK(run->scoped && run->part.t.scope.n);
		uint64_t beside = digest(run);
		assay_scopes(run, NULL);
		CHECK_EQ(digest(run), beside);
		assay_run_free(run);
	}
	return 0;
}

#endif
