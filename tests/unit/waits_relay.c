/* What a stream waits for is also what its waits wait for: relays through streams and events. */
#include "base/test.h"
#include "waits_program.h"

static assay_sweep_rec *stream_sync(program *p, uint64_t key, uint64_t stream)
{
	return on(p, ASSAY_OP_STREAM_SYNC, key, stream);
}

static bool waited_for(const program *p, uint32_t i, uint32_t row)
{
	return i < p->waits && p->wait[i].producer_row == row;
}

TEST(a_stream_sync_waits_for_what_the_streams_waits_wait_for)
{
	program p = {0};
	work(&p, 5, S2, 0, 60);
	work(&p, 6, S1, 60, 5000);
	record(&p, 10, A, S1);
	wait(&p, 20, S2, A);
	stream_sync(&p, 30, S2)->exit = 5010;
	run(&p);
	CHECK(waited_for(&p, 1, 6) && p.wait[1].class == ASSAY_WAIT_IS_LIKELY);
	CHECK(p.edges == 2 && p.edge[0].from_row == 6 && p.edge[0].host_row == 30);
	CHECK(p.edge[1].from_row == 5 && p.edge[1].host_row == 30); /* its own, had that lasted */
	CHECK(p.wait[1].satisfied == 0 && p.wait[1].slack == 10);
	return 0;
}

static bool has_edge(const program *p, uint32_t from, uint32_t to, uint32_t host)
{
	for (uint32_t i = 0; i < p->edges; i++)
		if (p->edge[i].from_row == from && p->edge[i].to_row == to &&
		    p->edge[i].host_row == host)
			return true;
	return false;
}

TEST(an_event_behind_own_work_and_a_wait_orders_both_of_them)
{
	program p = {0};
	work(&p, 1, S1, 0, 500);
	work(&p, 2, S2, 0, 400);
	record(&p, 10, A, S1);
	wait(&p, 20, S2, A);
	record(&p, 30, B, S2);
	wait(&p, 40, S3, B);
	event_call(&p, ASSAY_OP_EVENT_SYNC, 41, B);
	work(&p, 42, S3, 510, 520);
	run(&p);
	CHECK(waited_for(&p, 1, 1) && p.landed[1].consumer_row == 42 && p.landed[1].slack == 10);
	CHECK(has_edge(&p, 1, 42, 40) && has_edge(&p, 2, 42, 40));
	CHECK(has_edge(&p, 1, ASSAY_NO_ROW, 41) && has_edge(&p, 2, ASSAY_NO_ROW, 41));
	CHECK_EQ(p.edges, 4);
	return 0;
}

TEST(an_event_behind_many_waits_orders_the_latest_and_some_of_the_others_once)
{
	program p = {0};
	for (uint64_t i = 0; i < 6; i++) {
		work(&p, 1 + i, 0x9000 + i, 0, 500 + (int64_t)i);
		record(&p, 10 + i, 0xe00 + i, 0x9000 + i);
	}
	for (uint64_t i = 0; i < 12; i++)
		wait(&p, 20 + i, S2, 0xe00 + i / 2);
	record(&p, 40, B, S2);
	event_call(&p, ASSAY_OP_EVENT_SYNC, 41, B);
	run(&p);
	CHECK(waited_for(&p, 12, 6) && p.edges == 4);
	for (uint32_t i = 0; i < 4; i++)
		for (uint32_t k = 0; k < i; k++)
			CHECK(p.edge[i].from_row != p.edge[k].from_row);
	return 0;
}

TEST(a_relayed_event_stands_behind_the_first_work_however_long_the_chain)
{
	program p = {0};
	work(&p, 1, 0x9000, 0, 5000);
	for (uint64_t i = 0; i < 20; i++) {
		record(&p, 10 + 2 * i, 0xe00 + i, 0x9000 + i)->arg = 1 + i;
		wait(&p, 11 + 2 * i, 0x9001 + i, 0xe00 + i)->arg = 1 + i;
	}
	record(&p, 90, A, 0x9000 + 20)->arg = 77;
	event_call(&p, ASSAY_OP_EVENT_SYNC, 91, A)->arg = 77;
	stream_sync(&p, 92, 0x9000 + 20);
	run(&p);
	CHECK(p.waits == 22 && waited_for(&p, 20, 1) && waited_for(&p, 21, 1));
	CHECK(p.wait[20].class == ASSAY_WAIT_IS_EXACT && p.wait[20].producer.handle == 0x9014);
	CHECK(p.wait[21].class == ASSAY_WAIT_IS_EXACT);
	return 0;
}

TEST(own_work_behind_a_wait_is_what_is_waited_for)
{
	program p = {0};
	work(&p, 1, S1, 0, 500);
	record(&p, 10, A, S1);
	wait(&p, 20, S2, A);
	work(&p, 21, S2, 500, 600);
	stream_sync(&p, 30, S2);
	run(&p);
	CHECK(waited_for(&p, 1, 21) && p.wait[1].class == ASSAY_WAIT_IS_EXACT);
	return 0;
}

TEST(a_device_sync_waits_for_work_of_another_device_that_its_streams_wait_for)
{
	program p = {0};
	work(&p, 1, S1, 0, 5000)->device = 1;
	work(&p, 2, S2, 0, 50);
	record(&p, 10, A, S1)->device = 1;
	wait(&p, 20, S2, A);
	call(&p, ASSAY_OP_DEVICE_SYNC, 30)->exit = 5005;
	call(&p, ASSAY_OP_DEVICE_SYNC, 600);
	run(&p);
	CHECK(waited_for(&p, 1, 1) && waited_for(&p, 2, 1));
	CHECK(p.edges == 2 && p.edge[0].from_row == 2 && p.edge[1].from_row == 1);
	return 0;
}

static void launch_together(program *p, uint32_t row, uint64_t stream, int64_t end)
{
	assay_sweep_rec *r = work(p, 10, stream, 50, end);
	r->flags = ASSAY_REC_TOGETHER;
	r->row = row;
}

TEST(each_stream_of_a_joint_launch_is_busy_until_the_last_piece_ends)
{
	program p = {0};
	launch_together(&p, 10, S1, 100);
	launch_together(&p, 11, S2, 200);
	launch_together(&p, 12, S3, 900);
	stream_sync(&p, 20, S1)->exit = 905;
	stream_sync(&p, 30, S2)->exit = 905;
	run(&p);
	CHECK(waited_for(&p, 0, 12) && waited_for(&p, 1, 12));
	return 0;
}

TEST(of_launches_at_once_the_order_does_not_tell_that_a_stream_is_not_blocking)
{
	program p = {0};
	work(&p, 1, S1, 100, 200)->flags = ASSAY_REC_RACED;
	work(&p, 2, 0, 20, 60)->flags = ASSAY_REC_RACED;
	work(&p, 5, 0, 210, 250);
	work(&p, 10, S1, 300, 900);
	record(&p, 11, A, 0);
	event_call(&p, ASSAY_OP_EVENT_SYNC, 25, A)->flags = ASSAY_REC_WHOLE;
	run(&p);
	CHECK(waited_for(&p, 0, 5) && p.wait[0].class == ASSAY_WAIT_IS_LIKELY);
	return 0;
}

TEST(work_that_ran_before_a_joint_launch_does_not_part_its_streams)
{
	program p = {0};
	launch_together(&p, 10, S1, 100);
	launch_together(&p, 11, S2, 900);
	work(&p, 15, S1, 20, 40);
	stream_sync(&p, 20, S1)->exit = 905;
	run(&p);
	CHECK(waited_for(&p, 0, 11) && p.wait[0].class == ASSAY_WAIT_IS_EXACT);
	return 0;
}

TEST(a_graph_is_over_with_its_last_piece_and_named_by_the_first_that_ends_so_late)
{
	program p = {0};
	static const int64_t end[] = {100, 300, 300, 200};
	for (uint32_t i = 0; i < 4; i++)
		work(&p, 10, S1, 50, end[i])->row = 10 + i;
	stream_sync(&p, 20, S1)->exit = 305;
	run(&p);
	CHECK(waited_for(&p, 0, 11) && p.wait[0].slack == 5);
	return 0;
}

TEST(a_wait_for_something_unknown_leaves_nothing_certain_behind_it)
{
	program p = {0};
	work(&p, 1, S2, 0, 50);
	wait(&p, 10, S2, A); /* recorded before the trace */
	stream_sync(&p, 20, S2);
	work(&p, 21, S2, 60, 70);
	stream_sync(&p, 22, S2);
	on(&p, ASSAY_OP_HOST_FUNC, 30, S2);
	stream_sync(&p, 31, S2);
	run(&p);
	CHECK(waited_for(&p, 1, 1) && p.wait[1].class == ASSAY_WAIT_IS_LIKELY);
	CHECK(waited_for(&p, 2, 21) && p.wait[2].class == ASSAY_WAIT_IS_EXACT);
	CHECK(waited_for(&p, 3, 21) && p.wait[3].class == ASSAY_WAIT_IS_LIKELY);
	return 0;
}

TEST(the_default_stream_relays_what_it_waits_for)
{
	program p = {0};
	on(&p, ASSAY_OP_STREAM_CREATE, 1, S1);
	on(&p, ASSAY_OP_STREAM_CREATE, 2, S2);
	on(&p, ASSAY_OP_STREAM_CREATE, 3, S3)->flags = ASSAY_REC_NONBLOCKING;
	work(&p, 5, S3, 0, 900);
	record(&p, 10, A, S3);
	wait(&p, 11, 0, A);
	record(&p, 12, B,
	       S1); /* a command of a blocking stream: behind the default stream's wait */
	event_call(&p, ASSAY_OP_EVENT_SYNC, 13, B)->exit = 905;
	stream_sync(&p, 14, S2); /* no command since: behind nothing */
	work(&p, 20, S2, 901, 950);
	stream_sync(&p, 21, 0);
	run(&p);
	CHECK(waited_for(&p, 1, 5) && waited_for(&p, 2, ASSAY_NO_ROW) && waited_for(&p, 3, 20));
	CHECK_EQ(p.edge[1].kind, ASSAY_EDGE_LEGACY);
	CHECK(p.edge[1].from_row == 5 && p.edge[1].to_row == 20);
	return 0;
}

TEST(a_command_on_the_default_stream_stands_between_blocking_streams)
{
	program p = {0};
	on(&p, ASSAY_OP_STREAM_CREATE, 1, S1);
	on(&p, ASSAY_OP_STREAM_CREATE, 2, S2);
	work(&p, 5, S1, 0, 900);
	record(&p, 10, A, 0);
	work(&p, 11, S2, 900, 950);
	run(&p);
	CHECK(p.edges == 1 && p.edge[0].from_row == 5 && p.edge[0].to_row == 11);
	return 0;
}

TEST(a_query_that_returned_before_the_work_ended_said_no)
{
	program p = {0};
	work(&p, 1, S1, 0, 500);
	record(&p, 10, A, S1);
	event_call(&p, ASSAY_OP_EVENT_QUERY, 20, A); /* 200 to 205 */
	on(&p, ASSAY_OP_STREAM_QUERY, 21, S1);
	event_call(&p, ASSAY_OP_EVENT_QUERY, 60, A);
	run(&p);
	CHECK(p.edges == 1 && p.edge[0].host_row == 60);
	return 0;
}

TEST(work_that_was_not_recorded_leaves_nothing_certain_behind_it)
{
	program p = {0};
	work(&p, 1, S1, 0, 50);
	on(&p, ASSAY_OP_UNSEEN, 10, S1);
	stream_sync(&p, 20, S1);
	work(&p, 21, S1, 300, 310);
	stream_sync(&p, 32, S1);
	run(&p);
	CHECK(waited_for(&p, 0, 1) && p.wait[0].class == ASSAY_WAIT_IS_LIKELY);
	CHECK(waited_for(&p, 1, 21) && p.wait[1].class == ASSAY_WAIT_IS_EXACT);
	return 0;
}

/* Two streams; memory is given back behind the long work of one and taken in the other. */
static program pool_of(uint64_t freed_in, uint64_t taken_in, uint64_t taken_at)
{
	program p = {0};
	work(&p, 1, S1, 0, 500);
	work(&p, 2, S2, 0, 50);
	on(&p, ASSAY_OP_POOL_FREE, 10, freed_in);
	on(&p, ASSAY_OP_POOL_ALLOC, taken_at, taken_in);
	stream_sync(&p, taken_at + 1, S2);
	run(&p);
	return p;
}

TEST(memory_of_a_pool_may_make_its_stream_wait_for_the_one_that_gives_it_back)
{
	program p = pool_of(S1, S2, 20);
	CHECK(waited_for(&p, 0, 2) && p.wait[0].class == ASSAY_WAIT_IS_LIKELY);
	p = pool_of(S2, S2, 20); /* its own comes before anyway */
	CHECK_EQ(p.wait[0].class, ASSAY_WAIT_IS_EXACT);
	p = pool_of(S1, S2, 100); /* over by then */
	CHECK_EQ(p.wait[0].class, ASSAY_WAIT_IS_EXACT);
	p = pool_of(S1, S1, 20); /* another stream's matter */
	CHECK_EQ(p.wait[0].class, ASSAY_WAIT_IS_EXACT);
	p = pool_of(ASSAY_NO_HANDLE, S2, 100); /* from nobody knows where */
	CHECK_EQ(p.wait[0].class, ASSAY_WAIT_IS_LIKELY);
	p = pool_of(S1, ASSAY_NO_HANDLE, 20); /* to nobody knows where */
	CHECK_EQ(p.wait[0].class, ASSAY_WAIT_IS_LIKELY);
	return 0;
}

TEST(memory_that_is_taken_while_some_is_given_back_may_make_its_stream_wait)
{
	static const struct {
		uint64_t taken_in;
		uint32_t flags;
		assay_wait_doubt why;
	} of[] = {
		{S2, 0, ASSAY_WAIT_BY_NONE},
		{S2, ASSAY_REC_BESIDE_FREE, ASSAY_WAIT_BY_POOL},
		{ASSAY_NO_HANDLE, 0, ASSAY_WAIT_BY_NONE},
		{ASSAY_NO_HANDLE, ASSAY_REC_BESIDE_FREE, ASSAY_WAIT_BY_POOL},
	};
	for (size_t i = 0; i < ASSAY_COUNT_OF(of); i++) {
		program p = {0};
		work(&p, 1, S1, 0, 500);
		work(&p, 2, S2, 0, 600);
		on(&p, ASSAY_OP_POOL_ALLOC, 10, of[i].taken_in)->flags = of[i].flags;
		on(&p, ASSAY_OP_POOL_FREE, 11, S1);
		stream_sync(&p, 12, S2);
		run(&p);
		CHECK(waited_for(&p, 0, 2));
		CHECK_EQ(p.wait[0].why, of[i].why);
	}
	return 0;
}

/* Work from before the recording may be in streams that have none of their own yet. */
TEST(a_recording_that_began_late_is_certain_of_streams_with_work_only)
{
	program p = {0};
	work(&p, 1, S1, 0, 50)->arg = 0; /* launched before it began */
	stream_sync(&p, 10, S1);
	work(&p, 11, S1, 115, 150)->arg = 110;
	stream_sync(&p, 16, S1);
	stream_sync(&p, 17, S2);
	call(&p, ASSAY_OP_DEVICE_SYNC, 18);
	call(&p, ASSAY_OP_DEVICE_SYNC, 19);
	work(&p, 20, S1, 205, 210)->arg = 200;
	call(&p, ASSAY_OP_DEVICE_SYNC, 22);
	for (uint32_t i = 0; i < p.n; i++)
		p.rec[i].flags |= ASSAY_REC_WINDOW;
	run(&p);
	CHECK_EQ(p.wait[0].class, ASSAY_WAIT_IS_LIKELY); /* more may have followed it */
	CHECK(waited_for(&p, 1, 11) && p.wait[1].class == ASSAY_WAIT_IS_EXACT);
	CHECK_EQ(p.wait[2].class, ASSAY_WAIT_IS_LIKELY);
	CHECK_EQ(p.wait[3].class, ASSAY_WAIT_IS_LIKELY);
	CHECK(p.wait[3].flags & ASSAY_WAIT_EARLY);
	CHECK(p.wait[4].class == ASSAY_WAIT_IS_LIKELY && !(p.wait[4].flags & ASSAY_WAIT_EARLY));
	CHECK(waited_for(&p, 5, 20) && p.wait[5].class == ASSAY_WAIT_IS_EXACT);
	return 0;
}

/* The doubt about one stream is over with the first wait, for who begins after it. */
TEST(two_waits_for_a_device_at_once_do_not_help_each_other)
{
	program p = {0};
	work(&p, 1, S1, 0, 50);
	on(&p, ASSAY_OP_UNSEEN, 5, S2);
	call(&p, ASSAY_OP_DEVICE_SYNC, 10)->exit = 500;
	work(&p, 11, S1, 115, 150);
	call(&p, ASSAY_OP_DEVICE_SYNC, 12)->exit = 490;
	work(&p, 60, S1, 605, 650);
	call(&p, ASSAY_OP_DEVICE_SYNC, 61)->exit = 660;
	run(&p);
	CHECK_EQ(p.wait[0].class, ASSAY_WAIT_IS_LIKELY);
	CHECK_EQ(p.wait[1].class, ASSAY_WAIT_IS_LIKELY);
	CHECK(waited_for(&p, 2, 60) && p.wait[2].class == ASSAY_WAIT_IS_EXACT);
	return 0;
}

/* The command is in nobody knows which stream: the default one, perhaps, and then a blocking
 * stream, also one that comes later, stands behind it and all that it stands behind. */
TEST(a_stream_may_stand_behind_a_command_in_an_unknown_one)
{
	static const assay_sweep_op ops[] = {
		ASSAY_OP_GAP,        ASSAY_OP_RECORD,    ASSAY_OP_WAIT,      ASSAY_OP_WRITE_VALUE,
		ASSAY_OP_WAIT_VALUE, ASSAY_OP_POOL_FREE, ASSAY_OP_POOL_ALLOC};
	for (size_t i = 0; i < 2 * ASSAY_COUNT_OF(ops); i++) {
		program p = {0};
		if (i % 2)
			work(&p, 1, S2, 0, 10);
		work(&p, 2, S1, 0, 5000);
		event_call(&p, ops[i / 2], 5, B);
		record(&p, 10, A, S2)->arg = 77;
		wait(&p, 20, S3, A)->arg = 77;
		run(&p);
		const assay_sweep_wait *last = &p.wait[p.waits - 1];
		CHECK(last->record_key == 10 && last->class == ASSAY_WAIT_IS_LIKELY);
	}
	return 0;
}

/* Times of this process's work prove nothing until the device was waited for. */
TEST(work_of_another_process_may_run_behind_a_wait_for_its_event)
{
	program p = {0};
	work(&p, 1, S1, 0, 300);
	event_call(&p, ASSAY_OP_IPC_OPEN, 5, B)->arg = 7;
	wait(&p, 10, S2, B);
	call(&p, ASSAY_OP_DEVICE_SYNC, 20)->exit = 310;
	call(&p, ASSAY_OP_DEVICE_SYNC, 40);
	run(&p);
	CHECK(p.wait[1].class == ASSAY_WAIT_IS_LIKELY && p.wait[1].flags & ASSAY_WAIT_UNSEEN);
	CHECK(!(p.wait[2].flags & ASSAY_WAIT_UNSEEN));
	return 0;
}

/* What was put into streams meanwhile, and which events were recorded, nobody knows. */
TEST(nothing_from_before_recording_was_off_is_certain_after_it)
{
	program p = {0};
	work(&p, 1, S1, 0, 50);
	record(&p, 2, A, S1);
	call(&p, ASSAY_OP_DARK, 10);
	stream_sync(&p, 20, S1);
	wait(&p, 21, S2, A);
	work(&p, 22, S1, 300, 310);
	stream_sync(&p, 40, S1);
	call(&p, ASSAY_OP_DEVICE_SYNC, 41);
	call(&p, ASSAY_OP_DEVICE_SYNC, 42);
	run(&p);
	CHECK_EQ(p.wait[0].class, ASSAY_WAIT_IS_LIKELY);
	CHECK_EQ(p.wait[1].class, ASSAY_WAIT_IS_LOST);
	CHECK(waited_for(&p, 2, 22) && p.wait[2].class == ASSAY_WAIT_IS_EXACT);
	CHECK_EQ(p.wait[3].class, ASSAY_WAIT_IS_LIKELY); /* other streams may have had work */
	CHECK(p.wait[2].flags & ASSAY_WAIT_UNSEEN && !(p.wait[4].flags & ASSAY_WAIT_UNSEEN));
	return 0;
}

TEST(a_wait_in_a_stream_that_was_guessed_leaves_nothing_certain)
{
	program p = {0};
	work(&p, 1, S1, 0, 5000);
	work(&p, 2, S2, 0, 50);
	record(&p, 10, A, S1);
	wait(&p, 20, 0, A)->flags |= ASSAY_REC_GUESSED;
	stream_sync(&p, 30, S2);
	run(&p);
	CHECK(waited_for(&p, 1, 2) && p.wait[1].class == ASSAY_WAIT_IS_LIKELY);
	return 0;
}

TEST(events_of_other_processes_meet_only_by_a_name_that_is_known)
{
	program p = {0};
	record(&p, 1, A, S1);
	event_call(&p, ASSAY_OP_IPC_EXPORT, 2, A)->arg = 0;
	assay_sweep_rec *open = event_call(&p, ASSAY_OP_IPC_OPEN, 10, B);
	open->scope = 2;
	wait(&p, 11, S2, B)->scope = 2;
	run(&p);
	CHECK(p.waits == 1 && p.wait[0].record_key == 0);
	return 0;
}

TEST(a_device_sync_is_not_exact_while_a_stream_of_an_unknown_device_waits)
{
	program p = {0};
	work(&p, 1, S1, 0, 5000)->device = 1;
	work(&p, 2, S2, 0, 50);
	record(&p, 10, A, S1)->device = 1;
	wait(&p, 20, S3, A)->device = -1;
	call(&p, ASSAY_OP_DEVICE_SYNC, 30);
	run(&p);
	CHECK(waited_for(&p, 1, 2) && p.wait[1].class == ASSAY_WAIT_IS_LIKELY);
	return 0;
}

TEST(a_stream_that_may_be_blocking_counts_when_the_call_ended_with_its_work)
{
	program p = {0};
	work(&p, 1, 0, 0, 50);
	work(&p, 2, S1, 50, 500); /* whether it is blocking is not known */
	stream_sync(&p, 20, 0)->exit = 505;
	run(&p);
	CHECK(waited_for(&p, 0, 2) && p.wait[0].class == ASSAY_WAIT_IS_LIKELY);
	program q = {0};
	work(&q, 1, 0, 0, 50);
	work(&q, 2, S1, 0, 500);
	work(&q, 3, 0, 60, 70); /* ran beside it: it is not */
	stream_sync(&q, 20, 0)->exit = 505;
	run(&q);
	CHECK(waited_for(&q, 0, 3) && q.wait[0].class == ASSAY_WAIT_IS_EXACT);
	return 0;
}

/* At 10 ns times its key, as all calls; it returns then. */
static void device_sync(program *p, uint64_t key, int64_t exit)
{
	call(p, ASSAY_OP_DEVICE_SYNC, key)->exit = exit;
}

TEST(a_wait_for_a_device_knows_the_latest_of_streams_that_did_nothing_since)
{
	program p = {0};
	work(&p, 1, S1, 0, 500);
	work(&p, 2, S2, 0, 300);
	work(&p, 3, S3, 0, 100);
	device_sync(&p, 10, 600);
	device_sync(&p, 61, 620); /* nothing new */
	work(&p, 63, S2, 640, 700);
	device_sync(&p, 64, 710);
	work(&p, 72, S3, 730, 800);
	device_sync(&p, 73, 810);
	device_sync(&p, 82, 830);
	run(&p);
	const uint32_t want[] = {1, 1, 63, 72, 72};
	for (uint32_t i = 0; i < 5; i++) {
		CHECK(waited_for(&p, i, want[i]) && p.wait[i].class == ASSAY_WAIT_IS_EXACT);
		CHECK_EQ(p.wait[i].producer.handle, want[i] == 1 ? S1 : want[i] == 63 ? S2 : S3);
	}
	CHECK(p.edges == 5 && p.edge[3].from_row == 63 && p.edge[4].from_row == 72);
	return 0;
}

TEST(a_stream_that_goes_on_after_a_wait_for_its_device_is_waited_for_again)
{
	program p = {0};
	work(&p, 1, S1, 0, 500);
	record(&p, 2, A, S1);
	device_sync(&p, 10, 600);
	work(&p, 61, S2, 620, 900);
	record(&p, 62, B, S2);
	wait(&p, 63, S1, B); /* S1 stands behind other work now */
	on(&p, ASSAY_OP_STREAM_DESTROY, 64, S2);
	device_sync(&p, 70, 910);
	stream_sync(&p, 92, S1);
	run(&p);
	CHECK(waited_for(&p, 2, 61) && waited_for(&p, 3, 61));
	CHECK(p.wait[2].class == ASSAY_WAIT_IS_LIKELY); /* by the order of calls */
	return 0;
}

TEST(doubts_about_a_process_reach_streams_that_were_waited_for)
{
	program p = {0};
	work(&p, 1, S1, 0, 500);
	device_sync(&p, 10, 600);
	call(&p, ASSAY_OP_UNSEEN, 61); /* in any stream */
	device_sync(&p, 70, 900);
	device_sync(&p, 95, 960);
	run(&p);
	CHECK(p.wait[0].class == ASSAY_WAIT_IS_EXACT && p.wait[1].class == ASSAY_WAIT_IS_LIKELY);
	CHECK(p.wait[2].class == ASSAY_WAIT_IS_LIKELY); /* it ended before, so did the other */
	return 0;
}
