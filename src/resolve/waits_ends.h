/* When work ended: what time itself can testify. */
#ifndef ASSAY_RESOLVE_WAITS_ENDS_H
#define ASSAY_RESOLVE_WAITS_ENDS_H

#include "resolve/waits.h"

typedef struct waits_ends {
	const waits *w;
	uint32_t *row; /* of gpu, by source and end */
	int64_t *end;  /* the same */
	size_t *first; /* by source: its first in row; one more than there are sources */
	size_t n;
	assay_marks open;  /* source -> records, by key, that a stream may have waited for unseen;
			    * value: when the call began */
	assay_marks begun; /* source -> starts of work that may have recorded an event then; value:
			    * row of gpu */
} waits_ends;

void waits_ends_make(waits_ends *e, waits *w);
void waits_ends_free(waits_ends *e);

/* May work of the source have ended after `from`, and not after `over`, that was launched before
 * `entered`? Or may some have begun then, with an event that says so? Not counted: the launch of
 * row `but`, whose device's clock `from` is by. */
typedef struct waits_span {
	int64_t from, over, entered;
	uint32_t but;
} waits_span;
bool waits_ended(const waits_ends *e, uint32_t source, waits_span s);
/* The same of the device of row gpu, from and up to. */
bool waits_device_ended(const waits_ends *e, uint32_t gpu, int64_t from, int64_t to);
/* May work of another device have ended after that of row gpu, though their clocks tell otherwise?
 * Launched before `entered`. */
bool waits_other_device_ended(const waits_ends *e, uint32_t gpu, int64_t entered);
/* The last record before this key that a wait which was not recorded may have met; NULL. */
const assay_mark *waits_open_record(const waits_ends *e, uint32_t source, uint64_t key);

#endif
