/* What captures lack, by their own counts. */
#include "capture_maker.h"

enum { LAUNCH = 1, LAUNCH_GRAPH, CAPTURE_BEGINS, CAPTURE_ENDS };

static void put_launch(builder *b, uint64_t corr, uint32_t function)
{
	assay_wire_api a = {.start = (int64_t)corr,
			    .end = (int64_t)corr + 1,
			    .corr = corr,
			    .function = function,
			    .domain = ASSAY_WIRE_RUNTIME};
	put(b, ASSAY_WIRE_API, &a, sizeof a, NULL);
}

static void put_nodes(builder *b, uint64_t corr, uint32_t graph, uint64_t nodes)
{
	for (uint64_t node = 1; node <= nodes; node++) {
		assay_wire_set s = {.work = {.start = 50,
					     .end = 60,
					     .corr = corr,
					     .graph_node = node,
					     .graph = graph,
					     .device = 3,
					     .context = 1}};
		put(b, ASSAY_WIRE_SET, &s, sizeof s, NULL);
	}
}

static void put_call_names(builder *b)
{
	static const char *const names[] = {[LAUNCH] = "cudaLaunchKernel",
					    [LAUNCH_GRAPH] = "cudaGraphLaunch",
					    [CAPTURE_BEGINS] = "cudaStreamBeginCapture",
					    [CAPTURE_ENDS] = "cudaStreamEndCapture"};
	for (uint32_t f = LAUNCH; f <= CAPTURE_ENDS; f++) {
		put_string(b, 10 + f, names[f]);
		assay_wire_api_name n = {
			.function = f, .domain = ASSAY_WIRE_RUNTIME, .name = 10 + f};
		put(b, ASSAY_WIRE_API_NAME, &n, sizeof n, NULL);
	}
	put_chunk(b, 0, 0);
}

static uint64_t unknown_work(builder *b)
{
	put_chunk(b, 1, 0);
	assay_run *run = read_bytes(b->bytes, b->n);
	uint64_t n = run->part.issues[ASSAY_ISSUE_unknown_work];
	assay_run_free(run);
	return n;
}

TEST(a_graph_that_did_not_come_may_have_as_many_pieces_as_the_largest_that_did)
{
	builder b = {0};
	put_start(&b);
	put_call_names(&b);
	put_launch(&b, 5, LAUNCH_GRAPH);
	put_nodes(&b, 5, 8, 4);
	put_launch(&b, 6, LAUNCH_GRAPH);
	put_launch(&b, 7, LAUNCH);
	CHECK_EQ(unknown_work(&b), 4 + 1);
	return 0;
}

TEST(of_the_last_launch_of_a_graph_nodes_may_be_missing)
{
	builder b = {0};
	put_start(&b);
	put_call_names(&b);
	put_launch(&b, 4, LAUNCH_GRAPH);
	put_nodes(&b, 4, 9, 2);
	put_launch(&b, 5, LAUNCH_GRAPH);
	put_nodes(&b, 5, 8, 5);
	put_launch(&b, 6, LAUNCH_GRAPH);
	put_nodes(&b, 6, 8, 2);
	CHECK_EQ(unknown_work(&b), 3);
	return 0;
}

TEST(calls_that_were_not_told_may_have_launched_what_is_missing)
{
	builder b = {0};
	put_start(&b);
	put_call_names(&b);
	put_launch(&b, 5, LAUNCH);
	put_nodes(&b, 5, 0, 1);
	put_nodes(&b, 6, 0, 1); /* its call is one of those */
	assay_wire_tally y = {.kind = ASSAY_WIRE_API, .cause = ASSAY_WIRE_LOST_RING, .count = 7};
	put(&b, ASSAY_WIRE_TALLY, &y, sizeof y, NULL);
	CHECK_EQ(unknown_work(&b), 6);
	return 0;
}

TEST(a_launch_that_was_still_going_on_may_have_launched)
{
	builder b = {0};
	put_start(&b);
	put_call_names(&b);
	put_nodes(&b, 5, 0, 1);
	for (uint64_t corr = 4; corr <= 5; corr++) { /* the work of 5 is there */
		assay_wire_open o = {
			.start = 3, .corr = corr, .function = LAUNCH, .domain = ASSAY_WIRE_RUNTIME};
		put(&b, ASSAY_WIRE_OPEN, &o, sizeof o, NULL);
	}
	CHECK_EQ(unknown_work(&b), 1);
	return 0;
}

/* A recording that ended in order, with what it says it made of calls. */
static assay_run *read_ended(builder *b, uint64_t calls)
{
	assay_wire_tally y = {.kind = ASSAY_WIRE_API, .count = calls};
	assay_wire_end end = {.time = 90};
	put(b, ASSAY_WIRE_TALLY, &y, sizeof y, NULL);
	put(b, ASSAY_WIRE_END, &end, sizeof end, NULL);
	put_chunk(b, 1, 0);
	return read_bytes(b->bytes, b->n);
}

static void put_kernel(builder *b, uint64_t corr)
{
	assay_wire_kernel k = {
		.work = {.start = 50, .end = 60, .corr = corr, .device = 3, .context = 1}};
	put(b, ASSAY_WIRE_KERNEL, &k, sizeof k, NULL);
}

TEST(launches_without_a_kernel_are_no_proof_that_nothing_was_lost)
{
	builder b = {0};
	put_start(&b);
	put_call_names(&b);
	for (uint64_t corr = 5; corr <= 9; corr++)
		put_launch(&b, corr, LAUNCH);
	for (uint64_t corr = 5; corr <= 7; corr++)
		put_kernel(&b, corr);
	assay_run *run = read_ended(&b, 5);
	const assay_ledger_table *l = &run->part.t.ledger;
	CHECK_EQ(run->part.issues[ASSAY_ISSUE_no_work], 2);
	CHECK_EQ(run->part.t.source.proof[0], ASSAY_PROOF_OPEN);
	CHECK_EQ(l->cause[l->n - 1], ASSAY_LOSS_NO_WORK);
	CHECK_EQ(l->unknown[l->n - 1], 2);
	CHECK_EQ(l->first[l->n - 1], 8);
	assay_run_free(run);
	return 0;
}

TEST(launches_that_went_into_a_graph_need_no_kernel_of_their_own)
{
	builder b = {0};
	put_start(&b);
	put_call_names(&b);
	put_launch(&b, 2, CAPTURE_ENDS); /* of nothing */
	put_launch(&b, 3, CAPTURE_BEGINS);
	put_launch(&b, 5, CAPTURE_BEGINS);
	put_launch(&b, 10, LAUNCH);
	put_launch(&b, 20, CAPTURE_ENDS);
	put_launch(&b, 25, LAUNCH);
	put_launch(&b, 30, CAPTURE_ENDS);
	put_launch(&b, 40, LAUNCH);
	put_kernel(&b, 40);
	assay_run *run = read_ended(&b, 8);
	CHECK_EQ(run->part.issues[ASSAY_ISSUE_no_work], 0);
	CHECK_EQ(run->part.t.source.proof[0], ASSAY_PROOF_WHOLE);
	assay_run_free(run);
	return 0;
}

TEST(what_a_capture_lacks_of_what_was_made_is_lost)
{
	builder b = {0};
	put_start(&b);
	put_call_names(&b);
	for (uint64_t corr = 5; corr <= 7; corr++)
		put_launch(&b, corr, LAUNCH);
	for (uint64_t corr = 5; corr <= 7; corr++)
		put_kernel(&b, corr);
	assay_run *run = read_ended(&b, 5);
	const assay_ledger_table *l = &run->part.t.ledger;
	uint64_t rows = 0;
	for (size_t i = 0; i < l->n; i++)
		if (l->cause[i] == ASSAY_LOSS_MISSING) {
			rows++;
			CHECK_EQ(l->dropped[i], 2);
			CHECK(!strcmp(assay_z(run, l->kind[i]), "calls"));
		}
	CHECK_EQ(rows, 1);
	CHECK_EQ(run->part.issues[ASSAY_ISSUE_lost_in_file], 2);
	CHECK_EQ(run->part.t.source.proof[0], ASSAY_PROOF_LOST);
	assay_run_free(run);
	return 0;
}

/* A recording that ended in order and dropped three calls for a cause. */
static assay_run *read_dropped(builder *b, uint32_t cause)
{
	put_start(b);
	put_call_names(b);
	put_launch(b, 5, LAUNCH);
	put_kernel(b, 5);
	assay_wire_tally y = {.kind = ASSAY_WIRE_API, .cause = (uint16_t)cause, .count = 3};
	put(b, ASSAY_WIRE_TALLY, &y, sizeof y, NULL);
	return read_ended(b, 1);
}

TEST(a_graph_of_which_nothing_came_may_be_one_piece)
{
	builder b = {0};
	put_start(&b);
	put_call_names(&b);
	put_launch(&b, 5, LAUNCH_GRAPH);
	CHECK_EQ(unknown_work(&b), 1);
	return 0;
}

TEST(copies_and_memsets_may_be_missing_and_functions_of_the_host_not)
{
	static const char *const names[] = {"cudaMemcpyAsync", "cudaMemsetAsync",
					    "cudaLaunchHostFunc", "cudaEventRecord"};
	for (uint32_t f = 0; f < ASSAY_COUNT_OF(names); f++) {
		builder b = {0};
		put_start(&b);
		put_string(&b, 20, names[f]);
		assay_wire_api_name n = {.function = 9, .domain = ASSAY_WIRE_RUNTIME, .name = 20};
		put(&b, ASSAY_WIRE_API_NAME, &n, sizeof n, NULL);
		put_chunk(&b, 0, 0);
		put_launch(&b, 5, 9);
		CHECK_EQ(unknown_work(&b), f < 2);
	}
	return 0;
}

TEST(what_was_read_of_a_capture_without_counts_was_made)
{
	builder b = {0};
	put_start(&b);
	put_call_names(&b);
	put_launch(&b, 5, LAUNCH);
	put_launch(&b, 6, LAUNCH);
	put_chunk(&b, 1, 0);
	assay_run *run = read_bytes(b.bytes, b.n);
	const assay_ledger_table *l = &run->part.t.ledger;
	CHECK_EQ(l->n, 2);
	CHECK(!strcmp(assay_z(run, l->kind[0]), "calls") && l->made[0] == 2 && l->read[0] == 2);
	CHECK(l->cause[1] == ASSAY_LOSS_UNTOLD && l->unknown[1] == 2 && l->first[1] == 5);
	assay_run_free(run);
	return 0;
}

TEST(every_cause_of_a_drop_is_a_row_and_no_proof)
{
	for (uint32_t cause = 1; cause < ASSAY_LOSS_MISSING; cause++) {
		builder b = {0};
		assay_run *run = read_dropped(&b, cause);
		const assay_ledger_table *l = &run->part.t.ledger;
		uint64_t dropped = 0;
		for (size_t i = 0; i < l->n; i++)
			dropped += l->cause[i] == cause ? l->dropped[i] : 0;
		CHECK_EQ(dropped, 3);
		CHECK_EQ(run->part.issues[ASSAY_ISSUE_after_end],
			 cause == ASSAY_LOSS_ENDED ? 3 : 0);
		CHECK_EQ(run->part.t.source.proof[0],
			 cause == ASSAY_LOSS_NOT_KEPT ? ASSAY_PROOF_WHOLE : ASSAY_PROOF_LOST);
		assay_run_free(run);
	}
	return 0;
}

TEST(calls_dropped_for_any_cause_may_have_launched)
{
	for (uint32_t cause = 1; cause < ASSAY_LOSS_MISSING; cause++) {
		builder b = {0};
		put_start(&b);
		assay_wire_tally y = {.kind = ASSAY_WIRE_API, .cause = (uint16_t)cause, .count = 7};
		put(&b, ASSAY_WIRE_TALLY, &y, sizeof y, NULL);
		CHECK_EQ(unknown_work(&b), cause == ASSAY_LOSS_NOT_KEPT ? 0 : 7);
	}
	return 0;
}

/* How a process went that did not end in order: one launch without work. */
static assay_proof proof_of_death(uint32_t how, uint32_t whole, uint64_t *unknown,
				  assay_loss_cause *cause)
{
	builder b = {0};
	put_start(&b);
	put_call_names(&b);
	put_launch(&b, 5, LAUNCH);
	assay_wire_tally y = {.kind = ASSAY_WIRE_API, .count = 1};
	assay_wire_death d = {.time = 90, .how = how, .whole = whole};
	put(&b, ASSAY_WIRE_TALLY, &y, sizeof y, NULL);
	put(&b, ASSAY_WIRE_DEATH, &d, sizeof d, NULL);
	put_chunk(&b, 1, 0);
	assay_run *run = read_bytes(b.bytes, b.n);
	const assay_ledger_table *l = &run->part.t.ledger;
	*unknown = run->part.issues[ASSAY_ISSUE_unknown_work];
	*cause = l->n ? (assay_loss_cause)l->cause[l->n - 1] : ASSAY_LOSS_NONE;
	assay_proof proof = (assay_proof)run->part.t.source.proof[0];
	assay_run_free(run);
	return proof;
}

TEST(how_a_process_went_says_why_work_may_be_missing)
{
	uint64_t unknown;
	assay_loss_cause cause;
	CHECK_EQ(proof_of_death(ASSAY_WIRE_LEFT_KILLED, 0, &unknown, &cause), ASSAY_PROOF_OPEN);
	CHECK(unknown == 1 && cause == ASSAY_LOSS_KILLED);
	CHECK_EQ(proof_of_death(ASSAY_WIRE_LEFT_EXEC, 0, &unknown, &cause), ASSAY_PROOF_OPEN);
	CHECK(unknown == 1 && cause == ASSAY_LOSS_EXEC);
	/* the vendor's library had handed everything over: then it is a launch without work */
	CHECK_EQ(proof_of_death(ASSAY_WIRE_LEFT_EXEC, 1, &unknown, &cause), ASSAY_PROOF_OPEN);
	CHECK(unknown == 0 && cause == ASSAY_LOSS_NO_WORK);
	return 0;
}

TEST(launches_behind_the_last_capture_need_their_kernels)
{
	builder b = {0};
	put_start(&b);
	put_call_names(&b);
	put_launch(&b, 3, CAPTURE_BEGINS);
	put_launch(&b, 5, CAPTURE_BEGINS);
	put_launch(&b, 10, LAUNCH);
	put_launch(&b, 20, CAPTURE_ENDS);
	put_launch(&b, 30, CAPTURE_ENDS);
	put_launch(&b, 40, LAUNCH);
	put_launch(&b, 50, CAPTURE_ENDS); /* of nothing */
	put_launch(&b, 60, LAUNCH);
	assay_run *run = read_ended(&b, 8);
	CHECK_EQ(run->part.issues[ASSAY_ISSUE_no_work], 2);
	assay_run_free(run);
	return 0;
}

TEST(a_capture_that_never_ends_takes_all_launches_behind_it)
{
	builder b = {0};
	put_start(&b);
	put_call_names(&b);
	put_launch(&b, 3, LAUNCH);
	put_launch(&b, 5, CAPTURE_BEGINS);
	put_launch(&b, 10, LAUNCH);
	assay_run *run = read_ended(&b, 3);
	CHECK_EQ(run->part.issues[ASSAY_ISSUE_no_work], 1);
	assay_run_free(run);
	return 0;
}

static void put_switch(builder *b, int64_t time, bool on, uint32_t why)
{
	assay_wire_switch s = {.time = time, .on = on, .why = why};
	put(b, ASSAY_WIRE_SWITCH, &s, sizeof s, NULL);
}

TEST(stretches_that_were_not_recorded_have_their_length_and_cause)
{
	builder b = {0};
	put_start(&b);
	put_switch(&b, 100, false, ASSAY_OFF_CAUSE_COUNT); /* of a newer version */
	put_switch(&b, 110, false, ASSAY_OFF_TIME);        /* it is off already */
	put_switch(&b, 140, true, 0);
	put_switch(&b, 150, true, 0); /* it is on already */
	put_switch(&b, 200, false, ASSAY_OFF_TIME);
	put_switch(&b, 230, true, 0);
	put_chunk(&b, 1, 0);
	assay_run *run = read_bytes(b.bytes, b.n);
	const assay_off_table *t = &run->part.t.off;
	CHECK_EQ(t->n, 2);
	CHECK(t->ts[0] == 100 && t->dur[0] == 40 && t->why[0] == ASSAY_OFF_ASKED);
	CHECK(t->ts[1] == 200 && t->dur[1] == 30 && t->why[1] == ASSAY_OFF_TIME);
	assay_run_free(run);
	return 0;
}

TEST(what_the_vendor_dropped_is_no_proof)
{
	static const uint32_t whys[] = {ASSAY_WIRE_LOST_VENDOR, ASSAY_LOSS_MISSING};
	for (size_t i = 0; i < ASSAY_COUNT_OF(whys); i++) {
		builder b = {0};
		put_start(&b);
		assay_wire_lost lost = {.count = 4, .first = 33, .why = whys[i]};
		put(&b, ASSAY_WIRE_LOST, &lost, sizeof lost, NULL);
		assay_run *run = read_ended(&b, 0);
		const assay_ledger_table *l = &run->part.t.ledger;
		CHECK_EQ(l->n, 1);
		CHECK(l->cause[0] == ASSAY_LOSS_VENDOR && l->dropped[0] == 4 && l->first[0] == 33);
		CHECK_EQ(run->part.t.source.proof[0], ASSAY_PROOF_LOST);
		assay_run_free(run);
	}
	return 0;
}

/* How many launches lack a kernel in a recording that was off for that. */
static uint64_t lacking_when_off(uint32_t why)
{
	builder b = {0};
	put_start(&b);
	put_call_names(&b);
	put_switch(&b, 1, false, why);
	put_switch(&b, 2, true, 0);
	put_launch(&b, 5, LAUNCH);
	assay_run *run = read_ended(&b, 1);
	uint64_t n = run->part.issues[ASSAY_ISSUE_no_work];
	bool proved = run->part.t.source.proof[0] == ASSAY_PROOF_WHOLE;
	assay_run_free(run);
	return proved == !n ? n : UINT64_MAX;
}

TEST(launches_of_a_recording_that_was_off_for_a_while_need_no_kernel)
{
	CHECK_EQ(lacking_when_off(ASSAY_OFF_ASKED), 0);
	CHECK_EQ(lacking_when_off(ASSAY_OFF_NOT_KEPT), 0);
	return 0;
}

TEST(launches_of_a_program_that_stood_still_need_one)
{
	CHECK_EQ(lacking_when_off(ASSAY_OFF_STILL), 1);
	return 0;
}

TEST(a_kernel_of_another_launch_is_not_the_missing_one)
{
	builder b = {0};
	put_start(&b);
	put_call_names(&b);
	put_launch(&b, 5, LAUNCH);
	put_kernel(&b, 99);
	assay_run *run = read_ended(&b, 1);
	CHECK_EQ(run->part.issues[ASSAY_ISSUE_no_work], 1);
	assay_run_free(run);
	return 0;
}
