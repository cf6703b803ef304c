/* The records of results.json: every buffer of a process as rows. */
#include "read/rocprof_process.h"

#include <stdio.h>

#include "read/rocprof.h"
#include "read/rocprof_record.h"

static uint32_t pend_op(assay_rocprof_process *p, const assay_rocprof_record *r)
{
	return assay_rocprof_pend(p, ASSAY_PENDING_OP,
				  assay_rocprof_get(r, ASSAY_SLOT_KIND, UINT64_MAX),
				  assay_rocprof_get(r, ASSAY_SLOT_OPERATION, UINT64_MAX), 0);
}

static uint32_t pend_thread(assay_rocprof_process *p, const assay_rocprof_record *r)
{
	return assay_rocprof_pend(p, ASSAY_PENDING_THREAD,
				  assay_rocprof_get(r, ASSAY_SLOT_THREAD, UINT64_MAX), 0, 0);
}

static uint64_t stream_of(const assay_rocprof_record *r)
{
	uint64_t queue = assay_rocprof_get(r, ASSAY_SLOT_QUEUE, UINT64_MAX);
	return assay_rocprof_get(r, ASSAY_SLOT_STREAM, queue);
}

static bool span_of(assay_rocprof_process *p, const assay_rocprof_record *r, int64_t *start,
		    int64_t *dur)
{
	uint64_t from = assay_rocprof_get(r, ASSAY_SLOT_START, 0),
		 to = assay_rocprof_get(r, ASSAY_SLOT_END, 0);
	if (from > INT64_MAX || to > INT64_MAX)
		from = to = 0;
	*start = (int64_t)from;
	return assay_rocprof_length(p->part, *start, (int64_t)to, dur);
}

static void set_sizes(assay_rocprof_process *p, uint32_t g, const assay_rocprof_record *r)
{
	assay_gpu_table *t = &p->part->t.gpu;
	uint32_t *grid[] = {t->grid_x, t->grid_y, t->grid_z};
	uint16_t *block[] = {t->block_x, t->block_y, t->block_z};
	for (int i = 0; i < 3; i++) {
		uint64_t n = assay_rocprof_get(r, ASSAY_SLOT_GRID_X + (unsigned)i, 0);
		uint64_t b = assay_rocprof_get(r, ASSAY_SLOT_BLOCK_X + (unsigned)i, 0);
		grid[i][g] = assay_rocprof_u32(p->part, n, 0);
		block[i][g] = assay_rocprof_u16(p->part, b, 0);
	}
}

static uint32_t u32_of(assay_rocprof_process *p, const assay_rocprof_record *r,
		       assay_rocprof_slot slot, uint32_t absent)
{
	return assay_rocprof_has(r, slot) ? assay_rocprof_u32(p->part, r->v[slot], absent) : absent;
}

static uint32_t add_gpu(assay_rocprof_process *p, const assay_rocprof_record *r,
			assay_gpu_kind kind)
{
	int64_t start, dur;
	if (!span_of(p, r, &start, &dur))
		return ASSAY_NO_ROW;
	assay_gpu_table *t = &p->part->t.gpu;
	uint32_t g = assay_add(&p->part->t, ASSAY_T_gpu);
	t->kind[g] = (uint8_t)kind;
	t->ts[g] = start;
	t->dur[g] = dur;
	t->corr[g] = assay_rocprof_get(r, ASSAY_SLOT_INTERNAL, 0);
	t->external[g] = u32_of(p, r, ASSAY_SLOT_EXTERNAL, 0);
	t->queue[g] = u32_of(p, r, ASSAY_SLOT_QUEUE, UINT32_MAX);
	t->dispatch[g] = u32_of(p, r, ASSAY_SLOT_DISPATCH, UINT32_MAX);
	t->graph[g] = u32_of(p, r, ASSAY_SLOT_GRAPH, 0);
	t->graph_node[g] = assay_rocprof_get(r, ASSAY_SLOT_GRAPH_NODE, 0);
	return g;
}

static void take_kernel(assay_rocprof_process *p, const assay_rocprof_record *r, assay_str buffer)
{
	(void)buffer;
	uint32_t g = add_gpu(p, r, ASSAY_GPU_KERNEL);
	if (g == ASSAY_NO_ROW)
		return;
	assay_gpu_table *t = &p->part->t.gpu;
	set_sizes(p, g, r);
	t->shared[g] = u32_of(p, r, ASSAY_SLOT_GROUP, UINT32_MAX);
	t->scratch[g] = u32_of(p, r, ASSAY_SLOT_PRIVATE, UINT32_MAX);
	t->name[g] = assay_rocprof_pend(p, ASSAY_PENDING_KERNEL,
					assay_rocprof_get(r, ASSAY_SLOT_KERNEL, UINT64_MAX), 0, 0);
	t->track[g] = assay_rocprof_pend(p, ASSAY_PENDING_STREAM,
					 assay_rocprof_get(r, ASSAY_SLOT_AGENT, UINT64_MAX),
					 stream_of(r), 0);
}

static void take_copy(assay_rocprof_process *p, const assay_rocprof_record *r, assay_str buffer)
{
	(void)buffer;
	uint32_t g = add_gpu(p, r, ASSAY_GPU_MEMCPY);
	if (g == ASSAY_NO_ROW)
		return;
	assay_gpu_table *t = &p->part->t.gpu;
	uint64_t bytes = assay_rocprof_get(r, ASSAY_SLOT_BYTES, UINT64_MAX);
	t->bytes[g] = bytes <= INT64_MAX ? (int64_t)bytes : -1;
	t->name[g] = pend_op(p, r);
	t->track[g] = assay_rocprof_pend(
		p, ASSAY_PENDING_COPY, assay_rocprof_get(r, ASSAY_SLOT_DST_AGENT, UINT64_MAX),
		stream_of(r), assay_rocprof_get(r, ASSAY_SLOT_SRC_AGENT, UINT64_MAX));
}

/* [{"type": T, "name": N, "value": V}, ...] and the return value as members "N": V. */
static assay_sid args_of(assay_rocprof_process *p, const assay_rocprof_record *r)
{
	assay_str args = assay_rocprof_raw(r, ASSAY_SLOT_ARGS),
		  retval = assay_rocprof_raw(r, ASSAY_SLOT_RETVAL);
	assay_jsonw *w = &p->args;
	w->out.n = w->depth = 0;
	w->comma = false;
	w->compact = true;
	if (args.n && args.p[0] == '[') {
		assay_json j = assay_json_on(args.p, args.n);
		for (assay_json_enter(&j, '['); assay_json_element(&j);) {
			assay_str key, name = {0}, value = {0};
			if (assay_json_peek(&j) != '{') {
				assay_json_skip(&j, NULL);
				continue;
			}
			for (assay_json_enter(&j, '{'); assay_json_member(&j, &key);)
				assay_json_skip(&j, assay_str_is(key, "name")    ? &name
						    : assay_str_is(key, "value") ? &value
										 : NULL);
			if (name.n < 2 || name.p[0] != '"' || !value.n)
				continue;
			name = (assay_str){name.p + 1, name.n - 2};
			assay_jsonw_key(w, assay_json_unescape(&p->scratch, name));
			assay_jsonw_raw(w, NULL, value);
		}
	}
	if (retval.n)
		assay_jsonw_raw(w, "retval", retval);
	return w->out.n ? assay_intern(&p->part->strings, (assay_str){w->out.p, w->out.n}) : 0;
}

static void take_call(assay_rocprof_process *p, const assay_rocprof_record *r, assay_str buffer)
{
	int64_t start, dur;
	if (!span_of(p, r, &start, &dur))
		return;
	uint32_t h = assay_rocprof_host(p->part, assay_rocprof_host_kind(buffer),
					assay_rocprof_get(r, ASSAY_SLOT_INTERNAL, 0),
					assay_rocprof_get(r, ASSAY_SLOT_EXTERNAL, 0), buffer);
	assay_host_table *t = &p->part->t.host;
	t->ts[h] = start;
	t->dur[h] = dur;
	t->name[h] = pend_op(p, r);
	t->track[h] = pend_thread(p, r);
	t->args[h] = args_of(p, r);
}

static void take_alloc(assay_rocprof_process *p, const assay_rocprof_record *r, assay_str buffer)
{
	int64_t start, dur;
	if (!span_of(p, r, &start, &dur))
		return;
	assay_alloc_table *t = &p->part->t.alloc;
	uint32_t a = assay_add(&p->part->t, ASSAY_T_alloc);
	uint64_t op = assay_rocprof_get(r, ASSAY_SLOT_OPERATION, 0);
	uint64_t bytes = assay_rocprof_get(r, ASSAY_SLOT_BYTES, 0);
	/* memory: ALLOCATE 1, VMEM_ALLOCATE 2, FREE 3, VMEM_FREE 4; scratch: ALLOC 1, FREE 2 */
	bool takes = op < (assay_str_is(buffer, "scratch_memory") ? 2 : 3);
	t->ts[a] = start;
	t->addr[a] = assay_rocprof_get(r, ASSAY_SLOT_ADDRESS, 0);
	t->bytes[a] = bytes > INT64_MAX ? 0 : takes ? (int64_t)bytes : -(int64_t)bytes;
	t->corr[a] = assay_rocprof_get(r, ASSAY_SLOT_INTERNAL, 0);
	t->name[a] = pend_op(p, r);
	t->track[a] = pend_thread(p, r);
	t->device[a] = (int32_t)assay_rocprof_pend(
		p, ASSAY_PENDING_DEVICE, assay_rocprof_get(r, ASSAY_SLOT_AGENT, UINT64_MAX), 0, 0);
}

static void take_barrier(assay_rocprof_process *p, const assay_rocprof_record *r, assay_str buffer)
{
	(void)buffer;
	int64_t start, dur;
	if (!span_of(p, r, &start, &dur))
		return;
	uint64_t event = assay_rocprof_get(r, ASSAY_SLOT_EVENT, 0);
	uint64_t queue = assay_rocprof_get(r, ASSAY_SLOT_QUEUE, UINT64_MAX);
	uint64_t source = assay_rocprof_get(r, ASSAY_SLOT_SOURCE_QUEUE, UINT64_MAX);
	*assay_push(&p->barriers) = (assay_rocprof_barrier){
		.ts = start,
		.dur = dur,
		.event = event,
		.queue = queue <= INT64_MAX ? (int64_t)queue : -1,
		.source_queue = source <= INT64_MAX ? (int64_t)source : -1,
		.corr = assay_rocprof_get(r, ASSAY_SLOT_INTERNAL, 0),
		.name = pend_op(p, r),
		.track = assay_rocprof_pend(p, ASSAY_PENDING_STREAM,
					    assay_rocprof_get(r, ASSAY_SLOT_AGENT, UINT64_MAX),
					    stream_of(r), 0),
	};
}

static void take_counters(assay_rocprof_process *p, const assay_rocprof_record *r, assay_str buffer)
{
	(void)buffer;
	assay_str records = assay_rocprof_raw(r, ASSAY_SLOT_RECORDS), key;
	assay_pmc_table *t = &p->part->t.pmc;
	if (!records.n || records.p[0] != '[')
		return;
	assay_json j = assay_json_on(records.p, records.n);
	for (assay_json_enter(&j, '['); assay_json_element(&j);) {
		uint64_t id = UINT64_MAX;
		double value = 0;
		bool got = false;
		if (assay_json_peek(&j) != '{') {
			assay_count(p->part, ASSAY_ISSUE_bad_record, 1);
			assay_json_skip(&j, NULL);
			continue;
		}
		for (assay_json_enter(&j, '{'); assay_json_member(&j, &key);) {
			if (assay_str_is(key, "counter_id"))
				assay_rocprof_number(&j, &id);
			else if (assay_str_is(key, "value"))
				got = assay_json_f64(&j, &value);
			else
				assay_json_skip(&j, NULL);
		}
		if (!got) {
			assay_count(p->part, ASSAY_ISSUE_bad_record, 1);
			continue;
		}
		uint32_t m = assay_add(&p->part->t, ASSAY_T_pmc);
		t->corr[m] = assay_rocprof_get(r, ASSAY_SLOT_INTERNAL, 0);
		t->dispatch[m] = u32_of(p, r, ASSAY_SLOT_DISPATCH, UINT32_MAX);
		t->kernel[m] = assay_rocprof_pend(
			p, ASSAY_PENDING_KERNEL,
			assay_rocprof_get(r, ASSAY_SLOT_KERNEL, UINT64_MAX), 0, 0);
		t->name[m] = assay_rocprof_pend(p, ASSAY_PENDING_COUNTER, id, 0, 0);
		t->value[m] = value;
		t->source[m] = p->part->source;
	}
}

typedef struct buffer {
	const char *name;
	assay_rocprof_take *take;
} buffer;

/* Names without a row here go to take_call: a span with a function name, whatever its domain. */
static const buffer buffers[] = {
	{"kernel_dispatch", take_kernel},  {"memory_copy", take_copy},
	{"memory_allocation", take_alloc}, {"scratch_memory", take_alloc},
	{"hip_event", take_barrier},       {"counter_collection", take_counters},
	{"pc_sample_host_trap", NULL},     {"pc_sample_stochastic", NULL},
};

void assay_rocprof_add(assay_rocprof_process *p, assay_rocprof_take *take,
		       const assay_rocprof_record *r, assay_str name)
{
	p->part->t.source.records[p->part->source]++;
	take(p, r, name);
	assay_count(p->part, ASSAY_ISSUE_bad_number, r->bad_numbers);
}

static void read_records(assay_rocprof_process *p, assay_rocprof_take *take, assay_str name)
{
	enum { BETWEEN = 256 }; /* tries to read ahead */
	assay_rocprof_record r;
	assay_rocprof_parser *parse = assay_rocprof_record_parser();
	assay_json_stream_enter(p->s, '[');
	for (uint64_t n = 0; assay_json_stream_element(p->s); n++) {
		if (assay_json_stream_take(p->s, parse, &r))
			assay_rocprof_add(p, take, &r, name);
		else if (assay_json_ok(&p->s->j))
			assay_count(p->part, ASSAY_ISSUE_bad_record, 1);
		if (n % BETWEEN == 0)
			assay_rocprof_read_ahead(p, take, name);
	}
}

static void read_buffer(assay_rocprof_process *p, assay_str raw)
{
	assay_str name = assay_rocprof_text(p, raw);
	buffer b = {"", take_call};
	for (size_t i = 0; i < ASSAY_COUNT_OF(buffers); i++)
		if (assay_str_is(name, buffers[i].name))
			b = buffers[i];
	if (assay_json_stream_peek(p->s) != '[') {
		assay_json_stream_skip(p->s);
		return;
	}
	char key[80];
	snprintf(key, sizeof key, "skipped.%.*s", (int)(name.n < 60 ? name.n : 60), name.p);
	if (!b.take) {
		uint64_t n = assay_rocprof_skip_records(p);
		if (n)
			assay_rocprof_meta_number(p, key, n);
		return;
	}
	read_records(p, b.take, name);
}

void assay_rocprof_read_buffers(assay_rocprof_process *p)
{
	assay_str name;
	for (assay_json_stream_enter(p->s, '{'); assay_json_stream_member(p->s, &name);)
		read_buffer(p, name);
}
