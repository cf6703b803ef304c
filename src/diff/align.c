/* Steps of two runs one by one. Where both do the same work in the same order (sequences of other
 * lengths in every step), a step is best compared with the same step of the other run. */
#include <math.h>

#include "base/median.h"
#include "base/test.h"
#include "diff/stages.h"

/* Fewer pairs, or pairs that vary less alike, may agree by chance. */
enum { LEAST_PAIRS = 8 };
static const double alike = 0.8;

typedef assay_vec(double) values;

static bool is_numbered(const assay_diff_steps *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->number[i] < 0 || (i && s->number[i] <= s->number[i - 1]))
			return false;
	return s->n > 0;
}

/* By the numbers of their markers, else by their order where there are as many. */
static void make_pairs(const assay_diff_steps *a, const assay_diff_steps *b, values *x, values *y)
{
	bool numbered = is_numbered(a) && is_numbered(b);
	if (!numbered && a->n != b->n)
		return;
	for (size_t i = 0, k = 0; i < a->n && k < b->n;) {
		int64_t apart = numbered ? a->number[i] - b->number[k] : 0;
		if (!apart) {
			*assay_push(x) = a->ns[i];
			*assay_push(y) = b->ns[k];
		}
		i += apart <= 0;
		k += apart >= 0;
	}
}

/* Of Pearson; 0 where one of them does not vary. */
static double correlate(const values *x, const values *y)
{
	double mx = 0, my = 0, xx = 0, yy = 0, xy = 0;
	for (size_t i = 0; i < x->n; i++) {
		mx += x->p[i] / (double)x->n;
		my += y->p[i] / (double)x->n;
	}
	for (size_t i = 0; i < x->n; i++) {
		xx += (x->p[i] - mx) * (x->p[i] - mx);
		yy += (y->p[i] - my) * (y->p[i] - my);
		xy += (x->p[i] - mx) * (y->p[i] - my);
	}
	return xx > 0 && yy > 0 ? xy / sqrt(xx * yy) : 0;
}

void assay_diff_align(assay_diff *d, const assay_diff_steps *a, const assay_diff_steps *b)
{
	values x = {0}, y = {0};
	make_pairs(a, b, &x, &y);
	d->pairs = x.n;
	d->correlation = correlate(&x, &y);
	if (x.n >= LEAST_PAIRS && d->correlation >= alike) {
		for (size_t i = 0; i < x.n; i++)
			x.p[i] = y.p[i] - x.p[i];
		double error = assay_spread_error(x.p, x.n);
		d->by_pairs = d->step.noise < 0 || 2 * error < d->step.noise;
		d->step.noise = d->by_pairs ? 2 * error : d->step.noise;
	}
	assay_vec_free(&x);
	assay_vec_free(&y);
}

/* Steps of very different lengths in one order; those of b are 1 % longer. */
static assay_diff align_test_steps(size_t n, int64_t first_a, int64_t first_b, bool same_order)
{
	static const double length[] = {100, 900, 300, 500, 200, 800, 400, 700, 600, 150, 250, 350};
	double a[12], b[12];
	int64_t at[12], bt[12];
	for (size_t i = 0; i < n; i++) {
		a[i] = length[i] + (double)(i % 3);
		b[i] = 1.01 * length[same_order ? i : (i * 5 + 3) % n];
		at[i] = first_a < 0 ? -1 : first_a + (int64_t)i;
		bt[i] = first_b < 0 ? -1 : first_b + (int64_t)i;
	}
	assay_diff d = {.step = {.noise = 300}};
	assay_diff_align(&d, &(assay_diff_steps){a, at, n}, &(assay_diff_steps){b, bt, n});
	return d;
}

TEST(steps_that_vary_alike_are_compared_one_by_one)
{
	assay_diff d = align_test_steps(12, 3, 3, true);
	CHECK(d.by_pairs && d.pairs == 12 && d.correlation > 0.99 && d.step.noise < 5);
	d = align_test_steps(12, -1, 3, true); /* by order */
	CHECK(d.by_pairs && d.pairs == 12);
	d = align_test_steps(12, 3, 5, true); /* the other way round: numbers 5 to 14 */
	CHECK(!d.by_pairs && d.pairs == 10 && d.step.noise == 300);
	return 0;
}

TEST(steps_that_do_not_vary_alike_keep_their_noise)
{
	assay_diff d = align_test_steps(12, 0, 0, false);
	CHECK(!d.by_pairs && d.correlation < 0.8 && d.step.noise == 300);
	d = align_test_steps(5, 0, 0, true); /* too few to be sure */
	CHECK(!d.by_pairs && d.pairs == 5 && d.step.noise == 300);
	return 0;
}
