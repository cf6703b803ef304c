/* Which of a device's steps stand for the run: those in a row between which nothing else is
 * done. */
#ifndef ASSAY_ANALYZE_STRETCH_H
#define ASSAY_ANALYZE_STRETCH_H

#include "analyze/order.h"

typedef struct assay_stretch {
	size_t first, n;
	size_t apart; /* steps that have other work in them or in front of them: an evaluation */
	double apart_time; /* ns of these */
} assay_stretch;

/* rows: of step_time, of one device, by start. */
assay_stretch assay_stretch_find(const assay_run *run, const assay_order *order, uint32_t device,
				 const uint32_t *rows, size_t n);

#endif
