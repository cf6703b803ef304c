/* One XEvent: its time, and its stats sorted into columns and arguments. */
#include "read/xplane.h"

#include <assert.h>

enum {
	TEXT_MAX = 4096,
	META_STATS_MAX = 64,
	MEMBER_BYTES = 16, /* of a JSON member, beside its name and text */
};

static void take_value(const xplane_plane *p, const assay_field *f, xplane_value *v)
{
	uint32_t i;
	v->field = f->number;
	if (f->number == XSTAT_DOUBLE && f->wire == ASSAY_WIRE_FIXED64) {
		v->real = assay_field_f64(f);
	} else if (f->number == XSTAT_REF && f->wire == ASSAY_WIRE_VARINT) {
		i = assay_map_get(&p->stat_at, f->value);
		v->text = i == ASSAY_MAP_ABSENT ? (assay_str){"", 0} : p->stats.p[i].name;
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

bool xplane_value_read(const xplane_plane *p, assay_str stat, const xplane_stat_meta **meta,
		       xplane_value *out)
{
	static const xplane_stat_meta nameless = {{"", 0}, -1};
	assay_proto c = assay_proto_on(stat);
	bool more = false;
	*meta = &nameless;
	*out = (xplane_value){0};
	for (assay_field f; assay_proto_next(&c, &f);) {
		if (f.number == XSTAT_META && f.wire == ASSAY_WIRE_VARINT) {
			uint32_t i = assay_map_get(&p->stat_at, f.value);
			if (i != ASSAY_MAP_ABSENT)
				*meta = &p->stats.p[i];
		} else if (f.number >= XSTAT_DOUBLE && f.number <= XSTAT_REF) {
			take_value(p, &f, out);
			more |= f.number == XSTAT_BYTES;
		} else {
			more |= f.number > XSTAT_REF;
		}
	}
	out->more = more;
	return !c.bad && !c.cut;
}

bool xplane_afford(xplane *x, size_t n)
{
	if (n > x->args_left) {
		assay_count(x->part, ASSAY_ISSUE_wide_value, 1);
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

/* A list or an object that was written as text comes back as what it was. */
static bool add_json(assay_jsonw *w, assay_str s, assay_arena *scratch)
{
	assay_arena_reset(scratch);
	return s.n >= 2 && (s.p[0] == '[' || s.p[0] == '{') && assay_jsonw_copy(w, s, scratch);
}

void xplane_value_json(assay_jsonw *w, const xplane_value *v, assay_arena *scratch)
{
	if (v->field == XSTAT_DOUBLE)
		assay_jsonw_f64(w, NULL, v->real);
	else if (v->field == XSTAT_INT64)
		assay_jsonw_i64(w, NULL, v->num);
	else if (v->field == XSTAT_UINT64)
		assay_jsonw_u64(w, NULL, (uint64_t)v->num);
	else if (v->field != XSTAT_STR || !add_json(w, v->text, scratch))
		assay_jsonw_str(w, NULL, v->text);
}

/* Lists and objects (shapes, types) are the same few again and again: what the last ones became is
 * kept beside their text. */
static void add_value(xplane *x, const xplane_value *v)
{
	assay_str raw = v->text;
	bool list = v->field == XSTAT_STR && raw.n >= 2 && raw.n <= TEXT_MAX &&
		    (raw.p[0] == '[' || raw.p[0] == '{');
	if (!list) {
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
	[XPLANE_CORR] = true,     [XPLANE_SCOPE] = true,       [XPLANE_KERNEL] = true,
	[XPLANE_GRAPH] = true,    [XPLANE_NODE] = true,        [XPLANE_CONTEXT] = true,
	[XPLANE_QUEUE] = true,    [XPLANE_DISPATCH] = true,    [XPLANE_EXTERNAL] = true,
	[XPLANE_INFERRED] = true, [XPLANE_FROM_SCOPES] = true,
};
static const bool host_column[XPLANE_STAT_COUNT] = {
	[XPLANE_CORR] = true,     [XPLANE_SCOPE] = true,    [XPLANE_CAT] = true,
	[XPLANE_EXTERNAL] = true, [XPLANE_SEQ] = true,      [XPLANE_FWD_THREAD] = true,
	[XPLANE_EV_IDX] = true,   [XPLANE_PY_ID] = true,    [XPLANE_PY_PARENT] = true,
	[XPLANE_CBID] = true,     [XPLANE_INFERRED] = true, [XPLANE_STEP_ORIGIN] = true,
};

/* The same of memory on a thread, and beside a device, by what the event says it is. */
static const bool memory_column[XPLANE_STAT_COUNT] = {
	[XPLANE_CAT] = true,      [XPLANE_CALL_CORR] = true, [XPLANE_SCOPE] = true,
	[XPLANE_INFERRED] = true, [XPLANE_OPERATION] = true, [XPLANE_PROCESS] = true,
	[XPLANE_THREAD] = true,   [XPLANE_ALLOCATOR] = true, [XPLANE_ADDRESS] = true,
	[XPLANE_BYTES] = true,    [XPLANE_TOTAL] = true,     [XPLANE_COMPUTED] = true,
	[XPLANE_PEAK] = true,     [XPLANE_AVAILABLE] = true, [XPLANE_RESERVED] = true,
	[XPLANE_REGION] = true,
};
static const bool sync_column[XPLANE_STAT_COUNT] = {
	[XPLANE_CORR] = true,        [XPLANE_SCOPE] = true,      [XPLANE_CAT] = true,
	[XPLANE_STREAM] = true,      [XPLANE_WAIT_EVENT] = true, [XPLANE_WAIT_STREAM] = true,
	[XPLANE_RECORD_CORR] = true, [XPLANE_SYNC_ID] = true,    [XPLANE_STATUS] = true,
	[XPLANE_CONTEXT] = true,     [XPLANE_CLASS] = true,      [XPLANE_INFERRED] = true,
};
static const bool mark_column[XPLANE_STAT_COUNT] = {
	[XPLANE_CAT] = true,
	[XPLANE_STREAM] = true,
	[XPLANE_EXTERNAL] = true,
};
/* In front of the word that says it. */
static const bool beside_column[XPLANE_STAT_COUNT] = {
	[XPLANE_CORR] = true,
	[XPLANE_SCOPE] = true,
	[XPLANE_CAT] = true,
	[XPLANE_INFERRED] = true,
};

static const bool *columns_of(const xplane *x, const xplane_event *ev)
{
	assay_str cat = ev->stat[XPLANE_CAT].text;
	if (!x->plane.beside)
		return x->plane.device                       ? device_column
		       : assay_str_is(cat, XPLANE_CAT_ALLOC) ? memory_column
							     : host_column;
	return assay_str_is(cat, XPLANE_CAT_SYNC)   ? sync_column
	       : assay_str_is(cat, XPLANE_CAT_MARK) ? mark_column
						    : beside_column;
}

/* What our writer made of a row's scope or step, and says so in front of it. */
static bool is_made_anew(const xplane_event *ev, const xplane_stat_meta *meta)
{
	if (ev->stat[XPLANE_FROM_SCOPES].field && xplane_is_label(meta->name))
		return true;
	return ev->stat[XPLANE_STEP_ORIGIN].field &&
	       (meta->known == XPLANE_ROOT || meta->known == XPLANE_STEP_NUM);
}

/* shared: many events have the stat, so its text is no measure of the file's. */
static void take_stat(xplane *x, assay_str message, bool shared, xplane_event *ev)
{
	const xplane_stat_meta *meta;
	xplane_value v;
	if (!xplane_value_read(&x->plane, message, &meta, &v)) {
		assay_count(x->part, ASSAY_ISSUE_bad_record, 1);
		return;
	}
	if (v.more && !shared) /* those of metadata are kept with it */
		xplane_stat_rest(x, &x->rest, XEVENT_STATS, meta->name, message);
	if (v.text.n > TEXT_MAX && (shared || v.field == XSTAT_REF)) {
		v.text.n = TEXT_MAX;
		assay_count(x->part, ASSAY_ISSUE_wide_value, 1);
	}
	if (meta->known >= 0) {
		if (ev->stat[meta->known].field)
			return; /* a stat may occur once; recorders do not always know */
		ev->stat[meta->known] = v;
		ev->seen |= (uint64_t)1 << meta->known;
	}
	bool shown = v.field && v.field != XSTAT_BYTES && meta->name.n;
	if (!shown || (meta->known >= 0 && columns_of(x, ev)[meta->known]))
		return;
	if (is_made_anew(ev, meta))
		return;
	/* before it is written: a few bytes can name a long stat */
	if (xplane_afford(x, meta->name.n + v.text.n + MEMBER_BYTES)) {
		assay_jsonw_key(&x->args, meta->name);
		add_value(x, &v);
	}
}

static void take_stats(xplane *x, assay_str message, uint32_t field, unsigned most,
		       xplane_event *ev)
{
	assay_proto c = assay_proto_on(message);
	for (assay_field f; most && assay_proto_next(&c, &f);) {
		if (f.number != field || f.wire != ASSAY_WIRE_BYTES)
			continue;
		take_stat(x, f.bytes, field == XMETA_STATS, ev);
		most--;
	}
}

/* The JSON object without its braces. */
static assay_sid intern_args(xplane *x)
{
	assay_str s = assay_jsonw_text(&x->args);
	if (s.n <= 2)
		return 0;
	return assay_intern(&x->part->strings, (assay_str){s.p + 1, s.n - 2});
}

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
static void forget_event(xplane_event *ev)
{
	static_assert(XPLANE_STAT_COUNT <= 64, "a bit of seen for each");
	for (; ev->seen; ev->seen &= ev->seen - 1)
		ev->stat[__builtin_ctzll(ev->seen)] = (xplane_value){0};
	ev->occurrences = 0;
	ev->aggregate = ev->runtime = false;
}

bool xplane_event_read(xplane *x, const xplane_line *line, assay_str message, xplane_event *ev)
{
	int64_t offset = 0, dur = 0;
	const xplane_event_meta *meta = NULL;
	forget_event(ev);
	assay_proto c = assay_proto_on(message);
	x->rest.out.n = 0;
	for (assay_field f; assay_proto_next(&c, &f);) {
		if (f.number > XEVENT_OCCURRENCES)
			assay_protow_raw(&x->rest, f.whole);
		if (f.wire != ASSAY_WIRE_VARINT)
			continue;
		if (f.number == XEVENT_META) {
			uint32_t i = assay_map_get(&x->plane.event_at, f.value);
			meta = i == ASSAY_MAP_ABSENT ? NULL : &x->plane.events.p[i];
		} else if (f.number == XEVENT_OFFSET_PS) {
			offset = assay_field_i64(&f);
		} else if (f.number == XEVENT_DURATION_PS) {
			dur = assay_field_i64(&f);
		} else if (f.number == XEVENT_OCCURRENCES) {
			ev->aggregate = true;
			ev->occurrences = f.value;
		}
	}
	if (c.bad || c.cut || !set_time(line, offset, dur, ev)) {
		assay_count(x->part,
			    dur < 0 ? ASSAY_ISSUE_negative_duration : ASSAY_ISSUE_bad_record, 1);
		return false;
	}
	x->args.out.n = 0;
	x->args.comma = false;
	x->args.compact = true;
	assay_jsonw_open(&x->args, NULL, '{');
	take_stats(x, message, XEVENT_STATS, UINT32_MAX, ev);
	if (meta && meta->message.n)
		take_stats(x, meta->message, XMETA_STATS, META_STATS_MAX, ev);
	assay_jsonw_close(&x->args, '}');
	ev->name = meta ? meta->name : 0;
	ev->runtime = meta && meta->runtime;
	ev->args = intern_args(x);
	ev->rest = assay_protow_data(&x->rest);
	return true;
}
