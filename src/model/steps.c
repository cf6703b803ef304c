#include "model/steps.h"

#include "base/assert.h"
#include "base/test.h"

static int64_t next_number(const assay_step_table *s, uint32_t source)
{
	return s->n && s->source[s->n - 1] == source ? s->number[s->n - 1] + 1 : 0;
}

uint32_t assay_step_add(assay_run *run, uint32_t source, int64_t from, int64_t to, int64_t number,
			assay_sid name, assay_step_origin origin)
{
	assay_step_table *s = &run->part.t.step;
	assert(origin < ASSAY_STEP_ORIGIN_COUNT);
	number = number == ASSAY_STEP_NEXT ? next_number(s, source) : number;
	uint32_t r = assay_add(&run->part.t, ASSAY_T_step);
	s->source[r] = source;
	s->ts[r] = from;
	s->dur[r] = to - from;
	s->number[r] = number;
	s->name[r] = name;
	s->origin[r] = (uint8_t)origin;
	return r;
}

TEST(steps_of_each_process_are_numbered_from_0)
{
	assay_run *run = assay_run_new();
	for (uint32_t i = 0; i < 5; i++)
		assay_step_add(run, i / 3, i, i + 1, ASSAY_STEP_NEXT, 0, ASSAY_STEP_BATCH);
	const assay_step_table *s = &run->part.t.step;
	CHECK(s->number[0] == 0 && s->number[2] == 2 && s->number[3] == 0 && s->number[4] == 1);
	assay_run_free(run);
	return 0;
}
