/* Rings of records: what is put in comes out, and what makes no sense stops there. */
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/test.h"
#include "wire/ring.h"

enum { RING = 256 };

/* Twenty-four bytes with a number behind its head. */
static void put(char *data, uint64_t *head, uint16_t type, uint64_t number)
{
	char *rec = (char *)assay_ring_place(data, RING, head, type, 24);
	memcpy(rec + 8, &number, sizeof number);
}

TEST(records_come_out_as_they_went_in_around_the_end_of_a_ring)
{
	_Alignas(8) char data[RING], out[RING];
	assay_ring r = {0};
	uint64_t head = 0, next, number = 0, got = 0;
	for (int lap = 0; lap < 40; lap++) {
		uint64_t before = head;
		for (int i = 0; i < 5; i++) {
			size_t need = assay_ring_need(RING, head, 24);
			uint64_t at = head;
			put(data, &head, ASSAY_WIRE_API, number++);
			CHECK_EQ(head - at, need);
		}
		size_t n = assay_ring_take(&r, data, RING, head, out, &next);
		CHECK_EQ(n, 5 * 24);
		CHECK(next == head && atomic_load(&r.tail) == before);
		for (size_t at = 0; at < n; at += 24) {
			assay_wire_rec rec;
			uint64_t value;
			memcpy(&rec, out + at, sizeof rec);
			memcpy(&value, out + at + 8, sizeof value);
			CHECK(rec.type == ASSAY_WIRE_API && rec.bytes == 24 && !rec.thread);
			CHECK_EQ(value, got++);
		}
		atomic_store(&r.tail, next);
	}
	CHECK_EQ(assay_ring_take(&r, data, RING, head, out, &next), 0);
	CHECK(next == head && head > 40 * 5 * 24); /* some of it was padding */
	return 0;
}

TEST(a_full_ring_is_taken_whole)
{
	_Alignas(8) char data[RING], out[RING];
	assay_ring r = {0};
	uint64_t head = 0, next;
	for (int i = 0; i < RING / 32; i++)
		assay_ring_place(data, RING, &head, ASSAY_WIRE_API, 32);
	CHECK_EQ(head, RING);
	CHECK_EQ(assay_ring_take(&r, data, RING, head, out, &next), RING);
	CHECK_EQ(next, RING);
	return 0;
}

/* The bytes taken of three records of 24 when the second one says it has so many. */
static size_t taken(uint64_t tail, uint16_t bytes, uint64_t *next)
{
	_Alignas(8) char data[RING], out[RING];
	assay_ring r = {0};
	uint64_t head = tail;
	for (uint64_t i = 0; i < 3; i++)
		put(data, &head, ASSAY_WIRE_API, i);
	assay_wire_rec odd = {ASSAY_WIRE_API, bytes, 0};
	memcpy(data + ((tail + 24) & (RING - 1)), &odd, sizeof odd);
	atomic_store(&r.tail, tail);
	return assay_ring_take(&r, data, RING, head, out, next);
}

TEST(taking_stops_at_a_record_that_makes_no_sense)
{
	static const struct {
		uint64_t tail;
		uint16_t bytes;
		size_t taken, passed;
	} cases[] = {
		{0, 24, 72, 72},         {0, 48, 72, 72}, /* as it is; over the third one */
		{0, 0, 24, 24},          {0, 4, 24, 24},
		{0, 20, 24, 24},                                  /* none; half; not aligned */
		{0, 56, 24, 24},                                  /* behind what was published */
		{RING - 48, 32, 24, 24},                          /* over the end of the ring */
		{RING - 72, 48, 72, 72}, {RING - 72, 56, 24, 24}, /* up to the end; over it */
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		uint64_t next;
		CHECK_EQ(taken(cases[i].tail, cases[i].bytes, &next), cases[i].taken);
		CHECK_EQ(next - cases[i].tail, cases[i].passed);
	}
	return 0;
}

TEST(nothing_is_taken_between_positions_that_make_no_sense)
{
	static const struct {
		uint64_t tail, end;
	} cases[] = {{24, 0}, {0, RING + 24}, {4, 76}, {0, 0}, {0, 4}};
	_Alignas(8) char data[RING], out[RING];
	uint64_t head = 0;
	for (uint64_t i = 0; i < 10; i++)
		put(data, &head, ASSAY_WIRE_API, i);
	memmove(data + 4, data, 24);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		uint64_t next = 99;
		assay_ring r = {.tail = cases[i].tail};
		CHECK_EQ(assay_ring_take(&r, data, RING, cases[i].end, out, &next), 0);
		CHECK_EQ(next, cases[i].tail);
	}
	return 0;
}

TEST(counts_are_told_by_kind_and_cause_but_not_of_what_tells_them)
{
	static assay_ring_file f;
	static assay_wire_tally out[ASSAY_RING_TALLIES];
	static const uint16_t untold[] = {ASSAY_WIRE_PAD,   ASSAY_WIRE_LOST,  ASSAY_WIRE_END,
					  ASSAY_WIRE_TALLY, ASSAY_WIRE_DEATH, ASSAY_WIRE_OPEN};
	_Alignas(8) char data[RING];
	uint64_t head = 0;
	for (size_t i = 0; i < sizeof untold / sizeof *untold; i++)
		put(data, &head, untold[i], 0);
	put(data, &head, ASSAY_WIRE_KERNEL, 0);
	put(data, &head, ASSAY_WIRE_KERNEL, 0);
	put(data, &head, ASSAY_WIRE_STRING, 0);
	assay_ring_count(&f, data, head);
	uint16_t last = ASSAY_WIRE_TYPE_COUNT - 1, cause = ASSAY_RING_CAUSES - 1;
	f.dropped[1][ASSAY_WIRE_KERNEL] = 5;
	f.dropped[2][0] = 4;
	f.written[ASSAY_WIRE_TYPE_COUNT % ASSAY_RING_KINDS] = 9; /* no type */
	f.dropped[cause][last] = 6;
	f.dropped[cause][0] = 7; /* counted, and told by nobody */
	f.dropped[cause][ASSAY_RING_KINDS - 1] = 8;
	CHECK(f.written[ASSAY_WIRE_KERNEL] == 2 && f.written[ASSAY_WIRE_LOST] == 1);
	const struct {
		uint16_t kind, cause;
		uint64_t count;
	} want[] = {{ASSAY_WIRE_STRING, 0, 1},
		    {ASSAY_WIRE_KERNEL, 0, 2},
		    {ASSAY_WIRE_KERNEL, 1, 5},
		    {last, cause, 6}};
	size_t n = assay_ring_tally(&f, out);
	CHECK_EQ(n, sizeof want / sizeof *want);
	for (size_t i = 0; i < n; i++) {
		CHECK(out[i].rec.type == ASSAY_WIRE_TALLY && out[i].rec.bytes == sizeof *out);
		CHECK_EQ(out[i].rec.thread, 0);
		CHECK(out[i].kind == want[i].kind && out[i].cause == want[i].cause);
		CHECK_EQ(out[i].count, want[i].count);
	}
	CHECK_EQ(assay_ring_dropped(&f, 1), 5);
	CHECK_EQ(assay_ring_dropped(&f, cause), 6 + 7 + 8);
	CHECK_EQ(assay_ring_dropped(&f, 2), 4);
	CHECK_EQ(assay_ring_dropped(&f, 3), 0);
	return 0;
}

TEST(counting_ends_at_a_record_without_a_size_and_before_half_a_head)
{
	static assay_ring_file f;
	assay_wire_rec rec[3] = {
		{ASSAY_WIRE_API, 8, 0}, {ASSAY_WIRE_API, 7, 0}, {ASSAY_WIRE_API, 8, 0}};
	assay_ring_count(&f, (char *)rec, sizeof rec);
	CHECK_EQ(f.written[ASSAY_WIRE_API], 1);
	assay_ring_count(&f, (char *)rec, sizeof *rec - 1);
	CHECK_EQ(f.written[ASSAY_WIRE_API], 1);
	rec[0].type =
		ASSAY_RING_KINDS + ASSAY_WIRE_API; /* of no recorder of ours: inside the table */
	assay_ring_count(&f, (char *)rec, sizeof *rec);
	CHECK_EQ(f.written[ASSAY_WIRE_API], 2);
	return 0;
}

TEST(a_ring_is_alive_while_its_process_holds_it)
{
	int fd = open(assay_test_path("ring"), O_RDWR | O_CREAT, 0600), held[2], go[2];
	char c;
	CHECK(fd >= 0 && !pipe(held) && !pipe(go) && !assay_ring_alive(fd));
	pid_t pid = fork();
	if (pid == 0) {
		close(go[1]);
		bool ok = assay_ring_own(fd) && write(held[1], "x", 1) == 1;
		_exit(!ok || read(go[0], &c, 1) != 0);
	}
	close(held[1]);
	CHECK_EQ(read(held[0], &c, 1), 1);
	CHECK(assay_ring_alive(fd) && !assay_ring_own(fd));
	close(go[1]);
	int status;
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	CHECK(!assay_ring_alive(fd) && assay_ring_own(fd));
	CHECK(assay_ring_own(-1) && !assay_ring_alive(-1)); /* no locks here: nobody is known to */
	close(fd);
	return 0;
}
