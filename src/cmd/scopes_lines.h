/* Part of `assay scopes`. */
#ifndef ASSAY_CMD_SCOPES_LINES_H
#define ASSAY_CMD_SCOPES_LINES_H

#include "base/jsonw.h"
#include "model/run.h"

/* Is the word of --by a place in the program? */
bool assay_scopes_by_line(const char *by);
/* Prints GPU work by such places; the run is linked. */
void assay_scopes_lines(assay_run *run, const char *by, size_t top, bool json);

/* The end of an object whose last member is a list, on standard output. */
void assay_scopes_print_list(assay_jsonw *w);

/* scopes_libraries.c: looks of the sampler by function of a library. */
void assay_scopes_libraries(const assay_run *run, size_t top, bool json);

#endif
