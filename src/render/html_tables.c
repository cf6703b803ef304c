/* Tables of findings on the page, by name: a section of the page appears when its table has rows.
 */
#include "render/html_page.h"

#include <stdio.h>

/* Tables the page shows. per_gpu: one row for each row of gpu, so it follows the page's order.
 * in_full: of a job of many ranks, only rows of those whose events the page has; they come first.
 */
static const struct wanted {
	const char *table;
	bool per_gpu, in_full;
} wanted[] = {
	{.table = "step", .in_full = true},
	{.table = "device_time", .in_full = true},
	{.table = "kernel"},
	{.table = "gap"},
	{.table = "gap_part"},
	{.table = "idle_cause"},
	{.table = "step_time", .in_full = true},
	{.table = "budget"},
	{.table = "verdict"},
	{.table = "wait"},
	{.table = "edge"},
	{.table = "scope"},
	{.table = "collective"},
	{.table = "rank"},
	{.table = "gpu_scope", .per_gpu = true},
};

/* Columns of type u32 that are rows of gpu or host; they become spans of the page. */
static const struct reference {
	const char *column;
	bool host;
} references[] = {
	{"gpu", false},    {"behind", false},     {"producer_gpu", false}, {"consumer_gpu", false},
	{"to_gpu", false}, {"from_gpu", false},   {"launch", true},        {"during", true},
	{"host", true},    {"record_host", true}, {"to_host", true},
};

/* How to find the source of a row, whose clock its times are in. */
struct clock {
	const uint32_t *source, *track, *device;
};

static struct clock clock_of(const assay_run *run, const assay_table_info *info)
{
	struct clock k = {0};
	for (size_t c = 0; c < info->cols; c++) {
		const void *v = assay_values(&run->part.t, info, &info->col[c]);
		if (info->col[c].type == ASSAY_COL_source)
			k.source = v;
		else if (info->col[c].type == ASSAY_COL_track && !k.track)
			k.track = v;
		else if (!strcmp(info->col[c].name, "device") && info->col[c].type == ASSAY_COL_u32)
			k.device = v;
	}
	return k;
}

static uint32_t source_of(const assay_run *run, const struct clock *k, size_t row)
{
	const assay_tables *t = &run->part.t;
	if (k->source)
		return k->source[row];
	if (k->track && k->track[row] < t->track.n)
		return t->track.source[k->track[row]];
	if (k->device && k->device[row] < t->device_time.n)
		return t->device_time.source[k->device[row]];
	return t->source.n ? 0 : ASSAY_NO_ROW;
}

static const struct reference *reference_of(const assay_col_info *col)
{
	for (size_t i = 0; i < ASSAY_COUNT_OF(references); i++)
		if (col->type == ASSAY_COL_u32 && !strcmp(col->name, references[i].column))
			return &references[i];
	return NULL;
}

static int64_t span_of(const assay_page *p, const struct reference *ref, uint32_t row)
{
	const assay_tables *t = &p->run->part.t;
	if (row >= (ref->host ? t->host.n : t->gpu.n))
		return -1;
	uint32_t span = (ref->host ? p->host_span : p->gpu_span)[row];
	return span == ASSAY_NO_ROW ? -1 : (int64_t)span;
}

static int64_t integer_at(const assay_col_info *col, const void *values, size_t row)
{
	switch (col->type) {
	case ASSAY_COL_u8:
		return ((const uint8_t *)values)[row];
	case ASSAY_COL_u16:
		return ((const uint16_t *)values)[row];
	case ASSAY_COL_i32:
		return ((const int32_t *)values)[row];
	case ASSAY_COL_u64:
	case ASSAY_COL_i64:
		return ((const int64_t *)values)[row];
	case ASSAY_COL_u32:
	case ASSAY_COL_sid:
	case ASSAY_COL_track:
	case ASSAY_COL_source:
	case ASSAY_COL_detail:
	case ASSAY_COL_code:
	case ASSAY_COL_stack:
	case ASSAY_COL_f64:
		break;
	}
	uint32_t v = ((const uint32_t *)values)[row];
	return v == ASSAY_NO_ROW ? -1 : (int64_t)v;
}

static bool is_time(const assay_col_info *col)
{
	return col->type == ASSAY_COL_i64 &&
	       (!strcmp(col->name, "ts") || !strcmp(col->name, "start"));
}

static void put_column(assay_page *p, const assay_table_info *info, const assay_col_info *col,
		       const uint32_t *order, size_t n)
{
	const void *values = assay_values(&p->run->part.t, info, col);
	const struct reference *ref = reference_of(col);
	struct clock clock = clock_of(p->run, info);
	char name[64];
	snprintf(name, sizeof name, "%s.%s", info->name, col->name);
	bool real = col->type == ASSAY_COL_f64;
	page_column c = assay_column_begin(p, name, real ? "f64" : "delta");
	for (size_t i = 0; i < n; i++) {
		size_t row = order ? order[i] : i;
		if (real)
			assay_column_f64(&c, ((const double *)values)[row]);
		else if (ref)
			assay_column_i64(&c, span_of(p, ref, ((const uint32_t *)values)[row]));
		else if (col->type == ASSAY_COL_sid)
			assay_column_i64(&c, assay_page_text(p, ((const uint32_t *)values)[row]));
		else if (is_time(col))
			assay_column_i64(&c, assay_page_time(p, source_of(p->run, &clock, row),
							     ((const int64_t *)values)[row]));
		else
			assay_column_i64(&c, integer_at(col, values, row));
	}
	assay_column_end(&c);
}

static size_t rows_in_full(const assay_page *p, const assay_table_info *info, size_t n)
{
	struct clock clock = clock_of(p->run, info);
	size_t shown = 0;
	if (!p->run->in_full)
		return n;
	while (shown < n && source_of(p->run, &clock, shown) < p->run->in_full)
		shown++;
	return shown;
}

void assay_page_tables(assay_page *p)
{
	for (size_t i = 0; i < ASSAY_COUNT_OF(wanted); i++) {
		const assay_table_info *info = assay_table_find(wanted[i].table);
		size_t n = info ? assay_rows(&p->run->part.t, info) : 0;
		const uint32_t *order = wanted[i].per_gpu ? p->gpu_row : NULL;
		if (wanted[i].per_gpu && n == p->run->part.t.gpu.n)
			n = p->gpu_spans;
		if (n && wanted[i].in_full)
			n = rows_in_full(p, info, n);
		for (size_t c = 0; n && c < info->cols; c++)
			put_column(p, info, &info->col[c], order, n);
	}
}
