/* The stretch of the main device that stands for the run: the windows of its steps, each with the
 * wait in front of it; the whole span without steps. First steps that took several times the usual
 * are warming up and left out. */
#ifndef ASSAY_ANALYZE_WINDOW_H
#define ASSAY_ANALYZE_WINDOW_H

#include "analyze/order.h"

typedef struct assay_window {
	uint32_t device; /* row of device_time; ASSAY_NO_ROW when there is no GPU work */
	int64_t from, to;
	int64_t off;     /* between them, not recorded: part of nothing */
	uint64_t steps;  /* steps in it; 0 when none are known */
	uint64_t warmup; /* steps left out before it */
	uint64_t apart;  /* steps with other work between them, such as an evaluation: the window is
			    the longest row of steps without */
	double apart_time; /* ns of these */
	int64_t stretch;   /* when that row begins on the device, its warm-up included */
	int64_t warm;      /* when the first step that counts begins, where others were left out */
	int64_t last;      /* when the last one begins, where recording was off behind it */
	int64_t compute, comm, copy, idle;
	uint64_t events[ASSAY_CLASS_COUNT];
	int64_t cause[ASSAY_WHY_COUNT]; /* sum to idle */
	uint64_t gaps[ASSAY_WHY_COUNT];
	uint32_t longest[ASSAY_WHY_COUNT]; /* row of the gap with the longest part */
	int64_t longest_part[ASSAY_WHY_COUNT];
	int64_t suspicious; /* of cause[LAUNCH_LATENCY] */
	/* of cause, what lies before the first work and in no gap; where it is not 0, its row of
	 * host */
	int64_t lead[ASSAY_WHY_COUNT];
	uint32_t lead_row[ASSAY_WHY_COUNT];
	uint32_t lead_gpu; /* that work, where there is a lead */
} assay_window;

static inline int64_t assay_window_length(const assay_window *w)
{
	return w->to - w->from - w->off;
}

/* Pieces of work of all classes. */
static inline uint64_t assay_window_events(const assay_window *w)
{
	uint64_t n = 0;
	for (int k = 0; k < ASSAY_CLASS_COUNT; k++)
		n += w->events[k];
	return n;
}

/* What step times tell, before gaps are known. steps: as given by the user when the input marks
 * none; 0 when unknown. */
assay_window assay_window_bounds(const assay_run *run, const assay_order *order, int64_t steps);
/* What gaps tell. */
void assay_window_add_causes(const assay_run *run, const assay_order *order, assay_window *w);
/* Both. */
assay_window assay_window_find(const assay_run *run, const assay_order *order, int64_t steps);

typedef assay_vec(uint32_t) assay_step_rows;

/* Steps that count, in order of start: those of the main device's process (without any, of the
 * first that has some), less those that warm up. Every step time in the report is of these. */
void assay_window_steps(const assay_run *run, const assay_window *w, assay_step_rows *out);
/* What says that they are steps; MARKER without any. */
uint8_t assay_window_origin(const assay_run *run, const assay_window *w);

/* steady: the step that the report goes by, and what lies before and behind the steps. */
void assay_steady(assay_run *run, const assay_window *w);

/* The device that did most: the one whose figures stand for the run. */
uint32_t assay_main_device(const assay_run *run);

#endif
