/* Waits of two runs by kind: how often, how long, and how many have a known producer. */
#include "diff/stages.h"

#include <stdlib.h>

#include "base/sort.h"
#include "base/test.h"

struct bounds {
	int64_t from, to;
};

struct wait_side {
	assay_vec(struct bounds) step; /* of the main device's process, by start */
	assay_series time[ASSAY_WAIT_KIND_COUNT], count[ASSAY_WAIT_KIND_COUNT];
	double resolved[ASSAY_WAIT_KIND_COUNT]; /* per step */
};

/* One step of one kind. */
struct tally {
	double time, count;
};

static void list_steps(struct wait_side *s, const assay_run *run, const assay_window *window)
{
	const assay_step_table *t = &run->part.t.step;
	assay_step_rows rows = {0};
	assay_window_steps(run, window, &rows);
	for (size_t i = 0; i < rows.n; i++)
		*assay_push(&s->step) =
			(struct bounds){t->ts[rows.p[i]], t->ts[rows.p[i]] + t->dur[rows.p[i]]};
	if (!s->step.n) /* the whole recording is one step */
		*assay_push(&s->step) = (struct bounds){INT64_MIN, INT64_MAX};
	assay_vec_free(&rows);
}

/* The step that holds a time, or the number of steps. */
static size_t step_at(const struct wait_side *s, int64_t time)
{
	size_t begun = assay_count_until(&s->step.p->from, sizeof *s->step.p, s->step.n, time);
	return begun && time < s->step.p[begun - 1].to ? begun - 1 : s->step.n;
}

/* A thread is blocked in its call; a stream is held up only as far as it would have gone on. */
static double wait_time(const assay_wait_table *w, size_t i)
{
	int64_t t = w->consumer[i] == ASSAY_NO_ROW ? w->blocked[i] : w->delayed[i];
	return t > 0 ? (double)t : 0;
}

static void side_waits(struct wait_side *s, const assay_run *run, const assay_window *window)
{
	const assay_tables *t = &run->part.t;
	uint32_t source = t->device_time.source[window->device];
	assay_arena scratch = {0};
	list_steps(s, run, window);
	struct tally *sum = assay_alloc(&scratch, s->step.n * ASSAY_WAIT_KIND_COUNT * sizeof *sum);
	for (size_t i = 0; i < t->wait.n; i++) {
		uint32_t thread = t->wait.thread[i];
		size_t step = step_at(s, t->wait.ts[i]);
		if (thread == ASSAY_NO_ROW || step == s->step.n ||
		    assay_track_group(t, thread) != source)
			continue;
		uint8_t kind = t->wait.kind[i];
		sum[step * ASSAY_WAIT_KIND_COUNT + kind].count++;
		sum[step * ASSAY_WAIT_KIND_COUNT + kind].time += wait_time(&t->wait, i);
		s->resolved[kind] += t->wait.class[i] <= ASSAY_WAIT_IS_LIKELY;
	}
	for (size_t i = 0; i < s->step.n * ASSAY_WAIT_KIND_COUNT; i++) {
		assay_series_add(&s->time[i % ASSAY_WAIT_KIND_COUNT], sum[i].time);
		assay_series_add(&s->count[i % ASSAY_WAIT_KIND_COUNT], sum[i].count);
	}
	for (int k = 0; k < ASSAY_WAIT_KIND_COUNT; k++)
		s->resolved[k] /= (double)s->step.n;
	assay_arena_free(&scratch);
}

void assay_diff_waits(assay_diff *d, const assay_run *run[2], const assay_window window[2])
{
	struct wait_side side[2] = {0};
	for (int i = 0; i < 2; i++)
		if (window[i].device != ASSAY_NO_ROW)
			side_waits(&side[i], run[i], &window[i]);
	for (int k = 0; k < ASSAY_WAIT_KIND_COUNT; k++) {
		assay_delta x = assay_series_compare(assay_wait_kind_name[k], &side[0].time[k],
						     &side[1].time[k]);
		x.count_noise = assay_series_noise(&side[0].count[k], &side[1].count[k]);
		for (int i = 0; i < 2; i++) {
			x.counts[i] = assay_series_mean(&side[i].count[k]);
			x.resolved[i] = side[i].resolved[k];
		}
		if (x.counts[0] > 0 || x.counts[1] > 0)
			*assay_push(&d->waits) = x;
	}
	for (int i = 0; i < 2; i++)
		assay_vec_free(&side[i].step);
}

TEST(a_time_is_found_in_its_step_and_not_between)
{
	struct wait_side s = {0};
	for (int i = 0; i < 3; i++)
		*assay_push(&s.step) = (struct bounds){i * 100, i * 100 + 50};
	CHECK_EQ(step_at(&s, 0), 0);
	CHECK_EQ(step_at(&s, 149), 1);
	CHECK_EQ(step_at(&s, 150), 3);
	CHECK_EQ(step_at(&s, -1), 3);
	CHECK_EQ(step_at(&s, 249), 2);
	assay_vec_free(&s.step);
	return 0;
}
