/* Communication and copies that nothing hides, and kernels that take much longer at times. */
#include <stdlib.h>

#include "analyze/finding.h"
#include "base/fmt.h"
#include "base/median.h"
#include "base/test.h"

/* ------------------------------------------------------------------ copies */

/* By the ends that names and kernels of copies tell. */
enum direction { TO_DEVICE, TO_HOST, ON_DEVICE, BETWEEN, ELSEWHERE, DIRECTIONS };

static const struct {
	const char *words[3];
	enum direction direction;
} direction_words[] = {
	{{"HtoD", "H2D", "HOST_TO_DEVICE"}, TO_DEVICE},
	{{"DtoH", "D2H", "DEVICE_TO_HOST"}, TO_HOST},
	{{"DtoD", "D2D", "DEVICE_TO_DEVICE"}, ON_DEVICE},
	{{"PtoP", "P2P", "PEER"}, BETWEEN},
};

static enum direction direction_of(assay_str name)
{
	for (size_t i = 0; i < ASSAY_COUNT_OF(direction_words); i++)
		for (size_t k = 0; k < ASSAY_COUNT_OF(direction_words[i].words); k++)
			if (assay_str_find_nocase(name, direction_words[i].words[k]) >= 0)
				return direction_words[i].direction;
	return ELSEWHERE;
}

static const struct {
	const char *what, *fix;
} copy_words[DIRECTIONS] = {
	[TO_DEVICE] =
		{"to the device",
		 "pinned memory and non_blocking copies on a stream of their own, a batch ahead"},
	[TO_HOST] = {"to the host",
		     "copy less back, or into pinned memory and read it a step later"},
	[ON_DEVICE] = {"within the device",
		       "avoid the copy: write in place, keep layouts (contiguous, channels_last), "
		       "gradients as views of their buckets (gradient_as_bucket_view), fuse it "
		       "into its neighbours"},
	[BETWEEN] = {"between devices", "overlap it with compute on a stream of its own"},
	[ELSEWHERE] = {"", "pinned memory and non_blocking copies on a stream of their own; fewer "
			   "copies within the device"},
};

struct copies {
	int64_t time[DIRECTIONS], pageable;
	uint64_t count[DIRECTIONS], bytes[DIRECTIONS];
};

static struct copies sum_copies(const assay_run *run, const assay_find_ctx *c)
{
	const assay_gpu_table *g = &run->part.t.gpu;
	const assay_order_device *d = &c->order->device.p[c->w->device];
	struct copies s = {.pageable = 0};
	for (size_t i = d->first; i < d->first + d->n; i++) {
		uint32_t r = c->order->row[i];
		if (c->order->classes[i] != ASSAY_CLASS_COPY || g->ts[r] < c->w->from ||
		    g->ts[r] >= c->w->to)
			continue;
		assay_str name = assay_text(run, g->name[r]);
		enum direction k = direction_of(name);
		s.time[k] += g->dur[r] > 0 ? g->dur[r] : 0;
		s.count[k]++;
		s.bytes[k] += g->bytes[r] > 0 ? (uint64_t)g->bytes[r] : 0;
		s.pageable += assay_str_find(name, "Pageable") >= 0 ? g->dur[r] : 0;
	}
	return s;
}

/* The copies of this direction that take most, and the line that asks for them. */
static assay_where copy_where(const assay_run *run, const assay_find_ctx *c, int direction)
{
	const assay_tables *t = &run->part.t;
	uint32_t best = ASSAY_NO_ROW;
	for (uint32_t k = 0; k < t->kernel.n; k++)
		if (t->kernel.kind[k] == ASSAY_GPU_MEMCPY &&
		    (int)direction_of(assay_text(run, t->kernel.name[k])) == direction &&
		    (best == ASSAY_NO_ROW || t->kernel.total[k] > t->kernel.total[best]))
			best = k;
	if (best == ASSAY_NO_ROW)
		return (assay_where){0};
	assay_where where = {.kernel =
				     assay_dup(c->scratch, assay_text(run, t->kernel.name[best]))};
	if (t->kernel.line[best] != ASSAY_NO_ROW)
		assay_where_in_stack(run, t->kernel_line.stack[t->kernel.line[best]], &where);
	return where;
}

static void add_copies(const assay_run *run, const assay_find_ctx *c)
{
	struct copies s = sum_copies(run, c);
	int most = 0;
	char count[ASSAY_FMT], bytes[ASSAY_FMT], rate[ASSAY_FMT];
	for (int k = 1; k < DIRECTIONS; k++)
		most = s.time[k] > s.time[most] ? k : most;
	assay_found f = {.id = "exposed_copy",
			 .total = c->w->copy,
			 .fix = copy_words[most].fix,
			 .where = copy_where(run, c, most),
			 .what_if = "copy=0",
			 .confidence = 0.8};
	f.text = assay_printf(c->scratch, "copies%s%s that nothing hides take %s",
			      *copy_words[most].what ? " " : "", copy_words[most].what,
			      assay_share_words(c, c->w->copy));
	f.fact[0] = assay_printf(c->scratch, "%s copies%s%s", assay_fmt_count(count, s.count[most]),
				 *copy_words[most].what ? " " : "", copy_words[most].what);
	if (s.bytes[most] && s.time[most])
		f.fact[1] = assay_printf(
			c->scratch, "%s of them at %s/s", assay_fmt_bytes(bytes, s.bytes[most]),
			assay_fmt_bytes(rate, (uint64_t)((double)s.bytes[most] * 1e9 /
							 (double)s.time[most])));
	if (s.pageable * 2 > s.time[most])
		f.fact[f.fact[1] ? 2 : 1] = "most of that is pageable memory";
	assay_finding_add(c, &f);
}

/* ------------------------------------------------------------------ communication */

static void add_comm(const assay_run *run, const assay_find_ctx *c)
{
	char count[ASSAY_FMT];
	assay_found f = {.id = "exposed_comm",
			 .total = c->w->comm,
			 .what_if = "communication=0",
			 .follows = "straggler",
			 .confidence = 0.7};
	f.fix = run->part.t.rank.n > 1
			? "overlap it with compute (bucket sizes, earlier all-reduce, prefetch of "
			  "all-gathers); look for a late rank"
			: "look at all ranks together: waiting for a late one looks the same from "
			  "here; overlap it with compute (bucket sizes, earlier all-reduce, "
			  "prefetch of all-gathers)";
	f.text = assay_printf(c->scratch, "communication that nothing hides takes %s",
			      assay_share_words(c, c->w->comm));
	f.fact[0] = assay_printf(c->scratch, "communication kernels on the device: %s",
				 assay_fmt_count(count, c->w->events[ASSAY_CLASS_COMM]));
	assay_finding_add(c, &f);
}

static void find_busy(assay_run *run, const assay_find_ctx *c)
{
	double least = assay_worth_saying * (double)c->whole;
	if (c->w->device == ASSAY_NO_ROW || c->whole <= 0)
		return;
	if ((double)c->w->comm >= least)
		add_comm(run, c);
	if ((double)c->w->copy >= least && c->order)
		add_copies(run, c);
}

const assay_finder assay_find_busy = {"busy", find_busy};

/* ------------------------------------------------------------------ uneven kernels */

/* Kernels of one name and one shape take about the same time, unless something takes the device
 * away: another process, or clocks that fall. */
enum { ENOUGH_RUNS = 16 };
static const double slow_times = 2.0; /* of the median: slower ones count */

struct shape {
	uint32_t kernel_name;
	uint64_t grid;
	uint32_t gpu;
	int64_t dur;
};

static int by_shape(const void *a, const void *b)
{
	const struct shape *x = a, *y = b;
	if (x->kernel_name != y->kernel_name)
		return x->kernel_name < y->kernel_name ? -1 : 1;
	if (x->grid != y->grid)
		return x->grid < y->grid ? -1 : 1;
	return x->dur < y->dur ? -1 : x->dur > y->dur;
}

/* Time beyond the median of those that took more than twice as long. */
static int64_t excess_of(const struct shape *s, size_t n, uint64_t *slow)
{
	int64_t usual = s[n / 2].dur, excess = 0;
	for (size_t i = n / 2; i < n; i++)
		if ((double)s[i].dur > slow_times * (double)usual) {
			excess += s[i].dur - usual;
			++*slow;
		}
	return excess;
}

static size_t collect_shapes(const assay_run *run, const assay_find_ctx *c, struct shape *out)
{
	const assay_gpu_table *g = &run->part.t.gpu;
	const assay_order_device *d = &c->order->device.p[c->w->device];
	size_t n = 0;
	for (size_t i = d->first; i < d->first + d->n; i++) {
		uint32_t r = c->order->row[i];
		if (c->order->classes[i] != ASSAY_CLASS_COMPUTE || !g->grid_x[r] ||
		    g->dur[r] <= 0 || g->ts[r] < c->w->from || g->ts[r] >= c->w->to)
			continue;
		uint64_t grid = (uint64_t)g->grid_x[r] << 32 ^ (uint64_t)g->grid_y[r] << 16 ^
				g->grid_z[r] ^ (uint64_t)g->block_x[r] << 48;
		out[n++] = (struct shape){g->name[r], grid, r, g->dur[r]};
	}
	qsort(out, n, sizeof *out, by_shape);
	return n;
}

static void find_uneven(assay_run *run, const assay_find_ctx *c)
{
	if (c->w->device == ASSAY_NO_ROW || c->whole <= 0 || !c->order)
		return;
	struct shape *s =
		assay_alloc(c->scratch, (c->order->device.p[c->w->device].n + 1) * sizeof *s);
	size_t n = collect_shapes(run, c, s), worst = 0;
	int64_t excess = 0, most = 0;
	uint64_t slow = 0, kinds = 0;
	for (size_t i = 0, k; i < n; i = k) {
		for (k = i;
		     k < n && s[k].kernel_name == s[i].kernel_name && s[k].grid == s[i].grid;)
			k++;
		int64_t e = k - i >= ENOUGH_RUNS ? excess_of(s + i, k - i, &slow) : 0;
		excess += e;
		kinds += e > 0;
		if (e > most) {
			most = e;
			worst = k - 1;
		}
	}
	/* one kernel alone works on data that differs; a device taken away slows all of them */
	if ((double)excess < 0.05 * (double)c->whole || kinds < 3)
		return;
	char usual[ASSAY_FMT], longest[ASSAY_FMT], count[ASSAY_FMT];
	assay_str name = assay_text(run, s[worst].kernel_name);
	size_t first = worst;
	while (first && s[first - 1].kernel_name == s[worst].kernel_name &&
	       s[first - 1].grid == s[worst].grid)
		first--;
	assay_found f = {.id = "contention",
			 .total = excess,
			 .confidence = 0.6,
			 .fix = "look for another process on the GPU (nvidia-smi, amd-smi), and "
				"for clocks that fall under power or heat: record with telemetry"};
	f.where.kernel = assay_fmt_kernel(c->scratch, name, 120);
	f.text = assay_printf(c->scratch,
			      "kernels of the same name and shape are much slower at times: %s "
			      "more than the usual",
			      assay_share_words(c, excess));
	f.fact[0] = assay_printf(c->scratch,
				 "%s kernels of %llu kinds took more than twice their median",
				 assay_fmt_count(count, slow), (unsigned long long)kinds);
	f.fact[1] = assay_printf(c->scratch, "%s usually takes %s, at most %s",
				 assay_fmt_kernel(c->scratch, name, 60),
				 assay_fmt_time(usual, s[first + (worst - first) / 2].dur),
				 assay_fmt_time(longest, s[worst].dur));
	assay_finding_add(c, &f);
}

const assay_finder assay_find_uneven = {"uneven", find_uneven};
