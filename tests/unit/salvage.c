/* A salvage that is itself killed at any byte is done again, and the capture holds every record
 * once. */
#define _GNU_SOURCE /* memfd_create */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/test.h"
#include "read/reader.h"
#include "wire/ring.h"
#include "wire/salvage.h"

enum { RING = 4096, MARKS = 12 };

/* Marks in the recorder's ring and in two threads'; a write under way, and a gap. */
static int make_rings(void)
{
	static assay_ring_file f;
	static char data[RING];
	int fd = memfd_create("ring", 0);
	memset(&f, 0, sizeof f);
	f.magic = ASSAY_RING_MAGIC;
	f.pid = 5;
	f.ring_bytes = RING;
	f.used = 2;
	f.seq = 1;
	f.bulk.id = 1;
	for (uint32_t i = 0; i < 2; i++) {
		assay_ring *r = &f.ring[i];
		uint64_t head = 0;
		r->id = i + 2;
		r->tid = 70 + i;
		r->state = ASSAY_RING_LIVE;
		r->lost = i * 3;
		for (int k = 0; k < MARKS; k++) {
			assay_wire_range *g = (void *)assay_ring_place(data, RING, &head,
								       ASSAY_WIRE_RANGE, sizeof *g);
			*g = (assay_wire_range){
				.rec = g->rec, .time = k, .op = ASSAY_WIRE_RANGE_MARK};
			r->writing = k == 4 ? head : r->writing;
		}
		r->head = head;
		if (pwrite(fd, data, RING, (off_t)assay_ring_at(i, RING)) != RING)
			abort();
	}
	if (pwrite(fd, &f, sizeof f, 0) != (ssize_t)sizeof f)
		abort();
	return fd;
}

static int make_capture(void)
{
	assay_wire_process p = {{ASSAY_WIRE_PROCESS, sizeof p, 0}, .pid = 5, .start = 1};
	assay_wire_chunk c = {.pid = 5};
	int fd = memfd_create("capture", 0);
	assay_wire_seal(&c, &p, sizeof p);
	if (fcntl(fd, F_SETFL, O_APPEND) < 0 || write(fd, &c, sizeof c) != (ssize_t)sizeof c ||
	    write(fd, &p, sizeof p) != sizeof p)
		abort();
	return fd;
}

static assay_run *read_capture(int fd)
{
	off_t n = lseek(fd, 0, SEEK_END);
	char *bytes = malloc((size_t)n);
	if (!bytes || pread(fd, bytes, (size_t)n, 0) != n)
		abort();
	assay_run *run = assay_read_bytes(&assay_reader_capture, bytes, (size_t)n);
	free(bytes);
	return run;
}

static bool is_whole(int capture)
{
	assay_run *run = read_capture(capture);
	const uint64_t *issues = run->part.issues;
	bool ok = run->part.t.host.n == 2 * MARKS && issues[ASSAY_ISSUE_lost_records] == 3 &&
		  !issues[ASSAY_ISSUE_damaged_chunk] && !issues[ASSAY_ISSUE_truncated] &&
		  !issues[ASSAY_ISSUE_lost_in_file];
	assay_run_free(run);
	return ok;
}

TEST(a_salvage_cut_at_any_byte_is_done_again)
{
	assay_salvaged out;
	int ring = make_rings(), capture = make_capture();
	off_t start = lseek(capture, 0, SEEK_END);
	CHECK(assay_salvage_rings(ring, capture, &out));
	CHECK_EQ(out.records, 2 * MARKS);
	off_t whole = lseek(capture, 0, SEEK_END);
	CHECK(is_whole(capture));
	char *bytes = malloc((size_t)whole);
	CHECK(bytes && pread(capture, bytes, (size_t)whole, 0) == whole);
	for (off_t cut = start; cut <= whole; cut++) {
		CHECK(ftruncate(capture, 0) == 0);
		CHECK(write(capture, bytes, (size_t)cut) == cut);
		CHECK(assay_salvage_rings(ring, capture, &out));
		CHECK(is_whole(capture));
	}
	free(bytes);
	close(ring);
	close(capture);
	return 0;
}
