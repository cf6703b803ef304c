/* Operators that wait for the device before they return. */
#ifndef ASSAY_NAMES_WAITERS_H
#define ASSAY_NAMES_WAITERS_H

#include "base/str.h"

typedef struct assay_waiter {
	const char *word, *op, *fix;
	bool stays; /* the operator, when nothing waits */
} assay_waiter;

extern const assay_waiter assay_waiters[];
extern const size_t assay_waiters_n;

/* The row that a kernel's name leads to; assay_waiters_n: none. */
size_t assay_waiter_of_kernel(assay_str name);

#endif
