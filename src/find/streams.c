/* Streams that wait for each other while the device has room for both. Whether the waits are needed
 * only the program knows: what is said is what they cost, and where they are asked for. */
#include "analyze/analyze.h"
#include "analyze/idle_lines.h"
#include "base/fmt.h"
#include "base/test.h"
#include "find/finding.h"
#include "model/by_hand.h"
#include "model/grid.h"

static const double worth_a_look = 0.05; /* of the window */

enum {
	START = 20 * 1000, /* ns, within which work starts behind what it waited for */
};

/* Waits of one line. */
struct line {
	uint32_t host; /* a call there */
	int64_t delayed;
};

struct waits {
	const assay_run *run;
	const assay_find_ctx *c;
	uint64_t count; /* that delayed work of another stream */
	int64_t delayed;
	bool guessed;    /* by times, where the recording does not say who waits for whom */
	bool by_default; /* it is the rules of the default stream that make them wait */
	assay_map known;
	assay_vec(struct line) line;
	assay_grids grids; /* where there is a line */
	int32_t units;     /* multiprocessors; 0: not known */
};

static bool in_window(const assay_gpu_table *g, const assay_window *w, uint32_t gpu)
{
	return g->ts[gpu] >= w->from && g->ts[gpu] < w->to;
}

static bool between_streams(const assay_run *run, const assay_window *w, size_t wait)
{
	const assay_tables *t = &run->part.t;
	uint32_t from = t->wait.producer_gpu[wait], to = t->wait.consumer_gpu[wait];
	return t->wait.kind[wait] == ASSAY_WAIT_STREAM_WAIT && t->wait.delayed[wait] > 0 &&
	       from != ASSAY_NO_ROW && to != ASSAY_NO_ROW &&
	       t->gpu.kind[from] == ASSAY_GPU_KERNEL && t->gpu.kind[to] == ASSAY_GPU_KERNEL &&
	       t->gpu.track[from] != t->gpu.track[to] && in_window(&t->gpu, w, to);
}

static void add_line(struct waits *x, uint32_t host, int64_t delayed)
{
	const assay_tables *t = &x->run->part.t;
	uint64_t key = assay_line_key(t, assay_own_call(t, assay_call_stack(t, host)));
	uint32_t *slot = assay_map_at(&x->known, key);
	if (*slot == ASSAY_MAP_ABSENT) {
		*slot = (uint32_t)x->line.n;
		*assay_push(&x->line) = (struct line){.host = host};
	}
	x->line.p[*slot].delayed += delayed;
}

static void add_wait(struct waits *x, size_t wait)
{
	const assay_wait_table *w = &x->run->part.t.wait;
	x->count++;
	x->delayed += w->delayed[wait];
	add_line(x, w->host[wait], w->delayed[wait]);
}

/* ------------------------------------------------------------------ the default stream */

/* The stream that all edges of the default stream's rules have in common. */
static uint32_t default_track(const struct waits *x)
{
	const assay_tables *t = &x->run->part.t;
	uint32_t *ends = assay_alloc(x->c->scratch, (t->track.n + 1) * sizeof *ends), most = 0;
	for (uint32_t i = 0; i < t->edge.n; i++)
		if (t->edge.kind[i] == ASSAY_EDGE_LEGACY && t->edge.to_gpu[i] != ASSAY_NO_ROW) {
			ends[t->gpu.track[t->edge.from_gpu[i]]]++;
			ends[t->gpu.track[t->edge.to_gpu[i]]]++;
		}
	for (uint32_t i = 0; i < t->track.n; i++)
		most = ends[i] > ends[most] ? i : most;
	return t->track.n && ends[most] ? most : ASSAY_NO_ROW;
}

/* Lines that put work on the default stream while kernels of others ran, which it waits for, and
 * which wait for it. */
static void add_default_stream(struct waits *x)
{
	const assay_tables *t = &x->run->part.t;
	uint32_t track = default_track(x);
	for (uint32_t i = 0; i < t->edge.n && track != ASSAY_NO_ROW; i++) {
		uint32_t from = t->edge.from_gpu[i], to = t->edge.to_gpu[i];
		if (t->edge.kind[i] == ASSAY_EDGE_LEGACY && to != ASSAY_NO_ROW &&
		    t->gpu.track[to] == track && t->gpu.kind[from] == ASSAY_GPU_KERNEL &&
		    in_window(&t->gpu, x->c->w, to) && t->launch.host[to] != ASSAY_NO_ROW)
			add_line(x, t->launch.host[to], 1);
	}
	x->by_default = x->line.n > 0;
}

/* ------------------------------------------------------------------ room on the device */

static double fill_of(const struct waits *x, uint32_t gpu)
{
	return assay_grid_fill(&x->grids, gpu, x->units);
}

/* ns of the window's compute that would be left to others if kernels lay side by side; fill: the
 * share of the device that kernels fill in the mean. */
static int64_t room(const struct waits *x, double *fill)
{
	const assay_find_ctx *c = x->c;
	const assay_gpu_table *g = &x->run->part.t.gpu;
	const assay_order_device *d = &c->order->device.p[c->w->device];
	double all = 0, filled = 0;
	for (size_t i = d->first; i < d->first + d->n; i++) {
		uint32_t r = c->order->row[i];
		if (c->order->classes[i] != ASSAY_CLASS_COMPUTE || g->dur[r] <= 0 ||
		    !in_window(g, c->w, r))
			continue;
		all += (double)g->dur[r];
		filled += (double)g->dur[r] * fill_of(x, r);
	}
	*fill = all > 0 ? filled / all : 1;
	return (int64_t)((double)c->w->compute * (1 - *fill));
}

/* ------------------------------------------------------------------ told by times */

static bool is_unsaid(const assay_run *run, const assay_window *w, size_t wait)
{
	const assay_wait_table *t = &run->part.t.wait;
	return t->kind[wait] == ASSAY_WAIT_STREAM_WAIT && t->class[wait] == ASSAY_WAIT_IS_LOST &&
	       t->host[wait] != ASSAY_NO_ROW && t->ts[wait] >= w->from && t->ts[wait] < w->to;
}

/* Where the recording has waits of streams but not for whom: kernels that were launched, and whose
 * stream was free, but that began only when another stream's ended, which had left room for them.
 * -> ns that they could save at most: the busiest stream stays as it is. */
static int64_t guess_waits(struct waits *x)
{
	const assay_run *run = x->run;
	const assay_tables *t = &run->part.t;
	const assay_find_ctx *c = x->c;
	const assay_order_device *d = &c->order->device.p[c->w->device];
	int64_t *free_at = assay_alloc(c->scratch, (t->track.n + 1) * sizeof *free_at);
	int64_t *busy = assay_alloc(c->scratch, (t->track.n + 1) * sizeof *busy);
	int64_t busiest = 0;
	uint32_t last = ASSAY_NO_ROW; /* the kernel that ends last of those that have begun */
	for (size_t i = d->first; i < d->first + d->n; i++) {
		uint32_t r = c->order->row[i], stream = t->gpu.track[r], launch = t->launch.host[r];
		int64_t end = t->gpu.ts[r] + t->gpu.dur[r];
		if (t->gpu.kind[r] != ASSAY_GPU_KERNEL || t->gpu.dur[r] <= 0 ||
		    !in_window(&t->gpu, c->w, r))
			continue;
		if (last != ASSAY_NO_ROW && launch != ASSAY_NO_ROW &&
		    t->gpu.track[last] != stream) {
			int64_t ready = assay_host_end(&t->host, launch);
			int64_t behind = t->gpu.ts[last] + t->gpu.dur[last];
			ready = free_at[stream] > ready ? free_at[stream] : ready;
			if (t->gpu.ts[r] >= behind && t->gpu.ts[r] - behind < START &&
			    behind > ready && fill_of(x, last) + fill_of(x, r) <= 1) {
				x->count++;
				x->delayed += behind - ready;
			}
		}
		if (last == ASSAY_NO_ROW || end >= t->gpu.ts[last] + t->gpu.dur[last])
			last = r;
		free_at[stream] = end;
		busy[stream] += t->gpu.dur[r];
		busiest = busy[stream] > busiest ? busy[stream] : busiest;
	}
	x->guessed = true;
	return c->whole - busiest;
}

/* ------------------------------------------------------------------ the finding */

static void tell(const struct waits *x, int64_t saved, double fill)
{
	const assay_find_ctx *c = x->c;
	const assay_tables *t = &x->run->part.t;
	struct line worst = {.delayed = -1};
	char count[ASSAY_FMT], delayed[ASSAY_FMT];
	assay_per_step each = assay_per_step_of(c, false);
	assay_found f = {
		.id = "serial_streams",
		.total = saved,
		.saved = saved,
		.replayed = !x->guessed,
		.confidence = x->guessed && !x->by_default ? 0.4 : 0.5,
		.fix = x->by_default
			       ? "make the streams with cudaStreamNonBlocking (hipStreamNonBlocking), or put what goes to the default stream on a stream of its own"
			       : "where the work of one stream does not need the other's, leave the wait_event/wait_stream between them out, and join them once at the end"};
	for (size_t i = 0; i < x->line.n; i++)
		worst = x->line.p[i].delayed > worst.delayed ? x->line.p[i] : worst;
	f.where.op = assay_z(x->run, t->host.name[worst.host]);
	uint32_t own = assay_own_call(t, assay_call_stack(t, worst.host));
	if (own != ASSAY_NO_ROW)
		assay_where_in_stack(x->run, own, &f.where);
	f.text = assay_printf(
		c->scratch,
		x->by_default
			? "work on the default stream makes the others wait for each other although the device has room for both: %s, if they need not"
		: x->guessed
			? "streams seem to wait for each other although the device has room for both: %s, if they need not"
			: "streams wait for each other although the device has room for both: %s, if they need not",
		assay_share_words(c, saved));
	f.fact[0] = assay_printf(
		c->scratch,
		x->by_default
			? "%s kernels%s begin when another stream's end, %s%s later than they could"
		: x->guessed
			? "which stream waits for which is not recorded, but %s kernels%s begin when another stream's end, %s%s later than they could"
			: "%s waits of a stream for another%s, %s%s",
		assay_fmt_count(count, x->count / (uint64_t)each.steps),
		c->steps ? " in a step" : "", assay_fmt_time(delayed, x->delayed / each.steps),
		each.words);
	f.fact[1] = assay_printf(c->scratch, "kernels fill %.0f%% of the device in the mean",
				 100 * fill);
	assay_finding_add(c, &f);
}

/* What the waits cost, ns: by a replay, or at most what times tell. */
static int64_t saved_without(struct waits *x)
{
	double share;
	if (!x->count) {
		int64_t most = guess_waits(x);
		return most < x->delayed ? most : x->delayed;
	}
	return assay_find_without(x->c, "stream_wait=0", &share)
		       ? (int64_t)(share * (double)x->c->whole)
		       : 0;
}

/* Whether the waits gathered are worth a finding, which is then added. */
static bool tell_waits(struct waits *x)
{
	const assay_find_ctx *c = x->c;
	double least = worth_a_look * (double)c->whole, fill = 1;
	if (!x->line.n)
		return false;
	x->grids = assay_grids_of(x->run, c->scratch);
	x->units = assay_device_units(x->run, x->run->part.t.device_time.device[c->w->device]);
	int64_t most = room(x, &fill);
	if ((double)most < least || (x->count && (double)x->delayed < least))
		return false;
	int64_t saved = saved_without(x);
	saved = saved < most ? saved : most;
	if ((double)saved >= least)
		tell(x, saved, fill);
	return (double)saved >= least;
}

static void free_waits(struct waits *x)
{
	assay_vec_free(&x->line);
	assay_map_free(&x->known);
}

static void find_streams(const assay_run *run, const assay_find_ctx *c)
{
	struct waits asked = {.run = run, .c = c}, by_default = asked;
	if (c->w->device == ASSAY_NO_ROW || c->whole <= 0 || !c->order)
		return;
	for (size_t i = 0; i < run->part.t.wait.n; i++)
		if (between_streams(run, c->w, i) && run->part.t.wait.host[i] != ASSAY_NO_ROW)
			add_wait(&asked, i);
		else if (is_unsaid(run, c->w, i))
			add_line(&asked, run->part.t.wait.host[i],
				 1); /* the line of most of them */
	if (!tell_waits(&asked)) {
		add_default_stream(&by_default);
		tell_waits(&by_default);
	}
	free_waits(&asked);
	free_waits(&by_default);
}

const assay_finder assay_find_streams = {.id = "streams", .find = find_streams};

/* Two streams by turns, a fill on a third between their kernels; joined: by the rules of the
 * default stream. -> findings; 100 units, and blocks as many as these. */
static size_t turns_of_two_streams(bool joined, uint32_t blocks, assay_found *first)
{
	enum { ROUNDS = 20, KERNEL = 50000, FILL = 2000, ROUND = KERNEL + 2 * FILL };
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	assay_arena scratch = {0};
	assay_order order;
	struct assay_found_list list = {.found = {0}};
	const assay_window w = {
		.device = 0, .to = ROUNDS * ROUND, .compute = ROUNDS * KERNEL, .steps = 0};
	const assay_find_ctx c = {.w = &w,
				  .order = &order,
				  .scratch = &scratch,
				  .list = &list,
				  .whole = w.to,
				  .now = w.to};
	uint32_t track[3], before = ASSAY_NO_ROW;
	run->part.source = assay_add(t, ASSAY_T_source);
	for (int i = 0; i < 3; i++) {
		track[i] = assay_add(t, ASSAY_T_track);
		t->track.kind[track[i]] = ASSAY_TRACK_STREAM;
	}
	for (int64_t i = 0; i < ROUNDS; i++) {
		uint32_t call = assay_hand_host(run, ASSAY_HOST_DRIVER, "cuMemsetD32Async", i, 1);
		uint32_t fill = assay_hand_gpu(run, "Memset", i * ROUND, FILL, call);
		call = assay_hand_host(run, ASSAY_HOST_DRIVER, "cuLaunchKernel", i, 1);
		uint32_t kernel = assay_hand_gpu(run, "advance", i * ROUND + FILL, KERNEL, call);
		t->gpu.kind[fill] = ASSAY_GPU_MEMSET;
		t->gpu.track[fill] = track[2];
		t->gpu.track[kernel] = track[i % 2];
		t->gpu.grid_x[kernel] = blocks;
		t->gpu.block_x[kernel] = 1024;
		const uint32_t ends[][2] = {{before, fill}, {fill, kernel}};
		for (int k = before == ASSAY_NO_ROW; joined && k < 2; k++) {
			uint32_t e = assay_add(t, ASSAY_T_edge);
			t->edge.kind[e] = ASSAY_EDGE_LEGACY;
			t->edge.from_gpu[e] = ends[k][0];
			t->edge.to_gpu[e] = ends[k][1];
		}
		before = kernel;
	}
	uint32_t d = assay_add(t, ASSAY_T_device), time = assay_add(t, ASSAY_T_device_time);
	t->device.id[d] = t->device_time.device[time] = 0;
	t->device.source[d] = run->part.source;
	t->device.units[d] = 100;
	assay_kernels(run);
	assay_order_build(&order, run);
	find_streams(run, &c);
	size_t found = list.found.n;
	*first = found ? list.found.p[0] : (assay_found){0};
	assay_order_free(&order);
	assay_vec_free(&list.found);
	assay_arena_free(&scratch);
	assay_run_free(run);
	return found;
}

TEST(the_default_stream_makes_others_take_turns)
{
	assay_found f;
	CHECK_EQ(turns_of_two_streams(true, 10, &f), 1);
	CHECK(f.saved > 400000 && f.saved < 600000); /* one of two streams remains */
	CHECK_EQ(turns_of_two_streams(false, 10, &f), 0);
	CHECK_EQ(turns_of_two_streams(true, 1000, &f), 0); /* no room for both */
	return 0;
}
