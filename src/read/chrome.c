/* Chrome trace event JSON, above all as Kineto (torch.profiler) writes it. docs/formats/chrome.md
 */
#include "read/chrome.h"

#include <stdlib.h>

#include "base/test.h"
#include "read/reader.h"
#include "model/streams.h"

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
static void add_header(chrome *c, assay_str key, assay_str value)
{
	assay_arena scratch = {0};
	assay_part *p = &c->run->part;
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
	assay_warn(c->run, "no_list", "%s: traceEvents is no list (at byte %llu) and was not read",
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
					add_header(c, key, value);
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

/* Whether the object at the cursor is an event itself, as in a file of one event a line. */
static bool is_event(assay_json j)
{
	assay_str key;
	if (!assay_json_enter(&j, '{'))
		return false;
	while (assay_json_member(&j, &key)) {
		if (assay_str_is(key, "ph"))
			return assay_json_peek(&j) == '"';
		if (assay_str_is(key, "traceEvents") || !assay_json_skip(&j, NULL))
			return false;
	}
	return false;
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
			   "%s: what follows byte %llu is no trace, and was not read",
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
		ok = assay_fail(err, ASSAY_UNKNOWN, 0,
				"cannot read %s: it is JSON, but no trace: it has no traceEvents",
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

/* ------------------------------------------------------------------ tests */

#define READ(text)            assay_read_bytes(&assay_reader_chrome, (text), strlen(text))
#define NAME(run, table, row) assay_z((run), (run)->part.t.table.name[row])

static const char two_events[] =
	"{\"schemaVersion\": 1, \"distributedInfo\": {\"rank\": 3, \"world_size\": 8},\n"
	" \"deviceProperties\": [{\"id\": 0, \"name\": \"NVIDIA H200\", \"totalGlobalMem\": 150109880320,\n"
	"   \"warpSize\": 32, \"numSms\": 132, \"computeMajor\": 9, \"computeMinor\": 0}],\n"
	" \"baseTimeNanoseconds\": 1790857026000000000,\n"
	" \"traceEvents\": [\n"
	"  {\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", \"pid\": 7, \"tid\": 8,\n"
	"   \"ts\": 3852190011231.377, \"dur\": 4.5,\n"
	"   \"args\": {\"External id\": 5, \"cbid\": 211, \"correlation\": 77}},\n"
	"  {\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"gemm \\\"x\\\"\", \"pid\": 0, \"tid\": 7,\n"
	"   \"ts\": 3852190011240.001, \"dur\": 12,\n"
	"   \"args\": {\"queued\": 0, \"device\": 0, \"context\": 1, \"stream\": 7, \"correlation\": 77,\n"
	"     \"registers per thread\": 32, \"shared memory\": 1024, \"warps per SM\": 1.5,\n"
	"     \"grid\": [1, 2, 3], \"block\": [256, 1, 1], \"what\": \"new\"}}\n"
	" ], \"traceName\": \"x\"}";

TEST(kineto_events_reach_their_tables_exactly)
{
	assay_run *run = READ(two_events);
	const assay_tables *t = &run->part.t;
	CHECK(t->host.n == 1 && t->gpu.n == 1 && t->api.n == 1);
	CHECK_EQ(t->host.ts[0], 3852190011231377);
	CHECK_EQ(t->host.dur[0], 4500);
	CHECK(t->api.corr[t->host.detail[0]] == 77 && t->api.cbid[0] == 211 &&
	      t->api.external[0] == 5);
	CHECK(t->track.pid[t->host.track[0]] == 7 && t->track.tid[t->host.track[0]] == 8);
	CHECK(!strcmp(NAME(run, gpu, 0), "gemm \"x\""));
	CHECK_EQ(t->gpu.ts[0], 3852190011240001);
	CHECK(t->gpu.dur[0] == 12000 && t->gpu.corr[0] == 77 && t->gpu.regs[0] == 32);
	CHECK(t->gpu.grid_x[0] == 1 && t->gpu.grid_z[0] == 3 && t->gpu.block_x[0] == 256);
	CHECK(t->gpu.shared[0] == 1024 && t->gpu.context[0] == 1 && t->gpu.bytes[0] == -1);
	CHECK(!strcmp(assay_z(run, t->gpu.args[0]), "\"warps per SM\": 1.5, \"what\": \"new\""));
	CHECK(t->source.rank[0] == 3 && t->source.world[0] == 8 && t->source.records[0] == 2);
	CHECK(t->source.base[0] == 1790857026000000000 && t->source.epoch[0] == 1);
	CHECK(t->device.n == 1 && t->device.units[0] == 132 && t->device.memory[0] == 150109880320);
	CHECK(!strcmp(assay_z(run, t->device.arch[0]), "sm_90"));
	CHECK(assay_str_is(assay_meta_get(run, "traceName"), "\"x\""));
	assay_run_free(run);
	return 0;
}

TEST(every_truncation_keeps_whole_events)
{
	size_t n = sizeof two_events - 1;
	size_t first = (size_t)(strstr(two_events, "}},") - two_events) + 2;
	for (size_t cut = 0; cut <= n; cut++) {
		assay_run *run = assay_read_bytes(&assay_reader_chrome, two_events, cut);
		if (!run)
			continue; /* not even an object: an error, not a crash */
		CHECK(run->part.t.host.n == (cut >= first));
		CHECK(run->part.t.source.records[0] <= 2);
		if (cut < n - 1 && cut > first)
			CHECK_EQ(run->part.issues[ASSAY_ISSUE_truncated], 1);
		assay_run_free(run);
	}
	return 0;
}

TEST(bare_arrays_with_and_without_their_end_are_read)
{
	static const char *const texts[] = {
		"[{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":2,\"pid\":1,\"tid\":1}]",
		"[{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":2,\"pid\":1,\"tid\":1},\n",
		"[\n{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":2,\"pid\":1,\"tid\":1},]",
	};
	for (size_t i = 0; i < ASSAY_COUNT_OF(texts); i++) {
		assay_run *run = READ(texts[i]);
		CHECK(run && run->part.t.host.n == 1 && run->part.t.host.dur[0] == 2000);
		CHECK(run->part.issues[ASSAY_ISSUE_truncated] == 0);
		assay_run_free(run);
	}
	return 0;
}

TEST(begin_and_end_events_nest_by_thread)
{
	assay_run *run = READ("[{\"ph\":\"B\",\"name\":\"outer\",\"cat\":\"cpu_op\",\"ts\":1,"
			      "\"pid\":1,\"tid\":1},"
			      "{\"ph\":\"B\",\"name\":\"other\",\"ts\":2,\"pid\":1,\"tid\":2},"
			      "{\"ph\":\"B\",\"name\":\"inner\",\"ts\":3,\"pid\":1,\"tid\":1,"
			      "\"args\":{\"External id\": 9}},"
			      "{\"ph\":\"E\",\"ts\":5,\"pid\":1,\"tid\":1},"
			      "{\"ph\":\"E\",\"ts\":9,\"pid\":1,\"tid\":1},"
			      "{\"ph\":\"E\",\"ts\":9,\"pid\":1,\"tid\":3}]");
	const assay_host_table *h = &run->part.t.host;
	CHECK(h->n == 3);
	for (uint32_t i = 0; i < h->n; i++) {
		if (!strcmp(NAME(run, host, i), "outer"))
			CHECK(h->dur[i] == 8000 && h->kind[i] == ASSAY_HOST_OP);
		if (!strcmp(NAME(run, host, i), "inner"))
			CHECK(h->dur[i] == 2000 && h->ts[i] == 3000);
		if (!strcmp(NAME(run, host, i), "other"))
			CHECK(h->dur[i] == 7000 &&
			      strstr(assay_z(run, h->args[i]), "\"open_end\""));
	}
	CHECK_EQ(run->part.issues[ASSAY_ISSUE_unmatched_end], 1);
	CHECK_EQ(run->part.issues[ASSAY_ISSUE_unmatched_begin], 1);
	assay_run_free(run);
	return 0;
}

/* As a profiler leaves them that paused between a begin and its end. */
TEST(an_end_closes_the_begin_it_names)
{
	assay_run *run = READ("[{\"ph\":\"B\",\"name\":\"a\",\"ts\":1,\"pid\":1,\"tid\":1},"
			      "{\"ph\":\"B\",\"name\":\"b\",\"ts\":2,\"pid\":1,\"tid\":1},"
			      "{\"ph\":\"E\",\"name\":\"x\",\"ts\":4,\"pid\":1,\"tid\":1},"
			      "{\"ph\":\"E\",\"name\":\"a\",\"ts\":9,\"pid\":1,\"tid\":1}]");
	const assay_host_table *h = &run->part.t.host;
	CHECK(h->n == 2);
	for (uint32_t i = 0; i < h->n; i++)
		CHECK(h->dur[i] == (strcmp(NAME(run, host, i), "a") ? 7000 : 8000));
	CHECK_EQ(run->part.issues[ASSAY_ISSUE_unmatched_end], 1);   /* x: began before */
	CHECK_EQ(run->part.issues[ASSAY_ISSUE_unmatched_begin], 1); /* b: its end is lost */
	assay_run_free(run);
	return 0;
}

TEST(ranges_by_id_stay_apart_from_those_that_nest)
{
	assay_run *run = READ("[{\"ph\":\"b\",\"cat\":\"process_range\",\"id\":3,\"name\":\"a\","
			      "\"ts\":1,\"pid\":1,\"tid\":1,\"args\":{\"domain\":\"d\"}},"
			      "{\"ph\":\"e\",\"cat\":\"process_range\",\"id\":3,\"name\":\"a\","
			      "\"ts\":9,\"pid\":1,\"tid\":2}]");
	const assay_host_table *h = &run->part.t.host;
	CHECK(h->n == 1 && h->kind[0] == ASSAY_HOST_PROCESS_RANGE && h->dur[0] == 8000);
	assay_run_free(run);
	return 0;
}

TEST(async_events_pair_by_category_and_id)
{
	assay_run *run = READ(
		"[{\"ph\":\"b\",\"cat\":\"c\",\"id\":\"0x1\",\"name\":\"a\",\"ts\":1,\"pid\":1,"
		"\"tid\":1},"
		"{\"ph\":\"b\",\"cat\":\"c\",\"id\":2,\"name\":\"b\",\"ts\":2,\"pid\":1,\"tid\":1},"
		"{\"ph\":\"n\",\"cat\":\"c\",\"id\":2,\"name\":\"i\",\"ts\":3,\"pid\":1,\"tid\":1},"
		"{\"ph\":\"e\",\"cat\":\"c\",\"id\":\"0x1\",\"name\":\"a\",\"ts\":4,\"pid\":1,"
		"\"tid\":2},"
		"{\"ph\":\"e\",\"cat\":\"c\",\"id\":2,\"name\":\"b\",\"ts\":6,\"pid\":1,\"tid\":1}"
		"]");
	const assay_host_table *h = &run->part.t.host;
	int64_t sum = 0;
	for (uint32_t i = 0; i < h->n; i++)
		sum += h->dur[i];
	CHECK(h->n == 3 && sum == 7000);
	assay_run_free(run);
	return 0;
}

TEST(counters_flows_instants_and_names_are_kept)
{
	assay_run *run =
		READ("[{\"ph\":\"C\",\"name\":\"mem\",\"ts\":1,\"pid\":1,\"tid\":1,\"args\":{"
		     "\"used\": 5.5, \"free\": 2}},"
		     "{\"ph\":\"s\",\"id\":9,\"cat\":\"ac2g\",\"name\":\"ac2g\",\"ts\":1,\"pid\":1,"
		     "\"tid\":1},"
		     "{\"ph\":\"f\",\"bp\":\"e\",\"id\":9,\"cat\":\"ac2g\",\"ts\":2,\"pid\":0,"
		     "\"tid\":7},"
		     "{\"ph\":\"i\",\"name\":\"now\",\"ts\":3,\"pid\":1,\"tid\":1,\"s\":\"g\"},"
		     "{\"ph\":\"i\",\"name\":\"[memory]\",\"cat\":\"cpu_instant_event\",\"ts\":4,"
		     "\"pid\":1,\"tid\":1,"
		     "\"args\":{\"Addr\": 140000000000, \"Bytes\": -512, \"Device Id\": 0, \"Total "
		     "Allocated\": 99}},"
		     "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1,\"tid\":1,\"args\":{"
		     "\"name\":\"main\\n\"}},"
		     "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"tid\":0,\"args\":{"
		     "\"name\":\"python\"}},"
		     "{\"ph\":\"?\",\"name\":\"what\"}]");
	const assay_tables *t = &run->part.t;
	CHECK(t->counter.n == 2 && t->counter.value[0] == 5.5 &&
	      !strcmp(NAME(run, counter, 0), "mem.used"));
	CHECK(t->flow.n == 2 && t->flow.id[0] == 9 && t->flow.phase[1] == 'f' && t->flow.bind[1]);
	CHECK(t->host.n == 1 && t->host.kind[0] == ASSAY_HOST_INSTANT && t->host.dur[0] == 0);
	CHECK(t->alloc.n == 1 && t->alloc.bytes[0] == -512 && t->alloc.total[0] == 99);
	uint32_t track = t->host.track[0];
	CHECK(!strcmp(NAME(run, track, track), "main\n"));
	CHECK(!strcmp(assay_z(run, t->track.process[track]), "python"));
	CHECK_EQ(run->part.issues[ASSAY_ISSUE_unknown_phase], 1);
	CHECK_EQ(t->source.records[0], 8);
	assay_run_free(run);
	return 0;
}

TEST(arrows_from_calls_to_their_work_are_for_writers)
{
	static const char text[] =
		"[{\"ph\":\"s\",\"id\":9,\"cat\":\"ac2g\",\"ts\":1,\"pid\":1,\"tid\":1},"
		"{\"ph\":\"s\",\"id\":4,\"cat\":\"fwdbwd\",\"ts\":2,\"pid\":1,\"tid\":1}]";
	for (int lean = 0; lean < 2; lean++) {
		assay_run *run = assay_run_new();
		assay_input *in = assay_input_memory(text, sizeof text - 1);
		run->lean = lean;
		run->part.source = assay_add_source(run, in, &assay_reader_chrome);
		CHECK(assay_reader_chrome.read(run, in, NULL));
		const assay_flow_table *f = &run->part.t.flow;
		CHECK(f->n == (lean ? 1 : 2) && f->id[f->n - 1] == 4);
		assay_input_close(in);
		assay_run_free(run);
	}
	return 0;
}

TEST(what_real_files_get_wrong_is_survived_and_counted)
{
	static const char text[] =
		"{\"traceEvents\": [\n"
		"{\"ph\":\"X\",\"name\":\"raw\ncontrol\x01\xff\",\"ts\":1,\"dur\":1,\"pid\":1,"
		"\"tid\":1},\n"
		"{\"ph\":\"X\",\"name\":\"big\",\"ts\":2,\"dur\":1,\"pid\":1,\"tid\":1,"
		"\"args\":{\"correlation\":99999999999999999999999,\"x\":NaN,\"y\":-Infinity}},\n"
		"{\"ph\":\"X\",\"name\":\"dup\",\"name\":\"twice\",\"ts\":3,\"dur\":1,\"pid\":1,"
		"\"tid\":1},\n"
		"null, 17, \"text\", [1,2],\n"
		"{\"ph\":\"X\",\"name\":\"quote\"d\",\"ts\":4,\"dur\":1,\"pid\":1,\"tid\":1},\n"
		"{\"ph\":\"X\",\"name\":\"neg\",\"ts\":5,\"dur\":-4,\"pid\":1,\"tid\":1},\n"
		"{\"ph\":\"X\",\"name\":\"nodur\",\"ts\":6,\"pid\":1,\"tid\":1},\n"
		"{\"ph\":\"X\",\"name\":\"deep\",\"ts\":7,\"dur\":1,\"pid\":\"P\",\"tid\":\"T\","
		"\"args\":{\"a\":[[[[{\"b\":[{}]}]]]]}},,\n"
		"]}";
	assay_run *run = assay_read_bytes(&assay_reader_chrome, text, sizeof text - 1);
	const assay_tables *t = &run->part.t;
	CHECK_EQ(t->host.n, 6);
	CHECK(!strcmp(NAME(run, host, 2), "twice"));
	CHECK(!strcmp(assay_z(run, t->host.args[1]),
		      "\"correlation\":99999999999999999999999,\"x\":NaN,\"y\":-Infinity"));
	CHECK_EQ(run->part.issues[ASSAY_ISSUE_bad_record], 5);
	CHECK_EQ(run->part.issues[ASSAY_ISSUE_negative_duration], 1);
	CHECK_EQ(run->part.issues[ASSAY_ISSUE_no_duration], 1);
	CHECK(t->track.pid[t->host.track[5]] == -1 &&
	      !strcmp(NAME(run, track, t->host.track[5]), "T"));
	assay_run_free(run);
	return 0;
}

TEST(a_record_that_never_ends_does_not_hide_the_rest)
{
	assay_run *run =
		READ("{\"traceEvents\": [\n"
		     "  {\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":1,\"pid\":1,\"tid\":1},\n"
		     "  {\"ph\":\"X\",\"name\":\"open\",\"args\":{\"x\":[1,2},\n"
		     "  {\"ph\":\"X\",\"name\":\"b\",\"ts\":2,\"dur\":1,\"pid\":1,\"tid\":1},\n"
		     "  {\"ph\":\"X\",\"name\":\"c\",\"ts\":3,\"dur\":1,\"pid\":1,\"tid\":1}\n"
		     "]}");
	CHECK_EQ(run->part.t.host.n, 3);
	CHECK_EQ(run->part.issues[ASSAY_ISSUE_bad_record], 1);
	assay_run_free(run);
	return 0;
}

/* A few thousand events of several kinds and layouts, some malformed. */
static size_t make_trace(char *out, size_t room, int layout)
{
	static const char *const fmt[] = {
		"  {\n"
		"    \"ph\": \"X\", \"cat\": \"%s\", \"name\": \"n%d\", \"pid\": %d, \"tid\": %d,\n"
		"    \"ts\": %d.%03d, \"dur\": %d.5,\n"
		"    \"args\": {\n"
		"      \"correlation\": %d, \"k\": [\"}, {\", %d]\n"
		"    }\n"
		"  }",
		"{\"name\": \"n%2$d\", \"cat\": \"%1$s\", \"ph\": \"X\", \"pid\": %3$d, \"tid\": "
		"%4$d, \"ts\": %5$d.%6$03d, "
		"\"dur\": %7$d.5, \"args\": {\"correlation\": %8$d, \"k\": [\"}, {\", %9$d]}}"};
	static const char *const cats[] = {"cpu_op", "kernel", "cuda_runtime", "python_function",
					   "odd\\u0041"};
	size_t n = (size_t)snprintf(out, room, "{\"traceEvents\": [\n");
	for (int i = 0; i < 3000; i++) {
		if (i)
			n += (size_t)snprintf(out + n, room - n, layout ? ", " : ",\n");
		n += (size_t)snprintf(out + n, room - n, fmt[layout], cats[i % 5], i % 37, i % 3,
				      i % 7, 1000 + i * (i % 11), i % 1000, i % 13, i, i % 4);
		if (i % 500 == 250)
			n += (size_t)snprintf(out + n, room - n, ", {\"ph\": \"X\", broken}");
	}
	return n + (size_t)snprintf(out + n, room - n, "\n], \"end\": 1}");
}

/* Equal runs print equal sums: durations, names as text, tracks, correlation ids, args. */
static uint64_t digest(const assay_run *run)
{
	const assay_tables *t = &run->part.t;
	uint64_t h = t->host.n * 31 + t->gpu.n + run->part.issues[ASSAY_ISSUE_bad_record] * 7;
	for (uint32_t i = 0; i < t->host.n; i++) {
		assay_str name = assay_text(run, t->host.name[i]),
			  args = assay_text(run, t->host.args[i]);
		h = assay_hash(name.p, name.n,
			       h + (uint64_t)t->host.ts[i] + (uint64_t)t->host.dur[i]);
		h = assay_hash(args.p, args.n, h + (uint64_t)t->track.tid[t->host.track[i]]);
	}
	for (uint32_t i = 0; i < t->gpu.n; i++)
		h = h * 31 + t->gpu.corr[i] + (uint64_t)t->gpu.ts[i];
	return h;
}

TEST(threads_and_instruction_sets_read_the_same)
{
	enum { ROOM = 2 << 20 };
	static char text[ROOM];
	static const char *const threads[] = {"1", "2", "3", "7"};
	for (int layout = 0; layout < 2; layout++) {
		size_t n = make_trace(text, ROOM, layout);
		uint64_t want = 0;
		for (int isa = 0; isa < ASSAY_ISA_COUNT; isa++) {
			setenv("ASSAY_ISA", assay_isa_name((assay_isa)isa), 1);
			for (size_t i = 0; i < ASSAY_COUNT_OF(threads); i++) {
				setenv("ASSAY_THREADS", threads[i], 1);
				assay_run *run = assay_read_bytes(&assay_reader_chrome, text, n);
				CHECK(run->part.t.host.n == 2400 && run->part.t.gpu.n == 600);
				CHECK_EQ(run->part.issues[ASSAY_ISSUE_bad_record], 6);
				uint64_t got = digest(run);
				want = want ? want : got;
				CHECK(got == want);
				assay_run_free(run);
			}
		}
	}
	return 0;
}

/* A list inside an event that looks like events, longer than several windows. */
TEST(what_looks_like_events_inside_one_leaves_no_track)
{
	enum { ROOM = 8 << 20, FALSE_ONES = 30000, AFTER = 30000 };
	static const char *const threads[] = {"1", "2", "3", "7"};
	static char text[ROOM];
	size_t n = (size_t)snprintf(
		text, ROOM,
		"[{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":2},{\"ph\":\"X\",\"name\":\"b\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":2,\"args\":{\"list\":[{\"ph\":\"X\"}");
	for (int i = 0; i < FALSE_ONES; i++)
		n += (size_t)snprintf(
			text + n, ROOM - n,
			",{\"ph\":\"X\",\"name\":\"false\",\"pid\":999,\"tid\":%d,\"ts\":1.000,\"dur\":2.000,\"cat\":\"cpu_op\"}",
			i % 50);
	n += (size_t)snprintf(text + n, ROOM - n, "]}}");
	for (int i = 0; i < AFTER; i++)
		n += (size_t)snprintf(
			text + n, ROOM - n,
			",{\"ph\":\"X\",\"name\":\"after\",\"pid\":1,\"tid\":1,\"ts\":%d,\"dur\":2,\"cat\":\"cpu_op\"}",
			i);
	n += (size_t)snprintf(text + n, ROOM - n, "]");
	for (size_t i = 0; i < ASSAY_COUNT_OF(threads); i++) {
		setenv("ASSAY_THREADS", threads[i], 1);
		assay_run *run = assay_read_bytes(&assay_reader_chrome, text, n);
		CHECK_EQ(run->part.t.host.n, AFTER + 2);
		CHECK_EQ(run->part.t.track.n, 1);
		assay_run_free(run);
	}
	unsetenv("ASSAY_THREADS");
	return 0;
}

/* The list in the second event never ends, so that what follows is a second stretch of text. */
TEST(bad_syntax_is_no_less_bad_behind_worse)
{
	static const char text[] =
		"[{\"ph\":\"X\",\"name\":\"a\",,\"ts\":1,,\"dur\":2,\"pid\":1,\"tid\":1}"
		",{\"list\":[{}"
		",{\"ph\":\"X\",\"name\":\"c\",\"ts\":1,,\"dur\":2,\"pid\":1,\"tid\":1}]";
	setenv("ASSAY_THREADS", "1", 1); /* the second stretch is read by who read the first */
	assay_run *run = assay_read_bytes(&assay_reader_chrome, text, sizeof text - 1);
	CHECK_EQ(run->part.t.host.n, 2);
	CHECK_EQ(run->part.issues[ASSAY_ISSUE_bad_record], 1);
	CHECK_EQ(run->part.issues[ASSAY_ISSUE_bad_syntax], 2);
	assay_run_free(run);
	unsetenv("ASSAY_THREADS");
	return 0;
}

/* Members in two orders, and between them what JSON allows and what lenient readers take. */
static size_t put_event(char *out, size_t room, unsigned i, unsigned seed)
{
	static const char *const comma[] = {",", ", ", ",\n    ", " ,\t", ",\n          ", ", ,"};
	static const char *const colon[] = {":", ": ", ":  ", " : ", ": \n"};
	const char *c[8], *k = colon[seed >> 8 & 1 ? seed >> 9 & 3 : 1];
	for (int m = 0; m < 8; m++) {
		seed = seed * 1664525 + 1013904223;
		c[m] = comma[seed >> 28 < 12 ? i / 50 % 3 : (seed >> 20) % 6];
	}
	static const char *const fmt[] = {
		"{\"ts\"%1$s%10$u.5%2$s\"ph\"%1$s\"X\"%3$s\"dur\"%1$s%11$u%4$s\"cat\"%1$s\"cpu_op\"%5$s\"name\"%1$s\"n\""
		"%6$s\"args\"%1$s{\n\"External id\"%1$s%10$u%7$s\"x\": 1}%8$s\"pid\"%1$s1%9$s\"tid\"%1$s2}",
		"{\"ph\"%1$s\"X\"%2$s\"cat\"%1$s\"cpu_op\"%3$s\"name\"%1$s\"n\"%4$s\"ts\"%1$s%10$u.5%5$s\"dur\"%1$s%11$u"
		"%6$s\"pid\"%1$s1%7$s\"tid\"%1$s2%8$s\"args\"%1$s{\"External id\"%1$s%10$u%9$s\"x\": 1 }\n}"};
	return (size_t)snprintf(out, room, fmt[seed >> 31], k, c[0], c[1], c[2], c[3], c[4], c[5],
				c[6], c[7], i, i % 9);
}

TEST(the_layout_of_an_event_decides_nothing_about_the_next)
{
	enum { ROOM = 1 << 20, EVENTS = 2000, CUTS = 250 };
	static char text[ROOM];
	size_t n = (size_t)snprintf(text, ROOM, "{\"traceEvents\": ["), last = 0;
	for (unsigned i = 0; i < EVENTS; i++) {
		n += (size_t)snprintf(text + n, ROOM - n, i ? ",\n" : "");
		last = n;
		n += put_event(text + n, ROOM - n, i, i * 2654435761u);
	}
	CHECK(n + CUTS < ROOM && n - last > 80);
	for (size_t cut = 0; cut < CUTS; cut += cut < n - last ? 1 : 50) {
		assay_run *run = assay_read_bytes(&assay_reader_chrome, text, n - cut);
		const assay_tables *t = &run->part.t;
		CHECK(cut > n - last || t->host.n == EVENTS - (cut > 0));
		for (uint32_t i = 0; i < t->host.n; i++)
			CHECK(t->host.ts[i] == i * 1000 + 500 && t->host.dur[i] == i % 9 * 1000 &&
			      t->op.external[t->host.detail[i]] == i);
		assay_run_free(run);
	}
	return 0;
}

/* An operator with up to six members from a few, none of them with a place but the first; kept gets
 * what the row keeps of them. */
static size_t put_members(char *out, size_t room, unsigned seed, char kept[static 512])
{
	static const char *const member[] = {
		"\"External id\": 7",
		"\"Input Dims\": [[1, 2]]",
		"\"Input Dims\": [[1, 2], 3]",
		"\"Concrete Inputs\": [\"a]\", \"}\"]",
		"\"kind\": 1",
		"\"kind\": 12",
		"\"mine\": {\"x\": \"\\\"]\"}",
		"\"mine\": true",
	};
	size_t n = (size_t)snprintf(out, room,
				    "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"n%u\", "
				    "\"pid\": 1, \"tid\": 2, \"ts\": 1, \"dur\": 1, \"args\": {",
				    seed >> 8 & 1),
	       k = 0;
	kept[0] = 0;
	for (unsigned i = 0, count = seed >> 16 & 7; i < count; i++) {
		unsigned m = (seed = seed * 1664525 + 1013904223) >> 27 & 7;
		n += (size_t)snprintf(out + n, room - n, "%s%s", i ? ", " : "", member[m]);
		if (m)
			k += (size_t)snprintf(kept + k, 512 - k, "%s%s", k ? ", " : "", member[m]);
	}
	return n + (size_t)snprintf(out + n, room - n, "}}");
}

TEST(arguments_met_before_are_kept_as_they_stand)
{
	enum { ROOM = 1 << 20, EVENTS = 3000 };
	static char text[ROOM], kept[EVENTS][512];
	size_t n = (size_t)snprintf(text, ROOM, "[");
	for (unsigned i = 0; i < EVENTS; i++) {
		n += (size_t)snprintf(text + n, ROOM - n, i ? ",\n" : "");
		n += put_members(text + n, ROOM - n, i * 2654435761u, kept[i]);
	}
	n += (size_t)snprintf(text + n, ROOM - n, "]");
	assay_run *run = assay_read_bytes(&assay_reader_chrome, text, n);
	CHECK_EQ(run->part.t.host.n, EVENTS);
	for (uint32_t i = 0; i < EVENTS; i++)
		CHECK(!strcmp(assay_z(run, run->part.t.host.args[i]), kept[i]));
	assay_run_free(run);
	return 0;
}

TEST(only_traces_are_claimed)
{
	CHECK(chrome_sniff(ASSAY_S("  {\"traceEvents\": [")) > 90);
	CHECK(chrome_sniff(ASSAY_S("[{\"ph\": \"X\"}]")) > 80);
	CHECK(chrome_sniff(ASSAY_S("{\"metadata\": {\"tokens_per_sec\": 1}}")) > 0);
	CHECK(chrome_sniff(ASSAY_S("{\"rocprofiler-sdk-tool\": [{\"metadata\": {")) == 0);
	CHECK(chrome_sniff(ASSAY_S("{}")) == 0 && chrome_sniff(ASSAY_S("x")) == 0);
	return 0;
}

TEST(a_look_at_a_thread_without_arguments_is_a_look)
{
	assay_run *run =
		READ("{\"traceEvents\": [{\"ph\": \"P\", \"cat\": \"thread_look\", \"ts\": 3}]}");
	CHECK(run);
	CHECK_EQ(run->part.t.sample.n, 1);
	CHECK_EQ(run->part.t.sample.ts[0], 3000);
	assay_run_free(run);
	return 0;
}

#define EVENT(ts)                                                                                  \
	"{\"ph\": \"X\", \"name\": \"a\", \"pid\": 1, \"tid\": 2, \"ts\": " #ts ", \"dur\": 1}"

TEST(documents_in_a_row_and_events_by_line_are_one_trace)
{
	static const struct {
		const char *text;
		size_t events, bad;
	} files[] = {
		{"{\"traceEvents\": [" EVENT(1) "]}\n{\"traceEvents\": [" EVENT(2) "]}", 2, 0},
		{"[" EVENT(1) "]\n[" EVENT(2) "," EVENT(3) "]\n", 3, 0},
		{EVENT(1) "\n" EVENT(2) "\n" EVENT(3) "\n", 3, 0},
		{"{\"schemaVersion\": 1}\n" EVENT(1) "\n" EVENT(2), 2, 0},
		{"\x1e" EVENT(1) "\n\x1e" EVENT(2) "\n", 2, 1},
		{"{\"traceEvents\": [" EVENT(1) "]} and more", 1, 1},
		{"{\"traceEvents\": [" EVENT(1) "], \"x\": 1}\n\n", 1, 0},
		{"{\"traceEvents\": {\"0\": " EVENT(1) "}}", 0, 1},
	};
	for (size_t i = 0; i < ASSAY_COUNT_OF(files); i++) {
		assay_run *run = READ(files[i].text);
		CHECK(run);
		CHECK_EQ(run->part.t.host.n, files[i].events);
		CHECK_EQ(run->part.issues[ASSAY_ISSUE_bad_record] > 0, files[i].bad);
		assay_run_free(run);
	}
	return 0;
}

TEST(json_that_is_no_trace_is_refused)
{
	CHECK(!READ("{\"metadata\": {\"kernelspec\": {}}, \"nbformat\": 4}"));
	CHECK(!READ("{\"schemaVersion\": 2, \"packages\": [1, 2]}"));
	CHECK(!READ("{\"ph\": 7.2, \"soil\": \"clay\"}"));
	assay_run *run = READ("{\"metadata\": {\"tokens_per_sec\": 1}}");
	CHECK(run);
	assay_run_free(run);
	return 0;
}

TEST(numbers_of_threads_may_be_text)
{
	assay_run *run = READ(
		"[{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":2,\"pid\":7,\"tid\":\"25738\"},"
		"{\"ph\":\"X\",\"name\":\"b\",\"ts\":5,\"dur\":2,\"pid\":\"7\",\"tid\":25738},"
		"{\"ph\":\"X\",\"name\":\"c\",\"ts\":5,\"dur\":2,\"pid\":7,\"tid\":\"7 x\"},"
		"{\"ph\":\"X\",\"name\":\"d\",\"ts\":5,\"dur\":2,\"pid\":7,\"tid\":\"\"}]");
	const assay_tables *t = &run->part.t;
	CHECK(t->host.n == 4 && t->host.track[0] == t->host.track[1]);
	CHECK_EQ(t->track.tid[t->host.track[0]], 25738);
	CHECK(t->track.tid[t->host.track[2]] == -1 && t->track.tid[t->host.track[3]] == -1);
	CHECK(!strcmp(assay_z(run, t->track.name[t->host.track[2]]), "7 x"));
	assay_run_free(run);
	return 0;
}

TEST(ranges_of_the_profiler_are_ranges_where_they_were_written_as_operators)
{
	assay_run *run = READ(
		"[{\"ph\":\"X\",\"cat\":\"Operator\",\"name\":\"ProfilerStep#5\",\"ts\":1,\"dur\":9,\"pid\":7,\"tid\":1},"
		"{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"Optimizer.step#SGD.step\",\"ts\":2,\"dur\":2,\"pid\":7,\"tid\":1},"
		"{\"ph\":\"X\",\"cat\":\"Operator\",\"name\":\"aten::mm\",\"ts\":5,\"dur\":2,\"pid\":7,\"tid\":1}]");
	const assay_host_table *h = &run->part.t.host;
	CHECK(h->n == 3 && h->kind[0] == ASSAY_HOST_ANNOTATION);
	CHECK(h->kind[1] == ASSAY_HOST_ANNOTATION && h->kind[2] == ASSAY_HOST_OP);
	assay_run_free(run);
	return 0;
}
