/* What a path means: a file, or all files below a folder but those that are no traces, copies of
 * others, or the same under another name. */
#define _GNU_SOURCE /* strverscmp */
#include "read/listing.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/compare.h"
#include "base/folders.h"
#include "base/limits.h"
#include "base/owner.h"
#include "base/test.h"
#include "read/reader.h"

enum { DEPTH_MAX = 4 };

/* Order of a directory: digits inside names compare as numbers, so rank2 comes before rank10. */
static int by_name(const void *a, const void *b)
{
	return strverscmp(((const struct file *)a)->path, ((const struct file *)b)->path);
}

/* What a recorder still writes, and what shards of this very job write beside it. */
static bool is_no_trace(const char *name)
{
	return assay_str_ends(assay_str_of(name), ".ring") || strstr(name, ".asf");
}

static uint64_t state_of(const struct stat *st)
{
	const int64_t of[] = {st->st_size, st->st_mtim.tv_sec, st->st_mtim.tv_nsec};
	return assay_hash(of, sizeof of, 0);
}

/* Where serving engines put recordings of graphs being captured: they explain the run beside them,
 * and are none. */
static const char CAPTURE_FOLDER[] = "capture_traces";

/* Of a kind whose files are the kernel's answers: some of them are endless, or wait for something
 * to happen. */
static bool is_no_storage(const char *dir)
{
	static const uint32_t kinds[] = {PROC_SUPER_MAGIC, SYSFS_MAGIC,         DEBUGFS_MAGIC,
					 TRACEFS_MAGIC,    SECURITYFS_MAGIC,    CGROUP_SUPER_MAGIC,
					 BPF_FS_MAGIC,     CGROUP2_SUPER_MAGIC, DEVPTS_SUPER_MAGIC};
	struct statfs fs;
	bool found = false;
	if (statfs(dir, &fs) < 0)
		return false;
	for (size_t i = 0; i < ASSAY_COUNT_OF(kinds); i++)
		found = found || (uint32_t)fs.f_type == kinds[i];
	return found;
}

/* "run/" and "run" name the same files: "run/env.json". */
static char *path_in(assay_arena *a, const char *dir, const char *name)
{
	size_t n = strlen(dir);
	while (n && dir[n - 1] == '/')
		n--;
	return assay_printf(a, "%.*s/%s", (int)n, dir, name);
}

static void tell_unfinished(assay_run *run, const char *dir)
{
	assay_warn(
		run, "unfinished_folder",
		"%s is not finished: it is being written, or that was interrupted; files may be missing",
		dir);
}

static void list_files(struct files *l, const char *dir, int depth, bool linked)
{
	if (is_no_storage(dir))
		return;
	DIR *d = opendir(dir);
	assay_undo undo;
	if (!d && errno == ENOMEM)
		assay_oom(0);
	if (!d) {
		assay_count(&l->run->part, ASSAY_ISSUE_broken_file, 1);
		assay_warn(l->run, "broken_file", "cannot open %s: %s", dir, strerror(errno));
		return;
	}
	assay_undo_dir(&undo, d);
	for (struct dirent *e; l->file.n <= ASSAY_LIMIT_FILES && (e = readdir(d));) {
		if (e->d_name[0] == '.' || is_no_trace(e->d_name))
			continue;
		if (!strcmp(e->d_name, ASSAY_UNFINISHED)) {
			tell_unfinished(l->run, dir);
			continue;
		}
		char *path = path_in(&l->arena, dir, e->d_name);
		struct stat st;
		if (lstat(path, &st) < 0)
			continue;
		bool by_link = linked || S_ISLNK(st.st_mode);
		if (S_ISLNK(st.st_mode) && stat(path, &st) < 0)
			continue;
		if (S_ISDIR(st.st_mode) && !strcmp(e->d_name, CAPTURE_FOLDER))
			assay_meta_add(&l->run->part, "captures", assay_str_of(path));
		else if (S_ISDIR(st.st_mode) && depth < DEPTH_MAX)
			list_files(l, path, depth + 1, by_link);
		else if (S_ISREG(st.st_mode))
			*assay_push(&l->file) = (struct file){.path = path,
							      .linked = by_link,
							      .device = st.st_dev,
							      .inode = st.st_ino,
							      .state = state_of(&st)};
	}
	assay_undo_drop(&undo);
	closedir(d);
}

static const char PROFILE[] = ".xplane.pb";

/* JAX puts the same profile beside its XPlane file as JSON: <host>.trace.json.gz, and
 * perfetto_trace.json.gz when asked for. */
static bool is_copy_of(assay_str path, assay_str xplane)
{
	static const char *const ends[] = {".trace.json.gz", ".trace.json"};
	assay_str folder = assay_str_folder(path), stem = {xplane.p, xplane.n - strlen(PROFILE)};
	if (!assay_str_eq(folder, assay_str_folder(xplane)))
		return false;
	assay_str name = {path.p + folder.n, path.n - folder.n};
	for (size_t i = 0; i < ASSAY_COUNT_OF(ends); i++)
		if (assay_str_ends(path, ends[i]) &&
		    assay_str_eq(stem, (assay_str){path.p, path.n - strlen(ends[i])}))
			return true;
	return assay_str_is(name, "perfetto_trace.json.gz");
}

static void drop_copies(struct files *l, size_t first)
{
	assay_vec(assay_str) profile = {0};
	size_t kept = first;
	for (size_t i = first; i < l->file.n; i++)
		if (assay_str_ends(assay_str_of(l->file.p[i].path), PROFILE))
			*assay_push(&profile) = assay_str_of(l->file.p[i].path);
	for (size_t i = first; i < l->file.n; i++) {
		bool copy = false;
		for (size_t k = 0; k < profile.n && !copy; k++)
			copy = is_copy_of(assay_str_of(l->file.p[i].path), profile.p[k]);
		if (copy)
			assay_count(&l->run->part, ASSAY_ISSUE_copied_file, 1);
		else
			l->file.p[kept++] = l->file.p[i];
	}
	l->file.n = kept;
	assay_vec_free(&profile);
}

/* The same file stands together; the one to keep first: a named one, then one without a link. */
static int by_inode(const void *a, const void *b)
{
	const struct file *x = *(struct file *const *)a, *y = *(struct file *const *)b;
	int file = assay_then(ASSAY_CMP(x->device, y->device), ASSAY_CMP(x->inode, y->inode));
	int way = assay_then(ASSAY_CMP(y->named, x->named), ASSAY_CMP(x->linked, y->linked));
	return assay_then(assay_then(file, way), ASSAY_CMP(x, y));
}

/* A rank is one file, however many names lead to it: "latest" points to a run beside it. */
void assay_files_drop_twins(struct files *l)
{
	struct file **order = assay_alloc(&l->arena, (l->file.n + 1) * sizeof *order);
	size_t kept = 0;
	for (size_t i = 0; i < l->file.n; i++)
		order[i] = &l->file.p[i];
	qsort(order, l->file.n, sizeof *order, by_inode);
	for (size_t i = 1; i < l->file.n; i++)
		if (order[i]->inode && order[i]->inode == order[i - 1]->inode &&
		    order[i]->device == order[i - 1]->device)
			order[i]->twin = true;
	for (size_t i = 0; i < l->file.n; i++)
		if (l->file.p[i].twin)
			assay_count(&l->run->part, ASSAY_ISSUE_same_file, 1);
		else
			l->file.p[kept++] = l->file.p[i];
	l->file.n = kept;
}

/* A file that is named has its captures beside it, too. */
static void find_captures_beside(struct files *l, const char *path)
{
	assay_str folder = assay_str_folder(assay_str_of(path));
	char *beside = assay_printf(&l->arena, "%.*s%s", (int)folder.n, folder.p, CAPTURE_FOLDER);
	struct stat st;
	bool known = l->beside && !strcmp(l->beside, beside);
	l->beside = beside;
	if (!known && !stat(beside, &st) && S_ISDIR(st.st_mode))
		assay_meta_add(&l->run->part, "captures", assay_str_of(beside));
}

bool assay_files_add(struct files *l, const char *path, assay_err *err)
{
	struct stat st = {0};
	bool pipe = !strcmp(path, "-");
	if (!pipe && stat(path, &st) < 0)
		return assay_fail(err, ASSAY_IO, 0, "cannot open %s: %s", path, strerror(errno));
	if (pipe || !S_ISDIR(st.st_mode)) {
		*assay_push(&l->file) =
			(struct file){.path = assay_dup(&l->arena, assay_str_of(path)),
				      .named = true,
				      .device = st.st_dev,
				      .inode = S_ISREG(st.st_mode) ? st.st_ino : 0,
				      .state = state_of(&st)};
		if (S_ISREG(st.st_mode))
			find_captures_beside(l, path);
		return true;
	}
	size_t first = l->file.n;
	list_files(l, path, 0, false);
	if (l->file.n > ASSAY_LIMIT_FILES)
		return assay_fail(err, ASSAY_LIMIT, 0,
				  "%s holds more than %d files: name the folder of one job", path,
				  ASSAY_LIMIT_FILES);
	if (l->file.n == first)
		return assay_fail(err, ASSAY_UNKNOWN, 0, "%s holds no file that assay can read",
				  path);
	qsort(l->file.p + first, l->file.n - first, sizeof *l->file.p, by_name);
	drop_copies(l, first);
	return true;
}

TEST(json_beside_its_xplane_file_is_a_copy)
{
	assay_str xplane = ASSAY_S("run/vm.xplane.pb");
	CHECK(is_copy_of(ASSAY_S("run/vm.trace.json.gz"), xplane));
	CHECK(is_copy_of(ASSAY_S("run/perfetto_trace.json.gz"), xplane));
	CHECK(!is_copy_of(ASSAY_S("run/other.trace.json.gz"), xplane));
	CHECK(!is_copy_of(ASSAY_S("run2/vm.trace.json.gz"), xplane));
	CHECK(!is_copy_of(xplane, xplane));
	CHECK(!is_copy_of(ASSAY_S("run/vm.trace.json.gz"), ASSAY_S("run/vm.trace.json.gz")));
	return 0;
}

TEST(a_folder_that_is_not_finished_says_so)
{
	assay_run *run = assay_run_new();
	const char *dir = assay_test_path("half");
	const char *const files[] = {"half/" ASSAY_UNFINISHED, "half/a.json"};
	CHECK(!mkdir(dir, 0700));
	for (size_t i = 0; i < ASSAY_COUNT_OF(files); i++) {
		FILE *f = fopen(assay_test_path(files[i]), "w");
		CHECK(f && fputs("{\"traceEvents\": []}", f) >= 0 && !fclose(f));
	}
	CHECK(assay_read_path(run, dir, NULL));
	CHECK(run->part.t.source.n == 1 && run->part.t.warning.n == 1);
	CHECK(assay_str_is(assay_text(run, run->part.t.warning.id[0]), "unfinished_folder"));
	assay_run_free(run);
	return 0;
}

TEST(files_that_are_answers_of_the_kernel_are_not_opened)
{
	assay_run *run = assay_run_new();
	assay_err err = {0};
	CHECK(!assay_read_path(run, "/proc/self/net", &err));
	CHECK(strstr(err.text,
		     access("/proc/self/net", F_OK) == 0 ? "holds no file" : "cannot open"));
	assay_run_free(run);
	return 0;
}

TEST(a_slash_behind_a_folder_is_not_doubled)
{
	assay_arena a = {0};
	CHECK(!strcmp(path_in(&a, "run", "x"), "run/x") &&
	      !strcmp(path_in(&a, "run//", "x"), "run/x"));
	CHECK(!strcmp(path_in(&a, "/", "x"), "/x"));
	assay_arena_free(&a);
	return 0;
}
