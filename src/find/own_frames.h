/* Lines of the program itself, by the Python frames of a trace: the innermost one around an
 * instant of a thread. */
#ifndef ASSAY_FIND_OWN_FRAMES_H
#define ASSAY_FIND_OWN_FRAMES_H

#include "find/finding.h"

typedef struct assay_own_frames assay_own_frames;

/* NULL when the run has no frames of the program itself. Lies in the arena. */
const assay_own_frames *assay_own_frames_find(const assay_run *run, assay_arena *a);

/* The line with more than half of a cause's time in rows of this name; false: there is none. */
bool assay_own_line_of_cause(const assay_run *run, const assay_find_ctx *c, int cause,
			     assay_sid name, assay_where *where);
/* The innermost frame of the program itself that a row of host begins in, as a row of host;
 * ASSAY_NO_ROW. */
uint32_t assay_own_frame_of(const assay_run *run, const assay_find_ctx *c, uint32_t host);
/* Its line. */
bool assay_own_line_of(const assay_run *run, const assay_find_ctx *c, uint32_t host,
		       assay_where *where);

/* The line that launched a piece of work. */
bool assay_own_line_of_work(const assay_run *run, const assay_find_ctx *c, uint32_t gpu,
			    assay_where *where);

#endif
