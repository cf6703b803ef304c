/* Two analysed runs side by side, per step of their main devices: what the analysis hands to the
 * renderers. */
#ifndef ASSAY_MODEL_DIFF_H
#define ASSAY_MODEL_DIFF_H

#include "model/run.h"

/* A figure per step in both runs. noise is what the difference would reach by chance: twice its
 * standard error over steps; -1 when one of the runs has fewer than two steps. */
typedef struct assay_delta {
	const char *name;
	double a, b;      /* ns per step */
	double noise;     /* ns */
	double counts[2]; /* launches per step, for kernels */
	uint8_t family;   /* assay_family, for kernels */
	bool real;        /* beyond noise and large enough to matter */
} assay_delta;

typedef struct assay_fact {
	const char *name, *a, *b;
} assay_fact;

typedef struct assay_diff {
	assay_arena arena; /* owns all text */
	uint64_t steps[2];
	assay_delta step;
	assay_vec(assay_delta) parts;    /* compute, exposed_comm, exposed_copy, idle */
	assay_vec(assay_delta) causes;   /* of idle */
	assay_vec(assay_delta) families; /* of kernels */
	assay_vec(assay_delta) kernels;  /* largest change first */
	assay_vec(assay_fact) facts;     /* versions and choices that differ */
	bool same;
	const char *sentence;
} assay_diff;

static inline double assay_delta_change(const assay_delta *d)
{
	return d->b - d->a;
}

#endif
