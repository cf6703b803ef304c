/* Records of a process that died, from its rings into its capture. */
#define _GNU_SOURCE /* O_NOFOLLOW */
#include "wire/salvage.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "wire/clock.h"
#include "wire/keep_open.h"

enum { NAME_MAX_BYTES = 240 };
#define SUFFIX ".ring"

/* The last chunk that salvage appends: one chunk, so that a salvage that was itself cut short has
 * told all of it or nothing. Most of every kind fits. */
enum {
	LAST_WORDS = sizeof(assay_wire_death) +
		     (ASSAY_RING_MAX + 1) * (sizeof(assay_wire_open) + sizeof(assay_wire_lost)) +
		     ASSAY_RING_CAUSES * sizeof(assay_wire_lost) +
		     ASSAY_RING_TALLIES * sizeof(assay_wire_tally),
};

/* Private copies: the file may change, or shrink, while it is read. */
typedef struct salvage {
	int ring, capture;
	assay_ring_file *file;
	char *data;   /* of one ring */
	char *taken;  /* its records, as long */
	size_t bytes; /* of each */
	uint32_t seq;
	char *told; /* LAST_WORDS; the first are the DEATH's */
	size_t told_n;
	bool live; /* the process may go on recording meanwhile, and its capture is not touched */
	assay_salvaged *out;
} salvage;

/* As much as is there, up to n; the rest stays zero. */
static void read_at(int fd, char *to, size_t n, uint64_t at)
{
	while (n) {
		ssize_t got = pread(fd, to, n, (off_t)at);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return;
		to += got;
		at += (uint64_t)got;
		n -= (size_t)got;
	}
}

/* The bytes of a ring between two positions. */
static void load(salvage *s, uint64_t at, uint32_t ring_bytes, uint64_t from, uint64_t to)
{
	if (to < from || to - from > ring_bytes)
		return;
	while (from < to) {
		size_t in = from & (ring_bytes - 1), n = ring_bytes - in;
		n = n < to - from ? n : (size_t)(to - from);
		memset(s->data + in, 0, n);
		read_at(s->ring, s->data + in, n, at + in);
		from += n;
	}
}

static bool write_all(int fd, const void *p, size_t n)
{
	const char *at = p;
	while (n) {
		ssize_t w = write(fd, at, n);
		if (w < 0 && errno == EINTR)
			continue;
		if (w <= 0)
			return false;
		at += w;
		n -= (size_t)w;
	}
	return true;
}

/* One chunk, whole or not at all. */
static bool append(salvage *s, assay_wire_chunk c, const void *payload, size_t n)
{
	struct stat before;
	c.pid = s->file->pid;
	c.time = assay_clock(CLOCK_BOOTTIME);
	c.seq = s->seq;
	assay_wire_seal(&c, payload, n);
	bool ok = fstat(s->capture, &before) == 0 && write_all(s->capture, &c, sizeof c) &&
		  write_all(s->capture, payload, n);
	s->seq += ok;
	s->out->failed += !ok;
	if (!ok && ftruncate(s->capture, before.st_size) < 0)
		s->out->failed++;
	return ok;
}

static void *fresh(size_t n)
{
	void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return p == MAP_FAILED ? NULL : p;
}

/* To be told with the death. */
static void tell(salvage *s, const void *record, size_t n)
{
	memcpy(s->told + s->told_n, record, n);
	s->told_n += n;
}

static void tell_lost(salvage *s, uint64_t count, int64_t first, int64_t last, uint32_t why)
{
	assay_wire_lost l = {{ASSAY_WIRE_LOST, sizeof l, 0}, count, first, last, why, 0};
	tell(s, &l, sizeof l);
}

static void tell_open(salvage *s, const assay_ring *r)
{
	const assay_ring_call *c = &r->call;
	assay_wire_open o = {{ASSAY_WIRE_OPEN, sizeof o, r->tid},
			     atomic_load(&c->start),
			     c->corr,
			     c->stream,
			     c->event,
			     c->function,
			     c->domain,
			     c->given,
			     c->arg};
	if (o.start)
		tell(s, &o, sizeof o);
}

static uint64_t count_records(const char *p, size_t n)
{
	uint64_t count = 0;
	for (size_t at = 0; at < n; count++)
		at += ((const assay_wire_rec *)(const void *)(p + at))->bytes;
	return count;
}

/* False when they are there but cannot be written. */
static bool salvage_until(salvage *s, assay_ring *r, uint32_t ring_bytes, uint64_t end)
{
	uint64_t next;
	size_t n = assay_ring_take(r, s->data, ring_bytes, end, s->taken, &next);
	uint64_t count = count_records(s->taken, n);
	bool ok = !n || append(s,
			       (assay_wire_chunk){
				       .ring = r->id, .tid = r->tid, .pos = atomic_load(&r->tail)},
			       s->taken, n);
	*(ok ? &s->out->records : &s->out->lost) += count;
	if (ok)
		assay_ring_count(s->file, s->taken, n);
	atomic_store(&r->tail, next);
	return ok;
}

/* What one ring still holds, and the gap it had open. A write that the death cut short is done
 * again on its own: should it be in the file already, the reader knows the position and leaves one
 * out. */
static void salvage_ring(salvage *s, assay_ring *r, uint64_t at, uint32_t ring_bytes)
{
	uint64_t lost = atomic_load(&r->lost), writing = atomic_load(&r->writing);
	load(s, at, ring_bytes, atomic_load(&r->tail), atomic_load(&r->head));
	if (s->live) /* what was written to the capture meanwhile may be overwritten already */
		read_at(s->ring, (char *)&r->tail, sizeof r->tail,
			(uint64_t)((char *)&r->tail - (char *)s->file));
	if (writing > atomic_load(&r->tail) && writing <= atomic_load(&r->head) && !s->live)
		salvage_until(s, r, ring_bytes, writing);
	salvage_until(s, r, ring_bytes, atomic_load(&r->head));
	tell_open(s, r);
	if (lost)
		tell_lost(s, lost, atomic_load(&r->lost_first), atomic_load(&r->lost_last),
			  ASSAY_WIRE_LOST_RING);
}

/* Ranges that what is kept lies in, behind the gap that begins at `since`. */
static void salvage_opens(salvage *s, int64_t since)
{
	assay_keep_opens *o = fresh(sizeof *o);
	if (!o)
		return;
	assay_keep_load(s->ring, s->file, o);
	bool ok = true;
	for (uint32_t i = 0; i < o->n && ok; i++) {
		_Alignas(8) char record[sizeof(assay_keep_open)];
		assay_wire_chunk c = {0};
		size_t n = assay_keep_tell(o, i, since, &c, record);
		ok = append(s, c, record, n);
		*(ok ? &s->out->records : &s->out->lost) += 1;
	}
	if (ok)
		assay_keep_told(o, s->file);
	munmap(o, sizeof *o);
}

/* The chunks of a flight recorder between two positions. A process that goes on may drop some
 * meanwhile: then there is a chunk where its tail is now. */
static void salvage_chunks(salvage *s, uint64_t pos, uint64_t head)
{
	for (uint64_t tail = pos; pos < head;) {
		assay_wire_chunk c;
		if (!assay_keep_read(s->ring, s->file, pos, &c, s->data, s->bytes)) {
			read_at(s->ring, (char *)&tail, sizeof tail,
				offsetof(assay_ring_file, keep_tail));
			if (tail <= pos)
				return;
			pos = tail;
			continue;
		}
		uint64_t count = count_records(s->data, c.bytes);
		*(append(s, c, s->data, c.bytes) ? &s->out->records : &s->out->lost) += count;
		pos += sizeof c + c.bytes;
	}
}

/* What a flight recorder kept is older than what the rings hold. */
static void salvage_kept(salvage *s)
{
	const assay_ring_file *f = s->file;
	assay_wire_switch gap[2];
	size_t n = assay_keep_gap(f, gap);
	if (n && append(s, (assay_wire_chunk){0}, gap, n * sizeof *gap)) {
		assay_ring_count(s->file, (const char *)gap, n * sizeof *gap);
		salvage_opens(s, gap[0].time);
	}
	salvage_chunks(s, atomic_load(&f->keep_tail), atomic_load(&f->keep_head));
}

/* A process that goes on may have moved records from its rings to what it keeps between our looks
 * at the one and the other. */
static void salvage_moved(salvage *s)
{
	uint64_t head = atomic_load(&s->file->keep_head), now = head;
	read_at(s->ring, (char *)&now, sizeof now, offsetof(assay_ring_file, keep_head));
	salvage_chunks(s, head, now);
}

/* What the process would have told at its end. While records are left in the rings it is not told,
 * and a later salvage starts anew. */
static void append_last_words(salvage *s)
{
	static const uint32_t causes[] = {ASSAY_WIRE_LOST_THREAD, ASSAY_WIRE_LOST_STALLED};
	assay_wire_tally tally[ASSAY_RING_TALLIES];
	assay_wire_death death = {{ASSAY_WIRE_DEATH, sizeof death, 0},
				  assay_clock(CLOCK_BOOTTIME),
				  atomic_load(&s->file->left),
				  atomic_load(&s->file->whole)};
	bool dead = !s->live && death.how != ASSAY_WIRE_LEFT_ENDED;
	for (size_t i = 0; dead && i < sizeof causes / sizeof *causes; i++) {
		uint64_t n = assay_ring_dropped(s->file, causes[i]);
		if (n)
			tell_lost(s, n, 0, 0, causes[i]);
	}
	bool went_on = !s->live && assay_ring_dropped(s->file, ASSAY_WIRE_LOST_ENDED);
	if (dead || went_on)
		tell(s, tally, assay_ring_tally(s->file, tally) * sizeof *tally);
	memcpy(s->told, &death, sizeof death);
	size_t from = dead ? 0 : sizeof death;
	if (s->told_n > from)
		s->out->lost += !append(s, (assay_wire_chunk){0}, s->told + from, s->told_n - from);
}

static bool usable(const assay_ring_file *f)
{
	return f->magic == ASSAY_RING_MAGIC && f->ring_bytes >= 4096 &&
	       f->ring_bytes <= ASSAY_RING_BYTES_MAX && !(f->ring_bytes & (f->ring_bytes - 1)) &&
	       atomic_load(&f->used) <= ASSAY_RING_MAX && f->keep_bytes <= ASSAY_KEEP_MOST &&
	       (!f->keep_bytes ||
		atomic_load(&f->keep_head) - atomic_load(&f->keep_tail) <= f->keep_bytes);
}

/* Walk the chunks of the capture and cut off one that a death in the middle of a write left
 * unfinished: it is still in its ring. True when the last whole chunk is a salvage's last word: an
 * earlier one took everything and was killed before it removed the ring. */
static bool told_before(int capture)
{
	struct {
		assay_wire_chunk chunk;
		assay_wire_rec first;
	} at;
	struct stat st;
	uint64_t pos = 0;
	bool death = false;
	if (fstat(capture, &st) < 0)
		return false;
	for (uint64_t size = (uint64_t)st.st_size; pos < size;) {
		memset(&at, 0, sizeof at);
		read_at(capture, (char *)&at, sizeof at, pos);
		if (size - pos >= sizeof at.chunk && assay_wire_check(&at, sizeof at.chunk))
			return false; /* damage inside is the reader's to find */
		uint64_t whole = (uint64_t)at.chunk.header_bytes + at.chunk.bytes;
		if (size - pos < sizeof at.chunk || size - pos < whole)
			break;
		death = at.chunk.header_bytes == sizeof at.chunk && !at.chunk.ring &&
			at.first.type == ASSAY_WIRE_DEATH;
		pos += whole;
	}
	return (pos == (uint64_t)st.st_size || ftruncate(capture, (off_t)pos) == 0) && death;
}

static void salvage_all(salvage *s)
{
	assay_ring_file *f = s->file;
	s->seq = atomic_load(&f->seq);
	s->out->failed = atomic_load(&f->failed);
	s->told_n = sizeof(assay_wire_death);
	if (f->keep_bytes)
		salvage_kept(s);
	salvage_ring(s, &f->bulk, ASSAY_RING_DATA, ASSAY_RING_BULK); /* names first */
	for (uint32_t i = 0; i < atomic_load(&f->used); i++) {
		uint32_t state = atomic_load(&f->ring[i].state);
		if (state == ASSAY_RING_LIVE || state == ASSAY_RING_CLOSED)
			salvage_ring(s, &f->ring[i], assay_ring_at(i, f->ring_bytes),
				     f->ring_bytes);
	}
	if (s->live && f->keep_bytes)
		salvage_moved(s);
	if (!s->out->lost)
		append_last_words(s);
}

static bool salvage_rings(int ring, int capture, bool live, assay_salvaged *out)
{
	salvage s = {.ring = ring, .capture = capture, .live = live, .out = out};
	*out = (assay_salvaged){0};
	bool ok = false;
	s.file = fresh(ASSAY_RING_DATA);
	if (!s.file)
		return false;
	read_at(ring, (char *)s.file, sizeof *s.file, 0);
	if (!usable(s.file))
		goto out;
	ok = !live && told_before(capture);
	if (ok)
		goto out;
	s.bytes = s.file->ring_bytes > ASSAY_RING_BULK ? s.file->ring_bytes : ASSAY_RING_BULK;
	s.data = fresh(s.bytes);
	s.taken = fresh(s.bytes);
	s.told = fresh(LAST_WORDS);
	ok = s.data && s.taken && s.told;
	if (ok)
		salvage_all(&s);
out:
	if (s.data)
		munmap(s.data, s.bytes);
	if (s.taken)
		munmap(s.taken, s.bytes);
	if (s.told)
		munmap(s.told, LAST_WORDS);
	munmap(s.file, ASSAY_RING_DATA);
	return ok;
}

bool assay_salvage_rings(int ring, int capture, assay_salvaged *out)
{
	return salvage_rings(ring, capture, false, out);
}

/* ---- which files ---- */

/* trace-HOST-PID.ring or trace-HOST-PID.2.ring, in letters that a recorder writes. */
static bool good_name(const char *name)
{
	size_t n = strlen(name), suffix = strlen(SUFFIX);
	if (n > NAME_MAX_BYTES || n <= suffix || strncmp(name, "trace-", 6) ||
	    strcmp(name + n - suffix, SUFFIX))
		return false;
	for (const char *p = name; *p; p++)
		if (!isalnum((unsigned char)*p) && !strchr("._-", *p))
			return false;
	return true;
}

/* A plain file with one name, which the owner alone decides on. */
static int open_plain(int dir, const char *name, int flags, struct stat *st)
{
	int fd = openat(dir, name, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return -1;
	if (fstat(fd, st) == 0 && S_ISREG(st->st_mode) && st->st_nlink == 1)
		return fd;
	close(fd);
	errno = EPERM;
	return -1;
}

static int open_capture(int run, const char *name, const struct stat *ring)
{
	char path[NAME_MAX_BYTES + 1];
	struct stat st;
	snprintf(path, sizeof path, "%.*s.asy", (int)(strlen(name) - strlen(SUFFIX)), name);
	int group = setfsgid(ring->st_gid), user = setfsuid(ring->st_uid);
	int fd = open_plain(run, path, O_RDWR | O_APPEND, &st);
	int why = errno;
	setfsuid((uid_t)user);
	setfsgid((gid_t)group);
	errno = why;
	if (fd >= 0 && st.st_uid != ring->st_uid) {
		close(fd);
		errno = EPERM;
		return -1;
	}
	return fd;
}

static long pid_of(const char *name)
{
	const char *dash = strrchr(name, '-');
	return dash ? strtol(dash + 1, NULL, 10) : 0;
}

/* Was it killed, and some of its threads are not gone yet? They hold its lock to their end. */
static bool is_dying(const char *name)
{
	char path[64], text[512] = "";
	snprintf(path, sizeof path, "/proc/%ld/stat", pid_of(name));
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : 0;
	if (fd >= 0)
		close(fd);
	const char *state = n > 0 ? strrchr(text, ')') : NULL;
	return state && (!strncmp(state, ") Z", 3) || !strncmp(state, ") X", 3));
}

/* A process whose table of files could not be kept apart may have closed its lock: it lives as long
 * as the file is in its memory. */
static bool still_mapped(const char *name)
{
	char path[64], line[4096];
	snprintf(path, sizeof path, "/proc/%ld/maps", pid_of(name));
	FILE *f = fopen(path, "re");
	bool found = false;
	while (f && !found && fgets(line, sizeof line, f)) {
		const char *slash = strrchr(line, '/');
		size_t n = strlen(name);
		found = slash && !strncmp(slash + 1, name, n) && slash[1 + n] == '\n';
	}
	if (f)
		fclose(f);
	return found;
}

/* Its process ended while the recorder made its files: the mark at the beginning comes last. */
static bool never_begun(int ring)
{
	uint64_t magic = 0;
	read_at(ring, (char *)&magic, sizeof magic, 0);
	return !magic;
}

static bool nothing_in(int ring, int capture)
{
	struct stat st;
	return never_begun(ring) && fstat(capture, &st) == 0 && !st.st_size;
}

/* Takes its lock. */
static bool is_gone(int ring, const char *name)
{
	enum { TRIES = 400, TRY_NS = 5000000 };
	const struct timespec pause = {0, TRY_NS};
	bool ours = assay_ring_own(ring);
	for (int i = 0; !ours && i < TRIES && is_dying(name); i++) {
		nanosleep(&pause, NULL);
		ours = assay_ring_own(ring);
	}
	return ours && !still_mapped(name);
}

assay_salvage_end assay_salvage(int rings, int run, const char *name, assay_salvaged *out)
{
	struct stat st;
	*out = (assay_salvaged){0};
	int ring = good_name(name) ? open_plain(rings, name, O_RDWR, &st) : -1;
	if (ring < 0)
		return ASSAY_SALVAGE_REFUSED;
	assay_salvage_end end = ASSAY_SALVAGE_REFUSED;
	int capture = -1;
	if (!is_gone(ring, name)) {
		end = ASSAY_SALVAGE_ALIVE;
		goto out;
	}
	capture = open_capture(run, name, &st);
	if (capture < 0) {
		end = errno == ENOENT ? ASSAY_SALVAGE_ORPHAN : ASSAY_SALVAGE_REFUSED;
		goto out;
	}
	if (!nothing_in(ring, capture) && !assay_salvage_rings(ring, capture, out))
		goto out;
	end = out->lost ? ASSAY_SALVAGE_KEPT : ASSAY_SALVAGE_DONE;
	if (!out->lost)
		unlinkat(rings, name, 0);
out:
	if (capture >= 0)
		close(capture);
	close(ring);
	return end;
}

bool assay_salvage_waits(int rings, const char *name)
{
	struct stat st;
	struct flock held = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
	int ring = good_name(name) ? open_plain(rings, name, O_RDONLY, &st) : -1;
	if (ring < 0)
		return false;
	bool gone = fcntl(ring, F_GETLK, &held) < 0 || held.l_type == F_UNLCK;
	gone = gone && !never_begun(ring);
	close(ring);
	return gone && !still_mapped(name);
}

bool assay_salvage_folder(const char *path)
{
	const char *name = strrchr(path, '/');
	return name && path[0] == '/' && !strncmp(name, "/assay-", 7) &&
	       strlen(name) == strlen("/assay-XXXXXX");
}

bool assay_salvage_peek(int rings, const char *name, int to)
{
	struct stat st;
	assay_salvaged out;
	int ring = good_name(name) ? open_plain(rings, name, O_RDONLY, &st) : -1;
	bool ok = ring >= 0 && salvage_rings(ring, to, true, &out);
	if (ring >= 0)
		close(ring);
	return ok;
}
