/* What the files of the comparison share: figures over steps, and the stages of
 * assay_diff_runs(). */
#ifndef ASSAY_DIFF_STAGES_H
#define ASSAY_DIFF_STAGES_H

#include "analyze/window.h"
#include "diff/diff.h"

/* Mean and spread of a figure over steps. */
typedef struct assay_series {
	double sum, squares;
	size_t n;
} assay_series;

void assay_series_add(assay_series *s, double v);
double assay_series_mean(const assay_series *s);
/* Twice the standard error of the difference of means; -1 when one step tells no spread. */
double assay_series_noise(const assay_series *a, const assay_series *b);
assay_delta assay_series_compare(const char *name, const assay_series *a, const assay_series *b);

/* Standard error of the median of n values, by their median distance from it; sorts them. 1.4826
 * makes that distance a standard deviation, 1.2533 makes the mean's standard error the median's;
 * both for normal noise. */
double assay_spread_error(double *v, size_t n);

/* Steps in order of time. */
typedef struct assay_diff_steps {
	const double *ns;
	const int64_t *number; /* in their markers; -1 none */
	size_t n;
} assay_diff_steps;
/* pairs, and the noise of the step where pairs tell it better. Needs step. */
void assay_diff_align(assay_diff *d, const assay_diff_steps *a, const assay_diff_steps *b);

/* waits: by kind, of the process that drives each main device. */
void assay_diff_waits(assay_diff *d, const assay_run *run[2], const assay_window window[2]);
/* common and unrelated. Needs kernels, ops and lines. */
void assay_diff_alike(assay_diff *d, const assay_run *run[2]);
/* env, or why there is none. */
void assay_diff_env(assay_diff *d, const assay_run *const run[2], const char *const given[2]);
/* switches and sentence; last, from all other rows. */
void assay_diff_explain(assay_diff *d, const assay_run *run[2]);

#endif
