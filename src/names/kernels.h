/* What GPU work is, by its name or by the operator that launched it. */
#ifndef ASSAY_NAMES_KERNELS_H
#define ASSAY_NAMES_KERNELS_H

#include "base/str.h"

/* What GPU time is spent for. X(id, name) */
#define ASSAY_CLASSES(X)                                                                           \
	X(COMPUTE, "compute")                                                                      \
	X(COMM, "communication")                                                                   \
	X(COPY, "copy")

/* X(id, name, class) */
#define ASSAY_FAMILIES(X)                                                                          \
	X(OTHER, "other", COMPUTE)                                                                 \
	X(GEMM, "gemm", COMPUTE)                                                                   \
	X(ATTENTION, "attention", COMPUTE)                                                         \
	X(CONV, "convolution", COMPUTE)                                                            \
	X(NORM, "norm", COMPUTE)                                                                   \
	X(ELEMENTWISE, "elementwise", COMPUTE)                                                     \
	X(REDUCTION, "reduction", COMPUTE)                                                         \
	X(EMBEDDING, "embedding", COMPUTE)                                                         \
	X(OPTIMIZER, "optimizer", COMPUTE)                                                         \
	X(COLLECTIVE, "collective", COMM)                                                          \
	X(COPY, "copy", COPY)

typedef enum assay_class {
#define X(id, name) ASSAY_CLASS_##id,
	ASSAY_CLASSES(X)
#undef X
		ASSAY_CLASS_COUNT
} assay_class;

typedef enum assay_family {
#define X(id, name, class) ASSAY_FAMILY_##id,
	ASSAY_FAMILIES(X)
#undef X
		ASSAY_FAMILY_COUNT
} assay_family;

extern const char *const assay_class_name[ASSAY_CLASS_COUNT];
extern const char *const assay_family_name[ASSAY_FAMILY_COUNT];
extern const uint8_t assay_family_class[ASSAY_FAMILY_COUNT]; /* assay_class */

/* OTHER when the name tells nothing. */
assay_family assay_family_of_name(assay_str name);
/* What the operator around a launch says about its kernels. */
assay_family assay_family_of_op(assay_str op);

#endif
