/* Slices of Perfetto's format, lane by lane.
 *
 * Which lane an event is on, and what its sequence must be told first, is found in order; these
 * packets are the head of a batch of events. The events themselves are written when the batch is
 * full, in blocks at the same time and beside the search for the next, and follow their head. */
#include "write/perfetto.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/beside.h"
#include "base/sort.h"
#include "base/turns.h"
#include "model/stacks.h"
#include "write/wait_rows.h"

/* ------------------------------------------------------------------ flows */

/* Two ranges of ids, so that a launch and a wait never share one. */
static uint64_t launch_flow(uint32_t gpu)
{
	return 1 + (uint64_t)gpu;
}

static uint64_t wait_flow(uint32_t edge)
{
	return 1ull << 40 | edge;
}

static void host_flows(perfetto *p, uint32_t h)
{
	for (uint32_t g = p->first_gpu[h]; g != ASSAY_NO_ROW; g = p->next_gpu[g])
		assay_protow_fixed64(&p->w, PF_EVENT_FLOW, launch_flow(g));
}

static void gpu_flows(perfetto *p, uint32_t g)
{
	const assay_tables *t = p->t;
	for (uint32_t e = p->first_edge[g]; e != ASSAY_NO_ROW; e = p->next_edge[e])
		assay_protow_fixed64(&p->w, PF_EVENT_FLOW, wait_flow(e));
	uint32_t h = t->launch.n == t->gpu.n ? t->launch.host[g] : ASSAY_NO_ROW;
	if (h != ASSAY_NO_ROW && t->host.ts[h] <= t->gpu.ts[g])
		assay_protow_fixed64(&p->w, PF_EVENT_FLOW_END, launch_flow(g));
	for (uint32_t e = p->into_gpu[g]; e != ASSAY_NO_ROW; e = p->next_into[e])
		assay_protow_fixed64(&p->w, PF_EVENT_FLOW_END, wait_flow(e));
}

static uint32_t *empty_list(perfetto *p, size_t n)
{
	uint32_t *list = assay_alloc(&p->scratch, (n + 1) * sizeof *list);
	memset(list, 0xff, (n + 1) * sizeof *list);
	return list;
}

/* An arrow must not end before it starts: clocks that contradict it make no arrow. */
static void index_flows(perfetto *p)
{
	const assay_tables *t = p->t;
	p->first_gpu = empty_list(p, t->host.n);
	p->next_gpu = empty_list(p, t->gpu.n);
	p->first_edge = empty_list(p, t->gpu.n);
	p->next_edge = empty_list(p, t->edge.n);
	p->into_gpu = empty_list(p, t->gpu.n);
	p->next_into = empty_list(p, t->edge.n);
	for (uint32_t g = 0; t->launch.n == t->gpu.n && g < t->gpu.n; g++) {
		uint32_t h = t->launch.host[g];
		if (h == ASSAY_NO_ROW || t->host.ts[h] > t->gpu.ts[g])
			continue;
		p->next_gpu[g] = p->first_gpu[h];
		p->first_gpu[h] = g;
	}
	for (uint32_t e = 0; e < t->edge.n; e++) {
		uint32_t from = t->edge.from_gpu[e], to = t->edge.to_gpu[e], h = t->edge.to_host[e];
		if (from == ASSAY_NO_ROW || (to == ASSAY_NO_ROW && h == ASSAY_NO_ROW))
			continue;
		int64_t start = t->gpu.ts[from], done = assay_gpu_end(&t->gpu, from);
		if (to != ASSAY_NO_ROW ? t->gpu.ts[to] < start
				       : t->host.ts[h] + t->host.dur[h] < done)
			continue;
		p->next_edge[e] = p->first_edge[from];
		p->first_edge[from] = e;
		if (to != ASSAY_NO_ROW) {
			p->next_into[e] = p->into_gpu[to];
			p->into_gpu[to] = e;
			continue;
		}
		int64_t at = done > t->host.ts[h] ? done : t->host.ts[h];
		*assay_push(&p->arrivals) = (item){t->host.track[h], ON_ARRIVAL, e, at, at};
	}
}

/* ------------------------------------------------------------------ what an event says */

static assay_sid item_name(const perfetto *p, const item *it)
{
	return it->table == ON_HOST   ? p->t->host.name[it->row]
	       : it->table == ON_GPU  ? p->t->gpu.name[it->row]
	       : it->table == ON_SYNC ? p->t->sync.name[it->row]
	       : it->table == ON_MARK ? p->t->mark.name[it->row]
				      : 0;
}

/* Of items whose name is no string of the run. */
static const char *fixed_name(const perfetto *p, const item *it)
{
	return it->table == ON_ARRIVAL ? "producer done"
	       : it->table == ON_WAIT || it->table == ON_HOST_WAIT
		       ? assay_wait_row_name(p->t->wait.kind[it->row])
		       : "unnamed";
}

/* What an input called a span that is of no kind we know. */
static const char *host_category(const perfetto *p, uint32_t h)
{
	const assay_host_table *t = &p->t->host;
	bool plain = t->kind[h] == ASSAY_HOST_OTHER || t->kind[h] == ASSAY_HOST_INSTANT;
	const char *cat = plain && t->detail[h] != ASSAY_NO_ROW
				  ? assay_z(p->run, p->t->other.cat[t->detail[h]])
				  : "";
	return *cat ? cat : assay_host_kind_name[t->kind[h]];
}

static const char *item_category(const perfetto *p, const item *it)
{
	static const char *const fixed[] = {
		[ON_SYNC] = "cuda_sync",      [ON_MARK] = "gpu_user_annotation",
		[ON_ARRIVAL] = "stream_dep",  [ON_WAIT] = "cuda_sync",
		[ON_HOST_WAIT] = "cuda_sync", [ON_LOOK] = ASSAY_LOOK_CATEGORY};
	if (it->table == ON_HOST)
		return host_category(p, it->row);
	return it->table == ON_GPU ? assay_gpu_kind_name[p->t->gpu.kind[it->row]]
				   : fixed[it->table];
}

/* Behind the annotations that have a column come those that do not. */
static void put_details(perfetto *p, const perfetto_event *e)
{
	uint32_t row = e->row;
	perfetto_args args = e->args;
	switch ((item_table)e->table) {
	case ON_HOST:
		perfetto_note_host(p, row, args);
		host_flows(p, row);
		break;
	case ON_GPU:
		perfetto_note_gpu(p, row, args);
		gpu_flows(p, row);
		break;
	case ON_SYNC:
		perfetto_note_sync(p, row, args);
		break;
	case ON_MARK:
		perfetto_note_mark(p, row, args);
		break;
	case ON_ARRIVAL:
		assay_protow_fixed64(&p->w, PF_EVENT_FLOW_END, wait_flow(row));
		break;
	case ON_WAIT:
	case ON_HOST_WAIT:
		perfetto_note_wait(p, row);
		break;
	case ON_LOOK:
		perfetto_note_args(p, args);
		break;
	}
}

/* ------------------------------------------------------------------ events */

enum { BLOCK = 1024, BLOCKS = 16, ARGS_MOST = 8 << 20 };

static void put_clock(assay_protow *w, uint32_t id, uint64_t time, bool incremental)
{
	size_t clock = assay_protow_open(w, PF_CLOCKS_CLOCK);
	assay_protow_varint(w, PF_CLOCK_ID, id);
	assay_protow_varint(w, PF_CLOCK_TIME, time);
	assay_protow_nonzero(w, PF_CLOCK_INCREMENTAL, incremental);
	assay_protow_close(w, clock);
}

/* What packets of the sequence that say nothing else are on, and by which clock; at the end
 * nothing, so that it is the trace's own. */
static void put_line(assay_protow *w, const perfetto_event *e)
{
	size_t defaults = assay_protow_open(w, PF_PACKET_DEFAULTS);
	if (e->type == PERFETTO_LINE_BEGIN) {
		size_t event = assay_protow_open(w, PF_DEFAULT_EVENT);
		assay_protow_varint(w, PF_EVENT_TRACK, e->uuid);
		assay_protow_close(w, event);
		assay_protow_varint(w, PF_DEFAULT_CLOCK, e->clock);
	}
	assay_protow_close(w, defaults);
	if (e->type == PERFETTO_LINE_END)
		return;
	size_t clocks = assay_protow_open(w, PF_PACKET_CLOCKS);
	put_clock(w, PF_BOOTTIME, e->time, false);
	put_clock(w, e->clock, e->time, true);
	assay_protow_close(w, clocks);
}

static void put_event(perfetto *p, const perfetto_event *e)
{
	assay_protow *w = &p->w;
	p->sequence = e->sequence;
	size_t packet = assay_protow_open(w, PF_TRACE_PACKET);
	assay_protow_varint(w, PF_PACKET_SEQUENCE, p->sequence);
	assay_protow_varint(w, PF_PACKET_FLAGS, PF_STATE_NEEDED);
	if (e->type >= PERFETTO_LINE_BEGIN) {
		put_line(w, e);
		assay_protow_close(w, packet);
		return;
	}
	assay_protow_varint(w, PF_PACKET_TIMESTAMP, e->time);
	assay_protow_nonzero(w, PF_PACKET_CLOCK_ID, e->clock);
	size_t event = assay_protow_open(w, PF_PACKET_EVENT);
	assay_protow_varint(w, PF_EVENT_TYPE, e->type);
	assay_protow_nonzero(w, PF_EVENT_TRACK, e->uuid);
	if (e->type != PF_SLICE_END) {
		assay_protow_varint(w, PF_EVENT_CATEGORY_IID, e->category);
		assay_protow_varint(w, PF_EVENT_NAME_IID, e->name);
		assay_protow_nonzero(w, PF_EVENT_STACK_IID, e->stack);
		put_details(p, e);
	}
	assay_protow_close(w, event);
	assay_protow_close(w, packet);
}

/* Writers of blocks: each has what it writes for its own, and looks up the rest. */
struct perfetto_crew {
	perfetto *p;
	unsigned threads;
	perfetto worker[ASSAY_THREADS_MAX];
	perfetto_batch batch; /* being written */
	assay_protow head, args;
	assay_beside writing;
};

static void write_block(void *ctx, unsigned worker, uint64_t block)
{
	struct perfetto_crew *c = ctx;
	perfetto *w = &c->worker[worker];
	size_t from = block * BLOCK, to = from + BLOCK;
	w->w.out.n = 0;
	for (size_t i = from; i < to && i < c->batch.n; i++)
		put_event(w, &c->batch.p[i]);
}

static bool join_block(void *ctx, unsigned worker, uint64_t block)
{
	struct perfetto_crew *c = ctx;
	const assay_protow *events = &c->worker[worker].w;
	(void)block;
	fwrite(events->out.p, 1, events->out.n, c->p->out);
	return true;
}

static void write_batch(void *arg)
{
	struct perfetto_crew *c = arg;
	if (c->head.out.n)
		fwrite(c->head.out.p, 1, c->head.out.n, c->p->out);
	assay_turns_run(&(assay_turns){.tasks = (c->batch.n + BLOCK - 1) / BLOCK,
				       .threads = c->threads,
				       .ctx = c,
				       .work = write_block,
				       .hand_over = join_block});
}

static void swap_bytes(assay_protow *a, assay_protow *b)
{
	assay_protow swap = *a;
	*a = *b;
	*b = swap;
}

static void write_events(perfetto *p)
{
	struct perfetto_crew *c = p->crew;
	perfetto_tell_interned(p, p->line.source);
	assay_beside_join(&c->writing);
	if (!p->now.n)
		return;
	perfetto_batch written = c->batch;
	c->batch = p->now;
	p->now = written;
	swap_bytes(&c->head, &p->w);
	swap_bytes(&c->args, &p->args);
	p->now.n = p->w.out.n = p->args.out.n = 0;
	p->batch++;
	for (unsigned i = 0; i < c->threads; i++) {
		assay_protow out = c->worker[i].w;
		c->worker[i] = *p;
		c->worker[i].w = out;
		c->worker[i].args = c->args;
	}
	assay_beside_start(&c->writing, c->threads, write_batch, c);
}

static void start_crew(perfetto *p)
{
	p->crew = assay_alloc(&p->scratch, sizeof *p->crew);
	p->crew->p = p;
	p->crew->threads = p->items.n > BLOCK ? assay_threads() : 1;
	p->crew->writing.done = true;
}

static void end_crew(perfetto *p)
{
	struct perfetto_crew *c = p->crew;
	write_events(p);
	assay_beside_join(&c->writing);
	for (unsigned i = 0; i < c->threads; i++)
		assay_protow_free(&c->worker[i].w);
	assay_vec_free(&c->batch);
	assay_protow_free(&c->head);
	assay_protow_free(&c->args);
}

static void number_look(perfetto *p, perfetto_event *e)
{
	const assay_sample_table *s = &p->t->sample;
	uint32_t row = e->row;
	assay_arena_reset(&p->one);
	e->name = perfetto_intern(p, PF_INTERNED_NAME,
				  assay_str_of(assay_look_name(&p->one, p->run, row)));
	e->stack = perfetto_stack(p, s->stack[row], s->calls[row], ASSAY_NO_ROW);
	assay_jsonw text = {.compact = true};
	assay_look_put(&text, p->run, row);
	e->args = perfetto_make_text_args(p, assay_jsonw_text(&text));
	assay_jsonw_free(&text);
}

/* A stack that another thread lent is told by that one. */
static uint32_t number_stack(perfetto *p, const item *it)
{
	const assay_tables *t = p->t;
	uint32_t detail = it->table == ON_HOST ? t->host.detail[it->row] : ASSAY_NO_ROW;
	return detail != ASSAY_NO_ROW && assay_is_call(t->host.kind[it->row]) &&
			       !t->api.lent[detail]
		       ? perfetto_stack(p, t->api.stack[detail], ASSAY_NO_ROW, ASSAY_NO_ROW)
		       : 0;
}

/* Numbers of its name, category and arguments, which the sequence is told before the batch. */
static void number_texts(perfetto *p, const item *it, perfetto_event *e)
{
	assay_sid name = item_name(p, it);
	assay_str text = name ? assay_text(p->run, name) : assay_str_of(fixed_name(p, it));
	e->category = perfetto_intern_lasting(p, PF_INTERNED_CATEGORY,
					      assay_str_of(item_category(p, it)));
	if (it->table == ON_LOOK) {
		number_look(p, e);
		return;
	}
	e->name = perfetto_intern_lasting(p, PF_INTERNED_NAME, text);
	e->stack = number_stack(p, it);
	e->args = perfetto_make_args(p, it->table == ON_HOST   ? p->t->host.args[it->row]
					: it->table == ON_GPU  ? p->t->gpu.args[it->row]
					: it->table == ON_SYNC ? p->t->sync.args[it->row]
					: it->table == ON_MARK ? p->t->mark.args[it->row]
							       : 0);
}

static void add_event(perfetto *p, const item *it, int type, int64_t ts)
{
	perfetto_line *l = &p->line;
	perfetto_event e = {.row = it->row,
			    .table = it->table,
			    .sequence = p->sequence,
			    .type = (uint8_t)type,
			    .uuid = l->clock ? 0 : l->uuid,
			    .time = perfetto_absolute(p, l->source, ts)};
	if (p->now.n >= BLOCK * BLOCKS || p->args.out.n > ARGS_MOST)
		write_events(p);
	if (l->clock && e.time >= l->last) {
		uint64_t last = l->last;
		l->last = e.time;
		e.time -= last;
	} else if (l->clock) {
		e.clock = PF_BOOTTIME; /* the line's cannot go back */
	}
	if (type != PF_SLICE_END)
		number_texts(p, it, &e);
	*assay_push(&p->now) = e;
}

enum { LONG_LINE = 64 }; /* worth the two packets more */

static void begin_line(perfetto *p, const item *first, size_t n, unsigned lane, assay_map *seen)
{
	uint32_t source = p->t->track.source[first->track];
	perfetto_tell_interned(p, p->line.source);
	p->line = (perfetto_line){.source = source};
	p->line.uuid = perfetto_lane_track(p, first, lane, seen);
	p->line.last = perfetto_absolute(p, source, first->ts);
	p->sequence = perfetto_sequence_of(p, source);
	perfetto_tell_keys(p);
	uint8_t *used = &p->clocks[p->sequence];
	if (n < LONG_LINE || *used == PF_TRACE_CLOCKS - PF_SEQUENCE_CLOCKS)
		return;
	p->line.clock = (uint8_t)(PF_SEQUENCE_CLOCKS + (*used)++);
	*assay_push(&p->now) = (perfetto_event){.type = PERFETTO_LINE_BEGIN,
						.sequence = p->sequence,
						.uuid = p->line.uuid,
						.clock = p->line.clock,
						.time = p->line.last};
}

static void end_line(perfetto *p)
{
	if (p->line.clock)
		*assay_push(&p->now) =
			(perfetto_event){.type = PERFETTO_LINE_END, .sequence = p->sequence};
}

/* ------------------------------------------------------------------ lanes */

/* Of one track: arrivals stand among calls, all waits together. */
static const uint8_t line[] = {[ON_HOST] = 0,    [ON_GPU] = 1,  [ON_SYNC] = 2,      [ON_MARK] = 3,
			       [ON_ARRIVAL] = 0, [ON_WAIT] = 2, [ON_HOST_WAIT] = 4, [ON_LOOK] = 5};
enum { LINES = 6 };

static size_t line_of(const perfetto *p, uint32_t i)
{
	return (size_t)p->items.track[i] * LINES + line[p->items.table[i]];
}

static item item_at(const perfetto *p, uint32_t i)
{
	return (item){p->items.track[i], p->items.table[i], p->items.row[i], p->items.ts[i],
		      p->items.end[i]};
}

/* Items by track and line, then by time; the one around comes first; then by table and row, which
 * is the order they were added in. */
static uint32_t *sort_items(perfetto *p)
{
	size_t n = p->items.n, lines = p->t->track.n * LINES;
	uint32_t *order = assay_pages_grow(NULL, n * sizeof *order + 1);
	size_t *first = assay_alloc(&p->scratch, (lines + 2) * sizeof *first);
	for (uint32_t i = 0; i < n; i++)
		first[line_of(p, i) + 2]++;
	for (size_t i = 2; i < lines + 2; i++)
		first[i] += first[i - 1];
	for (uint32_t i = 0; i < n; i++) /* first[k + 1] goes from where line k begins to its end */
		order[first[line_of(p, i) + 1]++] = i;
	for (size_t k = 0; k < lines; k++)
		assay_sort_spans(order + first[k], first[k + 1] - first[k], p->items.ts,
				 p->items.end);
	return order;
}

typedef assay_vec(item) item_list;
typedef assay_vec(uint32_t) which_list; /* items by their numbers */

/* End every open slice that is over by ts (all of them at INT64_MAX), innermost first. */
static void close_until(perfetto *p, item_list *open, int64_t ts)
{
	while (open->n && open->p[open->n - 1].end <= ts) {
		item it = open->p[--open->n];
		ASSAY_ASSERT_CHECKED(!open->n || open->p[open->n - 1].end >= it.end);
		add_event(p, &it, PF_SLICE_END, it.end);
	}
}

/* Draw what fits on this lane and leave the rest: host slices nest, device work never overlaps. */
static void draw_lane(perfetto *p, const uint32_t *which, size_t n, which_list *rest, unsigned lane,
		      assay_map *seen)
{
	item_list open = {0};
	item first = item_at(p, which[0]);
	begin_line(p, &first, n, lane, seen);
	for (size_t i = 0; i < n; i++) {
		item one = item_at(p, which[i]), *it = &one;
		bool nests =
			it->table == ON_HOST || it->table == ON_MARK || it->table == ON_ARRIVAL;
		/* started and stopped by id: between others it would push them off their line */
		bool strays = lane == 0 && it->table == ON_HOST &&
			      p->t->host.kind[it->row] == ASSAY_HOST_PROCESS_RANGE;
		close_until(p, &open, it->ts);
		if (strays || (open.n && (!nests || it->end > open.p[open.n - 1].end))) {
			*assay_push(rest) = which[i];
			continue;
		}
		bool instant =
			it->table == ON_ARRIVAL ||
			(it->end == it->ts && (it->table == ON_LOOK ||
					       (it->table == ON_HOST &&
						p->t->host.kind[it->row] == ASSAY_HOST_INSTANT)));
		add_event(p, it, instant ? PF_INSTANT : PF_SLICE_BEGIN, it->ts);
		if (!instant && it->end == it->ts)
			add_event(p, it, PF_SLICE_END, it->end);
		else if (!instant)
			*assay_push(&open) = *it;
	}
	close_until(p, &open, INT64_MAX);
	end_line(p);
	assay_vec_free(&open);
}

enum { LANES_TRIED = 64 }; /* then each has a lane of its own: the time stays linear */

static void draw_line(perfetto *p, const uint32_t *which, size_t n, assay_map *seen)
{
	which_list now = {0}, rest = {0};
	unsigned lane = 0;
	draw_lane(p, which, n, &now, lane++, seen);
	for (; now.n && lane < LANES_TRIED; lane++) {
		rest.n = 0;
		draw_lane(p, now.p, now.n, &rest, lane, seen);
		which_list swap = now;
		now = rest;
		rest = swap;
	}
	for (size_t i = 0; i < now.n; i++)
		draw_lane(p, &now.p[i], 1, &rest, lane++, seen);
	assay_vec_free(&now);
	assay_vec_free(&rest);
}

static int64_t end_of(int64_t ts, int64_t dur)
{
	int64_t end;
	return dur <= 0 ? ts : __builtin_add_overflow(ts, dur, &end) ? INT64_MAX : end;
}

static inline void add_item(perfetto *p, item it)
{
	size_t i = p->items.n++;
	p->items.track[i] = it.track;
	p->items.table[i] = it.table;
	p->items.row[i] = it.row;
	p->items.ts[i] = it.ts;
	p->items.end[i] = it.end;
}

static void add_items(perfetto *p, item_table table, size_t n, const uint32_t *track,
		      const int64_t *ts, const int64_t *dur)
{
	for (uint32_t i = 0; i < n; i++)
		add_item(p, (item){track[i], (uint8_t)table, i, ts[i], end_of(ts[i], dur[i])});
}

static void add_waits(perfetto *p, const assay_wait_rows *found)
{
	const assay_wait_table *w = &p->t->wait;
	for (size_t k = 0; k < found->n; k++) {
		const assay_wait_row *r = &found->p[k];
		bool of_stream = r->track != ASSAY_NO_ROW;
		add_item(p, (item){of_stream ? r->track : w->thread[r->wait],
				   of_stream ? ON_WAIT : ON_HOST_WAIT, r->wait, w->ts[r->wait],
				   w->ts[r->wait] + w->dur[r->wait]});
	}
}

static void add_all(perfetto *p)
{
	const assay_tables *t = p->t;
	assay_wait_rows waits = {0};
	assay_wait_rows_find(p->run, &waits);
	size_t n = t->host.n + t->gpu.n + t->sync.n + t->mark.n + t->sample.n + waits.n +
		   p->arrivals.n;
	p->items.track = assay_pages_grow(NULL, n * sizeof *p->items.track + 1);
	p->items.row = assay_pages_grow(NULL, n * sizeof *p->items.row + 1);
	p->items.ts = assay_pages_grow(NULL, n * sizeof *p->items.ts + 1);
	p->items.end = assay_pages_grow(NULL, n * sizeof *p->items.end + 1);
	p->items.table = assay_pages_grow(NULL, n + 1);
	add_items(p, ON_HOST, t->host.n, t->host.track, t->host.ts, t->host.dur);
	add_items(p, ON_GPU, t->gpu.n, t->gpu.track, t->gpu.ts, t->gpu.dur);
	add_items(p, ON_SYNC, t->sync.n, t->sync.track, t->sync.ts, t->sync.dur);
	add_items(p, ON_MARK, t->mark.n, t->mark.track, t->mark.ts, t->mark.dur);
	add_items(p, ON_LOOK, t->sample.n, t->sample.track, t->sample.ts, t->sample.dur);
	add_waits(p, &waits);
	for (size_t i = 0; i < p->arrivals.n; i++)
		add_item(p, p->arrivals.p[i]);
	assay_vec_free(&waits);
}

static void free_items(perfetto *p)
{
	void *const columns[] = {p->items.track, p->items.row, p->items.ts, p->items.end,
				 p->items.table};
	for (size_t i = 0; i < ASSAY_COUNT_OF(columns); i++)
		assay_pages_free(columns[i]);
}

void perfetto_put_slices(perfetto *p, assay_map *seen)
{
	index_flows(p);
	add_all(p);
	uint32_t *order = sort_items(p);
	start_crew(p);
	for (size_t i = 0, n; i < p->items.n; i += n) {
		size_t of = line_of(p, order[i]);
		for (n = 1; i + n < p->items.n && line_of(p, order[i + n]) == of;)
			n++;
		draw_line(p, order + i, n, seen);
	}
	end_crew(p);
	assay_pages_free(order);
	free_items(p);
	assay_vec_free(&p->arrivals);
	assay_vec_free(&p->now);
	assay_protow_free(&p->args);
}
