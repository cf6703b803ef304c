#include "analyze/unnamed.h"

#include "base/fmt.h"
#include "base/sort.h"
#include "base/test.h"
#include "model/by_hand.h"

/* A stretch of a thread, and the rows that end before and begin after it. */
struct hole {
	int64_t from, to;
	uint32_t before, after;
};

/* Ranges are a name for time, not work, but they begin and end at places of the program. */
static bool tells(uint8_t kind)
{
	return kind == ASSAY_HOST_OP || kind == ASSAY_HOST_PYTHON || assay_is_call(kind) ||
	       kind == ASSAY_HOST_ANNOTATION || kind == ASSAY_HOST_MARKER;
}

/* Does a row lie around all of a gap, as a step does? */
static bool is_around(const assay_host_table *h, uint32_t row, int64_t from, int64_t to)
{
	return h->ts[row] <= from && assay_host_end(h, row) >= to;
}

/* Rows of a thread that touch the gap, and the last one before it, by start. */
static size_t rows_near(const assay_run *run, uint32_t track, int64_t from, int64_t to,
			uint32_t *row)
{
	const assay_host_table *h = &run->part.t.host;
	uint32_t last = ASSAY_NO_ROW;
	size_t n = 0;
	for (uint32_t i = 0; i < h->n; i++) {
		if (h->track[i] != track || !tells(h->kind[i]) || h->ts[i] > to ||
		    is_around(h, i, from, to))
			continue;
		int64_t end = assay_host_end(h, i);
		if (end > from)
			row[n++] = i;
		else if (last == ASSAY_NO_ROW || end >= assay_host_end(h, last))
			last = i;
	}
	if (last != ASSAY_NO_ROW)
		row[n++] = last;
	assay_sort_rows(row, n, h->ts);
	return n;
}

static struct hole longest_hole(const assay_host_table *h, const uint32_t *row, size_t n,
				int64_t from, int64_t to)
{
	struct hole best = {.before = ASSAY_NO_ROW, .after = ASSAY_NO_ROW}, at = best;
	at.from = from;
	for (size_t i = 0; i < n; i++) {
		int64_t begin = h->ts[row[i]], end = assay_host_end(h, row[i]);
		at.after = row[i];
		at.to = begin < to ? begin : to;
		if (at.to - at.from > best.to - best.from)
			best = at;
		if (end < at.from && at.before != ASSAY_NO_ROW)
			continue;
		at.before = row[i];
		at.from = end > at.from ? end : at.from;
	}
	return best;
}

const char *assay_unnamed_between(assay_arena *a, const assay_run *run, uint32_t gap)
{
	const assay_tables *t = &run->part.t;
	uint32_t launch = t->gap.launch[gap];
	if (launch == ASSAY_NO_ROW)
		return NULL;
	assay_arena scratch = {0};
	int64_t from = t->gap.ts[gap], to = from + t->gap.dur[gap];
	uint32_t *row = assay_alloc(&scratch, (t->host.n + 1) * sizeof *row);
	size_t n = rows_near(run, t->host.track[launch], from, to, row);
	struct hole hole = longest_hole(&t->host, row, n, from, to);
	assay_arena_free(&scratch);
	if (hole.before == ASSAY_NO_ROW || hole.after == ASSAY_NO_ROW)
		return NULL;
	return assay_printf(a, "between %s and %s",
			    assay_fmt_safe(a, assay_text(run, t->host.name[hole.before])),
			    assay_fmt_safe(a, assay_text(run, t->host.name[hole.after])));
}

TEST(an_unnamed_stretch_lies_between_two_rows)
{
	assay_arena a = {0};
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	assay_hand_host(run, ASSAY_HOST_ANNOTATION, "step", 0, 10000);
	assay_hand_host(run, ASSAY_HOST_ANNOTATION, "update", 100, 200);
	assay_hand_host(run, ASSAY_HOST_RUNTIME, "wait", 310, 20);
	uint32_t launch = assay_hand_host(run, ASSAY_HOST_RUNTIME, "launch", 5100, 10);
	assay_hand_host(run, ASSAY_HOST_ANNOTATION, "clear", 5000, 50);
	uint32_t gap = assay_add(t, ASSAY_T_gap);
	t->gap.ts[gap] = 250;
	t->gap.dur[gap] = 4860;
	CHECK(!assay_unnamed_between(&a, run, gap));
	t->gap.launch[gap] = launch;
	const char *text = assay_unnamed_between(&a, run, gap);
	CHECK(text && !strcmp(text, "between wait and clear"));
	t->gap.ts[gap] = 400; /* all is over before it begins */
	t->gap.dur[gap] = 4000;
	text = assay_unnamed_between(&a, run, gap);
	CHECK(!text);
	t->gap.dur[gap] = 4700;
	text = assay_unnamed_between(&a, run, gap);
	CHECK(text && !strcmp(text, "between wait and clear"));
	assay_arena_free(&a);
	assay_run_free(run);
	return 0;
}
