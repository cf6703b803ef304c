/* The critical path of a step, and what the step would take with other lengths. */
#ifndef ASSAY_PATH_PATH_H
#define ASSAY_PATH_PATH_H

#include "model/path.h"

enum { ASSAY_PATH_MEDIAN = -1, ASSAY_PATH_ALL = -2 };

typedef struct assay_path_opts {
	int64_t step; /* number, or one of the above */
	const char *const *what_if;
	size_t what_ifs;
} assay_path_opts;

/* Needs an analyzed run and assay_scopes(). False: no such step, a bad expression, one that matches
 * nothing, or nothing to follow. Free out in either case. */
bool assay_path_find(assay_run *run, const assay_path_opts *opts, assay_path *out, assay_err *err);
void assay_path_free(assay_path *path);

#endif
