/* Several inputs in one file: which of them each device and thread is of, and what each says of
 * itself, so that they are read back as what they were. The first one's rows need no such word. */
#include <inttypes.h>

#include "base/sort.h"
#include "model/streams.h"
#include "write/xplane.h"

/* ------------------------------------------------------------------ numbers of inputs */

static bool is_trace(const xplane_writer *w, uint32_t source)
{
	return source < w->t->source.n && !assay_has_trait(w->run, source, ASSAY_TRAIT_TELEMETRY) &&
	       !assay_has_trait(w->run, source, ASSAY_TRAIT_NOTE);
}

/* In the order in which a reader of the file meets them. */
static void number_input(xplane_writer *w, uint32_t source)
{
	if (!is_trace(w, source) || w->input.p[source] ||
	    source == assay_group_of(w->t, w->at.first))
		return;
	w->input.p[source] = ++w->inputs;
}

uint32_t xplane_input_of(const xplane_writer *w, uint32_t source)
{
	return source < w->t->source.n ? w->input.p[assay_group_of(w->t, source)] : 0;
}

/* ------------------------------------------------------------------ threads */

static bool is_own_number(int64_t tid)
{
	return tid != -1 && !xplane_line_is_derived(tid, ASSAY_S("")); /* -1: only a name */
}

enum { RESERVED = 1, TAKEN };

static void take_number(xplane_writer *w, assay_map *taken, int64_t *next, uint32_t track)
{
	int64_t tid = w->t->track.tid[track], *number = &w->thread.p[track];
	*number = tid;
	if (!is_own_number(tid) || assay_map_get(taken, (uint32_t)tid) == TAKEN)
		do
			*number = (*next)++;
		while (!is_own_number(*number) ||
		       assay_map_get(taken, (uint32_t)*number) != ASSAY_MAP_ABSENT);
	*assay_map_at(taken, (uint32_t)*number) = TAKEN;
}

/* Threads with a number have the first right to it: viewers compare the lower half. The others
 * count from 2^32, where no thread's is. */
static void reserve_numbers(const xplane_writer *w, const uint8_t *has, assay_map *taken)
{
	const assay_track_table *t = &w->t->track;
	for (size_t i = 0; i < t->n; i++)
		if (has[i] && t->tid[i] >= 0 && t->tid[i] <= UINT32_MAX)
			*assay_map_at(taken, (uint32_t)t->tid[i]) = RESERVED;
}

/* The process that the host's plane names: that of an XPlane file's plane, else the first. */
static int64_t process_of_plane(const xplane_writer *w)
{
	const assay_meta_table *m = &w->t->meta;
	const assay_track_table *t = &w->t->track;
	bool given = false;
	int64_t pid;
	for (size_t i = 0; i < m->n; i++) {
		assay_str key = assay_text(w->run, m->key[i]);
		if (xplane_input_of(w, m->source[i]) || !assay_str_starts(key, XPLANE_HOST "."))
			continue;
		given = true;
		if (assay_str_is(key, XPLANE_HOST ".process_id") &&
		    assay_str_i64(assay_text(w->run, m->value[i]), &pid) && pid >= 0)
			return pid;
	}
	for (size_t i = 0; !given && i < t->n; i++)
		if (t->kind[i] == ASSAY_TRACK_THREAD && t->pid[i] >= 0)
			return t->pid[i];
	return -1;
}

static void add_thread(xplane_writer *w, uint32_t track)
{
	const assay_track_table *t = &w->t->track;
	uint32_t input = xplane_input_of(w, w->t->track.source[track]);
	if (input || t->pid[track] != w->process || t->tid[track] != w->thread.p[track])
		*assay_push(&w->told) = (xplane_told_thread){w->thread.p[track], input,
							     t->pid[track], t->tid[track]};
}

void xplane_set_inputs(xplane_writer *w)
{
	const assay_tables *t = w->t;
	const struct {
		size_t n;
		const uint32_t *track;
	} tables[] = {{t->host.n, t->host.track},
		      {t->alloc.n, t->alloc.track},
		      {t->sample.n, t->sample.track}};
	assay_map taken = {0};
	int64_t next = 1ll << 32;
	for (size_t i = 0; i <= t->source.n; i++)
		*assay_push(&w->input) = 0;
	for (size_t i = 0; i < w->devices.n; i++)
		number_input(w, w->devices.p[i].source);
	for (size_t i = 0; i < t->track.n; i++)
		*assay_push(&w->thread) = XPLANE_NO_THREAD;
	uint8_t *has = assay_alloc(&w->scratch, t->track.n + 1); /* first of the tables, from 1 */
	for (size_t k = ASSAY_COUNT_OF(tables); k-- > 0;)
		for (size_t i = 0; i < tables[k].n; i++)
			if (tables[k].track[i] != ASSAY_NO_ROW)
				has[tables[k].track[i]] = (uint8_t)(k + 1);
	reserve_numbers(w, has, &taken);
	for (size_t k = 0; k < ASSAY_COUNT_OF(tables); k++)
		for (uint32_t i = 0; i < t->track.n; i++)
			if (has[i] == k + 1) {
				number_input(w, xplane_source(w, i));
				take_number(w, &taken, &next, i);
			}
	w->process = process_of_plane(w);
	for (uint32_t i = 0; i < t->track.n; i++)
		if (w->thread.p[i] != XPLANE_NO_THREAD)
			add_thread(w, i);
	assay_map_free(&taken);
}

void xplane_put_thread(const xplane_writer *w, xplane_out *p, uint32_t track)
{
	if (track == ASSAY_NO_ROW)
		return;
	if (w->process != -1)
		xplane_put_i64(p, "process", w->process);
	xplane_put_i64(p, "thread", w->thread.p[track]);
}

void xplane_put_threads(xplane_writer *w, xplane_out *p)
{
	assay_jsonw list = {.compact = true};
	assay_jsonw_open(&list, NULL, '[');
	for (size_t i = 0; i < w->told.n; i++) {
		const xplane_told_thread *t = &w->told.p[i];
		assay_jsonw_open(&list, NULL, '[');
		assay_jsonw_i64(&list, NULL, t->line);
		assay_jsonw_i64(&list, NULL, t->input);
		assay_jsonw_i64(&list, NULL, t->pid);
		assay_jsonw_i64(&list, NULL, t->tid);
		assay_jsonw_close(&list, ']');
	}
	assay_jsonw_close(&list, ']');
	if (w->told.n)
		xplane_plane_stat(p, ASSAY_S(XPLANE_THREADS), assay_jsonw_text(&list));
	assay_jsonw_free(&list);
}

void xplane_put_input(xplane_writer *w, xplane_out *p, uint32_t input, int64_t id, int64_t number)
{
	if (input)
		xplane_plane_stat(p, ASSAY_S(XPLANE_INPUT),
				  assay_str_of(assay_printf(&w->scratch, "%" PRIu32, input)));
	if (id != number)
		xplane_plane_stat(p, ASSAY_S(XPLANE_DEVICE_ID),
				  assay_str_of(assay_printf(&w->scratch, "%" PRId64, id)));
}

/* ------------------------------------------------------------------ facts */

/* Stats of planes, and names of hosts, stand where they stood. */
static bool is_of_plane(const xplane_writer *w, size_t meta)
{
	const assay_meta_table *m = &w->t->meta;
	assay_str key = assay_text(w->run, m->key[meta]);
	bool host = assay_str_starts(key, XPLANE_HOST "."); /* there is one plane, the first's */
	return assay_has_trait(w->run, m->source[meta], ASSAY_TRAIT_PLANES) &&
	       (assay_str_is(key, "hostname") ||
		(assay_str_starts(key, "/") && !(host && xplane_input_of(w, m->source[meta]))));
}

/* What is known of an input and no fact of its header. */
static uint64_t put_numbers(xplane_writer *w, xplane_out *p, uint32_t source)
{
	const assay_source_table *s = &w->t->source;
	if (source >= s->n)
		return 0;
	const int64_t known[] = {[XPLANE_RANK] = s->rank[source],
				 [XPLANE_WORLD] = s->world[source],
				 [XPLANE_ZEROS] = s->zeros[source] ? s->zeros[source] : -1};
	uint64_t put = 0;
	for (size_t i = 0; i < XPLANE_NUMBERS; i++)
		if (known[i] >= 0) {
			const char *text = assay_printf(&w->scratch, "%" PRId64, known[i]);
			xplane_plane_stat(p, assay_str_of(xplane_number_name[i]),
					  assay_str_of(text));
			put++;
		}
	return put;
}

/* Rows of device by number: a reader meets those with a plane first. */
static const uint32_t *devices_by_id(xplane_writer *w)
{
	const assay_device_table *d = &w->t->device;
	uint32_t *row = assay_alloc(&w->scratch, (d->n + 1) * sizeof *row);
	int64_t *id = assay_alloc(&w->scratch, (d->n + 1) * sizeof *id);
	for (uint32_t i = 0; i < d->n; i++) {
		row[i] = i;
		id[i] = d->id[i];
	}
	assay_sort_rows(row, d->n, id);
	return row;
}

static uint64_t put_devices(xplane_writer *w, xplane_out *p, uint32_t input, const uint32_t *by_id)
{
	const assay_device_table *d = &w->t->device;
	assay_jsonw list = {.compact = true};
	uint64_t put = 0;
	assay_jsonw_open(&list, NULL, '[');
	for (size_t k = 0; k < d->n; k++) {
		uint32_t i = by_id[k];
		if (xplane_input_of(w, d->source[i]) != input)
			continue;
		const assay_sid text[] = {d->name[i], d->vendor[i], d->arch[i]};
		const int64_t number[] = {d->id[i], d->memory[i], d->units[i], d->warp[i]};
		assay_jsonw_open(&list, NULL, '[');
		for (size_t v = 0; v < ASSAY_COUNT_OF(number); v++)
			assay_jsonw_i64(&list, NULL, number[v]);
		for (size_t v = 0; v < ASSAY_COUNT_OF(text); v++)
			assay_jsonw_str(&list, NULL, assay_text(w->run, text[v]));
		assay_jsonw_close(&list, ']');
		put++;
	}
	assay_jsonw_close(&list, ']');
	if (put)
		xplane_plane_stat(p, ASSAY_S(XPLANE_DEVICES), assay_jsonw_text(&list));
	assay_jsonw_free(&list);
	return put;
}

static uint64_t put_streams(xplane_writer *w, xplane_out *p, uint32_t input)
{
	const assay_stream_table *s = &w->t->stream;
	assay_jsonw list = {.compact = true};
	uint64_t put = 0;
	assay_jsonw_open(&list, NULL, '[');
	for (uint32_t i = 0; i < s->n; i++) {
		if (xplane_input_of(w, s->source[i]) != input)
			continue;
		int64_t shift = w->shift.p[s->source[i]];
		assay_jsonw_open(&list, NULL, '{');
		assay_stream_put(&list, w->run, i, s->created[i] ? s->created[i] + shift : 0,
				 s->destroyed[i] ? s->destroyed[i] + shift : 0);
		assay_jsonw_close(&list, '}');
		put++;
	}
	assay_jsonw_close(&list, ']');
	if (put)
		xplane_plane_stat(p, ASSAY_S(XPLANE_STREAMS), assay_jsonw_text(&list));
	assay_jsonw_free(&list);
	return put;
}

static uint32_t source_of_input(const xplane_writer *w, uint32_t input)
{
	uint32_t source = 0;
	while (input && source < w->t->source.n && w->input.p[source] != input)
		source++;
	return input ? source : w->at.first;
}

/* What an input, and what goes with it, says of itself; of several that say the same thing, the
 * first. What times are counted from in another file is not true here. Returns what is left out. */
static uint64_t write_facts(xplane_writer *w, uint32_t input, const uint32_t *by_id)
{
	const assay_meta_table *m = &w->t->meta;
	xplane_out p = {0};
	assay_map seen = {0};
	uint64_t gone = 0, put = put_numbers(w, &p, source_of_input(w, input));
	put += put_devices(w, &p, input, by_id) + put_streams(w, &p, input);
	for (size_t i = 0; i < m->n; i++) {
		assay_str key = assay_text(w->run, m->key[i]);
		if (xplane_input_of(w, m->source[i]) != input || is_of_plane(w, i))
			continue;
		uint32_t *slot = assay_map_at(&seen, m->key[i]);
		bool put_it =
			*slot == ASSAY_MAP_ABSENT && !assay_str_is(key, "baseTimeNanoseconds");
		if (put_it)
			xplane_plane_text(&p, key, assay_text(w->run, m->value[i]));
		put += put_it;
		gone += !put_it;
		*slot = 1;
	}
	const char *name =
		input ? assay_printf(&w->scratch, XPLANE_FACTS " %" PRIu32, input) : XPLANE_FACTS;
	if (put) {
		xplane_put_input(w, &p, input, 0, 0);
		xplane_end_plane(&p, w->out, 0, assay_str_of(name), (assay_str){0});
	}
	assay_map_free(&seen);
	return gone;
}

void xplane_write_facts(xplane_writer *w, assay_left_out *left)
{
	const uint32_t *by_id = devices_by_id(w);
	uint64_t gone = 0;
	for (uint32_t i = 0; i <= w->inputs; i++)
		gone += write_facts(w, i, by_id);
	assay_leave_out(left, gone, "facts of headers");
}
