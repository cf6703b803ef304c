/* Where the rules of the sweep begin and end: what only just counts, and what no longer does. */
#include "base/test.h"
#include "resolve/sweep_state.h"
#include "waits_program.h"

TEST(a_wait_without_work_is_neither_satisfied_nor_not)
{
	program p = {0};
	record(&p, 10, A, S1);
	wait(&p, 20, S2, A);
	wait(&p, 30, S2, B);
	run(&p);
	CHECK(p.wait[0].satisfied == 255 && p.wait[1].satisfied == 255);
	CHECK(p.wait[1].producer.device == -1 && p.wait[1].producer.uid == 0);
	return 0;
}

TEST(a_thread_is_not_held_up_by_work_that_was_over)
{
	program p = {0};
	work(&p, 1, S1, 0, 50);
	record(&p, 4, A, S1);
	event_call(&p, ASSAY_OP_EVENT_SYNC, 5, A); /* from 50 to 55 */
	event_call(&p, ASSAY_OP_EVENT_SYNC, 9, A);
	run(&p);
	CHECK(p.wait[0].delayed == 0 && p.wait[0].satisfied == 1 && p.wait[0].slack == 5);
	CHECK(p.wait[1].delayed == 0 && p.wait[1].slack == 45);
	return 0;
}

TEST(a_thread_that_goes_on_as_its_work_ends_contradicts_no_clock)
{
	for (int64_t early = 0; early < 2; early++) {
		program p = {0};
		work(&p, 1, S1, 0, 205 + early);
		on(&p, ASSAY_OP_STREAM_SYNC, 20, S1); /* 200 to 205 */
		run(&p);
		CHECK_EQ(p.wait[0].slack, -early);
		CHECK_EQ(!!(p.wait[0].flags & ASSAY_WAIT_TIMES), early);
	}
	return 0;
}

TEST(words_of_32_bits_are_compared_as_such)
{
	static const struct {
		assay_value_when when;
		uint64_t value, wanted;
		bool fits, fits_half;
	} cases[] = {
		{ASSAY_VALUE_EQUAL, 5, 5, true, true},
		{ASSAY_VALUE_EQUAL, 4, 5, false, false},
		{ASSAY_VALUE_EQUAL, 1ull << 32 | 5, 5, false, true},
		{ASSAY_VALUE_AND, 6, 2, true, true},
		{ASSAY_VALUE_AND, 4, 2, false, false},
		{ASSAY_VALUE_AND, 1ull << 32, 1ull << 32, true, false},
		{ASSAY_VALUE_NOR, UINT64_MAX, 0, false, false},
		{ASSAY_VALUE_NOR, UINT32_MAX, 0, true, false},
		{ASSAY_VALUE_NOR, UINT32_MAX - 1, 0, true, true},
		{ASSAY_VALUE_AT_LEAST, 5, 5, true, true},
		{ASSAY_VALUE_AT_LEAST, 4, 5, false, false},
		{ASSAY_VALUE_AT_LEAST, 2, UINT32_MAX, false, true}, /* counted round */
		{ASSAY_VALUE_AT_LEAST, 2, UINT64_MAX, true, true},
	};
	for (size_t i = 0; i < ASSAY_COUNT_OF(cases); i++) {
		uint32_t when = (uint32_t)cases[i].when * ASSAY_REC_WHEN;
		CHECK_EQ(sweep_value_fits(cases[i].value, cases[i].wanted, UINT64_MAX, when),
			 cases[i].fits);
		CHECK_EQ(sweep_value_fits(cases[i].value, cases[i].wanted, UINT64_MAX,
					  when | ASSAY_REC_HALF),
			 cases[i].fits_half);
	}
	return 0;
}

TEST(a_class_that_the_file_gives_stands_and_the_work_is_named)
{
	program p = {0};
	work(&p, 1, S1, 0, 50);
	record(&p, 10, A, S1);
	for (uint8_t class = 0; class < ASSAY_WAIT_CLASS_COUNT; class ++)
		wait(&p, 20 + class, S2, A)->said = class + 1;
	run(&p);
	for (uint8_t class = 0; class < ASSAY_WAIT_CLASS_COUNT; class ++) {
		CHECK_EQ(p.wait[class].class, class);
		bool named = class <= ASSAY_WAIT_IS_AMBIGUOUS;
		CHECK_EQ(p.wait[class].producer_row, named ? 1 : ASSAY_NO_ROW);
		CHECK_EQ(p.wait[class].why,
			 class == ASSAY_WAIT_IS_LIKELY || class == ASSAY_WAIT_IS_AMBIGUOUS
				 ? ASSAY_WAIT_BY_FILE
				 : ASSAY_WAIT_BY_NONE);
	}
	return 0;
}

/* Stream 7 is track 3; another source names it as the producer. */
static uint8_t class_shared(uint32_t flags, uint32_t hint, bool shared)
{
	program p = {0};
	work(&p, 1, S1, 0, 50)->track = 3;
	record(&p, 10, A, S1)->track = 3;
	if (shared)
		event_call(&p, ASSAY_OP_IPC_EXPORT, 15, A);
	assay_sweep_rec *w = wait(&p, 20, S2, A);
	w->flags = flags;
	w->hint = hint;
	run(&p);
	return p.wait[0].class;
}

static uint8_t class_with_hint(uint32_t flags, uint32_t hint)
{
	return class_shared(flags, hint, false);
}

TEST(an_event_that_another_process_may_record_is_not_exact_though_nobody_says_which_it_is_there)
{
	CHECK_EQ(class_shared(ASSAY_REC_WHOLE, ASSAY_NO_ROW, true), ASSAY_WAIT_IS_LIKELY);
	CHECK_EQ(class_shared(ASSAY_REC_WHOLE, 3, true), ASSAY_WAIT_IS_LIKELY);
	CHECK_EQ(class_shared(0, 3, true), ASSAY_WAIT_IS_LIKELY);
	return 0;
}

TEST(another_source_that_names_the_stream_makes_a_wait_exact_unless_a_graph_came_between)
{
	CHECK_EQ(class_with_hint(0, ASSAY_NO_ROW), ASSAY_WAIT_IS_LIKELY);
	CHECK_EQ(class_with_hint(0, 3), ASSAY_WAIT_IS_EXACT);
	CHECK_EQ(class_with_hint(0, 4), ASSAY_WAIT_IS_AMBIGUOUS);
	CHECK_EQ(class_with_hint(ASSAY_REC_BESIDE_GRAPH, 3), ASSAY_WAIT_IS_LIKELY);
	CHECK_EQ(class_with_hint(ASSAY_REC_WHOLE, ASSAY_NO_ROW), ASSAY_WAIT_IS_EXACT);
	/* a barrier tells of a record that nobody knows */
	CHECK_EQ(class_with_hint(ASSAY_REC_WHOLE | ASSAY_REC_BARRIER, ASSAY_NO_ROW),
		 ASSAY_WAIT_IS_LIKELY);
	return 0;
}

TEST(of_two_records_at_once_the_stream_that_is_named_leaves_no_other)
{
	program p = {0};
	work(&p, 1, S1, 0, 50)->track = 3;
	work(&p, 2, S2, 0, 60)->track = 4;
	record(&p, 10, A, S1)->track = 3;
	assay_sweep_rec *r = record(&p, 11, A, S2);
	r->track = 4;
	r->thread = 2;
	r->exit = 300; /* it is at it while the wait begins */
	assay_sweep_rec *w = wait(&p, 20, S3, A);
	w->hint = 3;
	run(&p);
	CHECK(p.wait[0].record_key == 10 && p.wait[0].producer_row == 1);
	CHECK_EQ(p.wait[0].other_key, 0);
	return 0;
}

TEST(a_stream_that_was_made_blocking_and_is_empty_is_waited_for_in_vain)
{
	program p = {0};
	on(&p, ASSAY_OP_STREAM_CREATE, 1, S1);
	on(&p, ASSAY_OP_STREAM_CREATE, 2, S2)->device = -1;
	on(&p, ASSAY_OP_STREAM_SYNC, 10, S1);
	on(&p, ASSAY_OP_STREAM_SYNC, 11, S2)->device = -1;
	on(&p, ASSAY_OP_STREAM_SYNC, 12, S3); /* perhaps not blocking */
	work(&p, 20, S3, 300, 400);
	on(&p, ASSAY_OP_STREAM_SYNC, 50, S3);
	run(&p);
	CHECK_EQ(p.wait[0].class, ASSAY_WAIT_IS_EXACT);
	CHECK(p.wait[1].class == ASSAY_WAIT_IS_LIKELY && p.wait[2].class == ASSAY_WAIT_IS_LIKELY);
	CHECK(p.wait[3].class == ASSAY_WAIT_IS_EXACT && p.wait[3].producer_row == 20);
	return 0;
}

TEST(a_function_of_the_host_in_front_of_work_is_an_edge_even_if_nothing_is_before_it)
{
	program p = {0};
	on(&p, ASSAY_OP_HOST_FUNC, 10, S1);
	work(&p, 11, S1, 300, 400);
	record(&p, 12, A, S2); /* behind nothing */
	wait(&p, 13, S3, A);
	work(&p, 14, S3, 300, 400);
	run(&p);
	CHECK(p.edges == 1 && p.edge[0].kind == ASSAY_EDGE_HOST_FUNC && p.edge[0].to_row == 11);
	return 0;
}

TEST(a_stream_is_gone_only_if_destroying_it_worked)
{
	program p = {0};
	work(&p, 1, S1, 0, 50);
	on(&p, ASSAY_OP_STREAM_DESTROY, 10, S1)->flags = ASSAY_REC_FAILED;
	on(&p, ASSAY_OP_STREAM_SYNC, 11, S1);
	on(&p, ASSAY_OP_STREAM_DESTROY, 12, S1);
	on(&p, ASSAY_OP_STREAM_SYNC, 13, S1);
	work(&p, 14, 0, 140, 150); /* the default stream stays */
	on(&p, ASSAY_OP_STREAM_DESTROY, 16, 0);
	on(&p, ASSAY_OP_STREAM_SYNC, 17, 0);
	run(&p);
	CHECK(p.wait[0].producer_row == 1 && p.wait[1].producer_row == ASSAY_NO_ROW);
	CHECK_EQ(p.wait[2].producer_row, 14);
	return 0;
}

TEST(a_new_stream_at_an_old_address_has_none_of_its_work)
{
	program p = {0};
	work(&p, 1, S1, 0, 50);
	on(&p, ASSAY_OP_STREAM_CREATE, 10, S1);
	on(&p, ASSAY_OP_STREAM_SYNC, 11, S1);
	run(&p);
	CHECK(p.wait[0].producer_row == ASSAY_NO_ROW && p.wait[0].class == ASSAY_WAIT_IS_EXACT);
	return 0;
}

/* Two records of an event: the second begins then, by that thread. */
static program two_records(int64_t begins, uint32_t thread)
{
	program p = {0};
	work(&p, 1, S1, 0, 50);
	record(&p, 10, A, S1); /* until 105 */
	assay_sweep_rec *r = record(&p, 11, A, S1);
	r->enter = begins;
	r->exit = 115;
	r->thread = thread;
	wait(&p, 20, S2, A)->flags = ASSAY_REC_WHOLE;
	run(&p);
	return p;
}

TEST(records_of_an_event_at_once_are_counted_and_doubted)
{
	program at_once = two_records(104, 2), after = two_records(105, 2),
		own = two_records(104, 1);
	CHECK(at_once.rerecords == 1 && at_once.wait[0].class == ASSAY_WAIT_IS_LIKELY);
	CHECK(after.rerecords == 0 && after.wait[0].class == ASSAY_WAIT_IS_EXACT);
	CHECK(own.rerecords == 0);
	return 0;
}

/* Work of a stream that was launched before work of the default stream and ran after it. */
static uint8_t class_beside_default(uint32_t flags)
{
	program p = {0};
	work(&p, 1, S1, 1000, 2000);
	work(&p, 2, 0, 100, 200)->flags = flags;
	on(&p, ASSAY_OP_STREAM_SYNC, 150, 0);
	run(&p);
	return p.wait[0].class;
}

TEST(a_stream_whose_work_the_default_stream_did_not_wait_for_is_not_blocking)
{
	CHECK_EQ(class_beside_default(0), ASSAY_WAIT_IS_EXACT);
	/* launched at once: it may have come after */
	CHECK_EQ(class_beside_default(ASSAY_REC_RACED), ASSAY_WAIT_IS_LIKELY);
	/* its call was not recorded: so it may, too */
	CHECK_EQ(class_beside_default(ASSAY_REC_WINDOW), ASSAY_WAIT_IS_LIKELY);
	return 0;
}

/* Streams S1 and S2 are blocking, and made by calls. */
static void make_two(program *p)
{
	on(p, ASSAY_OP_STREAM_CREATE, 1, S1);
	on(p, ASSAY_OP_STREAM_CREATE, 2, S2);
}

TEST(every_wait_for_the_device_knows_the_work_of_a_stream_that_is_gone)
{
	program p = {0};
	make_two(&p);
	work(&p, 3, S1, 30, 900);
	work(&p, 4, S2, 40, 100);
	on(&p, ASSAY_OP_STREAM_DESTROY, 5, S1);
	call(&p, ASSAY_OP_DEVICE_SYNC, 6)->exit = 910;
	call(&p, ASSAY_OP_DEVICE_SYNC, 92);
	work(&p, 95, S2, 960, 990);
	call(&p, ASSAY_OP_DEVICE_SYNC, 100);
	run(&p);
	for (uint32_t i = 0; i < 2; i++)
		CHECK(p.wait[i].class == ASSAY_WAIT_IS_EXACT && p.wait[i].producer_row == 3 &&
		      p.wait[i].producer.handle == S1);
	CHECK(p.wait[2].class == ASSAY_WAIT_IS_EXACT && p.wait[2].producer_row == 95);
	CHECK_EQ(p.edges, 3); /* of the first wait, both; of the last, the new work */
	return 0;
}

TEST(whether_the_default_stream_waits_for_a_stream_that_is_gone_is_not_certain)
{
	program p = {0};
	make_two(&p);
	work(&p, 3, S1, 30, 900);
	on(&p, ASSAY_OP_STREAM_DESTROY, 5, S1);
	on(&p, ASSAY_OP_STREAM_SYNC, 6, 0);
	call(&p, ASSAY_OP_DEVICE_SYNC, 7)->exit = 910;
	on(&p, ASSAY_OP_STREAM_SYNC, 92, 0); /* all of it is over now */
	work(&p, 93, S2, 930, 2000);
	on(&p, ASSAY_OP_STREAM_DESTROY, 94, S2);
	record(&p, 95, A, 0);
	event_call(&p, ASSAY_OP_EVENT_SYNC, 96, A)->flags = ASSAY_REC_WHOLE;
	run(&p);
	static const assay_wait_class classes[] = {ASSAY_WAIT_IS_LIKELY, ASSAY_WAIT_IS_EXACT,
						   ASSAY_WAIT_IS_EXACT, ASSAY_WAIT_IS_LIKELY};
	for (uint32_t i = 0; i < ASSAY_COUNT_OF(classes); i++)
		CHECK_EQ(p.wait[i].class, classes[i]);
	CHECK(p.wait[0].why == ASSAY_WAIT_BY_DEFAULT && p.wait[3].why == ASSAY_WAIT_BY_DEFAULT);
	return 0;
}

TEST(a_wait_for_an_event_that_was_never_recorded_joins_no_streams)
{
	program p = {0};
	make_two(&p);
	event_call(&p, ASSAY_OP_CREATE, 3, A);
	work(&p, 4, S1, 40, 900);
	wait(&p, 5, 0, A); /* does nothing, and so enters no default stream */
	record(&p, 6, B, S2);
	event_call(&p, ASSAY_OP_EVENT_SYNC, 7, B)->flags = ASSAY_REC_WHOLE;
	run(&p);
	CHECK_EQ(p.wait[0].class, ASSAY_WAIT_IS_NEVER_RECORDED);
	CHECK(p.wait[1].class == ASSAY_WAIT_IS_EXACT && p.wait[1].producer_row == ASSAY_NO_ROW);
	return 0;
}

/* Stream 1 captures when recording goes off, and stream 2 has joined it. Then `next` happens in
 * stream 2, which waits for an event that was recorded in the capture, and for one of stream 3. */
static void wait_after_dark(program *p, bool dark, assay_sweep_op next)
{
	work(p, 1, S3, 0, 50);
	record(p, 2, B, S3);
	on(p, ASSAY_OP_CAPTURE_BEGIN, 3, S1);
	record(p, 4, A, S1);
	wait(p, 5, S2, A);
	if (dark)
		call(p, ASSAY_OP_DARK, 6);
	if (next != ASSAY_OP_COUNT)
		on(p, next, 7, S2)->event = 0xe77;
	record(p, 8, B, S3);
	wait(p, 9, S2, A);
	wait(p, 10, S2, B);
	record(p, 11, 0xe78, S2);
	event_call(p, ASSAY_OP_EVENT_SYNC, 12, 0xe78)->flags = ASSAY_REC_WHOLE;
	run(p);
}

TEST(nobody_knows_whether_a_capture_goes_on_that_was_when_recording_went_off)
{
	static const struct {
		bool dark;
		assay_sweep_op next;
		assay_wait_class of_capture, of_other, of_record;
	} of[] = {
		{false, ASSAY_OP_COUNT, ASSAY_WAIT_IS_CAPTURED, ASSAY_WAIT_IS_CAPTURED,
		 ASSAY_WAIT_IS_CAPTURED},
		{true, ASSAY_OP_COUNT, ASSAY_WAIT_IS_LOST, ASSAY_WAIT_IS_LOST,
		 ASSAY_WAIT_IS_LIKELY},
		{true, ASSAY_OP_LAUNCH, ASSAY_WAIT_IS_LOST, ASSAY_WAIT_IS_LIKELY,
		 ASSAY_WAIT_IS_LIKELY}, /* what ran was not captured */
		{true, ASSAY_OP_CAPTURE_END, ASSAY_WAIT_IS_LOST, ASSAY_WAIT_IS_LIKELY,
		 ASSAY_WAIT_IS_LIKELY},
		{true, ASSAY_OP_CAPTURE_BEGIN, ASSAY_WAIT_IS_CAPTURED, ASSAY_WAIT_IS_CAPTURED,
		 ASSAY_WAIT_IS_CAPTURED},
	};
	for (size_t i = 0; i < ASSAY_COUNT_OF(of); i++) {
		program p = {0};
		wait_after_dark(&p, of[i].dark, of[i].next);
		CHECK_EQ(p.wait[0].class, ASSAY_WAIT_IS_CAPTURED);
		CHECK_EQ(p.wait[1].class, of[i].of_capture);
		CHECK_EQ(p.wait[2].class, of[i].of_other);
		CHECK_EQ(p.wait[3].class, of[i].of_record);
	}
	return 0;
}

TEST(an_event_whose_record_may_be_lost_is_not_known_to_be_unrecorded)
{
	static const struct {
		int64_t complete; /* a wait is over at 45, the other one at 65 */
		bool shared;      /* as no call says what */
		assay_wait_class first, second;
	} of[] = {
		{66, false, ASSAY_WAIT_IS_NEVER_RECORDED, ASSAY_WAIT_IS_NEVER_RECORDED},
		{65, false, ASSAY_WAIT_IS_NEVER_RECORDED, ASSAY_WAIT_IS_LOST},
		{45, false, ASSAY_WAIT_IS_LOST, ASSAY_WAIT_IS_LOST},
		{INT64_MIN, false, ASSAY_WAIT_IS_LOST, ASSAY_WAIT_IS_LOST},
		{INT64_MAX, true, ASSAY_WAIT_IS_NEVER_RECORDED, ASSAY_WAIT_IS_LOST},
	};
	for (size_t i = 0; i < ASSAY_COUNT_OF(of); i++) {
		program p = {0};
		event_call(&p, ASSAY_OP_CREATE, 3, A)->arg = (uint64_t)of[i].complete;
		event_call(&p, ASSAY_OP_EVENT_SYNC, 4, A);
		if (of[i].shared) /* another process may record it from here on */
			event_call(&p, ASSAY_OP_IPC_EXPORT, 5, A);
		wait(&p, 6, S2, A);
		on(&p, ASSAY_OP_WAIT_INSIDE, 7, S2)->event = A; /* no longer, perhaps */
		run(&p);
		CHECK_EQ(p.wait[0].class, of[i].first);
		CHECK_EQ(p.wait[1].class, of[i].second);
		CHECK_EQ(p.wait[2].class, ASSAY_WAIT_IS_LOST);
	}
	return 0;
}

TEST(an_event_that_a_launch_may_have_recorded_is_not_known_to_be_unrecorded)
{
	program p = {0};
	work(&p, 1, S1, 10, 20)->flags = ASSAY_REC_MAY_RECORD;
	event_call(&p, ASSAY_OP_CREATE, 3, A);
	wait(&p, 4, S2, A); /* the launch came before the event was made */
	work(&p, 5, S1, 50, 60)->flags = ASSAY_REC_MAY_RECORD;
	wait(&p, 6, S2, A);
	run(&p);
	CHECK_EQ(p.wait[0].class, ASSAY_WAIT_IS_NEVER_RECORDED);
	CHECK_EQ(p.wait[1].class, ASSAY_WAIT_IS_LOST);
	return 0;
}

TEST(work_of_the_default_stream_is_behind_all_that_was_doubtful_in_blocking_streams)
{
	program p = {0};
	make_two(&p);
	work(&p, 3, S1, 30, 40);
	on(&p, ASSAY_OP_UNSEEN, 4, S1);
	record(&p, 5, A, 0);
	event_call(&p, ASSAY_OP_EVENT_SYNC, 6, A)->flags = ASSAY_REC_WHOLE;
	work(&p, 7, 0, 90, 95);
	record(&p, 10, B, 0);
	event_call(&p, ASSAY_OP_EVENT_SYNC, 11, B)->flags = ASSAY_REC_WHOLE;
	run(&p);
	CHECK(p.wait[0].class == ASSAY_WAIT_IS_LIKELY && p.wait[0].why == ASSAY_WAIT_BY_UNSEEN);
	CHECK(p.wait[1].class == ASSAY_WAIT_IS_EXACT && p.wait[1].producer_row == 7);
	return 0;
}

TEST(a_blocking_stream_that_runs_beside_the_default_stream_is_not_forgotten)
{
	program p = {0};
	make_two(&p);
	work(&p, 3, S1, 30, 900); /* which contradicts what follows */
	work(&p, 5, 0, 60, 70);
	work(&p, 7, 0, 80, 90);
	on(&p, ASSAY_OP_STREAM_SYNC, 8, 0)->exit = 910;
	work(&p, 92, 0, 930, 940);
	on(&p, ASSAY_OP_STREAM_SYNC, 95, 0);
	run(&p);
	CHECK(p.wait[0].producer_row == 3 && p.wait[0].producer.handle == S1);
	CHECK(p.wait[1].producer_row == 92 && p.wait[1].producer.handle == 0);
	return 0;
}

TEST(a_wait_for_the_default_stream_names_the_stream_whose_work_it_stands_behind)
{
	program p = {0};
	make_two(&p);
	work(&p, 3, S1, 30, 900);
	work(&p, 4, S2, 40, 100);
	record(&p, 5, A, 0); /* from here on the default stream stands behind both */
	on(&p, ASSAY_OP_STREAM_SYNC, 6, 0)->exit = 910;
	on(&p, ASSAY_OP_STREAM_SYNC, 92, 0);
	work(&p, 93, S2, 940, 950);
	on(&p, ASSAY_OP_STREAM_SYNC, 96, 0);
	run(&p);
	CHECK(p.wait[0].producer_row == 3 && p.wait[0].producer.handle == S1);
	CHECK(p.wait[1].producer_row == 3 && p.wait[1].producer.handle == S1);
	CHECK(p.wait[2].producer_row == 93 && p.wait[2].producer.handle == S2);
	CHECK_EQ(p.edges, 4); /* each work once, and the last of them behind the default stream */
	return 0;
}

TEST(one_record_at_the_same_time_in_another_stream_than_is_named_is_a_conflict)
{
	program p = {0};
	work(&p, 1, S1, 0, 50)->track = 3;
	assay_sweep_rec *r = record(&p, 10, A, S1);
	r->track = 3;
	r->thread = 2;
	r->exit = 300;
	wait(&p, 20, S2, A)->hint = 0; /* the first row of all */
	run(&p);
	CHECK(p.wait[0].class == ASSAY_WAIT_IS_AMBIGUOUS && p.wait[0].record_key == 10);
	CHECK(p.wait[0].flags & ASSAY_WAIT_CONFLICT);
	return 0;
}

TEST(an_event_nobody_names_may_be_another_processes_where_such_are_opened)
{
	for (uint32_t opens = 0; opens < 2; opens++)
		for (uint32_t streams = 0; streams < 2; streams++) {
			program p = {0};
			work(&p, 1, S1, 10, 890);
			if (opens)
				call(&p, ASSAY_OP_IPC_OPEN, 2);
			assay_sweep_rec *r = call(&p, ASSAY_OP_UNKNOWN_SYNC, 3);
			r->arg = streams ? ASSAY_OP_WAIT : ASSAY_OP_EVENT_SYNC;
			r->exit = 900;
			run(&p);
			CHECK_EQ(p.wait[0].class,
				 opens || streams ? ASSAY_WAIT_IS_LOST : ASSAY_WAIT_IS_LIKELY);
			CHECK_EQ(p.wait[0].producer_row, opens || streams ? ASSAY_NO_ROW : 1);
		}
	return 0;
}

TEST(of_streams_with_nothing_new_no_wait_for_the_device_has_an_edge)
{
	program p = {0};
	work(&p, 1, S1, 10, 20);
	work(&p, 2, S2, 20, 30);
	on(&p, ASSAY_OP_STREAM_SYNC, 3, S1);
	call(&p, ASSAY_OP_DEVICE_SYNC, 4);
	call(&p, ASSAY_OP_DEVICE_SYNC, 5);
	wait(&p, 6, S1, A); /* a command of nobody knows what */
	call(&p, ASSAY_OP_DEVICE_SYNC, 7);
	run(&p);
	CHECK(p.edges == 2 && p.edge[0].from_row == 1 && p.edge[0].host_row == 3);
	CHECK(p.edge[1].from_row == 2 && p.edge[1].host_row == 4);
	return 0;
}

TEST(an_address_that_is_given_again_shows_that_its_stream_is_gone)
{
	program p = {0};
	on(&p, ASSAY_OP_STREAM_CREATE, 1, S1)->track = 3;
	on(&p, ASSAY_OP_STREAM_CREATE, 2, S2)->track = 4;
	work(&p, 3, ASSAY_NO_HANDLE, 30, 60)->track = 3;
	work(&p, 4, ASSAY_NO_HANDLE, 30, 50)->track = 4;
	on(&p, ASSAY_OP_STREAM_CREATE, 5, S1)->track = 5; /* its end was not recorded */
	call(&p, ASSAY_OP_DEVICE_SYNC, 6)->exit = 65;
	on(&p, ASSAY_OP_STREAM_SYNC, 7, 0);
	run(&p);
	CHECK(p.wait[0].class == ASSAY_WAIT_IS_EXACT && p.wait[0].producer_row == 3);
	CHECK(p.wait[1].class == ASSAY_WAIT_IS_EXACT && p.wait[1].producer_row == 4);
	return 0;
}

TEST(calls_of_pools_that_fail_or_are_captured_make_nothing_uncertain)
{
	static const uint32_t flags[] = {0, ASSAY_REC_FAILED, 0};
	static const assay_wait_class classes[] = {ASSAY_WAIT_IS_LIKELY, ASSAY_WAIT_IS_EXACT,
						   ASSAY_WAIT_IS_EXACT};
	for (uint32_t i = 0; i < ASSAY_COUNT_OF(flags); i++) {
		program p = {0};
		work(&p, 1, S1, 10, 900);
		work(&p, 2, S2, 20, 30);
		if (i == 2)
			on(&p, ASSAY_OP_CAPTURE_BEGIN, 3, S1);
		on(&p, ASSAY_OP_POOL_FREE, 4, S1)->flags = flags[i];
		if (i == 2)
			on(&p, ASSAY_OP_CAPTURE_END, 5, S1);
		on(&p, ASSAY_OP_POOL_ALLOC, 6, S2); /* perhaps of what is freed behind work 1 */
		on(&p, ASSAY_OP_STREAM_SYNC, 7, S2);
		run(&p);
		CHECK(p.wait[0].class == classes[i] && p.wait[0].producer_row == 2);
	}
	return 0;
}

TEST(a_stream_that_another_source_names_is_all_that_is_known_of_a_record)
{
	program p = {0};
	work(&p, 1, S1, 0, 50)->track = 3;
	wait(&p, 20, S2, A)->hint = 3;
	run(&p);
	CHECK(p.wait[0].class == ASSAY_WAIT_IS_AMBIGUOUS && p.wait[0].producer_row == 1);
	CHECK(p.wait[0].producer.track == 3 && p.wait[0].record_key == 0);
	return 0;
}

TEST(the_default_stream_may_wait_for_a_stream_of_nobody_knows_which_device)
{
	static const int32_t devices[] = {-1, 1};
	for (uint32_t i = 0; i < ASSAY_COUNT_OF(devices); i++) {
		program p = {0};
		on(&p, ASSAY_OP_STREAM_CREATE, 1, S1)->flags = ASSAY_REC_NONBLOCKING;
		work(&p, 2, 0, 10, 50);
		work(&p, 3, S1, 30, 900);
		record(&p, 4, A, S1)->arg = 7;
		assay_sweep_rec *w = wait(&p, 5, S2, A); /* S2 stands behind work 3 */
		w->arg = 7;
		w->device = devices[i];
		record(&p, 6, B, 0)->arg = 8;
		event_call(&p, ASSAY_OP_EVENT_SYNC, 7, B)->arg = 8;
		run(&p);
		CHECK_EQ(p.wait[1].producer_row, 2);
		CHECK_EQ(p.wait[1].class,
			 devices[i] < 0 ? ASSAY_WAIT_IS_LIKELY : ASSAY_WAIT_IS_EXACT);
	}
	return 0;
}

/* Waits and edges of a call from 200 to 205 beside work that ends at a time. */
static program beside_work(assay_sweep_op op, int64_t end, uint32_t flags)
{
	program p = {0};
	work(&p, 5, S1, 0, end);
	record(&p, 10, A, S1);
	assay_sweep_rec *r = on(&p, op, 20, S1);
	r->event = A;
	r->flags = flags;
	run(&p);
	return p;
}

TEST(a_query_says_yes_from_the_moment_its_work_ends)
{
	static const assay_sweep_op queries[] = {ASSAY_OP_EVENT_QUERY, ASSAY_OP_STREAM_QUERY};
	for (size_t i = 0; i < ASSAY_COUNT_OF(queries); i++) {
		CHECK_EQ(beside_work(queries[i], 205, 0).edges, 1);
		CHECK_EQ(beside_work(queries[i], 206, 0).edges, 0);
		CHECK_EQ(beside_work(queries[i], 205, ASSAY_REC_FAILED).edges, 0);
	}
	return 0;
}

TEST(freeing_waits_for_work_that_ends_after_it_begins_and_not_after_it_returns)
{
	CHECK_EQ(beside_work(ASSAY_OP_DRAIN, 200, 0).waits, 0);
	CHECK_EQ(beside_work(ASSAY_OP_DRAIN, 201, 0).waits, 1);
	CHECK_EQ(beside_work(ASSAY_OP_DRAIN, 205, 0).waits, 1);
	CHECK_EQ(beside_work(ASSAY_OP_DRAIN, 206, 0).waits, 0);
	CHECK_EQ(beside_work(ASSAY_OP_DRAIN, 203, ASSAY_REC_FAILED).waits, 0);
	return 0;
}

TEST(a_function_of_the_host_that_was_refused_is_in_no_stream)
{
	for (uint32_t failed = 0; failed < 2; failed++) {
		program p = {0};
		work(&p, 5, S1, 0, 90);
		on(&p, ASSAY_OP_HOST_FUNC, 10, S1)->flags = failed ? ASSAY_REC_FAILED : 0;
		on(&p, ASSAY_OP_STREAM_SYNC, 12, S1);
		work(&p, 15, S1, 190, 290);
		run(&p);
		CHECK_EQ(p.wait[0].class, failed ? ASSAY_WAIT_IS_EXACT : ASSAY_WAIT_IS_LIKELY);
		uint32_t edges = 0;
		for (uint32_t i = 0; i < p.edges; i++)
			edges += p.edge[i].kind == ASSAY_EDGE_HOST_FUNC;
		CHECK_EQ(edges, !failed);
	}
	return 0;
}

TEST(the_vendors_number_finds_any_recording_of_an_event)
{
	for (uint32_t hinted = 0; hinted < 2; hinted++) {
		program p = {0};
		for (uint64_t i = 1; i <= 3; i++) {
			assay_sweep_rec *r = record(&p, i * 10, A, S1);
			r->arg = 100 + i;
			r->track = 4;
		}
		for (uint64_t i = 1; i <= 4; i++) {
			assay_sweep_rec *w = wait(&p, 40 + i, S2, A);
			w->arg = 100 + i;
			w->hint = hinted && i < 4 ? 4 : ASSAY_NO_ROW;
		}
		run(&p);
		for (uint32_t i = 0; i < 3; i++)
			CHECK(is(&p, i, ASSAY_WAIT_IS_EXACT, (i + 1) * 10));
		CHECK(is(&p, 3, ASSAY_WAIT_IS_BEFORE_TRACE, 0));
	}
	return 0;
}

TEST(streams_of_no_known_device_may_be_what_a_device_waits_for)
{
	for (int64_t end = 80; end <= 100; end += 20) {
		program p = {0};
		work(&p, 1, S1, 0, 90);
		work(&p, 2, S2, 0, end)->device = -1;
		work(&p, 3, S3, 0, 300)->device = 1; /* another one */
		call(&p, ASSAY_OP_DEVICE_SYNC, 9);
		run(&p);
		CHECK_EQ(p.wait[0].producer_row, 1);
		CHECK_EQ(p.wait[0].class, end < 90 ? ASSAY_WAIT_IS_EXACT : ASSAY_WAIT_IS_LIKELY);
		CHECK_EQ(p.wait[0].why, end < 90 ? ASSAY_WAIT_BY_NONE : ASSAY_WAIT_BY_PLACE);
	}
	return 0;
}

/* Event A is recorded and waited for; before, the process gives away an event. */
static assay_wait_doubt doubt_beside_export(bool gives, uint64_t event)
{
	program p = {0};
	work(&p, 1, S1, 0, 500);
	record(&p, 2, A, S1);
	if (gives)
		call(&p, ASSAY_OP_IPC_EXPORT, 3)->event = event;
	wait(&p, 4, S2, A)->flags = ASSAY_REC_WHOLE;
	run(&p);
	return p.wait[0].why;
}

TEST(any_event_may_be_the_one_that_was_given_away_where_no_call_says_which)
{
	CHECK_EQ(doubt_beside_export(false, 0), ASSAY_WAIT_BY_NONE);
	CHECK_EQ(doubt_beside_export(true, B), ASSAY_WAIT_BY_NONE);
	CHECK_EQ(doubt_beside_export(true, A), ASSAY_WAIT_BY_PROCESS);
	CHECK_EQ(doubt_beside_export(true, 0), ASSAY_WAIT_BY_PROCESS);
	return 0;
}
