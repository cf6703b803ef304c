/* Compiling views.def: each reach becomes a chain of arrays of row numbers. */
#include "query/relation.h"

#include <assert.h>

#include "base/test.h"
#include "query/reach.h"
#include "query/sql.h"

typedef struct view_row {
	const char *view, *table, *filter, *doc;
} view_row;

typedef struct col_row {
	const char *view, *name, *reach, *doc;
} col_row;

static const view_row views_def[] = {
#define VIEW(view, table, filter, doc) {#view, #table, filter, doc},
#define COL(view, name, reach, doc)
#define END(view)
#include "query/views.def"
};

static const col_row cols_def[] = {
#define VIEW(view, table, filter, doc)
#define COL(view, name, reach, doc) {#view, #name, reach, doc},
#define END(view)
#include "query/views.def"
};

typedef struct compiler {
	assay_relations *views;
	const assay_tables *t;
	/* made when first asked for */
	const uint32_t *kernel_of; /* by row of gpu */
} compiler;

/* ---- reaches ---- */

static const uint32_t *kernel_rows(compiler *c)
{
	const assay_tables *t = c->t;
	assay_map at = {0};
	if (c->kernel_of)
		return c->kernel_of;
	uint32_t *to = assay_alloc(&c->views->arena, (t->gpu.n + 1) * sizeof *to);
	for (uint32_t k = 0; k < t->kernel.n; k++)
		*assay_map_at(&at, (uint64_t)t->kernel.kind[k] << 32 | t->kernel.name[k]) = k;
	for (size_t g = 0; g < t->gpu.n; g++)
		to[g] = assay_map_get(&at, (uint64_t)t->gpu.kind[g] << 32 | t->gpu.name[g]);
	assay_map_free(&at);
	return c->kernel_of = to;
}

const char *assay_table_key(const assay_table_info *table)
{
	return assay_table_column_named(table, ASSAY_S("id")) ? "row_id" : "id";
}

static const assay_table_info *hop_to(const compiler *c, assay_reach *r, const uint32_t *to,
				      const assay_table_info *table)
{
	assert(r->hops < ASSAY_REACH_HOPS);
	r->hop[r->hops++] = (assay_hop){to, assay_rows(c->t, table)};
	return table;
}

/* The chain of a term without its sign. False when views.def names what tables.def does not
 * have. */
static bool compile_reach(compiler *c, const assay_table_info *table, assay_str text,
			  assay_reach *r)
{
	while (text.n) {
		assay_reach_word w;
		if (!assay_reach_next(&text, table, &w))
			return false;
		if (w.col) {
			r->col = w.col;
			r->values = assay_values(c->t, table, w.col);
		}
		if (w.col && !text.n)
			break;
		table = hop_to(c, r,
			       w.way == ASSAY_REACH_COLUMN   ? r->values
			       : w.way == ASSAY_REACH_KERNEL ? kernel_rows(c)
							     : NULL,
			       w.to);
	}
	return true;
}

static int64_t since_1970(const assay_tables *t, uint32_t track, int64_t ts)
{
	uint32_t source = track < t->track.n ? t->track.source[track] : ASSAY_NO_ROW;
	return ts + (source < t->source.n ? t->source.base[source] : 0);
}

/* The moment before all others, since 1970. */
static int64_t first_moment(const assay_tables *t)
{
	int64_t first = INT64_MAX;
	for (size_t i = 0; i < t->gpu.n; i++) {
		int64_t at = since_1970(t, t->gpu.track[i], t->gpu.ts[i]);
		first = at < first ? at : first;
	}
	for (size_t i = 0; i < t->host.n; i++) {
		int64_t at = since_1970(t, t->host.track[i], t->host.ts[i]);
		first = at < first ? at : first;
	}
	return first == INT64_MAX ? 0 : first;
}

static bool compile_terms(compiler *c, const assay_table_info *table, const char *text,
			  assay_relation_col *col)
{
	assay_str rest = assay_str_of(text), term;
	for (bool minus; assay_reach_term(&rest, &term, &minus);) {
		if (assay_str_is(term, "$first")) {
			col->plus -= c->views->first;
			continue;
		}
		assert(col->terms < ASSAY_RELATION_TERMS);
		col->term[col->terms].minus = minus;
		if (!compile_reach(c, table, term, &col->term[col->terms++]))
			return false;
	}
	return true;
}

static assay_cell_type type_of(const assay_relation_col *col)
{
	static const assay_cell_type types[ASSAY_COL_TYPE_COUNT] = {
		[ASSAY_COL_u8] = ASSAY_CELL_INT,   [ASSAY_COL_u16] = ASSAY_CELL_INT,
		[ASSAY_COL_u32] = ASSAY_CELL_INT,  [ASSAY_COL_i32] = ASSAY_CELL_INT,
		[ASSAY_COL_u64] = ASSAY_CELL_INT,  [ASSAY_COL_i64] = ASSAY_CELL_INT,
		[ASSAY_COL_f64] = ASSAY_CELL_REAL, [ASSAY_COL_sid] = ASSAY_CELL_TEXT,
		[ASSAY_COL_time] = ASSAY_CELL_INT, [ASSAY_COL_word] = ASSAY_CELL_TEXT,
		[ASSAY_COL_row] = ASSAY_CELL_INT,  [ASSAY_COL_choice] = ASSAY_CELL_INT,
	};
	return col->terms == 1 && !col->string_id ? types[col->term[0].col->kind->type]
						  : ASSAY_CELL_INT;
}

/* ---- views ---- */

typedef assay_vec(assay_relation_col) col_list;

/* A text has a twin with its number behind it. */
static void add_col(col_list *cols, assay_arena *a, assay_relation_col col)
{
	col.type = type_of(&col);
	col.unit = col.terms ? col.term[0].col->unit : "";
	*assay_push(cols) = col;
	if (col.type != ASSAY_CELL_TEXT || col.term[0].col->kind->type != ASSAY_COL_sid)
		return;
	col.name = assay_printf(a, "%s_id", col.name);
	col.doc = "its number: quicker to group and join by";
	col.string_id = true;
	col.type = ASSAY_CELL_INT;
	*assay_push(cols) = col;
}

static void take_cols(assay_relation *v, col_list *cols, assay_arena *a)
{
	assay_relation_col *copy = assay_alloc(a, cols->n * sizeof *copy);
	memcpy(copy, cols->p, cols->n * sizeof *copy);
	v->col = copy;
	v->cols = cols->n;
	assay_vec_free(cols);
}

/* "kind=kernel": rows whose word that is. */
static void filter_rows(const compiler *c, assay_relation *v, const char *filter)
{
	assay_str text = assay_str_of(filter);
	size_t eq = 0;
	while (text.p[eq] != '=')
		eq++;
	const assay_col_info *col = assay_table_column_named(v->table, (assay_str){text.p, eq});
	assert(col && col->kind->words);
	uint64_t want = 0;
	while (want < col->kind->words && strcmp(col->kind->word[want], text.p + eq + 1))
		want++;
	assert(want < col->kind->words);
	const void *values = assay_values(c->t, v->table, col);
	uint32_t *row = assay_alloc(&c->views->arena, (v->n + 1) * sizeof *row);
	size_t n = 0;
	for (uint32_t i = 0; i < v->n; i++)
		if (assay_bits(col, values, i) == want)
			row[n++] = i;
	v->row = n < v->n ? row : NULL;
	v->n = n;
}

static void start_view(const compiler *c, assay_relation *v, col_list *cols, const char *name,
		       const char *doc, const assay_table_info *table)
{
	*v = (assay_relation){
		.name = name, .doc = doc, .table = table, .n = assay_rows(c->t, table)};
	bool view = strcmp(name, table->name) != 0;
	*assay_push(cols) =
		(assay_relation_col){.name = view ? "id" : assay_table_key(table),
				     .unit = "",
				     .doc = "row number: what columns of other tables refer to",
				     .type = ASSAY_CELL_INT};
}

static bool add_view(compiler *c, const view_row *row)
{
	assay_relation v;
	col_list cols = {0};
	bool ok = true;
	start_view(c, &v, &cols, row->view, row->doc, assay_table_find(row->table));
	for (size_t i = 0; i < ASSAY_COUNT_OF(cols_def); i++) {
		assay_relation_col col = {.name = cols_def[i].name,
					  .doc = cols_def[i].doc,
					  .reach = cols_def[i].reach};
		if (strcmp(cols_def[i].view, row->view))
			continue;
		ok &= compile_terms(c, v.table, cols_def[i].reach, &col);
		add_col(&cols, &c->views->arena, col);
	}
	take_cols(&v, &cols, &c->views->arena);
	v.filter = row->filter;
	if (row->filter[0])
		filter_rows(c, &v, row->filter);
	*assay_push(&c->views->view) = v;
	return ok;
}

static void add_table(compiler *c, const assay_table_info *table)
{
	assay_relation v;
	col_list cols = {0};
	start_view(c, &v, &cols, table->name, table->doc, table);
	for (size_t i = 0; i < table->cols; i++)
		add_col(&cols, &c->views->arena,
			(assay_relation_col){
				.name = table->col[i].name,
				.doc = table->col[i].doc,
				.term[0] = {.col = &table->col[i],
					    .values = assay_values(c->t, table, &table->col[i])},
				.terms = 1,
			});
	take_cols(&v, &cols, &c->views->arena);
	*assay_push(&c->views->view) = v;
}

void assay_relations_of(assay_relations *views, const assay_run *run)
{
	*views = (assay_relations){.run = run, .first = first_moment(&run->part.t)};
	compiler c = {.views = views, .t = &run->part.t};
	for (size_t i = 0; i < ASSAY_COUNT_OF(views_def); i++) {
		bool ok = add_view(&c, &views_def[i]);
		assert(ok && "views.def and tables.def agree");
		(void)ok;
	}
	for (size_t i = 0; i < ASSAY_T_COUNT; i++)
		add_table(&c, &assay_table_infos[i]);
}

void assay_relations_free(assay_relations *views)
{
	assay_vec_free(&views->view);
	assay_arena_free(&views->arena);
}

const assay_relation *assay_relation_find(const assay_relations *views, const char *name)
{
	for (size_t i = 0; i < views->view.n; i++)
		if (!strcmp(views->view.p[i].name, name))
			return &views->view.p[i];
	return NULL;
}

const char *assay_relation_name(size_t at)
{
	if (at < ASSAY_COUNT_OF(views_def))
		return views_def[at].view;
	at -= ASSAY_COUNT_OF(views_def);
	if (at < ASSAY_T_COUNT)
		return assay_table_infos[at].name;
	at -= ASSAY_T_COUNT;
	const assay_sql_view *v = assay_sql_views;
	while (at && v->name)
		v++, at--;
	return v->name;
}

/* ---- cells ---- */

/* The row a reach ends at; ASSAY_NO_ROW when a reference on the way is absent. */
static uint32_t follow(const assay_reach *r, uint32_t row)
{
	for (size_t i = 0; i < r->hops && row != ASSAY_NO_ROW; i++) {
		if (r->hop[i].to)
			row = r->hop[i].to[row];
		if (row >= r->hop[i].rows)
			row = ASSAY_NO_ROW;
	}
	return row;
}

static int64_t widen(const assay_col_info *col, uint64_t bits)
{
	return col->kind->type == ASSAY_COL_i32 ? (int32_t)bits : (int64_t)bits;
}

static assay_cell value_of(const assay_run *run, const assay_relation_col *c, uint32_t row)
{
	const assay_reach *r = &c->term[0];
	row = follow(r, row);
	uint64_t bits = row == ASSAY_NO_ROW ? 0 : assay_bits(r->col, r->values, row);
	assay_cell cell = {.type = c->type, .i = widen(r->col, bits)};
	if (row == ASSAY_NO_ROW || assay_is_absent(r->col, bits))
		return (assay_cell){.type = ASSAY_CELL_NULL};
	if (c->type == ASSAY_CELL_REAL)
		memcpy(&cell.f, &bits, sizeof cell.f);
	if (c->type == ASSAY_CELL_TEXT)
		cell.text =
			r->col->kind->type == ASSAY_COL_sid
				? assay_text(run, (assay_sid)bits)
				: assay_str_of(bits < r->col->kind->words ? r->col->kind->word[bits]
									  : "");
	return cell;
}

assay_cell assay_relation_cell(const assay_run *run, const assay_relation_col *c, uint32_t row)
{
	assay_cell sum = {.type = ASSAY_CELL_INT, .i = c->terms ? c->plus : row};
	if (c->terms == 1 && !c->plus)
		return value_of(run, c, row);
	for (size_t i = 0; i < c->terms; i++) {
		const assay_reach *r = &c->term[i];
		uint32_t at = follow(r, row);
		uint64_t bits = at == ASSAY_NO_ROW ? 0 : assay_bits(r->col, r->values, at);
		if (at == ASSAY_NO_ROW || assay_is_absent(r->col, bits))
			return (assay_cell){.type = ASSAY_CELL_NULL};
		/* wraps instead of overflowing: damaged times may lie anywhere */
		sum.i = (int64_t)(r->minus ? (uint64_t)sum.i - (uint64_t)widen(r->col, bits)
					   : (uint64_t)sum.i + (uint64_t)widen(r->col, bits));
	}
	return sum;
}

/* ---- tests */

static assay_run *small_run(void)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	uint32_t src = assay_add(t, ASSAY_T_source);
	t->source.rank[src] = 3;
	t->source.base[src] = 1000;
	run->part.source = src;
	uint32_t stream = assay_stream_track(&run->part, 1, 7);
	for (int i = 0; i < 3; i++) {
		uint32_t g = assay_add(t, ASSAY_T_gpu);
		t->gpu.ts[g] = 10 * i;
		t->gpu.dur[g] = 5;
		t->gpu.track[g] = stream;
		t->gpu.kind[g] = i == 1 ? ASSAY_GPU_MEMCPY : ASSAY_GPU_KERNEL;
		t->gpu.name[g] = assay_sid_of(run, i == 1 ? "copy" : "gemm");
		assay_add(t, ASSAY_T_launch);
	}
	return run;
}

static const assay_relation_col *col_of(const assay_relation *v, const char *name)
{
	for (size_t i = 0; i < v->cols; i++)
		if (!strcmp(v->col[i].name, name))
			return &v->col[i];
	return NULL;
}

TEST(views_reach_behind_references_and_keep_absence)
{
	assay_run *run = small_run();
	assay_relations views;
	assay_relations_of(&views, run);
	const assay_relation *k = assay_relation_find(&views, "kernels");
	CHECK(k && k->n == 2 && assay_relation_row(k, 1) == 2);
	CHECK_EQ(assay_relation_cell(run, col_of(k, "rank"), 2).i, 3);
	CHECK_EQ(assay_relation_cell(run, col_of(k, "stream"), 2).i, 7);
	CHECK_EQ(assay_relation_cell(run, col_of(k, "end"), 2).i, 25);
	CHECK_EQ(assay_relation_cell(run, col_of(k, "t"), 2).i, 20);
	CHECK(assay_relation_cell(run, col_of(k, "launch_ts"), 2).type == ASSAY_CELL_NULL);
	CHECK(assay_str_is(assay_relation_cell(run, col_of(k, "name"), 0).text, "gemm"));
	assay_relations_free(&views);
	assay_run_free(run);
	return 0;
}

/* A database has one of a name, and queries that were written for the view would find the table. */
TEST(no_view_has_the_name_of_a_table)
{
	for (size_t i = 0; i < ASSAY_COUNT_OF(views_def); i++)
		CHECK(!assay_table_find(views_def[i].view));
	return 0;
}
