/* What an event of Perfetto's format says about itself: annotations, by table. */
#include "write/perfetto.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/json.h"
#include "write/wait_rows.h"

void perfetto_start_keys(perfetto *p)
{
	size_t sequences = p->t->source.n + 2;
	p->keys = assay_alloc(&p->scratch, sequences * PF_KEY_COUNT * sizeof *p->keys);
	p->made = assay_alloc(&p->scratch, PERFETTO_MADE_ARGS * sizeof *p->made);
	p->lasting = assay_alloc(&p->scratch, PERFETTO_NAMED * sizeof *p->lasting);
	p->clocks = assay_alloc(&p->scratch, sequences * sizeof *p->clocks);
}

static const char *const key_name[] = {
#define X(id, text) text,
	PERFETTO_KEYS(X)
#undef X
};

void perfetto_tell_keys(perfetto *p)
{
	uint32_t *keys = p->keys + (size_t)p->sequence * PF_KEY_COUNT;
	for (size_t i = 0; i < PF_KEY_COUNT && !keys[i]; i++)
		keys[i] = perfetto_intern(p, PF_INTERNED_KEY, assay_str_of(key_name[i]));
}

static size_t open_note(assay_protow *w, uint32_t name)
{
	size_t mark = assay_protow_open(w, PF_EVENT_ANNOTATION);
	assay_protow_varint(w, PF_NOTE_NAME_IID, name);
	return mark;
}

static uint32_t number_of(const perfetto *p, perfetto_key key)
{
	return p->keys[(size_t)p->sequence * PF_KEY_COUNT + key];
}

static inline void note_u64(perfetto *p, perfetto_key key, uint64_t v, uint64_t absent)
{
	if (v != absent)
		assay_protow_pair(&p->w, PF_EVENT_ANNOTATION, PF_NOTE_NAME_IID, number_of(p, key),
				  PF_NOTE_UINT, v);
}

/* -1: absent. */
static inline void note_i64(perfetto *p, perfetto_key key, int64_t v)
{
	if (v != -1)
		assay_protow_pair(&p->w, PF_EVENT_ANNOTATION, PF_NOTE_NAME_IID, number_of(p, key),
				  PF_NOTE_INT, (uint64_t)v);
}

static void note_text(perfetto *p, perfetto_key key, assay_str text)
{
	size_t mark = open_note(&p->w, number_of(p, key));
	assay_protow_string(&p->w, PF_NOTE_TEXT, text);
	assay_protow_close(&p->w, mark);
}

/* A text gets a number when it is met again: most that are met once never are. */
static void put_text(perfetto *p, assay_str text)
{
	enum { SHORT = 2 }; /* no longer than a number */
	uint64_t of[2] = {p->sequence, assay_hash(text.p, text.n, 0)};
	uint32_t *met =
		text.n > SHORT ? assay_map_at(&p->texts, assay_hash(of, sizeof of, 0)) : NULL;
	bool again = met && *met != ASSAY_MAP_ABSENT;
	if (again) {
		assay_protow_varint(&p->args, PF_NOTE_TEXT_IID,
				    perfetto_intern(p, PF_INTERNED_TEXT, text));
		return;
	}
	assay_protow_string(&p->args, PF_NOTE_TEXT, text);
	if (met)
		*met = 1;
	p->fresh |= met != NULL;
}

/* Lists and objects are texts with numbers, which is how a reader knows them: a text that could be
 * taken for one goes as JSON, as do values of other kinds. */
static void put_member(perfetto *p, assay_str key, assay_str raw)
{
	int64_t i;
	uint64_t u;
	double f;
	assay_protow *w = &p->args;
	assay_arena *a = &p->one;
	size_t mark =
		open_note(w, perfetto_intern(p, PF_INTERNED_KEY, assay_json_unescape(a, key)));
	assay_str text = raw.n >= 2 && raw.p[0] == '"'
				 ? assay_json_unescape(a, (assay_str){raw.p + 1, raw.n - 2})
				 : (assay_str){0};
	if (PF_IS_STRUCTURE(raw))
		assay_protow_varint(w, PF_NOTE_TEXT_IID, perfetto_intern(p, PF_INTERNED_TEXT, raw));
	else if (raw.n >= 2 && raw.p[0] == '"' && !PF_IS_STRUCTURE(text))
		put_text(p, text);
	else if (assay_str_i64(raw, &i))
		assay_protow_varint(w, PF_NOTE_INT, (uint64_t)i);
	else if (assay_str_u64(raw, &u))
		assay_protow_varint(w, PF_NOTE_UINT, u);
	else if (assay_str_f64(raw, &f))
		assay_protow_f64(w, PF_NOTE_DOUBLE, f);
	else
		assay_protow_string(w, PF_NOTE_JSON, raw);
	assay_protow_close(w, mark);
}

perfetto_args perfetto_make_text_args(perfetto *p, assay_str members)
{
	size_t from = p->args.out.n;
	assay_arena_reset(&p->one);
	assay_json j = assay_json_members(&p->one, members);
	for (assay_str key, raw; assay_json_member(&j, &key) && assay_json_skip(&j, &raw);)
		put_member(p, key, raw);
	return (perfetto_args){from, p->args.out.n - from};
}

perfetto_args perfetto_make_args(perfetto *p, assay_sid args)
{
	perfetto_made_args *known = &p->made[args % PERFETTO_MADE_ARGS];
	if (!args)
		return (perfetto_args){0};
	if (known->args == args && known->sequence == p->sequence && known->batch == p->batch)
		return known->made;
	p->fresh = false;
	perfetto_args made = perfetto_make_text_args(p, assay_text(p->run, args));
	if (!p->fresh)
		*known = (perfetto_made_args){args, p->sequence, p->batch, made};
	return made;
}

void perfetto_note_args(perfetto *p, perfetto_args args)
{
	if (args.n)
		assay_protow_raw(&p->w, (assay_str){p->args.out.p + args.at, args.n});
}

static void note_handle(perfetto *p, assay_str args, perfetto_key key, uint64_t handle)
{
	char text[24];
	int n = snprintf(text, sizeof text, "\"%s\"", key_name[key]);
	if (handle == ASSAY_NO_HANDLE || (args.n && assay_str_find(args, text) >= 0))
		return;
	n = snprintf(text, sizeof text, "0x%" PRIx64, handle);
	note_text(p, key, (assay_str){text, (size_t)n});
}

/* Handles that were recorded: from them a reader resolves the waits again. Success is not told. */
static void note_call(perfetto *p, uint32_t h)
{
	const assay_tables *t = p->t;
	const assay_event_call_table *e = &t->event_call;
	uint32_t d = t->host.detail[h], source = t->track.source[t->host.track[h]];
	if (assay_has_failed(t->api.status[d]))
		note_i64(p, PF_KEY_STATUS, t->api.status[d]);
	uint32_t i = e->n && t->api.corr[d] ? assay_map_get(&p->event_calls,
							    assay_corr_key(source, t->api.corr[d]))
					    : ASSAY_MAP_ABSENT;
	if (i == ASSAY_MAP_ABSENT)
		return;
	assay_str args = assay_text(p->run, t->host.args[h]);
	bool hip = assay_str_starts(assay_text(p->run, t->host.name[h]), "hip");
	note_handle(p, args, hip ? PF_KEY_HIP_STREAM : PF_KEY_CUDA_STREAM, e->stream[i]);
	if (e->event[i])
		note_handle(p, args, hip ? PF_KEY_HIP_EVENT : PF_KEY_CUDA_EVENT, e->event[i]);
	if (e->arg[i] && assay_str_find(args, "\"flags\"") < 0)
		note_u64(p, PF_KEY_FLAGS, e->arg[i], 0);
}

void perfetto_note_host(perfetto *p, uint32_t h, perfetto_args args)
{
	const assay_tables *t = p->t;
	uint32_t d = t->host.detail[h];
	assay_table_id table = assay_host_detail[t->host.kind[h]];
	if (d != ASSAY_NO_ROW && table == ASSAY_T_op) {
		note_u64(p, PF_KEY_EXTERNAL, t->op.external[d], 0);
		note_i64(p, PF_KEY_SEQUENCE, t->op.seq[d]);
		note_i64(p, PF_KEY_FWD_THREAD, t->op.fwd_thread[d]);
		note_u64(p, PF_KEY_EV_IDX, t->op.ev_idx[d], UINT32_MAX);
	} else if (d != ASSAY_NO_ROW && table == ASSAY_T_api) {
		note_u64(p, PF_KEY_CORRELATION, t->api.corr[d], 0);
		note_u64(p, PF_KEY_EXTERNAL, t->api.external[d], 0);
		note_u64(p, PF_KEY_CBID, t->api.cbid[d], UINT32_MAX);
		note_call(p, h);
	} else if (d != ASSAY_NO_ROW && table == ASSAY_T_frame) {
		note_u64(p, PF_KEY_PYTHON, t->frame.id[d], UINT32_MAX);
		note_u64(p, PF_KEY_PYTHON_PARENT, t->frame.parent[d], UINT32_MAX);
		note_u64(p, PF_KEY_EV_IDX, t->frame.ev_idx[d], UINT32_MAX);
	}
	perfetto_note_args(p, args);
}

static void note_dims(perfetto *p, perfetto_key key, uint32_t x, uint32_t y, uint32_t z)
{
	char text[3 * ASSAY_DIGITS_MAX + 6], *end = assay_put_u64(text, x);
	if (!x && !y && !z)
		return;
	memcpy(end, " x ", 3);
	end = assay_put_u64(end + 3, y);
	memcpy(end, " x ", 3);
	end = assay_put_u64(end + 3, z);
	note_text(p, key, (assay_str){text, (size_t)(end - text)});
}

void perfetto_note_gpu(perfetto *p, uint32_t i, perfetto_args args)
{
	const assay_gpu_table *g = &p->t->gpu;
	uint32_t grid[3];
	note_u64(p, PF_KEY_CORRELATION, g->corr[i], 0);
	note_u64(p, PF_KEY_EXTERNAL, g->external[i], 0);
	note_u64(p, PF_KEY_CONTEXT, g->context[i], UINT32_MAX);
	note_i64(p, PF_KEY_BYTES, g->bytes[i]);
	assay_grid_blocks(&p->grids, i, grid);
	note_dims(p, PF_KEY_GRID, grid[0], grid[1], grid[2]);
	note_dims(p, PF_KEY_BLOCK, g->block_x[i], g->block_y[i], g->block_z[i]);
	note_u64(p, PF_KEY_REGS, g->regs[i], UINT16_MAX);
	note_u64(p, PF_KEY_ACC_REGS, g->acc_regs[i], UINT16_MAX);
	note_u64(p, PF_KEY_SCALAR_REGS, g->scalar_regs[i], UINT16_MAX);
	note_u64(p, PF_KEY_SHARED, g->shared[i], UINT32_MAX);
	note_u64(p, PF_KEY_SCRATCH, g->scratch[i], UINT32_MAX);
	note_u64(p, PF_KEY_QUEUE, g->queue[i], UINT32_MAX);
	note_u64(p, PF_KEY_DISPATCH, g->dispatch[i], UINT32_MAX);
	note_u64(p, PF_KEY_GRAPH, g->graph[i], 0);
	note_u64(p, PF_KEY_GRAPH_NODE, g->graph_node[i], 0);
	perfetto_note_args(p, args);
}

void perfetto_note_sync(perfetto *p, uint32_t i, perfetto_args args)
{
	const assay_sync_table *s = &p->t->sync;
	note_u64(p, PF_KEY_CORRELATION, s->corr[i], 0);
	note_i64(p, PF_KEY_WAIT_STREAM, s->wait_stream[i]);
	note_i64(p, PF_KEY_WAIT_EVENT, s->event[i]);
	note_i64(p, PF_KEY_WAIT_RECORD, s->record_corr[i]);
	note_u64(p, PF_KEY_SYNC, s->sync_id[i], 0);
	note_u64(p, PF_KEY_CONTEXT, s->context[i], UINT32_MAX);
	note_u64(p, PF_KEY_FOUND, s->found[i], 0);
	perfetto_note_args(p, args);
}

void perfetto_note_mark(perfetto *p, uint32_t i, perfetto_args args)
{
	note_u64(p, PF_KEY_EXTERNAL, p->t->mark.external[i], 0);
	perfetto_note_args(p, args);
}

/* A wait that no sync row tells of. */
void perfetto_note_wait(perfetto *p, uint32_t i)
{
	const assay_wait_table *w = &p->t->wait;
	uint32_t gpu = w->producer_gpu[i];
	bool by_event = w->kind[i] == ASSAY_WAIT_STREAM_WAIT || w->kind[i] == ASSAY_WAIT_EVENT_SYNC;
	note_u64(p, PF_KEY_CORRELATION, w->corr[i], 0);
	note_i64(p, PF_KEY_WAIT_STREAM, assay_wait_stream(p->t, w->producer[i]));
	if (by_event)
		note_u64(p, PF_KEY_WAIT_EVENT, w->event[i], ASSAY_NO_HANDLE);
	note_u64(p, PF_KEY_WAIT_RECORD, w->record_corr[i], 0);
	note_u64(p, PF_KEY_DERIVED, 1, 0);
	note_text(p, PF_KEY_CLASS, assay_str_of(assay_wait_class_name[w->class[i]]));
	if (gpu == ASSAY_NO_ROW)
		return;
	note_text(p, PF_KEY_PRODUCER, assay_text(p->run, p->t->gpu.name[gpu]));
	note_u64(p, PF_KEY_PRODUCER_CORRELATION, p->t->gpu.corr[gpu], 0);
}
