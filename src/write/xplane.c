/* XPlane files that xprof renders in full. docs/formats/xplane.md
 *
 * Raw mode: no group ids, flows or derived lines are written, for xprof makes all of them from
 * correlation ids, step markers and scope ids; it does so unless every plane has group ids.
 * Grouped mode: every plane has them, and xprof shows what stands in the file. */
#include "write/xplane.h"

#include <inttypes.h>

#include "base/beside.h"
#include "base/json.h"
#include "base/test.h"
#include "model/machine.h"
#include "write/wait_rows.h"

/* Picoseconds in 64 bits hold 106 days. */
static const int64_t span_max = INT64_MAX / 1000;

uint32_t xplane_source(const xplane_writer *w, uint32_t track)
{
	uint32_t n = (uint32_t)w->t->source.n;
	if (track == ASSAY_NO_ROW) /* memory whose thread was not recorded */
		return n == 1 ? 0 : n;
	uint32_t source =
		assay_track_group(w->t, track); /* rocprofv3 has a file a kind of record */
	return source < n ? source : n;
}

int64_t xplane_time(const xplane_writer *w, uint32_t track, int64_t ts)
{
	return ts + w->shift.p[xplane_source(w, track)];
}

int64_t xplane_line_base(const xplane_writer *w, uint32_t track, assay_str rest)
{
	int64_t base = 0;
	assay_proto c = assay_proto_on(rest);
	for (assay_field f; assay_proto_next(&c, &f);)
		if (f.number == XLINE_TIMESTAMP_NS && f.wire == ASSAY_WIRE_VARINT)
			base = assay_field_i64(&f);
	base = base ? xplane_time(w, track, base) : 0;
	return base > 0 ? base : 0;
}

uint64_t xplane_corr(const xplane_writer *w, uint32_t track, uint64_t corr)
{
	uint32_t source = xplane_source(w, track);
	return corr + (source < w->t->source.n ? w->at.corr[source] : 0);
}

static uint64_t device_key(uint32_t source, int64_t id)
{
	return (uint64_t)source << 32 | (uint32_t)id;
}

uint32_t xplane_device_at(const xplane_writer *w, uint32_t source, int64_t id)
{
	return assay_map_get(&w->device_at, device_key(source, id));
}

uint32_t xplane_device_of(const xplane_writer *w, uint32_t track)
{
	return xplane_device_at(w, xplane_source(w, track), w->t->track.pid[track]);
}

static uint64_t stream_key(uint32_t source, int64_t device, int64_t stream)
{
	int64_t k[] = {source, device, stream};
	return assay_hash(k, sizeof k, 0);
}

int64_t xplane_line_of(const xplane_writer *w, uint32_t source, int64_t device, int64_t stream)
{
	uint32_t track = assay_map_get(&w->stream_at, stream_key(source, device, stream));
	return track == ASSAY_MAP_ABSENT ? stream : w->line_of.p[track];
}

uint64_t xplane_step_key(uint32_t source, int64_t ts, assay_sid name)
{
	struct {
		int64_t ts;
		uint32_t source, name;
	} k = {ts, source, name};
	return assay_hash(&k, sizeof k, 0);
}

bool xplane_has_arg(const xplane_writer *w, assay_sid args, const char *key)
{
	assay_str s = assay_text(w->run, args);
	ptrdiff_t at = assay_str_find(s, key);
	return at > 0 && s.p[at - 1] == '"' && s.p[(size_t)at + strlen(key)] == '"';
}

assay_str xplane_arg_text(xplane_writer *w, assay_sid args, const char *key)
{
	assay_str s = assay_text(w->run, args);
	const char *head = assay_printf(&w->scratch, "\"%s\": \"", key);
	ptrdiff_t at = assay_str_find(s, head);
	if (at < 0)
		return (assay_str){0};
	size_t from = (size_t)at + strlen(head), n = from;
	while (n < s.n && s.p[n] != '"')
		n += s.p[n] == '\\' ? 2 : 1;
	return n < s.n ? assay_json_unescape(&w->scratch, (assay_str){s.p + from, n - from})
		       : (assay_str){0};
}

/* Walks towards the root and stops at the first child that the tree has: see scope_tree.h. */
int64_t xplane_scope(xplane_writer *w, uint32_t scope)
{
	const assay_scope_table *s = &w->t->scope;
	if (scope == ASSAY_NO_ROW)
		return 0;
	uint32_t source =
		s->source[scope] < w->t->source.n ? s->source[scope] : (uint32_t)w->t->source.n;
	/* ranges of an input that has ids of its own are not mixed with them */
	if (w->given.p[source] && !(s->flags[scope] & ASSAY_SCOPE_GIVEN))
		return 0;
	while (w->in_tree.n <= scope)
		*assay_push(&w->in_tree) = false;
	for (uint32_t r = scope; !w->in_tree.p[scope] && s->parent[r]; r = s->up[r])
		if (!assay_scope_tree_add(&w->tree, s->id[r], s->parent[r]))
			break;
	w->in_tree.p[scope] = true;
	return s->id[scope];
}

int64_t xplane_put_scope(xplane_writer *w, xplane_out *p, uint32_t scope, uint8_t how)
{
	int64_t id = xplane_scope(w, scope);
	if (id)
		xplane_put_i64(p, "scope_range_id", id);
	if (id && how == ASSAY_SCOPE_HOW_INFERRED)
		xplane_put_i64(p, "scope_inferred", 1);
	return id;
}

static uint64_t place_key(assay_kept_of of, assay_sid place)
{
	return (uint64_t)of << 32 | place;
}

uint32_t xplane_kept_first(const xplane_writer *w, assay_kept_of of, assay_sid place)
{
	return place ? assay_map_get(&w->kept_at, place_key(of, place)) : ASSAY_NO_ROW;
}

assay_str xplane_kept(xplane_writer *w, uint32_t source, const char *place)
{
	const assay_kept_table *k = &w->t->kept;
	assay_sid sid = assay_pool_find(&w->run->part.strings, assay_str_of(place));
	assay_protow all = {0};
	for (uint32_t i = xplane_kept_first(w, ASSAY_KEPT_PLANE, sid); i != ASSAY_NO_ROW;
	     i = w->kept_next.p[i])
		if (source == ASSAY_NO_ROW || k->source[i] == source)
			assay_protow_raw(&all, assay_text(w->run, k->bytes[i]));
	assay_str text = assay_protow_data(&all);
	if (text.n)
		text.p = assay_dup(&w->scratch, text);
	assay_protow_free(&all);
	return text;
}

uint64_t xplane_kept_key(assay_sid place, uint32_t row)
{
	return (uint64_t)place << 32 | row;
}

static void index_kept(xplane_writer *w)
{
	const assay_kept_table *k = &w->t->kept;
	assay_sid ours = assay_pool_find(&w->run->part.strings, ASSAY_S("xplane"));
	assay_vec_reserve(&w->kept_next, k->n);
	for (uint32_t i = (uint32_t)k->n; i-- > 0;) { /* backwards: chains are in order then */
		w->kept_next.p[i] = ASSAY_NO_ROW;
		if (k->format[i] != ours || k->of[i] >= ASSAY_KEPT_OF_COUNT)
			continue;
		uint32_t *slot = assay_map_at(&w->kept_at, place_key(k->of[i], k->place[i]));
		w->kept_next.p[i] = *slot;
		*slot = i;
	}
	for (uint32_t i = 0; i < k->n; i++) {
		if (k->format[i] != ours || k->of[i] >= ASSAY_KEPT_OF_COUNT)
			continue;
		bool placed = k->of[i] == ASSAY_KEPT_NAME || k->of[i] == ASSAY_KEPT_STAT_NAME ||
			      k->of[i] == ASSAY_KEPT_BAND;
		uint64_t key = xplane_kept_key(placed ? k->place[i] : 0, k->row[i]);
		*assay_map_at(&w->kept[k->of[i]], key) = i;
	}
}

assay_str xplane_rest(const xplane_writer *w, assay_kept_of of, uint64_t key)
{
	uint32_t i = w->kept[of].n ? assay_map_get(&w->kept[of], key) : ASSAY_MAP_ABSENT;
	return i == ASSAY_MAP_ABSENT ? (assay_str){0} : assay_text(w->run, w->t->kept.bytes[i]);
}

bool xplane_is_beside(const xplane_writer *w, uint32_t mark)
{
	uint32_t i = assay_map_get(&w->kept[ASSAY_KEPT_MARK], mark);
	return i != ASSAY_MAP_ABSENT &&
	       assay_str_starts(assay_text(w->run, w->t->kept.place[i]), XPLANE_BESIDE);
}

/* ------------------------------------------------------------------ clock */

struct span {
	int64_t first, last;
	bool wide;
};

static void widen(struct span *s, int64_t ts, int64_t dur, int64_t delta)
{
	int64_t from, to;
	s->wide |= __builtin_add_overflow(ts, delta, &from) ||
		   __builtin_add_overflow(from, dur > 0 ? dur : 0, &to);
	if (s->wide)
		return;
	s->first = from < s->first ? from : s->first;
	s->last = to > s->last ? to : s->last;
}

/* The moment that the file counts from, on the clock of ref: the first event, or the start of the
 * session where it is known and the file can hold the time since. */
static int64_t origin_of(const assay_source_table *s, uint32_t ref, const struct span *events,
			 int64_t session)
{
	int64_t start, length;
	bool known = session && ref < s->n && s->epoch[ref] &&
		     !__builtin_sub_overflow(session, s->base[ref], &start) &&
		     start <= events->first &&
		     !__builtin_sub_overflow(events->last, start, &length) && length <= span_max;
	return known ? start : events->first;
}

static void widen_by(const xplane_writer *w, struct span *s, uint32_t track, int64_t ts,
		     int64_t dur)
{
	uint32_t source = xplane_source(w, track);
	widen(s, ts, dur, source < w->t->source.n ? w->at.shift[source] : 0);
}

static struct span span_of_events(const xplane_writer *w)
{
	const assay_tables *t = w->t;
	struct span s = {INT64_MAX, INT64_MIN, false};
	for (size_t i = 0; i < t->gpu.n; i++)
		widen_by(w, &s, t->gpu.track[i], t->gpu.ts[i], t->gpu.dur[i]);
	for (size_t i = 0; i < t->host.n; i++)
		widen_by(w, &s, t->host.track[i], t->host.ts[i], t->host.dur[i]);
	for (size_t i = 0; i < t->sync.n; i++)
		widen_by(w, &s, t->sync.track[i], t->sync.ts[i], t->sync.dur[i]);
	for (size_t i = 0; i < t->alloc.n; i++)
		widen_by(w, &s, t->alloc.track[i], t->alloc.ts[i], 0);
	for (size_t i = 0; i < t->sample.n; i++)
		widen_by(w, &s, t->sample.track[i], t->sample.ts[i], t->sample.dur[i]);
	if (s.first > s.last)
		s.first = s.last = 0;
	return s;
}

/* Telemetry goes on for hours around a trace of seconds, which viewers would then show as a dot: of
 * what is before and after the events, as much is written as they last. */
static void add_telemetry(xplane_writer *w, struct span *s)
{
	const assay_counter_table *c = &w->t->counter;
	int64_t length = s->last - s->first, room = (span_max - length) / 2;
	int64_t more = length < room ? length : room;
	w->near_from = s->first < INT64_MIN + more ? INT64_MIN : s->first - more;
	w->near_to = s->last > INT64_MAX - more ? INT64_MAX : s->last + more;
	for (uint32_t i = 0; i < c->n; i++)
		if (xplane_is_written(w, i))
			widen_by(w, s, c->track[i], c->ts[i], 0);
}

/* session: ns since 1970, 0 for the file's first event. */
static bool set_clock(xplane_writer *w, int64_t session, assay_err *err)
{
	const assay_source_table *source = &w->t->source;
	uint32_t ref = w->at.first;
	struct span s = span_of_events(w);
	int64_t span = 0;
	if (s.wide || __builtin_sub_overflow(s.last, s.first, &span) || span > span_max)
		return assay_fail(err, ASSAY_LIMIT, 0,
				  "the events span more than the 106 days an XPlane file can hold");
	add_telemetry(w, &s);
	/* those of an XPlane file count from the session's start already */
	bool relative = assay_has_trait(w->run, ref, ASSAY_TRAIT_PLANES);
	int64_t origin = relative && s.first >= 0 && s.last <= span_max
				 ? 0
				 : origin_of(source, ref, &s, session);
	for (uint32_t i = 0; i <= source->n; i++)
		*assay_push(&w->shift) = (i < source->n ? w->at.shift[i] : 0) - origin;
	w->moved = origin != 0;
	if (ref < source->n && source->epoch[ref] && source->base[ref] + origin > 0) {
		w->start = source->base[ref] + origin;
		w->stop = w->start + (s.last - origin);
	}
	return true;
}

/* ------------------------------------------------------------------ what belongs together */

static void set_sources(xplane_writer *w)
{
	const assay_tables *t = w->t;
	assay_source_places_find(&w->at, w->run, &w->scratch);
	for (size_t i = 0; i <= t->source.n; i++) {
		*assay_push(&w->given) = false;
		*assay_push(&w->is_xplane) =
			assay_has_trait(w->run, (uint32_t)i, ASSAY_TRAIT_PLANES);
	}
	assay_vec_reserve(&w->xla, t->source.n + 1);
	xplane_find_xla(w->run, w->xla.p);
	w->has_hlo = xplane_kept_first(w, ASSAY_KEPT_PLACE,
				       assay_pool_find(&w->run->part.strings,
						       ASSAY_S(XPLANE_METADATA))) != ASSAY_NO_ROW;
	for (size_t i = 0; i < t->scope.n; i++)
		if (t->scope.flags[i] & ASSAY_SCOPE_GIVEN && t->scope.source[i] < t->source.n)
			w->given.p[t->scope.source[i]] = true;
}

/* Devices keep their numbers; of two inputs with the same one the second takes the next free. */
static void add_device(xplane_writer *w, assay_map *used, uint32_t source, int64_t id)
{
	uint32_t *slot = assay_map_at(&w->device_at, device_key(source, id));
	if (*slot != ASSAY_MAP_ABSENT)
		return;
	int64_t number = id >= 0 && id <= INT32_MAX ? id : 0;
	while (assay_map_get(used, (uint64_t)number) != ASSAY_MAP_ABSENT)
		number++;
	*assay_map_at(used, (uint64_t)number) = 1;
	*slot = (uint32_t)w->devices.n;
	*assay_push(&w->devices) = (xplane_device){source, id, number};
}

/* In an XPlane file. */
static bool has_plane(xplane_writer *w, uint32_t source, int64_t device)
{
	const assay_meta_table *m = &w->t->meta;
	const char *name = assay_printf(&w->scratch, XPLANE_GPU "%" PRId64 ".", device);
	if (source >= w->t->source.n || !w->is_xplane.p[source])
		return false;
	for (size_t i = 0; i < m->n; i++)
		if (m->source[i] == source && assay_str_starts(assay_text(w->run, m->key[i]), name))
			return true;
	return false;
}

static void set_devices(xplane_writer *w)
{
	const assay_track_table *t = &w->t->track;
	const assay_device_table *d = &w->t->device;
	assay_map used = {0};
	for (uint32_t i = 0; i < t->n; i++) {
		if (t->kind[i] != ASSAY_TRACK_STREAM)
			continue;
		uint32_t source = xplane_source(w, i);
		add_device(w, &used, source, t->pid[i]);
		*assay_map_at(&w->stream_at, stream_key(source, t->pid[i], t->tid[i])) = i;
	}
	for (uint32_t i = 0; i < d->n; i++)
		if (has_plane(w, d->source[i], d->id[i])) /* an idle one, too */
			add_device(w, &used, d->source[i], d->id[i]);
	assay_map_free(&used);
	for (uint32_t i = 0; i < t->n; i++)
		*assay_push(&w->counted) = xplane_counted_device(w, i);
	for (size_t i = 0; i < w->t->host.n; i++)
		*assay_push(&w->device_of) = ASSAY_NO_ROW;
	for (size_t g = 0; g < w->t->launch.n; g++) {
		uint32_t call = w->t->launch.host[g];
		uint32_t k = xplane_device_of(w, w->t->gpu.track[g]);
		if (call != ASSAY_NO_ROW)
			w->device_of.p[call] = (uint32_t)w->devices.p[k].number;
	}
}

static uint64_t key_of_step(const xplane_writer *w, uint32_t step)
{
	const assay_step_table *s = &w->t->step;
	uint32_t source = s->source[step] < w->t->source.n ? assay_group_of(w->t, s->source[step])
							   : (uint32_t)w->t->source.n;
	return xplane_step_key(source, s->ts[step], s->name[step]);
}

uint32_t xplane_step_named(const xplane_writer *w, uint32_t step)
{
	return assay_map_get(&w->steps, key_of_step(w, step));
}

static void set_steps(xplane_writer *w)
{
	for (uint32_t i = 0; i < w->t->step.n; i++) {
		*assay_map_at(&w->steps, key_of_step(w, i)) = i;
		w->step_names |= xplane_step_bit(w->t->step.name[i]);
		*assay_push(&w->step_done) = false;
	}
}

/* ------------------------------------------------------------------ the other planes */

/* One stat a child. The metadata ids are scope ids and lead to no name: readers treat a missing
 * entry as nameless. The one entry there is has the largest id, so that what adds metadata to the
 * plane later counts on from there and meets no scope id. */
static void write_tree(xplane_writer *w)
{
	const assay_scope_table *s = &w->t->scope;
	for (uint32_t r = 0; r < s->n; r++)
		if (s->flags[r] & ASSAY_SCOPE_GIVEN)
			xplane_scope(w, r);
	if (!w->tree.child.n)
		return;
	xplane_out p = {0};
	int64_t most = 1;
	for (size_t i = 0; i < w->tree.child.n; i++) {
		int64_t child = w->tree.child.p[i], parent = w->tree.parent.p[i];
		most = child > most ? child : most;
		most = parent > most ? parent : most;
		assay_protow_varint(&p.stat, XSTAT_META, (uint64_t)child);
		assay_protow_varint(&p.stat, XSTAT_INT64, (uint64_t)parent);
		assay_protow_message(&p.stats, XPLANE_STATS, &p.stat);
	}
	assay_protow_varint(&p.meta, XMETA_ID, (uint64_t)most);
	assay_protow_varint(&p.entry, XENTRY_KEY, (uint64_t)most);
	assay_protow_message(&p.entry, XENTRY_VALUE, &p.meta);
	assay_protow_message(&p.stat_meta, XPLANE_STAT_META, &p.entry);
	if (w->grouped) { /* ids of this plane are scope ids: the name takes the one behind them */
		assay_protow_varint(&p.meta, XMETA_ID, (uint64_t)most + 1);
		assay_protow_text(&p.meta, XMETA_NAME, ASSAY_S("group_id"));
		assay_protow_varint(&p.entry, XENTRY_KEY, (uint64_t)most + 1);
		assay_protow_message(&p.entry, XENTRY_VALUE, &p.meta);
		assay_protow_message(&p.stat_meta, XPLANE_STAT_META, &p.entry);
	}
	xplane_end_plane(&p, w->out, 0, ASSAY_S(XPLANE_SCOPE_TREE), (assay_str){0});
}

static void task_time(xplane_out *p, const char *name, int64_t ns)
{
	assay_protow_varint(&p->stat, XSTAT_META, xplane_stat_id(p, assay_str_of(name)));
	assay_protow_varint(&p->stat, XSTAT_UINT64, (uint64_t)ns);
	assay_protow_message(&p->stats, XPLANE_STATS, &p->stat);
}

/* Warnings of ours are given anew where they still hold. */
static bool is_our_warning(assay_str place, assay_str bytes)
{
	assay_proto c = assay_proto_on(bytes);
	assay_field f;
	return assay_str_is(place, XPLANE_KEPT_SPACE) && assay_proto_next(&c, &f) &&
	       f.number == XSPACE_WARNINGS && assay_str_starts(f.bytes, XPLANE_OUR_WARNING);
}

#define BARE_STREAMS                                                                               \
	"streams without all derived rows (xprof has ids for 100 of them a device; assay scopes --timeline has all)"

/* In the file, where viewers show it, and to the caller. */
static void tell_bare_streams(xplane_writer *w, assay_left_out *left)
{
	if (!w->bare_streams)
		return;
	assay_protow out = {0};
	assay_protow_text(&out, XSPACE_WARNINGS,
			  assay_str_of(assay_printf(&w->scratch, XPLANE_OUR_WARNING "%zu %s",
						    w->bare_streams, BARE_STREAMS)));
	fwrite(out.out.p, 1, out.out.n, w->out);
	assay_protow_free(&out);
	assay_leave_out(left, w->bare_streams, BARE_STREAMS);
}

/* Whole planes and file-level fields that an input had and no table holds. */
static bool write_kept(xplane_writer *w)
{
	const assay_kept_table *k = &w->t->kept;
	bool task = false;
	for (size_t i = 0; i < k->n; i++) {
		assay_str place = assay_text(w->run, k->place[i]);
		bool is_task = assay_str_is(place, XPLANE_TASK);
		if (k->of[i] != ASSAY_KEPT_PLACE ||
		    !assay_str_is(assay_text(w->run, k->format[i]), "xplane") ||
		    (is_task && (w->moved || task)))
			continue;
		task |= is_task;
		assay_str bytes = assay_text(w->run, k->bytes[i]);
		if (is_our_warning(place, bytes))
			continue;
		if (w->grouped && place.n && place.p[0] == '/')
			xplane_write_named(w, bytes);
		else
			fwrite(bytes.p, 1, bytes.n, w->out);
	}
	return task;
}

static void write_task(xplane_writer *w)
{
	xplane_out p = {0};
	if (!w->start)
		return;
	task_time(&p, "profile_start_time", w->start);
	task_time(&p, "profile_stop_time", w->stop);
	xplane_end_plane(&p, w->out, 0, ASSAY_S(XPLANE_TASK), (assay_str){0});
}

/* The machine of each process, but for those of XPlane files, which keep what they had. */
static void write_machines(xplane_writer *w)
{
	const assay_tables *t = w->t;
	assay_protow out = {0};
	for (uint32_t i = 0; i < t->source.n; i++) {
		bool is_process = !w->is_xplane.p[i] && assay_group_of(t, i) == i &&
				  !assay_has_trait(w->run, i, ASSAY_TRAIT_NOTE) &&
				  !assay_has_trait(w->run, i, ASSAY_TRAIT_TELEMETRY);
		if (is_process)
			assay_protow_text(&out, XSPACE_HOSTNAMES, assay_machine_of(w->run, i));
	}
	if (out.out.n)
		fwrite(out.out.p, 1, out.out.n, w->out);
	assay_protow_free(&out);
}

static void free_all(xplane_writer *w)
{
	assay_vec_free(&w->shift);
	assay_vec_free(&w->given);
	assay_vec_free(&w->is_xplane);
	assay_vec_free(&w->device_of);
	assay_vec_free(&w->step_done);
	assay_vec_free(&w->in_tree);
	assay_vec_free(&w->devices);
	assay_vec_free(&w->line_of);
	assay_vec_free(&w->input);
	assay_vec_free(&w->thread);
	assay_vec_free(&w->told);
	assay_vec_free(&w->counted);
	assay_vec_free(&w->xla);
	assay_vec_free(&w->ops);
	assay_vec_free(&w->op_of);
	assay_vec_free(&w->costs);
	assay_vec_free(&w->cost_of);
	assay_map_free(&w->cost_at);
	assay_map_free(&w->op_at);
	assay_map_free(&w->op_names);
	assay_map_free(&w->wait_at);
	assay_map_free(&w->event_calls);
	assay_map_free(&w->steps);
	assay_map_free(&w->device_at);
	assay_map_free(&w->stream_at);
	for (int i = 0; i < ASSAY_KEPT_OF_COUNT; i++)
		assay_map_free(&w->kept[i]);
	assay_map_free(&w->kept_at);
	assay_vec_free(&w->kept_next);
	assay_scope_tree_free(&w->tree);
	assay_arena_free(&w->scratch);
}

/* ------------------------------------------------------------------ the file */

/* The host's plane is made while those of the devices are written, with what it changes of the
 * writer for its own. */
struct host_plane {
	xplane_writer w;
	xplane_out out;
	assay_beside beside;
};

static void make_host(void *arg)
{
	struct host_plane *h = arg;
	xplane_make_host(&h->w, &h->out);
}

static void begin_host(struct host_plane *h, const xplane_writer *w)
{
	*h = (struct host_plane){.w = *w};
	h->w.scratch = (assay_arena){0};
	h->w.tree = (assay_scope_tree){0};
	h->w.in_tree.p = NULL;
	h->w.in_tree.n = h->w.in_tree.cap = 0;
	assay_beside_start(&h->beside, assay_run_threads(w->run), make_host, h);
}

/* Paths in the order in which one thread would have met them. */
static void end_host(struct host_plane *h, xplane_writer *w)
{
	assay_beside_join(&h->beside);
	w->told = h->w.told;
	for (size_t i = 0; i < h->w.tree.child.n; i++)
		assay_scope_tree_add(&w->tree, h->w.tree.child.p[i], h->w.tree.parent.p[i]);
	xplane_end_plane(&h->out, w->out, 0, ASSAY_S(XPLANE_HOST),
			 xplane_kept(w, ASSAY_NO_ROW, XPLANE_HOST));
	assay_scope_tree_free(&h->w.tree);
	assay_vec_free(&h->w.in_tree);
	assay_arena_free(&h->w.scratch);
}

static void write_planes(xplane_writer *w)
{
	struct host_plane *host = assay_alloc(&w->scratch, sizeof *host);
	begin_host(host, w);
	xplane_sum_costs(w);
	xplane_write_devices(w);
	end_host(host, w);
	xplane_write_beside(w);
	xplane_write_looks(w);
	write_tree(w);
	xplane_write_hlo(w);
}

bool xplane_write_file(const assay_run *run, const assay_run *job, FILE *out, bool grouped,
		       int64_t session, assay_left_out *left, assay_err *err)
{
	xplane_writer w = {
		.run = run, .job = job, .t = &run->part.t, .out = out, .grouped = grouped};
	index_kept(&w);
	set_sources(&w);
	set_devices(&w);
	xplane_set_inputs(&w);
	assay_waits_by_call(w.t, &w.wait_at);
	assay_event_calls_by_call(w.t, &w.event_calls);
	set_steps(&w);
	bool ok = set_clock(&w, session, err);
	if (ok) {
		write_planes(&w);
		xplane_write_facts(&w, left); /* before what is kept, which stays last */
		if (!write_kept(&w))
			write_task(&w);
		write_machines(&w);
		tell_bare_streams(&w, left);
		assay_leave_out(left, w.moved && !w.start, ASSAY_NEW_ORIGIN);
		assay_leave_out(
			left, w.t->counter.n - w.samples,
			"samples of counters and telemetry that are of no device, or before the trace");
	}
	free_all(&w);
	return ok;
}

static bool xplane_write(const assay_run *run, FILE *out, assay_left_out *left, assay_err *err)
{
	return xplane_write_file(run, run, out, false, 0, left, err);
}

static bool grouped_write(const assay_run *run, FILE *out, assay_left_out *left, assay_err *err)
{
	return xplane_write_file(run, run, out, true, 0, left, err);
}

static bool xplane_folder(const assay_run *run, const char *folder, assay_left_out *left,
			  assay_err *err)
{
	return xplane_write_tree(run, folder, false, left, err);
}

static bool grouped_folder(const assay_run *run, const char *folder, assay_left_out *left,
			   assay_err *err)
{
	return xplane_write_tree(run, folder, true, left, err);
}

enum {
	XPLANE_LACKS = ASSAY_LACKS_PMC | ASSAY_LACKS_STATS | ASSAY_LACKS_ARROWS |
		       ASSAY_LACKS_RECORDING | ASSAY_LACKS_NO_DEVICE | ASSAY_LACKS_NO_STREAM |
		       ASSAY_LACKS_NO_NAME,
};

const assay_writer assay_writer_xplane_grouped = {
	.name = "xplane-grouped",
	.exts = {".grouped.xplane.pb", ".grouped.pb"},
	.about = "XPlane with steps, arrows and derived rows made here instead of by xprof",
	.back = "the same",
	.page = "xplane",
	.write = grouped_write,
	.write_folder = grouped_folder,
	.place = xplane_place,
	.needs = ASSAY_NEEDS_DERIVED,
	.lacks = XPLANE_LACKS,
};

const assay_writer assay_writer_xplane = {
	.name = "xplane",
	.exts = {".xplane.pb", ".pb"},
	.about = "XPlane protobuf for xprof and TensorBoard (<logdir>/plugins/profile/<run>/)",
	.back = "the same",
	.page = "xplane",
	.write = xplane_write,
	.write_folder = xplane_folder,
	.place = xplane_place,
	.needs = ASSAY_NEEDS_WORK,
	.lacks = XPLANE_LACKS,
};
