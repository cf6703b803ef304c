/* What an event of Perfetto's format says about itself: annotations, by table. */
#include "write/perfetto.h"

#include <stdio.h>

#include "base/json.h"
#include "write/wait_rows.h"

static size_t open_note(perfetto *p, uint32_t name)
{
	size_t mark = assay_protow_open(&p->w, PF_EVENT_ANNOTATION);
	assay_protow_varint(&p->w, PF_NOTE_NAME_IID, name);
	return mark;
}

static size_t open_constant(perfetto *p, const char *name)
{
	return open_note(p, perfetto_intern_lasting(p, PF_INTERNED_KEY, assay_str_of(name)));
}

static void note_u64(perfetto *p, const char *name, uint64_t v, uint64_t absent)
{
	if (v == absent)
		return;
	size_t mark = open_constant(p, name);
	assay_protow_varint(&p->w, PF_NOTE_UINT, v);
	assay_protow_close(&p->w, mark);
}

/* -1: absent. */
static void note_i64(perfetto *p, const char *name, int64_t v)
{
	if (v == -1)
		return;
	size_t mark = open_constant(p, name);
	assay_protow_varint(&p->w, PF_NOTE_INT, (uint64_t)v);
	assay_protow_close(&p->w, mark);
}

static void note_text(perfetto *p, const char *name, assay_str text)
{
	size_t mark = open_constant(p, name);
	assay_protow_string(&p->w, PF_NOTE_TEXT, text);
	assay_protow_close(&p->w, mark);
}

static void note_member(perfetto *p, assay_arena *a, assay_str key, assay_str raw)
{
	int64_t i;
	double f;
	size_t mark =
		open_note(p, perfetto_intern(p, PF_INTERNED_KEY, assay_json_unescape(a, key)));
	if (raw.n >= 2 && raw.p[0] == '"')
		assay_protow_string(&p->w, PF_NOTE_TEXT,
				    assay_json_unescape(a, (assay_str){raw.p + 1, raw.n - 2}));
	else if (assay_str_i64(raw, &i))
		assay_protow_varint(&p->w, PF_NOTE_INT, (uint64_t)i);
	else if (assay_str_f64(raw, &f))
		assay_protow_f64(&p->w, PF_NOTE_DOUBLE, f);
	else
		assay_protow_string(&p->w, PF_NOTE_JSON, raw);
	assay_protow_close(&p->w, mark);
}

/* Arguments that have no column: JSON members as text. Many events have the same; what they became
 * in this sequence is kept. */
static void note_args(perfetto *p, assay_sid args)
{
	enum { REMEMBERED = 4096 };
	if (!args)
		return;
	perfetto_made_args *made = &p->made[args % PERFETTO_MADE_ARGS];
	if (made->args == args && made->sequence == p->sequence) {
		assay_protow_raw(&p->w, (assay_str){made->bytes.p, made->bytes.n});
		return;
	}
	size_t from = p->w.out.n;
	assay_arena_reset(&p->args);
	assay_json j = assay_json_members(&p->args, assay_text(p->run, args));
	for (assay_str key, raw; assay_json_member(&j, &key) && assay_json_skip(&j, &raw);)
		note_member(p, &p->args, key, raw);
	size_t n = p->w.out.n - from;
	if (n > REMEMBERED)
		return;
	assay_vec_reserve(&made->bytes, n + 1);
	memcpy(made->bytes.p, p->w.out.p + from, n);
	made->bytes.n = n;
	made->args = args;
	made->sequence = p->sequence;
}

void perfetto_note_host(perfetto *p, uint32_t h)
{
	const assay_tables *t = p->t;
	uint32_t d = t->host.detail[h];
	assay_table_id table = assay_host_detail[t->host.kind[h]];
	if (d != ASSAY_NO_ROW && table == ASSAY_T_op) {
		note_u64(p, "External id", t->op.external[d], 0);
		note_i64(p, "Sequence number", t->op.seq[d]);
		note_i64(p, "Fwd thread id", t->op.fwd_thread[d]);
		note_u64(p, "Ev Idx", t->op.ev_idx[d], UINT32_MAX);
	} else if (d != ASSAY_NO_ROW && table == ASSAY_T_api) {
		note_u64(p, "correlation", t->api.corr[d], 0);
		note_u64(p, "External id", t->api.external[d], 0);
		note_u64(p, "cbid", t->api.cbid[d], UINT32_MAX);
	} else if (d != ASSAY_NO_ROW && table == ASSAY_T_frame) {
		note_u64(p, "Python id", t->frame.id[d], UINT32_MAX);
		note_u64(p, "Python parent id", t->frame.parent[d], UINT32_MAX);
		note_u64(p, "Ev Idx", t->frame.ev_idx[d], UINT32_MAX);
	}
	note_args(p, t->host.args[h]);
}

static void note_dims(perfetto *p, const char *name, uint32_t x, uint32_t y, uint32_t z)
{
	char text[64];
	snprintf(text, sizeof text, "%u x %u x %u", x, y, z);
	if (x || y || z)
		note_text(p, name, assay_str_of(text));
}

void perfetto_note_gpu(perfetto *p, uint32_t i)
{
	const assay_gpu_table *g = &p->t->gpu;
	uint32_t grid[3];
	note_u64(p, "correlation", g->corr[i], 0);
	note_u64(p, "External id", g->external[i], 0);
	note_u64(p, "context", g->context[i], UINT32_MAX);
	note_i64(p, "bytes", g->bytes[i]);
	assay_grid_blocks(&p->grids, i, grid);
	note_dims(p, "grid", grid[0], grid[1], grid[2]);
	note_dims(p, "block", g->block_x[i], g->block_y[i], g->block_z[i]);
	note_u64(p, "registers per thread", g->regs[i], UINT16_MAX);
	note_u64(p, "accumulation registers per thread", g->acc_regs[i], UINT16_MAX);
	note_u64(p, "scalar registers per thread", g->scalar_regs[i], UINT16_MAX);
	note_u64(p, "shared memory", g->shared[i], UINT32_MAX);
	note_u64(p, "scratch memory", g->scratch[i], UINT32_MAX);
	note_u64(p, "queue", g->queue[i], UINT32_MAX);
	note_u64(p, "dispatch", g->dispatch[i], UINT32_MAX);
	note_u64(p, "graph id", g->graph[i], 0);
	note_u64(p, "graph node id", g->graph_node[i], 0);
	note_args(p, g->args[i]);
}

void perfetto_note_sync(perfetto *p, uint32_t i)
{
	const assay_sync_table *s = &p->t->sync;
	note_u64(p, "correlation", s->corr[i], 0);
	note_i64(p, "wait_on_stream", s->wait_stream[i]);
	note_i64(p, "wait_on_cuda_event_id", s->event[i]);
	note_i64(p, "wait_on_cuda_event_record_corr_id", s->record_corr[i]);
	note_u64(p, "sync_id", s->sync_id[i], 0);
	note_u64(p, "context", s->context[i], UINT32_MAX);
	note_args(p, s->args[i]);
}

void perfetto_note_mark(perfetto *p, uint32_t i)
{
	note_u64(p, "External id", p->t->mark.external[i], 0);
	note_args(p, p->t->mark.args[i]);
}

/* A wait that no sync row tells of. */
void perfetto_note_wait(perfetto *p, uint32_t i)
{
	const assay_wait_table *w = &p->t->wait;
	uint32_t gpu = w->producer_gpu[i];
	bool by_event = w->kind[i] == ASSAY_WAIT_STREAM_WAIT || w->kind[i] == ASSAY_WAIT_EVENT_SYNC;
	note_u64(p, "correlation", w->corr[i], 0);
	note_i64(p, "wait_on_stream", assay_wait_stream(p->t, w->producer[i]));
	if (by_event)
		note_u64(p, "wait_on_cuda_event_id", w->event[i], ASSAY_NO_HANDLE);
	note_u64(p, "wait_on_cuda_event_record_corr_id", w->record_corr[i], 0);
	note_u64(p, "assay_derived", 1, 0);
	note_text(p, "resolve_class", assay_str_of(assay_wait_class_name[w->class[i]]));
	if (gpu == ASSAY_NO_ROW)
		return;
	note_text(p, "producer", assay_text(p->run, p->t->gpu.name[gpu]));
	note_u64(p, "producer_correlation", p->t->gpu.corr[gpu], 0);
}
