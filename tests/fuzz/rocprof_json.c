/* Any bytes as a results.json of rocprofv3: three threads, and scalar code, must read what one
 * thread reads. */
#include "digest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const assay_reader *reader = &assay_reader_rocprof_json;
	reader->sniff((assay_str){(const char *)data, size});
	uint64_t one = digest_of(reader, data, size, "1", size % 2 ? "scalar" : NULL);
	if (!is_chosen(data, size))
		return 0;
	if (one != digest_of(reader, data, size, "3", NULL))
		abort();
	if (one != digest_of(reader, data, size, "1", size % 2 ? NULL : "scalar"))
		abort();
	return 0;
}
