/* Collectives of ranks whose events are not kept. Their rows would be most of what is kept of a
 * rank, so they are no table: they lie on disk when they are many, and say what it takes to find
 * the same collective on all ranks. */
#ifndef ASSAY_MODEL_KEPT_CALLS_H
#define ASSAY_MODEL_KEPT_CALLS_H

#include "base/spill.h"
#include "model/run.h"

/* What many calls have in common. */
typedef struct assay_comm_kind {
	assay_sid name, group, members;
	int32_t size;
	int64_t bytes;
	bool on_host, numbered; /* numbered: by the recorder, in its group */
	uint64_t of_group;      /* equal for groups with the same name and members, in any run */
} assay_comm_kind;

typedef struct assay_comm_kinds {
	assay_vec(assay_comm_kind) kind;
	assay_map row;
} assay_comm_kinds;
/* The kind of a row of call. */
uint32_t assay_comm_kind_of(assay_comm_kinds *k, const assay_run *run, uint32_t call);
void assay_comm_kinds_free(assay_comm_kinds *k);

typedef struct assay_kept_call {
	uint64_t id;     /* equal on all ranks of one collective */
	int64_t ts, end; /* since 1970 where the input says so */
	int64_t step;    /* its number; -1 outside of steps */
	uint32_t source; /* rank: its first file */
	uint32_t kind;
} assay_kept_call;
/* A row of call; kind: its kind. */
assay_kept_call assay_kept_call_of(const assay_comm_kind *kind, const assay_run *run,
				   uint32_t call);

typedef struct assay_kept_calls {
	assay_spill call; /* assay_kept_call, rank by rank */
	assay_comm_kinds kinds;
	assay_vec(uint32_t) source; /* when they moved: where each source is now, or ASSAY_NO_ROW */
} assay_kept_calls;

/* Takes the rows of call out of the run's table. */
void assay_calls_keep(assay_run *run);
/* Gives them to a run that gets these sources from row `first` on, without those to skip. */
void assay_kept_calls_move(assay_run *to, assay_run *from, const bool *skip, uint32_t first);
void assay_kept_calls_free(assay_kept_calls *k);

#endif
