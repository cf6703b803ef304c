/* Which open ranges are the ones --only-range names, for ranges of any library of markers.
 * Pushed ranges belong to a thread and a domain; started ones end by id, on any thread. */
#ifndef ASSAY_RECORD_CHOSEN_H
#define ASSAY_RECORD_CHOSEN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "record/rt.h"

enum { CHOSEN_STARTED = 64 }; /* open at once; more are not seen as chosen */

/* Of one thread. Pushes of other domains neither open nor close it. */
typedef struct chosen_push {
	bool open;
	const void *domain;
	uint32_t inside; /* pushes of that domain since */
} chosen_push;

/* Did it open one? */
static inline bool chosen_on_push(chosen_push *c, const void *domain, bool is_chosen)
{
	if (c->open) {
		c->inside += c->domain == domain;
		return false;
	}
	if (is_chosen)
		*c = (chosen_push){.open = true, .domain = domain};
	return is_chosen;
}

/* Did it close one? */
static inline bool chosen_on_pop(chosen_push *c, const void *domain)
{
	if (!c->open || c->domain != domain)
		return false;
	if (c->inside) {
		c->inside--;
		return false;
	}
	c->open = false;
	return true;
}

/* Of the process: ids that are open, 0 for a free place. */
typedef _Atomic uint64_t chosen_ids[CHOSEN_STARTED];

static inline void chosen_on_start(chosen_ids ids, uint64_t id, bool is_chosen)
{
	for (int i = 0; is_chosen && id && i < CHOSEN_STARTED; i++) {
		uint64_t none = 0;
		if (atomic_compare_exchange_strong(&ids[i], &none, id)) {
			assay_rt_range(1);
			return;
		}
	}
}

static inline void chosen_on_stop(chosen_ids ids, uint64_t id)
{
	for (int i = 0; assay_rt_ranged() && id && i < CHOSEN_STARTED; i++) {
		uint64_t open = id;
		if (atomic_compare_exchange_strong(&ids[i], &open, 0)) {
			assay_rt_range(-1);
			return;
		}
	}
}

#endif
