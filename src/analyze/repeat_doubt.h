/* Steps that may be layers. */
#ifndef ASSAY_ANALYZE_REPEAT_DOUBT_H
#define ASSAY_ANALYZE_REPEAT_DOUBT_H

#include "analyze/repeat_pauses.h"

/* Does what repeats look like a layer of a network, with nothing in it that is done once a step?
 * work: what one device did in these steps. */
bool assay_may_be_layers(const assay_run *run, const assay_places *work, size_t steps);

#endif
