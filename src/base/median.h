/* Medians. With an even count two values stand in the middle, and what is taken then differs: the
 * name says it. All put v in another order; n is not 0. */
#ifndef ASSAY_BASE_MEDIAN_H
#define ASSAY_BASE_MEDIAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline size_t assay_lower_middle(size_t n)
{
	return (n - 1) / 2;
}

int64_t assay_median_lower(int64_t *v, size_t n);
int64_t assay_median_upper(int64_t *v, size_t n);
double assay_median_lower_f64(double *v, size_t n);
/* Nine of ten values within so many quarters of the upper median, which is *usual. */
bool assay_mostly_even(int64_t *v, size_t n, int quarters, int64_t *usual);
double assay_median_mean(double *v, size_t n); /* halfway between the two */

#endif
