/* Any bytes as a Chrome trace: waits are resolved and both trace formats written. Whatever came in,
 * the JSON that goes out is valid, and as JSON it reads back to as many rows. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/input.h"
#include "base/json.h"
#include "read/reader.h"
#include "write/writer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_json(const char *text, size_t n)
{
	uint32_t odd = 0;
	size_t bad;
	char *padded = malloc(n + ASSAY_PAD);
	if (n)
		memcpy(padded, text, n);
	if (!assay_json_check(padded, n, &odd, &bad) || odd)
		abort();
	free(padded);
}

static void check_rows(const assay_run *run, const char *text, size_t n)
{
	assay_run *back = assay_read_bytes(&assay_reader_chrome, (const uint8_t *)text, n);
	if (!back || back->part.t.host.n != run->part.t.host.n ||
	    back->part.t.gpu.n != run->part.t.gpu.n || back->part.t.sync.n != run->part.t.sync.n)
		abort();
	assay_run_free(back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	setenv("ASSAY_THREADS", "1", 1);
	assay_run *run = assay_read_bytes(&assay_reader_chrome, data, size);
	if (!run)
		return 0;
	if (!assay_run_analyze(run, NULL, NULL))
		abort();
	for (size_t i = 0; i < 2; i++) {
		const assay_writer *w = i ? &assay_writer_perfetto : &assay_writer_chrome;
		char *text = NULL;
		size_t n = 0;
		FILE *f = open_memstream(&text, &n);
		assay_err err = {0}; /* of nothing no file is made, which is no failure */
		if (!assay_write_run(w, run, f, NULL, &err) && (!i || err.code != ASSAY_UNKNOWN))
			abort();
		fclose(f);
		if (!i) {
			check_json(text, n);
			check_rows(run, text, n);
		}
		free(text);
	}
	assay_run_free(run);
	return 0;
}
