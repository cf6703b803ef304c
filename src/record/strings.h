/* Texts already written to the capture, by content. Not thread-safe: the runtime's lock guards
 * it. */
#ifndef ASSAY_RECORD_STRINGS_H
#define ASSAY_RECORD_STRINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct assay_strings {
	struct strings_slot *slot; /* open addressing */
	size_t slots, n;
	uint32_t last; /* highest id given */
} assay_strings;

/* Id of the text; *fresh when it was not known. A text that cannot be remembered for want of memory
 * gets a new id each time. */
uint32_t assay_strings_id(assay_strings *s, const char *p, size_t n, bool *fresh);
/* All are new again, with new ids. */
void assay_strings_forget(assay_strings *s);

#endif
