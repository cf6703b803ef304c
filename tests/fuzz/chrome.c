/* Any bytes as a Chrome trace: three threads, and scalar code, must read what one thread
 * reads. */
#include "digest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return compare_readings(&assay_reader_chrome, data, size);
}
