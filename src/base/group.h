/* Rows gathered by a key, as by their track. */
#ifndef ASSAY_BASE_GROUP_H
#define ASSAY_BASE_GROUP_H

#include <stddef.h>
#include <stdint.h>

/* Gather n rows (row NULL: 0 to n - 1) by key[row], in the order they come: those of k are
 * out[first[k]] to out[first[k + 1]]. Rows with keys that are not below `keys` are left out; out
 * has room for n, first for keys + 1. */
void assay_group_rows(uint32_t *out, size_t *first, const uint32_t *row, size_t n,
		      const uint32_t *key, size_t keys);
/* The same of rows 0 to n - 1 by key[in[row]], as by the process of their track. */
void assay_group_rows_in(uint32_t *out, size_t *first, size_t n, const uint32_t *in,
			 const uint32_t *key, size_t keys);

#endif
