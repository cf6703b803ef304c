/* Streams that wait for each other while the device has room for both. Whether the waits are needed
 * only the program knows: what is said is what they cost, and where they are asked for. */
#include "analyze/idle_lines.h"
#include "base/fmt.h"
#include "find/finding.h"
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
	bool guessed; /* by times, where the recording does not say who waits for whom */
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
		.confidence = x->guessed ? 0.4 : 0.5,
		.fix = "where the work of one stream does not need the other's, leave the wait_event/wait_stream between them out, and join them once at the end"};
	for (size_t i = 0; i < x->line.n; i++)
		worst = x->line.p[i].delayed > worst.delayed ? x->line.p[i] : worst;
	f.where.op = assay_z(x->run, t->host.name[worst.host]);
	uint32_t own = assay_own_call(t, assay_call_stack(t, worst.host));
	if (own != ASSAY_NO_ROW)
		assay_where_in_stack(x->run, own, &f.where);
	f.text = assay_printf(
		c->scratch,
		"streams %s for each other although the device has room for both: %s, if they need not",
		x->guessed ? "seem to wait" : "wait", assay_share_words(c, saved));
	f.fact[0] = assay_printf(
		c->scratch,
		x->guessed
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

static void find_streams(assay_run *run, const assay_find_ctx *c)
{
	struct waits x = {.run = run, .c = c};
	double fill = 1;
	if (c->w->device == ASSAY_NO_ROW || c->whole <= 0 || !c->order)
		return;
	for (size_t i = 0; i < run->part.t.wait.n; i++)
		if (between_streams(run, c->w, i) && run->part.t.wait.host[i] != ASSAY_NO_ROW)
			add_wait(&x, i);
		else if (is_unsaid(run, c->w, i))
			add_line(&x, run->part.t.wait.host[i], 1); /* the line of most of them */
	double least = worth_a_look * (double)c->whole;
	if (x.line.n) {
		x.grids = assay_grids_of(run, c->scratch);
		x.units = assay_device_units(run, run->part.t.device_time.device[c->w->device]);
	}
	int64_t most = x.line.n ? room(&x, &fill) : 0;
	if ((double)most >= least && (!x.count || (double)x.delayed >= least)) {
		int64_t saved = saved_without(&x);
		saved = saved < most ? saved : most;
		if ((double)saved >= least)
			tell(&x, saved, fill);
	}
	assay_vec_free(&x.line);
	assay_map_free(&x.known);
}

const assay_finder assay_find_streams = {.id = "streams", .find = find_streams};
