/* Grids in the unit a format has: inputs for AMD count work-items, except those that say they count
 * blocks on every vendor's devices. */
#ifndef ASSAY_MODEL_GRID_H
#define ASSAY_MODEL_GRID_H

#include "model/run.h"

typedef struct assay_grids {
	const assay_gpu_table *gpu;
	const uint8_t *items; /* by track: 1 when its grids are in work-items */
} assay_grids;

assay_grids assay_grids_of(const assay_run *run, assay_arena *arena);
void assay_grid_blocks(const assay_grids *g, uint32_t row, uint32_t out[3]);
/* Saturates: a grid whose work-items do not fit 32 bits is said to have as many as fit. */
void assay_grid_items(const assay_grids *g, uint32_t row, uint32_t out[3]);

/* Multiprocessors or compute units of a device by its number; 0 when the input does not say. */
int32_t assay_device_units(const assay_run *run, int32_t device);
/* Share of that many units which a kernel has blocks for, 1 when nothing tells. */
double assay_grid_fill(const assay_grids *g, uint32_t row, int32_t units);

#endif
