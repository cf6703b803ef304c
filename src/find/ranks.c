/* One rank that the others wait for. */
#include "analyze/idle_where.h"
#include "base/fmt.h"
#include "find/finding.h"
#include "find/own_frames.h"
#include "names/words.h"

enum { FEW_COLLECTIVES = 3 };
static const double often = 0.6; /* share of collectives in which one rank comes last */

/* What a late rank does longer, and what to try. */
static const struct {
	const char *does, *advice;
} late_words[ASSAY_LATE_COUNT] = {
	[ASSAY_LATE_COMPUTE] =
		{"its device computes",
		 "unequal work, or a slower device: clocks, power limit, heat, another process on it"},
	[ASSAY_LATE_DATA] = {"its device waits for input data",
			     "its input pipeline: storage, loader workers, unequal shards"},
	[ASSAY_LATE_HOST] =
		{"its host keeps the device waiting",
		 "its host: other processes, processor frequency, placement on the sockets, garbage collection"},
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

/* What the late rank's host does for most of the time that its device waits. */
static void late_where(const assay_run *run, const assay_find_ctx *c, uint32_t source,
		       assay_where *where)
{
	const assay_tables *t = &run->part.t;
	assay_window w = *c->w;
	assay_idle_name most = {0};
	for (w.device = 0; w.device < t->device_time.n; w.device++)
		for (int k = ASSAY_WHY_HOST_DATA;
		     k < ASSAY_WHY_COUNT && t->device_time.source[w.device] == source; k++) {
			assay_idle_name in = assay_idle_name_of(run, &w, k);
			most = in.time > most.time ? in : most;
		}
	assay_word word = assay_word_of(assay_text(run, most.name));
	if (word == ASSAY_WORD_HOST_COMM || word == ASSAY_WORD_COMM) /* it waits itself */
		return;
	assay_where at = {0};
	if (!most.name || t->host.kind[most.row] != ASSAY_HOST_PYTHON)
		at = assay_idle_where(run, c->scratch, &most);
	else
		assay_own_line_of(run, c, most.row, &at);
	where->file = at.file;
	where->line = at.line;
	where->function = at.function;
	where->range = at.range;
	where->op = at.op;
}

/* What keeps the late rank's own device waiting there is why the others wait. */
static void put_under(const assay_find_ctx *c, const assay_found *late)
{
	for (assay_found *f = NULL; late->where.function && (f = assay_found_next(c, f));)
		if (f->where.function && !strcmp(f->where.function, late->where.function))
			f->follows = late->id;
}

/* One rank that comes last again and again, or that most of all waiting is for, holds up all
 * others. */
static void find_ranks(const assay_run *run, const assay_find_ctx *c)
{
	const assay_rank_table *r = &run->part.t.rank;
	assay_arena *a = c->scratch;
	double caused = 0;
	for (size_t i = 0; i < r->n; i++)
		caused += (double)r->caused[i];
	for (size_t i = 0; r->n > 1 && c->whole > 0 && i < r->n; i++) {
		double share = r->matched[i] ? (double)r->last[i] / (double)r->matched[i] : 0;
		double blame = caused > 0 ? (double)r->caused[i] / caused : 0;
		int64_t each = r->caused[i] / (int64_t)(r->n - 1); /* other rank */
		if (r->matched[i] < FEW_COLLECTIVES || (share < often && blame < often) ||
		    (double)each < assay_worth_saying * (double)c->whole)
			continue;
		int64_t lost = r->lost[i];
		const char *on = assay_z(run, r->host[i]);
		const char *advice = late_words[r->why[i]].advice;
		double sure = share > blame ? share : blame;
		assay_found f = {
			.id = "straggler",
			.where = {.host = *on ? on : NULL, .rank = r->rank[i], .has_rank = true},
			.total = lost,
			.confidence = 0.5 + sure / 2 * 0.8};
		f.text = assay_printf(a, "the other ranks wait %s for rank %d%s%s%s",
				      assay_share_words(c, each), r->rank[i], *on ? " on " : "", on,
				      lost < each ? assay_printf(a, "; %s is not hidden by compute",
								 assay_share_words(c, lost))
						  : "");
		f.fix = advice ? advice
			       : "look at what that rank does before its collectives: data, host, clocks, unequal work";
		f.fact[0] = assay_printf(
			a,
			"it comes last in %.0f%% of %llu collectives and causes %.0f%% of all waiting for ranks",
			100 * share, (unsigned long long)r->matched[i], 100 * blame);
		f.fact[1] = late_words_of(r, i, a);
		if (r->why[i] == ASSAY_LATE_HOST || r->why[i] == ASSAY_LATE_DATA)
			late_where(run, c, r->source[i], &f.where);
		put_under(c, &f);
		assay_finding_add(c, &f);
	}
}

const assay_finder assay_find_ranks = {.id = "ranks", .find = find_ranks};
