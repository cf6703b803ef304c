/* Rows for tests that build a run by hand: one process, one thread, one stream. */
#ifndef ASSAY_MODEL_BY_HAND_H
#define ASSAY_MODEL_BY_HAND_H

#include <assert.h>

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

/* A call that orders work, as recorders tell it with its handles. */
static inline uint32_t assay_hand_event_call(assay_run *run, const char *name, uint64_t corr,
					     int64_t ts, int64_t dur)
{
	assay_event_call_table *e = &run->part.t.event_call;
	uint32_t i = assay_add(&run->part.t, ASSAY_T_event_call);
	e->name[i] = assay_sid_of(run, name);
	e->track[i] = assay_thread_track(&run->part, 1, 1);
	e->corr[i] = corr;
	e->ts[i] = ts;
	e->dur[i] = dur;
	return i;
}

/* A wait of the device for one cause: a row of gap, and of gap_part with the same number. */
static inline uint32_t assay_hand_gap(assay_run *run, assay_why cause, int64_t ts, int64_t dur)
{
	assay_tables *t = &run->part.t;
	uint32_t gap = assay_add(t, ASSAY_T_gap), part = assay_add(t, ASSAY_T_gap_part);
	assert(gap == part);
	t->gap.device[gap] = 0;
	t->gap.ts[gap] = ts;
	t->gap.dur[gap] = t->gap_part.dur[gap] = dur;
	t->gap_part.gap[gap] = gap;
	t->gap_part.cause[gap] = (uint8_t)cause;
	return gap;
}

/* A call of a function, its file and name NULL where they do not matter, by a row of stack or
 * ASSAY_NO_ROW. */
static inline uint32_t assay_hand_stack(assay_run *run, uint32_t caller, const char *file,
					const char *function)
{
	assay_tables *t = &run->part.t;
	uint32_t code = assay_add(t, ASSAY_T_code), stack = assay_add(t, ASSAY_T_stack);
	t->code.file[code] = file ? assay_sid_of(run, file) : 0;
	t->code.function[code] = function ? assay_sid_of(run, function) : 0;
	t->stack.code[stack] = code;
	t->stack.caller[stack] = caller;
	return stack;
}

/* A call of the runtime from there. */
static inline uint32_t assay_hand_call(assay_run *run, uint32_t stack, const char *name, int64_t ts,
				       int64_t dur)
{
	uint32_t call = assay_hand_host(run, ASSAY_HOST_RUNTIME, name, ts, dur);
	run->part.t.api.stack[run->part.t.host.detail[call]] = stack;
	return call;
}

#endif
