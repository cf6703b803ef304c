/* Frees that name an address only. */
#ifndef ASSAY_READ_FREES_H
#define ASSAY_READ_FREES_H

#include "model/run.h"

/* Give frees that say no size or no device those of the allocation before them. Rows from `from` on
 * are of one process; a free of what was taken before the recording stays as it is. */
void assay_pair_frees(assay_alloc_table *t, size_t from);

#endif
