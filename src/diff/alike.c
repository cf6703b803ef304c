/* Are two runs of one program? Kernels alone do not tell: programs of one framework share many, and
 * one that computes in another type has others. Lines and shapes of operators do; and one with
 * another batch size still calls the same operators as often. */
#include "base/test.h"
#include "diff/stages.h"

static const double unlike = 0.1; /* share of GPU time */
static const double few_shapes = 0.3, few_calls = 0.8, most_kernels = 0.9;
/* where no lines and shapes are known */
static const double few_alike = 0.3, half = 0.5;

/* Shares of both runs in rows that both have. */
static void common_share(const assay_deltas *rows, double share[2])
{
	double all[2] = {0}, common[2] = {0};
	for (size_t i = 0; i < rows->n; i++) {
		const assay_delta *k = &rows->p[i];
		bool both = k->counts[0] && k->counts[1];
		all[0] += k->a;
		all[1] += k->b;
		common[0] += both ? k->a : 0;
		common[1] += both ? k->b : 0;
	}
	for (int i = 0; i < 2; i++)
		share[i] = all[i] > 0 ? common[i] / all[i] : 1;
}

static uint64_t shape_key(const assay_run *run, uint32_t shape)
{
	const assay_op_shape_table *s = &run->part.t.op_shape;
	assay_str name = assay_text(run, s->name[shape]), dims = assay_text(run, s->dims[shape]);
	return assay_hash(dims.p, dims.n, assay_hash(name.p, name.n, 1));
}

/* Of the first run's time in operators whose shapes are known, what is in shapes that the second
 * has too; negative: no shapes. */
static double shapes_share(const assay_run *a, const assay_run *b)
{
	const assay_op_shape_table *x = &a->part.t.op_shape, *y = &b->part.t.op_shape;
	assay_map there = {0};
	double all = 0, common = 0;
	for (uint32_t i = 0; i < y->n; i++)
		if (y->dims[i])
			*assay_map_at(&there, shape_key(b, i)) = 1;
	for (uint32_t i = 0; i < x->n; i++) {
		double busy = x->dims[i] ? (double)x->busy[i] : 0;
		all += busy;
		common += busy > 0 && assay_map_get(&there, shape_key(a, i)) == 1 ? busy : 0;
	}
	bool known = all > 0 && there.n;
	assay_map_free(&there);
	return known ? common / all : -1;
}

/* How alike are calls of operators, or launches of kernels, a step, 0 to 1; negative: none are
 * known. */
static double calls_alike(const assay_deltas *rows)
{
	double least = 0, most = 0;
	for (size_t i = 0; i < rows->n; i++) {
		const double *n = rows->p[i].counts;
		least += n[0] < n[1] ? n[0] : n[1];
		most += n[0] > n[1] ? n[0] : n[1];
	}
	return most > 0 ? least / most : -1;
}

static double larger(double a, double b)
{
	return a > b ? a : b;
}

static double smaller(double a, double b)
{
	return a < b ? a : b;
}

/* Without lines and shapes: neither does most of the time of both go into the same kernels, nor are
 * operators called, or else kernels launched, about as often. */
static bool is_unlike(const assay_diff *d, double calls)
{
	double common = smaller(d->common[0], d->common[1]);
	return larger(d->common[0], d->common[1]) < unlike ||
	       (common < half && (calls >= 0 ? calls : calls_alike(&d->kernels)) < few_alike);
}

void assay_diff_alike(assay_diff *d, const assay_run *run[2])
{
	double lines[2];
	common_share(&d->kernels, d->common);
	common_share(&d->lines, lines);
	double shapes = larger(shapes_share(run[0], run[1]), shapes_share(run[1], run[0]));
	double calls = calls_alike(&d->ops);
	bool told = d->lines.n || shapes >= 0;
	bool same = (d->lines.n && larger(lines[0], lines[1]) >= unlike) || shapes >= few_shapes ||
		    calls >= few_calls ||
		    (d->common[0] >= most_kernels && d->common[1] >= most_kernels);
	d->unrelated = told ? !same : is_unlike(d, calls);
	if (d->unrelated)
		d->unrelated_by = assay_printf(
			&d->arena,
			"%s%.0f%% and %.0f%% of the GPU time is in kernels that both have.",
			told ? "Lines and shapes of operators differ; " : "Only ",
			100 * d->common[0], 100 * d->common[1]);
}

static void add_row(assay_deltas *rows, double a, double b, double before, double after)
{
	*assay_push(rows) = (assay_delta){.a = a, .b = b, .counts = {before, after}};
}

static void add_shape(assay_run *run, const char *name, const char *dims, int64_t busy)
{
	assay_op_shape_table *s = &run->part.t.op_shape;
	uint32_t r = assay_add(&run->part.t, ASSAY_T_op_shape);
	s->name[r] = assay_sid_of(run, name);
	s->dims[r] = assay_sid_of(run, dims);
	s->busy[r] = busy;
}

TEST(without_shapes_programs_are_told_apart_by_calls)
{
	assay_run *a = assay_run_new(), *b = assay_run_new();
	const assay_run *run[2] = {a, b};
	assay_diff d = {0};
	add_row(&d.kernels, 50, 20, 9, 9);
	add_row(&d.kernels, 50, 0, 20, 0);
	add_row(&d.kernels, 0, 80, 0, 20);
	assay_diff_alike(&d, run); /* launched 9 of 49 times as often */
	CHECK(d.unrelated && strstr(d.unrelated_by, "Only 50% and 20%"));
	add_row(&d.ops, 50, 50, 4, 5); /* other kernels for what the program calls as before */
	assay_diff_alike(&d, run);
	CHECK(!d.unrelated);
	d.ops.p[0].counts[1] = 40;
	assay_diff_alike(&d, run);
	CHECK(d.unrelated);
	d.kernels.p[0].b = 100; /* most of the time is in the same ones */
	assay_diff_alike(&d, run);
	CHECK(!d.unrelated);
	assay_diff_free(&d);
	assay_run_free(a);
	assay_run_free(b);
	return 0;
}

TEST(programs_are_told_apart_by_lines_shapes_and_calls)
{
	assay_run *a = assay_run_new(), *b = assay_run_new();
	const assay_run *run[2] = {a, b};
	assay_diff d = {0};
	add_row(&d.kernels, 50, 50, 9, 9); /* half of it in kernels that both have */
	add_row(&d.kernels, 50, 0, 9, 0);
	add_row(&d.kernels, 0, 50, 0, 9);
	assay_diff_alike(&d, run);
	CHECK(!d.unrelated && d.common[0] == 0.5);
	add_shape(a, "aten::mm", "[[8,8],[8,8]]", 100);
	add_shape(b, "aten::mm", "[[9,9],[9,9]]", 100);
	add_row(&d.ops, 50, 50, 4, 40);
	assay_diff_alike(&d, run);
	CHECK(d.unrelated);
	d.ops.p[0].counts[1] = 4; /* another batch, the same calls */
	assay_diff_alike(&d, run);
	CHECK(!d.unrelated);
	d.ops.p[0].counts[1] = 40;
	add_shape(b, "aten::mm", "[[8,8],[8,8]]", 10);
	assay_diff_alike(&d, run);
	CHECK(!d.unrelated);
	d.kernels.p[0].counts[1] = 0; /* other kernels for the same shapes: another type */
	assay_diff_alike(&d, run);
	CHECK(!d.unrelated);
	assay_diff_free(&d);
	assay_run_free(a);
	assay_run_free(b);
	return 0;
}
