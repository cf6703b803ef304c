/* A git checkout read without git: HEAD, and the commits its submodules are pinned to. */
#ifndef ASSAY_PROBE_GIT_H
#define ASSAY_PROBE_GIT_H

#include "base/arena.h"
#include "probe/root.h"

/* 40 (or 64) hex digits of HEAD of the checkout at dir; NULL when there is none. Follows "gitdir:"
 * files, worktrees (commondir), branches and packed-refs. */
char *assay_git_head(const assay_root *root, assay_arena *a, const char *dir);

/* The gitlink of a submodule path in the superproject's index; NULL when there is none. */
char *assay_git_link(const assay_root *root, assay_arena *a, const char *dir,
		     const char *submodule);

/* Gitlink of path in the bytes of an index file, versions 2 to 4 with SHA-1. */
bool assay_git_index_link(assay_str index, const char *path, char hex[41]);

#endif
