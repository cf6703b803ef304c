/* Part of `assay scopes`. */
#ifndef ASSAY_CMD_SCOPES_LINES_H
#define ASSAY_CMD_SCOPES_LINES_H

#include "model/run.h"

/* Is the word of --by a place in the program? */
bool assay_scopes_by_line(const char *by);
/* Prints GPU work by such places; the run is linked. */
void assay_scopes_lines(assay_run *run, const char *by, size_t top, bool json);

#endif
