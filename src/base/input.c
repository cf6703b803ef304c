/* Inputs: mapping, unpacking, and the double-mapped ring. */
#include "base/input_inside.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <isa-l/crc.h>

#include "base/blocks.h"
#include "base/err.h"
#include "base/limits.h"
#include "base/owner.h"
#include "base/test.h"
#include "base/turns.h"

enum {
	STEP = 1 << 20,       /* unpacked at a time */
	RING = 4 << 20,       /* grows when one view needs more */
	READ_BUF = 256 << 10, /* of packed bytes */
};

/* Twice the same pages, one behind the other. Of no file: a limit on files is none of it. */
static bool ring_map(struct ring *r)
{
	r->p = mmap(NULL, 2 * r->size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (r->p == MAP_FAILED)
		return false;
	char *again = r->p + r->size;
	bool ok = mmap(r->p, r->size, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED &&
		  assay_pages_move_to(again, r->p, 0, r->size) == (void *)again;
	if (!ok)
		munmap(r->p, 2 * r->size);
	return ok;
}

bool input_ring_grow(assay_input *in, size_t size)
{
	struct ring *r = &in->rings[in->ring_count];
	const struct ring *old = in->ring;
	if (in->ring_count == RINGS_MAX)
		return false;
	r->size = size;
	if (!ring_map(r))
		return false;
	if (old) {
		/* threads that unpack ahead have written behind what is there already */
		size_t live = in->spread ? old->size : (size_t)(in->have - in->low);
		memcpy(r->p + in->low % r->size, old->p + in->low % old->size, live);
	}
	in->ring = r;
	in->ring_count++;
	return true;
}

void input_damage(assay_input *in, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	if (!in->damage[0])
		vsnprintf(in->damage, sizeof in->damage, fmt, ap);
	va_end(ap);
	in->end = true;
}

static void shorter_than_it_was(assay_input *in, uint64_t there)
{
	input_damage(in, "the file became shorter while it was read: of %llu bytes %llu were there",
		     (unsigned long long)in->then.st_size, (unsigned long long)there);
}

/* At most n bytes of the file; 0 at its end. */
static size_t file_read(assay_input *in, void *to, size_t n)
{
	if (in->fd < 0 || in->file_end)
		return 0;
	uint64_t at = in->file_done + in->file_n, size = (uint64_t)in->then.st_size;
	if (in->regular && size - at < n)
		n = (size_t)(size - at);
	ssize_t got = 0;
	do
		got = n ? read(in->fd, to, n) : 0;
	while (got < 0 && errno == EINTR);
	if (got < 0)
		input_damage(in, "%s after %llu bytes", strerror(errno), (unsigned long long)at);
	else if (!got && in->regular && at < size)
		shorter_than_it_was(in, at);
	in->file_end = got <= 0;
	return got > 0 ? (size_t)got : 0;
}

/* Make file bytes available; false at the end of the file. */
static bool file_fill(assay_input *in)
{
	if (in->file_pos < in->file_n)
		return true;
	size_t got = file_read(in, in->file, READ_BUF);
	if (!got)
		return false;
	in->file_done += in->file_n;
	in->file_pos = 0;
	in->file_n = got;
	return true;
}

/* What the first look at the file left in the buffer, then straight from the file. */
static size_t unpack_plain(assay_input *in, char *out, size_t room)
{
	size_t n = in->file_n - in->file_pos;
	if (n > room)
		n = room;
	if (n) {
		memcpy(out, in->file + in->file_pos, n);
		in->file_pos += n;
		return n;
	}
	n = file_read(in, out, room);
	in->file_done += n;
	in->end |= !n;
	return n;
}

/* Concatenated members are one text, as gzip itself reads them; other bytes after a member are
 * not. */
static bool gzip_next_member(assay_input *in)
{
	if (!file_fill(in)) {
		in->end = true;
		return false;
	}
	if (in->file[in->file_pos] != 0x1f) {
		input_damage(in, "other bytes follow the gzip data");
		return false;
	}
	isal_inflate_reset(in->gz);
	in->gz->crc_flag = ISAL_GZIP;
	in->gz_between = false;
	return true;
}

/* Text of the deflated bytes that follow, gz_between when they end. */
static size_t inflate_step(assay_input *in, char *out, size_t room)
{
	struct inflate_state *s = in->gz;
	/* at the end of the file ISA-L may still hold bytes it has taken: ask it once more */
	bool more = file_fill(in);
	s->next_in = in->file + in->file_pos;
	s->avail_in = (uint32_t)(in->file_n - in->file_pos < (1u << 30) ? in->file_n - in->file_pos
									: 1u << 30);
	uint32_t fed = s->avail_in;
	s->next_out = (uint8_t *)out;
	s->avail_out = (uint32_t)room;
	int rc = isal_inflate(s);
	in->file_pos += fed - s->avail_in;
	if (rc < 0)
		input_damage(in,
			     rc == ISAL_INCORRECT_CHECKSUM ? "the %s checksum does not match"
							   : "the %s data is damaged",
			     assay_input_packing(in));
	else if (s->block_state == ISAL_BLOCK_FINISH)
		in->gz_between = true;
	else if (!more && s->avail_out == room)
		input_damage(in, "the %s data is cut short", assay_input_packing(in));
	return room - s->avail_out;
}

static size_t unpack_gzip(assay_input *in, char *out, size_t room)
{
	if (in->gz_between && !gzip_next_member(in))
		return 0;
	return inflate_step(in, out, room);
}

static size_t copy_stored(assay_input *in, char *out, size_t room)
{
	uint64_t left = in->zip.packed - in->zip_packed;
	if (left && !file_fill(in))
		input_damage(in, "the zip data is cut short");
	size_t n = in->file_n - in->file_pos < room ? in->file_n - in->file_pos : room;
	n = left < n ? (size_t)left : n;
	memcpy(out, in->file + in->file_pos, n);
	in->file_pos += n;
	in->zip_packed += n;
	in->gz_between = in->zip_packed == in->zip.packed;
	return n;
}

static size_t unpack_zip(assay_input *in, char *out, size_t room)
{
	size_t n = in->zip.deflated ? inflate_step(in, out, room) : copy_stored(in, out, room);
	in->zip_sum = crc32_gzip_refl(in->zip_sum, (unsigned char *)out, n);
	if (in->gz_between && !in->end) {
		in->end = true;
		if (in->zip_sum != in->zip.sum || (uint32_t)(in->have + n) != in->zip.bytes)
			input_damage(in, "the zip checksum does not match");
	}
	return n;
}

static size_t unpack_zstd(assay_input *in, char *out, size_t room)
{
	if (!file_fill(in)) {
		if (in->zst_hint)
			input_damage(in, "the zstd data is cut short");
		in->end = true;
		return 0;
	}
	ZSTD_inBuffer src = {in->file + in->file_pos, in->file_n - in->file_pos, 0};
	ZSTD_outBuffer dst = {out, room, 0};
	in->zst_hint = ZSTD_decompressStream(in->zst, &dst, &src);
	in->file_pos += src.pos;
	if (ZSTD_isError(in->zst_hint))
		input_damage(in, "the zstd data is damaged");
	return dst.pos;
}

static size_t (*const unpackers[])(assay_input *, char *, size_t) = {
	[PLAIN] = unpack_plain,
	[GZIP] = unpack_gzip,
	[ZSTD] = unpack_zstd,
	[ZIP] = unpack_zip,
};

/* Bytes one record may have: what is in the file pays for it. Traces pack to a twentieth. */
static uint64_t record_max(const assay_input *in)
{
	if (in->packing == PLAIN && in->regular)
		return UINT64_MAX;
	if (in->packing == PLAIN)
		return ASSAY_LIMIT_RECORD_PIPE;
	return ASSAY_LIMIT_RECORD + ASSAY_LIMIT_RECORD_RATIO * (in->file_done + in->file_pos);
}

/* Room for a view that ends at `to` and the step behind it. */
bool input_make_room(assay_input *in, uint64_t to)
{
	size_t need = (size_t)(to - in->low) + STEP + ASSAY_PAD;
	if (need <= in->ring->size)
		return true;
	if (to - in->low > record_max(in)) {
		input_damage(in, "one record is larger than %llu MiB",
			     (unsigned long long)(record_max(in) >> 20));
		return false;
	}
	size_t size = (need + STEP - 1) / STEP * STEP;
	if (input_ring_grow(in, size > in->ring->size * 2 ? size : in->ring->size * 2))
		return true;
	input_damage(in, "no memory for a record this large");
	return false;
}

bool input_text_fits(const assay_input *in, uint64_t text, uint64_t packed)
{
	return in->packing == PLAIN || text <= ASSAY_LIMIT_TEXT + ASSAY_LIMIT_TEXT_RATIO * packed;
}

static bool text_allowed(assay_input *in)
{
	if (input_text_fits(in, in->have, in->file_done + in->file_pos))
		return true;
	input_damage(
		in,
		"it unpacks to more than %d times its size: %llu MiB were read, the rest is not",
		ASSAY_LIMIT_TEXT_RATIO, (unsigned long long)(in->have >> 20));
	return false;
}

static void unpack_step(assay_input *in)
{
	if (!text_allowed(in) || !input_make_room(in, in->have))
		return;
	char *out = in->ring->p + in->have % in->ring->size;
	size_t n = unpackers[in->packing](in, out, STEP);
	assert(n <= STEP);
	in->have += n;
}

static uint64_t behind_mark(const assay_input *in, uint64_t pos)
{
	return pos < UINT64_MAX - in->mark ? pos + in->mark : pos;
}

/* The end of a view as far as it is known: a length in a hostile file asks for no memory. */
static uint64_t known_end(const assay_input *in, uint64_t to)
{
	uint64_t size = (uint64_t)in->then.st_size;
	bool known = in->packing == PLAIN && in->regular;
	return !known ? in->have : to < size ? to : size;
}

assay_view assay_input_view(assay_input *in, uint64_t pos, size_t want)
{
	pos = behind_mark(in, pos);
	if (in->memory) {
		if (pos > in->have)
			pos = in->have;
		return (assay_view){(const char *)in->file + pos, (size_t)(in->have - pos), true};
	}
	pthread_mutex_lock(&in->lock);
	assert(pos >= in->low); /* what was dropped is not asked for again */
	if (!in->end && in->have < pos + want && pos + want > pos)
		input_make_room(in, known_end(in, pos + want));
	while (!in->end && in->have < pos + want)
		if (in->spread)
			spread_wait(in);
		else
			unpack_step(in);
	if (pos > in->have)
		pos = in->have;
	assay_view v = {in->ring->p + pos % in->ring->size, (size_t)(in->have - pos), in->end};
	bool no_memory = in->no_memory;
	pthread_mutex_unlock(&in->lock);
	if (no_memory)
		assay_give_up(ASSAY_LIMIT, "out of memory while %s was unpacked", in->path);
	return v;
}

static bool has_pieces(const assay_input *in)
{
	return in->packing == PLAIN && in->regular && !in->memory;
}

/* What cannot be read is left to a view, which says why. */
assay_view assay_input_piece(assay_input *in, assay_piece *piece, uint64_t pos, size_t want)
{
	if (!has_pieces(in))
		return assay_input_view(in, pos, want);
	uint64_t size = input_packed_size(in);
	pos = behind_mark(in, pos);
	pos = pos < size ? pos : size;
	want = size - pos < want ? (size_t)(size - pos) : want;
	bool inside = pos >= piece->at && pos - piece->at < piece->n;
	size_t from = inside ? (size_t)(pos - piece->at) : 0;
	size_t kept = inside ? piece->n - from : 0;
	if (kept < want || !piece->p) {
		if (piece->room < want + ASSAY_PAD) {
			piece->room = want + ASSAY_PAD;
			piece->p = assay_pages_grow(piece->p, piece->room);
		}
		memmove(piece->p, piece->p + from, kept);
		kept += input_packed_at(in, pos + kept, piece->p + kept, want - kept);
		*piece = (assay_piece){piece->p, piece->room, kept, pos};
		from = 0;
	}
	return (assay_view){piece->p + from, kept, kept < want || pos + kept == size};
}

void assay_piece_free(assay_piece *piece)
{
	assay_pages_free(piece->p);
	*piece = (assay_piece){0};
}

/* From the bytes at this place of the file on. */
static void move_to(assay_input *in, uint64_t at)
{
	if (in->fd < 0) {
		in->file_pos = (size_t)at;
		return;
	}
	in->file_end = lseek(in->fd, (off_t)at, SEEK_SET) < 0;
	in->file_done = at;
	in->file_n = in->file_pos = 0;
}

void assay_input_drop(assay_input *in, uint64_t pos)
{
	pos = behind_mark(in, pos);
	pthread_mutex_lock(&in->lock);
	if (has_pieces(in) && pos > in->have && pos <= (uint64_t)in->then.st_size) {
		move_to(in, pos); /* it was read in pieces */
		in->have = in->low = pos;
	} else if (!in->memory && pos > in->low) {
		in->low = pos < in->have ? pos : in->have;
	}
	if (in->spread)
		spread_dropped(in);
	pthread_mutex_unlock(&in->lock);
}

static packing sniff_packing(const unsigned char *p, size_t n)
{
	if (n >= 3 && p[0] == 0x1f && p[1] == 0x8b && p[2] == 8)
		return GZIP;
	if (n >= 4 && p[0] == 0x28 && p[1] == 0xb5 && p[2] == 0x2f && p[3] == 0xfd)
		return ZSTD;
	/* frames that carry something else may come first: 50 2a 4d 18 to 5f 2a 4d 18 */
	if (n >= 4 && (p[0] & 0xf0) == 0x50 && p[1] == 0x2a && p[2] == 0x4d && p[3] == 0x18)
		return ZSTD;
	return n >= 4 && !memcmp(p, "PK\3\4", 4) ? ZIP : PLAIN;
}

static bool start_unpacking(assay_input *in)
{
	in->packing = sniff_packing(in->file + in->file_pos, in->file_n - in->file_pos);
	if (in->packing == ZIP && (!(in->fd < 0 || in->regular) || !zip_find(in, &in->zip)))
		in->packing = PLAIN;
	if (in->packing == PLAIN && in->fd < 0) {
		in->memory = true;
		in->have = in->file_n;
		return true;
	}
	if (in->packing == GZIP || in->packing == ZIP) {
		in->gz = assay_alloc(&in->arena, sizeof *in->gz);
		isal_inflate_init(in->gz);
		in->gz->crc_flag = in->packing == GZIP ? ISAL_GZIP : ISAL_DEFLATE;
	}
	if (in->packing == ZIP)
		move_to(in, in->zip.at);
	if (in->packing == ZSTD) {
		in->zst = ZSTD_createDStream();
		if (!in->zst)
			return false;
		/* all that `zstd --long` makes: a window costs only the memory that text fills */
		int most = ZSTD_dParam_getBounds(ZSTD_d_windowLogMax).upperBound;
		ZSTD_DCtx_setParameter(in->zst, ZSTD_d_windowLogMax, most);
	}
	return input_ring_grow(in, RING);
}

/* A byte order mark in front of a text, as editors and spreadsheets write it, is no part of it. */
static void skip_mark(assay_input *in)
{
	static const char mark[] = "\xef\xbb\xbf";
	assay_view v = assay_input_view(in, 0, sizeof mark - 1);
	if (v.n >= sizeof mark - 1 && !memcmp(v.p, mark, sizeof mark - 1))
		in->mark = sizeof mark - 1;
}

static void close_input(void *in)
{
	assay_input_close(in);
}

static assay_input *input_new(const char *path)
{
	assay_arena a = {0};
	assay_input *in = assay_alloc(&a, sizeof *in);
	in->arena = a;
	in->path = assay_dup(&in->arena, assay_str_of(path));
	in->fd = -1;
	pthread_mutex_init(&in->lock, NULL);
	pthread_cond_init(&in->change, NULL);
	assay_undo_add(&in->undo, close_input, in);
	return in;
}

assay_input *assay_input_open(const char *path, assay_err *err)
{
	assay_input *in = input_new(path);
	bool is_stdin = !strcmp(path, "-");
	/* O_NONBLOCK: a FIFO nobody writes to must not hang the open */
	in->fd = is_stdin ? dup(0) : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	if (in->fd < 0 || fstat(in->fd, &st) < 0) {
		assay_fail(err, ASSAY_IO, 0, "cannot open %s: %s", path, strerror(errno));
		goto fail;
	}
	if (!is_stdin && !S_ISREG(st.st_mode) && !S_ISFIFO(st.st_mode)) {
		assay_fail(err, ASSAY_IO, 0, "%s is not a file that can be read", path);
		goto fail;
	}
	/* files of /proc have no size until they are read */
	in->then = st;
	in->regular = S_ISREG(st.st_mode) && st.st_size && lseek(in->fd, 0, SEEK_CUR) == 0;
	fcntl(in->fd, F_SETFL, fcntl(in->fd, F_GETFL) & ~O_NONBLOCK);
	posix_fadvise(in->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	in->file = assay_alloc(&in->arena, READ_BUF);
	file_fill(in);
	errno = 0;
	if (start_unpacking(in)) {
		skip_mark(in);
		return in;
	}
	if (errno == ENOMEM)
		assay_oom(RING);
	assay_fail(err, ASSAY_IO, 0, "cannot unpack %s: %s", path,
		   errno ? strerror(errno) : "no memory");
fail:
	assay_input_close(in);
	return NULL;
}

assay_input *assay_input_memory(const void *p, size_t n)
{
	assay_input *in = input_new("memory");
	in->file = assay_alloc(&in->arena, n + ASSAY_PAD);
	if (n)
		memcpy(in->file, p, n);
	in->file_n = n;
	in->file_end = true;
	if (!start_unpacking(in))
		assay_oom(n);
	skip_mark(in);
	return in;
}

void assay_input_close(assay_input *in)
{
	if (!in)
		return;
	assay_undo_drop(&in->undo);
	spread_close(in);
	for (size_t i = 0; i < in->ring_count; i++)
		munmap(in->rings[i].p, 2 * in->rings[i].size);
	if (in->fd >= 0)
		close(in->fd);
	ZSTD_freeDStream(in->zst);
	pthread_cond_destroy(&in->change);
	pthread_mutex_destroy(&in->lock);
	assay_arena a = in->arena; /* the input itself lives in it */
	assay_arena_free(&a);
}

const char *assay_input_path(const assay_input *in)
{
	return in->path;
}

const char *assay_input_packing(const assay_input *in)
{
	static const char *const name[] = {
		[PLAIN] = "plain", [GZIP] = "gzip", [ZSTD] = "zstd", [ZIP] = "zip"};
	return name[in->packing];
}

uint64_t assay_input_file_bytes(const assay_input *in)
{
	return in->fd < 0 ? in->file_n : in->regular ? (uint64_t)in->then.st_size : 0;
}

uint64_t assay_input_file_pos(assay_input *in)
{
	if (in->memory)
		return in->have;
	pthread_mutex_lock(&in->lock);
	uint64_t pos = in->file_done + in->file_pos;
	pthread_mutex_unlock(&in->lock);
	return pos;
}

uint64_t assay_input_text_bytes(assay_input *in)
{
	if (in->memory)
		return in->have - in->mark;
	if (in->packing == PLAIN && in->regular && !in->damage[0]) /* databases read at will */
		return (uint64_t)in->then.st_size - in->mark;
	pthread_mutex_lock(&in->lock);
	uint64_t have = in->have;
	pthread_mutex_unlock(&in->lock);
	return have - in->mark;
}

const char *assay_input_damage(assay_input *in)
{
	return in->damage[0] ? in->damage : NULL;
}

const char *assay_input_change(assay_input *in)
{
	struct stat now;
	const struct stat *then = &in->then;
	if (!in->regular || in->damage[0] || fstat(in->fd, &now))
		return NULL;
	if (now.st_size > then->st_size)
		return "the file grew while it was read: what was added is not in here";
	bool same = now.st_size == then->st_size && now.st_mtim.tv_sec == then->st_mtim.tv_sec &&
		    now.st_mtim.tv_nsec == then->st_mtim.tv_nsec;
	return same ? NULL : "the file was written to while it was read: versions may be mixed";
}

uint64_t input_packed_size(const assay_input *in)
{
	return in->fd < 0 ? in->file_n : (uint64_t)in->then.st_size;
}

size_t input_packed_at(const assay_input *in, uint64_t at, void *to, size_t n)
{
	uint64_t size = input_packed_size(in);
	size_t got = 0;
	n = at >= size ? 0 : size - at < n ? (size_t)(size - at) : n;
	if (in->fd < 0 && n)
		memcpy(to, in->file + at, n);
	while (in->fd >= 0 && got < n) {
		ssize_t more = pread(in->fd, (char *)to + got, n - got, (off_t)(at + got));
		if (more < 0 && errno == EINTR)
			continue;
		if (more <= 0)
			return got;
		got += (size_t)more;
	}
	return n;
}

bool assay_input_is_at_will(const assay_input *in)
{
	return in->packing == PLAIN && (in->memory || in->regular);
}

size_t assay_input_read_at(assay_input *in, uint64_t pos, void *to, size_t n)
{
	return input_packed_at(in, behind_mark(in, pos), to, n);
}

size_t assay_input_fetch(assay_input *in, uint64_t pos, void *to, size_t n)
{
	pos = behind_mark(in, pos);
	size_t got = input_packed_at(in, pos, to, n);
	if (got < n && pos + got < input_packed_size(in)) {
		pthread_mutex_lock(&in->lock);
		shorter_than_it_was(in, pos + got);
		pthread_mutex_unlock(&in->lock);
	}
	return got;
}

/* "assay" as gzip -n would pack it. */
static const unsigned char gz_assay[] = {0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
					 0x03, 0x4b, 0x2c, 0x2e, 0x4e, 0xac, 0x04, 0x00, 0xe5,
					 0xe3, 0x72, 0x18, 0x05, 0x00, 0x00, 0x00};

static bool reads_whole(const char *path, size_t n, const char *threads)
{
	assay_err err = {0};
	setenv("ASSAY_THREADS", threads, 1);
	assay_input *in = assay_input_open(path, &err);
	bool same = in != NULL;
	for (size_t from = 0; same && from < n; from += n / 2) {
		assay_view v = assay_input_view(in, from, n - from);
		same = v.n >= n - from;
		for (size_t i = from; same && i < n; i++)
			same = (unsigned char)v.p[i - from] == (unsigned char)(i * i >> 7);
		assay_input_drop(in, from + n / 2);
	}
	same = same && assay_input_view(in, n, 1).n == 0 && !assay_input_damage(in);
	if (in)
		assay_input_close(in);
	unsetenv("ASSAY_THREADS");
	return same;
}

TEST(a_large_view_is_the_same_by_any_number_of_threads)
{
	enum { BYTES = (9 << 20) + 5 };
	const char *path = assay_test_path("large");
	FILE *f = fopen(path, "wb");
	CHECK(f);
	for (size_t i = 0; i < BYTES; i++)
		putc((int)(i * i >> 7 & 0xff), f);
	CHECK(!fclose(f));
	CHECK(reads_whole(path, BYTES, "1") && reads_whole(path, BYTES, "3"));
	return 0;
}

TEST(memory_is_read_as_it_is)
{
	assay_input *in = assay_input_memory("hello", 5);
	assay_view v = assay_input_view(in, 1, 100);
	CHECK(v.n == 4 && v.end && !memcmp(v.p, "ello", 4));
	CHECK(assay_input_view(in, 99, 1).n == 0);
	assay_input_drop(in, 5);
	assay_input_close(in);
	return 0;
}

TEST(a_byte_order_mark_is_no_part_of_the_text)
{
	static const unsigned char packed[] = {
		0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x03, 0x7b, 0xbf, 0x7b, 0x7f,
		0x62, 0x71, 0x71, 0x62, 0x25, 0x00, 0xa6, 0x46, 0x6c, 0x28, 0x08, 0x00, 0x00, 0x00};
	static const char plain[] = "\xef\xbb\xbf"
				    "assay";
	const char *path = assay_test_path("mark");
	FILE *f = fopen(path, "wb");
	CHECK(f && fputs(plain, f) >= 0 && !fclose(f));
	assay_input *ins[] = {assay_input_memory(plain, sizeof plain - 1),
			      assay_input_memory(packed, sizeof packed),
			      assay_input_open(path, NULL)};
	for (size_t i = 0; i < ASSAY_COUNT_OF(ins); i++) {
		assay_piece piece = {0};
		char bytes[8];
		assay_view v = assay_input_view(ins[i], 0, 100);
		CHECK(v.end && v.n == 5 && !memcmp(v.p, "assay", 5));
		v = assay_input_piece(ins[i], &piece, 1, 100);
		CHECK(v.end && v.n == 4 && !memcmp(v.p, "ssay", 4));
		CHECK_EQ(assay_input_text_bytes(ins[i]), 5);
		if (assay_input_is_at_will(ins[i]))
			CHECK(assay_input_read_at(ins[i], 2, bytes, 8) == 3 && bytes[0] == 's');
		assay_input_drop(ins[i], 4);
		CHECK(assay_input_view(ins[i], 4, 100).n == 1);
		assay_piece_free(&piece);
		assay_input_close(ins[i]);
	}
	unlink(path);
	return 0;
}

TEST(gzip_members_in_a_row_are_one_text)
{
	unsigned char two[2 * sizeof gz_assay];
	memcpy(two, gz_assay, sizeof gz_assay);
	memcpy(two + sizeof gz_assay, gz_assay, sizeof gz_assay);
	assay_input *in = assay_input_memory(two, sizeof two);
	assay_view v = assay_input_view(in, 0, 100);
	CHECK(v.end && v.n == 10 && !memcmp(v.p, "assayassay", 10) && !assay_input_damage(in));
	assay_input_close(in);
	return 0;
}

TEST(cut_gzip_keeps_its_text_and_says_so)
{
	for (size_t cut = 3; cut < sizeof gz_assay; cut++) {
		assay_input *in = assay_input_memory(gz_assay, cut);
		assay_view v = assay_input_view(in, 0, 100);
		CHECK(v.end && v.n <= 5 && assay_input_damage(in));
		assay_input_close(in);
	}
	return 0;
}

TEST(missing_files_are_an_error_with_their_name)
{
	assay_err err = {0};
	CHECK(!assay_input_open("/nonexistent/trace.json", &err));
	CHECK(err.code == ASSAY_IO && strstr(err.text, "/nonexistent/trace.json"));
	CHECK(!assay_input_open("/", &err) && strstr(err.text, "not a file"));
	return 0;
}

/* A file of n bytes of '.', opened and looked at. */
static assay_input *open_dots(const char *path, size_t n)
{
	FILE *f = fopen(path, "wb");
	for (size_t i = 0; f && i < n; i++)
		fputc('.', f);
	if (!f || fclose(f))
		return NULL;
	assay_input *in = assay_input_open(path, NULL);
	return in && assay_input_view(in, 0, 1).n ? in : NULL;
}

TEST(a_file_that_shrinks_while_it_is_read_keeps_what_was_there)
{
	enum { N = 5 << 20, LEFT = 3000000 };
	const char *path = assay_test_path("shrinks");
	assay_input *in = open_dots(path, N);
	CHECK(in && truncate(path, LEFT) == 0);
	assay_view v = assay_input_view(in, 0, N);
	CHECK(v.end && v.n == LEFT && v.p[LEFT - 1] == '.');
	CHECK(strstr(assay_input_damage(in), "of 5242880 bytes 3000000 were there"));
	assay_input_close(in);
	unlink(path);
	return 0;
}

TEST(pieces_of_a_file_are_what_views_are_and_a_view_goes_on_behind_them)
{
	enum { N = 3 << 20 };
	const char *path = assay_test_path("pieces");
	FILE *f = fopen(path, "wb");
	for (size_t i = 0; f && i < N; i++)
		putc((int)(i * i >> 7 & 0xff), f);
	CHECK(f && !fclose(f));
	assay_input *in = assay_input_open(path, NULL), *views = assay_input_open(path, NULL);
	assay_piece piece = {0};
	static const struct {
		uint32_t pos, want;
	} asked[] = {{5, 100000}, {70, 90000},     {90000, 100000}, {2000000, 1 << 20},
		     {0, 1},      {N - 10, 10},    {N - 10, 11},    {N, 1},
		     {N + 5, 1},  {1000, 2000000}, {999, 1}};
	for (size_t i = 0; i < ASSAY_COUNT_OF(asked); i++) {
		assay_view got = assay_input_piece(in, &piece, asked[i].pos, asked[i].want);
		assay_view want = assay_input_view(views, asked[i].pos, asked[i].want);
		CHECK(got.n >= asked[i].want || got.end);
		CHECK(got.n <= want.n && !memcmp(got.p, want.p, got.n));
		CHECK(!got.end || got.n == want.n);
	}
	assay_piece_free(&piece);
	assay_input_drop(in, 2000001);
	assay_view v = assay_input_view(in, 2000001, N);
	CHECK(v.end && v.n == N - 2000001 && !assay_input_damage(in));
	CHECK(!memcmp(v.p, assay_input_view(views, 2000001, N).p, v.n));
	assay_input_close(in);
	assay_input_close(views);
	unlink(path);
	return 0;
}

TEST(bytes_at_will_are_those_of_the_file_until_it_shrinks)
{
	enum { N = 5000, LEFT = 3000 };
	const char *path = assay_test_path("at_will");
	assay_input *in = open_dots(path, N), *memory = assay_input_memory("hello", 5);
	char bytes[100] = "";
	CHECK(in && assay_input_is_at_will(in) && assay_input_is_at_will(memory));
	CHECK(assay_input_read_at(memory, 1, bytes, 100) == 4 && !memcmp(bytes, "ello", 4));
	CHECK(assay_input_read_at(in, N - 60, bytes, 100) == 60 && bytes[59] == '.');
	CHECK(assay_input_read_at(in, N + 60, bytes, 100) == 0 && !assay_input_damage(in));
	CHECK(truncate(path, LEFT) == 0 && assay_input_read_at(in, LEFT - 7, bytes, 100) == 7);
	CHECK(!assay_input_damage(in) && assay_input_fetch(in, LEFT - 7, bytes, 100) == 7);
	CHECK(strstr(assay_input_damage(in), "of 5000 bytes 3000 were there"));
	assay_input_close(memory);
	assay_input_close(in);
	unlink(path);
	return 0;
}

TEST(a_file_that_grows_is_read_as_it_was_and_says_so)
{
	enum { N = 2 << 20 };
	const char *path = assay_test_path("grows");
	assay_input *in = open_dots(path, N);
	CHECK(in && !assay_input_change(in) && truncate(path, N + 5) == 0);
	assay_view v = assay_input_view(in, 0, 2 * N);
	CHECK(v.end && v.n == N && !assay_input_damage(in));
	CHECK(strstr(assay_input_change(in), "grew"));
	assay_input_close(in);
	unlink(path);
	return 0;
}

TEST(a_removed_file_is_read_to_its_end)
{
	enum { N = 2 << 20 };
	const char *path = assay_test_path("removed");
	assay_input *in = open_dots(path, N);
	CHECK(in && unlink(path) == 0);
	CHECK(assay_input_view(in, 0, 2 * N).n == N && !assay_input_damage(in));
	assay_input_close(in);
	return 0;
}

/* n bytes of white space as zstd packs them, behind a frame that is to be skipped. */
static size_t pack_blanks(char *to, size_t room, size_t n, int window)
{
	static const char skip[] = "\x51\x2a\x4d\x18\x03\0\0\0abc";
	assay_arena a = {0};
	char *blanks = assay_alloc(&a, n);
	ZSTD_CCtx *z = ZSTD_createCCtx();
	ZSTD_CCtx_setParameter(z, ZSTD_c_windowLog, window);
	ZSTD_inBuffer in = {blanks, n, 0};
	ZSTD_outBuffer out = {to, room, sizeof skip - 1};
	memcpy(to, skip, sizeof skip - 1);
	memset(blanks, ' ', n);
	/* in two steps, so that the size is not in the header and the window is */
	ZSTD_compressStream2(z, &out, &(ZSTD_inBuffer){" ", 1, 0}, ZSTD_e_flush);
	ZSTD_compressStream2(z, &out, &in, ZSTD_e_end);
	ZSTD_freeCCtx(z);
	assay_arena_free(&a);
	return out.pos;
}

TEST(any_window_of_zstd_and_frames_to_skip_are_read)
{
	char packed[4096];
	size_t n = pack_blanks(packed, sizeof packed, 100000, sizeof(void *) == 8 ? 31 : 30);
	assay_input *in = assay_input_memory(packed, n);
	assay_view v = assay_input_view(in, 0, 1 << 20);
	CHECK(!assay_input_damage(in) && v.n == 100001 && v.end && v.p[100000] == ' ');
	assay_input_close(in);
	return 0;
}

TEST(a_text_far_larger_than_its_file_is_cut_with_a_sentence)
{
	enum { N = 64 << 20, PACKED = 1 << 20 };
	assay_arena a = {0};
	char *packed = assay_alloc(&a, PACKED);
	size_t n = pack_blanks(packed, PACKED, N, 20);
	CHECK(n < 100000);
	assay_input *in = assay_input_memory(packed, n);
	uint64_t pos = 0;
	for (assay_view v = {0}; !v.end; assay_input_drop(in, pos)) {
		v = assay_input_view(in, pos, 1 << 20);
		pos += v.n;
	}
	CHECK(pos > ASSAY_LIMIT_TEXT && pos < N && strstr(assay_input_damage(in), "128 times"));
	assay_input_close(in);
	in = assay_input_memory(packed, n);
	CHECK(assay_input_view(in, 0, N).n < N && strstr(assay_input_damage(in), "128 times"));
	assay_input_close(in);
	assay_arena_free(&a);
	return 0;
}
