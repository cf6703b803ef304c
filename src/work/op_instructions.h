/* The instruction of a program that a piece of work belongs to. */
#ifndef ASSAY_WORK_OP_INSTRUCTIONS_H
#define ASSAY_WORK_OP_INSTRUCTIONS_H

#include "model/run.h"

typedef struct assay_instructions {
	const assay_run *run;
	assay_map by_name; /* program and name -> row of captured */
	assay_map of_args; /* arguments of work -> 1 + row of captured, 0 none */
	assay_arena scratch;
} assay_instructions;

void assay_instructions_index(assay_instructions *x, const assay_run *run);
/* Row of captured, ASSAY_NO_ROW for none. */
uint32_t assay_instruction_of(assay_instructions *x, uint32_t gpu);
void assay_instructions_free(assay_instructions *x);

#endif
