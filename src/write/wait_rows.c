#include "write/wait_rows.h"

const char *assay_wait_row_name(uint8_t kind)
{
	static const char *const names[ASSAY_WAIT_KIND_COUNT] = {
		[ASSAY_WAIT_STREAM_WAIT] = "Stream Wait Event",
		[ASSAY_WAIT_EVENT_SYNC] = "Event Sync",
		[ASSAY_WAIT_STREAM_SYNC] = "Stream Sync",
		[ASSAY_WAIT_DEVICE_SYNC] = "Context Sync",
	};
	return names[kind];
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
