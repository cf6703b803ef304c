/* Tables of findings on the page, by name: a section of the page appears when its table has
 * rows. */
#include "render/html_page.h"

#include <stdio.h>
#include <string.h>

/* Tables the page shows. as: their name there; only: of large ones, the columns it needs; spans:
 * columns that are left out when every row has a span, which says the same. per_gpu: one row for
 * each row of gpu, so it follows the page's order. in_full: of a job of many ranks, only rows of
 * those whose events the page has; they come first. */
static const struct wanted {
	const char *table, *as, *only, *spans;
	bool per_gpu, in_full;
} wanted[] = {
	{.table = "step", .in_full = true},
	{.table = "device_time", .in_full = true},
	{.table = "kernel"},
	{.table = "gap",
	 .only = " device ts dur gpu launch during behind cause late_rank late ",
	 .spans = " ts dur "},
	{.table = "gap_part", .only = " gap cause dur stack sample "},
	{.table = "idle_cause"},
	{.table = "step_time", .in_full = true},
	{.table = "budget"},
	{.table = "steady"},
	{.table = "finding"},
	{.table = "evidence"},
	{.table = "wait",
	 .only = " ts thread consumer producer host record_host producer_gpu consumer_gpu blocked delayed kind class "},
	{.table = "edge"},
	{.table = "scope"},
	{.table = "collective"},
	{.table = "rank"},
	{.table = "rank_step"},
	{.table = "op_shape", .only = " name dims types flops bound_ns bound "},
	{.table = "op_call", .only = " host shape busy "},
	{.table = "idle_line", .only = " device cause stack culprit dur stretches "},
	{.table = "kernel_line"},
	{.table = "sample", .as = "look", .only = " ts dur track stack calls count "},
	{.table = "code"},
	{.table = "stack"},
	{.table = "gpu_scope", .per_gpu = true},
	{.table = "gpu_op", .per_gpu = true},
};

static uint32_t source_of(const assay_run *run, assay_table_id id, size_t row)
{
	uint32_t source = assay_row_source(&run->part.t, id, row);
	return source == ASSAY_NO_ROW && run->part.t.source.n ? 0 : source;
}

/* Rows of gpu and host become spans of the page. */
static const uint32_t *spans_of(const assay_page *p, const assay_col_info *col)
{
	return col->kind->refers == ASSAY_T_gpu    ? p->gpu_span
	       : col->kind->refers == ASSAY_T_host ? p->host_span
						   : NULL;
}

static int64_t row_or_none(uint32_t row)
{
	return row == ASSAY_NO_ROW ? -1 : (int64_t)row;
}

static int64_t integer_at(const assay_col_info *col, const void *values, size_t row)
{
	if (col->kind->type == ASSAY_COL_i32)
		return ((const int32_t *)values)[row];
	uint64_t bits = assay_bits(col, values, row);
	return col->width == 4 ? row_or_none((uint32_t)bits) : (int64_t)bits;
}

static void put_column(assay_page *p, const struct wanted *w, const assay_table_info *info,
		       const assay_col_info *col, size_t n)
{
	const uint32_t *order = w->per_gpu ? p->gpu_row : NULL;
	const void *values = assay_values(&p->run->part.t, info, col);
	const uint32_t *span = spans_of(p, col);
	size_t refers =
		span ? assay_rows(&p->run->part.t, &assay_table_infos[col->kind->refers]) : 0;
	assay_col_type type = col->kind->type;
	char name[64];
	snprintf(name, sizeof name, "%s.%s", w->as ? w->as : info->name, col->name);
	page_column c = assay_column_begin(p, name, type == ASSAY_COL_f64 ? "f64" : "delta");
	for (size_t i = 0; i < n; i++) {
		size_t row = order ? order[i] : i;
		if (type == ASSAY_COL_f64)
			assay_column_f64(&c, ((const double *)values)[row]);
		else if (span)
			assay_column_i64(
				&c, assay_page_span(span, refers, ((const uint32_t *)values)[row]));
		else if (type == ASSAY_COL_sid)
			assay_column_i64(&c, assay_page_text(p, ((const uint32_t *)values)[row]));
		else if (type == ASSAY_COL_time)
			assay_column_i64(&c, assay_page_time(p, source_of(p->run, info->id, row),
							     ((const int64_t *)values)[row]));
		else
			assay_column_i64(&c, integer_at(col, values, row));
	}
	assay_column_end(&c);
}

static size_t rows_in_full(const assay_page *p, const assay_table_info *info, size_t n)
{
	size_t shown = 0;
	if (!p->run->in_full)
		return n;
	while (shown < n && source_of(p->run, info->id, shown) < p->run->in_full)
		shown++;
	return shown;
}

static bool has_word(const char *words, const char *column)
{
	char word[64];
	snprintf(word, sizeof word, " %s ", column);
	return strstr(words, word);
}

/* n: rows of the table. Only gaps have columns in spans; theirs are the last ones. */
static bool wants_column(const assay_page *p, const struct wanted *w, const char *column, size_t n)
{
	if (w->spans && has_word(w->spans, column) && p->spans - p->first_gap == n)
		return false;
	return !w->only || has_word(w->only, column);
}

void assay_page_tables(assay_page *p)
{
	for (size_t i = 0; i < ASSAY_COUNT_OF(wanted); i++) {
		const assay_table_info *info = assay_table_find(wanted[i].table);
		size_t n = info ? assay_rows(&p->run->part.t, info) : 0;
		if (wanted[i].per_gpu && n == p->run->part.t.gpu.n)
			n = p->gpu_spans;
		if (n && wanted[i].in_full)
			n = rows_in_full(p, info, n);
		for (size_t c = 0; n && c < info->cols; c++)
			if (wants_column(p, &wanted[i], info->col[c].name, n))
				put_column(p, &wanted[i], info, &info->col[c], n);
	}
}
