/* Inputs: mapping, unpacking, and the double-mapped ring. */
#define _GNU_SOURCE /* memfd_create */
#include "base/input.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <isa-l/igzip_lib.h>
#include <zstd.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/test.h"

enum {
	PAGE = 4096,
	STEP = 1 << 20,       /* unpacked at a time */
	RING = 4 << 20,       /* grows when one view needs more */
	RING_MAX = 1 << 30,   /* one record larger than this is hostile */
	READ_BUF = 256 << 10, /* for pipes */
};

struct ring {
	char *p; /* 2 * size bytes of address space */
	size_t size;
	struct ring *old; /* replaced rings stay mapped: views into them may be in use */
};

typedef enum { PLAIN, GZIP, ZSTD } packing;

struct assay_input {
	char *path;
	packing packing;
	int fd; /* -1 once mapped */
	bool mapped;
	/* file side: a mapping, or a buffer refilled from fd */
	unsigned char *file;
	size_t file_map, file_n, file_pos;
	uint64_t file_done; /* bytes of earlier buffers */
	bool file_end;
	/* text side, under lock when not mapped */
	pthread_mutex_t lock;
	struct ring *ring;
	uint64_t have, low, dropped;
	bool end;
	struct inflate_state *gz;
	bool gz_between; /* at a member boundary: more members may follow */
	ZSTD_DStream *zst;
	size_t zst_hint;
	char damage[160];
	assay_arena arena;
};

static bool ring_map(struct ring *r)
{
	int fd = memfd_create("assay", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, (off_t)r->size) < 0)
		return false;
	r->p = mmap(NULL, 2 * r->size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bool ok = r->p != MAP_FAILED;
	for (int half = 0; ok && half < 2; half++)
		ok = mmap(r->p + (size_t)half * r->size, r->size, PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_FIXED, fd, 0) != MAP_FAILED;
	close(fd);
	return ok;
}

static bool ring_grow(assay_input *in, size_t size)
{
	struct ring *r = assay_alloc(&in->arena, sizeof *r);
	r->size = size;
	if (!ring_map(r))
		return false;
	r->old = in->ring;
	if (r->old) {
		size_t live = (size_t)(in->have - in->low);
		memcpy(r->p + in->low % r->size, r->old->p + in->low % r->old->size, live);
	}
	in->ring = r;
	return true;
}

static void damage(assay_input *in, const char *why)
{
	if (!in->damage[0])
		snprintf(in->damage, sizeof in->damage, "%s", why);
	in->end = true;
}

/* Make file bytes available; false at the end of the file. */
static bool file_fill(assay_input *in)
{
	if (in->file_pos < in->file_n)
		return true;
	if (in->fd < 0 || in->file_end)
		return false;
	in->file_done += in->file_n;
	in->file_pos = in->file_n = 0;
	ssize_t got;
	do
		got = read(in->fd, in->file, READ_BUF);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		damage(in, strerror(errno));
	if (got <= 0) {
		in->file_end = true;
		return false;
	}
	in->file_n = (size_t)got;
	return true;
}

static size_t unpack_plain(assay_input *in, char *out, size_t room)
{
	if (!file_fill(in)) {
		in->end = true;
		return 0;
	}
	size_t n = in->file_n - in->file_pos;
	if (n > room)
		n = room;
	memcpy(out, in->file + in->file_pos, n);
	in->file_pos += n;
	return n;
}

/* Concatenated members are one text, as gzip itself reads them; other bytes after a member are not.
 */
static bool gzip_next_member(assay_input *in)
{
	if (!file_fill(in)) {
		in->end = true;
		return false;
	}
	if (in->file[in->file_pos] != 0x1f) {
		damage(in, "other bytes follow the gzip data");
		return false;
	}
	isal_inflate_reset(in->gz);
	in->gz->crc_flag = ISAL_GZIP;
	in->gz_between = false;
	return true;
}

static size_t unpack_gzip(assay_input *in, char *out, size_t room)
{
	struct inflate_state *s = in->gz;
	if (in->gz_between && !gzip_next_member(in))
		return 0;
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
		damage(in, rc == ISAL_INCORRECT_CHECKSUM ? "the gzip checksum does not match"
							 : "the gzip data is damaged");
	else if (s->block_state == ISAL_BLOCK_FINISH)
		in->gz_between = true;
	else if (!more && s->avail_out == room)
		damage(in, "the gzip data is cut short");
	return room - s->avail_out;
}

static size_t unpack_zstd(assay_input *in, char *out, size_t room)
{
	if (!file_fill(in)) {
		if (in->zst_hint)
			damage(in, "the zstd data is cut short");
		in->end = true;
		return 0;
	}
	ZSTD_inBuffer src = {in->file + in->file_pos, in->file_n - in->file_pos, 0};
	ZSTD_outBuffer dst = {out, room, 0};
	in->zst_hint = ZSTD_decompressStream(in->zst, &dst, &src);
	in->file_pos += src.pos;
	if (ZSTD_isError(in->zst_hint))
		damage(in, "the zstd data is damaged");
	return dst.pos;
}

static size_t (*const unpackers[])(assay_input *, char *, size_t) = {
	[PLAIN] = unpack_plain,
	[GZIP] = unpack_gzip,
	[ZSTD] = unpack_zstd,
};

static void unpack_step(assay_input *in)
{
	size_t live = (size_t)(in->have - in->low);
	if (live + STEP + ASSAY_PAD > in->ring->size) {
		if (in->ring->size >= RING_MAX) {
			damage(in, "one record is larger than 1 GiB");
			return;
		}
		if (!ring_grow(in, in->ring->size * 2)) {
			damage(in, "no memory for a record this large");
			return;
		}
	}
	char *out = in->ring->p + in->have % in->ring->size;
	in->have += unpackers[in->packing](in, out, STEP);
	/* packed bytes that are used up need not stay in memory */
	size_t used = in->file_pos & ~(size_t)(PAGE - 1);
	if (in->file_map && used > in->dropped + STEP) {
		madvise(in->file + in->dropped, used - in->dropped, MADV_DONTNEED);
		in->dropped = used;
	}
}

assay_view assay_input_view(assay_input *in, uint64_t pos, size_t want)
{
	if (in->mapped) {
		if (pos > in->have)
			pos = in->have;
		return (assay_view){(const char *)in->file + pos, (size_t)(in->have - pos), true};
	}
	pthread_mutex_lock(&in->lock);
	while (!in->end && in->have < pos + want)
		unpack_step(in);
	if (pos > in->have)
		pos = in->have;
	assay_view v = {in->ring->p + pos % in->ring->size, (size_t)(in->have - pos), in->end};
	pthread_mutex_unlock(&in->lock);
	return v;
}

void assay_input_drop(assay_input *in, uint64_t pos)
{
	uint64_t to = pos & ~(uint64_t)(PAGE - 1);
	pthread_mutex_lock(&in->lock);
	if (!in->mapped && pos > in->low) {
		in->low = pos < in->have ? pos : in->have;
	} else if (in->mapped && in->fd == -1 && to > in->dropped && to <= in->have) {
		madvise(in->file + in->dropped, (size_t)(to - in->dropped), MADV_DONTNEED);
		in->dropped = to;
	}
	pthread_mutex_unlock(&in->lock);
}

static packing sniff_packing(const unsigned char *p, size_t n)
{
	if (n >= 3 && p[0] == 0x1f && p[1] == 0x8b && p[2] == 8)
		return GZIP;
	if (n >= 4 && p[0] == 0x28 && p[1] == 0xb5 && p[2] == 0x2f && p[3] == 0xfd)
		return ZSTD;
	return PLAIN;
}

/* The file, then at least one readable page of zeros. */
static bool map_file(assay_input *in, size_t n)
{
	in->file_map = ((n + PAGE - 1) & ~(size_t)(PAGE - 1)) + PAGE;
	in->file = mmap(NULL, in->file_map, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (in->file == MAP_FAILED)
		return false;
	if (n && mmap(in->file, n, PROT_READ, MAP_PRIVATE | MAP_FIXED, in->fd, 0) == MAP_FAILED)
		return false;
	madvise(in->file, n ? n : PAGE, MADV_SEQUENTIAL);
	in->file_n = n;
	close(in->fd);
	in->fd = -1;
	return true;
}

static bool start_unpacking(assay_input *in)
{
	in->packing = sniff_packing(in->file + in->file_pos, in->file_n - in->file_pos);
	if (in->packing == PLAIN && in->fd < 0) {
		in->mapped = true;
		in->have = in->file_n;
		return true;
	}
	if (in->packing == GZIP) {
		in->gz = assay_alloc(&in->arena, sizeof *in->gz);
		isal_inflate_init(in->gz);
		in->gz->crc_flag = ISAL_GZIP;
	}
	if (in->packing == ZSTD)
		in->zst = ZSTD_createDStream();
	return ring_grow(in, RING);
}

static assay_input *input_new(const char *path)
{
	assay_arena a = {0};
	assay_input *in = assay_alloc(&a, sizeof *in);
	in->arena = a;
	in->path = assay_dup(&in->arena, assay_str_of(path));
	in->fd = -1;
	pthread_mutex_init(&in->lock, NULL);
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
	if (S_ISREG(st.st_mode) && lseek(in->fd, 0, SEEK_CUR) == 0) {
		if (!map_file(in, (size_t)st.st_size)) {
			assay_fail(err, ASSAY_IO, 0, "cannot map %s: %s", path, strerror(errno));
			goto fail;
		}
	} else {
		fcntl(in->fd, F_SETFL, fcntl(in->fd, F_GETFL) & ~O_NONBLOCK);
		in->file = assay_alloc(&in->arena, READ_BUF);
		file_fill(in);
	}
	if (start_unpacking(in))
		return in;
	assay_fail(err, ASSAY_IO, 0, "no memory to unpack %s", path);
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
	in->dropped = UINT64_MAX; /* not a mapping of its own: nothing to give back */
	return in;
}

void assay_input_close(assay_input *in)
{
	if (!in)
		return;
	for (struct ring *r = in->ring; r; r = r->old)
		munmap(r->p, 2 * r->size);
	if (in->file_map)
		munmap(in->file, in->file_map);
	if (in->fd >= 0)
		close(in->fd);
	ZSTD_freeDStream(in->zst);
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
	static const char *const name[] = {[PLAIN] = "plain", [GZIP] = "gzip", [ZSTD] = "zstd"};
	return name[in->packing];
}

uint64_t assay_input_file_bytes(const assay_input *in)
{
	return in->fd < 0 ? in->file_n : 0;
}

uint64_t assay_input_file_pos(assay_input *in)
{
	if (in->mapped)
		return in->dropped == UINT64_MAX ? in->have : in->dropped;
	pthread_mutex_lock(&in->lock);
	uint64_t pos = in->file_done + in->file_pos;
	pthread_mutex_unlock(&in->lock);
	return pos;
}

uint64_t assay_input_text_bytes(assay_input *in)
{
	if (in->mapped)
		return in->have;
	pthread_mutex_lock(&in->lock);
	uint64_t have = in->have;
	pthread_mutex_unlock(&in->lock);
	return have;
}

const char *assay_input_damage(assay_input *in)
{
	return in->damage[0] ? in->damage : NULL;
}

/* "assay" as gzip -n would pack it. */
static const unsigned char gz_assay[] = {0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
					 0x03, 0x4b, 0x2c, 0x2e, 0x4e, 0xac, 0x04, 0x00, 0xe5,
					 0xe3, 0x72, 0x18, 0x05, 0x00, 0x00, 0x00};

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
