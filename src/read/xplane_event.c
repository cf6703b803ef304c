/* One XEvent: its time, and its stats sorted into columns and arguments. */
#include "read/xplane.h"

#include "base/input.h"
#include "base/json.h"

enum { TEXT_MAX = 4096, META_STATS_MAX = 64, DEPTH_MAX = 16 };

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
	*meta = &nameless;
	*out = (xplane_value){0};
	for (assay_field f; assay_proto_next(&c, &f);) {
		if (f.number == XSTAT_META && f.wire == ASSAY_WIRE_VARINT) {
			uint32_t i = assay_map_get(&p->stat_at, f.value);
			if (i != ASSAY_MAP_ABSENT)
				*meta = &p->stats.p[i];
		} else if (f.number >= XSTAT_DOUBLE && f.number <= XSTAT_REF) {
			take_value(p, &f, out);
		}
	}
	return !c.bad && !c.cut;
}

/* A list or an object that was written as text comes back as what it was. It is written anew, value
 * by value, for nothing says that the text is sound. */
static bool copy_json(assay_jsonw *w, assay_json *j, assay_arena *scratch, int depth)
{
	char c = assay_json_peek(j);
	assay_str s;
	if (c == '"') {
		if (!assay_json_text(j, &s))
			return false;
		assay_jsonw_str(w, NULL, assay_json_unescape(scratch, s));
		return true;
	}
	if (c == '[' || c == '{') {
		if (depth > DEPTH_MAX)
			return false;
		assay_json_enter(j, c);
		assay_jsonw_open(w, NULL, c);
		while (c == '[' ? assay_json_element(j) : assay_json_member(j, &s)) {
			if (c == '{')
				assay_jsonw_key(w, assay_json_unescape(scratch, s));
			if (!copy_json(w, j, scratch, depth + 1))
				return false;
		}
		assay_jsonw_close(w, c == '[' ? ']' : '}');
		return assay_json_ok(j);
	}
	double number;
	if (!assay_json_skip(j, &s))
		return false;
	if (!assay_str_is(s, "true") && !assay_str_is(s, "false") && !assay_str_is(s, "null") &&
	    (!assay_str_f64(s, &number) || (s.p[0] != '-' && (s.p[0] < '0' || s.p[0] > '9'))))
		return false;
	assay_jsonw_raw(w, NULL, s);
	return true;
}

static bool add_json(assay_jsonw *w, assay_str s)
{
	if (s.n < 2 || (s.p[0] != '[' && s.p[0] != '{'))
		return false;
	assay_arena scratch = {0};
	char *text = assay_alloc(&scratch, s.n + ASSAY_PAD);
	memcpy(text, s.p, s.n);
	assay_json j = assay_json_on(text, s.n);
	assay_jsonw copy = {.compact = true};
	bool ok = copy_json(&copy, &j, &scratch, 0) && j.p == j.end && !j.odd;
	if (ok)
		assay_jsonw_raw(w, NULL, assay_jsonw_text(&copy));
	assay_jsonw_free(&copy);
	assay_arena_free(&scratch);
	return ok;
}

void xplane_value_json(assay_jsonw *w, const xplane_value *v)
{
	if (v->field == XSTAT_DOUBLE)
		assay_jsonw_f64(w, NULL, v->real);
	else if (v->field == XSTAT_INT64)
		assay_jsonw_i64(w, NULL, v->num);
	else if (v->field == XSTAT_UINT64)
		assay_jsonw_u64(w, NULL, (uint64_t)v->num);
	else if (v->field != XSTAT_STR || !add_json(w, v->text))
		assay_jsonw_str(w, NULL, v->text);
}

/* Stats whose value a row keeps in a column, for work on a device and for spans of a host. */
static const bool device_column[XPLANE_STAT_COUNT] = {
	[XPLANE_CORR] = true,     [XPLANE_SCOPE] = true,    [XPLANE_KERNEL] = true,
	[XPLANE_GRAPH] = true,    [XPLANE_NODE] = true,     [XPLANE_CONTEXT] = true,
	[XPLANE_QUEUE] = true,    [XPLANE_DISPATCH] = true, [XPLANE_EXTERNAL] = true,
	[XPLANE_INFERRED] = true,
};
static const bool host_column[XPLANE_STAT_COUNT] = {
	[XPLANE_CORR] = true,     [XPLANE_SCOPE] = true,    [XPLANE_CAT] = true,
	[XPLANE_EXTERNAL] = true, [XPLANE_SEQ] = true,      [XPLANE_FWD_THREAD] = true,
	[XPLANE_EV_IDX] = true,   [XPLANE_PY_ID] = true,    [XPLANE_PY_PARENT] = true,
	[XPLANE_CBID] = true,     [XPLANE_INFERRED] = true,
};

static const bool beside_column[XPLANE_STAT_COUNT] = {
	[XPLANE_CORR] = true,       [XPLANE_SCOPE] = true,       [XPLANE_CAT] = true,
	[XPLANE_EXTERNAL] = true,   [XPLANE_CONTEXT] = true,     [XPLANE_STREAM] = true,
	[XPLANE_WAIT_EVENT] = true, [XPLANE_WAIT_STREAM] = true, [XPLANE_RECORD_CORR] = true,
	[XPLANE_SYNC_ID] = true,    [XPLANE_STATUS] = true,      [XPLANE_PROCESS] = true,
	[XPLANE_THREAD] = true,     [XPLANE_ADDRESS] = true,     [XPLANE_BYTES] = true,
	[XPLANE_TOTAL] = true,      [XPLANE_RESERVED] = true,    [XPLANE_ALLOC] = true,
	[XPLANE_FREE] = true,       [XPLANE_INFERRED] = true,
};

static void take_stat(xplane *x, assay_str message, xplane_event *ev)
{
	const xplane_stat_meta *meta;
	xplane_value v;
	if (!xplane_value_read(&x->plane, message, &meta, &v)) {
		assay_count(x->part, ASSAY_ISSUE_bad_record, 1);
		return;
	}
	if (v.text.n > TEXT_MAX) {
		v.text.n = TEXT_MAX;
		assay_count(x->part, ASSAY_ISSUE_wide_value, 1);
	}
	if (meta->known >= 0) {
		if (ev->stat[meta->known].field)
			return; /* a stat may occur once; recorders do not always know */
		ev->stat[meta->known] = v;
	}
	const bool *column = x->plane.beside   ? beside_column
			     : x->plane.device ? device_column
					       : host_column;
	bool shown = v.field && v.field != XSTAT_BYTES && meta->name.n;
	if (shown && (meta->known < 0 || !column[meta->known])) {
		assay_jsonw_key(&x->args, meta->name);
		xplane_value_json(&x->args, &v);
	}
}

static void take_stats(xplane *x, assay_str message, uint32_t field, unsigned most,
		       xplane_event *ev)
{
	assay_proto c = assay_proto_on(message);
	for (assay_field f; most && assay_proto_next(&c, &f);) {
		if (f.number != field || f.wire != ASSAY_WIRE_BYTES)
			continue;
		take_stat(x, f.bytes, ev);
		most--;
	}
}

/* The JSON object without its braces. */
static assay_sid intern_args(xplane *x)
{
	assay_str s = assay_jsonw_text(&x->args);
	if (s.n <= 2)
		return 0;
	if (s.n > x->args_left) {
		assay_count(x->part, ASSAY_ISSUE_wide_value, 1);
		return 0;
	}
	x->args_left -= s.n;
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

bool xplane_event_read(xplane *x, const xplane_line *line, assay_str message, xplane_event *ev)
{
	int64_t offset = 0, dur = 0;
	const xplane_event_meta *meta = NULL;
	*ev = (xplane_event){0};
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
	ev->args = intern_args(x);
	ev->rest = assay_protow_data(&x->rest);
	return true;
}
