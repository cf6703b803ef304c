/* The forward call whose gradient an operator computes. */
#ifndef ASSAY_WORK_OP_FORWARD_H
#define ASSAY_WORK_OP_FORWARD_H

#include "model/run.h"

typedef struct assay_forwards {
	assay_map
		calls; /* name, process and sequence number -> row of host; name alone: was read */
} assay_forwards;

/* Row of host; ASSAY_NO_ROW when it was not recorded. */
uint32_t assay_forward_of(assay_forwards *f, assay_run *run, uint32_t gradient);
void assay_forwards_free(assay_forwards *f);

#endif
