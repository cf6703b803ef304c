/* GPU work of each device in time order: sorted once, read by every analysis. */
#ifndef ASSAY_ANALYZE_ORDER_H
#define ASSAY_ANALYZE_ORDER_H

#include "model/offs.h"

typedef struct assay_order_device {
	uint64_t key;    /* group of sources, then device number */
	size_t first, n; /* in row[] and classes[] */
} assay_order_device;

typedef struct assay_order {
	uint32_t *row;    /* rows of gpu, device after device, by start */
	uint8_t *classes; /* assay_class of row[i] */
	size_t rows;
	assay_vec(assay_order_device) device; /* same order as device_time */
	assay_offs offs;
} assay_order;

/* Needs the kernel table. */
void assay_order_build(assay_order *order, const assay_run *run);
void assay_order_free(assay_order *order);

/* Lengths of nested unions of work given in order of start; what each event adds behind the running
 * end of a union. */
enum {
	ASSAY_SET_ALL,
	ASSAY_SET_COMPUTE_COMM,
	ASSAY_SET_COMPUTE,
	ASSAY_SET_COMM,
	ASSAY_SET_COPY,
	ASSAY_SETS
};

typedef struct assay_cover {
	int64_t end[ASSAY_SETS], length[ASSAY_SETS];
	uint64_t gaps;
	int64_t sum;
	const assay_offs *offs; /* of the group; NULL: never off */
	uint32_t group;
	int64_t off; /* gaps in which recording was off, and which are none */
} assay_cover;

assay_cover assay_cover_from(int64_t start);
/* The same of a device that may not have been recorded at all times. */
assay_cover assay_cover_of(const assay_order *order, const assay_order_device *d, int64_t start);
uint32_t assay_order_group(const assay_order_device *d);
void assay_cover_add(assay_cover *s, assay_class of, int64_t start, int64_t end);

#endif
