#include "model/findings.h"

#include "base/test.h"
#include "model/append.h"

const assay_table_id assay_findings_kept[] = {
	ASSAY_T_source, ASSAY_T_meta,       ASSAY_T_device,    ASSAY_T_device_time,
	ASSAY_T_step,   ASSAY_T_idle_cause, ASSAY_T_step_time, ASSAY_T_call,
	ASSAY_T_kernel, ASSAY_T_warning,    ASSAY_T_ledger,    ASSAY_T_off,
};
const size_t assay_findings_kept_count = ASSAY_COUNT_OF(assay_findings_kept);

static void add_issues(assay_part *to, const assay_part *from)
{
	for (int i = 0; i < ASSAY_ISSUE_COUNT; i++)
		to->issues[i] += from->issues[i];
}

void assay_findings_append(assay_part *to, const assay_part *from, const bool *skip)
{
	assay_rows_append(to, from, assay_findings_kept, assay_findings_kept_count, skip);
	add_issues(to, from);
}

void assay_findings_move(assay_part *to, assay_part *from, const bool *skip)
{
	assay_rows_move(to, from, assay_findings_kept, assay_findings_kept_count, skip);
	add_issues(to, from);
}

/* Two ranks with a device, two causes of idle and a step each. */
static void add_ranks(assay_run *run)
{
	assay_tables *t = &run->part.t;
	for (uint32_t i = 0; i < 2; i++) {
		uint32_t s = assay_add(t, ASSAY_T_source), d = assay_add(t, ASSAY_T_device_time);
		t->source.rank[s] = (int32_t)i;
		t->source.group[s] = t->device_time.source[d] = s;
		for (int k = 0; k < 2; k++) {
			uint32_t c = assay_add(t, ASSAY_T_idle_cause);
			t->idle_cause.device[c] = d;
		}
		uint32_t step = assay_add(t, ASSAY_T_step), on = assay_add(t, ASSAY_T_step_time);
		t->step.source[step] = s;
		t->step.name[step] = assay_sid_of(run, i ? "second" : "first");
		t->step_time.step[on] = step;
		t->step_time.device[on] = d;
		uint32_t c = assay_add(t, ASSAY_T_call);
		t->call.source[c] = s;
		t->call.row[c] = 7;
	}
	assay_sid_of(run, "nobody's");
	assay_count(&run->part, ASSAY_ISSUE_bad_record, 3);
}

static int check_one_left_out(bool moved)
{
	assay_run *from = assay_run_new(), *to = assay_run_new();
	add_ranks(to);
	add_ranks(from);
	if (moved)
		assay_findings_move(&to->part, &from->part, (const bool[]){true, false});
	else
		assay_findings_append(&to->part, &from->part, (const bool[]){true, false});
	CHECK_EQ(from->part.t.step.n, moved ? 0 : 2);
	const assay_tables *t = &to->part.t;
	CHECK(t->source.n == 3 && t->source.rank[2] == 1 && t->source.group[2] == 2);
	CHECK(t->device_time.n == 3 && t->device_time.source[2] == 2);
	CHECK(t->idle_cause.n == 6 && t->idle_cause.device[5] == 2);
	CHECK(t->step_time.n == 3 && t->step_time.step[2] == 2 && t->step_time.device[2] == 2);
	CHECK(t->step.source[2] == 2 && assay_str_is(assay_text(to, t->step.name[2]), "second"));
	CHECK(t->call.n == 3 && t->call.row[2] == ASSAY_NO_ROW && t->call.row[1] == 7);
	CHECK_EQ(to->part.issues[ASSAY_ISSUE_bad_record], 6);
	assay_run_free(from);
	assay_run_free(to);
	return 0;
}

TEST(findings_keep_their_rows_together_when_a_rank_is_left_out)
{
	return check_one_left_out(false) || check_one_left_out(true);
}

TEST(only_strings_that_findings_use_come_along)
{
	assay_run *from = assay_run_new(), *to = assay_run_new();
	add_ranks(from);
	assay_findings_append(&to->part, &from->part, NULL);
	CHECK(assay_pool_find(&to->part.strings, ASSAY_S("second")));
	CHECK(!assay_pool_find(&to->part.strings, ASSAY_S("nobody's")));
	assay_run_free(from);
	assay_run_free(to);
	return 0;
}
