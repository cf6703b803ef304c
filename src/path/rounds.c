/* Rounds of a loop that goes through tensors, boxes or rows one by one: each does the same little
 * work, and all of them could be one call. Layers of a model are rounds, too, but have products. */
#include "path/outer.h"

#include "analyze/analyze.h"
#include "base/test.h"
#include "model/by_hand.h"
#include "path/worth.h"
#include "work/compute.h"

enum {
	READS = 16,    /* rounds with a value read in each */
	LAUNCHES = 32, /* rounds that only launch */
	LONGEST = 64,  /* pieces of work of a round */
	PERIOD = 16,   /* operators of a round that only launches */
	SHORT = 4 * ASSAY_LEAST_KERNEL,
};

/* Where the same value is read, of the same kind. */
static uint64_t key_of(const assay_outers *s, const assay_outer *o)
{
	return o->line ? o->line : s->g->run->part.t.host.name[o->row];
}

static bool is_small(const assay_outer *o)
{
	return !o->what.product && !o->what.sends && !o->bare &&
	       o->what.kernels <= (int64_t)o->what.count * SHORT;
}

static bool reads(const assay_outer *o)
{
	return o->blocks && is_small(o);
}

/* Is what lies behind one read and up to the next a round of little work? */
static bool is_round(const assay_outers *s, size_t before, size_t read)
{
	unsigned work = 0;
	for (size_t i = before + 1; i <= read; i++) {
		if (!is_small(&s->op.p[i]))
			return false;
		work += s->op.p[i].what.count;
	}
	return s->op.p[before].thread == s->op.p[read].thread && work > 1 && work <= LONGEST &&
	       key_of(s, &s->op.p[before]) == key_of(s, &s->op.p[read]);
}

static size_t next_read(const assay_outers *s, size_t i)
{
	while (i < s->op.n && !reads(&s->op.p[i]))
		i++;
	return i;
}

static void mark(assay_outers *s, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++)
		s->op.p[i].goes = true;
}

/* From the first read to the last: the way to the first one stays. */
static void mark_reads(assay_outers *s)
{
	size_t first = next_read(s, 0);
	while (first < s->op.n) {
		size_t last = first, rounds = 0, next;
		while ((next = next_read(s, last + 1)) < s->op.n && is_round(s, last, next)) {
			last = next;
			rounds++;
		}
		if (rounds >= READS)
			mark(s, first + 1, last + 1);
		first = next;
	}
}

static bool only_launches(const assay_outer *o)
{
	return !o->blocks && is_small(o) && !o->what.brings;
}

/* Operators from here on that are the same as so many before. */
static size_t length_of_row(const assay_outers *s, size_t from, size_t period)
{
	size_t n = 0;
	for (size_t i = from + period; i < s->op.n; i++, n++) {
		const assay_outer *o = &s->op.p[i], *before = &s->op.p[i - period];
		if (!only_launches(o) || !only_launches(before) || o->thread != before->thread ||
		    key_of(s, o) != key_of(s, before))
			break;
	}
	return n;
}

static bool launches(const assay_outers *s, size_t from, size_t to)
{
	while (from < to && !s->op.p[from].what.count)
		from++;
	return from < to;
}

static void mark_launches(assay_outers *s)
{
	for (size_t period = 1; period <= PERIOD; period++)
		for (size_t i = 0, n; i + period < s->op.n; i += n + 1) {
			n = s->op.p[i].goes ? 0 : length_of_row(s, i, period);
			if (n >= (LAUNCHES - 1) * period && launches(s, i, i + period))
				mark(s, i + period, i + period + n);
		}
}

void assay_outers_mark_rounds(assay_outers *s, bool read)
{
	s->stays = ASSAY_LEAST_KERNEL;
	if (read)
		mark_reads(s);
	else
		mark_launches(s);
}

/* A program of operators one behind the other, with a kernel in each: products take longer. */
struct program {
	assay_run *run;
	int64_t at;
};

enum { US = 1000, TURN = 20 * US };

static void operator(struct program *p, const char *name, const char *kernel, bool reads)
{
	assay_hand_host(p->run, ASSAY_HOST_OP, name, p->at, TURN - 2 * US);
	uint32_t call =
		assay_hand_host(p->run, ASSAY_HOST_RUNTIME, "cudaLaunchKernel", p->at + US, 4 * US);
	assay_hand_gpu(p->run, kernel, p->at + 7 * US, (strcmp(kernel, "gemm") ? 2 : 10) * US,
		       call);
	if (reads)
		assay_hand_host(p->run, ASSAY_HOST_RUNTIME, "cudaStreamSynchronize", p->at + 6 * US,
				6 * US);
	p->at += TURN;
}

/* How many of them rounds are that could be one, as many steps as there are; share: of the time. */
static uint64_t rounds_of(struct program *p, assay_operators_kind kind, double *share)
{
	assay_tables *t = &p->run->part.t;
	assay_gone_operators told = {.times = 0};
	assay_window window = {.device = 0, .from = 0, .to = p->at, .steps = 4};
	uint32_t d = assay_add(t, ASSAY_T_device_time);
	t->device_time.source[d] = t->track.source[t->gpu.track[0]];
	t->device_time.device[d] = t->track.pid[t->gpu.track[0]];
	assay_kernels(p->run);
	assay_worth *w = assay_worth_open(p->run, &window);
	if (!assay_worth_without_operators(w, kind, &told, share))
		told.times = 0;
	assay_worth_close(w);
	assay_run_free(p->run);
	return told.times;
}

static uint64_t boxes(int rounds, const char *kernel, double *share)
{
	struct program p = {assay_run_new(), 0};
	assay_add(&p.run->part.t, ASSAY_T_source);
	for (int step = 0; step < 4; step++) {
		for (int i = 0; i < 10; i++)
			operator(&p, "aten::mm", "gemm", false);
		for (int i = 0; i < rounds; i++) {
			operator(&p, "aten::max", kernel, false);
			if (i % 3) /* not every round is the same */
				operator(&p, "aten::sub", "sub", false);
			operator(&p, "aten::item", "reduce", true);
		}
	}
	return rounds_of(&p, ASSAY_OPERATORS_ROUNDS_READ, share);
}

TEST(rounds_that_each_read_a_value_are_one_loop)
{
	double share = 0;
	CHECK_EQ(boxes(30, "maximum", &share), 4 * 29); /* the first one of each stays */
	CHECK(share > 0.85 && share < 0.95);
	CHECK_EQ(boxes(READS, "maximum", &share), 0);
	CHECK_EQ(boxes(30, "gemm", &share), 0); /* layers that are read from */
	return 0;
}

static uint64_t parameters(int tensors, const char *kernel, double *share)
{
	struct program p = {assay_run_new(), 0};
	assay_add(&p.run->part.t, ASSAY_T_source);
	for (int step = 0; step < 4; step++) {
		for (int i = 0; i < 10; i++)
			operator(&p, "aten::mm", "gemm", false);
		for (int i = 0; i < tensors; i++) {
			operator(&p, "aten::mul_", "mul", false);
			operator(&p, "aten::lerp_", kernel, false);
		}
	}
	return rounds_of(&p, ASSAY_OPERATORS_ROUNDS, share);
}

TEST(operators_that_go_through_tensors_are_one_loop)
{
	double share = 0;
	CHECK_EQ(parameters(50, "lerp", &share), 4 * 49 * 2);
	CHECK(share > 0.85 && share < 0.95);
	CHECK_EQ(parameters(LAUNCHES - 1, "lerp", &share), 0);
	CHECK_EQ(parameters(50, "gemm", &share), 0); /* layers */
	return 0;
}
