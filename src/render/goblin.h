/* The result of `--like goblin` as JSON. */
#ifndef ASSAY_RENDER_GOBLIN_H
#define ASSAY_RENDER_GOBLIN_H

#include "base/jsonw.h"
#include "model/goblin.h"

void assay_goblin_json(assay_jsonw *w, const assay_goblin *g);

#endif
