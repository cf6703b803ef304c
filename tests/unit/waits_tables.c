/* Waits from tables, as recorders fill them: with the vendor's join ids, and again with nothing but
 * the handles of the calls. Both must say the same. */
#include "base/test.h"
#include "model/by_hand.h"
#include "resolve/resolve.h"

enum { STEPS = 400, STREAMS = 4, EVENTS = 6, THREADS = 3 };

typedef struct maker {
	assay_run *run;
	uint64_t random, corr, sync_ids;
	int64_t now, device_free;
	uint64_t handle[EVENTS]; /* of the event alive at each place */
	uint64_t number[EVENTS];
	uint64_t last_sync[EVENTS]; /* 0: not recorded yet */
	uint64_t made;
} maker;

static uint32_t pick(maker *m, uint32_t n)
{
	m->random ^= m->random << 13;
	m->random ^= m->random >> 7;
	m->random ^= m->random << 17;
	return (uint32_t)(m->random >> 20) % n;
}

static uint64_t stream_handle(uint32_t s)
{
	return s ? 0x7f0000001000u + s * 0x100 : 0;
}

static uint32_t stream_row(maker *m, uint32_t s)
{
	return assay_stream_track(&m->run->part, 0, 7 + s);
}

/* A call with its row in host, and in event_call when it takes handles. */
static uint64_t add_call(maker *m, const char *name, uint64_t stream, uint64_t event, bool handles)
{
	assay_tables *t = &m->run->part.t;
	m->now += 10;
	uint32_t h = assay_hand_host(m->run, ASSAY_HOST_RUNTIME, name, m->now, 5);
	t->api.corr[t->host.detail[h]] = ++m->corr;
	t->host.track[h] = assay_thread_track(&m->run->part, 1, pick(m, THREADS));
	if (!handles)
		return m->corr;
	uint32_t e = assay_hand_event_call(m->run, name, m->corr, m->now, 5);
	t->event_call.track[e] = t->host.track[h];
	t->event_call.stream[e] = stream;
	t->event_call.event[e] = event;
	return m->corr;
}

static void add_kernel(maker *m)
{
	assay_tables *t = &m->run->part.t;
	uint32_t s = pick(m, STREAMS);
	uint64_t corr = add_call(m, "cudaLaunchKernel", 0, 0, false);
	uint32_t g = assay_add(t, ASSAY_T_gpu);
	m->device_free = (m->now > m->device_free ? m->now : m->device_free) + 1;
	t->gpu.ts[g] = m->device_free;
	t->gpu.dur[g] = 1 + pick(m, 30);
	m->device_free += t->gpu.dur[g];
	t->gpu.corr[g] = corr;
	t->gpu.track[g] = stream_row(m, s);
	t->gpu.name[g] = assay_sid_of(m->run, "k");
}

static void add_record(maker *m)
{
	assay_tables *t = &m->run->part.t;
	uint32_t e = pick(m, EVENTS), s = pick(m, STREAMS);
	uint64_t corr = add_call(m, "cudaEventRecord", stream_handle(s), m->handle[e], true);
	uint32_t r = assay_add(t, ASSAY_T_event_record);
	t->event_record.track[r] = stream_row(m, s);
	t->event_record.corr[r] = corr;
	t->event_record.event[r] = m->number[e];
	t->event_record.sync_id[r] = m->last_sync[e] = ++m->sync_ids;
}

static void add_wait(maker *m)
{
	assay_tables *t = &m->run->part.t;
	uint32_t e = pick(m, EVENTS), s = pick(m, STREAMS);
	bool host = pick(m, 2);
	if (!m->last_sync[e])
		return;
	uint64_t corr =
		host ? add_call(m, "cudaEventSynchronize", 0, m->handle[e], true)
		     : add_call(m, "cudaStreamWaitEvent", stream_handle(s), m->handle[e], true);
	uint32_t r = assay_add(t, ASSAY_T_sync);
	t->sync.ts[r] = m->now;
	t->sync.dur[r] = 5;
	t->sync.name[r] = assay_sid_of(m->run, host ? "Event Sync" : "Stream Wait Event");
	t->sync.track[r] = host ? assay_stream_track(&m->run->part, 0, -1) : stream_row(m, s);
	t->sync.corr[r] = corr;
	t->sync.event[r] = (int64_t)m->number[e];
	t->sync.sync_id[r] = m->last_sync[e];
}

/* The address comes back, as allocators do it. */
static void recreate(maker *m)
{
	uint32_t e = pick(m, EVENTS);
	add_call(m, "cudaEventDestroy", 0, m->handle[e], true);
	add_call(m, "cudaEventCreateWithFlags", 0, m->handle[e], true);
	m->number[e] = ++m->made;
	m->last_sync[e] = 0;
}

static assay_run *make_run(uint64_t seed)
{
	maker m = {.run = assay_run_new(), .random = seed * 0x9E3779B97F4A7C15u};
	assay_tables *t = &m.run->part.t;
	m.run->part.source = assay_add(t, ASSAY_T_source);
	uint32_t counts = assay_add(t, ASSAY_T_ledger);
	t->ledger.source[counts] = 0; /* nothing was lost */
	for (uint32_t s = 0; s < STREAMS; s++) {
		uint32_t r = assay_add(t, ASSAY_T_stream);
		t->stream.source[r] = 0;
		t->stream.device[r] = 0;
		t->stream.id[r] = 7 + s;
		t->stream.handle[r] = stream_handle(s);
		t->stream.flags[r] = s ? s % 2 * 2 : 1;
	}
	for (uint32_t e = 0; e < EVENTS; e++) {
		m.handle[e] = 0x7f0000020000u + e * 0x40;
		m.number[e] = ++m.made;
	}
	for (int i = 0; i < STEPS; i++) {
		uint32_t what = pick(&m, 10);
		if (what < 4)
			add_kernel(&m);
		else if (what < 6)
			add_record(&m);
		else if (what < 9)
			add_wait(&m);
		else
			recreate(&m);
	}
	return m.run;
}

TEST(join_ids_and_handles_say_the_same)
{
	size_t waits = 0;
	for (uint64_t seed = 1; seed <= 200; seed++) {
		assay_run *a = make_run(seed), *b = make_run(seed);
		assay_waits(a);
		assay_waits_with(b, &(assay_waits_opts){.handles_only = true});
		const assay_wait_table *x = &a->part.t.wait, *y = &b->part.t.wait;
		CHECK_EQ(x->n, y->n);
		for (size_t i = 0; i < x->n; i++) {
			CHECK(x->class[i] == ASSAY_WAIT_IS_EXACT);
			CHECK(y->class[i] <= ASSAY_WAIT_IS_LIKELY);
			CHECK(x->corr[i] == y->corr[i] && x->record_corr[i] == y->record_corr[i]);
			CHECK(x->record_corr[i] && x->producer[i] == y->producer[i]);
			CHECK(x->consumer[i] == y->consumer[i] && x->delayed[i] == y->delayed[i]);
			CHECK(x->producer_gpu[i] == y->producer_gpu[i]);
			CHECK(x->consumer_gpu[i] == y->consumer_gpu[i]);
		}
		CHECK_EQ(a->part.t.edge.n, b->part.t.edge.n);
		waits += x->n;
		assay_run_free(a);
		assay_run_free(b);
	}
	CHECK(waits > 10000);
	return 0;
}

/* A recorder without arguments: its numbers of events stand for the handles. */
TEST(join_ids_and_event_numbers_say_the_same)
{
	for (uint64_t seed = 1; seed <= 100; seed++) {
		assay_run *a = make_run(seed), *b = make_run(seed);
		a->part.t.event_call.n = b->part.t.event_call.n = 0;
		assay_waits(a);
		assay_waits_with(b, &(assay_waits_opts){.handles_only = true});
		const assay_wait_table *x = &a->part.t.wait, *y = &b->part.t.wait;
		CHECK(x->n == y->n && x->n > 10);
		for (size_t i = 0; i < x->n; i++) {
			CHECK(x->class[i] == ASSAY_WAIT_IS_EXACT);
			CHECK(y->class[i] <= ASSAY_WAIT_IS_LIKELY);
			CHECK(x->corr[i] == y->corr[i] && x->record_corr[i] == y->record_corr[i]);
			CHECK(x->producer_gpu[i] == y->producer_gpu[i]);
		}
		assay_run_free(a);
		assay_run_free(b);
	}
	return 0;
}

TEST(a_failed_call_is_told_by_its_status)
{
	maker m = {.run = assay_run_new(), .random = 1};
	m.run->part.source = assay_add(&m.run->part.t, ASSAY_T_source);
	add_call(&m, "hipEventRecord", 0x500, 0x7f00, true);
	add_call(&m, "hipEventRecord", 0x600, 0x7f00, true);
	m.run->part.t.event_call.status[1] = 400;
	add_call(&m, "hipEventSynchronize", 0, 0x7f00, true);
	assay_waits(m.run);
	CHECK(m.run->part.t.wait.n == 1 && m.run->part.t.wait.record_corr[0] == 1);
	CHECK_EQ(m.run->part.t.wait.producer_handle[0], 0x500);
	assay_run_free(m.run);
	return 0;
}

/* Two threads record an event at the same time; then a stream waits for it, and no row of the
 * vendor's tells of that. */
static assay_run *wait_by_handle(bool numbered)
{
	maker m = {.run = assay_run_new(), .random = 1};
	assay_tables *t = &m.run->part.t;
	m.run->part.source = assay_add(t, ASSAY_T_source);
	add_call(&m, "cudaEventCreate", 0, 0x7f00, true);
	for (int i = 0; i < 3; i++) {
		uint64_t corr = add_call(&m, "cudaEventRecord", 0x500, 0x7f00, true);
		uint32_t r = numbered ? assay_add(t, ASSAY_T_event_record) : ASSAY_NO_ROW;
		if (r == ASSAY_NO_ROW)
			continue;
		t->event_record.track[r] = assay_stream_track(&m.run->part, 0, 13);
		t->event_record.corr[r] = corr;
		t->event_record.event[r] = 4;
		t->event_record.sync_id[r] = corr;
	}
	t->host.dur[1] = 20; /* the second begins meanwhile */
	add_call(&m, "cudaStreamWaitEvent", 0x600, 0x7f00, true);
	for (uint32_t h = 0; h < t->host.n; h++)
		t->host.track[h] = assay_thread_track(&m.run->part, 1, h == 1);
	assay_waits(m.run);
	return m.run;
}

TEST(an_event_that_rows_number_is_found_by_its_handle_too)
{
	for (int numbered = 0; numbered < 2; numbered++) {
		assay_run *run = wait_by_handle(numbered);
		const assay_wait_table *w = &run->part.t.wait;
		CHECK(w->n == 1 && w->record_corr[0] == 4);
		CHECK_EQ(w->class[0], ASSAY_WAIT_IS_LIKELY);
		CHECK_EQ(run->part.issues[ASSAY_ISSUE_event_rerecord], 1);
		assay_run_free(run);
	}
	return 0;
}

/* A kernel, the record of an event on this stream and device, and the wait of that one for it: as
 * Kineto writes them, which names streams by their number alone. */
static assay_run *wait_of_kineto(int64_t ran_on, int64_t recorded_on, int64_t device)
{
	maker m = {.run = assay_run_new(), .random = 1};
	assay_tables *t = &m.run->part.t;
	m.run->part.source = assay_add(t, ASSAY_T_source);
	uint64_t launch = add_call(&m, "cudaLaunchKernel", 0, 0, false);
	uint32_t g = assay_add(t, ASSAY_T_gpu);
	t->gpu.ts[g] = 20;
	t->gpu.dur[g] = 1000;
	t->gpu.corr[g] = launch;
	t->gpu.track[g] = assay_stream_track(&m.run->part, 0, ran_on);
	uint64_t record = add_call(&m, "cudaEventRecord", 0, 0, false);
	uint64_t wait = add_call(&m, "cudaStreamWaitEvent", 0, 0, false);
	uint32_t r = assay_add(t, ASSAY_T_sync);
	t->sync.ts[r] = m.now;
	t->sync.dur[r] = 5;
	t->sync.name[r] = assay_sid_of(m.run, "Stream Wait Event");
	t->sync.track[r] = assay_stream_track(&m.run->part, device, 20);
	t->sync.corr[r] = wait;
	t->sync.event[r] = 3;
	t->sync.wait_stream[r] = recorded_on;
	t->sync.record_corr[r] = (int64_t)record;
	for (uint32_t h = 0; h < t->host.n; h++)
		t->host.track[h] = t->host.track[0];
	assay_waits(m.run);
	return m.run;
}

TEST(the_default_stream_is_known_by_its_number_before_anything_ran_in_it)
{
	assay_run *run = wait_of_kineto(13, 7, 0); /* behind 13, should that be blocking */
	CHECK(run->part.t.wait.n == 1 && run->part.t.wait.record_corr[0] == 2);
	CHECK_EQ(run->part.t.wait.class[0], ASSAY_WAIT_IS_LIKELY);
	assay_run_free(run);
	return 0;
}

TEST(the_stream_of_a_record_is_not_on_the_device_that_waits_when_nothing_ran_there)
{
	assay_run *run = wait_of_kineto(13, 13, 1);
	CHECK(run->part.t.wait.producer_gpu[0] == 0 && run->part.t.wait.producer_device[0] == 0);
	CHECK_EQ(run->part.t.wait.class[0], ASSAY_WAIT_IS_LIKELY);
	assay_run_free(run);
	run = wait_of_kineto(13, 13, 0);
	CHECK(run->part.t.wait.producer_gpu[0] == 0);
	CHECK_EQ(run->part.t.wait.class[0], ASSAY_WAIT_IS_EXACT);
	assay_run_free(run);
	return 0;
}

/* AMD's recorder tells no handles of launches, but which streams are threads' own. */
TEST(a_threads_own_stream_is_known_by_who_launched_into_it)
{
	maker m = {.run = assay_run_new(), .random = 1};
	assay_tables *t = &m.run->part.t;
	m.run->part.source = assay_add(t, ASSAY_T_source);
	uint32_t s = assay_add(t, ASSAY_T_stream);
	t->stream.source[s] = 0;
	t->stream.device[s] = 0;
	t->stream.id[s] = 33;
	t->stream.handle[s] = 2;
	t->stream.flags[s] = ASSAY_STREAM_PER_THREAD;
	add_call(&m, "hipLaunchKernel_spt", 0, 0, false);
	uint32_t g = assay_add(t, ASSAY_T_gpu);
	t->gpu.corr[g] = 1;
	t->gpu.ts[g] = 100;
	t->gpu.dur[g] = 10;
	t->gpu.track[g] = assay_stream_track(&m.run->part, 0, 33);
	add_call(&m, "hipStreamSynchronize", 2, 0, true);
	for (uint32_t h = 0; h < t->host.n; h++)
		t->host.track[h] = t->event_call.track[0] = t->host.track[0];
	assay_waits(m.run);
	CHECK(t->wait.n == 1 && t->wait.producer_gpu[0] == g);
	assay_run_free(m.run);
	return 0;
}

static void add_launched(maker *m, int64_t device, int64_t stream)
{
	assay_tables *t = &m->run->part.t;
	uint32_t g = assay_add(t, ASSAY_T_gpu);
	t->gpu.corr[g] = add_call(m, "cudaLaunchKernel", 0, 0, false);
	t->gpu.ts[g] = m->now + 5;
	t->gpu.dur[g] = 1000;
	t->gpu.track[g] = assay_stream_track(&m->run->part, device, stream);
}

/* After recording was off nothing but the row tells the device of a call: the null stream is that
 * device's, whichever the thread launched on last. */
TEST(a_null_stream_is_that_of_the_device_that_the_row_tells)
{
	maker m = {.run = assay_run_new(), .random = 1};
	assay_tables *t = &m.run->part.t;
	m.run->part.source = assay_add(t, ASSAY_T_source);
	uint32_t o = assay_add(t, ASSAY_T_off);
	t->off.source[o] = 0;
	t->off.ts[o] = 0;
	t->off.dur[o] = 2;
	add_launched(&m, 0, 7);
	add_launched(&m, 1, 7);
	add_call(&m, "cudaStreamSynchronize", 0, 0, true);
	t->event_call.place[0] = assay_stream_track(&m.run->part, 0, -1);
	for (uint32_t h = 0; h < t->host.n; h++)
		t->host.track[h] = t->event_call.track[0] = t->host.track[0];
	assay_waits(m.run);
	CHECK(t->wait.n == 1 && t->wait.producer[0] == t->gpu.track[0]);
	CHECK_EQ(t->wait.producer_gpu[0], 0);
	assay_run_free(m.run);
	return 0;
}

/* While recording was off, threads may have chosen other devices and recorded events. */
TEST(recording_that_was_off_makes_devices_and_events_unknown)
{
	for (int off = 0; off < 2; off++) {
		maker m = {.run = assay_run_new(), .random = 1};
		assay_tables *t = &m.run->part.t;
		m.run->part.source = assay_add(t, ASSAY_T_source);
		uint32_t counts = assay_add(t, ASSAY_T_ledger);
		t->ledger.source[counts] = 0;
		for (int32_t d = 0; d < 2; d++) {
			uint32_t row = assay_add(t, ASSAY_T_device);
			t->device.source[row] = 0;
			t->device.id[row] = d;
		}
		add_call(&m, "hipEventRecord", 0x500, 0x7f00, true); /* at 10 */
		m.corr += 5;
		add_call(&m, "hipEventSynchronize", 0, 0x7f00, true);
		add_call(&m, "hipDeviceSynchronize", 0, 0, true);
		if (off) {
			uint32_t o = assay_add(t, ASSAY_T_off);
			t->off.source[o] = 0;
			t->off.ts[o] = 16;
			t->off.dur[o] = 2;
		}
		for (uint32_t h = 0; h < t->host.n; h++)
			t->host.track[h] = t->event_call.track[h] = t->host.track[0];
		assay_waits(m.run);
		CHECK_EQ(t->wait.n, 2);
		CHECK_EQ(t->wait.class[0], off ? ASSAY_WAIT_IS_LOST : ASSAY_WAIT_IS_LIKELY);
		CHECK_EQ(t->wait.class[1], off ? ASSAY_WAIT_IS_LOST : ASSAY_WAIT_IS_EXACT);
		assay_run_free(m.run);
	}
	return 0;
}

/* A launch on the thread's own stream tells which stream of GPU rows that is. */
TEST(a_threads_own_stream_is_learnt_from_its_launches)
{
	maker m = {.run = assay_run_new(), .random = 1};
	assay_tables *t = &m.run->part.t;
	m.run->part.source = assay_add(t, ASSAY_T_source);
	add_call(&m, "hipLaunchKernel_spt", 0, 0, true);
	uint32_t g = assay_add(t, ASSAY_T_gpu);
	t->gpu.corr[g] = 1;
	t->gpu.ts[g] = 100;
	t->gpu.dur[g] = 10;
	t->gpu.track[g] = assay_stream_track(&m.run->part, 0, 33);
	add_call(&m, "hipEventRecord", 2, 0x7f00, true);
	add_call(&m, "hipEventSynchronize", 0, 0x7f00, true);
	for (uint32_t h = 0; h < t->host.n; h++)
		t->host.track[h] = t->event_call.track[h] = t->host.track[0];
	assay_waits(m.run);
	CHECK(t->wait.n == 1 && t->wait.producer[0] == t->gpu.track[g]);
	CHECK_EQ(t->wait.producer_gpu[0], g);
	assay_run_free(m.run);
	return 0;
}
