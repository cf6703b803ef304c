/* Why the device waits, cause by cause. */
#include "analyze/idle_where.h"
#include "base/fmt.h"
#include "base/sort.h"
#include "find/idle_sync.h"
#include "find/idle_tell.h"
#include "names/words.h"

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

/* What loads data, by the name with most of the time. */
static assay_idle_name loader_of(const assay_run *run, const assay_window *w)
{
	const assay_host_table *h = &run->part.t.host;
	assay_idle_tally tally = {.best = {0}};
	for (uint32_t i = 0; i < h->n; i++) {
		assay_str name = assay_text(run, h->name[i]);
		assay_word word = h->kind[i] == ASSAY_HOST_PYTHON ? assay_word_of_frame(name)
								  : assay_word_of(name);
		if (word == ASSAY_WORD_DATA && h->ts[i] >= w->from && h->ts[i] < w->to)
			assay_idle_tally_add(&tally, h->name[i],
					     (assay_idle_name){h->name[i], i, h->dur[i]});
	}
	return assay_idle_tally_end(&tally);
}

/* A loader that works while queued work still runs shows in no gap, and what the host does behind
 * it does in its place: a replay knows what it is worth. */
static bool add_hidden_loader(const assay_run *run, const assay_find_ctx *c,
			      const assay_idle_cost *cost)
{
	const double much = 0.05;
	assay_found worth = {.saved = 0};
	if (!c->steps || run->part.t.sample.n || cost->steady[ASSAY_WHY_HOST_DATA] ||
	    !assay_idle_weigh_data(c, &worth) || (double)worth.saved < much * (double)c->whole ||
	    worth.saved < 2 * cost->total[ASSAY_WHY_HOST_DATA])
		return false;
	assay_idle_name loader = loader_of(run, c->w);
	assay_found f = {.id = assay_why_name[ASSAY_WHY_HOST_DATA],
			 .where = assay_idle_where(run, c->scratch, &loader),
			 .total = worth.saved,
			 .saved = worth.saved,
			 .least = worth.least,
			 .most = worth.most,
			 .replayed = true,
			 .confidence = assay_why_rows[ASSAY_WHY_HOST_DATA].certainty,
			 .fix = assay_why_advice(ASSAY_WHY_HOST_DATA, c->framework, c->vendor)};
	f.text = assay_printf(c->scratch, "loading data takes %s", assay_share_words(c, f.total));
	f.fact[0] = "partly while queued work still runs: what the host does behind it is late";
	assay_finding_add(c, &f);
	return true;
}

static void find_idle(const assay_run *run, const assay_find_ctx *c)
{
	assay_idle_cost cost;
	assay_idle_named all[ASSAY_WHY_COUNT];
	size_t n = 0;
	if (c->w->device == ASSAY_NO_ROW || c->whole <= 0)
		return;
	assay_idle_measure(run, c, &cost);
	cost.total[ASSAY_WHY_LAUNCH_LATENCY] -= c->w->suspicious;
	bool drained = assay_idle_weigh_drained(c, &cost);
	bool loads = add_hidden_loader(run, c, &cost);
	for (assay_why cause = 0; cause < ASSAY_WHY_COUNT; cause++) {
		bool sync = cause == ASSAY_WHY_HOST_SYNC;
		if (cause == ASSAY_WHY_HOST_DATA && loads)
			continue;
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
