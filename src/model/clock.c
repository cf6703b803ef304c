/* One time axis for all sources of a run. */
#include "model/clock.h"

#include "base/test.h"

static const int64_t second = 1000000000, quarter = 900 * (int64_t)1000000000;

const char *const assay_clock_name[ASSAY_CLOCK_COUNT] = {"epoch", "raw", "start", "zone",
							 "nowhere"};

static void widen(assay_source_clock *s, int64_t ts, int64_t dur)
{
	int64_t end;
	if (dur < 0 || __builtin_add_overflow(ts, dur, &end))
		end = ts;
	s->first = ts < s->first ? ts : s->first;
	s->last = end > s->last ? end : s->last;
}

static void find_extents(assay_clocks *p)
{
	const assay_tables *t = &p->run->part.t;
	for (size_t i = 0; i < t->source.n; i++)
		p->source[i].first = INT64_MAX, p->source[i].last = INT64_MIN;
#define X(table, dur_of)                                                                           \
	for (size_t i = 0; i < t->table.n; i++) {                                                  \
		uint32_t track = t->table.track[i];                                                \
		uint32_t source = track < t->track.n ? t->track.source[track] : ASSAY_NO_ROW;      \
		if (source < t->source.n)                                                          \
			widen(&p->source[source], t->table.ts[i], dur_of);                         \
	}
	X(gpu, t->gpu.dur[i])
	X(host, t->host.dur[i])
	X(mark, t->mark.dur[i])
	X(sync, t->sync.dur[i])
	X(counter, 0)
#undef X
}

static assay_str meta_of(const assay_run *run, uint32_t source, const char *key)
{
	const assay_meta_table *m = &run->part.t.meta;
	assay_sid sid = assay_pool_find(&run->part.strings, assay_str_of(key));
	for (size_t i = 0; sid && i < m->n; i++)
		if (m->key[i] == sid && m->source[i] == source)
			return assay_text(run, m->value[i]);
	return (assay_str){"", 0};
}

/* Time between two intervals, 0 when they meet. */
static int64_t apart(int64_t a0, int64_t a1, int64_t b0, int64_t b1)
{
	return a0 > b1 ? a0 - b1 : b0 > a1 ? b0 - a1 : 0;
}

/* A wall clock without a zone: the offset in quarter hours that brings it nearest to the run, the
 * smallest of those that do. NOWHERE when even that one is a minute off. */
static void find_zone(assay_source_clock *s, int64_t base, int64_t from, int64_t to)
{
	int64_t best = INT64_MAX;
	for (int k = 0; k <= 4 * 14; k++) {
		for (int sign = -1; sign <= 1; sign += 2) {
			int64_t shift = base - sign * k * quarter;
			int64_t d = apart(s->first + shift, s->last + shift, from, to);
			if (d < best)
				best = d, s->shift = shift, s->zone = sign * k * quarter;
		}
	}
	s->clock = best < 60 * second ? ASSAY_CLOCK_ZONE : ASSAY_CLOCK_NOWHERE;
}

/* The run's own times: of sources that are traces. */
struct extent {
	int64_t from, to;
	bool epoch, any;
};

static int64_t base_of(const assay_clocks *p, uint32_t s, bool epoch)
{
	return epoch ? p->run->part.t.source.base[s] : 0;
}

static bool is_telemetry(const assay_clocks *p, uint32_t s)
{
	return assay_has_trait(p->run, s, ASSAY_TRAIT_TELEMETRY);
}

static struct extent run_extent(const assay_clocks *p)
{
	const assay_source_table *s = &p->run->part.t.source;
	struct extent e = {.from = INT64_MAX, .to = INT64_MIN};
	for (uint32_t i = 0; i < s->n; i++)
		e.epoch |= s->epoch[i] && !is_telemetry(p, i) &&
			   p->source[i].first <= p->source[i].last;
	for (uint32_t i = 0; i < s->n; i++) {
		if (is_telemetry(p, i) || p->source[i].first > p->source[i].last ||
		    (e.epoch && !s->epoch[i]))
			continue;
		int64_t base = base_of(p, i, e.epoch);
		e.any = true;
		e.from = p->source[i].first + base < e.from ? p->source[i].first + base : e.from;
		e.to = p->source[i].last + base > e.to ? p->source[i].last + base : e.to;
	}
	return e;
}

static void place_telemetry(assay_clocks *p, uint32_t i, const struct extent *e)
{
	assay_source_clock *s = &p->source[i];
	assay_str clock = meta_of(p->run, i, "telemetry_clock");
	s->clock = ASSAY_CLOCK_NOWHERE;
	if (p->run->part.t.source.epoch[i] && e->epoch) {
		s->shift = p->run->part.t.source.base[i];
		if (apart(s->first + s->shift, s->last + s->shift, e->from, e->to) < 60 * second)
			s->clock = ASSAY_CLOCK_EPOCH;
	} else if (e->epoch && assay_str_is(clock, "local")) {
		find_zone(s, 0, e->from, e->to);
	} else if (e->epoch && assay_str_is(clock, "day")) {
		int64_t day = 96 * quarter;
		find_zone(s, e->from - (e->from % day + day) % day, e->from, e->to);
	} else if (!e->epoch && !p->run->part.t.source.epoch[i] && clock.n &&
		   !assay_str_is(clock, "none") && !apart(s->first, s->last, e->from, e->to)) {
		s->clock = ASSAY_CLOCK_RAW;
	}
}

/* Times near the ends of int64 come from damaged files only; nothing is known about them. */
static bool sane(const assay_source_clock *s, int64_t base)
{
	const int64_t limit = INT64_MAX / 4;
	return s->first > -limit && s->last < limit && base > -limit && base < limit;
}

/* Files of one process share a clock, and are moved together. */
static int64_t group_start(const assay_clocks *p, uint32_t source)
{
	const assay_tables *t = &p->run->part.t;
	int64_t first = INT64_MAX;
	for (uint32_t i = 0; i < t->source.n; i++)
		if (assay_group_of(t, i) == assay_group_of(t, source) && p->source[i].first < first)
			first = p->source[i].first;
	return first;
}

void assay_clocks_find(assay_clocks *p, const assay_run *run, assay_arena *arena)
{
	const assay_source_table *s = &run->part.t.source;
	*p = (assay_clocks){.run = run,
			    .source = assay_alloc(arena, (s->n + 1) * sizeof *p->source)};
	find_extents(p);
	for (uint32_t i = 0; i < s->n; i++)
		if (!sane(&p->source[i], s->base[i]) && p->source[i].first <= p->source[i].last)
			p->source[i].first = INT64_MAX, p->source[i].last = INT64_MIN;
	struct extent e = run_extent(p);
	if (!e.any)
		e = (struct extent){.from = 0, .to = 0};
	for (uint32_t i = 0; i < s->n; i++) {
		assay_source_clock *one = &p->source[i];
		if (one->first > one->last) {
			one->clock = ASSAY_CLOCK_NOWHERE;
		} else if (is_telemetry(p, i)) {
			place_telemetry(p, i, &e);
		} else if (e.epoch && !s->epoch[i]) {
			one->clock = ASSAY_CLOCK_START;
			one->shift = e.from - group_start(p, i);
		} else {
			one->clock = e.epoch ? ASSAY_CLOCK_EPOCH : ASSAY_CLOCK_RAW;
			one->shift = base_of(p, i, e.epoch);
		}
		if (one->clock == ASSAY_CLOCK_START && one->last + one->shift > e.to)
			e.to = one->last + one->shift;
	}
	p->origin = e.from;
	p->length = e.to - e.from;
	p->epoch = e.epoch;
	for (uint32_t i = 0; i < s->n; i++)
		p->source[i].shift -= e.from;
}

TEST(a_wall_clock_finds_its_zone)
{
	assay_source_clock s = {.first = 0, .last = 10 * second};
	int64_t hours2 = 2 * 3600 * second;
	find_zone(&s, 0, -hours2 + second, -hours2 + 2 * second);
	CHECK(s.clock == ASSAY_CLOCK_ZONE && s.zone == hours2 && s.shift == -hours2);
	find_zone(&s, 0, second, 2 * second);
	CHECK(s.clock == ASSAY_CLOCK_ZONE && s.zone == 0);
	find_zone(&s, 0, 400 * second, 401 * second);
	CHECK(s.clock == ASSAY_CLOCK_NOWHERE);
	return 0;
}
