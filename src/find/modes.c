/* Modes that help to find errors, left on. Python that runs in a mode only is seen in stacks: where
 * a function was seen to call it, it is called every time. Launches that return after their kernel
 * show the mode by their times. */
#include <stdlib.h>

#include "analyze/idle_where.h"
#include "base/compare.h"
#include "base/fmt.h"
#include "base/sort.h"
#include "base/test.h"
#include "find/finding.h"
#include "model/by_hand.h"
#include "names/calls.h"
#include "names/copies.h"

enum {
	USUAL = 20 * 1000, /* ns of Python from one launch to the next */
	FLAG = 8,          /* bytes of a result that the host looks at */
};

static const char id[] = "debug_mode";

typedef assay_vec(assay_span) spans;

struct modes {
	const assay_run *run;
	const assay_tables *t;
	const assay_find_ctx *c;
	uint8_t *of_stack;                /* by row of stack: the mode it runs in */
	uint8_t *of_name;                 /* by string id: the same of rows of host */
	assay_map place;                  /* line that was seen to call a mode -> the mode */
	int64_t python[ASSAY_MODE_COUNT]; /* ns of the window in which the device waits for it */
	uint64_t times[ASSAY_MODE_COUNT];
	uint32_t worst[ASSAY_MODE_COUNT]; /* stack with the longest wait */
	int64_t longest[ASSAY_MODE_COUNT];
	spans during[ASSAY_MODE_COUNT];
	uint64_t checks;           /* of gradients */
	int64_t checking, checked; /* ns of the host; of the device */
};

static bool in_window(const struct modes *m, int64_t ts)
{
	return ts >= m->c->w->from && ts < m->c->w->to;
}

static int64_t end_in_window(const struct modes *m, int64_t end)
{
	return end < m->c->w->to ? end : m->c->w->to;
}

static void add_span(struct modes *m, assay_mode mode, int64_t from, int64_t to)
{
	*assay_push(&m->during[mode]) = (assay_span){from, to};
}

/* ------------------------------------------------------------------ stacks */

static uint64_t line_of(const assay_tables *t, uint32_t stack)
{
	return (uint64_t)t->stack.code[stack] << 32 | (uint32_t)t->stack.line[stack];
}

/* False: no stack leads into a mode. */
static bool mark_stacks(struct modes *m)
{
	const assay_stack_table *s = &m->t->stack;
	uint8_t *of_code = assay_alloc(m->c->scratch, m->t->code.n + 1);
	bool any = false;
	for (uint32_t i = 0; i < m->t->code.n; i++) {
		of_code[i] =
			(uint8_t)assay_mode_of_frame(assay_text(m->run, m->t->code.file[i]),
						     assay_text(m->run, m->t->code.function[i]));
		any |= of_code[i] < ASSAY_MODE_COUNT;
	}
	if (!any)
		return false;
	m->of_stack = assay_alloc(m->c->scratch, s->n + 1);
	for (uint32_t i = 0; i < s->n; i++) { /* callers come first */
		uint32_t caller = s->caller[i];
		bool inside = caller != ASSAY_NO_ROW && m->of_stack[caller] < ASSAY_MODE_COUNT;
		m->of_stack[i] = inside ? m->of_stack[caller] : of_code[s->code[i]];
		if (!inside && caller != ASSAY_NO_ROW && m->of_stack[i] < ASSAY_MODE_COUNT)
			*assay_map_at(&m->place, line_of(m->t, caller)) = m->of_stack[i];
	}
	return true;
}

static assay_mode mode_at(const struct modes *m, uint32_t stack)
{
	if (stack == ASSAY_NO_ROW)
		return ASSAY_MODE_COUNT;
	if (m->of_stack[stack] < ASSAY_MODE_COUNT)
		return (assay_mode)m->of_stack[stack];
	uint32_t mode = assay_map_get(&m->place, line_of(m->t, stack));
	return mode == ASSAY_MAP_ABSENT ? ASSAY_MODE_COUNT : (assay_mode)mode;
}

static void sum_waits(struct modes *m)
{
	const assay_gap_part_table *p = &m->t->gap_part;
	const assay_gap_table *g = &m->t->gap;
	for (size_t i = 0; i < p->n; i++) {
		bool python = p->cause[i] == ASSAY_WHY_HOST_PYTHON ||
			      p->cause[i] == ASSAY_WHY_HOST_NATIVE;
		assay_mode mode = python && assay_gap_in_window(g, m->c->w, p->gap[i])
					  ? mode_at(m, p->stack[i])
					  : ASSAY_MODE_COUNT;
		if (mode == ASSAY_MODE_COUNT || p->dur[i] <= USUAL)
			continue;
		m->python[mode] += p->dur[i] - USUAL;
		m->times[mode]++;
		add_span(m, mode, g->ts[p->gap[i]], g->ts[p->gap[i]] + g->dur[p->gap[i]]);
		if (p->dur[i] > m->longest[mode]) {
			m->longest[mode] = p->dur[i];
			m->worst[mode] = p->stack[i];
		}
	}
}

/* ------------------------------------------------------------------ rows of host */

/* False: no row is of a mode. */
static bool mark_names(struct modes *m)
{
	size_t n = m->run->part.strings.str.n;
	bool any = false;
	for (uint32_t i = 1; i < n; i++) {
		assay_str name = assay_text(m->run, i);
		bool frame =
			m->t->frame.n && name.n < 512 && name.p[name.n ? name.n - 1 : 0] != '}';
		assay_mode mode = frame || assay_str_starts(name, "aten::")
					  ? assay_mode_of_row(name)
					  : ASSAY_MODE_COUNT;
		if (mode == ASSAY_MODE_COUNT)
			continue;
		if (!any)
			m->of_name = memset(assay_alloc(m->c->scratch, n), ASSAY_MODE_COUNT, n);
		m->of_name[i] = (uint8_t)mode;
		any = true;
	}
	return any;
}

/* Frames of Python, the outermost of each thread. */
static void sum_frames(struct modes *m)
{
	const assay_host_table *h = &m->t->host;
	int64_t *end = assay_alloc(m->c->scratch, (m->t->track.n + 1) * sizeof *end);
	for (size_t i = 0; i < m->t->track.n; i++)
		end[i] = INT64_MIN;
	for (uint32_t i = 0; i < h->n; i++) {
		assay_mode mode = (assay_mode)m->of_name[h->name[i]];
		int64_t to = end_in_window(m, assay_host_end(h, i));
		if (mode == ASSAY_MODE_COUNT || h->kind[i] != ASSAY_HOST_PYTHON ||
		    !in_window(m, h->ts[i]) || h->ts[i] < end[h->track[i]])
			continue;
		end[h->track[i]] = to;
		m->python[mode] += to - h->ts[i];
		m->times[mode]++;
		add_span(m, mode, h->ts[i], to);
	}
}

/* ------------------------------------------------------------------ checks of gradients */

/* x != x, or of the results, set to none before: what isnan(x).any() launches. */
static bool is_of_check(const struct modes *m, uint32_t gpu)
{
	assay_str name = assay_text(m->run, m->t->gpu.name[gpu]);
	return m->t->gpu.kind[gpu] == ASSAY_GPU_MEMSET ||
	       (m->t->gpu.kind[gpu] == ASSAY_GPU_KERNEL &&
		(assay_str_find(name, "CompareEqFunctor") >= 0 ||
		 assay_str_find(name, "or_kernel_cuda") >= 0 ||
		 assay_str_find(name, "isnan") >= 0));
}

static bool is_flag(const struct modes *m, uint32_t gpu)
{
	return m->t->gpu.kind[gpu] == ASSAY_GPU_MEMCPY && m->t->gpu.bytes[gpu] > 0 &&
	       m->t->gpu.bytes[gpu] <= FLAG &&
	       assay_copy_to_host(assay_copy_way_of(assay_text(m->run, m->t->gpu.name[gpu])));
}

/* By track: threads that compute gradients. Their calls lend the stack of who waits for them, and
 * operators of the mode stand on them. */
static bool *gradient_threads(const struct modes *m)
{
	const assay_host_table *h = &m->t->host;
	bool *is = assay_alloc(m->c->scratch, m->t->track.n + 1);
	for (uint32_t i = 0; i < h->n; i++)
		is[h->track[i]] |= (assay_call_stack(m->t, i) != ASSAY_NO_ROW &&
				    m->t->api.lent[h->detail[i]]) ||
				   (m->of_name && h->kind[i] == ASSAY_HOST_OP &&
				    m->of_name[h->name[i]] == ASSAY_MODE_ANOMALY);
	return is;
}

/* A thread on the way through its calls. */
struct checker {
	int64_t last, from; /* end of the call before; where a check began, INT64_MAX: none did */
	bool asked;         /* its result is copied */
	int64_t work;       /* ns of the device for it */
};

static int64_t work_in_window(const struct modes *m, uint32_t gpu)
{
	int64_t from = m->t->gpu.ts[gpu];
	return in_window(m, from) ? end_in_window(m, assay_gpu_end(&m->t->gpu, gpu)) - from : 0;
}

static void end_check(struct modes *m, const struct checker *at, int64_t end)
{
	if (!at->asked || at->from < m->c->w->from)
		return;
	m->checks++;
	m->checking += end - at->from;
	m->checked += at->work;
	add_span(m, ASSAY_MODE_ANOMALY, at->from, end);
}

static void pass_call(struct modes *m, struct checker *at, uint32_t call, uint32_t gpu)
{
	int64_t end = end_in_window(m, assay_host_end(&m->t->host, call));
	assay_str name = assay_text(m->run, m->t->host.name[call]);
	bool works = gpu != ASSAY_NO_ROW;
	bool begins = works && !at->asked && is_of_check(m, gpu), asks = works && is_flag(m, gpu);
	if (begins)
		at->from = at->last < at->from ? at->last : at->from;
	if (asks)
		at->asked = at->from != INT64_MAX;
	if (begins || asks)
		at->work += work_in_window(m, gpu);
	else if (works || assay_call_is_wait(assay_call_meaning_of(name.p, name.n))) {
		if (!works)
			end_check(m, at, end);
		*at = (struct checker){.from = INT64_MAX};
	}
	at->last = end;
}

static void sum_checks(struct modes *m)
{
	const assay_host_table *h = &m->t->host;
	const bool *gradients = gradient_threads(m);
	uint32_t *gpu_of = assay_alloc(m->c->scratch, (h->n + 1) * sizeof *gpu_of);
	uint32_t *row = assay_alloc(m->c->scratch, (h->n + 1) * sizeof *row);
	struct checker *at = assay_alloc(m->c->scratch, (m->t->track.n + 1) * sizeof *at);
	size_t n = 0;
	memset(gpu_of, 0xff, h->n * sizeof *gpu_of);
	for (uint32_t g = 0; g < m->t->launch.n; g++)
		if (m->t->launch.host[g] != ASSAY_NO_ROW)
			gpu_of[m->t->launch.host[g]] = g;
	for (uint32_t i = 0; i < h->n; i++)
		if (gradients[h->track[i]] && assay_is_call(h->kind[i]) && in_window(m, h->ts[i]))
			row[n++] = i;
	assay_sort_rows(row, n, h->ts);
	for (size_t i = 0; i < m->t->track.n; i++)
		at[i] = (struct checker){.from = INT64_MAX};
	for (size_t i = 0; i < n; i++)
		pass_call(m, &at[h->track[row[i]]], row[i], gpu_of[row[i]]);
}

/* ------------------------------------------------------------------ launches that wait */

struct blocking {
	uint64_t looked_at, waited;
	double waiting; /* ns from the begin of kernels to the return of their launches */
};

/* Kernels this short may be over before any launch returns. */
enum { LONG = 20 * 1000, ENOUGH = 50 };

static struct blocking look_at_launches(const struct modes *m)
{
	const assay_gpu_table *g = &m->t->gpu;
	struct blocking b = {0};
	for (uint32_t i = 0; i < m->t->launch.n; i++) {
		uint32_t call = m->t->launch.host[i];
		if (g->kind[i] != ASSAY_GPU_KERNEL || g->graph_node[i] || call == ASSAY_NO_ROW ||
		    !in_window(m, g->ts[i]))
			continue;
		int64_t back = assay_host_end(&m->t->host, call), end = assay_gpu_end(g, i);
		b.looked_at += g->dur[i] >= LONG;
		b.waited += g->dur[i] >= LONG && back >= end;
		b.waiting += back >= end ? (double)(back - g->ts[i]) : 0;
	}
	return b;
}

/* Launches that do not wait let the host go on while the device works: the longer of both
 * remains. */
static int64_t without_blocking(const assay_find_ctx *c, const struct blocking *b)
{
	double host = (double)c->whole - b->waiting, device = (double)(c->whole - c->w->idle);
	return c->whole - (int64_t)(host > device ? host : device);
}

/* ------------------------------------------------------------------ telling */

const char *assay_mode_words(const assay_run *run, assay_arena *a, assay_mode mode)
{
	const assay_meta_table *f = &run->part.t.meta;
	for (size_t i = 0; i < f->n; i++) {
		assay_str key = assay_text(run, f->key[i]), prefix = assay_str_cut(&key, '.');
		if (assay_str_is(prefix, "env") && assay_mode_of_variable(key) == mode)
			return assay_printf(a, "%.*s=%s is set", (int)key.n, key.p,
					    assay_z(run, f->value[i]));
	}
	return NULL;
}

static int by_start(const void *a, const void *b)
{
	const assay_span *x = a, *y = b;
	return ASSAY_CMP(x->from, y->from);
}

static void tell(struct modes *m, assay_mode mode, assay_found *f)
{
	const assay_find_ctx *c = m->c;
	spans *d = &m->during[mode];
	qsort(d->p, d->n, sizeof *d->p, by_start);
	f->spans = d->n;
	f->during = memcpy(assay_alloc(c->scratch, d->n * sizeof *d->p), d->p, d->n * sizeof *d->p);
	f->id = f->cause = id;
	f->saved = f->total;
	f->fix = assay_mode_fix(mode);
	f->text = assay_printf(c->scratch, "%s takes %s", assay_mode_what(mode),
			       assay_share_words(c, f->total));
	const char *set = assay_mode_words(m->run, c->scratch, mode);
	for (size_t i = 0; set && i < ASSAY_FACTS_MAX; i++)
		if (!f->fact[i]) {
			f->fact[i] = set;
			break;
		}
	if ((double)f->total >= assay_worth_saying * (double)c->whole)
		assay_finding_add(c, f);
}

static void tell_blocking(struct modes *m)
{
	struct blocking b = look_at_launches(m);
	char count[ASSAY_FMT];
	if (b.looked_at < ENOUGH || b.waited * 10 < b.looked_at * 9)
		return;
	add_span(m, ASSAY_MODE_BLOCKING, m->c->w->from, m->c->w->to);
	assay_found f = {.total = without_blocking(m->c, &b), .confidence = 0.9};
	f.fact[0] = assay_printf(m->c->scratch,
				 "%s launches of long kernels return when the kernel is over",
				 assay_fmt_count(count, b.waited));
	tell(m, ASSAY_MODE_BLOCKING, &f);
}

static void tell_python(struct modes *m, assay_mode mode)
{
	assay_per_step each = assay_per_step_of(m->c, false);
	char time[ASSAY_FMT], count[ASSAY_FMT];
	int64_t checking = mode == ASSAY_MODE_ANOMALY ? m->checking : 0;
	int64_t total = m->python[mode] + checking, most = m->c->w->idle + m->checked;
	assay_found f = {.total = total < most ? total : most, .confidence = 0.8};
	uint32_t own = assay_own_call(m->t, m->worst[mode]);
	size_t n = 0;
	if (!m->during[mode].n)
		return;
	if (own != ASSAY_NO_ROW)
		assay_where_in_stack(m->run, own, &f.where);
	if (m->times[mode])
		f.fact[n++] = assay_printf(
			m->c->scratch, "Python of it %s times%s, %s",
			assay_fmt_count(count, m->times[mode] / (uint64_t)each.steps), each.words,
			assay_fmt_time(time, m->python[mode] / each.steps));
	if (checking)
		f.fact[n++] =
			assay_printf(m->c->scratch, "results looked at for NaN %s times%s, %s",
				     assay_fmt_count(count, m->checks / (uint64_t)each.steps),
				     each.words, assay_fmt_time(time, checking / each.steps));
	tell(m, mode, &f);
}

/* Operators that a profiler of the framework recorded in the window. */
static uint64_t count_operators(const assay_run *run, const assay_window *w)
{
	const assay_host_table *h = &run->part.t.host;
	uint64_t n = 0;
	for (size_t i = 0; i < h->n; i++)
		n += h->kind[i] == ASSAY_HOST_OP && h->ts[i] >= w->from && h->ts[i] < w->to;
	return n;
}

/* The profiler's own work in the waits for operators, as much as work of the device has such a wait
 * before it, is no trouble of the program. */
static void put_back_operators(const assay_run *run, const assay_find_ctx *c, int64_t recording)
{
	const assay_gap_part_table *p = &run->part.t.gap_part;
	double waits = 0, work = (double)assay_window_events(c->w);
	for (size_t i = 0; i < p->n; i++)
		waits += p->cause[i] == ASSAY_WHY_HOST_OP &&
			 assay_gap_in_window(&run->part.t.gap, c->w, p->gap[i]);
	int64_t own = waits < work ? (int64_t)((double)recording * waits / work) : recording;
	for (assay_found *f = NULL; (f = assay_found_next(c, f));)
		if (!strcmp(f->id, "host_op") && !f->order_by)
			f->order_by = f->total > own ? f->total - own : 1;
}

/* A profiler that traces every Python call makes the host slower than it is without, and one that
 * records every operator where they are many. */
static void look_at_tracer(const assay_run *run, const assay_find_ctx *c)
{
	enum { OPERATOR = 2000 }; /* ns that one takes the profiler at least */
	const int64_t *of = c->w->cause;
	const assay_tables *t = &run->part.t;
	assay_per_step each = assay_per_step_of(c, false);
	char count[ASSAY_FMT];
	int64_t host =
		of[ASSAY_WHY_LAUNCH_CALL] + of[ASSAY_WHY_HOST_OP] + of[ASSAY_WHY_HOST_PYTHON];
	if (t->stack.n)
		return;
	uint64_t operators = count_operators(run, c->w);
	put_back_operators(run, c, (int64_t)operators * OPERATOR);
	if (host <= c->whole / 5)
		return;
	if (t->frame.n)
		assay_find_warn(
			c, "traced_python",
			"every Python call was traced (with_stack, python_tracer_level): that alone slows the host down, so without it the GPU waits less for the host than reported here");
	else if ((int64_t)operators * OPERATOR > c->whole / 10)
		assay_find_warn(
			c, "traced_operators",
			assay_printf(
				c->scratch,
				"recording %s operators%s slows the host down: without that the GPU waits less for it than reported here",
				assay_fmt_count(count, operators / (uint64_t)each.steps),
				each.words));
}

static void find_modes(const assay_run *run, const assay_find_ctx *c)
{
	struct modes m = {.run = run, .t = &run->part.t, .c = c};
	if (c->w->device == ASSAY_NO_ROW || c->whole <= 0)
		return;
	for (int i = 0; i < ASSAY_MODE_COUNT; i++)
		m.worst[i] = ASSAY_NO_ROW;
	bool stacks = mark_stacks(&m), rows = mark_names(&m);
	if (stacks)
		sum_waits(&m);
	if (rows)
		sum_frames(&m);
	if (m.times[ASSAY_MODE_ANOMALY] || rows)
		sum_checks(&m);
	tell_blocking(&m);
	for (int i = 0; (stacks || rows) && i < ASSAY_MODE_COUNT; i++)
		if (i != ASSAY_MODE_BLOCKING)
			tell_python(&m, (assay_mode)i);
	for (int i = 0; i < ASSAY_MODE_COUNT; i++)
		assay_vec_free(&m.during[i]);
	assay_map_free(&m.place);
	look_at_tracer(run, c);
}

const assay_finder assay_find_modes = {.id = "modes", .find = find_modes};

/* A wait of the device for Python at a stack. */
static void hand_wait(assay_run *run, int64_t ts, int64_t dur, uint32_t stack)
{
	uint32_t gap = assay_hand_gap(run, ASSAY_WHY_HOST_PYTHON, ts, dur);
	run->part.t.gap_part.stack[gap] = stack;
}

TEST(what_was_seen_to_call_a_mode_calls_it_every_time)
{
	assay_arena scratch = {0};
	assay_run *run = assay_run_new();
	assay_window w = {.device = 0, .to = 1000000, .idle = 900000};
	assay_find_ctx c = {.w = &w, .whole = 1000000, .scratch = &scratch};
	uint32_t step = assay_hand_stack(run, ASSAY_NO_ROW, "/home/me/train.py", "step");
	uint32_t other = assay_hand_stack(run, ASSAY_NO_ROW, "/home/me/train.py", "log");
	hand_wait(run, 0, 300000, step);
	hand_wait(run, 400000, 100000, other);
	struct modes m = {.run = run, .t = &run->part.t, .c = &c};
	CHECK(!mark_stacks(&m));
	uint32_t inside = assay_hand_stack(run, step, "/v/torch/fx/traceback.py", "format_stack");
	inside = assay_hand_stack(run, inside, "/usr/lib/python3.12/traceback.py", "extract_stack");
	hand_wait(run, 600000, 50000, inside);
	hand_wait(run, 700000, USUAL, step);
	CHECK(mark_stacks(&m));
	sum_waits(&m);
	CHECK_EQ(m.times[ASSAY_MODE_ANOMALY], 2);
	CHECK_EQ(m.python[ASSAY_MODE_ANOMALY], 350000 - 2 * USUAL);
	CHECK_EQ(m.worst[ASSAY_MODE_ANOMALY], step);
	assay_vec_free(&m.during[ASSAY_MODE_ANOMALY]);
	assay_map_free(&m.place);
	assay_arena_free(&scratch);
	assay_run_free(run);
	return 0;
}

TEST(launches_that_return_after_their_kernels_show_the_mode)
{
	assay_run *run = assay_run_new();
	assay_window w = {.device = 0, .to = 100 * ENOUGH * LONG, .idle = 60 * ENOUGH * LONG};
	assay_find_ctx c = {.w = &w, .whole = 100 * ENOUGH * LONG};
	struct modes m = {.run = run, .t = &run->part.t, .c = &c};
	for (int64_t i = 0; i < ENOUGH; i++) {
		uint32_t call = assay_hand_host(run, ASSAY_HOST_RUNTIME, "cudaLaunchKernel",
						100 * i * LONG, 50 * LONG);
		assay_hand_gpu(run, "k", (100 * i + 5) * LONG, 40 * LONG, call);
	}
	struct blocking b = look_at_launches(&m);
	CHECK(b.looked_at == ENOUGH && b.waited == ENOUGH);
	CHECK_EQ((int64_t)b.waiting, (int64_t)45 * ENOUGH * LONG);
	CHECK_EQ(without_blocking(&c, &b), (int64_t)45 * ENOUGH * LONG); /* the host's 55 remain */
	w.idle = 10 * ENOUGH * LONG;
	CHECK_EQ(without_blocking(&c, &b), (int64_t)10 * ENOUGH * LONG); /* the device's 90 do */
	assay_run_free(run);
	return 0;
}

TEST(a_profiler_of_many_operators_is_warned_of_and_its_work_is_not_the_programs)
{
	static const struct {
		int operators;
		int64_t idle;
		size_t warnings;
		int64_t order_by; /* of the waits for operators */
	} cases[] = {{50, 300000, 1, 250000}, {49, 300000, 0, 251000}, {80, 190000, 0, 110000}};
	for (size_t k = 0; k < ASSAY_COUNT_OF(cases); k++) {
		assay_run *run = assay_run_new();
		assay_window w = {.to = 999999,
				  .events = {[ASSAY_CLASS_COMPUTE] = 2},
				  .cause = {[ASSAY_WHY_HOST_OP] = cases[k].idle}};
		assay_arena scratch = {0};
		struct assay_found_list list = {.found = {0}};
		assay_find_ctx c = {.w = &w, .whole = 999999, .list = &list, .scratch = &scratch};
		assay_found waits = {.id = "host_op", .total = cases[k].idle};
		assay_finding_add(&c, &waits);
		for (int i = 0; i < cases[k].operators; i++)
			assay_hand_host(run, ASSAY_HOST_OP, "aten::add", i * 1000, 500);
		assay_hand_host(run, ASSAY_HOST_OP, "aten::add", w.to, 500); /* behind it */
		hand_wait(run, 0, cases[k].idle, ASSAY_NO_ROW); /* before one of two kernels */
		run->part.t.gap_part.cause[0] = ASSAY_WHY_HOST_OP;
		look_at_tracer(run, &c);
		CHECK_EQ(list.warnings.n, cases[k].warnings);
		CHECK_EQ(list.found.p[0].order_by, cases[k].order_by);
		assay_vec_free(&list.found);
		assay_vec_free(&list.warnings);
		assay_arena_free(&scratch);
		assay_run_free(run);
	}
	return 0;
}
