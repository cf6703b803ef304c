/* How much shorter the steady steps would be without a cause: the critical path's graph built once,
 * replayed for each question. Several steps are replayed together, so that a host that no longer
 * waits can run ahead. */
#ifndef ASSAY_PATH_WORTH_H
#define ASSAY_PATH_WORTH_H

#include "analyze/window.h"
#include "path/graph.h"

typedef struct assay_worth assay_worth;

/* The graph is made when the first question is asked or, where the run may use several threads, by
 * one of its own from now on. Until it is closed nothing may change what the graph is made of:
 * threads, GPU work, kernels, waits and samples. */
assay_worth *assay_worth_open(const assay_run *run, const assay_window *w);
/* From now on several threads may ask at the same time; before, only the one that opened it. */
void assay_worth_share(assay_worth *w);
void assay_worth_close(assay_worth *w);

/* Share of the window that goes with the what-if, 0 to 1; false when it names nothing in it, there
 * is no graph, or its replay does not give what was measured. */
bool assay_worth_without(assay_worth *w, const char *what_if, double *share);
/* With several what-ifs at once; false when none of them names anything. */
bool assay_worth_without_all(assay_worth *w, const char *const *what_if, size_t n, double *share);

/* Without a place of the program. By row of stack: is it there? */
bool assay_worth_without_place(assay_worth *w, const bool *there, double *share);

/* When the next batch is always ready: at least and at best. */
bool assay_worth_without_data_waits(assay_worth *w, assay_data_waits *told, double share[2]);

/* Without operators of a kind; told: which, of the whole window. */
bool assay_worth_without_operators(assay_worth *w, assay_operators_kind kind,
				   assay_gone_operators *told, double *share);

/* The same with other lengths of work, by row of gpu (negative: as it was), and without waits of
 * `stall` and longer between queued work. */
bool assay_worth_shorter(assay_worth *w, const int64_t *dur, int64_t stall, double *share);
/* With other lengths, and without launching what goes; false, too, where it is not known what the
 * host does for that. */
bool assay_worth_without_launches(assay_worth *w, const bool *goes, const int64_t *dur,
				  double *share);

#endif
