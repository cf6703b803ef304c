/* Marks that serving engines put around a step: which requests it worked on. */
#ifndef ASSAY_NAMES_SERVING_H
#define ASSAY_NAMES_SERVING_H

#include <stdbool.h>

#include "base/str.h"

typedef enum assay_phase {
	ASSAY_PHASE_NONE,
	ASSAY_PHASE_PREFILL,
	ASSAY_PHASE_DECODE,
	ASSAY_PHASE_MIXED,
	ASSAY_PHASE_COUNT,
} assay_phase;

extern const char *const assay_phase_name[]; /* "" for none */

typedef struct assay_serving {
	assay_phase phase;
	double requests, tokens;
	bool sums;                    /* those below are known */
	double queries_by_keys, keys; /* sum over requests of query x key length less what causality
				       * masks; of key lengths */
} assay_serving;

/* false when the name is no such mark. */
bool assay_serving_parse(assay_str name, assay_serving *out);

#endif
