/* Waits of AMD's recordings: calls with their arguments, work by its stream, barriers in queues,
 * and devices whose numbers are not the program's. */
#include "base/test.h"
#include "model/by_hand.h"
#include "resolve/resolve.h"

/* One call a row, 10 us each, at 20 us times its row; its work and its barrier, where it has
 * them. */
typedef struct row {
	const char *name, *args;
	int64_t device, stream; /* where the work or barrier is */
	int64_t start, end;     /* of the work; end 0: none */
	int64_t barrier;        /* its queue; 0 none */
	int64_t source;         /* the queue that a wait names; 0: the barrier is a record's */
	uint64_t event;
	int64_t thread;
	int64_t lasts; /* the barrier; 0: 1 us */
} row;

static void add_work(assay_run *run, const row *r, uint64_t corr)
{
	uint32_t g = assay_hand_gpu(run, "k", r->start, r->end - r->start, ASSAY_NO_ROW);
	run->part.t.gpu.corr[g] = corr;
	run->part.t.gpu.track[g] = assay_stream_track(&run->part, r->device, r->stream);
}

static void add_barrier(assay_run *run, const row *r, uint64_t corr, int64_t ts)
{
	assay_tables *t = &run->part.t;
	uint32_t m = assay_add(t, ASSAY_T_mark), b = assay_add(t, ASSAY_T_barrier);
	t->mark.ts[m] = ts;
	t->mark.dur[m] = r->lasts ? r->lasts : 1000;
	t->mark.track[m] = assay_stream_track(&run->part, r->device, r->stream);
	t->barrier.mark[b] = m;
	t->barrier.corr[b] = corr;
	t->barrier.event[b] = r->event;
	t->barrier.queue[b] = r->barrier;
	t->barrier.source_queue[b] = r->source ? r->source : r->barrier;
	t->barrier.waits[b] = r->source != 0;
}

/* A call without a name was not recorded, only what came of it. */
static assay_run *run_of(const row *rows, size_t n)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	run->part.source = assay_add(t, ASSAY_T_source);
	for (size_t i = 0; i < n; i++) {
		int64_t ts = 20000 * (int64_t)i;
		if (rows[i].name) {
			uint32_t h =
				assay_hand_host(run, ASSAY_HOST_RUNTIME, rows[i].name, ts, 10000);
			t->api.corr[t->host.detail[h]] = i + 1;
			t->host.args[h] = assay_sid_of(run, rows[i].args);
			t->host.track[h] = assay_thread_track(&run->part, 1, 1 + rows[i].thread);
		}
		if (rows[i].end)
			add_work(run, &rows[i], i + 1);
		if (rows[i].barrier)
			add_barrier(run, &rows[i], i + 1, ts);
	}
	return run;
}

/* A call at the end whose number says that others are missing. */
static void miss_calls(assay_run *run)
{
	assay_tables *t = &run->part.t;
	uint32_t h = assay_hand_host(run, ASSAY_HOST_RUNTIME, "hipGetDevice", 1000000000, 1000);
	t->api.corr[t->host.detail[h]] = 1000;
	t->host.track[h] = assay_thread_track(&run->part, 1, 1);
}

static void list_device(assay_run *run, int32_t id)
{
	uint32_t d = assay_add(&run->part.t, ASSAY_T_device);
	run->part.t.device.source[d] = 0;
	run->part.t.device.id[d] = id;
}

#define S1 "\"stream\": \"0x100\""
#define S2 "\"stream\": \"0x200\""
#define S3 "\"stream\": \"0x300\""
#define E1 "\"event\": \"0xe1\""

/* Kernels on streams 1 and 2, a record on stream 1, a wait of stream 3 that its barrier says came
 * from this queue; 0: it has none. */
static assay_run *wait_from(int64_t source)
{
	row rows[] = {
		{"hipLaunchKernel", S1, 0, 1, 15000, 200000, 0, 0, 0, 0, 0},
		{"hipLaunchKernel", S2, 0, 2, 35000, 900000, 0, 0, 0, 0, 0},
		{"hipEventRecord", E1 "," S1, 0, 1, 0, 0, 5, 0, 0xe1, 0, 170000},
		{"hipStreamWaitEvent", S3 "," E1, 0, 3, 0, 0, source ? 7 : 0, source, 0xe1, 0, 0},
		{"hipLaunchKernel", S3, 0, 3, 205000, 210000, 0, 0, 0, 0, 0},
	};
	assay_run *run = run_of(rows, ASSAY_COUNT_OF(rows));
	miss_calls(run);
	assay_waits(run);
	return run;
}

TEST(a_barrier_that_names_the_queue_of_the_record_makes_a_wait_exact)
{
	assay_run *run = wait_from(0);
	CHECK(run->part.t.wait.n == 1 && run->part.t.wait.class[0] == ASSAY_WAIT_IS_LIKELY);
	assay_run_free(run);
	run = wait_from(5);
	const assay_wait_table *t = &run->part.t.wait;
	CHECK(t->n == 1 && t->class[0] == ASSAY_WAIT_IS_EXACT && t->record_corr[0] == 3);
	CHECK(t->producer_gpu[0] == 0 && t->consumer_gpu[0] == 2);
	assay_run_free(run);
	return 0;
}

TEST(a_barrier_that_names_a_queue_nobody_recorded_in_is_no_proof)
{
	assay_run *run = wait_from(6);
	CHECK_EQ(run->part.t.wait.class[0], ASSAY_WAIT_IS_LIKELY);
	assay_run_free(run);
	return 0;
}

/* Records of one event by two threads at the same time, in queues 5 and 6. */
static assay_run *wait_after_two(int64_t source)
{
	row rows[] = {
		{"hipLaunchKernel", S1, 0, 1, 15000, 200000, 0, 0, 0, 0, 0},
		{"hipLaunchKernel", S2, 0, 2, 35000, 180000, 0, 0, 0, 0, 0},
		{"hipEventRecord", E1 "," S1, 0, 1, 0, 0, 5, 0, 0xe1, 0, 170000},
		{"hipEventRecord", E1 "," S2, 0, 2, 0, 0, 6, 0, 0xe1, 1, 125000},
		{"hipStreamWaitEvent", S3 "," E1, 0, 3, 0, 0, 7, source, 0xe1, 0, 0},
		{"hipLaunchKernel", S3, 0, 3, 205000, 210000, 0, 0, 0, 0, 0},
	};
	assay_run *run = run_of(rows, ASSAY_COUNT_OF(rows));
	run->part.t.host.dur[3] = 60000; /* still at it when the wait begins */
	assay_waits(run);
	return run;
}

TEST(a_barrier_for_a_record_that_was_over_met_another_that_is_lost)
{
	static const row rows[] = {
		{"hipLaunchKernel", S1, 0, 1, 15000, 18000, 0, 0, 0, 0, 0},
		{"hipEventRecord", "\"event\": \"0x1e1\"," S1, 0, 1, 0, 0, 5, 0, 0x1e1, 0, 0},
		{"hipGetDevice", "", 0, 0, 0, 0, 0, 0, 0, 0, 0},
		{"hipStreamWaitEvent", S3 ",\"event\": \"0x1e1\"", 0, 3, 0, 0, 7, 5, 0x1e1, 0, 0},
	};
	assay_run *run = run_of(rows, ASSAY_COUNT_OF(rows));
	assay_waits(run);
	CHECK_EQ(run->part.t.wait.class[0], ASSAY_WAIT_IS_LIKELY);
	assay_run_free(run);
	return 0;
}

TEST(a_record_that_was_over_long_after_its_work_stands_behind_more)
{
	static const row rows[] = {
		{"hipLaunchKernel", S1, 0, 1, 15000, 60000, 0, 0, 0, 0, 0},
		{"hipEventRecord", E1 "," S1, 0, 1, 0, 0, 5, 0, 0xe1, 0, 600000},
		{"hipStreamWaitEvent", S3 "," E1, 0, 3, 0, 0, 7, 5, 0xe1, 0, 600000},
	};
	assay_run *run = run_of(rows, ASSAY_COUNT_OF(rows));
	assay_waits(run);
	CHECK_EQ(run->part.t.wait.class[0], ASSAY_WAIT_IS_LIKELY);
	assay_run_free(run);
	return 0;
}

TEST(the_queue_tells_which_of_two_records_at_once_was_met)
{
	assay_run *run = wait_after_two(5);
	CHECK(run->part.t.wait.record_corr[0] == 3 &&
	      run->part.t.wait.class[0] == ASSAY_WAIT_IS_EXACT);
	assay_run_free(run);
	run = wait_after_two(6);
	CHECK(run->part.t.wait.record_corr[0] == 4 &&
	      run->part.t.wait.class[0] == ASSAY_WAIT_IS_EXACT);
	assay_run_free(run);
	return 0;
}

/* A launch that records an event, on another device whose queues have the same numbers, and a
 * record of it by another thread, which may still be at it when the wait begins. */
static assay_run *wait_after_launch_and_record(bool at_once)
{
	row rows[] = {
		{"hipLaunchKernel", S1, 0, 1, 15000, 160000, 0, 0, 0, 0, 0},
		{"hipExtLaunchKernel", "\"stopEvent\": \"0xe1\"," S2, 1, 2, 35000, 200000, 0, 0, 0,
		 0, 0},
		{"hipEventRecord", E1 "," S1, 0, 1, 0, 0, 5, 0, 0xe1, 1, 120000},
		{"hipStreamWaitEvent", S3 "," E1, 1, 3, 0, 0, 5, 5, 0xe1, 0, 0},
	};
	assay_run *run = run_of(rows, ASSAY_COUNT_OF(rows));
	run->part.t.host.dur[2] = at_once ? 25000 : 10000;
	assay_waits(run);
	return run;
}

TEST(a_record_without_a_barrier_may_be_in_the_queue_that_a_wait_names)
{
	assay_run *run = wait_after_launch_and_record(true);
	CHECK(run->part.t.wait.n == 1 && run->part.t.wait.class[0] == ASSAY_WAIT_IS_AMBIGUOUS);
	CHECK_EQ(run->part.t.wait.other_corr[0], 2);
	assay_run_free(run);
	run = wait_after_launch_and_record(false);
	CHECK(run->part.t.wait.record_corr[0] == 3 &&
	      run->part.t.wait.class[0] == ASSAY_WAIT_IS_EXACT);
	assay_run_free(run);
	return 0;
}

TEST(a_record_that_only_its_barrier_tells_of_counts)
{
	static const row rows[] = {
		{"hipLaunchKernel", S1, 0, 1, 15000, 200000, 0, 0, 0, 0, 0},
		{"hipEventRecord", E1 "," S1, 0, 1, 0, 0, 5, 0, 0xe1, 0, 170000},
		{"hipLaunchKernel", S2, 0, 2, 55000, 900000, 0, 0, 0, 0, 0},
		{NULL, NULL, 0, 2, 0, 0, 6, 0, 0xe1, 0, 0},
		{"hipStreamWaitEvent", S3 "," E1, 0, 3, 0, 0, 7, 6, 0xe1, 0, 0},
	};
	assay_run *run = run_of(rows, ASSAY_COUNT_OF(rows));
	assay_waits(run);
	const assay_wait_table *t = &run->part.t.wait;
	CHECK(t->n == 1 && t->record_corr[0] == 4 && t->producer_gpu[0] == 1);
	assay_run_free(run);
	return 0;
}

/* Work on the second of two devices, whose numbers begin behind those of the processors; the
 * program chooses `ordinal` and waits for it. */
static assay_run *device_sync_of(const char *ordinal)
{
	row rows[] = {
		{"hipSetDevice", "\"deviceId\": 1", 0, 0, 0, 0, 0, 0, 0, 0, 0},
		{"hipLaunchKernel", S1, 3, 1, 35000, 300000, 0, 0, 0, 0, 0},
		{"hipSetDevice", ordinal, 0, 0, 0, 0, 0, 0, 0, 0, 0},
		{"hipDeviceSynchronize", "\"retval\": \"0\"", 0, 0, 0, 0, 0, 0, 0, 0, 0},
	};
	assay_run *run = run_of(rows, ASSAY_COUNT_OF(rows));
	run->part.t.host.dur[3] = 245000;
	list_device(run, 3);
	list_device(run, 2);
	assay_waits(run);
	return run;
}

TEST(devices_are_what_the_program_numbered_them)
{
	assay_run *run = device_sync_of("\"deviceId\": 1");
	const assay_wait_table *t = &run->part.t.wait;
	CHECK(t->n == 1 && t->producer_gpu[0] == 0 && t->class[0] == ASSAY_WAIT_IS_EXACT);
	assay_run_free(run);
	run = device_sync_of("\"deviceId\": 0");
	CHECK_EQ(run->part.t.wait.producer_gpu[0], ASSAY_NO_ROW); /* the other one did nothing */
	assay_run_free(run);
	return 0;
}

/* No devices are listed, and no kernel tells which agent the program's first device is. */
TEST(an_agent_is_not_the_device_of_the_same_number)
{
	static const row rows[] = {
		{"hipMemcpyPeerAsync", S1, 2, 1, 15000, 18000, 0, 0, 0, 0, 0},
		{"hipDeviceSynchronize", "\"retval\": \"0\"", 0, 0, 0, 0, 0, 0, 0, 0, 0},
	};
	assay_run *run = run_of(rows, ASSAY_COUNT_OF(rows));
	run->part.t.source.traits[0] = ASSAY_TRAIT_ROCTX | ASSAY_TRAIT_FROM_START;
	run->part.t.gpu.kind[0] = ASSAY_GPU_MEMCPY;
	assay_waits(run);
	const assay_wait_table *t = &run->part.t.wait;
	CHECK(t->n == 1 && t->producer_gpu[0] == 0 && t->class[0] == ASSAY_WAIT_IS_LIKELY);
	assay_run_free(run);
	return 0;
}

/* A thread that copies between devices, or launches, on device 2, waits for its device and chooses
 * another one later; the recording may have begun at any time. */
static uint8_t class_before_choice(const char *name, int32_t kind)
{
	row rows[] = {
		{name, "\"stream\": \"0x0\"", 2, 0, 15000, 60000, 0, 0, 0, 0, 0},
		{"hipDeviceSynchronize", "\"retval\": \"0\"", 0, 0, 0, 0, 0, 0, 0, 0, 0},
		{"hipSetDevice", "\"deviceId\": 1", 0, 0, 0, 0, 0, 0, 0, 0, 0},
		{"hipLaunchKernel", S1, 1, 1, 85000, 90000, 0, 0, 0, 0, 0},
	};
	assay_run *run = run_of(rows, ASSAY_COUNT_OF(rows));
	run->part.t.gpu.kind[0] = (uint8_t)kind;
	run->part.t.host.dur[1] = 65000 - run->part.t.host.ts[1];
	assay_waits(run);
	const assay_wait_table *t = &run->part.t.wait;
	uint8_t class = t->producer_gpu[0] == 0 ? t->class[0] : ASSAY_WAIT_CLASS_COUNT;
	assay_run_free(run);
	return class;
}

TEST(a_thread_need_not_be_on_device_0_where_the_recording_begins)
{
	CHECK_EQ(class_before_choice("hipMemcpyPeerAsync", ASSAY_GPU_MEMCPY), ASSAY_WAIT_IS_LIKELY);
	CHECK_EQ(class_before_choice("hipLaunchKernel", ASSAY_GPU_KERNEL), ASSAY_WAIT_IS_EXACT);
	return 0;
}

TEST(a_thread_has_a_default_stream_of_its_own_on_each_device)
{
	static const row rows[] = {
		{"hipSetDevice", "\"deviceId\": 0", 0, 0, 0, 0, 0, 0, 0, 0, 0},
		{"hipLaunchKernel", "\"stream\": \"0x2\"", 0, 5, 35000, 300000, 0, 0, 0, 0, 0},
		{"hipSetDevice", "\"deviceId\": 1", 0, 0, 0, 0, 0, 0, 0, 0, 0},
		{"hipLaunchKernel", S1, 1, 1, 75000, 90000, 0, 0, 0, 0, 0},
		{"hipStreamSynchronize", "\"stream\": \"0x2\"", 0, 0, 0, 0, 0, 0, 0, 0, 0},
	};
	assay_run *run = run_of(rows, ASSAY_COUNT_OF(rows));
	assay_waits(run);
	CHECK_EQ(run->part.t.wait.producer_gpu[0], ASSAY_NO_ROW);
	assay_run_free(run);
	return 0;
}

#define NULL_STREAM "\"stream\": \"0x0\""

TEST(a_null_stream_is_the_threads_own_in_every_call_of_that_form)
{
	static const row rows[] = {
		{"hipSetDevice", "\"deviceId\": 0", 0, 0, 0, 0, 0, 0, 0, 0, 0},
		{"hipMemsetAsync_spt", NULL_STREAM, 0, 5, 35000, 45000, 0, 0, 0, 0, 0},
		{"hipStreamSynchronize", "\"stream\": \"0x2\"", 0, 0, 0, 0, 0, 0, 0, 0, 0},
		{"hipLaunchKernel_spt", NULL_STREAM, 0, 0, 0, 0, 0, 0, 0, 0, 0},
		{"hipStreamSynchronize", "\"stream\": \"0x2\"", 0, 0, 0, 0, 0, 0, 0, 0, 0},
	};
	assay_run *run = run_of(rows, ASSAY_COUNT_OF(rows));
	assay_waits(run);
	const assay_wait_table *t = &run->part.t.wait;
	CHECK(t->n == 2 && t->producer_gpu[0] == 0 && t->producer_gpu[1] == 0);
	CHECK(t->class[0] == ASSAY_WAIT_IS_EXACT && t->class[1] == ASSAY_WAIT_IS_LIKELY);
	assay_run_free(run);
	return 0;
}

/* Does a stream synchronisation behind this call know what it waited for? */
static uint8_t class_behind(const char *name, const char *args)
{
	row rows[] = {
		{"hipLaunchKernel", S1, 0, 1, 15000, 50000, 0, 0, 0, 0, 0},
		{"hipLaunchKernel", S2, 0, 2, 35000, 45000, 0, 0, 0, 0, 0},
		{name, args, 0, 0, 0, 0, 0, 0, 0, 0, 0},
		{"hipStreamSynchronize", S1, 0, 0, 0, 0, 0, 0, 0, 0, 0},
	};
	assay_run *run = run_of(rows, ASSAY_COUNT_OF(rows));
	miss_calls(run);
	assay_waits(run);
	uint8_t class = run->part.t.wait.class[0];
	assay_run_free(run);
	return class;
}

TEST(what_enters_a_stream_unseen_leaves_nothing_certain_behind_it)
{
	CHECK_EQ(class_behind("hipGetDevice", ""), ASSAY_WAIT_IS_EXACT);
	CHECK_EQ(class_behind("hipMemcpyPeerAsync", S1), ASSAY_WAIT_IS_LIKELY);
	CHECK_EQ(class_behind("hipMemcpyPeerAsync", S2), ASSAY_WAIT_IS_LIKELY); /* a lost wait */
	CHECK_EQ(class_behind("hipStreamBatchMemOp", S1 ",\"count\": \"2\""), ASSAY_WAIT_IS_LIKELY);
	CHECK_EQ(class_behind("hipExtLaunchKernel", S1), ASSAY_WAIT_IS_LIKELY);
	CHECK_EQ(class_behind("hipMemsetAsync", S1), ASSAY_WAIT_IS_LIKELY);
	CHECK_EQ(class_behind("hipMemPrefetchAsync", S1), ASSAY_WAIT_IS_LIKELY);
	CHECK_EQ(class_behind("hipGraphUpload", S1), ASSAY_WAIT_IS_LIKELY);
	CHECK_EQ(class_behind("hipLaunchHostFunc", S1), ASSAY_WAIT_IS_LIKELY);
	CHECK_EQ(class_behind("hipLaunchHostFunc", ""), ASSAY_WAIT_IS_LIKELY); /* in any stream */
	CHECK_EQ(class_behind("hipStreamWaitValue64", ""), ASSAY_WAIT_IS_LIKELY);
	return 0;
}

/* A function of the host may end after any work. */
TEST(no_time_proves_what_was_waited_for_while_a_host_function_may_run)
{
	row rows[] = {
		{"hipLaunchKernel", S1, 0, 1, 15000, 500000, 0, 0, 0, 0, 0},
		{"hipLaunchHostFunc", S2, 0, 0, 0, 0, 0, 0, 0, 0, 0},
		{"hipEventRecord", E1 "," S1, 0, 0, 0, 0, 0, 0, 0, 0, 0},
		{"hipEventSynchronize", E1, 0, 0, 0, 0, 0, 0, 0, 0, 0},
	};
	for (int with = 0; with < 2; with++) {
		rows[1].name = with ? "hipLaunchHostFunc" : "hipGetDevice";
		assay_run *run = run_of(rows, ASSAY_COUNT_OF(rows));
		miss_calls(run);
		run->part.t.host.dur[3] = 505000 - run->part.t.host.ts[3];
		assay_waits(run);
		CHECK_EQ(run->part.t.wait.producer_gpu[0], 0);
		CHECK_EQ(run->part.t.wait.class[0],
			 with ? ASSAY_WAIT_IS_LIKELY : ASSAY_WAIT_IS_EXACT);
		assay_run_free(run);
	}
	return 0;
}

TEST(a_graph_whose_node_got_an_event_may_record_that)
{
	static const row rows[] = {
		{"hipLaunchKernel", S1, 0, 1, 15000, 200000, 0, 0, 0, 0, 0},
		{"hipEventRecord", E1 "," S1, 0, 1, 0, 0, 5, 0, 0xe1, 0, 170000},
		{"hipGraphExecEventRecordNodeSetEvent", E1, 0, 0, 0, 0, 0, 0, 0, 0, 0},
		{"hipGraphLaunch", S2, 0, 2, 75000, 250000, 0, 0, 0, 0, 0},
		{"hipStreamWaitEvent", S3 "," E1, 0, 3, 0, 0, 7, 5, 0xe1, 0, 0},
	};
	assay_run *run = run_of(rows, ASSAY_COUNT_OF(rows));
	assay_waits(run);
	CHECK_EQ(run->part.t.wait.class[0], ASSAY_WAIT_IS_LIKELY);
	assay_run_free(run);
	return 0;
}

TEST(an_event_that_a_graph_records_is_not_certain_after_a_graph_ran)
{
	static const row rows[] = {
		{"hipGraphAddEventRecordNode", E1, 0, 0, 0, 0, 0, 0, 0, 0, 0},
		{"hipLaunchKernel", S1, 0, 1, 35000, 200000, 0, 0, 0, 0, 0},
		{"hipEventRecord", E1 "," S1, 0, 1, 0, 0, 5, 0, 0xe1, 0, 170000},
		{"hipStreamWaitEvent", S3 "," E1, 0, 3, 0, 0, 7, 5, 0xe1, 0, 0},
		{"hipGraphLaunch", S2, 0, 2, 95000, 250000, 0, 0, 0, 0, 0},
		{"hipStreamWaitEvent", S3 "," E1, 0, 3, 0, 0, 7, 5, 0xe1, 0, 0},
	};
	assay_run *run = run_of(rows, ASSAY_COUNT_OF(rows));
	assay_waits(run);
	const assay_wait_table *t = &run->part.t.wait;
	CHECK(t->n == 2 && t->class[0] == ASSAY_WAIT_IS_EXACT);
	CHECK_EQ(t->class[1], ASSAY_WAIT_IS_LIKELY);
	assay_run_free(run);
	return 0;
}

TEST(a_wait_for_a_value_may_be_the_first_that_is_seen)
{
	static const row rows[] = {
		{"hipStreamWaitValue64", S1 ",\"ptr\": \"0x50\",\"value\": \"1\",\"flags\": \"0\"",
		 0, 0, 0, 0, 0, 0, 0, 0, 0},
		{"hipStreamWriteValue64", S2 ",\"ptr\": \"0x50\",\"value\": \"1\",\"flags\": \"0\"",
		 0, 0, 0, 0, 0, 0, 0, 0, 0},
	};
	assay_run *run = run_of(rows, ASSAY_COUNT_OF(rows));
	assay_waits(run);
	CHECK(run->part.t.wait.n == 1 && run->part.t.wait.record_corr[0] == 2);
	assay_run_free(run);
	return 0;
}

/* Kernels of it run on devices that its thread did not choose. */
TEST(a_launch_on_several_devices_tells_nothing_of_the_chosen_one)
{
	static const row rows[] = {
		{"hipSetDevice", "\"deviceId\": 0", 0, 0, 0, 0, 0, 0, 0, 0, 0},
		{"hipLaunchKernel", S1, 4, 1, 35000, 200000, 0, 0, 0, 0, 0},
		{"hipLaunchCooperativeKernelMultiDevice", "\"numDevices\": \"2\"", 5, 2, 55000,
		 900000, 0, 0, 0, 0, 0},
		{"hipDeviceSynchronize", "", 0, 0, 0, 0, 0, 0, 0, 0, 0},
	};
	assay_run *run = run_of(rows, ASSAY_COUNT_OF(rows));
	run->part.t.host.dur[3] = 205000 - run->part.t.host.ts[3];
	assay_waits(run);
	CHECK_EQ(run->part.t.wait.producer_device[0], 4);
	CHECK_EQ(run->part.t.wait.class[0], ASSAY_WAIT_IS_EXACT);
	assay_run_free(run);
	return 0;
}

TEST(a_launch_on_several_devices_joins_their_streams)
{
	static const row rows[] = {
		{"hipLaunchKernel", S1, 0, 1, 15000, 200000, 0, 0, 0, 0, 0},
		{"hipLaunchCooperativeKernelMultiDevice", "\"numDevices\": \"2\"", 0, 1, 205000,
		 300000, 0, 0, 0, 0, 0},
		{"hipStreamSynchronize", S2, 0, 0, 0, 0, 0, 0, 0, 0, 0},
		{"hipLaunchKernel", S2, 1, 2, 310000, 320000, 0, 0, 0, 0, 0},
	};
	assay_run *run = run_of(rows, ASSAY_COUNT_OF(rows));
	uint32_t other = assay_hand_gpu(run, "k", 205000, 35000, ASSAY_NO_ROW);
	run->part.t.gpu.corr[other] = 2;
	run->part.t.gpu.track[other] = assay_stream_track(&run->part, 1, 2);
	run->part.t.host.dur[2] = 265000;
	assay_waits(run);
	const assay_wait_table *t = &run->part.t.wait;
	CHECK(t->n == 1 && t->producer_gpu[0] == 1); /* the kernel on the other device ended last */
	const assay_edge_table *e = &run->part.t.edge;
	bool before = false;
	for (uint32_t i = 0; i < e->n; i++)
		before |= e->kind[i] == ASSAY_EDGE_TOGETHER && e->from_gpu[i] == 0 &&
			  e->to_gpu[i] == other;
	CHECK(before);
	assay_run_free(run);
	return 0;
}

static void hand_event_call(assay_run *run, const char *name, uint64_t corr, uint64_t event,
			    uint64_t stream)
{
	assay_event_call_table *e = &run->part.t.event_call;
	uint32_t i = assay_hand_event_call(run, name, corr, 20000 * (int64_t)corr, 10000);
	e->event[i] = event;
	e->stream[i] = stream;
}

/* A thread's own stream without work: by its handle, and by null where a barrier says which. */
TEST(a_barrier_tells_which_stream_a_handle_means)
{
	static const row kernel = {"hipLaunchKernel", S1, 0, 1, 25000, 300000, 0, 0, 0, 0, 0};
	assay_run *run = run_of(&kernel, 1);
	assay_tables *t = &run->part.t;
	static const row barrier = {"", "", 0, 14, 0, 0, 7, 0, 0xe2, 0, 250000};
	hand_event_call(run, "hipEventRecord", 2, 0xe1, 0x100);
	hand_event_call(run, "hipStreamWaitEvent", 3, 0xe1, 2);
	hand_event_call(run, "hipEventRecord_spt", 4, 0xe2, 0);
	add_barrier(run, &barrier, 4, 80000);
	hand_event_call(run, "hipEventSynchronize", 5, 0xe2, 0);
	assay_waits(run);
	CHECK_EQ(t->wait.n, 2);
	CHECK_EQ(t->wait.record_corr[1], 4);
	CHECK_EQ(t->wait.producer_gpu[1], 0);
	assay_run_free(run);
	return 0;
}

/* A record, and what may come between it and the wait for it. */
static uint8_t class_after(const char *name, const char *args, bool missing)
{
	row rows[] = {
		{"hipLaunchKernel", S1, 0, 1, 15000, 18000, 0, 0, 0, 0, 0},
		{"hipEventRecord", E1 "," S1, 0, 0, 0, 0, 0, 0, 0, 0, 0},
		{name, args, 0, 2, 65000, name ? 70000 : 0, 0, 0, 0, 0, 0},
		{"hipStreamWaitEvent", S2 "," E1, 0, 0, 0, 0, 0, 0, 0, 0, 0},
	};
	assay_run *run = run_of(rows, ASSAY_COUNT_OF(rows));
	if (missing)
		miss_calls(run);
	assay_waits(run);
	const assay_wait_table *t = &run->part.t.wait;
	uint8_t class = t->n == 1 && t->record_corr[0] == 2 && t->producer_gpu[0] == 0
				? t->class[0]
				: ASSAY_WAIT_CLASS_COUNT;
	assay_run_free(run);
	return class;
}

TEST(where_no_number_of_a_call_is_missing_the_last_record_is_the_one)
{
	CHECK_EQ(class_after("hipLaunchKernel", S2, false), ASSAY_WAIT_IS_EXACT);
	CHECK_EQ(class_after("hipLaunchKernel", S2, true), ASSAY_WAIT_IS_LIKELY);
	CHECK_EQ(class_after(NULL, NULL, false), ASSAY_WAIT_IS_LIKELY); /* another record? */
	CHECK_EQ(class_after("hipGraphLaunch", S2, false), ASSAY_WAIT_IS_LIKELY);
	return 0;
}

/* The numbers of two processes in one file say nothing of each. */
TEST(numbers_of_calls_are_those_of_one_process)
{
	static const row rows[] = {
		{"hipLaunchKernel", S1, 0, 1, 15000, 18000, 0, 0, 0, 0, 0},
		{"hipEventRecord", E1 "," S1, 0, 0, 0, 0, 0, 0, 0, 0, 0},
		{"hipGetDevice", "", 0, 0, 0, 0, 0, 0, 0, 0, 0},
		{"hipStreamWaitEvent", S2 "," E1, 0, 0, 0, 0, 0, 0, 0, 0, 0},
	};
	assay_run *run = run_of(rows, ASSAY_COUNT_OF(rows));
	run->part.t.host.track[2] = assay_thread_track(&run->part, 2, 9);
	assay_waits(run);
	CHECK_EQ(run->part.t.wait.class[0], ASSAY_WAIT_IS_LIKELY);
	assay_run_free(run);
	return 0;
}

/* A stream that was made to be blocking, a kernel in the default stream. */
TEST(a_signal_of_nobody_knows_which_semaphore_joins_its_stream_to_the_default_stream)
{
	static const row rows[] = {
		{"hipStreamCreateWithFlags", S1 ",\"flags\": 0", 0, 0, 0, 0, 0, 0, 0, 0, 0},
		{"hipLaunchKernel", S1, 0, 1, 35000, 38000, 0, 0, 0, 0, 0},
		{"hipLaunchKernel", NULL_STREAM, 0, 0, 55000, 58000, 0, 0, 0, 0, 0},
		{"hipSignalExternalSemaphoresAsync", S1, 0, 0, 0, 0, 0, 0, 0, 0, 0},
		{"hipStreamSynchronize", S1, 0, 0, 0, 0, 0, 0, 0, 0, 0},
	};
	assay_run *run = run_of(rows, ASSAY_COUNT_OF(rows));
	assay_waits(run);
	CHECK(run->part.t.wait.n == 1 && run->part.t.wait.producer_gpu[0] == 1);
	CHECK_EQ(run->part.t.wait.class[0], ASSAY_WAIT_IS_EXACT);
	assay_run_free(run);
	return 0;
}

TEST(an_event_nobody_names_is_told_by_the_work_that_ended_with_the_wait)
{
	static const row rows[] = {
		{"hipLaunchKernel", "", 0, 1, 15000, 500000, 0, 0, 0, 0, 0},
		{"hipEventRecord", "", 0, 0, 0, 0, 0, 0, 0, 0, 0},
		{"hipEventSynchronize", "", 0, 0, 0, 0, 0, 0, 0, 0, 0},
	};
	for (int64_t end = 505000; end <= 905000; end += 400000) {
		assay_run *run = run_of(rows, ASSAY_COUNT_OF(rows));
		run->part.t.host.dur[2] = end - run->part.t.host.ts[2];
		assay_waits(run);
		const assay_wait_table *t = &run->part.t.wait;
		bool soon = end == 505000;
		CHECK_EQ(t->class[0], soon ? ASSAY_WAIT_IS_LIKELY : ASSAY_WAIT_IS_LOST);
		CHECK_EQ(t->doubt[0], soon ? ASSAY_WAIT_BY_TIME : ASSAY_WAIT_BY_NONE);
		CHECK_EQ(t->producer_gpu[0], soon ? 0 : ASSAY_NO_ROW);
		CHECK_EQ(run->part.t.edge.n, soon); /* shorter work lets the call return sooner */
		assay_run_free(run);
	}
	return 0;
}

/* A capture that ends, and may have begun in the recording. */
TEST(what_is_captured_since_before_the_recording_is_not_certain)
{
	for (int begun = 0; begun < 2; begun++) {
		row rows[] = {
			{begun ? "hipStreamBeginCapture" : "hipGetDevice", S3, 0, 0, 0, 0, 0, 0, 0,
			 0, 0},
			{"hipEventRecord", E1 "," S1, 0, 0, 0, 0, 0, 0, 0, 0, 0},
			{"hipStreamWaitEvent", S2 "," E1, 0, 0, 0, 0, 0, 0, 0, 0, 0},
			{"hipStreamEndCapture", S3, 0, 0, 0, 0, 0, 0, 0, 0, 0},
			{"hipLaunchKernel", S1, 0, 1, 95000, 98000, 0, 0, 0, 0, 0},
			{"hipLaunchKernel", S2, 0, 2, 115000, 118000, 0, 0, 0, 0, 0},
		};
		assay_run *run = run_of(rows, ASSAY_COUNT_OF(rows));
		assay_waits(run);
		CHECK_EQ(run->part.t.wait.class[0],
			 begun ? ASSAY_WAIT_IS_EXACT : ASSAY_WAIT_IS_LIKELY);
		assay_run_free(run);
	}
	return 0;
}

TEST(an_address_is_the_last_stream_s_that_was_made_there_though_no_end_of_the_first_is_known)
{
	static const row rows[] = {
		{"hipLaunchKernel", S1, 0, 1, 15000, 18000, 0, 0, 0, 0, 0},
		{"hipStreamSynchronize", S1, 0, 0, 0, 0, 0, 0, 0, 0, 0},
		{"hipGetDevice", "", 0, 0, 0, 0, 0, 0, 0, 0, 0},
		{"hipLaunchKernel", S1, 0, 2, 65000, 68000, 0, 0, 0, 0, 0},
		{"hipStreamSynchronize", S1, 0, 0, 0, 0, 0, 0, 0, 0, 0},
	};
	assay_run *run = run_of(rows, ASSAY_COUNT_OF(rows));
	assay_stream_table *s = &run->part.t.stream;
	for (int64_t id = 1; id <= 2; id++) {
		uint32_t i = assay_add(&run->part.t, ASSAY_T_stream);
		s->source[i] = 0;
		s->device[i] = 0;
		s->id[i] = id;
		s->handle[i] = 0x100;
		s->created[i] = id == 1 ? 0 : 50000;
	}
	assay_waits(run);
	CHECK_EQ(run->part.t.wait.producer_gpu[0], 0);
	CHECK_EQ(run->part.t.wait.producer_gpu[1], 1);
	assay_run_free(run);
	return 0;
}

/* A thread of which no choice of a device is known waits for its device, in a recording of such a
 * source. */
static uint8_t class_of_unchosen(uint32_t traits)
{
	const row rows[] = {
		{"hipGetDevice", "", 0, 0, 0, 0, 0, 0, 0, 1, 0},
		{"hipSetDevice", "\"deviceId\": 0", 0, 0, 0, 0, 0, 0, 0, 1, 0},
		{"hipLaunchKernel", "\"stream\": \"0x100\"", 0, 1, 45000, 68000, 0, 0, 0, 1, 0},
		{"hipDeviceSynchronize", "", 0, 0, 0, 0, 0, 0, 0, 0, 0},
	};
	assay_run *run = run_of(rows, ASSAY_COUNT_OF(rows));
	run->part.t.source.traits[0] = traits;
	list_device(run, 0);
	list_device(run, 1);
	assay_waits(run);
	uint8_t class = run->part.t.wait.class[0];
	assay_run_free(run);
	return class;
}

TEST(a_thread_may_have_chosen_its_device_before_the_recording)
{
	CHECK_EQ(class_of_unchosen(ASSAY_TRAIT_FROM_START), ASSAY_WAIT_IS_EXACT);
	CHECK_EQ(class_of_unchosen(0), ASSAY_WAIT_IS_LIKELY);
	return 0;
}

/* A wait for a stream from 20 us on, for so long; the work lasts until then. */
static uint8_t class_of_sync(int64_t dur, int64_t end, bool missing)
{
	const row rows[] = {
		{"hipLaunchKernel", "\"stream\": \"0x100\"", 0, 1, 5000, end, 0, 0, 0, 0, 0},
		{"hipStreamSynchronize", "\"stream\": \"0x100\"", 0, 0, 0, 0, 0, 0, 0, 0, 0},
	};
	assay_run *run = run_of(rows, ASSAY_COUNT_OF(rows));
	list_device(run, 0);
	run->part.t.host.dur[1] = dur;
	if (missing)
		miss_calls(run);
	assay_waits(run);
	uint8_t class = run->part.t.wait.class[0];
	assay_run_free(run);
	return class;
}

TEST(an_address_may_be_another_streams_where_calls_are_missing_and_the_wait_was_over_first_or_short)
{
	CHECK_EQ(class_of_sync(10000, 29000, false), ASSAY_WAIT_IS_EXACT);
	CHECK_EQ(class_of_sync(10000, 31000, false), ASSAY_WAIT_IS_EXACT); /* clocks differ so */
	CHECK_EQ(class_of_sync(20000, 39000, true), ASSAY_WAIT_IS_LIKELY); /* as one for nothing */
	CHECK_EQ(class_of_sync(20001, 39000, true), ASSAY_WAIT_IS_EXACT);
	CHECK_EQ(class_of_sync(20001, 41000, true), ASSAY_WAIT_IS_LIKELY);
	CHECK_EQ(class_of_sync(10000, 20000, true), ASSAY_WAIT_IS_EXACT); /* it was over */
	CHECK_EQ(class_of_sync(10000, 20001, true), ASSAY_WAIT_IS_LIKELY);
	return 0;
}

/* The work that an event behind an empty stream stands behind: work of the default stream, if the
 * flags of the stream's creation say that it is blocking. */
static uint32_t work_behind_stream(const char *flags)
{
	const row rows[] = {
		{"hipStreamCreateWithFlags", flags, 0, 0, 0, 0, 0, 0, 0, 0, 0},
		{"hipLaunchKernel", "\"stream\": \"0x0\"", 0, 0, 25000, 99000, 0, 0, 0, 0, 0},
		{"hipEventRecord", "\"event\": \"0xe1\", \"stream\": \"0x100\"", 0, 0, 0, 0, 0, 0,
		 0, 0, 0},
		{"hipStreamWaitEvent", "\"event\": \"0xe1\", \"stream\": \"0x200\"", 0, 0, 0, 0, 0,
		 0, 0, 0, 0},
	};
	assay_run *run = run_of(rows, ASSAY_COUNT_OF(rows));
	list_device(run, 0);
	assay_waits(run);
	uint32_t work = run->part.t.wait.producer_gpu[0];
	assay_run_free(run);
	return work;
}

TEST(flags_of_its_creation_say_whether_a_stream_waits_for_the_default_stream)
{
	CHECK_EQ(work_behind_stream("\"stream\": \"0x100\", \"flags\": \"0\""), 0);
	CHECK_EQ(work_behind_stream("\"stream\": \"0x100\", \"flags\": \"1\""), ASSAY_NO_ROW);
	return 0;
}

TEST(a_run_without_a_long_rest_has_no_wait_that_is_unexplained)
{
	const row rows[] = {
		{"hipLaunchKernel", "\"stream\": \"0x100\"", 0, 1, 5000, 29000, 0, 0, 0, 0, 0},
		{"hipStreamSynchronize", "\"stream\": \"0x100\"", 0, 0, 0, 0, 0, 0, 0, 0, 0},
	};
	assay_run *run = run_of(rows, ASSAY_COUNT_OF(rows));
	assay_waits(run);
	CHECK(run->part.t.wait.n == 1 && run->part.t.wait.producer_handle[0] == 0x100);
	CHECK_EQ(run->part.issues[ASSAY_ISSUE_wait_unexplained], 0);
	assay_run_free(run);
	return 0;
}

TEST(ids_of_32_bits_that_ran_over_go_on_counting)
{
	const row rows[] = {
		{"hipLaunchKernel", "\"stream\": \"0x100\"", 0, 1, 5000, 99000, 0, 0, 0, 0, 0},
		{"hipEventRecord", "\"event\": \"0xe1\", \"stream\": \"0x100\"", 0, 0, 0, 0, 0, 0,
		 0, 0, 0},
		{"hipGetDevice", "", 0, 0, 0, 0, 0, 0, 0, 0, 0},
		{"hipStreamWaitEvent", "\"event\": \"0xe1\", \"stream\": \"0x200\"", 0, 0, 0, 0, 0,
		 0, 0, 0, 0},
	};
	assay_run *run = run_of(rows, ASSAY_COUNT_OF(rows));
	assay_tables *t = &run->part.t;
	for (uint32_t i = 0; i < t->api.n; i++) /* the last is number 1 */
		t->api.corr[i] = (uint32_t)(UINT32_MAX - 2 + i + (i == 3));
	t->gpu.corr[0] = t->api.corr[0];
	assay_waits(run);
	CHECK(t->wait.n == 1 && t->wait.record_corr[0] == UINT32_MAX - 1);
	CHECK_EQ(t->wait.producer_gpu[0], 0);
	assay_run_free(run);
	return 0;
}
