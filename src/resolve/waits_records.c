/* From a run's tables to the sweep's records. One small adapter per source of knowledge: GPU rows,
 * recorded streams and calls with handles here; the recorders' own rows of events and waits in
 * waits_rows.c, barriers in waits_barriers.c, other calls in waits_named.c. */
#include "base/test.h"
#include "model/by_hand.h"
#include "resolve/resolve.h"
#include "resolve/waits_barriers.h"
#include "resolve/waits_graphs.h"
#include "resolve/waits_homes.h"
#include "resolve/waits_places.h"
#include "resolve/waits_races.h"
#include "resolve/waits_rec.h"

/* A launch on several devices may be told not to synchronize them before (1) or after (2). */
static bool waits_for_all(waits *w, uint32_t h)
{
	waits_args a = waits_args_of(&w->args, w->run, w->t->host.args[h]);
	return !(a.flags & 3);
}

/* HIP's flag, where the arguments have it (our recorder does not keep it); CUDA's attributes, of
 * which no argument tells. */
static bool may_overtake(waits *w, uint32_t h)
{
	assay_call call = w->call[w->t->host.name[h]];
	if (call.op != ASSAY_OP_RECORD || !(call.takes & ASSAY_CALL_LAUNCHES))
		return call.flags & ASSAY_REC_MAY_RECORD && call.op != ASSAY_OP_LAUNCH_GRAPH;
	waits_args a = waits_args_of(&w->args, w->run, w->t->host.args[h]);
	return !a.has_event || a.flags & 1;
}

/* AMD shows the stream of the launch, and our recorder tells it. */
static bool may_be_branch(const waits *w, uint32_t source, uint32_t h)
{
	bool told = source < w->sources && (w->is_hip[source] || w->has_calls[source]);
	return w->call[w->t->host.name[h]].op == ASSAY_OP_LAUNCH_GRAPH && !told;
}

/* It may be in a stream of another device. */
static void add_homeless(waits *w, uint32_t g, uint64_t key)
{
	uint32_t source = assay_track_group(w->t, w->t->gpu.track[g]);
	assay_sweep_rec *r =
		waits_rec_add(w, ASSAY_OP_UNSEEN, source, w->t->gpu.corr[g], w->t->gpu.ts[g]);
	r->key = key;
	r->device = -1;
}

static void add_launches(waits *w)
{
	const assay_tables *t = w->t;
	size_t n = 0;
	for (uint32_t g = 0; g < t->gpu.n; g++)
		n += waits_may_ask(w, assay_track_group(t, t->gpu.track[g]));
	assay_vec_reserve(&w->recs, w->recs.n + n);
	for (uint32_t g = 0; g < t->gpu.n; g++) {
		uint32_t source = assay_track_group(t, t->gpu.track[g]);
		if (!t->gpu.corr[g] || !waits_may_ask(w, source))
			continue;
		uint32_t h = assay_index_find(&w->calls, assay_corr_key(source, t->gpu.corr[g]));
		assay_sweep_rec *r =
			waits_rec_add(w, ASSAY_OP_LAUNCH, source, t->gpu.corr[g],
				      h == ASSAY_NO_ROW ? t->gpu.ts[g] : t->host.ts[h]);
		if (h != ASSAY_NO_ROW) {
			r->scope = waits_scope_of_thread(w, t->host.track[h]);
			r->thread = t->host.track[h];
			r->arg = (uint64_t)t->host.ts[h];
			r->event = (uint64_t)assay_host_end(&t->host, h);
			uint32_t how = w->call[t->host.name[h]].flags;
			r->flags |= waits_may_record(w, h) ? ASSAY_REC_MAY_RECORD : 0;
			if (how & ASSAY_REC_TOGETHER && waits_for_all(w, h))
				r->flags |= ASSAY_REC_TOGETHER;
			r->flags |= may_be_branch(w, source, h) ? ASSAY_REC_BRANCH : 0;
			r->flags |= may_overtake(w, h) ? ASSAY_REC_ANY_ORDER : 0;
		}
		r->enter = t->gpu.ts[g];
		r->exit = assay_gpu_end(&t->gpu, g);
		r->row = g;
		waits_rec_in(w, r, waits_home_of(w, g));
		if (waits_is_homeless(w, g))
			add_homeless(w, g, r->key);
	}
}

/* The call that gave it back may not have been recorded. */
static void add_end_of_stream(waits *w, uint32_t track, int64_t ts)
{
	uint32_t source = assay_track_group(w->t, track);
	uint64_t key = ts ? waits_key_by(w, source, ts) : UINT64_MAX;
	if (key == UINT64_MAX || !waits_has_number(w, track))
		return;
	assay_sweep_rec *r = waits_rec_add(w, ASSAY_OP_STREAM_DESTROY, source, 0, ts);
	r->key = key;
	waits_rec_in(w, r, track);
}

static void add_streams(waits *w)
{
	const assay_stream_table *s = &w->t->stream;
	uint32_t was = w->run->part.source;
	for (uint32_t i = 0; i < s->n; i++) {
		uint32_t group = assay_group_of(w->t, s->source[i]);
		w->run->part.source = s->source[i];
		int32_t device =
			s->device[i] >= 0 ? s->device[i] : waits_made_on(w, group, s->handle[i]);
		uint32_t track = assay_stream_track(&w->run->part, device, s->id[i]);
		assay_sweep_rec *r = waits_rec_add(w, ASSAY_OP_STREAM_CREATE, group, 0, 0);
		waits_rec_in(w, r, track);
		r->stream = s->handle[i];
		r->flags = (r->flags & ASSAY_REC_WINDOW) |
			   (s->flags[i] & ASSAY_STREAM_DEFAULT ? ASSAY_REC_LEGACY : 0u) |
			   (s->flags[i] & ASSAY_STREAM_NONBLOCKING ? ASSAY_REC_NONBLOCKING : 0u);
		if (s->flags[i] & ASSAY_STREAM_DEFAULT)
			waits_learn_legacy(w, group, track);
		else if (s->handle[i] > 2)
			waits_learn_handle(w, group, i, track);
		if (s->handle[i] <= 2)
			add_end_of_stream(w, track, s->destroyed[i]);
	}
	w->run->part.source = was;
	assay_marks_sort(&w->made);
	waits_end_at_address(w);
	for (size_t i = 0; i < w->made.v.n; i++)
		add_end_of_stream(w, (uint32_t)w->made.v.p[i].value, w->made.v.p[i].other);
}

/* Does a row of another kind say more about this call? Creation and the like are only told here. */
static bool is_told(const waits *w, uint32_t source, uint64_t corr, assay_sweep_op op)
{
	return op >= ASSAY_OP_RECORD && op <= ASSAY_OP_STREAM_QUERY &&
	       assay_map_get(&w->told, assay_corr_key(source, corr)) != ASSAY_MAP_ABSENT;
}

/* hip: two bits say what is compared, the others which bits of the word are not. */
static waits_args args_of_row(const assay_event_call_table *e, uint32_t i, assay_call call,
			      bool hip)
{
	bool launches = call.takes & ASSAY_CALL_LAUNCHES && call.op != ASSAY_OP_LAUNCH_GRAPH;
	bool word = call.op == ASSAY_OP_WAIT_VALUE;
	return (waits_args){.stream = e->stream[i],
			    .event = e->event[i],
			    .start_event = launches ? e->arg[i] : 0,
			    .value = e->arg[i],
			    .flags = word ? e->more[i] : e->arg[i],
			    .masked = word && hip ? e->more[i] >> 2 : 0,
			    .status = e->status[i],
			    .has_stream = true,
			    .has_event = true};
}

/* Where and when, as the row says. */
static void place_row(waits *w, assay_sweep_rec *r, uint32_t i, assay_call call,
		      const waits_args *a)
{
	const assay_event_call_table *e = &w->t->event_call;
	uint32_t source = assay_track_group(w->t, e->track[i]);
	if (r->row == ASSAY_NO_ROW) {
		r->key = waits_key_at(w, source, e->ts[i], e->corr[i]);
		r->enter = e->ts[i];
		r->exit = r->enter + (e->dur[i] > 0 ? e->dur[i] : 0);
		r->thread = e->track[i];
		r->scope = waits_scope_of_thread(w, e->track[i]);
	}
	bool streams = call.takes & ASSAY_CALL_STREAM;
	/* the context is the call's, which works on streams of others too */
	bool elsewhere = streams && call.op != ASSAY_OP_STREAM_CREATE && a->stream > 2 &&
			 !waits_has_number(w, e->place[i]);
	bool told = e->place[i] != ASSAY_NO_ROW && !elsewhere &&
		    (streams || call.op == ASSAY_OP_DEVICE_SYNC);
	if (!told) {
		waits_rec_place(w, r, source, call, a);
	} else {
		int32_t device = (int32_t)w->t->track.pid[e->place[i]];
		waits_rec_place_on(w, r, source, call, a, (waits_device){device, false});
		waits_rec_in(w, r, e->place[i]);
	}
	waits_tell(w, source, e->corr[i]);
}

static void add_event_call(waits *w, uint32_t i)
{
	const assay_event_call_table *e = &w->t->event_call;
	uint32_t source = assay_track_group(w->t, e->track[i]);
	uint32_t h = assay_index_find(&w->calls, assay_corr_key(source, e->corr[i]));
	assay_call call = w->call[e->name[i]];
	waits_args a = args_of_row(e, i, call, source < w->sources && w->is_hip[source]);
	uint32_t by = assay_map_get(&w->told, assay_corr_key(source, e->corr[i]));
	bool again = call.op == ASSAY_OP_RECORD && by == WAITS_TOLD_BY_NUMBER;
	bool told = !again && is_told(w, source, e->corr[i], call.op);
	assay_call starts = waits_part_of(call, ASSAY_OP_RECORD);
	if (a.start_event)
		place_row(w, waits_rec_start(w, source, starts, h, &a), i, starts, &a);
	if (!waits_orders(call) || told || call.op == ASSAY_OP_COPY)
		return; /* of copies waits_add_named_calls() has more to tell */
	assay_sweep_rec *r = waits_rec_call(w, source, call, h, &a);
	if (!r)
		return;
	r->flags |= again ? ASSAY_REC_AGAIN : 0;
	place_row(w, r, i, call, &a);
}

static void add_event_calls(waits *w)
{
	for (uint32_t i = 0; i < w->t->event_call.n; i++)
		add_event_call(w, i);
}

static void add_graph_events(waits *w)
{
	waits_nodes nodes = waits_graph_events(w);
	for (size_t k = 0; k < nodes.v.n; k++) {
		const waits_node *n = &nodes.v.p[k];
		uint32_t i = n->launch;
		assay_call call = waits_part_of(w->call[w->t->event_call.name[i]],
						n->waits ? ASSAY_OP_WAIT_INSIDE : ASSAY_OP_RECORD);
		waits_args a = args_of_row(&w->t->event_call, i, call, false);
		a.event = n->event;
		a.flags = 0;
		uint32_t h = assay_index_find(&w->calls,
					      assay_corr_key(n->source, w->t->event_call.corr[i]));
		assay_sweep_rec *r = waits_rec_call(w, n->source, call, h, &a);
		place_row(w, r, i, call, &a);
		if (!n->waits)
			waits_rec_doubt_inside(w, r);
	}
	assay_vec_free(&nodes.v);
}

/* Calls that no lost call can have changed. Not waits inside of graphs: what is in one may have
 * been changed in more ways than are followed. And events of which no record can be lost. */
static void trust_whole(waits *w)
{
	for (size_t i = 0; i < w->recs.n; i++) {
		assay_sweep_rec *r = &w->recs.p[i];
		if (r->op == ASSAY_OP_LAUNCH || r->op == ASSAY_OP_WAIT_INSIDE ||
		    r->thread == ASSAY_NO_ROW)
			continue;
		uint32_t source = assay_track_group(w->t, r->thread);
		if (r->op == ASSAY_OP_CREATE)
			r->arg = (uint64_t)waits_whole_after(w, source, r->key);
		else if (waits_is_whole(w, source, r->exit))
			r->flags |= ASSAY_REC_WHOLE;
	}
}

/* Stretches in which recording was off. */
static void add_dark(waits *w)
{
	for (size_t i = 0; i < w->dark.v.n; i++) {
		const assay_mark *m = &w->dark.v.p[i];
		assay_sweep_rec *r =
			waits_rec_add(w, ASSAY_OP_DARK, (uint32_t)m->place, 0, m->value);
		r->key = m->key;
	}
}

/* Where a call may have been lost, a capture that is not seen to end may be over at any time. */
static void doubt_captures(waits *w)
{
	assay_marks m = {0};
	for (size_t i = 0; i < w->recs.n; i++) {
		const assay_sweep_rec *r = &w->recs.p[i];
		bool begins = r->op == ASSAY_OP_CAPTURE_BEGIN;
		uint64_t in = r->track != ASSAY_NO_ROW ? r->track : r->stream ^ 1ull << 63;
		if (begins || r->op == ASSAY_OP_CAPTURE_END)
			*assay_push(&m.v) = (assay_mark){in * 0x9E3779B97F4A7C15u + r->scope,
							 r->key, begins, (int64_t)i};
	}
	assay_marks_sort(&m);
	for (size_t i = 0; i < m.v.n; i++) {
		assay_sweep_rec *r = &w->recs.p[m.v.p[i].other];
		const assay_mark *next = assay_mark_after(&m, m.v.p[i].place, m.v.p[i].key);
		bool ends = next && !next->value;
		if (m.v.p[i].value && !ends && r->thread != ASSAY_NO_ROW &&
		    !waits_is_whole(w, assay_track_group(w->t, r->thread), INT64_MAX - 1))
			r->flags |= ASSAY_REC_OUTSIDE;
	}
	assay_vec_free(&m.v);
}

static void doubt_clocks(waits *w)
{
	for (size_t i = 0; i < w->recs.n; i++) {
		assay_sweep_rec *r = &w->recs.p[i];
		if (r->op == ASSAY_OP_DEVICE_SYNC && r->thread != ASSAY_NO_ROW)
			r->arg = (uint64_t)waits_ahead_any(w, assay_track_group(w->t, r->thread),
							   r->exit);
		int64_t behind = r->op == ASSAY_OP_COPY && r->track != ASSAY_NO_ROW
					 ? waits_behind(w, r->track, r->exit)
					 : 0;
		if (behind) /* by more than is seen: no launch takes no time */
			r->arg = (uint64_t)behind + WAITS_CLOCKS;
	}
}

static void guess_legacy(waits *w)
{
	waits_guess_legacy(w);
	for (size_t i = 0; w->perhaps.n && i < w->recs.n; i++) {
		assay_sweep_rec *r = &w->recs.p[i];
		if (r->track != ASSAY_NO_ROW && waits_may_be_legacy(w, r->track))
			r->flags |= ASSAY_REC_LEGACY | ASSAY_REC_PERHAPS;
	}
}

/* By device of a process: its context, or that there are several. */
static uint32_t *context_of(assay_map *m, uint32_t source, int64_t device)
{
	return assay_map_at(m, (uint64_t)source << 32 | (uint32_t)device);
}

/* True: another one was seen on the device. */
static bool note_context(assay_map *m, uint32_t source, int64_t device, uint32_t context)
{
	uint32_t *slot = context_of(m, source, device);
	if (context == UINT32_MAX || device < 0)
		return false;
	bool first = *slot == ASSAY_MAP_ABSENT, other = !first && *slot != context;
	*slot = other ? WAITS_SEVERAL : context;
	return other;
}

/* CUDA's contexts have default streams of their own, and a wait for the device is for the context
 * of the call. Where a device has several, whose a stream is is not followed. */
static void doubt_contexts(waits *w)
{
	const assay_stream_table *s = &w->t->stream;
	const assay_sync_table *y = &w->t->sync;
	assay_map contexts = {0};
	bool several = false;
	for (uint32_t i = 0; i < s->n; i++)
		several |= note_context(&contexts, assay_group_of(w->t, s->source[i]), s->device[i],
					s->context[i]);
	for (uint32_t i = 0; i < y->n; i++)
		several |= note_context(&contexts, assay_track_group(w->t, y->track[i]),
					w->t->track.pid[y->track[i]], y->context[i]);
	for (size_t i = 0; several && i < w->recs.n; i++) {
		assay_sweep_rec *r = &w->recs.p[i];
		uint32_t of = r->thread != ASSAY_NO_ROW ? r->thread : r->track;
		if (of == ASSAY_NO_ROW || r->device < 0 ||
		    *context_of(&contexts, assay_track_group(w->t, of), r->device) != WAITS_SEVERAL)
			continue;
		r->flags |= r->flags & ASSAY_REC_LEGACY ? ASSAY_REC_PERHAPS : 0;
		if (r->op == ASSAY_OP_DEVICE_SYNC) /* no time tells what it is for, either */
			r->flags |= ASSAY_REC_GUESSED | ASSAY_REC_RACED;
	}
	assay_map_free(&contexts);
}

void waits_add_records(waits *w)
{
	waits_find_barriers(w);
	waits_find_places(w);
	add_streams(w);
	add_launches(w);
	waits_find_clocks(w);
	add_dark(w);
	waits_add_event_records(w);
	waits_add_event_rows(w);
	waits_add_syncs(w);
	add_event_calls(w);
	add_graph_events(w);
	waits_add_named_calls(w);
	waits_add_lone_barriers(w);
	waits_hear_barriers(w);
	waits_add_unseen_work(w);
	waits_add_graph_doubts(w);
	trust_whole(w);
	doubt_clocks(w);
	doubt_captures(w);
	guess_legacy(w);
	doubt_contexts(w);
	waits_find_races(w);
}

/* Streams of these contexts on one device: work of both ends as a wait for "the device" does. */
static uint8_t class_of_device_wait(uint32_t first, uint32_t second)
{
	static const char *const names[] = {"cudaLaunchKernel", "cudaLaunchKernel",
					    "cudaDeviceSynchronize"};
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	run->part.source = assay_add(t, ASSAY_T_source);
	uint32_t device = assay_add(t, ASSAY_T_device);
	t->device.source[device] = run->part.source;
	t->device.id[device] = 0;
	for (uint32_t i = 0; i < 3; i++) {
		uint32_t h = assay_hand_host(run, ASSAY_HOST_RUNTIME, names[i],
					     10000 * (int64_t)(i + 1), i < 2 ? 1000 : 375000);
		t->api.corr[t->host.detail[h]] = i + 1;
		t->host.track[h] = assay_thread_track(&run->part, 1, 1);
		if (i == 2)
			continue;
		uint32_t s = assay_add(t, ASSAY_T_stream);
		t->stream.source[s] = run->part.source;
		t->stream.device[s] = 0;
		t->stream.id[s] = 13 + i;
		t->stream.handle[s] = 0x100 + i;
		t->stream.context[s] = i ? second : first;
		t->stream.flags[s] = ASSAY_STREAM_NONBLOCKING;
		uint32_t g = assay_hand_gpu(run, "k", 30000 + i, 370000, ASSAY_NO_ROW);
		t->gpu.corr[g] = i + 1;
		t->gpu.track[g] = assay_stream_track(&run->part, 0, 13 + i);
	}
	assay_waits(run);
	uint8_t class = t->wait.n == 1 ? t->wait.class[0] : ASSAY_WAIT_CLASS_COUNT;
	assay_run_free(run);
	return class;
}

TEST(a_wait_for_a_device_of_several_contexts_may_be_for_any)
{
	CHECK_EQ(class_of_device_wait(1, 1), ASSAY_WAIT_IS_EXACT);
	CHECK_EQ(class_of_device_wait(1, UINT32_MAX), ASSAY_WAIT_IS_EXACT);
	CHECK_EQ(class_of_device_wait(1, 2), ASSAY_WAIT_IS_LIKELY);
	return 0;
}
