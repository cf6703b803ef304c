/* A file that is there whole or not at all, packed by its name: .gz and .zst compress. */
#ifndef ASSAY_BASE_OUTPUT_H
#define ASSAY_BASE_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

#include <assay/assay.h>

#include "base/str.h"

typedef struct assay_output assay_output;

/* "-" is standard output, never packed. The text goes to a file without a name, or a
 * temporary one beside path where there are none. */
assay_output *assay_output_open(const char *path, assay_err *err);
/* The same for a path below a folder that need not be there before assay_output_finish(): until
 * then the text is in a file without a name in `meanwhile`, a folder of the same file system. */
assay_output *assay_output_open_below(const char *meanwhile, const char *path, assay_err *err);
/* Whether files without a name can be in that folder. */
bool assay_output_can_wait(const char *folder);
FILE *assay_output_file(assay_output *o);
/* Write all of it to the disk, all but the name: what follows can hardly fail. Close or drop it
 * whatever this says. */
bool assay_output_finish(assay_output *o, assay_err *err);
/* Finish and give the file its name; false when anything could not be written (the temporary file
 * is gone then). */
bool assay_output_close(assay_output *o, assay_err *err);
/* Forget it: the temporary file is removed, path is as it was. */
void assay_output_drop(assay_output *o);
/* A file's name without the end that says how it is packed. */
assay_str assay_unpacked_name(assay_str path);

#endif
