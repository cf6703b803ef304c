/* Operators of work that ran in graphs, from the calls that put it there. A graph's work belongs to
 * the call that launched the graph; which operators it is made of is only seen while the graph is
 * captured, in the same recording or in one of its own (docs/operators.md, "Graphs"). */
#ifndef ASSAY_WORK_CAPTURES_H
#define ASSAY_WORK_CAPTURES_H

#include "model/run.h"

/* A call between the begin and the end of a capture. */
typedef struct assay_captured_call {
	uint64_t what;  /* kernel by name, copies and memsets by kind; 0: a kernel without a name */
	uint64_t shape; /* grid and block; 0: not recorded */
	uint32_t op;    /* row of captured; ASSAY_NO_ROW */
} assay_captured_call;

typedef struct assay_captures {
	assay_vec(assay_captured_call) call;
	assay_vec(size_t) first; /* of each graph in call, and the end */
	assay_vec(bool) program; /* by graph: it is a program of XLA, what is the stem of a name */
	bool apart;              /* some come from a recording of their own, made to be looked at */
	assay_map place;         /* graph, what and its how-manieth -> place in call */
} assay_captures;

/* Take the graphs that were captured in a recording; operators become rows of run->captured. */
void assay_captures_take(assay_captures *c, assay_run *run, const assay_run *recording);
/* Take the programs of XLA that a profile holds. */
void assay_captures_take_programs(assay_captures *c, assay_run *run);
uint64_t assay_capture_stem(assay_str name);
/* Give the work of graph launches the operators of the graph it fits best (gpu_captured). */
void assay_captures_give(assay_captures *c, assay_run *run);
void assay_captures_free(assay_captures *c);

#endif
