/* Lines of programs in two runs. */
#ifndef ASSAY_DIFF_LINES_H
#define ASSAY_DIFF_LINES_H

#include "diff/names.h"

/* Adds time to the program's own line of a stack; ASSAY_NO_ROW: to none. Steps come in order. */
void assay_diff_line(assay_names *s, const assay_run *run, uint32_t stack, uint32_t step,
		     int64_t ns, assay_arena *arena);

#endif
