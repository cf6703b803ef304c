/* What the fake BLAS libraries keep behind their opaque pointers. */
#ifndef ASSAY_FAKE_BLAS_H
#define ASSAY_FAKE_BLAS_H

#include <stdint.h>

typedef struct fake_layout {
	uint32_t type;
	uint64_t rows, cols;
	int32_t batch;
} fake_layout;

typedef struct fake_desc {
	int32_t compute, ta, tb;
} fake_desc;

#endif
