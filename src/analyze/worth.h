/* What a step would take without a cause: the critical path's graph built once, replayed for each
 * question. */
#ifndef ASSAY_ANALYZE_WORTH_H
#define ASSAY_ANALYZE_WORTH_H

#include "model/run.h"

typedef struct assay_worth assay_worth;

/* NULL: there is no graph, or its replay does not give what was measured. The run must not change
 * while it is open. */
assay_worth *assay_worth_open(assay_run *run);
void assay_worth_close(assay_worth *w);

/* ns of the step that go with the what-if; false when it names nothing in the step. */
bool assay_worth_without(assay_worth *w, const char *what_if, int64_t *saved);

#endif
