/* A device that is taken away: kernels of one name and shape that take much longer at times,
 * submitted work that does not begin although the device is free, and telemetry that shows the
 * device busy while the program does nothing on it. */
#include <assert.h>

#include "analyze/analyze.h"
#include "analyze/asked.h"
#include "base/fmt.h"
#include "base/map.h"
#include "base/median.h"
#include "base/test.h"
#include "find/finding.h"
#include "model/by_hand.h"
#include "model/machine.h"

enum {
	ENOUGH_RUNS = 6,   /* in one place */
	ENOUGH_KINDS = 3,  /* one kernel alone works on data that differs */
	STALL = 50 * 1000, /* ns between two pieces of queued work; the usual is a microsecond */
	FOREIGN_LOOKS = 3, /* of telemetry */
	AVERAGED = 300 * 1000 * 1000, /* ns that a look at the utilisation may cover */
	COMMAND = 60,                 /* letters of a command line that are shown */
};
static const double slow_times = 2.0; /* of the median: slower ones count */
static const double surely_busy = 50; /* percent, by telemetry */

/* A kernel in its place. Launches of one kernel and grid may work on more or less (the inner size
 * of a product is not in the grid), so those are compared that have the same neighbours: the same
 * place in a layer or step, without knowing which. */
struct shape {
	uint32_t gpu, place;
};

/* Kernels in their places, and what each place has of them, in the order of time. */
struct shapes {
	struct shape *shape;
	size_t n;
	assay_map place; /* hash of the neighbours -> number of the place */
	assay_vec(size_t) end;
	uint32_t *gpu; /* by place: rows of gpu */
	int64_t *dur;  /* room for the lengths of one place */
};

enum { NEAR = 5, MIDDLE = 2 }; /* kernels of a stream in a row; the one they are the place of */

/* Rings of the last ones. */
struct near {
	uint32_t gpu[NEAR];
	uint64_t what[NEAR]; /* kernel and grid */
	size_t n;
};

struct shared {
	const assay_run *run;
	const assay_find_ctx *c;
	int64_t *usual; /* by row of gpu: its usual length where it took longer; -1 */
	int64_t excess; /* ns beyond that */
	uint64_t slow, kinds;
	uint32_t worst;  /* row of gpu: the longest of the kind that lost most */
	int64_t most;    /* ns that kind lost */
	int64_t stalled; /* ns in which submitted work does not begin */
	uint64_t stalls;
	uint64_t foreign; /* looks at a busy device that the program left alone */
	uint32_t other;   /* row of device_time: the same device, used by another process */
	int64_t taken;    /* ns of the window in which that one's work is on it */
};

/* ------------------------------------------------------------------ slow kernels */

static void see(struct near *near, const assay_gpu_table *g, uint32_t r)
{
	uint32_t what[] = {g->name[r], g->grid_x[r], g->grid_y[r], g->grid_z[r], g->block_x[r]};
	near->gpu[near->n % NEAR] = r;
	near->what[near->n++ % NEAR] = assay_hash(what, sizeof what, 0);
}

static uint64_t place_of(const struct near *near)
{
	uint64_t what[NEAR];
	for (size_t i = 0; i < NEAR; i++)
		what[i] = near->what[(near->n + i) % NEAR];
	return assay_hash(what, sizeof what, 0);
}

static uint32_t number_of(struct shapes *s, uint64_t place)
{
	uint32_t *slot = assay_map_at(&s->place, place);
	if (*slot == ASSAY_MAP_ABSENT) {
		*slot = (uint32_t)s->end.n;
		*assay_push(&s->end) = 0;
	}
	s->end.p[*slot]++;
	return *slot;
}

static void collect_shapes(const assay_run *run, const assay_find_ctx *c, struct shapes *out)
{
	const assay_gpu_table *g = &run->part.t.gpu;
	const assay_order_device *d = &c->order->device.p[c->w->device];
	struct near *streams = assay_alloc(c->scratch, (run->part.t.track.n + 1) * sizeof *streams);
	out->shape = assay_alloc(c->scratch, (d->n + 1) * sizeof *out->shape);
	for (size_t i = d->first; i < d->first + d->n; i++) {
		uint32_t r = c->order->row[i];
		if (c->order->classes[i] != ASSAY_CLASS_COMPUTE || !g->grid_x[r] ||
		    g->dur[r] <= 0 || g->ts[r] < c->w->from || g->ts[r] >= c->w->to)
			continue;
		struct near *near = &streams[g->track[r]];
		see(near, g, r);
		if (near->n < NEAR)
			continue;
		uint32_t middle = near->gpu[(near->n - 1 - MIDDLE) % NEAR];
		out->shape[out->n++] = (struct shape){middle, number_of(out, place_of(near))};
	}
}

/* Place after place; end becomes where each of them ends. */
static void group_shapes(struct shapes *s, assay_arena *scratch)
{
	size_t sum = 0, most = 0;
	for (size_t i = 0; i < s->end.n; i++) {
		size_t count = s->end.p[i];
		s->end.p[i] = sum;
		sum += count;
		most = count > most ? count : most;
	}
	s->gpu = assay_alloc(scratch, (s->n + 1) * sizeof *s->gpu);
	s->dur = assay_alloc(scratch, (most + 1) * sizeof *s->dur);
	for (size_t i = 0; i < s->n; i++)
		s->gpu[s->end.p[s->shape[i].place]++] = s->shape[i].gpu;
}

/* Of one place: those that took more than twice the median. */
static void add_slow(struct shared *x, const uint32_t *gpu, size_t n, int64_t *room)
{
	const int64_t *dur = x->run->part.t.gpu.dur;
	uint32_t longest = gpu[0];
	for (size_t i = 0; i < n; i++)
		room[i] = dur[gpu[i]];
	int64_t usual = assay_median_upper(room, n), excess = 0;
	for (size_t i = 0; i < n; i++) {
		longest = dur[gpu[i]] >= dur[longest] ? gpu[i] : longest;
		if ((double)dur[gpu[i]] <= slow_times * (double)usual)
			continue;
		excess += dur[gpu[i]] - usual;
		x->usual[gpu[i]] = usual;
		x->slow++;
	}
	x->excess += excess;
	x->kinds += excess > 0;
	if (excess > x->most) {
		x->most = excess;
		x->worst = longest;
	}
}

static void find_slow(struct shared *x)
{
	const assay_find_ctx *c = x->c;
	size_t rows = x->run->part.t.gpu.n, from = 0;
	struct shapes s = {0};
	x->usual = assay_alloc(c->scratch, (rows + 1) * sizeof *x->usual);
	memset(x->usual, 0xff, rows * sizeof *x->usual);
	collect_shapes(x->run, c, &s);
	group_shapes(&s, c->scratch);
	for (size_t i = 0; i < s.end.n; from = s.end.p[i++])
		if (s.end.p[i] - from >= ENOUGH_RUNS)
			add_slow(x, s.gpu + from, s.end.p[i] - from, s.dur);
	assay_map_free(&s.place);
	assay_vec_free(&s.end);
}

/* ------------------------------------------------------------------ stalls */

static void find_stalls(struct shared *x)
{
	const assay_tables *t = &x->run->part.t;
	const assay_window *w = x->c->w;
	for (size_t i = 0; i < t->gap_part.n; i++) {
		uint32_t gap = t->gap_part.gap[i];
		bool queued = t->gap_part.cause[i] == ASSAY_WHY_QUEUED &&
			      t->gap.behind[gap] == ASSAY_NO_ROW && t->gap_part.dur[i] >= STALL;
		bool late =
			t->gap_part.cause[i] == ASSAY_WHY_LAUNCH_LATENCY && t->gap.suspicious[gap];
		if (t->gap.device[gap] != w->device || t->gap.ts[gap] < w->from ||
		    t->gap.ts[gap] + t->gap.dur[gap] > w->to || (!queued && !late))
			continue;
		x->stalled += t->gap_part.dur[i];
		x->stalls++;
	}
}

/* ------------------------------------------------------------------ telemetry */

/* Did the device anything for this program in [from, to]? Rows of order come by start. */
static bool at_work(const struct shared *x, int64_t from, int64_t to)
{
	const assay_gpu_table *g = &x->run->part.t.gpu;
	const assay_order_device *d = &x->c->order->device.p[x->c->w->device];
	for (size_t i = d->first; i < d->first + d->n; i++) {
		uint32_t r = x->c->order->row[i];
		if (g->ts[r] > to)
			return false;
		if (assay_gpu_end(g, r) >= from)
			return true;
	}
	return false;
}

static void find_foreign(struct shared *x)
{
	const assay_tables *t = &x->run->part.t;
	uint32_t own = t->device_time.source[x->c->w->device];
	assay_sid name = assay_pool_find(&x->run->part.strings, ASSAY_S("util_pct"));
	int64_t stop = t->device_time.start[x->c->w->device] + t->device_time.span[x->c->w->device];
	for (size_t i = 0; name && i < t->counter.n; i++) {
		uint32_t source = t->track.source[t->counter.track[i]];
		if (t->counter.name[i] != name || t->counter.value[i] < surely_busy ||
		    t->track.pid[t->counter.track[i]] != t->device_time.device[x->c->w->device] ||
		    !t->source.epoch[source] || !t->source.epoch[own])
			continue;
		int64_t at = t->counter.ts[i] + t->source.base[source] - t->source.base[own];
		x->foreign += at < stop && !at_work(x, at - AVERAGED, at + AVERAGED);
	}
}

/* ------------------------------------------------------------------ processes of the recording */

static int64_t work_within(const struct shared *x, uint32_t device)
{
	const assay_gpu_table *g = &x->run->part.t.gpu;
	const assay_window *w = x->c->w;
	assert(device < x->c->order->device.n);
	const assay_order_device *d = &x->c->order->device.p[device];
	int64_t sum = 0, end = w->from;
	for (size_t i = d->first; i < d->first + d->n; i++) {
		uint32_t r = x->c->order->row[i];
		int64_t from = g->ts[r] > end ? g->ts[r] : end, to = assay_gpu_end(g, r);
		to = to < w->to ? to : w->to;
		sum += to > from ? to - from : 0;
		end = to > end ? to : end;
	}
	return sum;
}

/* Of processes whose events are not kept nobody knows what they did meanwhile. */
static void find_others(struct shared *x)
{
	uint32_t mine = x->c->w->device;
	for (uint32_t i = 0; i < x->c->order->device.n; i++) {
		if (i == mine || !assay_same_gpu(x->run, mine, i))
			continue;
		int64_t taken = work_within(x, i);
		x->other = taken > x->taken ? i : x->other;
		x->taken = taken > x->taken ? taken : x->taken;
	}
}

static bool has_other(const struct shared *x)
{
	return x->taken > 0 && x->taken * 10 >= x->c->whole;
}

static uint32_t other_group(const struct shared *x)
{
	const assay_tables *t = &x->run->part.t;
	return assay_group_of(t, t->device_time.source[x->other]);
}

static const char *other_pid(const struct shared *x)
{
	return assay_fmt_safe(x->c->scratch, assay_fact_of_group(x->run, other_group(x), "pid"));
}

/* A recording has the process that was asked for and what it started. */
static bool is_ours(const struct shared *x)
{
	const assay_tables *t = &x->run->part.t;
	uint32_t mine = assay_group_of(t, t->device_time.source[x->c->w->device]);
	assay_str here = assay_text(x->run, t->source.path[mine]),
		  there = assay_text(x->run, t->source.path[other_group(x)]);
	here.n -= assay_str_file(here).n;
	there.n -= assay_str_file(there).n;
	return mine == assay_asked_group(x->run) && assay_str_same(here, there);
}

/* ------------------------------------------------------------------ the finding */

static void tell_slow(const struct shared *x, assay_found *f)
{
	char count[ASSAY_FMT], usual[ASSAY_FMT], longest[ASSAY_FMT];
	assay_arena *a = x->c->scratch;
	assay_str name = assay_text(x->run, x->run->part.t.gpu.name[x->worst]);
	if (!x->kinds)
		return;
	f->where.kernel = assay_fmt_kernel(a, name, 120);
	f->fact[0] = assay_printf(a, "%s kernels of %llu kinds took more than twice their median",
				  assay_fmt_count(count, x->slow), (unsigned long long)x->kinds);
	f->fact[1] =
		assay_printf(a, "%s usually takes %s, at most %s", assay_fmt_kernel(a, name, 60),
			     assay_fmt_time(usual, x->usual[x->worst]),
			     assay_fmt_time(longest, x->run->part.t.gpu.dur[x->worst]));
}

static void tell_rest(const struct shared *x, assay_found *f)
{
	int n = x->kinds ? 2 : 0;
	char time[ASSAY_FMT];
	assay_per_step each = assay_per_step_of(x->c, false);
	if (x->stalls)
		f->fact[n++] = assay_printf(
			x->c->scratch,
			"submitted work does not begin for %s%s although the device is free",
			assay_fmt_time(time, x->stalled / each.steps), each.words);
	if (x->foreign >= FOREIGN_LOOKS)
		f->fact[n++] = assay_printf(
			x->c->scratch,
			"telemetry shows the device busy %llu times while this program does nothing on it",
			(unsigned long long)x->foreign);
	if (!has_other(x))
		return;
	assay_str command = assay_fact_of_group(x->run, other_group(x), "command");
	command.n = command.n < COMMAND ? command.n : COMMAND;
	f->fact[n++] = assay_printf(x->c->scratch,
				    "process %s of this recording (%s) works on it for %s%s",
				    other_pid(x), assay_fmt_safe(x->c->scratch, command),
				    assay_fmt_time(time, x->taken / each.steps), each.words);
}

/* Judged by the time they take, kernels that were held up look slow. */
static void put_under(const assay_find_ctx *c, const char *id)
{
	static const char *const by_time[] = {"gemm_shape", "slow_kernels"};
	for (assay_found *f = NULL; (f = assay_found_next(c, f));)
		for (size_t i = 0; i < ASSAY_COUNT_OF(by_time); i++)
			if (!strcmp(f->id, by_time[i]))
				f->follows = id;
}

static void tell(const struct shared *x)
{
	const assay_find_ctx *c = x->c;
	bool proved = x->foreign >= FOREIGN_LOOKS || has_other(x);
	assay_found f = {.id = "contention",
			 .cause = proved ? "other_process" : "contention",
			 .total = x->excess + x->stalled,
			 .confidence = proved ? 0.9 : 0.6};
	f.fix = proved ? "stop the other process on the GPU, or move it to another (nvidia-smi, amd-smi process show who it is)"
		       : "look for another process on the GPU (nvidia-smi, amd-smi), and for clocks that fall under power or heat: record with telemetry";
	if (has_other(x))
		f.fix = assay_printf(c->scratch, "end process %s%s, or give it another GPU",
				     other_pid(x),
				     is_ours(x) ? ", which this program started" : "");
	f.text = assay_printf(c->scratch, "%s %s",
			      proved ? "another process uses the GPU: it takes"
				     : "the GPU is slower at times than it usually is: that takes",
			      assay_share_words(c, f.total));
	f.saved = (int64_t)assay_find_shorter(c, x->usual, STALL, 0, &f.replayed);
	if (f.replayed)
		f.saved = f.saved < 1 ? 1 : f.saved < f.total ? f.saved : f.total;
	tell_slow(x, &f);
	tell_rest(x, &f);
	put_under(c, f.id);
	assay_finding_add(c, &f);
}

static void *look_at_device(const assay_run *run, const assay_find_ctx *c)
{
	if (c->w->device == ASSAY_NO_ROW || c->whole <= 0 || !c->order)
		return NULL;
	struct shared *x = assay_alloc(c->scratch, sizeof *x);
	*x = (struct shared){.run = run, .c = c};
	find_slow(x);
	find_stalls(x);
	return x;
}

static void find_shared(const assay_run *run, const assay_find_ctx *c)
{
	struct shared *x = c->seen;
	if (!x)
		return;
	x->run = run;
	x->c = c;
	find_foreign(x);
	find_others(x);
	double lost = (double)(x->excess + x->stalled) / (double)c->whole;
	bool uneven = x->kinds >= ENOUGH_KINDS && lost >= 0.05 &&
		      (double)x->excess >= 0.02 * (double)c->whole;
	bool proved = x->foreign >= FOREIGN_LOOKS || has_other(x);
	if (uneven || (proved && lost >= assay_worth_saying))
		tell(x);
}

const assay_finder assay_find_shared = {
	.id = "shared", .find = find_shared, .look = look_at_device};

int64_t assay_stalled_part(const assay_run *run, const assay_find_ctx *c)
{
	struct shared x = {.run = run, .c = c};
	find_stalls(&x);
	return x.stalled;
}

/* ------------------------------------------------------------------ tests */

enum { ROUNDS = 20 };

/* Rounds of a norm, a short product, an activation and a long product: one kernel, one grid. */
static uint64_t slow_ones(int64_t last_product)
{
	static const char *const names[] = {"norm", "product", "activation", "product"};
	static const int64_t usual[] = {10, 100, 20, 400};
	assay_run *run = assay_run_new();
	assay_order order;
	assay_window w = {.to = INT64_MAX};
	assay_arena scratch = {0};
	assay_find_ctx c = {.order = &order, .w = &w, .scratch = &scratch};
	int64_t now = 0;
	for (int i = 0; i < 4 * ROUNDS; i++) {
		int64_t dur = i == 4 * ROUNDS - 5 ? last_product : usual[i % 4];
		uint32_t r = assay_hand_gpu(run, names[i % 4], now, dur, ASSAY_NO_ROW);
		run->part.t.gpu.grid_x[r] = 132;
		now += dur;
	}
	assay_kernels(run);
	assay_order_build(&order, run);
	struct shared x = {.run = run, .c = &c};
	find_slow(&x);
	assay_order_free(&order);
	assay_arena_free(&scratch);
	assay_run_free(run);
	return x.slow;
}

TEST(a_kernel_that_works_on_more_in_another_place_is_not_slow)
{
	CHECK_EQ(slow_ones(400), 0);
	CHECK_EQ(slow_ones(900), 1);
	return 0;
}

TEST(work_of_another_process_on_the_device_is_counted_within_the_window)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	assay_order order;
	assay_arena scratch = {0};
	assay_window w = {.device = 0, .from = 100, .to = 300};
	assay_find_ctx c = {.order = &order, .w = &w, .scratch = &scratch, .whole = 200};
	for (uint32_t i = 0; i < 2; i++) {
		uint32_t source = assay_add(t, ASSAY_T_source);
		t->source.group[source] = source;
		run->part.source = source;
		assay_meta_add(&run->part, "hostname", ASSAY_S("vm"));
		assay_meta_add(&run->part, "command", i ? ASSAY_S("hog") : ASSAY_S("train"));
		t->source.path[source] = assay_sid_of(run, i ? "run/b.asy" : "run/a.asy");
		assay_hand_gpu(run, "gemm", 50, 100, ASSAY_NO_ROW);
		assay_hand_gpu(run, "gemm", 250, 100, ASSAY_NO_ROW);
		uint32_t d = assay_add(t, ASSAY_T_device_time);
		t->device_time.source[d] = source;
		t->device_time.device[d] = 0;
	}
	uint32_t without_events = assay_add(t, ASSAY_T_device_time);
	t->device_time.source[without_events] = 0;
	t->device_time.device[without_events] = 0;
	assay_kernels(run);
	assay_order_build(&order, run);
	struct shared x = {.run = run, .c = &c};
	find_others(&x);
	CHECK(x.other == 1 && has_other(&x));
	CHECK_EQ(x.taken, 50 + 50);
	CHECK(!is_ours(&x)); /* nobody says what was asked for */
	assay_meta_add(&run->part, "run.command", ASSAY_S("[\"train\"]"));
	CHECK(is_ours(&x));
	t->source.path[1] = assay_sid_of(run, "other/b.asy"); /* of a recording of its own */
	CHECK(!is_ours(&x));
	t->source.rank[1] = 1; /* ranks share it on purpose */
	x = (struct shared){.run = run, .c = &c};
	find_others(&x);
	CHECK(!has_other(&x));
	assay_order_free(&order);
	assay_arena_free(&scratch);
	assay_run_free(run);
	return 0;
}
