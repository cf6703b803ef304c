/* Buffer records, kernel symbols and agents into ours. Everything here runs with the runtime's lock
 * held. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record/rocm.h"

enum {
	AGENTS_MAX = 128,
	KERNELS_MAX = 1 << 22,
	NAME_MAX_BYTES = 16384,
	COPY_HOST = 8, /* memory kinds of a COPY */
	COPY_DEVICE = 3,
};

typedef struct agent {
	uint64_t handle;
	uint32_t device; /* NONE for processors */
} agent;

typedef struct kernel {
	uint32_t name; /* string, 0 unknown */
	uint16_t vgprs, accum_vgprs, sgprs;
} kernel;

static struct {
	agent agents[AGENTS_MAX];
	size_t agent_count;
	kernel *kernels; /* by the SDK's number */
	size_t kernels_size;
	uint32_t life;  /* whose strings the names are */
	uint32_t codes; /* code objects told */
	int64_t offset; /* ours minus the SDK's clock */
} state;

/* ---- agents ---- */

static uint32_t device_of(uint64_t handle)
{
	for (size_t i = 0; i < state.agent_count; i++)
		if (state.agents[i].handle == handle)
			return state.agents[i].device;
	return ASSAY_WIRE_NONE;
}

/* The SDK has both names from libdrm: none where the render node may not be opened, and no
 * product's where libdrm has no list of them, as in many containers. */
static void put_device(const rocprof_agent *a, uint32_t id)
{
	char gfx[32];
	const char *known = a->name && *a->name ? a->name : gfx, *product = a->product_name;
	bool listed = product && *product && strcmp(product, "unknown") != 0;
	snprintf(gfx, sizeof gfx, "gfx%u%u%x", a->gfx_target / 10000, a->gfx_target / 100 % 100,
		 a->gfx_target % 100);
	uint32_t name = assay_rt_string(listed ? product : known);
	uint32_t arch = assay_rt_string(known), vendor = assay_rt_string("amd");
	assay_wire_device *d = assay_rt_bulk(ASSAY_WIRE_DEVICE, sizeof *d);
	d->id = id;
	d->vendor = vendor;
	d->name = name;
	d->arch = arch;
	d->memory = a->local_memory;
	d->units = a->cus;
	d->warp = a->wavefront;
	if (a->size >= ROCPROF_AGENT_UUID + sizeof d->uuid)
		memcpy(d->uuid, (const char *)a + ROCPROF_AGENT_UUID, sizeof d->uuid);
	else if (a->size >= ROCPROF_AGENT_UUID + 8)
		memcpy(d->uuid, (const char *)a + ROCPROF_AGENT_UUID, 8);
}

static int take_agents(int version, const void **agents, size_t n, void *data)
{
	(void)version, (void)data;
	for (size_t i = 0; i < n && state.agent_count < AGENTS_MAX; i++) {
		const rocprof_agent *a = agents[i];
		bool gpu = a->type == ROCPROF_AGENT_GPU;
		uint32_t id = gpu ? (uint32_t)a->logical_of_type : ASSAY_WIRE_NONE;
		state.agents[state.agent_count++] = (agent){a->id, id};
		if (gpu)
			put_device(a, id);
	}
	return ROCPROF_OK;
}

void assay_rocm_agents(const rocprof_lib *lib)
{
	state.agent_count = 0;
	state.life = assay_rt_life();
	if (lib->agents)
		lib->agents(ROCPROF_AGENT_VERSION, take_agents, sizeof(rocprof_agent), NULL);
}

/* The SDK's clock is CLOCK_BOOTTIME, as ours; should it ever be another, times are moved and the
 * trace says so. */
void assay_rocm_clock(const rocprof_lib *lib)
{
	enum { TRIES = 8, SAME_NS = 1000000 };
	int64_t best = INT64_MAX;
	char text[32];
	for (int i = 0; lib->timestamp && i < TRIES; i++) {
		uint64_t t = 0;
		int64_t before = assay_rt_now();
		if (lib->timestamp(&t) != ROCPROF_OK)
			return;
		int64_t after = assay_rt_now();
		if (after - before < best) {
			best = after - before;
			state.offset = before + best / 2 - (int64_t)t;
		}
	}
	if (state.offset > -SAME_NS && state.offset < SAME_NS) {
		state.offset = 0;
		return;
	}
	snprintf(text, sizeof text, "%lld", (long long)state.offset);
	assay_rt_meta("rocprofiler.clock_offset_ns", text);
}

static int64_t time_of(uint64_t theirs)
{
	return (int64_t)theirs + state.offset;
}

/* ---- code ---- */

/* Where kernels came from, when that is a file. */
static void put_code(const rocprof_code_object *o)
{
	enum { CODES_MAX = 4096 };
	char key[40];
	if (!o || o->size < offsetof(rocprof_code_object, load_base) || !o->uri ||
	    strncmp(o->uri, "file://", 7) || state.codes >= CODES_MAX || !assay_rt_bulk_open())
		return;
	state.codes++;
	snprintf(key, sizeof key, "code_object.%llu", (unsigned long long)o->id);
	assay_rt_meta(key, o->uri);
	assay_rt_bulk_close();
}

static kernel *kernel_at(uint64_t id)
{
	if (id >= KERNELS_MAX)
		return NULL;
	if (id >= state.kernels_size) {
		size_t size = state.kernels_size ? state.kernels_size : 1024;
		while (size <= id)
			size *= 2;
		kernel *k = realloc(state.kernels, size * sizeof *k);
		if (!k)
			return NULL;
		memset(k + state.kernels_size, 0, (size - state.kernels_size) * sizeof *k);
		state.kernels = k;
		state.kernels_size = size;
	}
	return &state.kernels[id];
}

static uint16_t narrow(uint32_t v)
{
	return v > 0xffff ? 0xffff : (uint16_t)v;
}

/* Symbols end in ".kd", the kernel descriptor; the function's name is what is before. */
static uint32_t name_of(const char *symbol)
{
	char text[NAME_MAX_BYTES];
	size_t n = symbol ? strlen(symbol) : 0;
	if (n < 3 || n >= sizeof text || strcmp(symbol + n - 3, ".kd"))
		return assay_rt_string(symbol);
	memcpy(text, symbol, n - 3);
	text[n - 3] = 0;
	return assay_rt_string(text);
}

void assay_rocm_on_code(const rocm_call *c, rocprof_user *user)
{
	(void)user;
	const rocprof_kernel_symbol *s = c->payload;
	if (c->operation == assay_rocm_names.op[ROCM_OP_CODE_LOAD] && c->phase == ROCPROF_ENTER)
		put_code(c->payload);
	if (c->operation != assay_rocm_names.op[ROCM_OP_KERNEL_SYMBOL] ||
	    c->phase != ROCPROF_ENTER || !s || s->size < ROCPROF_KERNEL_SYMBOL_SHORT ||
	    !assay_rt_bulk_open())
		return;
	kernel *k = kernel_at(s->kernel);
	if (k)
		*k = (kernel){name_of(s->name), narrow(s->vgprs), narrow(s->accum_vgprs),
			      narrow(s->sgprs)};
	assay_rt_bulk_close();
}

static kernel known_kernel(uint64_t id)
{
	static const kernel unknown = {0, 0xffff, 0xffff, 0xffff};
	bool here =
		id < state.kernels_size && state.kernels[id].name && state.life == assay_rt_life();
	return here ? state.kernels[id] : unknown;
}

/* ---- records ---- */

typedef struct work {
	uint64_t corr, external, start, end;
	uint32_t device;
	bool between; /* devices: its stream may be of the other */
} work;

static bool wanted(int64_t start, bool launched_inside)
{
	return launched_inside || assay_rt_wanted(start);
}

/* NULL when it is not to be recorded. */
static void *put_work(assay_wire_type type, size_t bytes, work in)
{
	rocm_origin o = assay_rocm_unpack(in.external);
	if (!wanted(time_of(in.start), o.wanted))
		return NULL;
	uint32_t device = assay_rocm_stream_on(o.stream, in.device, !in.between);
	assay_wire_work *w = assay_rt_bulk(type, bytes);
	w->start = time_of(in.start);
	w->end = time_of(in.end);
	w->corr = in.corr;
	w->graph = o.graph;
	w->graph_node = o.node;
	w->device = device;
	w->context = ASSAY_WIRE_NONE;
	w->stream = o.stream;
	return w;
}

static void put_kernel(const void *record, uint32_t version)
{
	(void)version;
	const rocprof_kernel_record *k = record;
	const rocprof_dispatch *d = &k->dispatch;
	kernel about = known_kernel(d->kernel);
	assay_wire_kernel *w = put_work(ASSAY_WIRE_KERNEL, sizeof *w,
					(work){k->corr.internal, k->corr.external, k->start, k->end,
					       device_of(d->agent), false});
	if (!w)
		return;
	w->name = about.name;
	for (int i = 0; i < 3; i++) {
		w->grid[i] = d->grid[i];
		w->block[i] = narrow(d->workgroup[i]);
	}
	w->regs = about.vgprs;
	w->acc_regs = about.accum_vgprs;
	w->scalar_regs = about.sgprs;
	w->shared_static = d->group_size;
	w->local = d->private_size;
	w->queue = (uint32_t)d->queue;
	w->dispatch = (uint32_t)d->dispatch;
}

/* CUPTI's numbers of copy kinds. */
static uint8_t copy_kind(int32_t operation, bool peer)
{
	const int32_t *op = assay_rocm_names.op;
	return operation == op[ROCM_OP_H2D]   ? 1
	       : operation == op[ROCM_OP_D2H] ? 2
	       : operation == op[ROCM_OP_H2H] ? 9
	       : operation == op[ROCM_OP_D2D] ? (peer ? 10 : 8)
					      : 0;
}

static void put_copy(const void *record, uint32_t version)
{
	(void)version;
	const rocprof_copy_record *c = record;
	uint32_t to = device_of(c->to_agent), from = device_of(c->from_agent);
	bool peer = to != from && to != ASSAY_WIRE_NONE && from != ASSAY_WIRE_NONE;
	assay_wire_copy *w = put_work(ASSAY_WIRE_COPY, sizeof *w,
				      (work){c->corr.internal, c->corr.external, c->start, c->end,
					     to != ASSAY_WIRE_NONE ? to : from, peer});
	if (!w)
		return;
	w->size = c->bytes;
	w->kind = copy_kind(c->rec.operation, peer);
	w->from = from == ASSAY_WIRE_NONE ? COPY_HOST : COPY_DEVICE;
	w->to = to == ASSAY_WIRE_NONE ? COPY_HOST : COPY_DEVICE;
	w->from_device = from;
	w->to_device = to;
}

static void put_memory(const void *record, uint32_t version)
{
	const rocprof_memory_record_0 *m0 = record;
	const rocprof_memory_record_1 *m1 = record;
	const int32_t *op = assay_rocm_names.op;
	rocprof_memory_record_0 m = *m0;
	if (version >= ROCPROF_ABI_1)
		m = (rocprof_memory_record_0){m1->rec,     {m1->corr.internal, m1->corr.external},
					      m1->thread,  m1->start,
					      m1->end,     m1->agent,
					      m1->address, m1->bytes};
	bool frees =
		m.rec.operation == op[ROCM_OP_FREE] || m.rec.operation == op[ROCM_OP_VMEM_FREE];
	if (!assay_rt_wanted(time_of(m.start)))
		return;
	assay_wire_memory *w = assay_rt_bulk(ASSAY_WIRE_MEMORY, sizeof *w);
	w->rec.thread = (uint32_t)m.thread;
	w->time = time_of(m.start);
	w->address = m.address;
	w->size = m.bytes;
	w->corr = m.corr.internal;
	w->device = device_of(m.agent);
	w->context = w->stream = ASSAY_WIRE_NONE;
	w->op = frees ? ASSAY_WIRE_FREE : ASSAY_WIRE_ALLOC;
}

/* Three layouts; the size only in the last, and there not from the start. */
static rocprof_scratch_record_1 scratch_of(const void *record, uint32_t version)
{
	const rocprof_scratch_record_04 *s4 = record;
	const rocprof_scratch_record_06 *s6 = record;
	rocprof_scratch_record_1 s = {.rec = s4->rec};
	if (version >= ROCPROF_ABI_1) {
		size_t have = s.rec.size < sizeof s ? ROCPROF_SCRATCH_SHORT : sizeof s;
		memcpy(&s, record, have);
		return s;
	}
	bool old = version < ROCPROF_0_6;
	s.corr.internal = old ? s4->corr.internal : s6->corr.internal;
	s.agent = old ? s4->agent : s6->agent;
	s.queue = old ? s4->queue : s6->queue;
	s.thread = old ? s4->thread : s6->thread;
	s.start = old ? s4->start : s6->start;
	s.end = old ? s4->end : s6->end;
	s.flags = old ? s4->flags : s6->flags;
	return s;
}

static void put_scratch(const void *record, uint32_t version)
{
	rocprof_scratch_record_1 s = scratch_of(record, version);
	const int32_t *op = assay_rocm_names.op;
	if (!assay_rt_wanted(time_of(s.start)))
		return;
	assay_wire_scratch *w = assay_rt_bulk(ASSAY_WIRE_SCRATCH, sizeof *w);
	w->rec.thread = (uint32_t)s.thread;
	w->start = time_of(s.start);
	w->end = time_of(s.end);
	w->corr = s.corr.internal;
	w->size = s.bytes;
	w->device = device_of(s.agent);
	w->queue = (uint32_t)s.queue;
	w->flags = s.flags;
	w->op = s.rec.operation == op[ROCM_OP_SCRATCH_FREE]      ? ASSAY_WIRE_SCRATCH_FREE
		: s.rec.operation == op[ROCM_OP_SCRATCH_RECLAIM] ? ASSAY_WIRE_SCRATCH_RECLAIM
								 : ASSAY_WIRE_SCRATCH_ALLOC;
}

static void put_barrier(const void *record, uint32_t version)
{
	(void)version;
	const rocprof_event_record *e = record;
	assay_wire_barrier *w = put_work(ASSAY_WIRE_BARRIER, sizeof *w,
					 (work){e->corr.internal, e->corr.external, e->start,
						e->end, device_of(e->agent), false});
	if (!w)
		return;
	w->event = e->event;
	w->queue = (uint32_t)e->queue;
	w->source_queue = (uint32_t)e->source_queue;
	w->op = e->rec.operation == assay_rocm_names.op[ROCM_OP_EVENT_WAIT]
			? ASSAY_WIRE_BARRIER_WAIT
			: ASSAY_WIRE_BARRIER_RECORD;
}

static const struct {
	void (*put)(const void *record, uint32_t version);
	size_t least_0, least_1; /* bytes a record must have, by ABI */
} converters[] = {
	[ROCM_KERNEL - ROCM_CALLBACKS] = {put_kernel, sizeof(rocprof_kernel_record),
					  sizeof(rocprof_kernel_record)},
	[ROCM_COPY - ROCM_CALLBACKS] = {put_copy, ROCPROF_COPY_SHORT, ROCPROF_COPY_SHORT},
	[ROCM_MEMORY - ROCM_CALLBACKS] = {put_memory, sizeof(rocprof_memory_record_0),
					  sizeof(rocprof_memory_record_1)},
	[ROCM_SCRATCH - ROCM_CALLBACKS] = {put_scratch, sizeof(rocprof_scratch_record_06),
					   ROCPROF_SCRATCH_SHORT},
	[ROCM_EVENT - ROCM_CALLBACKS] = {put_barrier, sizeof(rocprof_event_record),
					 sizeof(rocprof_event_record)},
};

static void convert_one(uint32_t version, const rocprof_header *h)
{
	const rocprof_record *r = h->payload;
	for (int k = ROCM_CALLBACKS; k < ROCM_KINDS; k++) {
		size_t least = version < ROCPROF_ABI_1 ? converters[k - ROCM_CALLBACKS].least_0
						       : converters[k - ROCM_CALLBACKS].least_1;
		if ((int32_t)h->kind == assay_rocm_names.kind[k] && r->size >= least)
			converters[k - ROCM_CALLBACKS].put(r, version);
	}
}

void assay_rocm_convert(uint32_t version, rocprof_header **headers, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (headers[i] && headers[i]->category == ROCPROF_TRACING && headers[i]->payload)
			convert_one(version, headers[i]);
}
