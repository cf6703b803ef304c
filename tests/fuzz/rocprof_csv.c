/* Any bytes through the rocprof CSV reader: one thread, then several, must not crash and must
 * agree. */
#include <stdlib.h>

#include "read/reader.h"

static uint64_t read_all(const uint8_t *data, size_t size, const char *threads)
{
	setenv("ASSAY_THREADS", threads, 1);
	assay_run *run = assay_read_bytes(&assay_reader_rocprof_csv, data, size);
	if (!run)
		return 0;
	const assay_tables *t = &run->part.t;
	uint64_t sum = t->gpu.n + t->host.n * 3 + t->alloc.n * 5 + t->pmc.n * 7 + t->stat.n * 11;
	for (int i = 0; i < ASSAY_ISSUE_COUNT; i++)
		sum = sum * 31 + run->part.issues[i];
	assay_run_free(run);
	return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	assay_reader_rocprof_csv.sniff((assay_str){(const char *)data, size});
	uint64_t one = read_all(data, size, "1");
	if (size % 16 == 0 && one != read_all(data, size, "2"))
		abort();
	setenv("ASSAY_ISA", "scalar", 1);
	if (one != read_all(data, size, "1"))
		abort();
	unsetenv("ASSAY_ISA");
	return 0;
}
