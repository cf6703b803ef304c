#include "write/wait_rows.h"

#include <assert.h>
#include <string.h>

#include "names/syncs.h"

const char *assay_wait_row_name(uint8_t kind)
{
	static const uint8_t row[ASSAY_WAIT_KIND_COUNT] = {
		[ASSAY_WAIT_STREAM_WAIT] = ASSAY_SYNC_STREAM_WAIT,
		[ASSAY_WAIT_EVENT_SYNC] = ASSAY_SYNC_EVENT,
		[ASSAY_WAIT_STREAM_SYNC] = ASSAY_SYNC_STREAM,
		[ASSAY_WAIT_DEVICE_SYNC] = ASSAY_SYNC_CONTEXT,
	};
	assert(kind < ASSAY_WAIT_KIND_COUNT);
	return row[kind] ? assay_sync_name[row[kind]] : NULL;
}

int64_t assay_wait_stream(const assay_tables *t, uint32_t track)
{
	int64_t id = track == ASSAY_NO_ROW ? -1 : t->track.tid[track];
	return id == UINT32_MAX ? -1 : id;
}

void assay_waits_by_call(const assay_tables *t, assay_map *out)
{
	const assay_wait_table *w = &t->wait;
	for (uint32_t i = 0; i < w->n; i++) {
		uint32_t track = w->thread[i] != ASSAY_NO_ROW     ? w->thread[i]
				 : w->consumer[i] != ASSAY_NO_ROW ? w->consumer[i]
								  : w->producer[i];
		if (track != ASSAY_NO_ROW && w->corr[i])
			*assay_map_at(out, assay_corr_key(t->track.source[track], w->corr[i])) = i;
	}
}

void assay_event_calls_by_call(const assay_tables *t, assay_map *out)
{
	const assay_event_call_table *e = &t->event_call;
	for (uint32_t i = 0; i < e->n; i++)
		*assay_map_at(out, assay_corr_key(t->track.source[e->track[i]], e->corr[i])) = i;
}

static bool has_key(assay_str args, const char *key)
{
	ptrdiff_t at = args.n ? assay_str_find(args, key) : -1;
	return at > 0 && args.p[at - 1] == '"' && args.p[(size_t)at + strlen(key)] == '"';
}

/* Calls about a word of memory have its value, how it is compared, and in HIP which of its bits are
 * not; the others have flags. */
size_t assay_call_args(const assay_run *run, uint32_t host, uint32_t i,
		       assay_call_arg out[ASSAY_CALL_ARGS])
{
	const assay_event_call_table *e = &run->part.t.event_call;
	assay_str name = assay_text(run, run->part.t.host.name[host]);
	assay_str args = assay_text(run, run->part.t.host.args[host]);
	bool hip = assay_str_starts(name, "hip"), word = assay_str_find(name, "Value") >= 0;
	uint64_t flags = !word ? e->arg[i] : hip ? e->more[i] & 3 : e->more[i];
	const struct {
		assay_call_arg arg;
		bool known;
	} all[ASSAY_CALL_ARGS] = {
		{{hip ? "hip_event" : "cuda_event", e->event[i], true}, e->event[i]},
		{{hip ? "hip_stream" : "cuda_stream", e->stream[i], true}, true},
		{{"value", e->arg[i], false}, word},
		{{"mask", ~(e->more[i] >> 2), false}, word && hip && e->more[i] >> 2},
		{{"flags", flags, false}, flags},
	};
	size_t n = 0;
	for (size_t k = 0; k < ASSAY_CALL_ARGS; k++)
		if (all[k].known && !has_key(args, all[k].arg.key) &&
		    !(all[k].arg.handle && all[k].arg.value == ASSAY_NO_HANDLE))
			out[n++] = all[k].arg;
	return n;
}

/* Of a stream sync the stream waited for, of a stream wait the one that waits, else none. */
static uint32_t track_of(const assay_wait_table *w, uint32_t i)
{
	return w->kind[i] == ASSAY_WAIT_STREAM_WAIT   ? w->consumer[i]
	       : w->kind[i] == ASSAY_WAIT_STREAM_SYNC ? w->producer[i]
						      : ASSAY_NO_ROW;
}

void assay_wait_rows_find(const assay_run *run, assay_wait_rows *out)
{
	const assay_tables *t = &run->part.t;
	const assay_wait_table *w = &t->wait;
	assay_map told = {0};
	for (uint32_t i = 0; i < t->sync.n; i++)
		if (t->sync.corr[i])
			*assay_map_at(&told, assay_corr_key(t->track.source[t->sync.track[i]],
							    t->sync.corr[i])) = 1;
	for (uint32_t i = 0; i < w->n; i++) {
		bool blind = w->class[i] == ASSAY_WAIT_IS_LOST && w->event[i] == ASSAY_NO_HANDLE;
		if (!assay_wait_row_name(w->kind[i]) || blind || w->thread[i] == ASSAY_NO_ROW)
			continue;
		uint64_t key = assay_corr_key(t->track.source[w->thread[i]], w->corr[i]);
		if (w->corr[i] && assay_map_get(&told, key) != ASSAY_MAP_ABSENT)
			continue;
		uint32_t track = track_of(w, i);
		int64_t device = track != ASSAY_NO_ROW        ? t->track.pid[track]
				 : w->producer_device[i] >= 0 ? w->producer_device[i]
							      : 0;
		*assay_push(out) = (assay_wait_row){i, track, device, assay_wait_stream(t, track)};
	}
	assay_map_free(&told);
}
