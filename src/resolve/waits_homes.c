#include "resolve/waits_homes.h"

#include "names/copies.h"
#include "resolve/waits_places.h"

/* ------------------------------------------------------------------ where streams were made */

static uint64_t place_of_stream(uint32_t source, uint64_t stream)
{
	return assay_corr_key(source, stream);
}

/* Another device for the same: nobody knows which. */
static void note_device(assay_map *of, uint64_t place, int32_t device)
{
	uint32_t *slot = assay_map_at(of, place);
	uint32_t seen = device < 0 ? WAITS_SEVERAL : (uint32_t)device;
	*slot = *slot == ASSAY_MAP_ABSENT || *slot == seen ? seen : WAITS_SEVERAL;
}

static int32_t device_noted(const assay_map *of, uint64_t place)
{
	uint32_t seen = assay_map_get(of, place);
	return seen == ASSAY_MAP_ABSENT || seen == WAITS_SEVERAL ? -1 : (int32_t)seen;
}

static void note_made(waits *w, uint32_t source, uint32_t thread, uint64_t key, uint64_t handle)
{
	waits_device d = waits_device_of(w, source, thread, key);
	note_device(&w->made_on, place_of_stream(source, handle), d.guessed ? -1 : d.device);
}

static void find_made(waits *w)
{
	const assay_tables *t = w->t;
	for (size_t k = 0; k < w->call_rows.n; k++) {
		uint32_t h = w->call_rows.p[k];
		if (w->call[t->host.name[h]].op != ASSAY_OP_STREAM_CREATE || !t->host.args[h])
			continue;
		waits_args a = waits_args_of(&w->args, w->run, t->host.args[h]);
		if (a.has_stream)
			note_made(w, waits_host_source(w, h), t->host.track[h],
				  waits_host_key(w, h), a.stream);
	}
	const assay_event_call_table *e = &t->event_call;
	for (uint32_t i = 0; i < e->n; i++) {
		if (w->call[e->name[i]].op != ASSAY_OP_STREAM_CREATE)
			continue;
		uint32_t source = assay_track_group(t, e->track[i]);
		note_made(w, source, e->track[i], waits_key_at(w, source, e->ts[i], e->corr[i]),
			  e->stream[i]);
	}
}

int32_t waits_made_on(const waits *w, uint32_t source, uint64_t handle)
{
	return device_noted(&w->made_on, place_of_stream(source, handle));
}

/* ------------------------------------------------------------------ homes */

/* AMD's profilers have one word for copies within a device and between two. */
bool waits_may_be_between(const waits *w, uint32_t gpu)
{
	uint32_t source = assay_track_group(w->t, w->t->gpu.track[gpu]);
	bool several = source < w->sources && w->is_hip[source] && w->listed[source] != 1;
	assay_copy_way way = assay_copy_way_of(assay_text(w->run, w->t->gpu.name[gpu]));
	return w->t->gpu.kind[gpu] == ASSAY_GPU_MEMCPY &&
	       (way == ASSAY_COPY_BETWEEN || (several && way == ASSAY_COPY_ON_DEVICE));
}

static void bring_home(waits *w, uint32_t gpu, int32_t device, int64_t stream)
{
	uint32_t track = w->t->gpu.track[gpu], was = w->run->part.source;
	if (device < 0)
		*assay_map_at(&w->homes, gpu) = WAITS_SEVERAL;
	if (device < 0 || w->t->track.pid[track] == device)
		return;
	w->run->part.source = w->t->track.source[track];
	uint32_t known = (uint32_t)w->t->track.n;
	uint32_t home = assay_stream_track(&w->run->part, device, stream);
	*assay_map_at(&w->homes, gpu) = home;
	w->run->part.source = was;
	if (home >= known)
		waits_meet_stream(w, home);
}

/* Branches of a graph run in streams of the runtime's own. Where the launch says its stream, it is
 * one work of that. */
static void find_graphs(waits *w)
{
	const assay_tables *t = w->t;
	const assay_event_call_table *e = &t->event_call;
	assay_map launches = {0}; /* source and correlation id -> row of track */
	for (uint32_t i = 0; i < e->n; i++) {
		uint32_t source = assay_track_group(t, e->track[i]);
		if (w->call[e->name[i]].op == ASSAY_OP_LAUNCH_GRAPH &&
		    waits_has_number(w, e->place[i]))
			*assay_map_at(&launches, assay_corr_key(source, e->corr[i])) = e->place[i];
	}
	for (uint32_t g = 0; launches.n && g < t->gpu.n; g++) {
		uint32_t source = assay_track_group(t, t->gpu.track[g]);
		uint32_t track = assay_map_get(&launches, assay_corr_key(source, t->gpu.corr[g]));
		if (track != ASSAY_MAP_ABSENT && track != t->gpu.track[g])
			*assay_map_at(&w->homes, g) = track;
	}
	assay_map_free(&launches);
}

/* AMD's recorders number the streams of a process, and show copies on the device that they go to.
 */
static bool shows_targets(const waits *w, uint32_t source)
{
	return source < w->sources && w->listed[source] != 1 && w->is_hip[source] &&
	       (w->has_calls[source] || assay_has_trait(w->run, source, ASSAY_TRAIT_ROCTX));
}

static bool is_numbered(const waits *w, uint32_t track)
{
	uint32_t source = assay_track_group(w->t, track);
	return w->t->track.kind[track] == ASSAY_TRACK_STREAM && waits_has_number(w, track) &&
	       shows_targets(w, source) &&
	       !waits_is_default_number(w, source, w->t->track.tid[track]);
}

static uint64_t place_of_track(const waits *w, uint32_t track)
{
	return place_of_stream(assay_track_group(w->t, track), (uint64_t)w->t->track.tid[track]);
}

/* What the recorder's table of streams tells, or where they were made. A thread's own has one
 * number on all devices. */
static void note_listed(const waits *w, assay_map *of)
{
	const assay_stream_table *s = &w->t->stream;
	for (uint32_t i = 0; i < s->n; i++) {
		uint32_t source = assay_group_of(w->t, s->source[i]);
		bool own = s->flags[i] & ASSAY_STREAM_PER_THREAD;
		int32_t made = waits_made_on(w, source, s->handle[i]);
		if (own || made >= 0)
			note_device(of, place_of_stream(source, (uint64_t)s->id[i]),
				    own ? -1 : made);
	}
}

/* By source and number of a stream: the device of its kernels, or on which it was made. */
static assay_map find_devices(const waits *w)
{
	const assay_tables *t = w->t;
	assay_map of = {0};
	note_listed(w, &of);
	for (uint32_t g = 0; g < t->gpu.n; g++)
		if (t->gpu.kind[g] == ASSAY_GPU_KERNEL && is_numbered(w, t->gpu.track[g]))
			note_device(&of, place_of_track(w, t->gpu.track[g]),
				    (int32_t)t->track.pid[t->gpu.track[g]]);
	return of;
}

/* The device of a copy's stream: that of its kernels, or where it was made; of a default stream the
 * one that the thread has chosen. */
static int32_t device_of_copy(waits *w, const assay_map *kernels, uint32_t g)
{
	const assay_tables *t = w->t;
	uint32_t track = t->gpu.track[g], source = assay_track_group(t, track);
	uint32_t h = assay_index_find(&w->calls, assay_corr_key(source, t->gpu.corr[g]));
	if (waits_is_default_number(w, source, t->track.tid[track])) {
		waits_device d = {-1, true};
		if (h != ASSAY_NO_ROW)
			d = waits_device_of(w, source, t->host.track[h], waits_host_key(w, h));
		return d.guessed ? -1 : d.device;
	}
	int32_t device = device_noted(kernels, place_of_track(w, track));
	if (h == ASSAY_NO_ROW)
		return device;
	waits_args a = waits_args_of(&w->args, w->run, t->host.args[h]);
	if (a.has_stream && assay_call_means_own(w->call[t->host.name[h]], a.stream))
		return -1;
	return device < 0 && a.has_stream ? waits_made_on(w, source, a.stream) : device;
}

static bool is_movable(const waits *w, uint32_t g)
{
	uint32_t track = w->t->gpu.track[g];
	return w->t->gpu.kind[g] == ASSAY_GPU_MEMCPY && w->t->gpu.corr[g] &&
	       shows_targets(w, assay_track_group(w->t, track)) && waits_has_number(w, track) &&
	       waits_may_be_between(w, g);
}

static void find_copies(waits *w)
{
	assay_map kernels = {0};
	bool any = false;
	for (uint32_t g = 0; g < w->t->gpu.n; g++) {
		if (!is_movable(w, g))
			continue;
		if (!any)
			kernels = find_devices(w);
		any = true;
		bring_home(w, g, device_of_copy(w, &kernels, g),
			   w->t->track.tid[w->t->gpu.track[g]]);
	}
	assay_map_free(&kernels);
}

void waits_find_homes(waits *w)
{
	find_made(w);
	find_graphs(w);
	find_copies(w);
}

uint32_t waits_home_of(const waits *w, uint32_t gpu)
{
	uint32_t home = w->homes.n ? assay_map_get(&w->homes, gpu) : ASSAY_MAP_ABSENT;
	return home == ASSAY_MAP_ABSENT || home == WAITS_SEVERAL ? w->t->gpu.track[gpu] : home;
}

bool waits_is_homeless(const waits *w, uint32_t gpu)
{
	return w->homes.n && assay_map_get(&w->homes, gpu) == WAITS_SEVERAL;
}
