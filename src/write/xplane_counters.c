/* Counters: those an XPlane file had on a device's own plane, and telemetry of other inputs. */
#include "write/xplane.h"

#include <inttypes.h>
#include <math.h>

/* In whole nanowatts, so that reading and writing again gives the same bits. */
static double milliwatts(double watts)
{
	return fabs(watts) < 1e6 ? rint(watts * 1e9) / 1e6 : watts * 1e3;
}

/* Telemetry of a machine calls devices by number, whoever used them; not numbered: the only one. */
static uint32_t device_numbered(const xplane_writer *w, int64_t id)
{
	uint32_t found = ASSAY_NO_ROW, n = 0;
	for (uint32_t i = 0; i < w->devices.n; i++)
		if (id < 0 || w->devices.p[i].id == id) {
			found = i;
			n++;
		}
	return n == 1 ? found : ASSAY_NO_ROW;
}

uint32_t xplane_counted_device(const xplane_writer *w, uint32_t track)
{
	const assay_track_table *t = &w->t->track;
	if (t->kind[track] != ASSAY_TRACK_TELEMETRY)
		return ASSAY_NO_ROW;
	uint32_t own = xplane_device_of(w, track);
	return own == ASSAY_MAP_ABSENT ? device_numbered(w, t->pid[track]) : own;
}

bool xplane_is_written(const xplane_writer *w, uint32_t counter)
{
	const assay_counter_table *c = &w->t->counter;
	uint32_t track = c->track[counter], source = xplane_source(w, track);
	if (w->counted.p[track] == ASSAY_NO_ROW || source >= w->t->source.n ||
	    w->at.clocks.source[source].clock == ASSAY_CLOCK_NOWHERE || isnan(c->value[counter]) ||
	    !c->name[counter])
		return false;
	int64_t at;
	return !__builtin_add_overflow(c->ts[counter], w->at.shift[source], &at) &&
	       at >= w->near_from && at <= w->near_to;
}

bool xplane_is_on_device(const xplane_writer *w, uint32_t counter)
{
	uint32_t track = w->t->counter.track[counter];
	return w->is_xplane.p[xplane_source(w, track)] &&
	       assay_str_is(assay_text(w->run, w->t->track.name[track]), XPLANE_COUNTER_LINE);
}

static bool is_in_watts(const xplane_writer *w, uint32_t counter)
{
	return assay_str_is(assay_text(w->run, w->t->counter.name[counter]), "power_watts");
}

const char *xplane_sample_name(const xplane_writer *w, uint32_t counter)
{
	return is_in_watts(w, counter) ? "power_mw" : assay_z(w->run, w->t->counter.name[counter]);
}

void xplane_put_sample(xplane_writer *w, xplane_out *p, uint32_t counter)
{
	double v = w->t->counter.value[counter];
	xplane_put_f64(p, xplane_sample_name(w, counter),
		       is_in_watts(w, counter) ? milliwatts(v) : v);
	w->samples++;
}

void xplane_put_counters(xplane_writer *w, xplane_out *p, uint32_t device)
{
	const assay_counter_table *c = &w->t->counter;
	uint64_t any = 0, nan = 0;
	for (uint32_t i = 0; i < c->n; i++) {
		if (w->counted.p[c->track[i]] != device)
			continue;
		nan += isnan(c->value[i]);
		if (!xplane_is_on_device(w, i) || !xplane_is_written(w, i))
			continue;
		int64_t at = xplane_time(w, c->track[i], c->ts[i]);
		xplane_put_sample(w, p, i);
		xplane_end_event(p, assay_str_of(xplane_sample_name(w, i)), at, 0);
		any++;
	}
	w->samples += nan; /* they are told */
	if (any)
		xplane_end_line(p, INT64_MAX, 0, ASSAY_S(XPLANE_COUNTER_LINE));
	if (nan)
		xplane_plane_stat(p, ASSAY_S("nan_counter_events"),
				  assay_str_of(assay_printf(&w->scratch, "%" PRIu64, nan)));
}
