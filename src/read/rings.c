/* Rings of a run directory, found by run.json. */
#define _GNU_SOURCE /* memfd_create */
#include "read/rings.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/input.h"
#include "base/json.h"
#include "wire/salvage.h"

const char *assay_run_rings(assay_arena *a, const char *dir)
{
	assay_err err = {0};
	assay_input *in = assay_input_open(assay_printf(a, "%s/run.json", dir), &err);
	const char *found = NULL;
	if (!in)
		return NULL;
	assay_view v = assay_input_view(in, 0, 1 << 20);
	assay_json j = assay_json_on(v.p, v.n);
	assay_json_enter(&j, '{');
	for (assay_str key, value; assay_json_member(&j, &key) && assay_json_skip(&j, &value);)
		if (assay_str_is(key, "rings") && value.n > 2 && value.p[0] == '"')
			found = assay_dup(
				a, assay_json_unescape(a, (assay_str){value.p + 1, value.n - 2}));
	assay_input_close(in);
	return found && assay_salvage_folder(found) ? found : NULL;
}

/* Where the ring file of a capture may lie. */
typedef struct ring_place {
	const char *dir[2], *name;
} ring_place;

static ring_place ring_of(assay_arena *a, const char *path)
{
	assay_str name = assay_str_of(assay_file_name(path));
	assay_str folder = assay_str_folder(assay_str_of(path));
	ring_place at = {.dir = {folder.n ? assay_dup(a, folder) : "."}};
	if (!assay_str_ends(name, ".asy"))
		return (ring_place){0};
	at.dir[1] = assay_run_rings(a, at.dir[0]);
	at.name = assay_printf(a, "%.*s.ring", (int)(name.n - 4), name.p);
	return at;
}

static int open_dir(const char *dir)
{
	return dir ? open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
}

int assay_capture_peek(const char *path)
{
	assay_arena a = {0};
	ring_place at = ring_of(&a, path);
	int to = memfd_create("assay", MFD_CLOEXEC);
	bool ok = false;
	for (int i = 0; to >= 0 && !ok && i < 2; i++) {
		int dir = open_dir(at.dir[i]);
		ok = dir >= 0 && assay_salvage_peek(dir, at.name, to);
		if (dir >= 0)
			close(dir);
	}
	assay_arena_free(&a);
	if (ok || to < 0)
		return to;
	close(to);
	return -1;
}

bool assay_capture_alive(const char *path)
{
	assay_arena a = {0};
	ring_place at = ring_of(&a, path);
	bool alive = false;
	for (int i = 0; !alive && i < 2; i++) {
		int dir = open_dir(at.dir[i]);
		alive = dir >= 0 && faccessat(dir, at.name, F_OK, AT_SYMLINK_NOFOLLOW) == 0 &&
			!assay_salvage_waits(dir, at.name);
		if (dir >= 0)
			close(dir);
	}
	assay_arena_free(&a);
	return alive;
}

static uint64_t left_in(const char *dir)
{
	DIR *d = dir ? opendir(dir) : NULL;
	uint64_t n = 0;
	for (struct dirent *e; d && (e = readdir(d));)
		n += assay_salvage_waits(dirfd(d), e->d_name);
	if (d)
		closedir(d);
	return n;
}

uint64_t assay_run_left(const char *dir)
{
	assay_arena a = {0};
	uint64_t n = left_in(dir) + left_in(assay_run_rings(&a, dir));
	assay_arena_free(&a);
	return n;
}
