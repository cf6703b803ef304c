/* For who makes rows without assay_add(), to save the writing of absent values: ASSAY_COLUMNS_gap
 * is how many columns gap has, ASSAY_NOT_ZERO_gap how many of them are absent by another number
 * than 0. A static_assert tells who adds a column where it has to be set, too. */
#ifndef ASSAY_MODEL_COLUMNS_H
#define ASSAY_MODEL_COLUMNS_H

#include <assert.h>

#include "model/tables.h"

#define TABLE(t, doc)                      enum { ASSAY_COLUMNS_##t = 0
#define COL(t, type, c, unit, absent, doc) +1
#define END(t)                                                                                     \
	}                                                                                          \
	;
#include "model/tables.def"

#define TABLE(t, doc)                      enum { ASSAY_NOT_ZERO_##t = 0
#define COL(t, type, c, unit, absent, doc) +((uint64_t)(absent) != 0)
#define END(t)                                                                                     \
	}                                                                                          \
	;
#include "model/tables.def"

#endif
