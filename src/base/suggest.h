/* The word that was meant: "did you mean". */
#ifndef ASSAY_BASE_SUGGEST_H
#define ASSAY_BASE_SUGGEST_H

#include <stddef.h>

typedef struct assay_suggestion {
	const char *meant, *best; /* what was typed; the nearest so far, NULL while none is near */
	size_t distance;
} assay_suggestion;

/* Offers a word; it is taken when it is nearer than those before and near enough to be meant. */
void assay_suggest(assay_suggestion *s, const char *word);

#endif
