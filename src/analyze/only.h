/* A part of a run: chosen steps, a stream, a device, a rank. The report is then of the work
 * in that part, and of the host's time around it. */
#ifndef ASSAY_ANALYZE_ONLY_H
#define ASSAY_ANALYZE_ONLY_H

#include "model/run.h"

typedef struct assay_only {
	bool by_step, by_stream, by_device, by_rank;
	int64_t first, last; /* numbers of steps */
	int64_t stream, device, rank;
} assay_only;

/* "5" or "5-7"; "3", or "0x..."; each NULL for all. False: one of them is no such number. */
bool assay_only_parse(assay_only *only, const char *steps, const char *stream, const char *device,
		      const char *rank, assay_err *err);
static inline bool assay_only_any(const assay_only *o)
{
	return o->by_step || o->by_stream || o->by_device || o->by_rank;
}
/* "step 5 to 7, stream 3", in the arena. */
const char *assay_only_words(const assay_only *o, assay_arena *a);

/* Takes everything else out of a run whose launches are linked and whose marked steps are found.
 * Returns, by source, when the first chosen step begins on the device (INT64_MIN: not by steps); in
 * the arena. there: what could have been chosen ("streams 7, 13, steps 0-4"), in the run's. */
const int64_t *assay_only_keep(assay_run *run, const assay_only *only, assay_arena *a,
			       const char **there);

#endif
