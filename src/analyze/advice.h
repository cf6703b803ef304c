/* Troubles of compute that have a remedy: what they cost in the window and what to change. */
#ifndef ASSAY_ANALYZE_ADVICE_H
#define ASSAY_ANALYZE_ADVICE_H

#include "analyze/window.h"

typedef struct assay_advice {
	const char *id, *what, *fix; /* what: "... takes" stands before the time in a sentence */
	int64_t total;               /* ns of the window; no two advices sell the same */
	uint64_t calls;
	uint32_t shape; /* row of op_shape that costs most; ASSAY_NO_ROW: none */
	double confidence;
} assay_advice;

typedef assay_vec(assay_advice) assay_advices;

/* Those above 1 % of the window, in no order. Needs call_part. */
void assay_advices_find(assay_advices *out, const assay_run *run, const assay_window *w);

#endif
