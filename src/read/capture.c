/* Our own capture (docs/formats/capture.md): chunks in, rows out. */
#include "read/capture.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/demangle.h"
#include "base/test.h"
#include "read/reader.h"

/* ---- ids ---- */

assay_sid assay_capture_text(const capture *c, uint32_t id)
{
	uint32_t sid = assay_map_get(&c->strings, id);
	return sid == ASSAY_MAP_ABSENT ? 0 : sid;
}

static assay_sid kernel_name(capture *c, uint32_t id)
{
	uint32_t *slot = assay_map_at(&c->kernels, id);
	if (*slot != ASSAY_MAP_ABSENT)
		return *slot;
	assay_str symbol = assay_pool_get(&c->part->strings, assay_capture_text(c, id));
	*slot = assay_intern(&c->part->strings, assay_demangle(&c->scratch, symbol));
	return *slot;
}

static int64_t device_of(const capture *c, uint32_t context)
{
	uint32_t d = assay_map_get(&c->contexts, context);
	return d == ASSAY_MAP_ABSENT ? -1 : (int64_t)d;
}

uint32_t assay_capture_thread(capture *c, const assay_wire_rec *rec)
{
	return assay_thread_track(c->part, c->pid, rec->thread ? rec->thread : c->tid);
}

static uint32_t stream_track(capture *c, uint32_t device, uint32_t stream)
{
	return assay_stream_track(c->part, device == ASSAY_WIRE_NONE ? -1 : (int64_t)device,
				  stream == ASSAY_WIRE_NONE ? -1 : (int64_t)stream);
}

void assay_capture_seen(capture *c, int64_t time)
{
	if (time > c->last_time)
		c->last_time = time;
	uint32_t ring = c->ring ? assay_map_get(&c->rings, c->ring) : ASSAY_MAP_ABSENT;
	if (ring != ASSAY_MAP_ABSENT && time > c->ring_of.p[ring].last)
		c->ring_of.p[ring].last = time;
}

/* end - start; what cannot be is counted and 0. */
static int64_t length_of(capture *c, int64_t start, int64_t end)
{
	int64_t n;
	if (__builtin_sub_overflow(end, start, &n)) {
		assay_count(c->part, ASSAY_ISSUE_bad_number, 1);
		return 0;
	}
	if (n >= 0)
		return n;
	assay_count(c->part, ASSAY_ISSUE_negative_duration, 1);
	return 0;
}

/* ---- records: each takes a zero-padded copy of its struct, and the record as it stands ---- */

static void read_string(capture *c, const any_record *r, assay_str whole)
{
	size_t room = whole.n - sizeof r->string;
	size_t n = r->string.length < room ? r->string.length : room;
	assay_str text = {whole.p + sizeof r->string, n};
	*assay_map_at(&c->strings, r->string.id) = assay_intern(&c->part->strings, text);
}

static void add_meta(capture *c, const char *key, assay_sid value)
{
	if (value)
		assay_meta_add(c->part, key, assay_pool_get(&c->part->strings, value));
}

static void read_process(capture *c, const any_record *r, assay_str whole)
{
	(void)whole;
	assay_source_table *s = &c->part->t.source;
	char pid[16];
	int n = snprintf(pid, sizeof pid, "%" PRIu32, r->process.pid);
	c->pid = r->process.pid;
	if (__builtin_sub_overflow(r->process.real, r->process.start, &s->base[c->part->source]))
		assay_count(c->part, ASSAY_ISSUE_bad_number, 1);
	s->epoch[c->part->source] = 1;
	assay_meta_add(c->part, "pid", (assay_str){pid, (size_t)n});
	add_meta(c, "recorder", assay_capture_text(c, r->process.recorder));
	add_meta(c, "recorder_version", assay_capture_text(c, r->process.version));
	add_meta(c, "host", assay_capture_text(c, r->process.host));
	add_meta(c, "command", assay_capture_text(c, r->process.command));
	c->started = true;
}

static void read_meta(capture *c, const any_record *r, assay_str whole)
{
	(void)whole;
	assay_str key = assay_pool_get(&c->part->strings, assay_capture_text(c, r->meta.key));
	assay_str value = assay_pool_get(&c->part->strings, assay_capture_text(c, r->meta.value));
	if (!key.n)
		return;
	assay_meta_add(c->part, key.p, value);
	assay_source_table *s = &c->part->t.source;
	int64_t n;
	if (!assay_str_i64(value, &n) || n < 0 || n > INT32_MAX)
		return;
	if (assay_str_is(key, "env.RANK"))
		s->rank[c->part->source] = (int32_t)n;
	if (assay_str_is(key, "env.WORLD_SIZE"))
		s->world[c->part->source] = (int32_t)n;
}

static void read_device(capture *c, const any_record *r, assay_str whole)
{
	(void)whole;
	assay_device_table *d = &c->part->t.device;
	uint32_t row = assay_add(&c->part->t, ASSAY_T_device);
	d->source[row] = c->part->source;
	d->id[row] = (int32_t)r->device.id;
	d->name[row] = assay_capture_text(c, r->device.name);
	d->vendor[row] = assay_capture_text(c, r->device.vendor);
	d->arch[row] = assay_capture_text(c, r->device.arch);
	if (r->device.memory && r->device.memory <= INT64_MAX)
		d->memory[row] = (int64_t)r->device.memory;
	if (r->device.units && r->device.units <= INT32_MAX)
		d->units[row] = (int32_t)r->device.units;
	if (r->device.warp && r->device.warp <= INT32_MAX)
		d->warp[row] = (int32_t)r->device.warp;
}

static void read_context(capture *c, const any_record *r, assay_str whole)
{
	(void)whole;
	if (r->context.device != ASSAY_WIRE_NONE)
		*assay_map_at(&c->contexts, r->context.id) = r->context.device;
}

/* A stream is told when it is made, when the vendor takes stock, and when it is destroyed; each
 * telling completes the row of the first. */
static void read_stream(capture *c, const any_record *r, assay_str whole)
{
	(void)whole;
	const assay_wire_stream *s = &r->stream;
	assay_stream_table *t = &c->part->t.stream;
	uint32_t key[3] = {s->context, s->device, s->id};
	uint32_t *slot = assay_map_at(&c->streams, assay_hash(key, sizeof key, 0)), row = *slot;
	if (row == ASSAY_MAP_ABSENT) {
		row = *slot = assay_add(&c->part->t, ASSAY_T_stream);
		t->source[row] = c->part->source;
		t->device[row] = s->device == ASSAY_WIRE_NONE ? -1 : (int32_t)s->device;
		t->id[row] = s->id == ASSAY_WIRE_NONE ? -1 : (int64_t)s->id;
		t->context[row] = s->context;
	}
	t->handle[row] = s->handle ? s->handle : t->handle[row];
	t->priority[row] = s->priority ? s->priority : t->priority[row];
	t->flags[row] |= s->flags;
	t->created[row] = s->created ? s->created : t->created[row];
	t->destroyed[row] = s->destroyed ? s->destroyed : t->destroyed[row];
}

static void read_thread(capture *c, const any_record *r, assay_str whole)
{
	(void)whole;
	uint32_t track = assay_capture_thread(c, &r->rec);
	c->part->t.track.name[track] = assay_capture_text(c, r->thread.name);
}

static void read_api_name(capture *c, const any_record *r, assay_str whole)
{
	(void)whole;
	uint64_t key = (uint64_t)r->api_name.domain << 32 | r->api_name.function;
	*assay_map_at(&c->functions, key) = assay_capture_text(c, r->api_name.name);
}

static assay_sid function_name(capture *c, uint16_t domain, uint32_t function)
{
	uint32_t *slot = assay_map_at(&c->functions, (uint64_t)domain << 32 | function);
	char text[48];
	if (*slot == ASSAY_MAP_ABSENT || !*slot) {
		int n = snprintf(text, sizeof text, "%s call %" PRIu32,
				 domain == ASSAY_WIRE_DRIVER ? "driver" : "runtime", function);
		*slot = assay_intern(&c->part->strings, (assay_str){text, (size_t)n});
	}
	return *slot;
}

uint32_t assay_capture_host(capture *c, assay_host_kind kind, int64_t start, int64_t end,
			    assay_sid name, uint32_t track)
{
	assay_host_table *h = &c->part->t.host;
	uint32_t row = assay_add(&c->part->t, ASSAY_T_host);
	h->ts[row] = start;
	h->dur[row] = length_of(c, start, end);
	h->name[row] = name;
	h->track[row] = track;
	h->kind[row] = (uint8_t)kind;
	h->detail[row] = assay_add(&c->part->t, assay_host_detail[kind]);
	assay_capture_seen(c, end);
	return row;
}

static void read_api(capture *c, const any_record *r, assay_str whole)
{
	const assay_wire_api *a = &r->api;
	uint32_t track = assay_capture_thread(c, &a->rec);
	assay_sid name = function_name(c, a->domain, a->function);
	assay_host_kind kind =
		a->domain == ASSAY_WIRE_DRIVER ? ASSAY_HOST_DRIVER : ASSAY_HOST_RUNTIME;
	uint32_t row = assay_capture_host(c, kind, a->start, a->end, name, track);
	uint32_t detail = c->part->t.host.detail[row];
	c->part->t.api.corr[detail] = a->corr;
	c->part->t.api.cbid[detail] = a->function;
	c->part->t.api.status[detail] = a->status;
	if (whole.n < ASSAY_WIRE_API_ARGS || (a->given && !(a->given & ASSAY_WIRE_ORDERS)))
		return;
	assay_event_call_table *t = &c->part->t.event_call;
	uint32_t e = assay_add(&c->part->t, ASSAY_T_event_call);
	t->ts[e] = a->start;
	t->dur[e] = c->part->t.host.dur[row];
	t->name[e] = name;
	t->track[e] = track;
	t->corr[e] = a->corr;
	t->stream[e] = a->stream;
	t->event[e] = a->event;
	t->arg[e] = a->arg[0];
	t->status[e] = a->status;
	if (whole.n >= sizeof *a && a->given & ASSAY_WIRE_PLACED)
		*assay_push(&c->placed) = (placed_call){e, a->context, a->stream_id};
}

static uint32_t add_gpu(capture *c, assay_gpu_kind kind, const assay_wire_work *w, assay_sid name)
{
	assay_gpu_table *g = &c->part->t.gpu;
	uint32_t track = stream_track(c, w->device, w->stream);
	uint32_t row = assay_add(&c->part->t, ASSAY_T_gpu);
	if (!name)
		assay_count(c->part, ASSAY_ISSUE_no_name, 1);
	if (!w->corr)
		assay_count(c->part, ASSAY_ISSUE_zero_correlation, 1);
	if (w->context != c->last_context && w->device != ASSAY_WIRE_NONE)
		*assay_map_at(&c->contexts, c->last_context = w->context) = w->device;
	g->ts[row] = w->start;
	g->dur[row] = length_of(c, w->start, w->end);
	g->name[row] = name;
	g->track[row] = track;
	g->corr[row] = w->corr;
	g->graph[row] = w->graph;
	g->graph_node[row] = w->graph_node;
	g->context[row] = w->context;
	g->kind[row] = (uint8_t)kind;
	assay_capture_seen(c, w->end);
	return row;
}

static void read_kernel(capture *c, const any_record *r, assay_str whole)
{
	(void)whole;
	const assay_wire_kernel *k = &r->kernel;
	uint32_t row = add_gpu(c, ASSAY_GPU_KERNEL, &k->work, kernel_name(c, k->name));
	assay_gpu_table *g = &c->part->t.gpu;
	g->grid_x[row] = k->grid[0];
	g->grid_y[row] = k->grid[1];
	g->grid_z[row] = k->grid[2];
	g->block_x[row] = k->block[0];
	g->block_y[row] = k->block[1];
	g->block_z[row] = k->block[2];
	g->regs[row] = k->regs;
	g->acc_regs[row] = k->acc_regs;
	g->scalar_regs[row] = k->scalar_regs;
	g->queue[row] = k->queue;
	g->dispatch[row] = k->dispatch;
	g->scratch[row] = k->local;
	g->shared[row] = k->shared_static == ASSAY_WIRE_NONE || k->shared_dynamic == ASSAY_WIRE_NONE
				 ? UINT32_MAX
				 : k->shared_static + k->shared_dynamic;
}

static const char *const copy_kinds[] = {"?",    "HtoD", "DtoH", "HtoA", "AtoH", "AtoA",
					 "AtoD", "DtoA", "DtoD", "HtoH", "PtoP"};
static const char *const memory_kinds[] = {"Unknown",       "Pageable",       "Pinned",
					   "Device",        "Array",          "Managed",
					   "Device Static", "Managed Static", "Host"};

/* The names torch.profiler gives, so that rows of both compare. */
static assay_sid copy_name(capture *c, const assay_wire_copy *k)
{
	char text[80];
	unsigned kind = k->kind < 11 ? k->kind : 0, from = k->from < 9 ? k->from : 0;
	unsigned to = k->to < 9 ? k->to : 0;
	int n = snprintf(text, sizeof text, "Memcpy %s (%s -> %s)", copy_kinds[kind],
			 memory_kinds[from], memory_kinds[to]);
	return assay_intern(&c->part->strings, (assay_str){text, (size_t)n});
}

static void read_copy(capture *c, const any_record *r, assay_str whole)
{
	(void)whole;
	uint32_t row = add_gpu(c, ASSAY_GPU_MEMCPY, &r->copy.work, copy_name(c, &r->copy));
	if (r->copy.size <= INT64_MAX)
		c->part->t.gpu.bytes[row] = (int64_t)r->copy.size;
}

static void read_set(capture *c, const any_record *r, assay_str whole)
{
	(void)whole;
	char text[48];
	int n = snprintf(text, sizeof text, "Memset (%s)",
			 memory_kinds[r->set.memory < 8 ? r->set.memory : 0]);
	assay_sid name = assay_intern(&c->part->strings, (assay_str){text, (size_t)n});
	uint32_t row = add_gpu(c, ASSAY_GPU_MEMSET, &r->set.work, name);
	if (r->set.size <= INT64_MAX)
		c->part->t.gpu.bytes[row] = (int64_t)r->set.size;
}

static void read_graph(capture *c, const any_record *r, assay_str whole)
{
	(void)whole;
	add_gpu(c, ASSAY_GPU_KERNEL, &r->work, assay_intern_z(&c->part->strings, "graph launch"));
}

static void read_sync(capture *c, const any_record *r, assay_str whole)
{
	(void)whole;
	static const char *const names[] = {"Unknown Sync", "Event Sync", "Stream Wait Event",
					    "Stream Sync", "Context Sync"};
	const assay_wire_sync *s = &r->sync;
	assay_sync_table *t = &c->part->t.sync;
	int64_t device = device_of(c, s->context);
	uint32_t track =
		stream_track(c, device < 0 ? ASSAY_WIRE_NONE : (uint32_t)device, s->stream);
	uint32_t row = assay_add(&c->part->t, ASSAY_T_sync);
	t->ts[row] = s->start;
	t->dur[row] = length_of(c, s->start, s->end);
	t->name[row] = assay_intern_z(&c->part->strings, names[s->kind < 5 ? s->kind : 0]);
	t->track[row] = track;
	t->corr[row] = s->corr;
	if (s->event <= INT64_MAX)
		t->event[row] = (int64_t)s->event;
	t->sync_id[row] = s->sync_id;
	t->context[row] = s->context;
	t->status[row] = s->status;
	assay_capture_seen(c, s->end);
}

static void read_event(capture *c, const any_record *r, assay_str whole)
{
	(void)whole;
	const assay_wire_event *e = &r->event;
	assay_event_record_table *t = &c->part->t.event_record;
	uint32_t track = stream_track(c, e->device, e->stream);
	uint32_t row = assay_add(&c->part->t, ASSAY_T_event_record);
	t->track[row] = track;
	t->corr[row] = e->corr;
	t->event[row] = e->event;
	t->sync_id[row] = e->sync_id;
	t->ts[row] = e->device_time;
	t->context[row] = e->context;
	if (e->sync_id)
		*assay_map_at(&c->by_sync, e->sync_id) = row;
}

static void read_memory(capture *c, const any_record *r, assay_str whole)
{
	(void)whole;
	const assay_wire_memory *m = &r->memory;
	assay_alloc_table *t = &c->part->t.alloc;
	uint32_t track = assay_capture_thread(c, &m->rec);
	uint32_t row = assay_add(&c->part->t, ASSAY_T_alloc);
	if (m->size > INT64_MAX) {
		assay_count(c->part, ASSAY_ISSUE_wide_value, 1);
		return;
	}
	t->ts[row] = m->time;
	t->track[row] = track;
	t->addr[row] = m->address;
	t->bytes[row] = m->op == ASSAY_WIRE_FREE ? -(int64_t)m->size : (int64_t)m->size;
	t->device[row] = m->device > INT32_MAX ? -1 : (int32_t)m->device;
	t->corr[row] = m->corr;
	t->name[row] =
		assay_intern_z(&c->part->strings, m->op == ASSAY_WIRE_FREE ? "free" : "alloc");
	assay_capture_seen(c, m->time);
}

static void read_overhead(capture *c, const any_record *r, assay_str whole)
{
	(void)whole;
	uint32_t row = assay_capture_host(c, ASSAY_HOST_OVERHEAD, r->overhead.start,
					  r->overhead.end, assay_capture_text(c, r->overhead.name),
					  assay_capture_thread(c, &r->rec));
	c->part->t.other.cat[c->part->t.host.detail[row]] =
		assay_intern_z(&c->part->strings, "overhead");
}

static void read_scratch(capture *c, const any_record *r, assay_str whole)
{
	(void)whole;
	static const char *const names[] = {"scratch", "scratch alloc", "scratch free",
					    "scratch reclaim"};
	const assay_wire_scratch *s = &r->scratch;
	assay_sid name = assay_intern_z(&c->part->strings, names[s->op < 4 ? s->op : 0]);
	uint32_t row = assay_capture_host(c, ASSAY_HOST_OVERHEAD, s->start, s->end, name,
					  assay_capture_thread(c, &s->rec));
	char text[96];
	int n = snprintf(text, sizeof text,
			 "\"device\":%" PRId64 ",\"queue\":%" PRIu32 ",\"bytes\":%" PRIu64,
			 s->device == ASSAY_WIRE_NONE ? -1 : (int64_t)s->device, s->queue, s->size);
	c->part->t.host.args[row] = assay_intern(&c->part->strings, (assay_str){text, (size_t)n});
	c->part->t.other.cat[c->part->t.host.detail[row]] =
		assay_intern_z(&c->part->strings, "scratch");
}

/* Not in sync and event_record: those number events, and a wait on a finished event leaves no
 * barrier, so the calls with their handles stay the whole story. */
static void read_barrier(capture *c, const any_record *r, assay_str whole)
{
	(void)whole;
	const assay_wire_barrier *b = &r->barrier;
	bool waits = b->op == ASSAY_WIRE_BARRIER_WAIT;
	assay_mark_table *m = &c->part->t.mark;
	uint32_t track = stream_track(c, b->work.device, b->work.stream);
	uint32_t row = assay_add(&c->part->t, ASSAY_T_mark);
	char text[160];
	int n = snprintf(text, sizeof text,
			 "\"event\":\"0x%" PRIx64 "\",\"correlation\":%" PRIu64
			 ",\"queue\":%" PRIu32 ",\"source_queue\":%" PRIu32,
			 b->event, b->work.corr, b->queue, b->source_queue);
	m->ts[row] = b->work.start;
	m->dur[row] = length_of(c, b->work.start, b->work.end);
	m->name[row] = assay_intern_z(&c->part->strings, waits ? "event wait" : "event record");
	m->track[row] = track;
	m->args[row] = assay_intern(&c->part->strings, (assay_str){text, (size_t)n});
	assay_capture_seen(c, b->work.end);
}

/* ---- losses and ends ---- */

static void read_lost(capture *c, const any_record *r, assay_str whole)
{
	(void)whole;
	static const assay_issue issue[] = {
		[ASSAY_WIRE_LOST_RING] = ASSAY_ISSUE_lost_records,
		[ASSAY_WIRE_LOST_VENDOR] = ASSAY_ISSUE_lost_records,
		[ASSAY_WIRE_LOST_TAKEN] = ASSAY_ISSUE_lost_takeover,
		[ASSAY_WIRE_LOST_THREAD] = ASSAY_ISSUE_lost_records,
		[ASSAY_WIRE_LOST_INCOMPLETE] = ASSAY_ISSUE_lost_incomplete,
	};
	uint32_t why = r->lost.why >= 1 && r->lost.why <= ASSAY_WIRE_LOST_INCOMPLETE
			       ? r->lost.why
			       : ASSAY_WIRE_LOST_VENDOR;
	assay_count(c->part, issue[why], r->lost.count);
	assay_sid text = assay_capture_text(c, r->lost.text);
	if (text)
		assay_warn(c->run, "recorder", "%s", assay_z(c->run, text));
}

static void read_end(capture *c, const any_record *r, assay_str whole)
{
	(void)whole;
	assay_capture_seen(c, r->end.time);
	c->ended = true;
}

static void skip(capture *c, const any_record *r, assay_str whole)
{
	(void)c;
	(void)r;
	(void)whole;
}

/* What to do with a type, and the bytes its struct had in version 1.0. */
typedef struct record_type {
	void (*read)(capture *c, const any_record *r, assay_str whole);
	size_t least;
} record_type;

static const record_type types[] = {
	[ASSAY_WIRE_PAD] = {skip, sizeof(assay_wire_rec)},
	[ASSAY_WIRE_STRING] = {read_string, sizeof(assay_wire_string)},
	[ASSAY_WIRE_PROCESS] = {read_process, sizeof(assay_wire_process)},
	[ASSAY_WIRE_CLOCK] = {skip, sizeof(assay_wire_clock)},
	[ASSAY_WIRE_META] = {read_meta, sizeof(assay_wire_meta)},
	[ASSAY_WIRE_DEVICE] = {read_device, sizeof(assay_wire_device)},
	[ASSAY_WIRE_CONTEXT] = {read_context, sizeof(assay_wire_context)},
	[ASSAY_WIRE_STREAM] = {read_stream, sizeof(assay_wire_stream)},
	[ASSAY_WIRE_THREAD] = {read_thread, sizeof(assay_wire_thread)},
	[ASSAY_WIRE_API] = {read_api, ASSAY_WIRE_API_SHORT},
	[ASSAY_WIRE_API_NAME] = {read_api_name, sizeof(assay_wire_api_name)},
	[ASSAY_WIRE_KERNEL] = {read_kernel, sizeof(assay_wire_kernel)},
	[ASSAY_WIRE_COPY] = {read_copy, sizeof(assay_wire_copy)},
	[ASSAY_WIRE_SET] = {read_set, sizeof(assay_wire_set)},
	[ASSAY_WIRE_SYNC] = {read_sync, sizeof(assay_wire_sync)},
	[ASSAY_WIRE_EVENT] = {read_event, sizeof(assay_wire_event)},
	[ASSAY_WIRE_MEMORY] = {read_memory, sizeof(assay_wire_memory)},
	[ASSAY_WIRE_GRAPH] = {read_graph, sizeof(assay_wire_work)},
	[ASSAY_WIRE_OVERHEAD] = {read_overhead, sizeof(assay_wire_overhead)},
	[ASSAY_WIRE_RANGE] = {assay_capture_range, sizeof(assay_wire_range)},
	[ASSAY_WIRE_LOST] = {read_lost, sizeof(assay_wire_lost)},
	[ASSAY_WIRE_END] = {read_end, sizeof(assay_wire_end)},
	[ASSAY_WIRE_SCRATCH] = {read_scratch, sizeof(assay_wire_scratch)},
	[ASSAY_WIRE_BARRIER] = {read_barrier, sizeof(assay_wire_barrier)},
};
static_assert(sizeof types / sizeof *types == ASSAY_WIRE_TYPE_COUNT, "one row a record type");

/* ---- chunks ---- */

static void read_records(capture *c, assay_str payload)
{
	while (payload.n) {
		any_record r;
		assay_wire_rec head;
		if (payload.n < sizeof head)
			break;
		memcpy(&head, payload.p, sizeof head);
		if (head.bytes < sizeof head || head.bytes % ASSAY_WIRE_ALIGN ||
		    head.bytes > payload.n)
			break;
		assay_str whole = {payload.p, head.bytes};
		c->part->t.source.records[c->part->source]++;
		size_t known = head.bytes < sizeof r ? head.bytes : sizeof r;
		memcpy(&r, payload.p, known);
		memset((char *)&r + known, 0, sizeof r - known);
		if (head.type >= ASSAY_WIRE_TYPE_COUNT)
			assay_count(c->part, ASSAY_ISSUE_unknown_record, 1);
		else if (head.bytes < types[head.type].least)
			assay_count(c->part, ASSAY_ISSUE_bad_record, 1);
		else
			types[head.type].read(c, &r, whole);
		payload = (assay_str){payload.p + head.bytes, payload.n - head.bytes};
	}
	if (payload.n)
		assay_count(c->part, ASSAY_ISSUE_bad_record, 1);
}

/* False when this very chunk was read before: a death during a write makes it appear twice. */
static bool first_time(capture *c, const assay_wire_chunk *h)
{
	if (!h->ring)
		return true;
	uint64_t key[2] = {h->ring, h->pos};
	uint32_t *slot = assay_map_at(&c->chunks, assay_hash(key, sizeof key, h->pid));
	bool fresh = *slot == ASSAY_MAP_ABSENT;
	*slot = 1;
	return fresh;
}

static void read_chunk(capture *c, const assay_wire_chunk *h, assay_str payload)
{
	if (h->seq > c->next_seq && c->started)
		assay_count(c->part, ASSAY_ISSUE_damaged_chunk, h->seq - c->next_seq);
	if (h->seq >= c->next_seq)
		c->next_seq = h->seq + 1;
	c->tid = h->tid;
	c->ring = h->ring;
	assay_capture_ring(c);
	if (c->pid < 0)
		c->pid = h->pid;
	if (first_time(c, h))
		read_records(c, payload);
}

/* Where the next chunk may start, after `pos`; the view's end when there is none in it. */
static size_t find_magic(assay_view v, size_t from)
{
	for (size_t i = from; i + 4 <= v.n; i++) {
		const char *hit = memchr(v.p + i, 'A', v.n - 3 - i);
		if (!hit)
			break;
		i = (size_t)(hit - v.p);
		if (!memcmp(hit, "ASYC", 4))
			return i;
	}
	return v.n > 3 + from ? v.n - 3 : v.n;
}

/* Resolve what the vendor numbered: exact, whatever the order of delivery. */
static void join_waits(capture *c)
{
	const assay_event_record_table *e = &c->part->t.event_record;
	assay_sync_table *s = &c->part->t.sync;
	for (size_t i = c->first_sync; i < s->n; i++) {
		uint32_t row = s->sync_id[i] ? assay_map_get(&c->by_sync, s->sync_id[i])
					     : ASSAY_MAP_ABSENT;
		if (row == ASSAY_MAP_ABSENT)
			continue;
		s->wait_stream[i] = c->part->t.track.tid[e->track[row]];
		s->record_corr[i] = (int64_t)e->corr[row];
	}
}

/* Chunks of several threads come in any order, so the context of a call or stream may be told after
 * it. */
static void place_calls_and_streams(capture *c)
{
	assay_stream_table *s = &c->part->t.stream;
	for (size_t i = 0; i < c->placed.n; i++) {
		placed_call p = c->placed.p[i];
		int64_t device = device_of(c, p.context);
		if (device >= 0)
			c->part->t.event_call.place[p.row] =
				stream_track(c, (uint32_t)device, p.stream);
	}
	for (size_t i = c->first_stream; i < s->n; i++)
		if (s->device[i] < 0)
			s->device[i] = (int32_t)device_of(c, s->context[i]);
}

static void finish(capture *c)
{
	c->ring = 0;
	assay_capture_end_ranges(c);
	if (!c->ended)
		assay_count(c->part, ASSAY_ISSUE_no_end, 1);
	join_waits(c);
	place_calls_and_streams(c);
}

static void free_capture(capture *c)
{
	assay_map *maps[] = {&c->strings, &c->kernels,   &c->functions, &c->contexts,
			     &c->chunks,  &c->stacks,    &c->spans,     &c->by_sync,
			     &c->rings,   &c->last_ring, &c->streams};
	for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
		assay_map_free(maps[i]);
	assay_vec_free(&c->open);
	assay_vec_free(&c->placed);
	assay_vec_free(&c->ring_of);
	assay_arena_free(&c->scratch);
}

/* The chunk at pos, or how far to go on; damage is counted once a place. */
static uint64_t take_chunk(capture *c, assay_input *in, uint64_t pos, bool *lost_track)
{
	assay_view v = assay_input_view(in, pos, sizeof(assay_wire_chunk));
	assay_wire_chunk h;
	const char *bad = assay_wire_check(v.p, v.n);
	if (!bad) {
		memcpy(&h, v.p, sizeof h);
		size_t whole = (size_t)h.header_bytes + h.bytes;
		v = assay_input_view(in, pos, whole);
		if (v.n >= whole && assay_wire_sum(v.p + h.header_bytes, h.bytes) == h.sum) {
			read_chunk(c, &h, (assay_str){v.p + h.header_bytes, h.bytes});
			*lost_track = false;
			return pos + whole;
		}
	}
	if (!*lost_track)
		assay_count(c->part,
			    v.end && v.n < sizeof h ? ASSAY_ISSUE_truncated
						    : ASSAY_ISSUE_damaged_chunk,
			    1);
	*lost_track = true;
	return pos + (v.n > 1 ? find_magic(v, 1) : v.n);
}

static bool capture_read(assay_run *run, assay_input *in, assay_err *err)
{
	capture c = {.run = run,
		     .part = &run->part,
		     .pid = -1,
		     .last_context = ASSAY_WIRE_NONE,
		     .first_stream = (uint32_t)run->part.t.stream.n,
		     .first_sync = (uint32_t)run->part.t.sync.n};
	bool lost_track = false;
	for (uint64_t pos = 0;;) {
		assay_view v = assay_input_view(in, pos, 1);
		if (!v.n)
			break;
		pos = take_chunk(&c, in, pos, &lost_track);
		assay_input_drop(in, pos);
		if (run->progress)
			run->progress(run->progress_ctx, assay_input_path(in),
				      assay_input_file_pos(in), assay_input_file_bytes(in));
	}
	finish(&c);
	bool ok = c.next_seq > 0;
	free_capture(&c);
	if (!ok)
		return assay_fail(err, ASSAY_FORMAT, 0, "%s holds no whole chunk",
				  assay_input_path(in));
	return true;
}

static int capture_sniff(assay_str head)
{
	return head.n >= 8 && !memcmp(head.p, "ASYC", 4) ? 95 : 0;
}

const assay_reader assay_reader_capture = {
	.name = "capture",
	.about = "assay's own recording (.asy)",
	.sniff = capture_sniff,
	.read = capture_read,
};

/* ---- tests ---- */

typedef struct builder {
	char bytes[8192];
	size_t n;
	char payload[2048];
	size_t filled;
	uint32_t seq;
} builder;

static void put(builder *b, assay_wire_type type, void *record, size_t bytes, const char *text)
{
	assay_wire_rec *rec = record;
	size_t more = text ? strlen(text) : 0;
	rec->type = (uint16_t)type;
	rec->bytes = (uint16_t)assay_wire_round(bytes + more);
	memset(b->payload + b->filled, 0, rec->bytes);
	memcpy(b->payload + b->filled, record, bytes);
	if (more)
		memcpy(b->payload + b->filled + bytes, text, more);
	b->filled += rec->bytes;
}

static void put_string(builder *b, uint32_t id, const char *text)
{
	assay_wire_string s = {.id = id, .length = (uint32_t)strlen(text)};
	put(b, ASSAY_WIRE_STRING, &s, sizeof s, text);
}

static size_t put_chunk(builder *b, uint32_t ring, uint64_t pos)
{
	assay_wire_chunk h = {.ring = ring, .tid = 77, .pos = pos, .pid = 5, .seq = b->seq++};
	size_t at = b->n;
	assay_wire_seal(&h, b->payload, b->filled);
	memcpy(b->bytes + b->n, &h, sizeof h);
	memcpy(b->bytes + b->n + sizeof h, b->payload, b->filled);
	b->n += sizeof h + b->filled;
	b->filled = 0;
	return at;
}

static void put_mark(builder *b, int64_t time, const char *text)
{
	assay_wire_range g = {
		.time = time, .op = ASSAY_WIRE_RANGE_MARK, .length = (uint16_t)strlen(text)};
	put(b, ASSAY_WIRE_RANGE, &g, sizeof g, text);
}

static assay_run *read_bytes(const char *p, size_t n)
{
	assay_run *run = assay_run_new();
	assay_input *in = assay_input_memory(p, n);
	assay_err err = {0};
	if (!assay_read_input(run, in, &err))
		fprintf(stderr, "%s\n", err.text);
	assay_input_close(in);
	return run;
}

static void put_start(builder *b)
{
	put_string(b, 1, "cuda");
	assay_wire_process p = {.pid = 5, .start = 1000, .real = 5000, .recorder = 1};
	put(b, ASSAY_WIRE_PROCESS, &p, sizeof p, NULL);
	assay_wire_context x = {.id = 1, .device = 3, .null_stream = 7};
	put(b, ASSAY_WIRE_CONTEXT, &x, sizeof x, NULL);
	put_chunk(b, 0, 0);
}

TEST(waits_join_their_record_by_sync_id_in_any_order)
{
	builder b = {0};
	put_start(&b);
	assay_wire_sync s = {.start = 10,
			     .end = 20,
			     .corr = 9,
			     .event = 4,
			     .sync_id = 88,
			     .kind = ASSAY_WIRE_SYNC_STREAM_WAIT,
			     .context = 1,
			     .stream = 13};
	put(&b, ASSAY_WIRE_SYNC, &s, sizeof s, NULL);
	assay_wire_event e = {
		.corr = 6, .event = 4, .sync_id = 88, .device = 3, .context = 1, .stream = 21};
	put(&b, ASSAY_WIRE_EVENT, &e, sizeof e, NULL);
	put_chunk(&b, 0, 0);
	assay_run *run = read_bytes(b.bytes, b.n);
	const assay_tables *t = &run->part.t;
	CHECK_EQ(t->sync.n, 1);
	CHECK_EQ(t->sync.wait_stream[0], 21);
	CHECK_EQ(t->sync.record_corr[0], 6);
	CHECK_EQ(t->track.pid[t->sync.track[0]], 3);
	CHECK_EQ(t->track.tid[t->sync.track[0]], 13);
	CHECK_EQ(t->source.base[0], 4000);
	assay_run_free(run);
	return 0;
}

TEST(nested_ranges_pair_within_thread_and_domain)
{
	builder b = {0};
	put_start(&b);
	assay_wire_range g = {.time = 1, .op = ASSAY_WIRE_RANGE_PUSH, .length = 5};
	put(&b, ASSAY_WIRE_RANGE, &g, sizeof g, "outer");
	g.time = 2;
	put(&b, ASSAY_WIRE_RANGE, &g, sizeof g, "inner");
	assay_wire_range p = {.time = 3, .op = ASSAY_WIRE_RANGE_POP};
	put(&b, ASSAY_WIRE_RANGE, &p, sizeof p, NULL);
	p.time = 9;
	put(&b, ASSAY_WIRE_RANGE, &p, sizeof p, NULL);
	put(&b, ASSAY_WIRE_RANGE, &p, sizeof p, NULL);
	put_chunk(&b, 1, 0);
	assay_run *run = read_bytes(b.bytes, b.n);
	const assay_host_table *h = &run->part.t.host;
	CHECK_EQ(h->n, 2);
	CHECK(!strcmp(assay_z(run, h->name[0]), "inner") && h->ts[0] == 2 && h->dur[0] == 1);
	CHECK(!strcmp(assay_z(run, h->name[1]), "outer") && h->ts[1] == 1 && h->dur[1] == 8);
	CHECK_EQ(run->part.t.track.tid[h->track[0]], 77);
	CHECK_EQ(run->part.issues[ASSAY_ISSUE_unmatched_end], 1);
	assay_run_free(run);
	return 0;
}

static void put_range(builder *b, uint16_t op, int64_t time, uint64_t id, uint32_t domain,
		      const char *text)
{
	assay_wire_range g = {.time = time,
			      .id = id,
			      .op = op,
			      .domain = domain,
			      .length = (uint16_t)(text ? strlen(text) : 0)};
	put(b, ASSAY_WIRE_RANGE, &g, sizeof g, text);
}

static uint32_t host_named(const assay_run *run, const char *name)
{
	const assay_host_table *h = &run->part.t.host;
	for (uint32_t i = 0; i < h->n; i++)
		if (!strcmp(assay_z(run, h->name[i]), name))
			return i;
	return ASSAY_NO_ROW;
}

TEST(a_pop_of_one_domain_leaves_the_others_open)
{
	builder b = {0};
	put_start(&b);
	put_string(&b, 2, "one");
	put_string(&b, 3, "two");
	put_chunk(&b, 0, 0);
	put_range(&b, ASSAY_WIRE_RANGE_PUSH, 1, 0, 2, "a");
	put_range(&b, ASSAY_WIRE_RANGE_PUSH, 2, 0, 3, "b");
	put_range(&b, ASSAY_WIRE_RANGE_POP, 5, 0, 2, NULL);
	put_range(&b, ASSAY_WIRE_RANGE_POP, 6, 0, 2, NULL); /* nothing of this domain is open */
	put_range(&b, ASSAY_WIRE_RANGE_POP, 9, 0, 3, NULL);
	put_chunk(&b, 1, 0);
	assay_run *run = read_bytes(b.bytes, b.n);
	const assay_host_table *h = &run->part.t.host;
	uint32_t one = host_named(run, "a"), two = host_named(run, "b");
	CHECK(h->n == 2 && h->dur[one] == 4 && h->dur[two] == 7);
	CHECK(strstr(assay_z(run, h->args[two]), "\"domain\": \"two\""));
	CHECK_EQ(run->part.issues[ASSAY_ISSUE_unmatched_end], 1);
	assay_run_free(run);
	return 0;
}

TEST(started_ranges_cross_threads_and_leave_the_stack_alone)
{
	builder b = {0};
	put_start(&b);
	put_range(&b, ASSAY_WIRE_RANGE_PUSH, 1, 0, 0, "push");
	put_range(&b, ASSAY_WIRE_RANGE_START, 2, 8, 0, "start");
	put_range(&b, ASSAY_WIRE_RANGE_POP, 3, 0, 0, NULL);
	put_range(&b, ASSAY_WIRE_RANGE_END, 4, 99, 0, NULL); /* never started */
	put_chunk(&b, 1, 0);
	assay_wire_range end = {.time = 7, .op = ASSAY_WIRE_RANGE_END, .id = 8};
	end.rec.thread = 78;
	put(&b, ASSAY_WIRE_RANGE, &end, sizeof end, NULL);
	put_chunk(&b, 2, 0);
	assay_run *run = read_bytes(b.bytes, b.n);
	const assay_host_table *h = &run->part.t.host;
	uint32_t push = host_named(run, "push"), start = host_named(run, "start");
	CHECK(h->n == 2 && h->kind[push] == ASSAY_HOST_MARKER && h->dur[push] == 2);
	CHECK(h->kind[start] == ASSAY_HOST_PROCESS_RANGE && h->dur[start] == 5);
	CHECK_EQ(run->part.t.track.tid[h->track[start]], 77);
	CHECK(strstr(assay_z(run, h->args[start]), "\"end_thread\": 78"));
	CHECK_EQ(run->part.issues[ASSAY_ISSUE_unmatched_end], 1);
	assay_run_free(run);
	return 0;
}

TEST(a_range_left_open_ends_with_the_recording)
{
	builder b = {0};
	put_start(&b);
	put_range(&b, ASSAY_WIRE_RANGE_PUSH, 10, 0, 0, "pushed");
	put_range(&b, ASSAY_WIRE_RANGE_START, 20, 5, 0, "started");
	put_mark(&b, 90, "last");
	put_chunk(&b, 1, 0);
	assay_run *run = read_bytes(b.bytes, b.n);
	const assay_host_table *h = &run->part.t.host;
	uint32_t pushed = host_named(run, "pushed"), started = host_named(run, "started");
	CHECK(h->dur[pushed] == 80 && h->dur[started] == 70);
	CHECK(strstr(assay_z(run, h->args[pushed]), "\"open_end\": true"));
	CHECK_EQ(run->part.issues[ASSAY_ISSUE_unmatched_begin], 2);
	assay_run_free(run);
	return 0;
}

TEST(a_thread_number_used_again_pops_nothing_of_the_thread_before)
{
	builder b = {0};
	put_start(&b);
	put_range(&b, ASSAY_WIRE_RANGE_PUSH, 10, 0, 0, "old");
	put_mark(&b, 30, "last of old");
	put_chunk(&b, 1, 0);
	put_range(&b, ASSAY_WIRE_RANGE_PUSH, 50, 0, 0, "new");
	put_range(&b, ASSAY_WIRE_RANGE_POP, 60, 0, 0, NULL);
	put_range(&b, ASSAY_WIRE_RANGE_POP, 70, 0, 0, NULL);
	put_chunk(&b, 2, 0); /* another ring with the same thread number */
	assay_run *run = read_bytes(b.bytes, b.n);
	const assay_host_table *h = &run->part.t.host;
	uint32_t old = host_named(run, "old"), new = host_named(run, "new");
	CHECK(h->dur[old] == 20 && h->dur[new] == 10); /* it ended with its thread */
	CHECK_EQ(run->part.issues[ASSAY_ISSUE_unmatched_begin], 1);
	CHECK_EQ(run->part.issues[ASSAY_ISSUE_unmatched_end], 1);
	assay_run_free(run);
	return 0;
}

TEST(chunks_around_a_damaged_one_are_kept)
{
	builder b = {0};
	put_start(&b);
	size_t at[3];
	for (int i = 0; i < 3; i++) {
		put_mark(&b, i, "mark");
		at[i] = put_chunk(&b, 1, (uint64_t)i);
	}
	b.bytes[at[1] + 70] ^= 1;
	assay_run *run = read_bytes(b.bytes, b.n);
	CHECK_EQ(run->part.t.host.n, 2);
	CHECK_EQ(run->part.issues[ASSAY_ISSUE_damaged_chunk], 2); /* found broken, and missing */
	assay_run_free(run);
	return 0;
}

TEST(a_capture_cut_anywhere_keeps_whole_chunks)
{
	builder b = {0};
	put_start(&b);
	size_t first = b.n;
	put_mark(&b, 1, "one");
	put_chunk(&b, 1, 0);
	size_t second = b.n;
	put_mark(&b, 2, "two");
	put_chunk(&b, 1, 64);
	for (size_t n = first; n < b.n; n++) {
		assay_run *run = read_bytes(b.bytes, n);
		CHECK_EQ(run->part.t.host.n, n >= second ? 1 : 0);
		assay_run_free(run);
	}
	return 0;
}

TEST(a_chunk_written_twice_counts_once)
{
	builder b = {0};
	put_start(&b);
	for (int i = 0; i < 2; i++) {
		put_mark(&b, 1, "same");
		put_chunk(&b, 4, 128);
	}
	assay_run *run = read_bytes(b.bytes, b.n);
	CHECK_EQ(run->part.t.host.n, 1);
	assay_run_free(run);
	return 0;
}

TEST(records_of_a_newer_version_are_stepped_over)
{
	builder b = {0};
	put_start(&b);
	struct {
		assay_wire_end end;
		uint64_t more[4];
	} longer = {{.time = 5}, {1, 2, 3, 4}};
	put(&b, (assay_wire_type)999, &longer, sizeof longer, NULL);
	put(&b, ASSAY_WIRE_END, &longer, sizeof longer, NULL);
	put_chunk(&b, 0, 0);
	assay_run *run = read_bytes(b.bytes, b.n);
	CHECK_EQ(run->part.issues[ASSAY_ISSUE_unknown_record], 1);
	CHECK_EQ(run->part.issues[ASSAY_ISSUE_no_end], 0);
	CHECK_EQ(run->part.issues[ASSAY_ISSUE_bad_record], 0);
	assay_run_free(run);
	return 0;
}

TEST(short_records_are_counted_not_believed)
{
	builder b = {0};
	put_start(&b);
	assay_wire_rec r = {0};
	put(&b, ASSAY_WIRE_KERNEL, &r, sizeof r, NULL);
	put_mark(&b, 1, "after");
	put_chunk(&b, 0, 0);
	assay_run *run = read_bytes(b.bytes, b.n);
	CHECK_EQ(run->part.issues[ASSAY_ISSUE_bad_record], 1);
	CHECK_EQ(run->part.t.host.n, 1);
	CHECK_EQ(run->part.t.gpu.n, 0);
	assay_run_free(run);
	return 0;
}

TEST(the_default_stream_is_a_handle_and_work_is_no_event_call)
{
	builder b = {0};
	put_start(&b);
	assay_wire_api a = {.start = 1,
			    .end = 2,
			    .corr = 3,
			    .domain = ASSAY_WIRE_RUNTIME,
			    .given =
				    ASSAY_WIRE_GIVEN | ASSAY_WIRE_GIVES_STREAM | ASSAY_WIRE_ORDERS};
	put(&b, ASSAY_WIRE_API, &a, sizeof a, NULL);
	a.given = ASSAY_WIRE_GIVEN | ASSAY_WIRE_GIVES_STREAM;
	a.stream = 0x1000;
	put(&b, ASSAY_WIRE_API, &a, sizeof a, NULL);
	put_chunk(&b, 1, 0);
	assay_run *run = read_bytes(b.bytes, b.n);
	CHECK_EQ(run->part.t.host.n, 2);
	CHECK_EQ(run->part.t.event_call.n, 1);
	CHECK_EQ(run->part.t.event_call.stream[0], 0);
	assay_run_free(run);
	return 0;
}

TEST(barriers_are_marks_and_scratch_is_overhead)
{
	builder b = {0};
	put_start(&b);
	assay_wire_barrier w = {
		.work = {.start = 10, .end = 30, .corr = 5, .device = 1, .stream = 2},
		.event = 0xabc,
		.queue = 7,
		.source_queue = 8,
		.op = ASSAY_WIRE_BARRIER_WAIT};
	put(&b, ASSAY_WIRE_BARRIER, &w, sizeof w, NULL);
	assay_wire_scratch s = {.start = 40, .end = 90, .size = 64, .op = ASSAY_WIRE_SCRATCH_FREE};
	put(&b, ASSAY_WIRE_SCRATCH, &s, sizeof s, NULL);
	put_chunk(&b, 0, 0);
	assay_run *run = read_bytes(b.bytes, b.n);
	const assay_tables *t = &run->part.t;
	CHECK_EQ(t->mark.n, 1);
	CHECK(!strcmp(assay_z(run, t->mark.name[0]), "event wait") && t->mark.dur[0] == 20);
	CHECK(strstr(assay_z(run, t->mark.args[0]), "\"source_queue\":8"));
	CHECK_EQ(t->track.tid[t->mark.track[0]], 2);
	CHECK_EQ(t->host.n, 1);
	CHECK(!strcmp(assay_z(run, t->host.name[0]), "scratch free") && t->host.dur[0] == 50);
	assay_run_free(run);
	return 0;
}
