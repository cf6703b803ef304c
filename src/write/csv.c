/* Any table as CSV, by its description: nothing here knows a column. */
#include "write/csv.h"

#include <stdlib.h>

#include "base/test.h"

enum { FLUSH = 1 << 16 };

typedef assay_vec(char) csv_text;

static void put_bytes(csv_text *out, assay_str s)
{
	assay_vec_reserve(out, out->n + s.n);
	if (s.n)
		memcpy(out->p + out->n, s.p, s.n);
	out->n += s.n;
}

static void put_text(csv_text *out, assay_str s)
{
	bool quote = false;
	for (size_t i = 0; i < s.n; i++)
		quote |= s.p[i] == ',' || s.p[i] == '"' || s.p[i] == '\n' || s.p[i] == '\r';
	if (!quote) {
		put_bytes(out, s);
		return;
	}
	*assay_push(out) = '"';
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] == '"')
			*assay_push(out) = '"';
		*assay_push(out) = s.p[i];
	}
	*assay_push(out) = '"';
}

static void put_number(csv_text *out, uint64_t v, bool with_sign)
{
	char digits[ASSAY_DIGITS_MAX];
	char *end = with_sign ? assay_put_i64(digits, (int64_t)v) : assay_put_u64(digits, v);
	put_bytes(out, (assay_str){digits, (size_t)(end - digits)});
}

static void put_real(csv_text *out, const char *at)
{
	char digits[40];
	double v;
	memcpy(&v, at, sizeof v);
	snprintf(digits, sizeof digits, "%.17g", v);
	put_bytes(out, assay_str_of(digits));
}

/* The value's bits, widened without sign; equal to col->absent cut to the same width when absent.
 */
static uint64_t bits_of(const char *at, size_t width)
{
	uint64_t bits = 0;
	memcpy(&bits, at, width);
	return bits;
}

static void put_cell(const assay_run *run, const assay_col_info *col, const char *at, csv_text *out)
{
	size_t width = assay_col_width(col->type);
	uint64_t bits = bits_of(at, width);
	uint64_t mask = width == 8 ? UINT64_MAX : (1ull << 8 * width) - 1;
	bool can_be_absent = col->absent != 0 || col->type == ASSAY_COL_sid;
	if (can_be_absent && bits == (col->absent & mask))
		return;
	switch (col->type) {
	case ASSAY_COL_sid:
		put_text(out, assay_text(run, (assay_sid)bits));
		break;
	case ASSAY_COL_f64:
		put_real(out, at);
		break;
	case ASSAY_COL_i32:
		put_number(out, (uint64_t)(int32_t)bits, true);
		break;
	case ASSAY_COL_i64:
		put_number(out, bits, true);
		break;
	case ASSAY_COL_u8:
	case ASSAY_COL_u16:
	case ASSAY_COL_u32:
	case ASSAY_COL_u64:
	case ASSAY_COL_track:
	case ASSAY_COL_source:
	case ASSAY_COL_detail:
	case ASSAY_COL_code:
	case ASSAY_COL_stack:
		put_number(out, bits, false);
		break;
	}
}

static void flush(csv_text *t, FILE *out)
{
	if (t->n)
		fwrite(t->p, 1, t->n, out);
	t->n = 0;
}

void assay_csv_table(const assay_run *run, assay_table_id id, FILE *out)
{
	const assay_table_info *info = &assay_table_infos[id];
	csv_text t = {0};
	for (size_t c = 0; c < info->cols; c++)
		fprintf(out, "%s%s", c ? "," : "", info->col[c].name);
	fputs("\r\n", out);
	for (size_t row = 0; row < assay_rows(&run->part.t, info); row++) {
		for (size_t c = 0; c < info->cols; c++) {
			const assay_col_info *col = &info->col[c];
			const char *column = assay_values(&run->part.t, info, col);
			if (c)
				*assay_push(&t) = ',';
			put_cell(run, col, column + row * assay_col_width(col->type), &t);
		}
		put_bytes(&t, ASSAY_S("\r\n"));
		if (t.n >= FLUSH)
			flush(&t, out);
	}
	flush(&t, out);
	assay_vec_free(&t);
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
