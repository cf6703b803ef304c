/* A program without one of its places. */
#include "path/graph.h"

static bool is_at(const bool *there, uint32_t stack)
{
	return stack != ASSAY_NO_ROW && there[stack];
}

/* Does the delay go with the place: of the host, for the device or for another thread? Streams wait
 * for each other because of what they compute. */
static bool waits_there(const assay_path_graph *g, const bool *there, const assay_path_dep *d)
{
	if (d->kind == ASSAY_DEP_SYNC && d->row != ASSAY_NO_ROW)
		return is_at(there, assay_call_stack(&g->run->part.t, d->row));
	return d->kind == ASSAY_DEP_HAND && d->to && is_at(there, g->stack[d->to - 1]);
}

void assay_path_without_place(const assay_path_graph *g, const bool *there, assay_path_changes *out)
{
	for (uint32_t p = 0; p < g->points; p++)
		if (g->cause[p] != ASSAY_WHY_COUNT && is_at(there, g->stack[p]))
			assay_path_change_segment(g, out, p, 0);
	for (uint32_t i = 0; i < g->deps; i++) {
		const assay_path_dep *d = &g->dep[i];
		bool launch = d->kind == ASSAY_DEP_LAUNCH;
		if (launch && is_at(there, g->stack[d->from])) {
			*assay_push(&out->dur) = (assay_path_change){d->to - g->points, 0};
			*assay_push(&out->lag) = (assay_path_change){i, 0};
		} else if (waits_there(g, there, d) && g->base.lag[i] != ASSAY_DEP_DROPPED) {
			*assay_push(&out->lag) = (assay_path_change){i, ASSAY_DEP_DROPPED};
		}
	}
}
