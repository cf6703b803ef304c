/* Rows of step, numbered by whoever finds them. */
#ifndef ASSAY_MODEL_STEPS_H
#define ASSAY_MODEL_STEPS_H

#include "model/run.h"

/* A step of a process, from - to, with the number of its place among those of the same source where
 * number is ASSAY_STEP_NEXT: the steps of a source are added one after the other. */
enum { ASSAY_STEP_NEXT = -2 };

uint32_t assay_step_add(assay_run *run, uint32_t source, int64_t from, int64_t to, int64_t number,
			assay_sid name, assay_step_origin origin);

#endif
