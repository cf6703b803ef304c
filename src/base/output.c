/* Writing through a packer: a stdio stream whose bytes are compressed on their way to the file. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* fopencookie, O_TMPFILE */
#endif
#include "base/output.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <isa-l/igzip_lib.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/input.h"
#include "base/owner.h"
#include "base/pack.h"
#include "base/test.h"

enum { CHUNK = 1 << 17, ZSTD_LEVEL = 3, GZIP_LEVEL = 1 };

struct assay_output {
	assay_arena arena;
	FILE *file;              /* what callers write to */
	FILE *plain;             /* the file itself */
	const char *path, *temp; /* temp: its name until it is whole, NULL when it has none */
	bool nameless;
	bool failed;
	struct isal_zstream *gzip;
	ZSTD_CCtx *zstd;
	uint8_t *packed;
	/* Text that is not packed yet: packers get it in pieces of one size, from one place and
	 * with the same bytes behind it, so that what they write depends on the text alone and not
	 * on how callers divide it. */
	char *text;
	size_t held;
	assay_undo undo;
};

static bool put(assay_output *o, const void *p, size_t n)
{
	o->failed |= fwrite(p, 1, n, o->plain) != n;
	return !o->failed;
}

static bool gzip_put(assay_output *o, const void *p, size_t n, bool end)
{
	struct isal_zstream *z = o->gzip;
	z->next_in = (uint8_t *)(uintptr_t)p; /* the library does not write to it */
	z->avail_in = (uint32_t)n;
	z->end_of_stream = end;
	do {
		z->next_out = o->packed;
		z->avail_out = CHUNK;
		if (isal_deflate(z) != COMP_OK || !put(o, o->packed, CHUNK - z->avail_out))
			return false;
	} while (z->avail_out == 0 || z->avail_in ||
		 (end && z->internal_state.state != ZSTATE_END));
	return true;
}

static bool zstd_put(assay_output *o, const void *p, size_t n, bool end)
{
	ZSTD_inBuffer in = {p, n, 0};
	size_t left;
	do {
		ZSTD_outBuffer out = {o->packed, CHUNK, 0};
		left = ZSTD_compressStream2(o->zstd, &out, &in, end ? ZSTD_e_end : ZSTD_e_continue);
		if (ZSTD_isError(left) || !put(o, o->packed, out.pos))
			return false;
	} while (in.pos < in.size || (end && left));
	return true;
}

static bool pack(assay_output *o, const void *p, size_t n, bool end)
{
	bool ok = o->gzip ? gzip_put(o, p, n, end) : zstd_put(o, p, n, end);
	o->failed |= !ok;
	return ok;
}

static ssize_t cookie_write(void *cookie, const char *p, size_t n)
{
	assay_output *o = cookie;
	for (size_t at = 0, step; at < n; at += step) {
		step = n - at < CHUNK - o->held ? n - at : CHUNK - o->held;
		memcpy(o->text + o->held, p + at, step);
		o->held += step;
		if (o->held < CHUNK)
			continue;
		o->held = 0;
		if (!pack(o, o->text, CHUNK, false))
			return 0;
	}
	return (ssize_t)n;
}

static const char GZIP_END[] = ".gz", ZSTD_END[] = ".zst";

assay_str assay_unpacked_name(assay_str path)
{
	path.n -= assay_str_ends(path, GZIP_END)   ? strlen(GZIP_END)
		  : assay_str_ends(path, ZSTD_END) ? strlen(ZSTD_END)
						   : 0;
	return path;
}

static void start_packer(assay_output *o, assay_str path)
{
	if (assay_str_ends(path, GZIP_END)) {
		o->gzip = assay_alloc(&o->arena, sizeof *o->gzip);
		isal_deflate_init(o->gzip);
		o->gzip->gzip_flag = IGZIP_GZIP;
		o->gzip->level = GZIP_LEVEL;
		o->gzip->level_buf_size = ISAL_DEF_LVL1_DEFAULT;
		o->gzip->level_buf = assay_alloc(&o->arena, ISAL_DEF_LVL1_DEFAULT);
	} else if (assay_str_ends(path, ZSTD_END)) {
		o->zstd = ZSTD_createCCtx();
		if (!o->zstd)
			return;
		ZSTD_CCtx_setParameter(o->zstd, ZSTD_c_compressionLevel, ZSTD_LEVEL);
		ZSTD_CCtx_setParameter(o->zstd, ZSTD_c_checksumFlag, 1);
	} else {
		o->file = o->plain;
		return;
	}
	o->packed = assay_alloc(&o->arena, CHUNK);
	o->text = assay_alloc(&o->arena, CHUNK + ASSAY_PAD);
	o->file = fopencookie(o, "w", (cookie_io_functions_t){.write = cookie_write});
	if (o->file)
		setvbuf(o->file, NULL, _IOFBF, CHUNK);
}

static void release(assay_output *o)
{
	assay_undo_drop(&o->undo);
	ZSTD_freeCCtx(o->zstd);
	assay_arena a = o->arena;
	assay_arena_free(&a);
}

/* A file made by mkstemp is private; give it the mode any new file has. */
static void usual_mode(int fd)
{
	mode_t mask = umask(0);
	umask(mask);
	(void)!fchmod(fd, 0666 & ~mask);
}

/* Who may read the file that is replaced may read the new one, and nobody else: its owner first,
 * for that clears bits of the mode. */
static void keep_mode(int fd, const struct stat *old)
{
	struct stat now;
	if (!fstat(fd, &now) && (now.st_uid != old->st_uid || now.st_gid != old->st_gid))
		(void)!fchown(fd, old->st_uid, old->st_gid);
	(void)!fchmod(fd, old->st_mode & 0777);
}

/* A file that has no name until it is whole: whoever is killed leaves nothing. Not every file
 * system has such files. */
static int nameless_in(const char *folder)
{
	if (access("/proc/self/fd", X_OK)) /* the way to a name */
		return -1;
	return open(*folder ? folder : ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
}

static int open_nameless(assay_output *o, const char *meanwhile)
{
	assay_str own = assay_str_folder(assay_str_of(o->path));
	int fd = nameless_in(meanwhile ? meanwhile : assay_dup(&o->arena, own));
	o->nameless = fd >= 0;
	return fd;
}

bool assay_output_can_wait(const char *folder)
{
	int fd = nameless_in(folder);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static int open_named(assay_output *o)
{
	char *temp = assay_printf(&o->arena, "%s.XXXXXX", o->path);
	int fd = mkstemp(temp);
	if (fd < 0)
		return -1;
	o->temp = temp;
	usual_mode(fd);
	return fd;
}

static bool give_name(assay_output *o)
{
	enum { TRIES = 100 };
	char *from = assay_printf(&o->arena, "/proc/self/fd/%d", fileno(o->plain));
	for (int i = 0; i < TRIES; i++) {
		char *temp = assay_printf(&o->arena, "%s.%ld-%d", o->path, (long)getpid(), i);
		if (!linkat(AT_FDCWD, from, AT_FDCWD, temp, AT_SYMLINK_FOLLOW)) {
			o->temp = temp;
			return true;
		}
		if (errno != EEXIST)
			return false;
	}
	return false;
}

static void drop_output(void *o)
{
	assay_output_drop(o);
}

assay_output *assay_output_open(const char *path, assay_err *err)
{
	return assay_output_open_below(NULL, path, err);
}

assay_output *assay_output_open_below(const char *meanwhile, const char *path, assay_err *err)
{
	assay_arena a = {0};
	assay_output *o = assay_alloc(&a, sizeof *o);
	o->arena = a;
	assay_undo_add(&o->undo, drop_output, o);
	if (!strcmp(path, "-")) {
		o->file = o->plain = stdout;
		return o;
	}
	o->path = assay_dup(&o->arena, assay_str_of(path));
	struct stat st;
	bool there = stat(path, &st) == 0, special = there && !S_ISREG(st.st_mode);
	int fd = special ? -1 : open_nameless(o, meanwhile);
	fd = special || fd >= 0 ? fd : open_named(o);
	if (there && fd >= 0)
		keep_mode(fd, &st);
	/* a pipe or device keeps its place */
	o->plain = special ? fopen(path, "wb") : fd < 0 ? NULL : fdopen(fd, "wb");
	if (!o->plain) {
		assay_fail(err, ASSAY_IO, 0, "cannot write %s: %s", path, strerror(errno));
		if (fd >= 0)
			close(fd);
		assay_output_drop(o);
		return NULL;
	}
	start_packer(o, assay_str_of(path));
	if (!o->file) {
		assay_fail(err, ASSAY_IO, 0, "cannot write %s: %s", path, strerror(errno));
		assay_output_drop(o);
		return NULL;
	}
	return o;
}

FILE *assay_output_file(assay_output *o)
{
	return o->file;
}

static bool fail_write(const assay_output *o, assay_err *err)
{
	return assay_fail(err, ASSAY_IO, 0, "cannot write %s: %s",
			  o->path ? o->path : "to standard output", strerror(errno));
}

/* The reason of a write that failed earlier is forgotten: another one tells it. */
static int why_broken(const assay_output *o)
{
	if (!ferror(o->file) && !ferror(o->plain) && !o->failed)
		return 0;
	bool told = !o->path || write(fileno(o->plain), "", 1) < 0;
	return told && errno ? errno : EIO;
}

bool assay_output_finish(assay_output *o, assay_err *err)
{
	int why = why_broken(o);
	bool ok = !why && fflush(o->file) == 0 && !o->failed;
	if (!o->path) { /* standard output stays open */
		errno = why ? why : errno;
		return ok || fail_write(o, err);
	}
	if (o->file != o->plain) {
		ok &= fclose(o->file) == 0;
		o->file = o->plain;
		ok = ok && pack(o, o->text, o->held, true);
	}
	ok = fflush(o->plain) == 0 && ok;
	ok = ok && (!o->nameless || give_name(o));
	ok &= fclose(o->plain) == 0;
	o->file = o->plain = NULL;
	errno = why ? why : errno;
	return ok || fail_write(o, err);
}

bool assay_output_close(assay_output *o, assay_err *err)
{
	bool ok = (!o->plain || assay_output_finish(o, err)) &&
		  (!o->temp || rename(o->temp, o->path) == 0 || fail_write(o, err));
	if (!ok && o->temp)
		unlink(o->temp);
	release(o);
	return ok;
}

void assay_output_drop(assay_output *o)
{
	if (o->path) {
		if (o->file && o->file != o->plain)
			fclose(o->file);
		if (o->plain)
			fclose(o->plain);
		if (o->temp)
			unlink(o->temp);
	}
	release(o);
}

static bool round_trip(const char *path, size_t n)
{
	assay_err err = {0};
	assay_output *o = assay_output_open(path, &err);
	for (size_t i = 0; o && i < n; i++)
		fputc((int)(i * i >> 7 & 0xff), assay_output_file(o));
	if (!o || !assay_output_close(o, &err))
		return false;
	assay_input *in = assay_input_open(path, &err);
	bool same = in != NULL;
	for (size_t at = 0; same && at < n;) {
		assay_view v = assay_input_view(in, at, 1);
		same = v.n > 0;
		for (size_t i = 0; same && i < v.n; i++, at++)
			same = (uint8_t)v.p[i] == (uint8_t)(at * at >> 7 & 0xff);
		assay_input_drop(in, at);
	}
	same = same && assay_input_view(in, n, 1).n == 0 && !assay_input_damage(in);
	if (in)
		assay_input_close(in);
	unlink(path);
	return same;
}

TEST(what_is_packed_unpacks_to_the_same)
{
	CHECK(round_trip(assay_test_path("bin"), 300000));
	CHECK(round_trip(assay_test_path("bin.gz"), 3000000));
	CHECK(round_trip(assay_test_path("bin.zst"), 3000000));
	CHECK(round_trip(assay_test_path("empty.gz"), 0));
	return 0;
}

/* The file's bytes when its text comes in pieces of that size. */
static bool written_by(assay_blob *out, const char *path, const char *text, size_t n, size_t piece)
{
	assay_err err = {0};
	assay_output *o = assay_output_open(path, &err);
	for (size_t at = 0; o && at < n; at += piece)
		fwrite(text + at, 1, n - at < piece ? n - at : piece, assay_output_file(o));
	if (!o || !assay_output_close(o, &err))
		return false;
	FILE *f = fopen(path, "rb");
	assay_vec_reserve(out, n);
	out->n = f ? fread(out->p, 1, n, f) : 0;
	if (f)
		fclose(f);
	unlink(path);
	return out->n;
}

TEST(packed_bytes_do_not_depend_on_how_their_text_is_divided)
{
	enum { N = 2000000 };
	static const char *const names[] = {"pieces.gz", "pieces.zst"};
	static const size_t pieces[] = {1, 1000, 8192, 100000, 300001};
	assay_blob text = {0}, whole = {0}, some = {0};
	assay_vec_reserve(&text, N);
	for (uint32_t i = 0, x = 1; i < N; i++, x = x * 1664525 + 1013904223)
		text.p[i] = (uint8_t) "{\"ts\":0123456789}"[i % 19 > 4 ? x >> 28 : i % 19];
	for (size_t k = 0; k < ASSAY_COUNT_OF(names); k++) {
		const char *path = assay_test_path(names[k]);
		CHECK(written_by(&whole, path, (char *)text.p, N, N));
		for (size_t i = 0; i < ASSAY_COUNT_OF(pieces); i++) {
			CHECK(written_by(&some, path, (char *)text.p, N, pieces[i]));
			CHECK_EQ(some.n, whole.n);
			CHECK(!memcmp(some.p, whole.p, whole.n));
		}
	}
	assay_vec_free(&text);
	assay_vec_free(&whole);
	assay_vec_free(&some);
	return 0;
}

/* Files in the folder of a test. */
static size_t files_there(void)
{
	size_t n = 0;
	DIR *d = opendir(assay_test_path(""));
	for (struct dirent *e; d && (e = readdir(d));)
		n += e->d_name[0] != '.';
	if (d)
		closedir(d);
	return n;
}

TEST(an_output_of_a_killed_program_leaves_nothing)
{
	assay_err err = {0};
	const char *path = assay_test_path("killed.json");
	assay_output *o = assay_output_open(path, &err);
	CHECK(o);
	bool nameless = o->nameless;
	fputs("half", assay_output_file(o));
	fflush(assay_output_file(o));
	size_t left = files_there();
	CHECK(assay_output_close(o, &err) && access(path, F_OK) == 0);
	CHECK_EQ(files_there(), 1);
	unlink(path);
	if (!nameless) /* of this file system */
		return 77;
	CHECK_EQ(left, 0);
	return 0;
}

TEST(a_file_that_is_replaced_keeps_its_mode)
{
	assay_err err = {0};
	const char *path = assay_test_path("mode.json");
	struct stat st;
	for (unsigned mode = 0600; mode <= 0640; mode += 040) {
		FILE *f = fopen(path, "wb");
		CHECK(f && !fclose(f) && !chmod(path, mode));
		assay_output *o = assay_output_open(path, &err);
		CHECK(o && assay_output_close(o, &err) && !stat(path, &st));
		CHECK_EQ(st.st_mode & 0777, mode);
	}
	unlink(path);
	return 0;
}

TEST(a_dropped_output_leaves_nothing)
{
	assay_err err = {0};
	CHECK(!assay_output_open("/nonexistent/place/x.gz", &err) && err.code == ASSAY_IO);
	assay_output *o = assay_output_open(assay_test_path("drop.json.gz"), &err);
	CHECK(o);
	fputs("half", assay_output_file(o));
	assay_output_drop(o);
	CHECK_EQ(files_there(), 0);
	return 0;
}
