/* The second of xprof's two modes: a file whose every plane has group ids is shown as it stands.
 * Steps, launch statistics and the rows derived from each stream are then ours to write, with the
 * ids, names and places that xprof gives them. */
#include "write/xplane.h"

#include <inttypes.h>

#include "base/group.h"
#include "base/sort.h"

enum {
	STEPS_LINE = -559038737,
	LAUNCH_LINE = -559038736,
	FIRST_DERIVED_LINE = -559038447,
	DERIVED_LINES = 100, /* ids that xprof takes for rows made of a device's streams */
	IDS_A_STREAM = 6,
	STREAMS_LIKE_XPROF = 16, /* it stops there; more take ids that these have no row for */
	FLOW_LAUNCH = 9,
	FLOW_ID_SHIFT = 2,
	FLOW_CATEGORY_SHIFT = 58,
};

/* Where a row stands: its line in the stream's block, and its place behind the stream. */
static const struct {
	int id, place;
} rows[ASSAY_DERIVED_ROW_COUNT] = {
	[ASSAY_DERIVED_NAME_SCOPE] = {0, 1}, [ASSAY_DERIVED_FRAMEWORK_OPS] = {1, 2},
	[ASSAY_DERIVED_MODULES] = {2, 3},    [ASSAY_DERIVED_OPS] = {3, 4},
	[ASSAY_DERIVED_GRAPHS] = {4, 6},
};

uint32_t xplane_host_step(const xplane_writer *w, uint32_t host)
{
	uint32_t scope = host < w->t->host_scope.n ? w->t->host_scope.scope[host] : ASSAY_NO_ROW;
	return scope == ASSAY_NO_ROW ? ASSAY_NO_ROW : w->t->scope.step[scope];
}

void xplane_put_group(const xplane_writer *w, xplane_out *p, uint32_t step)
{
	if (w->grouped && step != ASSAY_NO_ROW)
		xplane_put_i64(p, "group_id", step);
}

void xplane_put_flow(const xplane_writer *w, xplane_out *p, uint64_t corr, int direction)
{
	uint64_t id = corr & ((1ull << (FLOW_CATEGORY_SHIFT - FLOW_ID_SHIFT)) - 1);
	if (w->grouped)
		xplane_put_u64(p, "flow",
			       (uint64_t)FLOW_LAUNCH << FLOW_CATEGORY_SHIFT | id << FLOW_ID_SHIFT |
				       (uint64_t)direction);
}

void xplane_name_group(const xplane_writer *w, xplane_out *p)
{
	if (w->grouped)
		xplane_stat_id(p, ASSAY_S("group_id"));
}

/* ------------------------------------------------------------------ derived rows */

/* "train 4", as xprof calls a step. */
static assay_str step_name(xplane_writer *w, uint32_t step)
{
	const assay_step_table *t = &w->t->step;
	int64_t number = t->number[step] >= 0 ? t->number[step] : (int64_t)step;
	assay_str name = assay_text(w->run, t->name[step]);
	return assay_str_of(
		assay_printf(&w->scratch, "%.*s %" PRId64, (int)name.n, name.p, number));
}

/* Rows made from a path of ranges are called what the path in the file calls them. */
static assay_str row_name(xplane_writer *w, uint32_t r)
{
	const assay_derived_table *t = &w->t->derived;
	uint32_t scope = t->scope[r];
	if (scope == ASSAY_NO_ROW || t->name[r] != w->t->scope.name[scope])
		return assay_text(w->run, t->name[r]);
	uint32_t op = xplane_op_of(w, scope);
	if (t->row[r] != ASSAY_DERIVED_MODULES)
		return w->ops.p[op].name;
	assay_str name = xplane_module_name(w, op);
	return assay_str_of(assay_printf(&w->scratch, "%.*s(%u)", (int)name.n, name.p,
					 w->ops.p[op].program + 1));
}

static void put_event(xplane_writer *w, xplane_out *p, uint32_t r, int64_t line_ts)
{
	const assay_derived_table *t = &w->t->derived;
	assay_str name = row_name(w, r);
	if (t->group[r] != ASSAY_NO_ROW)
		xplane_put_i64(p, "group_id", t->group[r]);
	if (t->row[r] == ASSAY_DERIVED_STEPS && t->group[r] != ASSAY_NO_ROW) {
		name = step_name(w, t->group[r]);
		xplane_put_str(p, "step_name", name);
	}
	int64_t id = xplane_scope(w, t->scope[r]);
	if (id)
		xplane_put_i64(p, "scope_range_id", id);
	xplane_end_event(p, name.n ? name : ASSAY_S("(no name)"),
			 xplane_time(w, t->track[r], t->ts[r]) - line_ts,
			 t->dur[r] > 0 ? t->dur[r] : 0);
}

typedef assay_vec(uint32_t) row_list;

static void put_line(xplane_writer *w, xplane_out *p, row_list *list, int64_t id, int64_t display,
		     const char *name)
{
	const assay_derived_table *t = &w->t->derived;
	if (!list->n)
		return;
	/* rows of one start stand in order of their level already */
	assay_sort_rows(list->p, list->n, t->ts);
	for (size_t i = 0; i < list->n; i++)
		put_event(w, p, list->p[i], p->base);
	xplane_end_line_at(p, id, display, p->base, assay_str_of(name));
}

static void index_tracks(xplane_writer *w)
{
	const assay_derived_table *t = &w->t->derived;
	size_t tracks = w->t->track.n;
	w->derived_first = assay_alloc(&w->scratch, (tracks + 1) * sizeof *w->derived_first);
	w->derived = assay_alloc(&w->scratch, t->n * sizeof *w->derived);
	assay_group_rows(w->derived, w->derived_first, NULL, t->n, t->track, tracks);
}

static void pick(const xplane_writer *w, row_list *list, uint32_t track, assay_derived_row row)
{
	list->n = 0;
	for (size_t i = w->derived_first[track]; i < w->derived_first[track + 1]; i++)
		if (w->t->derived.row[w->derived[i]] == row)
			*assay_push(list) = w->derived[i];
}

/* Place among the ids of a row of the k-th stream; DERIVED_LINES when they are all taken. */
static int row_id(bool *used, size_t k, int row)
{
	int i = 0;
	if (k < STREAMS_LIKE_XPROF)
		i = (int)k * IDS_A_STREAM + rows[row].id;
	while (i < DERIVED_LINES && used[i])
		i++;
	if (i < DERIVED_LINES)
		used[i] = true;
	return i;
}

static void put_rows(xplane_writer *w, xplane_out *p, const xplane_stream *s, size_t k, bool *used)
{
	row_list list = {0};
	bool all = true;
	for (int row = ASSAY_DERIVED_STEPS + 1; row < ASSAY_DERIVED_ROW_COUNT; row++) {
		pick(w, &list, s->track, (assay_derived_row)row);
		int id = list.n ? row_id(used, k, row) : 0;
		all &= id < DERIVED_LINES;
		if (id < DERIVED_LINES)
			put_line(w, p, &list, FIRST_DERIVED_LINE + id,
				 (int64_t)k * XPLANE_ROWS_A_STREAM + 1 + rows[row].place,
				 assay_printf(&w->scratch, "%s - from #%" PRId64,
					      assay_derived_row_name[row], s->line));
	}
	w->bare_streams += !all;
	assay_vec_free(&list);
}

/* ------------------------------------------------------------------ launch statistics */

struct launches {
	int64_t first, last, longest, sum, count;
};

/* Is the row a call for the device, with a correlation id? CUDA's own functions are left out, as
 * xprof does. */
static bool is_launch(const xplane_writer *w, uint32_t h, uint32_t device)
{
	const assay_host_table *t = &w->t->host;
	double given;
	if (assay_host_detail[t->kind[h]] != ASSAY_T_api || !w->t->api.corr[t->detail[h]] ||
	    assay_str_starts(assay_text(w->run, t->name[h]), "cu"))
		return false;
	if (xplane_arg_number(w, t->args[h], "device_id", &given))
		return given == device;
	return w->device_of.p[h] == device;
}

/* Launches of each step. */
static void put_launches(xplane_writer *w, xplane_out *p, uint32_t device)
{
	const assay_tables *t = w->t;
	assay_vec(struct launches) by_step = {0};
	for (size_t i = 0; i < t->step.n; i++)
		*assay_push(&by_step) = (struct launches){INT64_MAX, INT64_MIN, 0, 0, 0};
	for (uint32_t h = 0; h < t->host.n; h++) {
		uint32_t step = xplane_host_step(w, h);
		if (step == ASSAY_NO_ROW || !is_launch(w, h, device))
			continue;
		struct launches *l = &by_step.p[step];
		int64_t ts = xplane_time(w, t->host.track[h], t->host.ts[h]);
		int64_t dur = t->host.dur[h] > 0 ? t->host.dur[h] : 0;
		l->first = ts < l->first ? ts : l->first;
		l->last = ts + dur > l->last ? ts + dur : l->last;
		l->longest = dur > l->longest ? dur : l->longest;
		l->sum += dur;
		l->count++;
	}
	bool any = false;
	for (uint32_t i = 0; i < by_step.n; i++) {
		const struct launches *l = &by_step.p[i];
		if (!l->count)
			continue;
		any = true;
		xplane_put_i64(p, "group_id", i);
		xplane_put_i64(p, "num_launches", l->count);
		xplane_put_f64(p, "max_launch_time_us", (double)l->longest / 1e3);
		xplane_put_f64(p, "avg_launch_time_us", (double)l->sum / (double)l->count / 1e3);
		assay_str name = step_name(w, i);
		xplane_end_event(p,
				 assay_str_of(assay_printf(&w->scratch, "Launch Stats for %.*s",
							   (int)name.n, name.p)),
				 l->first - p->base, l->last - l->first);
	}
	if (any)
		xplane_end_line(p, LAUNCH_LINE, p->base, ASSAY_S("Launch Stats"));
	assay_vec_free(&by_step);
}

void xplane_write_derived(xplane_writer *w, xplane_out *p, const xplane_stream *stream, size_t n,
			  uint32_t device)
{
	row_list list = {0}, steps = {0};
	bool used[DERIVED_LINES] = {false};
	if (!w->derived_first)
		index_tracks(w);
	for (size_t k = 0; k < n; k++) { /* steps are noted on any one of the streams */
		pick(w, &list, stream[k].track, ASSAY_DERIVED_STEPS);
		for (size_t i = 0; i < list.n; i++)
			*assay_push(&steps) = list.p[i];
		put_rows(w, p, &stream[k], k, used);
	}
	put_line(w, p, &steps, STEPS_LINE, 0, XPLANE_STEPS_LINE);
	put_launches(w, p, device);
	assay_vec_free(&list);
	assay_vec_free(&steps);
}

/* ------------------------------------------------------------------ planes of the input */

/* Largest id of the plane's stat metadata; has: one of them is the group's, or the plane is broken
 * and nothing can be added to it. */
static uint64_t last_stat_id(assay_str plane, bool *has)
{
	assay_proto c = assay_proto_on(plane), entry, meta;
	assay_field f, g, h;
	uint64_t most = 0;
	*has = false;
	while (assay_proto_next(&c, &f)) {
		if (f.number != XPLANE_STAT_META || f.wire != ASSAY_WIRE_BYTES)
			continue;
		entry = assay_proto_on(f.bytes);
		while (assay_proto_next(&entry, &g)) {
			if (g.number == XENTRY_KEY && g.wire == ASSAY_WIRE_VARINT && g.value > most)
				most = g.value;
			if (g.number != XENTRY_VALUE || g.wire != ASSAY_WIRE_BYTES)
				continue;
			meta = assay_proto_on(g.bytes);
			while (assay_proto_next(&meta, &h))
				*has |= h.number == XMETA_NAME && assay_str_is(h.bytes, "group_id");
		}
	}
	*has |= c.bad || c.cut;
	return most;
}

void xplane_write_named(const xplane_writer *w, assay_str plane)
{
	assay_proto c = assay_proto_on(plane);
	assay_field f;
	bool has;
	if (!assay_proto_next(&c, &f) || f.wire != ASSAY_WIRE_BYTES)
		return;
	uint64_t id = last_stat_id(f.bytes, &has) + 1;
	assay_protow meta = {0}, map = {0}, all = {0}, out = {0};
	assay_protow_raw(&all, f.bytes);
	if (!has) {
		assay_protow_varint(&meta, XMETA_ID, id);
		assay_protow_text(&meta, XMETA_NAME, ASSAY_S("group_id"));
		assay_protow_varint(&map, XENTRY_KEY, id);
		assay_protow_message(&map, XENTRY_VALUE, &meta);
		assay_protow_message(&all, XPLANE_STAT_META, &map);
	}
	assay_protow_message(&out, f.number, &all);
	assay_str bytes = assay_protow_data(&out);
	fwrite(bytes.p, 1, bytes.n, w->out);
	assay_protow_free(&meta);
	assay_protow_free(&map);
	assay_protow_free(&all);
	assay_protow_free(&out);
}
