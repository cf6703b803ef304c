/* Perfetto's own trace format: packets of track descriptors and track events.
 * docs/formats/perfetto.md; field numbers from the .proto files of Perfetto. */
#include "write/perfetto.h"
#include "write/wait_rows.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/sort.h"
#include "base/test.h"
#include "model/streams.h"

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
	UUID_LOOK,
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

/* The rank an input says it is; of several inputs that say none, the file's name. */
static const char *input_prefix(perfetto *p, uint32_t source)
{
	const assay_source_table *s = &p->t->source;
	if (source >= s->n)
		return "";
	uint32_t group = assay_group_of(p->t, source);
	if (s->rank[group] >= 0)
		return assay_printf(&p->scratch, "rank %d ", s->rank[group]);
	if (!p->many)
		return "";
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
		    perfetto_process_number(p, i) > 0)
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

/* The line of what a thread was seen doing, below the thread's own. */
static void put_looks(perfetto *p, uint32_t track, uint64_t uuid, unsigned lane, assay_map *seen)
{
	uint32_t source = p->t->track.source[track];
	uint64_t thread = track_uuid(source, UUID_THREAD, track, 0, 0);
	const char *more = lane ? assay_printf(&p->scratch, " (lane %u)", lane + 1) : "";
	uint32_t *slot = assay_map_at(seen, thread);
	bool is_new = *slot == ASSAY_MAP_ABSENT;
	*slot = 1;
	if (is_new)
		put_thread(p, track, 0, seen);
	put_track(p, source, uuid, thread, assay_printf(&p->scratch, "seen doing%s", more),
		  INT32_MAX);
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

uint64_t perfetto_lane_track(perfetto *p, const item *it, unsigned lane, assay_map *seen)
{
	const assay_track_table *t = &p->t->track;
	static const unsigned kinds[] = {
		[ON_HOST] = UUID_THREAD,         [ON_GPU] = UUID_STREAM,     [ON_SYNC] = UUID_SYNC,
		[ON_MARK] = UUID_MARK,           [ON_ARRIVAL] = UUID_THREAD, [ON_WAIT] = UUID_SYNC,
		[ON_HOST_WAIT] = UUID_HOST_WAIT, [ON_LOOK] = UUID_LOOK};
	unsigned what = kinds[it->table];
	uint64_t uuid = track_uuid(t->source[it->track], what, it->track, 0, lane);
	uint32_t *slot = assay_map_at(seen, uuid);
	bool is_new = *slot == ASSAY_MAP_ABSENT;
	*slot = 1;
	if (is_new && what == UUID_THREAD) {
		put_thread(p, it->track, lane, seen);
	} else if (is_new && what == UUID_LOOK) {
		put_looks(p, it->track, uuid, lane, seen);
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
		perfetto_close_packet(p, packet);
		perfetto_flush_some(p);
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

/* By source: when its first row begins. */
static int64_t *first_times(perfetto *p)
{
	const assay_tables *t = p->t;
	int64_t *first = assay_alloc(&p->scratch, (t->source.n + 1) * sizeof *first);
	const struct {
		size_t n;
		const uint32_t *track;
		const int64_t *ts;
	} tables[] = {{t->gpu.n, t->gpu.track, t->gpu.ts}, {t->host.n, t->host.track, t->host.ts}};
	for (size_t i = 0; i <= t->source.n; i++)
		first[i] = INT64_MAX;
	for (size_t k = 0; k < ASSAY_COUNT_OF(tables); k++)
		for (size_t i = 0; i < tables[k].n; i++) {
			int64_t *at = &first[t->track.source[tables[k].track[i]]];
			*at = tables[k].ts[i] < *at ? tables[k].ts[i] : *at;
		}
	return first;
}

/* What a recorder tells of a stream, as an instant on the line of its device: when it was made, or
 * at the beginning. */
static void put_stream(perfetto *p, uint32_t i, const int64_t *first, assay_map *seen)
{
	const assay_stream_table *s = &p->t->stream;
	uint32_t source = s->source[i];
	int64_t created = s->created[i] ? (int64_t)perfetto_absolute(p, source, s->created[i]) : 0;
	int64_t gone = s->destroyed[i] ? (int64_t)perfetto_absolute(p, source, s->destroyed[i]) : 0;
	uint64_t uuid = put_device(p, source, s->device[i], seen);
	assay_jsonw text = {.compact = true};
	size_t packet = perfetto_open_packet(p, source);
	p->args.out.n = 0;
	assay_stream_put(&text, p->run, i, created, gone);
	perfetto_args args = perfetto_make_text_args(p, assay_jsonw_text(&text));
	int64_t begin = first[source] == INT64_MAX ? 0 : first[source];
	assay_protow_varint(&p->w, PF_PACKET_TIMESTAMP,
			    created ? (uint64_t)created : perfetto_absolute(p, source, begin));
	size_t event = assay_protow_open(&p->w, PF_PACKET_EVENT);
	assay_protow_varint(&p->w, PF_EVENT_TYPE, PF_INSTANT);
	assay_protow_varint(&p->w, PF_EVENT_TRACK, uuid);
	assay_protow_string(&p->w, PF_EVENT_CATEGORY, ASSAY_S(PF_STREAM_CATEGORY));
	assay_protow_string(&p->w, PF_EVENT_NAME,
			    assay_str_of(stream_label(p, s->id[i], UUID_STREAM, 0)));
	perfetto_note_args(p, args);
	assay_protow_close(&p->w, event);
	perfetto_close_packet(p, packet);
	assay_jsonw_free(&text);
}

static void put_streams(perfetto *p, assay_map *seen)
{
	int64_t *first = p->t->stream.n ? first_times(p) : NULL;
	for (uint32_t i = 0; i < p->t->stream.n; i++)
		put_stream(p, i, first, seen);
}

static int64_t before_zero(const perfetto *p)
{
	int64_t least = 0;
	for (uint32_t i = 0; i < p->t->source.n; i++) {
		const assay_source_clock *c = &p->at.clocks.source[i];
		int64_t first =
			c->first <= c->last ? assay_source_absolute(&p->at, i, c->first) : 0;
		least = first < least ? first : least;
	}
	return least == INT64_MIN ? INT64_MAX : -least;
}

static bool perfetto_write(const assay_run *run, FILE *out, assay_left_out *left, assay_err *err)
{
	perfetto p = {.run = run, .t = &run->part.t, .out = out};
	assay_map seen = {0};
	p.grids = assay_grids_of(run, &p.scratch);
	assay_source_places_find(&p.at, run, &p.scratch);
	p.moved = before_zero(&p);
	assay_leave_out(left, p.moved != 0, ASSAY_NEW_ORIGIN);
	p.many = has_many_processes(p.t);
	find_writers(&p);
	place_streams(&p);
	perfetto_start_keys(&p);
	put_devices(&p);
	put_streams(&p, &seen);
	assay_event_calls_by_call(p.t, &p.event_calls);
	perfetto_put_slices(&p, &seen);
	put_counters(&p, &seen);
	perfetto_put_samples(&p);
	perfetto_flush(&p);
	bool any = p.sequence || assay_fail(err, ASSAY_UNKNOWN, 0,
					    "there is nothing to write: no device, no event");
	assay_map_free(&seen);
	assay_map_free(&p.named);
	assay_map_free(&p.event_calls);
	assay_map_free(&p.texts);
	assay_vec_free(&p.frames);
	assay_protow_free(&p.interned);
	assay_protow_free(&p.w);
	assay_arena_free(&p.one);
	assay_arena_free(&p.scratch);
	return any;
}

const assay_writer assay_writer_perfetto = {
	.name = "perfetto",
	.exts = {".pftrace", ".perfetto-trace"},
	.about = "Perfetto's own format: lanes, arrows, every argument",
	.back = "the same but for memory events, facts of headers, scope ids",
	.page = "perfetto",
	.write = perfetto_write,
	.lacks = ASSAY_LACKS_MEMORY | ASSAY_LACKS_PMC | ASSAY_LACKS_STATS | ASSAY_LACKS_ARROWS |
		 ASSAY_LACKS_SCOPE_IDS | ASSAY_LACKS_PLANES | ASSAY_LACKS_FACTS |
		 ASSAY_LACKS_RECORDING | ASSAY_LACKS_UNNUMBERED | ASSAY_LACKS_ZEROS |
		 ASSAY_LACKS_NO_DEVICE | ASSAY_LACKS_NO_NAME | ASSAY_LACKS_WORLD,
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

TEST(a_lone_input_is_called_by_the_rank_it_says_it_is)
{
	assay_run *run = assay_run_new();
	char *text;
	add_kernel(run, add_source(run, "a.json", 3, 0), 7);
	CHECK(assay_str_find(written(run, &text), "rank 3 GPU 0") >= 0);
	free(text);
	assay_run_free(run);
	return 0;
}

TEST(of_inputs_without_a_rank_several_are_called_by_file_and_a_lone_one_is_not)
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

TEST(nothing_is_no_trace)
{
	assay_run *run = assay_run_new();
	assay_err err = {0};
	char *text;
	size_t n;
	FILE *out = open_memstream(&text, &n);
	CHECK(out && !perfetto_write(run, out, NULL, &err));
	fclose(out);
	CHECK_EQ(n, 0);
	CHECK(strstr(err.text, "nothing to write") != NULL);
	free(text);
	assay_run_free(run);
	return 0;
}
