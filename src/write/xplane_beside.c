/* Waits, annotations and telemetry of a device. They are no work: on a device's own plane a viewer
 * would add their time to the work's, so they stand on planes of their own beside it. */
#include "base/compare.h"
#include "write/xplane.h"

#include <inttypes.h>
#include <stdlib.h>

#include "write/wait_rows.h"

/* A row of sync, wait, mark or counter. */
struct beside {
	int64_t device; /* number of the plane; below 0, of waits for no device of the trace: -1 of
			   the first input, -2 of the next */
	int64_t line;   /* stream, or part of a device */
	int64_t ts, dur;
	uint32_t row, table, track;
};
enum { SYNC, WAIT, MARK, COUNTER };

static const char *const line_names[] = {
	[SYNC] = "Stream #%" PRId64 " waits",
	[WAIT] = "Stream #%" PRId64 " waits",
	[MARK] = "Stream #%" PRId64 " annotations",
	[COUNTER] = XPLANE_COUNTER_LINE,
};

typedef assay_vec(struct beside) beside_list;

/* Both kinds of wait share a line: read back, they are one. */
static uint32_t line_kind(const struct beside *b)
{
	return b->table == WAIT ? SYNC : b->table;
}

static int by_place(const void *a, const void *b)
{
	const struct beside *x = a, *y = b;
	return assay_then(
		ASSAY_CMP(x->device, y->device),
		assay_then(
			ASSAY_CMP(line_kind(x), line_kind(y)),
			assay_then(ASSAY_CMP(x->line, y->line),
				   assay_then(ASSAY_CMP(x->ts, y->ts),
					      assay_then(ASSAY_CMP(y->dur, x->dur),
							 assay_then(ASSAY_CMP(x->table, y->table),
								    ASSAY_CMP(x->row, y->row)))))));
}

static int64_t device_number(const xplane_writer *w, uint32_t source, int64_t device)
{
	uint32_t k = xplane_device_at(w, source, device);
	return k == ASSAY_MAP_ABSENT ? -1 - (int64_t)xplane_input_of(w, source)
				     : w->devices.p[k].number;
}

static void add(xplane_writer *w, beside_list *all, int table, uint32_t row, uint32_t track,
		int64_t ts, int64_t dur)
{
	*assay_push(all) =
		(struct beside){device_number(w, xplane_source(w, track), w->t->track.pid[track]),
				w->line_of.p[track],
				xplane_time(w, track, ts),
				dur > 0 ? dur : 0,
				row,
				(uint32_t)table,
				track};
}

static void add_sample(xplane_writer *w, beside_list *all, uint32_t row)
{
	const assay_counter_table *t = &w->t->counter;
	uint32_t track = t->track[row];
	int64_t part = w->t->track.tid[track]; /* of a device that is several */
	*assay_push(all) = (struct beside){
		w->devices.p[w->counted.p[track]].number,
		part > 0 ? part : 0,
		xplane_time(w, track, t->ts[row]),
		0,
		row,
		COUNTER,
		track,
	};
}

/* Recordings that have the calls but no sync rows. */
static void add_waits(xplane_writer *w, beside_list *all)
{
	const assay_wait_table *t = &w->t->wait;
	assay_wait_rows found = {0};
	assay_wait_rows_find(w->run, &found);
	for (size_t i = 0; i < found.n; i++) {
		const assay_wait_row *r = &found.p[i];
		uint32_t thread = t->thread[r->wait];
		uint32_t source = xplane_source(w, thread);
		*assay_push(all) = (struct beside){
			device_number(w, source, r->device),
			xplane_line_of(w, source, r->device, r->stream),
			xplane_time(w, thread, t->ts[r->wait]),
			t->dur[r->wait] > 0 ? t->dur[r->wait] : 0,
			r->wait,
			WAIT,
			thread,
		};
	}
	assay_vec_free(&found);
}

static void collect(xplane_writer *w, beside_list *all)
{
	const assay_tables *t = w->t;
	for (uint32_t i = 0; i < t->sync.n; i++)
		add(w, all, SYNC, i, t->sync.track[i], t->sync.ts[i], t->sync.dur[i]);
	add_waits(w, all);
	/* marks of XPlane inputs are on their streams, or derived again */
	for (uint32_t i = 0; i < t->mark.n; i++)
		if (!w->is_xplane.p[xplane_source(w, t->mark.track[i])] || xplane_is_beside(w, i))
			add(w, all, MARK, i, t->mark.track[i], t->mark.ts[i], t->mark.dur[i]);
	for (uint32_t i = 0; i < t->counter.n; i++)
		if (!xplane_is_on_device(w, i) && xplane_is_written(w, i))
			add_sample(w, all, i);
	if (all->n)
		qsort(all->p, all->n, sizeof *all->p, by_place);
}

/* How well the producer is known, of waits for an event: whoever reads the file has fewer calls and
 * handles to tell it from. */
static void put_class(xplane_out *p, uint8_t kind, uint8_t class)
{
	if (class < ASSAY_WAIT_CLASS_COUNT &&
	    (kind == ASSAY_WAIT_STREAM_WAIT || kind == ASSAY_WAIT_EVENT_SYNC))
		xplane_put_ref(p, "resolve_class", assay_str_of(assay_wait_class_name[class]));
}

/* The wait that a sync row was resolved to; ASSAY_MAP_ABSENT when it has no call. */
static uint32_t wait_of(const xplane_writer *w, uint32_t track, uint64_t corr)
{
	return corr ? assay_map_get(&w->wait_at, assay_corr_key(w->t->track.source[track], corr))
		    : ASSAY_MAP_ABSENT;
}

/* What a wait is for, as far as the row says it and the resolver found it. */
static void put_producer(xplane_writer *w, xplane_out *p, const struct beside *b, uint32_t wait)
{
	const assay_sync_table *t = &w->t->sync;
	const assay_wait_table *found = &w->t->wait;
	int64_t stream = t->wait_stream[b->row], record = t->record_corr[b->row];
	bool known = wait != ASSAY_MAP_ABSENT && t->event[b->row] >= 0 &&
		     found->class[wait] <= ASSAY_WAIT_IS_AMBIGUOUS;
	if (known && stream == -1)
		stream = assay_wait_stream(w->t, found->producer[wait]);
	if (known && record == -1 && found->record_corr[wait])
		record = (int64_t)found->record_corr[wait];
	if (stream != -1)
		xplane_put_i64(p, "wait_stream",
			       xplane_line_of(w, xplane_source(w, b->track),
					      w->t->track.pid[b->track], stream));
	if (t->event[b->row] != -1)
		xplane_put_i64(p, "wait_event", t->event[b->row]);
	if (record != -1)
		xplane_put_u64(p, "record_correlation_id",
			       xplane_corr(w, b->track, (uint64_t)record));
}

static void put_sync(xplane_writer *w, xplane_out *p, const struct beside *b)
{
	const assay_sync_table *t = &w->t->sync;
	uint32_t i = b->row, wait = wait_of(w, b->track, t->corr[i]);
	char context[32];
	if (t->corr[i])
		xplane_put_u64(p, "correlation_id", xplane_corr(w, b->track, t->corr[i]));
	if (i < w->t->sync_scope.n)
		xplane_put_scope(w, p, w->t->sync_scope.scope[i], w->t->sync_scope.how[i]);
	xplane_put_ref(p, "cat", ASSAY_S(XPLANE_CAT_SYNC));
	xplane_put_i64(p, "stream", b->line);
	put_producer(w, p, b, wait);
	if (t->sync_id[i])
		xplane_put_u64(p, "sync_id", t->sync_id[i]);
	if (t->status[i] != -0x7fffffff)
		xplane_put_i64(p, "status", t->status[i]);
	if (t->context[i] != UINT32_MAX) {
		int n = snprintf(context, sizeof context, "$$%u", t->context[i]);
		xplane_put_str(p, "context_id", (assay_str){context, (size_t)n});
	}
	if (wait != ASSAY_MAP_ABSENT)
		put_class(p, w->t->wait.kind[wait], w->t->wait.class[wait]);
	else
		put_class(p, ASSAY_WAIT_STREAM_WAIT, t->class[i]);
	if (t->found[i])
		xplane_put_i64(p, "assay_found", 1);
	xplane_put_args(p, w->run, t->args[i]);
	p->event_rest = xplane_rest(w, ASSAY_KEPT_SYNC, i);
}

static void put_wait(xplane_writer *w, xplane_out *p, const struct beside *b)
{
	const assay_wait_table *t = &w->t->wait;
	uint32_t i = b->row, host = t->host[i];
	int64_t producer = assay_wait_stream(w->t, t->producer[i]);
	if (t->corr[i])
		xplane_put_u64(p, "correlation_id", xplane_corr(w, b->track, t->corr[i]));
	if (host < w->t->host_scope.n)
		xplane_put_scope(w, p, w->t->host_scope.scope[host], w->t->host_scope.how[host]);
	xplane_put_ref(p, "cat", ASSAY_S(XPLANE_CAT_SYNC));
	xplane_put_i64(p, "stream", b->line);
	if (producer >= 0)
		xplane_put_i64(p, "wait_stream", w->line_of.p[t->producer[i]]);
	if (t->event[i] != ASSAY_NO_HANDLE && t->event[i] <= INT64_MAX)
		xplane_put_i64(p, "wait_event", (int64_t)t->event[i]);
	if (t->record_corr[i])
		xplane_put_u64(p, "record_correlation_id",
			       xplane_corr(w, b->track, t->record_corr[i]));
	put_class(p, t->kind[i], t->class[i]);
	xplane_put_i64(p, "assay_found", 1);
}

static void put_mark(xplane_writer *w, xplane_out *p, const struct beside *b)
{
	const assay_mark_table *t = &w->t->mark;
	xplane_put_ref(p, "cat", ASSAY_S(XPLANE_CAT_MARK));
	xplane_put_i64(p, "stream", b->line);
	if (t->external[b->row])
		xplane_put_i64(p, "External id", t->external[b->row]);
	xplane_put_args(p, w->run, t->args[b->row]);
	p->event_rest = xplane_rest(w, ASSAY_KEPT_MARK, b->row);
}

static void put_counter(xplane_writer *w, xplane_out *p, const struct beside *b)
{
	xplane_put_sample(w, p, b->row);
}

static void (*const put[])(xplane_writer *, xplane_out *, const struct beside *) = {
	[SYNC] = put_sync,
	[WAIT] = put_wait,
	[MARK] = put_mark,
	[COUNTER] = put_counter,
};

static assay_str name_of(const xplane_writer *w, const struct beside *b)
{
	if (b->table == COUNTER)
		return assay_str_of(xplane_sample_name(w, b->row));
	if (b->table == WAIT)
		return assay_str_of(assay_wait_row_name(w->t->wait.kind[b->row]));
	assay_sid name = b->table == SYNC ? w->t->sync.name[b->row] : w->t->mark.name[b->row];
	return name ? assay_text(w->run, name) : ASSAY_S("(no name)");
}

/* Spans of a line nest or lie apart; those that do neither are left for the next line. */
static void put_line(xplane_writer *w, xplane_out *p, const beside_list *in, beside_list *rest,
		     int64_t id, const char *name)
{
	assay_vec(int64_t) open = {0};
	rest->n = 0;
	for (size_t i = 0; i < in->n; i++) {
		const struct beside *b = &in->p[i];
		int64_t end = b->ts + b->dur;
		while (open.n && open.p[open.n - 1] <= b->ts)
			open.n--;
		if (open.n && end > open.p[open.n - 1]) {
			*assay_push(rest) = *b;
			continue;
		}
		*assay_push(&open) = end;
		put[b->table](w, p, b);
		xplane_end_event(p, name_of(w, b), b->ts, b->dur);
	}
	xplane_end_line(p, id, 0, assay_str_of(name));
	assay_vec_free(&open);
}

static void put_lines(xplane_writer *w, xplane_out *p, const struct beside *row, size_t n,
		      int64_t *id)
{
	beside_list now = {0}, rest = {0};
	for (size_t i = 0; i < n; i++)
		*assay_push(&now) = row[i];
	for (int more = 0; now.n; more++) {
		const char *name = assay_printf(&w->scratch, line_names[row->table], row->line);
		if (more)
			name = assay_printf(&w->scratch, "%s, overlap%d", name, more);
		/* the id that such lines have everywhere */
		put_line(w, p, &now, &rest, row->table == COUNTER ? INT64_MAX - row->line : ++*id,
			 name);
		beside_list swap = now;
		now = rest;
		rest = swap;
	}
	assay_vec_free(&now);
	assay_vec_free(&rest);
}

static xplane_device device_of_plane(const xplane_writer *w, int64_t number)
{
	size_t i = 0;
	while (i < w->devices.n && w->devices.p[i].number != number)
		i++;
	return i < w->devices.n ? w->devices.p[i] : (xplane_device){ASSAY_NO_ROW, -1, -1};
}

static void put_plane(xplane_writer *w, const struct beside *row, size_t n)
{
	xplane_device of = device_of_plane(w, row->device);
	const char *name =
		row->device == -1 ? XPLANE_BESIDE "host"
		: row->device < 0
			? assay_printf(&w->scratch, XPLANE_BESIDE "host %" PRId64, -row->device)
			: assay_printf(&w->scratch, XPLANE_BESIDE "%" PRId64, row->device);
	xplane_out p = {.w = w,
			.place = assay_pool_find(&w->run->part.strings, assay_str_of(name))};
	int64_t id = 0;
	for (size_t i = 0, many; i < n; i += many) {
		for (many = 1; i + many < n && line_kind(&row[i + many]) == line_kind(&row[i]) &&
			       row[i + many].line == row[i].line;)
			many++;
		put_lines(w, &p, row + i, many, &id);
	}
	xplane_name_group(w, &p);
	xplane_put_input(w, &p,
			 row->device < 0 ? (uint32_t)(-1 - row->device)
					 : xplane_input_of(w, of.source),
			 of.id, of.number);
	int64_t number = row->device < 0 ? XPLANE_BESIDE_LAST + row->device : row->device;
	xplane_end_plane(&p, w->out, number < 0 ? 0 : number, assay_str_of(name),
			 xplane_kept(w, ASSAY_NO_ROW, name));
}

void xplane_write_beside(xplane_writer *w)
{
	beside_list all = {0};
	collect(w, &all);
	for (size_t i = 0, many; i < all.n; i += many) {
		for (many = 1; i + many < all.n && all.p[i + many].device == all.p[i].device;)
			many++;
		put_plane(w, all.p + i, many);
	}
	assay_vec_free(&all);
}
