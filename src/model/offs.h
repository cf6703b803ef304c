/* Stretches in which a process was not recorded because somebody switched that off: what lies in
 * them is unknown, and neither idle nor a step. */
#ifndef ASSAY_MODEL_OFFS_H
#define ASSAY_MODEL_OFFS_H

#include "model/run.h"

typedef struct assay_off {
	uint32_t group; /* of sources */
	int64_t from, to;
} assay_off;

/* By group and start; those of a group are apart. */
typedef struct assay_offs {
	assay_vec(assay_off) v;
} assay_offs;

void assay_offs_find(assay_offs *o, const assay_tables *t);
void assay_offs_free(assay_offs *o);
/* Does [from, to) of a group touch one? */
bool assay_offs_touch(const assay_offs *o, uint32_t group, int64_t from, int64_t to);

#endif
