/* SQL text of tables and views. A reach becomes a chain of look-ups by row number, which SQLite
 * answers from primary keys. */
#include "query/schema.h"

#include <inttypes.h>

#include "base/test.h"
#include "query/reach.h"

static const char *const types[] = {"", "INTEGER", "REAL", "TEXT"};

/* One word of a reach: the row it leads to, as SQL, from the row before. */
typedef struct place {
	const assay_table_info *table;
	const char *row;   /* SQL of its row number; NULL: the view's own row */
	const char *value; /* SQL of the column the last word named */
} place;

static const char *value_in(assay_arena *a, const place *p, const char *col)
{
	return p->row ? assay_printf(a, "(SELECT \"%s\" FROM \"%s\" WHERE \"%s\" = %s)", col,
				     p->table->name, assay_table_key(p->table), p->row)
		      : assay_printf(a, "r.\"%s\"", col);
}

static void follow_word(assay_arena *a, place *p, const assay_reach_word *w)
{
	if (w->way == ASSAY_REACH_COLUMN)
		p->row = p->value = value_in(a, p, w->col->name);
	else if (w->way == ASSAY_REACH_KERNEL)
		p->row =
			"(SELECT id FROM kernel WHERE kernel.name = r.name AND kernel.kind = r.kind)";
	else if (!p->row)
		p->row = assay_printf(a, "r.\"%s\"", assay_table_key(p->table));
	p->table = w->to;
}

/* SQL of one term without its sign. */
static const char *reach_sql(assay_arena *a, const assay_table_info *table, assay_str text)
{
	place p = {.table = table};
	assay_reach_word w;
	while (text.n && assay_reach_next(&text, p.table, &w))
		follow_word(a, &p, &w);
	return p.value ? p.value : assay_printf(a, "r.\"%s\"", assay_table_key(table));
}

static const char *terms_sql(assay_arena *a, const assay_relations *rels,
			     const assay_table_info *table, const char *reach)
{
	assay_str rest = assay_str_of(reach), term;
	const char *sql = "";
	for (bool minus; assay_reach_term(&rest, &term, &minus);)
		sql = assay_printf(a, "%s%s%s", sql,
				   !*sql   ? ""
				   : minus ? " - "
					   : " + ",
				   assay_str_is(term, "$first")
					   ? assay_printf(a, "%" PRId64, rels->first)
					   : reach_sql(a, table, term));
	return *sql ? sql : reach_sql(a, table, rest);
}

static const char *create_table(assay_arena *a, const assay_relation *rel)
{
	const char *sql = assay_printf(a, "CREATE TABLE file.\"%s\"(\"%s\" INTEGER PRIMARY KEY",
				       rel->name, rel->col[0].name);
	for (size_t i = 1; i < rel->cols; i++)
		if (!rel->col[i].string_id)
			sql = assay_printf(a, "%s, \"%s\" %s", sql, rel->col[i].name,
					   types[rel->col[i].type]);
	return assay_printf(a, "%s)", sql);
}

static const char *create_view(assay_arena *a, const assay_relations *rels,
			       const assay_relation *rel)
{
	const char *sql = assay_printf(a, "CREATE VIEW file.\"%s\" AS SELECT r.\"%s\" AS id",
				       rel->name, assay_table_key(rel->table));
	for (size_t i = 1; i < rel->cols; i++)
		if (!rel->col[i].string_id)
			sql = assay_printf(a, "%s, %s AS \"%s\"", sql,
					   terms_sql(a, rels, rel->table, rel->col[i].reach),
					   rel->col[i].name);
	sql = assay_printf(a, "%s FROM \"%s\" r", sql, rel->table->name);
	const char *eq = strchr(rel->filter, '=');
	return eq ? assay_printf(a, "%s WHERE r.\"%.*s\" = '%s'", sql, (int)(eq - rel->filter),
				 rel->filter, eq + 1)
		  : sql;
}

const char *assay_relation_create(assay_arena *a, const assay_relations *rels,
				  const assay_relation *rel)
{
	return rel->filter ? create_view(a, rels, rel) : create_table(a, rel);
}

const char *assay_relation_index(assay_arena *a, const assay_relation *rel,
				 const assay_relation_col *col)
{
	assay_col_type type = col->terms == 1 ? col->term[0].col->kind->type : ASSAY_COL_u8;
	bool wanted = type == ASSAY_COL_time || type == ASSAY_COL_row ||
		      !strcmp(col->name, "corr") || !strcmp(col->name, "name");
	if (rel->filter || !wanted || col->string_id)
		return NULL;
	return assay_printf(a, "%s by %s", rel->name, col->name);
}

const char *assay_relation_create_index(assay_arena *a, const assay_relation *rel,
					const assay_relation_col *col)
{
	return assay_printf(a, "CREATE INDEX file.\"%s\" ON \"%s\"(\"%s\")",
			    assay_relation_index(a, rel, col), rel->name, col->name);
}
