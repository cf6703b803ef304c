#include "diff/names.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compare.h"
#include "base/test.h"

assay_name_sum *assay_names_find(const assay_names *s, uint64_t key)
{
	uint32_t at = assay_map_get(&s->by_key, key);
	return at == ASSAY_MAP_ABSENT ? NULL : &s->sum.p[at];
}

assay_name_sum *assay_names_put(assay_names *s, uint64_t key, const char *same, const char *name)
{
	uint32_t *slot = assay_map_at(&s->by_same, assay_hash(same, strlen(same), 0));
	if (*slot == ASSAY_MAP_ABSENT) {
		*slot = (uint32_t)s->sum.n;
		*assay_push(&s->sum) =
			(assay_name_sum){.same = same, .name = name, .step = ASSAY_NO_ROW};
	}
	uint32_t at = *assay_map_at(&s->by_key, key) = *slot;
	return &s->sum.p[at];
}

static void next_step(assay_name_sum *k, uint32_t step)
{
	if (k->step != ASSAY_NO_ROW)
		assay_series_add(&k->time, k->now);
	k->step = step;
	k->now = 0;
}

void assay_name_sum_add_time(assay_name_sum *k, uint32_t step, int64_t ns)
{
	if (k->step != step)
		next_step(k, step);
	k->now += (double)ns;
}

void assay_name_sum_add(assay_name_sum *k, uint32_t step, int64_t ns)
{
	assay_name_sum_add_time(k, step, ns);
	k->count++;
}

void assay_names_end(assay_names *s, uint64_t steps)
{
	for (size_t i = 0; i < s->sum.n; i++) {
		next_step(&s->sum.p[i], ASSAY_NO_ROW);
		while (s->sum.p[i].time.n < steps)
			assay_series_add(&s->sum.p[i].time, 0);
	}
}

/* What the other side has under the same name; NULL: nothing. */
static const assay_name_sum *there(const assay_names *s, const char *same)
{
	uint32_t at = assay_map_get(&s->by_same, assay_hash(same, strlen(same), 0));
	return at == ASSAY_MAP_ABSENT ? NULL : &s->sum.p[at];
}

static assay_delta compare_sums(const assay_name_sum *x, const assay_name_sum *y,
				const uint64_t steps[2])
{
	const assay_series none[2] = {{.n = steps[0]}, {.n = steps[1]}};
	assay_delta d = assay_series_compare(y ? y->name : x->name, x ? &x->time : &none[0],
					     y ? &y->time : &none[1]);
	d.counts[0] = x ? (double)x->count / (steps[0] ? (double)steps[0] : 1) : 0;
	d.counts[1] = y ? (double)y->count / (steps[1] ? (double)steps[1] : 1) : 0;
	d.family = x ? x->family : y->family;
	return d;
}

static int by_change(const void *a, const void *b)
{
	double x = fabs(assay_delta_change(a)), y = fabs(assay_delta_change(b));
	return ASSAY_CMP(y, x);
}

void assay_names_diff(assay_deltas *out, const assay_names *a, const assay_names *b,
		      const uint64_t steps[2])
{
	for (size_t i = 0; i < a->sum.n; i++)
		*assay_push(out) = compare_sums(&a->sum.p[i], there(b, a->sum.p[i].same), steps);
	for (size_t i = 0; i < b->sum.n; i++)
		if (!there(a, b->sum.p[i].same))
			*assay_push(out) = compare_sums(NULL, &b->sum.p[i], steps);
	if (out->n)
		qsort(out->p, out->n, sizeof *out->p, by_change);
}

void assay_names_free(assay_names *s)
{
	assay_map_free(&s->by_key);
	assay_map_free(&s->by_same);
	assay_vec_free(&s->sum);
}

TEST(names_are_matched_by_what_is_the_same_about_them)
{
	assay_names a = {0}, b = {0};
	assay_deltas out = {0};
	assay_name_sum_add(assay_names_put(&a, 7, "f+1", "x.py:11 f"), 0, 30);
	assay_name_sum_add(assay_names_put(&a, 8, "f+1", "x.py:11 f"), 1, 30);
	assay_name_sum_add(assay_names_put(&b, 1, "f+1", "x.py:21 f"), 0, 100);
	assay_name_sum_add(assay_names_put(&b, 2, "g+1", "x.py:5 g"), 1, 8);
	CHECK(assay_names_find(&a, 8) == assay_names_find(&a, 7) && !assay_names_find(&a, 9));
	assay_names_end(&a, 2);
	assay_names_end(&b, 2);
	assay_names_diff(&out, &a, &b, (const uint64_t[2]){2, 2});
	CHECK(out.n == 2 && !strcmp(out.p[0].name, "x.py:21 f") &&
	      !strcmp(out.p[1].name, "x.py:5 g"));
	CHECK(out.p[0].a == 30 && out.p[0].b == 50 && out.p[0].noise > 0 && out.p[1].a == 0);
	CHECK(out.p[0].counts[0] == 1 && out.p[0].counts[1] == 0.5 && out.p[1].counts[0] == 0);
	assay_vec_free(&out);
	assay_names_free(&a);
	assay_names_free(&b);
	return 0;
}
