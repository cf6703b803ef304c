/* Up to where a recording is known to hold every call. Our recorder counts what it lost. Vendors
 * number the calls they trace: where no number is missing, no call is. */
#include "base/test.h"
#include "model/by_hand.h"
#include "resolve/resolve.h"
#include "resolve/waits.h"

/* Samples and the like say nothing of order. */
static bool orders(const assay_run *run, const assay_ledger_table *l, uint32_t i)
{
	static const char *const kinds[] = {"calls", "kernels", "copies", "memsets",
					    "waits", "events",  "graphs", "barriers"};
	bool any = !l->kind[i] && l->cause[i] != ASSAY_LOSS_SAMPLES;
	for (size_t k = 0; k < ASSAY_COUNT_OF(kinds) && !any; k++)
		any = assay_str_is(assay_text(run, l->kind[i]), kinds[k]);
	return any;
}

static void trust_counts(waits *w)
{
	const assay_ledger_table *l = &w->t->ledger;
	for (uint32_t i = 0; i < l->n; i++)
		w->whole[assay_group_of(w->t, l->source[i])] = INT64_MAX;
	for (uint32_t i = 0; i < l->n; i++) {
		int64_t *whole = &w->whole[assay_group_of(w->t, l->source[i])];
		int64_t until = l->first[i] ? l->first[i] : INT64_MIN;
		if ((l->dropped[i] || l->unknown[i]) && orders(w->run, l, i) && until < *whole)
			*whole = until;
	}
}

/* ------------------------------------------------------------------ numbers of calls */

/* Of a source's calls; bit n of seen is the call with key first + n. */
struct numbers {
	uint64_t first, last, n;
	uint64_t *seen;
	int64_t process;
	bool several; /* processes: each has numbers of its own */
};

static uint32_t numbered_call(const waits *w, size_t k)
{
	uint32_t h = w->call_rows.p[k], source = waits_host_source(w, h);
	return assay_call_corr(w->t, h) && source < w->sources ? source : ASSAY_NO_ROW;
}

static void widen(struct numbers *m, uint64_t key)
{
	m->first = key < m->first ? key : m->first;
	m->last = key > m->last ? key : m->last;
}

static void count_calls(const waits *w, struct numbers *of)
{
	for (size_t k = 0; k < w->call_rows.n; k++) {
		uint32_t h = w->call_rows.p[k], source = numbered_call(w, k);
		if (source == ASSAY_NO_ROW || w->has_calls[source])
			continue;
		struct numbers *m = &of[source];
		uint64_t key = waits_host_key(w, h);
		int64_t process = w->t->track.pid[w->t->host.track[h]];
		if (!m->n++)
			*m = (struct numbers){key, key, 1, NULL, process, false};
		m->several |= process != m->process;
		widen(m, key);
	}
}

/* What other rows tell of calls that are not there. */
static void count_rows(const waits *w, struct numbers *of)
{
	const assay_gpu_table *g = &w->t->gpu;
	const assay_sync_table *y = &w->t->sync;
	for (uint32_t i = 0; i < g->n; i++) {
		uint32_t source = assay_track_group(w->t, g->track[i]);
		if (g->corr[i] && source < w->sources && of[source].n)
			widen(&of[source], waits_key_at(w, source, g->ts[i], g->corr[i]));
	}
	for (uint32_t i = 0; i < y->n; i++) {
		uint32_t source = assay_track_group(w->t, y->track[i]);
		if (y->corr[i] && source < w->sources && of[source].n)
			widen(&of[source], waits_key_at(w, source, y->ts[i], y->corr[i]));
	}
}

/* Where most are missing, there is no need to look for the first. */
enum { MOST = 8 };

static void mark_seen(waits *w, struct numbers *of)
{
	for (size_t s = 0; s < w->sources; s++) {
		struct numbers *m = &of[s];
		if (m->n && !m->several && (m->last - m->first) / MOST < m->n)
			m->seen = assay_alloc(&w->scratch,
					      ((m->last - m->first) / 64 + 1) * sizeof *m->seen);
	}
	for (size_t k = 0; k < w->call_rows.n; k++) {
		uint32_t source = numbered_call(w, k);
		if (source == ASSAY_NO_ROW || !of[source].seen)
			continue;
		uint64_t at = waits_host_key(w, w->call_rows.p[k]) - of[source].first;
		of[source].seen[at / 64] |= 1ull << at % 64;
	}
}

/* The last key before the first that is missing. */
static uint64_t last_unbroken(const struct numbers *m)
{
	uint64_t at = 0;
	while (at <= m->last - m->first && m->seen[at / 64] >> at % 64 & 1)
		at++;
	return m->first + at - 1;
}

/* A call that was lost began after the one before it. A graph, or a launch on several devices, may
 * have lost work though its call is there. */
static void trust_numbers(waits *w, const struct numbers *of)
{
	for (size_t k = 0; k < w->call_rows.n; k++) {
		uint32_t h = w->call_rows.p[k], source = numbered_call(w, k);
		if (source == ASSAY_NO_ROW || !of[source].seen)
			continue;
		uint64_t key = waits_host_key(w, h);
		bool ends = key == w->unbroken[source] && key < of[source].last;
		bool hides = w->call[w->t->host.name[h]].flags &
			     (ASSAY_REC_MAY_RECORD | ASSAY_REC_TOGETHER);
		if ((ends || hides) && w->t->host.ts[h] < w->whole[source])
			w->whole[source] = w->t->host.ts[h];
	}
}

void waits_find_whole(waits *w)
{
	struct numbers *of = assay_alloc(&w->scratch, (w->sources + 1) * sizeof *of);
	count_calls(w, of);
	count_rows(w, of);
	w->whole = assay_alloc(&w->scratch, (w->sources + 1) * sizeof *w->whole);
	w->unbroken = assay_alloc(&w->scratch, (w->sources + 1) * sizeof *w->unbroken);
	mark_seen(w, of);
	for (size_t s = 0; s <= w->sources; s++) {
		w->unbroken[s] = of[s].seen ? last_unbroken(&of[s]) : 0;
		w->whole[s] = of[s].seen ? INT64_MAX : INT64_MIN;
	}
	trust_numbers(w, of);
	trust_counts(w);
}

bool waits_is_whole(const waits *w, uint32_t source, int64_t until)
{
	return source < w->sources && until < w->whole[source];
}
