/* Recordings of graphs being captured, beside the run they explain. */
#ifndef ASSAY_API_CAPTURES_H
#define ASSAY_API_CAPTURES_H

#include "model/run.h"

/* Operators for the work of graphs, from what the run itself captured and from recordings: those at
 * path, or NULL for folders that were met while the run was read. */
/* Only by the programs of XLA that profiles hold; nothing where it was done. */
void assay_explain_programs(assay_run *run);
bool assay_explain_graphs(assay_run *run, const char *path, assay_err *err);

#endif
