/* The tables and columns of the model, as tables.def has them. */
#include "render/info.h"

static void print_column(FILE *out, const assay_col_info *col)
{
	const char *refers = assay_table_name(col->kind->refers);
	char type[32];
	snprintf(type, sizeof type, "%s%s%s", assay_col_type_name[col->kind->type],
		 refers ? " of " : "", refers ? refers : "");
	fprintf(out, "  %-15s %-18s %-5s %s", col->name, type, col->unit, col->doc);
	for (size_t i = 0; i < col->kind->words; i++)
		fprintf(out, "%s%zu %s", i ? ", " : " (", i, col->kind->word[i]);
	fprintf(out, "%s\n", col->kind->words ? ")" : "");
}

void assay_schema_text(FILE *out)
{
	for (size_t t = 0; t < ASSAY_T_COUNT; t++) {
		const assay_table_info *info = &assay_table_infos[t];
		fprintf(out, "%s%s: %s\n", t ? "\n" : "", info->name, info->doc);
		for (size_t c = 0; c < info->cols; c++)
			print_column(out, &info->col[c]);
	}
}

static void put_column(assay_jsonw *w, const assay_col_info *col)
{
	assay_jsonw_open_flat(w, NULL, '{');
	assay_jsonw_z(w, "name", col->name);
	assay_jsonw_z(w, "type", assay_col_type_name[col->kind->type]);
	if (col->kind->refers != ASSAY_T_NONE)
		assay_jsonw_z(w, "refers", assay_table_name(col->kind->refers));
	assay_jsonw_z(w, "unit", *col->unit ? col->unit : NULL);
	assay_jsonw_z(w, "doc", col->doc);
	if (col->kind->words) {
		assay_jsonw_open(w, "words", '[');
		for (size_t i = 0; i < col->kind->words; i++)
			assay_jsonw_z(w, NULL, col->kind->word[i]);
		assay_jsonw_close(w, ']');
	}
	assay_jsonw_close(w, '}');
}

static void put_table(assay_jsonw *w, const assay_table_info *info)
{
	assay_jsonw_open(w, NULL, '{');
	assay_jsonw_z(w, "name", info->name);
	assay_jsonw_z(w, "doc", info->doc);
	if (info->each != ASSAY_T_NONE)
		assay_jsonw_z(w, "each", assay_table_name(info->each));
	assay_jsonw_open(w, "columns", '[');
	for (size_t c = 0; c < info->cols; c++)
		put_column(w, &info->col[c]);
	assay_jsonw_close(w, ']');
	assay_jsonw_close(w, '}');
}

void assay_schema_json(assay_jsonw *w)
{
	assay_jsonw_open(w, NULL, '{');
	assay_jsonw_open(w, "tables", '[');
	for (size_t t = 0; t < ASSAY_T_COUNT; t++)
		put_table(w, &assay_table_infos[t]);
	assay_jsonw_close(w, ']');
	assay_jsonw_close(w, '}');
}
