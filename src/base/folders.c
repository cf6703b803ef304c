#include "base/folders.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/test.h"

bool assay_make_folders(const char *path, mode_t mode, int *made)
{
	assay_arena a = {0};
	char *part = assay_dup(&a, assay_str_of(path));
	bool ok = *part;
	int fresh = 0;
	errno = ENOENT; /* of an empty path */
	for (char *p = part + 1, c = 1; ok && c; p++) {
		c = *p;
		if (c && c != '/')
			continue;
		*p = 0;
		bool is_new = mkdir(part, mode) == 0;
		ok = is_new || errno == EEXIST;
		fresh = is_new ? fresh + 1 : p[-1] == '/' ? fresh : 0;
		*p = c;
	}
	int why = errno;
	if (made)
		*made = fresh;
	assay_arena_free(&a);
	errno = why;
	return ok;
}

void assay_remove_folders(const char *path, int made)
{
	char part[PATH_MAX]; /* it is called where there is no memory */
	snprintf(part, sizeof part, "%s", path);
	for (; made > 0 && rmdir(part) == 0; made--) {
		size_t n = strlen(part);
		while (n && part[n - 1] == '/')
			n--;
		while (n && part[n - 1] != '/')
			n--;
		part[n] = 0;
	}
}

const char *assay_folder_there(assay_arena *a, const char *path)
{
	char *part = assay_dup(a, assay_str_of(path));
	for (size_t n = strlen(part); n && access(part, F_OK);) {
		while (n && part[n - 1] == '/')
			n--;
		while (n && part[n - 1] != '/')
			n--;
		part[n] = 0;
	}
	return part;
}

const char *assay_folder_of(assay_arena *a, const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? assay_dup(a, (assay_str){path, (size_t)(slash - path)}) : "";
}

bool assay_make_parents(const char *file, mode_t mode)
{
	assay_arena a = {0};
	const char *folder = assay_folder_of(&a, file);
	bool ok = !*folder || assay_make_folders(folder, mode, NULL);
	int why = errno;
	assay_arena_free(&a);
	errno = why;
	return ok;
}

TEST(folders_are_made_with_those_above_and_the_new_ones_counted)
{
	assay_arena a = {0};
	const char *base = assay_test_path("base");
	int made = 9;
	CHECK(!mkdir(base, 0700));
	const char *deep = assay_printf(&a, "%s/x//y/z/", base);
	CHECK(assay_make_folders(deep, 0700, &made));
	CHECK_EQ(made, 3);
	CHECK(assay_make_folders(deep, 0700, &made));
	CHECK_EQ(made, 0);
	CHECK(assay_make_parents(assay_printf(&a, "%s/x/file", base), 0700));
	CHECK(assay_make_parents("file", 0700) && assay_make_parents("/file", 0700));
	CHECK(!strcmp(assay_folder_there(&a, deep), deep));
	CHECK(!strcmp(assay_folder_there(&a, assay_printf(&a, "%s/n/m//", base)),
		      assay_printf(&a, "%s/", base)));
	CHECK(!strcmp(assay_folder_there(&a, "no/such"), "") &&
	      !strcmp(assay_folder_there(&a, "/no/such"), "/"));
	CHECK(!assay_make_folders("", 0700, &made) && errno == ENOENT);
	CHECK(!assay_make_parents("/proc/self/no/file", 0700) && errno != EEXIST);
	assay_remove_folders(deep, 2);
	CHECK(access(assay_printf(&a, "%s/x/y", base), F_OK));
	assay_remove_folders(assay_printf(&a, "%s/x", base), 2);
	CHECK(access(base, F_OK) && errno == ENOENT);
	assay_arena_free(&a);
	return 0;
}
