/* What our writer puts beside work and spans: waits, annotations, telemetry, memory and looks
 * at threads. */
#include "base/num.h"
#include "read/xplane.h"

static uint8_t class_of(const xplane_event *ev)
{
	for (uint8_t i = 0; i < ASSAY_WAIT_CLASS_COUNT; i++)
		if (assay_str_is(ev->stat[XPLANE_CLASS].text, assay_wait_class_name[i]))
			return i;
	return ASSAY_NO_CLASS;
}

static void add_sync(xplane *x, const xplane_event *ev)
{
	uint32_t track =
		assay_stream_track(x->part, x->plane->id, xplane_number(ev, XPLANE_STREAM, -1));
	uint32_t r = assay_add(&x->part->t, ASSAY_T_sync);
	assay_sync_table *t = &x->part->t.sync;
	int64_t status = xplane_number(ev, XPLANE_STATUS, t->status[r]);
	t->ts[r] = ev->ts;
	t->dur[r] = ev->dur;
	t->name[r] = ev->name;
	t->track[r] = track;
	t->corr[r] = (uint64_t)xplane_number(ev, XPLANE_CORR, 0);
	t->wait_stream[r] = xplane_number(ev, XPLANE_WAIT_STREAM, -1);
	t->event[r] = xplane_number(ev, XPLANE_WAIT_EVENT, -1);
	t->record_corr[r] = xplane_number(ev, XPLANE_RECORD_CORR, -1);
	t->context[r] = xplane_context(ev);
	t->sync_id[r] = (uint64_t)xplane_number(ev, XPLANE_SYNC_ID, 0);
	if (status >= INT32_MIN && status <= INT32_MAX)
		t->status[r] = (int32_t)status;
	t->class[r] = class_of(ev);
	t->found[r] = xplane_number(ev, XPLANE_FOUND, 0) != 0;
	t->args[r] = ev->args;
	if (ev->rest.n)
		xplane_keep(x, x->plane->place, ASSAY_KEPT_SYNC, r, ev->rest);
}

static void add_mark(xplane *x, const xplane_event *ev)
{
	uint32_t track =
		assay_stream_track(x->part, x->plane->id, xplane_number(ev, XPLANE_STREAM, -1));
	uint32_t r = assay_add(&x->part->t, ASSAY_T_mark);
	assay_mark_table *t = &x->part->t.mark;
	int64_t external = xplane_number(ev, XPLANE_EXTERNAL, 0);
	t->ts[r] = ev->ts;
	t->dur[r] = ev->dur;
	t->name[r] = ev->name;
	t->track[r] = track;
	t->external[r] = external > 0 && external <= UINT32_MAX ? (uint32_t)external : 0;
	t->args[r] = ev->args;
	/* also without a rest: the place tells it from marks on the stream's own line */
	xplane_keep(x, x->plane->place, ASSAY_KEPT_MARK, r, ev->rest);
}

/* The device of an allocator's name. */
static int32_t device_of(assay_str allocator)
{
	size_t head = sizeof XPLANE_GPU_MEMORY - 1;
	int64_t n;
	bool known = assay_str_starts(allocator, XPLANE_GPU_MEMORY) &&
		     assay_str_i64((assay_str){allocator.p + head, allocator.n - head}, &n) &&
		     n >= 0 && n <= INT32_MAX;
	return known ? (int32_t)n : -1;
}

/* The thread that an event says it is of. */
static uint32_t thread_of(xplane *x, const xplane_event *ev)
{
	uint32_t source = x->part->source;
	xplane_thread t = xplane_thread_of(x, xplane_number(ev, XPLANE_PROCESS, -1),
					   xplane_number(ev, XPLANE_THREAD, -1));
	x->part->source = t.source;
	uint32_t track = assay_track(x->part, ASSAY_TRACK_THREAD, t.pid, t.tid,
				     assay_intern_z(&x->part->strings, XPLANE_HOST), 0);
	x->part->source = source;
	return track;
}

static void add_look(xplane *x, const xplane_event *ev)
{
	uint32_t track = thread_of(x, ev);
	uint32_t r = assay_look_take(x->part, track, ev->stat[XPLANE_LOOK].text);
	int64_t stack = xplane_number(ev, XPLANE_STACK, 0);
	x->part->t.sample.ts[r] = ev->ts;
	if (stack > 0 && stack <= ASSAY_FILE_STACK_MAX)
		x->part->t.sample.stack[r] = (uint32_t)stack;
}

void xplane_add_memory(xplane *x, const xplane_event *ev)
{
	uint32_t track = thread_of(x, ev);
	uint32_t r = assay_add(&x->part->t, ASSAY_T_alloc);
	assay_alloc_table *t = &x->part->t.alloc;
	int64_t bytes = xplane_number(ev, XPLANE_BYTES, 0),
		free = xplane_number(ev, XPLANE_AVAILABLE, -1);
	bool freed = assay_str_is(assay_pool_get(&x->part->strings, ev->name), XPLANE_FREED);
	bool told = !ev->stat[XPLANE_COMPUTED].field;
	t->ts[r] = ev->ts;
	t->track[r] = track;
	t->addr[r] = (uint64_t)xplane_number(ev, XPLANE_ADDRESS, 0);
	t->bytes[r] = freed ? (int64_t)(0 - (uint64_t)bytes) : bytes;
	t->total[r] = told ? xplane_number(ev, XPLANE_TOTAL, -1) : -1;
	t->reserved[r] = xplane_number(ev, XPLANE_RESERVED, -1);
	if (free >= 0 && t->total[r] >= 0)
		t->reserved[r] = assay_wrap_add(free, t->total[r]);
	t->device[r] = device_of(ev->stat[XPLANE_ALLOCATOR].text);
	t->corr[r] = (uint64_t)xplane_number(ev, XPLANE_CALL_CORR, 0);
	t->name[r] = assay_intern(&x->part->strings, ev->stat[XPLANE_OPERATION].text);
	t->ev_idx[r] = xplane_u32(x, ev, XPLANE_EV_IDX, UINT32_MAX);
	t->args[r] = ev->args;
}

static void on_beside(xplane *x, const xplane_line *line, const xplane_event *ev)
{
	assay_str cat = ev->stat[XPLANE_CAT].text;
	(void)line;
	if (assay_str_is(cat, XPLANE_CAT_SYNC))
		add_sync(x, ev);
	else if (assay_str_is(cat, ASSAY_LOOK_CATEGORY))
		add_look(x, ev);
	else
		add_mark(x, ev);
}

xplane_sink *xplane_beside_begin(xplane *x, xplane_line *line)
{
	if (assay_str_is(line->name, XPLANE_COUNTER_LINE)) {
		line->track = assay_track(x->part, ASSAY_TRACK_TELEMETRY, x->plane->id,
					  INT64_MAX - line->id, 0, 0);
		return xplane_on_counters;
	}
	line->track = ASSAY_NO_ROW; /* events name theirs */
	return on_beside;
}
