/* Calls, seen by CUPTI's callbacks on the program's own threads: their times, and the arguments of
 * those that make, record, await or destroy events and streams. CUPTI's records of the same are the
 * fallback where somebody has CUPTI's one subscription who does not share it: those of events and
 * waits (CUDA_EVENT, SYNCHRONIZATION) cost a launch-bound program a quarter of its time, those of
 * calls half as much again as a callback, and before 12.5 they come for all calls or none. */
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "names/calls.h"
#include "record/args.h"
#include "record/cuda.h"
#include "record/cuda_subscription.h"
#include "record/host.h"
#include "wire/ring.h"

enum { NONE = -1 };

enum { PER_THREAD_STREAM = 2 }; /* cudaStreamPerThread */

/* How an argument is found. */
enum {
	EVENT_OUT = 1,    /* through a pointer, once the call succeeded */
	STREAM_OUT = 2,   /* the same */
	ARG_32 = 4,       /* argument of four bytes instead of eight */
	HASH = 8,         /* the argument is a name of 64 bytes that two processes share */
	HASH_OUT = 16,    /* a pointer to one */
	GOES = 32,        /* the stream is no more when the call returns */
	ARG_OUT = 64,     /* the argument is found through a pointer, once the call succeeded */
	MORE_64 = 128,    /* the second argument has eight bytes instead of four */
	WORDS = 256,      /* an array of waits for and writes of memory words: a part each */
	SEMAPHORES = 512, /* an array of semaphores, and one of values: a part each */
	CONFIG = 1024,    /* a launch configuration: events among its attributes */
	ORDERED = 2048,   /* only the form of the call that ends with Async */
	PARTS = WORDS | SEMAPHORES,
};

/* Byte offsets within the arguments, which the runtime's and the driver's call of one stem
 * share. */
typedef struct order_call {
	const char *stem;
	int8_t event, stream, arg, more;
	uint16_t how;
} order_call;

static const order_call order_calls[] = {
	{"", NONE, NONE, NONE, NONE, 0}, /* every other call */
	{"EventRecord", 0, 8, NONE, NONE, 0},
	{"EventRecordWithFlags", 0, 8, 16, NONE, ARG_32},
	{"StreamWaitEvent", 8, 0, 16, NONE, ARG_32},
	{"EventSynchronize", 0, NONE, NONE, NONE, 0},
	{"EventQuery", 0, NONE, NONE, NONE, 0},
	{"StreamSynchronize", NONE, 0, NONE, NONE, 0},
	{"StreamQuery", NONE, 0, NONE, NONE, 0},
	{"DeviceSynchronize", NONE, NONE, NONE, NONE, 0},
	{"CtxSynchronize", NONE, NONE, NONE, NONE, 0},
	{"EventCreate", 0, NONE, NONE, NONE, EVENT_OUT},
	{"EventCreateWithFlags", 0, NONE, NONE, NONE, EVENT_OUT},
	{"EventDestroy", 0, NONE, NONE, NONE, 0},
	{"StreamCreate", NONE, 0, NONE, NONE, STREAM_OUT},
	{"StreamCreateWithFlags", NONE, 0, 8, NONE, STREAM_OUT | ARG_32},
	{"StreamCreateWithPriority", NONE, 0, 8, NONE, STREAM_OUT | ARG_32},
	{"StreamDestroy", NONE, 0, NONE, NONE, GOES},
	{"StreamBeginCapture", NONE, 0, NONE, NONE, 0},
	{"StreamBeginCaptureToGraph", NONE, 0, NONE, NONE, 0},
	{"StreamEndCapture", NONE, 0, 8, NONE, ARG_OUT},
	{"GraphAddEventRecordNode", 32, NONE, 8, NONE, 0},
	{"GraphAddEventWaitNode", 32, NONE, 8, NONE, 0},
	{"GraphAddChildGraphNode", NONE, NONE, 8, 32, MORE_64},
	{"GraphExecEventRecordNodeSetEvent", 16, NONE, 0, 8, MORE_64},
	{"GraphExecEventWaitNodeSetEvent", 16, NONE, 0, 8, MORE_64},
	{"GraphExecUpdate", NONE, NONE, 0, 8, MORE_64},
	{"GraphInstantiate", NONE, NONE, 0, 8, ARG_OUT | MORE_64},
	{"GraphInstantiateWithFlags", NONE, NONE, 0, 8, ARG_OUT | MORE_64},
	{"GraphInstantiateWithParams", NONE, NONE, 0, 8, ARG_OUT | MORE_64},
	{"GraphLaunch", NONE, 8, 0, NONE, 0},
	{"LaunchKernelExC", NONE, NONE, NONE, NONE, CONFIG},
	{"LaunchKernelEx", NONE, NONE, NONE, NONE, CONFIG},
	{"LaunchHostFunc", NONE, 0, NONE, NONE, 0},
	{"StreamAddCallback", NONE, 0, NONE, NONE, 0},
	{"StreamWaitValue32", 8, 0, 16, 20, ARG_32},
	{"StreamWaitValue64", 8, 0, 16, 24, 0},
	{"StreamWriteValue32", 8, 0, 16, 20, ARG_32},
	{"StreamWriteValue64", 8, 0, 16, 24, 0},
	{"StreamBatchMemOp", 16, 0, 8, NONE, ARG_32 | WORDS},
	{"SignalExternalSemaphores", 0, 24, 16, 8, ARG_32 | MORE_64 | SEMAPHORES},
	{"WaitExternalSemaphores", 0, 24, 16, 8, ARG_32 | MORE_64 | SEMAPHORES},
	{"Malloc", NONE, 16, NONE, NONE, ORDERED},
	{"MallocFromPool", NONE, 24, NONE, NONE, ORDERED},
	{"MemAlloc", NONE, 16, NONE, NONE, ORDERED},
	{"MemAllocFromPool", NONE, 24, NONE, NONE, ORDERED},
	{"Free", NONE, 8, 0, NONE, ORDERED},
	{"MemFree", NONE, 8, 0, NONE, ORDERED},
	{"IpcGetEventHandle", 8, NONE, 0, NONE, HASH_OUT},
	{"IpcOpenEventHandle", 0, NONE, 8, NONE, EVENT_OUT | HASH},
};
enum { OTHER = 0, ORDER_CALLS = sizeof order_calls / sizeof *order_calls };

/* Calls that put work on a stream: where in their arguments the stream stands, or in a struct that
 * the first one points to. Versions behind the name are not looked at. */
typedef struct launch_call {
	const char *name;
	uint8_t stream;
	bool behind;
} launch_call;

static const launch_call launch_calls[] = {
	{"", 0, false}, /* every other call */
	{"cudaLaunchKernel", 48, false},
	{"cudaLaunchCooperativeKernel", 48, false},
	{"cudaLaunchKernelExC", 32, true},
	{"cudaMemcpyAsync", 32, false},
	{"cudaMemsetAsync", 24, false},
	{"cudaGraphLaunch", 8, false},
	{"cuLaunchKernel", 40, false},
	{"cuLaunchCooperativeKernel", 40, false},
	{"cuLaunchKernelEx", 32, true},
	{"cuMemcpyAsync", 24, false},
	{"cuMemcpyHtoDAsync", 24, false},
	{"cuMemcpyDtoHAsync", 24, false},
	{"cuMemcpyDtoDAsync", 24, false},
	{"cuMemsetD8Async", 24, false},
	{"cuMemsetD16Async", 24, false},
	{"cuMemsetD32Async", 24, false},
	{"cuGraphLaunch", 8, false},
};
enum { LAUNCH_CALLS = sizeof launch_calls / sizeof *launch_calls };

/* Of a callback id. */
typedef struct watched {
	bool on;
	bool per_thread; /* its null stream is the thread's */
	uint8_t row;     /* of order_calls */
	uint8_t launch;  /* of launch_calls */
	bool simple;     /* a launch of which only its stream and its kernel are told, ... */
	uint8_t stream;  /* ... and where the stream stands, as in launch_call */
	bool behind;
	uint8_t graph; /* ASSAY_GRAPH_..., 0 none */
} watched;
static_assert(sizeof(watched) == 8, "no number of a call is multiplied to find it");

static struct {
	const cupti_lib *cupti;
	watched calls[3][CUPTI_CBID_MAX]; /* by domain; written before the subscription */
	uint32_t word[CUPTI_WORD_KINDS];  /* the driver's call that does only that */
	_Atomic int on;
	/* when it was off last: calls that began between were not seen; since is 0 before any
	 * was */
	_Atomic int64_t left, since;
} watch;

enum { DEPTH = 4 };

/* A call that the thread is in. */
typedef struct open_call {
	int64_t start;
	const watched *which;
	uint32_t corr, cbid;
	int32_t domain;
	int32_t cost; /* ns that its beginning took us; -1: not looked at */
} open_call;

/* Outermost first. Few: it lies in the thread's static block. */
typedef struct open_calls {
	open_call *last; /* the innermost; NULL: none */
	uint32_t calls;  /* so far: every ASSAY_COST_EVERYth is looked at */
	bool mute;
	open_call call[DEPTH];
} open_calls;
static __thread open_calls in;

static uint8_t order_row(const char *name, bool *per_thread)
{
	uint8_t row = ORDER_CALLS - 1;
	bool async;
	size_t n = assay_call_stem(&name, strlen(name), per_thread, &async);
	while (row > OTHER &&
	       (strlen(order_calls[row].stem) != n || memcmp(order_calls[row].stem, name, n) != 0 ||
		(order_calls[row].how & ORDERED && !async)))
		row--;
	return row;
}

static uint8_t launch_row(const char *name)
{
	uint8_t row = LAUNCH_CALLS - 1;
	for (; row > OTHER; row--) {
		size_t n = strlen(launch_calls[row].name);
		if (!strncmp(name, launch_calls[row].name, n) && (!name[n] || name[n] == '_'))
			break;
	}
	return row;
}

bool assay_callback_launches(const char *name)
{
	return launch_row(name) != OTHER;
}

void assay_callback_watch(int domain, uint32_t cbid, const char *name)
{
	watched *w = &watch.calls[domain][cbid];
	w->row = order_row(name, &w->per_thread);
	bool config = order_calls[w->row].how & CONFIG;
	w->launch = w->row == OTHER || config ? launch_row(name) : OTHER;
	w->simple = w->launch;
	w->graph = !strncmp(order_calls[w->row].stem, "GraphInstantiate", 16) ? ASSAY_GRAPH_MADE
		   : !strcmp(order_calls[w->row].stem, "GraphLaunch")         ? ASSAY_GRAPH_LAUNCHED
									      : 0;
	w->stream = launch_calls[w->launch].stream;
	w->behind = launch_calls[w->launch].behind;
	w->on = true;
	static const char *const words[CUPTI_WORD_KINDS] = {
		[CUPTI_WORD_WAIT_32] = "StreamWaitValue32",
		[CUPTI_WORD_WRITE_32] = "StreamWriteValue32",
		[CUPTI_WORD_WAIT_64] = "StreamWaitValue64",
		[CUPTI_WORD_WRITE_64] = "StreamWriteValue64",
	};
	for (uint32_t kind = 0; kind < CUPTI_WORD_KINDS && domain == CUPTI_DOMAIN_DRIVER; kind++)
		if (words[kind] && !strcmp(order_calls[w->row].stem, words[kind]))
			watch.word[kind] = cbid;
}

/* ---- on the program's threads ---- */

static uint64_t value_at(const void *p, int at, size_t bytes)
{
	return at == NONE ? 0 : assay_arg_at((const char *)p + at, bytes);
}

static void fill_arguments(assay_wire_api *w, const order_call *o, const void *p)
{
	bool done = w->status == 0;
	w->event = value_at(p, o->event, 8);
	w->stream = value_at(p, o->stream, 8);
	if (o->how & EVENT_OUT)
		w->event = done ? assay_arg_behind(w->event) : 0;
	if (o->how & STREAM_OUT)
		w->stream = done ? assay_arg_behind(w->stream) : 0;
	if (o->how & HASH)
		w->arg[0] = assay_arg_shared((const char *)p + o->arg);
	else if (o->how & HASH_OUT)
		w->arg[0] = done ? assay_arg_shared((void *)(uintptr_t)value_at(p, o->arg, 8)) : 0;
	else
		w->arg[0] = value_at(p, o->arg, o->how & ARG_32 ? 4 : 8);
	if (o->how & ARG_OUT)
		w->arg[0] = done ? assay_arg_behind(w->arg[0]) : 0;
	w->arg[1] = value_at(p, o->more, o->how & MORE_64 ? 8 : 4);
}

/* The attribute with the event that the launch itself records, once its blocks have started or
 * triggered it; NULL: it has none, as nearly every launch. */
static const cupti_launch_attribute *event_of(const cupti_launch_config *config)
{
	enum { ATTRIBUTES_MAX = 64 };
	const cupti_launch_attribute *a = config ? config->attributes : NULL;
	for (uint32_t i = 0; a && config->n <= ATTRIBUTES_MAX && i < config->n; i++)
		if (a[i].id == CUPTI_LAUNCH_PROGRAMMATIC_EVENT ||
		    a[i].id == CUPTI_LAUNCH_COMPLETION_EVENT)
			return &a[i];
	return NULL;
}

static const cupti_launch_config *config_of(const cupti_call *c)
{
	return c->functionParams
		       ? (const cupti_launch_config *)(uintptr_t)assay_arg_at(c->functionParams, 8)
		       : NULL;
}

static uint16_t given_by(const order_call *o)
{
	return (uint16_t)(ASSAY_WIRE_GIVEN | ASSAY_WIRE_PLACED |
			  (o->how & PARTS ? 0 : ASSAY_WIRE_ORDERS) |
			  (o->event == NONE ? 0 : ASSAY_WIRE_GIVES_EVENT) |
			  (o->stream == NONE ? 0 : ASSAY_WIRE_GIVES_STREAM));
}

/* CUPTI's number of the stream, as GPU work carries it: addresses are used again, numbers are
 * not. */
static uint32_t number_of(const cupti_call *c, const order_call *o, watched which, uint64_t stream)
{
	uint32_t id = ASSAY_WIRE_NONE;
	bool own = stream == PER_THREAD_STREAM || (!stream && which.per_thread);
	if (o->stream == NONE || o->how & (GOES | STREAM_OUT) || !watch.cupti->get_stream_id)
		return id;
	void *handle = own ? NULL : (void *)(uintptr_t)stream;
	return watch.cupti->get_stream_id(c->context, handle, own, &id) == CUPTI_OK
		       ? id
		       : ASSAY_WIRE_NONE;
}

static void fill_order(assay_wire_api *w, const cupti_call *c, watched which)
{
	const order_call *o = &order_calls[which.row];
	w->given = given_by(o);
	w->context = c->contextUid;
	if (o->how & CONFIG) {
		const cupti_launch_config *config = config_of(c);
		w->given |= ASSAY_WIRE_GIVES_STREAM;
		w->stream = (uint64_t)(uintptr_t)config->stream;
		w->arg[0] = event_of(config)->event;
	} else if (c->functionParams) /* NULL for a call without arguments */
		fill_arguments(w, o, c->functionParams);
	w->stream_id = w->status ? ASSAY_WIRE_NONE : number_of(c, o, which, w->stream);
}

static void put(const assay_wire_api *full, size_t bytes)
{
	assay_wire_api *w = assay_rt_begin(ASSAY_WIRE_API, bytes);
	if (!w)
		return;
	assay_wire_rec rec = w->rec;
	memcpy(w, full, bytes);
	w->rec = rec;
	assay_rt_commit();
}

/* Each wait and write of an array, as the call would be told that does only that. */
static void put_parts(const assay_wire_api *whole, uint16_t how)
{
	assay_wire_api part = *whole;
	uint32_t n = (uint32_t)whole->arg[0];
	const char *at = (const char *)(uintptr_t)whole->event;
	const char *values = (const char *)(uintptr_t)whole->arg[1];
	part.end = part.start;
	part.stack = 0;
	part.given |= ASSAY_WIRE_ORDERS | ASSAY_WIRE_GIVES_EVENT | ASSAY_WIRE_PART;
	for (uint32_t i = 0; at && i < n; i++) {
		if (how & SEMAPHORES) {
			part.event = assay_arg_at(at + 8 * (size_t)i, 8);
			part.arg[0] =
				values ? assay_arg_at(values + CUPTI_FENCE_BYTES * (size_t)i, 8)
				       : 0;
			part.arg[1] = 0;
		} else {
			const cupti_word *word = (const cupti_word *)(const void *)at + i;
			bool half = word->kind == CUPTI_WORD_WAIT_32 ||
				    word->kind == CUPTI_WORD_WRITE_32;
			if (word->kind >= CUPTI_WORD_KINDS || !watch.word[word->kind])
				continue;
			part.function = watch.word[word->kind];
			part.event = word->address;
			part.arg[0] = half ? (uint32_t)word->value : word->value;
			part.arg[1] = word->flags;
		}
		put(&part, sizeof part);
	}
}

enum { LAUNCH_GIVES = ASSAY_WIRE_GIVEN | ASSAY_WIRE_GIVES_STREAM | ASSAY_WIRE_LAUNCHES };

/* The stream that a launch works on. */
static inline uint64_t stream_of(const cupti_call *c, const watched *which)
{
	const char *p = c->functionParams;
	if (p && which->behind)
		p = (const char *)(uintptr_t)assay_arg_at(p, 8);
	uint64_t stream = p ? assay_arg_at(p + which->stream, 8) : 0;
	return stream || !which->per_thread ? stream : PER_THREAD_STREAM;
}

/* What else than a simple launch the thread is in. */
static __attribute__((noinline)) void tell_arguments(assay_ring_call *open, const cupti_call *c,
						     const watched *which)
{
	assay_wire_api args = {.status = -1}; /* nothing it makes is made yet */
	if (which->launch) {
		args.given = LAUNCH_GIVES;
		args.stream = stream_of(c, which);
		args.event = (uint64_t)(uintptr_t)c->symbolName;
	} else if (which->row != OTHER) {
		const order_call *o = &order_calls[which->row];
		args.given = given_by(o);
		if (o->how & PARTS) /* of many none is the one */
			args.given &= (uint16_t)~ASSAY_WIRE_GIVES_EVENT;
		if (c->functionParams)
			fill_arguments(&args, o, c->functionParams);
	}
	open->stream = args.stream;
	open->event = args.event;
	open->given = args.given;
	open->arg = args.arg[0];
}

/* What the thread is in, for whoever asks while it does not come back. */
static inline void tell_open(const open_call *call, const cupti_call *c)
{
	const watched *which = call->which;
	assay_ring_call *open = which->on ? assay_rt_call() : NULL;
	if (!open)
		return;
	open->corr = call->corr;
	open->function = call->cbid;
	open->domain = (uint16_t)call->domain;
	if (which->simple) {
		open->stream = stream_of(c, which);
		open->event = (uint64_t)(uintptr_t)c->symbolName;
		open->given = LAUNCH_GIVES;
		open->arg = 0;
	} else {
		tell_arguments(open, c, which);
	}
	atomic_store_explicit(&open->start, call->start, memory_order_release);
}

static inline int32_t status_of(const cupti_call *c)
{
	return c->functionReturnValue ? (int32_t)assay_arg_at(c->functionReturnValue, 4) : 0;
}

static void put_launch(const open_call *call, const cupti_call *c, int64_t end, uint32_t stack)
{
	assay_wire_api *w = assay_rt_begin(ASSAY_WIRE_API, ASSAY_WIRE_API_LAUNCH);
	if (!w)
		return;
	w->start = call->start;
	w->end = end;
	w->corr = call->corr;
	w->function = call->cbid;
	w->domain = (uint16_t)call->domain;
	w->given = LAUNCH_GIVES;
	w->status = status_of(c);
	w->stack = stack;
	w->stream = stream_of(c, call->which);
	w->event = (uint64_t)(uintptr_t)c->symbolName;
	assay_rt_commit();
}

static __attribute__((noinline)) void put_other(const open_call *call, const cupti_call *c,
						int64_t end, uint32_t stack)
{
	const watched *which = call->which;
	uint16_t how = order_calls[which->row].how;
	assay_wire_api full = {.start = call->start,
			       .end = end,
			       .corr = call->corr,
			       .function = call->cbid,
			       .domain = (uint16_t)call->domain,
			       .status = status_of(c),
			       .stack = stack};
	bool orders = which->row != OTHER;
	if (orders)
		fill_order(&full, c, *which);
	put(&full, orders ? sizeof full : (size_t)ASSAY_WIRE_API_SHORT);
	if (how & PARTS && !full.status && c->functionParams)
		put_parts(&full, how);
}

static inline void put_call(const open_call *call, const cupti_call *c)
{
	int64_t end = assay_rt_now();
	bool wanted = call->which->on && (!assay_rt_limited() || assay_rt_wanted(call->start));
	uint32_t stack = assay_host_leave(end, wanted);
	if (!wanted)
		return;
	assay_cuda_inside(call->corr);
	if (call->which->simple && !(call->which->behind && event_of(config_of(c))))
		put_launch(call, c, end, stack);
	else
		put_other(call, c, end, stack);
}

static __attribute__((noinline)) void enter(open_calls *t, int domain, uint32_t cbid,
					    const cupti_call *c)
{
	open_call *call = t->last ? t->last + 1 : t->call;
	if (t->mute)
		return;
	if (call == t->call + DEPTH) /* callbacks were switched off inside calls */
		call = t->call;
	call->corr = c->correlationId;
	call->domain = domain;
	t->last = call; /* from here on a signal's handler that calls takes the next place */
	atomic_signal_fence(memory_order_seq_cst);
	int64_t now = assay_rt_now();
	call->start = now;
	call->which = &watch.calls[domain][cbid];
	call->cbid = cbid;
	assay_host_enter(now);
	if (call->which->graph)
		assay_graphs_enter(call->which->graph);
	if (call == t->call)
		tell_open(call, c);
	call->cost = t->calls++ % ASSAY_COST_EVERY ? -1 : (int32_t)(assay_rt_now() - now);
}

/* The call ended, and with it those inside it that were not seen to. */
static __attribute__((noinline)) void leave(open_calls *t, open_call *call, const cupti_call *c)
{
	t->last = call;
	if (call->which->graph)
		assay_graphs_leave(call->which->graph);
	int64_t before = call->cost < 0 ? 0 : assay_rt_now();
	put_call(call, c);
	if (call == t->call) /* it is told by now: killed between the two it is told twice */
		assay_rt_left();
	if (before)
		assay_rt_cost(call->cost + assay_rt_now() - before);
	atomic_signal_fence(memory_order_seq_cst);
	t->last = call == t->call ? NULL : call - 1;
}

/* Not the innermost: one that began before the subscription, or around calls whose end was not
 * seen. */
static __attribute__((noinline)) void leave_outer(open_calls *t, int domain, const cupti_call *c)
{
	for (open_call *call = t->last; call && call >= t->call; call--)
		if (call->corr == c->correlationId && call->domain == domain) {
			leave(t, call, c);
			return;
		}
}

/* A runtime call makes driver calls under its own number; one row is enough, so these come and go
 * here. */
static inline void on_call(int domain, uint32_t cbid, const cupti_call *c)
{
	open_calls *t = &in;
	open_call *last = t->last;
	bool inside = last && last->corr == c->correlationId;
	if (c->callbackSite == CUPTI_ENTER) {
		if (!inside)
			enter(t, domain, cbid, c);
	} else if (!inside) {
		leave_outer(t, domain, c);
	} else if (last->domain == domain) {
		leave(t, last, c);
	}
}

static __attribute__((noinline)) void on_stream(uint32_t cbid, const cupti_resource *r)
{
	uint32_t id = ASSAY_WIRE_NONE, context = ASSAY_WIRE_NONE;
	const cupti_lib *c = watch.cupti;
	if (!c->get_stream_id ||
	    c->get_stream_id(r->context, r->resourceHandle, 0, &id) != CUPTI_OK)
		return;
	if (c->get_context_id)
		c->get_context_id(r->context, &context);
	int64_t now = assay_rt_now();
	assay_wire_stream *w = assay_rt_begin(ASSAY_WIRE_STREAM, sizeof *w);
	if (!w)
		return;
	*w = (assay_wire_stream){.rec = w->rec,
				 .handle = (uint64_t)(uintptr_t)r->resourceHandle,
				 .id = id,
				 .context = context,
				 .device = ASSAY_WIRE_NONE,
				 .created = cbid == CUPTI_STREAM_CREATED ? now : 0,
				 .destroyed = cbid == CUPTI_STREAM_DESTROYED ? now : 0};
	assay_rt_commit();
}

static inline void on_callback(int domain, uint32_t cbid, const void *info)
{
	if (domain == CUPTI_DOMAIN_RESOURCE)
		on_stream(cbid, info);
	else if ((domain == CUPTI_DOMAIN_RUNTIME || domain == CUPTI_DOMAIN_DRIVER) &&
		 cbid < CUPTI_CBID_MAX)
		on_call(domain, cbid, info);
}

/* Did we ask for it, or only the other? */
static bool is_ours(int domain, uint32_t cbid)
{
	if (!atomic_load(&watch.on))
		return false;
	if (domain == CUPTI_DOMAIN_RESOURCE)
		return cbid == CUPTI_STREAM_CREATED || cbid == CUPTI_STREAM_DESTROYED;
	return (domain == CUPTI_DOMAIN_RUNTIME || domain == CUPTI_DOMAIN_DRIVER) &&
	       cbid < CUPTI_CBID_MAX && watch.calls[domain][cbid].on;
}

/* The other measures as if we were not there: its callback is the first after the beginning of the
 * call and the last before its end. */
static __attribute__((noinline)) void on_shared(int domain, uint32_t cbid, const void *info)
{
	if (in.mute) /* a call of our own */
		return;
	bool ours = is_ours(domain, cbid);
	bool ends = domain != CUPTI_DOMAIN_RESOURCE && ours &&
		    ((const cupti_call *)info)->callbackSite != CUPTI_ENTER;
	if (ours && !ends)
		on_callback(domain, cbid, info);
	assay_subscription_pass(domain, cbid, info);
	if (ends)
		on_callback(domain, cbid, info);
}

void assay_callback(void *data, int domain, uint32_t cbid, const void *info)
{
	(void)data;
	if (atomic_load_explicit(&assay_subscription_other, memory_order_relaxed))
		on_shared(domain, cbid, info);
	else if (atomic_load_explicit(&watch.on, memory_order_relaxed))
		on_callback(domain, cbid, info);
}

/* ---- switching ---- */

void assay_callback_mute(void)
{
	in.mute = true;
}

bool assay_callback_on(void)
{
	return atomic_load(&watch.on);
}

bool assay_callback_saw(int domain, uint32_t cbid, int64_t start)
{
	int64_t since = atomic_load(&watch.since);
	return cbid < CUPTI_CBID_MAX && watch.calls[domain][cbid].on && since &&
	       (start < atomic_load(&watch.left) || start >= since);
}

static void want_calls(void)
{
	for (int domain = CUPTI_DOMAIN_DRIVER; domain <= CUPTI_DOMAIN_RUNTIME; domain++)
		for (uint32_t cbid = 0; cbid < CUPTI_CBID_MAX; cbid++)
			if (watch.calls[domain][cbid].on)
				assay_subscription_want(domain, cbid);
	assay_subscription_want(CUPTI_DOMAIN_RESOURCE, CUPTI_STREAM_CREATED);
	assay_subscription_want(CUPTI_DOMAIN_RESOURCE, CUPTI_STREAM_DESTROYED);
}

bool assay_callback_start(const cupti_lib *c)
{
	watch.cupti = c;
	if (assay_callback_on())
		return true;
	if (!assay_subscription_join())
		return false;
	want_calls();
	atomic_store(&watch.since, assay_rt_now());
	atomic_store(&watch.on, 1);
	return true;
}

void assay_callback_stop(void)
{
	if (!atomic_exchange(&watch.on, 0))
		return;
	assay_subscription_leave();
	atomic_store(&watch.left, assay_rt_now());
	atomic_store(&watch.since, INT64_MAX);
}
