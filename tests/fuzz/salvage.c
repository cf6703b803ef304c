/* Any bytes as what a recorded process left in its rings: the first lie over the head of the file
 * and its first rings, the rest is the data of the recorder's ring, of two threads', and of a
 * flight recorder's room with the ranges that are open in it, whose sums are put right. Whatever is
 * in them, the capture consists of whole chunks of whole records afterwards. */
#define _GNU_SOURCE /* memfd_create */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "wire/keep_open.h"
#include "wire/salvage.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HEAD = offsetof(assay_ring_file, ring) + 2 * sizeof(assay_ring) };

static void put(int fd, const void *p, size_t n, uint64_t at)
{
	if (n && pwrite(fd, p, n, (off_t)at) != (ssize_t)n)
		abort();
}

/* One chunk of it, whole as a chunk whatever its records are; and the rest as it comes. */
static void put_kept(int fd, const assay_ring_file *f, const uint8_t *data, size_t n)
{
	assay_wire_chunk c = {.ring = n ? data[0] % 3 : 0};
	size_t payload = n > 1 ? data[1] * 8u : 0;
	payload = payload < n ? payload : n;
	assay_wire_seal(&c, data, payload);
	if (n && data[0] & 128)
		c.sum ^= 1;
	assay_keep_write(fd, f, f->keep_tail, &c, sizeof c);
	assay_keep_write(fd, f, f->keep_tail + sizeof c, data, payload);
	assay_keep_write(fd, f, f->keep_tail + sizeof c + payload, data + payload, n - payload);
}

static void put_open(int fd, const assay_ring_file *f, const uint8_t *data, size_t n)
{
	static assay_keep_opens o;
	memset(&o, 0, sizeof o);
	memcpy(o.open, data, n < sizeof o.open ? n : sizeof o.open);
	o.n = (uint32_t)(n / sizeof *o.open + 1);
	for (uint32_t i = 0; i < o.n && n && data[0] & 1; i++)
		o.open[i].range.rec.type = ASSAY_WIRE_RANGE;
	assay_keep_save(fd, f, &o);
}

static int make_rings(const uint8_t *data, size_t size)
{
	static assay_ring_file head;
	int fd = memfd_create("ring", 0);
	memset(&head, 0, sizeof head);
	size_t n = size < HEAD ? size : HEAD, part = (size - n) / 5;
	memcpy(&head, data, n);
	head.magic = n && data[0] == 0xff ? head.magic : ASSAY_RING_MAGIC;
	head.ring_bytes = 4096u << (head.ring_bytes % 4); /* most others are refused at once */
	head.used = head.used % 4;
	head.keep_bytes = head.keep_bytes % 4 * 4096;
	if (head.keep_bytes)
		head.keep_head = head.keep_tail + head.keep_head % (head.keep_bytes + 2);
	put(fd, &head, sizeof head, 0);
	put(fd, data + n, part, ASSAY_RING_DATA);
	for (uint32_t i = 0; i < 2; i++)
		put(fd, data + n + (1 + i) * part, part, assay_ring_at(i, head.ring_bytes));
	if (head.keep_bytes) {
		put_kept(fd, &head, data + n + 3 * part, part);
		put_open(fd, &head, data + n + 4 * part, part);
	}
	return fd;
}

static void check_records(const char *p, size_t n)
{
	for (size_t at = 0; at < n;) {
		assay_wire_rec r;
		if (n - at < sizeof r)
			abort();
		memcpy(&r, p + at, sizeof r);
		if (r.bytes < sizeof r || r.bytes > n - at)
			abort();
		at += r.bytes;
	}
}

static void check_capture(int fd)
{
	size_t n = (size_t)lseek(fd, 0, SEEK_END);
	char *p = malloc(n + 1);
	if (!p || pread(fd, p, n, 0) != (ssize_t)n)
		abort();
	for (size_t at = 0; at < n;) {
		assay_wire_chunk c;
		if (assay_wire_check(p + at, n - at))
			abort();
		memcpy(&c, p + at, sizeof c);
		at += sizeof c;
		if (c.bytes > n - at || assay_wire_sum(p + at, c.bytes) != c.sum)
			abort();
		check_records(p + at, c.bytes);
		at += c.bytes;
	}
	free(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	assay_salvaged out;
	int ring = make_rings(data, size), capture = memfd_create("capture", 0);
	assay_salvage_rings(ring, capture, &out);
	check_capture(capture);
	close(ring);
	close(capture);
	return 0;
}
