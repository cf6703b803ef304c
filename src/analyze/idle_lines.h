/* Idle time gathered by cause and line. */
#ifndef ASSAY_ANALYZE_IDLE_LINES_H
#define ASSAY_ANALYZE_IDLE_LINES_H

#include "model/run.h"

typedef struct assay_idle_lines {
	assay_run *run;
	assay_map rows; /* device, cause and line -> row of idle_line */
	size_t first;   /* its rows of this run start here */
} assay_idle_lines;

void assay_idle_lines_init(assay_idle_lines *l, assay_run *run);
/* stack and sample may be none; without a stack nothing is added. */
void assay_idle_lines_add(assay_idle_lines *l, uint32_t device, assay_why cause, uint32_t stack,
			  uint32_t sample, int64_t dur);
/* Puts the longest first. */
void assay_idle_lines_done(assay_idle_lines *l);

/* One number for the line of a call; 0 for none. */
uint64_t assay_line_key(const assay_tables *t, uint32_t stack);
/* Own call of the thread that a sampled one waits for; ASSAY_NO_ROW. */
uint32_t assay_culprit_call(const assay_tables *t, uint32_t sample);

#endif
