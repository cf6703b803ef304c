/* The graph behind the critical path. Nodes are instants of host threads ("points") and the starts
 * of GPU work; a point follows the one before it on its thread after the length of the segment
 * between them; every other order is a dependency with a delay. */
#ifndef ASSAY_PATH_GRAPH_H
#define ASSAY_PATH_GRAPH_H

#include "analyze/host_cause.h"
#include "base/assert.h"
#include "model/path.h"

typedef enum assay_path_dep_kind {
	ASSAY_DEP_LAUNCH,  /* point -> work: from the start of the launch call */
	ASSAY_DEP_STREAM,  /* end of the work before on the stream -> work */
	ASSAY_DEP_BESIDE,  /* start of the work before -> work that overlaps it */
	ASSAY_DEP_WAIT,    /* end of work on another stream -> work */
	ASSAY_DEP_GUESS,   /* the same, inferred where nothing recorded explains a delay */
	ASSAY_DEP_GRAPH,   /* end of work of the same graph launch -> work; inferred */
	ASSAY_DEP_SYNC,    /* end of work -> return of a call */
	ASSAY_DEP_HAND,    /* point -> point of another thread; inferred */
	ASSAY_DEP_FORWARD, /* point -> point: forward operator to its gradient */
	ASSAY_DEP_KINDS
} assay_path_dep_kind;

typedef struct assay_path_dep {
	uint32_t from, to; /* nodes */
	uint32_t row;      /* row of host: the call that returns, or made a stream wait */
	uint8_t kind;
	uint8_t class; /* what the time between the two is on the path */
} assay_path_dep;

/* Bound by the point before it on the thread, or by nothing; also no node. */
#define ASSAY_DEP_NONE UINT32_MAX

typedef struct assay_path_thread {
	uint32_t track, first, n; /* points */
} assay_path_thread;

/* Lengths a replay goes by. A lag of ASSAY_DEP_DROPPED leaves the dependency out. */
#define ASSAY_DEP_DROPPED INT64_MIN
typedef struct assay_path_lengths {
	int64_t *len; /* by point: of the segment that begins there */
	int64_t *dur; /* by work */
	int64_t *lag; /* by dependency */
} assay_path_lengths;

/* Other lengths than the measured ones; nothing is in a list twice. */
typedef struct assay_path_change {
	uint32_t at; /* point, work or dependency */
	int64_t value;
} assay_path_change;
typedef struct assay_path_changes {
	assay_vec(assay_path_change) len, dur, lag;
	/* Where only sums matter, changes of segments are added up here instead of listed. */
	int64_t *sum;           /* by knot: what passes before it; NULL: they are listed */
	const uint32_t *sum_of; /* by point: the knot that the segment leads to */
	bool any;               /* some segment has changed */
} assay_path_changes;

/* Result of a replay, or what was measured. */
typedef struct assay_path_times {
	int64_t *at;   /* by node */
	uint32_t *why; /* by knot: the dependency that bound it, or ASSAY_DEP_NONE */
} assay_path_times;

typedef struct assay_path_graph {
	const assay_run *run;
	assay_arena arena;
	assay_host_causes causes;
	uint32_t group; /* the process that is followed */
	int64_t since;  /* nothing that ends before is in the graph */
	int64_t until;  /* nothing that begins later is in the graph */
	assay_vec(assay_path_thread) thread;
	uint32_t *thread_of; /* by track: index of thread + 1, 0 for none */
	uint32_t points, work, nodes;
	uint32_t *row;   /* by point: what the segment is */
	uint8_t *cause;  /* by point; ASSAY_WHY_COUNT: last point of the thread */
	uint32_t *stack; /* by point: where the thread was, as far as calls and samples tell */
	bool *sampled;   /* by point: no row says what the thread did, a sample or stack does */
	bool *elastic;   /* by point: ends a wait, so what it waited for binds it */
	uint32_t *gpu;   /* by work, by start */
	uint32_t *node_of_gpu;
	uint8_t *class;   /* by work */
	uint32_t *kernel; /* by work: row of kernel */
	uint32_t *first;  /* by knot: its dependencies in dep; knots + 1 */
	assay_path_dep *dep;
	uint32_t deps;
	uint32_t *order; /* knots, dependencies first: work, where threads begin, and the ends of
			  * dependencies; at all other points nothing but time passes */
	uint32_t knots;
	uint32_t *place;         /* by node: in order; ASSAY_DEP_NONE: no knot */
	assay_path_lengths base; /* as measured, waits at their own length */
	assay_path_times measured;
	int64_t typical[ASSAY_DEP_KINDS][ASSAY_GPU_KIND_COUNT];
	int64_t sync_call; /* of a call that had nothing to wait for */
	uint64_t violated, broken, inferred, guessed, overlaps, full;
	struct assay_path_launches *launches; /* NULL until somebody looks for them */
} assay_path_graph;

void assay_path_graph_build(assay_path_graph *g, const assay_run *run, uint32_t group,
			    int64_t since, int64_t until);
void assay_path_graph_free(assay_path_graph *g);
/* What each call launched: before the first question about operators or launches that go. */
void assay_path_find_launches(assay_path_graph *g);
void assay_path_launches_free(assay_path_graph *g);
/* The point of a thread at an instant, or the last one before it; ASSAY_DEP_NONE when there is
 * none.
 */
uint32_t assay_path_point_at(const assay_path_graph *g, uint32_t track, int64_t ts);

/* Parts of building, in files of their own. */
void assay_path_add_hosts(assay_path_graph *g);
typedef struct assay_path_link {
	uint32_t from, to;
	uint32_t row;
	uint8_t kind;
} assay_path_link;
typedef assay_vec(assay_path_link) assay_path_links;
/* Quiet stretches of one thread in which another one works. */
void assay_path_add_hand_offs(assay_path_graph *g, assay_path_links *links);
/* Time passes in [from, to) of a thread only because something is waited for. */
void assay_path_make_elastic(assay_path_graph *g, uint32_t from, uint32_t to, int64_t own);

static inline bool assay_path_is_work(const assay_path_graph *g, uint32_t node)
{
	return node >= g->points;
}
/* Class of the time before work without a launch. */
static inline uint8_t assay_path_unlaunched(const assay_path_graph *g, uint32_t node)
{
	assert(assay_path_is_work(g, node));
	return (uint8_t)(ASSAY_PATH_WHY + assay_why_unlaunched(g->run, g->gpu[node - g->points]));
}
/* When the source of a dependency lets go. */
static inline int64_t assay_path_ready(const assay_path_graph *g, const assay_path_times *t,
				       const int64_t *dur, const assay_path_dep *d)
{
	ASSAY_ASSERT_CHECKED(d->from < g->points + g->work);
	bool end = assay_path_is_work(g, d->from) && d->kind != ASSAY_DEP_BESIDE;
	return t->at[d->from] + (end ? dur[d->from - g->points] : 0);
}

static inline void assay_path_change_segment(const assay_path_graph *g, assay_path_changes *c,
					     uint32_t point, int64_t length)
{
	ASSAY_ASSERT_CHECKED(point < g->points);
	c->any = true;
	if (!c->sum)
		*assay_push(&c->len) = (assay_path_change){point, length};
	else if (c->sum_of[point] != ASSAY_DEP_NONE)
		c->sum[c->sum_of[point]] += length - g->base.len[point];
}

/* Times by going through the graph with these lengths. */
void assay_path_replay_with(const assay_path_graph *g, const assay_path_lengths *lengths,
			    assay_path_times *out);
assay_path_times assay_path_times_new(assay_path_graph *g);
assay_path_lengths assay_path_lengths_with(assay_path_graph *g, const assay_path_changes *changes);
void assay_path_changes_free(assay_path_changes *c);

/* What-if expressions. */
typedef struct assay_path_what_if {
	assay_str pattern;
	int class;    /* a class of the path instead of a name; -1 */
	bool is_time; /* value is ns instead of a factor */
	bool in_path; /* the pattern has a '/': match it with whole scope paths */
	bool of_line; /* the pattern has a ':': match it with lines and functions of files too */
	double value;
} assay_path_what_if;
typedef assay_vec(assay_path_what_if) assay_path_what_ifs;

bool assay_path_what_ifs_parse(assay_path_what_ifs *rules, const char *const *text, size_t n,
			       assay_err *err);
/* What the rules change, and what each of them matched in [from, to). */
bool assay_path_what_ifs_apply(const assay_path_graph *g, const assay_path_what_ifs *rules,
			       assay_path_changes *changes, assay_path *out, assay_err *err);

/* What changes when a place of the program is gone, with all that is launched and waited for there.
 * By row of stack: is it at the place? */
void assay_path_without_place(const assay_path_graph *g, const bool *there,
			      assay_path_changes *out);

/* Calls that block with no more pieces of work from one to the next hold the host back. */
enum { ASSAY_DENSE_WORK = 64 };

/* How long a call for the next batch takes a thread that finds it ready: ns, at least and at most,
 * which are the same where such calls were seen. */
typedef struct assay_data_waits {
	int64_t least, most;
	uint64_t calls; /* in [from, to) */
} assay_data_waits;
assay_data_waits assay_path_data_waits(const assay_path_graph *g, int64_t from, int64_t to);
/* What changes when each of these calls takes no longer than that. */
void assay_path_without_data_waits(const assay_path_graph *g, int64_t own, assay_path_changes *out);

/* What changes when work is launched no more, by row of gpu, with what the host does for it, and
 * when work takes other times (negative: as it was): what is launched no more may go on as a part
 * of other work. False where the recording does not tell what the host does for most of it. */
bool assay_path_without_launches(const assay_path_graph *g, const bool *goes, const int64_t *dur,
				 assay_path_changes *out);

/* What changes without operators of a kind, and those that are: of a trace without stacks operators
 * are the places. */
typedef enum assay_operators_kind {
	ASSAY_OPERATORS_READ,        /* a value back, or only wait */
	ASSAY_OPERATORS_SEND_BIT,    /* by bit: each a small copy to the device, and nothing else */
	ASSAY_OPERATORS_ROUNDS,      /* of loops that could be one call: they only launch */
	ASSAY_OPERATORS_ROUNDS_READ, /* of such loops in which each reads a value back */
} assay_operators_kind;

typedef struct assay_gone_operators {
	assay_sid name; /* of those that take most, ns together */
	int64_t most;
	int64_t bytes;   /* that all of them send */
	uint64_t times;  /* of all, in [from, to); 0: nothing changes */
	uint64_t waits;  /* calls of theirs that block */
	bool only_waits; /* they are calls outside of operators, and nothing is read */
} assay_gone_operators;
assay_gone_operators assay_path_without_operators(const assay_path_graph *g,
						  assay_operators_kind kind, int64_t from,
						  int64_t to, assay_path_changes *out);

/* The range that work counts in. */
static inline uint32_t assay_path_work_scope(const assay_tables *t, uint32_t gpu)
{
	const assay_gpu_scope_table *s = &t->gpu_scope;
	if (gpu >= s->n)
		return ASSAY_NO_ROW;
	return s->scope[gpu];
}

#endif
