/* Records of a capture to rows; GPU work and ranges have files of their own. */
#include "base/num.h"
#include "read/capture.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- ids ---- */

assay_sid assay_capture_text(const capture *c, uint32_t id)
{
	uint32_t sid = assay_map_get(&c->strings, id);
	return sid == ASSAY_MAP_ABSENT ? 0 : sid;
}

uint32_t assay_capture_thread(capture *c, const assay_wire_rec *rec)
{
	return assay_thread_track(c->part, c->pid, rec->thread ? rec->thread : c->tid);
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
int64_t assay_capture_length(capture *c, int64_t start, int64_t end)
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

/* ---- records ---- */

static void read_string(capture *c, const any_record *r)
{
	size_t room = c->record.n - sizeof r->string;
	size_t n = r->string.length < room ? r->string.length : room;
	assay_str text = {c->record.p + sizeof r->string, n};
	*assay_map_at(&c->strings, r->string.id) = assay_intern(&c->part->strings, text);
}

static void add_meta(capture *c, const char *key, assay_sid value)
{
	if (value)
		assay_meta_add(c->part, key, assay_pool_get(&c->part->strings, value));
}

static void read_process(capture *c, const any_record *r)
{
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

static void read_meta(capture *c, const any_record *r)
{
	assay_str key = assay_pool_get(&c->part->strings, assay_capture_text(c, r->meta.key));
	assay_str value = assay_pool_get(&c->part->strings, assay_capture_text(c, r->meta.value));
	if (!key.n)
		return;
	assay_meta_add(c->part, key.p, value);
}

static void read_device(capture *c, const any_record *r)
{
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

static void read_context(capture *c, const any_record *r)
{
	if (r->context.device != ASSAY_WIRE_NONE)
		*assay_map_at(&c->contexts, r->context.id) = r->context.device;
}

/* A stream is told when it is made, when the vendor takes stock, and when it is destroyed; each
 * telling completes the row of the first. */
static void read_stream(capture *c, const any_record *r)
{
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

static void read_thread(capture *c, const any_record *r)
{
	uint32_t track = assay_capture_thread(c, &r->rec);
	c->part->t.track.name[track] = assay_capture_text(c, r->thread.name);
}

static void read_api_name(capture *c, const any_record *r)
{
	uint64_t key = (uint64_t)r->api_name.domain << 32 | r->api_name.function;
	*assay_map_at(&c->functions, key) = assay_capture_text(c, r->api_name.name);
}

assay_sid assay_capture_function(capture *c, uint16_t domain, uint32_t function)
{
	uint32_t *slot = assay_map_at(&c->functions, (uint64_t)domain << 32 | function);
	char text[48];
	if (*slot == ASSAY_MAP_ABSENT || !*slot) {
		int n = snprintf(text, sizeof text, "%s call %" PRIu32,
				 domain == ASSAY_WIRE_DRIVER ? "driver"
				 : domain == ASSAY_WIRE_BLAS ? "blas"
							     : "runtime",
				 function);
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
	h->dur[row] = assay_capture_length(c, start, end);
	h->name[row] = name;
	h->track[row] = track;
	h->kind[row] = (uint8_t)kind;
	h->detail[row] = assay_add(&c->part->t, assay_host_detail[kind]);
	assay_capture_seen(c, end);
	return row;
}

static uint32_t add_call(capture *c, const assay_wire_api *a, assay_sid name, uint32_t track)
{
	assay_host_kind kind =
		a->domain == ASSAY_WIRE_DRIVER ? ASSAY_HOST_DRIVER : ASSAY_HOST_RUNTIME;
	uint32_t row = assay_capture_host(c, kind, a->start, a->end, name, track);
	uint32_t detail = c->part->t.host.detail[row];
	c->part->t.api.corr[detail] = a->corr;
	c->part->t.api.cbid[detail] = a->function;
	c->part->t.api.status[detail] = a->status;
	c->part->t.api.stack[detail] = assay_capture_stack_row(c, a->stack);
	return row;
}

static void read_api(capture *c, const any_record *r)
{
	const assay_wire_api *a = &r->api;
	uint32_t track = assay_capture_thread(c, &a->rec);
	assay_sid name = assay_capture_function(c, a->domain, a->function);
	bool part = c->record.n >= ASSAY_WIRE_API_ARGS && a->given & ASSAY_WIRE_PART;
	uint32_t row = part ? ASSAY_NO_ROW : add_call(c, a, name, track);
	if (c->run->open_ends && !part && !a->status)
		assay_capture_launch(c, a, row);
	if (c->record.n < ASSAY_WIRE_API_ARGS || (a->given && !(a->given & ASSAY_WIRE_ORDERS)))
		return;
	assay_event_call_table *t = &c->part->t.event_call;
	uint32_t e = assay_add(&c->part->t, ASSAY_T_event_call);
	t->ts[e] = a->start;
	t->dur[e] = part ? 0 : c->part->t.host.dur[row];
	t->name[e] = name;
	t->track[e] = track;
	t->corr[e] = a->corr;
	t->stream[e] = a->stream;
	t->event[e] = a->event;
	t->arg[e] = a->arg[0];
	t->more[e] = a->arg[1];
	t->status[e] = a->status;
	if (c->record.n >= sizeof *a && a->given & ASSAY_WIRE_PLACED)
		*assay_push(&c->placed) = (placed_call){e, a->context, a->stream_id};
}

/* CUpti_ActivityMemoryKind: pageable or pinned. */
static bool is_host_memory(uint8_t kind)
{
	return kind == 1 || kind == 2;
}

static void read_memory(capture *c, const any_record *r)
{
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
	t->device[row] = m->device > INT32_MAX || is_host_memory(m->kind) ? -1 : (int32_t)m->device;
	t->corr[row] = m->corr;
	t->name[row] =
		assay_intern_z(&c->part->strings, m->op == ASSAY_WIRE_FREE ? "free" : "alloc");
	assay_capture_seen(c, m->time);
}

static void read_overhead(capture *c, const any_record *r)
{
	uint32_t row = assay_capture_host(c, ASSAY_HOST_OVERHEAD, r->overhead.start,
					  r->overhead.end, assay_capture_text(c, r->overhead.name),
					  assay_capture_thread(c, &r->rec));
	c->part->t.other.cat[c->part->t.host.detail[row]] =
		assay_intern_z(&c->part->strings, "overhead");
}

static void read_scratch(capture *c, const any_record *r)
{
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

static void read_lost(capture *c, const any_record *r)
{
	static const assay_issue issue[] = {
		[ASSAY_WIRE_LOST_RING] = ASSAY_ISSUE_lost_records,
		[ASSAY_WIRE_LOST_VENDOR] = ASSAY_ISSUE_lost_records,
		[ASSAY_WIRE_LOST_TAKEN] = ASSAY_ISSUE_lost_takeover,
		[ASSAY_WIRE_LOST_THREAD] = ASSAY_ISSUE_lost_records,
		[ASSAY_WIRE_LOST_INCOMPLETE] = ASSAY_ISSUE_lost_incomplete,
		[ASSAY_WIRE_LOST_DAMAGED] = ASSAY_ISSUE_lost_records,
		[ASSAY_WIRE_LOST_SAMPLES] = ASSAY_ISSUE_lost_samples,
		[ASSAY_WIRE_LOST_STALLED] = ASSAY_ISSUE_lost_records,
	};
	uint32_t why = r->lost.why >= 1 && r->lost.why <= ASSAY_WIRE_LOST_STALLED
			       ? r->lost.why
			       : ASSAY_WIRE_LOST_VENDOR;
	bool by_kind = why == ASSAY_WIRE_LOST_RING || why == ASSAY_WIRE_LOST_THREAD ||
		       why == ASSAY_WIRE_LOST_STALLED; /* TALLY tells these, too */
	assay_count(c->part, issue[why], r->lost.count);
	c->lost = true;
	if (!by_kind)
		assay_capture_loss(c, why, r->lost.count, r->lost.first);
	assay_sid text = assay_capture_text(c, r->lost.text);
	if (text)
		assay_warn(c->run, "recorder", "%s", assay_z(c->run, text));
}

static void read_end(capture *c, const any_record *r)
{
	assay_capture_seen(c, r->end.time);
	c->ended = true;
}

/* A slew moves both clocks alike; only a step moves them apart. */
static void read_clock(capture *c, const any_record *r)
{
	enum { SLACK_NS = 2000000 }; /* of readings that were interrupted */
	int64_t offset = assay_wrap_sub(r->clock.real, r->clock.boot);
	int64_t step = assay_wrap_sub(offset, c->clock_offset);
	if (c->clock_at && (step > SLACK_NS || step < -SLACK_NS))
		assay_warn(
			c->run, "clock",
			"the wall clock was set by %.3f s while recording: times are of the clock since boot and go on, dates before that are of the new one",
			(double)step / 1e9);
	c->clock_offset = offset;
	c->clock_at = r->clock.boot;
}

static void skip(capture *c, const any_record *r)
{
	(void)c;
	(void)r;
}

/* What to do with a type, and the bytes its struct had in version 1.0. */
typedef struct record_type {
	assay_capture_reader *read;
	size_t least;
} record_type;

static const record_type types[] = {
	[ASSAY_WIRE_PAD] = {skip, sizeof(assay_wire_rec)},
	[ASSAY_WIRE_STRING] = {read_string, sizeof(assay_wire_string)},
	[ASSAY_WIRE_PROCESS] = {read_process, sizeof(assay_wire_process)},
	[ASSAY_WIRE_CLOCK] = {read_clock, sizeof(assay_wire_clock)},
	[ASSAY_WIRE_META] = {read_meta, sizeof(assay_wire_meta)},
	[ASSAY_WIRE_DEVICE] = {read_device, sizeof(assay_wire_device)},
	[ASSAY_WIRE_CONTEXT] = {read_context, sizeof(assay_wire_context)},
	[ASSAY_WIRE_STREAM] = {read_stream, sizeof(assay_wire_stream)},
	[ASSAY_WIRE_THREAD] = {read_thread, sizeof(assay_wire_thread)},
	[ASSAY_WIRE_API] = {read_api, ASSAY_WIRE_API_SHORT},
	[ASSAY_WIRE_API_NAME] = {read_api_name, sizeof(assay_wire_api_name)},
	[ASSAY_WIRE_KERNEL] = {assay_capture_kernel, sizeof(assay_wire_kernel)},
	[ASSAY_WIRE_COPY] = {assay_capture_copy, sizeof(assay_wire_copy)},
	[ASSAY_WIRE_SET] = {assay_capture_set, sizeof(assay_wire_set)},
	[ASSAY_WIRE_SYNC] = {assay_capture_sync, sizeof(assay_wire_sync)},
	[ASSAY_WIRE_EVENT] = {assay_capture_event, sizeof(assay_wire_event)},
	[ASSAY_WIRE_MEMORY] = {read_memory, sizeof(assay_wire_memory)},
	[ASSAY_WIRE_GRAPH] = {assay_capture_graph, sizeof(assay_wire_work)},
	[ASSAY_WIRE_OVERHEAD] = {read_overhead, sizeof(assay_wire_overhead)},
	[ASSAY_WIRE_RANGE] = {assay_capture_range, sizeof(assay_wire_range)},
	[ASSAY_WIRE_LOST] = {read_lost, sizeof(assay_wire_lost)},
	[ASSAY_WIRE_END] = {read_end, sizeof(assay_wire_end)},
	[ASSAY_WIRE_SCRATCH] = {read_scratch, sizeof(assay_wire_scratch)},
	[ASSAY_WIRE_BARRIER] = {assay_capture_barrier, sizeof(assay_wire_barrier)},
	[ASSAY_WIRE_CODE] = {assay_capture_code, sizeof(assay_wire_code)},
	[ASSAY_WIRE_STACK] = {assay_capture_stack, sizeof(assay_wire_stack)},
	[ASSAY_WIRE_SAMPLE] = {assay_capture_sample, sizeof(assay_wire_sample)},
	[ASSAY_WIRE_TALLY] = {assay_capture_tally, sizeof(assay_wire_tally)},
	[ASSAY_WIRE_DEATH] = {assay_capture_death, sizeof(assay_wire_death)},
	[ASSAY_WIRE_PRODUCT] = {assay_capture_product, sizeof(assay_wire_product)},
	[ASSAY_WIRE_SWITCH] = {assay_capture_switch, sizeof(assay_wire_switch)},
	[ASSAY_WIRE_OPEN] = {assay_capture_open, sizeof(assay_wire_open)},
	[ASSAY_WIRE_SYMBOL] = {assay_capture_symbol, sizeof(assay_wire_symbol)},
	[ASSAY_WIRE_FUNCTION] = {assay_capture_native_name, sizeof(assay_wire_function)},
};
static_assert(ASSAY_COUNT_OF(types) == ASSAY_WIRE_TYPE_COUNT, "one row a record type");

/* GPU work is handed over after it ran: some of a stretch whose other records were not kept. */
static bool ran_unkept(const capture *c, const any_record *r)
{
	uint16_t type = r->rec.type;
	return c->cut && r->work.end <= c->kept_from &&
	       (type == ASSAY_WIRE_KERNEL || type == ASSAY_WIRE_COPY || type == ASSAY_WIRE_SET ||
		type == ASSAY_WIRE_GRAPH || type == ASSAY_WIRE_BARRIER);
}

void assay_capture_records(capture *c, assay_str payload)
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
		c->record = (assay_str){payload.p, head.bytes};
		c->part->t.source.records[c->part->source]++;
		size_t known = head.bytes < sizeof r ? head.bytes : sizeof r;
		memcpy(&r, payload.p, known);
		memset((char *)&r + known, 0, sizeof r - known);
		if (head.type >= ASSAY_WIRE_TYPE_COUNT || !types[head.type].read)
			assay_count(c->part, ASSAY_ISSUE_unknown_record, 1);
		else if (head.bytes < types[head.type].least)
			assay_count(c->part, ASSAY_ISSUE_bad_record, 1);
		else {
			c->counts[head.type]++;
			if (!ran_unkept(c, &r))
				types[head.type].read(c, &r);
		}
		payload = (assay_str){payload.p + head.bytes, payload.n - head.bytes};
	}
	if (payload.n)
		assay_count(c->part, ASSAY_ISSUE_bad_record, 1);
}
