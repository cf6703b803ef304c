/* A Perfetto trace with all that several threads can read and much that they cannot, in turns. */
#include "perfetto_maker.h"

#include <stdlib.h>

enum { EVENTS = 30000, FAR_KEY = 40, LOST = 99 /* a sequence whose beginning is not there */ };

static void named(maker *m, unsigned kind, uint64_t iid, const char *text)
{
	assay_protow_varint(&m->inner, PF_NAMED_IID, iid);
	assay_protow_string(&m->inner, PF_NAMED_TEXT, assay_str_of(text));
	assay_protow_message(&m->message, kind, &m->inner);
}

static void say_names(maker *m, uint64_t sequence, uint64_t flags, int round)
{
	char text[64];
	frame(m, sequence, flags, 0);
	named(m, PF_INTERNED_CATEGORY, 1, "kernel");
	named(m, PF_INTERNED_CATEGORY, 2, "cpu_op");
	for (uint64_t i = 1; i < 10; i++) {
		snprintf(text, sizeof text, "name %d of %d", (int)i, round);
		named(m, PF_INTERNED_NAME, i, text);
	}
	named(m, PF_INTERNED_KEY, 1, "correlation");
	named(m, PF_INTERNED_KEY, 2, round % 2 ? "other" : "External id");
	assay_protow_message(&m->packet, PF_PACKET_INTERNED, &m->message);
	end_packet(m);
}

/* A key so long that a few events ask for more than a reader ahead may. */
static void say_far_key(maker *m)
{
	static char text[120001];
	memset(text, 'k', sizeof text - 1);
	frame(m, 1, PF_STATE_NEEDED, 0);
	named(m, PF_INTERNED_KEY, FAR_KEY, text);
	assay_protow_message(&m->packet, PF_PACKET_INTERNED, &m->message);
	end_packet(m);
}

static void note(maker *m, uint64_t key, uint64_t value)
{
	assay_protow_varint(&m->inner, PF_NOTE_NAME_IID, key);
	assay_protow_varint(&m->inner, PF_NOTE_UINT, value);
	assay_protow_message(&m->message, PF_EVENT_ANNOTATION, &m->inner);
}

static void usual(maker *m, uint64_t i, unsigned type)
{
	uint64_t sequence = i % 5000 == 1200 ? LOST : 1 + i % 2;
	frame(m, sequence, PF_STATE_NEEDED, 1000 + 10 * i + (type == PF_SLICE_END) * 5);
	assay_protow_varint(&m->message, PF_EVENT_TYPE, type);
	assay_protow_varint(&m->message, PF_EVENT_TRACK, 10 + i % 3);
	if (type == PF_SLICE_BEGIN) {
		assay_protow_varint(&m->message, PF_EVENT_CATEGORY_IID, 1 + i % 3);
		assay_protow_varint(&m->message, PF_EVENT_NAME_IID, 1 + i % 11);
		note(m, 1, i);
		note(m, 2 + i % 2, i % 50);
		bool often = i > EVENTS / 2 && i < EVENTS / 4 * 3, after = i >= EVENTS / 4 * 3;
		if ((often && i % 3 == 0) || (after && i % 30 == 0))
			note(m, FAR_KEY, i % 3);
	}
	if (i % 40 == 7)
		assay_protow_string(&m->message, PF_EVENT_NAME,
				    i % 80 == 7 ? ASSAY_S("own") : ASSAY_S("another"));
	assay_protow_message(&m->packet, PF_PACKET_EVENT, &m->message);
	end_packet(m);
}

static void clock_at(maker *m, uint64_t id, uint64_t time)
{
	assay_protow_varint(&m->inner, PF_CLOCK_ID, id);
	assay_protow_varint(&m->inner, PF_CLOCK_TIME, time);
	assay_protow_nonzero(&m->inner, PF_CLOCK_INCREMENTAL, id != PF_BOOTTIME);
	assay_protow_message(&m->message, PF_CLOCKS_CLOCK, &m->inner);
}

/* A track with a clock of its own as the sequence's default, what it tells, and no default. */
static void line(maker *m, uint64_t i)
{
	uint64_t clock = PF_SEQUENCE_CLOCKS + i % 64;
	frame(m, 2, PF_STATE_NEEDED, i);
	thread(m, 100 + i, 1, 100 + i, "of a line");
	assay_protow_varint(&m->packet, PF_PACKET_SEQUENCE, 2);
	assay_protow_varint(&m->packet, PF_PACKET_FLAGS, PF_STATE_NEEDED);
	clock_at(m, PF_BOOTTIME, 5000 + i);
	clock_at(m, clock, 5000 + i);
	assay_protow_message(&m->packet, PF_PACKET_CLOCKS, &m->message);
	assay_protow_varint(&m->inner, PF_EVENT_TRACK, 100 + i);
	assay_protow_message(&m->message, PF_DEFAULT_EVENT, &m->inner);
	assay_protow_varint(&m->message, PF_DEFAULT_CLOCK, clock);
	assay_protow_message(&m->packet, PF_PACKET_DEFAULTS, &m->message);
	end_packet(m);
	for (unsigned k = 0; k < 3; k++) {
		frame(m, 2, PF_STATE_NEEDED, 10 + k);
		assay_protow_varint(&m->message, PF_EVENT_TYPE, PF_INSTANT);
		assay_protow_varint(&m->message, PF_EVENT_NAME_IID, 1 + k);
		assay_protow_message(&m->packet, PF_PACKET_EVENT, &m->message);
		end_packet(m);
	}
	assay_protow_varint(&m->packet, PF_PACKET_SEQUENCE, 2);
	assay_protow_varint(&m->packet, PF_PACKET_FLAGS, PF_STATE_NEEDED);
	assay_protow_bytes(&m->packet, PF_PACKET_DEFAULTS, ASSAY_S(""));
	end_packet(m);
}

/* What ends a reading ahead, of many kinds. */
static void unusual(maker *m, int i)
{
	switch (i % 7) {
	case 0:
		say_names(m, 1, PF_STATE_CLEARED, i);
		break;
	case 1:
		frame(m, 2, PF_STATE_NEEDED, 5);
		note_int(m, "inline", i);
		event(m, 10, PF_INSTANT, "strange", "inline");
		break;
	case 2:
		frame(m, 98, PF_STATE_NEEDED, 5); /* nothing is known of it */
		event(m, 10, PF_INSTANT, NULL, "lost");
		break;
	case 3:
		assay_protow_varint(&m->packet, PF_PACKET_SEQUENCE, 1);
		event(m, 11, PF_INSTANT, NULL, "no time");
		break;
	case 4:
		assay_protow_raw(&m->packet, (assay_str){"\xff\xff\xff", 3});
		end_packet(m);
		break;
	case 5:
		frame(m, 1, PF_STATE_NEEDED, UINT64_MAX / 2); /* out of range */
		note(m, 1, 1000000);
		event(m, 11, PF_SLICE_BEGIN, NULL, "far");
		break;
	default:
		frame(m, 1, PF_STATE_NEEDED, 7);
		assay_protow_f64(&m->message, PF_EVENT_VALUE, i);
		event(m, 12, PF_COUNTER, NULL, NULL);
		break;
	}
}

static assay_run *read_with(const char *threads)
{
	maker m = {0};
	say_names(&m, 1, PF_STATE_CLEARED, 0);
	say_names(&m, 2, PF_STATE_CLEARED, 1);
	say_far_key(&m);
	frame(&m, LOST, 0, 0);
	thread(&m, 10, 1, 1, "t");
	for (uint64_t i = 0; i < EVENTS; i++) {
		usual(&m, i, PF_SLICE_BEGIN);
		if (i % 977)
			usual(&m, i, PF_SLICE_END);
		if (i % 2500 == 2400)
			unusual(&m, (int)(i / 2500));
		if (i % 2500 == 0)
			say_far_key(&m);
		if (i % 500 == 250)
			line(&m, i);
	}
	setenv("ASSAY_THREADS", threads, 1);
	assay_run *run = read_back(&m);
	unsetenv("ASSAY_THREADS");
	return run;
}

static uint64_t digest(const assay_run *run)
{
	const assay_tables *t = &run->part.t;
	uint64_t sum = assay_hash(run->part.issues, sizeof run->part.issues, t->source.records[0]);
	for (size_t i = 0; i < t->host.n; i++) {
		int64_t v[] = {t->host.ts[i],   t->host.dur[i],  t->host.name[i],
			       t->host.args[i], t->host.kind[i], t->track.tid[t->host.track[i]]};
		sum = assay_hash(v, sizeof v, sum);
	}
	for (size_t i = 0; i < t->gpu.n; i++) {
		int64_t v[] = {t->gpu.ts[i],   t->gpu.dur[i],           t->gpu.name[i],
			       t->gpu.args[i], (int64_t)t->gpu.corr[i], t->gpu.external[i]};
		sum = assay_hash(v, sizeof v, sum);
	}
	sum = assay_hash(t->counter.ts, t->counter.n * sizeof *t->counter.ts, sum);
	for (assay_sid i = 0; i < run->part.strings.str.n; i++) {
		assay_str s = assay_text(run, i);
		sum = assay_hash(s.p, s.n, sum);
	}
	return sum;
}

/* How many have their three events on their own track, at their times. */
static unsigned lines_of(const assay_run *run)
{
	const assay_tables *t = &run->part.t;
	unsigned found = 0;
	for (size_t i = 0; i < t->host.n; i++) {
		int64_t line = t->track.tid[t->host.track[i]] - 100;
		found += line > 0 && t->host.ts[i] == 5000 + line + 10 + 11 + 12;
	}
	return found;
}

TEST(packets_read_the_same_with_any_number_of_threads)
{
	static const char *const threads[] = {"1", "2", "3", "7"};
	uint64_t first = 0;
	for (size_t i = 0; i < ASSAY_COUNT_OF(threads); i++) {
		assay_run *run = read_with(threads[i]);
		CHECK(run && run->part.t.gpu.n > EVENTS / 4 && run->part.t.host.n > EVENTS / 4);
		CHECK_EQ(lines_of(run), EVENTS / 500);
		CHECK(run->part.issues[ASSAY_ISSUE_wide_value] > 100);
		CHECK(run->part.issues[ASSAY_ISSUE_lost_records] &&
		      run->part.issues[ASSAY_ISSUE_bad_record]);
		first = i ? first : digest(run);
		CHECK_EQ(digest(run), first);
		assay_run_free(run);
	}
	return 0;
}
