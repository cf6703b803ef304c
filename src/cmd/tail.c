#define _GNU_SOURCE /* memfd_create */
#include "cmd/tail.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/test.h"

enum { PIECE = 1 << 20 };

static char *room(tail_bytes *b, size_t n)
{
	assay_vec_reserve(b, b->n + n);
	b->n += n;
	return b->p + b->n - n;
}

static void add(tail_bytes *b, const void *p, size_t n)
{
	if (n)
		memcpy(room(b, n), p, n);
}

static void add_chunk(tail_bytes *b, assay_wire_chunk c, const void *payload, size_t n)
{
	assay_wire_seal(&c, payload, n);
	add(b, &c, sizeof c);
	add(b, payload, n);
}

/* ---- in ---- */

/* The chunk at a place of kept, whole; false: none. */
static bool chunk_at(const assay_tail *t, size_t at, assay_wire_chunk *c)
{
	size_t n = t->kept.n - at;
	if (n < sizeof *c || assay_wire_check(t->kept.p + at, n))
		return false;
	memcpy(c, t->kept.p + at, sizeof *c);
	return c->header_bytes == sizeof *c && c->bytes % ASSAY_WIRE_ALIGN == 0 &&
	       c->bytes <= n - sizeof *c;
}

/* False: what stands there will never be one. */
static bool may_become_chunk(const char *p, size_t n)
{
	assay_wire_chunk c;
	if (n < sizeof c)
		return true;
	memcpy(&c, p, sizeof c);
	return !assay_wire_check(p, n) && c.header_bytes == sizeof c &&
	       c.bytes % ASSAY_WIRE_ALIGN == 0;
}

/* Bytes that are no whole chunk yet are read again with what follows. */
static void read_file(assay_tail *t)
{
	int fd = open(t->path, O_RDONLY | O_CLOEXEC);
	size_t before = t->kept.n, end = before;
	assay_wire_chunk c;
	if (fd < 0)
		return;
	for (ssize_t n = 1; n > 0;) {
		off_t at = (off_t)(t->read + (t->kept.n - before));
		n = pread(fd, room(&t->kept, PIECE), PIECE, at);
		t->kept.n -= PIECE - (n > 0 ? (size_t)n : 0);
	}
	close(fd);
	for (; chunk_at(t, end, &c); end += sizeof c + c.bytes) {
		t->since = t->since ? t->since : c.time;
		t->last = c.time;
	}
	t->damaged = !may_become_chunk(t->kept.p + end, t->kept.n - end);
	t->read += end - before;
	t->kept.n = end;
}

/* ---- out ---- */

static void note_switch(assay_tail *t, const assay_wire_rec *rec)
{
	assay_wire_switch s;
	if (rec->type != ASSAY_WIRE_SWITCH || rec->bytes < sizeof s)
		return;
	memcpy(&s, rec, sizeof s);
	t->off = !s.on;
}

/* The records of a payload that name things, into `out` of as much room. */
static size_t sift(assay_tail *t, const char *payload, size_t n, char *out)
{
	size_t kept = 0;
	for (size_t at = 0; at < n;) {
		const assay_wire_rec *rec = (const void *)(payload + at);
		note_switch(t, rec);
		if (assay_keep_names(rec)) {
			memcpy(out + kept, rec, rec->bytes);
			kept += rec->bytes;
		}
		at += rec->bytes;
	}
	return kept;
}

static void drop_payload(assay_tail *t, const assay_wire_chunk *c)
{
	size_t start = t->names.n;
	char *out = room(&t->names, sizeof *c + c->bytes) + sizeof *c;
	const char *payload = t->kept.p + t->first + sizeof *c;
	size_t n = sift(t, payload, c->bytes, out);
	assay_wire_chunk names = *c;
	names.pos |= 4; /* positions of records are multiples of 8 */
	assay_wire_seal(&names, out, n);
	memcpy(out - sizeof names, &names, sizeof names);
	t->names.n = n ? start + sizeof names + n : start;
	if (!t->opens.n)
		memset(assay_push(&t->opens), 0, offsetof(assay_keep_opens, open));
	assay_keep_pass(t->opens.p, c, payload, false);
}

static void drop_first(assay_tail *t, const assay_wire_chunk *c)
{
	const char *payload = t->kept.p + t->first + sizeof *c;
	if (assay_wire_sum(payload, c->bytes) == c->sum && assay_keep_sound(payload, c->bytes))
		drop_payload(t, c);
	t->cut = c->time;
	t->first += sizeof *c + c->bytes;
}

void assay_tail_read(assay_tail *t, int64_t least, int64_t most, size_t bytes)
{
	assay_wire_chunk c;
	if (!t->damaged)
		read_file(t);
	while (chunk_at(t, t->first, &c) &&
	       c.time < t->last - (t->kept.n - t->first > bytes ? least : most))
		drop_first(t, &c);
	if (t->first > t->kept.n / 2) {
		memmove(t->kept.p, t->kept.p + t->first, t->kept.n - t->first);
		t->kept.n -= t->first;
		t->first = 0;
	}
}

/* ---- as a capture ---- */

/* Chunks are numbered: those before the kept ones get the number before theirs. */
static uint32_t number_names(assay_tail *t)
{
	assay_wire_chunk c = {0};
	uint32_t seq = chunk_at(t, t->first, &c) && c.seq ? c.seq - 1 : 0;
	for (size_t at = 0; at + sizeof c <= t->names.n; at += sizeof c + c.bytes) {
		memcpy(&c, t->names.p + at, sizeof c);
		c.seq = seq;
		c.header_sum = assay_wire_sum(&c, offsetof(assay_wire_chunk, header_sum));
		memcpy(t->names.p + at, &c, sizeof c);
	}
	return seq;
}

/* The stretch that was dropped, and the ranges that are open at its end. */
static void add_gap(const assay_tail *t, uint32_t seq, tail_bytes *out)
{
	assay_wire_switch gap[2] = {
		{{ASSAY_WIRE_SWITCH, sizeof *gap, 0}, t->since, 0, ASSAY_WIRE_OFF_NOT_KEPT},
		{{ASSAY_WIRE_SWITCH, sizeof *gap, 0}, t->cut, 1, 0}};
	assay_wire_chunk c = {.time = t->cut, .seq = seq};
	if (!t->cut)
		return;
	add_chunk(out, c, gap, (t->off ? 1 : 2) * sizeof *gap);
	for (uint32_t i = 0; t->opens.n && i < t->opens.p->n; i++) {
		_Alignas(8) char record[sizeof(assay_keep_open)];
		size_t n = assay_keep_tell(t->opens.p, i, t->since, &c, record);
		add_chunk(out, c, record, n);
	}
}

static bool write_all(int fd, const char *p, size_t n)
{
	while (n) {
		ssize_t done = write(fd, p, n);
		if (done <= 0)
			return false;
		p += done;
		n -= (size_t)done;
	}
	return true;
}

static bool copy_rings(int from, int to)
{
	char piece[1 << 16];
	off_t at = 0;
	for (ssize_t n; from >= 0 && (n = pread(from, piece, sizeof piece, at)) > 0; at += n)
		if (!write_all(to, piece, (size_t)n))
			return false;
	return true;
}

int assay_tail_capture(assay_tail *t, int rings)
{
	int fd = memfd_create("assay", MFD_CLOEXEC);
	tail_bytes gap = {0};
	if (fd < 0)
		return -1;
	add_gap(t, number_names(t), &gap);
	bool ok = write_all(fd, t->names.p, t->names.n) && write_all(fd, gap.p, gap.n) &&
		  write_all(fd, t->kept.p + t->first, t->kept.n - t->first) &&
		  copy_rings(rings, fd);
	assay_vec_free(&gap);
	if (ok)
		return fd;
	close(fd);
	return -1;
}

void assay_tail_free(assay_tail *t)
{
	assay_vec_free(&t->names);
	assay_vec_free(&t->kept);
	assay_vec_free(&t->opens);
}

#ifdef ASSAY_TEST /* what only they use */
typedef struct put_chunk {
	tail_bytes bytes;
	uint32_t seq;
} put_chunk;

static void put(put_chunk *f, uint32_t ring, int64_t time, const void *records, size_t n)
{
	assay_wire_chunk c = {
		.ring = ring, .pos = 8ull * f->seq, .time = time, .seq = f->seq, .pid = 7};
	f->seq++;
	add_chunk(&f->bytes, c, records, n);
}

/* A text, a range that is opened, and a call, at a time. */
static void put_some(put_chunk *f, int64_t time)
{
	struct {
		assay_wire_string string;
		char text[8];
		assay_wire_range range;
		assay_wire_api api;
	} r = {{{ASSAY_WIRE_STRING, sizeof r.string + 8, 0}, f->seq + 1, 8},
	       "a name",
	       {.rec = {ASSAY_WIRE_RANGE, sizeof r.range, 0},
		.time = time,
		.name = f->seq + 1,
		.op = ASSAY_WIRE_RANGE_PUSH},
	       {.rec = {ASSAY_WIRE_API, sizeof r.api, 0}, .start = time, .end = time + 1}};
	put(f, 1, time, &r, sizeof r);
}

/* How many records of a type a capture has; UINT64_MAX: its chunks are not in order. */
static uint64_t count(int fd, uint16_t type)
{
	assay_tail whole = {0};
	char path[64];
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	whole.path = path;
	read_file(&whole);
	assay_wire_chunk c;
	uint64_t n = 0;
	uint32_t seq = 0;
	for (size_t at = 0; chunk_at(&whole, at, &c); at += sizeof c + c.bytes) {
		if (c.seq > seq + 1 && at)
			n = UINT64_MAX / 2;
		seq = c.seq;
		for (size_t r = 0; r < c.bytes;) {
			const assay_wire_rec *rec =
				(const void *)(whole.kept.p + at + sizeof c + r);
			n += rec->type == type;
			r += rec->bytes;
		}
	}
	assay_tail_free(&whole);
	return n;
}

static int temporary(char path[64])
{
	int fd = memfd_create("tail", MFD_CLOEXEC);
	snprintf(path, 64, "/proc/self/fd/%d", fd);
	return fd;
}

TEST(a_tail_keeps_names_and_open_ranges_of_what_it_drops)
{
	char path[64];
	int fd = temporary(path);
	put_chunk f = {0};
	for (int64_t i = 0; i < 10; i++)
		put_some(&f, 1000 + i * 100);
	CHECK(write_all(fd, f.bytes.p, f.bytes.n));
	assay_tail t = {.path = path};
	assay_tail_read(&t, 0, 300, SIZE_MAX);
	int made = assay_tail_capture(&t, -1);
	CHECK(t.cut == 1500 && t.since == 1000 && t.read == f.bytes.n);
	CHECK_EQ(count(made, ASSAY_WIRE_API), 4);
	CHECK_EQ(count(made, ASSAY_WIRE_STRING), 10);
	CHECK_EQ(count(made, ASSAY_WIRE_RANGE), 10);
	CHECK_EQ(count(made, ASSAY_WIRE_SWITCH), 2);
	close(made);
	assay_tail_read(&t, 100, 300, 1); /* and by bytes */
	made = assay_tail_capture(&t, -1);
	CHECK_EQ(count(made, ASSAY_WIRE_API), 2);
	close(made);
	assay_tail_free(&t);
	assay_vec_free(&f.bytes);
	close(fd);
	return 0;
}

TEST(a_tail_waits_for_the_rest_of_a_chunk_and_reads_nothing_twice)
{
	char path[64];
	int fd = temporary(path);
	put_chunk f = {0};
	assay_tail t = {.path = path};
	put_some(&f, 1000);
	size_t one = f.bytes.n;
	put_some(&f, 1100);
	CHECK(write_all(fd, f.bytes.p, one + 100));
	assay_tail_read(&t, 0, 1000, SIZE_MAX);
	CHECK(t.read == one && t.kept.n == one && !t.damaged);
	CHECK(write_all(fd, f.bytes.p + one + 100, f.bytes.n - one - 100));
	assay_tail_read(&t, 0, 1000, SIZE_MAX);
	CHECK(t.read == 2 * one && t.kept.n == 2 * one && !t.damaged);
	CHECK(write_all(fd, "no chunk of ours, but as long as the head of one has to be, and more.",
			70));
	assay_tail_read(&t, 0, 1000, SIZE_MAX);
	CHECK(t.kept.n == 2 * one && t.damaged);
	assay_tail_free(&t);
	assay_vec_free(&f.bytes);
	close(fd);
	return 0;
}
#endif
