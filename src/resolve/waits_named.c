/* Calls of which there is no row but their own: with arguments that say it all, or known by name
 * only. */
#include <string.h>

#include "base/test.h"
#include "model/by_hand.h"
#include "names/copies.h"
#include "resolve/resolve.h"
#include "resolve/waits_barriers.h"
#include "resolve/waits_homes.h"
#include "resolve/waits_places.h"
#include "resolve/waits_rec.h"

static void add_copy(waits *w, assay_call call, uint32_t h)
{
	const assay_tables *t = w->t;
	uint32_t source = waits_host_source(w, h);
	uint32_t g =
		assay_index_find(&w->gpus, assay_corr_key(source, t->api.corr[t->host.detail[h]]));
	if (g == ASSAY_NO_ROW)
		return;
	assay_str name = assay_text(w->run, t->gpu.name[g]);
	if (call.takes & ASSAY_CALL_ASYNC_COPY && !assay_copy_may_block(name))
		return; /* may well have ended within the call */
	assay_sweep_rec *r = waits_rec_add(w, ASSAY_OP_COPY, source, 0, 0);
	waits_rec_attach(w, r, h);
	r->flags |= call.flags;
	waits_rec_in(w, r, waits_home_of(w, g));
	if (call.takes & ASSAY_CALL_SYNC_COPY && assay_str_find(name, "DtoH") >= 0)
		r->flags |= ASSAY_REC_MUST_BLOCK;
}

/* Copies between devices that are not asynchronous are in turn with all streams of both, whatever
 * the name of the call. */
static bool is_everywhere(const waits *w, assay_call call, uint32_t h)
{
	uint32_t g = assay_index_find(
		&w->gpus, assay_corr_key(waits_host_source(w, h), assay_call_corr(w->t, h)));
	if (call.flags & ASSAY_REC_EVERYWHERE || g == ASSAY_NO_ROW)
		return call.flags & ASSAY_REC_EVERYWHERE;
	return !(call.takes & (ASSAY_CALL_ASYNC_COPY | ASSAY_CALL_STREAM)) &&
	       waits_may_be_between(w, g);
}

/* A record of nobody knows which event: no event's last record is certain from here on. */
static void add_blind_record(waits *w, uint32_t h)
{
	if (w->handles_only || w->call[w->t->host.name[h]].takes & ASSAY_CALL_LAUNCHES)
		return;
	assay_sweep_rec *r = waits_rec_add(w, ASSAY_OP_GAP, waits_host_source(w, h), 0, 0);
	waits_rec_attach(w, r, h);
}

/* A call that puts something into its stream of which no more is known, such as a launch whose work
 * was not recorded (UNSEEN). */
static assay_sweep_rec *add_in_stream(waits *w, assay_sweep_op op, uint32_t h, const waits_args *a)
{
	uint32_t source = waits_host_source(w, h);
	assay_sweep_rec *r = waits_rec_add(w, op, source, 0, 0);
	assay_call call = waits_part_of(w->call[w->t->host.name[h]], op);
	waits_rec_attach(w, r, h);
	r->flags |= call.flags | (waits_may_record(w, h) ? ASSAY_REC_MAY_RECORD : 0);
	waits_rec_fail(r, a->status);
	waits_rec_place(w, r, source, call, a);
	if (r->flags & ASSAY_REC_GUESSED) { /* it may be in any */
		r->stream = ASSAY_NO_HANDLE;
		r->track = ASSAY_NO_ROW;
	}
	return r;
}

/* Which threads were capturing when: what they launched then ran later, in a graph. */
static assay_marks find_captures(const waits *w)
{
	const assay_tables *t = w->t;
	assay_marks m = {0};
	for (size_t k = 0; k < w->call_rows.n; k++) {
		uint32_t h = w->call_rows.p[k];
		assay_sweep_op op = w->call[t->host.name[h]].op;
		if (op == ASSAY_OP_CAPTURE_BEGIN || op == ASSAY_OP_CAPTURE_END)
			*assay_push(&m.v) = (assay_mark){t->host.track[h], waits_host_key(w, h),
							 op == ASSAY_OP_CAPTURE_BEGIN, 0};
	}
	assay_marks_sort(&m);
	return m;
}

/* Only between calls that are both known: one of them may have been lost. */
static bool was_capturing(const assay_marks *captures, uint32_t thread, uint64_t key)
{
	const assay_mark *before = assay_mark_before(captures, thread, key);
	const assay_mark *after = assay_mark_after(captures, thread, key);
	return before && before->value && after && !after->value;
}

/* Calls of a capture from before the recording are taken for what they are not. */
static void distrust_captures(waits *w, const assay_marks *captures)
{
	for (size_t i = 0; i < captures->v.n; i++) {
		const assay_mark *m = &captures->v.p[i];
		uint32_t source = assay_track_group(w->t, (uint32_t)m->place);
		if (!m->value && !assay_mark_before(captures, m->place, m->key))
			waits_whole_until(w, source, INT64_MIN);
	}
}

/* Fills of no bytes have no work, and are common. Where a recorder lost none, one without work is
 * such a fill, and elsewhere one that returned before anything could be queued. */
static bool fills_nothing(const waits *w, uint32_t h)
{
	enum { QUEUED = 2000 }; /* ns that it takes at least */
	uint32_t source = waits_host_source(w, h);
	bool counted = source < w->sources && w->has_calls[source] &&
		       waits_is_whole(w, source, w->t->host.ts[h]);
	return w->call[w->t->host.name[h]].flags & ASSAY_REC_FILL &&
	       (counted || w->t->host.dur[h] < QUEUED);
}

/* Does something enter a stream with this call that should be among the work? */
static bool is_unseen(const waits *w, uint32_t h)
{
	assay_call call = w->call[w->t->host.name[h]];
	uint64_t corr = assay_call_corr(w->t, h);
	uint64_t place = assay_corr_key(waits_host_source(w, h), corr);
	if (!corr || assay_index_find(&w->gpus, place) != ASSAY_NO_ROW)
		return false;
	if (call.op == ASSAY_OP_UNSEEN)
		return assay_map_get(&w->told, place) == ASSAY_MAP_ABSENT;
	return call.takes & (ASSAY_CALL_LAUNCHES | ASSAY_CALL_QUEUES) && !fills_nothing(w, h);
}

/* Did the call put its work into a graph, to run later? Of a stream that is named the sweep knows
 * whether it captures. One that is not may be another, whose work a recorder that counts its losses
 * has lost. */
static bool is_captured(const waits *w, const assay_marks *captures, uint32_t h,
			const waits_args *a)
{
	uint32_t source = waits_host_source(w, h);
	bool lost = source < w->sources && w->has_calls[source] &&
		    !waits_is_whole(w, source, w->t->host.ts[h]);
	return !a->has_stream && !lost &&
	       was_capturing(captures, w->t->host.track[h], waits_host_key(w, h));
}

/* How many captures of each process are open after which call. */
static assay_marks count_captures(const waits *w, const assay_marks *of_threads)
{
	assay_marks m = {0};
	for (size_t i = 0; i < of_threads->v.n; i++) {
		assay_mark at = of_threads->v.p[i];
		at.place = assay_track_group(w->t, (uint32_t)at.place);
		*assay_push(&m.v) = at;
	}
	assay_marks_sort(&m);
	int64_t open = 0;
	for (size_t i = 0; i < m.v.n; i++) {
		bool first = !i || m.v.p[i - 1].place != m.v.p[i].place;
		open = (first ? 0 : open) + (m.v.p[i].value ? 1 : -1);
		m.v.p[i].value = open = open > 0 ? open : 0;
	}
	return m;
}

/* Does it put what no profiler shows as work into a graph? */
static bool hides_in_graph(const waits *w, const assay_marks *open, uint32_t h)
{
	assay_sweep_op op = w->call[w->t->host.name[h]].op;
	const assay_mark *m =
		assay_mark_before(open, waits_host_source(w, h), waits_host_key(w, h));
	return op == ASSAY_OP_GRAPH_HIDES ||
	       (m && m->value &&
		(op == ASSAY_OP_HOST_FUNC || op == ASSAY_OP_UNSEEN || op == ASSAY_OP_WAIT_VALUE));
}

/* Work of which the call was lost may be a graph's. */
static void add_hidden_by_lost(waits *w, const uint64_t *since)
{
	size_t n = w->recs.n;
	for (size_t i = 0; i < n; i++) {
		assay_sweep_rec unseen = w->recs.p[i];
		if (unseen.op != ASSAY_OP_LAUNCH || unseen.thread != ASSAY_NO_ROW ||
		    unseen.track == ASSAY_NO_ROW)
			continue;
		uint32_t source = assay_track_group(w->t, unseen.track);
		if (source >= w->sources || unseen.key < since[source])
			continue;
		unseen.op = ASSAY_OP_UNSEEN;
		unseen.exit = unseen.enter;
		unseen.row = ASSAY_NO_ROW;
		*assay_push(&w->recs) = unseen;
	}
}

/* Which graph it is in is not followed: any that is launched later may end with it. */
static void add_hidden(waits *w, const assay_marks *of_threads)
{
	assay_marks open = count_captures(w, of_threads);
	uint64_t *since = assay_alloc(&w->scratch, (w->sources + 1) * sizeof *since);
	memset(since, 0xff, (w->sources + 1) * sizeof *since);
	for (size_t k = 0; k < w->call_rows.n; k++) {
		uint32_t h = w->call_rows.p[k], source = waits_host_source(w, h);
		if (source < w->sources && hides_in_graph(w, &open, h) &&
		    waits_host_key(w, h) < since[source])
			since[source] = waits_host_key(w, h);
	}
	for (size_t k = 0; k < w->call_rows.n; k++) {
		uint32_t h = w->call_rows.p[k], source = waits_host_source(w, h);
		if (w->call[w->t->host.name[h]].op != ASSAY_OP_LAUNCH_GRAPH ||
		    source >= w->sources || waits_host_key(w, h) < since[source])
			continue;
		waits_args a = waits_args_of(&w->args, w->run, w->t->host.args[h]);
		uint32_t g = assay_index_find(&w->gpus,
					      assay_corr_key(source, assay_call_corr(w->t, h)));
		if (g != ASSAY_NO_ROW)
			waits_rec_in(w, add_in_stream(w, ASSAY_OP_UNSEEN, h, &a),
				     waits_home_of(w, g));
	}
	add_hidden_by_lost(w, since);
	assay_vec_free(&open.v);
}

void waits_add_unseen_work(waits *w)
{
	assay_marks captures = find_captures(w);
	distrust_captures(w, &captures);
	for (size_t k = 0; k < w->call_rows.n; k++) {
		uint32_t h = w->call_rows.p[k];
		if (!is_unseen(w, h))
			continue;
		waits_args a = waits_args_of(&w->args, w->run, w->t->host.args[h]);
		if (!is_captured(w, &captures, h, &a))
			add_in_stream(w, ASSAY_OP_UNSEEN, h, &a);
	}
	add_hidden(w, &captures);
	assay_vec_free(&captures.v);
}

/* Where graphs are not followed (waits_graphs.c does it for captures), an event in one may be
 * recorded by any launch. */
void waits_add_graph_doubts(waits *w)
{
	const assay_tables *t = w->t;
	for (size_t k = 0; k < w->call_rows.n; k++) {
		uint32_t h = w->call_rows.p[k];
		assay_call call = w->call[t->host.name[h]];
		uint32_t source = waits_host_source(w, h);
		if ((call.op != ASSAY_OP_GRAPH_RECORD && call.op != ASSAY_OP_GRAPH_SET_RECORD &&
		     call.op != ASSAY_OP_RECORD) ||
		    source >= w->sources || w->has_calls[source] || !t->host.args[h])
			continue;
		waits_args a = waits_args_of(&w->args, w->run, t->host.args[h]);
		bool external = call.op == ASSAY_OP_RECORD && a.flags & 1;
		if (!a.has_event || (call.op == ASSAY_OP_RECORD && !external))
			continue;
		assay_sweep_rec *r = waits_rec_add(w, ASSAY_OP_IN_GRAPH, source, 0, 0);
		waits_rec_attach(w, r, h);
		r->event = a.event;
	}
}

/* Something enters a stream, and the call does not say which. */
static void add_unplaced(waits *w, assay_sweep_op op, uint32_t h)
{
	waits_rec_attach(w, waits_rec_add(w, op, waits_host_source(w, h), 0, 0), h);
}

/* Calls that say nothing of what they wait for still say how long. */
static bool waits_blindly(assay_sweep_op op)
{
	return op == ASSAY_OP_WAIT || op == ASSAY_OP_EVENT_SYNC || op == ASSAY_OP_STREAM_SYNC ||
	       op == ASSAY_OP_DEVICE_SYNC;
}

void waits_add_named_calls(waits *w)
{
	const assay_tables *t = w->t;
	for (size_t k = 0; k < w->call_rows.n; k++) {
		uint32_t h = w->call_rows.p[k];
		assay_call call = w->call[t->host.name[h]];
		bool driver = t->host.kind[h] == ASSAY_HOST_DRIVER;
		if (!waits_orders(call) || call.op == ASSAY_OP_UNSEEN)
			continue;
		uint32_t source = waits_host_source(w, h);
		uint64_t corr = t->api.corr[t->host.detail[h]];
		if (!corr ||
		    assay_map_get(&w->told, assay_corr_key(source, corr)) != ASSAY_MAP_ABSENT)
			continue;
		if (call.op == ASSAY_OP_COPY) {
			if (!driver)
				add_copy(w, call, h);
			if (is_everywhere(w, call, h))
				add_unplaced(w, ASSAY_OP_UNSEEN, h);
			continue;
		}
		waits_args a = waits_args_of(&w->args, w->run, t->host.args[h]);
		/* most are made by a runtime call that tells the same */
		if (driver && !a.has_stream && !a.has_event)
			continue;
		bool enough = call.op == ASSAY_OP_DEVICE_SYNC || call.op == ASSAY_OP_DRAIN ||
			      (call.takes & ASSAY_CALL_EVENT ? a.has_event : a.has_stream);
		if (enough) {
			assay_sweep_rec *r = waits_rec_call(w, source, call, h, &a);
			if (r)
				waits_rec_place(w, r, source, call, &a);
			assay_call starts = waits_part_of(call, ASSAY_OP_RECORD);
			if (a.start_event)
				waits_rec_place(w, waits_rec_start(w, source, starts, h, &a),
						source, starts, &a);
		} else if (waits_barrier_of(w, source, waits_host_key(w, h)) != ASSAY_NO_ROW)
			waits_add_barrier(w, waits_barrier_of(w, source, waits_host_key(w, h)), h);
		else if (call.op == ASSAY_OP_RECORD)
			add_blind_record(w, h);
		else if (call.op == ASSAY_OP_WRITE_VALUE) /* nobody knows what */
			add_in_stream(w, ASSAY_OP_COMMAND, h, &a);
		else if (call.op == ASSAY_OP_HOST_FUNC || call.op == ASSAY_OP_WAIT_VALUE)
			add_unplaced(w, ASSAY_OP_UNSEEN, h);
		else if (call.op == ASSAY_OP_POOL_FREE || call.op == ASSAY_OP_POOL_ALLOC ||
			 call.op == ASSAY_OP_IPC_OPEN || call.op == ASSAY_OP_IPC_EXPORT ||
			 call.op == ASSAY_OP_STREAM_DESTROY)
			add_unplaced(w, call.op, h);
		else if (waits_blindly(call.op)) {
			assay_sweep_rec *r = waits_rec_add(w, call.op, source, 0, 0);
			waits_rec_attach(w, r, h);
			if (call.op == ASSAY_OP_WAIT)
				waits_whole_until(w, source, r->enter);
			if (call.op == ASSAY_OP_WAIT || call.op == ASSAY_OP_EVENT_SYNC)
				waits_rec_blind(r);
		}
	}
}

/* A thread captures stream 13 and launches a kernel meanwhile, into which stream is not recorded;
 * another one waits for stream 14. The recorder lost so many kernels. */
static assay_wait_doubt doubt_beside_capture(uint64_t lost)
{
	static const struct {
		const char *name;
		int64_t stream; /* number; 0: not among the calls with handles */
	} calls[] = {{"cudaLaunchKernel", 0},
		     {"cudaStreamBeginCapture", 13},
		     {"cudaLaunchKernel", 0},
		     {"cudaStreamEndCapture", 13},
		     {"cudaStreamSynchronize", 14}};
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	run->part.source = assay_add(t, ASSAY_T_source);
	uint32_t counts = assay_add(t, ASSAY_T_ledger);
	t->ledger.source[counts] = 0;
	t->ledger.kind[counts] = assay_sid_of(run, "kernels");
	t->ledger.dropped[counts] = lost;
	for (uint32_t i = 0; i < ASSAY_COUNT_OF(calls); i++) {
		int64_t at = 10000 * (int64_t)i;
		uint32_t h = assay_hand_host(run, ASSAY_HOST_RUNTIME, calls[i].name, at, 1000);
		t->api.corr[t->host.detail[h]] = i + 1;
		if (!calls[i].stream)
			continue;
		uint32_t e = assay_hand_event_call(run, calls[i].name, i + 1, at, 1000);
		t->event_call.stream[e] = 0x100 * (uint64_t)calls[i].stream;
		t->event_call.place[e] = assay_stream_track(&run->part, 0, calls[i].stream);
	}
	uint32_t g = assay_hand_gpu(run, "k", 5000, 10000, ASSAY_NO_ROW);
	t->gpu.corr[g] = 1;
	t->gpu.track[g] = assay_stream_track(&run->part, 0, 14);
	assay_waits(run);
	assay_wait_doubt why = t->wait.n == 1 ? t->wait.doubt[0] : ASSAY_WAIT_DOUBT_COUNT;
	assay_run_free(run);
	return why;
}

TEST(a_launch_beside_a_capture_may_be_of_another_stream_where_work_was_lost)
{
	CHECK_EQ(doubt_beside_capture(0), ASSAY_WAIT_BY_NONE);
	CHECK_EQ(doubt_beside_capture(1), ASSAY_WAIT_BY_UNSEEN);
	return 0;
}
