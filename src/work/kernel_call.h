/* The call of an operator that a kernel's name and grid tell, where no operator was recorded. */
#ifndef ASSAY_WORK_KERNEL_CALL_H
#define ASSAY_WORK_KERNEL_CALL_H

#include "base/arena.h"

typedef struct assay_kernel_call {
	const char *op;   /* as work.def has it */
	const char *args; /* JSON members, as operators have them */
} assay_kernel_call;

/* The operator whose call a grid may tell; NULL when none could. */
const char *assay_kernel_tells(assay_str name);
/* grid: blocks. false when they do not tell. */
bool assay_kernel_call_of(assay_str name, const uint32_t grid[3], assay_arena *a,
			  assay_kernel_call *out);

#endif
