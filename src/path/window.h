/* The step whose path is asked for, in measured time and in replays. */
#ifndef ASSAY_PATH_WINDOW_H
#define ASSAY_PATH_WINDOW_H

#include "path/graph.h"

/* A step is over when its marker and all work launched in it are; it begins with its marker, or
 * when the step before it is over, whichever is later: steps that overlap are counted by their
 * ends, so that their lengths add up. */
typedef struct assay_path_window {
	uint32_t step, before, after; /* rows of step, or ASSAY_NO_ROW */
	uint64_t steps;
	uint64_t chosen; /* steps it is the median of; 0 when it was asked for */
	bool on_device;  /* steps are stretches of device time */
	int64_t from, to;
	int64_t since; /* when the steps before it began that may still show in it; INT64_MIN: all
			*/
	int64_t until; /* when the step before it is over too */
} assay_path_window;

bool assay_path_window_find(const assay_run *run, uint32_t group, int64_t step,
			    assay_path_window *w, assay_err *err);

/* Fails: there is no event that a path could lead through. */
bool assay_path_nothing(assay_err *err);

/* Where the window lies in times of the graph, and the node its end depends on. */
typedef struct assay_path_bounds {
	int64_t from, to;
	uint32_t last; /* node */
	bool last_end; /* the end of that work, not its start */
} assay_path_bounds;

typedef struct assay_path_marks {
	uint32_t start, end, before_end; /* points, or ASSAY_DEP_NONE */
	uint8_t *member;                 /* by work: bits below */
} assay_path_marks;
enum {
	ASSAY_PATH_OF_STEP = 1,
	ASSAY_PATH_OF_BEFORE = 2,
	ASSAY_PATH_FIRST_AFTER = 4,
	ASSAY_PATH_FIRST_OF_STEP = 8
};

void assay_path_window_mark(assay_path_graph *g, const assay_path_window *w,
			    assay_path_marks *marks);
assay_path_bounds assay_path_window_in(const assay_path_graph *g, const assay_path_window *w,
				       const assay_path_marks *marks, const assay_path_times *times,
				       const int64_t *dur);

#endif
