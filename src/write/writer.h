/* Writers: one const struct a format, chosen by the name of the output. */
#ifndef ASSAY_WRITE_WRITER_H
#define ASSAY_WRITE_WRITER_H

#include <stdio.h>

#include "model/run.h"

typedef struct assay_writer {
	const char *name;    /* word taken by --to */
	const char *exts[4]; /* ends of file names, without packing: ".json" */
	const char *about;   /* line in help and docs */
	/* Write an analysed run. false only when it cannot be written; ferror(out) is the caller's.
	 * True with a text in err: it is written, and this is what the format had no room for. */
	bool (*write)(const assay_run *run, FILE *out, assay_err *err);
} assay_writer;

extern const assay_writer *const assay_writers[];
extern const size_t assay_writer_count;

/* What of the run the format has no place for, as a list in words; NULL when there is nothing. */
const char *assay_writer_leaves_out(const assay_writer *w, const assay_run *run,
				    assay_arena *arena);

extern const assay_writer assay_writer_chrome, assay_writer_perfetto, assay_writer_xplane,
	assay_writer_xplane_grouped;

#endif
