/* Causes of idle time, each with its place in the program, and which of them belong together. */
#ifndef ASSAY_FIND_IDLE_NAMED_H
#define ASSAY_FIND_IDLE_NAMED_H

#include "find/cause_place.h"
#include "find/finding.h"

typedef struct assay_idle_named {
	assay_found found;
	int cause;
	uint32_t at;   /* own call; ASSAY_NO_ROW */
	bool leads;    /* the program could do without what is done there */
	bool drained;  /* of gaps that blocking calls opened, whatever is done in them */
	bool computes; /* operators that work on the host itself, and launch nothing meanwhile */
	assay_place_time there;
} assay_idle_named;

/* Finds out whether it leads, and what is done at its place. */
void assay_idle_named_look(const assay_run *run, const assay_find_ctx *c, assay_idle_named *n);

/* Puts causes that are one trouble below the one that speaks for it, with what all of them are
 * worth. */
void assay_idle_gather(const assay_run *run, const assay_find_ctx *c, assay_idle_named *all,
		       size_t n);

#endif
