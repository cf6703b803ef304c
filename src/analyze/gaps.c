/* Why a device was idle. A gap [a, b) is explained by the work that ends it, launched by a call
 * that ran [L, E). When E lies before a, the work was queued. Otherwise [a, L) is split over what
 * the launching thread did, one cause at each instant, in the order of cause.def; what of [L, E)
 * lies in the gap was spent in the call, and the rest is launch latency. */
#include "analyze/analyze.h"

#include <assert.h>
#include <stdlib.h>

#include "analyze/host_cause.h"
#include "analyze/idle_lines.h"
#include "analyze/sights.h"
#include "base/beside.h"
#include "base/test.h"
#include "base/turns.h"
#include "model/by_hand.h"
#include "model/by_name.h"
#include "model/columns.h"
#include "names/calls.h"

struct finder {
	assay_run *run;
	assay_host_causes hosts; /* of threads that launched work that ends a gap */
	assay_sights *sights;    /* NULL: the recording has none */
	assay_arena scratch;
	assay_by_name graph; /* launches_graph() */
};

/* Idle time at a line of the program. */
struct at_line {
	uint32_t device, stack, sample;
	assay_why cause;
	int64_t dur;
};

/* One cause's part of a gap. */
struct part {
	uint32_t gap, row, stack, sample;
	assay_why cause;
	int64_t dur, longest;
};

/* Gaps are split by several threads at the same time, in blocks. This is one thread's own. */
struct splitter {
	const struct finder *f;
	const assay_run *run;
	assay_lane **lane; /* by track: its own way through f->hosts; NULL until asked for */
	uint32_t device;   /* of the gap at hand */
	uint32_t resumed;  /* stack of the launch that ends it, or of the task that an event loop
			      launched it from */
	assay_arena arena;
	bool keeps_lines;
	assay_vec(struct at_line) lines; /* of the block */
	assay_vec(struct part) parts;
};

struct split {
	int64_t part[ASSAY_WHY_COUNT];
	/* of causes with a part: */
	int64_t longest[ASSAY_WHY_COUNT]; /* stretch of one row */
	uint32_t row[ASSAY_WHY_COUNT];    /* the row of that stretch */
	uint32_t stack[ASSAY_WHY_COUNT],
		sample[ASSAY_WHY_COUNT]; /* where it was, and what shows it */
};

/* A stretch of one cause. */
struct stretch {
	int64_t dur;
	uint32_t row, stack, sample;
};

static void add_stretch(struct splitter *f, struct split *s, assay_why cause, struct stretch x)
{
	if (x.dur <= 0)
		return;
	bool longest = !s->part[cause] || x.dur > s->longest[cause];
	s->part[cause] += x.dur;
	if (f->keeps_lines && x.stack != ASSAY_NO_ROW)
		*assay_push(&f->lines) =
			(struct at_line){f->device, x.stack, x.sample, cause, x.dur};
	if (!longest)
		return;
	s->longest[cause] = x.dur;
	s->row[cause] = x.row;
	s->stack[cause] = x.stack;
	s->sample[cause] = x.sample;
}

/* [from, to) inside a row of host: its cause, but where samples show that the thread had no
 * processor there. */
static void split_inside(struct splitter *f, assay_why cause, uint32_t row, int64_t from,
			 int64_t to, struct split *s)
{
	const assay_tables *t = &f->run->part.t;
	const assay_sights *sights = f->f->sights;
	for (int64_t now = from; now < to;) {
		struct stretch x = {
			.row = row, .stack = assay_call_stack(t, row), .sample = ASSAY_NO_ROW};
		assay_sight seen = {.until = to};
		bool robbed = sights && assay_sights_robbed(sights, row, now, to, &seen);
		if (robbed) {
			x.stack = seen.stack != ASSAY_NO_ROW ? seen.stack : x.stack;
			x.sample = seen.sample;
		}
		x.dur = seen.until - now;
		add_stretch(f, s, robbed ? ASSAY_WHY_HOST_CPU_WAIT : cause, x);
		now = seen.until;
	}
}

static assay_lane *lane_of(struct splitter *f, uint32_t track)
{
	if (!f->lane[track])
		f->lane[track] = assay_lane_fork(f->f->hosts.of_track[track], &f->arena);
	return f->lane[track];
}

static void split_host(struct splitter *f, uint32_t track, uint32_t asker, int64_t from, int64_t to,
		       struct split *s);

/* What samples show of a thread between its calls. Of two threads that hand work to each other the
 * other one is asked, once: true when that was done. */
static bool split_seen(struct splitter *f, uint32_t track, uint32_t asker, int64_t now,
		       assay_sight *seen, struct split *s)
{
	uint32_t other = assay_sights_awaited(f->f->sights, track, now, seen);
	if (other == ASSAY_NO_ROW || !f->f->hosts.of_track[other])
		return false;
	if (asker != ASSAY_NO_ROW) { /* both wait: word of it is on the way */
		seen->cause = ASSAY_WHY_HOST_NATIVE;
		return false;
	}
	split_host(f, other, track, now, seen->until, s);
	return true;
}

static void split_host(struct splitter *f, uint32_t track, uint32_t asker, int64_t from, int64_t to,
		       struct split *s)
{
	const assay_tables *t = &f->run->part.t;
	const assay_sights *sights = f->f->sights;
	for (int64_t now = from; now < to;) {
		struct stretch x = {.sample = ASSAY_NO_ROW};
		int64_t until;
		assay_why cause =
			assay_lane_at(&f->f->hosts, lane_of(f, track), now, &x.row, &until);
		until = until < to ? until : to;
		if (x.row != ASSAY_NO_ROW && cause != ASSAY_WHY_HOST_UNTRACED) {
			split_inside(f, cause, x.row, now, until, s);
			now = until;
			continue;
		}
		x.stack = assay_call_stack(t, x.row);
		if (cause == ASSAY_WHY_HOST_UNTRACED && sights) {
			assay_sight seen = assay_sights_at(sights, track, now, until);
			bool done = split_seen(f, track, asker, now, &seen, s);
			cause = seen.cause;
			until = seen.until;
			if (done) {
				now = until;
				continue;
			}
			bool loop = assay_sights_in_loop(sights, seen.stack);
			x.stack = loop && f->resumed != ASSAY_NO_ROW ? f->resumed : seen.stack;
			x.sample = seen.sample;
		}
		x.dur = until - now;
		add_stretch(f, s, cause, x);
		now = until;
	}
}

/* A gap's cause as far as the event that ends it can say; HOST_UNTRACED stands for "ask the
 * launching thread". */
static assay_why first_cause(const assay_run *run, uint32_t gpu, int64_t from, bool graph_inner)
{
	uint32_t launch = run->part.t.launch.host[gpu];
	if (launch == ASSAY_NO_ROW)
		return assay_why_unlaunched(run, gpu);
	if (graph_inner)
		return ASSAY_WHY_GRAPH_INTERNAL;
	if (assay_host_end(&run->part.t.host, launch) <= from)
		return ASSAY_WHY_QUEUED;
	return ASSAY_WHY_HOST_UNTRACED;
}

/* The blocking call that the launching thread was in at the start of a gap. */
static uint32_t opened_by(struct splitter *f, uint32_t gap)
{
	const assay_tables *t = &f->run->part.t;
	uint32_t launch = t->gap.launch[gap], row;
	int64_t until, from = t->gap.ts[gap];
	if (t->gap.cause[gap] != ASSAY_WHY_HOST_UNTRACED || t->host.ts[launch] <= from)
		return ASSAY_NO_ROW;
	assay_lane *lane = lane_of(f, t->host.track[launch]);
	assay_why cause = assay_lane_at(&f->f->hosts, lane, from, &row, &until);
	return cause == ASSAY_WHY_HOST_SYNC && t->host.ts[row] < from ? row : ASSAY_NO_ROW;
}

/* There may be as many as there are kernels. What is mostly zero stays as it is: new pages are, and
 * cost nothing until they are written to. */
static uint32_t add_gap(assay_run *run, uint32_t device, uint32_t gpu, int64_t from)
{
	assay_tables *t = &run->part.t;
	assay_gap_table *g = &t->gap;
	if (g->n == g->cap)
		assay_reserve(t, ASSAY_T_gap, 1);
	size_t r = g->n++;
	static_assert(ASSAY_NOT_ZERO_gap == 8, "these are set here");
	g->device[r] = device;
	g->ts[r] = from;
	g->dur[r] = t->gpu.ts[gpu] - from;
	g->gpu[r] = gpu;
	g->launch[r] = t->launch.host[gpu];
	g->during[r] = g->opened[r] = g->behind[r] = ASSAY_NO_ROW;
	g->late_rank[r] = -1;
	if (g->queued[r] || g->suspicious[r] || g->late[r])
		g->queued[r] = g->suspicious[r] = 0, g->late[r] = 0;
	return (uint32_t)r;
}

static unsigned launches_graph(assay_str call)
{
	return assay_call_meaning_of(call.p, call.n).does == ASSAY_DOES_GRAPH;
}

/* A launch that other work of the same call came before on this device. */
static bool inside_graph(struct finder *f, assay_map *seen, uint32_t launch)
{
	const assay_host_table *host = &f->run->part.t.host;
	if (launch == ASSAY_NO_ROW || !assay_by_name_ask(&f->graph, host->name[launch]))
		return false;
	uint32_t *slot = assay_map_at(seen, launch);
	bool inner = *slot != ASSAY_MAP_ABSENT;
	*slot = launch;
	return inner;
}

static void find_gaps(struct finder *f, const assay_order *order, uint32_t device)
{
	assay_tables *t = &f->run->part.t;
	const assay_order_device *d = &order->device.p[device];
	assay_map graphs = {0};
	int64_t end = t->gpu.ts[order->row[d->first]];
	for (size_t i = d->first; i < d->first + d->n; i++) {
		uint32_t g = order->row[i], launch = t->launch.host[g];
		bool inner = inside_graph(f, &graphs, launch);
		if (t->gpu.ts[g] > end &&
		    !assay_offs_touch(&order->offs, assay_order_group(d), end, t->gpu.ts[g])) {
			uint32_t gap = add_gap(f->run, device, g, end);
			t->gap.cause[gap] = (uint8_t)first_cause(f->run, g, end, inner);
		}
		end = assay_gpu_end(&t->gpu, g) > end ? assay_gpu_end(&t->gpu, g) : end;
	}
	assay_map_free(&graphs);
}

static void want_lanes(struct finder *f)
{
	const assay_tables *t = &f->run->part.t;
	for (size_t i = 0; i < t->gap.n; i++)
		if (t->gap.cause[i] == ASSAY_WHY_HOST_UNTRACED)
			assay_host_causes_want(&f->hosts, t->host.track[t->gap.launch[i]]);
}

/* Each device is swept from the beginning: its gaps come in order of time. */
static void look_at_device(struct splitter *f, uint32_t device)
{
	for (size_t i = 0; device != f->device && i < f->run->part.t.track.n; i++)
		if (f->lane[i])
			assay_lane_rewind(f->lane[i]);
	f->device = device;
}

static void splitter_open(struct splitter *s, const struct finder *f)
{
	*s = (struct splitter){.f = f, .run = f->run};
	s->lane = assay_alloc(&s->arena, (s->run->part.t.track.n + 1) * sizeof *s->lane);
}

static void splitter_close(struct splitter *s)
{
	for (size_t i = 0; i < s->run->part.t.track.n; i++)
		assay_lane_free(s->lane[i]);
	assay_vec_free(&s->lines);
	assay_vec_free(&s->parts);
	assay_arena_free(&s->arena);
}

static int64_t clamp(int64_t at, int64_t from, int64_t to)
{
	return at < from ? from : at > to ? to : at;
}

static void split_stretch(struct splitter *f, int64_t from, int64_t to, uint32_t launch,
			  uint8_t cause, struct split *s)
{
	const assay_tables *t = &f->run->part.t;
	struct stretch all = {to - from, ASSAY_NO_ROW, assay_call_stack(t, launch), ASSAY_NO_ROW};
	memset(s->part, 0, sizeof s->part);
	if (cause != ASSAY_WHY_HOST_UNTRACED) {
		add_stretch(f, s, (assay_why)cause, all);
		return;
	}
	int64_t call = clamp(t->host.ts[launch], from, to);
	int64_t back = clamp(assay_host_end(&t->host, launch), call, to);
	split_inside(f, ASSAY_WHY_LAUNCH_CALL, launch, call, back, s);
	all.row = launch;
	all.dur = to - back;
	add_stretch(f, s, ASSAY_WHY_LAUNCH_LATENCY, all);
	f->resumed = assay_call_stack(t, launch);
	if (f->f->sights)
		f->resumed = assay_sights_task(f->f->sights, f->resumed);
	split_host(f, t->host.track[launch], ASSAY_NO_ROW, from, call, s);
}

/* What a gap says of itself is written at once, for no other thread looks at its row. */
static void split_gap(struct splitter *f, assay_gap_table *gaps, uint32_t gap)
{
	struct split s;
	look_at_device(f, gaps->device[gap]);
	gaps->opened[gap] = opened_by(f, gap);
	split_stretch(f, gaps->ts[gap], gaps->ts[gap] + gaps->dur[gap], gaps->launch[gap],
		      gaps->cause[gap], &s);
	int most = gaps->cause[gap];
	int64_t whole = 0;
	for (int c = 0; c < ASSAY_WHY_COUNT; c++) {
		if (!s.part[c])
			continue;
		*assay_push(&f->parts) =
			(struct part){gap,          s.row[c],  s.stack[c],  s.sample[c],
				      (assay_why)c, s.part[c], s.longest[c]};
		whole += s.part[c];
		most = s.part[c] > s.part[most] ? c : most;
	}
	assert(whole == gaps->dur[gap]);
	(void)whole;
	gaps->cause[gap] = (uint8_t)most;
	gaps->during[gap] = s.row[most];
	if (s.part[ASSAY_WHY_LAUNCH_LATENCY] > ASSAY_SUSPICIOUS_LATENCY)
		gaps->suspicious[gap] = 1;
}

struct totals {
	int64_t dur[ASSAY_WHY_COUNT], suspicious[ASSAY_WHY_COUNT];
	uint64_t gaps[ASSAY_WHY_COUNT];
};

enum { BLOCK = 1024 }; /* gaps that a thread splits in one go */
enum { EARLY = 8 };    /* of so many blocks one tells how many parts there will be */

struct splitting {
	assay_run *run;
	struct splitter *splitter; /* by worker */
	assay_idle_lines lines;
	struct totals *sum; /* by device */
	uint64_t blocks;
};

static void split_block(void *ctx, unsigned worker, uint64_t block)
{
	const struct splitting *x = ctx;
	assay_gap_table *gaps = &x->run->part.t.gap;
	size_t end = (block + 1) * BLOCK;
	struct splitter *f = &x->splitter[worker];
	f->lines.n = f->parts.n = 0;
	for (size_t gap = block * BLOCK; gap < end && gap < gaps->n; gap++)
		split_gap(f, gaps, (uint32_t)gap);
}

/* All columns are set here: there are as many rows as kernels, or more. */
static void add_part(assay_tables *t, const struct part *x, struct totals *sum)
{
	assay_gap_part_table *p = &t->gap_part;
	size_t r = p->n++;
	p->gap[r] = x->gap;
	p->cause[r] = (uint8_t)x->cause;
	p->dur[r] = x->dur;
	p->during[r] = x->row;
	p->longest[r] = x->longest;
	p->stack[r] = x->stack;
	p->sample[r] = x->sample;
	sum->dur[x->cause] += x->dur;
	sum->gaps[x->cause]++;
	if (x->cause == ASSAY_WHY_LAUNCH_LATENCY && t->gap.suspicious[x->gap])
		sum->suspicious[x->cause] += x->dur;
}

static bool take_block(void *ctx, unsigned worker, uint64_t block)
{
	struct splitting *x = ctx;
	const struct splitter *f = &x->splitter[worker];
	assay_tables *t = &x->run->part.t;
	assay_reserve(t, ASSAY_T_gap_part, f->parts.n);
	for (size_t i = 0; i < f->parts.n; i++)
		add_part(t, &f->parts.p[i], &x->sum[t->gap.device[f->parts.p[i].gap]]);
	for (size_t i = 0; i < f->lines.n; i++) {
		const struct at_line *l = &f->lines.p[i];
		assay_idle_lines_add(&x->lines, l->device, l->cause, l->stack, l->sample, l->dur);
	}
	if (block == x->blocks / EARLY) /* the rest will be much like it */
		assay_reserve(t, ASSAY_T_gap_part, t->gap_part.n * (EARLY - 1) * 33 / 32);
	return true;
}

/* Gives the totals by device. */
static struct totals *split_gaps(struct finder *f, size_t devices)
{
	const assay_gap_table *gaps = &f->run->part.t.gap;
	uint64_t blocks = (gaps->n + BLOCK - 1) / BLOCK;
	unsigned threads = assay_run_threads(f->run);
	threads = threads < blocks ? threads : blocks ? (unsigned)blocks : 1;
	struct splitting x = {.run = f->run, .blocks = blocks};
	x.splitter = assay_alloc(&f->scratch, threads * sizeof *x.splitter);
	x.sum = assay_alloc(&f->scratch, (devices + 1) * sizeof *x.sum);
	for (unsigned i = 0; i < threads; i++) {
		splitter_open(&x.splitter[i], f);
		x.splitter[i].keeps_lines = true;
	}
	assay_idle_lines_init(&x.lines, f->run);
	assay_turns_run(&(assay_turns){.tasks = blocks,
				       .threads = threads,
				       .ctx = &x,
				       .work = split_block,
				       .hand_over = take_block});
	assay_idle_lines_done(&x.lines);
	for (unsigned i = 0; i < threads; i++)
		splitter_close(&x.splitter[i]);
	return x.sum;
}

static void add_totals(assay_run *run, uint32_t device, const struct totals *sum)
{
	assay_tables *t = &run->part.t;
	int64_t idle = 0;
	for (int c = 0; c < ASSAY_WHY_COUNT; c++) {
		uint32_t r = assay_add(t, ASSAY_T_idle_cause);
		t->idle_cause.device[r] = device;
		t->idle_cause.cause[r] = (uint8_t)c;
		t->idle_cause.dur[r] = sum->dur[c];
		t->idle_cause.gaps[r] = sum->gaps[c];
		t->idle_cause.suspicious[r] = sum->suspicious[c];
		idle += sum->dur[c];
	}
	assert(idle == t->device_time.idle[device]);
	(void)idle;
	if (sum->suspicious[ASSAY_WHY_LAUNCH_LATENCY])
		assay_warn(
			run, "suspicious_launch_latency",
			"%s: %.1f ms of launch latency are in gaps too long to be that: submitted work did not start",
			assay_device_words(run, device),
			(double)sum->suspicious[ASSAY_WHY_LAUNCH_LATENCY] * 1e-6);
}

/* For each row of gpu the work on another stream that it really waited for: of several, the one
 * that ended last. A wait that delayed nothing explains nothing. */
static void find_producers(const assay_run *run, uint32_t *behind)
{
	const assay_tables *t = &run->part.t;
	memset(behind, 0xff, t->gpu.n * sizeof *behind);
	for (size_t i = 0; i < t->edge.n; i++) {
		uint32_t from = t->edge.from_gpu[i], to = t->edge.to_gpu[i], wait = t->edge.wait[i];
		if (from == ASSAY_NO_ROW || to == ASSAY_NO_ROW ||
		    (wait != ASSAY_NO_ROW && !t->wait.delayed[wait]))
			continue;
		if (behind[to] == ASSAY_NO_ROW ||
		    assay_gpu_end(&t->gpu, from) > assay_gpu_end(&t->gpu, behind[to]))
			behind[to] = from;
	}
}

static void name_producers(assay_run *run, const assay_order *order)
{
	assay_arena scratch = {0};
	assay_gap_table *g = &run->part.t.gap;
	uint8_t *class_of = assay_alloc(&scratch, order->rows + 1);
	uint32_t *behind = assay_alloc(&scratch, (order->rows + 1) * sizeof *behind);
	find_producers(run, behind);
	for (size_t i = 0; i < order->rows; i++)
		class_of[order->row[i]] = order->classes[i];
	for (size_t i = 0; i < g->n; i++) {
		uint32_t from = behind[g->gpu[i]];
		if (g->cause[i] != ASSAY_WHY_QUEUED || from == ASSAY_NO_ROW)
			continue;
		g->behind[i] = from;
		g->queued[i] = class_of[from] == ASSAY_CLASS_COPY ? ASSAY_QUEUED_COPY
								  : ASSAY_QUEUED_STREAM_WAIT;
	}
	assay_arena_free(&scratch);
}

void assay_gap_causes(const assay_run *run, uint32_t gpu, int64_t from,
		      int64_t part[ASSAY_WHY_COUNT], uint32_t during[ASSAY_WHY_COUNT])
{
	const assay_tables *t = &run->part.t;
	struct finder f = {.run = (assay_run *)run}; /* a split adds no rows */
	uint32_t launch = t->launch.host[gpu];
	assay_why cause = first_cause(run, gpu, from, false);
	assay_host_causes_init(&f.hosts, run);
	if (cause == ASSAY_WHY_HOST_UNTRACED) {
		assay_host_causes_want(&f.hosts, t->host.track[launch]);
		f.hosts.since = from;
		f.hosts.until = t->gpu.ts[gpu];
		assay_host_causes_fill(&f.hosts);
		f.sights = assay_sights_new(run);
	}
	struct splitter own;
	splitter_open(&own, &f);
	struct split s;
	memset(s.row, 0xff, sizeof s.row);
	split_stretch(&own, from, t->gpu.ts[gpu], launch, (uint8_t)cause, &s);
	memcpy(part, s.part, sizeof s.part);
	memcpy(during, s.row, sizeof s.row);
	splitter_close(&own);
	assay_host_causes_free(&f.hosts);
	assay_sights_free(f.sights);
}

struct assay_gap_search {
	assay_arena arena;
	struct finder f;
	assay_run view; /* its gaps become the run's */
	const assay_order *order;
	assay_beside beside;
};

static void find_all(void *search)
{
	assay_gap_search *s = search;
	struct finder *f = &s->f;
	f->graph = assay_by_name_open(f->run, &f->scratch, launches_graph);
	for (uint32_t d = 0; d < s->order->device.n; d++)
		find_gaps(f, s->order, d);
	assay_host_causes_init(&f->hosts, f->run);
	want_lanes(f);
	assay_host_causes_fill(&f->hosts);
}

assay_gap_search *assay_gaps_start(const assay_run *run, const assay_order *order)
{
	assay_arena arena = {0};
	assay_gap_search *s = assay_alloc(&arena, sizeof *s);
	*s = (assay_gap_search){.arena = arena, .order = order};
	s->view = assay_run_view(run, &s->arena);
	s->f.run = &s->view;
	assay_beside_start(&s->beside, assay_run_threads_for(run, run->part.t.gpu.n), find_all, s);
	return s;
}

void assay_gaps_end(assay_gap_search *s, assay_run *run)
{
	assay_tables *t = &run->part.t;
	struct finder *f = &s->f;
	assay_beside_join(&s->beside);
	t->gap = s->view.part.t.gap;
	f->run = run;
	f->hosts.run = run;
	f->sights = assay_sights_new(run);
	const struct totals *sum = split_gaps(f, s->order->device.n);
	for (uint32_t d = 0; d < s->order->device.n; d++)
		add_totals(run, d, &sum[d]);
	assay_host_causes_free(&f->hosts);
	assay_sights_free(f->sights);
	assay_arena_free(&f->scratch);
	if (t->edge.n)
		name_producers(run, s->order);
	assay_arena arena = s->arena;
	assay_arena_free(&arena);
}

void assay_gaps(assay_run *run, const assay_order *order)
{
	assay_gaps_end(assay_gaps_start(run, order), run);
}

static void find_causes(assay_run *run)
{
	assay_order order;
	assay_kernels(run);
	assay_order_build(&order, run);
	assay_partition(run, &order);
	assay_gaps(run, &order);
	assay_count_disorder(run, &order);
	assay_order_free(&order);
}

static int64_t cause_time(const assay_run *run, assay_why cause)
{
	return run->part.t.idle_cause.dur[cause];
}

TEST(host_time_is_split_in_the_order_of_the_causes)
{
	assay_run *run = assay_run_new();
	assay_hand_host(run, ASSAY_HOST_PYTHON, "train.py(10): step", 100, 80);
	assay_hand_host(run, ASSAY_HOST_ANNOTATION, "enumerate(DataLoader)#next", 110, 20);
	assay_hand_host(run, ASSAY_HOST_OP, "aten::stack", 115, 10); /* inside data: data */
	uint32_t op = assay_hand_host(run, ASSAY_HOST_OP, "aten::mm", 140, 30);
	assay_hand_host(run, ASSAY_HOST_RUNTIME, "cudaMalloc", 145, 5);
	assay_hand_host(run, ASSAY_HOST_RUNTIME, "cudaStreamSynchronize", 152, 3);
	assay_hand_host(run, ASSAY_HOST_ANNOTATION, "my range", 100, 100);
	uint32_t call = assay_hand_host(run, ASSAY_HOST_RUNTIME, "cudaLaunchKernel", 165, 4);
	assay_hand_gpu(run, "c", 50, 40, ASSAY_NO_ROW); /* 50-90 */
	assay_hand_gpu(run, "c", 170, 10, call);
	find_causes(run);
	CHECK_EQ(cause_time(run, ASSAY_WHY_HOST_UNTRACED), 10); /* 90-100 */
	CHECK_EQ(cause_time(run, ASSAY_WHY_HOST_PYTHON), 20);   /* 100-110, 130-140 */
	CHECK_EQ(cause_time(run, ASSAY_WHY_HOST_DATA), 20);
	CHECK_EQ(cause_time(run, ASSAY_WHY_HOST_RUNTIME), 5);
	CHECK_EQ(cause_time(run, ASSAY_WHY_HOST_SYNC), 3);
	CHECK_EQ(cause_time(run, ASSAY_WHY_HOST_OP), 17);
	CHECK_EQ(cause_time(run, ASSAY_WHY_LAUNCH_CALL), 4);
	CHECK_EQ(cause_time(run, ASSAY_WHY_LAUNCH_LATENCY), 1);
	const assay_gap_table *g = &run->part.t.gap;
	CHECK(g->n == 1 && g->launch[0] == call && g->cause[0] == ASSAY_WHY_HOST_DATA);
	CHECK(g->during[0] == 1 && op != 1);
	assay_run_free(run);
	return 0;
}

/* What one call of 50 ns before a launch is called. */
static assay_why cause_of_call(const char *name)
{
	assay_run *run = assay_run_new();
	assay_hand_host(run, ASSAY_HOST_RUNTIME, name, 10, 50);
	uint32_t call = assay_hand_host(run, ASSAY_HOST_RUNTIME, "cudaLaunchKernel", 60, 1);
	assay_hand_gpu(run, "c", 0, 10, ASSAY_NO_ROW);
	assay_hand_gpu(run, "c", 60, 10, call);
	find_causes(run);
	assay_why cause = (assay_why)run->part.t.gap.cause[0];
	assay_run_free(run);
	return cause;
}

TEST(calls_that_block_are_waits_whatever_their_spelling)
{
	static const char *const wait[] = {"hipMemcpyWithStream", "cudaMemcpy2D", "cuMemcpyDtoH",
					   "cudaMemcpy_ptds", "hipStreamSynchronize_spt"};
	for (size_t i = 0; i < ASSAY_COUNT_OF(wait); i++)
		CHECK_EQ(cause_of_call(wait[i]), ASSAY_WHY_HOST_SYNC);
	CHECK_EQ(cause_of_call("cudaMalloc"), ASSAY_WHY_HOST_RUNTIME);
	CHECK_EQ(cause_of_call("cudaMemcpyAsync"), ASSAY_WHY_HOST_RUNTIME);
	return 0;
}

/* An allocation that the resolver saw wait for the device is a wait. */
TEST(calls_that_may_block_are_waits_when_they_did)
{
	assay_run *run = assay_run_new();
	uint32_t malloc_call = assay_hand_host(run, ASSAY_HOST_RUNTIME, "cudaMalloc", 10, 50);
	uint32_t call = assay_hand_host(run, ASSAY_HOST_RUNTIME, "cudaLaunchKernel", 60, 1);
	assay_hand_gpu(run, "c", 0, 10, ASSAY_NO_ROW);
	assay_hand_gpu(run, "c", 60, 10, call);
	uint32_t w = assay_add(&run->part.t, ASSAY_T_wait);
	run->part.t.wait.host[w] = malloc_call;
	run->part.t.wait.delayed[w] = 5;
	find_causes(run);
	CHECK_EQ(cause_time(run, ASSAY_WHY_HOST_SYNC), 50);
	assay_run_free(run);
	return 0;
}

TEST(the_event_that_ends_a_gap_explains_it)
{
	assay_run *run = assay_run_new();
	uint32_t early = assay_hand_host(run, ASSAY_HOST_RUNTIME, "cudaLaunchKernel", 5, 1);
	uint32_t graph = assay_hand_host(run, ASSAY_HOST_RUNTIME, "cudaGraphLaunch", 40, 1);
	uint32_t slow = assay_hand_host(run, ASSAY_HOST_RUNTIME, "cudaLaunchKernel", 60, 1);
	uint32_t late = assay_hand_host(run, ASSAY_HOST_RUNTIME, "cudaLaunchKernel", 300000000, 1);
	assay_hand_gpu(run, "c", 10, 10, early);
	assay_hand_gpu(run, "c", 25, 5, early); /* gap of 5: launched long before */
	assay_hand_gpu(run, "c", 45, 5,
		       graph); /* gap 30-45: 10 untraced, 1 in the call, 4 latency */
	assay_hand_gpu(run, "c", 52, 8, graph);         /* gap of 2 inside the graph */
	assay_hand_gpu(run, "c", 70, 10, ASSAY_NO_ROW); /* gap of 10 */
	assay_hand_gpu(run, "c", 200000000, 10, slow);  /* queued: launched at 60 */
	assay_hand_gpu(run, "c", 200000020, 10, late);  /* begins before its launch */
	find_causes(run);
	CHECK_EQ(cause_time(run, ASSAY_WHY_QUEUED), 5 + 200000000 - 80);
	CHECK_EQ(cause_time(run, ASSAY_WHY_LAUNCH_CALL), 1);
	CHECK_EQ(cause_time(run, ASSAY_WHY_LAUNCH_LATENCY), 4);
	CHECK_EQ(cause_time(run, ASSAY_WHY_GRAPH_INTERNAL), 2);
	CHECK_EQ(cause_time(run, ASSAY_WHY_UNLINKED), 10);
	CHECK_EQ(cause_time(run, ASSAY_WHY_HOST_UNTRACED), 20);
	CHECK_EQ(run->part.issues[ASSAY_ISSUE_clock_inversion], 1);
	const assay_gap_part_table *p = &run->part.t.gap_part;
	for (size_t i = 0; i < p->n; i++) /* nobody looked at stacks */
		CHECK(p->stack[i] == ASSAY_NO_ROW && p->sample[i] == ASSAY_NO_ROW);
	const assay_idle_cause_table *c = &run->part.t.idle_cause;
	CHECK_EQ(c->n, ASSAY_WHY_COUNT);
	CHECK_EQ(c->gaps[ASSAY_WHY_QUEUED], 2);
	CHECK_EQ(c->gaps[ASSAY_WHY_HOST_UNTRACED], 2);
	CHECK_EQ(c->gaps[ASSAY_WHY_HOST_DATA], 0);
	assay_run_free(run);
	return 0;
}

static void add_edge(assay_run *run, uint32_t from, uint32_t to, int64_t delayed)
{
	assay_tables *t = &run->part.t;
	uint32_t w = assay_add(t, ASSAY_T_wait), e = assay_add(t, ASSAY_T_edge);
	t->wait.delayed[w] = delayed;
	t->edge.wait[e] = w;
	t->edge.from_gpu[e] = from;
	t->edge.to_gpu[e] = to;
}

TEST(queued_gaps_name_what_they_wait_for)
{
	assay_run *run = assay_run_new();
	uint32_t call = assay_hand_host(run, ASSAY_HOST_RUNTIME, "cudaLaunchKernel", 5, 1);
	for (int i = 0; i < 5; i++)
		assay_hand_gpu(run, "c", 10 + i * 20, 10, call);
	run->part.t.gpu.kind[0] = ASSAY_GPU_MEMCPY;
	run->part.t.gpu.kind[3] = ASSAY_GPU_MEMCPY;
	add_edge(run, 0, 1, 10);
	add_edge(run, 0, 2, 10);
	add_edge(run, 1, 2, 10); /* ended later */
	add_edge(run, 2, 3, 0);  /* delayed nothing */
	add_edge(run, 3, 4, 1);
	add_edge(run, 0, 4, 1); /* ended before */
	find_causes(run);
	const assay_gap_table *g = &run->part.t.gap;
	CHECK(g->queued[0] == ASSAY_QUEUED_COPY && g->behind[0] == 0);
	CHECK(g->queued[1] == ASSAY_QUEUED_STREAM_WAIT && g->behind[1] == 1);
	CHECK(g->queued[2] == ASSAY_QUEUED_OTHER && g->behind[2] == ASSAY_NO_ROW);
	CHECK(g->queued[3] == ASSAY_QUEUED_COPY && g->behind[3] == 3);
	CHECK_EQ(cause_time(run, ASSAY_WHY_QUEUED), 40);
	assay_run_free(run);
	return 0;
}

/* Launched at 100 for 10 ns; the work begins so much later. */
static bool is_suspicious(int64_t latency, int64_t *sum, size_t *warnings)
{
	assay_run *run = assay_run_new();
	uint32_t call = assay_hand_host(run, ASSAY_HOST_RUNTIME, "cudaLaunchKernel", 100, 10);
	assay_hand_gpu(run, "c", 0, 50, ASSAY_NO_ROW);
	assay_hand_gpu(run, "c", 110 + latency, 10, call);
	find_causes(run);
	bool told = run->part.t.gap.suspicious[0] == 1;
	*sum = run->part.t.idle_cause.suspicious[ASSAY_WHY_LAUNCH_LATENCY];
	*warnings = run->part.t.warning.n;
	assay_run_free(run);
	return told;
}

TEST(a_launch_latency_of_more_than_a_millisecond_is_suspicious)
{
	int64_t sum;
	size_t warnings;
	CHECK(is_suspicious(299999990, &sum, &warnings) && sum == 299999990 && warnings == 1);
	CHECK(is_suspicious(1000001, &sum, &warnings) && sum == 1000001 && warnings == 1);
	CHECK(!is_suspicious(1000000, &sum, &warnings) && !sum && !warnings);
	return 0;
}

static uint64_t random_next(uint64_t *x)
{
	*x ^= *x << 13, *x ^= *x >> 7, *x ^= *x << 17;
	return *x;
}

static const struct random_row {
	assay_host_kind kind;
	const char *name;
	uint8_t cause;
} random_rows[] = {
	{ASSAY_HOST_RUNTIME, "hipDeviceSynchronize", ASSAY_WHY_HOST_SYNC},
	{ASSAY_HOST_OP, "enumerate(DataLoader)", ASSAY_WHY_HOST_DATA},
	{ASSAY_HOST_DRIVER, "cuLaunchKernel", ASSAY_WHY_HOST_RUNTIME},
	{ASSAY_HOST_OP, "aten::add", ASSAY_WHY_HOST_OP},
	{ASSAY_HOST_PYTHON, "f", ASSAY_WHY_HOST_PYTHON},
	{ASSAY_HOST_ANNOTATION, "range", ASSAY_WHY_HOST_UNTRACED},
};

/* Every nanosecond of small random timelines, rows overlapping in any way, looked at one by one. */
TEST(causes_agree_with_looking_at_every_nanosecond)
{
	enum { SPAN = 400, HOSTS = 24 };
	uint64_t x = 88172645463325252u;
	for (int round = 0; round < 400; round++) {
		assay_run *run = assay_run_new();
		uint8_t at[SPAN + 64];
		memset(at, ASSAY_WHY_HOST_UNTRACED, sizeof at);
		for (int i = 0; i < HOSTS; i++) {
			uint64_t r = random_next(&x);
			const struct random_row *w = &random_rows[r % 6];
			int64_t ts = (int64_t)(r >> 8) % SPAN, dur = (int64_t)(r >> 50) % 40;
			ts = ts < 0 ? -ts : ts;
			assay_hand_host(run, w->kind, w->name, ts, dur);
			for (int64_t k = ts; k < ts + dur; k++)
				at[k] = w->cause < at[k] ? w->cause : at[k];
		}
		int64_t want[ASSAY_WHY_COUNT] = {0}, end = 1;
		assay_hand_gpu(run, "c", 0, 1, ASSAY_NO_ROW);
		for (int64_t now = 1; now < SPAN;) { /* work in order of time */
			uint64_t r = random_next(&x);
			int64_t dur = (int64_t)(r >> 30 & 15), gap = (int64_t)(r >> 40 & 31);
			uint32_t call = r % 5 ? (uint32_t)(r >> 20) % HOSTS : ASSAY_NO_ROW;
			if (call != ASSAY_NO_ROW &&
			    run->part.t.host.kind[call] == ASSAY_HOST_ANNOTATION)
				call = ASSAY_NO_ROW;
			int64_t ts = now + gap;
			assay_hand_gpu(run, "c", ts, dur, call);
			int64_t begin = call == ASSAY_NO_ROW ? 0 : run->part.t.host.ts[call];
			int64_t back =
				call == ASSAY_NO_ROW ? 0 : begin + run->part.t.host.dur[call];
			for (int64_t k = end; k < ts; k++)
				want[call == ASSAY_NO_ROW ? ASSAY_WHY_UNLINKED
				     : back <= end        ? ASSAY_WHY_QUEUED
				     : k >= back          ? ASSAY_WHY_LAUNCH_LATENCY
				     : k >= begin         ? ASSAY_WHY_LAUNCH_CALL
							  : at[k]]++;
			now = end = ts + dur;
		}
		find_causes(run);
		for (int c = 0; c < ASSAY_WHY_COUNT; c++)
			CHECK_EQ(cause_time(run, (assay_why)c), want[c]);
		assay_run_free(run);
	}
	return 0;
}
