/* Any bytes as an XPlane file: read, resolved, derived, and written again. */
#include <stdlib.h>
#include <string.h>

#include "analyze/derived.h"
#include "analyze/scopes.h"
#include "read/reader.h"
#include "resolve/resolve.h"
#include "write/writer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct file {
	char *bytes;
	size_t n;
} file;

static assay_run *load(const void *data, size_t n, const assay_scope_opts *opts)
{
	assay_run *run = assay_read_bytes(&assay_reader_xplane, data, n);
	assay_link(run);
	assay_waits(run);
	assay_find_steps(run, NULL);
	assay_scopes(run, opts);
	assay_derive(run);
	return run;
}

static bool write_file(const assay_run *run, const assay_writer *w, file *f)
{
	assay_err err = {0};
	FILE *out = open_memstream(&f->bytes, &f->n);
	bool ok = assay_write_run(w, run, out, NULL, &err);
	fclose(out);
	return ok;
}

/* The file that is written from a file of ours; nothing where it cannot be. */
static file again(const file *f, const assay_writer *w)
{
	assay_run *run = load(f->bytes, f->n, NULL);
	file next = {0};
	write_file(run, w, &next);
	assay_run_free(run);
	return next;
}

/* Bytes settle, whatever the first input was. */
static void check_settled(const file *first, const assay_writer *w)
{
	file second = again(first, w), third = again(&second, w);
	if (second.n != third.n || memcmp(second.bytes, third.bytes, second.n))
		abort();
	free(second.bytes);
	free(third.bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	assay_run *run = load(data, size, &(assay_scope_opts){.ops = size & 1, .python = size & 2});
	assay_scope_times times;
	assay_scope_times_of(run, (assay_scopes_by)(size % 3), ASSAY_SCOPES_ALL_STEPS, &times);
	assay_scope_times_free(&times);
	const assay_writer *w = size & 4 ? &assay_writer_xplane_grouped : &assay_writer_xplane;
	file f = {0};
	if (write_file(run, w, &f)) {
		/* what is written can be read, and holds as much work as what it was made of */
		assay_run *back = assay_read_bytes(&assay_reader_xplane, f.bytes, f.n);
		if (back->part.t.gpu.n != run->part.t.gpu.n)
			abort();
		assay_run_free(back);
		if (!(size & 24))
			check_settled(&f, w);
	}
	free(f.bytes);
	assay_run_free(run);
	return 0;
}
