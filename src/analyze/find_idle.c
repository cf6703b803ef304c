/* Why the device waits, cause by cause. */
#include "analyze/idle_sync.h"
#include "analyze/idle_tell.h"
#include "base/fmt.h"
#include "base/sort.h"

/* Did the device do next to nothing in the recording before most of the time in which submitted
 * work did not start? Then it may well have been at work of which the recording knows nothing. */
static bool is_from_before(const assay_run *run, const assay_find_ctx *c)
{
	enum { NEXT_TO_NOTHING = 16 }; /* pieces of work */
	const assay_window *w = c->w;
	uint32_t gap = w->longest[ASSAY_WHY_LAUNCH_LATENCY];
	bool lead = w->lead[ASSAY_WHY_LAUNCH_LATENCY] * 2 > w->suspicious;
	bool whole = gap != ASSAY_NO_ROW &&
		     w->longest_part[ASSAY_WHY_LAUNCH_LATENCY] * 2 > w->suspicious;
	if (!c->order || (!lead && !whole))
		return false;
	const assay_order_device *d = &c->order->device.p[w->device];
	int64_t at = lead ? w->from : run->part.t.gap.ts[gap];
	return assay_rows_until(c->order->row + d->first, d->n, run->part.t.gpu.ts, at) <
	       NEXT_TO_NOTHING;
}

/* Work whose launch was back for a millisecond and more without beginning. */
static void add_not_started(const assay_run *run, const assay_find_ctx *c)
{
	const assay_tables *t = &run->part.t;
	uint32_t gap = c->w->longest[ASSAY_WHY_LAUNCH_LATENCY];
	char longest[ASSAY_FMT];
	bool before = is_from_before(run, c);
	assay_found f = {
		.id = "not_started",
		.cause = assay_why_name[ASSAY_WHY_LAUNCH_LATENCY],
		.total = c->w->suspicious,
		.least = before ? ASSAY_WORTH_UNKNOWN : 0, /* nothing, if it is the step before */
		.confidence = 0.5,
		.follows = "contention",
		.fix = before ? "begin to record a step earlier: the step before may still run, and is then no trouble; if it does not, look for another process on the GPU"
			      : "look for another process on the GPU, for work queued before the recording began, and for a device that was asleep: record from the start, with telemetry"};
	f.text = assay_printf(
		c->scratch,
		before ? "what was submitted first does not start for %s: the GPU is at work from before the recording, it seems"
		       : "submitted work does not start for %s although the GPU is idle",
		assay_share_words(c, f.total));
	f.has_gap = gap != ASSAY_NO_ROW;
	f.gap = gap;
	if (f.has_gap)
		f.fact[0] = assay_printf(
			c->scratch, "the longest lasts %s, before %s",
			assay_fmt_time(longest, c->w->longest_part[ASSAY_WHY_LAUNCH_LATENCY]),
			assay_fmt_kernel(c->scratch, assay_text(run, t->gpu.name[t->gap.gpu[gap]]),
					 60));
	assay_finding_add(c, &f);
}

static void find_idle(assay_run *run, const assay_find_ctx *c)
{
	assay_idle_cost cost;
	assay_idle_named all[ASSAY_WHY_COUNT];
	size_t n = 0;
	if (c->w->device == ASSAY_NO_ROW || c->whole <= 0)
		return;
	assay_idle_measure(run, c, &cost);
	cost.total[ASSAY_WHY_LAUNCH_LATENCY] -= c->w->suspicious;
	bool drained = assay_idle_weigh_drained(c, &cost);
	for (assay_why cause = 0; cause < ASSAY_WHY_COUNT; cause++) {
		bool sync = cause == ASSAY_WHY_HOST_SYNC;
		if (assay_idle_is_worth_saying(c, &cost, cause) ||
		    (sync && assay_idle_reads_back_much(run, c, &cost)))
			all[n++] = assay_idle_tell(run, c, &cost, cause, sync && drained);
	}
	assay_idle_gather(run, c, all, n);
	for (size_t i = 0; i < n; i++)
		assay_finding_add(c, &all[i].found);
	if ((double)c->w->suspicious >= assay_idle_least(c))
		add_not_started(run, c);
}

const assay_finder assay_find_idle = {.id = "idle", .find = find_idle};
