/* One cause of idle time, put into words: what it costs, why, where, and what to do about it. */
#ifndef ASSAY_FIND_IDLE_TELL_H
#define ASSAY_FIND_IDLE_TELL_H

#include "find/idle_cost.h"
#include "find/idle_named.h"

/* drained: the cost is that of gaps which began in blocking calls. */
assay_idle_named assay_idle_tell(const assay_run *run, const assay_find_ctx *c,
				 const assay_idle_cost *cost, assay_why cause, bool drained);

/* What a loader that keeps up is worth; false: it cannot be replayed. */
bool assay_idle_weigh_data(const assay_find_ctx *c, assay_found *f);

#endif
