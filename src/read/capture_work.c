/* GPU work of a capture, and what orders it, to rows. */
#include "read/capture.h"

#include "base/demangle.h"
#include "names/syncs.h"
#include "read/copy_name.h"
#include "read/rocprof.h"

assay_sid assay_capture_kernel_name(capture *c, uint32_t id)
{
	uint32_t *slot = assay_map_at(&c->kernels, id);
	if (*slot != ASSAY_MAP_ABSENT)
		return *slot;
	assay_str symbol = assay_pool_get(&c->part->strings, assay_capture_text(c, id));
	*slot = assay_intern(&c->part->strings, assay_demangle(&c->scratch, symbol));
	return *slot;
}

static_assert(ASSAY_MAP_ABSENT == ASSAY_WIRE_NONE, "a context not told of is on no device");
static uint32_t device_of(const capture *c, uint32_t context)
{
	return assay_map_get(&c->contexts, context);
}

static uint32_t stream_track(capture *c, uint32_t device, uint32_t stream)
{
	return assay_stream_track(c->part, device == ASSAY_WIRE_NONE ? -1 : (int64_t)device,
				  stream == ASSAY_WIRE_NONE ? -1 : (int64_t)stream);
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
	g->dur[row] = assay_capture_length(c, w->start, w->end);
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

void assay_capture_kernel(capture *c, const any_record *r)
{
	const assay_wire_kernel *k = &r->kernel;
	uint32_t row =
		add_gpu(c, ASSAY_GPU_KERNEL, &k->work, assay_capture_kernel_name(c, k->name));
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

void assay_capture_copy(capture *c, const any_record *r)
{
	const assay_wire_copy *k = &r->copy;
	assay_sid name = assay_copy_name(&c->part->strings, k->kind, k->from, k->to);
	uint32_t row = add_gpu(c, ASSAY_GPU_MEMCPY, &r->copy.work, name);
	if (r->copy.size <= INT64_MAX)
		c->part->t.gpu.bytes[row] = (int64_t)r->copy.size;
}

void assay_capture_set(capture *c, const any_record *r)
{
	assay_sid name = assay_memset_name(&c->part->strings, r->set.memory);
	uint32_t row = add_gpu(c, ASSAY_GPU_MEMSET, &r->set.work, name);
	if (r->set.size <= INT64_MAX)
		c->part->t.gpu.bytes[row] = (int64_t)r->set.size;
}

void assay_capture_graph(capture *c, const any_record *r)
{
	add_gpu(c, ASSAY_GPU_KERNEL, &r->work, assay_intern_z(&c->part->strings, "graph launch"));
}

static_assert((int)ASSAY_WIRE_SYNC_EVENT == ASSAY_SYNC_EVENT &&
		      (int)ASSAY_WIRE_SYNC_CONTEXT == ASSAY_SYNC_CONTEXT,
	      "captures number waits as CUPTI does");

void assay_capture_sync(capture *c, const any_record *r)
{
	const assay_wire_sync *s = &r->sync;
	assay_sync_table *t = &c->part->t.sync;
	uint32_t track = stream_track(c, device_of(c, s->context), s->stream);
	uint32_t row = assay_add(&c->part->t, ASSAY_T_sync);
	t->ts[row] = s->start;
	t->dur[row] = assay_capture_length(c, s->start, s->end);
	t->name[row] = assay_intern_z(&c->part->strings,
				      assay_sync_name[s->kind < ASSAY_SYNC_COUNT ? s->kind : 0]);
	t->track[row] = track;
	t->corr[row] = s->corr;
	if (s->event <= INT64_MAX)
		t->event[row] = (int64_t)s->event;
	t->sync_id[row] = s->sync_id;
	t->context[row] = s->context;
	t->status[row] = s->status;
	assay_capture_seen(c, s->end);
}

void assay_capture_event(capture *c, const any_record *r)
{
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

/* Not in sync and event_record: those number events, and a wait on a finished event leaves no
 * barrier, so the calls with their handles stay the whole story. */
void assay_capture_barrier(capture *c, const any_record *r)
{
	const assay_wire_barrier *b = &r->barrier;
	bool waits = b->op == ASSAY_WIRE_BARRIER_WAIT;
	assay_rocprof_add_barrier(
		c->part, &(assay_rocprof_barrier){
				 .ts = b->work.start,
				 .dur = assay_capture_length(c, b->work.start, b->work.end),
				 .queue = b->queue,
				 .source_queue = b->source_queue,
				 .event = b->event,
				 .corr = b->work.corr,
				 .track = stream_track(c, b->work.device, b->work.stream),
				 .name = assay_intern_z(&c->part->strings,
							waits ? "event wait" : "event record"),
				 .waits = waits,
			 });
	assay_capture_seen(c, b->work.end);
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
		uint32_t device = device_of(c, p.context);
		if (device != ASSAY_WIRE_NONE)
			c->part->t.event_call.place[p.row] = stream_track(c, device, p.stream);
	}
	for (size_t i = c->first_stream; i < s->n; i++)
		if (s->device[i] < 0)
			s->device[i] = (int32_t)device_of(c, s->context[i]);
}

void assay_capture_join(capture *c)
{
	join_waits(c);
	place_calls_and_streams(c);
}
