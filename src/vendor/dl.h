/* Vendor libraries are opened at run time and bound to a struct of function pointers through a
 * table of names, so that the program builds and runs where they are absent. */
#ifndef ASSAY_VENDOR_DL_H
#define ASSAY_VENDOR_DL_H

#include <stdbool.h>
#include <stddef.h>

typedef struct assay_symbol {
	const char *name;
	size_t at;     /* offset of the pointer in the struct */
	bool required; /* without it the library is of no use */
} assay_symbol;

/* First of the NULL-terminated names that opens and has every required symbol; NULL when none does.
 */
void *assay_dl_bind(const char *const *names, const assay_symbol *table, size_t n, void *api);
void assay_dl_close(void *handle);

#endif
