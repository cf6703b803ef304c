/* Which stream work was put into, where the recorder shows it elsewhere. */
#ifndef ASSAY_RESOLVE_WAITS_HOMES_H
#define ASSAY_RESOLVE_WAITS_HOMES_H

#include "resolve/waits.h"

/* After the devices that threads have chosen. */
void waits_find_homes(waits *w);
/* The stream of work, a row of track. */
uint32_t waits_home_of(const waits *w, uint32_t gpu);
/* Is it a copy between devices, perhaps? */
bool waits_may_be_between(const waits *w, uint32_t gpu);
/* Such a one of which nobody knows whose stream it is in. */
bool waits_is_homeless(const waits *w, uint32_t gpu);
/* The device on which all streams at this address were made, by calls that tell; -1 unknown. */
int32_t waits_made_on(const waits *w, uint32_t source, uint64_t handle);

#endif
