/* Perfetto traces of other times and writers: Chrome's old events, values that ride on events,
 * counters and stages of GPUs, nested annotations. */
#include "perfetto_maker.h"

static void intern(maker *m, unsigned kind, uint64_t iid, const char *text)
{
	assay_protow_varint(&m->inner, PF_NAMED_IID, iid);
	assay_protow_string(&m->inner, PF_NAMED_TEXT, assay_str_of(text));
	assay_protow_message(&m->message, kind, &m->inner);
}

static void end_interned(maker *m)
{
	assay_protow_message(&m->packet, PF_PACKET_INTERNED, &m->message);
	end_packet(m);
}

/* An event of a sequence that counts in us: its fields are what is in m->inner, its phase one of
 * Chrome's. */
static void old_event(maker *m, int64_t delta_us, char phase)
{
	assay_protow_varint(&m->packet, PF_PACKET_SEQUENCE, 1);
	assay_protow_varint(&m->message, PF_EVENT_DELTA_US, (uint64_t)delta_us);
	assay_protow_varint(&m->inner, PF_LEGACY_PHASE, (uint64_t)phase);
	assay_protow_message(&m->message, PF_EVENT_LEGACY, &m->inner);
	assay_protow_message(&m->packet, PF_PACKET_EVENT, &m->message);
	end_packet(m);
}

static void old_thread(maker *m)
{
	frame(m, 1, PF_STATE_CLEARED, 0);
	assay_protow_varint(&m->message, PF_THREAD_PID, 40);
	assay_protow_varint(&m->message, PF_THREAD_TID, 41);
	assay_protow_varint(&m->message, PF_THREAD_REFERENCE_US, 1000);
	assay_protow_message(&m->packet, PF_PACKET_THREAD, &m->message);
	end_packet(m);
	assay_protow_varint(&m->packet, PF_PACKET_SEQUENCE, 1);
	intern(m, PF_INTERNED_NAME, 5, "Paint");
	intern(m, PF_INTERNED_CATEGORY, 6, "cc");
	end_interned(m);
}

TEST(a_trace_of_the_system_alone_says_so)
{
	for (int more = 0; more < 2; more++) {
		maker m = {0};
		for (int i = 0; i < 3; i++) {
			frame(&m, 1, PF_STATE_CLEARED, 5);
			assay_protow_bytes(&m.packet, PF_PACKET_FTRACE, ASSAY_S("\x08\x01"));
			end_packet(&m);
		}
		if (more) {
			old_thread(&m);
			assay_protow_varint(&m.inner, PF_LEGACY_NAME_IID, 5);
			old_event(&m, 10, 'I');
		}
		assay_run *run = read_back(&m);
		CHECK_EQ(run->part.t.warning.n, 1);
		const char *said = assay_z(run, run->part.t.warning.text[0]);
		CHECK(strstr(said, "3 of ftrace") && !!strstr(said, "none of these") == !more);
		assay_run_free(run);
	}
	return 0;
}

TEST(old_chrome_events_count_from_the_reference_of_their_thread)
{
	maker m = {0};
	old_thread(&m);
	assay_protow_varint(&m.inner, PF_LEGACY_NAME_IID, 5);
	assay_protow_varint(&m.inner, PF_LEGACY_DURATION_US, 7);
	assay_protow_bytes(&m.message, PF_EVENT_CATEGORY_IID, ASSAY_S("\x06")); /* packed */
	old_event(&m, 10, 'X');
	assay_protow_string(&m.message, PF_EVENT_NAME, ASSAY_S("begun"));
	old_event(&m, 20, 'B');
	old_event(&m, 5, 'E');
	assay_protow_string(&m.message, PF_EVENT_NAME, ASSAY_S("elsewhere"));
	assay_protow_varint(&m.inner, PF_LEGACY_PID, 50);
	assay_protow_varint(&m.inner, PF_LEGACY_TID, 51);
	old_event(&m, 1, 'I');
	old_event(&m, 1, 'M'); /* metadata: no span */
	assay_run *run = read_back(&m);
	CHECK(run && run->part.t.host.n == 3);
	const assay_tables *t = &run->part.t;
	const assay_host_table *h = &t->host;
	CHECK(h->ts[0] == 1010000 && h->dur[0] == 7000 && is(run, h->name[0], "Paint"));
	CHECK(t->track.pid[h->track[0]] == 40 && t->track.tid[h->track[0]] == 41);
	CHECK(h->ts[1] == 1030000 && h->dur[1] == 5000 && is(run, h->name[1], "begun"));
	CHECK(h->ts[2] == 1036000 && h->dur[2] == 0);
	CHECK(t->track.pid[h->track[2]] == 50 && t->track.tid[h->track[2]] == 51);
	CHECK_EQ(run->part.issues[ASSAY_ISSUE_unknown_phase], 1);
	assay_run_free(run);
	return 0;
}

TEST(asynchronous_events_of_chrome_pair_by_category_and_id)
{
	maker m = {0};
	old_thread(&m);
	for (int i = 0; i < 4; i++) { /* 1 begins, 2 begins, 1 ends, 2 ends */
		uint64_t id = 1 + (uint64_t)(i & 1);
		assay_protow_string(&m.message, PF_EVENT_CATEGORY, ASSAY_S("load"));
		assay_protow_string(&m.message, PF_EVENT_NAME,
				    id == 1 ? ASSAY_S("one") : ASSAY_S("two"));
		assay_protow_varint(&m.inner, id == 1 ? PF_LEGACY_UNSCOPED_ID : PF_LEGACY_GLOBAL_ID,
				    id);
		old_event(&m, 10 * (i + 1), i < 2 ? 'b' : 'e');
	}
	assay_run *run = read_back(&m);
	CHECK(run && run->part.t.host.n == 2);
	const assay_host_table *h = &run->part.t.host;
	CHECK(is(run, h->name[0], "one") && h->ts[0] == 1010000 && h->dur[0] == 50000);
	CHECK(is(run, h->name[1], "two") && h->ts[1] == 1030000 && h->dur[1] == 70000);
	CHECK(h->track[0] != h->track[1]);
	assay_run_free(run);
	return 0;
}

TEST(an_event_without_a_time_or_with_an_absurd_one_is_no_span)
{
	maker m = {0};
	frame(&m, 1, PF_STATE_CLEARED, 0);
	thread(&m, 10, 1, 1, "t");
	assay_protow_varint(&m.packet, PF_PACKET_SEQUENCE, 1);
	event(&m, 10, PF_INSTANT, "c", "never"); /* no timestamp anywhere */
	frame(&m, 1, 0, 70);
	assay_protow_varint(&m.message, PF_EVENT_ABSOLUTE_US, 1ull << 60);
	event(&m, 10, PF_INSTANT, "c", "in 36000 years");
	frame(&m, 1, 0, 70);
	assay_protow_varint(&m.message, PF_EVENT_ABSOLUTE_US, 3);
	event(&m, 10, PF_INSTANT, "c", "then");
	assay_run *run = read_back(&m);
	CHECK(run && run->part.t.host.n == 2);
	CHECK_EQ(run->part.issues[ASSAY_ISSUE_no_duration], 1);
	CHECK_EQ(run->part.t.host.ts[0], 70); /* the packet's own */
	CHECK_EQ(run->part.t.host.ts[1], 3000);
	assay_run_free(run);
	return 0;
}

TEST(values_that_ride_on_an_event_go_to_the_tracks_it_or_its_sequence_lists)
{
	const double f64[] = {0.5, 2.5};
	maker m = {0};
	frame(&m, 1, PF_STATE_CLEARED, 0);
	assay_protow_varint(&m.inner, PF_EVENT_EXTRA_TRACKS, 31);
	assay_protow_message(&m.message, PF_DEFAULT_EVENT, &m.inner);
	assay_protow_message(&m.packet, PF_PACKET_DEFAULTS, &m.message);
	end_packet(&m);
	frame(&m, 1, 0, 0);
	track(&m, 31, "heap");
	frame(&m, 1, 0, 0);
	track(&m, 32, "load");
	frame(&m, 1, PF_STATE_NEEDED, 100);
	assay_protow_varint(&m.message, PF_EVENT_EXTRA_VALUES, (uint64_t)-4);
	assay_protow_bytes(&m.message, PF_EVENT_EXTRA_F64_TRACKS, ASSAY_S("\x20\x21")); /* 32, 33 */
	assay_protow_bytes(&m.message, PF_EVENT_EXTRA_F64_VALUES,
			   (assay_str){(const char *)f64, sizeof f64});
	event(&m, 10, PF_INSTANT, "c", "sampled");
	assay_run *run = read_back(&m);
	CHECK(run && run->part.t.counter.n == 3 && run->part.t.host.n == 1);
	const assay_counter_table *c = &run->part.t.counter;
	CHECK(c->value[0] == -4 && c->value[1] == 0.5 && c->value[2] == 2.5);
	CHECK(c->ts[0] == 100 && c->ts[2] == 100);
	CHECK(is(run, c->name[0], "heap") && is(run, c->name[1], "load"));
	CHECK(is(run, c->name[2], "counter")); /* nobody named it */
	assay_run_free(run);
	return 0;
}

static void gpu_value(maker *m, uint64_t id, unsigned field, uint64_t v)
{
	assay_protow_varint(&m->inner, PF_VALUE_ID, id);
	if (field == PF_VALUE_INT)
		assay_protow_varint(&m->inner, field, v);
	else
		assay_protow_f64(&m->inner, field, (double)v / 2);
	assay_protow_message(&m->message, PF_COUNTERS_COUNTER, &m->inner);
}

TEST(counters_of_a_gpu_have_the_names_that_its_descriptor_gives)
{
	maker m = {0};
	assay_protow spec = {0};
	frame(&m, 1, PF_STATE_CLEARED, 0);
	assay_protow_varint(&spec, 1, 3);
	assay_protow_string(&spec, 2, ASSAY_S("Clock"));
	assay_protow_message(&m.inner, 1, &spec);
	assay_protow_message(&m.message, PF_COUNTERS_DESCRIPTOR, &m.inner);
	assay_protow_varint(&m.message, PF_COUNTERS_GPU, 1);
	assay_protow_message(&m.packet, PF_PACKET_GPU_COUNTERS, &m.message);
	end_packet(&m);
	frame(&m, 1, PF_STATE_NEEDED, 200);
	assay_protow_varint(&m.message, PF_COUNTERS_GPU, 1);
	gpu_value(&m, 3, PF_VALUE_INT, 1700);
	gpu_value(&m, 4, PF_VALUE_DOUBLE, 5);
	assay_protow_message(&m.packet, PF_PACKET_GPU_COUNTERS, &m.message);
	end_packet(&m);
	assay_run *run = read_back(&m);
	CHECK(run && run->part.t.counter.n == 2);
	const assay_counter_table *c = &run->part.t.counter;
	CHECK(c->value[0] == 1700 && c->value[1] == 2.5 && c->ts[1] == 200);
	CHECK(is(run, c->name[0], "Clock") && is(run, c->name[1], "counter"));
	CHECK(run->part.t.track.pid[c->track[0]] == 1);
	assay_protow_free(&spec);
	assay_run_free(run);
	return 0;
}

static void specification(maker *m, assay_protow *list, unsigned field, const char *name)
{
	assay_protow_string(&m->inner, 1, assay_str_of(name));
	assay_protow_message(list, field, &m->inner);
}

/* Queues and stages by their place in a list, as they were before they were interned. */
TEST(stages_of_old_traces_have_the_names_of_their_lists)
{
	enum { QUEUES = 2, STAGES = 3 };
	maker m = {0};
	assay_protow lists = {0};
	frame(&m, 1, PF_STATE_CLEARED, 0);
	specification(&m, &lists, QUEUES, "queue 0");
	specification(&m, &lists, QUEUES, "queue 1");
	specification(&m, &lists, STAGES, "Compute");
	specification(&m, &lists, STAGES, "MemcpyHtoD");
	assay_protow_message(&m.message, PF_STAGE_SPECIFICATIONS, &lists);
	assay_protow_message(&m.packet, PF_PACKET_GPU_STAGE, &m.message);
	end_packet(&m);
	for (uint64_t i = 0; i < 2; i++) {
		frame(&m, 1, PF_STATE_NEEDED, 100 * (i + 1));
		assay_protow_varint(&m.message, PF_STAGE_DURATION, 40);
		assay_protow_varint(&m.message, PF_STAGE_QUEUE_OLD, i);
		assay_protow_varint(&m.message, PF_STAGE_STAGE_OLD, i);
		assay_protow_message(&m.packet, PF_PACKET_GPU_STAGE, &m.message);
		end_packet(&m);
	}
	assay_run *run = read_back(&m);
	CHECK(run && run->part.t.gpu.n == 2);
	const assay_gpu_table *g = &run->part.t.gpu;
	CHECK(is(run, g->name[0], "Compute") && g->kind[0] == ASSAY_GPU_KERNEL);
	CHECK(is(run, g->name[1], "MemcpyHtoD") && g->kind[1] == ASSAY_GPU_MEMCPY);
	CHECK(g->ts[1] == 200 && g->dur[1] == 40);
	CHECK_EQ(run->part.t.track.tid[g->track[1]], 1);
	assay_protow_free(&lists);
	assay_run_free(run);
	return 0;
}

TEST(annotations_of_every_kind_are_kept_as_json)
{
	maker m = {0};
	assay_protow inner = {0};
	frame(&m, 1, PF_STATE_CLEARED, 0);
	intern(&m, PF_INTERNED_KEY, 8, "flag");
	intern(&m, PF_INTERNED_TEXT, 9, "a \"text\"");
	end_interned(&m);
	frame(&m, 1, PF_STATE_NEEDED, 10);
	assay_protow_varint(&m.inner, PF_NOTE_NAME_IID, 8);
	assay_protow_varint(&m.inner, PF_NOTE_BOOL, 1);
	assay_protow_message(&m.message, PF_EVENT_ANNOTATION, &m.inner);
	assay_protow_string(&m.inner, PF_NOTE_NAME, ASSAY_S("text"));
	assay_protow_varint(&m.inner, PF_NOTE_TEXT_IID, 9);
	assay_protow_message(&m.message, PF_EVENT_ANNOTATION, &m.inner);
	assay_protow_string(&m.inner, PF_NOTE_NAME, ASSAY_S("list"));
	for (int i = 0; i < 2; i++) {
		assay_protow_varint(&inner, PF_NOTE_INT, (uint64_t)-i);
		assay_protow_message(&m.inner, PF_NOTE_ARRAY, &inner);
	}
	assay_protow_message(&m.message, PF_EVENT_ANNOTATION, &m.inner);
	assay_protow_string(&m.inner, PF_NOTE_NAME, ASSAY_S("dict"));
	assay_protow_string(&inner, PF_NOTE_NAME, ASSAY_S("k"));
	assay_protow_f64(&inner, PF_NOTE_DOUBLE, 1.5);
	assay_protow_message(&m.inner, PF_NOTE_DICT, &inner);
	assay_protow_message(&m.message, PF_EVENT_ANNOTATION, &m.inner);
	assay_protow_string(&m.inner, PF_NOTE_NAME, ASSAY_S("json"));
	assay_protow_string(&m.inner, PF_NOTE_JSON, ASSAY_S("{\"a\": [1]}"));
	assay_protow_message(&m.message, PF_EVENT_ANNOTATION, &m.inner);
	assay_protow_string(&m.inner, PF_NOTE_NAME, ASSAY_S("broken"));
	assay_protow_string(&m.inner, PF_NOTE_JSON, ASSAY_S("{\"a\": "));
	assay_protow_message(&m.message, PF_EVENT_ANNOTATION, &m.inner);
	assay_protow_string(&m.inner, PF_NOTE_NAME, ASSAY_S("nothing"));
	assay_protow_message(&m.message, PF_EVENT_ANNOTATION, &m.inner);
	event(&m, 10, PF_INSTANT, "c", "noted");
	assay_run *run = read_back(&m);
	CHECK(run && run->part.t.host.n == 1);
	CHECK(is(
		run, run->part.t.host.args[0],
		"\"flag\": true, \"text\": \"a \\\"text\\\"\", \"list\": [0, -1], \"dict\": {\"k\": 1.5}, \"json\": {\"a\": [1]}, \"broken\": \"{\\\"a\\\": \", \"nothing\": null"));
	assay_protow_free(&inner);
	assay_run_free(run);
	return 0;
}

/* Two annotations with the same bytes each time. */
static void noted(maker *m, uint64_t sequence, uint64_t ts)
{
	frame(m, sequence, PF_STATE_NEEDED, ts);
	for (uint64_t i = 8; i < 10; i++) {
		assay_protow_varint(&m->inner, PF_NOTE_NAME_IID, i);
		assay_protow_varint(&m->inner, PF_NOTE_INT, i);
		assay_protow_message(&m->message, PF_EVENT_ANNOTATION, &m->inner);
	}
	event(m, 10, PF_INSTANT, "c", "noted");
}

static void name_key(maker *m, uint64_t sequence, uint64_t flags, uint64_t iid, const char *text)
{
	frame(m, sequence, flags, 0);
	intern(m, PF_INTERNED_KEY, iid, text);
	end_interned(m);
}

TEST(numbers_of_annotations_mean_what_they_do_there_and_then)
{
	static const char *const want[] = {
		"\"one\": 8", "\"one\": 8",  "\"one\": 8, \"two\": 9", "\"other\": 8, \"two\": 9",
		"\"far\": 8", "\"late\": 9",
	};
	maker m = {0};
	name_key(&m, 1, PF_STATE_CLEARED, 8, "one");
	noted(&m, 1, 10);
	noted(&m, 1, 20);
	name_key(&m, 1, PF_STATE_NEEDED, 9, "two");
	noted(&m, 1, 30);
	name_key(&m, 1, PF_STATE_NEEDED, 8, "other");
	noted(&m, 1, 40);
	name_key(&m, 2, PF_STATE_CLEARED, 8, "far");
	noted(&m, 2, 50);
	name_key(&m, 1, PF_STATE_CLEARED, 9, "late");
	noted(&m, 1, 60);
	assay_run *run = read_back(&m);
	CHECK(run && run->part.t.host.n == ASSAY_COUNT_OF(want));
	for (size_t i = 0; i < ASSAY_COUNT_OF(want); i++)
		CHECK(is(run, run->part.t.host.args[i], want[i]));
	assay_run_free(run);
	return 0;
}
