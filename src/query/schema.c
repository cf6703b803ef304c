/* SQL text of tables and views. A reach becomes a chain of look-ups by row number, which SQLite
 * answers from primary keys. */
#include "query/schema.h"

#include <inttypes.h>

#include "base/test.h"

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

static void follow_word(assay_arena *a, place *p, assay_str word, bool last)
{
	const char *own = p->row ? p->row : assay_printf(a, "r.\"%s\"", assay_table_key(p->table));
	if (assay_str_is(word, "*kernel")) {
		p->row =
			"(SELECT id FROM kernel WHERE kernel.name = r.name AND kernel.kind = r.kind)";
		p->table = assay_table_find("kernel");
		return;
	}
	if (word.p[0] == '>') {
		p->table = assay_table_find(assay_dup(a, (assay_str){word.p + 1, word.n - 1}));
		p->row = own;
		return;
	}
	assay_str name = word, of = {NULL, 0};
	for (size_t i = 0; i < word.n; i++)
		if (word.p[i] == '/') {
			name.n = i;
			of = (assay_str){word.p + i + 1, word.n - i - 1};
		}
	const char *value = value_in(a, p, assay_dup(a, name));
	p->value = value;
	if (last)
		return;
	assay_table_id to = assay_table_column_named(p->table, name)->kind->refers;
	p->table = of.n ? assay_table_find(assay_dup(a, of)) : &assay_table_infos[to];
	p->row = value;
}

/* SQL of one reach without a sign. */
static const char *reach_sql(assay_arena *a, const assay_table_info *table, assay_str text)
{
	place p = {.table = table};
	while (text.n) {
		size_t n = 0;
		while (n < text.n && text.p[n] != '.')
			n++;
		follow_word(a, &p, (assay_str){text.p, n}, n == text.n);
		size_t used = n < text.n ? n + 1 : n;
		text = (assay_str){text.p + used, text.n - used};
	}
	return p.value ? p.value : assay_printf(a, "r.\"%s\"", assay_table_key(table));
}

static const char *terms_sql(assay_arena *a, const assay_relations *rels,
			     const assay_table_info *table, const char *reach)
{
	assay_str rest = assay_str_of(reach);
	const char *sql = "", *sign = "";
	do {
		size_t n = 0;
		while (n < rest.n && rest.p[n] != '+' && rest.p[n] != '-')
			n++;
		assay_str term = {rest.p, n};
		const char *one = assay_str_is(term, "$first")
					  ? assay_printf(a, "%" PRId64, rels->first)
					  : reach_sql(a, table, term);
		sql = assay_printf(a, "%s%s%s", sql, sign, one);
		sign = n < rest.n && rest.p[n] == '-' ? " - " : " + ";
		size_t used = n < rest.n ? n + 1 : n;
		rest = (assay_str){rest.p + used, rest.n - used};
	} while (rest.n);
	return sql;
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
	return assay_printf(a, "CREATE INDEX file.\"%s by %s\" ON \"%s\"(\"%s\")", rel->name,
			    col->name, rel->name, col->name);
}
