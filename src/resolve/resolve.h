/* From rows as read to rows that know each other. Called in this order by assay_run_analyze(). */
#ifndef ASSAY_RESOLVE_RESOLVE_H
#define ASSAY_RESOLVE_RESOLVE_H

#include "base/index.h"
#include "model/run.h"

/* By track: the line with the spans of the same thread, else itself; false: all are themselves. */
bool assay_threads_of_lines(const assay_run *run, uint32_t *thread);
/* Calls of a thread that has two lines go on the line of its spans. */
void assay_join_lines(assay_run *run);
/* Fills the launch table: which call caused each GPU row. Counts unlinked ones. */
void assay_link(assay_run *run);
/* With what assay_calls_index() gave. */
void assay_link_by(assay_run *run, const assay_index *calls);

/* The first call of each correlation id and process, and the one that caused a row on a track;
 * ASSAY_NO_ROW. */
void assay_calls_index(const assay_tables *t, assay_index *calls);
uint32_t assay_calls_find(const assay_tables *t, const assay_index *calls, uint32_t track,
			  uint64_t corr);

typedef enum assay_step_api {
	ASSAY_STEPS_AUTO, /* whatever marks steps best */
	ASSAY_STEPS_NVTX,
	ASSAY_STEPS_ROCTX,
} assay_step_api;

/* Which ranges are steps. name is empty, or all of their names but for a number at the end. */
typedef struct assay_step_choice {
	assay_step_api api;
	assay_str name;
} assay_step_choice;

/* From "auto", "NVTX" or "roctx", of any case, and ":NAME" after it, or NAME alone; a name may have
 * * and ?. The name stays in text. False: nothing. */
bool assay_step_choice_of(assay_str text, assay_step_choice *out);
/* Fills the step table. NULL: as `assay record` was told. */
void assay_find_steps(assay_run *run, const assay_step_choice *choice);

/* The same from Python stacks, when nothing marks steps: called by assay_find_steps(). */
void assay_loop_steps(assay_run *run);
/* The same from executions of compiled programs. */
void assay_program_steps(assay_run *run);
/* And by updates of optimizers and batches of loaders, as frameworks name them. */
void assay_call_steps(assay_run *run);

/* Fills the wait and edge tables: what every wait waited for. docs/waits.md */
void assay_waits(assay_run *run);

typedef struct assay_waits_opts {
	/* Leave join ids and resolved rows aside, as recordings without them are read. Counting
	 * issues is the first call's: call this on a run whose waits were cleared. */
	bool handles_only;
	const assay_index *calls; /* of assay_calls_index(), where it is there already; or NULL */
} assay_waits_opts;
void assay_waits_with(assay_run *run, const assay_waits_opts *opts);
/* Fills scope, and the scope of each row of host, gpu, sync, alloc and event_record. Ranges are
 * annotations and markers, and what else opts ask for. May be called again with other opts. Links
 * first when that was not done. */
typedef struct assay_scope_opts {
	bool ops;    /* framework operators are ranges too */
	bool python; /* Python functions are ranges too */
	bool exact;  /* nothing is inferred from threads that wait for each other */
} assay_scope_opts;
void assay_scopes(assay_run *run, const assay_scope_opts *opts); /* NULL: all false */

/* What sampled threads did (seen). */
void assay_doings(assay_run *run);

#endif
