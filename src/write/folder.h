/* A folder of files that get their names when the last of them is whole: until then it is as it
 * was. None of them may be an input of the run. */
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
	int folders; /* that were not there */
	assay_undo undo;
} assay_folder;

/* Made when it is not there, with those above it. */
bool assay_folder_open(assay_folder *f, const assay_run *run, const char *path, assay_err *err);
/* One more file of it; NULL when it cannot be. */
FILE *assay_folder_file(assay_folder *f, const char *name, assay_err *err);
/* ok false: nothing of it stays. False when that is so. */
bool assay_folder_close(assay_folder *f, bool ok, assay_err *err);

/* Would writing there overwrite what the run was read from? */
bool assay_is_input(const assay_run *run, const char *path);

#endif
