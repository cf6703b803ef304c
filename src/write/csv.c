/* Any table as CSV, by its description: nothing here knows a column. */
#include "write/csv.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/csvw.h"
#include "base/test.h"
#include "base/turns.h"
#include "write/folder.h"
#include "write/writer.h"

static void put_number(assay_csvw *out, uint64_t v, bool with_sign)
{
	char digits[ASSAY_DIGITS_MAX];
	char *end = with_sign ? assay_put_i64(digits, (int64_t)v) : assay_put_u64(digits, v);
	assay_csvw_bytes(out, (assay_str){digits, (size_t)(end - digits)});
}

static void put_real(assay_csvw *out, double v)
{
	char digits[40];
	snprintf(digits, sizeof digits, "%.17g", v);
	assay_csvw_bytes(out, assay_str_of(digits));
}

static void put_cell(const assay_run *run, const assay_col_info *col, const void *values,
		     size_t row, assay_csvw *out)
{
	uint64_t bits = assay_bits(col, values, row);
	assay_type type = assay_col_public[col->kind->type];
	if (assay_is_absent(col, bits))
		return;
	if (type == ASSAY_TYPE_STRING)
		assay_csvw_text(out, assay_text(run, (assay_sid)bits));
	else if (type == ASSAY_TYPE_F64)
		put_real(out, ((const double *)values)[row]);
	else if (type == ASSAY_TYPE_I32)
		put_number(out, (uint64_t)(int32_t)bits, true);
	else
		put_number(out, bits, type == ASSAY_TYPE_I64);
}

/* Rows are written in blocks: at the same time, into memory of each thread, and put into the file
 * in order. */
enum { BLOCK_ROWS = 4096 };

typedef struct blocks {
	const assay_run *run;
	const assay_table_info *info;
	size_t rows;
	FILE *out;
	assay_csvw worker[ASSAY_THREADS_MAX];
} blocks;

static void put_row(const blocks *b, size_t row, assay_csvw *t)
{
	for (size_t c = 0; c < b->info->cols; c++) {
		const assay_col_info *col = &b->info->col[c];
		if (c)
			*assay_push(t) = ',';
		put_cell(b->run, col, assay_values(&b->run->part.t, b->info, col), row, t);
	}
	assay_csvw_bytes(t, ASSAY_S("\r\n"));
}

static void write_block(void *ctx, unsigned worker, uint64_t block)
{
	blocks *b = ctx;
	size_t from = block * BLOCK_ROWS, to = from + BLOCK_ROWS;
	b->worker[worker].n = 0;
	for (size_t row = from; row < to && row < b->rows; row++)
		put_row(b, row, &b->worker[worker]);
}

static bool join_block(void *ctx, unsigned worker, uint64_t block)
{
	const blocks *b = ctx;
	(void)block;
	fwrite(b->worker[worker].p, 1, b->worker[worker].n, b->out);
	return true;
}

void assay_csv_table(const assay_run *run, assay_table_id id, FILE *out)
{
	const assay_table_info *info = &assay_table_infos[id];
	blocks b = {.run = run, .info = info, .rows = assay_rows(&run->part.t, info), .out = out};
	unsigned threads = assay_threads();
	for (size_t c = 0; c < info->cols; c++)
		fprintf(out, "%s%s", c ? "," : "", info->col[c].name);
	fputs("\r\n", out);
	assay_turns_run(&(assay_turns){.tasks = (b.rows + BLOCK_ROWS - 1) / BLOCK_ROWS,
				       .threads = threads,
				       .ctx = &b,
				       .work = write_block,
				       .hand_over = join_block});
	for (unsigned i = 0; i < threads; i++)
		assay_vec_free(&b.worker[i]);
}

static void put_line(assay_csvw *out, const char *const *cell, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (i)
			*assay_push(out) = ',';
		assay_csvw_text(out, assay_str_of(cell[i]));
	}
	assay_csvw_bytes(out, ASSAY_S("\r\n"));
}

static const char *refers_name(const assay_col_info *col)
{
	assay_table_id to = col->kind->refers;
	return to < ASSAY_T_COUNT ? assay_table_infos[to].name : "";
}

/* Every column of every table: its type, unit, meaning, and the table whose rows it holds. */
static void put_columns(FILE *out)
{
	static const char *const head[] = {"table",  "each", "column", "type",
					   "refers", "unit", "doc"};
	assay_csvw t = {0};
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
	fwrite(t.p, 1, t.n, out);
	assay_vec_free(&t);
}

static const char *file_name(assay_arena *a, assay_table_id id)
{
	return assay_printf(a, "%s.csv",
			    id == ASSAY_T_NONE ? "columns" : assay_table_infos[id].name);
}

static bool write_files(const assay_run *run, assay_folder *f, assay_err *err)
{
	assay_arena a = {0};
	FILE *out = assay_folder_file(f, file_name(&a, ASSAY_T_NONE), err);
	if (out)
		put_columns(out);
	for (assay_table_id id = 0; out && id < ASSAY_T_COUNT; id++) {
		if (!assay_rows(&run->part.t, &assay_table_infos[id]))
			continue;
		out = assay_folder_file(f, file_name(&a, id), err);
		if (out)
			assay_csv_table(run, id, out);
	}
	assay_arena_free(&a);
	return out;
}

static bool write_tables(const assay_run *run, const char *folder, assay_left_out *left,
			 assay_err *err)
{
	assay_folder f;
	(void)left; /* nothing is: it has every table */
	return assay_folder_open(&f, run, folder, err) &&
	       assay_folder_close(&f, write_files(run, &f, err), err);
}

const assay_writer assay_writer_csv = {
	.name = "csv",
	.exts = {"/"},
	.about = "every table as comma-separated values, one file each",
	.back = "no: for spreadsheets",
	.page = "csv-out",
	.write_folder = write_tables,
	.needs = ASSAY_NEEDS_FINDINGS,
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
	CHECK(!strcmp(text,
		      "domain,name,calls,total,min,max,source\r\n,\"a \"\"b\"\", c\",0,-5,,,\r\n"));
	free(text);
	assay_run_free(run);
	return 0;
}

TEST(a_table_says_what_columns_refer_to)
{
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);
	put_columns(f);
	fclose(f);
	CHECK(strstr(text, "\r\ngap,,gpu,row,gpu,,row of gpu that ends it\r\n"));
	CHECK(strstr(text, "\r\nlaunch,gpu,host,row,host,,"));
	CHECK(strstr(text, "\r\ngap,,ts,time,,ns,"));
	free(text);
	return 0;
}

TEST(a_folder_is_written_whole_or_not_at_all)
{
	assay_run *run = assay_run_new();
	assay_err err = {0};
	assay_add(&run->part.t, ASSAY_T_stat);
	const char *folder = assay_test_path("folder"),
		   *blocked = assay_test_path("folder/stat.csv");
	const char *columns = assay_test_path("folder/columns.csv");
	CHECK(write_tables(run, folder, NULL, &err) && !access(blocked, F_OK));
	CHECK(!unlink(blocked) && !unlink(columns) && !mkdir(blocked, 0777));
	CHECK(!write_tables(run, folder, NULL, &err) && strstr(err.text, blocked));
	CHECK(access(columns, F_OK) && !rmdir(blocked) && !rmdir(folder));
	assay_run_free(run);
	return 0;
}
