/* Any bytes as an XPlane file. */
#include "base/input.h"
#include "read/reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	assay_run *run = assay_run_new();
	assay_input *in = assay_input_memory(data, size);
	assay_err err = {0};
	run->part.source = assay_add(&run->part.t, ASSAY_T_source);
	assay_reader_xplane.read(run, in, &err);
	assay_input_close(in);
	assay_run_free(run);
	return 0;
}
