/* Does the report contradict itself? Partitions must sum to their wholes, findings must fit the
 * time they are of, and what is idle must be spoken of. What does not hold is a warning. */
#include "analyze/analyze.h"

#include <math.h>
#include <stdlib.h>

#include "base/fmt.h"
#include "base/test.h"
#include "model/by_hand.h"

static void contradict(assay_run *run, const char *what, int64_t is, int64_t should)
{
	char a[ASSAY_FMT], b[ASSAY_FMT];
	assay_warn(run, "contradiction",
		   "this report contradicts itself: %s %s, not %s. Please report it", what,
		   assay_fmt_time(a, is), assay_fmt_time(b, should));
}

static void check_devices(assay_run *run)
{
	const assay_tables *t = &run->part.t;
	const assay_device_time_table *d = &t->device_time;
	assay_arena scratch = {0};
	int64_t *causes = assay_alloc(&scratch, (d->n + 1) * sizeof *causes);
	bool *told = assay_alloc(&scratch, d->n + 1);
	for (size_t i = 0; i < t->idle_cause.n; i++) {
		assay_rest_behind(t, ASSAY_T_idle_cause, i);
		causes[t->idle_cause.device[i]] += t->idle_cause.dur[i];
		told[t->idle_cause.device[i]] = true;
	}
	for (size_t i = 0; i < d->n; i++) {
		int64_t parts =
			d->compute[i] + d->exposed_comm[i] + d->exposed_copy[i] + d->idle[i];
		if (parts != d->span[i])
			contradict(run, "the parts of a device's time sum to", parts, d->span[i]);
		if (told[i] && causes[i] != d->idle[i])
			contradict(run, "the causes of idle time sum to", causes[i], d->idle[i]);
	}
	assay_arena_free(&scratch);
}

static void check_steps(assay_run *run, const assay_window *w)
{
	const assay_step_time_table *s = &run->part.t.step_time;
	for (size_t i = 0; i < s->n; i++) {
		assay_rest_behind(&run->part.t, ASSAY_T_step_time, i);
		int64_t parts =
			s->compute[i] + s->exposed_comm[i] + s->exposed_copy[i] + s->idle[i];
		if (parts != s->span[i])
			contradict(run, "the parts of a step sum to", parts, s->span[i]);
	}
	int64_t parts = w->compute + w->comm + w->copy + w->idle, causes = 0;
	for (int k = 0; k < ASSAY_WHY_COUNT; k++)
		causes += w->cause[k];
	if (parts != w->to - w->from)
		contradict(run, "the parts of the steady steps sum to", parts, w->to - w->from);
	if (causes != w->idle)
		contradict(run, "what the steady steps wait for sums to", causes, w->idle);
}

static void check_budget(assay_run *run, const assay_window *w)
{
	const assay_budget_table *b = &run->part.t.budget;
	int64_t sum = 0;
	bool told = false;
	for (size_t i = 0; i < b->n; i++)
		if (b->total[i] >= 0 && !b->part_of[i] &&
		    !assay_str_is(assay_text(run, b->name[i]), "total")) {
			sum += b->total[i];
			told = true;
		}
	if (told && sum != w->to - w->from)
		contradict(run, "the budget sums to", sum, w->to - w->from);
}

/* Is the finding about time in which the device waits? */
static bool is_of_idle(const assay_run *run, uint32_t finding)
{
	static const char *const more[] = {"not_started",   "allocation",      "late_rank",
					   "contention",    "record_launches", "optimizer_unfused",
					   "graph_capture", "small_copies"};
	const char *id = assay_z(run, run->part.t.finding.id[finding]);
	for (int k = 0; k < ASSAY_WHY_COUNT; k++)
		if (!strcmp(id, assay_why_name[k]))
			return true;
	for (size_t i = 0; i < ASSAY_COUNT_OF(more); i++)
		if (!strcmp(id, more[i]))
			return true;
	return false;
}

static void check_findings(assay_run *run, const assay_window *w)
{
	const assay_finding_table *f = &run->part.t.finding;
	int64_t whole = w->to - w->from;
	bool idle = false;
	for (uint32_t i = 0; i < f->n; i++) {
		idle |= is_of_idle(run, i);
		if (f->now[i] < 0)
			continue;
		if (f->cost[i] > f->now[i])
			contradict(run, "a finding costs", f->cost[i], f->now[i]);
		if (f->after[i] > f->now[i] || f->after[i] < 0)
			contradict(run, "without its cause a step takes", f->after[i], f->now[i]);
	}
	if (w->idle > whole / 10 && !idle)
		contradict(run, "findings speak of no idle time, but the device waits", 0, w->idle);
}

void assay_self_check(assay_run *run, const assay_window *w)
{
	check_devices(run);
	if (w->device == ASSAY_NO_ROW)
		return;
	check_steps(run, w);
	check_budget(run, w);
	check_findings(run, w);
}

TEST(a_report_that_contradicts_itself_says_so)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	uint32_t d = assay_add(t, ASSAY_T_device_time), c = assay_add(t, ASSAY_T_idle_cause);
	uint32_t f = assay_add(t, ASSAY_T_finding);
	t->device_time.span[d] = 100;
	t->device_time.compute[d] = 60;
	t->device_time.idle[d] = 40;
	t->idle_cause.device[c] = d;
	t->idle_cause.dur[c] = 40;
	t->finding.id[f] = assay_sid_of(run, "queued");
	t->finding.cost[f] = 40;
	t->finding.now[f] = 100;
	t->finding.after[f] = 60;
	assay_window w = {.device = d, .to = 100, .compute = 60, .idle = 40};
	w.cause[ASSAY_WHY_QUEUED] = 40;
	assay_self_check(run, &w);
	CHECK_EQ(t->warning.n, 0);
	t->idle_cause.dur[c] = 39;
	t->finding.after[f] = 101;
	t->finding.id[f] = assay_sid_of(run, "gemm_shape");
	w.cause[ASSAY_WHY_QUEUED] = 41;
	assay_self_check(run, &w);
	CHECK_EQ(t->warning.n, 4);
	CHECK(strstr(assay_z(run, t->warning.text[0]),
		     "causes of idle time sum to 39 ns, not 40 ns"));
	assay_run_free(run);
	return 0;
}
