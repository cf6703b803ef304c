/* Time by scope: the instances of the scope table put together by path, by name, or not at all. */
#ifndef ASSAY_ANALYZE_SCOPES_H
#define ASSAY_ANALYZE_SCOPES_H

#include "model/hand_off.h"

typedef enum assay_scopes_by {
	ASSAY_SCOPES_BY_PATH,
	ASSAY_SCOPES_BY_NAME,
	ASSAY_SCOPES_BY_INSTANCE,
	ASSAY_SCOPES_BY_FORWARD, /* by path; gradients where their forward operator was */
} assay_scopes_by;

typedef struct assay_scope_node {
	uint32_t parent; /* node, or ASSAY_NO_ROW; parents come before their children */
	uint32_t depth;
	uint32_t scope;       /* row of scope of its first instance */
	assay_sid name;       /* of its first instance; others may differ in a number behind '#' */
	uint64_t count;       /* instances */
	uint64_t timed;       /* of these, known to have been open for a time */
	uint64_t work;        /* GPU events inside, children included */
	int64_t host;         /* time the ranges were open, ns */
	int64_t host_self;    /* of these, outside child ranges on the same thread */
	int64_t gpu_busy;     /* union over the work inside, each device on its own */
	int64_t gpu_sum;      /* sum of the durations of the work inside */
	int64_t gpu_self;     /* of these, not inside a child */
	int64_t gpu_grad;     /* BY_FORWARD: of gpu_sum, gradients of operators inside */
	int64_t gpu_inferred; /* of gpu_sum, there because its thread waited for another */
	int64_t waits;        /* in calls that wait for the device */
	int64_t idle;         /* device idle between the first and last work of each instance */
} assay_scope_node;

typedef struct assay_scope_times {
	assay_vec(assay_scope_node) node;
	uint64_t steps;           /* 0: no markers */
	int64_t whole;            /* ns that are 100 %: all steps, or first to last event */
	uint64_t work, work_none; /* GPU events; of these, in no scope */
	int64_t sum, sum_none;    /* their durations */
	int64_t sum_grad;         /* of sum, gradients whose forward operator is known */
	uint32_t none_thread;     /* track that launched most of work_none, or ASSAY_NO_ROW */
	uint64_t none_launched;   /* by it */
	assay_vec(assay_handed) inferred; /* of work, by threads; most first */
} assay_scope_times;

enum { ASSAY_SCOPES_ALL_STEPS = -1 };

/* Scopes of the instructions that command buffers of XLA replay, below those of the buffers. Needs
 * assay_scopes() and gpu_captured. */
void assay_scopes_of_programs(assay_run *run);
bool assay_scope_is_of_program(const assay_scope_table *s, uint32_t scope);

/* step: only what was launched in the step of that number. Needs assay_scopes() and steps. */
void assay_scope_times_of(const assay_run *run, assay_scopes_by by, int64_t step,
			  assay_scope_times *out);
void assay_scope_times_free(assay_scope_times *times);

#endif
