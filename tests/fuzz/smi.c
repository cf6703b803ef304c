/* Any bytes as a telemetry table. */
#include <stddef.h>
#include <stdint.h>

#include "read/reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	assay_run *run = assay_run_new();
	assay_input *in = assay_input_memory(data, size);
	run->part.source = assay_add(&run->part.t, ASSAY_T_source);
	assay_reader_smi.sniff((assay_str){(const char *)data, size});
	assay_reader_smi.read(run, in, NULL);
	assay_input_close(in);
	assay_run_free(run);
	return 0;
}
