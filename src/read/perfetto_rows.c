/* From track events to rows: what a category's slices become, and their arguments with columns. */
#include "read/perfetto.h"

#include <assert.h>

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

unsigned perfetto_category_of(perfetto *x, assay_sid cat)
{
	while (x->category_of.n <= cat)
		*assay_push(&x->category_of) = 0;
	if (!x->category_of.p[cat]) {
		assay_str name = perfetto_text(x, cat);
		unsigned i = 0;
		while (i < ASSAY_COUNT_OF(categories) && !assay_str_is(name, categories[i].name))
			i++;
		x->category_of.p[cat] =
			(uint8_t)(i < ASSAY_COUNT_OF(categories) ? i + 1 : PF_UNKNOWN_CATEGORY);
	}
	return x->category_of.p[cat] == PF_UNKNOWN_CATEGORY ? PF_UNKNOWN_CATEGORY
							    : x->category_of.p[cat] - 1u;
}
static_assert(ASSAY_COUNT_OF(categories) < PF_UNKNOWN_CATEGORY, "one byte a category");

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
	bool known = e->category != PF_UNKNOWN_CATEGORY;
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

static void add_values(perfetto *x, uint32_t sequence, const event *e, int f64)
{
	const perfetto_numbers *own = &x->value_track[f64], *of = own;
	if (!own->n)
		of = &x->sequences.p[sequence].extra[f64];
	for (size_t i = 0; i < x->value[f64].n && i < of->n; i++)
		add_counter(x, e, perfetto_track_at(x, of->p[i], sequence),
			    value_of(x->value[f64].p[i], f64));
}

void perfetto_add_values(perfetto *x, uint32_t sequence, const event *e)
{
	add_values(x, sequence, e, 0);
	add_values(x, sequence, e, 1);
}

void perfetto_event_args(perfetto *x, uint32_t sequence, const event *e, perfetto_args *a)
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

void perfetto_add_event(perfetto *x, event *e, const perfetto_args *a)
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
