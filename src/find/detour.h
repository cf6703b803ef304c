/* Ways through libraries that explain why a host is slow, and have a cure of their own. */
#ifndef ASSAY_FIND_DETOUR_H
#define ASSAY_FIND_DETOUR_H

#include "analyze/window.h"

typedef struct assay_detour {
	const char *says, *fix; /* NULL: no such way has a third of the time */
	assay_why as;           /* the cause that it really is; ASSAY_WHY_COUNT: as it was found */
} assay_detour;

/* By row of stack, the innermost way it leads through, a number below assay_detours, among those
 * for any cause and for this one. In the arena. */
const uint8_t *assay_detours_of_stacks(const assay_run *run, assay_why cause, assay_arena *a);
extern const uint8_t assay_detours;
/* Does what such a way has the device do go with it? */
bool assay_detour_goes(uint8_t way);
/* The one on which checkpoints compute a block once more. */
uint8_t assay_detour_by_checkpoints(void);
assay_detour assay_detour_number(uint8_t way);

/* The one that a Python frame of a trace, "file(line): function", leads through; assay_detours:
 * none with a cure for whatever cause. */
unsigned assay_detour_of_frame(assay_str frame);
/* Of a frame, from its caller's and its own. */
unsigned assay_detour_inside(unsigned caller, unsigned own);
/* Has it anything to say? */
bool assay_detour_says(unsigned way);
/* Enough of a cause's time for a way to speak for it. */
bool assay_detour_has_enough(int64_t time, int64_t all);

/* What most of a cause's idle time in the window goes through, where stacks tell. */
assay_detour assay_detour_of(const assay_run *run, const assay_window *w, assay_why cause);

#endif
