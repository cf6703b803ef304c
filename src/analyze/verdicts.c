/* What to change first. A verdict is a measured share of the step with its evidence; when the
 * recording cannot support one, it says what to record instead. */
#include "analyze/analyze.h"

#include <stdlib.h>

#include "analyze/advice.h"
#include "base/fmt.h"
#include "base/test.h"
#include "names/words.h"

enum { MOST = 5 };
static const double worth_saying = 0.01; /* share of the window */

struct rule {
	const char *phrase, *advice;
	double certainty;
};

/* Unrecorded time under a range that is a collective of a host backend is known after all. */
static const struct rule host_collective = {
	"while a collective runs on the host",
	"use the GPU's own backend (nccl, rccl); look for the rank that comes late", 0.8};

static bool is_host_collective(assay_str name)
{
	return assay_word_of(name) == ASSAY_WORD_HOST_COMM;
}

struct item {
	int64_t total;
	int cause; /* or COMM, COPY */
};
enum { COMM = ASSAY_WHY_COUNT, COPY, ITEMS };

static int by_total(const void *a, const void *b)
{
	const struct item *x = a, *y = b;
	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	return x->cause - y->cause;
}

static bool in_window(const assay_gap_table *g, const assay_window *w, size_t gap)
{
	return g->device[gap] == w->device && g->ts[gap] >= w->from &&
	       g->ts[gap] + g->dur[gap] <= w->to;
}

struct name_time {
	assay_sid name;
	int64_t time;
};

/* The host name that stands in most of the cause's time: over gaps that are mostly of that cause.
 */
static struct name_time main_name(const assay_run *run, const assay_window *w, int cause)
{
	const assay_gap_table *g = &run->part.t.gap;
	assay_map known = {0};
	assay_vec(struct name_time) sum = {0};
	struct name_time best = {0};
	for (size_t i = 0; i < g->n; i++) {
		if (g->cause[i] != cause || g->during[i] == ASSAY_NO_ROW || !in_window(g, w, i))
			continue;
		assay_sid name = run->part.t.host.name[g->during[i]];
		uint32_t *slot = assay_map_at(&known, name);
		if (*slot == ASSAY_MAP_ABSENT) {
			*slot = (uint32_t)sum.n;
			*assay_push(&sum) = (struct name_time){.name = name};
		}
		sum.p[*slot].time += g->dur[i];
		if (sum.p[*slot].time > best.time)
			best = sum.p[*slot];
	}
	assay_vec_free(&sum);
	assay_map_free(&known);
	return best;
}

static const char *share_of_step(const assay_window *w, assay_arena *a, int64_t total)
{
	char part[ASSAY_FMT], whole[ASSAY_FMT];
	int64_t steps = w->steps ? (int64_t)w->steps : 1;
	return assay_printf(a, "%s of %s%s", assay_fmt_time(part, total / steps),
			    w->steps ? "every " : "the ",
			    assay_printf(a, w->steps ? "%s step" : "%s recording",
					 assay_fmt_time(whole, (w->to - w->from) / steps)));
}

static uint32_t add_verdict(assay_run *run, const char *id, const char *text, const char *advice,
			    const char *evidence)
{
	assay_verdict_table *v = &run->part.t.verdict;
	uint32_t r = assay_add(&run->part.t, ASSAY_T_verdict);
	v->id[r] = assay_sid_of(run, id);
	v->text[r] = assay_sid_of(run, text);
	v->advice[r] = assay_sid_of(run, advice);
	v->evidence[r] = assay_sid_of(run, evidence);
	v->seconds[r] = -1;
	return r;
}

static void set_size(assay_run *run, uint32_t r, const assay_window *w, int64_t total,
		     double confidence)
{
	assay_verdict_table *v = &run->part.t.verdict;
	v->seconds[r] = (double)total * 1e-9 / (double)(w->steps ? w->steps : 1);
	v->share[r] = (double)total / (double)(w->to - w->from);
	v->confidence[r] = confidence;
}

static void add_idle_verdict(assay_run *run, const assay_window *w, const struct item *item,
			     assay_arena *a)
{
	const assay_tables *t = &run->part.t;
	struct name_time in = main_name(run, w, item->cause);
	const assay_why_row *cause = &assay_why_rows[item->cause];
	struct rule rule = {
		cause->phrase,
		assay_why_advice((assay_why)item->cause, ASSAY_FRAMEWORK_ANY, ASSAY_VENDOR_UNKNOWN),
		cause->certainty};
	if (item->cause == ASSAY_WHY_HOST_UNTRACED && is_host_collective(assay_text(run, in.name)))
		rule = host_collective;
	char count[ASSAY_FMT], longest[ASSAY_FMT], time[ASSAY_FMT];
	uint32_t gap = w->longest[item->cause];
	int64_t unexplained = w->cause[ASSAY_WHY_UNLINKED] + w->suspicious;
	const char *text = assay_printf(a, "the GPU waits %s %s", share_of_step(w, a, item->total),
					rule.phrase);
	const char *evidence = assay_printf(
		a, "%s gap%s, the longest %s before %s",
		assay_fmt_count(count, w->gaps[item->cause]), w->gaps[item->cause] == 1 ? "" : "s",
		assay_fmt_time(longest, w->longest_part[item->cause]),
		assay_fmt_kernel(a, assay_text(run, t->gpu.name[t->gap.gpu[gap]]), 60));
	if (in.name)
		evidence = assay_printf(a, "%s; mostly in %s (%s)", evidence,
					assay_fmt_safe(a, assay_text(run, in.name)),
					assay_fmt_time(time, in.time));
	uint32_t r = add_verdict(run, assay_why_name[item->cause], text, rule.advice, evidence);
	run->part.t.verdict.gap[r] = gap;
	set_size(run, r, w, item->total,
		 rule.certainty * (1 - (double)unexplained / (double)w->idle));
}

static void add_busy_verdict(assay_run *run, const assay_window *w, const struct item *item,
			     assay_arena *a)
{
	bool comm = item->cause == COMM;
	char count[ASSAY_FMT];
	const char *text = assay_printf(a,
					comm ? "communication that nothing hides takes %s"
					     : "copies that nothing hides take %s",
					share_of_step(w, a, item->total));
	uint32_t r = add_verdict(
		run, comm ? "exposed_comm" : "exposed_copy", text,
		comm ? "overlap it with compute (bucket sizes, earlier all-reduce, prefetch of "
		       "all-gathers); look for a late rank"
		     : "pinned memory and non_blocking copies on a stream of their own",
		assay_printf(
			a, "%s on the device: %s", comm ? "communication kernels" : "copies",
			assay_fmt_count(count,
					w->events[comm ? ASSAY_CLASS_COMM : ASSAY_CLASS_COPY])));
	set_size(run, r, w, item->total, comm ? 0.7 : 0.8);
}

enum { FEW_COLLECTIVES = 3 };
static const double often = 0.6; /* share of collectives in which one rank comes last */

/* What a late rank does longer, and what to try. */
static const struct {
	const char *does, *advice;
} late_words[ASSAY_LATE_COUNT] = {
	[ASSAY_LATE_COMPUTE] = {"its device computes",
				"unequal work, or a slower device: clocks, power limit, heat, "
				"another process on it"},
	[ASSAY_LATE_DATA] = {"its device waits for input data",
			     "its input pipeline: storage, loader workers, unequal shards"},
	[ASSAY_LATE_HOST] = {"its host keeps the device waiting",
			     "its host: other processes, processor frequency, placement on the "
			     "sockets, garbage collection"},
	[ASSAY_LATE_COPY] = {"its device is busy with copies",
			     "its copies: pinned memory, placement on the bus"},
};

static const char *late_words_of(const assay_rank_table *r, size_t i, assay_arena *a)
{
	char time[ASSAY_FMT];
	if (!late_words[r->why[i]].does)
		return "nothing that it does takes that much longer than on the median rank";
	return assay_printf(a, "%s %s longer than the median rank's", late_words[r->why[i]].does,
			    assay_fmt_time(time, r->excess[i]));
}

/* One rank that comes last again and again, or that most of all waiting is for, holds up all
 * others. */
static void add_straggler(assay_run *run, const assay_window *w, assay_arena *a)
{
	const assay_rank_table *r = &run->part.t.rank;
	double caused = 0;
	for (size_t i = 0; i < r->n; i++)
		caused += (double)r->caused[i];
	for (size_t i = 0; r->n > 1 && i < r->n; i++) {
		double share = r->matched[i] ? (double)r->last[i] / (double)r->matched[i] : 0;
		double blame = caused > 0 ? (double)r->caused[i] / caused : 0;
		int64_t each = r->caused[i] / (int64_t)(r->n - 1); /* other rank */
		if (r->matched[i] < FEW_COLLECTIVES || (share < often && blame < often) ||
		    (double)each < worth_saying * (double)(w->to - w->from))
			continue;
		int64_t lost = r->lost[i];
		const char *on = assay_z(run, r->host[i]);
		const char *advice = late_words[r->why[i]].advice;
		uint32_t v = add_verdict(
			run, "straggler",
			assay_printf(a, "the other ranks wait %s for rank %d%s%s%s",
				     share_of_step(w, a, each), r->rank[i], *on ? " on " : "", on,
				     lost < each ? assay_printf(a, "; %s is not hidden by compute",
								share_of_step(w, a, lost))
						 : ""),
			advice ? advice
			       : "look at what that rank does before its collectives: data, host, "
				 "clocks, unequal work",
			assay_printf(a,
				     "it comes last in %.0f%% of %llu collectives and causes "
				     "%.0f%% of all waiting for ranks; %s",
				     100 * share, (unsigned long long)r->matched[i], 100 * blame,
				     late_words_of(r, i, a)));
		double sure = share > blame ? share : blame;
		set_size(run, v, w, lost, 0.5 + sure / 2 * 0.8);
	}
}

/* What a better recording would tell. */
static void add_records(assay_run *run, const assay_window *w, assay_arena *a)
{
	double whole = (double)(w->to - w->from);
	int64_t unexplained = w->cause[ASSAY_WHY_UNLINKED] + w->suspicious;
	if ((double)unexplained > 0.05 * whole)
		add_verdict(run, "record_launches",
			    assay_printf(a, "%s the GPU is idle for a reason that was not recorded",
					 share_of_step(w, a, unexplained)),
			    "record host activity with the GPU's, and start before the work is "
			    "queued (activities CPU and CUDA; rocprofv3 --hip-trace)",
			    "gaps that end with work whose launch is not in the recording");
	struct name_time in = main_name(run, w, ASSAY_WHY_HOST_UNTRACED);
	if ((double)w->cause[ASSAY_WHY_HOST_UNTRACED] > 0.05 * whole &&
	    !is_host_collective(assay_text(run, in.name)))
		add_verdict(run, "record_stacks",
			    "part of the host's time has no name in this recording",
			    "record with stacks (with_stack=True) or ranges (NVTX, roctx)",
			    "gaps in which the launching thread shows nothing");
	if (!w->steps)
		add_verdict(run, "record_steps", "the recording marks no steps",
			    "call profiler.step(), put a range around each step, or give --steps N",
			    "no step markers, and kernels do not repeat");
}

static void add_compute_verdict(assay_run *run, const assay_window *w, const assay_advice *v,
				assay_arena *a)
{
	const assay_op_shape_table *s = &run->part.t.op_shape;
	char count[ASSAY_FMT];
	const char *text = assay_printf(a, "%s %s", v->what, share_of_step(w, a, v->total));
	const char *evidence =
		assay_printf(a, "%s calls, most of it in %s %s", assay_fmt_count(count, v->calls),
			     assay_fmt_safe(a, assay_text(run, s->name[v->shape])),
			     assay_fmt_safe(a, assay_text(run, s->dims[v->shape])));
	set_size(run, add_verdict(run, v->id, text, v->fix, evidence), w, v->total, v->confidence);
}

static void add_items(assay_run *run, const assay_window *w, assay_arena *a)
{
	assay_advices advice = {0};
	assay_advices_find(&advice, run, w);
	size_t n = ITEMS + advice.n;
	struct item *item = assay_alloc(a, n * sizeof *item);
	for (int c = 0; c < ASSAY_WHY_COUNT; c++)
		item[c] = (struct item){w->cause[c], c};
	item[ASSAY_WHY_LAUNCH_LATENCY].total -= w->suspicious;
	item[ASSAY_WHY_UNLINKED].total = 0; /* nothing to advise about */
	item[COMM] = (struct item){w->comm, COMM};
	item[COPY] = (struct item){w->copy, COPY};
	for (size_t i = 0; i < advice.n; i++)
		item[ITEMS + i] = (struct item){advice.p[i].total, (int)(ITEMS + i)};
	qsort(item, n, sizeof *item, by_total);
	for (size_t i = 0; i < MOST && i < n; i++) {
		if ((double)item[i].total < worth_saying * (double)(w->to - w->from))
			break;
		if (item[i].cause >= ITEMS)
			add_compute_verdict(run, w, &advice.p[item[i].cause - ITEMS], a);
		else if (item[i].cause < ASSAY_WHY_COUNT)
			add_idle_verdict(run, w, &item[i], a);
		else
			add_busy_verdict(run, w, &item[i], a);
	}
	assay_vec_free(&advice);
}

void assay_verdicts(assay_run *run, const assay_window *w)
{
	assay_arena a = {0};
	if (w->device == ASSAY_NO_ROW) {
		add_verdict(run, "record_gpu",
			    "the input holds no GPU work, so nothing can be said",
			    "record GPU activity (activities CUDA; rocprofv3 --kernel-trace; assay "
			    "record)",
			    "no kernels, copies or memsets");
		return;
	}
	if (w->to > w->from) {
		add_items(run, w, &a);
		add_straggler(run, w, &a);
	}
	if (!run->part.t.verdict.n && w->to > w->from) {
		uint32_t r = add_verdict(
			run, "nothing_large",
			"no wait, exposed communication or copy takes 1% of the time",
			"look at the kernels themselves", "the split of the main device's time");
		run->part.t.verdict.confidence[r] =
			(double)(w->to - w->from - w->idle) / (double)(w->to - w->from);
	}
	add_records(run, w, &a);
	assay_arena_free(&a);
}

static assay_window test_window(assay_run *run)
{
	assay_tables *t = &run->part.t;
	uint32_t gpu = assay_add(t, ASSAY_T_gpu), gap = assay_add(t, ASSAY_T_gap);
	t->gpu.name[gpu] = assay_sid_of(run, "gemm");
	t->gap.gpu[gap] = gpu;
	t->gap.dur[gap] = 2000000;
	assay_window w = {.to = 10000000, .steps = 2, .compute = 6000000, .idle = 4000000};
	for (int c = 0; c < ASSAY_WHY_COUNT; c++)
		w.longest[c] = gap;
	return w;
}

TEST(the_largest_wait_comes_first_with_its_size_and_advice)
{
	assay_run *run = assay_run_new();
	assay_window w = test_window(run);
	w.cause[ASSAY_WHY_HOST_OP] = 1000000, w.gaps[ASSAY_WHY_HOST_OP] = 9;
	w.cause[ASSAY_WHY_HOST_DATA] = 2950000, w.gaps[ASSAY_WHY_HOST_DATA] = 2;
	w.cause[ASSAY_WHY_QUEUED] = 50000, w.gaps[ASSAY_WHY_QUEUED] = 50; /* below 1% */
	assay_verdicts(run, &w);
	const assay_verdict_table *v = &run->part.t.verdict;
	CHECK_EQ(v->n, 2);
	CHECK(!strcmp(assay_z(run, v->id[0]), "host_data") &&
	      !strcmp(assay_z(run, v->id[1]), "host_op"));
	CHECK(!strcmp(assay_z(run, v->text[0]),
		      "the GPU waits 1.48 ms of every 5.00 ms step for the data loader"));
	CHECK(v->seconds[0] == 2950000 * 1e-9 / 2 && v->share[0] == 0.295);
	CHECK(v->confidence[0] == 0.9);
	assay_run_free(run);
	return 0;
}

TEST(what_cannot_be_explained_asks_for_a_better_recording)
{
	assay_run *run = assay_run_new();
	assay_window w = test_window(run);
	w.steps = 0;
	w.cause[ASSAY_WHY_UNLINKED] = 4000000, w.gaps[ASSAY_WHY_UNLINKED] = 2;
	assay_verdicts(run, &w);
	const assay_verdict_table *v = &run->part.t.verdict;
	CHECK_EQ(v->n, 3);
	CHECK(!strcmp(assay_z(run, v->id[0]), "nothing_large"));
	CHECK(!strcmp(assay_z(run, v->id[1]), "record_launches") && v->seconds[1] == -1);
	CHECK(!strcmp(assay_z(run, v->id[2]), "record_steps"));
	assay_run_free(run);
	run = assay_run_new();
	assay_verdicts(run, &(assay_window){.device = ASSAY_NO_ROW});
	CHECK(!strcmp(assay_z(run, run->part.t.verdict.id[0]), "record_gpu"));
	assay_run_free(run);
	return 0;
}
