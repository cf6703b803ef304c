/* Any bytes as a Chrome trace, analyzed and written as a page: whatever was read can be shown. */
#include <stdint.h>
#include <stdlib.h>

#include "path/path.h"
#include "read/reader.h"
#include "render/html.h"
#include "resolve/resolve.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	assay_run *run = assay_read_bytes(&assay_reader_chrome, data, size);
	assay_err err = {0};
	assay_html_size page;
	if (!run)
		return 0;
	bool analyzed = assay_run_analyze(run, NULL, &err);
	assay_scopes(run, NULL);
	assay_path path = {0};
	const assay_path_opts median = {.step = ASSAY_PATH_MEDIAN};
	bool has_path = analyzed && assay_path_find(run, &median, &path, NULL);
	const assay_html_run shown = {.run = run, .path = has_path ? &path : NULL};
	if (analyzed && !assay_html_write(&shown, 1, NULL, "/dev/null", &page, &err))
		abort();
	assay_path_free(&path);
	assay_run_free(run);
	return 0;
}
