#define _GNU_SOURCE /* fallocate */
#include "wire/keep.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static const bool names_things[ASSAY_WIRE_TYPE_COUNT] = {
	[ASSAY_WIRE_STRING] = true, [ASSAY_WIRE_PROCESS] = true,  [ASSAY_WIRE_META] = true,
	[ASSAY_WIRE_DEVICE] = true, [ASSAY_WIRE_CONTEXT] = true,  [ASSAY_WIRE_STREAM] = true,
	[ASSAY_WIRE_THREAD] = true, [ASSAY_WIRE_CODE] = true,     [ASSAY_WIRE_STACK] = true,
	[ASSAY_WIRE_SYMBOL] = true, [ASSAY_WIRE_API_NAME] = true,
};

bool assay_keep_names(const assay_wire_rec *rec)
{
	const assay_wire_stream *s = (const void *)rec;
	if (rec->type == ASSAY_WIRE_STREAM && rec->bytes >= sizeof *s && s->destroyed)
		return false;
	return rec->type < ASSAY_WIRE_TYPE_COUNT && names_things[rec->type];
}

typedef ssize_t move_fn(int fd, void *p, size_t n, off_t at);

static ssize_t put(int fd, void *p, size_t n, off_t at)
{
	return pwrite(fd, p, n, at);
}

/* Up to the room's end, then from its start. */
static bool move(move_fn *fn, int fd, const assay_ring_file *f, uint64_t pos, char *p, size_t n)
{
	ASSAY_ASSERT_CHECKED(n <= f->keep_bytes);
	while (n) {
		uint64_t in = pos % f->keep_bytes, left = f->keep_bytes - in;
		ssize_t done =
			fn(fd, p, n < left ? n : (size_t)left, (off_t)(assay_keep_at(f) + in));
		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return false;
		p += done;
		pos += (uint64_t)done;
		n -= (size_t)done;
	}
	return true;
}

bool assay_keep_write(int fd, const assay_ring_file *f, uint64_t pos, const void *p, size_t n)
{
	return move(put, fd, f, pos, (char *)(uintptr_t)p, n);
}

bool assay_keep_peek(int fd, const assay_ring_file *f, uint64_t pos, assay_wire_chunk *c)
{
	uint64_t head = atomic_load(&f->keep_head);
	return head >= pos && head - pos >= sizeof *c &&
	       move(pread, fd, f, pos, (char *)c, sizeof *c) && !assay_wire_check(c, sizeof *c) &&
	       c->header_bytes == sizeof *c && c->bytes <= head - pos - sizeof *c;
}

bool assay_keep_sound(const char *p, size_t n)
{
	while (n >= sizeof(assay_wire_rec)) {
		assay_wire_rec rec;
		memcpy(&rec, p, sizeof rec);
		if (rec.bytes < sizeof rec || rec.bytes % ASSAY_WIRE_ALIGN || rec.bytes > n)
			return false;
		p += rec.bytes;
		n -= rec.bytes;
	}
	return !n;
}

bool assay_keep_read(int fd, const assay_ring_file *f, uint64_t pos, assay_wire_chunk *c, char *to,
		     size_t room)
{
	return assay_keep_peek(fd, f, pos, c) && c->bytes <= room &&
	       move(pread, fd, f, pos + sizeof *c, to, c->bytes) &&
	       assay_wire_sum(to, c->bytes) == c->sum && assay_keep_sound(to, c->bytes);
}

void assay_keep_release(int fd, const assay_ring_file *f, uint64_t from, uint64_t to)
{
	while (from < to) {
		uint64_t in = from % f->keep_bytes, n = f->keep_bytes - in;
		n = n < to - from ? n : to - from;
		fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			  (off_t)(assay_keep_at(f) + in), (off_t)n);
		from += n;
	}
}

size_t assay_keep_gap(const assay_ring_file *f, assay_wire_switch out[2])
{
	int64_t since = atomic_load(&f->keep_since), cut = atomic_load(&f->keep_cut);
	if (!cut)
		return 0;
	out[0] = (assay_wire_switch){
		{ASSAY_WIRE_SWITCH, sizeof *out, 0}, since, 0, ASSAY_WIRE_OFF_NOT_KEPT};
	out[1] = (assay_wire_switch){{ASSAY_WIRE_SWITCH, sizeof *out, 0}, cut, 1, 0};
	return atomic_load(&f->keep_off) ? 1 : 2;
}
