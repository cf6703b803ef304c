/* Chrome trace event JSON, above all as Kineto (torch.profiler) writes it.
 * docs/formats/chrome.md */
#include "read/chrome.h"

#include <stdlib.h>

#include "read/reader.h"
#include "read/rocprof.h"
#include "model/streams.h"

enum { WINDOW = 1 << 20 }; /* bytes */
enum { MEMBER = 1 << 20, LOST_MAX = 16, SEP_SEARCH = 1 << 20, DOCUMENTS_MAX = 1000 };

static int chrome_sniff(assay_str head)
{
	assay_str s = assay_str_trim(head);
	if (s.n < 2 || (s.p[0] != '{' && s.p[0] != '['))
		return 0;
	if (assay_str_find(s, "\"rocprofiler-sdk-tool\"") >= 0)
		return 0;
	if (s.p[0] == '{' && assay_str_find(s, "\"traceEvents\"") >= 0)
		return 95;
	if (assay_str_find(s, "\"ph\"") >= 0)
		return s.p[0] == '[' ? 90 : 50;
	if (s.p[0] == '{' && (assay_str_find(s, "\"deviceProperties\"") >= 0 ||
			      assay_str_find(s, "\"schemaVersion\"") >= 0))
		return 40; /* a header so long that the events are out of sight */
	if (s.p[0] == '{' && assay_str_find(s, "\"metadata\"") >= 0)
		return 30; /* a run's figures without events */
	return 0;
}

/* Events are told from other objects by what stands between them in this very file; before that is
 * known, by a brace followed by a quote. */
size_t chrome_align(void *ctx, const char *text, size_t n)
{
	const chrome *c = ctx;
	assay_str s = {text, n};
	if (!c->sep_n) {
		for (const char *p = text; (p = memchr(p, '{', n - (size_t)(p - text))); p++) {
			assay_json j = assay_json_on(p + 1, n - (size_t)(p + 1 - text));
			if (assay_json_peek(&j) == '"')
				return (size_t)(p - text);
		}
		return n;
	}
	/* the text may begin inside a separator */
	for (size_t cut = 1; cut < c->sep_n && memchr(c->sep + cut, '{', c->sep_n - cut); cut++)
		if (c->sep_n - cut <= n && !memcmp(text, c->sep + cut, c->sep_n - cut))
			return (size_t)((const char *)memchr(text, '{', c->sep_n - cut) - text);
	for (size_t at = 0; at + c->sep_n <= n;) {
		const char *p = memchr(s.p + at, '}', n - at);
		if (!p || (size_t)(p - text) + c->sep_n > n)
			return n;
		if (!memcmp(p, c->sep, c->sep_n)) {
			const char *open = memchr(p, '{', c->sep_n);
			return (size_t)(open - text);
		}
		at = (size_t)(p - text) + 1;
	}
	return n;
}

/* The separator between the first two events: closing brace, comma, white space, opening quote. */
static void learn_separator(chrome *c, uint64_t pos)
{
	assay_view v = assay_input_view(c->in, pos, SEP_SEARCH);
	assay_json j = assay_json_on(v.p, v.n);
	if (assay_json_peek(&j) != '{' || !assay_json_skip(&j, NULL))
		return;
	const char *from = j.p - 1;
	if (assay_json_peek(&j) != ',')
		return;
	j.p++;
	if (assay_json_peek(&j) != '{')
		return;
	j.p++;
	if (assay_json_peek(&j) != '"' || (size_t)(j.p + 1 - from) > sizeof c->sep)
		return;
	c->sep_n = (size_t)(j.p + 1 - from);
	memcpy(c->sep, from, c->sep_n);
}

static void worker_start(const chrome *c, chrome_worker *w)
{
	memset(w, 0, sizeof *w);
	w->ts_digits = 13;
	w->part.source = c->run->part.source;
	w->moved.lean = c->run->lean;
	for (unsigned k = 0; k < CHROME_TRACKS; k++)
		w->cache[k].track = ASSAY_NO_ROW;
}

static void worker_stop(chrome_worker *w)
{
	assay_part_free(&w->part);
	assay_moved_free(&w->moved);
	assay_vec_free(&w->extra);
	assay_arena_free(&w->scratch);
}

static assay_pump_status parse_window(void *ctx, unsigned worker, assay_view text, size_t limit,
				      uint64_t pos, size_t *used)
{
	chrome *c = ctx;
	(void)pos;
	c->worker[worker].parsed = true;
	return c->scan(c, worker, text, limit, used);
}

static void take_zeros(chrome *c, chrome_worker *w)
{
	for (int i = 0; i < ASSAY_ZEROS; i++) {
		c->zeros[i] += w->zeros[i] >> 32;
		c->silent[i] += (w->zeros[i] & UINT32_MAX) - (w->zeros[i] >> 32);
	}
	memset(w->zeros, 0, sizeof w->zeros);
}

static void commit_window(void *ctx, unsigned worker)
{
	chrome *c = ctx;
	chrome_worker *w = &c->worker[worker];
	assay_run *run = c->run;
	assay_part_expect(&run->part, &w->part, c->windows);
	c->windows = 0;
	assay_part_claim(c->gate, &run->part, &w->part, &w->moved);
	run->part.t.source.records[run->part.source] += w->events;
	c->closed |= w->closed;
	assay_count(&run->part, ASSAY_ISSUE_bad_number, (w->odd & ASSAY_JSON_NUMBER) != 0);
	assay_count(&run->part, ASSAY_ISSUE_bad_syntax,
		    (w->odd & ~(uint32_t)ASSAY_JSON_NUMBER) != 0);
	w->events = w->odd = w->closed = w->parsed = 0;
	take_zeros(c, w);
	if (run->progress)
		run->progress(run->progress_ctx, assay_input_path(c->in),
			      assay_input_file_pos(c->in), assay_input_file_bytes(c->in));
}

static void fill_window(void *ctx, unsigned worker)
{
	chrome *c = ctx;
	assay_part_fill(c->gate, &c->run->part, &c->worker[worker].part, &c->worker[worker].moved);
}

/* Names and tracks of a window that was no window must not reach the run: start afresh. */
static void discard_window(void *ctx, unsigned worker)
{
	chrome *c = ctx;
	chrome_worker *w = &c->worker[worker];
	if (!w->parsed)
		return;
	worker_stop(w);
	worker_start(c, w);
}

/* The events from pos (behind the opening bracket). Returns the position behind the list; *whole is
 * false when the text ends inside a record (which is counted), c->closed true at a bracket. A
 * record that never ends is stepped over and reading goes on behind it, a limited number of times,
 * for each such record costs a look at all that follows. */
static uint64_t read_events(chrome *c, uint64_t pos, bool *whole)
{
	if (!c->sep_n)
		learn_separator(c, pos);
	c->closed = false;
	*whole = true;
	for (int lost = 0;; lost++) {
		pos = assay_pump_run(&(assay_pump){.in = c->in,
						   .start = pos,
						   .window = WINDOW,
						   .threads = c->workers,
						   .ctx = c,
						   .align = chrome_align,
						   .parse = parse_window,
						   .commit = commit_window,
						   .fill = fill_window,
						   .discard = discard_window});
		assay_view v = assay_input_view(c->in, pos, 1);
		if (c->closed || !v.n)
			return pos;
		size_t next = lost < LOST_MAX ? chrome_align(c, v.p + 1, v.n - 1) + 1 : v.n;
		if (next >= v.n) {
			*whole = false;
			assay_count(&c->run->part, ASSAY_ISSUE_truncated, 1);
			return pos + v.n;
		}
		assay_count(&c->run->part, ASSAY_ISSUE_bad_record, 1);
		pos += next;
	}
}

/* One header member; objects are flattened one level: distributedInfo.rank. */
static void add_header(assay_part *p, assay_str key, assay_str value)
{
	assay_arena scratch = {0};
	const char *name = assay_dup(&scratch, assay_json_unescape(&scratch, key));
	if (value.n && value.p[0] == '{') {
		assay_json j = assay_json_on(value.p, value.n);
		assay_str sub, raw;
		assay_json_enter(&j, '{');
		while (assay_json_member(&j, &sub) && assay_json_skip(&j, &raw))
			assay_meta_add(
				p, assay_printf(&scratch, "%s.%.*s", name, (int)sub.n, sub.p), raw);
	} else {
		assay_meta_add(p, name, value);
	}
	assay_arena_free(&scratch);
}

/* The value of traceEvents when it is no list: said, for the events may be in it. */
static void no_list(chrome *c, uint64_t pos)
{
	assay_count(&c->run->part, ASSAY_ISSUE_bad_record, 1);
	assay_warn(c->run, "no_list",
		   "%s: traceEvents is not a list (at byte %llu) and was not read",
		   assay_input_path(c->in), (unsigned long long)pos);
}

/* The members of an object; of any other value none. */
static assay_str inside(assay_str value)
{
	bool object = value.n >= 2 && value.p[0] == '{';
	return object ? (assay_str){value.p + 1, value.n - 2} : (assay_str){"", 0};
}

/* The members of a top object from *pos on, the list of events among them. */
static bool read_object(chrome *c, uint64_t *pos, assay_err *err)
{
	bool fresh = true;
	for (size_t want = MEMBER;;) {
		assay_view v = assay_input_view(c->in, *pos, want);
		assay_json j = assay_json_on(v.p, v.n);
		assay_str key, value;
		j.fresh = fresh;
		if (assay_json_member(&j, &key)) {
			bool events = assay_str_is(key, "traceEvents");
			c->listed |= events;
			if (events && assay_json_peek(&j) == '[') {
				bool whole;
				*pos = read_events(c, *pos + (uint64_t)(j.p + 1 - v.p), &whole);
				fresh = false;
				if (c->closed)
					continue;
				assay_count(&c->run->part, ASSAY_ISSUE_truncated, whole);
				return true;
			}
			if (assay_json_skip(&j, &value) && (j.p < j.end || v.end)) {
				if (events)
					no_list(c, *pos);
				else if (assay_str_is(key, "stackFrames"))
					assay_file_stacks_add(&c->stacks, inside(value));
				else
					add_header(&c->run->part, key, value);
				*pos += (uint64_t)(j.p - v.p);
				assay_input_drop(c->in, *pos);
				fresh = false;
				continue;
			}
		} else if (assay_json_ok(&j)) {
			*pos += (uint64_t)(j.p - v.p);
			return true;
		}
		if (v.end) {
			if (fresh)
				return assay_fail(err, ASSAY_FORMAT, *pos + (uint64_t)(j.p - v.p),
						  "%s is no JSON object", assay_input_path(c->in));
			assay_count(&c->run->part,
				    j.cut ? ASSAY_ISSUE_truncated : ASSAY_ISSUE_bad_syntax, 1);
			c->listed |= j.cut;
			*pos += v.n;
			return true;
		}
		want = 2 * v.n + MEMBER;
	}
}

/* Whether the object at the cursor is an event itself, as in a file of one event a line. One that
 * holds a list of events is none, whatever its header has. */
static bool is_event(assay_json j)
{
	bool event = false;
	assay_str key;
	if (!assay_json_enter(&j, '{'))
		return false;
	while (assay_json_member(&j, &key)) {
		if (assay_str_is(key, "traceEvents"))
			return false;
		event |= assay_str_is(key, "ph") && assay_json_peek(&j) == '"';
		if (!assay_json_skip(&j, NULL))
			break;
	}
	return event;
}

/* One document from *pos on: a list of events, events without a list, or an object that holds
 * them. False at the end of the text, and when nothing more can be read. */
static bool read_document(chrome *c, uint64_t *pos, bool *ok, assay_err *err)
{
	assay_view v = assay_input_view(c->in, *pos, MEMBER);
	assay_json j = assay_json_on(v.p, v.n);
	char open = assay_json_peek(&j);
	while (j.p < j.end && (!*j.p || *j.p == '\x1e' || *j.p == ',')) { /* RFC 7464; padding */
		j.p++;
		open = assay_json_peek(&j);
	}
	*pos += (uint64_t)(j.p - v.p);
	assay_input_drop(c->in, *pos);
	bool whole, event = open == '{' && is_event(j);
	c->sep_n = 0;
	if (open == '[' || event) {
		*pos = read_events(c, *pos + !event, &whole);
		c->listed = true;
		return c->closed;
	}
	if (open == '{') {
		++*pos;
		return *ok = read_object(c, pos, err);
	}
	if (j.p < j.end) {
		assay_count(&c->run->part, ASSAY_ISSUE_bad_record, 1);
		assay_warn(c->run, "more_text",
			   "%s: what follows byte %llu is not a trace, and was not read",
			   assay_input_path(c->in), (unsigned long long)*pos);
	}
	return false;
}

/* Documents in a row are one trace: files that were joined, or one object a line. */
static bool read_documents(chrome *c, assay_err *err)
{
	uint64_t pos = 0;
	bool ok = true;
	uint32_t n = 0;
	while (n < DOCUMENTS_MAX && read_document(c, &pos, &ok, err))
		n++;
	if (n == DOCUMENTS_MAX) {
		assay_count(&c->run->part, ASSAY_ISSUE_bad_record, 1);
		assay_warn(c->run, "more_text",
			   "%s: only its first %d documents are read, up to byte %llu",
			   assay_input_path(c->in), DOCUMENTS_MAX, (unsigned long long)pos);
	}
	return ok;
}

/* Whether what was read is a trace, or the head of one, and not any JSON that has a word of one. */
static bool is_trace(const chrome *c, size_t first_meta)
{
	static const char *const heads[] = {
		"deviceProperties",      "distributedInfo.rank",     "baseTimeNanoseconds",
		"displayTimeUnit",       "metadata.tokens_per_sec",  "metadata.step_time_seconds",
		"metadata.mfu_pct",      "metadata.pytorch_version", "metadata.torch_version",
		"metadata.rocm_version", "metadata.cuda_version",
	};
	const assay_meta_table *m = &c->run->part.t.meta;
	bool found = c->listed;
	for (size_t i = first_meta; i < m->n && !found; i++)
		for (size_t k = 0; k < ASSAY_COUNT_OF(heads); k++)
			found |= assay_str_is(assay_text(c->run, m->key[i]), heads[k]);
	return found;
}

/* A header value that is a list. */
static assay_json open_list(assay_arena *a, assay_str json)
{
	assay_json j = assay_json_copy(a, json);
	assay_json_enter(&j, '[');
	return j;
}

/* deviceProperties: one row a device. */
static void add_devices(assay_run *run, assay_str json)
{
	assay_arena scratch = {0};
	assay_json j = open_list(&scratch, json);
	while (assay_json_element(&j) && assay_json_enter(&j, '{')) {
		assay_device_table *d = &run->part.t.device;
		uint32_t r = assay_add(&run->part.t, ASSAY_T_device);
		int64_t major = -1, minor = -1, v;
		d->source[r] = run->part.source;
		for (assay_str key, s; assay_json_member(&j, &key);) {
			assay_sid *text = assay_str_is(key, "name")     ? d->name
					  : assay_str_is(key, "arch")   ? d->arch
					  : assay_str_is(key, "vendor") ? d->vendor
									: NULL;
			if (text && assay_json_peek(&j) == '"') {
				if (assay_json_text(&j, &s))
					text[r] = assay_intern(&run->part.strings,
							       assay_json_unescape(&scratch, s));
			} else if (!assay_json_i64(&j, &v)) {
				continue;
			} else if (assay_str_is(key, "id")) {
				d->id[r] = (int32_t)v;
			} else if (assay_str_is(key, "totalGlobalMem")) {
				d->memory[r] = v;
			} else if (assay_str_is(key, "numSms")) {
				d->units[r] = (int32_t)v;
			} else if (assay_str_is(key, "warpSize")) {
				d->warp[r] = (int32_t)v;
			} else if (assay_str_is(key, "computeMajor")) {
				major = v;
			} else if (assay_str_is(key, "computeMinor")) {
				minor = v;
			}
		}
		/* AMD warps are 64 wide on every data-centre part; names settle the rest; compute
		 * capabilities with warps of 32 are CUDA's */
		assay_vendor vendor = assay_device_vendor(run, r);
		if (vendor == ASSAY_VENDOR_UNKNOWN)
			vendor = d->warp[r] == 64 || assay_str_starts(assay_text(run, d->arch[r]),
								      "gfx")
					 ? ASSAY_VENDOR_AMD
					 : assay_vendor_of_product(assay_text(run, d->name[r]));
		if (vendor == ASSAY_VENDOR_UNKNOWN && major >= 0 && d->warp[r] == 32)
			vendor = ASSAY_VENDOR_NVIDIA;
		d->vendor[r] = assay_sid_of(run, assay_vendor_name[vendor]);
		if (d->arch[r])
			continue; /* our own writer's */
		if (major >= 0 && minor >= 0 && vendor == ASSAY_VENDOR_NVIDIA)
			d->arch[r] = assay_sid_of(
				run, assay_printf(&scratch, "sm_%d%d", (int)major, (int)minor));
		else if (vendor == ASSAY_VENDOR_AMD && major == 9 && minor >= 4 &&
			 minor <= 5) /* 9.0 is of several */
			d->arch[r] = assay_sid_of(run, minor == 4 ? "gfx942" : "gfx950");
	}
	assay_arena_free(&scratch);
}

/* streams: what our own writer keeps of each stream. */
static void add_streams(assay_run *run, assay_str json)
{
	assay_arena scratch = {0};
	assay_json j = open_list(&scratch, json);
	while (assay_json_element(&j) && assay_json_enter(&j, '{'))
		assay_stream_take(&run->part, &j);
	assay_arena_free(&scratch);
}

/* Header facts that have a column of their own. */
static void apply_header(assay_run *run, size_t first_meta)
{
	const assay_meta_table *m = &run->part.t.meta;
	assay_source_table *s = &run->part.t.source;
	uint32_t src = run->part.source;
	bool devices = false, streams = false; /* of the first document, when several were joined */
	for (size_t i = first_meta; i < m->n; i++) {
		assay_str key = assay_text(run, m->key[i]), value = assay_text(run, m->value[i]);
		int64_t v = -1;
		assay_str_i64(value, &v);
		if (assay_str_is(key, "distributedInfo.rank"))
			s->rank[src] = (int32_t)v;
		else if (assay_str_is(key, "distributedInfo.world_size"))
			s->world[src] = (int32_t)v;
		else if (assay_str_is(key, "baseTimeNanoseconds") && v >= 0)
			s->base[src] = v, s->epoch[src] = 1;
		else if (assay_str_is(key, "deviceProperties") && !devices)
			devices = true, add_devices(run, value);
		else if (assay_str_is(key, "streams") && !streams)
			streams = true, add_streams(run, value);
	}
}

/* ------------------------------------------------------------------ several inputs */

static const char FIRST_PID[] = "first_pid";

/* What our writer adds to processes of this input; 0: no such thing. */
static int64_t first_pid(assay_str input)
{
	assay_json j = assay_json_on(input.p, input.n);
	assay_str key, value;
	int64_t pid = 0;
	assay_json_enter(&j, '{');
	while (assay_json_member(&j, &key) && assay_json_skip(&j, &value))
		if (assay_str_is(key, FIRST_PID) &&
		    (!assay_str_i64(value, &pid) || pid < 0 || pid % ASSAY_PID_STEP))
			pid = 0;
	return pid;
}

/* Its source, with its header; its times are on the clock of the first one. */
static void add_input(assay_run *run, uint32_t first, assay_str input)
{
	assay_source_table *s = &run->part.t.source;
	size_t first_meta = run->part.t.meta.n;
	assay_json j = assay_json_on(input.p, input.n);
	assay_str key, value;
	assay_rocprof_next_source(&run->part, first);
	assay_json_enter(&j, '{');
	while (assay_json_member(&j, &key) && assay_json_skip(&j, &value))
		if (!assay_str_is(key, FIRST_PID) && !assay_str_is(key, "path") &&
		    !assay_str_is(key, "baseTimeNanoseconds"))
			add_header(&run->part, key, value);
	apply_header(run, first_meta);
	s->base[run->part.source] = s->base[first];
	s->epoch[run->part.source] = s->epoch[first];
	s->zeros[run->part.source] = s->zeros[first];
}

static void move_tracks(assay_run *run, uint32_t first, const assay_map *of)
{
	assay_track_table *t = &run->part.t.track;
	for (size_t i = 0; i < t->n; i++) {
		int64_t above = t->pid[i] - t->pid[i] % ASSAY_PID_STEP;
		uint32_t source = t->source[i] == first && above > 0
					  ? assay_map_get(of, (uint64_t)above)
					  : ASSAY_MAP_ABSENT;
		if (source == ASSAY_MAP_ABSENT)
			continue;
		t->source[i] = source;
		t->pid[i] -= above;
	}
}

static void drop_meta(assay_tables *t, size_t row)
{
	for (size_t i = row; i + 1 < t->meta.n; i++)
		assay_row_copy(t, ASSAY_T_meta, i, i + 1);
	t->meta.n--;
}

/* A file that our writer made of several traces has them again: each with its rank. */
static void split_inputs(assay_run *run, size_t first_meta)
{
	const assay_meta_table *m = &run->part.t.meta;
	uint32_t first = run->part.source;
	assay_map of = {0};
	size_t row = first_meta, all = m->n, inputs = 0;
	while (row < all && !assay_str_is(assay_text(run, m->key[row]), "inputs"))
		row++;
	if (row == all)
		return;
	assay_arena scratch = {0};
	assay_str list = assay_text(run, m->value[row]), input;
	char *text = assay_alloc(&scratch, list.n + ASSAY_PAD);
	memcpy(text, list.p, list.n);
	assay_json j = assay_json_on(text, list.n);
	for (assay_json_enter(&j, '['); assay_json_element(&j) && assay_json_skip(&j, &input);) {
		int64_t pid = first_pid(input);
		inputs++;
		if (!pid || assay_map_get(&of, (uint64_t)pid) != ASSAY_MAP_ABSENT)
			continue;
		add_input(run, first, input);
		*assay_map_at(&of, (uint64_t)pid) = run->part.source;
	}
	move_tracks(run, first, &of);
	if (of.n && of.n == inputs)
		drop_meta(&run->part.t, row);
	run->part.source = first;
	assay_map_free(&of);
	assay_arena_free(&scratch);
}

static void see_first(const int64_t *ts, size_t first, size_t n, int64_t *least)
{
	for (size_t i = first; i < n; i++)
		*least = ts[i] < *least ? ts[i] : *least;
}

/* Headers without a base: times as great as these are of 1970 (older Kineto's). */
static void know_1970(assay_run *run, size_t first_host, size_t first_gpu)
{
	const assay_tables *t = &run->part.t;
	const int64_t year_2001 = 1000000000000000000;
	int64_t least = INT64_MAX;
	see_first(t->host.ts, first_host, t->host.n, &least);
	see_first(t->gpu.ts, first_gpu, t->gpu.n, &least);
	run->part.t.source.epoch[run->part.source] = least != INT64_MAX && least >= year_2001;
}

static bool chrome_read(assay_run *run, assay_input *in, assay_err *err)
{
#define X(isa) chrome_scan_##isa,
	static chrome_scan_fn *const scans[] = { ASSAY_ISAS(X) };
#undef X
#define X(isa) chrome_parse_##isa,
	static chrome_parse_fn *const parsers[] = { ASSAY_ISAS(X) };
#undef X
	assay_arena arena = {0};
	chrome *c = assay_alloc(&arena, sizeof *c);
	assay_isa isa = assay_cpu_isa();
	*c = (chrome){.run = run,
		      .in = in,
		      .workers = assay_run_threads(run),
		      .scan = scans[isa],
		      .parse = parsers[isa]};
	if (!strcmp(assay_input_packing(in), "plain"))
		c->windows = assay_input_file_bytes(in) / WINDOW;
	c->worker = assay_alloc(&arena, c->workers * sizeof *c->worker);
	for (unsigned i = 0; i < c->workers; i++)
		worker_start(c, &c->worker[i]);
	chrome_words_fill(c);
	assay_file_stacks_begin(&c->stacks, &run->part);
	c->gate = assay_gate_new(&arena);
	size_t first_meta = run->part.t.meta.n, first_host = run->part.t.host.n;
	size_t first_gpu = run->part.t.gpu.n, first_flow = run->part.t.flow.n;
	bool ok = read_documents(c, err);
	if (ok && !is_trace(c, first_meta))
		ok = assay_fail(
			err, ASSAY_UNKNOWN, 0,
			"cannot read %s: it is JSON, but not a trace: it has no traceEvents",
			assay_input_path(in));
	chrome_finish(c);
	take_zeros(c, &c->worker[0]);
	chrome_keep_zeros(c, first_host, first_gpu);
	assay_file_stacks_end(&c->stacks, &run->part);
	chrome_take_counters(run, first_host);
	chrome_link_rocprof(run, first_host, first_gpu, first_flow);
	apply_header(run, first_meta);
	if (!run->part.t.source.epoch[run->part.source])
		know_1970(run, first_host, first_gpu);
	split_inputs(run, first_meta);
	for (unsigned i = 0; i < c->workers; i++)
		worker_stop(&c->worker[i]);
	assay_gate_free(c->gate);
	assay_arena_free(&arena);
	return ok;
}

const assay_reader assay_reader_chrome = {
	.name = "chrome",
	.ends = {".json", ".trace", ".pt"},
	.about = "Chrome trace event JSON: Kineto, torch.profiler and others",
	.waits = "yes",
	.scopes = "yes",
	.note = "waits on events best with cuda_sync rows",
	.page = "chrome",
	.sniff = chrome_sniff,
	.read = chrome_read,
	.alone = true,
	.ranked = true,
	.traits = ASSAY_TRAIT_BLOCKS,
};
