/* Track events: slices, instants, counters, and the events of old Chrome inside them. */
#include <assert.h>

#include "read/perfetto.h"

#include "model/streams.h"

typedef enum { TO_HOST, TO_GPU, TO_SYNC, TO_MARK, TO_LOOK, TO_STREAM, TO_NOTHING } target;

/* What a category's slices become. After Kineto's come our writer's own words, then those of
 * rocprofv3 and rocpd, of rocprof-sys and of omnitrace. */
static const struct category {
	const char *name;
	uint8_t to, kind;
	bool amd; /* annotations say again when the slice is */
} categories[] = {
#define CATEGORY(name, to, kind) {name, TO_##to, ASSAY_##to##_##kind, false},
#define CATEGORY_SYNC(name)      {name, TO_SYNC, 0, false},
#define CATEGORY_MARK(name)      {name, TO_MARK, 0, false},
#include "read/category.def"
	{"runtime", TO_HOST, ASSAY_HOST_RUNTIME, false},
	{"driver", TO_HOST, ASSAY_HOST_DRIVER, false},
	{"marker", TO_HOST, ASSAY_HOST_MARKER, false},
	{"memcpy", TO_GPU, ASSAY_GPU_MEMCPY, false},
	{"memset", TO_GPU, ASSAY_GPU_MEMSET, false},
	{"stream_dep", TO_NOTHING, 0, false},
	{ASSAY_LOOK_CATEGORY, TO_LOOK, 0, false},
	{PF_STREAM_CATEGORY, TO_STREAM, 0, false},
	{"hip_api", TO_HOST, ASSAY_HOST_RUNTIME, true},
	{"hsa_api", TO_HOST, ASSAY_HOST_DRIVER, true},
	{"marker_api", TO_HOST, ASSAY_HOST_MARKER, true},
	{"rccl_api", TO_HOST, ASSAY_HOST_OTHER, true},
	{"rocdecode_api", TO_HOST, ASSAY_HOST_OTHER, true},
	{"rocjpeg_api", TO_HOST, ASSAY_HOST_OTHER, true},
	{"memory_allocation", TO_HOST, ASSAY_HOST_OTHER, true},
	{"scratch_memory", TO_HOST, ASSAY_HOST_OTHER, true},
	{"kernel_dispatch", TO_GPU, ASSAY_GPU_KERNEL, true},
	{"memory_copy", TO_GPU, ASSAY_GPU_MEMCPY, true},
	{"rocm_hip_api", TO_HOST, ASSAY_HOST_RUNTIME, true},
	{"rocm_hsa_api", TO_HOST, ASSAY_HOST_DRIVER, true},
	{"rocm_marker_api", TO_HOST, ASSAY_HOST_MARKER, true},
	{"rocm_kernel_dispatch", TO_GPU, ASSAY_GPU_KERNEL, true},
	{"rocm_memory_copy", TO_GPU, ASSAY_GPU_MEMCPY, true},
	{"rocm_hip_stream", TO_GPU, ASSAY_GPU_KERNEL, true}, /* copies too: see copy_by_name */
	{"rocm_hip", TO_HOST, ASSAY_HOST_RUNTIME, true},
	{"rocm_hsa", TO_HOST, ASSAY_HOST_DRIVER, true},
	{"device_hip", TO_GPU, ASSAY_GPU_KERNEL, true},
	{"user", TO_HOST, ASSAY_HOST_MARKER, true},
};
enum { UNKNOWN_CATEGORY = 255 };

#define BIT(id) (1ull << PF_##id)
static const uint64_t places_op = BIT(EXTERNAL) | BIT(SEQ) | BIT(FWD_THREAD) | BIT(EV_IDX);
static const uint64_t places_api = BIT(EXTERNAL) | BIT(CORR) | BIT(CBID) | BIT(STATUS);
static const uint64_t places_frame = BIT(PY_ID) | BIT(PY_PARENT) | BIT(EV_IDX);
static const uint64_t places_other = 0;
static const uint64_t places_sync = BIT(CORR) | BIT(STREAM) | BIT(DEVICE) | BIT(CONTEXT) |
				    BIT(WAIT_STREAM) | BIT(RECORD_CORR) | BIT(EVENT) |
				    BIT(SYNC_ID) | BIT(FOUND) | BIT(DERIVED);
static const uint64_t places_mark = BIT(EXTERNAL) | BIT(STREAM) | BIT(DEVICE);
static const uint64_t places_gpu =
	BIT(EXTERNAL) | BIT(CORR) | BIT(STREAM) | BIT(DEVICE) | BIT(CONTEXT) | BIT(QUEUE) |
	BIT(DISPATCH) | BIT(GRID) | BIT(GRID_ITEMS) | BIT(BLOCK) | BIT(REGS) | BIT(ACC_REGS) |
	BIT(SCALAR_REGS) | BIT(SHARED) | BIT(SCRATCH) | BIT(BYTES) | BIT(GRAPH) | BIT(GRAPH_NODE);

static const uint64_t *const host_places[] = {
#define X(id, name, table) [ASSAY_HOST_##id] = &places_##table,
	ASSAY_HOST_KINDS(X)
#undef X
};

typedef perfetto_event event;

static unsigned category_of(perfetto *x, assay_sid cat)
{
	while (x->category_of.n <= cat)
		*assay_push(&x->category_of) = 0;
	if (!x->category_of.p[cat]) {
		assay_str name = perfetto_text(x, cat);
		unsigned i = 0;
		while (i < ASSAY_COUNT_OF(categories) && !assay_str_is(name, categories[i].name))
			i++;
		x->category_of.p[cat] =
			(uint8_t)(i < ASSAY_COUNT_OF(categories) ? i + 1 : UNKNOWN_CATEGORY);
	}
	return x->category_of.p[cat] == UNKNOWN_CATEGORY ? UNKNOWN_CATEGORY
							 : x->category_of.p[cat] - 1u;
}
static_assert(ASSAY_COUNT_OF(categories) < UNKNOWN_CATEGORY, "one byte a category");

/* The first category is shown; the first known one says what the slice is. */
static void take_category(perfetto *x, event *e, assay_sid cat)
{
	if (!e->cat)
		e->cat = cat;
	if (e->category == UNKNOWN_CATEGORY)
		e->category = category_of(x, cat);
}

static assay_sid interned(perfetto *x, uint32_t sequence, perfetto_interned kind, uint64_t iid)
{
	uint32_t sid = perfetto_interned_get(x, sequence, kind, iid);
	return sid == ASSAY_MAP_ABSENT ? 0 : sid;
}

/* Render stages submitted: joins the call with them, whose rows have 1 + their id. */
static void take_submitted(event *e, assay_str message)
{
	assay_proto c = assay_proto_on(message);
	uint64_t id;
	for (assay_field f; assay_proto_next(&c, &f);) {
		if (f.number != 1)
			continue;
		if (f.wire == ASSAY_WIRE_VARINT)
			e->flow = f.value + 1;
		else if (f.wire == ASSAY_WIRE_BYTES && assay_proto_varint(&f.bytes, &id))
			e->flow = id + 1;
		return;
	}
}

static void take_bytes(perfetto *x, uint32_t sequence, event *e, const assay_field *f)
{
	assay_pool *strings = &x->part->strings;
	uint64_t iid;
	switch (f->number) {
	case PF_EVENT_ANNOTATION:
		*assay_push(&x->notes) = f->bytes;
		break;
	case PF_EVENT_NAME:
		e->name = assay_intern(strings, f->bytes);
		e->own_name = true;
		break;
	case PF_EVENT_CATEGORY:
		if (!perfetto_is_beyond(x))
			take_category(x, e, assay_intern(strings, f->bytes));
		break;
	case PF_EVENT_CATEGORY_IID:
		for (assay_str list = f->bytes; assay_proto_varint(&list, &iid);)
			take_category(x, e, interned(x, sequence, PF_IS_CATEGORY, iid));
		break;
	case PF_EVENT_LEGACY:
		e->legacy = f->bytes;
		break;
	case PF_EVENT_GPU:
		take_submitted(e, f->bytes);
		break;
	case PF_EVENT_CALLSTACK:
		if (!perfetto_is_beyond(x))
			e->stack = perfetto_stack_inline(x, f->bytes);
		break;
	default:
		break;
	}
}

static void take_number(perfetto *x, uint32_t sequence, event *e, const assay_field *f)
{
	switch (f->number) {
	case PF_EVENT_TYPE:
		e->type = (unsigned)f->value;
		break;
	case PF_EVENT_TRACK:
		e->uuid = f->value;
		e->has_track = true;
		break;
	case PF_EVENT_NAME_IID:
		e->name = interned(x, sequence, PF_IS_NAME, f->value);
		e->own_name = false;
		break;
	case PF_EVENT_CATEGORY_IID:
		take_category(x, e, interned(x, sequence, PF_IS_CATEGORY, f->value));
		break;
	case PF_EVENT_INT_VALUE:
		e->value = (double)assay_field_i64(f);
		e->has_value = true;
		break;
	case PF_EVENT_VALUE:
		e->value = assay_field_f64(f);
		e->has_value = true;
		break;
	case PF_EVENT_STACK_IID:
		if (!perfetto_is_beyond(x))
			e->stack = perfetto_stack_of(x, sequence, f->value);
		break;
	case PF_EVENT_FLOW:
	case PF_EVENT_FLOW_OLD:
	case PF_EVENT_FLOW_END:
	case PF_EVENT_FLOW_END_OLD:
		if (!e->flow)
			e->flow = f->value;
		break;
	default:
		break;
	}
}

static const int64_t old_most = (1ll << 61) / 1000;

bool perfetto_old_time(perfetto *x, uint32_t sequence, int64_t delta_us, int64_t *ts)
{
	int64_t *at = &x->sequences.p[sequence].reference_us, us;
	if (__builtin_add_overflow(delta_us, *at, &us) || us < -old_most || us > old_most)
		return false;
	*at = us;
	*ts = us * 1000;
	return true;
}

/* Microseconds as old Chrome has them, since the thread's reference. */
static void take_old_time(perfetto *x, uint32_t sequence, event *e, const assay_field *f)
{
	int64_t us = assay_field_i64(f);
	if (perfetto_is_beyond(x))
		return;
	if (f->number == PF_EVENT_DELTA_US)
		perfetto_old_time(x, sequence, us, &e->ts);
	else if (us >= -old_most && us <= old_most)
		e->ts = us * 1000;
}

void perfetto_numbers_add(perfetto_numbers *to, const assay_field *f, bool fixed)
{
	assay_str list = f->bytes;
	uint64_t v;
	if (f->wire != ASSAY_WIRE_BYTES)
		*assay_push(to) = f->value;
	else if (!fixed)
		while (assay_proto_varint(&list, &v))
			*assay_push(to) = v;
	else
		for (; list.n >= sizeof v; list.p += sizeof v, list.n -= sizeof v) {
			memcpy(&v, list.p, sizeof v);
			*assay_push(to) = v;
		}
}

/* Values of other tracks. */
static void take_extra(perfetto *x, const assay_field *f)
{
	perfetto_numbers *to = f->number == PF_EVENT_EXTRA_VALUES       ? &x->value[0]
			       : f->number == PF_EVENT_EXTRA_F64_VALUES ? &x->value[1]
			       : f->number == PF_EVENT_EXTRA_TRACKS     ? &x->value_track[0]
									: &x->value_track[1];
	perfetto_numbers_add(to, f, f->number == PF_EVENT_EXTRA_F64_VALUES);
}

/* Annotations of fewer than 128 bytes from the cursor on: most of what most events have. */
static inline void take_short_notes(perfetto *x, assay_proto *c)
{
	const uint8_t *p = c->p;
	while (c->end - p >= 2 && p[0] == (PF_EVENT_ANNOTATION << 3 | ASSAY_WIRE_BYTES) &&
	       p[1] < 0x80 && p[1] <= c->end - p - 2) {
		*assay_push(&x->notes) = (assay_str){(const char *)p + 2, p[1]};
		p += 2 + p[1];
	}
	c->p = p;
}

/* Fields that are not what their wire type says. */
static const bool is_rare[] = {
	[PF_EVENT_DELTA_US] = true,         [PF_EVENT_ABSOLUTE_US] = true,
	[PF_EVENT_EXTRA_VALUES] = true,     [PF_EVENT_EXTRA_TRACKS] = true,
	[PF_EVENT_EXTRA_F64_VALUES] = true, [PF_EVENT_EXTRA_F64_TRACKS] = true,
};

static void take_rare(perfetto *x, uint32_t sequence, event *e, const assay_field *f)
{
	if (f->number != PF_EVENT_DELTA_US && f->number != PF_EVENT_ABSOLUTE_US) {
		take_extra(x, f);
		return;
	}
	take_old_time(x, sequence, e, f);
	e->timed = true;
}

/* False when it is no whole message. */
static bool read_parts(perfetto *x, const perfetto_packet *p, assay_str message, event *e)
{
	assay_proto c = assay_proto_on(message);
	*e = (event){.ts = p->ts,
		     .dur = -1,
		     .timed = p->has_ts,
		     .category = UNKNOWN_CATEGORY,
		     .stack = ASSAY_NO_ROW};
	x->notes.n = x->value[0].n = x->value[1].n = 0;
	x->value_track[0].n = x->value_track[1].n = 0;
	if (message.n == 2 && message.p[0] == (PF_EVENT_TYPE << 3 | ASSAY_WIRE_VARINT) &&
	    message.p[1] >=
		    0) { /* as every second is: the end of a slice of its sequence's track */
		e->type = (unsigned)message.p[1];
		return true;
	}
	for (assay_field f; take_short_notes(x, &c), assay_proto_next_padded(&c, &f);) {
		if (f.number < ASSAY_COUNT_OF(is_rare) && is_rare[f.number])
			take_rare(x, p->sequence, e, &f);
		else if (f.wire == ASSAY_WIRE_BYTES)
			take_bytes(x, p->sequence, e, &f);
		else
			take_number(x, p->sequence, e, &f);
	}
	return !c.bad && !c.cut;
}

/* ------------------------------------------------------------------ which track */

uint32_t perfetto_thread_track(perfetto *x, uint32_t sequence, int64_t pid, int64_t tid)
{
	int64_t k[4] = {0x7468, pid, tid, pid < 0 ? sequence : 0};
	uint32_t t = perfetto_track_at(x, assay_hash(k, sizeof k, 1), sequence);
	x->tracks.p[t].pid = pid;
	x->tracks.p[t].tid = tid;
	return t;
}

static uint32_t track_of(perfetto *x, const perfetto_packet *p, const event *e)
{
	const perfetto_sequence *s = &x->sequences.p[p->sequence];
	if (e->has_track)
		return perfetto_track_at(x, e->uuid, p->sequence);
	if (s->has_track)
		return perfetto_track_at(x, s->track, p->sequence);
	if (s->tid >= 0)
		return perfetto_thread_track(x, p->sequence, s->pid, s->tid);
	return perfetto_thread_track(x, p->sequence, s->writer >= 0 ? s->writer : s->pid, -1);
}

/* ------------------------------------------------------------------ rows */

static uint32_t narrow(perfetto *x, const perfetto_args *a, perfetto_arg i, uint32_t absent,
		       uint32_t most)
{
	int64_t v = perfetto_arg_or(a, i, -1);
	if (v >= 0 && v <= most)
		return (uint32_t)v;
	assay_count(x->part, ASSAY_ISSUE_wide_value, v != -1);
	return absent;
}

static uint32_t number32(perfetto *x, const perfetto_args *a, perfetto_arg i, uint32_t absent)
{
	return narrow(x, a, i, absent, UINT32_MAX);
}

static uint64_t corr_of(const event *e, const perfetto_args *a)
{
	return (uint64_t)perfetto_arg_or(a, PF_CORR, (int64_t)e->flow);
}

static uint32_t op_detail(perfetto *x, const event *e, const perfetto_args *a)
{
	uint32_t r = assay_add(&x->part->t, ASSAY_T_op);
	assay_op_table *t = &x->part->t.op;
	(void)e;
	t->external[r] = number32(x, a, PF_EXTERNAL, 0);
	t->seq[r] = perfetto_arg_or(a, PF_SEQ, -1);
	t->fwd_thread[r] = (int32_t)number32(x, a, PF_FWD_THREAD, UINT32_MAX);
	t->ev_idx[r] = number32(x, a, PF_EV_IDX, UINT32_MAX);
	return r;
}

static uint32_t api_detail(perfetto *x, const event *e, const perfetto_args *a)
{
	uint32_t r = assay_add(&x->part->t, ASSAY_T_api);
	assay_api_table *t = &x->part->t.api;
	t->corr[r] = corr_of(e, a);
	t->external[r] = number32(x, a, PF_EXTERNAL, 0);
	t->cbid[r] = number32(x, a, PF_CBID, UINT32_MAX);
	t->stack[r] = perfetto_stack_whole(x, e->stack);
	t->status[r] = (int32_t)perfetto_arg_or(a, PF_STATUS, ASSAY_NO_STATUS);
	return r;
}

static uint32_t frame_detail(perfetto *x, const event *e, const perfetto_args *a)
{
	uint32_t r = assay_add(&x->part->t, ASSAY_T_frame);
	assay_frame_table *t = &x->part->t.frame;
	(void)e;
	t->id[r] = number32(x, a, PF_PY_ID, UINT32_MAX);
	t->parent[r] = number32(x, a, PF_PY_PARENT, UINT32_MAX);
	t->ev_idx[r] = number32(x, a, PF_EV_IDX, UINT32_MAX);
	return r;
}

static uint32_t other_detail(perfetto *x, const event *e, const perfetto_args *a)
{
	uint32_t r = assay_add(&x->part->t, ASSAY_T_other);
	(void)a;
	x->part->t.other.cat[r] = e->cat;
	return r;
}

static uint32_t (*const host_details[])(perfetto *, const event *, const perfetto_args *) = {
#define X(id, name, table) [ASSAY_HOST_##id] = table##_detail,
	ASSAY_HOST_KINDS(X)
#undef X
};

static uint32_t add_host(perfetto *x, const event *e, const perfetto_args *a, assay_host_kind kind)
{
	uint32_t r = assay_add(&x->part->t, ASSAY_T_host);
	assay_host_table *h = &x->part->t.host;
	h->ts[r] = e->ts;
	h->dur[r] = e->dur;
	h->name[r] = e->name;
	h->track[r] = e->track; /* ours when the last packet is read */
	h->args[r] = a->rest;
	h->kind[r] = (uint8_t)kind;
	h->detail[r] = host_details[kind](x, e, a);
	return r;
}

uint32_t perfetto_add_gpu(perfetto *x, uint32_t track, const perfetto_args *a)
{
	uint32_t r = assay_add(&x->part->t, ASSAY_T_gpu);
	assay_gpu_table *g = &x->part->t.gpu;
	g->corr[r] = (uint64_t)perfetto_arg_or(a, PF_CORR, 0);
	g->external[r] = number32(x, a, PF_EXTERNAL, 0);
	g->args[r] = a->rest;
	g->bytes[r] = perfetto_arg_or(a, PF_BYTES, -1);
	g->graph_node[r] = (uint64_t)perfetto_arg_or(a, PF_GRAPH_NODE, 0);
	g->graph[r] = number32(x, a, PF_GRAPH, 0);
	g->context[r] = number32(x, a, PF_CONTEXT, UINT32_MAX);
	g->shared[r] = number32(x, a, PF_SHARED, UINT32_MAX);
	g->scratch[r] = number32(x, a, PF_SCRATCH, UINT32_MAX);
	g->queue[r] = number32(x, a, PF_QUEUE, UINT32_MAX);
	g->dispatch[r] = number32(x, a, PF_DISPATCH, UINT32_MAX);
	g->regs[r] = (uint16_t)narrow(x, a, PF_REGS, UINT16_MAX, UINT16_MAX);
	g->acc_regs[r] = (uint16_t)narrow(x, a, PF_ACC_REGS, UINT16_MAX, UINT16_MAX);
	g->scalar_regs[r] = (uint16_t)narrow(x, a, PF_SCALAR_REGS, UINT16_MAX, UINT16_MAX);
	g->grid_x[r] = a->grid[0];
	g->grid_y[r] = a->grid[1];
	g->grid_z[r] = a->grid[2];
	bool fits =
		a->block[0] <= UINT16_MAX && a->block[1] <= UINT16_MAX && a->block[2] <= UINT16_MAX;
	g->block_x[r] = (uint16_t)(fits ? a->block[0] : 0);
	g->block_y[r] = (uint16_t)(fits ? a->block[1] : 0);
	g->block_z[r] = (uint16_t)(fits ? a->block[2] : 0);
	assay_count(x->part, ASSAY_ISSUE_wide_value, !fits);
	*assay_push(&x->gpu) = (perfetto_place){track, perfetto_arg_or(a, PF_DEVICE, -1),
						perfetto_arg_or(a, PF_STREAM, -1)};
	return r;
}

static bool copy_by_name(assay_str name)
{
	return assay_str_starts(name, "MEMORY_COPY_") || assay_str_starts(name, "Copy") ||
	       assay_str_starts(name, "Memcpy");
}

static uint32_t add_gpu(perfetto *x, const event *e, const perfetto_args *a)
{
	uint32_t r = perfetto_add_gpu(x, e->track, a);
	assay_gpu_table *g = &x->part->t.gpu;
	g->ts[r] = e->ts;
	g->dur[r] = e->dur;
	g->name[r] = e->name;
	g->corr[r] = corr_of(e, a);
	g->kind[r] = categories[e->category].kind;
	if (copy_by_name(assay_pool_get(&x->part->strings, e->name)))
		g->kind[r] = ASSAY_GPU_MEMCPY;
	assay_count(x->part, ASSAY_ISSUE_no_name, !g->name[r]);
	assay_count(x->part, ASSAY_ISSUE_zero_correlation, !g->corr[r]);
	return r;
}

static uint32_t add_sync(perfetto *x, const event *e, const perfetto_args *a)
{
	uint32_t r = assay_add(&x->part->t, ASSAY_T_sync);
	assay_sync_table *s = &x->part->t.sync;
	s->ts[r] = e->ts;
	s->dur[r] = e->dur;
	s->name[r] = e->name;
	s->corr[r] = corr_of(e, a);
	s->wait_stream[r] = perfetto_arg_or(a, PF_WAIT_STREAM, -1);
	s->event[r] = perfetto_arg_or(a, PF_EVENT, -1);
	s->record_corr[r] = perfetto_arg_or(a, PF_RECORD_CORR, -1);
	s->sync_id[r] = (uint64_t)perfetto_arg_or(a, PF_SYNC_ID, 0);
	s->context[r] = number32(x, a, PF_CONTEXT, UINT32_MAX);
	s->found[r] = perfetto_arg_or(a, PF_FOUND, 0) != 0;
	s->args[r] = a->rest;
	*assay_push(&x->sync) = (perfetto_place){e->track, perfetto_arg_or(a, PF_DEVICE, -1),
						 perfetto_arg_or(a, PF_STREAM, -1)};
	return r;
}

static uint32_t add_mark(perfetto *x, const event *e, const perfetto_args *a)
{
	uint32_t r = assay_add(&x->part->t, ASSAY_T_mark);
	assay_mark_table *m = &x->part->t.mark;
	m->ts[r] = e->ts;
	m->dur[r] = e->dur;
	m->name[r] = e->name;
	m->external[r] = number32(x, a, PF_EXTERNAL, 0);
	m->args[r] = a->rest;
	*assay_push(&x->mark) = (perfetto_place){e->track, perfetto_arg_or(a, PF_DEVICE, -1),
						 perfetto_arg_or(a, PF_STREAM, -1)};
	return r;
}

/* Its row is made when the last packet is read. */
static uint32_t add_look(perfetto *x, const event *e, const perfetto_args *a)
{
	*assay_push(&x->looks) = (perfetto_look){e->ts, e->dur, e->track, a->rest, e->stack};
	return (uint32_t)x->looks.n - 1;
}

static void add_stream(perfetto *x, const event *e, const perfetto_args *a)
{
	assay_arena_reset(&x->scratch);
	assay_json j = assay_json_members(&x->scratch, assay_pool_get(&x->part->strings, a->rest));
	assay_stream_take(x->part, &j);
	*assay_push(&x->stream_tracks) = e->track;
}

/* What a slice becomes. */
typedef struct slice {
	unsigned to, kind;
	uint64_t places;
} slice;

static slice slice_of(const event *e)
{
	bool known = e->category != UNKNOWN_CATEGORY;
	unsigned to = known ? categories[e->category].to : TO_HOST;
	unsigned kind = known ? categories[e->category].kind : ASSAY_HOST_OTHER;
	uint64_t again = known && categories[e->category].amd ? BIT(TIMES) : 0;
	if (e->type == PF_INSTANT && to == TO_HOST)
		kind = ASSAY_HOST_INSTANT;
	return (slice){to, kind,
		       again | (to == TO_HOST   ? *host_places[kind]
				: to == TO_GPU  ? places_gpu
				: to == TO_SYNC ? places_sync
				: to == TO_MARK ? places_mark
						: 0)};
}

/* The slice's row; its table, or PF_NO_TABLE for what is made of other rows. */
static uint8_t add_slice(perfetto *x, const event *e, const perfetto_args *a, uint32_t *row)
{
	slice s = slice_of(e);
	if (s.to == TO_NOTHING || perfetto_has(a, PF_DERIVED))
		return PF_NO_TABLE;
	if (s.to == TO_STREAM) {
		add_stream(x, e, a);
		return PF_NO_TABLE;
	}
	*row = s.to == TO_HOST   ? add_host(x, e, a, (assay_host_kind)s.kind)
	       : s.to == TO_GPU  ? add_gpu(x, e, a)
	       : s.to == TO_SYNC ? add_sync(x, e, a)
	       : s.to == TO_MARK ? add_mark(x, e, a)
				 : add_look(x, e, a);
	return s.to == TO_HOST   ? ASSAY_T_host
	       : s.to == TO_GPU  ? ASSAY_T_gpu
	       : s.to == TO_SYNC ? ASSAY_T_sync
	       : s.to == TO_MARK ? ASSAY_T_mark
				 : ASSAY_T_sample;
}

static void add_end(perfetto *x, const event *e, uint8_t table, uint32_t row, assay_sid args)
{
	int64_t *last = &x->tracks.p[e->track].last;
	x->ends.unordered |= e->ts < *last;
	*last = e->ts;
	*assay_push(&x->ends.ts) = e->ts;
	*assay_push(&x->ends.track) = e->track;
	*assay_push(&x->ends.row) = row;
	*assay_push(&x->ends.args) = args;
	*assay_push(&x->ends.table) = table;
}

static void add_counter(perfetto *x, const event *e, uint32_t track, double value)
{
	perfetto_track *t = &x->tracks.p[track];
	uint32_t r = assay_add(&x->part->t, ASSAY_T_counter);
	assay_counter_table *c = &x->part->t.counter;
	value *= t->unit;
	t->sum += value;
	c->ts[r] = e->ts;
	c->track[r] = track;
	c->value[r] = t->incremental ? t->sum : value;
}

static double value_of(uint64_t bits, bool f64)
{
	double v;
	memcpy(&v, &bits, sizeof v);
	return f64 ? v : (double)(int64_t)bits;
}

/* Values that ride on an event, one for each track that it or its sequence lists. */
static void add_extra(perfetto *x, uint32_t sequence, const event *e, int f64)
{
	const perfetto_numbers *own = &x->value_track[f64], *of = own;
	if (!own->n)
		of = &x->sequences.p[sequence].extra[f64];
	for (size_t i = 0; i < x->value[f64].n && i < of->n; i++)
		add_counter(x, e, perfetto_track_at(x, of->p[i], sequence),
			    value_of(x->value[f64].p[i], f64));
}

/* ------------------------------------------------------------------ old Chrome events */

/* Sets type, duration and track by the phase; false for phases that carry no span. */
static bool from_legacy(perfetto *x, const perfetto_packet *p, event *e)
{
	assay_proto c = assay_proto_on(e->legacy);
	int64_t us = -1, pid = -1, tid = -1;
	uint64_t id = 0;
	char phase = 0;
	for (assay_field f; assay_proto_next(&c, &f);) {
		if (f.number == PF_LEGACY_PHASE)
			phase = (char)f.value;
		else if (f.number == PF_LEGACY_NAME_IID && !e->name)
			e->name = interned(x, p->sequence, PF_IS_NAME, f.value);
		else if (f.number == PF_LEGACY_DURATION_US)
			us = assay_field_i64(&f);
		else if (f.number == PF_LEGACY_UNSCOPED_ID || f.number == PF_LEGACY_LOCAL_ID ||
			 f.number == PF_LEGACY_GLOBAL_ID)
			id = f.value;
		else if (f.number == PF_LEGACY_PID)
			pid = (uint32_t)f.value;
		else if (f.number == PF_LEGACY_TID)
			tid = (int32_t)f.value;
	}
	if (!phase)
		return e->type != 0;
	bool async = phase == 'b' || phase == 'e' || phase == 'n' || phase == 'S' || phase == 'F';
	e->type = phase == 'B' || phase == 'b' || phase == 'S' || phase == 'X'   ? PF_SLICE_BEGIN
		  : phase == 'E' || phase == 'e' || phase == 'F'                 ? PF_SLICE_END
		  : phase == 'i' || phase == 'I' || phase == 'R' || phase == 'n' ? PF_INSTANT
										 : 0;
	if (phase == 'X')
		e->dur = us < 0 || us > INT64_MAX / 4000 ? 0 : us * 1000;
	if (async) {
		uint64_t k[3] = {0x6173796e63, e->cat, id};
		e->track = perfetto_track_at(x, assay_hash(k, sizeof k, 2), p->sequence);
		x->tracks.p[e->track].name = e->cat;
	} else if (tid >= 0 && pid >= 0) {
		e->track = perfetto_thread_track(x, p->sequence, pid, tid);
	}
	return e->type != 0;
}

/* The annotations of what becomes a row, or ends one. */
static void read_args(perfetto *x, uint32_t sequence, const event *e, perfetto_args *a)
{
	a->has = 0;
	a->rest = 0;
	if (e->type == PF_SLICE_BEGIN || e->type == PF_INSTANT) {
		slice s = slice_of(e);
		if (s.to != TO_NOTHING)
			perfetto_args_read(x, sequence, s.places, a);
	} else if (e->type == PF_SLICE_END && x->notes.n) {
		perfetto_args_read(x, sequence, BIT(TIMES), a);
	}
}

static void add_event(perfetto *x, event *e, const perfetto_args *a)
{
	uint32_t row = ASSAY_NO_ROW;
	if (e->type == PF_SLICE_BEGIN) {
		uint8_t table = add_slice(x, e, a, &row);
		if (e->dur < 0)
			add_end(x, e, table, row, 0);
	} else if (e->type == PF_SLICE_END) {
		add_end(x, e, PF_END_OF_SLICE, row, a->rest);
	} else if (e->type == PF_INSTANT) {
		e->dur = 0;
		add_slice(x, e, a, &row);
	} else if (e->type == PF_COUNTER && e->has_value) {
		add_counter(x, e, e->track, e->value);
	} else {
		assay_count(x->part, ASSAY_ISSUE_unknown_phase, 1);
	}
	if (e->ts + (e->dur > 0 ? e->dur : 0) > x->last)
		x->last = e->ts + (e->dur > 0 ? e->dur : 0);
}

void perfetto_event_read(perfetto *x, const perfetto_packet *p, assay_str message)
{
	event e;
	perfetto_args a;
	x->events++;
	bool whole = read_parts(x, p, message, &e);
	if (!whole || !e.timed) {
		assay_count(x->part, e.timed ? ASSAY_ISSUE_bad_record : ASSAY_ISSUE_no_duration, 1);
		return;
	}
	e.track = track_of(x, p, &e);
	if (e.legacy.p && !from_legacy(x, p, &e)) {
		assay_count(x->part, ASSAY_ISSUE_unknown_phase, 1);
		return;
	}
	read_args(x, p->sequence, &e, &a);
	add_event(x, &e, &a);
	add_extra(x, p->sequence, &e, 0);
	add_extra(x, p->sequence, &e, 1);
}

bool perfetto_event_parse(perfetto *x, uint32_t sequence, assay_str message, perfetto_event *e,
			  perfetto_args *a)
{
	perfetto_packet p = {.sequence = sequence, .has_ts = true};
	if (!read_parts(x, &p, message, e) || x->odd || e->legacy.p || x->value[0].n ||
	    x->value[1].n)
		return false;
	read_args(x, sequence, e, a);
	return !x->odd;
}

void perfetto_event_place(perfetto *x, const perfetto_packet *p, perfetto_event *e,
			  const perfetto_args *a)
{
	x->events++;
	if (!p->has_ts) {
		assay_count(x->part, ASSAY_ISSUE_no_duration, 1);
		return;
	}
	e->ts = p->ts;
	e->track = track_of(x, p, e);
	add_event(x, e, a);
}
