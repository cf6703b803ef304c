/* Kernels that are run to see how long they take. Tuners (Triton's, Inductor's) clear the cache,
 * record an event, run the kernel, record another one, and do so again and again: the same two
 * pieces of work in turn, with an event between them each time. Stacks say whose doing it is; this
 * is for recordings without. */
#include "base/fmt.h"
#include "base/sort.h"
#include "base/test.h"
#include "find/finding.h"
#include "model/by_hand.h"
#include "model/by_name.h"
#include "names/calls.h"
#include "names/roles.h"

static const double least = 0.05; /* of the time */

enum { MANY = 16 }; /* times in a row */

struct trials {
	const assay_run *run;
	const assay_find_ctx *c;
	const uint32_t *row; /* the device's work in order */
	size_t n;
	assay_vec(int64_t) record; /* when events are recorded, rising */
	assay_by_name fills;
	assay_vec(assay_span) span;
	const assay_span *during; /* the same, in the scratch arena */
	size_t spans;
	int64_t total;
	uint64_t times;
	uint32_t tried; /* row of gpu: of the longest span */
	int64_t longest;
};

static unsigned records(assay_str call)
{
	return assay_call_meaning_of(call.p, call.n).does == ASSAY_DOES_RECORD;
}

static unsigned fills(assay_str kernel)
{
	return assay_role_of_kernel(kernel) == ASSAY_ROLE_FILL;
}

static void find_records(struct trials *x)
{
	const assay_host_table *h = &x->run->part.t.host;
	assay_by_name is = assay_by_name_open(x->run, x->c->scratch, records);
	for (uint32_t i = 0; i < h->n; i++)
		if (assay_is_call(h->kind[i]) && assay_by_name_ask(&is, h->name[i]))
			*assay_push(&x->record) = h->ts[i];
	assay_sort_i64(x->record.p, x->record.n);
}

static int64_t launched(const struct trials *x, size_t i)
{
	uint32_t launch = x->run->part.t.launch.host[x->row[i]];
	return launch == ASSAY_NO_ROW ? INT64_MAX : x->run->part.t.host.ts[launch];
}

/* Does it do nothing but overwrite memory, as what clears the cache does? Two kernels of a program
 * may take turns, too, with events of a timer or of another stream between them. */
static bool clears(const struct trials *x, size_t i)
{
	const assay_gpu_table *g = &x->run->part.t.gpu;
	uint32_t row = x->row[i];
	return g->kind[row] == ASSAY_GPU_MEMSET || assay_by_name_ask(&x->fills, g->name[row]);
}

/* Is an event recorded between the launches of two pieces of work? */
static bool is_timed(const struct trials *x, size_t a, size_t b)
{
	int64_t from = launched(x, a), to = launched(x, b);
	if (from == INT64_MAX || to == INT64_MAX || from >= to)
		return false;
	size_t before = assay_count_until(x->record.p, sizeof *x->record.p, x->record.n, from);
	return before < x->record.n && x->record.p[before] < to;
}

static assay_sid name_at(const struct trials *x, size_t i)
{
	return x->run->part.t.gpu.name[x->row[i]];
}

/* How many pieces of work from here on are these two and nothing else; how often the second comes
 * behind the first, timed. */
static size_t length_of_row(const struct trials *x, size_t from, uint64_t *times)
{
	assay_sid clear = name_at(x, from), tried = name_at(x, from + 1);
	size_t i = from + 1;
	*times = 0;
	for (; i < x->n && (name_at(x, i) == clear || name_at(x, i) == tried); i++)
		*times += name_at(x, i) == tried && name_at(x, i - 1) == clear &&
			  is_timed(x, i - 1, i);
	return i - from;
}

static void add_span(struct trials *x, size_t from, size_t n, uint64_t times)
{
	const assay_gpu_table *g = &x->run->part.t.gpu;
	/* runs without an event come first: they tell how often to repeat */
	for (; from && (name_at(x, from - 1) == name_at(x, from) ||
			name_at(x, from - 1) == name_at(x, from + 1));
	     from--)
		n++;
	int64_t begin = from ? assay_gpu_end(g, x->row[from - 1]) : g->ts[x->row[from]],
		end = assay_gpu_end(g, x->row[from + n - 1]);
	begin = begin > x->c->w->from ? begin : x->c->w->from;
	end = end < x->c->w->to ? end : x->c->w->to;
	if (end <= begin)
		return;
	*assay_push(&x->span) = (assay_span){begin, end};
	x->total += end - begin;
	x->times += times;
	if (end - begin > x->longest) {
		x->longest = end - begin;
		x->tried = x->row[from + n - 1];
	}
}

static void find_spans(struct trials *x)
{
	uint64_t times;
	for (size_t i = 0, n; i + 1 < x->n; i += n) {
		n = 1;
		if (name_at(x, i) == name_at(x, i + 1) || !clears(x, i) || !is_timed(x, i, i + 1))
			continue;
		size_t all = length_of_row(x, i, &times);
		if (times >= MANY) {
			add_span(x, i, all, times);
			n = all;
		}
	}
}

static struct trials trials_of(const assay_run *run, const assay_find_ctx *c)
{
	const assay_order_device *d = &c->order->device.p[c->w->device];
	struct trials x = {.run = run, .c = c, .row = c->order->row + d->first, .n = d->n};
	x.fills = assay_by_name_open(run, c->scratch, fills);
	find_records(&x);
	if (x.record.n >= MANY)
		find_spans(&x);
	return x;
}

static void tell(const struct trials *x)
{
	const assay_find_ctx *c = x->c;
	char count[ASSAY_FMT];
	assay_per_step each = assay_per_step_of(c, false);
	assay_found f = {.id = "detour",
			 .confidence = 0.8,
			 .total = x->total,
			 .saved = x->total,
			 .during = x->during,
			 .spans = x->spans};
	f.text = assay_printf(
		c->scratch,
		"a kernel is run again and again to see how long it takes: that takes %s",
		assay_share_words(c, x->total));
	f.fix = "tune once, before the loop: a key of @triton.autotune that takes few values (sizes rounded up, none that changes each call), or one configuration; no max-autotune where shapes change; keep the tuner's cache";
	f.where.kernel = assay_fmt_kernel(
		c->scratch, assay_text(x->run, x->run->part.t.gpu.name[x->tried]), 120);
	f.fact[0] = assay_printf(
		c->scratch,
		"%s runs%s behind the same other work and a recorded event each time, as tuners do",
		assay_fmt_count(count, x->times / (uint64_t)each.steps), each.words);
	for (assay_found *other = NULL; (other = assay_found_next(c, other));)
		if (!strcmp(other->id, "launch_bound") && !other->follows)
			other->follows = f.id;
	assay_finding_add(c, &f);
}

static void *look_at_turns(const assay_run *run, const assay_find_ctx *c)
{
	if (!c->order || c->w->device == ASSAY_NO_ROW || c->whole <= 0)
		return NULL;
	struct trials *x = assay_alloc(c->scratch, sizeof *x);
	*x = trials_of(run, c);
	assay_span *during = assay_alloc(c->scratch, (x->span.n + 1) * sizeof *during);
	if (x->span.n)
		memcpy(during, x->span.p, x->span.n * sizeof *during);
	x->during = during;
	x->spans = x->span.n;
	assay_vec_free(&x->record);
	assay_vec_free(&x->span);
	return x;
}

static void find_trials(const assay_run *run, const assay_find_ctx *c)
{
	struct trials *x = c->seen;
	if (!x || assay_found_with_id(c, "detour") || (double)x->total < least * (double)c->whole)
		return;
	x->run = run;
	x->c = c;
	tell(x);
}

const assay_finder assay_find_trials = {.id = "trials", .find = find_trials, .look = look_at_turns};

/* ------------------------------------------------------------------ tests */

struct tuned {
	assay_arena scratch;
	assay_run *run;
	uint32_t row[128];
	assay_order_device device;
	assay_order order;
	assay_window w;
	assay_find_ctx c;
	int64_t now;
};

static void launch(struct tuned *x, const char *name, bool timed)
{
	if (timed)
		assay_hand_host(x->run, ASSAY_HOST_RUNTIME, "cudaEventRecordWithFlags", x->now - 5,
				1);
	uint32_t call = assay_hand_host(x->run, ASSAY_HOST_RUNTIME, "cudaLaunchKernel", x->now, 10);
	x->row[x->device.n++] = assay_hand_gpu(x->run, name, x->now + 20, 50, call);
	x->now += 100;
}

static struct trials tuned(struct tuned *x, int times, bool timed, const char *clear)
{
	*x = (struct tuned){.run = assay_run_new(), .w = {.to = 100000}, .now = 100};
	launch(x, "product", false);
	launch(x, "tried", false); /* how often to repeat */
	for (int i = 0; i < times; i++) {
		launch(x, clear, false);
		launch(x, "tried", timed);
	}
	launch(x, "product", timed);
	x->order.row = x->row;
	x->order.device.p = &x->device;
	x->order.device.n = 1;
	x->c = (assay_find_ctx){.w = &x->w, .order = &x->order, .whole = 100000};
	x->c.scratch = &x->scratch;
	return trials_of(x->run, &x->c);
}

TEST(a_kernel_timed_again_and_again_is_tried)
{
	static const struct {
		int times;
		bool timed;
		const char *clear;
		size_t spans;
	} cases[] = {{20, true, "FillFunctor<int>", 1},
		     {20, false, "FillFunctor<int>", 0},
		     {MANY - 1, true, "FillFunctor<int>", 0},
		     {20, true, "gemm_fusion_dot_general_6", 0}};
	for (size_t i = 0; i < ASSAY_COUNT_OF(cases); i++) {
		struct tuned x;
		struct trials t = tuned(&x, cases[i].times, cases[i].timed, cases[i].clear);
		CHECK_EQ(t.span.n, cases[i].spans);
		/* from the end of the product on, with the run that is not timed */
		if (cases[i].spans)
			CHECK(t.span.p[0].from == 170 && t.total == 4100 && t.times == 20 &&
			      x.row[41] == t.tried);
		assay_vec_free(&t.record);
		assay_vec_free(&t.span);
		assay_arena_free(&x.scratch);
		assay_run_free(x.run);
	}
	return 0;
}
