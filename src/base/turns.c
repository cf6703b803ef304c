#define _GNU_SOURCE /* sched_getaffinity */
#include "base/turns.h"

#include <assert.h>
#include <sched.h>
#include <stdlib.h>

#include "base/owner.h"
#include "base/test.h"

struct turns {
	const assay_turns *job;
	pthread_mutex_t lock;
	pthread_mutex_t beginning; /* taken before lock */
	pthread_cond_t turn;
	uint64_t taken; /* tasks given out */
	uint64_t done;  /* tasks handed over */
	bool over;
	bool failed; /* a worker found no memory, and its task will not come */
};

struct worker {
	struct turns *turns;
	unsigned id;
	bool begins; /* has locked beginning */
	assay_thread thread;
};

/* The first is the thread that has started the others. */
struct crew {
	struct turns *turns;
	struct worker worker[ASSAY_THREADS_MAX];
	unsigned started;
};

static void wait_turn(struct turns *t, uint64_t task)
{
	pthread_mutex_lock(&t->lock);
	while (t->done != task && !t->failed)
		pthread_cond_wait(&t->turn, &t->lock);
	bool failed = t->failed;
	pthread_mutex_unlock(&t->lock);
	if (failed)
		assay_give_up(ASSAY_LIMIT, "out of memory: another thread found none");
}

static void end_turn(struct turns *t, bool over)
{
	pthread_mutex_lock(&t->lock);
	t->over |= over;
	assert(t->done < t->taken);
	t->done++;
	pthread_cond_broadcast(&t->turn);
	pthread_mutex_unlock(&t->lock);
}

static bool take(struct turns *t, uint64_t *task)
{
	pthread_mutex_lock(&t->lock);
	bool there = !t->over && !t->failed && t->taken < t->job->tasks;
	if (there)
		*task = t->taken++;
	pthread_mutex_unlock(&t->lock);
	return there;
}

/* The last one that was taken is none. */
static void give_back(struct turns *t)
{
	pthread_mutex_lock(&t->lock);
	t->over = true;
	t->taken--;
	pthread_mutex_unlock(&t->lock);
}

static bool begin(struct worker *w, uint64_t *task)
{
	struct turns *t = w->turns;
	if (!t->job->begin)
		return take(t, task);
	pthread_mutex_lock(&t->beginning);
	w->begins = true;
	bool there = take(t, task);
	if (there && !t->job->begin(t->job->ctx, w->id, *task)) {
		give_back(t);
		there = false;
	}
	w->begins = false;
	pthread_mutex_unlock(&t->beginning);
	return there;
}

static void fail(void *arg)
{
	struct worker *w = arg;
	struct turns *t = w->turns;
	pthread_mutex_lock(&t->lock);
	t->failed = true;
	pthread_cond_broadcast(&t->turn);
	pthread_mutex_unlock(&t->lock);
	if (w->begins)
		pthread_mutex_unlock(&t->beginning);
}

void assay_turns_await(const assay_turns *job, uint64_t task)
{
	assert(job->hand_over);
	wait_turn(job->now, task);
}

static void hand_over(struct worker *w, uint64_t task)
{
	const assay_turns *job = w->turns->job;
	wait_turn(w->turns, task);
	bool go_on = job->hand_over(job->ctx, w->id, task);
	end_turn(w->turns, !go_on);
}

static void run_worker(void *arg)
{
	struct worker *w = arg;
	const assay_turns *job = w->turns->job;
	assay_undo undo;
	assay_undo_add(&undo, fail, w);
	for (uint64_t task; begin(w, &task);) {
		job->work(job->ctx, w->id, task);
		if (job->hand_over)
			hand_over(w, task);
		if (job->after)
			job->after(job->ctx, w->id, task);
	}
	assay_undo_drop(&undo);
}

static void join(void *arg)
{
	struct crew *c = arg;
	for (unsigned i = 1; i < c->started; i++)
		assay_thread_join(&c->worker[i].thread);
	pthread_cond_destroy(&c->turns->turn);
	pthread_mutex_destroy(&c->turns->beginning);
	pthread_mutex_destroy(&c->turns->lock);
}

void assay_turns_run(assay_turns *job)
{
	struct turns t = {.job = job};
	job->now = &t;
	pthread_mutex_init(&t.lock, NULL);
	pthread_mutex_init(&t.beginning, NULL);
	pthread_cond_init(&t.turn, NULL);
	struct crew c = {.turns = &t, .started = 1};
	unsigned n = job->threads < ASSAY_THREADS_MAX ? job->threads : ASSAY_THREADS_MAX;
	assay_undo undo;
	assay_undo_add(&undo, join, &c);
	c.worker[0].turns = &t;
	for (; c.started < n && c.started < job->tasks; c.started++) {
		struct worker *w = &c.worker[c.started];
		w->turns = &t;
		w->id = c.started;
		if (!assay_thread_start(&w->thread, run_worker, w))
			break; /* fewer threads do the same work */
	}
	run_worker(&c.worker[0]);
	assay_undo_drop(&undo);
	join(&c);
	for (unsigned i = 1; i < c.started; i++)
		assay_thread_fail_as(&c.worker[i].thread);
}

unsigned assay_threads(void)
{
	const char *env = getenv("ASSAY_THREADS");
	int n = env ? atoi(env) : 0;
	cpu_set_t set;
	if (n <= 0)
		n = sched_getaffinity(0, sizeof set, &set) ? 1 : CPU_COUNT(&set);
	return n < 1 ? 1 : n > ASSAY_THREADS_MAX ? ASSAY_THREADS_MAX : (unsigned)n;
}

/* ------------------------------------------------------------------ tests */

struct squares {
	uint64_t held[ASSAY_THREADS_MAX], last, order, after[ASSAY_THREADS_MAX];
	const assay_turns *turns;
};

static void square(void *ctx, unsigned worker, uint64_t task)
{
	((struct squares *)ctx)->held[worker] = task * task;
}

static bool add_square(void *ctx, unsigned worker, uint64_t task)
{
	struct squares *s = ctx;
	s->order = s->order * 31 + s->held[worker] + task;
	return task != s->last;
}

static void add_when_due(void *ctx, unsigned worker, uint64_t task)
{
	struct squares *s = ctx;
	square(ctx, worker, task);
	assay_turns_await(s->turns, task);
	add_square(ctx, worker, task);
}

static bool was_added(void *ctx, unsigned worker, uint64_t task)
{
	(void)ctx, (void)worker, (void)task;
	return true;
}

static void count_task(void *ctx, unsigned worker, uint64_t task)
{
	(void)task;
	((struct squares *)ctx)->after[worker]++;
}

TEST(tasks_are_handed_over_in_order_by_any_number_of_threads)
{
	uint64_t order = 0;
	for (unsigned threads = 0; threads < 6; threads++) {
		struct squares s = {.last = UINT64_MAX};
		assay_turns_run(&(assay_turns){.tasks = 500,
					       .threads = threads,
					       .ctx = &s,
					       .work = square,
					       .hand_over = add_square,
					       .after = count_task});
		uint64_t after = 0;
		for (unsigned i = 0; i < threads || !i; i++)
			after += s.after[i];
		CHECK_EQ(after, 500);
		CHECK(threads == 0 || s.order == order);
		order = s.order;
		s.order = 0;
		assay_turns t = {.tasks = 500,
				 .threads = threads,
				 .ctx = &s,
				 .work = add_when_due,
				 .hand_over = was_added};
		s.turns = &t;
		assay_turns_run(&t);
		CHECK_EQ(s.order, order);
	}
	return 0;
}

TEST(tasks_that_nobody_hands_over_are_all_done)
{
	for (unsigned threads = 0; threads < 5; threads++) {
		struct squares s = {.last = 40};
		assay_turns_run(&(assay_turns){.tasks = 500,
					       .threads = threads,
					       .ctx = &s,
					       .work = square,
					       .after = count_task});
		uint64_t after = 0;
		for (unsigned i = 0; i < 5; i++)
			after += s.after[i];
		CHECK(after == 500 && !s.order);
	}
	return 0;
}

TEST(tasks_without_a_number_end_when_one_says_so)
{
	for (unsigned threads = 1; threads < 4; threads++) {
		struct squares s = {.last = 40};
		assay_turns_run(&(assay_turns){.tasks = UINT64_MAX,
					       .threads = threads,
					       .ctx = &s,
					       .work = square,
					       .hand_over = add_square,
					       .after = count_task});
		uint64_t after = 0;
		for (unsigned i = 0; i < threads; i++)
			after += s.after[i];
		CHECK(after >= 41 && after < 41 + threads);
	}
	return 0;
}

/* What a task is depends on the one begun before it. */
struct chain {
	uint64_t next, held[ASSAY_THREADS_MAX], sum;
};

static bool begin_link(void *ctx, unsigned worker, uint64_t task)
{
	struct chain *c = ctx;
	if (task == 300)
		return false;
	c->held[worker] = c->next;
	c->next = c->next * 31 + task;
	return true;
}

static void work_link(void *ctx, unsigned worker, uint64_t task)
{
	((struct chain *)ctx)->held[worker] += task;
}

static bool add_link(void *ctx, unsigned worker, uint64_t task)
{
	struct chain *c = ctx;
	c->sum = c->sum * 31 + c->held[worker] + task;
	return true;
}

TEST(tasks_are_begun_in_order_by_any_number_of_threads)
{
	uint64_t sum = 0;
	for (unsigned threads = 1; threads < 6; threads++) {
		struct chain c = {.next = 1};
		assay_turns_run(&(assay_turns){.tasks = UINT64_MAX,
					       .threads = threads,
					       .ctx = &c,
					       .begin = begin_link,
					       .work = work_link,
					       .hand_over = add_link});
		CHECK(threads == 1 || c.sum == sum);
		sum = c.sum;
	}
	CHECK(sum);
	return 0;
}
