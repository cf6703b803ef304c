#include "write/sources.h"

#include "base/num.h"
#include "base/test.h"

static bool has_events(const assay_source_clock *c)
{
	return c->first <= c->last;
}

static uint32_t first_trace(const assay_run *run, const assay_source_clock *clock)
{
	const assay_source_table *s = &run->part.t.source;
	uint32_t any = ASSAY_NO_ROW;
	for (uint32_t i = 0; i < s->n; i++) {
		if (!has_events(&clock[i]))
			continue;
		if (!assay_has_trait(run, i, ASSAY_TRAIT_TELEMETRY))
			return i;
		any = any == ASSAY_NO_ROW ? i : any;
	}
	return any == ASSAY_NO_ROW ? 0 : any;
}

static int64_t base_of(const assay_source_places *p, uint32_t source)
{
	const assay_source_table *s = &p->clocks.run->part.t.source;
	return source < s->n && s->epoch[source] ? s->base[source] : 0;
}

static bool is_placed(const assay_source_places *p, uint32_t source)
{
	return source < p->clocks.run->part.t.source.n &&
	       p->clocks.source[source].clock != ASSAY_CLOCK_NOWHERE;
}

int64_t assay_source_absolute(const assay_source_places *p, uint32_t source, int64_t ts)
{
	if (!is_placed(p, source))
		return assay_wrap_add(ts, base_of(p, source));
	return assay_wrap_add(ts, assay_wrap_add(p->clocks.source[source].shift, p->clocks.origin));
}

/* An input that cannot be laid beside the first keeps its times, on the clock of 1970 if both have
 * it. */
static int64_t shift_of(const assay_source_places *p, uint32_t source)
{
	const assay_source_table *s = &p->clocks.run->part.t.source;
	if (is_placed(p, source) && is_placed(p, p->first))
		return assay_wrap_sub(p->clocks.source[source].shift,
				      p->clocks.source[p->first].shift);
	return s->epoch[source] && s->epoch[p->first]
		       ? assay_wrap_sub(s->base[source], s->base[p->first])
		       : 0;
}

/* Files of one process (rocprofv3's CSV) keep its id; each other input gets ids of its own. */
static void raise_pids(assay_source_places *p, const assay_tables *t)
{
	uint32_t first = assay_group_of(t, p->first);
	int64_t next = 0;
	for (size_t i = 0; i < t->track.n; i++) {
		uint32_t group = assay_group_of(t, t->track.source[i]);
		if (group < t->source.n && group != first && !p->raised[group])
			p->raised[group] = ++next * ASSAY_PID_STEP;
	}
	for (uint32_t i = 0; i < t->source.n; i++)
		p->raised[i] = p->raised[assay_group_of(t, i)];
}

struct corrs {
	uint64_t least, most; /* most 0: none */
};

static void note_corr(struct corrs *of, const assay_tables *t, uint32_t track, uint64_t corr)
{
	uint32_t group = track < t->track.n ? assay_track_group(t, track) : ASSAY_NO_ROW;
	if (group >= t->source.n || !corr)
		return;
	struct corrs *c = &of[group];
	c->least = !c->most || corr < c->least ? corr : c->least;
	c->most = corr > c->most ? corr : c->most;
}

/* Every recording counts its calls from 1; the first one keeps its numbers, and so do those behind
 * them that are moved apart already. */
static void raise_corrs(assay_source_places *p, const assay_tables *t, assay_arena *arena)
{
	uint32_t first = assay_group_of(t, p->first);
	struct corrs *of = assay_alloc(arena, (t->source.n + 1) * sizeof *of);
	for (size_t i = 0; i < t->gpu.n; i++)
		note_corr(of, t, t->gpu.track[i], t->gpu.corr[i]);
	for (size_t i = 0; i < t->host.n; i++)
		if (assay_is_call(t->host.kind[i]) && t->host.detail[i] < t->api.n)
			note_corr(of, t, t->host.track[i], t->api.corr[t->host.detail[i]]);
	uint64_t next = first < t->source.n ? (of[first].most | 0xffffff) + 1 : 0;
	for (uint32_t i = 0; i < t->source.n; i++) {
		bool moves = i != first && assay_group_of(t, i) == i && of[i].most;
		if (!moves)
			continue;
		p->corr[i] = of[i].least < next ? next : 0;
		next = ((p->corr[i] + of[i].most) | 0xffffff) + 1;
	}
	for (uint32_t i = 0; i < t->source.n; i++)
		p->corr[i] = p->corr[assay_group_of(t, i)];
}

void assay_source_places_find(assay_source_places *p, const assay_run *run, assay_arena *arena)
{
	size_t n = run->part.t.source.n;
	*p = (assay_source_places){
		.shift = assay_alloc(arena, (n + 1) * sizeof *p->shift),
		.raised = assay_alloc(arena, (n + 1) * sizeof *p->raised),
		.corr = assay_alloc(arena, (n + 1) * sizeof *p->corr),
	};
	assay_clocks_find(&p->clocks, run, arena);
	p->first = first_trace(run, p->clocks.source);
	for (uint32_t i = 0; i < n; i++)
		p->shift[i] = i == p->first ? 0 : shift_of(p, i);
	raise_pids(p, &run->part.t);
	raise_corrs(p, &run->part.t, arena);
}

static uint32_t test_source(assay_run *run, uint8_t traits, int64_t base, bool epoch)
{
	assay_tables *t = &run->part.t;
	uint32_t s = assay_add(t, ASSAY_T_source);
	t->source.traits[s] = traits;
	t->source.base[s] = base;
	t->source.epoch[s] = epoch;
	return s;
}

static void test_sample(assay_run *run, uint32_t source, int64_t ts)
{
	assay_tables *t = &run->part.t;
	uint32_t track = assay_add(t, ASSAY_T_track), c = assay_add(t, ASSAY_T_counter);
	t->track.source[track] = source;
	t->counter.track[c] = track;
	t->counter.ts[c] = ts;
}

/* As in a run directory: env.json comes first and has neither events nor a clock. */
TEST(a_file_has_the_clock_of_the_first_trace)
{
	assay_run *run = assay_run_new();
	assay_arena a = {0};
	const int64_t boot = 1000000000, second = 1000000000;
	test_source(run, ASSAY_TRAIT_NOTE, 0, false);
	uint32_t smi = test_source(run, ASSAY_TRAIT_TELEMETRY, 0, true);
	uint32_t trace = test_source(run, 0, boot, true);
	test_sample(run, smi, boot + 5 * second);
	test_sample(run, trace, 4 * second);
	assay_source_places p;
	assay_source_places_find(&p, run, &a);
	CHECK_EQ(p.first, trace);
	CHECK_EQ(p.shift[trace], 0);
	CHECK_EQ(p.shift[smi], -boot);
	CHECK_EQ(p.raised[trace], 0);
	CHECK_EQ(p.raised[smi], ASSAY_PID_STEP);
	CHECK_EQ(assay_source_absolute(&p, smi, boot + 5 * second), boot + 5 * second);
	CHECK_EQ(assay_source_absolute(&p, trace, 4 * second), boot + 4 * second);
	assay_arena_free(&a);
	assay_run_free(run);
	return 0;
}
