/* SHA-256 of many files at once. libcrypto uses the processor's SHA instructions; files are taken
 * largest first so that the longest one does not start last. A digest is kept between runs by the
 * file's identity (device, inode, size, change times): rereading a library nobody touched tells
 * nothing new. Large files of kernel databases are read in pieces by all threads. */
#define _GNU_SOURCE /* posix_fadvise */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <openssl/err.h>
#include <openssl/evp.h>

#include "base/compare.h"
#include "base/folders.h"
#include "base/test.h"
#include "probe/probe.h"
#include "wire/clock.h"

enum { CHUNK = 1 << 20, PIECE = 16 << 20, THREADS_MAX = 64, BESIDE_MAX = 2 };
enum { CACHE_LINES = 1 << 17, CACHE_BYTES = 32 << 20 };

static void to_hex(const unsigned char *p, size_t n, char *out)
{
	static const char digits[] = "0123456789abcdef";
	for (size_t i = 0; i < n; i++) {
		out[2 * i] = digits[p[i] >> 4];
		out[2 * i + 1] = digits[p[i] & 15];
	}
	out[2 * n] = 0;
}

/* What the digests of libcrypto fail of is memory. Its notes about that are memory, too. */
static void must(int done)
{
	if (done)
		return;
	ERR_clear_error();
	assay_oom(0);
}

static void free_digest(void *md)
{
	EVP_MD_CTX_free(md);
}

/* A digest that is freed when the work is given up. */
static EVP_MD_CTX *new_digest(assay_undo *undo)
{
	EVP_MD_CTX *md = EVP_MD_CTX_new();
	must(md != NULL);
	assay_undo_add(undo, free_digest, md);
	return md;
}

static void end_digest(assay_undo *undo, EVP_MD_CTX *md)
{
	assay_undo_drop(undo);
	EVP_MD_CTX_free(md);
}

void assay_sha256_hex(const void *p, size_t n, char out[65])
{
	unsigned char md[EVP_MAX_MD_SIZE];
	unsigned len = 0;
	must(EVP_Digest(p, n, md, &len, EVP_sha256(), NULL));
	to_hex(md, 32, out);
}

/* One read of one thread: a whole file, or a piece of a large one. */
typedef struct piece {
	assay_file *file;
	uint64_t from, bytes;
	unsigned char digest[32];
	assay_cause cause;
} piece;

struct job {
	const assay_root *root;
	piece *piece;
	size_t n;
	atomic_size_t next;
	assay_thread thread[THREADS_MAX];
	size_t started;
	_Atomic uint64_t done; /* bytes, of all threads */
	uint64_t total;
	const assay_env_opts *opts; /* whom to tell how far it is; NULL: nobody */
	bool beside;                /* a program that is worth more */
};

/* One thread's own. */
struct worker {
	struct job *job;
	EVP_MD_CTX *md;
	char *buf;
	bool tells; /* it is the caller's thread */
};

/* The file that was described, untouched since. */
static bool same_file(const assay_file *f, const struct stat *st)
{
	return f->dev == st->st_dev && f->ino == st->st_ino && f->size == (uint64_t)st->st_size &&
	       f->mtime_ns == assay_timespec_ns(st->st_mtim);
}

static void count_bytes(const struct worker *w, uint64_t n)
{
	struct job *j = w->job;
	uint64_t done = atomic_fetch_add(&j->done, n) + n;
	if (w->tells && j->opts && j->opts->progress)
		j->opts->progress(j->opts->progress_ctx, "libraries and kernels", done, j->total);
}

/* The rest is for others, or nobody's. */
static bool must_leave(const struct job *j)
{
	const assay_env_pace *p = j->opts ? j->opts->pace : NULL;
	return p && (atomic_load(&p->stop) || (j->beside && !atomic_load(&p->beside)));
}

static bool digest_range(int fd, const struct worker *w, piece *p)
{
	uint64_t at = p->from, end = p->from + p->bytes;
	must(EVP_DigestInit_ex(w->md, EVP_sha256(), NULL));
	while (at < end && p->cause == ASSAY_CAUSE_NONE) {
		size_t want = end - at < CHUNK ? (size_t)(end - at) : CHUNK;
		ssize_t got = pread(fd, w->buf, want, (off_t)at);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			p->cause = ASSAY_CAUSE_IO;
		if (got <= 0)
			break;
		must(EVP_DigestUpdate(w->md, w->buf, (size_t)got));
		at += (uint64_t)got;
		count_bytes(w, (uint64_t)got);
		if (at < end && must_leave(w->job)) {
			p->cause = ASSAY_CAUSE_LEFT;
			atomic_fetch_sub(&w->job->done, at - p->from);
		}
	}
	must(EVP_DigestFinal_ex(w->md, p->digest, NULL));
	return p->cause == ASSAY_CAUSE_NONE;
}

static void hash_piece(const struct worker *w, piece *p)
{
	struct stat st;
	p->cause = ASSAY_CAUSE_NONE;
	int fd = assay_root_fd(w->job->root, p->file->path, &st, &p->cause);
	if (fd < 0)
		return;
	if (!same_file(p->file, &st)) {
		p->cause = ASSAY_CAUSE_CHANGED;
		close(fd);
		return;
	}
	assay_undo undo;
	assay_undo_fd(&undo, fd);
	posix_fadvise(fd, (off_t)p->from, (off_t)p->bytes, POSIX_FADV_SEQUENTIAL);
	if (digest_range(fd, w, p) && (fstat(fd, &st) || !same_file(p->file, &st)))
		p->cause = ASSAY_CAUSE_CHANGED;
	assay_undo_drop(&undo);
	close(fd);
}

static void take_pieces(struct job *j, bool tells)
{
	assay_arena a = {0};
	struct worker w = {.job = j, .buf = assay_alloc(&a, CHUNK), .tells = tells};
	assay_undo undo;
	w.md = new_digest(&undo);
	for (size_t i; !must_leave(j) && (i = atomic_fetch_add(&j->next, 1)) < j->n;)
		if (j->piece[i].cause == ASSAY_CAUSE_LEFT)
			hash_piece(&w, &j->piece[i]);
	end_digest(&undo, w.md);
	assay_arena_free(&a);
}

/* This thread alone; threads it starts, too, but it starts none. There is no way back. */
static void step_aside(void)
{
	enum { THIS_THREAD = 1, WHEN_IDLE = 3 << 13 }; /* of ioprio_set(2) */
	setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), 19);
	syscall(SYS_ioprio_set, THIS_THREAD, 0, WHEN_IDLE);
}

static void hash_worker(void *arg)
{
	struct job *j = arg;
	if (j->beside)
		step_aside();
	take_pieces(j, false);
}

static int larger_first(const void *a, const void *b)
{
	const assay_file *x = *(assay_file *const *)a, *y = *(assay_file *const *)b;
	return ASSAY_CMP(y->size, x->size);
}

static void join_workers(void *arg)
{
	struct job *j = arg;
	for (size_t i = 0; i < j->started; i++)
		assay_thread_join(&j->thread[i]);
}

/* The caller's thread works with the others, or waits for those that step aside. */
static void run_job(struct job *j)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	size_t most = j->beside ? BESIDE_MAX : THREADS_MAX;
	size_t want = cpus < 1 ? 1 : (size_t)cpus > most ? most : (size_t)cpus;
	assay_undo undo;
	want = (want < j->n ? want : j->n) - !j->beside;
	j->started = 0;
	atomic_store(&j->next, 0);
	assay_undo_add(&undo, join_workers, j);
	while (j->started < want && assay_thread_start(&j->thread[j->started], hash_worker, j))
		j->started++;
	if (!j->beside)
		take_pieces(j, true);
	assay_undo_drop(&undo);
	join_workers(j);
	for (size_t i = 0; i < j->started; i++)
		assay_thread_fail_as(&j->thread[i]);
}

/* From the pieces of one file, which stand together; how many there were. */
static size_t take_digest(const piece *p, const piece *end)
{
	assay_file *f = p->file;
	unsigned char md[EVP_MAX_MD_SIZE];
	assay_undo undo;
	EVP_MD_CTX *tree = new_digest(&undo);
	size_t n = 0;
	f->hashed = true;
	must(EVP_DigestInit_ex(tree, EVP_sha256(), NULL));
	for (; p + n < end && p[n].file == f; n++) {
		f->hashed &= p[n].cause == ASSAY_CAUSE_NONE;
		f->cause = p[n].cause ? p[n].cause : f->cause;
		must(EVP_DigestUpdate(tree, p[n].digest, sizeof p[n].digest));
	}
	must(EVP_DigestFinal_ex(tree, md, NULL));
	end_digest(&undo, tree);
	if (f->hashed)
		to_hex(f->tree ? md : p->digest, 32, f->sha256);
	return n;
}

static void hash_all(const assay_root *root, assay_file **file, size_t n,
		     const assay_env_opts *opts)
{
	assay_vec(piece) pieces = {0};
	uint64_t total = 0;
	if (n)
		qsort(file, n, sizeof *file, larger_first);
	for (size_t i = 0; i < n; i++) {
		uint64_t most = file[i]->tree ? PIECE : file[i]->size, at = 0;
		total += file[i]->size;
		do {
			uint64_t left = file[i]->size - at;
			piece p = {.file = file[i],
				   .from = at,
				   .bytes = left < most ? left : most,
				   .cause = ASSAY_CAUSE_LEFT};
			*assay_push(&pieces) = p;
			at += p.bytes;
		} while (at < file[i]->size);
	}
	struct job j = {
		.root = root, .piece = pieces.p, .n = pieces.n, .total = total, .opts = opts};
	j.beside = n && opts && opts->pace && atomic_load(&opts->pace->beside);
	if (j.beside)
		run_job(&j);
	j.beside = false;
	if (n)
		run_job(&j);
	for (size_t i = 0; i < pieces.n;)
		i += take_digest(&pieces.p[i], pieces.p + pieces.n);
	assay_vec_free(&pieces);
}

/* The digest cache: one line a file, "dev ino size mtime ctime sha256". */
static char *cache_path(assay_arena *a)
{
	const char *dir = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	if (dir && *dir == '/')
		return assay_printf(a, "%s/assay/sha256", dir);
	return home && *home == '/' ? assay_printf(a, "%s/.cache/assay/sha256", home) : NULL;
}

static int identity(const assay_file *f, char *out, size_t cap)
{
	return snprintf(out, cap, "%" PRIx64 " %" PRIu64 " %" PRIu64 " %" PRId64 " %" PRId64 "%s",
			(uint64_t)f->dev, (uint64_t)f->ino, f->size, f->mtime_ns, f->ctime_ns,
			f->tree ? " tree" : "");
}

static bool is_digest(assay_str s)
{
	return assay_str_is_hex(s, 64, 64);
}

/* The remembered lines, found by the identity they start with. */
typedef struct cache {
	assay_str text;
	assay_map line_at; /* hash of the identity -> where its line starts */
} cache;

static void cache_index(cache *c)
{
	assay_str rest = c->text;
	while (rest.n) {
		assay_str line = assay_str_cut(&rest, '\n');
		if (line.n > 65 && line.p[line.n - 65] == ' ' &&
		    is_digest((assay_str){line.p + line.n - 64, 64}))
			*assay_map_at(&c->line_at, assay_hash(line.p, line.n - 65, 0)) =
				(uint32_t)(line.p - c->text.p);
	}
}

static void cache_take(const cache *c, assay_file *f)
{
	char id[160];
	size_t n = (size_t)identity(f, id, sizeof id);
	uint32_t at = assay_map_get(&c->line_at, assay_hash(id, n, 0));
	if (at == ASSAY_MAP_ABSENT || c->text.n - at < n + 65 || memcmp(c->text.p + at, id, n) ||
	    c->text.p[at + n] != ' ')
		return;
	memcpy(f->sha256, c->text.p + at + n + 1, 64);
	f->hashed = true;
}

/* Written aside and renamed, so that two probes at once leave one whole file. A cache that cannot
 * be written is no cache: nothing is said. */
static void cache_write(assay_arena *a, char *path, assay_str old, assay_file **file, size_t n)
{
	char *aside = assay_printf(a, "%s.%ld", path, (long)getpid());
	assay_make_parents(path, 0700);
	FILE *f = fopen(aside, "wxe");
	if (!f)
		return;
	for (size_t i = 0; i < n; i++) {
		char id[160];
		identity(file[i], id, sizeof id);
		if (file[i]->hashed)
			fprintf(f, "%s %s\n", id, file[i]->sha256);
	}
	for (int lines = 0; old.n && lines < CACHE_LINES; lines++) {
		assay_str line = assay_str_cut(&old, '\n');
		fprintf(f, "%.*s\n", (int)line.n, line.p);
	}
	bool ok = !ferror(f);
	if (fclose(f) || !ok || rename(aside, path))
		unlink(aside);
}

static assay_str cache_read(assay_ctx *c, const char *path)
{
	assay_str text = {"", 0};
	if (path)
		assay_root_read(&c->root, c->a, path, CACHE_BYTES, &text);
	return text;
}

static void left_reason(assay_ctx *c)
{
	assay_ctx_reason(c, ASSAY_LEVEL_ERROR,
			 "assay.files: %zu files have no digest: they were not read to the end",
			 c->env->left);
}

/* What is known without the digests that are still to be made. */
static void tell_early(assay_ctx *c, size_t n)
{
	if (!c->opts->early || !n)
		return;
	c->env->left = n;
	left_reason(c);
	c->opts->early(c->opts->early_ctx, c->env);
	c->env->left = 0;
	c->env->reasons.n--;
}

/* Files that could not be read are named, those that nobody waited for counted. */
static void tell_missing(assay_ctx *c, assay_file **file, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (file[i]->cause == ASSAY_CAUSE_LEFT)
			c->env->left++;
		else if (!file[i]->hashed)
			assay_ctx_reason(c, ASSAY_LEVEL_ERROR, "assay.files: %s %s", file[i]->path,
					 assay_cause_text(file[i]->cause));
	if (c->env->left)
		left_reason(c);
}

void assay_ctx_hash(assay_ctx *c)
{
	if (c->opts->no_hash)
		return;
	assay_vec(assay_file *) todo = {0};
	/* a root that is not the host's must not be marked by us, nor the host on its behalf */
	char *path = c->root.host && !c->opts->no_cache ? cache_path(c->a) : NULL;
	cache known = {.text = cache_read(c, path)};
	cache_index(&known);
	for (size_t i = 0; i < c->env->files.n; i++) {
		assay_file *f = c->env->files.p[i];
		if (f->want_hash && !f->hashed)
			cache_take(&known, f);
		if (f->want_hash && !f->hashed && !f->only_remembered)
			*assay_push(&todo) = f;
	}
	tell_early(c, todo.n);
	hash_all(&c->root, todo.p, todo.n, c->opts);
	tell_missing(c, todo.p, todo.n);
	bool fresh = false;
	for (size_t i = 0; i < todo.n; i++)
		fresh |= todo.p[i]->hashed;
	if (path && fresh)
		cache_write(c->a, path, known.text, todo.p, todo.n);
	c->env->hashed = !c->env->left;
	assay_map_free(&known.line_at);
	assay_vec_free(&todo);
}

TEST(sha256_of_text_is_right)
{
	char hex[65];
	assay_sha256_hex("abc", 3, hex);
	CHECK(!strcmp(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"));
	return 0;
}

TEST(a_probe_that_is_stopped_leaves_what_has_no_digest)
{
	assay_env_pace pace = {.beside = 1, .stop = 1};
	assay_env_opts opts = {.pace = &pace};
	assay_root root;
	assay_file file = {.path = "/passwd"}, *list[] = {&file};
	CHECK(assay_root_open(&root, "/etc", NULL));
	hash_all(&root, list, 1, &opts);
	CHECK(!file.hashed && file.cause == ASSAY_CAUSE_LEFT);
	assay_root_close(&root);
	return 0;
}

TEST(threads_hash_every_file_once)
{
	enum { FILES = 40 };
	assay_env_pace pace = {.beside = 1};
	assay_env_opts opts = {.pace = &pace};
	char path[600], want[65], line[64];
	const char *top = assay_test_path("top");
	assay_root root;
	assay_file file[FILES] = {{0}}, *list[FILES];
	assay_arena a = {0};
	CHECK(!mkdir(top, 0700) && assay_root_open(&root, top, NULL));
	for (int i = 0; i < FILES; i++) {
		snprintf(path, sizeof path, "%s/%d", top, i);
		FILE *f = fopen(path, "w");
		CHECK(f && fprintf(f, "%d", i) > 0 && fclose(f) == 0);
		struct stat st;
		CHECK(stat(path, &st) == 0);
		file[i].path = assay_printf(&a, "/%d", i);
		file[i].size = (uint64_t)st.st_size;
		file[i].dev = st.st_dev;
		file[i].ino = st.st_ino;
		file[i].mtime_ns = assay_timespec_ns(st.st_mtim);
		list[i] = &file[i];
	}
	hash_all(&root, list, FILES, &opts);
	for (int i = 0; i < FILES; i++) {
		int n = snprintf(line, sizeof line, "%d", i);
		assay_sha256_hex(line, (size_t)n, want);
		CHECK(file[i].hashed && !strcmp(file[i].sha256, want));
	}
	assay_root_close(&root);
	assay_arena_free(&a);
	return 0;
}

TEST(cached_digests_need_the_same_identity)
{
	assay_file f = {.dev = 1, .ino = 2, .size = 3, .mtime_ns = 4, .ctime_ns = 5};
	char line[256], sha[65];
	assay_sha256_hex("", 0, sha);
	snprintf(line, sizeof line, "junk\n1 2 3 4 5 %s\n", sha);
	cache c = {.text = assay_str_of(line)};
	cache_index(&c);
	cache_take(&c, &f);
	CHECK(f.hashed && !strcmp(f.sha256, sha));
	assay_file g = {.dev = 1, .ino = 2, .size = 3, .mtime_ns = 4, .ctime_ns = 6};
	cache_take(&c, &g);
	assay_file tree = {
		.dev = 1, .ino = 2, .size = 3, .mtime_ns = 4, .ctime_ns = 5, .tree = true};
	cache_take(&c, &tree);
	CHECK(!g.hashed && !tree.hashed);
	assay_map_free(&c.line_at);
	return 0;
}
