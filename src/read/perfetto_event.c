/* Track events: slices, instants, counters, and the events of old Chrome inside them. */
#include "read/perfetto.h"

typedef perfetto_event event;

/* The first category is shown; the first known one says what the slice is. */
static void take_category(perfetto *x, event *e, assay_sid cat)
{
	if (!e->cat)
		e->cat = cat;
	if (e->category == PF_UNKNOWN_CATEGORY)
		e->category = perfetto_category_of(x, cat);
}

static assay_sid interned(perfetto *x, uint32_t sequence, perfetto_interned kind, uint64_t iid)
{
	uint32_t sid = perfetto_interned_get(x, sequence, kind, iid);
	return sid == ASSAY_MAP_ABSENT ? 0 : sid;
}

/* Render stages submitted: joins the call with them, whose rows have 1 + their id. */
static void take_submitted(event *e, assay_str message)
{
	assay_proto c = assay_proto_on(message);
	uint64_t id;
	for (assay_field f; assay_proto_next(&c, &f);) {
		if (f.number != 1)
			continue;
		if (f.wire == ASSAY_WIRE_VARINT)
			e->flow = f.value + 1;
		else if (f.wire == ASSAY_WIRE_BYTES && assay_proto_varint(&f.bytes, &id))
			e->flow = id + 1;
		return;
	}
}

static void take_bytes(perfetto *x, uint32_t sequence, event *e, const assay_field *f)
{
	assay_pool *strings = &x->part->strings;
	uint64_t iid;
	switch (f->number) {
	case PF_EVENT_ANNOTATION:
		*assay_push(&x->notes) = f->bytes;
		break;
	case PF_EVENT_NAME:
		e->name = assay_intern(strings, f->bytes);
		e->own_name = true;
		break;
	case PF_EVENT_CATEGORY:
		if (!perfetto_is_beyond(x))
			take_category(x, e, assay_intern(strings, f->bytes));
		break;
	case PF_EVENT_CATEGORY_IID:
		for (assay_str list = f->bytes; assay_proto_varint(&list, &iid);)
			take_category(x, e, interned(x, sequence, PF_IS_CATEGORY, iid));
		break;
	case PF_EVENT_LEGACY:
		e->legacy = f->bytes;
		break;
	case PF_EVENT_GPU:
		take_submitted(e, f->bytes);
		break;
	case PF_EVENT_CALLSTACK:
		if (!perfetto_is_beyond(x))
			e->stack = perfetto_stack_inline(x, f->bytes);
		break;
	default:
		break;
	}
}

static void take_number(perfetto *x, uint32_t sequence, event *e, const assay_field *f)
{
	switch (f->number) {
	case PF_EVENT_TYPE:
		e->type = (unsigned)f->value;
		break;
	case PF_EVENT_TRACK:
		e->uuid = f->value;
		e->has_track = true;
		break;
	case PF_EVENT_NAME_IID:
		e->name = interned(x, sequence, PF_IS_NAME, f->value);
		e->own_name = false;
		break;
	case PF_EVENT_CATEGORY_IID:
		take_category(x, e, interned(x, sequence, PF_IS_CATEGORY, f->value));
		break;
	case PF_EVENT_INT_VALUE:
		e->value = (double)assay_field_i64(f);
		e->has_value = true;
		break;
	case PF_EVENT_VALUE:
		e->value = assay_field_f64(f);
		e->has_value = true;
		break;
	case PF_EVENT_STACK_IID:
		if (!perfetto_is_beyond(x))
			e->stack = perfetto_stack_of(x, sequence, f->value);
		break;
	case PF_EVENT_FLOW:
	case PF_EVENT_FLOW_OLD:
	case PF_EVENT_FLOW_END:
	case PF_EVENT_FLOW_END_OLD:
		if (!e->flow)
			e->flow = f->value;
		break;
	default:
		break;
	}
}

static const int64_t old_most = (1ll << 61) / 1000;

bool perfetto_old_time(perfetto *x, uint32_t sequence, int64_t delta_us, int64_t *ts)
{
	int64_t *at = &x->sequences.p[sequence].reference_us, us;
	if (__builtin_add_overflow(delta_us, *at, &us) || us < -old_most || us > old_most)
		return false;
	*at = us;
	*ts = us * 1000;
	return true;
}

/* Microseconds as old Chrome has them, since the thread's reference. */
static void take_old_time(perfetto *x, uint32_t sequence, event *e, const assay_field *f)
{
	int64_t us = assay_field_i64(f);
	if (perfetto_is_beyond(x))
		return;
	if (f->number == PF_EVENT_DELTA_US)
		perfetto_old_time(x, sequence, us, &e->ts);
	else if (us >= -old_most && us <= old_most)
		e->ts = us * 1000;
}

void perfetto_numbers_add(perfetto_numbers *to, const assay_field *f, bool fixed)
{
	assay_str list = f->bytes;
	uint64_t v;
	if (f->wire != ASSAY_WIRE_BYTES)
		*assay_push(to) = f->value;
	else if (!fixed)
		while (assay_proto_varint(&list, &v))
			*assay_push(to) = v;
	else
		for (; list.n >= sizeof v; list.p += sizeof v, list.n -= sizeof v) {
			memcpy(&v, list.p, sizeof v);
			*assay_push(to) = v;
		}
}

/* Values of other tracks. */
static void take_extra(perfetto *x, const assay_field *f)
{
	perfetto_numbers *to = f->number == PF_EVENT_EXTRA_VALUES       ? &x->value[0]
			       : f->number == PF_EVENT_EXTRA_F64_VALUES ? &x->value[1]
			       : f->number == PF_EVENT_EXTRA_TRACKS     ? &x->value_track[0]
									: &x->value_track[1];
	perfetto_numbers_add(to, f, f->number == PF_EVENT_EXTRA_F64_VALUES);
}

/* Annotations of fewer than 128 bytes from the cursor on: most of what most events have. */
static inline void take_short_notes(perfetto *x, assay_proto *c)
{
	const uint8_t *p = c->p;
	while (c->end - p >= 2 && p[0] == (PF_EVENT_ANNOTATION << 3 | ASSAY_WIRE_BYTES) &&
	       p[1] < 0x80 && p[1] <= c->end - p - 2) {
		*assay_push(&x->notes) = (assay_str){(const char *)p + 2, p[1]};
		p += 2 + p[1];
	}
	c->p = p;
}

/* Fields that are not what their wire type says. */
static const bool is_rare[] = {
	[PF_EVENT_DELTA_US] = true,         [PF_EVENT_ABSOLUTE_US] = true,
	[PF_EVENT_EXTRA_VALUES] = true,     [PF_EVENT_EXTRA_TRACKS] = true,
	[PF_EVENT_EXTRA_F64_VALUES] = true, [PF_EVENT_EXTRA_F64_TRACKS] = true,
};

static void take_rare(perfetto *x, uint32_t sequence, event *e, const assay_field *f)
{
	if (f->number != PF_EVENT_DELTA_US && f->number != PF_EVENT_ABSOLUTE_US) {
		take_extra(x, f);
		return;
	}
	take_old_time(x, sequence, e, f);
	e->timed = true;
}

/* False when it is no whole message. */
static bool read_parts(perfetto *x, const perfetto_packet *p, assay_str message, event *e)
{
	assay_proto c = assay_proto_on(message);
	*e = (event){.ts = p->ts,
		     .dur = -1,
		     .timed = p->has_ts,
		     .category = PF_UNKNOWN_CATEGORY,
		     .stack = ASSAY_NO_ROW};
	x->notes.n = x->value[0].n = x->value[1].n = 0;
	x->value_track[0].n = x->value_track[1].n = 0;
	if (message.n == 2 && message.p[0] == (PF_EVENT_TYPE << 3 | ASSAY_WIRE_VARINT) &&
	    message.p[1] >=
		    0) { /* as every second is: the end of a slice of its sequence's track */
		e->type = (unsigned)message.p[1];
		return true;
	}
	for (assay_field f; take_short_notes(x, &c), assay_proto_next_padded(&c, &f);) {
		if (f.number < ASSAY_COUNT_OF(is_rare) && is_rare[f.number])
			take_rare(x, p->sequence, e, &f);
		else if (f.wire == ASSAY_WIRE_BYTES)
			take_bytes(x, p->sequence, e, &f);
		else
			take_number(x, p->sequence, e, &f);
	}
	return !c.bad && !c.cut;
}

/* ------------------------------------------------------------------ which track */

uint32_t perfetto_thread_track(perfetto *x, uint32_t sequence, int64_t pid, int64_t tid)
{
	int64_t k[4] = {0x7468, pid, tid, pid < 0 ? sequence : 0};
	uint32_t t = perfetto_track_at(x, assay_hash(k, sizeof k, 1), sequence);
	x->tracks.p[t].pid = pid;
	x->tracks.p[t].tid = tid;
	return t;
}

static uint32_t track_of(perfetto *x, const perfetto_packet *p, const event *e)
{
	const perfetto_sequence *s = &x->sequences.p[p->sequence];
	if (e->has_track)
		return perfetto_track_at(x, e->uuid, p->sequence);
	if (s->has_track)
		return perfetto_track_at(x, s->track, p->sequence);
	if (s->tid >= 0)
		return perfetto_thread_track(x, p->sequence, s->pid, s->tid);
	return perfetto_thread_track(x, p->sequence, s->writer >= 0 ? s->writer : s->pid, -1);
}

/* ------------------------------------------------------------------ old Chrome events */

/* Sets type, duration and track by the phase; false for phases that carry no span. */
static bool from_legacy(perfetto *x, const perfetto_packet *p, event *e)
{
	assay_proto c = assay_proto_on(e->legacy);
	int64_t us = -1, pid = -1, tid = -1;
	uint64_t id = 0;
	char phase = 0;
	for (assay_field f; assay_proto_next(&c, &f);) {
		if (f.number == PF_LEGACY_PHASE)
			phase = (char)f.value;
		else if (f.number == PF_LEGACY_NAME_IID && !e->name)
			e->name = interned(x, p->sequence, PF_IS_NAME, f.value);
		else if (f.number == PF_LEGACY_DURATION_US)
			us = assay_field_i64(&f);
		else if (f.number == PF_LEGACY_UNSCOPED_ID || f.number == PF_LEGACY_LOCAL_ID ||
			 f.number == PF_LEGACY_GLOBAL_ID)
			id = f.value;
		else if (f.number == PF_LEGACY_PID)
			pid = (uint32_t)f.value;
		else if (f.number == PF_LEGACY_TID)
			tid = (int32_t)f.value;
	}
	if (!phase)
		return e->type != 0;
	bool async = phase == 'b' || phase == 'e' || phase == 'n' || phase == 'S' || phase == 'F';
	e->type = phase == 'B' || phase == 'b' || phase == 'S' || phase == 'X'   ? PF_SLICE_BEGIN
		  : phase == 'E' || phase == 'e' || phase == 'F'                 ? PF_SLICE_END
		  : phase == 'i' || phase == 'I' || phase == 'R' || phase == 'n' ? PF_INSTANT
										 : 0;
	if (phase == 'X')
		e->dur = us < 0 || us > INT64_MAX / 4000 ? 0 : us * 1000;
	if (async) {
		uint64_t k[3] = {0x6173796e63, e->cat, id};
		e->track = perfetto_track_at(x, assay_hash(k, sizeof k, 2), p->sequence);
		x->tracks.p[e->track].name = e->cat;
	} else if (tid >= 0 && pid >= 0) {
		e->track = perfetto_thread_track(x, p->sequence, pid, tid);
	}
	return e->type != 0;
}

void perfetto_event_read(perfetto *x, const perfetto_packet *p, assay_str message)
{
	event e;
	perfetto_args a;
	x->events++;
	bool whole = read_parts(x, p, message, &e);
	if (!whole || !e.timed) {
		assay_count(x->part, e.timed ? ASSAY_ISSUE_bad_record : ASSAY_ISSUE_no_duration, 1);
		return;
	}
	e.track = track_of(x, p, &e);
	if (e.legacy.p && !from_legacy(x, p, &e)) {
		assay_count(x->part, ASSAY_ISSUE_unknown_phase, 1);
		return;
	}
	perfetto_event_args(x, p->sequence, &e, &a);
	perfetto_add_event(x, &e, &a);
	perfetto_add_values(x, p->sequence, &e);
}

bool perfetto_event_parse(perfetto *x, uint32_t sequence, assay_str message, perfetto_event *e,
			  perfetto_args *a)
{
	perfetto_packet p = {.sequence = sequence, .has_ts = true};
	if (!read_parts(x, &p, message, e) || x->odd || e->legacy.p || x->value[0].n ||
	    x->value[1].n)
		return false;
	perfetto_event_args(x, sequence, e, a);
	return !x->odd;
}

void perfetto_event_place(perfetto *x, const perfetto_packet *p, perfetto_event *e,
			  const perfetto_args *a)
{
	x->events++;
	if (!p->has_ts) {
		assay_count(x->part, ASSAY_ISSUE_no_duration, 1);
		return;
	}
	e->ts = p->ts;
	e->track = track_of(x, p, e);
	perfetto_add_event(x, e, a);
}
