/* A CUPTI without a GPU: keeps the activity API's promises (kinds, calls switched on one by one,
 * buffers asked for and handed back, flushes) over work that a test program tells it of. Built from
 * the same declarations as the recorder. FAKE_CUPTI_OLD=1 writes the shorter records of 12.0,
 * FAKE_CUPTI_TWO=1 has two devices. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "vendor/cupti.h"
#include "child.h"
#include "fake.h"

#define API __attribute__((visibility("default")))

enum { KINDS = 64, CBIDS = 1200 };

/* Sizes of whole records in 13.0; ours are prefixes. */
static const struct {
	uint16_t kind, now, old;
} sizes[] = {
	{CUPTI_CONCURRENT_KERNEL, 216, 208},
	{CUPTI_MEMCPY, 96, 96},
	{CUPTI_MEMCPY2, 96, 96},
	{CUPTI_MEMSET, 88, 88},
	{CUPTI_RUNTIME, 40, 40},
	{CUPTI_DRIVER, 40, 40},
	{CUPTI_SYNCHRONIZATION, 56, 40},
	{CUPTI_CUDA_EVENT, 56, 24},
	{CUPTI_DEVICE, 208, 208},
	{CUPTI_CONTEXT, 32, 24},
	{CUPTI_STREAM, 24, 24},
	{CUPTI_MEMORY2, 128, 120},
	{CUPTI_OVERHEAD, 56, 40},
	{CUPTI_GRAPH_TRACE, 64, 40},
};

static struct {
	pthread_mutex_t lock;
	bool kind[KINDS], call[3][CBIDS];
	uint64_t unmet[64]; /* graphs that were made while they were not traced as a whole */
	size_t unmet_n;
	cupti_request_fn *request;
	cupti_complete_fn *complete;
	cupti_time_fn *time;
	uint8_t *buffer;
	size_t size, used;
	uint32_t corr;
	uint64_t sync_id;
	bool old;
} f = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void in_child(void)
{
	pthread_mutex_init(&f.lock, NULL);
	memset(f.kind, 0, sizeof f.kind);
	memset(f.call, 0, sizeof f.call);
	f.buffer = NULL;
	f.used = 0;
}

static size_t size_of(uint32_t kind)
{
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		if (sizes[i].kind == kind)
			return f.old ? sizes[i].old : sizes[i].now;
	abort();
}

static void hand_back(void)
{
	if (f.buffer)
		f.complete(NULL, 0, f.buffer, f.size, f.used);
	f.buffer = NULL;
	f.used = 0;
}

/* Room for a record; NULL when its kind is off. Under the lock. */
static void *add(uint32_t kind)
{
	size_t n = size_of(kind), max;
	if (!f.request)
		return NULL;
	if (f.buffer && f.used + n > f.size)
		hand_back();
	if (!f.buffer)
		f.request(&f.buffer, &f.size, &max);
	if (!f.buffer)
		return NULL;
	void *r = f.buffer + f.used;
	memset(r, 0, n);
	memcpy(r, &kind, sizeof kind);
	f.used += n;
	return r;
}

/* One subscriber, as everywhere before 13.3. Detaching would take the recorder's kinds along. */
static struct {
	cupti_callback_fn *callback;
	void *data;
	bool taken, call[4][CBIDS];
} subscriber;

/* A call whose record goes loses its callback, too, as in CUPTI 13.0. Under the lock. */
static void switch_call(int domain, uint32_t cbid, bool on)
{
	f.call[domain][cbid] = on;
	subscriber.call[domain][cbid] &= on;
}

static uint64_t now(void)
{
	struct timespec t;
	syscall(SYS_clock_gettime, CLOCK_REALTIME, &t); /* also of a thread that may not read it */
	return f.time ? f.time() : (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

API cupti_result cuptiGetVersion(uint32_t *v)
{
	*v = f.old ? 18 : 130001;
	return CUPTI_OK;
}
API cupti_result cuptiActivityEnable(int kind)
{
	take(&f.lock);
	f.kind[kind] = true;
	if (kind == CUPTI_RUNTIME || kind == CUPTI_DRIVER)
		memset(f.call[kind == CUPTI_RUNTIME ? 2 : 1], 1, CBIDS);
	pthread_mutex_unlock(&f.lock);
	return CUPTI_OK;
}
/* Under the lock. */
static void add_context(uint32_t device)
{
	cupti_context *x = add(CUPTI_CONTEXT);
	if (!x)
		return;
	x->contextId = device + 1;
	x->deviceId = device;
	x->nullStreamId = 7;
}
API cupti_result cuptiActivityEnableAndDump(int kind)
{
	take(&f.lock);
	f.kind[kind] = true;
	void *r = kind == CUPTI_CONTEXT ? NULL : add((uint32_t)kind);
	if (r && kind == CUPTI_DEVICE) {
		cupti_device *d = r;
		d->name = "Fake GPU";
		d->computeCapabilityMajor = 9;
		d->globalMemorySize = 1 << 30;
		d->numMultiprocessors = 4;
		d->numThreadsPerWarp = 32;
	} else if (kind == CUPTI_CONTEXT) {
		for (uint32_t device = 0; device < (getenv("FAKE_CUPTI_TWO") ? 2 : 1); device++)
			add_context(device);
	} else if (r) {
		((cupti_stream *)r)->contextId = 1;
		((cupti_stream *)r)->streamId = 13;
		((cupti_stream *)r)->flag = 2;
	}
	pthread_mutex_unlock(&f.lock);
	return CUPTI_OK;
}
API cupti_result cuptiActivityDisable(int kind)
{
	take(&f.lock);
	f.kind[kind] = false;
	for (uint32_t cbid = 0; (kind == CUPTI_RUNTIME || kind == CUPTI_DRIVER) && cbid < CBIDS;
	     cbid++)
		switch_call(kind == CUPTI_RUNTIME ? 2 : 1, cbid, false);
	pthread_mutex_unlock(&f.lock);
	return CUPTI_OK;
}
API cupti_result cuptiActivityRegisterCallbacks(cupti_request_fn *request,
						cupti_complete_fn *complete)
{
	take(&f.lock);
	if (!f.request) /* read without the lock later, by whoever walks a buffer */
		f.old = getenv("FAKE_CUPTI_OLD") != NULL;
	f.request = request;
	f.complete = complete;
	pthread_mutex_unlock(&f.lock);
	return CUPTI_OK;
}
API cupti_result cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, void **record)
{
	uint8_t *next = buffer;
	if (*record) {
		uint32_t kind;
		memcpy(&kind, *record, sizeof kind);
		next = (uint8_t *)*record + size_of(kind);
	}
	if (next >= buffer + valid)
		return CUPTI_MAX_LIMIT;
	*record = next;
	return CUPTI_OK;
}
API cupti_result cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *n)
{
	(void)context;
	(void)stream;
	const char *drop = getenv("FAKE_CUPTI_DROP");
	*n = drop ? (size_t)atoi(drop) : 0;
	return CUPTI_OK;
}

/* Kernels that run (end 0) hold their buffer back, unless forced. */
static bool all_complete(void)
{
	void *r = NULL;
	bool complete = true;
	while (cuptiActivityGetNextRecord(f.buffer, f.used, &r) == CUPTI_OK) {
		cupti_kernel *k = r;
		if (k->kind != CUPTI_CONCURRENT_KERNEL || k->end)
			continue;
		k->end = k->completed && k->completed <= now() ? k->completed : 0;
		complete = complete && k->end;
	}
	return complete;
}
API cupti_result cuptiActivityFlushAll(uint32_t flag)
{
	take(&f.lock);
	if (f.buffer && f.used && (flag == CUPTI_FLUSH_FORCED || all_complete()))
		hand_back();
	pthread_mutex_unlock(&f.lock);
	return CUPTI_OK;
}
API cupti_result cuptiGetCallbackName(int domain, uint32_t cbid, const char **name)
{
	*name = fake_call_name(domain, cbid);
	return *name ? CUPTI_OK : 1;
}
API cupti_result cuptiActivityEnableRuntimeApi(uint32_t cbid, uint8_t on)
{
	take(&f.lock);
	switch_call(2, cbid, on);
	pthread_mutex_unlock(&f.lock);
	return CUPTI_OK;
}
API cupti_result cuptiActivityEnableDriverApi(uint32_t cbid, uint8_t on)
{
	take(&f.lock);
	switch_call(1, cbid, on);
	pthread_mutex_unlock(&f.lock);
	return CUPTI_OK;
}
API cupti_result cuptiActivityEnableAllSyncRecords(uint8_t on)
{
	(void)on;
	return CUPTI_OK;
}
API cupti_result cuptiSetThreadIdType(int type)
{
	(void)type;
	return CUPTI_OK;
}
/* What CUPTI still holds when the driver goes away, or its clock changes, never gets its times.
 * Under the lock. */
static void forget_times(void)
{
	void *r = NULL;
	while (f.buffer && cuptiActivityGetNextRecord(f.buffer, f.used, &r) == CUPTI_OK)
		if (((cupti_kernel *)r)->kind == CUPTI_CONCURRENT_KERNEL)
			((cupti_kernel *)r)->end = ((cupti_kernel *)r)->completed = 0;
}

API cupti_result cuptiActivityRegisterTimestampCallback(cupti_time_fn *fn)
{
	take(&f.lock);
	forget_times();
	f.time = fn;
	pthread_mutex_unlock(&f.lock);
	return CUPTI_OK;
}

/* The driver knows one subscriber in a process, whichever copy of CUPTI asks. */
static bool driver_takes(bool on)
{
	void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	void *p = lib ? dlsym(lib, "fake_driver_subscribe") : NULL;
	int (*take)(void *, int);
	memcpy(&take, &p, sizeof p);
	return !take || take(&subscriber, on);
}

API cupti_result cuptiSubscribe(void **s, cupti_callback_fn *callback, void *data)
{
	take(&f.lock);
	bool free = !subscriber.taken && !getenv("FAKE_CUPTI_TAKEN") && driver_takes(true);
	if (free) {
		memset(subscriber.call, 0, sizeof subscriber.call);
		subscriber.callback = callback;
		subscriber.data = data;
		subscriber.taken = true;
		*s = &subscriber;
	}
	pthread_mutex_unlock(&f.lock);
	return free ? CUPTI_OK : CUPTI_MULTIPLE_SUBSCRIBERS;
}
/* The handle of another copy is a wild pointer to this one. */
static void know(void *s)
{
	if (s && s != &subscriber)
		abort();
}

API cupti_result cuptiUnsubscribe(void *s)
{
	know(s);
	take(&f.lock);
	driver_takes(false);
	subscriber.taken = false;
	subscriber.callback = NULL;
	pthread_mutex_unlock(&f.lock);
	return CUPTI_OK;
}
API cupti_result cuptiEnableDomain(uint32_t on, void *s, int domain)
{
	know(s);
	take(&f.lock);
	memset(subscriber.call[domain], on != 0, CBIDS);
	pthread_mutex_unlock(&f.lock);
	return CUPTI_OK;
}
API cupti_result cuptiEnableAllDomains(uint32_t on, void *s)
{
	for (int domain = 1; domain < 4; domain++)
		cuptiEnableDomain(on, s, domain);
	return CUPTI_OK;
}
API cupti_result cuptiGetCallbackState(uint32_t *on, void *s, int domain, uint32_t cbid)
{
	know(s);
	take(&f.lock);
	*on = cbid < CBIDS && subscriber.call[domain][cbid];
	pthread_mutex_unlock(&f.lock);
	return CUPTI_OK;
}
API cupti_result cuptiEnableCallback(uint32_t on, void *s, int domain, uint32_t cbid)
{
	know(s);
	take(&f.lock);
	if (cbid < CBIDS)
		subscriber.call[domain][cbid] = on;
	pthread_mutex_unlock(&f.lock);
	return CUPTI_OK;
}
API cupti_result cuptiGetStreamIdEx(void *context, void *stream, uint8_t own, uint32_t *id)
{
	(void)context;
	*id = own ? 99 : stream ? (uint32_t)((uintptr_t)stream - fake_stream(0)) : 7;
	return CUPTI_OK;
}
API cupti_result cuptiGetContextId(void *context, uint32_t *id)
{
	(void)context;
	*id = 1;
	return CUPTI_OK;
}
/* How much of it is switched on: kinds, records of calls, callbacks, and a subscription. */
API int fake_cupti_on(void)
{
	take(&f.lock);
	int n = subscriber.taken;
	for (int kind = 0; kind < KINDS; kind++)
		n += f.kind[kind];
	for (int domain = 0; domain < 3; domain++)
		for (int cbid = 0; cbid < CBIDS; cbid++)
			n += f.call[domain][cbid] +
			     (subscriber.taken && subscriber.call[domain][cbid]);
	pthread_mutex_unlock(&f.lock);
	return n;
}
API int fake_cupti_traces(int kind)
{
	take(&f.lock);
	int on = f.kind[kind];
	pthread_mutex_unlock(&f.lock);
	return on;
}
/* Whether records wait for a flush. */
API int fake_cupti_holds(void)
{
	take(&f.lock);
	int holds = f.buffer && f.used;
	pthread_mutex_unlock(&f.lock);
	return holds;
}
API cupti_result cuptiFinalize(void)
{
	memset(f.kind, 0, sizeof f.kind);
	memset(f.call, 0, sizeof f.call);
	return cuptiUnsubscribe(NULL);
}

/* ---- what the fake driver tells ---- */

/* The arguments as the call has them, one after the other. */
static void put_arguments(uint64_t *at, int domain, const fake_work *w)
{
	if (w->kind == FAKE_RECORD) {
		at[0] = fake_event(w->event);
		at[1] = fake_stream(w->stream);
	} else if (w->kind == FAKE_KERNEL) {
		at[domain == CUPTI_DOMAIN_RUNTIME ? 6 : 5] = fake_stream(w->stream);
	} else if (w->kind == FAKE_COPY) {
		at[domain == CUPTI_DOMAIN_RUNTIME ? 4 : 3] = fake_stream(w->stream);
	} else { /* waits */
		at[0] = fake_stream(w->stream);
		at[1] = w->kind == FAKE_VALUE ? w->address : fake_event(w->event);
	}
}

/* On the caller's thread, with no lock held, as CUPTI does it. */
static void call_back(int site, int domain, uint32_t cbid, uint32_t corr, const fake_work *w)
{
	uint64_t arguments[8] = {0};
	int result = 0;
	take(&f.lock);
	cupti_callback_fn *callback =
		cbid < CBIDS && subscriber.call[domain][cbid] ? subscriber.callback : NULL;
	void *data = subscriber.data;
	pthread_mutex_unlock(&f.lock);
	if (!callback)
		return;
	if (w)
		put_arguments(arguments, domain, w);
	callback(data, domain, cbid,
		 &(cupti_call){.callbackSite = site,
			       .functionName = fake_call_name(domain, cbid),
			       .functionParams = !w             ? NULL
						 : w->arguments ? w->arguments
								: arguments,
			       .symbolName = w ? w->name : NULL,
			       .functionReturnValue = &result,
			       .contextUid = 1,
			       .correlationId = corr});
}

static uint64_t first_argument(const fake_work *w)
{
	uint64_t v = 0;
	if (w && w->arguments)
		memcpy(&v, w->arguments, sizeof v);
	return v;
}

/* The real one (13.0) dies when a graph is launched as a whole that was made while graphs were not
 * traced so, and the work of some graphs fails where copies between devices are traced beside
 * others. Under the lock. */
static void meet_graph(uint32_t cbid, const fake_work *w)
{
	uint64_t at = first_argument(w), graph = at;
	if (cbid == FAKE_cudaGraphInstantiate && at)
		memcpy(&graph, (void *)(uintptr_t)at, sizeof graph);
	size_t i = 0;
	while (i < f.unmet_n && f.unmet[i] != graph)
		i++;
	bool unmet = f.kind[CUPTI_GRAPH_TRACE] && i < f.unmet_n;
	if (cbid == FAKE_cudaGraphLaunch &&
	    (unmet || (f.kind[CUPTI_MEMCPY] && f.kind[CUPTI_MEMCPY2])))
		raise(SIGSEGV);
	if (cbid != FAKE_cudaGraphInstantiate)
		return;
	if (!f.kind[CUPTI_GRAPH_TRACE] && i == f.unmet_n && i < 64)
		f.unmet[f.unmet_n++] = graph;
	else if (f.kind[CUPTI_GRAPH_TRACE] && i < f.unmet_n)
		f.unmet[i] = f.unmet[--f.unmet_n];
}

/* A launch as a whole, or its two nodes. Under the lock. */
static void add_graph(uint32_t graph, uint32_t corr, uint64_t start)
{
	if (f.kind[CUPTI_GRAPH_TRACE]) {
		cupti_graph *g = add(CUPTI_GRAPH_TRACE);
		if (g) {
			g->correlationId = corr;
			g->start = start + 1000;
			g->end = start + 3000;
			g->graphId = graph;
			g->contextId = 1;
			g->streamId = 13;
		}
		return;
	}
	for (uint32_t node = 1; node <= 2 && f.kind[CUPTI_CONCURRENT_KERNEL]; node++) {
		cupti_kernel *k = add(CUPTI_CONCURRENT_KERNEL);
		if (!k)
			return;
		k->name = "node";
		k->start = start + 1000 * node;
		k->end = k->start + 900;
		k->contextId = 1;
		k->streamId = 13;
		k->correlationId = corr;
		k->gridX = k->gridY = k->gridZ = k->blockX = k->blockY = k->blockZ = 1;
		k->graphId = graph;
		k->graphNodeId = node;
	}
}

API void fake_cupti_call(int domain, uint32_t cbid, uint32_t tid, const fake_work *w)
{
	uint32_t nested = domain != CUPTI_DOMAIN_RUNTIME || !w ? 0
			  : w->kind == FAKE_RECORD             ? FAKE_cuEventRecord
			  : w->kind == FAKE_KERNEL             ? FAKE_cuLaunchKernel
			  : w->kind == FAKE_COPY               ? FAKE_cuMemcpyHtoDAsync
							       : 0;
	take(&f.lock);
	uint32_t corr = ++f.corr;
	pthread_mutex_unlock(&f.lock);
	call_back(CUPTI_ENTER, domain, cbid, corr, w);
	while (w && w->stays)
		pause();
	if (w && w->takes_us)
		usleep(w->takes_us);
	if (w && w->loads)
		fake_cupti_call(CUPTI_DOMAIN_DRIVER, FAKE_cuLibraryLoadData, tid, NULL);
	if (nested) { /* the runtime's call makes the driver's, under one number */
		call_back(CUPTI_ENTER, CUPTI_DOMAIN_DRIVER, nested, corr, w);
		call_back(CUPTI_EXIT, CUPTI_DOMAIN_DRIVER, nested, corr, w);
	}
	take(&f.lock);
	uint64_t start = now();
	if (domain == CUPTI_DOMAIN_RUNTIME)
		meet_graph(cbid, w);
	if (domain == CUPTI_DOMAIN_RUNTIME && cbid == FAKE_cudaGraphLaunch)
		add_graph((uint32_t)first_argument(w), corr, start);
	if (w && w->kind == FAKE_KERNEL && f.kind[CUPTI_CONCURRENT_KERNEL]) {
		cupti_kernel *k = add(CUPTI_CONCURRENT_KERNEL);
		if (k) {
			k->name = w->name;
			k->start = start + 1000 + w->late_ms * 1000000u;
			k->end = w->hangs || w->ms ? 0 : k->start + 1000;
			k->completed = w->hangs ? 0 : start + 2000 + w->ms * 1000000u;
			k->contextId = 1;
			k->streamId = w->stream;
			k->correlationId = corr;
			k->gridX = 4;
			k->gridY = k->gridZ = k->blockY = k->blockZ = 1;
			k->blockX = 128;
			k->graphId = w->graph;
			k->graphNodeId = w->graph;
		}
	}
	if (w && w->kind == FAKE_PEER && f.kind[CUPTI_MEMCPY2]) {
		cupti_memcpy_peer *m = add(CUPTI_MEMCPY2);
		if (m) {
			m->copyKind = 10;
			m->srcKind = m->dstKind = 3;
			m->bytes = w->bytes;
			m->start = start + 1000;
			m->end = start + 3000;
			m->contextId = 1;
			m->streamId = w->stream;
			m->dstDeviceId = 1;
			m->correlationId = corr;
		}
	}
	if (w && w->kind == FAKE_COPY && f.kind[CUPTI_MEMCPY]) {
		cupti_memcpy *m = add(CUPTI_MEMCPY);
		if (m) {
			m->copyKind = 1;
			m->srcKind = 2;
			m->dstKind = 3;
			m->bytes = w->bytes;
			m->start = start + 1000;
			m->end = start + 3000;
			m->contextId = 1;
			m->streamId = w->stream;
			m->correlationId = corr;
		}
	}
	if (w && w->kind == FAKE_RECORD && f.kind[CUPTI_CUDA_EVENT]) {
		cupti_event *e = add(CUPTI_CUDA_EVENT);
		if (e) {
			e->correlationId = corr;
			e->contextId = 1;
			e->streamId = w->stream;
			e->eventId = w->event;
			f.sync_id++;
			if (!f.old)
				e->cudaEventSyncId = f.sync_id;
		}
	}
	if (w && w->kind == FAKE_WAIT && f.kind[CUPTI_SYNCHRONIZATION]) {
		cupti_sync *s = add(CUPTI_SYNCHRONIZATION);
		if (s) {
			s->type = 2;
			s->start = start;
			s->end = start + 100;
			s->correlationId = corr;
			s->contextId = 1;
			s->streamId = w->stream;
			s->cudaEventId = w->event;
			if (!f.old)
				s->cudaEventSyncId = f.sync_id;
		}
	}
	if (cbid < CBIDS && f.call[domain][cbid]) {
		cupti_api_record *a = add(domain == 2 ? CUPTI_RUNTIME : CUPTI_DRIVER);
		if (a) {
			a->cbid = cbid;
			a->start = start;
			a->end = now();
			a->threadId = tid;
			a->correlationId = corr;
		}
	}
	pthread_mutex_unlock(&f.lock);
	call_back(CUPTI_EXIT, domain, cbid, corr, w);
}
