/* What the parts of scope resolution share. */
#ifndef ASSAY_RESOLVE_SCOPES_H
#define ASSAY_RESOLVE_SCOPES_H

#include "base/assert.h"
#include "resolve/resolve.h"

/* A span still open while a thread is walked: ranges, and operators for their forward links. */
struct frame {
	int64_t end;
	int64_t scope_end; /* of the innermost scope */
	uint32_t scope;    /* innermost */
	uint32_t forward;  /* row of host of the operator whose gradient this computes */
};

/* A range started by its thread and stopped by anyone: on no stack. */
struct started {
	int64_t end;
	uint32_t scope;
};

enum { SCOPES_ORDINAL_SHIFT = 48, SCOPES_ORDINAL_MAX = 32767 };

struct thread_ids {
	int64_t ordinal, counter;
};

/* What autograd says of an operator; seq -1: nothing. */
struct marked_op {
	int64_t seq;
	bool backward;
};

typedef struct scopes {
	assay_run *run;
	assay_tables *t;
	assay_scope_opts opts;
	assay_map used; /* ids in the scope table */
	int64_t ordinal, shared;
	assay_vec(assay_map) given;     /* by source: id as written -> row of scope */
	assay_map host_given;           /* row of host -> row of scope */
	assay_vec(uint32_t) gpu_given;  /* by row of gpu; empty when nothing is given */
	assay_vec(uint32_t) root;       /* by row of scope: towards its root, shortened as used */
	assay_vec(uint32_t) given_root; /* by row of scope that is given */
	assay_vec(uint32_t) depth;      /* by row of scope that is given: links to its root */
	assay_vec(int64_t) last;        /* by source: end of the last span */
	assay_map forward;              /* source, thread, sequence number -> row of host */
	assay_map forward_thread;       /* source, framework's thread number -> track */
	assay_vec(uint32_t) forward_track; /* by source: the thread with most forward operators */
	assay_vec(uint32_t) call_forward;  /* by row of host: forward operator of what it calls */
	assay_map marked;                  /* name of a marker -> row of marked_ops */
	assay_vec(struct marked_op) marked_ops;
	uint32_t *thread;        /* by track: the one its rows are walked with */
	uint32_t *rows;          /* of host, thread after thread, by start; longest first */
	assay_vec(size_t) first; /* by track: index in rows; one behind the last */
	assay_vec(struct frame) stack;
	assay_vec(struct started) started; /* of the thread being walked, by start */
	assay_vec(uint32_t) alloc_rows;    /* by thread, then by time */
	assay_vec(size_t) alloc_first;     /* by track: index in alloc_rows; one behind the last */
	assay_map open_args;               /* args of ranges -> 1: the recording ended in them */
} scopes;

/* Source of a track; rows that belong to no source share one slot behind the others. */
static inline uint32_t scopes_source(const scopes *s, uint32_t track)
{
	ASSAY_ASSERT_CHECKED(track < s->t->track.n);
	uint32_t source = s->t->track.source[track];
	return source < s->t->source.n ? source : (uint32_t)s->t->source.n;
}

/* scopes.c: an id nobody uses, on a thread's own ordinal; a row for an id. */
int64_t scopes_unused_id(scopes *s, struct thread_ids *ids);
uint32_t scopes_new(scopes *s, int64_t id, uint32_t source);

/* Innermost range of the thread being walked that is open at a time: of the stack, or when that is
 * empty the one started last; ASSAY_NO_ROW. */
uint32_t scopes_open_at(scopes *s, int64_t ts);

/* scopes_events.c: waits, memory and events have the scope of their call; memory without one that
 * of its thread at that time, told while the thread is walked. */
void scopes_index_allocs(scopes *s);
void scopes_allocs_until(scopes *s, uint32_t track, size_t *next, int64_t ts);
void scopes_of_events(scopes *s);
/* Memory of a thread in [from, to] that is in no scope, from the one numbered *next on. */
void scopes_allocs_handed(scopes *s, uint32_t track, size_t *next, int64_t from, int64_t to,
			  uint32_t scope);

/* How a row lies in a scope that was not inferred. */
uint8_t scopes_how(const scopes *s, uint32_t scope);

/* scopes_handed.c: what a thread did while another one waited for it in a range. */
void scopes_hand_over(scopes *s);

/* scopes_graphs.c: work of graphs, below the scope of its launch. */
void scopes_of_graphs(scopes *s);

/* scopes_given.c */
void scopes_take_given(scopes *s);
void scopes_name_given(scopes *s);

/* scopes_forward.c */
void scopes_index_forward(scopes *s);
bool scopes_is_backward(scopes *s, uint32_t host);
/* The forward operator of a backward one, or ASSAY_NO_ROW. */
uint32_t scopes_forward_of(scopes *s, uint32_t host);

#endif
