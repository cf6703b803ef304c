/* Answers from one graph: what the rule changes is replayed. */
#include "path/worth.h"

#include <stdio.h>

#include "base/beside.h"
#include "base/sort.h"
#include "base/test.h"
#include "model/by_hand.h"
#include "path/knots.h"
#include "path/path.h"

/* So much work stands for all, but of large steps at least so many: a host may run ahead of its
 * device by some of them. */
enum { ENOUGH_STEPS = 8, ENOUGH_WORK = 8192 };

struct assay_worth {
	assay_arena arena;
	assay_run run; /* a view */
	assay_window window;
	assay_beside maker;
	bool usable;
	assay_path_graph g;
	int64_t from, to;
	uint32_t before, within; /* work that begins before the window, and before its end */
	const bool *mine;        /* by work: of the device that the window is of */
	assay_path_knots knots;
	int64_t length; /* replayed as it was */
	pthread_mutex_t lock;
	struct question *idle;
};

/* Several threads may ask at the same time. The memory of one that is answered serves the next. */
struct question {
	assay_knots_replay replay;
	struct question *below; /* of the idle ones */
};

/* When the graph is there. Nothing is changed yet. */
static struct question *ask(assay_worth *w)
{
	pthread_mutex_lock(&w->lock);
	struct question *q = w->idle;
	w->idle = q ? q->below : NULL;
	pthread_mutex_unlock(&w->lock);
	if (!q) {
		q = assay_pages_grow(NULL, sizeof *q);
		assay_knots_replay_init(&q->replay, &w->knots);
	}
	assay_knots_unchanged(&q->replay);
	return q;
}

static void answered(assay_worth *w, struct question *q)
{
	pthread_mutex_lock(&w->lock);
	q->below = w->idle;
	w->idle = q;
	pthread_mutex_unlock(&w->lock);
}

static void last_end(const assay_worth *w, const assay_knots_replay *r, uint32_t from, uint32_t to,
		     int64_t *end)
{
	for (uint32_t i = from; i < to; i++) {
		int64_t at = assay_knots_start(r, i) + r->dur[i];
		if (w->mine[i] && at > *end)
			*end = at;
	}
}

/* From the end of what began before the window to the end of what began in it. */
static int64_t replayed_length(const assay_worth *w, struct question *q)
{
	int64_t from = INT64_MIN, to;
	assay_knots_go(&q->replay);
	last_end(w, &q->replay, 0, w->before, &from);
	from = from == INT64_MIN ? w->from : from;
	to = from;
	last_end(w, &q->replay, w->before, w->within, &to);
	return to - from;
}

static int64_t saved_by(const assay_worth *w, struct question *q)
{
	return w->length - replayed_length(w, q);
}

/* A replay that is off by more than this is no ground for predictions. */
static bool near_measured(int64_t replayed, int64_t measured)
{
	int64_t off = replayed > measured ? replayed - measured : measured - replayed;
	return measured > 0 && off <= measured / 20;
}

/* Where the part of the window ends that is replayed. */
static int64_t enough_until(const assay_window *w)
{
	uint64_t events = 0, steps = w->steps ? w->steps : 1, part;
	for (int c = 0; c < ASSAY_CLASS_COUNT; c++)
		events += w->events[c];
	part = ENOUGH_WORK * steps / (events + 1);
	part = part > ENOUGH_STEPS ? part : ENOUGH_STEPS;
	if (part >= steps)
		return w->to;
	return w->from + (int64_t)((double)(w->to - w->from) * (double)part / (double)steps);
}

/* A host is ahead of its device by a queue of 1,024 launches at most: what came some queues before
 * the window changes it no more. */
static int64_t enough_since(assay_worth *w, uint32_t group)
{
	enum { WORKS_BEFORE = 4096 };
	const assay_tables *t = &w->run.part.t;
	assay_vec(int64_t) before = {0};
	for (uint32_t i = 0; i < t->gpu.n; i++)
		if (t->gpu.ts[i] < w->from && assay_track_group(t, t->gpu.track[i]) == group)
			*assay_push(&before) = t->gpu.ts[i];
	assay_sort_i64(before.p, before.n);
	int64_t since = before.n > WORKS_BEFORE ? before.p[before.n - WORKS_BEFORE] : INT64_MIN;
	assay_vec_free(&before);
	return since;
}

static void take_work(assay_worth *w)
{
	const assay_tables *t = &w->run.part.t;
	uint32_t device = t->device_time.device[w->window.device];
	bool *mine = assay_alloc(&w->arena, w->g.work + 1);
	for (uint32_t i = 0; i < w->g.work; i++) {
		uint32_t gpu = w->g.gpu[i];
		mine[i] = t->track.pid[t->gpu.track[gpu]] == device;
		w->before += t->gpu.ts[gpu] < w->from;
		w->within += t->gpu.ts[gpu] < w->to;
	}
	w->mine = mine;
}

/* When the device was done with what began in the window. */
static int64_t measured_end(const assay_worth *w)
{
	const assay_gpu_table *gpu = &w->g.run->part.t.gpu;
	int64_t end = w->from;
	for (uint32_t i = w->before; i < w->within; i++)
		if (w->mine[i] && assay_gpu_end(gpu, w->g.gpu[i]) > end)
			end = assay_gpu_end(gpu, w->g.gpu[i]);
	return end;
}

static void make_graph(assay_worth *w)
{
	const assay_tables *t = &w->run.part.t;
	uint32_t group = assay_group_of(t, t->device_time.source[w->window.device]);
	w->from = w->window.from;
	w->to = enough_until(&w->window);
	assay_path_graph_build(&w->g, &w->run, group, enough_since(w, group), w->to);
	take_work(w);
	if (!w->g.nodes)
		return;
	assay_path_knots_tie(&w->knots, &w->g);
	assay_path_find_launches(&w->g);
	struct question *q = ask(w);
	w->length = replayed_length(w, q);
	answered(w, q);
	w->usable = near_measured(w->length, measured_end(w) - w->from);
}

static void run_maker(void *worth)
{
	assay_worth *w = worth;
	if (w->window.device != ASSAY_NO_ROW && w->run.part.t.host.n)
		make_graph(w);
}

/* Is there a graph, and does its replay give what was measured? */
static bool is_usable(assay_worth *w)
{
	assay_beside_join(&w->maker);
	return w->usable;
}

void assay_worth_share(assay_worth *w)
{
	assay_beside_join(&w->maker);
}

assay_worth *assay_worth_open(const assay_run *run, const assay_window *window)
{
	assay_arena arena = {0};
	assay_worth *w = assay_alloc(&arena, sizeof *w);
	*w = (assay_worth){.arena = arena, .window = *window};
	pthread_mutex_init(&w->lock, NULL);
	w->run = assay_run_view(run, &w->arena);
	assay_beside_start(&w->maker, assay_run_threads_for(run, run->part.t.host.n), run_maker, w);
	return w;
}

void assay_worth_close(assay_worth *w)
{
	assay_beside_drop(&w->maker);
	while (w->idle) {
		struct question *q = w->idle;
		w->idle = q->below;
		assay_knots_replay_free(&q->replay);
		assay_pages_free(q);
	}
	pthread_mutex_destroy(&w->lock);
	if (w->g.run) {
		assay_path_knots_free(&w->knots);
		assay_path_graph_free(&w->g);
	}
	assay_arena arena = w->arena;
	assay_arena_free(&arena);
}

/* What-ifs of several rules. Time inside launch calls is on the thread and in the delay from the
 * call to its work; a copy of pageable memory holds up the call that makes it. */
static const struct {
	const char *what_if, *rule[2];
} several[] = {
	{"copy=0", {"copy=0", "*Memcpy*=0"}},
	{"host_sync=0",
	 {"host_sync=0", "Memcpy DtoH*=0"}}, /* what is read back goes with the wait */
	{"allocation=0", {"*Malloc*=0", "*Free*=0"}},
	{"stream_wait=0", {"*StreamWaitEvent*=0", "*StreamWaitValue*=0"}},
	{"launch_call=0", {"*Launch*=0", NULL}},
};

/* Of the launches of a whole run, most of which may be first uses. */
static int64_t usual_latency(const assay_worth *w)
{
	enum { LONGEST = 20000 };
	int64_t typical = w->g.typical[ASSAY_DEP_LAUNCH][ASSAY_GPU_KERNEL];
	return typical < LONGEST ? typical : LONGEST;
}

enum { LATENCY_TEXT = 48 };

/* latency: room for the text of a rule. */
static size_t rules_for(const assay_worth *w, const char *what_if, const char *text[2],
			char latency[LATENCY_TEXT])
{
	text[0] = what_if;
	for (size_t i = 0; i < sizeof several / sizeof *several; i++)
		if (!strcmp(what_if, several[i].what_if)) {
			memcpy(text, several[i].rule, sizeof several[i].rule);
			if (!text[1])
				text[1] = latency;
			snprintf(latency, LATENCY_TEXT, "launch_latency=%lldns",
				 (long long)usual_latency(w));
			return 2;
		}
	return 1;
}

/* The question is answered; false: nothing is saved, or nobody knows. */
static bool tell(assay_worth *w, struct question *q, int64_t saved, double *share)
{
	answered(w, q);
	if (saved >= 0)
		*share = (double)saved / (double)w->length;
	return saved >= 0;
}

bool assay_worth_shorter(assay_worth *w, const int64_t *dur, int64_t stall, double *share)
{
	const assay_path_graph *g = &w->g;
	if (!is_usable(w))
		return false;
	struct question *q = ask(w);
	assay_path_changes *changes = &q->replay.changes;
	for (uint32_t i = 0; i < g->work; i++)
		if (dur[g->gpu[i]] >= 0)
			*assay_push(&changes->dur) = (assay_path_change){i, dur[g->gpu[i]]};
	for (uint32_t d = 0; d < g->deps; d++) {
		uint8_t kind = g->dep[d].kind;
		if ((kind == ASSAY_DEP_STREAM || kind == ASSAY_DEP_LAUNCH) &&
		    g->base.lag[d] >= stall)
			*assay_push(&changes->lag) =
				(assay_path_change){d, g->typical[kind][ASSAY_GPU_KERNEL]};
	}
	return tell(w, q, saved_by(w, q), share);
}

bool assay_worth_without_launches(assay_worth *w, const bool *goes, const int64_t *dur,
				  double *share)
{
	if (!is_usable(w))
		return false;
	struct question *q = ask(w);
	bool known = assay_path_without_launches(&w->g, goes, dur, &q->replay.changes);
	return tell(w, q, known ? saved_by(w, q) : -1, share);
}

bool assay_worth_without_place(assay_worth *w, const bool *there, double *share)
{
	if (!is_usable(w))
		return false;
	struct question *q = ask(w);
	assay_path_without_place(&w->g, there, &q->replay.changes);
	return tell(w, q, q->replay.changes.any ? saved_by(w, q) : -1, share);
}

bool assay_worth_without_operators(assay_worth *w, assay_operators_kind kind,
				   assay_gone_operators *told, double *share)
{
	if (!is_usable(w))
		return false;
	struct question *q = ask(w);
	*told = assay_path_without_operators(&w->g, kind, w->from, w->to, &q->replay.changes);
	int64_t saved = told->times ? saved_by(w, q) : -1;
	double parts = (double)(w->window.to - w->from) / (double)(w->to - w->from);
	told->times = (uint64_t)((double)told->times * parts + 0.5);
	told->waits = (uint64_t)((double)told->waits * parts + 0.5);
	told->most = (int64_t)((double)told->most * parts);
	told->bytes = (int64_t)((double)told->bytes * parts);
	return tell(w, q, saved, share);
}

static bool matches_any(const assay_path *path)
{
	for (size_t i = 0; i < path->rules.n; i++)
		if (path->rules.p[i].spans || path->rules.p[i].work || path->rules.p[i].waits)
			return true;
	return false;
}

/* What goes may have led to where the window begins, which then begins earlier: a replay that is a
 * little longer for that says that nothing is saved. */
static int64_t saved_without(const assay_worth *w, struct question *q)
{
	int64_t saved = saved_by(w, q);
	return saved < 0 && near_measured(w->length - saved, w->length) ? 0 : saved;
}

bool assay_worth_without_data_waits(assay_worth *w, assay_data_waits *told, double share[2])
{
	if (!is_usable(w))
		return false;
	*told = assay_path_data_waits(&w->g, w->from, w->to);
	for (int i = 0; i < 2; i++) {
		struct question *q = ask(w);
		assay_path_without_data_waits(&w->g, i ? told->least : told->most,
					      &q->replay.changes);
		if (!tell(w, q, told->calls ? saved_without(w, q) : -1, &share[i]))
			return false;
	}
	return true;
}

/* Of several rules some may have nothing to match: traces without calls. */
bool assay_worth_without_all(assay_worth *w, const char *const *what_if, size_t n, double *share)
{
	if (!is_usable(w))
		return false;
	assay_path_what_ifs rules = {0};
	assay_path path = {.from = w->from, .to = w->to};
	struct question *q = ask(w);
	int64_t saved = -1;
	if (assay_path_what_ifs_parse(&rules, what_if, n, NULL)) {
		assay_path_what_ifs_apply(&w->g, &rules, &q->replay.changes, &path, NULL);
		saved = matches_any(&path) ? saved_without(w, q) : -1;
	}
	assay_vec_free(&rules);
	assay_path_free(&path);
	return tell(w, q, saved, share);
}

bool assay_worth_without(assay_worth *w, const char *what_if, double *share)
{
	const char *text[2];
	char latency[LATENCY_TEXT];
	if (!is_usable(w))
		return false;
	return assay_worth_without_all(w, text, rules_for(w, what_if, text, latency), share);
}

/* A thread that computes for 10 of every 20 ns and launches work of 5 that it is waited for. */
static assay_run *steady_run(void)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	assay_add(t, ASSAY_T_source);
	uint32_t k = assay_add(t, ASSAY_T_kernel);
	t->kernel.name[k] = assay_sid_of(run, "kernel");
	for (int64_t at = 0; at < 20 * 11000; at += 20) {
		assay_hand_host(run, ASSAY_HOST_OP, "aten::item", at, 10);
		uint32_t call =
			assay_hand_host(run, ASSAY_HOST_RUNTIME, "cudaLaunchKernel", at + 10, 10);
		assay_hand_gpu(run, "kernel", at + 14, 5, call);
	}
	uint32_t d = assay_add(t, ASSAY_T_device_time);
	t->device_time.source[d] = t->track.source[t->gpu.track[0]];
	t->device_time.device[d] = t->track.pid[t->gpu.track[0]];
	return run;
}

TEST(answers_are_the_same_with_any_number_of_threads)
{
	assay_run *run = steady_run();
	assay_window window = {.device = 0, .from = 0, .to = 20 * 11000, .steps = 11000};
	double alone = 0, share = 0;
	for (unsigned threads = 1; threads < 3; threads++) {
		run->threads = threads;
		assay_worth *w = assay_worth_open(run, &window);
		CHECK(w->maker.runs == (threads > 1));
		assay_sid_of(run, "a string that comes meanwhile");
		CHECK(assay_worth_without(w, "aten::item=0", threads > 1 ? &share : &alone));
		CHECK(!assay_worth_without(w, "nothing=0", &share));
		assay_worth_close(w);
	}
	CHECK(alone > 0.4 && alone < 0.6 && alone == share);
	run->threads = 2;
	assay_worth_close(assay_worth_open(run, &window)); /* nobody asked */
	assay_run_free(run);
	return 0;
}

TEST(a_replay_counts_when_it_is_within_a_twentieth)
{
	CHECK(near_measured(1000, 1000) && near_measured(1050, 1000) && near_measured(950, 1000));
	CHECK(!near_measured(1051, 1000) && !near_measured(949, 1000));
	CHECK(!near_measured(0, 0) && near_measured(1, 1));
	return 0;
}

TEST(many_steps_or_much_work_stand_for_all)
{
	assay_window w = {.from = 1000, .to = 7400, .steps = 64};
	CHECK_EQ(enough_until(&w), 7400);
	w.events[ASSAY_CLASS_COMPUTE] = 8000;
	w.events[ASSAY_CLASS_COPY] = 2484; /* 164 a step: of 50 steps there is enough */
	CHECK_EQ(enough_until(&w), 1000 + 50 * 100);
	w.events[ASSAY_CLASS_COMPUTE] = 1000000; /* but never less than 8 */
	CHECK_EQ(enough_until(&w), 1000 + 8 * 100);
	w.steps = 8;
	CHECK_EQ(enough_until(&w), 7400);
	w.steps = 0;
	CHECK_EQ(enough_until(&w), 7400);
	return 0;
}

/* A host that is far ahead of a device, which is busy all the time. */
TEST(shorter_work_of_a_busy_device_shortens_it_by_as_much)
{
	enum { N = 40 };
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	int64_t dur[N];
	double share = -1;
	assay_add(t, ASSAY_T_source);
	uint32_t k = assay_add(t, ASSAY_T_kernel);
	t->kernel.name[k] = assay_sid_of(run, "kernel");
	for (int i = 0; i < N; i++) {
		uint32_t call =
			assay_hand_host(run, ASSAY_HOST_RUNTIME, "cudaLaunchKernel", 2 * i, 1);
		assay_hand_gpu(run, "kernel", 100 + 100 * i, 100, call);
		dur[i] = -1;
	}
	uint32_t d = assay_add(t, ASSAY_T_device_time);
	t->device_time.source[d] = t->track.source[t->gpu.track[0]];
	t->device_time.device[d] = (int32_t)t->track.pid[t->gpu.track[0]];
	assay_window window = {.from = 100, .to = 100 + 100 * N, .steps = N};
	assay_worth *w = assay_worth_open(run, &window);
	CHECK(assay_worth_shorter(w, dur, INT64_MAX, &share) && share == 0);
	for (int i = 0; i < N; i += 2)
		dur[i] = 50;
	CHECK(assay_worth_shorter(w, dur, INT64_MAX, &share) && share == 0.25);
	dur[0] = 150; /* with this 150 ns more, and 18 * 50 less */
	dur[2] = 200;
	CHECK(assay_worth_shorter(w, dur, INT64_MAX, &share) &&
	      share == (18 * 50.0 - 150) / (100 * N));
	for (int i = 0; i < N; i++)
		dur[i] = 101; /* a longer step is no answer */
	CHECK(!assay_worth_shorter(w, dur, INT64_MAX, &share));
	CHECK(assay_worth_without(w, "kernel=0", &share) && share > 0.95 && share <= 1);
	CHECK(!assay_worth_without(w, "copy=0", &share)); /* neither of its rules has any */
	assay_worth_close(w);
	assay_run_free(run);
	return 0;
}

/* A host that sets the pace; the work in front of the window is the longest. */
TEST(shorter_work_of_a_device_that_waits_for_its_host_saves_nothing)
{
	enum { N = 40 };
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	double share = -1;
	assay_add(t, ASSAY_T_source);
	uint32_t k = assay_add(t, ASSAY_T_kernel);
	t->kernel.name[k] = assay_sid_of(run, "kernel");
	for (int i = 0; i <= N; i++) {
		uint32_t call = assay_hand_host(run, ASSAY_HOST_RUNTIME, "cudaLaunchKernel",
						100 * (int64_t)i, 95);
		assay_hand_gpu(run, "kernel", 96 + 100 * (int64_t)i, i ? 10 : 80, call);
	}
	uint32_t d = assay_add(t, ASSAY_T_device_time);
	t->device_time.source[d] = t->track.source[t->gpu.track[0]];
	t->device_time.device[d] = (int32_t)t->track.pid[t->gpu.track[0]];
	assay_window window = {.from = 176, .to = 106 + 100 * N, .steps = N};
	assay_worth *w = assay_worth_open(run, &window);
	CHECK(assay_worth_without(w, "kernel=0.5x", &share) && share == 0);
	CHECK(!assay_worth_without(w, "kernel=20x", &share)); /* longer is no answer */
	assay_worth_close(w);
	assay_run_free(run);
	return 0;
}

TEST(a_run_without_calls_or_a_device_is_worth_no_answer)
{
	double share;
	assay_run *run = assay_run_new();
	assay_hand_gpu(run, "kernel", 0, 10, ASSAY_NO_ROW);
	assay_window window = {.device = ASSAY_NO_ROW};
	for (int device = 0; device < 2; device++) {
		assay_worth *w = assay_worth_open(run, &window);
		CHECK(!assay_worth_without(w, "kernel=0", &share));
		assay_worth_close(w);
		window = (assay_window){.to = 10};
	}
	assay_run_free(run);
	return 0;
}

/* Of the two rules of a what-if one may match nothing; the other one answers. */
TEST(a_what_if_of_two_rules_answers_with_the_one_that_fits)
{
	enum { N = 40 };
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	double share = 0;
	assay_add(t, ASSAY_T_source);
	uint32_t k = assay_add(t, ASSAY_T_kernel);
	t->kernel.name[k] = assay_sid_of(run, "kernel");
	for (int64_t at = 0; at < 100 * N; at += 100) { /* 60 of 100 ns are in an allocation */
		assay_hand_host(run, ASSAY_HOST_RUNTIME, "cudaMalloc", at, 60);
		uint32_t call =
			assay_hand_host(run, ASSAY_HOST_RUNTIME, "cudaLaunchKernel", at + 60, 40);
		assay_hand_gpu(run, "kernel", at + 70, 10, call);
	}
	uint32_t d = assay_add(t, ASSAY_T_device_time);
	t->device_time.source[d] = t->track.source[t->gpu.track[0]];
	t->device_time.device[d] = (int32_t)t->track.pid[t->gpu.track[0]];
	assay_window window = {.to = 100 * N, .steps = N};
	assay_worth *w = assay_worth_open(run, &window);
	CHECK(assay_worth_without(w, "allocation=0", &share)); /* nothing is freed */
	CHECK(share > 0.58 && share < 0.62);
	CHECK(!assay_worth_without(w, "stream_wait=0", &share));
	assay_worth_close(w);
	assay_run_free(run);
	return 0;
}

/* Every 100 ns a step of 60 launches a kernel of 30, and a check launches one of 10 behind it and
 * waits for it. Without the check only the step is left. */
TEST(a_place_goes_with_its_launches_its_work_and_its_waits)
{
	enum { N = 40 };
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	double share = 0;
	const bool there[] = {false, true}, nowhere[2] = {false};
	assay_add(t, ASSAY_T_source);
	uint32_t k = assay_add(t, ASSAY_T_kernel);
	t->kernel.name[k] = assay_sid_of(run, "kernel");
	for (int i = 0; i < 2; i++)
		assay_hand_stack(run, ASSAY_NO_ROW, "train.py", i ? "there" : "main");
	for (int64_t at = 0; at < 100 * N; at += 100) {
		static const struct {
			const char *name;
			int64_t at, dur;
		} calls[] = {{"cudaLaunchKernel", 0, 60},
			     {"cudaLaunchKernel", 60, 5},
			     {"cudaStreamSynchronize", 65, 35}};
		for (uint32_t i = 0; i < ASSAY_COUNT_OF(calls); i++) {
			uint32_t call = assay_hand_host(run, ASSAY_HOST_RUNTIME, calls[i].name,
							at + calls[i].at, calls[i].dur);
			uint32_t api = assay_add(t, ASSAY_T_api);
			t->host.detail[call] = api;
			t->api.stack[api] = i > 0;
			if (i < 2)
				assay_hand_gpu(run, "kernel", at + (i ? 85 : 50), i ? 10 : 30,
					       call);
		}
	}
	uint32_t d = assay_add(t, ASSAY_T_device_time);
	t->device_time.source[d] = t->track.source[t->gpu.track[0]];
	t->device_time.device[d] = (int32_t)t->track.pid[t->gpu.track[0]];
	assay_window window = {.to = 100 * N, .steps = N};
	assay_worth *w = assay_worth_open(run, &window);
	CHECK(assay_worth_without_place(w, there, &share));
	CHECK(share > 0.36 && share < 0.42);
	CHECK(!assay_worth_without_place(w, nowhere, &share));
	assay_worth_close(w);
	assay_run_free(run);
	return 0;
}

/* Operators one behind the other, 5 us apart, each with a kernel; behind every so many the program
 * goes 8 us to a call that waits, and 8 us on. Share of the time that goes without the calls. */
static double without_waits(int every, int64_t wait, const char *call)
{
	enum { OPS = 400, US = 1000 };
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	assay_gone_operators told;
	double share = -1;
	int64_t at = 0;
	assay_add(t, ASSAY_T_source);
	uint32_t k = assay_add(t, ASSAY_T_kernel);
	t->kernel.name[k] = assay_sid_of(run, "kernel");
	for (int i = 0; i < OPS; i++) {
		assay_hand_host(run, ASSAY_HOST_OP, "aten::add", at, 20 * US);
		uint32_t launch = assay_hand_host(run, ASSAY_HOST_RUNTIME, "cudaLaunchKernel",
						  at + 10 * US, 5 * US);
		assay_hand_gpu(run, "kernel", at + 16 * US, 2 * US, launch);
		at += 20 * US + 5 * US;
		if (i % every)
			continue;
		assay_hand_host(run, ASSAY_HOST_RUNTIME, call, at + 3 * US, wait);
		at += 3 * US + wait + 8 * US;
	}
	uint32_t d = assay_add(t, ASSAY_T_device_time);
	t->device_time.source[d] = t->track.source[t->gpu.track[0]];
	t->device_time.device[d] = t->track.pid[t->gpu.track[0]];
	assay_window window = {.device = 0, .from = 0, .to = at, .steps = OPS / 4};
	assay_worth *w = assay_worth_open(run, &window);
	bool any =
		assay_worth_without_operators(w, ASSAY_OPERATORS_READ, &told, &share) && told.times;
	share = any && told.only_waits ? share * (double)w->length / US : -1;
	assay_worth_close(w);
	assay_run_free(run);
	return share;
}

TEST(calls_that_only_wait_go_with_the_way_to_them_and_back)
{
	double saved = without_waits(4, 2000, "cudaDeviceSynchronize");
	CHECK(saved > 100 * (8 + 2 + 8 - 5) - 20 && saved < 100 * (8 + 2 + 8 - 5) + 20);
	CHECK(without_waits(80, 2000, "cudaDeviceSynchronize") < 0);  /* now and then */
	CHECK(without_waits(4, 200000, "cudaDeviceSynchronize") < 0); /* for what is needed */
	CHECK(without_waits(4, 2000, "cudaEventSynchronize") < 0);    /* for a certain point */
	CHECK(without_waits(4, 2000, "cudaEventRecord") < 0);
	return 0;
}

/* The first launches load code: where there are no others, these are not what launching takes. */
TEST(launches_that_are_all_first_uses_go_but_for_what_a_launch_takes)
{
	enum { MS = 1000000 };
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	double share = 0;
	assay_add(t, ASSAY_T_source);
	uint32_t k = assay_add(t, ASSAY_T_kernel);
	t->kernel.name[k] = assay_sid_of(run, "kernel");
	for (int64_t at = 0; at < 60 * MS; at += 20 * MS) {
		uint32_t call =
			assay_hand_host(run, ASSAY_HOST_RUNTIME, "cudaLaunchKernel", at, 18 * MS);
		assay_hand_gpu(run, "kernel", at + 18 * MS - 5000, 2000, call);
	}
	uint32_t d = assay_add(t, ASSAY_T_device_time);
	t->device_time.source[d] = t->track.source[t->gpu.track[0]];
	t->device_time.device[d] = (int32_t)t->track.pid[t->gpu.track[0]];
	assay_window window = {.to = 60 * MS};
	assay_worth *w = assay_worth_open(run, &window);
	CHECK(assay_worth_without(w, "launch_call=0", &share));
	CHECK(share > 0.85);
	assay_worth_close(w);
	assay_run_free(run);
	return 0;
}
