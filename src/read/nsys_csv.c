/* Tables that `nsys stats --format csv` prints: traces of the GPU, of calls and of NVTX ranges, and
 * sums by name; and those that nvprof printed before it. Units change with options and the length
 * of the run: nsys writes them into the header, `Start (us)`, nvprof into a row below it.
 * docs/formats/nsys.md tells what becomes of them. */
#include <stdio.h>
#include <string.h>

#include "base/test.h"
#include "names/copies.h"
#include "read/copy_name.h"
#include "read/lines.h"
#include "read/reader.h"
#include "read/rocprof.h"
#include "read/rocprof_csv.h"

/* X(id, spellings in front of the unit) */
#define FIELDS(X)                                                                                  \
	X(NONE, "")                                                                                \
	X(START, "start")                                                                          \
	X(END, "end")                                                                              \
	X(DURATION, "duration")                                                                    \
	X(NAME, "name|operation|range")                                                            \
	X(CORR, "corrid|correlation_id")                                                           \
	X(GRID_X, "grdx|grid x")                                                                   \
	X(GRID_Y, "grdy|grid y")                                                                   \
	X(GRID_Z, "grdz|grid z")                                                                   \
	X(BLOCK_X, "blkx|block x")                                                                 \
	X(BLOCK_Y, "blky|block y")                                                                 \
	X(BLOCK_Z, "blkz|block z")                                                                 \
	X(REGS, "reg/trd|registers per thread")                                                    \
	X(STATIC, "stcsmem|static smem")                                                           \
	X(DYNAMIC, "dymsmem|dynamic smem")                                                         \
	X(BYTES, "bytes|size")                                                                     \
	X(FROM, "srcmemkd|srcmemtype")                                                             \
	X(TO, "dstmemkd|dstmemtype")                                                               \
	X(DEVICE, "device")                                                                        \
	X(CONTEXT, "ctx|context")                                                                  \
	X(STREAM, "strm|stream")                                                                   \
	X(PROCESS, "pid")                                                                          \
	X(THREAD, "tid")                                                                           \
	X(RESULT, "result")                                                                        \
	X(LEVEL, "lvl")                                                                            \
	X(CALLS, "instances|num calls|calls|count")                                                \
	X(TOTAL, "total time|time")                                                                \
	X(MIN, "min|minimum")                                                                      \
	X(MAX, "max|maximum")                                                                      \
	X(TYPE, "type")

typedef enum {
#define X(id, names) F_##id,
	FIELDS(X)
#undef X
		F_COUNT
} field;

static const char *const field_names[F_COUNT] = {
#define X(id, names) names,
	FIELDS(X)
#undef X
};

typedef struct reader reader;

typedef struct table_kind {
	const char *name;
	field needs[5];
	void (*put)(reader *r);
	bool nvprof; /* with a row of units below the header */
} table_kind;

typedef struct unit {
	const char *names;
	int scale;      /* its power of ten */
	int64_t binary; /* of sizes as nvprof counts them: what one is in bytes */
} unit;

struct reader {
	assay_run *run;
	assay_part *part;
	const table_kind *kind;       /* NULL: lines of no table */
	bool units_next;              /* the row below the header is due */
	int column[F_COUNT];          /* -1: not there */
	const unit *unit_of[F_COUNT]; /* of numbers; never NULL below a header */
	size_t columns;
	csv_cells *row;   /* too large for the stack of a small thread */
	assay_sid domain; /* of sums */
	int64_t pid;      /* of the process that nvprof speaks of; -1 */
	uint64_t rows;
	bool any_table;
};

static const unit units[] = {
	{"", 0, 0},        {"ns|nsec|bytes|b", 0, 1},
	{"us|usec", 3, 0}, {"kb", 3, 1 << 10},
	{"ms|msec", 6, 0}, {"mb", 6, 1 << 20},
	{"s|sec", 9, 0},   {"gb", 9, 1 << 30},
	{"%", 0, 0},       {"b/s|kb/s|mb/s|gb/s|tb/s", 0, 0},
};
static const unit *const percent = &units[8];

static assay_str cell(const reader *r, field f)
{
	int c = r->column[f];
	return c < 0 || (size_t)c >= r->row->n ? (assay_str){0} : assay_str_trim(r->row->cell[c]);
}

static int64_t number(reader *r, field f, int64_t absent)
{
	int64_t v;
	assay_str s = cell(r, f);
	if (!s.n)
		return absent;
	if (assay_str_scaled(s, r->unit_of[f]->scale, &v))
		return v;
	assay_count(r->part, ASSAY_ISSUE_bad_number, 1);
	return absent;
}

/* Bytes; -1 when there are none. A kilobyte is 1,000 of them to nsys and 1,024 to nvprof, which
 * prints six digits behind the point. */
static int64_t size(reader *r, field f)
{
	enum { MILLION = 1000000 };
	int64_t v, each = r->unit_of[f]->binary;
	assay_str s = cell(r, f);
	if (!r->kind->nvprof || each < 2 || !s.n)
		return number(r, f, -1);
	if (assay_str_scaled(s, 6, &v) && v >= 0 && v < INT64_MAX / 2 / each)
		return (v * each + MILLION / 2) / MILLION;
	assay_count(r->part, ASSAY_ISSUE_bad_number, 1);
	return -1;
}

static uint32_t u32(reader *r, field f, uint32_t absent)
{
	int64_t v = number(r, f, -1);
	return v < 0 ? absent : assay_rocprof_u32(r->part, (uint64_t)v, absent);
}

static uint16_t u16(reader *r, field f, uint16_t absent)
{
	return assay_rocprof_u16(r->part, u32(r, f, absent), absent);
}

/* Far from where sums of times overflow. */
static bool is_time(int64_t t)
{
	return t > INT64_MIN / 4 && t < INT64_MAX / 4;
}

/* Start and length; false when the row has none that can be used. */
static bool span(reader *r, int64_t *ts, int64_t *dur)
{
	*ts = number(r, F_START, INT64_MIN);
	*dur = number(r, F_DURATION, INT64_MIN);
	int64_t end = *dur == INT64_MIN ? number(r, F_END, INT64_MIN) : INT64_MIN;
	if (is_time(end) && is_time(*ts))
		*dur = end - *ts;
	if (is_time(*ts) && is_time(*dur) && *dur >= 0)
		return true;
	assay_count(r->part, ASSAY_ISSUE_bad_record, 1);
	return false;
}

/* "NVIDIA A100-SXM4-40GB (1)" is device 1. */
static int64_t device_of(reader *r)
{
	assay_str s = cell(r, F_DEVICE);
	if (!s.n)
		return -1;
	s.n -= s.p[s.n - 1] == ')';
	size_t digits = assay_digits_last(s), at = s.n - digits;
	int64_t id;
	if (!assay_str_i64((assay_str){s.p + at, digits}, &id) || id > INT32_MAX)
		return -1;
	uint32_t d = assay_rocprof_device(r->part, id);
	assay_device_table *t = &r->part->t.device;
	at -= at && s.p[at - 1] == '(';
	t->name[d] = assay_intern(&r->part->strings, assay_str_trim((assay_str){s.p, at}));
	t->vendor[d] = assay_intern_z(&r->part->strings, assay_vendor_name[ASSAY_VENDOR_NVIDIA]);
	return id;
}

/* CUPTI's number of a kind of memory. */
static unsigned memory_of(assay_str name)
{
	static const char *const kinds[] = {"Unknown",       "Pageable",      "Pinned",
					    "Device",        "Array",         "Managed",
					    "Device Static", "Managed Static"};
	for (unsigned i = 0; i < ASSAY_COUNT_OF(kinds); i++)
		if (assay_str_same(name, assay_str_of(kinds[i])))
			return i;
	return 0;
}

/* CUPTI's number of a kind of copy; 0 for others. */
static unsigned copy_of(assay_str name)
{
	static const uint8_t kinds[ASSAY_COPY_WAYS] = {
		[ASSAY_COPY_TO_DEVICE] = 1, [ASSAY_COPY_TO_HOST] = 2,  [ASSAY_COPY_ON_DEVICE] = 8,
		[ASSAY_COPY_ON_HOST] = 9,   [ASSAY_COPY_BETWEEN] = 10,
	};
	return kinds[assay_copy_way_of(name)];
}

static assay_gpu_kind work_kind(assay_str name)
{
	if (assay_str_starts(name, "[CUDA memcpy") || assay_str_starts(name, "[CUDA Unified"))
		return ASSAY_GPU_MEMCPY;
	return assay_str_starts(name, "[CUDA memset") ? ASSAY_GPU_MEMSET : ASSAY_GPU_KERNEL;
}

/* Older nvprof: "copy(int*) [117]" has its correlation id behind the name. */
static assay_str cut_number(assay_str name, int64_t *id)
{
	if (name.n < 4 || name.p[name.n - 1] != ']')
		return name;
	assay_str inside = {name.p, name.n - 1};
	size_t digits = assay_digits_last(inside), at = inside.n - digits;
	if (at < 3 || name.p[at - 1] != '[' || name.p[at - 2] != ' ' ||
	    !assay_str_i64((assay_str){name.p + at, digits}, id))
		return name;
	return (assay_str){name.p, at - 2};
}

static assay_sid work_name(reader *r, assay_gpu_kind kind, assay_str name)
{
	assay_pool *pool = &r->part->strings;
	if (kind == ASSAY_GPU_KERNEL)
		return assay_intern(pool, name);
	if (kind == ASSAY_GPU_MEMSET)
		return assay_memset_name(pool, memory_of(cell(r, F_TO)));
	if (assay_copy_is_migration(name))
		return assay_migration_name(pool, copy_of(name));
	return assay_copy_name(pool, copy_of(name), memory_of(cell(r, F_FROM)),
			       memory_of(cell(r, F_TO)));
}

static void put_work(reader *r)
{
	int64_t ts, dur;
	if (!span(r, &ts, &dur))
		return;
	int64_t device = device_of(r), fixed = size(r, F_STATIC), dynamic = size(r, F_DYNAMIC),
		bytes = size(r, F_BYTES), corr = number(r, F_CORR, 0);
	assay_str name = cell(r, F_NAME);
	if (r->kind->nvprof && r->column[F_CORR] < 0)
		name = cut_number(name, &corr);
	uint32_t g = assay_add(&r->part->t, ASSAY_T_gpu);
	assay_gpu_table *t = &r->part->t.gpu;
	assay_gpu_kind kind = work_kind(name);
	t->kind[g] = (uint8_t)kind;
	t->ts[g] = ts;
	t->dur[g] = dur;
	t->name[g] = work_name(r, kind, name);
	t->track[g] = assay_stream_track(r->part, device, number(r, F_STREAM, -1));
	t->corr[g] = (uint64_t)corr;
	t->context[g] = u32(r, F_CONTEXT, UINT32_MAX);
	t->grid_x[g] = u32(r, F_GRID_X, 0);
	t->grid_y[g] = u32(r, F_GRID_Y, 0);
	t->grid_z[g] = u32(r, F_GRID_Z, 0);
	t->block_x[g] = u16(r, F_BLOCK_X, 0);
	t->block_y[g] = u16(r, F_BLOCK_Y, 0);
	t->block_z[g] = u16(r, F_BLOCK_Z, 0);
	t->regs[g] = u16(r, F_REGS, UINT16_MAX);
	if (fixed >= 0 && dynamic >= 0 && dynamic < UINT32_MAX)
		t->shared[g] = assay_rocprof_u32(r->part, (uint64_t)(fixed + dynamic), UINT32_MAX);
	/* 0.000 MB is too little to be told, not nothing */
	t->bytes[g] = bytes || !r->unit_of[F_BYTES]->scale ? bytes : -1;
	assay_count(r->part, ASSAY_ISSUE_no_name, !t->name[g]);
}

static bool is_driver_call(assay_str name)
{
	return name.n > 2 && assay_str_starts(name, "cu") && name.p[2] >= 'A' && name.p[2] <= 'Z';
}

static void put_host(reader *r, assay_host_kind kind, assay_str name)
{
	int64_t ts, dur;
	if (!span(r, &ts, &dur))
		return;
	uint32_t h = assay_rocprof_host(r->part, kind, (uint64_t)number(r, F_CORR, 0), 0,
					ASSAY_S("nsys"));
	assay_host_table *t = &r->part->t.host;
	t->ts[h] = ts;
	t->dur[h] = dur;
	t->name[h] = assay_intern(&r->part->strings, name);
	t->track[h] =
		assay_thread_track(r->part, number(r, F_PROCESS, r->pid), number(r, F_THREAD, -1));
}

static void put_call(reader *r)
{
	assay_str name = cell(r, F_NAME);
	put_host(r, is_driver_call(name) ? ASSAY_HOST_DRIVER : ASSAY_HOST_RUNTIME, name);
}

/* With --print-api-trace beside --print-gpu-trace both are rows of one table. */
static void put_work_or_call(reader *r)
{
	if (cell(r, F_DEVICE).n || cell(r, F_STREAM).n)
		put_work(r);
	else
		put_call(r);
}

/* Names have their domain in front, ":step" is of none. */
static void put_range(reader *r)
{
	assay_str name = cell(r, F_NAME);
	if (name.n > 1 && name.p[0] == ':')
		name = (assay_str){name.p + 1, name.n - 1};
	put_host(r, ASSAY_HOST_MARKER, name);
}

static void put_sum(reader *r)
{
	int64_t total = number(r, F_TOTAL, -1), calls = number(r, F_CALLS, 0);
	if (total < 0 || calls < 0) {
		assay_count(r->part, ASSAY_ISSUE_bad_record, 1);
		return;
	}
	uint32_t s = assay_add(&r->part->t, ASSAY_T_stat);
	assay_stat_table *t = &r->part->t.stat;
	assay_str type = cell(r, F_TYPE);
	t->domain[s] = type.n ? assay_intern(&r->part->strings, type) : r->domain;
	t->name[s] = assay_intern(&r->part->strings, cell(r, F_NAME));
	t->calls[s] = (uint64_t)calls;
	t->total[s] = total;
	t->min[s] = number(r, F_MIN, -1);
	t->max[s] = number(r, F_MAX, -1);
	t->source[s] = r->part->source;
}

static const table_kind kinds[] = {
	{"gpu_trace", {F_DURATION, F_NAME, F_CORR, F_STREAM, F_START}, put_work, false},
	{"api_trace", {F_DURATION, F_NAME, F_RESULT, F_THREAD, F_START}, put_call, false},
	{"nvtx_trace", {F_DURATION, F_NAME, F_LEVEL, F_THREAD, F_START}, put_range, false},
	{"sum", {F_TOTAL, F_NAME, F_CALLS}, put_sum, false},
	{"nvprof_gpu_trace",
	 {F_DURATION, F_NAME, F_DEVICE, F_STREAM, F_START},
	 put_work_or_call,
	 true},
	{"nvprof_api_trace", {F_DURATION, F_NAME, F_START}, put_call, true},
	{"nvprof_sum", {F_TOTAL, F_NAME, F_CALLS}, put_sum, true},
};

/* ------------------------------------------------------------------ headers */

static bool among(assay_str name, const char *list)
{
	assay_str rest = assay_str_of(list);
	while (rest.n)
		if (assay_str_same(name, assay_str_cut(&rest, '|')))
			return true;
	return false;
}

/* NULL: unknown. */
static const unit *find_unit(assay_str text)
{
	for (size_t i = 1; text.n && i < ASSAY_COUNT_OF(units); i++)
		if (among(text, units[i].names))
			return &units[i];
	return text.n ? NULL : &units[0];
}

/* "Start (us)", "Start(nsec)": the name, and its unit. */
static assay_str split_unit(assay_str head, const unit **found)
{
	assay_str inside = assay_str_trim(head), name = assay_str_cut(&inside, '(');
	if (inside.n && inside.p[inside.n - 1] == ')')
		inside.n--;
	*found = find_unit(inside);
	if (!*found)
		*found = &units[0];
	return assay_str_trim(name);
}

static bool has_all(const reader *r, const table_kind *k)
{
	bool told = r->column[F_START] >= 0
			    ? r->unit_of[F_START] != &units[0]
			    : r->column[F_TOTAL] >= 0 && r->unit_of[F_TOTAL] != &units[0];
	if (told == k->nvprof)
		return false;
	for (size_t i = 0; i < ASSAY_COUNT_OF(k->needs) && k->needs[i]; i++)
		if (r->column[k->needs[i]] < 0)
			return false;
	return true;
}

/* False: the line is no header of these tables. */
static bool plan(reader *r, assay_str line)
{
	for (int f = 0; f < F_COUNT; f++) {
		r->column[f] = -1;
		r->unit_of[f] = &units[0];
	}
	r->kind = NULL;
	if (!assay_csv_split_line(line, r->row))
		return false;
	r->columns = r->row->n;
	for (size_t c = 0; c < r->row->n; c++) {
		const unit *u;
		assay_str name = split_unit(r->row->cell[c], &u);
		for (int f = 0; f < F_COUNT && u != percent; f++)
			if (r->column[f] < 0 && among(name, field_names[f])) {
				r->column[f] = (int)c;
				r->unit_of[f] = u;
			}
	}
	for (size_t k = 0; k < ASSAY_COUNT_OF(kinds) && !r->kind; k++)
		if (has_all(r, &kinds[k]))
			r->kind = &kinds[k];
	r->units_next = r->kind && r->kind->nvprof;
	return r->kind;
}

/* The row below nvprof's header, "us,us,,,KB": every cell a unit, the times' one of time. */
static bool plan_units(reader *r, assay_str line)
{
	bool ok = assay_csv_split_line(line, r->row) && r->row->n == r->columns;
	for (size_t c = 0; ok && c < r->row->n; c++)
		ok = find_unit(assay_str_trim(r->row->cell[c]));
	for (int f = 0; ok && f < F_COUNT; f++)
		if (r->column[f] >= 0)
			r->unit_of[f] = find_unit(cell(r, (field)f));
	field time = r->column[F_START] >= 0 ? F_START : F_TOTAL;
	ok = ok && cell(r, time).n && r->unit_of[time] != percent;
	r->units_next = false;
	if (!ok)
		r->kind = NULL;
	return ok;
}

/* "==2119== NVPROF is profiling process 2119, ...", "======== Profiling result:": what it says.
 * nsys says before each table: "Processing [run.sqlite] with [.../cuda_gpu_trace.py]...". */
static bool is_banner(assay_str line, assay_str *text)
{
	size_t at = 2;
	*text = line;
	if (!assay_str_starts(line, "=="))
		return assay_str_starts(line, "Processing [");
	while (at < line.n && (assay_is_digit(line.p[at]) || line.p[at] == '='))
		at++;
	*text = assay_str_trim((assay_str){line.p + at, line.n - at});
	return true;
}

/* nvprof's table may come after what it and the program said, nsys' after what nsys said. */
static bool is_table(reader *r, assay_str head)
{
	enum { LINES = 64 };
	bool nsys = true;
	for (int i = 0; i < LINES && head.n; i++) {
		assay_str line = assay_str_trim(assay_str_cut(&head, '\n')), below = head;
		bool header = plan(r, line);
		if (header &&
		    (r->kind->nvprof ? plan_units(r, assay_str_trim(assay_str_cut(&below, '\n')))
				     : nsys))
			return true;
		nsys = nsys && (!line.n || assay_str_find(line, ",") < 0);
	}
	return false;
}

static reader reader_new(assay_arena *a)
{
	return (reader){.row = assay_alloc(a, sizeof(csv_cells)), .pid = -1};
}

static int nsys_csv_sniff(assay_str head)
{
	assay_arena scratch = {0};
	reader r = reader_new(&scratch);
	bool table = !assay_csv_is_other(head) && is_table(&r, head);
	assay_arena_free(&scratch);
	return table ? 96 : 0;
}

/* Name of the report: run1_cuda_gpu_kern_sum.csv is cuda_gpu_kern_sum. */
static assay_str report_of(assay_str path)
{
	static const char *const starts[] = {"_cuda_", "_nvtx_", "_osrt_", "_cuda-", "_gpu"};
	size_t at = path.n;
	while (at && path.p[at - 1] != '/')
		at--;
	assay_str base = {path.p + at, path.n - at};
	ptrdiff_t dot = assay_str_find(base, ".csv");
	base.n = dot >= 0 ? (size_t)dot : base.n;
	for (size_t i = 0; i < ASSAY_COUNT_OF(starts); i++) {
		ptrdiff_t from = assay_str_find(base, starts[i]);
		if (from >= 0)
			return (assay_str){base.p + from + 1, base.n - (size_t)from - 1};
	}
	return base;
}

static void take_banner(reader *r, assay_str text)
{
	static const char profiling[] = "NVPROF is profiling process ";
	if (assay_str_starts(text, profiling)) {
		assay_str pid = {text.p + sizeof profiling - 1, text.n - sizeof profiling + 1};
		if (!assay_str_i64(assay_str_cut(&pid, ','), &r->pid))
			r->pid = -1;
	}
	if (assay_str_starts(text, "Warning: "))
		assay_warn(r->run, "nvprof", "nvprof: %.*s", (int)(text.n - 9), text.p + 9);
	r->kind = NULL;
}

/* A header, but not one of another table's rows: those begin with numbers. */
static bool take_header(reader *r, assay_str line)
{
	reader before = *r;
	char first = line.p[line.p[0] == '"' && line.n > 1];
	if ((first | 0x20) < 'a' || (first | 0x20) > 'z' || !plan(r, line)) {
		*r = before;
		return false;
	}
	if (!r->any_table)
		assay_meta_add(r->part, "nsys_csv", assay_str_of(r->kind->name));
	r->any_table = true;
	return true;
}

static void take_line(reader *r, assay_str line)
{
	assay_str text;
	if (!line.n)
		return;
	if (is_banner(line, &text)) {
		take_banner(r, text);
	} else if (r->units_next) {
		assay_count(r->part, ASSAY_ISSUE_bad_record, !plan_units(r, line));
	} else if (take_header(r, line)) {
		return;
	} else if (!r->kind) {
		assay_count(r->part, ASSAY_ISSUE_other_table, 1);
	} else if (!assay_csv_split_line(line, r->row) || r->row->n != r->columns) {
		assay_count(r->part, ASSAY_ISSUE_bad_record, 1);
	} else {
		r->rows++;
		r->kind->put(r);
	}
}

static bool nsys_csv_read(assay_run *run, assay_input *in, assay_err *err)
{
	assay_arena scratch = {0};
	reader r = reader_new(&scratch);
	r.run = run;
	r.part = &run->part;
	assay_lines lines = {in, r.part, 0};
	assay_str line;
	r.domain = assay_intern(&r.part->strings, report_of(assay_str_of(assay_input_path(in))));
	while (assay_next_line(&lines, &line))
		take_line(&r, line);
	bool ok = r.any_table ||
		  assay_fail(err, ASSAY_FORMAT, 0, "%s has no header of a table of nsys or nvprof",
			     assay_input_path(in));
	if (ok && r.part->source < r.part->t.source.n)
		r.part->t.source.records[r.part->source] = r.rows;
	assay_arena_free(&scratch);
	return ok;
}

/* nsys stats -o NAME writes NAME_REPORT.csv. */
static const char *const parts[] = {"_cuda_gpu_trace", "_cuda_api_trace", "_nvtx_pushpop_trace",
				    "_nvtx_startend_trace", NULL};

const assay_reader assay_reader_nsys_csv = {
	.name = "nsys_csv",
	.ends = {".csv"},
	.about = "tables of nsys stats --format csv, and of nvprof --csv",
	.waits = "calls only",
	.scopes = "NVTX",
	.note = "cuda_gpu_trace, cuda_api_trace, nvtx_pushpop_trace, sums; nvprof: traces of GPU and calls, sums",
	.page = "nsys",
	.sniff = nsys_csv_sniff,
	.read = nsys_csv_read,
	.parts = parts,
	.alone = true,
	.ranked = true,
	.traits = ASSAY_TRAIT_BLOCKS,
};

static assay_run *read_z(const char *text)
{
	return assay_read_bytes(&assay_reader_nsys_csv, text, strlen(text));
}

#define GPU_HEAD                                                                                   \
	"Start (ns),Duration (ns),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Reg/Trd,StcSMem (MB),DymSMem (MB),Bytes (MB),Throughput (MB/s),SrcMemKd,DstMemKd,Device,Ctx,GreenCtx,Strm,Name\n"

TEST(a_gpu_trace_of_nsys_is_work)
{
	assay_run *run = read_z(
		GPU_HEAD
		"100,3552,142,,,,,,,,,,0.038,10594.575,Pageable,Device,NVIDIA RTX A4500 (2),1,,7,[CUDA memcpy Host-to-Device]\n"
		"200,512,155,,,,,,,,,,0.000,500.000,Pinned,Device,NVIDIA RTX A4500 (2),1,,7,[CUDA memcpy Host-to-Device]\n"
		"4000,1500,143,2,3,1,128,1,1,16,0.001,0.000,,,,,NVIDIA RTX A4500 (2),1,,13,\"void f<int, 4>(int*)\"\n");
	const assay_gpu_table *g = &run->part.t.gpu;
	const assay_tables *t = &run->part.t;
	CHECK(g->n == 3 && g->kind[0] == ASSAY_GPU_MEMCPY && g->kind[2] == ASSAY_GPU_KERNEL);
	CHECK(g->ts[2] == 4000 && g->dur[2] == 1500 && g->corr[2] == 143 && g->grid_y[2] == 3);
	CHECK(g->bytes[0] == 38000 && g->bytes[1] == -1 && g->shared[2] == 1000);
	CHECK(t->track.pid[g->track[2]] == 2 && t->track.tid[g->track[2]] == 13);
	CHECK(assay_str_is(assay_text(run, g->name[0]), "Memcpy HtoD (Pageable -> Device)"));
	CHECK(assay_str_is(assay_text(run, g->name[2]), "void f<int, 4>(int*)"));
	CHECK(t->device.n == 1 && t->device.id[0] == 2);
	CHECK(assay_str_is(assay_text(run, t->device.name[0]), "NVIDIA RTX A4500"));
	assay_run_free(run);
	return 0;
}

TEST(tables_of_nsys_come_with_what_it_said_before_each)
{
	static const char text[] =
		"NOTICE: Existing SQLite export found: run.sqlite\n"
		"        Consider using --force-export=true if needed.\n\n"
		"Processing [run.sqlite] with [/opt/nvidia/reports/cuda_gpu_trace.py]... \n\n" GPU_HEAD
		"4000,1500,143,2,3,1,128,1,1,16,0.001,0.000,,,,,NVIDIA H200 (2),1,,13,k\n\n"
		"Processing [run.sqlite] with [/opt/nvidia/reports/cuda_api_trace.py]... \n\n"
		"Start (ns),Duration (ns),Name,Result,CorrID,Pid,Tid,T-Pri\n"
		"100,50,cudaLaunchKernel,0,143,10,11,20\n";
	assay_run *run = read_z(text);
	CHECK(nsys_csv_sniff(ASSAY_S(text)) == 96);
	CHECK(run->part.t.gpu.n == 1 && run->part.t.host.n == 1);
	CHECK_EQ(run->part.issues[ASSAY_ISSUE_bad_record], 0);
	assay_run_free(run);
	return 0;
}

TEST(units_of_nsys_tables_stand_in_the_header)
{
	assay_run *run = read_z("Start(usec),Duration(usec),Name,Result,CorrID,Pid,Tid,T-Pri\n"
				"1.5,2.25,cudaLaunchKernel,0,7,10,11,20\n"
				"4,1,cuMemcpyHtoDAsync_v2,0,8,10,11,20\n"
				"x,1,cudaFree,0,9,10,11,20\n1,2\n");
	const assay_host_table *h = &run->part.t.host;
	CHECK(h->n == 2 && h->ts[0] == 1500 && h->dur[0] == 2250);
	CHECK(h->kind[0] == ASSAY_HOST_RUNTIME && h->kind[1] == ASSAY_HOST_DRIVER);
	CHECK(run->part.t.api.corr[h->detail[0]] == 7);
	CHECK(run->part.issues[ASSAY_ISSUE_bad_record] == 2);
	assay_run_free(run);
	return 0;
}

TEST(nvtx_tables_and_sums_of_nsys_are_read)
{
	assay_run *run = read_z(
		"Start (ns),End (ns),Duration (ns),DurChild (ns),DurNonChild (ns),Name,PID,TID,Lvl,NumChild,RangeId,ParentId,RangeStack,NameTree\n"
		"10,90,80,0,80,:step,5,6,0,0,1,,:1,step\n");
	CHECK(run->part.t.host.n == 1 && run->part.t.host.kind[0] == ASSAY_HOST_MARKER);
	CHECK(assay_str_is(assay_text(run, run->part.t.host.name[0]), "step"));
	assay_run_free(run);
	run = read_z(
		"Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name\n"
		"60.0,900,3,300.0,300.0,200,400,1.5,\"k(int, int)\"\n");
	const assay_stat_table *s = &run->part.t.stat;
	CHECK(s->n == 1 && s->total[0] == 900 && s->calls[0] == 3 && s->max[0] == 400);
	CHECK(assay_str_is(assay_text(run, s->name[0]), "k(int, int)"));
	assay_run_free(run);
	return 0;
}

#define NVPROF_HEAD                                                                                \
	"\"Start\",\"Duration\",\"Grid X\",\"Grid Y\",\"Grid Z\",\"Block X\",\"Block Y\",\"Block Z\",\"Registers Per Thread\",\"Static SMem\",\"Dynamic SMem\",\"Size\",\"Throughput\",\"SrcMemType\",\"DstMemType\",\"Device\",\"Context\",\"Stream\",\"Name\""

TEST(traces_of_nvprof_have_their_units_below_the_header)
{
	static const char text[] =
		"epoch 1\n==7== NVPROF is profiling process 7, command: ./a\n"
		"==7== Warning: 12 records have invalid timestamps\n==7== Profiling result:\n" NVPROF_HEAD
		",\"Correlation_ID\"\nms,us,,,,,,,,KB,B,KB,GB/s,,,,,,,\n"
		"1.5,1.888,,,,,,,,,,1.003906,0.5,\"Pinned\",\"Device\",\"Tesla V100 (1)\",\"1\",\"7\",\"[CUDA memcpy HtoD]\",272\n"
		"2.0,3.25,16,2,1,64,4,1,32,1.5,512,,,,,\"Tesla V100 (1)\",\"1\",\"13\",\"void f<int, 4>(int*)\",273\n"
		"1.9,10,,,,,,,,,,,,,,,,,\"cudaLaunchKernel\",273\n";
	CHECK(nsys_csv_sniff(ASSAY_S(text)) == 96);
	assay_run *run = read_z(text);
	const assay_gpu_table *g = &run->part.t.gpu;
	const assay_tables *t = &run->part.t;
	CHECK(g->n == 2 && g->ts[0] == 1500000 && g->dur[0] == 1888 && g->bytes[0] == 1028);
	CHECK(g->kind[0] == ASSAY_GPU_MEMCPY && g->kind[1] == ASSAY_GPU_KERNEL);
	CHECK(assay_str_is(assay_text(run, g->name[0]), "Memcpy HtoD (Pinned -> Device)"));
	CHECK(g->grid_y[1] == 2 && g->block_y[1] == 4 && g->regs[1] == 32);
	CHECK(g->shared[1] == 1536 + 512 && g->corr[1] == 273);
	CHECK(t->track.pid[g->track[1]] == 1 && t->track.tid[g->track[1]] == 13);
	CHECK(t->host.n == 1 && t->host.ts[0] == 1900000 && t->host.dur[0] == 10000);
	CHECK(t->track.pid[t->host.track[0]] == 7 && t->api.corr[t->host.detail[0]] == 273);
	CHECK(t->warning.n == 1 && run->part.issues[ASSAY_ISSUE_other_table] == 1);
	assay_run_free(run);
	return 0;
}

TEST(older_nvprof_has_the_correlation_id_in_the_name)
{
	assay_run *run = read_z(
		NVPROF_HEAD
		"\nus,us,,,,,,,,KB,KB,MB,GB/s,,,,,,\n"
		"1,2,1,1,1,1,1,1,8,0,0,,,,,\"K40 (0)\",\"1\",\"7\",\"copy(int*, int) [117]\"\n"
		"3,2,1,1,1,1,1,1,8,0,0,,,,,\"K40 (0)\",\"1\",\"7\",\"odd[3]\"\n");
	const assay_gpu_table *g = &run->part.t.gpu;
	CHECK(g->n == 2 && g->corr[0] == 117 && !g->corr[1]);
	CHECK(assay_str_is(assay_text(run, g->name[0]), "copy(int*, int)"));
	CHECK(assay_str_is(assay_text(run, g->name[1]), "odd[3]"));
	assay_run_free(run);
	return 0;
}

TEST(sums_of_nvprof_are_told_apart_by_their_type)
{
	assay_run *run = read_z(
		"======== Profiling result:\n"
		"\"Type\",\"Time(%)\",\"Time\",\"Calls\",\"Avg\",\"Min\",\"Max\",\"Name\"\n,%,ms,,us,us,us,\n"
		"\"GPU activities\",60.5,1.25,5,250,200,300.5,\"k(int, int)\"\n"
		"\"API calls\",78.0,2,1,2000,2000,2000,\"cudaFree\"\n");
	const assay_stat_table *s = &run->part.t.stat;
	CHECK(s->n == 2 && s->total[0] == 1250000 && s->calls[0] == 5 && s->max[0] == 300500);
	CHECK(assay_str_is(assay_text(run, s->domain[0]), "GPU activities"));
	CHECK(assay_str_is(assay_text(run, s->domain[1]), "API calls"));
	assay_run_free(run);
	return 0;
}

TEST(headers_of_others_are_no_tables_of_nsys)
{
	CHECK(!nsys_csv_sniff(ASSAY_S("Name,Calls,TotalDurationNs\n")));
	CHECK(!nsys_csv_sniff(ASSAY_S("id,the kernel name,Start (ns),End (ns)\n1,k,1,2\n")));
	CHECK(!nsys_csv_sniff(ASSAY_S("timestamp, name, power.draw [W]\n")));
	CHECK(!nsys_csv_sniff(ASSAY_S("Start,Duration,Name\n1,2,lunch\n")));
	CHECK(nsys_csv_sniff(ASSAY_S(GPU_HEAD)) == 96);
	return 0;
}
