/* The critical path of a step, and the step replayed with other lengths: what the analysis hands to
 * the renderers. */
#ifndef ASSAY_MODEL_PATH_H
#define ASSAY_MODEL_PATH_H

#include "model/run.h"

/* What a stretch of the path is: the three classes of GPU work, the causes of idle time, and the
 * time from one host thread going quiet to another going on. */
enum {
	ASSAY_PATH_WHY = ASSAY_CLASS_COUNT, /* + assay_why */
	ASSAY_PATH_HAND_OFF = ASSAY_PATH_WHY + ASSAY_WHY_COUNT,
	ASSAY_PATH_CLASSES
};

static inline const char *assay_path_class_name(int c)
{
	ASSAY_ASSERT_CHECKED(c >= 0 && c < ASSAY_PATH_CLASSES);
	return c < ASSAY_PATH_WHY        ? assay_class_name[c]
	       : c < ASSAY_PATH_HAND_OFF ? assay_why_name[c - ASSAY_PATH_WHY]
					 : "hand_off";
}

typedef struct assay_path_seg {
	int64_t ts, dur;
	uint32_t host;  /* row of host, or ASSAY_NO_ROW */
	uint32_t gpu;   /* row of gpu: the work, or what was waited for or launched */
	uint32_t track; /* thread or stream; ASSAY_NO_ROW before anything was recorded */
	uint8_t class;
	bool inferred; /* a hand-off or wait that nothing recorded */
} assay_path_seg;

typedef struct assay_path_sum {
	assay_sid name; /* of a kernel, family or scope path */
	uint64_t count; /* stretches */
	int64_t time;   /* ns on the path */
} assay_path_sum;
typedef assay_vec(assay_path_sum) assay_path_sums; /* most time first */

/* A replay of the step. */
typedef struct assay_path_replay {
	int64_t step; /* ns */
	int64_t class[ASSAY_PATH_CLASSES];
} assay_path_replay;

typedef struct assay_path_rule {
	const char *text;
	uint64_t spans; /* host spans in the step it changes */
	uint64_t work;  /* GPU events in the step it changes */
	uint64_t waits; /* launches or dependencies in the step, for classes that are no span */
} assay_path_rule;

typedef struct assay_path {
	assay_arena arena; /* owns all text */
	/* the stretch: [from, to) is tiled by seg */
	int64_t from, to;
	uint32_t step;    /* row of step; ASSAY_NO_ROW: the whole recording */
	uint64_t steps;   /* steps in the input */
	uint64_t chosen;  /* it is the median of so many; 0 when it was asked for */
	uint32_t source;  /* whose clock and rank */
	uint32_t sources; /* processes in the run; only one is followed */
	assay_vec(assay_path_seg) seg;
	int64_t class[ASSAY_PATH_CLASSES]; /* sum to to - from */
	assay_path_sums kernels;
	int64_t family[ASSAY_FAMILY_COUNT];
	assay_path_sums scopes; /* with what is inside them */
	/* the graph */
	uint64_t points, work; /* instants on threads, GPU events */
	uint64_t deps;         /* dependencies between them */
	uint64_t violated;     /* of these, times contradict them: counted as no delay */
	uint64_t broken;       /* left out: they would point back in time */
	uint64_t inferred;     /* hand-offs between threads */
	uint64_t guessed;      /* waits of streams inferred where nothing recorded explains them */
	uint64_t overlaps;     /* work that ran beside the work before it on its stream */
	uint64_t full;         /* launches that waited for room in a full queue */
	int64_t launch_latency, stream_gap, sync_return, sync_call; /* typical, ns */
	assay_path_replay same;                                     /* nothing changed */
	assay_vec(assay_path_rule) rules;
	assay_path_replay changed; /* when there are rules */
	const char *sentence;
} assay_path;

static inline double assay_path_error(const assay_path *p)
{
	double measured = (double)(p->to - p->from);
	return measured > 0 ? 100 * ((double)p->same.step - measured) / measured : 0;
}

#endif
