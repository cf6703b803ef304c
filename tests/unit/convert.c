/* Wait cases that are about files: what is read, what is written, what viewers make of it. */
#include <stdlib.h>
#include <unistd.h>

#include "base/input.h"
#include "base/json.h"
#include "base/test.h"
#include "model/by_hand.h"
#include "read/reader.h"
#include "write/writer.h"

static assay_run *read_text(const char *text)
{
	assay_run *run = assay_run_new();
	assay_input *in = assay_input_memory(text, strlen(text));
	assay_err err = {0};
	bool ok = assay_read_input(run, in, &err) && assay_run_analyze(run, NULL, &err);
	assay_input_close(in);
	if (ok)
		return run;
	assay_run_free(run);
	return NULL;
}

/* The written trace, and whether it is valid JSON. */
static const char *written(assay_run *run, bool *valid)
{
	char *text = NULL;
	size_t n = 0, bad;
	uint32_t odd = 0;
	FILE *f = open_memstream(&text, &n);
	assay_write_run(&assay_writer_chrome, run, f, NULL, NULL);
	fclose(f);
	char *copy = assay_alloc(&run->arena, n + ASSAY_PAD);
	memcpy(copy, text, n);
	free(text);
	*valid = assay_json_check(copy, n, &odd, &bad) && !odd;
	return copy;
}

#define CALL(name, corr, ts, args)                                                                 \
	"{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"" name                                  \
	"\",\"pid\":1,\"tid\":2,\"ts\":" ts                                                        \
	",\"dur\":1.000,\"args\":{\"cid\":1,\"correlation\":" corr args "}},"
#define KERNEL(name, corr, stream, ts, dur)                                                        \
	"{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"" name "\",\"pid\":0,\"tid\":" stream         \
	",\"ts\":" ts ",\"dur\":" dur ",\"args\":{\"device\":0,\"stream\":" stream                 \
	",\"correlation\":" corr "}},"
#define SYNC(name, tid, corr, ts, args)                                                            \
	"{\"ph\":\"X\",\"cat\":\"cuda_sync\",\"name\":\"" name "\",\"pid\":0,\"tid\":" tid         \
	",\"ts\":" ts ",\"dur\":1.000,\"args\":{" args ",\"correlation\":" corr ",\"device\":0}},"
#define TRACE(events) "{\"schemaVersion\":1,\"traceEvents\":[" events "{}]}"

static const char hip_trace[] = TRACE(
	CALL("hipLaunchKernel", "5", "1.000", "") KERNEL("produce", "5", "3", "2.000", "50.000")
		CALL("hipEventRecord", "10", "3.000",
		     ",\"hip_event\":\"0x7f00\",\"hip_stream\":\"0x500\"")
			CALL("hipStreamWaitEvent", "20", "5.000",
			     ",\"sync_type\":\"stream_wait_event\",\"hip_event\":\"0x7f00\","
			     "\"hip_stream\":\"0x600\"")
				CALL("hipEventSynchronize", "30", "7.000",
				     ",\"hip_sync_kind\":\"event_synchronize\","
				     "\"hip_event\":\"0x7f00\",\"hip_stream\":\"0x0\""));

TEST(event_records_stay_in_the_trace)
{
	assay_run *run = read_text(hip_trace);
	bool valid;
	CHECK(run && run->part.t.host.n == 4);
	CHECK(strstr(written(run, &valid), "\"hipEventRecord\"") && valid);
	assay_run_free(run);
	return 0;
}

TEST(resolving_adds_no_events)
{
	assay_run *run = read_text(hip_trace);
	CHECK(run && run->part.t.host.n == 4 && run->part.t.gpu.n == 1);
	CHECK(run->part.t.sync.n == 0 && run->part.t.wait.n == 2);
	assay_run_free(run);
	return 0;
}

/* Perfetto puts threads with longer numbers together on one row, and drops what overlaps there. */
TEST(threads_that_xla_numbers_by_hashes_get_numbers_of_32_bits)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	const int64_t tid[] = {5520340305237897665, 2, -1472503042444199177, 5520340305237897665};
	uint32_t source = assay_add(t, ASSAY_T_source);
	t->source.traits[source] = ASSAY_TRAIT_PLANES;
	run->part.source = source;
	for (uint32_t i = 0; i < ASSAY_COUNT_OF(tid); i++) {
		uint32_t h = assay_hand_host(run, ASSAY_HOST_OP, "a", 1000 * i, 5);
		assay_sid name = assay_intern_z(&run->part.strings, i == 3 ? "other" : "line");
		t->host.track[h] = assay_track(&run->part, ASSAY_TRACK_THREAD, 7, tid[i], 0, name);
	}
	bool valid;
	const char *at = written(run, &valid);
	CHECK(valid);
	static const int expected[] = {3, 2, 4, 3}; /* 1 is of another */
	for (size_t i = 0; i < ASSAY_COUNT_OF(expected); i++) {
		at = strstr(at, "\"ph\": \"X\"");
		CHECK(at && (at = strstr(at, "\"tid\": ")) && atoi(at + 7) == expected[i]);
	}
	CHECK(!strstr(at, "5520340305237897665"));
	assay_run_free(run);
	return 0;
}

TEST(both_names_of_the_kind_are_read_and_written)
{
	assay_run *run = read_text(hip_trace);
	bool valid;
	CHECK(run && run->part.t.wait.n == 2);
	const assay_wait_table *w = &run->part.t.wait;
	CHECK(w->class[0] == ASSAY_WAIT_IS_LIKELY && w->record_corr[0] == 10);
	CHECK(w->class[1] == ASSAY_WAIT_IS_LIKELY && w->record_corr[1] == 10);
	const char *text = written(run, &valid);
	CHECK(valid && strstr(text, "\"hip_sync_kind\": \"stream_wait_event\""));
	CHECK(strstr(text, "\"sync_type\": \"event_synchronize\""));
	CHECK(strstr(text, "\"wait_on_hip_event_record_corr_id\": 10"));
	CHECK(strstr(text, "\"wait_on_hip_event_id\": \"0x7f00\""));
	assay_run_free(run);
	return 0;
}

TEST(an_event_sync_is_on_no_stream_whatever_the_row_says)
{
	assay_run *run = read_text(hip_trace);
	const assay_wait_table *w = &run->part.t.wait;
	CHECK(w->consumer[1] == ASSAY_NO_ROW && w->consumer_handle[1] == ASSAY_NO_HANDLE);
	CHECK(w->consumer_handle[0] == 0x600 && w->producer_handle[0] == 0x500);
	assay_run_free(run);
	return 0;
}

TEST(waits_without_work_are_kept_and_syncs_have_rows_of_their_own)
{
	assay_run *run = read_text(TRACE(KERNEL("k", "5", "7", "0.000", "9.000") SYNC(
		"Stream Wait Event", "99", "20", "2.000",
		"\"wait_on_stream\":-1,\"wait_on_cuda_event_record_corr_id\":-1,"
		"\"wait_on_cuda_event_id\":4,\"stream\":99") SYNC("Stream Sync", "7", "30", "3.000",
								  "\"stream\":7")));
	bool valid;
	CHECK(run && run->part.t.wait.n == 2);
	const char *text = written(run, &valid);
	CHECK(valid && strstr(text, "\"pid\": 0, \"tid\": 1000007"));
	CHECK(strstr(text, "\"stream 7 (sync)\""));
	assay_run_free(run);
	return 0;
}

TEST(no_stream_is_minus_one)
{
	assay_run *run = read_text(TRACE(KERNEL("k", "5", "7", "0.000", "9.000") SYNC(
		"Context Sync", "1", "30", "3.000", "\"stream\":4294967295")));
	bool valid;
	const char *text = written(run, &valid);
	CHECK(valid && !strstr(text, "4294967295") && strstr(text, "\"stream\": -1"));
	CHECK(run->part.t.wait.producer_gpu[0] == 0);
	assay_run_free(run);
	return 0;
}

TEST(default_stream_kernels_keep_their_row)
{
	assay_run *run = read_text(TRACE(CALL("hipLaunchKernel", "5", "1.000", "") KERNEL(
		"on null", "5", "0", "2.000", "5.000") CALL("hipLaunchKernel", "6", "2.000", "")
						 KERNEL("on a", "6", "4", "8.000", "5.000")));
	const assay_tables *t = &run->part.t;
	CHECK(t->gpu.n == 2 && t->track.tid[t->gpu.track[0]] == 0);
	CHECK_EQ(t->track.tid[t->gpu.track[1]], 4);
	assay_run_free(run);
	return 0;
}

TEST(any_name_makes_valid_json)
{
	assay_run *run =
		read_text(TRACE(KERNEL("a\\\"b\\\\c\\nd\\u0001e", "5", "7", "0.000", "9.000") CALL(
			"x", "5", "0.000", ",\"odd\":NaN,\"raw\":\"tab\there\",\"big\":1e999")));
	bool valid;
	CHECK(run);
	const char *text = written(run, &valid);
	CHECK(valid && strstr(text, "a\\\"b\\\\c\\nd\\u0001e"));
	assay_run_free(run);
	return 0;
}

TEST(times_are_exact_to_the_nanosecond)
{
	assay_run *run = read_text(TRACE(KERNEL("k", "5", "7", "1695835572943623.123", "0.007")));
	bool valid;
	const char *text = written(run, &valid);
	CHECK(valid && strstr(text, "\"ts\": 1695835572943623.123, \"dur\": 0.007"));
	assay_run_free(run);
	return 0;
}

/* Every arrow of ours has a start and an end. */
TEST(arrows_of_waits_have_two_ends)
{
	assay_run *run = read_text(TRACE(
		CALL("cudaLaunchKernel", "5", "1.000", "") KERNEL("p", "5", "7", "2.000", "50.000")
			CALL("cudaEventRecord", "10", "3.000", "")
				CALL("cudaStreamWaitEvent", "20", "5.000", "")
					SYNC("Stream Wait Event", "9", "20", "5.000",
					     "\"wait_on_stream\":7,"
					     "\"wait_on_cuda_event_record_corr_id\":10,"
					     "\"wait_on_cuda_event_id\":4,\"stream\":9")
						CALL("cudaLaunchKernel", "25", "6.000", "")
							KERNEL("c", "25", "9", "60.000", "5.000")));
	bool valid;
	CHECK(run && run->part.t.edge.n == 1);
	CHECK_EQ(run->part.t.wait.delayed[0], 46000); /* launched at 6, could go on at 52 us */
	int starts = 0, ends = 0;
	for (const char *p = written(run, &valid); (p = strstr(p, "\"cat\": \"stream_dep\""));
	     p++) {
		ends += strstr(p, "\"bp\"") && strstr(p, "\"bp\"") < strchr(p, '}');
		starts++;
	}
	CHECK(valid && starts == 2 && ends == 1);
	assay_run_free(run);
	return 0;
}

TEST(a_record_row_of_kineto_resolves_waits_by_its_number)
{
	assay_run *run = read_text(TRACE(
		CALL("cudaLaunchKernel", "5", "1.000", "") KERNEL("p", "5", "7", "2.000", "50.000")
			CALL("cudaEventRecord", "10", "3.000",
			     "") "{\"ph\":\"X\",\"cat\":\"cuda_event\",\"name\":\"cudaEvent\","
				 "\"pid\":0,"
				 "\"tid\":7,\"ts\":52.000,\"dur\":0.001,\"args\":{\"event_id\":4,"
				 "\"stream\":7,\"correlation\":10,\"device\":0,\"context\":1}}"
				 "," CALL("cudaEventSynchronize", "20", "5.000", "")
					 SYNC("Event Sync", "1", "20", "5.000",
					      "\"wait_on_stream\":-1,"
					      "\"wait_on_cuda_event_record_corr_id\":-1,"
					      "\"wait_on_cuda_event_id\":4,\"stream\":-1")));
	bool valid;
	CHECK(run && run->part.t.wait.n == 1);
	CHECK(run->part.t.wait.record_corr[0] == 10 && run->part.t.wait.producer_gpu[0] == 0);
	const char *text = written(run, &valid);
	CHECK(valid && strstr(text, "\"wait_on_cuda_event_record_corr_id\": 10"));
	assay_run_free(run);
	return 0;
}

TEST(devices_come_behind_processes_whatever_their_number)
{
	static const char *const orders[] = {"\"sort_index\": 5000003",
					     "\"sort_index\": 9223372036854775807"};
	static const char *const devices[] = {"3", "9223372036854775807"};
	for (int i = 0; i < 2; i++) {
		char text[400];
		snprintf(text, sizeof text,
			 "[{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":%s,\"tid\":7,"
			 "\"ts\":1,\"dur\":2,\"args\":{\"device\":%s,\"stream\":7}}]",
			 devices[i], devices[i]);
		assay_run *run = read_text(text);
		bool valid;
		CHECK(run && strstr(written(run, &valid), orders[i]) && valid);
		assay_run_free(run);
	}
	return 0;
}
