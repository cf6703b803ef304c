#include "write/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/folders.h"
#include "base/test.h"

static void mark_path(char out[PATH_MAX], const char *folder)
{
	size_t n = strlen(folder);
	snprintf(out, PATH_MAX, "%s%s" ASSAY_UNFINISHED, folder,
		 n && folder[n - 1] == '/' ? "" : "/");
}

bool assay_folder_mark(const char *path, assay_err *err)
{
	static const char text[] =
		"assay writes here or was interrupted: files may be missing or old\n";
	char mark[PATH_MAX];
	mark_path(mark, path);
	int fd = open(mark, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0 &&
	    errno == EEXIST) /* it says so already; where a link leads nothing is written */
		return true;
	if (fd >= 0)
		errno = ENOSPC; /* of a write that ends early */
	bool made = fd >= 0, ok = made && write(fd, text, sizeof text - 1) == sizeof text - 1;
	int why = ok ? 0 : errno;
	if (made && close(fd) && ok)
		ok = false, why = errno;
	if (made && !ok)
		unlink(mark);
	return ok || assay_fail(err, ASSAY_IO, 0, "cannot write %s: %s", mark, strerror(why));
}

bool assay_folder_unmark(const char *path, assay_err *err)
{
	char mark[PATH_MAX];
	mark_path(mark, path);
	return !unlink(mark) || errno == ENOENT ||
	       assay_fail(err, ASSAY_IO, 0, "cannot remove %s: %s", mark, strerror(errno));
}

/* Its files have undone themselves. */
static void remove_folders(void *folder)
{
	const assay_folder *f = folder;
	if (f->marked)
		assay_folder_unmark(f->path, NULL);
	assay_remove_folders(f->path, f->folders);
}

/* It gets its name when the mark is in it: there is no moment without. */
static bool make_marked(assay_folder *f)
{
	assay_str path = assay_str_of(f->path);
	while (path.n > 1 && path.p[path.n - 1] == '/')
		path.n--;
	const char *name = assay_dup(&f->arena, path);
	const char *temp = assay_printf(&f->arena, "%s.unfinished-%ld", name, (long)getpid());
	const char *above = assay_folder_of(&f->arena, name);
	bool ok = (!*above || assay_make_folders(above, 0777, &f->folders)) && !mkdir(temp, 0777);
	if (!ok)
		return false;
	ok = assay_folder_mark(temp, NULL) && !rename(temp, name);
	f->folders += ok;
	if (!ok) {
		assay_folder_unmark(temp, NULL);
		rmdir(temp);
	}
	return ok;
}

static bool make_folder(assay_folder *f, assay_err *err)
{
	if (f->meanwhile && make_marked(f))
		return f->marked = true;
	int made;
	if (!assay_make_folders(f->path, 0777, &made))
		return assay_fail(err, ASSAY_IO, 0, "cannot make %s: %s", f->path, strerror(errno));
	f->folders += made;
	return f->marked = assay_folder_mark(f->path, err);
}

bool assay_folder_open(assay_folder *f, const assay_run *run, const char *path, assay_err *err)
{
	*f = (assay_folder){.run = run, .path = path};
	assay_undo_add(&f->undo, remove_folders, f);
	const char *there = assay_folder_there(&f->arena, path);
	bool is_there = !access(path, F_OK);
	if (!is_there && assay_output_can_wait(there)) {
		f->meanwhile = there;
		return true;
	}
	if (assay_make_folders(path, 0777, &f->folders) &&
	    (is_there || assay_folder_mark(path, err))) {
		f->marked = !is_there;
		return true;
	}
	assay_fail(err, ASSAY_IO, 0, "cannot make %s: %s", path, strerror(errno));
	assay_folder_close(f, false, NULL);
	return false;
}

bool assay_is_input(const assay_run *run, const char *path)
{
	const assay_source_table *s = &run->part.t.source;
	struct stat out, in;
	if (stat(path, &out))
		return false;
	for (size_t i = 0; i < s->n; i++)
		if (!stat(assay_z(run, s->path[i]), &in) && in.st_dev == out.st_dev &&
		    in.st_ino == out.st_ino)
			return true;
	return false;
}

FILE *assay_folder_file(assay_folder *f, const char *name, assay_err *err)
{
	assay_arena a = {0};
	size_t n = strlen(f->path);
	bool slash = n && f->path[n - 1] == '/';
	const char *path = assay_printf(&a, "%s%s%s", f->path, slash ? "" : "/", name);
	assay_output *o = NULL;
	if (assay_is_input(f->run, path))
		assay_fail(err, ASSAY_USAGE, 0, "%s is an input; the output needs another name",
			   path);
	else
		o = assay_output_open_below(f->meanwhile, path, err);
	if (o)
		*assay_push(&f->made) = o;
	assay_arena_free(&a);
	return o ? assay_output_file(o) : NULL;
}

bool assay_folder_close(assay_folder *f, bool ok, assay_err *err)
{
	bool named = false;
	ok = ok && (f->marked || make_folder(f, err));
	for (size_t i = 0; ok && i < f->made.n; i++)
		ok = assay_output_finish(f->made.p[i], err);
	for (size_t i = 0; i < f->made.n; i++) {
		if (ok)
			named |= ok = assay_output_close(f->made.p[i], err);
		else
			assay_output_drop(f->made.p[i]);
	}
	assay_vec_free(&f->made);
	assay_undo_drop(&f->undo);
	if (f->marked && (ok || !named)) /* some are new and some old: it stays */
		ok = assay_folder_unmark(f->path, ok ? err : NULL) && ok;
	if (!ok)
		assay_remove_folders(f->path, f->folders);
	assay_arena_free(&f->arena);
	return ok;
}

TEST(a_mark_that_is_there_is_not_written_through)
{
	char mark[PATH_MAX];
	const char *folder = assay_test_path("folder"), *target = assay_test_path("target");
	mark_path(mark, folder);
	CHECK(!mkdir(folder, 0777) && !symlink(target, mark));
	CHECK(assay_folder_mark(folder, NULL) && access(target, F_OK));
	CHECK(assay_folder_unmark(folder, NULL) && access(mark, F_OK));
	CHECK(assay_folder_mark(folder, NULL) && !access(mark, F_OK));
	CHECK(!assay_folder_mark(target, NULL)); /* no folder is there */
	return 0;
}
