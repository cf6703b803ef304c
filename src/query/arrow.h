/* Relations and results of SQL as Arrow C streams, for pandas, polars, pyarrow, DuckDB.
 *
 * The structs are Arrow's C data interface (its specification gives them to be copied by everyone).
 */
#ifndef ASSAY_QUERY_ARROW_H
#define ASSAY_QUERY_ARROW_H

#include "query/relation.h"

struct ArrowSchema {
	const char *format, *name, *metadata;
	int64_t flags, n_children;
	struct ArrowSchema **children, *dictionary;
	void (*release)(struct ArrowSchema *);
	void *private_data;
};

struct ArrowArray {
	int64_t length, null_count, offset, n_buffers, n_children;
	const void **buffers;
	struct ArrowArray **children, *dictionary;
	void (*release)(struct ArrowArray *);
	void *private_data;
};

struct ArrowArrayStream {
	int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *);
	int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *);
	const char *(*get_last_error)(struct ArrowArrayStream *);
	void (*release)(struct ArrowArrayStream *);
	void *private_data;
};

/* A table or view in one batch. Numbers that stand in the table itself are not copied; the stream
 * and what it hands out hold the run. */
bool assay_arrow_relation(assay_run *run, const char *name, struct ArrowArrayStream *out,
			  assay_err *err);
/* The rows of one statement in one batch. A column is whole numbers, reals or text, whichever its
 * values need. */
bool assay_arrow_sql(assay_run *run, const char *text, struct ArrowArrayStream *out,
		     assay_err *err);

#endif
