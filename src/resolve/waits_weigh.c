/* A wait is explained when it ended soon after what it is said to have waited for. How soon is
 * usual is learned from the run: calls return, and work starts, some microseconds late. */
#include "base/sort.h"
#include "base/test.h"
#include "model/by_hand.h"
#include "resolve/resolve.h"
#include "resolve/waits_barriers.h"
#include "resolve/waits_ends.h"
#include "resolve/waits_places.h"

/* Four times the median, within these: few waits teach little, and wrong ones teach wrong. */
enum { LEAST_USUAL = 40000, MOST_USUAL = 200000, TIMES_MEDIAN = 4 };

static bool is_thread(const assay_wait_table *t, uint32_t i)
{
	return t->kind[i] != ASSAY_WAIT_STREAM_WAIT && t->kind[i] != ASSAY_WAIT_VALUE;
}

/* How long it went on after all that is known was over; -1 when that cannot be said. */
static int64_t rest_of(const assay_wait_table *t, uint32_t i)
{
	if (!is_thread(t, i))
		return t->producer_gpu[i] == ASSAY_NO_ROW ? -1 : t->unexplained[i];
	if (t->kind[i] == ASSAY_WAIT_DRAIN || t->class[i] == ASSAY_WAIT_IS_FAILED_CALL ||
	    t->class[i] == ASSAY_WAIT_IS_CAPTURED)
		return 0;
	if (t->producer_gpu[i] == ASSAY_NO_ROW || t->satisfied[i] == 1)
		return t->dur[i];
	return t->slack[i] < 0 ? 0 : t->slack[i] < t->dur[i] ? t->slack[i] : t->dur[i];
}

static uint64_t place_of(const waits *w, uint32_t i)
{
	const assay_wait_table *t = &w->t->wait;
	uint32_t track = t->thread[i] != ASSAY_NO_ROW ? t->thread[i] : t->consumer[i];
	uint32_t source = track != ASSAY_NO_ROW ? assay_track_group(w->t, track) : ASSAY_NO_ROW;
	return (uint64_t)source << 1 | is_thread(t, i);
}

static bool teaches(const assay_wait_table *t, uint32_t i)
{
	return t->class[i] <= ASSAY_WAIT_IS_LIKELY && t->producer_gpu[i] != ASSAY_NO_ROW &&
	       t->kind[i] != ASSAY_WAIT_DRAIN;
}

static assay_marks learn_rests(const waits *w)
{
	const assay_wait_table *t = &w->t->wait;
	assay_marks m = {0};
	for (uint32_t i = 0; i < t->n; i++) {
		int64_t rest = rest_of(t, i);
		if (rest >= 0 && teaches(t, i))
			*assay_push(&m.v) = (assay_mark){place_of(w, i), 1 + (uint64_t)rest, 0, 0};
	}
	assay_marks_sort(&m);
	return m;
}

/* In place of each place's marks: their usual delay, at the first of them. */
static void learn_usual(assay_marks *m)
{
	for (size_t i = 0, end; i < m->v.n; i = end) {
		for (end = i; end < m->v.n && m->v.p[end].place == m->v.p[i].place;)
			end++;
		int64_t usual = (int64_t)(m->v.p[i + (end - i) / 2].key - 1) * TIMES_MEDIAN;
		usual = usual < LEAST_USUAL ? LEAST_USUAL : usual;
		m->v.p[i].value = usual > MOST_USUAL ? MOST_USUAL : usual;
	}
}

static int64_t usual_of(const assay_marks *m, uint64_t place)
{
	const assay_mark *first = assay_mark_after(m, place, 0);
	return first ? first->value : LEAST_USUAL;
}

/* ------------------------------------------------------------------ what else held work up */

/* What starts late on a busy device had to wait for room. */
static bool was_busy(const waits_ends *e, uint32_t gpu, int64_t usual)
{
	int64_t start = e->w->t->gpu.ts[gpu];
	return waits_device_ended(e, gpu, start - usual, start + WAITS_CLOCKS - 1);
}

/* The call that launched it was still at it: loading code, filling a queue. */
static bool was_launched_late(const waits *w, uint32_t gpu, int64_t usual)
{
	uint32_t source = assay_track_group(w->t, w->t->gpu.track[gpu]);
	uint32_t h = assay_index_find(&w->calls, assay_corr_key(source, w->t->gpu.corr[gpu]));
	return h != ASSAY_NO_ROW && w->t->gpu.ts[gpu] <= assay_host_end(&w->t->host, h) + usual;
}

/* ------------------------------------------------------------------ weighing */

static int64_t unexplained_by(const waits *w, const waits_ends *e, uint32_t i, int64_t usual)
{
	const assay_wait_table *t = &w->t->wait;
	int64_t rest = rest_of(t, i);
	if (rest <= usual)
		return rest < 0 ? -1 : 0;
	if (!is_thread(t, i))
		return was_launched_late(w, t->consumer_gpu[i], usual) ||
				       was_busy(e, t->consumer_gpu[i], usual)
			       ? 0
			       : rest - usual;
	return t->producer_gpu[i] == ASSAY_NO_ROW ? rest : rest - usual;
}

/* ------------------------------------------------------------------ time as a witness */

static uint32_t source_of_wait(const waits *w, uint32_t i)
{
	return (uint32_t)(place_of(w, i) >> 1);
}

static uint64_t key_of_record(const waits *w, uint32_t i)
{
	const assay_wait_table *t = &w->t->wait;
	return waits_key_at(w, source_of_wait(w, i), t->ts[i], t->record_corr[i]);
}

/* When all that it waited for was over: the call's return, or the start of the work that it held
 * up; to a stream, the barrier of the record. */
static int64_t over_at(const waits *w, uint32_t i)
{
	const assay_wait_table *t = &w->t->wait;
	uint32_t held = t->consumer_gpu[i];
	int64_t barrier = w->t->barrier.n && t->record_corr[i]
				  ? waits_barrier_over(w, source_of_wait(w, i), key_of_record(w, i))
				  : INT64_MAX;
	int64_t over = is_thread(t, i)        ? t->ts[i] + t->dur[i]
		       : held == ASSAY_NO_ROW ? INT64_MAX
					      : w->t->gpu.ts[held];
	return is_thread(t, i) || over < barrier ? over : barrier;
}

static bool is_of_hip(const waits *w, uint32_t i)
{
	uint32_t source = source_of_wait(w, i);
	return source < w->sources && w->is_hip[source];
}

/* HIP's recorders do not number the recordings of an event: it may have been recorded once more. */
static bool may_be_recorded_again(const waits *w, uint32_t i)
{
	return is_thread(&w->t->wait, i) && is_of_hip(w, i);
}

/* When all that it can have waited for was launched: before the record, of an event. */
static int64_t entered_at(const waits *w, uint32_t i)
{
	const assay_wait_table *t = &w->t->wait;
	uint32_t record = t->record_host[i];
	return record == ASSAY_NO_ROW        ? t->ts[i] + t->dur[i]
	       : may_be_recorded_again(w, i) ? t->ts[i]
					     : assay_host_end(&w->t->host, record);
}

/* What ended before that holds nothing up: the work that is named is over, or a stream that
 * waits for an event waits for nothing, since all was over at the record, or its stream never
 * had work. */
static int64_t matters_from(const waits *w, uint32_t i)
{
	const assay_wait_table *t = &w->t->wait;
	uint32_t p = t->producer_gpu[i], record = t->record_host[i];
	bool streams = t->kind[i] == ASSAY_WAIT_STREAM_WAIT && record != ASSAY_NO_ROW;
	if (p == ASSAY_NO_ROW)
		return streams ? INT64_MAX : INT64_MIN;
	int64_t end = assay_gpu_end(&w->t->gpu, p);
	return streams && w->t->host.ts[record] > end ? w->t->host.ts[record] : end;
}

/* The sweep weighs what a default stream stands behind anyway. */
static bool is_of_default(const waits *w, uint32_t i)
{
	uint32_t track = w->t->wait.consumer[i];
	return track != ASSAY_NO_ROW &&
	       waits_legacy_track(w, assay_track_group(w->t, track),
				  (int32_t)w->t->track.pid[track]) == track;
}

/* Of work that was over at the record no time tells which was in front of it. A lost call can have
 * joined the stream to other work that ended later, if an event was recorded behind that. */
static bool may_be_joined(const waits_ends *e, uint32_t i)
{
	const assay_wait_table *t = &e->w->t->wait;
	uint32_t p = t->producer_gpu[i], record = t->record_host[i],
		 source = source_of_wait(e->w, i);
	if (t->kind[i] != ASSAY_WAIT_STREAM_WAIT || record == ASSAY_NO_ROW ||
	    (p == ASSAY_NO_ROW && is_of_default(e->w, i)))
		return false;
	int64_t end = p == ASSAY_NO_ROW ? INT64_MIN : assay_gpu_end(&e->w->t->gpu, p);
	const assay_mark *other = waits_open_record(e, source, key_of_record(e->w, i));
	waits_span after = {end, e->w->t->host.ts[record], other ? other->value : 0, p};
	return other && waits_ended(e, source, after);
}

/* HIP's streams are known by their addresses: one may be another stream's since calls that were not
 * recorded, if the wait for it did not last as long as the work did, or was as short as one for
 * nothing while the work ended. */
static bool may_be_another(const waits *w, uint32_t i)
{
	const assay_wait_table *t = &w->t->wait;
	uint32_t p = t->producer_gpu[i];
	if (t->kind[i] != ASSAY_WAIT_STREAM_SYNC || p == ASSAY_NO_ROW || !is_of_hip(w, i))
		return false;
	int64_t end = assay_gpu_end(&w->t->gpu, p);
	return end > over_at(w, i) || (end > t->ts[i] && t->dur[i] <= ASSAY_SWEEP_BARE);
}

/* Calls that were not recorded may have put more in front of a wait than is known, but nothing that
 * ended after the wait did counts, and nothing that was launched after the event's record. */
static bool may_miss_calls(const waits_ends *e, uint32_t i)
{
	const assay_wait_table *t = &e->w->t->wait;
	uint32_t p = t->producer_gpu[i], source = source_of_wait(e->w, i);
	waits_span after = {matters_from(e->w, i), over_at(e->w, i), entered_at(e->w, i), p};
	return !waits_is_whole(e->w, source, t->ts[i] + t->dur[i]) &&
	       (t->flags[i] & ASSAY_WAIT_UNSEEN || waits_ended(e, source, after) ||
		may_be_joined(e, i) || may_be_another(e->w, i));
}

/* Is this work the only one that can have ended the wait? One for a device is for all of its work,
 * though another device without work may wait for some of it.
 * Where the device is guessed, and no other has work, it may be for another one all the same: a
 * stream there may wait for an event of this one. */
static bool only_one_ended(const waits_ends *e, uint32_t i, int64_t usual)
{
	const assay_wait_table *t = &e->w->t->wait;
	uint32_t source = source_of_wait(e->w, i);
	int64_t over = t->ts[i] + t->dur[i];
	waits_span then = {over - usual, over, over, t->producer_gpu[i]};
	bool lone = t->kind[i] == ASSAY_WAIT_DEVICE_SYNC && source < e->w->sources &&
		    e->w->only_device[source] >= 0 &&
		    e->w->only_device[source] == e->w->called_on.p[i];
	if (lone && t->doubt[i] == ASSAY_WAIT_BY_PLACE) {
		uint64_t key = waits_key_at(e->w, source, t->ts[i], t->corr[i]);
		const assay_mark *record = waits_open_record(e, source, key);
		then.entered = record ? record->value : INT64_MIN;
		lone = false;
	}
	return lone || !waits_ended(e, source, then);
}

/* An event may be recorded when work starts, or by another process: then nothing here ended. */
static bool is_for_some_event(const assay_wait_table *t, uint32_t i)
{
	return t->kind[i] == ASSAY_WAIT_EVENT_SYNC && t->doubt[i] == ASSAY_WAIT_BY_TIME;
}

/* A long wait that ended with this work, when nothing else ended: whatever calls are missing, no
 * other can be it. */
static bool is_proved(const waits_ends *e, uint32_t i, int64_t usual)
{
	const assay_wait_table *t = &e->w->t->wait;
	uint32_t p = t->producer_gpu[i];
	int64_t over = t->ts[i] + t->dur[i];
	if (p == ASSAY_NO_ROW || t->doubt[i] == ASSAY_WAIT_BY_RACE || is_for_some_event(t, i) ||
	    t->flags[i] &
		    (ASSAY_WAIT_RACED | ASSAY_WAIT_UNSEEN | ASSAY_WAIT_EARLY | ASSAY_WAIT_IPC))
		return false;
	int64_t end = assay_gpu_end(&e->w->t->gpu, p);
	return end > t->ts[i] + usual && end <= over && end > over - usual &&
	       only_one_ended(e, i, usual);
}

/* A record that was over long after the work it is said to stand behind stands behind more. */
static bool record_was_late(const waits_ends *e, uint32_t i, int64_t usual)
{
	const waits *w = e->w;
	const assay_wait_table *t = &w->t->wait;
	uint32_t p = t->producer_gpu[i], source = source_of_wait(w, i);
	if (!w->t->barrier.n || !t->record_corr[i])
		return false;
	int64_t end = p == ASSAY_NO_ROW ? INT64_MIN : assay_gpu_end(&w->t->gpu, p);
	return waits_barrier_after(w, source, key_of_record(w, i), end) > usual;
}

static bool is_sync(uint8_t kind)
{
	return kind == ASSAY_WAIT_EVENT_SYNC || kind == ASSAY_WAIT_STREAM_SYNC ||
	       kind == ASSAY_WAIT_DEVICE_SYNC;
}

/* A copy waits for itself, whatever else is missing. */
static bool stands_behind_others(uint8_t kind)
{
	return is_sync(kind) || kind == ASSAY_WAIT_STREAM_WAIT || kind == ASSAY_WAIT_VALUE;
}

/* What devices did is put in order by their clocks. Work of another one is in front of a wait for
 * work of the wait's own device only if something joins the two. */
static bool may_be_of_another_device(const waits_ends *e, uint32_t i)
{
	const assay_wait_table *t = &e->w->t->wait;
	uint32_t p = t->producer_gpu[i], source = source_of_wait(e->w, i);
	if (p == ASSAY_NO_ROW)
		return false;
	bool own = t->kind[i] != ASSAY_WAIT_EVENT_SYNC && is_thread(t, i) &&
		   e->w->t->track.pid[e->w->t->gpu.track[p]] == e->w->called_on.p[i];
	const assay_mark *join =
		waits_open_record(e, source, waits_key_at(e->w, source, t->ts[i], t->corr[i]));
	int64_t entered = entered_at(e->w, i);
	if (own && join && join->value < entered)
		entered = join->value;
	return join && waits_other_device_ended(e, p, entered);
}

static void set_class(assay_wait_table *t, uint32_t i, assay_wait_class class, assay_wait_doubt why)
{
	t->class[i] = (uint8_t) class;
	t->doubt[i] = (uint8_t)why;
}

static void classify(const waits_ends *e, uint32_t i, int64_t usual)
{
	assay_wait_table *t = &e->w->t->wait;
	int64_t all = is_thread(t, i) ? t->dur[i] : t->delayed[i] + t->unexplained[i];
	if (e->w->said.p[i] || t->class[i] > ASSAY_WAIT_IS_LIKELY)
		return;
	bool likely = t->class[i] == ASSAY_WAIT_IS_LIKELY;
	if (t->unexplained[i] > all - t->unexplained[i])
		set_class(t, i, ASSAY_WAIT_IS_UNEXPLAINED, ASSAY_WAIT_BY_LEFT);
	else if (t->unexplained[i] > 0)
		set_class(t, i, ASSAY_WAIT_IS_LIKELY, ASSAY_WAIT_BY_LEFT);
	else if (t->flags[i] & ASSAY_WAIT_TIMES)
		set_class(t, i, ASSAY_WAIT_IS_LIKELY, ASSAY_WAIT_BY_CLOCKS);
	else if (record_was_late(e, i, usual))
		set_class(t, i, ASSAY_WAIT_IS_LIKELY, ASSAY_WAIT_BY_BARRIER);
	else if (likely && is_sync(t->kind[i]) && is_proved(e, i, usual))
		set_class(t, i, ASSAY_WAIT_IS_EXACT, ASSAY_WAIT_BY_NONE);
	else if (!likely && stands_behind_others(t->kind[i]) && may_miss_calls(e, i))
		set_class(t, i, ASSAY_WAIT_IS_LIKELY, ASSAY_WAIT_BY_LOSSES);
	else if (!likely && stands_behind_others(t->kind[i]) && may_be_of_another_device(e, i))
		set_class(t, i, ASSAY_WAIT_IS_LIKELY, ASSAY_WAIT_BY_CLOCKS);
}

static bool is_resolved(uint8_t class)
{
	return class <= ASSAY_WAIT_IS_AMBIGUOUS || class == ASSAY_WAIT_IS_UNEXPLAINED;
}

/* Our writer knew more calls than the file holds. Of the same work, or of none, its word stands;
 * where other work is found now, neither is certain. */
static void take_given(waits *w, uint32_t i)
{
	assay_wait_table *t = &w->t->wait;
	bool open = is_resolved(t->class[i]) || t->class[i] == ASSAY_WAIT_IS_LOST;
	if (t->host[i] == ASSAY_NO_ROW || !open ||
	    !(is_sync(t->kind[i]) || t->kind[i] == ASSAY_WAIT_STREAM_WAIT))
		return;
	waits_args a = waits_args_of(&w->args, w->run, w->t->host.args[t->host[i]]);
	uint32_t p = t->producer_gpu[i];
	bool same = a.awaited == (p == ASSAY_NO_ROW ? 0 : w->t->gpu.corr[p]);
	if (a.said && same && is_resolved(a.said - 1))
		set_class(t, i, a.said - 1, a.doubt);
	else if (a.said && t->class[i] == ASSAY_WAIT_IS_EXACT)
		set_class(t, i, ASSAY_WAIT_IS_LIKELY, ASSAY_WAIT_BY_FILE);
}

void waits_weigh(waits *w)
{
	assay_wait_table *t = &w->t->wait;
	assay_marks usual = learn_rests(w);
	waits_ends e;
	learn_usual(&usual);
	waits_ends_make(&e, w);
	for (uint32_t i = 0; i < t->n; i++) {
		int64_t soon = usual_of(&usual, place_of(w, i));
		t->unexplained[i] = unexplained_by(w, &e, i, soon);
		classify(&e, i, soon);
		if (w->given && !w->handles_only)
			take_given(w, i);
	}
	assay_vec_free(&usual.v);
	waits_ends_free(&e);
}

/* Two kernels and a wait for a stream that is said to have waited for the first. */
static assay_run *sync_that_returns(int64_t at)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	run->part.source = assay_add(t, ASSAY_T_source);
	uint32_t h = assay_hand_host(run, ASSAY_HOST_RUNTIME, "cudaLaunchKernel", 0, 900);
	t->api.corr[t->host.detail[h]] = 1;
	uint32_t g = assay_add(t, ASSAY_T_gpu);
	t->gpu.ts[g] = 1000;
	t->gpu.dur[g] = 999000;
	t->gpu.corr[g] = 1;
	t->gpu.track[g] = assay_stream_track(&run->part, 0, 13);
	t->gpu.name[g] = assay_sid_of(run, "k");
	uint32_t e = assay_hand_event_call(run, "cudaStreamSynchronize", 2, 2000, at - 2000);
	t->event_call.place[e] = t->gpu.track[g];
	assay_waits(run);
	return run;
}

TEST(a_wait_that_ended_with_its_work_is_explained)
{
	assay_run *run = sync_that_returns(1010000);
	CHECK(run->part.t.wait.n == 1 && run->part.t.wait.class[0] == ASSAY_WAIT_IS_EXACT);
	CHECK(run->part.t.wait.unexplained[0] == 0 && run->part.t.wait.producer_gpu[0] == 0);
	assay_run_free(run);
	return 0;
}

TEST(a_wait_that_went_on_after_its_work_is_not_exact)
{
	assay_run *run = sync_that_returns(1300000);
	CHECK_EQ(run->part.t.wait.class[0], ASSAY_WAIT_IS_LIKELY);
	CHECK_EQ(run->part.t.wait.unexplained[0], 100000); /* 300 us but for the most usual 200 */
	assay_run_free(run);
	run = sync_that_returns(9000000);
	CHECK_EQ(run->part.t.wait.class[0], ASSAY_WAIT_IS_UNEXPLAINED);
	CHECK(run->part.t.wait.producer_gpu[0] == 0 &&
	      run->part.issues[ASSAY_ISSUE_wait_unexplained] == 1);
	assay_run_free(run);
	return 0;
}

TEST(a_wait_that_ended_before_its_work_is_not_exact)
{
	assay_run *run = sync_that_returns(500000);
	CHECK_EQ(run->part.t.wait.class[0], ASSAY_WAIT_IS_LIKELY);
	CHECK(run->part.t.wait.flags[0] & ASSAY_WAIT_TIMES);
	assay_run_free(run);
	return 0;
}

/* A second kernel, on another stream, that ends at `end`. */
static uint8_t class_beside(int64_t end, bool whole)
{
	assay_run *run = sync_that_returns(1010000);
	assay_tables *t = &run->part.t;
	uint32_t g = assay_add(t, ASSAY_T_gpu);
	t->gpu.ts[g] = 500;
	t->gpu.dur[g] = end - 500;
	t->gpu.corr[g] = 9;
	t->gpu.track[g] = assay_stream_track(&run->part, 0, 14);
	if (whole) {
		uint32_t counts = assay_add(t, ASSAY_T_ledger);
		t->ledger.source[counts] = 0;
	}
	t->wait.n = t->edge.n = 0;
	assay_waits(run);
	uint8_t class = t->wait.class[0];
	assay_run_free(run);
	return class;
}

TEST(work_that_ended_between_makes_a_wait_unsure_unless_nothing_was_lost)
{
	CHECK_EQ(class_beside(900000, false), ASSAY_WAIT_IS_EXACT);
	CHECK_EQ(class_beside(1005000, false), ASSAY_WAIT_IS_LIKELY);
	CHECK_EQ(class_beside(1005000, true), ASSAY_WAIT_IS_EXACT);
	CHECK_EQ(class_beside(1500000, false), ASSAY_WAIT_IS_EXACT);
	return 0;
}

static uint32_t hand_call(assay_run *run, const char *name, int64_t ts, uint64_t corr)
{
	assay_tables *t = &run->part.t;
	uint32_t h = assay_hand_host(run, ASSAY_HOST_RUNTIME, name, ts, 1000);
	t->api.corr[t->host.detail[h]] = corr;
	t->host.track[h] = assay_thread_track(&run->part, 1, 1);
	return h;
}

static uint32_t hand_work_on(assay_run *run, int64_t device, int64_t stream, int64_t ts,
			     int64_t end, uint64_t corr)
{
	uint32_t g = assay_hand_gpu(run, "k", ts, end - ts, ASSAY_NO_ROW);
	run->part.t.gpu.corr[g] = corr;
	run->part.t.gpu.track[g] = assay_stream_track(&run->part, device, stream);
	hand_call(run, "cudaLaunchKernel", ts - 1000, corr);
	return run->part.t.gpu.track[g];
}

static void hand_work(assay_run *run, int64_t stream, int64_t ts, int64_t end, uint64_t corr)
{
	hand_work_on(run, 0, stream, ts, end, corr);
}

/* Stream 14 waits for an event recorded on stream 13. */
static uint32_t hand_sync(assay_run *run, const char *name, uint64_t corr, int64_t record)
{
	assay_sync_table *s = &run->part.t.sync;
	uint32_t i = assay_add(&run->part.t, ASSAY_T_sync);
	s->ts[i] = 400000;
	s->dur[i] = 1000;
	s->name[i] = assay_sid_of(run, name);
	s->track[i] = assay_stream_track(&run->part, 0, 14);
	s->corr[i] = corr;
	s->event[i] = record;
	s->record_corr[i] = record;
	s->wait_stream[i] = 13;
	return i;
}

static uint8_t class_of_call(const assay_run *run, uint64_t corr)
{
	const assay_wait_table *t = &run->part.t.wait;
	for (size_t i = 0; i < t->n; i++)
		if (t->corr[i] == corr)
			return t->class[i];
	return ASSAY_WAIT_CLASS_COUNT;
}

enum other { NOT_RECORDED, RECORDED, RECORDED_FOR_THREAD };

/* As Kineto writes it: stream 14 waits for an event recorded at that time, by the call with key 5,
 * on stream 13 behind work that ended at 200 us; work of stream 15 was launched with this key and
 * ends then; another event may be recorded with key 4. */
static uint8_t class_of_kineto_wait(uint64_t launched, int64_t end, int64_t recorded,
				    enum other other)
{
	assay_run *run = assay_run_new();
	run->part.source = assay_add(&run->part.t, ASSAY_T_source);
	hand_work(run, 13, 100000, 200000, 1);
	hand_work(run, 15, 90000 + (int64_t)launched * 10000, end, launched);
	hand_call(run, "cudaEventRecord", recorded, 5);
	if (other != NOT_RECORDED)
		hand_call(run, "cudaEventRecord", 130000, 4);
	hand_sync(run, "Stream Wait Event", 9, 5);
	if (other == RECORDED_FOR_THREAD)
		hand_sync(run, "Event Sync", 11, 4);
	hand_work(run, 14, 500000, 510000, 10);
	assay_waits(run);
	uint8_t class = class_of_call(run, 9);
	assay_run_free(run);
	return class;
}

TEST(a_wait_of_a_stream_that_a_lost_one_may_have_joined_to_later_work_is_not_exact)
{
	CHECK_EQ(class_of_kineto_wait(2, 300000, 140000, NOT_RECORDED), ASSAY_WAIT_IS_LIKELY);
	CHECK_EQ(class_of_kineto_wait(2, 190000, 140000, NOT_RECORDED),
		 ASSAY_WAIT_IS_EXACT); /* before */
	CHECK_EQ(class_of_kineto_wait(2, 600000, 140000, NOT_RECORDED),
		 ASSAY_WAIT_IS_EXACT); /* held nothing up */
	CHECK_EQ(class_of_kineto_wait(7, 300000, 140000, NOT_RECORDED),
		 ASSAY_WAIT_IS_EXACT); /* after the record */
	return 0;
}

TEST(what_was_over_at_the_record_is_exact_unless_a_lost_wait_had_an_event_to_meet)
{
	CHECK_EQ(class_of_kineto_wait(2, 300000, 350000, NOT_RECORDED), ASSAY_WAIT_IS_EXACT);
	CHECK_EQ(class_of_kineto_wait(2, 300000, 350000, RECORDED), ASSAY_WAIT_IS_LIKELY);
	CHECK_EQ(class_of_kineto_wait(2, 300000, 350000, RECORDED_FOR_THREAD), ASSAY_WAIT_IS_EXACT);
	CHECK_EQ(class_of_kineto_wait(2, 190000, 350000, RECORDED),
		 ASSAY_WAIT_IS_EXACT); /* before */
	CHECK_EQ(class_of_kineto_wait(7, 300000, 350000, RECORDED),
		 ASSAY_WAIT_IS_EXACT); /* after that event */
	return 0;
}

/* The default stream is waited for until 505 us; its own work ended at 490, that of a stream which
 * may be blocking then. */
static uint32_t waited_for_beside(int64_t end)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	run->part.source = assay_add(t, ASSAY_T_source);
	hand_work(run, 7, 100000, 490000, 1);
	hand_work(run, 13, 495000, end, 2);
	uint32_t e = assay_hand_event_call(run, "cudaStreamSynchronize", 3, 498000, 7000);
	t->event_call.place[e] = assay_stream_track(&run->part, 0, 7);
	assay_waits(run);
	uint32_t row = t->wait.n == 1 && t->wait.class[0] == ASSAY_WAIT_IS_LIKELY
			       ? t->wait.producer_gpu[0]
			       : ASSAY_NO_ROW;
	assay_run_free(run);
	return row;
}

TEST(clocks_that_disagree_explain_no_wait_that_can_do_without)
{
	CHECK_EQ(waited_for_beside(504000), 1);
	CHECK_EQ(waited_for_beside(508000), 0); /* 3 us after the call returned */
	return 0;
}

/* The default stream waits for stream 15, which is empty; before, some stream may have waited for
 * an event, and Kineto does not say which. Work of stream 13 ends then, and an event is recorded
 * behind it: `named` is the sync row that tells of it, or none. */
static uint8_t class_of_wait_for_empty(bool blind, const char *named, int64_t end)
{
	assay_run *run = assay_run_new();
	assay_sync_table *s = &run->part.t.sync;
	run->part.source = assay_add(&run->part.t, ASSAY_T_source);
	hand_work(run, 13, 100000, end, 1);
	hand_call(run, "cudaEventRecord", 210000, 2);
	hand_work(run, 7, 230000, 240000, 4);
	if (blind)
		hand_call(run, "cudaStreamWaitEvent", 250000, 5);
	hand_call(run, "cudaEventRecord", 260000, 6);
	uint32_t i = hand_sync(run, "Stream Wait Event", 9, 6);
	s->track[i] = assay_stream_track(&run->part, 0, 7);
	s->wait_stream[i] = 15;
	if (named) {
		i = hand_sync(run, named, 3, 2);
		s->track[i] = assay_stream_track(&run->part, 0, 7);
		s->ts[i] = 220000;
	}
	assay_waits(run);
	uint8_t class = class_of_call(run, 9);
	assay_run_free(run);
	return class;
}

TEST(a_stream_without_work_may_stand_behind_what_a_wait_without_a_row_waited_for)
{
	CHECK_EQ(class_of_wait_for_empty(false, "Event Sync", 200000), ASSAY_WAIT_IS_EXACT);
	CHECK_EQ(class_of_wait_for_empty(true, "Event Sync", 200000), ASSAY_WAIT_IS_LIKELY);
	CHECK_EQ(class_of_wait_for_empty(true, "Stream Wait Event", 200000), ASSAY_WAIT_IS_EXACT);
	CHECK_EQ(class_of_wait_for_empty(true, NULL, 300000), ASSAY_WAIT_IS_LIKELY); /* it runs */
	CHECK_EQ(class_of_wait_for_empty(true, NULL, 200000), ASSAY_WAIT_IS_EXACT);
	return 0;
}

/* Stream 14 waits for stream 15, which is empty. Work of stream 13 was over by then, and an event
 * recorded behind it: `named` is the sync row that tells of it, or none. */
static uint8_t class_beside_empty(const char *named, int64_t end, bool whole)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	run->part.source = assay_add(t, ASSAY_T_source);
	if (whole) {
		uint32_t counts = assay_add(t, ASSAY_T_ledger);
		t->ledger.source[counts] = 0;
	}
	uint32_t made = assay_add(t, ASSAY_T_stream);
	t->stream.source[made] = 0;
	t->stream.device[made] = 0;
	t->stream.id[made] = 15;
	t->stream.flags[made] = ASSAY_STREAM_NONBLOCKING;
	hand_work(run, 13, 100000, end, 1);
	hand_call(run, "cudaEventRecord", 210000, 2);
	hand_call(run, "cudaEventRecord", 260000, 6);
	uint32_t i = hand_sync(run, "Stream Wait Event", 9, 6);
	t->sync.wait_stream[i] = 15;
	if (named) {
		i = hand_sync(run, named, 3, 2);
		t->sync.ts[i] = 220000;
	}
	assay_waits(run);
	uint8_t class = class_of_call(run, 9);
	assay_run_free(run);
	return class;
}

TEST(a_stream_without_work_may_stand_behind_what_a_lost_wait_waited_for)
{
	static const struct {
		const char *named;
		int64_t end;
		bool whole;
		uint8_t class;
	} cases[] = {
		{"Stream Wait Event", 200000, false, ASSAY_WAIT_IS_LIKELY},
		{NULL, 200000, false, ASSAY_WAIT_IS_LIKELY}, /* who waits for it? */
		{NULL, 200000, true, ASSAY_WAIT_IS_EXACT},
		{"Event Sync", 200000, false, ASSAY_WAIT_IS_EXACT}, /* threads */
		{NULL, 300000, false, ASSAY_WAIT_IS_EXACT},         /* it runs on */
	};
	for (size_t i = 0; i < ASSAY_COUNT_OF(cases); i++)
		CHECK_EQ(class_beside_empty(cases[i].named, cases[i].end, cases[i].whole),
			 cases[i].class);
	return 0;
}

/* Stream 14 waits for work of stream 13 that ends at 200 us. Its own next work is launched by a
 * call at 150 us, which returns at `returned`, and starts at `start`; other work, launched in
 * between, ends at 880 us on that device, or is not there. */
static void late_start(int64_t returned, int64_t start, int64_t busy, uint8_t *class,
		       int64_t *unexplained)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	run->part.source = assay_add(t, ASSAY_T_source);
	hand_work(run, 13, 100000, 200000, 1);
	hand_call(run, "cudaEventRecord", 140000, 5);
	uint32_t wait = hand_sync(run, "Stream Wait Event", 9, 5);
	t->sync.ts[wait] = 145000;
	hand_work(run, 14, start, start + 10000, 10);
	t->host.ts[t->host.n - 1] = 150000;
	t->host.dur[t->host.n - 1] = returned - 150000;
	if (busy >= 0) {
		hand_work(run, 15, 300000, 880000, 11);
		t->gpu.track[t->gpu.n - 1] = assay_stream_track(&run->part, busy, 15);
	}
	assay_waits(run);
	*class = class_of_call(run, 9);
	*unexplained = t->wait.unexplained[0];
	assay_run_free(run);
}

TEST(work_that_starts_late_behind_a_wait_is_explained_by_its_call_or_a_busy_device)
{
	static const struct {
		int64_t returned, start, busy;
		uint8_t class;
		int64_t unexplained;
	} cases[] = {
		{151000, 230000, -1, ASSAY_WAIT_IS_EXACT, 0},
		{151000, 240000, -1, ASSAY_WAIT_IS_EXACT, 0}, /* as late as is usual */
		{151000, 250000, -1, ASSAY_WAIT_IS_EXACT, 0}, /* usual is learned: 4 x 50 us */
		{151000, 900000, -1, ASSAY_WAIT_IS_UNEXPLAINED, 500000}, /* 200 us at most */
		{890000, 900000, -1, ASSAY_WAIT_IS_EXACT, 0},            /* the call lasted */
		{151000, 900000, 0, ASSAY_WAIT_IS_EXACT, 0},             /* no room */
		{151000, 900000, 1, ASSAY_WAIT_IS_UNEXPLAINED, 500000},  /* of another device */
	};
	for (size_t i = 0; i < ASSAY_COUNT_OF(cases); i++) {
		uint8_t class;
		int64_t unexplained;
		late_start(cases[i].returned, cases[i].start, cases[i].busy, &class, &unexplained);
		CHECK_EQ(class, cases[i].class);
		CHECK_EQ(unexplained, cases[i].unexplained);
	}
	return 0;
}

/* As Kineto writes it, of device 1 alone there is work: in stream 113, then in 107. The first wait,
 * of device 0, is for a stream 13, nobody says of which device; the last for a record in 113. */
TEST(a_stream_that_only_a_guess_puts_on_a_device_is_not_its_default_stream)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	run->part.source = assay_add(t, ASSAY_T_source);
	hand_call(run, "cudaEventRecord", 50000, 1);
	hand_sync(run, "Stream Wait Event", 2, 1);
	uint32_t stream = hand_work_on(run, 1, 113, 100000, 200000, 3);
	hand_work_on(run, 1, 107, 210000, 300000, 4);
	hand_call(run, "cudaEventRecord", 320000, 5);
	uint32_t last = hand_sync(run, "Stream Wait Event", 6, 5);
	t->sync.track[last] = stream;
	t->sync.wait_stream[last] = 113;
	assay_waits(run);
	CHECK_EQ(class_of_call(run, 6), ASSAY_WAIT_IS_LIKELY);
	for (uint32_t i = 0; i < t->wait.n; i++)
		CHECK(t->wait.corr[i] != 6 || t->wait.doubt[i] == ASSAY_WAIT_BY_DEFAULT);
	assay_run_free(run);
	return 0;
}

/* Two works of device 0 end as a call returns that waits for this device, whose stream waits for
 * an event behind the first of them, or so it seems: nobody knows whether the second comes before,
 * too. */
static uint8_t class_of_device_sync(int64_t device)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	run->part.source = assay_add(t, ASSAY_T_source);
	hand_work(run, 7, 100000, 790000, 1);
	hand_work(run, 13, 100000, 795000, 2);
	hand_call(run, "cudaEventRecord", 300000, 5);
	uint32_t wait = hand_sync(run, "Stream Wait Event", 9, 5);
	t->sync.track[wait] = assay_stream_track(&run->part, device, 14);
	t->sync.wait_stream[wait] = 7;
	uint32_t h = hand_call(run, "cudaDeviceSynchronize", 500000, 10);
	t->host.dur[h] = 300000;
	uint32_t sync = hand_sync(run, "Context Sync", 10, -1);
	t->sync.ts[sync] = 500000;
	t->sync.dur[sync] = 300000;
	t->sync.event[sync] = t->sync.wait_stream[sync] = -1;
	t->sync.track[sync] = assay_stream_track(&run->part, device, -1);
	assay_waits(run);
	uint8_t class = class_of_call(run, 10);
	assay_run_free(run);
	return class;
}

TEST(a_device_without_work_waits_for_some_of_anothers_and_not_for_all)
{
	CHECK_EQ(class_of_device_sync(0), ASSAY_WAIT_IS_EXACT);
	CHECK_EQ(class_of_device_sync(1), ASSAY_WAIT_IS_LIKELY);
	return 0;
}
