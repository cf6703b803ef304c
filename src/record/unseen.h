/* Ranges that a thread pushed while recording was off: neither they nor their pops are told, but
 * the pops of those that were told always are. */
#ifndef ASSAY_RECORD_UNSEEN_H
#define ASSAY_RECORD_UNSEEN_H

#include <stdbool.h>
#include <stdint.h>

enum { UNSEEN_DOMAINS = 4 }; /* of a thread; ranges of more of them are always told */

/* One bit a push that is open, the innermost lowest; 1: it was not told. Of more than 64 the
 * outermost count as told. */
typedef struct unseen {
	const void *domain[UNSEEN_DOMAINS];
	uint64_t pushes[UNSEEN_DOMAINS];
	uint32_t n;
} unseen;

static inline uint64_t *unseen_of(unseen *u, const void *domain)
{
	for (uint32_t i = 0; i < u->n; i++)
		if (u->domain[i] == domain)
			return &u->pushes[i];
	if (u->n == UNSEEN_DOMAINS)
		return (uint64_t *)0;
	u->domain[u->n] = domain;
	return &u->pushes[u->n++];
}

/* Is the push to be told? */
static inline bool unseen_push(unseen *u, const void *domain, bool recording)
{
	uint64_t *pushes = unseen_of(u, domain);
	if (pushes)
		*pushes = *pushes << 1 | !recording;
	return recording || !pushes;
}

/* Was the push told that this pop ends? */
static inline bool unseen_pop(unseen *u, const void *domain)
{
	uint64_t *pushes = unseen_of(u, domain);
	bool told = !pushes || !(*pushes & 1);
	if (pushes)
		*pushes >>= 1;
	return told;
}

#endif
