/* The processes of a recording that goes on. */
#ifndef ASSAY_RENDER_RECENT_H
#define ASSAY_RENDER_RECENT_H

#include <stdio.h>

#include "model/recent.h"

enum { ASSAY_RECENT_SHOWN = 8 };

/* The line above: the first run, whether there are more, and how many processes record at `now`.
 * columns: how wide a line may be. */
void assay_recent_head(FILE *out, const char *run, bool more, size_t alive, int64_t now,
		       size_t columns);
/* A line each of the first ones; now: CLOCK_REALTIME, to tell who fell silent. */
void assay_recent_text(FILE *out, const assay_run *run, const assay_recent *all, int64_t now,
		       size_t columns);

#endif
