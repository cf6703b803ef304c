/* Troubles of compute that have a remedy: what they cost in the window and what to change. */
#ifndef ASSAY_FIND_ADVICE_H
#define ASSAY_FIND_ADVICE_H

#include "find/finding.h"

/* Work that takes less: all that a call of an operator launches, or a row of gpu. What a call that
 * goes would still take is part of other work, which takes that much longer. */
typedef struct assay_less {
	uint32_t call; /* row of op_call; ASSAY_NO_ROW: a row of gpu */
	uint32_t gpu;
	int64_t ns;
	bool goes; /* it is launched no more */
} assay_less;

typedef struct assay_advice {
	const char *id, *what, *fix; /* what: "... takes" stands before the time in a sentence */
	/* ns of the window; no two pieces of advice count the same: time of kernels, of copies
	 * within the device and of the device's waits between them */
	int64_t compute, copies, gaps;
	int64_t least, most;  /* of compute and copies, what goes for sure and at best */
	uint64_t calls, lone; /* of operators; kernels judged by their names */
	int64_t by_name;      /* ns that these cost */
	uint64_t gone;        /* kernels that are launched no more */
	assay_vec(assay_less) less;
	/* what costs most, each ASSAY_NO_ROW when there is none: */
	uint32_t shape; /* row of op_shape; none where kernels judged by their names cost more */
	uint32_t gpu;   /* row of gpu: a kernel of it */
	uint32_t stack; /* row of stack: the line that launches */
	double confidence;
} assay_advice;

typedef assay_vec(assay_advice) assay_advices;

static inline int64_t assay_advice_total(const assay_advice *v)
{
	return v->compute + v->copies + v->gaps;
}

/* Those above 1 % of the window, in no order. Needs call_part and lone_kernel. */
void assay_advices_find(assay_advices *out, const assay_run *run, const assay_window *w);
void assay_advices_free(assay_advices *found);

/* Its fix, or one that suits the program better. */
const char *assay_remedy_for(const assay_run *run, const assay_find_ctx *c, const assay_advice *v);

#endif
