/* Rows by all rules, and rows into tables.
 *
 * rocprofv3 writes quotes around texts without doubling the ones inside, other writers of the same
 * columns double them, so a row is split by several rules until one gives as many cells as the
 * header has. */
#include "read/rocprof_csv.h"

#include <stdio.h>

enum { LINES_MAX = 64 }; /* in one row; also bounds what an unclosed quote can cost */

/* When a quote inside a quoted cell closes it. */
typedef enum quoting {
	LOOSE, /* before a line end, or a comma without a space behind it: "f("a", 1)" is one cell
		*/
	RFC,   /* unless it is doubled: RFC 4180 */
	PLAIN, /* before any comma or line end */
	QUOTINGS
} quoting;

const uint64_t assay_csv_absent[CSV_FIELD_COUNT] = {
#define X(id, type, absent) absent,
	CSV_FIELDS(X)
#undef X
};

struct splitter {
	const char *p, *end;
	bool text_end;
	quoting rule;
	const csv_plan *plan; /* NULL for a header */
	csv_cells *out;
	unsigned lines; /* line breaks inside cells so far */
	bool open;      /* the text ended inside the row */
};

static bool may_hold_lines(const struct splitter *s)
{
	return s->plan && s->out->n < s->plan->cols && s->plan->type[s->out->n] == CSV_AS_NAME;
}

static bool at_line_end(const char *p, const char *end)
{
	return p == end || *p == '\n' || (*p == '\r' && (p + 1 == end || p[1] == '\n'));
}

/* q is the last of a run of quotes. */
static bool closes(const struct splitter *s, const char *q, size_t run)
{
	const char *after = q + 1;
	bool line_end = at_line_end(after, s->end);
	if (!line_end && *after != ',')
		return false;
	if (s->rule == RFC)
		return run % 2 == 1;
	return line_end || s->rule == PLAIN || after + 1 >= s->end || after[1] != ' ';
}

/* The closing quote of a cell whose text starts at p, or NULL when it has none in this row. */
static const char *find_close(struct splitter *s, const char *p, bool *doubled)
{
	bool lines = may_hold_lines(s);
	for (const char *q = p; q < s->end; q++) {
		if (*q == '\n' && (!lines || ++s->lines > LINES_MAX))
			return NULL;
		if (*q != '"')
			continue;
		const char *first = q;
		while (q + 1 < s->end && q[1] == '"')
			q++;
		size_t run = (size_t)(q - first) + 1;
		if (closes(s, q, run)) {
			*doubled |= run > 2;
			return q;
		}
		*doubled |= run > 1;
	}
	s->open = true;
	return NULL;
}

static const char *find_plain_end(const char *p, const char *end)
{
	while (p < end && *p != ',' && !at_line_end(p, end))
		p++;
	return p;
}

/* One cell; false when it cannot be one. s->p moves to the separator behind it. */
static bool split_cell(struct splitter *s)
{
	csv_cells *out = s->out;
	size_t max = s->plan ? s->plan->cols : CSV_COLS_MAX;
	if (out->n == max)
		return false;
	bool doubled = false;
	const char *from = s->p, *to;
	if (from < s->end && *from == '"') {
		to = find_close(s, ++from, &doubled);
		if (!to)
			return false;
		s->p = to + 1;
	} else {
		s->p = to = find_plain_end(from, s->end);
	}
	out->cell[out->n] = (assay_str){from, (size_t)(to - from)};
	out->doubled[out->n++] = doubled;
	return true;
}

/* False when the row cannot be split by this rule. */
static bool split_row(struct splitter *s)
{
	s->out->n = 0;
	for (;; s->p++) {
		if (!split_cell(s))
			return false;
		/* a decision that looked at the last byte or two may change with more text */
		s->open = s->end - s->p < 2 && !s->text_end;
		if (s->open)
			return false;
		if (s->p == s->end || *s->p != ',')
			break;
	}
	s->p += s->p < s->end && *s->p == '\r';
	s->p += s->p < s->end && *s->p == '\n';
	s->out->next = s->p;
	return true;
}

bool assay_csv_split_line(assay_str text, csv_cells *out)
{
	struct splitter s = {text.p, text.p + text.n, true, PLAIN, NULL, out, 0, false};
	return split_row(&s);
}

static assay_str single_quotes(csv_worker *w, assay_str s)
{
	w->plain.n = 0;
	for (size_t i = 0; i < s.n; i++) {
		*assay_push(&w->plain) = s.p[i];
		i += s.p[i] == '"' && i + 1 < s.n && s.p[i + 1] == '"';
	}
	return (assay_str){w->plain.p, w->plain.n};
}

static uint64_t read_number(csv_worker *w, csv_field field, assay_str s)
{
	uint64_t v;
	int64_t cut;
	s = assay_str_trim(s);
	if (!s.n)
		return assay_csv_absent[field];
	if (assay_str_u64(s, &v))
		return v;
	if (assay_str_scaled(s, 0, &cut) && cut >= 0)
		return (uint64_t)cut;
	assay_count(&w->part, ASSAY_ISSUE_bad_number, 1);
	return assay_csv_absent[field];
}

/* The number a label such as "Agent 4" ends with. */
static uint64_t read_agent(csv_worker *w, csv_field field, assay_str s)
{
	s = assay_str_trim(s);
	size_t digits = assay_digits_last(s);
	return read_number(w, field, (assay_str){s.p + s.n - digits, digits});
}

static void read_cell(csv_worker *w, csv_field field, assay_str cell, bool doubled, csv_type type)
{
	switch (type) {
	case CSV_AS_COUNTER:
	case CSV_AS_SKIP:
		break;
	case CSV_AS_TEXT:
	case CSV_AS_REAL:
		w->text[field] = cell;
		break;
	case CSV_AS_NUMBER:
		w->v[field] = read_number(w, field, cell);
		break;
	case CSV_AS_AGENT:
		w->v[field] = read_agent(w, field, cell);
		break;
	case CSV_AS_NAME:
		if (doubled)
			cell = single_quotes(w, cell);
		w->v[field] = assay_intern(&w->part.strings, cell);
		break;
	}
}

static csv_row_status read_cells(csv_worker *w, const csv_cells *cells)
{
	const csv_plan *plan = w->plan;
	for (size_t i = 0; i < plan->cols; i++)
		read_cell(w, plan->field[i], cells->cell[i], cells->doubled[i], plan->type[i]);
	if (plan->has_counters)
		memcpy(w->counter, cells->cell, plan->cols * sizeof *cells->cell);
	for (int i = 0; i < 2; i++) {
		csv_field f = plan->kind->times[i];
		if (f != CSV_NONE && w->v[f] > INT64_MAX) {
			assay_count(&w->part, ASSAY_ISSUE_bad_record, 1);
			return CSV_NO_ROW;
		}
	}
	return CSV_ROW;
}

static bool is_header(const csv_plan *plan, const char *p, const char *end)
{
	size_t n = plan->header.n;
	return (size_t)(end - p) >= n && memcmp(p, plan->header.p, n) == 0 &&
	       at_line_end(p + n, end);
}

/* One line is given up: what follows may be good again. */
static csv_row_status skip_line(csv_worker *w, assay_issue why, const char *p, const char *end,
				const char **next)
{
	const char *line = memchr(p, '\n', (size_t)(end - p));
	if (line && why == ASSAY_ISSUE_truncated)
		why = ASSAY_ISSUE_bad_record;
	assay_count(&w->part, why, 1);
	*next = line ? line + 1 : end;
	return CSV_NO_ROW;
}

static csv_row_status split_by_any_rule(csv_worker *w, const char *p, const char *end,
					bool text_end, const char **next)
{
	csv_cells *cells = &w->cells;
	bool cut = false;
	for (quoting rule = 0; rule < QUOTINGS; rule++) {
		struct splitter s = {p, end, text_end, rule, w->plan, cells, 0, false};
		bool split = split_row(&s);
		if (s.open && !text_end)
			return CSV_CUT_ROW;
		if (split && cells->n == w->plan->cols) {
			*next = cells->next;
			return read_cells(w, cells);
		}
		cut |= s.open || (split && cells->next == end);
	}
	return skip_line(w, cut ? ASSAY_ISSUE_truncated : ASSAY_ISSUE_bad_record, p, end, next);
}

csv_row_status assay_csv_row(csv_worker *w, const char *p, const char *end, bool text_end,
			     const char **next)
{
	if (end - p > CSV_ROW_MAX) {
		end = p + CSV_ROW_MAX;
		text_end = true; /* as far as this row goes */
	}
	if (!text_end && (size_t)(end - p) < w->plan->header.n + 2)
		return CSV_CUT_ROW;
	if (at_line_end(p, end)) {
		p += *p == '\r';
		*next = p + (p < end);
		return CSV_NO_ROW;
	}
	if (is_header(w->plan, p, end))
		return skip_line(w, ASSAY_ISSUE_repeated_header, p, end, next);
	return split_by_any_rule(w, p, end, text_end, next);
}

void assay_csv_narrow(csv_worker *w)
{
	static const struct {
		csv_field field;
		uint64_t max;
	} limits[] = {
		{CSV_BLOCK_X, UINT16_MAX},  {CSV_BLOCK_Y, UINT16_MAX},
		{CSV_BLOCK_Z, UINT16_MAX},  {CSV_REGS, UINT16_MAX},
		{CSV_ACC_REGS, UINT16_MAX}, {CSV_SCALAR_REGS, UINT16_MAX},
		{CSV_GRID_X, UINT32_MAX},   {CSV_GRID_Y, UINT32_MAX},
		{CSV_GRID_Z, UINT32_MAX},   {CSV_SHARED, UINT32_MAX},
		{CSV_SCRATCH, UINT32_MAX},  {CSV_QUEUE, UINT32_MAX},
		{CSV_DISPATCH, UINT32_MAX}, {CSV_UNITS, UINT32_MAX},
		{CSV_WAVE, UINT32_MAX},
	};
	for (size_t i = 0; i < ASSAY_COUNT_OF(limits); i++) {
		uint64_t *v = &w->v[limits[i].field];
		if (*v > limits[i].max) {
			*v = assay_csv_absent[limits[i].field];
			assay_count(&w->part, ASSAY_ISSUE_wide_value, 1);
		}
	}
}

void assay_csv_grow_kernels(csv_worker *w)
{
	assay_tables *t = &w->part.t;
	size_t from = t->gpu.cap;
	assay_reserve(t, ASSAY_T_gpu, 4096);
	const assay_table_info *info = &assay_table_infos[ASSAY_T_gpu];
	for (size_t c = 0; c < info->cols; c++) {
		size_t width = info->col[c].width;
		char *col = *(char **)(void *)((char *)&t->gpu + info->col[c].at);
		for (size_t r = from; r < t->gpu.cap; r++)
			memcpy(col + r * width, &info->col[c].absent, width);
	}
}

uint32_t assay_csv_new_track(csv_worker *w, uint64_t agent, uint64_t stream)
{
	assay_sid name = 0;
	if (stream == UINT64_MAX && w->plan->kind->put == assay_csv_put_copy)
		name = assay_intern_z(&w->part.strings, "copy");
	return assay_track(&w->part, ASSAY_TRACK_STREAM, (int64_t)agent, (int64_t)stream, 0, name);
}

static void add_counter(csv_worker *w, assay_sid name, double value)
{
	assay_tables *t = &w->part.t;
	uint32_t r = assay_add(t, ASSAY_T_pmc);
	t->pmc.corr[r] = w->v[CSV_CORR];
	t->pmc.dispatch[r] = (uint32_t)w->v[CSV_DISPATCH];
	t->pmc.kernel[r] = (assay_sid)w->v[CSV_NAME];
	t->pmc.name[r] = name;
	t->pmc.value[r] = value;
	t->pmc.source[r] = w->part.source;
}

/* Passes that did not measure the counter leave the cell empty, or write nan. */
static void put_counter_cell(csv_worker *w, assay_str name, assay_str cell)
{
	double value;
	cell = assay_str_trim(cell);
	if (!assay_str_f64(cell, &value))
		assay_count(&w->part, ASSAY_ISSUE_bad_number, cell.n != 0);
	else if (value == value)
		add_counter(w, assay_intern(&w->part.strings, name), value);
}

void assay_csv_put_kernel(csv_worker *w)
{
	if (!w->plan->has[CSV_END]) { /* saturated: the sum of two int64 fits in uint64 */
		uint64_t end = w->v[CSV_START] + w->v[CSV_DURATION];
		w->v[CSV_END] = end < INT64_MAX ? end : INT64_MAX;
	}
	csv_put_kernel(w);
	for (size_t i = 0; w->plan->has_counters && i < w->plan->cols; i++)
		if (w->plan->type[i] == CSV_AS_COUNTER)
			put_counter_cell(w, w->plan->name[i], w->counter[i]);
}

/* Several rows a dispatch, one per counter; its kernel is kept once, see drop_repeats(). */
void assay_csv_put_counter(csv_worker *w)
{
	if (w->plan->has[CSV_START] && w->plan->has[CSV_END])
		csv_put_kernel(w);
	else
		assay_csv_narrow(w);
	double value;
	if (!assay_str_f64(assay_str_trim(w->text[CSV_VALUE]), &value)) {
		assay_count(&w->part, ASSAY_ISSUE_bad_number, 1);
		return;
	}
	add_counter(w, (assay_sid)w->v[CSV_COUNTER], value);
}

void assay_csv_put_copy(csv_worker *w)
{
	assay_tables *t = &w->part.t;
	const uint64_t *v = w->v;
	assay_str direction = assay_pool_get(&w->part.strings, (assay_sid)v[CSV_NAME]);
	bool to_host = assay_str_find_nocase(direction, "device_to_host") >= 0 ||
		       assay_str_find(direction, "DtoH") >= 0;
	uint64_t agent = v[to_host ? CSV_SOURCE_AGENT : CSV_TARGET_AGENT];
	uint32_t track = csv_stream_track(w, agent, v[CSV_STREAM]);
	uint32_t r = assay_add(t, ASSAY_T_gpu);
	t->gpu.ts[r] = (int64_t)v[CSV_START];
	t->gpu.dur[r] = csv_length(w);
	t->gpu.name[r] = (assay_sid)v[CSV_NAME];
	t->gpu.track[r] = track;
	t->gpu.corr[r] = v[CSV_CORR];
	t->gpu.bytes[r] = w->plan->has[CSV_SIZE] ? (int64_t)v[CSV_SIZE] : -1;
	t->gpu.kind[r] =
		assay_str_starts(direction, "Memset") ? ASSAY_GPU_MEMSET : ASSAY_GPU_MEMCPY;
}

static assay_host_kind call_kind(assay_str domain)
{
	if (assay_str_starts(domain, "MARKER"))
		return ASSAY_HOST_MARKER;
	return assay_str_starts(domain, "HSA") || assay_str_is(domain, "CUDA_DRIVER_API")
		       ? ASSAY_HOST_DRIVER
		       : ASSAY_HOST_RUNTIME;
}

void assay_csv_put_call(csv_worker *w)
{
	assay_tables *t = &w->part.t;
	const uint64_t *v = w->v;
	uint32_t track =
		assay_thread_track(&w->part, (int64_t)v[CSV_PROCESS], (int64_t)v[CSV_THREAD]);
	uint32_t api = assay_add(t, ASSAY_T_api), r = assay_add(t, ASSAY_T_host);
	t->api.corr[api] = v[CSV_CORR];
	t->host.ts[r] = (int64_t)v[CSV_START];
	t->host.dur[r] = csv_length(w);
	t->host.name[r] = (assay_sid)v[CSV_NAME];
	t->host.track[r] = track;
	t->host.kind[r] = (uint8_t)call_kind(w->text[CSV_DOMAIN]);
	t->host.detail[r] = api;
}

/* Frees come without a size: their bytes stay 0 until assay_pair_frees() knows the address's
 * size. */
void assay_csv_put_alloc(csv_worker *w)
{
	assay_tables *t = &w->part.t;
	const uint64_t *v = w->v;
	assay_str name = assay_pool_get(&w->part.strings, (assay_sid)v[CSV_NAME]);
	bool gives_back = assay_str_find_nocase(name, "free") >= 0;
	int64_t bytes = v[CSV_SIZE] <= INT64_MAX ? (int64_t)v[CSV_SIZE] : 0;
	bool small = v[CSV_AGENT] <= INT32_MAX;
	if (v[CSV_SIZE] > INT64_MAX || (!small && v[CSV_AGENT] != UINT64_MAX))
		assay_count(&w->part, ASSAY_ISSUE_wide_value, 1);
	/* without a thread of its own, a nameless one says whose it is */
	bool known = v[CSV_THREAD] != UINT64_MAX;
	uint32_t track = assay_thread_track(&w->part, known ? (int64_t)v[CSV_PROCESS] : -1,
					    known ? (int64_t)v[CSV_THREAD] : -1);
	uint32_t r = assay_add(t, ASSAY_T_alloc);
	t->alloc.ts[r] = (int64_t)v[CSV_START];
	t->alloc.track[r] = track;
	t->alloc.addr[r] = v[CSV_ADDRESS];
	t->alloc.bytes[r] = gives_back ? -bytes : bytes;
	t->alloc.device[r] = small ? (int32_t)v[CSV_AGENT] : -1;
	t->alloc.corr[r] = v[CSV_CORR];
	t->alloc.name[r] = (assay_sid)v[CSV_NAME];
}

static int64_t signed_or_absent(uint64_t v)
{
	return v <= INT64_MAX ? (int64_t)v : -1;
}

void assay_csv_put_stat(csv_worker *w)
{
	assay_tables *t = &w->part.t;
	uint32_t r = assay_add(t, ASSAY_T_stat);
	t->stat.domain[r] = assay_intern_z(&w->part.strings, w->plan->about);
	t->stat.name[r] = (assay_sid)w->v[CSV_NAME];
	t->stat.calls[r] = w->v[CSV_CALLS];
	t->stat.total[r] = signed_or_absent(w->v[CSV_TOTAL]);
	t->stat.min[r] = signed_or_absent(w->v[CSV_MIN]);
	t->stat.max[r] = signed_or_absent(w->v[CSV_MAX]);
	t->stat.source[r] = w->part.source;
}

void assay_csv_put_length(csv_worker *w)
{
	assay_tables *t = &w->part.t;
	int64_t ns = signed_or_absent(w->v[CSV_DURATION]);
	if (ns <= 0 || !w->v[CSV_NAME])
		return;
	uint32_t r = assay_add(t, ASSAY_T_stat);
	t->stat.domain[r] = assay_intern_z(&w->part.strings, "kernel durations");
	t->stat.name[r] = (assay_sid)w->v[CSV_NAME];
	t->stat.calls[r] = 1;
	t->stat.total[r] = t->stat.min[r] = t->stat.max[r] = ns;
	t->stat.source[r] = w->part.source;
}

void assay_csv_join_stats(assay_stat_table *t, size_t first)
{
	assay_map known = {0};
	size_t kept = first;
	for (size_t i = first; i < t->n; i++) {
		uint32_t *slot = assay_map_at(&known, t->name[i]);
		if (*slot != ASSAY_MAP_ABSENT) {
			uint32_t to = *slot;
			int64_t sum;
			t->calls[to] += t->calls[i];
			t->total[to] = __builtin_add_overflow(t->total[to], t->total[i], &sum)
					       ? INT64_MAX
					       : sum;
			t->min[to] = t->min[i] < t->min[to] ? t->min[i] : t->min[to];
			t->max[to] = t->max[i] > t->max[to] ? t->max[i] : t->max[to];
			continue;
		}
		*slot = (uint32_t)kept;
		t->domain[kept] = t->domain[i];
		t->name[kept] = t->name[i];
		t->calls[kept] = t->calls[i];
		t->total[kept] = t->total[i];
		t->min[kept] = t->min[i];
		t->max[kept++] = t->max[i];
	}
	t->n = kept;
	assay_map_free(&known);
}

/* 90402 is gfx942: decimal pairs major, minor, stepping; the last two are hexadecimal digits. */
static assay_sid gfx_name(csv_worker *w, uint64_t version)
{
	char text[32];
	if (!version || version > 999999)
		return 0;
	unsigned n = (unsigned)version;
	snprintf(text, sizeof text, "gfx%u%x%x", n / 10000, n / 100 % 100, n % 100);
	return assay_intern_z(&w->part.strings, text);
}

void assay_csv_put_device(csv_worker *w)
{
	assay_tables *t = &w->part.t;
	const uint64_t *v = w->v;
	if (assay_str_same(w->text[CSV_AGENT_TYPE], ASSAY_S("CPU")) && v[CSV_AGENT] <= INT32_MAX) {
		char text[ASSAY_DIGITS_MAX + 1];
		size_t n = (size_t)(assay_put_i64(text, (int64_t)v[CSV_AGENT]) - text);
		assay_meta_add(&w->part, assay_csv_cpu_agent, (assay_str){text, n});
	}
	if (!assay_str_same(w->text[CSV_AGENT_TYPE], ASSAY_S("GPU")))
		return;
	assay_csv_narrow(w);
	uint32_t r = assay_add(t, ASSAY_T_device);
	t->device.source[r] = w->part.source;
	t->device.id[r] = v[CSV_AGENT] <= INT32_MAX ? (int32_t)v[CSV_AGENT] : -1;
	t->device.name[r] = (assay_sid)(v[CSV_PRODUCT] ? v[CSV_PRODUCT] : v[CSV_NAME]);
	t->device.vendor[r] = assay_intern_z(&w->part.strings, assay_vendor_name[ASSAY_VENDOR_AMD]);
	t->device.arch[r] = gfx_name(w, v[CSV_GFX]);
	t->device.memory[r] = v[CSV_MEMORY] ? signed_or_absent(v[CSV_MEMORY]) : -1;
	t->device.units[r] = (int32_t)v[CSV_UNITS];
	t->device.warp[r] = (int32_t)v[CSV_WAVE];
}

/* Counted like every row; no table fits it. */
void assay_csv_put_sample(csv_worker *w)
{
	(void)w;
}
