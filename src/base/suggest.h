/* The word that was meant: "did you mean". */
#ifndef ASSAY_BASE_SUGGEST_H
#define ASSAY_BASE_SUGGEST_H

#include <stddef.h>

/* Letters to add, drop, replace or swap with their neighbour to make one of the other. */
size_t assay_word_distance(const char *a, const char *b);

typedef struct assay_suggestion {
	const char *meant, *best; /* what was typed; the nearest so far, NULL while none is near */
	size_t distance;
} assay_suggestion;

/* Offers a word; it is taken when it is nearer than those before and near enough to be meant. */
void assay_suggest(assay_suggestion *s, const char *word);

#endif
