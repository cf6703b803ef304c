/* Writers: one const struct a format, chosen by the output's name or by --format. */
#ifndef ASSAY_WRITE_WRITER_H
#define ASSAY_WRITE_WRITER_H

#include <stdio.h>

#include "base/err.h"
#include "model/run.h"

typedef struct assay_writer {
	const char *name;
	const char *exts[4];
	const char *about;
	bool (*write)(const assay_run *run, FILE *out, assay_err *err);
} assay_writer;

extern const assay_writer *const assay_writers[];
extern const size_t assay_writer_count;

extern const assay_writer assay_writer_xplane;

#endif
