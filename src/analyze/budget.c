/* The waste budget, measured: the seven buckets people know, exposed copies beside them, and an
 * honest rest. Buckets of time sum to the window in integer ns; what is no time is not in ns. */
#include "analyze/analyze.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>

#include "analyze/useful_parts.h"
#include "analyze/window.h"
#include "base/test.h"

struct bucket {
	const char *name;
	int64_t total; /* -1: unknown */
	uint64_t evidence;
	uint32_t gap;
	double coverage;
	const char *how;
};

static void add_bucket(assay_run *run, const assay_window *w, const struct bucket *b)
{
	assay_budget_table *t = &run->part.t.budget;
	uint32_t r = assay_add(&run->part.t, ASSAY_T_budget);
	t->name[r] = assay_sid_of(run, b->name);
	t->unit[r] = assay_sid_of(run, "ns");
	t->how[r] = assay_sid_of(run, b->how);
	t->total[r] = b->total;
	if (b->total < 0)
		return;
	t->value[r] = (double)b->total / (double)(w->steps ? w->steps : 1);
	t->evidence[r] = b->evidence;
	t->gap[r] = b->gap;
	t->coverage[r] = b->coverage;
	t->state[r] = ASSAY_STATE_MEASURED;
}

/* Causes that belong to a bucket: their time, gaps, and the longest gap. What is suspicious
 * explains nothing, whatever its cause. */
static struct bucket idle_bucket(const assay_window *w, int id)
{
	struct bucket b = {assay_idle_bucket_name[id], 0, 0, ASSAY_NO_ROW, 1,
			   assay_idle_bucket_how[id]};
	int64_t longest = 0;
	for (int c = 0; c < ASSAY_WHY_COUNT; c++) {
		if (assay_why_rows[c].bucket != id || !w->gaps[c])
			continue;
		b.total += w->cause[c];
		b.evidence += w->gaps[c];
		if (w->longest_part[c] > longest) {
			longest = w->longest_part[c];
			b.gap = w->longest[c];
		}
	}
	if (id == assay_why_rows[ASSAY_WHY_LAUNCH_LATENCY].bucket)
		b.total -= w->suspicious;
	if (id == ASSAY_BUCKET_UNEXPLAINED)
		b.total += w->suspicious;
	return b;
}

static void add_idle_buckets(assay_run *run, const assay_window *w)
{
	int64_t unexplained = w->cause[ASSAY_WHY_UNLINKED] + w->suspicious, sum = 0;
	double coverage = w->idle ? (double)(w->idle - unexplained) / (double)w->idle : 1;
	bool blind = w->idle && unexplained == w->idle;
	for (int id = 0; id < ASSAY_BUCKET_COUNT; id++) {
		struct bucket b = idle_bucket(w, id);
		sum += b.total;
		if (id != ASSAY_BUCKET_UNEXPLAINED) {
			b.coverage = coverage;
			b.total = blind ? -1 : b.total;
			b.how = blind ? "launch calls were not recorded" : b.how;
		}
		add_bucket(run, w, &b);
	}
	assert(sum == w->idle);
	(void)sum;
}

/* Capacity is not time: how much memory was never used. */
static void add_headroom(assay_run *run)
{
	const assay_metric_table *m = &run->part.t.metric;
	uint32_t peak = assay_metric_known(run, "hbm_peak_gb"),
		 size = assay_metric_known(run, "hbm_total_gb");
	assay_budget_table *t = &run->part.t.budget;
	uint32_t r = assay_add(&run->part.t, ASSAY_T_budget);
	bool known = peak != ASSAY_NO_ROW && size != ASSAY_NO_ROW;
	t->name[r] = assay_sid_of(run, "memory_headroom");
	t->unit[r] = assay_sid_of(run, "GiB");
	t->how[r] = assay_sid_of(run, known ? "memory size less the peak; capacity, not time"
					    : "no telemetry or no device size");
	if (!known)
		return;
	t->value[r] = m->value[size] - m->value[peak];
	t->evidence[r] = 1;
	t->coverage[r] = m->state[peak] == ASSAY_STATE_MEASURED ? 1 : 0.5;
	t->state[r] = m->state[peak];
}

static const char *how_long(assay_run *run, const assay_window *w)
{
	if (!w->steps)
		return "main device, whole recording: no steps known";
	if (!w->warmup)
		return "main device, from its first step to its last";
	return assay_printf(&run->arena,
			    "main device, all steps but %" PRIu64
			    " at the start that took several times as long",
			    w->warmup);
}

static const char *why_unknown(const assay_run *run)
{
	const assay_roof_table *r = &run->part.t.roof;
	if (!run->part.t.op_shape.n || !r->n || isnan(r->flops[0]))
		return "needs the shapes of operators: record with record_shapes=True";
	return r->name[0] ? "no compute whose work is known" : assay_z(run, r->how[0]);
}

/* Parts of useful_gpu: beside the buckets that sum to the window, not among them. */
static void add_useful_parts(assay_run *run, const assay_window *w)
{
	int64_t part[ASSAY_USEFUL_PARTS_COUNT];
	bool known = assay_useful_sums(run, w, part);
	const assay_call_part_table *p = &run->part.t.call_part;
	double covered = known ? 1 - (double)part[ASSAY_USEFUL_UNMODELLED] / (double)w->compute : 0;
	for (int i = 0; i < ASSAY_USEFUL_PARTS_COUNT; i++) {
		if (!known && i != ASSAY_USEFUL_PRECISION && i != ASSAY_USEFUL_SHAPE)
			continue; /* two that are asked for stand for all that is not known */
		const struct bucket b = {.name = assay_useful_name[i],
					 .total = known ? part[i] : -1,
					 .evidence = p->n,
					 .gap = ASSAY_NO_ROW,
					 .coverage = i == ASSAY_USEFUL_UNMODELLED ? 1 : covered,
					 .how = known ? assay_useful_text[i] : why_unknown(run)};
		add_bucket(run, w, &b);
		run->part.t.budget.part_of[run->part.t.budget.n - 1] =
			assay_sid_of(run, "useful_gpu");
	}
}

void assay_budget(assay_run *run, const assay_window *w)
{
	if (w->device == ASSAY_NO_ROW)
		return;
	const struct bucket busy[] = {
		{"useful_gpu", w->compute, w->events[ASSAY_CLASS_COMPUTE], ASSAY_NO_ROW, 1,
		 "time with compute on the device"},
		{"comm_excess", w->comm, w->events[ASSAY_CLASS_COMM], ASSAY_NO_ROW, 1,
		 "communication that no compute hides"},
		{"exposed_copy", w->copy, w->events[ASSAY_CLASS_COPY], ASSAY_NO_ROW, 1,
		 "copies that neither compute nor communication hides"},
	};
	for (size_t i = 0; i < ASSAY_COUNT_OF(busy); i++)
		add_bucket(run, w, &busy[i]);
	add_idle_buckets(run, w);
	add_useful_parts(run, w);
	add_headroom(run);
	const struct bucket total = {"total", assay_window_length(w), 0, ASSAY_NO_ROW,
				     1,       how_long(run, w)};
	add_bucket(run, w, &total);
}

static int64_t test_total(const assay_run *run, const char *name)
{
	return run->part.t.budget.total[assay_budget_find(run, name)];
}

TEST(buckets_of_time_sum_to_the_window)
{
	assay_run *run = assay_run_new();
	assay_window w = {.device = 0,
			  .from = 100,
			  .to = 1100,
			  .steps = 2,
			  .compute = 500,
			  .comm = 100,
			  .copy = 50,
			  .idle = 350};
	for (int c = 0; c < ASSAY_WHY_COUNT; c++)
		w.longest[c] = assay_add(&run->part.t, ASSAY_T_gap);
	w.cause[ASSAY_WHY_HOST_DATA] = 200, w.gaps[ASSAY_WHY_HOST_DATA] = 2;
	w.cause[ASSAY_WHY_LAUNCH_LATENCY] = 90, w.gaps[ASSAY_WHY_LAUNCH_LATENCY] = 3;
	w.cause[ASSAY_WHY_UNLINKED] = 60, w.gaps[ASSAY_WHY_UNLINKED] = 1;
	w.suspicious = 40;
	assay_budget(run, &w);
	CHECK_EQ(test_total(run, "data_wait"), 200);
	CHECK_EQ(test_total(run, "host_gap"), 50);
	CHECK_EQ(test_total(run, "unexplained"), 100);
	CHECK_EQ(test_total(run, "useful_gpu") + test_total(run, "data_wait") +
			 test_total(run, "host_gap") + test_total(run, "comm_excess") +
			 test_total(run, "exposed_copy") + test_total(run, "unexplained"),
		 test_total(run, "total"));
	const assay_budget_table *b = &run->part.t.budget;
	CHECK(b->value[assay_budget_find(run, "data_wait")] == 100);
	CHECK(b->coverage[assay_budget_find(run, "host_gap")] == 250.0 / 350);
	CHECK(b->state[assay_budget_find(run, "kernel_shape")] == ASSAY_STATE_UNKNOWN);
	assay_run_free(run);
	return 0;
}

TEST(without_launch_calls_waiting_is_unknown_not_zero)
{
	assay_run *run = assay_run_new();
	assay_window w = {.to = 100, .compute = 40, .idle = 60};
	w.longest[ASSAY_WHY_UNLINKED] = assay_add(&run->part.t, ASSAY_T_gap);
	w.cause[ASSAY_WHY_UNLINKED] = 60, w.gaps[ASSAY_WHY_UNLINKED] = 1;
	assay_budget(run, &w);
	CHECK_EQ(test_total(run, "data_wait"), -1);
	CHECK_EQ(test_total(run, "host_gap"), -1);
	CHECK_EQ(test_total(run, "unexplained"), 60);
	assay_run_free(run);
	return 0;
}

static void test_metric(assay_run *run, const char *name, double value, assay_state state)
{
	uint32_t r = assay_add(&run->part.t, ASSAY_T_metric);
	run->part.t.metric.name[r] = assay_sid_of(run, name);
	run->part.t.metric.value[r] = value;
	run->part.t.metric.state[r] = (uint8_t)state;
}

TEST(memory_headroom_is_the_size_less_the_peak_where_both_are_known)
{
	for (int known = 0; known < 3; known++) { /* the size alone; an estimate; measured */
		assay_run *run = assay_run_new();
		assay_window w = {.to = 100, .compute = 100};
		test_metric(run, "hbm_total_gb", 80, ASSAY_STATE_MEASURED);
		if (known)
			test_metric(run, "hbm_peak_gb", 30,
				    known > 1 ? ASSAY_STATE_MEASURED : ASSAY_STATE_ESTIMATED);
		assay_budget(run, &w);
		const assay_budget_table *b = &run->part.t.budget;
		uint32_t r = assay_budget_find(run, "memory_headroom");
		CHECK_EQ(b->state[r] != ASSAY_STATE_UNKNOWN, known > 0);
		CHECK(!known || (b->value[r] == 50 && b->evidence[r] == 1));
		CHECK(!known || b->coverage[r] == (known > 1 ? 1 : 0.5));
		assay_run_free(run);
	}
	return 0;
}

/* The row of a bucket as one text: what it sums, per step, from how many events and which gap. */
static bool test_row(assay_run *run, const char *name, const char *want)
{
	const assay_budget_table *b = &run->part.t.budget;
	uint32_t r = assay_budget_find(run, name);
	const char *got =
		assay_printf(&run->arena, "%lld %g %llu %d %g %d %s", (long long)b->total[r],
			     b->value[r], (unsigned long long)b->evidence[r], (int)b->gap[r],
			     b->coverage[r], b->state[r], assay_z(run, b->how[r]));
	if (strcmp(got, want))
		fprintf(stderr, "%s: %s, not %s\n", name, got, want);
	return !strcmp(got, want);
}

static void test_cause(assay_window *w, assay_why why, int64_t dur, uint64_t gaps, uint32_t longest,
		       int64_t part)
{
	w->cause[why] = dur;
	w->gaps[why] = gaps;
	w->longest[why] = longest;
	w->longest_part[why] = part;
}

TEST(a_bucket_says_its_time_per_step_its_evidence_and_its_longest_gap)
{
	assay_run *run = assay_run_new();
	assay_window w = {.to = 1000, .steps = 4, .warmup = 3, .compute = 400, .comm = 120};
	w.copy = 80;
	w.idle = 400;
	w.events[ASSAY_CLASS_COMPUTE] = 5;
	w.events[ASSAY_CLASS_COMM] = 6;
	w.events[ASSAY_CLASS_COPY] = 7;
	for (int i = 0; i < 6; i++)
		assay_add(&run->part.t, ASSAY_T_gap);
	test_cause(&w, ASSAY_WHY_HOST_SYNC, 100, 2, 1, 70);
	test_cause(&w, ASSAY_WHY_HOST_OP, 120, 3, 2, 90);
	test_cause(&w, ASSAY_WHY_HOST_RUNTIME, 90, 1, 3,
		   90); /* the longest of host_gap: of equals the first */
	test_cause(&w, ASSAY_WHY_QUEUED, 70, 1, 4, 70);
	test_cause(&w, ASSAY_WHY_UNLINKED, 20, 1, 5, 20);
	assay_budget(run, &w);
	CHECK(test_row(run, "useful_gpu", "400 100 5 -1 1 2 time with compute on the device"));
	CHECK(test_row(run, "comm_excess", "120 30 6 -1 1 2 communication that no compute hides"));
	CHECK(test_row(run, "exposed_copy",
		       "80 20 7 -1 1 2 copies that neither compute nor communication hides"));
	const assay_budget_table *b = &run->part.t.budget;
	uint32_t host = assay_budget_find(run, "host_gap");
	CHECK(b->total[host] == 310 && b->value[host] == 77.5 && b->evidence[host] == 6);
	CHECK_EQ(b->gap[host], 3);
	CHECK(b->coverage[host] == 0.95);
	CHECK_EQ(b->gap[assay_budget_find(run, "device_wait")], 4);
	CHECK_EQ(b->gap[assay_budget_find(run, "unexplained")], 5);
	CHECK(b->coverage[assay_budget_find(run, "unexplained")] == 1);
	CHECK(test_row(
		run, "total",
		"1000 250 0 -1 1 2 main device, all steps but 3 at the start that took several times as long"));
	assay_run_free(run);
	return 0;
}

TEST(a_budget_says_what_its_window_is)
{
	static const struct {
		uint64_t steps, warmup;
		double value;
		const char *how;
	} cases[] = {
		{0, 0, 100, "main device, whole recording: no steps known"},
		{1, 0, 100, "main device, from its first step to its last"},
		{5, 1, 20,
		 "main device, all steps but 1 at the start that took several times as long"},
	};
	for (size_t i = 0; i < ASSAY_COUNT_OF(cases); i++) {
		assay_run *run = assay_run_new();
		assay_window w = {.from = 40,
				  .to = 160,
				  .off = 20,
				  .compute = 100,
				  .steps = cases[i].steps,
				  .warmup = cases[i].warmup};
		assay_budget(run, &w);
		uint32_t r = assay_budget_find(run, "total");
		CHECK_EQ(run->part.t.budget.total[r], 100);
		CHECK(run->part.t.budget.value[r] == cases[i].value);
		CHECK(!strcmp(assay_z(run, run->part.t.budget.how[r]), cases[i].how));
		/* no idle time: nothing of it is unknown */
		CHECK_EQ(test_total(run, "host_gap"), 0);
		CHECK(run->part.t.budget.coverage[assay_budget_find(run, "host_gap")] == 1);
		assay_run_free(run);
	}
	return 0;
}

TEST(a_run_without_a_device_has_no_budget)
{
	assay_run *run = assay_run_new();
	assay_window w = {.device = ASSAY_NO_ROW};
	assay_budget(run, &w);
	CHECK_EQ(run->part.t.budget.n, 0);
	assay_run_free(run);
	return 0;
}

TEST(parts_of_compute_stand_below_it_and_sum_to_it)
{
	assay_run *run = assay_run_new();
	assay_window w = {.to = 1000, .compute = 1000, .steps = 2};
	assay_tables *t = &run->part.t;
	for (int i = 0; i < 2; i++) {
		uint32_t p = assay_add(t, ASSAY_T_call_part);
		t->call_part.at_bound[p] = 200;
		t->call_part.precision[p] = 100;
		t->call_part.shape[p] = 50;
		t->call_part.rest[p] = 25;
	}
	assay_budget(run, &w); /* 250 of 1000 belong to no call */
	int64_t sum = 0;
	for (int i = 0; i < ASSAY_USEFUL_PARTS_COUNT; i++) {
		uint32_t r = assay_budget_find(run, assay_useful_name[i]);
		sum += t->budget.total[r];
		CHECK_EQ(t->budget.part_of[r], assay_sid_of(run, "useful_gpu"));
		CHECK(t->budget.state[r] == ASSAY_STATE_MEASURED && t->budget.evidence[r] == 2);
		CHECK(t->budget.coverage[r] == (i == ASSAY_USEFUL_UNMODELLED ? 1 : 0.75));
		CHECK(t->budget.value[r] == (double)t->budget.total[r] / 2);
		CHECK(!strcmp(assay_z(run, t->budget.how[r]), assay_useful_text[i]));
	}
	CHECK_EQ(sum, 1000);
	CHECK_EQ(test_total(run, "at_bound"), 400);
	CHECK_EQ(test_total(run, "unmodelled"), 250);
	CHECK_EQ(t->budget.part_of[assay_budget_find(run, "useful_gpu")], 0);
	CHECK_EQ(t->budget.part_of[assay_budget_find(run, "total")], 0);
	assay_run_free(run);
	return 0;
}

TEST(parts_of_compute_that_are_not_known_say_what_is_missing)
{
	static const char
		*const shapes = "needs the shapes of operators: record with record_shapes=True",
		       *const why[] = {shapes, shapes, shapes, "no rates of this device",
				       "no compute whose work is known"};
	for (int known = 0; known < (int)ASSAY_COUNT_OF(why); known++) {
		assay_run *run = assay_run_new();
		assay_tables *t = &run->part.t;
		assay_window w = {.to = 100, .compute = 100};
		if (known > 0)
			assay_add(t, ASSAY_T_op_shape);
		if (known > 1)
			assay_add(t, ASSAY_T_roof);
		if (known > 2) {
			t->roof.flops[0] = 0;
			t->roof.how[0] = assay_sid_of(run, "no rates of this device");
		}
		if (known > 3)
			t->roof.name[0] = assay_sid_of(run, "MI300X");
		assay_budget(run, &w);
		uint32_t shape = assay_budget_find(run, "kernel_shape");
		CHECK(!strcmp(assay_z(run, t->budget.how[shape]), why[known]));
		CHECK_EQ(test_total(run, "precision_path"), -1);
		CHECK_EQ(t->budget.state[shape], ASSAY_STATE_UNKNOWN);
		CHECK_EQ(assay_budget_find(run, "at_bound"), ASSAY_NO_ROW);
		CHECK_EQ(assay_budget_find(run, "unmodelled"), ASSAY_NO_ROW);
		assay_run_free(run);
	}
	return 0;
}
