/* The fifty cases every wait resolver should be asked about, by name. Those about names of calls
 * are in waits_calls.c, those about files and tables in waits_tables.c and convert.c. */
#include "base/test.h"
#include "resolve/keys.h"
#include "waits_program.h"

TEST(inter_stream_dependency)
{
	program p = {0};
	record(&p, 10, A, S1);
	wait(&p, 20, S2, A);
	run(&p);
	CHECK(p.waits == 1 && is(&p, 0, ASSAY_WAIT_IS_LIKELY, 10));
	CHECK(p.wait[0].kind == ASSAY_WAIT_STREAM_WAIT && p.wait[0].producer.handle == S1);
	return 0;
}

TEST(a_future_record_is_never_chosen)
{
	program p = {0};
	record(&p, 100, A, S1);
	record(&p, 200, A, S2);
	wait(&p, 101, S3, A);
	run(&p);
	CHECK(is(&p, 0, ASSAY_WAIT_IS_LIKELY, 100) && p.wait[0].producer.handle == S1);
	return 0;
}

TEST(nothing_resolves_across_sessions)
{
	program p = {0};
	record(&p, 50, B, S1);
	event_call(&p, ASSAY_OP_EVENT_SYNC, 999, B)->scope = 2;
	run(&p);
	CHECK(is(&p, 0, ASSAY_WAIT_IS_BEFORE_TRACE, 0));
	return 0;
}

TEST(event_synchronize_resolves_its_producer)
{
	program p = {0};
	record(&p, 30, A, S1);
	event_call(&p, ASSAY_OP_EVENT_SYNC, 40, A);
	run(&p);
	CHECK(is(&p, 0, ASSAY_WAIT_IS_LIKELY, 30) && p.wait[0].kind == ASSAY_WAIT_EVENT_SYNC);
	CHECK(p.wait[0].rec.event == A && p.wait[0].producer.handle == S1);
	return 0;
}

TEST(an_unresolved_wait_still_names_its_event)
{
	program p = {0};
	wait(&p, 70, S2, 0xd0);
	run(&p);
	CHECK(is(&p, 0, ASSAY_WAIT_IS_BEFORE_TRACE, 0) && p.wait[0].rec.event == 0xd0);
	CHECK(p.wait[0].producer.handle == ASSAY_NO_HANDLE && p.wait[0].producer.uid == 0);
	return 0;
}

TEST(an_unresolved_wait_keeps_handle_and_consumer)
{
	program p = {0};
	wait(&p, 70, S2, 0xd0);
	run(&p);
	CHECK(p.wait[0].rec.event == 0xd0 && p.wait[0].consumer.handle == S2);
	return 0;
}

TEST(a_resolved_wait_keeps_both_streams)
{
	program p = {0};
	record(&p, 10, A, S1);
	wait(&p, 20, S2, A);
	run(&p);
	CHECK(p.wait[0].consumer.handle == S2 && p.wait[0].producer.handle == S1);
	CHECK(p.wait[0].consumer.uid != p.wait[0].producer.uid);
	return 0;
}

TEST(the_default_stream_as_consumer_is_a_stream)
{
	program p = {0};
	record(&p, 10, A, S1);
	wait(&p, 20, 0, A);
	run(&p);
	CHECK(p.wait[0].consumer.handle == 0 && p.wait[0].consumer.uid != 0);
	return 0;
}

TEST(the_default_stream_as_producer_resolves)
{
	program p = {0};
	record(&p, 10, A, 0);
	wait(&p, 20, S1, A);
	run(&p);
	CHECK(is(&p, 0, ASSAY_WAIT_IS_LIKELY, 10));
	CHECK(p.wait[0].producer.handle == 0 && p.wait[0].producer.uid != 0);
	return 0;
}

TEST(each_wait_takes_the_record_just_before_it)
{
	program p = {0};
	for (uint64_t k = 1; k < 20; k += 2) {
		record(&p, k, A, S1);
		wait(&p, k + 1, S2, A);
	}
	run(&p);
	CHECK_EQ(p.waits, 10);
	for (uint32_t i = 0; i < 10; i++)
		CHECK(is(&p, i, ASSAY_WAIT_IS_LIKELY, 2 * i + 1));
	return 0;
}

TEST(all_waits_of_two_streams_resolve)
{
	program p = {0};
	for (uint64_t k = 0; k < 8; k++) {
		record(&p, 10 + k * 2, A + k, k % 2 ? S1 : S2);
		wait(&p, 11 + k * 2, k % 2 ? S2 : S1, A + k);
	}
	run(&p);
	CHECK_EQ(p.waits, 8);
	for (uint32_t i = 0; i < 8; i++)
		CHECK(is(&p, i, ASSAY_WAIT_IS_LIKELY, 10 + i * 2) && p.wait[i].producer.uid);
	return 0;
}

TEST(device_and_stream_sync_have_their_kind_and_stream)
{
	program p = {0};
	call(&p, ASSAY_OP_DEVICE_SYNC, 10);
	on(&p, ASSAY_OP_STREAM_SYNC, 20, S1);
	run(&p);
	CHECK(p.wait[0].kind == ASSAY_WAIT_DEVICE_SYNC && p.wait[1].kind == ASSAY_WAIT_STREAM_SYNC);
	CHECK(p.wait[1].producer.handle == S1);
	return 0;
}

TEST(destroying_ends_the_incarnation)
{
	program p = {0};
	record(&p, 10, A, S1);
	wait(&p, 20, S3, A);
	event_call(&p, ASSAY_OP_DESTROY, 25, A);
	wait(&p, 30, S3, A);
	record(&p, 40, A, S2);
	wait(&p, 50, S3, A);
	run(&p);
	CHECK(is(&p, 0, ASSAY_WAIT_IS_LIKELY, 10) && is(&p, 1, ASSAY_WAIT_IS_BEFORE_TRACE, 0));
	CHECK(is(&p, 2, ASSAY_WAIT_IS_LIKELY, 40) && p.wait[2].producer.handle == S2);
	return 0;
}

TEST(a_wait_delivered_before_its_record_resolves)
{
	program p = {0};
	wait(&p, 200, S2, A);
	record(&p, 100, A, S1);
	run(&p);
	CHECK(is(&p, 0, ASSAY_WAIT_IS_LIKELY, 100));
	return 0;
}

TEST(sync_rows_before_records_and_work_resolve_on_the_right_device)
{
	program p = {0};
	assay_sweep_rec *w = wait(&p, 20, S2, 5), *e = event_call(&p, ASSAY_OP_EVENT_SYNC, 30, 5);
	w->arg = e->arg = 77;
	w->device = 3;
	assay_sweep_rec *r = record(&p, 10, 5, S1);
	r->arg = 77;
	r->device = 3;
	work(&p, 5, S1, 0, 100)->device = 3;
	run(&p);
	CHECK(is(&p, 0, ASSAY_WAIT_IS_EXACT, 10) && is(&p, 1, ASSAY_WAIT_IS_EXACT, 10));
	CHECK(p.wait[0].producer.device == 3 && p.wait[1].producer_row == 5);
	return 0;
}

TEST(a_second_session_starts_empty_with_sync_ids_too)
{
	program p = {0};
	record(&p, 10, 5, S1)->arg = 77;
	assay_sweep_rec *w = wait(&p, 20, S2, 5);
	w->arg = 77;
	w->scope = 2;
	run(&p);
	CHECK(is(&p, 0, ASSAY_WAIT_IS_BEFORE_TRACE, 0));
	return 0;
}

TEST(a_wait_before_the_first_work_of_its_stream_lands_on_it)
{
	program p = {0};
	work(&p, 5, S1, 50, 300);
	record(&p, 10, A, S1);
	wait(&p, 20, S2, A);
	work(&p, 30, S2, 310, 400);
	run(&p);
	CHECK_EQ(p.waits, 1);
	CHECK_EQ(p.landed[0].consumer_row, 30);
	CHECK(p.edges == 1 && p.edge[0].from_row == 5 && p.edge[0].to_row == 30);
	return 0;
}

TEST(record_wait_destroy_in_one_session_resolves)
{
	program p = {0};
	record(&p, 10, A, S1);
	wait(&p, 20, S2, A);
	event_call(&p, ASSAY_OP_DESTROY, 30, A);
	run(&p);
	CHECK(is(&p, 0, ASSAY_WAIT_IS_LIKELY, 10));
	return 0;
}

TEST(a_recreated_event_that_was_never_recorded_is_a_no_op)
{
	program p = {0};
	record(&p, 10, A, S1);
	event_call(&p, ASSAY_OP_DESTROY, 20, A);
	event_call(&p, ASSAY_OP_CREATE, 25, A);
	wait(&p, 30, S2, A);
	work(&p, 40, S2, 500, 600);
	run(&p);
	CHECK(is(&p, 0, ASSAY_WAIT_IS_NEVER_RECORDED, 0) && p.edges == 0);
	return 0;
}

TEST(lifetimes_go_by_key_not_by_arrival)
{
	program p = {0};
	event_call(&p, ASSAY_OP_DESTROY, 30, A);
	wait(&p, 20, S2, A);
	record(&p, 10, A, S1);
	run(&p);
	CHECK(is(&p, 0, ASSAY_WAIT_IS_LIKELY, 10));
	return 0;
}

static void span(assay_sweep_rec *r, uint32_t thread, int64_t enter, int64_t exit)
{
	r->thread = thread;
	r->enter = enter;
	r->exit = exit;
}

TEST(overlapping_calls_are_ambiguous_with_an_alternative)
{
	program p = {0};
	span(record(&p, 10, A, S1), 1, 10, 20);
	span(record(&p, 20, A, S1), 1, 100, 200);
	span(wait(&p, 21, S2, A), 2, 110, 120);
	run(&p);
	CHECK(is(&p, 0, ASSAY_WAIT_IS_AMBIGUOUS, 20));
	CHECK_EQ(p.wait[0].other_key, 10);
	program q = {0}; /* the id came first, the call may have run second */
	span(record(&q, 10, A, S1), 1, 10, 20);
	span(wait(&q, 19, S2, A), 2, 110, 120);
	span(record(&q, 20, A, S1), 1, 100, 200);
	run(&q);
	CHECK(is(&q, 0, ASSAY_WAIT_IS_AMBIGUOUS, 10));
	CHECK_EQ(q.wait[0].other_key, 20);
	return 0;
}

TEST(a_failed_record_is_no_record)
{
	program p = {0};
	record(&p, 10, A, S1);
	record(&p, 20, A, S3)->flags = ASSAY_REC_FAILED;
	wait(&p, 30, S2, A);
	wait(&p, 40, S2, A)->flags = ASSAY_REC_FAILED;
	run(&p);
	CHECK(is(&p, 0, ASSAY_WAIT_IS_LIKELY, 10) && is(&p, 1, ASSAY_WAIT_IS_FAILED_CALL, 0));
	return 0;
}

TEST(no_stream_is_not_the_default_stream)
{
	program p = {0};
	record(&p, 5, A, 0);
	call(&p, ASSAY_OP_DEVICE_SYNC, 10);
	event_call(&p, ASSAY_OP_EVENT_SYNC, 20, A);
	wait(&p, 30, 0, A);
	run(&p);
	CHECK(p.wait[0].consumer.uid == 0 && p.wait[0].consumer.handle == ASSAY_NO_HANDLE);
	CHECK(p.wait[1].consumer.uid == 0 && p.wait[1].consumer.handle == ASSAY_NO_HANDLE);
	CHECK(p.wait[2].consumer.uid != 0 && p.wait[2].consumer.handle == 0);
	return 0;
}

TEST(per_thread_default_streams_are_four_outcomes_over_two_threads)
{
	program p = {0};
	uint64_t key = 10;
	for (uint32_t thread = 1; thread <= 2; thread++) {
		assay_sweep_rec *r = record(&p, key++, A, 0);
		r->thread = thread;
		r->flags = ASSAY_REC_PER_THREAD;
		wait(&p, key++, S3, A)->thread = thread;
		record(&p, key++, A, 2)->thread = thread;
		wait(&p, key++, S3, A)->thread = thread;
		record(&p, key++, A, 0)->thread = thread;
		wait(&p, key++, S3, A)->thread = thread;
		record(&p, key++, A, 1)->thread = thread;
		wait(&p, key++, S3, A)->thread = thread;
	}
	run(&p);
	uint32_t own1 = p.wait[0].producer.uid, legacy = p.wait[2].producer.uid,
		 own2 = p.wait[4].producer.uid;
	CHECK(p.wait[1].producer.uid == own1 && p.wait[3].producer.uid == legacy);
	CHECK(p.wait[5].producer.uid == own2 && p.wait[6].producer.uid == legacy);
	CHECK(own1 != own2 && own1 != legacy && own2 != legacy);
	return 0;
}

TEST(waits_cross_devices_and_contexts)
{
	program p = {0};
	record(&p, 10, A, S1)->device = 0;
	wait(&p, 20, S2, A)->device = 1;
	record(&p, 30, 7, S1)->arg = 99; /* the record's context numbers the event 7 ... */
	wait(&p, 40, S2, 8)->arg = 99;   /* ... the wait's numbers it 8 */
	run(&p);
	CHECK(is(&p, 0, ASSAY_WAIT_IS_LIKELY, 10));
	CHECK(p.wait[0].producer.device == 0 && p.wait[0].consumer.device == 1);
	CHECK(is(&p, 1, ASSAY_WAIT_IS_EXACT, 30));
	return 0;
}

TEST(two_processes_with_equal_handles_and_ids_never_mix)
{
	program p = {0};
	record(&p, 10, A, S1)->scope = 1;
	wait(&p, 20, S2, A)->scope = 2;
	record(&p, 30, B, S1);
	wait(&p, 30, S2, B)->scope = 2;
	run(&p);
	CHECK(is(&p, 0, ASSAY_WAIT_IS_BEFORE_TRACE, 0) && is(&p, 1, ASSAY_WAIT_IS_BEFORE_TRACE, 0));
	return 0;
}

TEST(ids_of_32_bits_are_unwrapped)
{
	assay_keys k = {0};
	assay_keys_add(&k, 1, 0xFFFFFFF0);
	assay_keys_add(&k, 2, 0x10);
	assay_keys_add(&k, 3, 0xFFFFFFF8); /* late, from before the wrap */
	uint64_t r = assay_keys_at(&k, 1, 0xFFFFFFF0), w = assay_keys_at(&k, 2, 0x10);
	CHECK(r < w && w - r == 0x20 && assay_keys_at(&k, 3, 0xFFFFFFF8) == r + 8);
	CHECK(assay_keys_id(&k, r) == 0xFFFFFFF0 && assay_keys_id(&k, w) == 0x10);
	assay_keys_free(&k);
	assay_keys straight = {0};
	assay_keys_add(&straight, 1, 0x80000005);
	CHECK_EQ(assay_keys_at(&straight, 1, 0x80000005), 0x80000005);
	assay_keys_free(&straight);
	return 0;
}

TEST(a_record_before_the_window_resolves_with_a_mark)
{
	program p = {0};
	record(&p, 10, A, S1)->flags = ASSAY_REC_OUTSIDE;
	wait(&p, 20, S2, A);
	run(&p);
	CHECK(is(&p, 0, ASSAY_WAIT_IS_LIKELY, 10) && p.wait[0].flags & ASSAY_WAIT_OUTSIDE);
	return 0;
}

TEST(captured_calls_make_no_edge_a_graph_launch_does)
{
	program p = {0};
	on(&p, ASSAY_OP_CAPTURE_BEGIN, 10, S1);
	record(&p, 11, A, S1);
	wait(&p, 12, S2, A); /* S2 joins the capture */
	record(&p, 13, B, S2);
	wait(&p, 14, S1, B);
	on(&p, ASSAY_OP_CAPTURE_END, 15, S1);
	work(&p, 20, S1, 500, 600); /* the graph */
	work(&p, 20, S1, 520, 700);
	record(&p, 21, A, S1);
	wait(&p, 22, S2, A);
	work(&p, 23, S2, 710, 800);
	run(&p);
	CHECK(is(&p, 0, ASSAY_WAIT_IS_CAPTURED, 0) && is(&p, 1, ASSAY_WAIT_IS_CAPTURED, 0));
	CHECK(is(&p, 2, ASSAY_WAIT_IS_LIKELY, 21));
	CHECK(p.edges == 1 && p.edge[0].from_row == 20 && p.edge[0].to_row == 23);
	CHECK_EQ(p.landed[2].slack, 10);
	return 0;
}

TEST(an_event_of_a_launch_is_bound_to_that_kernel)
{
	program p = {0};
	work(&p, 5, S1, 0, 90);
	work(&p, 10, S1, 100, 300);
	record(&p, 10, A, S1); /* stopEvent */
	wait(&p, 20, S2, A);
	assay_sweep_rec *start = record(&p, 10, B, S1); /* startEvent */
	start->flags = ASSAY_REC_AT_START;
	wait(&p, 21, S2, B);
	run(&p);
	CHECK(is(&p, 0, ASSAY_WAIT_IS_LIKELY, 10) && is(&p, 1, ASSAY_WAIT_IS_LIKELY, 10));
	CHECK(p.wait[0].producer_row == 10 && p.wait[0].producer_end == 300);
	CHECK(p.wait[1].producer_row == 10 && p.wait[1].producer_end == 100);
	return 0;
}

TEST(a_wait_on_the_own_stream_is_redundant)
{
	program p = {0};
	work(&p, 5, S1, 0, 90);
	record(&p, 10, A, S1);
	wait(&p, 20, S1, A);
	work(&p, 30, S1, 100, 120);
	run(&p);
	CHECK(is(&p, 0, ASSAY_WAIT_IS_LIKELY, 10) && p.wait[0].flags & ASSAY_WAIT_SAME_STREAM);
	CHECK_EQ(p.edges, 0);
	return 0;
}

TEST(a_satisfied_wait_keeps_its_edge_and_delays_nothing)
{
	program p = {0};
	work(&p, 5, S1, 40, 90);
	record(&p, 10, A, S1);
	wait(&p, 20, S2, A); /* at 200 */
	work(&p, 30, S2, 310, 400);
	run(&p);
	CHECK(p.wait[0].satisfied == 1 && p.edges == 1 && p.landed[0].delayed == 0);
	CHECK_EQ(p.landed[0].slack, 220);
	return 0;
}

TEST(a_graph_of_many_kernels_is_one_operation)
{
	program p = {0};
	for (uint32_t i = 0; i < 5; i++)
		work(&p, 10, S1, 100 + i, i == 2 ? 900 : 200 + i)->row = 100 + i;
	record(&p, 20, A, S1);
	wait(&p, 30, S2, A);
	for (uint32_t i = 0; i < 5; i++)
		work(&p, 40, S2, 1000 - i, 1100)->row = 200 + i;
	run(&p);
	CHECK(p.wait[0].producer_row == 102 && p.wait[0].producer_end == 900);
	CHECK(p.edges == 1 && p.edge[0].to_row == 204 && p.landed[0].slack == 96);
	return 0;
}

TEST(a_gap_makes_events_unknown_and_memory_stays_bounded)
{
	program p = {0};
	record(&p, 10, A, S1);
	event_call(&p, ASSAY_OP_CREATE, 12, B);
	call(&p, ASSAY_OP_GAP, 20);
	wait(&p, 30, S2, A);
	wait(&p, 31, S2, B);
	record(&p, 40, A, S1);
	wait(&p, 50, S2, A);
	run(&p);
	CHECK(is(&p, 0, ASSAY_WAIT_IS_LOST, 0) && is(&p, 1, ASSAY_WAIT_IS_LOST, 0));
	CHECK(is(&p, 2, ASSAY_WAIT_IS_LIKELY, 40));
	program q = {0};
	assay_sweep *s =
		assay_sweep_new(&(assay_sweep_sink){&q, take_wait, take_news, take_edge, NULL},
				(assay_sweep_clocks){0});
	size_t after = 0;
	for (uint64_t k = 0; k < 400000; k += 4) {
		uint64_t event = A + k % 4000;
		program one = {0};
		event_call(&one, ASSAY_OP_CREATE, k, event);
		record(&one, k + 1, event, S1);
		wait(&one, k + 2, S2, event);
		event_call(&one, ASSAY_OP_DESTROY, k + 3, event);
		q.waits = 0;
		for (uint32_t i = 0; i < one.n; i++)
			assay_sweep_push(s, &one.rec[i]);
		if (k == 20000)
			after = assay_sweep_bytes(s);
	}
	CHECK_EQ(assay_sweep_bytes(s), after);
	assay_sweep_free(s);
	return 0;
}

TEST(a_null_event_is_a_failed_call)
{
	program p = {0};
	record(&p, 5, 0, S1);
	wait(&p, 10, S1, 0);
	event_call(&p, ASSAY_OP_EVENT_SYNC, 20, 0);
	event_call(&p, ASSAY_OP_DESTROY, 21, 0);
	event_call(&p, ASSAY_OP_CREATE, 22, 0);
	run(&p);
	CHECK(is(&p, 0, ASSAY_WAIT_IS_FAILED_CALL, 0) && is(&p, 1, ASSAY_WAIT_IS_FAILED_CALL, 0));
	return 0;
}

TEST(an_unknown_kind_is_unknown)
{
	program p = {0};
	call(&p, ASSAY_OP_UNKNOWN_SYNC, 10);
	run(&p);
	CHECK(p.wait[0].kind == ASSAY_WAIT_UNKNOWN && p.wait[0].class == ASSAY_WAIT_IS_LOST);
	return 0;
}

TEST(an_event_of_another_process_resolves_when_both_are_given)
{
	program p = {0};
	event_call(&p, ASSAY_OP_IPC_EXPORT, 5, A)->arg = 0x1bc;
	record(&p, 10, A, S1);
	record(&p, 90, A, S1); /* after the wait */
	assay_sweep_rec *open = event_call(&p, ASSAY_OP_IPC_OPEN, 3, B), *w = wait(&p, 20, S2, B);
	open->scope = w->scope = 2;
	open->arg = 0x1bc;
	run(&p);
	CHECK(is(&p, 0, ASSAY_WAIT_IS_LIKELY, 10) && p.wait[0].flags & ASSAY_WAIT_IPC);
	program q = {0}; /* the other process was not recorded */
	event_call(&q, ASSAY_OP_IPC_OPEN, 3, B)->arg = 0x1bc;
	wait(&q, 20, S2, B);
	run(&q);
	CHECK(is(&q, 0, ASSAY_WAIT_IS_BEFORE_TRACE, 0) && q.wait[0].flags & ASSAY_WAIT_IPC);
	return 0;
}

TEST(of_an_event_of_another_process_the_last_record_that_was_over_counts)
{
	program p = {0};
	event_call(&p, ASSAY_OP_IPC_EXPORT, 4, A)->arg = 0x1bc;
	event_call(&p, ASSAY_OP_IPC_EXPORT, 5, B)->arg = 0x1bd;
	for (uint64_t key = 8; key <= 12; key += 2)
		record(&p, key, A, S1);
	record(&p, 14, B, S1);
	record(&p, 16, A, S1)->exit = 1000; /* not over when the wait begins */
	assay_sweep_rec *open = event_call(&p, ASSAY_OP_IPC_OPEN, 3, B), *w = wait(&p, 20, S2, B);
	open->scope = w->scope = 2;
	open->arg = 0x1bc;
	run(&p);
	CHECK(is(&p, 0, ASSAY_WAIT_IS_LIKELY, 12) && p.wait[0].flags & ASSAY_WAIT_IPC);
	return 0;
}

TEST(a_record_of_the_old_session_does_not_leak_into_the_next)
{
	program p = {0};
	wait(&p, 60, S2, A)->scope = 2;
	record(&p, 50, A, S1)->scope = 1; /* in flight when the session changed */
	run(&p);
	CHECK(is(&p, 0, ASSAY_WAIT_IS_BEFORE_TRACE, 0));
	return 0;
}

TEST(two_streams_at_one_address_are_two_streams)
{
	program p = {0};
	on(&p, ASSAY_OP_STREAM_CREATE, 1, S1);
	work(&p, 5, S1, 0, 90);
	record(&p, 10, A, S1);
	on(&p, ASSAY_OP_STREAM_DESTROY, 15, S1);
	on(&p, ASSAY_OP_STREAM_CREATE, 16, S1);
	record(&p, 20, B, S1);
	wait(&p, 30, S2, A);
	wait(&p, 31, S2, B);
	run(&p);
	CHECK(p.wait[0].producer.uid != p.wait[1].producer.uid);
	CHECK(p.wait[0].producer_row == 5 && p.wait[1].producer_row == ASSAY_NO_ROW);
	return 0;
}

/* ------------------------------------------------------------------ other orderings */

TEST(the_default_stream_orders_blocking_streams_both_ways)
{
	program p = {0};
	on(&p, ASSAY_OP_STREAM_CREATE, 1, S1);
	on(&p, ASSAY_OP_STREAM_CREATE, 2, S2)->flags = ASSAY_REC_NONBLOCKING;
	work(&p, 10, S1, 0, 100);
	work(&p, 11, S2, 0, 500);
	work(&p, 12, 0, 110, 200); /* after S1, not after S2 */
	work(&p, 13, 0, 200, 210); /* S1 has no newer work */
	work(&p, 14, S1, 220, 300);
	work(&p, 15, S1, 300, 310); /* has seen the default stream */
	run(&p);
	CHECK_EQ(p.edges, 2);
	CHECK(p.edge[0].kind == ASSAY_EDGE_LEGACY && p.edge[0].from_row == 10 &&
	      p.edge[0].to_row == 12);
	CHECK(p.edge[1].from_row == 13 && p.edge[1].to_row == 14);
	return 0;
}

TEST(a_record_on_the_default_stream_stands_behind_blocking_streams)
{
	program p = {0};
	on(&p, ASSAY_OP_STREAM_CREATE, 1, S1);
	work(&p, 5, 0, 0, 50);
	work(&p, 10, S1, 60, 100);
	record(&p, 12, A, 0);
	event_call(&p, ASSAY_OP_EVENT_SYNC, 20, A);
	run(&p);
	CHECK_EQ(p.wait[0].producer_row, 10);
	return 0;
}

TEST(device_sync_fans_in_and_counts_each_work_once)
{
	program p = {0};
	work(&p, 10, S1, 0, 100);
	work(&p, 11, S2, 0, 250);
	work(&p, 12, S3, 0, 900)->device = 1;
	call(&p, ASSAY_OP_DEVICE_SYNC, 20); /* from 200 to 205 */
	call(&p, ASSAY_OP_DEVICE_SYNC, 30);
	run(&p);
	CHECK(p.edges == 2 && p.wait[0].producer_row == 11 && p.wait[0].producer.handle == S2);
	CHECK_EQ(p.wait[0].delayed, 5);
	CHECK(p.wait[0].flags & ASSAY_WAIT_TIMES); /* it returned before 250 */
	CHECK(p.wait[1].satisfied == 1 && !(p.wait[1].flags & ASSAY_WAIT_TIMES));
	return 0;
}

TEST(stream_sync_on_the_default_stream_waits_for_blocking_streams)
{
	program p = {0};
	on(&p, ASSAY_OP_STREAM_CREATE, 1, S1);
	on(&p, ASSAY_OP_STREAM_CREATE, 2, S2)->flags = ASSAY_REC_NONBLOCKING;
	work(&p, 10, S1, 0, 100);
	work(&p, 11, S2, 0, 150);
	on(&p, ASSAY_OP_STREAM_SYNC, 20, 0);
	run(&p);
	CHECK(p.edges == 1 && p.edge[0].from_row == 10);
	return 0;
}

TEST(copies_wait_when_they_return_after_their_work)
{
	program p = {0};
	work(&p, 10, S1, 90, 103);
	on(&p, ASSAY_OP_COPY, 10, S1); /* 100 to 105 */
	work(&p, 20, S1, 210, 300);
	on(&p, ASSAY_OP_COPY, 20, S1); /* 200 to 205: returned early */
	work(&p, 30, S1, 310, 400);
	on(&p, ASSAY_OP_COPY, 30, S1)->flags = ASSAY_REC_MUST_BLOCK;
	run(&p);
	CHECK(p.waits == 2 && p.edges == 2 && p.edge[0].kind == ASSAY_EDGE_COPY);
	CHECK(p.wait[0].delayed == 3 && p.wait[1].flags & ASSAY_WAIT_TIMES);
	return 0;
}

TEST(queries_order_only_when_they_succeed)
{
	program p = {0};
	work(&p, 5, S1, 0, 90);
	record(&p, 10, A, S1);
	event_call(&p, ASSAY_OP_EVENT_QUERY, 20, A)->flags = ASSAY_REC_FAILED;
	event_call(&p, ASSAY_OP_EVENT_QUERY, 21, A);
	on(&p, ASSAY_OP_STREAM_QUERY, 22, S1);
	on(&p, ASSAY_OP_STREAM_QUERY, 23, S1); /* says nothing new */
	run(&p);
	CHECK(p.waits == 0 && p.edges == 2 && p.edge[0].kind == ASSAY_EDGE_QUERY);
	CHECK(p.edge[0].host_row == 21 && p.edge[1].host_row == 22);
	return 0;
}

TEST(host_functions_stand_between_two_works)
{
	program p = {0};
	work(&p, 5, S1, 0, 90);
	on(&p, ASSAY_OP_HOST_FUNC, 10, S1);
	work(&p, 15, S1, 190, 290);
	run(&p);
	CHECK(p.edges == 1 && p.edge[0].kind == ASSAY_EDGE_HOST_FUNC);
	CHECK(p.edge[0].from_row == 5 && p.edge[0].to_row == 15 && p.edge[0].host_row == 10);
	return 0;
}

TEST(freeing_is_a_wait_only_when_work_ended_inside_it)
{
	program p = {0};
	work(&p, 5, S1, 0, 203);
	call(&p, ASSAY_OP_DRAIN, 20); /* 200 to 205 */
	call(&p, ASSAY_OP_DRAIN, 30);
	run(&p);
	CHECK(p.waits == 1 && p.wait[0].kind == ASSAY_WAIT_DRAIN && p.wait[0].delayed == 3);
	return 0;
}

TEST(memory_waits_take_the_last_write_that_satisfies_them)
{
	program p = {0};
	event_call(&p, ASSAY_OP_WRITE_VALUE, 10, 0x500)->arg = 7;
	assay_sweep_rec *w = wait(&p, 20, S2, 0x500);
	w->op = ASSAY_OP_WAIT_VALUE;
	w->arg = 5;
	w = wait(&p, 21, S2, 0x500);
	w->op = ASSAY_OP_WAIT_VALUE;
	w->arg = 8; /* someone else writes it */
	run(&p);
	CHECK(is(&p, 0, ASSAY_WAIT_IS_LIKELY, 10) && is(&p, 1, ASSAY_WAIT_IS_BEFORE_TRACE, 0));
	CHECK(p.wait[0].kind == ASSAY_WAIT_VALUE);
	return 0;
}

TEST(one_write_ends_every_wait_that_its_value_satisfies)
{
	program p = {0};
	static const uint64_t wanted[] = {5, 9, 7};
	for (uint64_t i = 0; i < 3; i++) {
		assay_sweep_rec *w = wait(&p, 10 + i, S1 + 0x1000 * i, 0x500);
		w->op = ASSAY_OP_WAIT_VALUE;
		w->arg = wanted[i];
	}
	event_call(&p, ASSAY_OP_WRITE_VALUE, 20, 0x500)->arg = 7;
	event_call(&p, ASSAY_OP_WRITE_VALUE, 30, 0x500)->arg = 9;
	run(&p);
	CHECK(is(&p, 0, ASSAY_WAIT_IS_LIKELY, 20) && is(&p, 2, ASSAY_WAIT_IS_LIKELY, 20));
	CHECK(is(&p, 1, ASSAY_WAIT_IS_LIKELY, 30)); /* which went on waiting */
	return 0;
}

TEST(two_sources_that_disagree_are_a_conflict)
{
	program p = {0};
	record(&p, 10, A, S1)->track = 4;
	wait(&p, 20, S2, A)->hint = 5;
	wait(&p, 21, S2, A)->hint = 4;
	wait(&p, 22, S2, B)->hint = 4; /* the record is unknown, its stream is not */
	run(&p);
	CHECK(is(&p, 0, ASSAY_WAIT_IS_AMBIGUOUS, 10) && p.wait[0].flags & ASSAY_WAIT_CONFLICT);
	CHECK(is(&p, 1, ASSAY_WAIT_IS_EXACT, 10) && is(&p, 2, ASSAY_WAIT_IS_AMBIGUOUS, 0));
	CHECK_EQ(p.wait[2].producer.track, 4);
	return 0;
}

TEST(delay_is_what_the_wait_added)
{
	program p = {0};
	work(&p, 5, S1, 0, 1000);
	work(&p, 6, S2, 0, 400);
	record(&p, 10, A, S1);
	wait(&p, 20, S2, A);
	work(&p, 30, S2, 1010, 1100)->arg = 300; /* could have started at 400 */
	run(&p);
	CHECK(p.landed[0].delayed == 600 && p.landed[0].slack == 10 && !p.landed[0].times);
	program q = {0}; /* it started before its producer ended: something is wrong */
	work(&q, 5, S1, 0, 1000);
	record(&q, 10, A, S1);
	wait(&q, 20, S2, A);
	work(&q, 30, S2, 900, 1100)->arg = 300;
	run(&q);
	CHECK(q.landed[0].times);
	return 0;
}

TEST(the_last_record_of_a_recording_that_lost_nothing_is_the_one_that_was_met)
{
	program p = {0};
	work(&p, 5, S1, 0, 1000);
	record(&p, 10, A, S1);
	wait(&p, 20, S2, A)->flags = ASSAY_REC_WHOLE;
	wait(&p, 21, S2, A)->flags = ASSAY_REC_WHOLE | ASSAY_REC_BESIDE_GRAPH;
	work(&p, 25, S3, 0, 1000)->flags = ASSAY_REC_MAY_RECORD; /* A perhaps, too */
	wait(&p, 30, S2, A)->flags = ASSAY_REC_WHOLE;
	on(&p, ASSAY_OP_STREAM_SYNC, 40, S2);
	run(&p);
	CHECK(is(&p, 0, ASSAY_WAIT_IS_EXACT, 10) && p.wait[0].why == ASSAY_WAIT_BY_NONE);
	CHECK(is(&p, 1, ASSAY_WAIT_IS_LIKELY, 10) && p.wait[1].why == ASSAY_WAIT_BY_ORDER);
	CHECK(is(&p, 2, ASSAY_WAIT_IS_LIKELY, 10) && is(&p, 3, ASSAY_WAIT_IS_LIKELY, 0));
	CHECK_EQ(p.wait[3].why, ASSAY_WAIT_BY_ORDER);
	return 0;
}

TEST(a_launch_that_began_before_a_record_may_have_recorded_after_it)
{
	for (int later = 0; later < 2; later++) {
		program p = {0};
		assay_sweep_rec *launch = work(&p, 5, S3, 0, 1000);
		launch->flags = ASSAY_REC_MAY_RECORD;
		launch->arg = 50;
		launch->event = later ? 101 : 100;                  /* when the call returned */
		record(&p, 10, A, S1)->thread = launch->thread + 1; /* 100 to 105 */
		wait(&p, 20, S2, A)->flags = ASSAY_REC_WHOLE;
		run(&p);
		CHECK(is(&p, 0, later ? ASSAY_WAIT_IS_LIKELY : ASSAY_WAIT_IS_EXACT, 10));
	}
	return 0;
}

TEST(a_fresh_event_that_another_thread_records_meanwhile_may_have_been_met)
{
	for (uint32_t beside = 0; beside <= ASSAY_REC_BESIDE_RECORD;
	     beside += ASSAY_REC_BESIDE_RECORD) {
		program p = {0};
		event_call(&p, ASSAY_OP_CREATE, 5, A);
		wait(&p, 10, S2, A)->flags = ASSAY_REC_WHOLE | beside;
		record(&p, 11, A, S1)->thread = 2;
		on(&p, ASSAY_OP_STREAM_SYNC, 20, S2);
		run(&p);
		CHECK_EQ(p.wait[0].class,
			 beside ? ASSAY_WAIT_IS_LOST : ASSAY_WAIT_IS_NEVER_RECORDED);
	}
	return 0;
}

TEST(of_records_at_the_same_time_nobody_knows_the_last)
{
	program p = {0};
	record(&p, 10, A, S1)->exit = 130;
	record(&p, 11, A, S2)->thread = 2; /* 110 to 115 */
	wait(&p, 20, S3, A)->flags = ASSAY_REC_WHOLE;
	record(&p, 30, A, S2);
	wait(&p, 40, S3, A)->flags = ASSAY_REC_WHOLE;
	run(&p);
	CHECK(is(&p, 0, ASSAY_WAIT_IS_LIKELY, 11) && is(&p, 1, ASSAY_WAIT_IS_EXACT, 30));
	return 0;
}

TEST(a_link_that_a_wait_for_the_device_contradicts_stays_in_doubt)
{
	program p = {0};
	work(&p, 5, S1, 0, 1000)->device = 1;
	assay_sweep_rec *r = record(&p, 10, A, S1);
	r->device = 1;
	r->flags = ASSAY_REC_GUESSED;
	wait(&p, 11, S2, A)->flags = ASSAY_REC_WHOLE;
	call(&p, ASSAY_OP_DEVICE_SYNC, 20); /* of device 0, to 205: S2 waits no more */
	call(&p, ASSAY_OP_DEVICE_SYNC, 30)->exit = 1000;
	run(&p);
	CHECK(is(&p, 2, ASSAY_WAIT_IS_LIKELY, 0) && p.wait[2].producer_row == 5);
	return 0;
}

TEST(a_stream_of_an_unknown_device_may_be_joined_by_any_default_stream)
{
	program p = {0};
	on(&p, ASSAY_OP_STREAM_CREATE, 1, S2)->device = -1; /* blocking */
	work(&p, 5, S1, 0, 1000);
	record(&p, 10, A, S1);
	assay_sweep_rec *w = wait(&p, 11, S2, A);
	w->device = -1;
	w->flags = ASSAY_REC_WHOLE;
	record(&p, 20, B, 0);
	wait(&p, 21, S3, B)->flags = ASSAY_REC_WHOLE; /* the default stream's: behind S2, or not */
	record(&p, 30, A, S2);
	wait(&p, 31, S3, A)->flags = ASSAY_REC_WHOLE; /* S2's: behind the default stream, or not */
	run(&p);
	CHECK_EQ(p.wait[0].class, ASSAY_WAIT_IS_EXACT);
	CHECK(p.wait[1].class == ASSAY_WAIT_IS_LIKELY && p.wait[2].class == ASSAY_WAIT_IS_LIKELY);
	CHECK_EQ(p.wait[2].why, ASSAY_WAIT_BY_EMPTY);
	return 0;
}

TEST(what_another_thread_did_at_the_same_time_leaves_order_in_doubt)
{
	program p = {0};
	work(&p, 5, S1, 0, 1000);
	record(&p, 10, A, S1)->flags = ASSAY_REC_RACED;
	wait(&p, 20, S2, A)->flags = ASSAY_REC_WHOLE;
	on(&p, ASSAY_OP_STREAM_SYNC, 30, S1);
	work(&p, 40, S1, 1000, 1100);
	on(&p, ASSAY_OP_STREAM_SYNC, 50, S1)->flags = ASSAY_REC_RACED;
	on(&p, ASSAY_OP_STREAM_SYNC, 60, S1);
	run(&p);
	for (uint32_t i = 0; i < 3; i++)
		CHECK(p.wait[i].class == ASSAY_WAIT_IS_LIKELY &&
		      p.wait[i].why == ASSAY_WAIT_BY_RACE);
	CHECK(is(&p, 3, ASSAY_WAIT_IS_EXACT, 0) && p.wait[3].producer_row == 40);
	return 0;
}

TEST(of_launches_at_once_the_one_that_ran_last_is_last)
{
	program p = {0};
	work(&p, 5, S1, 500, 1000);
	work(&p, 6, S1, 0, 500);
	on(&p, ASSAY_OP_STREAM_SYNC, 10, S1);
	run(&p);
	CHECK_EQ(p.wait[0].producer_row, 5);
	return 0;
}

TEST(no_time_tells_of_words_and_events_of_other_processes)
{
	for (int how = 0; how < 3; how++) {
		program p = {0};
		work(&p, 5, S1, 0, 1000);
		if (how == 1) /* of an event that is not said */
			event_call(&p, ASSAY_OP_IPC_OPEN, 6, 0);
		if (how == 2)
			on(&p, ASSAY_OP_WAIT_VALUE, 10, S1)->event = 0x500;
		else
			wait(&p, 10, S1, B);
		call(&p, ASSAY_OP_DEVICE_SYNC, 20)->exit = 1001;
		run(&p);
		CHECK_EQ(!!(p.wait[1].flags & ASSAY_WAIT_UNSEEN), how > 0);
		CHECK_EQ(p.wait[1].class, ASSAY_WAIT_IS_LIKELY);
	}
	return 0;
}
