/* Streams are played forward from what is known to have ended: records and writes happen when they
 * are reached, waits pass once what they wait for happened, work that was not seen to end stays.
 * Where each stream stops is what it waits for. */
#include "analyze/hang.h"

#include <stdlib.h>

#include "base/compare.h"
#include "base/sort.h"
#include "base/test.h"
#include "names/calls.h"
#include "names/kernels.h"

/* ---- items ---- */

/* Calls in the order of their times: a moment up to which streams are known to be empty, besides
 * the items. */
typedef struct search {
	const assay_run *run;
	assay_hang *h;
	assay_map streams;   /* handle -> row of stream */
	assay_map capturing; /* handle -> 1: calls make a graph */
	assay_map recorded;  /* event -> item that recorded it last, of those taken so far */
	assay_map written;   /* address -> 1: a stream wrote there */
} search;

static assay_hang_stream *stream_of(search *s, uint64_t handle)
{
	uint32_t *slot = assay_map_at(&s->streams, handle);
	if (*slot == ASSAY_MAP_ABSENT) {
		*slot = (uint32_t)s->h->stream.n;
		*assay_push(&s->h->stream) = (assay_hang_stream){.handle = handle,
								 .id = -1,
								 .head = UINT32_MAX,
								 .waits_for = UINT32_MAX,
								 .on = UINT32_MAX,
								 .done_until = INT64_MIN};
	}
	return &s->h->stream.p[*slot];
}

static void empty_until(assay_hang_stream *s, int64_t ts)
{
	s->done_until = ts > s->done_until ? ts : s->done_until;
}

static bool kind_of(uint8_t does, assay_hang_kind *kind)
{
	static const struct {
		uint8_t does;
		assay_hang_kind kind;
	} kinds[] = {
		{ASSAY_DOES_RECORD, ASSAY_HANG_RECORD},
		{ASSAY_DOES_WAIT, ASSAY_HANG_WAIT},
		{ASSAY_DOES_WAIT_VALUE, ASSAY_HANG_WAIT_VALUE},
		{ASSAY_DOES_WRITE_VALUE, ASSAY_HANG_WRITE_VALUE},
		{ASSAY_DOES_HOST_FUNC, ASSAY_HANG_HOST_FUNC},
	};
	for (size_t i = 0; i < ASSAY_COUNT_OF(kinds); i++)
		if (kinds[i].does == does) {
			*kind = kinds[i].kind;
			return true;
		}
	return false;
}

static void add_item(search *s, assay_hang_item item)
{
	stream_of(s, item.stream);
	item.record =
		item.kind == ASSAY_HANG_WAIT ? assay_map_get(&s->recorded, item.event) : UINT32_MAX;
	if (item.kind == ASSAY_HANG_RECORD)
		*assay_map_at(&s->recorded, item.event) = (uint32_t)s->h->item.n;
	*assay_push(&s->h->item) = item;
}

/* A call that waited and came back proves that what it waited for is over. */
static void learn_from(search *s, uint32_t row, uint8_t does)
{
	const assay_event_call_table *c = &s->run->part.t.event_call;
	int64_t ts = c->ts[row];
	if (does == ASSAY_DOES_STREAM_SYNC || does == ASSAY_DOES_STREAM_DESTROY)
		empty_until(stream_of(s, c->stream[row]), ts);
	for (size_t i = 0; does == ASSAY_DOES_DEVICE_SYNC && i < s->h->stream.n; i++)
		empty_until(&s->h->stream.p[i], ts);
	uint32_t record = does == ASSAY_DOES_EVENT_SYNC ? assay_map_get(&s->recorded, c->event[row])
							: UINT32_MAX;
	if (record != UINT32_MAX)
		empty_until(stream_of(s, s->h->item.p[record].stream), s->h->item.p[record].ts);
}

static void take_call(search *s, uint32_t row)
{
	const assay_event_call_table *c = &s->run->part.t.event_call;
	assay_str name = assay_text(s->run, c->name[row]);
	uint8_t does = assay_call_meaning_of(name.p, name.n).does;
	assay_hang_kind kind;
	if (c->status[row])
		return;
	if (does == ASSAY_DOES_CAPTURE_BEGIN || does == ASSAY_DOES_CAPTURE_END)
		*assay_map_at(&s->capturing, c->stream[row]) = does == ASSAY_DOES_CAPTURE_BEGIN;
	bool captured = assay_map_get(&s->capturing, c->stream[row]) == 1;
	if (kind_of(does, &kind) && !captured)
		add_item(s, (assay_hang_item){.kind = kind,
					      .ts = c->ts[row],
					      .stream = c->stream[row],
					      .event = c->event[row],
					      .corr = c->corr[row],
					      .call = c->name[row],
					      .track = c->track[row]});
	else
		learn_from(s, row, does);
}

static void take_launch(search *s, uint32_t row)
{
	const assay_tables *t = &s->run->part.t;
	const assay_queued_table *q = &t->queued;
	if (q->done[row]) {
		empty_until(stream_of(s, q->stream[row]), q->ts[row]);
		return;
	}
	if (assay_map_get(&s->capturing, q->stream[row]) == 1)
		return;
	add_item(s, (assay_hang_item){.kind = ASSAY_HANG_LAUNCH,
				      .ts = q->ts[row],
				      .stream = q->stream[row],
				      .corr = q->corr[row],
				      .call = t->host.name[q->host[row]],
				      .kernel = q->kernel[row],
				      .track = t->host.track[q->host[row]]});
}

/* Calls and launches in one order of time. */
static void gather(search *s)
{
	const assay_tables *t = &s->run->part.t;
	size_t calls = t->event_call.n, n = calls + t->queued.n;
	assay_arena scratch = {0};
	int64_t *ts = assay_alloc(&scratch, (n + 1) * sizeof *ts);
	uint32_t *order = assay_alloc(&scratch, (n + 1) * sizeof *order);
	for (uint32_t i = 0; i < n; i++) {
		ts[i] = i < calls ? t->event_call.ts[i] : t->queued.ts[i - calls];
		order[i] = i;
	}
	assay_sort_rows(order, n, ts);
	for (size_t i = 0; i < n; i++)
		if (order[i] < calls)
			take_call(s, order[i]);
		else
			take_launch(s, order[i] - (uint32_t)calls);
	assay_arena_free(&scratch);
}

/* ---- play ---- */

static bool passes(const search *s, const assay_hang_item *i)
{
	switch (i->kind) {
	case ASSAY_HANG_RECORD:
	case ASSAY_HANG_WRITE_VALUE:
		return true;
	case ASSAY_HANG_WAIT: /* for an event that was never recorded is none */
		return i->record == UINT32_MAX || s->h->item.p[i->record].done;
	case ASSAY_HANG_WAIT_VALUE:
		return assay_map_get(&s->written, i->event) == 1;
	case ASSAY_HANG_LAUNCH:
	case ASSAY_HANG_HOST_FUNC:
	case ASSAY_HANG_ITEM_COUNT:
		break;
	}
	return false;
}

/* One turn: each stream as far as it gets. True when one moved. */
static bool play(search *s)
{
	assay_hang *h = s->h;
	bool moved = false;
	for (size_t i = 0; i < h->stream.n; i++)
		h->stream.p[i].head = UINT32_MAX;
	for (uint32_t i = 0; i < h->item.n; i++) {
		assay_hang_item *it = &h->item.p[i];
		assay_hang_stream *at = stream_of(s, it->stream);
		if (it->done || at->head != UINT32_MAX)
			continue;
		it->done = it->ts <= at->done_until || passes(s, it);
		if (it->done && it->kind == ASSAY_HANG_WRITE_VALUE)
			*assay_map_at(&s->written, it->event) = 1;
		moved = moved || it->done;
		if (!it->done)
			at->head = i;
	}
	return moved;
}

static uint32_t write_of(const assay_hang *h, uint64_t address)
{
	for (uint32_t i = 0; i < h->item.n; i++)
		if (h->item.p[i].kind == ASSAY_HANG_WRITE_VALUE && !h->item.p[i].done &&
		    h->item.p[i].event == address)
			return i;
	return UINT32_MAX;
}

static void explain(search *s)
{
	assay_hang *h = s->h;
	for (size_t i = 0; i < h->stream.n; i++) {
		assay_hang_stream *at = &h->stream.p[i];
		if (at->head == UINT32_MAX)
			continue;
		const assay_hang_item *it = &h->item.p[at->head];
		at->waits_for =
			it->kind == ASSAY_HANG_WAIT_VALUE ? write_of(h, it->event) : it->record;
		if (at->waits_for != UINT32_MAX)
			at->on = assay_map_get(&s->streams, h->item.p[at->waits_for].stream);
	}
	for (size_t i = 0; i < h->stream.n; i++) {
		uint32_t at = h->stream.p[i].on;
		for (size_t steps = 0; at != UINT32_MAX && at != i && steps < h->stream.n; steps++)
			at = h->stream.p[at].on;
		h->stream.p[i].in_cycle = at == i;
	}
}

static void count_left(search *s)
{
	assay_hang *h = s->h;
	const assay_stream_table *t = &s->run->part.t.stream;
	for (size_t i = 0; i < h->item.n; i++)
		stream_of(s, h->item.p[i].stream)->queued += !h->item.p[i].done;
	for (size_t i = 0; i < t->n; i++) {
		uint32_t row = assay_map_get(&s->streams, t->handle[i]);
		if (row != ASSAY_MAP_ABSENT && t->handle[i])
			h->stream.p[row].id = t->id[i];
	}
}

/* ---- collectives ---- */

static bool is_collective(const assay_run *run, assay_sid name)
{
	return name && assay_family_of_name(assay_text(run, name)) == ASSAY_FAMILY_COLLECTIVE;
}

static int by_start(const void *a, const void *b)
{
	const assay_hang_item *x = a, *y = b;
	return ASSAY_CMP(x->ts, y->ts);
}

/* Work has its launch's number: the order of calls is that of the numbers of one process. */
static void find_collectives(search *s)
{
	const assay_tables *t = &s->run->part.t;
	assay_map called = {0};
	for (uint32_t i = 0; i < t->host.n; i++)
		if (assay_is_call(t->host.kind[i]) && t->host.detail[i] != ASSAY_NO_ROW)
			*assay_map_at(&called, t->api.corr[t->host.detail[i]]) = i;
	for (size_t i = 0; i < t->gpu.n; i++) {
		uint32_t host = is_collective(s->run, t->gpu.name[i])
					? assay_map_get(&called, t->gpu.corr[i])
					: ASSAY_MAP_ABSENT;
		if (host != ASSAY_MAP_ABSENT)
			*assay_push(&s->h->collective) = (assay_hang_item){.ts = t->host.ts[host],
									   .corr = t->gpu.corr[i],
									   .kernel = t->gpu.name[i],
									   .done = true};
	}
	for (size_t i = 0; i < s->h->item.n; i++)
		if (is_collective(s->run, s->h->item.p[i].kernel)) /* its record never came */
			*assay_push(&s->h->collective) = s->h->item.p[i];
	if (s->h->collective.n)
		qsort(s->h->collective.p, s->h->collective.n, sizeof *s->h->collective.p, by_start);
	assay_map_free(&called);
}

void assay_hang_find(const assay_run *run, assay_hang *out)
{
	search s = {.run = run, .h = out};
	*out = (assay_hang){0};
	gather(&s);
	while (play(&s))
		;
	explain(&s);
	count_left(&s);
	find_collectives(&s);
	assay_map_free(&s.streams);
	assay_map_free(&s.capturing);
	assay_map_free(&s.recorded);
	assay_map_free(&s.written);
}

void assay_hang_free(assay_hang *h)
{
	assay_vec_free(&h->item);
	assay_vec_free(&h->stream);
	assay_vec_free(&h->collective);
}

/* ---- tests ---- */

static void call(assay_run *run, int64_t ts, const char *name, uint64_t stream, uint64_t event)
{
	assay_event_call_table *c = &run->part.t.event_call;
	uint32_t row = assay_add(&run->part.t, ASSAY_T_event_call);
	c->ts[row] = ts;
	c->name[row] = assay_intern_z(&run->part.strings, name);
	c->stream[row] = stream;
	c->event[row] = event;
}

static void launch(assay_run *run, int64_t ts, uint64_t stream, bool done)
{
	assay_tables *t = &run->part.t;
	uint32_t row = assay_add(t, ASSAY_T_queued), host = assay_add(t, ASSAY_T_host);
	t->queued.ts[row] = ts;
	t->queued.stream[row] = stream;
	t->queued.host[row] = host;
	t->queued.done[row] = done;
}

static const assay_hang_stream *stream_with(const assay_hang *h, uint64_t handle)
{
	for (size_t i = 0; i < h->stream.n; i++)
		if (h->stream.p[i].handle == handle)
			return &h->stream.p[i];
	return NULL;
}

/* As CUPTI does whose buffer holds back what ended with what did not. */
TEST(collectives_count_whose_records_were_not_handed_over)
{
	assay_run *run = assay_run_new();
	assay_hang h;
	for (int64_t i = 0; i < 4; i++) {
		launch(run, 2 * i, 1, false);
		run->part.t.queued.kernel[i] = assay_sid_of(run, "ncclDevKernel_AllReduce_Sum_f32");
		if (i < 3)
			call(run, 2 * i + 1, "cudaDeviceSynchronize", 0, 0);
	}
	assay_hang_find(run, &h);
	CHECK_EQ(stream_with(&h, 1)->queued, 1);
	CHECK_EQ(h.collective.n, 4);
	assay_hang_free(&h);
	assay_run_free(run);
	return 0;
}

TEST(a_stream_waits_for_an_event_behind_work_that_does_not_end)
{
	assay_run *run = assay_run_new();
	assay_hang h;
	launch(run, 1, 1, true);
	launch(run, 2, 1, false);
	call(run, 3, "cudaEventRecord", 1, 0xe);
	call(run, 4, "cudaStreamWaitEvent", 2, 0xe);
	launch(run, 5, 2, false);
	assay_hang_find(run, &h);
	const assay_hang_stream *one = stream_with(&h, 1), *two = stream_with(&h, 2);
	CHECK(one && two);
	CHECK_EQ(h.item.p[one->head].kind, ASSAY_HANG_LAUNCH);
	CHECK_EQ(h.item.p[two->head].kind, ASSAY_HANG_WAIT);
	CHECK(&h.stream.p[two->on] == one && !two->in_cycle);
	CHECK_EQ(two->queued, 2);
	assay_hang_free(&h);
	assay_run_free(run);
	return 0;
}

TEST(a_wait_for_an_event_that_was_reached_or_never_recorded_passes)
{
	assay_run *run = assay_run_new();
	assay_hang h;
	launch(run, 1, 1, false);
	call(run, 2, "cudaEventRecord", 1, 0xe);
	call(run, 3, "cudaStreamSynchronize", 1, 0);
	call(run, 4, "cudaStreamWaitEvent", 2, 0xe);
	call(run, 5, "cudaStreamWaitEvent", 2, 0xf);
	assay_hang_find(run, &h);
	CHECK_EQ(stream_with(&h, 2)->queued, 0);
	CHECK_EQ(stream_with(&h, 1)->queued, 0);
	assay_hang_free(&h);
	assay_run_free(run);
	return 0;
}

TEST(streams_that_wait_for_each_others_values_are_a_cycle)
{
	assay_run *run = assay_run_new();
	assay_hang h;
	call(run, 1, "cuStreamWaitValue32", 1, 0xa);
	call(run, 2, "cuStreamWriteValue32", 1, 0xb);
	call(run, 3, "cuStreamWaitValue32", 2, 0xb);
	call(run, 4, "cuStreamWriteValue32", 2, 0xa);
	launch(run, 5, 3, false);
	assay_hang_find(run, &h);
	CHECK(stream_with(&h, 1)->in_cycle && stream_with(&h, 2)->in_cycle);
	CHECK(!stream_with(&h, 3)->in_cycle);
	assay_hang_free(&h);
	assay_run_free(run);
	return 0;
}

TEST(what_is_captured_into_a_graph_is_not_queued)
{
	assay_run *run = assay_run_new();
	assay_hang h;
	call(run, 1, "cudaStreamBeginCapture", 1, 0);
	launch(run, 2, 1, false);
	call(run, 3, "cudaStreamEndCapture", 1, 0);
	launch(run, 4, 1, false);
	assay_hang_find(run, &h);
	CHECK_EQ(stream_with(&h, 1)->queued, 1);
	assay_hang_free(&h);
	assay_run_free(run);
	return 0;
}
