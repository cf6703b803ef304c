/* Sums over the window that stands for the run. */
#include "analyze/window.h"

#include "analyze/asked.h"

#include <assert.h>

#include "analyze/analyze.h"
#include "analyze/stretch.h"
#include "base/median.h"
#include "base/sort.h"
#include "base/test.h"
#include "model/by_hand.h"
#include "names/serving.h"

/* Where others work on the same device, the process that was asked for stands for the run, unless
 * it does next to nothing there. */
static uint32_t asked_device(const assay_run *run, uint32_t best)
{
	enum { SOME = 256 }; /* pieces of work */
	const assay_device_time_table *d = &run->part.t.device_time;
	uint32_t asked = d->n > 1 ? assay_asked_group(run) : ASSAY_NO_ROW;
	for (uint32_t i = 0; asked != ASSAY_NO_ROW && i < d->n; i++)
		if (d->device[i] == d->device[best] && d->events[i] >= SOME &&
		    assay_group_of(&run->part.t, d->source[i]) == asked)
			return i;
	return best;
}

/* Of a job of many ranks, among those whose events are here. */
uint32_t assay_main_device(const assay_run *run)
{
	const assay_device_time_table *d = &run->part.t.device_time;
	uint32_t best = ASSAY_NO_ROW;
	for (uint32_t i = 0; i < d->n && (!run->in_full || d->source[i] < run->in_full); i++)
		if (best == ASSAY_NO_ROW || d->compute[i] > d->compute[best] ||
		    (d->compute[i] == d->compute[best] && d->events[i] > d->events[best]))
			best = i;
	return best == ASSAY_NO_ROW ? best : asked_device(run, best);
}

/* Work without a launch cannot be given to steps; when that is most of it, step windows would stand
 * for the smaller part. */
static bool mostly_linked(const assay_run *run, uint32_t device)
{
	const assay_device_time_table *d = &run->part.t.device_time;
	const assay_step_table *s = &run->part.t.step;
	size_t i = 0;
	while (i < s->n && s->source[i] != d->source[device])
		i++;
	i = i < s->n ? i : 0; /* none of its own: the others' */
	bool by_launch =
		s->n && s->origin[i] != ASSAY_STEP_REPEATED && s->origin[i] != ASSAY_STEP_DEVICE;
	return !by_launch || d->linked[device] * 2 >= d->events[device];
}

static uint64_t count_steps(const assay_run *run, uint32_t source)
{
	const assay_step_table *s = &run->part.t.step;
	uint64_t n = 0;
	for (size_t i = 0; i < s->n; i++)
		n += s->source[i] == source;
	return n;
}

/* The first of these steps: three times the usual; or half as long again, when hardly another one
 * is. rows: of step_time. */
static bool is_too_long(const assay_step_time_table *t, const uint32_t *rows, size_t n,
			int64_t usual)
{
	int64_t span = t->span[rows[0]], least_alike = span / 6 * 5 + 5;
	size_t alike = 0;
	for (size_t i = 0; i < n; i++)
		alike += t->span[rows[i]] >= least_alike;
	return span / 3 > usual || (span / 3 > usual / 2 && alike <= 1 + n / 10);
}

/* Tokens that a serving engine worked on; 0 of other steps. */
static int64_t tokens_of(const assay_run *run, uint32_t step_time)
{
	const assay_tables *t = &run->part.t;
	uint32_t step = t->step_time.step[step_time];
	assay_serving s;
	return t->step.origin[step] == ASSAY_STEP_SERVING &&
			       assay_serving_parse(assay_text(run, t->step.name[step]), &s)
		       ? (int64_t)s.tokens
		       : 0;
}

/* Compilation, library loading and allocation make first steps long; they are not what a step
 * costs. More tokens than usual do as well, and are. rows: of step_time, by start. */
static size_t count_warmup(const assay_run *run, const uint32_t *rows, size_t n)
{
	enum { KNOWN_FROM = 5, LEFT_AT_LEAST = 3 };
	const assay_step_time_table *t = &run->part.t.step_time;
	assay_vec(int64_t) span = {0}, tokens = {0};
	size_t k = 0;
	if (n < KNOWN_FROM)
		return 0;
	for (size_t i = 0; i < n; i++) {
		*assay_push(&span) = t->span[rows[i]];
		*assay_push(&tokens) = tokens_of(run, rows[i]);
	}
	assay_sort_i64(span.p, n);
	int64_t usual = span.p[n / 2], usual_tokens = assay_median_upper(tokens.p, n);
	while (n - k > LEFT_AT_LEAST && is_too_long(t, rows + k, n - k, usual) &&
	       tokens_of(run, rows[k]) <= usual_tokens)
		k++;
	assay_vec_free(&span);
	assay_vec_free(&tokens);
	return k;
}

static void find_bounds(const assay_run *run, const assay_order *order, assay_window *w,
			int64_t steps)
{
	const assay_tables *t = &run->part.t;
	assay_vec(uint32_t) rows = {0};
	w->from = INT64_MAX;
	w->to = INT64_MIN;
	for (uint32_t i = 0; mostly_linked(run, w->device) && i < t->step_time.n; i++) {
		assay_rest_behind(t, ASSAY_T_step_time, i);
		if (t->step_time.device[i] == w->device)
			*assay_push(&rows) = i;
	}
	assay_sort_rows(rows.p, rows.n, t->step_time.start);
	assay_stretch of = assay_stretch_find(run, order, w->device, rows.p, rows.n);
	const uint32_t *row = of.first ? rows.p + of.first : rows.p;
	size_t n = of.n;
	w->apart = of.apart;
	w->apart_time = of.apart_time;
	w->warmup = count_warmup(run, row, n);
	w->warm = w->warmup || of.first ? t->step.ts[t->step_time.step[row[w->warmup]]] : INT64_MIN;
	w->last = of.first + n < rows.n ? t->step.ts[t->step_time.step[row[n - 1]]] : INT64_MAX;
	w->stretch = n ? t->step_time.start[row[0]] : 0;
	for (size_t i = w->warmup; i < n; i++) {
		int64_t from = t->step_time.start[row[i]];
		int64_t to = from + t->step_time.span[row[i]];
		w->from = from < w->from ? from : w->from;
		w->to = to > w->to ? to : w->to;
		w->steps++;
	}
	assay_vec_free(&rows);
	if (w->steps)
		return;
	w->from = t->device_time.start[w->device];
	w->to = w->from + t->device_time.span[w->device] + t->device_time.off[w->device];
	w->steps = steps > 0 ? (uint64_t)steps : count_steps(run, t->device_time.source[w->device]);
}

static void split_work(const assay_run *run, const assay_order *order, assay_window *w)
{
	const assay_gpu_table *gpu = &run->part.t.gpu;
	const assay_order_device *d = &order->device.p[w->device];
	assay_cover s = assay_cover_of(order, d, w->from);
	for (size_t i = d->first; i < d->first + d->n; i++) {
		int64_t from = gpu->ts[order->row[i]], to = assay_gpu_end(gpu, order->row[i]);
		from = from > w->from ? from : w->from;
		to = to < w->to ? to : w->to;
		if (from >= to)
			continue;
		assay_cover_add(&s, order->classes[i], from, to);
		w->events[order->classes[i]]++;
	}
	w->compute = s.length[ASSAY_SET_COMPUTE];
	w->comm = s.length[ASSAY_SET_COMPUTE_COMM] - w->compute;
	w->copy = s.length[ASSAY_SET_ALL] - s.length[ASSAY_SET_COMPUTE_COMM];
	w->off = s.off;
	w->idle = assay_window_length(w) - s.length[ASSAY_SET_ALL];
}

static void add_part(const assay_run *run, assay_window *w, size_t part)
{
	const assay_gap_part_table *p = &run->part.t.gap_part;
	uint8_t cause = p->cause[part];
	w->cause[cause] += p->dur[part];
	w->gaps[cause]++;
	if (p->dur[part] > w->longest_part[cause]) {
		w->longest_part[cause] = p->dur[part];
		w->longest[cause] = p->gap[part];
	}
	if (run->part.t.gap.suspicious[p->gap[part]] && cause == ASSAY_WHY_LAUNCH_LATENCY)
		w->suspicious += p->dur[part];
}

/* The first step may begin while the device is idle: in a gap, or before anything was recorded. */
static void add_lead(const assay_run *run, const assay_order *order, assay_window *w)
{
	const assay_tables *t = &run->part.t;
	const assay_order_device *d = &order->device.p[w->device];
	int64_t *part = w->lead, end = INT64_MIN;
	uint32_t first = ASSAY_NO_ROW;
	for (size_t i = d->first; i < d->first + d->n && first == ASSAY_NO_ROW; i++) {
		uint32_t g = order->row[i];
		if (t->gpu.ts[g] > w->from)
			first = g;
		else
			end = assay_gpu_end(&t->gpu, g) > end ? assay_gpu_end(&t->gpu, g) : end;
	}
	if (first == ASSAY_NO_ROW || end >= w->from)
		return; /* a gap of its own begins here, or none */
	w->lead_gpu = first;
	assay_gap_causes(run, first, w->from, part, w->lead_row);
	for (int c = 0; c < ASSAY_WHY_COUNT; c++) {
		w->cause[c] += part[c];
		w->gaps[c] += part[c] > 0;
	}
	if (part[ASSAY_WHY_LAUNCH_LATENCY] > ASSAY_SUSPICIOUS_LATENCY)
		w->suspicious += part[ASSAY_WHY_LAUNCH_LATENCY];
}

/* Behind its first step a window begins and ends with work, so no gap lies across its bounds. */
static void sum_causes(const assay_run *run, const assay_order *order, assay_window *w)
{
	const assay_tables *t = &run->part.t;
	int64_t sum = 0;
	for (int c = 0; c < ASSAY_WHY_COUNT; c++)
		w->longest[c] = ASSAY_NO_ROW;
	for (size_t i = 0; i < t->gap_part.n; i++) {
		uint32_t gap = t->gap_part.gap[i];
		if (t->gap.device[gap] == w->device && t->gap.ts[gap] >= w->from &&
		    t->gap.ts[gap] + t->gap.dur[gap] <= w->to)
			add_part(run, w, i);
	}
	add_lead(run, order, w);
	for (int c = 0; c < ASSAY_WHY_COUNT; c++)
		sum += w->cause[c];
	assert(sum == w->idle);
	(void)sum;
}

assay_window assay_window_bounds(const assay_run *run, const assay_order *order, int64_t steps)
{
	assay_window w = {.device = assay_main_device(run), .warm = INT64_MIN, .last = INT64_MAX};
	if (w.device == ASSAY_NO_ROW)
		return w;
	find_bounds(run, order, &w, steps);
	split_work(run, order, &w);
	return w;
}

void assay_window_add_causes(const assay_run *run, const assay_order *order, assay_window *w)
{
	if (w->device != ASSAY_NO_ROW)
		sum_causes(run, order, w);
}

assay_window assay_window_find(const assay_run *run, const assay_order *order, int64_t steps)
{
	assay_window w = assay_window_bounds(run, order, steps);
	assay_window_add_causes(run, order, &w);
	return w;
}

static void steps_of(const assay_run *run, uint32_t source, int64_t from, int64_t last,
		     assay_step_rows *out)
{
	const assay_step_table *s = &run->part.t.step;
	for (uint32_t i = 0; i < s->n; i++)
		if (s->source[i] == source && s->dur[i] > 0 && s->ts[i] >= from && s->ts[i] <= last)
			*assay_push(out) = i;
}

void assay_window_steps(const assay_run *run, const assay_window *w, assay_step_rows *out)
{
	const assay_tables *t = &run->part.t;
	if (w->device != ASSAY_NO_ROW)
		steps_of(run, t->device_time.source[w->device], w->warm, w->last, out);
	if (!out->n && t->step.n)
		steps_of(run, t->step.source[0], INT64_MIN, INT64_MAX, out);
	if (out->n)
		assay_sort_rows(out->p, out->n, t->step.ts);
}

/* From the first step's window on the device to the last one's end, those included that do not
 * count; the window's own without steps. */
static void all_steps(const assay_run *run, const assay_window *w, int64_t *from, int64_t *to)
{
	const assay_step_time_table *t = &run->part.t.step_time;
	*from = w->from;
	*to = w->to;
	for (size_t i = 0; (w->warmup || w->apart) && i < t->n; i++) {
		if (t->device[i] != w->device)
			continue;
		*from = t->start[i] < *from ? t->start[i] : *from;
		*to = t->start[i] + t->span[i] > *to ? t->start[i] + t->span[i] : *to;
	}
}

uint8_t assay_window_origin(const assay_run *run, const assay_window *w)
{
	assay_step_rows rows = {0};
	assay_window_steps(run, w, &rows);
	uint8_t origin = rows.n ? run->part.t.step.origin[rows.p[0]] : ASSAY_STEP_MARKER;
	assay_vec_free(&rows);
	return origin;
}

void assay_steady(assay_run *run, const assay_window *w)
{
	const assay_device_time_table *d = &run->part.t.device_time;
	assay_steady_table *s = &run->part.t.steady;
	if (w->device == ASSAY_NO_ROW)
		return;
	uint32_t r = assay_add(&run->part.t, ASSAY_T_steady);
	int64_t first, last, begin = d->start[w->device];
	int64_t end = begin + d->span[w->device] + d->off[w->device];
	all_steps(run, w, &first, &last);
	s->device[r] = w->device;
	s->start[r] = w->from;
	s->dur[r] = assay_window_length(w);
	s->steps[r] = w->steps;
	s->ns[r] = s->dur[r] / (w->steps ? (int64_t)w->steps : 1);
	s->origin[r] = assay_window_origin(run, w);
	s->start_up[r] = first > begin ? first - begin : 0;
	s->warm_up[r] = w->warmup ? w->from - w->stretch : 0;
	s->warm_up_steps[r] = w->warmup;
	s->other_work_steps[r] = w->apart;
	s->other_work[r] = w->apart ? last - first - s->dur[r] - s->warm_up[r] : 0;
	s->tail[r] = end > last ? end - last : 0;
	if (w->apart_time > (double)(last - first) / 2)
		assay_warn(
			run, "other_work",
			"steps with other work in them (an evaluation?) take %.0f%% of the time of all steps; findings are of the steps between them",
			100 * w->apart_time / (double)(last - first));
}

/* first: the name of the first step, the others decode two tokens. */
static size_t warmup_after(const char *first, const int64_t *spans, size_t n)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	uint32_t rows[16];
	for (size_t i = 0; i < n; i++) {
		uint32_t step = assay_add(t, ASSAY_T_step);
		t->step.name[step] = assay_sid_of(run, i ? "step[DECODE bs=2]" : first);
		t->step.origin[step] = ASSAY_STEP_SERVING;
		rows[i] = assay_add(t, ASSAY_T_step_time);
		t->step_time.span[rows[i]] = spans[i];
		t->step_time.step[rows[i]] = step;
	}
	size_t k = count_warmup(run, rows, n);
	assay_run_free(run);
	return k;
}

static size_t warmup_of(const int64_t *spans, size_t n)
{
	return warmup_after("step 0", spans, n);
}

TEST(a_prefill_is_long_without_warming_up)
{
	static const int64_t spans[] = {900, 100, 100, 100, 100};
	CHECK_EQ(warmup_after("step[EXTEND bs=2 toks=512]", spans, 5), 0);
	CHECK_EQ(warmup_after("step[DECODE bs=2]", spans, 5), 1);
	return 0;
}

TEST(first_steps_warm_up_when_hardly_another_is_as_long)
{
	CHECK_EQ(warmup_of((int64_t[]){250, 100, 101, 99, 100, 102}, 6), 1);
	CHECK_EQ(warmup_of((int64_t[]){400, 390, 380, 100, 99, 100, 102, 100}, 8), 3);
	CHECK_EQ(warmup_of((int64_t[]){250, 100, 240, 100, 100, 260, 100}, 7), 0);
	CHECK_EQ(warmup_of((int64_t[]){140, 100, 101, 99, 100, 102}, 6), 0);
	CHECK_EQ(warmup_of((int64_t[]){900, 100, 100, 100}, 4), 0); /* too few to know */
	CHECK_EQ(warmup_of((int64_t[]){900, 100, 100, 100, 100}, 5), 1);
	CHECK_EQ(warmup_of((int64_t[]){900, 900, 100, 100, 100}, 5), 2);
	CHECK_EQ(warmup_of((int64_t[]){380, 210, 100, 100, 100}, 5), 2);
	CHECK_EQ(warmup_of((int64_t[]){900, 900, 900, 100, 100}, 5), 0); /* which is usual? */
	return 0;
}

/* compute 0-10, communication 20-30, a copy 40-50, compute 60-70, compute 100-110 */
static assay_run *five_works(void)
{
	static const char *const names[] = {"c", "nccl", "MEMORY_COPY_", "c", "c"};
	static const int64_t start[] = {0, 20, 40, 60, 100};
	assay_run *run = assay_run_new();
	assay_add(&run->part.t, ASSAY_T_source);
	for (int i = 0; i < 5; i++) {
		uint32_t call = assay_hand_host(run, ASSAY_HOST_RUNTIME, "cudaLaunchKernel",
						start[i] - 2, 1);
		assay_hand_gpu(run, names[i], start[i], 10, call);
	}
	return run;
}

static void add_step(assay_run *run, int64_t start, int64_t span)
{
	assay_tables *t = &run->part.t;
	uint32_t s = assay_add(t, ASSAY_T_step), r = assay_add(t, ASSAY_T_step_time);
	t->step.ts[s] = start;
	t->step.dur[s] = span;
	t->step.source[s] = t->device_time.source[0];
	t->step_time.step[r] = s;
	t->step_time.device[r] = 0;
	t->step_time.start[r] = start;
	t->step_time.span[r] = span;
}

static assay_window find_window(assay_run *run, int steps, int64_t told)
{
	assay_order order;
	assay_kernels(run);
	assay_order_build(&order, run);
	assay_partition(run, &order);
	assay_gaps(run, &order);
	for (int i = 0; i < steps; i++)
		add_step(run, 20 + 40 * i, 40);
	assay_window w = assay_window_find(run, &order, told);
	assay_order_free(&order);
	return w;
}

static int64_t causes_of(const assay_window *w)
{
	int64_t sum = 0;
	for (int c = 0; c < ASSAY_WHY_COUNT; c++)
		sum += w->cause[c];
	return sum;
}

TEST(without_steps_the_window_is_the_whole_device)
{
	assay_run *run = five_works();
	assay_window w = find_window(run, 0, 7);
	CHECK(w.from == 0 && w.to == 110 && w.steps == 7 && w.warmup == 0);
	CHECK(w.compute == 30 && w.comm == 10 && w.copy == 10 && w.idle == 60);
	CHECK(w.events[ASSAY_CLASS_COMPUTE] == 3 && w.events[ASSAY_CLASS_COMM] == 1 &&
	      w.events[ASSAY_CLASS_COPY] == 1);
	CHECK_EQ(causes_of(&w), 60);
	CHECK_EQ(w.cause[ASSAY_WHY_LAUNCH_CALL], 4);
	CHECK_EQ(w.cause[ASSAY_WHY_LAUNCH_LATENCY], 4);
	CHECK_EQ(w.gaps[ASSAY_WHY_HOST_UNTRACED], 4);
	CHECK_EQ(w.longest_part[ASSAY_WHY_HOST_UNTRACED], 28);
	CHECK_EQ(run->part.t.gap.ts[w.longest[ASSAY_WHY_HOST_UNTRACED]], 70);
	assay_run_free(run);
	return 0;
}

/* Steps of 20-60 and 60-100: what lies before and behind is in no bucket. */
TEST(a_window_of_steps_has_what_lies_in_them)
{
	assay_run *run = five_works();
	assay_window w = find_window(run, 2, 0);
	CHECK(w.from == 20 && w.to == 100 && w.steps == 2);
	CHECK(w.compute == 10 && w.comm == 10 && w.copy == 10 && w.idle == 50);
	CHECK_EQ(w.events[ASSAY_CLASS_COMPUTE], 1);
	CHECK_EQ(causes_of(&w), 50);
	CHECK_EQ(w.longest_part[ASSAY_WHY_HOST_UNTRACED], 28);
	assay_steady(run, &w);
	const assay_steady_table *s = &run->part.t.steady;
	CHECK(s->start[0] == 20 && s->dur[0] == 80 && s->ns[0] == 40 && s->steps[0] == 2);
	CHECK(s->start_up[0] == 20 && s->warm_up[0] == 0 && s->tail[0] == 10);
	assay_run_free(run);
	return 0;
}

/* A step of 15-60 begins in the gap of 10-20: its first 5 ns are the wait before its first work. */
TEST(a_window_that_begins_in_a_gap_has_the_rest_of_it)
{
	assay_run *run = five_works();
	assay_order order;
	assay_kernels(run);
	assay_order_build(&order, run);
	assay_partition(run, &order);
	assay_gaps(run, &order);
	add_step(run, 15, 45);
	assay_window w = assay_window_find(run, &order, 0);
	assay_order_free(&order);
	CHECK(w.from == 15 && w.to == 60 && w.comm == 10 && w.copy == 10 && w.idle == 25);
	CHECK_EQ(causes_of(&w), 25);
	CHECK_EQ(w.cause[ASSAY_WHY_LAUNCH_CALL], 3); /* of three gaps, each with its call */
	CHECK_EQ(w.gaps[ASSAY_WHY_LAUNCH_CALL], 3);
	CHECK_EQ(w.gaps[ASSAY_WHY_HOST_DATA], 0);
	CHECK_EQ(w.cause[ASSAY_WHY_HOST_UNTRACED], 3 + 8 + 8);
	CHECK_EQ(w.longest_part[ASSAY_WHY_HOST_UNTRACED], 8);
	CHECK_EQ(run->part.t.gap.ts[w.longest[ASSAY_WHY_HOST_UNTRACED]],
		 30); /* of equals the first */
	assay_run_free(run);
	return 0;
}

TEST(the_main_device_computes_most_and_of_equals_has_most_events)
{
	static const struct {
		int64_t compute[3];
		uint64_t events[3];
		uint32_t want;
	} cases[] = {
		{{10, 30, 20}, {9, 1, 9}, 1},
		{{30, 30, 20}, {5, 5, 9}, 0},
		{{30, 30, 30}, {5, 6, 4}, 1},
	};
	CHECK_EQ(assay_main_device(&(assay_run){0}), ASSAY_NO_ROW);
	for (size_t i = 0; i < ASSAY_COUNT_OF(cases); i++) {
		assay_run *run = assay_run_new();
		assay_device_time_table *d = &run->part.t.device_time;
		for (int k = 0; k < 3; k++) {
			uint32_t r = assay_add(&run->part.t, ASSAY_T_device_time);
			d->compute[r] = cases[i].compute[k];
			d->events[r] = cases[i].events[k];
		}
		CHECK_EQ(assay_main_device(run), cases[i].want);
		assay_run_free(run);
	}
	return 0;
}

/* Work whose launch nobody recorded belongs to no step that was marked on the host. */
TEST(steps_of_the_host_stand_for_work_that_has_its_launches)
{
	assay_run *run = five_works();
	for (int i = 0; i < 3; i++)
		run->part.t.launch.host[i] = ASSAY_NO_ROW;
	assay_window w = find_window(run, 2, 0);
	CHECK(w.from == 0 && w.to == 110);
	CHECK_EQ(w.steps, 2); /* they are still counted */
	run->part.t.step.origin[0] = ASSAY_STEP_DEVICE;
	CHECK(mostly_linked(run, 0));
	run->part.t.step.origin[0] = ASSAY_STEP_REPEATED;
	CHECK(mostly_linked(run, 0));
	assay_run_free(run);
	return 0;
}

TEST(steps_that_count_are_those_of_the_main_process_without_its_warm_up)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	assay_step_rows rows = {0};
	static const struct {
		int64_t ts, dur;
		uint32_t source;
	} steps[] = {{50, 10, 1}, {10, 10, 1}, {30, 0, 1}, {20, 10, 0}, {30, 10, 1}, {70, 10, 1}};
	for (size_t i = 0; i < ASSAY_COUNT_OF(steps); i++) {
		uint32_t s = assay_add(t, ASSAY_T_step);
		t->step.ts[s] = steps[i].ts;
		t->step.dur[s] = steps[i].dur;
		t->step.source[s] = steps[i].source;
	}
	uint32_t d = assay_add(t, ASSAY_T_device_time);
	t->device_time.source[d] = 1;
	assay_window w = {.device = d, .warm = 30, .last = 50};
	assay_window_steps(run, &w, &rows);
	CHECK(rows.n == 2 && rows.p[0] == 4 && rows.p[1] == 0);
	rows.n = 0;
	w.device = ASSAY_NO_ROW; /* nobody's device: the first process that has steps */
	assay_window_steps(run, &w, &rows);
	CHECK(rows.n == 4 && rows.p[0] == 1 && rows.p[1] == 4 && rows.p[3] == 5);
	CHECK_EQ(count_steps(run, 1), 5);
	assay_vec_free(&rows);
	assay_run_free(run);
	return 0;
}
