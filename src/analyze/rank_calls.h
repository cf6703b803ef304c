/* The same collective on all ranks of a job: its calls, found by a sort that takes bounded memory
 * however many ranks there are. In memory is one collective at a time, and some numbers a rank. */
#ifndef ASSAY_ANALYZE_RANK_CALLS_H
#define ASSAY_ANALYZE_RANK_CALLS_H

#include "base/assert.h"
#include "model/kept_calls.h"

typedef struct assay_rank_call {
	uint64_t match; /* the collective: equal on all ranks, but for those that cannot be told
			   apart */
	int64_t at;     /* its first rank's call, as recorded, and that rank: the order of
			   collectives */
	uint32_t first;
	uint32_t rank; /* row of rank */
	uint32_t row;  /* of call; ASSAY_NO_ROW: of a rank without events */
	uint32_t kind; /* of assay_matching.kinds */
	int64_t ts,
		end; /* since 1970 where the input says so; less the rank's offset where asked */
	int64_t step;
} assay_rank_call;

typedef struct assay_matching {
	assay_run *run;
	assay_map rank_of; /* group of sources -> row of rank */
	assay_comm_kinds kinds;
	assay_spill call;    /* assay_rank_call, by collective */
	uint64_t crowded;    /* calls at one place: more of them than their group has ranks */
	uint64_t mismatched; /* calls that did not end with those they were matched with */
	int64_t *parted_by;  /* a rank's offset when that was found; NULL: it was not looked for */
	assay_arena arena;
} assay_matching;

/* Makes the rows of rank and brings the calls in order. */
void assay_matching_make(assay_matching *m, assay_run *run);
void assay_matching_free(assay_matching *m);
/* By the ends of calls, once clocks are set: from now on calls that do not end with the others
 * stand apart. */
void assay_matching_part(assay_matching *m);

static inline const assay_comm_kind *assay_call_comm(const assay_matching *m,
						     const assay_rank_call *c)
{
	ASSAY_ASSERT_CHECKED(c->kind < m->kinds.kind.n);
	return &m->kinds.kind.p[c->kind];
}

/* One collective after the other. */
typedef struct assay_match {
	const assay_matching *of;
	assay_spill_reader reader;
	const assay_rank_call *next;
	bool shifted; /* times less the offsets of ranks, else as recorded */
	assay_vec(assay_rank_call) call;
	size_t n; /* of these, the first ones belong together; the others stand alone */
} assay_match;
void assay_matches_read(assay_match *it, const assay_matching *m, bool shifted);
bool assay_matches_next(assay_match *it);
void assay_matches_leave(assay_match *it);

/* rank.offset and rank.spread, of clocks as recorded. */
void assay_rank_clocks(const assay_matching *m);

#endif
