/* Where the time of a wait was spent, and what ranks waited for in collectives. */
#ifndef ASSAY_RENDER_WAIT_CHAINS_H
#define ASSAY_RENDER_WAIT_CHAINS_H

#include <stdio.h>

#include "base/jsonw.h"
#include "model/run.h"

/* Rows of chain, and collectives, by what they belong to. */
typedef struct assay_chain_index {
	assay_map first; /* row of wait -> its first row of chain */
	assay_map call;  /* row of gpu -> row of call */
} assay_chain_index;

void assay_chain_index_make(assay_chain_index *x, const assay_run *run);
void assay_chain_index_free(assay_chain_index *x);

/* Row of call: the collective that the work is and that another rank was late for; ASSAY_NO_ROW. */
uint32_t assay_chain_late_call(const assay_run *run, const assay_chain_index *x, uint32_t gpu);

/* Below a wait, last stretch first; nothing when it was not followed. The text of many stretches
 * is a sum of those that read the same, longest first. */
void assay_chain_text(FILE *out, assay_run *run, const assay_chain_index *x, uint32_t wait);
void assay_chain_json(assay_jsonw *j, assay_run *run, const assay_chain_index *x, uint32_t wait);

/* Collectives in which a rank waited for another, longest first; the sums are those of the
 * ranks. */
void assay_collective_waits_text(FILE *out, assay_run *run, size_t top);
void assay_collective_waits_json(assay_jsonw *j, assay_run *run, size_t top);

#endif
