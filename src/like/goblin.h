/* The waste budget of `--like goblin`. */
#ifndef ASSAY_LIKE_GOBLIN_H
#define ASSAY_LIKE_GOBLIN_H

#include "model/goblin.h"

/* in must outlive the result. */
assay_goblin assay_goblin_compute(const assay_goblin_input *in);

#endif
