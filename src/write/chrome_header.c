/* The members around the events: facts of the header, devices, streams, names of rows. */
#include "write/chrome.h"

#include <inttypes.h>

#include "base/input.h"
#include "base/json.h"
#include "model/streams.h"

/* ------------------------------------------------------------------ header */

static void put_json_or_text(chrome_out *c, assay_str value)
{
	uint32_t odd = 0;
	size_t bad;
	char *text = assay_alloc(&c->scratch, value.n + ASSAY_PAD);
	memcpy(text, value.p, value.n);
	if (value.n && assay_json_check(text, value.n, &odd, &bad) && !odd)
		assay_jsonw_raw(&c->w, NULL, value);
	else
		assay_jsonw_str(&c->w, NULL, value);
	assay_arena_free(&c->scratch);
}

static assay_str before_dot(assay_str key)
{
	ptrdiff_t at = assay_str_find(key, ".");
	return (assay_str){key.p, at > 0 ? (size_t)at : 0};
}

static bool skips_key(const chrome_out *c, assay_str key)
{
	return assay_str_is(key, "streams") && c->t->stream.n;
}

/* Facts of one input as they were read; those that were flattened (a.b) become objects again. */
static void put_meta(chrome_out *c, uint32_t source)
{
	const assay_meta_table *m = &c->t->meta;
	assay_str open = {0};
	for (uint32_t i = 0; i < m->n; i++) {
		assay_str key = assay_text(c->run, m->key[i]), group = before_dot(key);
		if (m->source[i] != source || skips_key(c, key))
			continue;
		if (open.n && !assay_str_eq(open, group)) {
			assay_jsonw_close(&c->w, '}');
			open = (assay_str){0};
		}
		if (group.n && !open.n) {
			assay_jsonw_key(&c->w, group);
			assay_jsonw_open_flat(&c->w, NULL, '{');
			open = group;
		}
		size_t skip = group.n ? group.n + 1 : 0;
		assay_jsonw_key(&c->w, (assay_str){key.p + skip, key.n - skip});
		put_json_or_text(c, assay_text(c->run, m->value[i]));
	}
	if (open.n)
		assay_jsonw_close(&c->w, '}');
}

static bool has_meta(const chrome_out *c, uint32_t source, const char *key)
{
	const assay_meta_table *m = &c->t->meta;
	for (uint32_t i = 0; i < m->n; i++)
		if (m->source[i] == source && assay_str_starts(assay_text(c->run, m->key[i]), key))
			return true;
	return false;
}

static void put_devices(chrome_out *c)
{
	const assay_device_table *d = &c->t->device;
	assay_jsonw_open(&c->w, "deviceProperties", '[');
	for (uint32_t i = 0; i < d->n; i++) {
		assay_str arch = assay_text(c->run, d->arch[i]);
		uint64_t sm;
		assay_jsonw_open_flat(&c->w, NULL, '{');
		assay_jsonw_i64(&c->w, "id", d->id[i]);
		assay_jsonw_str(&c->w, "name", assay_text(c->run, d->name[i]));
		if (!d->name[i] && assay_device_vendor(c->run, i)) /* names tell it */
			assay_jsonw_str(&c->w, "vendor", assay_text(c->run, d->vendor[i]));
		if (d->memory[i] >= 0)
			assay_jsonw_i64(&c->w, "totalGlobalMem", d->memory[i]);
		if (assay_str_starts(arch, "sm_") &&
		    assay_str_u64((assay_str){arch.p + 3, arch.n - 3}, &sm)) {
			assay_jsonw_u64(&c->w, "computeMajor", sm / 10);
			assay_jsonw_u64(&c->w, "computeMinor", sm % 10);
		} else if (arch.n) {
			assay_jsonw_str(&c->w, "arch", arch);
		}
		if (d->warp[i] >= 0)
			assay_jsonw_i64(&c->w, "warpSize", d->warp[i]);
		if (d->units[i] >= 0)
			assay_jsonw_i64(&c->w, "numSms", d->units[i]);
		assay_jsonw_close(&c->w, '}');
	}
	assay_jsonw_close(&c->w, ']');
}

/* As all times of the file, from its base; 0 stays what is not known. */
static int64_t from_base(const chrome_out *c, uint32_t source, int64_t ts)
{
	return ts ? chrome_shifted(c, source, ts) : 0;
}

static void put_streams(chrome_out *c)
{
	const assay_stream_table *s = &c->t->stream;
	assay_jsonw_open(&c->w, "streams", '[');
	for (uint32_t i = 0; i < s->n; i++) {
		assay_jsonw_open_flat(&c->w, NULL, '{');
		assay_stream_put(&c->w, c->run, i, from_base(c, s->source[i], s->created[i]),
				 from_base(c, s->source[i], s->destroyed[i]));
		assay_jsonw_close(&c->w, '}');
	}
	assay_jsonw_close(&c->w, ']');
}

static bool is_note(const chrome_out *c, uint32_t source)
{
	return assay_has_trait(c->run, source, ASSAY_TRAIT_NOTE);
}

static bool has_header(const chrome_out *c, uint32_t source)
{
	const assay_meta_table *m = &c->t->meta;
	for (uint32_t i = 0; i < m->n; i++)
		if (m->source[i] == source)
			return true;
	return false;
}

static void put_rank(chrome_out *c, uint32_t source)
{
	const assay_source_table *s = &c->t->source;
	if (source >= s->n || s->rank[source] < 0 || has_meta(c, source, "distributedInfo"))
		return;
	assay_jsonw_open_flat(&c->w, "distributedInfo", '{');
	assay_jsonw_i64(&c->w, "rank", s->rank[source]);
	if (s->world[source] >= 0)
		assay_jsonw_i64(&c->w, "world_size", s->world[source]);
	assay_jsonw_close(&c->w, '}');
}

/* Is read back as a trace of its own: its process ids say which rows are its. */
static bool is_further_trace(const chrome_out *c, uint32_t source)
{
	return c->at.raised[source] && assay_group_of(c->t, source) == source &&
	       !assay_has_trait(c->run, source, ASSAY_TRAIT_TELEMETRY);
}

/* What the other inputs say of themselves: notes of the run (env.json, run.json) beside the facts
 * of the first trace, whose keys they do not share; headers of further inputs apart. */
static void put_other_headers(chrome_out *c)
{
	const assay_source_table *s = &c->t->source;
	bool any = false;
	for (uint32_t i = 0; i < s->n; i++)
		if (i != c->at.first && is_note(c, i))
			put_meta(c, i);
	for (uint32_t i = 0; i < s->n; i++) {
		bool trace = is_further_trace(c, i);
		if (i == c->at.first || is_note(c, i) || (!has_header(c, i) && !trace))
			continue;
		if (!any)
			assay_jsonw_open(&c->w, "inputs", '[');
		any = true;
		assay_jsonw_open(&c->w, NULL, '{');
		assay_jsonw_str(&c->w, "path", assay_text(c->run, s->path[i]));
		if (trace) {
			assay_jsonw_i64(&c->w, "first_pid", c->at.raised[i]);
			put_rank(c, i);
		}
		put_meta(c, i);
		assay_jsonw_close(&c->w, '}');
	}
	if (any)
		assay_jsonw_close(&c->w, ']');
}

void chrome_put_header(chrome_out *c)
{
	uint32_t first = c->at.first;
	if (!has_meta(c, first, "schemaVersion"))
		assay_jsonw_u64(&c->w, "schemaVersion", 1);
	if (c->t->device.n && !has_meta(c, first, "deviceProperties"))
		put_devices(c);
	put_meta(c, first);
	put_other_headers(c);
	if (c->t->stream.n)
		put_streams(c);
	if (c->base && !has_meta(c, first, "baseTimeNanoseconds"))
		assay_jsonw_i64(&c->w, "baseTimeNanoseconds", c->base);
	put_rank(c, first);
}

/* ------------------------------------------------------------------ names of rows */

static void put_name(chrome_out *c, const char *what, uint32_t source, int64_t pid, int64_t tid,
		     const char *key, assay_str text, int64_t number)
{
	chrome_begin(c, 'M', (assay_str){0}, assay_str_of(what));
	chrome_place(c, source, pid, tid);
	assay_jsonw_open(&c->w, "args", '{');
	if (text.p)
		assay_jsonw_str(&c->w, key, text);
	else
		assay_jsonw_i64(&c->w, key, number);
	assay_jsonw_close(&c->w, '}');
	chrome_end(c);
}

static uint64_t row_key(uint32_t source, int64_t pid, int64_t tid)
{
	struct {
		int64_t pid, tid;
		uint64_t source;
	} k = {pid, tid, source};
	return assay_hash(&k, sizeof k, 0);
}

static bool first_time(assay_map *seen, uint64_t key)
{
	uint32_t *slot = assay_map_at(seen, key);
	bool first = *slot == ASSAY_MAP_ABSENT;
	*slot = 1;
	return first;
}

static void name_threads(chrome_out *c, assay_map *seen)
{
	const assay_track_table *t = &c->t->track;
	for (uint32_t i = 0; i < t->n; i++) {
		if (t->kind[i] == ASSAY_TRACK_STREAM)
			continue;
		assay_str process = assay_text(c->run, t->process[i]);
		int64_t tid = c->tid[i] >= 0 ? c->tid[i] : 0;
		if (t->pid[i] >= 0 && process.n &&
		    first_time(seen, row_key(t->source[i], t->pid[i], -1)))
			put_name(c, "process_name", t->source[i], t->pid[i], tid, "name", process,
				 0);
		assay_str name = assay_text(c->run, t->name[i]);
		if (c->tid[i] >= 0 && name.n) {
			first_time(seen, row_key(t->source[i], t->pid[i], c->tid[i]));
			chrome_begin(c, 'M', (assay_str){0}, ASSAY_S("thread_name"));
			chrome_ids(c, i);
			assay_jsonw_open(&c->w, "args", '{');
			assay_jsonw_str(&c->w, "name", name);
			assay_jsonw_close(&c->w, '}');
			chrome_end(c);
		}
	}
}

static void name_stream(chrome_out *c, uint32_t i, assay_map *seen)
{
	const assay_track_table *t = &c->t->track;
	char label[64];
	int64_t device = t->pid[i], stream = t->tid[i];
	uint32_t source = t->source[i];
	if (first_time(seen, row_key(source, device, -2))) {
		int64_t order; /* devices come behind processes */
		if (__builtin_add_overflow(5000000, device, &order))
			order = INT64_MAX;
		snprintf(label, sizeof label, "GPU %" PRId64, device);
		put_name(c, "process_labels", source, device, stream, "labels", assay_str_of(label),
			 0);
		put_name(c, "process_sort_index", source, device, stream, "sort_index",
			 (assay_str){0}, order);
	}
	snprintf(label, sizeof label, "stream %" PRId64, stream);
	if (first_time(seen, row_key(source, device, stream)))
		put_name(c, "thread_name", source, device, stream, "name", assay_str_of(label), 0);
	put_name(c, "thread_sort_index", source, device, stream, "sort_index", (assay_str){0},
		 stream);
}

void chrome_put_metadata(chrome_out *c)
{
	const assay_track_table *t = &c->t->track;
	assay_map seen = {0};
	name_threads(c, &seen);
	for (uint32_t i = 0; i < t->n; i++)
		if (t->kind[i] == ASSAY_TRACK_STREAM && t->pid[i] >= 0 && t->tid[i] >= 0 &&
		    t->tid[i] != UINT32_MAX)
			name_stream(c, i, &seen);
	assay_map_free(&seen);
}
