/* A folder of files that get their names when the last of them is whole: until then it is as it
 * was, and not there if it was not. While names are given a file UNFINISHED stands in it, which
 * stays when that is interrupted. None of the files may be an input of the run. */
#ifndef ASSAY_WRITE_FOLDER_H
#define ASSAY_WRITE_FOLDER_H

#include <stdio.h>

#include "base/arena.h"
#include "base/output.h"
#include "base/owner.h"
#include "model/run.h"

typedef struct assay_folder {
	const assay_run *run;
	const char *path;
	assay_vec(assay_output *) made;
	const char *meanwhile; /* where files are until the folder is made; NULL: it is there */
	int folders;           /* that were not there */
	bool marked;
	assay_arena arena;
	assay_undo undo;
} assay_folder;

/* Made, with those above it, not before it is closed, unless the file system needs it earlier. */
bool assay_folder_open(assay_folder *f, const assay_run *run, const char *path, assay_err *err);
/* One more file of it; NULL when it cannot be. */
FILE *assay_folder_file(assay_folder *f, const char *name, assay_err *err);
/* ok false: nothing of it stays. False when that is so. */
bool assay_folder_close(assay_folder *f, bool ok, assay_err *err);

/* The folder says that it is not finished, and that it is. */
bool assay_folder_mark(const char *path, assay_err *err);
bool assay_folder_unmark(const char *path, assay_err *err);

/* Would writing there overwrite what the run was read from? */
bool assay_is_input(const assay_run *run, const char *path);

#endif
