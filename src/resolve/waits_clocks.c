#include "resolve/waits_clocks.h"

#include "resolve/waits.h"

/* Quartz keeps time to some 50 millionths: what is known of one moment tells that much less of
 * others. */
enum { DRIFT = 20000, MOST_STRETCHES = 4096 };

/* No launch tells. */
static const int64_t UNKNOWN = INT64_MAX / 4;

static bool tells(const waits *w, const assay_sweep_rec *r, uint32_t *source)
{
	bool called = r->op == ASSAY_OP_LAUNCH && r->thread != ASSAY_NO_ROW;
	if (!called || r->track == ASSAY_NO_ROW)
		return false;
	*source = assay_track_group(w->t, r->track);
	return *source < w->sources && w->clocks.of_track[r->track] != ASSAY_NO_ROW;
}

static void find_stretches(waits *w)
{
	waits_stretches *of = w->clocks.of_source =
		assay_alloc(&w->scratch, (w->sources + 1) * sizeof *of);
	int64_t *last = assay_alloc(&w->scratch, (w->sources + 1) * sizeof *last);
	uint32_t *devices = assay_alloc(&w->scratch, (w->sources + 1) * sizeof *devices), source;
	for (size_t i = 0; i < w->devices.n; i++)
		devices[w->devices.p[i].source]++;
	for (size_t i = 0; i < w->recs.n; i++) {
		if (!tells(w, &w->recs.p[i], &source))
			continue;
		int64_t at = (int64_t)w->recs.p[i].arg;
		waits_stretches *s = &of[source];
		s->first = !s->n || at < s->first ? at : s->first;
		last[source] = !s->n || at > last[source] ? at : last[source];
		s->n++;
	}
	for (size_t i = 0; i < w->sources; i++) {
		waits_stretches *s = &of[i];
		uint32_t n = s->n && devices[i] ? s->n / devices[i] + 1 : 0;
		s->n = n < MOST_STRETCHES ? n : MOST_STRETCHES;
		s->width = s->n ? (last[i] - s->first) / s->n + 1 : 1;
	}
}

static void find_devices(waits *w)
{
	const assay_tables *t = w->t;
	assay_map device = {0};
	w->clocks.of_track = assay_alloc(&w->scratch, (t->track.n + 1) * sizeof(uint32_t));
	for (uint32_t i = 0; i < w->devices.n; i++)
		*assay_map_at(&device, (uint64_t)w->devices.p[i].source << 32 |
					       (uint32_t)w->devices.p[i].device) = i;
	for (uint32_t k = 0; k < t->track.n; k++) {
		bool stream = t->track.kind[k] == ASSAY_TRACK_STREAM;
		uint64_t place = (uint64_t)assay_track_group(t, k) << 32 |
				 (uint32_t)(int32_t)t->track.pid[k];
		w->clocks.of_track[k] = stream ? assay_map_get(&device, place) : ASSAY_NO_ROW;
	}
	assay_map_free(&device);
}

static uint32_t stretch_at(const waits_stretches *s, int64_t at)
{
	int64_t i = at <= s->first ? 0 : (at - s->first) / s->width;
	return i < s->n ? (uint32_t)i : s->n - 1;
}

static void take_launches(waits *w)
{
	uint32_t source;
	w->clocks.late = assay_alloc(&w->scratch, (w->devices.n + 1) * sizeof *w->clocks.late);
	for (size_t d = 0; d < w->devices.n; d++) {
		uint32_t n = w->clocks.of_source[w->devices.p[d].source].n;
		w->clocks.late[d] = assay_alloc(&w->scratch, (n + 1) * sizeof(int64_t));
		for (uint32_t i = 0; i < n; i++)
			w->clocks.late[d][i] = UNKNOWN;
	}
	for (size_t i = 0; i < w->recs.n; i++) {
		const assay_sweep_rec *r = &w->recs.p[i];
		if (!tells(w, r, &source))
			continue;
		int64_t at = (int64_t)r->arg;
		int64_t *late = &w->clocks.late[w->clocks.of_track[r->track]]
					       [stretch_at(&w->clocks.of_source[source], at)];
		*late = r->enter - at < *late ? r->enter - at : *late;
	}
}

static void spread(int64_t *to, int64_t from, int64_t step)
{
	*to = from < UNKNOWN && from + step < *to ? from + step : *to;
}

/* What is known of a stretch holds of those beside it, nearly. */
static void spread_all(const waits *w, size_t d)
{
	const waits_stretches *s = &w->clocks.of_source[w->devices.p[d].source];
	int64_t *late = w->clocks.late[d], step = s->width / DRIFT + 1;
	for (uint32_t i = 1; i < s->n; i++)
		spread(&late[i], late[i - 1], step);
	for (uint32_t i = s->n; i-- > 1;)
		spread(&late[i - 1], late[i], step);
}

static void find_any(waits *w)
{
	for (size_t i = 0; i < w->sources; i++) {
		waits_stretches *s = &w->clocks.of_source[i];
		s->most = assay_alloc(&w->scratch, (s->n + 1) * sizeof *s->most);
		s->least = assay_alloc(&w->scratch, (s->n + 1) * sizeof *s->least);
		for (uint32_t k = 0; k < s->n; k++) {
			s->most[k] = INT64_MIN;
			s->least[k] = INT64_MAX;
		}
	}
	for (size_t d = 0; d < w->devices.n; d++) {
		waits_stretches *s = &w->clocks.of_source[w->devices.p[d].source];
		for (uint32_t k = 0; k < s->n; k++) {
			int64_t late = w->clocks.late[d][k];
			s->most[k] = late > s->most[k] ? late : s->most[k];
			s->least[k] = late < s->least[k] ? late : s->least[k];
			w->clocks.behind = -late > w->clocks.behind ? -late : w->clocks.behind;
		}
	}
}

void waits_find_clocks(waits *w)
{
	find_devices(w);
	find_stretches(w);
	take_launches(w);
	for (size_t d = 0; d < w->devices.n; d++)
		spread_all(w, d);
	find_any(w);
}

/* Before the first launch and after the last, the less
 * the longer. */
static int64_t look_up(const waits_stretches *s, const int64_t *late, int64_t at)
{
	int64_t end = s->first + s->n * s->width;
	int64_t outside = at < s->first ? s->first - at : at > end ? at - end : 0;
	int64_t found = late[stretch_at(s, at)];
	return found == UNKNOWN ? UNKNOWN : found + outside / DRIFT;
}

static int64_t late_at(const waits *w, uint32_t track, int64_t at)
{
	uint32_t source = assay_track_group(w->t, track), d = w->clocks.of_track[track];
	const waits_stretches *s = source < w->sources ? &w->clocks.of_source[source] : NULL;
	return d == ASSAY_NO_ROW || !s || !s->n ? UNKNOWN : look_up(s, w->clocks.late[d], at);
}

static int64_t ahead(int64_t late)
{
	return late > WAITS_CLOCKS ? late : WAITS_CLOCKS;
}

static int64_t behind(int64_t late)
{
	return late < 0 ? -late : 0;
}

int64_t waits_ahead(const waits *w, uint32_t track, int64_t at)
{
	return ahead(late_at(w, track, at));
}

int64_t waits_behind(const waits *w, uint32_t track, int64_t at)
{
	return behind(late_at(w, track, at));
}

int64_t waits_ahead_any(const waits *w, uint32_t source, int64_t at)
{
	const waits_stretches *s = source < w->sources ? &w->clocks.of_source[source] : NULL;
	return s && s->n ? ahead(look_up(s, s->most, at)) : UNKNOWN;
}

int64_t waits_behind_any(const waits *w, uint32_t source, int64_t at)
{
	const waits_stretches *s = source < w->sources ? &w->clocks.of_source[source] : NULL;
	return s && s->n ? behind(look_up(s, s->least, at)) : 0;
}
