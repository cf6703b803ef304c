/* Moments and values of rocpd: hardware counters of kernels, values that are sampled, instants. A
 * value belongs to an event; the event of a sampled one has samples instead of work. */
#include "read/rocpd_rows.h"

#include "base/test.h"
#include "read/rocprof.h"

/* What rocprof-sys calls telemetry of a GPU, as ours is called (docs/formats/smi.md). */
static const struct {
	const char *theirs, *ours;
	double factor;
} telemetry[] = {
	{"device_busy_gfx", "util_pct", 1},   {"device_busy_umc", "mem_util_pct", 1},
	{"device_power", "power_watts", 1},   {"device_memory_usage", "mem_used_bytes", 1e6},
	{"device_temp", "temp_hotspot_c", 1},
};

static void collect_samples(assay_rocpd_instance *x)
{
	enum { ID, TIME, TRACK, EVENT, NAME };
	const char *time = x->own_times ? "timestamp_id" : "timestamp";
	assay_rocpd_start(x, "rocpd_sample",
			  ASSAY_DB_COLUMNS("id", time, "track_id", "event_id", "name_id"));
	while (assay_rocpd_row(x)) {
		int64_t ts = assay_rocpd_time(x, TIME);
		if (ts <= 0) {
			assay_count(x->part, ASSAY_ISSUE_no_duration, 1);
			continue;
		}
		uint32_t event = assay_db_ids_get(&x->event, assay_rocpd_num(x, EVENT));
		uint32_t at = (uint32_t)x->samples.n;
		assay_db_ids_set(&x->sample, assay_rocpd_num(x, ID), at);
		*assay_push(&x->samples) =
			(assay_rocpd_sample){.ts = ts,
					     .place = assay_rocpd_place_at(x, TRACK),
					     .event = event,
					     .name = assay_rocpd_string(x, NAME)};
		if (event != ASSAY_MAP_ABSENT)
			x->events.p[event].sample = at;
	}
}

static void add_sampled(assay_rocpd_instance *x, const assay_rocpd_sample *s,
			const assay_rocpd_pmc *pmc, double value)
{
	assay_counter_table *t = &x->part->t.counter;
	int64_t id = pmc && pmc->agent >= 0 ? pmc->agent : s->place.agent;
	assay_rocpd_agent agent = assay_rocpd_agent_of(x, id);
	assay_sid name = pmc && pmc->name ? pmc->name : s->place.name ? s->place.name : s->name;
	uint32_t track =
		id >= 0 && agent.gpu
			? assay_track(x->part, ASSAY_TRACK_TELEMETRY, agent.number, -1, 0, 0)
			: assay_rocpd_thread(x, s->place.process, s->place.thread);
	for (size_t i = 0; i < ASSAY_COUNT_OF(telemetry); i++)
		if (assay_str_is(assay_pool_get(&x->part->strings, name), telemetry[i].theirs)) {
			name = assay_intern_z(&x->part->strings, telemetry[i].ours);
			value *= telemetry[i].factor;
		}
	uint32_t r = assay_add(&x->part->t, ASSAY_T_counter);
	t->ts[r] = s->ts;
	t->track[r] = track;
	t->name[r] = name;
	t->value[r] = value;
}

static void add_counted(assay_rocpd_instance *x, const assay_rocpd_event *e, assay_sid name,
			double value)
{
	const assay_gpu_table *g = &x->part->t.gpu;
	assay_pmc_table *t = &x->part->t.pmc;
	uint32_t r = assay_add(&x->part->t, ASSAY_T_pmc);
	t->corr[r] = e->stack;
	t->value[r] = value;
	t->name[r] = name;
	t->source[r] = x->part->source;
	if (e->gpu == ASSAY_NO_ROW)
		return;
	t->dispatch[r] = g->dispatch[e->gpu];
	t->kernel[r] = g->name[e->gpu];
}

static void read_values(assay_rocpd_instance *x)
{
	enum { EVENT, PMC, VALUE, SAMPLE };
	assay_rocpd_start(x, "rocpd_pmc_event",
			  ASSAY_DB_COLUMNS("event_id", "pmc_id", "value", "sample_id"));
	while (assay_rocpd_row(x)) {
		double value;
		if (!assay_db_f64(x->db, VALUE, &value)) {
			assay_count(x->part, ASSAY_ISSUE_bad_record, 1);
			continue;
		}
		uint32_t pmc = assay_db_ids_get(&x->pmc, assay_rocpd_num(x, PMC));
		const assay_rocpd_pmc *of = pmc == ASSAY_MAP_ABSENT ? NULL : &x->pmcs.p[pmc];
		const assay_rocpd_event *e = assay_rocpd_event_at(x, EVENT);
		uint32_t sample = assay_db_ids_get(&x->sample, assay_rocpd_num(x, SAMPLE));
		if (sample == ASSAY_MAP_ABSENT && e->gpu == ASSAY_NO_ROW)
			sample = e->sample;
		if (sample == ASSAY_MAP_ABSENT) {
			add_counted(x, e, of ? of->name : 0, value);
			continue;
		}
		assay_rocpd_sample *s = &x->samples.p[sample];
		s->counts = true;
		add_sampled(x, s, of, value);
	}
}

static void put_instant(assay_rocpd_instance *x, const assay_rocpd_sample *s)
{
	static const assay_rocpd_event none = {0};
	const assay_rocpd_event *e = s->event == ASSAY_MAP_ABSENT ? &none : &x->events.p[s->event];
	assay_str category = assay_pool_get(&x->part->strings, e->category);
	bool marker = assay_rocprof_host_kind(category) == ASSAY_HOST_MARKER;
	assay_sid name = s->place.name ? s->place.name : s->name;
	uint32_t h = assay_rocprof_host(x->part, marker ? ASSAY_HOST_MARKER : ASSAY_HOST_INSTANT,
					e->stack, e->external, category);
	assay_host_table *t = &x->part->t.host;
	t->ts[h] = s->ts;
	t->dur[h] = 0;
	t->name[h] = e->message ? e->message : name ? name : e->category;
	t->track[h] = assay_rocpd_thread(x, s->place.process, s->place.thread);
	if (s->event != ASSAY_MAP_ABSENT)
		x->events.p[s->event].host = h;
}

/* Samples of one event are of one moment; one of them having values, none is an instant. */
static bool has_values(const assay_rocpd_instance *x, const assay_rocpd_sample *s)
{
	return s->counts ||
	       (s->event != ASSAY_MAP_ABSENT && x->samples.p[x->events.p[s->event].sample].counts);
}

void assay_rocpd_read_counters(assay_rocpd_instance *x)
{
	collect_samples(x);
	read_values(x);
	for (size_t i = 0; i < x->samples.n; i++)
		if (!has_values(x, &x->samples.p[i]))
			put_instant(x, &x->samples.p[i]);
}
