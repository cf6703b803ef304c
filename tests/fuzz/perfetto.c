/* Any bytes as a Perfetto trace: read, by three threads as by one, resolved, and written
 * again. */
#include "digest.h"
#include "resolve/resolve.h"
#include "write/writer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	assay_reader_perfetto.sniff((assay_str){(const char *)data, size});
	if (is_chosen(data, size)) {
		uint64_t three = digest_of(&assay_reader_perfetto, data, size, "3", NULL);
		if (three != digest_of(&assay_reader_perfetto, data, size, "1", NULL))
			abort();
	}
	assay_run *run = assay_read_bytes(&assay_reader_perfetto, data, size);
	if (!run)
		return 0;
	assay_link(run);
	assay_waits(run);
	assay_find_steps(run, NULL);
	assay_scopes(run, NULL);
	char *text = NULL;
	size_t n = 0;
	FILE *out = open_memstream(&text, &n);
	bool ok = assay_write_run(&assay_writer_perfetto, run, out, NULL, NULL);
	fclose(out);
	if (ok) { /* what is written can be read, and holds as much as what it was made of */
		assay_run *back = assay_read_bytes(&assay_reader_perfetto, text, n);
		if (back->part.t.gpu.n != run->part.t.gpu.n ||
		    back->part.t.sample.n != run->part.t.sample.n)
			abort();
		assay_run_free(back);
	}
	free(text);
	assay_run_free(run);
	return 0;
}
