#include "find/blocking.h"

#include "analyze/idle_lines.h"
#include "base/fmt.h"
#include "base/sort.h"
#include "base/test.h"
#include "model/by_hand.h"
#include "model/by_name.h"
#include "names/calls.h"
#include "names/copies.h"
#include "names/waiters.h"
#include "path/graph.h"

enum { AROUND = 4 }; /* calls before and behind one that blocks: of the same operator */

/* What a call of the place is, in order of time. */
struct call {
	uint32_t row;
	uint8_t waiter;      /* by what it launched */
	bool blocks, copies; /* copies: between host and device */
};

typedef assay_vec(struct call) calls;

struct search {
	const assay_run *run;
	const assay_tables *t;
	const assay_window *w;
	assay_by_name form; /* form_of() */
	assay_map at;       /* row of host -> call */
	calls call;
};

enum { GOES_ON, WAITS, COPIES }; /* COPIES: in a form that waits */

static unsigned form_of(assay_str call)
{
	assay_call_meaning m = assay_call_meaning_of(call.p, call.n);
	return !assay_call_is_wait(m) ? GOES_ON : m.does == ASSAY_DOES_COPY ? COPIES : WAITS;
}

static void gather_calls(struct search *s, uint32_t own, assay_blocking *b)
{
	const assay_host_table *h = &s->t->host;
	uint64_t here = assay_line_key(s->t, own);
	assay_vec(uint32_t) rows = {0};
	for (uint32_t i = 0; i < h->n; i++) {
		if (!assay_is_call(h->kind[i]) || h->ts[i] < s->w->from || h->ts[i] >= s->w->to)
			continue;
		b->all += assay_by_name_ask(&s->form, h->name[i]) != GOES_ON;
		uint32_t stack = assay_call_stack(s->t, i);
		if (stack != ASSAY_NO_ROW &&
		    assay_line_key(s->t, assay_own_call(s->t, stack)) == here)
			*assay_push(&rows) = i;
	}
	assay_sort_rows(rows.p, rows.n, h->ts);
	for (size_t i = 0; i < rows.n; i++) {
		unsigned form = assay_by_name_ask(&s->form, h->name[rows.p[i]]);
		*assay_map_at(&s->at, rows.p[i]) = (uint32_t)i;
		*assay_push(&s->call) = (struct call){.row = rows.p[i],
						      .waiter = (uint8_t)assay_waiters_n,
						      .blocks = form != GOES_ON,
						      .copies = form == COPIES};
	}
	assay_vec_free(&rows);
}

/* A copy into pageable memory is over when its call is, whatever that is named. */
static void see_work(struct search *s)
{
	const assay_gpu_table *g = &s->t->gpu;
	for (uint32_t i = 0; i < s->t->launch.n; i++) {
		uint32_t at = assay_map_get(&s->at, s->t->launch.host[i]);
		if (at == ASSAY_MAP_ABSENT)
			continue;
		struct call *c = &s->call.p[at];
		assay_str name = assay_text(s->run, g->name[i]);
		if (g->kind[i] == ASSAY_GPU_KERNEL)
			c->waiter = (uint8_t)assay_waiter_of_kernel(name);
		if (g->kind[i] != ASSAY_GPU_MEMCPY)
			continue;
		assay_copy_way way = assay_copy_way_of(name);
		c->copies |= assay_copy_to_host(way) || assay_copy_from_host(way);
		c->blocks |= assay_copy_to_host(way) && assay_str_find(name, "Pageable") >= 0;
	}
}

/* Calls on one thread, right before and behind one that blocks, are of the operator it is in. */
static size_t waiter_around(const struct search *s, size_t at)
{
	const struct call *p = s->call.p;
	size_t from = at > AROUND ? at - AROUND : 0,
	       to = at + AROUND < s->call.n ? at + AROUND : s->call.n - 1, best = assay_waiters_n;
	for (size_t i = from; i <= to; i++)
		if (p[i].waiter < best && s->t->host.track[p[i].row] == s->t->host.track[p[at].row])
			best = p[i].waiter;
	return best;
}

/* What is read back, or sent from memory that the host goes on with, is waited for. */
static bool copies_before(const struct search *s, size_t at)
{
	const struct call *p = s->call.p;
	return p[at].copies || (at && p[at - 1].copies &&
				s->t->host.track[p[at - 1].row] == s->t->host.track[p[at].row]);
}

static void count_waits(const struct search *s, assay_blocking *b, uint64_t *inside)
{
	for (size_t i = 0; i < s->call.n; i++) {
		if (!s->call.p[i].blocks)
			continue;
		b->first = b->first == ASSAY_NO_ROW ? s->call.p[i].row : b->first;
		b->calls++;
		b->bare += !copies_before(s, i);
		inside[waiter_around(s, i)]++;
	}
}

/* own: a row of stack. */
static assay_blocking blocking_at(const assay_run *run, const assay_window *w, uint32_t own)
{
	assay_arena scratch = {0};
	struct search s = {.run = run, .t = &run->part.t, .w = w};
	assay_blocking b = {.first = ASSAY_NO_ROW, .waiter = assay_waiters_n};
	uint64_t *inside = assay_alloc(&scratch, (assay_waiters_n + 1) * sizeof *inside), most = 0;
	s.form = assay_by_name_open(run, &scratch, form_of);
	gather_calls(&s, own, &b);
	see_work(&s);
	count_waits(&s, &b, inside);
	for (size_t i = 0; i < assay_waiters_n; i++)
		if (inside[i] > most) {
			most = inside[i];
			b.waiter = i;
		}
	if (most * 2 < b.calls)
		b.waiter = assay_waiters_n;
	assay_arena_free(&scratch);
	assay_map_free(&s.at);
	assay_vec_free(&s.call);
	return b;
}

bool assay_blocking_is_dense(const assay_blocking *b, const assay_window *w)
{
	return w->steps && b->all >= w->steps &&
	       b->all * ASSAY_DENSE_WORK >= assay_window_events(w);
}

const char assay_timer_fix[] =
	"no synchronize() in the step: time with events put into the stream (torch.cuda.Event(enable_timing=True)) and read them every few hundred steps, or use a profiler";

bool assay_blocking_tell(const assay_run *run, const assay_find_ctx *c, uint32_t own,
			 assay_found *f)
{
	assay_blocking b = blocking_at(run, c->w, own);
	assay_per_step each = assay_per_step_of(c, f->once);
	char count[ASSAY_FMT];
	f->dense = assay_blocking_is_dense(&b, c->w);
	assay_fmt_count(count, b.calls / (uint64_t)each.steps);
	if (b.waiter < assay_waiters_n) {
		const assay_waiter *w = &assay_waiters[b.waiter];
		f->fix = w->fix;
		f->text = assay_printf(c->scratch, "%s: inside %s", f->text, w->op);
		assay_found_add_fact(
			f, assay_printf(c->scratch, "%s blocking calls%s there, beside its kernels",
					count, each.words));
	} else if (b.bare * 2 > b.calls) {
		f->fix = assay_timer_fix;
		assay_found_add_fact(
			f, assay_printf(c->scratch,
					"%s calls%s there wait and copy nothing, as timers do",
					count, each.words));
	}
	return b.waiter < assay_waiters_n && assay_waiters[b.waiter].stays;
}

/* Every 100 ns repeat_interleave reads a sum back and goes on; or something is timed. */
static assay_blocking look(bool timed, const char *copies)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	uint32_t stack = assay_hand_stack(run, ASSAY_NO_ROW, NULL, NULL);
	t->stack.line[stack] = 6;
	for (int64_t at = 0; at < 1000; at += 100) {
		uint32_t sum = assay_hand_call(run, stack, "cudaLaunchKernel", at, 5);
		assay_hand_gpu(run, "void cub::DeviceScanKernel<long>", at + 2, 3, sum);
		if (!timed) {
			uint32_t copy = assay_hand_call(run, stack, "cudaMemcpyAsync", at + 10, 5);
			uint32_t work = assay_hand_gpu(run, copies, at + 12, 1, copy);
			t->gpu.kind[work] = ASSAY_GPU_MEMCPY;
		}
		assay_hand_call(run, stack,
				timed ? "cudaDeviceSynchronize" : "cudaStreamSynchronize", at + 20,
				5);
		uint32_t fill = assay_hand_call(run, stack, "cudaLaunchKernel", at + 30, 5);
		assay_hand_gpu(run, timed ? "gemm" : "void compute_cuda_kernel<long>", at + 32, 3,
			       fill);
	}
	assay_blocking b = blocking_at(run, &(assay_window){.to = 1000}, stack);
	assay_run_free(run);
	return b;
}

TEST(blocking_calls_are_of_the_operator_around_them_or_only_wait)
{
	assay_blocking b = look(false, "Memcpy DtoH (Device -> Pinned)");
	CHECK(b.calls == 10 && b.all == 10 && b.bare == 0);
	CHECK(look(false, "Memcpy HtoD (Pageable -> Device)").bare == 0);
	CHECK(look(false, "Memcpy DtoD (Device -> Device)").bare == 10);
	CHECK(!strcmp(assay_waiters[b.waiter].op, "repeat_interleave"));
	b = look(true, NULL);
	CHECK(b.calls == 10 && b.bare == 10 && b.waiter == assay_waiters_n);
	return 0;
}

TEST(blocking_calls_are_dense_when_few_pieces_of_work_lie_between)
{
	assay_window w = {.steps = 10};
	assay_blocking b = {.all = 10};
	w.events[ASSAY_CLASS_COMPUTE] = 10 * ASSAY_DENSE_WORK;
	CHECK(assay_blocking_is_dense(&b, &w));
	w.events[ASSAY_CLASS_COPY] = 1;
	CHECK(!assay_blocking_is_dense(&b, &w));
	b.all = 9; /* not in every step */
	w.events[ASSAY_CLASS_COMPUTE] = 20;
	CHECK(!assay_blocking_is_dense(&b, &w));
	return 0;
}
