/* Tables, columns and problems by name and by number, for programs that link the library. */
#include <assert.h>
#include <string.h>

#include "base/test.h"
#include "model/run.h"

/* Callers built against an older header know fewer fields. */
static void give(void *out, const void *desc, size_t size)
{
	size_t known = *(const size_t *)out;
	size_t n = known && known < size ? known : size;
	memcpy((char *)out + sizeof known, (const char *)desc + sizeof known, n - sizeof known);
}

bool assay_table_describe(size_t table, assay_table_desc *out)
{
	if (table >= ASSAY_T_COUNT)
		return false;
	const assay_table_info *info = &assay_table_infos[table];
	give(out,
	     &(assay_table_desc){.name = info->name,
				 .doc = info->doc,
				 .each = assay_table_name(info->each),
				 .columns = info->cols},
	     sizeof *out);
	return true;
}

static assay_kind kind_of(assay_col_type type)
{
	switch (type) {
	case ASSAY_COL_sid:
		return ASSAY_KIND_STRING;
	case ASSAY_COL_time:
		return ASSAY_KIND_TIME;
	case ASSAY_COL_word:
		return ASSAY_KIND_WORD;
	case ASSAY_COL_row:
	case ASSAY_COL_choice:
		return ASSAY_KIND_ROW;
	case ASSAY_COL_u8:
	case ASSAY_COL_u16:
	case ASSAY_COL_u32:
	case ASSAY_COL_i32:
	case ASSAY_COL_u64:
	case ASSAY_COL_i64:
	case ASSAY_COL_f64:
	case ASSAY_COL_TYPE_COUNT:
		break;
	}
	return ASSAY_KIND_NUMBER;
}

bool assay_column_describe(size_t table, size_t column, assay_column_desc *out)
{
	if (table >= ASSAY_T_COUNT || column >= assay_table_infos[table].cols)
		return false;
	const assay_col_info *col = &assay_table_infos[table].col[column];
	uint64_t absent = assay_absent_bits(col);
	give(out,
	     &(assay_column_desc){.name = col->name,
				  .doc = col->doc,
				  .unit = col->unit,
				  .type = assay_col_public[col->kind->type],
				  .kind = kind_of(col->kind->type),
				  .width = col->width,
				  .can_be_absent = assay_is_absent(col, absent),
				  .absent = absent,
				  .refers = assay_table_name(col->kind->refers),
				  .words = col->kind->word,
				  .word_count = col->kind->words},
	     sizeof *out);
	return true;
}

static const assay_col_info *find_column(const char *table, const char *column,
					 const assay_table_info **info)
{
	*info = assay_table_find(table);
	for (size_t c = 0; *info && c < (*info)->cols; c++)
		if (!strcmp((*info)->col[c].name, column))
			return &(*info)->col[c];
	return NULL;
}

const char *assay_value_table(const assay_run *run, const char *table, const char *column,
			      size_t row)
{
	const assay_table_info *info;
	const assay_tables *t = &run->part.t;
	const assay_col_info *col = find_column(table, column, &info);
	if (!col || row >= assay_rows(t, info) ||
	    assay_is_absent(col, assay_bits(col, assay_values(t, info, col), row)))
		return NULL;
	return assay_table_name(col->kind->choose ? col->kind->choose(t, info->id, row)
						  : col->kind->refers);
}

size_t assay_table_rows(const assay_run *run, const char *table)
{
	const assay_table_info *info = assay_table_find(table);
	return info ? assay_rows(&run->part.t, info) : 0;
}

const void *assay_table_column(const assay_run *run, const char *table, const char *column,
			       assay_type *type)
{
	const assay_table_info *info;
	const assay_col_info *col = find_column(table, column, &info);
	if (col && type)
		*type = assay_col_public[col->kind->type];
	return col ? assay_values(&run->part.t, info, col) : NULL;
}

const char *assay_string(const assay_run *run, uint32_t id)
{
	return assay_z(run, id);
}

uint64_t assay_issue_count(const assay_run *run, const char *id)
{
	for (int i = 0; i < ASSAY_ISSUE_COUNT; i++)
		if (!strcmp(assay_issue_infos[i].id, id))
			return run->part.issues[i];
	return 0;
}

bool assay_issue_describe(size_t issue, assay_issue_desc *out)
{
	if (issue >= ASSAY_ISSUE_COUNT)
		return false;
	const assay_issue_info *info = &assay_issue_infos[issue];
	give(out,
	     &(assay_issue_desc){.id = info->id, .severity = info->severity, .text = info->text},
	     sizeof *out);
	return true;
}

TEST(tables_and_columns_can_be_listed)
{
	assay_table_desc t = {.size = sizeof t};
	assay_column_desc c = {.size = sizeof c};
	size_t tables = 0, rows = 0;
	for (; assay_table_describe(tables, &t); tables++)
		for (size_t i = 0; i < t.columns; i++) {
			CHECK(assay_column_describe(tables, i, &c) && c.name && c.width);
			CHECK(!c.refers ||
			      (c.kind == ASSAY_KIND_ROW && assay_table_find(c.refers)));
			CHECK((c.kind == ASSAY_KIND_WORD) == (c.word_count > 0));
			rows += c.kind == ASSAY_KIND_ROW;
		}
	CHECK(tables == ASSAY_T_COUNT && rows > 40);
	CHECK(!assay_column_describe(0, t.columns + 100, &c));
	return 0;
}

TEST(an_older_caller_gets_the_fields_it_knows)
{
	assay_column_desc c = {.size = offsetof(assay_column_desc, unit), .unit = "mine"};
	CHECK(assay_column_describe(ASSAY_T_gpu, 0, &c));
	CHECK(!strcmp(c.name, "ts") && !strcmp(c.unit, "mine"));
	return 0;
}

TEST(a_value_says_whose_row_it_is)
{
	assay_run *run = assay_run_new();
	uint32_t h = assay_add(&run->part.t, ASSAY_T_host);
	run->part.t.host.kind[h] = ASSAY_HOST_PYTHON;
	CHECK(!assay_value_table(run, "host", "detail", h));
	run->part.t.host.detail[h] = 3;
	CHECK(!strcmp(assay_value_table(run, "host", "detail", h), "frame"));
	CHECK(!assay_value_table(run, "host", "track", h));
	assay_run_free(run);
	return 0;
}
