/* One time axis for all sources of a run: what pages and viewers draw. */
#ifndef ASSAY_MODEL_CLOCK_H
#define ASSAY_MODEL_CLOCK_H

#include "model/run.h"

/* How the times of a source came to be the run's. */
typedef enum assay_clock {
	ASSAY_CLOCK_EPOCH,   /* the source counts from 1970 */
	ASSAY_CLOCK_RAW,     /* all sources count from somewhere unknown, the same for all */
	ASSAY_CLOCK_START,   /* laid at the start of the run: the source does not say when it was */
	ASSAY_CLOCK_ZONE,    /* a wall clock of unknown zone, taken to be the one that fits */
	ASSAY_CLOCK_NOWHERE, /* cannot be laid on the run's time */
	ASSAY_CLOCK_COUNT
} assay_clock;
extern const char *const assay_clock_name[ASSAY_CLOCK_COUNT];

typedef struct assay_source_clock {
	int64_t first, last; /* its own times; first > last when it has none */
	int64_t shift;       /* run time = time + shift */
	int64_t zone;        /* ns taken off a wall clock */
	assay_clock clock;
} assay_source_clock;

typedef struct assay_clocks {
	const assay_run *run;
	assay_source_clock *source; /* by row of source; from the caller's arena */
	int64_t origin;             /* run time 0, in ns since 1970 when epoch */
	int64_t length;
	bool epoch;
} assay_clocks;

void assay_clocks_find(assay_clocks *p, const assay_run *run, assay_arena *arena);

#endif
