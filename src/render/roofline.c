/* Points of operators below the roofs of their device. */
#include "render/roofline.h"

#include <math.h>

#include "base/fmt.h"
#include "base/sort.h"

enum { WIDTH = 960, HEIGHT = 560, LEFT = 70, RIGHT = 20, TOP_EDGE = 40, BOTTOM = 50, LISTED = 20 };

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

static axes axes_of(const point *p, size_t n, double peak)
{
	axes a = {-1, 3, 9, 15};
	for (size_t i = 0; i < n; i++) {
		a.x0 = fmin(a.x0, floor(log10(p[i].intensity)));
		a.x1 = fmax(a.x1, ceil(log10(p[i].intensity)));
		a.y0 = fmin(a.y0, floor(log10(p[i].rate)));
	}
	a.y1 = peak > 0 ? ceil(log10(peak)) : a.y1;
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

/* The slope of the memory, and a roof for every type that ran. */
static void put_roofs(FILE *out, const assay_run *run, const axes *a, const bool *used)
{
	const assay_roof_table *r = &run->part.t.roof;
	const double *peak[ASSAY_MATH_COUNT];
	peaks_of(r, peak);
	double bandwidth = r->bandwidth[0];
	for (int m = 1; m < ASSAY_MATH_COUNT; m++) {
		if (!used[m] || !(peak[m][0] > 0) || !(bandwidth > 0))
			continue;
		double ridge = peak[m][0] / bandwidth, from = pow(10, a->x0);
		if (from * bandwidth < pow(10, a->y0))
			from = pow(10, a->y0) / bandwidth;
		fprintf(out, "<path class=\"roof\" d=\"M%.1f %.1fL%.1f %.1fH%d\"/>\n",
			at_x(a, from), at_y(a, from * bandwidth), at_x(a, ridge),
			at_y(a, peak[m][0]), WIDTH - RIGHT);
		fprintf(out,
			"<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s %.0f TFLOP/s</text>\n",
			WIDTH - RIGHT - 4, at_y(a, peak[m][0]) - 5, assay_math_name[m],
			peak[m][0] * 1e-12);
	}
}

/* Text from the input between tags. */
static void put_text(FILE *out, assay_str s)
{
	for (size_t i = 0; i < s.n; i++) {
		switch (s.p[i]) {
		case '<':
			fputs("&lt;", out);
			break;
		case '>':
			fputs("&gt;", out);
			break;
		case '&':
			fputs("&amp;", out);
			break;
		case '"':
			fputs("&quot;", out);
			break;
		default:
			if ((unsigned char)s.p[i] >= 32)
				fputc(s.p[i], out);
		}
	}
}

static void put_points(FILE *out, const assay_run *run, const axes *a, const point *p, size_t n)
{
	const assay_op_shape_table *s = &run->part.t.op_shape;
	double total = 0;
	char t[ASSAY_FMT];
	for (size_t i = 0; i < n; i++)
		total += (double)s->busy[p[i].shape];
	for (size_t i = 0; i < n; i++) {
		uint32_t r = p[i].shape;
		double radius = 2 + 60 * sqrt((double)s->busy[r] / total);
		fprintf(out, "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"><title>",
			assay_work_class_name[s->class[r]], at_x(a, p[i].intensity),
			at_y(a, p[i].rate), radius);
		put_text(out, assay_text(run, s->name[r]));
		fputc(' ', out);
		put_text(out, assay_text(run, s->dims[r]));
		fprintf(out, "; %s in %.0f calls, %.1f TFLOP/s, %.2f TB/s</title></circle>\n",
			assay_fmt_time(t, s->busy[r]), (double)s->calls[r], p[i].rate * 1e-12,
			p[i].rate / p[i].intensity * 1e-12);
	}
}

void assay_roofline_svg(FILE *out, const assay_run *run)
{
	static const char style[] =
		"text{font:12px sans-serif;fill:#444}.grid{stroke:#ddd;fill:none}"
		".roof{stroke:#222;stroke-width:2;fill:none}"
		"circle{fill:#8884;stroke:#555}.gemm,.moe{fill:#2a78d688}.attention{fill:#c2410c88}"
		".convolution{fill:#16806888}.elementwise,.move{fill:#a1620788}.norm,.softmax{fill:"
		"#7c3aed88}";
	const assay_roof_table *r = &run->part.t.roof;
	assay_arena scratch = {0};
	size_t n;
	const point *p = points_of(run, &scratch, &n);
	bool used[ASSAY_MATH_COUNT] = {false};
	double highest = 0;
	const double *peak[ASSAY_MATH_COUNT];
	for (size_t i = 0; i < n; i++)
		used[run->part.t.op_shape.math[p[i].shape]] = true;
	peaks_of(r, peak);
	for (int m = 1; r->n && m < ASSAY_MATH_COUNT; m++)
		highest = used[m] && peak[m][0] > highest ? peak[m][0] : highest;
	axes a = axes_of(p, n, highest);
	fprintf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\">\n"
		"<style>%s</style>\n",
		WIDTH, HEIGHT, WIDTH, HEIGHT, style);
	fprintf(out, "<text x=\"%d\" y=\"22\">Roofline: ", LEFT);
	put_text(out, r->n ? assay_text(run, r->how[0]) : ASSAY_S("the device is not known"));
	fputs("; a point is an operator with one set of shapes, its area its share of time</text>\n",
	      out);
	put_grid(out, &a);
	if (r->n)
		put_roofs(out, run, &a, used);
	put_points(out, run, &a, p, n);
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

void assay_roofline_text(FILE *out, const assay_run *run, uint32_t top)
{
	const assay_op_shape_table *s = &run->part.t.op_shape;
	const assay_roof_table *r = &run->part.t.roof;
	assay_arena scratch = {0};
	size_t n;
	const point *p = points_of(run, &scratch, &n);
	char t[ASSAY_FMT];
	fprintf(out, "rates: %s\n", r->n ? assay_z(run, r->how[0]) : "no GPU work in this input");
	if (!n)
		fprintf(out, "no operators whose work is known\n");
	else
		fprintf(out, "%10s %10s %10s %8s  %-8s %s\n", "GPU time", "FLOP/byte", "TFLOP/s",
			"of bound", "bound", "operator with shapes");
	for (size_t i = 0; i < n && i < (top ? top : LISTED); i++) {
		uint32_t row = p[i].shape;
		double mean = (double)s->busy[row] / (double)s->calls[row];
		char share[16] = "";
		if (!isnan(s->bound_ns[row]))
			snprintf(share, sizeof share, "%.0f%%", 100 * s->bound_ns[row] / mean);
		fprintf(out, "%10s %10.2f %10.3f %8s  %-8s %s %s\n",
			assay_fmt_time(t, s->busy[row]), p[i].intensity, p[i].rate * 1e-12, share,
			s->bound[row] ? assay_bound_name[s->bound[row]] : "",
			assay_fmt_safe(&scratch, assay_text(run, s->name[row])),
			assay_fmt_safe(&scratch, assay_text(run, s->dims[row])));
	}
	assay_arena_free(&scratch);
}
