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
	bool full_names; /* names are not cut, however long lines become */
	uint32_t width;  /* columns */
	uint32_t top;    /* rows of tables; 0: what each has by default */
	assay_arena scratch;
} assay_printout;

/* Text, or as much of it as fits into so many columns, with dots. */
const char *assay_cut(assay_arena *a, const char *text, size_t columns);
/* The same, cut in the middle: the end keeps up to tail columns. */
const char *assay_cut_middle(assay_arena *a, const char *text, size_t columns, size_t tail);
/* Columns that a text takes. */
size_t assay_columns(const char *text);
/* The width of printf's "%-*s", which counts bytes, for a text that is to fill so many columns. */
int assay_padded(const char *text, size_t columns);
/* Columns that are left for a name behind those in use. */
size_t assay_room(const assay_printout *p, size_t used);
/* Words from this column on, where the line stands, into as many lines as they need. */
void assay_print_flow(assay_printout *p, size_t column, const char *text);
/* A sentence below a heading. */
void assay_print_sentence(assay_printout *p, const char *text);
/* How many lines words need. */
size_t assay_flow_lines(const assay_printout *p, size_t column, const char *text);
/* Finished lines, none of them wider than width. */
void assay_lines_put(FILE *out, const char *text, size_t n, size_t width);
/* The same with all of their text: they go on below the last column of a row. */
void assay_lines_fit(FILE *out, const char *text, size_t n, size_t width);

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
void assay_warnings_text(assay_printout *p, const char *before);

/* What the figures rest on. */
typedef struct assay_trust {
	uint64_t records, events, linked;
	uint64_t problems, notes; /* issues met, and those of no harm */
	size_t warnings;
	double idle, unknown; /* ns over all devices, and of them without a known cause */
	uint32_t offs; /* how often recording was switched off, and for how long: of the process */
	int64_t off;   /* for which that was longest */
	uint64_t not_kept; /* records that a flight recorder dropped as too old, */
	int64_t unkept;    /* and the time, of the process for which it is longest */
	int64_t still;     /* how long a process stood still; the same */
} assay_trust;
assay_trust assay_trust_of(const assay_run *run);
void assay_trust_text(assay_printout *p);

/* Everything in 24 lines. */
void assay_first_screen(assay_printout *p);

/* Labels of rows of kernel, no two alike, of at most room columns. */
const char **assay_kernel_labels(assay_printout *p, const uint32_t *rows, size_t n, size_t room);
void assay_kernels_text(assay_printout *p);

/* Copies: a table, as many of them as fit into one line (NULL without any), JSON. */
void assay_copies_text(assay_printout *p);
const char *assay_copies_line(assay_printout *p, size_t room);
void assay_copies_json(assay_jsonw *w, const assay_run *run);

/* Calls of the GPU runtime, and what recording took, by function. */
void assay_host_calls_text(assay_printout *p);
void assay_overhead_text(assay_printout *p);
void assay_host_calls_json(assay_jsonw *w, const assay_run *run);

/* Memory of devices over time. */
void assay_memory_text(assay_printout *p);
void assay_memory_json(assay_jsonw *w, const assay_run *run);

/* Hardware counters by kernel. */
void assay_counters_text(assay_printout *p);
void assay_counters_json(assay_jsonw *w, const assay_run *run);

/* Sums that came without times. */
void assay_summaries_text(assay_printout *p);
void assay_summaries_json(assay_jsonw *w, const assay_run *run);

/* # compute, = communication, + copy, . idle; ends the line. */
void assay_print_bar(assay_printout *p, const int64_t part[4], int64_t span, int width);

/* "2", or "2 (rank 5)". */
const char *assay_device_label(assay_printout *p, uint32_t device_time);

/* Idle time by row of device_time: rows of idle_cause, and time of each kind of queue, of which
 * what no wait edge explains is "other". Of the arena. */
typedef struct assay_idle_index {
	uint32_t *row;
	size_t *first; /* into row; one more than there are devices */
	int64_t (*queued)[ASSAY_QUEUED_COUNT];
} assay_idle_index;
assay_idle_index assay_idle_index_of(const assay_run *run, assay_arena *a);

/* Idle time by cause and the longest gaps: the members of one device, and the list. */
void assay_idle_json(assay_jsonw *w, const assay_run *run, const assay_idle_index *x,
		     uint32_t device_time);
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
void assay_findings_text(assay_printout *p);
/* Rows of finding for who has little room, `most` at most; how many. Consequences stand below their
 * cause and are left out, and what is worth nothing beside the first. */
size_t assay_findings_to_show(const assay_run *run, uint32_t *rows, size_t most);
/* "112 ms -> ~21.3 ms a step", "train.py:12, in load, range data"; "" when it is not known. */
const char *assay_finding_worth(assay_printout *p, size_t finding);
const char *assay_finding_where(assay_printout *p, size_t finding);

/* Ranks and the collectives between them. */
void assay_ranks_json(assay_jsonw *w, const assay_run *run);
void assay_ranks_text(assay_printout *p);

/* Steps: the markers, and what devices did in them. */
void assay_steps_json(assay_jsonw *w, const assay_run *run);
void assay_derived_text(assay_printout *p);
void assay_derived_json(assay_jsonw *w, const assay_run *run);
/* ": 2 prefill, 41.2 us a token; 10 decode, 597 us a token" of a serving engine's steps that count,
 * "" of others. */
const char *assay_phases_text(assay_printout *p);
void assay_steps_text(assay_printout *p);

#endif
