#include "cmd/captures.h"

#include <dirent.h>

#include "base/sort.h"

static void find(assay_arena *a, const char *dir, int below, assay_capture_list *out)
{
	DIR *d = opendir(dir);
	for (struct dirent *e; d && (e = readdir(d));) {
		const char *path = assay_printf(a, "%s/%s", dir, e->d_name);
		if (assay_str_ends(assay_str_of(e->d_name), ".asy"))
			*assay_push(out) = path;
		else if (below && e->d_name[0] != '.')
			find(a, path, below - 1, out);
	}
	if (d)
		closedir(d);
}

void assay_captures_find(assay_arena *a, const char *dir, int below, assay_capture_list *out)
{
	find(a, dir, below, out);
	if (out->n)
		assay_sort_texts(out->p, out->n);
}
