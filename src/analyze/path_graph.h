/* The graph behind the critical path. Nodes are instants of host threads ("points") and the starts
 * of GPU work; a point follows the one before it on its thread after the length of the segment
 * between them; every other order is a dependency with a delay. */
#ifndef ASSAY_ANALYZE_PATH_GRAPH_H
#define ASSAY_ANALYZE_PATH_GRAPH_H

#include "analyze/host_cause.h"
#include "model/path.h"

typedef enum path_dep_kind {
	PATH_LAUNCH,  /* point -> work: from the start of the launch call */
	PATH_STREAM,  /* end of the work before on the stream -> work */
	PATH_BESIDE,  /* start of the work before -> work that overlaps it */
	PATH_WAIT,    /* end of work on another stream -> work */
	PATH_GUESS,   /* the same, inferred where nothing recorded explains a delay */
	PATH_GRAPH,   /* end of work of the same graph launch -> work; inferred */
	PATH_SYNC,    /* end of work -> return of a call */
	PATH_HAND,    /* point -> point of another thread; inferred */
	PATH_FORWARD, /* point -> point: forward operator to its gradient */
	PATH_DEP_KINDS
} path_dep_kind;

typedef struct path_dep {
	uint32_t from; /* node */
	uint32_t row;  /* row of host: the call that returns, for PATH_SYNC */
	uint8_t kind;
} path_dep;

enum { PATH_SERIAL = UINT32_MAX }; /* bound by the point before it on the thread, or by nothing */

typedef struct path_thread {
	uint32_t track, first, n; /* points */
} path_thread;

/* Lengths a replay goes by. A lag of PATH_DROPPED leaves the dependency out. */
#define PATH_DROPPED INT64_MIN
typedef struct path_lengths {
	int64_t *len; /* by point: of the segment that begins there */
	int64_t *dur; /* by work */
	int64_t *lag; /* by dependency */
} path_lengths;

/* Result of a replay, or what was measured. */
typedef struct path_times {
	int64_t *at;   /* by node */
	uint32_t *why; /* by node: the dependency that bound it, or PATH_SERIAL */
} path_times;

typedef struct path_graph {
	const assay_run *run;
	assay_arena arena;
	assay_host_causes causes;
	uint32_t group; /* the process that is followed */
	int64_t until;  /* nothing that begins later is in the graph */
	assay_vec(path_thread) thread;
	uint32_t *thread_of; /* by track: index of thread + 1, 0 for none */
	uint32_t points, work, nodes;
	uint32_t *row;  /* by point: what the segment is */
	uint8_t *cause; /* by point; ASSAY_WHY_COUNT: last point of the thread */
	bool *elastic;  /* by point: ends a wait, so what it waited for binds it */
	uint32_t *gpu;  /* by work, by start */
	uint32_t *node_of_gpu;
	uint8_t *class;   /* by work */
	uint32_t *kernel; /* by work: row of kernel */
	uint32_t *first;  /* by node: its dependencies in dep; nodes + 1 */
	path_dep *dep;
	uint32_t deps;
	uint32_t *order;   /* nodes, dependencies first */
	path_lengths base; /* as measured, waits at their own length */
	path_times measured;
	int64_t typical[PATH_DEP_KINDS][ASSAY_GPU_KIND_COUNT];
	int64_t sync_call; /* of a call that had nothing to wait for */
	uint64_t violated, broken, inferred, guessed, overlaps, full;
} path_graph;

void path_graph_build(path_graph *g, const assay_run *run, uint32_t group, int64_t until);
void path_graph_free(path_graph *g);
/* The point of a thread at an instant, or the last one before it; PATH_SERIAL when there is none.
 */
uint32_t path_point_at(const path_graph *g, uint32_t track, int64_t ts);

/* Parts of building, in files of their own. */
void path_host_build(path_graph *g);
typedef struct path_link {
	uint32_t from, to;
	uint32_t row;
	uint8_t kind;
} path_link;
typedef assay_vec(path_link) path_links;
/* Quiet stretches of one thread in which another one works. */
void path_hand_offs(path_graph *g, path_links *links);
/* Time passes in [from, to) of a thread only because something is waited for. */
void path_make_elastic(path_graph *g, uint32_t from, uint32_t to, int64_t own);

static inline bool path_is_work(const path_graph *g, uint32_t node)
{
	return node >= g->points;
}
/* When the source of a dependency lets go. */
static inline int64_t path_ready(const path_graph *g, const path_times *t, const int64_t *dur,
				 const path_dep *d)
{
	bool end = path_is_work(g, d->from) && d->kind != PATH_BESIDE;
	return t->at[d->from] + (end ? dur[d->from - g->points] : 0);
}

/* What the time between the source of a dependency and the node is on the path. */
uint8_t path_dep_class(const path_graph *g, uint32_t node, const path_dep *d);

/* Times by going through the graph with these lengths. */
void path_replay(const path_graph *g, const path_lengths *lengths, path_times *out);
path_times path_times_new(path_graph *g);
path_lengths path_lengths_copy(path_graph *g);

/* What-if expressions. */
typedef struct path_rule {
	assay_str pattern;
	int class;    /* a class of the path instead of a name; -1 */
	bool is_time; /* value is ns instead of a factor */
	bool in_path; /* the pattern has a '/': match it with whole scope paths */
	double value;
} path_rule;
typedef assay_vec(path_rule) path_rules;

bool path_rules_parse(path_rules *rules, const char *const *text, size_t n, assay_err *err);
/* Lengths after the rules, and what each rule matched in [from, to). */
bool path_rules_apply(path_graph *g, const path_rules *rules, path_lengths *lengths,
		      assay_path *out, assay_err *err);

#endif
