/* Any bytes as an XPlane file: read, resolved, derived, and written again. */
#include <stdlib.h>

#include "analyze/derived.h"
#include "analyze/scopes.h"
#include "base/input.h"
#include "read/reader.h"
#include "resolve/resolve.h"
#include "write/writer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	assay_run *run = assay_run_new();
	assay_input *in = assay_input_memory(data, size);
	assay_err err = {0};
	run->part.source = assay_add(&run->part.t, ASSAY_T_source);
	run->part.t.source.format[0] = assay_sid_of(run, "xplane");
	assay_reader_xplane.read(run, in, &err);
	assay_input_close(in);
	assay_link(run);
	assay_find_steps(run, NULL);
	assay_scopes(run, &(assay_scope_opts){.ops = size & 1, .python = size & 2});
	assay_derive(run);
	assay_scope_times times;
	assay_scope_times_of(run, (assay_scopes_by)(size % 3), ASSAY_SCOPES_ALL_STEPS, &times);
	assay_scope_times_free(&times);
	char *bytes = NULL;
	size_t n = 0;
	FILE *out = open_memstream(&bytes, &n);
	const assay_writer *w = size & 4 ? &assay_writer_xplane_grouped : &assay_writer_xplane;
	bool written = w->write(run, out, &err);
	fclose(out);
	/* what is written can be read, and holds as much work as what it was made of */
	assay_run *back =
		written ? assay_read_bytes(&assay_reader_xplane, (uint8_t *)bytes, n) : NULL;
	if (back && back->part.t.gpu.n != run->part.t.gpu.n)
		abort();
	assay_run_free(back);
	free(bytes);
	assay_run_free(run);
	return 0;
}
