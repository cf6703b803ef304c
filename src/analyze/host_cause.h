/* What a host thread was doing at an instant, in the words of the gap causes: one classification
 * for the causes of idle time and for the critical path. */
#ifndef ASSAY_ANALYZE_HOST_CAUSE_H
#define ASSAY_ANALYZE_HOST_CAUSE_H

#include "model/run.h"

enum {
	ASSAY_HOST_CAUSE_FIRST = ASSAY_WHY_HOST_SYNC,
	ASSAY_HOST_CAUSE_COUNT = ASSAY_WHY_HOST_UNTRACED - ASSAY_HOST_CAUSE_FIRST + 1
};

typedef struct assay_open_row {
	int64_t end;
	uint32_t row;
} assay_open_row;

/* A thread: its rows that have a cause, by start. */
typedef struct assay_lane {
	uint32_t *row;
	size_t n, next; /* next row that has not begun */
	unsigned live;  /* bits of causes that have rows on their stack */
	assay_vec(assay_open_row) open[ASSAY_HOST_CAUSE_COUNT];
} assay_lane;

typedef struct assay_host_causes {
	const assay_run *run;
	int64_t since, until; /* rows that end before or begin later are left out */
	assay_arena scratch;
	uint8_t *of_name;      /* by string id and way to read it: cause + 1; 0 not asked */
	uint8_t *cause;        /* by row of host; ASSAY_WHY_COUNT when it has none */
	assay_lane **of_track; /* NULL for threads nobody asked for */
} assay_host_causes;

/* What a row of host means by itself; HOST_UNTRACED: nothing. */
assay_why assay_host_row_cause(const assay_run *run, uint32_t host);

/* Ask for threads first, then fill all of them at once. */
void assay_host_causes_init(assay_host_causes *c, const assay_run *run);
void assay_host_causes_want(assay_host_causes *c, uint32_t track);
void assay_host_causes_fill(assay_host_causes *c);
void assay_host_causes_free(assay_host_causes *c);

/* The same rows with a way through them of its own, at their beginning: for another thread. */
assay_lane *assay_lane_fork(const assay_lane *lane, assay_arena *a);
void assay_lane_free(assay_lane *lane);

/* Instants must be asked for in rising order; rewinding starts again. */
void assay_lane_rewind(assay_lane *lane);
/* The cause at an instant, the innermost row that has it (ASSAY_NO_ROW: nothing was recorded), and
 * until when nothing changes (INT64_MAX: to the end). */
assay_why assay_lane_at(const assay_host_causes *c, assay_lane *lane, int64_t now, uint32_t *row,
			int64_t *until);

#endif
