/* Living beside a profiler that the program starts itself (torch.profiler, jax.profiler). CUPTI
 * keeps one client's buffers; so we stay that client, and stand in for CUPTI towards the other one:
 * it gets the records of the kinds it asked for, in buffers of its own, and we keep ours. */
#ifndef ASSAY_RECORD_CUDA_SHARE_H
#define ASSAY_RECORD_CUDA_SHARE_H

#include "record/cuda.h"

/* Put ourselves between every loaded library and the CUPTI that c was bound from (lib); call again
 * when libraries may have been loaded since (cheap when none were). */
void assay_share_install(const cupti_lib *c, void *lib);

/* Does the other profiler record now? Then its buffers go to CUPTI and flushes are its own
 * business. */
bool assay_share_active(void);
/* Has it switched the kind on? */
bool assay_share_wants(int kind);
/* A buffer of the other profiler's for CUPTI to fill; false when it has no session. */
bool assay_share_request(uint8_t **buffer, size_t *size, size_t *max_records);
/* CUPTI got a buffer (1) or gave one back (-1). */
void assay_share_held(int step);
/* Does it hold any? */
bool assay_share_holds(void);
/* CUPTI's flush. A forced one tears the records of running work out unfinished, ours and the
 * other's; work that is given a little time leaves whole ones, and nothing to force. */
cupti_result assay_share_flush(uint32_t flag);
/* The same without force, whatever then still runs. */
void assay_share_settle(void);
/* For a buffer of ours, when CUPTI gets it: a mark that tells later whether the other recorded
 * while it was filled. */
uint64_t assay_share_mark(void);
/* A full buffer of the other's, after we read it: handed over. False when it is not the other's. */
bool assay_share_complete(void *context, uint32_t stream, uint8_t *buffer, size_t size,
			  size_t valid);
/* A full buffer of ours with its mark: the other gets a copy of what concerns it. */
void assay_share_copy(void *context, uint32_t stream, uint8_t *buffer, size_t valid, uint64_t mark);
/* The other's clock for records, NULL when CUPTI uses its own; and our time and its when it was
 * registered. */
cupti_time_fn *assay_share_clock(int64_t *boot, int64_t *theirs);

#endif
