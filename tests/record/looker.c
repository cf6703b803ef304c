/* A profiler that finds CUPTI by name, as those of XLA, Triton and TensorFlow do; Triton's brings a
 * copy of its own. Built as libproton_test.so. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vendor/cupti.h"

int looker_subscribe(void);
int looker_start(const char *cupti);
void looker_stop(void);

static unsigned kernels, callbacks;
static void *subscriber;
static struct {
	cupti_result (*subscribe)(void **, cupti_callback_fn *, void *);
	cupti_result (*unsubscribe)(void *);
	cupti_result (*enable_domain)(uint32_t, void *, int);
	cupti_result (*enable)(int);
	cupti_result (*disable)(int);
	cupti_result (*flush)(uint32_t);
	cupti_result (*reg)(cupti_request_fn *, cupti_complete_fn *);
	cupti_result (*next)(uint8_t *, size_t, void **);
} its;

int looker_subscribe(void)
{
	void *lib = dlopen("libcupti.so.13", RTLD_NOW);
	void *p = lib ? dlsym(lib, "cuptiSubscribe") : NULL;
	memcpy(&its.subscribe, &p, sizeof p);
	return its.subscribe ? its.subscribe(&subscriber, NULL, NULL) : -1;
}

static void request(uint8_t **buffer, size_t *size, size_t *max)
{
	*size = 1 << 16;
	*max = 0;
	*buffer = aligned_alloc(8, *size);
}

static void complete(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	(void)context, (void)stream, (void)size;
	for (void *r = NULL; its.next(buffer, valid, &r) == CUPTI_OK;) {
		uint32_t kind;
		memcpy(&kind, r, sizeof kind);
		kernels += kind == CUPTI_CONCURRENT_KERNEL;
	}
	free(buffer);
}

static void on_call(void *data, int domain, uint32_t cbid, const void *info)
{
	(void)data, (void)domain, (void)cbid;
	callbacks += ((const cupti_call *)info)->callbackSite == CUPTI_ENTER;
}

static int find(void *lib, const char *name, void *fn)
{
	void *p = dlsym(lib, name);
	memcpy(fn, &p, sizeof p);
	return p != NULL;
}

/* The first call that fails, or 0. */
int looker_start(const char *cupti)
{
	void *lib = dlopen(cupti, RTLD_NOW | RTLD_LOCAL);
	if (!lib || !find(lib, "cuptiSubscribe", &its.subscribe) ||
	    !find(lib, "cuptiUnsubscribe", &its.unsubscribe) ||
	    !find(lib, "cuptiEnableDomain", &its.enable_domain) ||
	    !find(lib, "cuptiActivityEnable", &its.enable) ||
	    !find(lib, "cuptiActivityDisable", &its.disable) ||
	    !find(lib, "cuptiActivityFlushAll", &its.flush) ||
	    !find(lib, "cuptiActivityRegisterCallbacks", &its.reg) ||
	    !find(lib, "cuptiActivityGetNextRecord", &its.next))
		return -1;
	int rc = its.subscribe(&subscriber, on_call, NULL);
	rc = rc ? rc : its.enable_domain(1, subscriber, CUPTI_DOMAIN_RUNTIME);
	rc = rc ? rc : its.reg(request, complete);
	return rc ? rc : its.enable(CUPTI_CONCURRENT_KERNEL);
}

void looker_stop(void)
{
	its.flush(1);
	its.disable(CUPTI_CONCURRENT_KERNEL);
	its.enable_domain(0, subscriber, CUPTI_DOMAIN_RUNTIME);
	its.unsubscribe(subscriber);
	printf("kernels %u callbacks %u\n", kernels, callbacks);
}
