/* Where traces have Python frames as rows of host: which of them a cause's time was spent in. */
#ifndef ASSAY_FIND_FRAME_TIME_H
#define ASSAY_FIND_FRAME_TIME_H

#include "analyze/idle_where.h"

typedef struct assay_frame_time {
	int64_t all;             /* of the cause, inside any frame */
	assay_idle_name own;     /* the innermost frame of the program itself with most of it */
	assay_idle_name deepest; /* down the calls, the last with more than two fifths of it; no
				    name: there is none */
	unsigned way;            /* through libraries that a third of it goes; assay_detours */
} assay_frame_time;

assay_frame_time assay_frame_time_of(const assay_run *run, const assay_window *w, int cause);

#endif
