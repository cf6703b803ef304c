#include "model/offs.h"

#include <stdlib.h>

#include "base/compare.h"
#include "base/test.h"

static int by_group_and_start(const void *a, const void *b)
{
	const assay_off *x = a, *y = b;
	return assay_then(ASSAY_CMP(x->group, y->group), ASSAY_CMP(x->from, y->from));
}

static void join(assay_offs *o)
{
	size_t kept = 0;
	for (size_t i = 0; i < o->v.n; i++) {
		assay_off *last = kept ? &o->v.p[kept - 1] : NULL, x = o->v.p[i];
		if (last && last->group == x.group && x.from <= last->to)
			last->to = x.to > last->to ? x.to : last->to;
		else
			o->v.p[kept++] = x;
	}
	o->v.n = kept;
}

void assay_offs_find(assay_offs *o, const assay_tables *t)
{
	*o = (assay_offs){0};
	for (size_t i = 0; i < t->off.n; i++) {
		if (t->off.dur[i] > 0)
			*assay_push(&o->v) =
				(assay_off){assay_group_of(t, t->off.source[i]), t->off.ts[i],
					    t->off.ts[i] + t->off.dur[i]};
	}
	if (o->v.n)
		qsort(o->v.p, o->v.n, sizeof *o->v.p, by_group_and_start);
	join(o);
}

void assay_offs_free(assay_offs *o)
{
	assay_vec_free(&o->v);
}

bool assay_offs_touch(const assay_offs *o, uint32_t group, int64_t from, int64_t to)
{
	size_t low = 0, high = o->v.n; /* how many begin before `to`, or are of an earlier group */
	while (low < high) {
		size_t mid = (low + high) / 2;
		const assay_off *x = &o->v.p[mid];
		if (x->group < group || (x->group == group && x->from < to))
			low = mid + 1;
		else
			high = mid;
	}
	const assay_off *last = low ? &o->v.p[low - 1] : NULL;
	return last && last->group == group && last->to > from;
}

TEST(a_stretch_touches_what_was_switched_off_in_its_own_process)
{
	assay_tables t = {0};
	const int64_t ts[] = {50, 10, 12, 90}, dur[] = {10, 5, 8, 0}, group[] = {1, 0, 0, 0};
	for (int i = 0; i < 4; i++) {
		uint32_t r = assay_add(&t, ASSAY_T_off);
		t.off.source[r] = (uint32_t)group[i];
		t.off.ts[r] = ts[i];
		t.off.dur[r] = dur[i];
	}
	assay_offs o;
	assay_offs_find(&o, &t);
	CHECK_EQ(o.v.n, 2); /* 10-20 of one, 50-60 of the other */
	CHECK(assay_offs_touch(&o, 0, 0, 11) && assay_offs_touch(&o, 0, 19, 30));
	CHECK(!assay_offs_touch(&o, 0, 0, 10) && !assay_offs_touch(&o, 0, 20, 90));
	CHECK(!assay_offs_touch(&o, 0, 50, 60) && assay_offs_touch(&o, 1, 0, 99));
	CHECK(!assay_offs_touch(&o, 2, 0, 99));
	assay_offs_free(&o);
	assay_tables_free(&t);
	return 0;
}
