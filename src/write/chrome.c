/* Chrome trace event JSON as Kineto writes it, for Perfetto, HTA and TraceLens.
 * docs/formats/chrome-out.md */
#include "write/chrome.h"

#include "base/input.h"
#include "base/json.h"
#include "base/num.h"
#include "base/turns.h"
#include "write/wait_rows.h"

enum { FLUSH = 1 << 16 };

/* ------------------------------------------------------------------ pieces of an event */

/* Whole microseconds have no fraction, as in traces of recorders that know no less: HTA rounds
 * times of which one has any. */
void chrome_time(chrome_out *c, const char *key, int64_t ns)
{
	char text[ASSAY_DIGITS_MAX + 2], *end = text;
	uint64_t u = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
	if (ns < 0)
		*end++ = '-';
	end = assay_put_u64(end, u / 1000);
	if (u % 1000)
		*end++ = '.';
	for (unsigned part = 100; u % 1000 && part; part /= 10)
		*end++ = (char)('0' + u / part % 10);
	assay_jsonw_raw(&c->w, key, (assay_str){text, (size_t)(end - text)});
}

void chrome_begin(chrome_out *c, char phase, assay_str cat, assay_str name)
{
	assay_jsonw_open_flat(&c->w, NULL, '{');
	assay_jsonw_str(&c->w, "ph", (assay_str){&phase, 1});
	if (cat.n)
		assay_jsonw_str(&c->w, "cat", cat);
	assay_jsonw_str(&c->w, "name", name);
}

static int64_t raised(const chrome_out *c, uint32_t source)
{
	return source < c->t->source.n ? c->at.raised[source] : 0;
}

uint64_t chrome_corr(const chrome_out *c, uint32_t source, uint64_t corr)
{
	return corr && source < c->t->source.n ? corr + c->at.corr[source] : corr;
}

void chrome_place(chrome_out *c, uint32_t source, int64_t pid, int64_t tid)
{
	assay_jsonw_i64(&c->w, "pid", assay_wrap_add(pid, raised(c, source)));
	assay_jsonw_i64(&c->w, "tid", tid);
}

int64_t chrome_shifted(const chrome_out *c, uint32_t source, int64_t ts)
{
	return source < c->t->source.n ? assay_wrap_add(ts, c->at.shift[source]) : ts;
}

/* An id that is no number of ours: none (Kineto's is empty, too), below zero, or a word. */
static void put_word(chrome_out *c, const char *key, assay_str id)
{
	int64_t below;
	if (assay_str_i64(id, &below) && below < 0)
		assay_jsonw_i64(&c->w, key, below);
	else
		assay_jsonw_str(&c->w, key, id);
}

void chrome_ids(chrome_out *c, uint32_t track)
{
	const assay_track_table *t = &c->t->track;
	if (t->pid[track] >= 0)
		assay_jsonw_i64(&c->w, "pid", t->pid[track] + raised(c, t->source[track]));
	else
		put_word(c, "pid", assay_text(c->run, t->process[track]));
	if (c->tid[track] >= 0)
		assay_jsonw_i64(&c->w, "tid", c->tid[track]);
	else
		put_word(c, "tid", assay_text(c->run, t->name[track]));
}

void chrome_at(chrome_out *c, uint32_t track, int64_t ts)
{
	if (track == ASSAY_NO_ROW) { /* memory whose thread was not recorded */
		uint32_t source = c->t->source.n == 1 ? 0 : ASSAY_NO_ROW;
		chrome_place(c, source, 0, 0);
		chrome_time(c, "ts", chrome_shifted(c, source, ts));
		return;
	}
	chrome_ids(c, track);
	chrome_time(c, "ts", chrome_shifted(c, c->t->track.source[track], ts));
}

static void chrome_flush(chrome_out *c)
{
	fwrite(c->w.out.p, 1, c->w.out.n, c->out);
	c->w.out.n = 0;
}

void chrome_end(chrome_out *c)
{
	assay_jsonw_close(&c->w, '}');
	if (c->out && c->w.out.n >= FLUSH)
		chrome_flush(c);
}

void chrome_id(chrome_out *c, const char *key, uint64_t id)
{
	char text[ASSAY_DIGITS_MAX];
	if (id <= 1ull << 53)
		assay_jsonw_u64(&c->w, key, id);
	else
		assay_jsonw_str(&c->w, key,
				(assay_str){text, (size_t)(assay_put_u64(text, id) - text)});
}

/* A value that a strict reader would refuse, as text. */
static void put_mended(chrome_out *c, assay_str raw)
{
	uint32_t odd = 0;
	size_t bad;
	if (raw.n && raw.p[0] != '"' && assay_json_check(raw.p, raw.n, &odd, &bad) && !odd)
		assay_jsonw_raw(&c->w, NULL, raw);
	else if (raw.n >= 2 && raw.p[0] == '"')
		assay_jsonw_str(
			&c->w, NULL,
			assay_json_unescape(&c->scratch, (assay_str){raw.p + 1, raw.n - 2}));
	else
		assay_jsonw_str(&c->w, NULL, raw);
}

static void put_mended_members(chrome_out *c, assay_str object)
{
	assay_json j = assay_json_on(object.p, object.n);
	assay_json_enter(&j, '{');
	for (assay_str key, raw; assay_json_member(&j, &key) && assay_json_skip(&j, &raw);) {
		assay_jsonw_key(&c->w, assay_json_unescape(&c->scratch, key));
		put_mended(c, raw);
	}
	assay_arena_free(&c->scratch);
}

/* Arguments as an object, with room behind it. */
static assay_str padded_object(chrome_out *c, assay_str text)
{
	assay_vec_reserve(&c->padded, text.n + 2 + ASSAY_PAD);
	c->padded.p[0] = '{';
	memcpy(c->padded.p + 1, text.p, text.n);
	c->padded.p[text.n + 1] = '}';
	return (assay_str){c->padded.p, text.n + 2};
}

/* Looked at once: most arguments are those of many rows. */
static bool is_sound(chrome_out *c, assay_sid args, assay_str text)
{
	uint8_t known = atomic_load_explicit(&c->sound[args], memory_order_relaxed);
	if (!known) {
		assay_str object = padded_object(c, text);
		uint32_t odd = 0;
		size_t bad;
		bool sound = assay_json_check(object.p, object.n, &odd, &bad) && !odd;
		known = sound ? CHROME_SOUND : CHROME_UNSOUND;
		atomic_store_explicit(&c->sound[args], known, memory_order_relaxed);
	}
	return known == CHROME_SOUND;
}

void chrome_members(chrome_out *c, assay_sid args)
{
	assay_str text = assay_text(c->run, args);
	if (!text.n)
		return;
	if (is_sound(c, args, text))
		assay_jsonw_raw(&c->w, NULL, text);
	else
		put_mended_members(c, padded_object(c, text));
}

/* ------------------------------------------------------------------ rows of host */

static assay_str host_category(const chrome_out *c, uint32_t h)
{
	static const char *const name[ASSAY_HOST_KIND_COUNT] = {
		[ASSAY_HOST_OP] = "cpu_op",
		[ASSAY_HOST_ANNOTATION] = "user_annotation",
		[ASSAY_HOST_RUNTIME] = "cuda_runtime", /* for HIP too: Kineto's own choice */
		[ASSAY_HOST_DRIVER] = "cuda_driver",
		[ASSAY_HOST_PYTHON] = "python_function",
		[ASSAY_HOST_MARKER] = "user_annotation",
		[ASSAY_HOST_PROCESS_RANGE] = "process_range",
	};
	const char *z = name[c->t->host.kind[h]];
	uint32_t detail = c->t->host.detail[h];
	if (z || detail == ASSAY_NO_ROW)
		return assay_str_of(z ? z : "");
	return assay_text(c->run, c->t->other.cat[detail]);
}

/* Stacks that are another thread's are found again by whoever reads the file. */
static void put_call_stack(chrome_out *c, uint32_t h)
{
	uint32_t d = c->t->host.detail[h];
	if (assay_is_call(c->t->host.kind[h]) && d != ASSAY_NO_ROW && !c->t->api.lent[d])
		chrome_put_stack(c, c->t->api.stack[d]);
}

static void put_u32(chrome_out *c, const char *key, uint32_t v, uint32_t absent)
{
	if (v != absent)
		assay_jsonw_u64(&c->w, key, v);
}

/* What the source says once of all its rows of a kind. */
static void put_zero(chrome_out *c, uint32_t track, unsigned bit, const char *key, assay_sid args)
{
	uint32_t source = c->t->track.source[track];
	if (source < c->t->source.n && c->t->source.zeros[source] >> bit & 1 &&
	    assay_str_find(assay_text(c->run, args), key) < 0)
		assay_jsonw_u64(&c->w, key, 0);
}

static void put_op_args(chrome_out *c, uint32_t h)
{
	uint32_t d = c->t->host.detail[h];
	const assay_op_table *t = &c->t->op;
	put_u32(c, "External id", t->external[d], 0);
	put_zero(c, c->t->host.track[h], ASSAY_ZEROS_OP + c->t->host.kind[h], ASSAY_ZEROS_HOST_KEY,
		 c->t->host.args[h]);
	if (t->seq[d] != -1)
		assay_jsonw_i64(&c->w, "Sequence number", t->seq[d]);
	if (t->fwd_thread[d] != -1)
		assay_jsonw_i64(&c->w, "Fwd thread id", t->fwd_thread[d]);
	put_u32(c, "Ev Idx", t->ev_idx[d], UINT32_MAX);
}

static void put_api_args(chrome_out *c, uint32_t h)
{
	uint32_t d = c->t->host.detail[h];
	const assay_api_table *t = &c->t->api;
	put_u32(c, "External id", t->external[d], 0);
	put_u32(c, "cbid", t->cbid[d], UINT32_MAX);
	if (t->corr[d])
		chrome_id(c, "correlation",
			  chrome_corr(c, c->t->track.source[c->t->host.track[h]], t->corr[d]));
	if (assay_has_failed(t->status[d]))
		assay_jsonw_i64(&c->w, "status", t->status[d]);
}

static void put_frame_args(chrome_out *c, uint32_t h)
{
	uint32_t d = c->t->host.detail[h];
	const assay_frame_table *t = &c->t->frame;
	put_u32(c, "Python id", t->id[d], UINT32_MAX);
	put_u32(c, "Python parent id", t->parent[d], UINT32_MAX);
	put_u32(c, "Ev Idx", t->ev_idx[d], UINT32_MAX);
}

static void put_other_args(chrome_out *c, uint32_t h)
{
	(void)c, (void)h;
}

static void (*const put_detail[])(chrome_out *, uint32_t) = {
#define X(id, name, table) [ASSAY_HOST_##id] = put_##table##_args,
	ASSAY_HOST_KINDS(X)
#undef X
};

/* Spans of a thread must nest; what is started and stopped by id is an async pair. */
static void put_async_end(chrome_out *c, uint32_t h)
{
	const assay_host_table *t = &c->t->host;
	chrome_begin(c, 'e', host_category(c, h), assay_text(c->run, t->name[h]));
	chrome_at(c, t->track[h], assay_host_end(t, h));
	chrome_id(c, "id", h);
	chrome_end(c);
}

static void put_host(chrome_out *c, uint32_t h)
{
	const assay_host_table *t = &c->t->host;
	bool instant = t->kind[h] == ASSAY_HOST_INSTANT && t->dur[h] == 0;
	bool async = t->kind[h] == ASSAY_HOST_PROCESS_RANGE;
	chrome_begin(c,
		     instant ? 'i'
		     : async ? 'b'
			     : 'X',
		     host_category(c, h), assay_text(c->run, t->name[h]));
	chrome_at(c, t->track[h], t->ts[h]);
	if (instant)
		assay_jsonw_z(&c->w, "s", "t");
	else if (async)
		chrome_id(c, "id", h);
	else
		chrome_time(c, "dur", t->dur[h] > 0 ? t->dur[h] : 0);
	put_call_stack(c, h);
	assay_jsonw_open(&c->w, "args", '{');
	if (t->detail[h] != ASSAY_NO_ROW)
		put_detail[t->kind[h]](c, h);
	chrome_members(c, t->args[h]);
	bool hip = assay_str_starts(assay_text(c->run, t->name[h]), "hip");
	if (assay_is_call(t->kind[h])) {
		(hip ? chrome_put_hip_fields : chrome_put_call_fields)(c, h);
		chrome_put_verdict(c, h);
	}
	assay_jsonw_close(&c->w, '}');
	chrome_end(c);
	if (async)
		put_async_end(c, h);
}

/* ------------------------------------------------------------------ rows of gpu */

static void put_vec(chrome_out *c, const char *key, uint32_t x, uint32_t y, uint32_t z)
{
	if (!x && !y && !z)
		return;
	assay_jsonw_open(&c->w, key, '[');
	assay_jsonw_u64(&c->w, NULL, x);
	assay_jsonw_u64(&c->w, NULL, y);
	assay_jsonw_u64(&c->w, NULL, z);
	assay_jsonw_close(&c->w, ']');
}

static void put_gpu_size(chrome_out *c, uint32_t g)
{
	const assay_gpu_table *t = &c->t->gpu;
	if (t->bytes[g] < 0)
		return;
	assay_jsonw_i64(&c->w, "bytes", t->bytes[g]);
	static const char speed[] = "memory bandwidth (GB/s)";
	if (t->dur[g] > 0 && t->kind[g] != ASSAY_GPU_KERNEL &&
	    assay_str_find(assay_text(c->run, t->args[g]), speed) < 0)
		assay_jsonw_f64(&c->w, speed, (double)t->bytes[g] / (double)t->dur[g]);
}

static void put_gpu_args(chrome_out *c, uint32_t g)
{
	const assay_gpu_table *t = &c->t->gpu;
	uint32_t grid[3];
	assay_grid_blocks(&c->grids, g, grid);
	put_u32(c, "External id", t->external[g], 0);
	put_zero(c, t->track[g], t->kind[g], ASSAY_ZEROS_GPU_KEY, t->args[g]);
	assay_jsonw_i64(&c->w, "device", c->t->track.pid[t->track[g]]);
	put_u32(c, "context", t->context[g], UINT32_MAX);
	assay_jsonw_i64(&c->w, "stream", c->t->track.tid[t->track[g]]);
	if (t->corr[g])
		chrome_id(c, "correlation",
			  chrome_corr(c, c->t->track.source[t->track[g]], t->corr[g]));
	put_u32(c, "registers per thread", t->regs[g], UINT16_MAX);
	put_u32(c, "shared memory", t->shared[g], UINT32_MAX);
	put_vec(c, "grid", grid[0], grid[1], grid[2]);
	put_vec(c, "block", t->block_x[g], t->block_y[g], t->block_z[g]);
	put_gpu_size(c, g);
	put_u32(c, "graph id", t->graph[g], 0);
	if (t->graph_node[g])
		chrome_id(c, "graph node id", t->graph_node[g]);
	put_u32(c, "scratch memory", t->scratch[g], UINT32_MAX);
	put_u32(c, "hsa_queue", t->queue[g], UINT32_MAX);
	put_u32(c, "dispatch", t->dispatch[g], UINT32_MAX);
	put_u32(c, "accumulation registers per thread", t->acc_regs[g], UINT16_MAX);
	put_u32(c, "scalar registers per thread", t->scalar_regs[g], UINT16_MAX);
	chrome_members(c, t->args[g]);
}

static void put_gpu(chrome_out *c, uint32_t g)
{
	static const char *const cat[] = {"kernel", "gpu_memcpy", "gpu_memset"};
	const assay_gpu_table *t = &c->t->gpu;
	uint32_t track = t->track[g], source = c->t->track.source[track];
	chrome_begin(c, 'X', assay_str_of(cat[t->kind[g]]), assay_text(c->run, t->name[g]));
	chrome_place(c, source, c->t->track.pid[track],
		     chrome_stream_row(c->t->track.tid[track], c->lane[g]));
	chrome_time(c, "ts", chrome_shifted(c, source, t->ts[g]));
	chrome_time(c, "dur", t->dur[g] > 0 ? t->dur[g] : 0);
	assay_jsonw_open(&c->w, "args", '{');
	put_gpu_args(c, g);
	assay_jsonw_close(&c->w, '}');
	chrome_end(c);
}

static void put_mark(chrome_out *c, uint32_t m)
{
	const assay_mark_table *t = &c->t->mark;
	chrome_begin(c, 'X', ASSAY_S("gpu_user_annotation"), assay_text(c->run, t->name[m]));
	uint32_t track = t->track[m], source = c->t->track.source[track];
	chrome_place(c, source, c->t->track.pid[track],
		     chrome_stream_row(c->t->track.tid[track], 0));
	chrome_time(c, "ts", chrome_shifted(c, source, t->ts[m]));
	chrome_time(c, "dur", t->dur[m] > 0 ? t->dur[m] : 0);
	assay_jsonw_open(&c->w, "args", '{');
	put_u32(c, "External id", t->external[m], 0);
	if (c->t->track.tid[track] < 0 || c->t->source.n > 1) {
		assay_jsonw_i64(&c->w, "device", c->t->track.pid[track]);
		assay_jsonw_i64(&c->w, "stream", c->t->track.tid[track]);
	}
	chrome_members(c, t->args[m]);
	assay_jsonw_close(&c->w, '}');
	chrome_end(c);
}

/* ------------------------------------------------------------------ counters and memory */

static void put_counter(chrome_out *c, uint32_t i)
{
	const assay_counter_table *t = &c->t->counter;
	if (t->value[i] != t->value[i])
		return;
	bool device = c->t->track.kind[t->track[i]] == ASSAY_TRACK_TELEMETRY &&
		      c->t->track.pid[t->track[i]] >= 0;
	chrome_begin(c, 'C', device ? ASSAY_S(ASSAY_TELEMETRY_CATEGORY) : (assay_str){0},
		     assay_text(c->run, t->name[i]));
	chrome_at(c, t->track[i], t->ts[i]);
	assay_jsonw_open(&c->w, "args", '{');
	assay_jsonw_f64(&c->w, "value", t->value[i]);
	assay_jsonw_close(&c->w, '}');
	chrome_end(c);
}

static void put_alloc(chrome_out *c, uint32_t i)
{
	const assay_alloc_table *t = &c->t->alloc;
	assay_str name = assay_text(c->run, t->name[i]);
	chrome_begin(c, 'i', ASSAY_S("cpu_instant_event"), name);
	chrome_at(c, t->track[i], t->ts[i]);
	assay_jsonw_z(&c->w, "s", "t");
	assay_jsonw_open(&c->w, "args", '{');
	if (t->total[i] != -1)
		assay_jsonw_i64(&c->w, "Total Allocated", t->total[i]);
	if (t->reserved[i] != -1)
		assay_jsonw_i64(&c->w, "Total Reserved", t->reserved[i]);
	assay_jsonw_i64(&c->w, "Bytes", t->bytes[i]);
	chrome_id(c, "Addr", t->addr[i]);
	assay_jsonw_i64(&c->w, "Device Id", t->device[i]);
	if (t->corr[i] && t->track[i] != ASSAY_NO_ROW)
		chrome_id(c, "correlation",
			  chrome_corr(c, c->t->track.source[t->track[i]], t->corr[i]));
	put_u32(c, "Ev Idx", t->ev_idx[i], UINT32_MAX);
	chrome_members(c, t->args[i]);
	assay_jsonw_close(&c->w, '}');
	chrome_end(c);
}

/* ------------------------------------------------------------------ the whole file */

uint32_t chrome_wait_of(const chrome_out *c, uint32_t source, uint64_t corr)
{
	return corr ? assay_map_get(&c->wait_of_call, assay_corr_key(source, corr)) : ASSAY_NO_ROW;
}

uint32_t chrome_event_call_of(const chrome_out *c, uint32_t source, uint64_t corr)
{
	return corr ? assay_map_get(&c->event_calls, assay_corr_key(source, corr)) : ASSAY_NO_ROW;
}

/* What each thread has of its own. */
static void free_own(chrome_out *c)
{
	assay_jsonw_free(&c->w);
	assay_vec_free(&c->padded);
	assay_arena_free(&c->scratch);
}

/* Rows of tables, which are most of a file, are written in blocks: at the same time, into memory of
 * each thread, and put into the file in order. */
typedef struct row_kind {
	void (*put)(chrome_out *c, uint32_t row);
	size_t n;
} row_kind;

typedef struct block {
	void (*put)(chrome_out *c, uint32_t row);
	uint32_t from, to;
} block;

enum { BLOCK_ROWS = 4096 };

typedef struct blocks {
	chrome_out *file;
	assay_vec(block) list;
	chrome_out worker[ASSAY_THREADS_MAX];
} blocks;

static void write_block(void *ctx, unsigned worker, uint64_t k)
{
	blocks *b = ctx;
	chrome_out *c = &b->worker[worker];
	c->w.out.n = 0;
	c->w.comma = true; /* of the events before */
	for (uint32_t i = b->list.p[k].from; i < b->list.p[k].to; i++)
		b->list.p[k].put(c, i);
}

static bool join_block(void *ctx, unsigned worker, uint64_t k)
{
	blocks *b = ctx;
	assay_str text = {b->worker[worker].w.out.p, b->worker[worker].w.out.n};
	(void)k;
	if (!text.n)
		return true;
	size_t skip = !b->file->w.comma; /* the first event of all has no comma */
	fwrite(text.p + skip, 1, text.n - skip, b->file->out);
	b->file->w.comma = true;
	return true;
}

static void start_worker(chrome_out *worker, const chrome_out *file)
{
	*worker = *file;
	worker->out = NULL;
	worker->w = (assay_jsonw){.depth = file->w.depth, .flat = file->w.flat};
	memset(&worker->padded, 0, sizeof worker->padded);
	worker->scratch = (assay_arena){0};
}

static void put_kinds(chrome_out *c, const row_kind *kinds, size_t n)
{
	blocks b = {.file = c};
	unsigned threads = assay_threads();
	for (size_t k = 0; k < n; k++)
		for (size_t i = 0; i < kinds[k].n; i += BLOCK_ROWS) {
			size_t end = i + BLOCK_ROWS < kinds[k].n ? i + BLOCK_ROWS : kinds[k].n;
			*assay_push(&b.list) = (block){kinds[k].put, (uint32_t)i, (uint32_t)end};
		}
	chrome_flush(c);
	for (unsigned i = 0; i < threads; i++)
		start_worker(&b.worker[i], c);
	assay_turns_run(&(assay_turns){.tasks = b.list.n,
				       .threads = threads,
				       .ctx = &b,
				       .work = write_block,
				       .hand_over = join_block});
	for (unsigned i = 0; i < threads; i++)
		free_own(&b.worker[i]);
	assay_vec_free(&b.list);
}

static void put_rows(chrome_out *c)
{
	const assay_tables *t = c->t;
	const row_kind work[] = {{put_host, t->host.n}, {put_gpu, t->gpu.n}, {put_mark, t->mark.n}};
	const row_kind more[] = {
		{put_counter, t->counter.n},    {put_alloc, t->alloc.n},
		{chrome_put_look, t->sample.n}, {chrome_put_lane_span, c->lanes.n},
		{chrome_put_flow, t->flow.n},
	};
	put_kinds(c, work, ASSAY_COUNT_OF(work));
	chrome_put_syncs(c);
	put_kinds(c, more, ASSAY_COUNT_OF(more));
	chrome_put_made_flows(c);
}

enum { SECOND = 1000000000 };

static void move_base(chrome_out *c, int64_t by)
{
	c->base += by;
	for (uint32_t i = 0; i < c->t->source.n; i++)
		c->at.shift[i] = assay_wrap_sub(c->at.shift[i], by);
}

/* Of all sources, as times are written. */
static int64_t earliest(const chrome_out *c)
{
	int64_t first = INT64_MAX;
	for (uint32_t i = 0; i < c->t->source.n; i++) {
		const assay_source_clock *s = &c->at.clocks.source[i];
		int64_t ts = chrome_shifted(c, i, s->first);
		first = s->first <= s->last && ts < first ? ts : first;
	}
	return first;
}

/* Readers of JSON keep times as doubles of microseconds, and some round them to whole ones. Counted
 * from a whole second as Kineto does, nanoseconds stay exact and every time is rounded as it was in
 * the file it comes from. Perfetto drops what is before zero: telemetry begins before the trace. */
static void set_base(chrome_out *c)
{
	const assay_source_table *s = &c->t->source;
	const assay_clocks *clocks = &c->at.clocks;
	uint32_t first = c->at.first;
	c->base = s->n ? s->base[first] : 0;
	if (!s->n || !s->epoch[first] || !clocks->epoch || clocks->origin < SECOND)
		return;
	if (!assay_str_is(assay_text(c->run, s->format[first]), "chrome"))
		move_base(c, clocks->origin - clocks->origin % SECOND - c->base);
	int64_t ts = earliest(c);
	if (ts < 0 && ts > -c->base)
		move_base(c, (ts - SECOND + 1) / SECOND * SECOND);
}

/* Threads with hashes for numbers get the first that no thread has. */
static void number_threads(chrome_out *c, assay_arena *arena)
{
	const assay_track_table *t = &c->t->track;
	assay_map taken = {0}, given = {0};
	uint32_t last = 0;
	c->tid = assay_alloc(arena, (t->n + 1) * sizeof *c->tid);
	for (uint32_t i = 0; i < t->n; i++) {
		c->tid[i] = t->tid[i];
		if (t->kind[i] == ASSAY_TRACK_THREAD && t->tid[i] >= 0)
			*assay_map_at(&taken, (uint64_t)t->tid[i]) = 1;
	}
	for (uint32_t i = 0; i < t->n; i++) {
		if (t->kind[i] != ASSAY_TRACK_THREAD || !assay_thread_is_hash(c->run, i))
			continue;
		uint32_t *number = assay_map_at(
			&given, assay_hash(&t->tid[i], sizeof t->tid[i], t->source[i]));
		if (*number == ASSAY_MAP_ABSENT) {
			while (assay_map_get(&taken, ++last) != ASSAY_MAP_ABSENT)
				;
			*number = last;
		}
		c->tid[i] = *number;
	}
	assay_map_free(&taken);
	assay_map_free(&given);
}

static bool chrome_write(const assay_run *run, FILE *out, assay_left_out *left, assay_err *err)
{
	(void)left, (void)err;
	assay_arena arena = {0};
	chrome_out c = {.run = run, .t = &run->part.t, .out = out};
	assay_source_places_find(&c.at, run, &arena);
	set_base(&c);
	number_threads(&c, &arena);
	chrome_find_overlaps(&c, &arena);
	c.grids = assay_grids_of(run, &arena);
	c.sound = assay_alloc(&arena, run->part.strings.str.n + 1);
	assay_waits_by_call(c.t, &c.wait_of_call);
	assay_event_calls_by_call(c.t, &c.event_calls);
	assay_lanes_make(run, &c.lanes);
	assay_jsonw_open(&c.w, NULL, '{');
	chrome_put_header(&c);
	assay_jsonw_open(&c.w, "traceEvents", '[');
	chrome_put_metadata(&c);
	chrome_name_lanes(&c);
	chrome_name_overlaps(&c);
	put_rows(&c);
	assay_jsonw_close(&c.w, ']');
	chrome_put_stacks(&c);
	assay_jsonw_close(&c.w, '}');
	chrome_flush(&c);
	fputc('\n', out);
	free_own(&c);
	assay_map_free(&c.wait_of_call);
	assay_map_free(&c.event_calls);
	assay_map_free(&c.moved);
	assay_vec_free(&c.lanes);
	assay_arena_free(&arena);
	return true;
}

const assay_writer assay_writer_chrome = {
	.name = "chrome",
	.exts = {".json"},
	.about = "Chrome trace event JSON as Kineto writes it: Perfetto, HTA, TraceLens",
	.back = "the same",
	.page = "chrome-out",
	.write = chrome_write,
	.lacks = ASSAY_LACKS_PMC | ASSAY_LACKS_STATS | ASSAY_LACKS_SCOPE_IDS | ASSAY_LACKS_PLANES |
		 ASSAY_LACKS_RECORDING | ASSAY_LACKS_HASHES,
};
