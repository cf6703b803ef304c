/* CUPTI's one subscription to callbacks, of which the recorder is one member and a profiler that
 * the program starts itself (torch.profiler, jax.profiler, Proton) another: each gets the callbacks
 * that it switched on. Whoever comes first subscribes, whoever leaves last unsubscribes. */
#ifndef ASSAY_RECORD_CUDA_SUBSCRIPTION_H
#define ASSAY_RECORD_CUDA_SUBSCRIPTION_H

#include <stdatomic.h>
#include <stdbool.h>

#include "vendor/cupti.h"

/* The other's callback while it is a member, for assay_callback's quick look. */
extern _Atomic(cupti_callback_fn *) assay_subscription_other;

/* Before anything else: of which CUPTI. */
void assay_subscription_of(const cupti_lib *c);

/* Ours. False: somebody has it who did not ask us. What we want is switched on by renewing. */
bool assay_subscription_join(void);
void assay_subscription_want(int domain, uint32_t cbid);
void assay_subscription_leave(void);
/* CUPTI takes a call's callback away with its record: everybody's are switched on again. */
void assay_subscription_renew(void);
/* To the other, if it wants this one. */
void assay_subscription_pass(int domain, uint32_t cbid, const void *info);
void assay_subscription_forked(void);

/* What the other calls instead of CUPTI. */
cupti_result assay_subscription_subscribe(void **handle, cupti_callback_fn *callback, void *data);
cupti_result assay_subscription_unsubscribe(void *handle);
cupti_result assay_subscription_switch(uint32_t on, void *handle, int domain, uint32_t cbid);
cupti_result assay_subscription_switch_domain(uint32_t on, void *handle, int domain);
cupti_result assay_subscription_switch_all(uint32_t on, void *handle);
cupti_result assay_subscription_state(uint32_t *on, void *handle, int domain, uint32_t cbid);
/* Without a handle, as cuptiFinalize ends it. */
void assay_subscription_end_other(void);

#endif
