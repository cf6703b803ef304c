/* Of the processes in a recording, the one that was asked for: the command that was recorded, not
 * what it started. */
#ifndef ASSAY_ANALYZE_ASKED_H
#define ASSAY_ANALYZE_ASKED_H

#include "model/run.h"

/* Its group of sources; ASSAY_NO_ROW: none, or several, have that command line. */
uint32_t assay_asked_group(const assay_run *run);

/* A fact of a process ("pid", "command"), or nothing. */
assay_str assay_fact_of_group(const assay_run *run, uint32_t group, const char *key);

#endif
