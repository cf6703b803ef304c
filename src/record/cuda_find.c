/* Which CUPTI: the one already loaded, the one beside the program's CUDA (Python wheels bring their
 * own), the loader's choice, then what is installed, newest first. Two copies in one process would
 * fight. */
#define _GNU_SOURCE /* link.h, strverscmp */
#include <dlfcn.h>
#include <glob.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record/cuda.h"
#include "record/loader.h"

typedef struct search {
	int major; /* of the driver: a newer CUPTI would refuse it; 0 unknown */
	char *path;
	size_t size;
	void *lib;
} search;

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

static bool open_it(search *s, const char *path, int flags)
{
	void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL | flags);
	if (!lib)
		return false;
	struct link_map *map = NULL;
	s->lib = lib;
	bool told = dlinfo(lib, RTLD_DI_LINKMAP, &map) == 0 && map->l_name[0];
	snprintf(s->path, s->size, "%s", told ? map->l_name : path);
	return true;
}

/* While objects are visited nothing may be opened: another thread's dlopen would lock us out for
 * ever. */
static int find_loaded(struct dl_phdr_info *info, size_t size, void *ctx)
{
	(void)size;
	search *s = ctx;
	if (!info->dlpi_name || strncmp(base_name(info->dlpi_name), "libcupti.so", 11))
		return 0;
	snprintf(s->path, s->size, "%s", info->dlpi_name);
	return 1;
}

static bool open_loaded(search *s)
{
	char path[512];
	if (!assay_loader_objects(find_loaded, s))
		return false;
	snprintf(path, sizeof path, "%s", s->path);
	return open_it(s, path, RTLD_NOLOAD);
}

/* libcupti.so.13 or libcupti.so.2025.1.1 (12.x kept years behind the soname's number) */
static int major_of(const char *path)
{
	const char *dot = strstr(base_name(path), ".so.");
	int n = dot ? atoi(dot + 4) : 0;
	return n > 1000 ? 12 : n;
}

static int newest_first(const void *a, const void *b)
{
	return strverscmp(*(char *const *)b, *(char *const *)a);
}

static bool open_newest(search *s, const char *pattern)
{
	glob_t g = {0};
	bool found = false;
	if (glob(pattern, 0, NULL, &g) == 0) {
		qsort(g.gl_pathv, g.gl_pathc, sizeof *g.gl_pathv, newest_first);
		for (size_t i = 0; i < g.gl_pathc && !found; i++)
			if (!s->major || major_of(g.gl_pathv[i]) <= s->major)
				found = open_it(s, g.gl_pathv[i], 0);
	}
	globfree(&g);
	return found;
}

/* Places of CUPTI seen from the folder of a CUDA library: cu12 and cu13 wheels, toolkits. */
static const char *const beside[] = {
	"%s/libcupti.so.*",
	"%s/../../cuda_cupti/lib/libcupti.so.*",
	"%s/../../nvidia/cuda_cupti/lib/libcupti.so.*",
	"%s/../../nvidia/cu1[2-9]/lib/libcupti.so.*",
	"%s/../extras/CUPTI/lib64/libcupti.so.*",
};
static const char *const cuda_users[] = {"libcudart.so", "libtorch", "libcublas", "xla_cuda",
					 "libjax"};

static bool uses_cuda(const char *path)
{
	for (size_t i = 0; i < sizeof cuda_users / sizeof *cuda_users; i++)
		if (!strncmp(base_name(path), cuda_users[i], strlen(cuda_users[i])))
			return true;
	return false;
}

typedef struct folders {
	char path[8][512];
	size_t n;
} folders;

static int gather_folder(struct dl_phdr_info *info, size_t size, void *ctx)
{
	(void)size;
	folders *f = ctx;
	const char *path = info->dlpi_name;
	size_t len = path && uses_cuda(path) ? (size_t)(base_name(path) - path) : 0;
	if (len > 1 && len < sizeof f->path[0] && f->n < sizeof f->path / sizeof f->path[0]) {
		memcpy(f->path[f->n], path, len - 1);
		f->path[f->n++][len - 1] = 0;
	}
	return 0;
}

static bool open_beside(search *s)
{
	folders f = {.n = 0};
	assay_loader_objects(gather_folder, &f);
	for (size_t i = 0; i < f.n; i++) {
		for (size_t k = 0; k < sizeof beside / sizeof *beside; k++) {
			char pattern[640];
			snprintf(pattern, sizeof pattern, beside[k], f.path[i]);
			if (open_newest(s, pattern))
				return true;
		}
	}
	return false;
}

static bool open_by_name(search *s)
{
	for (int major = s->major ? s->major : 13; major >= 11; major--) {
		char name[32];
		snprintf(name, sizeof name, "libcupti.so.%d", major);
		if (open_it(s, name, 0))
			return true;
	}
	return open_it(s, "libcupti.so", 0);
}

void *assay_cuda_find_cupti(int driver_major, char *path, size_t size)
{
	search s = {driver_major, path, size, NULL};
	if (open_loaded(&s) || open_beside(&s) || open_by_name(&s) ||
	    open_newest(&s, "/usr/local/cuda*/extras/CUPTI/lib64/libcupti.so.*") ||
	    open_newest(&s, "/usr/local/cuda*/lib*/libcupti.so.*"))
		return s.lib;
	return NULL;
}
