/* Where in the program a cause of idle time is at home: the line where the launching thread was for
 * most of it, and the thread or child process that it waited for there. */
#ifndef ASSAY_FIND_CAUSE_PLACE_H
#define ASSAY_FIND_CAUSE_PLACE_H

#include "analyze/window.h"

typedef struct assay_cause_place {
	uint32_t stack;   /* own call of the launching thread; ASSAY_NO_ROW: no stacks */
	uint32_t culprit; /* own call of who it waits for; ASSAY_NO_ROW */
	uint32_t sample;  /* that shows it; ASSAY_NO_ROW */
	int64_t time;     /* ns, in the longest stretches of the gaps */
} assay_cause_place;

/* Of the gaps of a row of device_time within [from, to]. */
assay_cause_place assay_cause_place_find(const assay_run *run, uint32_t device, int64_t from,
					 int64_t to, assay_why cause);
/* The line where a fix belongs: that of who is waited for, else of the thread itself; one in a
 * file, if there is one. Where there is a place. */
uint32_t assay_cause_place_home(const assay_run *run, const assay_cause_place *p);
/* "the launching thread is at train.py:12 step; meanwhile process 7 is at ...; in libx.so (f);
 * about /data/x"; NULL without stacks. */
const char *assay_cause_place_words(assay_arena *a, const assay_run *run,
				    const assay_cause_place *p);

/* "in empty_cache of torch/cuda/memory.py": the library's function that a call of the program leads
 * to; NULL where it leads to none. */
const char *assay_cause_inner_words(assay_arena *a, const assay_run *run, uint32_t stack);

/* Of the window: how long a thread ran, and how long it was ready to run and did not. */
typedef struct assay_cpu_time {
	int64_t cpu, delay;
} assay_cpu_time;

assay_cpu_time assay_cpu_time_of(const assay_run *run, const assay_window *w, uint32_t track);

/* What is done at a place of the launching thread: its function, or its line where the function
 * launches much of the work itself. */
typedef struct assay_place_time {
	int64_t idle; /* ns of the window in which the device waits for what is done there */
	int64_t comm; /* of it, while that waits for other ranks */
	int64_t work; /* ns of work launched there */
	int64_t sent; /* of it, copies to the device */
	uint64_t kernels, copies, bytes; /* of it; bytes: copied */
	bool function;                   /* all of the function, not the line */
	bool inner;                      /* and all of the program's own that it calls */
} assay_place_time;

/* By row of stack: is it at the place of an own call? */
void assay_place_stacks(const assay_tables *t, uint32_t own, const assay_place_time *of, bool *is);

/* At an own call. False: much of the work is launched there, so it cannot go. */
bool assay_place_time_of(const assay_run *run, const assay_window *w, uint32_t own,
			 assay_place_time *out);

/* Of an own call's line, with all of the program's own that it calls; false as above. */
bool assay_place_call_time_of(const assay_run *run, const assay_window *w, uint32_t own,
			      assay_place_time *out);

/* Of a cause's time at lines of the program, the share that goes with an own call: not what a
 * library that calls it does itself, which stands at the line that called the library. */
double assay_place_share(const assay_run *run, const assay_window *w, assay_why cause,
			 uint32_t own);

#endif
