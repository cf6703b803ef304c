/* Any bytes as a Chrome trace, with one thread and with three: both must read the same. */
#include <stdint.h>
#include <stdlib.h>

#include "read/reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static assay_run *read_with(const char *threads, const uint8_t *data, size_t size)
{
	setenv("ASSAY_THREADS", threads, 1);
	return assay_read_bytes(&assay_reader_chrome, data, size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	assay_reader_chrome.sniff((assay_str){(const char *)data, size});
	assay_run *one = read_with("1", data, size), *three = read_with("3", data, size);
	if (!one != !three)
		abort();
	if (one && (one->part.t.host.n != three->part.t.host.n ||
		    one->part.t.gpu.n != three->part.t.gpu.n ||
		    one->part.t.source.records[0] != three->part.t.source.records[0]))
		abort();
	assay_run_free(one);
	assay_run_free(three);
	return 0;
}
