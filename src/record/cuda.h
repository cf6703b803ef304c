/* The NVIDIA recorder's own parts, shared between its files only. */
#ifndef ASSAY_RECORD_CUDA_H
#define ASSAY_RECORD_CUDA_H

#include "record/rt.h"
#include "vendor/cupti.h"

/* The CUPTI this process uses or would use: opened, never closed. NULL when there is none. */
void *assay_cuda_find_cupti(int driver_major, char *path, size_t size);

/* Find the calls worth a row (or all) and write their names. Bulk must be open. */
void assay_cuda_choose_calls(const cupti_lib *c, const assay_rt_config *conf);
/* Switch the chosen calls on: their callbacks, or CUPTI's records of them while there are none. */
void assay_cuda_enable_calls(const cupti_lib *c);
void assay_cuda_disable_calls(const cupti_lib *c);
/* CUPTI's records of the chosen calls, as far as another profiler does not want them. */
void assay_cuda_switch_records(const cupti_lib *c, bool on);
/* Was the call chosen? More come when another profiler switches all on. */
bool assay_cuda_chosen(int domain, uint32_t cbid);
/* Is recording switched on, as far as CUPTI knows? */
bool assay_cuda_on(void);
/* Make CUPTI take its buffers from us; false: it refuses. */
bool assay_cuda_prepare(void);
/* Kinds that are to stay on when another profiler switches them off. */
bool assay_cuda_owns(int kind);
/* Put callbacks in the place of CUPTI's records of calls, events and waits, where CUPTI lets us. */
void assay_cuda_take_calls(void);

/* The program has a context on the device. */
void assay_cuda_met_context(uint32_t device);

/* A finished CUPTI buffer into the capture. sentinel: thread whose cuDriverGetVersion calls are no
 * rows; returns how many of them were there. */
uint64_t assay_cuda_convert(const cupti_lib *c, uint8_t *buffer, size_t valid, uint32_t sentinel);

/* The call of this number is recorded: so is its GPU work, whenever it runs. */
void assay_cuda_inside(uint32_t corr);

/* cuda_callback.c: calls by callback. watch: this one is to be seen. launches: does it put work on
 * a stream? mute: the caller's thread is ours. start joins the subscription (false: CUPTI refuses);
 * the calls are seen once that is renewed. assay_callback is what CUPTI calls. saw: was a call that
 * began then seen, so that a record of it is one too many? */
void assay_callback_watch(int domain, uint32_t cbid, const char *name);
bool assay_callback_launches(const char *name);
void assay_callback_mute(void);
bool assay_callback_start(const cupti_lib *c);
void assay_callback_stop(void);
bool assay_callback_on(void);
void assay_callback(void *data, int domain, uint32_t cbid, const void *info);
bool assay_callback_saw(int domain, uint32_t cbid, int64_t start);

/* cuda_graphs.c: how graphs are traced. begin: before the program can make one, begun: it goes on;
 * traced: may others not switch it off? seen: calls are from now on, or will not be in a moment.
 * enter, leave: of calls that make graphs, and of launches. */
enum { ASSAY_GRAPH_MADE = 1, ASSAY_GRAPH_LAUNCHED = 2 };
void assay_graphs_begin(const cupti_lib *c);
void assay_graphs_begun(void);
void assay_graphs_forked(void);
bool assay_graphs_traced(void);
void assay_graphs_seen(bool seen);
void assay_graphs_tick(void);
void assay_graphs_enter(uint8_t what);
void assay_graphs_leave(uint8_t what);

extern const assay_rt_hooks assay_cuda_hooks;

#endif
