/* What processes left in their rings: taken into the run when the command has ended, or later with
 * `assay record --recover` when the recorder was killed with it. */
#define _GNU_SOURCE /* O_NOFOLLOW, realpath */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fmt.h"
#include "base/input.h"
#include "cmd/cmd.h"
#include "cmd/record.h"
#include "cmd/say.h"
#include "read/rings.h"
#include "wire/clock.h"
#include "wire/control.h"
#include "wire/salvage.h"

#define SHARED "/dev/shm"

/* ---- salvage ---- */

static void salvage_one(recording *r, int rings, int run, const char *name)
{
	assay_salvaged n;
	switch (assay_salvage(rings, run, name, &n)) {
	case ASSAY_SALVAGE_ALIVE:
		r->end.still_running++;
		break;
	case ASSAY_SALVAGE_KEPT:
		r->end.kept += n.lost;
		break;
	case ASSAY_SALVAGE_REFUSED:
		r->end.refused++;
		break;
	case ASSAY_SALVAGE_ORPHAN:
		r->end.orphans++;
		if (r->command) /* else the folder may not be ours, and nothing is removed */
			unlinkat(rings, name, 0);
		break;
	case ASSAY_SALVAGE_DONE:
		break;
	}
	r->end.salvaged += n.records;
	r->end.failed += n.failed;
}

static bool is_ring(const char *name)
{
	return assay_str_ends(assay_str_of(name), ".ring");
}

/* False: there is no such folder. */
static bool salvage_in(recording *r, const char *dir, int run)
{
	DIR *d = opendir(dir);
	if (!d)
		return errno != ENOENT;
	for (struct dirent *e; (e = readdir(d));)
		if (is_ring(e->d_name))
			salvage_one(r, dirfd(d), run, e->d_name);
	closedir(d);
	return true;
}

const char *assay_record_link(recording *r)
{
	return assay_printf(&r->arena, "%s/run", r->rings);
}

static bool holds_rings(const char *dir)
{
	DIR *d = opendir(dir);
	bool found = false;
	for (struct dirent *e; d && !found && (e = readdir(d));)
		found = is_ring(e->d_name);
	if (d)
		closedir(d);
	return found;
}

/* What stands beside the rings, and is nobody's any more when the last one is gone. */
static void drop_beside(recording *r, const char *dir)
{
	static const char *const names[] = {ASSAY_CONTROL_PAGE, ASSAY_RECORD_CONTROL};
	for (size_t i = 0; i < ASSAY_COUNT_OF(names); i++)
		unlink(assay_printf(&r->arena, "%s/%s", dir, names[i]));
}

void assay_record_drop_rings(recording *r)
{
	if (!strcmp(r->rings, r->dir) || holds_rings(r->rings))
		return;
	drop_beside(r, r->rings);
	unlink(assay_record_link(r));
	rmdir(r->rings);
}

static bool is_folder(const char *path, const struct stat *it)
{
	struct stat st;
	return lstat(path, &st) == 0 && st.st_dev == it->st_dev && st.st_ino == it->st_ino;
}

/* A folder of ours, made anew. */
static bool is_our_folder(const char *path, const struct stat *before)
{
	struct stat st;
	return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == before->st_uid;
}

void assay_record_find(recording *r)
{
	char path[PATH_MAX];
	struct stat it;
	if (r->lock < 0 || fstat(r->lock, &it) < 0 || is_folder(r->dir, &it))
		return;
	const char *link = assay_printf(&r->arena, "/proc/self/fd/%d", r->lock);
	ssize_t n = readlink(link, path, sizeof path - 1);
	path[n > 0 ? n : 0] = 0;
	bool inside = !strcmp(r->rings, r->dir);
	if (is_folder(path, &it)) {
		r->dir = assay_printf(&r->arena, "%s", path);
		drop_beside(r, r->dir);
	} else {
		r->end.removed = !is_our_folder(r->dir, &it);
	}
	if (inside)
		r->rings = r->dir;
}

void assay_record_salvage(recording *r)
{
	int run = r->end.removed ? fcntl(r->lock, F_DUPFD_CLOEXEC, 0)
				 : open(r->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	salvage_in(r, r->dir, run);
	r->end.robbed = strcmp(r->rings, r->dir) && !salvage_in(r, r->rings, run);
	assay_record_symbols(r);
	assay_record_drop_rings(r);
	if (run >= 0)
		close(run);
}

/* ---- recover ---- */

/* Made by `assay record` of the run's owner. */
static bool is_rings_folder(const char *path, const struct stat *run)
{
	struct stat st;
	return assay_salvage_folder(path) && lstat(path, &st) == 0 && S_ISDIR(st.st_mode) &&
	       st.st_uid == run->st_uid;
}

enum { DESCRIPTION_MAX = 1 << 20 };

/* run.json as text that base/json can read. */
static bool read_description(assay_arena *a, const char *dir, assay_str *out, assay_err *err)
{
	assay_input *in = assay_input_open(assay_printf(a, "%s/run.json", dir), err);
	if (!in)
		return false;
	assay_view v = assay_input_view(in, 0, DESCRIPTION_MAX);
	char *text = assay_alloc(a, v.n + ASSAY_PAD);
	memcpy(text, v.p, v.n);
	*out = (assay_str){text, v.n};
	assay_input_close(in);
	return true;
}

static bool open_run(recording *r, const char *run, assay_str *description, assay_err *err)
{
	char path[PATH_MAX];
	struct stat st;
	if (!realpath(run, path))
		return assay_fail(err, ASSAY_IO, 0, "cannot use %s: %s", run, strerror(errno));
	r->dir = assay_printf(&r->arena, "%s", path);
	r->lock = open(r->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (r->lock < 0 || fstat(r->lock, &st) < 0)
		return assay_fail(err, ASSAY_IO, 0, "cannot use %s: %s", run, strerror(errno));
	if (flock(r->lock, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
		return assay_fail(
			err, ASSAY_IO, 0,
			"%s is still being recorded: its recorder takes what is left when the command has ended",
			run);
	if (!read_description(&r->arena, r->dir, description, err))
		return false;
	const char *rings = assay_run_rings(&r->arena, r->dir);
	r->rings = rings && is_rings_folder(rings, &st) ? rings : r->dir;
	return true;
}

static bool recover(const record_args *a, const char *dir, assay_err *err)
{
	recording r = {.lock = -1};
	assay_str description;
	bool ok = open_run(&r, dir, &description, err);
	if (ok) {
		r.stop_real = assay_clock(CLOCK_REALTIME);
		assay_record_salvage(&r);
		assay_children_not_begun(&r);
		if (!r.end.still_running)
			drop_beside(&r, r.dir);
		assay_run *run = assay_record_read(&r);
		ok = assay_record_complete(&r, description, run, err);
		r.end.dir = assay_fmt_safe(&r.arena, assay_str_of(r.dir));
		if (ok && !a->quiet)
			assay_recovered_text(stderr, &r.end, run);
		assay_run_free(run);
	}
	if (ok && r.end.kept) /* writes that failed before, and now did not, are no trouble */
		ok = assay_fail(err, ASSAY_IO, 0, "%s: not all of it could be written", dir);
	if (r.lock >= 0)
		close(r.lock);
	assay_arena_free(&r.arena);
	return ok;
}

/* A folder of rings leads to its run, and the run's description back to it. */
static const char *run_of(assay_arena *a, const char *rings)
{
	char path[PATH_MAX];
	ssize_t n = readlink(assay_printf(a, "%s/run", rings), path, sizeof path - 1);
	if (n <= 0)
		return NULL;
	path[n] = 0;
	const char *back = assay_run_rings(a, path);
	return back && !strcmp(back, rings) ? assay_printf(a, "%s", path) : NULL;
}

/* Every run of ours that left rings where all leave them. */
static int recover_all(const record_args *a)
{
	assay_arena scratch = {0};
	int bad = 0, runs = 0;
	DIR *d = opendir(SHARED);
	for (struct dirent *e; d && (e = readdir(d));) {
		const char *path = assay_printf(&scratch, "%s/%s", SHARED, e->d_name);
		struct stat us = {.st_uid = geteuid()};
		assay_err err = {0};
		if (!is_rings_folder(path, &us))
			continue;
		const char *run = run_of(&scratch, path);
		runs++;
		if (!run) {
			assay_say("assay: %s is left of a run that is no longer there", path);
		} else if (!recover(a, run, &err)) {
			assay_cmd_error(&err);
			bad++;
		}
	}
	if (d)
		closedir(d);
	if (!runs)
		assay_say("assay: no recording left anything behind");
	assay_arena_free(&scratch);
	return bad ? ASSAY_EXIT_FAIL : ASSAY_EXIT_OK;
}

int assay_record_recover(const record_args *a, char **runs, int n)
{
	int bad = 0;
	if (!n)
		return recover_all(a);
	for (int i = 0; i < n; i++) {
		assay_err err = {0};
		if (!recover(a, runs[i], &err)) {
			assay_cmd_error(&err);
			bad++;
		}
	}
	return bad ? ASSAY_EXIT_FAIL : ASSAY_EXIT_OK;
}
