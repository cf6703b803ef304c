/* Dependencies of GPU work and of calls that wait, and the delay each of them has.
 *
 * Of the dependencies of a node one was the last to let go; what passed from there to the node
 * stays with it. The others were ready earlier by an unknown time: theirs is the delay that is
 * typical in this trace, or less when less passed. */
#include "path/graph.h"

#include <assert.h>

#include "analyze/order.h"
#include "base/group.h"
#include "base/median.h"
#include "base/sort.h"
#include "names/copies.h"

/* A call that returned so long before what it waited for did not wait for that. */
static const int64_t clock_jitter = 10 * 1000;
/* Work that overlaps the work before it on its stream by more did not wait for it. */
static const int64_t overlap_jitter = 500;
/* Enough to know a median. */
enum { SAMPLES_MAX = 1 << 14 };

struct samples {
	assay_vec(int64_t) value;
	uint64_t seen;
};

static void add_sample(struct samples *s, int64_t value)
{
	if (s->value.n < SAMPLES_MAX)
		*assay_push(&s->value) = value;
	else /* spread over the trace, not only its beginning */
		s->value.p[s->seen * 2654435761u % SAMPLES_MAX] = value;
	s->seen++;
}

static int64_t median_of(struct samples *s, int64_t otherwise)
{
	int64_t m = s->value.n ? assay_median_lower(s->value.p, s->value.n) : otherwise;
	assay_vec_free(&s->value);
	return m;
}

/* ------------------------------------------------------------------ nodes */

static bool is_in_group(const assay_path_graph *g, uint32_t track)
{
	const assay_tables *t = &g->run->part.t;
	return assay_track_group(t, track) == g->group;
}

static void find_work(assay_path_graph *g)
{
	const assay_tables *t = &g->run->part.t;
	g->gpu = assay_alloc(&g->arena, (t->gpu.n + 1) * sizeof *g->gpu);
	for (uint32_t i = 0; i < t->gpu.n; i++)
		if (t->gpu.ts[i] < g->until && assay_gpu_end(&t->gpu, i) >= g->since &&
		    is_in_group(g, t->gpu.track[i]))
			g->gpu[g->work++] = i;
	assay_sort_rows(g->gpu, g->work, t->gpu.ts);
}

static void place_work(assay_path_graph *g)
{
	const assay_tables *t = &g->run->part.t;
	assay_map by_name = {0};
	for (uint32_t k = 0; k < t->kernel.n; k++)
		*assay_map_at(&by_name, (uint64_t)t->kernel.kind[k] << 32 | t->kernel.name[k]) = k;
	g->node_of_gpu = assay_alloc(&g->arena, (t->gpu.n + 1) * sizeof *g->node_of_gpu);
	memset(g->node_of_gpu, 0xff, t->gpu.n * sizeof *g->node_of_gpu);
	g->class = assay_alloc(&g->arena, g->work + 1);
	g->kernel = assay_alloc(&g->arena, (g->work + 1) * sizeof *g->kernel);
	g->base.dur = assay_alloc(&g->arena, (g->work + 1) * sizeof *g->base.dur);
	for (uint32_t i = 0; i < g->work; i++) {
		uint32_t r = g->gpu[i];
		g->node_of_gpu[r] = g->points + i;
		g->measured.at[g->points + i] = t->gpu.ts[r];
		g->base.dur[i] = t->gpu.dur[r] > 0 ? t->gpu.dur[r] : 0;
		g->kernel[i] =
			assay_map_get(&by_name, (uint64_t)t->gpu.kind[r] << 32 | t->gpu.name[r]);
		g->class[i] = t->kernel.class[g->kernel[i]];
	}
	assay_map_free(&by_name);
}

/* ------------------------------------------------------------------ dependencies */

static void add_link(assay_path_links *links, uint32_t from, uint32_t to, assay_path_dep_kind kind,
		     uint32_t row)
{
	if (from != ASSAY_DEP_NONE && to != ASSAY_DEP_NONE && from != to)
		*assay_push(links) = (assay_path_link){
			.from = from, .to = to, .row = row, .kind = (uint8_t)kind};
}

static int64_t end_of(const assay_path_graph *g, uint32_t node)
{
	return g->measured.at[node] + g->base.dur[node - g->points];
}

static void link_stream(assay_path_graph *g, assay_path_links *links, uint32_t node,
			uint32_t before)
{
	if (before == ASSAY_DEP_NONE)
		return;
	bool beside = end_of(g, before) > g->measured.at[node] + overlap_jitter;
	g->overlaps += beside;
	add_link(links, before, node, beside ? ASSAY_DEP_BESIDE : ASSAY_DEP_STREAM, ASSAY_NO_ROW);
}

/* Work of one graph launch on several streams: its order inside the graph was not recorded; work
 * that starts on a stream where nothing of the launch came before follows what had just ended. */
struct launch_state {
	uint32_t call, last_ended;
};

static void link_graph(const assay_path_graph *g, assay_path_links *links, struct launch_state *s,
		       uint32_t node, uint32_t before)
{
	const assay_tables *t = &g->run->part.t;
	uint32_t call = t->launch.host[g->gpu[node - g->points]];
	if (call != ASSAY_NO_ROW && s->call == call) {
		bool first = before == ASSAY_DEP_NONE ||
			     t->launch.host[g->gpu[before - g->points]] != call;
		if (first && end_of(g, s->last_ended) <= g->measured.at[node])
			add_link(links, s->last_ended, node, ASSAY_DEP_GRAPH, ASSAY_NO_ROW);
	}
	if (s->call != call || call == ASSAY_NO_ROW || end_of(g, node) > end_of(g, s->last_ended))
		s->last_ended = node;
	s->call = call;
}

static void link_work(assay_path_graph *g, assay_path_links *links)
{
	const assay_tables *t = &g->run->part.t;
	assay_arena scratch = {0};
	uint32_t *last = assay_alloc(&scratch, (t->track.n + 1) * sizeof *last);
	struct launch_state state = {.call = ASSAY_NO_ROW};
	memset(last, 0xff, t->track.n * sizeof *last);
	for (uint32_t i = 0; i < g->work; i++) {
		uint32_t r = g->gpu[i], node = g->points + i, call = t->launch.host[r];
		if (call != ASSAY_NO_ROW)
			add_link(links,
				 assay_path_point_at(g, t->host.track[call], t->host.ts[call]),
				 node, ASSAY_DEP_LAUNCH, call);
		uint32_t before = last[t->gpu.track[r]];
		link_stream(g, links, node, before);
		link_graph(g, links, &state, node, before);
		last[t->gpu.track[r]] = node;
	}
	assay_arena_free(&scratch);
}

/* Launch, stream and recorded waits leave so much open, and work of another stream ended so shortly
 * before, or that fills nine tenths of it: then it was waited for. Inputs without event records
 * (most of AMD's) need this. */
static const int64_t unexplained = 20 * 1000, shortly = 5 * 1000;

static void known_ready(const assay_path_graph *g, const assay_path_links *links, int64_t *ready)
{
	for (uint32_t i = 0; i < g->work; i++)
		ready[i] = INT64_MAX; /* nothing is known: nothing to explain */
	for (size_t i = 0; i < links->n; i++) {
		const assay_path_link *l = &links->p[i];
		if (!assay_path_is_work(g, l->to))
			continue;
		int64_t *r = &ready[l->to - g->points];
		int64_t at = assay_path_is_work(g, l->from) && l->kind != ASSAY_DEP_BESIDE
				     ? end_of(g, l->from)
				     : g->measured.at[l->from];
		*r = *r == INT64_MAX || at > *r ? at : *r;
	}
}

static uint32_t *work_by_end(const assay_path_graph *g, assay_arena *scratch)
{
	uint32_t *by_end = assay_alloc(scratch, (g->work + 1) * sizeof *by_end);
	int64_t *end = assay_alloc(scratch, (g->work + 1) * sizeof *end);
	for (uint32_t i = 0; i < g->work; i++) {
		by_end[i] = i;
		end[i] = end_of(g, g->points + i);
	}
	assay_sort_rows(by_end, g->work, end);
	return by_end;
}

static void guess_waits(assay_path_graph *g, assay_path_links *links)
{
	const assay_tables *t = &g->run->part.t;
	assay_arena scratch = {0};
	int64_t *ready = assay_alloc(&scratch, (g->work + 1) * sizeof *ready);
	const uint32_t *by_end = work_by_end(g, &scratch);
	known_ready(g, links, ready);
	for (uint32_t i = 0, k = 0; i < g->work; i++) {
		int64_t start = g->measured.at[g->points + i];
		while (k < g->work && end_of(g, g->points + by_end[k]) <= start)
			k++;
		if (!k || ready[i] == INT64_MAX || start - ready[i] < unexplained)
			continue;
		uint32_t from = by_end[k - 1], a = t->gpu.track[g->gpu[i]];
		uint32_t b = t->gpu.track[g->gpu[from]];
		int64_t gap = start - end_of(g, g->points + from), open = start - ready[i];
		if (a == b || t->track.pid[a] != t->track.pid[b] ||
		    (gap > shortly && gap > open / 10))
			continue;
		add_link(links, g->points + from, g->points + i, ASSAY_DEP_GUESS, ASSAY_NO_ROW);
		g->guessed++;
	}
	assay_arena_free(&scratch);
}

/* A call that waits, with the last of what it waited for. */
struct waiter {
	uint32_t row;
	int64_t ready; /* end of the work; INT64_MIN when none is known */
};

struct waiters {
	assay_vec(struct waiter) call;
	assay_map at; /* row of host -> call */
};

static struct waiter *waiter_of(struct waiters *w, uint32_t row)
{
	uint32_t *slot = assay_map_at(&w->at, row);
	if (*slot == ASSAY_MAP_ABSENT) {
		*slot = (uint32_t)w->call.n;
		*assay_push(&w->call) = (struct waiter){row, INT64_MIN};
	}
	return &w->call.p[*slot];
}

static int64_t call_end(const assay_path_graph *g, uint32_t row)
{
	return assay_host_end(&g->run->part.t.host, row);
}

static void link_return(assay_path_graph *g, assay_path_links *links, struct waiters *w,
			uint32_t edge)
{
	const assay_tables *t = &g->run->part.t;
	uint32_t from = g->node_of_gpu[t->edge.from_gpu[edge]], row = t->edge.to_host[edge];
	int64_t end = call_end(g, row);
	if (from == ASSAY_DEP_NONE || !is_in_group(g, t->host.track[row]))
		return;
	if (end_of(g, from) > end + clock_jitter) {
		g->broken++;
		return;
	}
	uint32_t to = assay_path_point_at(g, t->host.track[row], end);
	if (to == ASSAY_DEP_NONE || g->measured.at[to] != end)
		return;
	add_link(links, from, to, ASSAY_DEP_SYNC, row);
	if (t->edge.kind[edge] == ASSAY_EDGE_QUERY)
		return;
	struct waiter *c = waiter_of(w, row);
	c->ready = end_of(g, from) > c->ready ? end_of(g, from) : c->ready;
}

/* A launch that takes so many times the usual with that much work in front of it waited for room in
 * the queue (1,024 deep on CUDA): it returned when work of its stream was over. */
enum { FULL_QUEUE = 512, LONG_LAUNCH = 3 };

/* Work stream after stream, in order of start; first[track] to first[track + 1]. */
static uint32_t *work_by_stream(const assay_path_graph *g, assay_arena *scratch, size_t **first)
{
	const assay_tables *t = &g->run->part.t;
	uint32_t *by = assay_alloc(scratch, (g->work + 1) * sizeof *by);
	*first = assay_alloc(scratch, (t->track.n + 1) * sizeof **first);
	assay_group_rows_in(by, *first, g->work, g->gpu, t->gpu.track, t->track.n);
	assert((*first)[t->track.n] == g->work);
	return by;
}

/* The last work of the stream that ended inside the call; n when none did. Calls come in order. */
static uint32_t ended_inside(const assay_path_graph *g, const uint32_t *work, uint32_t n,
			     uint32_t *next, uint32_t call)
{
	while (*next < n && end_of(g, g->points + work[*next]) <= call_end(g, call))
		++*next;
	bool inside =
		*next && end_of(g, g->points + work[*next - 1]) > g->run->part.t.host.ts[call];
	return inside ? *next - 1 : n;
}

/* With little in front, else as most take: who waits for room waits for what is long, and then
 * launches several. */
static int64_t usual_launch(const assay_path_graph *g, const uint32_t *work, uint32_t n)
{
	const assay_tables *t = &g->run->part.t;
	struct samples s = {.seen = 0}, all = {.seen = 0};
	for (uint32_t i = 0, next = 0; i < n; i++) {
		uint32_t call = t->launch.host[g->gpu[work[i]]];
		if (call == ASSAY_NO_ROW)
			continue;
		ended_inside(g, work, i, &next, call);
		add_sample(i - next < FULL_QUEUE / 2 ? &s : &all,
			   call_end(g, call) - t->host.ts[call]);
	}
	return median_of(&s, median_of(&all, INT64_MAX / LONG_LAUNCH));
}

static void link_queue(assay_path_graph *g, assay_path_links *links, const uint32_t *work,
		       uint32_t n)
{
	const assay_tables *t = &g->run->part.t;
	int64_t usual = usual_launch(g, work, n);
	for (uint32_t i = 0, next = 0; i < n; i++) {
		uint32_t call = t->launch.host[g->gpu[work[i]]];
		if (call == ASSAY_NO_ROW)
			continue;
		uint32_t from = ended_inside(g, work, i, &next, call);
		uint32_t to = assay_path_point_at(g, t->host.track[call], call_end(g, call));
		if (from == i || i - next < FULL_QUEUE || to == ASSAY_DEP_NONE || g->elastic[to] ||
		    g->measured.at[to] != call_end(g, call) ||
		    call_end(g, call) - t->host.ts[call] < LONG_LAUNCH * usual)
			continue;
		add_link(links, g->points + work[from], to, ASSAY_DEP_SYNC, call);
		assay_path_make_elastic(
			g, assay_path_point_at(g, t->host.track[call], t->host.ts[call]), to,
			usual);
		g->full++;
	}
}

/* A copy from memory that may be paged out holds its call until the last of it is in a buffer of
 * the driver: a call in which work in front of the copy ended has waited for that. */
static void link_staged(assay_path_graph *g, assay_path_links *links, const uint32_t *work,
			uint32_t n)
{
	const assay_tables *t = &g->run->part.t;
	for (uint32_t i = 1; i < n; i++) {
		uint32_t gpu = g->gpu[work[i]], call = t->launch.host[gpu];
		if (t->gpu.kind[gpu] != ASSAY_GPU_MEMCPY || call == ASSAY_NO_ROW)
			continue;
		assay_str name = assay_text(g->run, t->gpu.name[gpu]);
		if (assay_copy_way_of(name) != ASSAY_COPY_TO_DEVICE || !assay_copy_may_block(name))
			continue;
		int64_t ready = end_of(g, g->points + work[i - 1]), end = call_end(g, call);
		uint32_t to = assay_path_point_at(g, t->host.track[call], end);
		if (ready <= t->host.ts[call] || t->gpu.ts[gpu] >= end || to == ASSAY_DEP_NONE ||
		    g->elastic[to] || g->measured.at[to] != end)
			continue;
		add_link(links, g->points + work[i - 1], to, ASSAY_DEP_SYNC, call);
		assay_path_make_elastic(
			g, assay_path_point_at(g, t->host.track[call], t->host.ts[call]), to,
			end - ready);
	}
}

static void link_queues(assay_path_graph *g, assay_path_links *links)
{
	assay_arena scratch = {0};
	size_t *first;
	const uint32_t *work = work_by_stream(g, &scratch, &first);
	for (size_t i = 0; i < g->run->part.t.track.n; i++) {
		uint32_t n = (uint32_t)(first[i + 1] - first[i]);
		link_staged(g, links, work + first[i], n);
		if (n > FULL_QUEUE)
			link_queue(g, links, work + first[i], n);
	}
	assay_arena_free(&scratch);
}

static void link_edges(assay_path_graph *g, assay_path_links *links, struct waiters *w)
{
	const assay_tables *t = &g->run->part.t;
	for (uint32_t i = 0; i < t->edge.n; i++) {
		uint32_t from = t->edge.from_gpu[i], to = t->edge.to_gpu[i], wait = t->edge.wait[i];
		if (from == ASSAY_NO_ROW)
			continue;
		if (to != ASSAY_NO_ROW)
			add_link(links, g->node_of_gpu[from], g->node_of_gpu[to], ASSAY_DEP_WAIT,
				 wait == ASSAY_NO_ROW ? ASSAY_NO_ROW : t->wait.host[wait]);
		else if (t->edge.to_host[i] != ASSAY_NO_ROW)
			link_return(g, links, w, i);
	}
}

/* Synchronisation that nothing new had to be waited for: how long such calls take. */
static void sample_idle_calls(const assay_path_graph *g, const struct waiters *w,
			      struct samples *idle)
{
	const assay_wait_table *t = &g->run->part.t.wait;
	for (uint32_t i = 0; i < t->n; i++) {
		bool sync = t->kind[i] == ASSAY_WAIT_EVENT_SYNC ||
			    t->kind[i] == ASSAY_WAIT_STREAM_SYNC ||
			    t->kind[i] == ASSAY_WAIT_DEVICE_SYNC;
		if (sync && t->satisfied[i] == 1 && t->host[i] != ASSAY_NO_ROW && t->dur[i] >= 0 &&
		    assay_map_get(&w->at, t->host[i]) == ASSAY_MAP_ABSENT)
			add_sample(idle, t->dur[i]);
	}
}

/* It found work unfinished, or so freshly finished that word of it was still on the way. */
static bool has_waited(const assay_path_graph *g, const struct waiter *w)
{
	int64_t start = g->run->part.t.host.ts[w->row], end = call_end(g, w->row);
	return w->ready > start || (w->ready != INT64_MIN && end - start > g->sync_call &&
				    w->ready + g->typical[ASSAY_DEP_SYNC][0] >= end);
}

/* A call that really waited lasts as long as what it waited for. */
static void stretch_waits(assay_path_graph *g, const struct waiters *w)
{
	const assay_host_table *h = &g->run->part.t.host;
	struct samples idle = {.seen = 0}, back = {.seen = 0};
	for (size_t i = 0; i < w->call.n; i++) {
		uint32_t row = w->call.p[i].row;
		int64_t ready = w->call.p[i].ready, end = call_end(g, row);
		if (ready <= h->ts[row])
			add_sample(&idle, end - h->ts[row]);
		else
			add_sample(&back, end > ready ? end - ready : 0);
	}
	sample_idle_calls(g, w, &idle);
	int64_t ret = median_of(&back, 0);
	g->sync_call = median_of(&idle, ret);
	for (int k = 0; k < ASSAY_GPU_KIND_COUNT; k++)
		g->typical[ASSAY_DEP_SYNC][k] = ret;
	for (size_t i = 0; i < w->call.n; i++) {
		uint32_t row = w->call.p[i].row;
		if (has_waited(g, &w->call.p[i]))
			assay_path_make_elastic(
				g, assay_path_point_at(g, h->track[row], h->ts[row]),
				assay_path_point_at(g, h->track[row], call_end(g, row)),
				g->sync_call);
	}
}

/* 0: there are none */
static assay_sid forward_category(const assay_run *run)
{
	const assay_flow_table *f = &run->part.t.flow;
	assay_sid other = 0;
	for (uint32_t i = 0; i < f->n; i++) {
		if (f->cat[i] == other)
			continue;
		if (assay_str_is(assay_text(run, f->cat[i]), "fwdbwd"))
			return f->cat[i];
		other = f->cat[i];
	}
	return 0;
}

/* Arrows from forward operators to their gradients, by their ids. */
static void link_forward(assay_path_graph *g, assay_path_links *links)
{
	const assay_tables *t = &g->run->part.t;
	assay_map start = {0};
	assay_sid cat = forward_category(g->run);
	for (uint32_t i = 0; cat && i < t->flow.n; i++)
		if (t->flow.cat[i] == cat && t->flow.phase[i] == 's')
			*assay_map_at(&start, t->flow.id[i]) = i;
	for (uint32_t i = 0; cat && i < t->flow.n; i++) {
		if (t->flow.cat[i] != cat || t->flow.phase[i] != 'f')
			continue;
		uint32_t s = assay_map_get(&start, t->flow.id[i]);
		if (s == ASSAY_MAP_ABSENT || t->flow.track[s] == t->flow.track[i] ||
		    t->flow.ts[i] > g->until)
			continue;
		add_link(links, assay_path_point_at(g, t->flow.track[s], t->flow.ts[s]),
			 assay_path_point_at(g, t->flow.track[i], t->flow.ts[i]), ASSAY_DEP_FORWARD,
			 ASSAY_NO_ROW);
	}
	assay_map_free(&start);
}

static const uint8_t class_of_dep[ASSAY_DEP_KINDS] = {
	[ASSAY_DEP_LAUNCH] = ASSAY_PATH_WHY + ASSAY_WHY_LAUNCH_LATENCY,
	[ASSAY_DEP_STREAM] = ASSAY_PATH_WHY + ASSAY_WHY_QUEUED,
	[ASSAY_DEP_BESIDE] = ASSAY_PATH_WHY + ASSAY_WHY_QUEUED,
	[ASSAY_DEP_WAIT] = ASSAY_PATH_WHY + ASSAY_WHY_QUEUED,
	[ASSAY_DEP_GUESS] = ASSAY_PATH_WHY + ASSAY_WHY_QUEUED,
	[ASSAY_DEP_GRAPH] = ASSAY_PATH_WHY + ASSAY_WHY_GRAPH_INTERNAL,
	[ASSAY_DEP_SYNC] = ASSAY_PATH_WHY + ASSAY_WHY_HOST_SYNC,
	[ASSAY_DEP_HAND] = ASSAY_PATH_HAND_OFF,
	[ASSAY_DEP_FORWARD] = ASSAY_PATH_HAND_OFF,
};

static uint8_t class_of(const assay_path_graph *g, const assay_path_link *l)
{
	const uint32_t *call = g->run->part.t.launch.host;
	if (assay_path_is_work(g, l->to) && assay_path_is_work(g, l->from)) {
		uint32_t a = call[g->gpu[l->to - g->points]], b = call[g->gpu[l->from - g->points]];
		if (a == ASSAY_NO_ROW) /* the host may have been late: nobody knows */
			return assay_path_unlaunched(g, l->to);
		if (a == b)
			return ASSAY_PATH_WHY + ASSAY_WHY_GRAPH_INTERNAL;
	}
	assert(l->kind < ASSAY_COUNT_OF(class_of_dep));
	return class_of_dep[l->kind];
}

/* Links as lists by the knot they lead to. */
static void place_links(assay_path_graph *g, const assay_path_links *links)
{
	g->deps = (uint32_t)links->n;
	g->first = assay_alloc(&g->arena, (g->knots + 2) * sizeof *g->first);
	g->dep = assay_alloc(&g->arena, (links->n + 1) * sizeof *g->dep);
	g->base.lag = assay_alloc(&g->arena, (links->n + 1) * sizeof *g->base.lag);
	for (size_t i = 0; i < links->n; i++)
		g->first[g->place[links->p[i].to] + 2]++;
	for (uint32_t i = 1; i <= g->knots; i++)
		g->first[i + 1] += g->first[i];
	for (size_t i = 0; i < links->n; i++) {
		const assay_path_link *l = &links->p[i];
		g->dep[g->first[g->place[l->to] + 1]++] = (assay_path_dep){.from = l->from,
									   .to = l->to,
									   .row = l->row,
									   .kind = l->kind,
									   .class = class_of(g, l)};
	}
}

/* ------------------------------------------------------------------ order */

static void mark_knots(const assay_path_graph *g, const assay_path_links *links, bool *is)
{
	memcpy(is, g->elastic, g->points); /* ends of waits */
	memset(is + g->points, true, g->work);
	for (size_t i = 0; i < g->thread.n; i++)
		is[g->thread.p[i].first] = true;
	for (size_t i = 0; i < links->n; i++)
		is[links->p[i].from] = is[links->p[i].to] = true;
}

static void find_knots(assay_path_graph *g, const assay_path_links *links)
{
	assay_arena scratch = {0};
	bool *is = assay_alloc(&scratch, g->nodes + 1);
	mark_knots(g, links, is);
	for (uint32_t n = 0; n < g->nodes; n++)
		g->knots += is[n];
	g->order = assay_alloc(&g->arena, (g->knots + 1) * sizeof *g->order);
	for (uint32_t n = 0, k = 0; n < g->nodes; n++)
		if (is[n])
			g->order[k++] = n;
	assay_arena_free(&scratch);
}

/* By time, work not before its launch nor before the work before it, whatever the clocks say. By
 * knot. */
static const int64_t *order_keys(const assay_path_graph *g, assay_arena *scratch)
{
	const assay_tables *t = &g->run->part.t;
	int64_t *key = assay_alloc(scratch, (g->knots + 1) * sizeof *key);
	int64_t *last = assay_alloc(scratch, (t->track.n + 1) * sizeof *last);
	for (size_t i = 0; i < t->track.n; i++)
		last[i] = INT64_MIN;
	for (uint32_t i = 0; i < g->knots; i++) {
		uint32_t node = g->order[i];
		key[i] = g->measured.at[node];
		if (!assay_path_is_work(g, node))
			continue;
		uint32_t r = g->gpu[node - g->points], call = t->launch.host[r];
		int64_t *before = &last[t->gpu.track[r]];
		if (call != ASSAY_NO_ROW && t->host.ts[call] > key[i])
			key[i] = t->host.ts[call];
		key[i] = *before > key[i] ? *before : key[i];
		*before = key[i];
	}
	return key;
}

static void find_order(assay_path_graph *g, const assay_path_links *links)
{
	assay_arena scratch = {0};
	find_knots(g, links);
	const int64_t *key = order_keys(g, &scratch);
	uint32_t *sorted = assay_alloc(&scratch, (g->knots + 1) * sizeof *sorted);
	for (uint32_t i = 0; i < g->knots; i++)
		sorted[i] = i;
	assay_sort_rows(sorted, g->knots, key);
	g->place = assay_alloc(&g->arena, (g->nodes + 1) * sizeof *g->place);
	memset(g->place, 0xff, g->nodes * sizeof *g->place);
	for (uint32_t i = 0; i < g->knots; i++) {
		sorted[i] = g->order[sorted[i]];
		g->place[sorted[i]] = i;
	}
	memcpy(g->order, sorted, g->knots * sizeof *g->order);
	assay_arena_free(&scratch);
}

/* Without what points back in the order there can be no circle. */
static void break_circles(assay_path_graph *g)
{
	for (uint32_t d = 0; d < g->deps; d++)
		if (g->place[g->dep[d].from] >= g->place[g->dep[d].to]) {
			g->base.lag[d] = ASSAY_DEP_DROPPED;
			g->broken++;
		}
}

/* ------------------------------------------------------------------ delays */

static int64_t slack_of(const assay_path_graph *g, uint32_t node, uint32_t d)
{
	return g->measured.at[node] - assay_path_ready(g, &g->measured, g->base.dur, &g->dep[d]);
}

/* The dependency of a kind that let go last, and when; ASSAY_DEP_NONE when there is none. */
static uint32_t latest(const assay_path_graph *g, uint32_t node, unsigned kinds, int64_t *ready)
{
	uint32_t best = ASSAY_DEP_NONE;
	const uint32_t *first = &g->first[g->place[node]];
	*ready = INT64_MIN;
	for (uint32_t d = first[0]; d < first[1]; d++) {
		int64_t at = assay_path_ready(g, &g->measured, g->base.dur, &g->dep[d]);
		if (!(kinds >> g->dep[d].kind & 1) || g->base.lag[d] == ASSAY_DEP_DROPPED ||
		    (best != ASSAY_DEP_NONE && at <= *ready))
			continue;
		best = d;
		*ready = at;
	}
	return best;
}

enum {
	BY_WAIT = 1 << ASSAY_DEP_WAIT | 1 << ASSAY_DEP_GUESS | 1 << ASSAY_DEP_GRAPH,
	ON_DEVICE = 1 << ASSAY_DEP_STREAM | 1 << ASSAY_DEP_BESIDE | BY_WAIT
};

/* Launches that found the device idle show the launch latency; work launched long before the work
 * in front of it ended shows the gap between two. */
static void learn_delays(assay_path_graph *g)
{
	struct samples s[ASSAY_DEP_KINDS][ASSAY_GPU_KIND_COUNT] = {0};
	const uint8_t *kind_of = g->run->part.t.gpu.kind;
	for (int pass = 0; pass < 2; pass++) {
		for (uint32_t i = 0; i < g->work; i++) {
			uint32_t node = g->points + i, kind = kind_of[g->gpu[i]];
			int64_t called, device, waited;
			uint32_t launch = latest(g, node, 1 << ASSAY_DEP_LAUNCH, &called);
			uint32_t before = latest(g, node, ON_DEVICE, &device);
			latest(g, node, BY_WAIT, &waited);
			if (launch == ASSAY_DEP_NONE || slack_of(g, node, launch) < 0)
				continue;
			if (!pass && (before == ASSAY_DEP_NONE || device <= called))
				add_sample(&s[ASSAY_DEP_LAUNCH][kind], slack_of(g, node, launch));
			if (pass && before != ASSAY_DEP_NONE && slack_of(g, node, before) >= 0 &&
			    called + g->typical[ASSAY_DEP_LAUNCH][kind] <= device)
				add_sample(&s[waited == device ? ASSAY_DEP_WAIT : ASSAY_DEP_STREAM]
					     [kind],
					   slack_of(g, node, before));
		}
		int64_t kernel = 0;
		for (int k = 0; !pass && k < ASSAY_GPU_KIND_COUNT; k++)
			kernel = g->typical[ASSAY_DEP_LAUNCH][k] =
				median_of(&s[ASSAY_DEP_LAUNCH][k], kernel);
	}
	int64_t gap = 0, wait;
	for (int k = 0; k < ASSAY_GPU_KIND_COUNT; k++) {
		gap = g->typical[ASSAY_DEP_STREAM][k] = median_of(&s[ASSAY_DEP_STREAM][k], gap);
		wait = median_of(&s[ASSAY_DEP_WAIT][k], gap);
		g->typical[ASSAY_DEP_WAIT][k] = wait;
		g->typical[ASSAY_DEP_GUESS][k] = g->typical[ASSAY_DEP_GRAPH][k] = wait;
	}
}

static int64_t typical_lag(const assay_path_graph *g, uint32_t node, uint32_t d)
{
	uint8_t kind = g->dep[d].kind;
	int64_t slack = slack_of(g, node, d);
	uint32_t work = assay_path_is_work(g, node) ? node : g->points;
	uint8_t gpu = g->work ? g->run->part.t.gpu.kind[g->gpu[work - g->points]] : 0;
	int64_t typical = g->typical[kind][gpu];
	slack = slack > 0 ? slack : 0;
	return kind == ASSAY_DEP_BESIDE || slack < typical ? slack : typical;
}

/* What a call waited for turned out to point back in time: it is as long as it was. */
static void restore_lengths(assay_path_graph *g, uint32_t node)
{
	if (assay_path_is_work(g, node))
		return;
	for (uint32_t i = node; i-- > 0 && g->cause[i] != ASSAY_WHY_COUNT;) {
		int64_t length = g->measured.at[i + 1] - g->measured.at[i];
		if (g->base.len[i] == length)
			break;
		g->base.len[i] = length;
	}
}

/* Of a node's dependencies the one that let go last with the usual delays keeps what passed. */
static void set_delays(assay_path_graph *g, uint32_t node)
{
	bool bound = assay_path_is_work(g, node) || g->elastic[node];
	uint32_t best = ASSAY_DEP_NONE;
	int64_t best_at = INT64_MIN;
	const uint32_t *first = &g->first[g->place[node]];
	for (uint32_t d = first[0]; d < first[1]; d++) {
		if (g->base.lag[d] == ASSAY_DEP_DROPPED)
			continue;
		g->violated += slack_of(g, node, d) < 0;
		g->base.lag[d] = typical_lag(g, node, d);
		int64_t at = assay_path_ready(g, &g->measured, g->base.dur, &g->dep[d]);
		at += assay_path_is_work(g, node) ? g->base.lag[d] : 0;
		if (best == ASSAY_DEP_NONE || at > best_at) {
			best = d;
			best_at = at;
		}
	}
	if (bound && best == ASSAY_DEP_NONE)
		restore_lengths(g, node);
	if (!bound || best == ASSAY_DEP_NONE)
		return;
	int64_t slack = slack_of(g, node, best);
	g->base.lag[best] = slack > 0 ? slack : 0;
	g->measured.why[g->place[node]] = best;
}

void assay_path_graph_build(assay_path_graph *g, const assay_run *run, uint32_t group,
			    int64_t since, int64_t until)
{
	assay_path_links links = {0};
	struct waiters waiters = {.at = {0}};
	*g = (assay_path_graph){.run = run, .group = group, .since = since, .until = until};
	find_work(g);
	assay_path_add_hosts(g);
	place_work(g);
	link_work(g, &links);
	link_edges(g, &links, &waiters);
	stretch_waits(g, &waiters);
	link_queues(g, &links);
	guess_waits(g, &links);
	assay_path_add_hand_offs(g, &links);
	link_forward(g, &links);
	find_order(g, &links);
	place_links(g, &links);
	break_circles(g);
	learn_delays(g);
	g->measured.why = assay_alloc(&g->arena, (g->knots + 1) * sizeof *g->measured.why);
	memset(g->measured.why, 0xff, g->knots * sizeof *g->measured.why);
	for (uint32_t n = 0; n < g->nodes; n++)
		if (g->place[n] != ASSAY_DEP_NONE)
			set_delays(g, n);
	assay_vec_free(&links);
	assay_vec_free(&waiters.call);
	assay_map_free(&waiters.at);
}

void assay_path_graph_free(assay_path_graph *g)
{
	assay_host_causes_free(&g->causes);
	assay_path_launches_free(g);
	assay_vec_free(&g->thread);
	assay_vec_release(g->measured.at);
	assay_vec_release(g->row);
	assay_vec_release(g->cause);
	assay_vec_release(g->stack);
	assay_vec_release(g->sampled);
	assay_arena_free(&g->arena);
}

/* ------------------------------------------------------------------ replay */

assay_path_times assay_path_times_new(assay_path_graph *g)
{
	assay_path_times t = {.at = assay_alloc(&g->arena, (g->nodes + 1) * sizeof *t.at),
			      .why = assay_alloc(&g->arena, (g->knots + 1) * sizeof *t.why)};
	return t;
}

assay_path_lengths assay_path_lengths_with(assay_path_graph *g, const assay_path_changes *changes)
{
	assay_path_lengths l = {.len = assay_alloc(&g->arena, (g->points + 1) * sizeof *l.len),
				.dur = assay_alloc(&g->arena, (g->work + 1) * sizeof *l.dur),
				.lag = assay_alloc(&g->arena, (g->deps + 1) * sizeof *l.lag)};
	memcpy(l.len, g->base.len, g->points * sizeof *l.len);
	memcpy(l.dur, g->base.dur, g->work * sizeof *l.dur);
	memcpy(l.lag, g->base.lag, g->deps * sizeof *l.lag);
	for (size_t i = 0; i < changes->len.n; i++)
		l.len[changes->len.p[i].at] = changes->len.p[i].value;
	for (size_t i = 0; i < changes->dur.n; i++)
		l.dur[changes->dur.p[i].at] = changes->dur.p[i].value;
	for (size_t i = 0; i < changes->lag.n; i++)
		l.lag[changes->lag.p[i].at] = changes->lag.p[i].value;
	return l;
}

void assay_path_changes_free(assay_path_changes *c)
{
	assay_vec_free(&c->len);
	assay_vec_free(&c->dur);
	assay_vec_free(&c->lag);
}

/* Times of absurd what-ifs stop here: one more length cannot overflow. */
static const int64_t latest_time = INT64_MAX / 2;

/* The points from a knot to the next one of its thread. */
static void pass_time(const assay_path_graph *g, const assay_path_lengths *lengths, uint32_t knot,
		      assay_path_times *out)
{
	for (uint32_t n = knot; g->cause[n] != ASSAY_WHY_COUNT; n++) {
		if (g->place[n + 1] != ASSAY_DEP_NONE)
			return;
		int64_t at = out->at[n] + lengths->len[n];
		out->at[n + 1] = at < latest_time ? at : latest_time;
	}
}

void assay_path_replay_with(const assay_path_graph *g, const assay_path_lengths *lengths,
			    assay_path_times *out)
{
	for (uint32_t i = 0; i < g->knots; i++) {
		uint32_t n = g->order[i];
		int64_t at = INT64_MIN;
		out->why[i] = ASSAY_DEP_NONE;
		if (!assay_path_is_work(g, n) && n && g->cause[n - 1] != ASSAY_WHY_COUNT)
			at = out->at[n - 1] + lengths->len[n - 1];
		for (uint32_t d = g->first[i]; d < g->first[i + 1]; d++) {
			if (lengths->lag[d] == ASSAY_DEP_DROPPED)
				continue;
			int64_t ready = assay_path_ready(g, out, lengths->dur, &g->dep[d]);
			ready += lengths->lag[d];
			if (ready > at) {
				at = ready;
				out->why[i] = d;
			}
		}
		/* nothing says when it begins: it begins when it did */
		at = at == INT64_MIN ? g->measured.at[n] : at;
		out->at[n] = at < latest_time ? at : latest_time;
		if (!assay_path_is_work(g, n))
			pass_time(g, lengths, n, out);
	}
}
