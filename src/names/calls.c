/* Names of calls taken apart, and the rows of calls.def. */
#include "names/calls.h"

#include <string.h>

#include "base/chars.h"
#include "base/test.h"

static const struct row {
	const char *stem;
	uint8_t does, blocks, takes;
} rows[] = {
#define EVENT                           ASSAY_TAKES_EVENT
#define STREAM                          ASSAY_TAKES_STREAM
#define FLAGS                           ASSAY_TAKES_FLAGS
#define LAUNCHES                        ASSAY_TAKES_LAUNCHES
#define HALF                            ASSAY_TAKES_HALF
#define CALL(stem, does, blocks, takes) {stem, ASSAY_DOES_##does, ASSAY_BLOCKS_##blocks, takes},
#include "names/calls.def"
#undef CALL
#undef EVENT
#undef STREAM
#undef FLAGS
#undef LAUNCHES
#undef HALF
};
enum { ROWS = sizeof rows / sizeof *rows };

static bool ends(const char *s, size_t n, const char *suffix)
{
	size_t k = strlen(suffix);
	return n > k && !memcmp(s + n - k, suffix, k);
}

/* _v2, _v3020 */
static size_t without_version(const char *s, size_t n)
{
	size_t at = n;
	while (at && assay_is_digit(s[at - 1]))
		at--;
	return at < n && at > 2 && s[at - 1] == 'v' && s[at - 2] == '_' ? at - 2 : n;
}

size_t assay_call_stem(const char **name, size_t n, bool *per_thread, bool *async)
{
	static const char *const prefix[] = {"cuda", "hip", "cu64", "cu", "hsa_amd_", "hsa_"};
	static const char *const own[] = {"_spt", "_ptsz", "_ptds"};
	*per_thread = *async = false;
	for (; n && **name == '_'; n--)
		++*name; /* __cudaLaunchKernel */
	n = without_version(*name, n);
	for (size_t i = 0; i < sizeof own / sizeof *own; i++)
		if (ends(*name, n, own[i])) {
			n = without_version(*name, n - strlen(own[i]));
			*per_thread = true;
		}
	for (size_t i = 0; i < sizeof prefix / sizeof *prefix; i++) {
		size_t k = strlen(prefix[i]);
		if (n <= k || memcmp(*name, prefix[i], k) != 0)
			continue;
		*name += k;
		*async = ends(*name, n - k, "Async");
		return n - k - (*async ? strlen("Async") : 0);
	}
	return 0;
}

static const struct row *find_row(const char *stem, size_t n)
{
	const struct row *start = NULL;
	for (size_t i = 0; n && i < ROWS; i++) {
		size_t k = strlen(rows[i].stem);
		if (k == n && !memcmp(rows[i].stem, stem, n))
			return &rows[i];
		if (!start && rows[i].stem[k - 1] == '*' && n >= k - 1 &&
		    !memcmp(rows[i].stem, stem, k - 1))
			start = &rows[i];
	}
	return start;
}

/* Runtimes that have no rows are taken at their word. */
static bool says_synchronize(const char *name, size_t n)
{
	static const char word[] = "ynchronize";
	for (size_t i = 0; i + sizeof word - 1 <= n; i++)
		if (!memcmp(name + i, word, sizeof word - 1))
			return true;
	return false;
}

assay_call_meaning assay_call_meaning_of(const char *name, size_t n)
{
	assay_call_meaning m = {0};
	const char *stem = name;
	size_t k = assay_call_stem(&stem, n, &m.per_thread, &m.async);
	const struct row *row = find_row(stem, k);
	if (!row) {
		m.does = says_synchronize(name, n) ? ASSAY_DOES_BLOCK : ASSAY_DOES_OTHER;
		m.blocks = m.does ? ASSAY_BLOCKS_ALWAYS : ASSAY_BLOCKS_NEVER;
		return m;
	}
	m.does = row->does;
	m.blocks = row->blocks;
	m.takes = row->takes;
	if (m.async)
		m.blocks = m.does == ASSAY_DOES_COPY && row->blocks != ASSAY_BLOCKS_DEVICE
				   ? ASSAY_BLOCKS_PAGED
				   : ASSAY_BLOCKS_NEVER;
	return m;
}

static assay_call_meaning meaning(const char *name)
{
	return assay_call_meaning_of(name, strlen(name));
}

TEST(every_spelling_of_a_call_means_the_same)
{
	static const char *const names[] = {
		"hipEventRecord",   "hipEventRecord_spt",         "cudaEventRecordWithFlags_ptsz",
		"cuEventRecord_v2", "cudaEventRecord_ptsz_v7000", "cuEventRecord_ptsz",
	};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		CHECK_EQ(meaning(names[i]).does, ASSAY_DOES_RECORD);
	CHECK(meaning("cudaMemcpyAsync_ptsz_v7000").per_thread &&
	      meaning("hipFree_spt").per_thread);
	CHECK(!meaning("hipFree").per_thread && !meaning("cuMemFree_v2").per_thread);
	CHECK_EQ(meaning("__cudaLaunchKernel_ptsz").does, ASSAY_DOES_LAUNCH);
	CHECK_EQ(meaning("cu64MemcpyDtoH").does, ASSAY_DOES_COPY);
	CHECK_EQ(meaning("cudaEventRecorder").does, ASSAY_DOES_OTHER);
	CHECK_EQ(meaning("EventRecord").does, ASSAY_DOES_OTHER);
	CHECK_EQ(meaning("cu").does, ASSAY_DOES_OTHER);
	CHECK_EQ(meaning("").does, ASSAY_DOES_OTHER);
	return 0;
}

TEST(copies_that_wait_are_told_from_those_that_may)
{
	static const char *const wait[] = {
		"hipMemcpyWithStream",    "cudaMemcpy2D",
		"cudaMemcpyFromSymbol",   "cuMemcpyDtoH",
		"cuMemcpyDtoH_v2",        "hipMemcpy_spt",
		"cudaMemcpy_ptds",        "cudaMemcpy",
		"cudaStreamSynchronize",  "hsa_signal_wait_scacquire",
		"zeEventHostSynchronize",
	};
	for (size_t i = 0; i < sizeof wait / sizeof *wait; i++)
		CHECK(assay_call_is_wait(meaning(wait[i])));
	CHECK_EQ(meaning("cudaMemcpyAsync").blocks, ASSAY_BLOCKS_PAGED);
	CHECK_EQ(meaning("cuMemcpyDtoHAsync_v2").blocks, ASSAY_BLOCKS_PAGED);
	CHECK_EQ(meaning("cudaFree").blocks, ASSAY_BLOCKS_MAYBE);
	CHECK_EQ(meaning("cudaFreeAsync").blocks, ASSAY_BLOCKS_NEVER);
	CHECK_EQ(meaning("hipMemsetAsync").blocks, ASSAY_BLOCKS_NEVER);
	CHECK(!assay_call_is_wait(meaning("cudaLaunchKernel")));
	return 0;
}

TEST(an_exact_row_wins_over_a_start)
{
	CHECK_EQ(meaning("cudaLaunchHostFunc").does, ASSAY_DOES_HOST_FUNC);
	CHECK_EQ(meaning("cudaLaunchKernelExC").does, ASSAY_DOES_LAUNCH);
	CHECK_EQ(meaning("hipExtModuleLaunchKernel").does, ASSAY_DOES_RECORD);
	CHECK(meaning("hipExtModuleLaunchKernel").takes & ASSAY_TAKES_LAUNCHES);
	CHECK_EQ(meaning("hipExtLaunchMultiKernelMultiDevice").does, ASSAY_DOES_LAUNCH);
	CHECK_EQ(meaning("cuMemFreeHost").does, ASSAY_DOES_FREE);
	return 0;
}
