/* Points of operators below the roofs of their device. */
#include "render/roofline.h"

#include <math.h>

#include "base/fmt.h"
#include "base/sort.h"
#include "base/test.h"
#include "render/ops.h"

enum { WIDTH = 960, HEIGHT = 580, LEFT = 70, RIGHT = 20, TOP_EDGE = 78, BOTTOM = 50, LISTED = 20 };
enum { LABELS = 12, LABEL_CHARS = 36 };
/* The axes hold the points that have this much of the time; a point of less has no name. */
static const double on_axes = 0.999, named = 0.01;
static const char no_work[] = "no GPU work in this input";
static const double char_width = 7; /* pixels, of 12px sans-serif: on the wide side */

#define CLASS(id) (1u << ASSAY_WORK_##id)
/* Colours of points. The last has all classes that no other has. */
static const struct {
	const char *label, *colour;
	uint32_t classes;
} kinds[] = {
	{"matrix products", "#2a78d6", CLASS(GEMM) | CLASS(MOE)},
	{"attention", "#c2410c", CLASS(ATTENTION)},
	{"convolutions", "#168068", CLASS(CONV)},
	{"elementwise and copies", "#a16207", CLASS(ELEMENTWISE) | CLASS(MOVE)},
	{"norms and softmax", "#7c3aed", CLASS(NORM) | CLASS(SOFTMAX)},
	{"other", "#777", 0},
};
enum { OTHER = ASSAY_COUNT_OF(kinds) - 1 };

static size_t kind_of(uint8_t class)
{
	size_t k = 0;
	while (k < OTHER && !(kinds[k].classes >> class & 1))
		k++;
	return k;
}

/* Logarithms of what the axes show. */
typedef struct axes {
	double x0, x1, y0, y1;
} axes;

static double at_x(const axes *a, double v)
{
	return LEFT + (log10(v) - a->x0) / (a->x1 - a->x0) * (WIDTH - LEFT - RIGHT);
}

static double at_y(const axes *a, double v)
{
	return HEIGHT - BOTTOM -
	       (log10(v) - a->y0) / (a->y1 - a->y0) * (HEIGHT - BOTTOM - TOP_EDGE);
}

typedef struct point {
	uint32_t shape;
	double intensity, rate; /* operations a byte, a second */
} point;

/* Shapes with known work, most time first. */
static point *points_of(const assay_run *run, assay_arena *a, size_t *n)
{
	const assay_op_shape_table *s = &run->part.t.op_shape;
	uint32_t *rows = assay_alloc(a, (s->n + 1) * sizeof *rows);
	point *p = assay_alloc(a, (s->n + 1) * sizeof *p);
	for (uint32_t i = 0; i < s->n; i++)
		rows[i] = i;
	assay_sort_rows_falling(rows, s->n, s->busy);
	*n = 0;
	for (size_t i = 0; i < s->n; i++) {
		uint32_t r = rows[i];
		double seconds = (double)s->busy[r] * 1e-9 / (double)s->calls[r];
		if (isnan(s->flops[r]) || s->flags[r] & ASSAY_OP_OVER_PEAK || !(s->flops[r] > 0) ||
		    !(s->bytes[r] > 0) || seconds <= 0)
			continue;
		p[(*n)++] = (point){r, s->flops[r] / s->bytes[r], s->flops[r] / seconds};
	}
	return p;
}

static const double *const *peaks_of(const assay_roof_table *r, const double *out[ASSAY_MATH_COUNT])
{
	out[0] = NULL;
	out[ASSAY_MATH_FP64] = r->fp64, out[ASSAY_MATH_FP32] = r->fp32;
	out[ASSAY_MATH_TF32] = r->tf32, out[ASSAY_MATH_BF16] = r->bf16;
	out[ASSAY_MATH_FP16] = r->fp16, out[ASSAY_MATH_FP8] = r->fp8;
	out[ASSAY_MATH_INT8] = r->int8, out[ASSAY_MATH_FP4] = r->fp4;
	return (const double *const *)out;
}

/* Room that a text takes. */
typedef struct box {
	double x0, y0, x1, y1;
} box;

enum { BOXES = LABELS + ASSAY_MATH_COUNT };

typedef struct picture {
	FILE *out;
	const assay_run *run;
	assay_arena *scratch;
	const point *p; /* most time first */
	size_t n;
	double time; /* of all points, ns */
	axes a;
	box taken[BOXES];
	size_t boxes;
} picture;

static double time_of(const picture *c, const point *p)
{
	return (double)c->run->part.t.op_shape.busy[p->shape];
}

static bool is_inside(const axes *a, const point *p)
{
	double x = log10(p->intensity), y = log10(p->rate);
	return x >= a->x0 && x <= a->x1 && y >= a->y0 && y <= a->y1;
}

/* Points of no weight may lie anywhere. */
static axes axes_of(const picture *c, double peak)
{
	axes a = {-1, 3, 11, peak > 0 ? ceil(log10(peak)) : 12};
	double sum = 0;
	for (size_t i = 0; i < c->n && sum < on_axes * c->time; i++) {
		double x = log10(c->p[i].intensity), y = log10(c->p[i].rate);
		sum += time_of(c, &c->p[i]);
		a.x0 = fmin(a.x0, floor(x));
		a.x1 = fmax(a.x1, ceil(x));
		a.y0 = fmin(a.y0, floor(y));
		a.y1 = fmax(a.y1, ceil(y));
	}
	return a;
}

static void put_grid(FILE *out, const axes *a)
{
	for (int e = (int)a->x0; e <= (int)a->x1; e++) {
		double x = at_x(a, pow(10, e));
		fprintf(out, "<path class=\"grid\" d=\"M%.1f %dV%d\"/>\n", x, TOP_EDGE,
			HEIGHT - BOTTOM);
		fprintf(out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%g</text>\n", x,
			HEIGHT - BOTTOM + 18, pow(10, e));
	}
	for (int e = (int)a->y0; e <= (int)a->y1; e++) {
		double y = at_y(a, pow(10, e));
		fprintf(out, "<path class=\"grid\" d=\"M%d %.1fH%d\"/>\n", LEFT, y, WIDTH - RIGHT);
		fprintf(out, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n", LEFT - 6,
			y + 4, pow(10, e - 12));
	}
	fprintf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">operations a byte</text>\n",
		(LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10);
	fprintf(out,
		"<text x=\"14\" y=\"%d\" text-anchor=\"middle\" transform=\"rotate(-90 14 %d)\">TFLOP/s</text>\n",
		HEIGHT / 2, HEIGHT / 2);
}

static bool is_free(const picture *c, const box *b)
{
	if (b->x0 < LEFT || b->x1 > WIDTH - RIGHT || b->y0 < TOP_EDGE || b->y1 > HEIGHT - BOTTOM)
		return false;
	for (size_t i = 0; i < c->boxes; i++)
		if (b->x0 < c->taken[i].x1 && c->taken[i].x0 < b->x1 && b->y0 < c->taken[i].y1 &&
		    c->taken[i].y0 < b->y1)
			return false;
	return true;
}

static box box_of(double x, double y, size_t chars)
{
	return (box){x, y - 11, x + (double)chars * char_width, y + 3};
}

/* All types that ran at this peak: "bf16, fp16 989 TFLOP/s". */
static const char *roof_name(const picture *c, const double *const *peak, const bool *used,
			     double height)
{
	const char *names = "";
	for (int m = 1; m < ASSAY_MATH_COUNT; m++)
		if (used[m] && peak[m][0] == height)
			names = assay_printf(c->scratch, "%s%s%s", names, *names ? ", " : "",
					     assay_math_name[m]);
	return assay_printf(c->scratch, "%s %.0f TFLOP/s", names, height * 1e-12);
}

static void put_roof(picture *c, double height, double bandwidth, const char *name)
{
	const axes *a = &c->a;
	double ridge = height / bandwidth, from = pow(10, a->x0), y = at_y(a, height) - 5;
	if (from * bandwidth < pow(10, a->y0))
		from = pow(10, a->y0) / bandwidth;
	fprintf(c->out, "<path class=\"roof\" d=\"M%.1f %.1fL%.1f %.1fH%d\"/>\n", at_x(a, from),
		at_y(a, from * bandwidth), at_x(a, ridge), at_y(a, height), WIDTH - RIGHT);
	fprintf(c->out, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n",
		WIDTH - RIGHT - 4, y, name);
	size_t chars = strlen(name);
	c->taken[c->boxes++] = box_of(WIDTH - RIGHT - 4 - (double)chars * char_width, y, chars);
}

/* The slope of the memory, and a roof for every type that ran. */
static void put_roofs(picture *c, const bool *used)
{
	const double *peak[ASSAY_MATH_COUNT];
	peaks_of(&c->run->part.t.roof, peak);
	double bandwidth = c->run->part.t.roof.bandwidth[0];
	for (int m = 1; m < ASSAY_MATH_COUNT; m++) {
		bool done = !used[m] || !(peak[m][0] > 0) || !(bandwidth > 0);
		for (int k = 1; k < m && !done; k++)
			done = used[k] && peak[k][0] == peak[m][0];
		if (!done)
			put_roof(c, peak[m][0], bandwidth,
				 roof_name(c, (const double *const *)peak, used, peak[m][0]));
	}
}

/* Text from the input between tags. */
static void put_text(const picture *c, assay_str s)
{
	for (const char *p = assay_fmt_safe(c->scratch, s); *p; p++)
		switch (*p) {
		case '<':
			fputs("&lt;", c->out);
			break;
		case '>':
			fputs("&gt;", c->out);
			break;
		case '&':
			fputs("&amp;", c->out);
			break;
		default:
			fputc(*p, c->out);
		}
}

static double radius_of(const picture *c, const point *p)
{
	return 2 + 60 * sqrt(time_of(c, p) / c->time);
}

static void put_point(const picture *c, const point *p)
{
	const assay_op_shape_table *s = &c->run->part.t.op_shape;
	uint32_t r = p->shape;
	char t[ASSAY_FMT];
	fprintf(c->out, "<circle class=\"k%zu\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"><title>",
		kind_of(s->class[r]), at_x(&c->a, p->intensity), at_y(&c->a, p->rate),
		radius_of(c, p));
	put_text(c, assay_text(c->run, s->name[r]));
	fputc(' ', c->out);
	put_text(c, assay_text(c->run, s->dims[r]));
	fprintf(c->out, "; %s in %.0f calls, %.1f TFLOP/s, %.2f TB/s</title></circle>\n",
		assay_fmt_time(t, s->busy[r]), (double)s->calls[r], p->rate * 1e-12,
		p->rate / p->intensity * 1e-12);
}

static const char *none_known(const assay_run *run, assay_arena *scratch)
{
	const char *why = assay_ops_unknown(run);
	return assay_printf(scratch, "no operators whose work is known%s%s", why ? ": " : "",
			    why ? why : "");
}

static void put_points(const picture *c)
{
	if (!c->n) {
		fprintf(c->out, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">",
			(LEFT + WIDTH - RIGHT) / 2, HEIGHT / 2);
		put_text(c, assay_str_of(none_known(c->run, c->scratch)));
		fputs("</text>\n", c->out);
	}
	size_t outside = 0;
	double time = 0;
	for (size_t i = 0; i < c->n; i++) {
		if (is_inside(&c->a, &c->p[i])) {
			put_point(c, &c->p[i]);
			continue;
		}
		outside++;
		time += time_of(c, &c->p[i]);
	}
	if (outside)
		fprintf(c->out,
			"<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%zu with %.2g%% of the time outside</text>\n",
			WIDTH - RIGHT, HEIGHT - 10, outside, 100 * time / c->time);
}

/* The last part of a name, "mm" of "aten::mm", and not all of a long one. */
static const char *short_name(assay_arena *scratch, assay_str s)
{
	size_t from = s.n, chars = 0, n = 0;
	while (from && s.p[from - 1] != ':' && s.p[from - 1] != '/')
		from--;
	if (from == s.n)
		from = 0;
	for (; from + n < s.n; n++)
		if (((unsigned char)s.p[from + n] & 0xc0) != 0x80 && chars++ == LABEL_CHARS)
			break;
	return assay_printf(scratch, "%.*s%s", (int)n, s.p + from, from + n < s.n ? "..." : "");
}

/* Right, left, above or below of its point, where no other text is; else nowhere. */
static void put_label(picture *c, const point *p)
{
	const char *name =
		short_name(c->scratch, assay_text(c->run, c->run->part.t.op_shape.name[p->shape]));
	double x = at_x(&c->a, p->intensity), y = at_y(&c->a, p->rate), r = radius_of(c, p);
	size_t chars = strlen(name) + strlen(" 10%");
	double wide = (double)chars * char_width;
	const struct {
		double x, y, before; /* how much of the text stands before x */
		const char *anchor;
	} places[] = {{x + r + 4, y + 4, 0, "start"},
		      {x - r - 4, y + 4, 1, "end"},
		      {x, y - r - 5, 0.5, "middle"},
		      {x, y + r + 13, 0.5, "middle"}};
	for (size_t i = 0; i < ASSAY_COUNT_OF(places); i++) {
		box b = box_of(places[i].x - places[i].before * wide, places[i].y, chars);
		if (!is_free(c, &b))
			continue;
		c->taken[c->boxes++] = b;
		fprintf(c->out, "<text class=\"name\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">",
			places[i].x, places[i].y, places[i].anchor);
		put_text(c, assay_str_of(name));
		fprintf(c->out, " %.0f%%</text>\n", 100 * time_of(c, p) / c->time);
		return;
	}
}

static void put_labels(picture *c)
{
	for (size_t i = 0; i < c->n && i < LABELS && time_of(c, &c->p[i]) >= named * c->time; i++)
		put_label(c, &c->p[i]);
}

/* The kinds there are, with their share of the time; what does not fit stands in a second row. */
static void put_legend(const picture *c)
{
	double time[ASSAY_COUNT_OF(kinds)] = {0}, x = LEFT, y = 42;
	for (size_t i = 0; i < c->n; i++)
		time[kind_of(c->run->part.t.op_shape.class[c->p[i].shape])] += time_of(c, &c->p[i]);
	for (size_t k = 0; k < ASSAY_COUNT_OF(kinds); k++) {
		if (time[k] <= 0)
			continue;
		const char *text = assay_printf(c->scratch, "%s %.3g%%", kinds[k].label,
						100 * time[k] / c->time);
		double wide = 16 + (double)strlen(text) * char_width;
		if (x + wide > WIDTH - RIGHT) {
			x = LEFT;
			y += 16;
		}
		fprintf(c->out,
			"<circle class=\"k%zu\" cx=\"%.1f\" cy=\"%.0f\" r=\"6\"/><text x=\"%.1f\" y=\"%.0f\">%s</text>\n",
			k, x + 6, y, x + 16, y + 4, text);
		x += wide + 16;
	}
}

static void put_head(const picture *c)
{
	const assay_roof_table *r = &c->run->part.t.roof;
	fprintf(c->out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\">\n"
		"<style>text{font:12px sans-serif;fill:#444}.name{fill:#111;pointer-events:none}.grid{stroke:#ddd;fill:none}"
		".roof{stroke:#222;stroke-width:2;fill:none}circle{fill-opacity:.5;stroke:#555}",
		WIDTH, HEIGHT, WIDTH, HEIGHT);
	for (size_t k = 0; k < ASSAY_COUNT_OF(kinds); k++)
		fprintf(c->out, ".k%zu{fill:%s}", k, kinds[k].colour);
	fprintf(c->out,
		"</style>\n<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n<text x=\"%d\" y=\"22\">Roofline: ",
		WIDTH, HEIGHT, LEFT);
	put_text(c, r->n ? assay_text(c->run, r->how[0]) : assay_str_of(no_work));
	fputs("; a point is an operator with one set of shapes, its area its share of time</text>\n",
	      c->out);
}

void assay_roofline_svg(FILE *out, const assay_run *run)
{
	const assay_roof_table *r = &run->part.t.roof;
	assay_arena scratch = {0};
	picture c = {.out = out, .run = run, .scratch = &scratch};
	c.p = points_of(run, &scratch, &c.n);
	bool used[ASSAY_MATH_COUNT] = {false};
	double highest = 0;
	const double *peak[ASSAY_MATH_COUNT];
	for (size_t i = 0; i < c.n; i++) {
		used[run->part.t.op_shape.math[c.p[i].shape]] = true;
		c.time += time_of(&c, &c.p[i]);
	}
	peaks_of(r, peak);
	for (int m = 1; r->n && m < ASSAY_MATH_COUNT; m++)
		highest = used[m] && peak[m][0] > highest ? peak[m][0] : highest;
	c.a = axes_of(&c, highest);
	put_head(&c);
	put_legend(&c);
	put_grid(out, &c.a);
	if (r->n)
		put_roofs(&c, used);
	put_points(&c);
	put_labels(&c);
	fputs("</svg>\n", out);
	assay_arena_free(&scratch);
}

void assay_roofline_html(FILE *out, const assay_run *run)
{
	fputs("<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Roofline</title><body>\n",
	      out);
	assay_roofline_svg(out, run);
	fputs("</body></html>\n", out);
}

void assay_roofline_text(FILE *out, const assay_run *run, uint32_t top, size_t width)
{
	enum { NAME = 52 }; /* columns before it */
	const assay_op_shape_table *s = &run->part.t.op_shape;
	const assay_roof_table *r = &run->part.t.roof;
	assay_arena scratch = {0};
	size_t n;
	const point *p = points_of(run, &scratch, &n);
	char t[ASSAY_FMT];
	fprintf(out, "rates: %s\n", r->n ? assay_z(run, r->how[0]) : no_work);
	if (!n)
		fprintf(out, "%s\n", none_known(run, &scratch));
	else
		fprintf(out, "%10s %10s %10s %8s  %-8s %s\n", "GPU time", "FLOP/byte", "TFLOP/s",
			"of bound", "bound", "operator with shapes");
	for (size_t i = 0; i < n && i < (top ? top : LISTED); i++) {
		uint32_t row = p[i].shape;
		double mean = (double)s->busy[row] / (double)s->calls[row];
		char share[16] = "";
		if (!isnan(s->bound_ns[row]))
			snprintf(share, sizeof share, "%.0f%%", 100 * s->bound_ns[row] / mean);
		fprintf(out, "%10s %10.2f %10.3f %8s  %-8s %s\n", assay_fmt_time(t, s->busy[row]),
			p[i].intensity, p[i].rate * 1e-12, share,
			s->bound[row] ? assay_bound_name[s->bound[row]] : "",
			assay_cut(&scratch, assay_shape_label(run, row, &scratch), width - NAME));
	}
	assay_arena_free(&scratch);
}

static void add_shape(assay_run *run, const char *name, int64_t busy, double flops, double bytes)
{
	assay_op_shape_table *s = &run->part.t.op_shape;
	uint32_t r = assay_add(&run->part.t, ASSAY_T_op_shape);
	s->name[r] = assay_sid_of(run, name);
	s->busy[r] = busy;
	s->calls[r] = 1;
	s->flops[r] = flops;
	s->bytes[r] = bytes;
	s->class[r] = ASSAY_WORK_GEMM;
	s->math[r] = ASSAY_MATH_BF16;
}

TEST(a_roofline_has_a_legend_names_of_large_points_and_axes_of_what_took_time)
{
	char *text = NULL;
	size_t n = 0;
	assay_run *run = assay_run_new();
	add_shape(run, "aten::mm", 1000000, 1e11, 1e9);
	add_shape(run, "a<b\xff", 500000, 1e9, 1e9);
	add_shape(run, "aten::tiny", 100, 1, 1e7);
	FILE *out = open_memstream(&text, &n);
	assay_roofline_svg(out, run);
	fclose(out);
	CHECK(strstr(text, ">matrix products 100%<") && strstr(text, ">mm 67%<"));
	CHECK(strstr(text, ">a&lt;b? 33%<"));
	CHECK(strstr(text, ">1 with 0.0067% of the time outside<"));
	CHECK(!strstr(text, "tiny") && !strstr(text, ">1e-0"));
	free(text);
	assay_run_free(run);
	return 0;
}

TEST(a_roofline_without_points_says_why)
{
	char *text = NULL;
	size_t n = 0;
	assay_run *run = assay_run_new();
	FILE *out = open_memstream(&text, &n);
	assay_roofline_svg(out, run);
	fclose(out);
	CHECK(strstr(text, "Roofline: no GPU work in this input;"));
	CHECK(strstr(text, ">no operators whose work is known"));
	free(text);
	assay_run_free(run);
	return 0;
}

/* Where the texts of the legend begin: all of them lie within the picture. */
TEST(a_legend_of_every_kind_stays_within_the_picture)
{
	static const uint8_t classes[] = {ASSAY_WORK_GEMM, ASSAY_WORK_ATTENTION,   ASSAY_WORK_CONV,
					  ASSAY_WORK_NORM, ASSAY_WORK_ELEMENTWISE, ASSAY_WORK_POOL};
	char *text = NULL;
	size_t n = 0;
	assay_run *run = assay_run_new();
	for (size_t i = 0; i < ASSAY_COUNT_OF(classes); i++) {
		add_shape(run, "aten::op", 1000000, 1e11, 1e9);
		run->part.t.op_shape.class[i] = classes[i];
	}
	FILE *out = open_memstream(&text, &n);
	assay_roofline_svg(out, run);
	fclose(out);
	const char *last = strstr(text, ">other 16.7%<"), *x = last;
	while (x && x > text && strncmp(x, "<text x=\"", 9) != 0)
		x--;
	double room = strlen("other 16.7%") * char_width;
	CHECK(x && strtod(x + 9, NULL) >= LEFT && strtod(x + 9, NULL) + room <= WIDTH);
	free(text);
	assay_run_free(run);
	return 0;
}
