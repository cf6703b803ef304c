/* What changed between two runs, and whether it is more than noise. */
#include "model/diff.h"

#include <math.h>
#include <stdlib.h>

#include "analyze/analyze.h"
#include "base/median.h"
#include "base/sort.h"
#include "base/test.h"
#include "diff/lines.h"
#include "diff/names.h"
#include "diff/stages.h"
#include "model/by_hand.h"

static const double worth_naming = 0.002; /* share of the step */
static const double worth_counting = 0.5; /* calls per step */
enum { MEDIAN_STEPS = 5 };

void assay_series_add(assay_series *s, double v)
{
	s->sum += v;
	s->squares += v * v;
	s->n++;
}

double assay_series_mean(const assay_series *s)
{
	return s->n ? s->sum / (double)s->n : 0;
}

/* Square of the standard error of the mean; negative when one step tells no spread. */
static double series_error2(const assay_series *s)
{
	if (s->n < 2)
		return -1;
	double mean = assay_series_mean(s), n = (double)s->n;
	double variance = (s->squares - n * mean * mean) / (n - 1);
	return variance > 0 ? variance / n : 0;
}

double assay_series_noise(const assay_series *a, const assay_series *b)
{
	double ea = series_error2(a), eb = series_error2(b);
	return ea < 0 || eb < 0 ? -1 : 2 * sqrt(ea + eb);
}

assay_delta assay_series_compare(const char *name, const assay_series *a, const assay_series *b)
{
	return (assay_delta){.name = name,
			     .a = assay_series_mean(a),
			     .b = assay_series_mean(b),
			     .noise = assay_series_noise(a, b)};
}

/* One run, with its main device's kernels summed per step. */
struct side {
	const assay_run *run;
	assay_order order;
	assay_window window;
	assay_series step, part[4], cause[ASSAY_WHY_COUNT];
	assay_series bucket[ASSAY_BUCKET_COUNT];
	assay_vec(double) steps; /* their lengths */
	assay_vec(int64_t) numbers;
	assay_names kernels, ops, lines, waited; /* lines: that launch, that the device waits at */
	assay_arena *text;
};

/* Steady steps on the main device, each from the end of the one before it, as reports have them;
 * none where the device has no steps. */
static void device_steps(struct side *s)
{
	const assay_tables *t = &s->run->part.t;
	assay_vec(uint32_t) rows = {0};
	assay_vec(int64_t) ends = {0};
	for (uint32_t i = 0; i < t->step_time.n; i++) {
		int64_t end = t->step_time.start[i] + t->step_time.span[i];
		*assay_push(&ends) = end;
		if (t->step_time.device[i] == s->window.device && end > s->window.from &&
		    end <= s->window.to)
			*assay_push(&rows) = i;
	}
	if (rows.n)
		assay_sort_rows(rows.p, rows.n, ends.p);
	int64_t from = s->window.from;
	bool all = rows.n == s->window.steps; /* each has work */
	if (rows.n && !all) {
		*assay_push(&s->steps) =
			(double)assay_window_length(&s->window) / (double)s->window.steps;
		*assay_push(&s->numbers) = -1;
	}
	for (size_t i = 0; all && i < rows.n; i++) {
		*assay_push(&s->steps) = (double)(ends.p[rows.p[i]] - from);
		*assay_push(&s->numbers) = t->step.number[t->step_time.step[rows.p[i]]];
		from = ends.p[rows.p[i]];
	}
	assay_vec_free(&rows);
	assay_vec_free(&ends);
}

static void host_steps(struct side *s)
{
	assay_step_rows rows = {0};
	assay_window_steps(s->run, &s->window, &rows);
	for (size_t i = 0; i < rows.n; i++) {
		*assay_push(&s->steps) = (double)s->run->part.t.step.dur[rows.p[i]];
		*assay_push(&s->numbers) = s->run->part.t.step.number[rows.p[i]];
	}
	assay_vec_free(&rows);
}

static void step_series(struct side *s)
{
	device_steps(s);
	if (!s->steps.n)
		host_steps(s);
	if (!s->steps.n) {
		*assay_push(&s->steps) = (double)assay_window_length(&s->window);
		*assay_push(&s->numbers) = -1;
	}
	for (size_t i = 0; i < s->steps.n; i++)
		assay_series_add(&s->step, s->steps.p[i]);
}

/* Median distance from the median. */
static double spread_of(double *v, size_t n, double middle)
{
	for (size_t i = 0; i < n; i++)
		v[i] = fabs(v[i] - middle);
	return assay_median_mean(v, n);
}

double assay_spread_error(double *v, size_t n)
{
	double middle = assay_median_mean(v, n);
	return 1.2533 * 1.4826 * spread_of(v, n, middle) / sqrt((double)n);
}

/* Lengths in an order of their own: the median sorts them. */
static double *copy_steps(const struct side *s)
{
	double *v = assay_alloc(s->text, s->steps.n * sizeof *v);
	memcpy(v, s->steps.p, s->steps.n * sizeof *v);
	return v;
}

/* The step itself: the median where there are steps enough, so that one slow step (a compilation, a
 * checkpoint) neither makes a change nor hides one. */
static void diff_step(assay_diff *d, const struct side *x, const struct side *y)
{
	d->step = assay_series_compare("step", &x->step, &y->step);
	const struct side *side[2] = {x, y};
	double error2 = 0, middle[2];
	for (int i = 0; i < 2; i++) {
		double *v = copy_steps(side[i]), *w = copy_steps(side[i]);
		d->mean[i] = assay_series_mean(&side[i]->step);
		middle[i] = assay_median_mean(v, side[i]->steps.n);
		d->spread[i] = spread_of(v, side[i]->steps.n, middle[i]);
		double e = assay_spread_error(w, side[i]->steps.n);
		error2 += e * e;
	}
	d->by_median = x->steps.n >= MEDIAN_STEPS && y->steps.n >= MEDIAN_STEPS;
	if (d->by_median) {
		d->step.a = middle[0];
		d->step.b = middle[1];
		d->step.noise = 2 * sqrt(error2);
	}
	assay_diff_align(d, &(assay_diff_steps){x->steps.p, x->numbers.p, x->steps.n},
			 &(assay_diff_steps){y->steps.p, y->numbers.p, y->steps.n});
}

/* How the parts that are work vary over steps; idle time does as its causes do. */
static void part_series(struct side *s)
{
	const assay_step_time_table *t = &s->run->part.t.step_time;
	for (size_t i = 0; i < t->n; i++) {
		if (t->device[i] != s->window.device || t->start[i] < s->window.from)
			continue;
		assay_series_add(&s->part[0], (double)t->compute[i]);
		assay_series_add(&s->part[1], (double)t->exposed_comm[i]);
		assay_series_add(&s->part[2], (double)t->exposed_copy[i]);
	}
}

/* Row of step_time of the main device whose window holds a time; NO_ROW between steps. */
static uint32_t window_at(const struct side *s, int64_t time, uint32_t hint)
{
	const assay_step_time_table *t = &s->run->part.t.step_time;
	for (uint32_t i = hint; i < t->n; i++) {
		if (t->device[i] != s->window.device || t->start[i] < s->window.from)
			continue;
		if (t->start[i] > time)
			break;
		if (time < t->start[i] + t->span[i])
			return i;
	}
	return ASSAY_NO_ROW;
}

static void set_families(struct side *s)
{
	const assay_kernel_table *k = &s->run->part.t.kernel;
	for (size_t i = 0; i < k->n; i++) {
		assay_name_sum *sum = assay_names_find(&s->kernels, k->name[i]);
		if (sum)
			sum->family = k->family[i];
	}
}

static assay_name_sum *sum_of(const struct side *s, assay_names *names, assay_sid name)
{
	assay_name_sum *sum = assay_names_find(names, name);
	if (sum)
		return sum;
	const char *text = assay_dup(s->text, assay_text(s->run, name));
	return assay_names_put(names, name, text, text);
}

/* The call of an operator that caused a row of gpu, which may cause several, counts once. */
static void add_operator(struct side *s, bool *counted, uint32_t gpu, uint32_t step, int64_t dur)
{
	const assay_tables *t = &s->run->part.t;
	uint32_t call = gpu < t->gpu_op.n ? t->gpu_op.call[gpu] : ASSAY_NO_ROW;
	assay_sid name = call == ASSAY_NO_ROW ? 0 : t->op_shape.name[t->op_call.shape[call]];
	if (!name)
		return;
	(counted[call] ? assay_name_sum_add_time : assay_name_sum_add)(sum_of(s, &s->ops, name),
								       step, dur);
	counted[call] = true;
}

/* Work comes in order of time, so a kernel's step is over when its next one begins. */
static void work_series(struct side *s)
{
	const assay_gpu_table *gpu = &s->run->part.t.gpu;
	const assay_order_device *d = &s->order.device.p[s->window.device];
	bool stepped = s->run->part.t.step_time.n > 0;
	assay_arena scratch = {0};
	bool *counted = assay_alloc(&scratch, s->run->part.t.op_call.n + 1);
	uint32_t hint = 0;
	for (size_t i = d->first; i < d->first + d->n; i++) {
		uint32_t g = s->order.row[i], step = 0;
		if (stepped) {
			step = window_at(s, gpu->ts[g], hint);
			if (step == ASSAY_NO_ROW)
				continue;
			hint = step;
		}
		int64_t dur = assay_gpu_end(gpu, g) - gpu->ts[g];
		assay_name_sum_add(sum_of(s, &s->kernels, gpu->name[g]), step, dur);
		add_operator(s, counted, g, step, dur);
		assay_diff_line(&s->lines, s->run,
				assay_call_stack(&s->run->part.t, s->run->part.t.launch.host[g]),
				step, dur, s->text);
	}
	assay_names_end(&s->kernels, s->window.steps);
	assay_names_end(&s->ops, s->window.steps);
	assay_names_end(&s->lines, s->window.steps);
	assay_arena_free(&scratch);
}

/* Gaps of a device come in order of time. */
static void waited_series(struct side *s)
{
	const assay_tables *t = &s->run->part.t;
	uint32_t hint = 0;
	for (size_t i = 0; i < t->gap_part.n; i++) {
		uint32_t gap = t->gap_part.gap[i], step = 0;
		if (t->gap.device[gap] != s->window.device || t->gap_part.stack[i] == ASSAY_NO_ROW)
			continue;
		if (t->step_time.n) {
			step = window_at(s, t->gap.ts[gap], hint);
			if (step == ASSAY_NO_ROW)
				continue;
			hint = step;
		}
		assay_diff_line(&s->waited, s->run, t->gap_part.stack[i], step, t->gap_part.dur[i],
				s->text);
	}
	assay_names_end(&s->waited, s->window.steps);
}

/* Windows of steps tile. What the very first one waited for before anything was recorded is no gap,
 * so it tells nothing of the spread. */
static void add_causes(const struct side *s, const int64_t *starts, size_t n,
		       double (*sum)[ASSAY_WHY_COUNT])
{
	const assay_tables *t = &s->run->part.t;
	for (size_t i = 0; i < t->gap_part.n; i++) {
		uint32_t gap = t->gap_part.gap[i];
		int64_t ts = t->gap.ts[gap];
		if (t->gap.device[gap] == s->window.device && ts >= starts[0] && ts < starts[n - 1])
			sum[assay_count_until(starts, sizeof *starts, n, ts) - 1]
			   [t->gap_part.cause[i]] += (double)t->gap_part.dur[i];
	}
}

static void cause_series(struct side *s)
{
	const assay_step_time_table *t = &s->run->part.t.step_time;
	assay_arena scratch = {0};
	assay_vec(uint32_t) rows = {0};
	assay_vec(int64_t) starts = {0};
	for (uint32_t i = 0; i < t->n; i++)
		if (t->device[i] == s->window.device && t->start[i] >= s->window.from)
			*assay_push(&rows) = i;
	if (rows.n)
		assay_sort_rows(rows.p, rows.n, t->start);
	for (size_t i = s->window.warmup ? 0 : 1; i < rows.n; i++)
		*assay_push(&starts) = t->start[rows.p[i]];
	if (starts.n)
		*assay_push(&starts) = s->window.to;
	double(*sum)[ASSAY_WHY_COUNT] = assay_alloc(&scratch, (starts.n + 1) * sizeof *sum);
	if (starts.n)
		add_causes(s, starts.p, starts.n, sum);
	for (size_t i = 0; i + 1 < starts.n; i++) {
		double bucket[ASSAY_BUCKET_COUNT] = {0}, idle = 0;
		for (int c = 0; c < ASSAY_WHY_COUNT; c++) {
			assay_series_add(&s->cause[c], sum[i][c]);
			idle += sum[i][c];
			bucket[assay_why_rows[c].bucket] += sum[i][c];
		}
		for (int b = 0; b < ASSAY_BUCKET_COUNT; b++)
			assay_series_add(&s->bucket[b], bucket[b]);
		assay_series_add(&s->part[3], idle);
	}
	assay_vec_free(&rows);
	assay_vec_free(&starts);
	assay_arena_free(&scratch);
}

static double per_step(const struct side *s, int64_t total)
{
	return (double)total / (s->window.steps ? (double)s->window.steps : 1);
}

/* Values are the whole window over its steps, as in the budget: what lies between steps counts. */
static void diff_parts(assay_diff *d, const struct side *a, const struct side *b)
{
	static const char *const names[4] = {"compute", "exposed_comm", "exposed_copy", "idle"};
	const assay_window *v = &a->window, *w = &b->window;
	const int64_t before[4] = {v->compute, v->comm, v->copy, v->idle},
		      after[4] = {w->compute, w->comm, w->copy, w->idle};
	for (int k = 0; k < 4; k++)
		*assay_push(&d->parts) =
			(assay_delta){.name = names[k],
				      .a = per_step(a, before[k]),
				      .b = per_step(b, after[k]),
				      .noise = assay_series_noise(&a->part[k], &b->part[k])};
}

static void diff_causes(assay_diff *d, const struct side *a, const struct side *b)
{
	for (int c = 0; c < ASSAY_WHY_COUNT; c++)
		*assay_push(&d->causes) =
			(assay_delta){.name = assay_why_name[c],
				      .a = per_step(a, a->window.cause[c]),
				      .b = per_step(b, b->window.cause[c]),
				      .noise = assay_series_noise(&a->cause[c], &b->cause[c])};
}

static void side_open(struct side *s, const assay_run *run, assay_arena *text)
{
	*s = (struct side){.run = run, .text = text};
	uint32_t steps = assay_metric_find(run, "steps");
	assay_order_build(&s->order, run);
	s->window = assay_window_find(
		run, &s->order,
		steps == ASSAY_NO_ROW ? 0 : (int64_t)run->part.t.metric.value[steps]);
	step_series(s);
	if (s->window.device == ASSAY_NO_ROW)
		return;
	part_series(s);
	cause_series(s);
	work_series(s);
	waited_series(s);
	set_families(s);
}

static void side_close(struct side *s)
{
	assay_order_free(&s->order);
	assay_names_free(&s->kernels);
	assay_names_free(&s->ops);
	assay_names_free(&s->lines);
	assay_names_free(&s->waited);
	assay_vec_free(&s->steps);
	assay_vec_free(&s->numbers);
}

/* Beyond noise and large enough to matter; without a spread only the size can be judged, and then a
 * change must be larger. */
static void judge(assay_delta *d, double step)
{
	double change = fabs(assay_delta_change(d));
	double least = step * worth_naming * (d->noise < 0 ? 5 : 1);
	d->real = change > least && change > d->noise;
}

/* Of what only one of them recorded nothing is known. */
static void diff_recorded(const assay_diff *d, assay_deltas *out, const assay_names *a,
			  const assay_names *b)
{
	if (a->sum.n && b->sum.n)
		assay_names_diff(out, a, b, d->steps);
}

/* Sums over the kernels of a family; noises of different kernels are taken as independent. */
static void diff_families(assay_diff *d)
{
	for (int f = 0; f < ASSAY_FAMILY_COUNT; f++) {
		assay_delta x = {.name = assay_family_name[f], .family = (uint8_t)f};
		bool any = false;
		for (size_t i = 0; i < d->kernels.n; i++) {
			const assay_delta *k = &d->kernels.p[i];
			if (k->family != f)
				continue;
			any = true;
			x.a += k->a;
			x.b += k->b;
			x.counts[0] += k->counts[0];
			x.counts[1] += k->counts[1];
			x.noise = x.noise < 0 || k->noise < 0 ? -1 : hypot(x.noise, k->noise);
		}
		if (any)
			*assay_push(&d->families) = x;
	}
}

static double bucket_noise(const assay_diff *d, const struct side *x, const struct side *y,
			   const char *name)
{
	const struct {
		const char *bucket;
		double noise;
	} known[] = {
		{"useful_gpu", d->parts.p[0].noise},
		{"comm_excess", d->parts.p[1].noise},
		{"exposed_copy", d->parts.p[2].noise},
		{"total", d->step.noise},
	};
	for (size_t i = 0; i < ASSAY_COUNT_OF(known); i++)
		if (!strcmp(name, known[i].bucket))
			return known[i].noise;
	for (int b = 0; b < ASSAY_BUCKET_COUNT; b++)
		if (!strcmp(name, assay_idle_bucket_name[b]))
			return assay_series_noise(&x->bucket[b], &y->bucket[b]);
	return -1;
}

static double bucket_value(const assay_run *run, const char *name)
{
	uint32_t r = assay_budget_find(run, name);
	return r == ASSAY_NO_ROW || run->part.t.budget.state[r] == ASSAY_STATE_UNKNOWN
		       ? NAN
		       : run->part.t.budget.value[r];
}

static void diff_budget(assay_diff *d, const struct side *before, const struct side *after)
{
	const assay_run *a = before->run, *b = after->run;
	const assay_run *named = a->part.t.budget.n ? a : b; /* a run without GPU work has none */
	const assay_budget_table *t = &named->part.t.budget;
	for (size_t i = 0; i < t->n; i++) {
		const char *name = assay_dup(&d->arena, assay_text(named, t->name[i]));
		assay_delta x = {.name = name,
				 .a = bucket_value(a, name),
				 .b = bucket_value(b, name),
				 .noise = bucket_noise(d, before, after, name)};
		if (!assay_str_is(assay_text(named, t->unit[i]), "ns")) {
			x.unit = assay_dup(&d->arena, assay_text(named, t->unit[i]));
			x.noise = -1;
		}
		*assay_push(&d->budget) = x;
	}
}

static const char *fact_text(const assay_run *run, const char *name)
{
	uint32_t r = assay_metric_known(run, name);
	return r == ASSAY_NO_ROW ? NULL : assay_z(run, run->part.t.metric.text[r]);
}

static void diff_facts(assay_diff *d, const assay_run *a, const assay_run *b)
{
	static const char *const names[] = {"attention", "pytorch_version", "rocm_version",
					    "cuda_version"};
	for (size_t i = 0; i < ASSAY_COUNT_OF(names); i++) {
		const char *x = fact_text(a, names[i]), *y = fact_text(b, names[i]);
		if (x && y && strcmp(x, y)) /* not to know is no difference */
			*assay_push(&d->facts) =
				(assay_fact){names[i], assay_dup(&d->arena, assay_str_of(x)),
					     assay_dup(&d->arena, assay_str_of(y))};
	}
}

static bool any_real(const assay_delta *d, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (d[i].real)
			return true;
	return false;
}

static void judge_rows(assay_delta *rows, size_t n, double step)
{
	for (size_t i = 0; i < n; i++)
		judge(&rows[i], step);
}

/* A wait also counts when there are more or fewer of it: a call that costs nothing today. */
static void judge_waits(assay_diff *d)
{
	for (size_t i = 0; i < d->waits.n; i++) {
		assay_delta *w = &d->waits.p[i];
		double calls = fabs(w->counts[1] - w->counts[0]);
		w->real |= calls >= worth_counting && calls > w->count_noise;
	}
}

static void judge_all(assay_diff *d)
{
	double step = d->step.a > d->step.b ? d->step.a : d->step.b;
	judge(&d->step, step);
	judge_rows(d->parts.p, d->parts.n, step);
	judge_rows(d->causes.p, d->causes.n, step);
	judge_rows(d->families.p, d->families.n, step);
	judge_rows(d->kernels.p, d->kernels.n, step);
	judge_rows(d->ops.p, d->ops.n, step);
	judge_rows(d->lines.p, d->lines.n, step);
	judge_rows(d->waited.p, d->waited.n, step);
	judge_rows(d->waits.p, d->waits.n, step);
	judge_waits(d);
	for (size_t i = 0; i < d->budget.n; i++)
		if (!d->budget.p[i].unit)
			judge(&d->budget.p[i], step);
	d->same = !d->step.real && !any_real(d->parts.p, d->parts.n) &&
		  !any_real(d->causes.p, d->causes.n) && !any_real(d->kernels.p, d->kernels.n) &&
		  !any_real(d->waits.p, d->waits.n) && !d->facts.n;
}

void assay_diff_runs(assay_diff *d, const assay_run *a, const assay_run *b,
		     const char *const env[2])
{
	const assay_run *run[2] = {a, b};
	struct side x, y;
	*d = (assay_diff){0};
	side_open(&x, a, &d->arena);
	side_open(&y, b, &d->arena);
	d->steps[0] = x.window.steps;
	d->steps[1] = y.window.steps;
	diff_step(d, &x, &y);
	diff_parts(d, &x, &y);
	diff_causes(d, &x, &y);
	diff_budget(d, &x, &y);
	assay_diff_waits(d, run, (const assay_window[2]){x.window, y.window});
	assay_names_diff(&d->kernels, &x.kernels, &y.kernels, d->steps);
	diff_recorded(d, &d->ops, &x.ops, &y.ops);
	diff_recorded(d, &d->lines, &x.lines, &y.lines);
	diff_recorded(d, &d->waited, &x.waited, &y.waited);
	assay_diff_alike(d, run);
	diff_families(d);
	diff_facts(d, a, b);
	assay_diff_env(d, run, env);
	judge_all(d);
	assay_diff_explain(d, run);
	side_close(&x);
	side_close(&y);
}

void assay_diff_free(assay_diff *d)
{
	assay_vec_free(&d->parts);
	assay_vec_free(&d->budget);
	assay_vec_free(&d->waits);
	assay_vec_free(&d->switches);
	assay_vec_free(&d->env);
	assay_vec_free(&d->causes);
	assay_vec_free(&d->families);
	assay_vec_free(&d->kernels);
	assay_vec_free(&d->ops);
	assay_vec_free(&d->lines);
	assay_vec_free(&d->waited);
	assay_vec_free(&d->gates);
	assay_vec_free(&d->facts);
	assay_arena_free(&d->arena);
}

/* Steps with 400 us between them; in each, "c" of length `c` (jittered by the step's number) and,
 * when asked, "x". */
static assay_run *test_run(int64_t c, int64_t x, int64_t jitter)
{
	enum { US = 1000 };
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	int64_t ts = 0;
	for (int i = 0; i < 6; i++) {
		int64_t extra = i % 2 ? jitter : -jitter;
		uint32_t s = assay_add(t, ASSAY_T_step);
		t->step.source[s] = run->part.source;
		t->step.ts[s] = ts;
		t->step.dur[s] = (c + x + extra) * US;
		t->step.origin[s] = ASSAY_STEP_REPEATED;
		assay_hand_gpu(run, "c", ts, (c + extra) * US, ASSAY_NO_ROW);
		if (x)
			assay_hand_gpu(run, "x", ts + (c + extra) * US, x * US, ASSAY_NO_ROW);
		ts += (c + x + extra + 400) * US;
	}
	return run;
}

static void measure(assay_run *run)
{
	assay_order order;
	assay_kernels(run);
	assay_order_build(&order, run);
	assay_partition(run, &order);
	assay_gaps(run, &order);
	assay_step_times(run, &order, NULL);
	assay_order_free(&order);
}

TEST(a_new_kernel_explains_the_longer_step)
{
	assay_run *a = test_run(500, 0, 5), *b = test_run(500, 100, 5);
	measure(a);
	measure(b);
	assay_diff d;
	assay_diff_runs(&d, a, b, NULL);
	CHECK(!d.same && d.step.real && d.kernels.n == 2);
	CHECK(!strcmp(d.kernels.p[0].name, "x") && d.kernels.p[0].a == 0 &&
	      d.kernels.p[0].b == 100000 && d.kernels.p[0].counts[1] == 1);
	CHECK(!d.kernels.p[1].real);
	CHECK(strstr(d.sentence, "+100 us/step") && strstr(d.sentence, "mostly x (+100 us)"));
	assay_diff_free(&d);
	assay_run_free(a);
	assay_run_free(b);
	return 0;
}

TEST(changes_within_noise_are_no_difference)
{
	assay_run *a = test_run(500, 0, 60), *b = test_run(510, 0, 60);
	measure(a);
	measure(b);
	assay_diff d;
	assay_diff_runs(&d, a, b, NULL);
	CHECK(d.same && d.step.noise > 10000 && strstr(d.sentence, "no difference beyond noise"));
	assay_diff_free(&d);
	assay_diff_runs(&d, a, a, NULL);
	CHECK(d.same && assay_delta_change(&d.step) == 0);
	assay_diff_free(&d);
	assay_run_free(a);
	assay_run_free(b);
	return 0;
}
