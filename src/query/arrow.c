/* Arrow C streams. Everything handed out shares one holder: memory of its own, a hold on the run
 * and a count of who still needs it. */
#include "query/arrow.h"

#include <errno.h>
#include <math.h>
#include <stdatomic.h>

#include "base/test.h"
#include "query/sql.h"

enum { NULLABLE = 2 }; /* ARROW_FLAG_NULLABLE */

typedef struct arrow_col {
	const char *name;
	const char *format;   /* of the values, or of the indices of a dictionary */
	const void *values;   /* fixed width; of text: offsets */
	const char *text;     /* of text: the bytes */
	const uint8_t *valid; /* bit a row; NULL: all are there */
	int64_t nulls;
	struct arrow_col *words; /* dictionary, or NULL */
	int64_t n;
} arrow_col;

typedef struct holder {
	assay_arena arena;
	assay_run *run;
	atomic_int users;
	arrow_col *col;
	int64_t cols, rows;
	bool done; /* the one batch was handed out */
	bool failed;
	int made; /* structs of one answer, which all need the holder when it is whole */
} holder;

static void free_holder(holder *h)
{
	assay_arena arena = h->arena; /* the holder lies in it */
	assay_arena_free(&arena);
}

static void let_go(holder *h)
{
	if (atomic_fetch_sub(&h->users, 1) > 1)
		return;
	assay_run *run = h->run;
	free_holder(h);
	assay_run_free(run);
}

/* ---- columns ---- */

static void mark_absent(holder *h, arrow_col *c, int64_t row)
{
	if (!c->valid) {
		uint8_t *bits = assay_alloc(&h->arena, (size_t)c->n / 8 + 1);
		memset(bits, 0xff, (size_t)c->n / 8 + 1);
		c->valid = bits;
	}
	((uint8_t *)(uintptr_t)c->valid)[row / 8] &= (uint8_t) ~(1u << row % 8);
	c->nulls++;
}

/* Text of n strings: offsets of 32 bits, or of 64 where the bytes are too many for that. */
static arrow_col *texts(holder *h, const assay_str *s, int64_t n)
{
	arrow_col *c = assay_alloc(&h->arena, sizeof *c);
	size_t bytes = 0;
	for (int64_t i = 0; i < n; i++)
		bytes += s[i].n;
	bool large = bytes > INT32_MAX;
	int32_t *small = assay_alloc(&h->arena, (size_t)(n + 1) * (large ? 8 : 4));
	int64_t *wide = (int64_t *)(void *)small;
	char *text = assay_alloc(&h->arena, bytes + 1);
	size_t at = 0;
	for (int64_t i = 0; i < n; i++) {
		if (s[i].n)
			memcpy(text + at, s[i].p, s[i].n);
		at += s[i].n;
		if (large)
			wide[i + 1] = (int64_t)at;
		else
			small[i + 1] = (int32_t)at;
	}
	*c = (arrow_col){
		.name = "", .format = large ? "U" : "u", .values = small, .text = text, .n = n};
	return c;
}

/* Strings of a column, each once, numbered as they come: a small table does not drag in the run's.
 */
static void strings(holder *h, arrow_col *c, const assay_cell *cell)
{
	uint32_t *index = assay_alloc(&h->arena, (size_t)(c->n + 1) * sizeof *index);
	assay_map seen = {0};
	assay_vec(assay_str) dict = {0};
	for (int64_t i = 0; i < c->n; i++) {
		if (cell[i].type == ASSAY_CELL_NULL)
			continue;
		uint32_t *at = assay_map_at(&seen, (uint64_t)cell[i].i);
		if (*at == ASSAY_MAP_ABSENT) {
			*at = (uint32_t)dict.n;
			*assay_push(&dict) = assay_text(h->run, (assay_sid)cell[i].i);
		}
		index[i] = *at;
	}
	c->format = "I";
	c->values = index;
	c->words = texts(h, dict.p, (int64_t)dict.n);
	assay_map_free(&seen);
	assay_vec_free(&dict);
}

static void words(holder *h, arrow_col *c, const assay_col_kind *kind)
{
	assay_str *word = assay_alloc(&h->arena, (kind->words + 1) * sizeof *word);
	for (size_t i = 0; i < kind->words; i++)
		word[i] = assay_str_of(kind->word[i]);
	c->words = texts(h, word, (int64_t)kind->words);
}

/* Letters of Arrow's formats, by how values are stored. */
static const char *const formats[ASSAY_COL_TYPE_COUNT] = {
	[ASSAY_COL_u8] = "C",   [ASSAY_COL_u16] = "S", [ASSAY_COL_u32] = "I",
	[ASSAY_COL_i32] = "i",  [ASSAY_COL_u64] = "L", [ASSAY_COL_i64] = "l",
	[ASSAY_COL_f64] = "g",  [ASSAY_COL_sid] = "I", [ASSAY_COL_time] = "l",
	[ASSAY_COL_word] = "C", [ASSAY_COL_row] = "I", [ASSAY_COL_choice] = "I",
};

/* A number of the table itself: its array as it is. */
static void direct(holder *h, arrow_col *c, const assay_reach *r)
{
	c->format = formats[r->col->kind->type];
	c->values = r->values;
	for (int64_t i = 0; i < c->n; i++)
		if (assay_is_absent(r->col, assay_bits(r->col, r->values, (size_t)i)))
			mark_absent(h, c, i);
	if (r->col->kind->type == ASSAY_COL_word)
		words(h, c, r->col->kind);
}

/* Anything else, row by row. */
static void gathered(holder *h, arrow_col *c, const assay_relation *rel,
		     const assay_relation_col *col)
{
	bool text = col->type == ASSAY_CELL_TEXT;
	int64_t *values = assay_alloc(&h->arena, (size_t)(c->n + 1) * sizeof *values);
	assay_cell *cell = text ? assay_alloc(&h->arena, (size_t)(c->n + 1) * sizeof *cell) : NULL;
	for (int64_t i = 0; i < c->n; i++) {
		assay_cell v = assay_relation_cell(h->run, col, assay_relation_row(rel, (size_t)i));
		if (v.type == ASSAY_CELL_NULL)
			mark_absent(h, c, i);
		if (cell)
			cell[i] = v;
		values[i] = v.i;
	}
	c->format = col->type == ASSAY_CELL_REAL ? "g" : "l";
	c->values = values;
	if (!text)
		return;
	if (col->term[0].col->kind->type == ASSAY_COL_sid)
		strings(h, c, cell);
	else
		words(h, c, col->term[0].col->kind);
}

static bool is_direct(const assay_relation *rel, const assay_relation_col *col)
{
	return !rel->row && col->terms == 1 && !col->term[0].hops && !col->plus &&
	       !col->string_id && col->term[0].col->kind->type != ASSAY_COL_sid;
}

/* ---- Arrow's structs ---- */

static void release_schema(struct ArrowSchema *s)
{
	for (int64_t i = 0; i < s->n_children; i++)
		if (s->children[i]->release)
			s->children[i]->release(s->children[i]);
	if (s->dictionary && s->dictionary->release)
		s->dictionary->release(s->dictionary);
	s->release = NULL;
	let_go(s->private_data);
}

static void release_array(struct ArrowArray *a)
{
	for (int64_t i = 0; i < a->n_children; i++)
		if (a->children[i]->release)
			a->children[i]->release(a->children[i]);
	if (a->dictionary && a->dictionary->release)
		a->dictionary->release(a->dictionary);
	a->release = NULL;
	let_go(a->private_data);
}

static void schema_of(holder *h, const arrow_col *c, struct ArrowSchema *s)
{
	h->made++;
	*s = (struct ArrowSchema){.format = c->format,
				  .name = c->name,
				  .flags = NULLABLE,
				  .release = release_schema,
				  .private_data = h};
	if (c->words) {
		s->dictionary = assay_alloc(&h->arena, sizeof *s->dictionary);
		schema_of(h, c->words, s->dictionary);
	}
}

static void array_of(holder *h, const arrow_col *c, struct ArrowArray *a)
{
	h->made++;
	*a = (struct ArrowArray){.length = c->n,
				 .null_count = c->nulls,
				 .n_buffers = c->text ? 3 : 2,
				 .release = release_array,
				 .private_data = h};
	a->buffers = assay_alloc(&h->arena, 3 * sizeof *a->buffers);
	a->buffers[0] = c->valid;
	a->buffers[1] = c->values;
	a->buffers[2] = c->text;
	if (c->words) {
		a->dictionary = assay_alloc(&h->arena, sizeof *a->dictionary);
		array_of(h, c->words, a->dictionary);
	}
}

static void make_schema(holder *h, struct ArrowSchema *s)
{
	struct ArrowSchema **child = assay_alloc(&h->arena, (size_t)(h->cols + 1) * sizeof *child);
	h->made = 1;
	for (int64_t i = 0; i < h->cols; i++) {
		child[i] = assay_alloc(&h->arena, sizeof *child[i]);
		schema_of(h, &h->col[i], child[i]);
	}
	*s = (struct ArrowSchema){.format = "+s",
				  .name = "",
				  .n_children = h->cols,
				  .children = child,
				  .release = release_schema,
				  .private_data = h};
	atomic_fetch_add(&h->users, h->made);
}

static void make_batch(holder *h, struct ArrowArray *a)
{
	static const void *no_bitmap = NULL;
	struct ArrowArray **child = assay_alloc(&h->arena, (size_t)(h->cols + 1) * sizeof *child);
	h->made = 1;
	for (int64_t i = 0; i < h->cols; i++) {
		child[i] = assay_alloc(&h->arena, sizeof *child[i]);
		array_of(h, &h->col[i], child[i]);
	}
	*a = (struct ArrowArray){.length = h->rows,
				 .n_buffers = 1,
				 .buffers = &no_bitmap,
				 .n_children = h->cols,
				 .children = child,
				 .release = release_array,
				 .private_data = h};
	atomic_fetch_add(&h->users, h->made);
}

static int stream_schema(struct ArrowArrayStream *stream, struct ArrowSchema *s)
{
	holder *h = stream->private_data;
	assay_frame f;
	h->failed = true;
	ASSAY_ENTER(&f, h->run->owner, NULL, ENOMEM);
	make_schema(h, s);
	assay_leave(&f);
	h->failed = false;
	return 0;
}

static int stream_next(struct ArrowArrayStream *stream, struct ArrowArray *a)
{
	holder *h = stream->private_data;
	assay_frame f;
	*a = (struct ArrowArray){0}; /* without release: the end */
	if (h->done)
		return 0;
	h->failed = true;
	ASSAY_ENTER(&f, h->run->owner, NULL, ENOMEM);
	make_batch(h, a);
	assay_leave(&f);
	h->done = true;
	h->failed = false;
	return 0;
}

static const char *stream_error(struct ArrowArrayStream *stream)
{
	return ((holder *)stream->private_data)->failed ? "out of memory" : NULL;
}

static void stream_release(struct ArrowArrayStream *stream)
{
	stream->release = NULL;
	let_go(stream->private_data);
}

static holder *new_holder(assay_run *run)
{
	assay_arena arena = {0};
	holder *h = assay_alloc(&arena, sizeof *h);
	h->arena = arena;
	h->run = run;
	atomic_init(&h->users, 1);
	return h;
}

/* Nothing can fail any more: the run is held from here on. */
static void start_stream(holder *h, struct ArrowArrayStream *out)
{
	assay_run_hold(h->run);
	*out = (struct ArrowArrayStream){.get_schema = stream_schema,
					 .get_next = stream_next,
					 .get_last_error = stream_error,
					 .release = stream_release,
					 .private_data = h};
}

/* ---- the two kinds of stream ---- */

bool assay_arrow_relation(assay_run *run, const char *name, struct ArrowArrayStream *out,
			  assay_err *err)
{
	assay_relations rels;
	assay_relations_of(&rels, run);
	const assay_relation *rel = assay_relation_find(&rels, name);
	if (!rel) {
		assay_relations_free(&rels);
		return assay_fail(err, ASSAY_USAGE, 0, "there is no table '%s'", name);
	}
	holder *h = new_holder(run);
	h->rows = (int64_t)rel->n;
	h->col = assay_alloc(&h->arena, rel->cols * sizeof *h->col);
	for (size_t i = 0; i < rel->cols; i++) {
		if (rel->col[i].string_id)
			continue; /* dictionaries group as quickly */
		arrow_col *c = &h->col[h->cols++];
		*c = (arrow_col){.n = h->rows,
				 .name = assay_dup(&h->arena, assay_str_of(rel->col[i].name))};
		if (is_direct(rel, &rel->col[i]))
			direct(h, c, &rel->col[i].term[0]);
		else
			gathered(h, c, rel, &rel->col[i]);
	}
	assay_relations_free(&rels);
	start_stream(h, out);
	return true;
}

typedef assay_vec(assay_cell) cell_list;

/* Texts are the statement's until its next row: they are copied. */
static int take_rows(holder *h, assay_result *r, cell_list *cells, assay_err *err)
{
	int more;
	while ((more = assay_result_next(r, err)) == 1) {
		for (int i = 0; i < r->cols; i++) {
			assay_cell c = assay_result_cell(r, i);
			if (c.type == ASSAY_CELL_TEXT)
				c.text.p = assay_dup(&h->arena, c.text);
			*assay_push(cells) = c;
		}
		h->rows++;
	}
	return more;
}

static double as_real(const assay_cell *c)
{
	return c->type == ASSAY_CELL_INT ? (double)c->i : c->type == ASSAY_CELL_REAL ? c->f : NAN;
}

static assay_str as_text(holder *h, const assay_cell *c)
{
	if (c->type == ASSAY_CELL_TEXT)
		return c->text;
	if (c->type == ASSAY_CELL_INT)
		return assay_str_of(assay_printf(&h->arena, "%lld", (long long)c->i));
	return assay_str_of(c->type == ASSAY_CELL_REAL ? assay_printf(&h->arena, "%.17g", c->f)
						       : "");
}

static void fill_column(holder *h, arrow_col *c, const cell_list *cells, int64_t at)
{
	assay_cell_type type = ASSAY_CELL_NULL;
	for (int64_t i = 0; i < c->n; i++) {
		const assay_cell *cell = &cells->p[i * h->cols + at];
		if (cell->type == ASSAY_CELL_NULL)
			mark_absent(h, c, i);
		type = cell->type > type ? cell->type : type;
	}
	if (type == ASSAY_CELL_TEXT) {
		assay_str *s = assay_alloc(&h->arena, (size_t)(c->n + 1) * sizeof *s);
		for (int64_t i = 0; i < c->n; i++)
			s[i] = as_text(h, &cells->p[i * h->cols + at]);
		const arrow_col *t = texts(h, s, c->n);
		c->format = t->format;
		c->values = t->values;
		c->text = t->text;
		return;
	}
	int64_t *values = assay_alloc(&h->arena, (size_t)(c->n + 1) * sizeof *values);
	for (int64_t i = 0; i < c->n; i++) {
		const assay_cell *cell = &cells->p[i * h->cols + at];
		double real = as_real(cell);
		values[i] = cell->i;
		if (type == ASSAY_CELL_REAL)
			memcpy(&values[i], &real, sizeof real);
	}
	c->format = type == ASSAY_CELL_REAL ? "g" : "l";
	c->values = values;
}

bool assay_arrow_sql(assay_run *run, const char *text, struct ArrowArrayStream *out, assay_err *err)
{
	assay_sql sql;
	assay_result r = {0};
	cell_list cells = {0};
	holder *h = new_holder(run);
	bool ok = assay_sql_open(&sql, run, err) && assay_sql_start(&sql, &text, &r, err) &&
		  (r.stmt || assay_fail(err, ASSAY_USAGE, 0, "there is no statement"));
	h->cols = ok ? r.cols : 0;
	h->col = assay_alloc(&h->arena, (size_t)(h->cols + 1) * sizeof *h->col);
	for (int i = 0; i < h->cols; i++)
		h->col[i].name = assay_dup(&h->arena, assay_str_of(assay_result_name(&r, i)));
	ok = ok && take_rows(h, &r, &cells, err) == 0;
	for (int64_t i = 0; ok && i < h->cols; i++) {
		h->col[i].n = h->rows;
		fill_column(h, &h->col[i], &cells, i);
	}
	assay_vec_free(&cells);
	assay_result_free(&r);
	assay_sql_close(&sql);
	if (ok)
		start_stream(h, out);
	else
		free_holder(h);
	return ok;
}

/* ---- tests */

TEST(numbers_of_a_table_are_handed_out_where_they_are)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	assay_err err = {0};
	for (int i = 0; i < 10; i++) {
		uint32_t g = assay_add(t, ASSAY_T_gpu);
		t->gpu.dur[g] = i ? i : -1;
		t->gpu.name[g] = assay_sid_of(run, i % 2 ? "odd" : "even");
	}
	struct ArrowArrayStream s;
	struct ArrowSchema schema;
	struct ArrowArray a, end;
	CHECK(assay_arrow_relation(run, "gpu", &s, &err));
	CHECK(s.get_schema(&s, &schema) == 0 && s.get_next(&s, &a) == 0 && a.length == 10);
	CHECK(s.get_next(&s, &end) == 0 && !end.release);
	int dur = -1, name = -1;
	for (int i = 0; i < schema.n_children; i++) {
		dur = !strcmp(schema.children[i]->name, "dur") ? i : dur;
		name = !strcmp(schema.children[i]->name, "name") ? i : name;
	}
	CHECK(dur > 0 && a.children[dur]->buffers[1] == t->gpu.dur);
	CHECK(a.children[dur]->null_count == 1 && name > 0);
	CHECK(a.children[name]->dictionary && a.children[name]->dictionary->length == 2);
	s.release(&s);
	schema.release(&schema);
	assay_run_free(run); /* the array still holds it */
	CHECK(((const int64_t *)a.children[dur]->buffers[1])[9] == 9);
	a.release(&a);
	return 0;
}

TEST(a_statement_becomes_columns_of_the_type_its_values_need)
{
	assay_run *run = assay_run_new();
	assay_err err = {0};
	struct ArrowArrayStream s;
	struct ArrowSchema schema;
	struct ArrowArray a;
	CHECK(assay_arrow_sql(
		run, "select 1 i, 1 r, null n, 'x' t union all select 2, 2.5, null, 3", &s, &err));
	CHECK(s.get_schema(&s, &schema) == 0 && s.get_next(&s, &a) == 0 && a.length == 2);
	CHECK(!strcmp(schema.children[0]->format, "l") && !strcmp(schema.children[1]->format, "g"));
	CHECK(!strcmp(schema.children[3]->format, "u") && a.children[2]->null_count == 2);
	CHECK(((const double *)a.children[1]->buffers[1])[1] == 2.5);
	schema.release(&schema);
	a.release(&a);
	s.release(&s);
	CHECK(!assay_arrow_sql(run, "select nothing", &s, &err) && err.text[0]);
	assay_run_free(run);
	return 0;
}
