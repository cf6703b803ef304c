/* Arrow C streams. Everything handed out shares one holder: memory of its own, a hold on the run
 * and a count of who still needs it. */
#include "query/arrow.h"

#include <errno.h>
#include <math.h>
#include <stdatomic.h>

#include "base/test.h"
#include "query/column.h"
#include "query/sql.h"

enum { NULLABLE = 2 }; /* ARROW_FLAG_NULLABLE */

typedef struct arrow_col {
	const char *name;
	const char *format; /* of the values, or of the indices of a dictionary */
	const void *values; /* fixed width; of text: offsets */
	const char *text;   /* of text: the bytes */
	uint8_t *valid;     /* bit a row; NULL: all are there */
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
	assay_relations rels;      /* of a table, until its batch is made */
	const assay_relation *rel; /* NULL: columns are made */
	bool done;                 /* the one batch was handed out */
	bool failed;
	int made; /* structs of one answer, which all need the holder when it is whole */
} holder;

static void free_holder(holder *h)
{
	assay_relations_free(&h->rels);
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

/* Of n rows from row `from` on, which is a multiple of 8. */
static void mark_absent(holder *h, arrow_col *c, size_t from, size_t n, const bool *absent)
{
	if (!c->valid) {
		c->valid = assay_alloc(&h->arena, (size_t)c->n / 8 + 1);
		memset(c->valid, 0xff, (size_t)c->n / 8 + 1);
	}
	for (size_t i = 0; i < n; i++)
		c->valid[(from + i) / 8] &= (uint8_t) ~(absent[i] << i % 8);
}

/* Text of n strings, with offsets of 32 bits, or of 64 where the bytes may be too many for that. */
static void texts(holder *h, arrow_col *c, const assay_str *s, int64_t n, size_t bytes)
{
	bool large = c->format[0] == 'U';
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
	c->values = small;
	c->text = text;
	c->n = n;
}

static const char *text_format(size_t bytes)
{
	return bytes > INT32_MAX ? "U" : "u";
}

static size_t bytes_of(const assay_str *s, size_t n)
{
	size_t bytes = 0;
	for (size_t i = 0; i < n; i++)
		bytes += s[i].n;
	return bytes;
}

/* Letters of Arrow's formats, by how values are stored. */
static const char *const formats[ASSAY_COL_TYPE_COUNT] = {
	[ASSAY_COL_u8] = "C",   [ASSAY_COL_u16] = "S", [ASSAY_COL_u32] = "I",
	[ASSAY_COL_i32] = "i",  [ASSAY_COL_u64] = "L", [ASSAY_COL_i64] = "l",
	[ASSAY_COL_f64] = "g",  [ASSAY_COL_sid] = "I", [ASSAY_COL_time] = "l",
	[ASSAY_COL_word] = "C", [ASSAY_COL_row] = "I", [ASSAY_COL_choice] = "I",
};

/* A column that is there as it is, but for rows that a view leaves out. */
static bool is_plain(const assay_relation_col *col)
{
	return col->terms == 1 && !col->term[0].hops && !col->plus && !col->string_id;
}

/* Whole numbers of a plain table keep their width, those of a view that leaves rows out are all of
 * 64 bits: whether it does leave any out must not change a type. */
static const char *format_of(const assay_relation *rel, const assay_relation_col *col)
{
	bool filtered = rel->filter && rel->filter[0];
	if (col->type == ASSAY_CELL_INT)
		return is_plain(col) && !filtered ? formats[col->term[0].col->kind->type] : "l";
	return formats[col->term[0].col->kind->type];
}

/* Values of a column into its array; how many are absent is counted. */
typedef struct filling {
	holder *h;
	arrow_col *c;
	void *to;         /* NULL: the table's own array serves */
	size_t width;     /* of a value there */
	uint32_t *number; /* of strings: 1 + place in the dictionary, by id; 0: not met yet */
	size_t strings;   /* ids of the run */
	assay_vec(assay_str) dict;
} filling;

/* Strings of a column, each once, numbered as they come: a small table does not drag in the
 * run's. */
static uint32_t number_of(filling *f, int64_t sid)
{
	uint32_t *number = &f->number[(size_t)sid < f->strings ? (size_t)sid : f->strings];
	if (!*number) {
		*assay_push(&f->dict) = assay_text(f->h->run, (assay_sid)sid);
		*number = (uint32_t)f->dict.n;
	}
	return *number - 1;
}

/* Inlined for each width. */
static inline void put(filling *f, size_t from, size_t n, const int64_t *value, const bool *absent,
		       size_t width)
{
	char *to = (char *)f->to + from * width;
	for (size_t i = 0; i < n; i++)
		if (!absent[i])
			memcpy(to + i * width, &value[i], width); /* little-endian: the low bytes */
}

static void put_strings(filling *f, size_t from, size_t n, int64_t *value, const bool *absent)
{
	for (size_t i = 0; i < n; i++)
		value[i] = absent[i] ? 0 : number_of(f, value[i]);
	put(f, from, n, value, absent, 4);
}

/* Absent values stay zero: pages that nobody writes to cost nothing. */
static void put_rows(filling *f, size_t from, size_t n, int64_t *value, const bool *absent)
{
	if (f->number)
		put_strings(f, from, n, value, absent);
	else if (f->width == 1)
		put(f, from, n, value, absent, 1);
	else if (f->width == 2)
		put(f, from, n, value, absent, 2);
	else if (f->width == 4)
		put(f, from, n, value, absent, 4);
	else
		put(f, from, n, value, absent, 8);
}

enum { CHUNK = 4096 };

static void fill_rows(filling *f, const assay_relation *rel, const assay_relation_col *col)
{
	uint32_t row[CHUNK];
	int64_t value[CHUNK];
	bool absent[CHUNK];
	for (size_t from = 0; from < rel->n; from += CHUNK) {
		size_t n = rel->n - from < CHUNK ? rel->n - from : CHUNK;
		for (size_t i = 0; i < n; i++)
			row[i] = assay_relation_row(rel, from + i);
		size_t gone = assay_column_values(col, row, n, value, absent);
		if (f->to && gone < n)
			put_rows(f, from, n, value, absent);
		if (gone)
			mark_absent(f->h, f->c, from, n, absent);
		f->c->nulls += (int64_t)gone;
	}
}

static void fill_words(holder *h, arrow_col *c, const assay_col_kind *kind)
{
	assay_str *word = assay_alloc(&h->arena, (kind->words + 1) * sizeof *word);
	for (size_t i = 0; i < kind->words; i++)
		word[i] = assay_str_of(kind->word[i]);
	texts(h, c, word, (int64_t)kind->words, bytes_of(word, kind->words));
}

static void fill_relation_col(holder *h, arrow_col *c, const assay_relation_col *col)
{
	const assay_relation *rel = h->rel;
	bool string = col->type == ASSAY_CELL_TEXT && !col->term[0].col->kind->words;
	filling f = {.h = h,
		     .c = c,
		     .width = strchr("lLg", c->format[0]) ? 8 : col->term[0].col->width,
		     .strings = h->run->part.strings.str.n};
	assay_arena scratch = {0};
	if (!rel->row && is_plain(col) && !string &&
	    c->format == formats[col->term[0].col->kind->type])
		c->values = col->term[0].values;
	else
		c->values = f.to = assay_alloc(&h->arena, (size_t)(c->n + 1) * f.width);
	if (string)
		f.number = assay_alloc(&scratch, (f.strings + 1) * sizeof *f.number);
	fill_rows(&f, rel, col);
	if (string)
		texts(h, c->words, f.dict.p, (int64_t)f.dict.n, bytes_of(f.dict.p, f.dict.n));
	else if (c->words)
		fill_words(h, c->words, col->term[0].col->kind);
	assay_vec_free(&f.dict);
	assay_arena_free(&scratch);
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

/* Only who asks for rows pays for them: a schema is quick. */
static void fill_relation(holder *h)
{
	if (!h->rel)
		return;
	for (size_t i = 0, at = 0; i < h->rel->cols; i++)
		if (!h->rel->col[i].string_id)
			fill_relation_col(h, &h->col[at++], &h->rel->col[i]);
	h->rel = NULL;
	assay_relations_free(&h->rels);
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
	fill_relation(h);
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
	holder *h = new_holder(run);
	assay_relations_of(&h->rels, run);
	h->rel = assay_relation_find(&h->rels, name);
	if (!h->rel) {
		const assay_sql_view *made = assay_sql_view_find(name);
		free_holder(h);
		return made ? assay_arrow_sql(run, made->text, out, err)
			    : assay_fail(err, ASSAY_USAGE, 0, "there is no table '%s'", name);
	}
	h->rows = (int64_t)h->rel->n;
	h->col = assay_alloc(&h->arena, h->rel->cols * sizeof *h->col);
	for (size_t i = 0; i < h->rel->cols; i++) {
		const assay_relation_col *col = &h->rel->col[i];
		if (col->string_id)
			continue; /* dictionaries group as quickly */
		arrow_col *c = &h->col[h->cols++];
		*c = (arrow_col){.n = h->rows,
				 .name = assay_dup(&h->arena, assay_str_of(col->name)),
				 .format = format_of(h->rel, col)};
		if (col->type != ASSAY_CELL_TEXT)
			continue;
		c->words = assay_alloc(&h->arena, sizeof *c->words);
		*c->words =
			(arrow_col){.name = "", .format = text_format(run->part.strings.text.used)};
	}
	start_stream(h, out);
	return true;
}

/* One column of the rows that a statement gave so far. */
typedef struct answer {
	assay_vec(uint8_t) type;  /* assay_cell_type, by row */
	assay_vec(int64_t) value; /* bits of a number; of a text its end in bytes */
	assay_vec(char) bytes;    /* of all texts: the statement's own go with its next row */
	assay_cell_type most;     /* what all values can be written as */
} answer;

static void take_cell(answer *a, assay_cell c)
{
	if (c.type == ASSAY_CELL_TEXT) {
		assay_vec_reserve(&a->bytes, a->bytes.n + c.text.n);
		if (c.text.n)
			memcpy(a->bytes.p + a->bytes.n, c.text.p, c.text.n);
		a->bytes.n += c.text.n;
		c.i = (int64_t)a->bytes.n;
	} else if (c.type == ASSAY_CELL_REAL) {
		memcpy(&c.i, &c.f, sizeof c.i);
	}
	*assay_push(&a->type) = (uint8_t)c.type;
	*assay_push(&a->value) = c.i;
	a->most = c.type > a->most ? c.type : a->most;
}

static int take_rows(holder *h, assay_result *r, answer *a, assay_err *err)
{
	int more;
	while ((more = assay_result_next(r, err)) == 1) {
		for (int i = 0; i < r->cols; i++)
			take_cell(&a[i], assay_result_cell(r, i));
		h->rows++;
	}
	return more;
}

static double as_real(uint8_t type, int64_t value)
{
	double real = NAN;
	if (type == ASSAY_CELL_INT)
		return (double)value;
	if (type == ASSAY_CELL_REAL)
		memcpy(&real, &value, sizeof real);
	return real;
}

static assay_str as_text(holder *h, const answer *a, size_t row, size_t *start)
{
	uint8_t type = a->type.p[row];
	int64_t value = a->value.p[row];
	size_t from = *start;
	if (type == ASSAY_CELL_TEXT) {
		*start = (size_t)value;
		return (assay_str){a->bytes.p + from, (size_t)value - from};
	}
	if (type == ASSAY_CELL_INT)
		return assay_str_of(assay_printf(&h->arena, "%lld", (long long)value));
	return assay_str_of(type == ASSAY_CELL_REAL
				    ? assay_printf(&h->arena, "%.17g", as_real(type, value))
				    : "");
}

static void fill_texts(holder *h, arrow_col *c, const answer *a)
{
	assay_str *s = assay_alloc(&h->arena, (size_t)(c->n + 1) * sizeof *s);
	size_t start = 0;
	for (size_t i = 0; i < (size_t)c->n; i++)
		s[i] = as_text(h, a, i, &start);
	size_t bytes = bytes_of(s, (size_t)c->n);
	c->format = text_format(bytes);
	texts(h, c, s, c->n, bytes);
}

static void fill_numbers(holder *h, arrow_col *c, const answer *a)
{
	int64_t *values = assay_alloc(&h->arena, (size_t)(c->n + 1) * sizeof *values);
	for (size_t i = 0; i < (size_t)c->n; i++) {
		double real = as_real(a->type.p[i], a->value.p[i]);
		values[i] = a->value.p[i];
		if (a->most == ASSAY_CELL_REAL)
			memcpy(&values[i], &real, sizeof real);
	}
	c->format = a->most == ASSAY_CELL_REAL ? "g" : "l";
	c->values = values;
}

static void fill_column(holder *h, arrow_col *c, const answer *a)
{
	bool absent[CHUNK];
	c->n = h->rows;
	for (size_t from = 0; from < a->type.n; from += CHUNK) {
		size_t n = a->type.n - from < CHUNK ? a->type.n - from : CHUNK, gone = 0;
		for (size_t i = 0; i < n; i++)
			gone += absent[i] = a->type.p[from + i] == ASSAY_CELL_NULL;
		if (gone)
			mark_absent(h, c, from, n, absent);
		c->nulls += (int64_t)gone;
	}
	if (a->most == ASSAY_CELL_TEXT)
		fill_texts(h, c, a);
	else
		fill_numbers(h, c, a);
}

static void free_answers(answer *a, int n)
{
	for (int i = 0; i < n; i++) {
		assay_vec_free(&a[i].type);
		assay_vec_free(&a[i].value);
		assay_vec_free(&a[i].bytes);
	}
}

/* Nothing but blanks and comments behind a statement: what stood there would be left out. */
static bool is_last(assay_sql *sql, const char *rest, assay_err *err)
{
	assay_result more = {0};
	bool last = assay_sql_start(sql, &rest, &more, err) && !more.stmt;
	assay_result_free(&more);
	return last || assay_fail(err, ASSAY_USAGE, 0, "one statement at a time");
}

bool assay_arrow_sql(assay_run *run, const char *text, struct ArrowArrayStream *out, assay_err *err)
{
	assay_sql sql;
	assay_result r = {0};
	holder *h = new_holder(run);
	bool ok = assay_sql_open(&sql, run, err) && assay_sql_start(&sql, &text, &r, err) &&
		  (r.stmt || assay_fail(err, ASSAY_USAGE, 0, "there is no statement")) &&
		  is_last(&sql, text, err);
	int cols = ok ? r.cols : 0;
	answer *a = assay_alloc(&h->arena, (size_t)(cols + 1) * sizeof *a);
	h->cols = cols;
	h->col = assay_alloc(&h->arena, (size_t)(cols + 1) * sizeof *h->col);
	for (int i = 0; i < cols; i++)
		h->col[i].name = assay_dup(&h->arena, assay_str_of(assay_result_name(&r, i)));
	ok = ok && take_rows(h, &r, a, err) == 0;
	for (int i = 0; ok && i < cols; i++)
		fill_column(h, &h->col[i], &a[i]);
	free_answers(a, cols);
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
	CHECK(!assay_arrow_sql(run, "select 1; selct 2", &s, &err) && strstr(err.text, "one"));
	assay_run_free(run);
	return 0;
}
