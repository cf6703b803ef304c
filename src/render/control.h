/* What a recording that is under way says of itself. */
#ifndef ASSAY_RENDER_CONTROL_H
#define ASSAY_RENDER_CONTROL_H

#include <stdio.h>

#include "base/str.h"

typedef struct assay_control_state {
	bool ok, recording;
	assay_str error;
	int64_t left;                  /* ns that it is recorded yet, 0: until it is switched off */
	int64_t first_step, last_step; /* last 0: all of them */
	int64_t step;                  /* farthest that a process is, -1 unknown */
	uint64_t processes, on, late, records, lost;
} assay_control_state;

void assay_control_text(FILE *out, const char *run, const assay_control_state *s);

#endif
