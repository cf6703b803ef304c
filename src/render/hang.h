/* Where processes stand still, for people and for programs. */
#ifndef ASSAY_RENDER_HANG_H
#define ASSAY_RENDER_HANG_H

#include <stdio.h>

#include "base/jsonw.h"
#include "model/hang.h"

/* A thread, by what was recorded of it and what the system says now. */
typedef struct assay_hang_thread {
	int64_t tid;
	char name[32];
	char state;         /* as of /proc: R, S, D, ...; 0 unknown */
	char in[64];        /* system call, or function of the kernel; "" unknown */
	uint32_t open_call; /* row, ASSAY_NO_ROW none */
	uint32_t sample;    /* row: the last look at it; ASSAY_NO_ROW none */
	uint32_t stack;     /* row: of that look, or its last call's; ASSAY_NO_ROW none */
	int64_t called;     /* end of its last call of the GPU's API; INT64_MIN it made none */
	int64_t holder;     /* thread that has the lock it waits for; 0 unknown */
} assay_hang_thread;

typedef struct assay_hang_process {
	assay_run *run; /* NULL: not recorded, threads only */
	const char *path;
	int64_t pid;
	int rank; /* -1 none */
	bool alive;
	int64_t now; /* CLOCK_BOOTTIME; of a dead one its last sign of life */
	assay_hang hang;
	assay_vec(assay_hang_thread) thread;
} assay_hang_process;

typedef assay_vec(assay_hang_process) assay_hang_processes;

/* The sentences that answer the question come first. */
void assay_hang_text(FILE *out, const assay_hang_processes *all);
void assay_hang_json(assay_jsonw *w, const assay_hang_processes *all);

#endif
