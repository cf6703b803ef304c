#include "resolve/waits_graphs.h"

#include "base/sort.h"
#include "base/test.h"
#include "model/by_hand.h"
#include "resolve/resolve.h"
#include "resolve/waits_places.h"

typedef struct graphs {
	const waits *w;
	waits_nodes making, ready, launched;
	assay_vec(waits_node) captures; /* origin and source of those that are open */
} graphs;

static bool is_external(const waits *w, uint32_t i)
{
	assay_sweep_op op = w->call[w->t->event_call.name[i]].op;
	return (op == ASSAY_OP_RECORD || op == ASSAY_OP_WAIT) && w->t->event_call.arg[i] & 1;
}

static bool matters(const waits *w, uint32_t i)
{
	assay_sweep_op op = w->call[w->t->event_call.name[i]].op;
	return w->t->event_call.status[i] == 0 &&
	       (op == ASSAY_OP_LAUNCH_GRAPH || op == ASSAY_OP_MAKE_GRAPH ||
		op == ASSAY_OP_GRAPH_RECORD || op == ASSAY_OP_GRAPH_WAIT ||
		op == ASSAY_OP_GRAPH_CHILD || op == ASSAY_OP_GRAPH_SET_RECORD ||
		op == ASSAY_OP_GRAPH_SET_WAIT || op == ASSAY_OP_CAPTURE_BEGIN ||
		op == ASSAY_OP_CAPTURE_END || is_external(w, i));
}

static void copy_nodes(waits_nodes *to, const waits_nodes *from, uint64_t graph, waits_node as)
{
	for (size_t i = 0, n_from = from->v.n; i < n_from; i++) { /* they may be the same */
		waits_node n = from->v.p[i];
		if (n.graph != graph || n.source != as.source)
			continue;
		n.graph = as.graph;
		n.launch = as.launch;
		*assay_push(&to->v) = n;
	}
}

static void forget(waits_nodes *m, uint32_t source, uint64_t graph)
{
	size_t kept = 0;
	for (size_t i = 0; i < m->v.n; i++)
		if (m->v.p[i].graph != graph || m->v.p[i].source != source)
			m->v.p[kept++] = m->v.p[i];
	m->v.n = kept;
}

/* The capture a stream is in: its own, or one it joined, of which the last begun is taken. */
static const waits_node *capture_of(const graphs *g, uint32_t source, uint64_t stream)
{
	const waits_node *found = NULL;
	for (size_t i = 0; i < g->captures.n; i++) {
		const waits_node *c = &g->captures.p[i];
		if (c->source == source && (!found || found->origin != stream))
			found = c;
	}
	return found;
}

static void end_capture(graphs *g, uint32_t source, uint64_t stream, uint64_t graph)
{
	size_t kept = 0;
	for (size_t i = 0; i < g->captures.n; i++)
		if (g->captures.p[i].source != source || g->captures.p[i].origin != stream)
			g->captures.p[kept++] = g->captures.p[i];
	g->captures.n = kept;
	for (size_t i = 0; i < g->making.v.n; i++) {
		waits_node *n = &g->making.v.p[i];
		if (n->source == source && !n->graph && n->origin == stream)
			n->graph = graph;
	}
}

/* A node of the graph that a capture makes. */
static void take_captured(graphs *g, waits_node n)
{
	const waits_node *capture = capture_of(g, n.source, n.origin);
	if (!capture)
		return;
	n.graph = 0;
	n.origin = capture->origin;
	*assay_push(&g->making.v) = n;
}

/* A node of a graph that can be launched gets another event. Which one is not recorded: when the
 * graph has several, any of them may be recorded or awaited from here on. */
static void set_event(waits_nodes *ready, waits_node n)
{
	waits_node *only = NULL;
	size_t same = 0;
	for (size_t i = 0; i < ready->v.n; i++) {
		waits_node *old = &ready->v.p[i];
		if (old->graph != n.graph || old->source != n.source || old->waits != n.waits)
			continue;
		only = old;
		same++;
	}
	if (same == 1)
		only->event = n.event;
	else
		*assay_push(&ready->v) = n;
}

static void take(graphs *g, uint32_t i)
{
	const assay_event_call_table *e = &g->w->t->event_call;
	assay_call call = g->w->call[e->name[i]];
	assay_sweep_op op = call.op;
	bool own = assay_call_means_own(call, e->stream[i]);
	waits_node n = {.graph = e->arg[i],
			.origin = own ? waits_own_handle(e->track[i], 0) : e->stream[i],
			.event = e->event[i],
			.source = assay_track_group(g->w->t, e->track[i]),
			.launch = i,
			.waits = op == ASSAY_OP_GRAPH_WAIT || op == ASSAY_OP_WAIT ||
				 op == ASSAY_OP_GRAPH_SET_WAIT};
	if (op == ASSAY_OP_GRAPH_RECORD || op == ASSAY_OP_GRAPH_WAIT) {
		*assay_push(&g->making.v) = n;
	} else if (op == ASSAY_OP_GRAPH_CHILD) {
		copy_nodes(&g->making, &g->making, e->more[i], n);
	} else if (op == ASSAY_OP_GRAPH_SET_RECORD || op == ASSAY_OP_GRAPH_SET_WAIT) {
		set_event(&g->ready, n);
	} else if (op == ASSAY_OP_RECORD || op == ASSAY_OP_WAIT) {
		take_captured(g, n);
	} else if (op == ASSAY_OP_CAPTURE_BEGIN) {
		*assay_push(&g->captures) = n;
	} else if (op == ASSAY_OP_CAPTURE_END) {
		end_capture(g, n.source, n.origin, n.graph);
	} else if (op == ASSAY_OP_MAKE_GRAPH) {
		forget(&g->ready, n.source, n.graph); /* the address was another's */
		copy_nodes(&g->ready, &g->making, e->more[i], n);
	} else {
		copy_nodes(&g->launched, &g->ready, n.graph, n);
	}
}

waits_nodes waits_graph_events(const waits *w)
{
	const assay_event_call_table *e = &w->t->event_call;
	graphs g = {.w = w};
	assay_vec(uint32_t) rows = {0};
	bool any = false;
	for (uint32_t i = 0; i < e->n; i++) {
		assay_sweep_op op = w->call[e->name[i]].op;
		any |= op == ASSAY_OP_GRAPH_RECORD || op == ASSAY_OP_GRAPH_WAIT ||
		       op == ASSAY_OP_GRAPH_SET_RECORD || op == ASSAY_OP_GRAPH_SET_WAIT ||
		       is_external(w, i);
		if (matters(w, i))
			*assay_push(&rows) = i;
	}
	if (any)
		assay_sort_rows(rows.p, rows.n, e->ts);
	for (size_t i = 0; any && i < rows.n; i++)
		take(&g, rows.p[i]);
	assay_vec_free(&rows);
	assay_vec_free(&g.making.v);
	assay_vec_free(&g.ready.v);
	assay_vec_free(&g.captures);
	return g.launched;
}

enum { OWN_STREAM = 33 }; /* the number of the thread's */

/* One call of a program; event_call rows of calls that launch get their kernel on that stream. Only
 * CUDA's calls say which one it is. */
typedef struct step {
	const char *name;
	uint64_t stream, event, arg, more;
	int64_t kernel; /* end of its kernel, 0 none */
} step;

static void add_own_stream(assay_tables *t)
{
	uint32_t s = assay_add(t, ASSAY_T_stream);
	t->stream.source[s] = 0;
	t->stream.device[s] = 0;
	t->stream.id[s] = OWN_STREAM;
	t->stream.handle[s] = 2;
	t->stream.flags[s] = ASSAY_STREAM_PER_THREAD;
}

static assay_run *run_of(const step *steps, size_t n)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	run->part.source = assay_add(t, ASSAY_T_source);
	add_own_stream(t);
	for (uint32_t i = 0; i < n; i++) {
		int64_t at = 10000 * (int64_t)i;
		uint32_t h = assay_hand_host(run, ASSAY_HOST_RUNTIME, steps[i].name, at, 1000);
		uint32_t e = assay_hand_event_call(run, steps[i].name, i + 1, at, 1000);
		t->api.corr[t->host.detail[h]] = i + 1;
		t->event_call.stream[e] = steps[i].stream;
		t->event_call.event[e] = steps[i].event;
		t->event_call.arg[e] = steps[i].arg;
		t->event_call.more[e] = steps[i].more;
		assay_str name = assay_text(run, t->host.name[h]);
		uint32_t track = assay_stream_track(
			&run->part, 0,
			assay_str_ends(name, "_spt") ? OWN_STREAM : (int64_t)steps[i].stream);
		t->event_call.place[e] = assay_str_starts(name, "hip") ? ASSAY_NO_ROW : track;
		if (!steps[i].kernel)
			continue;
		uint32_t g = assay_add(t, ASSAY_T_gpu);
		t->gpu.ts[g] = at + 5000;
		t->gpu.dur[g] = steps[i].kernel - t->gpu.ts[g];
		t->gpu.corr[g] = i + 1;
		t->gpu.track[g] = track;
		t->gpu.name[g] = assay_sid_of(run, steps[i].name);
	}
	assay_waits(run);
	return run;
}

TEST(events_in_graphs_are_recorded_and_awaited_at_the_launch)
{
	static const step steps[] = {
		{"cudaGraphAddEventRecordNode", 0, 0xA, 0x100, 0, 0},
		{"cudaGraphAddEventWaitNode", 0, 0xB, 0x200, 0, 0},
		{"cudaGraphInstantiate", 0, 0, 0x101, 0x100, 0},
		{"cudaGraphInstantiate", 0, 0, 0x201, 0x200, 0},
		{"cudaGraphLaunch", 13, 0, 0x101, 0, 300000}, /* records A */
		{"cudaEventRecord", 13, 0xB, 0, 0, 0},
		{"cudaStreamWaitEvent", 14, 0xA, 0, 0, 0},
		{"cudaGraphLaunch", 14, 0, 0x201, 0, 900000}, /* waits for B */
	};
	assay_run *run = run_of(steps, ASSAY_COUNT_OF(steps));
	const assay_wait_table *t = &run->part.t.wait;
	CHECK_EQ(t->n, 2);
	CHECK(t->record_corr[0] == 5 && t->event[0] == 0xA && t->producer_gpu[0] == 0);
	CHECK(t->record_corr[1] == 6 && t->event[1] == 0xB && t->corr[1] == 8);
	CHECK(t->producer_gpu[1] == 0 && t->consumer_gpu[1] == 1);
	CHECK(t->class[0] == ASSAY_WAIT_IS_LIKELY && t->class[1] == ASSAY_WAIT_IS_LIKELY);
	assay_run_free(run);
	return 0;
}

TEST(an_external_record_in_a_capture_is_a_node_of_its_graph)
{
	static const step steps[] = {
		{"cudaLaunchKernel", 13, 0, 0, 0, 90000},
		{"cudaEventRecord", 13, 0xA, 0, 0, 0},
		{"cudaStreamBeginCapture", 14, 0, 0, 0, 0},
		{"cudaEventRecordWithFlags", 14, 0xA, 1, 0, 0},
		{"cudaStreamEndCapture", 14, 0, 0x100, 0, 0},
		{"cudaStreamWaitEvent", 15, 0xA, 0, 0, 0}, /* still the record on 13 */
		{"cudaGraphInstantiate", 0, 0, 0x101, 0x100, 0},
		{"cudaGraphLaunch", 14, 0, 0x101, 0, 300000},
		{"cudaStreamWaitEvent", 15, 0xA, 0, 0, 0},
	};
	assay_run *run = run_of(steps, ASSAY_COUNT_OF(steps));
	const assay_wait_table *t = &run->part.t.wait;
	CHECK_EQ(t->n, 2);
	CHECK(t->record_corr[0] == 2 && t->record_corr[1] == 8);
	assay_run_free(run);
	return 0;
}

TEST(a_capture_of_a_threads_own_stream_ends_by_either_name_of_it)
{
	static const step steps[] = {
		{"hipStreamBeginCapture", 2, 0, 0, 0, 0},
		{"hipEventRecordWithFlags", 2, 0xA, 1, 0, 0},
		{"hipStreamEndCapture_spt", 0, 0, 0x100, 0, 0},
		{"hipGraphInstantiate", 0, 0, 0x101, 0x100, 0},
		{"hipGraphLaunch", 14, 0, 0x101, 0, 300000},
		{"hipEventSynchronize", 0, 0xA, 0, 0, 0},
	};
	assay_run *run = run_of(steps, ASSAY_COUNT_OF(steps));
	const assay_wait_table *t = &run->part.t.wait;
	CHECK(t->n == 1 && t->record_corr[0] == 5);
	assay_run_free(run);
	return 0;
}

TEST(a_child_graph_brings_its_events)
{
	static const step steps[] = {
		{"cudaGraphAddEventRecordNode", 0, 0xA, 0x100, 0, 0},
		{"cudaGraphAddChildGraphNode", 0, 0, 0x200, 0x100, 0},
		{"cudaGraphInstantiate", 0, 0, 0x201, 0x200, 0},
		{"cudaGraphLaunch", 13, 0, 0x201, 0, 300000},
		{"cudaStreamWaitEvent", 14, 0xA, 0, 0, 0},
	};
	assay_run *run = run_of(steps, ASSAY_COUNT_OF(steps));
	const assay_wait_table *t = &run->part.t.wait;
	CHECK(t->n == 1 && t->record_corr[0] == 4 && t->producer_gpu[0] == 0);
	CHECK_EQ(t->class[0], ASSAY_WAIT_IS_LIKELY);
	assay_run_free(run);
	return 0;
}

TEST(a_graph_records_the_event_that_its_node_was_given_last)
{
	static const step steps[] = {
		{"cudaGraphAddEventRecordNode", 0, 0xA, 0x100, 0, 0},
		{"cudaGraphInstantiate", 0, 0, 0x101, 0x100, 0},
		{"cudaGraphExecEventRecordNodeSetEvent", 0, 0xB, 0x101, 0x900, 0},
		{"cudaGraphLaunch", 13, 0, 0x101, 0, 300000},
		{"cudaStreamWaitEvent", 14, 0xA, 0, 0, 0},
		{"cudaStreamWaitEvent", 14, 0xB, 0, 0, 0},
		{"cudaGraphAddEventRecordNode", 0, 0xC, 0x200, 0, 0},
		{"cudaGraphExecUpdate", 0, 0, 0x101, 0x200, 0},
		{"cudaGraphLaunch", 13, 0, 0x101, 0, 600000},
		{"cudaStreamWaitEvent", 14, 0xB, 0, 0, 0},
		{"cudaStreamWaitEvent", 14, 0xC, 0, 0, 0},
	};
	static const uint64_t record[] = {0, 4, 4, 9};
	assay_run *run = run_of(steps, ASSAY_COUNT_OF(steps));
	const assay_wait_table *t = &run->part.t.wait;
	CHECK_EQ(t->n, ASSAY_COUNT_OF(record));
	for (uint32_t i = 0; i < ASSAY_COUNT_OF(record); i++)
		CHECK_EQ(t->record_corr[i], record[i]);
	assay_run_free(run);
	return 0;
}

TEST(a_graph_in_a_threads_own_stream_leaves_the_default_stream_alone)
{
	static const step steps[] = {
		{"hipStreamCreate", 13, 0, 0, 0, 0}, /* behind the default stream alone */
		{"hipGraphAddEventRecordNode", 0, 0xA, 0x100, 0, 0},
		{"hipGraphInstantiate", 0, 0, 0x101, 0x100, 0},
		{"hipLaunchKernel", 0, 0, 0, 0, 60000},
		{"hipGraphLaunch_spt", 0, 0, 0x101, 0, 300000},
		{"hipEventRecord", 13, 0xB, 0, 0, 0},
		{"hipEventSynchronize", 0, 0xB, 0, 0, 0},
	};
	assay_run *run = run_of(steps, ASSAY_COUNT_OF(steps));
	const assay_wait_table *t = &run->part.t.wait;
	CHECK(t->n == 1 && t->record_corr[0] == 6);
	CHECK_EQ(t->producer_gpu[0], 0);
	assay_run_free(run);
	return 0;
}

/* CUPTI numbers that record too, but nobody says when in the graph it was. */
TEST(an_event_that_a_graph_recorded_is_not_exact_by_its_number)
{
	static const step steps[] = {
		{"cudaGraphLaunch", 13, 0, 0x101, 0, 300000},
		{"cudaEventSynchronize", 0, 0xA, 0, 0, 0},
	};
	assay_run *run = run_of(steps, ASSAY_COUNT_OF(steps));
	assay_tables *t = &run->part.t;
	uint32_t r = assay_add(t, ASSAY_T_event_record), s = assay_add(t, ASSAY_T_sync);
	t->event_record.track[r] = t->gpu.track[0];
	t->event_record.corr[r] = 1;
	t->event_record.event[r] = t->event_record.sync_id[r] = 5;
	t->sync.track[s] = t->gpu.track[0];
	t->sync.ts[s] = 10000;
	t->sync.dur[s] = 1000;
	t->sync.corr[s] = 2;
	t->sync.name[s] = assay_sid_of(run, "Event Sync");
	t->sync.event[s] = 5;
	t->sync.sync_id[s] = 5;
	t->wait.n = t->edge.n = 0;
	assay_waits(run);
	CHECK(t->wait.n == 1 && t->wait.record_corr[0] == 1);
	CHECK_EQ(t->wait.class[0], ASSAY_WAIT_IS_LIKELY);
	assay_run_free(run);
	return 0;
}

TEST(a_launch_may_record_events_of_its_own)
{
	static const step steps[] = {
		{"hipExtLaunchKernel", 13, 0xB, 0xA, 0, 300000}, /* stop B, start A */
		{"hipStreamWaitEvent", 14, 0xA, 0, 0, 0},
		{"hipStreamWaitEvent", 14, 0xB, 0, 0, 0},
		{"hipLaunchKernel", 14, 0, 0, 0, 900000},
	};
	assay_run *run = run_of(steps, ASSAY_COUNT_OF(steps));
	const assay_wait_table *t = &run->part.t.wait;
	CHECK_EQ(t->n, 2);
	CHECK(t->record_corr[0] == 1 && t->record_corr[1] == 1);
	CHECK(t->producer_gpu[0] == 0 && t->producer_gpu[1] == 0);
	CHECK(t->slack[0] > t->slack[1]); /* the start is earlier than the end */
	assay_run_free(run);
	return 0;
}

TEST(a_wait_for_a_value_ends_with_the_write_that_satisfies_it)
{
	static const step steps[] = {
		{"cuStreamWriteValue32", 13, 0x50, 4, 0, 0},
		{"cuStreamWaitValue32", 14, 0x50, 3, 0, 0},          /* 4 is at least 3 */
		{"cuStreamWaitValue32", 14, 0x50, 3, 1, 0},          /* equal: later */
		{"cuStreamWaitValue32", 14, 0x50, 4, 2, 0},          /* 4 & 4 */
		{"cuStreamWaitValue32", 14, 0x50, 0xffffffff, 3, 0}, /* never */
		{"cuStreamWriteValue32", 13, 0x50, 3, 0, 0},
		{"cuStreamWaitValue32", 14, 0x50, 0xfffffff0, 0, 0}, /* counted round */
	};
	static const uint64_t record[] = {1, 6, 1, 0, 1};
	assay_run *run = run_of(steps, ASSAY_COUNT_OF(steps));
	const assay_wait_table *t = &run->part.t.wait;
	CHECK_EQ(t->n, ASSAY_COUNT_OF(record));
	for (uint32_t i = 0; i < ASSAY_COUNT_OF(record); i++)
		CHECK_EQ(t->record_corr[i], record[i]);
	assay_run_free(run);
	return 0;
}

TEST(captures_at_the_same_time_make_graphs_of_their_own)
{
	static const step steps[] = {
		{"cudaStreamBeginCapture", 13, 0, 0, 0, 0},
		{"cudaStreamBeginCapture", 14, 0, 0, 0, 0},
		{"cudaEventRecordWithFlags", 13, 0xA, 1, 0, 0},
		{"cudaEventRecordWithFlags", 14, 0xB, 1, 0, 0},
		{"cudaStreamEndCapture", 14, 0, 0x200, 0, 0},
		{"cudaStreamEndCapture", 13, 0, 0x100, 0, 0},
		{"cudaGraphInstantiate", 0, 0, 0x101, 0x100, 0},
		{"cudaGraphInstantiate", 0, 0, 0x201, 0x200, 0},
		{"cudaGraphLaunch", 15, 0, 0x101, 0, 300000}, /* records A */
		{"cudaGraphLaunch", 16, 0, 0x201, 0, 300000}, /* records B */
		{"cudaStreamWaitEvent", 17, 0xA, 0, 0, 0},
		{"cudaStreamWaitEvent", 17, 0xB, 0, 0, 0},
	};
	assay_run *run = run_of(steps, ASSAY_COUNT_OF(steps));
	const assay_wait_table *t = &run->part.t.wait;
	CHECK(t->n == 2 && t->record_corr[0] == 9 && t->record_corr[1] == 10);
	assay_run_free(run);
	return 0;
}

TEST(an_external_wait_in_a_capture_is_for_the_last_record_at_each_launch)
{
	static const step steps[] = {
		{"cudaStreamBeginCapture", 14, 0, 0, 0, 0},
		{"cudaStreamWaitEvent", 14, 0xA, 1, 0, 0},
		{"cudaStreamEndCapture", 14, 0, 0x100, 0, 0},
		{"cudaGraphInstantiate", 0, 0, 0x101, 0x100, 0},
		{"cudaLaunchKernel", 13, 0, 0, 0, 90000},
		{"cudaEventRecord", 13, 0xA, 0, 0, 0},
		{"cudaGraphLaunch", 14, 0, 0x101, 0, 300000},
	};
	assay_run *run = run_of(steps, ASSAY_COUNT_OF(steps));
	const assay_wait_table *t = &run->part.t.wait;
	CHECK(t->n == 2 && t->class[0] == ASSAY_WAIT_IS_CAPTURED);
	CHECK(t->corr[1] == 7 && t->record_corr[1] == 6 && t->producer_gpu[1] == 0);
	assay_run_free(run);
	return 0;
}
