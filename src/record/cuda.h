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
/* Was the call chosen? More come when another profiler switches all on. */
bool assay_cuda_chosen(int domain, uint32_t cbid);

/* A finished CUPTI buffer into the capture. sentinel: thread whose cuDriverGetVersion calls are no
 * rows; returns how many of them were there. */
uint64_t assay_cuda_convert(const cupti_lib *c, uint8_t *buffer, size_t valid, uint32_t sentinel);

extern const assay_rt_hooks assay_cuda_hooks;

#endif
