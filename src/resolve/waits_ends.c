#include "resolve/waits_ends.h"

#include "base/sort.h"
#include "base/test.h"
#include "model/by_hand.h"
#include "resolve/resolve.h"

static uint32_t source_of(const waits *w, uint32_t gpu)
{
	uint32_t source = assay_track_group(w->t, w->t->gpu.track[gpu]);
	return source < w->sources ? source : (uint32_t)w->sources;
}

/* By end, then, keeping that order, by source. */
static void sort_work(waits_ends *e)
{
	const waits *w = e->w;
	int64_t *key = assay_pages_grow(NULL, (e->n + 1) * sizeof *key);
	for (uint32_t g = 0; g < e->n; g++) {
		e->row[g] = g;
		key[g] = assay_gpu_end(&w->t->gpu, g);
	}
	assay_sort_rows(e->row, e->n, key);
	for (size_t i = 0; i < e->n; i++)
		e->end[i] = key[e->row[i]];
	if (w->sources > 1) {
		for (uint32_t g = 0; g < e->n; g++)
			key[g] = source_of(w, g);
		assay_sort_rows(e->row, e->n, key);
		for (size_t i = 0; i < e->n; i++)
			e->end[i] = assay_gpu_end(&w->t->gpu, e->row[i]);
	}
	assay_pages_free(key);
}

static void find_firsts(waits_ends *e)
{
	size_t at = 0;
	for (uint32_t s = 0; s <= e->w->sources; s++) {
		while (at < e->n && source_of(e->w, e->row[at]) < s)
			at++;
		e->first[s] = at;
	}
	e->first[e->w->sources + 1] = e->n;
}

/* ------------------------------------------------------------------ records left over */

enum { BY_THREADS = 1, BY_STREAMS = 2 };

static uint64_t key_of_event(const assay_sweep_rec *r)
{
	return assay_corr_key(r->scope, r->event);
}

/* Who is known to wait for each event. */
static assay_map find_waiters(const waits *w)
{
	assay_map by = {0};
	for (size_t i = 0; i < w->recs.n; i++) {
		const assay_sweep_rec *r = &w->recs.p[i];
		bool streams = r->op == ASSAY_OP_WAIT || r->op == ASSAY_OP_WAIT_INSIDE;
		bool threads = r->op == ASSAY_OP_EVENT_SYNC || r->op == ASSAY_OP_EVENT_QUERY;
		if (!streams && !threads)
			continue;
		uint32_t *who = assay_map_at(&by, key_of_event(r));
		*who = (*who == ASSAY_MAP_ABSENT ? 0 : *who) | (streams ? BY_STREAMS : BY_THREADS);
	}
	return by;
}

/* A record says that somebody wants to wait. Events that threads alone ask for are theirs; of all
 * others a stream may wait, and the call be lost. A launch on several devices joins them, too. */
static void find_open_records(waits_ends *e)
{
	const waits *w = e->w;
	assay_map by = find_waiters(w);
	for (size_t i = 0; i < w->recs.n; i++) {
		const assay_sweep_rec *r = &w->recs.p[i];
		uint32_t track = r->thread != ASSAY_NO_ROW ? r->thread : r->track;
		bool known = r->op == ASSAY_OP_RECORD &&
			     assay_map_get(&by, key_of_event(r)) == BY_THREADS;
		if (r->op == ASSAY_OP_LAUNCH && r->flags & ASSAY_REC_TOGETHER)
			*assay_push(&e->open.v) = (assay_mark){assay_track_group(w->t, track),
							       r->key, (int64_t)r->arg + 1, 0};
		if ((r->op == ASSAY_OP_RECORD || r->op == ASSAY_OP_GAP) && !known &&
		    !(r->flags & ASSAY_REC_AGAIN) && track != ASSAY_NO_ROW)
			*assay_push(&e->open.v) =
				(assay_mark){assay_track_group(w->t, track), r->key, r->enter, 0};
	}
	assay_marks_sort(&e->open);
	assay_map_free(&by);
}

const assay_mark *waits_open_record(const waits_ends *e, uint32_t source, uint64_t key)
{
	return assay_mark_before(&e->open, source, key);
}

/* ------------------------------------------------------------------ work that may say it began */

/* HIP's launches take an event for that; CUDA's have attributes, of which no argument tells. */
static bool may_tell_start(waits *w, uint32_t h)
{
	uint32_t source = waits_host_source(w, h);
	assay_call call = w->call[w->t->host.name[h]];
	if (!(call.takes & ASSAY_CALL_LAUNCHES) || call.op == ASSAY_OP_LAUNCH_GRAPH)
		return false;
	if (call.flags & ASSAY_REC_MAY_RECORD)
		return waits_may_record(w, h);
	waits_args a = waits_args_of(&w->args, w->run, w->t->host.args[h]);
	bool told = a.has_event || (source < w->sources && w->has_calls[source]);
	return call.op == ASSAY_OP_RECORD && (!told || a.start_event);
}

static void add_start(waits_ends *e, uint32_t h)
{
	const waits *w = e->w;
	uint32_t source = waits_host_source(w, h);
	uint32_t g = assay_index_find(&w->gpus, assay_corr_key(source, assay_call_corr(w->t, h)));
	if (g != ASSAY_NO_ROW)
		*assay_push(&e->begun.v) =
			(assay_mark){source, waits_key_of_time(w->t->gpu.ts[g]), g, 0};
}

static void find_starts(waits_ends *e, waits *w)
{
	for (size_t k = 0; k < w->call_rows.n; k++)
		if (may_tell_start(w, w->call_rows.p[k]))
			add_start(e, w->call_rows.p[k]);
	for (size_t i = 0; i < w->recs.n; i++)
		if (w->recs.p[i].flags & ASSAY_REC_AT_START && w->recs.p[i].row != ASSAY_NO_ROW)
			add_start(e, w->recs.p[i].row);
	assay_marks_sort(&e->begun);
}

void waits_ends_make(waits_ends *e, waits *w)
{
	*e = (waits_ends){.w = w, .n = w->t->gpu.n};
	e->row = assay_pages_grow(NULL, (e->n + 1) * sizeof *e->row);
	e->end = assay_pages_grow(NULL, (e->n + 1) * sizeof *e->end);
	e->first = assay_pages_grow(NULL, (w->sources + 2) * sizeof *e->first);
	sort_work(e);
	find_firsts(e);
	find_open_records(e);
	find_starts(e, w);
}

void waits_ends_free(waits_ends *e)
{
	assay_pages_free(e->row);
	assay_pages_free(e->end);
	assay_pages_free(e->first);
	assay_vec_free(&e->open.v);
	assay_vec_free(&e->begun.v);
}

static size_t first_after(const waits_ends *e, uint32_t source, int64_t from)
{
	size_t first = e->first[source], n = e->first[source + 1] - first;
	return first + assay_count_until(e->end + first, sizeof *e->end, n, from);
}

/* By the clock of the host alone. */
static bool launched_after(const waits *w, uint32_t gpu, int64_t at)
{
	uint32_t source = assay_track_group(w->t, w->t->gpu.track[gpu]);
	uint32_t h = assay_index_find(&w->calls, assay_corr_key(source, w->t->gpu.corr[gpu]));
	return h != ASSAY_NO_ROW && w->t->host.ts[h] >= at;
}

static int64_t earlier(int64_t at, int64_t by)
{
	return at < INT64_MIN + by ? INT64_MIN : at - by;
}

/* By how much the clock of row `but` may be ahead of another device's. */
static int64_t ahead_of_others(const waits_ends *e, const waits_span *s)
{
	return s->but == ASSAY_NO_ROW ? 0 : waits_ahead(e->w, e->w->t->gpu.track[s->but], s->over);
}

/* As far as the clocks can tell. */
static bool is_between(const waits_ends *e, const waits_span *s, uint32_t gpu, int64_t at)
{
	const assay_tables *t = e->w->t;
	uint32_t track = t->gpu.track[gpu];
	bool other =
		s->but != ASSAY_NO_ROW && t->track.pid[track] != t->track.pid[t->gpu.track[s->but]];
	int64_t from = earlier(s->from, waits_behind(e->w, track, s->over) +
						(other ? ahead_of_others(e, s) : 0));
	return at > from && earlier(at, waits_ahead(e->w, track, s->over)) <= s->over;
}

/* Is it other work, that can have been in front? */
static bool counts(const waits_ends *e, const waits_span *s, uint32_t gpu, int64_t at)
{
	const assay_gpu_table *g = &e->w->t->gpu;
	bool same = s->but != ASSAY_NO_ROW && g->corr[s->but] && g->corr[gpu] == g->corr[s->but];
	return !same && !launched_after(e->w, gpu, s->entered) && is_between(e, s, gpu, at);
}

/* What is outside of this is outside by any device's clock. */
static waits_span reach_of(const waits_ends *e, uint32_t source, const waits_span *s)
{
	int64_t ahead = waits_ahead_any(e->w, source, s->over);
	waits_span r = *s;
	r.from = earlier(s->from, waits_behind_any(e->w, source, s->over) + ahead_of_others(e, s));
	r.over = s->over > INT64_MAX - ahead ? INT64_MAX : s->over + ahead;
	return r;
}

static bool began(const waits_ends *e, uint32_t source, const waits_span *s, waits_span reach)
{
	const assay_mark *m = assay_mark_after(&e->begun, source, waits_key_of_time(reach.from));
	if (!m)
		return false;
	const assay_mark *end = e->begun.v.p + e->begun.v.n;
	uint64_t over = waits_key_of_time(reach.over);
	for (; m < end && m->place == source && m->key <= over; m++)
		if (counts(e, s, (uint32_t)m->value, e->w->t->gpu.ts[m->value]))
			return true;
	return false;
}

bool waits_ended(const waits_ends *e, uint32_t source, waits_span s)
{
	if (source >= e->w->sources)
		return true;
	waits_span reach = reach_of(e, source, &s);
	for (size_t i = first_after(e, source, reach.from);
	     i < e->first[source + 1] && e->end[i] <= reach.over; i++)
		if (counts(e, &s, e->row[i], e->end[i]))
			return true;
	return began(e, source, &s, reach);
}

bool waits_device_ended(const waits_ends *e, uint32_t gpu, int64_t from, int64_t to)
{
	const assay_tables *t = e->w->t;
	uint32_t source = source_of(e->w, gpu);
	int64_t device = t->track.pid[t->gpu.track[gpu]];
	for (size_t i = first_after(e, source, from - 1);
	     i < e->first[source + 1] && e->end[i] <= to; i++)
		if (t->track.pid[t->gpu.track[e->row[i]]] == device)
			return true;
	return false;
}

bool waits_other_device_ended(const waits_ends *e, uint32_t gpu, int64_t entered)
{
	const assay_tables *t = e->w->t;
	uint32_t track = t->gpu.track[gpu], source = source_of(e->w, gpu);
	int64_t end = assay_gpu_end(&t->gpu, gpu);
	if (source >= e->w->sources || e->w->only_device[source] >= 0)
		return false;
	waits_span same = {end, end, entered, gpu};
	waits_span reach = reach_of(e, source, &same);
	for (size_t i = first_after(e, source, reach.from);
	     i < e->first[source + 1] && e->end[i] <= end; i++) {
		uint32_t other = t->gpu.track[e->row[i]];
		if (t->track.pid[other] != t->track.pid[track] &&
		    counts(e, &same, e->row[i], e->end[i]))
			return true;
	}
	return false;
}

/* A thread waits until 1010 us, nobody says for what; work ends at 1000. Other work, launched with
 * this call, starts then and runs on. */
static uint8_t class_beside_start(const char *name, const char *args, int64_t start)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	run->part.source = assay_add(t, ASSAY_T_source);
	const char *const calls[] = {"hipLaunchKernel", name, "hipStreamSynchronize"};
	for (uint32_t i = 0; i < ASSAY_COUNT_OF(calls); i++) {
		uint32_t h = assay_hand_host(run, ASSAY_HOST_RUNTIME, calls[i],
					     1000 + 10000 * (int64_t)i, 1000);
		t->api.corr[t->host.detail[h]] = i + 1;
		t->host.track[h] = assay_thread_track(&run->part, 1, 1);
		if (i == 1 && args)
			t->host.args[h] = assay_sid_of(run, args);
	}
	t->host.dur[2] = 1010000 - t->host.ts[2];
	for (uint32_t i = 0; i < 2; i++) {
		uint32_t g = i ? assay_hand_gpu(run, "other", start, 5000000, ASSAY_NO_ROW)
			       : assay_hand_gpu(run, "k", 5000, 995000, ASSAY_NO_ROW);
		t->gpu.corr[g] = i + 1;
		t->gpu.track[g] = assay_stream_track(&run->part, 0, 1 + i);
	}
	assay_waits(run);
	uint8_t class = t->wait.n == 1 && t->wait.producer_gpu[0] == 0 ? t->wait.class[0]
								       : ASSAY_WAIT_CLASS_COUNT;
	assay_run_free(run);
	return class;
}

TEST(a_thread_may_wait_for_work_to_begin_where_an_event_may_tell_of_that)
{
	static const struct {
		const char *name, *args;
		int64_t start;
		uint8_t class;
	} cases[] = {
		{"hipLaunchKernel", NULL, 1003000, ASSAY_WAIT_IS_EXACT},
		{"hipExtLaunchKernel", NULL, 1003000, ASSAY_WAIT_IS_LIKELY},
		{"hipExtLaunchKernel", NULL, 960000, ASSAY_WAIT_IS_EXACT}, /* too early */
		{"hipExtLaunchKernel", NULL, 1030000, ASSAY_WAIT_IS_EXACT},
		{"hipExtLaunchKernel", "\"startEvent\": \"0x0\",\"stopEvent\": \"0xe1\"", 1003000,
		 ASSAY_WAIT_IS_EXACT},
		{"hipExtLaunchKernel", "\"startEvent\": \"0xe1\",\"stopEvent\": \"0x0\"", 1003000,
		 ASSAY_WAIT_IS_LIKELY},
		{"cuLaunchKernelEx", NULL, 1003000, ASSAY_WAIT_IS_LIKELY},
	};
	for (size_t i = 0; i < ASSAY_COUNT_OF(cases); i++)
		CHECK_EQ(class_beside_start(cases[i].name, cases[i].args, cases[i].start),
			 cases[i].class);
	return 0;
}
