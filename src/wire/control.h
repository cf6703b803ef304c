/* What whoever controls a recording wants: one page in memory, which `assay record` makes beside
 * the rings and every process that records maps. `assay record` alone writes it, one order at a
 * time; processes wait on `order`, carry it out and say so in their ring file. Like the rings it is
 * private to one version of assay. */
#ifndef ASSAY_WIRE_CONTROL_H
#define ASSAY_WIRE_CONTROL_H

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define ASSAY_CONTROL_MAGIC 0x3154434c52545341u /* "ASTRLCT1" */
#define ASSAY_CONTROL_PAGE  ".control"          /* its name, in the folder of the rings */
enum { ASSAY_CONTROL_BYTES = 4096, ASSAY_CONTROL_NAME = 256 };

typedef struct assay_control {
	uint64_t magic;
	_Atomic uint32_t order;      /* counts orders; a futex of all processes */
	_Atomic uint32_t on;         /* record, within: */
	_Atomic int64_t from, until; /* CLOCK_BOOTTIME; 0: open */
	/* Record these steps of each process instead, whether it is on or not; steps_last 0: no
	 * such order. */
	_Atomic int64_t steps_first, steps_last;
	_Atomic uint32_t steps_orders; /* counts them */
	_Atomic uint32_t flushes;      /* orders to write everything out */
	_Atomic uint32_t marks;        /* orders to mark a moment, the last of them: */
	_Atomic int64_t mark_time;
	char mark_name[ASSAY_CONTROL_NAME];
} assay_control;
static_assert(sizeof(assay_control) <= ASSAY_CONTROL_BYTES, "one page");

/* Is it to be recorded at this time? *next: when that changes by itself, INT64_MAX never. */
static inline bool assay_control_wants(const assay_control *c, int64_t now, int64_t *next)
{
	int64_t from = atomic_load(&c->from), until = atomic_load(&c->until);
	*next = INT64_MAX;
	if (!atomic_load(&c->on) || (until && now >= until))
		return false;
	*next = from && now < from ? from : until ? until : INT64_MAX;
	return now >= from;
}

/* Sleep until the next order after `seen`, at most ns; wake all who do. In every process. */
void assay_control_wait(assay_control *c, uint32_t seen, int64_t ns);
void assay_control_wake(assay_control *c);

#endif
