/* From XEvents to rows: what a line is, and what an event on it is. */
#include "read/xplane.h"

#include <inttypes.h>
#include <stdio.h>

static bool has(const xplane_event *ev, xplane_stat s)
{
	return ev->stat[s].field != 0;
}

uint32_t xplane_u32(xplane *x, const xplane_event *ev, xplane_stat s, uint32_t absent)
{
	int64_t v = xplane_number(ev, s, absent);
	if (v >= 0 && v <= UINT32_MAX)
		return (uint32_t)v;
	assay_count(x->part, ASSAY_ISSUE_wide_value, 1);
	return absent;
}

/* ------------------------------------------------------------------ key:value details */

/* The value of a key in text such as "regs:32 grid:8,1,1". */
static bool detail(assay_str text, const char *key, assay_str *value)
{
	while (text.n) {
		assay_str token = assay_str_trim(assay_str_cut(&text, ' '));
		assay_str name = assay_str_cut(&token, ':');
		if (assay_str_is(name, key)) {
			*value = assay_str_trim(token);
			return true;
		}
	}
	return false;
}

/* Keys of a kernel's details. Both vendors write grid and block; registers and shared memory go by
 * different names. X(id, key) */
#define KERNEL_DETAILS(X)                                                                          \
	X(GRID, "grid")                                                                            \
	X(WORK_ITEMS, "work_items")                                                                \
	X(BLOCK, "block")                                                                          \
	X(REGS, "regs")                                                                            \
	X(ACC_REGS, "acc_regs")                                                                    \
	X(SCALAR_REGS, "scalar_regs")                                                              \
	X(PRIVATE, "private_mem")                                                                  \
	X(STATIC, "static_shared")                                                                 \
	X(DYNAMIC, "dynamic_shared")                                                               \
	X(GROUP, "group_mem")                                                                      \
	X(OCCUPANCY, "occ_pct")

enum {
#define X(id, key) DETAIL_##id,
	KERNEL_DETAILS(X)
#undef X
		DETAIL_COUNT
};

/* Values by key, the first of each; empty when not there. */
static void take_details(assay_str text, assay_str value[DETAIL_COUNT])
{
	static const assay_str key[DETAIL_COUNT] = {
#define X(id, key) {key, sizeof key - 1},
		KERNEL_DETAILS(X)
#undef X
	};
	while (text.n) {
		assay_str token = assay_str_trim(assay_str_cut(&text, ' '));
		assay_str name = assay_str_cut(&token, ':');
		for (int i = 0; i < DETAIL_COUNT; i++)
			if (assay_str_eq(name, key[i]) && !value[i].p)
				value[i] = assay_str_trim(token);
	}
}

static uint32_t detail_u32(assay_str value, uint32_t absent, uint32_t *wide)
{
	uint64_t v;
	if (!value.p || !assay_str_u64(value, &v))
		return absent;
	if (v <= UINT32_MAX)
		return (uint32_t)v;
	++*wide;
	return absent;
}

static void detail_dim(assay_str s, uint32_t out[3])
{
	for (int i = 0; s.p && i < 3; i++) {
		uint64_t v;
		assay_str one = assay_str_cut(&s, ',');
		out[i] = assay_str_u64(one, &v) && v <= UINT32_MAX ? (uint32_t)v : 0;
	}
}

static uint16_t narrow(uint32_t v, uint16_t absent, uint32_t *wide)
{
	if (v <= UINT16_MAX)
		return (uint16_t)v;
	*wide += v != UINT32_MAX;
	return absent;
}

static uint16_t detail_u16(assay_str value, uint32_t *wide)
{
	return narrow(detail_u32(value, UINT32_MAX, wide), UINT16_MAX, wide);
}

static void parse_kernel(assay_str text, xplane_kernel *k)
{
	uint32_t block[3] = {0};
	assay_str d[DETAIL_COUNT] = {0};
	take_details(text, d);
	detail_dim(d[DETAIL_GRID], k->grid);
	detail_dim(d[DETAIL_WORK_ITEMS], k->grid);
	detail_dim(d[DETAIL_BLOCK], block);
	for (int i = 0; i < 3; i++)
		k->block[i] = narrow(block[i], 0, &k->wide);
	k->regs = detail_u16(d[DETAIL_REGS], &k->wide);
	k->acc_regs = detail_u16(d[DETAIL_ACC_REGS], &k->wide);
	k->scalar_regs = detail_u16(d[DETAIL_SCALAR_REGS], &k->wide);
	k->scratch = detail_u32(d[DETAIL_PRIVATE], UINT32_MAX, &k->wide);
	uint32_t fixed = detail_u32(d[DETAIL_STATIC], UINT32_MAX, &k->wide);
	uint32_t dynamic = detail_u32(d[DETAIL_DYNAMIC], 0, &k->wide);
	k->shared = detail_u32(d[DETAIL_GROUP], UINT32_MAX, &k->wide);
	if (fixed != UINT32_MAX) {
		k->shared = fixed > UINT32_MAX - dynamic ? UINT32_MAX : fixed + dynamic;
		k->dynamic = dynamic;
	}
	double pct;
	if (assay_str_f64(d[DETAIL_OCCUPANCY], &pct) && pct > 0 && pct <= 1000)
		k->occupancy = pct;
}

static void add_arg(xplane *x, assay_sid *args, const char *member)
{
	const char *old = assay_pool_get(&x->part->strings, *args).p;
	assay_arena_reset(&x->scratch);
	*args = assay_intern_z(&x->part->strings,
			       assay_printf(&x->scratch, "%s%s%s", old, *args ? ", " : "", member));
}

/* Where our writer has it from. */
static bool says_occupancy(assay_str args)
{
	static const char *const names[] = {"\"theoretical_occupancy_pct\"",
					    "\"est. achieved occupancy %\""};
	return assay_str_has_any(args, names, ASSAY_COUNT_OF(names));
}

/* The split of shared memory and the occupancy have no column. */
static assay_sid with_details(xplane *x, xplane_kernel *k, assay_sid args)
{
	char member[64];
	if (k->with_details && k->args == args)
		return k->with_details;
	k->args = args;
	if (k->dynamic) {
		snprintf(member, sizeof member, "\"dynamic_shared\": %u", k->dynamic);
		add_arg(x, &args, member);
	}
	if (k->occupancy > 0 && !says_occupancy(assay_pool_get(&x->part->strings, args))) {
		snprintf(member, sizeof member, "\"occ_pct\": %.6g", k->occupancy);
		add_arg(x, &args, member);
	}
	k->with_details = args;
	return args;
}

/* Texts that many kernels refer to are taken apart once. */
static xplane_kernel *kernel_of(xplane *x, const xplane_value *v, xplane_kernel *own)
{
	xplane_kernel *k = v->ref == ASSAY_NO_ROW ? own : &x->kernels[v->ref % XPLANE_KERNELS];
	if (k != own && k->plane == x->plane->number && k->ref == v->ref)
		return k;
	*k = (xplane_kernel){.plane = x->plane->number, .ref = v->ref};
	parse_kernel(v->text, k);
	return k;
}

static void kernel_details(xplane *x, uint32_t r, const xplane_value *v)
{
	assay_gpu_table *g = &x->part->t.gpu;
	xplane_kernel own, *k = kernel_of(x, v, &own);
	g->grid_x[r] = k->grid[0];
	g->grid_y[r] = k->grid[1];
	g->grid_z[r] = k->grid[2];
	g->block_x[r] = k->block[0];
	g->block_y[r] = k->block[1];
	g->block_z[r] = k->block[2];
	g->regs[r] = k->regs;
	g->acc_regs[r] = k->acc_regs;
	g->scalar_regs[r] = k->scalar_regs;
	g->scratch[r] = k->scratch;
	g->shared[r] = k->shared;
	g->args[r] = with_details(x, k, g->args[r]);
	assay_count(x->part, ASSAY_ISSUE_wide_value, k->wide);
}

/* ------------------------------------------------------------------ device lines */

static void give_scope(xplane *x, bool host, uint32_t row, const xplane_event *ev)
{
	int64_t id = xplane_number(ev, XPLANE_SCOPE, 0);
	if (!id || xplane_number(ev, XPLANE_INFERRED, 0)) /* will be inferred again */
		return;
	assay_given_scope_table *s = &x->part->t.given_scope;
	uint32_t r = assay_add(&x->part->t, ASSAY_T_given_scope);
	s->host[r] = host;
	s->row[r] = row;
	s->id[r] = id;
}

/* Marks have no columns for these. */
static void keep_numbers(xplane *x, const xplane_event *ev, assay_sid *args)
{
	static const xplane_stat kept[] = {XPLANE_CORR, XPLANE_SCOPE, XPLANE_GRAPH, XPLANE_NODE};
	for (size_t i = 0; i < ASSAY_COUNT_OF(kept); i++) {
		char member[96];
		if (!has(ev, kept[i]))
			continue;
		snprintf(member, sizeof member, "\"%s\": %" PRId64, xplane_stat_name[kept[i]],
			 xplane_number(ev, kept[i], 0));
		add_arg(x, args, member);
	}
}

static void keep_rest(xplane *x, assay_kept_of of, uint32_t row, const xplane_event *ev)
{
	if (ev->rest.n)
		xplane_keep(x, x->plane->place, of, row, ev->rest);
}

static void add_mark(xplane *x, const xplane_line *line, const xplane_event *ev)
{
	uint32_t r = assay_add(&x->part->t, ASSAY_T_mark);
	assay_mark_table *m = &x->part->t.mark;
	m->ts[r] = ev->ts;
	m->dur[r] = ev->dur;
	m->name[r] = ev->name;
	m->track[r] = line->track;
	m->args[r] = ev->args;
	keep_numbers(x, ev, &m->args[r]);
	keep_rest(x, ASSAY_KEPT_MARK, r, ev);
}

/* -1: no work of the device. Details decide; names do where a recorder writes none. */
static int gpu_kind(const assay_part *p, const xplane_event *ev)
{
	assay_str name = assay_pool_get(&p->strings, ev->name);
	if (has(ev, XPLANE_ALLOC) || has(ev, XPLANE_FREE) || has(ev, XPLANE_RESIDENCY))
		return -1;
	if (ev->stat[XPLANE_KERNEL].text.n || has(ev, XPLANE_EXEC))
		return ASSAY_GPU_KERNEL;
	if (has(ev, XPLANE_MEMCPY) || assay_str_starts(name, "Memcpy"))
		return ASSAY_GPU_MEMCPY;
	if (has(ev, XPLANE_MEMSET) || assay_str_starts(name, "Memset"))
		return ASSAY_GPU_MEMSET;
	return has(ev, XPLANE_CORR) ? ASSAY_GPU_KERNEL : -1;
}

uint32_t xplane_context(const xplane_event *ev)
{
	assay_str s = ev->stat[XPLANE_CONTEXT].text;
	uint64_t v;
	if (assay_str_starts(s, "$$"))
		s = (assay_str){s.p + 2, s.n - 2};
	return assay_str_u64(s, &v) && v < UINT32_MAX ? (uint32_t)v : UINT32_MAX;
}

static int64_t bytes_of(const xplane_event *ev)
{
	assay_str s;
	int64_t v;
	if ((detail(ev->stat[XPLANE_MEMCPY].text, "size", &s) ||
	     detail(ev->stat[XPLANE_MEMSET].text, "num_bytes", &s)) &&
	    assay_str_i64(s, &v) && v >= 0)
		return v;
	return -1;
}

static void on_stream(xplane *x, const xplane_line *line, const xplane_event *ev)
{
	int kind = gpu_kind(x->part, ev);
	if (kind < 0) {
		add_mark(x, line, ev);
		return;
	}
	uint32_t r = assay_add(&x->part->t, ASSAY_T_gpu);
	assay_gpu_table *g = &x->part->t.gpu;
	g->ts[r] = ev->ts;
	g->dur[r] = ev->dur;
	g->name[r] = ev->name;
	g->track[r] = line->track;
	g->corr[r] = (uint64_t)xplane_number(ev, XPLANE_CORR, 0);
	g->external[r] = xplane_u32(x, ev, XPLANE_EXTERNAL, 0);
	g->args[r] = ev->args;
	g->bytes[r] = bytes_of(ev);
	g->graph[r] = xplane_u32(x, ev, XPLANE_GRAPH, 0);
	g->graph_node[r] = (uint64_t)xplane_number(ev, XPLANE_NODE, 0);
	g->context[r] = xplane_context(ev);
	g->queue[r] = xplane_u32(x, ev, XPLANE_QUEUE, UINT32_MAX);
	g->dispatch[r] = xplane_u32(x, ev, XPLANE_DISPATCH, UINT32_MAX);
	g->kind[r] = (uint8_t)kind;
	if (ev->stat[XPLANE_KERNEL].text.n)
		kernel_details(x, r, &ev->stat[XPLANE_KERNEL]);
	give_scope(x, false, r, ev);
	keep_rest(x, ASSAY_KEPT_GPU, r, ev);
	assay_count(x->part, ASSAY_ISSUE_no_name, !g->name[r]);
	assay_count(x->part, ASSAY_ISSUE_zero_correlation, !g->corr[r]);
}

static void on_derived(xplane *x, const xplane_line *line, const xplane_event *ev)
{
	add_mark(x, line, ev);
	if (assay_str_is(line->name, XPLANE_STEPS_LINE))
		*assay_push(&x->derived_steps) =
			(xplane_step){ev->ts, ev->dur, x->plane->id, ev->name, x->part->source};
}

/* Names the counters of other telemetry have; the rest keep theirs. */
static const struct {
	const char *theirs, *ours;
	double parts; /* of theirs in one of ours; dividing gives back what was multiplied */
} counters[] = {{"power_mw", "power_watts", 1e3}};

void xplane_on_counters(xplane *x, const xplane_line *line, const xplane_event *ev)
{
	/* the one number is the only argument: "name": value */
	assay_str s = assay_pool_get(&x->part->strings, ev->args), key;
	ptrdiff_t colon = assay_str_find(s, "\": ");
	double v;
	if (colon < 0)
		return;
	key = (assay_str){s.p + colon + 3, s.n - (size_t)colon - 3};
	if (!assay_str_f64(assay_str_cut(&key, ','), &v))
		return;
	uint32_t r = assay_add(&x->part->t, ASSAY_T_counter);
	assay_counter_table *c = &x->part->t.counter;
	c->ts[r] = ev->ts;
	c->track[r] = line->track;
	c->name[r] = ev->name;
	c->value[r] = v;
	assay_str name = assay_pool_get(&x->part->strings, ev->name);
	for (size_t i = 0; i < ASSAY_COUNT_OF(counters); i++)
		if (assay_str_is(name, counters[i].theirs)) {
			c->name[r] = assay_intern_z(&x->part->strings, counters[i].ours);
			c->value[r] = v / counters[i].parts;
		}
}

/* Recorders for AMD have written grids both in work-items and in blocks. A grid that the block does
 * not divide can only be in blocks, and then all of the plane's are. Rows hold work-items. */
void xplane_device_end(xplane *x, size_t first)
{
	assay_gpu_table *g = &x->part->t.gpu;
	bool blocks = false;
	for (size_t r = first; x->plane->amd && r < g->n; r++)
		blocks |= (g->block_x[r] && g->grid_x[r] % g->block_x[r]) ||
			  (g->block_y[r] && g->grid_y[r] % g->block_y[r]) ||
			  (g->block_z[r] && g->grid_z[r] % g->block_z[r]);
	for (size_t r = first; blocks && r < g->n; r++) {
		uint64_t in[3] = {(uint64_t)g->grid_x[r] * g->block_x[r],
				  (uint64_t)g->grid_y[r] * g->block_y[r],
				  (uint64_t)g->grid_z[r] * g->block_z[r]};
		if (in[0] > UINT32_MAX || in[1] > UINT32_MAX || in[2] > UINT32_MAX) {
			assay_count(x->part, ASSAY_ISSUE_wide_value, 1);
			continue;
		}
		g->grid_x[r] = (uint32_t)in[0];
		g->grid_y[r] = (uint32_t)in[1];
		g->grid_z[r] = (uint32_t)in[2];
	}
}

/* ------------------------------------------------------------------ host lines */

/* Spans of the runtimes themselves; any other name is taken for one a user chose. */
static const char *const runtime_words[] = {
	"::",
	"PjitFunction",
	"PJRT_",
	"PjRt",
	"ParseArguments",
	"MemoryAllocation",
	"MemoryDeallocation",
	"Wait for ",
	"XLA GPU module",
	"Thunk",
	"command_buffer",
	"ThenExecuteCallback",
	"ExecutePrepare",
	"Build buffer allocations",
	"AllocateOutputBuffers",
	"Handle input",
	"Resolve constant globals",
	"ComputeSemaphore",
	"CreateOutputs",
};

bool xplane_name_is_runtime(assay_str name)
{
	return assay_str_has_any(name, runtime_words, ASSAY_COUNT_OF(runtime_words));
}

static bool starts_call(assay_str name, const char *prefix)
{
	size_t n = strlen(prefix);
	return assay_str_starts(name, prefix) && name.n > n && name.p[n] >= 'A' && name.p[n] <= 'Z';
}

static assay_host_kind guess_kind(const assay_part *p, const xplane_line *line,
				  const xplane_event *ev)
{
	assay_str name = assay_pool_get(&p->strings, ev->name);
	if (assay_str_ends(line->name, "/NVTX") || assay_str_ends(line->name, "/ROCTX"))
		return ASSAY_HOST_MARKER;
	if (starts_call(name, "hip") || starts_call(name, "cuda"))
		return ASSAY_HOST_RUNTIME;
	/* CUPTI names a launch after the kernel it launched */
	if (has(ev, XPLANE_CORR) || starts_call(name, "cu"))
		return ASSAY_HOST_DRIVER;
	if (assay_str_starts(name, "$"))
		return ASSAY_HOST_PYTHON;
	if (has(ev, XPLANE_STEP_NUM))
		return ASSAY_HOST_ANNOTATION;
	if (assay_str_is(name, "<UNKNOWN>") || assay_str_is(name, "BUFFER_FLUSH") ||
	    assay_str_is(line->name, "CUPTI overhead"))
		return ASSAY_HOST_OVERHEAD;
	if (has(ev, XPLANE_SOURCE) || has(ev, XPLANE_PRODUCER) || has(ev, XPLANE_CONSUMER))
		return ASSAY_HOST_OP;
	if (!name.n) /* the file was cut in front of its names */
		return ASSAY_HOST_OTHER;
	return ev->runtime ? ASSAY_HOST_OP : ASSAY_HOST_ANNOTATION;
}

int8_t xplane_host_kind(assay_str name)
{
	for (int8_t k = 0; k < ASSAY_HOST_KIND_COUNT; k++)
		if (assay_str_is(name, assay_host_kind_name[k]))
			return k;
	return -1;
}

static assay_host_kind host_kind(const xplane *x, const xplane_line *line, const xplane_event *ev)
{
	const xplane_value *cat = &ev->stat[XPLANE_CAT];
	if (!cat->text.n)
		return guess_kind(x->part, line, ev);
	int k = cat->field == XSTAT_REF ? x->plane->stats.p[cat->ref].host_kind
					: xplane_host_kind(cat->text);
	return k < 0 ? ASSAY_HOST_OTHER : (assay_host_kind)k;
}

static uint32_t op_detail(xplane *x, const xplane_event *ev, assay_host_kind kind)
{
	assay_op_table *t = &x->part->t.op;
	uint32_t r = assay_add(&x->part->t, ASSAY_T_op);
	(void)kind;
	t->external[r] = xplane_u32(x, ev, XPLANE_EXTERNAL, 0);
	t->seq[r] = xplane_number(ev, XPLANE_SEQ, -1);
	t->fwd_thread[r] = (int32_t)xplane_u32(x, ev, XPLANE_FWD_THREAD, UINT32_MAX);
	t->ev_idx[r] = xplane_u32(x, ev, XPLANE_EV_IDX, UINT32_MAX);
	return r;
}

static uint32_t api_detail(xplane *x, const xplane_event *ev, assay_host_kind kind)
{
	assay_api_table *t = &x->part->t.api;
	uint32_t r = assay_add(&x->part->t, ASSAY_T_api);
	(void)kind;
	t->corr[r] = (uint64_t)xplane_number(ev, XPLANE_CORR, 0);
	t->external[r] = xplane_u32(x, ev, XPLANE_EXTERNAL, 0);
	t->cbid[r] = xplane_u32(x, ev, XPLANE_CBID, UINT32_MAX);
	int64_t stack = xplane_number(ev, XPLANE_STACK, 0);
	int64_t status = xplane_number(ev, XPLANE_STATUS, ASSAY_NO_STATUS);
	if (stack > 0 && stack <= ASSAY_FILE_STACK_MAX)
		t->stack[r] = (uint32_t)stack;
	if (ev->column[XPLANE_STATUS] && status >= INT32_MIN && status <= INT32_MAX)
		t->status[r] = (int32_t)status;
	return r;
}

static uint32_t frame_detail(xplane *x, const xplane_event *ev, assay_host_kind kind)
{
	assay_frame_table *t = &x->part->t.frame;
	uint32_t r = assay_add(&x->part->t, ASSAY_T_frame);
	(void)kind;
	t->id[r] = xplane_u32(x, ev, XPLANE_PY_ID, UINT32_MAX);
	t->parent[r] = xplane_u32(x, ev, XPLANE_PY_PARENT, UINT32_MAX);
	t->ev_idx[r] = xplane_u32(x, ev, XPLANE_EV_IDX, UINT32_MAX);
	return r;
}

static uint32_t other_detail(xplane *x, const xplane_event *ev, assay_host_kind kind)
{
	uint32_t r = assay_add(&x->part->t, ASSAY_T_other);
	assay_str cat = ev->stat[XPLANE_CAT].text;
	x->part->t.other.cat[r] = assay_intern(
		&x->part->strings, cat.n ? cat : assay_str_of(assay_host_kind_name[kind]));
	return r;
}

static uint32_t (*const host_details[])(xplane *, const xplane_event *, assay_host_kind) = {
#define X(id, name, table) [ASSAY_HOST_##id] = table##_detail,
	ASSAY_HOST_KINDS(X)
#undef X
};

static void add_step(xplane *x, int64_t ts, int64_t dur, int64_t num, assay_sid name,
		     assay_step_origin origin)
{
	uint32_t r = assay_add(&x->part->t, ASSAY_T_step);
	assay_step_table *s = &x->part->t.step;
	s->source[r] = x->part->source;
	s->ts[r] = ts;
	s->dur[r] = dur;
	s->number[r] = num;
	s->name[r] = name;
	s->origin[r] = (uint8_t)origin;
}

/* What says that it is a step, as our writer noted it: what was guessed stays a guess. */
static assay_step_origin step_origin(const xplane_event *ev)
{
	for (int i = 0; i < ASSAY_STEP_ORIGIN_COUNT; i++)
		if (assay_str_is(ev->stat[XPLANE_STEP_ORIGIN].text, assay_step_origin_name[i]))
			return (assay_step_origin)i;
	return ASSAY_STEP_ANNOTATION;
}

static void on_thread(xplane *x, const xplane_line *line, const xplane_event *ev)
{
	if (assay_str_is(ev->stat[XPLANE_CAT].text, XPLANE_CAT_ALLOC)) {
		xplane_add_memory(x, ev);
		return;
	}
	assay_host_kind kind = host_kind(x, line, ev);
	if (assay_str_is(ev->stat[XPLANE_CAT].text, XPLANE_CAT_STEP)) {
		assay_step_origin origin = step_origin(ev);
		if (origin != ASSAY_STEP_REPEATED) /* guessed again by whoever wants guesses */
			add_step(x, ev->ts, ev->dur, xplane_number(ev, XPLANE_STEP_NUM, -1),
				 ev->name, origin);
		x->marked_steps = true;
		return;
	}
	uint32_t r = assay_add(&x->part->t, ASSAY_T_host);
	assay_host_table *h = &x->part->t.host;
	h->ts[r] = ev->ts;
	h->dur[r] = ev->dur;
	h->name[r] = ev->name;
	h->track[r] = line->track;
	h->args[r] = ev->args;
	h->kind[r] = (uint8_t)kind;
	h->detail[r] = host_details[kind](x, ev, kind);
	give_scope(x, true, r, ev);
	keep_rest(x, ASSAY_KEPT_HOST, r, ev);
	/* torch's own markers are found by their name, whatever file they come in */
	assay_str name = assay_pool_get(&x->part->strings, ev->name);
	if (!has(ev, XPLANE_STEP_NUM) || !has(ev, XPLANE_ROOT))
		return;
	if (!assay_str_starts(name, "ProfilerStep"))
		add_step(x, ev->ts, ev->dur, xplane_number(ev, XPLANE_STEP_NUM, -1), ev->name,
			 step_origin(ev));
	x->marked_steps = true;
}

void xplane_steps_end(xplane *x)
{
	uint32_t source = x->part->source;
	assay_map first = {0}; /* by source: one device speaks for all */
	for (size_t i = 0; i < x->derived_steps.n; i++) {
		uint32_t *device = assay_map_at(&first, x->derived_steps.p[i].source);
		if (x->derived_steps.p[i].device < *device)
			*device = (uint32_t)x->derived_steps.p[i].device;
	}
	for (size_t i = 0; !x->marked_steps && i < x->derived_steps.n; i++) {
		const xplane_step *s = &x->derived_steps.p[i];
		int64_t n = -1;
		if (s->device != assay_map_get(&first, s->source))
			continue;
		assay_str_i64(assay_pool_get(&x->part->strings, s->name), &n);
		x->part->source = s->source;
		add_step(x, s->ts, s->dur, n, s->name, ASSAY_STEP_DEVICE);
	}
	x->part->source = source;
	assay_map_free(&first);
}

/* ------------------------------------------------------------------ lines */

/* "Host Threads/123/NVTX" is a band beside thread 123, not a thread of its own. */
static int64_t thread_of(const xplane_line *line)
{
	static const char head[] = "Host Threads/";
	assay_str s = line->name;
	int64_t tid;
	if (!assay_str_starts(s, head))
		return line->id;
	s = (assay_str){s.p + sizeof head - 1, s.n - (sizeof head - 1)};
	bool band = memchr(s.p, '/', s.n) != NULL;
	return band && assay_str_i64(assay_str_cut(&s, '/'), &tid) ? tid : line->id;
}

xplane_sink *xplane_line_begin(xplane *x, xplane_line *line)
{
	assay_part *p = x->part;
	assay_sid name = assay_intern(&p->strings, line->name.n ? line->name : line->display);
	bool device = x->plane->device;
	if (x->plane->beside)
		return xplane_beside_begin(x, line);
	bool counter = device && assay_str_is(line->name, XPLANE_COUNTER_LINE);
	if (counter) {
		line->track = assay_track(p, ASSAY_TRACK_TELEMETRY, x->plane->id, -1, 0, name);
		return xplane_on_counters;
	}
	bool derived = xplane_line_is_derived(line->id, line->name);
	if (device) {
		line->track = assay_track(p, ASSAY_TRACK_STREAM, x->plane->id, line->id, 0, name);
		p->t.track.name[line->track] = name;
		return derived ? on_derived : on_stream;
	}
	bool lane = assay_str_starts(line->name, "Host Threads/") &&
		    assay_str_ends(line->name, XPLANE_LANE);
	if (derived || lane)
		return NULL; /* launch statistics: nothing that the rows do not say */
	int64_t number = thread_of(line);
	xplane_thread thread = xplane_thread_of(x, x->plane->pid, number);
	line->band = number != line->id;
	p->source = thread.source;
	line->track = assay_track(p, ASSAY_TRACK_THREAD, thread.pid, thread.tid,
				  assay_intern(&p->strings, x->plane->name), name);
	if (!line->band)
		p->t.track.name[line->track] = name;
	return on_thread;
}
