/* Memory of devices over time. */
#ifndef ASSAY_ANALYZE_MEMORY_H
#define ASSAY_ANALYZE_MEMORY_H

#include "model/run.h"

/* source.memory_peak, memory, memory_point and memory_holder, from alloc and telemetry. */
void assay_memory(assay_run *run);

/* memory_holder: who took the blocks (rows of alloc) that are held at the peak of a row of
 * memory. */
void assay_memory_holders(assay_run *run, uint32_t memory, const uint32_t *block, size_t n);

#endif
