/* The ordered, speculative window pipeline. */
#include "base/pump.h"

#include <assert.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/output.h"
#include "base/test.h"

/* Behind a window its last record ends, mostly. */
enum { WINDOW = 1 << 20, BEHIND = 16 << 10 };

/* What a worker made of its window. */
struct span {
	uint64_t start, end; /* start UINT64_MAX: nothing was parsed */
	uint64_t drop;       /* text in front of it is no longer needed */
	bool over, committed;
};

struct pump {
	const assay_pump *job;
	size_t window;
	/* of the worker whose turn it is */
	uint64_t expect; /* where the next record really starts */
	bool over;       /* no later window holds records */
	struct span span[ASSAY_THREADS_MAX];
	assay_piece piece[ASSAY_THREADS_MAX];
};

/* Parse from pos to limit, fetching text until it suffices. Returns where it stopped. */
static uint64_t parse_span(struct pump *p, unsigned worker, uint64_t pos, uint64_t limit,
			   bool *over)
{
	const assay_pump *job = p->job;
	size_t want = pos < limit ? (size_t)(limit - pos) + BEHIND : p->window;
	for (;;) {
		assay_view v = assay_input_piece(job->in, &p->piece[worker], pos, want);
		size_t used = 0;
		assay_pump_status st = job->parse(
			job->ctx, worker, v, limit > pos ? (size_t)(limit - pos) : 0, pos, &used);
		assert(used <= v.n);
		pos += used;
		if (st == ASSAY_PUMP_LIMIT)
			return pos;
		if (st == ASSAY_PUMP_END || v.end) {
			*over = true;
			return pos;
		}
		want = 2 * (v.n - used) + BEHIND; /* an open record is looked at few times */
	}
}

/* The guessed first record of window k, or UINT64_MAX when the window seems to hold none. */
static uint64_t guess_start(struct pump *p, unsigned worker, uint64_t from, uint64_t limit)
{
	assay_view v = assay_input_piece(p->job->in, &p->piece[worker], from,
					 (size_t)(limit - from) + BEHIND);
	size_t n = v.n < limit - from ? v.n : (size_t)(limit - from);
	size_t at = p->job->align(p->job->ctx, v.p, n);
	return at < n ? from + at : UINT64_MAX;
}

static void parse_window(void *ctx, unsigned worker, uint64_t k)
{
	struct pump *p = ctx;
	const assay_pump *job = p->job;
	uint64_t from = job->start + k * p->window, limit = from + p->window;
	struct span *s = &p->span[worker];
	*s = (struct span){.start = UINT64_MAX};
	if (job->threads <= 1)
		return;
	s->start = k ? guess_start(p, worker, from, limit) : from;
	if (s->start != UINT64_MAX)
		s->end = parse_span(p, worker, s->start, limit, &s->over);
}

static bool commit_window(void *ctx, unsigned worker, uint64_t k)
{
	struct pump *p = ctx;
	const assay_pump *job = p->job;
	uint64_t limit = job->start + (k + 1) * p->window;
	struct span *s = &p->span[worker];
	s->drop = p->expect;
	if (p->over || p->expect >= limit) { /* the list ended, or one record covers this window */
		job->discard(job->ctx, worker);
		return !p->over;
	}
	if (s->start != p->expect) {
		job->discard(job->ctx, worker);
		s->over = false;
		s->end = parse_span(p, worker, p->expect, limit, &s->over);
	}
	assert(s->end >= p->expect);
	job->commit(job->ctx, worker);
	s->committed = true;
	p->expect = s->drop = s->end;
	p->over = s->over;
	return !p->over;
}

/* A record may reach into windows behind this one, whose workers look at their text until they are
 * handed over themselves: that much stays. */
static void fill_window(void *ctx, unsigned worker, uint64_t k)
{
	struct pump *p = ctx;
	uint64_t limit = p->job->start + (k + 1) * p->window, done = p->span[worker].drop;
	assay_input_drop(p->job->in, done < limit ? done : limit);
	if (p->span[worker].committed && p->job->fill)
		p->job->fill(p->job->ctx, worker);
}

uint64_t assay_pump_run(const assay_pump *job)
{
	size_t window = job->window ? job->window : WINDOW;
	struct pump p = {.job = job, .window = window / ASSAY_PUMP_SHRINK, .expect = job->start};
	assay_input_spread(job->in, job->threads);
	assay_turns_run(&(assay_turns){.tasks = UINT64_MAX,
				       .threads = job->threads,
				       .ctx = &p,
				       .work = parse_window,
				       .hand_over = commit_window,
				       .after = fill_window});
	for (unsigned i = 0; i < ASSAY_THREADS_MAX; i++)
		assay_piece_free(&p.piece[i]);
	assay_input_drop(job->in, p.expect);
	assay_input_view(job->in, p.expect, 1); /* a file that became shorter is said to have */
	return p.expect;
}

/* Test format: records are "(" digits ")", the list ends with ".". Digits are summed; some records
 * hold a false start "(" of their own, so guesses can be wrong. */
struct sums {
	uint64_t total, order;
	uint64_t part[ASSAY_THREADS_MAX];
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

/* Records of many windows each, in a packed file, whose text is gone when it is dropped. */
TEST(text_stays_while_somebody_looks_for_records_in_it)
{
	enum { RECORDS = 200, LENGTH = 50000 };
	const char *path = assay_test_path("long.gz");
	assay_output *o = assay_output_open(path, NULL);
	FILE *f = assay_output_file(o);
	for (int i = 0; i < RECORDS; i++)
		fprintf(f, "(%0*d)", LENGTH, i);
	fputc('.', f);
	CHECK(assay_output_close(o, NULL));
	for (unsigned threads = 1; threads < 5; threads++) {
		struct sums s = {0};
		assay_input *in = assay_input_open(path, NULL);
		CHECK(in);
		uint64_t end = assay_pump_run(&(assay_pump){.in = in,
							    .threads = threads,
							    .window = 4096,
							    .ctx = &s,
							    .align = test_align,
							    .parse = test_parse,
							    .commit = test_commit,
							    .discard = test_discard});
		CHECK_EQ(end, RECORDS * (LENGTH + 2) + 1);
		CHECK_EQ(s.total, RECORDS * (RECORDS - 1) / 2);
		assay_input_close(in);
	}
	return 0;
}
