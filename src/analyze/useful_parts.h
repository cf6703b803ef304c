/* What the device's compute time splits into: work/useful.c finds it call by call. */
#ifndef ASSAY_ANALYZE_USEFUL_PARTS_H
#define ASSAY_ANALYZE_USEFUL_PARTS_H

#include "analyze/window.h"

/* Parts of useful_gpu, in ns; they sum to it. X(id, name of its bucket, what it is) */
#define ASSAY_USEFUL_PARTS(X)                                                                      \
	X(AT_BOUND, "at_bound", "what the known work takes at the device's peak")                  \
	X(PRECISION, "precision_path",                                                             \
	  "matrix work in a costlier type than the device or the run has for it")                  \
	X(SHAPE, "kernel_shape", "above the best that calls of the same kind and size reach")      \
	X(UNFUSED, "unfused", "memory traffic between operators that could be one")                \
	X(REST, "compute_rest", "what even the best calls lose to their bound")                    \
	X(UNMODELLED, "unmodelled", "compute whose work is not known")

typedef enum assay_useful_part {
#define X(id, name, text) ASSAY_USEFUL_##id,
	ASSAY_USEFUL_PARTS(X)
#undef X
		ASSAY_USEFUL_PARTS_COUNT
} assay_useful_part;

extern const char *const assay_useful_name[ASSAY_USEFUL_PARTS_COUNT];
extern const char *const assay_useful_text[ASSAY_USEFUL_PARTS_COUNT];

/* Sums over the window; false when no work is known. */
bool assay_useful_sums(const assay_run *run, const assay_window *w,
		       int64_t part[ASSAY_USEFUL_PARTS_COUNT]);

#endif
