/* Any table as CSV, by its description: nothing here knows a column. */
#include "write/csv.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/test.h"

static void put_text(assay_str s, FILE *out)
{
	bool quote = false;
	for (size_t i = 0; i < s.n; i++)
		quote |= s.p[i] == ',' || s.p[i] == '"' || s.p[i] == '\n' || s.p[i] == '\r';
	if (!quote) {
		fwrite(s.p, 1, s.n, out);
		return;
	}
	fputc('"', out);
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] == '"')
			fputc('"', out);
		fputc(s.p[i], out);
	}
	fputc('"', out);
}

/* The value's bits, widened without sign; equal to col->absent cut to the same width when absent.
 */
static uint64_t bits_of(const char *at, size_t width)
{
	uint64_t bits = 0;
	memcpy(&bits, at, width);
	return bits;
}

static void put_cell(const assay_run *run, const assay_col_info *col, const char *at, FILE *out)
{
	size_t width = assay_col_width(col->type);
	uint64_t bits = bits_of(at, width);
	uint64_t mask = width == 8 ? UINT64_MAX : (1ull << 8 * width) - 1;
	bool can_be_absent = col->absent != 0 || col->type == ASSAY_COL_sid;
	double f;
	if (can_be_absent && bits == (col->absent & mask))
		return;
	switch (col->type) {
	case ASSAY_COL_sid:
		put_text(assay_text(run, (assay_sid)bits), out);
		break;
	case ASSAY_COL_f64:
		memcpy(&f, at, sizeof f);
		fprintf(out, "%.17g", f);
		break;
	case ASSAY_COL_i32:
		fprintf(out, "%" PRId32, (int32_t)bits);
		break;
	case ASSAY_COL_i64:
		fprintf(out, "%" PRId64, (int64_t)bits);
		break;
	case ASSAY_COL_u8:
	case ASSAY_COL_u16:
	case ASSAY_COL_u32:
	case ASSAY_COL_u64:
	case ASSAY_COL_track:
	case ASSAY_COL_source:
	case ASSAY_COL_detail:
		fprintf(out, "%" PRIu64, bits);
		break;
	}
}

void assay_csv_table(const assay_run *run, assay_table_id id, FILE *out)
{
	const assay_table_info *info = &assay_table_infos[id];
	for (size_t c = 0; c < info->cols; c++)
		fprintf(out, "%s%s", c ? "," : "", info->col[c].name);
	fputs("\r\n", out);
	for (size_t row = 0; row < assay_rows(&run->part.t, info); row++) {
		for (size_t c = 0; c < info->cols; c++) {
			const assay_col_info *col = &info->col[c];
			const char *column = assay_values(&run->part.t, info, col);
			if (c)
				fputc(',', out);
			put_cell(run, col, column + row * assay_col_width(col->type), out);
		}
		fputs("\r\n", out);
	}
}

TEST(cells_are_quoted_and_absent_ones_empty)
{
	assay_run *run = assay_run_new();
	uint32_t r = assay_add(&run->part.t, ASSAY_T_stat);
	run->part.t.stat.total[r] = -5;
	run->part.t.stat.name[r] = assay_sid_of(run, "a \"b\", c");
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);
	assay_csv_table(run, ASSAY_T_stat, f);
	fclose(f);
	CHECK(!strcmp(text, "domain,name,calls,total,min,max\r\n,\"a \"\"b\"\", c\",0,-5,,\r\n"));
	free(text);
	assay_run_free(run);
	return 0;
}
