/* Any bytes as a Chrome trace, and everything that is printed of it: the report with all its parts,
 * as markdown and JSON, waits, the comparison with itself, and what other tools would say. */
#include <stdint.h>
#include <stdio.h>

#include "analyze/analyze.h"
#include "diff/diff.h"
#include "like/like.h"
#include "read/reader.h"
#include "render/report.h"
#include "render/waits.h"
#include "resolve/resolve.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void print_all(FILE *out, assay_run *run)
{
	static const assay_text_opts opts[] = {
		{.width = 80}, {.width = 30, .top = 3, .colour = true, .verbose = true}};
	assay_waits_query waits = {.size = sizeof waits};
	assay_jsonw w = {0};
	for (size_t i = 0; i < sizeof opts / sizeof *opts; i++)
		assay_report_text(out, run, &opts[i]);
	assay_report_markdown(out, run, &opts[0]);
	assay_report_json(&w, run);
	assay_jsonw_free(&w);
	assay_waits_text(out, run, &waits);
}

static void print_others(FILE *out, assay_run *run)
{
	assay_diff d = {0};
	assay_diff_runs(&d, run, run, (const char *const[2]){NULL, NULL});
	assay_diff_text(out, &d, 5);
	assay_diff_markdown(out, &d, 5);
	assay_diff_free(&d);
	assay_like_hta(run);
	assay_like_text(out, run, "hta");
	assay_like_tracelens(run);
	assay_like_text(out, run, "tracelens");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	assay_run *run = assay_read_bytes(&assay_reader_chrome, data, size);
	FILE *out = fopen("/dev/null", "w");
	assay_err err = {0};
	if (run && out && assay_run_analyze(run, NULL, &err)) {
		assay_scopes(run, NULL);
		print_all(out, run);
		print_others(out, run);
	}
	if (out)
		fclose(out);
	assay_run_free(run);
	return 0;
}
