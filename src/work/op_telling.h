/* What kernels tell of the call they belong to, where no operator was recorded. */
#ifndef ASSAY_WORK_OP_TELLING_H
#define ASSAY_WORK_OP_TELLING_H

#include "model/grid.h"

typedef struct assay_telling {
	assay_run *run;
	assay_tables *t;
	assay_map how;     /* names of kernels that tell */
	assay_map by_grid; /* such a name with a grid -> 1 + row of captured, 0 none */
	assay_arena scratch;
} assay_telling;

/* Needs kernel. false: none tells anything. */
bool assay_telling_index(assay_telling *x, assay_run *run);
/* Row of captured, ASSAY_NO_ROW where the kernel does not tell. */
uint32_t assay_telling_of(assay_telling *x, const assay_grids *grids, uint32_t gpu);
void assay_telling_free(assay_telling *x);

#endif
