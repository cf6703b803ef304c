/* A place in the program, for people. */
#ifndef ASSAY_ANALYZE_WHERE_H
#define ASSAY_ANALYZE_WHERE_H

#include "model/run.h"

typedef struct assay_where {
	const char *file, *function, *range, *op, *kernel, *host; /* NULL: not known */
	int32_t line;                                             /* 0: not known */
	int32_t rank;                                             /* where has_rank */
	bool has_rank;
} assay_where;

/* Are both the same line of the program? */
bool assay_where_is_line(const assay_where *x, const assay_where *y);

/* File, function and line of a row of stack. */
void assay_where_in_stack(const assay_run *run, uint32_t stack, assay_where *where);

#endif
