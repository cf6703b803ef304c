/* Two analyzed runs side by side, per step of their main devices: what the analysis hands to the
 * renderers. */
#ifndef ASSAY_MODEL_DIFF_H
#define ASSAY_MODEL_DIFF_H

#include "model/run.h"

/* A figure per step in both runs. noise is what the difference would reach by chance: twice its
 * standard error over steps; -1 when one of the runs has fewer than two steps. */
typedef struct assay_delta {
	const char *name;
	const char *unit; /* NULL: ns per step */
	double a, b;      /* NaN: unknown */
	double noise;
	double counts[2];   /* per step: launches of a kernel, calls of a wait */
	double count_noise; /* of counts, for waits; as noise */
	double resolved[2]; /* of the counts of a wait, those whose producer is known */
	uint8_t family;     /* assay_family, for kernels */
	bool real;          /* beyond noise and large enough to matter */
} assay_delta;

typedef assay_vec(assay_delta) assay_deltas;

typedef struct assay_fact {
	const char *name, *a, *b;
} assay_fact;

/* Operators of a family run by other code than before. */
typedef struct assay_switch {
	uint8_t family;    /* assay_family */
	const char *a, *b; /* flash, math, ... */
	double change;     /* ns per step that came with it */
	const char *
		library; /* what the environment says about it, "hipblaslt 0.12 -> 0.10"; or NULL */
	bool fallback;   /* to code that is known to be slower */
} assay_switch;

/* A field of the environment that differs, as `assay env diff` tells it. */
typedef struct assay_env_change {
	const char *path, *group, *kind, *why;
	const char *a, *b; /* for people: "(unset)" where a snapshot says so */
	const char *cause; /* path of a difference that explains this one, or NULL */
} assay_env_change;

/* A limit of the growth of a figure: "step>+3%". */
typedef struct assay_gate {
	const char *rule;
	const assay_delta *figure;
	double limit; /* in the figure's unit */
	bool over;    /* the growth is larger */
	bool failed;  /* and larger than noise */
} assay_gate;

typedef struct assay_diff {
	assay_arena arena; /* owns all text */
	uint64_t steps[2];
	assay_delta step;
	double mean[2], spread[2]; /* of the step: mean, and median distance from the median */
	bool by_median;            /* step is the median: both runs have steps enough for that */
	size_t pairs;              /* steps that both runs have, by number or order */
	double correlation;        /* of their lengths */
	bool by_pairs;             /* the step's noise is that of their differences */
	assay_deltas parts;        /* compute, exposed_comm, exposed_copy, idle */
	assay_deltas budget;       /* buckets of waste */
	assay_deltas causes;       /* of idle */
	assay_deltas waits;        /* by kind: the thread blocked, or the stream held up */
	assay_deltas families;     /* of kernels */
	assay_deltas ops;          /* framework operators by their GPU time, largest change first */
	assay_deltas lines;        /* of the program, by the GPU time they launch; the same */
	assay_deltas waited;       /* by the time that the device waits while the thread is there */
	assay_deltas kernels;      /* largest change first */
	assay_vec(assay_switch) switches; /* largest change first */
	assay_vec(assay_fact) facts;      /* versions and choices that differ */
	assay_vec(assay_env_change) env;  /* most consequential first */
	const char *env_missing;          /* why there is no comparison of environments, or NULL */
	uint32_t env_same, env_unknown;   /* fields that agree, and those only one side knows */
	assay_vec(assay_gate) gates;      /* limits that were asked for */
	double common[2];                 /* share of GPU time in kernels that both have */
	bool unrelated;                   /* these seem to be two programs */
	const char *unrelated_by;         /* what says so, a sentence; NULL: they do not */
	bool same;
	const char *sentence;
} assay_diff;

static inline double assay_delta_change(const assay_delta *d)
{
	return d->b - d->a;
}

#endif
