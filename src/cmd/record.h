/* The parts of `assay record`, shared between its files only. */
#ifndef ASSAY_CMD_RECORD_H
#define ASSAY_CMD_RECORD_H

#include <sys/types.h>

#include "cmd/recorders.h"
#include "model/run.h"
#include "render/recorded.h"

typedef struct record_args {
	const char *out, *telemetry, *telemetry_file, *only_range, *steps_from;
	const char *sample, *stacks, *children, *control, *keep, *graph_nodes;
	int64_t duration, delay;
	bool all_api, exact_waits, no_blas, paused, quiet, recover, per_rank;
} record_args;

/* What a flight recorder keeps: the last ns, in at most so many bytes a process; both 0: all. */
typedef struct record_keep {
	int64_t ns, bytes;
} record_keep;

/* Orders to the recorded processes while they run. */
typedef struct record_control record_control;
#define ASSAY_RECORD_CONTROL "control" /* its socket, in the run directory */

/* The machine's identity, while it is being taken. */
typedef struct record_env record_env;

/* A recording from the start of the command to the summary. */
struct recording {
	assay_arena arena;
	const char *dir;   /* absolute */
	int made;          /* folders at the end of dir that were not there before */
	int lock;          /* dir, open and locked */
	const char *rings; /* absolute; equals dir when there is no shared memory to put them in */
	const char *library[ASSAY_RECORDERS]; /* NULL: not built */
	char **command;                       /* NULL when another assay ran it, which was killed */
	int64_t start_real, start_boot, stop_real, stop_boot;
	bool silent; /* another rank of the job tells the user */
	int status;  /* exit status to pass on */
	assay_recorded end;
	bool watch; /* for processes that cannot be recorded */
	record_keep keep;
	record_control *control; /* until the command ended; NULL: there is none */
	record_env *env;         /* NULL: there is none */
};

/* Run the command with the recorders' environment and wait for it; false when it cannot be started:
 * the status is then the shell's for that, 126 or 127. */
bool assay_record_command(recording *r, char **env, assay_err *err);
/* How many filters of system calls this process is under, when what recording needs is harmless
 * under them; else 0. */
uint32_t assay_record_filters(void);
/* Who reads what we say may go away (2>&1 | head): from now on that ends nothing. */
void assay_record_own_signals(void);
/* The run's folder may have been moved or removed while the command ran: dir is where it is now. */
void assay_record_find(recording *r);
/* Take over what processes that died left in their rings. */
void assay_record_salvage(recording *r);
/* A link in the rings' folder that leads to the run: whoever finds one finds the other. */
const char *assay_record_link(recording *r);
/* Remove the rings' folder, unless it still holds rings. */
void assay_record_drop_rings(recording *r);
/* `assay record --recover RUN...`; n 0: every run that left rings on this machine. Exit status. */
int assay_record_recover(const record_args *a, char **runs, int n);

/* All captures of the run. */
assay_run *assay_record_read(recording *r);

/* Watch the command for processes that cannot be recorded; NULL: it cannot be watched. */
typedef struct record_children record_children;
record_children *assay_children_start(assay_arena *a, pid_t command);
/* Those that were found and left no trace in `dir`, and how many; they live as long as assay. Call
 * it before salvage, which writes traces. */
size_t assay_children_stop(record_children *c, const char *dir, const assay_unrecorded **out);
/* Processes that found no room for their rings, or ended before they had made them, left an empty
 * capture, which goes: they are among the unrecorded. After salvage. */
void assay_children_not_begun(recording *r);

/* TIME, BYTES or both with a comma between; false: it is neither. NULL: all is kept. */
bool assay_record_keep(const char *text, record_keep *out);
/* How many bytes, where only a time was given. */
void assay_record_keep_room(const recording *r, record_keep *k);

/* Take orders for the command that is about to run; NULL: it cannot be, err says why. */
record_control *assay_record_control(recording *r, const record_args *a, assay_err *err);
void assay_record_control_end(record_control *c);
/* "steps N-M": from 0 or 1 on, N not after M. */
bool assay_step_span(const char *text, int64_t *first, int64_t *last);
/* A descriptor: a byte written to it is an order to write out what is kept. */
int assay_record_control_bell(const record_control *c);

/* Name the native functions in the captures of processes that are gone. After salvage. */
void assay_record_symbols(recording *r);

/* env.json of the run directory, by a process of its own beside the command: the first time it
 * reads gigabytes. NULL: it cannot be. */
record_env *assay_record_env_start(const recording *r);
/* Wait for it; a signal of the user's ends that with what is known by then. */
void assay_record_env_end(record_env *e, bool show);
/* It is not wanted any more; what it wrote is there. */
void assay_record_env_drop(record_env *e);

/* run.json; run is NULL before the command ended. */
bool assay_record_write(const recording *r, const record_args *a, const assay_run *run,
			assay_err *err);
/* run.json of a run whose recorder was killed: what it wrote at its start, and what is known
 * now. */
bool assay_record_complete(const recording *r, assay_str before, const assay_run *run,
			   assay_err *err);
/* One screen on stderr: what was recorded, lost, and the next command to type. */
void assay_record_summary(recording *r, const record_args *a, const assay_run *run);

#endif
