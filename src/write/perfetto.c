/* Perfetto's own trace format: packets of track descriptors and track events.
 * docs/formats/perfetto.md; field numbers from the .proto files of Perfetto. */
#include "write/perfetto.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/sort.h"
#include "base/test.h"
#include "write/wait_rows.h"

static uint64_t track_uuid(uint32_t source, uint64_t what, int64_t a, int64_t b, unsigned lane)
{
	struct {
		uint64_t source, what;
		int64_t a, b;
		uint64_t lane;
	} k = {source, what, a, b, lane};
	uint64_t h = assay_hash(&k, sizeof k, 0);
	return h ? h : 1;
}

enum {
	UUID_PROCESS = 1,
	UUID_THREAD,
	UUID_DEVICE,
	UUID_STREAM,
	UUID_SYNC,
	UUID_MARK,
	UUID_COUNTER,
	UUID_HOST_WAIT,
};

/* ------------------------------------------------------------------ tracks */

static void put_track(perfetto *p, uint32_t source, uint64_t uuid, uint64_t parent,
		      const char *name, int64_t rank)
{
	size_t packet = perfetto_open_packet(p, source),
	       track = assay_protow_open(&p->w, PF_PACKET_TRACK);
	assay_protow_varint(&p->w, PF_TRACK_UUID, uuid);
	if (parent)
		assay_protow_varint(&p->w, PF_TRACK_PARENT, parent);
	assay_protow_string(&p->w, PF_TRACK_NAME, assay_str_of(name));
	assay_protow_varint(&p->w, PF_TRACK_ORDERING, PF_EXPLICIT_ORDER);
	assay_protow_varint(&p->w, PF_TRACK_RANK, (uint64_t)rank);
	assay_protow_close(&p->w, track);
	assay_protow_close(&p->w, packet);
}

/* Files of one process are one, and telemetry is none. */
static bool has_many_processes(const assay_tables *t)
{
	uint32_t first = ASSAY_NO_ROW;
	for (uint32_t i = 0; i < t->track.n; i++) {
		uint32_t group = assay_track_group(t, i);
		if (t->track.kind[i] == ASSAY_TRACK_TELEMETRY || group >= t->source.n)
			continue;
		if (first != ASSAY_NO_ROW && group != first)
			return true;
		first = group;
	}
	return false;
}

/* Of several inputs: the rank it says it is, else the file's name. */
static const char *input_prefix(perfetto *p, uint32_t source)
{
	const assay_source_table *s = &p->t->source;
	if (!p->many || source >= s->n)
		return "";
	uint32_t group = assay_group_of(p->t, source);
	if (s->rank[group] >= 0)
		return assay_printf(&p->scratch, "rank %d ", s->rank[group]);
	const char *path = assay_z(p->run, s->path[group]), *slash = strrchr(path, '/');
	return assay_printf(&p->scratch, "%s ", slash && slash[1] ? slash + 1 : path);
}

enum { RANKS_A_STREAM = 64, RANK_WORK = 8, RANK_WAITS = 32 };

/* Streams by number, whatever they count from: some have handles for numbers. */
static void place_streams(perfetto *p)
{
	const assay_track_table *t = &p->t->track;
	assay_vec(uint32_t) rows = {0};
	p->place = assay_alloc(&p->scratch, (t->n + 1) * sizeof *p->place);
	for (uint32_t i = 0; i < t->n; i++)
		*assay_push(&rows) = i;
	assay_sort_rows(rows.p, rows.n, t->tid);
	for (uint32_t i = 0; i < rows.n; i++)
		p->place[rows.p[i]] = i;
	assay_vec_free(&rows);
}

/* Perfetto's ranks are 32 bits wide. */
static int64_t stream_rank(const perfetto *p, uint32_t track, unsigned what, unsigned lane)
{
	const int64_t most = INT32_MAX / RANKS_A_STREAM - 1;
	int64_t place = p->place[track] < most ? p->place[track] : most;
	unsigned kind = what == UUID_MARK ? 0 : what == UUID_STREAM ? RANK_WORK : RANK_WAITS;
	unsigned room = what == UUID_MARK     ? RANK_WORK
			: what == UUID_STREAM ? RANK_WAITS - RANK_WORK
					      : RANKS_A_STREAM - RANK_WAITS;
	return place * RANKS_A_STREAM + kind + (lane < room ? lane : room - 1);
}

/* The first process of each input, or a number that no other one has. */
static void find_writers(perfetto *p)
{
	const assay_tables *t = p->t;
	p->writer = assay_alloc(&p->scratch, (t->source.n + 2) * sizeof *p->writer);
	for (uint32_t i = (uint32_t)t->track.n; i-- > 0;) {
		uint32_t group = assay_track_group(t, i);
		if (group < t->source.n && t->track.kind[i] == ASSAY_TRACK_THREAD &&
		    t->track.pid[i] > 0)
			p->writer[group + 1] = perfetto_process_number(p, i);
	}
	for (uint32_t i = 0; i <= t->source.n; i++)
		if (!p->writer[i + 1])
			p->writer[i + 1] =
				(int32_t)(uint32_t)(1 + (i < t->source.n ? p->at.raised[i] : 0));
}

static uint64_t put_process(perfetto *p, uint32_t i, assay_map *seen)
{
	const assay_track_table *t = &p->t->track;
	int32_t pid = perfetto_process_number(p, i);
	uint64_t uuid = track_uuid(t->source[i], UUID_PROCESS, pid, 0, 0);
	uint32_t *slot = assay_map_at(seen, uuid);
	if (*slot != ASSAY_MAP_ABSENT)
		return uuid;
	*slot = 1;
	assay_str name = assay_text(p->run, t->process[i]);
	const char *full = assay_printf(&p->scratch, "%s%s", input_prefix(p, t->source[i]), name.p);
	size_t packet = perfetto_open_packet(p, t->source[i]),
	       track = assay_protow_open(&p->w, PF_PACKET_TRACK);
	assay_protow_varint(&p->w, PF_TRACK_UUID, uuid);
	size_t process = assay_protow_open(&p->w, PF_TRACK_PROCESS);
	assay_protow_varint(&p->w, PF_PROCESS_PID, (uint64_t)pid);
	assay_protow_string(&p->w, PF_PROCESS_NAME, assay_str_of(full));
	assay_protow_close(&p->w, process);
	assay_protow_close(&p->w, track);
	assay_protow_close(&p->w, packet);
	return uuid;
}

static void put_thread(perfetto *p, uint32_t i, unsigned lane, assay_map *seen)
{
	const assay_track_table *t = &p->t->track;
	uint64_t parent = put_process(p, i, seen);
	uint64_t uuid = track_uuid(t->source[i], UUID_THREAD, i, 0, 0);
	assay_str name = assay_text(p->run, t->name[i]);
	if (lane) {
		const char *text = assay_printf(&p->scratch, "overlapping %u", lane);
		put_track(p, t->source[i], track_uuid(t->source[i], UUID_THREAD, i, 0, lane), uuid,
			  text, lane);
		return;
	}
	size_t packet = perfetto_open_packet(p, t->source[i]),
	       track = assay_protow_open(&p->w, PF_PACKET_TRACK);
	assay_protow_varint(&p->w, PF_TRACK_UUID, uuid);
	assay_protow_varint(&p->w, PF_TRACK_PARENT, parent);
	size_t thread = assay_protow_open(&p->w, PF_TRACK_THREAD);
	assay_protow_varint(&p->w, PF_THREAD_PID, (uint64_t)perfetto_process_number(p, i));
	assay_protow_varint(&p->w, PF_THREAD_TID, (uint64_t)perfetto_thread_number(p, i));
	assay_protow_string(&p->w, PF_THREAD_NAME, name);
	assay_protow_close(&p->w, thread);
	assay_protow_close(&p->w, track);
	assay_protow_close(&p->w, packet);
}

static uint64_t put_device(perfetto *p, uint32_t source, int64_t device, assay_map *seen)
{
	uint64_t uuid = track_uuid(source, UUID_DEVICE, device, 0, 0);
	uint32_t *slot = assay_map_at(seen, uuid);
	if (*slot == ASSAY_MAP_ABSENT)
		put_track(p, source, uuid, 0,
			  assay_printf(&p->scratch, "%sGPU %" PRId64, input_prefix(p, source),
				       device),
			  device);
	*assay_map_at(seen, uuid) = 1;
	return uuid;
}

static const char *stream_label(perfetto *p, int64_t stream, unsigned what, unsigned lane)
{
	const char *kind = what == UUID_SYNC ? " waits" : what == UUID_MARK ? " annotations" : "";
	const char *more = lane ? assay_printf(&p->scratch, " (lane %u)", lane + 1) : "";
	if (stream < 0 || stream == UINT32_MAX)
		return assay_printf(&p->scratch, "device%s%s", kind, more);
	return assay_printf(&p->scratch, "stream %" PRId64 "%s%s", stream, kind, more);
}

static const char *thread_waits_label(perfetto *p, uint32_t track, unsigned lane)
{
	const char *more = lane ? assay_printf(&p->scratch, " (lane %u)", lane + 1) : "";
	return assay_printf(&p->scratch, "waits of thread %" PRId64 "%s", p->t->track.tid[track],
			    more);
}

/* The line of a lane; its descriptor is written the first time. */
static uint64_t lane_track(perfetto *p, const item *it, unsigned lane, assay_map *seen)
{
	const assay_track_table *t = &p->t->track;
	static const unsigned kinds[] = {
		[ON_HOST] = UUID_THREAD,        [ON_GPU] = UUID_STREAM,     [ON_SYNC] = UUID_SYNC,
		[ON_MARK] = UUID_MARK,          [ON_ARRIVAL] = UUID_THREAD, [ON_WAIT] = UUID_SYNC,
		[ON_HOST_WAIT] = UUID_HOST_WAIT};
	unsigned what = kinds[it->table];
	uint64_t uuid = track_uuid(t->source[it->track], what, it->track, 0, lane);
	uint32_t *slot = assay_map_at(seen, uuid);
	bool is_new = *slot == ASSAY_MAP_ABSENT;
	*slot = 1;
	if (is_new && what == UUID_THREAD) {
		put_thread(p, it->track, lane, seen);
	} else if (is_new && what == UUID_HOST_WAIT) {
		int64_t device = p->t->wait.producer_device[it->row];
		uint64_t under = put_device(p, t->source[it->track], device < 0 ? 0 : device, seen);
		put_track(p, t->source[it->track], uuid, under,
			  thread_waits_label(p, it->track, lane), INT32_MAX);
	} else if (is_new) {
		uint64_t device = put_device(p, t->source[it->track], t->pid[it->track], seen);
		put_track(p, t->source[it->track], uuid, device,
			  stream_label(p, t->tid[it->track], what, lane),
			  stream_rank(p, it->track, what, lane));
	}
	return uuid;
}

/* ------------------------------------------------------------------ flows */

/* Two ranges of ids, so that a launch and a wait never share one. */
static uint64_t launch_flow(uint32_t gpu)
{
	return 1 + (uint64_t)gpu;
}

static uint64_t wait_flow(uint32_t edge)
{
	return 1ull << 40 | edge;
}

static void host_flows(perfetto *p, uint32_t h)
{
	for (uint32_t g = p->first_gpu[h]; g != ASSAY_NO_ROW; g = p->next_gpu[g])
		assay_protow_fixed64(&p->w, PF_EVENT_FLOW, launch_flow(g));
}

static void gpu_flows(perfetto *p, uint32_t g)
{
	const assay_tables *t = p->t;
	for (uint32_t e = p->first_edge[g]; e != ASSAY_NO_ROW; e = p->next_edge[e])
		assay_protow_fixed64(&p->w, PF_EVENT_FLOW, wait_flow(e));
	uint32_t h = t->launch.n == t->gpu.n ? t->launch.host[g] : ASSAY_NO_ROW;
	if (h != ASSAY_NO_ROW && t->host.ts[h] <= t->gpu.ts[g])
		assay_protow_fixed64(&p->w, PF_EVENT_FLOW_END, launch_flow(g));
	for (uint32_t e = p->into_gpu[g]; e != ASSAY_NO_ROW; e = p->next_into[e])
		assay_protow_fixed64(&p->w, PF_EVENT_FLOW_END, wait_flow(e));
}

static uint32_t *empty_list(perfetto *p, size_t n)
{
	uint32_t *list = assay_alloc(&p->scratch, (n + 1) * sizeof *list);
	memset(list, 0xff, (n + 1) * sizeof *list);
	return list;
}

/* An arrow must not end before it starts: clocks that contradict it make no arrow. */
static void index_flows(perfetto *p)
{
	const assay_tables *t = p->t;
	p->first_gpu = empty_list(p, t->host.n);
	p->next_gpu = empty_list(p, t->gpu.n);
	p->first_edge = empty_list(p, t->gpu.n);
	p->next_edge = empty_list(p, t->edge.n);
	p->into_gpu = empty_list(p, t->gpu.n);
	p->next_into = empty_list(p, t->edge.n);
	for (uint32_t g = 0; t->launch.n == t->gpu.n && g < t->gpu.n; g++) {
		uint32_t h = t->launch.host[g];
		if (h == ASSAY_NO_ROW || t->host.ts[h] > t->gpu.ts[g])
			continue;
		p->next_gpu[g] = p->first_gpu[h];
		p->first_gpu[h] = g;
	}
	for (uint32_t e = 0; e < t->edge.n; e++) {
		uint32_t from = t->edge.from_gpu[e], to = t->edge.to_gpu[e], h = t->edge.to_host[e];
		if (from == ASSAY_NO_ROW || (to == ASSAY_NO_ROW && h == ASSAY_NO_ROW))
			continue;
		int64_t start = t->gpu.ts[from], done = assay_gpu_end(&t->gpu, from);
		if (to != ASSAY_NO_ROW ? t->gpu.ts[to] < start
				       : t->host.ts[h] + t->host.dur[h] < done)
			continue;
		p->next_edge[e] = p->first_edge[from];
		p->first_edge[from] = e;
		if (to != ASSAY_NO_ROW) {
			p->next_into[e] = p->into_gpu[to];
			p->into_gpu[to] = e;
			continue;
		}
		int64_t at = done > t->host.ts[h] ? done : t->host.ts[h];
		*assay_push(&p->arrivals) = (item){t->host.track[h], ON_ARRIVAL, e, at, at};
	}
}

/* ------------------------------------------------------------------ slices */

static assay_sid item_name(const perfetto *p, const item *it)
{
	return it->table == ON_HOST   ? p->t->host.name[it->row]
	       : it->table == ON_GPU  ? p->t->gpu.name[it->row]
	       : it->table == ON_SYNC ? p->t->sync.name[it->row]
	       : it->table == ON_MARK ? p->t->mark.name[it->row]
				      : 0;
}

/* Of items whose name is no string of the run. */
static const char *fixed_name(const perfetto *p, const item *it)
{
	return it->table == ON_ARRIVAL ? "producer done"
	       : it->table == ON_WAIT || it->table == ON_HOST_WAIT
		       ? assay_wait_row_name(p->t->wait.kind[it->row])
		       : "unnamed";
}

/* What an input called a span that is of no kind we know. */
static const char *host_category(const perfetto *p, uint32_t h)
{
	const assay_host_table *t = &p->t->host;
	bool plain = t->kind[h] == ASSAY_HOST_OTHER || t->kind[h] == ASSAY_HOST_INSTANT;
	const char *cat = plain && t->detail[h] != ASSAY_NO_ROW
				  ? assay_z(p->run, p->t->other.cat[t->detail[h]])
				  : "";
	return *cat ? cat : assay_host_kind_name[t->kind[h]];
}

static const char *item_category(const perfetto *p, const item *it)
{
	static const char *const fixed[] = {[ON_SYNC] = "cuda_sync",
					    [ON_MARK] = "gpu_user_annotation",
					    [ON_ARRIVAL] = "stream_dep",
					    [ON_WAIT] = "cuda_sync",
					    [ON_HOST_WAIT] = "cuda_sync"};
	if (it->table == ON_HOST)
		return host_category(p, it->row);
	return it->table == ON_GPU ? assay_gpu_kind_name[p->t->gpu.kind[it->row]]
				   : fixed[it->table];
}

static void put_details(perfetto *p, const item *it)
{
	switch ((item_table)it->table) {
	case ON_HOST:
		perfetto_note_host(p, it->row);
		host_flows(p, it->row);
		break;
	case ON_GPU:
		perfetto_note_gpu(p, it->row);
		gpu_flows(p, it->row);
		break;
	case ON_SYNC:
		perfetto_note_sync(p, it->row);
		break;
	case ON_MARK:
		perfetto_note_mark(p, it->row);
		break;
	case ON_ARRIVAL:
		assay_protow_fixed64(&p->w, PF_EVENT_FLOW_END, wait_flow(it->row));
		break;
	case ON_WAIT:
	case ON_HOST_WAIT:
		perfetto_note_wait(p, it->row);
		break;
	}
}

static void put_event(perfetto *p, const item *it, uint64_t uuid, int type, int64_t ts)
{
	uint32_t source = p->t->track.source[it->track];
	assay_sid name = item_name(p, it);
	size_t packet = perfetto_open_packet(p, source);
	assay_protow_varint(&p->w, PF_PACKET_TIMESTAMP, perfetto_absolute(p, source, ts));
	size_t event = assay_protow_open(&p->w, PF_PACKET_EVENT);
	assay_protow_varint(&p->w, PF_EVENT_TYPE, (uint64_t)type);
	assay_protow_varint(&p->w, PF_EVENT_TRACK, uuid);
	if (type != PF_SLICE_END) {
		assay_str text = name ? assay_text(p->run, name) : assay_str_of(fixed_name(p, it));
		assay_protow_varint(&p->w, PF_EVENT_CATEGORY_IID,
				    perfetto_intern_lasting(p, PF_INTERNED_CATEGORY,
							    assay_str_of(item_category(p, it))));
		assay_protow_varint(&p->w, PF_EVENT_NAME_IID,
				    perfetto_intern_lasting(p, PF_INTERNED_NAME, text));
		put_details(p, it);
	}
	assay_protow_close(&p->w, event);
	perfetto_close_packet(p, packet);
}

/* Of one track: arrivals stand among calls, all waits together. */
static const uint8_t line[] = {[ON_HOST] = 0,    [ON_GPU] = 1,  [ON_SYNC] = 2,     [ON_MARK] = 3,
			       [ON_ARRIVAL] = 0, [ON_WAIT] = 2, [ON_HOST_WAIT] = 4};

/* By track and line, then by time; the one around comes first; then by table and row, which is the
 * order they were added in. */
static void sort_items(perfetto *p)
{
	size_t n = p->items.n;
	uint32_t *order = assay_pages_grow(NULL, n * sizeof *order + 1);
	int64_t *key = assay_pages_grow(NULL, n * sizeof *key + 1);
	item *sorted = assay_pages_grow(NULL, n * sizeof *sorted + 1);
	for (uint32_t i = 0; i < n; i++) {
		order[i] = i;
		key[i] = p->items.p[i].end;
	}
	assay_sort_rows_falling(order, n, key);
	for (size_t i = 0; i < n; i++)
		key[i] = p->items.p[i].ts;
	assay_sort_rows(order, n, key);
	for (size_t i = 0; i < n; i++)
		key[i] = (int64_t)p->items.p[i].track << 3 | line[p->items.p[i].table];
	assay_sort_rows(order, n, key);
	for (size_t i = 0; i < n; i++)
		sorted[i] = p->items.p[order[i]];
	if (n)
		memcpy(p->items.p, sorted, n * sizeof *sorted);
	assay_pages_free(sorted);
	assay_pages_free(key);
	assay_pages_free(order);
}

typedef assay_vec(item) item_list;

/* End every open slice that is over by ts (all of them at INT64_MAX), innermost first. */
static void close_until(perfetto *p, item_list *open, uint64_t uuid, int64_t ts)
{
	while (open->n && open->p[open->n - 1].end <= ts) {
		item it = open->p[--open->n];
		put_event(p, &it, uuid, PF_SLICE_END, it.end);
	}
}

/* Draw what fits on this lane and leave the rest: host slices nest, device work never overlaps. */
static void draw_lane(perfetto *p, const item_list *from, item_list *rest, unsigned lane,
		      assay_map *seen)
{
	item_list open = {0};
	uint64_t uuid = lane_track(p, &from->p[0], lane, seen);
	for (size_t i = 0; i < from->n; i++) {
		const item *it = &from->p[i];
		bool nests =
			it->table == ON_HOST || it->table == ON_MARK || it->table == ON_ARRIVAL;
		/* started and stopped by id: between others it would push them off their line */
		bool strays = lane == 0 && it->table == ON_HOST &&
			      p->t->host.kind[it->row] == ASSAY_HOST_PROCESS_RANGE;
		close_until(p, &open, uuid, it->ts);
		if (strays || (open.n && (!nests || it->end > open.p[open.n - 1].end))) {
			*assay_push(rest) = *it;
			continue;
		}
		bool instant =
			it->table == ON_ARRIVAL ||
			(it->table == ON_HOST && p->t->host.kind[it->row] == ASSAY_HOST_INSTANT &&
			 it->end == it->ts);
		put_event(p, it, uuid, instant ? PF_INSTANT : PF_SLICE_BEGIN, it->ts);
		if (!instant && it->end == it->ts)
			put_event(p, it, uuid, PF_SLICE_END, it->end);
		else if (!instant)
			*assay_push(&open) = *it;
	}
	close_until(p, &open, uuid, INT64_MAX);
	assay_vec_free(&open);
}

enum { LANES_TRIED = 64 }; /* then each has a lane of its own: the time stays linear */

static void draw_line(perfetto *p, const item *items, size_t n, assay_map *seen)
{
	item_list now = {0}, rest = {0};
	assay_vec_reserve(&now, n);
	memcpy(now.p, items, n * sizeof *items);
	now.n = n;
	unsigned lane = 0;
	for (; now.n && lane < LANES_TRIED; lane++) {
		rest.n = 0;
		draw_lane(p, &now, &rest, lane, seen);
		item_list swap = now;
		now = rest;
		rest = swap;
	}
	for (size_t i = 0; i < now.n; i++)
		draw_lane(p, &(item_list){&now.p[i], 1, 1}, &rest, lane++, seen);
	assay_vec_free(&now);
	assay_vec_free(&rest);
}

static void add_items(perfetto *p, item_table table, size_t n, const uint32_t *track,
		      const int64_t *ts, const int64_t *dur)
{
	for (uint32_t i = 0; i < n; i++)
		*assay_push(&p->items) = (item){track[i], (uint8_t)table, i, ts[i],
						ts[i] + (dur[i] > 0 ? dur[i] : 0)};
}

static void add_waits(perfetto *p)
{
	const assay_wait_table *w = &p->t->wait;
	assay_wait_rows found = {0};
	assay_wait_rows_find(p->run, &found);
	for (size_t k = 0; k < found.n; k++) {
		const assay_wait_row *r = &found.p[k];
		bool of_stream = r->track != ASSAY_NO_ROW;
		*assay_push(&p->items) = (item){of_stream ? r->track : w->thread[r->wait],
						of_stream ? ON_WAIT : ON_HOST_WAIT, r->wait,
						w->ts[r->wait], w->ts[r->wait] + w->dur[r->wait]};
	}
	assay_vec_free(&found);
}

static void add_arrivals(perfetto *p)
{
	for (size_t i = 0; i < p->arrivals.n; i++)
		*assay_push(&p->items) = p->arrivals.p[i];
}

static bool same_line(const item *a, const item *b)
{
	return a->track == b->track && line[a->table] == line[b->table];
}

static void draw_all(perfetto *p, assay_map *seen)
{
	const assay_tables *t = p->t;
	add_items(p, ON_HOST, t->host.n, t->host.track, t->host.ts, t->host.dur);
	add_items(p, ON_GPU, t->gpu.n, t->gpu.track, t->gpu.ts, t->gpu.dur);
	add_items(p, ON_SYNC, t->sync.n, t->sync.track, t->sync.ts, t->sync.dur);
	add_items(p, ON_MARK, t->mark.n, t->mark.track, t->mark.ts, t->mark.dur);
	add_waits(p);
	add_arrivals(p);
	sort_items(p);
	for (size_t i = 0, n; i < p->items.n; i += n) {
		for (n = 1; i + n < p->items.n && same_line(&p->items.p[i], &p->items.p[i + n]);)
			n++;
		draw_line(p, p->items.p + i, n, seen);
	}
}

/* ------------------------------------------------------------------ counters */

/* Telemetry of a device stands below it; 0 for other counters. */
static uint64_t counted_device(perfetto *p, uint32_t track, assay_map *seen)
{
	const assay_track_table *t = &p->t->track;
	return t->kind[track] == ASSAY_TRACK_TELEMETRY && t->pid[track] >= 0
		       ? put_device(p, t->source[track], t->pid[track], seen)
		       : 0;
}

static void put_counters(perfetto *p, assay_map *seen)
{
	const assay_counter_table *c = &p->t->counter;
	for (uint32_t i = 0; i < c->n; i++) {
		uint32_t source = p->t->track.source[c->track[i]];
		uint64_t uuid = track_uuid(source, UUID_COUNTER, c->track[i], c->name[i], 0);
		uint32_t *slot = assay_map_at(seen, uuid);
		bool is_new = *slot == ASSAY_MAP_ABSENT;
		*slot = 1;
		if (is_new) {
			uint64_t device = counted_device(p, c->track[i], seen);
			size_t packet = perfetto_open_packet(p, source),
			       track = assay_protow_open(&p->w, PF_PACKET_TRACK);
			assay_protow_varint(&p->w, PF_TRACK_UUID, uuid);
			assay_protow_nonzero(&p->w, PF_TRACK_PARENT, device);
			assay_protow_string(&p->w, PF_TRACK_NAME, assay_text(p->run, c->name[i]));
			assay_protow_close(&p->w, assay_protow_open(&p->w, PF_TRACK_COUNTER));
			assay_protow_close(&p->w, track);
			assay_protow_close(&p->w, packet);
		}
		size_t packet = perfetto_open_packet(p, source);
		assay_protow_varint(&p->w, PF_PACKET_TIMESTAMP,
				    perfetto_absolute(p, source, c->ts[i]));
		size_t event = assay_protow_open(&p->w, PF_PACKET_EVENT);
		assay_protow_varint(&p->w, PF_EVENT_TYPE, PF_COUNTER);
		assay_protow_varint(&p->w, PF_EVENT_TRACK, uuid);
		assay_protow_f64(&p->w, PF_EVENT_VALUE, c->value[i]);
		assay_protow_close(&p->w, event);
		assay_protow_close(&p->w, packet);
	}
}

/* ------------------------------------------------------------------ devices */

static void put_fact(perfetto *p, const char *key, int64_t v)
{
	char text[ASSAY_DIGITS_MAX + 2];
	if (v < 0)
		return;
	*assay_put_i64(text, v) = 0;
	size_t fact = assay_protow_open(&p->w, PF_GPU_EXTRA);
	assay_protow_string(&p->w, PF_EXTRA_KEY, assay_str_of(key));
	assay_protow_string(&p->w, PF_EXTRA_VALUE, assay_str_of(text));
	assay_protow_close(&p->w, fact);
}

static void put_gpu_facts(perfetto *p, uint32_t i)
{
	const assay_device_table *d = &p->t->device;
	size_t gpu = assay_protow_open(&p->w, PF_INFO_GPU);
	assay_protow_text(&p->w, PF_GPU_NAME, assay_text(p->run, d->name[i]));
	assay_protow_text(&p->w, PF_GPU_VENDOR, assay_text(p->run, d->vendor[i]));
	assay_protow_text(&p->w, PF_GPU_ARCH, assay_text(p->run, d->arch[i]));
	put_fact(p, "device", d->id[i]);
	put_fact(p, "memory", d->memory[i]);
	put_fact(p, "units", d->units[i]);
	put_fact(p, "warp", d->warp[i]);
	assay_protow_close(&p->w, gpu);
}

/* One packet for each run of devices of a source. */
static void put_devices(perfetto *p)
{
	const assay_device_table *d = &p->t->device;
	for (uint32_t i = 0, n; i < d->n; i += n) {
		size_t packet = perfetto_open_packet(p, d->source[i]);
		size_t info = assay_protow_open(&p->w, PF_PACKET_GPU_INFO);
		for (n = 0; i + n < d->n && d->source[i + n] == d->source[i]; n++)
			put_gpu_facts(p, i + n);
		assay_protow_close(&p->w, info);
		perfetto_close_packet(p, packet);
	}
}

static bool perfetto_write(const assay_run *run, FILE *out, assay_left_out *left, assay_err *err)
{
	(void)left, (void)err;
	perfetto p = {.run = run, .t = &run->part.t, .out = out};
	assay_map seen = {0};
	p.grids = assay_grids_of(run, &p.scratch);
	assay_source_places_find(&p.at, run, &p.scratch);
	p.many = has_many_processes(p.t);
	find_writers(&p);
	place_streams(&p);
	index_flows(&p);
	put_devices(&p);
	draw_all(&p, &seen);
	put_counters(&p, &seen);
	perfetto_put_samples(&p);
	perfetto_flush(&p);
	assay_map_free(&seen);
	assay_map_free(&p.named);
	assay_protow_free(&p.interned);
	assay_vec_free(&p.items);
	assay_vec_free(&p.arrivals);
	for (size_t i = 0; i < PERFETTO_MADE_ARGS; i++)
		assay_vec_free(&p.made[i].bytes);
	assay_protow_free(&p.w);
	assay_arena_free(&p.scratch);
	assay_arena_free(&p.args);
	return true;
}

const assay_writer assay_writer_perfetto = {
	.name = "perfetto",
	.exts = {".pftrace", ".perfetto-trace"},
	.about = "Perfetto's own format: lanes, arrows, every argument",
	.back = "the same but for memory events, stream flags, scope ids",
	.page = "perfetto",
	.write = perfetto_write,
	.lacks = ASSAY_LACKS_MEMORY | ASSAY_LACKS_PMC | ASSAY_LACKS_STATS | ASSAY_LACKS_ARROWS |
		 ASSAY_LACKS_STREAMS | ASSAY_LACKS_SCOPE_IDS | ASSAY_LACKS_PLANES |
		 ASSAY_LACKS_FACTS | ASSAY_LACKS_STACKS,
};

/* ------------------------------------------------------------------ tests */

static assay_str written(const assay_run *run, char **text)
{
	size_t n;
	FILE *out = open_memstream(text, &n);
	bool ok = out && perfetto_write(run, out, NULL, NULL);
	if (out)
		fclose(out);
	return (assay_str){*text, ok ? n : 0};
}

static uint32_t add_source(assay_run *run, const char *path, int rank, uint8_t traits)
{
	assay_source_table *s = &run->part.t.source;
	uint32_t i = assay_add(&run->part.t, ASSAY_T_source);
	s->path[i] = assay_sid_of(run, path);
	s->rank[i] = rank;
	s->traits[i] = traits;
	return i;
}

static void add_kernel(assay_run *run, uint32_t source, int64_t stream)
{
	assay_tables *t = &run->part.t;
	run->part.source = source;
	uint32_t g = assay_add(t, ASSAY_T_gpu);
	t->gpu.track[g] = assay_stream_track(&run->part, 0, stream);
	t->gpu.dur[g] = 1;
}

TEST(inputs_are_called_by_their_rank_or_file_and_a_lone_process_by_neither)
{
	assay_run *run = assay_run_new();
	char *text;
	add_source(run, "run/env.json", -1, ASSAY_TRAIT_NOTE);
	add_kernel(run, add_source(run, "run/a.asy", -1, 0), 7);
	assay_str one = written(run, &text);
	CHECK(assay_str_find(one, "GPU 0") >= 0 && assay_str_find(one, "rank") < 0 &&
	      assay_str_find(one, "a.asy") < 0);
	free(text);
	add_kernel(run, add_source(run, "run/b.asy", 5, 0), 7);
	assay_str two = written(run, &text);
	CHECK(assay_str_find(two, "a.asy GPU 0") >= 0 && assay_str_find(two, "rank 5 GPU 0") >= 0);
	free(text);
	assay_run_free(run);
	return 0;
}

TEST(streams_with_handles_for_numbers_keep_an_order_of_32_bits)
{
	assay_run *run = assay_run_new();
	add_source(run, "a", -1, 0);
	add_kernel(run, 0, INT64_MAX - 1);
	add_kernel(run, 0, 7);
	perfetto p = {.run = run, .t = &run->part.t};
	place_streams(&p);
	CHECK_EQ(stream_rank(&p, 1, UUID_STREAM, 0), RANK_WORK);
	CHECK_EQ(stream_rank(&p, 0, UUID_MARK, 0), RANKS_A_STREAM);
	CHECK_EQ(stream_rank(&p, 0, UUID_SYNC, 1000), 2 * RANKS_A_STREAM - 1);
	assay_arena_free(&p.scratch);
	assay_run_free(run);
	return 0;
}

TEST(nothing_is_written_of_nothing)
{
	assay_run *run = assay_run_new();
	char *text;
	CHECK_EQ(written(run, &text).n, 0);
	free(text);
	assay_run_free(run);
	return 0;
}
