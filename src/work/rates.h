/* What a device can do at most. */
#ifndef ASSAY_WORK_RATES_H
#define ASSAY_WORK_RATES_H

#include "model/run.h"

typedef struct assay_rates {
	const char *name;              /* NULL: not known */
	double peak[ASSAY_MATH_COUNT]; /* operations a second; 0: the device has none, or not known
					*/
	double bandwidth;              /* bytes a second; 0: not known */
	double cache;                  /* bytes of the last cache */
	double clock;                  /* Hz the peaks are made for; 0: not known */
	double best; /* share of the bf16 peak that large products reach; 0: unknown */
	double units;
	double faster; /* share of the peaks that it may reach: clocks above the one of the rates */
	double links; /* bytes a second in one direction to the devices of its machine; 0: not known
		       */
	const char *how; /* in words */
} assay_rates;

/* Of the device of a row of device_time. file: rates that win over the table's, or NULL; false when
 * it cannot be read. */
bool assay_rates_find(assay_rates *out, assay_run *run, uint32_t device_time, const char *file,
		      assay_err *err);

/* The type for matrix products that keeps data in fp32 or costs the least precision, and is faster
 * than fp32: tf32, else a half type. fp32 where the device has neither. */
assay_math assay_rates_beside_fp32(const double peak[ASSAY_MATH_COUNT]);

/* The peak with the narrowest accumulation: GeForce multiplies fp16 and fp8 twice as fast when the
 * sums are fp16, too, as its rate of int8 shows. */
double assay_rates_narrow(const assay_rates *r, assay_math math);

/* The highest peak of any device in the table. */
double assay_rates_fastest(assay_math math);

#endif
