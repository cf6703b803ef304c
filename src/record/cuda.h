/* The NVIDIA recorder's own parts, shared between its files only. */
#ifndef ASSAY_RECORD_CUDA_H
#define ASSAY_RECORD_CUDA_H

#include "record/rt.h"
#include "vendor/cupti.h"

/* The CUPTI this process uses or would use: opened, never closed. NULL when there is none. */
void *assay_cuda_find_cupti(int driver_major, char *path, size_t size);

/* Find the calls worth a row (or all) and write their names. Bulk must be open. */
void assay_cuda_choose_calls(const cupti_lib *c, const assay_rt_config *conf);
/* Switch the chosen calls on. */
void assay_cuda_enable_calls(const cupti_lib *c, const assay_rt_config *conf);
/* Kinds that are to stay on when another profiler switches them off. */
bool assay_cuda_owns(int kind);
/* Put callbacks in the place of CUPTI's records of events and waits, or take them away again
 * because another profiler wants CUPTI's one subscription. */
void assay_cuda_take_order(void);
void assay_cuda_leave_order(void);
/* Was the call chosen? More come when another profiler switches all on. */
bool assay_cuda_chosen(int domain, uint32_t cbid);

/* A finished CUPTI buffer into the capture. sentinel: thread whose cuDriverGetVersion calls are no
 * rows; returns how many of them were there. */
uint64_t assay_cuda_convert(const cupti_lib *c, uint8_t *buffer, size_t valid, uint32_t sentinel);

/* cuda_order.c: calls that order work, by callback. learn: is this one of them? sees: one of them,
 * and callbacks are on, so that its row comes from there. start: false when CUPTI refuses. */
bool assay_order_learn(int domain, uint32_t cbid, const char *name);
bool assay_order_start(const cupti_lib *c);
void assay_order_stop(void);
bool assay_order_on(void);
bool assay_order_sees(int domain, uint32_t cbid);

extern const assay_rt_hooks assay_cuda_hooks;

#endif
