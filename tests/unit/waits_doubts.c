/* Waits of which too little was recorded to be certain, or more than one call each: unnamed streams
 * that are destroyed, wait or get memory, default streams of unknown number, batches and masks. */
#include "base/test.h"
#include "resolve/sweep_state.h"
#include "waits_program.h"

enum { LONG = 100000 };

/* A stream known by its row. */
static assay_sweep_rec *placed(assay_sweep_rec *r, uint32_t track)
{
	r->track = track;
	return r;
}

static void made(program *p, uint64_t key, uint32_t track, uint32_t flags)
{
	placed(on(p, ASSAY_OP_STREAM_CREATE, key, ASSAY_NO_HANDLE), track)->flags = flags;
}

/* Work in blocking stream 13, then something, then a wait for default stream 7; whole: no call was
 * lost. */
static const assay_sweep_wait *wait_for_default(program *p, assay_sweep_op between, uint32_t whole)
{
	made(p, 1, 13, 0);
	made(p, 2, 7, ASSAY_REC_LEGACY);
	placed(work(p, 3, ASSAY_NO_HANDLE, 40, LONG), 13);
	placed(work(p, 4, ASSAY_NO_HANDLE, LONG + 10, LONG + 20), 7)->flags = ASSAY_REC_LEGACY;
	placed(work(p, 5, ASSAY_NO_HANDLE, LONG + 30, 2 * LONG), 13);
	if (between != ASSAY_OP_COUNT)
		call(p, between, 6);
	assay_sweep_rec *r = placed(on(p, ASSAY_OP_STREAM_SYNC, 7, ASSAY_NO_HANDLE), 7);
	r->flags = ASSAY_REC_LEGACY | whole;
	r->exit = 2 * LONG + 5;
	run(p);
	return &p->wait[0];
}

TEST(a_default_stream_waits_for_streams_that_are_blocking)
{
	program p = {0};
	const assay_sweep_wait *w = wait_for_default(&p, ASSAY_OP_COUNT, ASSAY_REC_WHOLE);
	CHECK(w->producer_row == 5 && w->class == ASSAY_WAIT_IS_EXACT);
	return 0;
}

TEST(a_lost_call_may_have_ended_the_stream_that_a_default_stream_waits_for)
{
	program p = {0};
	const assay_sweep_wait *w = wait_for_default(&p, ASSAY_OP_COUNT, 0);
	CHECK(w->producer_row == 5 && w->class == ASSAY_WAIT_IS_LIKELY);
	CHECK_EQ(w->why, ASSAY_WAIT_BY_LOSSES);
	return 0;
}

/* Blocking stream S2 without work, which may be of any device, waits for work of device 1 after the
 * default stream of device 0 looked at it. */
TEST(a_stream_of_unknown_device_may_come_to_stand_in_front_of_a_default_stream)
{
	program p = {0};
	on(&p, ASSAY_OP_STREAM_CREATE, 1, S2)->device = -1;
	work(&p, 2, 0, 20, 25);
	record(&p, 3, B, 0)->flags = ASSAY_REC_WHOLE;
	work(&p, 4, S3, 40, LONG)->device = 1;
	record(&p, 5, A, S3)->device = 1;
	assay_sweep_rec *w = wait(&p, 6, S2, A);
	w->device = -1;
	w->flags = ASSAY_REC_WHOLE;
	record(&p, 7, B, 0)->flags = ASSAY_REC_WHOLE;
	event_call(&p, ASSAY_OP_EVENT_SYNC, 8, B)->flags = ASSAY_REC_WHOLE;
	run(&p);
	CHECK(p.wait[0].class == ASSAY_WAIT_IS_EXACT && p.wait[0].producer_row == 4);
	CHECK(p.wait[1].class == ASSAY_WAIT_IS_LIKELY && p.wait[1].producer_row == 2);
	CHECK_EQ(p.wait[1].why, ASSAY_WAIT_BY_DEFAULT);
	return 0;
}

/* A record in nobody knows which stream, perhaps the default one, at the same time as a launch of
 * another thread with a greater number. */
static uint8_t doubt_beside_record(uint32_t raced)
{
	program p = {0};
	on(&p, ASSAY_OP_STREAM_CREATE, 1, S1);
	on(&p, ASSAY_OP_STREAM_CREATE, 2, S2);
	work(&p, 3, S1, 30, 35);
	call(&p, ASSAY_OP_GAP, 10)->flags = raced;
	work(&p, 11, S2, 120, LONG);
	record(&p, 12, A, S1)->flags = ASSAY_REC_WHOLE;
	wait(&p, 13, S3, A)->flags = ASSAY_REC_WHOLE;
	run(&p);
	return p.wait[0].producer_row == 3 ? p.wait[0].why : ASSAY_WAIT_DOUBT_COUNT;
}

TEST(what_entered_no_known_stream_may_stand_behind_a_later_launch_of_another_thread)
{
	CHECK_EQ(doubt_beside_record(0), ASSAY_WAIT_BY_NONE);
	CHECK_EQ(doubt_beside_record(ASSAY_REC_RACED), ASSAY_WAIT_BY_RACE);
	return 0;
}

/* The event is made with that call; nothing is recorded for a while before call 5. */
static const assay_sweep_wait *wait_for_made(program *p, uint64_t made)
{
	if (made)
		event_call(p, ASSAY_OP_CREATE, made, A);
	call(p, ASSAY_OP_DARK, 5);
	work(p, 7, S1, 70, 75);
	record(p, 8, A, S1)->flags = ASSAY_REC_WHOLE;
	wait(p, 9, S2, A)->flags = ASSAY_REC_WHOLE;
	run(p);
	return &p->wait[0];
}

TEST(an_event_may_have_been_given_away_while_recording_was_off)
{
	for (uint64_t made = 0; made <= 6; made += 3) {
		program p = {0};
		const assay_sweep_wait *w = wait_for_made(&p, made);
		CHECK_EQ(w->producer_row, 7);
		CHECK_EQ(w->class, made == 6 ? ASSAY_WAIT_IS_EXACT : ASSAY_WAIT_IS_LIKELY);
		CHECK_EQ(w->why, made == 6 ? ASSAY_WAIT_BY_NONE : ASSAY_WAIT_BY_OFF);
	}
	return 0;
}

/* A launch whose work was not recorded, a wait for the device, then work and another wait. */
static uint8_t doubt_after_wait(uint32_t raced)
{
	program p = {0};
	on(&p, ASSAY_OP_UNSEEN, 6, S1);
	call(&p, ASSAY_OP_DEVICE_SYNC, 7)->flags = raced;
	work(&p, 8, S2, 80, 85);
	call(&p, ASSAY_OP_DEVICE_SYNC, 9);
	run(&p);
	return p.wait[1].producer_row == 8 ? p.wait[1].why : ASSAY_WAIT_DOUBT_COUNT;
}

TEST(a_wait_for_a_device_may_not_be_for_what_another_thread_launches_meanwhile)
{
	CHECK_EQ(doubt_after_wait(0), ASSAY_WAIT_BY_NONE);
	CHECK_EQ(doubt_after_wait(ASSAY_REC_RACED), ASSAY_WAIT_BY_UNSEEN);
	return 0;
}

TEST(a_copy_that_was_not_recorded_waited_for_no_other_work_of_its_stream)
{
	for (uint64_t key = 3; key <= 5; key += 2) {
		program p = {0};
		work(&p, key, S1, 30, 52);
		on(&p, ASSAY_OP_COPY, 5, S1)->flags = ASSAY_REC_MUST_BLOCK;
		run(&p);
		CHECK_EQ(p.waits, key == 5);
	}
	return 0;
}

TEST(a_stream_that_was_destroyed_may_be_the_one_that_is_waited_for)
{
	program p = {0};
	const assay_sweep_wait *w = wait_for_default(&p, ASSAY_OP_STREAM_DESTROY, ASSAY_REC_WHOLE);
	CHECK(w->producer_row == 5 && w->class == ASSAY_WAIT_IS_LIKELY);
	CHECK_EQ(w->why, ASSAY_WAIT_BY_DEFAULT);
	return 0;
}

TEST(what_was_over_when_a_stream_was_destroyed_was_not_in_its_way)
{
	program p = {0};
	made(&p, 1, 13, 0);
	made(&p, 2, 7, ASSAY_REC_LEGACY);
	placed(work(&p, 3, ASSAY_NO_HANDLE, 40, 45), 13);
	call(&p, ASSAY_OP_STREAM_DESTROY, 9);
	placed(on(&p, ASSAY_OP_STREAM_SYNC, 10, ASSAY_NO_HANDLE), 7)->flags = ASSAY_REC_LEGACY;
	run(&p);
	CHECK(p.wait[0].producer_row == 3 && p.wait[0].class == ASSAY_WAIT_IS_EXACT);
	return 0;
}

TEST(a_stream_that_may_be_the_default_stream_is_likely_to_wait_for_others)
{
	program p = {0};
	made(&p, 1, 13, 0);
	uint32_t perhaps = ASSAY_REC_LEGACY | ASSAY_REC_PERHAPS;
	placed(work(&p, 3, ASSAY_NO_HANDLE, 40, 90), 7)->flags = perhaps;
	placed(work(&p, 4, ASSAY_NO_HANDLE, 95, LONG), 13);
	assay_sweep_rec *r = placed(on(&p, ASSAY_OP_STREAM_SYNC, 10, ASSAY_NO_HANDLE), 7);
	r->flags = perhaps;
	r->exit = LONG + 5;
	placed(record(&p, 11, A, ASSAY_NO_HANDLE), 13);
	event_call(&p, ASSAY_OP_EVENT_SYNC, 12, A)->flags = ASSAY_REC_WHOLE;
	run(&p);
	CHECK_EQ(p.wait[0].class, ASSAY_WAIT_IS_LIKELY);
	CHECK_EQ(p.edges, 3); /* of the waits alone: no order among works is certain */
	CHECK_EQ(p.wait[1].producer_row, 4);
	return 0;
}

/* Behind work of what may be the default stream: a blocking stream, until its next work. */
TEST(what_may_be_the_default_stream_leaves_blocking_streams_in_doubt)
{
	for (int sure = 0; sure < 2; sure++) {
		program p = {0};
		made(&p, 1, 13, 0);
		placed(work(&p, 3, ASSAY_NO_HANDLE, 40, LONG), 7)->flags =
			ASSAY_REC_LEGACY | (sure ? 0u : ASSAY_REC_PERHAPS);
		placed(record(&p, 4, A, ASSAY_NO_HANDLE), 13);
		assay_sweep_rec *r = event_call(&p, ASSAY_OP_EVENT_SYNC, 5, A);
		r->flags = ASSAY_REC_WHOLE;
		r->exit = LONG + 5;
		run(&p);
		CHECK_EQ(p.wait[0].producer_row, 3);
		CHECK_EQ(p.wait[0].class, sure ? ASSAY_WAIT_IS_EXACT : ASSAY_WAIT_IS_LIKELY);
	}
	return 0;
}

/* Memory of a pool for some stream, while what was there before is in use: also for a stream that
 * is met only later, on a device that is. */
TEST(what_some_stream_waits_for_may_be_in_front_of_streams_that_are_met_later)
{
	for (int waited = 0; waited < 2; waited++) {
		program p = {0};
		on(&p, ASSAY_OP_STREAM_CREATE, 1, S1)->flags = ASSAY_REC_NONBLOCKING;
		work(&p, 2, S1, 30, LONG);
		on(&p, ASSAY_OP_POOL_FREE, 3, S1);
		call(&p, ASSAY_OP_POOL_ALLOC, 4);
		if (waited) {
			assay_sweep_rec *r = call(&p, ASSAY_OP_DEVICE_SYNC, 5);
			r->device = 1;
			r->exit = LONG + 5;
		}
		record(&p, 6, A, S2)->device = 1;
		event_call(&p, ASSAY_OP_EVENT_SYNC, 7, A)->flags = ASSAY_REC_WHOLE;
		run(&p);
		CHECK_EQ(p.wait[waited].class, ASSAY_WAIT_IS_LIKELY);
		CHECK_EQ(p.wait[waited].why, ASSAY_WAIT_BY_POOL);
	}
	return 0;
}

/* The default stream's wait stands behind the others, and they behind it, whoever knows that it is
 * the one that waits. */
TEST(a_wait_of_some_stream_may_be_the_default_streams)
{
	program p = {0};
	placed(work(&p, 2, ASSAY_NO_HANDLE, 30, 40), 13);
	placed(work(&p, 3, ASSAY_NO_HANDLE, 30, 50), 14);
	call(&p, ASSAY_OP_UNKNOWN_SYNC, 6)->arg = ASSAY_OP_WAIT;
	placed(record(&p, 7, A, ASSAY_NO_HANDLE), 13);
	event_call(&p, ASSAY_OP_EVENT_SYNC, 8, A)->flags = ASSAY_REC_WHOLE;
	run(&p);
	CHECK_EQ(p.wait[1].class, ASSAY_WAIT_IS_LIKELY);
	CHECK_EQ(p.wait[1].why, ASSAY_WAIT_BY_DEFAULT);
	return 0;
}

static void word(program *p, assay_sweep_op op, uint64_t key, uint64_t stream, uint64_t value)
{
	assay_sweep_rec *r = on(p, op, key, stream);
	r->event = 0x500 + (value >> 8) * 8;
	r->arg = value & 0xff;
	r->enter = r->exit = (int64_t)key * 10;
}

/* One call: wait for word 0, then write word 1. Who waits for word 1 waits for what word 0 stood
 * behind. */
TEST(a_batch_of_memory_operations_is_done_in_its_order)
{
	enum { WORD_1 = 256 };
	program p = {0};
	work(&p, 1, S1, 20, LONG);
	word(&p, ASSAY_OP_WRITE_VALUE, 2, S1, 1);
	word(&p, ASSAY_OP_WAIT_VALUE, 3, S2, 1);
	word(&p, ASSAY_OP_WRITE_VALUE, 3, S2, WORD_1 + 1);
	word(&p, ASSAY_OP_WAIT_VALUE, 4, S3, WORD_1 + 1);
	run(&p);
	CHECK(p.waits == 2 && p.wait[0].producer_row == 1 && p.wait[1].record_key == 3);
	CHECK_EQ(p.wait[1].producer_row, 1);
	return 0;
}

TEST(masks_leave_bits_of_a_word_out)
{
	static const struct {
		assay_value_when when;
		uint64_t value, wanted, mask;
		bool fits;
	} cases[] = {
		{ASSAY_VALUE_EQUAL, 0x1205, 5, 0xff, true},
		{ASSAY_VALUE_EQUAL, 0x1205, 0x1205, 0xff, false},
		{ASSAY_VALUE_AT_LEAST, 0x1204, 5, 0xff, false},
		{ASSAY_VALUE_AT_LEAST, 0x1206, 5, 0xff, true},
		{ASSAY_VALUE_AND, 0x1200, 0x1200, 0xff, false},
		{ASSAY_VALUE_AND, 0x12, 0x10, 0xff, true},
		{ASSAY_VALUE_NOR, 0xf0, 0x0f, 0xff, false},
		{ASSAY_VALUE_NOR, 0x70, 0x0f, 0xff, true},
	};
	for (size_t i = 0; i < ASSAY_COUNT_OF(cases); i++)
		CHECK_EQ(sweep_value_fits(cases[i].value, cases[i].wanted, cases[i].mask,
					  (uint32_t)cases[i].when * ASSAY_REC_WHEN),
			 cases[i].fits);
	return 0;
}

/* Of two devices one has a default stream with work; nobody says where the calls belong. */
TEST(a_stream_of_unknown_device_may_stand_behind_any_default_stream)
{
	for (int some = 0; some < 2; some++) {
		program p = {0};
		work(&p, 1, 0, 0, 500);
		if (some) /* that of a device which is not known */
			record(&p, 2, B, 0)->device = -1;
		record(&p, 3, A, S2)->device = -1;
		assay_sweep_rec *r = wait(&p, 4, S3, A);
		for (uint32_t i = 0; i < p.n; i++)
			p.rec[i].flags |= ASSAY_REC_WHOLE;
		r->device = 1;
		run(&p);
		CHECK_EQ(p.waits, 1);
		CHECK_EQ(p.wait[0].why, ASSAY_WAIT_BY_EMPTY);
	}
	return 0;
}
