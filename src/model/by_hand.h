/* Rows for tests that build a run by hand: one process, one thread, one stream. */
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
	if (assay_is_call((uint8_t)kind))
		t->host.detail[h] = assay_add(t, ASSAY_T_api);
	return h;
}

/* A kernel, launched by this row of host or ASSAY_NO_ROW. */
static inline uint32_t assay_hand_gpu(assay_run *run, const char *name, int64_t ts, int64_t dur,
				      uint32_t launch)
{
	assay_tables *t = &run->part.t;
	uint32_t g = assay_add(t, ASSAY_T_gpu), l = assay_add(t, ASSAY_T_launch);
	t->gpu.name[g] = assay_sid_of(run, name);
	t->gpu.ts[g] = ts;
	t->gpu.dur[g] = dur;
	t->gpu.track[g] = assay_stream_track(&run->part, 0, 7);
	t->launch.host[l] = launch;
	return g;
}

#endif
