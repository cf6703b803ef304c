/* The graph of the critical path without the points at which nothing but time passes: what is left
 * are the knots, a few for each launch, whatever the host does between them. Replays of what-ifs go
 * through these when only the times of GPU work matter. */
#ifndef ASSAY_PATH_KNOTS_H
#define ASSAY_PATH_KNOTS_H

#include "path/graph.h"

typedef struct assay_knot {
	uint32_t before; /* the knot before it on its thread; ASSAY_DEP_NONE: work, or the first */
	uint32_t first;  /* its dependencies, up to those of the next one */
	int64_t measured;
} assay_knot;

typedef struct assay_knot_dep {
	uint32_t from; /* knot */
	uint32_t work; /* lets go when this has ended; ASSAY_DEP_NONE: when the knot is reached */
} assay_knot_dep;

typedef struct assay_path_knots {
	const assay_path_graph *g;
	assay_arena arena;
	uint32_t n, deps;
	assay_knot *knot; /* dependencies first; n + 1 */
	assay_knot_dep *dep;
	uint32_t *of_segment; /* by point: the knot that the segment leads to; ASSAY_DEP_NONE */
	uint32_t *of_dep;     /* by dependency of the graph: that of the knots; ASSAY_DEP_NONE */
	int64_t *len, *lag;   /* by knot, from the one before it; by dependency: as measured */
} assay_path_knots;

void assay_path_knots_tie(assay_path_knots *k, const assay_path_graph *g);
void assay_path_knots_free(assay_path_knots *k);

/* One question at a time; several threads may ask with one each. */
typedef struct assay_knots_replay {
	const assay_path_knots *knots;
	assay_arena arena;
	assay_path_changes changes;
	int64_t *len, *lag; /* with the changes */
	int64_t *at;        /* by knot: when it is reached */
	int64_t *dur;       /* by work */
} assay_knots_replay;

void assay_knots_replay_init(assay_knots_replay *r, const assay_path_knots *k);
void assay_knots_replay_free(assay_knots_replay *r);
/* Before a question: no changes, and those of segments will be added up by knot. */
void assay_knots_unchanged(assay_knots_replay *r);
/* Times of knots with the changes, none of which may make the whole longer than an int64_t. */
void assay_knots_go(assay_knots_replay *r);

/* When work begins in the last replay. */
static inline int64_t assay_knots_start(const assay_knots_replay *r, uint32_t work)
{
	const assay_path_graph *g = r->knots->g;
	ASSAY_ASSERT_CHECKED(work < g->work);
	return r->at[g->place[g->points + work]];
}

#endif
