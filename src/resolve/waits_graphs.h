/* Events inside graphs: nodes that record or await one each time their graph is launched. */
#ifndef ASSAY_RESOLVE_WAITS_GRAPHS_H
#define ASSAY_RESOLVE_WAITS_GRAPHS_H

#include "resolve/waits.h"

typedef struct waits_node {
	uint64_t graph;  /* handle: a graph while it is made, an executable graph, or 0 */
	uint64_t origin; /* stream whose capture makes it, while graph is 0 */
	uint64_t event;
	uint32_t source;
	uint32_t launch; /* row of event_call: what launched it */
	bool waits;
} waits_node;

typedef struct waits_nodes {
	assay_vec(waits_node) v;
} waits_nodes;

/* One entry for every event of every launch of a graph, in the order of time. */
waits_nodes waits_graph_events(const waits *w);

#endif
