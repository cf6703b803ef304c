/* Results of SQL as an aligned table, CSV or JSON. */
#include "render/sql.h"

#include <inttypes.h>

#include "base/csvw.h"
#include "base/utf8.h"
#include "base/fmt.h"
#include "base/jsonw.h"
#include "base/test.h"

/* Columns are as wide as the first rows need; later ones may stick out, but not over a terminal. */
enum { MEASURED_ROWS = 500, WIDEST = 80, NARROWEST = 12 };

static const char *cell_text(assay_arena *a, const assay_cell *c)
{
	switch (c->type) {
	case ASSAY_CELL_INT:
		return assay_printf(a, "%" PRId64, c->i);
	case ASSAY_CELL_REAL:
		return assay_printf(a, "%.10g", c->f);
	case ASSAY_CELL_TEXT:
		return assay_fmt_safe(a, c->text);
	case ASSAY_CELL_NULL:
		break;
	}
	return "";
}

/* ---- table ---- */

typedef struct grid {
	FILE *out;
	assay_arena shape, arena; /* of columns, and of rows not printed yet */
	int cols, room;           /* of a terminal; 0: texts are left whole */
	int *width;
	bool *number;                 /* numbers stand on the right */
	assay_vec(const char *) cell; /* of rows not printed yet */
} grid;

/* A text without its middle, which tells kernels apart least. */
static const char *cut_middle(assay_arena *a, const char *text, int width)
{
	size_t n = strlen(text), most = (size_t)width;
	if (n <= most)
		return text;
	size_t head = (most - 3 + 1) / 2, tail = n - (most - 3) / 2;
	while (head && ((unsigned char)text[head] & 0xc0) == 0x80)
		head--;
	while (((unsigned char)text[tail] & 0xc0) == 0x80)
		tail++;
	return assay_printf(a, "%.*s...%s", (int)head, text, text + tail);
}

/* Takes from the widest texts what a terminal has no room for. */
static void fit_room(grid *g)
{
	int all = 2 * (g->cols - 1);
	for (int i = 0; i < g->cols; i++)
		all += g->width[i];
	for (int widest = 0; g->room && all > g->room && widest >= 0; all--) {
		widest = -1;
		for (int i = 0; i < g->cols; i++)
			if (!g->number[i] && g->width[i] > NARROWEST &&
			    (widest < 0 || g->width[i] > g->width[widest]))
				widest = i;
		if (widest >= 0)
			g->width[widest]--;
	}
}

static void put_row(grid *g, const char *const *cell)
{
	for (int i = 0; i < g->cols; i++) {
		bool last = i == g->cols - 1;
		int width = g->number[i] ? g->width[i] : last ? 0 : -g->width[i];
		const char *text = g->room && !g->number[i]
					   ? cut_middle(&g->arena, cell[i], g->width[i])
					   : cell[i];
		fprintf(g->out, "%*s%s", width, text, last ? "\n" : "  ");
	}
}

static void flush_grid(grid *g)
{
	for (size_t i = 0; i < g->cell.n; i += (size_t)g->cols)
		put_row(g, g->cell.p + i);
	g->cell.n = 0;
	assay_arena_reset(&g->arena);
	fflush(g->out);
}

static void measure(grid *g, int col, const char *text)
{
	int n = (int)strlen(text);
	int most = g->room > WIDEST ? g->room : WIDEST;
	n = n > most ? most : n;
	g->width[col] = n > g->width[col] ? n : g->width[col];
}

static void start_grid(grid *g, FILE *out, const assay_result *r, int room)
{
	*g = (grid){.out = out, .cols = r->cols, .room = room};
	g->width = assay_alloc(&g->shape, (size_t)r->cols * sizeof *g->width);
	g->number = assay_alloc(&g->shape, (size_t)r->cols * sizeof *g->number);
	for (int i = 0; i < r->cols; i++) {
		const char *name = assay_fmt_safe(&g->arena, assay_str_of(assay_result_name(r, i)));
		measure(g, i, name);
		*assay_push(&g->cell) = name;
	}
}

static int print_table(FILE *out, assay_result *r, int room, assay_err *err)
{
	grid g;
	size_t rows = 0;
	int more;
	start_grid(&g, out, r, room);
	while ((more = assay_result_next(r, err)) == 1) {
		for (int i = 0; i < r->cols; i++) {
			assay_cell c = assay_result_cell(r, i);
			const char *text = cell_text(&g.arena, &c);
			g.number[i] |= c.type == ASSAY_CELL_INT || c.type == ASSAY_CELL_REAL;
			if (rows < MEASURED_ROWS)
				measure(&g, i, text);
			*assay_push(&g.cell) = text;
		}
		if (++rows == MEASURED_ROWS)
			fit_room(&g);
		if (rows % MEASURED_ROWS == 0)
			flush_grid(&g);
	}
	if (rows < MEASURED_ROWS)
		fit_room(&g);
	flush_grid(&g);
	assay_vec_free(&g.cell);
	assay_arena_free(&g.arena);
	assay_arena_free(&g.shape);
	return more;
}

/* ---- CSV and JSON ---- */

/* Programs get texts as they are, a terminal what cannot command it. */
static void end_csv_line(assay_csvw *line, FILE *out, bool terminal)
{
	if (terminal)
		line->n = assay_utf8_tame(line->p, line->n);
	assay_csvw_bytes(line, ASSAY_S("\r\n"));
	fwrite(line->p, 1, line->n, out);
	line->n = 0;
}

static int print_csv(FILE *out, assay_result *r, int room, assay_err *err)
{
	assay_arena scratch = {0};
	assay_csvw line = {0};
	int more;
	for (int i = 0; i < r->cols; i++) {
		assay_csvw_bytes(&line, assay_str_of(i ? "," : ""));
		assay_csvw_text(&line, assay_str_of(assay_result_name(r, i)));
	}
	end_csv_line(&line, out, room > 0);
	while ((more = assay_result_next(r, err)) == 1) {
		for (int i = 0; i < r->cols; i++) {
			assay_cell c = assay_result_cell(r, i);
			assay_csvw_bytes(&line, assay_str_of(i ? "," : ""));
			assay_csvw_text(&line, c.type == ASSAY_CELL_TEXT
						       ? c.text
						       : assay_str_of(cell_text(&scratch, &c)));
		}
		end_csv_line(&line, out, room > 0);
		assay_arena_reset(&scratch);
	}
	assay_vec_free(&line);
	assay_arena_free(&scratch);
	return more;
}

static void json_cell(assay_jsonw *w, const char *name, const assay_cell *c)
{
	switch (c->type) {
	case ASSAY_CELL_INT:
		assay_jsonw_i64(w, name, c->i);
		break;
	case ASSAY_CELL_REAL:
		assay_jsonw_f64(w, name, c->f);
		break;
	case ASSAY_CELL_TEXT:
		assay_jsonw_str(w, name, c->text);
		break;
	case ASSAY_CELL_NULL:
		assay_jsonw_null(w, name);
		break;
	}
}

static int print_json(FILE *out, assay_result *r, int room, assay_err *err)
{
	(void)room;
	assay_jsonw w = {.to = out};
	int more;
	assay_jsonw_open(&w, NULL, '[');
	while ((more = assay_result_next(r, err)) == 1) {
		assay_jsonw_open_flat(&w, NULL, '{');
		for (int i = 0; i < r->cols; i++) {
			assay_cell c = assay_result_cell(r, i);
			json_cell(&w, assay_result_name(r, i), &c);
		}
		assay_jsonw_close(&w, '}');
	}
	assay_jsonw_close(&w, ']');
	assay_jsonw_flush(&w);
	fputc('\n', out);
	assay_jsonw_free(&w);
	return more;
}

bool assay_sql_print(FILE *out, assay_result *r, assay_sql_form form, int room, assay_err *err)
{
	static int (*const print[])(FILE *, assay_result *, int, assay_err *) = {
		[ASSAY_SQL_TABLE] = print_table,
		[ASSAY_SQL_CSV] = print_csv,
		[ASSAY_SQL_JSON] = print_json,
	};
	/* a statement that makes something has no columns: it runs, and nothing is printed */
	return (r->cols ? print[form](out, r, room, err) : assay_result_next(r, err)) == 0;
}

/* ---- schema ---- */

static void put_columns(FILE *out, const assay_relation *v)
{
	static const char *const types[] = {"", "integer", "real", "text"};
	fprintf(out, "%s: %s (%zu rows)\n", v->name, v->doc, v->n);
	for (size_t i = 0; i < v->cols; i++)
		if (!v->col[i].string_id)
			fprintf(out, "  %-20s %-8s %-3s %s\n", v->col[i].name,
				types[v->col[i].type], v->col[i].unit, v->col[i].doc);
}

bool assay_sql_schema(FILE *out, const assay_relations *views, const char *name)
{
	const assay_relation *one = name ? assay_relation_find(views, name) : NULL;
	const assay_sql_view *made = name ? assay_sql_view_find(name) : NULL;
	if (one)
		put_columns(out, one);
	if (made)
		fprintf(out, "%s: %s\n  %s\n", made->name, made->doc, made->text);
	if (name)
		return one || made;
	for (size_t i = 0; i < views->view.n; i++)
		fprintf(out, "%-21s %8zu  %s\n", views->view.p[i].name, views->view.p[i].n,
			views->view.p[i].doc);
	for (const assay_sql_view *v = assay_sql_views; v->name; v++)
		fprintf(out, "%-21s %8s  %s\n", v->name, "", v->doc);
	return true;
}
