/* Calls that two threads made at the same time. */
#ifndef ASSAY_RESOLVE_WAITS_RACES_H
#define ASSAY_RESOLVE_WAITS_RACES_H

#include "resolve/waits.h"

/* Marks records of which nobody knows whose command entered a stream first: keys tell who began
 * first. Once all of them are there. */
void waits_find_races(waits *w);

#endif
