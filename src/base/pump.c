/* The ordered, speculative window pipeline. */
#define _GNU_SOURCE /* sched_getaffinity */
#include "base/pump.h"

#include <sched.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/owner.h"
#include "base/test.h"

enum { WINDOW = 1 << 20, THREADS_MAX = 64 };

struct pump {
	const assay_pump *job;
	size_t window;
	pthread_mutex_t lock;
	pthread_cond_t turn;
	uint64_t taken;  /* windows given out */
	uint64_t done;   /* windows committed */
	uint64_t expect; /* where the next record really starts */
	bool over;       /* no window after `done` holds records */
	bool failed;     /* a worker found no memory, and its window will not come */
};

struct worker {
	struct pump *pump;
	unsigned id;
	assay_thread thread;
};

/* The first is the thread that has started the others. */
struct crew {
	struct pump *pump;
	struct worker worker[THREADS_MAX];
	unsigned started;
};

/* Parse from pos to limit, fetching text until it suffices. Returns where it stopped. */
static uint64_t parse_span(struct pump *p, unsigned worker, uint64_t pos, uint64_t limit,
			   bool *over)
{
	const assay_pump *job = p->job;
	size_t want = pos < limit ? (size_t)(limit - pos) : p->window;
	for (;;) {
		assay_view v = assay_input_view(job->in, pos, want);
		size_t used = 0;
		assay_pump_status st = job->parse(
			job->ctx, worker, v, limit > pos ? (size_t)(limit - pos) : 0, pos, &used);
		pos += used;
		if (st == ASSAY_PUMP_LIMIT)
			return pos;
		if (st == ASSAY_PUMP_END || v.end) {
			*over = true;
			return pos;
		}
		want = 2 * (v.n - used) + p->window; /* an open record is looked at few times */
	}
}

/* The guessed first record of window k, or UINT64_MAX when the window seems to hold none. */
static uint64_t guess_start(struct pump *p, uint64_t from, uint64_t limit)
{
	assay_view v = assay_input_view(p->job->in, from, (size_t)(limit - from));
	size_t n = v.n < limit - from ? v.n : (size_t)(limit - from);
	size_t at = p->job->align(p->job->ctx, v.p, n);
	return at < n ? from + at : UINT64_MAX;
}

static void wait_turn(struct pump *p, uint64_t k)
{
	pthread_mutex_lock(&p->lock);
	while (p->done != k && !p->failed)
		pthread_cond_wait(&p->turn, &p->lock);
	bool failed = p->failed;
	pthread_mutex_unlock(&p->lock);
	if (failed)
		assay_give_up(ASSAY_LIMIT, "out of memory: another thread that reads found none");
}

/* Between wait_turn and this, the worker alone owns expect, over and the shared tables. */
static void end_turn(struct pump *p, uint64_t expect, bool over)
{
	pthread_mutex_lock(&p->lock);
	p->expect = expect;
	p->over |= over;
	p->done++;
	pthread_cond_broadcast(&p->turn);
	pthread_mutex_unlock(&p->lock);
	assay_input_drop(p->job->in, expect);
}

static void run_window(struct pump *p, unsigned worker, uint64_t k)
{
	const assay_pump *job = p->job;
	uint64_t from = job->start + k * p->window, limit = from + p->window;
	bool over = false;
	uint64_t start = UINT64_MAX, end = 0;
	if (job->threads > 1) {
		start = k ? guess_start(p, from, limit) : from;
		if (start != UINT64_MAX)
			end = parse_span(p, worker, start, limit, &over);
	}
	wait_turn(p, k);
	uint64_t expect = p->expect;
	if (p->over || expect >= limit) { /* the list ended, or one record covers this window */
		job->discard(job->ctx, worker);
		end_turn(p, expect, false);
		return;
	}
	if (start != expect) {
		job->discard(job->ctx, worker);
		over = false;
		end = parse_span(p, worker, expect, limit, &over);
	}
	job->commit(job->ctx, worker);
	end_turn(p, end, over);
	if (job->fill)
		job->fill(job->ctx, worker);
}

static void fail(void *arg)
{
	struct pump *p = arg;
	pthread_mutex_lock(&p->lock);
	p->failed = true;
	pthread_cond_broadcast(&p->turn);
	pthread_mutex_unlock(&p->lock);
}

static void run_worker(void *arg)
{
	struct worker *w = arg;
	struct pump *p = w->pump;
	assay_undo undo;
	bool over = false;
	assay_undo_add(&undo, fail, p);
	while (!over) {
		pthread_mutex_lock(&p->lock);
		over = p->over || p->failed;
		uint64_t k = over ? 0 : p->taken++;
		pthread_mutex_unlock(&p->lock);
		if (!over)
			run_window(p, w->id, k);
	}
	assay_undo_drop(&undo);
}

static void join(void *arg)
{
	struct crew *c = arg;
	for (unsigned i = 1; i < c->started; i++)
		assay_thread_join(&c->worker[i].thread);
	pthread_cond_destroy(&c->pump->turn);
	pthread_mutex_destroy(&c->pump->lock);
}

uint64_t assay_pump_run(const assay_pump *job)
{
	struct pump p = {
		.job = job, .window = job->window ? job->window : WINDOW, .expect = job->start};
	pthread_mutex_init(&p.lock, NULL);
	pthread_cond_init(&p.turn, NULL);
	assay_input_spread(job->in, job->threads);
	struct crew c = {.pump = &p, .started = 1};
	unsigned n = job->threads < THREADS_MAX ? job->threads : THREADS_MAX;
	assay_undo undo;
	assay_undo_add(&undo, join, &c);
	c.worker[0].pump = &p;
	for (; c.started < n; c.started++) {
		struct worker *w = &c.worker[c.started];
		w->pump = &p;
		w->id = c.started;
		if (!assay_thread_start(&w->thread, run_worker, w))
			break; /* fewer threads do the same work */
	}
	run_worker(&c.worker[0]);
	assay_undo_drop(&undo);
	join(&c);
	for (unsigned i = 1; i < c.started; i++)
		assay_thread_fail_as(&c.worker[i].thread);
	return p.expect;
}

unsigned assay_threads(void)
{
	const char *env = getenv("ASSAY_THREADS");
	int n = env ? atoi(env) : 0;
	cpu_set_t set;
	if (n <= 0)
		n = sched_getaffinity(0, sizeof set, &set) ? 1 : CPU_COUNT(&set);
	return n < 1 ? 1 : n > THREADS_MAX ? THREADS_MAX : (unsigned)n;
}

/* Test format: records are "(" digits ")", the list ends with ".". Digits are summed; some records
 * hold a false start "(" of their own, so guesses can be wrong. */
struct sums {
	uint64_t total, order;
	uint64_t part[THREADS_MAX];
};

static size_t test_align(void *ctx, const char *text, size_t n)
{
	(void)ctx;
	const char *at = memchr(text, '(', n);
	return at ? (size_t)(at - text) : n;
}

static assay_pump_status test_parse(void *ctx, unsigned worker, assay_view v, size_t limit,
				    uint64_t pos, size_t *used)
{
	struct sums *s = ctx;
	(void)pos;
	for (size_t i = *used = 0;; *used = i) {
		if (i >= v.n)
			return ASSAY_PUMP_MORE;
		if (v.p[i] == '.')
			return ++*used, ASSAY_PUMP_END;
		if (i >= limit)
			return ASSAY_PUMP_LIMIT;
		uint64_t sum = 0;
		for (i++; i < v.n && v.p[i] != ')'; i++)
			if (v.p[i] != '(')
				sum = sum * 10 + (uint64_t)(v.p[i] - '0');
		if (i >= v.n)
			return ASSAY_PUMP_MORE;
		i++;
		s->part[worker] += sum;
	}
}

static void test_commit(void *ctx, unsigned worker)
{
	struct sums *s = ctx;
	s->total += s->part[worker];
	s->order = s->order * 31 + s->part[worker];
	s->part[worker] = 0;
}

static void test_discard(void *ctx, unsigned worker)
{
	((struct sums *)ctx)->part[worker] = 0;
}

TEST(any_number_of_threads_reads_the_same)
{
	assay_vec(char) text = {0};
	uint64_t want = 0;
	for (uint64_t i = 0; i < 3000; i++) {
		char rec[64];
		int n = snprintf(rec, sizeof rec, i % 3 ? "(%llu)" : "((%llu(",
				 (unsigned long long)i);
		for (int k = 0; k < n; k++)
			*assay_push(&text) = rec[k];
		if (i % 3 == 0)
			*assay_push(&text) = ')';
		want += i;
	}
	*assay_push(&text) = '.';
	uint64_t order[5] = {0};
	for (unsigned threads = 0; threads < 5; threads++) {
		struct sums s = {0};
		assay_input *in = assay_input_memory(text.p, text.n);
		uint64_t end = assay_pump_run(&(assay_pump){.in = in,
							    .threads = threads,
							    .window = 64,
							    .ctx = &s,
							    .align = test_align,
							    .parse = test_parse,
							    .commit = test_commit,
							    .discard = test_discard});
		CHECK_EQ(end, text.n);
		CHECK_EQ(s.total, want);
		order[threads] = s.order;
		assay_input_close(in);
	}
	for (int i = 1; i < 5; i++)
		CHECK(order[i] == order[0]);
	assay_vec_free(&text);
	return 0;
}
