/* Path resolution inside a root, by openat2(RESOLVE_IN_ROOT) or by hand where that is refused. */
#define _GNU_SOURCE /* O_PATH, openat2 */
#include "probe/root.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"
#include "base/folders.h"
#include "base/input.h"
#include "base/test.h"
#include "base/utf8.h"

enum { LINKS_MAX = 40, TEXT_MAX = 1 << 20, FIRST_READ = 16 << 10 };

const char *assay_cause_text(assay_cause cause)
{
	static const char *const text[] = {
#define X(id, words) words,
		ASSAY_CAUSE_LIST(X)
#undef X
	};
	return text[cause];
}

static assay_cause cause_of(int error)
{
	switch (error) {
	case ENOENT:
	case ENOTDIR:
		return ASSAY_CAUSE_MISSING;
	case EACCES:
	case EPERM:
		return ASSAY_CAUSE_DENIED;
	case ELOOP:
		return ASSAY_CAUSE_LOOP;
	default:
		return ASSAY_CAUSE_IO;
	}
}

bool assay_root_open(assay_root *root, const char *path, assay_err *err)
{
	*root = (assay_root){.path = path, .fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC)};
	if (root->fd < 0)
		return assay_fail(err, ASSAY_IO, 0, "cannot use %s as a root: %s", path,
				  strerror(errno));
	struct stat here, top;
	root->host = fstat(root->fd, &here) == 0 && stat("/", &top) == 0 &&
		     here.st_dev == top.st_dev && here.st_ino == top.st_ino;
	assay_undo_fd(&root->undo, root->fd);
	return true;
}

void assay_root_close(assay_root *root)
{
	if (root->fd >= 0) {
		assay_undo_drop(&root->undo);
		close(root->fd);
	}
	root->fd = -1;
}

/* Resolution by hand. `path` never holds a link, "." or ".." once a part has been added. */
struct walk {
	char path[PATH_MAX]; /* resolved so far, without the leading slash */
	char rest[PATH_MAX]; /* still to go */
	int links;
};

static void walk_up(struct walk *w)
{
	char *slash = strrchr(w->path, '/');
	*(slash ? slash : w->path) = 0;
}

/* Put the target of a link before what is left to go. */
static int walk_link(const assay_root *root, struct walk *w, const char *at)
{
	char target[PATH_MAX], joined[2 * PATH_MAX + 2];
	if (++w->links > LINKS_MAX)
		return ELOOP;
	ssize_t n = readlinkat(root->fd, at, target, sizeof target - 1);
	if (n < 0)
		return errno;
	target[n] = 0;
	if (target[0] == '/')
		w->path[0] = 0;
	snprintf(joined, sizeof joined, "%s/%s", target, w->rest);
	if (strlen(joined) >= sizeof w->rest)
		return ENAMETOOLONG;
	memcpy(w->rest, joined, strlen(joined) + 1);
	return 0;
}

static int walk_part(const assay_root *root, struct walk *w, const char *part, bool last,
		     bool follow_last)
{
	char at[2 * PATH_MAX];
	struct stat st;
	if (!*part || !strcmp(part, "."))
		return 0;
	if (!strcmp(part, "..")) {
		walk_up(w);
		return 0;
	}
	snprintf(at, sizeof at, "%s%s%s", w->path, *w->path ? "/" : "", part);
	if (strlen(at) >= sizeof w->path)
		return ENAMETOOLONG;
	if (fstatat(root->fd, at, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno;
	if (S_ISLNK(st.st_mode) && (!last || follow_last))
		return walk_link(root, w, at);
	if (!last && !S_ISDIR(st.st_mode))
		return ENOTDIR;
	memcpy(w->path, at, strlen(at) + 1);
	return 0;
}

/* 0, or an errno. */
static int resolve(const assay_root *root, const char *path, bool follow_last, struct walk *w)
{
	w->path[0] = 0;
	w->links = 0;
	if (strlen(path) >= sizeof w->rest)
		return ENAMETOOLONG;
	memcpy(w->rest, path, strlen(path) + 1);
	while (*w->rest) {
		char part[PATH_MAX];
		size_t n = strcspn(w->rest, "/");
		memcpy(part, w->rest, n);
		part[n] = 0;
		size_t skip = n + strspn(w->rest + n, "/");
		memmove(w->rest, w->rest + skip, strlen(w->rest + skip) + 1);
		int error = walk_part(root, w, part, !*w->rest, follow_last);
		if (error)
			return error;
	}
	return 0;
}

static int open_by_hand(const assay_root *root, const char *path, int flags)
{
	struct walk w;
	int error = resolve(root, path, !(flags & O_NOFOLLOW), &w);
	if (error) {
		errno = error;
		return -1;
	}
	return openat(root->fd, *w.path ? w.path : ".", flags | O_NOFOLLOW);
}

static int open_in_root(const assay_root *root, const char *path, int flags)
{
	flags |= O_CLOEXEC;
	struct open_how how = {.flags = (uint64_t)flags, .resolve = RESOLVE_IN_ROOT};
	if (!root->no_openat2) {
		long fd = syscall(SYS_openat2, root->fd, path, &how, sizeof how);
		/* EAGAIN: a rename raced with the lookup; the others: no such call here */
		if (fd >= 0 ||
		    (errno != ENOSYS && errno != EPERM && errno != EAGAIN && errno != E2BIG))
			return (int)fd;
	}
	return open_by_hand(root, path, flags);
}

static void note_shut(const assay_root *root, const char *path, int error)
{
	static const char *const kernels[] = {"/proc/", "/sys/", "/dev/"};
	assay_cause cause = cause_of(error);
	if (!root->shut || error == ENAMETOOLONG ||
	    (cause != ASSAY_CAUSE_DENIED && cause != ASSAY_CAUSE_IO) ||
	    assay_str_starts_any(assay_str_of(path), kernels, ASSAY_COUNT_OF(kernels)))
		return;
	const char *folder = assay_folder_of(root->shut->a, path);
	for (size_t i = 0; i < root->shut->folders.n; i++)
		if (!strcmp(root->shut->folders.p[i], folder))
			return;
	*assay_push(&root->shut->folders) = folder;
}

bool assay_root_stat(const assay_root *root, const char *path, struct stat *st)
{
	int fd = open_in_root(root, path, O_PATH);
	bool ok = fd >= 0 && fstat(fd, st) == 0;
	if (!ok)
		note_shut(root, path, errno);
	if (fd >= 0)
		close(fd);
	return ok;
}

bool assay_root_is_file(const assay_root *root, const char *path)
{
	struct stat st;
	return assay_root_stat(root, path, &st) && S_ISREG(st.st_mode);
}

bool assay_root_is_dir(const assay_root *root, const char *path)
{
	struct stat st;
	return assay_root_stat(root, path, &st) && S_ISDIR(st.st_mode);
}

bool assay_root_exists(const assay_root *root, const char *path)
{
	int fd = open_in_root(root, path, O_PATH | O_NOFOLLOW);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

char *assay_root_real(const assay_root *root, assay_arena *a, const char *path)
{
	struct walk w;
	return resolve(root, path, true, &w) ? NULL : assay_printf(a, "/%s", w.path);
}

char *assay_root_link(const assay_root *root, assay_arena *a, const char *path)
{
	char target[PATH_MAX];
	int fd = open_in_root(root, path, O_PATH | O_NOFOLLOW);
	ssize_t n = fd < 0 ? -1 : readlinkat(fd, "", target, sizeof target);
	if (fd >= 0)
		close(fd);
	return n < 0 ? NULL : assay_dup(a, (assay_str){target, (size_t)n});
}

/* Looks before it opens: opening a device can already do something. */
static int open_kind(const assay_root *root, const char *path, bool dir, struct stat *st,
		     assay_cause *cause)
{
	*cause = ASSAY_CAUSE_NONE;
	int fd = open_in_root(root, path, O_PATH);
	if (fd < 0 || fstat(fd, st) < 0) {
		*cause = cause_of(errno);
		note_shut(root, path, errno);
	} else if (dir ? !S_ISDIR(st->st_mode) : !S_ISREG(st->st_mode)) {
		*cause = dir ? ASSAY_CAUSE_NOT_DIR : ASSAY_CAUSE_NOT_FILE;
	}
	if (fd >= 0)
		close(fd);
	if (*cause != ASSAY_CAUSE_NONE)
		return -1;
	int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | (dir ? O_DIRECTORY : 0);
	fd = open_in_root(root, path, flags);
	if (fd < 0)
		*cause = cause_of(errno);
	else if (fstat(fd, st) < 0 || (!dir && !S_ISREG(st->st_mode)))
		*cause = ASSAY_CAUSE_NOT_FILE; /* swapped between the two looks */
	if (*cause == ASSAY_CAUSE_NONE)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

int assay_root_fd(const assay_root *root, const char *path, struct stat *st, assay_cause *cause)
{
	return open_kind(root, path, false, st, cause);
}

assay_cause assay_root_read(const assay_root *root, assay_arena *a, const char *path, size_t cap,
			    assay_str *out)
{
	struct stat st;
	assay_cause cause;
	*out = (assay_str){"", 0};
	int fd = assay_root_fd(root, path, &st, &cause);
	if (fd < 0)
		return cause;
	if ((uint64_t)st.st_size > cap) {
		close(fd);
		return ASSAY_CAUSE_TOO_LARGE;
	}
	assay_undo undo;
	assay_undo_fd(&undo, fd);
	/* sizes in /proc and /sys are made up: read to the end */
	assay_vec(char) buf = {0};
	size_t step = st.st_size > 0 ? (size_t)st.st_size + 1 : FIRST_READ;
	ssize_t got;
	do {
		assay_vec_reserve(&buf, buf.n + step);
		got = read(fd, buf.p + buf.n, step);
		buf.n += got > 0 ? (size_t)got : 0;
	} while ((got > 0 && buf.n <= cap) || (got < 0 && errno == EINTR));
	cause = got < 0 ? cause_of(errno) : buf.n > cap ? ASSAY_CAUSE_TOO_LARGE : ASSAY_CAUSE_NONE;
	if (cause == ASSAY_CAUSE_NONE) {
		char *copy = assay_alloc(a, buf.n + ASSAY_PAD);
		if (buf.n)
			memcpy(copy, buf.p, buf.n);
		*out = (assay_str){copy, buf.n};
	}
	assay_vec_free(&buf);
	assay_undo_drop(&undo);
	close(fd);
	return cause;
}

assay_cause assay_root_text(const assay_root *root, assay_arena *a, const char *path, char **out)
{
	assay_str s;
	*out = NULL;
	assay_cause cause = assay_root_read(root, a, path, TEXT_MAX, &s);
	if (cause != ASSAY_CAUSE_NONE)
		return cause;
	if (!assay_utf8_valid(s) || memchr(s.p, 0, s.n))
		return ASSAY_CAUSE_NOT_UTF8;
	s = assay_str_trim(s);
	if (!s.n)
		return ASSAY_CAUSE_EMPTY;
	*out = assay_dup(a, s);
	return ASSAY_CAUSE_NONE;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const assay_entry *)a)->name, ((const assay_entry *)b)->name);
}

static unsigned char type_of(int dir, const struct dirent *d)
{
	struct stat st;
	if (d->d_type != DT_UNKNOWN)
		return d->d_type;
	return fstatat(dir, d->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ? DT_REG : IFTODT(st.st_mode);
}

assay_cause assay_root_list(const assay_root *root, assay_arena *a, const char *path,
			    assay_entries *out)
{
	struct stat st;
	assay_cause cause;
	*out = (assay_entries){0};
	int fd = open_kind(root, path, true, &st, &cause);
	if (fd < 0)
		return cause;
	DIR *dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return ASSAY_CAUSE_IO;
	}
	assay_vec(assay_entry) names = {0};
	assay_undo undo;
	assay_undo_dir(&undo, dir);
	struct dirent *d;
	errno = 0;
	while ((d = readdir(dir)) && names.n <= ASSAY_ENTRIES_MAX) {
		if (!strcmp(d->d_name, ".") || !strcmp(d->d_name, ".."))
			continue;
		assay_entry name = {assay_dup(a, assay_str_of(d->d_name)), type_of(fd, d)};
		*assay_push(&names) = name;
	}
	cause = names.n > ASSAY_ENTRIES_MAX ? ASSAY_CAUSE_TOO_LARGE
		: !d && errno               ? cause_of(errno)
					    : ASSAY_CAUSE_NONE;
	assay_undo_drop(&undo);
	closedir(dir);
	if (cause == ASSAY_CAUSE_NONE && names.n) {
		out->p = assay_alloc(a, names.n * sizeof *out->p);
		memcpy(out->p, names.p, names.n * sizeof *out->p);
		out->n = names.n;
		qsort(out->p, out->n, sizeof *out->p, by_name);
	}
	assay_vec_free(&names);
	return cause;
}

/* A small tree in a temporary folder; the same checks with and without openat2. */
static int check_links(const char *top, bool by_hand)
{
	assay_root root;
	assay_arena a = {0};
	char *text;
	CHECK(assay_root_open(&root, top, NULL) && !root.host);
	root.no_openat2 = by_hand;
	CHECK_EQ(assay_root_text(&root, &a, "/opt/abs", &text), ASSAY_CAUSE_NONE);
	CHECK(!strcmp(text, "inside"));
	CHECK_EQ(assay_root_text(&root, &a, "/opt/up", &text), ASSAY_CAUSE_NONE);
	CHECK_EQ(assay_root_text(&root, &a, "/opt/loop", &text), ASSAY_CAUSE_LOOP);
	CHECK_EQ(assay_root_text(&root, &a, "/opt/fifo", &text), ASSAY_CAUSE_NOT_FILE);
	CHECK_EQ(assay_root_text(&root, &a, "/opt", &text), ASSAY_CAUSE_NOT_FILE);
	CHECK_EQ(assay_root_text(&root, &a, "/opt/outside", &text), ASSAY_CAUSE_MISSING);
	CHECK_EQ(assay_root_text(&root, &a, "/opt/nul", &text), ASSAY_CAUSE_NOT_UTF8);
	CHECK(!strcmp(assay_root_real(&root, &a, "/opt/abs"), "/file"));
	CHECK(!assay_root_real(&root, &a, "/opt/loop"));
	CHECK(!strcmp(assay_root_link(&root, &a, "/opt/abs"), "/file"));
	CHECK(!assay_root_link(&root, &a, "/file") && assay_root_exists(&root, "/opt/loop"));
	assay_entries names;
	CHECK_EQ(assay_root_list(&root, &a, "/opt", &names), ASSAY_CAUSE_NONE);
	CHECK_EQ(names.n, 6);
	CHECK(!strcmp(names.p[0].name, "abs") && names.p[0].type == DT_LNK);
	CHECK_EQ(assay_root_list(&root, &a, "/file", &names), ASSAY_CAUSE_NOT_DIR);
	assay_root_close(&root);
	assay_arena_free(&a);
	return 0;
}

static void put_file(const char *path, const char *text, size_t n)
{
	FILE *f = fopen(path, "w");
	if (f) {
		fwrite(text, 1, n, f);
		fclose(f);
	}
}

TEST(links_stay_inside_the_root)
{
	const char *top = assay_test_path("top");
	char path[600];
	CHECK(mkdir(top, 0755) == 0);
	const struct {
		const char *name, *target;
	} links[] = {{"abs", "/file"},
		     {"up", "../../../../file"},
		     {"loop", "loop"},
		     {"outside", "/etc/passwd"}};
	snprintf(path, sizeof path, "%s/opt", top);
	CHECK(mkdir(path, 0755) == 0);
	for (size_t i = 0; i < ASSAY_COUNT_OF(links); i++) {
		snprintf(path, sizeof path, "%s/opt/%s", top, links[i].name);
		CHECK(symlink(links[i].target, path) == 0);
	}
	snprintf(path, sizeof path, "%s/opt/fifo", top);
	CHECK(mkfifo(path, 0600) == 0);
	snprintf(path, sizeof path, "%s/opt/nul", top);
	put_file(path, "a\0b", 3);
	snprintf(path, sizeof path, "%s/file", top);
	put_file(path, " inside\n", 8);
	return check_links(top, false) || check_links(top, true);
}
