/* From parsed events to rows: categories, tracks, arguments with columns. */
#include "read/chrome.h"

#include <assert.h>

#include "model/columns.h"
#include "read/rocprof.h"

const chrome_how chrome_arg_how[CHROME_ARG_COUNT] = {
#define X(key, id, how) CHROME_##how,
	CHROME_ARGS(X)
#undef X
};

/* What a category's spans become. */
typedef enum { TO_HOST, TO_GPU, TO_SYNC, TO_MARK } target;

static const struct category {
	const char *name;
	target to;
	uint8_t kind;
} categories[] = {
#define CATEGORY(name, to, kind) {name, TO_##to, ASSAY_##to##_##kind},
#define CATEGORY_SYNC(name)      {name, TO_SYNC, 0},
#define CATEGORY_MARK(name)      {name, TO_MARK, 0},
#include "read/category.def"
};
static_assert(ASSAY_COUNT_OF(categories) <= CHROME_CATS, "room for every category");

static void add_word(chrome_words *w, const char *text, int id)
{
	size_t n = strlen(text);
	chrome_word word = {.mask = ~0ull, .n = (uint32_t)n, .id = id, .text = text};
	memcpy(&word.head, text, n < 8 ? n : 8);
	if (n < 8)
		word.mask >>= 64 - 8 * n;
	if (n > 8)
		memcpy(&word.tail, text + n - 8, 8);
	unsigned i = chrome_word_home(word.head, n);
	while (w->slot[i].n)
		i = (i + 1) % CHROME_WORDS;
	w->slot[i] = w->by_id[id] = word;
}

void chrome_words_fill(chrome *c)
{
#define X(key, id, how) add_word(&c->args, key, CHROME_##id);
	CHROME_ARGS(X)
#undef X
#define X(key, id) add_word(&c->keys, key, CHROME_KEY_##id);
	CHROME_KEYS(X)
#undef X
	for (size_t i = 0; i < ASSAY_COUNT_OF(categories); i++)
		add_word(&c->cats, categories[i].name, (int)i);
}

static bool has(const chrome_event *ev, chrome_arg a)
{
	return ev->has >> a & 1;
}

static int64_t arg_or(const chrome_event *ev, chrome_arg a, int64_t absent)
{
	return has(ev, a) ? ev->arg[a] : absent;
}

/* A column narrower than 64 bits: values that do not fit are counted and read as absent. */
static uint32_t arg_u32(chrome_worker *w, const chrome_event *ev, chrome_arg a, uint32_t absent)
{
	if (!has(ev, a))
		return absent;
	int64_t v = ev->arg[a];
	if (v >= 0 && v <= UINT32_MAX)
		return (uint32_t)v;
	assay_count(&w->part, ASSAY_ISSUE_wide_value,
		    v != -1); /* -1 is how some writers say "none" */
	return absent;
}

static uint16_t clamp16(chrome_worker *w, int64_t v, uint16_t absent)
{
	if (v >= 0 && v <= UINT16_MAX)
		return (uint16_t)v;
	assay_count(&w->part, ASSAY_ISSUE_wide_value, 1);
	return absent;
}

static uint16_t arg_u16(chrome_worker *w, const chrome_event *ev, chrome_arg arg)
{
	return has(ev, arg) ? clamp16(w, ev->arg[arg], UINT16_MAX) : UINT16_MAX;
}

static uint32_t external_of(chrome_worker *w, const chrome_event *ev)
{
	return arg_u32(w, ev, has(ev, CHROME_EXTERNAL) ? CHROME_EXTERNAL : CHROME_EXTERNAL_OLD, 0);
}

/* Arguments that a kind of row has columns for. */
#define BIT(id)   (1ull << CHROME_##id)
#define EXTERNALS (BIT(EXTERNAL) | BIT(EXTERNAL_OLD))
static const uint64_t places_op =
	EXTERNALS | BIT(SEQ) | BIT(FWD_THREAD) | BIT(EV_IDX) | BIT(RECORD_FN);
static const uint64_t places_api = EXTERNALS | BIT(CORR) | BIT(CBID) | BIT(STATUS);
static const uint64_t places_frame = BIT(PY_ID) | BIT(PY_PARENT) | BIT(EV_IDX);
static const uint64_t places_gpu =
	EXTERNALS | BIT(CORR) | BIT(STREAM) | BIT(DEVICE) | BIT(CONTEXT) | BIT(GRID) | BIT(BLOCK) |
	BIT(REGS) | BIT(SHARED) | BIT(BYTES) | BIT(GRAPH) | BIT(GRAPH_NODE) | BIT(SCRATCH) |
	BIT(QUEUE) | BIT(DISPATCH) | BIT(ACC_REGS) | BIT(SCALAR_REGS) | BIT(QUEUED);
static const uint64_t places_sync = BIT(CORR) | BIT(STREAM) | BIT(DEVICE) | BIT(CONTEXT) |
				    BIT(WAIT_STREAM) | BIT(RECORD_CORR) | BIT(EVENT) |
				    BIT(SYNC_ID) | BIT(ON_STREAM) | BIT(FOUND);
static const uint64_t places_mark = EXTERNALS | BIT(STREAM) | BIT(DEVICE);
static const uint64_t places_alloc = BIT(ADDR) | BIT(ALLOC_BYTES) | BIT(TOTAL) | BIT(RESERVED) |
				     BIT(ALLOC_DEVICE) | BIT(CORR) | BIT(EV_IDX);
static const uint64_t places_other = 0;

static const char *const arg_keys[CHROME_ARG_COUNT] = {
#define X(key, id, how) key,
	CHROME_ARGS(X)
#undef X
};

static void append_text(chrome_worker *w, const char *p, size_t n)
{
	assay_vec_reserve(&w->extra, w->extra.n + n);
	memcpy(w->extra.p + w->extra.n, p, n);
	w->extra.n += n;
}

/* By hand: a format string would cost more than all else that is done for the event. */
static void append_number(chrome_worker *w, int64_t v)
{
	char digits[24];
	size_t at = sizeof digits;
	uint64_t u = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
	do
		digits[--at] = (char)('0' + u % 10);
	while (u /= 10);
	if (v < 0)
		digits[--at] = '-';
	append_text(w, digits + at, sizeof digits - at);
}

static void append_arg(chrome_worker *w, const chrome_event *ev, int a)
{
	const uint32_t *v = a == CHROME_GRID ? ev->grid : ev->block;
	bool first = w->extra.n == 0;
	append_text(w, first ? "\"" : ", \"", first ? 1 : 3);
	append_text(w, arg_keys[a], strlen(arg_keys[a]));
	append_text(w, "\": ", 3);
	if (a != CHROME_GRID && a != CHROME_BLOCK) {
		append_number(w, ev->arg[a]);
		return;
	}
	for (int i = 0; i < 3; i++) {
		append_text(w, i ? ", " : "[", i ? 2 : 1);
		append_number(w, v[i]);
	}
	append_text(w, "]", 1);
}

static assay_sid text_of_run(chrome_worker *w, const chrome_event *ev)
{
	if (ev->run)
		return ev->run->id;
	assay_sid id = assay_intern(&w->part.strings, ev->extra);
	if (ev->run_new) {
		chrome_run *run = &w->run[id % CHROME_RUNS];
		*run = (chrome_run){assay_pool_get(&w->part.strings, id).p, (uint32_t)ev->extra.n,
				    ev->run_last, id, run->next};
		chrome_run_met(w, ev->name, id % CHROME_RUNS);
	}
	return id;
}

/* Text of the arguments that the row has no column for, the numbers among them too. */
static assay_sid leftover_args(chrome_worker *w, const chrome_event *ev, uint64_t places)
{
	uint64_t left = (ev->has & ~places) | ev->zero;
	if (!left)
		return text_of_run(w, ev);
	if (ev->extra.p != w->extra.p) {
		assay_vec_reserve(&w->extra, ev->extra.n + 1);
		if (ev->extra.n)
			memcpy(w->extra.p, ev->extra.p, ev->extra.n);
	}
	w->extra.n = ev->extra.n;
	for (; left; left &= left - 1)
		append_arg(w, ev, __builtin_ctzll(left));
	return assay_intern(&w->part.strings, (assay_str){w->extra.p, w->extra.n});
}

static uint32_t numbered_track(chrome_worker *w, assay_track_kind kind, int64_t pid, int64_t tid)
{
	unsigned i = (unsigned)((uint64_t)pid * 31 + (uint64_t)tid * 7 + kind) % CHROME_TRACKS;
	if (w->cache[i].track != ASSAY_NO_ROW && w->cache[i].pid == pid && w->cache[i].tid == tid &&
	    w->cache[i].kind == kind)
		return w->cache[i].track;
	uint32_t track = assay_track(&w->part, kind, pid, tid, 0, 0);
	w->cache[i].pid = pid;
	w->cache[i].tid = tid;
	w->cache[i].kind = kind;
	w->cache[i].track = track;
	return track;
}

static uint32_t thread_of(chrome_worker *w, const chrome_event *ev)
{
	if (ev->pid.num >= 0 && ev->tid.num >= 0)
		return numbered_track(w, ASSAY_TRACK_THREAD, ev->pid.num, ev->tid.num);
	return assay_track(&w->part, ASSAY_TRACK_THREAD, ev->pid.num, ev->tid.num,
			   assay_intern(&w->part.strings, ev->pid.text),
			   assay_intern(&w->part.strings, ev->tid.text));
}

/* Kineto puts GPU rows at pid = device, tid = stream, and says both again in the arguments. */
static uint32_t numbered_stream(chrome_worker *w, const chrome_event *ev, int64_t stream)
{
	int64_t device = arg_or(ev, CHROME_DEVICE, ev->pid.num);
	if (ev->pid.num >= ASSAY_PID_STEP && ev->pid.num % ASSAY_PID_STEP == device)
		device = ev->pid.num; /* of a further input: split_inputs() */
	if (stream == UINT32_MAX)     /* how older Kineto writes "no stream" */
		stream = -1;
	return numbered_track(w, ASSAY_TRACK_STREAM, device, stream);
}

static uint32_t stream_of(chrome_worker *w, const chrome_event *ev)
{
	return numbered_stream(w, ev, arg_or(ev, CHROME_STREAM, ev->tid.num));
}

static assay_sid text_of(chrome_worker *w, assay_str s, bool escaped)
{
	if (escaped)
		s = assay_json_unescape(&w->scratch, s);
	if (s.n > UINT32_MAX)
		return assay_intern(&w->part.strings, s);
	chrome_ends ends = chrome_ends_of(s);
	chrome_seen *seen = &w->seen[chrome_ends_slot(ends, s.n)];
	if (seen->ends.head == ends.head && seen->ends.tail == ends.tail && seen->n == s.n &&
	    (s.n <= 16 || !memcmp(seen->text + 8, s.p + 8, s.n - 16)))
		return seen->id;
	assay_sid id = assay_intern(&w->part.strings, s);
	*seen = (chrome_seen){ends, assay_pool_get(&w->part.strings, id).p, (uint32_t)s.n, id};
	return id;
}

/* A new row whose columns the caller sets all: skips filling in absent values. */
#define NEW_ROW(w, table)                                                                          \
	((w)->part.t.table.n < (w)->part.t.table.cap                                               \
		 ? (void)0                                                                         \
		 : assay_reserve(&(w)->part.t, ASSAY_T_##table, 1),                                \
	 (uint32_t)(w)->part.t.table.n++)

static uint32_t op_detail(chrome_worker *w, const chrome_event *ev)
{
	static_assert(ASSAY_COLUMNS_op == 4, "all are set");
	uint32_t r = NEW_ROW(w, op);
	assay_op_table *t = &w->part.t.op;
	t->external[r] = external_of(w, ev);
	t->seq[r] = arg_or(ev, CHROME_SEQ, -1);
	t->fwd_thread[r] = (int32_t)arg_u32(w, ev, CHROME_FWD_THREAD, UINT32_MAX);
	t->ev_idx[r] = arg_u32(w, ev, CHROME_EV_IDX, UINT32_MAX);
	return r;
}

static uint32_t api_detail(chrome_worker *w, const chrome_event *ev)
{
	static_assert(ASSAY_COLUMNS_api == 6, "all are set");
	uint32_t r = NEW_ROW(w, api);
	assay_api_table *t = &w->part.t.api;
	t->corr[r] = (uint64_t)arg_or(ev, CHROME_CORR, 0);
	t->external[r] = external_of(w, ev);
	t->cbid[r] = arg_u32(w, ev, CHROME_CBID, UINT32_MAX);
	t->status[r] = (int32_t)arg_or(ev, CHROME_STATUS, ASSAY_NO_STATUS);
	t->lent[r] = 0;
	t->stack[r] = ev->stack ? ev->stack : ASSAY_NO_ROW;
	return r;
}

static uint32_t frame_detail(chrome_worker *w, const chrome_event *ev)
{
	static_assert(ASSAY_COLUMNS_frame == 3, "all are set");
	uint32_t r = NEW_ROW(w, frame);
	assay_frame_table *t = &w->part.t.frame;
	t->id[r] = arg_u32(w, ev, CHROME_PY_ID, UINT32_MAX);
	t->parent[r] = arg_u32(w, ev, CHROME_PY_PARENT, UINT32_MAX);
	t->ev_idx[r] = arg_u32(w, ev, CHROME_EV_IDX, UINT32_MAX);
	return r;
}

static uint32_t other_detail(chrome_worker *w, const chrome_event *ev)
{
	static_assert(ASSAY_COLUMNS_other == 1, "all are set");
	uint32_t r = NEW_ROW(w, other);
	w->part.t.other.cat[r] = text_of(w, ev->cat, ev->cat_escaped);
	return r;
}

static uint32_t (*const host_details[])(chrome_worker *, const chrome_event *) = {
#define X(id, name, table) [ASSAY_HOST_##id] = table##_detail,
	ASSAY_HOST_KINDS(X)
#undef X
};

static const uint64_t *const host_place_of[] = {
#define X(id, name, table) [ASSAY_HOST_##id] = &places_##table,
	ASSAY_HOST_KINDS(X)
#undef X
};

/* Rows that our own writer made from others are made again from them. */
static bool is_derived(const chrome_event *ev)
{
	return assay_str_find(ev->args, "\"assay_derived\"") >= 0;
}

/* A row beside a thread's own, of what it was seen doing. */
static bool is_lane(const chrome_event *ev)
{
	return ev->tid.num >= ASSAY_LANE_ROW && is_derived(ev);
}

static void add_host(chrome_worker *w, const chrome_event *ev, assay_host_kind kind, uint32_t track)
{
	static_assert(ASSAY_COLUMNS_host == 7, "all are set");
	uint32_t r = NEW_ROW(w, host);
	assay_host_table *h = &w->part.t.host;
	h->ts[r] = ev->ts;
	h->dur[r] = ev->dur;
	h->name[r] = text_of(w, ev->name, ev->name_escaped);
	h->track[r] = track;
	h->args[r] = leftover_args(w, ev, *host_place_of[kind]);
	h->kind[r] = (uint8_t)kind;
	h->detail[r] = host_details[kind](w, ev);
	if (kind <= ASSAY_HOST_ANNOTATION)
		w->zeros[ASSAY_ZEROS_OP + kind] += (ev->has >> CHROME_RECORD_FN & 1) << 32 | 1;
}

/* Up to PyTorch 1.11 the profiler's own ranges were operators like any other; they last while
 * other threads work for the one they are on. */
static bool is_range(assay_str name)
{
	switch (name.n ? name.p[0] : 0) { /* nearly all begin otherwise */
	case 'P':
		return assay_str_starts(name, "ProfilerStep#");
	case 'O':
		return assay_str_starts(name, "Optimizer.step#") ||
		       assay_str_starts(name, "Optimizer.zero_grad#");
	case 'e':
		return assay_str_starts(name, "enumerate(DataLoader)#");
	}
	return false;
}

static assay_host_kind host_kind_of(const chrome_event *ev, assay_host_kind kind)
{
	return kind == ASSAY_HOST_OP && is_range(ev->name) ? ASSAY_HOST_ANNOTATION : kind;
}

static void add_gpu(chrome_worker *w, const chrome_event *ev, assay_gpu_kind kind)
{
	uint32_t r = assay_add(&w->part.t, ASSAY_T_gpu);
	assay_gpu_table *g = &w->part.t.gpu;
	g->ts[r] = ev->ts;
	g->dur[r] = ev->dur;
	g->name[r] = text_of(w, ev->name, ev->name_escaped);
	g->track[r] = stream_of(w, ev);
	g->corr[r] = (uint64_t)arg_or(ev, CHROME_CORR, 0);
	g->external[r] = external_of(w, ev);
	g->args[r] = leftover_args(w, ev, places_gpu);
	g->bytes[r] = arg_or(ev, CHROME_BYTES, -1);
	g->graph_node[r] = (uint64_t)arg_or(ev, CHROME_GRAPH_NODE, 0);
	g->graph[r] = arg_u32(w, ev, CHROME_GRAPH, 0);
	g->context[r] = arg_u32(w, ev, CHROME_CONTEXT, UINT32_MAX);
	g->shared[r] = arg_u32(w, ev, CHROME_SHARED, UINT32_MAX);
	g->grid_x[r] = ev->grid[0];
	g->grid_y[r] = ev->grid[1];
	g->grid_z[r] = ev->grid[2];
	g->block_x[r] = clamp16(w, ev->block[0], 0);
	g->block_y[r] = clamp16(w, ev->block[1], 0);
	g->block_z[r] = clamp16(w, ev->block[2], 0);
	g->scratch[r] = arg_u32(w, ev, CHROME_SCRATCH, UINT32_MAX);
	g->queue[r] = arg_u32(w, ev, CHROME_QUEUE, UINT32_MAX);
	g->dispatch[r] = arg_u32(w, ev, CHROME_DISPATCH, UINT32_MAX);
	g->regs[r] = arg_u16(w, ev, CHROME_REGS);
	g->acc_regs[r] = arg_u16(w, ev, CHROME_ACC_REGS);
	g->scalar_regs[r] = arg_u16(w, ev, CHROME_SCALAR_REGS);
	g->kind[r] = (uint8_t)kind;
	w->zeros[kind] += (ev->has >> CHROME_QUEUED & 1) << 32 | 1;
	assay_count(&w->part, ASSAY_ISSUE_no_name, !g->name[r]);
	assay_count(&w->part, ASSAY_ISSUE_zero_correlation, !g->corr[r]);
}

static void add_sync(chrome_worker *w, const chrome_event *ev)
{
	if (is_derived(ev))
		return;
	uint32_t r = assay_add(&w->part.t, ASSAY_T_sync);
	assay_sync_table *s = &w->part.t.sync;
	s->ts[r] = ev->ts;
	s->dur[r] = ev->dur;
	s->name[r] = text_of(w, ev->name, ev->name_escaped);
	s->track[r] = has(ev, CHROME_ON_STREAM) ? numbered_stream(w, ev, ev->arg[CHROME_ON_STREAM])
						: stream_of(w, ev);
	s->corr[r] = (uint64_t)arg_or(ev, CHROME_CORR, 0);
	s->wait_stream[r] = arg_or(ev, CHROME_WAIT_STREAM, -1);
	s->event[r] = arg_or(ev, CHROME_EVENT, -1);
	s->record_corr[r] = arg_or(ev, CHROME_RECORD_CORR, -1);
	s->sync_id[r] = (uint64_t)arg_or(ev, CHROME_SYNC_ID, 0);
	s->context[r] = arg_u32(w, ev, CHROME_CONTEXT, UINT32_MAX);
	s->found[r] = arg_or(ev, CHROME_FOUND, 0) != 0;
	s->args[r] = leftover_args(w, ev, places_sync);
}

static void add_mark(chrome_worker *w, const chrome_event *ev)
{
	uint32_t r = assay_add(&w->part.t, ASSAY_T_mark);
	assay_mark_table *m = &w->part.t.mark;
	m->ts[r] = ev->ts;
	m->dur[r] = ev->dur;
	m->name[r] = text_of(w, ev->name, ev->name_escaped);
	m->track[r] = stream_of(w, ev);
	m->external[r] = external_of(w, ev);
	m->args[r] = leftover_args(w, ev, places_mark);
}

/* Times that sums and differences of a few may hold: 73 years around the base. */
static int64_t bounded(chrome_worker *w, int64_t t)
{
	const int64_t limit = 1ll << 61;
	if (t <= limit && t >= -limit)
		return t;
	assay_count(&w->part, ASSAY_ISSUE_wide_value, 1);
	return 0;
}

static void set_arg(chrome_event *ev, chrome_arg a, int64_t v)
{
	if (v >= 0) {
		ev->has |= 1ull << a;
		ev->arg[a] = v;
	}
}

static void add_rocprof(chrome_worker *w, chrome_event *ev, const chrome_rocprof *row)
{
	ev->ts = bounded(w, row->begin);
	ev->dur = row->end - row->begin;
	w->extra.n = 0;
	for (size_t i = 0; i < row->kept_n; i++) {
		if (i)
			append_text(w, ", ", 2);
		append_text(w, row->kept[i].p, row->kept[i].n);
	}
	ev->extra = (assay_str){w->extra.p, w->extra.n};
	ev->run = NULL;
	ev->run_new = false;
	if (row->device < 0) {
		ev->pid = (chrome_ident){.num = row->pid};
		ev->tid = (chrome_ident){.num = row->tid};
		add_host(w, ev, assay_rocprof_first_call(ev->name), thread_of(w, ev));
		return;
	}
	set_arg(ev, CHROME_DEVICE, row->device);
	set_arg(ev, CHROME_STREAM, row->stream);
	set_arg(ev, CHROME_CORR, (int64_t)CHROME_ROCPROF_CORR);
	add_gpu(w, ev, assay_rocprof_first_work(ev->name));
}

static void add_uncategorized(chrome_worker *w, chrome_event *ev)
{
	chrome_rocprof row;
	if (chrome_rocprof_row(ev, &row))
		add_rocprof(w, ev, &row);
	else
		add_host(w, ev, ASSAY_HOST_OTHER, thread_of(w, ev));
}

void chrome_add_span(chrome_worker *w, chrome_event *ev)
{
	if (!ev->has_ts || !ev->has_dur)
		assay_count(&w->part, ASSAY_ISSUE_no_duration, 1);
	if (!ev->has_ts)
		return;
	if (ev->dur < 0) {
		assay_count(&w->part, ASSAY_ISSUE_negative_duration, 1);
		ev->dur = 0;
	}
	if (is_lane(ev))
		return;
	int i = ev->cat_id;
	if (i < 0)
		add_uncategorized(w, ev);
	else if (categories[i].to == TO_HOST)
		add_host(w, ev, host_kind_of(ev, (assay_host_kind)categories[i].kind),
			 thread_of(w, ev));
	else if (categories[i].to == TO_GPU)
		add_gpu(w, ev, categories[i].kind);
	else if (categories[i].to == TO_SYNC)
		add_sync(w, ev);
	else
		add_mark(w, ev);
}

/* torch's memory profile: instants named "[memory]" with address, size and allocator totals. */
static void add_instant(chrome_worker *w, chrome_event *ev)
{
	ev->dur = 0;
	if (!has(ev, CHROME_ADDR) || !has(ev, CHROME_ALLOC_BYTES)) {
		add_host(w, ev, ASSAY_HOST_INSTANT, thread_of(w, ev));
		return;
	}
	uint32_t r = assay_add(&w->part.t, ASSAY_T_alloc);
	assay_alloc_table *a = &w->part.t.alloc;
	a->ts[r] = ev->ts;
	a->track[r] = thread_of(w, ev);
	a->addr[r] = (uint64_t)ev->arg[CHROME_ADDR];
	a->bytes[r] = ev->arg[CHROME_ALLOC_BYTES];
	a->total[r] = arg_or(ev, CHROME_TOTAL, -1);
	a->reserved[r] = arg_or(ev, CHROME_RESERVED, -1);
	a->device[r] = (int32_t)arg_u32(w, ev, CHROME_ALLOC_DEVICE, UINT32_MAX);
	a->corr[r] = (uint64_t)arg_or(ev, CHROME_CORR, 0);
	a->name[r] = text_of(w, ev->name, ev->name_escaped);
	a->ev_idx[r] = arg_u32(w, ev, CHROME_EV_IDX, UINT32_MAX);
	a->args[r] = leftover_args(w, ev, places_alloc);
}

static void add_flow(chrome_worker *w, const chrome_event *ev)
{
	if (assay_str_is(ev->cat, "stream_dep")) /* our writer's, made from the waits */
		return;
	uint32_t track = thread_of(w, ev);
	assay_sid cat = text_of(w, ev->cat, ev->cat_escaped);
	/* correlation ids say the same to all but writers */
	if (w->moved.lean && assay_str_is(ev->cat, "ac2g"))
		return;
	static_assert(ASSAY_COLUMNS_flow == 6, "all are set");
	uint32_t r = NEW_ROW(w, flow);
	assay_flow_table *f = &w->part.t.flow;
	uint64_t id;
	if (!assay_str_u64(ev->id, &id)) /* textual ids still pair: equal text, equal number */
		id = ev->id.n ? assay_hash(ev->id.p, ev->id.n, 0) | 1ull << 63 : 0;
	f->ts[r] = ev->ts;
	f->id[r] = id;
	f->track[r] = track;
	f->cat[r] = cat;
	f->phase[r] = (uint8_t)ev->ph;
	f->bind[r] = ev->binds;
}

/* Begin, end, async and metadata events wait for chrome_finish(). */
static void add_raw(chrome_worker *w, const chrome_event *ev, char phase, assay_str args)
{
	uint32_t r = assay_add(&w->part.t, ASSAY_T_raw);
	assay_raw_table *raw = &w->part.t.raw;
	raw->ts[r] = ev->ts;
	raw->name[r] = text_of(w, ev->name, ev->name_escaped);
	raw->cat[r] = text_of(w, ev->cat, ev->cat_escaped);
	raw->track[r] = thread_of(w, ev);
	raw->id[r] = assay_intern(&w->part.strings, ev->id);
	raw->args[r] = assay_intern(&w->part.strings, args);
	raw->phase[r] = (uint8_t)phase;
}

/* Of a device, where our writer says so: the devices of further inputs have greater numbers. */
static uint32_t counted_of(chrome_worker *w, const chrome_event *ev)
{
	return assay_str_is(ev->cat, ASSAY_TELEMETRY_CATEGORY) && ev->pid.num >= 0
		       ? assay_track(&w->part, ASSAY_TRACK_TELEMETRY, ev->pid.num % ASSAY_PID_STEP,
				     ev->tid.num, 0, 0)
		       : thread_of(w, ev);
}

static void add_counters(chrome_worker *w, const chrome_event *ev)
{
	if (!ev->args.n)
		return;
	assay_json j = assay_json_on(ev->args.p, ev->args.n);
	assay_sid name = text_of(w, ev->name, ev->name_escaped);
	assay_json_enter(&j, '{');
	for (assay_str key; assay_json_member(&j, &key);) {
		double v;
		if (!assay_json_f64(&j, &v))
			continue;
		uint32_t r = assay_add(&w->part.t, ASSAY_T_counter);
		assay_counter_table *t = &w->part.t.counter;
		t->ts[r] = ev->ts;
		t->track[r] = counted_of(w, ev);
		t->name[r] = name;
		if (!assay_str_is(key, "value")) {
			const char *full = assay_printf(&w->scratch, "%.*s.%.*s", (int)ev->name.n,
							ev->name.p, (int)key.n, key.p);
			t->name[r] = assay_intern_z(&w->part.strings, full);
		}
		t->value[r] = v;
	}
}

/* A look at a thread, as our writer puts it; other profilers' samples have no rows. */
static void add_look(chrome_worker *w, const chrome_event *ev)
{
	if (!assay_str_is(ev->cat, ASSAY_LOOK_CATEGORY)) {
		assay_count(&w->part, ASSAY_ISSUE_unknown_phase, 1);
		return;
	}
	assay_str members =
		ev->args.n >= 2 ? (assay_str){ev->args.p + 1, ev->args.n - 2} : (assay_str){"", 0};
	uint32_t r = assay_look_take(&w->part, thread_of(w, ev), members);
	w->part.t.sample.ts[r] = ev->ts;
	w->part.t.sample.stack[r] = ev->stack ? ev->stack : ASSAY_NO_ROW;
}

/* thread_name, process_name and the like: the one value in args names the track. */
static void add_metadata(chrome_worker *w, const chrome_event *ev)
{
	assay_str value = {0};
	if (is_derived(ev))
		return;
	if (ev->args.n) {
		assay_json j = assay_json_on(ev->args.p, ev->args.n);
		assay_json_enter(&j, '{');
		assay_str key;
		if (!assay_json_member(&j, &key) || !assay_json_skip(&j, &value))
			value = (assay_str){0};
	}
	if (value.n >= 2 && value.p[0] == '"')
		value = assay_json_unescape(&w->scratch, (assay_str){value.p + 1, value.n - 2});
	add_raw(w, ev, 'M', value);
}

void chrome_add(chrome_worker *w, chrome_event *ev)
{
	w->events++;
	ev->ts = bounded(w, ev->ts);
	ev->dur = bounded(w, ev->dur);
	switch (ev->ph) {
	case 'X':
		chrome_add_span(w, ev);
		break;
	case 's':
	case 't':
	case 'f':
		add_flow(w, ev);
		break;
	case 'i':
	case 'I':
	case 'R':
		add_instant(w, ev);
		break;
	case 'B':
	case 'E':
	case 'b':
	case 'e':
	case 'n':
		add_raw(w, ev, ev->ph, ev->args);
		break;
	case 'S': /* the old spelling of b and e */
	case 'F':
		add_raw(w, ev, ev->ph == 'S' ? 'b' : 'e', ev->args);
		break;
	case 'C':
		add_counters(w, ev);
		break;
	case 'M':
		add_metadata(w, ev);
		break;
	case 'P':
		add_look(w, ev);
		break;
	default:
		assay_count(&w->part, ASSAY_ISSUE_unknown_phase, 1);
		break;
	}
	assay_arena_reset(&w->scratch);
}
