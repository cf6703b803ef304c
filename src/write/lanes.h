/* What threads were seen doing, as spans that nest: functions of Python, below them those of
 * libraries, below these what the thread did in the system. Made of the stacks of calls and of
 * looks. A span goes from the first to the last sight of its function; calls of it that no other
 * sight lies between are one. */
#ifndef ASSAY_WRITE_LANES_H
#define ASSAY_WRITE_LANES_H

#include "model/run.h"

typedef struct assay_lane_span {
	int64_t ts, dur;
	uint32_t track;
	uint32_t stack;  /* ASSAY_NO_ROW: what it did in the system */
	uint32_t sample; /* then: the look that shows it */
	uint32_t parent; /* index in the list, ASSAY_NO_ROW for the outermost */
} assay_lane_span;

typedef assay_vec(assay_lane_span) assay_lanes;

/* By track, then time, outer ones first. The caller frees the list. */
void assay_lanes_make(const assay_run *run, assay_lanes *lanes);
/* "train.py(12): step", as Kineto calls functions: the line is where the function begins. */
const char *assay_lane_name(assay_arena *a, const assay_run *run, const assay_lane_span *s);

#endif
