/* Virtual tables over views: SQLite asks for cells, nothing is copied in.
 *
 * Equality and ranges on whole numbers (row references, string numbers, times) and equality on
 * texts go by an order of the rows that is made when first asked for and kept with the connection,
 * so that joins and time windows cost a binary search and not a scan. */
#include "query/vtab.h"

#include <assert.h>
#include <stdlib.h>

#include "base/sort.h"
#include "base/test.h"
#include "query/column.h"

enum { MOST_SORTED = 16 }; /* columns of an ORDER BY, GROUP BY or DISTINCT; more are SQLite's */
enum { AHEAD = 8 };        /* rows */

/* Rows in the order of one column, those where it is absent left out. */
typedef struct order {
	int64_t *key; /* rising */
	uint32_t *at; /* row of the view's table */
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
	const uint32_t *at; /* rows of the view's table; NULL: all of them */
	size_t next, end;
	assay_arena arena; /* an order that only this cursor has */
	const assay_reach
		*asked[4]; /* where cells were taken from, to fetch those of later rows early */
	size_t asked_n;
} cursor;

/* ---- orders ---- */

static const order *order_by(table *t, int column)
{
	order *o = &t->by[column], made = {0};
	if (o->key)
		return o;
	const assay_relation *v = t->view;
	assay_arena a = {0};
	uint32_t *row = assay_alloc(&a, (v->n + 1) * sizeof *row);
	uint32_t *there = assay_alloc(&a, (v->n + 1) * sizeof *there);
	int64_t *key = assay_alloc(&a, (v->n + 1) * sizeof *key);
	bool *absent = assay_alloc(&a, v->n + 1);
	for (size_t i = 0; i < v->n; i++)
		row[i] = assay_relation_row(v, i);
	assay_column_values(&v->col[column], row, v->n, key, absent);
	for (size_t i = 0; i < v->n; i++)
		if (!absent[i])
			there[made.n++] = (uint32_t)i;
	assay_sort_rows(there, made.n, key);
	made.key = assay_alloc(&t->arena, (v->n + 1) * sizeof *made.key);
	made.at = assay_alloc(&t->arena, (v->n + 1) * sizeof *made.at);
	for (size_t i = 0; i < made.n; i++) {
		made.key[i] = key[there[i]];
		made.at[i] = row[there[i]];
	}
	assay_arena_free(&a);
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
 * of xFilter, in order: one of "=<{>}" ({ and } are <= and >=). Behind them stand the columns that
 * rows are wanted in the order of, each as SIGN NUMBER, the sign - for a falling one, then a dot,
 * or a ! where one row is enough of those that are equal in all of them.
 */

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

/* A column as SQLite counts them: behind the last one stands "rowid", another name of the first. */
static int column_of(const table *t, int i)
{
	return (size_t)i < t->view->cols ? i : 0;
}

/* The column whose constraints narrow most: equality before ranges. -1: none. */
static int best_column(const table *t, const sqlite3_index_info *info)
{
	int best = -1;
	for (int i = 0; i < info->nConstraint; i++) {
		int column = column_of(t, info->aConstraint[i].iColumn);
		char letter = letter_of(info->aConstraint[i].op);
		if (!info->aConstraint[i].usable || !can_use(&t->view->col[column], letter))
			continue;
		if (letter == '=')
			return column;
		best = column;
	}
	return best;
}

/* What sqlite3_vtab_distinct() says. */
enum { ALL_ROWS_GROUPED = 1, ANY_ORDER_DISTINCT = 2, IN_ORDER_DISTINCT = 3 };

/* For a plain DISTINCT SQLite makes a tree all the same. */
static bool can_sort(sqlite3_index_info *info)
{
	return info->nOrderBy > 0 && info->nOrderBy <= MOST_SORTED &&
	       sqlite3_vtab_distinct(info) != ANY_ORDER_DISTINCT;
}

/* The rows come in that order by themselves. */
static bool is_sorted(const table *t, const sqlite3_index_info *info, int column)
{
	int first = column_of(t, info->aOrderBy[0].iColumn);
	if (info->nOrderBy != 1 || info->aOrderBy[0].desc)
		return false;
	return column < 0 ? !first : first == column && t->view->col[column].type == ASSAY_CELL_INT;
}

/* The letters of the constraints that the order of a column serves; whether one is an equality. */
static bool use_order(const table *t, sqlite3_index_info *info, int column, sqlite3_str *to)
{
	int args = 0;
	bool equal = false;
	for (int i = 0; i < info->nConstraint && column >= 0; i++) {
		int of = column_of(t, info->aConstraint[i].iColumn);
		char letter = letter_of(info->aConstraint[i].op);
		if (of != column || !info->aConstraint[i].usable ||
		    !can_use(&t->view->col[column], letter))
			continue;
		/* not "omit": SQLite compares again, so that 3 = 3.0 and '3' follow its rules */
		info->aConstraintUsage[i].argvIndex = ++args;
		sqlite3_str_appendchar(to, 1, letter);
		equal |= letter == '=';
	}
	return equal;
}

static bool has_column(const sqlite3_index_info *info, int column)
{
	for (int i = 0; i < info->nOrderBy; i++)
		if (info->aOrderBy[i].iColumn == column)
			return true;
	return false;
}

/* The columns that a DISTINCT looks at and its order does not name: rows that are equal in these
 * too cannot be told apart by any condition, so one of them will do. False: all rows are wanted, or
 * the columns are too many. */
static bool distinct_columns(const table *t, sqlite3_index_info *info, sqlite3_str *to)
{
	enum { LAST = 63 }; /* the bit of all columns from here on */
	int n = info->nOrderBy;
	if (sqlite3_vtab_distinct(info) < ANY_ORDER_DISTINCT || !n || info->colUsed >> LAST)
		return false;
	for (int i = 0; i < LAST; i++)
		n += (info->colUsed >> i & 1) && !has_column(info, i);
	for (int i = 0; n <= MOST_SORTED && i < LAST; i++)
		if ((info->colUsed >> i & 1) && !has_column(info, i))
			sqlite3_str_appendf(to, "+%d", column_of(t, i));
	return n <= MOST_SORTED;
}

/* How the plan's text goes on behind the letters of constraints. */
static void say_order(const table *t, sqlite3_index_info *info, int column, sqlite3_str *to)
{
	sqlite3_str *others = sqlite3_str_new(NULL);
	bool distinct = distinct_columns(t, info, others);
	info->orderByConsumed = can_sort(info);
	bool sort = distinct || (info->orderByConsumed && !is_sorted(t, info, column));
	for (int i = 0; sort && i < info->nOrderBy; i++)
		sqlite3_str_appendf(to, "%c%d", info->aOrderBy[i].desc ? '-' : '+',
				    column_of(t, info->aOrderBy[i].iColumn));
	char *text = sqlite3_str_finish(others);
	sqlite3_str_appendf(to, "%s%c", distinct && text ? text : "", distinct ? '!' : '.');
	sqlite3_free(text);
}

static int plan(sqlite3_vtab *vt, sqlite3_index_info *info)
{
	const table *t = (const table *)vt;
	double n = (double)t->view->n + 1;
	int column = best_column(t, info);
	sqlite3_str *text = sqlite3_str_new(NULL);
	bool equal = use_order(t, info, column, text);
	say_order(t, info, column, text);
	int rc = sqlite3_str_errcode(text);
	info->idxStr = sqlite3_str_finish(text);
	info->needToFreeIdxStr = 1;
	info->idxNum = column + 1;
	double rows = column < 0 ? n : equal ? (column == 0 ? 1 : 1 + n / 1000) : 1 + n / 10;
	info->estimatedRows = (sqlite3_int64)rows;
	info->estimatedCost = rows + (column < 0 ? 0 : 10);
	return rc;
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

/* The rows that constraints leave, by the order of a column. */
static void narrow_rows(cursor *c, int column, const char *letters, int n, sqlite3_value **arg)
{
	table *t = (table *)c->base.pVtab;
	const order *o = order_by(t, column);
	c->at = o->at;
	c->end = o->n;
	bool text_column = t->view->col[column].type == ASSAY_CELL_TEXT;
	for (int i = 0; i < n; i++) {
		bool text = sqlite3_value_type(arg[i]) == SQLITE_TEXT;
		if (text != text_column) /* affinity decides: let SQLite look at every row */
			continue;
		if (!narrow(t, o, letters[i], arg[i], &c->next, &c->end)) {
			c->next = c->end = 0;
			break;
		}
	}
}

/* The cursor's rows in the order that the plan's text asks for. */
static void sort_rows(cursor *c, const char *text)
{
	const table *t = (const table *)c->base.pVtab;
	assay_column_order by[MOST_SORTED];
	size_t columns = 0, n = c->end - c->next;
	for (char *end; *text != '.' && *text != '!'; text = end) {
		uint16_t col = (uint16_t)strtol(text + 1, &end, 10);
		by[columns++] = (assay_column_order){col, *text == '-'};
	}
	uint32_t *row = assay_alloc(&c->arena, (n + 1) * sizeof *row);
	for (size_t i = 0; i < n; i++)
		row[i] = c->at ? c->at[c->next + i] : (uint32_t)i;
	assay_column_sort(t->views->run, t->view, by, columns, row, n);
	c->at = row;
	c->next = 0;
	c->end = *text == '!' ? assay_column_unique(t->view, by, columns, row, n) : n;
}

static int filter(sqlite3_vtab_cursor *vc, int idx, const char *text, int n, sqlite3_value **arg)
{
	cursor *c = (cursor *)vc;
	assay_frame f;
	assay_arena_free(&c->arena);
	const assay_relation *view = ((const table *)vc->pVtab)->view;
	*c = (cursor){.base = c->base, .at = view->row, .end = view->n};
	assay_enter_inside(&f, NULL);
	if (setjmp(f.out))
		return SQLITE_NOMEM; /* SQLite is returned to, not left */
	if (idx)
		narrow_rows(c, idx - 1, text, n, arg);
	if (text[n] != '.')
		sort_rows(c, text + n);
	assay_leave(&f);
	return SQLITE_OK;
}

/* ---- rows ---- */

static uint32_t row_at(const cursor *c)
{
	return c->at ? c->at[c->next] : (uint32_t)c->next;
}

/* Rows in the order of a column lie anywhere: cells of later ones are fetched early, else each
 * would wait for memory. (A function that only fetched would be dropped by gcc as one without
 * effect.) */
static int next(sqlite3_vtab_cursor *vc)
{
	cursor *c = (cursor *)vc;
	c->next++;
	for (size_t i = 0; i < c->asked_n && c->end - c->next > AHEAD; i++)
		__builtin_prefetch((const char *)c->asked[i]->values +
				   c->at[c->next + AHEAD] * c->asked[i]->col->width);
	return SQLITE_OK;
}

static int is_end(sqlite3_vtab_cursor *vc)
{
	const cursor *c = (const cursor *)vc;
	return c->next >= c->end;
}

/* A row that is reached over others is not known early. */
static void remember(cursor *c, const assay_relation_col *col)
{
	if (!c->at || c->asked_n == ASSAY_COUNT_OF(c->asked) || !col->terms || col->term[0].hops)
		return;
	for (size_t i = 0; i < c->asked_n; i++)
		if (c->asked[i] == &col->term[0])
			return;
	c->asked[c->asked_n++] = &col->term[0];
}

static int column(sqlite3_vtab_cursor *vc, sqlite3_context *ctx, int i)
{
	const table *t = (const table *)vc->pVtab;
	cursor *c = (cursor *)vc;
	const assay_relation_col *col = &t->view->col[column_of(t, i)];
	assay_cell cell = assay_relation_cell(t->views->run, col, row_at(c));
	remember(c, col);
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

/* No row numbers of SQLite's own: it does not tell which statements look at them, and then rows
 * that DISTINCT leaves out would be missed. */
static char *declaration(const assay_relation *v)
{
	static const char *const types[] = {"", "INTEGER", "REAL", "TEXT"};
	sqlite3_str *s = sqlite3_str_new(NULL);
	sqlite3_str_appendf(s, "CREATE TABLE \"%w\"(", v->name);
	for (size_t i = 0; i < v->cols; i++)
		sqlite3_str_appendf(s, "%s\"%w\" %s%s", i ? ", " : "", v->col[i].name,
				    types[v->col[i].type], v->col[i].string_id ? " HIDDEN" : "");
	sqlite3_str_appendf(s, ", rowid INTEGER HIDDEN, PRIMARY KEY(\"%w\")) WITHOUT ROWID",
			    v->col[0].name);
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
	assay_arena_free(&((cursor *)vc)->arena);
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
};

int assay_vtabs_add(sqlite3 *db, const assay_relations *views)
{
	int rc = SQLITE_OK;
	for (size_t i = 0; i < views->view.n && rc == SQLITE_OK; i++)
		rc = sqlite3_create_module(db, views->view.p[i].name, &module, (void *)views);
	return rc;
}
