#include "write/folder.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/folders.h"

/* Its files have undone themselves. */
static void remove_folders(void *folder)
{
	const assay_folder *f = folder;
	assay_remove_folders(f->path, f->folders);
}

bool assay_folder_open(assay_folder *f, const assay_run *run, const char *path, assay_err *err)
{
	*f = (assay_folder){.run = run, .path = path};
	if (!assay_make_folders(path, 0777, &f->folders))
		return assay_fail(err, ASSAY_IO, 0, "cannot make %s: %s", path, strerror(errno));
	assay_undo_add(&f->undo, remove_folders, f);
	return true;
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
		o = assay_output_open(path, err);
	if (o)
		*assay_push(&f->made) = o;
	assay_arena_free(&a);
	return o ? assay_output_file(o) : NULL;
}

bool assay_folder_close(assay_folder *f, bool ok, assay_err *err)
{
	for (size_t i = 0; ok && i < f->made.n; i++)
		ok = assay_output_finish(f->made.p[i], err);
	for (size_t i = 0; i < f->made.n; i++) {
		if (ok)
			ok = assay_output_close(f->made.p[i], err);
		else
			assay_output_drop(f->made.p[i]);
	}
	assay_vec_free(&f->made);
	assay_undo_drop(&f->undo);
	if (!ok)
		assay_remove_folders(f->path, f->folders);
	return ok;
}
