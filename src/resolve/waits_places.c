#include "resolve/waits_places.h"

#include "resolve/waits_args.h"
#include "resolve/waits_barriers.h"
#include "resolve/waits_ends.h"
#include "resolve/waits_homes.h"

static uint64_t place_of_device(uint32_t source, int32_t device)
{
	return 1ull << 63 | (uint64_t)source << 32 | (uint32_t)device;
}

static uint64_t place_of_handle(uint32_t source, uint64_t handle)
{
	return handle * 0x9E3779B97F4A7C15u + source;
}

uint64_t waits_own_handle(uint32_t thread, int32_t device)
{
	return 2 | (uint64_t)(uint32_t)(device & 0xffff) << 8 | ((uint64_t)thread + 1) << 32;
}

/* ------------------------------------------------------------------ finding */

/* device: -1 when the call does not say which. */
static void note_choice(waits *w, uint32_t source, uint32_t thread, uint64_t key, int64_t device)
{
	*assay_push(&w->chosen.v) = (assay_mark){thread, key, device, 0};
	if (source < w->sources && device >= 0)
		w->tells_device[source] = true;
}

static bool chooses_device(const waits *w, assay_sid name)
{
	return w->call[name].op == ASSAY_OP_CHOOSE_DEVICE;
}

static void find_choices(waits *w)
{
	const assay_tables *t = w->t;
	for (size_t k = 0; k < w->call_rows.n; k++) {
		uint32_t h = w->call_rows.p[k];
		if (!chooses_device(w, t->host.name[h]))
			continue;
		waits_args a = waits_args_of(&w->args, w->run, t->host.args[h]);
		int32_t status = t->api.status[t->host.detail[h]];
		bool failed = assay_has_failed(status) || assay_has_failed(a.status);
		if (!failed)
			note_choice(w, waits_host_source(w, h), t->host.track[h],
				    waits_host_key(w, h), a.device);
	}
	for (size_t i = 0; i < w->sources; i++)
		w->tells_device[i] |= w->has_calls[i]; /* our recorder keeps every choice */
	const assay_event_call_table *e = &t->event_call;
	for (uint32_t i = 0; i < e->n; i++)
		if (chooses_device(w, e->name[i]) && !e->status[i] && e->arg[i] <= INT32_MAX) {
			uint32_t source = assay_track_group(t, e->track[i]);
			note_choice(w, source, e->track[i],
				    waits_key_at(w, source, e->ts[i], e->corr[i]),
				    (int64_t)e->arg[i]);
		}
}

/* Would a choice that was made before be known? */
static bool tells_device(const waits *w, uint32_t source, uint64_t key)
{
	return source < w->sources && (w->tells_device[source] ||
				       (key <= w->unbroken[source] &&
					assay_has_trait(w->run, source, ASSAY_TRAIT_FROM_START)));
}

/* Threads start with device 0; while nothing is recorded, and before, they may choose any. */
static int64_t ordinal_at(const waits *w, uint32_t source, uint32_t thread, uint64_t key)
{
	const assay_mark *m = assay_mark_before(&w->chosen, thread, key);
	const assay_mark *dark = assay_mark_before(&w->dark, source, key);
	if (dark && (!m || m->key <= dark->key))
		return -1;
	if (m)
		return m->value;
	bool since_start =
		source < w->sources &&
		(w->has_calls[source] || assay_has_trait(w->run, source, ASSAY_TRAIT_FROM_START));
	return since_start && tells_device(w, source, key) ? 0 : -1;
}

static int64_t time_of_key(uint64_t key)
{
	return (int64_t)(key - (1ull << 63));
}

static void add_moment(waits *w, uint32_t source, int64_t ts)
{
	if (ts)
		*assay_push(&w->moments.v) = (assay_mark){assay_group_of(w->t, source),
							  waits_key_of_time(ts), INT64_MAX, 0};
}

/* The smallest key of the calls that began then or later. */
static void find_moments(waits *w)
{
	const assay_tables *t = w->t;
	for (uint32_t i = 0; i < t->off.n; i++)
		add_moment(w, t->off.source[i], t->off.ts[i] + t->off.dur[i]);
	for (uint32_t i = 0; i < t->stream.n; i++) {
		add_moment(w, t->stream.source[i], t->stream.created[i]);
		add_moment(w, t->stream.source[i], t->stream.destroyed[i]);
	}
	assay_marks_sort(&w->moments);
	for (size_t k = 0; w->moments.v.n && k < w->call_rows.n; k++) {
		uint32_t h = w->call_rows.p[k];
		const assay_mark *m = assay_mark_before(&w->moments, waits_host_source(w, h),
							waits_key_of_time(t->host.ts[h]) + 1);
		int64_t key = (int64_t)waits_host_key(w, h);
		if (m && assay_call_corr(t, h) && key < m->value)
			w->moments.v.p[m - w->moments.v.p].value = key;
	}
	for (size_t i = w->moments.v.n; i-- > 1;) {
		assay_mark *m = &w->moments.v.p[i - 1], *next = m + 1;
		if (m->place == next->place && next->value < m->value)
			m->value = next->value;
	}
}

uint64_t waits_key_by(const waits *w, uint32_t source, int64_t ts)
{
	const assay_mark *m = assay_mark_after(&w->moments, source, waits_key_of_time(ts) - 1);
	return m && m->value != INT64_MAX ? (uint64_t)m->value - 1 : UINT64_MAX;
}

static void find_dark(waits *w)
{
	const assay_off_table *o = &w->t->off;
	for (uint32_t i = 0; i < o->n; i++) {
		uint32_t source = assay_group_of(w->t, o->source[i]);
		int64_t until = o->ts[i] + o->dur[i];
		uint64_t key = waits_key_by(w, source, until);
		if (key != UINT64_MAX) /* work of calls before it may well have been recorded */
			*assay_push(&w->dark.v) = (assay_mark){source, key, until, 0};
	}
	assay_marks_sort(&w->dark);
}

static uint64_t place_of_ordinal(uint32_t source, int64_t ordinal)
{
	return (uint64_t)source << 32 | (uint32_t)ordinal;
}

/* Launches on several devices tell nothing of the one that was chosen. */
static bool is_joint(const waits *w, uint32_t h)
{
	return w->call[w->t->host.name[h]].flags & ASSAY_REC_TOGETHER;
}

/* Profilers may number devices otherwise than programs: AMD's count processors too, and programs
 * only what they may use. What a thread launched after choosing a device ran there. */
static void learn_ordinals(waits *w)
{
	const assay_tables *t = w->t;
	for (uint32_t g = 0; g < t->gpu.n; g++) {
		uint32_t source = assay_track_group(t, t->gpu.track[g]);
		if (t->gpu.kind[g] != ASSAY_GPU_KERNEL || !tells_device(w, source, 0))
			continue;
		uint32_t h = assay_index_find(&w->calls, assay_corr_key(source, t->gpu.corr[g]));
		if (h == ASSAY_NO_ROW || is_joint(w, h))
			continue;
		int64_t ordinal = ordinal_at(w, source, t->host.track[h], waits_host_key(w, h));
		if (ordinal < 0)
			continue;
		uint32_t device = (uint32_t)t->track.pid[t->gpu.track[g]];
		uint32_t *slot = assay_map_at(&w->ordinals, place_of_ordinal(source, ordinal));
		*slot = *slot == ASSAY_MAP_ABSENT || *slot == device ? device : WAITS_SEVERAL;
	}
}

/* The device with so many listed before it; -1 when there are not as many. */
static int32_t listed_device(const waits *w, uint32_t source, int64_t ordinal)
{
	const assay_device_table *d = &w->t->device;
	for (uint32_t i = 0; i < d->n; i++) {
		int64_t before = 0;
		bool own = assay_group_of(w->t, d->source[i]) == source;
		for (uint32_t k = 0; own && k < d->n; k++)
			before +=
				assay_group_of(w->t, d->source[k]) == source && d->id[k] < d->id[i];
		if (own && before == ordinal)
			return d->id[i];
	}
	return -1;
}

static bool is_taken(const waits *w, uint32_t source, int32_t device)
{
	for (int64_t k = 0; k < 64; k++)
		if (assay_map_get(&w->ordinals, place_of_ordinal(source, k)) == (uint32_t)device)
			return true;
	return false;
}

/* -1: nobody can say. */
static int32_t device_of_ordinal(const waits *w, uint32_t source, int64_t ordinal)
{
	uint32_t seen = assay_map_get(&w->ordinals, place_of_ordinal(source, ordinal));
	if (seen != ASSAY_MAP_ABSENT)
		return seen == WAITS_SEVERAL ? -1 : (int32_t)seen;
	int32_t device = listed_device(w, source, ordinal);
	/* the formats of rocprofiler number agents, processors among them */
	if (device < 0 && !assay_has_trait(w->run, source, ASSAY_TRAIT_ROCTX))
		device = (int32_t)ordinal;
	return device < 0 || is_taken(w, source, device) ? -1 : device;
}

bool waits_is_default_number(const waits *w, uint32_t source, int64_t stream)
{
	return source < w->sources &&
	       stream == (w->is_hip[source] ? 0
					    : 7); /* CUPTI numbers that of a process's context 7 */
}

bool waits_has_number(const waits *w, uint32_t track)
{
	int64_t id = track == ASSAY_NO_ROW ? -1 : w->t->track.tid[track];
	return id >= 0 && id != UINT32_MAX; /* how "no stream" is written */
}

void waits_meet_stream(waits *w, uint32_t track)
{
	const assay_tables *t = w->t;
	uint32_t source = assay_track_group(t, track);
	int32_t device = (int32_t)t->track.pid[track];
	uint32_t *slot = assay_map_at(&w->legacy, place_of_device(source, device));
	if (*slot == ASSAY_MAP_ABSENT) {
		*slot = ASSAY_NO_ROW - 2;
		*assay_push(&w->devices) = (struct waits_gpu){source, device};
	}
	if (waits_is_default_number(w, source, t->track.tid[track]))
		*slot = track;
	*assay_push(&w->numbered.v) =
		(assay_mark){place_of_handle(source, (uint64_t)t->track.tid[track]),
			     (uint64_t)track + 1, track, 0};
}

static void find_devices(waits *w)
{
	const assay_tables *t = w->t;
	w->listed = assay_alloc(&w->scratch, (w->sources + 1) * sizeof *w->listed);
	for (uint32_t i = 0; i < t->device.n; i++)
		w->listed[assay_group_of(t, t->device.source[i])]++;
	for (uint32_t k = 0; k < t->track.n; k++)
		if (t->track.kind[k] == ASSAY_TRACK_STREAM && assay_track_group(t, k) < w->sources)
			waits_meet_stream(w, k);
}

void waits_learn_handle(waits *w, uint32_t source, uint32_t i, uint32_t track)
{
	const assay_stream_table *s = &w->t->stream;
	uint64_t place = place_of_handle(source, s->handle[i]);
	uint32_t *slot = assay_map_at(&w->handles, place);
	*slot = *slot == ASSAY_MAP_ABSENT || *slot == track ? track : WAITS_SEVERAL;
	*assay_push(&w->made.v) =
		(assay_mark){place, waits_key_of_time(s->created[i]), track, s->destroyed[i]};
}

/* The next at its address was made when it had ended. */
void waits_end_at_address(waits *w)
{
	for (size_t i = 0; i + 1 < w->made.v.n; i++) {
		assay_mark *m = &w->made.v.p[i], *next = m + 1;
		if (m->place == next->place && !m->other && m->value != next->value)
			m->other = time_of_key(next->key);
	}
}

void waits_learn_legacy(waits *w, uint32_t source, uint32_t track)
{
	int32_t device = (int32_t)w->t->track.pid[track];
	*assay_map_at(&w->legacy, place_of_device(source, device)) = track;
}

static void bind(waits *w, uint32_t source, uint64_t handle, uint32_t track, uint64_t key)
{
	if (handle <= 1) {
		waits_learn_legacy(w, source, track);
		return;
	}
	*assay_push(&w->bound.v) =
		(assay_mark){place_of_handle(source, handle), key, (int64_t)track, 0};
}

static uint64_t meant(const waits *w, uint64_t handle, assay_sid name, uint32_t thread,
		      uint32_t track)
{
	return assay_call_means_own(w->call[name], handle)
		       ? waits_own_handle(thread, (int32_t)w->t->track.pid[track])
		       : handle;
}

/* The address is another stream's from here on. */
enum { NEW_STREAM = -1 };

static void bind_new(waits *w, uint32_t source, uint64_t handle, uint64_t key)
{
	if (handle > 2)
		*assay_push(&w->bound.v) =
			(assay_mark){place_of_handle(source, handle), key, NEW_STREAM, 0};
}

/* The stream that what the call put there is in: its work, or its barrier. */
static uint32_t track_of_call(const waits *w, uint32_t source, uint64_t corr, uint64_t key)
{
	uint32_t g = assay_index_find(&w->gpus, assay_corr_key(source, corr));
	if (g != ASSAY_NO_ROW)
		return waits_home_of(w, g);
	uint32_t b = w->t->barrier.n ? waits_barrier_of(w, source, key) : ASSAY_NO_ROW;
	return b == ASSAY_NO_ROW ? ASSAY_NO_ROW : waits_barrier_stream(w, b);
}

/* Launches whose arguments name a stream handle tell which stream of GPU rows that is. */
static void find_handles(waits *w)
{
	const assay_tables *t = w->t;
	for (size_t k = 0; k < w->call_rows.n; k++) {
		uint32_t h = w->call_rows.p[k];
		if (!t->host.args[h])
			continue;
		uint32_t source = waits_host_source(w, h);
		bool makes = w->call[t->host.name[h]].op == ASSAY_OP_STREAM_CREATE;
		uint32_t track =
			track_of_call(w, source, assay_call_corr(t, h), waits_host_key(w, h));
		if ((track == ASSAY_NO_ROW && !makes) ||
		    assay_str_find(assay_text(w->run, t->host.args[h]), "tream") < 0)
			continue;
		waits_args a = waits_args_of(&w->args, w->run, t->host.args[h]);
		if (makes)
			bind_new(w, source, a.stream, waits_host_key(w, h));
		else if (a.has_stream)
			bind(w, source,
			     meant(w, a.stream, t->host.name[h], t->host.track[h], track), track,
			     waits_host_key(w, h));
	}
	const assay_event_call_table *e = &t->event_call;
	for (uint32_t i = 0; i < e->n; i++) {
		uint32_t source = assay_track_group(t, e->track[i]);
		uint64_t key = waits_key_at(w, source, e->ts[i], e->corr[i]);
		uint32_t track = track_of_call(w, source, e->corr[i], key);
		bool told = w->call[e->name[i]].takes & ASSAY_CALL_STREAM &&
			    waits_has_number(w, e->place[i]);
		if (track == ASSAY_NO_ROW && told)
			track = e->place[i];
		if (w->call[e->name[i]].op == ASSAY_OP_STREAM_CREATE)
			bind_new(w, source, e->stream[i], key);
		else if (track != ASSAY_NO_ROW)
			bind(w, source, meant(w, e->stream[i], e->name[i], e->track[i], track),
			     track, key);
	}
}

/* The recorder marks threads' own streams: which one is whose is told by who launched into it. */
static void find_own_streams(waits *w)
{
	const assay_tables *t = w->t;
	assay_map own = {0}; /* track -> 1 */
	uint32_t was = w->run->part.source;
	for (uint32_t i = 0; i < t->stream.n; i++) {
		w->run->part.source = t->stream.source[i];
		if (t->stream.flags[i] & ASSAY_STREAM_PER_THREAD && t->stream.device[i] >= 0)
			*assay_map_at(&own, assay_stream_track(&w->run->part, t->stream.device[i],
							       t->stream.id[i])) = 1;
	}
	w->run->part.source = was;
	for (uint32_t g = 0; own.n && g < t->gpu.n; g++) {
		uint32_t track = t->gpu.track[g], source = assay_track_group(t, track);
		uint32_t h = assay_index_find(&w->calls, assay_corr_key(source, t->gpu.corr[g]));
		if (h != ASSAY_NO_ROW && assay_map_get(&own, track) == 1)
			bind(w, source,
			     waits_own_handle(t->host.track[h], (int32_t)t->track.pid[track]),
			     track, waits_host_key(w, h));
	}
	assay_map_free(&own);
}

/* Only where there are several devices is it a question which one a call means. */
static void find_work(waits *w)
{
	const assay_tables *t = w->t;
	for (uint32_t g = 0; g < t->gpu.n; g++) {
		uint32_t track = waits_home_of(w, g), source = assay_track_group(t, track);
		if (!t->gpu.corr[g] || source >= w->sources || !w->asks[source] ||
		    w->only_device[source] >= 0)
			continue;
		uint32_t h = assay_index_find(&w->calls, assay_corr_key(source, t->gpu.corr[g]));
		int64_t start = t->gpu.ts[g], end = assay_gpu_end(&t->gpu, g);
		int32_t device = (int32_t)t->track.pid[track];
		uint64_t key = h == ASSAY_NO_ROW ? waits_key_at(w, source, start, t->gpu.corr[g])
						 : waits_host_key(w, h);
		*assay_push(&w->work.v) = (assay_mark){track, key, start, end};
		*assay_push(&w->work.v) =
			(assay_mark){place_of_device(source, device), key, start, end};
		if (h != ASSAY_NO_ROW && t->gpu.kind[g] == ASSAY_GPU_KERNEL && !is_joint(w, h))
			*assay_push(&w->launched.v) =
				(assay_mark){t->host.track[h], key, device, 0};
	}
	assay_marks_sort(&w->work);
	for (size_t i = 1; i < w->work.v.n; i++) {
		const assay_mark *before = &w->work.v.p[i - 1];
		assay_mark *m = &w->work.v.p[i];
		if (before->place == m->place && before->other > m->other)
			m->other = before->other;
	}
}

void waits_find_places(waits *w)
{
	find_devices(w);
	find_moments(w);
	find_dark(w);
	find_choices(w);
	assay_marks_sort(&w->chosen);
	learn_ordinals(w);
	waits_find_homes(w);
	find_handles(w);
	find_own_streams(w);
	find_work(w);
	assay_marks_sort(&w->launched);
	assay_marks_sort(&w->bound);
	assay_marks_sort(&w->numbered);
}

/* ------------------------------------------------------------------ asking */

waits_device waits_device_of(const waits *w, uint32_t source, uint32_t thread, uint64_t key)
{
	if (source >= w->sources)
		return (waits_device){-1, false};
	int64_t ordinal = ordinal_at(w, source, thread, key);
	int32_t chosen = ordinal >= 0 ? device_of_ordinal(w, source, ordinal) : -1;
	if (chosen >= 0)
		return (waits_device){chosen, false};
	if (w->only_device[source] >= 0) /* a call may mean one that did nothing */
		return (waits_device){w->only_device[source], w->listed[source] != 1};
	const assay_mark *m = assay_mark_before(&w->launched, thread, key);
	const assay_mark *choice = assay_mark_before(&w->chosen, thread, key);
	const assay_mark *dark = assay_mark_before(&w->dark, source, key);
	bool since = m && w->tells_device[source] && (!choice || choice->key < m->key) &&
		     (!dark || dark->key < m->key);
	return (waits_device){m ? (int32_t)m->value : -1, !since};
}

waits_device waits_device_awaited(const waits *w, uint32_t source, const assay_sweep_rec *r)
{
	waits_device best = waits_device_of(w, source, r->thread, r->key);
	if (best.device >= 0 && !best.guessed)
		return best;
	int64_t rest = INT64_MAX;
	for (size_t i = 0; i < w->devices.n; i++) {
		struct waits_gpu d = w->devices.p[i];
		const assay_mark *m =
			d.source == source
				? assay_mark_before(&w->work, place_of_device(source, d.device),
						    r->key)
				: NULL;
		int64_t end = m && m->other > r->enter ? m->other : r->enter;
		if (!m || end > r->exit + WAITS_CLOCKS)
			continue;
		bool usual = d.device == best.device && r->exit - end <= rest;
		if (r->exit - end < rest || usual) {
			rest = r->exit - end;
			best = (waits_device){d.device, true};
		}
	}
	return best;
}

uint32_t waits_legacy_track(const waits *w, uint32_t source, int32_t device)
{
	uint32_t track = assay_map_get(&w->legacy, place_of_device(source, device));
	return track == ASSAY_NO_ROW - 2 ? ASSAY_NO_ROW : track;
}

bool waits_may_be_legacy(const waits *w, uint32_t track)
{
	uint32_t source = assay_track_group(w->t, track);
	int32_t device = (int32_t)w->t->track.pid[track];
	return assay_map_get(&w->perhaps, place_of_device(source, device)) == track;
}

/* Sources with a default stream of a known number, as keys. The caller frees. */
static assay_map find_numbered(const waits *w)
{
	assay_map found = {0};
	for (size_t i = 0; i < w->devices.n; i++) {
		struct waits_gpu d = w->devices.p[i];
		if (waits_legacy_track(w, d.source, d.device) != ASSAY_NO_ROW)
			*assay_map_at(&found, d.source) = 1;
	}
	return found;
}

/* The first context's is 7, and most programs begin with device 0. */
static bool may_be_numbered_otherwise(const waits *w, const assay_map *numbered, uint32_t source,
				      int32_t device)
{
	return waits_legacy_track(w, source, device) == ASSAY_NO_ROW &&
	       (device > 0 || assay_map_get(numbered, source) != ASSAY_MAP_ABSENT);
}

/* CUPTI numbers streams in the order in which they are made, and the default stream of a context is
 * the first of it. */
void waits_guess_legacy(waits *w)
{
	const assay_tables *t = w->t;
	assay_map listed = {0}, numbered = find_numbered(w);
	uint32_t was = w->run->part.source;
	for (uint32_t i = 0; i < t->stream.n; i++) {
		w->run->part.source = t->stream.source[i];
		*assay_map_at(&listed, assay_stream_track(&w->run->part, t->stream.device[i],
							  t->stream.id[i])) = 1;
	}
	w->run->part.source = was;
	for (uint32_t k = 0; k < t->track.n; k++) {
		uint32_t source = assay_track_group(t, k);
		if (t->track.kind[k] != ASSAY_TRACK_STREAM || source >= w->sources ||
		    w->is_hip[source] || w->has_calls[source] || !waits_has_number(w, k) ||
		    !may_be_numbered_otherwise(w, &numbered, source, (int32_t)t->track.pid[k]) ||
		    assay_map_get(&listed, k) != ASSAY_MAP_ABSENT ||
		    assay_map_get(&w->invented, k) != ASSAY_MAP_ABSENT)
			continue;
		uint64_t place = place_of_device(source, (int32_t)t->track.pid[k]);
		uint32_t *slot = assay_map_at(&w->perhaps, place);
		if (*slot == ASSAY_MAP_ABSENT || t->track.tid[k] < t->track.tid[*slot])
			*slot = k;
	}
	assay_map_free(&listed);
	assay_map_free(&numbered);
}

/* An address that was several streams' in turn: the last that was made by then, if it was alive.
 * The end of one may not have been recorded. */
static uint32_t track_by_time(const waits *w, uint64_t place, int64_t ts)
{
	const assay_mark *m = assay_mark_before(&w->made, place, waits_key_of_time(ts) + 1);
	bool alive = m && (!m->other || ts <= m->other);
	return alive ? (uint32_t)m->value : ASSAY_NO_ROW;
}

uint32_t waits_track_of(const waits *w, uint32_t source, uint64_t handle, uint64_t key, int64_t ts)
{
	uint64_t place = place_of_handle(source, handle);
	uint32_t track = assay_map_get(&w->handles, place);
	if (track == WAITS_SEVERAL)
		track = track_by_time(w, place, ts);
	if (track != ASSAY_NO_ROW)
		return track;
	const assay_mark *m = assay_mark_before(&w->bound, place, key + 1);
	if (!m || m->value == NEW_STREAM) /* not launched into yet */
		m = assay_mark_after(&w->bound, place, m ? m->key : key);
	return m && m->value != NEW_STREAM ? (uint32_t)m->value : ASSAY_NO_ROW;
}

/* When what stood behind the wait went on. */
static int64_t went_on(const waits *w, uint32_t sync, uint64_t key)
{
	const assay_sync_table *s = &w->t->sync;
	bool is_stream = w->t->track.tid[s->track[sync]] >= 0;
	const assay_mark *next = is_stream ? assay_mark_after(&w->work, s->track[sync], key) : NULL;
	return next ? next->value : s->ts[sync] + (s->dur[sync] > 0 ? s->dur[sync] : 0);
}

uint32_t waits_track_awaited(const waits *w, uint32_t sync, uint64_t record_key, uint64_t wait_key)
{
	const assay_sync_table *s = &w->t->sync;
	uint64_t place = place_of_handle(assay_track_group(w->t, s->track[sync]),
					 (uint64_t)s->wait_stream[sync]);
	int64_t on = went_on(w, sync, wait_key), best_end = INT64_MIN;
	uint32_t best = ASSAY_NO_ROW;
	for (const assay_mark *k = assay_mark_after(&w->numbered, place, 0); k;
	     k = assay_mark_after(&w->numbered, place, k->key)) {
		const assay_mark *m = assay_mark_before(&w->work, (uint64_t)k->value, record_key);
		int64_t end = m && m->other <= on + WAITS_CLOCKS ? m->other : INT64_MIN;
		if (best == ASSAY_NO_ROW || end > best_end) {
			best = (uint32_t)k->value;
			best_end = end;
		}
	}
	return best;
}
