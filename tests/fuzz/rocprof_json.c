/* Any bytes as a results.json of rocprofv3: three threads, and scalar code, must read what one
 * thread reads. */
#include "digest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return compare_readings(&assay_reader_rocprof_json, data, size);
}
