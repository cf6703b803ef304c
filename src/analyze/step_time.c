/* Steps on devices. A step's window on a device runs from the end of the step before it, so that
 * the wait in front belongs to the step that waited, to the last end of the work that was launched
 * inside the step. The first one begins with its marker, or with its first work where the device
 * was busy then, or had work from before the recording. Windows tile; the split counts all work in
 * them. */
#include "analyze/analyze.h"

#include <assert.h>
#include <stdlib.h>

#include "base/compare.h"
#include "base/sort.h"
#include "base/test.h"
#include "model/by_hand.h"
#include "names/calls.h"

struct window {
	uint32_t step;
	int64_t from, to; /* to < from: no work */
	uint64_t events;
	assay_cover cover;
};

typedef assay_vec(struct window) windows;

/* Steps of the device's source in order of start. */
static void source_steps(const assay_run *run, uint32_t source, windows *out)
{
	const assay_step_table *s = &run->part.t.step;
	assay_vec(uint32_t) rows = {0};
	for (uint32_t i = 0; i < s->n; i++)
		if (s->source[i] == source && s->dur[i] > 0)
			*assay_push(&rows) = i;
	if (rows.n)
		assay_sort_rows(rows.p, rows.n, s->ts);
	for (size_t i = 0; i < rows.n; i++)
		*assay_push(out) =
			(struct window){.step = rows.p[i], .from = INT64_MAX, .to = INT64_MIN};
	assay_vec_free(&rows);
}

/* The last step that began by `time`, when it has not ended; else NULL. */
static struct window *step_at(const assay_step_table *s, windows *w, int64_t time)
{
	size_t low = 0, high = w->n;
	while (low < high) {
		size_t mid = (low + high) / 2;
		if (s->ts[w->p[mid].step] <= time)
			low = mid + 1;
		else
			high = mid;
	}
	if (!low)
		return NULL;
	struct window *at = &w->p[low - 1];
	return time < s->ts[at->step] + s->dur[at->step] ? at : NULL;
}

/* When work belongs to a step by its launch, and by its start where steps come from the device. */
static bool belongs_at(const assay_tables *t, uint8_t origin, uint32_t gpu, int64_t *time)
{
	uint32_t launch = t->launch.host[gpu];
	*time = t->gpu.ts[gpu];
	if (origin == ASSAY_STEP_REPEATED || origin == ASSAY_STEP_DEVICE)
		return true;
	if (launch != ASSAY_NO_ROW)
		*time = t->host.ts[launch];
	return launch != ASSAY_NO_ROW;
}

static void find_windows(const assay_run *run, const assay_order *order,
			 const assay_order_device *dev, windows *w)
{
	const assay_tables *t = &run->part.t;
	uint8_t origin = t->step.origin[w->p[0].step];
	for (size_t i = dev->first; i < dev->first + dev->n; i++) {
		uint32_t g = order->row[i];
		int64_t time, end = assay_gpu_end(&t->gpu, g);
		struct window *at =
			belongs_at(t, origin, g, &time) ? step_at(&t->step, w, time) : NULL;
		if (!at)
			continue;
		at->events++;
		at->from = t->gpu.ts[g] < at->from ? t->gpu.ts[g] : at->from;
		at->to = end > at->to ? end : at->to;
	}
}

static int by_end(const void *a, const void *b)
{
	const struct window *x = a, *y = b;
	return assay_then(ASSAY_CMP(x->to, y->to), ASSAY_CMP(x->step, y->step));
}

static void drop_empty(windows *w)
{
	size_t kept = 0;
	for (size_t i = 0; i < w->n; i++)
		if (w->p[i].events)
			w->p[kept++] = w->p[i];
	w->n = kept;
	qsort(w->p, w->n, sizeof *w->p, by_end);
}

/* When the device was done with what it began before `time`; INT64_MIN when that is nothing. */
static int64_t busy_until(const assay_run *run, const assay_order *order,
			  const assay_order_device *dev, int64_t time)
{
	int64_t end = INT64_MIN;
	for (size_t i = dev->first; i < dev->first + dev->n; i++) {
		uint32_t g = order->row[i];
		if (run->part.t.gpu.ts[g] >= time)
			break;
		int64_t stop = assay_gpu_end(&run->part.t.gpu, g);
		end = stop > end ? stop : end;
	}
	return end;
}

/* When a launch had handed over its work; a call that copies may wait for the device itself. */
static int64_t handed_over(const assay_run *run, uint32_t launch)
{
	const assay_host_table *h = &run->part.t.host;
	assay_str name = assay_text(run, h->name[launch]);
	bool copies = assay_call_meaning_of(name.p, name.n).does == ASSAY_DOES_COPY;
	return copies ? h->ts[launch] : assay_host_end(h, launch);
}

/* The start of the last of a step's first pieces of work, from the device's i-th on, that was
 * submitted a millisecond and more before it began although the device was free; `from` where there
 * is none. The step begins at `from` and ends at `to`. */
static int64_t late_start(const assay_run *run, const assay_order *order,
			  const assay_order_device *dev, size_t i, int64_t from, int64_t to)
{
	enum { FIRST_PIECES = 16 };
	const assay_tables *t = &run->part.t;
	int64_t busy = from;
	for (size_t end = i + FIRST_PIECES; i < dev->n && i < end; i++) {
		uint32_t g = order->row[dev->first + i], launch = t->launch.host[g];
		int64_t start = t->gpu.ts[g], stop = assay_gpu_end(&t->gpu, g);
		if (start >= to)
			break;
		int64_t since = launch != ASSAY_NO_ROW ? handed_over(run, launch) : start;
		if (start - (since > busy ? since : busy) > ASSAY_SUSPICIOUS_LATENCY)
			from = start;
		busy = stop > busy ? stop : busy;
	}
	return from;
}

/* Does work of the second step wait in front of a free device, too? */
static bool is_late_again(const assay_run *run, const assay_order *order,
			  const assay_order_device *dev, const windows *w)
{
	size_t i = 0;
	if (w->n < 2)
		return false;
	while (i < dev->n && run->part.t.gpu.ts[order->row[dev->first + i]] < w->p[0].to)
		i++;
	return late_start(run, order, dev, i, w->p[0].to, w->p[1].to) > w->p[0].to;
}

/* Where work waits so at the start of a recording, and does not in the step after it, the device
 * is at work from before the recording, which is no part of the first step: when it was free. */
static int64_t free_since(const assay_run *run, const assay_order *order,
			  const assay_order_device *dev, int64_t from, const windows *w)
{
	int64_t late = late_start(run, order, dev, 0, from, w->p[0].to);
	return late > from && is_late_again(run, order, dev, w) ? from : late;
}

static void tile_windows(const assay_run *run, const assay_order *order,
			 const assay_order_device *dev, int64_t since, windows *w)
{
	if (!w->n)
		return;
	int64_t first = w->p[0].from, marker = run->part.t.step.ts[w->p[0].step];
	int64_t busy = busy_until(run, order, dev, first);
	int64_t from = marker > busy ? marker : busy;
	from = from < first ? from : first;
	from = since != INT64_MIN ? since : free_since(run, order, dev, from, w);
	for (size_t i = 0; i < w->n; i++) {
		if (assay_offs_touch(&order->offs, assay_order_group(dev), from, w->p[i].from))
			from = w->p[i].from; /* nobody knows what it waited for */
		w->p[i].from = from;
		assert(from <= w->p[i].to);
		w->p[i].cover = assay_cover_of(order, dev, from);
		from = w->p[i].to;
	}
}

/* Work and windows both in order of start. */
static void cover_windows(const assay_run *run, const assay_order *order,
			  const assay_order_device *dev, windows *w)
{
	const assay_gpu_table *gpu = &run->part.t.gpu;
	size_t done = 0;
	for (size_t i = dev->first; i < dev->first + dev->n; i++) {
		int64_t from = gpu->ts[order->row[i]], to = assay_gpu_end(gpu, order->row[i]);
		while (done < w->n && w->p[done].to <= from)
			done++;
		for (size_t k = done; k < w->n && w->p[k].from < to; k++) {
			struct window *at = &w->p[k];
			int64_t a = from > at->from ? from : at->from;
			int64_t b = to < at->to ? to : at->to;
			if (a < b)
				assay_cover_add(&at->cover, order->classes[i], a, b);
		}
	}
}

static void add_window(assay_run *run, uint32_t device, const struct window *w)
{
	assay_step_time_table *out = &run->part.t.step_time;
	uint32_t r = assay_add(&run->part.t, ASSAY_T_step_time);
	const int64_t *length = w->cover.length;
	out->step[r] = w->step;
	out->device[r] = device;
	out->events[r] = w->events;
	out->start[r] = w->from;
	out->span[r] = w->to - w->from;
	out->compute[r] = length[ASSAY_SET_COMPUTE];
	out->exposed_comm[r] = length[ASSAY_SET_COMPUTE_COMM] - length[ASSAY_SET_COMPUTE];
	out->exposed_copy[r] = length[ASSAY_SET_ALL] - length[ASSAY_SET_COMPUTE_COMM];
	out->idle[r] = out->span[r] - length[ASSAY_SET_ALL];
	assert(out->idle[r] >= 0);
}

void assay_step_times(assay_run *run, const assay_order *order, const int64_t *since)
{
	for (uint32_t d = 0; d < order->device.n; d++) {
		windows w = {0};
		uint32_t source = run->part.t.device_time.source[d];
		bool known = since && source < run->part.t.source.n;
		source_steps(run, source, &w);
		if (w.n) {
			find_windows(run, order, &order->device.p[d], &w);
			drop_empty(&w);
			tile_windows(run, order, &order->device.p[d],
				     known ? since[source] : INT64_MIN, &w);
			cover_windows(run, order, &order->device.p[d], &w);
		}
		for (size_t i = 0; i < w.n; i++)
			if (!w.p[i].cover.off)
				add_window(run, d, &w.p[i]);
		assay_vec_free(&w);
	}
}

static void add_test_step(assay_run *run, int64_t ts, int64_t dur)
{
	uint32_t s = assay_add(&run->part.t, ASSAY_T_step);
	run->part.t.step.source[s] = run->part.source;
	run->part.t.step.ts[s] = ts;
	run->part.t.step.dur[s] = dur;
}

/* A launch at `call` (none when negative) of work [ts, ts + dur). */
static void add_test_work(assay_run *run, const char *name, int64_t call, int64_t ts, int64_t dur)
{
	uint32_t launch = call < 0 ? ASSAY_NO_ROW
				   : assay_hand_host(run, ASSAY_HOST_RUNTIME, "launch", call, 1);
	assay_hand_gpu(run, name, ts, dur, launch);
}

static void measure(assay_run *run)
{
	assay_order order;
	assay_kernels(run);
	assay_order_build(&order, run);
	assay_partition(run, &order);
	assay_step_times(run, &order, NULL);
	assay_order_free(&order);
}

TEST(a_step_window_holds_what_the_step_launched)
{
	assay_run *run = assay_run_new();
	add_test_step(run, 0, 100);
	add_test_step(run, 100, 100);
	add_test_step(run, 200, 100);                     /* launches nothing */
	add_test_work(run, "c", -1, 5, 20);               /* queued before recording: 5-25 */
	add_test_work(run, "c", 10, 20, 20);              /* 20-40 */
	add_test_work(run, "nccl", 20, 35, 30);           /* exposed 40-65 */
	add_test_work(run, "c", 90, 120, 10);             /* late, still step 1 */
	add_test_work(run, "MEMORY_COPY_", 110, 125, 15); /* step 2: 125-140, hidden until 130 */
	measure(run);
	const assay_step_time_table *s = &run->part.t.step_time;
	CHECK_EQ(s->n, 2);
	CHECK(s->start[0] == 20 && s->span[0] == 110 && s->events[0] == 3);
	CHECK(s->compute[0] == 30 && s->exposed_comm[0] == 25 && s->exposed_copy[0] == 0);
	CHECK_EQ(s->idle[0], 55);
	CHECK(s->start[1] == 130 && s->span[1] == 10 && s->compute[1] == 0);
	CHECK(s->exposed_copy[1] == 10 && s->idle[1] == 0);
	assay_run_free(run);
	return 0;
}

/* Three steps of 100 that load for 90 each: no step is without its wait. */
TEST(the_wait_in_front_belongs_to_the_step_that_waited)
{
	assay_run *run = assay_run_new();
	for (int i = 0; i < 3; i++) {
		add_test_step(run, i * 100, 100);
		add_test_work(run, "c", i * 100 + 90, i * 100 + 90, 10);
	}
	measure(run);
	const assay_step_time_table *s = &run->part.t.step_time;
	CHECK_EQ(s->n, 3);
	for (int i = 0; i < 3; i++)
		CHECK(s->start[i] == i * 100 && s->span[i] == 100 && s->idle[i] == 90);
	assay_run_free(run);
	return 0;
}

/* A step submits work at 1 and 2 us, behind `ahead` pieces of work, the second by a call that takes
 * long; it begins `late` ns later. */
static int64_t first_step_start(int ahead, const char *call, int64_t late)
{
	assay_run *run = assay_run_new();
	add_test_step(run, 1000, 9 * ASSAY_SUSPICIOUS_LATENCY);
	for (int i = 0; i < ahead; i++)
		add_test_work(run, "c", i, 100 + 10 * i, 10);
	add_test_work(run, "c", 1000, 1100, 50);
	uint32_t launch =
		assay_hand_host(run, ASSAY_HOST_RUNTIME, call, 2000, *call == 'q' ? 1 : late);
	assay_hand_gpu(run, "c", 2000 + late, 100, launch);
	measure(run);
	int64_t start = run->part.t.step_time.n ? run->part.t.step_time.start[0] : -1;
	assay_run_free(run);
	return start;
}

/* Three steps of 10 ms with one piece of work each, which begins at once or waits for 5 ms. */
static assay_run *steps_with_late_work(const bool late[3])
{
	const int64_t ms = ASSAY_SUSPICIOUS_LATENCY;
	assay_run *run = assay_run_new();
	for (int i = 0; i < 3; i++) {
		add_test_step(run, 10 * i * ms, 10 * ms);
		add_test_work(run, "c", 10 * i * ms + 1, 10 * i * ms + (late[i] ? 5 * ms : 5), 100);
	}
	measure(run);
	return run;
}

TEST(late_work_of_later_steps_leaves_the_first_step_alone)
{
	const int64_t ms = ASSAY_SUSPICIOUS_LATENCY;
	assay_run *run = steps_with_late_work((const bool[]){true, false, true});
	const assay_step_time_table *t = &run->part.t.step_time;
	CHECK(t->n == 3 && t->start[0] == 5 * ms && t->span[0] == 100);
	CHECK(t->start[1] == t->start[0] + 100 && t->span[2] == 15 * ms - 5);
	assay_run_free(run);
	return 0;
}

TEST(work_that_is_late_in_the_next_step_too_does_not_come_from_before_the_recording)
{
	const int64_t ms = ASSAY_SUSPICIOUS_LATENCY;
	assay_run *run = steps_with_late_work((const bool[]){true, true, true});
	const assay_step_time_table *t = &run->part.t.step_time;
	CHECK(t->n == 3 && t->start[0] == 0 && t->span[0] == 5 * ms + 100);
	CHECK(t->span[1] == 10 * ms && t->span[2] == 10 * ms);
	assay_run_free(run);
	return 0;
}

TEST(work_from_before_the_recording_is_no_part_of_the_first_step)
{
	const int64_t ms = ASSAY_SUSPICIOUS_LATENCY;
	CHECK_EQ(first_step_start(0, "quick", 3 * ms), 2000 + 3 * ms);
	CHECK_EQ(first_step_start(0, "quick", ms), 1000);      /* a launch may take so long */
	CHECK_EQ(first_step_start(20, "quick", 3 * ms), 1000); /* the device was seen at work */
	CHECK_EQ(first_step_start(0, "cudaLaunchKernel", 3 * ms), 1000); /* that loads code */
	CHECK_EQ(first_step_start(0, "cudaMemcpyAsync", 3 * ms), 2000 + 3 * ms);
	return 0;
}

TEST(step_windows_agree_with_counting_nanoseconds)
{
	enum { SPAN = 300, STEPS = 4 };
	uint64_t x = 88172645463325252u;
	for (int round = 0; round < 200; round++) {
		assay_run *run = assay_run_new();
		uint8_t at[SPAN + 128] = {0};
		int64_t from[STEPS] = {SPAN, SPAN, SPAN, SPAN}, to[STEPS] = {0};
		for (int s = 0; s < STEPS; s++)
			add_test_step(run, s * 50, 50);
		for (int i = 0; i < 3 + round % 20; i++) {
			x ^= x << 13, x ^= x >> 7, x ^= x << 17;
			int64_t call = (int64_t)(x % 220), ts = call + (int64_t)(x >> 20 & 63);
			int64_t dur = 1 + (int64_t)(x >> 30 & 31);
			int c = (int)((x >> 40) % 3);
			add_test_work(run,
				      c == 0   ? "c"
				      : c == 1 ? "nccl"
					       : "MEMORY_COPY_",
				      call, ts, dur);
			for (int64_t k = ts; k < ts + dur; k++)
				at[k] |= (uint8_t)(1 << c);
			if (call >= STEPS * 50)
				continue;
			from[call / 50] = ts < from[call / 50] ? ts : from[call / 50];
			to[call / 50] = ts + dur > to[call / 50] ? ts + dur : to[call / 50];
		}
		measure(run);
		const assay_step_time_table *got = &run->part.t.step_time;
		CHECK(got->n > 0);
		uint32_t first = got->step[0];
		int64_t start = from[first], before = 0;
		while (start > first * 50 && !at[start - 1])
			start--;
		before = start;
		for (size_t i = 0; i < got->n; i++) {
			uint32_t s = got->step[i];
			int64_t want[4] = {0};
			CHECK(got->start[i] == before && got->span[i] == to[s] - before);
			int64_t begin = before;
			before = to[s];
			for (int64_t k = begin; k < to[s]; k++)
				want[at[k] & 1 ? 0 : at[k] & 2 ? 1 : at[k] & 4 ? 2 : 3]++;
			CHECK_EQ(got->compute[i], want[0]);
			CHECK_EQ(got->exposed_comm[i], want[1]);
			CHECK_EQ(got->exposed_copy[i], want[2]);
			CHECK_EQ(got->idle[i], want[3]);
		}
		assay_run_free(run);
	}
	return 0;
}
