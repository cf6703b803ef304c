/* Any table as CSV, by its description: nothing here knows a column. */
#include "write/csv.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/output.h"
#include "base/test.h"
#include "write/writer.h"

enum { FLUSH = 1 << 16 };

typedef assay_vec(char) csv_text;

static void put_bytes(csv_text *out, assay_str s)
{
	assay_vec_reserve(out, out->n + s.n);
	if (s.n)
		memcpy(out->p + out->n, s.p, s.n);
	out->n += s.n;
}

static void put_quoted(csv_text *out, assay_str s)
{
	*assay_push(out) = '"';
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] == '"')
			*assay_push(out) = '"';
		*assay_push(out) = s.p[i];
	}
	*assay_push(out) = '"';
}

/* Spreadsheets take text that begins so for a formula, and run it; an apostrophe makes it text. */
static bool is_formula(assay_str s)
{
	double v;
	return s.n && strchr("=+-@\t\r", s.p[0]) && s.p[0] && !assay_str_f64(s, &v);
}

static void put_text(csv_text *out, assay_str s)
{
	assay_arena a = {0};
	bool quote = false;
	if (is_formula(s))
		s = assay_str_of(assay_printf(&a, "'%.*s", (int)s.n, s.p));
	for (size_t i = 0; i < s.n; i++)
		quote |= s.p[i] == ',' || s.p[i] == '"' || s.p[i] == '\n' || s.p[i] == '\r';
	if (quote)
		put_quoted(out, s);
	else
		put_bytes(out, s);
	assay_arena_free(&a);
}

static void put_number(csv_text *out, uint64_t v, bool with_sign)
{
	char digits[ASSAY_DIGITS_MAX];
	char *end = with_sign ? assay_put_i64(digits, (int64_t)v) : assay_put_u64(digits, v);
	put_bytes(out, (assay_str){digits, (size_t)(end - digits)});
}

static void put_real(csv_text *out, double v)
{
	char digits[40];
	snprintf(digits, sizeof digits, "%.17g", v);
	put_bytes(out, assay_str_of(digits));
}

static void put_cell(const assay_run *run, const assay_col_info *col, const void *values,
		     size_t row, csv_text *out)
{
	uint64_t bits = assay_bits(col, values, row);
	assay_type type = assay_col_public[col->kind->type];
	if (assay_is_absent(col, bits))
		return;
	if (type == ASSAY_TYPE_STRING)
		put_text(out, assay_text(run, (assay_sid)bits));
	else if (type == ASSAY_TYPE_F64)
		put_real(out, ((const double *)values)[row]);
	else if (type == ASSAY_TYPE_I32)
		put_number(out, (uint64_t)(int32_t)bits, true);
	else
		put_number(out, bits, type == ASSAY_TYPE_I64);
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
			if (c)
				*assay_push(&t) = ',';
			put_cell(run, col, assay_values(&run->part.t, info, col), row, &t);
		}
		put_bytes(&t, ASSAY_S("\r\n"));
		if (t.n >= FLUSH)
			flush(&t, out);
	}
	flush(&t, out);
	assay_vec_free(&t);
}

static void put_line(csv_text *out, const char *const *cell, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (i)
			*assay_push(out) = ',';
		put_text(out, assay_str_of(cell[i]));
	}
	put_bytes(out, ASSAY_S("\r\n"));
}

static const char *refers_name(const assay_col_info *col)
{
	assay_table_id to = col->kind->refers;
	return to < ASSAY_T_COUNT ? assay_table_infos[to].name : "";
}

void assay_csv_columns(FILE *out)
{
	static const char *const head[] = {"table",  "each", "column", "type",
					   "refers", "unit", "doc"};
	csv_text t = {0};
	put_line(&t, head, ASSAY_COUNT_OF(head));
	for (size_t i = 0; i < ASSAY_T_COUNT; i++) {
		const assay_table_info *info = &assay_table_infos[i];
		const char *each =
			info->each < ASSAY_T_COUNT ? assay_table_infos[info->each].name : "";
		for (size_t c = 0; c < info->cols; c++) {
			const assay_col_info *col = &info->col[c];
			const char *cell[ASSAY_COUNT_OF(head)] = {
				info->name,       each,
				col->name,        assay_col_type_name[col->kind->type],
				refers_name(col), col->unit,
				col->doc};
			put_line(&t, cell, ASSAY_COUNT_OF(cell));
		}
	}
	flush(&t, out);
	assay_vec_free(&t);
}

const char *assay_csv_path(assay_arena *a, const char *folder, assay_table_id id)
{
	return assay_printf(a, "%s/%s.csv", folder,
			    id == ASSAY_T_NONE ? "columns" : assay_table_infos[id].name);
}

typedef assay_vec(assay_output *) outputs;

/* One file of the folder, without its name yet: a table, or what all columns are when there is
 * none. */
static bool write_file(const assay_run *run, assay_table_id id, const char *path, outputs *made,
		       assay_err *err)
{
	assay_output *o = assay_output_open(path, err);
	if (!o)
		return false;
	*assay_push(made) = o;
	if (id == ASSAY_T_NONE)
		assay_csv_columns(assay_output_file(o));
	else
		assay_csv_table(run, id, assay_output_file(o));
	return true;
}

static bool write_files(const assay_run *run, const char *folder, outputs *made, assay_err *err)
{
	assay_arena a = {0};
	bool ok =
		write_file(run, ASSAY_T_NONE, assay_csv_path(&a, folder, ASSAY_T_NONE), made, err);
	for (assay_table_id id = 0; ok && id < ASSAY_T_COUNT; id++)
		if (assay_rows(&run->part.t, &assay_table_infos[id]))
			ok = write_file(run, id, assay_csv_path(&a, folder, id), made, err);
	assay_arena_free(&a);
	return ok;
}

/* The files get their names when the last of them is whole: until then the folder is as it was. */
static bool write_tables(const assay_run *run, const char *folder, assay_err *err)
{
	outputs made = {0};
	bool fresh = mkdir(folder, 0777) == 0;
	bool ok = fresh || errno == EEXIST ||
		  assay_fail(err, ASSAY_IO, 0, "cannot make %s: %s", folder, strerror(errno));
	ok = ok && write_files(run, folder, &made, err);
	for (size_t i = 0; ok && i < made.n; i++)
		ok = assay_output_finish(made.p[i], err);
	for (size_t i = 0; i < made.n; i++) {
		if (ok)
			ok = assay_output_close(made.p[i], err);
		else
			assay_output_drop(made.p[i]);
	}
	assay_vec_free(&made);
	if (!ok && fresh)
		rmdir(folder);
	return ok;
}

const assay_writer assay_writer_csv = {
	.name = "csv",
	.exts = {"/"},
	.about = "every table as comma-separated values, one file each",
	.derives = true,
	.write_folder = write_tables,
};

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

TEST(a_table_says_what_columns_refer_to)
{
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);
	assay_csv_columns(f);
	fclose(f);
	CHECK(strstr(text, "\r\ngap,,gpu,row,gpu,,row of gpu that ends it\r\n"));
	CHECK(strstr(text, "\r\nlaunch,gpu,host,row,host,,"));
	CHECK(strstr(text, "\r\ngap,,ts,time,,ns,"));
	free(text);
	return 0;
}

TEST(cells_are_no_formulas)
{
	static const char *const pairs[][2] = {
		{"=1+1", "'=1+1"}, {"@SUM(A1)", "'@SUM(A1)"}, {"-5", "-5"},
		{"-x", "'-x"},     {"+1.5e3", "+1.5e3"},      {"a=b", "a=b"},
		{"", ""},          {"=a,b", "\"'=a,b\""},
	};
	for (size_t i = 0; i < ASSAY_COUNT_OF(pairs); i++) {
		csv_text t = {0};
		put_text(&t, assay_str_of(pairs[i][0]));
		CHECK(assay_str_is((assay_str){t.p, t.n}, pairs[i][1]));
		assay_vec_free(&t);
	}
	return 0;
}

TEST(a_folder_is_written_whole_or_not_at_all)
{
	assay_run *run = assay_run_new();
	assay_err err = {0};
	assay_add(&run->part.t, ASSAY_T_stat);
	const char *folder = "/tmp/assay-csv-folder", *blocked = "/tmp/assay-csv-folder/stat.csv";
	const char *columns = "/tmp/assay-csv-folder/columns.csv";
	CHECK(write_tables(run, folder, &err) && !access(blocked, F_OK));
	CHECK(!unlink(blocked) && !unlink(columns) && !mkdir(blocked, 0777));
	CHECK(!write_tables(run, folder, &err) && strstr(err.text, blocked));
	CHECK(access(columns, F_OK) && !rmdir(blocked) && !rmdir(folder));
	assay_run_free(run);
	return 0;
}
