/* Analyses: each reads tables and appends rows to tables of findings. */
#ifndef ASSAY_ANALYZE_ANALYZE_H
#define ASSAY_ANALYZE_ANALYZE_H

#include "analyze/order.h"
#include "analyze/window.h"
#include "model/run.h"

/* First of all: no time so far out that sums overflow. */
void assay_bound_times(assay_run *run);

/* device_time: per source and device, the exact split of the span. Needs launch. */
void assay_partition(assay_run *run, const assay_order *order);

/* gap, gap_part, idle_cause: every idle stretch of a device and what it waited for. Needs launch
 * and edge. */
void assay_gaps(assay_run *run, const assay_order *order);
/* The same in two halves: gaps, and what their threads did, are found beside what the caller does
 * meanwhile. Strings and rows may come, but none of threads, GPU work and waits. */
typedef struct assay_gap_search assay_gap_search;
assay_gap_search *assay_gaps_start(const assay_run *run, const assay_order *order);
void assay_gaps_end(assay_gap_search *s, assay_run *run); /* s is gone afterwards */
/* ns: a device that is free begins sooner. It had other work, was asleep, or the call is the wrong
 * one. */
enum { ASSAY_SUSPICIOUS_LATENCY = 1000 * 1000 };
/* The causes of [from, start of a row of gpu), in which its device was idle; they sum to it. Beside
 * each the row of host that the longest stretch of it lies in. */
void assay_gap_causes(const assay_run *run, uint32_t gpu, int64_t from,
		      int64_t part[ASSAY_WHY_COUNT], uint32_t during[ASSAY_WHY_COUNT]);

/* Steps from a loop that goes over equal layers become those around them. */
void assay_loop_layers(assay_run *run, const assay_order *order);
/* step, from the rhythm of the kernels when nothing marks steps. */
void assay_repeated_steps(assay_run *run, const assay_order *order);

/* step_time: the device window of each step and its exact split. since: by source, when its first
 * window begins where that is known (INT64_MIN: not); NULL of no source. */
void assay_step_times(assay_run *run, const assay_order *order, const int64_t *since);

/* kernel: one row a name, in order of first appearance. */
void assay_kernels(assay_run *run);
/* Family of kernels whose name told nothing, from the operator that launched them. */
void assay_kernels_by_op(assay_run *run);
/* Fills kernel_line, and the line of each kernel, where calls have stacks. */
void assay_kernel_lines(assay_run *run);

/* Rows of kernel with the same name and kind become one: summed, but that those before `older` give
 * way to the one among later rows (which are folded already), 0 for none. */
void assay_kernels_fold(assay_run *run, size_t older);

/* "device 0", with the rank where there is one: what warnings call a row of device_time. */
const char *assay_device_words(assay_run *run, uint32_t row);

/* metric: the figures of the run, each measured, estimated or unknown. Needs all of the above. */
void assay_metrics(assay_run *run, const assay_report_opts *opts, const assay_window *w);

/* What telemetry says of how busy the devices were, percent: the mean of samples in [from, to);
 * *samples: how many there are. */
double assay_telemetry_busy(assay_run *run, int64_t from, int64_t to, size_t *samples);

/* budget: seconds per step by kind of waste. Needs metric. */
void assay_budget(assay_run *run, const assay_window *w);

/* issue counts: overlaps on a stream, work that begins before its launch. Needs launch. */
void assay_count_disorder(assay_run *run, const assay_order *order);
/* Warnings: telemetry that disagrees with what was measured, launches and ranks that are missing.
 * Needs gap. */
void assay_checks(assay_run *run);
/* Warns where a device failed while the program used it; assay_checks() does, too. */
void assay_check_failures(assay_run *run);

/* Warnings where the report contradicts itself. Needs all that it tells. */
void assay_self_check(assay_run *run, const assay_window *w);

/* call: the collectives of each rank. Needs launch and step. */
void assay_calls(assay_run *run, const assay_order *order);

/* collective, rank: the same collective on all ranks; clocks, late ranks, bandwidth. Needs call,
 * device_time and idle_cause. */
void assay_ranks(assay_run *run);

/* Fills the chain table for the longest waits: where their time was spent. */
void assay_wait_chains(assay_run *run);
/* Its last part: which machine each rank ran on, and what makes it late. on_host: collectives are
 * no kernels. */
void assay_late_causes(assay_run *run, bool on_host);

#endif
