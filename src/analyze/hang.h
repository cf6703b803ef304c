/* Where the streams of a process stand still. */
#ifndef ASSAY_ANALYZE_HANG_H
#define ASSAY_ANALYZE_HANG_H

#include "model/hang.h"

/* Of a run of one process that was read with its open ends. */
void assay_hang_find(const assay_run *run, assay_hang *out);
void assay_hang_free(assay_hang *h);

#endif
