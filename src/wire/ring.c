/* The consumer's side of rings, shared by the recorder and by `assay record`. */
#include "wire/ring.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

size_t assay_ring_take(const assay_ring *r, const char *data, uint32_t ring_bytes, uint64_t end,
		       char *to, uint64_t *next)
{
	uint64_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
	size_t n = 0;
	*next = tail;
	if (end < tail || end - tail > ring_bytes)
		return 0;
	while (tail < end) {
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
	*next = tail;
	return n;
}

static int64_t clock_ns(clockid_t id)
{
	struct timespec t;
	clock_gettime(id, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static bool append(int fd, assay_wire_chunk *c, const void *payload, size_t n)
{
	assay_wire_seal(c, payload, n);
	return write(fd, c, sizeof *c) == (ssize_t)sizeof *c && write(fd, payload, n) == (ssize_t)n;
}

static uint64_t count_records(const char *p, size_t n)
{
	uint64_t count = 0;
	for (size_t at = 0; at < n; count++)
		at += ((const assay_wire_rec *)(const void *)(p + at))->bytes;
	return count;
}

static uint64_t salvage_until(assay_ring_file *f, assay_ring *r, const char *data, uint64_t end,
			      char *scratch, int fd)
{
	uint64_t next;
	size_t n = assay_ring_take(r, data, f->ring_bytes, end, scratch, &next);
	assay_wire_chunk c = {.ring = r->id,
			      .tid = r->tid,
			      .pos = atomic_load(&r->tail),
			      .pid = f->pid,
			      .time = clock_ns(CLOCK_BOOTTIME),
			      .seq = atomic_fetch_add(&f->seq, 1)};
	if (n && !append(fd, &c, scratch, n)) {
		atomic_fetch_add(&f->failed, 1);
		return 0;
	}
	atomic_store(&r->tail, next);
	return count_records(scratch, n);
}

static void append_lost(assay_ring_file *f, uint64_t count, int64_t first, int64_t last, int fd)
{
	assay_wire_lost l = {{ASSAY_WIRE_LOST, sizeof l, 0}, count, first, last,
			     ASSAY_WIRE_LOST_RING,           0};
	assay_wire_chunk c = {.pid = f->pid,
			      .time = clock_ns(CLOCK_BOOTTIME),
			      .seq = atomic_fetch_add(&f->seq, 1)};
	append(fd, &c, &l, sizeof l);
}

/* What one ring still holds, and the gap it had open. A write that the death cut short is done
 * again on its own: should it be in the file already, the reader knows the position and leaves one
 * out. */
static uint64_t salvage_ring(assay_ring_file *f, assay_ring *r, const char *data, char *scratch,
			     int fd)
{
	uint64_t lost = atomic_load(&r->lost), count = 0;
	if (atomic_load(&r->writing) > atomic_load(&r->tail))
		count += salvage_until(f, r, data, atomic_load(&r->writing), scratch, fd);
	count += salvage_until(f, r, data, atomic_load(&r->head), scratch, fd);
	if (lost)
		append_lost(f, lost, atomic_load(&r->lost_first), atomic_load(&r->lost_last), fd);
	return count;
}

static bool usable(const assay_ring_file *f, off_t size)
{
	return f->magic == ASSAY_RING_MAGIC && f->ring_bytes && f->ring_bytes <= 1 << 28 &&
	       !(f->ring_bytes & (f->ring_bytes - 1)) && atomic_load(&f->used) <= ASSAY_RING_MAX &&
	       f->capture[sizeof f->capture - 1] == 0 &&
	       ASSAY_RING_DATA + (off_t)atomic_load(&f->used) * f->ring_bytes <= size;
}

bool assay_ring_own(int fd)
{
	struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	return fcntl(fd, F_SETLK, &whole) == 0 || (errno != EAGAIN && errno != EACCES);
}

bool assay_ring_salvage(const char *path, assay_salvaged *result)
{
	*result = (assay_salvaged){0};
	int fd = open(path, O_RDWR | O_CLOEXEC), out = -1;
	struct stat st;
	if (fd < 0)
		return false;
	bool ok = false;
	char *map = MAP_FAILED, *scratch = MAP_FAILED;
	size_t scratch_bytes = 0;
	if (!assay_ring_own(fd) || fstat(fd, &st) < 0 || st.st_size < ASSAY_RING_DATA)
		goto out;
	map = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assay_ring_file *f = (assay_ring_file *)(void *)map;
	if (map == MAP_FAILED || !usable(f, st.st_size))
		goto out;
	scratch_bytes = f->ring_bytes;
	scratch = mmap(NULL, scratch_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		       0);
	out = open(f->capture, O_WRONLY | O_APPEND | O_CLOEXEC);
	if (out < 0 && errno == ENOENT) /* the run directory is gone: nobody wants the records */
		ok = unlink(path) == 0;
	if (scratch == MAP_FAILED || out < 0)
		goto out;
	for (uint32_t i = 0; i < atomic_load(&f->used); i++)
		if (atomic_load(&f->ring[i].state) != ASSAY_RING_FREE)
			result->records += salvage_ring(
				f, &f->ring[i], map + ASSAY_RING_DATA + (size_t)i * f->ring_bytes,
				scratch, out);
	result->failed = atomic_load(&f->failed);
	if (result->failed) /* how many records they held is not known */
		append_lost(f, result->failed, 0, 0, out);
	ok = true;
	unlink(path);
out:
	if (scratch != MAP_FAILED)
		munmap(scratch, scratch_bytes);
	if (map != MAP_FAILED)
		munmap(map, (size_t)st.st_size);
	if (out >= 0)
		close(out);
	close(fd);
	return ok;
}
