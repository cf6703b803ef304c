/* CUPTI's records into ours, on CUPTI's thread. A record's size is the distance to the next one, so
 * fields that an older CUPTI does not have are never read. */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "record/cuda_share.h"
#include "wire/clock.h"

#define NO_ID UINT32_MAX
enum { RECENT = 1 << 16 };

/* State of conversion; guarded by the runtime's lock. */
static struct {
	uint32_t runtime[RECENT]; /* correlation ids of runtime calls, by their low bits */
	uint64_t incomplete;
	uint64_t sentinels;
	uint32_t sentinel_thread;
	/* CUPTI's clock is CLOCK_REALTIME, or whatever another profiler made it: at `theirs` of it,
	 * ours was `boot`; rate is nanoseconds of ours a tick. */
	cupti_time_fn *clock;
	int64_t theirs, boot;
	double rate;
	/* Real time less ours, as it is, and as it was before the wall clock was set; until when a
	 * record may still be in that. */
	int64_t offset, old_offset, old_until;
} state;

/* Numbers of calls that were recorded, by their low bits. */
static _Atomic uint32_t inside[RECENT];

void assay_cuda_inside(uint32_t corr)
{
	atomic_store_explicit(&inside[corr % RECENT], corr, memory_order_relaxed);
}

enum { STEP_NS = 1000000 };
#define OLD_FOR_NS 60000000000

static void note_step(void)
{
	int64_t offset = state.theirs - state.boot, step = offset - state.offset;
	if (state.clock)
		return;
	if (state.offset && (step > STEP_NS || step < -STEP_NS)) {
		state.old_offset = state.offset;
		state.old_until = state.boot + OLD_FOR_NS;
	}
	state.offset = offset;
}

/* A record tells the time of the wall clock, which may have been set since. It is of the past: of
 * the two times it can mean, the later one that is not to come. */
static int64_t real_to_boot(int64_t t)
{
	int64_t now = state.boot + STEP_NS, as_it_is = t - state.offset;
	int64_t as_it_was = t - state.old_offset;
	if (state.boot >= state.old_until || as_it_was > now)
		return as_it_is;
	return as_it_is > now || as_it_was > as_it_is ? as_it_was : as_it_is;
}

/* Once a buffer: the two clocks side by side, and the rate since the other was registered. All
 * times in it lie between the two moments, so that a short distance does no harm. */
static void set_clock(void)
{
	int64_t first_boot, first_theirs;
	state.clock = assay_share_clock(&first_boot, &first_theirs);
	assay_rt_pair(state.clock, &state.boot, &state.theirs);
	note_step();
	int64_t ticks = state.theirs - first_theirs;
	state.rate =
		state.clock && ticks > 0 ? (double)(state.boot - first_boot) / (double)ticks : 1;
}

/* CUPTI's time as ours. Records from before another profiler changed the clock are still in real
 * time. */
static int64_t boot_of(uint64_t time)
{
	int64_t t = (int64_t)time, ago = state.theirs - t;
	if (!t)
		return 0;
	if (!state.clock)
		return real_to_boot(t);
	int64_t real_ago = assay_rt_clock(CLOCK_REALTIME) - t;
	if (real_ago > -3600000000000 && real_ago < 86400000000000)
		return state.boot - real_ago;
	return state.boot - (int64_t)((double)ago * state.rate);
}

/* GPU work belongs to the recording when it ran in it or was launched in it. */
static bool wanted_work(int64_t start, uint32_t corr)
{
	return !assay_rt_limited() || assay_rt_wanted(start) ||
	       atomic_load_explicit(&inside[corr % RECENT], memory_order_relaxed) == corr;
}

static void put_api(const cupti_api_record *a, uint16_t domain)
{
	if (a->threadId == state.sentinel_thread) { /* our own thread calls only to be heard */
		state.sentinels += a->cbid == CUPTI_DRIVER_GET_VERSION;
		return;
	}
	/* a driver call made by a runtime call carries its number: one row is enough */
	if (domain == ASSAY_WIRE_DRIVER &&
	    state.runtime[a->correlationId % RECENT] == a->correlationId)
		return;
	int their_domain = domain == ASSAY_WIRE_DRIVER ? CUPTI_DOMAIN_DRIVER : CUPTI_DOMAIN_RUNTIME;
	int64_t start = boot_of(a->start);
	if (!assay_cuda_chosen(their_domain, a->cbid) || !assay_rt_wanted(start) ||
	    assay_callback_saw(their_domain, a->cbid, start))
		return;
	assay_cuda_inside(a->correlationId);
	assay_rt_name_thread(a->threadId);
	assay_wire_api *w = assay_rt_bulk(ASSAY_WIRE_API, ASSAY_WIRE_API_SHORT);
	w->rec.thread = a->threadId;
	w->start = start;
	w->end = boot_of(a->end);
	w->corr = a->correlationId;
	w->function = a->cbid;
	w->domain = domain;
	w->status = (int32_t)a->returnValue;
}

/* What records of GPU work have in common: the names of fields, not their places. Times are
 * CUPTI's. */
#define WORK_OF(r)                                                                                 \
	.start = (int64_t)(r)->start, .end = (int64_t)(r)->end, .corr = (r)->correlationId,        \
	.device = (r)->deviceId, .context = (r)->contextId, .stream = (r)->streamId
#define NODE_OF(r) .graph_node = (r)->graphNodeId, .graph = (r)->graphId

/* NULL: not finished (its times are not known), or not wanted. */
static void *put_work(assay_wire_type type, size_t bytes, assay_wire_work in)
{
	if (!in.end) {
		state.incomplete++;
		return NULL;
	}
	in.start = boot_of((uint64_t)in.start);
	in.end = boot_of((uint64_t)in.end);
	if (!wanted_work(in.start, (uint32_t)in.corr))
		return NULL;
	assay_wire_work *w = assay_rt_bulk(type, bytes);
	in.rec = w->rec;
	*w = in;
	return w;
}

static uint16_t narrow(int32_t n)
{
	return n < 0 ? 0 : n > 0xffff ? 0xffff : (uint16_t)n;
}

static void put_kernel(const void *record, size_t size)
{
	const cupti_kernel *k = record;
	uint32_t name = assay_rt_string(k->name);
	bool noded = size >= offsetof(cupti_kernel, shmemLimitConfig);
	assay_wire_kernel *w =
		put_work(ASSAY_WIRE_KERNEL, sizeof *w,
			 (assay_wire_work){WORK_OF(k), .graph_node = noded ? k->graphNodeId : 0,
					   .graph = size >= sizeof *k ? k->graphId : 0});
	if (!w)
		return;
	w->name = name;
	w->grid[0] = (uint32_t)k->gridX;
	w->grid[1] = (uint32_t)k->gridY;
	w->grid[2] = (uint32_t)k->gridZ;
	w->block[0] = narrow(k->blockX);
	w->block[1] = narrow(k->blockY);
	w->block[2] = narrow(k->blockZ);
	w->regs = k->registersPerThread;
	w->acc_regs = w->scalar_regs = 0xffff;
	w->shared_static = (uint32_t)k->staticSharedMemory;
	w->shared_dynamic = (uint32_t)k->dynamicSharedMemory;
	w->local = k->localMemoryPerThread;
	w->queue = w->dispatch = NO_ID;
	w->queued = boot_of(k->queued);
	w->submitted = boot_of(k->submitted);
}

static_assert(offsetof(cupti_memcpy, copyKind) == offsetof(cupti_memcpy_peer, copyKind) &&
		      offsetof(cupti_memcpy, bytes) == offsetof(cupti_memcpy_peer, bytes),
	      "what put_copy() reads");

static void put_copy(const cupti_memcpy *m, assay_wire_work work, uint32_t from, uint32_t to)
{
	assay_wire_copy *w = put_work(ASSAY_WIRE_COPY, sizeof *w, work);
	if (!w)
		return;
	w->size = m->bytes;
	w->kind = m->copyKind;
	w->from = m->srcKind;
	w->to = m->dstKind;
	w->flags = m->flags;
	w->from_device = from;
	w->to_device = to;
}

static void put_memcpy(const void *record, size_t size)
{
	(void)size;
	const cupti_memcpy *m = record;
	put_copy(m, (assay_wire_work){WORK_OF(m), NODE_OF(m)}, NO_ID, NO_ID);
}

static void put_memcpy_peer(const void *record, size_t size)
{
	(void)size;
	const cupti_memcpy_peer *m = record;
	put_copy(record, (assay_wire_work){WORK_OF(m), NODE_OF(m)}, m->srcDeviceId, m->dstDeviceId);
}

static void put_memset(const void *record, size_t size)
{
	(void)size;
	const cupti_memset *m = record;
	assay_wire_set *w =
		put_work(ASSAY_WIRE_SET, sizeof *w, (assay_wire_work){WORK_OF(m), NODE_OF(m)});
	if (!w)
		return;
	w->size = m->bytes;
	w->value = m->value;
	w->memory = (uint8_t)m->memoryKind;
	w->flags = (uint8_t)m->flags;
}

static void put_graph(const void *record, size_t size)
{
	(void)size;
	const cupti_graph *g = record;
	put_work(ASSAY_WIRE_GRAPH, sizeof(assay_wire_work),
		 (assay_wire_work){WORK_OF(g), .graph = g->graphId});
}

static void put_sync(const void *record, size_t size)
{
	const cupti_sync *s = record;
	if (!assay_rt_wanted(boot_of(s->start)))
		return;
	assay_wire_sync *w = assay_rt_bulk(ASSAY_WIRE_SYNC, sizeof *w);
	bool numbered = size >= sizeof *s;
	w->start = boot_of(s->start);
	w->end = boot_of(s->end);
	w->corr = s->correlationId;
	w->event = s->cudaEventId == NO_ID ? UINT64_MAX : s->cudaEventId;
	w->sync_id = numbered && (uint32_t)s->cudaEventSyncId != NO_ID ? s->cudaEventSyncId : 0;
	w->status = numbered ? (int32_t)s->returnValue : 0;
	w->kind = s->type;
	w->context = s->contextId;
	w->stream = s->streamId;
}

static void put_event(const void *record, size_t size)
{
	const cupti_event *e = record;
	assay_wire_event *w = assay_rt_bulk(ASSAY_WIRE_EVENT, sizeof *w);
	bool numbered = size >= sizeof *e;
	w->corr = e->correlationId;
	w->event = e->eventId;
	w->context = e->contextId;
	w->stream = e->streamId;
	w->device = numbered ? e->deviceId : NO_ID;
	w->device_time = numbered ? boot_of(e->deviceTimestamp) : 0;
	w->sync_id = numbered ? e->cudaEventSyncId : 0;
}

static void put_device(const void *record, size_t size)
{
	(void)size;
	const cupti_device *d = record;
	char arch[24];
	snprintf(arch, sizeof arch, "sm_%u%u", d->computeCapabilityMajor,
		 d->computeCapabilityMinor);
	uint32_t s[] = {assay_rt_string("nvidia"), assay_rt_string(d->name), assay_rt_string(arch)};
	assay_wire_device *w = assay_rt_bulk(ASSAY_WIRE_DEVICE, sizeof *w);
	w->id = d->id;
	w->vendor = s[0];
	w->name = s[1];
	w->arch = s[2];
	w->memory = d->globalMemorySize;
	w->units = d->numMultiprocessors;
	w->warp = d->numThreadsPerWarp;
	memcpy(w->uuid, d->uuid, sizeof w->uuid);
}

static void put_context(const void *record, size_t size)
{
	(void)size;
	const cupti_context *x = record;
	assay_wire_context *w = assay_rt_bulk(ASSAY_WIRE_CONTEXT, sizeof *w);
	w->id = x->contextId;
	w->device = x->deviceId;
	w->null_stream = x->nullStreamId;
	assay_cuda_met_context(x->deviceId);
}

static void put_stream(const void *record, size_t size)
{
	(void)size;
	static const uint32_t flags[] = {0, 0, 2, 1,
					 4}; /* unknown, blocking, non-blocking, null, per thread */
	const cupti_stream *s = record;
	assay_wire_stream *w = assay_rt_bulk(ASSAY_WIRE_STREAM, sizeof *w);
	w->id = s->streamId;
	w->context = s->contextId;
	w->device = NO_ID;
	w->priority = (int32_t)s->priority;
	w->flags = s->flag < 5 ? flags[s->flag] : 0;
	w->corr = s->correlationId;
}

static void put_memory(const void *record, size_t size)
{
	const cupti_memory *m = record;
	if (!assay_rt_wanted(boot_of(m->timestamp)))
		return;
	assay_wire_memory *w = assay_rt_bulk(ASSAY_WIRE_MEMORY, sizeof *w);
	w->time = boot_of(m->timestamp);
	w->address = m->address;
	w->size = m->bytes;
	w->corr = m->correlationId;
	w->device = m->deviceId;
	w->context = m->contextId;
	w->stream = m->streamId;
	w->op = m->memoryOperationType == 2 ? ASSAY_WIRE_FREE : ASSAY_WIRE_ALLOC;
	w->kind = (uint8_t)m->memoryKind;
	w->pool = size >= sizeof *m ? m->poolAddress : 0;
}

static const char *overhead_name(uint32_t kind)
{
	static const char *const names[] = {
		"Unknown",
		"Buffer Flush",
		"Instrumentation",
		"Resource",
		"Module Loading",
		"Lazy Function Loading",
		"Command Buffer Full",
		"Activity Buffer Request",
		"UVM Activity Init",
	};
	if (kind == 1)
		return "Driver Compiler";
	return kind >> 16 < sizeof names / sizeof *names ? names[kind >> 16] : names[0];
}

static void put_overhead(const void *record, size_t size)
{
	const cupti_overhead *o = record;
	if (!o->end || !assay_rt_wanted(boot_of(o->start)))
		return;
	uint32_t name = assay_rt_string(overhead_name(o->overheadKind));
	uint32_t thread = o->objectKind == CUPTI_OBJECT_THREAD ? o->threadId : 0;
	assay_rt_name_thread(thread);
	assay_wire_overhead *w = assay_rt_bulk(ASSAY_WIRE_OVERHEAD, sizeof *w);
	w->rec.thread = thread;
	w->start = boot_of(o->start);
	w->end = boot_of(o->end);
	w->name = name;
	w->corr = size >= sizeof *o ? o->correlationId : 0;
}

static void put_runtime(const void *record, size_t size)
{
	(void)size;
	put_api(record, ASSAY_WIRE_RUNTIME);
}

static void put_driver(const void *record, size_t size)
{
	(void)size;
	put_api(record, ASSAY_WIRE_DRIVER);
}

typedef void put_fn(const void *record, size_t size);
static put_fn *const put_by_kind[] = {
	[CUPTI_MEMCPY] = put_memcpy,
	[CUPTI_MEMSET] = put_memset,
	[CUPTI_DRIVER] = put_driver,
	[CUPTI_RUNTIME] = put_runtime,
	[CUPTI_DEVICE] = put_device,
	[CUPTI_CONTEXT] = put_context,
	[CUPTI_CONCURRENT_KERNEL] = put_kernel,
	[CUPTI_OVERHEAD] = put_overhead,
	[CUPTI_MEMCPY2] = put_memcpy_peer,
	[CUPTI_CUDA_EVENT] = put_event,
	[CUPTI_STREAM] = put_stream,
	[CUPTI_SYNCHRONIZATION] = put_sync,
	[CUPTI_MEMORY2] = put_memory,
	[CUPTI_GRAPH_TRACE] = put_graph,
};

static void put_one(const uint8_t *record, size_t size)
{
	uint32_t kind;
	memcpy(&kind, record, sizeof kind);
	if (kind < sizeof put_by_kind / sizeof *put_by_kind && put_by_kind[kind])
		put_by_kind[kind](record, size);
}

/* Runtime calls of a buffer are known before its driver calls are judged. */
static void note_runtime_calls(const cupti_lib *c, uint8_t *buffer, size_t valid)
{
	void *record = NULL;
	while (c->next_record(buffer, valid, &record) == CUPTI_OK) {
		const cupti_api_record *a = record;
		if (a->kind == CUPTI_RUNTIME && assay_cuda_chosen(CUPTI_DOMAIN_RUNTIME, a->cbid))
			state.runtime[a->correlationId % RECENT] = a->correlationId;
	}
}

uint64_t assay_cuda_convert(const cupti_lib *c, uint8_t *buffer, size_t valid, uint32_t sentinel)
{
	void *record = NULL;
	uint8_t *last = NULL;
	state.sentinel_thread = sentinel;
	state.sentinels = state.incomplete = 0;
	set_clock();
	note_runtime_calls(c, buffer, valid);
	while (c->next_record(buffer, valid, &record) == CUPTI_OK) {
		if (last)
			put_one(last, (size_t)((uint8_t *)record - last));
		last = record;
	}
	if (last)
		put_one(last, (size_t)(buffer + valid - last));
	if (state.incomplete) {
		assay_wire_lost *l = assay_rt_bulk(ASSAY_WIRE_LOST, sizeof *l);
		l->count = state.incomplete;
		l->why = ASSAY_WIRE_LOST_INCOMPLETE;
	}
	return state.sentinels;
}
