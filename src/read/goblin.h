/* Reads the three files of a `--like goblin` run by that tool's own rules. */
#ifndef ASSAY_READ_GOBLIN_H
#define ASSAY_READ_GOBLIN_H

#include "base/err.h"
#include "model/goblin.h"

/* path: a directory with trace.csv, torch_profile.json and amd_smi.csv (each may be missing, or
 * packed with .gz behind its name), or one of the three. precision: NULL when unknown; steps 0
 * means 10. What is missing or unreadable becomes a warning; false only when path itself cannot be
 * used. out must be freed in either case. */
bool assay_goblin_read(const char *path, const char *precision, int steps, assay_goblin_input *out,
		       assay_err *err);
void assay_goblin_input_free(assay_goblin_input *in);

#endif
