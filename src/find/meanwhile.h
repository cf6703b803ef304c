/* What other threads of a process did while the one that launches showed nothing. */
#ifndef ASSAY_FIND_MEANWHILE_H
#define ASSAY_FIND_MEANWHILE_H

#include "find/holes.h"
#include "model/run.h"

typedef struct assay_meanwhile {
	uint32_t row;    /* of host, the longest of its name; ASSAY_NO_ROW: nothing lasts as long */
	assay_why cause; /* of such a row */
} assay_meanwhile;

/* A thread that takes work from others shows nothing until it is given some: what another thread is
 * in as long as most such stretches last, and ends before they do, is what it waits for. */
assay_meanwhile assay_meanwhile_find(const assay_run *run, const assay_holes *holes);

#endif
