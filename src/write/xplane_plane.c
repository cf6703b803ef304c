/* Putting a plane together. */
#include "write/xplane.h"

#include "base/input.h"
#include "base/json.h"
#include "base/utf8.h"

/* Names are those of constants and of the run's strings, which stay where they are; what lies in
 * the place of an older text is seen by its bytes. */
static uint64_t name_id(xplane_out *p, xplane_named *named, assay_pool *pool, assay_str name)
{
	uintptr_t at = (uintptr_t)name.p;
	xplane_named *slot = &named[(at >> 4 ^ at >> 13 ^ at) % XPLANE_NAMED];
	if (slot->p == name.p && slot->n == name.n &&
	    assay_str_eq(assay_pool_get(pool, slot->id), name))
		return slot->id;
	assay_sid id = assay_intern(pool, assay_utf8_repair(&p->scratch, name));
	*slot = (xplane_named){name.p, name.n, id};
	return id;
}

uint64_t xplane_stat_id(xplane_out *p, assay_str name)
{
	return name_id(p, p->stat_named, &p->stat_names, name);
}

uint64_t xplane_event_id(xplane_out *p, assay_str name)
{
	return name_id(p, p->event_named, &p->event_names, name);
}

static inline uint64_t constant_id(xplane_out *p, const char *name)
{
	uintptr_t at = (uintptr_t)name;
	xplane_named *slot = &p->constant[(at >> 4 ^ at >> 13 ^ at) % XPLANE_NAMED];
	if (slot->p != name)
		*slot = (xplane_named){name, 0, (assay_sid)xplane_stat_id(p, assay_str_of(name))};
	return slot->id;
}

static void say_made(xplane_out *p)
{
	p->making = false;
	assay_protow_pair(&p->event, XEVENT_STATS, XSTAT_META,
			  constant_id(p, xplane_stat_name[XPLANE_MADE]), XSTAT_INT64, 1);
}

void xplane_make_stats(xplane_out *p)
{
	p->making = true;
}

/* False when the event has the stat already. */
static inline bool stamp_stat(xplane_out *p, uint64_t id)
{
	while (p->stamp.n <= id)
		*assay_push(&p->stamp) = 0;
	if (p->stamp.p[id] == p->event_count + 1)
		return false;
	p->stamp.p[id] = p->event_count + 1;
	if (p->making)
		say_made(p);
	return true;
}

/* False when the event has a stat of that name already, or the name is empty. */
static bool begin_stat(xplane_out *p, assay_str name)
{
	uint64_t id = xplane_stat_id(p, name);
	if (!id || !stamp_stat(p, id))
		return false;
	assay_protow_varint(&p->stat, XSTAT_META, id);
	return true;
}

static void end_stat(xplane_out *p)
{
	assay_protow_message(&p->event, XEVENT_STATS, &p->stat);
}

/* A number in one of its slots. */
static inline void put_number(xplane_out *p, const char *name, uint32_t slot, uint64_t v)
{
	uint64_t id = constant_id(p, name);
	if (stamp_stat(p, id))
		assay_protow_pair(&p->event, XEVENT_STATS, XSTAT_META, id, slot, v);
}

void xplane_put_u64(xplane_out *p, const char *name, uint64_t v)
{
	put_number(p, name, XSTAT_UINT64, v);
}

void xplane_put_i64(xplane_out *p, const char *name, int64_t v)
{
	put_number(p, name, XSTAT_INT64, (uint64_t)v);
}

void xplane_put_f64(xplane_out *p, const char *name, double v)
{
	if (!begin_stat(p, assay_str_of(name)))
		return;
	assay_protow_f64(&p->stat, XSTAT_DOUBLE, v);
	end_stat(p);
}

/* Text by reference: the name of a stat's metadata is the value. */
static void value_ref(xplane_out *p, assay_str text)
{
	if (text.n)
		assay_protow_varint(&p->stat, XSTAT_REF, xplane_stat_id(p, text));
	else
		assay_protow_string(&p->stat, XSTAT_STR, text);
}

void xplane_put_ref(xplane_out *p, const char *name, assay_str text)
{
	uint64_t id = constant_id(p, name);
	if (!stamp_stat(p, id))
		return;
	if (text.n) {
		assay_protow_pair(&p->event, XEVENT_STATS, XSTAT_META, id, XSTAT_REF,
				  xplane_stat_id(p, text));
		return;
	}
	assay_protow_varint(&p->stat, XSTAT_META, id);
	assay_protow_string(&p->stat, XSTAT_STR, text);
	end_stat(p);
}

void xplane_put_word(xplane_out *p, const char *name, const char *word)
{
	uint64_t id = constant_id(p, name);
	if (stamp_stat(p, id))
		assay_protow_pair(&p->event, XEVENT_STATS, XSTAT_META, id, XSTAT_REF,
				  constant_id(p, word));
}

void xplane_put_str(xplane_out *p, const char *name, assay_str text)
{
	if (!begin_stat(p, assay_str_of(name)))
		return;
	assay_protow_string(&p->stat, XSTAT_STR, text);
	end_stat(p);
}

/* Longer ones are cut where events share them, and stand in place here. */
enum { SHARED_TEXT_MAX = 4096 };

static bool looks_like_json(assay_str s)
{
	return s.n && (s.p[0] == '[' || s.p[0] == '{');
}

/* Text in place, but where it would be taken for a list or an object. */
static void value_text(xplane_out *p, assay_str s)
{
	if (looks_like_json(s))
		value_ref(p, s);
	else
		assay_protow_string(&p->stat, XSTAT_STR, s);
}

/* A list, an object or a word (true) as its text, in one form whatever the input's; false when it
 * is none. The same few come again and again, so it is by reference, and told from other texts by
 * the space in front; in place when it is long. */
static bool value_text_of_json(xplane_out *p, assay_str json)
{
	p->text.out.n = 0;
	p->text.comma = false;
	*assay_push(&p->text.out) = XSTAT_JSON_MARK;
	if (!(looks_like_json(json) || assay_json_is_word(json)) ||
	    !assay_jsonw_copy(&p->text, json, &p->scratch))
		return false;
	assay_str text = assay_jsonw_text(&p->text);
	if (text.n <= SHARED_TEXT_MAX)
		value_ref(p, text);
	else
		assay_protow_string(&p->stat, XSTAT_STR, (assay_str){text.p + 1, text.n - 1});
	return true;
}

/* One JSON value in the slot its type has. */
static void value_json(xplane_out *p, assay_str json)
{
	int64_t i;
	uint64_t u;
	double d;
	if (json.n >= 2 && json.p[0] == '"') {
		json = assay_json_unescape(&p->scratch, (assay_str){json.p + 1, json.n - 2});
		if (json.n > SHARED_TEXT_MAX || xstat_is_json(json))
			value_text(p, json);
		else
			value_ref(p, json);
	} else if (assay_str_i64(json, &i)) {
		assay_protow_varint(&p->stat, XSTAT_INT64, (uint64_t)i);
	} else if (assay_str_u64(json, &u)) {
		assay_protow_varint(&p->stat, XSTAT_UINT64, u);
	} else if (assay_str_f64(json, &d)) {
		assay_protow_f64(&p->stat, XSTAT_DOUBLE, d);
	} else if (!value_text_of_json(p, json)) {
		value_ref(p, json);
	}
}

bool xplane_left_out(assay_str key)
{
	static const char *const names[] = {"group_id", "flow",           "step_name",
					    "is_eager", "dynamic_shared", "occ_pct"};
	return assay_str_is_any(key, names, ASSAY_COUNT_OF(names));
}

/* xprof reads these from the unsigned slot only. */
static bool is_unsigned(assay_str key)
{
	return assay_str_is(key, "correlation_id") || assay_str_is(key, "device_id") ||
	       assay_str_starts(key, "cuda_graph_");
}

static void put_member(xplane_out *p, assay_str key, assay_str value)
{
	uint64_t u;
	if (is_unsigned(key) && assay_str_u64(value, &u))
		assay_protow_varint(&p->stat, XSTAT_UINT64, u);
	else
		value_json(p, value);
	end_stat(p);
}

/* Stats of the members, and in made what they were; false when some are left out because the event
 * has them already. */
static bool make_args(xplane_out *p, assay_str args, xplane_made_args *made)
{
	bool all = true;
	size_t from = p->event.out.n;
	made->ids.n = made->ends.n = 0;
	assay_arena_reset(&p->scratch);
	assay_json j = assay_json_members(&p->scratch, args);
	for (assay_str key, value; assay_json_member(&j, &key) && assay_json_skip(&j, &value);) {
		key = assay_json_unescape(&p->scratch, key);
		if (xplane_left_out(key))
			continue;
		if (!begin_stat(p, key)) {
			all = false;
			continue;
		}
		*assay_push(&made->ids) = (uint32_t)xplane_stat_id(p, key);
		put_member(p, key, value);
		*assay_push(&made->ends) = (uint32_t)(p->event.out.n - from);
	}
	return all;
}

static void put_made(xplane_out *p, const xplane_made_args *made)
{
	uint32_t from = 0, last = 0; /* bytes that are not put yet */
	for (size_t i = 0; i < made->ids.n; last = made->ends.p[i++]) {
		if (stamp_stat(p, made->ids.p[i]))
			continue;
		assay_protow_raw(&p->event, (assay_str){made->bytes.p + from, last - from});
		from = made->ends.p[i];
	}
	assay_protow_raw(&p->event, (assay_str){made->bytes.p + from, last - from});
}

void xplane_put_args(xplane_out *p, const assay_run *run, assay_sid args)
{
	enum { REMEMBERED = 4096 };
	if (!args)
		return;
	if (!p->made)
		p->made = assay_alloc(&p->made_arena, XPLANE_MADE_ARGS * sizeof *p->made);
	xplane_made_args *made = &p->made[args % XPLANE_MADE_ARGS];
	if (made->args == args) {
		put_made(p, made);
		return;
	}
	size_t from = p->event.out.n;
	made->args = 0;
	bool all = make_args(p, assay_text(run, args), made);
	size_t n = p->event.out.n - from;
	if (!all || n > REMEMBERED)
		return;
	assay_vec_reserve(&made->bytes, n + 1);
	if (n) /* else the event may have no bytes at all yet */
		memcpy(made->bytes.p, p->event.out.p + from, n);
	made->args = args;
}

void xplane_plane_stat(xplane_out *p, assay_str name, assay_str json)
{
	assay_arena_reset(&p->scratch);
	char *text = assay_alloc(&p->scratch, json.n + ASSAY_PAD);
	memcpy(text, json.p, json.n);
	uint64_t id = xplane_stat_id(p, name);
	assay_protow_varint(&p->stat, XSTAT_META, id);
	if (json.n >= 2 && json.p[0] == '"') { /* upstream writes text of planes in place */
		value_text(p, assay_json_unescape(&p->scratch, (assay_str){text + 1, json.n - 2}));
	} else {
		value_json(p, (assay_str){text, json.n});
	}
	assay_protow_message(&p->stats, XPLANE_STATS, &p->stat);
}

void xplane_plane_text(xplane_out *p, assay_str name, assay_str text)
{
	assay_protow_varint(&p->stat, XSTAT_META, xplane_stat_id(p, name));
	value_text(p, text);
	assay_protow_message(&p->stats, XPLANE_STATS, &p->stat);
}

void xplane_expect(xplane_out *p, size_t events)
{
	enum { BYTES = 256 };
	size_t room = p->events_n + (events + 1) * BYTES;
	if (room <= p->events_room)
		return;
	p->events = assay_pages_grow(p->events, room);
	p->events_room = room;
}

static char *room_for(xplane_out *p, size_t n)
{
	if (p->events_room - p->events_n < n) {
		p->events_room = 2 * p->events_room + n;
		p->events = assay_pages_grow(p->events, p->events_room);
	}
	return p->events + p->events_n;
}

void xplane_end_event(xplane_out *p, assay_str name, int64_t at_ns, int64_t dur_ns)
{
	xplane_end_event_as(p, xplane_event_id(p, name), at_ns, dur_ns);
}

void xplane_end_event_as(xplane_out *p, uint64_t name, int64_t at_ns, int64_t dur_ns)
{
	enum { TAG = 1, HEAD = 3 * (TAG + ASSAY_VARINT_MAX) };
	char head[HEAD] = {0}, *end = head;
	*end++ = XEVENT_META << 3 | ASSAY_WIRE_VARINT;
	end = assay_put_varint(end, name);
	*end++ = XEVENT_OFFSET_PS << 3 | ASSAY_WIRE_VARINT;
	end = assay_put_varint(end, (uint64_t)at_ns * 1000);
	*end++ = XEVENT_DURATION_PS << 3 | ASSAY_WIRE_VARINT;
	end = assay_put_varint(end, (uint64_t)dur_ns * 1000);
	p->making = false;
	xplane_put_rest(p, &p->event, XEVENT_STATS, p->event_rest);
	p->event_rest = (assay_str){0};
	size_t n = (size_t)(end - head), stats = p->event.out.n;
	char *to = room_for(p, TAG + ASSAY_VARINT_MAX + HEAD + stats);
	*to++ = XLINE_EVENTS << 3 | ASSAY_WIRE_BYTES;
	to = assay_put_varint(to, n + stats);
	memcpy(to, head, HEAD); /* of a size that is known here */
	if (stats)
		memcpy(to + n, p->event.out.p, stats);
	p->events_n = (size_t)(to + n + stats - p->events);
	p->event.out.n = 0;
	p->event_count++;
}

void xplane_end_line(xplane_out *p, int64_t id, int64_t ts_ns, assay_str name)
{
	xplane_end_line_at(p, id, 0, ts_ns, name);
}

/* What an input had in the line, but for a place that it gets anew. */
static void put_line_rest(xplane_out *p, int64_t display)
{
	assay_proto c = assay_proto_on(p->line_rest);
	for (assay_field f; assay_proto_next(&c, &f);)
		if (f.number != XLINE_TIMESTAMP_NS && (!display || f.number != XLINE_DISPLAY_ID))
			assay_protow_raw(&p->meta, f.whole);
	p->line_rest = (assay_str){0};
}

void xplane_end_line_at(xplane_out *p, int64_t id, int64_t display, int64_t ts_ns, assay_str name)
{
	assay_protow_nonzero(&p->entry, XLINE_ID, (uint64_t)id);
	assay_protow_text(&p->entry, XLINE_NAME, name);
	assay_protow_nonzero(&p->entry, XLINE_TIMESTAMP_NS, (uint64_t)ts_ns);
	put_line_rest(p, display);
	assay_protow_nonzero(&p->meta, XLINE_DISPLAY_ID, (uint64_t)display);
	assay_str front = assay_protow_data(&p->entry), back = assay_protow_data(&p->meta);
	size_t events = p->events_n - p->line_from, from = p->heads.out.n;
	assay_protow_head(&p->heads, XPLANE_LINES, front.n + events + back.n);
	assay_protow_raw(&p->heads, front);
	*assay_push(&p->lines) = (xplane_line_piece){p->heads.out.n - from, back.n, events};
	assay_protow_raw(&p->heads, back);
	p->entry.out.n = p->meta.out.n = 0;
	p->line_from = p->events_n;
}

static void write_bytes(FILE *out, const char *bytes, size_t n)
{
	if (n)
		fwrite(bytes, 1, n, out);
}

static void write_lines(const xplane_out *p, FILE *out)
{
	const char *head = p->heads.out.p, *events = p->events;
	for (size_t i = 0; i < p->lines.n; i++) {
		const xplane_line_piece *l = &p->lines.p[i];
		write_bytes(out, head, l->front);
		write_bytes(out, events, l->events);
		write_bytes(out, head + l->front, l->back);
		head += l->front + l->back;
		events += l->events;
	}
}

static void free_out(xplane_out *p)
{
	assay_protow *const parts[] = {&p->heads, &p->event_meta, &p->stat_meta, &p->stats,
				       &p->event, &p->stat,       &p->meta,      &p->entry};
	for (size_t i = 0; i < ASSAY_COUNT_OF(parts); i++)
		assay_protow_free(parts[i]);
	assay_pages_free(p->events);
	assay_vec_free(&p->lines);
	assay_pool_free(&p->event_names);
	assay_pool_free(&p->stat_names);
	assay_vec_free(&p->stamp);
	for (size_t i = 0; p->made && i < XPLANE_MADE_ARGS; i++) {
		assay_vec_free(&p->made[i].bytes);
		assay_vec_free(&p->made[i].ids);
		assay_vec_free(&p->made[i].ends);
	}
	assay_arena_free(&p->made_arena);
	assay_arena_free(&p->scratch);
	assay_jsonw_free(&p->text);
	*p = (xplane_out){0};
}

void xplane_end_plane(xplane_out *p, FILE *out, int64_t id, assay_str name, assay_str more)
{
	assay_protow head = {0}, all = {0};
	xplane_put_rest(p, &p->stats, XPLANE_STATS, more);
	xplane_put_metas(p);
	assay_protow_nonzero(&head, XPLANE_ID, (uint64_t)id);
	assay_protow_text(&head, XPLANE_NAME, name);
	const assay_protow *behind[] = {&p->event_meta, &p->stat_meta, &p->stats};
	size_t n = head.out.n + p->heads.out.n + p->line_from;
	for (size_t i = 0; i < ASSAY_COUNT_OF(behind); i++)
		n += behind[i]->out.n;
	assay_protow_head(&all, XSPACE_PLANES, n);
	write_bytes(out, all.out.p, all.out.n);
	write_bytes(out, head.out.p, head.out.n);
	write_lines(p, out);
	for (size_t i = 0; i < ASSAY_COUNT_OF(behind); i++)
		write_bytes(out, behind[i]->out.p, behind[i]->out.n);
	assay_protow_free(&head);
	assay_protow_free(&all);
	free_out(p);
}
