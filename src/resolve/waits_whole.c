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

void waits_whole_until(waits *w, uint32_t source, int64_t until)
{
	if (source < w->sources && until < w->whole[source])
		w->whole[source] = until;
}

static void trust_counts(waits *w)
{
	const assay_ledger_table *l = &w->t->ledger;
	for (uint32_t i = 0; i < l->n; i++)
		w->whole[assay_group_of(w->t, l->source[i])] = INT64_MAX;
	for (uint32_t i = 0; i < l->n; i++) {
		if ((l->dropped[i] || l->unknown[i]) && orders(w->run, l, i))
			waits_whole_until(w, assay_group_of(w->t, l->source[i]),
					  l->first[i] ? l->first[i] : INT64_MIN);
	}
}

/* ------------------------------------------------------------------ numbers of calls */

/* Of a source's calls; bit n of seen is the call with key first + n. */
struct numbers {
	uint64_t first, last, n;
	uint64_t *seen;
	int64_t process;
	bool several; /* processes: each has numbers of its own */
	bool creates; /* events */
};

static uint32_t numbered_call(const waits *w, size_t k)
{
	uint32_t h = w->call_rows.p[k], source = waits_host_source(w, h);
	return assay_call_corr(w->t, h) && source < w->sources ? source : ASSAY_NO_ROW;
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
			*m = (struct numbers){key, key, 1, NULL, process, false, false};
		m->several |= process != m->process;
		m->creates |= w->call[w->t->host.name[h]].op == ASSAY_OP_CREATE;
		m->first = key < m->first ? key : m->first;
		m->last = key > m->last ? key : m->last;
	}
}

/* What other rows tell of calls that are not there. Those before the first call are from before the
 * recording, and not lost. */
static void reach(struct numbers *m, uint64_t key)
{
	m->last = key > m->last ? key : m->last;
}

static void count_rows(const waits *w, struct numbers *of)
{
	const assay_gpu_table *g = &w->t->gpu;
	const assay_sync_table *y = &w->t->sync;
	for (uint32_t i = 0; i < g->n; i++) {
		uint32_t source = assay_track_group(w->t, g->track[i]);
		if (g->corr[i] && source < w->sources && of[source].n)
			reach(&of[source], waits_key_at(w, source, g->ts[i], g->corr[i]));
	}
	for (uint32_t i = 0; i < y->n; i++) {
		uint32_t source = assay_track_group(w->t, y->track[i]);
		if (y->corr[i] && source < w->sources && of[source].n)
			reach(&of[source], waits_key_at(w, source, y->ts[i], y->corr[i]));
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

static bool is_seen(const struct numbers *m, uint64_t key)
{
	uint64_t at = key - m->first;
	return at <= m->last - m->first && m->seen[at / 64] >> at % 64 & 1;
}

/* The last key before the first that is missing. */
static uint64_t last_unbroken(const struct numbers *m)
{
	uint64_t key = m->first;
	while (is_seen(m, key))
		key++;
	return key - 1;
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
		if (ends || hides)
			waits_whole_until(w, source, w->t->host.ts[h]);
		if (of[source].creates && key < of[source].last && !is_seen(&of[source], key + 1))
			*assay_push(&w->holes.v) = (assay_mark){source, key, w->t->host.ts[h], 0};
	}
	assay_marks_sort(&w->holes);
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

int64_t waits_whole_after(const waits *w, uint32_t source, uint64_t key)
{
	if (source >= w->sources)
		return INT64_MIN;
	const assay_mark *hole = assay_mark_after(&w->holes, source, key - 1);
	int64_t until = !w->unbroken[source] ? INT64_MIN : hole ? hole->value : INT64_MAX;
	return until > w->whole[source] ? until : w->whole[source];
}

/* So many calls: a kernel, an event behind it, and a stream that waits for that with call `at`;
 * call `missing` was not recorded. */
static assay_run *numbered_run(uint32_t calls, uint32_t at, uint32_t missing)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	run->part.source = assay_add(t, ASSAY_T_source);
	for (uint32_t i = 1; i <= calls; i++) {
		const char *name = i == 1    ? "hipLaunchKernel"
				   : i == 2  ? "hipEventRecord"
				   : i == at ? "hipStreamWaitEvent"
					     : "hipGetDevice";
		const char *args = i == 1 ? "\"stream\": \"0x100\""
					  : "\"stream\": \"0x100\", \"event\": \"0xe1\"";
		if (i == missing)
			continue;
		uint32_t h = assay_hand_host(run, ASSAY_HOST_RUNTIME, name, 10000 * i, 1000);
		t->api.corr[t->host.detail[h]] = i;
		t->host.args[h] = assay_sid_of(run, args);
		t->host.track[h] = assay_thread_track(&run->part, 1, 1);
	}
	uint32_t g = assay_hand_gpu(run, "k", 12000, 3000, ASSAY_NO_ROW);
	t->gpu.corr[g] = 1;
	t->gpu.track[g] = assay_stream_track(&run->part, 0, 1);
	return run;
}

static uint8_t class_in(assay_run *run)
{
	assay_waits(run);
	uint8_t class =
		run->part.t.wait.n == 1 ? run->part.t.wait.class[0] : ASSAY_WAIT_CLASS_COUNT;
	assay_run_free(run);
	return class;
}

TEST(a_number_that_is_missing_is_a_call_that_was_lost)
{
	CHECK_EQ(class_in(numbered_run(300, 290, 0)), ASSAY_WAIT_IS_EXACT);
	for (uint32_t missing = 3; missing < 300; missing += 1 + missing / 8)
		CHECK_EQ(class_in(numbered_run(300, 290, missing)),
			 missing < 290 ? ASSAY_WAIT_IS_LIKELY : ASSAY_WAIT_IS_EXACT);
	CHECK_EQ(class_in(numbered_run(300, 63, 64)), ASSAY_WAIT_IS_LIKELY); /* it may have begun */
	CHECK_EQ(class_in(numbered_run(300, 63, 65)), ASSAY_WAIT_IS_EXACT);
	CHECK_EQ(class_in(numbered_run(300, 64, 66)), ASSAY_WAIT_IS_EXACT);
	return 0;
}

/* Of ten calls the fourth makes an event, and the seventh waits for it: 70 to 71 us. */
TEST(an_event_is_unrecorded_if_no_number_is_missing_since_its_creation)
{
	static const struct {
		uint32_t missing;
		assay_wait_class class;
	} of[] = {
		{0, ASSAY_WAIT_IS_NEVER_RECORDED}, {2, ASSAY_WAIT_IS_NEVER_RECORDED},
		{3, ASSAY_WAIT_IS_NEVER_RECORDED}, {5, ASSAY_WAIT_IS_LOST},
		{6, ASSAY_WAIT_IS_LOST},           {8, ASSAY_WAIT_IS_LOST}, /* it may have begun */
		{9, ASSAY_WAIT_IS_NEVER_RECORDED},
	};
	for (size_t i = 0; i < ASSAY_COUNT_OF(of); i++) {
		assay_run *run = numbered_run(10, 7, of[i].missing);
		assay_tables *t = &run->part.t;
		for (uint32_t h = 0; h < t->host.n; h++) {
			uint64_t corr = t->api.corr[t->host.detail[h]];
			if (corr == 4)
				t->host.name[h] = assay_sid_of(run, "hipEventCreate");
		}
		CHECK_EQ(class_in(run), of[i].class);
	}
	return 0;
}

TEST(work_from_before_the_recording_hides_no_call_that_is_missing)
{
	for (uint32_t missing = 0; missing < 300; missing += 100) {
		assay_run *run = numbered_run(300, 290, missing);
		for (uint32_t i = 0; i < run->part.t.api.n; i++)
			run->part.t.api.corr[i] += 10;
		run->part.t.gpu.corr[0] += 10;
		uint32_t g = assay_hand_gpu(run, "k", 500, 3000, ASSAY_NO_ROW);
		run->part.t.gpu.corr[g] = 5;
		run->part.t.gpu.track[g] = assay_stream_track(&run->part, 0, 2);
		CHECK_EQ(class_in(run), missing ? ASSAY_WAIT_IS_LIKELY : ASSAY_WAIT_IS_EXACT);
	}
	return 0;
}

TEST(rows_whose_calls_are_not_there_tell_that_numbers_are_missing)
{
	assay_run *run = numbered_run(10, 9, 0);
	uint32_t g = assay_hand_gpu(run, "k", 500000, 3000, ASSAY_NO_ROW);
	run->part.t.gpu.corr[g] = 12;
	run->part.t.gpu.track[g] = assay_stream_track(&run->part, 0, 2);
	CHECK_EQ(class_in(run), ASSAY_WAIT_IS_EXACT); /* after the last call */
	run = numbered_run(10, 9, 0);
	g = assay_hand_gpu(run, "k", 500000, 3000, ASSAY_NO_ROW);
	run->part.t.gpu.corr[g] = 1000; /* most are not there */
	run->part.t.gpu.track[g] = assay_stream_track(&run->part, 0, 2);
	CHECK_EQ(class_in(run), ASSAY_WAIT_IS_LIKELY);
	for (uint64_t corr = 12; corr <= 1000; corr += 988) {
		run = numbered_run(10, 9, 0);
		uint32_t y = assay_add(&run->part.t, ASSAY_T_sync);
		run->part.t.sync.corr[y] = corr;
		run->part.t.sync.ts[y] = 500000;
		run->part.t.sync.name[y] = assay_sid_of(run, "Context Sync");
		run->part.t.sync.track[y] = assay_stream_track(&run->part, 0, -1);
		assay_waits(run);
		CHECK_EQ(run->part.t.wait.class[0],
			 corr == 12 ? ASSAY_WAIT_IS_EXACT : ASSAY_WAIT_IS_LIKELY);
		assay_run_free(run);
	}
	return 0;
}

/* A recorder that counts what it lost: numbers say nothing then. */
static uint8_t class_counted(const char *kind, uint64_t dropped, uint64_t unknown, int64_t first)
{
	assay_run *run = numbered_run(10, 9, 5);
	assay_ledger_table *l = &run->part.t.ledger;
	uint32_t i = assay_add(&run->part.t, ASSAY_T_ledger);
	l->source[i] = 0;
	l->kind[i] = kind ? assay_sid_of(run, kind) : 0;
	l->cause[i] = kind ? 0 : ASSAY_LOSS_SAMPLES;
	l->dropped[i] = dropped;
	l->unknown[i] = unknown;
	l->first[i] = first;
	return class_in(run);
}

TEST(a_recorder_that_counts_its_losses_is_trusted_up_to_the_first)
{
	CHECK_EQ(class_counted("calls", 0, 0, 0), ASSAY_WAIT_IS_EXACT);
	CHECK_EQ(class_counted("calls", 1, 0, 0), ASSAY_WAIT_IS_LIKELY);
	CHECK_EQ(class_counted("calls", 0, 1, 0), ASSAY_WAIT_IS_LIKELY);
	CHECK_EQ(class_counted("barriers", 1, 0, 91000), ASSAY_WAIT_IS_LIKELY);
	CHECK_EQ(class_counted("barriers", 1, 0, 91001), ASSAY_WAIT_IS_EXACT);
	CHECK_EQ(class_counted("samples", 1, 0, 0), ASSAY_WAIT_IS_EXACT); /* say nothing of order */
	CHECK_EQ(class_counted(NULL, 1, 0, 0), ASSAY_WAIT_IS_EXACT);
	return 0;
}
