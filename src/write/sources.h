/* How several inputs share one file: one clock, and ids of processes and of calls that do not
 * meet. */
#ifndef ASSAY_WRITE_SOURCES_H
#define ASSAY_WRITE_SOURCES_H

#include "model/clock.h"

typedef struct assay_source_places {
	assay_clocks clocks;
	uint32_t first;  /* the input whose clock and header the file has: the first trace */
	int64_t *shift;  /* by source, to the clock of the first */
	int64_t *raised; /* by source, what its process ids are raised by */
	uint64_t *corr;  /* by source, what its correlation ids are raised by */
} assay_source_places;

void assay_source_places_find(assay_source_places *p, const assay_run *run, assay_arena *arena);

/* Nanoseconds since 1970 where the source, or the trace it is laid beside, knows them. */
int64_t assay_source_absolute(const assay_source_places *p, uint32_t source, int64_t ts);

#endif
