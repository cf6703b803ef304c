/* Steps made of equal layers. */
#ifndef ASSAY_ANALYZE_REPEAT_PAUSES_H
#define ASSAY_ANALYZE_REPEAT_PAUSES_H

#include "model/run.h"

typedef assay_vec(uint32_t) assay_places;

/* work: rows of gpu in order of time; units: places in it where what repeats begins. Where the host
 * pauses before every Nth unit, these are the steps and the units their layers: puts the places
 * where steps begin into out. False: nothing says so. */
bool assay_pauses_find(const assay_run *run, const assay_places *work, const assay_places *units,
		       assay_places *out);

#endif
