/* The step whose path is asked for, in measured time and in replays. */
#ifndef ASSAY_ANALYZE_PATH_WINDOW_H
#define ASSAY_ANALYZE_PATH_WINDOW_H

#include "analyze/path_graph.h"

/* A step is over when its marker and all work launched in it are; it begins with its marker, or
 * when the step before it is over, whichever is later: steps that overlap are counted by their
 * ends, so that their lengths add up. */
typedef struct path_window {
	uint32_t step, before, after; /* rows of step, or ASSAY_NO_ROW */
	uint64_t steps;
	uint64_t chosen; /* steps it is the median of; 0 when it was asked for */
	bool on_device;  /* steps are stretches of device time */
	int64_t from, to;
	int64_t until; /* when the step before it is over too */
} path_window;

bool path_window_find(const assay_run *run, uint32_t group, int64_t step, path_window *w,
		      assay_err *err);

/* Where the window lies in times of the graph, and the node its end hangs on. */
typedef struct path_bounds {
	int64_t from, to;
	uint32_t last; /* node */
	bool last_end; /* the end of that work, not its start */
} path_bounds;

typedef struct path_marks {
	uint32_t start, end, before_end; /* points, or PATH_SERIAL */
	uint8_t *member;                 /* by work: bits below */
} path_marks;
enum { PATH_OF_STEP = 1, PATH_OF_BEFORE = 2, PATH_FIRST_AFTER = 4, PATH_FIRST_OF_STEP = 8 };

void path_window_mark(path_graph *g, const path_window *w, path_marks *marks);
path_bounds path_window_in(const path_graph *g, const path_window *w, const path_marks *marks,
			   const path_times *times, const int64_t *dur);

#endif
