/* Makers of GPUs. */
#ifndef ASSAY_NAMES_VENDORS_H
#define ASSAY_NAMES_VENDORS_H

#include "base/str.h"

/* X(id, name in tables, name in XPlane, words in names of products) */
#define ASSAY_VENDORS(X)                                                                           \
	X(UNKNOWN, "", "", NULL)                                                                   \
	X(NVIDIA, "nvidia", "Nvidia", NVIDIA_WORDS)                                                \
	X(AMD, "amd", "AMD", AMD_WORDS)                                                            \
	X(INTEL, "intel", "Intel", INTEL_WORDS)

typedef enum assay_vendor {
#define X(id, name, title, words) ASSAY_VENDOR_##id,
	ASSAY_VENDORS(X)
#undef X
		ASSAY_VENDOR_COUNT
} assay_vendor;

extern const char *const assay_vendor_name[ASSAY_VENDOR_COUNT];  /* "amd" */
extern const char *const assay_vendor_title[ASSAY_VENDOR_COUNT]; /* "AMD" */

/* By the name in tables or XPlane, of any case. */
assay_vendor assay_vendor_of(assay_str name);
/* By a product's name, "NVIDIA H100 80GB HBM3", or an architecture, "gfx942". */
assay_vendor assay_vendor_of_product(assay_str product);

/* The next architecture of AMD named in *text, which is then what follows it: "gfx90a" of
 * "Kernels.so-000-gfx90a-xnack+.hsaco". Empty when there is none. */
assay_str assay_gfx_in(assay_str *text);
/* Major, minor and step: 9, 4, 2 of "gfx942". False when it is no such name. */
bool assay_gfx_parts(assay_str arch, int64_t part[3]);

#endif
