/* Steps from the markers a framework leaves on its host thread. The copies that newer Kineto puts
 * on the GPU are not steps: they span what the device did, often microseconds. */
#include "resolve/resolve.h"

#include "base/test.h"

static const char marker[] = "ProfilerStep";

static int64_t number_in(assay_str name)
{
	int64_t n;
	ptrdiff_t at = assay_str_find(name, "#");
	if (at < 0 || !assay_str_i64((assay_str){name.p + at + 1, name.n - (size_t)at - 1}, &n))
		return -1;
	return n;
}

/* Which interned names are step markers: one look per name, not per row. */
static bool *marker_names(assay_run *run, assay_arena *scratch)
{
	size_t n = run->part.strings.str.n;
	bool *is = assay_alloc(scratch, n + 1);
	for (uint32_t i = 1; i < n; i++)
		is[i] = assay_str_starts(assay_text(run, i), marker);
	return is;
}

void assay_find_steps(assay_run *run)
{
	assay_tables *t = &run->part.t;
	assay_arena scratch = {0};
	const bool *is = marker_names(run, &scratch);
	for (uint32_t h = 0; h < t->host.n; h++) {
		if (!is[t->host.name[h]] || t->host.kind[h] == ASSAY_HOST_INSTANT)
			continue;
		uint32_t s = assay_add(t, ASSAY_T_step);
		t->step.source[s] = t->track.source[t->host.track[h]];
		t->step.ts[s] = t->host.ts[h];
		t->step.dur[s] = t->host.dur[h];
		t->step.name[s] = t->host.name[h];
		t->step.number[s] = number_in(assay_text(run, t->host.name[h]));
	}
	assay_arena_free(&scratch);
}

TEST(steps_carry_their_number)
{
	CHECK_EQ(number_in(ASSAY_S("ProfilerStep#17")), 17);
	CHECK_EQ(number_in(ASSAY_S("ProfilerStep*")), -1);
	CHECK_EQ(number_in(ASSAY_S("ProfilerStep#")), -1);
	return 0;
}
