/* Which way a copy goes, by its name. */
#ifndef ASSAY_NAMES_COPIES_H
#define ASSAY_NAMES_COPIES_H

#include "base/str.h"

typedef enum assay_copy_way {
	ASSAY_COPY_TO_DEVICE,
	ASSAY_COPY_TO_HOST,
	ASSAY_COPY_ON_DEVICE,
	ASSAY_COPY_ON_HOST,
	ASSAY_COPY_BETWEEN,   /* devices */
	ASSAY_COPY_ELSEWHERE, /* or not told */
	ASSAY_COPY_WAYS
} assay_copy_way;

assay_copy_way assay_copy_way_of(assay_str name);
/* "HtoD"; NULL where nothing is known of it. */
const char *assay_copy_way_short(assay_copy_way way);
/* Where it is known to begin or to end. */
bool assay_copy_from_host(assay_copy_way way);
bool assay_copy_to_host(assay_copy_way way);
/* May an asynchronous copy of this name, "Memcpy HtoD (Pinned -> Device)", hold its caller up? */
bool assay_copy_may_block(assay_str name);
/* Pages of managed memory that moved because somebody touched them: no call asked for it. */
bool assay_copy_is_migration(assay_str name);

/* A copy of fewer bytes takes as long as its call; so many of them in a step could be one. */
enum { ASSAY_SMALL_COPY = 256 << 10, ASSAY_MANY_COPIES = 8 };

#endif
