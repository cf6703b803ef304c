/* The tables of results.json that explain the numbers in its records, and what they say. */
#include "read/rocprof_process.h"

#include <stdio.h>

#include "read/rocprof.h"
#include "read/rocprof_record.h"

enum { AGENT_MAX = 4096, META_DEPTH = 4, AGENT_GPU = 2 };

uint32_t assay_rocprof_pend(assay_rocprof_process *p, assay_rocprof_pending_kind kind, uint64_t a,
			    uint64_t b, uint64_t c)
{
	uint64_t k[4] = {kind, a, b, c}, key = assay_hash(k, sizeof k, 0);
	uint32_t *slot;
	for (; *(slot = assay_map_at(&p->pending_at, key)) != ASSAY_MAP_ABSENT; key++) {
		const assay_rocprof_pending *q = &p->pendings.p[*slot];
		if (q->kind == kind && q->a == a && q->b == b && q->c == c)
			return *slot;
	}
	*slot = (uint32_t)p->pendings.n;
	*assay_push(&p->pendings) = (assay_rocprof_pending){a, b, c, kind, 0, ASSAY_NO_ROW};
	return *slot;
}

assay_str assay_rocprof_text(assay_rocprof_process *p, assay_str raw)
{
	assay_str s = assay_json_unescape(&p->scratch, raw);
	return (assay_str){assay_dup(&p->scratch, s), s.n};
}

void assay_rocprof_meta_number(assay_rocprof_process *p, const char *key, uint64_t n)
{
	char text[24];
	int len = snprintf(text, sizeof text, "%llu", (unsigned long long)n);
	assay_meta_add(p->part, key, (assay_str){text, (size_t)len});
}

uint64_t assay_rocprof_skip_records(assay_rocprof_process *p)
{
	uint64_t n = 0;
	for (assay_json_stream_enter(p->s, '['); assay_json_stream_element(p->s); n++)
		if (!assay_json_stream_skip(p->s))
			break;
	return n;
}

static bool parse_raw(assay_json *j, void *ctx)
{
	return assay_json_skip(j, ctx);
}

/* The next value as a cursor on its own; false when it could not be read. */
static bool take_value(assay_rocprof_process *p, assay_json *value)
{
	assay_str raw;
	if (!assay_json_stream_take(p->s, parse_raw, &raw))
		return false;
	*value = assay_json_on(raw.p, raw.n);
	return true;
}

/* Each object of an array; anything else in it is counted and passed over. */
static void each_object(assay_rocprof_process *p,
			void (*take)(assay_rocprof_process *p, assay_json *j))
{
	if (assay_json_stream_peek(p->s) != '[') {
		assay_json_stream_skip(p->s);
		return;
	}
	assay_json value;
	for (assay_json_stream_enter(p->s, '['); assay_json_stream_element(p->s);) {
		if (assay_json_stream_peek(p->s) == '{') {
			if (take_value(p, &value))
				take(p, &value);
		} else if (assay_json_stream_skip(p->s)) {
			assay_count(p->part, ASSAY_ISSUE_bad_record, 1);
		}
	}
}

static assay_str read_text(assay_rocprof_process *p, assay_json *j)
{
	assay_str raw;
	if (assay_json_peek(j) == '"')
		return assay_json_text(j, &raw) ? assay_rocprof_text(p, raw) : (assay_str){"", 0};
	assay_json_skip(j, NULL);
	return (assay_str){"", 0};
}

static void read_agent_member(assay_rocprof_process *p, assay_rocprof_agent *a, assay_str key,
			      assay_json *j)
{
	const struct {
		const char *key;
		uint64_t *number;
		assay_str *text;
	} fields[] = {
		{"id", &a->handle, NULL},
		{"type", &a->type, NULL},
		{"node_id", &a->node, NULL},
		{"logical_node_type_id", &a->ordinal, NULL},
		{"cu_count", &a->units, NULL},
		{"wave_front_size", &a->warp, NULL},
		{"local_mem_size", &a->memory, NULL},
		{"name", NULL, &a->name},
		{"product_name", NULL, &a->product},
	};
	for (size_t i = 0; i < ASSAY_COUNT_OF(fields); i++) {
		if (!assay_str_is(key, fields[i].key))
			continue;
		if (fields[i].text)
			*fields[i].text = read_text(p, j);
		else
			assay_rocprof_number(j, fields[i].number);
		return;
	}
	if (assay_str_is(key, "mem_banks") && assay_json_peek(j) == '[')
		a->banks = assay_rocprof_banks(j);
	else
		assay_json_skip(j, NULL);
}

static void add_device(assay_rocprof_process *p, const assay_rocprof_agent *a)
{
	assay_device_table *t = &p->part->t.device;
	uint64_t memory = a->memory ? a->memory : a->banks;
	uint32_t d = assay_rocprof_device(p->part, a->node <= INT32_MAX ? (int64_t)a->node : -1);
	t->name[d] = assay_intern(&p->part->strings, a->product.n ? a->product : a->name);
	t->arch[d] = assay_intern(&p->part->strings, a->name);
	t->memory[d] = memory && memory <= INT64_MAX ? (int64_t)memory : -1;
	t->units[d] = a->units && a->units <= INT32_MAX ? (int32_t)a->units : -1;
	t->warp[d] = a->warp && a->warp <= INT32_MAX ? (int32_t)a->warp : -1;
}

static void read_agent(assay_rocprof_process *p, assay_json *j)
{
	assay_rocprof_agent a = {.handle = UINT64_MAX, .node = UINT64_MAX, .ordinal = UINT64_MAX};
	assay_str key;
	for (assay_json_enter(j, '{'); assay_json_member(j, &key);)
		read_agent_member(p, &a, key, j);
	if (a.handle == UINT64_MAX || p->agents.n >= AGENT_MAX) {
		assay_count(p->part, ASSAY_ISSUE_bad_record, 1);
		return;
	}
	/* A GPU's number is its place among the GPUs, as HIP and amd-smi count. */
	if (a.type == AGENT_GPU && a.ordinal <= INT32_MAX)
		a.node = a.ordinal;
	else if (a.node == UINT64_MAX)
		a.node = a.handle;
	*assay_map_at(&p->agent_at, a.handle) = (uint32_t)p->agents.n;
	*assay_push(&p->agents) = a;
	if (a.type == AGENT_GPU)
		add_device(p, &a);
}

/* Best first: formatted has neither the linker's ".kd" nor a clone suffix. */
static const char *const symbol_names[] = {"formatted_kernel_name", "demangled_kernel_name",
					   "kernel_name", "truncated_kernel_name"};
enum { SYMBOL_NAMES = ASSAY_COUNT_OF(symbol_names) };

static bool read_symbol_name(assay_str names[], assay_str key, assay_json *j)
{
	for (int i = 0; i < SYMBOL_NAMES; i++) {
		if (assay_json_peek(j) != '"' || !assay_str_is(key, symbol_names[i]))
			continue;
		return assay_json_text(j, &names[i]);
	}
	return false;
}

static void read_symbol(assay_rocprof_process *p, assay_json *j)
{
	assay_str key, names[SYMBOL_NAMES] = {{0}};
	uint64_t id = UINT64_MAX, vgpr = UINT16_MAX, acc = UINT16_MAX, sgpr = UINT16_MAX;
	const struct {
		const char *key;
		uint64_t *number;
	} fields[] = {{"kernel_id", &id},
		      {"arch_vgpr_count", &vgpr},
		      {"accum_vgpr_count", &acc},
		      {"sgpr_count", &sgpr}};
	for (assay_json_enter(j, '{'); assay_json_member(j, &key);) {
		size_t i = 0, n = ASSAY_COUNT_OF(fields);
		if (read_symbol_name(names, key, j))
			continue;
		while (i < n && !assay_str_is(key, fields[i].key))
			i++;
		if (i < n)
			assay_rocprof_number(j, fields[i].number);
		else
			assay_json_skip(j, NULL);
	}
	int best = 0;
	while (best < SYMBOL_NAMES - 1 && !names[best].n)
		best++;
	if (id == UINT64_MAX) {
		assay_count(p->part, ASSAY_ISSUE_bad_record, 1);
		return;
	}
	*assay_map_at(&p->symbol_at, id) = (uint32_t)p->symbols.n;
	*assay_push(&p->symbols) = (assay_rocprof_symbol){
		.name = assay_rocprof_text(p, names[best]),
		.regs = assay_rocprof_u16(p->part, vgpr, UINT16_MAX),
		.acc_regs = assay_rocprof_u16(p->part, acc, UINT16_MAX),
		.scalar_regs = assay_rocprof_u16(p->part, sgpr, UINT16_MAX),
	};
}

static void read_counter_info(assay_rocprof_process *p, assay_json *j)
{
	uint64_t id = UINT64_MAX;
	assay_str key, name = {"", 0};
	for (assay_json_enter(j, '{'); assay_json_member(j, &key);) {
		if (assay_str_is(key, "id"))
			assay_rocprof_number(j, &id);
		else if (assay_str_is(key, "name"))
			name = read_text(p, j);
		else
			assay_json_skip(j, NULL);
	}
	*assay_map_at(&p->counter_names, id) = assay_intern(&p->part->strings, name);
}

static void read_operations(assay_rocprof_process *p, assay_json *j)
{
	assay_rocprof_operations o = {{"", 0}, (uint32_t)p->op_names.n, 0};
	assay_str key;
	for (assay_json_enter(j, '{'); assay_json_member(j, &key);) {
		if (assay_str_is(key, "kind")) {
			o.kind = read_text(p, j);
		} else if (assay_str_is(key, "operations") && assay_json_peek(j) == '[') {
			for (assay_json_enter(j, '['); assay_json_element(j);)
				*assay_push(&p->op_names) = read_text(p, j);
		} else {
			assay_json_skip(j, NULL);
		}
	}
	o.n = (uint32_t)p->op_names.n - o.first;
	*assay_push(&p->kinds) = o;
}

static void read_marker_text(assay_rocprof_process *p, assay_json *j)
{
	uint64_t corr = 0;
	assay_str key, text = {"", 0};
	for (assay_json_enter(j, '{'); assay_json_member(j, &key);) {
		if (assay_str_is(key, "key"))
			assay_json_u64(j, &corr);
		else if (assay_str_is(key, "value"))
			text = read_text(p, j);
		else
			assay_json_skip(j, NULL);
	}
	*assay_map_at(&p->marker_texts, corr) = assay_intern(&p->part->strings, text);
}

void assay_rocprof_read_strings(assay_rocprof_process *p)
{
	assay_str key;
	for (assay_json_stream_enter(p->s, '{'); assay_json_stream_member(p->s, &key);) {
		if (assay_str_is(key, "buffer_records"))
			each_object(p, read_operations);
		else if (assay_str_is(key, "marker_api"))
			each_object(p, read_marker_text);
		else
			assay_json_stream_skip(p->s);
	}
}

static void add_meta(assay_rocprof_process *p, const char *name, assay_json *j, int depth)
{
	assay_str raw, key;
	if (assay_json_peek(j) != '{' || depth == META_DEPTH) {
		if (assay_json_skip(j, &raw))
			assay_meta_add(p->part, name, raw);
		return;
	}
	for (assay_json_enter(j, '{'); assay_json_member(j, &key);) {
		int n = (int)(key.n < 200 ? key.n : 200);
		char *full =
			assay_printf(&p->scratch, "%s%s%.*s", name, *name ? "." : "", n, key.p);
		if (!strcmp(full, "pid")) {
			assay_json ahead = *j;
			p->has_pid = assay_json_u64(&ahead, &p->pid);
		}
		add_meta(p, full, j, depth + 1);
	}
}

void assay_rocprof_read_metadata(assay_rocprof_process *p)
{
	assay_json value;
	if (take_value(p, &value))
		add_meta(p, "", &value, 0);
}

void assay_rocprof_read_agents(assay_rocprof_process *p)
{
	each_object(p, read_agent);
}

void assay_rocprof_read_symbols(assay_rocprof_process *p)
{
	each_object(p, read_symbol);
	assay_rocprof_meta_number(p, "kernel_symbols", p->symbols.n);
}

void assay_rocprof_read_counters(assay_rocprof_process *p)
{
	each_object(p, read_counter_info);
}

void assay_rocprof_read_code_objects(assay_rocprof_process *p)
{
	assay_rocprof_meta_number(p, "code_objects", assay_rocprof_skip_records(p));
}

static const assay_rocprof_agent *agent_of(const assay_rocprof_process *p, uint64_t handle)
{
	uint32_t i = assay_map_get(&p->agent_at, handle);
	return i == ASSAY_MAP_ABSENT ? NULL : &p->agents.p[i];
}

static int64_t signed_id(uint64_t id)
{
	return id <= INT64_MAX ? (int64_t)id : -1;
}

static int64_t node_of(const assay_rocprof_process *p, uint64_t handle)
{
	const assay_rocprof_agent *a = agent_of(p, handle);
	return signed_id(a ? a->node : handle);
}

static bool is_gpu(const assay_rocprof_process *p, uint64_t handle)
{
	const assay_rocprof_agent *a = agent_of(p, handle);
	return a && a->type == AGENT_GPU;
}

static void explain_op(assay_rocprof_process *p, assay_rocprof_pending *q)
{
	if (q->a >= p->kinds.n)
		return;
	const assay_rocprof_operations *o = &p->kinds.p[q->a];
	assay_str name = q->b < o->n ? p->op_names.p[o->first + q->b] : o->kind;
	q->value = assay_intern(&p->part->strings, name);
}

static void explain_kernel(assay_rocprof_process *p, assay_rocprof_pending *q)
{
	q->symbol = assay_map_get(&p->symbol_at, q->a);
	if (q->symbol != ASSAY_MAP_ABSENT)
		q->value = assay_intern(&p->part->strings, p->symbols.p[q->symbol].name);
}

static void explain_counter(assay_rocprof_process *p, assay_rocprof_pending *q)
{
	uint32_t name = assay_map_get(&p->counter_names, q->a);
	char text[40];
	snprintf(text, sizeof text, "counter %llu", (unsigned long long)q->a);
	q->value = name == ASSAY_MAP_ABSENT ? assay_intern_z(&p->part->strings, text) : name;
}

static void explain_thread(assay_rocprof_process *p, assay_rocprof_pending *q)
{
	q->value =
		assay_thread_track(p->part, p->has_pid ? signed_id(p->pid) : -1, signed_id(q->a));
}

static void explain_stream(assay_rocprof_process *p, assay_rocprof_pending *q)
{
	q->value = assay_stream_track(p->part, node_of(p, q->a), signed_id(q->b));
}

static void explain_copy(assay_rocprof_process *p, assay_rocprof_pending *q)
{
	uint64_t handle = !is_gpu(p, q->a) && is_gpu(p, q->c) ? q->c : q->a;
	q->value = assay_stream_track(p->part, node_of(p, handle), signed_id(q->b));
}

static void explain_device(assay_rocprof_process *p, assay_rocprof_pending *q)
{
	int64_t node = is_gpu(p, q->a) || !p->agents.n ? node_of(p, q->a) : -1;
	q->value = (uint32_t)(int32_t)(node <= INT32_MAX ? node : -1);
}

static void (*const explain[])(assay_rocprof_process *p, assay_rocprof_pending *q) = {
	[ASSAY_PENDING_OP] = explain_op,           [ASSAY_PENDING_KERNEL] = explain_kernel,
	[ASSAY_PENDING_COUNTER] = explain_counter, [ASSAY_PENDING_THREAD] = explain_thread,
	[ASSAY_PENDING_STREAM] = explain_stream,   [ASSAY_PENDING_COPY] = explain_copy,
	[ASSAY_PENDING_DEVICE] = explain_device,
};

static void replace(const assay_rocprof_process *p, uint32_t *column, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++)
		column[i] = p->pendings.p[column[i]].value;
}

static void set_registers(assay_rocprof_process *p)
{
	assay_gpu_table *t = &p->part->t.gpu;
	for (size_t i = p->gpu; i < t->n; i++) {
		const assay_rocprof_pending *q = &p->pendings.p[t->name[i]];
		if (!q->value)
			assay_count(p->part, ASSAY_ISSUE_no_name, 1);
		if (q->symbol == ASSAY_NO_ROW)
			continue;
		const assay_rocprof_symbol *s = &p->symbols.p[q->symbol];
		t->regs[i] = s->regs;
		t->acc_regs[i] = s->acc_regs;
		t->scalar_regs[i] = s->scalar_regs;
	}
}

static void name_markers(assay_rocprof_process *p)
{
	const assay_tables *t = &p->part->t;
	for (size_t i = p->host; i < t->host.n; i++) {
		if (t->host.kind[i] != ASSAY_HOST_MARKER)
			continue;
		t->host.kind[i] = (uint8_t)assay_rocprof_marker_kind(
			assay_pool_get(&p->part->strings, t->host.name[i]));
		uint32_t text = assay_map_get(&p->marker_texts, t->api.corr[t->host.detail[i]]);
		if (text != ASSAY_MAP_ABSENT && text)
			t->host.name[i] = text;
	}
}

void assay_rocprof_explain(assay_rocprof_process *p)
{
	assay_tables *t = &p->part->t;
	for (size_t i = 0; i < p->pendings.n; i++)
		explain[p->pendings.p[i].kind](p, &p->pendings.p[i]);
	set_registers(p);
	replace(p, t->host.name, p->host, t->host.n);
	replace(p, t->host.track, p->host, t->host.n);
	replace(p, t->gpu.name, p->gpu, t->gpu.n);
	replace(p, t->gpu.track, p->gpu, t->gpu.n);
	replace(p, t->alloc.name, p->alloc, t->alloc.n);
	replace(p, t->alloc.track, p->alloc, t->alloc.n);
	replace(p, (uint32_t *)t->alloc.device, p->alloc, t->alloc.n);
	replace(p, t->pmc.name, p->pmc, t->pmc.n);
	replace(p, t->pmc.kernel, p->pmc, t->pmc.n);
	for (size_t i = 0; i < p->barriers.n; i++) {
		assay_rocprof_barrier *b = &p->barriers.p[i];
		replace(p, &b->name, 0, 1);
		replace(p, &b->track, 0, 1);
		b->waits = assay_rocprof_is_wait(assay_pool_get(&p->part->strings, b->name));
		assay_rocprof_add_barrier(p->part, b);
	}
	name_markers(p);
}
