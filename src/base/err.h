/* Errors: an operation that cannot be done fills an assay_err and returns false. */
#ifndef ASSAY_BASE_ERR_H
#define ASSAY_BASE_ERR_H

#include <assay/assay.h>

/* Fill err (may be NULL) and return false, so that a failure is one line at the call. */
bool assay_fail(assay_err *err, assay_code code, uint64_t pos, const char *fmt, ...)
	ASSAY_PRINTF(4, 5);

#endif
