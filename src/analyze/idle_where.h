/* Where the launching thread was while a device waited for one cause, by the rows of host. */
#ifndef ASSAY_ANALYZE_IDLE_WHERE_H
#define ASSAY_ANALYZE_IDLE_WHERE_H

#include "analyze/where.h"
#include "analyze/window.h"

/* The name that stands in most of a cause's time. */
typedef struct assay_idle_name {
	assay_sid name; /* 0: nothing was recorded */
	uint32_t row;   /* of host, with that name */
	int64_t time;
} assay_idle_name;

/* Time by a key, and the name with most of it. Starts as zero. */
typedef struct assay_idle_tally {
	assay_map known;
	assay_vec(assay_idle_name) sum;
	assay_idle_name best;
} assay_idle_tally;

void assay_idle_tally_add(assay_idle_tally *t, uint64_t key, assay_idle_name one);
/* The best; the rest is freed. */
assay_idle_name assay_idle_tally_end(assay_idle_tally *t);

bool assay_gap_in_window(const assay_gap_table *g, const assay_window *w, size_t gap);

/* A key of a row's name; numbers in names count steps and calls. */
uint64_t assay_name_without_numbers(const assay_run *run, uint32_t host, uint64_t seed);

/* What the host was in, for people; a call that the recording does not name is told so. */
const char *assay_idle_spell(const assay_run *run, assay_arena *a, assay_sid name);

assay_idle_name assay_idle_name_of(const assay_run *run, const assay_window *w, int cause);
/* File, line and function of "train.py(12): step", as Kineto names frames; false: a function of C,
 * or of a library. */
bool assay_frame_where(assay_arena *a, assay_str name, assay_where *where);
/* A frame for people: "zoom (scipy/ndimage/_interpolation.py)", "Tensor.to". */
const char *assay_frame_spell(assay_arena *a, assay_str name);
/* 1: such a frame, of the program itself. */
unsigned assay_is_own_frame(assay_str name);
/* What such a name says, which is of no Python frame: an operator or call, or a range. */
assay_where assay_idle_where(const assay_run *run, assay_arena *a, const assay_idle_name *in);
/* The line of the program with most of the cause, where calls have stacks; else nothing changes. */
void assay_idle_line_where(const assay_run *run, const assay_window *w, int cause,
			   assay_where *where);

#endif
