/* Any bytes as a telemetry table, and as a document that is made into one. */
#include <stddef.h>
#include <stdint.h>

#include "read/reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	assay_reader_smi.sniff((assay_str){(const char *)data, size});
	assay_run_free(assay_read_bytes(&assay_reader_smi, data, size));
	assay_reader_smi_document.sniff((assay_str){(const char *)data, size});
	assay_run_free(assay_read_bytes(&assay_reader_smi_document, data, size));
	return 0;
}
