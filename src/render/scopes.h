/* Time by scope, for people, for flame graphs, for programs. */
#ifndef ASSAY_RENDER_SCOPES_H
#define ASSAY_RENDER_SCOPES_H

#include <stdio.h>

#include "base/jsonw.h"
#include "model/hand_off.h"

/* What is shown of a node; the caller fills it from the analysis. Parents come first. */
typedef struct assay_scope_line {
	uint32_t parent; /* line, or ASSAY_NO_ROW */
	uint32_t depth;
	int64_t id; /* scope id when the line is one instance, else 0 */
	int64_t ts; /* its start when the line is one instance, else -1; from the first range's */
	assay_sid name;
	uint64_t count, work;
	int64_t host; /* -1: no instance says how long it was open */
	int64_t host_self, gpu_busy, gpu_sum, gpu_self, gpu_grad, gpu_inferred, waits, idle;
	bool inferred; /* from a program's schedule */
} assay_scope_line;

typedef struct assay_scope_view {
	const assay_scope_line *line;
	size_t n;
	const char *by;
	uint64_t steps;
	int64_t step;  /* the one that is shown; -1: all */
	int64_t whole; /* ns that are 100 % */
	uint64_t work, work_none;
	int64_t sum, sum_none, sum_grad;
	uint32_t none_thread; /* track that launched most of work_none, or ASSAY_NO_ROW */
	uint64_t none_launched;
	const assay_handed *inferred; /* by pair of threads */
	size_t pairs;
	bool by_schedule; /* some scopes are of programs that command buffers replay */
	uint32_t depth;   /* levels shown; 0: all */
	uint32_t top;     /* children shown of each; 0: all */
} assay_scope_view;

/* Of narrow lines some columns are left out. */
void assay_scopes_text(FILE *out, const assay_run *run, const assay_scope_view *view, size_t width);
/* "a;b;c 123" a line: ns of GPU work in the scope itself (of host time when there is no GPU
 * work). */
void assay_scopes_folded(FILE *out, const assay_run *run, const assay_scope_view *view);
void assay_scopes_json(assay_jsonw *w, const assay_run *run, const assay_scope_view *view);

/* The derived table: rows of a timeline, top events of each row (0: all). */
void assay_timeline_text(FILE *out, const assay_run *run, uint32_t top);
void assay_timeline_json(assay_jsonw *w, const assay_run *run);

#endif
