/* Figures by name in two runs: kernels, operators, lines of the program. */
#ifndef ASSAY_DIFF_NAMES_H
#define ASSAY_DIFF_NAMES_H

#include "diff/stages.h"

typedef struct assay_name_sum {
	const char *same; /* what it is called where the other run is looked at for the same */
	const char *name; /* what people see */
	uint8_t family;   /* assay_family, of kernels */
	uint32_t step;    /* the one being summed */
	double now;       /* its sum so far */
	uint64_t count;
	assay_series time;
} assay_name_sum;

typedef struct assay_names {
	assay_map by_key;  /* number of the caller's -> index in sum */
	assay_map by_same; /* hash of same -> index */
	assay_vec(assay_name_sum) sum;
} assay_names;

/* The sum that a key stands for; NULL when it was never given one. */
assay_name_sum *assay_names_find(const assay_names *s, uint64_t key);
/* Gives a key its sum: the one that is called the same, else a new one. Texts must outlive s. */
assay_name_sum *assay_names_put(assay_names *s, uint64_t key, const char *same, const char *name);
/* Times come step by step; a further one of what is counted already counts as none. */
void assay_name_sum_add_time(assay_name_sum *k, uint32_t step, int64_t ns);
void assay_name_sum_add(assay_name_sum *k, uint32_t step, int64_t ns);
/* After the last one; steps without a name count as 0. */
void assay_names_end(assay_names *s, uint64_t steps);
/* Largest change first. */
void assay_names_diff(assay_deltas *out, const assay_names *a, const assay_names *b,
		      const uint64_t steps[2]);
void assay_names_free(assay_names *s);

#endif
