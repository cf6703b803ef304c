/* Records in and out of rings, shared by the recorder and by `assay record`. */
#include "wire/ring.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

assay_wire_rec *assay_ring_place(char *data, uint32_t ring_bytes, uint64_t *head, uint16_t type,
				 size_t n)
{
	size_t pad = assay_ring_need(ring_bytes, *head, n) - n;
	ASSAY_ASSERT_CHECKED(n % ASSAY_WIRE_ALIGN == 0 && n <= ASSAY_WIRE_RECORD_MAX && pad < n);
	if (pad) {
		assay_wire_rec fill = {ASSAY_WIRE_PAD, (uint16_t)pad, 0};
		memcpy(data + (*head & (ring_bytes - 1)), &fill, sizeof fill);
		*head += pad;
	}
	assay_wire_rec *rec = (assay_wire_rec *)(void *)(data + (*head & (ring_bytes - 1)));
	*rec = (assay_wire_rec){type, (uint16_t)n, 0};
	*head += n;
	return rec;
}

size_t assay_ring_take(const assay_ring *r, const char *data, uint32_t ring_bytes, uint64_t end,
		       char *to, uint64_t *next)
{
	uint64_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
	size_t n = 0;
	*next = tail;
	if (end - tail > ring_bytes || tail % ASSAY_WIRE_ALIGN)
		return 0;
	while (end - tail >= sizeof(assay_wire_rec)) {
		size_t at = tail & (ring_bytes - 1);
		assay_wire_rec rec;
		memcpy(&rec, data + at, sizeof rec);
		if (rec.bytes < sizeof rec || rec.bytes % ASSAY_WIRE_ALIGN ||
		    rec.bytes > ring_bytes - at || rec.bytes > end - tail)
			break;
		if (rec.type != ASSAY_WIRE_PAD) {
			memcpy(to + n, data + at, rec.bytes);
			n += rec.bytes;
		}
		tail += rec.bytes;
	}
	ASSAY_ASSERT_CHECKED(n <= ring_bytes && tail <= end);
	*next = tail;
	return n;
}

static bool is_told(uint32_t kind)
{
	return kind != ASSAY_WIRE_PAD && kind != ASSAY_WIRE_LOST && kind != ASSAY_WIRE_END &&
	       kind != ASSAY_WIRE_TALLY && kind != ASSAY_WIRE_DEATH && kind != ASSAY_WIRE_OPEN;
}

size_t assay_ring_tally(const assay_ring_file *f, assay_wire_tally out[ASSAY_RING_TALLIES])
{
	size_t n = 0;
	for (uint16_t kind = 0; kind < ASSAY_WIRE_TYPE_COUNT; kind++)
		for (uint16_t cause = 0; cause < ASSAY_RING_CAUSES && is_told(kind); cause++) {
			uint64_t count =
				atomic_load(cause ? &f->dropped[cause][kind] : &f->written[kind]);
			if (count)
				out[n++] = (assay_wire_tally){
					{ASSAY_WIRE_TALLY, sizeof *out, 0}, kind, cause, 0, count};
		}
	return n;
}

void assay_ring_count(assay_ring_file *f, const char *records, size_t n)
{
	assay_wire_rec r;
	for (size_t at = 0; at + sizeof r <= n; at += r.bytes) {
		memcpy(&r, records + at, sizeof r);
		if (r.bytes < sizeof r)
			return;
		atomic_fetch_add_explicit(&f->written[r.type % ASSAY_RING_KINDS], 1,
					  memory_order_relaxed);
	}
}

uint64_t assay_ring_dropped(const assay_ring_file *f, uint32_t cause)
{
	uint64_t n = 0;
	ASSAY_ASSERT_CHECKED(cause < ASSAY_RING_CAUSES);
	for (uint32_t kind = 0; kind < ASSAY_RING_KINDS; kind++)
		n += atomic_load(&f->dropped[cause][kind]);
	return n;
}

bool assay_ring_own(int fd)
{
	struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	return fcntl(fd, F_SETLK, &whole) == 0 || (errno != EAGAIN && errno != EACCES);
}

bool assay_ring_alive(int fd)
{
	struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	return fcntl(fd, F_GETLK, &whole) == 0 && whole.l_type != F_UNLCK;
}
