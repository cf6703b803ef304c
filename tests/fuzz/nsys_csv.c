/* Any bytes as a table of nsys stats. */
#include <stddef.h>
#include <stdint.h>

#include "read/reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	assay_reader_nsys_csv.sniff((assay_str){(const char *)data, size});
	assay_run_free(assay_read_bytes(&assay_reader_nsys_csv, data, size));
	return 0;
}
