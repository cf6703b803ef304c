/* A kernel that fails leaves its context unusable: every later call returns the same error, and the
 * program ends with one that has nothing to do with the cause. */
#include <string.h>

#include "analyze/analyze.h"

#include "base/fmt.h"
#include "base/test.h"
#include "model/by_hand.h"

/* Errors that stay, by their numbers, in order, which CUDA (cuda.h, CUresult) and HIP (hipError_t)
 * share. */
static const struct {
	int32_t status;
	const char *what;
} lasting[] = {
	{214, "memory with an uncorrectable error"},
	{220, "an uncorrectable error of NVLink"},
	{700, "an illegal address in a kernel"},
	{702, "a kernel that took too long"},
	{710, "an assertion in a kernel"},
	{714, "a stack or hardware error in a kernel"},
	{715, "an illegal instruction in a kernel"},
	{716, "a misaligned address in a kernel"},
	{717, "an address space that a kernel may not use"},
	{718, "an invalid program counter in a kernel"},
	{719, "a kernel that failed"},
};

static const char *what_of(int32_t status)
{
	for (size_t i = 0; i < ASSAY_COUNT_OF(lasting) && lasting[i].status <= status; i++)
		if (lasting[i].status == status)
			return lasting[i].what;
	return NULL;
}

/* Hardly any run has one: it is looked for where statuses stand side by side. */
static bool any_failed(const assay_api_table *api)
{
	for (size_t i = 0; i < api->n; i++)
		if (what_of(api->status[i]))
			return true;
	return false;
}

/* The first call that returned such an error, and how many did. */
static uint32_t first_failed(const assay_tables *t, size_t *failed)
{
	uint32_t first = ASSAY_NO_ROW;
	*failed = 0;
	for (uint32_t i = 0; i < t->host.n; i++) {
		if (!assay_is_call(t->host.kind[i]) || !what_of(t->api.status[t->host.detail[i]]))
			continue;
		++*failed;
		if (first == ASSAY_NO_ROW || t->host.ts[i] < t->host.ts[first])
			first = i;
	}
	return first;
}

static int64_t first_work(const assay_tables *t)
{
	int64_t at = INT64_MAX;
	for (size_t i = 0; i < t->gpu.n; i++)
		at = t->gpu.ts[i] < at ? t->gpu.ts[i] : at;
	return at;
}

void assay_check_failures(assay_run *run)
{
	const assay_tables *t = &run->part.t;
	size_t failed;
	char count[ASSAY_FMT], after[ASSAY_FMT];
	uint32_t call = any_failed(&t->api) ? first_failed(t, &failed) : ASSAY_NO_ROW;
	if (call == ASSAY_NO_ROW)
		return;
	int64_t begin = first_work(t), at = t->host.ts[call];
	int32_t status = t->api.status[t->host.detail[call]];
	assay_warn(
		run, "device_failed",
		"%s (error %d) ended the work %s after it began: %s %s returned that, first %s; if it happens only while recorded, see docs/record.md, Failures",
		what_of(status), status, assay_fmt_time(after, at > begin ? at - begin : 0),
		assay_fmt_count(count, failed), failed == 1 ? "call" : "calls",
		assay_z(run, t->host.name[call]));
}

TEST(the_first_call_that_returns_a_lasting_error_is_named)
{
	assay_run *run = assay_run_new();
	run->part.source = assay_add(&run->part.t, ASSAY_T_source);
	static const struct {
		const char *call;
		int64_t at;
		int32_t status;
	} calls[] = {{"cuStreamQuery", 1000, 600}, /* not ready: nothing failed */
		     {"cuModuleUnload", 5000000, 719},
		     {"cuCtxSynchronize", 4000000, 719}};
	assay_hand_gpu(run, "gemm", 2000, 10, ASSAY_NO_ROW);
	for (size_t i = 0; i < ASSAY_COUNT_OF(calls); i++) {
		uint32_t row =
			assay_hand_host(run, ASSAY_HOST_DRIVER, calls[i].call, calls[i].at, 5);
		run->part.t.api.status[run->part.t.host.detail[row]] = calls[i].status;
		assay_check_failures(run);
		CHECK_EQ(run->part.t.warning.n, i);
	}
	CHECK(strstr(
		assay_z(run, run->part.t.warning.text[1]),
		"(error 719) ended the work 4.00 ms after it began: 2 calls returned that, first cuCtxSynchronize"));
	assay_run_free(run);
	return 0;
}
