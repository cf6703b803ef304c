/* The reading half of `--like goblin`. Its rules differ from our readers' on purpose
 * (docs/formats/goblin.md): here a wrong column pick that the original makes is made too. */
#include "read/goblin.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/input.h"
#include "base/json.h"
#include "base/test.h"
#include "base/utf8.h"
#include "read/pytext.h"

enum { DEFAULT_STEPS = 10, HEAD = 64 << 10 };
static const size_t text_max = (size_t)1 << 40; /* asks for all of a text */

/* Candidate column names, in the order they are tried. */
static const char *const name_columns[] = {"KernelName", "Kernel_Name", "kernel_name", "Name",
					   NULL};
static const char *const start_columns[] = {"BeginNs", "start_ns", "BeginNS", "Start", NULL};
static const char *const end_columns[] = {"EndNs", "end_ns", "EndNS", "End", NULL};
static const char *const duration_columns[] = {"DurationNs", "duration_ns", "Duration", NULL};
static const char *const vram_columns[] = {
	"used_vram", "USED_VRAM", "VRAM_USED_MB", "vram_used_mb", "VRAM_USED", "VRAM_USED_GB",
	"vram_used", "VRAM Used", "MEM_USED",     "mem_used",     NULL};
static const char *const util_columns[] = {
	"usage",           "USAGE",           "GFX_UTIL",     "gfx_util",
	"GFX_UTILIZATION", "gfx_utilization", "GFX_ACTIVITY", "gfx_activity",
	"GPU_USE",         "GFX %",           "Util",         NULL};
static const char *const rocm_columns[] = {"ROCM_VERSION", "rocm_version", NULL};

static const char *const smi_header_marks[] = {"vram", "gfx_", "timestamp,", "gpu_use", "gpu,"};

/* Warnings: which file, and what became of it. */
static const char kernel_trace[] = "kernel trace", torch_profile[] = "torch profile",
		  telemetry[] = "amd-smi telemetry";

ASSAY_PRINTF(4, 5)
static void warn(assay_goblin_input *out, const char *what, const char *problem, const char *fmt,
		 ...)
{
	char detail[400];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(detail, sizeof detail, fmt, ap);
	va_end(ap);
	*assay_push(&out->warnings) =
		assay_printf(&out->arena, "goblin: %s %s: %s", what, problem, detail);
}

static void set(assay_goblin_number *n, double v)
{
	*n = (assay_goblin_number){v, true};
}

/* ---- columns ---- */

typedef struct header {
	const assay_str *cell;
	size_t n;
} header;

/* A record is a map: of columns with one name the last one's cell counts. */
static int last_of_name(header h, assay_str name)
{
	for (size_t i = h.n; i-- > 0;)
		if (assay_str_eq(h.cell[i], name))
			return (int)i;
	return -1;
}

static int same_nocase(header h, assay_str name)
{
	for (size_t i = h.n; i-- > 0;)
		if (assay_str_same(h.cell[i], name))
			return (int)i;
	return -1;
}

static bool has_all_tokens(assay_str cell, const char *candidate)
{
	char token[32];
	for (const char *p = candidate; *p;) {
		size_t n = strcspn(p, "_ ");
		snprintf(token, sizeof token, "%.*s", (int)n, p);
		if (n && assay_str_find_nocase(cell, token) < 0)
			return false;
		p += n + (p[n] != 0);
	}
	return true;
}

static int with_tokens(header h, const char *candidate)
{
	for (size_t i = 0; i < h.n; i++)
		if (has_all_tokens(h.cell[i], candidate))
			return last_of_name(h, h.cell[i]);
	return -1;
}

/* Every candidate exactly, then every one without case, then every one by its parts. -1: none. */
static int pick(header h, const char *const *candidates)
{
	int i = -1;
	for (const char *const *c = candidates; *c && i < 0; c++)
		i = last_of_name(h, assay_str_of(*c));
	for (const char *const *c = candidates; *c && i < 0; c++)
		i = same_nocase(h, assay_str_of(*c));
	for (const char *const *c = candidates; *c && i < 0; c++)
		i = with_tokens(h, *c);
	return i;
}

/* The next record's cells, owned by a; the header must outlive the records after it. */
static bool read_header(py_csv *csv, assay_arena *a, header *h)
{
	if (!py_csv_next(csv) || !csv->cells.n)
		return false;
	assay_str *cell = assay_alloc(a, csv->cells.n * sizeof *cell);
	for (size_t i = 0; i < csv->cells.n; i++)
		cell[i] = (assay_str){assay_dup(a, csv->cells.p[i]), csv->cells.p[i].n};
	*h = (header){cell, csv->cells.n};
	return true;
}

/* p is NULL when there is no such column or the record is short. */
static assay_str cell_at(const py_csv *csv, int column)
{
	if (column < 0 || (size_t)column >= csv->cells.n)
		return (assay_str){NULL, 0};
	return csv->cells.p[column];
}

/* ---- trace.csv ---- */

/* int(float(cell)); false for what is no number, infinite or beyond 64 bits. */
static bool whole_number(assay_str cell, int64_t *out)
{
	double v;
	if (!cell.p || !py_float(cell, &v) ||
	    !(v > -9223372036854775808.0 && v < 9223372036854775808.0))
		return false;
	*out = (int64_t)v;
	return true;
}

typedef struct trace_columns {
	int name, start, end, duration;
} trace_columns;

static trace_columns pick_trace(header h)
{
	return (trace_columns){pick(h, name_columns), pick(h, start_columns), pick(h, end_columns),
			       pick(h, duration_columns)};
}

/* 0 when the row does not tell. */
static int64_t duration_of(const py_csv *csv, const trace_columns *col)
{
	int64_t start, end, ns;
	assay_str cell = cell_at(csv, col->duration);
	if (cell.n)
		return whole_number(cell, &ns) ? ns : 0;
	bool told = whole_number(cell_at(csv, col->end), &end) &&
		    whole_number(cell_at(csv, col->start), &start) &&
		    !__builtin_sub_overflow(end, start, &ns);
	return told ? ns : 0;
}

static void read_kernels(assay_goblin_input *out, py_csv *csv, const trace_columns *col)
{
	while (py_csv_next(csv)) {
		assay_str name = py_strip(cell_at(csv, col->name));
		int64_t ns = duration_of(csv, col);
		if (name.n && ns > 0)
			*assay_push(&out->kernels) =
				(assay_goblin_launch){assay_intern(&out->names, name), ns};
	}
}

static void drop_kernels(assay_goblin_input *out)
{
	out->kernels.n = 0;
	assay_pool_free(&out->names);
	out->names = (assay_pool){0};
}

static void read_trace(assay_goblin_input *out, assay_str text, const char *path)
{
	assay_arena scratch = {0};
	py_csv csv = {.p = text.p, .end = text.p + text.n};
	header h;
	if (read_header(&csv, &scratch, &h)) {
		trace_columns col = pick_trace(h);
		read_kernels(out, &csv, &col);
	} else if (!csv.too_long) {
		warn(out, kernel_trace, "is empty", "%s", path);
	}
	if (csv.too_long) {
		drop_kernels(out);
		warn(out, kernel_trace, "failed to read", "%s has a field over the size limit",
		     path);
	}
	py_csv_free(&csv);
	assay_arena_free(&scratch);
}

/* ---- torch_profile.json ---- */

static bool is_integer_text(assay_str raw)
{
	return !memchr(raw.p, '.', raw.n) && !memchr(raw.p, 'e', raw.n) &&
	       !memchr(raw.p, 'E', raw.n);
}

/* A JSON number or boolean; whole numbers beyond a double's range are none. */
static bool json_number(assay_str raw, double *out)
{
	if (assay_str_is(raw, "true") || assay_str_is(raw, "false")) {
		*out = raw.p[0] == 't';
		return true;
	}
	char c = raw.n ? raw.p[0] : 0;
	if (c == '"' || c == '{' || c == '[' || c == 'n' || !py_float(raw, out))
		return false;
	bool digits = assay_is_digit(raw.p[raw.n - 1]);
	return !(isinf(*out) && digits && is_integer_text(raw));
}

static assay_str json_string(assay_arena *a, assay_str raw)
{
	if (raw.n < 2 || raw.p[0] != '"')
		return (assay_str){NULL, 0};
	return assay_json_unescape(a, (assay_str){raw.p + 1, raw.n - 2});
}

/* float(value) for numbers, booleans and strings that hold a number. */
static void coerce(assay_arena *a, assay_str raw, assay_goblin_number *out)
{
	double v;
	assay_str text = json_string(a, raw);
	out->known = false; /* of members with one name the last one counts */
	if (text.p ? py_float(text, &v) : json_number(raw, &v))
		set(out, v);
}

static void read_metadata(assay_goblin_input *out, assay_str raw)
{
	const struct {
		const char *key;
		assay_goblin_number *to;
	} numbers[] = {{"tokens_per_sec", &out->tokens_per_sec},
		       {"mfu_pct", &out->mfu_pct},
		       {"step_time_seconds", &out->step_seconds},
		       {"host_busy_fraction", &out->host_busy}};
	assay_json j = assay_json_on(raw.p, raw.n);
	assay_str key, value, version = {0}, fallback = {0};
	if (!assay_json_enter(&j, '{'))
		return;
	while (assay_json_member(&j, &key) && assay_json_skip(&j, &value)) {
		key = assay_json_unescape(&out->arena, key);
		for (size_t i = 0; i < ASSAY_COUNT_OF(numbers); i++)
			if (assay_str_is(key, numbers[i].key))
				coerce(&out->arena, value, numbers[i].to);
		if (assay_str_is(key, "pytorch_version"))
			version = json_string(&out->arena, value);
		if (assay_str_is(key, "torch_version"))
			fallback = json_string(&out->arena, value);
	}
	version = version.n ? version : fallback;
	out->pytorch_version = version.n ? assay_dup(&out->arena, version) : NULL;
}

typedef struct event_sums {
	double step_seconds, busy_us, first, last;
	uint64_t steps, spans;
} event_sums;

typedef struct event {
	assay_str name, cat;
	double ts, dur;
	bool has_ts, has_dur;
} event;

static event read_event(assay_json *j, assay_arena *a)
{
	event e = {0};
	assay_str key, value;
	assay_json_enter(j, '{');
	while (assay_json_member(j, &key) && assay_json_skip(j, &value)) {
		key = assay_json_unescape(a, key);
		if (assay_str_is(key, "ts"))
			e.has_ts = json_number(value, &e.ts);
		else if (assay_str_is(key, "dur"))
			e.has_dur = json_number(value, &e.dur);
		else if (assay_str_is(key, "name"))
			e.name = json_string(a, value);
		else if (assay_str_is(key, "cat"))
			e.cat = json_string(a, value);
	}
	return e;
}

static void add_event(event_sums *s, const event *e)
{
	if (!e->has_dur)
		return;
	if (assay_str_starts(e->name, "ProfilerStep")) {
		s->step_seconds += e->dur / 1e6;
		s->steps++;
	}
	if (!e->has_ts)
		return;
	if (assay_str_find_nocase(e->cat, "cpu_op") >= 0)
		s->busy_us += e->dur;
	double end = e->ts + e->dur;
	if (!s->spans || e->ts < s->first)
		s->first = e->ts;
	if (!s->spans++ || end > s->last)
		s->last = end;
}

static void use_events(assay_goblin_input *out, const event_sums *s)
{
	double span = s->spans ? s->last - s->first : 0;
	if (!out->step_seconds.known && s->steps)
		set(&out->step_seconds, s->step_seconds / (double)s->steps);
	else if (!out->step_seconds.known && span > 0)
		set(&out->step_seconds, span / 1e6);
	if (!out->host_busy.known && span > 0) {
		double busy = s->busy_us / span;
		set(&out->host_busy, busy < 1.0 ? busy : 1.0);
	}
}

static void read_events(assay_goblin_input *out, assay_str raw)
{
	assay_arena scratch = {0};
	assay_json j = assay_json_on(raw.p, raw.n);
	event_sums sums = {0};
	if (!assay_json_enter(&j, '['))
		return;
	while (assay_json_element(&j)) {
		if (assay_json_peek(&j) != '{') {
			if (!assay_json_skip(&j, NULL))
				break;
			continue;
		}
		event e = read_event(&j, &scratch);
		add_event(&sums, &e);
	}
	use_events(out, &sums);
	assay_arena_free(&scratch);
}

static void read_profile(assay_goblin_input *out, assay_str text, const char *path)
{
	if (!py_json_valid(text)) {
		warn(out, torch_profile, "failed to read", "%s is not valid JSON", path);
		return;
	}
	assay_json j = assay_json_on(text.p, text.n);
	assay_str key, value, metadata = {0}, events = {0};
	if (assay_json_peek(&j) != '{')
		return;
	assay_json_enter(&j, '{');
	while (assay_json_member(&j, &key) && assay_json_skip(&j, &value)) {
		key = assay_json_unescape(&out->arena, key);
		if (assay_str_is(key, "metadata"))
			metadata = value;
		if (assay_str_is(key, "traceEvents"))
			events = value;
	}
	if (metadata.n && metadata.p[0] == '{')
		read_metadata(out, metadata);
	if (events.n && events.p[0] == '[')
		read_events(out, events);
}

/* ---- amd_smi.csv ---- */

static bool is_smi_header(assay_str line)
{
	if (!memchr(line.p, ',', line.n))
		return false;
	for (size_t i = 0; i < ASSAY_COUNT_OF(smi_header_marks); i++)
		if (assay_str_find_nocase(line, smi_header_marks[i]) >= 0)
			return true;
	return false;
}

/* The table below its preamble, without blank lines and repeated headers; empty: no header. */
static assay_str clean_smi(assay_str text, assay_arena *a)
{
	char *out = assay_alloc(a, text.n + 1);
	size_t n = 0;
	assay_str line, head = {0};
	while (py_line(&text, &line)) {
		if (!head.p && !is_smi_header(line))
			continue;
		if (head.p && (!py_strip(line).n || assay_str_eq(line, head)))
			continue;
		if (!head.p)
			head = line;
		memcpy(out + n, line.p, line.n);
		n += line.n;
		out[n++] = '\n';
	}
	return (assay_str){out, n};
}

static size_t remove_text(char *p, size_t n, const char *what)
{
	size_t len = strlen(what), to = 0;
	for (size_t i = 0; i < n;) {
		if (n - i >= len && !memcmp(p + i, what, len))
			i += len;
		else
			p[to++] = p[i++];
	}
	return to;
}

static bool ends_with(assay_str s, const char *end)
{
	size_t n = strlen(end);
	return s.n >= n && assay_str_same((assay_str){s.p + s.n - n, n}, assay_str_of(end));
}

static bool contains(assay_str s, const char *part)
{
	return assay_str_find_nocase(s, part) >= 0;
}

/* The unit is guessed from the column's name. */
static double to_gb(double v, assay_str column)
{
	if (contains(column, "_mb") || ends_with(column, "mb"))
		return v / 1024.0;
	if (contains(column, "_gb") || ends_with(column, "gb"))
		return v;
	if (contains(column, "vram") || contains(column, "mem"))
		return v / 1024.0;
	return v > 1024.0 ? v / 1024.0 : v;
}

static bool memory_gb(assay_str cell, assay_str column, double *out)
{
	assay_arena scratch = {0};
	char small[64];
	if (!cell.n)
		return false;
	char *text = cell.n <= sizeof small ? small : assay_alloc(&scratch, cell.n);
	memcpy(text, cell.p, cell.n);
	size_t n = remove_text(text, cell.n, "MB");
	n = remove_text(text, n, "GB");
	n = remove_text(text, n, ",");
	bool ok = py_float((assay_str){text, n}, out);
	assay_arena_free(&scratch);
	if (ok)
		*out = to_gb(*out, column);
	return ok;
}

typedef struct smi_sums {
	double peak, memory, util;
	uint64_t memories, utils;
} smi_sums;

static void add_sample(assay_goblin_input *out, smi_sums *s, const py_csv *csv, header h,
		       const int col[3])
{
	double v;
	if (memory_gb(cell_at(csv, col[0]), col[0] < 0 ? (assay_str){0} : h.cell[col[0]], &v)) {
		if (!s->memories++ || v > s->peak)
			s->peak = v;
		s->memory += v;
	}
	assay_str util = cell_at(csv, col[1]), version = py_strip(cell_at(csv, col[2]));
	if (util.p && py_float(util, &v)) {
		s->util += v < 100.0 ? v : 100.0;
		s->utils++;
	}
	if (!out->rocm_version && version.n)
		out->rocm_version = assay_dup(&out->arena, version);
}

static void use_samples(assay_goblin_input *out, const smi_sums *s)
{
	if (s->memories) {
		set(&out->hbm_peak_gb, s->peak);
		set(&out->hbm_avg_gb, s->memory / (double)s->memories);
	}
	if (s->utils)
		set(&out->gpu_util_pct, s->util / (double)s->utils);
}

static void read_smi_table(assay_goblin_input *out, assay_str table, const char *path,
			   assay_arena *a)
{
	py_csv csv = {.p = table.p, .end = table.p + table.n};
	smi_sums sums = {0};
	header h;
	if (read_header(&csv, a, &h)) {
		const int col[3] = {pick(h, vram_columns), pick(h, util_columns),
				    pick(h, rocm_columns)};
		while (py_csv_next(&csv))
			if (csv.cells.n)
				add_sample(out, &sums, &csv, h, col);
	}
	if (csv.too_long) {
		out->rocm_version = NULL;
		warn(out, telemetry, "failed to parse", "%s has a field over the size limit", path);
	} else {
		use_samples(out, &sums);
	}
	py_csv_free(&csv);
}

static void read_smi(assay_goblin_input *out, assay_str text, const char *path)
{
	assay_arena scratch = {0};
	assay_str table = clean_smi(text, &scratch);
	if (!py_strip(text).n)
		warn(out, telemetry, "is empty", "%s", path);
	else if (!table.n)
		warn(out, telemetry, "has no parseable header", "%s", path);
	else
		read_smi_table(out, table, path, &scratch);
	assay_arena_free(&scratch);
}

/* ---- the three files ---- */

typedef struct artefact {
	const char *file, *what;
	void (*read)(assay_goblin_input *out, assay_str text, const char *path);
} artefact;

enum { TRACE, PROFILE, SMI, ARTEFACTS };
static const artefact artefacts[ARTEFACTS] = {
	{"trace.csv", kernel_trace, read_trace},
	{"torch_profile.json", torch_profile, read_profile},
	{"amd_smi.csv", telemetry, read_smi},
};

static void read_file(assay_goblin_input *out, const artefact *a, const char *path)
{
	assay_err err = {0};
	assay_input *in = assay_input_open(path, &err);
	if (!in) {
		warn(out, a->what, "failed to read", "%s", err.text);
		return;
	}
	assay_view v = assay_input_view(in, 0, text_max);
	const char *damage = assay_input_damage(in);
	if (damage)
		warn(out, a->what, "failed to read", "%s: %s", path, damage);
	else if (!assay_utf8_valid((assay_str){v.p, v.n}))
		warn(out, a->what, "failed to read", "%s is not valid UTF-8", path);
	else
		a->read(out, (assay_str){v.p, v.n}, path);
	assay_input_close(in);
}

static void read_artefact(assay_goblin_input *out, const artefact *a, const char *dir)
{
	const char *plain = assay_printf(&out->arena, "%s/%s", dir, a->file);
	const char *packed = assay_printf(&out->arena, "%s.gz", plain);
	if (access(plain, F_OK) == 0)
		read_file(out, a, plain);
	else if (access(packed, F_OK) == 0)
		read_file(out, a, packed);
	else
		warn(out, a->what, "not found", "%s", plain);
}

/* Which of the three a single file is; ARTEFACTS when none. */
static int artefact_of(assay_str head)
{
	assay_arena scratch = {0};
	assay_str start = py_strip(head), rest = head, line;
	int is = ARTEFACTS;
	if (start.n && (start.p[0] == '{' || start.p[0] == '['))
		return PROFILE;
	py_csv csv = {.p = head.p, .end = head.p + head.n};
	header h;
	if (read_header(&csv, &scratch, &h)) {
		trace_columns c = pick_trace(h);
		if (c.name >= 0 && (c.duration >= 0 || (c.start >= 0 && c.end >= 0)))
			is = TRACE;
	}
	while (is == ARTEFACTS && py_line(&rest, &line))
		if (is_smi_header(line))
			is = SMI;
	py_csv_free(&csv);
	assay_arena_free(&scratch);
	return is;
}

static bool read_single(assay_goblin_input *out, const char *path, assay_err *err)
{
	assay_input *in = assay_input_open(path, err);
	if (!in)
		return false;
	assay_view v = assay_input_view(in, 0, HEAD);
	int is = artefact_of((assay_str){v.p, v.n < HEAD ? v.n : HEAD});
	assay_input_close(in);
	if (is == ARTEFACTS)
		return assay_fail(err, ASSAY_UNKNOWN, 0,
				  "%s is not a kernel trace, torch profile or amd-smi table", path);
	for (int i = 0; i < ARTEFACTS; i++) {
		if (i == is)
			read_file(out, &artefacts[i], path);
		else
			warn(out, artefacts[i].what, "not found", "%s", artefacts[i].file);
	}
	return true;
}

bool assay_goblin_read(const char *path, const char *precision, int steps, assay_goblin_input *out,
		       assay_err *err)
{
	struct stat st;
	*out = (assay_goblin_input){.steps = steps ? steps : DEFAULT_STEPS};
	out->precision = precision ? assay_dup(&out->arena, assay_str_of(precision)) : NULL;
	if (stat(path, &st) < 0)
		return assay_fail(err, ASSAY_IO, 0, "cannot open %s: %s", path, strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return read_single(out, path, err);
	for (int i = 0; i < ARTEFACTS; i++)
		read_artefact(out, &artefacts[i], path);
	return true;
}

void assay_goblin_input_free(assay_goblin_input *in)
{
	assay_vec_free(&in->kernels);
	assay_vec_free(&in->warnings);
	assay_pool_free(&in->names);
	assay_arena_free(&in->arena);
	*in = (assay_goblin_input){0};
}

/* ---- tests ---- */

/* The picked column's name of a header with bare commas; "" when none. */
static const char *picked(const char *columns, const char *const *candidates)
{
	static char name[64];
	assay_str cells[40], rest = assay_str_of(columns);
	size_t n = 0;
	while (rest.n)
		cells[n++] = assay_str_cut(&rest, ',');
	int i = pick((header){cells, n}, candidates);
	snprintf(name, sizeof name, "%.*s", i < 0 ? 0 : (int)cells[i].n, i < 0 ? "" : cells[i].p);
	return name;
}

TEST(columns_are_picked_in_three_tiers)
{
	static const char rocprofv3[] =
		"Kind,Agent_Id,Queue_Id,Stream_Id,Thread_Id,Dispatch_Id,Kernel_Id,Kernel_Name,Correlation_Id,Start_Timestamp,End_Timestamp,LDS_Block_Size";
	CHECK(!strcmp(picked(rocprofv3, name_columns), "Kernel_Name"));
	CHECK(!strcmp(picked(rocprofv3, start_columns), "Start_Timestamp"));
	CHECK(!strcmp(picked(rocprofv3, end_columns), "End_Timestamp"));
	CHECK(!strcmp(picked(rocprofv3, duration_columns), ""));
	static const char stats[] = "Name,Calls,TotalDurationNs,AverageNs,Percentage";
	CHECK(!strcmp(picked(stats, name_columns), "Name"));
	CHECK(!strcmp(picked(stats, duration_columns), "TotalDurationNs"));
	static const char monitor[] =
		"timestamp,gpu,power_usage,gfx,gfx_clock,vram_used,vram_total";
	CHECK(!strcmp(picked(monitor, util_columns), "power_usage"));
	CHECK(!strcmp(picked(monitor, vram_columns), "vram_used"));
	CHECK(!strcmp(picked("KERNELNAME,kernelname,Name", name_columns), "Name"));
	CHECK(!strcmp(picked("KERNELNAME,kernelname", name_columns), "kernelname"));
	CHECK(!strcmp(picked("a,My GFX Load %,x", util_columns), "My GFX Load %"));
	return 0;
}

static void read_as(assay_goblin_input *out, int artefact_id, const char *text)
{
	assay_input *in = assay_input_memory(text, strlen(text));
	assay_view v = assay_input_view(in, 0, text_max);
	artefacts[artefact_id].read(out, (assay_str){v.p, v.n}, "x");
	assay_input_close(in);
}

TEST(kernels_need_a_name_and_a_length)
{
	assay_goblin_input in = {0};
	read_as(&in, TRACE,
		"Kernel_Name,Start,End,DurationNs\n"
		" a ,10,30,\n"    /* 20 */
		"b,10,30,5.9\n"   /* 5 */
		"c,10,30,bad\n"   /* no fallback */
		",10,30,5\n"      /* no name */
		"d,30,10,\n"      /* negative */
		"e,10,30,inf\n"   /* not a length */
		"f,10,30,nan\n"   /* not a length */
		"g,10.9,30.2\n"); /* short: 20 */
	CHECK(in.kernels.n == 3 && in.warnings.n == 0);
	CHECK(in.kernels.p[0].ns == 20 && in.kernels.p[1].ns == 5 && in.kernels.p[2].ns == 20);
	CHECK(assay_str_is(assay_pool_get(&in.names, in.kernels.p[0].name), "a"));
	assay_goblin_input_free(&in);
	return 0;
}

TEST(metadata_is_coerced_and_events_fill_in)
{
	assay_goblin_input in = {0};
	read_as(&in, PROFILE,
		"{\"metadata\": {\"tokens_per_sec\": \"12.5\", \"mfu_pct\": true, "
		"\"host_busy_fraction\": [],"
		"\"pytorch_version\": 2, \"torch_version\": \"2.5\"}, \"traceEvents\": [7,"
		"{\"name\": \"ProfilerStep#1\", \"ts\": 0, \"dur\": 1000},"
		"{\"name\": \"ProfilerStep#2\", \"ts\": 1000, \"dur\": 3000},"
		"{\"name\": \"x\", \"cat\": \"CPU_OP\", \"ts\": 0, \"dur\": 1000}]}");
	CHECK(in.tokens_per_sec.value == 12.5 && in.mfu_pct.value == 1 && in.warnings.n == 0);
	CHECK(in.step_seconds.value == 0.002 && in.host_busy.value == 0.25);
	CHECK(!strcmp(in.pytorch_version, "2.5"));
	assay_goblin_input_free(&in);
	return 0;
}

TEST(smi_banner_and_repeated_headers_are_dropped)
{
	assay_goblin_input in = {0};
	read_as(&in, SMI,
		"'CTRL' + 'C' to stop watching output:\r\n"
		"timestamp,gpu,VRAM_USED_MB,GFX_UTIL,rocm_version\r\n1,0,1024,120,\r\n\r\n"
		"timestamp,gpu,VRAM_USED_MB,GFX_UTIL,rocm_version\r\n1,0,\"3,072 MB\",20,7.0\r\n"
		"1,0,N/A,nan,6\r\n");
	CHECK(in.hbm_peak_gb.value == 3 && in.hbm_avg_gb.value == 2);
	CHECK(in.gpu_util_pct.value == 220.0 / 3 && !strcmp(in.rocm_version, "7.0"));
	assay_goblin_input_free(&in);
	read_as(&in, SMI, "nothing here\n");
	read_as(&in, SMI, "");
	CHECK(in.warnings.n == 2);
	assay_goblin_input_free(&in);
	return 0;
}

TEST(units_of_memory_come_from_the_column_name)
{
	CHECK(to_gb(2048, ASSAY_S("VRAM_USED_MB")) == 2 &&
	      to_gb(2048, ASSAY_S("VRAM_USED_GB")) == 2048);
	CHECK(to_gb(512, ASSAY_S("used_vram")) == 0.5 && to_gb(512, ASSAY_S("Used")) == 512);
	CHECK(to_gb(2048, ASSAY_S("Used")) == 2);
	return 0;
}

TEST(an_empty_directory_gives_three_warnings)
{
	const char *dir = assay_test_path("empty");
	assay_goblin_input in;
	CHECK(!mkdir(dir, 0700));
	CHECK(assay_goblin_read(dir, NULL, 0, &in, NULL) && in.warnings.n == 3 && in.steps == 10);
	assay_goblin_input_free(&in);
	rmdir(dir);
	assay_err err = {0};
	CHECK(!assay_goblin_read(dir, NULL, 0, &in, &err) && err.code == ASSAY_IO);
	assay_goblin_input_free(&in);
	return 0;
}

TEST(single_files_are_told_apart)
{
	CHECK(artefact_of(ASSAY_S(" {\"traceEvents\": []}")) == PROFILE);
	CHECK(artefact_of(ASSAY_S(
		      "\"Kind\",\"Kernel_Name\",\"Start_Timestamp\",\"End_Timestamp\"\n")) ==
	      TRACE);
	CHECK(artefact_of(ASSAY_S("banner\ntimestamp,gpu,gfx\n1,0,5\n")) == SMI);
	CHECK(artefact_of(ASSAY_S("hello\n")) == ARTEFACTS &&
	      artefact_of(ASSAY_S("")) == ARTEFACTS);
	return 0;
}
