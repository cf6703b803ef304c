/* HIP calls on the program's threads: one record a call, written at its end into the thread's ring,
 * and the stream that the call works on, kept for the kernels and copies it launches. */
#include <stddef.h>
#include <string.h>

#include "record/args.h"
#include "record/host.h"
#include "record/rocm.h"
#include "wire/ring.h"

enum { NESTED = 8, NO_CODE = 4096, RCCL_CALLS_MAX = 128 };

typedef struct field {
	uint8_t at, bytes; /* bytes 0: the call has no such argument */
} field;

/* What is known of an operation, by its number. */
typedef struct call_info {
	field field[ROCPROF_ROLES];
	uint8_t flags, result; /* result: bytes at the end of the arguments */
	bool known;
} call_info;

static struct {
	call_info runtime[ROCM_CALLS_MAX]; /* filled before the first callback, then only read */
	call_info rccl[RCCL_CALLS_MAX];
	call_info nothing;
	uint32_t word[ROCPROF_WORD_KINDS]; /* 1 + number of the call that does only that */
	bool sdk_graphs;                   /* the SDK numbers executable graphs itself */
} calls = {.nothing = {.result = ROCPROF_HIP_RESULT}};

static __thread struct {
	uint32_t stream[NESTED]; /* of the calls that are being made, by depth */
	uint32_t depth;
	uint32_t set[NESTED]; /* the same as the SDK tells it, for calls we do not know */
	uint32_t sets;
	uint32_t graph, node;
	uint32_t switches;     /* of recording, that this is from */
	uint32_t calls;        /* so far: every ASSAY_COST_EVERYth is looked at */
	int64_t cost_of, cost; /* start of the one that is, and ns that took us so far */
} mine;

/* ---- choice ---- */

#define ROCPROF_HIP_STEP 9999
typedef enum call_id {
#define CALL(name, flags) CALL_##name,
#define FIELD(name, role, member, at, bytes)
#include "vendor/rocprof_hip.def"
	FIRST_RCCL,
	BEFORE_RCCL = FIRST_RCCL - 1,
#include "vendor/rocprof_rccl.def"
#undef CALL
#undef FIELD
	CALL_COUNT
} call_id;

static const struct {
	const char *name;
	uint8_t flags;
} table[] = {
#define CALL(name, flags) {#name, flags},
#define FIELD(name, role, member, at, bytes)
#include "vendor/rocprof_hip.def"
#include "vendor/rocprof_rccl.def"
#undef CALL
#undef FIELD
};
static_assert(sizeof table / sizeof *table == CALL_COUNT, "one row a call");

static const struct {
	uint16_t call;
	uint8_t role, at, bytes;
} fields[] = {
#define CALL(name, flags)
#define FIELD(name, role, member, at, bytes) {CALL_##name, ROCPROF_ROLE_##role, at, bytes},
#include "vendor/rocprof_hip.def"
#include "vendor/rocprof_rccl.def"
#undef CALL
#undef FIELD
};

static const struct {
	uint32_t kind;
	call_id call;
} words[] = {
	{ROCPROF_WORD_WAIT_32, CALL_hipStreamWaitValue32},
	{ROCPROF_WORD_WRITE_32, CALL_hipStreamWriteValue32},
	{ROCPROF_WORD_WAIT_64, CALL_hipStreamWaitValue64},
	{ROCPROF_WORD_WRITE_64, CALL_hipStreamWriteValue64},
};

typedef struct choice {
	rocm_kind kind;
	int32_t *ops;
	size_t n;
	bool all;
} choice;

static void learn(call_info *c, int32_t operation, size_t row)
{
	c->known = true;
	c->flags = table[row].flags;
	c->result = row < FIRST_RCCL ? ROCPROF_HIP_RESULT : ROCPROF_RCCL_RESULT;
	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
		if (fields[i].call == row)
			c->field[fields[i].role] = (field){fields[i].at, fields[i].bytes};
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (words[i].call == row)
			calls.word[words[i].kind] = (uint32_t)operation + 1;
}

static const struct {
	uint16_t domain;
	size_t first, end; /* rows of the table */
	call_info *info;
	int32_t max;
} groups[] = {
	[ROCM_RUNTIME] = {ASSAY_WIRE_RUNTIME, 0, FIRST_RCCL, calls.runtime, ROCM_CALLS_MAX},
	[ROCM_COMPILER] = {ASSAY_WIRE_COMPILER, 0, 0, NULL, ROCM_CALLS_MAX},
	[ROCM_RCCL] = {ASSAY_WIRE_COLLECTIVES, FIRST_RCCL, CALL_COUNT, calls.rccl, RCCL_CALLS_MAX},
};

/* Of the compiler's calls only the loading of code counts; the others only prepare a launch. */
static void choose_one(int32_t operation, const char *name, void *data)
{
	choice *c = data;
	bool take = c->all || (c->kind == ROCM_COMPILER && !strcmp(name, "__hipRegisterFatBinary"));
	if (operation < 0 || operation >= groups[c->kind].max)
		return;
	for (size_t i = groups[c->kind].first; i < groups[c->kind].end; i++) {
		if (strcmp(table[i].name, name))
			continue;
		learn(&groups[c->kind].info[operation], operation, i);
		take = true;
	}
	if (!take)
		return;
	assay_rt_name_call(groups[c->kind].domain, (uint32_t)operation, name);
	c->ops[c->n++] = operation;
}

static const call_info *info_of(rocm_kind kind, int32_t operation)
{
	bool here = operation >= 0 && operation < groups[kind].max && groups[kind].info &&
		    groups[kind].info[operation].known;
	return here ? &groups[kind].info[operation] : &calls.nothing;
}

bool assay_rocm_keeps_handles(rocm_kind kind, int32_t operation)
{
	const call_info *c = info_of(kind, operation);
	return c->flags & (ROCPROF_CREATE | ROCPROF_DESTROY | ROCPROF_MAKES_GRAPH);
}

size_t assay_rocm_choose(const rocprof_lib *lib, rocm_kind kind, int32_t *ops)
{
	choice c = {kind, ops, 0, assay_rt_conf()->all_api};
	assay_rocm_each(lib, assay_rocm_names.kind[kind], choose_one, &c);
	calls.sdk_graphs = assay_rocm_names.kind[ROCM_GRAPH] >= 0;
	return c.n;
}

/* ---- arguments ---- */

static_assert((int)ROCPROF_IPC_HANDLE == (int)ASSAY_IPC_HANDLE, "handle of another process");

static uint64_t argument(const rocprof_hip_call *h, const call_info *c, int role)
{
	field f = c->field[role];
	size_t room = h->size - sizeof *h - c->result;
	return f.bytes && f.at + (size_t)f.bytes <= room ? assay_arg_at(h->args + f.at, f.bytes)
							 : 0;
}

static uint64_t through(const rocprof_hip_call *h, const call_info *c, int role)
{
	return assay_arg_behind(argument(h, c, role));
}

static bool takes_stream(const call_info *c)
{
	return c->field[ROCPROF_ROLE_STREAM].bytes || c->field[ROCPROF_ROLE_CONFIG].bytes ||
	       c->flags & ROCPROF_NULL_STREAM;
}

static uint64_t stream_handle(const rocprof_hip_call *h, const call_info *c)
{
	uint64_t v = argument(h, c, ROCPROF_ROLE_STREAM);
	if (c->field[ROCPROF_ROLE_CONFIG].bytes) {
		uint64_t config = argument(h, c, ROCPROF_ROLE_CONFIG);
		v = config ? assay_arg_at((const char *)(uintptr_t)config + ROCPROF_CONFIG_STREAM,
					  8)
			   : 0;
	}
	return v == 0 && c->flags & ROCPROF_SPT ? ROCPROF_STREAM_PER_THREAD : v;
}

/* ---- the streams of the calls being made ---- */

static void push_stream(uint32_t id)
{
	if (mine.depth < NESTED)
		mine.stream[mine.depth] = id;
	mine.depth++;
}

static uint32_t stream_now(void)
{
	uint32_t depth = mine.depth < NESTED ? mine.depth : NESTED;
	uint32_t sets = mine.sets < NESTED ? mine.sets : NESTED;
	return depth ? mine.stream[depth - 1] : sets ? mine.set[sets - 1] : ASSAY_WIRE_NONE;
}

/* The ends of calls that recording was switched off in did not come. */
static void forget_open_calls(void)
{
	if (mine.switches == assay_rt_switches())
		return;
	mine.switches = assay_rt_switches();
	mine.depth = mine.sets = mine.graph = 0;
}

void assay_rocm_on_stream(const rocm_call *c, rocprof_user *user)
{
	(void)user;
	const rocprof_hip_stream *s = c->payload;
	if (c->operation != assay_rocm_names.op[ROCM_OP_STREAM_SET])
		return;
	if (c->phase == ROCPROF_ENTER) {
		forget_open_calls();
		if (mine.sets < NESTED)
			mine.set[mine.sets] = assay_rocm_stream(s->handle);
		mine.sets++;
	} else if (c->phase == ROCPROF_EXIT && mine.sets) {
		mine.sets--;
	}
}

void assay_rocm_on_graph(const rocm_call *c, rocprof_user *user)
{
	(void)user;
	const rocprof_hip_graph *g = c->payload;
	if (c->operation != assay_rocm_names.op[ROCM_OP_GRAPH_LAUNCH])
		return;
	mine.graph = c->phase == ROCPROF_ENTER ? (uint32_t)g->id : 0;
	mine.node = 0;
}

enum { STREAM_BITS = 24, GRAPH_BITS = 20, NODE_BITS = 19 };

static uint64_t fit(uint32_t v, int bits)
{
	return v < 1u << bits ? v : 0;
}

static uint64_t pack(rocm_origin o)
{
	return fit(o.stream + 1, STREAM_BITS) | fit(o.graph, GRAPH_BITS) << STREAM_BITS |
	       fit(o.node, NODE_BITS) << (STREAM_BITS + GRAPH_BITS) | (uint64_t)o.wanted << 63;
}

rocm_origin assay_rocm_unpack(uint64_t v)
{
	return (rocm_origin){
		.stream = (uint32_t)(v & ((1u << STREAM_BITS) - 1)) - 1,
		.graph = (uint32_t)(v >> STREAM_BITS & ((1u << GRAPH_BITS) - 1)),
		.node = (uint32_t)(v >> (STREAM_BITS + GRAPH_BITS) & ((1u << NODE_BITS) - 1)),
		.wanted = v >> 63,
	};
}

/* On the thread that launches, while it is in the call. */
int assay_rocm_request(uint64_t thread, uint64_t context, int kind, int32_t operation,
		       uint64_t corr, rocprof_user *out, void *data)
{
	(void)thread, (void)context, (void)corr, (void)data;
	bool again = kind == ROCPROF_REQUEST_KERNEL &&
		     operation == assay_rocm_names.op[ROCM_OP_KERNEL_DONE];
	if (mine.graph && !again &&
	    (kind == ROCPROF_REQUEST_KERNEL || kind == ROCPROF_REQUEST_COPY))
		mine.node++;
	out->value = pack((rocm_origin){
		.stream = stream_now(),
		.graph = mine.graph,
		.node = mine.graph ? mine.node : 0,
		.wanted = !assay_rt_limited() || assay_rt_wanted(assay_rt_now()),
	});
	return 0;
}

/* ---- records ---- */

/* How a wait compares a word, and which bits of it do not count. Of 64 bits all but the highest two
 * are told. */
static uint64_t condition(const rocprof_hip_call *h, const call_info *c)
{
	uint64_t all = c->field[ROCPROF_ROLE_MASK].bytes == 4 ? UINT32_MAX : UINT64_MAX;
	uint64_t masked = ~argument(h, c, ROCPROF_ROLE_MASK) & all;
	return (argument(h, c, ROCPROF_ROLE_ARG1) & ROCPROF_WORD_WHEN) | masked << 2;
}

static void fill_arguments(assay_wire_api *w, const rocprof_hip_call *h, const call_info *c)
{
	bool done = w->status == 0;
	w->given = takes_stream(c) || c->field[ROCPROF_ROLE_STREAM_OUT].bytes
			   ? ASSAY_WIRE_GIVES_STREAM
			   : 0;
	if (c->field[ROCPROF_ROLE_EVENT].bytes || c->field[ROCPROF_ROLE_EVENT_OUT].bytes)
		w->given |= ASSAY_WIRE_GIVES_EVENT;
	w->given |=
		c->flags & ROCPROF_ORDERS ? ASSAY_WIRE_GIVEN | ASSAY_WIRE_ORDERS : ASSAY_WIRE_GIVEN;
	w->stream = takes_stream(c) ? stream_handle(h, c)
		    : done          ? through(h, c, ROCPROF_ROLE_STREAM_OUT)
				    : 0;
	w->event = argument(h, c, ROCPROF_ROLE_EVENT);
	w->arg[0] = argument(h, c, ROCPROF_ROLE_ARG0);
	w->arg[1] = argument(h, c, ROCPROF_ROLE_ARG1);
	if (c->field[ROCPROF_ROLE_MASK].bytes)
		w->arg[1] = condition(h, c);
	if (done && c->field[ROCPROF_ROLE_EVENT_OUT].bytes)
		w->event = through(h, c, ROCPROF_ROLE_EVENT_OUT);
	if (done && c->field[ROCPROF_ROLE_ARG0_OUT].bytes)
		w->arg[0] = through(h, c, ROCPROF_ROLE_ARG0_OUT);
	if (done && c->field[ROCPROF_ROLE_HASH_OUT].bytes)
		w->arg[0] = assay_arg_shared(
			(const void *)(uintptr_t)argument(h, c, ROCPROF_ROLE_HASH_OUT));
	if (c->field[ROCPROF_ROLE_HASH].bytes)
		w->arg[0] = assay_arg_shared(h->args + c->field[ROCPROF_ROLE_HASH].at);
}

/* Some calls return no error code but a text or a number; only codes are told. */
static int32_t status_of(const rocprof_hip_call *h, const call_info *c)
{
	int32_t v = 0;
	memcpy(&v, (const char *)h + h->size - c->result, sizeof v);
	return c->known || (v >= 0 && v < NO_CODE) ? v : 0;
}

static bool readable(const rocprof_hip_call *h)
{
	return h && h->size >= sizeof *h + ROCPROF_HIP_ARGS_MIN + ROCPROF_HIP_RESULT;
}

static bool begin_call(assay_wire_api **w, const rocm_call *c, uint32_t function, uint16_t domain)
{
	*w = assay_rt_begin(ASSAY_WIRE_API, sizeof **w);
	if (!*w)
		return false;
	memset((char *)*w + sizeof(*w)->rec, 0, sizeof **w - sizeof(*w)->rec);
	(*w)->corr = c->corr;
	(*w)->function = function;
	(*w)->domain = domain;
	return true;
}

/* Each wait and write of a batch, as the call would be told that does only that. */
static void put_words(const rocm_call *c, const call_info *info, int64_t start)
{
	const rocprof_hip_call *h = c->payload;
	const rocprof_word *word =
		(const rocprof_word *)(uintptr_t)argument(h, info, ROCPROF_ROLE_WORDS);
	uint64_t n = argument(h, info, ROCPROF_ROLE_ARG0);
	assay_wire_api *w;
	for (uint64_t i = 0; word && i < n; i++) {
		uint32_t kind = word[i].kind;
		bool half = kind == ROCPROF_WORD_WAIT_32 || kind == ROCPROF_WORD_WRITE_32;
		if (kind >= ROCPROF_WORD_KINDS || !calls.word[kind] ||
		    !begin_call(&w, c, calls.word[kind] - 1, ASSAY_WIRE_RUNTIME))
			continue;
		w->start = w->end = start;
		w->given = ASSAY_WIRE_GIVEN | ASSAY_WIRE_GIVES_STREAM | ASSAY_WIRE_GIVES_EVENT |
			   ASSAY_WIRE_ORDERS | ASSAY_WIRE_PART;
		w->stream = stream_handle(h, info);
		w->event = word[i].address;
		w->arg[0] = half ? (uint32_t)word[i].value : word[i].value;
		w->arg[1] = word[i].flags & ROCPROF_WORD_WHEN;
		assay_rt_commit();
	}
}

/* The same of semaphores and their values. */
static void put_semaphores(const rocm_call *c, const call_info *info, int64_t start)
{
	const rocprof_hip_call *h = c->payload;
	const char *at = (const char *)(uintptr_t)argument(h, info, ROCPROF_ROLE_SEMAPHORES);
	const char *fence = (const char *)(uintptr_t)argument(h, info, ROCPROF_ROLE_FENCES);
	uint64_t n = argument(h, info, ROCPROF_ROLE_ARG0);
	assay_wire_api *w;
	for (uint64_t i = 0; at && i < n; i++) {
		if (!begin_call(&w, c, (uint32_t)c->operation, ASSAY_WIRE_RUNTIME))
			continue;
		w->start = w->end = start;
		w->given = ASSAY_WIRE_GIVEN | ASSAY_WIRE_GIVES_STREAM | ASSAY_WIRE_GIVES_EVENT |
			   ASSAY_WIRE_ORDERS | ASSAY_WIRE_PART;
		w->stream = stream_handle(h, info);
		w->event = assay_arg_at(at + 8 * i, 8);
		w->arg[0] = fence ? assay_arg_at(fence + ROCPROF_FENCE_BYTES * i, 8) : 0;
		assay_rt_commit();
	}
}

static void put_call(const rocm_call *c, const call_info *info, uint16_t domain, int64_t start)
{
	const rocprof_hip_call *h = c->payload;
	int64_t end = assay_rt_now();
	assay_wire_api *w;
	bool wanted = assay_rt_wanted(start);
	uint32_t stack = assay_host_leave(end, wanted);
	if (!wanted || !begin_call(&w, c, (uint32_t)c->operation, domain))
		return;
	w->start = start;
	w->end = end;
	w->stack = stack;
	if (readable(h)) {
		w->status = domain == ASSAY_WIRE_COMPILER ? 0 : status_of(h, info);
		fill_arguments(w, h, info);
	}
	int32_t status = w->status;
	assay_rt_commit();
	if (info->field[ROCPROF_ROLE_WORDS].bytes && readable(h) && !status)
		put_words(c, info, start);
	if (info->field[ROCPROF_ROLE_SEMAPHORES].bytes && readable(h) && !status)
		put_semaphores(c, info, start);
}

/* The call that the thread is in: of calls inside each other the last that began. */
static void tell_open(const rocm_call *c, const call_info *info, bool read, int64_t now)
{
	assay_ring_call *open = assay_rt_wanted(now) ? assay_rt_call() : NULL;
	assay_wire_api args = {.status = -1}; /* nothing it makes is made yet */
	if (!open)
		return;
	if (read)
		fill_arguments(&args, c->payload, info);
	atomic_store_explicit(&open->start, 0, memory_order_release);
	open->corr = c->corr;
	open->function = (uint32_t)c->operation;
	open->domain = ASSAY_WIRE_RUNTIME;
	open->stream = args.stream;
	open->event = args.event;
	open->given = args.given;
	open->arg = args.arg[0];
	atomic_store_explicit(&open->start, now, memory_order_release);
}

static void enter(const rocprof_hip_call *h, const call_info *c, int64_t now)
{
	forget_open_calls();
	if (takes_stream(c))
		push_stream(assay_rocm_stream(stream_handle(h, c)));
	if (c->flags & ROCPROF_GRAPH && !calls.sdk_graphs) {
		mine.graph = assay_rocm_graph(argument(h, c, ROCPROF_ROLE_ARG0));
		mine.node = 0;
	}
	/* before the runtime can give the address to somebody else */
	if (c->flags & ROCPROF_DESTROY)
		assay_rocm_stream_gone(argument(h, c, ROCPROF_ROLE_STREAM), now);
}

static void leave(const rocm_call *call, const call_info *c, int64_t start)
{
	const rocprof_hip_call *h = call->payload;
	if (takes_stream(c) && mine.depth)
		mine.depth--;
	if (c->flags & ROCPROF_GRAPH && !calls.sdk_graphs)
		mine.graph = 0;
	if (c->flags & ROCPROF_CREATE && status_of(h, c) == 0)
		assay_rocm_stream_made(through(h, c, ROCPROF_ROLE_STREAM_OUT),
				       (uint32_t)argument(h, c, ROCPROF_ROLE_ARG0),
				       (int32_t)argument(h, c, ROCPROF_ROLE_ARG1), call->corr,
				       start);
	if (c->field[ROCPROF_ROLE_ARG0_OUT].bytes && c->flags & ROCPROF_MAKES_GRAPH &&
	    status_of(h, c) == 0)
		assay_rocm_graph_gone(through(h, c, ROCPROF_ROLE_ARG0_OUT));
}

void assay_rocm_on_runtime(const rocm_call *c, rocprof_user *user)
{
	const call_info *info = info_of(ROCM_RUNTIME, c->operation);
	const rocprof_hip_call *h = c->payload;
	bool read = info->known && readable(h);
	if (c->phase == ROCPROF_ENTER) {
		int64_t now = assay_rt_now();
		user->value = (uint64_t)now;
		assay_host_enter(now);
		tell_open(c, info, read, now);
		if (read)
			enter(h, info, now);
		if (mine.calls++ % ASSAY_COST_EVERY == 0) {
			mine.cost_of = now;
			mine.cost = assay_rt_now() - now;
		}
	} else if (c->phase == ROCPROF_EXIT) {
		int64_t before = mine.cost_of == (int64_t)user->value ? assay_rt_now() : 0;
		put_call(c, info, ASSAY_WIRE_RUNTIME, (int64_t)user->value);
		assay_rt_left(); /* it is told by now: killed between the two it is told twice */
		if (read)
			leave(c, info, (int64_t)user->value);
		if (before)
			assay_rt_cost(mine.cost + assay_rt_now() - before);
	}
}

static void on_plain(rocm_kind kind, const rocm_call *c, rocprof_user *user)
{
	if (c->phase == ROCPROF_ENTER)
		user->value = (uint64_t)assay_rt_now();
	else if (c->phase == ROCPROF_EXIT)
		put_call(c, info_of(kind, c->operation), groups[kind].domain, (int64_t)user->value);
}

void assay_rocm_on_compiler(const rocm_call *c, rocprof_user *user)
{
	on_plain(ROCM_COMPILER, c, user);
}

/* The kernels of a collective belong to HIP's calls inside of it. */
void assay_rocm_on_rccl(const rocm_call *c, rocprof_user *user)
{
	on_plain(ROCM_RCCL, c, user);
}
