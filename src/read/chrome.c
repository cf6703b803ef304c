/* Chrome trace event JSON, above all as Kineto (torch.profiler) writes it. docs/formats/chrome.md
 */
#include "read/chrome.h"

#include "base/cpu.h"
#include "base/test.h"
#include "read/reader.h"

enum { MEMBER = 1 << 20, LOST_MAX = 16, SEP_SEARCH = 1 << 20 };

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

static assay_pump_status parse_window(void *ctx, unsigned worker, assay_view text, size_t limit,
				      uint64_t pos, size_t *used)
{
	chrome *c = ctx;
	(void)pos;
	return c->scan(c, worker, text, limit, used);
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
	w->events = w->odd = w->closed = 0;
	if (run->progress)
		run->progress(run->progress_ctx, assay_input_path(c->in),
			      assay_input_file_pos(c->in), assay_input_file_bytes(c->in));
}

static void fill_window(void *ctx, unsigned worker)
{
	chrome *c = ctx;
	assay_part_fill(c->gate, &c->run->part, &c->worker[worker].part, &c->worker[worker].moved);
}

static void discard_window(void *ctx, unsigned worker)
{
	chrome_worker *w = &((chrome *)ctx)->worker[worker];
	assay_part_clear(&w->part);
	w->events = w->odd = w->closed = 0;
}

/* The events from pos (behind the opening bracket). Returns the position behind the list. A record
 * that never ends is stepped over and reading goes on behind it, a limited number of times, for
 * each such record costs a look at all that follows. */
static uint64_t read_events(chrome *c, uint64_t pos)
{
	if (!c->sep_n)
		learn_separator(c, pos);
	c->closed = false;
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

/* The members of the top object from pos on, the list of events among them. */
static bool read_object(chrome *c, uint64_t pos, assay_err *err)
{
	bool fresh = true;
	for (size_t want = MEMBER;;) {
		assay_view v = assay_input_view(c->in, pos, want);
		assay_json j = assay_json_on(v.p, v.n);
		assay_str key, value;
		j.fresh = fresh;
		if (assay_json_member(&j, &key)) {
			if (assay_str_is(key, "traceEvents") && assay_json_peek(&j) == '[') {
				pos = read_events(c, pos + (uint64_t)(j.p + 1 - v.p));
				fresh = false;
				continue;
			}
			if (assay_json_skip(&j, &value) && (j.p < j.end || v.end)) {
				add_header(c, key, value);
				pos += (uint64_t)(j.p - v.p);
				assay_input_drop(c->in, pos);
				fresh = false;
				continue;
			}
		} else if (assay_json_ok(&j)) {
			return true;
		}
		if (v.end) {
			if (fresh)
				return assay_fail(err, ASSAY_FORMAT, pos + (uint64_t)(j.p - v.p),
						  "%s is no JSON object", assay_input_path(c->in));
			assay_count(&c->run->part,
				    j.cut ? ASSAY_ISSUE_truncated : ASSAY_ISSUE_bad_syntax, 1);
			return true;
		}
		want = v.n + MEMBER;
	}
}

/* deviceProperties: one row a device. */
static void add_devices(assay_run *run, assay_str json)
{
	assay_arena scratch = {0};
	char *text = assay_alloc(&scratch, json.n + ASSAY_PAD);
	memcpy(text, json.p, json.n);
	assay_json j = assay_json_on(text, json.n);
	assay_json_enter(&j, '[');
	while (assay_json_element(&j) && assay_json_enter(&j, '{')) {
		assay_device_table *d = &run->part.t.device;
		uint32_t r = assay_add(&run->part.t, ASSAY_T_device);
		int64_t major = -1, minor = -1, v;
		d->source[r] = run->part.source;
		for (assay_str key, s; assay_json_member(&j, &key);) {
			if (assay_str_is(key, "name") && assay_json_peek(&j) == '"') {
				if (assay_json_text(&j, &s))
					d->name[r] = assay_intern(&run->part.strings,
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
		/* AMD warps are 64 wide on every data-centre part; names settle the rest */
		assay_str name = assay_text(run, d->name[r]);
		bool amd = d->warp[r] == 64 || assay_str_find_nocase(name, "amd") >= 0 ||
			   assay_str_find_nocase(name, "radeon") >= 0;
		d->vendor[r] = assay_sid_of(run, amd ? "amd" : "nvidia");
		if (major >= 0 && minor >= 0 && !amd)
			d->arch[r] = assay_sid_of(
				run, assay_printf(&scratch, "sm_%d%d", (int)major, (int)minor));
	}
	assay_arena_free(&scratch);
}

/* streams: what our own writer keeps of each stream. */
static void add_streams(assay_run *run, assay_str json)
{
	assay_arena scratch = {0};
	char *text = assay_alloc(&scratch, json.n + ASSAY_PAD);
	memcpy(text, json.p, json.n);
	assay_json j = assay_json_on(text, json.n);
	assay_json_enter(&j, '[');
	while (assay_json_element(&j) && assay_json_enter(&j, '{')) {
		assay_stream_table *s = &run->part.t.stream;
		uint32_t r = assay_add(&run->part.t, ASSAY_T_stream);
		s->source[r] = run->part.source;
		for (assay_str key; assay_json_member(&j, &key);) {
			int64_t v;
			uint64_t u;
			if (assay_str_is(key, "handle")) {
				if (assay_json_u64(&j, &u))
					s->handle[r] = u;
			} else if (!assay_json_i64(&j, &v)) {
				continue;
			} else if (assay_str_is(key, "id")) {
				s->id[r] = v;
			} else if (assay_str_is(key, "device")) {
				s->device[r] = (int32_t)v;
			} else if (assay_str_is(key, "context")) {
				s->context[r] = (uint32_t)v;
			} else if (assay_str_is(key, "priority")) {
				s->priority[r] = (int32_t)v;
			} else if (assay_str_is(key, "flags")) {
				s->flags[r] = (uint32_t)v;
			} else if (assay_str_is(key, "created_ns")) {
				s->created[r] = v;
			} else if (assay_str_is(key, "destroyed_ns")) {
				s->destroyed[r] = v;
			}
		}
	}
	assay_arena_free(&scratch);
}

/* Header facts that have a column of their own. */
static void apply_header(assay_run *run, size_t first_meta)
{
	const assay_meta_table *m = &run->part.t.meta;
	assay_source_table *s = &run->part.t.source;
	uint32_t src = run->part.source;
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
		else if (assay_str_is(key, "deviceProperties"))
			add_devices(run, value);
		else if (assay_str_is(key, "streams"))
			add_streams(run, value);
	}
}

static bool chrome_read(assay_run *run, assay_input *in, assay_err *err)
{
	static chrome_scan_fn *const scans[] = {chrome_scan_scalar,
#ifdef ASSAY_X86
						chrome_scan_avx2, chrome_scan_avx512
#endif
	};
	static chrome_parse_fn *const parsers[] = {chrome_parse_scalar,
#ifdef ASSAY_X86
						   chrome_parse_avx2, chrome_parse_avx512
#endif
	};
	assay_arena arena = {0};
	chrome *c = assay_alloc(&arena, sizeof *c);
	assay_isa isa = assay_cpu_isa();
	*c = (chrome){.run = run,
		      .in = in,
		      .workers = assay_threads(),
		      .scan = scans[isa],
		      .parse = parsers[isa]};
	c->worker = assay_alloc(&arena, c->workers * sizeof *c->worker);
	for (unsigned i = 0; i < c->workers; i++) {
		c->worker[i].part.source = run->part.source;
		c->worker[i].ts_digits = 13;
		for (unsigned k = 0; k < CHROME_TRACKS; k++)
			c->worker[i].cache[k].track = ASSAY_NO_ROW;
	}
	chrome_words_fill(c);
	c->gate = assay_gate_new(&arena);
	size_t first_meta = run->part.t.meta.n;
	assay_view v = assay_input_view(in, 0, MEMBER);
	assay_json j = assay_json_on(v.p, v.n);
	char open = assay_json_peek(&j);
	uint64_t pos = (uint64_t)(j.p + 1 - v.p);
	bool ok = true;
	if (open == '[')
		read_events(c, pos);
	else
		ok = read_object(c, pos, err);
	chrome_finish(c);
	apply_header(run, first_meta);
	for (unsigned i = 0; i < c->workers; i++) {
		assay_part_free(&c->worker[i].part);
		assay_moved_free(&c->worker[i].moved);
		assay_vec_free(&c->worker[i].extra);
	}
	assay_gate_free(c->gate);
	assay_arena_free(&arena);
	return ok;
}

const assay_reader assay_reader_chrome = {
	.name = "chrome",
	.about = "Chrome trace event JSON: Kineto, torch.profiler and others",
	.sniff = chrome_sniff,
	.read = chrome_read,
};
