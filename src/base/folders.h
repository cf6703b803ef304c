/* Folders made with those above them. */
#ifndef ASSAY_BASE_FOLDERS_H
#define ASSAY_BASE_FOLDERS_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/arena.h"

/* A file of that name stands in a folder that is being written, or was left so. */
#define ASSAY_UNFINISHED "UNFINISHED"

/* A folder and those above it that are missing; *made (may be NULL) counts the new ones at the end
 * of the path. False: errno says why. */
bool assay_make_folders(const char *path, mode_t mode, int *made);
/* Those that were made, as long as they are empty. */
void assay_remove_folders(const char *path, int made);
/* The path's last folder that is there, "" for the one we are in. */
const char *assay_folder_there(assay_arena *a, const char *path);
/* What stands before the last slash, "" where there is none. */
const char *assay_folder_of(assay_arena *a, const char *path);
/* The folders above a file. */
bool assay_make_parents(const char *file, mode_t mode);

#endif
