/* Any bytes as a Chrome trace, analysed and written as a page: whatever was read can be shown. */
#include <stdint.h>
#include <stdlib.h>

#include "read/reader.h"
#include "render/html.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	assay_run *run = assay_read_bytes(&assay_reader_chrome, data, size);
	assay_err err = {0};
	assay_html_size page;
	if (run && assay_run_analyze(run, NULL, &err) &&
	    !assay_html_write(&(assay_html_run){.run = run}, 1, NULL, "/dev/null", &page, &err))
		abort();
	assay_run_free(run);
	return 0;
}
