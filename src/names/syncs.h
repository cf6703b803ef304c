/* Waits as CUPTI tells of them, under the names that Kineto gives them. */
#ifndef ASSAY_NAMES_SYNCS_H
#define ASSAY_NAMES_SYNCS_H

#include "base/str.h"

/* X(id, name, does): in the order of CUpti_ActivitySynchronizationType; what a call of that kind
 * does (names/calls.h). */
#define ASSAY_SYNCS(X)                                                                             \
	X(UNKNOWN, "Unknown Sync", BLOCK)                                                          \
	X(EVENT, "Event Sync", EVENT_SYNC)                                                         \
	X(STREAM_WAIT, "Stream Wait Event", WAIT)                                                  \
	X(STREAM, "Stream Sync", STREAM_SYNC)                                                      \
	X(CONTEXT, "Context Sync", DEVICE_SYNC)

typedef enum assay_sync {
#define X(id, name, does) ASSAY_SYNC_##id,
	ASSAY_SYNCS(X)
#undef X
		ASSAY_SYNC_COUNT
} assay_sync;

extern const char *const assay_sync_name[ASSAY_SYNC_COUNT];

/* UNKNOWN for any other name. */
assay_sync assay_sync_of(assay_str name);
/* By the name of the call that waited; UNKNOWN for one that is no wait of its own. */
assay_sync assay_sync_of_call(assay_str call);

#endif
