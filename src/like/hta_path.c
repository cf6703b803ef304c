/* Holistic Trace Analysis's critical path by the rules of its release 0.5.0: nodes are the starts
 * and ends of operators, calls and linked GPU work; call stacks join the nodes of a thread, one of
 * launch delay, gap to the kernel before, or wait joins a kernel to what it hung on; the path is
 * the longest by weight. Where two paths are equally long the one whose edge was made first is
 * taken, as networkx does. */
#include <stdlib.h>

#include "analyze/order.h"
#include "base/compare.h"
#include "base/sort.h"
#include "like/hta.h"
#include "like/like.h"
#include "names/syncs.h"

static const uint32_t none = UINT32_MAX; /* no event, node or edge */

enum edge_type { OPERATOR, KERNEL, DEPENDENCY, LAUNCH_DELAY, KERNEL_DELAY, SYNC_DEPENDENCY };

struct edge {
	uint32_t from, to;
	int64_t weight;
	uint8_t type;
	uint32_t event;
};

/* A row that the graph may have: of host, gpu or sync. */
struct event {
	int64_t ts, end;
	uint32_t row;
	uint8_t table; /* 0 host, 1 gpu, 2 sync */
	bool blocking;
};

struct graph {
	assay_run *run;
	uint32_t source;
	int64_t unit, before;
	int64_t from, to; /* window */
	assay_vec(struct event) event;
	uint32_t *of_host, *of_gpu; /* row -> event, none when it has no nodes */
	assay_vec(struct edge) edge;
	assay_map edge_at; /* from, to -> edge */
	assay_arena arena;
	assay_map call_of; /* correlation -> row of host */
};

/* Node 2 * event is its start, the next one its end. */
static int64_t node_ts(const struct graph *g, uint32_t node)
{
	const struct event *e = &g->event.p[node / 2];
	return node % 2 ? e->end : e->ts;
}

/* A second edge between two nodes replaces the first and keeps its place. */
static void add_edge(struct graph *g, uint32_t from, uint32_t to, enum edge_type type, bool zero)
{
	int64_t weight = zero || type == DEPENDENCY || type == SYNC_DEPENDENCY
				 ? 0
				 : node_ts(g, to) - node_ts(g, from);
	struct edge e = {.from = from,
			 .to = to,
			 .weight = weight > 0 ? weight : 0,
			 .type = (uint8_t)type,
			 .event = from / 2};
	uint32_t *slot = assay_map_at(&g->edge_at, (uint64_t)from << 32 | to);
	if (*slot != ASSAY_MAP_ABSENT) {
		g->edge.p[*slot] = e;
		return;
	}
	*slot = (uint32_t)g->edge.n;
	*assay_push(&g->edge) = e;
}

/* ------------------------------------------------------------------ rows */

static int64_t start_of(const struct graph *g, int64_t ts)
{
	return assay_hta_round_up(ts, g->unit);
}

static int64_t end_of(const struct graph *g, int64_t ts, int64_t dur)
{
	return assay_hta_round_down(ts + (dur > 0 ? dur : 0), g->unit);
}

static bool is_mine(const struct graph *g, uint32_t track)
{
	const assay_tables *t = &g->run->part.t;
	return assay_track_group(t, track) == g->source;
}

static bool has_node(uint8_t kind)
{
	return kind == ASSAY_HOST_OP || assay_is_call(kind);
}

static bool is_blocking(assay_str name)
{
	static const char *const calls[] = {"cudaDeviceSynchronize",
					    "cudaStreamSynchronize",
					    "cudaEventQuery",
					    "cudaEventSynchronize",
					    "cudaMemcpy",
					    "cudaMemcpyAsync"};
	return assay_str_is_any(name, calls, ASSAY_COUNT_OF(calls));
}

/* A row of host in the window; zero lengths are left out. */
static bool host_in(const struct graph *g, uint32_t h)
{
	const assay_host_table *t = &g->run->part.t.host;
	int64_t ts = start_of(g, t->ts[h]);
	return is_mine(g, t->track[h]) && t->kind[h] != ASSAY_HOST_INSTANT && ts < g->before &&
	       ts >= g->from && ts <= g->to && end_of(g, t->ts[h], t->dur[h]) > ts;
}

static void add_rows(struct graph *g)
{
	const assay_tables *t = &g->run->part.t;
	g->of_host = assay_alloc(&g->arena, (t->host.n + 1) * sizeof *g->of_host);
	g->of_gpu = assay_alloc(&g->arena, (t->gpu.n + 1) * sizeof *g->of_gpu);
	memset(g->of_host, 0xff, t->host.n * sizeof *g->of_host);
	memset(g->of_gpu, 0xff, t->gpu.n * sizeof *g->of_gpu);
	for (uint32_t h = 0; h < t->host.n; h++) {
		if (!has_node(t->host.kind[h]) || !host_in(g, h))
			continue;
		g->of_host[h] = (uint32_t)g->event.n;
		*assay_push(&g->event) = (struct event){
			.ts = start_of(g, t->host.ts[h]),
			.end = end_of(g, t->host.ts[h], t->host.dur[h]),
			.row = h,
			.blocking = is_blocking(assay_text(g->run, t->host.name[h]))};
	}
	for (uint32_t i = 0; i < t->gpu.n; i++) {
		uint32_t call = t->launch.host[i];
		if (call == ASSAY_NO_ROW || !is_mine(g, t->gpu.track[i]) || !host_in(g, call))
			continue;
		g->of_gpu[i] = (uint32_t)g->event.n;
		*assay_push(&g->event) =
			(struct event){.ts = start_of(g, t->gpu.ts[i]),
				       .end = end_of(g, t->gpu.ts[i], t->gpu.dur[i]),
				       .row = i,
				       .table = 1};
	}
}

/* ------------------------------------------------------------------ call stacks */

struct turn { /* a row begins or ends */
	int64_t ts, dur;
	uint32_t row;
	bool end;
};

static int by_turn(const void *a, const void *b)
{
	const struct turn *x = a, *y = b;
	if (x->row == y->row)
		return x->end - y->end;
	if (x->ts != y->ts)
		return x->ts < y->ts ? -1 : 1;
	if (x->end != y->end) /* lengths of zero are not here: ends go first */
		return x->end ? -1 : 1;
	int way = x->end ? -1 : 1;
	if (x->dur != y->dur)
		return x->dur < y->dur ? way : -way;
	return x->row < y->row ? -way : way;
}

/* The walk over the calls of one thread. */
struct stack_walk {
	uint32_t last, last_top; /* nodes */
	int depth;
};

static void enter_row(struct graph *g, struct stack_walk *w, uint32_t event)
{
	if (event == none)
		return;
	if (!w->depth && w->last_top != none)
		add_edge(g, w->last_top, 2 * event, DEPENDENCY, true);
	w->depth++;
	if (w->last != none)
		add_edge(g, w->last, 2 * event, OPERATOR, false);
	w->last = 2 * event;
}

static void leave_row(struct graph *g, struct stack_walk *w, uint32_t event)
{
	if (event == none)
		return;
	uint32_t end = 2 * event + 1;
	w->depth--;
	if (w->last != none)
		add_edge(g, w->last, end, OPERATOR, g->event.p[event].blocking);
	w->last = w->depth ? end : none;
	w->last_top = w->depth ? w->last_top : end;
}

/* An end closes what is on top, whichever row it belongs to: rows that cross are taken as
 * nested. */
static void walk_thread(struct graph *g, struct turn *turn, size_t n)
{
	struct stack_walk w = {none, none, 0};
	assay_vec(uint32_t) open = {0};
	qsort(turn, n, sizeof *turn, by_turn);
	for (size_t i = 0; i < n; i++) {
		if (!turn[i].end) {
			enter_row(g, &w, g->of_host[turn[i].row]);
			*assay_push(&open) = turn[i].row;
		} else if (open.n) {
			leave_row(g, &w, g->of_host[open.p[--open.n]]);
		}
	}
	assay_vec_free(&open);
}

struct thread {
	int64_t pid, tid;
	uint32_t track;
	size_t first, n;
};

static int by_thread(const void *a, const void *b)
{
	const struct thread *x = a, *y = b;
	return assay_then(ASSAY_CMP(x->pid, y->pid), ASSAY_CMP(x->tid, y->tid));
}

static void add_stacks(struct graph *g)
{
	const assay_tables *t = &g->run->part.t;
	struct thread *thread = assay_alloc(&g->arena, (t->track.n + 1) * sizeof *thread);
	for (uint32_t i = 0; i < t->track.n; i++)
		thread[i] = (struct thread){t->track.pid[i], t->track.tid[i], i, 0, 0};
	size_t all = 0;
	for (uint32_t h = 0; h < t->host.n; h++)
		thread[t->host.track[h]].n += host_in(g, h) ? 2 : 0;
	for (uint32_t i = 0; i < t->track.n; all += thread[i++].n)
		thread[i].first = all;
	struct turn *turn = assay_alloc(&g->arena, (all + 1) * sizeof *turn);
	for (uint32_t h = 0; h < t->host.n; h++) {
		if (!host_in(g, h))
			continue;
		int64_t ts = start_of(g, t->host.ts[h]);
		int64_t end = end_of(g, t->host.ts[h], t->host.dur[h]);
		size_t *at = &thread[t->host.track[h]].first;
		turn[(*at)++] = (struct turn){ts, end - ts, h, false};
		turn[(*at)++] = (struct turn){end, end - ts, h, true};
	}
	qsort(thread, t->track.n, sizeof *thread, by_thread);
	for (uint32_t i = 0; i < t->track.n; i++)
		if (thread[i].n)
			walk_thread(g, turn + thread[i].first - thread[i].n, thread[i].n);
}

/* ------------------------------------------------------------------ queues and records */

/* A launch that a queue knows, in order of time. */
struct launch {
	int64_t ts, pid, stream;
	uint32_t call, gpu, thread;
};
typedef assay_vec(struct launch) launches;

static int by_launch(const void *a, const void *b)
{
	const struct launch *x = a, *y = b;
	return assay_then(ASSAY_CMP(x->ts, y->ts), ASSAY_CMP(x->call, y->call));
}

static void find_launches(struct graph *g, launches *out)
{
	const assay_tables *t = &g->run->part.t;
	for (uint32_t i = 0; i < t->gpu.n; i++) {
		uint32_t call = t->launch.host[i], track = t->gpu.track[i];
		if (call == ASSAY_NO_ROW || !is_mine(g, track) ||
		    start_of(g, t->host.ts[call]) >= g->before ||
		    !assay_hta_queue_call(assay_text(g->run, t->host.name[call])))
			continue;
		*assay_push(out) = (struct launch){.ts = start_of(g, t->host.ts[call]),
						   .pid = t->track.pid[track],
						   .stream = t->track.tid[track],
						   .call = call,
						   .gpu = i,
						   .thread = t->host.track[call]};
	}
	if (out->n)
		qsort(out->p, out->n, sizeof *out->p, by_launch);
}

struct change {
	int64_t stream, ts;
	uint32_t launch;
	int by;
};

static int by_change(const void *a, const void *b)
{
	const struct change *x = a, *y = b;
	return assay_then(assay_then(ASSAY_CMP(x->stream, y->stream), ASSAY_CMP(x->ts, y->ts)),
			  assay_then(ASSAY_CMP(y->by, x->by), ASSAY_CMP(x->launch, y->launch)));
}

/* The device was idle when the work was launched: one in the queue then, none at its start. */
static bool *find_unqueued(struct graph *g, const launches *l)
{
	const assay_tables *t = &g->run->part.t;
	bool *lone = assay_alloc(&g->arena, t->gpu.n + 1);
	assay_vec(struct change) c = {0};
	for (uint32_t i = 0; i < l->n; i++) {
		const struct launch *x = &l->p[i];
		*assay_push(&c) = (struct change){x->stream, x->ts, i, 1};
		*assay_push(&c) = (struct change){x->stream, start_of(g, t->gpu.ts[x->gpu]), i, -1};
		lone[x->gpu] = true;
	}
	if (c.n)
		qsort(c.p, c.n, sizeof *c.p, by_change);
	int64_t queue = 0;
	for (size_t i = 0; i < c.n; i++) {
		queue = (i && c.p[i].stream == c.p[i - 1].stream ? queue : 0) + c.p[i].by;
		lone[l->p[c.p[i].launch].gpu] &= queue == (c.p[i].by > 0);
	}
	assay_vec_free(&c);
	return lone;
}

static size_t launches_until(const launches *l, int64_t ts)
{
	return l->n ? assay_count_until(&l->p->ts, sizeof *l->p, l->n, ts) : 0;
}

/* The last launch on a stream up to a record call; row of gpu. */
static uint32_t launch_before(const launches *l, int64_t pid, int64_t stream, int64_t ts)
{
	for (size_t i = launches_until(l, ts); i-- > 0;)
		if (l->p[i].pid == pid && l->p[i].stream == stream)
			return l->p[i].gpu;
	return ASSAY_NO_ROW;
}

static uint32_t launch_after(const launches *l, uint32_t thread, int64_t stream, int64_t ts)
{
	for (size_t i = launches_until(l, ts - 1); i < l->n; i++)
		if (l->p[i].thread == thread && l->p[i].stream == stream)
			return l->p[i].gpu;
	return ASSAY_NO_ROW;
}

/* ------------------------------------------------------------------ kernels */

struct stream_end {
	int64_t stream;
	uint32_t node;
};

struct device_walk {
	launches launch;
	const bool *lone;
	uint32_t *waits_for; /* by row of gpu: row of gpu, or none */
	assay_vec(struct stream_end) last;
	assay_map last_at; /* stream -> last */
};

static uint32_t *last_on(struct device_walk *w, int64_t stream)
{
	uint32_t *slot = assay_map_at(&w->last_at, (uint64_t)stream);
	if (*slot == ASSAY_MAP_ABSENT) {
		*slot = (uint32_t)w->last.n;
		*assay_push(&w->last) = (struct stream_end){stream, none};
	}
	return &w->last.p[*slot].node;
}

static uint32_t call_of(const struct graph *g, uint64_t corr)
{
	return corr ? assay_map_get(&g->call_of, corr) : ASSAY_NO_ROW;
}

static assay_sync sync_of(const struct graph *g, uint32_t i)
{
	return assay_sync_of(assay_text(g->run, g->run->part.t.sync.name[i]));
}

static void handle_event(struct graph *g, struct device_walk *w, uint32_t i, uint32_t call)
{
	const assay_tables *t = &g->run->part.t;
	uint32_t track = t->sync.track[i];
	uint32_t record = t->sync.record_corr[i] > 0 ? call_of(g, (uint64_t)t->sync.record_corr[i])
						     : ASSAY_NO_ROW;
	if (record == ASSAY_NO_ROW || t->sync.wait_stream[i] < 0 ||
	    !assay_str_is(assay_text(g->run, t->host.name[record]), "cudaEventRecord"))
		return;
	uint32_t from = launch_before(&w->launch, t->track.pid[track], t->sync.wait_stream[i],
				      start_of(g, t->host.ts[record]));
	if (from == ASSAY_NO_ROW)
		return;
	if (sync_of(g, i) == ASSAY_SYNC_EVENT) {
		if (g->of_gpu[from] != none && g->of_host[call] != none)
			add_edge(g, 2 * g->of_gpu[from] + 1, 2 * g->of_host[call] + 1,
				 SYNC_DEPENDENCY, true);
		return;
	}
	uint32_t to = launch_after(&w->launch, t->host.track[call], t->track.tid[track],
				   start_of(g, t->host.ts[call]));
	if (to != ASSAY_NO_ROW)
		w->waits_for[to] = from;
}

static void handle_sync(struct graph *g, struct device_walk *w, uint32_t i)
{
	const assay_tables *t = &g->run->part.t;
	assay_sync sync = sync_of(g, i);
	uint32_t call = call_of(g, t->sync.corr[i]);
	if (call == ASSAY_NO_ROW)
		return;
	if (sync == ASSAY_SYNC_STREAM_WAIT || sync == ASSAY_SYNC_EVENT) {
		handle_event(g, w, i, call);
		return;
	}
	bool all = sync == ASSAY_SYNC_CONTEXT;
	for (size_t k = 0; k < w->last.n && g->of_host[call] != none; k++)
		if (w->last.p[k].node != none &&
		    (all || w->last.p[k].stream == t->track.tid[t->sync.track[i]]))
			add_edge(g, w->last.p[k].node, 2 * g->of_host[call] + 1, SYNC_DEPENDENCY,
				 true);
}

static void handle_work(struct graph *g, struct device_walk *w, uint32_t event)
{
	const assay_tables *t = &g->run->part.t;
	uint32_t gpu = g->event.p[event].row, call = t->launch.host[gpu];
	uint32_t *last = last_on(w, t->track.tid[t->gpu.track[gpu]]);
	uint32_t waits = w->waits_for[gpu] == ASSAY_NO_ROW ? none : g->of_gpu[w->waits_for[gpu]];
	int64_t launched = start_of(g, t->host.ts[call]);
	int64_t waited = waits == none ? INT64_MIN : g->event.p[waits].end;
	add_edge(g, 2 * event, 2 * event + 1, KERNEL, false);
	if (waits != none)
		add_edge(g, 2 * waits + 1, 2 * event, SYNC_DEPENDENCY, true);
	if (w->lone[gpu] && (*last == none || node_ts(g, *last) < launched) && waited < launched &&
	    g->of_host[call] != none)
		add_edge(g, 2 * g->of_host[call], 2 * event, LAUNCH_DELAY, false);
	else if (*last != none && waited < node_ts(g, *last))
		add_edge(g, *last, 2 * event, KERNEL_DELAY, false);
	*last = 2 * event + 1;
}

/* Work by start; waits by their end, as they may begin before the work they wait for. */
static uint32_t *order_device(struct graph *g, size_t *n)
{
	const assay_tables *t = &g->run->part.t;
	size_t most = g->event.n + t->sync.n;
	uint32_t *row = assay_alloc(&g->arena, (most + 1) * sizeof *row);
	int64_t *key = assay_alloc(&g->arena, (most + 1) * sizeof *key);
	*n = 0;
	for (uint32_t i = 0; i < g->event.n; i++)
		if (g->event.p[i].table == 1) {
			key[i] = g->event.p[i].ts;
			row[(*n)++] = i;
		}
	for (uint32_t i = 0; i < t->sync.n; i++) {
		uint32_t call = call_of(g, t->sync.corr[i]);
		bool wait = sync_of(g, i) == ASSAY_SYNC_STREAM_WAIT;
		bool in = call != ASSAY_NO_ROW && host_in(g, call);
		if (t->sync.found[i] || !is_mine(g, t->sync.track[i]) || (!in && !wait))
			continue;
		key[g->event.n + i] = end_of(g, t->sync.ts[i], t->sync.dur[i]);
		row[(*n)++] = (uint32_t)g->event.n + i;
	}
	assay_sort_rows(row, *n, key);
	return row;
}

static void add_device(struct graph *g)
{
	const assay_tables *t = &g->run->part.t;
	struct device_walk w = {.lone = NULL};
	size_t n;
	find_launches(g, &w.launch);
	w.lone = find_unqueued(g, &w.launch);
	w.waits_for = assay_alloc(&g->arena, (t->gpu.n + 1) * sizeof *w.waits_for);
	memset(w.waits_for, 0xff, t->gpu.n * sizeof *w.waits_for);
	const uint32_t *row = order_device(g, &n);
	for (size_t i = 0; i < n; i++)
		if (row[i] < g->event.n)
			handle_work(g, &w, row[i]);
		else
			handle_sync(g, &w, row[i] - (uint32_t)g->event.n);
	assay_vec_free(&w.launch);
	assay_vec_free(&w.last);
	assay_map_free(&w.last_at);
}

/* ------------------------------------------------------------------ longest path */

struct search {
	uint32_t *first_in, *in;   /* edges that lead to a node, in the order they were made */
	uint32_t *first_out, *out; /* edges that leave it */
	uint32_t *waiting;         /* edges whose source has no distance yet */
	int64_t *dist;             /* -1: not in the graph */
	uint32_t *by;              /* edge that gave the distance; none: it starts here */
};

static uint32_t *group_edges(struct graph *g, bool in, uint32_t *first)
{
	uint32_t nodes = 2 * (uint32_t)g->event.n;
	uint32_t *list = assay_alloc(&g->arena, (g->edge.n + 1) * sizeof *list);
	for (size_t i = 0; i < g->edge.n; i++)
		first[(in ? g->edge.p[i].to : g->edge.p[i].from) + 2]++;
	for (uint32_t i = 1; i <= nodes; i++)
		first[i + 1] += first[i];
	for (uint32_t i = 0; i < g->edge.n; i++)
		list[first[(in ? g->edge.p[i].to : g->edge.p[i].from) + 1]++] = i;
	return list;
}

/* The longest way to a node; the first of equals. */
static void set_distance(const struct graph *g, struct search *s, uint32_t node)
{
	s->dist[node] = 0;
	s->by[node] = none;
	for (uint32_t k = s->first_in[node]; k < s->first_in[node + 1]; k++) {
		const struct edge *e = &g->edge.p[s->in[k]];
		int64_t d = s->dist[e->from] + e->weight;
		if (k == s->first_in[node] || d > s->dist[node]) {
			s->dist[node] = d;
			s->by[node] = s->in[k];
		}
	}
}

/* Generation after generation: nodes whose sources are all in earlier ones. The end of the longest
 * path, the first of equals; none without edges. Nodes in a circle are never reached. */
static uint32_t find_longest(struct graph *g, struct search *s)
{
	uint32_t nodes = 2 * (uint32_t)g->event.n, best = none;
	uint32_t *queue = assay_alloc(&g->arena, (nodes + 1) * sizeof *queue);
	size_t head = 0, tail = 0;
	for (uint32_t i = 0; i < nodes; i++) {
		s->waiting[i] = s->first_in[i + 1] - s->first_in[i];
		bool there = s->waiting[i] || s->first_out[i + 1] > s->first_out[i];
		if (there && !s->waiting[i])
			queue[tail++] = i;
	}
	while (head < tail) {
		uint32_t node = queue[head++];
		set_distance(g, s, node);
		if (best == none || s->dist[node] > s->dist[best])
			best = node;
		for (uint32_t k = s->first_out[node]; k < s->first_out[node + 1]; k++) {
			uint32_t to = g->edge.p[s->out[k]].to;
			if (!--s->waiting[to])
				queue[tail++] = to;
		}
	}
	return best;
}

static const char *const type_names[] = {"operator_edges",     "kernel_edges",
					 "dependency_edges",   "launch_delay_edges",
					 "kernel_delay_edges", "sync_edges"};

struct sums {
	uint64_t nodes, edges, events;
	int64_t weight, cpu, compute, comm, launch, gap;
	uint64_t type[6];
};

static void add_to_sums(const struct graph *g, const struct edge *e, struct sums *s)
{
	const assay_tables *t = &g->run->part.t;
	s->edges++;
	s->weight += e->weight;
	s->type[e->type]++;
	if (e->type == OPERATOR)
		s->cpu += e->weight;
	else if (e->type == LAUNCH_DELAY)
		s->launch += e->weight;
	else if (e->type == KERNEL_DELAY)
		s->gap += e->weight;
	else if (e->type == KERNEL &&
		 assay_hta_comm_kernel(assay_text(g->run, t->gpu.name[g->event.p[e->event].row])))
		s->comm += e->weight;
	else if (e->type == KERNEL)
		s->compute += e->weight;
}

static void sum_path(struct graph *g, struct sums *sum)
{
	uint32_t nodes = 2 * (uint32_t)g->event.n;
	struct search s = {0};
	bool *seen = assay_alloc(&g->arena, g->event.n + 1);
	s.first_in = assay_alloc(&g->arena, (nodes + 2) * sizeof *s.first_in);
	s.first_out = assay_alloc(&g->arena, (nodes + 2) * sizeof *s.first_out);
	s.in = group_edges(g, true, s.first_in);
	s.out = group_edges(g, false, s.first_out);
	s.waiting = assay_alloc(&g->arena, (nodes + 1) * sizeof *s.waiting);
	s.dist = assay_alloc(&g->arena, (nodes + 1) * sizeof *s.dist);
	s.by = assay_alloc(&g->arena, (nodes + 1) * sizeof *s.by);
	for (uint32_t node = find_longest(g, &s); node != none;) {
		sum->nodes++;
		sum->events += !seen[node / 2];
		seen[node / 2] = true;
		uint32_t by = s.by[node];
		if (by != none)
			add_to_sums(g, &g->edge.p[by], sum);
		node = by == none ? none : g->edge.p[by].from;
	}
}

/* ------------------------------------------------------------------ put together */

static bool find_window(struct graph *g, const char *range, int64_t instance)
{
	const assay_host_table *h = &g->run->part.t.host;
	g->from = INT64_MIN;
	g->to = INT64_MAX;
	for (uint32_t i = 0; *range && i < h->n; i++) {
		if (!is_mine(g, h->track[i]) || start_of(g, h->ts[i]) >= g->before ||
		    assay_str_find(assay_text(g->run, h->name[i]), range) < 0 || instance--)
			continue;
		g->from = start_of(g, h->ts[i]);
		g->to = end_of(g, h->ts[i], h->dur[i]);
		return true;
	}
	return !*range;
}

static void index_calls(struct graph *g)
{
	const assay_tables *t = &g->run->part.t;
	for (uint32_t h = 0; h < t->host.n; h++) {
		uint64_t corr = assay_call_corr(t, h);
		if (corr && is_mine(g, t->host.track[h]))
			*assay_map_at(&g->call_of, corr) = h;
	}
}

static void add_figures(struct graph *g, const struct sums *s)
{
	double us = (double)g->unit / 1000;
	const struct {
		const char *name;
		double value;
	} figures[] = {
		{"graph_nodes", 2 * (double)g->event.n},
		{"graph_edges", (double)g->edge.n},
		{"path_nodes", (double)s->nodes},
		{"path_edges", (double)s->edges},
		{"path_events", (double)s->events},
		{"path_us", (double)s->weight * us},
		{"cpu_bound_us", (double)s->cpu * us},
		{"gpu_compute_bound_us", (double)s->compute * us},
		{"gpu_communication_bound_us", (double)s->comm * us},
		{"gpu_kernel_kernel_overhead_us", (double)s->gap * us},
		{"gpu_kernel_launch_overhead_us", (double)s->launch * us},
	};
	for (size_t i = 0; i < ASSAY_COUNT_OF(figures); i++)
		assay_like_add(g->run, g->source, "hta", "critical_path", figures[i].name,
			       figures[i].value);
	for (size_t i = 0; i < ASSAY_COUNT_OF(type_names); i++)
		assay_like_add(g->run, g->source, "hta", "critical_path_edges", type_names[i],
			       (double)s->type[i]);
}

static bool add_source(assay_run *run, uint32_t source, const char *range, int64_t instance)
{
	struct graph g = {.run = run, .source = source};
	struct sums sums = {0};
	g.unit = assay_hta_has_fractions(run, source) ? 1000 : 1;
	g.before = assay_hta_last_step(run, source, g.unit);
	bool found = find_window(&g, range, instance);
	if (found) {
		index_calls(&g);
		add_rows(&g);
		found = g.event.n > 0;
	}
	if (found) {
		add_stacks(&g);
		add_device(&g);
		sum_path(&g, &sums);
		add_figures(&g, &sums);
	}
	assay_vec_free(&g.event);
	assay_vec_free(&g.edge);
	assay_map_free(&g.edge_at);
	assay_map_free(&g.call_of);
	assay_arena_free(&g.arena);
	return found;
}

bool assay_like_hta_path(assay_run *run, const char *range, int64_t instance, assay_err *err)
{
	const assay_tables *t = &run->part.t;
	bool any = false;
	for (uint32_t s = 0; s < t->source.n; s++)
		if (assay_group_of(t, s) == s)
			any |= add_source(run, s, range, instance);
	return any ||
	       assay_fail(err, ASSAY_USAGE, 0, "the input has no range '%s' of that number", range);
}
