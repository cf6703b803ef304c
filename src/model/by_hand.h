/* Rows for tests that build a run by hand: one process, one thread. */
#ifndef ASSAY_MODEL_BY_HAND_H
#define ASSAY_MODEL_BY_HAND_H

#include "model/run.h"

static inline uint32_t assay_hand_host(assay_run *run, assay_host_kind kind, const char *name,
				       int64_t ts, int64_t dur)
{
	assay_tables *t = &run->part.t;
	uint32_t h = assay_add(t, ASSAY_T_host);
	t->host.kind[h] = (uint8_t)kind;
	t->host.name[h] = assay_sid_of(run, name);
	t->host.ts[h] = ts;
	t->host.dur[h] = dur;
	t->host.track[h] = assay_thread_track(&run->part, 1, 1);
	return h;
}

#endif
