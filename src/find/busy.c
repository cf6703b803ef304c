/* Communication and copies that nothing hides. */
#include "base/fmt.h"
#include "base/test.h"
#include "find/finding.h"
#include "find/own_frames.h"
#include "names/copies.h"

/* ------------------------------------------------------------------ copies */

/* Of copies between host and device where the host's memory is pinned already. */
static const char *const pinned_fix[ASSAY_COPY_WAYS] = {
	[ASSAY_COPY_TO_DEVICE] =
		"the memory is pinned already: copy a batch ahead on a stream of its own, copy less (smaller types, what stays the same once), or keep it on the device",
	[ASSAY_COPY_TO_HOST] =
		"the memory is pinned already: copy less back, or read it a step later",
};

static const char apart_fix[] =
	"the copies have a stream of their own, but no work runs beside them: copy the next batch there during the step, and wait for the one that is needed only";

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

/* Is there work to hide most of it behind, and does it run on streams that have hardly any
 * kernels? */
static bool is_apart(const assay_run *run, const assay_find_ctx *c, int way)
{
	const assay_gpu_table *g = &run->part.t.gpu;
	const assay_order_device *d = &c->order->device.p[c->w->device];
	size_t tracks = run->part.t.track.n;
	int64_t *copied = assay_alloc(c->scratch, 2 * (tracks + 1) * sizeof *copied),
		*computed = copied + tracks + 1, all = 0, apart = 0;
	for (size_t i = d->first; i < d->first + d->n; i++) {
		uint32_t r = c->order->row[i];
		if (g->ts[r] < c->w->from || g->ts[r] >= c->w->to || g->dur[r] <= 0)
			continue;
		if (c->order->classes[i] != ASSAY_CLASS_COPY)
			computed[g->track[r]] += g->dur[r];
		else if ((int)assay_copy_way_of(assay_text(run, g->name[r])) == way)
			copied[g->track[r]] += g->dur[r];
	}
	for (size_t k = 0; k < tracks; k++) {
		all += copied[k];
		apart += computed[k] * 20 < copied[k] ? copied[k] : 0;
	}
	return apart * 2 > all && all < c->whole - c->whole / 8;
}

/* What must be copied takes its time, beside the work at best. */
static void bound_by_link(const assay_find_ctx *c, int64_t copies, assay_found *f)
{
	double share;
	if (!assay_find_without(c, f->what_if, &share))
		return;
	int64_t gone = (int64_t)(share * (double)c->whole), beside = c->whole - copies;
	if (gone <= beside || beside <= 0)
		return;
	f->saved = beside;
	f->most = gone;
	f->least = beside;
	f->replayed = true;
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

/* ns of copies that would go together with the kernels around them. */
static int64_t needless_copies(const assay_run *run)
{
	const assay_lone_kernel_table *l = &run->part.t.lone_kernel;
	int64_t sum = 0;
	for (uint32_t i = 0; i < l->n; i++)
		if (run->part.t.gpu.kind[l->gpu[i]] == ASSAY_GPU_MEMCPY)
			sum += l->needless[i];
	return sum;
}

static const char *words_for(assay_arena *a, const struct copies *s, int most)
{
	int64_t all = 0;
	for (int k = 0; k < ASSAY_COPY_WAYS; k++)
		all += s->time[k];
	const char *what = copy_words[most].what;
	return *what && s->time[most] * 10 < all * 9
		       ? assay_printf(a, "copies, mostly %s,", what)
		       : assay_printf(a, "copies%s%s", *what ? " " : "", what);
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
			 .capped = total < c->w->copy || most == ASSAY_COPY_ON_DEVICE,
			 .confidence = 0.8};
	if (most == ASSAY_COPY_TO_DEVICE && f.fix == pinned_fix[most]) {
		f.fix = is_apart(run, c, most) ? apart_fix : f.fix;
		bound_by_link(c, s.time[most], &f);
	}
	f.text = assay_printf(c->scratch, "%s that nothing hides take %s",
			      words_for(c->scratch, &s, most), assay_share_words(c, total));
	f.fact[0] = assay_printf(c->scratch, "%s copies%s%s", assay_fmt_count(count, s.count[most]),
				 *copy_words[most].what ? " " : "", copy_words[most].what);
	if (s.bytes[most] && s.time[most])
		f.fact[1] = assay_printf(
			c->scratch, "%s of them at %s/s", assay_fmt_bytes(bytes, s.bytes[most]),
			assay_fmt_bytes(rate, (double)s.bytes[most] * 1e9 / (double)s.time[most]));
	if (s.pageable * 2 > s.time[most])
		f.fact[f.fact[1] ? 2 : 1] = "most of that is pageable memory";
	assay_finding_add(c, &f);
}

/* ------------------------------------------------------------------ communication */

/* Collectives whose size is known, held against the links of a machine: what the wire needs of
 * their time. The rest of it is waiting for other ranks. */
struct wire {
	double time, needs; /* ns, of all calls */
	size_t most;        /* row of collective with most time */
};

/* A message takes so long however small it is, ns. */
static const double least_message = 30000;
static const double links_reached = 0.7; /* by large messages */
static const double slow_network =
	12.5e9; /* bytes a second and device: 100 Gb/s between machines */

static struct wire sum_wire(const assay_run *run, double links)
{
	const assay_collective_table *t = &run->part.t.collective;
	struct wire x = {0};
	double most = 0;
	for (size_t i = 0; i < t->n; i++) {
		double time = (double)t->count[i] * t->latency[i];
		double rate = t->bus_bw[i] * (1 << 30) / (links_reached * links);
		if (t->bus_bw[i] <= 0)
			continue;
		double needs = links > 0 && rate < 1 ? t->latency[i] * rate : t->latency[i];
		needs = needs > least_message ? needs : least_message;
		x.time += time;
		x.needs += needs < t->latency[i] ? needs * (double)t->count[i] : time;
		if (time > most) {
			most = time;
			x.most = i;
		}
	}
	return x;
}

static const char fix_wire[] =
	"overlap it with compute (bucket sizes, earlier all-reduce, prefetch of all-gathers)";
static const char fix_late[] =
	"look for a late rank: the time is spent waiting, not on the wire; then overlap it with compute (bucket sizes, earlier all-reduce)";
static const char fix_late_elsewhere[] =
	"record all ranks and look at them together: the time is spent waiting for one that is late, not on the wire; then overlap it with compute (bucket sizes, earlier all-reduce)";
static const char fix_unknown[] =
	"overlap it with compute (bucket sizes, earlier all-reduce, prefetch of all-gathers); look for a late rank";
static const char fix_unknown_elsewhere[] =
	"look at all ranks together: waiting for a late one looks the same from here; overlap it with compute (bucket sizes, earlier all-reduce, prefetch of all-gathers)";

/* By what the wire needs; links are those of one machine. */
static void tell_wire(const assay_run *run, const assay_find_ctx *c, assay_found *f)
{
	const assay_collective_table *t = &run->part.t.collective;
	const assay_roof_table *roof = &run->part.t.roof;
	double links = roof->n ? roof->links[0] : 0;
	struct wire x = sum_wire(run, links);
	bool many = run->part.t.rank.n > 1;
	char bytes[ASSAY_FMT], time[ASSAY_FMT], rate[ASSAY_FMT], gives[ASSAY_FMT];
	f->fix = many ? fix_unknown : fix_unknown_elsewhere;
	if (x.time <= 0)
		return;
	f->fact[1] = assay_printf(
		c->scratch, "%s of %s among %d ranks takes %s in the mean: %s/s on the bus",
		assay_z(run, t->name[x.most]), assay_fmt_bytes(bytes, (uint64_t)t->bytes[x.most]),
		t->size[x.most], assay_fmt_time(time, (int64_t)t->latency[x.most]),
		assay_fmt_bytes(rate, (uint64_t)(t->bus_bw[x.most] * (1 << 30))));
	if (links <= 0)
		return;
	f->fact[2] = assay_printf(
		c->scratch,
		"links within a machine give %s/s: %.0f%% of the time of all collectives is theirs, were all ranks on one",
		assay_fmt_bytes(gives, (uint64_t)links), 100 * x.needs / x.time);
	bool below_network = t->bus_bw[x.most] * (1 << 30) < links_reached * slow_network;
	if (x.needs > x.time / 2)
		f->fix = fix_wire;
	else if (x.needs < x.time / 4 && below_network)
		f->fix = many ? fix_late : fix_late_elsewhere;
}

static void add_comm(const assay_run *run, const assay_find_ctx *c)
{
	char count[ASSAY_FMT];
	assay_found f = {.id = "exposed_comm",
			 .total = c->w->comm,
			 .what_if = "communication=0",
			 .where = kernel_where(run, c, longest_collective(run)),
			 .follows = "straggler",
			 .confidence = 0.7};
	f.text = assay_printf(c->scratch, "communication that nothing hides takes %s",
			      assay_share_words(c, c->w->comm));
	f.fact[0] = assay_printf(c->scratch, "communication kernels on the device: %s",
				 assay_fmt_count(count, c->w->events[ASSAY_CLASS_COMM]));
	tell_wire(run, c, &f);
	assay_finding_add(c, &f);
}

static void find_busy(const assay_run *run, const assay_find_ctx *c)
{
	double least = assay_worth_saying * (double)c->whole;
	if (c->w->device == ASSAY_NO_ROW || c->whole <= 0)
		return;
	if ((double)c->w->comm >= least)
		add_comm(run, c);
	int64_t copies = c->w->copy - needless_copies(run);
	if ((double)copies >= least && c->order)
		add_copies(run, c, copies);
}

const assay_finder assay_find_busy = {.id = "busy", .find = find_busy};

TEST(time_of_collectives_beyond_what_the_wire_needs_is_waiting)
{
	assay_run *run = assay_run_new();
	assay_collective_table *t = &run->part.t.collective;
	uint32_t slow = assay_add(&run->part.t, ASSAY_T_collective),
		 small = assay_add(&run->part.t, ASSAY_T_collective),
		 unknown = assay_add(&run->part.t, ASSAY_T_collective);
	t->count[slow] = 10;
	t->latency[slow] = 1e6;
	t->bus_bw[slow] = 100e9 / (1 << 30);
	t->count[small] = 100;
	t->latency[small] = 20000; /* as short as they get */
	t->bus_bw[small] = 1e6 / (1 << 30);
	t->count[unknown] = 1000;
	t->latency[unknown] = 1e6;
	struct wire x = sum_wire(run, 1000e9);
	CHECK_EQ((int64_t)x.time, 12000000);
	CHECK_EQ((int64_t)(x.needs / 1000 + 0.5),
		 1429 + 2000); /* 100 of 700 GB/s, and all of the small */
	CHECK_EQ(x.most, slow);
	x = sum_wire(run, 0);
	CHECK(x.needs == x.time);
	assay_run_free(run);
	return 0;
}

TEST(copies_of_several_ways_are_told_by_the_largest)
{
	assay_arena a = {0};
	struct copies s = {.time = {[ASSAY_COPY_TO_HOST] = 10, [ASSAY_COPY_TO_DEVICE] = 90}};
	CHECK(!strcmp(words_for(&a, &s, ASSAY_COPY_TO_DEVICE), "copies to the device"));
	s.time[ASSAY_COPY_TO_HOST] = 11;
	CHECK(!strcmp(words_for(&a, &s, ASSAY_COPY_TO_DEVICE), "copies, mostly to the device,"));
	assay_arena_free(&a);
	return 0;
}
