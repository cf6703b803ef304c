#include "find/meanwhile.h"

#include "analyze/host_cause.h"
#include "analyze/idle_where.h"
#include "base/sort.h"
#include "base/test.h"
#include "model/by_hand.h"

typedef assay_vec(uint32_t) rows;

/* Rows that may be as long as a stretch, by start. The caller frees. */
static rows find_long(const assay_run *run, const assay_holes *holes)
{
	const assay_host_table *h = &run->part.t.host;
	int64_t least = INT64_MAX;
	rows found = {0};
	for (size_t i = 0; i < holes->n; i++)
		if (holes->p[i].to - holes->p[i].from < least)
			least = holes->p[i].to - holes->p[i].from;
	for (uint32_t i = 0; i < h->n; i++)
		if (h->dur[i] > least / 3 * 2)
			*assay_push(&found) = i;
	assay_sort_rows(found.p, found.n, h->ts);
	return found;
}

/* As long as most of the stretch, and over before it is. */
static bool fills(const assay_host_table *h, uint32_t row, const assay_hole *hole)
{
	int64_t length = hole->to - hole->from, end = assay_host_end(h, row);
	int64_t from = h->ts[row] > hole->from ? h->ts[row] : hole->from;
	return end <= hole->to && (end - from) * 3 > length * 2 && h->dur[row] * 2 < length * 3;
}

/* The longest row of another thread of the process that fills a stretch; ASSAY_NO_ROW. */
static uint32_t longest_in(const assay_run *run, const rows *l, const assay_hole *hole)
{
	const assay_tables *t = &run->part.t;
	uint32_t track = t->host.track[hole->after], best = ASSAY_NO_ROW;
	int64_t length = hole->to - hole->from;
	size_t i = assay_rows_until(l->p, l->n, t->host.ts, hole->from - length / 2 - 1);
	for (; i < l->n && t->host.ts[l->p[i]] < hole->from + length / 3; i++) {
		uint32_t row = l->p[i];
		if (t->host.track[row] != track &&
		    assay_track_group(t, t->host.track[row]) == assay_track_group(t, track) &&
		    fills(&t->host, row, hole) &&
		    (best == ASSAY_NO_ROW || t->host.dur[row] > t->host.dur[best]))
			best = row;
	}
	return best;
}

assay_meanwhile assay_meanwhile_find(const assay_run *run, const assay_holes *holes)
{
	const assay_host_table *h = &run->part.t.host;
	rows l = find_long(run, holes);
	assay_idle_tally by_name = {0};
	int64_t all = 0;
	for (size_t i = 0; i < holes->n; i++) {
		uint32_t row = longest_in(run, &l, &holes->p[i]);
		all += holes->p[i].idle;
		if (row != ASSAY_NO_ROW)
			assay_idle_tally_add(
				&by_name, assay_name_without_numbers(run, row, 1),
				(assay_idle_name){h->name[row], row, holes->p[i].idle});
	}
	assay_vec_free(&l);
	assay_idle_name best = assay_idle_tally_end(&by_name);
	if (best.time * 3 <= all * 2)
		return (assay_meanwhile){ASSAY_NO_ROW, ASSAY_WHY_HOST_UNTRACED};
	return (assay_meanwhile){best.row, assay_host_row_cause(run, best.row)};
}
