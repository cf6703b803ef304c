#include "write/folder.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"

bool assay_folder_open(assay_folder *f, const char *path, assay_err *err)
{
	*f = (assay_folder){.path = path, .fresh = mkdir(path, 0777) == 0};
	return f->fresh || errno == EEXIST ||
	       assay_fail(err, ASSAY_IO, 0, "cannot make %s: %s", path, strerror(errno));
}

FILE *assay_folder_file(assay_folder *f, const char *name, assay_err *err)
{
	assay_arena a = {0};
	size_t n = strlen(f->path);
	bool slash = n && f->path[n - 1] == '/';
	assay_output *o =
		assay_output_open(assay_printf(&a, "%s%s%s", f->path, slash ? "" : "/", name), err);
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
	if (!ok && f->fresh)
		rmdir(f->path);
	return ok;
}
