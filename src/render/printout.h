/* What the parts of the text report share. */
#ifndef ASSAY_RENDER_PRINTOUT_H
#define ASSAY_RENDER_PRINTOUT_H

#include <stdio.h>

#include "base/jsonw.h"
#include "model/run.h"

typedef struct assay_printout {
	FILE *out;
	const assay_run *run;
	bool colour;
	assay_arena scratch;
} assay_printout;

void assay_print_heading(assay_printout *p, const char *text);

/* Up to this many of anything are listed one by one; of more, some and how all are spread. */
enum { ASSAY_PRINT_FEW = 16 };

/* Rows of device_time to list: all, or those of sources that have events. */
size_t assay_print_devices(const assay_printout *p);

/* Least, median and most of n values; sorts them. */
typedef struct assay_spread {
	int64_t least, median, most;
} assay_spread;
assay_spread assay_spread_of(int64_t *v, size_t n);

/* Warnings, after three of a kind only their number. */
void assay_warnings_text(FILE *out, const assay_run *run, const char *before);

/* # compute, = communication, + copy, . idle; ends the line. */
void assay_print_bar(assay_printout *p, const int64_t part[4], int64_t span, int width);

/* "2", or "2 (rank 5)". */
const char *assay_device_label(assay_printout *p, uint32_t device_time);

/* Idle time by cause and the longest gaps: the members of one device, and the list. */
void assay_idle_json(assay_jsonw *w, const assay_run *run, uint32_t device_time);
void assay_gaps_json(assay_jsonw *w, const assay_run *run);
void assay_idle_text(assay_printout *p);
/* render/idle_lines.c: where the launching thread was; nothing when the recording has no stacks. */
void assay_idle_lines_json(assay_jsonw *w, const assay_run *run);
void assay_idle_lines_text(assay_printout *p, uint32_t device, assay_why cause);

/* The budget in run_metrics (seconds per step) and in full, and the verdicts. */
void assay_waste_json(assay_jsonw *w, const assay_run *run);
void assay_budget_json(assay_jsonw *w, const assay_run *run);
void assay_budget_text(assay_printout *p);
void assay_steady_json(assay_jsonw *w, const assay_run *run);
void assay_findings_json(assay_jsonw *w, const assay_run *run);
void assay_verdicts_json(assay_jsonw *w, const assay_run *run);
/* "longest_gap" of a row of gap, or null. */
void assay_put_gap(assay_jsonw *w, const assay_run *run, uint32_t gap);
void assay_verdicts_text(assay_printout *p);

/* Ranks and the collectives between them. */
void assay_ranks_json(assay_jsonw *w, const assay_run *run);
void assay_ranks_text(assay_printout *p);

/* Steps: the markers, and what devices did in them. */
void assay_steps_json(assay_jsonw *w, const assay_run *run);
void assay_derived_text(assay_printout *p);
void assay_derived_json(assay_jsonw *w, const assay_run *run);
void assay_steps_text(assay_printout *p);

#endif
