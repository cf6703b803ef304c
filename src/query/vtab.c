/* Virtual tables over views: SQLite asks for cells, nothing is copied in.
 *
 * Equality and ranges on whole numbers (row references, string numbers, times) and equality on
 * texts go by an order of the rows that is made when first asked for and kept with the connection,
 * so that joins and time windows cost a binary search and not a scan. */
#include "query/vtab.h"

#include <assert.h>

#include "base/sort.h"
#include "base/test.h"

/* Rows in the order of one column, those where it is absent left out. */
typedef struct order {
	int64_t *key; /* rising */
	uint32_t *at; /* place in the view */
	size_t n;
} order;

typedef struct table {
	sqlite3_vtab base;
	const assay_relations *views;
	const assay_relation *view;
	order *by; /* by column; key NULL: not made yet */
	assay_arena arena;
} table;

typedef struct cursor {
	sqlite3_vtab_cursor base;
	const uint32_t *at; /* places in order; NULL: the view's own order */
	size_t next, end;
} cursor;

/* ---- orders ---- */

/* What a text is ordered by: its number. */
static assay_relation_col ordering(const assay_relation_col *col)
{
	assay_relation_col c = *col;
	c.string_id |= col->type == ASSAY_CELL_TEXT;
	c.type = ASSAY_CELL_INT;
	return c;
}

static const order *order_by(table *t, int column)
{
	order *o = &t->by[column], made = {0};
	if (o->key)
		return o;
	const assay_relation *v = t->view;
	assay_relation_col col = ordering(&v->col[column]);
	int64_t *key = assay_alloc(&t->arena, (v->n + 1) * sizeof *key);
	made.key = assay_alloc(&t->arena, (v->n + 1) * sizeof *made.key);
	made.at = assay_alloc(&t->arena, (v->n + 1) * sizeof *made.at);
	for (size_t i = 0; i < v->n; i++) {
		assay_cell cell =
			assay_relation_cell(t->views->run, &col, assay_relation_row(v, i));
		key[i] = cell.i;
		if (cell.type != ASSAY_CELL_NULL)
			made.at[made.n++] = (uint32_t)i;
	}
	assay_sort_rows(made.at, made.n, key);
	for (size_t i = 0; i < made.n; i++)
		made.key[i] = key[made.at[i]];
	*o = made;
	return o;
}

static size_t count_below(const order *o, int64_t v)
{
	return v == INT64_MIN ? 0 : assay_count_until(o->key, sizeof *o->key, o->n, v - 1);
}

static size_t count_until(const order *o, int64_t v)
{
	return assay_count_until(o->key, sizeof *o->key, o->n, v);
}

/* ---- plans ----
 * idxNum is 0 for a scan, else 1 + the column of the order; idxStr has a letter for each argument
 * of xFilter, in order: one of "=<{>}" ({ and } are <= and >=). */

typedef struct operation {
	unsigned char op;
	char letter;
} operation;

static const operation operations[] = {
	{SQLITE_INDEX_CONSTRAINT_EQ, '='}, {SQLITE_INDEX_CONSTRAINT_LT, '<'},
	{SQLITE_INDEX_CONSTRAINT_LE, '{'}, {SQLITE_INDEX_CONSTRAINT_GT, '>'},
	{SQLITE_INDEX_CONSTRAINT_GE, '}'},
};

static char letter_of(unsigned char op)
{
	for (size_t i = 0; i < ASSAY_COUNT_OF(operations); i++)
		if (operations[i].op == op)
			return operations[i].letter;
	return 0;
}

/* Words (kind, class) have few values: an order would hardly help. */
static bool can_use(const assay_relation_col *col, char letter)
{
	if (col->type == ASSAY_CELL_INT)
		return letter != 0;
	return letter == '=' && col->type == ASSAY_CELL_TEXT &&
	       col->term[0].col->kind->type == ASSAY_COL_sid;
}

/* The column whose constraints narrow most: equality before ranges. -1: none. */
static int best_column(const table *t, const sqlite3_index_info *info)
{
	int best = -1;
	for (int i = 0; i < info->nConstraint; i++) {
		int column = info->aConstraint[i].iColumn;
		char letter = letter_of(info->aConstraint[i].op);
		if (column < 0)
			column = 0; /* the rowid is the row's number */
		if (!info->aConstraint[i].usable || !can_use(&t->view->col[column], letter))
			continue;
		if (letter == '=')
			return column;
		best = column;
	}
	return best;
}

static int plan(sqlite3_vtab *vt, sqlite3_index_info *info)
{
	const table *t = (const table *)vt;
	double n = (double)t->view->n + 1;
	int column = best_column(t, info), args = 0;
	bool equal = false;
	char *letters = sqlite3_malloc(info->nConstraint + 1);
	if (!letters)
		return SQLITE_NOMEM;
	for (int i = 0; i < info->nConstraint && column >= 0; i++) {
		int of = info->aConstraint[i].iColumn < 0 ? 0 : info->aConstraint[i].iColumn;
		char letter = letter_of(info->aConstraint[i].op);
		if (of != column || !info->aConstraint[i].usable ||
		    !can_use(&t->view->col[column], letter))
			continue;
		/* not "omit": SQLite compares again, so that 3 = 3.0 and '3' follow its rules */
		info->aConstraintUsage[i].argvIndex = args + 1;
		letters[args++] = letter;
		equal |= letter == '=';
	}
	letters[args] = 0;
	info->idxStr = letters;
	info->needToFreeIdxStr = 1;
	info->idxNum = column + 1;
	double rows = column < 0 ? n : equal ? (column == 0 ? 1 : 1 + n / 1000) : 1 + n / 10;
	info->estimatedRows = (sqlite3_int64)rows;
	info->estimatedCost = rows + (column < 0 ? 0 : 10);
	bool in_order = info->nOrderBy == 1 && !info->aOrderBy[0].desc &&
			(column < 0 ? info->aOrderBy[0].iColumn <= 0
				    : info->aOrderBy[0].iColumn == column &&
					      t->view->col[column].type == ASSAY_CELL_INT);
	info->orderByConsumed = in_order;
	return SQLITE_OK;
}

/* Rows [*from, *to) of the order that an argument leaves. False: none can match. */
static bool narrow(const table *t, const order *o, char letter, sqlite3_value *arg, size_t *from,
		   size_t *to)
{
	if (sqlite3_value_type(arg) == SQLITE_NULL)
		return false;
	bool text = sqlite3_value_type(arg) == SQLITE_TEXT;
	int64_t v = sqlite3_value_int64(arg);
	if (text) {
		assay_str s = {(const char *)sqlite3_value_text(arg),
			       (size_t)sqlite3_value_bytes(arg)};
		v = assay_pool_find(&t->views->run->part.strings, s);
	}
	/* a REAL bound is rounded towards zero above: one more on both sides is compared again */
	int64_t wide = sqlite3_value_type(arg) == SQLITE_FLOAT;
	int64_t low = v > INT64_MIN + 1 ? v - wide : v, high = v < INT64_MAX - 1 ? v + wide : v;
	size_t first = letter == '=' || letter == '}' || letter == '>' ? count_below(o, low) : 0;
	size_t last = letter == '=' || letter == '{' || letter == '<' ? count_until(o, high) : o->n;
	*from = first > *from ? first : *from;
	*to = last < *to ? last : *to;
	return *from < *to;
}

/* NULL: no memory. SQLite is returned to, not left. */
static const order *order_or_null(table *t, int column)
{
	assay_frame f;
	assay_enter_inside(&f, NULL);
	if (setjmp(f.out))
		return NULL;
	const order *o = order_by(t, column);
	assay_leave(&f);
	return o;
}

static int filter(sqlite3_vtab_cursor *vc, int idx, const char *letters, int n, sqlite3_value **arg)
{
	cursor *c = (cursor *)vc;
	table *t = (table *)vc->pVtab;
	*c = (cursor){.base = c->base, .end = t->view->n};
	if (idx == 0)
		return SQLITE_OK;
	const order *o = order_or_null(t, idx - 1);
	if (!o)
		return SQLITE_NOMEM;
	c->at = o->at;
	c->end = o->n;
	bool text_column = t->view->col[idx - 1].type == ASSAY_CELL_TEXT;
	for (int i = 0; i < n; i++) {
		bool text = sqlite3_value_type(arg[i]) == SQLITE_TEXT;
		if (text != text_column) /* affinity decides: let SQLite look at every row */
			continue;
		if (!narrow(t, o, letters[i], arg[i], &c->next, &c->end)) {
			c->next = c->end = 0;
			break;
		}
	}
	return SQLITE_OK;
}

/* ---- rows ---- */

static uint32_t row_at(const cursor *c)
{
	const table *t = (const table *)c->base.pVtab;
	return assay_relation_row(t->view, c->at ? c->at[c->next] : c->next);
}

static int next(sqlite3_vtab_cursor *vc)
{
	((cursor *)vc)->next++;
	return SQLITE_OK;
}

static int is_end(sqlite3_vtab_cursor *vc)
{
	const cursor *c = (const cursor *)vc;
	return c->next >= c->end;
}

static int rowid(sqlite3_vtab_cursor *vc, sqlite3_int64 *out)
{
	*out = row_at((const cursor *)vc);
	return SQLITE_OK;
}

static int column(sqlite3_vtab_cursor *vc, sqlite3_context *ctx, int i)
{
	const table *t = (const table *)vc->pVtab;
	assay_cell cell =
		assay_relation_cell(t->views->run, &t->view->col[i], row_at((const cursor *)vc));
	switch (cell.type) {
	case ASSAY_CELL_NULL:
		sqlite3_result_null(ctx);
		break;
	case ASSAY_CELL_INT:
		sqlite3_result_int64(ctx, cell.i);
		break;
	case ASSAY_CELL_REAL:
		sqlite3_result_double(ctx, cell.f);
		break;
	case ASSAY_CELL_TEXT:
		sqlite3_result_text64(ctx, cell.text.p, cell.text.n, SQLITE_STATIC, SQLITE_UTF8);
		break;
	}
	return SQLITE_OK;
}

/* ---- the module ---- */

static char *declaration(const assay_relation *v)
{
	static const char *const types[] = {"", "INTEGER", "REAL", "TEXT"};
	sqlite3_str *s = sqlite3_str_new(NULL);
	sqlite3_str_appendf(s, "CREATE TABLE \"%w\"(", v->name);
	for (size_t i = 0; i < v->cols; i++)
		sqlite3_str_appendf(s, "%s\"%w\" %s%s", i ? ", " : "", v->col[i].name,
				    types[v->col[i].type], v->col[i].string_id ? " HIDDEN" : "");
	sqlite3_str_appendall(s, ")");
	return sqlite3_str_finish(s);
}

static int make_table(sqlite3 *db, void *aux, int argc, const char *const *argv, sqlite3_vtab **out,
		      char **err)
{
	const assay_relations *views = aux;
	(void)argc, (void)err;
	const assay_relation *v =
		assay_relation_find(views, argv[0]); /* a module is named as its view */
	size_t orders = v ? v->cols * sizeof(order) : 0;
	table *t = sqlite3_malloc64(sizeof *t + orders);
	char *text = v ? declaration(v) : NULL;
	int rc = t && text ? sqlite3_declare_vtab(db, text) : SQLITE_NOMEM;
	sqlite3_free(text);
	if (rc != SQLITE_OK) {
		sqlite3_free(t);
		return rc;
	}
	*t = (table){.views = views, .view = v};
	t->by = memset(t + 1, 0, orders);
	*out = &t->base;
	return SQLITE_OK;
}

static int drop_table(sqlite3_vtab *vt)
{
	assay_arena_free(&((table *)vt)->arena);
	sqlite3_free(vt);
	return SQLITE_OK;
}

static int open_cursor(sqlite3_vtab *vt, sqlite3_vtab_cursor **out)
{
	(void)vt;
	cursor *c = sqlite3_malloc(sizeof *c);
	if (!c)
		return SQLITE_NOMEM;
	*c = (cursor){0};
	*out = &c->base;
	return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *vc)
{
	sqlite3_free(vc);
	return SQLITE_OK;
}

/* No xCreate: the tables exist by their names, and nobody can make others. */
static const sqlite3_module module = {
	.xConnect = make_table,
	.xBestIndex = plan,
	.xDisconnect = drop_table,
	.xOpen = open_cursor,
	.xClose = close_cursor,
	.xFilter = filter,
	.xNext = next,
	.xEof = is_end,
	.xColumn = column,
	.xRowid = rowid,
};

int assay_vtabs_add(sqlite3 *db, const assay_relations *views)
{
	int rc = SQLITE_OK;
	for (size_t i = 0; i < views->view.n && rc == SQLITE_OK; i++)
		rc = sqlite3_create_module(db, views->view.p[i].name, &module, (void *)views);
	return rc;
}
