/* What a recording came to: one screen for people, members of run.json for programs. */
#ifndef ASSAY_RENDER_RECORDED_H
#define ASSAY_RENDER_RECORDED_H

#include <stdio.h>
#include <sys/types.h>

#include "base/jsonw.h"
#include "model/run.h"
#include "probe/telemetry.h"

typedef enum assay_unrecorded_why {
#define UNRECORDED(id, name, text) ASSAY_UNRECORDED_##id,
#include "model/unrecorded.def"
#undef UNRECORDED
} assay_unrecorded_why;

/* USED: it had a vendor's library loaded, or its device open. UNKNOWN: it may not be looked
 * into. */
typedef enum assay_gpu_use { ASSAY_GPU_NONE, ASSAY_GPU_USED, ASSAY_GPU_UNKNOWN } assay_gpu_use;

typedef struct assay_unrecorded {
	pid_t pid;
	assay_unrecorded_why why;
	int64_t found; /* CLOCK_REALTIME */
	assay_gpu_use gpu;
	uint32_t forked; /* from it, and running the same program */
	char name[32];
} assay_unrecorded;

typedef struct assay_recorded {
	const char *dir; /* absolute, fit for a terminal */
	const char *job; /* that holds all ranks, the same way; NULL: this is all */
	int64_t ns;      /* the command ran */
	int signal;      /* that ended it, 0 none */
	uint64_t salvaged;
	uint64_t kept;    /* records that are still in memory: they could not be written */
	uint32_t failed;  /* chunks that could not be written */
	uint32_t refused; /* files that call themselves rings and are none, or not of this run */
	uint32_t orphans; /* rings whose capture is gone */
	bool removed;     /* dir, while the command ran */
	bool robbed;      /* the same of the folder of rings */
	uint32_t still_running; /* processes that outlive the command */
	assay_sampled telemetry;
	const assay_unrecorded *unrecorded;
	size_t unrecorded_n;
	const char *note;      /* why a vendor's work cannot be recorded, NULL: it can */
	const char *why_empty; /* what would explain a trace without work, NULL nothing */
	bool can_record;       /* there is a recorder beside the program */
} assay_recorded;

/* What was recorded, lost, and the next command to type. */
void assay_recorded_text(FILE *out, const assay_recorded *r, const assay_run *run);
/* What `record --recover` brought back. */
void assay_recovered_text(FILE *out, const assay_recorded *r, const assay_run *run);

void assay_recorded_counts_json(assay_jsonw *w, const assay_run *run);
void assay_unrecorded_json(assay_jsonw *w, const assay_recorded *r);

#endif
