/* One XEvent: its time, and its stats sorted into columns and arguments.
 *
 * Events are many and their stats are more, so the fields of an event are walked once; a stat of
 * the usual form is read without a cursor; and arguments, which are kept as JSON text, are written
 * once for all events whose stats without a column are the same bytes. */
#include "read/xplane.h"

#include <assert.h>

enum {
	TEXT_MAX = 4096,
	MEMBER_BYTES = 16, /* of a JSON member, beside its name and text */
};

static inline void take_value(const xplane_plane *p, const assay_field *f, xplane_value *v)
{
	v->field = f->number;
	if (f->number == XSTAT_DOUBLE && f->wire == ASSAY_WIRE_FIXED64) {
		v->real = assay_field_f64(f);
	} else if (f->number == XSTAT_REF && f->wire == ASSAY_WIRE_VARINT) {
		v->ref = xplane_index(&p->stat_at, f->value);
		v->text = v->ref == ASSAY_MAP_ABSENT ? (assay_str){"", 0} : p->stats.p[v->ref].name;
	} else if ((f->number == XSTAT_UINT64 || f->number == XSTAT_INT64) &&
		   f->wire == ASSAY_WIRE_VARINT) {
		v->num = assay_field_i64(f);
	} else if ((f->number == XSTAT_STR || f->number == XSTAT_BYTES) &&
		   f->wire == ASSAY_WIRE_BYTES) {
		v->text = f->bytes;
	} else {
		v->field = 0;
	}
}

static const xplane_stat_meta nameless = {{"", 0}, -1, -1, false};

static inline const xplane_stat_meta *stat_meta(const xplane_plane *p, uint64_t id)
{
	uint32_t i = xplane_index(&p->stat_at, id);
	return i == ASSAY_MAP_ABSENT ? &nameless : &p->stats.p[i];
}

bool xplane_value_read(const xplane_plane *p, assay_str stat, const xplane_stat_meta **meta,
		       xplane_value *out, bool *more)
{
	assay_proto c = assay_proto_on(stat);
	*meta = &nameless;
	*out = (xplane_value){.ref = ASSAY_MAP_ABSENT};
	*more = false;
	for (assay_field f; assay_proto_next(&c, &f);) {
		if (f.number == XSTAT_META && f.wire == ASSAY_WIRE_VARINT) {
			*meta = stat_meta(p, f.value);
		} else if (f.number >= XSTAT_DOUBLE && f.number <= XSTAT_REF) {
			take_value(p, &f, out);
			*more |= f.number == XSTAT_BYTES;
		} else {
			*more |= f.number > XSTAT_REF;
		}
	}
	return !c.bad && !c.cut;
}

#define TAG(field, wire) ((field) << 3 | ASSAY_WIRE_##wire)

/* xplane_value_read() of a stat as recorders write it, an id and a value; false for others. */
static inline bool read_plain(const xplane_plane *p, assay_str stat, const xplane_stat_meta **meta,
			      xplane_value *v)
{
	const uint8_t *at = (const uint8_t *)stat.p, *end = at + stat.n;
	uint64_t id, n = 0;
	if (stat.n < 4 || *at++ != TAG(XSTAT_META, VARINT) || !assay_varint_padded(&at, &id))
		return false;
	uint8_t tag = *at++;
	*v = (xplane_value){.field = tag >> 3, .ref = ASSAY_MAP_ABSENT};
	if (tag == TAG(XSTAT_DOUBLE, FIXED64)) {
		memcpy(&v->real, at, sizeof v->real);
		at += sizeof v->real;
	} else if (!assay_varint_padded(&at, &n)) {
		return false;
	} else if (tag == TAG(XSTAT_INT64, VARINT) || tag == TAG(XSTAT_UINT64, VARINT)) {
		v->num = (int64_t)n;
	} else if (tag == TAG(XSTAT_REF, VARINT)) {
		v->ref = xplane_index(&p->stat_at, n);
		if (v->ref != ASSAY_MAP_ABSENT)
			v->text = p->stats.p[v->ref].name;
	} else if (tag == TAG(XSTAT_STR, BYTES) && at <= end && n <= (size_t)(end - at)) {
		v->text = (assay_str){(const char *)at, (size_t)n};
		at += n;
	} else {
		return false;
	}
	*meta = stat_meta(p, id);
	return at == end;
}

bool xplane_afford(xplane *x, size_t n)
{
	if (n > x->args_left) {
		assay_count(x->part, ASSAY_ISSUE_wide_value, 1);
		x->refused = true;
		return false;
	}
	x->args_left -= n;
	return true;
}

void xplane_stat_rest(xplane *x, assay_protow *to, uint32_t field, assay_str name, assay_str stat)
{
	assay_proto c = assay_proto_on(stat);
	if (!name.n || !xplane_afford(x, name.n + stat.n))
		return;
	assay_protow one = {0};
	assay_protow_bytes(&one, XSTAT_META, name);
	for (assay_field f; assay_proto_next(&c, &f);)
		if (f.number == XSTAT_BYTES || f.number > XSTAT_REF)
			assay_protow_raw(&one, f.whole);
	assay_protow_message(to, field, &one);
	assay_protow_free(&one);
}

/* A list or an object that was written as text comes back as what it was. What may be one: texts in
 * place, and references that are marked. Empty: not this. */
static assay_str list_of(const xplane_value *v)
{
	assay_str s = v->text;
	if (v->field == XSTAT_REF && xstat_is_json(s))
		return (assay_str){s.p + 1, s.n - 1};
	return v->field == XSTAT_STR && s.n >= 2 && (s.p[0] == '[' || s.p[0] == '{')
		       ? s
		       : (assay_str){0};
}

static bool add_json(assay_jsonw *w, assay_str s, assay_arena *scratch)
{
	assay_arena_reset(scratch);
	return s.n && assay_jsonw_copy(w, s, scratch);
}

void xplane_value_json(assay_jsonw *w, const xplane_value *v, assay_arena *scratch)
{
	if (v->field == XSTAT_DOUBLE)
		assay_jsonw_f64(w, NULL, v->real);
	else if (v->field == XSTAT_INT64)
		assay_jsonw_i64(w, NULL, v->num);
	else if (v->field == XSTAT_UINT64)
		assay_jsonw_u64(w, NULL, (uint64_t)v->num);
	else if (!add_json(w, list_of(v), scratch))
		assay_jsonw_str(w, NULL, v->text);
}

/* Lists and objects (shapes, types) are the same few again and again: what the last ones became is
 * kept beside their text. */
static void add_value(xplane *x, const xplane_value *v)
{
	assay_str raw = list_of(v).n ? v->text : (assay_str){0};
	if (!raw.n || raw.n > TEXT_MAX) {
		xplane_value_json(&x->args, v, &x->scratch);
		return;
	}
	uint64_t hash = assay_hash(raw.p, raw.n, 0);
	xplane_seen *seen = &x->seen[hash % XPLANE_SEEN];
	if (seen->hash == hash && seen->raw == raw.n && !memcmp(seen->text.p, raw.p, raw.n)) {
		assay_jsonw_raw(&x->args, NULL,
				(assay_str){seen->text.p + raw.n, seen->text.n - raw.n});
		return;
	}
	size_t before = x->args.out.n;
	xplane_value_json(&x->args, v, &x->scratch);
	size_t n = x->args.out.n - before;
	assay_vec_reserve(&seen->text, raw.n + n);
	memcpy(seen->text.p, raw.p, raw.n);
	memcpy(seen->text.p + raw.n, x->args.out.p + before, n);
	seen->text.n = raw.n + n;
	seen->raw = raw.n;
	seen->hash = hash;
}

/* Stats whose value a row keeps in a column, for work on a device and for spans of a host. */
static const bool device_column[XPLANE_STAT_COUNT] = {
	[XPLANE_CORR] = true,     [XPLANE_SCOPE] = true,    [XPLANE_KERNEL] = true,
	[XPLANE_GRAPH] = true,    [XPLANE_NODE] = true,     [XPLANE_CONTEXT] = true,
	[XPLANE_QUEUE] = true,    [XPLANE_DISPATCH] = true, [XPLANE_EXTERNAL] = true,
	[XPLANE_INFERRED] = true, [XPLANE_MADE] = true,     [XPLANE_HLO_RECORDED] = true,
};
static const bool host_column[XPLANE_STAT_COUNT] = {
	[XPLANE_CORR] = true,     [XPLANE_SCOPE] = true,    [XPLANE_CAT] = true,
	[XPLANE_EXTERNAL] = true, [XPLANE_SEQ] = true,      [XPLANE_FWD_THREAD] = true,
	[XPLANE_EV_IDX] = true,   [XPLANE_PY_ID] = true,    [XPLANE_PY_PARENT] = true,
	[XPLANE_CBID] = true,     [XPLANE_INFERRED] = true, [XPLANE_STEP_ORIGIN] = true,
	[XPLANE_STACK] = true,    [XPLANE_MADE] = true,
};
/* Of calls, behind the word that says so. */
static const bool call_column[XPLANE_STAT_COUNT] = {
	[XPLANE_CORR] = true,     [XPLANE_SCOPE] = true,       [XPLANE_CAT] = true,
	[XPLANE_EXTERNAL] = true, [XPLANE_CBID] = true,        [XPLANE_STATUS] = true,
	[XPLANE_INFERRED] = true, [XPLANE_STEP_ORIGIN] = true, [XPLANE_STACK] = true,
	[XPLANE_MADE] = true,
};

/* The same of memory on a thread, and beside a device, by what the event says it is. */
static const bool memory_column[XPLANE_STAT_COUNT] = {
	[XPLANE_CAT] = true,      [XPLANE_CALL_CORR] = true, [XPLANE_SCOPE] = true,
	[XPLANE_INFERRED] = true, [XPLANE_OPERATION] = true, [XPLANE_PROCESS] = true,
	[XPLANE_THREAD] = true,   [XPLANE_ALLOCATOR] = true, [XPLANE_ADDRESS] = true,
	[XPLANE_BYTES] = true,    [XPLANE_TOTAL] = true,     [XPLANE_COMPUTED] = true,
	[XPLANE_PEAK] = true,     [XPLANE_AVAILABLE] = true, [XPLANE_RESERVED] = true,
	[XPLANE_REGION] = true,   [XPLANE_EV_IDX] = true,
};
static const bool sync_column[XPLANE_STAT_COUNT] = {
	[XPLANE_CORR] = true,        [XPLANE_SCOPE] = true,      [XPLANE_CAT] = true,
	[XPLANE_STREAM] = true,      [XPLANE_WAIT_EVENT] = true, [XPLANE_WAIT_STREAM] = true,
	[XPLANE_RECORD_CORR] = true, [XPLANE_SYNC_ID] = true,    [XPLANE_STATUS] = true,
	[XPLANE_CONTEXT] = true,     [XPLANE_CLASS] = true,      [XPLANE_INFERRED] = true,
	[XPLANE_FOUND] = true,
};
static const bool mark_column[XPLANE_STAT_COUNT] = {
	[XPLANE_CAT] = true,
	[XPLANE_STREAM] = true,
	[XPLANE_EXTERNAL] = true,
};
static const bool look_column[XPLANE_STAT_COUNT] = {
	[XPLANE_CAT] = true,    [XPLANE_LOOK] = true,    [XPLANE_STACK] = true,
	[XPLANE_THREAD] = true, [XPLANE_PROCESS] = true,
};
/* In front of the word that says it. */
static const bool beside_column[XPLANE_STAT_COUNT] = {
	[XPLANE_CORR] = true,
	[XPLANE_SCOPE] = true,
	[XPLANE_CAT] = true,
	[XPLANE_INFERRED] = true,
};

/* cat: as the event says it, or empty. */
static const bool *columns_of(const xplane *x, const xplane_value *cat)
{
	if (!x->plane->beside) {
		int kind = cat->field == XSTAT_REF && cat->ref != ASSAY_MAP_ABSENT
				   ? x->plane->stats.p[cat->ref].host_kind
				   : -1;
		return x->plane->device                            ? device_column
		       : kind >= 0 && assay_is_call((uint8_t)kind) ? call_column
		       : assay_str_is(cat->text, XPLANE_CAT_ALLOC) ? memory_column
								   : host_column;
	}
	return assay_str_is(cat->text, XPLANE_CAT_SYNC)       ? sync_column
	       : assay_str_is(cat->text, XPLANE_CAT_MARK)     ? mark_column
	       : assay_str_is(cat->text, ASSAY_LOOK_CATEGORY) ? look_column
							      : beside_column;
}

/* What our writer made of a row's scope or step, and says so in front of it. */
static bool is_made_anew(const xplane_event *ev, const xplane_stat_meta *meta)
{
	if (ev->stat[XPLANE_MADE].field)
		return true;
	if (meta->label && ev->stat[XPLANE_HLO_RECORDED].field &&
	    assay_str_is(meta->name, "hlo_op"))
		return true;
	return (meta->known == XPLANE_ROOT || meta->known == XPLANE_STEP_NUM) &&
	       ev->stat[XPLANE_STEP_ORIGIN].field;
}

static inline void show_stat(xplane *x, const xplane_stat_meta *meta, const xplane_value *v,
			     assay_str whole)
{
	*assay_push(&x->shown) = (xplane_shown){meta, *v};
	assay_str *last = x->runs.n ? &x->runs.p[x->runs.n - 1] : NULL;
	if (last && last->p + last->n == whole.p)
		last->n += whole.n;
	else
		*assay_push(&x->runs) = whole;
}

/* shared: many events have the stat, so its text is no measure of the file's. */
static inline void take_stat(xplane *x, const xplane_stat_at *at, bool shared, xplane_event *ev)
{
	static const xplane_stat_meta recorded = {.name = {"hlo_op", sizeof "hlo_op" - 1}};
	const xplane_stat_meta *meta;
	xplane_value v;
	bool more = false;
	if (!read_plain(x->plane, at->bytes, &meta, &v) &&
	    !xplane_value_read(x->plane, at->bytes, &meta, &v, &more)) {
		assay_count(x->part, ASSAY_ISSUE_bad_record, 1);
		return;
	}
	if (more && !shared) /* those of metadata are kept with it */
		xplane_stat_rest(x, &x->stat_rest, XEVENT_STATS, meta->name, at->bytes);
	if (v.text.n > TEXT_MAX && (shared || v.field == XSTAT_REF)) {
		v.text.n = TEXT_MAX;
		assay_count(x->part, ASSAY_ISSUE_wide_value, 1);
	}
	if (meta->known >= 0) {
		if (ev->stat[meta->known].field)
			return; /* a stat may occur once; recorders do not always know */
		ev->stat[meta->known] = v;
		ev->seen |= (uint64_t)1 << meta->known;
		if (meta->known == XPLANE_CAT)
			ev->column = columns_of(x, &v);
		if (meta->known == XPLANE_HLO_RECORDED) /* in front of what our writer found */
			show_stat(x, &recorded, &v, at->whole);
		bool zero = meta->known == XPLANE_EXTERNAL && v.field && !v.text.n && !v.num;
		if (ev->column[meta->known] && !zero) /* 0 is none in the column */
			return;
	}
	bool shown = v.field && v.field != XSTAT_BYTES && meta->name.n;
	if (shown && !is_made_anew(ev, meta))
		show_stat(x, meta, &v, at->whole);
}

/* ------------------------------------------------------------------ arguments */

static uint64_t cost_of(const xplane_shown *s)
{
	return s->meta->name.n + s->value.text.n + MEMBER_BYTES;
}

/* The JSON object without its braces. */
static assay_sid write_members(xplane *x)
{
	x->args.out.n = 0;
	x->args.comma = false;
	x->args.compact = true;
	assay_jsonw_open(&x->args, NULL, '{');
	for (size_t i = 0; i < x->shown.n; i++) {
		const xplane_shown *s = &x->shown.p[i];
		/* before it is written: a few bytes can name a long stat */
		if (!xplane_afford(x, cost_of(s)))
			continue;
		assay_jsonw_key(&x->args, s->meta->name);
		add_value(x, &s->value);
	}
	assay_jsonw_close(&x->args, '}');
	assay_str s = assay_jsonw_text(&x->args);
	return assay_intern(&x->part->strings, (assay_str){s.p + 1, s.n - 2});
}

static bool are_members(const xplane *x, const xplane_members *m)
{
	size_t at = 0;
	for (size_t i = 0; i < x->runs.n; at += x->runs.p[i++].n) {
		assay_str run = x->runs.p[i];
		if (run.n > m->raw.n - at || memcmp(m->raw.p + at, run.p, run.n) != 0)
			return false;
	}
	return at == m->raw.n;
}

static void remember_members(xplane *x, xplane_members *m, uint64_t hash, assay_sid args)
{
	uint64_t cost = 0;
	size_t n = 0, at = 0;
	for (size_t i = 0; i < x->runs.n; i++)
		n += x->runs.p[i].n;
	if (n > TEXT_MAX)
		return;
	for (size_t i = 0; i < x->shown.n; i++)
		cost += cost_of(&x->shown.p[i]);
	assay_vec_reserve(&m->raw, n);
	for (size_t i = 0; i < x->runs.n; at += x->runs.p[i++].n)
		memcpy(m->raw.p + at, x->runs.p[i].p, x->runs.p[i].n);
	m->raw.n = n;
	m->hash = hash;
	m->plane = x->plane->number;
	m->cost = cost;
	m->args = args;
}

static assay_sid args_of(xplane *x)
{
	uint64_t hash = 0;
	for (size_t i = 0; i < x->runs.n; i++)
		hash = assay_hash(x->runs.p[i].p, x->runs.p[i].n, hash);
	xplane_members *m = &x->members[hash % XPLANE_MEMBERS];
	if (m->hash == hash && m->plane == x->plane->number && m->cost <= x->args_left &&
	    are_members(x, m)) {
		x->args_left -= m->cost;
		return m->args;
	}
	bool refused = x->refused;
	x->refused = false;
	assay_sid args = write_members(x);
	if (!x->refused)
		remember_members(x, m, hash, args);
	x->refused |= refused;
	return args;
}

/* ------------------------------------------------------------------ events */

/* Picoseconds are cut to whole nanoseconds at both ends, so that spans which touch still touch. */
static bool set_time(const xplane_line *line, int64_t offset, int64_t dur, xplane_event *ev)
{
	int64_t end;
	if (__builtin_add_overflow(offset, dur, &end) || dur < 0)
		return false;
	int64_t from = offset / 1000 - (offset % 1000 < 0), to = end / 1000 - (end % 1000 < 0);
	ev->dur = to - from;
	return !__builtin_add_overflow(line->ts, from, &ev->ts) &&
	       !__builtin_add_overflow(line->ts, to, &to);
}

/* Empties ev. Only what is there of the stats is cleared: all of them are two kilobytes. */
static void forget_event(xplane *x, xplane_event *ev)
{
	static_assert(XPLANE_STAT_COUNT <= 64, "a bit of seen for each");
	for (; ev->seen; ev->seen &= ev->seen - 1)
		ev->stat[__builtin_ctzll(ev->seen)] = (xplane_value){0};
	ev->occurrences = 0;
	ev->aggregate = ev->runtime = false;
	ev->column = columns_of(x, &(xplane_value){.text = {"", 0}});
	x->rest.out.n = x->stat_rest.out.n = x->shown.n = x->runs.n = 0;
}

typedef struct event_head {
	int64_t offset, dur;
	uint64_t meta; /* id */
	bool has_meta;
} event_head;

/* Stats of fewer than 128 bytes from the cursor on, as nearly all are. */
static inline void take_short_stats(xplane *x, assay_proto *c, xplane_event *ev)
{
	const uint8_t *p = c->p;
	while (c->end - p >= 2 && p[0] == TAG(XEVENT_STATS, BYTES) && p[1] < 0x80 &&
	       p[1] <= c->end - p - 2) {
		size_t n = p[1];
		take_stat(x, &(xplane_stat_at){{(const char *)p, 2 + n}, {(const char *)p + 2, n}},
			  false, ev);
		p += 2 + n;
	}
	c->p = p;
}

static bool walk_event(xplane *x, assay_str message, event_head *h, xplane_event *ev)
{
	assay_proto c = assay_proto_on(message);
	for (assay_field f; take_short_stats(x, &c, ev), assay_proto_next_padded(&c, &f);) {
		if (f.number == XEVENT_STATS && f.wire == ASSAY_WIRE_BYTES) {
			take_stat(x, &(xplane_stat_at){f.whole, f.bytes}, false, ev);
			continue;
		}
		if (f.number > XEVENT_OCCURRENCES)
			assay_protow_raw(&x->rest, f.whole);
		if (f.wire != ASSAY_WIRE_VARINT)
			continue;
		if (f.number == XEVENT_META) {
			h->meta = f.value;
			h->has_meta = true;
		} else if (f.number == XEVENT_OFFSET_PS) {
			h->offset = assay_field_i64(&f);
		} else if (f.number == XEVENT_DURATION_PS) {
			h->dur = assay_field_i64(&f);
		} else if (f.number == XEVENT_OCCURRENCES) {
			ev->aggregate = true;
			ev->occurrences = f.value;
		}
	}
	return !c.bad && !c.cut;
}

/* The name in this reader's part. */
static assay_sid name_of(xplane *x, uint32_t meta)
{
	if (!x->names.n) {
		size_t n = x->plane->events.n;
		assay_vec_reserve(&x->names, n);
		memset(x->names.p, 0, n * sizeof *x->names.p);
		x->names.n = n;
	}
	assay_sid *name = &x->names.p[meta];
	if (!*name)
		*name = assay_intern(&x->part->strings, x->plane->events.p[meta].name);
	return *name;
}

bool xplane_event_read(xplane *x, const xplane_line *line, assay_str message, xplane_event *ev)
{
	event_head h = {0};
	uint64_t bad = x->part->issues[ASSAY_ISSUE_bad_record], left = x->args_left;
	uint64_t wide = x->part->issues[ASSAY_ISSUE_wide_value];
	forget_event(x, ev);
	bool whole = walk_event(x, message, &h, ev);
	if (!whole || !set_time(line, h.offset, h.dur, ev)) {
		/* nothing of it counts but that it is bad */
		x->part->issues[ASSAY_ISSUE_bad_record] = bad;
		x->part->issues[ASSAY_ISSUE_wide_value] = wide;
		x->args_left = left;
		assay_count(x->part,
			    h.dur < 0 ? ASSAY_ISSUE_negative_duration : ASSAY_ISSUE_bad_record, 1);
		return false;
	}
	ev->name = 0;
	uint32_t i = h.has_meta ? xplane_index(&x->plane->event_at, h.meta) : ASSAY_MAP_ABSENT;
	if (i != ASSAY_MAP_ABSENT) {
		const xplane_event_meta *meta = &x->plane->events.p[i];
		for (uint32_t s = 0; s < meta->stats; s++)
			take_stat(x, &x->plane->meta_stats.p[meta->first + s], true, ev);
		ev->name = name_of(x, i);
		ev->runtime = meta->runtime;
	}
	ev->args = x->shown.n ? args_of(x) : 0;
	assay_protow_raw(&x->rest, assay_protow_data(&x->stat_rest));
	ev->rest = assay_protow_data(&x->rest);
	return true;
}

void xplane_free(xplane *x)
{
	assay_vec_free(&x->window.bytes);
	assay_vec_free(&x->segments);
	assay_vec_free(&x->derived_steps);
	assay_vec_free(&x->shown);
	assay_vec_free(&x->runs);
	assay_vec_free(&x->names);
	assay_jsonw_free(&x->args);
	for (size_t i = 0; i < XPLANE_SEEN; i++)
		assay_vec_free(&x->seen[i].text);
	for (size_t i = 0; i < XPLANE_MEMBERS; i++)
		assay_vec_free(&x->members[i].raw);
	assay_arena_free(&x->scratch);
	assay_protow_free(&x->rest);
	assay_protow_free(&x->stat_rest);
}
