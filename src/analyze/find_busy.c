/* Communication and copies that nothing hides. */
#include "analyze/finding.h"
#include "analyze/own_frames.h"
#include "base/fmt.h"
#include "names/copies.h"

/* ------------------------------------------------------------------ copies */

/* Of copies between host and device where the host's memory is pinned already. */
static const char *const pinned_fix[ASSAY_COPY_WAYS] = {
	[ASSAY_COPY_TO_DEVICE] =
		"the memory is pinned already: copy a batch ahead on a stream of its own, copy less (smaller types, what stays the same once), or keep it on the device",
	[ASSAY_COPY_TO_HOST] =
		"the memory is pinned already: copy less back, or read it a step later",
};

static const struct {
	const char *what, *fix;
} copy_words[ASSAY_COPY_WAYS] = {
	[ASSAY_COPY_TO_DEVICE] =
		{"to the device",
		 "pinned memory and non_blocking copies on a stream of their own, a batch ahead"},
	[ASSAY_COPY_TO_HOST] = {"to the host",
				"copy less back, or into pinned memory and read it a step later"},
	[ASSAY_COPY_ON_DEVICE] =
		{"within the device",
		 "avoid the copy: write in place, keep layouts (contiguous, channels_last), gradients as views of their buckets (gradient_as_bucket_view), fuse it into its neighbours"},
	[ASSAY_COPY_ON_HOST] = {"within the host", "copy on the host itself, or not at all"},
	[ASSAY_COPY_BETWEEN] = {"between devices",
				"overlap it with compute on a stream of its own"},
	[ASSAY_COPY_ELSEWHERE] =
		{"",
		 "pinned memory and non_blocking copies on a stream of their own; fewer copies within the device"},
};

struct copies {
	int64_t time[ASSAY_COPY_WAYS], pinned[ASSAY_COPY_WAYS], pageable;
	uint64_t count[ASSAY_COPY_WAYS], bytes[ASSAY_COPY_WAYS];
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
		assay_copy_way k = assay_copy_way_of(name);
		s.time[k] += g->dur[r] > 0 ? g->dur[r] : 0;
		s.count[k]++;
		s.bytes[k] += g->bytes[r] > 0 ? (uint64_t)g->bytes[r] : 0;
		s.pinned[k] += assay_str_find(name, "Pinned") >= 0 ? g->dur[r] : 0;
		s.pageable += assay_str_find(name, "Pageable") >= 0 ? g->dur[r] : 0;
	}
	return s;
}

/* A row of kernel, and the line that asks for it. */
static assay_where kernel_where(const assay_run *run, const assay_find_ctx *c, uint32_t kernel)
{
	const assay_tables *t = &run->part.t;
	if (kernel == ASSAY_NO_ROW)
		return (assay_where){0};
	assay_str name = assay_text(run, t->kernel.name[kernel]);
	assay_where where = {.kernel = assay_fmt_kernel(c->scratch, name, 120)};
	if (t->kernel.line[kernel] != ASSAY_NO_ROW) {
		assay_where_in_stack(run, t->kernel_line.stack[t->kernel.line[kernel]], &where);
		return where;
	}
	for (uint32_t g = 0; c->frames && g < t->gpu.n; g++)
		if (t->gpu.name[g] == t->kernel.name[kernel] && t->gpu.ts[g] >= c->w->from &&
		    assay_own_line_of_work(run, c, g, &where))
			break;
	return where;
}

/* The copies of this direction that take most. */
static uint32_t longest_copies(const assay_run *run, int direction)
{
	const assay_kernel_table *k = &run->part.t.kernel;
	uint32_t best = ASSAY_NO_ROW;
	for (uint32_t i = 0; i < k->n; i++)
		if (k->kind[i] == ASSAY_GPU_MEMCPY &&
		    (int)assay_copy_way_of(assay_text(run, k->name[i])) == direction &&
		    (best == ASSAY_NO_ROW || k->total[i] > k->total[best]))
			best = i;
	return best;
}

static uint32_t longest_collective(const assay_run *run)
{
	const assay_kernel_table *k = &run->part.t.kernel;
	uint32_t best = ASSAY_NO_ROW;
	for (uint32_t i = 0; i < k->n; i++)
		if (k->class[i] == ASSAY_CLASS_COMM &&
		    (best == ASSAY_NO_ROW || k->total[i] > k->total[best]))
			best = i;
	return best;
}

/* ns of copies that go with the kernels around them. */
static int64_t copies_sold(const assay_run *run)
{
	const assay_lone_kernel_table *l = &run->part.t.lone_kernel;
	int64_t sum = 0;
	for (uint32_t i = 0; i < l->n; i++)
		if (run->part.t.gpu.kind[l->gpu[i]] == ASSAY_GPU_MEMCPY)
			sum += l->needless[i];
	return sum;
}

static void add_copies(const assay_run *run, const assay_find_ctx *c, int64_t total)
{
	struct copies s = sum_copies(run, c);
	int most = 0;
	char count[ASSAY_FMT], bytes[ASSAY_FMT], rate[ASSAY_FMT];
	for (int k = 1; k < ASSAY_COPY_WAYS; k++)
		most = s.time[k] > s.time[most] ? k : most;
	assay_found f = {.id = "exposed_copy",
			 .total = total,
			 .fix = pinned_fix[most] && s.pinned[most] * 2 > s.time[most]
					? pinned_fix[most]
					: copy_words[most].fix,
			 .where = kernel_where(run, c, longest_copies(run, most)),
			 .what_if = "copy=0",
			 .capped = total < c->w->copy,
			 .confidence = 0.8};
	f.text = assay_printf(c->scratch, "copies%s%s that nothing hides take %s",
			      *copy_words[most].what ? " " : "", copy_words[most].what,
			      assay_share_words(c, total));
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
			 .where = kernel_where(run, c, longest_collective(run)),
			 .follows = "straggler",
			 .confidence = 0.7};
	f.fix = run->part.t.rank.n > 1
			? "overlap it with compute (bucket sizes, earlier all-reduce, prefetch of all-gathers); look for a late rank"
			: "look at all ranks together: waiting for a late one looks the same from here; overlap it with compute (bucket sizes, earlier all-reduce, prefetch of all-gathers)";
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
	int64_t copies = c->w->copy - copies_sold(run);
	if ((double)copies >= least && c->order)
		add_copies(run, c, copies);
}

const assay_finder assay_find_busy = {"busy", find_busy};
