/* Where in the program a cause of idle time is at home: the line where the launching thread was for
 * most of it, and the thread or child process that it waited for there. */
#ifndef ASSAY_ANALYZE_CAUSE_PLACE_H
#define ASSAY_ANALYZE_CAUSE_PLACE_H

#include "model/run.h"

typedef struct assay_cause_place {
	uint32_t stack;   /* own call of the launching thread; ASSAY_NO_ROW: no stacks */
	uint32_t culprit; /* own call of who it waits for; ASSAY_NO_ROW */
	uint32_t sample;  /* that shows it; ASSAY_NO_ROW */
	int64_t time;     /* ns, in the longest stretches of the gaps */
} assay_cause_place;

/* Of the gaps of a row of device_time within [from, to]. */
assay_cause_place assay_cause_place_find(const assay_run *run, uint32_t device, int64_t from,
					 int64_t to, assay_why cause);
/* The line where a fix belongs: that of who is waited for, else of the thread itself. */
uint32_t assay_cause_place_home(const assay_cause_place *p);
/* "the launching thread is at train.py:12 step; meanwhile process 7 is at ...; about /data/x"; NULL
 * without stacks. */
const char *assay_cause_place_words(assay_arena *a, const assay_run *run,
				    const assay_cause_place *p);

#endif
