/* Scopes across threads, rule by rule. Times in us. */
#include <math.h>

#include "base/test.h"
#include "resolve/scopes.h"

enum { US = 1000, MAIN = 1, OTHER = 2, WORKER = 3 };

static assay_run *new_run(void)
{
	assay_run *run = assay_run_new();
	run->part.source = assay_add(&run->part.t, ASSAY_T_source);
	return run;
}

static uint32_t span_of(assay_run *run, assay_host_kind kind, int64_t pid, int64_t tid,
			const char *name, int64_t from, int64_t to)
{
	assay_tables *t = &run->part.t;
	uint32_t h = assay_add(t, ASSAY_T_host);
	t->host.kind[h] = (uint8_t)kind;
	t->host.name[h] = assay_sid_of(run, name);
	t->host.track[h] = assay_thread_track(&run->part, pid, tid);
	t->host.ts[h] = from * US;
	t->host.dur[h] = (to - from) * US;
	t->host.detail[h] = assay_add(t, assay_host_detail[kind]);
	return h;
}

static uint32_t span(assay_run *run, assay_host_kind kind, int64_t tid, const char *name,
		     int64_t from, int64_t to)
{
	return span_of(run, kind, 1, tid, name, from, to);
}

static uint32_t range(assay_run *run, int64_t tid, const char *name, int64_t from, int64_t to)
{
	return span(run, ASSAY_HOST_MARKER, tid, name, from, to);
}

static uint32_t call(assay_run *run, int64_t tid, int64_t from, int64_t to)
{
	return span(run, ASSAY_HOST_RUNTIME, tid, "cudaEventQuery", from, to);
}

/* A call of 2 us, and the kernel it launched. */
static uint32_t launch_of(assay_run *run, int64_t pid, int64_t tid, int64_t at)
{
	assay_tables *t = &run->part.t;
	uint32_t h = span_of(run, ASSAY_HOST_RUNTIME, pid, tid, "cudaLaunchKernel", at, at + 2);
	uint32_t g = assay_add(t, ASSAY_T_gpu);
	t->api.corr[t->host.detail[h]] = t->gpu.corr[g] = g + 1;
	t->gpu.ts[g] = (at + 5) * US;
	t->gpu.dur[g] = US;
	t->gpu.track[g] = assay_stream_track(&run->part, 0, 7);
	return g;
}

static uint32_t launch(assay_run *run, int64_t tid, int64_t at)
{
	return launch_of(run, 1, tid, at);
}

/* Launches of a worker every 10 us from first to last; the first of them. */
static uint32_t burst(assay_run *run, int64_t tid, int64_t first, int64_t last)
{
	uint32_t g = launch(run, tid, first);
	for (int64_t at = first + 10; at <= last; at += 10)
		launch(run, tid, at);
	return g;
}

/* The waiter calls, waits in its range, and calls again. */
static void main_waits(assay_run *run, const char *name, int64_t from, int64_t to)
{
	range(run, MAIN, name, from, to);
	launch(run, MAIN, from + 2);
	launch(run, MAIN, to - 4);
}

/* Name of the range that work is inferred to be in; "" when in none, "own" when it is not
 * inferred. */
static const char *inferred_in(assay_run *run, uint32_t g)
{
	const assay_tables *t = &run->part.t;
	uint32_t scope = t->gpu_scope.scope[g];
	if (scope == ASSAY_NO_ROW)
		return t->gpu_scope.how[g] == ASSAY_SCOPE_HOW_NONE ? "" : "forward";
	return t->gpu_scope.how[g] == ASSAY_SCOPE_HOW_INFERRED ? assay_z(run, t->scope.name[scope])
							       : "own";
}

static bool is_in(assay_run *run, uint32_t g, const char *name)
{
	return !strcmp(inferred_in(run, g), name);
}

/* One burst of a worker at [110, 190] beside what the caller put there; is it inferred, and
 * where? */
static bool worker_is_in(assay_run *run, const char *name)
{
	uint32_t g = burst(run, WORKER, 110, 190);
	assay_scopes(run, NULL);
	bool as_wanted = is_in(run, g, name);
	assay_run_free(run);
	return as_wanted;
}

TEST(work_of_a_thread_is_in_the_range_its_waiter_left_open)
{
	assay_run *run = new_run();
	range(run, MAIN, "step", 0, 300);
	main_waits(run, "backward", 90, 210);
	uint32_t g = burst(run, WORKER, 110, 190);
	uint32_t query = call(run, WORKER, 115, 116);
	assay_scopes(run, NULL);
	const assay_tables *t = &run->part.t;
	CHECK(is_in(run, g, "backward") && is_in(run, g + 8, "backward") && is_in(run, 0, "own"));
	uint32_t scope = t->gpu_scope.scope[g];
	CHECK(t->host_scope.scope[query] == scope);
	CHECK_EQ(t->host_scope.how[query], ASSAY_SCOPE_HOW_INFERRED);
	CHECK(!strcmp(assay_z(run, t->scope.name[t->scope.up[scope]]), "step"));
	assay_scopes(run, &(assay_scope_opts){.exact = true});
	CHECK(is_in(run, g, "") && t->host_scope.scope[query] == ASSAY_NO_ROW);
	CHECK_EQ(t->host_scope.how[query], ASSAY_SCOPE_HOW_NONE);
	assay_run_free(run);
	return 0;
}

TEST(of_nested_ranges_the_innermost_that_is_still_open_is_left)
{
	assay_run *run = new_run();
	range(run, MAIN, "step", 0, 300);
	range(run, MAIN, "backward", 80, 220);
	range(run, MAIN, "loss", 85, 100);
	launch(run, MAIN, 90);
	CHECK(worker_is_in(run, "backward"));
	return 0;
}

TEST(waits_memory_and_events_of_a_handed_call_say_that_it_is_inferred)
{
	assay_run *run = new_run();
	assay_tables *t = &run->part.t;
	main_waits(run, "backward", 90, 210);
	burst(run, WORKER, 110, 190);
	uint32_t w = assay_add(t, ASSAY_T_sync), e = assay_add(t, ASSAY_T_event_record);
	uint32_t by_call = assay_add(t, ASSAY_T_alloc), by_time = assay_add(t, ASSAY_T_alloc),
		 late = assay_add(t, ASSAY_T_alloc);
	t->sync.corr[w] = t->event_record.corr[e] = t->alloc.corr[by_call] = 5;
	t->sync.track[w] = t->event_record.track[e] = assay_stream_track(&run->part, 0, 7);
	t->alloc.track[by_call] = t->alloc.track[by_time] = t->alloc.track[late] =
		assay_thread_track(&run->part, 1, WORKER);
	t->alloc.ts[by_call] = t->alloc.ts[by_time] = 145 * US;
	t->alloc.ts[late] = 250 * US;
	assay_scopes(run, NULL);
	CHECK(t->sync_scope.scope[w] == 0 && t->event_scope.scope[e] == 0);
	CHECK(t->alloc_scope.scope[by_call] == 0 && t->alloc_scope.scope[by_time] == 0);
	CHECK_EQ(t->sync_scope.how[w], ASSAY_SCOPE_HOW_INFERRED);
	CHECK_EQ(t->event_scope.how[e], ASSAY_SCOPE_HOW_INFERRED);
	CHECK_EQ(t->alloc_scope.how[by_time], ASSAY_SCOPE_HOW_INFERRED);
	CHECK(t->alloc_scope.scope[late] == ASSAY_NO_ROW && !t->alloc_scope.how[late]);
	assay_run_free(run);
	return 0;
}

TEST(a_waiter_that_calls_or_leaves_its_range_meanwhile_did_not_wait)
{
	assay_run *calls = new_run(), *leaves = new_run(), *enters = new_run(),
		  *in_call = new_run();
	main_waits(calls, "a", 90, 210);
	launch(calls, MAIN, 133); /* between two calls of the worker */
	CHECK(worker_is_in(calls, ""));
	main_waits(leaves, "a", 90, 151);
	range(leaves, MAIN, "b", 151, 210);
	CHECK(worker_is_in(leaves, ""));
	main_waits(enters, "a", 90, 210);
	range(enters, MAIN, "b", 151, 205);
	CHECK(worker_is_in(enters, ""));
	range(in_call, MAIN, "a", 90, 210);
	call(in_call, MAIN, 100, 200); /* a call that waits for the device */
	CHECK(worker_is_in(in_call, ""));
	return 0;
}

TEST(an_operator_or_Python_function_shows_that_a_thread_runs)
{
	assay_run *in_op = new_run(), *python = new_run(), *around = new_run();
	main_waits(in_op, "a", 90, 210);
	span(in_op, ASSAY_HOST_OP, MAIN, "aten::add", 100, 200);
	CHECK(worker_is_in(in_op, ""));
	main_waits(python, "a", 90, 210);
	span(python, ASSAY_HOST_PYTHON, MAIN, "f", 150, 151);
	CHECK(worker_is_in(python, ""));
	main_waits(around, "a", 90, 210);
	span(around, ASSAY_HOST_PYTHON, MAIN, "backward", 91, 205);
	span(around, ASSAY_HOST_OVERHEAD, MAIN, "Buffer Flush", 150, 151); /* of the recorder */
	CHECK(worker_is_in(around, "a"));
	return 0;
}

TEST(two_threads_that_could_have_waited_are_one_too_many)
{
	assay_run *two = new_run(), *calls = new_run(), *no_range = new_run();
	main_waits(two, "a", 90, 210);
	range(two, OTHER, "b", 95, 205);
	call(two, OTHER, 96, 97);
	CHECK(worker_is_in(two, ""));
	main_waits(calls, "a", 90, 210);
	range(calls, OTHER, "b", 95, 205);
	call(calls, OTHER, 133, 134);
	CHECK(worker_is_in(calls, "a"));
	main_waits(no_range, "a", 90, 210);
	call(no_range, OTHER, 96, 97);
	CHECK(worker_is_in(no_range, "a"));
	return 0;
}

TEST(a_range_left_open_for_long_by_an_idle_thread_disputes_nothing)
{
	assay_run *run = new_run();
	main_waits(run, "backward", 90, 210);
	range(run, OTHER, "serve", 0, 1000);
	call(run, OTHER, 1, 2);
	CHECK(worker_is_in(run, "backward"));
	return 0;
}

TEST(a_thread_that_only_polls_neither_inherits_nor_disputes)
{
	assay_run *run = new_run();
	main_waits(run, "backward", 90, 210);
	uint32_t poll = 0;
	for (int64_t at = 0; at < 300; at += 4)
		poll = call(run, OTHER, at, at + 2);
	uint32_t g = burst(run, WORKER, 110, 190);
	assay_scopes(run, NULL);
	CHECK(is_in(run, g, "backward"));
	for (uint32_t h = 0; h <= poll; h++)
		CHECK(run->part.t.host_scope.how[h] != ASSAY_SCOPE_HOW_INFERRED);
	assay_run_free(run);
	return 0;
}

TEST(a_prefetcher_that_runs_beside_its_reader_inherits_nothing)
{
	assay_run *run = new_run();
	range(run, MAIN, "step", 0, 1000);
	for (int64_t at = 0; at < 500; at += 8)
		launch(run, MAIN, at);
	main_waits(run, "backward", 600, 710);
	uint32_t first = burst(run, WORKER, 405, 705); /* also while the reader calls */
	assay_scopes(run, NULL);
	for (uint32_t g = first; g < run->part.t.gpu.n; g++)
		CHECK(is_in(run, g, ""));
	assay_run_free(run);
	return 0;
}

TEST(a_worker_that_runs_on_while_its_reader_shows_inherits_nothing)
{
	assay_run *run = new_run();
	range(run, MAIN, "step", 0, 1000);
	for (int64_t at = 100; at < 1000; at += 100) /* never at the same time */
		call(run, MAIN, at + 3, at + 5);
	uint32_t first = burst(run, WORKER, 10, 980);
	assay_scopes(run, NULL);
	for (uint32_t g = first; g < run->part.t.gpu.n; g++)
		CHECK(is_in(run, g, ""));
	assay_run_free(run);
	return 0;
}

TEST(one_long_pause_of_the_worker_does_not_end_its_burst)
{
	assay_run *run = new_run();
	for (int64_t at = 0; at < 1000; at += 500) {
		main_waits(run, "backward", at, at + 400);
		burst(run, WORKER, at + 20, at + 100);
		burst(run, WORKER, at + 300, at + 380); /* 198 us later; 138 us between waits */
	}
	assay_scopes(run, NULL);
	CHECK(is_in(run, 2, "backward") && is_in(run, 2 + 9, "backward"));
	CHECK(is_in(run, (uint32_t)run->part.t.gpu.n - 1, "backward"));
	assay_run_free(run);
	return 0;
}

TEST(a_prefetcher_that_comes_and_goes_at_its_own_pace_inherits_nothing)
{
	assay_run *run = new_run();
	range(run, MAIN, "step", 0, 200000);
	for (int64_t at = 0; at < 200000; at += 5100)
		for (int i = 0; i < 5; i++)
			launch(run, MAIN, at + 10 * i);
	uint32_t first = (uint32_t)run->part.t.gpu.n;
	for (int64_t at = 500; at < 199000; at += 1900 + at % 300) /* several in a silence */
		burst(run, WORKER, at, at + 30);
	assay_scopes(run, NULL);
	for (uint32_t g = first; g < run->part.t.gpu.n; g++)
		CHECK(is_in(run, g, ""));
	assay_run_free(run);
	return 0;
}

TEST(a_copy_somewhere_in_a_long_silence_is_not_what_was_waited_for)
{
	assay_run *run = new_run();
	main_waits(run, "python code", 0, 400);
	CHECK(worker_is_in(run, "")); /* 82 of 390 us */
	return 0;
}

TEST(a_burst_shorter_than_20_us_is_chance)
{
	assay_run *run = new_run();
	main_waits(run, "a", 90, 130);
	uint32_t g = burst(run, WORKER, 100, 110);
	assay_scopes(run, NULL);
	CHECK(is_in(run, g, ""));
	assay_run_free(run);
	return 0;
}

TEST(a_worker_keeps_the_ranges_it_has)
{
	assay_run *run = new_run();
	main_waits(run, "backward", 90, 210);
	range(run, WORKER, "all_reduce", 138, 165);
	uint32_t g = burst(run, WORKER, 110, 190);
	assay_scopes(run, NULL);
	const assay_gpu_scope_table *s = &run->part.t.gpu_scope;
	CHECK(is_in(run, g, "backward") && is_in(run, g + 8, "backward"));
	CHECK(is_in(run, g + 3, "own") && s->how[g + 3] == ASSAY_SCOPE_HOW_LAUNCH);
	assay_run_free(run);
	return 0;
}

TEST(threads_of_other_processes_do_not_wait)
{
	assay_run *run = new_run();
	main_waits(run, "backward", 90, 210);
	uint32_t g = 0;
	for (int64_t at = 110; at <= 190; at += 10)
		g = launch_of(run, 2, WORKER, at);
	assay_scopes(run, NULL);
	CHECK(is_in(run, g, ""));
	/* and one source's process 1 is not another's */
	run->part.source = assay_add(&run->part.t, ASSAY_T_source);
	g = burst(run, WORKER, 110, 190);
	assay_scopes(run, NULL);
	CHECK(is_in(run, g, ""));
	assay_run_free(run);
	return 0;
}

TEST(each_burst_of_a_worker_has_the_range_of_its_own_wait)
{
	assay_run *run = new_run();
	uint32_t g[3];
	static const char *const names[] = {"one", "two", "three"};
	for (int i = 0; i < 3; i++) {
		int64_t at = 200 * i;
		main_waits(run, names[i], at, at + 120);
		g[i] = burst(run, WORKER, at + 20, at + 100);
	}
	assay_scopes(run, NULL);
	for (int i = 0; i < 3; i++)
		CHECK(is_in(run, g[i], names[i]));
	assay_run_free(run);
	return 0;
}

TEST(a_gradient_is_in_the_range_it_was_launched_in_and_knows_its_forward_operator)
{
	assay_run *run = new_run();
	assay_tables *t = &run->part.t;
	range(run, MAIN, "forward", 10, 80);
	uint32_t op = span(run, ASSAY_HOST_OP, MAIN, "aten::mm", 20, 30);
	main_waits(run, "backward", 90, 210);
	uint32_t grad = span(run, ASSAY_HOST_OP, WORKER, "MmBackward0", 138, 165);
	t->op.seq[t->host.detail[op]] = t->op.seq[t->host.detail[grad]] = 3;
	t->op.fwd_thread[t->host.detail[grad]] = 1;
	uint32_t g = burst(run, WORKER, 110, 190);
	assay_scopes(run, NULL);
	CHECK(is_in(run, g, "backward") && is_in(run, g + 3, "backward"));
	CHECK_EQ(t->gpu_scope.forward[g], ASSAY_NO_ROW);
	CHECK(!strcmp(assay_z(run, t->scope.name[t->gpu_scope.forward[g + 3]]), "forward"));
	assay_run_free(run);
	return 0;
}

/* ------------------------------------------------------------------ chance */

/* How a thread goes on: so many launches in a row, about `inner` apart, then a pause of about
 * `pause`. */
struct pace {
	int row;
	double inner, pause;
};

/* Exponential around a mean, or the mean itself. */
static double gap(uint64_t *seed, double mean)
{
	if (!*seed)
		return mean;
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return -mean * log(((double)(*seed >> 11) + 1) / 9007199254740993.0);
}

static void go_on(assay_run *run, int64_t tid, const struct pace *p, uint64_t *seed)
{
	for (double at = tid * 37; at < 500000; at += gap(seed, p->pause))
		for (int i = 0; i < p->row; i++, at += 3 + gap(seed, p->inner))
			launch(run, tid, (int64_t)at);
}

TEST(of_workers_that_have_nothing_to_do_with_each_other_nothing_is_inferred)
{
	enum { MAINS = 5, WORKERS = 7, SEEDS = 2 };
	static const struct pace mains[MAINS] = {
		{50, 10, 20}, {50, 10, 500}, {20, 10, 5000}, {5, 10, 20000}, {100, 10, 20000}};
	static const struct pace workers[WORKERS] = {
		{1000, 20, 20},   {4, 10, 2000},    {30, 10, 2000}, {2, 10, 20000},
		{100, 10, 20000}, {1000, 150, 150}, {1, 1, 5000}};
	for (uint64_t i = 0; i < MAINS * WORKERS * SEEDS; i++) {
		assay_run *run = new_run();
		uint64_t seed = i % SEEDS ? i : 0; /* 0: like clockwork */
		for (int64_t at = 0; at < 500000; at += 5000)
			range(run, MAIN, "step", at, at + 4900);
		go_on(run, MAIN, &mains[i / SEEDS % MAINS], &seed);
		go_on(run, WORKER, &workers[i / SEEDS / MAINS], &seed);
		assay_scopes(run, NULL);
		for (uint32_t g = 0; g < run->part.t.gpu.n; g++)
			CHECK(run->part.t.gpu_scope.how[g] != ASSAY_SCOPE_HOW_INFERRED);
		assay_run_free(run);
	}
	return 0;
}

TEST(of_very_many_threads_with_ranges_nothing_is_inferred)
{
	assay_run *run = new_run();
	main_waits(run, "backward", 90, 210);
	for (int64_t tid = 10; tid < 10 + 16; tid++)
		range(run, tid, "pool", 0, 1);
	CHECK(worker_is_in(run, ""));
	return 0;
}
