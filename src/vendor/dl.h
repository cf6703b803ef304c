/* Binding of a library that may not be there, by a table of symbols. Tells by name what is missing,
 * so that recorders, which see nothing of base/, can use it too. */
#ifndef ASSAY_VENDOR_DL_H
#define ASSAY_VENDOR_DL_H

#include <stdbool.h>
#include <stddef.h>

typedef struct assay_sym {
	const char *names[3]; /* newest first; unused slots stay NULL */
	size_t off;           /* where the pointer goes in the api struct */
	bool must;            /* false: leave NULL, caller checks */
} assay_sym;

/* Fill api from lib. Returns NULL, or the name of a required symbol that is missing. */
const char *assay_dl_bind(void *lib, void *api, const assay_sym *s, size_t n);

#endif
