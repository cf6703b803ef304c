/* Ways through libraries that explain why a host is slow, and have a cure of their own. */
#ifndef ASSAY_ANALYZE_DETOUR_H
#define ASSAY_ANALYZE_DETOUR_H

#include "analyze/window.h"

typedef struct assay_detour {
	const char *says, *fix; /* NULL: no such way has a third of the time */
} assay_detour;

/* What most of a cause's idle time in the window goes through, where stacks tell. */
assay_detour assay_detour_of(const assay_run *run, const assay_window *w, assay_why cause);

#endif
