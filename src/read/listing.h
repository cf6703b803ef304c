/* Private to read/: the files that paths lead to. */
#ifndef ASSAY_READ_LISTING_H
#define ASSAY_READ_LISTING_H

#include <sys/types.h>

#include "model/run.h"

struct file {
	char *path;
	bool named;  /* by the user, not found in a directory */
	bool linked; /* reached through a link */
	dev_t device;
	ino_t inode;    /* 0: no plain file */
	uint64_t state; /* changes with size and time */
	bool twin;      /* another name of a file that is there */
	bool in_turn;   /* its format needs what was read before it */
	bool ok;
	assay_err err;
	struct file *next; /* of the same batch */
};

struct files {
	assay_run *run; /* gets what is said of them */
	assay_arena arena;
	assay_vec(struct file) file;
	const char *beside; /* place of captures looked at last */
};

bool assay_files_add(struct files *l, const char *path, assay_err *err);
void assay_files_drop_twins(struct files *l);

#endif
