/* Any bytes as a Chrome trace: its critical path, with as many changed lengths as its size says,
 * and compared with itself. */
#include <stdint.h>

#include "analyze/analyze.h"
#include "diff/diff.h"
#include "path/path.h"
#include "read/reader.h"
#include "resolve/resolve.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void follow(assay_run *run, int64_t step, size_t n)
{
	static const char *const rules[] = {"*=0.5x", "launch_latency=0", "data=3us"};
	assay_path path = {0};
	assay_err err = {0};
	assay_path_find(run, &(assay_path_opts){step, rules, n}, &path, &err);
	assay_path_free(&path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	assay_run *run = assay_read_bytes(&assay_reader_chrome, data, size);
	assay_err err = {0};
	if (!run)
		return 0;
	if (assay_run_analyze(run, NULL, &err)) {
		assay_diff d = {0};
		assay_scopes(run, NULL);
		follow(run, size & 4 ? ASSAY_PATH_MEDIAN : ASSAY_PATH_ALL, size % 4);
		assay_diff_runs(&d, run, run, (const char *const[2]){NULL, NULL});
		assay_diff_free(&d);
	}
	assay_run_free(run);
	return 0;
}
