/* Perfetto's format as we write it, read again: long lines count their times from event to event
 * and name their track once, arguments that come again have numbers; no code of its own. */
#include <stdlib.h>
#include <string.h>

#include "base/test.h"
#include "model/perfetto.h"
#include "read/reader.h"
#include "perfetto_maker.h"
#include "write/writer.h"

#ifdef ASSAY_TEST

enum { LINES = 70, ROWS = 80 }; /* more lines than a sequence has clocks */

static const char *const args_of[] = {
	"\"Input Dims\": [[32, 1024], [1024]], \"Input type\": [\"float\", \"\"]",
	"\"shown\": \"[1, 2]\", \"kind\": \"Event Sync\", \"ok\": true",
	"\"shown\": \"{\", \"kind\": \"Event Sync\", \"o\": {\"a\": [1]}",
	"",
};

/* Rows of many threads, one inside the other, a row of each thread after that of the last. */
static assay_run *many_lines(void)
{
	assay_run *run = assay_run_new();
	assay_part *p = &run->part;
	assay_tables *t = &p->t;
	p->source = assay_add(t, ASSAY_T_source);
	t->source.epoch[p->source] = 1;
	t->source.base[p->source] = 1700000000000000000;
	assay_sid name = assay_sid_of(run, "aten::mul");
	for (uint32_t i = 0; i < LINES * ROWS; i++) {
		uint32_t h = assay_add(t, ASSAY_T_host);
		t->host.ts[h] = 1000 + 10 * (int64_t)(i / LINES) - i % 2;
		t->host.dur[h] = i / LINES % 2 ? 3 : 17;
		t->host.name[h] = name;
		t->host.kind[h] = ASSAY_HOST_OP;
		t->host.detail[h] = assay_add(t, ASSAY_T_op);
		t->op.ev_idx[t->host.detail[h]] = i;
		t->host.args[h] = assay_sid_of(run, args_of[i / LINES % ASSAY_COUNT_OF(args_of)]);
		t->host.track[h] = assay_thread_track(p, 9, i % LINES + 100);
	}
	return run;
}

static assay_run *written_and_read(const assay_run *run, size_t *bytes)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, bytes);
	bool ok = out && assay_writer_perfetto.write(run, out, NULL, NULL);
	if (out)
		fclose(out);
	assay_run *back = ok ? assay_read_bytes(&assay_reader_perfetto, text, *bytes) : NULL;
	free(text);
	return back;
}

TEST(long_lines_are_short_and_read_back_row_by_row)
{
	assay_run *run = many_lines();
	size_t bytes = 0;
	assay_run *back = written_and_read(run, &bytes);
	CHECK(back && back->part.t.host.n == LINES * ROWS);
	CHECK(bytes / (LINES * ROWS) < 64); /* a row, of two packets with 4 arguments */
	const assay_tables *a = &run->part.t, *b = &back->part.t;
	for (uint32_t i = 0; i < b->host.n; i++) {
		uint32_t of = b->op.ev_idx[b->host.detail[i]];
		CHECK(of < LINES * ROWS);
		CHECK_EQ(b->host.ts[i] + b->source.base[0], a->host.ts[of] + a->source.base[0]);
		CHECK_EQ(b->host.dur[i], a->host.dur[of]);
		CHECK_EQ(b->track.tid[b->host.track[i]], a->track.tid[a->host.track[of]]);
		CHECK(is(back, b->host.args[i], assay_z(run, a->host.args[of])));
	}
	assay_run_free(back);
	assay_run_free(run);
	return 0;
}

static void defaults(maker *m, uint64_t uuid, uint64_t clock)
{
	assay_protow_varint(&m->packet, PF_PACKET_SEQUENCE, 4);
	assay_protow_varint(&m->packet, PF_PACKET_FLAGS, PF_STATE_NEEDED);
	if (uuid) {
		assay_protow_varint(&m->inner, PF_EVENT_TRACK, uuid);
		assay_protow_message(&m->message, PF_DEFAULT_EVENT, &m->inner);
	}
	assay_protow_nonzero(&m->message, PF_DEFAULT_CLOCK, clock);
	assay_protow_message(&m->packet, PF_PACKET_DEFAULTS, &m->message);
	end_packet(m);
}

static void plain_instant(maker *m, uint64_t ts)
{
	frame(m, 4, PF_STATE_NEEDED, ts);
	assay_protow_varint(&m->message, PF_EVENT_TYPE, PF_INSTANT);
	assay_protow_message(&m->packet, PF_PACKET_EVENT, &m->message);
	end_packet(m);
}

/* A clock that counts on, a track; then only a track: times are the trace's again. */
TEST(new_defaults_take_the_place_of_all_old_ones)
{
	maker m = {0};
	static const uint64_t clocks[] = {PF_BOOTTIME, 70};
	for (size_t i = 0; i < ASSAY_COUNT_OF(clocks); i++) {
		assay_protow_varint(&m.inner, PF_CLOCK_ID, clocks[i]);
		assay_protow_varint(&m.inner, PF_CLOCK_TIME, 5000);
		assay_protow_nonzero(&m.inner, PF_CLOCK_INCREMENTAL, i);
		assay_protow_message(&m.message, PF_CLOCKS_CLOCK, &m.inner);
	}
	assay_protow_varint(&m.packet, PF_PACKET_SEQUENCE, 4);
	assay_protow_varint(&m.packet, PF_PACKET_FLAGS, PF_STATE_CLEARED);
	assay_protow_message(&m.packet, PF_PACKET_CLOCKS, &m.message);
	end_packet(&m);
	thread(&m, 10, 3, 4, "t");
	thread(&m, 11, 3, 5, "u");
	defaults(&m, 10, 70);
	plain_instant(&m, 50);
	plain_instant(&m, 50);
	defaults(&m, 11, 0);
	plain_instant(&m, 9000);
	defaults(&m, 0, 70);
	plain_instant(&m, 1);
	assay_run *run = read_back(&m);
	CHECK(run && run->part.t.host.n == 4);
	const assay_tables *t = &run->part.t;
	static const int64_t ts[] = {5050, 5100, 9000, 5101}, tid[] = {4, 4, 5};
	for (size_t i = 0; i < 4; i++)
		CHECK_EQ(t->host.ts[i], ts[i]);
	for (size_t i = 0; i < 3; i++)
		CHECK_EQ(t->track.tid[t->host.track[i]], tid[i]);
	CHECK(t->track.tid[t->host.track[3]] != 5);
	assay_run_free(run);
	return 0;
}

#endif
